/* SPDX-License-Identifier: BSD-3-Clause */
/* The normal force of a contact and the energy that it stores [RUD 4.7].

   Where two surfaces overlap by the penetration d = -g > 0 (g is the gap), a spring pushes them
   apart along their common normal. The spring may be stiffer than linear:
     N_s(d) = a d^b,            b >= 1.
   The spring has a potential, so it returns all energy that it has stored:
     V(d) = integral of N_s from 0 to d = a d^(b + 1) / (b + 1) = N_s(d) d / (b + 1).
   A surface that is not penetrated exerts no force: N_s = 0 and V = 0 for d <= 0.

   The damping of the normal force and friction depend on velocities. They are added in
   dynamics/contact_loads.c. */
#include "contact/contact.h"

double skel__contact_force(const skel__ground *g, double depth) {
    if (!(depth > 0)) return 0;

    /* The common exponents need no call of pow. */
    if (g->b == 2.0) return g->a * depth * depth;
    if (g->b == 1.0) return g->a * depth;
    return g->a * pow(depth, g->b);
}

double skel__contact_energy(const skel__ground *g, double depth) {
    if (!(depth > 0)) return 0;
    return skel__contact_force(g, depth) * depth / (g->b + 1.0);
}
