/* SPDX-License-Identifier: BSD-3-Clause */
/* A table from joint axes: common normals, link frames, parameters [ERL], with ERRATA E2 to E13.

   The common normal of two axes c + s z and p + t u, with D = p - c and k = z x u, meets them at s
   and t, and has a signed length [ERRATA E5]:
     s = (D x u).k / |k|^2,   t = (D x z).k / |k|^2,   length = D.k / |k|.
   The printed formulas have the denominator 1 - (z.u)^2, which cancels for axes that are nearly
   parallel. These do not.

   Nearly parallel axes need care in another way. If two axes at a distance a differ from parallel
   by a small angle e, their common normal lies at a distance of about a / e. The table then has
   lengths of this size which cancel. That is exact in double, but a row that is printed with k
   decimals has an error of 10^-k a / e. If the second axis is rotated by e about its own point p,
   the axes are parallel, and the lengths have the size of the chain. This changes the motion. A
   point at a distance r from p is displaced by at most |R(u, q) r - R(z, q) r| <= 2 e r over all q,
   and not at all at q = 0, because the tool compensates for it. Therefore axes are read as parallel
   only if this error is small (is_cheap). */
#include "model/dh.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/error.h"
#include "model/joint_kind.h"

#include <string.h>

_Static_assert(sizeof(skel_dh_axes_desc) == offsetof(skel_dh_axes_desc, parallel_tolerance) + 8,
               "tail padding");

#define DH_NORMAL_FAR 5.0          /* relative to the reach: a normal that is farther away is bad */
#define DH_PARALLEL_ERROR_MAX 2e-4 /* relative to the reach: error of axes read as parallel */
#define DH_PARALLEL_MIN_RAD 1e-12  /* the normal of axes that are closer to parallel is rounding */
#define DH_NORMAL_MIN_M 1e-9       /* smaller distances are rounding: a wrist has reach 0 */
#define DH_TOLERANCE_MAX_RAD 0.1   /* largest snap and parallel_tolerance */

static const skel_dh_axes_desc k_desc = {
    .struct_size = sizeof k_desc, .tip = {0, 0, 0, 1}, .snap = 1e-6, .parallel_tolerance = 1e-3};

void skel_dh_axes_desc_init_sized(skel_dh_axes_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

static v3 unit(v3 a) {
    return v3_scale(a, 1.0 / v3_norm(a));
}

/* A direction perpendicular to z, for axes that have no common normal. It is the world axis that is
   farthest from z, without its part along z. */
static v3 first_x(v3 z) {
    const double x = fabs(z.x), y = fabs(z.y), w = fabs(z.z);
    v3 e = {0, 0, 1};
    if (x <= y && x <= w)
        e = (v3){1, 0, 0};
    else if (y <= w)
        e = (v3){0, 1, 0};
    return unit(v3_mad(e, -v3_dot(e, z), z));
}

/* State of the loop over the axes: axis i, before axis i + 1 is read. */
typedef struct walker {
    v3 z, x;                   /* directions of this axis and of the common normal before it */
    v3 foot;                   /* where that normal meets this axis [ERL o_a] */
    double snap, near;         /* axes are parallel [rad], or meet [m], below these values */
    double parallel_tolerance; /* axes may be read as parallel below this angle [rad] */
    double reach, lever;       /* length of the chain, and of its part behind the next axis [m] */
} walker;

/* The common normal of this axis and the next. */
typedef struct normal {
    v3 x;                    /* direction of the normal */
    v3 origin, foot;         /* where it meets this axis and the next one */
    v3 z;                    /* direction of the next axis */
    double a, alpha;         /* length [m], angle between the axes [rad] */
    int32_t relation;        /* SKEL_DH_* */
    double turned, distance; /* as in skel_dh_row */
} normal;

/* Parallel axes have many common normals. The one through the foot of the normal before gives d = 0
   [ERRATA E8]. Coincident axes have none: x stays as it was, which gives theta = 0 [ERRATA E9]. */
static normal parallel_normal(const walker *w, v3 point, int opposite) {
    const v3 across = v3_sub(point, w->foot);
    const v3 side = v3_mad(across, -v3_dot(across, w->z), w->z);
    const double a = v3_norm(side);
    const int is_same_line = !(a > w->near);

    normal n = {w->x, w->foot, w->foot, opposite ? v3_neg(w->z) : w->z, 0, 0, 0, 0, 0};
    n.alpha = opposite ? 0.5 * SKEL__TURN : 0.0;
    if (is_same_line) {
        n.relation = opposite ? SKEL_DH_OPPOSED : SKEL_DH_COINCIDENT;
        return n;
    }

    n.relation = opposite ? SKEL_DH_ANTIPARALLEL : SKEL_DH_PARALLEL;
    n.a = a;
    n.x = v3_scale(side, 1.0 / a);
    n.foot = v3_mad(w->foot, a, n.x);
    return n;
}

/* Axes that are not parallel; k = z x u and s = |k|. If they meet, x points along k, so that alpha
   is in (0, pi) [ERRATA E7]. If not, x points to the next axis, so that a > 0 [ERRATA E4]. */
static normal skew_normal(const walker *w, v3 point, v3 u, v3 k, double s) {
    const v3 delta = v3_sub(point, w->foot);
    const double signed_a = v3_dot(delta, k) / s, k2 = s * s;
    const int meet = !(fabs(signed_a) > w->near);
    normal n = {0};

    n.x = v3_scale(k, (meet || signed_a > 0 ? 1.0 : -1.0) / s);
    n.a = meet ? 0.0 : fabs(signed_a);
    n.origin = v3_mad(w->foot, v3_dot(v3_cross(delta, u), k) / k2, w->z);
    n.foot = v3_mad(point, v3_dot(v3_cross(delta, w->z), k) / k2, u);
    n.z = u;

    /* Remove the rounding error of x along z before alpha is measured. */
    n.x = unit(v3_mad(n.x, -v3_dot(n.x, w->z), w->z));
    n.alpha = atan2(v3_dot(n.x, k), v3_dot(w->z, u));
    n.relation = meet ? SKEL_DH_INTERSECTING : SKEL_DH_SKEW;
    return n;
}

/* Whether the next axis may be rotated by asin(s) to be parallel: the error is 2 e r of the head
   comment. For a slide r is the distance that it moves, which is taken to be the reach. */
static int is_cheap(const walker *w, int32_t type, double s) {
    const double lever = skel__is_length(type, 0) ? w->reach : w->lever;
    return s <= w->parallel_tolerance && 2.0 * s * lever <= DH_PARALLEL_ERROR_MAX * w->reach;
}

/* The common normal of the given axes. They are read as parallel if their angle is below the snap
   angle, or if the normal is far away and the error is small. */
static normal common_normal(const walker *w, const skel__dh_axis *here, const skel__dh_axis *next) {
    const v3 u = unit(next->direction), k = v3_cross(w->z, u);
    const double s = v3_norm(k); /* sine of the angle */
    const int opposite = v3_dot(w->z, u) < 0, snaps = s < w->snap;
    if (snaps && s < DH_PARALLEL_MIN_RAD) return parallel_normal(w, next->point, opposite);

    normal n = skew_normal(w, next->point, u, k, s);
    n.distance = fmax(v3_norm(v3_sub(n.origin, here->point)), v3_norm(v3_sub(n.foot, next->point)));
    if (!(n.distance > DH_NORMAL_MIN_M)) n.distance = 0.0;
    const int is_far = n.distance > DH_NORMAL_FAR * w->reach;
    if (!snaps && !(is_far && is_cheap(w, next->type, s))) return n;

    normal p = parallel_normal(w, next->point, opposite);
    p.turned = asin(fmin(s, 1.0));
    p.distance = n.distance;
    return p;
}

/* Length of the chain from its first point to the tip [m]; 1 if all points coincide. */
static double reach_of(const skel__dh_axis *axes, int32_t count, v3 tip) {
    double reach = v3_norm(v3_sub(tip, axes[count - 1].point));
    for (int32_t i = 0; i + 1 < count; ++i)
        reach += v3_norm(v3_sub(axes[i + 1].point, axes[i].point));
    return reach > 0 ? reach : 1.0;
}

/* Rows of all axes. The ends are free: frame 0 is chosen as frame 1, so d_1 = theta_1 = 0, and x
   and origin of the last frame stay as they were, so d_n = theta_n = 0 [ERRATA E10]. */
static void fill_rows(const skel__dh_axis *axes, int32_t n, walker w, skel_dh_row *rows,
                      pose *first, pose *last) {
    for (int32_t i = 0; i < n; ++i) {
        skel_dh_row *r = &rows[i];
        skel_dh_row_init(r);

        normal next = {w.x, w.foot, w.foot, w.z, 0, 0, SKEL_DH_LAST, 0, 0};
        if (i + 1 < n) {
            w.lever -= v3_norm(v3_sub(axes[i + 1].point, axes[i].point));
            next = common_normal(&w, &axes[i], &axes[i + 1]);
        }
        if (i == 0) {
            w.x = next.x;
            w.foot = next.origin;
        }

        r->type = axes[i].type;
        r->joint = axes[i].joint;
        r->part = axes[i].part;
        r->relation = next.relation;
        r->turned = next.turned;
        r->normal_distance = next.distance;

        r->a = next.a;
        r->alpha = next.alpha;
        r->d = v3_dot(v3_sub(next.origin, w.foot), w.z);
        r->theta = atan2(v3_dot(w.z, v3_cross(w.x, next.x)), v3_dot(w.x, next.x));

        /* The link frame: origin on this axis, x along the normal, z along the axis. */
        const m3 rotation = m3_transpose((m3){{next.x, v3_cross(w.z, next.x), w.z}});
        const pose here = {next.origin, q_from_matrix(rotation)};
        if (i == 0) *first = here;
        *last = here;

        w.x = next.x;
        w.foot = next.foot;
        w.z = next.z;
    }
}

/* The frames of fill_rows are those of [ERL]: frame i lies on axis i. As a table of standard rows
   they have the base at frame 1 and the tool behind frame n. */
skel_status skel__dh_of_axes(const skel__dh_axis *axes, int32_t count, pose tip,
                             skel__dh_rules rules, const skel_allocator *allocator, skel_dh **out,
                             skel_error *err) {
    skel_allocator a;
    skel_status status = skel__allocator_import(&a, allocator);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1, "allocator: must have struct_size, alloc and free");
    skel_dh_row *rows = skel__alloc(&a, ((size_t)count + 1) * sizeof *rows);
    if (!rows) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory for %d axes", count);

    /* Rows of the axes. */
    pose last = tip, first = tip;
    const double reach = count > 0 ? reach_of(axes, count, tip.p) : 1.0;
    if (count > 0) {
        walker w = {.z = unit(axes[0].direction), .foot = axes[0].point};
        w.x = first_x(w.z);
        w.snap = rules.snap;
        w.near = rules.snap * reach;
        w.parallel_tolerance = rules.parallel_tolerance;
        w.reach = reach;
        w.lever = reach;
        fill_rows(axes, count, w, rows, &first, &last);
    }

    /* The table of standard rows, then the wanted convention. */
    skel_dh *dh = NULL;
    skel_dh_desc d;
    skel_dh_desc_init(&d);
    d.rows = rows;
    d.row_count = (uint32_t)count;
    d.allocator = &a;
    pose_to(first, d.base);
    pose_to(pose_mul(pose_inverse(last), tip), d.tool);
    status = skel_dh_create(&d, &dh, err);
    skel__free(&a, rows);
    if (status == SKEL_OK) status = skel_dh_convert(dh, rules.convention, out, err);
    skel_dh_destroy(dh);
    if (status != SKEL_OK) return status;

    /* The receipt measures the table that the caller gets, in its own convention. */
    status = skel__dh_measure(*out, axes, tip, reach);
    if (status == SKEL_OK) return SKEL_OK;
    skel_dh_destroy(*out);
    *out = NULL;
    if (status == SKEL_E_MEMORY)
        return skel__fail(err, status, -1, -1, "out of memory for %d axes", count);
    return skel__fail(
        err, status, -1, -1,
        "the pose of the tool is too large for a double: the reach is %.3g m, must be "
        "shorter",
        reach);
}

skel_status skel__dh_check_rules(const skel__dh_rules *rules, skel_error *err) {
    if (!(rules->snap > 0) || !(rules->snap < DH_TOLERANCE_MAX_RAD))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "snap: is %g rad, must be > 0 and < 0.1",
                          rules->snap);

    if (!(rules->parallel_tolerance >= 0) || !(rules->parallel_tolerance < DH_TOLERANCE_MAX_RAD))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "parallel_tolerance: is %g rad, must be >= 0 and < 0.1",
                          rules->parallel_tolerance);

    if (rules->convention != SKEL_DH_STANDARD && rules->convention != SKEL_DH_MODIFIED)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "convention: is %d, must be 0 (standard) or 1 (modified)",
                          rules->convention);
    return SKEL_OK;
}

static skel_status check_axes(const skel_dh_axes_desc *d, skel_error *err) {
    if ((!d->points || !d->directions) && d->count > 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "points and directions: must not be NULL");

    if (d->count > SKEL__DH_ROWS || d->reserved != 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "count: is %u, must be at most %d",
                          d->count, SKEL__DH_ROWS);

    for (uint32_t i = 0; i < d->count; ++i) {
        const double point = v3_norm(v3_of(d->points + 3 * (size_t)i));
        const double direction = v3_norm(v3_of(d->directions + 3 * (size_t)i));
        if (!isfinite(point) || !isfinite(direction) || !(direction > 0))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, (int32_t)i,
                              "axis %u: its point is %g m from the origin and its direction has "
                              "length %g, both must be finite, and the direction not 0",
                              i, point, direction);
        if (d->types && d->types[i] != SKEL_JOINT_HINGE && d->types[i] != SKEL_JOINT_SLIDE)
            return skel__fail(err, SKEL_E_ARGUMENT, -1, (int32_t)i,
                              "types[%u]: is %d, must be 1 (hinge) or 2 (slide)", i, d->types[i]);
    }
    return skel__dh_check_pose("tip", d->tip, err);
}

skel_status skel_dh_from_axes(const skel_dh_axes_desc *desc, skel_dh **out, skel_error *err) {
    skel_dh_axes_desc d = k_desc;
    if (out) *out = NULL;
    if (!desc || !out)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc and out: must not be NULL");
    if (skel__desc_import(&d, sizeof d, sizeof d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof d);

    const skel__dh_rules rules = {d.convention, d.snap, d.parallel_tolerance};
    skel_allocator a;
    SKEL__CHECK(check_axes(&d, err));
    SKEL__CHECK(skel__dh_check_rules(&rules, err));
    skel_status status = skel__allocator_import(&a, d.allocator);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1, "allocator: must have struct_size, alloc and free");

    skel__dh_axis *axes = skel__alloc(&a, ((size_t)d.count + 1) * sizeof *axes);
    if (!axes) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory for %u axes", d.count);
    for (uint32_t i = 0; i < d.count; ++i)
        axes[i] = (skel__dh_axis){.point = v3_of(d.points + 3 * (size_t)i),
                                  .direction = v3_of(d.directions + 3 * (size_t)i),
                                  .type = d.types ? d.types[i] : SKEL_JOINT_HINGE,
                                  .joint = -1,
                                  .part = 0};

    pose tip = pose_of(d.tip);
    tip.q = q_unit(tip.q);
    status = skel__dh_of_axes(axes, (int32_t)d.count, tip, rules, &a, out, err);
    skel__free(&a, axes);
    return status;
}
