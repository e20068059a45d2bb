/* SPDX-License-Identifier: BSD-3-Clause */
/* The small commands: accel, fk, check, convert. */
#include "cli/cli.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOVED 1e-9      /* a projection that moves more is worth a warning [m], [m/s] */
#define UNIT_SLACK 1e-3 /* how far a quaternion of --q may be from unit length */
#define PROBLEM_ROOM 262144u

/* ---- accel ----------------------------------------------------------------------------------- */

static void put_rows(text_buffer *t, const char *name, const double *rows, int32_t count,
                     int32_t stride, int32_t width) {
    text_addf(t, "\"%s\": [", name);
    for (int32_t i = 0; i < count; ++i) {
        if (i) text_add(t, ", ");
        text_numbers(t, rows + (size_t)i * (size_t)stride, (size_t)width);
    }
    text_add(t, "]");
}

static void warn_projection(const char *file, double gap, double speed) {
    char text[160];
    if (gap > MOVED) {
        snprintf(text, sizeof text, "joints were open by up to %.3g m and have been closed", gap);
        cli_warn(file, text);
    }
    if (speed > MOVED) {
        snprintf(text, sizeof text,
                 "velocities broke the joints by up to %.3g m/s and have been projected", speed);
        cli_warn(file, text);
    }
}

static skel_status accelerate(const char *file, const skel_model *model, int32_t solver, double *a,
                              skel_error *err) {
    const size_t nb = (size_t)skel_model_body_count(model);
    skel_state *state = NULL;
    double gap = 0.0, speed = 0.0;
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
    int code = cli_code(status);
    if (status < 0) {
        cli_error(code, file, "%s", err.text);
    } else {
        text_add(&t, "{");
        put_rows(&t, "linear", a, nb, 3, 3);
        text_add(&t, ",\n ");
        put_rows(&t, "angular", a + 3 * (size_t)nb, nb, 3, 3);
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
    int code = cli_options(argc, argv, options, "skel accel SCENE", &file, 1);
    if (code == CLI_DONE) code = cli_choice("--solver", solver, skel_solver_name, &which);
    if (code == CLI_DONE) code = cli_keep_scene(file, out);
    if (code == CLI_DONE) code = cli_scene(file, &scene);
    if (code == CLI_DONE) cli_warn_dynamics(file, scene);
    if (code == CLI_DONE) code = accel(file, out, which, scene);
    skel_scene_destroy(scene);
    return code;
}

/* ---- fk -------------------------------------------------------------------------------------- */

static int32_t joint_width(const skel_model *model, int32_t j) {
    const int32_t last = skel_model_joint_count(model) - 1;
    const int32_t next =
        j < last ? skel_model_joint_q_offset(model, j + 1) : skel_model_q_count(model);
    return next - skel_model_joint_q_offset(model, j);
}

/* "--q: has 2 numbers, must have 5: top 1, elbow 4". */
static int wrong_count(const skel_model *model, int32_t count) {
    const int32_t nj = skel_model_joint_count(model);
    text_buffer t = {0};
    int32_t put = 0;
    for (int32_t j = 0; j < nj && put < 20; ++j) {
        if (joint_width(model, j) == 0) continue;
        text_addf(&t, "%s%s %d", put++ ? ", " : ": ", skel_model_joint_name(model, j),
                  (int)joint_width(model, j));
        if (put == 20) text_add(&t, ", ...");
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
        if (joint_width(model, j) != 4) continue;
        const double *u = q + skel_model_joint_q_offset(model, j);
        const double n = sqrt(u[0] * u[0] + u[1] * u[1] + u[2] * u[2] + u[3] * u[3]);
        if (!(fabs(n - 1.0) <= UNIT_SLACK))
            return cli_error(CLI_WRONG, NULL,
                             "--q: joint '%s' is a quaternion of length %g, must be 1",
                             skel_model_joint_name(model, j), n);
    }
    return CLI_DONE;
}

static skel_status given_poses(const skel_model *model, double *poses) {
    skel_state *state = NULL;
    skel_status status = skel_state_create(model, &state, NULL);
    if (status == SKEL_OK) status = skel_state_get_poses(state, poses);
    skel_state_destroy(state);
    return status;
}

/* As many numbers as the joints that mimic no other have: those of the others follow. */
static int fill_mimics(const skel_scene *scene, const char *text, double *q) {
    const skel_model *model = skel_scene_model(scene);
    const int32_t n = skel_model_q_count(model);
    double *given = calloc((size_t)n + 1, sizeof *given);
    int32_t taken = 0;
    if (!given) return cli_error(CLI_FAILED, NULL, "out of memory");
    const int code = cli_numbers("--q", text, count_numbers(text), given);
    for (int32_t k = 0; k < skel_model_joint_count(model); ++k) {
        const int32_t end =
            k + 1 < skel_model_joint_count(model) ? skel_model_joint_q_offset(model, k + 1) : n;
        if (skel_model_mimic_source(model, k, NULL, NULL) >= 0) continue;
        for (int32_t i = skel_model_joint_q_offset(model, k); i < end; ++i) q[i] = given[taken++];
    }
    free(given);
    skel_scene_apply_mimic(scene, q);
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

/* q of --q or --pose; *has_q where one of them is given. */
static int coordinates(const skel_scene *scene, const char *text, const char *pose, double *q) {
    const skel_model *model = skel_scene_model(scene);
    if (pose) return named_pose(scene, pose, q);
    const int32_t count = count_numbers(text), all = skel_model_q_count(model);
    int code;
    if (count == all - skel_scene_mimic_count(scene) && count != all)
        code = fill_mimics(scene, text, q);
    else if (count != all)
        return wrong_count(model, count);
    else
        code = cli_numbers("--q", text, count, q);
    return code == CLI_DONE ? check_quaternions(model, q) : code;
}

static int poses_at(const char *file, const skel_scene *scene, const char *text, const char *pose,
                    double *q, double *poses) {
    const skel_model *model = skel_scene_model(scene);
    skel_status status;
    if (!text && !pose) {
        status = given_poses(model, poses);
    } else {
        const int code = coordinates(scene, text, pose, q);
        if (code != CLI_DONE) return code;
        status = skel_fk(model, q, poses);
        if (status == SKEL_E_ARGUMENT)
            return cli_error(cli_code(status), file,
                             "the poses at these coordinates are beyond the range of numbers; the "
                             "coordinates must be smaller");
    }
    return status < 0 ? cli_error(cli_code(status), file, "%s", skel_status_text(status))
                      : CLI_DONE;
}

/* Where frame k of the scene is; poses are those of the bodies. */
static void frame_pose(const skel_scene *scene, int32_t k, const double *poses, double out[7]) {
    static const double here[7] = {0, 0, 0, 1};
    int32_t body = SKEL_WORLD;
    double x[7];
    skel_scene_get_frame(scene, k, &body, x);
    const double *b = body >= 0 ? poses + 7 * (size_t)body : here, *u = b + 4, w = b[3];
    /* p + v + 2 w (u x v) + 2 u x (u x v), and the product of the quaternions */
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
        put_rows(t, "position", x, n, 7, 3);
        text_add(t, ",\n  ");
        put_rows(t, "orientation", x + 3, n, 7, 4);
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
        put_rows(&t, "position", poses, nb, 7, 3);
        text_add(&t, ",\n ");
        put_rows(&t, "orientation", poses + 3, nb, 7, 4);
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
    int code = cli_options(argc, argv, options, "skel fk SCENE", &file, 1);
    if (code == CLI_DONE && q && pose)
        code = cli_error(CLI_WRONG, NULL, "--q and --pose: must not be given together");
    if (code == CLI_DONE) code = cli_keep_scene(file, out);
    if (code == CLI_DONE) code = cli_scene(file, &scene);
    if (code == CLI_DONE) code = fk(file, out, q, pose, scene);
    skel_scene_destroy(scene);
    return code;
}

/* ---- check ----------------------------------------------------------------------------------- */

static void put_lines(const char *file, char *text) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        printf("%s: %s\n", file, line);
}

static int check(const char *file, const char *data, size_t length) {
    char *text = calloc(1, PROBLEM_ROOM);
    skel_scene *scene = NULL;
    skel_status status = SKEL_E_MEMORY;
    if (text) status = skel_scene_check(data, length, text, PROBLEM_ROOM, NULL);
    if (status == SKEL_OK) status = skel_scene_parse(data, length, &scene, NULL);
    if (text) put_lines(file, text);
    free(text);
    if (status == SKEL_OK) {
        const skel_model *model = skel_scene_model(scene);
        printf("%s: ok: bodies %d, joints %d, dof %d\n", file, (int)skel_model_body_count(model),
               (int)skel_model_joint_count(model), (int)skel_model_dof(model));
    }
    skel_scene_destroy(scene);
    return cli_code(status);
}

int cli_check(int argc, char **argv) {
    const char *file = NULL;
    const cli_option options[] = {{NULL, NULL, NULL}};
    char *data = NULL, path[CLI_PATH];
    size_t length = 0;
    int code = cli_options(argc, argv, options, "skel check DOCUMENT", &file, 1);
    if (code == CLI_DONE) code = cli_read(cli_find(file, path), &data, &length);
    if (code == CLI_DONE) code = check(file, data, length);
    free(data);
    return code;
}

/* ---- convert --------------------------------------------------------------------------------- */

enum { TO_SCENE, TO_DH, TO_URDF, TO_CSV };
static const char *kind_name(int32_t k) {
    static const char *const names[] = {"scene", "dh", "urdf", "csv"};
    return k >= TO_SCENE && k <= TO_CSV ? names[k] : NULL;
}

/* By --to, or by the name of the file. */
static int pick_kind(const char *out, const char *to, int32_t *kind) {
    static const struct {
        const char *tail;
        int32_t kind;
    } tails[] = {{".json", TO_SCENE}, {".urdf", TO_URDF}, {".csv", TO_CSV}};
    const size_t n = strlen(out);
    if (to) return cli_choice("--to", to, kind_name, kind);
    *kind = TO_SCENE;
    if (strcmp(out, "-") == 0) return CLI_DONE;
    for (size_t k = 0; k < sizeof tails / sizeof *tails; ++k) {
        const size_t m = strlen(tails[k].tail);
        *kind = tails[k].kind;
        if (n >= m && strcmp(out + n - m, tails[k].tail) == 0) return CLI_DONE;
    }
    return cli_error(CLI_WRONG, out, "must end in .json, .urdf or .csv, or --to must say which");
}

int cli_convert(int argc, char **argv) {
    const char *words[2] = {NULL, NULL}, *to = NULL, *convention = NULL;
    skel_scene *scene = NULL;
    int32_t kind = TO_SCENE;
    skel_scene_dh_desc d;
    skel_scene_dh_desc_init(&d);
    const cli_option options[] = {{"--to", &to, NULL},
                                  {"--convention", &convention, NULL},
                                  {"--root", &d.root, NULL},
                                  {"--tip", &d.tip, NULL},
                                  {NULL, NULL, NULL}};
    int code = cli_options(argc, argv, options, "skel convert IN OUT", words, 2);
    if (code == CLI_DONE) code = pick_kind(words[1], to, &kind);
    if (code == CLI_DONE) code = cli_convention(convention, &d.convention);
    if (code == CLI_DONE) code = cli_scene(words[0], &scene);
    d.is_csv = kind == TO_CSV;
    if (code == CLI_DONE && kind == TO_SCENE) code = cli_write_scene(words[0], words[1], scene);
    if (code == CLI_DONE && kind == TO_URDF) code = cli_write_urdf(words[0], words[1], scene);
    if (code == CLI_DONE && (kind == TO_DH || kind == TO_CSV))
        code = cli_write_table(words[0], words[1], scene, &d);
    skel_scene_destroy(scene);
    return code;
}
