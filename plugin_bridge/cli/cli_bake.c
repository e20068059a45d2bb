/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel bake`: drives a bake in slices, shows progress, writes track and report. */
#include "cli/cli_progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define MAX_FRAMES 10000000
#define MAX_POSES 200000000.0

/* ---- the call -------------------------------------------------------------------------------- */

typedef struct call {
    const char *file, *out, *report, *to, *fps, *start, *end, *integrator, *tolerance, *step,
        *solver, *preroll, *jobs;
    int progress;
    track_writer *write_track, *write_report;
} call;

static int read_call(int argc, char **argv, call *c) {
    const cli_option options[] = {{"-o", &c->out, NULL},
                                  {"--report", &c->report, NULL},
                                  {"--to", &c->to, NULL},
                                  {"--fps", &c->fps, NULL},
                                  {"--start", &c->start, NULL},
                                  {"--end", &c->end, NULL},
                                  {"--integrator", &c->integrator, NULL},
                                  {"--tolerance", &c->tolerance, NULL},
                                  {"--step", &c->step, NULL},
                                  {"--solver", &c->solver, NULL},
                                  {"--preroll", &c->preroll, NULL},
                                  {"--jobs", &c->jobs, NULL},
                                  {"--progress", NULL, &c->progress},
                                  {NULL, NULL, NULL}};
    const int code = cli_options(argc, argv, options, "skel bake SCENE", &c->file, 1);
    if (code != CLI_DONE) return code;
    /* a scene is one job and its numbers must not depend on the machine: any count will do */
    int32_t jobs = 1;
    if (cli_integer("--jobs", c->jobs, &jobs) != CLI_DONE) return CLI_WRONG;
    if (jobs < 1) return cli_error(CLI_WRONG, NULL, "--jobs: is %d, must be >= 1", (int)jobs);
    if (jobs > 1) cli_warn(c->file, "--jobs: has no effect: one scene is one job");
    return CLI_DONE;
}

static int pick_report(call *c) {
    if (!c->report) return CLI_DONE;
    const char *name = strcmp(c->report, "-") != 0 ? cli_extension(c->report) : "json";
    if (name && strcmp(name, "json") == 0)
        c->write_report = report_write_json;
    else if (name && strcmp(name, "csv") == 0)
        c->write_report = report_write_csv;
    else if (name && cli_is_later_format(name))
        return cli_error(CLI_WRONG, c->report, "format %s is not in this version", name);
    else
        return cli_error(CLI_WRONG, c->report, "must end in .json or .csv");
    return CLI_DONE;
}

static int check_files(const call *c) {
    const int track_standard = !c->out || strcmp(c->out, "-") == 0;
    const int report_standard = c->report && strcmp(c->report, "-") == 0;
    if (cli_keep_scene(c->file, c->out) != CLI_DONE) return CLI_WRONG;
    if (cli_keep_scene(c->file, c->report) != CLI_DONE) return CLI_WRONG;
    if (cli_same_place(c->out, c->report) || (track_standard && report_standard))
        return cli_error(CLI_WRONG, c->report, "track and report must go to different places");
    return CLI_DONE;
}

/* ---- what to bake ---------------------------------------------------------------------------- */

static int read_frames(const call *c, const skel_scene *scene, skel_bake_desc *desc,
                       int32_t *start) {
    int32_t end = skel_scene_frame_end(scene);
    const int code = cli_integer("--start", c->start, start) | cli_integer("--end", c->end, &end);
    if (code != CLI_DONE) return code;
    const int64_t frames = (int64_t)end - *start + 1;
    const double bodies = skel_model_body_count(skel_scene_model(scene));
    if (frames < 1)
        return cli_error(CLI_WRONG, NULL, "--end: is %d, must be at least the start, which is %d",
                         (int)end, (int)*start);
    if (frames > MAX_FRAMES || (double)frames * bodies > MAX_POSES)
        return cli_error(CLI_WRONG, NULL,
                         "--end: makes %lld frames of %.0f bodies, must make at most %d frames and "
                         "%.0f poses",
                         (long long)frames, bodies, MAX_FRAMES, MAX_POSES);
    desc->sample_count = (uint32_t)frames;
    return CLI_DONE;
}

/* What the scene says, with what the call says over it. */
static int read_desc(const call *c, const skel_scene *scene, skel_bake_desc *desc, int32_t *start) {
    skel_bake_desc_init(desc);
    skel_scene_get_bake_desc(scene, desc);
    *start = skel_scene_frame_start(scene);
    int code = cli_number("--fps", c->fps, 1, &desc->sample_rate);
    if (code == CLI_DONE) code = cli_number("--tolerance", c->tolerance, 1, &desc->tolerance);
    if (code == CLI_DONE) code = cli_number("--step", c->step, 1, &desc->step);
    if (code == CLI_DONE) code = cli_number("--preroll", c->preroll, 0, &desc->preroll);
    if (code == CLI_DONE && desc->preroll < 0)
        code = cli_error(CLI_WRONG, NULL, "--preroll: is %g, must be >= 0", desc->preroll);
    if (code == CLI_DONE)
        code = cli_choice("--integrator", c->integrator, skel_integrator_name, &desc->integrator);
    if (code == CLI_DONE) code = cli_choice("--solver", c->solver, skel_solver_name, &desc->solver);
    return code == CLI_DONE ? read_frames(c, scene, desc, start) : code;
}

/* ---- running --------------------------------------------------------------------------------- */

static skel_status run(skel_bake *bake, int shown) {
    cli_progress p = cli_progress_start(shown);
    skel_status status = SKEL_MORE;
    while (status == SKEL_MORE) {
        status = skel_bake_advance(bake, CLI_SLICE_MS);
        cli_progress_show(&p, skel_bake_progress(bake));
    }
    cli_progress_end(&p);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static int write_outputs(const call *c, const track_source *source) {
    int code = CLI_DONE;
    if (!source->failed) code = cli_write_track(c->out, c->write_track, source);
    if (code == CLI_DONE && c->report) code = cli_write_track(c->report, c->write_report, source);
    return code;
}

/* The engine warns of settings without effect, but cannot tell its default from the same number in
   the call. */
static void warn_tolerance(const call *c, const skel_bake *bake, const skel_bake_desc *desc) {
    skel_bake_summary sum = {.struct_size = sizeof sum};
    skel_bake_desc none;
    char text[240];
    skel_bake_desc_init(&none);
    if (!c->tolerance || desc->tolerance != none.tolerance) return;
    if (skel_bake_get_summary(bake, &sum) != SKEL_OK || !(sum.step > 0)) return;
    snprintf(text, sizeof text,
             "tolerance: %g has no effect: the integrator '%s' has fixed steps of %.6g s; use "
             "integrator 'adams', or a shorter step",
             desc->tolerance, skel_integrator_name(sum.integrator), sum.step);
    cli_warn(c->file, text);
}

static int bake_and_write(const call *c, const skel_scene *scene, const skel_bake_desc *desc,
                          int32_t start) {
    skel_bake *bake = NULL;
    skel_error err;
    skel_error_init(&err);
    skel_status status = skel_bake_start(desc, &bake, &err);
    if (status < 0) return cli_error(cli_code(status), c->file, "%s", err.text);
    status = run(bake, c->progress);
    track_source source = {.model = skel_scene_model(scene),
                           .bake = bake,
                           .document = scene,
                           .scene = skel_scene_name(scene),
                           .fps = desc->sample_rate,
                           .frame_start = start,
                           .frames = skel_bake_samples_done(bake),
                           .poses = skel_bake_poses(bake),
                           .velocities = skel_bake_velocities(bake),
                           .q = skel_bake_q(bake)};
    int code = CLI_DONE;
    char mimic[256];
    for (int32_t i = 0; skel_bake_warning(bake, i); ++i)
        cli_warn(c->file, skel_bake_warning(bake, i));
    warn_tolerance(c, bake, desc);
    cli_warn_dynamics(c->file, scene);
    if (mimic_warning(source.model, mimic)) cli_warn(c->file, mimic);
    if (status < 0) {
        skel_bake_get_error(bake, &err);
        source.failed = err.text;
        code = cli_error(CLI_FAILED, c->file, "%s", err.text);
    }
    const int written = write_outputs(c, &source);
    skel_bake_destroy(bake);
    return code != CLI_DONE ? code : written;
}

static int bake_scene(const call *c, const skel_scene *scene) {
    skel_bake_desc desc;
    int32_t start;
    int code = read_desc(c, scene, &desc, &start);
    if (code == CLI_DONE) code = cli_check_out(c->out);
    if (code == CLI_DONE) code = cli_check_out(c->report);
    return code == CLI_DONE ? bake_and_write(c, scene, &desc, start) : code;
}

int cli_bake(int argc, char **argv) {
    call c = {0};
    skel_scene *scene = NULL;
    int code = read_call(argc, argv, &c);
    if (code == CLI_DONE) code = cli_pick_track(c.out, c.to, &c.write_track);
    if (code == CLI_DONE) code = pick_report(&c);
    if (code == CLI_DONE) code = check_files(&c);
    if (code == CLI_DONE) code = cli_scene(c.file, &scene);
    if (code == CLI_DONE) code = bake_scene(&c, scene);
    skel_scene_destroy(scene);
    return code;
}
