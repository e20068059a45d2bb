/* SPDX-License-Identifier: BSD-3-Clause */
/* The energy-momentum step: what it keeps, what it survives, and that it is of second order. */
#include "dynamics/dynamics.h"
#include "shared/humanoid.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "shared/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CONSERVING_NUMBERS_MAX 700

/* Worst of what should stay as it is, over a run. */
typedef struct drift {
    double energy, momentum, angular, gap, misalignment;
} drift;

static double momentum_scale(const skel_state *s, double *angular) {
    double linear = 0;
    *angular = 0;
    for (int32_t i = 0; i < s->m->nb; ++i) {
        const skel__kin *x = &s->x[i];
        linear += s->m->body[i].mass * v3_norm(x->v);
        *angular += s->m->body[i].mass * v3_norm(v3_cross(x->p, x->v)) +
                    v3_norm(m3_mulv(s->m->body[i].inertia, x->w));
    }
    return linear;
}

static double balance(const double *now, const double *then, const double *impulse) {
    double worst = 0;
    for (int k = 0; k < 3; ++k) worst = fmax(worst, fabs(now[k] - then[k] - impulse[k]));
    return worst;
}

static drift measure(skel_state *s, double h, int steps, int every) {
    drift d = {0};
    double angular_scale, scale = momentum_scale(s, &angular_scale);
    const skel_report_row a = report(s);
    double size = a.kinetic;
    for (int k = 0; k < steps; k += every) {
        run(s, SKEL_INTEGRATOR_CONSERVING, h, every);
        const skel_report_row b = report(s);
        const double work = b.work_motor + b.work_friction + b.work_load + b.work_drive;
        const double gain = b.kinetic + b.potential - a.kinetic - a.potential;
        size = fmax(size, fmax(b.kinetic, fabs(work)));
        d.energy = fmax(d.energy, fabs(gain - work));
        d.momentum = fmax(d.momentum, balance(b.momentum, a.momentum, b.impulse));
        d.angular =
            fmax(d.angular, balance(b.angular_momentum, a.angular_momentum, b.angular_impulse));
        d.gap = fmax(d.gap, b.joint_gap);
        d.misalignment = fmax(d.misalignment, b.misalignment);
    }
    d.energy /= size, d.momentum /= scale, d.angular /= angular_scale;
    return d;
}

START_TEST(humanoid_for_a_minute) {
    scene s = scene_humanoid((humanoid_options){.stir = 2});
    const drift d = measure(s.state, 1.0 / 240, 60 * 240, 60);
    printf("humanoid, conserving at 1/240, 60 s: energy %.1e, momentum %.1e, angular %.1e, gap "
           "%.1e m, "
           "axes %.1e rad\n",
           d.energy, d.momentum, d.angular, d.gap, d.misalignment);
    ck_assert_double_le(d.energy, 1e-12);
    ck_assert_double_le(d.momentum, 1e-12);
    ck_assert_double_le(d.angular, 1e-12);
    ck_assert_double_le(d.gap, 1e-12);
    ck_assert_double_le(d.misalignment, 1e-12);
    scene_free(&s);
}
END_TEST

/* ---- what breaks others ---- */

static void heavy_and_light(skel_body_desc *b, int nb, skel_joint_desc *j, int nj) {
    (void)j, (void)nj;
    for (int i = 0; i < nb; i += 2) { /* every other body a thousandth */
        b[i].mass *= 1e-3;
        for (int k = 0; k < 6; ++k) b[i].inertia[k] *= 1e-3;
    }
}

static void thin_rods(skel_body_desc *b, int nb, skel_joint_desc *j, int nj) {
    (void)j, (void)nj;
    for (int i = 0; i < nb; ++i) {
        const double rod[6] = {b[i].mass * .01, b[i].mass * .01, b[i].mass * 1e-7, 0, 0, 0};
        memcpy(b[i].inertia, rod, sizeof rod);
    }
}

static void much_friction(skel_body_desc *b, int nb, skel_joint_desc *j, int nj) {
    (void)b, (void)nb;
    for (int i = 0; i < nj; ++i) j[i].friction = 5;
}

typedef struct hardship {
    const char *name;
    double h, stir;
    void (*edit)(skel_body_desc *, int, skel_joint_desc *, int);
} hardship;
static const hardship k_hardships[] = {{"spin 30 rad/s at 1/60", 1.0 / 60, 30, NULL},
                                       {"mass ratio 1:1000", 1.0 / 240, 3, heavy_and_light},
                                       {"thin rods", 1.0 / 240, 3, thin_rods},
                                       {"friction 5", 1.0 / 60, 3, much_friction}};

START_TEST(survives) {
    const hardship *k = &k_hardships[_i];
    scene s = scene_humanoid((humanoid_options){.stir = k->stir, .edit = k->edit});
    const double before = report(s.state).kinetic;
    const drift d = measure(s.state, k->h, (int)(10 / k->h), 10);
    printf("%s, 10 s: energy %.1e, angular %.1e, gap %.1e m\n", k->name, d.energy, d.angular,
           d.gap);
    ck_assert_double_le(d.energy, 1e-11);
    ck_assert_double_le(d.angular, 1e-11);
    ck_assert_double_le(d.gap, 1e-11);
    ck_assert_double_le(report(s.state).kinetic, before * (1 + 1e-11));
    scene_free(&s);
}
END_TEST

START_TEST(works_balance) { /* all joints, loads, motors, friction, fixed and driven roots */
    double worst = 0;
    for (int k = 0; k < 12; ++k) {
        rng r = rng_seed(900 + (uint64_t)k);
        scene s = scene_random_tree(
            &r, (scene_options){.bodies = 9, .root = k % 4, .loads = 1, .spin = 2});
        const drift d = measure(s.state, 5e-3, 100, 5);
        ck_assert_msg(d.energy < 1e-11 && d.momentum < 1e-10 && d.angular < 1e-10,
                      "tree %d: %.2g %.2g %.2g", k, d.energy, d.momentum, d.angular);
        worst = fmax(worst, d.energy);
        scene_free(&s);
    }
    printf("works balance to %.1e\n", worst);
}
END_TEST

/* Kinetic energy that a skeleton of the same momenta has if its joints are rigid. */
static double rigid_energy(const skel_state *s) {
    double mass = 0;
    v3 centre = {0, 0, 0}, momentum = {0, 0, 0}, angular = {0, 0, 0};
    m3 inertia = m3_zero();
    for (int32_t i = 0; i < s->m->nb; ++i) {
        const double one = s->m->body[i].mass;
        mass += one;
        centre = v3_mad(centre, one, s->x[i].p);
        momentum = v3_mad(momentum, one, s->x[i].v);
    }
    centre = v3_scale(centre, 1.0 / mass);

    for (int32_t i = 0; i < s->m->nb; ++i) {
        const skel__body *b = &s->m->body[i];
        const m3 turn = q_matrix(s->x[i].q);
        const v3 lever = v3_sub(s->x[i].p, centre);
        const m3 x = m3_skew(lever);
        inertia = m3_add(inertia, m3_conjugate(turn, b->inertia));
        inertia = m3_add(inertia, m3_scale(m3_tmul(x, x), b->mass));
        angular = v3_add(angular, m3_mulv(turn, m3_mulv(b->inertia, s->x[i].w)));
        angular = v3_mad(angular, b->mass, v3_cross(lever, s->x[i].v));
    }
    return 0.5 * v3_dot(momentum, momentum) / mass +
           0.5 * v3_dot(angular, m3_mulv(m3_inverse(inertia), angular));
}

/* Friction that is stiff against the step stops the joints, at whatever stiffness; the middle rule
   turns their velocities round instead, and from 1e10 N m s on rounding drives them. */
START_TEST(stiff_friction_is_a_rigid_joint) {
    const double friction = (const double[]){1e4, 1e6, 1e8, 1e12, 1e300}[_i];
    for (int k = 0; k < 6; ++k) {
        rng r = rng_seed(970 + (uint64_t)k);
        scene s = scene_random_tree(&r, (scene_options){.bodies = 9, .no_gravity = 1, .spin = 2});
        for (int32_t j = 0; j < s.model->nj; ++j) s.model->joint[j].friction = friction;

        /* after a tenth of a second */
        const double before = report(s.state).kinetic;
        skel_state *soon;
        ck_assert_int_eq(skel_state_create(s.model, &soon, NULL), SKEL_OK);
        skel_state_copy(soon, s.state);
        run(soon, SKEL_INTEGRATOR_CONSERVING, 1.0 / 240, 24);
        const double now = report(soon).kinetic, rigid = rigid_energy(soon);
        ck_assert_double_ge(before, 1.05 * rigid);
        ck_assert_double_le(fabs(now - rigid), 1e-4 * rigid);
        skel_state_destroy(soon);

        const drift d = measure(s.state, 1.0 / 240, 480, 10);
        printf("friction %g, tree %d: kinetic %.6g, then %.6g (rigid: %.6g); energy %.1e, angular "
               "%.1e\n",
               friction, k, before, now, rigid, d.energy, d.angular);
        ck_assert_double_le(d.energy, 1e-8);
        ck_assert_double_le(d.angular, 1e-10);
        ck_assert_double_le(d.gap, 1e-11);
        scene_free(&s);
    }
}
END_TEST

static double distance(const skel_state *a, const skel_state *b) {
    double worst = 0;
    for (int32_t i = 0; i < a->m->nb; ++i) {
        worst = fmax(worst, v3_norm(v3_sub(a->x[i].p, b->x[i].p)));
        worst = fmax(worst, v3_norm(q_log(q_mul(q_conj(a->x[i].q), b->x[i].q))));
    }
    return worst;
}

START_TEST(second_order) { /* conservation alone proves no accuracy */
    for (int k = 0; k < 6; ++k) {
        skel_state *at[3];
        rng r = rng_seed(950 + (uint64_t)k);
        scene s = scene_random_tree(&r, (scene_options){.bodies = 7, .root = k % 4, .loads = 1});
        for (int e = 0; e < 3; ++e) {
            ck_assert_int_eq(skel_state_create(s.model, &at[e], NULL), SKEL_OK);
            skel_state_copy(at[e], s.state);
        }
        run(at[0], SKEL_INTEGRATOR_CONSERVING, .2 / 80, 80);
        run(at[1], SKEL_INTEGRATOR_CONSERVING, .2 / 160, 160);
        run(at[2], SKEL_INTEGRATOR_RK4, .2 / 800, 800);
        const double one = distance(at[0], at[2]), two = distance(at[1], at[2]);
        ck_assert_msg(two < 1e-2 && log2(one / two) > 1.7, "tree %d: %.3g then %.3g", k, one, two);
        for (int e = 0; e < 3; ++e) skel_state_destroy(at[e]);
        scene_free(&s);
    }
}
END_TEST

START_TEST(no_wrong_root_at_absurd_steps) { /* a third of a turn and more per step */
    scene s = scene_chain(1, SKEL_JOINT_HINGE, SKEL_JOINT_HINGE, .5, NULL);
    const drift d = measure(s.state, .3, 1000, 10);
    ck_assert_double_le(d.energy, 1e-7);
    scene_free(&s);
}
END_TEST

START_TEST(unit_of_length_does_not_matter) {
    skel_state *at[3];
    scene s[3];
    for (int e = 0; e < 3; ++e) {
        const double scale[3] = {1, .01, 100};
        s[e] = scene_humanoid((humanoid_options){.gravity = 9.81, .stir = 2, .scale = scale[e]});
        at[e] = s[e].state;
        run(at[e], SKEL_INTEGRATOR_CONSERVING, 1.0 / 240, 240);
    }
    for (int e = 1; e < 3; ++e)
        for (int32_t i = 0; i < at[0]->m->nb; ++i)
            ck_assert_double_le(v3_norm(q_log(q_mul(q_conj(at[0]->x[i].q), at[e]->x[i].q))), 1e-9);
    for (int e = 0; e < 3; ++e) scene_free(&s[e]);
}
END_TEST

/* ---- follow ---- */

static void follow_at_30_hz(skel_body_desc *b, int nb, skel_joint_desc *j, int nj) {
    (void)b, (void)nb;
    for (int i = 0; i < nj; ++i) j[i].follow.frequency = 30;
}

static double worst_turn(const skel_state *s) { /* largest joint angle away from the target */
    double q[CONSERVING_NUMBERS_MAX], worst = 0;
    ck_assert_int_eq(skel_state_get_q(s, q), SKEL_OK);
    for (int32_t k = 0; k < s->m->nj; ++k) {
        const skel__joint *j = &s->m->joint[k];
        const double *at = q + j->q_offset;
        if (j->type == SKEL_JOINT_BALL)
            worst = fmax(worst, v3_norm(q_log(q_of(at))));
        else
            for (int c = 0; c < skel__joint_nq(j->type); ++c) worst = fmax(worst, fabs(at[c]));
    }
    return worst;
}

START_TEST(stiff_follow_at_any_step) {
    const double steps[6] = {1.0 / 24, 1.0 / 30, 1.0 / 60, 1.0 / 120, 1.0 / 240, 1.0 / 1000};
    scene s =
        scene_humanoid((humanoid_options){.gravity = 9.81, .stir = 2, .edit = follow_at_30_hz});
    const double h = steps[_i];
    const skel_report_row a = report(s.state);
    run(s.state, SKEL_INTEGRATOR_CONSERVING, h, (int)(10 / h + .5));
    const double turn = worst_turn(s.state);
    printf("follow at 30 Hz, step 1/%.0f, 10 s: joints off by %.1e rad\n", 1 / h, turn);
    ck_assert_double_le(turn, 2e-2);
    ck_assert_double_le(report(s.state).joint_gap, 1e-11);
    (void)a;
    scene_free(&s);
}
END_TEST

/* One hinge: a body of any inertia swings at the wanted frequency, with the wanted damping. */
START_TEST(follow_is_a_frequency) {
    skel_body_desc b;
    skel_joint_desc j;
    skel_model_desc d;
    scene s;
    const double f = 2, zeta = .1, start = .2;
    skel_body_desc_init(&b), skel_joint_desc_init(&j), skel_model_desc_init(&d);
    memset(d.gravity, 0, sizeof d.gravity);
    b.mass = 3, b.inertia[0] = b.inertia[1] = .2, b.inertia[2] = .3, b.unplaced = 1;
    j.type = _i, j.child = 0, j.child_position[0] = _i == SKEL_JOINT_SLIDE ? 0 : .4;
    j.follow.frequency = f, j.follow.damping = zeta;
    j.q[0] = start;
    if (_i == SKEL_JOINT_BALL) j.q[0] = cos(start / 2), j.q[3] = sin(start / 2);
    d.bodies = &b, d.body_count = 1, d.joints = &j, d.joint_count = 1;
    for (int e = 0; e < 2; ++e) {
        double q[4];
        skel_error err;
        skel_error_init(&err);
        ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
        ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
        run(s.state, e ? SKEL_INTEGRATOR_RK4 : SKEL_INTEGRATOR_CONSERVING, 1e-3, 700);
        skel_state_get_q(s.state, q);
        const double w = 2 * acos(-1.0) * f, wd = w * sqrt(1 - zeta * zeta), t = .7;
        const double want =
            start * exp(-zeta * w * t) * (cos(wd * t) + zeta / sqrt(1 - zeta * zeta) * sin(wd * t));
        const double have = _i == SKEL_JOINT_BALL ? 2 * atan2(q[3], q[0]) : q[0];
        near1(have, want, e ? 1e-8 : 1e-4);
        scene_free(&s);
    }
}
END_TEST

/* A weak spring cannot keep limbs up: they fall over, past half a turn from their target, where the
   way back changes sides. No force may jump there, and the work must still be accounted for. */
static void follow_weakly(skel_body_desc *b, int nb, skel_joint_desc *j, int nj) {
    (void)nb;
    b[0].motion = SKEL_MOTION_FIXED;
    for (int i = 0; i < nj; ++i) j[i].follow.frequency = 0.5, j[i].follow.damping = 0.2;
}

START_TEST(follow_past_half_a_turn) {
    scene s = scene_humanoid((humanoid_options){.gravity = 9.81, .stir = 8, .edit = follow_weakly});
    const drift d = measure(s.state, 1.0 / 240, 1200, 1);
    ck_assert_double_lt(d.energy, 1e-9);
    ck_assert_double_lt(d.gap, 1e-11);
    scene_free(&s);
}
END_TEST

enum { LINKS = 60 };

/* A rope of thin links that stands out from the world, held by springs; where its tip is after the
   time and how fast links turn about themselves, which they hardly do. */
static v3 tip_of_a_rope(double h, double time, double *twist) {
    skel_body_desc b[LINKS];
    skel_joint_desc j[LINKS];
    skel_model_desc d;
    scene s;
    const double half = .05, mass = .04;
    skel_model_desc_init(&d);
    for (int i = 0; i < LINKS; ++i) {
        skel_body_desc_init(&b[i]), skel_joint_desc_init(&j[i]);
        b[i].mass = mass, b[i].unplaced = 1;
        b[i].inertia[1] = b[i].inertia[2] = mass * half * half / 3;
        b[i].inertia[0] = 1e-3 * b[i].inertia[1];
        j[i].type = SKEL_JOINT_BALL, j[i].parent = i - 1, j[i].child = i;
        j[i].parent_position[0] = i ? half : 0, j[i].child_position[0] = -half;
        j[i].follow.frequency = 4, j[i].follow.damping = 1;
    }
    d.bodies = b, d.body_count = LINKS, d.joints = j, d.joint_count = LINKS;
    d.gravity[1] = 1e-9; /* for whatever grows */
    scene_demand(skel_model_create(&d, &s.model, NULL), NULL);
    scene_demand(skel_state_create(s.model, &s.state, NULL), NULL);
    run(s.state, SKEL_INTEGRATOR_CONSERVING, h, (int)(time / h + 0.5));
    *twist = 0;
    for (int i = 0; i < LINKS; ++i) *twist = fmax(*twist, fabs(s.state->x[i].w.x));
    const v3 tip = s.state->x[LINKS - 1].p;
    scene_free(&s);
    return tip;
}

/* Across a rope springs are as strong as all that hangs there asks for, along it links weigh next
   to nothing: a torque that stands a little askew would twist it up. */
START_TEST(follow_twists_no_rope) {
    double twist[2];
    const v3 tip = tip_of_a_rope(1.0 / 240, 2, &twist[0]);
    const v3 fine = tip_of_a_rope(1.0 / 960, 2, &twist[1]);
    printf("rope of %d links, 2 s: tip off by %.1e m, twists by %.1e rad/s\n", LINKS,
           v3_norm(v3_sub(tip, fine)), twist[0]);
    ck_assert_double_lt(v3_norm(v3_sub(tip, fine)), 1e-3 * 0.1 * LINKS);
    ck_assert_double_lt(fmax(twist[0], twist[1]), 1e-6);
}
END_TEST

START_TEST(follow_lets_go_smoothly) {
    const double eps = 1e-6;
    for (int type = SKEL_JOINT_HINGE; type <= SKEL_JOINT_BALL; type += 3) {
        const skel__joint j = {.type = type};
        double last = 0;
        for (double angle = 0; angle < 6.3; angle += 1e-3) {
            const pose outer = {{0, 0, 0}, q_identity()};
            const pose here = {{0, 0, 0}, q_exp((v3){0, 0, angle})};
            const pose next = {{0, 0, 0}, q_exp((v3){0, 0, angle + eps})};
            const pose o[2] = {outer, outer}, i[2] = {here, next};
            const double want[8] = {type == SKEL_JOINT_BALL, 0, 0, 0, type == SKEL_JOINT_BALL};
            const double now = skel__follow_error(&j, outer, here, want).w.z;
            ck_assert_double_lt(fabs(now - last), 2e-2); /* no jump */
            near1(skel__follow_change(&j, o, i, want).w.z, eps, 1e-12);
            if (angle < 2.4) near1(now, angle, 1e-12);
            last = now;
        }
    }
}
END_TEST

START_TEST(follow_obeys_its_bound_and_weight) {
    skel_body_desc b;
    skel_joint_desc j;
    skel_model_desc d;
    const double time[2] = {0, 1}, weight[2] = {0, 0};
    skel_body_desc_init(&b), skel_joint_desc_init(&j), skel_model_desc_init(&d);
    memset(d.gravity, 0, sizeof d.gravity);
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = .5, b.unplaced = 1;
    j.type = SKEL_JOINT_HINGE, j.child = 0, j.q[0] = 1.0;
    j.follow.frequency = 10, j.follow.damping = 0, j.follow.max = .05;
    d.bodies = &b, d.body_count = 1, d.joints = &j, d.joint_count = 1;
    for (int e = 0; e < 2; ++e) {
        scene s;
        double q;
        if (e) j.follow.weight = (skel_curve){time, weight, 2, 1};
        ck_assert_int_eq(skel_model_create(&d, &s.model, NULL), SKEL_OK);
        ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
        run(s.state, SKEL_INTEGRATOR_CONSERVING, 1e-2, 50);
        skel_state_get_q(s.state, &q);
        /* saturated all the way: a constant torque of max, 1 - (max / I) t^2 / 2 */
        near1(q, e ? 1.0 : 1.0 - .05 / .5 * .25 / 2, 1e-6);
        scene_free(&s);
    }
}
END_TEST

/* ---- far from the origin ---- */

#define FAR 1e6       /* [m] */
#define FAR_STEPS 240 /* of 1/240 s */

static scene far_scene(int kind) {
    rng r = rng_seed(5);
    if (kind == 0)
        return scene_humanoid(
            (humanoid_options){.gravity = 9.81, .stir = 0.5, .edit = humanoid_limits});
    return scene_random_tree(&r,
                             (scene_options){.bodies = 12, .root = SCENE_ROOT_FREE, .loads = 1});
}

static void shift(const scene *s, double by) {
    double poses[7 * HUMANOID_BODIES];
    ck_assert_int_eq(skel_state_get_poses(s->state, poses), SKEL_OK);
    for (int32_t i = 0; i < s->state->m->nb; ++i) poses[7 * i + 2] += by;
    ck_assert_int_eq(skel_state_set_poses(s->state, poses), SKEL_OK);
}

/* The same scene there and here: the same motion, but for the rounding of positions. */
START_TEST(far_from_the_origin) {
    scene here = far_scene(_i), there = far_scene(_i);
    const double ulp = FAR * 0x1p-53;
    double off = 0;
    shift(&there, -FAR);

    const skel_report_row a = report(there.state);
    run(here.state, SKEL_INTEGRATOR_CONSERVING, 1.0 / 240, FAR_STEPS);
    run(there.state, SKEL_INTEGRATOR_CONSERVING, 1.0 / 240, FAR_STEPS);
    for (int32_t i = 0; i < here.state->m->nb; ++i) {
        const v3 shifted = v3_add(there.state->x[i].p, (v3){0, 0, FAR});
        off = fmax(off, v3_norm(v3_sub(shifted, here.state->x[i].p)));
    }

    const skel_report_row b = report(there.state);
    const double work = b.work_motor + b.work_friction + b.work_load + b.work_drive - a.work_motor -
                        a.work_friction - a.work_load - a.work_drive;
    const double wrong = b.kinetic + b.potential - a.kinetic - a.potential - work;
    printf(
        "%g m from the origin: off by %.2g m, %.3g units in the last place; energy off by %.2g\n",
        FAR, off, off / ulp, wrong / b.kinetic);
    ck_assert_double_le(off, 200 * ulp);
    ck_assert_double_le(fabs(wrong), 1e-8 * b.kinetic);
    scene_free(&here);
    scene_free(&there);
}
END_TEST

/* ---- pins ---- */

START_TEST(pins_hold_and_let_go) { /* a free body falls, is caught for half a second, falls again */
    skel_body_desc b;
    skel_model_desc d;
    scene s;
    const double pin[2] = {.5, 1.0};
    skel_body_desc_init(&b), skel_model_desc_init(&d);
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = .1, b.angular_velocity[0] = 2;
    b.pinned = pin, b.pinned_count = 1;
    d.bodies = &b, d.body_count = 1;
    ck_assert_int_eq(skel_model_create(&d, &s.model, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    const double fallen = -.5 * 9.81 * .25;
    run(s.state, SKEL_INTEGRATOR_CONSERVING, .003, 250); /* .75 s: no step ends at a switch */
    near1(s.state->x[0].p.z, fallen, 1e-12);
    near1(v3_norm(q_log(s.state->x[0].q)), 1.0, 1e-5);
    run(s.state, SKEL_INTEGRATOR_CONSERVING, .003, 250); /* 1.5 s */
    near1(s.state->x[0].p.z, 2 * fallen, 1e-2); /* let go at rest, but for half a step of gravity */
    scene_free(&s);
}
END_TEST

START_TEST(release_keeps_the_velocity_of_the_curve) { /* a keyed motion goes on into physics */
    const double time[5] = {0, .1, .2, .3, .4}, pin[2] = {-1e300, .4};
    double path[15] = {0};
    skel_body_desc b;
    skel_model_desc d;
    scene s;
    for (int k = 0; k < 5; ++k) path[3 * k] = 2 * time[k]; /* 2 m/s along x */
    skel_body_desc_init(&b), skel_model_desc_init(&d);
    memset(d.gravity, 0, sizeof d.gravity);
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = .1;
    b.position_curve = (skel_curve){time, path, 5, 3};
    b.pinned = pin, b.pinned_count = 1;
    d.bodies = &b, d.body_count = 1;
    ck_assert_int_eq(skel_model_create(&d, &s.model, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    near1(s.state->x[0].v.x, 2, 1e-12);
    run(s.state, SKEL_INTEGRATOR_CONSERVING, .01, 100);
    near1(s.state->x[0].p.x, 2, 1e-9);
    near1(s.state->x[0].v.x, 2, 1e-9);
    scene_free(&s);
}
END_TEST

START_TEST(a_pin_elsewhere_is_an_error) { /* no jump, no velocity out of nowhere */
    const double time[2] = {0, 1}, path[6] = {0, 0, 0, 0, 0, 0}, pin[2] = {.5, 1};
    skel_body_desc b;
    skel_model_desc d;
    scene s;
    skel_step_desc step;
    skel_error err;
    skel_body_desc_init(&b), skel_model_desc_init(&d), skel_step_desc_init(&step);
    skel_error_init(&err);
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = .1, b.name = "stone";
    b.position_curve = (skel_curve){time, path, 2, 3};
    b.pinned = pin, b.pinned_count = 1;
    d.bodies = &b, d.body_count = 1;
    ck_assert_int_eq(skel_model_create(&d, &s.model, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    run(s.state, SKEL_INTEGRATOR_CONSERVING, .01, 49); /* it has fallen 1.2 m */
    step.integrator = SKEL_INTEGRATOR_CONSERVING, step.h = .02;
    ck_assert_int_eq(skel_step(s.state, &step, &err), SKEL_E_JOINT);
    ck_assert_ptr_nonnull(strstr(err.text, "'stone' is pinned to its curve"));
    near1(s.state->t, .49, 1e-9);
    scene_free(&s);
}
END_TEST

/* The step crosses the time at which a pin would close elsewhere: its first part succeeds, and the
   pin then makes it fail. Pins, the muscle's history and all other state variables must be the same
   as before. */
START_TEST(a_failed_step_restores_all_variables) {
    const double time[2] = {0, 1}, path[6] = {0, 0, 0, 0, 0, 0}, pin[2] = {.5, 1};
    skel_body_desc b[2];
    skel_joint_desc j;
    skel_model_desc d;
    skel_step_desc step;
    for (int k = 0; k < 2; ++k) {
        skel_body_desc_init(&b[k]);
        b[k].mass = 1;
        b[k].inertia[0] = b[k].inertia[1] = b[k].inertia[2] = .1;
    }
    b[0].position_curve = (skel_curve){time, path, 2, 3};
    b[0].pinned = pin;
    b[0].pinned_count = 1;
    skel_joint_desc_init(&j);
    j.type = SKEL_JOINT_HINGE;
    j.child = 1;
    j.muscle.growth = 10;
    j.muscle.max = 20;
    j.muscle.side = 1;
    j.muscle.feedback = .5;
    j.muscle.delay = .03;
    j.muscle.impact_speed = -1;
    skel_model_desc_init(&d);
    d.bodies = b;
    d.body_count = 2;
    d.joints = &j;
    d.joint_count = 1;

    scene s;
    skel_state *before;
    ck_assert_int_eq(skel_model_create(&d, &s.model, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &before, NULL), SKEL_OK);
    run(s.state, SKEL_INTEGRATOR_CONSERVING, .01, 49);
    ck_assert_int_eq(s.state->history[0].count, 49);
    ck_assert_int_eq(skel_state_copy(before, s.state), SKEL_OK);

    skel_step_desc_init(&step);
    step.integrator = SKEL_INTEGRATOR_CONSERVING;
    step.h = .02;
    ck_assert_int_eq(skel_step(s.state, &step, NULL), SKEL_E_JOINT);

    const skel_state *after = s.state;
    ck_assert_int_eq(after->is_pinned[0], 0);
    ck_assert_int_eq(after->nloop, 0);
    ck_assert_int_eq(after->history[0].count, 49);
    ck_assert(after->t == before->t);
    ck_assert_int_eq(memcmp(&after->sum, &before->sum, sizeof after->sum), 0);
    ck_assert_int_eq(memcmp(after->arrays, before->arrays, after->array_bytes), 0);
    skel_state_destroy(before);
    scene_free(&s);
}
END_TEST

/* A rod between the world and a body that is driven away: no motion fits. */
START_TEST(a_contradiction_is_an_error) {
    const double time[2] = {0, 1}, path[6] = {1, 0, 0, 2, 0, 0};
    skel_body_desc b[2];
    skel_joint_desc j[2];
    skel_model_desc d;
    skel_step_desc step;
    skel_error err;
    scene s;
    for (int k = 0; k < 2; ++k) {
        skel_body_desc_init(&b[k]);
        skel_joint_desc_init(&j[k]);
        b[k].mass = 1;
        b[k].inertia[0] = b[k].inertia[1] = b[k].inertia[2] = 0.1;
        j[k].type = SKEL_JOINT_BALL;
        j[k].child = 0;
    }
    b[0].position[0] = 0.5;
    b[1].motion = SKEL_MOTION_DRIVEN;
    b[1].position[0] = 1;
    b[1].position_curve = (skel_curve){time, path, 2, 3};
    j[0].name = "wall";
    j[0].parent = SKEL_WORLD;
    j[0].child_position[0] = -0.5;
    j[1].name = "puller";
    j[1].parent = 1;
    j[1].child_position[0] = 0.5;
    skel_model_desc_init(&d);
    skel_step_desc_init(&step);
    skel_error_init(&err);
    d.bodies = b, d.body_count = 2, d.joints = j, d.joint_count = 2;
    ck_assert_int_eq(skel_model_create(&d, &s.model, &err), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, &err), SKEL_OK);

    step.integrator = SKEL_INTEGRATOR_CONSERVING;
    step.h = 0.01;
    skel_status status = SKEL_OK;
    for (int k = 0; status == SKEL_OK && k < 10; ++k) status = skel_step(s.state, &step, &err);
    ck_assert_int_eq(status, SKEL_E_DIVERGED);
    ck_assert_msg(strstr(err.text, "Newton's method did not converge at t = ") != NULL, "%s",
                  err.text);
    ck_assert_msg(strstr(err.text, "(worst joint '") != NULL, "%s", err.text);
    ck_assert_msg(strstr(err.text, "try a shorter step (now 10 ms)") != NULL, "%s", err.text);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("conserving");
    TCase *t = tcase_create("all");
    tcase_add_test(t, humanoid_for_a_minute);
    tcase_add_loop_test(t, survives, 0, (int)(sizeof k_hardships / sizeof *k_hardships));
    tcase_add_test(t, works_balance);
    tcase_add_loop_test(t, stiff_friction_is_a_rigid_joint, 0, 5);
    tcase_add_test(t, second_order);
    tcase_add_test(t, no_wrong_root_at_absurd_steps);
    tcase_add_test(t, unit_of_length_does_not_matter);
    tcase_add_loop_test(t, stiff_follow_at_any_step, 0, 6);
    tcase_add_loop_test(t, follow_is_a_frequency, SKEL_JOINT_HINGE, SKEL_JOINT_BALL + 1);
    tcase_add_test(t, follow_obeys_its_bound_and_weight);
    tcase_add_test(t, follow_past_half_a_turn);
    tcase_add_test(t, follow_lets_go_smoothly);
    tcase_add_test(t, follow_twists_no_rope);
    tcase_add_loop_test(t, far_from_the_origin, 0, 2);
    tcase_add_test(t, pins_hold_and_let_go);
    tcase_add_test(t, a_pin_elsewhere_is_an_error);
    tcase_add_test(t, a_failed_step_restores_all_variables);
    tcase_add_test(t, a_contradiction_is_an_error);
    tcase_add_test(t, release_keeps_the_velocity_of_the_curve);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
