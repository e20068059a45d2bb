/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and track formats of `skel bake` and `skel ik`. */
#include "cli/cli_progress.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* ---- progress -------------------------------------------------------------------------------- */

cli_progress cli_progress_start(int is_wanted) {
    const int is_terminal = isatty(STDERR_FILENO);
    return (cli_progress){is_wanted || is_terminal, is_terminal, -1};
}

void cli_progress_show(cli_progress *p, double done) {
    enum { WIDTH = 40 };
    static const char bar[] = "########################################";
    const int percent = (int)(100.0 * done);
    if (!p->is_shown || percent == p->last) return;

    if (p->is_terminal) {
        const int n = percent * WIDTH / 100;
        fprintf(stderr, "\r[%.*s%*s] %3d %%", n, bar, WIDTH - n, "", percent);
    } else if (p->last < 0 || percent / 10 != p->last / 10) {
        fprintf(stderr, "skel: %d %%\n", percent);
    }
    fflush(stderr);
    p->last = percent;
}

void cli_progress_end(const cli_progress *p) {
    if (p->is_shown && p->is_terminal && p->last >= 0) fprintf(stderr, "\r%60s\r", "");
}

/* ---- formats --------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    track_writer *track; /* NULL: reserved for a later version */
} k_formats[] = {{"json", track_write_json},
                 {"csv", track_write_csv},
                 {"npy", track_write_npy},
                 {"bvh", NULL},
                 {"gltf", NULL},
                 {"glb", NULL},
                 {"html", NULL}};

static int find_format(const char *name) {
    for (int i = 0; name && i < (int)(sizeof k_formats / sizeof *k_formats); ++i)
        if (strcmp(k_formats[i].name, name) == 0) return i;
    return -1;
}

const char *cli_extension(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    return dot ? dot + 1 : NULL;
}

int cli_is_reserved_format(const char *name) {
    const int i = find_format(name);
    return i >= 0 && !k_formats[i].track;
}

int cli_pick_track_writer(const char *out, const char *to, track_writer **writer) {
    const int is_file = out && strcmp(out, "-") != 0;
    const char *option = to ? "--to" : out;
    const char *name = "json";
    if (to)
        name = to;
    else if (is_file)
        name = cli_extension(out);

    const int i = find_format(name);
    if (i >= 0 && k_formats[i].track) {
        *writer = k_formats[i].track;
        return CLI_DONE;
    }
    if (i >= 0) return cli_error(CLI_WRONG, option, "format %s is not in this version", name);
    if (to) return cli_error(CLI_WRONG, option, "is '%s', must be json, npy or csv", to);
    return cli_error(CLI_WRONG, option, "must end in .json, .npy or .csv, or --to must be given");
}

int cli_check_output(const char *out) {
    const int error = outfile_check(out);
    return error ? cli_error(CLI_WRONG, out, "%s", strerror(error)) : CLI_DONE;
}

int cli_write_track(const char *out, track_writer *writer, const track_source *source) {
    const char *name = out ? out : "-";
    outfile file;
    int error = outfile_open(&file, out);
    if (error) return cli_error(CLI_WRONG, name, "%s", strerror(error));

    errno = 0;
    if (writer(file.stream, source)) {
        error = outfile_commit(&file);
    } else {
        error = errno ? errno : EIO;
        outfile_abort(&file);
    }
    return error ? cli_error(CLI_FAILED, name, "%s", strerror(error)) : CLI_DONE;
}
