/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files that appear whole or not at all. */
#define _XOPEN_SOURCE 700
#include "outfile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int or_io(int error) {
    return error ? error : EIO;
}

/* The mode an ordinary new file would get, or the one the file has that is to be replaced. */
static mode_t wanted_mode(const char *path) {
    struct stat  info;
    const mode_t mask = umask(0);
    umask(mask);
    if (stat(path, &info) == 0) return info.st_mode & 07777;
    return 0666 & ~mask;
}

/* mkstemp makes the name and the file in one go. */
static int open_beside(outfile *file) {
    const size_t n = strlen(file->path);
    file->temp     = malloc(n + 8);
    if (!file->temp) return ENOMEM;
    memcpy(file->temp, file->path, n);
    memcpy(file->temp + n, ".XXXXXX", 8);
    const int fd = mkstemp(file->temp);
    if (fd < 0) {
        const int error = or_io(errno);
        free(file->temp);
        file->temp = NULL;
        return error;
    }
    if (fchmod(fd, wanted_mode(file->path)) == 0) file->stream = fdopen(fd, "wb");
    if (file->stream) return 0;
    const int error = or_io(errno);
    close(fd);
    return error;
}

int outfile_open(outfile *file, const char *path) {
    struct stat info;
    *file = (outfile){0};
    if (!path || strcmp(path, "-") == 0) {
        file->stream = stdout;
        return 0;
    }
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) { /* a device or a pipe, or a mistake */
        file->stream = fopen(path, "wb");
        return file->stream ? 0 : or_io(errno);
    }
    file->path = realpath(path, NULL); /* a link keeps being one */
    if (!file->path) file->path = strdup(path);
    const int error = file->path ? open_beside(file) : ENOMEM;
    if (error) outfile_abort(file);
    return error;
}

int outfile_commit(outfile *file) {
    int error = 0;
    if (fflush(file->stream) != 0 || ferror(file->stream)) error = or_io(errno);
    if (file->temp && !error && fsync(fileno(file->stream)) != 0) error = or_io(errno);
    if (file->stream != stdout && fclose(file->stream) != 0 && !error) error = or_io(errno);
    file->stream = NULL;
    if (file->temp && !error && rename(file->temp, file->path) != 0) error = or_io(errno);
    if (file->temp && !error) {
        free(file->temp);
        file->temp = NULL;
    }
    outfile_abort(file);
    return error;
}

void outfile_abort(outfile *file) {
    if (file->stream && file->stream != stdout) fclose(file->stream);
    if (file->temp) unlink(file->temp);
    free(file->temp);
    free(file->path);
    *file = (outfile){0};
}
