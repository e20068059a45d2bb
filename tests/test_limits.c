/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits of joints: hard stops with a restitution, the limiting torque [RUD 4.2, ERRATA R6], the
   coordinates they go by, and poses that begin beyond them. */
#include "dynamics/dynamics.h"
#include "shared/build.h"

#include <stdio.h>
#include <string.h>

enum { CONSERVING = SKEL_INTEGRATOR_CONSERVING };
#define DEGREE (SKEL__TURN / 360)

/* What is driven against what. */
enum { HINGE, SLIDE, UNIVERSAL_OUTER, UNIVERSAL_INNER, CONE, TWIST, KINDS };
static const char *const k_name[KINDS] = {"hinge",           "slide", "universal outer",
                                          "universal inner", "cone",  "twist"};

/* Which joint velocity it is. */
static int rate_of(int kind) {
    return kind == UNIVERSAL_INNER ? 1 : kind == TWIST ? 2 : 0;
}

static void describe_joint(int kind, skel_joint_desc *j) {
    static const int32_t type[KINDS] = {SKEL_JOINT_HINGE,     SKEL_JOINT_SLIDE,
                                        SKEL_JOINT_UNIVERSAL, SKEL_JOINT_UNIVERSAL,
                                        SKEL_JOINT_BALL,      SKEL_JOINT_BALL};
    skel_joint_desc_init(j);
    j->type = type[kind], j->parent = SKEL_WORLD, j->child = 0;
    j->limits.is_set = 1;
    j->limits.low[0] = j->limits.low[1] = kind == SLIDE ? -0.1 : -0.5;
    j->limits.high[0] = j->limits.high[1] = kind == SLIDE ? 0.1 : 0.5;
    if (kind >= CONE) j->limits.axis[0] = j->limits.axis[1] = 0, j->limits.axis[2] = 1;
    /* the centre of mass off the joint, where it turns about no other axis by itself */
    if (kind < CONE) j->child_position[0] = -0.3;
    if (kind >= CONE) j->child_position[2] = 0.3;
}

/* The lone body on the joint, placed by its q. */
static scene body_on(const skel_joint_desc *j, const double *gravity) {
    skel_body_desc  b = body_of(SKEL_SHAPE_SPHERE, 0.1, 0, 0, 2);
    skel_model_desc d;
    b.unplaced = 1;
    skel_model_desc_init(&d);
    d.bodies = &b, d.body_count = 1, d.joints = j, d.joint_count = 1;
    memcpy(d.gravity, gravity, sizeof d.gravity);
    return build(&d);
}
static const double k_none[3] = {0, 0, 0};

static double start_speed(int kind) {
    return kind == SLIDE ? 5 : 20;
}
static void give_speed(const scene *s, int kind, double speed) {
    double qd[3]      = {0, 0, 0};
    qd[rate_of(kind)] = speed;
    ck_assert_int_eq(skel_state_set_qd(s->state, qd), SKEL_OK);
}

START_TEST(stop) {
    static const double e[3]  = {0, 0.5, 1};
    const int           kind  = _i / 3;
    const double        speed = start_speed(kind);
    skel_joint_desc     j;
    double              worst = 0, rise = -1, rebound[3] = {0};
    describe_joint(kind, &j);
    j.limits.restitution = e[_i % 3];
    scene s              = body_on(&j, k_none);
    give_speed(&s, kind, speed);
    const double start = report(s.state).kinetic;
    double       last  = start;
    for (int k = 0; k < 240; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        const skel_report_row row = report(s.state);
        worst                     = fmax(worst, row.limit_violation);
        rise                      = fmax(rise, (total(&row) - last) / start);
        last                      = total(&row);
        if (k == 9) ck_assert_int_eq(skel_state_get_qd(s.state, rebound), SKEL_OK); /* once hit */
    }
    const double back = -rebound[rate_of(kind)] / speed;
    printf("%s e %g: violation %.3g, back with %.9g, rise %.3g, left %.3g\n", k_name[kind],
           e[_i % 3], kind == SLIDE ? worst : worst / DEGREE, back, rise, last / start);
    ck_assert_msg(worst < (kind == SLIDE ? 1e-3 : 0.5 * DEGREE), "violation %.3g", worst);
    near1(back, e[_i % 3], e[_i % 3] > 0 ? 0.01 * e[_i % 3] : 0.01);
    ck_assert_msg(rise <= 1e-12, "energy rose by %.3g", rise);
    scene_free(&s);
}
END_TEST

/* ---- the limiting torque ---- */

START_TEST(limiting_torque) {
    const int       kind = _i / 2 == 0 ? HINGE : CONE, damped = _i % 2;
    skel_joint_desc j;
    double          rise = -1, off = 0, farthest = 0;
    int             turns = 0;
    describe_joint(kind, &j);
    j.limits.law_a = 131, j.limits.law_b = 2, j.limits.law_c = 5e-4,
    j.limits.law_d     = damped ? 0.1 : 0;
    j.limits.law_range = 0.0873;
    scene s            = body_on(&j, k_none);
    give_speed(&s, kind, 20);
    const skel_report_row start = report(s.state);
    skel_report_row       last  = start;
    double                rate  = 20;
    for (int k = 0; k < 480; ++k) {
        double qd[3];
        run(s.state, CONSERVING, 1.0 / 240, 1);
        const skel_report_row row = report(s.state);
        rise                      = fmax(rise, (total(&row) - total(&last)) / start.kinetic);
        off                       = fmax(off, fabs(balance(&row, &start)) / start.kinetic);
        farthest                  = fmax(farthest, row.limit_violation);
        skel_state_get_qd(s.state, qd);
        turns += qd[0] * rate < 0;
        rate = qd[0], last = row;
    }
    printf("torque %s d %g: rise %.3g, balance %.3g, %d turns, left %.3g, beyond %.3g rad\n",
           k_name[kind], j.limits.law_d, rise, off, turns, total(&last) / start.kinetic, farthest);
    ck_assert_msg(off <= 1e-10, "balance off by %.3g", off);
    if (damped) ck_assert_msg(rise <= 1e-12, "energy rose by %.3g", rise);
    if (!damped) near1(total(&last) / start.kinetic, 1, 1e-10);
    if (damped) ck_assert(total(&last) < 0.9 * start.kinetic);
    ck_assert_int_ge(turns, 2);
    scene_free(&s);
}
END_TEST

/* ---- coordinates ---- */

static quat random_turn(rng *r) {
    quat q;
    do {
        q = (quat){rng_range(r, -1, 1), rng_range(r, -1, 1), rng_range(r, -1, 1),
                   rng_range(r, -1, 1)};
    } while (q_dot(q, q) > 1 || q_dot(q, q) < 0.01);
    const double n = 1 / sqrt(q_dot(q, q));
    return (quat){n * q.w, n * q.x, n * q.y, n * q.z};
}

START_TEST(gradients) {
    rng             r = rng_seed(7);
    skel_joint_desc d;
    double          worst = 0;
    int             count = 0;
    describe_joint(CONE, &d);
    scene        s = body_on(&d, k_none);
    skel__joint *j = &((skel_model *)s.model)->joint[0];
    while (count < 200) {
        const quat       outer = random_turn(&r), inner = random_turn(&r);
        const double     h     = 1e-5;
        const pose       frame = {{0, 0, 0}, outer};
        skel__coordinate c[2], up[2], down[2];
        j->limit_axis = q_rotate(random_turn(&r), (v3){0, 0, 1});
        ck_assert_int_eq(skel__coordinates_of(j, frame, (pose){{0, 0, 0}, inner}, c), 2);
        /* straight ahead and straight back there is no direction; the twist ends at half a turn */
        if (c[0].c < 0.1 || c[0].c > 2.9 || fabs(c[1].c) > 3.1) continue;
        ++count;
        for (int e = 0; e < 3; ++e) {
            const v3   axis = {e == 0, e == 1, e == 2};
            const quat plus = q_mul(q_exp(v3_scale(axis, h)), inner);
            const quat less = q_mul(q_exp(v3_scale(axis, -h)), inner);
            skel__coordinates_of(j, frame, (pose){{0, 0, 0}, plus}, up);
            skel__coordinates_of(j, frame, (pose){{0, 0, 0}, less}, down);
            for (int k = 0; k < 2; ++k) {
                const double want = (up[k].c - down[k].c) / (2 * h);
                worst             = fmax(worst, fabs(v3_dot(axis, c[k].gradient) - want));
            }
        }
    }
    printf("gradients: off by %.3g\n", worst);
    ck_assert_msg(worst <= 1e-7, "gradients off by %.3g", worst);
    scene_free(&s);
}
END_TEST

/* ---- beyond the limit ---- */

START_TEST(start_beyond) {
    const int       kind = _i % KINDS;
    skel_joint_desc j;
    double          most = 0;
    describe_joint(kind, &j);
    if (kind == CONE) j.q[0] = cos(0.4), j.q[1] = sin(0.4); /* 0.8 rad */
    if (kind == TWIST) j.q[0] = cos(0.4), j.q[3] = sin(0.4);
    if (kind < CONE) j.q[kind == UNIVERSAL_INNER] = kind == SLIDE ? 0.2 : 0.8;
    if (kind < CONE) ck_assert(j.limits.high[0] < j.q[kind == UNIVERSAL_INNER]);
    j.limits.restitution = _i / KINDS;
    scene s              = body_on(&j, k_none);
    for (int k = 0; k < 240; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        most = fmax(most, report(s.state).kinetic);
    }
    printf("beyond %s: kinetic energy %.3g\n", k_name[kind], most);
    ck_assert_msg(most <= 1e-20, "thrown back with %.3g J", most);
    scene_free(&s);
}
END_TEST

/* ---- adams and conserving ---- */

static double swing(int32_t integrator, double step, int limited, double *v) {
    static const double gravity[3] = {3, -9, 0}; /* across the hinge */
    skel_joint_desc     j;
    describe_joint(HINGE, &j);
    j.limits.restitution = 0.6, j.limits.is_set = limited;
    scene s = body_on(&j, gravity);
    give_speed(&s, HINGE, 2);
    skel_bake   *b = bake_all(&s, integrator, 1e-11, step, 10, 7);
    const double q = skel_bake_q(b)[6];
    *v             = skel_bake_velocities(b)[6 * 6 + 5];
    skel_bake_destroy(b);
    scene_free(&s);
    return q;
}

START_TEST(agreement) {
    double       va, vc, vf, vn;
    const double qa = swing(SKEL_INTEGRATOR_ADAMS, 0, 1, &va);
    const double qc = swing(CONSERVING, 1e-4, 1, &vc);
    const double qf = swing(CONSERVING, 2e-5, 1, &vf);
    printf("adams %.12g rad, %.9g rad/s; conserving off by %.3g, %.3g; finer %.3g, %.3g\n", qa, va,
           qc - qa, vc - va, qf - qa, vf - va);
    ck_assert(fabs(swing(SKEL_INTEGRATOR_ADAMS, 0, 0, &vn) - qa) > 0.1); /* it hit */
    near1(qf, qa, 1e-5);
    near1(vf, va, 1e-5 * 20);
}
END_TEST

/* A motor presses a ball onto a stop with restitution, so that it bounces many times within every
   step: an impact throws it off while its stop is still within reach, which is no new hit. */
START_TEST(bounces_many_times_in_a_step) {
    static const double restitution[2] = {0.999, 1};
    const double        push = _i < 2 ? 1200 : 2400, away = 1e-6;
    const double        deepest = _i % 2 ? 2 * away : 1e-4; /* at rest the stop gives a little */
    skel_joint_desc     j;
    describe_joint(SLIDE, &j);
    j.limits.low[0]      = -away;
    j.limits.high[0]     = 1;
    j.limits.restitution = restitution[_i % 2];
    j.motor              = push; /* on the world along +z, on the ball along -z */

    scene                 s     = body_on(&j, k_none);
    skel_bake            *b     = bake_all(&s, CONSERVING, 0, 1.0 / 240, 24, 25);
    const skel_report_row start = bake_report(b, 0);
    double                most  = 0;
    for (int k = 1; k < 25; ++k) {
        const skel_report_row row = bake_report(b, k);
        const double          q   = skel_bake_q(b)[k];
        most                      = fmax(most, row.kinetic);
        ck_assert_msg(q > -deepest && q <= away, "it is at %.3g m", q);
        near1(balance(&row, &start), 0, 1e-3 * push * away);
    }
    ck_assert_double_le(most, 1.01 * push * away); /* all the work that the motor can do */

    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("limits");
    TCase *one   = tcase_create("all");
    tcase_set_timeout(one, 120);
    tcase_add_loop_test(one, stop, 0, 3 * KINDS);
    tcase_add_loop_test(one, limiting_torque, 0, 4);
    tcase_add_test(one, gradients);
    tcase_add_loop_test(one, start_beyond, 0, 2 * KINDS);
    tcase_add_test(one, agreement);
    tcase_add_loop_test(one, bounces_many_times_in_a_step, 0, 4);
    suite_add_tcase(suite, one);
    return run_suite(suite);
}
