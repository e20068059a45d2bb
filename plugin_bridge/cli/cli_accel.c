/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel accel`: the accelerations of all bodies at the state of a scene. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>

#define CLI_PROJECTION_WARN 1e-9 /* [m], [m/s]: a larger correction is reported */

static void warn_projection(const char *file, double gap, double speed) {
    char text[160];
    if (gap > CLI_PROJECTION_WARN) {
        snprintf(text, sizeof text, "joints had gaps of up to %.3g m, which were closed", gap);
        cli_warn(file, text);
    }
    if (speed > CLI_PROJECTION_WARN) {
        snprintf(text, sizeof text,
                 "velocities violated the joints by up to %.3g m/s, which was corrected", speed);
        cli_warn(file, text);
    }
}

static skel_status accelerate(const char *file, const skel_model *model, int32_t solver, double *a,
                              skel_error *err) {
    const size_t nb = (size_t)skel_model_body_count(model);
    skel_state *state = NULL;
    double gap = 0.0, speed = 0.0;

    /* The equations hold for a state that satisfies the joints, so it is projected first. */
    skel_status status = skel_model_check_dynamics(model, err);
    if (status == SKEL_OK) status = skel_state_create(model, &state, err);
    if (status == SKEL_OK) status = skel_state_project(state, &gap, &speed, err);
    if (status == SKEL_OK) {
        warn_projection(file, gap, speed);
        status = skel_accelerations(state, solver, a, a + 3 * nb, err);
    }
    skel_state_destroy(state);
    return status;
}

static int accel(const char *file, const char *out, int32_t solver, const skel_scene *scene) {
    const skel_model *model = skel_scene_model(scene);
    const int32_t nb = skel_model_body_count(model);
    double *a = calloc(6 * (size_t)nb + 1, sizeof *a);
    text_buffer t = {0};
    skel_error err;
    skel_error_init(&err);
    if (!a) return cli_error(CLI_FAILED, file, "out of memory");

    const skel_status status = accelerate(file, model, solver, a, &err);
    int code = cli_exit_code(status);
    if (status < 0) {
        cli_error(code, file, "%s", err.text);
    } else {
        text_add(&t, "{");
        cli_put_rows(&t, "linear", a, nb, 3, 3);
        text_add(&t, ",\n ");
        cli_put_rows(&t, "angular", a + 3 * (size_t)nb, nb, 3, 3);
        text_add(&t, "}\n");
        code = cli_write(out, &t);
    }

    text_free(&t);
    free(a);
    return code;
}

int cli_accel(int argc, char **argv) {
    const char *file = NULL, *out = NULL, *solver = NULL;
    const cli_option options[] = {
        {"-o", &out, NULL}, {"--solver", &solver, NULL}, {NULL, NULL, NULL}};
    skel_scene *scene = NULL;
    int32_t which = SKEL_SOLVER_TREE;

    int code = cli_read_options(argc, argv, options, "skel accel SCENE", &file, 1);
    if (code == CLI_DONE) code = cli_read_choice("--solver", solver, skel_solver_name, &which);
    if (code == CLI_DONE) code = cli_protect_input(file, out);
    if (code == CLI_DONE) code = cli_read_scene(file, &scene);
    if (code == CLI_DONE) cli_warn_scene(file, scene);
    if (code == CLI_DONE) code = accel(file, out, which, scene);

    skel_scene_destroy(scene);
    return code;
}
