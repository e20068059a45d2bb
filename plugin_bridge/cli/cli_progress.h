/* SPDX-License-Identifier: BSD-3-Clause */
/* What the commands that work for long and write a track share: progress, formats. */
#ifndef BRIDGE_CLI_CLI_PROGRESS_H
#define BRIDGE_CLI_CLI_PROGRESS_H

#include "cli/cli.h"
#include "cli/outfile.h"
#include "motion/track.h"

#define CLI_SLICE_MS 100.0 /* between two looks at progress */

typedef struct cli_progress {
    int shown;    /* wanted at all */
    int terminal; /* one line that changes; else a line per tenth */
    int last;
} cli_progress;
cli_progress cli_progress_start(int shown);
void         cli_progress_show(cli_progress *progress, double done);
void         cli_progress_end(const cli_progress *progress);

/** What follows the last dot of the file's name, or NULL. */
const char *cli_extension(const char *path);
/** Of the design, but not of this version. */
int cli_is_later_format(const char *name);
/** The writer by --to, or by the name of the file, or JSON on standard output. */
int cli_pick_track(const char *out, const char *to, track_writer **writer);
/** Says so where a file cannot be put there: before the work, so that a wrong folder does not cost
    a long bake. */
int cli_check_out(const char *out);
/** Makes the file, writes it and puts it in its place; NULL or "-" is standard output. */
int cli_write_track(const char *out, track_writer *writer, const track_source *source);

#endif
