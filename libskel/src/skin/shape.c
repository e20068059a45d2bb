/* SPDX-License-Identifier: BSD-3-Clause */
/* The shape of a body. Capsules are fitted on candidate lines:
     joint      through the joint and the target (the mean of the children's joints)
     parallel   the same direction through the middle of the skin
     tip        from the joint through the middle of the skin (free ends, and bodies without target)
     principal  three principal axes of the skin through its middle
   The capsule with the smallest mean distance of the skin from its surface is taken; the first
   three have a bonus, because bodies turn about their joints. Three rules keep the axis sensible:
     a) A long joint line tells the direction: other axes must be near it.
     b) A strip of skin tells no axis: then only joint and tip count.
     c) A small strip that fits badly tells no radius either: then the joint line counts, with the
        geometric mean of the neighbours' radii.
   A flat free end (a hand or a foot) becomes a box if it fits clearly better. */
#include "base/desc.h"
#include "base/error.h"
#include "math/quat.h"
#include "skin/skin.h"

#define SHAPE_JOINT_BONUS 0.9
#define SHAPE_JOINT_LONG 1.2           /* rule a: length of the joint line by radius */
#define SHAPE_JOINT_COS 0.819152044289 /* rule a: 35 degrees */
#define SHAPE_STRIP_COVER 0.5          /* rule b */
#define SHAPE_SCRAP_COVER 0.35         /* rule c */
#define SHAPE_SCRAP_RESIDUAL 0.12      /* rule c */
#define SHAPE_BOX_GAIN 0.7             /* misfit of a box by that of the capsule */
#define SHAPE_BOX_FLAT 1.35            /* wider by narrower edge */
#define SHAPE_NEAR 1.5                 /* radii within which skin is inside */
#define SHAPE_LINE_MIN 1e-6            /* length of a joint line, inside */
#define SHAPE_FAR 1e6                  /* distance of a joint from the skin, in sizes of the skin */
#define SHAPE_RADIUS_MAX 1e100         /* [length] */
#define SHAPE_PI (0.5 * SKEL__TURN)

enum { CANDIDATES_MAX = 6 };

_Static_assert(sizeof(skel_fit_shape_desc) == offsetof(skel_fit_shape_desc, reserved) + 4,
               "tail padding");
_Static_assert(sizeof(skel_fit_shape) == offsetof(skel_fit_shape, volume) + sizeof(double),
               "tail padding");
static const skel_fit_shape_desc k_shape = {.struct_size = sizeof k_shape};

void skel_fit_shape_desc_init_sized(skel_fit_shape_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_shape, sizeof k_shape);
}

typedef struct candidate {
    v3 origin, axis;
    int has_bonus; /* it follows from the joints */
    int is_strict; /* joint and tip, which count for a strip */
} candidate;

/* A body and its lines, inside. */
typedef struct fit_task {
    const v3 *points;
    int32_t n;
    double area_per_point;
    double *numbers; /* workspace (n) */
    v3 joint;
    double joint_length; /* of the joint line; 0: there is none */
    v3 joint_axis;
    double neighbour_radius; /* 0: unknown */
    candidate candidates[CANDIDATES_MAX];
    int count;
} fit_task;

/* ---- candidates ---- */

static void add_candidate(fit_task *t, v3 origin, v3 axis, int has_bonus, int is_strict) {
    t->candidates[t->count++] = (candidate){origin, axis, has_bonus, is_strict};
}

/* Adds the line from a to b, if these are two points. Returns whether they are. */
static int add_line(fit_task *t, v3 a, v3 b, v3 *axis, double *length) {
    const v3 line = v3_sub(b, a);
    *length = v3_norm(line);
    if (!(*length > SHAPE_LINE_MIN)) return 0;
    *axis = v3_scale(line, 1 / *length);
    add_candidate(t, a, *axis, 1, 1);
    return 1;
}

static void find_candidates(fit_task *t, const skel_fit *f, const skel_fit_shape_desc *d) {
    v3 mean, axes[3];
    skel__principal_axes(t->points, t->n, &mean, axes);

    t->joint = skel__skin_inside(f, d->joint);
    if (d->has_target &&
        add_line(t, t->joint, skel__skin_inside(f, d->target), &t->joint_axis, &t->joint_length))
        add_candidate(t, mean, t->joint_axis, 1, 0);
    else
        t->joint_length = 0;

    v3 tip;
    double tip_length;
    if (d->is_end || t->joint_length == 0) add_line(t, t->joint, mean, &tip, &tip_length);
    for (int k = 0; k < 3; ++k) add_candidate(t, mean, axes[k], 0, 0);
}

/* ---- choice ---- */

static skel__capsule fit_candidate(const fit_task *t, const candidate *c) {
    return skel__capsule_on_line(t->points, t->n, t->area_per_point, c->origin, c->axis,
                                 t->numbers);
}

/* Rules a and b. */
static int is_allowed(const fit_task *t, const candidate *c, const skel__capsule *fit) {
    if (t->joint_length > SHAPE_JOINT_LONG * fit->radius &&
        fabs(v3_dot(c->axis, t->joint_axis)) < SHAPE_JOINT_COS)
        return 0;
    return c->is_strict || fit->cover >= SHAPE_STRIP_COVER;
}

/* The capsule of the best candidate that the rules allow. Its misfit is infinite if there is none.
 */
static skel__capsule best_capsule(const fit_task *t, int has_rules) {
    skel__capsule best = {.misfit = INFINITY};
    double best_score = INFINITY;
    for (int k = 0; k < t->count; ++k) {
        const candidate *c = &t->candidates[k];
        const skel__capsule fit = fit_candidate(t, c);
        const double score = fit.misfit * (c->has_bonus ? SHAPE_JOINT_BONUS : 1.0);
        if (!(score < best_score) || (has_rules && !is_allowed(t, c, &fit))) continue;
        best = fit;
        best_score = score;
    }
    return best;
}

/* Rule c: the capsule on the joint line with the radius of the neighbours. */
static skel__capsule capsule_of_joints(const fit_task *t, skel__capsule c) {
    if (t->candidates[0].is_strict && t->joint_length == 0) c = fit_candidate(t, &t->candidates[0]);
    if (t->neighbour_radius > 0) c.radius = t->neighbour_radius;
    if (t->joint_length > 0) {
        c.axis = t->joint_axis;
        c.centre = v3_mad(t->joint, 0.5 * t->joint_length, t->joint_axis);
        c.length = fmax(0, t->joint_length - c.radius);
    }
    skel__capsule_judge(&c, t->points, t->n, t->area_per_point);
    return c;
}

static skel__capsule choose_capsule(const fit_task *t) {
    skel__capsule c = best_capsule(t, 1);
    if (!isfinite(c.misfit)) c = best_capsule(t, 0);

    const int is_scrap = c.cover < SHAPE_SCRAP_COVER && c.misfit > SHAPE_SCRAP_RESIDUAL * c.radius;
    if (!is_scrap && c.radius > SKEL__SKIN_RADIUS_MIN) return c;
    return capsule_of_joints(t, c);
}

/* ---- results ---- */

/* a, turned away from the joint; if it has no side, its largest coordinate is made positive. */
static v3 turned(v3 a, v3 from_joint) {
    double side = v3_dot(a, from_joint);
    if (fabs(side) < SHAPE_LINE_MIN) {
        side = a.z;
        if (fabs(a.x) >= fabs(a.y) && fabs(a.x) >= fabs(a.z))
            side = a.x;
        else if (fabs(a.y) >= fabs(a.z))
            side = a.y;
    }
    return side < 0 ? v3_neg(a) : a;
}

static void export_frame(const skel_fit *f, v3 centre, v3 x, v3 z, skel_fit_shape *out) {
    const m3 columns = {{x, v3_cross(z, x), z}};
    v3_to(skel__skin_outside(f, centre), out->position);
    q_to(q_from_matrix(m3_transpose(columns)), out->orientation);
}

static void export_capsule(const skel_fit *f, const fit_task *t, const skel__capsule *c,
                           skel_fit_shape *out) {
    int32_t near = 0;
    for (int32_t i = 0; i < t->n; ++i)
        near += skel__capsule_distance(c, t->points[i]) <= SHAPE_NEAR * c->radius;

    const v3 z = turned(c->axis, v3_sub(c->centre, t->joint));
    const double r = c->radius * f->unit, length = c->length * f->unit;
    export_frame(f, c->centre, v3_perpendicular(z), z, out);
    out->shape = SKEL_SHAPE_CAPSULE;
    out->size[0] = length;
    out->size[1] = r;
    out->residual = c->misfit / c->radius;
    out->cover = c->cover;
    out->inside = (double)near / t->n;
    out->volume = SHAPE_PI * r * r * (length + 4.0 / 3.0 * r);
}

static void export_box(const skel_fit *f, const fit_task *t, const skel__box *b,
                       skel_fit_shape *out) {
    int32_t near = 0;
    for (int32_t i = 0; i < t->n; ++i) {
        const v3 from = v3_sub(t->points[i], b->centre);
        int is_inside = 1;
        for (int k = 0; k < 3; ++k)
            is_inside &= fabs(v3_dot(from, b->axes[k])) <= 0.5 * SHAPE_NEAR * b->edges[k];
        near += is_inside;
    }

    const v3 z = turned(b->axes[2], v3_sub(b->centre, t->joint));
    export_frame(f, b->centre, turned(b->axes[0], (v3){0, 0, 0}), z, out);
    out->shape = SKEL_SHAPE_BOX;
    for (int k = 0; k < 3; ++k) out->size[k] = b->edges[k] * f->unit;
    out->residual = b->misfit / (0.25 * (b->edges[0] + b->edges[1]));
    out->cover = b->cover;
    out->inside = (double)near / t->n;
    out->volume = out->size[0] * out->size[1] * out->size[2];
}

/* ---- the call ---- */

static int is_near(const skel_fit *f, const double p[3]) {
    return skel__skin_is_point(p) && v3_norm(skel__skin_inside(f, p)) <= SHAPE_FAR;
}

static skel_status check_shape(const skel_fit *f, const skel_fit_shape_desc *d, skel_error *err) {
    if (d->body < 0 || d->body >= f->body_count)
        return skel__fail(err, SKEL_E_ARGUMENT, d->body, -1,
                          "body: is %d, must be 0 to %d, as skel_fit_set_bodies was told", d->body,
                          f->body_count - 1);
    if (!is_near(f, d->joint) || (d->has_target && !is_near(f, d->target)))
        return skel__fail(err, SKEL_E_ARGUMENT, d->body, -1,
                          "joint and target: must be within %g times the size of the skin from it",
                          SHAPE_FAR);
    if (d->reserved != 0 || (d->radius_count > 0 && !d->radii))
        return skel__fail(err, SKEL_E_ARGUMENT, d->body, -1,
                          "reserved must be 0, and radii must be given if radius_count is not 0");
    for (uint32_t k = 0; k < d->radius_count; ++k)
        if (!(d->radii[k] > 0 && d->radii[k] <= SHAPE_RADIUS_MAX))
            return skel__fail(err, SKEL_E_ARGUMENT, d->body, -1,
                              "radii[%u]: is %g, must be > 0 and at most %g", k, d->radii[k],
                              SHAPE_RADIUS_MAX);
    return SKEL_OK;
}

/* Collects the samples of a body. Returns how many there are. */
static int32_t collect_points(skel_fit *f, int32_t body) {
    int32_t n = 0;
    for (int32_t i = 0; i < f->sample_count; ++i)
        if (f->lead[i] >= 0 && f->body_of_bone[f->lead[i]] == body) f->points[n++] = f->samples[i];
    return n;
}

static double geometric_mean(const double *radii, uint32_t count) {
    if (count == 0) return 0;
    double sum = 0;
    for (uint32_t k = 0; k < count; ++k) sum += log(radii[k]);
    return exp(sum / count);
}

static void solve_shape(skel_fit *f, const skel_fit_shape_desc *d, int32_t n, skel_fit_shape *out) {
    fit_task t = {.points = f->points,
                  .n = n,
                  .area_per_point = f->area / f->sample_count,
                  .numbers = f->numbers,
                  .neighbour_radius = geometric_mean(d->radii, d->radius_count) / f->unit};
    find_candidates(&t, f, d);
    const skel__capsule c = choose_capsule(&t);

    if (d->is_end) {
        const skel__box b = skel__box_around(t.points, n, t.area_per_point, c.axis, t.numbers);
        if (b.misfit < SHAPE_BOX_GAIN * c.misfit && b.edges[0] > SHAPE_BOX_FLAT * b.edges[1]) {
            export_box(f, &t, &b, out);
            return;
        }
    }
    export_capsule(f, &t, &c, out);
}

skel_status skel_fit_solve_shape(skel_fit *fit, const skel_fit_shape_desc *desc,
                                 skel_fit_shape *out, skel_error *err) {
    if (!fit || !desc || !out)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "fit, desc or out: is NULL");
    skel_fit_shape_desc d = k_shape;
    const skel_status status = skel__desc_import(&d, sizeof d, sizeof d, desc);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "struct_size: is %u, must be set by skel_fit_shape_desc_init",
                          desc->struct_size);
    SKEL__CHECK(check_shape(fit, &d, err));

    skel_fit_shape shape = {.struct_size = sizeof shape};
    const int32_t n = collect_points(fit, d.body);
    shape.sample_count = (uint32_t)n;
    if (n > 0) solve_shape(fit, &d, n, &shape);
    return skel__desc_export(out, &shape, sizeof shape, sizeof shape);
}
