/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of the command `skel`: input by path or by the name of a robot; output of documents. */
#include "cli/cli.h"
#include "cli/outfile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CLI_INPUT_BYTES_MAX ((size_t)64 << 20) /* the limit of skel_scene_parse */
#define CLI_READ_BYTES 65536                   /* first size of the input buffer */

/* ---- paths ----------------------------------------------------------------------------------- */

/* The folder of a path, as the file system identifies it, and the name within that folder. */
static int split_path(const char *path, struct stat *folder, const char **name) {
    char parent[4096];
    const char *slash = strrchr(path, '/');
    const size_t n = slash ? (size_t)(slash - path) + 1 : 0;

    *name = path + n;
    if (n >= sizeof parent) return 0;

    memcpy(parent, path, n);
    memcpy(parent + n, ".", 2);
    return stat(parent, folder) == 0;
}

int cli_is_same_file(const char *a, const char *b) {
    struct stat x, y;
    const char *name_a, *name_b;
    if (!a || !b || strcmp(a, "-") == 0 || strcmp(b, "-") == 0) return 0;
    if (strcmp(a, b) == 0) return 1;

    /* Two existing files are compared by device and inode, so that links are recognised. */
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;

    /* A file that does not exist yet has no inode: compare its folder and its name. */
    return split_path(a, &x, &name_a) && split_path(b, &y, &name_b) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino && strcmp(name_a, name_b) == 0;
}

int cli_protect_input(const char *input, const char *out) {
    if (!cli_is_same_file(input, out)) return CLI_DONE;
    return cli_error(CLI_WRONG, input, "is the input, must not be overwritten by the output");
}

/* ---- robots by name -------------------------------------------------------------------------- */

/* The folder share/skel/robots beside the program; an empty path if that is not known. */
static void installed_folder(char folder[CLI_FOLDER_BYTES]) {
    char program[CLI_FOLDER_BYTES / 2];
    folder[0] = 0;

    const ssize_t n = readlink("/proc/self/exe", program, sizeof program - 1);
    if (n <= 0) return;

    program[n] = 0;
    char *slash = strrchr(program, '/');
    if (slash) *slash = 0;
    snprintf(folder, CLI_FOLDER_BYTES, "%s/../share/skel/robots", program);
}

int cli_robot_folder(int k, char folder[CLI_FOLDER_BYTES]) {
    const char *set = getenv("SKEL_ROBOTS");
    if (k == 0)
        snprintf(folder, CLI_FOLDER_BYTES, "%s", set ? set : "");
    else if (k == 1)
        installed_folder(folder);
    return k < 2;
}

/* The name of a robot is not a path and has no extension. */
static int may_be_robot(const char *name) {
    return name[0] && strcmp(name, "-") != 0 && !strpbrk(name, "/.");
}

const char *cli_find_input(const char *file, char path[]) {
    char folder[CLI_FOLDER_BYTES];
    if (!may_be_robot(file) || access(file, F_OK) == 0) return file;

    for (int k = 0; cli_robot_folder(k, folder); ++k) {
        const int n = snprintf(path, CLI_PATH_BYTES, "%s/%s.json", folder, file);
        if (folder[0] && n > 0 && n < CLI_PATH_BYTES && access(path, R_OK) == 0) return path;
    }
    return file;
}

/* ---- input ----------------------------------------------------------------------------------- */

/* Reads until the end, or one byte beyond the limit: that is enough to reject the file. Returns 0
   or errno. */
static int read_stream(FILE *stream, char **data, size_t *length) {
    size_t capacity = CLI_READ_BYTES;
    *length = 0;
    *data = malloc(capacity);

    while (*data) {
        *length += fread(*data + *length, 1, capacity - *length, stream);
        if (*length < capacity || *length > CLI_INPUT_BYTES_MAX) return ferror(stream) ? EIO : 0;

        capacity = 2 * capacity < CLI_INPUT_BYTES_MAX ? 2 * capacity : CLI_INPUT_BYTES_MAX + 1;
        char *larger = realloc(*data, capacity);
        if (!larger) free(*data);
        *data = larger;
    }
    return ENOMEM;
}

/* Reads an open file, unless it is a folder or too large. Returns 0 or errno. */
static int read_whole(FILE *stream, char **data, size_t *length) {
    struct stat info = {0};
    if (fstat(fileno(stream), &info) == 0 && S_ISDIR(info.st_mode)) return EISDIR;
    if (S_ISREG(info.st_mode) && (size_t)info.st_size > CLI_INPUT_BYTES_MAX) return EFBIG;

    const int error = read_stream(stream, data, length);
    if (error) return error;
    return *length > CLI_INPUT_BYTES_MAX ? EFBIG : 0;
}

int cli_read_file(const char *file, char **data, size_t *length) {
    const int is_standard = strcmp(file, "-") == 0;
    FILE *stream = is_standard ? stdin : fopen(file, "rb");
    *data = NULL;
    if (!stream)
        return cli_error(CLI_WRONG, file, "%s%s", strerror(errno),
                         strpbrk(file, "/.") ? ""
                                             : ", and no robot has this name (skel robots lists "
                                               "them)");

    const int error = read_whole(stream, data, length);
    if (!is_standard) fclose(stream);
    if (!error) return CLI_DONE;

    free(*data);
    *data = NULL;
    if (error == EFBIG)
        return cli_error(CLI_WRONG, file, "document: is larger than %zu bytes, must be smaller",
                         CLI_INPUT_BYTES_MAX);
    return cli_error(error == ENOMEM ? CLI_FAILED : CLI_WRONG, file, "%s", strerror(error));
}

int cli_read_scene(const char *file, skel_scene **scene) {
    char *data, path[CLI_PATH_BYTES];
    size_t length;
    skel_error err;
    int code = cli_read_file(cli_find_input(file, path), &data, &length);
    if (code != CLI_DONE) return code;

    skel_error_init(&err);
    const skel_status status = skel_scene_parse(data, length, scene, &err);
    free(data);
    return status == SKEL_OK ? CLI_DONE : cli_error(cli_exit_code(status), file, "%s", err.text);
}

int cli_read_track(const char *file, const skel_model *model, skel_track **track) {
    char *data;
    size_t length;
    skel_error err;
    int code = cli_read_file(file, &data, &length);
    if (code != CLI_DONE) return code;

    skel_error_init(&err);
    const skel_status status = skel_track_parse(data, length, model, track, &err);
    free(data);
    return status == SKEL_OK ? CLI_DONE : cli_error(cli_exit_code(status), file, "%s", err.text);
}

/* ---- output ---------------------------------------------------------------------------------- */

int cli_write(const char *out, const text_buffer *text) {
    const char *name = out ? out : "-";
    outfile file;
    if (text->failed) return cli_error(CLI_FAILED, NULL, "out of memory");

    int error = outfile_open(&file, out);
    if (error) return cli_error(CLI_WRONG, name, "%s", strerror(error));

    if (fwrite(text->data, 1, text->length, file.stream) != text->length) {
        error = errno ? errno : EIO;
        outfile_abort(&file);
    } else {
        error = outfile_commit(&file);
    }
    return error ? cli_error(CLI_FAILED, name, "%s", strerror(error)) : CLI_DONE;
}

int cli_write_edited(const char *out, const skel_scene *scene, const skel_scene_edit *edit) {
    text_buffer t = {0};
    size_t needed = 0;

    /* The first call measures the text, the second one writes it. */
    skel_status status = skel_scene_write_edited(scene, edit, NULL, 0, &needed);
    if (status == SKEL_E_BUFFER) t.data = calloc(1, needed + 1);
    if (!t.data || skel_scene_write_edited(scene, edit, t.data, needed + 1, &needed) != SKEL_OK)
        t.failed = 1;
    t.length = needed;

    const int code = cli_write(out, &t);
    text_free(&t);
    return code;
}

/* ---- texts of the library -------------------------------------------------------------------- */

/* Sets t->failed if there is no memory. */
static int get_text(const char *file, cli_text_function *function, const void *source,
                    text_buffer *t) {
    size_t needed = 0;
    skel_error err;
    skel_error_init(&err);

    /* The first call only measures, so that SKEL_E_BUFFER is its success. */
    const skel_status status = function(source, NULL, 0, &needed, &err);
    if (status != SKEL_E_BUFFER)
        return cli_error(cli_exit_code(status), file, "%s",
                         err.text[0] ? err.text : skel_status_text(status));

    t->data = calloc(1, needed + 1);
    if (!t->data || function(source, t->data, needed + 1, &needed, &err) != SKEL_OK) t->failed = 1;
    t->length = needed;
    return CLI_DONE;
}

int cli_write_text(const char *file, const char *out, cli_text_function *function,
                   const void *source) {
    text_buffer t = {0};
    int code = get_text(file, function, source, &t);
    if (code == CLI_DONE) code = cli_write(out, &t);
    text_free(&t);
    return code;
}

int cli_print_text(const char *file, cli_text_function *function, const void *source) {
    static const char warning[] = "warning: ";
    text_buffer t = {0};
    int code = get_text(file, function, source, &t);
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

typedef struct table_source {
    const skel_scene *scene;
    skel_scene_dh_desc desc;
} table_source;

static skel_status table_text(const void *source, char *text, size_t capacity, size_t *needed,
                              skel_error *err) {
    const table_source *table = source;
    return skel_scene_write_dh(table->scene, &table->desc, text, capacity, needed, err);
}

static skel_status table_report(const void *source, char *text, size_t capacity, size_t *needed,
                                skel_error *err) {
    const table_source *table = source;
    return skel_scene_dh_report(table->scene, &table->desc, text, capacity, needed, err);
}

static skel_status urdf_text(const void *source, char *text, size_t capacity, size_t *needed,
                             skel_error *err) {
    return skel_scene_write_urdf(source, text, capacity, needed, err);
}

static skel_status scene_text(const void *source, char *text, size_t capacity, size_t *needed,
                              skel_error *err) {
    (void)err;
    return skel_scene_write(source, text, capacity, needed);
}

int cli_write_scene(const char *file, const char *out, const skel_scene *scene) {
    return cli_write_text(file, out, scene_text, scene);
}

int cli_write_urdf(const char *file, const char *out, const skel_scene *scene) {
    return cli_write_text(file, out, urdf_text, scene);
}

int cli_write_table(const char *file, const char *out, const skel_scene *scene,
                    const skel_scene_dh_desc *desc) {
    const table_source table = {scene, *desc};
    const int code = cli_write_text(file, out, table_text, &table);
    return code == CLI_DONE ? cli_print_text(file, table_report, &table) : code;
}

void cli_put_rows(text_buffer *text, const char *name, const double *rows, int32_t count,
                  int32_t stride, int32_t width) {
    text_addf(text, "\"%s\": [", name);
    for (int32_t i = 0; i < count; ++i) {
        if (i) text_add(text, ", ");
        text_numbers(text, rows + (size_t)i * (size_t)stride, (size_t)width);
    }
    text_add(text, "]");
}
