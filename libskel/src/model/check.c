/* SPDX-License-Identifier: BSD-3-Clause */
/* What a desc must be before a model is made of it. */
#include "model/check.h"

#include "base/error.h"
#include "model/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define UNIT_QUATERNION 1e-3 /* how far from 1 a given length may be */
#define UNIT_VECTOR 1e-6

#define CHECK(call)                                                                                \
    do {                                                                                           \
        const skel_status status_ = (call);                                                        \
        if (status_ != SKEL_OK) return status_;                                                    \
    } while (0)

static skel_status fail(skel__owner o, const char *format, ...) SKEL__PRINTF(2, 3);

/* "bodies[2].mass: ..." */
static skel_status fail(skel__owner o, const char *format, ...) {
    char    text[400];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!o.list) return skel__fail(o.err, o.status, -1, -1, "%s", text);
    return skel__fail(o.err, o.status, strcmp(o.list, "bodies") == 0 ? o.index : -1,
                      strcmp(o.list, "joints") == 0 ? o.index : -1, "%s[%d].%s", o.list, o.index,
                      text);
}

/* ---- kinds of fields ------------------------------------------------------------------------ */

skel_status skel__check_finite(skel__owner o, const char *field, const double *v, int count) {
    for (int k = 0; k < count; ++k)
        if (!isfinite(v[k])) return fail(o, "%s: is %g, must be finite", field, v[k]);
    return SKEL_OK;
}

/* Numbers that must not be negative, each with its name. */
typedef struct amount {
    const char *field;
    double      value;
} amount;

static skel_status check_amounts(skel__owner o, const amount *a, size_t count) {
    for (size_t k = 0; k < count; ++k)
        if (!(a[k].value >= 0) || !isfinite(a[k].value))
            return fail(o, "%s: is %g, must be finite and >= 0", a[k].field, a[k].value);
    return SKEL_OK;
}
#define CHECK_AMOUNTS(o, ...)                                                                      \
    CHECK(check_amounts(o, (const amount[]){__VA_ARGS__},                                          \
                        sizeof((const amount[]){__VA_ARGS__}) / sizeof(amount)))

static skel_status check_ratio(skel__owner o, const char *field, double value) {
    if (value >= 0 && value <= 1) return SKEL_OK;
    return fail(o, "%s: is %g, must be 0 to 1", field, value);
}

static skel_status check_quaternion(skel__owner o, const char *field, const double *q) {
    CHECK(skel__check_finite(o, field, q, 4));
    const double n = sqrt(q_dot(q_of(q), q_of(q)));
    if (fabs(n - 1.0) <= UNIT_QUATERNION) return SKEL_OK;
    return fail(o, "%s: has length %g, must be 1", field, n);
}

static skel_status check_direction(skel__owner o, const char *field, const double *v) {
    CHECK(skel__check_finite(o, field, v, 3));
    const double n = v3_norm(v3_of(v));
    if (fabs(n - 1.0) <= UNIT_VECTOR) return SKEL_OK;
    return fail(o, "%s: has length %g, must be 1", field, n);
}

static skel_status check_index(skel__owner o, const char *field, int32_t body, int32_t low,
                               int32_t body_count) {
    if (body >= low && body < body_count) return SKEL_OK;
    return fail(o, "%s: is %d, must be %s to %d", field, body, low < 0 ? "-1 (world)" : "0",
                body_count - 1);
}

static skel_status check_zero(skel__owner o, const char *field, int32_t value) {
    return value == 0 ? SKEL_OK : fail(o, "%s: is %d, must be 0", field, value);
}

skel_status skel__check_curve(skel__owner o, const char *field, const skel_curve *c,
                              uint32_t width) {
    if (c->count == 0) return SKEL_OK;
    o.status = SKEL_E_CURVE;
    if (!c->time || !c->value)
        return fail(o, "%s: has no samples, must have time and value", field);
    if (c->width != width) return fail(o, "%s.width: is %u, must be %u", field, c->width, width);
    for (uint32_t k = 0; k < c->count; ++k) {
        if (!isfinite(c->time[k]) || (k > 0 && !(c->time[k] > c->time[k - 1])))
            return fail(o, "%s.time[%u]: is %g, must be finite and later than the one before",
                        field, k, c->time[k]);
        for (uint32_t i = 0; i < width; ++i)
            if (!isfinite(c->value[(size_t)k * width + i]))
                return fail(o, "%s.value[%u]: must be finite", field, k);
    }
    return SKEL_OK;
}

static skel_status check_curve_unit(skel__owner o, const char *field, const skel_curve *c) {
    char name[64];
    CHECK(skel__check_curve(o, field, c, 4));
    for (uint32_t k = 0; k < c->count; ++k) {
        snprintf(name, sizeof name, "%s.value[%u]", field, k);
        CHECK(check_quaternion(o, name, c->value + 4 * (size_t)k));
    }
    return SKEL_OK;
}

/* ---- bodies --------------------------------------------------------------------------------- */

/* Mass and inertia: both, or neither (a body for kinematics). Positive definite by Sylvester. */
static skel_status check_mass(skel__owner o, const skel_body_desc *d) {
    const double *j = d->inertia;
    if (d->mass == 0) return SKEL_OK;
    if (!(d->mass > 0)) return fail(o, "mass: is %g, must be > 0", d->mass);
    /* in units of the largest, so that no product overflows */
    const double unit = 1.0 / fmax(j[0], fmax(j[1], j[2]));
    const double x = j[0] * unit, y = j[1] * unit, z = j[2] * unit;
    const double a = j[3] * unit, b = j[4] * unit, c = j[5] * unit;
    const m3     m = {{{x, a, b}, {a, y, c}, {b, c, z}}};
    if (x > 0 && x * y - a * a > 0 && m3_det(m) > 1e-14 * x * y * z) return SKEL_OK;
    return fail(o, "inertia: is [%g, %g, %g, %g, %g, %g], must be positive definite", j[0], j[1],
                j[2], j[3], j[4], j[5]);
}

static skel_status check_pinned(skel__owner o, const skel_body_desc *d) {
    if (d->pinned_count == 0) return SKEL_OK;
    if (d->motion != SKEL_MOTION_DYNAMIC || !d->pinned)
        return fail(o, "pinned: is for dynamic bodies, and must have intervals");
    double last = -INFINITY;
    for (uint32_t k = 0; k < 2 * d->pinned_count; ++k) {
        if (isnan(d->pinned[k]) || !(d->pinned[k] > last))
            return fail(o, "pinned[%u]: is %g, must be later than the time before", k / 2,
                        d->pinned[k]);
        last = d->pinned[k];
    }
    return SKEL_OK;
}

static skel_status check_touch(skel__owner o, const skel_body_desc *d) {
    if (d->collide < SKEL_COLLIDE_NONE)
        return fail(o, "collide: is %d, must be -2, -1, 0 or a group > 0", d->collide);
    if (d->contact_count > 0 && !d->contacts)
        return fail(o, "contacts: is NULL, must have %u points", d->contact_count);
    for (uint32_t k = 0; k < d->contact_count; ++k)
        for (size_t i = 0; i < 3; ++i)
            if (!isfinite(d->contacts[3 * (size_t)k + i]))
                return fail(o, "contacts[%u]: is %g, must be finite", k,
                            d->contacts[3 * (size_t)k + i]);
    return SKEL_OK;
}

skel_status skel__check_body(skel__owner o, const skel_body_desc *d) {
    if (d->motion < SKEL_MOTION_DYNAMIC || d->motion > SKEL_MOTION_DRIVEN)
        return fail(o, "motion: is %d, must be 0, 1 or 2", d->motion);
    if (d->shape < SKEL_SHAPE_NONE || d->shape > SKEL_SHAPE_ROD)
        return fail(o, "shape: is %d, must be 0 to 5", d->shape);
    if (d->name && strcmp(d->name, "world") == 0)
        return fail(o, "name: is \"world\", which is the world's");
    if ((d->flags & ~(uint32_t)SKEL_FLAG_SMOOTH) != 0)
        return fail(o, "flags: is %u, must be 0 or SKEL_FLAG_SMOOTH", d->flags);
    CHECK(skel__check_finite(o, "mass", &d->mass, 1));
    CHECK(skel__check_finite(o, "inertia", d->inertia, 6));
    CHECK(check_mass(o, d));
    CHECK(skel__check_finite(o, "position", d->position, 3));
    CHECK(check_quaternion(o, "orientation", d->orientation));
    CHECK(skel__check_finite(o, "velocity", d->velocity, 3));
    CHECK(skel__check_finite(o, "angular_velocity", d->angular_velocity, 3));
    CHECK(skel__check_finite(o, "force", d->force, 3));
    CHECK(skel__check_finite(o, "torque", d->torque, 3));
    CHECK(skel__check_finite(o, "size", d->size, 3));
    CHECK(skel__check_curve(o, "force_curve", &d->force_curve, 3));
    CHECK(skel__check_curve(o, "torque_curve", &d->torque_curve, 3));
    CHECK(skel__check_curve(o, "position_curve", &d->position_curve, 3));
    CHECK(check_curve_unit(o, "orientation_curve", &d->orientation_curve));
    const int has_curve = d->position_curve.count > 0 || d->orientation_curve.count > 0;
    if (has_curve && d->motion == SKEL_MOTION_FIXED)
        return fail(o, "curve: a fixed body follows none");
    if (!has_curve && d->motion == SKEL_MOTION_DRIVEN)
        return fail(o, "curve: is missing, a driven body needs one");
    CHECK(check_touch(o, d));
    return check_pinned(o, d);
}

/* ---- joints --------------------------------------------------------------------------------- */

static skel_status check_law(skel__owner o, const skel_joint_desc *d) {
    CHECK(check_ratio(o, "limit_restitution", d->limits.restitution));
    CHECK_AMOUNTS(o, {"limit_law_a", d->limits.law_a}, {"limit_law_b", d->limits.law_b},
                  {"limit_law_c", d->limits.law_c}, {"limit_law_d", d->limits.law_d},
                  {"limit_law_on", d->limits.law_range});
    if (!(d->limits.law_range > 0)) return SKEL_OK;
    if (!d->limits.is_set)
        return fail(o, "limit_law_on: is %g, must come with limits", d->limits.law_range);
    if (!(d->limits.law_b > 0)) return fail(o, "limit_law_b: is 0, must be > 0");
    if (!(d->limits.law_c > 0)) return fail(o, "limit_law_c: is 0, must be > 0");
    return SKEL_OK;
}

static skel_status check_limits(skel__owner o, const skel_joint_desc *d) {
    CHECK(check_law(o, d));
    if (!d->limits.is_set) return SKEL_OK;
    if (d->type == SKEL_JOINT_FIXED) return fail(o, "limits: a fixed joint has none");
    CHECK(skel__check_finite(o, "limits", d->limits.low, 2));
    CHECK(skel__check_finite(o, "limits", d->limits.high, 2));
    CHECK(skel__check_finite(o, "limits", d->limits.axis, 3));
    for (int k = 0; k < 2; ++k)
        if (d->limits.low[k] > d->limits.high[k])
            return fail(o, "limits: is [%g, %g], must not fall", d->limits.low[k],
                        d->limits.high[k]);
    if (d->type == SKEL_JOINT_BALL && !(fabs(v3_norm(v3_of(d->limits.axis)) - 1.0) < UNIT_VECTOR))
        return fail(o, "limits.axis: must have length 1");
    return SKEL_OK;
}

static skel_status check_follow(skel__owner o, const skel_joint_desc *d) {
    const double numbers[3] = {d->follow.frequency, d->follow.damping, d->follow.max};
    for (int k = 0; k < 3; ++k)
        if (!isfinite(numbers[k]) || numbers[k] < 0)
            return fail(o, "follow: has %g, must be >= 0", numbers[k]);
    if (d->follow.frequency > 0 && d->type == SKEL_JOINT_FIXED)
        return fail(o, "follow: a fixed joint has nothing to follow with");
    CHECK(skel__check_curve(o, "follow.weight", &d->follow.weight, 1));
    if (d->type == SKEL_JOINT_BALL) return check_curve_unit(o, "follow.curve", &d->follow.target);
    return skel__check_curve(o, "follow.curve", &d->follow.target,
                             (uint32_t)skel__joint_nq(d->type));
}

static skel_status check_spring(skel__owner o, const skel_joint_desc *d, int has_one_axis) {
    CHECK_AMOUNTS(o, {"spring_stiffness", d->spring.stiffness},
                  {"spring_damping", d->spring.damping});
    CHECK(skel__check_finite(o, "spring_rest", &d->spring.rest, 1));
    if ((d->spring.stiffness > 0 || d->spring.damping > 0) && !has_one_axis)
        return fail(o, "spring: must be 0, only hinge and slide have one axis");
    return SKEL_OK;
}

static skel_status check_muscle(skel__owner o, const skel_joint_desc *d, int has_one_axis) {
    CHECK_AMOUNTS(o, {"muscle_growth", d->muscle.growth}, {"muscle_max", d->muscle.max},
                  {"muscle_start", d->muscle.start}, {"muscle_delay", d->muscle.delay});
    CHECK(skel__check_finite(o, "muscle_feedback", &d->muscle.feedback, 1));
    CHECK(skel__check_finite(o, "muscle_impact", &d->muscle.impact_speed, 1));
    if (d->muscle.side != 1 && d->muscle.side != -1)
        return fail(o, "muscle_side: is %d, must be 1 or -1", d->muscle.side);
    CHECK(check_zero(o, "reserved", d->reserved));
    if (!(d->muscle.growth > 0)) return SKEL_OK;
    if (!has_one_axis)
        return fail(o, "muscle.growth: must be 0, only hinge and slide have one axis");
    if (!(d->muscle.max > 0)) return fail(o, "muscle_max: is 0, must be > 0");
    if (d->muscle.start > d->muscle.max)
        return fail(o, "muscle.start: is %g, must be at most muscle.max, which is %g",
                    d->muscle.start, d->muscle.max);
    return SKEL_OK;
}

static skel_status check_joint_bodies(skel__owner o, int32_t nb, const skel_joint_desc *d) {
    if (d->parent < -1 || d->parent >= nb || d->child < -1 || d->child >= nb)
        return fail(o, "bodies: is [%d, %d], must be -1 (world) to %d", d->parent, d->child,
                    nb - 1);
    if (d->parent == d->child) return fail(o, "bodies: names one body twice, must join two");
    return SKEL_OK;
}

skel_status skel__check_joint(skel__owner o, int32_t body_count, const skel_joint_desc *d) {
    if (d->type < SKEL_JOINT_FIXED || d->type > SKEL_JOINT_BALL)
        return fail(o, "type: is %d, must be 0 to 4", d->type);
    CHECK(check_joint_bodies(o, body_count, d));
    CHECK(skel__check_finite(o, "frames[0].position", d->parent_position, 3));
    CHECK(check_quaternion(o, "frames[0].orientation", d->parent_orientation));
    CHECK(skel__check_finite(o, "frames[1].position", d->child_position, 3));
    CHECK(check_quaternion(o, "frames[1].orientation", d->child_orientation));
    CHECK(skel__check_finite(o, "q", d->q, 4));
    CHECK(skel__check_finite(o, "friction", &d->friction, 1));
    CHECK(skel__check_finite(o, "motor", &d->motor, 1));
    CHECK(skel__check_curve(o, "motor_curve", &d->motor_curve, 1));
    if (d->friction < 0) return fail(o, "friction: is %g, must be >= 0", d->friction);
    if ((d->flags & ~SKEL_FLAG_SMOOTH) != 0)
        return fail(o, "flags: is %d, must be 0 or SKEL_FLAG_SMOOTH", d->flags);
    const int has_one_axis = d->type == SKEL_JOINT_HINGE || d->type == SKEL_JOINT_SLIDE;
    const int has_motor    = d->motor != 0 || d->motor_curve.count > 0;
    if (has_motor && !has_one_axis)
        return fail(o, "motor: must be 0, only hinge and slide have one axis");
    CHECK(check_spring(o, d, has_one_axis));
    CHECK(check_muscle(o, d, has_one_axis));
    CHECK(check_follow(o, d));
    CHECK(skel__check_finite(o, "mimic_multiplier", &d->mimic.multiplier, 1));
    CHECK(skel__check_finite(o, "mimic_offset", &d->mimic.offset, 1));
    return check_limits(o, d);
}

/* ---- the world ------------------------------------------------------------------------------ */

skel_status skel__check_ground(skel__owner o, int32_t body_count, const skel_ground_desc *d) {
    CHECK(check_index(o, "body", d->body, SKEL_WORLD, body_count));
    CHECK(skel__check_finite(o, "point", d->point, 3));
    CHECK(check_direction(o, "normal", d->normal));
    CHECK_AMOUNTS(o, {"friction", d->friction}, {"a", d->a}, {"b", d->b}, {"d", d->d},
                  {"stick_stiffness", d->stick_stiffness}, {"stick_damping", d->stick_damping});
    if (d->a > 0 && !(d->b >= 1)) return fail(o, "b: is %g, must be >= 1", d->b);
    if (d->is_rigid != 0 && d->is_rigid != 1)
        return fail(o, "is_rigid: is %d, must be 0 or 1", d->is_rigid);
    CHECK(check_zero(o, "reserved", d->reserved));
    CHECK(check_ratio(o, "restitution", d->restitution));
    return check_ratio(o, "tangential_restitution", d->tangential_restitution);
}

skel_status skel__check_wobble(skel__owner o, int32_t body_count, const skel_wobble_desc *d) {
    CHECK(check_index(o, "body", d->body, 0, body_count));
    CHECK(check_index(o, "host", d->host, 0, body_count));
    if (d->body == d->host) return fail(o, "host: is %d, must be another body", d->host);
    CHECK(check_zero(o, "reserved", d->reserved));
    CHECK(skel__check_finite(o, "rest", d->rest, 3));
    CHECK(check_direction(o, "axis", d->axis));
    CHECK_AMOUNTS(o, {"along_c", d->along_c}, {"along_d", d->along_d}, {"across_c", d->across_c},
                  {"across_d", d->across_d}, {"turn_a", d->turn_a}, {"turn_b", d->turn_b});
    return SKEL_OK;
}

skel_status skel__check_field(skel__owner o, int32_t body_count, const skel_field_desc *d) {
    if (d->type < SKEL_FIELD_UNIFORM || d->type > SKEL_FIELD_TURBULENCE)
        return fail(o, "type: is %d, must be 0 to 3", d->type);
    CHECK(check_index(o, "body", d->body, SKEL_WORLD, body_count));
    CHECK(skel__check_finite(o, "vector", d->vector, 3));
    CHECK(skel__check_finite(o, "point", d->point, 3));
    CHECK(check_direction(o, "axis", d->axis));
    CHECK(skel__check_finite(o, "strength", &d->strength, 1));
    CHECK_AMOUNTS(o, {"scale", d->scale}, {"period", d->period}, {"density", d->density},
                  {"coefficient", d->coefficient});
    const int has_scale = d->type == SKEL_FIELD_VORTEX || d->type == SKEL_FIELD_TURBULENCE;
    if (has_scale && !(d->scale > 0)) return fail(o, "scale: is 0, must be > 0");
    return SKEL_OK;
}
