/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs a fuzz target once on every file of the folders and files named: the corpus as a regression
   test, for every compiler. Usage: fuzz_scene FILE_OR_FOLDER... */
#include "fuzz/fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long run_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        exit(2);
    }
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);

    /* A block of exactly this size, so that a sanitizer sees a byte read past the end. */
    uint8_t *data = malloc(size > 0 ? (size_t)size : 1);
    if (!data || fread(data, 1, (size_t)size, file) != (size_t)size) exit(2);
    fclose(file);
    fprintf(stderr, "%s\n", path); /* the last line before a crash names its input */
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 1;
}

static long run_path(const char *path) {
    DIR *folder = opendir(path);
    if (!folder) return run_file(path);
    long count = 0;
    for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char whole[4096];
        if (entry->d_name[0] == '.') continue;
        snprintf(whole, sizeof whole, "%s/%s", path, entry->d_name);
        count += run_file(whole);
    }
    closedir(folder);
    return count;
}

int main(int argc, char **argv) {
    long count = 0;
    for (int i = 1; i < argc; ++i) count += run_path(argv[i]);
    printf("%ld inputs\n", count);
    return count > 0 ? 0 : 2;
}
