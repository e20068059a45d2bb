/* SPDX-License-Identifier: BSD-3-Clause */
/* What may touch what: the candidates of every shape and contact point against every ground, and of
   every pair of bodies that is not ruled out. Constants that a ground leaves open follow from the
   total weight W and a length L of the scene: static depth DEPTH L under all of W. What weighs less
   than SLIGHT of that finds them softer in proportion, as if all of it weighed less: springs for
   elephants are walls of glass to a mouse. */
#include "base/alloc.h"
#include "base/error.h"
#include "contact/contact.h"

#include <string.h>

#define DEPTH 4e-3       /* of L: a soft ground under the whole weight */
#define RIGID_DEPTH 5e-6 /* of L: what rests on a rigid one */
#define DAMPING 0.2      /* of critical, the whole mass on one point; soft */
#define STICK 5e-5       /* of L: shift along a soft ground under a load of W */
#define RIGID_STICK 1e-6
#define STICK_DAMPING 0.05 /* of critical for the whole mass: enough for its lighter parts */
#define SLIGHT 0.01        /* of the weight */
#define EARTH 9.81
#define CONTACT_CANDIDATES_MAX 400000
#define DEFAULT_PAIRS_MAX 1000 /* shaped bodies: of more, those that must touch have to say so */
#define RIM 12                 /* points on each rim of a cylinder */

/* ---- sizes ---- */

static double shape_reach(const skel__body *b) {
    switch (b->shape) {
    case SKEL_SHAPE_SPHERE: return b->size[0];
    case SKEL_SHAPE_BOX: return 0.5 * v3_norm(v3_of(b->size));
    case SKEL_SHAPE_NONE: return 0;
    default: return 0.5 * b->size[0] + b->size[1];
    }
}

static void measure(skel_model *m) {
    const double g    = v3_norm(m->gravity);
    double       mass = 0, reach = m->nj > 0 ? m->length_scale : 0;
    for (int32_t i = 0; i < m->nb; ++i) {
        skel__body *b      = &m->body[i];
        b->bounding_radius = shape_reach(b);
        for (uint32_t e = 0; e < b->contact_count; ++e)
            b->bounding_radius =
                fmax(b->bounding_radius, v3_norm(v3_of(b->contacts + 3 * (size_t)e)));
        if (!skel__is_dynamic(m, i)) continue;
        mass += b->mass;
        reach = fmax(reach, b->bounding_radius);
    }
    m->gravity_norm   = g > 0 ? g : EARTH;
    m->weight         = fmax(mass, 1e-300) * m->gravity_norm;
    m->contact_length = reach > 0 ? reach : m->length_scale;
}

static void fill_constants(const skel_model *m, skel__ground *g) {
    const double w = m->weight, l = m->contact_length, mass = w / m->gravity_norm;
    if (g->is_default && g->is_rigid) {
        g->a = w / (RIGID_DEPTH * l), g->b = 1;
        g->d = 2.0 * sqrt(g->a * mass);
    } else if (g->is_default) {
        const double depth = DEPTH * l;
        g->a = w / (depth * depth), g->b = 2;
        g->d = 2.0 * DAMPING * sqrt(2.0 * w / depth * mass);
    }
    if (!g->is_stick_default) return;
    g->stick_k = w / ((g->is_rigid ? RIGID_STICK : STICK) * l);
    g->stick_d = 2.0 * STICK_DAMPING * sqrt(g->stick_k * mass);
}

/* Copies of the grounds, each with a quarter of the constants of the one before. */
static void soften(skel_model *m) {
    const int32_t n = m->ng + 1;
    for (int32_t k = n; k < SKEL__SOFT_LEVELS * n; ++k) {
        skel__ground *g = &m->ground[k];
        *g              = m->ground[k - n];
        if (g->is_default) g->a *= 0.25, g->d *= 0.25;
        if (g->is_stick_default) g->stick_k *= 0.25, g->stick_d *= 0.25;
    }
}

/* ---- candidates ---- */

/* Where the candidates go that the functions below list: each is handed to `take`. */
typedef struct finder finder;
struct finder {
    const skel_model *m;
    void (*take)(finder *f, const skel__candidate *s);
    skel__candidate *candidate; /* of take_store */
    int32_t          count;     /* of take_count and take_store */
    int              overlaps;  /* of take_test: one of them overlaps as given */

    int32_t overlap_count;    /* pairs of different skeletons that overlap as given */
    int32_t overlap_first[2]; /* the first of them */
};

/* How often a quarter of the constants is right for the lighter of the two. */
static int32_t softness(const skel_model *m, const skel__candidate *s) {
    double mass = INFINITY;
    if (skel__is_dynamic(m, s->i)) mass = m->body[s->i].mass;
    if (s->j >= 0 && skel__is_dynamic(m, s->j)) mass = fmin(mass, m->body[s->j].mass);
    const double part = mass * m->gravity_norm / (SLIGHT * m->weight);
    if (!(part < 1)) return 0;
    const double times = 0.5 - log(part) / log(4.0);
    return times < SKEL__SOFT_LEVELS - 1 ? (int32_t)times : SKEL__SOFT_LEVELS - 1;
}

static void take_count(finder *f, const skel__candidate *s) {
    (void)s;
    ++f->count;
}

static void take_store(finder *f, const skel__candidate *s) {
    f->candidate[f->count++] = *s;
}

static void add_candidate(finder *f, skel__candidate s) {
    if (f->count > CONTACT_CANDIDATES_MAX) return;
    s.internal = 3 * f->count;
    s.ground += (f->m->ng + 1) * softness(f->m, &s);
    f->take(f, &s);
}

static void add_point(finder *f, skel__candidate like, v3 at, double radius) {
    like.at = like.to = at;
    like.radius       = radius;
    add_candidate(f, like);
}

static void add_corners(finder *f, skel__candidate like, const double size[3]) {
    for (int k = 0; k < 8; ++k)
        add_point(f, like,
                  (v3){size[0] * (k & 1 ? 0.5 : -0.5), size[1] * (k & 2 ? 0.5 : -0.5),
                       size[2] * (k & 4 ? 0.5 : -0.5)},
                  0);
}

static void add_rims(finder *f, skel__candidate like, const double size[3]) {
    for (int k = 0; k < 2 * RIM; ++k) {
        const int    step  = k / 2;
        const double angle = SKEL__TURN * step / RIM;
        add_point(f, like,
                  (v3){size[1] * cos(angle), size[1] * sin(angle), size[0] * (k % 2 - 0.5)}, 0);
    }
}

/* The points with which a body meets a plane or a box. */
static void add_points(finder *f, skel__candidate like) {
    const skel__body *b = &f->m->body[like.i];
    v3                from, to;
    switch (b->shape) {
    case SKEL_SHAPE_NONE: break;
    case SKEL_SHAPE_BOX: add_corners(f, like, b->size); break;
    case SKEL_SHAPE_CYLINDER: add_rims(f, like, b->size); break;
    default: {
        const double r = skel__segment_of(b, &from, &to);
        const double s = b->shape == SKEL_SHAPE_ROD ? 0 : r; /* a rod is thin */
        add_point(f, like, from, s);
        if (b->shape != SKEL_SHAPE_SPHERE) add_point(f, like, to, s);
    }
    }
    for (uint32_t k = 0; k < b->contact_count; ++k)
        add_point(f, like, v3_of(b->contacts + 3 * (size_t)k), 0);
}

static int are_linked(const skel_model *m, int32_t i, int32_t j) {
    if (m->body[i].host == j || m->body[j].host == i) return 1;
    for (int32_t k = 0; k < m->nj; ++k)
        if ((m->joint[k].a == i && m->joint[k].b == j) ||
            (m->joint[k].a == j && m->joint[k].b == i))
            return 1;
    return 0;
}

static void add_grounds(finder *f) {
    const skel_model *m = f->m;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        for (int32_t g = 0; g < m->ng; ++g) {
            const int32_t on = m->ground[g].body;
            if (on == i || (on >= 0 && are_linked(m, i, on))) continue;
            add_points(
                f, (skel__candidate){.i = i, .j = -1, .ground = g, .kind = SKEL__CANDIDATE_PLANE});
        }
    }
}

static int may_touch(const skel_model *m, int32_t i, int32_t j) {
    const skel__body *a = &m->body[i], *b = &m->body[j];
    if (a->shape == SKEL_SHAPE_NONE || b->shape == SKEL_SHAPE_NONE) return 0;
    if (!skel__is_dynamic(m, i) && !skel__is_dynamic(m, j)) return 0;
    if (a->collide == SKEL_COLLIDE_NONE || b->collide == SKEL_COLLIDE_NONE) return 0;
    if (a->collide > 0 && a->collide == b->collide) return 0;
    if (a->skeleton == b->skeleton && (a->collide == 0 || b->collide == 0)) return 0;
    return !are_linked(m, i, j);
}

/* One of them is a box: the other's points and the inside of its segment; of two boxes, the
   corners of each. */
static void add_box_pair(finder *f, int32_t i, int32_t box) {
    const skel__body *b = &f->m->body[i];
    skel__candidate   s = {.i = i, .j = box, .ground = f->m->ng, .kind = SKEL__CANDIDATE_BOX};
    add_points(f, s);
    if (b->shape == SKEL_SHAPE_BOX || b->shape == SKEL_SHAPE_SPHERE) return;
    s.kind   = SKEL__CANDIDATE_EDGE;
    s.radius = skel__segment_of(b, &s.at, &s.to);
    add_candidate(f, s);
    const v3 at = s.at;
    s.at = s.to, s.to = at, s.is_second = 1;
    add_candidate(f, s);
}

static void add_pair(finder *f, int32_t i, int32_t j) {
    const int a = f->m->body[i].shape == SKEL_SHAPE_BOX, b = f->m->body[j].shape == SKEL_SHAPE_BOX;
    if (b) add_box_pair(f, i, j);
    if (a) add_box_pair(f, j, i);
    if (a || b) return;
    skel__candidate s = {.i = i, .j = j, .ground = f->m->ng, .kind = SKEL__CANDIDATE_SEGMENT};
    s.radius          = skel__segment_of(&f->m->body[i], &s.at, &s.to);
    add_candidate(f, s);
}

static void take_test(finder *f, const skel__candidate *s) {
    const skel__contact_point t = skel__contact_point_of(f->m, s, skel__initial_pose(f->m, s->i),
                                                         skel__initial_pose(f->m, s->j));
    if (t.gap < -1e-9 * f->m->contact_length) f->overlaps = 1;
}

/* Whether a pair overlaps as given: such shapes are drawn into each other on purpose. */
static int overlaps(const skel_model *m, int32_t i, int32_t j) {
    finder f = {.m = m, .take = take_test};
    add_pair(&f, i, j);
    return f.overlaps;
}

/* Of the bodies that may touch others: how many are dynamic, whether one of them asked for more
   than the default, and whether they are of several skeletons. */
typedef struct survey {
    int32_t count, asked, apart;
} survey;
static survey survey_of(const skel_model *m) {
    survey  all   = {0};
    int32_t first = -1;
    for (int32_t i = 0; i < m->nb; ++i) {
        const skel__body *b = &m->body[i];
        if (b->shape == SKEL_SHAPE_NONE || b->collide == SKEL_COLLIDE_NONE) continue;
        if (first < 0) first = i;
        all.count += skel__is_dynamic(m, i);
        all.asked |= b->collide != SKEL_COLLIDE_OTHERS;
        all.apart |= b->skeleton != m->body[first].skeleton;
    }
    return all;
}

/* Shapes of one skeleton overlap by design. A body that starts inside another skeleton or inside an
   obstacle passes through it, which the user should know: such pairs are counted. */
static void note_overlap(finder *f, int32_t i, int32_t j) {
    if (f->m->body[i].skeleton == f->m->body[j].skeleton) return;

    if (f->overlap_count == 0) {
        f->overlap_first[0] = i;
        f->overlap_first[1] = j;
    }
    ++f->overlap_count;
}

static void add_pairs(finder *f) {
    const skel_model *m = f->m;

    for (int32_t i = 0; i < m->nb; ++i) {
        if (m->body[i].shape == SKEL_SHAPE_NONE || f->count > CONTACT_CANDIDATES_MAX) continue;

        for (int32_t j = i + 1; j < m->nb; ++j) {
            if (!may_touch(m, i, j)) continue;

            if (overlaps(m, i, j))
                note_overlap(f, i, j);
            else
                add_pair(f, i, j);
        }
    }
}

/* Counts the candidates, or fills them in. One skeleton that was not asked to touch itself, the usual
   case, has no pairs. */
static void add_all(finder *f, const survey *all) {
    add_grounds(f);
    if (!f->m->pairs_left_out && (all->asked || all->apart)) add_pairs(f);
}

skel_status skel__contact_candidates_build(skel_model *m, skel_error *err) {
    finder f = {.m = m, .take = take_count};
    measure(m);
    for (int32_t k = 0; k <= m->ng; ++k) {
        if (k == m->ng) /* bodies that touch each other: like a soft ground */
            m->ground[k] = (skel__ground){.body       = -1,
                                          .normal     = {0, 0, 1},
                                          .friction   = m->ng > 0 ? m->ground[0].friction : 0.8,
                                          .is_default = 1,
                                          .is_stick_default = 1};
        fill_constants(m, &m->ground[k]);
        m->has_rigid |= m->ground[k].is_rigid;
    }
    soften(m);
    const survey all  = survey_of(m);
    m->pairs_left_out = !all.asked && all.apart && all.count > DEFAULT_PAIRS_MAX;
    add_all(&f, &all);
    if (f.count > CONTACT_CANDIDATES_MAX && !all.asked) {
        m->pairs_left_out = 1;
        f                 = (finder){.m = m, .take = take_count};
        add_all(&f, &all);
    }
    m->overlap_count = f.overlap_count;
    memcpy(m->overlap_first, f.overlap_first, sizeof m->overlap_first);
    if (f.count > CONTACT_CANDIDATES_MAX)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "bodies: more than %d places could touch; rule pairs out by collide",
                          CONTACT_CANDIDATES_MAX);
    m->ncand     = f.count;
    m->ninternal = 3 * f.count;
    if (f.count > 0) {
        m->candidate = skel__alloc(&m->allocator, (size_t)f.count * sizeof *m->candidate);
        if (!m->candidate) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for contacts");
        f = (finder){.m = m, .take = take_store, .candidate = m->candidate};
        add_all(&f, &all);
    }
    return SKEL_OK;
}
