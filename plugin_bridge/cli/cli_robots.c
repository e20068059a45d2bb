/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel robots`: lists the robots that commands find by name. */
#include "cli/cli.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLI_ROBOTS_MAX 4096

/* Opens the first robot folder that exists. */
static DIR *open_folder(char folder[CLI_FOLDER_BYTES]) {
    for (int k = 0; cli_robot_folder(k, folder); ++k) {
        DIR *dir = folder[0] ? opendir(folder) : NULL;
        if (dir) return dir;
    }
    return NULL;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Stores the names of the .json files without their extension, in alphabetical order; the caller
   frees them. */
static size_t read_names(DIR *dir, char *names[CLI_ROBOTS_MAX]) {
    static const char extension[] = ".json";
    const size_t tail = sizeof extension - 1;
    size_t count = 0;

    for (struct dirent *e = readdir(dir); e && count < CLI_ROBOTS_MAX; e = readdir(dir)) {
        const size_t n = strlen(e->d_name);
        if (n <= tail || strcmp(e->d_name + n - tail, extension) != 0) continue;
        names[count] = strndup(e->d_name, n - tail);
        if (names[count]) ++count;
    }
    qsort(names, count, sizeof *names, compare_names);
    return count;
}

/* Prints the name, the degrees of freedom and the title of a robot. */
static void print_robot(const char *folder, const char *name) {
    char path[CLI_PATH_BYTES];
    char *data = NULL;
    size_t length = 0;
    skel_scene *scene = NULL;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);

    if (cli_read_file(path, &data, &length) == CLI_DONE &&
        skel_scene_parse(data, length, &scene, NULL) == SKEL_OK)
        printf("%-20s %2d  %s\n", name, (int)skel_model_dof(skel_scene_model(scene)),
               skel_scene_name(scene));

    skel_scene_destroy(scene);
    free(data);
}

int cli_robots(int argc, char **argv) {
    const cli_option options[] = {{NULL, NULL, NULL}};
    char folder[CLI_FOLDER_BYTES];
    char *names[CLI_ROBOTS_MAX];
    const int code = cli_read_options(argc, argv, options, "skel robots", NULL, 0);
    if (code != CLI_DONE) return code;

    DIR *dir = open_folder(folder);
    if (!dir)
        return cli_error(CLI_FAILED, NULL,
                         "no folder of robots found: set SKEL_ROBOTS to the folder samples/robots");
    const size_t count = read_names(dir, names);
    closedir(dir);

    for (size_t i = 0; i < count; ++i) {
        print_robot(folder, names[i]);
        free(names[i]);
    }
    return CLI_DONE;
}
