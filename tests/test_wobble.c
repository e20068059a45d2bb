/* SPDX-License-Identifier: BSD-3-Clause */
/* Wobbling masses [RUD 4.3, ERRATA R9] keep momentum and energy, and muscles [RUD 4.8-4.10, ERRATA
   R10] go by the angle alone, and react after their delay. */
#include "dynamics/dynamics.h"
#include "shared/build.h"

#include <stdio.h>
#include <string.h>

enum { CONSERVING = SKEL_INTEGRATOR_CONSERVING, ADAMS = SKEL_INTEGRATOR_ADAMS };

/* ---- wobbling masses ---- */

/* Springs as stiff as those of the model of [RUD 4.3]. */
static skel_wobble_desc wobble_of(int32_t body, int32_t host, int damped) {
    skel_wobble_desc w;
    skel_wobble_desc_init(&w);
    w.body = body, w.host = host;
    w.along_c = 4e7, w.across_c = 2e7, w.turn_a = 60;
    if (damped) w.along_d = 250, w.across_d = 200, w.turn_b = 1;
    return w;
}

/* A bone of 2.25 kg that turns and flies, with a soft mass of 6.75 kg that does not go along. */
static scene bone(int damped) {
    skel_body_desc   b[2];
    skel_model_desc  d;
    skel_wobble_desc w = wobble_of(1, 0, damped);
    b[0]               = body_of(SKEL_SHAPE_CAPSULE, 0.4, 0.03, 0, 2.25);
    b[1]               = body_of(SKEL_SHAPE_CAPSULE, 0.35, 0.07, 0, 6.75);
    for (int k = 0; k < 2; ++k) {
        b[k].position[0] = 1, b[k].position[1] = -0.5;
        b[k].collide     = SKEL_COLLIDE_NONE;
        b[k].velocity[0] = 1, b[k].velocity[2] = 0.5 - 0.8 * k, b[k].velocity[1] = 0.3 * k;
        b[k].angular_velocity[0] = 3 - k, b[k].angular_velocity[1] = 1;
        b[k].angular_velocity[2] = 2 * k;
    }
    skel_model_desc_init(&d);
    d.bodies = b, d.body_count = 2, d.wobbles = &w, d.wobble_count = 1;
    d.gravity[2] = 0;
    return build(&d);
}

START_TEST(conservation) {
    const int             damped = _i;
    scene                 s      = bone(damped);
    const skel_report_row start  = report(s.state);
    skel_report_row       last   = start;
    double                linear = 0, angular = 0, energy = 0, rise = -1, off = 0, elastic = 0;
    const double          size = v3_norm(v3_of(start.momentum));
    const double          turn = v3_norm(v3_of(start.angular_momentum));
    for (int k = 0; k < 2400; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        const skel_report_row row = report(s.state);
        linear = fmax(linear, max_difference(row.momentum, start.momentum, 3) / size);
        angular =
            fmax(angular, max_difference(row.angular_momentum, start.angular_momentum, 3) / turn);
        energy  = fmax(energy, fabs(total(&row) / total(&start) - 1));
        rise    = fmax(rise, (total(&row) - total(&last)) / total(&start));
        off     = fmax(off, fabs(balance(&row, &start)) / total(&start));
        elastic = fmax(elastic, row.elastic / total(&start));
        last    = row;
    }
    printf("wobble %s: momentum %.3g, angular %.3g, energy %.3g, rise %.3g, balance %.3g, "
           "elastic %.3g\n",
           damped ? "damped" : "free", linear, angular, energy, rise, off, elastic);
    ck_assert_msg(linear <= 1e-13, "momentum off by %.3g", linear);
    ck_assert_msg(angular <= 1e-12, "angular momentum off by %.3g", angular);
    ck_assert_msg(off <= 1e-12, "balance off by %.3g", off);
    ck_assert_msg(elastic > (damped ? 1e-3 : 0.05), "nothing wobbles: %.3g", elastic);
    if (!damped) ck_assert_msg(energy <= 1e-12, "energy off by %.3g", energy);
    if (damped) ck_assert_msg(rise <= 1e-13 && energy > 0.1, "rose %.3g, %.3g", rise, energy);
    scene_free(&s);
}
END_TEST

/* Poses after 0.2 s against those by adams. */
static double pose_error(const skel_bake *judge, int damped, double step) {
    scene        s = bone(damped);
    skel_bake   *b = bake_all(&s, CONSERVING, 0, step, 20, 5);
    const double e = max_difference(skel_bake_poses(b) + 56, skel_bake_poses(judge) + 56, 14);
    skel_bake_destroy(b);
    scene_free(&s);
    return e;
}

START_TEST(agreement) {
    scene        s      = bone(_i);
    skel_bake   *judge  = bake_all(&s, ADAMS, 1e-10, 0, 20, 5);
    const double coarse = pose_error(judge, _i, 1e-4), fine = pose_error(judge, _i, 5e-5);
    printf("wobble %s: conserving off by %.3g at 1/10000, %.3g at 1/20000, order %.3f\n",
           _i ? "damped" : "free", coarse, fine, log2(coarse / fine));
    near1(fine, 0, 1e-5);
    near1(log2(coarse / fine), 2, 0.2);
    skel_bake_destroy(judge);
    scene_free(&s);
}
END_TEST

enum { LINKS = 10 };

/* A hanging chain of bones with a soft mass on each, all turned out of rest. */
static scene soft_chain(void) {
    static skel_body_desc   b[2 * LINKS];
    static skel_joint_desc  j[LINKS];
    static skel_wobble_desc w[LINKS];
    skel_model_desc         d;
    for (int k = 0; k < 2 * LINKS; ++k) {
        b[k]             = body_of(SKEL_SHAPE_CAPSULE, 0.2, 0.03, 0, k < LINKS ? 0.5 : 1.5);
        b[k].position[2] = -0.125 - 0.25 * (k % LINKS);
        b[k].velocity[0] = 0.8 * (k % LINKS) * (k < LINKS);
        b[k].collide     = SKEL_COLLIDE_NONE;
    }
    for (int k = 0; k < LINKS; ++k) {
        w[k] = wobble_of(k + LINKS, k, k % 2);
        skel_joint_desc_init(&j[k]);
        j[k].type   = k % 2 ? SKEL_JOINT_HINGE : SKEL_JOINT_BALL;
        j[k].parent = k - 1, j[k].child = k;
        j[k].parent_position[2] = k > 0 ? -0.125 : 0, j[k].child_position[2] = 0.125;
        const quat axis = q_exp((v3){-SKEL__TURN / 4, 0, 0});
        q_to(axis, j[k].parent_orientation), q_to(axis, j[k].child_orientation);
    }
    skel_model_desc_init(&d);
    d.bodies = b, d.body_count = 2 * LINKS, d.joints = j, d.joint_count = LINKS;
    d.wobbles = w, d.wobble_count = LINKS;
    scene s = build(&d);
    ck_assert_int_eq(skel_state_project(s.state, NULL, NULL, NULL), SKEL_OK);
    return s;
}

START_TEST(chain) {
    scene                 s     = soft_chain();
    const skel_report_row start = report(s.state);
    skel_report_row       last  = start;
    double                rise = -1, off = 0, gap = 0, size = start.kinetic;
    for (int k = 0; k < 480; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        const skel_report_row row = report(s.state);
        size                      = fmax(size, row.kinetic);
        rise                      = fmax(rise, (total(&row) - total(&last)) / start.kinetic);
        off                       = fmax(off, fabs(balance(&row, &start)) / size);
        gap                       = fmax(gap, row.joint_gap);
        last                      = row;
    }
    printf("chain: rise %.3g, balance %.3g, gap %.3g m, lost %.3g\n", rise, off, gap,
           (total(&start) - total(&last)) / start.kinetic);
    ck_assert_msg(rise <= 1e-11 && off <= 1e-9 && gap <= 1e-9, "%.3g %.3g %.3g", rise, off, gap);
    ck_assert(total(&last) < total(&start));
    scene_free(&s);
}
END_TEST

/* ---- muscles ---- */

#define MAX 60.0
#define GROWTH 90.0
#define START 20.0

/* A heavy arm on a hinge about z that swings against its muscle, out and back. */
static scene arm(int32_t side) {
    skel_body_desc  b = body_of(SKEL_SHAPE_SPHERE, 0.2, 0, 0, 30);
    skel_joint_desc j;
    skel_model_desc d;
    b.unplaced = 1;
    skel_joint_desc_init(&j);
    j.type = SKEL_JOINT_HINGE, j.parent = SKEL_WORLD, j.child = 0;
    j.child_position[0] = -0.3;
    j.muscle.growth = GROWTH, j.muscle.max = MAX, j.muscle.start = START, j.muscle.side = side;
    skel_model_desc_init(&d);
    d.bodies = &b, d.body_count = 1, d.joints = &j, d.joint_count = 1;
    d.gravity[2]    = 0;
    scene        s  = build(&d);
    const double qd = -4.0 * side; /* against the muscle: it is stretched */
    ck_assert_int_eq(skel_state_set_qd(s.state, &qd), SKEL_OK);
    return s;
}

/* Torque and work after its coordinate went from 0 to p. */
static double torque_at(double p) {
    return MAX - (MAX - START) * exp(GROWTH * p / MAX);
}
static double work_at(double p) {
    return MAX * p - (MAX - START) * MAX / GROWTH * expm1(GROWTH * p / MAX);
}

START_TEST(closed_form) {
    const int32_t side  = _i % 2 ? -1 : 1;
    scene         s     = arm(side);
    double        worst = 0, work = 0, least = 0, q, most = 0;
    skel_bake    *b = bake_all(&s, _i / 2 ? ADAMS : CONSERVING, 1e-11, 1.0 / 240, 240, 241);
    for (int k = 0; k < 241; ++k) {
        const double p = side * skel_bake_q(b)[k];
        least = fmin(least, p), most = fmax(most, torque_at(p));
        if (torque_at(p) < 1) break; /* slack it has another law */
        work = fmax(work, fabs(bake_report(b, k).work_motor - work_at(p)));
    }
    skel_bake_destroy(b);
    for (int k = 0; k < 240 && _i < 2; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        skel_state_get_q(s.state, &q);
        if (torque_at(side * q) < 1) break;
        worst = fmax(worst,
                     fabs(s.state->internal[s.model->joint[0].muscle_index] - torque_at(side * q)));
    }
    printf("muscle %s side %d: torque off by %.3g of %.4g, work by %.3g of %.4g; stretched %.3g\n",
           _i / 2 ? "adams" : "conserving", side, worst, most, work, -work_at(least), -least);
    ck_assert(least < -0.3 && most > 1.3 * START);
    near1(worst / MAX, 0, 1e-9);
    near1(work / MAX, 0, 1e-9);
    scene_free(&s);
}
END_TEST

#define FEEDBACK 0.7

/* Two bodies on a slide with a muscle, upright; the lower one lands on a ground. */
static scene jumper(void) {
    skel_body_desc   b[2];
    skel_joint_desc  j;
    skel_ground_desc ground;
    skel_model_desc  d;
    for (int k = 0; k < 2; ++k) {
        b[k]             = body_of(SKEL_SHAPE_SPHERE, 0.1, 0, 0, 2 + 8 * k);
        b[k].position[2] = 0.4 + 0.5 * k;
    }
    skel_joint_desc_init(&j);
    j.type = SKEL_JOINT_SLIDE, j.parent = 0, j.child = 1;
    j.parent_position[2] = 0.5;
    j.muscle.growth = 2000, j.muscle.max = 900;
    j.muscle.feedback = FEEDBACK, j.muscle.delay = 0.1;
    skel_ground_desc_init(&ground);
    skel_model_desc_init(&d);
    d.bodies = b, d.body_count = 2, d.joints = &j, d.joint_count = 1;
    d.grounds = &ground, d.ground_count = 1;
    return build(&d);
}

START_TEST(delay) {
    scene        s      = jumper();
    const double h      = 1e-3;
    double       impact = -1, speed = 0, changed = -1;
    for (int k = 0; k < 600 && changed < 0; ++k) {
        run(s.state, CONSERVING, h, 1);
        const skel_report_row row = report(s.state);
        const double          t   = skel_state_time(s.state);
        if (impact < 0 && row.contacts > 0) impact = t, speed = row.momentum[2] / 12;
        if (skel__muscle_gain(s.state, 0, t) != 1.0) changed = t;
    }
    printf("delay: impact at %.4f s with %.4g m/s, gain changes at %.4f s\n", impact, speed,
           changed);
    ck_assert(impact > 0.2 && impact < 0.3);
    ck_assert_msg(changed >= impact + 0.1 - 1e-9 && changed <= impact + 0.1 + 2.1 * h,
                  "gain changes %.6f s after the impact", changed - impact);
    scene_free(&s);
}
END_TEST

/* A mass on a spring: its speed is known. The muscle is too weak to matter. */
START_TEST(history) {
    skel_body_desc  b = body_of(SKEL_SHAPE_SPHERE, 0.1, 0, 0, 2);
    skel_joint_desc j;
    skel_model_desc d;
    const double    omega = 8, speed = 1.5;
    double          worst = 0, most = 0;
    skel_joint_desc_init(&j);
    j.type = SKEL_JOINT_SLIDE, j.parent = SKEL_WORLD, j.child = 0;
    j.spring.stiffness = 2 * omega * omega;
    j.muscle.growth = 1e-9, j.muscle.max = 1e-9;
    j.muscle.feedback = FEEDBACK, j.muscle.impact_speed = -2, j.muscle.delay = 0.1;
    skel_model_desc_init(&d);
    d.bodies = &b, d.body_count = 1, d.joints = &j, d.joint_count = 1;
    d.gravity[2] = 0;
    scene s      = build(&d);
    ck_assert_int_eq(skel_state_set_qd(s.state, &speed), SKEL_OK);
    for (int k = 0; k < 4000; ++k) {
        run(s.state, CONSERVING, 2.5e-4, 1);
        const double t = skel_state_time(s.state), gain = skel__muscle_gain(s.state, 0, t);
        const double known = speed * cos(omega * (t - 0.1));
        if (t < 0.1 - 1e-9) ck_assert(gain == 1.0);
        if (t < 0.1 + 1e-9) continue;
        const double seen = -2 * (1 + (gain - 1) / FEEDBACK);
        worst = fmax(worst, fabs(seen - known)), most = fmax(most, fabs(seen));
    }
    printf("history: speed off by %.3g of %.3g m/s\n", worst, most);
    near1(worst, 0, 1e-4);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("wobble");
    TCase *one   = tcase_create("all");
    tcase_set_timeout(one, 120);
    tcase_add_loop_test(one, conservation, 0, 2);
    tcase_add_loop_test(one, agreement, 0, 2);
    tcase_add_test(one, chain);
    tcase_add_loop_test(one, closed_form, 0, 4);
    tcase_add_test(one, delay);
    tcase_add_test(one, history);
    suite_add_tcase(suite, one);
    return run_suite(suite);
}
