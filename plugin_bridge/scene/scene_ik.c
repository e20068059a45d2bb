/* SPDX-License-Identifier: BSD-3-Clause */
/* `ik` of skel-scene/1: how the goals are solved. The settings become a skel_ik_motion_desc. */
#include "scene/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SCENE_IK_TRIES_MAX 1000000 /* per frame, because a frame cannot be interrupted */

enum {
    I_MODE,
    I_SEED,
    I_TOLERANCE,
    I_MAX_MS,
    I_ROOT,
    I_MAX_SPEED,
    I_STIFFNESS,
    I_POSTURE,
    I_BLEND,
    I_RESTARTS,
    I_ITERATIONS,
    I_METHOD,
    I_START
};
static const doc_field k_ik[] = {
    {"mode"},           {"seed"},      {"tolerance"}, {"max_ms"}, {"root"},
    {"max_speed"},      {"stiffness"}, {"posture"},   {"blend"},  {"max_restarts"},
    {"max_iterations"}, {"method"},    {"start"},     {NULL}};

/* ---- joint coordinates ---------------------------------------------------------------------- */

static int32_t q_count(const scene_reader *r) {
    int32_t n = 0;
    for (int32_t i = 0; i < r->joint_count; ++i) n += scene_joint_kind(r->joints[i].type).q_count;
    return n;
}

/* The coordinates of one joint, which start at `index` of the list. *c moves to the next joint. */
static bool read_joint_q(scene_reader *r, const doc_at *at, const skel_joint_desc *j, int32_t index,
                         const json_value **c, double *out) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    const doc_at first = doc_element(at, index, *c);
    double sum = 0.0;
    bool good = true;
    for (int32_t k = 0; k < kind.q_count; ++k, *c = (*c)->next) {
        const doc_at item = doc_element(at, index + k, *c);
        good = doc_number(&r->doc, &item, DOC_ANY, &out[k]) && good;
        out[k] *= scene_q_unit(r, kind.q_kind[k]);
        sum += out[k] * out[k];
    }
    if (!good || kind.q_kind[0] != SKEL_COORDINATE_QUATERNION) return good;

    if (!(fabs(sqrt(sum) - 1.0) <= DOC_QUATERNION_SLACK)) {
        doc_error(&r->doc, &first,
                  "starts the quaternion of the %s joint '%.64s', which has the length %.6g, must "
                  "have the length 1",
                  kind.name, j->name ? j->name : "", sqrt(sum));
        return false;
    }
    doc_normalise(out, 4);
    return true;
}

/* "current" or "mid"; true if it is one of them. */
static bool read_q_word(const char *word, int32_t *kind) {
    const bool is_current = strcmp(word, "current") == 0;
    if (!is_current && strcmp(word, "mid") != 0) return false;
    *kind = is_current ? SCENE_Q_CURRENT : SCENE_Q_MIDDLE;
    return true;
}

/* "current", "mid" or all joint coordinates, which *q then holds. */
static void read_q(scene_reader *r, const doc_at *at, skel_scene *s, int32_t *kind, double **q) {
    static const char must[] = "\"current\", \"mid\" or [q, ...]";
    if (!at->node) return;
    if (json_is_string(at->node)) {
        if (!read_q_word(at->node->text, kind)) doc_wrong(&r->doc, at, must);
        return;
    }

    int32_t n = 0;
    if (!doc_array(&r->doc, at, 0, DOC_MAX_SAMPLES, must, &n)) return;
    if (n != q_count(r)) {
        doc_error(&r->doc, at, "has %d numbers, must have the %d of all joints", (int)n,
                  (int)q_count(r));
        return;
    }
    double *x = scene_keep(r, s, (size_t)n + 1, sizeof *x);
    if (!x) return;

    const json_value *c = at->node->child;
    int32_t used = 0;
    bool good = true;
    for (int32_t i = 0; i < r->joint_count; ++i) {
        good = read_joint_q(r, at, &r->joints[i], used, &c, x + used) && good;
        used += scene_joint_kind(r->joints[i].type).q_count;
    }
    if (!good) return;
    *kind = SCENE_Q_GIVEN;
    *q = x;
}

/* ---- numbers per joint ---------------------------------------------------------------------- */

static const char *known_joint(const void *user, int32_t i) {
    const scene_reader *r = user;
    return i < r->joint_count ? r->joints[i].name : NULL;
}

/* A number from 0 to 1 (is_ratio), or any positive number. */
static bool read_one(document *doc, const doc_at *at, bool is_ratio, double *out) {
    return is_ratio ? scene_read_ratio(doc, at, out) : doc_number(doc, at, DOC_POSITIVE, out);
}

/* One member of {"joint": number}. x[joint] is negative until the joint is named. */
static void read_named(scene_reader *r, const doc_at *at, bool is_ratio, double *x) {
    if (!r->joint_names.name) return; /* the error of `joints` is noted already */

    const int32_t joint = names_find(&r->joint_names, at->name);
    if (joint < 0) {
        char hint[96];
        doc_suggest(at->name, known_joint, r, hint, sizeof hint);
        doc_error(&r->doc, at, "is not the name of a joint%s", hint);
        return;
    }
    const skel_joint_kind kind = scene_joint_kind(r->joints[joint].type);
    if (kind.dof == 0) {
        doc_error(&r->doc, at, "is a %s joint, must be one that moves", kind.name);
    } else if (x[joint] >= 0.0) {
        doc_error(&r->doc, at, "is given twice, must be given once");
    } else {
        x[joint] = 0.0;
        read_one(&r->doc, at, is_ratio, &x[joint]);
    }
}

/* One number for all joints, or {"joint": number}. A joint without a number has 0. */
static double *read_joints(scene_reader *r, const doc_at *at, skel_scene *s, bool is_ratio) {
    if (!at->node) return NULL;
    double *x = scene_keep(r, s, (size_t)r->joint_count + 1, sizeof *x);
    if (!x) return NULL;

    if (json_is_object(at->node)) {
        for (int32_t i = 0; i < r->joint_count; ++i) x[i] = -1.0;
        for (const json_value *c = at->node->child; c; c = c->next)
            read_named(r, &(doc_at){at, c->name, -1, c}, is_ratio, x);
        for (int32_t i = 0; i < r->joint_count; ++i) x[i] = fmax(x[i], 0.0);
        return x;
    }

    double all = 0.0;
    if (!json_is_number(at->node)) {
        doc_wrong(&r->doc, at,
                  is_ratio ? "a number from 0 to 1 or {\"joint\": number, ...}"
                           : "a number > 0 or {\"joint\": number, ...}");
    } else if (read_one(&r->doc, at, is_ratio, &all)) {
        for (int32_t i = 0; i < r->joint_count; ++i)
            if (scene_joint_kind(r->joints[i].type).dof > 0) x[i] = all;
    }
    return x;
}

/* ---- the object ----------------------------------------------------------------------------- */

static void read_whole(document *doc, const doc_at *at, int32_t least, const char *must,
                       int32_t *out) {
    int32_t n = 0;
    if (!doc_integer(doc, at, &n)) return;
    if (n < least || n > SCENE_IK_TRIES_MAX)
        doc_wrong(doc, at, must);
    else
        *out = n;
}

/* Whether the first frame of a tracked motion may change. */
static void read_start(document *doc, const doc_at *at, skel_ik_motion_desc *m) {
    static const char *const starts[] = {"free", "held", NULL};
    int32_t start = SKEL_IK_START_FREE;
    doc_choice(doc, at, starts, &start);
    m->start = (uint32_t)start;
}

static bool is_frame_count(double x) {
    return x >= 0 && x <= 1e9 && x == floor(x);
}

static void read_blend(document *doc, const doc_at *at, skel_ik_motion_desc *m) {
    static const char must[] = "[frames in, frames out], whole numbers >= 0";
    double n[2] = {0};
    if (!doc_vector(doc, at, 2, must, n)) return;
    if (!is_frame_count(n[0]) || !is_frame_count(n[1])) {
        doc_wrong(doc, at, must);
        return;
    }
    m->blend_in = (uint32_t)n[0];
    m->blend_out = (uint32_t)n[1];
}

/* Newton's method solves all goals at once, so it has no priorities. */
static void check_method(scene_reader *r, const doc_at *at, const scene_ik_note *n) {
    if (n->desc.method != SKEL_IK_NEWTON) return;
    for (uint32_t k = 1; k < n->desc.goal_count; ++k) {
        if (n->goals[k].priority == n->goals[0].priority) continue;
        doc_error(&r->doc, at,
                  "is \"newton\", must be \"damped\" unless all goals have one priority");
        return;
    }
}

/* Bounds of the search: mode, tolerance, time, tries and method. */
static void read_search(scene_reader *r, const doc_field_list *f, scene_ik_note *n) {
    static const char *const modes[] = {"pose", "track", NULL};
    static const char *const methods[] = {"damped", "newton", NULL};
    document *doc = &r->doc;
    const doc_at mode = doc_member(f, I_MODE);
    const doc_at tolerance = doc_member(f, I_TOLERANCE);
    const doc_at max_ms = doc_member(f, I_MAX_MS);
    const doc_at restarts = doc_member(f, I_RESTARTS);
    const doc_at iterations = doc_member(f, I_ITERATIONS);
    const doc_at method = doc_member(f, I_METHOD);

    doc_choice(doc, &mode, modes, &n->desc.mode);
    doc_number(doc, &tolerance, DOC_POSITIVE, &n->desc.tolerance);
    doc_number(doc, &max_ms, DOC_NOT_NEGATIVE, &n->desc.max_ms);
    read_whole(doc, &restarts, 0, "a whole number from 0 to 1000000", &n->desc.max_restarts);
    read_whole(doc, &iterations, 1, "a whole number from 1 to 1000000", &n->desc.max_iterations);
    doc_choice(doc, &method, methods, &n->desc.method);
    check_method(r, &method, n);
}

void scene_read_ik(scene_reader *r, const doc_at *at, skel_scene *s) {
    static const char *const roots[] = {"held", "shifts", "moves", NULL};
    document *doc = &r->doc;
    scene_ik_note *n = &s->ik;
    doc_field_list f;
    if (!at->node || !doc_fields(doc, at, k_ik, "ik", &f)) return;
    n->given = true;
    read_search(r, &f, n);

    /* Where the solution starts, and what it prefers. */
    const doc_at seed = doc_member(&f, I_SEED);
    const doc_at posture = doc_member(&f, I_POSTURE);
    read_q(r, &seed, s, &n->seed_kind, &n->seed);
    read_q(r, &posture, s, &n->posture_kind, &n->posture);

    /* How root and joints may move. */
    const doc_at root = doc_member(&f, I_ROOT);
    const doc_at speed = doc_member(&f, I_MAX_SPEED);
    const doc_at stiffness = doc_member(&f, I_STIFFNESS);
    doc_choice(doc, &root, roots, &n->desc.root);
    n->joint_speed = read_joints(r, &speed, s, false);
    n->joint_stiffness = read_joints(r, &stiffness, s, true);

    /* The motion as a whole. */
    const doc_at blend = doc_member(&f, I_BLEND);
    const doc_at start = doc_member(&f, I_START);
    read_blend(doc, &blend, &n->motion);
    read_start(doc, &start, &n->motion);

    if (n->desc.goal_count == 0) doc_warn(doc, at, "has no effect: there are no goals");
}

/* ---- after the model is created ------------------------------------------------------------- */

void scene_ik_init(scene_ik_note *n) {
    skel_ik_desc_init(&n->desc);
    memset(&n->motion, 0, sizeof n->motion);
    n->motion.struct_size = sizeof n->motion;
}

/* A number per joint as a number per degree of freedom, times `scale`. */
static const double *per_dof(scene_reader *r, skel_scene *s, const double *of_joint, double scale) {
    if (!of_joint) return NULL;
    double *x = scene_keep(r, s, (size_t)skel_model_dof(s->model) + 1, sizeof *x);
    for (int32_t i = 0; x && i < r->joint_count; ++i) {
        const int32_t first = skel_model_joint_dof_offset(s->model, i);
        const int32_t dof = scene_joint_kind(r->joints[i].type).dof;
        for (int32_t k = 0; k < dof; ++k) x[first + k] = of_joint[i] * scale;
    }
    return x;
}

/* Replaces the words "current" and "mid" by coordinates. Given coordinates stay. */
static void fill_q(scene_reader *r, skel_scene *s, int32_t kind, double **q) {
    if (kind == SCENE_Q_NONE || kind == SCENE_Q_GIVEN) return;
    *q = scene_keep(r, s, (size_t)skel_model_q_count(s->model) + 1, sizeof **q);
    if (!*q) return;
    if (kind == SCENE_Q_MIDDLE) {
        skel_scene_get_middle_q(s, *q);
        return;
    }

    skel_state *state = NULL;
    if (skel_state_create(s->model, &state, NULL) != SKEL_OK) {
        r->doc.no_memory = true;
        return;
    }
    skel_state_get_q(state, *q);
    skel_state_destroy(state);
}

static bool has_driven(const scene_reader *r) {
    for (int32_t i = 0; i < r->body_count; ++i)
        if (r->bodies[i].motion == SKEL_MOTION_DRIVEN) return true;
    return false;
}

void scene_ik_bind(skel_scene *s, int32_t frames) {
    s->ik.desc.model = s->model;
    s->ik.motion.ik = &s->ik.desc;
    s->ik.motion.sample_count = (uint32_t)frames;
    s->ik.motion.sample_rate = s->bake.sample_rate;
}

void scene_ik_finish(scene_reader *r, skel_scene *s) {
    scene_ik_note *n = &s->ik;

    /* Without a seed the engine starts from the given pose. */
    fill_q(r, s, n->seed_kind == SCENE_Q_CURRENT ? SCENE_Q_NONE : n->seed_kind, &n->seed);
    fill_q(r, s, n->posture_kind, &n->posture);

    n->desc.stiffness = per_dof(r, s, n->joint_stiffness, 1.0);
    n->desc.max_step = per_dof(r, s, n->joint_speed, 1.0 / s->bake.sample_rate);
    n->desc.posture = n->posture;
    n->motion.tracks = n->tracks;
    n->motion.seed = n->seed;

    /* Without a list of targets, driven bodies decide the number of frames. */
    int32_t frames = r->frame_count;
    if (frames == 0) frames = has_driven(r) ? (int32_t)s->bake.sample_count : 1;
    scene_ik_bind(s, frames);
}

/* ---- public --------------------------------------------------------------------------------- */

skel_status skel_scene_get_ik_desc(const skel_scene *scene, skel_ik_motion_desc *desc) {
    if (!scene || !desc) return SKEL_E_ARGUMENT;
    const uint32_t size = desc->struct_size;
    if (size < sizeof *desc) return SKEL_E_STRUCT_SIZE;
    *desc = scene->ik.motion;
    desc->struct_size = size;
    return SKEL_OK;
}

const char *skel_scene_goal_name(const skel_scene *scene, int32_t goal) {
    if (!scene || goal < 0 || (uint32_t)goal >= scene->ik.desc.goal_count) return NULL;
    return scene->ik.names[goal] ? scene->ik.names[goal] : "";
}

/* The middle of the limits of one joint; 0 without limits, and no rotation of a ball joint. */
static void joint_middle(const skel_joint_desc *j, double *q) {
    const skel_joint_kind kind = scene_joint_kind(j->type);
    for (int32_t k = 0; k < kind.q_count; ++k) {
        const bool is_quaternion = kind.q_kind[k] == SKEL_COORDINATE_QUATERNION;
        q[k] = is_quaternion && k == 0 ? 1.0 : 0.0;
        if (j->limits.is_set && !is_quaternion && k < kind.limit_count)
            q[k] = 0.5 * (j->limits.low[k] + j->limits.high[k]);
    }
}

skel_status skel_scene_get_middle_q(const skel_scene *scene, double *q) {
    if (!scene || !q) return SKEL_E_ARGUMENT;
    for (int32_t i = 0; i < skel_model_joint_count(scene->model); ++i) {
        skel_joint_desc j;
        skel_joint_desc_init(&j);
        skel_model_get_joint(scene->model, i, &j);
        joint_middle(&j, q + skel_model_joint_q_offset(scene->model, i));
    }
    return SKEL_OK;
}
