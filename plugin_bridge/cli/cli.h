/* SPDX-License-Identifier: BSD-3-Clause */
/* Options, messages and files that all commands of `skel` share. */
#ifndef BRIDGE_CLI_CLI_H
#define BRIDGE_CLI_CLI_H

#include "document/text.h"

#include <skel/skel.h>

/** Exit codes: success; the computation or the output failed; the input or the call is wrong. */
enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG = 2 };

#if defined(__GNUC__)
#define CLI_PRINTF(form, first) __attribute__((format(printf, form, first)))
#else
#define CLI_PRINTF(form, first)
#endif

/* ---- messages (cli_options.c) ---------------------------------------------------------------- */

/** Prints "skel: FILE: ..." on standard error (file may be NULL). Returns `code`. */
CLI_PRINTF(3, 4) int cli_error(int code, const char *file, const char *form, ...);
/** Prints "skel: FILE: warning: ..." on standard error. */
void cli_warn(const char *file, const char *text);
/** Prints the warnings of a scene that concern dynamics (skel_scene_warning). */
void cli_warn_scene(const char *file, const skel_scene *scene);
/** Exit code for the status of a library call. */
int cli_exit_code(skel_status status);

/* ---- options (cli_options.c) ----------------------------------------------------------------- */

typedef struct cli_option {
    const char *name;   /* "--fps" */
    const char **value; /* NULL: the option is a flag */
    int *flag;
} cli_option;

/** Reads the arguments after the name of the command. `options` ends with a NULL name. The
    arguments that are not options go to argument[count]; all of them are required, and `usage`
    names them in messages. */
int cli_read_options(int argc, char **argv, const cli_option *options, const char *usage,
                     const char **argument, int count);

/* The functions below leave *out unchanged if `text` is NULL, and print an error if it is wrong. */

/** A finite number; if `positive`, it must be > 0. */
int cli_read_number(const char *option, const char *text, int positive, double *out);
/** `count` finite numbers, separated by commas. text must not be NULL. */
int cli_read_numbers(const char *option, const char *text, int32_t count, double *out);
int cli_read_integer(const char *option, const char *text, int32_t *out);
/** *out is the index i with name(i) == text; name(i) is NULL beyond the last one. */
int cli_read_choice(const char *option, const char *text, const char *(*name)(int32_t),
                    int32_t *out);
/** "standard" or "modified": SKEL_DH_*. */
int cli_read_convention(const char *text, int32_t *out);

/* ---- files (cli_files.c) --------------------------------------------------------------------- */

/** Whether two paths name the same file, even if it does not exist yet. "-" names no file. */
int cli_is_same_file(const char *a, const char *b);
/** Prints an error if the output file is the input file. */
int cli_protect_input(const char *input, const char *out);

#define CLI_POSES_MAX 200000000.0 /* frames times bodies of a track */
#define CLI_GAP_WARN 1e-5         /* [m], [rad]: larger joint gaps of given poses are reported */
#define CLI_PATH_BYTES 8192
#define CLI_FOLDER_BYTES 4096
/** The k-th folder that may contain robots, or "" if it is not known. Returns 0 beyond the last. */
int cli_robot_folder(int k, char folder[CLI_FOLDER_BYTES]);
/** If `file` is the name of a robot and no such file exists: writes the path of the robot's
    document to path[CLI_PATH_BYTES] and returns it. Otherwise returns `file`. */
const char *cli_find_input(const char *file, char path[]);

/** Reads the whole file ("-": standard input). The caller frees *data. */
int cli_read_file(const char *file, char **data, size_t *length);
int cli_read_scene(const char *file, skel_scene **scene);
/** Reads a skel-track/1 or skel-pose/1 document of the bodies of the model. */
int cli_read_track(const char *file, const skel_model *model, skel_track **track);
/** Writes the text to the file `out`; NULL or "-" is standard output. */
int cli_write(const char *out, const text_buffer *text);
/** Writes the scene with the changes of `edit`. */
int cli_write_edited(const char *out, const skel_scene *scene, const skel_scene_edit *edit);

/** A library function that writes a text: once with capacity 0 to measure it, once to fill it. */
typedef skel_status cli_text_function(const void *source, char *text, size_t capacity,
                                      size_t *needed, skel_error *err);
/** Writes the text of `function` to the file `out`. `file` names the input in messages. */
int cli_write_text(const char *file, const char *out, cli_text_function *function,
                   const void *source);
/** Prints the lines of such a text on standard error; those that begin with "warning: " by
    cli_warn. */
int cli_print_text(const char *file, cli_text_function *function, const void *source);

/** Write a scene as skel-scene/1, as URDF or as a DH table. `file` names the input in messages. */
int cli_write_scene(const char *file, const char *out, const skel_scene *scene);
int cli_write_urdf(const char *file, const char *out, const skel_scene *scene);
int cli_write_table(const char *file, const char *out, const skel_scene *scene,
                    const skel_scene_dh_desc *desc);
/** "name": [[...], ...], of each row of `stride` numbers the first `width`. */
void cli_put_rows(text_buffer *text, const char *name, const double *rows, int32_t count,
                  int32_t stride, int32_t width);

/* ---- commands -------------------------------------------------------------------------------- */

int cli_bake(int argc, char **argv);
int cli_accel(int argc, char **argv);
int cli_fk(int argc, char **argv);
int cli_check(int argc, char **argv);
int cli_convert(int argc, char **argv);
int cli_inverse(int argc, char **argv);
int cli_flight(int argc, char **argv);
int cli_ik(int argc, char **argv);
int cli_dh(int argc, char **argv);
int cli_robots(int argc, char **argv);

#endif
