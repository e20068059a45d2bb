/* SPDX-License-Identifier: BSD-3-Clause */
/* adams and bdf: rates of joint coordinates, closed-form motions, the meaning of the tolerance,
   independence of frame rate and unit of length, curves, events, and honest failure. */
#include "math/quat.h"
#include "shared/elliptic.h"
#include "shared/humanoid.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "integrate/reduced.h"
#include "integrate/integrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_Y 400
#define MANY_BODIES 140 /* a chain that is too long for a dense Jacobian */
#define PI 3.14159265358979323846
#if defined(__SANITIZE_ADDRESS__) /* ten times slower */
#define LONG_RUN 6
#else
#define LONG_RUN 60
#endif

/* ---- helpers ---- */

static skel_bake *bake(const scene *s, int32_t integrator, double tolerance, double rate,
                       double seconds) {
    skel_bake_desc d;
    skel_bake *b;
    skel_error err;
    skel_bake_desc_init(&d), skel_error_init(&err);
    d.model = s->model, d.state = s->state, d.integrator = integrator, d.tolerance = tolerance;
    d.sample_rate = rate, d.sample_count = (uint32_t)(seconds * rate + 1.5);
    ck_assert_msg(skel_bake_start(&d, &b, &err) == SKEL_OK, "%s", err.text);
    const skel_status status = skel_bake_advance(b, -1);
    skel_bake_get_error(b, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
    return b;
}

static skel_bake_summary summary(const skel_bake *b) {
    skel_bake_summary sum = {.struct_size = sizeof sum};
    ck_assert_int_eq(skel_bake_get_summary(b, &sum), SKEL_OK);
    return sum;
}

static void run_rk4(skel_state *s, double h, int steps) {
    skel_step_desc d;
    skel_error err;
    skel_error_init(&err), skel_step_desc_init(&d);
    d.integrator = SKEL_INTEGRATOR_RK4, d.h = h;
    for (int k = 0; k < steps; ++k)
        ck_assert_msg(skel_step(s, &d, &err) == SKEL_OK, "step %d: %s", k, err.text);
}

static scene made(const skel_body_desc *bodies, uint32_t nb, const skel_joint_desc *joints,
                  uint32_t nj, double gravity) {
    skel_model_desc d;
    skel_error err;
    scene s;
    skel_model_desc_init(&d), skel_error_init(&err);
    d.bodies = bodies, d.body_count = nb, d.joints = joints, d.joint_count = nj;
    d.gravity[2] = -gravity;
    ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, &err), SKEL_OK);
    return s;
}

/* Largest distance of two rows of poses: positions, and turns as angles. */
static void compare(const double *a, const double *b, int32_t nb, double *far, double *turn) {
    for (int32_t i = 0; i < nb; ++i, a += 7, b += 7) {
        const v3 d = v3_sub(v3_of(a), v3_of(b));
        *far = fmax(*far, v3_norm(d));
        *turn = fmax(*turn, v3_norm(q_log(q_mul(q_conj(q_of(a + 3)), q_of(b + 3)))));
    }
}

static scene humanoid(double friction, double gravity, double scale) {
    return scene_humanoid((humanoid_options){friction, gravity, scale, 2, NULL});
}

/* ---- joint coordinates ---- */

static void flip_to(const skel_model *m, const double *like, double *y) { /* signs of ball quats */
    for (int32_t k = 0; k < m->nj; ++k) {
        const int32_t at = m->joint[k].q_offset;
        if (m->joint[k].type != SKEL_JOINT_BALL) continue;
        if (q_dot(q_of(like + at), q_of(y + at)) < 0) q_to(q_neg(q_of(y + at)), y + at);
    }
}

START_TEST(rates_are_the_slopes_of_a_motion) { /* against rk4 in maximal coordinates */
    const double h = 1e-4;
    double worst = 0;
    for (int k = 0; k < 40; ++k) {
        rng r = rng_seed(900 + (uint64_t)k);
        scene s = scene_random_tree(&r, (scene_options){.bodies = 5, .root = k % 4, .loads = 1});
        double y[3][MAX_Y], rate[MAX_Y], back[MAX_Y];
        int32_t roots[5];
        skel__reduced c = skel__reduced_of(s.model, roots);
        ck_assert_uint_le(c.n, MAX_Y);
        ck_assert_uint_eq(c.n, skel__reduced_length(s.model));
        skel__reduced_pack(&c, s.state, y[0]);
        run_rk4(s.state, h, 1);
        skel__reduced_pack(&c, s.state, y[1]);
        ck_assert_int_eq(
            skel__reduced_rate(&c, y[1], s.state->t, SKEL__AFTER, SKEL_SOLVER_TREE, s.state, rate),
            SKEL_OK);
        skel__reduced_pack(&c, s.state, back);
        flip_to(s.model, y[1], back);
        near(back, y[1], c.n, 1e-13 * (1 + max_abs(y[1], c.n)));
        run_rk4(s.state, h, 1);
        skel__reduced_pack(&c, s.state, y[2]);
        flip_to(s.model, y[1], y[0]), flip_to(s.model, y[1], y[2]);
        for (size_t i = 0; i < c.n; ++i) y[0][i] = (y[2][i] - y[0][i]) / (2 * h);
        const double off = max_difference(y[0], rate, c.n) / (1 + max_abs(rate, c.n));
        ck_assert_msg(off < 1e-5, "tree %d: slopes differ by %.2g", k, off);
        worst = fmax(worst, off);
        scene_free(&s);
    }
    printf("rates of joint coordinates against differences: %.1e\n", worst);
}
END_TEST

/* ---- motions known in closed form ---- */

/* Textbook: two rods in a plane, angles from the vertical. */
static void double_pendulum_rate(const double x[4], double out[4]) {
    const double m = 1, l = 1, c = .5, i = 1.0 / 12, g = 9.81; /* mass, length, centre, inertia */
    const double m11 = i + m * c * c + m * l * l, m22 = i + m * c * c;
    const double m12 = m * l * c * cos(x[0] - x[1]), s = m * l * c * sin(x[0] - x[1]);
    const double f1 = -s * x[3] * x[3] - (m * c + m * l) * g * sin(x[0]);
    const double f2 = s * x[2] * x[2] - m * c * g * sin(x[1]), det = m11 * m22 - m12 * m12;
    out[0] = x[2], out[1] = x[3];
    out[2] = (m22 * f1 - m12 * f2) / det;
    out[3] = (m11 * f2 - m12 * f1) / det;
}

static void double_pendulum_step(double x[4], double h) { /* classical Runge-Kutta */
    static const double at[4] = {0, .5, .5, 1}, w[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    double k[4][4], y[4], sum[4] = {0};
    for (int e = 0; e < 4; ++e) {
        for (int i = 0; i < 4; ++i) y[i] = x[i] + (e ? at[e] * h * k[e - 1][i] : 0);
        double_pendulum_rate(y, k[e]);
        for (int i = 0; i < 4; ++i) sum[i] += w[e] * k[e][i];
    }
    for (int i = 0; i < 4; ++i) x[i] += h * sum[i];
}

/* Hinges about the world's y; a rod hangs along its body's -z, turned by minus the angle. */
static scene double_pendulum(const double x[4]) {
    skel_body_desc b[2];
    skel_joint_desc j[2];
    for (int k = 0; k < 2; ++k) {
        skel_body_desc_init(&b[k]), skel_joint_desc_init(&j[k]);
        b[k].mass = 1, b[k].unplaced = 1;
        b[k].inertia[0] = b[k].inertia[1] = 1.0 / 12, b[k].inertia[2] = 1e-3;
        const double turn[4] = {sqrt(.5), sqrt(.5), 0, 0}; /* z of the frames along -y */
        j[k].type = SKEL_JOINT_HINGE, j[k].parent = k - 1, j[k].child = k;
        memcpy(j[k].parent_orientation, turn, sizeof turn);
        memcpy(j[k].child_orientation, turn, sizeof turn);
        j[k].parent_position[2] = k ? -.5 : 0, j[k].child_position[2] = .5;
    }
    j[0].q[0] = x[0], j[1].q[0] = x[1] - x[0];
    scene s = made(b, 2, j, 2, 9.81);
    const double qd[2] = {x[2], x[3] - x[2]};
    skel_state_set_qd(s.state, qd);
    return s;
}

START_TEST(double_pendulum_against_its_textbook_equations) {
    double x[4] = {1.4, .6, .3, -1.1}, worst = 0;
    scene s = double_pendulum(x);
    skel_bake *b = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-11, 20, 3);
    for (int n = 0; n <= 60; ++n) {
        const double q[2] = {x[0], x[1] - x[0]};
        worst = fmax(worst, max_difference(skel_bake_q(b) + 2 * n, q, 2));
        for (int k = 0; k < 500; ++k) double_pendulum_step(x, 1e-4);
    }
    printf("double pendulum, 3 s at 1e-11: %.1e rad\n", worst);
    ck_assert_double_le(worst, 1e-9);
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

/* Lagrange's top: u = cos(tilt), u'^2 = (alpha - beta u)(1 - u^2) - (b - a u)^2. */
typedef struct top {
    double a, b, u1, u2, u3, rate, k;
} top;

static double top_u(double t, const top *c) { /* starts at the upper turning point */
    const jacobi e = jacobi_at(c->rate * t, c->k);
    return c->u1 + (c->u2 - c->u1) * e.cn * e.cn / (e.dn * e.dn);
}

static double top_precession(double t, const void *data) {
    const top *c = data;
    const double u = top_u(t, c);
    return (c->b - c->a * u) / (1 - u * u);
}

START_TEST(heavy_symmetric_top) {
    const double m = .5, l = .3, g = 9.81, tilt = .7, spin = 60, turn = .4;
    const double i3 = .004, ic = .006, i1 = ic + m * l * l, u0 = cos(tilt), s0 = sin(tilt);
    const double a = i3 * spin / i1, b = s0 * s0 * turn + a * u0, beta = 2 * m * g * l / i1;
    const double alpha = s0 * s0 * turn * turn + beta * u0;
    /* beta u^3 - (alpha + a^2) u^2 + (2ab - beta) u + alpha - b^2 has the root u0: divide it out */
    const double p = (beta * u0 - (alpha + a * a)) / beta;
    const double q = (2 * a * b - beta) / beta + u0 * p;
    const double d = sqrt(p * p / 4 - q), low = -p / 2 - d, high = -p / 2 + d;
    ck_assert(low < u0 && high > 1); /* it starts at the upper turning point */
    const top c = {
        a, b, low, u0, high, sqrt(beta * (high - low)) / 2, sqrt((u0 - low) / (high - low))};
    skel_body_desc body;
    skel_joint_desc j;
    skel_body_desc_init(&body), skel_joint_desc_init(&j);
    body.mass = m, body.inertia[0] = body.inertia[1] = ic, body.inertia[2] = i3;
    body.orientation[0] = cos(tilt / 2), body.orientation[2] = sin(tilt / 2);
    body.position[0] = l * s0, body.position[2] = l * u0;
    body.angular_velocity[0] = -turn * s0, body.angular_velocity[2] = spin;
    j.type = SKEL_JOINT_BALL, j.parent = SKEL_WORLD, j.child = 0, j.child_position[2] = -l;
    memcpy(j.parent_orientation, body.orientation, sizeof j.parent_orientation);
    scene s = made(&body, 1, &j, 1, g);
    ck_assert_int_eq(skel_state_project(s.state, NULL, NULL, NULL), SKEL_OK);
    const double w[6] = {turn * 0, turn * l * s0, 0, -turn * s0, 0, spin};
    ck_assert_int_eq(skel_state_set_velocities(s.state, w), SKEL_OK);
    skel_bake *bk = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-12, 30, 4);
    double worst = 0, nod = 0;
    for (int n = 0; n <= 120; ++n) {
        const double t = n / 30.0, u = top_u(t, &c), side = sqrt(1 - u * u);
        const double phi = n ? integral(top_precession, &c, t, 40 * n) : 0;
        const double want[3] = {side * cos(phi), side * sin(phi), u};
        const v3 axis = q_rotate(q_of(skel_bake_poses(bk) + 7 * n + 3), (v3){0, 0, 1});
        worst = fmax(worst, v3_norm(v3_sub(axis, v3_of(want))));
        nod = fmax(nod, u0 - u);
    }
    printf("heavy top, 4 s at 1e-12: axis %.1e rad (nutation %.2f, %.0f turns)\n", worst, nod,
           spin * 4 / (2 * PI));
    ck_assert_double_gt(nod, .01);
    ck_assert_double_le(worst, 1e-9);
    skel_bake_destroy(bk);
    scene_free(&s);
}
END_TEST

/* Euler's equations: Jacobi's functions (Landau, Lifshitz, Mechanics 37), axis 3 the largest. */
typedef struct euler_top {
    double i[3], l, size[3], rate, k;
} euler_top;

static v3 euler_omega(double t, const euler_top *c) {
    const jacobi e = jacobi_at(c->rate * t, c->k);
    return (v3){c->size[0] * e.cn, c->size[1] * e.sn, c->size[2] * e.dn};
}

static double euler_precession(double t, const void *data) {
    const euler_top *c = data;
    const v3 w = euler_omega(t, c);
    const double x = c->i[0] * w.x, y = c->i[1] * w.y;
    return c->l * (x * w.x + y * w.y) / (x * x + y * y);
}

/* About the angular momentum along z: Rz(phi) Rx(theta) Rz(psi). */
static quat euler_attitude(double t, int pieces, const euler_top *c) {
    const v3 w = euler_omega(t, c);
    const double x = c->i[0] * w.x, y = c->i[1] * w.y, z = c->i[2] * w.z;
    const double phi = t > 0 ? integral(euler_precession, c, t, pieces) : 0;
    const quat a = q_exp((v3){0, 0, phi}), b = q_exp((v3){atan2(sqrt(x * x + y * y), z), 0, 0});
    return q_mul(q_mul(a, b), q_exp((v3){0, 0, atan2(x, y)}));
}

START_TEST(free_rigid_body) {
    const double w1 = 1.1, w3 = 1.6, i1 = .1, i2 = .2, i3 = .25;
    const double e2 = i1 * w1 * w1 + i3 * w3 * w3, l2 = i1 * i1 * w1 * w1 + i3 * i3 * w3 * w3;
    ck_assert(l2 > e2 * i2);
    const euler_top c = {
        {i1, i2, i3},
        sqrt(l2),
        {w1, sqrt((e2 * i3 - l2) / (i2 * (i3 - i2))), w3},
        sqrt((l2 - e2 * i1) * (i3 - i2) / (i1 * i2 * i3)),
        sqrt((i2 - i1) * (e2 * i3 - l2) / ((i3 - i2) * (l2 - e2 * i1))),
    };
    skel_body_desc b;
    skel_body_desc_init(&b);
    b.mass = 1, b.inertia[0] = i1, b.inertia[1] = i2, b.inertia[2] = i3;
    b.angular_velocity[0] = w1, b.angular_velocity[2] = w3;
    q_to(euler_attitude(0, 1, &c), b.orientation);
    scene s = made(&b, 1, NULL, 0, 0);
    skel_bake *bk = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-10, 4, 20);
    double spin = 0, turn = 0;
    for (int n = 0; n <= 80; ++n) {
        const double t = n / 4.0;
        const quat q = q_of(skel_bake_poses(bk) + 7 * n + 3);
        const v3 w = v3_of(skel_bake_velocities(bk) + 6 * n + 3);
        spin = fmax(spin, v3_norm(v3_sub(w, euler_omega(t, &c))));
        turn = fmax(turn, v3_norm(q_log(q_mul(q_conj(q), euler_attitude(t, 20 * n, &c)))));
    }
    printf("free rigid body, 20 s at 1e-10: %.1e rad/s, %.1e rad\n", spin, turn);
    ck_assert_double_le(spin, 2e-9);
    ck_assert_double_le(turn, 2e-9);
    skel_bake_destroy(bk);
    scene_free(&s);
}
END_TEST

/* ---- what the tolerance means ---- */

START_TEST(humanoid_against_a_converged_reference) {
    for (int gravity = 0; gravity < 2; ++gravity) {
        scene s = humanoid(0, 9.81 * gravity, 1), ref = {s.model, NULL};
        double poses[140], half[140], far = 0, turn = 0, own = 0;
        ck_assert_int_eq(skel_state_create(s.model, &ref.state, NULL), SKEL_OK);
        skel_state_copy(ref.state, s.state);
        run_rk4(ref.state, 2e-4, 10000);
        skel_state_get_poses(ref.state, half);
        skel_state_copy(ref.state, s.state);
        run_rk4(ref.state, 1e-4, 20000);
        skel_state_get_poses(ref.state, poses);
        compare(half, poses, 20, &own, &turn);
        ck_assert_double_le(own, 1e-10);
        for (int e = 7; e <= 11; e += 2) {
            const double tolerance = pow(10, -e);
            const clock_t start = clock();
            skel_bake *b = bake(&s, SKEL_INTEGRATOR_ADAMS, tolerance, 24, 2);
            const double cpu = (double)(clock() - start) / CLOCKS_PER_SEC;
            const skel_bake_summary sum = summary(b);
            far = turn = 0;
            compare(skel_bake_poses(b) + 48 * 140, poses, 20, &far, &turn);
            printf("humanoid, gravity %d, 2 s, adams at %.0e: %.1e m, %.1e rad; %.0f steps, "
                   "%.0f rejected, %.0f evaluations, order %d, %.1f ms/s; energy %.1e\n",
                   gravity, tolerance, far, turn, sum.steps, sum.rejected_steps, sum.evaluations,
                   (int)sum.last_order, 500 * cpu, sum.energy_drift);
            ck_assert_double_le(far, 2 * tolerance); /* at 1e-9 asked: 1e-7 m */
            ck_assert_double_le(turn, 2 * tolerance);
            skel_bake_destroy(b);
        }
        skel_state_destroy(ref.state);
        scene_free(&s);
    }
}
END_TEST

START_TEST(humanoid_keeps_its_invariants) {
    scene s = humanoid(0, 0, 1);
    skel_bake *b = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-12, 5, LONG_RUN);
    const skel_bake_summary sum = summary(b);
    skel_report_row first = {.struct_size = sizeof first}, row = first;
    double energy = 0, spin = 0;
    skel_bake_get_report(b, 0, &first);
    for (int32_t n = 1; n < skel_bake_samples_done(b); ++n) { /* against its own size, too */
        skel_bake_get_report(b, n, &row);
        energy = fmax(energy, fabs(row.kinetic - first.kinetic) / first.kinetic);
        spin = fmax(spin, max_difference(row.angular_momentum, first.angular_momentum, 3) /
                              max_abs(first.angular_momentum, 3));
    }
    printf("humanoid, %d s, adams at 1e-12: energy %.1e, angular momentum %.1e (momentum %.1e); "
           "%.0f steps, gap %.1e m\n",
           LONG_RUN, energy, spin, sum.momentum_drift, sum.steps, sum.joint_gap);
    ck_assert_double_le(energy, 5e-12);
    ck_assert_double_le(spin, 5e-12);
    ck_assert_double_le(sum.energy_drift, 5e-12);
    ck_assert_double_le(sum.angular_momentum_drift, 5e-12);
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(bdf_agrees_with_adams) { /* friction stops the hands within milliseconds */
    scene s = humanoid(1, 9.81, 1);
    skel_bake *a = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-10, 24, 1);
    skel_bake *b = bake(&s, SKEL_INTEGRATOR_BDF, 1e-8, 24, 1);
    skel_bake *c = bake(&s, SKEL_INTEGRATOR_AUTO, 1e-8, 24, 1);
    const skel_bake_summary sum[2] = {summary(a), summary(b)};
    double far = 0, turn = 0;
    compare(skel_bake_poses(a) + 24 * 140, skel_bake_poses(b) + 24 * 140, 20, &far, &turn);
    printf("humanoid with friction, 1 s: bdf at 1e-8 off by %.1e m, %.1e rad; evaluations adams "
           "%.0f, bdf %.0f\n",
           far, turn, sum[0].evaluations, sum[1].evaluations);
    ck_assert_double_le(far, 1e-6);
    ck_assert_double_le(turn, 1e-6);
    ck_assert_double_lt(sum[1].evaluations, sum[0].evaluations);
    ck_assert_int_eq(summary(c).integrator, SKEL_INTEGRATOR_BDF); /* auto knows */
    skel_bake_destroy(a), skel_bake_destroy(b), skel_bake_destroy(c);
    scene_free(&s);
}
END_TEST

START_TEST(bdf_of_many_bodies) { /* y too long for a dense Jacobian */
    scene s = scene_chain(MANY_BODIES, SKEL_JOINT_BALL, SKEL_JOINT_HINGE, .05, NULL);
    ck_assert_uint_gt(skel__reduced_length(s.model), 600);
    skel_bake *a = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-7, 100, .05);
    skel_bake *b = bake(&s, SKEL_INTEGRATOR_BDF, 1e-7, 100, .05);
    near(skel_bake_poses(a), skel_bake_poses(b), 5 * 7 * MANY_BODIES, 1e-6);
    skel_bake_destroy(a), skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(frame_rate_does_not_matter) {
    const double rates[4] = {24, 30, 60, 120};
    scene s = humanoid(0, 9.81, 1);
    skel_bake *b[4];
    double far = 0, turn = 0;
    for (int k = 0; k < 4; ++k) b[k] = bake(&s, SKEL_INTEGRATOR_AUTO, 1e-8, rates[k], 2);
    for (int k = 1; k < 4; ++k)
        for (int sixth = 0; sixth <= 12; ++sixth)
            compare(skel_bake_poses(b[0]) + sixth * 4 * 140,
                    skel_bake_poses(b[k]) + sixth * (int)rates[k] / 6 * 140, 20, &far, &turn);
    printf("humanoid at 24, 30, 60, 120 fps: %.1e m, %.1e rad\n", far, turn);
    ck_assert_double_le(far, 1e-9);
    ck_assert_double_le(turn, 1e-9);
    for (int k = 0; k < 4; ++k) skel_bake_destroy(b[k]);
    scene_free(&s);
}
END_TEST

START_TEST(unit_of_length_does_not_matter) {
    const double scales[2] = {.01, 100};
    scene s = humanoid(0, 9.81, 1);
    skel_bake *b = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-8, 24, 2);
    for (int k = 0; k < 2; ++k) {
        scene z = humanoid(0, 9.81, scales[k]);
        skel_bake *c = bake(&z, SKEL_INTEGRATOR_ADAMS, 1e-8, 24, 2);
        double far = 0, turn = 0;
        for (int n = 0; n <= 48; ++n)
            compare(skel_bake_poses(b) + 140 * n, skel_bake_poses(c) + 140 * n, 20, &far, &turn);
        printf("humanoid times %g: rotations %.1e rad, steps %.0f and %.0f\n", scales[k], turn,
               summary(b).steps, summary(c).steps);
        ck_assert_double_le(turn, 1e-9);
        ck_assert_double_eq(summary(b).steps, summary(c).steps);
        skel_bake_destroy(c);
        scene_free(&z);
    }
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

/* ---- curves ---- */

START_TEST(curves_keep_the_tolerance) { /* loads with corners, driven roots: works balance */
    double worst = 0;
    for (int k = 0; k < 8; ++k) {
        rng r = rng_seed(60 + (uint64_t)k);
        scene s = scene_random_tree(&r, (scene_options){.bodies = 6, .root = k % 4, .loads = 1});
        scene t = {s.model, NULL};
        skel_bake *b = bake(&s, k < 4 ? SKEL_INTEGRATOR_ADAMS : SKEL_INTEGRATOR_BDF, 1e-9, 20, .5);
        double poses[42], far = 0, turn = 0;
        ck_assert_int_eq(skel_state_create(s.model, &t.state, NULL), SKEL_OK);
        skel_state_copy(t.state, s.state);
        run_rk4(t.state, 1e-4, 5000);
        skel_state_get_poses(t.state, poses);
        compare(poses, skel_bake_poses(b) + 10 * 42, 6, &far, &turn);
        const skel_bake_summary sum = summary(b);
        worst = fmax(worst, fmax(far, turn));
        ck_assert_double_le(far, 2e-8);
        ck_assert_double_le(turn, 2e-8);
        ck_assert_double_le(sum.energy_drift, 1e-7);
        ck_assert_double_le(sum.angular_momentum_drift, 1e-7);
        skel_state_destroy(t.state);
        skel_bake_destroy(b);
        scene_free(&s);
    }
    printf("trees with curves, 0.5 s at 1e-9 against rk4: %.1e\n", worst);
}
END_TEST

/* ---- the receipt: works and impulses ---- */

/* A body fixed to a driven one: no motion is to be found, so nothing but the receipt itself can
   make the steps short enough for it. */
static scene fixed_to_a_drive(const skel_curve *path, double mass, double aside) {
    skel_body_desc b[2];
    skel_joint_desc j;
    skel_body_desc_init(&b[0]), skel_body_desc_init(&b[1]), skel_joint_desc_init(&j);
    b[0].motion = SKEL_MOTION_DRIVEN, b[0].position_curve = *path;
    b[1].mass = mass, b[1].inertia[0] = b[1].inertia[1] = b[1].inertia[2] = .1 * mass;
    memcpy(b[1].position, path->value, sizeof b[1].position);
    b[1].position[0] += aside;
    j.type = SKEL_JOINT_FIXED, j.parent = 0, j.child = 1, j.parent_position[0] = aside;
    return made(b, 2, &j, 1, 9.81);
}

/* Up along z = a t^2 / 2: the drive works m (a + g) z, and the impulse of all forces is m a t; its
   moment about the origin, at x beside it, is -x m a t about y. */
START_TEST(a_drive_in_closed_form) {
    const double a = 3, m = 2, x = .5, g = 9.81, tolerance = 1e-8;
    double time[9], path[27] = {0};
    for (int k = 0; k < 9; ++k) {
        time[k] = .25 * k;
        path[3 * k + 2] = .5 * a * time[k] * time[k];
    }
    const skel_curve curve = {time, path, 9, 3};
    for (int32_t e = SKEL_INTEGRATOR_ADAMS; e <= SKEL_INTEGRATOR_BDF; ++e) {
        scene s = fixed_to_a_drive(&curve, m, x);
        skel_bake *b = bake(&s, e, tolerance, 24, 1.9);
        skel_report_row row = {.struct_size = sizeof row};
        double worst = 0;
        for (int32_t n = 0; n < skel_bake_samples_done(b); ++n) {
            const double t = n / 24.0;
            ck_assert_int_eq(skel_bake_get_report(b, n, &row), SKEL_OK);
            worst = fmax(worst, fabs(row.work_drive - m * (a + g) * .5 * a * t * t));
            worst = fmax(worst, fabs(row.impulse[2] - m * a * t));
            worst = fmax(worst, fabs(row.angular_impulse[1] + x * m * a * t));
        }
        printf("drive in closed form, %s at 1e-8: %.1e J, N s, N m s of %.0f J\n",
               skel_integrator_name(e), worst, row.work_drive);
        ck_assert_double_le(worst, 20 * tolerance * row.work_drive);
        ck_assert_double_le(summary(b).energy_drift, 20 * tolerance);
        skel_bake_destroy(b);
        scene_free(&s);
    }
}
END_TEST

/* A shaken drive: the receipt is as good as that of conserving, with the same works. */
START_TEST(a_drive_that_is_shaken) {
    double time[20], path[60];
    rng r = rng_seed(7);
    for (int k = 0; k < 20; ++k) {
        time[k] = .1 * k;
        for (int i = 0; i < 3; ++i) path[3 * k + i] = .3 * rng_unit(&r);
    }
    const skel_curve curve = {time, path, 20, 3};
    scene s = fixed_to_a_drive(&curve, 1.5, .4);
    skel_bake *known = bake(&s, SKEL_INTEGRATOR_CONSERVING, 1e-8, 24, 1.8);
    skel_report_row want = {.struct_size = sizeof want}, row = want;
    ck_assert_double_le(summary(known).energy_drift, 1e-10);
    for (int32_t e = SKEL_INTEGRATOR_ADAMS; e <= SKEL_INTEGRATOR_BDF; ++e) {
        skel_bake *b = bake(&s, e, 1e-8, 24, 1.8);
        const skel_bake_summary sum = summary(b);
        printf("shaken drive, %s at 1e-8: energy %.1e, momentum %.1e, angular momentum %.1e\n",
               skel_integrator_name(e), sum.energy_drift, sum.momentum_drift,
               sum.angular_momentum_drift);
        ck_assert_double_le(sum.energy_drift, 2e-7);
        ck_assert_double_le(sum.momentum_drift, 2e-7);
        ck_assert_double_le(sum.angular_momentum_drift, 2e-7);
        ck_assert_uint_eq(sum.warning_count, summary(known).warning_count);
        for (int32_t n = 0; n < skel_bake_samples_done(b); ++n) {
            ck_assert_int_eq(skel_bake_get_report(known, n, &want), SKEL_OK);
            ck_assert_int_eq(skel_bake_get_report(b, n, &row), SKEL_OK);
            near1(row.work_drive, want.work_drive, 2e-6);
        }
        skel_bake_destroy(b);
    }
    skel_bake_destroy(known);
    scene_free(&s);
}
END_TEST

/* A sled led along by a curve that ends in motion, a pendulum on it: at the end the joint passes
   the jerk on. A rod of length 2c at rest then turns about the pivot with c v / (i + c^2) [m=1]. */
START_TEST(a_curve_that_ends_in_motion) {
    const double time[2] = {0, .5}, path[6] = {0, 0, 0, 1, 0, 0}, c = .4, i = .05;
    skel_body_desc b[2];
    skel_joint_desc j;
    skel_body_desc_init(&b[0]), skel_body_desc_init(&b[1]), skel_joint_desc_init(&j);
    b[0].motion = SKEL_MOTION_DRIVEN, b[0].position_curve = (skel_curve){time, path, 2, 3};
    b[1].mass = 1, b[1].inertia[0] = b[1].inertia[1] = b[1].inertia[2] = i;
    b[1].position[2] = -c, b[1].velocity[0] = 2;
    j.type = SKEL_JOINT_BALL, j.parent = 0, j.child = 1, j.child_position[2] = c;
    scene s = made(b, 2, &j, 1, 0);
    skel_bake *k = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-10, 10, 1);
    const skel_bake_summary sum = summary(k);
    const double *v = skel_bake_velocities(k) + (7 * 2 + 1) * 6;
    near1(v[4], -c * 2 / (i + c * c), 1e-9);
    near1(skel_bake_poses(k)[7 * 14], 1, 1e-12); /* the sled stands */
    ck_assert_double_le(sum.energy_drift, 1e-9);
    ck_assert_double_le(sum.momentum_drift, 1e-8);
    ck_assert_double_le(sum.angular_momentum_drift, 1e-8);
    skel_bake_destroy(k);
    scene_free(&s);
}
END_TEST

/* ---- events ---- */

static void angle_events(const skel_state *s, double *out, void *data) {
    const double *bound = data;
    double q[4];
    skel__q_of(s->m, s->x, q);
    out[0] = q[0] - bound[0];
    out[1] = q[0] - bound[1];
}

START_TEST(events_are_found) { /* a hinge that turns evenly passes 1.0 and 2.5 rad */
    double bound[2] = {2.5, 1.0}, times[2] = {0};
    skel_body_desc b;
    skel_joint_desc j;
    skel__cvode *c;
    skel_error err;
    int found = 0;
    skel_body_desc_init(&b), skel_joint_desc_init(&j), skel_error_init(&err);
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = 1;
    j.type = SKEL_JOINT_HINGE, j.child = 0, j.parent = SKEL_WORLD, j.motor = -2;
    scene s = made(&b, 1, &j, 1, 0); /* q = t^2 */
    ck_assert_int_eq(
        skel__cvode_create(s.model, SKEL_INTEGRATOR_ADAMS, SKEL_SOLVER_TREE, 1e-10, &c, &err),
        SKEL_OK);
    ck_assert_int_eq(skel__cvode_set_events(c, 2, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel__cvode_set_events(c, 2, angle_events, bound), SKEL_OK);
    ck_assert_int_eq(skel__cvode_start(c, s.state, &err), SKEL_OK);
    while (skel__cvode_time(c) < 1.7) { /* below half a turn */
        ck_assert_msg(skel__cvode_step(c, 1.7, &err) == SKEL_OK, "%s", err.text);
        const int *fired = skel__cvode_fired(c);
        if (!fired) continue;
        ck_assert(fired[found == 0] == 1 && fired[found != 0] == 0);
        times[found++] = skel__cvode_time(c);
        ck_assert_int_eq(skel__cvode_at(c, skel__cvode_time(c), s.state), SKEL_OK);
        double q;
        skel_state_get_q(s.state, &q);
        near1(q, bound[found == 1], 1e-9);
    }
    ck_assert_int_eq(found, 2);
    ck_assert_double_eq(skel__cvode_time(c), 1.7);
    near1(times[0], 1.0, 1e-9);
    near1(times[1], sqrt(2.5), 1e-9);
    skel__cvode_destroy(c);
    scene_free(&s);
}
END_TEST

static void stays_at_zero(const skel_state *s, double *out, void *data) {
    (void)data;
    out[0] = fmax(1.0 - s->t, 0);
}

START_TEST(an_event_may_stay_at_zero) { /* CVODE calls that an error */
    const double x[4] = {1, .5, 0, 0};
    scene s = double_pendulum(x);
    skel__cvode *c;
    skel_error err;
    int found = 0;
    skel_error_init(&err);
    ck_assert_int_eq(
        skel__cvode_create(s.model, SKEL_INTEGRATOR_ADAMS, SKEL_SOLVER_TREE, 1e-8, &c, &err),
        SKEL_OK);
    ck_assert_int_eq(skel__cvode_set_events(c, 1, stays_at_zero, NULL), SKEL_OK);
    ck_assert_int_eq(skel__cvode_start(c, s.state, &err), SKEL_OK);
    while (skel__cvode_time(c) < 2) {
        ck_assert_msg(skel__cvode_step(c, 2, &err) == SKEL_OK, "%s", err.text);
        found += skel__cvode_fired(c) != NULL;
    }
    ck_assert_int_eq(found, 1);
    skel__cvode_destroy(c);
    scene_free(&s);
}
END_TEST

/* ---- memory ---- */

static void no_events(const skel_state *s, double *out, void *data) {
    const int32_t *count = data;
    for (int32_t k = 0; k < *count; ++k) out[k] = 1.0 + s->t;
}

/* SUNDIALS crashes where its memory ends: what it takes must fit what is reserved for it. */
START_TEST(sundials_fits_its_memory) {
    const int32_t integrators[3] = {SKEL_INTEGRATOR_ADAMS, SKEL_INTEGRATOR_BDF,
                                    SKEL_INTEGRATOR_BDF};
    const int32_t bodies[3] = {3, 3, MANY_BODIES}; /* the last without a dense Jacobian */
    for (int e = 0; e < 3; ++e) {
        scene s = scene_chain(bodies[e], SKEL_JOINT_BALL, SKEL_JOINT_HINGE, .05, NULL);
        skel__cvode *c;
        skel_error err;
        skel_error_init(&err);
        ck_assert_int_eq(
            skel__cvode_create(s.model, integrators[e], SKEL_SOLVER_TREE, 1e-6, &c, &err), SKEL_OK);
        int32_t count = 0;
        for (; count < 20; ++count) /* the same and other numbers of events */
            for (int again = 0; again < 2; ++again)
                ck_assert_int_eq(skel__cvode_set_events(c, count, no_events, &count), SKEL_OK);
        --count;
        ck_assert_int_eq(skel__cvode_start(c, s.state, &err), SKEL_OK);
        for (int k = 0; k < 20; ++k)
            ck_assert_msg(skel__cvode_step(c, INFINITY, &err) == SKEL_OK, "%s", err.text);
        const skel__cvode_memory m = skel__cvode_memory_used(c);
        printf("memory of SUNDIALS, %s of %d bodies: %d of %d vectors, %zu of %zu bytes\n",
               skel_integrator_name(integrators[e]), bodies[e], m.vectors_used, m.vectors,
               m.bytes_used, m.bytes);
        ck_assert_int_eq(m.vectors_used, m.vectors);
        ck_assert_uint_le(m.bytes_used + 8192, m.bytes);
        skel__cvode_destroy(c);
        scene_free(&s);
    }
}
END_TEST

/* ---- failure ---- */

START_TEST(what_cannot_go_on_says_why) {
    skel_body_desc b;
    skel_error err;
    skel_bake *k;
    skel_bake_desc d;
    const double time[2] = {0, 1}, force[6] = {0, 0, 0, 1e300, 0, 0};
    skel_body_desc_init(&b), skel_error_init(&err), skel_bake_desc_init(&d);
    b.name = "feather", b.mass = 1e-10, b.inertia[0] = b.inertia[1] = b.inertia[2] = 1e-10;
    b.force_curve = (skel_curve){time, force, 2, 3};
    scene s = made(&b, 1, NULL, 0, 0);
    d.model = s.model, d.sample_count = 40;
    ck_assert_int_eq(skel_bake_start(&d, &k, &err), SKEL_OK);
    ck_assert_int_eq(skel_bake_advance(k, -1), SKEL_E_DIVERGED);
    skel_bake_get_error(k, &err);
    ck_assert_msg(strstr(err.text, "t = ") && strstr(err.text, "'feather'"), "%s", err.text);
    ck_assert_int_eq(err.body, 0);
    skel_bake_destroy(k);
    d.tolerance = 0;
    ck_assert_int_eq(skel_bake_start(&d, &k, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "tolerance"));
    skel_step_desc one;
    skel_step_desc_init(&one);
    one.integrator = SKEL_INTEGRATOR_ADAMS;
    ck_assert_int_eq(skel_step(s.state, &one, &err), SKEL_E_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(err.text, "bake"));
    scene_free(&s);
}
END_TEST

/* Numbers that leave the range of double at once: the message names what and what to do. */
START_TEST(a_start_out_of_range_says_so) {
    for (int e = 0; e < 3; ++e) {
        const double x[4] = {1, .5, 0, 0};
        scene s = double_pendulum(x);
        skel_bake_desc d;
        skel_bake *b = NULL;
        skel_error err;
        double spin[2] = {0, e == 0 ? 1e100 : 1};
        skel_bake_desc_init(&d), skel_error_init(&err);
        s.model->gravity.z = e == 1 ? -1e300 : -9.81;
        if (e == 2) s.model->joint[0].friction = s.model->joint[1].friction = 1e300;
        skel_state_set_qd(s.state, spin);
        d.model = s.model, d.state = s.state, d.sample_count = 5;
        for (int32_t k = SKEL_INTEGRATOR_ADAMS; k <= SKEL_INTEGRATOR_BDF; ++k) {
            d.integrator = k;
            skel_status status = skel_bake_start(&d, &b, &err);
            if (status == SKEL_OK) {
                status = skel_bake_advance(b, -1);
                skel_bake_get_error(b, &err);
            }
            ck_assert_int_eq(status, SKEL_E_DIVERGED);
            ck_assert_msg(!strstr(err.text, "success"), "%s", err.text);
            ck_assert_msg(strstr(err.text, "body '") || strstr(err.text, "joint '"), "%s",
                          err.text);
            ck_assert_msg(strstr(err.text, "reduce velocities") ||
                              strstr(err.text, "less friction"),
                          "%s", err.text);
            skel_bake_destroy(b);
        }
        scene_free(&s);
    }
}
END_TEST

/* Friction that stops a joint within less than a nanosecond: auto bakes it, adams and bdf end by
   themselves and name the joint. */
START_TEST(stiff_friction_does_not_hang) {
    const double frictions[3] = {1e9, 4294967296.0, 1e12};
    for (int e = 0; e < 3; ++e) {
        scene s = scene_chain(4, SKEL_JOINT_BALL, SKEL_JOINT_UNIVERSAL, .3, NULL);
        for (int32_t k = 0; k < s.model->nj; ++k) s.model->joint[k].friction = frictions[e];
        skel_bake *b = bake(&s, SKEL_INTEGRATOR_AUTO, 1e-8, 24, .5);
        ck_assert_int_eq(summary(b).integrator, SKEL_INTEGRATOR_CONSERVING);
        skel_bake_destroy(b);
        for (int32_t k = SKEL_INTEGRATOR_ADAMS; k <= SKEL_INTEGRATOR_BDF; ++k) {
            skel_bake_desc d;
            skel_error err;
            skel_bake_desc_init(&d), skel_error_init(&err);
            d.model = s.model, d.state = s.state, d.integrator = k, d.sample_count = 13;
            ck_assert_int_eq(skel_bake_start(&d, &b, &err), SKEL_OK);
            const skel_status status = skel_bake_advance(b, -1);
            skel_bake_get_error(b, &err);
            ck_assert_double_le(summary(b).evaluations, 1e6);
            printf("friction %g, %s: %.0f evaluations, %s\n", frictions[e], skel_integrator_name(k),
                   summary(b).evaluations, err.text);
            if (k == SKEL_INTEGRATOR_ADAMS) ck_assert_int_eq(status, SKEL_E_DIVERGED);
            if (status != SKEL_OK) {
                ck_assert_msg(strstr(err.text, "joint '") && strstr(err.text, "conserving"), "%s",
                              err.text);
                ck_assert_int_ge(err.joint, 0);
            }
            skel_bake_destroy(b);
        }
        scene_free(&s);
    }
}
END_TEST

START_TEST(auto_with_steps_minds_friction) { /* rk4 would be unstable */
    scene s = scene_chain(3, SKEL_JOINT_HINGE, SKEL_JOINT_HINGE, .3, NULL);
    skel_bake_desc d;
    skel_bake *b;
    skel_bake_desc_init(&d);
    d.model = s.model, d.state = s.state, d.step = .001, d.sample_count = 13;
    for (int stiff = 0; stiff < 2; ++stiff) {
        for (int32_t k = 0; k < s.model->nj; ++k) s.model->joint[k].friction = stiff ? 1e6 : 1e-3;
        ck_assert_int_eq(skel_bake_start(&d, &b, NULL), SKEL_OK);
        ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
        ck_assert_int_eq(summary(b).integrator,
                         stiff ? SKEL_INTEGRATOR_CONSERVING : SKEL_INTEGRATOR_RK4);
        ck_assert_double_eq(summary(b).step, .001);
        skel_bake_destroy(b);
    }
    scene_free(&s);
}
END_TEST

START_TEST(no_tolerance_hangs) { /* from absurdly fine to absurdly coarse */
    const double tolerances[] = {1e-300, 1e-16, 1e-13, 1, 1e300};
    for (int e = 0; e < 5; ++e)
        for (int integrator = SKEL_INTEGRATOR_ADAMS; integrator <= SKEL_INTEGRATOR_BDF;
             ++integrator) {
            scene s = scene_chain(3, SKEL_JOINT_HINGE, SKEL_JOINT_BALL, .3, NULL);
            skel_bake_desc d;
            skel_bake *b;
            skel_bake_desc_init(&d);
            d.model = s.model, d.state = s.state, d.sample_count = 13;
            d.integrator = integrator, d.tolerance = tolerances[e];
            ck_assert_int_eq(skel_bake_start(&d, &b, NULL), SKEL_OK);
            ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
            ck_assert_double_le(summary(b).steps, 2e5);
            if (e < 3) ck_assert_double_le(summary(b).energy_drift, 1e-11);
            skel_bake_destroy(b);
            scene_free(&s);
        }
}
END_TEST

START_TEST(what_auto_runs) { /* three hinges about y between the world and two bodies: a loop */
    skel_body_desc b[2];
    skel_joint_desc j[3];
    skel_bake_desc d;
    skel_bake *k;
    skel_error err;
    skel_bake_desc_init(&d), skel_error_init(&err);
    for (int e = 0; e < 2; ++e) {
        skel_body_desc_init(&b[e]);
        b[e].mass = 1, b[e].inertia[0] = b[e].inertia[1] = b[e].inertia[2] = .1;
        b[e].position[0] = e;
    }
    for (int e = 0; e < 3; ++e) {
        const double turn[4] = {sqrt(.5), sqrt(.5), 0, 0};
        skel_joint_desc_init(&j[e]);
        j[e].type = SKEL_JOINT_HINGE, j[e].parent = e - 1, j[e].child = e < 2 ? e : SKEL_WORLD;
        memcpy(j[e].parent_orientation, turn, sizeof turn);
        memcpy(j[e].child_orientation, turn, sizeof turn);
        j[e].parent_position[0] = e ? .5 : -.5;
        j[e].child_position[0] = e < 2 ? -.5 : 1.5;
    }
    for (int loop = 0; loop < 2; ++loop) {
        const int32_t want[2] = {loop ? SKEL_INTEGRATOR_CONSERVING : SKEL_INTEGRATOR_ADAMS,
                                 loop ? SKEL_INTEGRATOR_CONSERVING : SKEL_INTEGRATOR_RK4};
        scene s = made(b, 2, j, loop ? 3 : 2, 9.81);
        d.model = s.model, d.integrator = SKEL_INTEGRATOR_AUTO;
        for (int e = 0; e < 2; ++e) {
            d.step = e ? 1e-3 : 0; /* asked for steps, it takes an integrator that has them */
            ck_assert_msg(skel_bake_start(&d, &k, &err) == SKEL_OK, "%s", err.text);
            ck_assert_int_eq(summary(k).integrator, want[e]);
            skel_bake_destroy(k);
        }
        d.integrator = SKEL_INTEGRATOR_BDF;
        const skel_status status = skel_bake_start(&d, &k, &err);
        ck_assert_int_eq(status, loop ? SKEL_E_UNSUPPORTED : SKEL_OK);
        if (loop) ck_assert_msg(strstr(err.text, "loop") != NULL, "%s", err.text);
        if (!loop) ck_assert_ptr_nonnull(strstr(skel_bake_warning(k, 0), "step"));
        skel_bake_destroy(k);
        scene_free(&s);
    }
}
END_TEST

START_TEST(a_summary_counts_evaluations) {
    scene s = scene_chain(2, SKEL_JOINT_HINGE, SKEL_JOINT_HINGE, .3, NULL);
    skel_bake *b = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-8, 24, .5);
    skel_bake_summary full = summary(b);
    ck_assert_double_gt(full.evaluations, full.steps);
    ck_assert_int_gt(full.last_order, 1);
    ck_assert_double_eq(full.step, 0);

    full.struct_size -= 8;
    ck_assert_int_eq(skel_bake_get_summary(b, &full), SKEL_E_STRUCT_SIZE);
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(bodies_at_rest_and_nothing_at_all) {
    skel_body_desc b;
    skel_body_desc_init(&b);
    b.mass = 1, b.inertia[0] = b.inertia[1] = b.inertia[2] = 1;
    scene s = made(&b, 1, NULL, 0, 0);
    skel_bake *k = bake(&s, SKEL_INTEGRATOR_ADAMS, 1e-8, 24, 10);
    near1(max_abs(skel_bake_poses(k) + 7 * 240, 3), 0, 0);
    skel_bake_destroy(k), scene_free(&s);
    b.motion = SKEL_MOTION_FIXED;
    s = made(&b, 1, NULL, 0, 9.81);
    k = bake(&s, SKEL_INTEGRATOR_BDF, 1e-8, 24, 10);
    ck_assert_int_eq(skel_bake_samples_done(k), 241);
    skel_bake_destroy(k), scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("cvode");
    TCase *t = tcase_create("all");
    tcase_add_test(t, rates_are_the_slopes_of_a_motion);
    tcase_add_test(t, double_pendulum_against_its_textbook_equations);
    tcase_add_test(t, heavy_symmetric_top);
    tcase_add_test(t, free_rigid_body);
    tcase_add_test(t, humanoid_against_a_converged_reference);
    tcase_add_test(t, humanoid_keeps_its_invariants);
    tcase_add_test(t, bdf_agrees_with_adams);
    tcase_add_test(t, bdf_of_many_bodies);
    tcase_add_test(t, frame_rate_does_not_matter);
    tcase_add_test(t, unit_of_length_does_not_matter);
    tcase_add_test(t, curves_keep_the_tolerance);
    tcase_add_test(t, a_drive_in_closed_form);
    tcase_add_test(t, a_drive_that_is_shaken);
    tcase_add_test(t, a_curve_that_ends_in_motion);
    tcase_add_test(t, events_are_found);
    tcase_add_test(t, an_event_may_stay_at_zero);
    tcase_add_test(t, sundials_fits_its_memory);
    tcase_add_test(t, what_cannot_go_on_says_why);
    tcase_add_test(t, a_start_out_of_range_says_so);
    tcase_add_test(t, stiff_friction_does_not_hang);
    tcase_add_test(t, auto_with_steps_minds_friction);
    tcase_add_test(t, no_tolerance_hangs);
    tcase_add_test(t, what_auto_runs);
    tcase_add_test(t, a_summary_counts_evaluations);
    tcase_add_test(t, bodies_at_rest_and_nothing_at_all);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
