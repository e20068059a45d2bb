/* SPDX-License-Identifier: BSD-3-Clause */
/* Force fields and the moving frame: the same motion seen from two frames, falls against the air,
   shadows and derivatives, and what turbulence and vortex promise. */
#include "dynamics/dynamics.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "shared/steps.h"
#include "integrate/integrate.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define FIELD_BODIES_MAX 16
#define PI 3.14159265358979323846
#define SHAPES 6 /* SKEL_SHAPE_NONE to SKEL_SHAPE_ROD */

/* ---- helpers ---- */

static v3 random_v3(rng *r, double size) {
    return (v3){rng_range(r, -size, size), rng_range(r, -size, size), rng_range(r, -size, size)};
}

static skel_field_desc field(int32_t type) {
    return (skel_field_desc){.struct_size = sizeof(skel_field_desc),
                             .type = type,
                             .axis = {0, 0, 1},
                             .strength = 1,
                             .scale = 1,
                             .density = 1.2,
                             .coefficient = 1,
                             .body = SKEL_WORLD};
}

/* The array must outlive the model. */
static void set_fields(scene *s, skel_field_desc *fields, int32_t count) {
    s->model->field = fields, s->model->nf = count;
}

static scene single(double mass, int32_t shape, const double size[3], double gravity) {
    skel_model_desc d;
    skel_body_desc b;
    skel_error err;
    scene s;
    skel_model_desc_init(&d), skel_body_desc_init(&b), skel_error_init(&err);
    b.mass = mass, b.shape = shape;
    memcpy(b.size, size, sizeof b.size);
    ck_assert_int_eq(skel_shape_inertia(shape ? shape : SKEL_SHAPE_BOX, size, mass, b.inertia),
                     SKEL_OK);
    d.bodies = &b, d.body_count = 1;
    d.gravity[2] = -gravity;
    ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, &err), SKEL_OK);
    return s;
}

static const double k_size[3] = {.3, .1, .2};

static skel__kin random_kin(rng *r) {
    return (skel__kin){random_v3(r, 1), q_exp(random_v3(r, 3)), random_v3(r, 4), random_v3(r, 6)};
}

static skel__wrench wrench_at(const skel_model *m, const skel__kin *x, double t) {
    skel__wrench w = {{0, 0, 0}, {0, 0, 0}};
    skel__field_add(m, 0, x, t, SKEL__AFTER, &w);
    return w;
}

/* Where the state is after some seconds; integrator with tolerance. */
static skel_bake *bake(const scene *s, int32_t integrator, double seconds) {
    skel_bake_desc d;
    skel_bake *b;
    skel_error err;
    skel_bake_desc_init(&d), skel_error_init(&err);
    d.model = s->model, d.state = s->state, d.integrator = integrator, d.tolerance = 1e-11;
    d.sample_rate = 10, d.sample_count = (uint32_t)(seconds * 10 + 1.5);
    ck_assert_msg(skel_bake_start(&d, &b, &err) == SKEL_OK, "%s", err.text);
    const skel_status status = skel_bake_advance(b, -1);
    skel_bake_get_error(b, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
    return b;
}

/* ---- the moving frame ---- */

static const double k_time[4] = {0, .25, .4, .8}; /* multiples of 1/2000 s */
static const double k_spin[4][3] = {{0, 0, 0}, {2, -1, .5}, {-1, 1.5, 2}, {.5, .5, -1}};
static const double k_drift[4][3] = {{1, 0, 0}, {-2, 3, 1}, {0, -4, 2}, {1, 1, 1}};
static const v3 k_constants[2] = {{.7, -1.1, 1.6}, {-.8, 1.3, 2.1}}; /* spin, drift */

static v3 sample(const double (*value)[3], double t) {
    int k = 0;
    if (t >= k_time[3]) return v3_of(value[3]);
    while (k < 2 && t >= k_time[k + 1]) ++k;
    const double u = (t - k_time[k]) / (k_time[k + 1] - k_time[k]);
    return v3_add(v3_scale(v3_of(value[k]), 1 - u), v3_scale(v3_of(value[k + 1]), u));
}

/* A frame seen from outside: its axes q, its origin o and that one's velocity. */
typedef struct outside {
    quat q;
    v3 o, v;
} outside;
typedef struct motion {
    int has_curves, has_drift;
} motion;

static v3 spin_at(motion c, double t) {
    return c.has_curves ? v3_add(k_constants[0], sample(k_spin, t)) : k_constants[0];
}
static v3 drift_at(motion c, double t) {
    const v3 none = {0, 0, 0};
    if (!c.has_drift) return none;
    return c.has_curves ? v3_add(k_constants[1], sample(k_drift, t)) : k_constants[1];
}

/* q' = q (0, spin) / 2,  o'' = q drift */
static outside slope(motion c, outside f, double t) {
    const v3 w = v3_scale(spin_at(c, t), .5);
    const quat half = {0, w.x, w.y, w.z};
    return (outside){q_mul(f.q, half), f.v, q_rotate(f.q, drift_at(c, t))};
}
static outside moved(outside f, double h, outside d) {
    return (outside){{f.q.w + h * d.q.w, f.q.x + h * d.q.x, f.q.y + h * d.q.y, f.q.z + h * d.q.z},
                     v3_mad(f.o, h, d.o),
                     v3_mad(f.v, h, d.v)};
}
static outside frame_after(motion c, outside f, double seconds) { /* rk4 */
    const int n = 8000;
    const double h = seconds / n;
    for (int k = 0; k < n; ++k) {
        const double t = h * k;
        const outside a = slope(c, f, t), b = slope(c, moved(f, .5 * h, a), t + .5 * h);
        const outside e = slope(c, moved(f, .5 * h, b), t + .5 * h);
        const outside g = slope(c, moved(f, h, e), t + h);
        f = moved(moved(moved(moved(f, h / 6, a), h / 3, b), h / 3, e), h / 6, g);
        f.q = q_unit(f.q);
    }
    return f;
}

/* Poses and velocities from the frame to the outside (sign 1) or back (sign -1). */
static void look_from(const outside *f, v3 spin, int sign, int32_t nb, double *place,
                      double *speed) {
    for (int32_t i = 0; i < nb; ++i, place += 7, speed += 6) {
        v3 p = v3_of(place), v = v3_of(speed), w = v3_of(speed + 3);
        quat q = q_of(place + 3);
        if (sign > 0) {
            v = v3_add(f->v, q_rotate(f->q, v3_add(v, v3_cross(spin, p))));
            p = v3_add(f->o, q_rotate(f->q, p));
            w = v3_add(w, q_rotate(q_conj(q), spin));
            q = q_mul(f->q, q);
        } else {
            p = q_rotate(q_conj(f->q), v3_sub(p, f->o));
            v = v3_sub(q_rotate(q_conj(f->q), v3_sub(v, f->v)), v3_cross(spin, p));
            q = q_mul(q_conj(f->q), q);
            w = v3_sub(w, q_rotate(q_conj(q), spin));
        }
        v3_to(p, place), q_to(q, place + 3), v3_to(v, speed), v3_to(w, speed + 3);
    }
}

static double pose_error(const double *a, const double *b, int32_t nb) {
    double worst = 0;
    for (int32_t i = 0; i < nb; ++i, a += 7, b += 7) {
        worst = fmax(worst, max_difference(a, b, 3));
        worst = fmax(worst, v3_norm(q_log(q_mul(q_conj(q_of(a + 3)), q_of(b + 3)))));
    }
    return worst;
}

static scene frame_tree(int k) { /* the same at every call; joints that rub */
    rng r = rng_seed(700 + (uint64_t)k);
    const int bends = 1 << SKEL_JOINT_HINGE | 1 << SKEL_JOINT_BALL;
    scene s = scene_random_tree(
        &r, (scene_options){.bodies = 5, .no_gravity = 1, .joint_mask = k % 2 ? 0 : bends});
    for (int32_t j = 0; j < s.model->nj; ++j) s.model->joint[j].friction = .05;
    return s;
}

/* The state as seen from a frame that moves as c says. */
static void into_frame(scene *s, motion c, const outside *f) {
    const int32_t nb = skel_model_body_count(s->model);
    double place[7 * FIELD_BODIES_MAX], speed[6 * FIELD_BODIES_MAX];
    skel_state_get_poses(s->state, place), skel_state_get_velocities(s->state, speed);
    look_from(f, spin_at(c, 0), -1, nb, place, speed);
    skel_state_set_poses(s->state, place), skel_state_set_velocities(s->state, speed);
    s->model->has_frame = 1, s->model->frame_spin = k_constants[0];
    if (c.has_drift) s->model->frame_acceleration = k_constants[1];
    if (!c.has_curves) return;
    s->model->frame_spin_curve = (skel_curve){k_time, k_spin[0], 4, 3};
    if (c.has_drift) s->model->frame_acceleration_curve = (skel_curve){k_time, k_drift[0], 4, 3};
}

static const outside k_start = {{.5, .5, -.5, .5}, {.3, -.2, .4}, {.5, .1, -.3}};
static const motion k_motions[] = {{0, 0}, {0, 1}, {1, 1}};

/* Poses after a second, looked at from outside; the largest misfit of the energies. */
static double frame_run(int tree, motion c, int32_t integrator, int steps, double *place) {
    const outside end = frame_after(c, k_start, 1);
    scene s = frame_tree(tree);
    const int32_t nb = skel_model_body_count(s.model);
    double speed[6 * FIELD_BODIES_MAX], misfit;
    into_frame(&s, c, &k_start);
    if (steps > 0) {
        const skel_report_row a = report(s.state);
        run(s.state, integrator, 1.0 / steps, steps);
        const skel_report_row b = report(s.state);
        misfit = fabs(b.kinetic - a.kinetic - b.work_load - b.work_friction) / (1 + b.kinetic);
        skel_state_get_poses(s.state, place), skel_state_get_velocities(s.state, speed);
    } else {
        skel_bake *b = bake(&s, integrator, 1);
        skel_bake_summary sum = {.struct_size = sizeof sum};
        skel_bake_get_summary(b, &sum);
        misfit = sum.energy_drift;
        memcpy(place, skel_bake_poses(b) + 70 * nb, 7 * (size_t)nb * sizeof *place);
        memcpy(speed, skel_bake_velocities(b) + 60 * nb, 6 * (size_t)nb * sizeof *speed);
        skel_bake_destroy(b);
    }
    look_from(&end, spin_at(c, 1), 1, nb, place, speed);
    scene_free(&s);
    return misfit;
}

static void inertial_run(int tree, double *place) {
    scene s = frame_tree(tree);
    const int32_t nb = skel_model_body_count(s.model);
    skel_bake *b = bake(&s, SKEL_INTEGRATOR_ADAMS, 1);
    memcpy(place, skel_bake_poses(b) + 70 * nb, 7 * (size_t)nb * sizeof *place);
    skel_bake_destroy(b);
    scene_free(&s);
}

START_TEST(the_frame_does_not_matter) { /* to whoever looks from outside */
    double worst = 0, energy = 0;
    for (int k = 0; k < 6; ++k) {
        double seen[7 * FIELD_BODIES_MAX], truth[7 * FIELD_BODIES_MAX];
        inertial_run(k, truth);
        energy = fmax(energy, frame_run(k, k_motions[_i], SKEL_INTEGRATOR_ADAMS, 0, seen));
        worst = fmax(worst, pose_error(seen, truth, 5));
    }
    printf("frame, motion %d, adams: poses %.2g, energy %.2g\n", _i, worst, energy);
    ck_assert_double_le(worst, 1e-8);
    ck_assert_double_le(energy, 1e-8);
}
END_TEST

START_TEST(frame_in_fixed_steps) {
    for (int k = 0; k < 4; ++k) {
        double seen[7 * FIELD_BODIES_MAX], truth[7 * FIELD_BODIES_MAX], error[3];
        inertial_run(k, truth);
        for (int e = 0; e < 2; ++e) {
            const double energy =
                frame_run(k, k_motions[_i], SKEL_INTEGRATOR_CONSERVING, 2000 << e, seen);
            error[e] = pose_error(seen, truth, 5);
            ck_assert_double_le(energy, 1e-11);
        }
        frame_run(k, k_motions[_i], SKEL_INTEGRATOR_RK4, 1000, seen);
        error[2] = pose_error(seen, truth, 5);
        printf("frame, motion %d, tree %d: conserving 1/2000 s %.2g, 1/4000 s %.2g, rk4 %.2g\n", _i,
               k, error[0], error[1], error[2]);
        ck_assert_double_lt(error[1], 2e-5);
        ck_assert_double_lt(fabs(log2(error[0] / error[1]) - 2), .1);
        ck_assert_double_lt(error[2], 1e-8);
    }
}
END_TEST

START_TEST(frame_forces_at_right_angles_do_no_work) {
    rng r = rng_seed(3);
    scene s = single(.7, SKEL_SHAPE_BOX, k_size, 0);
    s.model->has_frame = 1;
    for (int k = 0; k < 100; ++k) {
        skel__kin x = random_kin(&r), still;
        s.model->frame_spin = random_v3(&r, 5);
        still = x;
        still.v = still.w = (v3){0, 0, 0};
        const skel__wrench a = wrench_at(s.model, &x, 0), b = wrench_at(s.model, &still, 0);
        near1(v3_dot(v3_sub(a.f, b.f), x.v), 0, 1e-12);
        near1(v3_dot(v3_sub(a.n, b.n), q_rotate(x.q, x.w)), 0, 1e-13);
    }
    scene_free(&s);
}
END_TEST

/* ---- air ---- */

START_TEST(fall_to_the_terminal_speed) {
    const double g = 9.81, radius = .11, mass = .04, size[3] = {radius, 0, 0};
    scene s = single(mass, SKEL_SHAPE_SPHERE, size, g);
    skel_field_desc air = field(SKEL_FIELD_DRAG);
    air.coefficient = .47;
    set_fields(&s, &air, 1);
    const double vt = sqrt(2 * mass * g / (air.density * air.coefficient * PI * radius * radius));
    skel_bake *b = bake(&s, SKEL_INTEGRATOR_ADAMS, 4);
    double worst = 0;
    for (int k = 0; k <= 40; ++k) {
        const double t = .1 * k, *p = skel_bake_poses(b) + 7 * k,
                     *v = skel_bake_velocities(b) + 6 * k;
        worst = fmax(worst, fabs(v[2] + vt * tanh(g * t / vt)));
        worst = fmax(worst, fabs(p[2] + vt * vt / g * log(cosh(g * t / vt))));
    }
    const double last = skel_bake_velocities(b)[6 * 40 + 2];
    printf("fall against the air: off by %.2g, %.8f of the terminal speed\n", worst, -last / vt);
    ck_assert_double_le(worst, 1e-8);
    near1(-last, vt, 1e-4 * vt);
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

START_TEST(air_takes_energy) { /* a gram in a storm: stiff; every shape, at 1/60 s */
    rng r = rng_seed(5);
    skel_field_desc air = field(SKEL_FIELD_DRAG);
    scene s = single(1e-3 / (1 + 999 * (_i / SHAPES)), _i % SHAPES, k_size, 0);
    double v[6], lost = 0;
    set_fields(&s, &air, 1);
    v3_to(random_v3(&r, 100), v), v3_to(random_v3(&r, 100), v + 3);
    skel_state_set_velocities(s.state, v);
    skel_report_row before = report(s.state), now;
    const double start = before.kinetic;
    for (int k = 0; k < 300; ++k, before = now) {
        run(s.state, SKEL_INTEGRATOR_CONSERVING, 1.0 / 60, 1);
        now = report(s.state);
        ck_assert_double_le(now.work_load, before.work_load);
        ck_assert_double_le(now.kinetic, before.kinetic * (1 + 1e-12));
        lost = fmax(lost, fabs(now.kinetic - start - now.work_load) / start);
    }
    double rejected = 0, evaluations = 0;
    skel__kin x = s.state->x[0];
    skel__conserving_counts(s.state, &rejected, &evaluations);
    printf("air, shape %d, %.0e kg: speed left %.2g, spin left %.2g, balance %.1g, %g halved, "
           "%.1f iterations\n",
           _i % SHAPES, s.model->body[0].mass, v3_norm(x.v) / v3_norm(v3_of(v)),
           v3_norm(x.w) / v3_norm(v3_of(v + 3)), lost, rejected, evaluations / 300);
    ck_assert_double_le(lost, 1e-9);
    scene_free(&s);
}
END_TEST

START_TEST(air_stops_a_chain) { /* joints, gravity, bodies of a gram */
    scene s = scene_chain(6, SKEL_JOINT_BALL, SKEL_JOINT_HINGE, .2, NULL);
    skel_field_desc air = field(SKEL_FIELD_DRAG);
    for (int32_t i = 0; i < 6; ++i) {
        skel__body *b = &s.model->body[i];
        b->mass *= 1e-3, b->shape = SKEL_SHAPE_CAPSULE + i % 2;
        b->size[0] = .16, b->size[1] = .02;
        b->inertia = m3_scale(b->inertia, 1e-3);
        b->inertia_inverse = m3_scale(b->inertia_inverse, 1e3);
    }
    set_fields(&s, &air, 1);
    skel_report_row before = report(s.state), now;
    const double start = before.kinetic + before.potential;
    for (int k = 0; k < 600; ++k, before = now) {
        run(s.state, SKEL_INTEGRATOR_CONSERVING, 1.0 / 60, 1);
        now = report(s.state);
        ck_assert_double_le(now.work_load, before.work_load);
        ck_assert_double_le(now.kinetic + now.potential, before.kinetic + before.potential + 1e-14);
        near1(now.kinetic + now.potential - start, now.work_load, 1e-12);
    }
    scene_free(&s);
}
END_TEST

static double surface_of(const skel__body *b) {
    const double x = b->size[0], y = b->size[1], z = b->size[2];
    const double trace = b->inertia.r[0].x + b->inertia.r[1].y + b->inertia.r[2].z;
    switch (b->shape) {
    case SKEL_SHAPE_NONE: return 4 * PI * trace / (1.2 * b->mass);
    case SKEL_SHAPE_SPHERE: return 4 * PI * x * x;
    case SKEL_SHAPE_BOX: return 2 * (x * y + y * z + z * x);
    case SKEL_SHAPE_CAPSULE: return 2 * PI * y * x + 4 * PI * y * y;
    default: return 2 * PI * y * x + 2 * PI * y * y;
    }
}

START_TEST(shadows) { /* Cauchy: the mean shadow of a convex body is a quarter of its surface */
    const int n = 20000;
    rng r = rng_seed(6);
    scene s = single(.5, _i, k_size, 0);
    skel_field_desc air = field(SKEL_FIELD_DRAG);
    double sum = 0;
    air.vector[0] = 2;
    set_fields(&s, &air, 1);
    for (int k = 0; k < n; ++k) { /* even directions: Archimedes */
        skel__kin x = random_kin(&r);
        const double z = -1 + (2 * k + 1.0) / n, turn = 2.399963229728653 * k;
        const v3 u = {sqrt(1 - z * z) * cos(turn), sqrt(1 - z * z) * sin(turn), z};
        x.q = q_identity();
        x.v = v3_add(v3_scale(u, 3), (v3){2, 0, 0});
        const v3 f = wrench_at(s.model, &x, 0).f;
        sum += v3_norm(f) / (.5 * 1.2 * 9);
        near1(v3_dot(f, u), -v3_norm(f), 1e-12);
    }
    near1(sum / n, surface_of(&s.model->body[0]) / 4, 1e-5);
    scene_free(&s);
}
END_TEST

START_TEST(a_box_turns_against_pressure) { /* rho/2 C (n.u)^2 summed over its faces */
    const int n = 100;
    scene s = single(.5, SKEL_SHAPE_BOX, k_size, 0);
    skel_field_desc air = field(SKEL_FIELD_DRAG);
    const double turns = 7;
    set_fields(&s, &air, 1);
    for (int axis = 0; axis < 3; ++axis) {
        double w[3] = {0, 0, 0}, torque = 0, got[3];
        w[axis] = turns;
        skel__kin x = {.q = q_identity(), .w = v3_of(w)};
        v3_to(wrench_at(s.model, &x, 0).n, got);
        for (int face = 0; face < 6; ++face)
            for (int e = 0; e < n * n; ++e) {
                const int across = face % 3, i = (across + 1) % 3, j = (across + 2) % 3;
                double p[3], o[3] = {0, 0, 0};
                o[across] = face < 3 ? 1 : -1;
                p[across] = o[across] * .5 * k_size[across];
                p[i] = k_size[i] * ((e % n + .5) / n - .5);
                p[j] = k_size[j] * ((e / n + .5) / n - .5);
                const v3 at = v3_of(p), out = v3_of(o);
                const double un = v3_dot(out, v3_cross(v3_of(w), at));
                const double area = k_size[i] * k_size[j] / (n * n);
                const v3 push = v3_scale(out, un > 0 ? -.6 * un * un * area : 0);
                torque += v3_dot(v3_cross(at, push), v3_of(w)) / turns;
            }
        near1(got[axis], torque, 1e-3 * fabs(torque));
        ck_assert_double_lt(got[axis], 0);
    }
    scene_free(&s);
}
END_TEST

/* ---- fields of acceleration ---- */

static v3 acceleration(const scene *s, v3 p, double t) {
    const skel__kin x = {.p = p, .q = q_identity()};
    return v3_scale(wrench_at(s->model, &x, t).f, 1 / s->model->body[0].mass);
}

START_TEST(uniform_and_one_body) {
    scene s = single(.5, SKEL_SHAPE_NONE, k_size, 0);
    skel_field_desc f[2] = {field(SKEL_FIELD_UNIFORM), field(SKEL_FIELD_UNIFORM)};
    f[0].vector[1] = 3, f[1].vector[0] = 7;
    f[0].body = 0, f[1].body = 1;
    set_fields(&s, f, 2);
    const v3 a = acceleration(&s, (v3){1, 2, 3}, 0);
    ck_assert(a.x == 0 && a.y == 3 && a.z == 0);
    scene_free(&s);
}
END_TEST

START_TEST(vortex_goes_round) {
    scene s = single(.5, SKEL_SHAPE_NONE, k_size, 0);
    skel_field_desc f = field(SKEL_FIELD_VORTEX);
    rng r = rng_seed(8);
    f.strength = 5, f.scale = .4;
    set_fields(&s, &f, 1);
    double best = 0;
    for (int k = 0; k < 200; ++k) {
        const v3 axis = v3_scale(random_v3(&r, 1), 1), p = random_v3(&r, 2);
        const v3 unit = v3_scale(axis, 1 / v3_norm(axis)), c = random_v3(&r, 1);
        const v3 from = v3_sub(p, c), arm = v3_mad(from, -v3_dot(from, unit), unit);
        const double rho = v3_norm(arm) / f.scale;
        v3_to(unit, f.axis), v3_to(c, f.point);
        const v3 a = acceleration(&s, p, 0);
        near1(v3_dot(a, arm), 0, 1e-13);
        near1(v3_dot(a, unit), 0, 1e-13);
        near1(v3_dot(v3_cross(arm, a), unit) / v3_norm(arm), f.strength * 2 * rho / (1 + rho * rho),
              1e-13);
        best = fmax(best, v3_norm(a));
        near1(v3_norm(acceleration(&s, c, 0)), 0, 1e-14); /* calm at the axis */
        const v3 rim = v3_mad(c, f.scale, v3_perpendicular(unit));
        near1(v3_norm(acceleration(&s, rim, 0)), f.strength, 1e-13);
    }
    ck_assert_double_le(best, f.strength);
    scene_free(&s);
}
END_TEST

START_TEST(turbulence_is_what_it_promises) {
    const int n = 20000;
    scene s = single(.5, SKEL_SHAPE_NONE, k_size, 0);
    skel_field_desc f = field(SKEL_FIELD_TURBULENCE), other;
    rng r = rng_seed(9);
    double square[3] = {0, 0, 0}, mean[3] = {0, 0, 0}, spread = 0, steep = 0;
    f.strength = 3, f.scale = .7, f.period = 2, f.seed = 11 + (uint32_t)_i;
    other = f, other.seed += 1;
    for (int k = 0; k < n; ++k) {
        const v3 p = random_v3(&r, 50);
        const double t = rng_range(&r, 0, 20), h = 1e-4;
        double a[3], b[3], div = 0;
        set_fields(&s, &f, 1), v3_to(acceleration(&s, p, t), a);
        v3_to(acceleration(&s, p, t), b);
        ck_assert(memcmp(a, b, sizeof a) == 0);
        for (int c = 0; c < 3; ++c) square[c] += a[c] * a[c] / n, mean[c] += a[c] / n;
        for (int c = 0; k < 300 && c < 3; ++c) {
            double e[3] = {0, 0, 0}, up[3], down[3];
            e[c] = h;
            v3_to(acceleration(&s, v3_add(p, v3_of(e)), t), up);
            v3_to(acceleration(&s, v3_sub(p, v3_of(e)), t), down);
            div += (up[c] - down[c]) / (2 * h);
            steep = fmax(steep, max_difference(up, down, 3) / (2 * h));
        }
        spread = fmax(spread, fabs(div));
        set_fields(&s, &other, 1), v3_to(acceleration(&s, p, t), b);
        ck_assert(memcmp(a, b, sizeof a) != 0);
    }
    const double rms = sqrt(square[0] + square[1] + square[2]);
    printf("turbulence, seed %u: r.m.s. %.3f of strength (axes %.2f %.2f %.2f), mean %.2g, "
           "divergence %.2g where slopes are %.2g\n",
           f.seed, rms / f.strength, sqrt(3 * square[0]) / rms, sqrt(3 * square[1]) / rms,
           sqrt(3 * square[2]) / rms, max_abs(mean, 3), spread, steep);
    near1(rms, f.strength, .1 * f.strength);
    ck_assert_double_le(max_abs(mean, 3), .05 * f.strength);
    ck_assert_double_le(spread, 1e-5 * steep);
    scene_free(&s);
}
END_TEST

START_TEST(turbulence_in_time) {
    scene s = single(.5, SKEL_SHAPE_NONE, k_size, 0);
    skel_field_desc f = field(SKEL_FIELD_TURBULENCE);
    const v3 p = {.3, .2, .1};
    struct timespec t0, t1;
    double sum = 0;
    set_fields(&s, &f, 1);
    near1(v3_norm(v3_sub(acceleration(&s, p, 0), acceleration(&s, p, 9))), 0, 0); /* it stands */
    f.period = .5;
    ck_assert_double_gt(v3_norm(v3_sub(acceleration(&s, p, 0), acceleration(&s, p, .1))), .01);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t0);
    for (int k = 0; k < 100000; ++k) sum += acceleration(&s, p, 1e-3 * k).x;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t1);
    printf("turbulence: %.0f ns a call (%g)\n",
           ((double)(t1.tv_sec - t0.tv_sec) * 1e9 + (double)(t1.tv_nsec - t0.tv_nsec)) / 1e5,
           sum / 1e5);
    scene_free(&s);
}
END_TEST

/* ---- derivatives ---- */

/* Column c of the derivatives by v, w, p and a turn, by central differences. */
static void difference(const skel_model *m, skel__kin x, int c, double h, double *out) {
    skel__wrench w[2];
    for (int e = 0; e < 2; ++e) {
        double step[3] = {0, 0, 0};
        skel__kin y = x;
        step[c % 3] = e ? h : -h;
        const v3 d = v3_of(step);
        if (c < 3)
            y.v = v3_add(x.v, d);
        else if (c < 6)
            y.w = v3_add(x.w, q_rotate(q_conj(x.q), d));
        else if (c < 9)
            y.p = v3_add(x.p, d);
        else {
            y.q = q_mul(q_exp(d), x.q);
            y.w = q_rotate(q_conj(y.q), q_rotate(x.q, x.w)); /* the same in the world */
        }
        w[e] = wrench_at(m, &y, .3);
    }
    v3_to(v3_scale(v3_sub(w[1].f, w[0].f), .5 / h), out);
    v3_to(v3_scale(v3_sub(w[1].n, w[0].n), .5 / h), out + 3);
}

START_TEST(derivatives) { /* of all shapes, fields and the frame */
    rng r = rng_seed(12);
    scene s = single(.5, _i, k_size, 0);
    double worst[2] = {0, 0};
    skel_field_desc f[6];
    for (int k = 0; k < 4; ++k) f[k] = field(k);
    f[4] = field(SKEL_FIELD_DRAG), f[5] = field(SKEL_FIELD_DRAG);
    f[4].vector[0] = 30, f[5].body = 3; /* not for this one */
    set_fields(&s, f, 6);
    s.model->frame_spin_curve = (skel_curve){k_time, k_spin[0], 4, 3};
    for (int k = 0; k < 300; ++k) {
        const skel__kin x = random_kin(&r);
        double d[2][36] = {{0}};
        s.model->frame_spin = random_v3(&r, 5);
        s.model->has_frame = k >= 100;
        s.model->nf = k < 200 ? 6 : 0;
        skel__field_rate_derivative(s.model, 0, &x, .3, SKEL__AFTER, d[0]);
        skel__field_pose_derivative(s.model, 0, &x, .3, SKEL__AFTER, d[1]);
        for (int c = 0; c < 12; ++c) {
            const double *of = d[c / 6] + c % 6;
            double column[6];
            difference(s.model, x, c, 1e-6, column);
            for (int e = 0; e < 6; ++e)
                worst[c / 6] =
                    fmax(worst[c / 6], fabs(column[e] - of[6 * e]) / max_abs(d[c / 6], 36));
        }
    }
    printf("derivatives, shape %d: off by %.2g (velocities), %.2g (pose)\n", _i, worst[0],
           worst[1]);
    ck_assert_double_le(worst[0], 1e-6);
    ck_assert_double_le(worst[1], 1e-6);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("field");
    TCase *c = tcase_create("field");
    tcase_add_loop_test(c, the_frame_does_not_matter, 0, 3);
    tcase_add_loop_test(c, frame_in_fixed_steps, 0, 3);
    tcase_add_test(c, frame_forces_at_right_angles_do_no_work);
    tcase_add_test(c, fall_to_the_terminal_speed);
    tcase_add_loop_test(c, air_takes_energy, 0, 2 * SHAPES);
    tcase_add_test(c, air_stops_a_chain);
    tcase_add_loop_test(c, shadows, 0, SHAPES);
    tcase_add_test(c, a_box_turns_against_pressure);
    tcase_add_test(c, uniform_and_one_body);
    tcase_add_test(c, vortex_goes_round);
    tcase_add_loop_test(c, turbulence_is_what_it_promises, 0, 4);
    tcase_add_test(c, turbulence_in_time);
    tcase_add_loop_test(c, derivatives, 0, SHAPES);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
