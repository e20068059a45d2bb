/* SPDX-License-Identifier: BSD-3-Clause */
/* The command `skel`: picks the sub-command; options, files and messages that all of them share. */
#include "cli/cli.h"
#include "cli/outfile.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_BYTES ((size_t)64 << 20) /* what skel_scene_parse takes */

static const char k_help[] =
    "skel: physics for armatures and other skeletons\n"
    "\n"
    "  skel bake SCENE [-o OUT.{json,npy,csv}] [--report R.{json,csv}] [--to json|npy|csv]\n"
    "            [--fps F] [--start A] [--end B] [--tolerance T] [--step H] [--preroll S]\n"
    "            [--integrator auto|adams|bdf|conserving|rk4|euler] [--solver tree|pinv|kkt]\n"
    "            [--jobs N] [--progress]\n"
    "                                simulate, and write the motion as a track\n"
    "  skel accel SCENE [--solver tree|pinv|kkt] [-o OUT]\n"
    "                                accelerations at the given state\n"
    "  skel fk SCENE [--q=a,b,c | --pose NAME] [-o OUT]\n"
    "                                poses of the bodies at joint coordinates\n"
    "  skel inverse SCENE TRACK [-o OUT.{csv,json}] [--cutoff HZ] [--motors SCENE_OUT]\n"
    "                                joint forces of a motion\n"
    "  skel flight SCENE --from A --to B --time T [--turns N] [--about x,y,z] [--fps F]\n"
    "            [-o OUT] [--scene SCENE_OUT]\n"
    "                                from pose to pose through the air\n"
    "  skel ik SCENE [-o OUT.{json,npy,csv}] [--to json|npy|csv] [--mode pose|track]\n"
    "            [--tolerance T] [--seed current|mid] [--start free|held] [--progress]\n"
    "            [--position X,Y,Z] [--orientation W,X,Y,Z] [--body NAME]\n"
    "                                joint coordinates that fulfil the scene's goals\n"
    "  skel dh build TABLE [-o OUT]  a scene of a DH table (skel-dh/1 or CSV)\n"
    "  skel dh extract SCENE [--convention standard|modified] [--root A] [--tip B] [--snap S]\n"
    "            [--to json|csv] [-o OUT]\n"
    "                                the DH table of a chain\n"
    "  skel dh convert TABLE --convention standard|modified [--to json|csv] [-o OUT]\n"
    "                                the same table in the other convention\n"
    "  skel robots                   robots that are known by name, as in: skel fk ur5\n"
    "  skel check SCENE              everything wrong with a document, one line each\n"
    "  skel convert IN OUT.{json,urdf,csv} [--to scene|dh|urdf|csv] [--convention C]\n"
    "            [--root A] [--tip B]  any document of a model as any other that can hold it\n"
    "  skel help COMMAND | --help | --version\n"
    "\n"
    "SCENE is a skel-scene/1, a DH table (skel-dh/1 or CSV), a URDF, or the name of a robot.\n"
    "A document is a file, or - for standard input. Without -o the result goes to standard "
    "output.\n"
    "Exit code: 0 done, 1 the work failed, 2 the input or the call is wrong.\n";

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* NULL: not in this version */
    const char *help;
} command;

static const command k_commands[] = {
    {"bake", cli_bake,
     "skel bake SCENE [options]: simulate, and write the motion as a track\n"
     "  -o FILE            .json (skel-track/1), .npy or .csv; none or -: standard output\n"
     "  --to FORMAT        json, npy or csv, where the name does not say it\n"
     "  --report FILE      energies, momenta and joint errors per frame, .json or .csv\n"
     "  --fps F            frames per second; the motion itself does not depend on it\n"
     "  --start A --end B  first and last frame\n"
     "  --integrator NAME  auto; adams, bdf (steps by tolerance); conserving, rk4, euler (fixed "
     "steps)\n"
     "  --tolerance T      about what a second may be wrong by, in rad and sizes of the skeleton\n"
     "  --step H           length of a fixed step in seconds; auto is then rk4 (loops: "
     "conserving)\n"
     "  --preroll S        seconds simulated before the first frame\n"
     "  --solver NAME      tree (fast), pinv (the printed system) or kkt\n"
     "  --jobs N           taken for the farm's sake: a scene is one job, with any N\n"
     "  --progress         show progress also where standard error is no terminal\n"},
    {"accel", cli_accel,
     "skel accel SCENE [--solver tree|pinv|kkt] [-o FILE]: accelerations at the given state\n"
     "  {\"linear\": [body][3] in the world, \"angular\": [body][3] in body axes}\n"},
    {"fk", cli_fk,
     "skel fk SCENE [--q=a,b,c | --pose NAME] [-o FILE]: poses of the bodies, as skel-pose/1\n"
     "  --q  all joint coordinates in the order of the joints: rad, m, and w,x,y,z for a ball;\n"
     "       without it, the pose of the document. Joints that mimic others may be left out.\n"
     "  --pose NAME  one of the named poses of the document\n"},
    {"inverse", cli_inverse,
     "skel inverse SCENE TRACK [options]: joint forces of a motion, beyond what the scene has\n"
     "  -o FILE            .csv or .json; none or -: CSV on standard output\n"
     "  --to FORMAT        csv or json, where the name does not say it\n"
     "  --cutoff HZ        low-pass filter (Butterworth, no lag) before differentiating\n"
     "  --motors FILE      the scene with these forces as motors and loads, to run it forward\n"},
    {"flight", cli_flight,
     "skel flight SCENE --from A --to B --time T [options]: the one flight that leads from A to B\n"
     "  A, B               a skel-pose/1, TRACK@FRAME, or the word scene\n"
     "  --time T           seconds from take-off to landing\n"
     "  --turns N          whole turns beyond the short way round; negative: the other way\n"
     "  --about x,y,z      the sense of the turns in the world, and their axis where A and B do\n"
     "                     not give one\n"
     "  --fps F            frames per second; without it, the scene's\n"
     "  -o FILE            the track, with its receipt as report\n"
     "  --scene FILE       the scene with pose and velocities of the take-off\n"},
    {"dh", cli_dh,
     "skel dh build TABLE [-o FILE]: a skel-scene/1 of a skel-dh/1 or CSV table, or of a robot\n"
     "  --convention C, --angle-unit rad|deg, --length-unit m|mm: of a CSV that does not say so\n"
     "skel dh extract SCENE [options]: the DH table of a chain, with notes on what was chosen\n"
     "  --convention C  standard (default) or modified\n"
     "  --root A        body or frame the chain begins at; default the world\n"
     "  --tip B         body or frame it ends in; default the tool, or the only end\n"
     "  --snap S        axes nearer to parallel or to meeting are taken to be it; default 1e-6,\n"
     "                  and up to 1e-3 where parallel axes give a better table at little cost\n"
     "  --to FORMAT     json or csv\n"
     "skel dh convert TABLE --convention C [-o FILE]: the rows in the other convention, exactly\n"},
    {"robots", cli_robots, "skel robots: robots that are known by name: name, joints, title\n"},
    {"check", cli_check,
     "skel check SCENE: everything wrong with a document, one line each; exit 2 where it is\n"},
    {"convert", cli_convert,
     "skel convert IN OUT: the document IN as OUT: a scene in canonical form (.json), a URDF\n"
     "  (.urdf), a DH table (.csv)\n"
     "  --to KIND       scene, dh, urdf or csv, where the name does not say it\n"
     "  --convention C, --root A, --tip B: of a table, as for skel dh extract\n"},
    {"ik", cli_ik,
     "skel ik SCENE [options]: joint coordinates that fulfil the scene's goals, frame by frame\n"
     "  -o FILE            .json (skel-track/1 with receipts), .npy or .csv; none or -: standard "
     "output\n"
     "  --to FORMAT        json, npy or csv, where the name does not say it\n"
     "  --mode MODE        pose (every frame on its own) or track (from frame to frame)\n"
     "  --tolerance T      how far off a goal may be, in metres and radians\n"
     "  --seed SEED        where to start: current (the pose of the scene) or mid (of the limits)\n"
     "  --start START      track: the first frame is free (may take another pose where else "
     "joints\n"
     "                     would jump) or held\n"
     "  --position X,Y,Z   one goal instead of the document's: where the tool is to be\n"
     "  --orientation W,X,Y,Z  and how it is turned\n"
     "  --body NAME        body or frame that is meant, where it is not the tool\n"
     "  --progress         show progress also where standard error is no terminal\n"
     "  Exit code 1 where a frame was not reached; the track is written all the same.\n"},
    {"skin", NULL, NULL},
    {"view", NULL, NULL},
};

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

void cli_warn_dynamics(const char *file, const skel_scene *scene) {
    for (int32_t i = 0; skel_scene_warning(scene, i); ++i)
        cli_warn(file, skel_scene_warning(scene, i));
}

int cli_code(skel_status status) {
    if (status >= 0) return CLI_DONE;
    if (status == SKEL_E_MEMORY || status <= SKEL_E_SINGULAR) return CLI_FAILED;
    return CLI_WRONG;
}

/* ---- options --------------------------------------------------------------------------------- */

/* "--fps=24" or "--fps 24"; *i moves on where the value is a word of its own. */
static int take_option(int argc, char **argv, int *i, const cli_option *options) {
    const char  *arg    = argv[*i];
    const char  *equals = strncmp(arg, "--", 2) == 0 ? strchr(arg, '=') : NULL;
    const size_t n      = equals ? (size_t)(equals - arg) : strlen(arg);
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

int cli_options(int argc, char **argv, const cli_option *options, const char *words,
                const char **word, int count) {
    int found = 0, only_words = 0;
    for (int i = 0; i < argc; ++i) {
        if (!only_words && strcmp(argv[i], "--") == 0) {
            only_words = 1;
        } else if (!only_words && argv[i][0] == '-' && argv[i][1]) {
            const int code = take_option(argc, argv, &i, options);
            if (code != CLI_DONE) return code;
        } else if (found == count) {
            return cli_error(CLI_WRONG, NULL, "'%s': is one word too many, must be: %s", argv[i],
                             words);
        } else {
            word[found++] = argv[i];
        }
    }
    if (found == count) return CLI_DONE;
    return cli_error(CLI_WRONG, NULL, "a file is missing, must be: %s", words);
}

/* The folder a path lies in, as the system knows it, and the name within. */
static int place_of(const char *path, struct stat *folder, const char **name) {
    char         parent[4096];
    const char  *slash = strrchr(path, '/');
    const size_t n     = slash ? (size_t)(slash - path) + 1 : 0;
    *name              = path + n;
    if (n >= sizeof parent) return 0;
    memcpy(parent, path, n);
    memcpy(parent + n, ".", 2);
    return stat(parent, folder) == 0;
}

int cli_same_place(const char *a, const char *b) {
    struct stat x, y;
    const char *one, *two;
    if (!a || !b || strcmp(a, "-") == 0 || strcmp(b, "-") == 0) return 0;
    if (strcmp(a, b) == 0) return 1;
    if (stat(a, &x) == 0 && stat(b, &y) == 0)
        return S_ISREG(x.st_mode) && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
    return place_of(a, &x, &one) && place_of(b, &y, &two) && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino && strcmp(one, two) == 0;
}

int cli_keep_scene(const char *scene, const char *out) {
    if (!cli_same_place(scene, out)) return CLI_DONE;
    return cli_error(CLI_WRONG, scene, "is the scene, must not be written over");
}

int cli_number(const char *option, const char *text, int positive, double *out) {
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

int cli_numbers(const char *option, const char *text, int32_t count, double *out) {
    const char *at = text;
    for (int32_t i = 0; i < count; ++i) {
        char *end = NULL;
        out[i]    = strtod(at, &end);
        if (end == at || !isfinite(out[i]) || (*end != ',' && *end != 0))
            return cli_error(CLI_WRONG, NULL, "%s: number %d is '%.*s', must be a number", option,
                             (int)i + 1, (int)strcspn(at, ","), at);
        if (*end == 0 && i + 1 < count)
            return cli_error(CLI_WRONG, NULL, "%s: has %d numbers, must have %d", option,
                             (int)i + 1, (int)count);
        at = end + 1;
    }
    if (count > 0 && at[-1] != 0)
        return cli_error(CLI_WRONG, NULL, "%s: is '%s', must have %d numbers", option, text,
                         (int)count);
    return CLI_DONE;
}

int cli_integer(const char *option, const char *text, int32_t *out) {
    char *end = NULL;
    if (!text) return CLI_DONE;
    errno        = 0;
    const long x = strtol(text, &end, 10);
    if (end != text && *end == 0 && errno == 0 && x >= -1000000000 && x <= 1000000000) {
        *out = (int32_t)x;
        return CLI_DONE;
    }
    return cli_error(CLI_WRONG, NULL,
                     "%s: is '%s', must be a whole number from -1000000000 to 1000000000", option,
                     text);
}

int cli_choice(const char *option, const char *text, const char *(*name)(int32_t), int32_t *out) {
    char   list[256] = "";
    size_t used      = 0;
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

/* ---- files ----------------------------------------------------------------------------------- */

/* Reads at most one byte over the limit: enough to know that it is over. */
static int read_stream(FILE *stream, char **data, size_t *length) {
    size_t capacity = 65536;
    *length         = 0;
    *data           = malloc(capacity);
    while (*data) {
        *length += fread(*data + *length, 1, capacity - *length, stream);
        if (*length < capacity || *length > MAX_BYTES) return ferror(stream) ? EIO : 0;
        capacity   = 2 * capacity < MAX_BYTES ? 2 * capacity : MAX_BYTES + 1;
        char *more = realloc(*data, capacity);
        if (!more) free(*data);
        *data = more;
    }
    return ENOMEM;
}

int cli_read(const char *file, char **data, size_t *length) {
    const int   standard = strcmp(file, "-") == 0;
    FILE       *stream   = standard ? stdin : fopen(file, "rb");
    struct stat info     = {0};
    *data                = NULL;
    if (!stream)
        return cli_error(CLI_WRONG, file, "%s%s", strerror(errno),
                         strpbrk(file, "/.") ? "" : ", nor is it a robot (skel robots lists them)");
    int error = 0;
    if (fstat(fileno(stream), &info) == 0 && S_ISDIR(info.st_mode))
        error = EISDIR;
    else if (S_ISREG(info.st_mode) && (size_t)info.st_size > MAX_BYTES)
        error = EFBIG;
    else
        error = read_stream(stream, data, length);
    if (!error && *length > MAX_BYTES) error = EFBIG;
    if (!standard) fclose(stream);
    if (!error) return CLI_DONE;
    free(*data);
    *data = NULL;
    if (error == EFBIG)
        return cli_error(CLI_WRONG, file, "document: is larger than %zu bytes, must be smaller",
                         MAX_BYTES);
    return cli_error(error == ENOMEM ? CLI_FAILED : CLI_WRONG, file, "%s", strerror(error));
}

int cli_scene(const char *file, skel_scene **scene) {
    char      *data, path[CLI_PATH];
    size_t     length;
    skel_error err;
    int        code = cli_read(cli_find(file, path), &data, &length);
    if (code != CLI_DONE) return code;
    skel_error_init(&err);
    const skel_status status = skel_scene_parse(data, length, scene, &err);
    free(data);
    return status == SKEL_OK ? CLI_DONE : cli_error(cli_code(status), file, "%s", err.text);
}

int cli_write(const char *out, const text_buffer *text) {
    const char *name = out ? out : "-";
    outfile     file;
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

int cli_track(const char *file, const skel_model *model, skel_track **track) {
    char      *data;
    size_t     length;
    skel_error err;
    int        code = cli_read(file, &data, &length);
    if (code != CLI_DONE) return code;
    skel_error_init(&err);
    const skel_status status = skel_track_parse(data, length, model, track, &err);
    free(data);
    return status == SKEL_OK ? CLI_DONE : cli_error(cli_code(status), file, "%s", err.text);
}

int cli_write_edited(const char *out, const skel_scene *scene, const skel_scene_edit *edit) {
    text_buffer t      = {0};
    size_t      needed = 0;
    skel_status status = skel_scene_write_edited(scene, edit, NULL, 0, &needed);
    if (status == SKEL_E_BUFFER) t.data = calloc(1, needed + 1);
    if (!t.data || skel_scene_write_edited(scene, edit, t.data, needed + 1, &needed) != SKEL_OK)
        t.failed = 1;
    t.length       = needed;
    const int code = cli_write(out, &t);
    text_free(&t);
    return code;
}

/* ---- main ------------------------------------------------------------------------------------ */

static const command *find_command(const char *name) {
    for (size_t i = 0; i < sizeof k_commands / sizeof *k_commands; ++i)
        if (strcmp(k_commands[i].name, name) == 0) return &k_commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    return cli_error(CLI_WRONG, NULL, "'%s': %s; see skel --help", name,
                     find_command(name) ? "is not in this version" : "is not a command");
}

static int show_help(const char *name) {
    const command *c = name ? find_command(name) : NULL;
    if (name && (!c || !c->run)) return unknown_command(name);
    fputs(c ? c->help : k_help, stdout);
    return CLI_DONE;
}

static int run_command(int argc, char **argv) {
    if (strcmp(argv[1], "--version") == 0) {
        printf("skel %s\n", skel_version());
        return CLI_DONE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return show_help(NULL);
    if (strcmp(argv[1], "help") == 0) return show_help(argc > 2 ? argv[2] : NULL);
    const command *c = find_command(argv[1]);
    if (!c || !c->run) return unknown_command(argv[1]);
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "--") == 0) break;
        if (strcmp(argv[i], "--help") == 0) return show_help(c->name);
    }
    return c->run(argc - 2, argv + 2);
}

/* What a command printed must have arrived. One that failed has said why. */
static int finish_output(int code) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;
    if (code != CLI_FAILED)
        cli_error(CLI_FAILED, "standard output", "%s", strerror(errno ? errno : EIO));
    return CLI_FAILED;
}

int main(int argc, char **argv) {
    signal(SIGPIPE, SIG_IGN); /* a closed pipe and a full quota are write errors like others: */
    signal(SIGXFSZ, SIG_IGN); /* then nothing is left behind */
    if (argc < 2) {
        fputs(k_help, stderr);
        return CLI_WRONG;
    }
    return finish_output(run_command(argc, argv));
}
