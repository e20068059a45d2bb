/* SPDX-License-Identifier: BSD-3-Clause */
/* Where shapes touch: points against planes and boxes, segments against segments and the edges of
   boxes. Distances are signed; the normal points from the other body to i. */
#include "contact/contact.h"

#define PARALLEL 1e-10 /* of the squared lengths: segments that run side by side */
#define TINY 1e-300
#define HALVINGS 32 /* of a segment, in search of its point nearest to a box */

static skel__contact_point no_touch(void) {
    return (skel__contact_point){.normal = {0, 0, 1}, .gap = INFINITY};
}

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

static skel__contact_point touch_plane(const skel__ground *g, const skel__candidate *s, pose i,
                                       pose other) {
    skel__contact_point t;
    t.normal       = q_rotate(other.q, g->normal);
    t.point_i      = v3_add(i.p, q_rotate(i.q, s->at));
    const v3 point = v3_add(other.p, q_rotate(other.q, g->point));
    t.radius_i = s->radius, t.radius_j = 0;
    t.gap     = v3_dot(t.normal, v3_sub(t.point_i, point)) - s->radius;
    t.point_j = v3_mad(t.point_i, -(t.gap + s->radius), t.normal);
    return t;
}

/* Distance of a point from the box of half edges e, negative inside; its gradient; whether the
   nearest place is on an edge or corner. */
typedef struct box_distance {
    double distance;
    v3     gradient;
    int    is_edge;
} box_distance;
static box_distance distance_to_box(v3 p, const double e[3]) {
    const double at[3] = {p.x, p.y, p.z};
    double       d[3], n[3] = {0, 0, 0}, far = 0;
    int          out = 0, deepest = 0;
    for (int k = 0; k < 3; ++k) {
        d[k] = fabs(at[k]) - e[k];
        if (d[k] > 0) far += d[k] * d[k], ++out;
        if (d[k] > d[deepest]) deepest = k;
    }
    if (out == 0 || !(far > TINY)) { /* inside: out by the nearest face */
        n[deepest] = at[deepest] < 0 ? -1 : 1;
        return (box_distance){d[deepest], v3_of(n), 1};
    }
    far = sqrt(far);
    for (int k = 0; k < 3; ++k)
        if (d[k] > 0) n[k] = (at[k] < 0 ? -d[k] : d[k]) / far;
    return (box_distance){far, v3_of(n), out > 1};
}

static void half_edges(const skel__body *b, double e[3]) {
    for (int k = 0; k < 3; ++k) e[k] = 0.5 * b->size[k];
}

static skel__contact_point touch_box_at(const skel__body *box, v3 local, double radius,
                                        pose other) {
    double e[3];
    half_edges(box, e);
    const box_distance  d = distance_to_box(local, e);
    skel__contact_point t;
    t.normal   = q_rotate(other.q, d.gradient);
    t.point_i  = v3_add(other.p, q_rotate(other.q, local));
    t.radius_i = radius, t.radius_j = 0;
    t.gap     = d.distance - radius;
    t.point_j = v3_mad(t.point_i, -d.distance, t.normal);
    return t;
}

/* A corner against a box is let out by the nearest face, one on whose side its body is being twice
   as near. One that it is flush with is no way out for what stands on another. Beside the face it
   does not touch: edges against edges are not seen. */
static skel__contact_point touch_corner(const skel__body *box, v3 local, v3 centre, pose other) {
    const double p[3] = {local.x, local.y, local.z}, c[3] = {centre.x, centre.y, centre.z};
    double       e[3], n[3] = {0, 0, 0}, best = INFINITY;
    int          face = 0;
    half_edges(box, e);
    const double thin = fmin(e[0], fmin(e[1], e[2])), slack = 1e-4 * thin;
    for (int pass = 0; pass < 2; ++pass) /* first those on whose side the body is */
        for (int k = 0; k < 3; ++k) {
            const int    on_side = fabs(c[k]) > e[k] && c[k] * p[k] > 0;
            const double deep    = e[k] - fabs(p[k]);
            if (on_side == pass || (pass == 1 && deep < slack && best < 0.05 * thin)) continue;
            const double far = on_side ? deep : 2.0 * deep;
            if (far < best) best = far, face = k;
        }
    for (int k = 0; k < 3; ++k)
        if (k != face && fabs(p[k]) - e[k] > slack) return no_touch();
    n[face]               = p[face] < 0 ? -1 : 1;
    skel__contact_point t = {.normal = q_rotate(other.q, v3_of(n)), .gap = fabs(p[face]) - e[face]};
    t.point_i             = v3_add(other.p, q_rotate(other.q, local));
    t.point_j             = v3_mad(t.point_i, -t.gap, t.normal);
    return t;
}

static v3 into(pose frame, v3 world) {
    return q_rotate(q_conj(frame.q), v3_sub(world, frame.p));
}

/* Where a + t d, over a face at t, came over the edge of that face, seen from its beginning;
   outside 0..1: it begins over the face. */
static double way_to_edge(v3 a, v3 d, const double e[3], double t) {
    const double from[3] = {a.x, a.y, a.z}, dir[3] = {d.x, d.y, d.z};
    double       enter = -1;
    int          face = 0, out = 0;
    for (int k = 0; k < 3; ++k)
        if (fabs(from[k] + t * dir[k]) > e[k]) face = k, ++out;
    if (out != 1) return -1;
    for (int k = 0; k < 3; ++k)
        if (k != face && dir[k] != 0)
            enter = fmax(enter, ((dir[k] > 0 ? -e[k] : e[k]) - from[k]) / dir[k]);
    return enter;
}

/* The inside of a segment against a box: faces are met by its ends, which are candidates of their own;
   this is where it passes over an edge. The distance along the segment is convex, its slope rises:
   bisection finds the nearest place. Where that is over a face, the edge over which it came is
   taken, so that a limb that rocks on two edges goes on touching both (a candidate from each end). */
static skel__contact_point touch_edge(const skel__body *box, const skel__candidate *s, pose i,
                                      pose other) {
    double   e[3], low = 0, high = 1;
    const v3 a = into(other, v3_add(i.p, q_rotate(i.q, s->at)));
    const v3 b = into(other, v3_add(i.p, q_rotate(i.q, s->to)));
    const v3 d = v3_sub(b, a);
    half_edges(box, e);
    if (distance_to_box(v3_mad(a, 0.5, d), e).distance > 1.5 * v3_norm(d) + 2 * s->radius)
        return no_touch();
    for (int k = 0; k < HALVINGS; ++k) {
        const double       t  = 0.5 * (low + high);
        const box_distance at = distance_to_box(v3_mad(a, t, d), e);
        if (at.distance <= 0) {
            low = high = t;
            break;
        }
        if (v3_dot(at.gradient, d) > 0)
            high = t;
        else
            low = t;
    }
    double t = 0.5 * (low + high);
    if (low != high && !distance_to_box(v3_mad(a, t, d), e).is_edge)
        t = way_to_edge(a, d, e, t);
    else if (s->is_second)
        return no_touch(); /* the first one is there */
    if (t < 1e-9 || t > 1 - 1e-9) return no_touch();
    return touch_box_at(box, v3_mad(a, t, d), s->radius, other);
}

double skel__segment_of(const skel__body *b, v3 *from, v3 *to) {
    double half = 0, radius = b->size[0];
    switch (b->shape) {
    case SKEL_SHAPE_CAPSULE:
    case SKEL_SHAPE_ROD: half = 0.5 * b->size[0], radius = b->size[1]; break;
    case SKEL_SHAPE_CYLINDER: /* the capsule inside it */
        half   = fmax(0, 0.5 * b->size[0] - b->size[1]);
        radius = b->size[1];
        break;
    default: break;
    }
    *from = (v3){0, 0, -half}, *to = (v3){0, 0, half};
    return radius;
}

/* Parameters of the nearest points of p + s u and q + t v, both in 0..1. Side by side, the middle
   of what they share. */
static void nearest(v3 p, v3 u, v3 q, v3 v, double *s, double *t) {
    const v3     r = v3_sub(p, q);
    const double a = v3_dot(u, u), e = v3_dot(v, v), f = v3_dot(v, r), c = v3_dot(u, r);
    *s = *t = 0;
    if (!(a > TINY) && !(e > TINY)) return;
    if (!(a > TINY)) {
        *t = clamp(f / e, 0, 1);
        return;
    }
    if (!(e > TINY)) {
        *s = clamp(-c / a, 0, 1);
        return;
    }
    const double b = v3_dot(u, v), det = a * e - b * b;
    if (det > PARALLEL * a * e) {
        *s = clamp((b * f - c * e) / det, 0, 1);
    } else { /* the ends of the other, seen on this one */
        const double one = clamp(-c / a, 0, 1), two = clamp((b - c) / a, 0, 1);
        *s = 0.5 * (one + two);
    }
    *t = (b * *s + f) / e;
    if (*t < 0 || *t > 1) {
        *t = clamp(*t, 0, 1);
        *s = clamp((b * *t - c) / a, 0, 1);
    }
}

static skel__contact_point touch_segments(const skel_model *m, const skel__candidate *sp, pose i,
                                          pose other) {
    v3           from, to;
    const double radius = skel__segment_of(&m->body[sp->j], &from, &to);
    const double reach  = sp->radius + radius + v3_norm(sp->to) + v3_norm(to);
    const v3     apart  = v3_sub(i.p, other.p);
    if (v3_dot(apart, apart) > 4 * reach * reach) return no_touch();
    const v3 p = v3_add(i.p, q_rotate(i.q, sp->at)), p2 = v3_add(i.p, q_rotate(i.q, sp->to));
    const v3 q  = v3_add(other.p, q_rotate(other.q, from));
    const v3 q2 = v3_add(other.p, q_rotate(other.q, to));
    const v3 u = v3_sub(p2, p), v = v3_sub(q2, q);
    double   s, t;
    nearest(p, u, q, v, &s, &t);
    skel__contact_point out;
    out.point_i = v3_mad(p, s, u), out.point_j = v3_mad(q, t, v);
    const v3     d = v3_sub(out.point_i, out.point_j);
    const double n = v3_norm(d);
    /* axes that meet have no normal of their own: the way from centre to centre, or up */
    const double far = v3_norm(apart);
    if (n > 1e-12)
        out.normal = v3_scale(d, 1.0 / n);
    else
        out.normal = far > 1e-12 ? v3_scale(apart, 1.0 / far) : (v3){0, 0, 1};
    out.radius_i = sp->radius, out.radius_j = radius;
    out.gap = n - sp->radius - radius;
    return out;
}

double skel__pair_distance(const skel_model *m, int32_t i, int32_t j, pose at_i, pose at_j) {
    const skel__body *a = &m->body[i], *b = &m->body[j];
    if (a->shape == SKEL_SHAPE_BOX || b->shape == SKEL_SHAPE_BOX) { /* the larger box as it is */
        const int second = b->shape == SKEL_SHAPE_BOX &&
                           (a->shape != SKEL_SHAPE_BOX || b->bounding_radius > a->bounding_radius);
        const skel__body *box = second ? b : a;
        double            e[3];
        half_edges(box, e);
        const v3 at = second ? into(at_j, at_i.p) : into(at_i, at_j.p);
        return distance_to_box(at, e).distance - (second ? a->bounding_radius : b->bounding_radius);
    }
    return v3_norm(v3_sub(at_i.p, at_j.p)) - a->bounding_radius - b->bounding_radius;
}

skel__contact_point skel__contact_point_of(const skel_model *m, const skel__candidate *s, pose i,
                                           pose other) {
    switch (s->kind) {
    case SKEL__CANDIDATE_BOX: {
        const v3 at = into(other, v3_add(i.p, q_rotate(i.q, s->at)));
        if (s->radius == 0) return touch_corner(&m->body[s->j], at, into(other, i.p), other);
        return touch_box_at(&m->body[s->j], at, s->radius, other);
    }
    case SKEL__CANDIDATE_EDGE: return touch_edge(&m->body[s->j], s, i, other);
    case SKEL__CANDIDATE_SEGMENT: return touch_segments(m, s, i, other);
    default: return touch_plane(&m->ground[s->ground], s, i, other);
    }
}
