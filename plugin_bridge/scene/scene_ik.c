/* SPDX-License-Identifier: BSD-3-Clause */
/* The `ik` of skel-scene/1: how the goals are solved, and what skel_ik_motion_start takes of it. */
#include "scene/scene.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MOST_TRIES 1000000 /* of a frame, which cannot be interrupted */

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

/* Numbers of q and of its velocity, in the order of SKEL_JOINT_*. */
static const int32_t k_nq[] = {0, 1, 1, 2, 4}, k_nv[] = {0, 1, 1, 2, 3};

/* ---- joint coordinates ---------------------------------------------------------------------- */

static int32_t q_count(const scene_reader *r) {
    int32_t n = 0;
    for (int32_t i = 0; i < r->joint_count; ++i) n += k_nq[r->joints[i].type];
    return n;
}

/* The numbers of one joint, at `index` of the list. */
static bool read_joint_q(scene_reader *r, const doc_at *at, const skel_joint_desc *j, int32_t index,
                         const json_value **c, double *out) {
    const bool turns = j->type == SKEL_JOINT_HINGE || j->type == SKEL_JOINT_UNIVERSAL;
    double sum = 0.0;
    bool good = true;
    const doc_at first = doc_element(at, index, *c);
    for (int32_t k = 0; k < k_nq[j->type]; ++k, *c = (*c)->next) {
        const doc_at item = doc_element(at, index + k, *c);
        good = doc_number(&r->doc, &item, DOC_ANY, &out[k]) && good;
        if (turns) out[k] *= r->angle;
        sum += out[k] * out[k];
    }
    if (!good || j->type != SKEL_JOINT_BALL) return good;
    if (!(fabs(sqrt(sum) - 1.0) <= 1e-3)) {
        doc_error(&r->doc, &first,
                  "begins the turn of a ball joint, %s%.64s%s, which must "
                  "be a unit quaternion w, x, y, z",
                  j->name ? "'" : "", j->name ? j->name : "unnamed", j->name ? "'" : "");
        return false;
    }
    doc_normalise(out, 4);
    return true;
}

/* "current", "mid" or all joint coordinates, which are kept in *q. */
static void read_q(scene_reader *r, const doc_at *at, skel_scene *s, int32_t *kind, double **q) {
    static const char must[] = "\"current\", \"mid\" or [q, ...]";
    if (!at->node) return;
    if (json_is_string(at->node)) {
        if (strcmp(at->node->text, "current") == 0)
            *kind = SCENE_Q_CURRENT;
        else if (strcmp(at->node->text, "mid") == 0)
            *kind = SCENE_Q_MIDDLE;
        else
            doc_wrong(&r->doc, at, must);
        return;
    }
    int32_t n = 0, used = 0;
    bool good = true;
    if (!doc_array(&r->doc, at, 0, DOC_MAX_SAMPLES, must, &n)) return;
    if (n != q_count(r)) {
        doc_error(&r->doc, at, "has %d numbers, must have the %d of all joints", (int)n,
                  (int)q_count(r));
        return;
    }
    double *x = scene_keep(r, s, (size_t)n + 1, sizeof *x);
    if (!x) return;
    const json_value *c = at->node->child;
    for (int32_t i = 0; i < r->joint_count; used += k_nq[r->joints[i++].type])
        good = read_joint_q(r, at, &r->joints[i], used, &c, x + used) && good;
    if (good) *kind = SCENE_Q_GIVEN, *q = x;
}

/* ---- numbers of joints ---------------------------------------------------------------------- */

static const char *known_joint(const void *user, int32_t i) {
    const scene_reader *r = user;
    return i < r->joint_count ? r->joints[i].name : NULL;
}

static bool read_share(document *doc, const doc_at *at, bool ratio, double *out) {
    return ratio ? scene_read_ratio(doc, at, out) : doc_number(doc, at, DOC_POSITIVE, out);
}

/* x[joint] is negative as long as the joint was not named. */
static void read_named(scene_reader *r, const doc_at *at, bool ratio, double *x) {
    if (!r->joint_names.name) return; /* the joints are no list, which is noted */
    const int32_t joint = names_find(&r->joint_names, at->name);
    if (joint < 0) {
        char hint[96];
        doc_suggest(at->name, known_joint, r, hint, sizeof hint);
        doc_error(&r->doc, at, "is not the name of a joint%s", hint);
    } else if (k_nv[r->joints[joint].type] == 0) {
        doc_error(&r->doc, at, "is a fixed joint, must be one that moves");
    } else if (x[joint] >= 0.0) {
        doc_error(&r->doc, at, "is there twice");
    } else {
        x[joint] = 0.0;
        read_share(&r->doc, at, ratio, &x[joint]);
    }
}

/* One number for all joints, or {"joint": number}; 0 where a joint has none. */
static double *read_joints(scene_reader *r, const doc_at *at, skel_scene *s, bool ratio) {
    double all = 0.0;
    if (!at->node) return NULL;
    double *x = scene_keep(r, s, (size_t)r->joint_count + 1, sizeof *x);
    if (!x) return NULL;
    if (json_is_object(at->node)) {
        for (int32_t i = 0; i < r->joint_count; ++i) x[i] = -1.0;
        for (const json_value *c = at->node->child; c; c = c->next)
            read_named(r, &(doc_at){at, c->name, -1, c}, ratio, x);
        for (int32_t i = 0; i < r->joint_count; ++i) x[i] = fmax(x[i], 0.0);
        return x;
    }
    if (!json_is_number(at->node)) {
        doc_wrong(&r->doc, at,
                  ratio ? "a number from 0 to 1 or {\"joint\": number, ...}"
                        : "a number > 0 or {\"joint\": number, ...}");
    } else if (read_share(&r->doc, at, ratio, &all)) {
        for (int32_t i = 0; i < r->joint_count; ++i)
            if (k_nv[r->joints[i].type] > 0) x[i] = all;
    }
    return x;
}

/* ---- the object ----------------------------------------------------------------------------- */

static void read_whole(document *doc, const doc_at *at, int32_t least, const char *must,
                       int32_t *out) {
    int32_t n = 0;
    if (!doc_integer(doc, at, &n)) return;
    if (n < least || n > MOST_TRIES)
        doc_wrong(doc, at, must);
    else
        *out = n;
}

/* What the first frame of a tracked motion may do. */
static void read_start(document *doc, const doc_at *at, skel_ik_motion_desc *m) {
    static const char *const starts[] = {"free", "held", NULL};
    int32_t start = SKEL_IK_START_FREE;
    doc_choice(doc, at, starts, &start);
    m->start = (uint32_t)start;
}

static void read_blend(document *doc, const doc_at *at, skel_ik_motion_desc *m) {
    static const char must[] = "[frames in, frames out], whole numbers >= 0";
    double n[2] = {0};
    if (!doc_vector(doc, at, 2, must, n)) return;
    if (n[0] < 0 || n[1] < 0 || n[0] > 1e9 || n[1] > 1e9 || n[0] != floor(n[0]) ||
        n[1] != floor(n[1])) {
        doc_wrong(doc, at, must);
        return;
    }
    m->blend_in = (uint32_t)n[0], m->blend_out = (uint32_t)n[1];
}

/* Newton's method solves all goals at once. */
static void check_method(scene_reader *r, const doc_at *at, const scene_ik_note *n) {
    if (n->desc.method != SKEL_IK_NEWTON) return;
    for (uint32_t k = 1; k < n->desc.goal_count; ++k) {
        if (n->goals[k].priority == n->goals[0].priority) continue;
        doc_error(&r->doc, at, "is \"newton\", which must have all goals of one priority");
        return;
    }
}

void scene_read_ik(scene_reader *r, const doc_at *at, skel_scene *s) {
    static const char *const modes[] = {"pose", "track", NULL};
    static const char *const roots[] = {"held", "shifts", "moves", NULL};
    static const char *const methods[] = {"damped", "newton", NULL};
    document *doc = &r->doc;
    scene_ik_note *n = &s->ik;
    doc_field_list f;
    if (!at->node || !doc_fields(doc, at, k_ik, "ik", &f)) return;
    const doc_at mode = doc_member(&f, I_MODE), seed = doc_member(&f, I_SEED);
    const doc_at tolerance = doc_member(&f, I_TOLERANCE);
    const doc_at max_ms = doc_member(&f, I_MAX_MS), root = doc_member(&f, I_ROOT);
    const doc_at speed = doc_member(&f, I_MAX_SPEED);
    const doc_at stiff = doc_member(&f, I_STIFFNESS);
    const doc_at posture = doc_member(&f, I_POSTURE), blend = doc_member(&f, I_BLEND);
    const doc_at restarts = doc_member(&f, I_RESTARTS);
    const doc_at iterations = doc_member(&f, I_ITERATIONS);
    const doc_at method = doc_member(&f, I_METHOD);
    const doc_at start = doc_member(&f, I_START);
    n->given = true;
    doc_choice(doc, &mode, modes, &n->desc.mode);
    read_q(r, &seed, s, &n->seed_kind, &n->seed);
    doc_number(doc, &tolerance, DOC_POSITIVE, &n->desc.tolerance);
    doc_number(doc, &max_ms, DOC_NOT_NEGATIVE, &n->desc.max_ms);
    doc_choice(doc, &root, roots, &n->desc.root);
    n->joint_speed = read_joints(r, &speed, s, false);
    n->joint_stiffness = read_joints(r, &stiff, s, true);
    read_q(r, &posture, s, &n->posture_kind, &n->posture);
    read_blend(doc, &blend, &n->motion);
    read_start(doc, &start, &n->motion);
    read_whole(doc, &restarts, 0, "a whole number from 0 to 1000000", &n->desc.max_restarts);
    read_whole(doc, &iterations, 1, "a whole number from 1 to 1000000", &n->desc.max_iterations);
    doc_choice(doc, &method, methods, &n->desc.method);
    check_method(r, &method, n);
    if (n->desc.goal_count == 0) doc_warn(doc, at, "has no effect: there are no goals");
}

/* ---- once there is a model ------------------------------------------------------------------ */

void scene_ik_init(scene_ik_note *n) {
    skel_ik_desc_init(&n->desc);
    memset(&n->motion, 0, sizeof n->motion);
    n->motion.struct_size = sizeof n->motion;
}

/* The same number for every degree of freedom of a joint. */
static const double *spread(scene_reader *r, skel_scene *s, const double *of_joint, double scale) {
    if (!of_joint) return NULL;
    double *x = scene_keep(r, s, (size_t)skel_model_dof(s->model) + 1, sizeof *x);
    for (int32_t i = 0; x && i < r->joint_count; ++i)
        for (int32_t k = 0; k < k_nv[r->joints[i].type]; ++k)
            x[skel_model_joint_dof_offset(s->model, i) + k] = of_joint[i] * scale;
    return x;
}

/* What the words stand for; where q is given it stays. */
static void fill_q(scene_reader *r, skel_scene *s, int32_t kind, double **q) {
    skel_state *state = NULL;
    if (kind == SCENE_Q_NONE || kind == SCENE_Q_GIVEN) return;
    *q = scene_keep(r, s, (size_t)skel_model_q_count(s->model) + 1, sizeof **q);
    if (!*q) return;
    if (kind == SCENE_Q_MIDDLE) {
        skel_scene_get_middle_q(s, *q);
    } else if (skel_state_create(s->model, &state, NULL) == SKEL_OK) {
        skel_state_get_q(state, *q);
        skel_state_destroy(state);
    } else {
        r->doc.no_memory = true;
    }
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
    int32_t frames = r->frame_count;
    fill_q(r, s, n->seed_kind == SCENE_Q_CURRENT ? SCENE_Q_NONE : n->seed_kind, &n->seed);
    fill_q(r, s, n->posture_kind, &n->posture);
    n->desc.stiffness = spread(r, s, n->joint_stiffness, 1.0);
    n->desc.max_step = spread(r, s, n->joint_speed, 1.0 / s->bake.sample_rate);
    n->desc.posture = n->posture;
    if (frames == 0) frames = has_driven(r) ? (int32_t)s->bake.sample_count : 1;
    n->motion.tracks = n->tracks;
    n->motion.seed = n->seed;
    scene_ik_bind(s, frames);
}

/* ---- public --------------------------------------------------------------------------------- */

skel_status skel_scene_get_ik_desc(const skel_scene *scene, skel_ik_motion_desc *desc) {
    if (!scene || !desc) return SKEL_E_ARGUMENT;
    const uint32_t size = desc->struct_size;
    if (size < sizeof size) return SKEL_E_STRUCT_SIZE;
    const skel_ik_motion_desc *motion = &scene->ik.motion;
    memcpy(desc, motion, size < sizeof *motion ? size : sizeof *motion);
    desc->struct_size = size;
    return SKEL_OK;
}

const char *skel_scene_goal_name(const skel_scene *scene, int32_t goal) {
    if (!scene || goal < 0 || (uint32_t)goal >= scene->ik.desc.goal_count) return NULL;
    return scene->ik.names[goal] ? scene->ik.names[goal] : "";
}

skel_status skel_scene_get_middle_q(const skel_scene *scene, double *q) {
    if (!scene || !q) return SKEL_E_ARGUMENT;
    for (int32_t i = 0; i < skel_model_joint_count(scene->model); ++i) {
        skel_joint_desc j;
        skel_joint_desc_init(&j);
        skel_model_get_joint(scene->model, i, &j);
        double *x = q + skel_model_joint_q_offset(scene->model, i);
        for (int32_t k = 0; k < k_nq[j.type]; ++k) {
            x[k] = j.type == SKEL_JOINT_BALL && k == 0 ? 1.0 : 0.0;
            if (j.limits.is_set && j.type != SKEL_JOINT_BALL)
                x[k] = 0.5 * (j.limits.low[k] + j.limits.high[k]);
        }
    }
    return SKEL_OK;
}
