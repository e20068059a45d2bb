/* SPDX-License-Identifier: BSD-3-Clause */
/* Which kind of document a text is, by its first characters. */
#include "document/kind.h"

#include <stdbool.h>
#include <string.h>

#define DOC_KIND_BYTES_MAX ((size_t)64 << 20) /* a larger text is not inspected */

/* Whether a text that is no XML goes to the reader of tables: what no JSON begins with, or a first
   line of cells. One that is cut wrongly goes there, too: that reader says how it must be. */
static bool is_table(const char *line, size_t length) {
    bool cells = line[0] == '#';
    if (line[0] == '{' || line[0] == '[') return false;
    for (size_t i = 0; i < length && line[i] != '\n'; ++i)
        cells = cells || line[i] == ',' || line[i] == ';' || line[i] == '\t';
    return cells || !strchr("\"-0123456789", line[0]);
}

doc_kind doc_kind_of(const char *text, size_t length) {
    if (length > DOC_KIND_BYTES_MAX) return DOC_KIND_JSON; /* which says that it is too large */
    size_t i = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < length && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r'))
        ++i;
    if (i < length && text[i] == '<') return DOC_KIND_URDF;
    if (i < length && is_table(text + i, length - i)) return DOC_KIND_CSV;
    return DOC_KIND_JSON;
}

#define TAKES "; skel reads URDF, DH tables (JSON, CSV) and skel-scene/1"
#define EXPORT_URDF TAKES ": export the robot as URDF from the program that made it"

const char *doc_foreign_bytes(const char *text, size_t length) {
    static const struct {
        const char *begin, *what;
    } known[] = {
        {"#usda", "is a USD scene (text, usda)" EXPORT_URDF},
        {"PXR-USDC", "is a USD scene (binary, usdc)" EXPORT_URDF},
        {"PK\x03\x04",
         "is a zip archive (a USDZ scene is one)" TAKES ": unpack it, or export the robot as URDF"},
        {"\x1f\x8b", "is compressed by gzip" TAKES ": unpack it first"},
        {"version https://git-lfs", "is a pointer of Git LFS, not the file itself: fetch the file "
                                    "with 'git lfs pull'"},
        {"glTF", "is a glTF model" TAKES ": give the robot's URDF, which names its meshes"},
        {"Kaydara FBX", "is an FBX scene" TAKES ": give the robot's URDF, which names its meshes"},
        {"BLENDER", "is a Blender file" TAKES ": export the robot by the add-on (Export URDF)"},
    };
    if (length > DOC_KIND_BYTES_MAX) return NULL; /* what is too large is not looked at */

    for (size_t k = 0; k < sizeof known / sizeof *known; ++k) {
        const size_t n = strlen(known[k].begin);
        if (length >= n && memcmp(text, known[k].begin, n) == 0) return known[k].what;
    }
    return NULL;
}

const char *doc_foreign_root(const char *element) {
    static const struct {
        const char *name, *what;
    } known[] = {
        {"mujoco", "is an MJCF model (MuJoCo)" TAKES
                   ": give the robot's URDF, or convert it by a tool that writes URDF"},
        {"sdf", "is an SDF model (Gazebo)" TAKES
                ": give the robot's URDF, or convert it by a tool such as sdf2urdf"},
        {"gazebo", "is a model of an old Gazebo" TAKES ": give the robot's URDF"},
        {"COLLADA", "is a COLLADA mesh" TAKES ": give the robot's URDF, which names its meshes"},
        {"launch", "is a launch file of ROS" TAKES ": give the URDF that it loads"},
        {"html", "is a web page, not the file itself: download the raw file"},
        {"drake", "is a model of Drake" TAKES ": give the robot's URDF"},
    };
    for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
        if (strcmp(element, known[k].name) == 0) return known[k].what;
    return NULL;
}
