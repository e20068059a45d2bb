/* SPDX-License-Identifier: BSD-3-Clause */
/* Random ragdolls that fall on stairs (or on a plane), with default settings, and their receipts:
     skel_falls [FROM [COUNT [STEPS [SECONDS]]]]    seeds from FROM on; default 0 1000 8 10
   Prints a line for every fall that failed or has a receipt out of bounds, and the worst of all.
   Exit 1 where a fall failed. */
#include "shared/ragdoll.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define GAP_MAX 1e-9  /* [m] */
#define GAIN_MAX 1e-6 /* of the energy */
#define LIMIT_MAX 0.5 /* [degree] */
#define DEGREES 57.29577951308232

typedef struct receipt {
    int failed;
    double gap, gain, limit, depth, cpu;
    char text[512];
} receipt;

static void worse(double *a, double b) {
    if (!(b <= *a)) *a = b; /* a NaN wins */
}

static receipt fall(int seed, int steps, double seconds) {
    receipt r = {0};
    rng dice = rng_seed((uint64_t)seed + 1);
    scene s = scene_ragdoll(&dice, (ragdoll_options){.stairs = steps, .friction = 1});
    skel_bake_summary sum = {.struct_size = sizeof sum};
    skel_bake_desc d;
    skel_bake *b;
    skel_error err;
    skel_error_init(&err);
    skel_bake_desc_init(&d);
    d.model = s.model, d.state = s.state;
    d.sample_count = (uint32_t)(seconds * d.sample_rate) + 1;
    const clock_t start = clock();
    scene_demand(skel_bake_start(&d, &b, &err), &err);
    r.failed = skel_bake_advance(b, -1) != SKEL_OK;
    r.cpu = (double)(clock() - start) / CLOCKS_PER_SEC;
    skel_bake_get_error(b, &err);
    skel_bake_get_summary(b, &sum);
    r.gap = sum.joint_gap, r.gain = sum.energy_gain, r.depth = sum.contact_depth;
    r.limit = sum.limit_violation * DEGREES;
    snprintf(r.text, sizeof r.text, "%s", r.failed ? err.text : "out of bounds");
    skel_bake_destroy(b);
    scene_free(&s);
    return r;
}

int main(int argc, char **argv) {
    const int from = argc > 1 ? atoi(argv[1]) : 0, count = argc > 2 ? atoi(argv[2]) : 1000;
    const int steps = argc > 3 ? atoi(argv[3]) : 8;
    const double seconds = argc > 4 ? atof(argv[4]) : 10;
    receipt all = {0};
    for (int k = from; k < from + count; ++k) {
        const receipt r = fall(k, steps, seconds);
        if (r.failed || !(r.gap <= GAP_MAX && r.gain <= GAIN_MAX && r.limit <= LIMIT_MAX))
            printf("%d: %s; gap %.2g m, gain %.2g, limit %.2g degrees\n", k, r.text, r.gap, r.gain,
                   r.limit);
        fflush(stdout);
        all.failed += r.failed, all.cpu += r.cpu;
        worse(&all.gap, r.gap), worse(&all.gain, r.gain);
        worse(&all.limit, r.limit), worse(&all.depth, r.depth);
    }
    printf(
        "%d falls of %g s on %d steps: %d failed; joint gap %.2g m, energy gain %.2g, limit %.2g "
        "degrees, depth %.2g m; CPU per simulated second %.3f s\n",
        count, seconds, steps, all.failed, all.gap, all.gain, all.limit, all.depth,
        all.cpu / (count * seconds));
    return all.failed > 0;
}
