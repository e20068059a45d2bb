/* SPDX-License-Identifier: BSD-3-Clause */
/* Contact candidates: the pairs of features that may touch during a simulation.

   Bodies touch with simple features. A feature of the first body is a point or a segment, which may
   have a radius. A feature of the second body is a plane, a box or a segment. This file lists all
   pairs of such features once, when a model is created. Each pair is a contact candidate.
   Candidates are listed for
   - every dynamic body and every ground plane;
   - every two bodies with shapes, unless a joint connects them, `collide` excludes the pair, or
     they overlap in the initial pose.

   The constants of the contact law have defaults. They follow from two quantities of the scene: the
   weight W of all dynamic bodies [N], and a length L, the largest lever or radius [m].
   - A soft surface has the normal force N = a d^2 at the penetration d. It carries the weight W at
     d = CONTACT_SOFT_DEPTH L.
   - A rigid surface has N = a d and critical damping. It carries W at d = CONTACT_RIGID_DEPTH L.
   - The bristle of a sticking contact bends by CONTACT_SOFT_STICK L under the tangential force W,
     and on a rigid surface by CONTACT_RIGID_STICK L.
   These surfaces are too stiff for a body that is much lighter than the whole scene. If its weight
   is below CONTACT_LIGHT_WEIGHT W, the constants are divided by 4 until they are in proportion to
   its weight. */
#include "base/alloc.h"
#include "base/error.h"
#include "contact/contact.h"

#include <string.h>

#define CONTACT_SOFT_DEPTH 4e-3          /* static penetration of a soft surface, relative to L */
#define CONTACT_RIGID_DEPTH 5e-6         /* the same for a rigid surface */
#define CONTACT_SOFT_STICK 5e-5          /* bristle deflection on a soft surface, relative to L */
#define CONTACT_RIGID_STICK 1e-6         /* the same for a rigid surface */
#define CONTACT_SOFT_DAMPING_RATIO 0.2   /* of a soft surface that carries the whole mass */
#define CONTACT_STICK_DAMPING_RATIO 0.05 /* of a bristle that moves the whole mass */
#define CONTACT_LIGHT_WEIGHT 0.01        /* relative to W: lighter bodies meet softer surfaces */
#define CONTACT_OVERLAP_MIN 1e-9         /* initial penetration that counts, relative to L */
#define CONTACT_PAIR_FRICTION 0.8        /* between bodies, if the scene has no ground */
#define CONTACT_CANDIDATES_MAX 400000
#define CONTACT_DEFAULT_BODIES_MAX 1000 /* more shaped bodies collide only if `collide` is set */
#define CYLINDER_RIM_POINTS 12          /* candidates on each rim of a cylinder */
#define EARTH_GRAVITY_M_S2 9.81

/* ---- default constants ----------------------------------------------------------------------- */

/* Distance of the farthest point of a body's shape from its centre [m]. */
static double shape_radius(const skel__body *b) {
    switch (b->shape) {
    case SKEL_SHAPE_SPHERE: return b->size[0];
    case SKEL_SHAPE_BOX: return 0.5 * v3_norm(v3_of(b->size));
    case SKEL_SHAPE_NONE: return 0;
    default: return 0.5 * b->size[0] + b->size[1];
    }
}

/* Bounding radii of all bodies, and the weight W and the length L of the scene. */
static void measure_scene(skel_model *m) {
    const double gravity = v3_norm(m->gravity);
    double mass = 0;
    double length = m->nj > 0 ? m->length_scale : 0;

    for (int32_t i = 0; i < m->nb; ++i) {
        skel__body *b = &m->body[i];

        /* The bounding sphere holds the shape and all contact points. */
        b->bounding_radius = shape_radius(b);
        for (uint32_t k = 0; k < b->contact_count; ++k) {
            const v3 point = v3_of(b->contacts + 3 * (size_t)k);
            b->bounding_radius = fmax(b->bounding_radius, v3_norm(point));
        }

        if (!skel__is_dynamic(m, i)) continue;
        mass += b->mass;
        length = fmax(length, b->bounding_radius);
    }

    /* Without gravity, contacts are as stiff as they would be on earth. */
    m->gravity_norm = gravity > 0 ? gravity : EARTH_GRAVITY_M_S2;
    m->weight = fmax(mass, 1e-300) * m->gravity_norm;
    m->contact_length = length > 0 ? length : m->length_scale;
}

static void fill_constants(const skel_model *m, skel__ground *g) {
    const double weight = m->weight;
    const double length = m->contact_length;
    const double mass = weight / m->gravity_norm;

    if (g->is_default && g->is_rigid) {
        /* a d = W at the static depth d; critical damping 2 sqrt(a m). */
        g->a = weight / (CONTACT_RIGID_DEPTH * length);
        g->b = 1;
        g->d = 2.0 * sqrt(g->a * mass);
    } else if (g->is_default) {
        /* a d^2 = W at the static depth d, where the stiffness is 2 a d = 2 W / d. */
        const double depth = CONTACT_SOFT_DEPTH * length;
        g->a = weight / (depth * depth);
        g->b = 2;
        g->d = 2.0 * CONTACT_SOFT_DAMPING_RATIO * sqrt(2.0 * weight / depth * mass);
    }

    /* Bristle: k xi = W at the deflection xi. */
    if (!g->is_stick_default) return;
    const double stick = g->is_rigid ? CONTACT_RIGID_STICK : CONTACT_SOFT_STICK;
    g->stick_k = weight / (stick * length);
    g->stick_d = 2.0 * CONTACT_STICK_DAMPING_RATIO * sqrt(g->stick_k * mass);
}

/* Copies of all grounds for light bodies. Each level has a quarter of the default constants of the
   level before; constants that were given stay. */
static void add_soft_levels(skel_model *m) {
    const int32_t n = m->ng + 1;

    for (int32_t k = n; k < SKEL__SOFT_LEVELS * n; ++k) {
        skel__ground *g = &m->ground[k];
        *g = m->ground[k - n];

        if (g->is_default) {
            g->a *= 0.25;
            g->d *= 0.25;
        }
        if (g->is_stick_default) {
            g->stick_k *= 0.25;
            g->stick_d *= 0.25;
        }
    }
}

/* Constants of all grounds. The entry behind the last ground holds those of contacts between
   bodies, which are soft. */
static void fill_grounds(skel_model *m) {
    for (int32_t k = 0; k <= m->ng; ++k) {
        if (k == m->ng)
            m->ground[k] = (skel__ground){.body = -1,
                                          .normal = {0, 0, 1},
                                          .friction = m->ng > 0 ? m->ground[0].friction
                                                                : CONTACT_PAIR_FRICTION,
                                          .is_default = 1,
                                          .is_stick_default = 1};
        fill_constants(m, &m->ground[k]);
        m->has_rigid |= m->ground[k].is_rigid;
    }
    add_soft_levels(m);
}

/* ---- enumeration ----------------------------------------------------------------------------- */

/* The functions below generate candidates one after the other and hand each of them to `visit`.
   The same code counts them, stores them, and tests a pair for overlap. */
typedef struct enumeration enumeration;
struct enumeration {
    const skel_model *m;
    void (*visit)(enumeration *e, const skel__candidate *c);
    skel__candidate *candidate; /* output of store_candidate */
    int32_t count;              /* result of count_candidate and store_candidate */
    int overlaps;               /* result of test_candidate: 1 if a candidate overlaps initially */

    int32_t overlap_count;    /* pairs of different skeletons that overlap initially */
    int32_t overlap_first[2]; /* the first such pair */
};

static void count_candidate(enumeration *e, const skel__candidate *c) {
    (void)c;
    ++e->count;
}

static void store_candidate(enumeration *e, const skel__candidate *c) {
    e->candidate[e->count++] = *c;
}

static void test_candidate(enumeration *e, const skel__candidate *c) {
    const pose x_i = skel__initial_pose(e->m, c->i);
    const pose x_j = skel__initial_pose(e->m, c->j);
    const skel__contact_point point = skel__contact_point_of(e->m, c, x_i, x_j);
    if (point.gap < -CONTACT_OVERLAP_MIN * e->m->contact_length) e->overlaps = 1;
}

/* How many times the constants must be divided by 4 for the lighter body of a candidate: log_4 of
   CONTACT_LIGHT_WEIGHT W over its weight, rounded. */
static int32_t soft_level(const skel_model *m, const skel__candidate *c) {
    double mass = INFINITY;
    if (skel__is_dynamic(m, c->i)) mass = m->body[c->i].mass;
    if (c->j >= 0 && skel__is_dynamic(m, c->j)) mass = fmin(mass, m->body[c->j].mass);

    const double share = mass * m->gravity_norm / (CONTACT_LIGHT_WEIGHT * m->weight);
    if (!(share < 1)) return 0;

    const double level = 0.5 - log(share) / log(4.0);
    return level < SKEL__SOFT_LEVELS - 1 ? (int32_t)level : SKEL__SOFT_LEVELS - 1;
}

static void add_candidate(enumeration *e, skel__candidate c) {
    if (e->count > CONTACT_CANDIDATES_MAX) return;
    c.internal = 3 * e->count;
    c.ground += (e->m->ng + 1) * soft_level(e->m, &c);
    e->visit(e, &c);
}

/* ---- points of bodies ------------------------------------------------------------------------ */

static void add_point(enumeration *e, skel__candidate like, v3 at, double radius) {
    like.at = at;
    like.to = at;
    like.radius = radius;
    add_candidate(e, like);
}

static void add_box_corners(enumeration *e, skel__candidate like, const double size[3]) {
    for (int k = 0; k < 8; ++k) {
        const v3 corner = {size[0] * (k & 1 ? 0.5 : -0.5), size[1] * (k & 2 ? 0.5 : -0.5),
                           size[2] * (k & 4 ? 0.5 : -0.5)};
        add_point(e, like, corner, 0);
    }
}

static void add_cylinder_rims(enumeration *e, skel__candidate like, const double size[3]) {
    for (int k = 0; k < 2 * CYLINDER_RIM_POINTS; ++k) {
        const int step = k / 2;
        const double angle = SKEL__TURN * step / CYLINDER_RIM_POINTS;
        const v3 point = {size[1] * cos(angle), size[1] * sin(angle), size[0] * (k % 2 - 0.5)};
        add_point(e, like, point, 0);
    }
}

/* The points of a body that may touch a plane or a box: corners, rims or the ends of a segment, and
   the contact points that the caller gave. */
static void add_points(enumeration *e, skel__candidate like) {
    const skel__body *b = &e->m->body[like.i];

    switch (b->shape) {
    case SKEL_SHAPE_NONE: break;
    case SKEL_SHAPE_BOX: add_box_corners(e, like, b->size); break;
    case SKEL_SHAPE_CYLINDER: add_cylinder_rims(e, like, b->size); break;
    default: {
        v3 from, to;
        const double shape = skel__segment_of(b, &from, &to);
        const double radius = b->shape == SKEL_SHAPE_ROD ? 0 : shape; /* a rod ends in points */
        add_point(e, like, from, radius);
        if (b->shape != SKEL_SHAPE_SPHERE) add_point(e, like, to, radius);
    }
    }

    for (uint32_t k = 0; k < b->contact_count; ++k)
        add_point(e, like, v3_of(b->contacts + 3 * (size_t)k), 0);
}

/* ---- bodies against grounds ------------------------------------------------------------------ */

/* Whether a joint or the springs of a wobbling mass connect the two bodies. */
static int are_connected(const skel_model *m, int32_t i, int32_t j) {
    if (m->body[i].host == j || m->body[j].host == i) return 1;

    for (int32_t k = 0; k < m->nj; ++k)
        if ((m->joint[k].a == i && m->joint[k].b == j) ||
            (m->joint[k].a == j && m->joint[k].b == i))
            return 1;
    return 0;
}

static void add_grounds(enumeration *e) {
    const skel_model *m = e->m;

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];

        for (int32_t g = 0; g < m->ng; ++g) {
            const int32_t carrier = m->ground[g].body;
            if (carrier == i || (carrier >= 0 && are_connected(m, i, carrier))) continue;

            const skel__candidate like = {
                .i = i, .j = -1, .ground = g, .kind = SKEL__CANDIDATE_PLANE};
            add_points(e, like);
        }
    }
}

/* ---- bodies against bodies ------------------------------------------------------------------- */

static int may_collide(const skel_model *m, int32_t i, int32_t j) {
    const skel__body *a = &m->body[i];
    const skel__body *b = &m->body[j];

    if (a->shape == SKEL_SHAPE_NONE || b->shape == SKEL_SHAPE_NONE) return 0;
    if (!skel__is_dynamic(m, i) && !skel__is_dynamic(m, j)) return 0;
    if (a->collide == SKEL_COLLIDE_NONE || b->collide == SKEL_COLLIDE_NONE) return 0;

    /* Bodies of one group do not collide with each other. */
    if (a->collide > 0 && a->collide == b->collide) return 0;

    /* Within one skeleton, both bodies must ask for it. */
    if (a->skeleton == b->skeleton &&
        (a->collide == SKEL_COLLIDE_OTHERS || b->collide == SKEL_COLLIDE_OTHERS))
        return 0;

    return !are_connected(m, i, j);
}

/* Body i against a box: the points of i, and the interior of its segment against the edges of the
   box. A segment can lie across two edges, so it gives a candidate from each of its ends. */
static void add_box_pair(enumeration *e, int32_t i, int32_t box) {
    const skel__body *b = &e->m->body[i];
    skel__candidate c = {.i = i, .j = box, .ground = e->m->ng, .kind = SKEL__CANDIDATE_BOX};
    add_points(e, c);
    if (b->shape == SKEL_SHAPE_BOX || b->shape == SKEL_SHAPE_SPHERE) return;

    c.kind = SKEL__CANDIDATE_EDGE;
    c.radius = skel__segment_of(b, &c.at, &c.to);
    add_candidate(e, c);

    const v3 first = c.at;
    c.at = c.to;
    c.to = first;
    c.is_second = 1;
    add_candidate(e, c);
}

static void add_pair(enumeration *e, int32_t i, int32_t j) {
    const skel_model *m = e->m;
    const int is_box_i = m->body[i].shape == SKEL_SHAPE_BOX;
    const int is_box_j = m->body[j].shape == SKEL_SHAPE_BOX;

    /* The corners of each of two boxes are tested against the other box. */
    if (is_box_j) add_box_pair(e, i, j);
    if (is_box_i) add_box_pair(e, j, i);
    if (is_box_i || is_box_j) return;

    skel__candidate c = {.i = i, .j = j, .ground = m->ng, .kind = SKEL__CANDIDATE_SEGMENT};
    c.radius = skel__segment_of(&m->body[i], &c.at, &c.to);
    add_candidate(e, c);
}

static int overlaps_initially(const skel_model *m, int32_t i, int32_t j) {
    enumeration e = {.m = m, .visit = test_candidate};
    add_pair(&e, i, j);
    return e.overlaps;
}

/* Counts a pair that overlaps initially and therefore never collides. Within one skeleton that is
   intended: the shapes of neighbouring bones overlap. Between two skeletons, or with an obstacle,
   it is reported, because the bodies pass through each other. */
static void count_overlap(enumeration *e, int32_t i, int32_t j) {
    if (e->m->body[i].skeleton == e->m->body[j].skeleton) return;

    if (e->overlap_count == 0) {
        e->overlap_first[0] = i;
        e->overlap_first[1] = j;
    }
    ++e->overlap_count;
}

static void add_pairs(enumeration *e) {
    const skel_model *m = e->m;

    for (int32_t i = 0; i < m->nb; ++i) {
        if (m->body[i].shape == SKEL_SHAPE_NONE || e->count > CONTACT_CANDIDATES_MAX) continue;

        for (int32_t j = i + 1; j < m->nb; ++j) {
            if (!may_collide(m, i, j)) continue;

            if (overlaps_initially(m, i, j))
                count_overlap(e, i, j);
            else
                add_pair(e, i, j);
        }
    }
}

/* ---- the list of a model --------------------------------------------------------------------- */

/* A summary of the bodies that have a shape and may collide. */
typedef struct collision_summary {
    int32_t dynamic_count;         /* how many of them are dynamic */
    int32_t has_request;           /* one sets `collide` to another value than the default */
    int32_t has_several_skeletons; /* they belong to more than one skeleton */
} collision_summary;

static collision_summary summarise(const skel_model *m) {
    collision_summary all = {0};
    int32_t first = -1;

    for (int32_t i = 0; i < m->nb; ++i) {
        const skel__body *b = &m->body[i];
        if (b->shape == SKEL_SHAPE_NONE || b->collide == SKEL_COLLIDE_NONE) continue;

        if (first < 0) first = i;
        all.dynamic_count += skel__is_dynamic(m, i);
        all.has_request |= b->collide != SKEL_COLLIDE_OTHERS;
        all.has_several_skeletons |= b->skeleton != m->body[first].skeleton;
    }
    return all;
}

/* All candidates of the model. The usual scene, one skeleton that does not collide with itself, has
   no pairs of bodies, and the loop over all pairs is skipped. */
static void enumerate(enumeration *e, const collision_summary *all) {
    const int has_pairs = all->has_request || all->has_several_skeletons;

    add_grounds(e);
    if (!e->m->pairs_left_out && has_pairs) add_pairs(e);
}

skel_status skel__contact_candidates_build(skel_model *m, skel_error *err) {
    measure_scene(m);
    fill_grounds(m);

    /* By default, pairs of bodies are left out of very large scenes. */
    const collision_summary all = summarise(m);
    m->pairs_left_out = !all.has_request && all.has_several_skeletons &&
                        all.dynamic_count > CONTACT_DEFAULT_BODIES_MAX;

    /* First pass: count. */
    enumeration e = {.m = m, .visit = count_candidate};
    enumerate(&e, &all);
    if (e.count > CONTACT_CANDIDATES_MAX && !all.has_request) {
        m->pairs_left_out = 1;
        e = (enumeration){.m = m, .visit = count_candidate};
        enumerate(&e, &all);
    }

    m->overlap_count = e.overlap_count;
    memcpy(m->overlap_first, e.overlap_first, sizeof m->overlap_first);
    if (e.count > CONTACT_CANDIDATES_MAX)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "bodies: there are more than %d contact candidates; exclude pairs of "
                          "bodies with collide",
                          CONTACT_CANDIDATES_MAX);

    /* Each candidate has a tangential displacement of three numbers in the state. */
    m->ncand = e.count;
    m->ninternal = 3 * e.count;
    if (e.count == 0) return SKEL_OK;

    /* Second pass: store. */
    m->candidate = skel__alloc(&m->allocator, (size_t)e.count * sizeof *m->candidate);
    if (!m->candidate)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory for %d contact candidates",
                          e.count);
    e = (enumeration){.m = m, .visit = store_candidate, .candidate = m->candidate};
    enumerate(&e, &all);
    return SKEL_OK;
}
