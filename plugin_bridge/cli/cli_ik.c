/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel ik`: solves the goals of a scene and writes the poses as a track with its receipts. */
#include "cli/cli_progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define START_SAME 1e-3 /* [rad], [m]: a first frame that was not moved farther is as it was */

typedef struct call {
    const char *file, *out, *to, *mode, *tolerance, *seed, *start, *body, *position, *orientation;
    int progress;
    track_writer *write;
} call;

static int read_call(int argc, char **argv, call *c) {
    const cli_option options[] = {{"-o", &c->out, NULL},
                                  {"--to", &c->to, NULL},
                                  {"--mode", &c->mode, NULL},
                                  {"--tolerance", &c->tolerance, NULL},
                                  {"--seed", &c->seed, NULL},
                                  {"--start", &c->start, NULL},
                                  {"--progress", NULL, &c->progress},
                                  {"--body", &c->body, NULL},
                                  {"--position", &c->position, NULL},
                                  {"--orientation", &c->orientation, NULL},
                                  {NULL, NULL, NULL}};
    int code = cli_options(argc, argv, options, "skel ik SCENE", &c->file, 1);
    if (code == CLI_DONE) code = cli_pick_track(c->out, c->to, &c->write);
    if (code == CLI_DONE) code = cli_keep_scene(c->file, c->out);
    return code;
}

/* ---- what to solve --------------------------------------------------------------------------- */

static const char *mode_name(int32_t i) {
    return i == SKEL_IK_POSE ? "pose" : i == SKEL_IK_TRACK ? "track" : NULL;
}

static const char *seed_name(int32_t i) {
    return i == 0 ? "current" : i == 1 ? "mid" : NULL;
}

static const char *start_name(int32_t i) {
    return i == SKEL_IK_START_FREE ? "free" : i == SKEL_IK_START_HELD ? "held" : NULL;
}

/* The body or frame of --body, else the tool. */
static int find_end(const call *c, const skel_scene *scene, skel_goal_desc *g) {
    int32_t frame = c->body ? -1 : skel_scene_tool(scene);
    for (int32_t k = 0; c->body && k < skel_scene_frame_count(scene); ++k)
        if (strcmp(skel_scene_frame_name(scene, k), c->body) == 0) frame = k;
    if (frame < 0 && !c->body)
        return cli_error(CLI_WRONG, c->file,
                         "--body: is missing, must name a body: the document has no tool");
    if (frame < 0) {
        g->body = skel_model_find_body(skel_scene_model(scene), c->body);
    } else {
        double pose[7];
        skel_scene_get_frame(scene, frame, &g->body, pose);
        memcpy(g->point, pose, sizeof g->point);
        memcpy(g->frame, pose + 3, sizeof g->frame);
    }
    if (g->body >= 0) return CLI_DONE;
    return cli_error(CLI_WRONG, c->file, "--body: is '%s', must be a body or frame that moves",
                     c->body ? c->body : skel_scene_frame_name(scene, frame));
}

/* One goal of the call instead of those of the document. */
static int read_goal(const call *c, const skel_scene *scene, skel_goal_desc *g) {
    int code = CLI_DONE;
    skel_goal_desc_init(g);
    g->parts = 0;
    if (c->position) {
        code = cli_numbers("--position", c->position, 3, g->position);
        g->parts |= SKEL_GOAL_POSITION;
    }
    if (c->orientation && code == CLI_DONE) {
        code = cli_numbers("--orientation", c->orientation, 4, g->orientation);
        g->parts |= SKEL_GOAL_ORIENTATION;
    }
    return code == CLI_DONE ? find_end(c, scene, g) : code;
}

/* What the scene says, with what the call says over it. *seed is to be freed. */
static int read_desc(const call *c, const skel_scene *scene, skel_ik_motion_desc *d,
                     skel_ik_desc *ik, skel_goal_desc *goal, double **seed) {
    int32_t which = -1, start;
    skel_ik_motion_desc_init(d);
    skel_scene_get_ik_desc(scene, d);
    *ik = *d->ik;
    d->ik = ik;
    start = (int32_t)d->start;
    int code = cli_choice("--mode", c->mode, mode_name, &ik->mode);
    if (code == CLI_DONE) code = cli_number("--tolerance", c->tolerance, 1, &ik->tolerance);
    if (code == CLI_DONE) code = cli_choice("--seed", c->seed, seed_name, &which);
    if (code == CLI_DONE) code = cli_choice("--start", c->start, start_name, &start);
    d->start = (uint32_t)start;
    if (code == CLI_DONE && (c->position || c->orientation)) {
        code = read_goal(c, scene, goal);
        ik->goals = goal, ik->goal_count = 1, ik->goal_stride = sizeof *goal;
        d->tracks = NULL, d->sample_count = 1;
    } else if (code == CLI_DONE && c->body) {
        code = cli_error(CLI_WRONG, NULL, "--body: goes with --position or --orientation");
    }
    if (code != CLI_DONE) return code;
    if (ik->goal_count == 0)
        return cli_error(CLI_WRONG, c->file,
                         "goals: is missing, must be [goal, ...], at least one; or give "
                         "--position");
    if (which == 0) d->seed = NULL;
    if (which != 1) return CLI_DONE;
    *seed = calloc((size_t)skel_model_q_count(ik->model) + 1, sizeof **seed);
    if (!*seed) return cli_error(CLI_FAILED, NULL, "out of memory");
    skel_scene_get_middle_q(scene, *seed);
    d->seed = *seed;
    return CLI_DONE;
}

/* ---- what came of it ------------------------------------------------------------------------- */

/* "goals[1] 'left hand', 0.02 m"; a loop where no goal is that far off. */
static void say_worst(const skel_scene *scene, const skel_ik_motion *motion, int32_t frame,
                      int32_t goals, char *out, size_t size) {
    const double *off = skel_ik_motion_residuals(motion) + 2 * (size_t)frame * (size_t)goals;
    const double residual = skel_ik_motion_receipts(motion)[frame].residual;
    int32_t worst = 0;
    for (int32_t k = 1; k < 2 * goals; ++k)
        if (off[k] > off[worst]) worst = k;
    if (residual > off[worst] * (1.0 + 1e-9)) {
        snprintf(out, size, "a loop of joints, %.3g", residual);
        return;
    }
    const char *own = skel_scene_goal_name(scene, worst / 2);
    const char *name = own ? own : "";
    snprintf(out, size, "goals[%d]%s%.64s%s, %.3g %s", (int)(worst / 2), name[0] ? " '" : "", name,
             name[0] ? "'" : "", off[worst], worst % 2 ? "rad" : "m");
}

/* Frames that are blended with the seed are not meant to be there yet. */
static int judge(const call *c, const skel_scene *scene, const skel_ik_motion_desc *d,
                 const skel_ik_motion *motion) {
    const skel_ik_receipt *r = skel_ik_motion_receipts(motion);
    const int64_t n = skel_ik_motion_sample_count(motion);
    int64_t missed = 0, worst = -1;
    char what[160];
    for (int64_t k = d->blend_in; k < n - (int64_t)d->blend_out; ++k) {
        if (r[k].reached) continue;
        ++missed;
        if (worst < 0 || r[k].residual > r[worst].residual) worst = k;
    }
    if (missed == 0) return CLI_DONE;
    say_worst(scene, motion, (int32_t)worst, (int32_t)d->ik->goal_count, what, sizeof what);
    return cli_error(CLI_FAILED, c->file,
                     "%lld of %lld frames not reached; worst at frame %lld: %s", (long long)missed,
                     (long long)n, (long long)(skel_scene_frame_start(scene) + worst), what);
}

static const char *joint_name(const skel_ik_motion_desc *d, const skel_ik_jump *jump) {
    return jump->joint < 0 ? "free root" : skel_model_joint_name(d->ik->model, jump->joint);
}

/* Where the joints jump, and whether the first frame was moved so that they need not. */
static void warn_of_jumps(const call *c, const skel_scene *scene, const skel_ik_motion_desc *d,
                          const skel_ik_motion *motion) {
    skel_ik_jump jump = {.struct_size = sizeof jump};
    char text[256];
    skel_ik_motion_get_start(motion, &jump);
    if (jump.size > START_SAME) {
        snprintf(text, sizeof text,
                 "frame %d: joint '%.64s' starts %.3g %s away from the seed, so that the motion is "
                 "continuous (--start held keeps it)",
                 (int)skel_scene_frame_start(scene), joint_name(d, &jump), jump.size,
                 jump.is_length ? "m" : "rad");
        cli_warn(c->file, text);
    }
    for (int32_t k = 0; k < skel_ik_motion_jump_count(motion); ++k) {
        skel_ik_motion_get_jump(motion, k, &jump);
        snprintf(text, sizeof text,
                 "frame %d: joint '%.64s' jumps by %.3g %s (no continuous motion was found)",
                 (int)(skel_scene_frame_start(scene) + jump.sample), joint_name(d, &jump),
                 jump.size, jump.is_length ? "m" : "rad");
        cli_warn(c->file, text);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static skel_status run(skel_ik_motion *motion, int shown) {
    cli_progress p = cli_progress_start(shown);
    skel_status status = SKEL_MORE;
    while (status == SKEL_MORE) {
        status = skel_ik_motion_advance(motion, CLI_SLICE_MS);
        cli_progress_show(&p, skel_ik_motion_progress(motion));
    }
    cli_progress_end(&p);
    return status;
}

static int solve_and_write(const call *c, const skel_scene *scene, const skel_ik_motion_desc *d) {
    skel_ik_motion *motion = NULL;
    skel_error err;
    skel_error_init(&err);
    skel_status status = skel_ik_motion_start(d, &motion, &err);
    if (status < 0) return cli_error(cli_code(status), c->file, "%s", err.text);
    status = run(motion, c->progress);
    if (status < 0) {
        skel_ik_motion_destroy(motion);
        return cli_error(cli_code(status), c->file, "%s", skel_status_text(status));
    }
    const track_source source = {.model = d->ik->model,
                                 .ik = motion,
                                 .goals = (int32_t)d->ik->goal_count,
                                 .scene = skel_scene_name(scene),
                                 .fps = d->sample_rate,
                                 .frame_start = skel_scene_frame_start(scene),
                                 .frames = skel_ik_motion_samples_done(motion),
                                 .poses = skel_ik_motion_poses(motion),
                                 .q = skel_ik_motion_q(motion)};
    int code = cli_write_track(c->out, c->write, &source);
    if (code == CLI_DONE) warn_of_jumps(c, scene, d, motion);
    if (code == CLI_DONE) code = judge(c, scene, d, motion);
    skel_ik_motion_destroy(motion);
    return code;
}

static int solve_scene(const call *c, const skel_scene *scene) {
    skel_ik_motion_desc d;
    skel_ik_desc ik;
    skel_goal_desc goal;
    double *seed = NULL;
    int code = read_desc(c, scene, &d, &ik, &goal, &seed);
    if (code == CLI_DONE) code = cli_check_out(c->out);
    if (code == CLI_DONE) code = solve_and_write(c, scene, &d);
    free(seed);
    return code;
}

int cli_ik(int argc, char **argv) {
    call c = {0};
    skel_scene *scene = NULL;
    int code = read_call(argc, argv, &c);
    if (code == CLI_DONE) code = cli_scene(c.file, &scene);
    if (code == CLI_DONE) code = solve_scene(&c, scene);
    skel_scene_destroy(scene);
    return code;
}
