/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel check`: lists all problems of a document, one per line. */
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLI_PROBLEM_BYTES_MAX 262144u

static void print_lines(const char *file, char *text) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        printf("%s: %s\n", file, line);
}

static int check(const char *file, const char *data, size_t length) {
    char *problems = calloc(1, CLI_PROBLEM_BYTES_MAX);
    skel_scene *scene = NULL;
    skel_status status = SKEL_E_MEMORY;

    /* A document without errors may still have warnings, so the problems are always printed. */
    if (problems) status = skel_scene_check(data, length, problems, CLI_PROBLEM_BYTES_MAX, NULL);
    if (status == SKEL_OK) status = skel_scene_parse(data, length, &scene, NULL);
    if (problems) print_lines(file, problems);
    free(problems);

    if (status == SKEL_OK) {
        const skel_model *model = skel_scene_model(scene);
        printf("%s: ok: bodies %d, joints %d, dof %d\n", file, (int)skel_model_body_count(model),
               (int)skel_model_joint_count(model), (int)skel_model_dof(model));
    }
    skel_scene_destroy(scene);
    return cli_exit_code(status);
}

int cli_check(int argc, char **argv) {
    const char *file = NULL;
    const cli_option options[] = {{NULL, NULL, NULL}};
    char *data = NULL, path[CLI_PATH_BYTES];
    size_t length = 0;

    int code = cli_read_options(argc, argv, options, "skel check DOCUMENT", &file, 1);
    if (code == CLI_DONE) code = cli_read_file(cli_find_input(file, path), &data, &length);
    if (code == CLI_DONE) code = check(file, data, length);
    free(data);
    return code;
}
