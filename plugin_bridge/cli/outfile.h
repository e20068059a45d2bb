/* SPDX-License-Identifier: BSD-3-Clause */
/* An output file that appears complete or not at all: it is written to a temporary file in the same
   folder, synced, then renamed. Every signal that ends the process and can be caught removes the
   temporary file. Only SIGKILL between outfile_open and outfile_commit leaves it behind, so open
   the file as late as possible. */
#ifndef BRIDGE_CLI_OUTFILE_H
#define BRIDGE_CLI_OUTFILE_H

#include <stdio.h>

typedef struct outfile {
    FILE *stream;
    char *path; /* NULL: standard output or a device, which is written directly */
    char *temp; /* path of the temporary file */
} outfile;

/** Checks whether a file can be written there, as far as possible without creating one. Returns 0
    or errno. */
int outfile_check(const char *path);
/** path NULL or "-": standard output. Only one file may be open at a time. Returns 0 or errno. */
int outfile_open(outfile *file, const char *path);
/** Renames the file to its path. On failure no file remains. Returns 0 or errno. */
int outfile_commit(outfile *file);
/** Removes the temporary file. Does nothing if the file was never opened or is committed. */
void outfile_abort(outfile *file);

#endif
