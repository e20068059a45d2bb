/* SPDX-License-Identifier: BSD-3-Clause */
/* The three-linked wobbling mass model [RUD 4.3-4.5, ERRATA R6-R12] against numbers made in long
   double by another program (tests/data/vectors.json): accelerations, a landing, peak forces; the
   limiting torque alone. The plane model is built in space: hinges about y, phi turns about -y. */
#include "dynamics/dynamics.h"
#include "shared/build.h"
#include "shared/vectors.h"

#include <skel/skel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 14, PARTS = 3 };

/* Where the parts of the model are and how they move, from its 14 coordinates. */
typedef struct jumper {
    double l[PARTS], m_s[PARTS], m_w[PARTS], theta_s[PARTS], theta_w[PARTS];
    scene  made;
} jumper;

static v3 along(double phi, double length) {
    return (v3){length * cos(phi), 0, length * sin(phi)};
}
/* d/dt of along: phi' turns it. */
static v3 along_rate(double phi, double rate, double length) {
    return (v3){-length * sin(phi) * rate, 0, length * cos(phi) * rate};
}

/* Poses 6 x 7 and velocities 6 x 6: three segments, then their wobbling masses. */
static void place(const jumper *j, const double *q, const double *v, double *poses,
                  double *velocities) {
    v3 at = {q[0], 0, q[1]}, speed = {v[0], 0, v[1]};
    for (int i = 0; i < PARTS; ++i) {
        const double phi = q[2 + i], rate = v[2 + i], half = 0.5 * j->l[i];
        const v3     p = v3_add(at, along(phi, half));
        const v3     u = v3_add(speed, along_rate(phi, rate, half));
        for (int soft = 0; soft < 2; ++soft) {
            const double *d = q + 5 + 3 * i, *dv = v + 5 + 3 * i;
            const double  turn = soft ? phi + d[2] : phi, spin = soft ? rate + dv[2] : rate;
            const v3      off   = {soft ? d[0] : 0, 0, soft ? d[1] : 0};
            const v3      drift = {soft ? dv[0] : 0, 0, soft ? dv[1] : 0};
            double       *to    = poses + 7 * (i + PARTS * soft);
            double       *go    = velocities + 6 * (i + PARTS * soft);
            v3_to(v3_add(p, off), to), q_to(q_exp((v3){0, -turn, 0}), to + 3);
            v3_to(v3_add(u, drift), go), v3_to((v3){0, -spin, 0}, go + 3);
        }
        at    = v3_add(at, along(phi, j->l[i]));
        speed = v3_add(speed, along_rate(phi, rate, j->l[i]));
    }
}

/* The 14 coordinates of poses, or their rates of velocities. */
static void measure(const jumper *j, const double *poses, const double *velocities, double *q,
                    double *v) {
    for (int i = 0; i < PARTS; ++i) {
        const quat    r = q_of(poses + 7 * i + 3), w = q_of(poses + 7 * (i + PARTS) + 3);
        const double *u = velocities + 6 * i, *uw = velocities + 6 * (i + PARTS);
        q[2 + i]  = -2.0 * atan2(r.y, r.w);
        v[2 + i]  = -u[4];
        double *d = q + 5 + 3 * i, *dv = v + 5 + 3 * i;
        for (int c = 0; c < 2; ++c) {
            d[c]  = poses[7 * (i + PARTS) + 2 * c] - poses[7 * i + 2 * c];
            dv[c] = uw[2 * c] - u[2 * c];
        }
        d[2]  = -2.0 * atan2(w.y, w.w) - q[2 + i];
        dv[2] = -uw[4] - v[2 + i];
    }
    const v3 heel = v3_sub(v3_of(poses), along(q[2], 0.5 * j->l[0]));
    const v3 rate = v3_sub(v3_of(velocities), along_rate(q[2], v[2], 0.5 * j->l[0]));
    q[0] = heel.x, q[1] = heel.z, v[0] = rate.x, v[1] = rate.z;
}

static void describe_body(skel_body_desc *b, double mass, double theta, const double *where,
                          const double *velocity) {
    skel_body_desc_init(b);
    b->mass       = mass;
    b->inertia[0] = b->inertia[1] = b->inertia[2] = theta;
    memcpy(b->position, where, sizeof b->position);
    memcpy(b->orientation, where + 3, sizeof b->orientation);
    memcpy(b->velocity, velocity, sizeof b->velocity);
    memcpy(b->angular_velocity, velocity + 3, sizeof b->angular_velocity);
}

/* Knee: q = phi_knee - its start, about +y; hip: about -y. */
static void describe_joint(const jumper *j, const json_value *c, int k, const double *q,
                           skel_joint_desc *to) {
    const json_value *law = get(c, "limit");
    double            range[2], growth[2], most[2];
    numbers(c, k == 0 ? "knee" : "hip", range, 2);
    numbers(c, "c_muscle", growth, 2), numbers(c, "T_max", most, 2);
    const double start = SKEL__TURN / 2 + (k == 0 ? q[2] : q[4]) - q[3];
    const quat   axis  = q_exp((v3){(k == 0 ? -1 : 1) * SKEL__TURN / 4, 0, 0}); /* z onto -+y */
    const quat   fall = q_exp((v3){0, -q[2 + k], 0}), next = q_exp((v3){0, -q[3 + k], 0});
    skel_joint_desc_init(to);
    to->type   = SKEL_JOINT_HINGE;
    to->parent = k, to->child = k + 1;
    to->parent_position[0] = 0.5 * j->l[k], to->child_position[0] = -0.5 * j->l[k + 1];
    /* one frame in the world at the start, seen from both */
    q_to(q_mul(q_conj(fall), axis), to->parent_orientation);
    q_to(q_mul(q_conj(next), axis), to->child_orientation);
    to->limits.is_set = 1;
    to->limits.low[0] = range[0] - start, to->limits.high[0] = range[1] - start;
    to->limits.law_a = number(law, "a"), to->limits.law_b = number(law, "b");
    to->limits.law_c = number(law, "c"), to->limits.law_d = number(law, "d");
    to->limits.law_range = number(law, "on");
    to->muscle.growth = growth[k], to->muscle.max = most[k];
}

static void describe_wobble(const json_value *c, int k, skel_wobble_desc *w) {
    static const char *const name[] = {"c_l", "d_l", "c_t", "d_t", "a_w", "b_w"};
    skel_wobble_desc_init(w);
    double *to[] = {&w->along_c, &w->along_d, &w->across_c, &w->across_d, &w->turn_a, &w->turn_b};
    w->body = k + PARTS, w->host = k;
    w->axis[0] = 1, w->axis[2] = 0;
    for (int e = 0; e < 6; ++e) {
        double all[PARTS];
        numbers(c, name[e], all, PARTS);
        *to[e] = all[k];
    }
}

/* At the coordinates q, v; locked: the soft masses are welded on. */
static jumper make_jumper(const double *q, const double *v, int locked) {
    const json_value *c = get(get(g_vectors, "ruder3"), "constants"), *g = get(c, "ground");
    jumper            j = {0};
    double            poses[42], velocities[36];
    skel_body_desc    body[6];
    skel_joint_desc   joint[5];
    skel_wobble_desc  wobble[3];
    skel_ground_desc  ground;
    skel_model_desc   d;
    const double      heel[3] = {-0.5 * 0.43, 0, 0};
    numbers(c, "l", j.l, 3), numbers(c, "m_s", j.m_s, 3), numbers(c, "m_w", j.m_w, 3);
    numbers(c, "theta_s", j.theta_s, 3), numbers(c, "theta_w", j.theta_w, 3);
    place(&j, q, v, poses, velocities);
    for (int i = 0; i < PARTS; ++i) {
        describe_body(&body[i], j.m_s[i], j.theta_s[i], poses + 7 * i, velocities + 6 * i);
        describe_body(&body[i + PARTS], j.m_w[i], j.theta_w[i], poses + 7 * (i + PARTS),
                      velocities + 6 * (i + PARTS));
        describe_wobble(c, i, &wobble[i]);
        skel_joint_desc_init(&joint[2 + i]);
        joint[2 + i].parent = i, joint[2 + i].child = i + PARTS; /* welds */
    }
    describe_joint(&j, c, 0, q, &joint[0]), describe_joint(&j, c, 1, q, &joint[1]);
    body[0].contacts = heel, body[0].contact_count = 1;
    skel_ground_desc_init(&ground);
    ground.a = number(g, "a"), ground.b = number(g, "b"), ground.d = number(g, "d");
    ground.stick_stiffness = number(g, "kx"), ground.stick_damping = number(g, "dx");
    ground.friction = number(g, "mu");
    skel_model_desc_init(&d);
    d.bodies = body, d.body_count = 6, d.joints = joint, d.joint_count = locked ? 5 : 2;
    d.grounds = &ground, d.ground_count = 1, d.wobbles = wobble, d.wobble_count = locked ? 0 : 3;
    j.made = build(&d);
    return j;
}

/* Coordinates at which the model is made: the joints' q is zero there, so far from all limits. */
static void start_coordinates(double *q, double *v) {
    double y[30];
    numbers(get(get(g_vectors, "ruder3"), "trajectory"), "y0", y, 30);
    memcpy(q, y, N * sizeof *q), memcpy(v, y + N, N * sizeof *v);
}

START_TEST(accelerations) {
    double q0[N], v0[N];
    start_coordinates(q0, v0);
    jumper            j = make_jumper(q0, v0, 0);
    const json_value *state;
    JSON_EACH(state, get(get(g_vectors, "ruder3"), "states")) {
        double q[N], v[N], want[N], got[N], spare[N], torque[2];
        double poses[42], velocities[36], linear[18], angular[18], rates[36];
        numbers(state, "q", q, N), numbers(state, "v", v, N), numbers(state, "qdd", want, N);
        numbers(state, "Q_muscle", torque, 2);
        place(&j, q, v, poses, velocities);
        ck_assert_int_eq(skel_state_set_poses(j.made.state, poses), SKEL_OK);
        ck_assert_int_eq(skel_state_set_velocities(j.made.state, velocities), SKEL_OK);
        const skel_model *m = j.made.model;
        /* the bristle was bent from where the heel touched down, at the origin */
        v3_to((v3){q[1] < 0 ? q[0] : 0, 0, 0}, j.made.state->internal + m->candidate[0].internal);
        for (int k = 0; k < 2; ++k) j.made.state->internal[m->joint[k].muscle_index] = torque[k];
        for (int32_t solver = SKEL_SOLVER_TREE; solver <= SKEL_SOLVER_PINV; ++solver) {
            ck_assert_int_eq(skel_accelerations(j.made.state, solver, linear, angular, NULL),
                             SKEL_OK);
            for (int i = 0; i < 6; ++i) {
                memcpy(rates + 6 * i, linear + 3 * i, 3 * sizeof *rates);
                memcpy(rates + 6 * i + 3, angular + 3 * i, 3 * sizeof *rates);
            }
            /* second rates: as velocities, less the centripetal part of the heel's lever */
            measure(&j, poses, rates, spare, got);
            const v3 pull = v3_scale(along(q[2], 0.5 * j.l[0]), v[2] * v[2]);
            got[0] += pull.x, got[1] += pull.z;
            near(got, want, N, 1e-11 * max_abs(want, N));
        }
    }
    scene_free(&j.made);
}
END_TEST

/* The landing of the trajectory group at the printed times, all on a grid of 1 ms. */
static double landing_error(int32_t integrator, double tolerance, double step) {
    double q0[N], v0[N], worst = 0;
    start_coordinates(q0, v0);
    jumper            j = make_jumper(q0, v0, 0);
    skel_bake        *b = bake_all(&j.made, integrator, tolerance, step, 1000, 51);
    const json_value *sample;
    JSON_EACH(sample, get(get(get(g_vectors, "ruder3"), "trajectory"), "samples")) {
        const int frame = (int)lround(1000 * number(sample, "t"));
        double    want[30], q[N], v[N];
        numbers(sample, "y", want, 30);
        measure(&j, skel_bake_poses(b) + 42 * frame, skel_bake_velocities(b) + 36 * frame, q, v);
        worst = fmax(worst, max_difference(q, want, N));
        worst = fmax(worst, max_difference(v, want + N, N) / 100); /* they go to 16 rad/s */
    }
    skel_bake_destroy(b);
    scene_free(&j.made);
    return worst;
}

START_TEST(landing_by_adams) {
    near1(landing_error(SKEL_INTEGRATOR_ADAMS, 1e-12, 0), 0, 1e-9);
}
END_TEST
START_TEST(landing_by_bdf) {
    near1(landing_error(SKEL_INTEGRATOR_BDF, 1e-11, 0), 0, 1e-8);
}
END_TEST

START_TEST(landing_by_conserving) { /* second order, with everything that acts */
    const double coarse = landing_error(SKEL_INTEGRATOR_CONSERVING, 0, 4e-5);
    const double fine   = landing_error(SKEL_INTEGRATOR_CONSERVING, 0, 2e-5);
    printf("conserving: off by %.3g at 40 us, %.3g at 20 us\n", coarse, fine);
    near1(fine, 0, 1e-5);
    near1(log2(coarse / fine), 2, 0.2);
}
END_TEST

static void peak(int locked, double want, double want_time) {
    double            q0[N], v0[N];
    skel_bake_summary s = {.struct_size = sizeof s};
    start_coordinates(q0, v0);
    jumper       j      = make_jumper(q0, v0, locked);
    skel_bake   *b      = bake_all(&j.made, SKEL_INTEGRATOR_ADAMS, 1e-10, 0, 1000, 51);
    const double weight = 75.0 * 9.81;
    ck_assert_int_eq(skel_bake_get_summary(b, &s), SKEL_OK);
    near1(s.peak_ground_force / weight, want, 6e-4 * want);
    near1(s.peak_ground_time, want_time, 6e-5);
    skel_bake_destroy(b);
    scene_free(&j.made);
}
START_TEST(peak_forces) { /* ERRATA, "Figures for acceptance" */
    peak(0, 7.451, 7.5e-3);
    peak(1, 15.83, 10.2e-3);
}
END_TEST

START_TEST(limiting_torque) {
    double q0[N], v0[N];
    start_coordinates(q0, v0);
    jumper            j = make_jumper(q0, v0, 0);
    const json_value *row;
    JSON_EACH(row, get(g_vectors, "limit_torque")) {
        skel__joint *k   = &((skel_model *)j.made.model)->joint[0];
        const double phi = number(row, "phi"), rate = number(row, "rate");
        k->stop_low[0] = number(row, "lo"), k->stop_high[0] = number(row, "hi");
        const skel__joint_force e = skel__joint_force_at(j.made.state, 0, 0, phi, rate, 1, 0, 0);
        near1(e.force, number(row, "Q"), 1e-12 * (1 + fabs(number(row, "Q"))));
    }
    scene_free(&j.made);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ruder");
    TCase *one   = tcase_create("all");
    tcase_add_unchecked_fixture(one, load, unload);
    tcase_set_timeout(one, 120);
    tcase_add_test(one, accelerations);
    tcase_add_test(one, landing_by_adams);
    tcase_add_test(one, landing_by_bdf);
    tcase_add_test(one, landing_by_conserving);
    tcase_add_test(one, peak_forces);
    tcase_add_test(one, limiting_torque);
    suite_add_tcase(suite, one);
    return run_suite(suite);
}
