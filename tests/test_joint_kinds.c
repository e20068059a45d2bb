/* SPDX-License-Identifier: BSD-3-Clause */
/* Planar joints and screws: independent solvers and integrators agree, energy and momenta are
   conserved, and single joints follow their closed forms. */
#include "dynamics/dynamics.h"
#include "dynamics/inverse.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "shared/steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KINDS_NUMBERS_MAX 400
#define KINDS_PI 3.14159265358979323846

/* Masks of scene_options: each kind alone, and mixed with all others. */
static const int k_masks[] = {1 << SKEL_JOINT_PLANAR, 1 << SKEL_JOINT_SCREW,
                              (1 << (SKEL_JOINT_SCREW + 1)) - 1};
#define KINDS_MASK_COUNT ((int)(sizeof k_masks / sizeof *k_masks))

static scene tree(uint64_t seed, int mask, scene_options o) {
    rng r = rng_seed(seed);
    o.joint_mask = mask;
    return scene_random_tree(&r, o);
}

/* ---- accelerations ---- */

START_TEST(solvers_agree) {
    double a[2][KINDS_NUMBERS_MAX], worst = 0;
    for (int k = 0; k < 60; ++k) {
        scene s = tree((uint64_t)k, k_masks[_i],
                       (scene_options){.bodies = 2 + k % 15, .root = k % 4, .loads = 1, .spin = 2});
        const size_t n = 3 * (size_t)s.model->nb;
        ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_TREE, a[0], a[0] + n, NULL),
                         SKEL_OK);
        static const int32_t others[] = {SKEL_SOLVER_KKT, SKEL_SOLVER_PINV};
        for (int e = 0; e < 2; ++e) {
            ck_assert_int_eq(skel_accelerations(s.state, others[e], a[1], a[1] + n, NULL), SKEL_OK);
            const double size = fmax(1.0, max_abs(a[0], 2 * n));
            worst = fmax(worst, max_difference(a[0], a[1], 2 * n) / size);
        }
        scene_free(&s);
    }
    printf("mask %x: accelerations of three solvers differ by %.1e\n", k_masks[_i], worst);
    ck_assert_double_le(worst, 1e-10);
}
END_TEST

/* With loads F_i on the bodies, the forces that inverse dynamics finds for the accelerations they
   cause are sum J_i^T F_i: the virtual power of the loads. */
START_TEST(inverse_dynamics_is_the_transposed_jacobian) {
    for (int k = 0; k < 40; ++k) {
        const scene_options o = {.bodies = 1 + k % 9, .root = SCENE_ROOT_WORLD, .spin = 2};
        scene s = tree((uint64_t)k, k_masks[_i], o);
        const int32_t nb = s.model->nb, nv = s.model->nv;
        double *a = calloc(6 * (size_t)nb, sizeof *a), *x = calloc(7 * (size_t)nb, sizeof *x);
        double *torque = calloc((size_t)nv + 1, sizeof *torque);
        double *want = calloc((size_t)nv + 1, sizeof *want);
        double *jacobian = calloc(6 * (size_t)nv + 1, sizeof *jacobian);
        rng r = rng_seed((uint64_t)k + 1000);

        /* The same model with loads. */
        for (int32_t i = 0; i < nb; ++i) {
            skel__body *b = &s.model->body[i];
            b->force = (v3){rng_range(&r, -5, 5), rng_range(&r, -5, 5), rng_range(&r, -5, 5)};
            b->torque = (v3){rng_range(&r, -1, 1), rng_range(&r, -1, 1), rng_range(&r, -1, 1)};
        }
        ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_TREE, a, a + 3 * (size_t)nb, NULL),
                         SKEL_OK);
        skel_state_get_poses(s.state, x);
        for (int32_t i = 0; i < nb; ++i) {
            const double load[6] = {s.model->body[i].force.x,  s.model->body[i].force.y,
                                    s.model->body[i].force.z,  s.model->body[i].torque.x,
                                    s.model->body[i].torque.y, s.model->body[i].torque.z};
            const double centre[3] = {0, 0, 0};
            ck_assert_int_eq(skel_jacobian(s.model, x, i, centre, jacobian), SKEL_OK);
            for (int32_t c = 0; c < nv; ++c)
                for (int32_t e = 0; e < 6; ++e) want[c] += jacobian[e * nv + c] * load[e];
            s.model->body[i].force = (v3){0, 0, 0};
            s.model->body[i].torque = (v3){0, 0, 0};
        }
        ck_assert_int_eq(
            skel_inverse_dynamics(s.state, a, a + 3 * (size_t)nb, torque, NULL, NULL, NULL),
            SKEL_OK);
        near(torque, want, (size_t)nv, 1e-9 * (1 + max_abs(want, (size_t)nv)));
        free(a), free(x), free(torque), free(want), free(jacobian);
        scene_free(&s);
    }
}
END_TEST

/* Poses and velocities at q(t) = q0 + a t + b t^2 / 2. */
static void place(skel_state *s, const double *q0, const double *a, const double *b, double t) {
    double q[KINDS_NUMBERS_MAX], qd[KINDS_NUMBERS_MAX];
    for (int32_t k = 0; k < s->m->nv; ++k) {
        q[k] = q0[k] + a[k] * t + .5 * b[k] * t * t;
        qd[k] = a[k] + b[k] * t;
    }
    skel__fk(s->m, q, s->x);
    skel__fk_velocity(s, qd);
}

/* The outward pass of inverse dynamics against central differences of fourth order. */
START_TEST(accelerations_are_the_derivative_of_velocities) {
    enum { BODIES = 6 };
    const double h = 1e-3;
    const int mask = k_masks[_i] & ~(1 << SKEL_JOINT_BALL); /* q and qd have the same numbers */
    for (int k = 0; k < 20; ++k) {
        scene s = tree((uint64_t)k + 300, mask,
                       (scene_options){.bodies = BODIES, .root = SCENE_ROOT_WORLD});
        skel_state *x = s.state;
        double q[KINDS_NUMBERS_MAX], a[KINDS_NUMBERS_MAX], b[KINDS_NUMBERS_MAX];
        double u[4][6 * BODIES], slope[6 * BODIES], have[6 * BODIES];
        rng r = rng_seed((uint64_t)k);
        skel_state_get_q(x, q);
        for (int32_t c = 0; c < s.model->nv; ++c) {
            a[c] = rng_range(&r, -1, 1);
            b[c] = rng_range(&r, -2, 2);
        }

        static const double at[4] = {-2, -1, 1, 2};
        for (int e = 0; e < 4; ++e) {
            place(x, q, a, b, at[e] * h);
            for (int i = 0; i < BODIES; ++i) {
                v3_to(x->x[i].v, u[e] + 6 * i);
                v3_to(x->ww[i], u[e] + 6 * i + 3);
            }
        }
        for (int i = 0; i < 6 * BODIES; ++i)
            slope[i] = (8 * (u[2][i] - u[1][i]) - (u[3][i] - u[0][i])) / (12 * h);

        place(x, q, a, b, 0);
        skel__fk_acceleration(x, b);
        for (int i = 0; i < BODIES; ++i) {
            v3_to(x->acc[i].v, have + 6 * i);
            v3_to(x->acc[i].w, have + 6 * i + 3);
        }
        near(have, slope, 6 * BODIES, 1e-8 * (1 + max_abs(slope, 6 * BODIES)));
        scene_free(&s);
    }
}
END_TEST

/* ---- motions ---- */

typedef struct drift {
    double energy, momentum, angular, gap, angle;
} drift;

static drift measure(skel_state *s, double h, int steps) {
    const skel_report_row a = report(s);
    drift d = {0};
    double size = a.kinetic, linear = 1e-3, angular = 1e-3;
    for (int k = 0; k < steps; ++k) {
        run(s, SKEL_INTEGRATOR_CONSERVING, h, 1);
        const skel_report_row b = report(s);
        const double work = b.work_motor + b.work_friction + b.work_load + b.work_drive;
        const double gain = b.kinetic + b.potential - a.kinetic - a.potential;
        size = fmax(size, fmax(b.kinetic, fabs(b.potential)));
        d.energy = fmax(d.energy, fabs(gain - work));
        for (int c = 0; c < 3; ++c) {
            d.momentum = fmax(d.momentum, fabs(b.momentum[c] - a.momentum[c] - b.impulse[c]));
            d.angular = fmax(d.angular, fabs(b.angular_momentum[c] - a.angular_momentum[c] -
                                             b.angular_impulse[c]));
        }
        for (int32_t i = 0; i < s->m->nb; ++i) {
            linear = fmax(linear, s->m->body[i].mass * v3_norm(s->x[i].v));
            angular =
                fmax(angular, s->m->body[i].mass * v3_norm(v3_cross(s->x[i].p, s->x[i].v)) + 1e-3);
        }
        d.gap = fmax(d.gap, b.joint_gap);
        d.angle = fmax(d.angle, b.misalignment);
    }
    d.energy /= size, d.momentum /= linear, d.angular /= angular;
    return d;
}

START_TEST(conserving_steps_conserve) {
    drift worst = {0};
    for (int k = 0; k < 24; ++k) {
        const scene_options o = {.bodies = 2 + k % 7, .root = k % 4, .loads = k % 2, .spin = 1.5};
        scene s = tree((uint64_t)k + 40, k_masks[_i], o);
        const drift d = measure(s.state, 1.0 / 240, 240);
        worst.energy = fmax(worst.energy, d.energy);
        worst.momentum = fmax(worst.momentum, d.momentum);
        worst.angular = fmax(worst.angular, d.angular);
        worst.gap = fmax(worst.gap, d.gap), worst.angle = fmax(worst.angle, d.angle);
        scene_free(&s);
    }
    printf("mask %x: energy %.1e, momentum %.1e, angular %.1e, gap %.1e m, axes %.1e\n",
           k_masks[_i], worst.energy, worst.momentum, worst.angular, worst.gap, worst.angle);
    ck_assert_double_le(worst.energy, 1e-11);
    ck_assert_double_le(worst.momentum, 1e-11);
    ck_assert_double_le(worst.angular, 1e-11);
    ck_assert_double_le(worst.gap, 1e-12);
    ck_assert_double_le(worst.angle, 1e-12);
}
END_TEST

static double distance(const skel_model *m, const double *x, const double *y) {
    double worst = 0;
    for (int32_t i = 0; i < m->nb; ++i) {
        const quat turn = q_mul(q_conj(q_of(x + 7 * i + 3)), q_of(y + 7 * i + 3));
        worst = fmax(worst, max_difference(x + 7 * i, y + 7 * i, 3));
        worst = fmax(worst, v3_norm(q_log(turn)));
    }
    return worst;
}

/* Poses after 0.3 s. */
static void bake(const scene *s, int32_t integrator, double step, double *out) {
    skel_bake_desc d;
    skel_bake *b;
    skel_error err;
    skel_error_init(&err);
    skel_bake_desc_init(&d);
    d.model = s->model, d.state = s->state;
    d.sample_rate = 10, d.sample_count = 4;
    d.integrator = integrator, d.step = step, d.tolerance = 1e-10;
    ck_assert_msg(skel_bake_start(&d, &b, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
    const size_t n = 7 * (size_t)s->model->nb;
    memcpy(out, skel_bake_poses(b) + 3 * n, n * sizeof *out);
    skel_bake_destroy(b);
}

/* Integrators with formulas of their own give one motion: the conserving step is of second order,
   RK4 of fourth, Euler's of first. */
START_TEST(integrators_agree) {
    for (int k = 0; k < 8; ++k) {
        double x[7][KINDS_NUMBERS_MAX];
        scene s = tree((uint64_t)k + 80, k_masks[_i],
                       (scene_options){.bodies = 4, .root = k % 4, .loads = 1, .spin = 1});
        bake(&s, SKEL_INTEGRATOR_ADAMS, 0, x[0]);
        bake(&s, SKEL_INTEGRATOR_BDF, 0, x[1]);
        bake(&s, SKEL_INTEGRATOR_RK4, 1e-3, x[2]);
        bake(&s, SKEL_INTEGRATOR_RK4, 5e-4, x[3]);
        bake(&s, SKEL_INTEGRATOR_CONSERVING, 1.0 / 300, x[4]);
        bake(&s, SKEL_INTEGRATOR_CONSERVING, 1.0 / 600, x[5]);
        bake(&s, SKEL_INTEGRATOR_EULER, 1e-4, x[6]);
        double off[7];
        for (int e = 1; e < 7; ++e) off[e] = distance(s.model, x[0], x[e]);
        ck_assert_double_le(off[1], 1e-8);
        ck_assert_msg(off[3] < off[2] / 10 || off[3] < 1e-9, "%d: %.3g, %.3g", k, off[2], off[3]);
        ck_assert_msg(off[5] < off[4] / 3.5 && off[4] < .1, "%d: %.3g, %.3g", k, off[4], off[5]);
        ck_assert_double_le(off[6], .1);
        scene_free(&s);
    }
}
END_TEST

/* ---- loops ---- */

enum { LOOP_LINKS = 4 };

/* A chain of balls whose last body is also joined to the world. */
static scene closed_chain(int32_t type) {
    skel_body_desc b[LOOP_LINKS];
    skel_joint_desc j[LOOP_LINKS + 1];
    skel_model_desc d;
    scene s;
    skel_error err;
    rng r = rng_seed(3);
    skel_error_init(&err);
    skel_model_desc_init(&d);
    for (int k = 0; k < LOOP_LINKS; ++k) {
        skel_body_desc_init(&b[k]);
        skel_joint_desc_init(&j[k]);
        const double size[3] = {.1, .15, .5};
        b[k].mass = 1 + .3 * k;
        b[k].position[0] = .5 * k + .25, b[k].position[2] = .2 * (k % 2);
        scene_demand(skel_shape_inertia(SKEL_SHAPE_BOX, size, b[k].mass, b[k].inertia), NULL);
        j[k].type = SKEL_JOINT_BALL, j[k].parent = k - 1, j[k].child = k;
        j[k].child_position[0] = -.25;
        for (int c = 0; c < 3; ++c)
            j[k].parent_position[c] =
                b[k].position[c] + j[k].child_position[c] - (k ? b[k - 1].position[c] : 0);
    }
    skel_joint_desc *loop = &j[LOOP_LINKS];
    skel_joint_desc_init(loop);
    const quat frame = q_exp((v3){.3, .5, -.2});
    loop->type = type, loop->child = LOOP_LINKS - 1, loop->child_position[0] = .2;
    loop->pitch = type == SKEL_JOINT_SCREW ? .07 : 0;
    q_to(frame, loop->child_orientation), q_to(frame, loop->parent_orientation);
    for (int c = 0; c < 3; ++c)
        loop->parent_position[c] = b[LOOP_LINKS - 1].position[c] + loop->child_position[c];
    d.bodies = b, d.body_count = LOOP_LINKS, d.joints = j, d.joint_count = LOOP_LINKS + 1;
    scene_demand(skel_model_create(&d, &s.model, &err), &err);
    scene_demand(skel_state_create(s.model, &s.state, &err), &err);

    /* Velocities that fit the loop. */
    double qd[32];
    for (int32_t k = 0; k < s.model->nv; ++k) qd[k] = rng_range(&r, -1, 1);
    scene_demand(skel_state_set_qd(s.state, qd), NULL);
    ck_assert_int_eq(s.model->nl, 1);
    ck_assert_int_eq(skel_state_project(s.state, NULL, NULL, NULL), SKEL_OK);
    return s;
}

static void check_loop(int32_t type) {
    double a[2][6 * LOOP_LINKS];
    const size_t n = 3 * LOOP_LINKS;
    scene s = closed_chain(type), c = closed_chain(type);
    for (int k = 0; k < 5; ++k) {
        ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_TREE, a[0], a[0] + n, NULL),
                         SKEL_OK);
        ck_assert_int_eq(skel_accelerations(s.state, SKEL_SOLVER_PINV, a[1], a[1] + n, NULL),
                         SKEL_OK);
        near(a[0], a[1], 2 * n, 1e-9 * max_abs(a[0], 2 * n));
        run(s.state, SKEL_INTEGRATOR_RK4, 1e-3, 100);
        ck_assert_double_le(report(s.state).joint_gap, 1e-10);
    }
    const drift d = measure(c.state, 1e-3, 500);
    ck_assert_double_le(d.energy, 1e-10);
    ck_assert_double_le(d.gap, 1e-11);
    for (int32_t i = 0; i < LOOP_LINKS; ++i)
        ck_assert_double_le(v3_norm(v3_sub(s.state->x[i].p, c.state->x[i].p)), 2e-5);
    scene_free(&s), scene_free(&c);
}

START_TEST(loops) {
    check_loop(SKEL_JOINT_PLANAR);
    check_loop(SKEL_JOINT_SCREW);
}
END_TEST

/* ---- single joints ---- */

static scene single(skel_joint_desc *j, double mass, double inertia, const double gravity[3]) {
    skel_body_desc b;
    skel_model_desc d;
    scene s;
    skel_error err;
    skel_error_init(&err);
    skel_body_desc_init(&b);
    skel_model_desc_init(&d);
    b.mass = mass, b.unplaced = 1;
    b.inertia[0] = b.inertia[1] = b.inertia[2] = inertia;
    memcpy(d.gravity, gravity, sizeof d.gravity);
    j->parent = SKEL_WORLD, j->child = 0;
    d.bodies = &b, d.body_count = 1, d.joints = j, d.joint_count = 1;
    scene_demand(skel_model_create(&d, &s.model, &err), &err);
    scene_demand(skel_state_create(s.model, &s.state, &err), &err);
    return s;
}

static const int32_t k_fixed_steps[] = {SKEL_INTEGRATOR_CONSERVING, SKEL_INTEGRATOR_RK4};

/* x = g t^2 / 2 down the slope; with friction, v = v0 exp(-mu t / m) and w = w0 exp(-mu t / I). */
START_TEST(planar_on_a_slope) {
    const double down[3] = {0, 0, -9.81}, none[3] = {0, 0, 0};
    const double mass = 2, inertia = .3, slope = .4, mu = .5, t = .8;
    for (int e = 0; e < 2; ++e) {
        skel_joint_desc j;
        double q[3];
        skel_joint_desc_init(&j);
        j.type = SKEL_JOINT_PLANAR;
        q_to(q_exp((v3){0, slope, 0}), j.parent_orientation);
        scene s = single(&j, mass, inertia, down);
        run(s.state, k_fixed_steps[e], 1e-2, 80);
        skel_state_get_q(s.state, q);
        near1(q[0], .5 * 9.81 * sin(slope) * t * t, 1e-11);
        near1(q[1], 0, 1e-12);
        near1(q[2], 0, 1e-12);
        scene_free(&s);

        const double qd[3] = {1.2, -.7, 3};
        j.friction = mu;
        s = single(&j, mass, inertia, none);
        ck_assert_int_eq(skel_state_set_qd(s.state, qd), SKEL_OK);
        run(s.state, k_fixed_steps[e], 1e-3, 800);
        skel_state_get_q(s.state, q);
        const double shift = mass / mu * (1 - exp(-mu * t / mass));
        const double turn = inertia / mu * (1 - exp(-mu * t / inertia));
        near1(q[0], qd[0] * shift, 1e-6);
        near1(q[1], qd[1] * shift, 1e-6);
        near1(q[2], qd[2] * turn, 1e-6);
        scene_free(&s);
    }
}
END_TEST

/* The damped oscillation of a follow spring, in each coordinate of a planar joint. */
START_TEST(planar_follows) {
    const double none[3] = {0, 0, 0}, f = 2, zeta = .1, t = .7, start[3] = {.2, -.1, .3};
    const double w = 2 * KINDS_PI * f, wd = w * sqrt(1 - zeta * zeta);
    const double share =
        exp(-zeta * w * t) * (cos(wd * t) + zeta / sqrt(1 - zeta * zeta) * sin(wd * t));
    for (int e = 0; e < 2; ++e) {
        skel_joint_desc j;
        double q[3];
        skel_joint_desc_init(&j);
        j.type = SKEL_JOINT_PLANAR;
        j.follow.frequency = f, j.follow.damping = zeta;
        memcpy(j.q, start, sizeof start);
        scene s = single(&j, 3, .2, none);
        run(s.state, k_fixed_steps[e], 1e-3, 700);
        skel_state_get_q(s.state, q);
        for (int k = 0; k < 3; ++k) near1(q[k], start[k] * share, e ? 1e-8 : 1e-4);
        scene_free(&s);
    }
}
END_TEST

/* A body runs against the stops of x and of y and stays inside. */
START_TEST(planar_stops) {
    const double none[3] = {0, 0, 0};
    static const int32_t by[] = {SKEL_INTEGRATOR_CONSERVING, SKEL_INTEGRATOR_RK4};
    for (int e = 0; e < 2; ++e)
        for (int side = 0; side < 4; ++side) {
            const double sign = side % 2 ? 1 : -1;
            skel_joint_desc j;
            double q[3], qd[3] = {.3, .3, .5};
            skel_joint_desc_init(&j);
            j.type = SKEL_JOINT_PLANAR;
            j.limits.is_set = 1;
            j.limits.low[0] = -.1, j.limits.high[0] = .2;
            j.limits.low[1] = -.3, j.limits.high[1] = .4;
            scene s = single(&j, 2, .1, none);
            qd[side / 2] = 2 * sign;
            qd[1 - side / 2] = 0;
            ck_assert_int_eq(skel_state_set_qd(s.state, qd), SKEL_OK);
            run(s.state, by[e], 1e-3, 500);
            skel_state_get_q(s.state, q);
            const double limit = side % 2 ? j.limits.high[side / 2] : j.limits.low[side / 2];
            near1(q[side / 2], limit, 2e-3);
            near1(q[1 - side / 2], 0, 1e-9);
            near1(q[2], .25, e ? 1e-9 : 1e-8); /* the conserving step is of second order */
            scene_free(&s);
        }
}
END_TEST

/* A nut on a vertical screw: (I + m p^2) q'' = -m g p, also with friction and a motor. */
START_TEST(nut_on_a_screw) {
    const double down[3] = {0, 0, -9.81}, none[3] = {0, 0, 0};
    const double mass = 2, inertia = .01, pitch = .03, mu = .02, beta = -.4, t = 1;
    const double total = inertia + mass * pitch * pitch;
    for (int e = 0; e < 2; ++e) {
        skel_joint_desc j;
        double q;
        skel_joint_desc_init(&j);
        j.type = SKEL_JOINT_SCREW, j.pitch = pitch;
        scene s = single(&j, mass, inertia, down);
        run(s.state, k_fixed_steps[e], 1e-3, 1000);
        skel_state_get_q(s.state, &q);
        const double want = -.5 * mass * 9.81 * pitch / total * t * t;
        ck_assert_double_gt(fabs(want), 4 * KINDS_PI); /* several turns */
        near1(q, want, e ? 1e-7 : 1e-2);               /* up to 0.05 rad per step */
        near1(s.state->x[0].p.z, pitch * q, 1e-12);
        scene_free(&s);

        /* total q'' = -mu q' - beta on the child */
        j.friction = mu, j.motor = beta;
        s = single(&j, mass, inertia, none);
        run(s.state, k_fixed_steps[e], 1e-3, 1000);
        skel_state_get_q(s.state, &q);
        const double rate = mu / total;
        near1(q, -beta / mu * (t - (1 - exp(-rate * t)) / rate), e ? 1e-8 : 1e-2);
        scene_free(&s);
    }
}
END_TEST

/* A follow spring draws a screw back over several turns: its angle is not periodic. */
START_TEST(screw_follows) {
    const double none[3] = {0, 0, 0}, f = 1, zeta = .2, t = .7, start = 20;
    const double w = 2 * KINDS_PI * f, wd = w * sqrt(1 - zeta * zeta);
    const double share =
        exp(-zeta * w * t) * (cos(wd * t) + zeta / sqrt(1 - zeta * zeta) * sin(wd * t));
    for (int e = 0; e < 2; ++e) {
        skel_joint_desc j;
        double q;
        skel_joint_desc_init(&j);
        j.type = SKEL_JOINT_SCREW, j.pitch = -.1, j.q[0] = start;
        j.follow.frequency = f, j.follow.damping = zeta;
        scene s = single(&j, 3, .02, none);
        run(s.state, k_fixed_steps[e], 1e-3, 700);
        skel_state_get_q(s.state, &q);
        near1(q, start * share, e ? 1e-7 : 2e-2);
        scene_free(&s);
    }
}
END_TEST

/* A screw runs against stops several turns away. */
START_TEST(screw_stops) {
    const double none[3] = {0, 0, 0};
    for (int e = 0; e < 2; ++e)
        for (int side = 0; side < 2; ++side) {
            skel_joint_desc j;
            double q, qd = side ? 40 : -40;
            skel_joint_desc_init(&j);
            j.type = SKEL_JOINT_SCREW, j.pitch = .01;
            j.limits.is_set = 1, j.limits.low[0] = -15, j.limits.high[0] = 12;
            scene s = single(&j, 2, .1, none);
            ck_assert_int_eq(skel_state_set_qd(s.state, &qd), SKEL_OK);
            double farthest = 0;
            for (int k = 0; k < 700; ++k) {
                run(s.state, k_fixed_steps[e], 1e-3, 1);
                skel_state_get_q(s.state, &q);
                farthest = fmax(farthest, fabs(q));
            }
            near1(farthest, side ? 12 : 15, 2e-3);
            skel_state_get_qd(s.state, &qd);
            near1(qd, 0, .03 * 40); /* conserving steps leave a little of the impact */
            scene_free(&s);
        }
}
END_TEST

START_TEST(a_screw_needs_a_pitch) {
    static const struct {
        int32_t type;
        double pitch;
        const char *text;
    } wrong[] = {{SKEL_JOINT_SCREW, 0, "joints[0].pitch: is 0 m/rad"},
                 {SKEL_JOINT_SCREW, 1e-10, "must be 1e-09 to 1e+09"},
                 {SKEL_JOINT_SCREW, NAN, "pitch"},
                 {SKEL_JOINT_HINGE, .1, "joints[0].pitch: is 0.1 m/rad, must be 0"}};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; ++k) {
        skel_joint_desc j;
        skel_body_desc b;
        skel_model_desc d;
        skel_model *m = NULL;
        skel_error err;
        skel_error_init(&err);
        skel_joint_desc_init(&j), skel_body_desc_init(&b), skel_model_desc_init(&d);
        j.type = wrong[k].type, j.pitch = wrong[k].pitch, j.child = 0;
        d.bodies = &b, d.body_count = 1, d.joints = &j, d.joint_count = 1;
        ck_assert_int_eq(skel_model_create(&d, &m, &err), SKEL_E_JOINT);
        ck_assert_msg(strstr(err.text, wrong[k].text) != NULL, "%s", err.text);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("joint kinds");
    TCase *t = tcase_create("all");
    tcase_add_loop_test(t, solvers_agree, 0, KINDS_MASK_COUNT);
    tcase_add_loop_test(t, inverse_dynamics_is_the_transposed_jacobian, 0, KINDS_MASK_COUNT);
    tcase_add_loop_test(t, accelerations_are_the_derivative_of_velocities, 0, KINDS_MASK_COUNT);
    tcase_add_loop_test(t, conserving_steps_conserve, 0, KINDS_MASK_COUNT);
    tcase_add_loop_test(t, integrators_agree, 0, KINDS_MASK_COUNT);
    tcase_add_test(t, loops);
    tcase_add_test(t, planar_on_a_slope);
    tcase_add_test(t, planar_follows);
    tcase_add_test(t, planar_stops);
    tcase_add_test(t, nut_on_a_screw);
    tcase_add_test(t, screw_follows);
    tcase_add_test(t, screw_stops);
    tcase_add_test(t, a_screw_needs_a_pitch);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
