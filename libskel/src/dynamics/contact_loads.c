/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces where bodies touch grounds and each other [RUD 4.7 with ERRATA R12]. Of a candidate that is
   `depth` deep, u the velocity of i against the other body at the common point:
     N = max(0, a depth^b + d depth')                        along the normal, never pulling;
     f = k xi + e xi',  |f| <= mu N                          along the ground, against i:
   a bristle of stiffness k and damping e holds the place where the candidate touched down (xi, in the
   state's memory) until the cone of friction is full; then its foot slips along f:
     sticks:  xi' = u;     slips:  f = mu N direction(k xi + e u),  xi' = (f - k xi) / e.
   What slips turns f.(u - xi') >= 0 into heat, so no state of it gives energy. Out of touch the
   bristle springs back by itself. */
#include "dynamics/dynamics.h"

int skel__pair_is_far(skel__pair_filter *scan, const skel_model *m, const skel__candidate *p,
                      const skel__kin *x, double margin) {
    if (p->kind == SKEL__CANDIDATE_PLANE) return 0;
    if (scan->begun && scan->i == p->i && scan->j == p->j) return scan->is_far;
    scan->begun = 1, scan->i = p->i, scan->j = p->j;
    scan->is_far =
        skel__pair_distance(m, p->i, p->j, skel__pose_of(x, p->i), skel__pose_of(x, p->j)) > margin;
    return scan->is_far;
}

typedef struct touching {
    v3 point, force; /* common point; force on i */
    v3 slip_rate;    /* xi' */
    double normal_force, power_stored, power_lost;
} touching;

static touching touch_forces(const skel_state *s, const skel__kin *x, const skel__candidate *p,
                             const skel__contact_point *t, v3 xi) {
    const skel__ground *g = &s->m->ground[p->ground];
    const int32_t other = skel__candidate_other(s->m, p);
    const double depth = -t->gap, e = skel__bristle_damping(g);
    touching out = {0};
    /* between two that move, half way; else where i's own surface is */
    const double both = skel__is_dynamic(s->m, p->i) && skel__is_dynamic(s->m, other) ? 0.5 : 0;
    out.point = v3_mad(t->point_i, -(t->radius_i + both * t->gap), t->normal);
    const v3 u =
        v3_sub(skel__velocity_at(s, x, p->i, out.point), skel__velocity_at(s, x, other, out.point));
    const double in = -v3_dot(t->normal, u);
    const double stiff = skel__contact_force(g, depth);
    const v3 along = v3_mad(u, in, t->normal), bent = v3_mad(xi, -v3_dot(xi, t->normal), t->normal);
    const v3 trial = v3_mad(v3_scale(bent, g->stick_k), e, along);
    out.normal_force = fmax(0, stiff + g->d * in);
    const double full = v3_norm(trial), most = g->friction * out.normal_force;
    const v3 f = full > most ? v3_scale(trial, most / full) : trial;
    out.slip_rate = full > most ? v3_scale(v3_mad(f, -g->stick_k, bent), 1.0 / e) : along;
    out.force = v3_mad(v3_neg(f), out.normal_force, t->normal);
    out.power_stored = stiff * in + g->stick_k * v3_dot(bent, out.slip_rate);
    out.power_lost = v3_dot(out.force, u) + out.power_stored;
    return out;
}

v3 skel__contact_law(const skel_state *s, const skel__kin *x, int32_t candidate,
                     const skel__contact_point *t, v3 xi, v3 *point) {
    const touching e = touch_forces(s, x, &s->m->candidate[candidate], t, xi);
    *point = e.point;
    return e.force;
}

/* Force on body i (the other one gets the opposite, or is what takes it). */
static void push_at(skel_state *s, const skel__kin *x, int32_t i, double sign, v3 point, v3 force) {
    const v3 f = v3_scale(force, sign);
    s->contact_wrench[i].f = v3_add(s->contact_wrench[i].f, f);
    s->contact_wrench[i].n = v3_add(s->contact_wrench[i].n, v3_cross(v3_sub(point, x[i].p), f));
}

/* What comes from bodies that do not move by forces: work of drives, and momentum from outside. */
static void account_outside(skel_state *s, const skel__kin *x, int32_t from, v3 point, v3 force) {
    if (skel__is_dynamic(s->m, from)) return;
    s->contact_power.drive += v3_dot(force, skel__velocity_at(s, x, from, point));
    s->contact_power.force = v3_add(s->contact_power.force, force);
    s->contact_power.torque = v3_add(s->contact_power.torque, v3_cross(point, force));
}

void skel__contact_loads(skel_state *s, const skel__kin *x, const double *memory, double *rate) {
    const skel_model *m = s->m;
    v3 sum = {0, 0, 0};
    skel__pair_filter scan = {0};
    for (int32_t k = 0; k < m->ncand; ++k) {
        const skel__candidate *p = &m->candidate[k];
        const int32_t other = skel__candidate_other(m, p);
        const v3 xi = v3_of(memory + p->internal);
        const skel__ground *g = &m->ground[p->ground];
        const int far = skel__pair_is_far(&scan, m, p, x, 0);
        skel__contact_point t = {.gap = INFINITY};
        if (!far) t = skel__contact_point_at(s, x, k);
        /* an edge that the limb has left is nowhere, whatever the mode still says */
        if (!(t.gap < INFINITY) || !skel__contact_is_active(s, k, t.gap)) {
            /* what the bristle still holds turns into heat: k xi . xi' */
            const v3 back = v3_scale(xi, -g->stick_k / skel__bristle_damping(g));
            const double power = g->stick_k * v3_dot(xi, back);
            v3_to(back, rate + p->internal);
            s->contact_power.contact += power;
            s->contact_power.stored += power;
            continue;
        }
        const touching e = touch_forces(s, x, p, &t, xi);
        v3_to(e.slip_rate, rate + p->internal);
        push_at(s, x, p->i, 1.0, e.point, e.force);
        push_at(s, x, other, -1.0, e.point, e.force);
        account_outside(s, x, other, e.point, e.force);
        account_outside(s, x, p->i, e.point, v3_neg(e.force));
        s->contact_power.contact += e.power_lost;
        if (skel__is_ground(m, p)) sum = v3_mad(sum, e.normal_force, t.normal);
    }
    s->ground_force = v3_norm(sum);
}

void skel__contact_measure(const skel_state *s, skel_report_row *row) {
    const skel_model *m = s->m;
    v3 force = {0, 0, 0};
    skel__pair_filter scan = {0};
    for (int32_t k = 0; k < m->ncand; ++k) {
        const skel__candidate *p = &m->candidate[k];
        const skel__ground *g = &m->ground[p->ground];
        const v3 xi = v3_of(s->internal + p->internal);
        row->elastic += 0.5 * g->stick_k * v3_dot(xi, xi);
        if (skel__pair_is_far(&scan, m, p, s->x, 0)) continue;
        skel__contact_point t = skel__contact_point_at(s, s->x, k);
        if (!(t.gap < 0)) continue;
        row->contact_depth = fmax(row->contact_depth, -t.gap);
        row->contacts += 1;
        if (!skel__contact_is_active(s, k, t.gap)) continue;
        t.gap += s->surface_offset[k];
        row->elastic +=
            s->has_stored_energy ? s->stored_energy[k] : skel__contact_energy(g, -t.gap);
        const touching e = touch_forces(s, s->x, p, &t, xi);
        if (skel__is_ground(m, p))
            force = v3_add(force, e.force);
        else if (!skel__is_dynamic(m, p->i))
            force = v3_sub(force, e.force);
    }
    v3_to(force, row->ground_force);
}
