/* SPDX-License-Identifier: BSD-3-Clause */
/* Closest points of two features, and the gap between them.

   A contact point has a unit normal n, which points from body j to body i, the closest points p_i
   and p_j of the two features, and a signed gap g along the normal. If g > 0, the features are
   separate. If g < 0, they overlap, and -g is the penetration. A feature with a radius r is a
   sphere or a capsule. Its distance is the distance of its centre or its axis, minus r.

   There are four kinds of pairs.
   - Point and plane. With a point p0 of the plane, g = n . (p - p0) - r.
   - Sphere and box. If the centre lies outside the box, g is its distance from the nearest point of
     the box, minus r. If it lies inside, the distance from the nearest face counts as negative. A
     corner of another box is a sphere with r = 0 and needs more care (corner_against_box).
   - Segment and box. The ends of the segment are spheres, which are candidates of the second kind.
     This kind finds the points at which the interior of the segment crosses an edge of the box
     (segment_against_edges).
   - Segment and segment. g is the distance of the closest points of the two axes, minus both radii.
     A sphere is a segment of length 0.

   If two features cannot touch at the given poses, g is INFINITY. The edges of two boxes are not
   tested against each other. */
#include "contact/contact.h"

#define SEGMENT_PARALLEL_MIN 1e-10 /* squared sine of the angle of two segments: below, parallel */
#define SEGMENT_LENGTH2_MIN 1e-300 /* squared length [m^2]: below, a point */
#define SEGMENT_BISECTIONS 32      /* search for the point of a segment that is nearest to a box */
#define SEGMENT_END_MARGIN 1e-9    /* relative to a segment: its ends belong to other candidates */
#define AXES_DISTANCE_MIN_M 1e-12  /* closest points that are nearer give no normal */
#define BOX_FLUSH 1e-4             /* relative to half the thinnest edge: corner lies in a face */
#define BOX_SHALLOW 0.05           /* the same: corner is close below a face */

static skel__contact_point no_contact(void) {
    return (skel__contact_point){.normal = {0, 0, 1}, .gap = INFINITY};
}

static double clamp(double x, double low, double high) {
    if (x < low) return low;
    return x > high ? high : x;
}

static v3 to_world(pose frame, v3 local) {
    return v3_add(frame.p, q_rotate(frame.q, local));
}

static v3 to_local(pose frame, v3 world) {
    return q_rotate(q_conj(frame.q), v3_sub(world, frame.p));
}

/* ---- point and plane ------------------------------------------------------------------------- */

static skel__contact_point point_against_plane(const skel__ground *g, const skel__candidate *c,
                                               pose i, pose other) {
    skel__contact_point t;
    t.normal = q_rotate(other.q, g->normal);
    t.point_i = to_world(i, c->at);
    t.radius_i = c->radius;
    t.radius_j = 0;

    const v3 point = to_world(other, g->point);
    t.gap = v3_dot(t.normal, v3_sub(t.point_i, point)) - c->radius;
    t.point_j = v3_mad(t.point_i, -(t.gap + c->radius), t.normal);
    return t;
}

/* ---- point and box --------------------------------------------------------------------------- */

/* Signed distance of a point from a box, negative inside. */
typedef struct box_distance {
    double distance; /* [m] */
    v3 gradient;     /* unit vector away from the box */
    int is_edge;     /* the nearest point of the box lies on an edge or corner, or p is inside */
} box_distance;

/* The box lies around the origin; e holds half of its edge lengths [m]. */
static box_distance distance_to_box(v3 p, const double e[3]) {
    const double at[3] = {p.x, p.y, p.z};
    double d[3];
    double n[3] = {0, 0, 0};
    double outside2 = 0; /* squared distance */
    int outside = 0;     /* number of axes along which p lies outside */
    int nearest = 0;     /* axis of the nearest face, seen from inside */

    for (int k = 0; k < 3; ++k) {
        d[k] = fabs(at[k]) - e[k];
        if (d[k] > 0) {
            outside2 += d[k] * d[k];
            ++outside;
        }
        if (d[k] > d[nearest]) nearest = k;
    }

    /* Inside: the shortest way out leads through the nearest face. */
    if (outside == 0 || !(outside2 > SEGMENT_LENGTH2_MIN)) {
        n[nearest] = at[nearest] < 0 ? -1 : 1;
        return (box_distance){d[nearest], v3_of(n), 1};
    }

    /* Outside: the nearest point is p, clamped to the box. */
    const double distance = sqrt(outside2);
    for (int k = 0; k < 3; ++k)
        if (d[k] > 0) n[k] = (at[k] < 0 ? -d[k] : d[k]) / distance;
    return (box_distance){distance, v3_of(n), outside > 1};
}

static void half_edges(const skel__body *box, double e[3]) {
    for (int k = 0; k < 3; ++k) e[k] = 0.5 * box->size[k];
}

/* local: centre of the sphere in the axes of the box. */
static skel__contact_point sphere_against_box(const skel__body *box, v3 local, double radius,
                                              pose other) {
    double e[3];
    half_edges(box, e);
    const box_distance d = distance_to_box(local, e);

    skel__contact_point t;
    t.normal = q_rotate(other.q, d.gradient);
    t.point_i = to_world(other, local);
    t.radius_i = radius;
    t.radius_j = 0;
    t.gap = d.distance - radius;
    t.point_j = v3_mad(t.point_i, -d.distance, t.normal);
    return t;
}

/* The face through which a corner inside a box leaves it. The nearest face is taken, but a face on
   the side of the corner's own body counts as twice as near as the others.

   A face in which the corner lies is skipped if the corner is close below a face on the side of its
   body: a body that stands flush with the border of a box must not be pushed sideways.

   p: the corner; c: the centre of its body; both in the axes of the box. */
static int exit_face(const double p[3], const double c[3], const double e[3], double thinnest) {
    double best = INFINITY;
    int face = 0;

    /* First the faces on the side of the body, then the others. */
    for (int pass = 0; pass < 2; ++pass)
        for (int k = 0; k < 3; ++k) {
            const int is_on_side = fabs(c[k]) > e[k] && c[k] * p[k] > 0;
            if (is_on_side == pass) continue;

            const double depth = e[k] - fabs(p[k]);
            const int is_flush = depth < BOX_FLUSH * thinnest;
            if (pass == 1 && is_flush && best < BOX_SHALLOW * thinnest) continue;

            const double distance = is_on_side ? depth : 2.0 * depth;
            if (distance < best) {
                best = distance;
                face = k;
            }
        }
    return face;
}

/* A corner of body i against a box. local: the corner, centre: the centre of i, in the axes of the
   box. A corner that lies beside the chosen face does not touch. */
static skel__contact_point corner_against_box(const skel__body *box, v3 local, v3 centre,
                                              pose other) {
    const double p[3] = {local.x, local.y, local.z};
    const double c[3] = {centre.x, centre.y, centre.z};
    double e[3];
    half_edges(box, e);

    const double thinnest = fmin(e[0], fmin(e[1], e[2]));
    const int face = exit_face(p, c, e, thinnest);
    for (int k = 0; k < 3; ++k)
        if (k != face && fabs(p[k]) - e[k] > BOX_FLUSH * thinnest) return no_contact();

    double n[3] = {0, 0, 0};
    n[face] = p[face] < 0 ? -1 : 1;
    skel__contact_point t = {.normal = q_rotate(other.q, v3_of(n)), .gap = fabs(p[face]) - e[face]};
    t.point_i = to_world(other, local);
    t.point_j = v3_mad(t.point_i, -t.gap, t.normal);
    return t;
}

/* ---- segment and box ------------------------------------------------------------------------- */

/* The segment a + t d lies above one face of the box at t. Returns the parameter at which it
   crossed the border of that face, seen from its start a. The result is outside 0..1 if the segment
   starts above the face, or if it is not above exactly one face at t. */
static double parameter_at_border(v3 a, v3 d, const double e[3], double t) {
    const double from[3] = {a.x, a.y, a.z};
    const double along[3] = {d.x, d.y, d.z};
    double enter = -1;
    int face = 0;
    int outside = 0;

    for (int k = 0; k < 3; ++k)
        if (fabs(from[k] + t * along[k]) > e[k]) {
            face = k;
            ++outside;
        }
    if (outside != 1) return -1;

    for (int k = 0; k < 3; ++k)
        if (k != face && along[k] != 0)
            enter = fmax(enter, ((along[k] > 0 ? -e[k] : e[k]) - from[k]) / along[k]);
    return enter;
}

/* Parameter interval [low, high] of the point of a + t d, 0 <= t <= 1, that is nearest to the box.
   The distance is a convex function of t, so the sign of its slope tells on which side the minimum
   lies. Both bounds are equal if the segment enters the box. */
static void bisect_segment(v3 a, v3 d, const double e[3], double *low, double *high) {
    *low = 0;
    *high = 1;

    for (int k = 0; k < SEGMENT_BISECTIONS; ++k) {
        const double t = 0.5 * (*low + *high);
        const box_distance at = distance_to_box(v3_mad(a, t, d), e);

        if (at.distance <= 0) {
            *low = t;
            *high = t;
            return;
        }
        if (v3_dot(at.gradient, d) > 0)
            *high = t;
        else
            *low = t;
    }
}

/* The interior of a segment against the edges of a box. If the nearest point of the segment lies
   beside an edge, it is the contact. If it lies above a face, the segment touches at the edge over
   which it came in. Seen from its two ends these are two edges, and the segment, which may rock on
   both, has one candidate for each (c->is_second). */
static skel__contact_point segment_against_edges(const skel__body *box, const skel__candidate *c,
                                                 pose i, pose other) {
    const v3 a = to_local(other, to_world(i, c->at));
    const v3 b = to_local(other, to_world(i, c->to));
    const v3 d = v3_sub(b, a);
    double e[3];
    half_edges(box, e);

    /* A segment far from the box needs no search. */
    const double middle = distance_to_box(v3_mad(a, 0.5, d), e).distance;
    if (middle > 1.5 * v3_norm(d) + 2 * c->radius) return no_contact();

    double low, high;
    bisect_segment(a, d, e, &low, &high);

    double t = 0.5 * (low + high);
    if (low != high && !distance_to_box(v3_mad(a, t, d), e).is_edge)
        t = parameter_at_border(a, d, e, t);
    else if (c->is_second)
        return no_contact(); /* the first candidate of the segment is at the same edge */

    if (t < SEGMENT_END_MARGIN || t > 1 - SEGMENT_END_MARGIN) return no_contact();
    return sphere_against_box(box, v3_mad(a, t, d), c->radius, other);
}

/* ---- segment and segment --------------------------------------------------------------------- */

double skel__segment_of(const skel__body *b, v3 *from, v3 *to) {
    double half = 0;
    double radius = b->size[0];

    switch (b->shape) {
    case SKEL_SHAPE_CAPSULE:
    case SKEL_SHAPE_ROD:
        half = 0.5 * b->size[0];
        radius = b->size[1];
        break;
    case SKEL_SHAPE_CYLINDER: /* the capsule inside the cylinder */
        half = fmax(0, 0.5 * b->size[0] - b->size[1]);
        radius = b->size[1];
        break;
    default: break;
    }

    *from = (v3){0, 0, -half};
    *to = (v3){0, 0, half};
    return radius;
}

/* Parameters of the closest points p + s u and q + t v of two segments, 0 <= s, t <= 1 [Ericson,
   Real-Time Collision Detection, 5.1.9]. With r = p - q:
     s = (u.v  v.r - u.r  v.v) / (u.u  v.v - (u.v)^2),   t = (u.v s + v.r) / v.v.
   Parallel segments have many closest points. The middle of their common part is taken. */
static void closest_parameters(v3 p, v3 u, v3 q, v3 v, double *s, double *t) {
    const v3 r = v3_sub(p, q);
    const double uu = v3_dot(u, u), vv = v3_dot(v, v), vr = v3_dot(v, r), ur = v3_dot(u, r);
    const int is_point_u = !(uu > SEGMENT_LENGTH2_MIN);
    const int is_point_v = !(vv > SEGMENT_LENGTH2_MIN);
    *s = 0;
    *t = 0;

    /* One of them, or both, may be a point. */
    if (is_point_u && is_point_v) return;
    if (is_point_u) {
        *t = clamp(vr / vv, 0, 1);
        return;
    }
    if (is_point_v) {
        *s = clamp(-ur / uu, 0, 1);
        return;
    }

    const double uv = v3_dot(u, v);
    const double det = uu * vv - uv * uv;
    if (det > SEGMENT_PARALLEL_MIN * uu * vv) {
        *s = clamp((uv * vr - ur * vv) / det, 0, 1);
    } else {
        /* Project both ends of the second segment onto the first one. */
        const double start = clamp(-ur / uu, 0, 1), end = clamp((uv - ur) / uu, 0, 1);
        *s = 0.5 * (start + end);
    }

    /* If t leaves its segment, clamp it and find s again. */
    *t = (uv * *s + vr) / vv;
    if (*t < 0 || *t > 1) {
        *t = clamp(*t, 0, 1);
        *s = clamp((uv * *t - ur) / uu, 0, 1);
    }
}

static skel__contact_point segment_against_segment(const skel_model *m, const skel__candidate *c,
                                                   pose i, pose other) {
    v3 from, to;
    const double radius = skel__segment_of(&m->body[c->j], &from, &to);

    /* Bounding spheres that are far apart need no search. */
    const double reach = c->radius + radius + v3_norm(c->to) + v3_norm(to);
    const v3 between = v3_sub(i.p, other.p);
    if (v3_dot(between, between) > 4 * reach * reach) return no_contact();

    const v3 p = to_world(i, c->at);
    const v3 q = to_world(other, from);
    const v3 u = v3_sub(to_world(i, c->to), p);
    const v3 v = v3_sub(to_world(other, to), q);
    double s, t;
    closest_parameters(p, u, q, v, &s, &t);

    skel__contact_point out;
    out.point_i = v3_mad(p, s, u);
    out.point_j = v3_mad(q, t, v);
    const v3 d = v3_sub(out.point_i, out.point_j);
    const double distance = v3_norm(d);

    /* Axes that meet define no normal: use the line between the centres, or the world's z axis. */
    const double centres = v3_norm(between);
    if (distance > AXES_DISTANCE_MIN_M)
        out.normal = v3_scale(d, 1.0 / distance);
    else if (centres > AXES_DISTANCE_MIN_M)
        out.normal = v3_scale(between, 1.0 / centres);
    else
        out.normal = (v3){0, 0, 1};

    out.radius_i = c->radius;
    out.radius_j = radius;
    out.gap = distance - c->radius - radius;
    return out;
}

/* ---- all kinds ------------------------------------------------------------------------------- */

double skel__pair_distance(const skel_model *m, int32_t i, int32_t j, pose at_i, pose at_j) {
    const skel__body *a = &m->body[i];
    const skel__body *b = &m->body[j];
    const int is_box_a = a->shape == SKEL_SHAPE_BOX;
    const int is_box_b = b->shape == SKEL_SHAPE_BOX;

    /* Two bounding spheres. */
    if (!is_box_a && !is_box_b)
        return v3_norm(v3_sub(at_i.p, at_j.p)) - a->bounding_radius - b->bounding_radius;

    /* A box, of two boxes the larger one, against the bounding sphere of the other body. */
    const int use_b = is_box_b && (!is_box_a || b->bounding_radius > a->bounding_radius);
    double e[3];
    half_edges(use_b ? b : a, e);
    const v3 centre = use_b ? to_local(at_j, at_i.p) : to_local(at_i, at_j.p);
    return distance_to_box(centre, e).distance - (use_b ? a->bounding_radius : b->bounding_radius);
}

skel__contact_point skel__contact_point_of(const skel_model *m, const skel__candidate *c, pose i,
                                           pose other) {
    switch (c->kind) {
    case SKEL__CANDIDATE_BOX: {
        const skel__body *box = &m->body[c->j];
        const v3 local = to_local(other, to_world(i, c->at));
        if (c->radius == 0) return corner_against_box(box, local, to_local(other, i.p), other);
        return sphere_against_box(box, local, c->radius, other);
    }
    case SKEL__CANDIDATE_EDGE: return segment_against_edges(&m->body[c->j], c, i, other);
    case SKEL__CANDIDATE_SEGMENT: return segment_against_segment(m, c, i, other);
    default: return point_against_plane(&m->ground[c->ground], c, i, other);
    }
}
