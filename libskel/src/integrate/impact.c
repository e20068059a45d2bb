/* SPDX-License-Identifier: BSD-3-Clause */
/* Rigid impacts [RUD 3.28-3.31 with ERRATA R4, R5] on grounds and at joint stops. Every contact and
   stop that touches at the time of the impact is a unilateral constraint. With G their rows (the
   normal, and two tangents at a contact), u = G v before the impact, and W = G M^-1 G^T through the
   joints, the impulses p satisfy
     u_n + (W p)_n >= -e u_n,   p_n >= 0,   p_n (u_n + (W p)_n + e u_n) = 0      (normal, stop)
     u_t + (W p)_t = -e_t u_t  within  |p_t| <= mu p_n                           (tangents)
   They are found by pivoting, or by projected Gauss-Seidel iteration if there is friction. Newton's
   law of restitution can create energy if friction and several constraints act together; in that
   case the restitutions are reduced until it does not. A slow approach does not bounce: the event
   state becomes resting, and a stiff spring holds the contact or stop from then on. This also ends
   a sequence of ever smaller bounces.
   Conserving steps do not search for the time at which an inelastic stop is reached: its spring
   stops the joint within the step. The mean velocity of that step lies between v0 and 0, depending
   on when the stop was reached, so the velocity at its end, 2 vbar - v0, lies between v0 and -v0.
   An impulse at the end of the step makes it 0. */
#include "integrate/impact.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "integrate/integrator.h"
#include "math/dense.h"
#include "model/joint_kind.h"

#include <string.h>

/* Solution of one impact. */
#define IMPACT_CONSTRAINTS_MAX 32 /* solved at once; further ones follow in another round */
#define IMPACT_ROWS_MAX (3 * IMPACT_CONSTRAINTS_MAX)
#define IMPACT_ROUNDS_MAX 8
#define IMPACT_PIVOTS_MAX 200
#define IMPACT_SWEEPS_MAX 3000
#define IMPACT_SWEEPS_PER_CHECK 200   /* the change must halve at least once in so many sweeps */
#define IMPACT_IMPULSE_TOL 1e-13      /* relative to the largest impulse, or speed */
#define IMPACT_REGULARISATION 1e-12   /* relative, on the diagonal: redundant rows share impulses */
#define IMPACT_RESPONSE_MIN 1e-300    /* [1/kg] lower bound of a divisor */
#define IMPACT_FRICTION_MAX 1e4       /* a larger coefficient has the same effect */
#define IMPACT_REDUCTION 0.7          /* of friction or restitution, per repetition */
#define IMPACT_FRICTION_REDUCTIONS 24 /* the last one sets friction to zero */
#define IMPACT_RESTITUTION_REDUCTIONS 12
#define IMPACT_ENERGY_TOL 1e-11 /* relative to the sum of |p u| */
#define IMPACT_JAM_TOL 1e-6     /* relative to the speed before the impact */

/* Search for the time of the first impact within a step. */
#define IMPACT_SEARCH_TRIES 40
#define IMPACT_SEARCH_AIM 0.3       /* relative to the touch tolerance: target of the search */
#define IMPACT_SEARCH_STEP_MIN 1e-7 /* relative to the step: no shorter part is tried */
#define IMPACT_SEARCH_FALL_MIN 1e-9 /* relative to sqrt(L / g): shorter parts are rounding */
#define IMPACT_SEARCH_WIDTH 1e-12   /* relative to the step: the interval is narrow enough */

/* Distances of events. They are relative to the contact length, or to the length scale at a stop of
   a length; at a stop of an angle they are in radians. */
#define IMPACT_TOUCH_TOL 1e-7   /* close enough to take part in an impact */
#define IMPACT_DEPTH_TOL 1e-10  /* a deeper open event has passed its surface */
#define IMPACT_RELEASE_GAP 1e-4 /* a resting event that is farther away becomes open */
#define IMPACT_START_DEPTH 0.05 /* an initial penetration beyond it gets slack */
#define EVENT_FAR 1.0           /* distance of an event that cannot happen */
#define EVENT_WIDTH 1e-12       /* more than rounding: margin within which both states are valid */
#define EVENT_DEPTH_WIDTHS 1e3  /* beyond it a state is wrong, whatever the velocity is */
#define EVENT_LAW_TOL 1e-9      /* a force law this close to its edge is decided by the velocity */
#define EVENT_ROUNDS_MAX 4      /* repetitions of changed states and impacts at one time */

/* Speeds below which there is no bounce. */
#define IMPACT_SPEED_MIN 0.01  /* relative to sqrt(g l) with l the contact length */
#define IMPACT_SPIN_MIN 0.02   /* relative to sqrt(g / L) with L the length scale */
#define IMPACT_REST_SHARE 0.05 /* of those: a slower approach needs no impulse */

/* A contact or stop that takes part in an impact. Its rows act on body `i` and on body `other`. */
typedef struct constraint {
    int32_t event, i, other;
    int rows;         /* 3: contact (normal and two tangents); 1: stop */
    v3 point;         /* [m] world */
    int is_bilateral; /* an inelastic stop reached within the step: the impulse may pull, too */
    int is_leaving;   /* open and separating */
    double friction, restitution, tangential_restitution;
    double speed; /* [m/s] or [rad/s] along the normal before the impact; negative: approaching */
    double value; /* distance of the event, relative to its unit of length */
    double ga[3][6], gb[3][6];
} constraint;

struct skel__impact {
    constraint at[IMPACT_CONSTRAINTS_MAX];
    int count, rows;
    double u[IMPACT_ROWS_MAX], p[IMPACT_ROWS_MAX], w[IMPACT_ROWS_MAX * IMPACT_ROWS_MAX];
    double a[IMPACT_CONSTRAINTS_MAX * IMPACT_CONSTRAINTS_MAX], b[IMPACT_CONSTRAINTS_MAX];
    skel__twist *answer;   /* (IMPACT_ROWS_MAX x na) velocity change per unit impulse of each row */
    skel__variables saved; /* the state before the step that is tried */
    int32_t *caught;       /* (ne) inelastic stops that were reached in the last step */
};

skel_status skel__impact_reserve(skel_state *s) {
    if (!skel__has_impacts(s->m) || skel__has_impact_workspace(s)) return SKEL_OK;
    if (skel__integrator_attach(s) != SKEL_OK) return SKEL_E_MEMORY;
    const size_t na = (size_t)s->m->na;
    skel__carver c = {NULL, 0};
    struct skel__impact *to = NULL;
    for (int pass = 0; pass < 2; ++pass) {
        to = skel__carve(&c, 1, sizeof *to);
        skel__twist *answer = skel__carve(&c, IMPACT_ROWS_MAX * na, sizeof *answer);
        void *arrays = skel__carve(&c, skel__variables_bytes(s->m), 1);
        int32_t *caught = skel__carve(&c, (size_t)skel__event_count(s->m), sizeof *caught);
        if (to) {
            to->answer = answer;
            to->saved.arrays = arrays;
            to->caught = caught;
        }
        if (pass == 1) break;
        void *block = skel__alloc(&s->m->allocator, c.used);
        if (!block) return SKEL_E_MEMORY;
        c = (skel__carver){block, 0};
    }
    s->integrator->impact = to;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the second pass carves a block */
    memset(to->caught, 0, (size_t)skel__event_count(s->m) * sizeof *to->caught);
    return SKEL_OK;
}

static void go_back(skel_state *s) {
    skel__variables_copy(&s->variables, &s->integrator->impact->saved);
    s->is_factored = 0;
    skel__conserving_forget(s);
}

/* ---- events ---- */

static const skel__joint *joint_of_event(const skel_model *m, int32_t event) {
    return &m->joint[(event - m->ncand) / 4];
}

/* Which of the two coordinates of its joint the event of a stop belongs to. */
static int coordinate_of_event(const skel_model *m, int32_t event) {
    return (event - m->ncand) % 4 / 2;
}

static int is_rigid_candidate(const skel_model *m, int32_t candidate) {
    return m->ground[m->candidate[candidate].ground].is_rigid;
}

static int32_t coordinates_at(const skel_state *s, const skel__joint *j, skel__coordinate c[2]) {
    return skel__coordinates_of(j, pose_mul(skel__pose_of(s->x, j->a), j->fa),
                                pose_mul(skel__pose_of(s->x, j->b), j->fb), c);
}

/* Distance of coordinate k from its stop, or from the beginning of its limiting torque. The first
   coordinate of a ball is the angle of a cone, which has no lower limit. */
static double distance_to_stop(const skel__joint *j, int k, int high, double c, double slack) {
    const int is_cone = j->type == SKEL_JOINT_BALL && k == 0;
    if (is_cone && !high) return EVENT_FAR;
    return (high ? j->stop_high[k] - c : c - j->stop_low[k]) - j->limits.law_range + slack;
}

static void stop_values(const skel_state *s, double *out) {
    const skel_model *m = s->m;
    for (int32_t e = 0; m->has_joint_forces && e < m->nj; ++e) {
        const skel__joint *j = &m->joint[e];
        double *to = out + skel__stop_event(m, e, 0, 0);
        skel__coordinate c[2];

        for (int k = 0; k < 4; ++k) to[k] = EVENT_FAR;
        if (!j->limits.is_set) continue;

        const int32_t n = coordinates_at(s, j, c);
        for (int k = 0; k < n; ++k)
            for (int high = 0; high < 2; ++high) {
                const double slack = s->slack[skel__stop_event(m, e, k, high)];
                to[2 * k + high] = distance_to_stop(j, k, high, c[k].c, slack);
            }
    }
}

void skel__event_values(const skel_state *s, double *out) {
    const skel_model *m = s->m;
    skel__pair_filter scan = {0};

    /* Gaps of candidates. The filter skips pairs of bodies that are far apart. */
    for (int32_t k = 0; k < m->ncand; ++k) {
        const int far =
            skel__pair_is_far(&scan, m, &m->candidate[k], s->x, EVENT_FAR * m->contact_length);
        const double gap = far ? INFINITY : skel__contact_point_at(s, s->x, k).gap;
        out[k] = fmin(gap, EVENT_FAR * m->contact_length);
    }
    stop_values(s, out);
}

/* Whether the event is a stop that acts within conserving steps, without an impact. */
static int is_inelastic_stop(const skel_state *s, int32_t event) {
    if (!s->has_inelastic_stops || event < s->m->ncand) return 0;
    const skel__joint *j = joint_of_event(s->m, event);
    return skel__has_stop(j) && !(j->limits.restitution > 0);
}

/* Whether no event needs its time of impact to be searched for. */
static int has_only_inelastic_stops(const skel_state *s) {
    return s->has_inelastic_stops && !s->m->has_rigid && s->m->nbounce == 0;
}

/* Whether the event belongs to a rigid ground or a hard stop. *unit is its unit of length. */
static int is_rigid(const skel_model *m, int32_t event, double *unit) {
    *unit = m->contact_length;
    if (event < m->ncand) return is_rigid_candidate(m, event);

    const skel__joint *j = joint_of_event(m, event);
    *unit = skel__is_length(j->type, coordinate_of_event(m, event)) ? m->length_scale : 1.0;
    return skel__has_stop(j);
}

/* Time derivative of the value of an event; negative: it is approached. After skel__prepare. */
static double event_rate(const skel_state *s, int32_t event) {
    const skel_model *m = s->m;
    if (event < m->ncand) {
        const skel__candidate *p = &m->candidate[event];
        const skel__contact_point t = skel__contact_point_at(s, s->x, event);
        const v3 u = v3_sub(skel__velocity_at(s, s->x, p->i, t.point_i),
                            skel__velocity_at(s, s->x, skel__candidate_other(m, p), t.point_i));
        return v3_dot(t.normal, u);
    }

    const skel__joint *j = joint_of_event(m, event);
    const int k = coordinate_of_event(m, event), is_high = (event - m->ncand) % 2;
    const skel__joint_world g = skel__joint_at(s, s->x, j);
    skel__coordinate c[2];
    coordinates_at(s, j, c);

    const v3 rate = skel__is_length(j->type, k) ? skel__joint_slip(s, s->x, j, &g)
                                                : v3_sub(s->ww[j->b], s->ww[j->a]);
    return (is_high ? -1.0 : 1.0) * v3_dot(c[k].gradient, rate);
}

/* ---- search for the first impact of a step ---- */

/* Whether an open rigid event is within the touch tolerance and does not separate. (An event that
   an impact has just opened is still within the tolerance.) */
static int is_at_impact(skel_state *s, const double *values) {
    double unit;
    skel__prepare(s, s->x);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        if (s->event_state[k] != SKEL__EVENT_OPEN || !is_rigid(s->m, k, &unit) ||
            is_inelastic_stop(s, k))
            continue;
        if (values[k] <= IMPACT_TOUCH_TOL * unit && !(event_rate(s, k) > 0)) return 1;
    }
    return 0;
}

/* Whether event k is open and rigid and passed its surface between the two values. */
static int has_crossed(const skel_state *s, int32_t k, double before, double after) {
    double unit;
    if (s->event_state[k] != SKEL__EVENT_OPEN || !is_rigid(s->m, k, &unit) ||
        is_inelastic_stop(s, k))
        return 0;
    if (before < 0 && after >= before) return 0; /* it separates after an impact */
    return after < -IMPACT_DEPTH_TOL * unit;
}

static int any_crossed(const skel_state *s, const double *before, const double *after) {
    for (int32_t k = 0; k < skel__event_count(s->m); ++k)
        if (has_crossed(s, k, before[k], after[k])) return 1;
    return 0;
}

void skel__stops_make_inelastic(skel_state *s) {
    const int32_t first = skel__stop_event(s->m, 0, 0, 0);
    s->has_inelastic_stops = 1;
    for (int32_t k = first; s->m->nstop > 0 && k < skel__event_count(s->m); ++k)
        if (is_inelastic_stop(s, k)) s->event_state[k] = SKEL__EVENT_RESTING;
}

void skel__stop_note_caught(skel_state *s, int32_t event) {
    s->integrator->impact->caught[event] = is_inelastic_stop(s, event);
}

/* Bracket of the first impact: `low` is the longest tried time without a crossing, `high` the
   shortest with one [s]. The arrays (ne) hold the values of all events at both, and the rates of
   those that cross at `low`. */
typedef struct search {
    double low, high;
    double *at_low, *rate_low, *at_high;
} search;

/* Rates of the events that cross, at the present state, which is the end of the time f->low. */
static void measure_rates(skel_state *s, const search *f) {
    skel__prepare(s, s->x);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k)
        if (has_crossed(s, k, f->at_low[k], f->at_high[k])) f->rate_low[k] = event_rate(s, k);
}

/* Zero of the parabola v + r x + c x^2 with v + r + c = end, as a share x of the bracket:
     x = 2 v / (sqrt(r^2 - 4 c v) - r). */
static double parabola_zero(double v, double rate, double end) {
    const double curve = end - v - rate, root = rate * rate - 4 * curve * v;
    const double divisor = root > 0 ? sqrt(root) - rate : 0;
    return divisor > 0 ? 2 * v / divisor : 0;
}

/* The time at which the first event is predicted to come within the touch tolerance [s]. */
static double predict_impact(const skel_state *s, const search *f) {
    double first = 1, unit;

    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        if (!has_crossed(s, k, f->at_low[k], f->at_high[k])) continue;

        is_rigid(s->m, k, &unit);
        const double tolerance = IMPACT_TOUCH_TOL * unit;
        const double aim =
            f->at_low[k] > tolerance ? IMPACT_SEARCH_AIM * IMPACT_TOUCH_TOL * unit : 0;
        const double v = fmax(f->at_low[k] - aim, 0), rate = f->rate_low[k] * (f->high - f->low);
        first = fmin(first, parabola_zero(v, rate, f->at_high[k] - aim));
    }
    return f->low + first * (f->high - f->low);
}

int skel__step_until_impact(skel_state *s, double h, skel__step_fn step, void *data, double *done) {
    const size_t ne = (size_t)skel__event_count(s->m);
    const double fall = sqrt(s->m->length_scale / s->m->gravity_norm);
    const double least = fmin(h, fmax(IMPACT_SEARCH_STEP_MIN * h, IMPACT_SEARCH_FALL_MIN * fall));
    double *now = s->event_value + 3 * ne;
    search f = {0, h, s->event_value, s->event_value + ne, s->event_value + 2 * ne};
    double length = h;

    *done = h;
    if (!skel__has_impacts(s->m) || has_only_inelastic_stops(s)) return step(s, h, data);
    skel__event_values(s, f.at_low);
    skel__variables_copy(&s->integrator->impact->saved, &s->variables);

    for (int n = 0; n < IMPACT_SEARCH_TRIES; ++n) {
        if (!step(s, length, data)) return 0;
        *done = length;

        /* The search ends if the step has no crossing, or ends at an impact. */
        skel__event_values(s, now);
        const int has_hit = any_crossed(s, f.at_low, now);
        if (!has_hit && (length >= f.high || is_at_impact(s, now))) break;

        *(has_hit ? &f.high : &f.low) = length;
        memcpy(has_hit ? f.at_high : f.at_low, now, ne * sizeof *now);
        if (!has_hit) measure_rates(s, &f);
        if (f.high - f.low < IMPACT_SEARCH_WIDTH * h || f.high <= least ||
            n + 1 == IMPACT_SEARCH_TRIES)
            break;

        /* The next length is predicted by parabolas; every fourth one bisects the bracket. */
        go_back(s);
        if (f.low == 0) measure_rates(s, &f);
        const double guess = predict_impact(s, &f);
        const int is_inside = n % 4 < 3 && guess > f.low && guess < f.high;
        length = fmax(is_inside ? guess : 0.5 * (f.low + f.high), least);
    }
    return 1;
}

/* ---- event states ---- */

/* Whether the event is a candidate of a rigid ground whose body is pinned. */
static int is_pinned_candidate(const skel_state *s, int32_t event) {
    if (event >= s->m->ncand || !is_rigid_candidate(s->m, event)) return 0;
    for (int32_t k = 0; k < s->m->npin; ++k)
        if (s->is_pinned[k] && s->m->pin[k] == s->m->candidate[event].i) return 1;
    return 0;
}

/* The value below which an initial pose is given slack, so that it is not thrown back: any depth at
   a rigid event, a considerable depth in a soft ground, none at a limiting torque. */
static double slack_threshold(const skel_model *m, int32_t event, int rigid) {
    if (rigid) return 0;
    return event < m->ncand ? -IMPACT_START_DEPTH * m->contact_length : -INFINITY;
}

void skel__event_states_start(skel_state *s) {
    if (s->has_event_states) return;

    skel__event_values(s, s->event_value);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        double unit;
        const int rigid = is_rigid(s->m, k, &unit);
        const double value = s->event_value[k];

        if (value < slack_threshold(s->m, k, rigid)) s->slack[k] -= value;
        s->event_state[k] =
            value <= IMPACT_TOUCH_TOL * unit ? SKEL__EVENT_RESTING : SKEL__EVENT_OPEN;
        if (is_pinned_candidate(s, k)) {
            s->event_state[k] = SKEL__EVENT_PINNED;
            s->slack[k] = 0;
        }
    }
    s->has_event_states = 1;
    s->stops_near_count = 1; /* unknown before the first step: assume one */
}

void skel__event_states_of_force_laws(skel_state *s) {
    skel__prepare(s, s->x);
    skel__event_values(s, s->event_value);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        double unit;
        if (is_rigid(s->m, k, &unit)) continue;

        const double value = s->event_value[k];
        const int is_near = fabs(value) <= EVENT_LAW_TOL * unit;
        s->event_state[k] = is_near ? event_rate(s, k) < 0 : value < 0;
    }
}

/* Distance of event k beyond the end of its state, in widths: an open event may be one width deep,
   a resting one may be one width away. In between, where rounding decides, both states are valid.
   */
static double state_excess(const skel_state *s, int32_t k) {
    double unit;
    is_rigid(s->m, k, &unit);
    const double value = s->event_value[k] / (EVENT_WIDTH * unit);

    if (s->event_state[k] == SKEL__EVENT_PINNED) return -INFINITY;
    return (s->event_state[k] == SKEL__EVENT_OPEN ? -value : value) - 1.0;
}

/* Whether event k must change its state. An event that an impact has just opened moves back toward
   its state and need not change. */
static int is_state_wrong(const skel_state *s, int32_t k, double excess) {
    if (!(excess > 0)) return 0;
    if (excess > EVENT_DEPTH_WIDTHS) return 1;
    const double rate = event_rate(s, k);
    return s->event_state[k] == SKEL__EVENT_OPEN ? rate < 0 : rate > 0;
}

int skel__event_states_wrong(skel_state *s, double *excess) {
    int count = 0;
    skel__prepare(s, s->x);
    skel__event_values(s, s->event_value);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        excess[k] = state_excess(s, k);
        count += is_state_wrong(s, k, excess[k]);
    }
    return count;
}

/* Changes the states that are wrong, and returns their number. In the first round an open event
   that reaches a rigid surface is left to the impact. */
static int change_states(skel_state *s, int is_first_round) {
    double unit;
    double *excess = s->event_value + skel__event_count(s->m);
    const int changes = skel__event_states_wrong(s, excess);

    for (int32_t k = 0; changes > 0 && k < skel__event_count(s->m); ++k) {
        if (!is_state_wrong(s, k, excess[k])) continue;
        const int is_open = s->event_state[k] == SKEL__EVENT_OPEN;
        if (is_first_round && is_open && is_rigid(s->m, k, &unit)) continue;
        s->event_state[k] = is_open ? SKEL__EVENT_RESTING : SKEL__EVENT_OPEN;
    }
    return changes;
}

void skel__event_states_update(skel_state *s) {
    /* An impact changes velocities, and with them the states that are valid. */
    for (int round = 0; round < EVENT_ROUNDS_MAX; ++round) {
        if (change_states(s, round == 0) == 0) break;
        skel__impacts(s);
    }
}

/* ---- constraints of an impact ---- */

/* Row of a unit force on body i at arm_a, and of the opposite force on the other body at arm_b. */
static void set_row(constraint *p, int r, v3 force, v3 arm_a, v3 arm_b) {
    v3_to(force, p->ga[r]);
    v3_to(v3_cross(arm_a, force), p->ga[r] + 3);
    v3_to(v3_neg(force), p->gb[r]);
    v3_to(v3_neg(v3_cross(arm_b, force)), p->gb[r] + 3);
}

static constraint contact_constraint(const skel_state *s, int32_t event) {
    const skel_model *m = s->m;
    const skel__candidate *candidate = &m->candidate[event];
    const skel__ground *g = &m->ground[candidate->ground];
    const skel__contact_point t = skel__contact_point_at(s, s->x, event);
    constraint p = {
        .event = event, .i = candidate->i, .other = skel__candidate_other(m, candidate), .rows = 3};
    p.point = v3_mad(t.point_i, -t.radius_i, t.normal);
    p.friction = fmin(g->friction, IMPACT_FRICTION_MAX);
    p.restitution = g->restitution;
    p.tangential_restitution = g->tangential_restitution;

    const v3 e1 = v3_perpendicular(t.normal), e2 = v3_cross(t.normal, e1);
    const v3 row[3] = {t.normal, e1, e2};
    for (int r = 0; r < 3; ++r)
        set_row(&p, r, row[r], v3_sub(p.point, s->x[p.i].p), v3_sub(p.point, s->x[p.other].p));
    return p;
}

/* The row points away from the stop. */
static constraint stop_constraint(const skel_state *s, int32_t joint, const skel__coordinate *c,
                                  int k, int high) {
    const skel__joint *j = &s->m->joint[joint];
    const v3 none = {0, 0, 0}, g = v3_scale(c->gradient, high ? -1.0 : 1.0);
    constraint p = {.i = j->b, .other = j->a, .rows = 1};
    p.event = skel__stop_event(s->m, joint, k, high);
    p.restitution = j->limits.restitution;
    p.point = v3_add(s->x[j->b].p, q_rotate(s->x[j->b].q, j->fb.p));

    /* A force along the axis for a length, a torque about it for an angle. */
    if (skel__is_length(j->type, k)) {
        set_row(&p, 0, g, v3_sub(p.point, s->x[p.i].p), v3_sub(p.point, s->x[p.other].p));
        return p;
    }
    v3_to(none, p.ga[0]);
    v3_to(g, p.ga[0] + 3);
    v3_to(none, p.gb[0]);
    v3_to(v3_neg(g), p.gb[0] + 3);
    return p;
}

static double row_speed(const skel_state *s, const constraint *p, int r) {
    const skel__twist a = {s->x[p->i].v, s->ww[p->i]}, b = {s->x[p->other].v, s->ww[p->other]};
    return skel__row_dot(p->ga[r], a) + skel__row_dot(p->gb[r], b);
}

/* Speed below which the constraint does not bounce [m/s], or [rad/s] at a stop of an angle. */
static double slow_speed(const skel_model *m, const constraint *p) {
    const int is_angle = p->rows == 1 && !skel__is_length(joint_of_event(m, p->event)->type,
                                                          coordinate_of_event(m, p->event));
    return is_angle ? IMPACT_SPIN_MIN * sqrt(m->gravity_norm / m->length_scale)
                    : IMPACT_SPEED_MIN * sqrt(m->gravity_norm * m->contact_length);
}

/* Adds the constraint if it touches. Returns whether it is approached so fast that it needs an
   impulse. Resting constraints count as well, because the stiff spring would only return a small
   speed; so do separating ones, because an impulse elsewhere may throw them back. */
static int add_constraint(skel_state *s, constraint p, double value, double unit) {
    struct skel__impact *im = s->integrator->impact;
    const int is_inelastic = is_inelastic_stop(s, p.event);
    int32_t *state = &s->event_state[p.event];

    if (!is_inelastic && *state == SKEL__EVENT_RESTING && value > IMPACT_RELEASE_GAP * unit)
        *state = SKEL__EVENT_OPEN;
    if (value > IMPACT_TOUCH_TOL * unit || im->count == IMPACT_CONSTRAINTS_MAX) return 0;
    if (*state == SKEL__EVENT_PINNED) return 0;

    p.speed = row_speed(s, &p, 0);
    p.value = value / unit;
    p.is_leaving = *state == SKEL__EVENT_OPEN && p.speed > 0;
    const double slow = slow_speed(s->m, &p);
    if (p.speed > -slow) p.restitution = 0;
    p.is_bilateral = is_inelastic && im->caught[p.event];
    im->at[im->count++] = p;

    const double approach = p.is_bilateral ? -fabs(p.speed) : p.speed;
    return approach < -(is_inelastic ? 1.0 : IMPACT_REST_SHARE) * slow;
}

/* Collects the constraints that touch, and returns how many of them need an impulse. */
static int find_constraints(skel_state *s) {
    const skel_model *m = s->m;
    int fast = 0;
    double unit;
    s->integrator->impact->count = 0;
    if (m->has_rigid)
        skel__event_values(s, s->event_value);
    else
        stop_values(s, s->event_value);

    /* Contacts with rigid grounds. */
    for (int32_t k = 0; m->has_rigid && k < m->ncand; ++k)
        if (is_rigid(m, k, &unit) && (s->event_value[k] <= IMPACT_TOUCH_TOL * unit ||
                                      s->event_state[k] == SKEL__EVENT_RESTING))
            fast += add_constraint(s, contact_constraint(s, k), s->event_value[k], unit);

    /* Hard stops, both sides of every coordinate. */
    for (int32_t e = 0; m->nstop > 0 && e < m->nj; ++e) {
        if (!skel__has_stop(&m->joint[e])) continue;
        skel__coordinate c[2];
        const int32_t n = coordinates_at(s, &m->joint[e], c);
        for (int32_t k = 0; k < 2 * n; ++k) {
            const int32_t event = skel__stop_event(m, e, 0, 0) + k;
            const double value = s->event_value[event];
            is_rigid(m, event, &unit);
            if (value <= IMPACT_TOUCH_TOL * unit ||
                (s->event_state[event] == SKEL__EVENT_RESTING && !is_inelastic_stop(s, event)))
                fast +=
                    add_constraint(s, stop_constraint(s, e, &c[k / 2], k / 2, k % 2), value, unit);
        }
    }
    return fast;
}

/* ---- impulses ---- */

/* Velocity change of all bodies by a unit impulse along a row: M^-1 G^T through the joints. It is
   the acceleration by a unit force from rest. */
static void find_response(skel_state *s, const constraint *p, int r, skel__twist *out) {
    const skel_model *m = s->m;
    memset(s->f - 1, 0, ((size_t)m->na + 1) * sizeof *s->f);
    memset(s->bias, 0, (size_t)m->na * sizeof *s->bias);
    memset(s->acc - 1, 0, ((size_t)m->na + 1) * sizeof *s->acc);
    s->f[p->i] = (skel__wrench){v3_of(p->ga[r]), v3_of(p->ga[r] + 3)};
    s->f[p->other] = (skel__wrench){v3_of(p->gb[r]), v3_of(p->gb[r] + 3)};

    skel__aba_solve(s);
    if (s->nloop > 0) skel__loops_solve(s, s->stage, SKEL__LOOP_ACCELERATE);

    for (int32_t k = 0; k < m->np; ++k) s->acc[m->prescribed[k]] = (skel__twist){0};
    s->acc[-1] = (skel__twist){0};
    memcpy(out, s->acc, (size_t)m->na * sizeof *out);
}

/* Fills u = G v, the responses and W = G M^-1 G^T. Returns 0 if the equations are singular. */
static int build_system(skel_state *s) {
    const skel_model *m = s->m;
    struct skel__impact *im = s->integrator->impact;
    const skel__twist none = {0};

    im->rows = 0;
    for (int k = 0; k < im->count; ++k)
        for (int r = 0; r < im->at[k].rows; ++r) im->u[im->rows++] = row_speed(s, &im->at[k], r);

    /* The articulated inertias at the present pose, with all bodies at rest. */
    for (int32_t i = -1; i < m->na; ++i) s->stage[i] = (skel__kin){.p = s->x[i].p, .q = s->x[i].q};
    skel__prepare(s, s->stage);
    if (skel__aba_factor(s, s->stage) != SKEL_OK) return 0;

    int row = 0;
    for (int k = 0; k < im->count; ++k)
        for (int r = 0; r < im->at[k].rows; ++r, ++row)
            find_response(s, &im->at[k], r, im->answer + (size_t)row * (size_t)m->na);

    row = 0;
    for (int k = 0; k < im->count; ++k)
        for (int r = 0; r < im->at[k].rows; ++r, ++row)
            for (int c = 0; c < im->rows; ++c) {
                const constraint *p = &im->at[k];
                const skel__twist *y = im->answer + (size_t)c * (size_t)m->na;
                im->w[row * im->rows + c] =
                    skel__row_dot(p->ga[r], p->i < 0 ? none : y[p->i]) +
                    skel__row_dot(p->gb[r], p->other < 0 ? none : y[p->other]);
            }
    return 1;
}

/* (u + W p) of a row. */
static double speed_after(const struct skel__impact *im, int row) {
    double u = im->u[row];
    for (int c = 0; c < im->rows; ++c) u += im->w[row * im->rows + c] * im->p[c];
    return u;
}

/* Tangential impulses of the contact whose normal is `row`: they lead to the speed -e_t u_t, within
   the friction cone. Returns the largest change. */
static double update_friction(struct skel__impact *im, const constraint *p, int row,
                              double restitution_scale, double friction_scale) {
    double before[2], wanted[2], size = 0;
    const double most = friction_scale * p->friction * im->p[row];
    const double wt = fmax(im->w[(row + 1) * (im->rows + 1)], im->w[(row + 2) * (im->rows + 1)]);

    for (int e = 0; e < 2; ++e) {
        const double u = speed_after(im, row + 1 + e);
        before[e] = im->p[row + 1 + e];
        wanted[e] =
            before[e] - (u + restitution_scale * p->tangential_restitution * im->u[row + 1 + e]) /
                            fmax(wt, IMPACT_RESPONSE_MIN);
        size += wanted[e] * wanted[e];
    }

    size = sqrt(size);
    for (int e = 0; e < 2; ++e)
        im->p[row + 1 + e] = size > most ? wanted[e] * most / size : wanted[e];
    return fmax(fabs(im->p[row + 1] - before[0]), fabs(im->p[row + 2] - before[1]));
}

/* Impulses of the active constraints for the speeds -wanted, all others zero. */
static void solve_active(struct skel__impact *im, const int *is_active, const double *wanted) {
    const int n = im->count;
    int list[IMPACT_CONSTRAINTS_MAX], count = 0;
    memset(im->p, 0, sizeof im->p);
    for (int k = 0; k < n; ++k)
        if (is_active[k]) list[count++] = k;

    for (int r = 0; r < count; ++r) {
        im->b[r] = -wanted[list[r]];
        for (int c = 0; c < count; ++c) im->a[r * count + c] = im->w[list[r] * n + list[c]];
        im->a[r * (count + 1)] *= 1.0 + IMPACT_REGULARISATION;
    }
    skel__solve(im->a, im->b, count);
    for (int r = 0; r < count; ++r) im->p[list[r]] = im->b[r];
}

/* Impulses without friction, by principal pivoting: constraints that are approached become active
   and those that would pull become inactive. All change at once; if that cycles, only the first one
   does [Murty], which terminates. Returns 0 if it did not within IMPACT_PIVOTS_MAX rounds. */
static int solve_by_pivoting(struct skel__impact *im, double restitution_scale) {
    const int n = im->count;
    double wanted[IMPACT_CONSTRAINTS_MAX] = {0}, largest = 0;
    int is_active[IMPACT_CONSTRAINTS_MAX];

    /* First the constraints that are approached. wanted: u_n + e min(u_n, 0). */
    for (int k = 0; k < n; ++k) {
        wanted[k] = im->u[k] + restitution_scale * im->at[k].restitution * fmin(im->u[k], 0);
        is_active[k] = wanted[k] < 0 || im->at[k].is_bilateral;
        largest = fmax(largest, fabs(wanted[k]));
    }

    for (int round = 0; round < IMPACT_PIVOTS_MAX; ++round) {
        int has_changed = 0;
        solve_active(im, is_active, wanted);

        /* The complementarity conditions; only the first violation counts after n rounds. */
        for (int k = 0; k < n && (round < n || !has_changed); ++k) {
            const double u = speed_after(im, k) - im->u[k] + wanted[k];
            const int pulls = is_active[k] && !(im->p[k] >= 0);
            const int approaches = !is_active[k] && u < -IMPACT_IMPULSE_TOL * largest;
            const int is_wrong = !im->at[k].is_bilateral && (pulls || approaches);
            is_active[k] ^= is_wrong;
            has_changed |= is_wrong;
        }
        if (!has_changed) return 1;
    }
    return 0;
}

/* Impulses by pivoting or, with friction, by projected Gauss-Seidel iteration. An iteration that
   goes in circles, as it can with much friction, ends early: to reach the tolerance within
   IMPACT_SWEEPS_MAX, the change must halve every 70 sweeps. */
static void solve_impulses(struct skel__impact *im, double restitution_scale,
                           double friction_scale) {
    const int has_friction = im->rows != im->count;
    if (!has_friction && solve_by_pivoting(im, restitution_scale)) return;

    memset(im->p, 0, sizeof im->p);
    double checked_change = INFINITY;
    for (int n = 1; n <= IMPACT_SWEEPS_MAX; ++n) {
        double change = 0, largest = 0;
        int row = 0;
        for (int k = 0; k < im->count; row += im->at[k++].rows) {
            /* The normal impulse for the speed -e u_n, then the tangential ones within the cone. */
            const constraint *p = &im->at[k];
            const double approach = fmin(im->u[row], 0), before = im->p[row];
            const double u = speed_after(im, row) + restitution_scale * p->restitution * approach;
            im->p[row] = before - u / fmax(im->w[row * (im->rows + 1)], IMPACT_RESPONSE_MIN);
            if (!p->is_bilateral) im->p[row] = fmax(0, im->p[row]);
            change = fmax(change, fabs(im->p[row] - before));
            if (p->rows == 3)
                change =
                    fmax(change, update_friction(im, p, row, restitution_scale, friction_scale));
            largest = fmax(largest, fabs(im->p[row]));
        }
        if (change <= IMPACT_IMPULSE_TOL * largest) return;

        if (n % IMPACT_SWEEPS_PER_CHECK == 0) {
            if (!(change < 0.5 * checked_change)) return;
            checked_change = change;
        }
    }
}

/* Kinetic energy that the impulses add [J], at one constraint or (only < 0) at all. */
static double added_energy(const struct skel__impact *im, int only) {
    double sum = 0;
    int row = 0;
    for (int k = 0; k < im->count; ++k)
        for (int r = 0; r < im->at[k].rows; ++r, ++row)
            if (only < 0 || only == k)
                sum += 0.5 * im->p[row] * (im->u[row] + speed_after(im, row));
    return sum;
}

static double energy_scale(const struct skel__impact *im) {
    double sum = 0;
    for (int r = 0; r < im->rows; ++r) sum += fabs(im->p[r] * im->u[r]);
    return sum;
}

/* Whether a constraint is still approached. Steep rods with much friction can jam [Painleve]. */
static int is_jammed(const struct skel__impact *im) {
    int row = 0;
    for (int k = 0; k < im->count; row += im->at[k++].rows)
        if (speed_after(im, row) < -IMPACT_JAM_TOL * fabs(im->u[row])) return 1;
    return 0;
}

/* Impulses that neither jam nor add energy. The last reduction of each kind is to zero. */
static void solve(struct skel__impact *im) {
    double restitution = 1, friction = 1;
    solve_impulses(im, restitution, friction);

    for (int n = 1; n <= IMPACT_FRICTION_REDUCTIONS && is_jammed(im); ++n) {
        friction = n < IMPACT_FRICTION_REDUCTIONS ? IMPACT_REDUCTION * friction : 0;
        solve_impulses(im, restitution, friction);
    }
    for (int n = 1; n <= IMPACT_RESTITUTION_REDUCTIONS &&
                    added_energy(im, -1) > IMPACT_ENERGY_TOL * energy_scale(im);
         ++n) {
        restitution = n < IMPACT_RESTITUTION_REDUCTIONS ? IMPACT_REDUCTION * restitution : 0;
        solve_impulses(im, restitution, friction);
    }
}

/* Work of the other body of a contact [J], if its motion is prescribed. */
static double work_of_drive(const skel_state *s, const constraint *p, int row) {
    v3 f = {0, 0, 0};
    if (p->rows == 1 || skel__is_dynamic(s->m, p->other)) return 0;
    for (int r = 0; r < p->rows; ++r)
        f = v3_mad(f, s->integrator->impact->p[row + r], v3_of(p->ga[r]));
    return v3_dot(f, skel__velocity_at(s, s->x, p->other, p->point));
}

/* Adds the changes of energy and momenta since `before` to the sums. Contacts and drives are
   accounted for by their impulses; the rest is the work of stops and joints. */
static void account(skel_state *s, const skel__momenta *before) {
    const skel__momenta after = skel__momenta_of(s);
    const struct skel__impact *im = s->integrator->impact;
    double contact = 0, drive = 0;
    int row = 0, is_driven = 0;
    for (int k = 0; k < im->count; row += im->at[k++].rows) {
        if (im->at[k].rows == 3) contact += added_energy(im, k);
        drive += work_of_drive(s, &im->at[k], row);
    }
    for (int32_t k = 0; k < s->m->np; ++k) {
        const skel__kin *x = &s->x[s->m->prescribed[k]];
        is_driven |= v3_norm(x->v) + v3_norm(x->w) > 0;
    }

    /* Moving drives act through the joints; without them the rest is dissipated. */
    const double rest = after.kinetic - before->kinetic - contact - drive;
    s->sum.contact += contact;
    s->sum.drive += is_driven ? drive + rest : drive;
    s->sum.friction += is_driven ? 0 : rest;
    s->sum.force = v3_add(s->sum.force, v3_sub(after.p, before->p));
    s->sum.torque = v3_add(s->sum.torque, v3_sub(after.l, before->l));
}

/* v += M^-1 G^T p for all dynamic bodies. */
static void apply(skel_state *s) {
    const skel_model *m = s->m;
    const struct skel__impact *im = s->integrator->impact;
    skel__prepare(s, s->x);
    for (int r = 0; r < im->rows; ++r)
        for (int32_t k = 0; im->p[r] != 0 && k < m->nd; ++k) {
            const int32_t i = m->order[k];
            const skel__twist *y = im->answer + (size_t)r * (size_t)m->na + i;
            s->x[i].v = v3_mad(s->x[i].v, im->p[r], y->v);
            s->x[i].w = v3_mad(s->x[i].w, im->p[r], skel__body_axes(s, i, y->w));
        }
    s->is_factored = 0;
}

/* Event states after the impact: a constraint that does not separate comes to rest. */
static void update_states(skel_state *s) {
    const struct skel__impact *im = s->integrator->impact;
    int row = 0;
    for (int k = 0; k < im->count; row += im->at[k++].rows) {
        const constraint *p = &im->at[k];
        if (is_inelastic_stop(s, p->event)) continue;
        const double after = im->rows > 0 ? speed_after(im, row) : p->speed;
        if (p->is_leaving && after > 0) continue;

        /* If the constraint is deep in its spring, the spring pushes it out. */
        if (after > slow_speed(s->m, p)) {
            if (!(p->value < -IMPACT_DEPTH_TOL)) s->event_state[p->event] = SKEL__EVENT_OPEN;
        } else if (s->event_state[p->event] == SKEL__EVENT_OPEN) {
            s->event_state[p->event] = SKEL__EVENT_RESTING;
            if (p->rows == 3)
                v3_to((v3){0, 0, 0}, s->internal + s->m->candidate[p->event].internal);
        }
    }
}

int skel__impacts(skel_state *s) {
    int impacts = 0;
    if (!skel__has_impact_workspace(s)) return 0;
    struct skel__impact *im = s->integrator->impact;
    if (has_only_inelastic_stops(s) && s->stops_near_count == 0) return 0;

    for (int n = 0; n < IMPACT_ROUNDS_MAX; ++n) {
        skel__prepare(s, s->x);
        const int fast = find_constraints(s);
        im->rows = 0;
        const skel__momenta before = skel__momenta_of(s);

        /* Velocities that violate the joints slightly would let the joints do work. */
        if (fast > 0) {
            skel__fit_velocities(s);
            skel__prepare(s, s->x);
        }

        const int has_impact = fast > 0 && build_system(s);
        if (has_impact) {
            solve(im);
            apply(s);
            account(s, &before);
            ++impacts;
        }
        update_states(s);
        if (!has_impact || im->count < IMPACT_CONSTRAINTS_MAX) break;
    }
    memset(im->caught, 0, (size_t)skel__event_count(s->m) * sizeof *im->caught);
    return impacts;
}
