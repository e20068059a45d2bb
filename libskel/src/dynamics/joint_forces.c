/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits, springs and muscles of joints, along one coordinate c each.
   - Limiting torque [RUD 4.2 with ERRATA R6]: T0(left) = 1 / (law_a left^law_b + law_c), with
     `left` the distance to the limit. It acts from left = law_range on and is 1 / law_c beyond the
     limit. It is multiplied by 1 + law_d (speed toward the limit) and never pulls.
   - Hard stop: no force before the limit; impact.c computes impacts. A joint that rests on the stop
     is held by a spring of STOP_FREQUENCY_HZ with critical damping, for the inertia of its
     composite body.
   - Spring: k (c - rest) + damping c'.
   - Muscle [RUD 4.8-4.10 with ERRATA R10]: Q' = -growth p' (1 - Q/max) gain, p = side c.
   Over a step, every force with a potential V is replaced by its mean (V1 - V0) / (c1 - c0): it
   stores and returns exactly V. Dampers use the mean rate, so that they only dissipate. */
#include "dynamics/dynamics.h"
#include "model/joint_kind.h"

#define STOP_FREQUENCY_HZ 150.0
#define STOP_FREQUENCY_INELASTIC_HZ 1200.0 /* if the stop acts within a step (impact.c) */
#define STOP_DAMPING 1.0                   /* ratio to critical damping */
#define STOP_DAMPING_INELASTIC 3.0
#define STOP_INERTIA_RATIO_MAX 1e3 /* inertia that sizes a stop's spring / lighter body's inertia */
#define STOP_PENETRATION 0.001     /* [rad], or relative to the length scale: under stop_load */
#define QUOTIENT_CHANGE_MIN                                                                        \
    1e-9 /* relative change below which (V1 - V0) / (c1 - c0) loses digits */

/* ---- coordinates ---- */

int32_t skel__coordinates_of(const skel__joint *j, pose outer, pose inner,
                             skel__coordinate out[2]) {
    double q[4] = {0}, c[2];
    skel__joint_measure(j, outer, inner, q);
    const int32_t n = skel__joint_coordinates(j, q, c);
    if (j->type != SKEL_JOINT_BALL) {
        for (int k = 0; k < n; ++k)
            out[k] = (skel__coordinate){c[k], skel__freedom_axis(j->type, outer.q, inner.q, k)};
        return n;
    }

    /* A ball has the cone angle and the twist about its limit axis. */
    out[0].c = c[0];
    out[1].c = c[1];
    const v3 axis = q_rotate(outer.q, j->limit_axis), moved = q_rotate(inner.q, j->limit_axis);
    const v3 across = v3_cross(axis, moved);
    const double sine = v3_norm(across), cosine = v3_dot(axis, moved);

    /* At cone angle 0 the gradient has no direction, and there is no force either. */
    out[0].gradient = sine > 1e-12 ? v3_scale(across, 1.0 / sine) : v3_perpendicular(axis);

    /* Twist: the rotation without its shortest part, which takes `axis` to `moved`. */
    out[1].gradient = v3_scale(v3_add(axis, moved), 1.0 / fmax(1.0 + cosine, 1e-6));
    return n;
}

/* Derivative of e by a small rotation theta of the frame it is fixed in: d e = theta x e. */
static m3 rotation_derivative(v3 e) {
    return m3_skew(v3_neg(e));
}

void skel__coordinate_gradient_turns(const skel__joint *j, pose outer, pose inner,
                                     const skel__coordinate *c, int k, m3 by[2]) {
    by[0] = m3_zero();
    by[1] = m3_zero();

    /* An axis is fixed in the outer or in the inner frame. */
    if (j->type != SKEL_JOINT_BALL) {
        const int frame = skel__joint_motions[j->type].freedom[k].is_inner;
        by[frame] = rotation_derivative(c->gradient);
        return;
    }

    const v3 axis = q_rotate(outer.q, j->limit_axis), moved = q_rotate(inner.q, j->limit_axis);
    const v3 across = v3_cross(axis, moved), both = v3_add(axis, moved);
    const double sine = v3_norm(across), cosine = v3_dot(axis, moved), over = 1.0 + cosine;

    /* Cone: the gradient is across / sine. */
    if (k == 0 && sine > 1e-6) {
        const m3 off =
            m3_scale(m3_sub_outer(m3_identity(), 1.0, c->gradient, c->gradient), 1.0 / sine);
        by[0] = m3_mul(off, m3_sub_outer(m3_diagonal(-cosine), -1.0, axis, moved));
        by[1] = m3_mul(off, m3_sub_outer(m3_diagonal(cosine), 1.0, moved, axis));
    }
    if (k == 0 || over < 1e-3) return;

    /* Twist: the gradient is both / over, with d cosine = across . (theta_a - theta_b). */
    const double share = 1.0 / (over * over);
    by[0] = m3_sub_outer(m3_scale(rotation_derivative(axis), 1.0 / over), share, both, across);
    by[1] = m3_sub_outer(m3_scale(rotation_derivative(moved), 1.0 / over), -share, both, across);
}

/* Inertia of the lighter body of the joint, mean about all axes [kg m^2]. */
static double lighter_inertia(const skel_model *m, const skel__joint *j) {
    const int32_t side[2] = {j->a, j->b};
    double least = INFINITY;
    for (int e = 0; e < 2; ++e) {
        if (!skel__is_dynamic(m, side[e])) continue;
        least = fmin(least, m3_trace(m->body[side[e]].inertia) / 3.0);
    }
    return least;
}

/* The inertia must not depend on the pose, or the spring of a stop would not conserve energy: it is
   taken about the axis if that is fixed in the composite body, otherwise as the mean about all
   axes. It is bounded by the joint's own bodies: with the stop of a long heavy chain, rounding
   errors would set a thin link in motion. */
double skel__joint_force_inertia(const skel_state *s, const m3 *r, int32_t joint, v3 gradient) {
    const skel__joint *j = &s->m->joint[joint];
    const m3 d = s->follow_inertia[joint];
    if (skel__is_length(j->type, 0)) return s->follow_mass[joint];

    const double most = STOP_INERTIA_RATIO_MAX * lighter_inertia(s->m, j);
    if (!skel__joint_kinds[j->type].has_axis) return fmin(m3_trace(d) / 3.0, most);
    const double about = v3_dot(gradient, m3_mulv(skel__follow_inertia(s, r, joint), gradient));
    return fmax(fmin(about, most), 1e-300);
}

/* ---- the limiting torque ---- */

/* T0, at and beyond any distance `left` to the limit. */
static double law_curve(const skel__joint *j, double left) {
    if (left <= 0) return 1.0 / j->limits.law_c;
    return 1.0 / (j->limits.law_a * pow(left, j->limits.law_b) + j->limits.law_c);
}

/* T0 within the range of the law, 0 before it. */
static double law_force(const skel__joint *j, double left) {
    return left > j->limits.law_range ? 0 : law_curve(j, left);
}

/* Integral of T0 from p to q within 0 .. law_range, by Gauss-Legendre quadrature with 8 points. The
   intervals are short relative to the distance to the poles of T0. */
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

/* Integral of T0 by `left` from p to q, p <= q. */
static double law_integral(const skel__joint *j, double p, double q) {
    double sum = 0;
    if (p < 0) sum += (fmin(q, 0) - p) / j->limits.law_c;
    p = fmax(p, 0);
    q = fmin(q, j->limits.law_range);
    return p < q ? sum + law_integral_inside(j, p, q) : sum;
}

/* ---- one side of the limits: x is the distance of c beyond the limit, at start and end ---- */

typedef struct side {
    double force, slope, stored,
        friction; /* as skel__joint_force; the force is directed against x */
} side;

/* is_on: the law acts by its event state, even if x is outside its range by a rounding error. */
static side law_at(const skel__joint *j, double x, double rate, int is_on) {
    const double elastic = is_on ? law_curve(j, -x) : law_force(j, -x);
    const double force = elastic * fmax(0, 1.0 + j->limits.law_d * rate);
    const double stored = -x < j->limits.law_range ? law_integral(j, -x, j->limits.law_range) : 0;
    return (side){force, 0, stored, -(force - elastic) * rate};
}

/* Mean over a step of h: the potential's difference quotient times the damping factor. */
static side law_over(const skel__joint *j, double x0, double x1, double h) {
    const double change = x1 - x0, end = law_force(j, -x1);
    const double area = change >= 0 ? law_integral(j, -x1, -x0) : -law_integral(j, -x0, -x1);
    const int is_tiny = fabs(change) < QUOTIENT_CHANGE_MIN * (fabs(x0) + j->limits.law_range);
    const double mean = is_tiny ? law_force(j, -0.5 * (x0 + x1)) : area / change;
    const double damping = fmax(0, 1.0 + j->limits.law_d * change / h);

    side out = {mean * damping, 0, is_tiny ? mean * change : area, 0};
    out.slope = (is_tiny ? 0 : (end - mean) / change * damping) +
                (damping > 0 ? mean * j->limits.law_d / h : 0);
    out.friction = -(out.force * change - out.stored);
    return out;
}

/* The spring of a stop: stiff enough for the inertia of the composite body, and for the weight that
   may press on the stop. */
typedef struct stop {
    double k, d; /* stiffness [N m/rad or N/m], damping [N m s/rad or N s/m] */
} stop;

static stop stop_of(const skel_state *s, int32_t joint, double inertia) {
    const double w =
        SKEL__TURN * (s->has_inelastic_stops ? STOP_FREQUENCY_INELASTIC_HZ : STOP_FREQUENCY_HZ);
    const double zeta = s->has_inelastic_stops ? STOP_DAMPING_INELASTIC : STOP_DAMPING;
    const double unit = skel__is_length(s->m->joint[joint].type, 0) ? s->m->length_scale : 1.0;
    const double k = fmax(inertia * w * w, s->stop_load[joint] / (STOP_PENETRATION * unit));
    return (stop){k, 2.0 * zeta * sqrt(k * inertia)};
}

static side stop_at(stop p, double x, double rate) {
    const double k = p.k;
    if (x <= 0) return (side){0};
    const double force = fmax(0, k * x + p.d * rate);
    return (side){force, 0, 0.5 * k * x * x, -(force - k * x) * rate};
}

/* Force over a step: (1 - late) mean + late (force at the end) + damping. `late` approaches 1 if
   the spring is fast relative to the step: the oscillation is then damped out. */
static side stop_over(stop p, double x0, double x1, double h, double inertia) {
    const double k = p.k, change = x1 - x0;
    const double d0 = fmax(x0, 0), d1 = fmax(x1, 0);
    if (d0 == 0 && d1 == 0) return (side){0};

    const double stored = 0.5 * k * (d1 * d1 - d0 * d0), y2 = 0.25 * h * h * k / inertia;
    const double late = y2 / (1.0 + y2), damping = p.d / h;
    const int is_tiny = fabs(change) < QUOTIENT_CHANGE_MIN * (d0 + d1);
    const double mean = is_tiny ? 0.5 * k * (d0 + d1) : stored / change;
    const double push = (1.0 - late) * mean + late * k * d1 + damping * (d1 - d0);

    side out = {fmax(0, push), 0, stored, 0};
    if (push > 0) {
        const double in = d1 > 0 ? 1.0 : 0.0;
        out.slope = (1.0 - late) * (is_tiny ? 0.5 * k * in : (k * d1 - mean) / change) +
                    (late * k + damping) * in;
    }
    out.friction = -(out.force * change - out.stored);
    return out;
}

/* The force of stop_over while it pushes, continued as a straight line. */
static side stop_line(stop p, double x0, double x1, double h, double inertia) {
    const double k = p.k, y2 = 0.25 * h * h * k / inertia, late = y2 / (1.0 + y2);
    const double damping = p.d / h;
    double mean = 0, mean_slope = 0;

    if (x0 > 0) {
        mean = 0.5 * k * (x0 + x1);
        mean_slope = 0.5 * k;
    } else if (x1 > 0) {
        mean = 0.5 * k * x1 * x1 / (x1 - x0);
        mean_slope = (k * x1 - mean) / (x1 - x0);
    }
    return (side){.force = (1.0 - late) * mean + late * k * x1 + damping * (x1 - fmax(x0, 0)),
                  .slope = (1.0 - late) * mean_slope + late * k + damping};
}

/* The stop as Newton's method predicts it; the prediction learns whether it was right. */
static side predicted_stop(stop p, double x0, double x1, double h, double inertia,
                           skel__stop_prediction *guess) {
    const side law = stop_over(p, x0, x1, h, inertia), line = stop_line(p, x0, x1, h, inertia);
    const int pushes = law.force > 0;

    if (guess->mode == SKEL__STOP_UNKNOWN)
        guess->mode = pushes ? SKEL__STOP_PUSHES : SKEL__STOP_OPEN;
    guess->is_used = 1;
    guess->push = line.force;
    guess->slope = line.slope;

    guess->is_right = 1;
    if (guess->mode == SKEL__STOP_PUSHES) guess->is_right = pushes && x1 > 0;
    if (guess->mode == SKEL__STOP_OPEN) guess->is_right = !pushes;

    if (guess->is_right) return law;
    return guess->mode == SKEL__STOP_PUSHES ? line : (side){0};
}

/* ---- limits of both sides ---- */

typedef struct span {
    double start, end, h; /* h [s]; 0: at a moment, and `end` is the rate */
} span;

static side one_side(const skel_state *s, int32_t joint, int k, int high, span c, double inertia,
                     skel__stop_prediction *guess) {
    const skel__joint *j = &s->m->joint[joint];
    const double sign = high ? 1.0 : -1.0;
    const int32_t event = skel__stop_event(s->m, joint, k, high);
    const double edge = skel__stop_edge(s, joint, k, high);
    const double x0 = sign * (c.start - edge);
    const double x1 = c.h > 0 ? sign * (c.end - edge) : sign * c.end;
    const int rests = s->event_state[event] == SKEL__EVENT_RESTING;
    side out;

    /* Limiting torque, or the spring of a hard stop that the joint rests on. */
    if (j->limits.law_range > 0 && (rests || !s->run->is_event_driven))
        out = c.h > 0 ? law_over(j, x0, x1, c.h) : law_at(j, x0, x1, s->run->is_event_driven);
    else if (rests && guess)
        out = predicted_stop(stop_of(s, joint, inertia), x0, x1, c.h, inertia, guess);
    else if (rests)
        out = c.h > 0 ? stop_over(stop_of(s, joint, inertia), x0, x1, c.h, inertia)
                      : stop_at(stop_of(s, joint, inertia), x0, x1);
    else
        return (side){0};

    /* The force is directed against x, hence against c on the high side. */
    out.force *= -sign;
    return out;
}

static void add_limits(const skel_state *s, int32_t joint, int k, span c, double inertia,
                       skel__stop_prediction *guess, skel__joint_force *out) {
    const skel__joint *j = &s->m->joint[joint];
    const int cone = j->type == SKEL_JOINT_BALL && k == 0; /* a cone has no low side */
    for (int high = cone ? 1 : 0; high < 2; ++high) {
        const side e = one_side(s, joint, k, high, c, inertia, guess ? guess + high : NULL);
        out->force += e.force;
        out->slope -= e.slope;
        out->stored += e.stored;
        out->friction += e.friction;
    }
}

/* ---- sums of limits, spring and muscle ---- */

skel__joint_force skel__joint_force_at(const skel_state *s, int32_t joint, int k, double c,
                                       double rate, double inertia, double t, double torque) {
    const skel__joint *j = &s->m->joint[joint];
    skel__joint_force out = {0};
    if (j->limits.is_set) add_limits(s, joint, k, (span){c, rate, 0}, inertia, NULL, &out);
    if (k > 0) return out;

    /* Spring and damper. */
    const double off = c - j->spring.rest;
    out.force -= j->spring.stiffness * off + j->spring.damping * rate;
    out.stored += 0.5 * j->spring.stiffness * off * off;
    out.friction -= j->spring.damping * rate * rate;
    if (j->muscle_index < 0) return out;

    /* Muscle: its torque, and Q' = -growth p' (1 - Q/max) gain, never below Q = 0. */
    const double p = j->muscle.side * rate;
    out.force += j->muscle.side * torque;
    out.motor = torque * p;
    out.internal =
        -j->muscle.growth * p * (1.0 - torque / j->muscle.max) * skel__muscle_gain(s, joint, t);
    if (torque <= 0 && out.internal < 0) out.internal = 0;
    return out;
}

/* Q over the step in closed form: max - Q is multiplied by exp(kappa (p1 - p0)), with
   kappa = growth gain / max. The mean over the change of the coordinate is exact. */
static void add_muscle(const skel_state *s, int32_t joint, double change, double t, double torque,
                       skel__joint_force *out) {
    const skel__joint *j = &s->m->joint[joint];
    const double p = j->muscle.side * change;
    const double kappa = j->muscle.growth * skel__muscle_gain(s, joint, t) / j->muscle.max;
    const double lack = j->muscle.max - torque, x = kappa * p;

    const double grown = fabs(x) < 1e-6 ? 1.0 + 0.5 * x : expm1(x) / x;
    double mean = j->muscle.max - lack * grown;
    double slope = -lack * kappa * (fabs(x) < 1e-6 ? 0.5 : (exp(x) - grown) / x);
    out->internal = j->muscle.max - lack * exp(x);

    /* A muscle cannot push: its torque ends at 0. */
    if (out->internal < 0) {
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
    const double change = c1 - c0;
    skel__joint_force out = {.internal = torque};
    if (j->limits.is_set) add_limits(s, joint, k, (span){c0, c1, h}, inertia, guess, &out);
    if (k > 0) return out;

    /* Spring and damper at the middle of the step. */
    const double off = 0.5 * (c0 + c1) - j->spring.rest;
    out.force -= j->spring.stiffness * off + j->spring.damping * change / h;
    out.slope -= 0.5 * j->spring.stiffness + j->spring.damping / h;
    out.stored += j->spring.stiffness * off * change;
    out.friction -= j->spring.damping * change * change / h;

    if (j->muscle_index >= 0) add_muscle(s, joint, change, t, torque, &out);
    return out;
}
