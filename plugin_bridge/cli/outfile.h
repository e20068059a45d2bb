/* SPDX-License-Identifier: BSD-3-Clause */
/* An output that appears whole or not at all: written beside its place, synced, then renamed. The
   file beside it is removed by every signal that ends the process and can be caught; only SIGKILL
   between outfile_open and outfile_commit leaves it, so open late. */
#ifndef BRIDGE_CLI_OUTFILE_H
#define BRIDGE_CLI_OUTFILE_H

#include <stdio.h>

typedef struct outfile {
    FILE *stream;
    char *path; /* NULL: standard output or a device, written directly */
    char *temp;
} outfile;

/** Whether a file can be put there, as far as that can be known without making one. Returns 0, or
    the errno of what is wrong. */
int outfile_check(const char *path);
/** path NULL or "-": standard output. One file at a time. Returns 0, or the errno of what went
    wrong. */
int outfile_open(outfile *file, const char *path);
/** Puts the file in its place; on failure nothing is left behind. Returns 0 or errno. */
int outfile_commit(outfile *file);
/** Leaves nothing behind. Fine on a file that was never opened or is already in its place. */
void outfile_abort(outfile *file);

#endif
