/* SPDX-License-Identifier: BSD-3-Clause */
/* Force fields, and the apparent forces of a frame that turns and accelerates [RUD 3.13]. */
#include "algo/algo.h"

void skel__field_add(const skel_model *m, int32_t i, const skel__kin *x, double t, skel__side side,
                     skel__wrench *out) {
    (void)m, (void)i, (void)x, (void)t, (void)side, (void)out;
}

void skel__field_rate_derivative(const skel_model *m, int32_t i, const skel__kin *x, double t,
                                 skel__side side, double *d) {
    (void)m, (void)i, (void)x, (void)t, (void)side, (void)d;
}
