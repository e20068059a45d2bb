/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse dynamics: what goes in must come out, one state at a time and through whole motions. */
#include "dynamics/inverse.h"
#include "math/rotation.h"
#include "shared/counter.h"
#include "shared/near.h"
#include "shared/scenes.h"
#include "integrate/integrate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double *numbers(size_t count) {
    double *x = calloc(count ? count : 1, sizeof *x);
    ck_assert_ptr_nonnull(x);
    return x;
}

/* ---- a model again with other loads ---- */

typedef struct parts {
    skel_body_desc *bodies;
    skel_joint_desc *joints;
    int32_t nb, nj;
} parts;

static parts parts_of(const skel_model *m) {
    parts p = {.nb = skel_model_body_count(m), .nj = skel_model_joint_count(m)};
    p.bodies = calloc((size_t)p.nb, sizeof *p.bodies);
    p.joints = calloc((size_t)p.nj + 1, sizeof *p.joints);
    for (int32_t i = 0; i < p.nb; ++i) {
        skel_body_desc_init(&p.bodies[i]);
        ck_assert_int_eq(skel_model_get_body(m, i, &p.bodies[i]), SKEL_OK);
    }
    for (int32_t i = 0; i < p.nj; ++i) {
        skel_joint_desc_init(&p.joints[i]);
        ck_assert_int_eq(skel_model_get_joint(m, i, &p.joints[i]), SKEL_OK);
    }
    return p;
}

/* The state of `like` under the loads of `p`, whose memory it frees. */
static scene rebuilt(parts p, const skel_state *like) {
    const skel_model *old = skel_state_model(like);
    double *x = numbers(7 * (size_t)p.nb), *v = numbers(6 * (size_t)p.nb);
    skel_model_desc d;
    skel_error err;
    scene s;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    d.bodies = p.bodies, d.body_count = (uint32_t)p.nb;
    d.joints = p.joints, d.joint_count = (uint32_t)p.nj;
    skel_model_get_gravity(old, d.gravity);
    ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    skel_state_set_time(s.state, skel_state_time(like));
    skel_state_get_poses(like, x), skel_state_set_poses(s.state, x);
    skel_state_get_velocities(like, v), skel_state_set_velocities(s.state, v);
    free(p.bodies), free(p.joints), free(x), free(v);
    return s;
}

static void add3(double *to, double sign, v3 x) {
    to[0] += sign * x.x, to[1] += sign * x.y, to[2] += sign * x.z;
}

/* Any loads: the accelerations to be explained. */
static void stir(rng *r, parts *p) {
    for (int32_t i = 0; i < p->nb; ++i)
        for (int k = 0; k < 3; ++k) {
            p->bodies[i].force[k] += rng_range(r, -20, 20);
            p->bodies[i].torque[k] += rng_range(r, -5, 5);
        }
}

/* The torques as the scene itself could have them: motors, and pairs of torques on the bodies. */
static void apply(parts *p, skel_state *s, const double *torque, const double *residual) {
    skel__prepare(s, s->x);
    for (int32_t e = 0; e < p->nj; ++e) {
        const skel__joint *j = &s->m->joint[e];
        const skel__joint_world g = skel__joint_at(s, s->x, j);
        const double *q = torque + j->v_offset;
        v3 n = {0, 0, 0};
        if (j->type == SKEL_JOINT_HINGE || j->type == SKEL_JOINT_SLIDE)
            p->joints[e].motor -= q[0];
        else if (j->type == SKEL_JOINT_UNIVERSAL)
            n = v3_mad(v3_scale(g.ea[2], q[0]), q[1], g.eb[0]);
        else if (j->type == SKEL_JOINT_BALL)
            for (int c = 0; c < 3; ++c) n = v3_mad(n, q[c], g.eb[c]);
        if (j->a >= 0) add3(p->bodies[j->a].torque, -1, n);
        if (j->b >= 0) add3(p->bodies[j->b].torque, 1, n);
    }
    for (int32_t i = 0; i < p->nb; ++i) {
        add3(p->bodies[i].force, 1, v3_of(residual + 6 * i));
        add3(p->bodies[i].torque, 1, v3_of(residual + 6 * i + 3));
    }
}

static double explain(rng *r, scene_options o) {
    scene s = scene_random_tree(r, o);
    const size_t n = 3 * (size_t)o.bodies;
    double *a = numbers(2 * n), *b = numbers(2 * n), *residual = numbers(2 * n);
    double *torque = numbers((size_t)skel_model_dof(s.model));
    parts p = parts_of(s.model);
    skel_error err;
    skel_error_init(&err);
    stir(r, &p);
    scene other = rebuilt(p, s.state);
    ck_assert_int_eq(skel_accelerations(other.state, SKEL_SOLVER_TREE, a, a + n, &err), SKEL_OK);
    ck_assert_msg(skel_inverse_dynamics(s.state, a, a + n, torque, NULL, residual, &err) == SKEL_OK,
                  "%s", err.text);
    p = parts_of(s.model);
    apply(&p, s.state, torque, residual);
    scene again = rebuilt(p, s.state);
    ck_assert_int_eq(skel_accelerations(again.state, SKEL_SOLVER_TREE, b, b + n, &err), SKEL_OK);
    const double off = max_difference(a, b, 2 * n) / fmax(1.0, max_abs(a, 2 * n));
    free(a), free(b), free(residual), free(torque);
    scene_free(&s), scene_free(&other), scene_free(&again);
    return off;
}

START_TEST(torques_fed_back_give_the_accelerations) {
    rng r = rng_seed(41);
    double worst = 0;
    for (int k = 0; k < 200; ++k) {
        const double off = explain(
            &r, (scene_options){.bodies = 1 + k * 30 / 199, .root = k % 4, .loads = 1, .spin = 2});
        ck_assert_msg(off <= 1e-9, "tree %d: off by %.3g", k, off);
        worst = fmax(worst, off);
    }
    printf("200 random trees: torques fed back, accelerations differ by %.2g (relative)\n", worst);
}
END_TEST

START_TEST(each_joint_type_alone) {
    rng r = rng_seed((uint64_t)_i + 900);
    for (int k = 0; k < 20; ++k)
        ck_assert_double_le(
            explain(&r,
                    (scene_options){.bodies = 7, .root = k % 4, .joint_mask = 1 << _i, .loads = 1}),
            1e-9);
}
END_TEST

/* dT/dt = power of the loads + torque . qd + power of the residual, for a free root. */
START_TEST(torque_times_rate_is_the_missing_power) {
    rng r = rng_seed(5);
    for (int k = 0; k < 50; ++k) {
        scene s = scene_random_tree(&r, (scene_options){.bodies = 9, .loads = 1, .spin = 2});
        skel_state *x = s.state;
        double a[27], w[27], torque[32], wrench[48], residual[54], qd[32];
        double rate = 0, power = 0;
        const int32_t nv = skel_model_dof(s.model);
        for (int i = 0; i < 27; ++i) a[i] = rng_range(&r, -9, 9), w[i] = rng_range(&r, -9, 9);
        /* any accelerations that fit the joints */
        double qdd[32];
        for (int i = 0; i < 32; ++i) qdd[i] = rng_range(&r, -5, 5);
        skel__prepare(x, x->x);
        for (int32_t i = 0; i < x->m->nb; ++i) x->acc[i] = (skel__twist){v3_of(a), v3_of(w)};
        skel__fk_acceleration(x, qdd);
        for (int32_t i = 0; i < x->m->nb; ++i) {
            v3_to(x->acc[i].v, a + 3 * i);
            v3_to(skel__body_axes(x, i, x->acc[i].w), w + 3 * i);
        }
        ck_assert_int_eq(skel_inverse_dynamics(x, a, w, torque, wrench, residual, NULL), SKEL_OK);
        skel_state_get_qd(x, qd);
        for (int32_t i = 0; i < x->m->nb; ++i) {
            const skel__body *b = &x->m->body[i];
            rate += b->mass * v3_dot(x->x[i].v, v3_of(a + 3 * i)) +
                    v3_dot(m3_mulv(b->inertia, x->x[i].w), v3_of(w + 3 * i));
            power += v3_dot(x->f[i].f, x->x[i].v) + v3_dot(x->f[i].n, x->ww[i]) +
                     v3_dot(v3_of(residual + 6 * i), x->x[i].v) +
                     v3_dot(v3_of(residual + 6 * i + 3), x->ww[i]);
        }
        for (int32_t i = 0; i < nv; ++i) power += torque[i] * qd[i];
        near1(rate, power, 1e-9 * (1 + fabs(rate)));
        scene_free(&s);
    }
}
END_TEST

START_TEST(a_held_arm_takes_m_g_l) { /* hinge about y through the origin, centre at x = 0.3 */
    skel_body_desc body;
    skel_joint_desc joint;
    skel_model_desc d;
    scene s;
    skel_body_desc_init(&body), skel_joint_desc_init(&joint), skel_model_desc_init(&d);
    body.mass = 2, body.inertia[0] = body.inertia[1] = body.inertia[2] = .1;
    body.position[0] = .3;
    joint.type = SKEL_JOINT_HINGE, joint.parent = SKEL_WORLD, joint.child = 0;
    const double turn[4] = {sqrt(.5), -sqrt(.5), 0, 0}; /* z of the frame is y of the world */
    memcpy(joint.parent_orientation, turn, sizeof turn);
    memcpy(joint.child_orientation, turn, sizeof turn);
    joint.child_position[0] = -.3;
    d.bodies = &body, d.body_count = 1, d.joints = &joint, d.joint_count = 1;
    ck_assert_int_eq(skel_model_create(&d, &s.model, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    const double none[3] = {0};
    double torque[1], wrench[6], residual[6];
    ck_assert_int_eq(skel_inverse_dynamics(s.state, none, none, torque, wrench, residual, NULL),
                     SKEL_OK);
    near1(torque[0], -2 * 9.81 * .3, 1e-14); /* q grows downward: turning about y lowers x */
    const double want[6] = {0, 0, 2 * 9.81, 0, -2 * 9.81 * .3, 0};
    near(wrench, want, 6, 1e-14);
    near(residual, none, 3, 0);
    scene_free(&s);
}
END_TEST

/* ---- a motion of sines ---- */

#define WAVES 3
#define INVERSE_LINKS 8
#define MAX_CHANNELS (6 + 3 * INVERSE_LINKS)

typedef struct wave {
    double size[WAVES], speed[WAVES], phase[WAVES];
} wave;
typedef struct sines {
    wave channel[MAX_CHANNELS]; /* 6 of the root, then those of the joints */
} sines;

static sines random_sines(rng *r, double size) {
    sines s;
    for (int c = 0; c < MAX_CHANNELS; ++c)
        for (int k = 0; k < WAVES; ++k) {
            s.channel[c].size[k] = size * rng_range(r, .3, 1) / (k + 1);
            s.channel[c].speed[k] = rng_range(r, .5, 2.5) * (k + 1);
            s.channel[c].phase[k] = rng_range(r, 0, 6.28);
        }
    return s;
}

/* Value and two derivatives. */
static void wave_at(const wave *w, double t, double out[3]) {
    out[0] = out[1] = out[2] = 0;
    for (int k = 0; k < WAVES; ++k) {
        const double u = w->speed[k] * t + w->phase[k];
        out[0] += w->size[k] * sin(u);
        out[1] += w->size[k] * w->speed[k] * cos(u);
        out[2] -= w->size[k] * w->speed[k] * w->speed[k] * sin(u);
    }
}

/* exp(phi), omega and omega' of three channels. */
static void turn_at(const wave *w, double t, double *q, double *rate, double *accel) {
    double x[3][3];
    for (int c = 0; c < 3; ++c) wave_at(&w[c], t, x[c]);
    const v3 phi = {x[0][0], x[1][0], x[2][0]}, d = {x[0][1], x[1][1], x[2][1]};
    const v3 dd = {x[0][2], x[1][2], x[2][2]};
    q_to(q_exp(phi), q);
    v3_to(q_jacobian_mul(phi, d), rate);
    v3_to(q_exp_acceleration(phi, d, dd), accel);
}

static int32_t root_of(const skel_model *m) {
    for (int32_t i = 0; i < m->nb; ++i)
        if (m->body[i].joint < 0) return i;
    return -1;
}

/* Everything of the state at t, accelerations included. */
static void pose_sines(const sines *s, double t, skel_state *x) {
    const skel_model *m = x->m;
    double q[4 * INVERSE_LINKS], qd[3 * INVERSE_LINKS], qdd[3 * INVERSE_LINKS], p[3][3], turn[4],
        w[3], dw[3];
    for (int c = 0; c < 3; ++c) wave_at(&s->channel[c], t, p[c]);
    turn_at(s->channel + 3, t, turn, w, dw);
    const int32_t root = root_of(m);
    x->t = t;
    x->x[root] =
        (skel__kin){{p[0][0], p[1][0], p[2][0]}, q_of(turn), {p[0][1], p[1][1], p[2][1]}, v3_of(w)};
    x->acc[root] = (skel__twist){{p[0][2], p[1][2], p[2][2]}, q_rotate(q_of(turn), v3_of(dw))};
    for (int32_t e = 0; e < m->nj; ++e) {
        const skel__joint *j = &m->joint[e];
        const wave *c = s->channel + 6 + j->v_offset;
        if (j->type == SKEL_JOINT_BALL) {
            turn_at(c, t, q + j->q_offset, qd + j->v_offset, qdd + j->v_offset);
            continue;
        }
        for (int k = 0; k < skel__joint_nv(j->type); ++k) {
            double v[3];
            const double scale = j->type == SKEL_JOINT_SLIDE ? .2 : 1;
            wave_at(c + k, t, v);
            q[j->q_offset + k] = scale * v[0];
            qd[j->v_offset + k] = scale * v[1];
            qdd[j->v_offset + k] = scale * v[2];
        }
    }
    skel__fk(m, q, x->x);
    skel__fk_velocity(x, qd);
    skel__fk_acceleration(x, qdd);
}

/* A spine with limbs: hinges, slides, balls and a universal joint, all with some friction. */
static scene sines_tree(void) {
    static const int type[INVERSE_LINKS - 1] = {
        SKEL_JOINT_BALL, SKEL_JOINT_HINGE,     SKEL_JOINT_SLIDE, SKEL_JOINT_HINGE,
        SKEL_JOINT_BALL, SKEL_JOINT_UNIVERSAL, SKEL_JOINT_HINGE};
    static const int parent[INVERSE_LINKS - 1] = {0, 1, 2, 0, 4, 0, 6};
    skel_body_desc bodies[INVERSE_LINKS];
    skel_joint_desc joints[INVERSE_LINKS - 1];
    skel_model_desc d;
    rng r = rng_seed(77);
    scene s;
    skel_error err;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    for (int k = 0; k < INVERSE_LINKS; ++k) {
        const double size[3] = {k ? .15 : .5, k ? .2 : .5, .5};
        skel_body_desc_init(&bodies[k]);
        bodies[k].mass = k ? 1 : 20;
        bodies[k].unplaced = k > 0;
        skel_shape_inertia(SKEL_SHAPE_BOX, size, bodies[k].mass, bodies[k].inertia);
    }
    for (int k = 0; k < INVERSE_LINKS - 1; ++k) {
        skel_joint_desc *j = &joints[k];
        skel_joint_desc_init(j);
        j->type = type[k], j->parent = parent[k], j->child = k + 1;
        for (int c = 0; c < 3; ++c) {
            j->parent_position[c] = rng_range(&r, -.25, .25);
            j->child_position[c] = rng_range(&r, -.25, .25);
        }
        q_to(q_exp((v3){rng_range(&r, -2, 2), rng_range(&r, -2, 2), 0}), j->parent_orientation);
        q_to(q_exp((v3){0, rng_range(&r, -2, 2), rng_range(&r, -2, 2)}), j->child_orientation);
        j->friction = 10; /* without it, forces that do not look at the motion let it go */
    }
    d.bodies = bodies, d.body_count = INVERSE_LINKS, d.joints = joints,
    d.joint_count = INVERSE_LINKS - 1;
    ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    return s;
}

START_TEST(accelerations_are_the_second_derivative) { /* outward pass against differences */
    scene s = sines_tree();
    rng r = rng_seed(3);
    const sines f = random_sines(&r, .3);
    const double h = 1e-3;
    skel_state *x = s.state;
    v3 p[5][INVERSE_LINKS], w[5][INVERSE_LINKS];
    for (int k = 0; k < 5; ++k) {
        pose_sines(&f, 1 + (k - 2) * h, x);
        for (int i = 0; i < INVERSE_LINKS; ++i) p[k][i] = x->x[i].v, w[k][i] = x->ww[i];
    }
    pose_sines(&f, 1, x);
    for (int i = 0; i < INVERSE_LINKS; ++i) {
        double a[6], b[6];
        for (int half = 0; half < 2; ++half) {
            v3(*u)[INVERSE_LINKS] = half ? w : p;
            const v3 near_it = v3_sub(u[3][i], u[1][i]), far = v3_sub(u[4][i], u[0][i]);
            v3_to(v3_scale(v3_mad(v3_scale(near_it, 8), -1, far), 1 / (12 * h)), a + 3 * half);
        }
        v3_to(x->acc[i].v, b), v3_to(x->acc[i].w, b + 3);
        near(a, b, 6, 1e-8 * (1 + max_abs(b, 6)));
    }
    scene_free(&s);
}
END_TEST

/* ---- forward again ---- */

/* Accelerations of x at its time under torque and residual as generalised forces. */
static void drive(skel_state *s, skel__kin *x, double t, const double *torque,
                  const double *residual) {
    const skel_model *m = s->m;
    skel__prepare(s, x);
    skel__loads(s, x, t, SKEL__AFTER);
    for (int32_t e = 0; e < m->nj; ++e) {
        const skel__joint *j = &m->joint[e];
        const skel__joint_world g = skel__joint_at(s, x, j);
        const double *q = torque + j->v_offset;
        v3 n = {0, 0, 0}, f = n;
        switch (j->type) {
        case SKEL_JOINT_HINGE: n = v3_scale(g.ea[2], q[0]); break;
        case SKEL_JOINT_SLIDE: f = v3_scale(g.ea[2], q[0]); break;
        case SKEL_JOINT_UNIVERSAL: n = v3_mad(v3_scale(g.ea[2], q[0]), q[1], g.eb[0]); break;
        default:
            for (int c = 0; c < 3; ++c) n = v3_mad(n, q[c], g.eb[c]);
        }
        const v3 na = v3_add(n, v3_cross(v3_sub(g.ra, g.gap), f));
        s->f[j->b].f = v3_add(s->f[j->b].f, f);
        s->f[j->b].n = v3_add(s->f[j->b].n, v3_add(n, v3_cross(g.rb, f)));
        s->f[j->a].f = v3_sub(s->f[j->a].f, f);
        s->f[j->a].n = v3_sub(s->f[j->a].n, na);
    }
    const int32_t root = root_of(m);
    s->f[root].f = v3_add(s->f[root].f, v3_of(residual + 6 * root));
    s->f[root].n = v3_add(s->f[root].n, v3_of(residual + 6 * root + 3));
    ck_assert_int_eq(skel__aba_factor(s, x), SKEL_OK);
    skel__aba_bias(s, x);
    skel__aba_solve(s);
}

static void forces_at(const sines *f, double t, skel_state *exact, double *torque,
                      double *residual) {
    pose_sines(f, t, exact);
    ck_assert_int_eq(skel__inverse(exact, torque, NULL, residual), SKEL_OK);
}

typedef struct rates {
    v3 p, turn, v, w; /* turn: rate of the rotation vector since the start of the step */
} rates;

static skel__kin moved(const skel__kin *x, double h, const rates *d) {
    return (skel__kin){v3_mad(x->p, h, d->p), q_unit(q_mul(x->q, q_exp(v3_scale(d->turn, h)))),
                       v3_mad(x->v, h, d->v), v3_mad(x->w, h, d->w)};
}

/* RK4 in maximal coordinates, rotations as rotation vectors of the step; then onto the joints. */
static void step_driven(skel_state *s, skel_state *exact, const sines *f, double h) {
    static const double at[4] = {0, .5, .5, 1}, share[4] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    rates k[INVERSE_LINKS] = {{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, {0, 0, 0}}}, sum[INVERSE_LINKS];
    double torque[3 * INVERSE_LINKS], residual[6 * INVERSE_LINKS];
    memset(sum, 0, sizeof sum);
    for (int e = 0; e < 4; ++e) {
        for (int i = 0; i < INVERSE_LINKS; ++i) s->stage[i] = moved(&s->x[i], at[e] * h, &k[i]);
        forces_at(f, s->t + at[e] * h, exact, torque, residual);
        drive(s, s->stage, s->t + at[e] * h, torque, residual);
        for (int i = 0; i < INVERSE_LINKS; ++i) {
            const v3 phi = q_log(q_mul(q_conj(s->x[i].q), s->stage[i].q));
            k[i] = (rates){s->stage[i].v, q_jacobian_solve(phi, s->stage[i].w), s->acc[i].v,
                           skel__body_axes(s, i, s->acc[i].w)};
            sum[i].p = v3_mad(sum[i].p, share[e], k[i].p);
            sum[i].turn = v3_mad(sum[i].turn, share[e], k[i].turn);
            sum[i].v = v3_mad(sum[i].v, share[e], k[i].v);
            sum[i].w = v3_mad(sum[i].w, share[e], k[i].w);
        }
    }
    for (int i = 0; i < INVERSE_LINKS; ++i) s->x[i] = moved(&s->x[i], h, &sum[i]);
    s->t += h, s->is_factored = 0;
    double left;
    skel__close_joints(s, &left);
    skel__fit_velocities(s);
}

START_TEST(forward_again_gives_the_motion) {
    scene s = sines_tree();
    rng r = rng_seed(3);
    const sines f = random_sines(&r, .3);
    skel_state *exact;
    const double h = 1.0 / 2000;
    double worst = 0;
    ck_assert_int_eq(skel_state_create(s.model, &exact, NULL), SKEL_OK);
    pose_sines(&f, 0, s.state);
    for (int k = 0; k < 10000; ++k) {
        step_driven(s.state, exact, &f, h);
        pose_sines(&f, s.state->t, exact);
        for (int i = 0; i < INVERSE_LINKS; ++i)
            worst = fmax(worst, v3_norm(v3_sub(exact->x[i].p, s.state->x[i].p)));
    }
    printf("forward again for 5 s: off by %.2g m\n", worst);
    ck_assert_double_le(worst, 1e-7);
    skel_state_destroy(exact);
    scene_free(&s);
}
END_TEST

/* ---- motions from keys ---- */

static double *keys_of(const sines *f, skel_state *s, int n, double rate) {
    double *x = numbers((size_t)n * INVERSE_LINKS * 7);
    for (int k = 0; k < n; ++k) {
        pose_sines(f, k / rate, s);
        skel_state_get_poses(s, x + (size_t)k * INVERSE_LINKS * 7);
    }
    return x;
}

static skel_inverse *inverse_of(const skel_model *m, const double *poses, int n, double rate,
                                double cutoff) {
    skel_inverse_desc d;
    skel_inverse *v;
    skel_error err;
    skel_error_init(&err);
    skel_inverse_desc_init(&d);
    d.model = m, d.poses = poses, d.sample_count = (uint32_t)n, d.sample_rate = rate;
    d.cutoff = cutoff;
    ck_assert_msg(skel_inverse_create(&d, &v, &err) == SKEL_OK, "%s", err.text);
    return v;
}

typedef struct errors {
    double torque, residual, q, qdd; /* largest, relative to the largest of its kind */
    double end;                      /* of the torque in the samples at the edges */
} errors;

static errors compare_keys(const sines *f, scene *s, const skel_inverse *v, int n, double rate,
                           int edge) {
    errors e = {0};
    const int32_t nv = skel_model_dof(s->model);
    double size = 0, push = 0, torque[3 * INVERSE_LINKS], residual[6 * INVERSE_LINKS];
    for (int k = 0; k < n; ++k) {
        forces_at(f, k / rate, s->state, torque, residual);
        const double *given = skel_inverse_torque(v) + (size_t)k * (size_t)nv;
        const double *rest = skel_inverse_residual(v) + (size_t)k * INVERSE_LINKS * 6;
        const double off = max_difference(torque, given, (size_t)nv);
        size = fmax(size, max_abs(torque, (size_t)nv)),
        push = fmax(push, max_abs(residual, 6 * INVERSE_LINKS));
        if (k < edge || k >= n - edge)
            e.end = fmax(e.end, off);
        else
            e.torque = fmax(e.torque, off);
        e.residual = fmax(e.residual, max_difference(residual, rest, 6 * INVERSE_LINKS));
    }
    e.torque /= size, e.end /= size, e.residual /= push;
    return e;
}

START_TEST(keys_at_240_give_the_torques) {
    scene s = sines_tree();
    rng r = rng_seed(3);
    const sines f = random_sines(&r, .3);
    for (int k = 0; k < 3; ++k) {
        const double rate = k == 0 ? 30 : k == 1 ? 60 : 240;
        const int n = (int)(5 * rate) + 1;
        double *x = keys_of(&f, s.state, n, rate);
        skel_inverse *v = inverse_of(s.model, x, n, rate, 0);
        const errors e = compare_keys(&f, &s, v, n, rate, 5);
        printf("keys at %g/s: torque off by %.2g inside, %.2g at the ends; residual %.2g\n", rate,
               e.torque, e.end, e.residual);
        if (k == 2) ck_assert_double_le(fmax(e.torque, e.end), 1e-8);
        skel_inverse_summary sum = {.struct_size = sizeof sum};
        ck_assert_int_eq(skel_inverse_get_summary(v, &sum), SKEL_OK);
        ck_assert_int_eq(sum.order, 8);
        ck_assert_double_le(sum.joint_gap, 1e-12);
        ck_assert_double_eq(sum.suggested_cutoff, 0);
        skel_inverse_destroy(v);
        free(x);
    }
    scene_free(&s);
}
END_TEST

START_TEST(noise_is_found_and_filtered) {
    scene s = sines_tree();
    rng r = rng_seed(3), noise = rng_seed(8);
    const sines f = random_sines(&r, .3);
    const double rate = 120;
    const int n = 601;
    double *x = keys_of(&f, s.state, n, rate);
    for (size_t k = 0; k < (size_t)n * INVERSE_LINKS; ++k) {
        const v3 t = {rng_range(&noise, -1e-3, 1e-3), rng_range(&noise, -1e-3, 1e-3),
                      rng_range(&noise, -1e-3, 1e-3)};
        q_to(q_mul(q_of(x + 7 * k + 3), q_exp(t)), x + 7 * k + 3);
    }
    skel_inverse *raw = inverse_of(s.model, x, n, rate, 0);
    skel_inverse_summary sum = {.struct_size = sizeof sum};
    skel_inverse_get_summary(raw, &sum);
    ck_assert_double_gt(sum.noise, .1);
    ck_assert_double_gt(sum.suggested_cutoff, 1);
    ck_assert_double_lt(sum.suggested_cutoff, 30);
    skel_inverse *smooth = inverse_of(s.model, x, n, rate, sum.suggested_cutoff);
    const errors before = compare_keys(&f, &s, raw, n, rate, 60);
    const errors after = compare_keys(&f, &s, smooth, n, rate, 60);
    printf("noise of 1 mrad at 120/s: share %.2g, cut-off %.3g Hz; torque off by %.2g, then %.2g\n",
           sum.noise, sum.suggested_cutoff, before.torque, after.torque);
    ck_assert_double_lt(after.torque, .2 * before.torque);
    skel_inverse_get_summary(smooth, &sum);
    ck_assert_double_lt(sum.noise, .01);
    skel_inverse_destroy(raw), skel_inverse_destroy(smooth);
    free(x);
    scene_free(&s);
}
END_TEST

/* ---- one free body: rotations ---- */

static skel_model *one_body(void) {
    skel_body_desc body;
    skel_model_desc d;
    skel_model *m;
    skel_body_desc_init(&body), skel_model_desc_init(&d);
    body.mass = 1, body.inertia[0] = .1, body.inertia[1] = .2, body.inertia[2] = .25;
    d.bodies = &body, d.body_count = 1;
    ck_assert_int_eq(skel_model_create(&d, &m, NULL), SKEL_OK);
    return m;
}

/* Torque of one body is I omega' + omega x I omega: so its derivatives can be read off. */
static double rotation_error(double rate, int n, double spin) {
    skel_model *m = one_body();
    double *x = numbers(7 * (size_t)n), worst = 0;
    rng r = rng_seed(12);
    const sines f = random_sines(&r, .8);
    skel_state *s;
    ck_assert_int_eq(skel_state_create(m, &s, NULL), SKEL_OK);
    for (int k = 0; k < n; ++k) {
        double w[3], dw[3];
        turn_at(f.channel, k / rate, x + 7 * k + 3, w, dw);
        q_to(q_mul(q_of(x + 7 * k + 3), q_exp((v3){0, 0, spin * k / rate})), x + 7 * k + 3);
    }
    skel_inverse *v = inverse_of(m, x, n, rate, 0);
    for (int k = 0; k < n; ++k) { /* q = exp(phi) exp(z spin t): omega = Rz^T w + z spin */
        double q[4], w[3], dw[3], a[3], b[3], want[3];
        turn_at(f.channel, k / rate, q, w, dw);
        const quat z = q_exp((v3){0, 0, -spin * k / rate});
        const v3 wz = q_rotate(z, v3_of(w)), axis = {0, 0, spin};
        v3_to(v3_sub(q_rotate(z, v3_of(dw)), v3_cross(axis, wz)), want);
        ck_assert_int_eq(skel_inverse_get_state(v, k, s, a, b), SKEL_OK);
        worst = fmax(worst, max_difference(b, want, 3));
    }
    skel_inverse_destroy(v);
    skel_state_destroy(s), skel_model_destroy(m);
    free(x);
    return worst;
}

START_TEST(rotations_are_differentiated_to_eighth_order) {
    const double one = rotation_error(30, 61, 0), two = rotation_error(60, 121, 0);
    const double fast = rotation_error(60, 121, 40), few = rotation_error(400, 5, 0);
    printf("angular accelerations off by %.2g at 30/s, %.2g at 60/s; spinning at 40 rad/s: %.2g; "
           "five samples: %.2g\n",
           one, two, fast, few);
    ck_assert_double_lt(two, one / 100); /* 256 in the limit, ends included */
    ck_assert_double_lt(few, .1);
    ck_assert_double_lt(fast, 10);
}
END_TEST

START_TEST(filter_has_its_cutoff) { /* 1/sqrt(2) at the cut-off, no lag, slopes kept */
    skel_model *m = one_body();
    const int n = 2401;
    const double rate = 240, cutoff = 6;
    double *x = numbers(7 * (size_t)n);
    for (int k = 0; k < n; ++k) {
        const double t = k / rate;
        x[7 * k] = 3 * t;
        x[7 * k + 1] = sin(SKEL__TURN * cutoff * t);
        /* tumbling fast about z, and a small wave of the cut-off's frequency about x */
        q_to(
            q_mul(q_exp((v3){0, 0, 2 * t}), q_exp((v3){1e-3 * sin(SKEL__TURN * cutoff * t), 0, 0})),
            x + 7 * k + 3);
    }
    skel_inverse *v = inverse_of(m, x, n, rate, cutoff);
    skel_state *s;
    double line = 0, sine = 0, off = 0;
    ck_assert_int_eq(skel_state_create(m, &s, NULL), SKEL_OK);
    for (int k = 480; k < n - 480; ++k) {
        const double t = k / rate, u = sin(SKEL__TURN * cutoff * t);
        ck_assert_int_eq(skel_inverse_get_state(v, k, s, NULL, NULL), SKEL_OK);
        line = fmax(line, fabs(s->x[0].p.x - 3 * t));
        sine = fmax(sine, fabs(s->x[0].p.y - sqrt(.5) * u));
        const v3 e = q_log(q_mul(q_exp((v3){0, 0, -2 * t}), s->x[0].q));
        off = fmax(off, v3_norm(v3_sub(e, (v3){1e-3 * sqrt(.5) * u, 0, 0})));
    }
    printf("filter at its cut-off: line %.2g, wave %.2g, rotation %.2g of 1e-3\n", line, sine, off);
    ck_assert_double_le(line, 1e-9);
    ck_assert_double_le(sine, 1e-6);
    ck_assert_double_le(off, 2e-5); /* the wave's own axes turn by 2 rad/s beside 6 Hz */
    skel_inverse_destroy(v), skel_state_destroy(s), skel_model_destroy(m);
    free(x);
}
END_TEST

/* ---- memory ---- */

START_TEST(memory_is_the_callers) { /* none for a state; whatever fails, nothing is left behind */
    counter c = {0};
    const skel_allocator a = {sizeof a, 0, count_alloc, count_free, &c};
    scene s = scene_chain(5, SKEL_JOINT_HINGE, SKEL_JOINT_BALL, .2, &a);
    double x[12 * 35], still[15] = {0}, torque[16];
    skel_inverse_desc d;
    skel_inverse *v = NULL;
    const long before = c.calls;
    ck_assert_int_eq(skel_inverse_dynamics(s.state, still, still, torque, NULL, NULL, NULL),
                     SKEL_OK);
    ck_assert_int_eq(c.calls, before);
    for (int k = 0; k < 12; ++k) skel_state_get_poses(s.state, x + 35 * k);
    skel_inverse_desc_init(&d);
    d.model = s.model, d.poses = x, d.sample_count = 12, d.cutoff = 3;
    const long live = c.live;
    for (int k = 1; k < 3; ++k) {
        c.calls = 0, c.fail_at = k;
        ck_assert_int_eq(skel_inverse_create(&d, &v, NULL), SKEL_E_MEMORY);
        ck_assert_ptr_null(v);
        ck_assert_int_eq(c.live, live);
    }
    c.fail_at = 0;
    ck_assert_int_eq(skel_inverse_create(&d, &v, NULL), SKEL_OK);
    ck_assert_int_eq(c.live, live + 1);
    skel_inverse_destroy(v);
    scene_free(&s);
    ck_assert_int_eq(c.live, 0);
}
END_TEST

/* ---- refusals ---- */

START_TEST(wrong_calls_are_refused) {
    skel_model *m = one_body();
    double x[7 * 4], nothing[3] = {0}, bad[3] = {0, NAN, 0}, torque[1];
    skel_inverse_desc d;
    skel_inverse *v;
    skel_state *s;
    skel_error err;
    skel_error_init(&err);
    for (int k = 0; k < 4; ++k) memcpy(x + 7 * k, (double[7]){k, 0, 0, 1, 0, 0, 0}, 7 * sizeof *x);
    skel_inverse_desc_init(&d);
    d.model = m, d.poses = x, d.sample_count = 2;
    ck_assert_int_eq(skel_inverse_create(&d, &v, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "sample_count: is 2"));
    ck_assert_ptr_null(v);
    d.sample_count = 4, d.cutoff = 12;
    ck_assert_int_eq(skel_inverse_create(&d, &v, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "cutoff"));
    d.cutoff = 0, x[7 * 2 + 1] = NAN;
    ck_assert_int_eq(skel_inverse_create(&d, &v, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "sample 2"));
    x[7 * 2 + 1] = 0, d.sample_rate = 0;
    ck_assert_int_eq(skel_inverse_create(&d, &v, &err), SKEL_E_ARGUMENT);
    d.sample_rate = 10, d.struct_size = 8;
    ck_assert_int_eq(skel_inverse_create(&d, &v, &err), SKEL_E_STRUCT_SIZE);
    ck_assert_int_eq(skel_state_create(m, &s, NULL), SKEL_OK);
    ck_assert_int_eq(skel_inverse_dynamics(s, bad, nothing, torque, NULL, NULL, &err),
                     SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_inverse_dynamics(s, nothing, nothing, NULL, NULL, NULL, &err),
                     SKEL_E_ARGUMENT);
    skel_state_destroy(s), skel_model_destroy(m);
}
END_TEST

START_TEST(loops_are_refused) {
    skel_body_desc bodies[2];
    skel_joint_desc joints[3];
    skel_model_desc d;
    scene s;
    skel_error err;
    const double a[6] = {0};
    double torque[9];
    skel_error_init(&err);
    skel_model_desc_init(&d);
    for (int k = 0; k < 2; ++k) {
        skel_body_desc_init(&bodies[k]);
        bodies[k].mass = 1, bodies[k].position[0] = k;
        bodies[k].inertia[0] = bodies[k].inertia[1] = bodies[k].inertia[2] = 1;
    }
    for (int k = 0; k < 3; ++k) {
        skel_joint_desc_init(&joints[k]);
        joints[k].type = SKEL_JOINT_BALL, joints[k].parent = k - 1, joints[k].child = k % 2;
        joints[k].parent_position[0] = k == 0 ? 0 : k == 1 ? 1 : 0;
        joints[k].child_position[0] = k == 2 ? 1 : 0;
    }
    joints[2].parent = 1, joints[2].child = 0;
    d.bodies = bodies, d.body_count = 2, d.joints = joints, d.joint_count = 3;
    ck_assert_msg(skel_model_create(&d, &s.model, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_state_create(s.model, &s.state, NULL), SKEL_OK);
    ck_assert_int_eq(skel_inverse_dynamics(s.state, a, a, torque, NULL, NULL, &err),
                     SKEL_E_UNSUPPORTED);
    ck_assert_int_eq(err.joint, 2);
    ck_assert_ptr_nonnull(strstr(err.text, "loop"));
    scene_free(&s);
}
END_TEST

START_TEST(a_summary_that_is_too_small_is_refused) {
    skel_model *m = one_body();
    skel_inverse_summary sum = {.struct_size = sizeof sum};
    double x[7 * 12];
    for (int k = 0; k < 12; ++k)
        memcpy(x + 7 * k, (double[7]){.01 * k * k, 0, 0, 1, 0, 0, 0}, 7 * sizeof *x);
    skel_inverse *v = inverse_of(m, x, 12, 24, 0);
    ck_assert_int_eq(skel_inverse_get_summary(v, &sum), SKEL_OK);
    ck_assert_int_eq(sum.order, 8);
    sum.struct_size -= 8;
    ck_assert_int_eq(skel_inverse_get_summary(v, &sum), SKEL_E_STRUCT_SIZE);
    skel_inverse_destroy(v);
    skel_model_destroy(m);
}
END_TEST

START_TEST(structs_stay_as_they_are) { /* part of the ABI */
    ck_assert_uint_eq(sizeof(skel_inverse_desc), 56);
    ck_assert_uint_eq(offsetof(skel_inverse_desc, cutoff), 40);
    ck_assert_uint_eq(offsetof(skel_inverse_summary, residual_force), 72);
    ck_assert_uint_eq(sizeof(skel_inverse_summary), 104);
    ck_assert_uint_eq(sizeof(skel_inverse_contact), 104);
    ck_assert_uint_eq(offsetof(skel_inverse_contact, force), 64);
    ck_assert_uint_eq(offsetof(skel_inverse_summary, noise), 48);
    ck_assert_uint_eq(sizeof(skel_scene_edit), 80);
    ck_assert_uint_eq(offsetof(skel_scene_edit, has_bake), 56);
    ck_assert_uint_eq(sizeof(skel_flight_desc), 96);
    ck_assert_uint_eq(offsetof(skel_flight_desc, turns), 80);
    ck_assert_uint_eq(sizeof(skel_flight_summary), 120);
    ck_assert_uint_eq(offsetof(skel_flight_summary, iterations), 104);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("inverse");
    TCase *t = tcase_create("all");
    tcase_add_test(t, torques_fed_back_give_the_accelerations);
    tcase_add_loop_test(t, each_joint_type_alone, 0, 5);
    tcase_add_test(t, torque_times_rate_is_the_missing_power);
    tcase_add_test(t, a_held_arm_takes_m_g_l);
    tcase_add_test(t, accelerations_are_the_second_derivative);
    tcase_add_test(t, forward_again_gives_the_motion);
    tcase_add_test(t, keys_at_240_give_the_torques);
    tcase_add_test(t, noise_is_found_and_filtered);
    tcase_add_test(t, rotations_are_differentiated_to_eighth_order);
    tcase_add_test(t, filter_has_its_cutoff);
    tcase_add_test(t, memory_is_the_callers);
    tcase_add_test(t, wrong_calls_are_refused);
    tcase_add_test(t, loops_are_refused);
    tcase_add_test(t, a_summary_that_is_too_small_is_refused);
    tcase_add_test(t, structs_stay_as_they_are);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
