/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and options of the command `skel`. */
#include "cli/cli.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CLI_INTEGER_MAX 1000000000

/* ---- messages -------------------------------------------------------------------------------- */

int cli_error(int code, const char *file, const char *form, ...) {
    va_list args;
    va_start(args, form);
    fputs("skel: ", stderr);
    if (file) fprintf(stderr, "%s: ", file);
    vfprintf(stderr, form, args);
    fputc('\n', stderr);
    va_end(args);
    return code;
}

void cli_warn(const char *file, const char *text) {
    fprintf(stderr, "skel: %s: warning: %s\n", file, text);
}

void cli_warn_scene(const char *file, const skel_scene *scene) {
    for (int32_t i = 0; skel_scene_warning(scene, i); ++i)
        cli_warn(file, skel_scene_warning(scene, i));
}

int cli_exit_code(skel_status status) {
    if (status >= 0) return CLI_DONE;
    if (status == SKEL_E_MEMORY || status <= SKEL_E_SINGULAR) return CLI_FAILED;
    return CLI_WRONG;
}

/* ---- options --------------------------------------------------------------------------------- */

/* Reads "--fps=24" or "--fps 24"; in the second form *i advances to the value. */
static int read_option(int argc, char **argv, int *i, const cli_option *options) {
    const char *arg = argv[*i];
    const char *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
    const size_t n = equals ? (size_t)(equals - arg) : strlen(arg);

    for (const cli_option *o = options; o->name; ++o) {
        if (strlen(o->name) != n || strncmp(o->name, arg, n) != 0) continue;

        if (o->flag) {
            *o->flag = 1;
            return equals ? cli_error(CLI_WRONG, NULL, "%s: takes no value", o->name) : CLI_DONE;
        }
        if (*o->value) return cli_error(CLI_WRONG, NULL, "%s: is given twice", o->name);
        if (!equals && *i + 1 >= argc)
            return cli_error(CLI_WRONG, NULL, "%s: needs a value", o->name);
        *o->value = equals ? equals + 1 : argv[++*i];
        return CLI_DONE;
    }
    return cli_error(CLI_WRONG, NULL, "%.*s: is not an option of this command; see skel help",
                     (int)n, arg);
}

int cli_read_options(int argc, char **argv, const cli_option *options, const char *usage,
                     const char **argument, int count) {
    int found = 0, options_ended = 0;
    for (int i = 0; i < argc; ++i) {
        if (!options_ended && strcmp(argv[i], "--") == 0) {
            options_ended = 1;
        } else if (!options_ended && argv[i][0] == '-' && argv[i][1]) {
            const int code = read_option(argc, argv, &i, options);
            if (code != CLI_DONE) return code;
        } else if (found == count) {
            return cli_error(CLI_WRONG, NULL, "unexpected argument '%s'; usage: %s", argv[i],
                             usage);
        } else {
            argument[found++] = argv[i];
        }
    }
    if (found == count) return CLI_DONE;
    return cli_error(CLI_WRONG, NULL, "an argument is missing; usage: %s", usage);
}

/* ---- values ---------------------------------------------------------------------------------- */

int cli_read_number(const char *option, const char *text, int positive, double *out) {
    char *end = NULL;
    if (!text) return CLI_DONE;

    const double x = strtod(text, &end);
    if (end != text && *end == 0 && isfinite(x) && (!positive || x > 0.0)) {
        *out = x;
        return CLI_DONE;
    }
    return cli_error(CLI_WRONG, NULL, "%s: is '%s', must be a number%s", option, text,
                     positive ? " > 0" : "");
}

int cli_read_numbers(const char *option, const char *text, int32_t count, double *out) {
    const char *at = text;
    for (int32_t i = 0; i < count; ++i) {
        char *end = NULL;
        out[i] = strtod(at, &end);
        if (end == at || !isfinite(out[i]) || (*end != ',' && *end != 0))
            return cli_error(CLI_WRONG, NULL, "%s: number %d is '%.*s', must be a number", option,
                             (int)i + 1, (int)strcspn(at, ","), at);
        if (*end == 0 && i + 1 < count)
            return cli_error(CLI_WRONG, NULL, "%s: has %d numbers, must have %d", option,
                             (int)i + 1, (int)count);
        at = end + 1;
    }

    /* The last number must end the text: a comma there begins another number. */
    if (count > 0 && at[-1] != 0)
        return cli_error(CLI_WRONG, NULL, "%s: is '%s', must have %d numbers", option, text,
                         (int)count);
    return CLI_DONE;
}

int cli_read_integer(const char *option, const char *text, int32_t *out) {
    char *end = NULL;
    if (!text) return CLI_DONE;

    errno = 0;
    const long x = strtol(text, &end, 10);
    if (end != text && *end == 0 && errno == 0 && x >= -CLI_INTEGER_MAX && x <= CLI_INTEGER_MAX) {
        *out = (int32_t)x;
        return CLI_DONE;
    }
    return cli_error(CLI_WRONG, NULL, "%s: is '%s', must be a whole number from %d to %d", option,
                     text, -CLI_INTEGER_MAX, CLI_INTEGER_MAX);
}

int cli_read_choice(const char *option, const char *text, const char *(*name)(int32_t),
                    int32_t *out) {
    char list[256] = "";
    size_t used = 0;
    if (!text) return CLI_DONE;

    for (int32_t i = 0; name(i); ++i) {
        if (strcmp(name(i), text) == 0) {
            *out = i;
            return CLI_DONE;
        }
        const int n = snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", name(i));
        if (n > 0 && (size_t)n < sizeof list - used) used += (size_t)n;
    }
    return cli_error(CLI_WRONG, NULL, "%s: is '%s', must be one of %s", option, text, list);
}

static const char *convention_name(int32_t k) {
    static const char *const names[] = {"standard", "modified"};
    return k >= 0 && k < 2 ? names[k] : NULL;
}

int cli_read_convention(const char *text, int32_t *out) {
    return cli_read_choice("--convention", text, convention_name, out);
}
