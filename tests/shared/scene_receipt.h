/* SPDX-License-Identifier: BSD-3-Clause */
/* The bake of a random scene at default settings, and what must hold for it. */
#ifndef SKEL_TESTS_SCENE_RECEIPT_H
#define SKEL_TESTS_SCENE_RECEIPT_H

#include "shared/random_scenes.h"

#define SCENE_CPU_MAX_S 20.0 /* for 5 s of motion */
#define SCENE_GAIN_MAX 1e-6  /* of the energy */
#define SCENE_GAP_MAX 1e-9   /* of the size */

typedef struct scene_receipt {
    int status;
    int is_finite;
    double gap;  /* of the joints, of the size of the scene */
    double gain; /* the receipt's energy_gain */
    double
        rise;   /* of kinetic + potential over the start, of the energy of a fall; passive scenes */
    double cpu; /* [s] */
    double cpu_sum; /* of scene_receipt_worst */
    const char *integrator;
    char text[512]; /* why it failed */
} scene_receipt;

/* Stops after SCENE_CPU_MAX_S of processor time; then the status is SKEL_MORE. */
scene_receipt scene_receipt_of(const random_scene *s, double seconds);
/* NULL where all holds. */
const char *scene_fault(const random_scene *s, const scene_receipt *r);
void scene_receipt_worst(scene_receipt *all, const scene_receipt *r);

#endif
