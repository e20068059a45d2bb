/* SPDX-License-Identifier: BSD-3-Clause */
/* General (not symmetric) block elimination along the tree, children before parents, O(n).
   For a child c on its tree parent p, unknowns y = (dp, theta) (6 per body), lambda (r per joint):
     A_c y_c + K_cp y_p - W_c lambda = rho_c
     A_p y_p + K_pc y_c - W_p lambda = rho_p
     G_c y_c + G_p y_p               = gamma
   A free root has no joint; below an anchor (world, prescribed body) the p-side is absent.
   Joints are eliminated by what they leave free: those through a point in treelu.c, slides, and
   masses that hang by springs alone, in treelu_full.c. */
#ifndef SKEL_INTEGRATE_TREE_LU_H
#define SKEL_INTEGRATE_TREE_LU_H

#include "math/wide.h"
#include "model/model.h"

typedef struct skel__lu_full {
    int    r;          /* rows of the joint; 0: hangs by springs alone */
    int    is_coupled; /* kab, kba are not zero */
    double kab[SKEL__WIDE6], kba[SKEL__WIDE6];
    double wa[36], wb[36]; /* 6 x r */
    double ga[36], gb[36]; /* r x 6 */
    /* factors */
    double a[36];         /* A of a slide; A^-1 of a mass on springs */
    double q[36];         /* Q                 6 x 5 */
    double hold[36];      /* L                 5 x 6 */
    double along[6];      /* z / s */
    double across[6];     /* t */
    double by_parent[36]; /* Y */
    double pull[36];      /* Lambda            5 x 6 */
    double aik[36];       /* A^-1 K_ba */
    double kai[36];       /* K_ab A^-1 */
    double y0[6], l0[6];  /* while solving */
} skel__lu_full;

/* A joint through a point, sides in the joint's order: arms of the mean pose and of the end's;
   torques of unit multipliers of its axis rows, and those rows at the end; on b the opposite. */
typedef struct skel__lu_point {
    v3 arm[2], arm1[2];
    v3 n[3], n1[3];
} skel__lu_point;

typedef struct skel__lu {
    skel__lu_full *full;           /* of a joint that is not through a point; else NULL */
    int            r;              /* rows of the joint, 0 for a free root */
    int            child;          /* which side of the joint the child is: 0 for a, 1 for b */
    int            is_coupled;     /* kpc, kcp are not zero */
    double         a[SKEL__WIDE6]; /* A; its inverse after factoring a free root */
    m3             kpc, kcp;       /* by theta, in the torques */
    skel__lu_point point;
    /* factors: child's force F and torque N about the point, by its displacement u and by theta */
    double fu[SKEL__W33], ft[SKEL__W33], nu[SKEL__W33], nt[SKEL__W33];
    double free[SKEL__W33]; /* H = Z (T^T N_t Z)^-1 T^T: what the joint leaves free, by torque */
    double by_shift[SKEL__W33];              /* H N_u */
    double by_turn[SKEL__W33];               /* 1 - H (N_t + K_cp) */
    double shut[SKEL__W33], hold[SKEL__W33]; /* turns that unit gammas of axis rows make; their
                                                lambdas from torques */
    /* while solving: right side; motion of the joint alone, then of the body */
    double force[SKEL__W3], torque[SKEL__W3], shift[SKEL__W3], theta[SKEL__W3];
} skel__lu;

/* Made twice: skel__lu_factor_plain and so on, and skel__lu_factor_wide (sweep_wide.c).
   Factoring returns 0 where a block is singular. 6 of rho and y per body; gamma and lambda have 6
   places per body, for its tree joint. Both at once: the one runs while the other waits. */
int  SKEL__WAY(skel__lu_factor)(const skel_model *m, skel__lu *blocks);
void SKEL__WAY(skel__lu_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                               const double *gamma, double *y, double *lambda);
int  SKEL__WAY(skel__lu_factor_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                                     const double *gamma, double *y, double *lambda);

/* treelu_full.c; parent: block and right side of the parent, or NULL. */
int  skel__lu_invert(double *a);
int  skel__lu_full_factor(const double *a, skel__lu_full *b, double *parent);
void skel__lu_full_inward(skel__lu_full *b, const double *rho, const double *gamma,
                          double *rho_parent);
void skel__lu_full_outward(const skel__lu_full *b, const double *rho, const double *y_parent,
                           double *y, double *lambda);

#endif
