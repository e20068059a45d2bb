/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as JSON (skel-dh/1): parsed, checked, written in all ways, and converted. */
#include "fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_rewrite_table((const char *)data, size);
    skel_scene *scene = fuzz_parse((const char *)data, size);
    if (!scene) return 0;
    fuzz_write_all(scene);
    skel_scene_destroy(scene);
    return 0;
}
