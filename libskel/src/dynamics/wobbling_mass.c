/* SPDX-License-Identifier: BSD-3-Clause */
/* Wobbling masses [RUD 4.3] in space. In the axes of the host body, q is the displacement of the soft
   mass from its rest position, with the component l along the axis and t across it, and e is the
   rotation vector of the mass relative to the host:
     force on the mass   -c_l l^3 - d_l l',   -c_t |t|^2 t - d_t t'     (rates in the host's axes)
     torque on the mass  -a e - b (w_mass - w_host)
   The force acts on both at the centre of the mass. The host therefore gets the torque that [RUD]
   calls T_corr [ERRATA R9], momentum is conserved, and the springs have the potential
     V = c_l l^4 / 4 + c_t |t|^4 / 4 + a |e|^2 / 2. */
#include "dynamics/dynamics.h"

/* q, in host axes. */
static v3 displacement(const skel__wobble *w, const skel__kin *x) {
    const v3 apart = v3_sub(x[w->body].p, x[w->host].p);
    return v3_sub(q_rotate(q_conj(x[w->host].q), apart), w->rest);
}

/* e, the same in the axes of the host and of the mass. */
static v3 rotation(const skel__wobble *w, const skel__kin *x) {
    return q_log(q_mul(q_conj(x[w->host].q), x[w->body].q));
}

/* Force on the mass, host axes. */
static v3 force_on_mass(const skel__wobble *w, v3 q, v3 rate) {
    const double l = v3_dot(q, w->axis), v = v3_dot(rate, w->axis);
    const v3 t = v3_mad(q, -l, w->axis), u = v3_mad(rate, -v, w->axis);
    const v3 across = v3_mad(v3_scale(t, w->across_c * v3_dot(t, t)), w->across_d, u);
    return v3_neg(v3_mad(across, w->along_c * l * l * l + w->along_d * v, w->axis));
}

/* V */
static double energy(const skel__wobble *w, const skel__kin *x) {
    const v3 q = displacement(w, x), e = rotation(w, x);
    const double l2 = v3_dot(q, w->axis) * v3_dot(q, w->axis), t2 = fmax(v3_dot(q, q) - l2, 0);
    return 0.25 * (w->along_c * l2 * l2 + w->across_c * t2 * t2) + 0.5 * w->turn_a * v3_dot(e, e);
}

double skel__wobble_energy(const skel_state *s, const skel__kin *x) {
    double sum = 0;
    for (int32_t k = 0; k < s->m->nw; ++k) sum += energy(&s->m->wobble[k], x);
    return sum;
}

void skel__wobble_loads(skel_state *s, const skel__kin *x) {
    for (int32_t k = 0; k < s->m->nw; ++k) {
        const skel__wobble *w = &s->m->wobble[k];
        const int32_t h = w->host, b = w->body;

        /* Rates relative to the host. */
        const v3 arm = v3_sub(x[b].p, x[h].p);
        const v3 slip = v3_sub(x[b].v, skel__velocity_at(s, x, h, x[b].p));
        const v3 rate = m3_tmulv(s->r[h], slip);
        const v3 q = displacement(w, x);
        const v3 spin = v3_sub(s->ww[b], s->ww[h]);

        /* Force and torque on the mass, and the opposite on the host. */
        const v3 f = m3_mulv(s->r[h], force_on_mass(w, q, rate));
        const v3 e = m3_mulv(s->r[h], rotation(w, x));
        const v3 n = v3_mad(v3_scale(e, -w->turn_a), -w->turn_b, spin);
        s->contact_wrench[b].f = v3_add(s->contact_wrench[b].f, f);
        s->contact_wrench[b].n = v3_add(s->contact_wrench[b].n, n);
        s->contact_wrench[h].f = v3_sub(s->contact_wrench[h].f, f);
        s->contact_wrench[h].n = v3_sub(s->contact_wrench[h].n, v3_add(n, v3_cross(arm, f)));

        /* Power of the dampers. */
        const v3 damp = v3_sub(force_on_mass(w, q, rate), force_on_mass(w, q, (v3){0, 0, 0}));
        const double lost = v3_dot(damp, rate) - w->turn_b * v3_dot(spin, spin);
        s->contact_power.friction += lost;
        if (skel__is_dynamic(s->m, h)) continue;

        /* A prescribed host does work, and its force comes from outside. */
        s->contact_power.drive +=
            v3_dot(f, skel__velocity_at(s, x, h, x[b].p)) + v3_dot(n, s->ww[h]);
        s->contact_power.force = v3_add(s->contact_power.force, f);
        s->contact_power.torque = v3_add(s->contact_power.torque, v3_add(n, v3_cross(x[b].p, f)));
    }
}
