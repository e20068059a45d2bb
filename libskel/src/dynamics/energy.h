/* SPDX-License-Identifier: BSD-3-Clause */
/* Energy, momenta and the report row of a state. */
#ifndef SKEL_DYNAMICS_ENERGY_H
#define SKEL_DYNAMICS_ENERGY_H

#include "dynamics/state.h"

/* Kinetic energy [J] and momenta (l about the origin of the world) of the dynamic bodies. */
typedef struct skel__momenta {
    double kinetic;
    v3 p, l;
} skel__momenta;
skel__momenta skel__momenta_of(const skel_state *s);
/* The report row of s. Only the workspace s->r and s->ww is written. */
void skel__measure(const skel_state *s, skel_report_row *row);

#endif
