/* SPDX-License-Identifier: BSD-3-Clause */
/* Energy, momenta and joint gaps of a state: its report row, which tests check as well. */
#include "dynamics/dynamics.h"

#include <string.h>

skel__momenta skel__momenta_of(const skel_state *s) {
    skel__momenta sum = {0};
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const skel__body *b = &s->m->body[s->m->order[k]];
        const skel__kin *x = &s->x[s->m->order[k]];
        const v3 spin = m3_mulv(b->inertia, x->w);
        const v3 mv = v3_scale(x->v, b->mass);
        sum.kinetic += 0.5 * (v3_dot(mv, x->v) + v3_dot(spin, x->w));
        sum.p = v3_add(sum.p, mv);
        sum.l = v3_add(sum.l, v3_add(v3_cross(x->p, mv), q_rotate(x->q, spin)));
    }
    return sum;
}

/* Distance of q outside low .. high. */
static double outside(double q, double low, double high) {
    return fmax(fmax(low - q, q - high), 0.0);
}

static double limit_violation(const skel__joint *j, const double *q) {
    if (!j->limits.is_set) return 0;

    double c[2], worst = 0;
    const int32_t n = skel__joint_coordinates(j, q, c);
    for (int32_t k = 0; k < n; ++k)
        worst = fmax(worst, outside(c[k], j->limits.low[k], j->limits.high[k]));
    return worst;
}

/* Energy [J] in the spring, limits and stops of a joint. */
static double stored_in(const skel_state *s, int32_t joint, pose outer, pose inner) {
    const skel__joint *j = &s->m->joint[joint];
    skel__coordinate c[2];
    double sum = 0;
    const int32_t n = skel__coordinates_of(j, outer, inner, c);
    for (int k = 0; k < n; ++k) {
        double inertia = 1;
        if (skel__has_stop(j) && s->has_follow_inertia)
            inertia = skel__joint_force_inertia(s, s->r, joint, c[k].gradient);
        sum += skel__joint_force_at(s, joint, k, c[k].c, 0, inertia, s->t, 0).stored;
    }
    return sum;
}

void skel__measure(const skel_state *s, skel_report_row *row) {
    const skel_model *m = s->m;
    const skel__momenta now = skel__momenta_of(s);
    memset(row, 0, sizeof *row);
    row->struct_size = (uint32_t)sizeof *row;
    row->time = s->t;

    /* Contacts and stops need rotations and angular velocities. */
    if (m->ncand > 0 || m->nstop > 0) skel__prepare(s, s->x);

    /* Potential energy, gaps of the joints and violations of their limits. */
    for (int32_t k = 0; k < m->nd; ++k)
        row->potential -= m->body[m->order[k]].mass * v3_dot(m->gravity, s->x[m->order[k]].p);
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        double q[4];
        const pose outer = pose_mul(skel__pose_of(s->x, j->a), j->fa);
        const pose inner = pose_mul(skel__pose_of(s->x, j->b), j->fb);
        const skel__misfit e = skel__joint_measure(j, outer, inner, q);
        if (skel__joint_has_forces(j)) row->elastic += stored_in(s, k, outer, inner);
        row->joint_gap = fmax(row->joint_gap, e.gap);
        row->misalignment = fmax(row->misalignment, e.angle);
        row->limit_violation = fmax(row->limit_violation, limit_violation(j, q));
    }
    if (m->nw > 0) row->elastic += skel__wobble_energy(s, s->x);
    if (m->ncand > 0) skel__contact_measure(s, row);
    row->potential += row->elastic;

    /* Kinetic energy, momenta, works and impulses. */
    row->kinetic = now.kinetic;
    v3_to(now.p, row->momentum);
    v3_to(now.l, row->angular_momentum);
    row->work_motor = s->sum.motor;
    row->work_friction = s->sum.friction;
    row->work_load = s->sum.load;
    row->work_drive = s->sum.drive;
    row->work_contact = s->sum.contact;
    v3_to(s->sum.force, row->impulse);
    v3_to(s->sum.torque, row->angular_impulse);
}
