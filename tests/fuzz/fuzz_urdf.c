/* SPDX-License-Identifier: BSD-3-Clause */
/* URDF: parsed, checked, written in all ways, and used. */
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    skel_scene *scene = fuzz_parse((const char *)data, size);
    if (!scene) return 0;
    fuzz_write_all(scene);
    fuzz_use_scene(scene);
    skel_scene_destroy(scene);
    return 0;
}
