/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits, springs and muscles of joints, along one coordinate each.
   - limiting torque [RUD 4.2 with ERRATA R6]: T0(left) = 1 / (a left^b + c) from `on` before the
     limit, 1/c behind it, times 1 + d (speed towards the limit), never pulling;
   - hard stop: nothing before the limit; impacts are impact.c's. What rests on it is held by a
     spring of STOP_FREQUENCY with critical damping, for the inertia that hangs there;
   - spring: k (c - rest) + damping c';
   - muscle [RUD 4.8-4.10 with ERRATA R10]: Q' = -growth p' (1 - Q/max) gain, p = side c.
   Over a step every force with a potential V is its mean (V1 - V0) / (c1 - c0), so that it takes
   and gives back exactly V; dampers use the mean rate and only take. */
#include "dynamics/dynamics.h"

#define STOP_FREQUENCY 150.0   /* [Hz] */
#define CATCH_FREQUENCY 1200.0 /* [Hz], where it has_inelastic_stops within a step */
#define STOP_DAMPING 1.0       /* of critical */
#define CATCH_DAMPING 3.0
#define STOP_SHARE 1e3  /* of the lighter body's inertia: the most a stop's spring is made for */
#define STOP_GIVE 0.001 /* [rad], or of the size: under what may lean on it */
#define SHORT 1e-9      /* of the numbers themselves: too short a way for a difference */

/* ---- coordinates ---- */

int32_t skel__coordinates_of(const skel__joint *j, pose outer, pose inner,
                             skel__coordinate out[2]) {
    double q[4] = {0}, c[2];
    skel__joint_measure(j, outer, inner, q);
    const int32_t n = skel__joint_coordinates(j, q, c);
    const v3 z = q_rotate(outer.q, (v3){0, 0, 1});
    out[0] = (skel__coordinate){c[0], z}, out[1] = (skel__coordinate){c[1], z};
    if (j->type == SKEL_JOINT_UNIVERSAL) out[1].gradient = q_rotate(inner.q, (v3){1, 0, 0});
    if (j->type != SKEL_JOINT_BALL) return n;
    const v3 axis = q_rotate(outer.q, j->limit_axis), moved = q_rotate(inner.q, j->limit_axis);
    const v3 across = v3_cross(axis, moved);
    const double sine = v3_norm(across), cosine = v3_dot(axis, moved);
    /* straight ahead the cone has no direction, and no force either */
    out[0].gradient = sine > 1e-12 ? v3_scale(across, 1.0 / sine) : v3_perpendicular(axis);
    /* of the turns that leave `moved` where it is and of the shortest ones, the share about both */
    out[1].gradient = v3_scale(v3_add(axis, moved), 1.0 / fmax(1.0 + cosine, 1e-6));
    return n;
}

/* d e = theta x e, for a turn theta of what e is fixed in. */
static m3 turning(v3 e) {
    return m3_skew(v3_neg(e));
}

void skel__coordinate_gradient_turns(const skel__joint *j, pose outer, pose inner,
                                     const skel__coordinate *c, int k, m3 by[2]) {
    by[0] = by[1] = m3_zero();
    if (j->type != SKEL_JOINT_BALL) {
        const int of = j->type == SKEL_JOINT_UNIVERSAL && k == 1;
        by[of] = turning(c->gradient);
        return;
    }
    const v3 axis = q_rotate(outer.q, j->limit_axis), moved = q_rotate(inner.q, j->limit_axis);
    const v3 across = v3_cross(axis, moved), both = v3_add(axis, moved);
    const double sine = v3_norm(across), cosine = v3_dot(axis, moved), over = 1.0 + cosine;
    if (k == 0 && sine > 1e-6) { /* u = across / sine */
        const m3 off =
            m3_scale(m3_sub_outer(m3_identity(), 1.0, c->gradient, c->gradient), 1.0 / sine);
        by[0] = m3_mul(off, m3_sub_outer(m3_diagonal(-cosine), -1.0, axis, moved));
        by[1] = m3_mul(off, m3_sub_outer(m3_diagonal(cosine), 1.0, moved, axis));
    }
    if (k == 0 || over < 1e-3) return;
    /* both / over, d cosine = across . (theta_a - theta_b) */
    const double share = 1.0 / (over * over);
    by[0] = m3_sub_outer(m3_scale(turning(axis), 1.0 / over), share, both, across);
    by[1] = m3_sub_outer(m3_scale(turning(moved), 1.0 / over), -share, both, across);
}

/* Of the lighter of the two bodies, the mean about all axes. */
static double lighter_inertia(const skel_model *m, const skel__joint *j) {
    const int32_t side[2] = {j->a, j->b};
    double least = INFINITY;
    for (int e = 0; e < 2; ++e) {
        if (!skel__is_dynamic(m, side[e])) continue;
        least = fmin(least, m3_trace(m->body[side[e]].inertia) / 3.0);
    }
    return least;
}

/* The same in every pose, lest energy came and went with it: about the axis where that is fixed in
   what hangs, else the mean about all axes. Thin links of a long chain do not get the stops of all
   that hangs on them: rounding would throw them about. */
double skel__joint_force_inertia(const skel_state *s, const m3 *r, int32_t joint, v3 gradient) {
    const skel__joint *j = &s->m->joint[joint];
    const m3 d = s->follow_inertia[joint];
    if (j->type == SKEL_JOINT_SLIDE) return d.r[0].x;
    const double most = STOP_SHARE * lighter_inertia(s->m, j);
    if (j->type != SKEL_JOINT_HINGE) return fmin(m3_trace(d) / 3.0, most);
    const double about = v3_dot(gradient, m3_mulv(skel__follow_inertia(s, r, joint), gradient));
    return fmax(fmin(about, most), 1e-300);
}

/* ---- the limiting torque ---- */

static double law_curve(const skel__joint *j, double left) {
    if (left <= 0) return 1.0 / j->limits.law_c;
    return 1.0 / (j->limits.law_a * pow(left, j->limits.law_b) + j->limits.law_c);
}
static double law_force(const skel__joint *j, double left) {
    return left > j->limits.law_range ? 0 : law_curve(j, left);
}

/* Integral of T0 from p to q within 0..on: Gauss-Legendre of 8 points on pieces that are short
   against the distance of the law's poles. */
static double law_integral_inside(const skel__joint *j, double p, double q) {
    static const double at[4] = {0.18343464249564980, 0.52553240991632899, 0.79666647741362674,
                                 0.96028985649753623};
    static const double weight[4] = {0.36268378337836198, 0.31370664587788729, 0.22238103445337447,
                                     0.10122853629037626};
    const double unit = j->limits.law_a > 0
                            ? pow(j->limits.law_c / j->limits.law_a, 1.0 / j->limits.law_b)
                            : j->limits.law_range;
    double sum = 0;
    while (p < q) {
        const double end = fmin(q, p + 0.5 * fmax(unit, p));
        const double half = 0.5 * (end - p), mid = 0.5 * (end + p);
        for (int k = 0; k < 4; ++k)
            sum += half * weight[k] *
                   (law_force(j, mid - half * at[k]) + law_force(j, mid + half * at[k]));
        p = end;
    }
    return sum;
}

/* Integral of T0 over `left` from p to q, p <= q. */
static double law_integral(const skel__joint *j, double p, double q) {
    double sum = 0;
    if (p < 0) sum += (fmin(q, 0) - p) / j->limits.law_c;
    p = fmax(p, 0), q = fmin(q, j->limits.law_range);
    return p < q ? sum + law_integral_inside(j, p, q) : sum;
}

/* ---- one side of the limits: x is how far behind the limit c is, at start and end ---- */

typedef struct side {
    double force, slope, stored, friction; /* force against x */
} side;

/* is_on: an event has said that it acts, even a rounding error before `on`. */
static side law_at(const skel__joint *j, double x, double rate, int is_on) {
    const double elastic = is_on ? law_curve(j, -x) : law_force(j, -x);
    const double whole = elastic * fmax(0, 1.0 + j->limits.law_d * rate);
    const double stored = -x < j->limits.law_range ? law_integral(j, -x, j->limits.law_range) : 0;
    return (side){whole, 0, stored, -(whole - elastic) * rate};
}

static side law_over(const skel__joint *j, double x0, double x1, double h) {
    const double way = x1 - x0, end = law_force(j, -x1);
    const double area = way >= 0 ? law_integral(j, -x1, -x0) : -law_integral(j, -x0, -x1);
    const int tiny = fabs(way) < SHORT * (fabs(x0) + j->limits.law_range);
    const double mean = tiny ? law_force(j, -0.5 * (x0 + x1)) : area / way;
    const double rub = fmax(0, 1.0 + j->limits.law_d * way / h);
    side out = {mean * rub, 0, tiny ? mean * way : area, 0};
    out.slope = (tiny ? 0 : (end - mean) / way * rub) + (rub > 0 ? mean * j->limits.law_d / h : 0);
    out.friction = -(out.force * way - out.stored);
    return out;
}

/* The spring of a stop: stiff for what hangs there and for the weight that may lean on it. */
typedef struct stop {
    double k, d; /* stiffness, damping */
} stop;
static stop stop_of(const skel_state *s, int32_t joint, double inertia) {
    const double w = SKEL__TURN * (s->has_inelastic_stops ? CATCH_FREQUENCY : STOP_FREQUENCY);
    const double zeta = s->has_inelastic_stops ? CATCH_DAMPING : STOP_DAMPING;
    const double give = s->m->joint[joint].type == SKEL_JOINT_SLIDE ? s->m->length_scale : 1.0;
    const double k = fmax(inertia * w * w, s->stop_load[joint] / (STOP_GIVE * give));
    return (stop){k, 2.0 * zeta * sqrt(k * inertia)};
}

static side stop_at(stop p, double x, double rate) {
    const double k = p.k;
    if (x <= 0) return (side){0};
    const double whole = fmax(0, k * x + p.d * rate);
    return (side){whole, 0, 0.5 * k * x * x, -(whole - k * x) * rate};
}

/* Where the spring is fast against the step, more of its force at the end: it settles. */
static side stop_over(stop p, double x0, double x1, double h, double inertia) {
    const double k = p.k, way = x1 - x0;
    const double d0 = fmax(x0, 0), d1 = fmax(x1, 0);
    if (d0 == 0 && d1 == 0) return (side){0};
    const double stored = 0.5 * k * (d1 * d1 - d0 * d0), y2 = 0.25 * h * h * k / inertia;
    const double late = y2 / (1.0 + y2), rub = p.d / h;
    const int tiny = fabs(way) < SHORT * (d0 + d1);
    const double mean = tiny ? 0.5 * k * (d0 + d1) : stored / way;
    const double push = (1.0 - late) * mean + late * k * d1 + rub * (d1 - d0);
    side out = {fmax(0, push), 0, stored, 0};
    if (push > 0) {
        const double in = d1 > 0 ? 1.0 : 0.0;
        out.slope =
            (1.0 - late) * (tiny ? 0.5 * k * in : (k * d1 - mean) / way) + (late * k + rub) * in;
    }
    out.friction = -(out.force * way - out.stored);
    return out;
}

/* The same while it pushes, as a straight line. */
static side stop_line(stop p, double x0, double x1, double h, double inertia) {
    const double k = p.k, y2 = 0.25 * h * h * k / inertia, late = y2 / (1.0 + y2), rub = p.d / h;
    const int inside = x0 > 0, beyond = x1 > 0;
    const double mean = inside ? 0.5 * k * (x0 + x1) : beyond ? 0.5 * k * x1 * x1 / (x1 - x0) : 0;
    const double grows = inside ? 0.5 * k : beyond ? (k * x1 - mean) / (x1 - x0) : 0;
    return (side){.force = (1.0 - late) * mean + late * k * x1 + rub * (x1 - fmax(x0, 0)),
                  .slope = (1.0 - late) * grows + late * k + rub};
}

static side guess_stop(stop p, double x0, double x1, double h, double inertia,
                       skel__stop_prediction *guess) {
    const side law = stop_over(p, x0, x1, h, inertia), line = stop_line(p, x0, x1, h, inertia);
    const int pushes = law.force > 0;
    if (guess->on < 0) guess->on = pushes;
    guess->is_used = 1;
    guess->is_right = guess->on == 2 || (guess->on ? pushes && x1 > 0 : !pushes);
    guess->push = line.force, guess->slope = line.slope;
    if (guess->on == 2 || guess->is_right) return law;
    return guess->on ? line : (side){0};
}

/* ---- limits of both sides ---- */

typedef struct span {
    double start, end, h; /* h = 0: at a moment, end being the rate */
} span;

static side one_side(const skel_state *s, int32_t joint, int k, int high, span c, double inertia,
                     skel__stop_prediction *guess) {
    const skel__joint *j = &s->m->joint[joint];
    const double sign = high ? 1.0 : -1.0;
    const int32_t event = skel__stop_event(s->m, joint, k, high);
    const double edge = skel__stop_edge(s, joint, k, high);
    const double x0 = sign * (c.start - edge);
    const double x1 = c.h > 0 ? sign * (c.end - edge) : sign * c.end;
    side out;
    const int rests = s->event_state[event] == SKEL__EVENT_RESTING;
    if (j->limits.law_range > 0 && (rests || !s->run->is_event_driven))
        out = c.h > 0 ? law_over(j, x0, x1, c.h) : law_at(j, x0, x1, s->run->is_event_driven);
    else if (rests && guess)
        out = guess_stop(stop_of(s, joint, inertia), x0, x1, c.h, inertia, guess);
    else if (rests)
        out = c.h > 0 ? stop_over(stop_of(s, joint, inertia), x0, x1, c.h, inertia)
                      : stop_at(stop_of(s, joint, inertia), x0, x1);
    else
        return (side){0};
    out.force *= -sign; /* against x, so against c on the high side */
    return out;
}

static void add_limits(const skel_state *s, int32_t joint, int k, span c, double inertia,
                       skel__stop_prediction *guess, skel__joint_force *out) {
    const skel__joint *j = &s->m->joint[joint];
    const int cone = j->type == SKEL_JOINT_BALL && k == 0; /* has no low side */
    for (int high = cone ? 1 : 0; high < 2; ++high) {
        const side e = one_side(s, joint, k, high, c, inertia, guess ? guess + high : NULL);
        out->force += e.force;
        out->slope -= e.slope;
        out->stored += e.stored;
        out->friction += e.friction;
    }
}

/* ---- all together ---- */

skel__joint_force skel__joint_force_at(const skel_state *s, int32_t joint, int k, double c,
                                       double rate, double inertia, double t, double torque) {
    const skel__joint *j = &s->m->joint[joint];
    skel__joint_force out = {0};
    if (j->limits.is_set) add_limits(s, joint, k, (span){c, rate, 0}, inertia, NULL, &out);
    if (k > 0) return out;
    const double off = c - j->spring.rest;
    out.force -= j->spring.stiffness * off + j->spring.damping * rate;
    out.stored += 0.5 * j->spring.stiffness * off * off;
    out.friction -= j->spring.damping * rate * rate;
    if (j->muscle_index < 0) return out;
    const double p = j->muscle.side * rate;
    out.force += j->muscle.side * torque;
    out.motor = torque * p;
    out.internal =
        -j->muscle.growth * p * (1.0 - torque / j->muscle.max) * skel__muscle_gain(s, joint, t);
    if (torque <= 0 && out.internal < 0) out.internal = 0;
    return out;
}

/* Q over the step in closed form: max - Q decays by exp(kappa (p1 - p0)), kappa = growth gain/max.
   The mean over the way is exact. */
static void add_muscle(const skel_state *s, int32_t joint, double way, double t, double torque,
                       skel__joint_force *out) {
    const skel__joint *j = &s->m->joint[joint];
    const double p = j->muscle.side * way;
    const double kappa = j->muscle.growth * skel__muscle_gain(s, joint, t) / j->muscle.max;
    const double lack = j->muscle.max - torque, x = kappa * p;
    const double grown = fabs(x) < 1e-6 ? 1.0 + 0.5 * x : expm1(x) / x;
    double mean = j->muscle.max - lack * grown;
    double slope = -lack * kappa * (fabs(x) < 1e-6 ? 0.5 : (exp(x) - grown) / x);
    out->internal = j->muscle.max - lack * exp(x);
    if (out->internal < 0) { /* slack: it cannot push */
        out->internal = 0;
        mean = fmax(mean, 0);
        slope = 0;
    }
    out->force += j->muscle.side * mean;
    out->slope += slope;
    out->motor += mean * p;
}

skel__joint_force skel__joint_force_over(const skel_state *s, int32_t joint, int k, double c0,
                                         double c1, double h, double inertia, double t,
                                         double torque, skel__stop_prediction *guess) {
    const skel__joint *j = &s->m->joint[joint];
    const double way = c1 - c0;
    skel__joint_force out = {.internal = torque};
    if (j->limits.is_set) add_limits(s, joint, k, (span){c0, c1, h}, inertia, guess, &out);
    if (k > 0) return out;
    const double off = 0.5 * (c0 + c1) - j->spring.rest;
    out.force -= j->spring.stiffness * off + j->spring.damping * way / h;
    out.slope -= 0.5 * j->spring.stiffness + j->spring.damping / h;
    out.stored += j->spring.stiffness * off * way;
    out.friction -= j->spring.damping * way * way / h;
    if (j->muscle_index >= 0) add_muscle(s, joint, way, t, torque, &out);
    return out;
}
