/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files that appear complete or not at all. */
#define _DEFAULT_SOURCE /* for SIGWINCH, which _XOPEN_SOURCE 700 lacks */
#define _XOPEN_SOURCE 700
#include "cli/outfile.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OUTFILE_LINKS_MAX 40 /* symbolic links in a row, as many as Linux follows */

/* Some library calls fail without setting errno. */
static int or_io(int error) {
    return error ? error : EIO;
}

static int is_standard(const char *path) {
    return !path || strcmp(path, "-") == 0;
}

/* ---- signals --------------------------------------------------------------------------------- */

static char *volatile g_temp; /* the file that a signal removes, or NULL */

/* unlink and raise are safe in a signal handler. The default action is restored before the handler
   runs (SA_RESETHAND), so that raise ends the process as without a handler. */
static void remove_and_end(int number) {
    if (g_temp) unlink(g_temp);
    raise(number);
}

/* Whether the default action of a signal ends the process. Most do, so the others are listed. */
static int ends_process(int number) {
    static const int others[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP,
                                 SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};
    for (size_t k = 0; k < sizeof others / sizeof *others; ++k)
        if (number == others[k]) return 0;
    return 1;
}

/* Signals that are ignored (nohup) or already have a handler are left alone. */
static void catch_signals(void) {
    static int is_done;
    struct sigaction action, old;
    if (is_done) return;
    is_done = 1;

    memset(&action, 0, sizeof action);
    action.sa_handler = remove_and_end;
    action.sa_flags = (int)(SA_RESETHAND | SA_NODEFER);
    sigemptyset(&action.sa_mask);
    for (int number = 1; number <= SIGRTMAX; ++number) {
        if (!ends_process(number) || sigaction(number, NULL, &old) != 0) continue;
        if (!(old.sa_flags & SA_SIGINFO) && old.sa_handler == SIG_DFL)
            sigaction(number, &action, NULL);
    }
}

/* Signals are blocked while a file is created or renamed and g_temp is updated. */
static sigset_t block_signals(void) {
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    return before;
}

static void unblock_signals(const sigset_t *before) {
    sigprocmask(SIG_SETMASK, before, NULL);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* The mode of the file that is replaced, or that of an ordinary new file. */
static mode_t wanted_mode(const char *path) {
    struct stat info;
    const mode_t mask = umask(0);
    umask(mask);
    if (stat(path, &info) == 0) return info.st_mode & 07777;
    return 0666 & ~mask;
}

/* The path of `name` in the folder of `path`; NULL if there is no memory. */
static char *beside(const char *path, const char *name) {
    const char *slash = strrchr(path, '/');
    const size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *out = malloc(folder + strlen(name) + 1);
    if (!out) return NULL;
    memcpy(out, path, folder);
    memcpy(out + folder, name, strlen(name) + 1);
    return out;
}

/* The target of a symbolic link, relative to the same folder as `path`; NULL and errno on failure.
 */
static char *read_link(const char *path) {
    char target[4096];
    const ssize_t n = readlink(path, target, sizeof target - 1);
    if (n < 0) return NULL;
    target[n] = 0;
    return target[0] == '/' ? strdup(target) : beside(path, target);
}

/* The path behind all symbolic links, so that a link is not replaced by a file, even if its target
   does not exist yet. NULL and errno on failure. */
static char *resolve(const char *path) {
    char *at = strdup(path);
    for (int links = 0; at && links < OUTFILE_LINKS_MAX; ++links) {
        char *real = realpath(at, NULL);
        char *next = real ? NULL : read_link(at);
        if (!real && !next) return at; /* not a link: a new file, or a missing folder */
        free(at);
        if (real) return real;
        at = next;
    }
    if (at) errno = ELOOP;
    free(at);
    return NULL;
}

int outfile_check(const char *path) {
    struct stat info;
    if (is_standard(path)) return 0;

    if (stat(path, &info) == 0) {
        if (S_ISDIR(info.st_mode)) return EISDIR;
        if (!S_ISREG(info.st_mode)) return access(path, W_OK) == 0 ? 0 : or_io(errno);
    } else if (errno != ENOENT) {
        return or_io(errno);
    }

    /* A new file is created and renamed, so the folder must be writable, not the old file. */
    char *real = resolve(path);
    char *folder = real ? beside(real, ".") : NULL;
    int error = 0;
    if (!folder) error = or_io(errno);
    if (folder && access(folder, W_OK | X_OK) != 0) error = or_io(errno);
    free(folder);
    free(real);
    return error;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* mkstemp chooses the name and creates the file in one step. The name is short and does not contain
   that of the file, which may already have the greatest possible length. */
static int open_temp(outfile *file) {
    file->temp = beside(file->path, ".skel-XXXXXX");
    if (!file->temp) return ENOMEM;
    catch_signals();

    const sigset_t before = block_signals();
    const int fd = mkstemp(file->temp);
    const int failed = fd < 0 ? or_io(errno) : 0;
    if (!failed) g_temp = file->temp;
    unblock_signals(&before);
    if (failed) {
        free(file->temp);
        file->temp = NULL;
        return failed;
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
    if (is_standard(path)) {
        file->stream = stdout;
        return 0;
    }

    /* A device or a pipe is written directly. A folder fails here. */
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode)) {
        file->stream = fopen(path, "wb");
        return file->stream ? 0 : or_io(errno);
    }

    file->path = resolve(path);
    const int error = file->path ? open_temp(file) : or_io(errno);
    if (error) outfile_abort(file);
    return error;
}

/* Renames the temporary file. From then on no signal removes it. */
static int rename_temp(outfile *file) {
    const sigset_t before = block_signals();
    const int error = rename(file->temp, file->path) == 0 ? 0 : or_io(errno);
    if (!error) {
        g_temp = NULL;
        free(file->temp);
        file->temp = NULL;
    }
    unblock_signals(&before);
    return error;
}

int outfile_commit(outfile *file) {
    int error = 0;
    if (fflush(file->stream) != 0 || ferror(file->stream)) error = or_io(errno);
    if (file->temp && !error && fsync(fileno(file->stream)) != 0) error = or_io(errno);
    if (file->stream != stdout && fclose(file->stream) != 0 && !error) error = or_io(errno);
    file->stream = NULL;

    if (file->temp && !error) error = rename_temp(file);
    outfile_abort(file);
    return error;
}

void outfile_abort(outfile *file) {
    if (file->stream && file->stream != stdout) fclose(file->stream);
    if (file->temp) {
        const sigset_t before = block_signals();
        unlink(file->temp);
        g_temp = NULL;
        unblock_signals(&before);
    }
    free(file->temp);
    free(file->path);
    *file = (outfile){0};
}
