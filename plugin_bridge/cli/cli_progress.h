/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress and track formats, for the commands that run long and write a track. */
#ifndef BRIDGE_CLI_CLI_PROGRESS_H
#define BRIDGE_CLI_CLI_PROGRESS_H

#include "cli/cli.h"
#include "cli/outfile.h"
#include "motion/track.h"

#define CLI_SLICE_MS 100.0 /* computation between two updates of the progress */

typedef struct cli_progress {
    int is_shown;
    int is_terminal; /* one line that changes; otherwise one line per 10 % */
    int last;        /* percentage shown last; -1: none yet */
} cli_progress;
/** Shows progress if `is_wanted`, or if standard error is a terminal. */
cli_progress cli_progress_start(int is_wanted);
/** done: 0 to 1. */
void cli_progress_show(cli_progress *progress, double done);
/** Removes the line from the terminal. */
void cli_progress_end(const cli_progress *progress);

/** The extension of the file name without its dot, or NULL. */
const char *cli_extension(const char *path);
/** Whether the format is reserved for a later version. */
int cli_is_reserved_format(const char *name);
/** The writer by --to, or by the name of the file; JSON for standard output. */
int cli_pick_track_writer(const char *out, const char *to, track_writer **writer);
/** Prints an error if the file cannot be written. Called before the computation, so that a wrong
    folder does not waste a long bake. */
int cli_check_output(const char *out);
/** Writes the file; NULL or "-" is standard output. */
int cli_write_track(const char *out, track_writer *writer, const track_source *source);

#endif
