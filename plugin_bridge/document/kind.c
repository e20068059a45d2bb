/* SPDX-License-Identifier: BSD-3-Clause */
/* Which kind of document a text is, by its first characters. */
#include "document/kind.h"

#include <stdbool.h>
#include <string.h>

#define DOC_KIND_BYTES_MAX ((size_t)64 << 20) /* a larger text is not inspected */

/* Whether a text that is not XML is read as a CSV table: it begins unlike JSON, or its first line
   consists of cells. A table with wrong separators counts too, since its reader explains the
   format. */
static bool is_table(const char *line, size_t length) {
    bool has_cells = line[0] == '#';
    if (line[0] == '{' || line[0] == '[') return false;

    for (size_t i = 0; i < length && line[i] != '\n'; ++i)
        has_cells = has_cells || line[i] == ',' || line[i] == ';' || line[i] == '\t';
    return has_cells || !strchr("\"-0123456789", line[0]);
}

doc_kind doc_kind_of(const char *text, size_t length) {
    if (length > DOC_KIND_BYTES_MAX) return DOC_KIND_JSON; /* its reader rejects the size */

    /* A byte order mark and white space may come first. */
    size_t i = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < length && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r'))
        ++i;

    if (i < length && text[i] == '<') return DOC_KIND_URDF;
    if (i < length && is_table(text + i, length - i)) return DOC_KIND_CSV;
    return DOC_KIND_JSON;
}

#define DOC_KINDS_READ "; skel reads URDF, DH tables (JSON, CSV) and skel-scene/1"
#define DOC_EXPORT_URDF DOC_KINDS_READ ": export the robot as URDF from the program that made it"

const char *doc_foreign_bytes(const char *text, size_t length) {
    static const struct {
        const char *begin, *what;
    } known[] = {
        {"#usda", "is a USD scene (text, usda)" DOC_EXPORT_URDF},
        {"PXR-USDC", "is a USD scene (binary, usdc)" DOC_EXPORT_URDF},
        {"PK\x03\x04", "is a zip archive (a USDZ scene is one)" DOC_KINDS_READ
                       ": unpack it, or export the robot as URDF"},
        {"\x1f\x8b", "is compressed by gzip" DOC_KINDS_READ ": unpack it first"},
        {"version https://git-lfs", "is a pointer of Git LFS instead of the file: fetch the file "
                                    "with 'git lfs pull'"},
        {"glTF",
         "is a glTF model" DOC_KINDS_READ ": give the robot's URDF, which names its meshes"},
        {"Kaydara FBX",
         "is an FBX scene" DOC_KINDS_READ ": give the robot's URDF, which names its meshes"},
        {"BLENDER",
         "is a Blender file" DOC_KINDS_READ ": export the robot with the add-on (Export URDF)"},
    };
    if (length > DOC_KIND_BYTES_MAX) return NULL;

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
        {"mujoco", "is an MJCF model (MuJoCo)" DOC_KINDS_READ
                   ": give the robot's URDF, or convert it with a tool that writes URDF"},
        {"sdf", "is an SDF model (Gazebo)" DOC_KINDS_READ
                ": give the robot's URDF, or convert it with a tool such as sdf2urdf"},
        {"gazebo", "is a model of an old Gazebo" DOC_KINDS_READ ": give the robot's URDF"},
        {"COLLADA",
         "is a COLLADA mesh" DOC_KINDS_READ ": give the robot's URDF, which names its meshes"},
        {"launch", "is a launch file of ROS" DOC_KINDS_READ ": give the URDF that it loads"},
        {"html", "is a web page instead of the file: download the raw file"},
        {"drake", "is a model of Drake" DOC_KINDS_READ ": give the robot's URDF"},
    };

    for (size_t k = 0; k < sizeof known / sizeof *known; ++k)
        if (strcmp(element, known[k].name) == 0) return known[k].what;
    return NULL;
}
