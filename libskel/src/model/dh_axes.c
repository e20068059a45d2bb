/* SPDX-License-Identifier: BSD-3-Clause */
/* A table from joint axes: common normals, link frames, parameters [ERL], with ERRATA E2 to E13.
   Points of the common normal of c + s z and p + t u, D = p - c, k = z x u:
     s = (D x u).k / |k|^2,  t = (D x z).k / |k|^2,  signed length = D.k / |k|        [ERRATA E5]
   which, other than the printed denominators 1 - (z.u)^2, do not cancel for axes that are nearly
   parallel.
   Axes off parallel by a small angle e, a apart, have their normal a / e away, and a table whose
   lengths of a / e cancel: exact in double, but a row printed to k decimals is off by 10^-k a / e.
   Turning the second axis by e about its own point p gives lengths of the chain's size instead. A
   point at distance r from p then moves, over all q, by at most |R(u, q) r - R(z, q) r| <= 2 e r,
   and by nothing at q = 0, since the tool takes the rest. */
#include "model/dh.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/error.h"

#include <string.h>

_Static_assert(sizeof(skel_dh_axes_desc) == offsetof(skel_dh_axes_desc, parallel_tolerance) + 8,
               "tail padding");

#define NORMAL_FAR_REACHES 5.0 /* of the reach: a normal that is farther away spoils a table */
#define PARALLEL_COST_MAX 2e-4 /* of the reach: what reading axes as parallel may move the tool */
#define DIRECTION_NOISE_RAD 1e-12 /* axes that are nearer to parallel have no normal to speak of */
#define NORMAL_NOISE_M 1e-9       /* a wrist has all points in one, and a reach of rounding */

static const skel_dh_axes_desc k_desc = {
    .struct_size = sizeof k_desc, .tip = {0, 0, 0, 1}, .snap = 1e-6, .parallel_tolerance = 1e-3};

void skel_dh_axes_desc_init_sized(skel_dh_axes_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

static v3 unit(v3 a) {
    return v3_scale(a, 1.0 / v3_norm(a));
}

/* Any direction across z would do where the first axes are on one line: the world axis that is
   farthest from z, as far as it is across. */
static v3 first_x(v3 z) {
    const double x = fabs(z.x), y = fabs(z.y), w = fabs(z.z);
    const v3 e = x <= y && x <= w ? (v3){1, 0, 0} : y <= w ? (v3){0, 1, 0} : (v3){0, 0, 1};
    return unit(v3_mad(e, -v3_dot(e, z), z));
}

/* What the walk along the chain knows of axis i before it looks at axis i + 1. */
typedef struct walker {
    v3 z, x;           /* directions of this axis and of the normal before it */
    v3 foot;           /* of that normal on this axis [ERL o_a] */
    double snap, near; /* [rad], [m] */
    double parallel_tolerance;
    double reach, lever; /* [m] of the whole chain, and of what the next axis moves */
} walker;

/* The normal from this axis to the next. */
typedef struct normal {
    v3 x, origin, foot, z; /* direction, feet on both axes, direction of the next axis */
    double a, alpha;
    int32_t relation;
    double turned, distance; /* as skel_dh_row has them */
} normal;

/* Parallel axes: every normal is common; the one through the foot before gives d = 0 [ERRATA E8].
   On one line there is no normal: x stays as it was, so theta = 0 [ERRATA E9]. */
static normal parallel_normal(const walker *w, v3 point, int opposite) {
    const v3 across = v3_sub(point, w->foot);
    const v3 side = v3_mad(across, -v3_dot(across, w->z), w->z);
    const double a = v3_norm(side);
    const int one = !(a > w->near);
    normal n = {w->x, w->foot, w->foot, opposite ? v3_neg(w->z) : w->z, 0, 0, 0, 0, 0};
    n.alpha = opposite ? 0.5 * SKEL__TURN : 0.0;
    n.relation = one ? (opposite ? SKEL_DH_OPPOSED : SKEL_DH_COINCIDENT)
                     : (opposite ? SKEL_DH_ANTIPARALLEL : SKEL_DH_PARALLEL);
    if (one) return n;
    n.a = a;
    n.x = v3_scale(side, 1.0 / a);
    n.foot = v3_mad(w->foot, a, n.x);
    return n;
}

/* x along z x u where the axes meet, so that alpha is in (0, pi) [ERRATA E7]; towards the next axis
   where they do not, so that a > 0 [ERRATA E4]. Length and direction are kept apart. */
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
    n.x = unit(v3_mad(n.x, -v3_dot(n.x, w->z), w->z));
    n.alpha = atan2(v3_dot(n.x, k), v3_dot(w->z, u));
    n.relation = meet ? SKEL_DH_INTERSECTING : SKEL_DH_SKEW;
    return n;
}

/* Whether the next axis may be turned by asin(s) to be parallel: 2 e r of the head comment. A slide
   shifts by as much as it goes, which is taken to be the reach. */
static int is_cheap(const walker *w, int32_t type, double s) {
    const double lever = type == SKEL_JOINT_SLIDE ? w->reach : w->lever;
    return s <= w->parallel_tolerance && 2.0 * s * lever <= PARALLEL_COST_MAX * w->reach;
}

/* The normal as the axes are given, or the one of parallel axes if they are near enough to it, or
   near to it with a normal that is far away. */
static normal common_normal(const walker *w, const skel__dh_axis *here, const skel__dh_axis *next) {
    const v3 u = unit(next->direction), k = v3_cross(w->z, u);
    const double s = v3_norm(k);
    const int opposite = v3_dot(w->z, u) < 0, snaps = s < w->snap;
    if (snaps && s < DIRECTION_NOISE_RAD) return parallel_normal(w, next->point, opposite);

    normal n = skew_normal(w, next->point, u, k, s);
    n.distance = fmax(v3_norm(v3_sub(n.origin, here->point)), v3_norm(v3_sub(n.foot, next->point)));
    if (!(n.distance > NORMAL_NOISE_M)) n.distance = 0.0;
    const int is_far = n.distance > NORMAL_FAR_REACHES * w->reach;
    if (!snaps && !(is_far && is_cheap(w, next->type, s))) return n;

    normal p = parallel_normal(w, next->point, opposite);
    p.turned = asin(fmin(s, 1.0));
    p.distance = n.distance;
    return p;
}

static double reach_of(const skel__dh_axis *axes, int32_t count, v3 tip) {
    double reach = v3_norm(v3_sub(tip, axes[count - 1].point));
    for (int32_t i = 0; i + 1 < count; ++i)
        reach += v3_norm(v3_sub(axes[i + 1].point, axes[i].point));
    return reach > 0 ? reach : 1.0;
}

/* First joint: frame 0 is frame 1, so d_1 = theta_1 = 0. Last: x and origin stay, so d_n =
   theta_n = 0 [ERRATA E10]. */
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
        if (i == 0) w.x = next.x, w.foot = next.origin;
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
        const m3 axes3 = m3_transpose((m3){{next.x, v3_cross(w.z, next.x), w.z}});
        const pose here = {next.origin, q_from_matrix(axes3)};
        if (i == 0) *first = here;
        *last = here;
        w.x = next.x, w.foot = next.foot, w.z = next.z;
    }
}

/* The frames just found are those of [ERL]: frame i on axis i, modified rows shifted by one. As
   standard rows they are the table with base at frame 1 and the tool behind frame n. */
skel_status skel__dh_of_axes(const skel__dh_axis *axes, int32_t count, pose tip,
                             skel__dh_rules rules, const skel_allocator *allocator, skel_dh **out,
                             skel_error *err) {
    skel_allocator a;
    skel_dh_desc d;
    skel_dh *dh = NULL;
    pose last = tip, first = tip;
    skel_status status = skel__allocator_import(&a, allocator);
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "allocator: is not valid");
    skel_dh_row *rows = skel__alloc(&a, ((size_t)count + 1) * sizeof *rows);
    if (!rows) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory");
    const double reach = count > 0 ? reach_of(axes, count, tip.p) : 1.0;
    if (count > 0) {
        walker w = {.z = unit(axes[0].direction), .foot = axes[0].point};
        w.x = first_x(w.z);
        w.snap = rules.snap;
        w.near = rules.snap * reach;
        w.parallel_tolerance = rules.parallel_tolerance;
        w.reach = w.lever = reach;
        fill_rows(axes, count, w, rows, &first, &last);
    }
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

    /* The receipt is of the table that is handed out, in its own convention. */
    status = skel__dh_measure(*out, axes, tip, reach);
    if (status == SKEL_OK) return SKEL_OK;
    skel_dh_destroy(*out);
    *out = NULL;
    if (status == SKEL_E_MEMORY) return skel__fail(err, status, -1, -1, "out of memory");
    return skel__fail(err, status, -1, -1,
                      "the tool of the table is beyond the range of numbers (the reach is %.3g m); "
                      "the chain must be shorter",
                      reach);
}

skel_status skel__dh_check_rules(const skel__dh_rules *rules, skel_error *err) {
    if (!(rules->snap > 0) || !(rules->snap < 0.1))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "snap: is %g, must be > 0 and < 0.1",
                          rules->snap);
    if (!(rules->parallel_tolerance >= 0) || !(rules->parallel_tolerance < 0.1))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "parallel_tolerance: is %g rad, must be >= 0 and < 0.1",
                          rules->parallel_tolerance);
    if (rules->convention != SKEL_DH_STANDARD && rules->convention != SKEL_DH_MODIFIED)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "convention: is %d, must be 0 or 1",
                          rules->convention);
    return SKEL_OK;
}

static skel_status check_axes(const skel_dh_axes_desc *d, skel_error *err) {
    if ((!d->points || !d->directions) && d->count > 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "points or directions: is NULL");
    if (d->count > SKEL__DH_ROWS || d->reserved != 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "count: is %u, must be at most %d",
                          d->count, SKEL__DH_ROWS);
    for (uint32_t i = 0; i < d->count; ++i) {
        const double *p = d->points + 3 * (size_t)i, *u = d->directions + 3 * (size_t)i;
        const double n = v3_norm(v3_of(u)), m = v3_norm(v3_of(p));
        if (!isfinite(m) || !isfinite(n) || !(n > 0))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, (int32_t)i,
                              "axis %u: must be finite, and its direction not zero", i);
        if (d->types && d->types[i] != SKEL_JOINT_HINGE && d->types[i] != SKEL_JOINT_SLIDE)
            return skel__fail(err, SKEL_E_ARGUMENT, -1, (int32_t)i,
                              "types[%u]: is %d, must be 1 or 2", i, d->types[i]);
    }
    return skel__dh_check_pose("tip", d->tip, err);
}

skel_status skel_dh_from_axes(const skel_dh_axes_desc *desc, skel_dh **out, skel_error *err) {
    skel_dh_axes_desc d = k_desc;
    skel_allocator a;
    if (out) *out = NULL;
    if (!desc || !out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc or out: is NULL");
    if (skel__desc_import(&d, sizeof d, sizeof d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof d);
    const skel__dh_rules rules = {d.convention, d.snap, d.parallel_tolerance};
    skel_status status = check_axes(&d, err);
    if (status == SKEL_OK) status = skel__dh_check_rules(&rules, err);
    if (status != SKEL_OK) return status;
    status = skel__allocator_import(&a, d.allocator);
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "allocator: is not valid");
    skel__dh_axis *axes = skel__alloc(&a, ((size_t)d.count + 1) * sizeof *axes);
    if (!axes) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory");
    for (uint32_t i = 0; i < d.count; ++i)
        axes[i] =
            (skel__dh_axis){v3_of(d.points + 3 * (size_t)i), v3_of(d.directions + 3 * (size_t)i),
                            d.types ? d.types[i] : SKEL_JOINT_HINGE, -1, 0};
    pose tip = pose_of(d.tip);
    tip.q = q_unit(tip.q);
    status = skel__dh_of_axes(axes, (int32_t)d.count, tip, rules, &a, out, err);
    skel__free(&a, axes);
    return status;
}
