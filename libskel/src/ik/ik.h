/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics from the inside. The tree is seen as nodes, one per freedom that goes together
   (a hinge, a slide, a ball, the shift of a free root), joints that do not move folded into the
   constants between them. What is asked for are tasks: blocks of rows, each the error that is left
   and how it falls with a motion of the nodes. */
#ifndef SKEL_IK_IK_H
#define SKEL_IK_IK_H

#include "base/clock.h"
#include "dynamics/dynamics.h"

#include <skel/skel_ik.h>

enum { SKEL__NODE_HINGE, SKEL__NODE_SLIDE, SKEL__NODE_BALL, SKEL__NODE_SHIFT };

typedef struct skel__ik_node {
    int32_t kind, parent; /* parent: node, -1: what does not move */
    int32_t base;         /* where parent is -1: the body that `frame` is fixed in, -1: the world */
    int32_t x;            /* its first number in x */
    int32_t column;       /* its first column; -1: it does not move */
    int32_t joint;        /* -1: of a free root */
    int32_t dof;          /* place in the model's velocities; -1: of a free root */
    double  sign;         /* -1: the tree runs against the joint */
    pose    frame;        /* from the parent's moved frame, or from base */
    m3      r;            /* the same as a matrix, base included */
    v3      p;
    double  low, high;   /* of scalars; infinite where there is no limit */
    int32_t is_wide;     /* scalars: limits too far apart to draw seeds between them */
    int32_t has_cone;    /* ball: limits of cone and twist */
    double  reluctance;  /* 1 - stiffness */
    int32_t leader;      /* node that this one goes with, its column behind all others; -1: none */
    int32_t is_linked;   /* some goal moves it, or what goes with it */
    int32_t leads;       /* some go with it: a whole turn of it is none of theirs */
    double  factor;      /* of the leader's motion */
    double  mass;        /* of the bodies that are fixed to it */
    v3      mass_centre; /* their masses times places, in its moved frame */
} skel__ik_node;

/* Where a node is: its moved frame, and the axes its columns turn or shift about. */
typedef struct skel__ik_place {
    m3 r;
    v3 o;
    v3 axis[3]; /* with the sign of the node; hinge, slide: the first */
} skel__ik_place;

/* Something fixed to a node (or to a base that does not move). */
typedef struct skel__ik_anchor {
    int32_t node, base;
    pose    given; /* in the node's moved frame, or in the base body's axes */
    m3      r;     /* the same, base included */
    v3      p;
} skel__ik_anchor;

enum {
    SKEL__TASK_POINT,  /* 3 rows, or those of the mask */
    SKEL__TASK_TURN,   /* 3 rows: rotation vector that is left */
    SKEL__TASK_AIM,    /* 2 rows: from an axis to the direction of a point */
    SKEL__TASK_ALIGN,  /* 2 rows: from an axis to an axis (hinge of a loop) */
    SKEL__TASK_SQUARE, /* 1 row: an axis perpendicular to an axis (universal of a loop) */
    SKEL__TASK_POLE,   /* 1 row */
    SKEL__TASK_CENTRE  /* 3 rows, or those of the mask */
};

typedef struct skel__ik_task {
    int32_t         kind, goal; /* goal: of the caller; -1: a loop of the model */
    int32_t         level;      /* 0 is first */
    int32_t         mask;       /* of SKEL_GOAL_X.. */
    int32_t         row, rows;
    double          length;        /* that its distances are measured by */
    double          most;          /* no farther from its first node does it come */
    double          weight, scale; /* scale: of its rows, weight and length together */
    skel__ik_anchor at, to, from,
        end;                  /* what moves; what the target is in; pole: the line's ends */
    v3      axis, to_axis;    /* in the frames of at and to */
    v3      target;           /* in the frame of to */
    m3      turn;             /* likewise */
    int32_t path, path_count; /* in ik->path */
    int32_t is_plain;         /* of the world, all axes: nothing to turn or to leave out */
    double  off;              /* what is left, without weight [m] or [rad] */
} skel__ik_task;

typedef struct skel__ik_frame {
    m3 r;
    v3 p;
} skel__ik_frame;

/* A limit of a ball: how much is left of it, and how a turn in inner axes uses it up. */
typedef struct skel__ik_bound {
    double left;
    v3     normal;
} skel__ik_bound;

/* A node that moves a task: 1 with what moves, -1 with what the target is in; pole: bits say which
   of elbow (1), from (2), end (4) and target (8) it moves; centre of mass: 1, and 2 where it moves
   what the target is in. */
typedef struct skel__ik_link {
    int32_t node, sign;
} skel__ik_link;

/* Mass, and mass times place in the axes of what carries it. */
typedef struct skel__ik_heavy {
    double mass;
    v3     moment;
} skel__ik_heavy;

/* What a later priority needs. */
typedef struct skel__ik_level {
    double *basis; /* (n x n) rows: directions that earlier ones and limits want kept */
    int32_t rank;  /* how many */
    double *shift; /* (rows) errors that earlier ones keep */
    double *off;   /* (rows) */
    double *y;     /* (n) */
} skel__ik_level;

struct skel_ik {
    const skel_model *m;
    skel_allocator    allocator;
    skel_ik_desc      d;    /* scalars of it */
    int32_t           nn;   /* nodes */
    int32_t           nx;   /* numbers of x: nq, and 7 per free root */
    int32_t           n;    /* columns */
    int32_t           nc;   /* and those of nodes that go with others, added up to theirs */
    int32_t           nt;   /* tasks */
    int32_t           rows; /* of all tasks */
    int32_t           levels;
    int32_t           nroot;     /* free roots */
    double            length;    /* that distances are measured by */
    double            most_step; /* TRACK: bound of every node's step [rad], [length]; 0: none */
    double            mass;      /* of what a goal for the centre of mass moves */
    int32_t           has_centre, has_posture;
    int32_t           has_room;  /* for a posture that comes later */
    int32_t           together;  /* all priorities at once, no posture: met, or not worth more */
    int32_t           has_balls; /* some ball has limits, of its own or of the step */
    int32_t           has_wide;  /* some slide has no limits, or none that matter */
    int32_t           is_full;   /* every task has all columns: nothing of jt stays zero */
    skel__ik_node    *node;      /* (nn) parents first */
    skel__ik_task    *task;      /* (nt) */
    skel__ik_link    *path;      /* (links) */
    skel_goal_desc   *goal;      /* (goal_count) */
    int32_t          *root;      /* (nroot) bodies */
    int32_t          *of_column; /* (n) node */
    int32_t          *scalar;    /* (n) place in x of a hinge or slide; -1: of a ball or shift */
    double           *posture;   /* (nx) */
    double           *max_step;  /* (nv) or NULL */
    /* per column */
    double *scale;      /* (nc) units of x per unit of the step */
    double *low, *high; /* (n) bounds of scalars in this solve */
    double *step_most;  /* (nn) most that a ball or shift may move in this solve; 0: no bound */
    /* the iterate */
    double         *x, *trial, *best, *start, *memory; /* (nx) */
    double         *last, *before, *home; /* (nx) of the solves before this one, and of the first */
    skel__ik_place *place;                /* (nn) */
    double         *e;                    /* (rows) scaled errors that are left */
    double         *e_now;                /* (rows) those of x, while trials go on */
    double         *e_last;               /* (rows) that the last answer left */
    double         *jt;     /* (nc x rows) columns of the scaled Jacobian, one after the other */
    double         *sums;   /* (4 nn + 3) masses below, and what stands still */
    skel__ik_heavy *heavy;  /* (na + world) what is fixed to a base that does not move */
    v3              centre; /* of mass, at the last errors */
    /* a step */
    double        *jp;       /* (n x rows) columns of balls that a limit has flattened */
    const double **col;      /* (n) where a column is; NULL: held */
    double        *y;        /* (n) */
    double        *held;     /* (n) the part of y that limits have fixed */
    double        *rest;     /* (rows) */
    double        *k;        /* (nk x nk) */
    double        *factor;   /* (nk x nk) */
    double        *u;        /* (nk) */
    int32_t       *list;     /* (n) */
    int32_t        factored; /* k holds the factor of a step by rows that limits left alone */
    v3            *normal;   /* (3 nn) that balls must not move along */
    int32_t       *normals;  /* (nn) how many */
    double        *h, *hf;   /* (n x n) where n <= SKEL__IK_DENSE */
    double        *g, *rhs;  /* (n) */
    double        *seed, *seed_step; /* (n) low-discrepancy sequence */
    skel__kin     *kin;              /* (na + world) */
    pose          *base;             /* (na + world) of roots and prescribed bodies */
    double        *work;             /* of the dense decompositions */
    skel__ik_level level;
    double         residual; /* of the last errors: largest, without weights */
    int32_t        iterations, restarts;
    int64_t        deadline; /* [ns] of CPU time; 0: none */
    int32_t        has_memory, has_last;
    int32_t        is_following; /* the solve goes on from the last one */
    int32_t        met;          /* levels that the last answer met, all before them too */
    double         way;          /* of the targets since then, as they are scaled */
    int32_t        nparts;       /* goals that share no joint: a solver each; 0: this one is all */
    skel_ik      **part;         /* (nparts) nearest to the root first */
    int32_t       *part_of;      /* (goal_count) */
    int32_t       *place_in;     /* (goal_count) among the goals of its part */
    double        *part_off;     /* (nparts) */
    int32_t        is_begun;     /* the next step finds col, held and normals as they begin */
};

#define SKEL__IK_DENSE 96 /* columns up to which curvature is used */

/* ik_nodes.c */
void           skel__ik_fk(skel_ik *ik, const double *x);
skel__ik_frame skel__ik_at(const skel_ik *ik, const skel__ik_anchor *a);
v3             skel__ik_point(const skel_ik *ik, const skel__ik_anchor *a);
void           skel__ik_rebase(skel_ik *ik); /* after base has changed */
void           skel__ik_rebase_anchor(const skel_ik *ik, skel__ik_anchor *a);
int32_t        skel__ik_columns(const skel__ik_node *n); /* 1 or 3 */
int32_t        skel__ik_numbers(const skel__ik_node *n); /* of x: 1, 3 or 4 */
/* out = x moved by y, every node brought back within its limits; out may be x. */
void skel__ik_move(const skel_ik *ik, const double *x, const double *y, double *out);
/* A ball that does not move, brought into its cone. */
void skel__ik_place_ball(const skel_ik *ik, const skel__ik_node *n, double *q);
void skel__ik_difference(const skel_ik *ik, const double *from, const double *to, double *y);
/* out = x moved by y, whatever the limits. */
void skel__ik_add(const skel_ik *ik, const double *x, const double *y, double *out);
/* out: the part w of the way from a to b. */
void skel__ik_blend(const skel_ik *ik, const double *a, const double *b, double w, double *out);
int  skel__ik_ball_limits(const skel_ik *ik, const skel__ik_node *n, const double *x,
                          skel__ik_bound bound[4]);
void skel__ik_spread(const skel_ik *ik, const double *u, const double *from, double *out);

/* ik_tasks.c: of the first m rows */
/* |e|^2 at x; e, residual and place are those of x then. */
double skel__ik_errors(skel_ik *ik, const double *x, int32_t m);
void   skel__ik_jacobian(skel_ik *ik, int32_t m); /* where place is */
void   skel__ik_curvature(const skel_ik *ik, int32_t m, double *h);

/* ik_step.c */
/* y minimises |J y - e|^2 + damping |y|^2 over the first m rows, within the limits at x; longest
   entry at most `longest`. The errors are e. Returns how many columns limits hold. */
int32_t skel__ik_step(skel_ik *ik, const double *x, const double *e, int32_t m, double damping,
                      double longest);
/* Another y with the matrix of the last step, no new limits; 0 where it held some or had none. */
int skel__ik_chord(skel_ik *ik, const double *e, int32_t m);
/* The same with ik->h (n x n, full) for J^T J: 0 where that plus damping is not positive. */
int skel__ik_newton_step(skel_ik *ik, const double *x, const double *e, int32_t m, double damping);
/* g = J^T e of the first m rows; returns its largest entry that limits let go. Where a step from
   the same x with the same e comes next, is_begun spares it to look at the limits again. */
double skel__ik_gradient(skel_ik *ik, const double *x, const double *e, int32_t m, double *g);

/* The caller, or the manner of the solve, bounds its steps. */
static inline int skel__ik_is_bounded(const skel_ik *ik) {
    return ik->max_step != NULL || ik->most_step > 0;
}

/* Whether the time that the solve may take is over. */
static inline int skel__ik_is_late(const skel_ik *ik) {
    return ik->deadline && skel__now_ns() > ik->deadline;
}

/* ik_descent.c: from x over the first m rows; x is where they end, e and place are of it. They
   return |e|^2. */
void   skel__ik_seeds(skel_ik *ik);
double skel__ik_search(skel_ik *ik, int32_t m, int32_t restarts); /* any way down, many seeds */
double skel__ik_downhill(skel_ik *ik, int32_t m, int32_t most);   /* never up */
void   skel__ik_hessian(skel_ik *ik, int32_t m);                  /* h = J^T J + curvature, full */
/* From frame to frame, round what solves a frame: where to begin, and what to remember. */
void skel__ik_follow_begin(skel_ik *ik);
/* The next solve goes on from x (nx), as if that had been the last answer. */
void skel__ik_resume(skel_ik *ik, const double *x);
/* The next solve does not go on from anything. */
void skel__ik_forget(skel_ik *ik);
/* Way of the targets that the last solve followed, of all parts the longest; infinite where it
   followed none. */
double skel__ik_way(const skel_ik *ik);
void   skel__ik_follow_end(skel_ik *ik);
/* What the last answer met is met again, with haste; from there on x moves calmly. */
void skel__ik_keep_met(skel_ik *ik);
/* The last digits. has_factor: the last step was the one that led to x. */
double skel__ik_polish(skel_ik *ik, int32_t m, double e2, int has_factor);

/* ik_levels.c: several priorities, or a posture. */
int32_t skel__ik_rows_before(const skel_ik *ik, int32_t level);
void    skel__ik_levels(skel_ik *ik, int32_t restarts);

/* ik_parts.c: goals that may only move some joints. */
typedef struct skel__ik_plan skel__ik_plan;
/* Solvers for goals that share no joint, where there are such. */
skel_status skel__ik_split(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d,
                           skel_error *err);
void        skel__ik_unsplit(skel_ik *ik);
void        skel__ik_solve_parts(skel_ik *ik);

/* ik.c */
/* A solver for goals that are checked; nodes that are `held` (NULL: none) do not move. has_room: it
   may get a posture later. */
skel_status skel__ik_make(const skel_ik_desc *d, const skel_allocator *a, const int32_t *held,
                          int has_room, skel_ik **out, skel_error *err);
/* skel_ik_create with room for a posture. */
skel_status skel__ik_create(const skel_ik_desc *desc, int has_room, skel_ik **out, skel_error *err);

/* What may change from solve to solve, of the solver and of its parts. */
typedef struct skel__ik_manner {
    int32_t mode;        /* SKEL_IK_POSE, SKEL_IK_TRACK */
    int32_t restarts;    /* as max_restarts */
    int32_t has_posture; /* needs room */
    int32_t together;
    double  most_step;
} skel__ik_manner;
skel__ik_manner skel__ik_manner_of(const skel_ik *ik);
void            skel__ik_set_manner(skel_ik *ik, const skel__ik_manner *manner);
/* The posture (nx) of the solver and of its parts. */
void skel__ik_set_posture(skel_ik *ik, const double *x);
/* x (nx) from numbers u (one per column, 0..1): nodes that goals move are spread over their limits,
   all others are where `from` has them. */
void skel__ik_seed_pose(skel_ik *ik, const double *u, const double *from, double *x);
/* From x to the answer; its errors are those of x then. */
void skel__ik_run(skel_ik *ik);
/* Residual, limits and singular value of x, whose errors e and place are. */
void skel__ik_receipt(skel_ik *ik, skel_ik_receipt *r);
/* Joint coordinates of the model's own pose. */
void skel__ik_current(const skel_ik *ik, double *q);
/* Fixed and driven bodies stand where they do at time t. */
void skel__ik_drive(skel_ik *ik, double t);

#endif
