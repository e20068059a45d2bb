/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel flight`: free flight from one pose to another [RUD ch. 5], as a track with its receipt. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLI_TURNS_MAX 1000
#define CLI_FRAME_TOL 1e-6 /* [frames]: a smaller remainder of the duration is rounding */

typedef struct call {
    const char *file, *from, *to, *time, *turns, *about, *fps, *out, *scene;
} call;

/* ---- poses ----------------------------------------------------------------------------------- */

/* Splits "FILE@12" if the part after the last @ is a whole number. */
static int split_frame(char *text, int32_t *frame) {
    char *at = strrchr(text, '@'), *end = NULL;
    if (!at || !at[1]) return 0;

    errno = 0;
    const long x = strtol(at + 1, &end, 10);
    if (*end || errno || x < -1000000000 || x > 1000000000) return 0;

    *frame = (int32_t)x;
    *at = 0;
    return 1;
}

static int pose_of_track(const char *option, const char *file, const skel_track *track,
                         const int32_t *frame, size_t nb, double *poses) {
    const int32_t count = skel_track_frame_count(track), start = skel_track_frame_start(track);
    const int is_track = skel_track_fps(track) > 0.0;
    int32_t k = 0;

    if (is_track && !frame)
        return cli_error(CLI_WRONG, file, "is a track; %s needs one of its frames, as in %s@%d",
                         option, file, (int)start);
    if (frame && !is_track)
        return cli_error(CLI_WRONG, file, "is a pose without frames; %s must have no @", option);
    if (frame) k = *frame - start;
    if (frame && (k < 0 || k >= count))
        return cli_error(CLI_WRONG, file, "has no frame %d, must be from %d to %d", (int)*frame,
                         (int)start, (int)(start + count - 1));

    memcpy(poses, skel_track_poses(track) + 7 * nb * (size_t)k, 7 * nb * sizeof *poses);
    return CLI_DONE;
}

static int pose_of_scene(const skel_model *model, double *poses) {
    skel_state *state = NULL;
    skel_status status = skel_state_create(model, &state, NULL);
    if (status == SKEL_OK) status = skel_state_get_poses(state, poses);
    skel_state_destroy(state);
    return status == SKEL_OK ? CLI_DONE : cli_error(CLI_FAILED, NULL, "out of memory");
}

static int read_pose(const char *option, const char *text, const skel_model *model, double *poses) {
    if (strcmp(text, "scene") == 0) return pose_of_scene(model, poses);

    const size_t nb = (size_t)skel_model_body_count(model);
    char *file = malloc(strlen(text) + 1);
    skel_track *track = NULL;
    int32_t frame = 0;
    if (!file) return cli_error(CLI_FAILED, NULL, "out of memory");
    memcpy(file, text, strlen(text) + 1);

    const int has_frame = split_frame(file, &frame);
    int code = cli_read_track(file, model, &track);
    if (code == CLI_DONE)
        code = pose_of_track(option, file, track, has_frame ? &frame : NULL, nb, poses);
    skel_track_destroy(track);
    free(file);
    return code;
}

/* ---- the track ------------------------------------------------------------------------------- */

static void put_rows(text_buffer *t, const char *name, const double *x, int32_t frames, int32_t nb,
                     int32_t stride, int32_t width) {
    text_addf(t, "  \"%s\": [\n", name);
    for (int32_t f = 0; f < frames; ++f) {
        text_add(t, f ? ",\n    [" : "    [");
        for (int32_t b = 0; b < nb; ++b, x += stride) {
            if (b) text_add(t, ", ");
            text_numbers(t, x, (size_t)width);
        }
        text_add(t, "]");
    }
    text_add(t, "\n  ],\n");
}

static void put_q(text_buffer *t, const double *q, int32_t frames, int32_t nq) {
    text_add(t, "  \"q\": [\n");
    for (int32_t f = 0; f < frames; ++f) {
        text_add(t, f ? ",\n    " : "    ");
        text_numbers(t, nq ? q + (size_t)f * (size_t)nq : NULL, (size_t)nq);
    }
    text_add(t, "\n  ],\n");
}

/* The figures that say how accurate the flight is. */
static void put_receipt(text_buffer *t, const skel_flight_summary *s) {
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"turned", s->turned},
        {"residual_angle", s->residual_angle},
        {"residual_distance", s->residual_distance},
        {"integration_error", s->integration_error},
        {"joint_gap", s->joint_gap},
        {"misalignment", s->misalignment},
    };
    const double *l = s->angular_momentum;

    text_addf(t, "  \"report\": {\"method\": \"flight\", \"turns\": %d, ", (int)s->turns);
    text_addf(t, "\"iterations\": %d, \"steps\": %d, ", (int)s->iterations, (int)s->steps);
    text_add(t, "\"angular_momentum\": ");
    text_numbers(t, l, 3);
    text_add(t, ", \"angular_momentum_size\": ");
    text_number(t, sqrt(l[0] * l[0] + l[1] * l[1] + l[2] * l[2]));

    text_add(t, ",\n    \"velocity\": ");
    text_numbers(t, s->velocity, 3);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        text_addf(t, ", \"%s\": ", rows[k].name);
        text_number(t, rows[k].value);
    }
    text_add(t, "}\n}\n");
}

static int write_track(const call *c, const skel_scene *scene, const skel_flight *flight,
                       double fps, const skel_flight_summary *sum) {
    const skel_model *model = skel_scene_model(scene);
    const int32_t n = skel_flight_sample_count(flight), nb = skel_model_body_count(model);
    const double *pose = skel_flight_poses(flight), *v = skel_flight_velocities(flight);
    text_buffer t = {0};

    text_add(&t, "{\n  \"format\": \"skel-track/1\",\n  \"fps\": ");
    text_number(&t, fps);
    text_addf(&t, ",\n  \"frame_start\": %d,\n  \"bodies\": [", (int)skel_scene_frame_start(scene));
    for (int32_t b = 0; b < nb; ++b) {
        if (b) text_add(&t, ", ");
        text_string(&t, skel_model_body_name(model, b));
    }
    text_add(&t, "],\n");

    put_rows(&t, "position", pose, n, nb, 7, 3);
    put_rows(&t, "orientation", pose + 3, n, nb, 7, 4);
    put_rows(&t, "velocity", v, n, nb, 6, 3);
    put_rows(&t, "angular_velocity", v + 3, n, nb, 6, 3);
    put_q(&t, skel_flight_q(flight), n, skel_model_q_count(model));
    put_receipt(&t, sum);

    const int code = cli_write(c->out, &t);
    text_free(&t);
    return code;
}

/* The scene in the state of the take-off, for a bake over the same frames. */
static int write_scene(const call *c, const skel_scene *scene, const skel_flight *flight,
                       double fps) {
    skel_scene_edit e;
    skel_scene_edit_init(&e);
    e.poses = skel_flight_poses(flight);
    e.velocities = skel_flight_velocities(flight);
    e.has_bake = 1;
    e.fps = fps;
    e.frame_start = skel_scene_frame_start(scene);
    e.frame_end = e.frame_start + skel_flight_sample_count(flight) - 1;
    return cli_write_edited(c->scene, scene, &e);
}

/* ---- the command ----------------------------------------------------------------------------- */

static void warn(const call *c, const skel_flight_desc *d, const skel_flight_summary *sum) {
    const double frames = d->duration * d->sample_rate;
    const double remainder = frames - floor(frames + 1e-9);
    char text[320];

    if (sum->joint_gap > CLI_GAP_WARN || sum->misalignment > CLI_GAP_WARN) {
        snprintf(text, sizeof text,
                 "the poses violate the joints by up to %.3g m and %.3g rad; the closest joint "
                 "coordinates were used",
                 sum->joint_gap, sum->misalignment);
        cli_warn(c->file, text);
    }
    if (sum->has_loads)
        cli_warn(c->file, "forces other than gravity were ignored: in flight only gravity acts");
    if (remainder > CLI_FRAME_TOL) {
        snprintf(text, sizeof text,
                 "%g s are %.6g frames: the last frame is %.3g s before the landing", d->duration,
                 frames, remainder / d->sample_rate);
        cli_warn(c->file, text);
    }
}

static int read_about(const char *text, double about[3]) {
    char rest;
    if (!text) return CLI_DONE;

    /* A number that overflows becomes infinite, which is rejected below. */
    /* NOLINTNEXTLINE(cert-err34-c) */
    const int n = sscanf(text, "%lf,%lf,%lf%c", &about[0], &about[1], &about[2], &rest);
    const double size = fabs(about[0]) + fabs(about[1]) + fabs(about[2]);
    if (n == 3 && isfinite(size) && size > 0.0) return CLI_DONE;
    return cli_error(CLI_WRONG, NULL, "--about: is '%s', must be x,y,z, not all zero", text);
}

/* All settings except the poses. */
static int read_desc(const call *c, const skel_scene *scene, skel_flight_desc *d) {
    skel_flight_desc_init(d);
    d->model = skel_scene_model(scene);
    d->sample_rate = skel_scene_fps(scene);
    d->has_turns = c->turns != NULL;

    int code = cli_read_number("--time", c->time, 1, &d->duration);
    if (code == CLI_DONE) code = cli_read_number("--fps", c->fps, 1, &d->sample_rate);
    if (code == CLI_DONE) code = cli_read_integer("--turns", c->turns, &d->turns);
    if (code == CLI_DONE) code = read_about(c->about, d->about);
    if (code == CLI_DONE && (d->turns < -CLI_TURNS_MAX || d->turns > CLI_TURNS_MAX))
        code = cli_error(CLI_WRONG, NULL, "--turns: is %d, must be from %d to %d", (int)d->turns,
                         -CLI_TURNS_MAX, CLI_TURNS_MAX);

    const double poses = (d->duration * d->sample_rate + 1.0) * skel_model_body_count(d->model);
    if (code == CLI_DONE && !(poses <= CLI_POSES_MAX))
        code = cli_error(CLI_WRONG, NULL, "--time: gives %.3g poses, must give at most %.0f", poses,
                         CLI_POSES_MAX);
    return code;
}

static int fly(const call *c, const skel_scene *scene, double *poses) {
    const size_t nb = (size_t)skel_model_body_count(skel_scene_model(scene));
    skel_flight *flight = NULL;
    skel_flight_desc d;
    skel_error err;
    skel_error_init(&err);
    int code = read_desc(c, scene, &d);
    if (code == CLI_DONE) code = read_pose("--from", c->from, d.model, poses);
    if (code == CLI_DONE) code = read_pose("--to", c->to, d.model, poses + 7 * nb);
    if (code != CLI_DONE) return code;

    d.take_off = poses;
    d.landing = poses + 7 * nb;
    const skel_status status = skel_flight_solve(&d, &flight, &err);
    if (status < 0) return cli_error(cli_exit_code(status), c->file, "%s", err.text);

    skel_flight_summary sum = {.struct_size = sizeof sum};
    skel_flight_get_summary(flight, &sum);
    warn(c, &d, &sum);
    code = write_track(c, scene, flight, d.sample_rate, &sum);
    if (code == CLI_DONE && c->scene) code = write_scene(c, scene, flight, d.sample_rate);
    skel_flight_destroy(flight);
    return code;
}

static int check_call(const call *c) {
    const char *const required[][2] = {{"--from", c->from}, {"--to", c->to}, {"--time", c->time}};
    for (size_t k = 0; k < sizeof required / sizeof *required; ++k)
        if (!required[k][1])
            return cli_error(CLI_WRONG, NULL, "%s: is missing; see skel help flight",
                             required[k][0]);

    const int code = cli_protect_input(c->file, c->out);
    if (code != CLI_DONE) return code;

    const int track_standard = !c->out || strcmp(c->out, "-") == 0;
    const int scene_standard = c->scene && strcmp(c->scene, "-") == 0;
    if (cli_is_same_file(c->out, c->scene) || (track_standard && scene_standard))
        return cli_error(CLI_WRONG, c->scene, "track and scene must be different files");
    return cli_protect_input(c->file, c->scene);
}

int cli_flight(int argc, char **argv) {
    call c = {0};
    const cli_option options[] = {
        {"--from", &c.from, NULL},   {"--to", &c.to, NULL},       {"--time", &c.time, NULL},
        {"--turns", &c.turns, NULL}, {"--about", &c.about, NULL}, {"--fps", &c.fps, NULL},
        {"-o", &c.out, NULL},        {"--scene", &c.scene, NULL}, {NULL, NULL, NULL}};
    skel_scene *scene = NULL;

    int code = cli_read_options(argc, argv, options, "skel flight SCENE", &c.file, 1);
    if (code == CLI_DONE) code = check_call(&c);
    if (code == CLI_DONE) code = cli_read_scene(c.file, &scene);
    if (code == CLI_DONE) {
        cli_warn_scene(c.file, scene);
        const size_t nb = (size_t)skel_model_body_count(skel_scene_model(scene));
        double *poses = calloc(14 * nb, sizeof *poses);
        code = poses ? fly(&c, scene, poses) : cli_error(CLI_FAILED, c.file, "out of memory");
        free(poses);
    }
    skel_scene_destroy(scene);
    return code;
}
