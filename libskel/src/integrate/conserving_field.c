/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields and the moving frame in the energy-momentum step: they act as they do at the mean state.
   The work of the impulse is then that of the force at the mean velocities, so that air takes
   energy and the parts of the frame at right angles to the motion do no work, at any step. */
#include "integrate/conserving.h"

/* Half the turn from q0 to q1 = q0 (1, h W / 2) / n. It is about W: in the axes of its end, too,
   the mean spin is W. */
static skel__kin mean_state(const skel_state *s, const skel__conserving *em, int32_t i) {
    const skel__kin *x = &s->x[i];
    const quat       q = {x->q.w + em->q1[i].w, x->q.x + em->q1[i].x, x->q.y + em->q1[i].y,
                          x->q.z + em->q1[i].z};
    return (skel__kin){v3_scale(v3_add(x->p, em->p1[i]), 0.5), q_unit(q), em->vbar[i], em->w[i]};
}

void skel__conserving_field(const skel_state *s, const skel__conserving *em, int32_t i, double h,
                            v3 *force, v3 *torque) {
    skel__wrench    w = {{0, 0, 0}, {0, 0, 0}};
    const skel__kin x = mean_state(s, em, i);
    skel__field_add(s->m, i, &x, s->t + 0.5 * h, SKEL__AFTER, &w);
    *force  = v3_mad(*force, h, w.f);
    *torque = v3_mad(*torque, h, w.n);
}

/* How half the turn changes with the whole one: theta / 2 + theta x tau / 2, tau the tangent of a
   quarter of the turn along its axis, from the quaternion that leads from the middle to the end. */
static m3 half_turn_derivative(const skel__conserving *em, int32_t i, quat middle) {
    const quat rest = q_mul(em->q1[i], q_conj(middle));
    return m3_scale(m3_sub(m3_identity(), m3_skew(v3_scale(q_vec(rest), 1.0 / rest.w))), 0.5);
}

/* By (dp, theta) of the end pose: the mean position moves by dp / 2, vbar by dp / h. */
void skel__conserving_field_derivative(const skel_state *s, const skel__conserving *em, int32_t i,
                                       double h, double *block) {
    const double    t           = s->t + 0.5 * h;
    double          by_rate[36] = {0}, by_pose[36] = {0};
    const skel__kin x    = mean_state(s, em, i);
    const m3        spin = skel__spin_derivative(s, em, i, h);
    const m3        half = half_turn_derivative(em, i, x.q);
    skel__field_rate_derivative(s->m, i, &x, t, SKEL__AFTER, by_rate);
    skel__field_pose_derivative(s->m, i, &x, t, SKEL__AFTER, by_pose);
    for (int r = 0; r < 6; ++r) {
        const double *rate = by_rate + 6 * r, *at = by_pose + 6 * r;
        const v3      turn = v3_add(m3_tmulv(spin, v3_of(rate + 3)), m3_tmulv(half, v3_of(at + 3)));
        double       *to   = block + wide6_at(r, 0);
        for (int c = 0; c < 3; ++c) to[4 * c] -= rate[c] + 0.5 * h * at[c];
        to[12] -= h * turn.x, to[16] -= h * turn.y, to[20] -= h * turn.z;
    }
}
