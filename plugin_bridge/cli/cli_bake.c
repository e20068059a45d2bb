/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel bake`: runs a bake in time slices, shows progress, writes track and report. */
#include "cli/cli_progress.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define CLI_FRAMES_MAX 10000000

/* ---- options -------------------------------------------------------------------------------- */

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
    const int code = cli_read_options(argc, argv, options, "skel bake SCENE", &c->file, 1);
    if (code != CLI_DONE) return code;

    /* --jobs is reserved. It is checked, so that a call that works today works later. */
    int32_t jobs = 1;
    if (cli_read_integer("--jobs", c->jobs, &jobs) != CLI_DONE) return CLI_WRONG;
    if (jobs < 1) return cli_error(CLI_WRONG, NULL, "--jobs: is %d, must be >= 1", (int)jobs);
    if (jobs > 1) cli_warn(c->file, "--jobs: has no effect in this version");
    return CLI_DONE;
}

static int pick_report(call *c) {
    if (!c->report) return CLI_DONE;

    const char *name = strcmp(c->report, "-") != 0 ? cli_extension(c->report) : "json";
    if (name && strcmp(name, "json") == 0)
        c->write_report = report_write_json;
    else if (name && strcmp(name, "csv") == 0)
        c->write_report = report_write_csv;
    else if (name && cli_is_reserved_format(name))
        return cli_error(CLI_WRONG, c->report, "format %s is not in this version", name);
    else
        return cli_error(CLI_WRONG, c->report, "must end in .json or .csv");
    return CLI_DONE;
}

static int check_files(const call *c) {
    const int track_standard = !c->out || strcmp(c->out, "-") == 0;
    const int report_standard = c->report && strcmp(c->report, "-") == 0;

    if (cli_protect_input(c->file, c->out) != CLI_DONE) return CLI_WRONG;
    if (cli_protect_input(c->file, c->report) != CLI_DONE) return CLI_WRONG;
    if (cli_is_same_file(c->out, c->report) || (track_standard && report_standard))
        return cli_error(CLI_WRONG, c->report, "track and report must be different files");
    return CLI_DONE;
}

/* ---- description of the bake ----------------------------------------------------------------- */

static int read_frames(const call *c, const skel_scene *scene, skel_bake_desc *desc,
                       int32_t *start) {
    int32_t end = skel_scene_frame_end(scene);
    const int code =
        cli_read_integer("--start", c->start, start) | cli_read_integer("--end", c->end, &end);
    if (code != CLI_DONE) return code;

    const int64_t frames = (int64_t)end - *start + 1;
    const double bodies = skel_model_body_count(skel_scene_model(scene));
    if (frames < 1)
        return cli_error(CLI_WRONG, NULL, "--end: is %d, must be at least the first frame, %d",
                         (int)end, (int)*start);
    if (frames > CLI_FRAMES_MAX || (double)frames * bodies > CLI_POSES_MAX)
        return cli_error(CLI_WRONG, NULL,
                         "--end: gives %lld frames of %.0f bodies, must give at most %d frames and "
                         "%.0f poses",
                         (long long)frames, bodies, CLI_FRAMES_MAX, CLI_POSES_MAX);
    desc->sample_count = (uint32_t)frames;
    return CLI_DONE;
}

/* The settings of the scene, with those of the call in their place. */
static int read_desc(const call *c, const skel_scene *scene, skel_bake_desc *desc, int32_t *start) {
    skel_bake_desc_init(desc);
    skel_scene_get_bake_desc(scene, desc);
    *start = skel_scene_frame_start(scene);

    int code = cli_read_number("--fps", c->fps, 1, &desc->sample_rate);
    if (code == CLI_DONE) code = cli_read_number("--tolerance", c->tolerance, 1, &desc->tolerance);
    if (code == CLI_DONE) code = cli_read_number("--step", c->step, 1, &desc->step);
    if (code == CLI_DONE) code = cli_read_number("--preroll", c->preroll, 0, &desc->preroll);
    if (code == CLI_DONE && desc->preroll < 0)
        code = cli_error(CLI_WRONG, NULL, "--preroll: is %g, must be >= 0", desc->preroll);
    if (code == CLI_DONE)
        code =
            cli_read_choice("--integrator", c->integrator, skel_integrator_name, &desc->integrator);
    if (code == CLI_DONE)
        code = cli_read_choice("--solver", c->solver, skel_solver_name, &desc->solver);
    return code == CLI_DONE ? read_frames(c, scene, desc, start) : code;
}

/* ---- running --------------------------------------------------------------------------------- */

static skel_status run(skel_bake *bake, int with_progress) {
    cli_progress p = cli_progress_start(with_progress);
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

/* The engine warns of a tolerance without effect only if it differs from the default, since it
   cannot know whether the default was given explicitly. The command can. */
static void warn_tolerance(const call *c, const skel_bake *bake, const skel_bake_desc *desc) {
    skel_bake_summary sum = {.struct_size = sizeof sum};
    skel_bake_desc defaults;
    char text[240];
    skel_bake_desc_init(&defaults);
    if (!c->tolerance || desc->tolerance != defaults.tolerance) return;
    if (skel_bake_get_summary(bake, &sum) != SKEL_OK || !(sum.step > 0)) return;
    snprintf(text, sizeof text,
             "tolerance: %g has no effect: the integrator '%s' has fixed steps of %.6g s; use "
             "integrator 'adams', or a shorter step",
             desc->tolerance, skel_integrator_name(sum.integrator), sum.step);
    cli_warn(c->file, text);
}

static void print_warnings(const call *c, const skel_scene *scene, const skel_bake *bake,
                           const skel_bake_desc *desc) {
    char mimic[MOTION_WARNING_BYTES];
    for (int32_t i = 0; skel_bake_warning(bake, i); ++i)
        cli_warn(c->file, skel_bake_warning(bake, i));
    warn_tolerance(c, bake, desc);
    cli_warn_scene(c->file, scene);
    if (motion_mimic_warning(skel_scene_model(scene), mimic)) cli_warn(c->file, mimic);
}

static int bake_and_write(const call *c, const skel_scene *scene, const skel_bake_desc *desc,
                          int32_t start) {
    skel_bake *bake = NULL;
    skel_error err;
    skel_error_init(&err);
    skel_status status = skel_bake_start(desc, &bake, &err);
    if (status < 0) return cli_error(cli_exit_code(status), c->file, "%s", err.text);

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
    print_warnings(c, scene, bake, desc);

    /* A bake that failed has samples up to the failure, and a report that states the reason. */
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
    if (code == CLI_DONE) code = cli_check_output(c->out);
    if (code == CLI_DONE) code = cli_check_output(c->report);
    return code == CLI_DONE ? bake_and_write(c, scene, &desc, start) : code;
}

int cli_bake(int argc, char **argv) {
    call c = {0};
    skel_scene *scene = NULL;

    int code = read_call(argc, argv, &c);
    if (code == CLI_DONE) code = cli_pick_track_writer(c.out, c.to, &c.write_track);
    if (code == CLI_DONE) code = pick_report(&c);
    if (code == CLI_DONE) code = check_files(&c);
    if (code == CLI_DONE) code = cli_read_scene(c.file, &scene);
    if (code == CLI_DONE) code = bake_scene(&c, scene);
    skel_scene_destroy(scene);
    return code;
}
