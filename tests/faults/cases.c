/* SPDX-License-Identifier: BSD-3-Clause */
/* What is done under failing allocations: all of the public API that takes memory. A case returns
   SKEL_OK and its output, or the first error. Memory of the case itself is static. */
#include "faults/faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_MAX (256 * 1024)
#define FAULTS_BODIES_MAX 40
#define SAMPLES 4

/* ---- documents ------------------------------------------------------------------------------- */

typedef struct document {
    const char *key;
    const char *path; /* NULL: made by faults_prepare */
    char *text;
    size_t length;
} document;

static document g_documents[] = {
    {"pendulum", SKEL_SAMPLES "/double_pendulum.json", NULL, 0},
    {"tree", SKEL_SAMPLES "/free_tree.json", NULL, 0},
    {"loop", SKEL_SAMPLES "/four_bar.json", NULL, 0},
    {"jumper", SKEL_SAMPLES "/jumper_five.json", NULL, 0},
    {"stairs", SKEL_SAMPLES "/ragdoll_stairs.json", NULL, 0},
    {"driven", SKEL_SAMPLES "/driven_root.json", NULL, 0},
    {"goals", SKEL_SAMPLES "/figure_eight.json", NULL, 0},
    {"rod", SKEL_SAMPLES "/falling_rod.json", NULL, 0},
    {"robot", SKEL_SAMPLES "/robots/ur5.json", NULL, 0},
    {"stanford", SKEL_SAMPLES "/robots/stanford.json", NULL, 0},
    {"urdf", SKEL_TEST_DATA "/urdf/features.urdf", NULL, 0},
    {"csv", NULL, NULL, 0},
    {"broken", NULL, NULL, 0},
    {"track", NULL, NULL, 0},
};
#define DOCUMENTS (sizeof g_documents / sizeof *g_documents)

static char g_text[TEXT_MAX];

static document *document_of(const char *key) {
    for (size_t i = 0; i < DOCUMENTS; ++i)
        if (strcmp(g_documents[i].key, key) == 0) return &g_documents[i];
    abort();
}

static void keep(const char *key, const char *text, size_t length) {
    document *d = document_of(key);
    d->text = malloc(length + 1);
    d->length = length;
    if (!d->text) abort();
    memcpy(d->text, text, length);
    d->text[length] = 0;
}

static void read_document(const document *d) {
    FILE *file = fopen(d->path, "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", d->path);
        abort();
    }
    const size_t length = fread(g_text, 1, sizeof g_text, file);
    fclose(file);
    keep(d->key, g_text, length);
}

/* ---- documents in, documents out ------------------------------------------------------------- */

static skel_status parse(const char *key, skel_scene **out) {
    const document *d = document_of(key);
    return skel_scene_parse(d->text, d->length, out, NULL);
}

static skel_status parse_and_write(const fault_case *c, fault_output *out) {
    skel_scene *scene = NULL;
    size_t needed = 0;
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK) status = skel_scene_write(scene, g_text, sizeof g_text, &needed);
    if (status == SKEL_OK) output_add(out, g_text, needed);
    skel_scene_destroy(scene);
    return status;
}

/* A body that stands alone, as values. */
static skel_status create_from_values(const fault_case *c, fault_output *out) {
    static const double origin[3] = {0};
    const skel_value values[] = {
        {.kind = SKEL_VALUE_OBJECT, .count = 2},
        {.kind = SKEL_VALUE_STRING, .name = "format", .text = "skel-scene/1"},
        {.kind = SKEL_VALUE_ARRAY, .name = "bodies", .count = 1},
        {.kind = SKEL_VALUE_OBJECT, .count = 2},
        {.kind = SKEL_VALUE_STRING, .name = "name", .text = c->document},
        {.kind = SKEL_VALUE_NUMBERS, .name = "position", .count = 3, .numbers = origin}};
    const uint32_t count = sizeof values / sizeof *values;
    skel_scene *scene = NULL;
    size_t needed = 0;
    skel_status status = skel_scene_create(values, count, sizeof *values, &scene, NULL);
    if (status == SKEL_OK) status = skel_scene_write(scene, g_text, sizeof g_text, &needed);
    if (status == SKEL_OK) output_add(out, g_text, needed);
    skel_scene_destroy(scene);
    return status;
}

/* All errors and warnings are the output. option: the status that the text deserves. */
static skel_status check(const fault_case *c, fault_output *out) {
    static char lines[16384];
    const document *d = document_of(c->document);
    size_t needed = 0;
    skel_status status = skel_scene_check(d->text, d->length, lines, sizeof lines, &needed);
    if (status == c->option) status = SKEL_OK;
    if (status == SKEL_OK) output_add(out, lines, needed);
    return status;
}

static skel_status write_urdf(const fault_case *c, fault_output *out) {
    skel_scene *scene = NULL;
    size_t needed = 0;
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK)
        status = skel_scene_write_urdf(scene, g_text, sizeof g_text, &needed, NULL);
    if (status == SKEL_OK) output_add(out, g_text, needed);
    skel_scene_destroy(scene);
    return status;
}

/* option: bit 0 is the convention, bit 1 is CSV. */
static skel_status write_table(const fault_case *c, fault_output *out) {
    skel_scene *scene = NULL;
    size_t needed = 0;
    skel_scene_dh_desc desc;
    skel_scene_dh_desc_init(&desc);
    desc.convention = c->option & 1;
    desc.is_csv = c->option >> 1;
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK)
        status = skel_scene_write_dh(scene, &desc, g_text, sizeof g_text, &needed, NULL);
    if (status == SKEL_OK) output_add(out, g_text, needed);
    skel_scene_destroy(scene);
    return status;
}

static skel_status rewrite_table(const fault_case *c, fault_output *out) {
    const document *d = document_of(c->document);
    size_t needed = 0;
    const skel_status status = skel_dh_rewrite(d->text, d->length, c->option & 1, c->option >> 1,
                                               g_text, sizeof g_text, &needed, NULL);
    if (status == SKEL_OK) output_add(out, g_text, needed);
    return status;
}

static skel_status write_edited(const fault_case *c, fault_output *out) {
    static double force[SAMPLES * FAULTS_BODIES_MAX * 3], motor[SAMPLES * FAULTS_BODIES_MAX];
    skel_scene *scene = NULL;
    size_t needed = 0;
    skel_scene_edit edit;
    skel_scene_edit_init(&edit);
    for (size_t i = 0; i < sizeof force / sizeof *force; ++i) force[i] = 0.25 * (double)i;
    for (size_t i = 0; i < sizeof motor / sizeof *motor; ++i) motor[i] = 0.5 * (double)i;
    edit.force = force;
    edit.motor = motor;
    edit.sample_count = SAMPLES;
    edit.sample_rate = 24;
    edit.has_bake = 1;
    edit.frame_end = 3;
    edit.fps = 24;
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK)
        status = skel_scene_write_edited(scene, &edit, g_text, sizeof g_text, &needed);
    if (status == SKEL_OK) output_add(out, g_text, needed);
    skel_scene_destroy(scene);
    return status;
}

/* ---- motions --------------------------------------------------------------------------------- */

/* option: the integrator. A few samples are enough. */
static skel_status bake(const fault_case *c, fault_output *out) {
    skel_scene *scene = NULL;
    skel_bake *bake = NULL;
    skel_bake_desc desc = {.struct_size = sizeof desc};
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK) status = skel_scene_get_bake_desc(scene, &desc);
    if (status == SKEL_OK) {
        desc.integrator = c->option;
        desc.sample_count = SAMPLES;
        desc.preroll = 0;
        desc.step = 0;
        status = skel_bake_start(&desc, &bake, NULL);
    }
    if (status == SKEL_OK) status = skel_bake_advance(bake, -1);
    if (status == SKEL_OK) {
        const size_t nb = (size_t)skel_model_body_count(skel_scene_model(scene));
        output_add(out, skel_bake_poses(bake), SAMPLES * nb * 7 * sizeof(double));
        output_add(out, skel_bake_velocities(bake), SAMPLES * nb * 6 * sizeof(double));
    }
    skel_bake_destroy(bake);
    skel_scene_destroy(scene);
    return status;
}

/* option: the solver; workspaces are taken at the first use. */
static skel_status step(const fault_case *c, fault_output *out) {
    static double x[FAULTS_BODIES_MAX * 7];
    skel_scene *scene = NULL;
    skel_state *state = NULL;
    skel_step_desc desc;
    skel_step_desc_init(&desc);
    desc.solver = c->option;
    desc.h = 1.0 / 240;
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK) status = skel_state_create(skel_scene_model(scene), &state, NULL);
    if (status == SKEL_OK) status = skel_state_project(state, NULL, NULL, NULL);
    if (status == SKEL_OK)
        status = skel_accelerations(state, c->option, x, x + 3 * FAULTS_BODIES_MAX, NULL);
    for (int32_t k = SKEL_INTEGRATOR_EULER; k <= SKEL_INTEGRATOR_CONSERVING; ++k) {
        if (k == SKEL_INTEGRATOR_ADAMS || k == SKEL_INTEGRATOR_BDF)
            continue; /* not of fixed steps */
        desc.integrator = k;
        if (status == SKEL_OK) status = skel_step(state, &desc, NULL);
    }
    if (status == SKEL_OK) {
        skel_state_get_poses(state, x);
        output_add(out, x, (size_t)skel_model_body_count(skel_scene_model(scene)) * 7 * sizeof *x);
    }
    skel_state_destroy(state);
    skel_scene_destroy(scene);
    return status;
}

static skel_status ik_motion(const fault_case *c, fault_output *out) {
    skel_scene *scene = NULL;
    skel_ik_motion *motion = NULL;
    skel_ik_motion_desc desc = {.struct_size = sizeof desc};
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK) status = skel_scene_get_ik_desc(scene, &desc);
    if (status == SKEL_OK) status = skel_ik_motion_start(&desc, &motion, NULL);
    for (int32_t k = 0; k < SAMPLES && (status == SKEL_OK || status == SKEL_MORE); ++k)
        status = skel_ik_motion_advance(motion, 0);
    if (status == SKEL_MORE) status = SKEL_OK;
    if (status == SKEL_OK) {
        const size_t nq = (size_t)skel_model_q_count(skel_scene_model(scene));
        output_add(out, skel_ik_motion_q(motion), SAMPLES * nq * sizeof(double));
    }
    skel_ik_motion_destroy(motion);
    skel_scene_destroy(scene);
    return status;
}

static skel_status ik_pose(const fault_case *c, fault_output *out) {
    static double q[FAULTS_BODIES_MAX * 4];
    skel_scene *scene = NULL;
    skel_ik *ik = NULL;
    skel_goal_desc goal;
    skel_ik_desc desc;
    skel_goal_desc_init(&goal);
    skel_ik_desc_init(&desc);
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK) {
        goal.body = skel_model_body_count(skel_scene_model(scene)) - 1;
        goal.position[0] = 0.3;
        desc.model = skel_scene_model(scene);
        desc.goals = &goal;
        desc.goal_count = 1;
        desc.goal_stride = sizeof goal;
        status = skel_ik_create(&desc, &ik, NULL);
    }
    if (status == SKEL_OK) status = skel_scene_get_middle_q(scene, q);
    if (status == SKEL_OK) status = skel_ik_solve(ik, q, NULL, NULL);
    if (status == SKEL_OK)
        output_add(out, q, (size_t)skel_model_q_count(skel_scene_model(scene)) * sizeof *q);
    skel_ik_destroy(ik);
    skel_scene_destroy(scene);
    return status;
}

/* A track is parsed for its scene, the forces of its motion are found, and a flight between two of
   its frames. */
static skel_status track(const fault_case *c, fault_output *out) {
    const document *d = document_of("track");
    skel_scene *scene = NULL;
    skel_track *poses = NULL;
    skel_inverse *inverse = NULL;
    skel_flight *flight = NULL;
    skel_inverse_desc id;
    skel_flight_desc fd;
    skel_inverse_desc_init(&id);
    skel_flight_desc_init(&fd);
    skel_status status = parse(c->document, &scene);
    if (status == SKEL_OK)
        status = skel_track_parse(d->text, d->length, skel_scene_model(scene), &poses, NULL);
    if (status == SKEL_OK) {
        id.model = fd.model = skel_scene_model(scene);
        id.poses = fd.take_off = skel_track_poses(poses);
        id.sample_count = (uint32_t)skel_track_frame_count(poses);
        id.sample_rate = skel_track_fps(poses);
        fd.landing = skel_track_poses(poses) +
                     7 * (id.sample_count - 1) * (size_t)skel_model_body_count(id.model);
        fd.duration = 0.5;
        status = skel_inverse_create(&id, &inverse, NULL);
    }
    if (status == SKEL_OK) {
        const size_t nj = (size_t)skel_model_joint_count(id.model);
        output_add(out, skel_inverse_wrench(inverse), id.sample_count * nj * 6 * sizeof(double));
        output_add(out, skel_inverse_residual(inverse), id.sample_count * 6 * sizeof(double));
        status = skel_flight_solve(&fd, &flight, NULL);
    }
    if (status == SKEL_OK)
        output_add(out, skel_flight_poses(flight),
                   (size_t)skel_flight_sample_count(flight) * 7 * sizeof(double));
    skel_flight_destroy(flight);
    skel_inverse_destroy(inverse);
    skel_track_destroy(poses);
    skel_scene_destroy(scene);
    return status;
}

/* ---- tables, planar chains and channels without a document ----------------------------------- */

static skel_status tables(const fault_case *c, fault_output *out) {
    static const double points[9] = {0, 0, 0, 1, 0, 0, 1, 1, 0};
    static const double lines[9] = {0, 0, 1, 0, 1, 0, 1, 0, 0};
    static const double lengths[3] = {1, 2, 3};
    skel_dh *dh = NULL, *other = NULL, *again = NULL;
    skel_model *model = NULL;
    skel_dh_axes_desc axes;
    skel_dh_chain_desc chain;
    skel_dh_axes_desc_init(&axes);
    skel_dh_chain_desc_init(&chain);
    axes.count = 3;
    axes.points = points;
    axes.directions = lines;
    chain.root = SKEL_WORLD;
    chain.tip = 2;
    (void)c;
    skel_status status = skel_dh_from_axes(&axes, &dh, NULL);
    if (status == SKEL_OK) status = skel_dh_convert(dh, SKEL_DH_MODIFIED, &other, NULL);
    if (status == SKEL_OK) status = skel_model_create_planar(points, lengths, 3, &model, NULL);
    if (status == SKEL_OK) status = skel_dh_extract(model, &chain, &again, NULL);
    if (status == SKEL_OK) {
        double frames[4 * 7];
        double q[3] = {0.1, 0.2, 0.3};
        skel_dh_frames(other, q, frames);
        output_add(out, frames, sizeof frames);
        skel_dh_frames(again, q, frames);
        output_add(out, frames, sizeof frames);
    }
    skel_dh_destroy(dh);
    skel_dh_destroy(other);
    skel_dh_destroy(again);
    skel_model_destroy(model);
    return status;
}

/* The keys of the first location, as few as possible. */
static skel_status reduced_location(const float *keys, fault_output *out) {
    static float reduced[SKEL_KEY_NUMBERS * SAMPLES * 3];
    uint32_t counts[3];
    skel_keys_desc desc;
    skel_keys_desc_init(&desc);
    desc.channel_count = 3;
    desc.key_count = SAMPLES;
    desc.keys = keys;
    desc.tolerance = 1e-3;
    const skel_status status =
        skel_keys_reduce(&desc, reduced, sizeof reduced / sizeof *reduced, counts, NULL);
    if (status == SKEL_OK) output_add(out, reduced, SKEL_KEY_NUMBERS * counts[0] * sizeof *reduced);
    return status;
}

static skel_status channels(const fault_case *c, fault_output *out) {
    static const float unit[16] = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
    static double poses[SAMPLES * 3 * 7], back[SAMPLES * 3 * 7];
    static float keys[2 * SAMPLES * 3 * 7], matrices[SAMPLES * 3 * 16];
    skel_bone_desc bones[3];
    skel_rig_desc rig;
    size_t needed = 0;
    (void)c;
    for (int32_t i = 0; i < SAMPLES * 3; ++i) {
        poses[7 * i] = 0.1 * i;
        poses[7 * i + 3] = 1;
        memcpy(matrices + 16 * i, unit, sizeof unit);
    }
    for (int32_t i = 0; i < 3; ++i) {
        skel_bone_desc_init(&bones[i]);
        bones[i].parent = i - 1;
        bones[i].body = i;
        bones[i].rotation = i;
        bones[i].channels = SKEL_CHANNEL_LOCATION | SKEL_CHANNEL_ROTATION;
        for (int k = 0; k < 16; ++k) bones[i].rest[k] = unit[k];
        bones[i].offset[3] = 1;
    }
    skel_rig_desc_init(&rig);
    rig.bones = bones;
    rig.bone_count = 3;
    rig.bone_stride = sizeof *bones;
    rig.body_count = 3;
    rig.sample_count = SAMPLES;
    rig.object_count = 1;
    rig.object = unit;
    rig.poses = poses;
    skel_status status = skel_bake_channels(&rig, keys, sizeof keys / sizeof *keys, &needed, NULL);
    if (status == SKEL_OK) output_add(out, keys, needed * sizeof *keys);
    if (status == SKEL_OK) status = reduced_location(keys, out);
    rig.matrices = matrices;
    rig.matrix_count = SAMPLES;
    if (status == SKEL_OK) status = skel_rig_poses(&rig, back, NULL);
    if (status == SKEL_OK) output_add(out, back, sizeof back);
    if (status == SKEL_OK) status = skel_rig_joints(&rig, back, NULL);
    if (status == SKEL_OK) output_add(out, back, sizeof back);
    return status;
}

/* A tetrahedron that follows two bones. */
static skel_status skin(const fault_case *c, fault_output *out) {
    static const double vertices[12] = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    static const int32_t triangles[12] = {0, 2, 1, 0, 1, 3, 0, 3, 2, 1, 2, 3};
    static const int32_t offsets[5] = {0, 2, 3, 4, 5}, bones[5] = {0, 1, 0, 0, 1};
    static const double weights[5] = {1, 2, 1, 1, 1};
    skel_fit_desc d;
    skel_fit *fit = NULL;
    skel_fit_shape_desc wanted;
    skel_fit_shape shape;
    double volumes[2], centres[6];
    (void)c;
    skel_fit_desc_init(&d);
    d.vertex_count = 4;
    d.triangle_count = 4;
    d.bone_count = 2;
    d.vertices = vertices;
    d.triangles = triangles;
    d.offsets = offsets;
    d.bones = bones;
    d.weights = weights;
    skel_fit_shape_desc_init(&wanted);
    memset(&shape, 0, sizeof shape);
    shape.struct_size = sizeof shape;

    skel_status status = skel_fit_create(&d, &fit, NULL);
    if (status == SKEL_OK) status = skel_fit_set_bodies(fit, bones, 2, NULL);
    if (status == SKEL_OK) status = skel_fit_solve_shape(fit, &wanted, &shape, NULL);
    if (status == SKEL_OK) output_add(out, &shape, sizeof shape);
    if (status == SKEL_OK) status = skel_fit_get_volumes(fit, volumes, centres, NULL);
    if (status == SKEL_OK) output_add(out, volumes, sizeof volumes);
    skel_fit_destroy(fit);
    return status;
}

/* ---- the list -------------------------------------------------------------------------------- */

const fault_case fault_cases[] = {
    {"parse scene", parse_and_write, "pendulum", 0},
    {"parse jumper", parse_and_write, "jumper", 0},
    {"parse stairs", parse_and_write, "stairs", 0},
    {"parse curves", parse_and_write, "driven", 0},
    {"parse goals", parse_and_write, "goals", 0},
    {"parse table", parse_and_write, "robot", 0},
    {"parse CSV", parse_and_write, "csv", 0},
    {"parse URDF", parse_and_write, "urdf", 0},
    {"create from values", create_from_values, "pendulum", 0},
    {"check scene", check, "tree", 0},
    {"check table", check, "robot", 0},
    {"check CSV", check, "csv", 0},
    {"check URDF", check, "urdf", 0},
    {"check broken scene", check, "broken", SKEL_E_DOCUMENT},
    {"write URDF of scene", write_urdf, "tree", 0},
    {"write URDF of URDF", write_urdf, "urdf", 0},
    {"write URDF of table", write_urdf, "robot", 0},
    {"write table", write_table, "stanford", 0},
    {"write CSV", write_table, "robot", 3},
    {"rewrite table", rewrite_table, "robot", SKEL_DH_STANDARD},
    {"rewrite table, modified", rewrite_table, "robot", SKEL_DH_MODIFIED},
    {"rewrite table as CSV", rewrite_table, "stanford", 2},
    {"rewrite CSV", rewrite_table, "csv", SKEL_DH_MODIFIED},
    {"write edited", write_edited, "jumper", 0},
    {"bake euler", bake, "pendulum", SKEL_INTEGRATOR_EULER},
    {"bake rk4", bake, "tree", SKEL_INTEGRATOR_RK4},
    {"bake conserving", bake, "stairs", SKEL_INTEGRATOR_CONSERVING},
    {"bake conserving loop", bake, "loop", SKEL_INTEGRATOR_CONSERVING},
    {"bake conserving driven", bake, "driven", SKEL_INTEGRATOR_CONSERVING},
    {"step tree", step, "tree", SKEL_SOLVER_TREE},
    {"step pinv", step, "pendulum", SKEL_SOLVER_PINV},
    {"step kkt", step, "tree", SKEL_SOLVER_KKT},
    {"IK motion", ik_motion, "goals", 0},
    {"IK pose", ik_pose, "robot", 0},
    {"track, inverse, flight", track, "rod", 0},
    {"tables", tables, NULL, 0},
    {"channels", channels, NULL, 0},
    {"skin", skin, NULL, 0},
    {"bake auto", bake, "pendulum", SKEL_INTEGRATOR_AUTO},
    {"bake adams", bake, "tree", SKEL_INTEGRATOR_ADAMS},
    {"bake adams driven", bake, "driven", SKEL_INTEGRATOR_ADAMS},
    {"bake bdf", bake, "pendulum", SKEL_INTEGRATOR_BDF},
    {"bake bdf of many", bake, "stairs", SKEL_INTEGRATOR_BDF},
};
const int32_t fault_case_count = (int32_t)(sizeof fault_cases / sizeof *fault_cases);

/* ---- preparation ----------------------------------------------------------------------------- */

/* A free fall of the rod, frame by frame. */
static void make_track(void) {
    static char text[4096];
    skel_scene *scene = NULL;
    size_t length = 0;
    if (parse("rod", &scene) != SKEL_OK) abort();
    length += (size_t)snprintf(text, sizeof text,
                               "{\"format\": \"skel-track/1\", \"fps\": 24, \"frame_start\": 1, "
                               "\"bodies\": [\"%s\"], \"position\": [",
                               skel_model_body_name(skel_scene_model(scene), 0));
    for (int k = 0; k < 12; ++k)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s[[0, 0, %g]]",
                                   k ? ", " : "", 1 - 4.9 * k * k / 576.0);
    length += (size_t)snprintf(text + length, sizeof text - length, "], \"orientation\": [");
    for (int k = 0; k < 12; ++k)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s[[1, 0, 0, 0]]",
                                   k ? ", " : "");
    length += (size_t)snprintf(text + length, sizeof text - length, "]}");
    keep("track", text, length);
    skel_scene_destroy(scene);
}

/* Unknown fields, wrong words and numbers: many messages. */
static void make_broken(void) {
    static char text[TEXT_MAX];
    static const char *const k_changes[][2] = {
        {"\"mass\"", "\"masz\""}, {"capsule", "capzule"}, {"\"ball\"", "\"bill\""}, {"0.5", "1e9"}};
    const document *tree = document_of("tree");
    memcpy(text, tree->text, tree->length + 1);
    for (size_t k = 0; k < sizeof k_changes / sizeof *k_changes; ++k)
        for (char *at = strstr(text, k_changes[k][0]); at; at = strstr(at + 1, k_changes[k][0]))
            memcpy(at, k_changes[k][1], strlen(k_changes[k][1]));
    keep("broken", text, tree->length);
}

void faults_prepare(void) {
    for (size_t i = 0; i < DOCUMENTS; ++i)
        if (g_documents[i].path) read_document(&g_documents[i]);
    const document *robot = document_of("robot");
    size_t needed = 0;
    if (skel_dh_rewrite(robot->text, robot->length, SKEL_DH_STANDARD, 1, g_text, sizeof g_text,
                        &needed, NULL) != SKEL_OK)
        abort();
    keep("csv", g_text, needed);
    make_track();
    make_broken();
}

void faults_release(void) {
    for (size_t i = 0; i < DOCUMENTS; ++i) free(g_documents[i].text);
}
