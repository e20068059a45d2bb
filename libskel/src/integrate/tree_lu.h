/* SPDX-License-Identifier: BSD-3-Clause */
/* Block elimination of a general, not symmetric matrix along the tree, children before parents, in
   O(n). For a child c and its tree parent p, with the unknowns y = (dp, theta) (6 per body) and
   lambda (one per row of a joint):
     A_c y_c + K_cp y_p - W_c lambda = rho_c
     A_p y_p + K_pc y_c - W_p lambda = rho_p
     G_c y_c + G_p y_p               = gamma
   A free root has no joint. If the parent is the world or a prescribed body, its part is absent.
   A joint is eliminated in terms of its free motion: joints through a point in tree_lu.c; other
   joints, and wobbling masses, which hang on springs alone, with full 6 x 6 blocks in
   tree_lu_full.c. */
#ifndef SKEL_INTEGRATE_TREE_LU_H
#define SKEL_INTEGRATE_TREE_LU_H

#include "math/wide.h"
#include "model/model.h"

/* A joint that is not through a point, or a wobbling mass: b is the child, a the parent. Letters
   are those of tree_lu_full.c; n = 6 - rows is the number of freedoms. */
typedef struct skel__lu_full {
    int rows;        /* of the joint; 0: a wobbling mass */
    int length_rows; /* of the joint: those that are lengths. They come first. */
    int is_coupled;  /* kab, kba are not zero */
    double kab[SKEL__WIDE6], kba[SKEL__WIDE6];
    double wa[36], wb[36]; /* 6 x rows */
    double ga[36], gb[36]; /* rows x 6 */
    /* factors (begin_block of sweep.c clears everything before them) */
    double a[36];             /* A of a joint; A^-1 of a wobbling mass */
    double q[36];             /* Q                 6 x rows */
    double l[36];             /* L                 rows x 6 */
    double z_over_s[36];      /* Z S^-1            6 x n */
    double t[36];             /* T^T               n x 6 */
    double y_by_parent[36];   /* Y                 6 x 6 */
    double l_by_parent[36];   /* Lambda            rows x 6 */
    double inverse_a_kba[36]; /* A^-1 K_ba */
    double kab_inverse_a[36]; /* K_ab A^-1 */
    double y0[6], l0[6];      /* of the present right-hand side */
} skel__lu_full;

/* A joint through a point. Index 0 is body a of the joint, 1 its body b. On b, torques and rows
   have the opposite sign. */
typedef struct skel__lu_point {
    v3 arm[2], arm1[2]; /* arms of the mean pose and of the end pose */
    v3 n[3], n1[3];     /* torques of unit multipliers of the axis rows; those rows at the end */
} skel__lu_point;

/* The block of a body and of the tree joint that it hangs on. Letters are those of tree_lu.c. */
typedef struct skel__lu {
    skel__lu_full *full;   /* NULL for a joint through a point and for a free root */
    int rows;              /* of the joint, 0 for a free root */
    int child;             /* side of the joint that the child is: 0 for a, 1 for b */
    int is_coupled;        /* kpc, kcp are not zero */
    double a[SKEL__WIDE6]; /* A; its inverse after the factorisation of a free root */
    m3 kpc, kcp;           /* K_pc, K_cp: derivatives of torques by theta */
    skel__lu_point point;
    /* factors */
    double fu[SKEL__W33], ft[SKEL__W33]; /* force F by u and by theta */
    double nu[SKEL__W33], nt[SKEL__W33]; /* torque N about the point, by u and by theta */
    double h[SKEL__W33];                 /* H: rotation of the free axes by torque */
    double h_nu[SKEL__W33];              /* H N_u */
    double by_parent_theta[SKEL__W33];   /* 1 - H (N_t + K_cp) */
    double theta_by_gamma[SKEL__W33];    /* rotations by unit gammas of the axis rows */
    double lambda_by_torque[SKEL__W33];  /* multipliers of the axis rows by torque */
    /* of the present right-hand side: force, torque; motion of the joint, then of the body */
    double force[SKEL__W3], torque[SKEL__W3], shift[SKEL__W3], theta[SKEL__W3];
} skel__lu;

/* These exist twice: skel__lu_factor_plain and so on, and skel__lu_factor_wide (sweep_wide.c).
   Factorisation returns 0 if a block is singular. rho and y have 6 entries per body; gamma and
   lambda have 6 per body, for its tree joint. factor_solve does both in one pass, so that the
   latencies of one overlap with the work of the other. */
int SKEL__WAY(skel__lu_factor)(const skel_model *m, skel__lu *blocks);
void SKEL__WAY(skel__lu_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                               const double *gamma, double *y, double *lambda);
int SKEL__WAY(skel__lu_factor_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                                     const double *gamma, double *y, double *lambda);

/* tree_lu_full.c. parent, rho_parent, y_parent: block, right-hand side and motion of the parent, or
   NULL if it is not dynamic. */
int skel__lu_invert(double *a);
int skel__lu_full_factor(const double *a, skel__lu_full *b, double *parent);
void skel__lu_full_inward(skel__lu_full *b, const double *rho, const double *gamma,
                          double *rho_parent);
void skel__lu_full_outward(const skel__lu_full *b, const double *rho, const double *y_parent,
                           double *y, double *lambda);

#endif
