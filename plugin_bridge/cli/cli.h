/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the command `skel` share. Exit codes: 0 done, 1 the work failed, 2 the input or
   the call is wrong. */
#ifndef BRIDGE_CLI_CLI_H
#define BRIDGE_CLI_CLI_H

#include "document/text.h"

#include <skel/skel.h>

enum { CLI_DONE = 0, CLI_FAILED = 1, CLI_WRONG = 2 };

#if defined(__GNUC__)
#define CLI_PRINTF(form, first) __attribute__((format(printf, form, first)))
#else
#define CLI_PRINTF(form, first)
#endif

/** "skel: FILE: ..." on standard error (file may be NULL); returns `code`. */
CLI_PRINTF(3, 4) int cli_error(int code, const char *file, const char *form, ...);
/** "skel: FILE: warning: ...". */
void cli_warn(const char *file, const char *text);
/** What dynamics has to say of the scene (skel_scene_warning). */
void cli_warn_dynamics(const char *file, const skel_scene *scene);
/** Exit code of a failed call. */
int cli_code(skel_status status);

typedef struct cli_option {
    const char  *name;  /* "--fps" */
    const char **value; /* NULL: a flag */
    int         *flag;
} cli_option;

/** Sorts the arguments after the command's name; options end with a NULL name. Fills `count` words
    that are no options, all of them needed (`words` names them for the message). */
int cli_options(int argc, char **argv, const cli_option *options, const char *words,
                const char **word, int count);
/** Finite numbers; "must" is given where the text is none or the number does not fit. */
int cli_number(const char *option, const char *text, int positive, double *out);
/** `count` numbers with commas between them. */
int cli_numbers(const char *option, const char *text, int32_t count, double *out);
int cli_integer(const char *option, const char *text, int32_t *out);
/** A name of the engine's table. */
int cli_choice(const char *option, const char *text, const char *(*name)(int32_t), int32_t *out);

/** Whether two paths name one file, also one that is not there yet. "-" is no file. */
int cli_same_place(const char *a, const char *b);
/** Refuses to write over the scene. */
int cli_keep_scene(const char *scene, const char *out);

#define CLI_PATH 8192
/** A word that is no file, but the name of a robot: its path, in `path` (CLI_PATH). Else file. */
const char *cli_find(const char *file, char path[]);

/** The whole file ("-": standard input), to be freed. */
int cli_read(const char *file, char **data, size_t *length);
int cli_scene(const char *file, skel_scene **scene);
/** A skel-track/1 or skel-pose/1 of the bodies of the model. */
int cli_track(const char *file, const skel_model *model, skel_track **track);
/** Sends a text to -o; NULL or "-" is standard output. */
int cli_write(const char *out, const text_buffer *text);
/** The same for a scene with another start and other forces. */
int cli_write_edited(const char *out, const skel_scene *scene, const skel_scene_edit *edit);

/** A scene as skel-scene/1, URDF or a table; `file` is for messages. */
int cli_write_scene(const char *file, const char *out, const skel_scene *scene);
int cli_write_urdf(const char *file, const char *out, const skel_scene *scene);
int cli_write_table(const char *file, const char *out, const skel_scene *scene,
                    const skel_scene_dh_desc *desc);
/** "standard" or "modified". */
int cli_convention(const char *text, int32_t *out);

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
