/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks and poses (skel-track/1, skel-pose/1) for one of a few scenes, which the first byte
   chooses; then the forces of the motion, and a flight from its first frame to its last. */
#include "fuzz/fuzz.h"

#include <stdio.h>

#define FUZZ_FRAMES_MAX 100 /* of a motion whose forces are computed */

/* Bodies "a" and "b": free with a hinge, fixed with a slide, free with a ball joint. */
#define BODY_A "{'format': 'skel-scene/1', 'bodies': [{'name': 'a', "
#define BODY_B                                                                                     \
    "'mass': 1, 'position': [0, 0, 0], 'shape': {'type': 'box', 'size': [1, 2, 3]}}, "             \
    "{'name': 'b', 'mass': 2, "                                                                    \
    "'position': [0, 0, -1], 'shape': {'type': 'sphere', 'radius': 0.5}}], 'joints': "             \
    "[{'bodies': ['a', 'b'], 'anchor': [0, 0, -0.5], 'type': "
static const char *const k_scenes[] = {
    BODY_A BODY_B "'hinge', 'axis': [1, 0, 0]}]}",
    BODY_A "'motion': 'fixed', " BODY_B "'slide', 'axis': [0, 0, 1]}]}",
    BODY_A BODY_B "'ball'}]}",
};
#define FUZZ_TRACK_SCENES ((uint8_t)(sizeof k_scenes / sizeof *k_scenes))

/* Quotes are ' in C, so that JSON stays legible. */
static skel_scene *scene_of(uint8_t choice) {
    char text[512];
    skel_scene *scene = NULL;
    skel_error err;
    skel_error_init(&err);
    const size_t length =
        (size_t)snprintf(text, sizeof text, "%s", k_scenes[choice % FUZZ_TRACK_SCENES]);
    for (char *c = text; *c; ++c)
        if (*c == '\'') *c = '"';
    FUZZ_REQUIRE(skel_scene_parse(text, length, &scene, &err) == SKEL_OK, err.text);
    return scene;
}

static void forces_of(const skel_model *model, const skel_track *track) {
    const int32_t frames = skel_track_frame_count(track);
    skel_inverse_desc desc;
    skel_inverse *inverse = NULL;
    skel_inverse_desc_init(&desc);
    desc.model = model;
    desc.poses = skel_track_poses(track);
    desc.sample_count = (uint32_t)frames;
    desc.sample_rate = skel_track_fps(track);
    if (frames > FUZZ_FRAMES_MAX || skel_inverse_create(&desc, &inverse, NULL) != SKEL_OK) return;

    const size_t dof = (size_t)skel_model_dof(model);
    FUZZ_REQUIRE(fuzz_finite(skel_inverse_torque(inverse), (size_t)frames * dof), "torques");
    skel_inverse_destroy(inverse);
}

static void flight_of(const skel_model *model, const skel_track *track) {
    const size_t nb = (size_t)skel_model_body_count(model);
    const double *poses = skel_track_poses(track);
    skel_flight_desc desc;
    skel_flight *flight = NULL;
    skel_flight_desc_init(&desc);
    desc.model = model;
    desc.take_off = poses;
    desc.landing = poses + ((size_t)skel_track_frame_count(track) - 1) * nb * 7;
    desc.duration = 0.5;
    desc.sample_rate = 10;
    if (skel_flight_solve(&desc, &flight, NULL) != SKEL_OK) return;

    const size_t samples = (size_t)skel_flight_sample_count(flight);
    FUZZ_REQUIRE(fuzz_finite(skel_flight_poses(flight), samples * nb * 7), "flight");
    skel_flight_destroy(flight);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    skel_track *track = NULL;
    skel_error err;
    skel_error_init(&err);
    if (size == 0) return 0;
    skel_scene *scene = scene_of(data[0]);
    const skel_model *model = skel_scene_model(scene);
    const skel_status status =
        skel_track_parse((const char *)data + 1, size - 1, model, &track, &err);
    FUZZ_REQUIRE((track != NULL) == (status == SKEL_OK) && status <= 0, err.text);

    if (track) {
        const size_t nb = (size_t)skel_model_body_count(model);
        const int32_t frames = skel_track_frame_count(track);
        FUZZ_REQUIRE(frames > 0 && skel_track_fps(track) >= 0, "frames and their rate");
        FUZZ_REQUIRE(fuzz_finite(skel_track_poses(track), (size_t)frames * nb * 7), "poses");
        forces_of(model, track);
        flight_of(model, track);
    } else {
        FUZZ_REQUIRE(err.status == status && err.text[0], err.text);
    }
    skel_track_destroy(track);
    skel_scene_destroy(scene);
    return 0;
}
