/* SPDX-License-Identifier: BSD-3-Clause */
/* Random scenes (shared/random_scenes.h) at default settings, and their receipts:
     skel_scenes [FROM [COUNT [SECONDS [all]]]]    seeds from FROM on; default 0 300 5
   Prints a line for every scene that failed, took too long or has a receipt out of bounds (with a
   fourth argument: for every scene), and the worst of all. Exit 1 if there is such a scene. */
#include "shared/random_scenes.h"
#include "shared/scene_receipt.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    const int from = argc > 1 ? atoi(argv[1]) : 0;
    const int count = argc > 2 ? atoi(argv[2]) : 300;
    const double seconds = argc > 3 ? atof(argv[3]) : 5;
    const int verbose = argc > 4;
    scene_receipt all = {0};
    int wrong = 0;

    for (int k = from; k < from + count; ++k) {
        random_scene s = scene_random((uint64_t)k);
        const scene_receipt r = scene_receipt_of(&s, seconds);
        const char *fault = scene_fault(&s, &r);

        if (fault || verbose)
            printf("%d: %s; %d bodies (%d skeletons, %d loops), %d limits, %d follow, %d grounds, "
                   "%d wobbles, %d drives, %d motors, size %.2g m, mass ratio %.1g, %s; gap %.2g, "
                   "gain %.2g, "
                   "CPU %.2f s\n",
                   k, fault ? fault : "fine", s.bodies, s.skeletons, s.loops, s.limits, s.follows,
                   s.grounds, s.wobbles, s.drives, s.motors, s.size, s.mass_ratio, r.integrator,
                   r.gap, r.gain, r.cpu);
        fflush(stdout);
        wrong += fault != NULL;
        scene_receipt_worst(&all, &r);
        scene_free(&s.scene);
    }

    printf("%d scenes of %g s: %d wrong; joint gap %.2g of the size, energy gain %.2g, CPU at most "
           "%.1f s, %.1f s in all\n",
           count, seconds, wrong, all.gap, all.gain, all.cpu, all.cpu_sum);
    return wrong > 0;
}
