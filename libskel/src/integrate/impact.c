/* SPDX-License-Identifier: BSD-3-Clause */
/* Rigid impacts [RUD 3.28-3.31 with ERRATA R4, R5] on grounds and at joint stops. All that is
   touched takes part: with G the rows of the touched places (normal, and two along a ground), u = G
   v before, W = G M^-1 G^T through the joints, impulses p are sought with
     u_n + (W p)_n >= -e u_n,   p_n >= 0,   p_n (u_n + (W p)_n + e u_n) = 0      (normal, stop)
     u_t + (W p)_t = -e_t u_t  within  |p_t| <= mu p_n                           (along a ground)
   by pivoting, with friction by projected Gauss-Seidel. Newton's law of restitution may create
   energy when friction and several places act together: then the restitutions are lowered until it
   does not. Slow ones do not bounce: they come to rest and are held by springs (push.c, element.c),
   which is also where endless ever smaller bounces end.
   In conserving steps a stop without restitution is not looked for in time: its spring has_inelastic_stops what
   runs into it within the step, whose mean velocity is then v0 .. 0 by where it was met and whose
   end velocity, 2 vbar - v0, is anything from v0 to -v0. An impulse at the end makes that 0. */
#include "integrate/impact.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "integrate/integrator.h"
#include "math/dense.h"

#include <string.h>

#define PLACES_MAX 32 /* at once; more are taken in turn */
#define ROWS_MAX (3 * PLACES_MAX)
#define SWEEPS_MAX 3000
#define PIVOTS_MAX 200
#define IMPLIED 1e-12 /* more on the diagonal: places that others imply share */
#define HIT_TRIES 40
#define HIT_AIM 0.3       /* of TOUCHED: the search aims at the middle of what is near enough */
#define HIT_WAY_MIN 1e-7  /* of the step: a hit is not sought at shorter ways, */
#define HIT_TIME_MIN 1e-9 /* nor of the time of a fall by the size: rounding would move bodies */
#define ROUGHEST 1e4      /* more friction is the same */
#define DONE 1e-13        /* of the largest impulse */
#define TOUCHED 1e-7      /* of the reach; radians at stops: near enough to be hit */
#define BELOW 1e-10       /* likewise: no deeper, for a stiff spring is there */
#define RELEASED 1e-4     /* likewise: what rested and is farther away is free again */
#define DEEP 0.05         /* of the reach, at the start: not a ground that is stood on */
#define SLOW 0.01         /* of the speed of a fall by the reach: does not bounce */
#define SLOW_TURN 0.02    /* of the rate sqrt(g / size) */
#define STILL 0.05        /* of that: left alone */
#define FAR_AWAY 1.0
#define MODE_WIDTH 1e-12 /* of the reach; radians at stops: more than rounding */
#define MODE_DEEP 1e3    /* of that width: wrong, wherever it is going */
#define MODE_ROUNDS 4

typedef struct place {
    int32_t event, i, other; /* i, other: bodies */
    int rows;                /* 3 on a ground, 1 at a stop */
    v3 point;
    int holds;                                    /* it caught: pulls as well as it pushes */
    int leaves;                                   /* free and on its way out */
    double friction, bounce, slide_bounce, speed; /* speed before, along the normal */
    double value;                                 /* how far it is, in its unit */
    double ga[3][6], gb[3][6];
} place;

struct skel__impact {
    place at[PLACES_MAX];
    int count, rows;
    double u[ROWS_MAX], p[ROWS_MAX], w[ROWS_MAX * ROWS_MAX];
    double a[PLACES_MAX * PLACES_MAX], b[PLACES_MAX];
    skel__twist *answer;   /* (ROWS_MAX x na) */
    skel__variables saved; /* the state before the step that is tried */
    int32_t *caught;       /* (ne) stops that caught in the last step */
};

skel_status skel__impact_reserve(skel_state *s) {
    if (!skel__has_impacts(s->m) || s->impact) return SKEL_OK;
    if (skel__integrator_attach(s) != SKEL_OK) return SKEL_E_MEMORY;
    const size_t na = (size_t)s->m->na;
    skel__carver c = {NULL, 0};
    struct skel__impact *to = NULL;
    for (int pass = 0; pass < 2; ++pass) {
        to = skel__carve(&c, 1, sizeof *to);
        skel__twist *answer = skel__carve(&c, ROWS_MAX * na, sizeof *answer);
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
    s->impact = to;
    /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): the second pass carves a block */
    memset(to->caught, 0, (size_t)skel__event_count(s->m) * sizeof *to->caught);
    return SKEL_OK;
}

static void go_back(skel_state *s) {
    skel__variables_copy(&s->variables, &s->impact->saved);
    s->is_factored = 0;
    skel__conserving_forget(s);
}

/* ---- events ---- */

static int is_rigid_candidate(const skel_model *m, int32_t candidate) {
    return m->ground[m->candidate[candidate].ground].is_rigid;
}

static int32_t scalars_at(const skel_state *s, const skel__joint *j, skel__coordinate c[2]) {
    return skel__coordinates_of(j, pose_mul(skel__pose_of(s->x, j->a), j->fa),
                                pose_mul(skel__pose_of(s->x, j->b), j->fb), c);
}

/* How far coordinate c is from its stop, or from where its limiting torque begins. */
static double left_of(const skel__joint *j, int k, int high, double c, double widen) {
    const int cone = j->type == SKEL_JOINT_BALL && k == 0;
    if (cone && !high) return FAR_AWAY;
    return (high ? j->stop_high[k] - c : c - j->stop_low[k]) - j->limits.law_range + widen;
}

static void stop_values(const skel_state *s, double *out) {
    const skel_model *m = s->m;
    for (int32_t e = 0; m->has_joint_forces && e < m->nj; ++e) {
        const skel__joint *j = &m->joint[e];
        double *to = out + skel__stop_event(m, e, 0, 0);
        skel__coordinate c[2];
        to[0] = to[1] = to[2] = to[3] = FAR_AWAY;
        if (!j->limits.is_set) continue;
        const int32_t n = scalars_at(s, j, c);
        for (int k = 0; k < n; ++k)
            for (int high = 0; high < 2; ++high) {
                const double widen = s->slack[skel__stop_event(m, e, k, high)];
                to[2 * k + high] = left_of(j, k, high, c[k].c, widen);
            }
    }
}

void skel__event_values(const skel_state *s, double *out) {
    const skel_model *m = s->m;
    skel__pair_filter scan = {0};
    for (int32_t k = 0; k < m->ncand; ++k) {
        const int far =
            skel__pair_is_far(&scan, m, &m->candidate[k], s->x, FAR_AWAY * m->contact_length);
        const double gap = far ? INFINITY : skel__contact_point_at(s, s->x, k).gap;
        out[k] = fmin(gap, FAR_AWAY * m->contact_length);
    }
    stop_values(s, out);
}

/* A stop that has_inelastic_stops instead of being hit. */
static int is_catch(const skel_state *s, int32_t event) {
    if (!s->has_inelastic_stops || event < s->m->ncand) return 0;
    const skel__joint *j = &s->m->joint[(event - s->m->ncand) / 4];
    return skel__has_stop(j) && !(j->limits.restitution > 0);
}

/* Whether nothing is hit at a moment that must be sought. */
static int only_catches(const skel_state *s) {
    return s->has_inelastic_stops && !s->m->has_rigid && s->m->nbounce == 0;
}

/* Rigid ground or hard stop, and its unit of length. */
static int is_rigid(const skel_model *m, int32_t event, double *unit) {
    *unit = m->contact_length;
    if (event < m->ncand) return is_rigid_candidate(m, event);
    const skel__joint *j = &m->joint[(event - m->ncand) / 4];
    *unit = j->type == SKEL_JOINT_SLIDE ? m->length_scale : 1.0;
    return skel__has_stop(j);
}

/* How fast the value of an event changes; negative: it is approached. After skel__prepare. */
static double event_rate(const skel_state *s, int32_t event) {
    const skel_model *m = s->m;
    if (event < m->ncand) {
        const skel__candidate *p = &m->candidate[event];
        const skel__contact_point t = skel__contact_point_at(s, s->x, event);
        const v3 u = v3_sub(skel__velocity_at(s, s->x, p->i, t.point_i),
                            skel__velocity_at(s, s->x, skel__candidate_other(m, p), t.point_i));
        return v3_dot(t.normal, u);
    }
    const int32_t e = (event - m->ncand) / 4, side = (event - m->ncand) % 4;
    const skel__joint *j = &m->joint[e];
    const skel__joint_world g = skel__joint_at(s, s->x, j);
    skel__coordinate c[2];
    scalars_at(s, j, c);
    const v3 rate = j->type == SKEL_JOINT_SLIDE ? skel__joint_slip(s, s->x, j, &g)
                                                : v3_sub(s->ww[j->b], s->ww[j->a]);
    return (side % 2 ? -1.0 : 1.0) * v3_dot(c[side / 2].gradient, rate);
}

/* Whether some free rigid event is within reach of its surface and not on its way out: where an
   impact has just thrown something off, its surface is still within reach. */
static int is_hit(skel_state *s, const double *values) {
    double unit;
    skel__prepare(s, s->x);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        if (s->event_state[k] != SKEL__EVENT_OPEN || !is_rigid(s->m, k, &unit) || is_catch(s, k))
            continue;
        if (values[k] <= TOUCHED * unit && !(event_rate(s, k) > 0)) return 1;
    }
    return 0;
}

/* Whether event k was hit on the way between the two values: it is free, and went below. */
static int was_hit(const skel_state *s, int32_t k, double before, double after) {
    double unit;
    if (s->event_state[k] != SKEL__EVENT_OPEN || !is_rigid(s->m, k, &unit) || is_catch(s, k))
        return 0;
    if (before < 0 && after >= before) return 0; /* thrown out, and still on its way */
    return after < -BELOW * unit;
}

static int any_hit(const skel_state *s, const double *before, const double *after) {
    for (int32_t k = 0; k < skel__event_count(s->m); ++k)
        if (was_hit(s, k, before[k], after[k])) return 1;
    return 0;
}

void skel__stops_make_inelastic(skel_state *s) {
    const int32_t first = skel__stop_event(s->m, 0, 0, 0);
    s->has_inelastic_stops = 1;
    for (int32_t k = first; s->m->nstop > 0 && k < skel__event_count(s->m); ++k)
        if (is_catch(s, k)) s->event_state[k] = SKEL__EVENT_RESTING;
}

void skel__stop_note_caught(skel_state *s, int32_t event) {
    s->impact->caught[event] = is_catch(s, event);
}

/* The search for the first hit of a step: the longest way without one, the shortest with one, the
   values of all events after both, and how fast they change after the first. */
typedef struct search {
    double low, high;
    double *at_low, *rate_low, *at_high; /* (ne) */
} search;

/* Of the state at hand, which is the end of the way f->low, and of those that may be hit. */
static void find_rates(skel_state *s, const search *f) {
    skel__prepare(s, s->x);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k)
        if (was_hit(s, k, f->at_low[k], f->at_high[k])) f->rate_low[k] = event_rate(s, k);
}

/* The share of the way from low to high after which an event is at zero, by the parabola through
   both values with the rate at low: x = 2 v / (sqrt(r^2 - 4 c v) - r) with v + r + c = end. */
static double share_of(double v, double rate, double end) {
    const double curve = end - v - rate, root = rate * rate - 4 * curve * v;
    const double below = root > 0 ? sqrt(root) - rate : 0;
    return below > 0 ? 2 * v / below : 0;
}

/* Where the first event comes near zero. */
static double guess_of(const skel_state *s, const search *f) {
    double first = 1, unit;

    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        if (!was_hit(s, k, f->at_low[k], f->at_high[k])) continue;
        is_rigid(s->m, k, &unit);
        const double aim = f->at_low[k] > TOUCHED * unit ? HIT_AIM * TOUCHED * unit : 0;
        const double v = fmax(f->at_low[k] - aim, 0), rate = f->rate_low[k] * (f->high - f->low);
        first = fmin(first, share_of(v, rate, f->at_high[k] - aim));
    }
    return f->low + first * (f->high - f->low);
}

int skel__step_until_impact(skel_state *s, double h, skel__step_fn step, void *data, double *done) {
    const size_t ne = (size_t)skel__event_count(s->m);
    const double fall = sqrt(s->m->length_scale / s->m->gravity_norm);
    const double least = fmin(h, fmax(HIT_WAY_MIN * h, HIT_TIME_MIN * fall));
    double *now = s->event_value + 3 * ne;
    search f = {0, h, s->event_value, s->event_value + ne, s->event_value + 2 * ne};
    double way = h;

    *done = h;
    if (!skel__has_impacts(s->m)) return step(s, h, data);
    if (only_catches(s)) return step(s, h, data);
    skel__event_values(s, f.at_low);
    skel__variables_copy(&s->impact->saved, &s->variables);

    for (int n = 0; n < HIT_TRIES; ++n) {
        if (!step(s, way, data)) return 0;
        *done = way;
        skel__event_values(s, now);
        const int hit = any_hit(s, f.at_low, now);
        if (!hit && (way >= f.high || is_hit(s, now))) break;

        *(hit ? &f.high : &f.low) = way;
        memcpy(hit ? f.at_high : f.at_low, now, ne * sizeof *now);
        if (!hit) find_rates(s, &f);
        if (f.high - f.low < 1e-12 * h || f.high <= least || n + 1 == HIT_TRIES) break;

        go_back(s);
        if (f.low == 0) find_rates(s, &f);
        const double guess = guess_of(s, &f);
        const int is_in = n % 4 < 3 && guess > f.low && guess < f.high;
        way = fmax(is_in ? guess : 0.5 * (f.low + f.high), least);
    }
    return 1;
}

/* Whether the candidate is a rigid ground's and its body is pinned. */
static int is_held(const skel_state *s, int32_t event) {
    if (event >= s->m->ncand || !is_rigid_candidate(s->m, event)) return 0;
    for (int32_t k = 0; k < s->m->npin; ++k)
        if (s->is_pinned[k] && s->m->pin[k] == s->m->candidate[event].i) return 1;
    return 0;
}

void skel__event_states_start(skel_state *s) {
    if (s->has_event_states) return;
    skel__event_values(s, s->event_value);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        double unit;
        const int rigid = is_rigid(s->m, k, &unit);
        /* a pose beyond a stop or deep in a ground, however it came about, is not thrown back */
        if (s->event_value[k] < (rigid             ? 0
                                 : k < s->m->ncand ? -DEEP * s->m->contact_length
                                                   : -INFINITY))
            s->slack[k] -= s->event_value[k];
        s->event_state[k] =
            s->event_value[k] <= TOUCHED * unit ? SKEL__EVENT_RESTING : SKEL__EVENT_OPEN;
        if (is_held(s, k)) s->event_state[k] = SKEL__EVENT_PINNED, s->slack[k] = 0;
    }
    s->has_event_states = 1;
    s->stops_near_count = 1; /* not known */
}

void skel__modes_of_laws(skel_state *s) {
    skel__prepare(s, s->x);
    skel__event_values(s, s->event_value);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        double unit;
        const double e = s->event_value[k];
        if (is_rigid(s->m, k, &unit)) continue;
        const int near = fabs(e) <= 1e-9 * unit;
        s->event_state[k] = near ? event_rate(s, k) < 0 : e < 0;
    }
}

/* How far event k is beyond where its mode ends, in widths: what is free may be one width deep,
   what touches one width away. Between the two, where rounding is, both modes are right. */
static double mode_excess(const skel_state *s, int32_t k) {
    double unit;
    is_rigid(s->m, k, &unit);
    const double value = s->event_value[k] / (MODE_WIDTH * unit);

    if (s->event_state[k] == SKEL__EVENT_PINNED) return -INFINITY;
    return (s->event_state[k] == SKEL__EVENT_OPEN ? -value : value) - 1.0;
}

/* Whether event k, that far beyond, must change its mode. What an impact has just thrown off is on
   its way back and need not. */
static int is_mode_wrong(const skel_state *s, int32_t k, double excess) {
    if (!(excess > 0)) return 0;
    if (excess > MODE_DEEP) return 1;
    const double rate = event_rate(s, k);
    return s->event_state[k] == SKEL__EVENT_OPEN ? rate < 0 : rate > 0;
}

int skel__modes_wrong(skel_state *s, double *excess) {
    int count = 0;
    skel__prepare(s, s->x);
    skel__event_values(s, s->event_value);
    for (int32_t k = 0; k < skel__event_count(s->m); ++k) {
        excess[k] = mode_excess(s, k);
        count += is_mode_wrong(s, k, excess[k]);
    }
    return count;
}

/* Changes the modes that are wrong. What is free and meets something rigid is left to an impact,
   the first time. */
static int change_modes(skel_state *s, int is_first) {
    double unit;
    double *excess = s->event_value + skel__event_count(s->m);
    const int changes = skel__modes_wrong(s, excess);
    for (int32_t k = 0; changes > 0 && k < skel__event_count(s->m); ++k) {
        if (!is_mode_wrong(s, k, excess[k])) continue;
        if (is_first && s->event_state[k] == SKEL__EVENT_OPEN && is_rigid(s->m, k, &unit)) continue;
        s->event_state[k] =
            s->event_state[k] == SKEL__EVENT_OPEN ? SKEL__EVENT_RESTING : SKEL__EVENT_OPEN;
    }
    return changes;
}

void skel__modes_pass(skel_state *s) {
    for (int round = 0; round < MODE_ROUNDS; ++round) {
        if (change_modes(s, round == 0) == 0) break;
        skel__impacts(s); /* which may throw off, or throw back, what was right before */
    }
}

/* ---- places ---- */

static void set_row(place *p, int r, v3 force, v3 arm_a, v3 arm_b) {
    v3_to(force, p->ga[r]), v3_to(v3_cross(arm_a, force), p->ga[r] + 3);
    v3_to(v3_neg(force), p->gb[r]), v3_to(v3_neg(v3_cross(arm_b, force)), p->gb[r] + 3);
}

static place place_on_ground(const skel_state *s, int32_t candidate) {
    const skel_model *m = s->m;
    const skel__candidate *sp = &m->candidate[candidate];
    const skel__ground *g = &m->ground[sp->ground];
    const skel__contact_point t = skel__contact_point_at(s, s->x, candidate);
    place p = {.event = candidate, .i = sp->i, .other = skel__candidate_other(m, sp), .rows = 3};
    p.point = v3_mad(t.point_i, -t.radius_i, t.normal);
    p.friction = fmin(g->friction, ROUGHEST), p.bounce = g->restitution;
    p.slide_bounce = g->tangential_restitution;
    const v3 e1 = v3_perpendicular(t.normal), e2 = v3_cross(t.normal, e1);
    const v3 row[3] = {t.normal, e1, e2};
    for (int r = 0; r < 3; ++r)
        set_row(&p, r, row[r], v3_sub(p.point, s->x[p.i].p), v3_sub(p.point, s->x[p.other].p));
    return p;
}

/* Positive along the row is away from the stop. */
static place place_at_stop(const skel_state *s, int32_t joint, const skel__coordinate *c, int k,
                           int high) {
    const skel__joint *j = &s->m->joint[joint];
    const v3 none = {0, 0, 0}, g = v3_scale(c->gradient, high ? -1.0 : 1.0);
    place p = {.i = j->b, .other = j->a, .rows = 1};
    p.event = skel__stop_event(s->m, joint, k, high);
    p.bounce = j->limits.restitution;
    p.point = v3_add(s->x[j->b].p, q_rotate(s->x[j->b].q, j->fb.p));
    if (j->type == SKEL_JOINT_SLIDE) {
        set_row(&p, 0, g, v3_sub(p.point, s->x[p.i].p), v3_sub(p.point, s->x[p.other].p));
        return p;
    }
    v3_to(none, p.ga[0]), v3_to(g, p.ga[0] + 3);
    v3_to(none, p.gb[0]), v3_to(v3_neg(g), p.gb[0] + 3);
    return p;
}

static double row_speed(const skel_state *s, const place *p, int r) {
    const skel__twist a = {s->x[p->i].v, s->ww[p->i]}, b = {s->x[p->other].v, s->ww[p->other]};
    return skel__row_dot(p->ga[r], a) + skel__row_dot(p->gb[r], b);
}

static double slow_of(const skel_model *m, const place *p) {
    const int turns = p->rows == 1 && m->joint[(p->event - m->ncand) / 4].type != SKEL_JOINT_SLIDE;
    return turns ? SLOW_TURN * sqrt(m->gravity_norm / m->length_scale)
                 : SLOW * sqrt(m->gravity_norm * m->contact_length);
}

/* Takes the place if it is touched; returns whether it is approached. What rests but for a speed
   that the stiff spring would only pass to and fro is stopped like this, too. What is on its way
   out is taken as well: an impulse elsewhere may throw it back. */
static int take(skel_state *s, place p, double value, double unit) {
    struct skel__impact *im = s->impact;
    const int catch = is_catch(s, p.event);
    if (!catch && s->event_state[p.event] == SKEL__EVENT_RESTING && value > RELEASED * unit)
        s->event_state[p.event] = SKEL__EVENT_OPEN;
    if (value > TOUCHED * unit || im->count == PLACES_MAX) return 0;
    if (s->event_state[p.event] == SKEL__EVENT_PINNED) return 0;
    p.speed = row_speed(s, &p, 0);
    p.value = value / unit;
    p.leaves = s->event_state[p.event] == SKEL__EVENT_OPEN && p.speed > 0;
    const double slow = slow_of(s->m, &p);
    if (p.speed > -slow) p.bounce = 0;
    p.holds = catch && im->caught[p.event];
    im->at[im->count++] = p;
    return (p.holds ? -fabs(p.speed) : p.speed) < -(catch ? 1.0 : STILL) * slow;
}

static int find_places(skel_state *s) {
    const skel_model *m = s->m;
    int fast = 0;
    double unit;
    s->impact->count = 0;
    if (m->has_rigid)
        skel__event_values(s, s->event_value);
    else
        stop_values(s, s->event_value);
    for (int32_t k = 0; m->has_rigid && k < m->ncand; ++k)
        if (is_rigid(m, k, &unit) &&
            (s->event_value[k] <= TOUCHED * unit || s->event_state[k] == SKEL__EVENT_RESTING))
            fast += take(s, place_on_ground(s, k), s->event_value[k], unit);
    for (int32_t e = 0; m->nstop > 0 && e < m->nj; ++e) {
        if (!skel__has_stop(&m->joint[e])) continue;
        const int32_t at = skel__stop_event(m, e, 0, 0);
        skel__coordinate c[2];
        const int32_t n = scalars_at(s, &m->joint[e], c);
        is_rigid(m, at, &unit);
        for (int32_t k = 0; k < 2 * n; ++k)
            if (s->event_value[at + k] <= TOUCHED * unit ||
                (s->event_state[at + k] == SKEL__EVENT_RESTING && !is_catch(s, at + k)))
                fast += take(s, place_at_stop(s, e, &c[k / 2], k / 2, k % 2),
                             s->event_value[at + k], unit);
    }
    return fast;
}

/* ---- impulses ---- */

/* How the skeletons answer a unit impulse along a row: like an acceleration from rest. */
static void answer(skel_state *s, const place *p, int r, skel__twist *out) {
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

static int prepare_rows(skel_state *s) {
    const skel_model *m = s->m;
    struct skel__impact *im = s->impact;
    const skel__twist none = {0};
    im->rows = 0;
    for (int k = 0; k < im->count; ++k)
        for (int r = 0; r < im->at[k].rows; ++r) im->u[im->rows++] = row_speed(s, &im->at[k], r);
    for (int32_t i = -1; i < m->na; ++i) s->stage[i] = (skel__kin){.p = s->x[i].p, .q = s->x[i].q};
    skel__prepare(s, s->stage);
    if (skel__aba_factor(s, s->stage) != SKEL_OK) return 0;
    int row = 0;
    for (int k = 0; k < im->count; ++k)
        for (int r = 0; r < im->at[k].rows; ++r, ++row)
            answer(s, &im->at[k], r, im->answer + (size_t)row * (size_t)m->na);
    row = 0;
    for (int k = 0; k < im->count; ++k)
        for (int r = 0; r < im->at[k].rows; ++r, ++row)
            for (int c = 0; c < im->rows; ++c) {
                const place *p = &im->at[k];
                const skel__twist *y = im->answer + (size_t)c * (size_t)m->na;
                im->w[row * im->rows + c] =
                    skel__row_dot(p->ga[r], p->i < 0 ? none : y[p->i]) +
                    skel__row_dot(p->gb[r], p->other < 0 ? none : y[p->other]);
            }
    return 1;
}

static double speed_after(const struct skel__impact *im, int row) {
    double u = im->u[row];
    for (int c = 0; c < im->rows; ++c) u += im->w[row * im->rows + c] * im->p[c];
    return u;
}

/* The impulse along the ground that gives the wanted speed there, within the cone. */
static double slide_within(struct skel__impact *im, const place *p, int row, double scale,
                           double rough) {
    double before[2], want[2], size = 0, most = rough * p->friction * im->p[row];
    const double wt = fmax(im->w[(row + 1) * (im->rows + 1)], im->w[(row + 2) * (im->rows + 1)]);
    for (int e = 0; e < 2; ++e) {
        const double u = speed_after(im, row + 1 + e);
        before[e] = im->p[row + 1 + e];
        want[e] = before[e] - (u + scale * p->slide_bounce * im->u[row + 1 + e]) / fmax(wt, 1e-300);
        size += want[e] * want[e];
    }
    size = sqrt(size);
    for (int e = 0; e < 2; ++e) im->p[row + 1 + e] = size > most ? want[e] * most / size : want[e];
    return fmax(fabs(im->p[row + 1] - before[0]), fabs(im->p[row + 2] - before[1]));
}

/* Without friction: which places push is found by taking in those that are approached and leaving
   out those that would pull, all at once, and when that goes round in circles the first one only
   [Murty], which ends. Returns 0 where it did not. */
static int pivot(struct skel__impact *im, double scale) {
    const int n = im->count;
    double want[PLACES_MAX] = {0}, fast = 0;
    int in[PLACES_MAX], list[PLACES_MAX];
    for (int k = 0; k < n; ++k) {
        want[k] = im->u[k] + scale * im->at[k].bounce * fmin(im->u[k], 0);
        in[k] = want[k] < 0 || im->at[k].holds;
        fast = fmax(fast, fabs(want[k]));
    }
    for (int round = 0; round < PIVOTS_MAX; ++round) {
        int count = 0, changed = 0;
        memset(im->p, 0, sizeof im->p);
        for (int k = 0; k < n; ++k)
            if (in[k]) list[count++] = k;
        for (int r = 0; r < count; ++r) {
            im->b[r] = -want[list[r]];
            for (int c = 0; c < count; ++c) im->a[r * count + c] = im->w[list[r] * n + list[c]];
            im->a[r * (count + 1)] *= 1.0 + IMPLIED;
        }
        skel__solve(im->a, im->b, count);
        for (int r = 0; r < count; ++r) im->p[list[r]] = im->b[r];
        for (int k = 0; k < n && (round < n || !changed); ++k) {
            const double u = speed_after(im, k) - im->u[k] + want[k];
            const int wrong = im->at[k].holds ? 0 : in[k] ? !(im->p[k] >= 0) : u < -DONE * fast;
            in[k] ^= wrong;
            changed |= wrong;
        }
        if (!changed) return 1;
    }
    return 0;
}

/* Projected Gauss-Seidel; scale lowers the restitutions, rough the friction. */
static void sweep(struct skel__impact *im, double scale, double rough) {
    if (im->rows == im->count && pivot(im, scale)) return;
    memset(im->p, 0, sizeof im->p);
    for (int n = 0; n < SWEEPS_MAX; ++n) {
        double change = 0, largest = 0;
        int row = 0;
        for (int k = 0; k < im->count; row += im->at[k++].rows) {
            const place *p = &im->at[k];
            const double down = fmin(im->u[row], 0), before = im->p[row];
            const double u = speed_after(im, row) + scale * p->bounce * down;
            im->p[row] = before - u / fmax(im->w[row * (im->rows + 1)], 1e-300);
            if (!p->holds) im->p[row] = fmax(0, im->p[row]);
            change = fmax(change, fabs(im->p[row] - before));
            if (p->rows == 3) change = fmax(change, slide_within(im, p, row, scale, rough));
            largest = fmax(largest, fabs(im->p[row]));
        }
        if (change <= DONE * largest) return;
    }
}

/* Kinetic energy that the impulses add, at one place or (k < 0) at all. */
static double energy_of(const struct skel__impact *im, int only) {
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

/* Whether a place is still approached: steep rods under much friction may jam [Painleve]. */
static int is_jammed(const struct skel__impact *im) {
    int row = 0;
    for (int k = 0; k < im->count; row += im->at[k++].rows)
        if (speed_after(im, row) < -1e-6 * fabs(im->u[row])) return 1;
    return 0;
}

static void solve(struct skel__impact *im) {
    double scale = 1, rough = 1;
    sweep(im, scale, rough);
    for (int n = 0; n < 24 && is_jammed(im); ++n) {
        rough = n < 23 ? 0.7 * rough : 0;
        sweep(im, scale, rough);
    }
    for (int n = 0; n < 12 && energy_of(im, -1) > 1e-11 * energy_scale(im); ++n) {
        scale = n < 11 ? 0.7 * scale : 0;
        sweep(im, scale, rough);
    }
}

/* Work of the body that the place is on, where it moves as it must. */
static double work_of_drive(const skel_state *s, const place *p, int row) {
    v3 f = {0, 0, 0};
    if (p->rows == 1 || skel__is_dynamic(s->m, p->other)) return 0;
    for (int r = 0; r < p->rows; ++r) f = v3_mad(f, s->impact->p[row + r], v3_of(p->ga[r]));
    return v3_dot(f, skel__velocity_at(s, s->x, p->other, p->point));
}

/* Books what changed: contacts and drives by their impulses; the rest is the stops' and joints'. */
static void book(skel_state *s, const skel__momenta *a) {
    const skel__momenta b = skel__momenta_of(s);
    const struct skel__impact *im = s->impact;
    double contact = 0, drive = 0;
    int row = 0, moves = 0;
    for (int k = 0; k < im->count; row += im->at[k++].rows) {
        if (im->at[k].rows == 3) contact += energy_of(im, k);
        drive += work_of_drive(s, &im->at[k], row);
    }
    for (int32_t k = 0; k < s->m->np; ++k) {
        const skel__kin *x = &s->x[s->m->prescribed[k]];
        moves |= v3_norm(x->v) + v3_norm(x->w) > 0;
    }
    const double rest = b.kinetic - a->kinetic - contact - drive;
    s->sum.contact += contact;
    s->sum.drive += moves ? drive + rest : drive;
    s->sum.friction += moves ? 0 : rest;
    s->sum.force = v3_add(s->sum.force, v3_sub(b.p, a->p));
    s->sum.torque = v3_add(s->sum.torque, v3_sub(b.l, a->l));
}

static void apply(skel_state *s) {
    const skel_model *m = s->m;
    struct skel__impact *im = s->impact;
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

/* What does not fly off rests. */
static void settle(skel_state *s) {
    const struct skel__impact *im = s->impact;
    int row = 0;
    for (int k = 0; k < im->count; row += im->at[k++].rows) {
        const place *p = &im->at[k];
        if (is_catch(s, p->event)) continue;
        const double after = im->rows > 0 ? speed_after(im, row) : p->speed;
        if (p->leaves && after > 0) continue;
        if (after > slow_of(s->m, p)) { /* deep in the spring it leaves by the spring */
            if (!(p->value < -BELOW)) s->event_state[p->event] = SKEL__EVENT_OPEN;
        } else if (s->event_state[p->event] == SKEL__EVENT_OPEN) {
            s->event_state[p->event] = SKEL__EVENT_RESTING;
            if (p->rows == 3)
                v3_to((v3){0, 0, 0}, s->internal + s->m->candidate[p->event].internal);
        }
    }
}

int skel__impacts(skel_state *s) {
    int hits = 0;
    if (!s->impact) return 0;
    if (only_catches(s) && s->stops_near_count == 0) return 0;
    for (int n = 0; n < 8; ++n) {
        skel__prepare(s, s->x);
        const int fast = find_places(s);
        s->impact->rows = 0;
        const skel__momenta before = skel__momenta_of(s);
        /* velocities that do not quite fit the joints would make them do work */
        if (fast > 0) skel__fit_velocities(s), skel__prepare(s, s->x);
        const int is_jolt = fast > 0 && prepare_rows(s);
        if (is_jolt) {
            solve(s->impact);
            apply(s);
            book(s, &before);
            ++hits;
        }
        settle(s);
        if (!is_jolt || s->impact->count < PLACES_MAX) break;
    }
    memset(s->impact->caught, 0, (size_t)skel__event_count(s->m) * sizeof *s->impact->caught);
    return hits;
}
