/* SPDX-License-Identifier: BSD-3-Clause */
/* Forces of contacts with grounds and between bodies [RUD 4.7 with ERRATA R12]. With the penetration
   `depth` of a candidate and u the velocity of body i relative to the other body at the contact:
     N = max(0, a depth^b + d depth')        normal force, never pulling;
     f = k xi + e xi',  |f| <= mu N          tangential force, directed against the motion of i.
   A bristle with stiffness k and damping e connects body i with the point where it touched down. Its
   deflection xi is an internal variable. While the force is inside the friction cone, the contact
   sticks; on the cone, the foot of the bristle slips along f:
     stick:  xi' = u;     slip:  f = mu N direction(k xi + e u),  xi' = (f - k xi) / e.
   Slip dissipates f.(u - xi') >= 0, so the law never generates energy. A bristle without contact
   relaxes to xi = 0. */
#include "dynamics/dynamics.h"

double skel__contact_force(const skel__ground *g, double depth) {
    if (!(depth > 0)) return 0;
    if (g->b == 2.0) return g->a * depth * depth;
    return g->b == 1.0 ? g->a * depth : g->a * pow(depth, g->b);
}

double skel__contact_energy(const skel__ground *g, double depth) {
    return depth > 0 ? skel__contact_force(g, depth) * depth / (g->b + 1.0) : 0;
}

int skel__pair_is_far(skel__pair_filter *scan, const skel_model *m, const skel__candidate *p,
                      const skel__kin *x, double margin) {
    if (p->kind == SKEL__CANDIDATE_PLANE) return 0;
    if (scan->begun && scan->i == p->i && scan->j == p->j) return scan->is_far;

    scan->begun = 1;
    scan->i = p->i;
    scan->j = p->j;
    scan->is_far =
        skel__pair_distance(m, p->i, p->j, skel__pose_of(x, p->i), skel__pose_of(x, p->j)) > margin;
    return scan->is_far;
}

/* The contact law at one contact. */
typedef struct contact_result {
    v3 point, force;                 /* point of application [m]; force on i [N] */
    v3 xi_rate;                      /* xi' [m/s] */
    double normal_force;             /* [N] */
    double power_stored, power_lost; /* [W] into the springs; total of the contact, <= 0 */
} contact_result;

static contact_result apply_law(const skel_state *s, const skel__kin *x, const skel__candidate *p,
                                const skel__contact_point *t, v3 xi) {
    const skel__ground *g = &s->m->ground[p->ground];
    const int32_t other = skel__candidate_other(s->m, p);
    const double depth = -t->gap, e = skel__bristle_damping(g);
    contact_result out = {0};

    /* The force acts halfway between the surfaces of two dynamic bodies, otherwise on i's surface. */
    const double both = skel__is_dynamic(s->m, p->i) && skel__is_dynamic(s->m, other) ? 0.5 : 0;
    out.point = v3_mad(t->point_i, -(t->radius_i + both * t->gap), t->normal);

    /* Relative velocity u, its normal part depth', and the force k xi + e u that would stick. */
    const v3 u =
        v3_sub(skel__velocity_at(s, x, p->i, out.point), skel__velocity_at(s, x, other, out.point));
    const double depth_rate = -v3_dot(t->normal, u);
    const double elastic = skel__contact_force(g, depth);
    const v3 tangential = v3_mad(u, depth_rate, t->normal);
    const v3 bent = v3_mad(xi, -v3_dot(xi, t->normal), t->normal);
    const v3 trial = v3_mad(v3_scale(bent, g->stick_k), e, tangential);
    out.normal_force = fmax(0, elastic + g->d * depth_rate);

    /* Beyond the friction cone the force is scaled back onto it, and the foot slips. */
    const double size = v3_norm(trial), most = g->friction * out.normal_force;
    const int slips = size > most;
    const v3 f = slips ? v3_scale(trial, most / size) : trial;
    out.xi_rate = slips ? v3_scale(v3_mad(f, -g->stick_k, bent), 1.0 / e) : tangential;

    out.force = v3_mad(v3_neg(f), out.normal_force, t->normal);
    out.power_stored = elastic * depth_rate + g->stick_k * v3_dot(bent, out.xi_rate);
    out.power_lost = v3_dot(out.force, u) + out.power_stored;
    return out;
}

v3 skel__contact_law(const skel_state *s, const skel__kin *x, int32_t candidate,
                     const skel__contact_point *t, v3 xi, v3 *point) {
    const contact_result e = apply_law(s, x, &s->m->candidate[candidate], t, xi);
    *point = e.point;
    return e.force;
}

/* Adds sign times the force at the point to the wrench of body i. */
static void add_force(skel_state *s, const skel__kin *x, int32_t i, double sign, v3 point,
                      v3 force) {
    const v3 f = v3_scale(force, sign);
    s->contact_wrench[i].f = v3_add(s->contact_wrench[i].f, f);
    s->contact_wrench[i].n = v3_add(s->contact_wrench[i].n, v3_cross(v3_sub(point, x[i].p), f));
}

/* A force from a body that forces do not move is work of a drive, and momentum from outside. */
static void account_outside(skel_state *s, const skel__kin *x, int32_t from, v3 point, v3 force) {
    if (skel__is_dynamic(s->m, from)) return;
    s->contact_power.drive += v3_dot(force, skel__velocity_at(s, x, from, point));
    s->contact_power.force = v3_add(s->contact_power.force, force);
    s->contact_power.torque = v3_add(s->contact_power.torque, v3_cross(point, force));
}

/* A bristle without contact relaxes, xi' = -k xi / e, and its energy becomes heat. */
static void relax_bristle(skel_state *s, const skel__candidate *p, v3 xi, double *rate) {
    const skel__ground *g = &s->m->ground[p->ground];
    const v3 back = v3_scale(xi, -g->stick_k / skel__bristle_damping(g));
    const double power = g->stick_k * v3_dot(xi, back);
    v3_to(back, rate + p->internal);
    s->contact_power.contact += power;
    s->contact_power.stored += power;
}

void skel__contact_loads(skel_state *s, const skel__kin *x, const double *internal, double *rate) {
    const skel_model *m = s->m;
    v3 sum = {0, 0, 0};
    skel__pair_filter scan = {0};

    for (int32_t k = 0; k < m->ncand; ++k) {
        const skel__candidate *p = &m->candidate[k];
        const int32_t other = skel__candidate_other(m, p);
        const v3 xi = v3_of(internal + p->internal);
        const int far = skel__pair_is_far(&scan, m, p, x, 0);
        skel__contact_point t = {.gap = INFINITY};
        if (!far) t = skel__contact_point_at(s, x, k);

        /* The gap is infinite if the segment has left the edge, whatever its event state is. */
        if (!(t.gap < INFINITY) || !skel__contact_is_active(s, k, t.gap)) {
            relax_bristle(s, p, xi, rate);
            continue;
        }

        const contact_result e = apply_law(s, x, p, &t, xi);
        v3_to(e.xi_rate, rate + p->internal);
        add_force(s, x, p->i, 1.0, e.point, e.force);
        add_force(s, x, other, -1.0, e.point, e.force);
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

        /* Penetration. */
        skel__contact_point t = skel__contact_point_at(s, s->x, k);
        if (!(t.gap < 0)) continue;
        row->contact_depth = fmax(row->contact_depth, -t.gap);
        row->contacts += 1;
        if (!skel__contact_is_active(s, k, t.gap)) continue;

        /* Energy of the normal spring: as the last energy-momentum step left it, or by the law. */
        t.gap += s->surface_offset[k];
        row->elastic +=
            s->has_stored_energy ? s->stored_energy[k] : skel__contact_energy(g, -t.gap);

        /* Force of the grounds on the dynamic bodies. */
        const contact_result e = apply_law(s, s->x, p, &t, xi);
        if (skel__is_ground(m, p))
            force = v3_add(force, e.force);
        else if (!skel__is_dynamic(m, p->i))
            force = v3_sub(force, e.force);
    }
    v3_to(force, row->ground_force);
}
