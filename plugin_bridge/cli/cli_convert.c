/* SPDX-License-Identifier: BSD-3-Clause */
/* `skel convert`: a scene, a URDF or a DH table in another format. */
#include "cli/cli.h"

#include <string.h>

enum { TO_SCENE, TO_DH, TO_URDF, TO_CSV };

static const char *format_name(int32_t k) {
    static const char *const names[] = {"scene", "dh", "urdf", "csv"};
    return k >= TO_SCENE && k <= TO_CSV ? names[k] : NULL;
}

/* The format of the output: by --to, or by the name of the file. */
static int pick_format(const char *out, const char *to, int32_t *format) {
    static const struct {
        const char *extension;
        int32_t format;
    } known[] = {{".json", TO_SCENE}, {".urdf", TO_URDF}, {".csv", TO_CSV}};
    const size_t n = strlen(out);

    if (to) return cli_read_choice("--to", to, format_name, format);
    *format = TO_SCENE;
    if (strcmp(out, "-") == 0) return CLI_DONE;

    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        const size_t m = strlen(known[k].extension);
        *format = known[k].format;
        if (n >= m && strcmp(out + n - m, known[k].extension) == 0) return CLI_DONE;
    }
    return cli_error(CLI_WRONG, out, "must end in .json, .urdf or .csv, or --to must be given");
}

int cli_convert(int argc, char **argv) {
    const char *files[2] = {NULL, NULL}, *to = NULL, *convention = NULL;
    skel_scene *scene = NULL;
    int32_t format = TO_SCENE;
    skel_scene_dh_desc d;
    skel_scene_dh_desc_init(&d);
    const cli_option options[] = {{"--to", &to, NULL},
                                  {"--convention", &convention, NULL},
                                  {"--root", &d.root, NULL},
                                  {"--tip", &d.tip, NULL},
                                  {NULL, NULL, NULL}};

    int code = cli_read_options(argc, argv, options, "skel convert IN OUT", files, 2);
    if (code == CLI_DONE) code = pick_format(files[1], to, &format);
    if (code == CLI_DONE) code = cli_read_convention(convention, &d.convention);
    if (code == CLI_DONE) code = cli_read_scene(files[0], &scene);

    d.is_csv = format == TO_CSV;
    if (code == CLI_DONE && format == TO_SCENE) code = cli_write_scene(files[0], files[1], scene);
    if (code == CLI_DONE && format == TO_URDF) code = cli_write_urdf(files[0], files[1], scene);
    if (code == CLI_DONE && (format == TO_DH || format == TO_CSV))
        code = cli_write_table(files[0], files[1], scene, &d);
    skel_scene_destroy(scene);
    return code;
}
