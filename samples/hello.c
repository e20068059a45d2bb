/* SPDX-License-Identifier: BSD-3-Clause */
#include <skel/skel.h>
#include <stdio.h>

int main(int argc, char **argv) {
    static char json[1 << 20];
    FILE *file = fopen(argc > 1 ? argv[1] : "samples/double_pendulum.json", "rb");
    const size_t length = file ? fread(json, 1, sizeof json, file) : 0;
    skel_error err = {.struct_size = sizeof err};
    skel_scene *scene = NULL;
    skel_bake *bake = NULL;
    if (skel_scene_parse(json, length, &scene, &err) < 0) return puts(err.text), 1;
    if (skel_scene_bake_start(scene, &bake, &err) < 0) return puts(err.text), 1;
    if (skel_bake_advance(bake, -1.0) < 0)
        return skel_bake_get_error(bake, &err), puts(err.text), 1;

    skel_bake_summary sum = {.struct_size = sizeof sum};
    skel_bake_get_summary(bake, &sum);
    const int32_t bodies = skel_model_body_count(skel_scene_model(scene));
    const double *p = skel_bake_poses(bake) + 7 * (skel_bake_samples_done(bake) * bodies - 1);
    printf("the last body ends at %.6f %.6f %.6f m\n", p[0], p[1], p[2]);
    printf("energy drift %.1e, largest joint gap %.1e m\n", sum.energy_drift, sum.joint_gap);
    skel_bake_destroy(bake);
    skel_scene_destroy(scene);
}
