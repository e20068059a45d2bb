/* SPDX-License-Identifier: BSD-3-Clause */
/* Robots: skel dh build, extract, convert; skel robots; and where robots are found by name. */
#include "cli/cli.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PATH_ROOM 4096
#define MAX_ROBOTS 4096

/* ---- texts ----------------------------------------------------------------------------------- */

/* Writes a text that the library makes: asked once for its length, once for itself. */
typedef skel_status (*text_maker)(const void *what, char *text, size_t capacity, size_t *needed,
                                  skel_error *err);

/* t.failed where there is no memory. */
static int make_text(const char *file, text_maker make, const void *what, text_buffer *t) {
    size_t     needed = 0;
    skel_error err;
    skel_error_init(&err);
    skel_status status = make(what, NULL, 0, &needed, &err);
    if (status != SKEL_E_BUFFER)
        return cli_error(cli_code(status), file, "%s",
                         err.text[0] ? err.text : skel_status_text(status));
    t->data = calloc(1, needed + 1);
    if (!t->data || make(what, t->data, needed + 1, &needed, &err) != SKEL_OK) t->failed = 1;
    t->length = needed;
    return CLI_DONE;
}

static int write_made(const char *file, const char *out, text_maker make, const void *what) {
    text_buffer t    = {0};
    int         code = make_text(file, make, what, &t);
    if (code == CLI_DONE) code = cli_write(out, &t);
    text_free(&t);
    return code;
}

/* The lines of a report of a table, on standard error. */
static int say_made(const char *file, text_maker make, const void *what) {
    static const char warning[] = "warning: ";
    text_buffer       t         = {0};
    int               code      = make_text(file, make, what, &t);
    if (code == CLI_DONE && t.failed) code = cli_error(CLI_FAILED, NULL, "out of memory");
    char *line = code == CLI_DONE ? strtok(t.data, "\n") : NULL;
    for (; line; line = strtok(NULL, "\n")) {
        if (strncmp(line, warning, sizeof warning - 1) == 0)
            cli_warn(file, line + sizeof warning - 1);
        else
            fprintf(stderr, "skel: %s: %s\n", file, line);
    }
    text_free(&t);
    return code;
}

typedef struct table_call {
    const skel_scene  *scene;
    skel_scene_dh_desc desc;
} table_call;

static skel_status make_table(const void *what, char *text, size_t capacity, size_t *needed,
                              skel_error *err) {
    const table_call *c = what;
    return skel_scene_write_dh(c->scene, &c->desc, text, capacity, needed, err);
}

static skel_status make_report(const void *what, char *text, size_t capacity, size_t *needed,
                               skel_error *err) {
    const table_call *c = what;
    return skel_scene_dh_report(c->scene, &c->desc, text, capacity, needed, err);
}

static skel_status make_urdf(const void *what, char *text, size_t capacity, size_t *needed,
                             skel_error *err) {
    return skel_scene_write_urdf(what, text, capacity, needed, err);
}

static skel_status make_scene(const void *what, char *text, size_t capacity, size_t *needed,
                              skel_error *err) {
    (void)err;
    return skel_scene_write(what, text, capacity, needed);
}

int cli_write_scene(const char *file, const char *out, const skel_scene *scene) {
    return write_made(file, out, make_scene, scene);
}

int cli_write_urdf(const char *file, const char *out, const skel_scene *scene) {
    return write_made(file, out, make_urdf, scene);
}

int cli_write_table(const char *file, const char *out, const skel_scene *scene,
                    const skel_scene_dh_desc *desc) {
    const table_call c    = {scene, *desc};
    const int        code = write_made(file, out, make_table, &c);
    return code == CLI_DONE ? say_made(file, make_report, &c) : code;
}

/* ---- robots by name -------------------------------------------------------------------------- */

/* The k-th folder that may hold robots: SKEL_ROBOTS, beside the installed command, the sources. */
static int robot_folder(int k, char path[PATH_ROOM]) {
    const char *set = getenv("SKEL_ROBOTS");
    path[0]         = 0;
    if (k == 0) return set ? snprintf(path, PATH_ROOM, "%s", set) > 0 : 1;
    if (k == 2) return snprintf(path, PATH_ROOM, "%s", SKEL_ROBOTS_FOLDER) > 0;
    if (k > 2) return 0;
    char          exe[PATH_ROOM / 2];
    const ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0) return 1;
    exe[n]      = 0;
    char *slash = strrchr(exe, '/');
    if (slash) *slash = 0;
    return snprintf(path, PATH_ROOM, "%s/../share/skel/robots", exe) > 0;
}

static int is_word(const char *name) {
    return name[0] && strcmp(name, "-") != 0 && !strpbrk(name, "/.");
}

/* A word that is no file but the name of a robot becomes its path. */
const char *cli_find(const char *file, char path[]) {
    char folder[PATH_ROOM];
    if (!is_word(file) || access(file, F_OK) == 0) return file;
    for (int k = 0; robot_folder(k, folder); ++k) {
        const int n = snprintf(path, CLI_PATH, "%s/%s.json", folder, file);
        if (folder[0] && n > 0 && n < CLI_PATH && access(path, R_OK) == 0) return path;
    }
    return file;
}

/* The folder that `skel robots` lists: the first that is there. */
static DIR *open_robots(char folder[PATH_ROOM]) {
    for (int k = 0; robot_folder(k, folder); ++k) {
        DIR *dir = folder[0] ? opendir(folder) : NULL;
        if (dir) return dir;
    }
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* "ur5  6 joints  UR5 (CB3): reach 0.95 m" is more than a list needs: name, joints, title. */
static void list_robot(const char *folder, const char *name) {
    char        path[2 * PATH_ROOM];
    char       *data   = NULL;
    size_t      length = 0;
    skel_scene *scene  = NULL;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    if (cli_read(path, &data, &length) == CLI_DONE &&
        skel_scene_parse(data, length, &scene, NULL) == SKEL_OK)
        printf("%-20s %2d  %s\n", name, (int)skel_model_dof(skel_scene_model(scene)),
               skel_scene_name(scene));
    skel_scene_destroy(scene);
    free(data);
}

int cli_robots(int argc, char **argv) {
    const cli_option options[] = {{NULL, NULL, NULL}};
    char             folder[PATH_ROOM];
    char            *names[MAX_ROBOTS];
    size_t           count = 0;
    const int        code  = cli_options(argc, argv, options, "skel robots", NULL, 0);
    if (code != CLI_DONE) return code;
    DIR *dir = open_robots(folder);
    if (!dir)
        return cli_error(CLI_FAILED, NULL,
                         "no robots are here: set SKEL_ROBOTS to the folder samples/robots");
    for (struct dirent *e = readdir(dir); e && count < MAX_ROBOTS; e = readdir(dir)) {
        const size_t n = strlen(e->d_name);
        if (n < 6 || strcmp(e->d_name + n - 5, ".json") != 0) continue;
        names[count] = strndup(e->d_name, n - 5);
        if (names[count]) ++count;
    }
    closedir(dir);
    qsort(names, count, sizeof *names, compare_names);
    for (size_t i = 0; i < count; ++i) {
        list_robot(folder, names[i]);
        free(names[i]);
    }
    return CLI_DONE;
}

/* ---- dh -------------------------------------------------------------------------------------- */

static const char *convention_name(int32_t k) {
    static const char *const names[] = {"standard", "modified"};
    return k >= 0 && k < 2 ? names[k] : NULL;
}

int cli_convention(const char *text, int32_t *out) {
    return cli_choice("--convention", text, convention_name, out);
}

static int ends_in(const char *name, const char *tail) {
    const size_t n = name ? strlen(name) : 0, m = strlen(tail);
    return name && n >= m && strcmp(name + n - m, tail) == 0;
}

/* CSV by --to, or by the name of the file. */
static int pick_csv(const char *out, const char *to, int32_t *is_csv) {
    *is_csv = to ? strcmp(to, "csv") == 0 : ends_in(out, ".csv");
    if (to && !*is_csv && strcmp(to, "json") != 0)
        return cli_error(CLI_WRONG, NULL, "--to: is '%s', must be json or csv", to);
    return CLI_DONE;
}

/* Options that a CSV table may lack go before it as its own lines. */
static int read_table(const char *file, const char *const keys[3], char **data, size_t *length) {
    static const char *const names[] = {"convention", "angle_unit", "length_unit"};
    char                     path[CLI_PATH];
    text_buffer              t    = {0};
    int                      code = cli_read(cli_find(file, path), data, length);
    if (code != CLI_DONE) return code;
    for (int k = 0; k < 3; ++k)
        if (keys[k]) text_addf(&t, "# %s: %s\n", names[k], keys[k]);
    if (!t.length) return CLI_DONE;
    const int is_json = *length > 0 && (*data)[strspn(*data, " \t\r\n")] == '{';
    text_bytes(&t, *data, *length);
    free(*data);
    *data = t.data, *length = t.length;
    if (is_json || t.failed) {
        text_free(&t);
        *data = NULL;
        return t.failed ? cli_error(CLI_FAILED, file, "out of memory")
                        : cli_error(CLI_WRONG, file,
                                    "is JSON, which says itself what --convention, --angle-unit "
                                    "and --length-unit are for");
    }
    return CLI_DONE;
}

static int dh_build(int argc, char **argv) {
    const char      *file = NULL, *out = NULL, *keys[3] = {NULL};
    const cli_option options[] = {{"-o", &out, NULL},
                                  {"--convention", &keys[0], NULL},
                                  {"--angle-unit", &keys[1], NULL},
                                  {"--length-unit", &keys[2], NULL},
                                  {NULL, NULL, NULL}};
    char            *data      = NULL;
    size_t           length    = 0;
    skel_scene      *scene     = NULL;
    skel_error       err;
    skel_error_init(&err);
    int code = cli_options(argc, argv, options, "skel dh build TABLE", &file, 1);
    if (code == CLI_DONE) code = cli_keep_scene(file, out);
    if (code == CLI_DONE) code = read_table(file, keys, &data, &length);
    if (code == CLI_DONE) {
        const skel_status status = skel_scene_parse(data, length, &scene, &err);
        if (status != SKEL_OK) code = cli_error(cli_code(status), file, "%s", err.text);
    }
    if (code == CLI_DONE) code = cli_write_scene(file, out, scene);
    skel_scene_destroy(scene);
    free(data);
    return code;
}

static int dh_extract(int argc, char **argv) {
    const char        *file = NULL, *out = NULL, *convention = NULL, *snap = NULL, *to = NULL;
    skel_scene        *scene = NULL;
    skel_scene_dh_desc d;
    skel_scene_dh_desc_init(&d);
    const cli_option options[] = {{"-o", &out, NULL},        {"--convention", &convention, NULL},
                                  {"--root", &d.root, NULL}, {"--tip", &d.tip, NULL},
                                  {"--snap", &snap, NULL},   {"--to", &to, NULL},
                                  {NULL, NULL, NULL}};
    int              code = cli_options(argc, argv, options, "skel dh extract SCENE", &file, 1);
    if (code == CLI_DONE) code = cli_convention(convention, &d.convention);
    if (code == CLI_DONE) code = cli_number("--snap", snap, 1, &d.snap);
    if (snap) d.parallel_tolerance = 0.0; /* whoever says what is parallel is not second-guessed */
    if (code == CLI_DONE) code = pick_csv(out, to, &d.is_csv);
    if (code == CLI_DONE) code = cli_keep_scene(file, out);
    if (code == CLI_DONE) code = cli_scene(file, &scene);
    if (code == CLI_DONE) code = cli_write_table(file, out, scene, &d);
    skel_scene_destroy(scene);
    return code;
}

typedef struct rewrite_call {
    const char *data;
    size_t      length;
    int32_t     convention, is_csv;
} rewrite_call;

static skel_status make_rewrite(const void *what, char *text, size_t capacity, size_t *needed,
                                skel_error *err) {
    const rewrite_call *c = what;
    return skel_dh_rewrite(c->data, c->length, c->convention, c->is_csv, text, capacity, needed,
                           err);
}

static skel_status make_rewrite_report(const void *what, char *text, size_t capacity,
                                       size_t *needed, skel_error *err) {
    const rewrite_call *c = what;
    return skel_dh_rewrite_report(c->data, c->length, c->convention, text, capacity, needed, err);
}

static int dh_convert(int argc, char **argv) {
    const char      *file = NULL, *out = NULL, *convention = NULL, *to = NULL;
    char            *data      = NULL, path[CLI_PATH];
    rewrite_call     c         = {0};
    const cli_option options[] = {{"-o", &out, NULL},
                                  {"--convention", &convention, NULL},
                                  {"--to", &to, NULL},
                                  {NULL, NULL, NULL}};
    int code = cli_options(argc, argv, options, "skel dh convert TABLE --convention C", &file, 1);
    if (code == CLI_DONE && !convention)
        code = cli_error(CLI_WRONG, NULL, "--convention: is missing, must be standard or modified");
    if (code == CLI_DONE) code = cli_convention(convention, &c.convention);
    if (code == CLI_DONE) code = pick_csv(out, to, &c.is_csv);
    if (code == CLI_DONE) code = cli_keep_scene(file, out);
    if (code == CLI_DONE) code = cli_read(cli_find(file, path), &data, &c.length);
    c.data = data;
    if (code == CLI_DONE) code = write_made(file, out, make_rewrite, &c);
    if (code == CLI_DONE) code = say_made(file, make_rewrite_report, &c);
    free(data);
    return code;
}

int cli_dh(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } parts[] = {{"build", dh_build}, {"extract", dh_extract}, {"convert", dh_convert}};
    for (size_t k = 0; argc > 0 && k < sizeof parts / sizeof *parts; ++k)
        if (strcmp(argv[0], parts[k].name) == 0) return parts[k].run(argc - 1, argv + 1);
    return cli_error(CLI_WRONG, NULL, "dh: %s%s%s, must be build, extract or convert",
                     argc > 0 ? "is '" : "is alone", argc > 0 ? argv[0] : "", argc > 0 ? "'" : "");
}
