/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of descs before a model is built from them. */
#include "model/check.h"

#include "base/error.h"
#include "model/model.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SCREW_PITCH_MIN 1e-9       /* [m/rad] below it, rounding would decide the number of turns */
#define SCREW_PITCH_MAX 1e9        /* [m/rad] */
#define QUATERNION_LENGTH_TOL 1e-3 /* largest difference from unit length */
#define DIRECTION_LENGTH_TOL 1e-6  /* the same for a vector */
#define INERTIA_DETERMINANT_MIN 1e-14 /* relative to the product of the diagonal */
#define MESSAGE_BYTES 400

static skel_status fail(skel__owner o, const char *format, ...) SKEL__PRINTF(2, 3);

/* Puts the path before the message: "bodies[2].mass: ...". */
static skel_status fail(skel__owner o, const char *format, ...) {
    char text[MESSAGE_BYTES];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (!o.list) return skel__fail(o.err, o.status, -1, -1, "%s", text);

    const int32_t body = strcmp(o.list, "bodies") == 0 ? o.index : -1;
    const int32_t joint = strcmp(o.list, "joints") == 0 ? o.index : -1;
    return skel__fail(o.err, o.status, body, joint, "%s[%d].%s", o.list, o.index, text);
}

/* ---- fields -------------------------------------------------------------------------------- */

skel_status skel__check_finite(skel__owner o, const char *field, const double *v, int count) {
    for (int k = 0; k < count; ++k)
        if (!isfinite(v[k])) return fail(o, "%s: is %g, must be finite", field, v[k]);
    return SKEL_OK;
}

/* A number that must not be negative, with its name. */
typedef struct amount {
    const char *field;
    double value;
} amount;

static skel_status check_amounts(skel__owner o, const amount *a, size_t count) {
    for (size_t k = 0; k < count; ++k)
        if (!(a[k].value >= 0) || !isfinite(a[k].value))
            return fail(o, "%s: is %g, must be finite and >= 0", a[k].field, a[k].value);
    return SKEL_OK;
}
#define CHECK_AMOUNTS(o, ...)                                                                      \
    SKEL__CHECK(check_amounts(o, (const amount[]){__VA_ARGS__},                                    \
                              sizeof((const amount[]){__VA_ARGS__}) / sizeof(amount)))

static skel_status check_ratio(skel__owner o, const char *field, double value) {
    if (value >= 0 && value <= 1) return SKEL_OK;
    return fail(o, "%s: is %g, must be 0 to 1", field, value);
}

static skel_status check_quaternion(skel__owner o, const char *field, const double *q) {
    SKEL__CHECK(skel__check_finite(o, field, q, 4));
    const double n = sqrt(q_dot(q_of(q), q_of(q)));
    if (fabs(n - 1.0) <= QUATERNION_LENGTH_TOL) return SKEL_OK;
    return fail(o, "%s: has length %g, must be 1", field, n);
}

static skel_status check_direction(skel__owner o, const char *field, const double *v) {
    SKEL__CHECK(skel__check_finite(o, field, v, 3));
    const double n = v3_norm(v3_of(v));
    if (fabs(n - 1.0) <= DIRECTION_LENGTH_TOL) return SKEL_OK;
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
        return fail(o, "%s: time or value is NULL, must have %u samples", field, c->count);
    if (c->width != width) return fail(o, "%s.width: is %u, must be %u", field, c->width, width);

    for (uint32_t k = 0; k < c->count; ++k) {
        if (!isfinite(c->time[k]) || (k > 0 && !(c->time[k] > c->time[k - 1])))
            return fail(o, "%s.time[%u]: is %g s, must be finite and later than the sample before",
                        field, k, c->time[k]);
        for (uint32_t i = 0; i < width; ++i)
            if (!isfinite(c->value[(size_t)k * width + i]))
                return fail(o, "%s.value[%u]: is %g, must be finite", field, k,
                            c->value[(size_t)k * width + i]);
    }
    return SKEL_OK;
}

/* A curve of unit quaternions. */
static skel_status check_curve_unit(skel__owner o, const char *field, const skel_curve *c) {
    char name[64];
    SKEL__CHECK(skel__check_curve(o, field, c, 4));
    for (uint32_t k = 0; k < c->count; ++k) {
        snprintf(name, sizeof name, "%s.value[%u]", field, k);
        SKEL__CHECK(check_quaternion(o, name, c->value + 4 * (size_t)k));
    }
    return SKEL_OK;
}

/* ---- bodies --------------------------------------------------------------------------------- */

/* Mass and inertia are both given, or both 0 for a body that is used in kinematics only. By
   Sylvester's criterion, the inertia is positive definite if its leading minors are positive. */
static skel_status check_mass(skel__owner o, const skel_body_desc *d) {
    const double *j = d->inertia;
    if (d->mass == 0) return SKEL_OK;
    if (!(d->mass > 0)) return fail(o, "mass: is %g kg, must be > 0", d->mass);

    /* Divide by the largest entry of the diagonal, so that no product overflows. */
    const double unit = 1.0 / fmax(j[0], fmax(j[1], j[2]));
    const double x = j[0] * unit, y = j[1] * unit, z = j[2] * unit;
    const double a = j[3] * unit, b = j[4] * unit, c = j[5] * unit;
    const m3 m = {{{x, a, b}, {a, y, c}, {b, c, z}}};

    if (x > 0 && x * y - a * a > 0 && m3_det(m) > INERTIA_DETERMINANT_MIN * x * y * z)
        return SKEL_OK;
    return fail(o, "inertia: is [%g, %g, %g, %g, %g, %g], must be positive definite", j[0], j[1],
                j[2], j[3], j[4], j[5]);
}

static skel_status check_pinned(skel__owner o, const skel_body_desc *d) {
    if (d->pinned_count == 0) return SKEL_OK;
    if (d->motion != SKEL_MOTION_DYNAMIC || !d->pinned)
        return fail(o, "pinned: must have intervals, and only dynamic bodies can be pinned");

    double last = -INFINITY;
    for (uint32_t k = 0; k < 2 * d->pinned_count; ++k) {
        if (isnan(d->pinned[k]) || !(d->pinned[k] > last))
            return fail(o, "pinned[%u]: is %g s, must be later than the time before", k / 2,
                        d->pinned[k]);
        last = d->pinned[k];
    }
    return SKEL_OK;
}

static skel_status check_contacts(skel__owner o, const skel_body_desc *d) {
    if (d->collide < SKEL_COLLIDE_NONE)
        return fail(o, "collide: is %d, must be SKEL_COLLIDE_* or a group > 0", d->collide);
    if (d->contact_count > 0 && !d->contacts)
        return fail(o, "contacts: is NULL, must have %u points", d->contact_count);
    for (uint32_t k = 0; k < d->contact_count; ++k)
        for (size_t i = 0; i < 3; ++i)
            if (!isfinite(d->contacts[3 * (size_t)k + i]))
                return fail(o, "contacts[%u]: is %g m, must be finite", k,
                            d->contacts[3 * (size_t)k + i]);
    return SKEL_OK;
}

skel_status skel__check_body(skel__owner o, const skel_body_desc *d) {
    if (d->motion < SKEL_MOTION_DYNAMIC || d->motion > SKEL_MOTION_DRIVEN)
        return fail(o, "motion: is %d, must be 0, 1 or 2", d->motion);
    if (d->shape < SKEL_SHAPE_NONE || d->shape > SKEL_SHAPE_ROD)
        return fail(o, "shape: is %d, must be 0 to 5", d->shape);
    if (d->name && strcmp(d->name, "world") == 0)
        return fail(o, "name: is \"world\", must be another name: this one is reserved");
    if ((d->flags & ~(uint32_t)SKEL_FLAG_SMOOTH) != 0)
        return fail(o, "flags: is %u, must be 0 or SKEL_FLAG_SMOOTH", d->flags);

    SKEL__CHECK(skel__check_finite(o, "mass", &d->mass, 1));
    SKEL__CHECK(skel__check_finite(o, "inertia", d->inertia, 6));
    SKEL__CHECK(check_mass(o, d));

    SKEL__CHECK(skel__check_finite(o, "position", d->position, 3));
    SKEL__CHECK(check_quaternion(o, "orientation", d->orientation));
    SKEL__CHECK(skel__check_finite(o, "velocity", d->velocity, 3));
    SKEL__CHECK(skel__check_finite(o, "angular_velocity", d->angular_velocity, 3));

    SKEL__CHECK(skel__check_finite(o, "force", d->force, 3));
    SKEL__CHECK(skel__check_finite(o, "torque", d->torque, 3));
    SKEL__CHECK(skel__check_finite(o, "size", d->size, 3));

    SKEL__CHECK(skel__check_curve(o, "force_curve", &d->force_curve, 3));
    SKEL__CHECK(skel__check_curve(o, "torque_curve", &d->torque_curve, 3));
    SKEL__CHECK(skel__check_curve(o, "position_curve", &d->position_curve, 3));
    SKEL__CHECK(check_curve_unit(o, "orientation_curve", &d->orientation_curve));

    const int has_curve = d->position_curve.count > 0 || d->orientation_curve.count > 0;
    if (has_curve && d->motion == SKEL_MOTION_FIXED)
        return fail(o, "curve: must be empty, because the body is fixed");
    if (!has_curve && d->motion == SKEL_MOTION_DRIVEN)
        return fail(o, "curve: is missing, a driven body must have one");

    SKEL__CHECK(check_contacts(o, d));
    return check_pinned(o, d);
}

/* ---- joints --------------------------------------------------------------------------------- */

static skel_status check_law(skel__owner o, const skel_joint_desc *d) {
    SKEL__CHECK(check_ratio(o, "limits.restitution", d->limits.restitution));
    CHECK_AMOUNTS(o, {"limits.law_a", d->limits.law_a}, {"limits.law_b", d->limits.law_b},
                  {"limits.law_c", d->limits.law_c}, {"limits.law_d", d->limits.law_d},
                  {"limits.law_range", d->limits.law_range});

    if (!(d->limits.law_range > 0)) return SKEL_OK;
    if (!d->limits.is_set)
        return fail(o, "limits.law_range: is %g, must come with limits", d->limits.law_range);
    if (!(d->limits.law_b > 0)) return fail(o, "limits.law_b: is 0, must be > 0");
    if (!(d->limits.law_c > 0)) return fail(o, "limits.law_c: is 0, must be > 0");
    return SKEL_OK;
}

static skel_status check_limits(skel__owner o, const skel_joint_desc *d) {
    SKEL__CHECK(check_law(o, d));
    if (!d->limits.is_set) return SKEL_OK;
    if (skel__joint_nv(d->type) == 0)
        return fail(o, "limits: must not be set, a %s joint has no coordinate",
                    skel__joint_kinds[d->type].name);

    SKEL__CHECK(skel__check_finite(o, "limits", d->limits.low, 2));
    SKEL__CHECK(skel__check_finite(o, "limits", d->limits.high, 2));
    SKEL__CHECK(skel__check_finite(o, "limits", d->limits.axis, 3));

    for (int k = 0; k < 2; ++k)
        if (d->limits.low[k] > d->limits.high[k])
            return fail(o, "limits: is [%g, %g], the first must not exceed the second",
                        d->limits.low[k], d->limits.high[k]);
    if (d->type == SKEL_JOINT_BALL &&
        !(fabs(v3_norm(v3_of(d->limits.axis)) - 1.0) < DIRECTION_LENGTH_TOL))
        return fail(o, "limits.axis: has length %g, must be 1", v3_norm(v3_of(d->limits.axis)));
    return SKEL_OK;
}

static skel_status check_follow(skel__owner o, const skel_joint_desc *d) {
    CHECK_AMOUNTS(o, {"follow.frequency", d->follow.frequency},
                  {"follow.damping", d->follow.damping}, {"follow.max", d->follow.max});
    if (d->follow.frequency > 0 && skel__joint_nv(d->type) == 0)
        return fail(o, "follow: must not be set, a %s joint has no coordinate",
                    skel__joint_kinds[d->type].name);

    SKEL__CHECK(skel__check_curve(o, "follow.weight", &d->follow.weight, 1));
    if (skel__joint_kinds[d->type].q_kind[0] == SKEL_COORDINATE_QUATERNION)
        return check_curve_unit(o, "follow.curve", &d->follow.target);
    return skel__check_curve(o, "follow.curve", &d->follow.target,
                             (uint32_t)skel__joint_nq(d->type));
}

static skel_status check_spring(skel__owner o, const skel_joint_desc *d, int has_one_axis) {
    CHECK_AMOUNTS(o, {"spring.stiffness", d->spring.stiffness},
                  {"spring.damping", d->spring.damping});
    SKEL__CHECK(skel__check_finite(o, "spring.rest", &d->spring.rest, 1));
    if ((d->spring.stiffness > 0 || d->spring.damping > 0) && !has_one_axis)
        return fail(o, "spring: must be 0, only joints with one coordinate have one");
    return SKEL_OK;
}

static skel_status check_muscle(skel__owner o, const skel_joint_desc *d, int has_one_axis) {
    CHECK_AMOUNTS(o, {"muscle.growth", d->muscle.growth}, {"muscle.max", d->muscle.max},
                  {"muscle.start", d->muscle.start}, {"muscle.delay", d->muscle.delay});
    SKEL__CHECK(skel__check_finite(o, "muscle.feedback", &d->muscle.feedback, 1));
    SKEL__CHECK(skel__check_finite(o, "muscle.impact_speed", &d->muscle.impact_speed, 1));
    if (d->muscle.side != 1 && d->muscle.side != -1)
        return fail(o, "muscle.side: is %d, must be 1 or -1", d->muscle.side);
    SKEL__CHECK(check_zero(o, "reserved", d->reserved));

    if (!(d->muscle.growth > 0)) return SKEL_OK;
    if (!has_one_axis)
        return fail(o, "muscle.growth: must be 0, only joints with one coordinate have a muscle");
    if (!(d->muscle.max > 0)) return fail(o, "muscle.max: is 0, must be > 0");
    if (d->muscle.start > d->muscle.max)
        return fail(o, "muscle.start: is %g, must be at most muscle.max, which is %g",
                    d->muscle.start, d->muscle.max);
    return SKEL_OK;
}

/* A screw without a pitch would be a hinge. */
static skel_status check_pitch(skel__owner o, const skel_joint_desc *d) {
    if (d->type != SKEL_JOINT_SCREW) {
        if (d->pitch == 0) return SKEL_OK;
        return fail(o, "pitch: is %g m/rad, must be 0, only a screw has one", d->pitch);
    }
    const double size = fabs(d->pitch);
    if (size >= SCREW_PITCH_MIN && size <= SCREW_PITCH_MAX) return SKEL_OK;
    return fail(o, "pitch: is %g m/rad, must be %g to %g in absolute value", d->pitch,
                SCREW_PITCH_MIN, SCREW_PITCH_MAX);
}

static skel_status check_joint_bodies(skel__owner o, int32_t nb, const skel_joint_desc *d) {
    if (d->parent < -1 || d->parent >= nb || d->child < -1 || d->child >= nb)
        return fail(o, "bodies: is [%d, %d], must be -1 (world) to %d", d->parent, d->child,
                    nb - 1);
    if (d->parent == d->child)
        return fail(o, "bodies: is [%d, %d], must be two different bodies", d->parent, d->child);
    return SKEL_OK;
}

skel_status skel__check_joint(skel__owner o, int32_t body_count, const skel_joint_desc *d) {
    if (!skel__is_joint_type(d->type))
        return fail(o, "type: is %d, must be 0 to %d", d->type, skel__joint_kind_count - 1);
    SKEL__CHECK(check_joint_bodies(o, body_count, d));

    SKEL__CHECK(skel__check_finite(o, "frames[0].position", d->parent_position, 3));
    SKEL__CHECK(check_quaternion(o, "frames[0].orientation", d->parent_orientation));
    SKEL__CHECK(skel__check_finite(o, "frames[1].position", d->child_position, 3));
    SKEL__CHECK(check_quaternion(o, "frames[1].orientation", d->child_orientation));

    SKEL__CHECK(skel__check_finite(o, "q", d->q, 4));
    SKEL__CHECK(check_pitch(o, d));
    SKEL__CHECK(skel__check_finite(o, "friction", &d->friction, 1));
    SKEL__CHECK(skel__check_finite(o, "motor", &d->motor, 1));
    SKEL__CHECK(skel__check_curve(o, "motor_curve", &d->motor_curve, 1));
    if (d->friction < 0) return fail(o, "friction: is %g, must be >= 0", d->friction);
    if ((d->flags & ~SKEL_FLAG_SMOOTH) != 0)
        return fail(o, "flags: is %d, must be 0 or SKEL_FLAG_SMOOTH", d->flags);

    const int has_one_axis = skel__joint_kinds[d->type].has_axis;
    const int has_motor = d->motor != 0 || d->motor_curve.count > 0;
    if (has_motor && !has_one_axis)
        return fail(o, "motor: must be 0, only joints with one coordinate have one");

    SKEL__CHECK(check_spring(o, d, has_one_axis));
    SKEL__CHECK(check_muscle(o, d, has_one_axis));
    SKEL__CHECK(check_follow(o, d));

    SKEL__CHECK(skel__check_finite(o, "mimic.multiplier", &d->mimic.multiplier, 1));
    SKEL__CHECK(skel__check_finite(o, "mimic.offset", &d->mimic.offset, 1));
    return check_limits(o, d);
}

/* ---- surroundings --------------------------------------------------------------------------- */

skel_status skel__check_ground(skel__owner o, int32_t body_count, const skel_ground_desc *d) {
    SKEL__CHECK(check_index(o, "body", d->body, SKEL_WORLD, body_count));
    SKEL__CHECK(skel__check_finite(o, "point", d->point, 3));
    SKEL__CHECK(check_direction(o, "normal", d->normal));
    CHECK_AMOUNTS(o, {"friction", d->friction}, {"a", d->a}, {"b", d->b}, {"d", d->d},
                  {"stick_stiffness", d->stick_stiffness}, {"stick_damping", d->stick_damping});

    if (d->a > 0 && !(d->b >= 1)) return fail(o, "b: is %g, must be >= 1", d->b);
    if (d->is_rigid != 0 && d->is_rigid != 1)
        return fail(o, "is_rigid: is %d, must be 0 or 1", d->is_rigid);

    SKEL__CHECK(check_zero(o, "reserved", d->reserved));
    SKEL__CHECK(check_ratio(o, "restitution", d->restitution));
    return check_ratio(o, "tangential_restitution", d->tangential_restitution);
}

skel_status skel__check_wobble(skel__owner o, int32_t body_count, const skel_wobble_desc *d) {
    SKEL__CHECK(check_index(o, "body", d->body, 0, body_count));
    SKEL__CHECK(check_index(o, "host", d->host, 0, body_count));
    if (d->body == d->host)
        return fail(o, "host: is %d, must be another body than the wobbling mass", d->host);
    SKEL__CHECK(check_zero(o, "reserved", d->reserved));

    SKEL__CHECK(skel__check_finite(o, "rest", d->rest, 3));
    SKEL__CHECK(check_direction(o, "axis", d->axis));
    CHECK_AMOUNTS(o, {"along_c", d->along_c}, {"along_d", d->along_d}, {"across_c", d->across_c},
                  {"across_d", d->across_d}, {"turn_a", d->turn_a}, {"turn_b", d->turn_b});
    return SKEL_OK;
}

skel_status skel__check_field(skel__owner o, int32_t body_count, const skel_field_desc *d) {
    if (d->type < SKEL_FIELD_UNIFORM || d->type > SKEL_FIELD_TURBULENCE)
        return fail(o, "type: is %d, must be 0 to 3", d->type);
    SKEL__CHECK(check_index(o, "body", d->body, SKEL_WORLD, body_count));

    SKEL__CHECK(skel__check_finite(o, "vector", d->vector, 3));
    SKEL__CHECK(skel__check_finite(o, "point", d->point, 3));
    SKEL__CHECK(check_direction(o, "axis", d->axis));
    SKEL__CHECK(skel__check_finite(o, "strength", &d->strength, 1));
    CHECK_AMOUNTS(o, {"scale", d->scale}, {"period", d->period}, {"density", d->density},
                  {"coefficient", d->coefficient});

    const int has_scale = d->type == SKEL_FIELD_VORTEX || d->type == SKEL_FIELD_TURBULENCE;
    if (has_scale && !(d->scale > 0)) return fail(o, "scale: is 0, must be > 0");
    return SKEL_OK;
}
