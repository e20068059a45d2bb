/* SPDX-License-Identifier: BSD-3-Clause */
/* General (not symmetric) block elimination along the tree, children before parents, O(n).
   For a child b on its tree parent a, unknowns y (6 per body) and lambda (r per joint):
     A_b y_b + K_ba y_a - W_b lambda = rho_b
     A_a y_a + K_ab y_b - W_a lambda = rho_a
     G_b y_b + G_a y_a               = gamma
   A free root has no joint; below an anchor (world, prescribed body) the a-side is absent. */
#ifndef SKEL_SOLVE_TREELU_H
#define SKEL_SOLVE_TREELU_H

#include "model/model.h"

typedef struct skel__lu {
    int    r;          /* rows of the joint, 0 for a free root */
    int    is_coupled; /* kab, kba are not zero */
    double a[36];      /* A; its inverse after factoring */
    double kab[36], kba[36];
    double wa[36], wb[36]; /* 6 x r */
    double ga[36], gb[36]; /* r x 6 */
    /* factors */
    double aw[36];  /* A^-1 W_b             6 x r */
    double n[36];   /* (G_b A^-1 W_b)^-1    r x r */
    double gai[36]; /* G_b A^-1             r x 6 */
    double gh[36];  /* G_a - G_b A^-1 K_ba  r x 6 */
    double wh[36];  /* W_a - K_ab A^-1 W_b  6 x r */
    double aik[36]; /* A^-1 K_ba */
    double kai[36]; /* K_ab A^-1 */
    double rest[6]; /* gamma - G_b A^-1 rho_b */
} skel__lu;

/* Returns 0 where a block is singular. */
int skel__lu_factor(const skel_model *m, skel__lu *blocks);
/* rho (6 per body) is used up; gamma and lambda have 6 places per body, for its tree joint. */
void skel__lu_solve(const skel_model *m, skel__lu *blocks, double *rho, const double *gamma,
                    double *y, double *lambda);

#endif
