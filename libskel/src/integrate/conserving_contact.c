/* SPDX-License-Identifier: BSD-3-Clause */
/* Contacts in the energy-momentum step. The normal n and the material points that touch are those
   of the start of the step. Over the step the contact point of body i moves relative to that of the
   other body by
     D = (c1 - c0) - radius h w x n   (of i, minus the same of the other body),
   with c a point fixed in the body and w the mean angular velocity. The impulse h F acts on both
   bodies at one common point, and its work is exactly F.D. With g1 = gap + n.D and
   u = D - n (n.D), the forces are
     N = (V(g1) - V(g0)) / (g0 - g1) + d (depth1 - depth0) / h,  not negative,
     f = k (xi + share u) + e u / h,  within the cone of mu N,
   and xi1 = xi + the part of u that did not slip. The springs return the energy that they store;
   dampers and slip only dissipate. So the energy never rises, at any step length. For planes g1 is
   exact. For round shapes it is the gap of the tangent plane, which is not larger than the true
   one. If a spring is fast relative to the step, the end of the step gets more weight in its force,
   which damps it. */
#include "integrate/conserving.h"

#define CONTACT_REACH_STEPS 3.0     /* candidates that are reached in so many steps are evaluated */
#define CONTACT_STEP_PER_PERIOD 0.4 /* longest step, relative to sqrt(mass / stiffness) */
#define CONTACT_SLOW 0.03           /* slower contacts do not limit the step; of sqrt(g length) */
#define CONTACT_ROLL_PER_STEP 0.3   /* longest tangential motion in a step, relative to the radii */
#define CONTACT_CHANGES_MAX 6       /* changes of stick and slip in one solution of a step */
#define CONTACT_CONE_TOL 1e-5       /* relative to the friction bound, where stick equals slip */
#define CONTACT_QUOTIENT_MIN 1e-7   /* shortest motion for a quotient, relative to the depths */
#define CONTACT_DISTANCE_MARGIN 1e-6 /* added to every reach, relative to the contact length */

/* ---- search, and the step length that contacts need ---- */

static const skel__ground *ground_of(const skel_model *m, int32_t candidate) {
    return &m->ground[m->candidate[candidate].ground];
}

/* Velocity along n of the point at `arm` by a unit impulse there [1/kg]. */
static double mobility_at(const skel_state *s, int32_t i, v3 arm, v3 n) {
    double row[6];
    v3_to(n, row);
    v3_to(v3_cross(arm, n), row + 3);
    return skel__mobility(s->m, i, s->r[i], row);
}

/* d N / d depth = b N / depth [N/m] */
static double stiffness(const skel__ground *g, double depth) {
    return depth > 0 ? skel__contact_force(g, depth) * g->b / depth : 0;
}

/* Longest step [s] that follows this contact. `sliding` is its tangential speed [m/s]. */
static double step_limit(const skel_state *s, const skel__conserving_contact *t, double sliding,
                         double h) {
    const skel_model *m = s->m;
    const skel__ground *g = ground_of(m, t->candidate);
    const double mass = 1.0 / t->mobility, speed = fabs(t->gap_rate);
    if (t->gap > 0 && t->gap > -t->gap_rate * h) return h; /* it is not reached in this step */

    const double until_touch = t->gap > 0 ? t->gap / speed : 0;

    /* Depth at which the spring alone would stop the mass: a depth^(b+1) / (b+1) = m v^2 / 2. */
    const double deepest =
        pow(0.5 * (g->b + 1.0) * mass * speed * speed / g->a, 1.0 / (g->b + 1.0));
    const double k = fmax(stiffness(g, fmax(deepest, -t->gap)), 1e-300);

    /* Periods: sqrt(m / k) of the swing; d / k of the slow return if the damper dominates. */
    double limit = INFINITY;
    const double slow = CONTACT_SLOW * sqrt(m->gravity_norm * m->contact_length);
    if (speed > slow) limit = CONTACT_STEP_PER_PERIOD * fmax(sqrt(mass / k), g->d / k);
    if (t->radius > 0 && sliding > 0)
        limit = fmin(limit, CONTACT_ROLL_PER_STEP * t->radius / sliding);
    return fmax(limit, until_touch);
}

/* Depth at which the spring stores the given energy. */
static double depth_of(const skel__ground *g, double energy) {
    return energy > 0 ? pow((g->b + 1.0) * energy / g->a, 1.0 / (g->b + 1.0)) : 0;
}

/* Offset of the surface [m] so that the spring stores no more energy than it did after the last
   step. The closest points of round or edged shapes may jump, and without the offset such a jump
   would create energy. A plane that is fixed in the world needs none. */
static double surface_offset(const skel_model *m, const skel__candidate *p, double gap,
                             double stored_energy) {
    const int is_fixed_plane = p->kind == SKEL__CANDIDATE_PLANE && m->ground[p->ground].body < 0;
    if (is_fixed_plane || gap >= 0) return 0;
    return fmax(0, -depth_of(&m->ground[p->ground], stored_energy) - gap);
}

/* Sum of the mobilities of both bodies at a point. */
static double pair_mobility(const skel_state *s, int32_t i, int32_t other, v3 point, v3 n) {
    return mobility_at(s, i, v3_sub(point, s->x[i].p), n) +
           mobility_at(s, other, v3_sub(point, s->x[other].p), n);
}

/* Fills *to if the candidate may touch within the step, and bounds *limit by the step that it
   needs. Returns whether it may touch. */
static int find_contact(const skel_state *s, int32_t candidate, double h,
                        skel__conserving_contact *to, double *limit) {
    const skel_model *m = s->m;
    const skel__candidate *p = &m->candidate[candidate];
    const int32_t other = skel__candidate_other(m, p);

    /* A rigid contact has a force only while it rests; its impacts are events. */
    skel__contact_point t = skel__contact_point_at(s, s->x, candidate);
    const int is_rigid = m->ground[p->ground].is_rigid;
    if (s->has_stored_energy) t.gap += surface_offset(m, p, t.gap, s->stored_energy[candidate]);
    if (!(t.gap < INFINITY)) return 0;
    if (is_rigid && s->event_state[candidate] != SKEL__EVENT_RESTING) return 0;

    /* Distance that the contact may cover, with the gain of speed by gravity. */
    const v3 point = v3_mad(t.point_i, -t.radius_i, t.normal);
    const v3 u =
        v3_sub(skel__velocity_at(s, s->x, p->i, point), skel__velocity_at(s, s->x, other, point));
    const double rate = v3_dot(t.normal, u), fall = v3_norm(m->gravity) * h;
    const double reach =
        CONTACT_REACH_STEPS * h * (v3_norm(u) + fall) + CONTACT_DISTANCE_MARGIN * m->contact_length;
    if (t.gap > reach) return 0;

    *to = (skel__conserving_contact){.candidate = candidate,
                                     .i = p->i,
                                     .other = other,
                                     .normal = t.normal,
                                     .gap = t.gap,
                                     .gap_rate = rate,
                                     .radius_i = t.radius_i,
                                     .radius_j = t.radius_j};
    to->lever_i = m3_tmulv(s->r[p->i], v3_sub(t.point_i, s->x[p->i].p));
    to->lever_j = m3_tmulv(s->r[other], v3_sub(t.point_j, s->x[other].p));
    to->radius = p->kind == SKEL__CANDIDATE_PLANE ? 0 : t.radius_i + t.radius_j;
    to->mobility = pair_mobility(s, p->i, other, point, t.normal);
    to->mobility_t = pair_mobility(s, p->i, other, point, v3_perpendicular(t.normal));

    /* The tangential displacement is projected onto the present tangent plane. */
    const v3 xi = v3_of(s->internal + p->internal);
    to->xi = v3_mad(xi, -v3_dot(xi, t.normal), t.normal);

    const double sliding = v3_norm(v3_mad(u, -rate, t.normal));
    *limit = fmin(*limit, step_limit(s, to, sliding, h));
    return 1;
}

/* Bound of the distance [m] by which the shapes of two bodies approach each other in a step. */
static double approach_bound(const skel_state *s, const skel__candidate *p, double h) {
    const int32_t id[2] = {p->i, p->j};
    double speed = v3_norm(s->m->gravity) * h;
    for (int e = 0; e < 2 && id[e] >= 0; ++e)
        speed += v3_norm(s->x[id[e]].v) + v3_norm(s->ww[id[e]]) * s->m->body[id[e]].bounding_radius;
    return CONTACT_REACH_STEPS * h * speed + CONTACT_DISTANCE_MARGIN * s->m->contact_length;
}

double skel__conserving_contacts_find(skel_state *s, double h) {
    skel__conserving *em = s->integrator->conserving;
    double limit = h;
    skel__pair_filter filter = {0};
    em->contact_count = 0;
    em->contacts_found_for = h;

    for (int32_t k = 0; k < s->m->ncand; ++k) {
        const skel__candidate *p = &s->m->candidate[k];
        const double margin = p->kind == SKEL__CANDIDATE_PLANE ? 0 : approach_bound(s, p, h);
        if (skel__pair_is_far(&filter, s->m, p, s->x, margin)) continue;
        em->contact_count += find_contact(s, k, h, &em->contact[em->contact_count], &limit);
    }
    return limit;
}

/* ---- start of Newton's iteration ---- */

/* Weight of the end of the step for a spring: y^2 / (1 + y^2) with y = h omega / 2. It is of second
   order for slow springs and tends to 1 for fast ones. */
static double spring_end_weight(double stiff, double mobility, double h) {
    const double y2 = 0.25 * h * h * stiff * mobility;
    return y2 / (1.0 + y2);
}

/* First active set: the contact does as in the last step (lowest bit), or continues to alternate if
   it did so in the last three (binary 101 and 010). */
static int will_slip(int32_t history) {
    return history == 2 || (history != 5 && (history & 1));
}

void skel__conserving_contacts_begin(skel_state *s, double h) {
    const skel__conserving *em = s->integrator->conserving;
    for (int32_t k = 0; k < em->contact_count; ++k) {
        skel__conserving_contact *t = &em->contact[k];
        const skel__ground *g = ground_of(s->m, t->candidate);

        t->slips = g->friction == 0 || will_slip(em->slip_history[t->candidate]);
        t->change_count = 0;
        t->has_prediction = 0;

        const double depth = fmax(-t->gap, -(t->gap + h * t->gap_rate));
        const double x = 0.5 * h * g->d * t->mobility;
        t->end_weight = spring_end_weight(stiffness(g, depth), t->mobility, h);
        t->end_weight_t = spring_end_weight(g->stick_k, t->mobility_t, h);
        t->end_weight_damping = x * x / (1.0 + x * x);
    }
}

/* ---- forces over the step ---- */

typedef struct normal_law {
    double force, slope;       /* [N], by the gap at the end [N/m] */
    double stored, stored_end; /* change of the stored energy, and its value at the end [J] */
} normal_law;

static normal_law normal_over_step(const skel__ground *g, const skel__conserving_contact *t,
                                   double gap1, double h) {
    const double d0 = fmax(-t->gap, 0), d1 = fmax(-gap1, 0), way = t->gap - gap1;
    if (d0 == 0 && d1 == 0) return (normal_law){0};

    /* Mean force: difference quotient of the energy, or Simpson's rule for very short motion. */
    const double f1 = skel__contact_force(g, d1);
    const double v0 = skel__contact_energy(g, d0), v1 = skel__contact_energy(g, d1);
    const int is_short = fabs(way) < CONTACT_QUOTIENT_MIN * (d0 + d1);
    double mean;
    if (is_short) {
        const double middle = skel__contact_force(g, 0.5 * (d0 + d1));
        mean = (skel__contact_force(g, d0) + 4.0 * middle + f1) / 6.0;
    } else
        mean = (v1 - v0) / way;

    /* A damper that would stop the contact within the step acts on the velocity at the end, so that
       it does not reverse it. Its force is continuous and never along the motion. */
    const double sign = way > 0 ? 1.0 : -1.0, start = fmin(sign * t->gap_rate, 0);
    const double speed =
        (1.0 + t->end_weight_damping) * sign * (d1 - d0) / h + t->end_weight_damping * start;
    const double damping = speed > 0 ? sign * g->d * speed : 0;

    const double force = (1.0 - t->end_weight) * mean + t->end_weight * f1 + damping;
    normal_law out = {.force = fmax(force, 0), .stored = v1 - v0, .stored_end = v1};
    if (!(force > 0)) return out;

    /* Derivative by the gap at the end, which is minus the derivative by the depth. */
    const double k1 = stiffness(g, d1);
    const double mean_slope = is_short ? 0.5 * k1 : (f1 - mean) / way;
    const double damping_slope = d1 > 0 && speed > 0 ? g->d * (1.0 + t->end_weight_damping) / h : 0;
    out.slope = -((1.0 - t->end_weight) * mean_slope + t->end_weight * k1 + damping_slope);
    return out;
}

/* The displacement D over the step, and the common point at which the force acts. */
static v3 relative_displacement(const skel_state *s, const skel__conserving_contact *t, double h,
                                v3 *point) {
    const skel__conserving *em = s->integrator->conserving;
    const int32_t id[2] = {t->i, t->other};
    const v3 lever[2] = {t->lever_i, t->lever_j};
    const double radius[2] = {-t->radius_i, t->radius_j};
    v3 at[2], move[2], spin[2];

    /* Of each body: mean contact point, and c1 - c0 with the rolling of its radius. */
    for (int e = 0; e < 2; ++e) {
        const int32_t i = id[e];
        const v3 r0 = m3_mulv(s->r[i], lever[e]), r1 = m3_mulv(em->r1[i], lever[e]);
        const v3 mean = v3_add(skel__mean_centre(s, em, i), v3_scale(v3_add(r0, r1), 0.5));
        spin[e] = v3_scale(m3_mulv(s->r[i], em->w[i]), h);
        at[e] = v3_mad(mean, radius[e], t->normal);
        move[e] = v3_add(v3_sub(em->p1[i], s->x[i].p), v3_sub(r1, r0));
        move[e] = v3_mad(move[e], radius[e], v3_cross(spin[e], t->normal));
    }

    /* The common point is that of the dynamic body, or the middle between two of them. */
    const int is_dynamic_i = skel__is_dynamic(s->m, t->i);
    *point = at[is_dynamic_i ? 0 : 1];
    if (is_dynamic_i && skel__is_dynamic(s->m, t->other)) {
        *point = v3_scale(v3_add(at[0], at[1]), 0.5);
        for (int e = 0; e < 2; ++e)
            move[e] = v3_add(move[e], v3_cross(spin[e], v3_sub(*point, at[e])));
    }
    return v3_sub(move[0], move[1]);
}

/* Tangential force over the step: f, the unit direction of slip a, and held, its derivative across
   that direction [N/m]. */
typedef struct tangential_law {
    v3 force, along;
    double held;
} tangential_law;

/* A sticking contact has the trial force. A slipping one has the bound mu N, along the trial force;
   or, if a direction p was predicted, linearised about it:
     f = mu N (a + (1 - a a^T) trial / |p|),   a = p / |p|. */
static tangential_law tangential_over_step(const skel__conserving_contact *t,
                                           const skel__conserving_contact_force *e) {
    if (!t->slips) return (tangential_law){.force = e->trial, .held = e->trial_stiffness};

    tangential_law out = {0};
    const v3 direction = t->has_prediction ? t->predicted_trial : e->trial;
    const double norm = v3_norm(direction);
    if (norm > 0) {
        out.along = v3_scale(direction, 1.0 / norm);
        out.held = e->trial_stiffness * e->friction_bound / norm;
    }
    out.force = v3_scale(out.along, e->friction_bound);
    if (t->has_prediction) {
        const v3 across = v3_mad(e->trial, -v3_dot(out.along, e->trial), out.along);
        out.force = v3_mad(out.force, out.held / e->trial_stiffness, across);
    }
    return out;
}

/* d force / d D:   d force = slope n (n.dD) - df,
   df = held (1 - n n^T - a a^T) dD + mu slope a (n.dD), with the terms in a only while it slips. */
static m3 force_derivative(const skel__conserving_contact *t, const tangential_law *law,
                           double slope, double friction) {
    const v3 n = t->normal;
    m3 b = m3_sub_outer(m3_zero(), -slope, n, n);
    b = m3_sub(b, m3_sub_outer(m3_diagonal(law->held), law->held, n, n));
    if (t->slips) {
        b = m3_sub_outer(b, -law->held, law->along, law->along);
        b = m3_sub_outer(b, friction * slope, law->along, n);
    }
    return b;
}

static skel__conserving_contact_force
contact_over_step(const skel_state *s, const skel__conserving_contact *t, double h) {
    const skel__ground *g = ground_of(s->m, t->candidate);
    skel__conserving_contact_force out = {0};
    const v3 d = relative_displacement(s, t, h, &out.point), n = t->normal;
    const double dn = v3_dot(n, d);
    const v3 u = v3_mad(d, -dn, n);
    const normal_law normal = normal_over_step(g, t, t->gap + dn, h);

    /* The tangential force of a sticking contact, which decides between stick and slip. */
    const double k = g->stick_k, e = skel__bristle_damping(g);
    out.trial_stiffness = k * (0.5 + 0.5 * t->end_weight_t) + e / h;
    out.trial = v3_mad(v3_scale(t->xi, k), out.trial_stiffness, u);
    out.friction_bound = g->friction * normal.force;
    out.cone_excess = v3_norm(out.trial) - out.friction_bound;

    const tangential_law tangential = tangential_over_step(t, &out);
    const v3 f = tangential.force;
    if (t->slips) /* the displacement that gives f: xi1 = xi + (f - k xi) / trial_stiffness */
        out.xi1 = v3_mad(t->xi, 1.0 / out.trial_stiffness, v3_mad(f, -k, t->xi));
    else
        out.xi1 = v3_add(t->xi, u);

    out.normal_slope = normal.slope;
    out.normal_force = v3_scale(n, normal.force);
    out.force = v3_sub(out.normal_force, f);
    out.stored_end = normal.stored_end;
    out.stored = normal.stored + 0.5 * k * (v3_dot(out.xi1, out.xi1) - v3_dot(t->xi, t->xi));
    out.dissipated = v3_dot(out.force, d) + out.stored;
    out.derivative = force_derivative(t, &tangential, normal.slope, g->friction);
    return out;
}

/* ---- impulses and derivatives ---- */

/* Derivative of the contact point's motion by the rotation of body i (side 0) or of the other
   (side 1):  theta x r1 + radius (h Q theta) x n,  Q = skel__spin_derivative. */
static m3 motion_by_rotation(const skel_state *s, const skel__conserving_contact *t, int side,
                             double h) {
    const int32_t i = side == 0 ? t->i : t->other;
    const v3 r1 = m3_mulv(s->integrator->conserving->r1[i], side == 0 ? t->lever_i : t->lever_j);
    const double radius = side == 0 ? -t->radius_i : t->radius_j;
    if (radius == 0) return m3_skew(v3_neg(r1));

    const m3 roll = m3_skew_times(v3_scale(t->normal, h * radius),
                                  skel__spin_derivative(s, s->integrator->conserving, i, h));
    return m3_sub(m3_skew(v3_neg(r1)), roll);
}

static v3 mean_arm(const skel_state *s, int32_t i, v3 point) {
    return v3_sub(point, skel__mean_centre(s, s->integrator->conserving, i));
}

/* Adds to the diagonal block of body i (side 0) or of the other (side 1). With stiff = 0 only the
   change of the arm counts. */
static void add_block(skel_state *s, const skel__conserving_contact *t, int side, double h,
                      m3 stiff) {
    const int32_t i = side == 0 ? t->i : t->other;
    if (!skel__is_dynamic(s->m, i)) return;

    const m3 kp = m3_scale(stiff, h), kt = m3_mul(kp, motion_by_rotation(s, t, side, h));
    const v3 arm = mean_arm(s, i, t->now.point);
    double *a = s->integrator->conserving->lu[i].a;
    skel__conserving_add3(a, 0, 0, m3_scale(kp, -1.0));
    skel__conserving_add3(a, 0, 3, m3_scale(kt, -1.0));
    skel__conserving_add3(a, 3, 0, m3_scale(m3_skew_times(arm, kp), -1.0));
    skel__conserving_add3(a, 3, 3, m3_scale(m3_skew_times(arm, kt), -1.0));

    /* d arm = theta x r1 / 2, so d(arm) x F = [F][r1] theta / 2; minus that on the other body. */
    const v3 r1 = m3_mulv(s->integrator->conserving->r1[i], side == 0 ? t->lever_i : t->lever_j);
    const m3 by_arm = m3_skew_skew(t->now.force, r1);
    skel__conserving_add3(a, 3, 3, m3_scale(by_arm, (side == 0 ? -0.5 : 0.5) * h));
}

/* Derivatives go to the diagonal blocks of the bodies. If both bodies are dynamic and there is
   room, they form a pair, which conserving_pairs.c couples. */
static void add_derivatives(skel_state *s, const skel__conserving_contact *t, double h) {
    skel__conserving *em = s->integrator->conserving;
    const int are_both_dynamic = skel__is_dynamic(s->m, t->i) && skel__is_dynamic(s->m, t->other);
    const int is_pair = are_both_dynamic && em->pair_count < em->pair_capacity && s->nloop == 0;
    const m3 stiff = is_pair ? m3_zero() : t->now.derivative;
    add_block(s, t, 0, h, stiff);
    add_block(s, t, 1, h, stiff);
    if (!is_pair) return;

    skel__conserving_pair *p = &em->pair[em->pair_count++];
    *p = (skel__conserving_pair){.body = {t->i, t->other}, .stiffness = t->now.derivative};
    for (int side = 0; side < 2; ++side) {
        p->arm[side] = mean_arm(s, p->body[side], t->now.point);
        p->by_rotation[side] = motion_by_rotation(s, t, side, h);
    }
}

static void add_impulse(skel_state *s, int32_t i, double h, v3 force, v3 point) {
    skel__conserving *em = s->integrator->conserving;
    em->j_lin[i] = v3_mad(em->j_lin[i], h, force);
    em->j_ang[i] = v3_mad(em->j_ang[i], h, v3_cross(mean_arm(s, i, point), force));
}

void skel__conserving_contacts_add(skel_state *s, double h, int with_derivatives) {
    skel__conserving *em = s->integrator->conserving;
    if (with_derivatives) em->pair_count = 0;

    for (int32_t k = 0; k < em->contact_count; ++k) {
        skel__conserving_contact *t = &em->contact[k];
        t->now = contact_over_step(s, t, h);
        add_impulse(s, t->i, h, t->now.force, t->now.point);
        add_impulse(s, t->other, h, v3_neg(t->now.force), t->now.point);
        if (with_derivatives) add_derivatives(s, t, h);
    }
}

/* ---- active set ---- */

/* Change of D by the correction at hand. */
static v3 displacement_correction(const skel_state *s, const skel__conserving_contact *t,
                                  double h) {
    v3 d = {0, 0, 0};
    for (int side = 0; side < 2; ++side) {
        const int32_t i = side == 0 ? t->i : t->other;
        if (!skel__is_dynamic(s->m, i)) continue;
        const double *y = s->integrator->conserving->y + 6 * (size_t)i;
        const v3 move = v3_add(v3_of(y), m3_mulv(motion_by_rotation(s, t, side, h), v3_of(y + 3)));
        d = v3_mad(d, side == 0 ? 1.0 : -1.0, move);
    }
    return d;
}

/* Linearises the trial force and the friction bound about the present iterate. A contact whose
   trial force exceeds the bound after the correction slips, in the direction of that force. It
   sticks if the force is smaller, or if it would slip backwards. */
int skel__conserving_contacts_predict(skel_state *s, double h) {
    const skel__conserving *em = s->integrator->conserving;
    int count = 0;

    for (int32_t k = 0; k < em->contact_count; ++k) {
        skel__conserving_contact *t = &em->contact[k];
        const skel__conserving_contact_force *e = &t->now;
        const double mu = ground_of(s->m, t->candidate)->friction;
        if (!(mu > 0) || t->change_count > CONTACT_CHANGES_MAX) continue;

        const v3 d = displacement_correction(s, t, h);
        const double dn = v3_dot(t->normal, d);
        const double bound = fmax(0, e->friction_bound + mu * e->normal_slope * dn);
        const v3 trial = v3_mad(e->trial, e->trial_stiffness, v3_mad(d, -dn, t->normal));
        if (!(bound > 0) && !(e->friction_bound > 0)) continue; /* it does not touch */

        const v3 direction = t->has_prediction ? t->predicted_trial : e->trial;
        const int is_backward = t->slips && v3_dot(trial, direction) < 0;
        const int slips = v3_norm(trial) > bound && !is_backward;
        if (slips == t->slips) continue;

        t->slips = slips;
        t->has_prediction = slips;
        t->predicted_trial = trial;
        ++count;
    }
    return count;
}

void skel__conserving_contacts_clear_prediction(skel_state *s) {
    const skel__conserving *em = s->integrator->conserving;
    for (int32_t k = 0; k < em->contact_count; ++k) em->contact[k].has_prediction = 0;
}

/* Contacts that have changed too often stay as they are. */
int skel__conserving_contacts_update_active_set(skel_state *s) {
    const skel__conserving *em = s->integrator->conserving;
    int count = 0;

    for (int32_t k = 0; k < em->contact_count; ++k) {
        skel__conserving_contact *t = &em->contact[k];
        const skel__conserving_contact_force *e = &t->now;
        if (!(ground_of(s->m, t->candidate)->friction > 0)) continue;

        const double tolerance = t->slips ? -CONTACT_CONE_TOL : CONTACT_CONE_TOL;
        const int slips = e->cone_excess > tolerance * e->friction_bound;
        if (slips == t->slips || ++t->change_count > 2 * CONTACT_CHANGES_MAX) continue;
        t->slips = slips;
        ++count;
    }
    return count;
}

/* ---- end of the step ---- */

void skel__conserving_contacts_end(skel_state *s) {
    const skel__conserving *em = s->integrator->conserving;
    const skel_model *m = s->m;

    for (int32_t k = 0; k < m->ncand; ++k) {
        s->stored_energy[k] = em->stored_energy_end[k];
        s->surface_offset[k] = 0;
    }

    /* The gap of a round shape at the end is not that of its tangent plane. The difference of the
       stored energies counts as work of the contact. */
    for (int32_t k = 0; k < em->contact_count; ++k) {
        const int32_t candidate = em->contact[k].candidate;
        const skel__candidate *p = &m->candidate[candidate];
        const skel__contact_point t = skel__contact_point_at(s, s->x, candidate);
        const double offset = surface_offset(m, p, t.gap, s->stored_energy[candidate]);
        const double stored = skel__contact_energy(&m->ground[p->ground], -(t.gap + offset));
        s->sum.contact += stored - s->stored_energy[candidate];
        s->stored_energy[candidate] = stored;
        s->surface_offset[candidate] = offset;
    }
    s->has_stored_energy = 1;
}

/* ---- accounting ---- */

/* Adds the work and impulse of a force that a prescribed body or the world exerts. */
static void account_outside(const skel_state *s, int32_t from, double h, v3 force, v3 point,
                            skel__power *sum) {
    const skel__conserving *em = s->integrator->conserving;
    if (skel__is_dynamic(s->m, from)) return;

    const v3 w = m3_mulv(s->r[from], em->w[from]);
    const v3 v = v3_add(em->vbar[from], v3_cross(w, mean_arm(s, from, point)));
    sum->drive += h * v3_dot(force, v);
    sum->force = v3_mad(sum->force, h, force);
    sum->torque = v3_mad(sum->torque, h, v3_cross(point, force));
}

/* Lets all tangential displacements decay, as they do without contact: e xi' = -k xi, implicitly.
   Those of contacts are overwritten afterwards. */
static void relax(skel_state *s, double h, skel__power *sum) {
    const skel__conserving *em = s->integrator->conserving;
    for (int32_t k = 0; k < s->m->ncand; ++k) {
        const skel__candidate *p = &s->m->candidate[k];
        const skel__ground *g = &s->m->ground[p->ground];
        const v3 xi = v3_of(s->internal + p->internal);
        const double e = skel__bristle_damping(g), keep = e / (e + g->stick_k * h);
        const double lost = 0.5 * g->stick_k * v3_dot(xi, xi) * (1.0 - keep * keep);

        v3_to(v3_scale(xi, keep), em->internal_end + p->internal);
        em->stored_energy_end[k] = 0;
        sum->contact -= lost;
        sum->stored -= lost;
    }
}

/* Adds the work of a contact and writes its internal variables. */
static void account_contact(skel_state *s, const skel__conserving_contact *t, double h,
                            skel__power *sum) {
    skel__conserving *em = s->integrator->conserving;
    const skel__candidate *p = &s->m->candidate[t->candidate];
    const skel__ground *g = &s->m->ground[p->ground];
    const skel__conserving_contact_force *e = &t->now;

    /* Undo relax(). The energy that the projection of xi onto the new tangent plane took counts as
       dissipated. */
    const v3 xi = v3_of(s->internal + p->internal);
    const v3 relaxed = v3_of(em->internal_end + p->internal);
    const double undo = 0.5 * g->stick_k * (v3_dot(xi, xi) - v3_dot(relaxed, relaxed));
    const double projected = 0.5 * g->stick_k * (v3_dot(t->xi, t->xi) - v3_dot(xi, xi));
    sum->contact += undo + projected + e->dissipated;
    sum->stored += undo + projected + e->stored;

    v3_to(e->xi1, em->internal_end + p->internal);
    em->slip_history[t->candidate] = (em->slip_history[t->candidate] << 1 | t->slips) & 7;
    em->stored_energy_end[t->candidate] = e->stored_end;

    account_outside(s, t->other, h, e->force, e->point, sum);
    account_outside(s, t->i, h, v3_neg(e->force), e->point, sum);
}

void skel__conserving_contacts_account(skel_state *s, double h, skel__power *sum) {
    const skel__conserving *em = s->integrator->conserving;
    v3 ground = {0, 0, 0};
    if (s->m->ncand == 0) return;
    relax(s, h, sum);

    for (int32_t k = 0; k < em->contact_count; ++k) {
        const skel__conserving_contact *t = &em->contact[k];
        account_contact(s, t, h, sum);

        /* Sum of the normal forces of grounds and prescribed bodies, for the report. */
        if (skel__is_ground(s->m, &s->m->candidate[t->candidate]))
            ground = v3_add(ground, t->now.normal_force);
        else if (!skel__is_dynamic(s->m, t->i))
            ground = v3_sub(ground, t->now.normal_force);
    }
    s->ground_force = v3_norm(ground);
}
