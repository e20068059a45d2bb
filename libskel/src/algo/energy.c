/* SPDX-License-Identifier: BSD-3-Clause */
/* Energy, momentum and how well the joints hold: the receipt of a state, and the tests' oracle. */
#include "algo/algo.h"

#include <string.h>

static void add_body(const skel_state *s, int32_t i, skel_report_row *row, v3 *p, v3 *l) {
    const skel__body *b    = &s->m->body[i];
    const skel__kin  *x    = &s->x[i];
    const v3          spin = m3_mulv(b->inertia, x->w);
    const v3          mv   = v3_scale(x->v, b->mass);
    row->kinetic += 0.5 * (v3_dot(mv, x->v) + v3_dot(spin, x->w));
    row->potential -= b->mass * v3_dot(s->m->gravity, x->p);
    *p = v3_add(*p, mv);
    *l = v3_add(*l, v3_add(v3_cross(x->p, mv), q_rotate(x->q, spin)));
}

static double over(double q, double low, double high) {
    return fmax(fmax(low - q, q - high), 0.0);
}

/* Swing and twist of a ball about the limit axis: cone angle and turn about it. */
static double ball_violation(const skel__joint *j, const double *q) {
    const quat   r     = q_of(q);
    const v3     axis  = j->limit_axis;
    const v3     moved = q_rotate(r, axis);
    const double cone  = atan2(v3_norm(v3_cross(axis, moved)), v3_dot(axis, moved));
    const double sign  = r.w < 0 ? -1.0 : 1.0;
    const double twist = 2.0 * atan2(sign * v3_dot(q_vec(r), axis), sign * r.w);
    return fmax(over(cone, 0, j->limit_high[0]), over(twist, j->limit_low[1], j->limit_high[1]));
}

static double limit_violation(const skel__joint *j, const double *q) {
    if (!j->has_limits) return 0;
    if (j->type == SKEL_JOINT_BALL) return ball_violation(j, q);
    double worst = over(q[0], j->limit_low[0], j->limit_high[0]);
    if (j->type == SKEL_JOINT_UNIVERSAL)
        worst = fmax(worst, over(q[1], j->limit_low[1], j->limit_high[1]));
    return worst;
}

void skel__measure(const skel_state *s, skel_report_row *row) {
    const skel_model *m = s->m;
    v3                p = {0, 0, 0}, l = {0, 0, 0};
    memset(row, 0, sizeof *row);
    row->struct_size = (uint32_t)sizeof *row;
    row->time        = s->t;
    for (int32_t k = 0; k < m->nd; ++k) add_body(s, m->order[k], row, &p, &l);
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        double             q[4];
        const skel__misfit e = skel__joint_measure(j, pose_mul(skel__pose_of(s->x, j->a), j->fa),
                                                   pose_mul(skel__pose_of(s->x, j->b), j->fb), q);
        row->joint_gap       = fmax(row->joint_gap, e.gap);
        row->misalignment    = fmax(row->misalignment, e.angle);
        row->limit_violation = fmax(row->limit_violation, limit_violation(j, q));
    }
    v3_to(p, row->momentum);
    v3_to(l, row->angular_momentum);
    row->work_motor    = s->sum.motor;
    row->work_friction = s->sum.friction;
    row->work_load     = s->sum.load;
    row->work_drive    = s->sum.drive;
    v3_to(s->sum.force, row->impulse);
    v3_to(s->sum.torque, row->angular_impulse);
}
