/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel fk`: forward kinematics, the poses of all bodies and named frames at joint coordinates. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLI_UNIT_TOL 1e-3 /* allowed error of the length of a quaternion of --q */

#define CLI_JOINTS_LISTED 20 /* in a message */

static skel_joint_kind kind_of(const skel_model *model, int32_t joint) {
    skel_joint_desc j;
    skel_joint_kind kind = {.struct_size = sizeof kind};
    skel_joint_desc_init(&j);
    skel_model_get_joint(model, joint, &j);
    skel_joint_kind_get(j.type, &kind);
    return kind;
}

/* Prints "--q: has 2 numbers, must have 5: top 1, elbow 4". */
static int wrong_count(const skel_model *model, int32_t count) {
    const int32_t nj = skel_model_joint_count(model);
    text_buffer t = {0};
    int32_t listed = 0;

    for (int32_t j = 0; j < nj && listed < CLI_JOINTS_LISTED; ++j) {
        const int32_t q_count = kind_of(model, j).q_count;
        if (q_count == 0) continue;
        text_addf(&t, "%s%s %d", listed ? ", " : ": ", skel_model_joint_name(model, j),
                  (int)q_count);
        ++listed;
        if (listed == CLI_JOINTS_LISTED) text_add(&t, ", ...");
    }

    cli_error(CLI_WRONG, NULL, "--q: has %d numbers, must have %d%s", (int)count,
              (int)skel_model_q_count(model), text_get(&t));
    text_free(&t);
    return CLI_WRONG;
}

static int32_t count_numbers(const char *text) {
    int32_t n = text[0] ? 1 : 0;
    for (const char *c = text; *c; ++c) n += *c == ',';
    return n;
}

static int check_quaternions(const skel_model *model, const double *q) {
    for (int32_t j = 0; j < skel_model_joint_count(model); ++j) {
        if (kind_of(model, j).q_kind[0] != SKEL_COORDINATE_QUATERNION) continue;

        const double *u = q + skel_model_joint_q_offset(model, j);
        const double n = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] + u[3] * u[3]);
        if (!(fabs(n - 1.0) <= CLI_UNIT_TOL))
            return cli_error(CLI_WRONG, NULL,
                             "--q: the quaternion of joint '%s' has length %g, must be 1",
                             skel_model_joint_name(model, j), n);
    }
    return CLI_DONE;
}

/* The poses that the document gives. */
static skel_status given_poses(const skel_model *model, double *poses) {
    skel_state *state = NULL;
    skel_status status = skel_state_create(model, &state, NULL);
    if (status == SKEL_OK) status = skel_state_get_poses(state, poses);
    skel_state_destroy(state);
    return status;
}

/* --q without the coordinates of mimic joints, which follow from their source joints. */
static int read_without_mimics(const skel_scene *scene, const char *text, double *q) {
    const skel_model *model = skel_scene_model(scene);
    const int32_t n = skel_model_q_count(model);
    double *given = calloc((size_t)n + 1, sizeof *given);
    int32_t used = 0;
    if (!given) return cli_error(CLI_FAILED, NULL, "out of memory");

    const int code = cli_read_numbers("--q", text, count_numbers(text), given);
    for (int32_t k = 0; k < skel_model_joint_count(model); ++k) {
        const int32_t first = skel_model_joint_q_offset(model, k);
        if (skel_model_mimic_source(model, k, NULL, NULL) >= 0) continue;
        for (int32_t i = 0; i < kind_of(model, k).q_count; ++i) q[first + i] = given[used++];
    }
    free(given);

    skel_model_apply_mimic(model, q);
    return code;
}

static int named_pose(const skel_scene *scene, const char *name, double *q) {
    const skel_model *model = skel_scene_model(scene);
    char list[256] = "";
    size_t used = 0;

    for (int32_t k = 0; k < skel_scene_pose_count(scene); ++k) {
        const char *known = skel_scene_pose_name(scene, k);
        if (strcmp(known, name) == 0) {
            memcpy(q, skel_scene_pose_q(scene, k), (size_t)skel_model_q_count(model) * sizeof *q);
            return CLI_DONE;
        }
        const int n = snprintf(list + used, sizeof list - used, "%s%s", k ? ", " : "", known);
        if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
    }
    return cli_error(CLI_WRONG, NULL, "--pose: is '%s', must be one of: %s", name,
                     list[0] ? list : "(the document has none)");
}

/* Joint coordinates from --q or --pose, one of which is given. */
static int read_coordinates(const skel_scene *scene, const char *text, const char *pose,
                            double *q) {
    const skel_model *model = skel_scene_model(scene);
    if (pose) return named_pose(scene, pose, q);

    const int32_t count = count_numbers(text), all = skel_model_q_count(model);
    int code;
    if (count == all - skel_model_mimic_count(model) && count != all)
        code = read_without_mimics(scene, text, q);
    else if (count != all)
        return wrong_count(model, count);
    else
        code = cli_read_numbers("--q", text, count, q);
    return code == CLI_DONE ? check_quaternions(model, q) : code;
}

static int poses_at(const char *file, const skel_scene *scene, const char *text, const char *pose,
                    double *q, double *poses) {
    const skel_model *model = skel_scene_model(scene);
    skel_status status;
    if (!text && !pose) {
        status = given_poses(model, poses);
    } else {
        const int code = read_coordinates(scene, text, pose, q);
        if (code != CLI_DONE) return code;
        status = skel_fk(model, q, poses);
        if (status == SKEL_E_ARGUMENT)
            return cli_error(cli_exit_code(status), file,
                             "the poses at these coordinates overflow; the coordinates must be "
                             "smaller");
    }
    return status < 0 ? cli_error(cli_exit_code(status), file, "%s", skel_status_text(status))
                      : CLI_DONE;
}

/* The pose of the named frame k of the scene, from the poses of the bodies. */
static void frame_pose(const skel_scene *scene, int32_t k, const double *poses, double out[7]) {
    static const double identity[7] = {0, 0, 0, 1};
    int32_t body = SKEL_WORLD;
    double x[7];
    skel_scene_get_frame(scene, k, &body, x);
    const double *b = body >= 0 ? poses + 7 * (size_t)body : identity;
    const double *u = b + 4, w = b[3];

    /* p + v + 2 w (u x v) + 2 u x (u x v), and the product of the two quaternions. */
    for (int i = 0; i < 3; ++i) {
        const int j = (i + 1) % 3, l = (i + 2) % 3;
        const double cj = u[l] * x[i] - u[i] * x[l], cl = u[i] * x[j] - u[j] * x[i];
        const double ci = u[j] * x[l] - u[l] * x[j];
        out[i] = b[i] + x[i] + 2.0 * (w * ci + u[j] * cl - u[l] * cj);
        out[4 + i] = w * x[4 + i] + u[i] * x[3] + u[j] * x[4 + l] - u[l] * x[4 + j];
    }
    out[3] = w * x[3] - u[0] * x[4] - u[1] * x[5] - u[2] * x[6];
}

static int put_frames(text_buffer *t, const skel_scene *scene, const double *poses) {
    const int32_t n = skel_scene_frame_count(scene), tool = skel_scene_tool(scene);
    double *x = calloc(7 * (size_t)n + 1, sizeof *x);
    if (!x) return CLI_FAILED;
    for (int32_t k = 0; k < n; ++k) frame_pose(scene, k, poses, x + 7 * (size_t)k);

    if (tool >= 0) {
        text_add(t, ",\n \"tool\": {\"position\": ");
        text_numbers(t, x + 7 * (size_t)tool, 3);
        text_add(t, ", \"orientation\": ");
        text_numbers(t, x + 7 * (size_t)tool + 3, 4);
        text_add(t, "}");
    }

    if (n > 0) {
        text_add(t, ",\n \"frames\": {\"names\": [");
        for (int32_t k = 0; k < n; ++k) {
            if (k) text_add(t, ", ");
            text_string(t, skel_scene_frame_name(scene, k));
        }

        text_add(t, "],\n  ");
        cli_put_rows(t, "position", x, n, 7, 3);
        text_add(t, ",\n  ");
        cli_put_rows(t, "orientation", x + 3, n, 7, 4);
        text_add(t, "}");
    }
    free(x);
    return CLI_DONE;
}

static int fk(const char *file, const char *out, const char *text, const char *pose,
              const skel_scene *scene) {
    const skel_model *model = skel_scene_model(scene);
    const int32_t nb = skel_model_body_count(model);
    double *poses = calloc(7 * (size_t)nb + 1, sizeof *poses);
    double *q = calloc((size_t)skel_model_q_count(model) + 1, sizeof *q);
    text_buffer t = {0};
    int code = poses && q ? poses_at(file, scene, text, pose, q, poses)
                          : cli_error(CLI_FAILED, file, "out of memory");

    if (code == CLI_DONE) {
        text_add(&t, "{\"format\": \"skel-pose/1\",\n \"names\": [");
        for (int32_t i = 0; i < nb; ++i) {
            if (i) text_add(&t, ", ");
            text_string(&t, skel_model_body_name(model, i));
        }

        text_add(&t, "],\n ");
        cli_put_rows(&t, "position", poses, nb, 7, 3);
        text_add(&t, ",\n ");
        cli_put_rows(&t, "orientation", poses + 3, nb, 7, 4);
        if (put_frames(&t, scene, poses) != CLI_DONE) t.failed = 1;
        text_add(&t, "}\n");
        code = cli_write(out, &t);
    }

    text_free(&t);
    free(q);
    free(poses);
    return code;
}

int cli_fk(int argc, char **argv) {
    const char *file = NULL, *out = NULL, *q = NULL, *pose = NULL;
    const cli_option options[] = {
        {"-o", &out, NULL}, {"--q", &q, NULL}, {"--pose", &pose, NULL}, {NULL, NULL, NULL}};
    skel_scene *scene = NULL;
    int code = cli_read_options(argc, argv, options, "skel fk SCENE", &file, 1);
    if (code == CLI_DONE && q && pose)
        code = cli_error(CLI_WRONG, NULL, "--q and --pose: must not both be given");
    if (code == CLI_DONE) code = cli_protect_input(file, out);
    if (code == CLI_DONE) code = cli_read_scene(file, &scene);
    if (code == CLI_DONE) code = fk(file, out, q, pose, scene);
    skel_scene_destroy(scene);
    return code;
}
