/* SPDX-License-Identifier: BSD-3-Clause */
/* Output files of the command: whole or not at all, whatever ends the process; links, long names.
   A child stops while its file is open and says so through a pipe, so nothing depends on time. */
#define _DEFAULT_SOURCE
#define _XOPEN_SOURCE 700
#include "cli/outfile.h"
#include "shared/near.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char g_folder[64], g_start[4096];

static void enter(void) {
    strcpy(g_folder, "/tmp/skel-outfile-XXXXXX");
    ck_assert_ptr_nonnull(getcwd(g_start, sizeof g_start));
    ck_assert_ptr_nonnull(mkdtemp(g_folder));
    ck_assert_int_eq(chdir(g_folder), 0);
}

/* Number of files in the folder. */
static int count_files(void) {
    int  n   = 0;
    DIR *dir = opendir(".");
    ck_assert_ptr_nonnull(dir);
    for (struct dirent *e = readdir(dir); e; e = readdir(dir))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    closedir(dir);
    return n;
}

static void leave(void) {
    DIR *dir = opendir(".");
    for (struct dirent *e = readdir(dir); e; e = readdir(dir)) unlink(e->d_name);
    closedir(dir);
    ck_assert_int_eq(chdir(g_start), 0);
    ck_assert_int_eq(rmdir(g_folder), 0);
}

static void put(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    fputs(text, f);
    fclose(f);
}

static void holds(const char *path, const char *text) {
    char   buffer[64] = "";
    FILE  *f          = fopen(path, "rb");
    size_t n          = 0;
    ck_assert_msg(f != NULL, "%s is not there", path);
    n         = fread(buffer, 1, sizeof buffer - 1, f);
    buffer[n] = 0;
    fclose(f);
    ck_assert_str_eq(buffer, text);
}

static int write_to(const char *path, const char *text) {
    outfile file;
    int     error = outfile_check(path);
    if (!error) error = outfile_open(&file, path);
    if (error) return error;
    fputs(text, file.stream);
    return outfile_commit(&file);
}

/* ---- signals --------------------------------------------------------------------------------- */

static const int k_of_check[] = {SIGINT, SIGTERM, SIGALRM}; /* Check handles them, we do not */

static void write_and_wait(const char *path, int ready) {
    const struct rlimit none = {0, 0};
    outfile             file;
    setrlimit(RLIMIT_CORE, &none);
    if (outfile_open(&file, path) != 0 || fputs("half", file.stream) < 0) _exit(3);
    fflush(file.stream);
    if (write(ready, "x", 1) != 1) _exit(4);
    for (;;) pause();
}

/* Starts a child that has its file open; returns when it has. */
static pid_t start_writer(const char *path, void (*before)(void)) {
    int  ends[2];
    char byte;
    ck_assert_int_eq(pipe(ends), 0);
    fflush(NULL);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        close(ends[0]);
        for (size_t k = 0; k < 3; ++k) signal(k_of_check[k], SIG_DFL);
        if (before) before();
        write_and_wait(path, ends[1]);
    }
    close(ends[1]);
    ck_assert_int_eq(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    return child;
}

static int is_of_others(int number) {
    static const int k_kept[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP,
                                 SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};
    struct sigaction old;
    for (size_t k = 0; k < sizeof k_kept / sizeof *k_kept; ++k)
        if (number == k_kept[k]) return 1;
    for (size_t k = 0; k < 3; ++k)
        if (number == k_of_check[k]) return 0;
    return sigaction(number, NULL, &old) != 0 || old.sa_handler != SIG_DFL; /* of a sanitizer */
}

/* The process ends by the signal itself, the old file is whole, nothing else is left. */
START_TEST(every_signal_that_ends_the_process) {
    int tried = 0;
    put("out", "old");
    for (int number = 1; number <= SIGRTMAX; ++number) {
        int status = 0;
        if (is_of_others(number)) continue;
        const pid_t child = start_writer("out", NULL);
        ck_assert_int_eq(count_files(), 2);
        ck_assert_int_eq(kill(child, number), 0);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFSIGNALED(status) && WTERMSIG(status) == number, "signal %d: status %x",
                      number, (unsigned)status);
        ck_assert_msg(count_files() == 1, "signal %d leaves a file", number);
        holds("out", "old");
        ++tried;
    }
    ck_assert_int_ge(tried, 45);
}
END_TEST

static void ignore_hangup(void) {
    signal(SIGHUP, SIG_IGN);
}

START_TEST(ignored_signals_stay_ignored) { /* nohup */
    int         status = 0;
    const pid_t child  = start_writer("out", ignore_hangup);
    ck_assert_int_eq(kill(child, SIGHUP), 0);
    ck_assert_int_eq(kill(child, SIGTERM), 0);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(WTERMSIG(status), SIGTERM);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* ---- places ---------------------------------------------------------------------------------- */

START_TEST(links_keep_being_links) {
    struct stat info;
    put("there", "old");
    ck_assert_int_eq(symlink("there", "a"), 0);
    ck_assert_int_eq(symlink("new", "b"), 0); /* dangling, over two links */
    ck_assert_int_eq(symlink("b", "c"), 0);
    ck_assert_int_eq(symlink("d", "d"), 0);
    ck_assert_int_eq(write_to("a", "one"), 0);
    ck_assert_int_eq(write_to("c", "two"), 0);
    holds("there", "one");
    holds("new", "two");
    for (const char *name = "abc"; *name; ++name) {
        const char link[2] = {*name, 0};
        ck_assert_int_eq(lstat(link, &info), 0);
        ck_assert_msg(S_ISLNK(info.st_mode), "%s is no link any more", link);
    }
    ck_assert_int_eq(write_to("d", "x"), ELOOP);
    ck_assert_int_eq(symlink("no/new", "e"), 0);
    ck_assert_int_eq(write_to("e", "x"), ENOENT);
    ck_assert_int_eq(count_files(), 7);
}
END_TEST

START_TEST(names_as_long_as_names_can_be) {
    char name[258];
    memset(name, 'n', sizeof name);
    for (int length = 240; length <= 255; ++length) {
        name[length] = 0;
        ck_assert_int_eq(write_to(name, "x"), 0);
        holds(name, "x");
        unlink(name);
        name[length] = 'n';
    }
    name[256] = 0;
    ck_assert_int_eq(write_to(name, "x"), ENAMETOOLONG);
    ck_assert_int_eq(count_files(), 0);
}
END_TEST

/* Nothing is made by looking, and what is wrong is known before. */
START_TEST(a_check_makes_nothing) {
    ck_assert_int_eq(outfile_check("new"), 0);
    ck_assert_int_eq(outfile_check(NULL), 0);
    ck_assert_int_eq(outfile_check("-"), 0);
    ck_assert_int_eq(outfile_check("/dev/null"), 0);
    ck_assert_int_eq(outfile_check("."), EISDIR);
    ck_assert_int_eq(outfile_check("no/new"), ENOENT);
    put("file", "");
    ck_assert_int_eq(outfile_check("file/new"), ENOTDIR);
    ck_assert_int_eq(count_files(), 1);
}
END_TEST

START_TEST(an_abort_leaves_the_old_file) {
    outfile     file;
    struct stat info;
    put("out", "old");
    ck_assert_int_eq(chmod("out", 0640), 0);
    ck_assert_int_eq(outfile_open(&file, "out"), 0);
    fputs("half", file.stream);
    outfile_abort(&file);
    outfile_abort(&file);
    ck_assert_int_eq(count_files(), 1);
    holds("out", "old");
    ck_assert_int_eq(write_to("out", "new"), 0);
    holds("out", "new");
    ck_assert_int_eq(stat("out", &info), 0);
    ck_assert_int_eq(info.st_mode & 07777, 0640);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("outfile");
    TCase *t = tcase_create("outfile");
    tcase_add_checked_fixture(t, enter, leave);
    tcase_add_test(t, every_signal_that_ends_the_process);
    tcase_add_test(t, ignored_signals_stay_ignored);
    tcase_add_test(t, links_keep_being_links);
    tcase_add_test(t, names_as_long_as_names_can_be);
    tcase_add_test(t, a_check_makes_nothing);
    tcase_add_test(t, an_abort_leaves_the_old_file);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return run_suite(suite());
}
