/* SPDX-License-Identifier: BSD-3-Clause */
/* Contacts in the energy-momentum step. Normal n and the touching material are those of the start
   of the step; over it the place on i moves against the other body by (bars: means)
     D = (c1 - c0) - radius h w x n   (of i, less the same of the other),  c fixed in the body,
   exactly what the impulse h F does work along, F acting on both at one common point. So with
   g1 = gap + n.D,  u = D - n (n.D):
     N = (V(g1) - V(g0)) / (g0 - g1) + d (depth1 - depth0) / h,  never pulling,
     f = k (xi + share u) + e u / h,  within the cone of mu N,    xi1 = xi + what did not slip,
   the springs take and give back what they store, dampers and slipping feet only take: energy never
   rises, whatever the step. Against a plane g1 is exact; against round things it is the tangent
   plane's, which is not farther than they are. Where a spring is fast against the step, more of
   the force at its end is used, which settles it. */
#include "integrate/conserving.h"

#define REACH_STEPS 3.0 /* so many steps of its speed away, a candidate is looked at */
#define STEEP 0.4       /* of the time in which a contact's spring swings by a radian */
#define QUIET 0.03      /* of the speed of a fall by the reach: need not be followed */
#define CURVED 0.3      /* of the radii, along each other in a step */
#define CHANGES_MAX 6   /* of mind, between sticking and slipping */
#define BORDER 1e-5     /* of the friction: sticking and slipping are the same there */
#define SHORT 1e-7      /* of the depths: too short a way for a difference */

/* ---- which, and how short a step they need ---- */

static double mobility_at(const skel_state *s, int32_t i, v3 arm, v3 n) {
    double row[6];
    v3_to(n, row), v3_to(v3_cross(arm, n), row + 3);
    return skel__mobility(s->m, i, s->r[i], row);
}

static double stiffness(const skel__ground *g, double depth) {
    return depth > 0 ? skel__contact_force(g, depth) * g->b / depth : 0;
}

/* How long a step may be that this contact takes part in. */
static double step_of(const skel_state *s, const skel__conserving_contact *t, double rate,
                      double along, double h) {
    const skel_model   *m     = s->m;
    const skel__ground *g     = &m->ground[m->candidate[t->candidate].ground];
    const double        quiet = QUIET * sqrt(m->gravity_norm * m->contact_length);
    const double        mass = 1.0 / t->mobility, speed = fabs(rate);
    if (t->gap > 0 && t->gap > -rate * h) return h; /* does not get there */
    const double until = t->gap > 0 ? t->gap / speed : 0;
    /* depth at which the spring alone would stop it, and how fast it swings there */
    const double deep  = pow(0.5 * (g->b + 1.0) * mass * speed * speed / g->a, 1.0 / (g->b + 1.0));
    const double k     = fmax(stiffness(g, fmax(deep, -t->gap)), 1e-300);
    double       limit = INFINITY;
    /* a damper that rules the spring lets it creep back, in a time that no mass shortens */
    if (speed > quiet) limit = STEEP * fmax(sqrt(mass / k), g->d / k);
    if (t->radius > 0 && along > 0) limit = fmin(limit, CURVED * t->radius / along);
    return fmax(limit, until);
}

/* Depth at which the spring holds that energy. */
static double depth_of(const skel__ground *g, double energy) {
    return energy > 0 ? pow((g->b + 1.0) * energy / g->a, 1.0 / (g->b + 1.0)) : 0;
}

/* The nearest place of a round or edged thing may jump: the surface then gives way by as much as it
   takes for the spring to hold no more than the last step left in it. So energy never comes from
   geometry. A plane that stands still has nothing to give way. */
static double give_way(const skel_model *m, const skel__candidate *p, double gap, double left) {
    const int still = p->kind == SKEL__CANDIDATE_PLANE && m->ground[p->ground].body < 0;
    if (still || gap >= 0) return 0;
    return fmax(0, -depth_of(&m->ground[p->ground], left) - gap);
}

static int take(const skel_state *s, int32_t candidate, double h, skel__conserving_contact *to,
                double *limit) {
    const skel_model      *m     = s->m;
    const skel__candidate *p     = &m->candidate[candidate];
    const int32_t          other = skel__candidate_other(m, p);
    skel__contact_point    t     = skel__contact_point_at(s, s->x, candidate);
    const int              rigid = m->ground[p->ground].is_rigid;
    if (s->has_stored_energy) t.gap += give_way(m, p, t.gap, s->stored_energy[candidate]);
    if (!(t.gap < INFINITY) || (rigid && s->event_state[candidate] != SKEL__EVENT_RESTING))
        return 0;
    const v3 point = v3_mad(t.point_i, -t.radius_i, t.normal);
    const v3 u =
        v3_sub(skel__velocity_at(s, s->x, p->i, point), skel__velocity_at(s, s->x, other, point));
    const double rate = v3_dot(t.normal, u), fall = v3_norm(m->gravity) * h;
    const double reach = REACH_STEPS * h * (v3_norm(u) + fall) + 1e-6 * m->contact_length;
    if (t.gap > reach) return 0;
    *to          = (skel__conserving_contact){.candidate = candidate,
                                              .i         = p->i,
                                              .other     = other,
                                              .normal    = t.normal,
                                              .gap       = t.gap,
                                              .radius_i  = t.radius_i,
                                              .radius_j  = t.radius_j};
    to->lever_i  = m3_tmulv(s->r[p->i], v3_sub(t.point_i, s->x[p->i].p));
    to->lever_j  = m3_tmulv(s->r[other], v3_sub(t.point_j, s->x[other].p));
    to->radius   = p->kind == SKEL__CANDIDATE_PLANE ? 0 : t.radius_i + t.radius_j;
    to->mobility = mobility_at(s, p->i, v3_sub(point, s->x[p->i].p), t.normal) +
                   mobility_at(s, other, v3_sub(point, s->x[other].p), t.normal);
    const v3 e     = v3_perpendicular(t.normal);
    to->mobility_t = mobility_at(s, p->i, v3_sub(point, s->x[p->i].p), e) +
                     mobility_at(s, other, v3_sub(point, s->x[other].p), e);
    const v3 xi = v3_of(s->internal + p->internal);
    to->xi      = v3_mad(xi, -v3_dot(xi, t.normal), t.normal);
    to->rate    = rate;
    *limit      = fmin(*limit, step_of(s, to, rate, v3_norm(v3_mad(u, -rate, t.normal)), h));
    return 1;
}

/* How far the shapes of two bodies can come nearer in a time. */
static double margin_of(const skel_state *s, const skel__candidate *p, double h) {
    const int32_t id[2] = {p->i, p->j};
    double        speed = v3_norm(s->m->gravity) * h;
    for (int e = 0; e < 2 && id[e] >= 0; ++e)
        speed += v3_norm(s->x[id[e]].v) + v3_norm(s->ww[id[e]]) * s->m->body[id[e]].bounding_radius;
    return REACH_STEPS * h * speed + 1e-6 * s->m->contact_length;
}

double skel__conserving_contacts_find(skel_state *s, double h) {
    double            limit = h;
    skel__pair_filter scan  = {0};
    s->em->contact_count    = 0;
    s->em->found            = h;
    for (int32_t k = 0; k < s->m->ncand; ++k) {
        const skel__candidate *p      = &s->m->candidate[k];
        const double           margin = p->kind == SKEL__CANDIDATE_PLANE ? 0 : margin_of(s, p, h);
        if (skel__pair_is_far(&scan, s->m, p, s->x, margin)) continue;
        s->em->contact_count += take(s, k, h, &s->em->contact[s->em->contact_count], &limit);
    }
    return limit;
}

static double late_share(double stiff, double mobility, double h) {
    const double y2 = 0.25 * h * h * stiff * mobility;
    return y2 / (1.0 + y2);
}

/* By the last three steps, a bit each, the last one lowest: as in that, or in turns. */
static int will_slip(int32_t steps) {
    return steps == 2 || (steps != 5 && (steps & 1));
}

void skel__conserving_contacts_begin(skel_state *s, double h) {
    for (int32_t k = 0; k < s->em->contact_count; ++k) {
        skel__conserving_contact *t    = &s->em->contact[k];
        const skel__ground       *g    = &s->m->ground[s->m->candidate[t->candidate].ground];
        const double              deep = fmax(-t->gap, -(t->gap + h * t->rate));
        t->slips       = g->friction == 0 || will_slip(s->em->slipped[t->candidate]);
        t->changes     = 0;
        t->is_led      = 0;
        t->late        = late_share(stiffness(g, deep), t->mobility, h);
        t->late_t      = late_share(g->stick_k, t->mobility_t, h);
        const double x = 0.5 * h * g->d * t->mobility;
        t->late_d      = x * x / (1.0 + x * x);
    }
}

/* ---- over the step ---- */

typedef struct normal_law {
    double force, slope, stored, left; /* slope by the gap at the end; left: stored at the end */
} normal_law;

static normal_law over_gap(const skel__ground *g, const skel__conserving_contact *t, double gap1,
                           double h) {
    const double d0 = fmax(-t->gap, 0), d1 = fmax(-gap1, 0), way = t->gap - gap1;
    if (d0 == 0 && d1 == 0) return (normal_law){0};
    const double f1 = skel__contact_force(g, d1);
    const double v0 = skel__contact_energy(g, d0), v1 = skel__contact_energy(g, d1);
    const int    tiny = fabs(way) < SHORT * (d0 + d1);
    const double mean =
        tiny ? (skel__contact_force(g, d0) + 4.0 * skel__contact_force(g, 0.5 * (d0 + d1)) + f1) /
                   6.0
             : (v1 - v0) / way;
    /* A damper that would stop it within the step goes by the speed at its end, not to turn it; it
       is never on the side of the motion, and has no jumps. */
    const double sign = way > 0 ? 1.0 : -1.0, start = fmin(sign * t->rate, 0);
    const double fast = (1.0 + t->late_d) * sign * (d1 - d0) / h + t->late_d * start;
    const double rub  = fast > 0 ? sign * g->d * fast : 0;
    const double push = (1.0 - t->late) * mean + t->late * f1 + rub;
    normal_law   out  = {fmax(push, 0), 0, v1 - v0, v1};
    if (!(push > 0)) return out;
    const double k1   = stiffness(g, d1);
    const double dm   = tiny ? 0.5 * k1 : (f1 - mean) / way;
    const double rubs = d1 > 0 && fast > 0 ? g->d * (1.0 + t->late_d) / h : 0;
    out.slope         = -((1.0 - t->late) * dm + t->late * k1 + rubs);
    return out;
}

/* Displacement of i's place against the other's over the step, and the common point. */
static v3 shift(const skel_state *s, const skel__conserving_contact *t, double h, v3 *point) {
    const skel__conserving *em        = s->em;
    const int32_t           id[2]     = {t->i, t->other};
    const v3                lever[2]  = {t->lever_i, t->lever_j};
    const double            radius[2] = {-t->radius_i, t->radius_j};
    v3                      at[2], move[2], spin[2];
    for (int e = 0; e < 2; ++e) {
        const int32_t i  = id[e];
        const v3      r0 = m3_mulv(s->r[i], lever[e]), r1 = m3_mulv(em->r1[i], lever[e]);
        const v3      p =
            v3_add(v3_scale(v3_add(s->x[i].p, em->p1[i]), 0.5), v3_scale(v3_add(r0, r1), 0.5));
        spin[e] = v3_scale(m3_mulv(s->r[i], em->w[i]), h);
        at[e]   = v3_mad(p, radius[e], t->normal);
        move[e] = v3_add(v3_sub(em->p1[i], s->x[i].p), v3_sub(r1, r0));
        move[e] = v3_mad(move[e], radius[e], v3_cross(spin[e], t->normal));
    }
    *point = at[skel__is_dynamic(s->m, t->i) ? 0 : 1]; /* the one that the force moves */
    if (skel__is_dynamic(s->m, t->i) && skel__is_dynamic(s->m, t->other)) {
        *point = v3_scale(v3_add(at[0], at[1]), 0.5);
        for (int e = 0; e < 2; ++e)
            move[e] = v3_add(move[e], v3_cross(spin[e], v3_sub(*point, at[e])));
    }
    return v3_sub(move[0], move[1]);
}

static skel__conserving_contact_force over_step(const skel_state               *s,
                                                const skel__conserving_contact *t, double h) {
    const skel__ground            *g   = &s->m->ground[s->m->candidate[t->candidate].ground];
    skel__conserving_contact_force out = {0};
    const v3                       d = shift(s, t, h, &out.point), n = t->normal;
    const double                   dn  = v3_dot(n, d);
    const v3                       u   = v3_mad(d, -dn, n);
    const normal_law               law = over_gap(g, t, t->gap + dn, h);
    const double                   k = g->stick_k, e = skel__bristle_damping(g);
    const double                   stiff = k * (0.5 + 0.5 * t->late_t) + e / h;
    const v3                       trial = v3_mad(v3_scale(t->xi, k), stiff, u);
    const double                   full = v3_norm(trial), most = g->friction * law.force;
    const int                      slips = t->slips;
    const v3                       ahead = t->is_led ? t->led : trial;
    const double                   far   = t->is_led ? v3_norm(t->led) : full;
    const v3                       along = far > 0 ? v3_scale(ahead, 1.0 / far) : (v3){0, 0, 0};
    const double                   held  = !slips ? stiff : far > 0 ? stiff * most / far : 0;
    v3                             f     = slips ? v3_scale(along, most) : trial;
    if (slips && t->is_led) /* most (a + (1 - aa) trial / far) */
        f = v3_mad(f, held / stiff, v3_mad(trial, -v3_dot(along, trial), along));
    out.left  = law.left;
    out.trial = trial, out.stiff = stiff, out.slope = law.slope;
    out.most        = most;
    out.over        = full - most;
    out.xi1         = slips ? v3_mad(t->xi, 1.0 / stiff, v3_mad(f, -k, t->xi)) : v3_add(t->xi, u);
    out.normal_part = v3_scale(n, law.force);
    out.force       = v3_sub(out.normal_part, f);
    out.stored      = law.stored + 0.5 * k * (v3_dot(out.xi1, out.xi1) - v3_dot(t->xi, t->xi));
    out.lost        = v3_dot(out.force, d) + out.stored;
    /* d force = slope n (n.dD) - df,
       df = held (1 - nn - aa) dD + mu slope a (n.dD), the a where it slips */
    m3 b = m3_sub_outer(m3_zero(), -law.slope, n, n);
    b    = m3_sub(b, m3_sub_outer(m3_diagonal(held), held, n, n));
    if (slips) {
        b = m3_sub_outer(b, -held, along, along);
        b = m3_sub_outer(b, g->friction * law.slope, along, n);
    }
    out.by_shift = b;
    return out;
}

/* ---- into the equations ---- */

/* How the place on body i (e = 0) or on the other (e = 1) moves with its body:
   dp + theta x r1 + radius (h Q theta) x n. */
static m3 turn_of(const skel_state *s, const skel__conserving_contact *t, int e, double h) {
    const int32_t i      = e == 0 ? t->i : t->other;
    const v3      r1     = m3_mulv(s->em->r1[i], e == 0 ? t->lever_i : t->lever_j);
    const double  radius = e == 0 ? -t->radius_i : t->radius_j;
    if (radius == 0) return m3_skew(v3_neg(r1));
    const m3 roll =
        m3_skew_times(v3_scale(t->normal, h * radius), skel__spin_derivative(s, s->em, i, h));
    return m3_sub(m3_skew(v3_neg(r1)), roll);
}

static v3 arm_of(const skel_state *s, int32_t i, v3 point) {
    return v3_sub(point, v3_scale(v3_add(s->x[i].p, s->em->p1[i]), 0.5));
}

/* Own block of body i or of the other: stiff = 0 leaves the arm's turn alone. */
static void add_block(skel_state *s, const skel__conserving_contact *t,
                      const skel__conserving_contact_force *r, int e, double h, m3 stiff) {
    const int32_t i = e == 0 ? t->i : t->other;
    if (!skel__is_dynamic(s->m, i)) return;
    const v3 r1 = m3_mulv(s->em->r1[i], e == 0 ? t->lever_i : t->lever_j);
    const m3 kp = m3_scale(stiff, h), kt = m3_mul(kp, turn_of(s, t, e, h));
    const v3 x = arm_of(s, i, r->point);
    double  *a = s->em->lu[i].a;
    skel__conserving_add3(a, 0, 0, m3_scale(kp, -1.0));
    skel__conserving_add3(a, 0, 3, m3_scale(kt, -1.0));
    skel__conserving_add3(a, 3, 0, m3_scale(m3_skew_times(x, kp), -1.0));
    /* d arm = theta x r1 / 2:  d(arm) x F = [F][r1] theta / 2, minus that on the other */
    const m3 lean = m3_skew_skew(r->force, r1);
    skel__conserving_add3(a, 3, 3, m3_scale(m3_skew_times(x, kt), -1.0));
    skel__conserving_add3(a, 3, 3, m3_scale(lean, (e == 0 ? -0.5 : 0.5) * h));
}

/* The derivatives of a place: in the blocks of its bodies, or as a pair where both are dynamic. */
static void add_derivatives(skel_state *s, const skel__conserving_contact *t,
                            const skel__conserving_contact_force *r, double h) {
    skel__conserving *em   = s->em;
    const int         pair = skel__is_dynamic(s->m, t->i) && skel__is_dynamic(s->m, t->other) &&
                     em->pair_count < em->pair_capacity && s->nloop == 0;
    const m3 stiff = pair ? m3_zero() : r->by_shift;
    add_block(s, t, r, 0, h, stiff);
    add_block(s, t, r, 1, h, stiff);
    if (!pair) return;
    skel__conserving_pair *p = &em->pair[em->pair_count++];
    *p = (skel__conserving_pair){.body = {t->i, t->other}, .stiff = r->by_shift};
    for (int e = 0; e < 2; ++e) {
        p->arm[e]  = arm_of(s, p->body[e], r->point);
        p->turn[e] = turn_of(s, t, e, h);
    }
}

static void push(skel_state *s, int32_t i, double h, v3 force, v3 point) {
    s->em->jl[i] = v3_mad(s->em->jl[i], h, force);
    s->em->ja[i] = v3_mad(s->em->ja[i], h, v3_cross(arm_of(s, i, point), force));
}

static double friction_of(const skel_state *s, const skel__conserving_contact *t) {
    return s->m->ground[s->m->candidate[t->candidate].ground].friction;
}

/* Whether a place sticks or slips is supposed before each correction, by where that would lead:
   what would hold with more than friction slips, along where it would be pulled then, not where it
   is now; what would hold with less or slip backwards sticks. */
int skel__conserving_contacts_predict(skel_state *s, double h) {
    int count = 0;
    for (int32_t k = 0; k < s->em->contact_count; ++k) {
        skel__conserving_contact *t  = &s->em->contact[k];
        const double              mu = friction_of(s, t);
        if (!(mu > 0) || t->changes > CHANGES_MAX) continue;
        const skel__conserving_contact_force *e = &t->now;
        v3                                    d = {0, 0, 0};
        for (int side = 0; side < 2; ++side) {
            const int32_t i = side == 0 ? t->i : t->other;
            if (!skel__is_dynamic(s->m, i)) continue;
            const double *y    = s->em->y + 6 * (size_t)i;
            const v3      move = v3_add(v3_of(y), m3_mulv(turn_of(s, t, side, h), v3_of(y + 3)));
            d                  = v3_mad(d, side == 0 ? 1.0 : -1.0, move);
        }
        const double dn = v3_dot(t->normal, d), most = fmax(0, e->most + mu * e->slope * dn);
        const v3     trial = v3_mad(e->trial, e->stiff, v3_mad(d, -dn, t->normal));
        const int    back  = t->slips && v3_dot(trial, t->is_led ? t->led : e->trial) < 0;
        if (!(most > 0) && !(e->most > 0)) continue; /* out of touch: neither */
        const int slips = v3_norm(trial) > most && !back;
        if (slips == t->slips) continue;
        t->slips = t->is_led = slips;
        t->led               = trial;
        ++count;
    }
    return count;
}

void skel__conserving_contacts_clear_prediction(skel_state *s) {
    for (int32_t k = 0; k < s->em->contact_count; ++k) s->em->contact[k].is_led = 0;
}

/* At a solution: places of which the law says something else than was supposed do as it says. Those
   that cannot make up their mind stay as they are. */
int skel__conserving_contacts_update_active_set(skel_state *s) {
    int count = 0;
    for (int32_t k = 0; k < s->em->contact_count; ++k) {
        skel__conserving_contact *t = &s->em->contact[k];
        if (!(friction_of(s, t) > 0)) continue;
        const skel__conserving_contact_force *e = &t->now;
        const int slips                         = e->over > (t->slips ? -BORDER : BORDER) * e->most;
        if (slips == t->slips || ++t->changes > 2 * CHANGES_MAX) continue;
        t->slips = slips;
        ++count;
    }
    return count;
}

void skel__conserving_contacts_add(skel_state *s, double h, int build) {
    if (build) s->em->pair_count = 0;
    for (int32_t k = 0; k < s->em->contact_count; ++k) {
        skel__conserving_contact *t = &s->em->contact[k];
        t->now                      = over_step(s, t, h);
        push(s, t->i, h, t->now.force, t->now.point);
        push(s, t->other, h, v3_neg(t->now.force), t->now.point);
        if (build) add_derivatives(s, t, &t->now, h);
    }
}

void skel__conserving_contacts_end(skel_state *s) {
    const skel_model *m = s->m;
    for (int32_t k = 0; k < m->ncand; ++k)
        s->stored_energy[k] = s->em->stored_energy_end[k], s->surface_offset[k] = 0;
    for (int32_t k = 0; k < s->em->contact_count; ++k) {
        const int32_t             candidate = s->em->contact[k].candidate;
        const skel__candidate    *p         = &m->candidate[candidate];
        const skel__contact_point t         = skel__contact_point_at(s, s->x, candidate);
        const double              way       = give_way(m, p, t.gap, s->stored_energy[candidate]);
        const double              now = skel__contact_energy(&m->ground[p->ground], -(t.gap + way));
        s->sum.contact +=
            now - s->stored_energy[candidate]; /* round things are not their tangent planes */
        s->stored_energy[candidate] = now, s->surface_offset[candidate] = way;
    }
    s->has_stored_energy = 1;
}

/* ---- what it did ---- */

static void account_outside(const skel_state *s, int32_t from, double h, v3 force, v3 point,
                            skel__power *sum) {
    const skel__conserving *em = s->em;
    if (skel__is_dynamic(s->m, from)) return;
    const v3 centre = v3_scale(v3_add(s->x[from].p, em->p1[from]), 0.5);
    const v3 w      = m3_mulv(s->r[from], em->w[from]);
    const v3 v      = v3_add(em->vbar[from], v3_cross(w, v3_sub(point, centre)));
    sum->drive += h * v3_dot(force, v);
    sum->force  = v3_mad(sum->force, h, force);
    sum->torque = v3_mad(sum->torque, h, v3_cross(point, force));
}

/* Out of touch a bristle springs back. */
static void relax(skel_state *s, double h, skel__power *sum) {
    for (int32_t k = 0; k < s->m->ncand; ++k) {
        const skel__candidate *p  = &s->m->candidate[k];
        const skel__ground    *g  = &s->m->ground[p->ground];
        const v3               xi = v3_of(s->internal + p->internal);
        const double           e = skel__bristle_damping(g), keep = e / (e + g->stick_k * h);
        const double           lost = 0.5 * g->stick_k * v3_dot(xi, xi) * (1.0 - keep * keep);
        v3_to(v3_scale(xi, keep), s->em->internal_end + p->internal);
        s->em->stored_energy_end[k] = 0;
        sum->contact -= lost;
        sum->stored -= lost;
    }
}

void skel__conserving_contacts_account(skel_state *s, double h, skel__power *sum) {
    v3 ground = {0, 0, 0};
    if (s->m->ncand == 0) return;
    relax(s, h, sum);
    for (int32_t k = 0; k < s->em->contact_count; ++k) {
        const skel__conserving_contact       *t    = &s->em->contact[k];
        const skel__candidate                *p    = &s->m->candidate[t->candidate];
        const skel__ground                   *g    = &s->m->ground[p->ground];
        const skel__conserving_contact_force *e    = &t->now;
        const v3                              xi   = v3_of(s->internal + p->internal);
        const v3                              kept = v3_of(s->em->internal_end + p->internal);
        /* it is held after all; what the turn of the normal took of it is lost */
        const double back   = 0.5 * g->stick_k * (v3_dot(xi, xi) - v3_dot(kept, kept));
        const double turned = 0.5 * g->stick_k * (v3_dot(t->xi, t->xi) - v3_dot(xi, xi));
        sum->contact += back + turned + e->lost;
        sum->stored += back + turned + e->stored;
        v3_to(e->xi1, s->em->internal_end + p->internal);
        s->em->slipped[t->candidate]           = (s->em->slipped[t->candidate] << 1 | t->slips) & 7;
        s->em->stored_energy_end[t->candidate] = e->left;
        account_outside(s, t->other, h, e->force, e->point, sum);
        account_outside(s, t->i, h, v3_neg(e->force), e->point, sum);
        if (skel__is_ground(s->m, p))
            ground = v3_add(ground, e->normal_part);
        else if (!skel__is_dynamic(s->m, t->i))
            ground = v3_sub(ground, e->normal_part);
    }
    s->ground_force = v3_norm(ground);
}
