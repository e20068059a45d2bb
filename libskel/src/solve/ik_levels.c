/* SPDX-License-Identifier: BSD-3-Clause */
#include "solve/ik.h"
void skel__ik_levels(skel_ik *ik, int32_t restarts) {
    skel__ik_search(ik, ik->rows, restarts);
}
