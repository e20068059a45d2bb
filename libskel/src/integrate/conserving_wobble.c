/* SPDX-License-Identifier: BSD-3-Clause */
/* Wobbling masses in the energy-momentum step. With d = p_mass - p_host and q = R^T d - rest in the
   axes of the host body,
     q1 - q0 = h Rbar^T (v_mass - v_host - w_host x dbar)          (bars: means of start and end)
   holds exactly. The force Rbar f acts at the mean position of the mass, f being a difference
   quotient of the potential in q:
     f_l = -c_l (l1 + l0)(l1^2 + l0^2) / 4,   f_t = -c_t (|t1|^2 + |t0|^2)(t1 + t0) / 4,
   so the springs return exactly the energy that they store. The dampers add -d (q1 - q0) / h. The
   torque against the relative rotation e is -a times its mean, corrected along the rotation
   D = h (w_mass - w_host) of the step so that its work is a (|e1|^2 - |e0|^2) / 2 exactly. */
#include "integrate/conserving.h"

#define WOBBLE_ROTATION_MIN_SQ 1e-24 /* [rad^2] smaller rotations over a step have no direction */

/* Spring and damper between a mass and its host over the step. */
typedef struct wobble_force {
    v3 force, torque; /* mean, on the mass, world axes */
    v3 f;             /* mean force, host axes */
    m3 stiff;         /* -d f / d q1, host axes */
    v3 d1, dbar;
    double stored, dissipated; /* [J] */
} wobble_force;

static m3 outer(double s, v3 a, v3 b) {
    return m3_sub_outer(m3_zero(), -s, a, b);
}

/* The force by the displacements q0 and q1: l along the axis, t across it. */
static void add_springs(const skel__wobble *w, v3 q0, v3 q1, double h, wobble_force *out) {
    const double l0 = v3_dot(q0, w->axis), l1 = v3_dot(q1, w->axis);
    const v3 t0 = v3_mad(q0, -l0, w->axis), t1 = v3_mad(q1, -l1, w->axis);
    const v3 sum = v3_add(t0, t1), change = v3_sub(t1, t0);
    const double t2 = v3_dot(t0, t0) + v3_dot(t1, t1);
    const double cl = 0.25 * w->along_c, ct = 0.25 * w->across_c;

    const double fl = -cl * (l1 + l0) * (l1 * l1 + l0 * l0) - w->along_d * (l1 - l0) / h;
    const v3 ft = v3_mad(v3_scale(sum, -ct * t2), -w->across_d / h, change);
    out->f = v3_mad(ft, fl, w->axis);

    const double kl = cl * (3.0 * l1 * l1 + 2.0 * l1 * l0 + l0 * l0) + w->along_d / h;
    const double kt = ct * t2 + w->across_d / h;
    out->stiff =
        m3_add(m3_add(outer(kl - kt, w->axis, w->axis), m3_diagonal(kt)), outer(2.0 * ct, sum, t1));

    out->stored += cl * (l1 * l1 * l1 * l1 - l0 * l0 * l0 * l0) +
                   ct * (v3_dot(t1, t1) * v3_dot(t1, t1) - v3_dot(t0, t0) * v3_dot(t0, t0));
    out->dissipated += fl * (l1 - l0) + v3_dot(ft, change);
}

static wobble_force wobble_over_step(const skel_state *s, const skel__wobble *w, double h) {
    const skel__conserving *em = s->integrator->conserving;
    const int32_t b = w->body, a = w->host;
    wobble_force out = {0};

    /* Force of the displacement. */
    const v3 d0 = v3_sub(s->x[b].p, s->x[a].p);
    out.d1 = v3_sub(em->p1[b], em->p1[a]);
    out.dbar = v3_scale(v3_add(d0, out.d1), 0.5);
    const v3 q0 = v3_sub(m3_tmulv(s->r[a], d0), w->rest);
    const v3 q1 = v3_sub(m3_tmulv(em->r1[a], out.d1), w->rest);
    add_springs(w, q0, q1, h, &out);
    const m3 mean = m3_scale(m3_add(s->r[a], em->r1[a]), 0.5);
    out.force = m3_mulv(mean, out.f);

    /* Torque of the relative rotation. */
    const v3 e0 = q_log(q_mul(q_conj(s->x[a].q), s->x[b].q));
    const v3 e1 = q_log(q_mul(q_conj(em->q1[a]), em->q1[b]));
    const v3 ebar = v3_scale(v3_add(m3_mulv(s->r[a], e0), m3_mulv(em->r1[a], e1)), 0.5);
    const v3 rotation = v3_scale(v3_sub(m3_mulv(s->r[b], em->w[b]), m3_mulv(s->r[a], em->w[a])), h);
    const double size = v3_dot(rotation, rotation);
    const double work = 0.5 * (v3_dot(e1, e1) - v3_dot(e0, e0));
    const double correction =
        size > WOBBLE_ROTATION_MIN_SQ ? (work - v3_dot(ebar, rotation)) / size : 0;
    const v3 corrected = v3_mad(ebar, correction, rotation);
    out.torque = v3_mad(v3_scale(corrected, -w->turn_a), -w->turn_b / h, rotation);

    out.stored += w->turn_a * v3_dot(corrected, rotation);
    out.dissipated += v3_dot(out.torque, rotation) + out.stored;
    return out;
}

/* dF = -A (dp_b - dp_a + [d1] theta_a) - [R1 f] theta_a / 2,   A = Rbar stiff R1^T,
   and on the host -F at the arm dbar. The residuals contain minus the impulses. */
static void add_blocks(skel_state *s, const skel__wobble *w, const wobble_force *e, double h) {
    skel__conserving *em = s->integrator->conserving;
    const int32_t b = w->body, a = w->host;
    const int is_host_dynamic = skel__is_dynamic(s->m, a);
    skel__lu_full *to = em->lu[b].full;
    double *bb = em->lu[b].a, *aa = is_host_dynamic ? em->lu[a].a : NULL;
    double *ab = is_host_dynamic ? to->kab : NULL, *ba = is_host_dynamic ? to->kba : NULL;
    to->is_coupled = is_host_dynamic;

    /* Blocks of the force: by dp, and by theta_a. */
    const m3 mean = m3_scale(m3_add(s->r[a], em->r1[a]), 0.5 * h);
    const m3 k = m3_mult(m3_mul(mean, e->stiff), em->r1[a]);
    const m3 by_axes = m3_scale(m3_skew(m3_mulv(em->r1[a], e->f)), 0.5 * h);
    const m3 by_theta = m3_add(m3_mul(k, m3_skew(e->d1)), by_axes);
    skel__conserving_add3(bb, 0, 0, k);
    skel__conserving_add3(ba, 0, 0, m3_scale(k, -1.0));
    skel__conserving_add3(ba, 0, 3, by_theta);
    skel__conserving_add3(ab, 0, 0, m3_scale(k, -1.0));
    skel__conserving_add3(aa, 0, 0, k);
    skel__conserving_add3(aa, 0, 3, m3_scale(by_theta, -1.0));

    /* Moment of the force on the host, with the change of its arm. */
    const m3 arm = m3_skew(e->dbar), by_arm = m3_scale(m3_skew(e->force), 0.5 * h);
    const m3 moment = m3_add(m3_mul(arm, k), by_arm);
    skel__conserving_add3(ab, 3, 0, m3_scale(moment, -1.0));
    skel__conserving_add3(aa, 3, 0, moment);
    skel__conserving_add3(aa, 3, 3, m3_scale(m3_mul(arm, by_theta), -1.0));

    /* Torque of the relative rotation. */
    const m3 torsion = m3_diagonal(h * (0.5 * w->turn_a) + w->turn_b);
    skel__conserving_add3(bb, 3, 3, torsion);
    skel__conserving_add3(ba, 3, 3, m3_scale(torsion, -1.0));
    skel__conserving_add3(ab, 3, 3, m3_scale(torsion, -1.0));
    skel__conserving_add3(aa, 3, 3, torsion);
}

void skel__conserving_wobbles_add(skel_state *s, double h, int with_derivatives) {
    skel__conserving *em = s->integrator->conserving;

    for (int32_t k = 0; k < s->m->nw; ++k) {
        const skel__wobble *w = &s->m->wobble[k];
        const wobble_force e = wobble_over_step(s, w, h);
        const int32_t b = w->body, a = w->host;

        em->j_lin[b] = v3_mad(em->j_lin[b], h, e.force);
        em->j_ang[b] = v3_mad(em->j_ang[b], h, e.torque);
        em->j_lin[a] = v3_mad(em->j_lin[a], -h, e.force);
        em->j_ang[a] = v3_mad(em->j_ang[a], -h, v3_add(e.torque, v3_cross(e.dbar, e.force)));
        if (with_derivatives) add_blocks(s, w, &e, h);
    }
}

void skel__conserving_wobbles_account(const skel_state *s, double h, skel__power *sum) {
    const skel__conserving *em = s->integrator->conserving;

    for (int32_t k = 0; k < s->m->nw; ++k) {
        const skel__wobble *w = &s->m->wobble[k];
        const wobble_force e = wobble_over_step(s, w, h);
        sum->friction += e.dissipated;
        sum->stored += e.stored;

        /* A host that is prescribed exerts a force from outside. */
        if (skel__is_dynamic(s->m, w->host)) continue;
        const v3 point = skel__mean_centre(s, em, w->body);
        const v3 spin = m3_mulv(s->r[w->host], em->w[w->host]);
        const v3 v = v3_add(em->vbar[w->host], v3_cross(spin, e.dbar));
        sum->drive += h * (v3_dot(e.force, v) + v3_dot(e.torque, spin));
        sum->force = v3_mad(sum->force, h, e.force);
        sum->torque = v3_mad(sum->torque, h, v3_add(e.torque, v3_cross(point, e.force)));
    }
}
