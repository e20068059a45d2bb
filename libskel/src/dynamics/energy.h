/* SPDX-License-Identifier: BSD-3-Clause */
/* Energy, momenta and the report row of a state. */
#ifndef SKEL_DYNAMICS_ENERGY_H
#define SKEL_DYNAMICS_ENERGY_H

#include "dynamics/state.h"

/* ---- energy.c ---- */
/* Kinetic energy and momenta (about the world's origin) of what moves by forces. */
typedef struct skel__momenta {
    double kinetic;
    v3 p, l;
} skel__momenta;
skel__momenta skel__momenta_of(const skel_state *s);
void skel__measure(const skel_state *s, skel_report_row *row);

#endif
