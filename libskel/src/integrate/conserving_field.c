/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields and the moving frame in the energy-momentum step. They are evaluated at the mean state of
   a body. The work of their impulse is then that of the force at the mean velocities. So drag
   dissipates energy at any step length, and the parts of the frame's forces that are perpendicular
   to the motion do no work. */
#include "integrate/conserving.h"

/* Mean position and half the rotation from q0 to q1 = q0 (1, h W / 2) / n. The rotation is about W,
   so the mean angular velocity is W in the axes of the mean orientation, too. */
static skel__kin mean_state(const skel_state *s, const skel__conserving *em, int32_t i) {
    const skel__kin *x = &s->x[i];
    const quat q = {x->q.w + em->q1[i].w, x->q.x + em->q1[i].x, x->q.y + em->q1[i].y,
                    x->q.z + em->q1[i].z};
    return (skel__kin){skel__mean_centre(s, em, i), q_unit(q), em->vbar[i], em->w[i]};
}

void skel__conserving_field(const skel_state *s, const skel__conserving *em, int32_t i, double h,
                            v3 *force, v3 *torque) {
    skel__wrench w = {{0, 0, 0}, {0, 0, 0}};
    const skel__kin x = mean_state(s, em, i);
    skel__field_add(s->m, i, &x, s->t + 0.5 * h, SKEL__AFTER, &w);
    *force = v3_mad(*force, h, w.f);
    *torque = v3_mad(*torque, h, w.n);
}

/* Rotation of the mean orientation by a rotation theta of the end pose: theta / 2 + theta x tau /
   2. tau is the tangent of a quarter of the whole angle along its axis, from the quaternion that
   leads from the middle to the end. */
static m3 half_rotation_derivative(const skel__conserving *em, int32_t i, quat middle) {
    const quat second_half = q_mul(em->q1[i], q_conj(middle));
    const v3 tau = v3_scale(q_vec(second_half), 1.0 / second_half.w);
    return m3_scale(m3_sub(m3_identity(), m3_skew(tau)), 0.5);
}

/* By (dp, theta) of the end pose: the mean position moves by dp / 2, vbar by dp / h. */
void skel__conserving_field_derivative(const skel_state *s, const skel__conserving *em, int32_t i,
                                       double h, double *block) {
    const double t = s->t + 0.5 * h;
    double by_velocity[36] = {0}, by_pose[36] = {0};
    const skel__kin x = mean_state(s, em, i);
    const m3 spin = skel__spin_derivative(s, em, i, h);
    const m3 half = half_rotation_derivative(em, i, x.q);
    skel__field_rate_derivative(s->m, i, &x, t, SKEL__AFTER, by_velocity);
    skel__field_pose_derivative(s->m, i, &x, t, SKEL__AFTER, by_pose);

    for (int r = 0; r < 6; ++r) {
        const double *velocity = by_velocity + 6 * r, *at_pose = by_pose + 6 * r;
        const v3 rotation =
            v3_add(m3_tmulv(spin, v3_of(velocity + 3)), m3_tmulv(half, v3_of(at_pose + 3)));

        double *to = block + wide6_at(r, 0);
        for (int c = 0; c < 3; ++c) to[4 * c] -= velocity[c] + 0.5 * h * at_pose[c];
        to[12] -= h * rotation.x;
        to[16] -= h * rotation.y;
        to[20] -= h * rotation.z;
    }
}
