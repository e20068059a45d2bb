/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel dh build`, `skel dh extract` and `skel dh convert`: Denavit-Hartenberg tables. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

static int ends_in(const char *name, const char *tail) {
    const size_t n = name ? strlen(name) : 0, m = strlen(tail);
    return name && n >= m && strcmp(name + n - m, tail) == 0;
}

/* Whether the output is CSV: by --to, or by the name of the file. */
static int pick_csv(const char *out, const char *to, int32_t *is_csv) {
    *is_csv = to ? strcmp(to, "csv") == 0 : ends_in(out, ".csv");
    if (to && !*is_csv && strcmp(to, "json") != 0)
        return cli_error(CLI_WRONG, NULL, "--to: is '%s', must be json or csv", to);
    return CLI_DONE;
}

/* ---- build ----------------------------------------------------------------------------------- */

/* Reads a table. The options of the call are put before a CSV table as lines "# key: value". */
static int read_table(const char *file, const char *const values[3], char **data, size_t *length) {
    static const char *const keys[] = {"convention", "angle_unit", "length_unit"};
    char path[CLI_PATH_BYTES];
    text_buffer t = {0};
    int code = cli_read_file(cli_find_input(file, path), data, length);
    if (code != CLI_DONE) return code;

    for (int k = 0; k < 3; ++k)
        if (values[k]) text_addf(&t, "# %s: %s\n", keys[k], values[k]);
    if (!t.length) return CLI_DONE;

    /* A JSON table states its convention and units itself. */
    const int is_json = *length > 0 && (*data)[strspn(*data, " \t\r\n")] == '{';
    if (!is_json) text_bytes(&t, *data, *length);
    free(*data);
    *data = NULL;
    if (is_json)
        code = cli_error(CLI_WRONG, file,
                         "--convention, --angle-unit and --length-unit: are for CSV tables only; "
                         "this table is JSON and states them itself");
    else if (t.failed)
        code = cli_error(CLI_FAILED, file, "out of memory");
    if (code != CLI_DONE) {
        text_free(&t);
        return code;
    }

    *data = t.data;
    *length = t.length;
    return CLI_DONE;
}

static int dh_build(int argc, char **argv) {
    const char *file = NULL, *out = NULL, *values[3] = {NULL};
    const cli_option options[] = {{"-o", &out, NULL},
                                  {"--convention", &values[0], NULL},
                                  {"--angle-unit", &values[1], NULL},
                                  {"--length-unit", &values[2], NULL},
                                  {NULL, NULL, NULL}};
    char *data = NULL;
    size_t length = 0;
    skel_scene *scene = NULL;
    skel_error err;
    skel_error_init(&err);

    int code = cli_read_options(argc, argv, options, "skel dh build TABLE", &file, 1);
    if (code == CLI_DONE) code = cli_protect_input(file, out);
    if (code == CLI_DONE) code = read_table(file, values, &data, &length);
    if (code == CLI_DONE) {
        const skel_status status = skel_scene_parse(data, length, &scene, &err);
        if (status != SKEL_OK) code = cli_error(cli_exit_code(status), file, "%s", err.text);
    }
    if (code == CLI_DONE) code = cli_write_scene(file, out, scene);

    skel_scene_destroy(scene);
    free(data);
    return code;
}

/* ---- extract --------------------------------------------------------------------------------- */

static int dh_extract(int argc, char **argv) {
    const char *file = NULL, *out = NULL, *convention = NULL, *snap = NULL, *to = NULL;
    skel_scene *scene = NULL;
    skel_scene_dh_desc d;
    skel_scene_dh_desc_init(&d);
    const cli_option options[] = {{"-o", &out, NULL},        {"--convention", &convention, NULL},
                                  {"--root", &d.root, NULL}, {"--tip", &d.tip, NULL},
                                  {"--snap", &snap, NULL},   {"--to", &to, NULL},
                                  {NULL, NULL, NULL}};

    int code = cli_read_options(argc, argv, options, "skel dh extract SCENE", &file, 1);
    if (code == CLI_DONE) code = cli_read_convention(convention, &d.convention);
    if (code == CLI_DONE) code = cli_read_number("--snap", snap, 1, &d.snap);
    if (snap) d.parallel_tolerance = 0.0; /* an explicit tolerance is never widened */
    if (code == CLI_DONE) code = pick_csv(out, to, &d.is_csv);
    if (code == CLI_DONE) code = cli_protect_input(file, out);
    if (code == CLI_DONE) code = cli_read_scene(file, &scene);
    if (code == CLI_DONE) code = cli_write_table(file, out, scene, &d);

    skel_scene_destroy(scene);
    return code;
}

/* ---- convert --------------------------------------------------------------------------------- */

typedef struct conversion {
    const char *data;
    size_t length;
    int32_t convention, is_csv;
} conversion;

static skel_status converted_table(const void *source, char *text, size_t capacity, size_t *needed,
                                   skel_error *err) {
    const conversion *c = source;
    return skel_dh_rewrite(c->data, c->length, c->convention, c->is_csv, text, capacity, needed,
                           err);
}

static skel_status conversion_report(const void *source, char *text, size_t capacity,
                                     size_t *needed, skel_error *err) {
    const conversion *c = source;
    return skel_dh_rewrite_report(c->data, c->length, c->convention, text, capacity, needed, err);
}

static int dh_convert(int argc, char **argv) {
    const char *file = NULL, *out = NULL, *convention = NULL, *to = NULL;
    char *data = NULL, path[CLI_PATH_BYTES];
    conversion c = {0};
    const cli_option options[] = {{"-o", &out, NULL},
                                  {"--convention", &convention, NULL},
                                  {"--to", &to, NULL},
                                  {NULL, NULL, NULL}};

    int code =
        cli_read_options(argc, argv, options, "skel dh convert TABLE --convention C", &file, 1);
    if (code == CLI_DONE && !convention)
        code = cli_error(CLI_WRONG, NULL, "--convention: is missing, must be standard or modified");
    if (code == CLI_DONE) code = cli_read_convention(convention, &c.convention);
    if (code == CLI_DONE) code = pick_csv(out, to, &c.is_csv);
    if (code == CLI_DONE) code = cli_protect_input(file, out);
    if (code == CLI_DONE) code = cli_read_file(cli_find_input(file, path), &data, &c.length);
    c.data = data;
    if (code == CLI_DONE) code = cli_write_text(file, out, converted_table, &c);
    if (code == CLI_DONE) code = cli_print_text(file, conversion_report, &c);

    free(data);
    return code;
}

int cli_dh(int argc, char **argv) {
    static const struct {
        const char *name;
        int (*run)(int argc, char **argv);
    } actions[] = {{"build", dh_build}, {"extract", dh_extract}, {"convert", dh_convert}};

    if (argc == 0)
        return cli_error(CLI_WRONG, NULL, "dh: is alone, must be build, extract or convert");
    for (size_t k = 0; k < sizeof actions / sizeof *actions; ++k)
        if (strcmp(argv[0], actions[k].name) == 0) return actions[k].run(argc - 1, argv + 1);
    return cli_error(CLI_WRONG, NULL, "dh: is '%s', must be build, extract or convert", argv[0]);
}
