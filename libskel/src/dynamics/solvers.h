/* SPDX-License-Identifier: BSD-3-Clause */
/* Accelerations: the articulated-body algorithm, loops on top of it, and the reference solvers. */
#ifndef SKEL_DYNAMICS_SOLVERS_H
#define SKEL_DYNAMICS_SOLVERS_H

#include "dynamics/state.h"

/* ---- aba.c ---- */
skel_status skel__aba_factor(skel_state *s, const skel__kin *x);
/* Solves for s->acc with applied forces s->f and joint bias s->bias. */
void skel__aba_solve(skel_state *s);
/* The bias that belongs to accelerations. */
void skel__aba_bias(skel_state *s, const skel__kin *x);

/* ---- loops.c: joints beyond the tree, by Schur complement on the factored tree ---- */
/* The most rows there can be. */
int32_t skel__loop_row_count(const skel_model *m);
/* Chooses the loops and pins that hold from s->t on. A pin that closes takes the body where it is.
   Returns 1 where a pin opened or closed. */
int skel__loops_select(skel_state *s, double eps);
/* What the loop rows must give: accelerations that fit, or displacements and velocities that
   mend what is open. */
typedef enum skel__loop_goal {
    SKEL__LOOP_ACCELERATE,
    SKEL__LOOP_CLOSE,
    SKEL__LOOP_FIT
} skel__loop_goal;
/* s->acc holds the tree's own answer and is changed; s->f gains the loops' wrenches. Returns the
   largest misfit that a goal other than ACCELERATE found. */
double skel__loops_solve(skel_state *s, const skel__kin *x, skel__loop_goal goal);
/* Rows of that loop (0 to s->nloop - 1) which other joints imply, as the last solve found them. */
int32_t skel__loop_implied(const skel_state *s, int32_t loop);

/* ---- rows.c, kkt.c, pinv.c ---- */
void skel__rows_of(const skel_state *s, const skel__kin *x, int32_t joint, skel__rows *rows);
skel_status skel__kkt(skel_state *s, const skel__kin *x);
size_t skel__kkt_doubles(const skel_model *m);
skel_status skel__pinv(skel_state *s, const skel__kin *x);
/* The workspace for a judge, taken once; SKEL_E_MEMORY. */
skel_status skel__reference_reserve(skel_state *s, int32_t solver);

/* Accelerations s->acc (world) of x at time t by any solver; s is prepared for x afterwards. */
skel_status skel__accelerate(skel_state *s, skel__kin *x, double t, skel__side side,
                             int32_t solver);

/* A constraint row times the motion of the body it stands on. */
static inline double skel__row_dot(const double *g, skel__twist a) {
    return v3_dot(v3_of(g), a.v) + v3_dot(v3_of(g + 3), a.w);
}
/* How fast a unit impulse along row g would move body i, turned by r, if it were alone. */
static inline double skel__mobility(const skel_model *m, int32_t i, m3 r, const double *g) {
    if (!skel__is_dynamic(m, i)) return 0;
    const v3 l = v3_of(g), n = m3_tmulv(r, v3_of(g + 3));
    return v3_dot(l, l) / m->body[i].mass + v3_dot(n, m3_mulv(m->body[i].inertia_inverse, n));
}

#endif
