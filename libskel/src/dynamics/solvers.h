/* SPDX-License-Identifier: BSD-3-Clause */
/* Accelerations: the articulated-body algorithm, loops on top of it, and the reference solvers. */
#ifndef SKEL_DYNAMICS_SOLVERS_H
#define SKEL_DYNAMICS_SOLVERS_H

#include "dynamics/state.h"

/* Accelerations s->acc (world axes) of x at time t by any solver. s is prepared for x afterwards. */
skel_status skel__accelerate(skel_state *s, skel__kin *x, double t, skel__side side,
                             int32_t solver);

/* ---- aba.c ---- */

/* Factors of the articulated inertias at x. SKEL_E_SINGULAR. */
skel_status skel__aba_factor(skel_state *s, const skel__kin *x);
/* Solves for s->acc with the applied forces s->f and the joint bias s->bias. */
void skel__aba_solve(skel_state *s);
/* The joint bias of accelerations: centripetal and Coriolis terms. */
void skel__aba_bias(skel_state *s, const skel__kin *x);

/* ---- loops.c: loop joints and pins, by a Schur complement on the factored tree ---- */

/* Largest possible number of loop rows. */
int32_t skel__loop_row_count(const skel_model *m);
/* Selects the loop joints and pins that hold from s->t on. A pin that closes holds the body at its
   present pose, unless it holds it on a curve. Returns 1 if a pin opened or closed. */
int skel__loops_select(skel_state *s, double eps);
/* Right side of the loop rows: accelerations that satisfy the constraints, displacements that close
   the gaps, or changes of velocity that satisfy the constraints. */
typedef enum skel__loop_goal {
    SKEL__LOOP_ACCELERATE,
    SKEL__LOOP_CLOSE,
    SKEL__LOOP_FIT
} skel__loop_goal;
/* Corrects s->acc, which holds the solution of the tree alone, and adds the wrenches of the loops to
   s->f. Returns the largest violation that was found, or 0 for the goal ACCELERATE. */
double skel__loops_solve(skel_state *s, const skel__kin *x, skel__loop_goal goal);
/* Number of rows of that loop (0 to s->nloop - 1) that other joints imply, from the last solve. */
int32_t skel__loop_implied(const skel_state *s, int32_t loop);

/* ---- constraint_rows.c ---- */

/* Constraint rows of the joint; s is prepared for x. */
void skel__rows_of(const skel_state *s, const skel__kin *x, int32_t joint, skel__rows *rows);

/* A constraint row times the motion of the body that it acts on. */
static inline double skel__row_dot(const double *g, skel__twist a) {
    return v3_dot(v3_of(g), a.v) + v3_dot(v3_of(g + 3), a.w);
}
/* g M^-1 g^T of body i alone, which has the rotation r: velocity along the row g by a unit impulse
   along it. */
static inline double skel__mobility(const skel_model *m, int32_t i, m3 r, const double *g) {
    if (!skel__is_dynamic(m, i)) return 0;
    const v3 l = v3_of(g), n = m3_tmulv(r, v3_of(g + 3));
    return v3_dot(l, l) / m->body[i].mass + v3_dot(n, m3_mulv(m->body[i].inertia_inverse, n));
}

/* ---- kkt.c, pinv.c: reference solvers ---- */

skel_status skel__kkt(skel_state *s, const skel__kin *x);
/* Size of the workspace of kkt, in doubles. */
size_t skel__kkt_doubles(const skel_model *m);
skel_status skel__pinv(skel_state *s, const skel__kin *x);
/* Allocates s->reference once if the solver needs it. SKEL_E_MEMORY; SKEL_E_UNSUPPORTED if the
   solver cannot handle the model. */
skel_status skel__reference_reserve(skel_state *s, int32_t solver);

#endif
