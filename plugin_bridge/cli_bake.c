/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel bake`: drives a bake in slices, shows progress, writes track and report. */
#include "cli.h"
#include "outfile.h"
#include "track.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SLICE_MS 100.0
#define MAX_FRAMES 10000000
#define MAX_POSES 200000000.0

static volatile sig_atomic_t g_signal; /* the one that asked us to stop; 0: none */

static void on_signal(int number) {
    g_signal = number;
}

static void catch_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
}

/* Ends as the signal would have, now that nothing is left behind. */
static int die_of_signal(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = SIG_DFL;
    sigaction(g_signal, &action, NULL);
    raise(g_signal);
    return CLI_FAILED;
}

/* ---- the call -------------------------------------------------------------------------------- */

typedef struct call {
    const char *file, *out, *report, *to, *fps, *start, *end, *integrator, *tolerance, *step,
        *solver, *preroll, *jobs;
    int           progress;
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
    const int        code      = cli_options(argc, argv, options, "skel bake SCENE", &c->file, 1);
    if (code != CLI_DONE) return code;
    /* a scene is one job and its numbers must not depend on the machine: any count will do */
    int32_t jobs = 1;
    if (cli_integer("--jobs", c->jobs, &jobs) != CLI_DONE) return CLI_WRONG;
    if (jobs < 1) return cli_error(CLI_WRONG, NULL, "--jobs: is %d, must be >= 1", (int)jobs);
    return CLI_DONE;
}

typedef struct format {
    const char   *name;
    track_writer *track, *report; /* NULL: this format cannot hold it (yet) */
} format;

static const format k_formats[] = {{"json", track_write_json, report_write_json},
                                   {"csv", track_write_csv, report_write_csv},
                                   {"npy", track_write_npy, NULL},
                                   {"bvh", NULL, NULL},
                                   {"gltf", NULL, NULL},
                                   {"glb", NULL, NULL},
                                   {"html", NULL, NULL}};

static const format *find_format(const char *name) {
    for (size_t i = 0; name && i < sizeof k_formats / sizeof *k_formats; ++i)
        if (strcmp(k_formats[i].name, name) == 0) return &k_formats[i];
    return NULL;
}

static const char *extension(const char *path) {
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot + 1 : NULL;
}

/* By --to, or by the name of the file, or JSON on standard output. */
static int pick_track(call *c) {
    const int     file = c->out && strcmp(c->out, "-") != 0;
    const char   *name = c->to ? c->to : file ? extension(c->out) : "json";
    const char   *what = c->to ? "--to" : c->out;
    const format *f    = find_format(name);
    if (f && f->track) {
        c->write_track = f->track;
        return CLI_DONE;
    }
    if (f) return cli_error(CLI_WRONG, what, "format %s is not in this version", name);
    if (c->to) return cli_error(CLI_WRONG, what, "is '%s', must be json, npy or csv", c->to);
    return cli_error(CLI_WRONG, what, "must end in .json, .npy or .csv, or --to must say which");
}

static int pick_report(call *c) {
    if (!c->report) return CLI_DONE;
    const int     file = strcmp(c->report, "-") != 0;
    const char   *name = file ? extension(c->report) : "json";
    const format *f    = find_format(name);
    if (f && f->report) {
        c->write_report = f->report;
        return CLI_DONE;
    }
    if (f && !f->track)
        return cli_error(CLI_WRONG, c->report, "format %s is not in this version", name);
    return cli_error(CLI_WRONG, c->report, "must end in .json or .csv");
}

static int check_files(const call *c) {
    const int track_standard  = !c->out || strcmp(c->out, "-") == 0;
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
    int32_t   end  = skel_scene_frame_end(scene);
    const int code = cli_integer("--start", c->start, start) | cli_integer("--end", c->end, &end);
    if (code != CLI_DONE) return code;
    const int64_t frames = (int64_t)end - *start + 1;
    const double  bodies = skel_model_body_count(skel_scene_model(scene));
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
    skel_scene_bake_desc(scene, desc);
    *start   = skel_scene_frame_start(scene);
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

typedef struct progress {
    int shown;    /* wanted at all */
    int terminal; /* one line that changes; else a line per tenth */
    int last;
} progress;

static void show_progress(progress *p, double done) {
    enum { WIDTH = 40 };
    static const char bar[]   = "########################################";
    const int         percent = (int)(100.0 * done);
    if (!p->shown || percent == p->last) return;
    if (p->terminal) {
        const int n = percent * WIDTH / 100;
        fprintf(stderr, "\r[%.*s%*s] %3d %%", n, bar, WIDTH - n, "", percent);
    } else if (p->last < 0 || percent / 10 != p->last / 10) {
        fprintf(stderr, "skel: %d %%\n", percent);
    }
    fflush(stderr);
    p->last = percent;
}

static void end_progress(const progress *p) {
    if (p->shown && p->terminal && p->last >= 0) fprintf(stderr, "\r%60s\r", "");
}

static skel_status run(skel_bake *bake, int shown) {
    progress    p      = {0, isatty(STDERR_FILENO), -1};
    skel_status status = SKEL_MORE;
    p.shown            = shown || p.terminal;
    while (status == SKEL_MORE && !g_signal) {
        status = skel_bake_advance(bake, SLICE_MS);
        show_progress(&p, skel_bake_progress(bake));
    }
    end_progress(&p);
    return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct outputs {
    outfile track, report;
} outputs;

/* Before the work, so that a wrong folder does not cost a long bake. */
static int open_outputs(const call *c, outputs *o) {
    int error = outfile_open(&o->track, c->out);
    if (error) return cli_error(CLI_WRONG, c->out, "%s", strerror(error));
    error = c->report ? outfile_open(&o->report, c->report) : 0;
    if (error) return cli_error(CLI_WRONG, c->report, "%s", strerror(error));
    return CLI_DONE;
}

static int write_one(outfile *file, const char *name, track_writer *writer,
                     const track_source *source) {
    errno = 0;
    if (!writer(file->stream, source)) {
        const int error = errno ? errno : EIO;
        outfile_abort(file);
        return g_signal ? CLI_FAILED : cli_error(CLI_FAILED, name, "%s", strerror(error));
    }
    const int error = outfile_commit(file);
    return error ? cli_error(CLI_FAILED, name, "%s", strerror(error)) : CLI_DONE;
}

static int write_outputs(const call *c, outputs *o, const track_source *source) {
    int code = CLI_DONE;
    if (source->failed)
        outfile_abort(&o->track);
    else
        code = write_one(&o->track, c->out ? c->out : "-", c->write_track, source);
    if (code == CLI_DONE && c->report)
        code = write_one(&o->report, c->report, c->write_report, source);
    return code;
}

static int bake_and_write(const call *c, const skel_scene *scene, const skel_bake_desc *desc,
                          int32_t start, outputs *o) {
    skel_bake *bake = NULL;
    skel_error err;
    skel_error_init(&err);
    skel_status status = skel_bake_start(desc, &bake, &err);
    if (status < 0) return cli_error(cli_code(status), c->file, "%s", err.text);
    status              = run(bake, c->progress);
    track_source source = {skel_scene_model(scene), bake, skel_scene_name(scene), NULL, &g_signal,
                           desc->sample_rate,       start};
    int          code   = CLI_DONE;
    for (int32_t i = 0; !g_signal && skel_bake_warning(bake, i); ++i)
        cli_warn(c->file, skel_bake_warning(bake, i));
    if (status < 0) {
        skel_bake_error(bake, &err);
        source.failed = err.text;
        code          = cli_error(CLI_FAILED, c->file, "%s", err.text);
    }
    const int written = g_signal ? CLI_FAILED : write_outputs(c, o, &source);
    skel_bake_destroy(bake);
    return code != CLI_DONE ? code : written;
}

static int bake_scene(const call *c, const skel_scene *scene) {
    skel_bake_desc desc;
    int32_t        start;
    outputs        o    = {{0}, {0}};
    int            code = read_desc(c, scene, &desc, &start);
    if (code != CLI_DONE) return code;
    catch_signals();
    code = open_outputs(c, &o);
    if (code == CLI_DONE) code = bake_and_write(c, scene, &desc, start, &o);
    outfile_abort(&o.track);
    outfile_abort(&o.report);
    return g_signal ? die_of_signal() : code;
}

int cli_bake(int argc, char **argv) {
    call        c     = {0};
    skel_scene *scene = NULL;
    int         code  = read_call(argc, argv, &c);
    if (code == CLI_DONE) code = pick_track(&c);
    if (code == CLI_DONE) code = pick_report(&c);
    if (code == CLI_DONE) code = check_files(&c);
    if (code == CLI_DONE) code = cli_scene(c.file, &scene);
    if (code == CLI_DONE) code = bake_scene(&c, scene);
    skel_scene_destroy(scene);
    return code;
}
