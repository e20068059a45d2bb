/* SPDX-License-Identifier: BSD-3-Clause */
/* What holds for every text that skel_scene_parse is given. */
#include "fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BAKE_SAMPLES_MAX 3
#define FUZZ_STEPS_MAX 20
#define IK_SAMPLES_MAX 3
#define FUZZ_SCENE_BODIES_MAX 40 /* beyond this many a step is too slow to be worth its inputs */

void fuzz_fail(const char *file, int line, const char *promise, const char *detail) {
    fprintf(stderr, "%s:%d: broken promise: %s (%s)\n", file, line, promise, detail);
    abort();
}

bool fuzz_finite(const double *x, size_t count) {
    for (size_t i = 0; i < count; ++i)
        if (!isfinite(x[i])) return false;
    return true;
}

/* ---- parse, check, write --------------------------------------------------------------------- */

static bool one_line(const char *text) {
    for (const char *c = text; *c; ++c)
        if ((unsigned char)*c < 0x20) return false;
    return text[0] != 0;
}

/* skel_scene_check says the same as skel_scene_parse, in a buffer of any size. */
static void require_check(const char *text, size_t length, skel_status parsed,
                          const skel_error *err) {
    char lines[4096], few[8];
    size_t needed = 0, again = 0;
    const skel_status checked = skel_scene_check(text, length, lines, sizeof lines, &needed);
    FUZZ_REQUIRE(checked == parsed, lines);
    FUZZ_REQUIRE((strstr(lines, "error: ") == lines || strstr(lines, "\nerror: ") != NULL) ==
                         (parsed != SKEL_OK) ||
                     needed >= sizeof lines,
                 lines);
    FUZZ_REQUIRE(parsed == SKEL_OK || strstr(lines, err->text) || needed >= sizeof lines, lines);

    FUZZ_REQUIRE(skel_scene_check(text, length, few, sizeof few, &again) == checked, lines);
    FUZZ_REQUIRE(again == needed && strncmp(few, lines, sizeof few - 1) == 0, lines);
}

static char *written(const skel_scene *scene) {
    size_t needed = 0, again = 0;
    const skel_status asked = skel_scene_write(scene, NULL, 0, &needed);
    FUZZ_REQUIRE(asked == SKEL_E_BUFFER, skel_status_text(asked));
    char *text = malloc(needed + 1);
    FUZZ_REQUIRE(skel_scene_write(scene, text, needed + 1, &again) == SKEL_OK, "write");
    FUZZ_REQUIRE(again == needed && strlen(text) == needed, "the length that was promised");
    return text;
}

static skel_scene *parse_again(const char *text, size_t length) {
    skel_error err;
    skel_scene *scene = NULL;
    skel_error_init(&err);
    const skel_status status = skel_scene_parse(text, length, &scene, &err);
    if (status != SKEL_OK) fprintf(stderr, "%s\n", text);
    FUZZ_REQUIRE(status == SKEL_OK, err.text);
    return scene;
}

skel_scene *fuzz_parse(const char *text, size_t length) {
    skel_error err;
    skel_scene *scene = NULL;
    skel_error_init(&err);
    const skel_status status = skel_scene_parse(text, length, &scene, &err);
    FUZZ_REQUIRE(status <= 0 && (scene != NULL) == (status == SKEL_OK), err.text);
    require_check(text, length, status, &err);
    if (status != SKEL_OK) {
        FUZZ_REQUIRE(err.status == status && one_line(err.text), err.text);
        return NULL;
    }

    /* Written, parsed and written again: the same text, hence the same numbers to the bit. */
    char *first = written(scene);
    skel_scene *copy = parse_again(first, strlen(first));
    char *second = written(copy);
    FUZZ_REQUIRE(strcmp(first, second) == 0, second);
    free(first);
    free(second);
    skel_scene_destroy(copy);
    return scene;
}

/* ---- other texts ----------------------------------------------------------------------------- */

typedef skel_status (*writer)(const skel_scene *scene, int32_t option, char *text, size_t capacity,
                              size_t *needed, skel_error *err);

static skel_status write_urdf(const skel_scene *scene, int32_t option, char *text, size_t capacity,
                              size_t *needed, skel_error *err) {
    (void)option;
    return skel_scene_write_urdf(scene, text, capacity, needed, err);
}

/* option: bit 0 is the convention, bit 1 is CSV. */
static skel_status write_table(const skel_scene *scene, int32_t option, char *text, size_t capacity,
                               size_t *needed, skel_error *err) {
    skel_scene_dh_desc desc;
    skel_scene_dh_desc_init(&desc);
    desc.convention = option & 1;
    desc.is_csv = option >> 1;
    return skel_scene_write_dh(scene, &desc, text, capacity, needed, err);
}

/* A start at the scene's own poses, and other frames. */
static skel_status write_edited(const skel_scene *scene, int32_t option, char *text,
                                size_t capacity, size_t *needed, skel_error *err) {
    skel_scene_edit edit;
    (void)option;
    (void)err;
    skel_scene_edit_init(&edit);
    edit.has_bake = 1;
    edit.frame_start = 3;
    edit.frame_end = 5;
    edit.fps = 25;
    return skel_scene_write_edited(scene, &edit, text, capacity, needed);
}

/* Either refused with a reason, or a text that parses. */
static void require_writer(const skel_scene *scene, writer write, int32_t option) {
    skel_error err;
    size_t needed = 0;
    skel_error_init(&err);
    const skel_status status = write(scene, option, NULL, 0, &needed, &err);
    FUZZ_REQUIRE(status < 0, "a buffer of no bytes is too small");
    if (status != SKEL_E_BUFFER) return;

    char *text = malloc(needed + 1);
    FUZZ_REQUIRE(write(scene, option, text, needed + 1, NULL, &err) == SKEL_OK, err.text);
    FUZZ_REQUIRE(strlen(text) == needed, "the length that was promised");
    skel_scene_destroy(parse_again(text, needed));
    free(text);
}

void fuzz_write_all(const skel_scene *scene) {
    require_writer(scene, write_edited, 0);
    require_writer(scene, write_urdf, 0);
    for (int32_t option = 0; option < 4; ++option) require_writer(scene, write_table, option);
}

void fuzz_rewrite_table(const char *text, size_t length) {
    for (int32_t option = 0; option < 4; ++option) {
        skel_error err;
        size_t needed = 0;
        skel_error_init(&err);
        const skel_status status =
            skel_dh_rewrite(text, length, option & 1, option >> 1, NULL, 0, &needed, &err);
        FUZZ_REQUIRE(status < 0, "a buffer of no bytes is too small");
        if (status != SKEL_E_BUFFER) continue;

        char *table = malloc(needed + 1);
        FUZZ_REQUIRE(skel_dh_rewrite(text, length, option & 1, option >> 1, table, needed + 1, NULL,
                                     &err) == SKEL_OK,
                     err.text);
        FUZZ_REQUIRE(strlen(table) == needed, "the length that was promised");
        skel_scene_destroy(parse_again(table, needed));
        free(table);
    }
}

/* ---- use ------------------------------------------------------------------------------------- */

/* At most so many steps, so that no input takes long. */
static void bake_a_little(const skel_scene *scene, size_t nb) {
    skel_bake_desc desc = {.struct_size = sizeof desc};
    skel_bake *bake = NULL;
    FUZZ_REQUIRE(skel_scene_get_bake_desc(scene, &desc) == SKEL_OK, "bake desc");
    if (desc.sample_count > BAKE_SAMPLES_MAX) desc.sample_count = BAKE_SAMPLES_MAX;
    if (skel_bake_start(&desc, &bake, NULL) != SKEL_OK) return;

    skel_status status = SKEL_MORE;
    for (int32_t k = 0; k < FUZZ_STEPS_MAX && status == SKEL_MORE; ++k)
        status = skel_bake_advance(bake, 0);
    const int32_t done = skel_bake_samples_done(bake);
    FUZZ_REQUIRE(done >= 0 && done <= (int32_t)desc.sample_count, "samples");
    FUZZ_REQUIRE(fuzz_finite(skel_bake_poses(bake), (size_t)done * nb * 7), "poses of a bake");
    skel_bake_destroy(bake);
}

static void solve_a_little(const skel_scene *scene, size_t nb) {
    skel_ik_motion_desc desc = {.struct_size = sizeof desc};
    skel_ik_motion *motion = NULL;
    if (skel_scene_get_ik_desc(scene, &desc) != SKEL_OK || desc.sample_count > 1000) return;
    skel_ik_desc ik = *desc.ik;
    ik.max_restarts = 1;
    desc.ik = &ik;
    if (skel_ik_motion_start(&desc, &motion, NULL) != SKEL_OK) return;

    skel_status status = SKEL_MORE;
    for (int32_t k = 0; k < IK_SAMPLES_MAX && status == SKEL_MORE; ++k)
        status = skel_ik_motion_advance(motion, 0);
    const size_t done = (size_t)skel_ik_motion_samples_done(motion);
    FUZZ_REQUIRE(fuzz_finite(skel_ik_motion_poses(motion), done * nb * 7), "poses of IK");
    skel_ik_motion_destroy(motion);
}

/* Joint coordinates and their velocities there and back, and the Jacobian of the last body: what is
   not refused is finite. */
static void move_a_little(const skel_model *model, skel_state *state) {
    const size_t nb = (size_t)skel_model_body_count(model);
    const size_t nq = (size_t)skel_model_q_count(model), nv = (size_t)skel_model_dof(model);
    const double point[3] = {1, 2, 3};
    double *q = calloc(nq + 1, sizeof *q), *qd = calloc(nv + 1, sizeof *qd);
    double *poses = calloc(13 * nb, sizeof *poses), *jacobian = calloc(6 * nv + 1, sizeof *q);
    const int32_t last = (int32_t)nb - 1;
    skel_state_get_q(state, q);
    skel_state_get_qd(state, qd);

    if (skel_fk(model, q, poses) == SKEL_OK) {
        FUZZ_REQUIRE(fuzz_finite(poses, 7 * nb), "poses of fk");
        if (nb > 0 && skel_jacobian(model, poses, last, point, jacobian) == SKEL_OK)
            FUZZ_REQUIRE(fuzz_finite(jacobian, 6 * nv), "jacobian");
    }
    if (skel_state_set_q(state, q) == SKEL_OK && skel_state_set_qd(state, qd) == SKEL_OK) {
        skel_state_get_poses(state, poses);
        skel_state_get_velocities(state, poses + 7 * nb);
        FUZZ_REQUIRE(fuzz_finite(poses, 13 * nb), "a state that was set");
    }
    free(q);
    free(qd);
    free(poses);
    free(jacobian);
}

/* Accelerations of all solvers, and the forces that go with them. */
static void accelerate_a_little(const skel_model *model, skel_state *state) {
    const size_t nb = (size_t)skel_model_body_count(model);
    const size_t nj = (size_t)skel_model_joint_count(model), nv = (size_t)skel_model_dof(model);
    double *linear = calloc(6 * nb, sizeof *linear);
    double *torque = calloc(nv + 6 * (nj + nb) + 1, sizeof *torque);
    for (int32_t solver = 0; solver <= SKEL_SOLVER_KKT; ++solver) {
        double *angular = linear + 3 * nb, *wrench = torque + nv, *residual = wrench + 6 * nj;
        if (skel_accelerations(state, solver, linear, angular, NULL) != SKEL_OK) continue;
        FUZZ_REQUIRE(fuzz_finite(linear, 6 * nb), "accelerations");
        if (skel_inverse_dynamics(state, linear, angular, torque, wrench, residual, NULL) ==
            SKEL_OK)
            FUZZ_REQUIRE(fuzz_finite(torque, nv + 6 * (nj + nb)), "inverse dynamics");
    }
    free(linear);
    free(torque);
}

void fuzz_use_scene(const skel_scene *scene) {
    const skel_model *model = skel_scene_model(scene);
    const size_t nb = (size_t)skel_model_body_count(model);
    skel_state *state = NULL;
    FUZZ_REQUIRE(skel_state_create(model, &state, NULL) == SKEL_OK, "state");
    double *poses = calloc(7 * nb, sizeof *poses);
    FUZZ_REQUIRE(skel_state_get_poses(state, poses) == SKEL_OK, "poses");
    FUZZ_REQUIRE(fuzz_finite(poses, 7 * nb), "poses of a model");

    if (nb <= FUZZ_SCENE_BODIES_MAX) {
        accelerate_a_little(model, state);
        move_a_little(model, state);
        bake_a_little(scene, nb);
        solve_a_little(scene, nb);
    }
    free(poses);
    skel_state_destroy(state);
}
