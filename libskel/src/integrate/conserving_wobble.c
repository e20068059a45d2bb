/* SPDX-License-Identifier: BSD-3-Clause */
/* Wobbling masses in the energy-momentum step. With d = p_mass - p_host and q = R^T d - rest in the
   host's axes,
     q1 - q0 = h Rbar^T (v_mass - v_host - w_host x dbar)          (bars: means of start and end)
   holds exactly, so a force Rbar f at the mass's mean place, f a difference quotient of the
   potential in q, takes and gives back what the springs store:
     f_l = -c_l (l1 + l0)(l1^2 + l0^2) / 4,   f_t = -c_t (|t1|^2 + |t0|^2)(t1 + t0) / 4,
   dampers  -d (q1 - q0) / h. The torque against the turn e is -a times its mean, corrected along
   the turn D = h (w_mass - w_host) to give a (|e1|^2 - |e0|^2) / 2 exactly. */
#include "integrate/conserving.h"

typedef struct bond {
    v3     force, torque; /* mean, on the mass, world axes */
    m3     stiff;         /* d f / d q1, host axes, times -1 */
    v3     f;             /* host axes */
    v3     d1, dbar;
    double stored, lost;
} bond;

static m3 outer(double s, v3 a, v3 b) {
    return m3_sub_outer(m3_zero(), -s, a, b);
}

static void springs(const skel__wobble *w, v3 q0, v3 q1, double h, bond *out) {
    const double l0 = v3_dot(q0, w->axis), l1 = v3_dot(q1, w->axis);
    const v3     t0 = v3_mad(q0, -l0, w->axis), t1 = v3_mad(q1, -l1, w->axis);
    const v3     sum = v3_add(t0, t1), u = v3_sub(t1, t0);
    const double s2 = v3_dot(t0, t0) + v3_dot(t1, t1), cl = 0.25 * w->along_c,
                 ct = 0.25 * w->across_c;
    const double fl = -cl * (l1 + l0) * (l1 * l1 + l0 * l0) - w->along_d * (l1 - l0) / h;
    const v3     ft = v3_mad(v3_scale(sum, -ct * s2), -w->across_d / h, u);
    const double kl = cl * (3.0 * l1 * l1 + 2.0 * l1 * l0 + l0 * l0) + w->along_d / h;
    const double kt = ct * s2 + w->across_d / h;
    out->f          = v3_mad(ft, fl, w->axis);
    out->stiff =
        m3_add(m3_add(outer(kl - kt, w->axis, w->axis), m3_diagonal(kt)), outer(2.0 * ct, sum, t1));
    out->stored += cl * (l1 * l1 * l1 * l1 - l0 * l0 * l0 * l0) +
                   ct * (v3_dot(t1, t1) * v3_dot(t1, t1) - v3_dot(t0, t0) * v3_dot(t0, t0));
    out->lost += fl * (l1 - l0) + v3_dot(ft, u);
}

static bond bond_of(const skel_state *s, const skel__wobble *w, double h) {
    const skel__conserving *em = s->em;
    const int32_t           b = w->body, a = w->host;
    bond                    out = {0};
    const v3                d0  = v3_sub(s->x[b].p, s->x[a].p);
    out.d1                      = v3_sub(em->p1[b], em->p1[a]);
    out.dbar                    = v3_scale(v3_add(d0, out.d1), 0.5);
    springs(w, v3_sub(m3_tmulv(s->r[a], d0), w->rest), v3_sub(m3_tmulv(em->r1[a], out.d1), w->rest),
            h, &out);
    const m3 mean     = m3_scale(m3_add(s->r[a], em->r1[a]), 0.5);
    out.force         = m3_mulv(mean, out.f);
    const v3     e0   = q_log(q_mul(q_conj(s->x[a].q), s->x[b].q));
    const v3     e1   = q_log(q_mul(q_conj(em->q1[a]), em->q1[b]));
    const v3     ebar = v3_scale(v3_add(m3_mulv(s->r[a], e0), m3_mulv(em->r1[a], e1)), 0.5);
    const v3     turn = v3_scale(v3_sub(m3_mulv(s->r[b], em->w[b]), m3_mulv(s->r[a], em->w[a])), h);
    const double size = v3_dot(turn, turn), dv = 0.5 * (v3_dot(e1, e1) - v3_dot(e0, e0));
    const double fix  = size > 1e-24 ? (dv - v3_dot(ebar, turn)) / size : 0;
    const v3     pull = v3_mad(ebar, fix, turn);
    out.torque        = v3_mad(v3_scale(pull, -w->turn_a), -w->turn_b / h, turn);
    out.stored += w->turn_a * v3_dot(pull, turn);
    out.lost += v3_dot(out.torque, turn) + out.stored;
    return out;
}

/* dF = -A (dp_b - dp_a + [d1] theta_a) - [R1 f] theta_a / 2, A = Rbar stiff R1^T; on the host -F at
   the arm dbar. The equations hold minus the impulses. */
static void add_blocks(skel_state *s, const skel__wobble *w, const bond *e, double h) {
    skel__conserving *em = s->em;
    const int32_t     b = w->body, a = w->host;
    const int         free = skel__is_dynamic(s->m, a);
    double           *bb = em->lu[b].a, *aa = free ? em->lu[a].a : NULL;
    skel__lu_full    *to = em->lu[b].full;
    double           *ab = free ? to->kab : NULL, *ba = free ? to->kba : NULL;
    const m3          mean = m3_scale(m3_add(s->r[a], em->r1[a]), 0.5 * h);
    const m3          k    = m3_mult(m3_mul(mean, e->stiff), em->r1[a]);
    const m3          lean = m3_scale(m3_skew(m3_mulv(em->r1[a], e->f)), 0.5 * h);
    const m3          turn = m3_add(m3_mul(k, m3_skew(e->d1)), lean); /* -dF by theta_a */
    const m3          x = m3_skew(e->dbar), half = m3_scale(m3_skew(e->force), 0.5 * h);
    const m3          xk   = m3_add(m3_mul(x, k), half);
    const m3          hold = m3_diagonal(h * (0.5 * w->turn_a) + w->turn_b);
    to->is_coupled         = free;
    skel__conserving_add3(bb, 0, 0, k), skel__conserving_add3(ba, 0, 0, m3_scale(k, -1.0)),
        skel__conserving_add3(ba, 0, 3, turn);
    skel__conserving_add3(ab, 0, 0, m3_scale(k, -1.0)), skel__conserving_add3(aa, 0, 0, k),
        skel__conserving_add3(aa, 0, 3, m3_scale(turn, -1.0));
    skel__conserving_add3(ab, 3, 0, m3_scale(xk, -1.0)), skel__conserving_add3(aa, 3, 0, xk);
    skel__conserving_add3(aa, 3, 3, m3_scale(m3_mul(x, turn), -1.0));
    skel__conserving_add3(bb, 3, 3, hold), skel__conserving_add3(ba, 3, 3, m3_scale(hold, -1.0));
    skel__conserving_add3(ab, 3, 3, m3_scale(hold, -1.0)), skel__conserving_add3(aa, 3, 3, hold);
}

void skel__conserving_wobbles_add(skel_state *s, double h, int build) {
    skel__conserving *em = s->em;
    for (int32_t k = 0; k < s->m->nw; ++k) {
        const skel__wobble *w = &s->m->wobble[k];
        const bond          e = bond_of(s, w, h);
        const int32_t       b = w->body, a = w->host;
        em->jl[b] = v3_mad(em->jl[b], h, e.force);
        em->ja[b] = v3_mad(em->ja[b], h, e.torque);
        em->jl[a] = v3_mad(em->jl[a], -h, e.force);
        em->ja[a] = v3_mad(em->ja[a], -h, v3_add(e.torque, v3_cross(e.dbar, e.force)));
        if (build) add_blocks(s, w, &e, h);
    }
}

void skel__conserving_wobbles_account(const skel_state *s, double h, skel__power *sum) {
    const skel__conserving *em = s->em;
    for (int32_t k = 0; k < s->m->nw; ++k) {
        const skel__wobble *w = &s->m->wobble[k];
        const bond          e = bond_of(s, w, h);
        sum->friction += e.lost;
        sum->stored += e.stored;
        if (skel__is_dynamic(s->m, w->host)) continue;
        const v3 point = v3_scale(v3_add(s->x[w->body].p, em->p1[w->body]), 0.5);
        const v3 spin  = m3_mulv(s->r[w->host], em->w[w->host]);
        const v3 v     = v3_add(em->vbar[w->host], v3_cross(spin, e.dbar));
        sum->drive += h * (v3_dot(e.force, v) + v3_dot(e.torque, spin));
        sum->force  = v3_mad(sum->force, h, e.force);
        sum->torque = v3_mad(sum->torque, h, v3_add(e.torque, v3_cross(point, e.force)));
    }
}
