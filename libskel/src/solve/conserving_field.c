/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields and the moving frame in the energy-momentum step: they act as they do at the mean state.
   The work of the impulse is then that of the force at the mean velocities, so that air takes
   energy and the parts of the frame at right angles to the motion do no work, at any step. */
#include "solve/conserving.h"

static int has_field(const skel_model *m) {
    return m->nf > 0 || m->has_frame;
}

/* Half the turn from q0 to q1 = q0 (1, h W / 2) / n. It is about W: in the axes of its end, too,
   the mean spin is W. */
static skel__kin mean_state(const skel_state *s, const skel__em *em, int32_t i) {
    const skel__kin *x = &s->x[i];
    const quat       q = {x->q.w + em->q1[i].w, x->q.x + em->q1[i].x, x->q.y + em->q1[i].y,
                          x->q.z + em->q1[i].z};
    return (skel__kin){v3_scale(v3_add(x->p, em->p1[i]), 0.5), q_unit(q), em->vbar[i], em->w[i]};
}

void skel__em_field(const skel_state *s, const skel__em *em, int32_t i, double h, v3 *force,
                    v3 *torque) {
    skel__wrench w = {{0, 0, 0}, {0, 0, 0}};
    if (!has_field(s->m)) return;
    const skel__kin x = mean_state(s, em, i);
    skel__field_add(s->m, i, &x, s->t + 0.5 * h, SKEL__AFTER, &w);
    *force  = v3_mad(*force, h, w.f);
    *torque = v3_mad(*torque, h, w.n);
}

/* By (dp, theta) of the end pose: d vbar = dp / h. What the pose itself changes is left to the
   iteration: it is smaller by the change of the field over a step. */
void skel__em_field_derivative(const skel_state *s, const skel__em *em, int32_t i, double h,
                               double *block) {
    double d[36] = {0};
    if (!has_field(s->m)) return;
    const skel__kin x    = mean_state(s, em, i);
    const m3        spin = skel__spin_derivative(s, em, i, h);
    skel__field_rate_derivative(s->m, i, &x, s->t + 0.5 * h, SKEL__AFTER, d);
    for (int r = 0; r < 6; ++r) {
        const v3 by_spin = m3_tmulv(spin, v3_of(d + 6 * r + 3));
        double  *row     = block + 6 * r;
        for (int c = 0; c < 3; ++c) row[c] -= d[6 * r + c];
        row[3] -= h * by_spin.x, row[4] -= h * by_spin.y, row[5] -= h * by_spin.z;
    }
}
