/* SPDX-License-Identifier: BSD-3-Clause */
/* The program `skel`: finds the command, prints help. */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static const char k_help[] =
    "skel: physics for armatures and other skeletons\n"
    "\n"
    "  skel bake SCENE [-o OUT.{json,npy,csv}] [--report R.{json,csv}] [--to json|npy|csv]\n"
    "            [--fps F] [--start A] [--end B] [--tolerance T] [--step H] [--preroll S]\n"
    "            [--integrator auto|adams|bdf|conserving|rk4|euler] [--solver tree|pinv|kkt]\n"
    "            [--jobs N] [--progress]\n"
    "                                simulate, and write the motion as a track\n"
    "  skel accel SCENE [--solver tree|pinv|kkt] [-o OUT]\n"
    "                                accelerations of all bodies at the state of the scene\n"
    "  skel fk SCENE [--q=a,b,c | --pose NAME] [-o OUT]\n"
    "                                poses of all bodies at joint coordinates\n"
    "  skel inverse SCENE TRACK [-o OUT.{csv,json}] [--to csv|json] [--cutoff HZ]\n"
    "            [--motors SCENE_OUT]\n"
    "                                joint forces that cause a motion\n"
    "  skel flight SCENE --from A --to B --time T [--turns N] [--about x,y,z] [--fps F]\n"
    "            [-o OUT] [--scene SCENE_OUT]\n"
    "                                free flight from one pose to another\n"
    "  skel ik SCENE [-o OUT.{json,npy,csv}] [--to json|npy|csv] [--mode pose|track]\n"
    "            [--tolerance T] [--seed current|mid] [--start free|held] [--progress]\n"
    "            [--position X,Y,Z] [--orientation W,X,Y,Z] [--body NAME]\n"
    "                                joint coordinates that reach the goals of the scene\n"
    "  skel dh build TABLE [-o OUT]  convert a DH table (skel-dh/1 or CSV) to a scene\n"
    "  skel dh extract SCENE [--convention standard|modified] [--root A] [--tip B] [--snap S]\n"
    "            [--to json|csv] [-o OUT]\n"
    "                                write a chain of joints as a DH table\n"
    "  skel dh convert TABLE --convention standard|modified [--to json|csv] [-o OUT]\n"
    "                                write a DH table in the other convention\n"
    "  skel robots                   list the robots that are known by name (skel fk ur5)\n"
    "  skel check SCENE              list all problems of a document, one per line\n"
    "  skel convert IN OUT.{json,urdf,csv} [--to scene|dh|urdf|csv] [--convention C]\n"
    "            [--root A] [--tip B]  convert a document to another format\n"
    "  skel help COMMAND | --help | --version\n"
    "\n"
    "SCENE is a skel-scene/1 document, a DH table (skel-dh/1 or CSV), a URDF file, or the name\n"
    "of a robot. A document is a file, or - for standard input. Without -o the result goes to\n"
    "standard output.\n"
    "Exit code: 0 success, 1 the computation or the output failed, 2 the input or the call is\n"
    "wrong.\n";

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv); /* NULL: reserved for a later version */
    const char *help;
} command;

static const command k_commands[] = {
    {"bake", cli_bake,
     "skel bake SCENE [options]: simulate, and write the motion as a track\n"
     "  -o FILE            the track: .json (skel-track/1), .npy or .csv; default standard output\n"
     "  --to FORMAT        json, npy or csv, if the name of the file does not tell the format\n"
     "  --report FILE      energies, momenta and joint errors of each frame, .json or .csv\n"
     "  --fps F            frames per second; the motion does not depend on it\n"
     "  --start A --end B  first and last frame\n"
     "  --integrator NAME  auto; adams, bdf (variable steps); conserving, rk4, euler (fixed "
     "steps)\n"
     "  --tolerance T      for variable steps: error per simulated second, in radians and "
     "relative\n"
     "                     to the size of the skeleton\n"
     "  --step H           length of a fixed step in seconds; auto then picks rk4, or conserving "
     "if\n"
     "                     the scene has loops, contacts, limits, springs or pins\n"
     "  --preroll S        seconds that are simulated before the first frame\n"
     "  --solver NAME      accelerations by tree (fast), or by the reference solvers pinv and "
     "kkt\n"
     "  --jobs N           reserved; has no effect in this version\n"
     "  --progress         show progress even if standard error is not a terminal\n"},
    {"accel", cli_accel,
     "skel accel SCENE [--solver tree|pinv|kkt] [-o FILE]: accelerations at the state of the "
     "scene\n"
     "  {\"linear\": [body][3] in world axes, m/s^2; \"angular\": [body][3] in body axes, "
     "rad/s^2}\n"},
    {"fk", cli_fk,
     "skel fk SCENE [--q=a,b,c | --pose NAME] [-o FILE]: poses of all bodies, as skel-pose/1\n"
     "  --q=a,b,c    all joint coordinates in the order of the joints: radians, metres, and "
     "w,x,y,z\n"
     "               of a ball joint. The coordinates of mimic joints may be left out. Default:\n"
     "               the pose of the document\n"
     "  --pose NAME  a named pose of the document\n"},
    {"inverse", cli_inverse,
     "skel inverse SCENE TRACK [options]: joint forces of a motion, beyond those of the scene\n"
     "  -o FILE            the forces: .csv or .json; default CSV on standard output\n"
     "  --to FORMAT        csv or json, if the name of the file does not tell the format\n"
     "  --cutoff HZ        low-pass filter (Butterworth, no lag) before differentiation\n"
     "  --motors FILE      write the scene with these forces as motors and loads, for a bake\n"},
    {"flight", cli_flight,
     "skel flight SCENE --from A --to B --time T [options]: free flight from pose A to pose B\n"
     "  A, B               a skel-pose/1 document, TRACK@FRAME, or the word scene\n"
     "  --time T           seconds from take-off to landing\n"
     "  --turns N          whole turns beyond the shortest rotation; negative: the other way\n"
     "  --about x,y,z      direction of the turns in world axes, and their axis if A and B do "
     "not\n"
     "                     determine one\n"
     "  --fps F            frames per second; default: those of the scene\n"
     "  -o FILE            the track, with a report on its accuracy\n"
     "  --scene FILE       write the scene with the pose and the velocities of the take-off\n"},
    {"dh", cli_dh,
     "skel dh build TABLE [-o FILE]: convert a DH table (skel-dh/1, CSV, or a robot) to a scene\n"
     "  --convention C, --angle-unit rad|deg, --length-unit m|mm: of a CSV table that does not\n"
     "                  state them\n"
     "skel dh extract SCENE [options]: write a chain of joints as a DH table, with notes on the\n"
     "                  choices that were made\n"
     "  --convention C  standard (default) or modified\n"
     "  --root A        body or frame at which the chain begins; default the world\n"
     "  --tip B         body or frame at which it ends; default the tool, or the only end\n"
     "  --snap S        axes count as parallel (radians) or as intersecting (relative to the "
     "reach)\n"
     "                  if they are closer to it than S; default 1e-6, and up to 1e-3 for "
     "parallel\n"
     "                  axes if the table improves at little cost\n"
     "  --to FORMAT     json or csv\n"
     "skel dh convert TABLE --convention C [-o FILE]: write the table in the other convention;\n"
     "                  the conversion is exact\n"},
    {"robots", cli_robots,
     "skel robots: list the robots that are known by name: name, degrees of freedom, title\n"},
    {"check", cli_check,
     "skel check SCENE: list all problems of a document, one per line; exit code 2 if there are "
     "any\n"},
    {"convert", cli_convert,
     "skel convert IN OUT: convert the document IN to OUT: a scene in canonical form (.json), a\n"
     "                  URDF (.urdf) or a DH table (.csv)\n"
     "  --to KIND       scene, dh, urdf or csv, if the name of the file does not tell the format\n"
     "  --convention C, --root A, --tip B: for a table, as in skel dh extract\n"},
    {"ik", cli_ik,
     "skel ik SCENE [options]: joint coordinates that reach the goals of the scene, frame by "
     "frame\n"
     "  -o FILE            the track: .json (skel-track/1 with receipts), .npy or .csv; default\n"
     "                     standard output\n"
     "  --to FORMAT        json, npy or csv, if the name of the file does not tell the format\n"
     "  --mode MODE        pose (each frame by itself) or track (each frame continues the last)\n"
     "  --tolerance T      a goal counts as reached within T metres and T radians\n"
     "  --seed SEED        start of the search: current (pose of the scene) or mid (middle of "
     "the\n"
     "                     limits)\n"
     "  --start START      mode track: the first frame is free (may change to avoid jumps) or "
     "held\n"
     "  --position X,Y,Z   one goal instead of those of the document: position of the tool, "
     "metres\n"
     "  --orientation W,X,Y,Z  orientation of the tool, a unit quaternion\n"
     "  --body NAME        body or frame of that goal; default the tool\n"
     "  --progress         show progress even if standard error is not a terminal\n"
     "  Exit code 1 if a goal is not reached in some frame; the track is written "
     "nevertheless.\n"},
    {"skin", NULL, NULL},
    {"view", NULL, NULL},
};

static const command *find_command(const char *name) {
    for (size_t i = 0; i < sizeof k_commands / sizeof *k_commands; ++i)
        if (strcmp(k_commands[i].name, name) == 0) return &k_commands[i];
    return NULL;
}

static int unknown_command(const char *name) {
    return cli_error(CLI_WRONG, NULL, "'%s': %s; see skel --help", name,
                     find_command(name) ? "is not in this version" : "is not a command");
}

static int print_help(const char *name) {
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
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) return print_help(NULL);
    if (strcmp(argv[1], "help") == 0) return print_help(argc > 2 ? argv[2] : NULL);

    const command *c = find_command(argv[1]);
    if (!c || !c->run) return unknown_command(argv[1]);

    /* --help may stand anywhere before "--", which ends the options. */
    for (int i = 2; i < argc; ++i) {
        if (strcmp(argv[i], "--") == 0) break;
        if (strcmp(argv[i], "--help") == 0) return print_help(c->name);
    }
    return c->run(argc - 2, argv + 2);
}

/* Output that could not be written is an error, even if the command itself succeeded. A command
   that failed has already printed its reason. */
static int finish_output(int code) {
    errno = 0;
    if (fflush(stdout) == 0 && !ferror(stdout)) return code;

    if (code != CLI_FAILED)
        cli_error(CLI_FAILED, "standard output", "%s", strerror(errno ? errno : EIO));
    return CLI_FAILED;
}

int main(int argc, char **argv) {
    /* A closed pipe and a full quota become write errors, which remove the unfinished file. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);

    if (argc < 2) {
        fputs(k_help, stderr);
        return CLI_WRONG;
    }
    return finish_output(run_command(argc, argv));
}
