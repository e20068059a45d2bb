/* SPDX-License-Identifier: BSD-3-Clause */
/* Applied forces: gravity, external force and torque [ERRATA H10], the gyroscopic term, and the
   joint's friction and motor, e_j = -mu (w_a - w_b) + beta z on body a, -e_j on body b [HAK e_j].
   Also the powers of these forces and of the driven bodies. */
#include "dynamics/dynamics.h"
#include "model/joint_kind.h"

#include <string.h>

v3 skel__vector_at(v3 constant, const skel_curve *curve, int is_smooth, double t) {
    double out[3];
    v3_to(constant, out);
    if (is_smooth)
        skel__curve_add_smooth(curve, t, out);
    else
        skel__curve_add(curve, t, out);
    return v3_of(out);
}

skel__wrench skel__load_at(const skel__body *b, double t) {
    return (skel__wrench){skel__vector_at(b->force, &b->force_curve, b->is_smooth, t),
                          skel__vector_at(b->torque, &b->torque_curve, b->is_smooth, t)};
}

/* Whether the joint exerts forces besides its constraint. */
static int has_load(const skel__joint *j) {
    return j->friction != 0 || j->motor != 0 || j->motor_curve.count > 0 ||
           j->follow.frequency > 0 || skel__joint_has_forces(j);
}

double skel__motor_at(const skel__joint *j, double t) {
    double beta = j->motor;
    if (j->is_smooth)
        skel__curve_add_smooth(&j->motor_curve, t, &beta);
    else
        skel__curve_add(&j->motor_curve, t, &beta);
    return beta;
}

/* Torque (along lengths: force) of limits, spring and muscle on b at the prepared pose. Adds their
   powers to s->contact_power, and writes the rate of the muscle's torque to s->internal_rate_now.
   */
static v3 joint_force_on_b(skel_state *s, const skel__kin *x, int32_t joint, double t,
                           const skel__joint_world *g) {
    const skel__joint *j = &s->m->joint[joint];
    const v3 rate = skel__is_length(j->type, 0) ? skel__joint_slip(s, x, j, g)
                                                : v3_sub(s->ww[j->b], s->ww[j->a]);
    skel__coordinate c[2];
    const int32_t n = skel__coordinates_of(j, pose_mul(skel__pose_of(x, j->a), j->fa),
                                           pose_mul(skel__pose_of(x, j->b), j->fb), c);

    v3 sum = {0, 0, 0};
    for (int k = 0; k < n; ++k) {
        const double inertia =
            skel__has_stop(j) ? skel__joint_force_inertia(s, s->r, joint, c[k].gradient) : 1;
        const double speed = v3_dot(c[k].gradient, rate);
        const double q = j->muscle_index >= 0 ? s->internal_now[j->muscle_index] : 0;
        const skel__joint_force e = skel__joint_force_at(s, joint, k, c[k].c, speed, inertia, t, q);

        sum = v3_mad(sum, e.force, c[k].gradient);
        s->contact_power.friction += e.friction;
        s->contact_power.motor += e.motor;
        if (k == 0 && j->muscle_index >= 0) s->internal_rate_now[j->muscle_index] = e.internal;
    }
    return sum;
}

/* Wrench of friction, motor, follow spring and joint forces on b about b's joint point; a gets the
   opposite there. */
static skel__wrench pair_of(skel_state *s, const skel__kin *x, int32_t joint, double t,
                            skel__side side) {
    const skel__joint *j = &s->m->joint[joint];
    skel__wrench sum = {{0, 0, 0}, {0, 0, 0}};
    if (!has_load(j)) return sum;

    /* Follow spring; limits, spring and muscle. */
    const skel__joint_world g = skel__joint_at(s, x, j);
    if (j->follow.frequency > 0) sum = skel__follow_load(s, x, joint, t, side);
    if (skel__joint_has_forces(j)) {
        v3 *part = skel__is_length(j->type, 0) ? &sum.f : &sum.n;
        s->pair_joint_force[joint] = joint_force_on_b(s, x, joint, t, &g);
        *part = v3_add(*part, s->pair_joint_force[joint]);
    }

    /* Friction and motor along displacements. Only joints with one coordinate have a motor. */
    const double beta = skel__motor_at(j, t);
    for (int k = 0; k < skel__length_count(j->type); ++k) {
        const v3 axis = skel__joint_column_of(j, g.ea, g.eb, k).axis;
        const double speed = v3_dot(skel__joint_slip(s, x, j, &g), axis);
        sum.f = v3_mad(sum.f, -j->friction * speed - beta, axis);
    }
    if (!skel__has_rotations(j->type)) return sum;

    /* And about axes. */
    const v3 spin = v3_sub(s->ww[j->b], s->ww[j->a]);
    sum.n = v3_mad(v3_mad(sum.n, -j->friction, spin), -beta, g.ea[2]);
    return sum;
}

/* Adds the wrench e of the joint to b, and its opposite to a. */
static void apply_pair(skel_state *s, const skel__kin *x, const skel__joint *j, skel__wrench e) {
    s->f[j->a].n = v3_sub(s->f[j->a].n, e.n);
    s->f[j->b].n = v3_add(s->f[j->b].n, e.n);
    if (skel__length_count(j->type) == 0) return;

    const skel__joint_world g = skel__joint_at(s, x, j);
    s->f[j->a].f = v3_sub(s->f[j->a].f, e.f);
    s->f[j->a].n = v3_sub(s->f[j->a].n, v3_cross(v3_sub(g.ra, g.gap), e.f));
    s->f[j->b].f = v3_add(s->f[j->b].f, e.f);
    s->f[j->b].n = v3_add(s->f[j->b].n, v3_cross(g.rb, e.f));
}

/* Adds wobbling masses and, if asked for, contacts to s->f. */
static void add_contacts(skel_state *s, const skel__kin *x, int with_contacts) {
    const skel_model *m = s->m;
    s->contact_power = (skel__power){0};
    s->ground_force = 0;
    if (m->ncand == 0 && m->nw == 0) return;

    memset(s->contact_wrench - 1, 0, ((size_t)m->na + 1) * sizeof *s->contact_wrench);
    skel__wobble_loads(s, x);
    if (with_contacts) skel__contact_loads(s, x, s->internal_now, s->internal_rate_now);

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        s->f[i].f = v3_add(s->f[i].f, s->contact_wrench[i].f);
        s->f[i].n = v3_add(s->f[i].n, s->contact_wrench[i].n);
    }
}

static void add_loads(skel_state *s, const skel__kin *x, double t, skel__side side,
                      int with_contacts) {
    const skel_model *m = s->m;

    /* Loads, fields, gravity, and the gyroscopic torque J w x w. */
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__body *b = &m->body[i];
        const v3 spin = m3_mulv(b->inertia, x[i].w);
        s->load[i] = skel__load_at(b, t);
        if (m->nf > 0 || m->has_frame) skel__field_add(m, i, &x[i], t, side, &s->load[i]);
        s->f[i].f = v3_mad(s->load[i].f, b->mass, m->gravity);
        s->f[i].n = v3_add(s->load[i].n, m3_mulv(s->r[i], v3_cross(spin, x[i].w)));
    }
    add_contacts(s, x, with_contacts);

    /* Joints act on the world and on prescribed bodies too; those entries are not read. */
    s->f[-1] = (skel__wrench){0};
    for (int32_t k = 0; k < m->np; ++k) s->f[m->prescribed[k]] = (skel__wrench){0};
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        s->pair[k] = pair_of(s, x, k, t, side);
        if (has_load(j)) apply_pair(s, x, j, s->pair[k]);
    }
}

void skel__loads(skel_state *s, const skel__kin *x, double t, skel__side side) {
    add_loads(s, x, t, side, 1);
}

void skel__loads_without_contacts(skel_state *s, const skel__kin *x, double t, skel__side side) {
    add_loads(s, x, t, side, 0);
}

void skel__reactions(skel_state *s, const skel__kin *x) {
    const skel_model *m = s->m;

    /* m a - f and I alpha - n of every body. */
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const m3 world = m3_conjugate(s->r[i], m->body[i].inertia);
        s->reaction[i].f = v3_sub(v3_scale(s->acc[i].v, m->body[i].mass), s->f[i].f);
        s->reaction[i].n = v3_sub(m3_mulv(world, s->acc[i].w), s->f[i].n);
    }

    /* Sum over the subtrees, children before parents. */
    for (int32_t k = m->nd - 1; k >= 0; --k) {
        const int32_t i = m->order[k], p = m->body[i].parent;
        if (!m->body[i].is_inner) continue;

        const v3 arm = v3_sub(x[i].p, x[p].p);
        s->reaction[p].f = v3_add(s->reaction[p].f, s->reaction[i].f);
        s->reaction[p].n =
            v3_add(s->reaction[p].n, v3_add(s->reaction[i].n, v3_cross(arm, s->reaction[i].f)));
    }
}

/* Adds force, torque and power that body i receives from its tree parent if that is the world,
   fixed or driven: reaction of the joint plus its friction and motor. */
static void add_anchor(const skel_state *s, const skel__kin *x, int32_t i, skel__power *w) {
    const int32_t p = s->m->body[i].parent;
    const skel__joint *j = &s->m->joint[s->m->body[i].joint];
    const skel__wrench e = s->pair[s->m->body[i].joint];
    const skel__joint_world g = skel__joint_at(s, x, j);
    const double sign = j->reversed ? -1.0 : 1.0; /* e acts on b */
    const v3 point = v3_add(x[j->b].p, g.rb);
    const v3 arm = v3_sub(point, x[i].p);
    const v3 f = v3_mad(s->reaction[i].f, sign, e.f);

    /* Torque on i about its centre of mass, then about the origin of the world. */
    const v3 n = v3_add(v3_mad(s->reaction[i].n, sign, e.n), v3_scale(v3_cross(arm, e.f), sign));
    w->force = v3_add(w->force, f);
    w->torque = v3_add(w->torque, v3_add(n, v3_cross(x[i].p, f)));

    /* The parent is a rigid body: power = f . (its velocity at i's centre of mass) + n . w. */
    const v3 v = v3_add(x[p].v, v3_cross(s->ww[p], v3_sub(x[i].p, x[p].p)));
    w->drive += v3_dot(f, v) + v3_dot(n, s->ww[p]);
}

/* The same for a loop joint whose one body is the world, fixed or driven. */
static void add_loop_anchor(const skel_state *s, const skel__kin *x, int32_t loop, skel__power *w) {
    const skel__joint *j = &s->m->joint[s->loop_joint[loop]];
    const int32_t ends[2] = {j->a, j->b};
    for (int e = 0; e < 2; ++e) {
        const int32_t i = ends[e], p = ends[1 - e];
        if (skel__is_dynamic(s->m, p)) continue;

        const skel__wrench l = s->loop_wrench[2 * loop + e];
        const v3 v = v3_add(x[p].v, v3_cross(s->ww[p], v3_sub(x[i].p, x[p].p)));
        w->force = v3_add(w->force, l.f);
        w->torque = v3_add(w->torque, v3_add(l.n, v3_cross(x[i].p, l.f)));
        w->drive += v3_dot(l.f, v) + v3_dot(l.n, s->ww[p]);
    }
}

skel__power skel__power_of(skel_state *s, const skel__kin *x) {
    const skel_model *m = s->m;
    skel__power w = s->contact_power;
    skel__reactions(s, x);

    /* Loads, and forces from outside. */
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const v3 f = v3_mad(s->load[i].f, m->body[i].mass, m->gravity);
        w.load += v3_dot(s->load[i].f, x[i].v) + v3_dot(s->load[i].n, s->ww[i]);
        w.force = v3_add(w.force, f);
        w.torque = v3_add(w.torque, v3_add(s->load[i].n, v3_cross(x[i].p, f)));
        if (m->body[i].joint >= 0 && !m->body[i].is_inner) add_anchor(s, x, i, &w);
    }
    for (int32_t k = 0; k < s->nloop; ++k) add_loop_anchor(s, x, k, &w);

    /* Friction and motors of joints. Joint forces are part of contact_power already. */
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        if (!has_load(j)) continue;

        const skel__joint_world g = skel__joint_at(s, x, j);
        const v3 spin = v3_sub(s->ww[j->b], s->ww[j->a]);
        const v3 slip = skel__joint_slip(s, x, j, &g);
        const int lengths = skel__length_count(j->type);
        double square = skel__has_rotations(j->type) ? v3_dot(spin, spin) : 0;
        for (int c = 0; c < lengths; ++c) {
            const double along = v3_dot(slip, skel__joint_column_of(j, g.ea, g.eb, c).axis);
            square += along * along;
        }

        const double total = v3_dot(s->pair[k].n, spin) + v3_dot(s->pair[k].f, slip) -
                             v3_dot(s->pair_joint_force[k], lengths > 0 ? slip : spin);
        const double friction = -j->friction * square;
        w.friction += friction;
        w.motor += total - friction;
    }
    return w;
}
