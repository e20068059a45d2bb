/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics: data structures and internal interface.

   The joints of the tree are represented by nodes. A node is a group of coordinates that move
   together: one coordinate of a joint, a ball, or the translation of a free root. Joints that do
   not move are folded into the constant frames between the nodes. The goals and the loop joints are
   represented by tasks. A task is a block of rows of the error vector e.

   Letters that all files of this folder use:
     x   coordinates: the joint coordinates q, then position and quaternion of every free root
     y   a step. Column c moves its node by column_scale[c] y[c].
     e   errors of all tasks, scaled by weight and length. A step y leaves about e - J y.
     J   Jacobian of the tasks. It is stored transposed, one column after the other.
     g   gradient J^T e
     H   Hessian of |e|^2 / 2
     m   number of rows that take part, counted from the first. Rows are sorted by priority. */
#ifndef SKEL_IK_IK_H
#define SKEL_IK_IK_H

#include "base/clock.h"
#include "dynamics/dynamics.h"

#include <skel/skel_ik.h>

/* The Hessian is used up to this number of columns; its cost grows with the third power. */
#define SKEL__IK_HESSIAN_COLUMNS_MAX 96
/* Largest unit of an axis that rotates and displaces [rad]. */
#define SKEL__IK_UNIT_MAX_RAD 1e3

/* ---- nodes ---- */

enum {
    SKEL__NODE_AXIS, /* one coordinate: rotation about z, displacement along z, or both */
    SKEL__NODE_BALL, /* a quaternion */
    SKEL__NODE_SHIFT /* the position of a free root */
};

typedef struct skel__ik_node {
    int32_t kind;     /* SKEL__NODE_* */
    int32_t parent;   /* node; -1: the node is attached to a base, which does not move */
    int32_t base;     /* if parent is -1: body that `frame` is fixed in; -1: the world */
    int32_t x_offset; /* first coordinate in x */
    int32_t column;   /* first column of J; -1: the node does not move */
    int32_t joint;    /* -1: the node belongs to a free root */
    int32_t dof;      /* index in the model's joint velocities; -1: of a free root */
    double sign;      /* -1 if the tree passes the joint from its inner to its outer frame */
    double turn;      /* rotation per unit of a column [rad]: 1, or 0 for lengths */
    double shift;     /* displacement along the axis per unit of a column [m]; 0: none */
    pose frame;       /* frame before the node's own motion, relative to the parent or the base */
    m3 r;             /* orientation of `frame`; includes the pose of the base */
    v3 p;             /* position of `frame`; includes the pose of the base [m] */
    double low, high; /* limits of an axis [rad], [m]; infinite if there are none */
    int32_t is_wide;  /* axis: the limits are too far apart to draw seeds between them */
    int32_t has_cone; /* ball: there are limits of swing and twist */
    double mobility;  /* 1 - stiffness: 0 does not move */
    /* Mimic joints. The columns of mimic nodes stand behind all others. */
    int32_t source;      /* node of the source joint; -1: the node is not of a mimic joint */
    int32_t has_mimics;  /* some node has this one as its source, so whole turns matter */
    double mimic_factor; /* ratio of this node's motion to its source's */
    int32_t has_task;    /* some goal moves the node or one of its mimics */
    /* Bodies that are fixed to the node. */
    double mass;    /* [kg] */
    v3 mass_moment; /* sum of mass times position, in the frame after the node's motion [kg m] */
} skel__ik_node;

/* The frame of a node after its motion, and the axes of its columns. */
typedef struct skel__ik_node_pose {
    m3 r;
    v3 o;       /* origin [m] */
    v3 axis[3]; /* rotation or translation axes, with the sign of the node; of AXIS one */
} skel__ik_node_pose;

/* A frame that is fixed to a node or to a base. */
typedef struct skel__ik_anchor {
    int32_t node; /* -1: fixed to a base */
    int32_t base; /* if node is -1: body, or -1 for the world */
    pose given;   /* in the frame of the node or of the base */
    m3 r;         /* orientation of `given`; includes the pose of the base */
    v3 p;         /* position of `given`; includes the pose of the base [m] */
} skel__ik_anchor;

typedef struct skel__ik_frame {
    m3 r;
    v3 p;
} skel__ik_frame;

/* One limit of a ball. */
typedef struct skel__ik_ball_limit {
    double margin; /* angle that is left until the limit [rad] */
    v3 normal;     /* decrease of the margin per rotation, in the inner axes of the ball */
} skel__ik_ball_limit;

typedef struct skel__ik_point_mass {
    double mass; /* [kg] */
    v3 moment;   /* mass times position, in the axes of the carrying body [kg m] */
} skel__ik_point_mass;

/* ---- tasks ---- */

enum {
    SKEL__TASK_POINT,  /* 3 rows, or those of the mask: distance of two points */
    SKEL__TASK_TURN,   /* 3 rows: rotation vector to the target orientation */
    SKEL__TASK_AIM,    /* 2 rows: rotation from an axis to the direction of a point */
    SKEL__TASK_ALIGN,  /* 2 rows: rotation from an axis to an axis (parallel axes of a loop) */
    SKEL__TASK_SQUARE, /* 1 row: cosine of two axes (perpendicular axes of a loop) */
    SKEL__TASK_THREAD, /* 1 row: displacement along z minus pitch times angle (screw of a loop) */
    SKEL__TASK_POLE,   /* 1 row: arc from an elbow to the plane of its pole */
    SKEL__TASK_CENTRE  /* 3 rows, or those of the mask: distance of the centre of mass */
};

typedef struct skel__ik_task {
    int32_t kind;              /* SKEL__TASK_* */
    int32_t goal;              /* index of the caller's goal; -1: a loop joint */
    int32_t level;             /* priority level; 0 is solved first */
    int32_t mask;              /* axes that count: SKEL_GOAL_X ... SKEL_GOAL_Z */
    int32_t row, rows;         /* first row in e, number of rows */
    int32_t is_length;         /* the rows are distances [m]; otherwise angles [rad] or cosines */
    double length;             /* unit in which distances are weighed against angles [m] */
    double reach;              /* largest possible distance from the first node of the chain [m] */
    double weight;             /* weight of the goal */
    double scale;              /* factor of the rows: sqrt(weight), and 1 / length for distances */
    skel__ik_anchor at;        /* frame that the task moves */
    skel__ik_anchor to;        /* frame in which the target is given */
    skel__ik_anchor from, end; /* POLE: the ends of the line */
    v3 axis, to_axis;          /* AIM, ALIGN, SQUARE: axes in the frames `at` and `to` */
    double pitch;              /* THREAD: displacement per angle [m/rad] */
    v3 target;                 /* target position in the frame `to` [m] */
    m3 orientation;            /* target orientation in the frame `to` */
    int32_t first_link;        /* index in problem.link */
    int32_t link_count;        /* number of nodes that move the task */
    int32_t is_plain;          /* the target is given in the world and all axes count */
    double error;              /* error without weight [m] or [rad] */
} skel__ik_task;

/* Connects a task to a node that moves it. The meaning of `sign` depends on the task:
     POLE    bits: the node moves the elbow (1), the start (2), the end (4), the target (8)
     CENTRE  1, plus 2 if the node moves the frame of the target
     others  1: the node moves the frame `at`; -1: it moves the frame `to` */
typedef struct skel__ik_link {
    int32_t node, sign;
} skel__ik_link;

/* ---- the solver ---- */

typedef struct skel__ik_sizes {
    int32_t nodes;
    int32_t coordinates; /* length of x: nq, and 7 per free root */
    int32_t columns;     /* columns of J, length of y */
    int32_t all_columns; /* the same with the columns of mimic nodes */
    int32_t tasks;
    int32_t rows;   /* rows of all tasks, length of e */
    int32_t levels; /* priority levels */
    int32_t roots;  /* free roots */
    int32_t goals;
} skel__ik_sizes;

/* The problem: nodes, tasks, and how columns belong to nodes. */
typedef struct skel__ik_problem {
    skel__ik_node *node;            /* (nodes) parents first */
    skel__ik_task *task;            /* (tasks) sorted by level */
    skel__ik_link *link;            /* (links) */
    skel_goal_desc *goal;           /* (goals) */
    int32_t *root;                  /* (roots) bodies */
    int32_t *column_node;           /* (columns) node that the column moves */
    int32_t *column_x;              /* (columns) index in x of an axis; -1 otherwise */
    double *column_scale;           /* (all_columns) units of x per unit of y */
    pose *base;                     /* (na + world) poses of roots and prescribed bodies */
    skel__ik_point_mass *base_mass; /* (na + world) masses that are fixed to a base */
    double length;                  /* unit of length of displacements [m] */
    double mass;                    /* mass whose centre a goal moves [kg] */
    int32_t has_centre;             /* some task concerns a centre of mass */
    int32_t has_limited_balls;      /* some ball has limits, of its own or of the step */
    int32_t has_wide_travel;        /* some displacement has no limits, or very distant ones */
    int32_t is_jacobian_full;       /* every task depends on all columns: no entry stays zero */
} skel__ik_problem;

typedef struct skel__ik_options {
    int32_t mode;             /* SKEL_IK_POSE, SKEL_IK_TRACK */
    int32_t method;           /* SKEL_IK_DAMPED, SKEL_IK_NEWTON */
    int32_t max_iterations;   /* of one descent; 0: default */
    int32_t max_restarts;     /* -1: default */
    double tolerance;         /* [m], [rad] */
    double max_ms;            /* [ms]; 0: no bound */
    int64_t deadline_ns;      /* end of the present solve, CPU time; 0: none */
    int32_t has_posture;      /* the posture is used */
    int32_t has_posture_room; /* memory is reserved for a posture that is set later */
    int32_t merges_levels;    /* solve all levels at once, without priorities and posture */
    double max_node_step;     /* TRACK: bound of the step of every node [rad], [length]; 0: none */
    double *posture;          /* (coordinates) */
    double *max_step;         /* (nv) the caller's bounds [rad], [m], or NULL */
} skel__ik_options;

/* Bounds of the present solve: limits, and largest steps from its start. */
typedef struct skel__ik_bounds {
    double *low, *high; /* (columns) of axes */
    double *node_step;  /* (nodes) largest motion of a ball [rad] or shift [m]; 0: no bound */
} skel__ik_bounds;

/* The present point, and what was evaluated there. */
typedef struct skel__ik_iterate {
    double *x;                     /* (coordinates) */
    double *trial;                 /* (coordinates) a point that is tried */
    double *best;                  /* (coordinates) best point of this descent */
    double *start;                 /* (coordinates) start of this solve, within the limits */
    skel__ik_node_pose *node_pose; /* (nodes) at the point that was evaluated last */
    double *e;                     /* (rows) errors at the point that was evaluated last */
    double *e_at_x;                /* (rows) errors at x, while trial points are evaluated */
    double *jacobian_t;            /* (all_columns x rows) */
    double *mass_sums;             /* (4 nodes + 3) per node: mass and moment of its subtree; then
                                      the moment of all bases */
    v3 centre;                     /* centre of mass [m] */
    skel__kin *kin;                /* (na + world) */
    double *seed;                  /* (columns) last point of the low-discrepancy sequence, 0..1 */
    double *seed_increment;        /* (columns) */
} skel__ik_iterate;

/* Workspace of one step. */
typedef struct skel__ik_step_work {
    double *y;              /* (columns) the step */
    double *y_held;         /* (columns) part of y that limits prescribe */
    double *e_rest;         /* (rows) errors that the free columns must remove */
    const double **column;  /* (columns) column of J; NULL: a limit holds it */
    double *flat_columns;   /* (columns x rows) columns of balls without their held directions */
    int32_t *free;          /* (columns) indices of the free columns */
    v3 *normal;             /* (3 nodes) directions along which a ball must not move */
    int32_t *normal_count;  /* (nodes) */
    double *gram;           /* (rows x rows) J J^T or J^T J, then its Cholesky factor */
    double *solution;       /* (max(rows, columns)) of a linear system */
    double *gradient;       /* (columns) */
    double *rhs;            /* (columns) */
    double *hessian;        /* (columns^2, up to SKEL__IK_HESSIAN_COLUMNS_MAX) */
    double *hessian_work;   /* likewise: with the springs of limits, or its eigenvectors */
    double *newton_factor;  /* likewise: Cholesky factor */
    double *dense_work;     /* workspace of the dense decompositions */
    int32_t has_factor;     /* gram holds the factor of the last step, which no limit changed */
    int32_t has_active_set; /* column, y_held and normals are already set for the next step */
} skel__ik_step_work;

/* Workspace of strict priorities. */
typedef struct skel__ik_level_work {
    double *basis;  /* (columns x columns) orthonormal rows: directions that must not change */
    int32_t rank;   /* number of rows of the basis */
    double *e_kept; /* (rows) errors of the earlier levels, which are preserved */
    double *e_off;  /* (rows) deviation from them */
    double *y;      /* (columns) the full step, while parts of it are tried */
} skel__ik_level_work;

/* Earlier solves, for mode TRACK. */
typedef struct skel__ik_history {
    double *last;         /* (coordinates) last result */
    double *before_last;  /* (coordinates) the result before it */
    double *first;        /* (coordinates) start of the first solve of this motion */
    double *good;         /* (coordinates) last result that met all goals; during a search: the
                              best result of its descents */
    double *e_last;       /* (rows) errors of the last result */
    int32_t has_last;     /* last, before_last and e_last are valid */
    int32_t has_good;     /* good is valid */
    int32_t is_following; /* the present solve continues from the last result */
    int32_t levels_met;   /* number of levels that the last result met, up to the first miss */
    double target_motion; /* change of the scaled errors by the motion of the targets */
} skel__ik_history;

/* Groups of goals that have no joint in common, with a solver for each. */
typedef struct skel__ik_parts {
    int32_t count;       /* 0: the problem is not divided */
    skel_ik **solver;    /* (count) nearest to the root first */
    int32_t *of_goal;    /* (goals) part that solves the goal */
    int32_t *goal_index; /* (goals) index of the goal in its part */
    double *error;       /* (count) largest error of a goal [m] or [rad] */
} skel__ik_parts;

typedef struct skel__ik_result {
    double residual;    /* largest error without weights at the point evaluated last [m], [rad] */
    int32_t iterations; /* of this solve */
    int32_t restarts;   /* of this solve */
} skel__ik_result;

struct skel_ik {
    const skel_model *model;
    skel_allocator allocator;
    skel__ik_sizes size;
    skel__ik_problem problem;
    skel__ik_options options;
    skel__ik_bounds bounds;
    skel__ik_iterate iterate;
    skel__ik_step_work step;
    skel__ik_level_work level;
    skel__ik_history history;
    skel__ik_parts parts;
    skel__ik_result result;
};

/* The caller or the settings bound the steps of this solve. */
static inline int skel__ik_is_bounded(const skel_ik *ik) {
    return ik->options.max_step != NULL || ik->options.max_node_step > 0;
}

/* Whether the time limit of the solve has passed. */
static inline int skel__ik_is_late(const skel_ik *ik) {
    return ik->options.deadline_ns && skel__now_ns() > ik->options.deadline_ns;
}

/* Whether the columns of the node are lengths; otherwise they are angles. */
static inline int skel__ik_is_length(const skel__ik_node *n) {
    return n->turn == 0;
}

/* Whether the node is an axis whose whole turns lead back to the same pose. */
static inline int skel__ik_is_periodic(const skel__ik_node *n) {
    return n->kind == SKEL__NODE_AXIS && n->shift == 0;
}

/* Motion of a node that counts as much as one radian of a hinge [rad], [m]: that radian, or a
   displacement by the unit of length. If a node does both, the larger motion counts, so that a fine
   thread travels as easily as a slide; but the columns of its rotation must not become so large
   that rounding hides the other columns. */
static inline double skel__ik_unit(const skel_ik *ik, const skel__ik_node *n) {
    if (n->shift == 0) return 1;

    const double far = ik->problem.length / fabs(n->shift);
    return n->turn == 0 ? far : fmin(fmax(far, 1), SKEL__IK_UNIT_MAX_RAD);
}

/* ---- ik_nodes.c ---- */

/* Poses of all nodes at x. */
void skel__ik_fk(skel_ik *ik, const double *x);
/* Frame or position of an anchor at these poses. */
skel__ik_frame skel__ik_anchor_frame(const skel_ik *ik, const skel__ik_anchor *a);
v3 skel__ik_anchor_point(const skel_ik *ik, const skel__ik_anchor *a);
/* Recomputes r and p of all nodes, or of an anchor, after problem.base has changed. */
void skel__ik_rebase(skel_ik *ik);
void skel__ik_rebase_anchor(const skel_ik *ik, skel__ik_anchor *a);
/* Number of columns (1 or 3) and of coordinates in x (1, 3 or 4) of a node. */
int32_t skel__ik_columns(const skel__ik_node *n);
int32_t skel__ik_coordinates(const skel__ik_node *n);
/* out = x moved by y and clamped to the bounds of this solve. out may be x. */
void skel__ik_step_within(const skel_ik *ik, const double *x, const double *y, double *out);
/* out = x moved by y, regardless of the limits. */
void skel__ik_step_beyond(const skel_ik *ik, const double *x, const double *y, double *out);
/* y that moves `from` to `to`. */
void skel__ik_difference(const skel_ik *ik, const double *from, const double *to, double *y);
/* out = point at the fraction w of the path from a to b. */
void skel__ik_blend(const skel_ik *ik, const double *a, const double *b, double w, double *out);
/* Clamps the quaternion of a ball to its limits. */
void skel__ik_place_ball(const skel_ik *ik, const skel__ik_node *n, double *q);
/* The limits of a ball at x: cone and twist, and the largest rotation node_step from the start of
   the solve [rad] (0: no bound). Returns their number. */
int skel__ik_ball_limits(const skel_ik *ik, const skel__ik_node *n, double node_step,
                         const double *x, skel__ik_ball_limit bound[4]);
/* out = pose in which the numbers u (one per column, 0..1) set every node that moves within its
   limits. All other nodes are as in `from`. */
void skel__ik_place_seed(const skel_ik *ik, const double *u, const double *from, double *out);

/* ---- ik_tasks.c: errors and derivatives of the first m rows ---- */

/* Evaluates e, residual and node poses at x. Returns |e|^2. */
double skel__ik_errors(skel_ik *ik, const double *x, int32_t m);
/* Jacobian at the point evaluated last. */
void skel__ik_jacobian(skel_ik *ik, int32_t m);
/* Adds the second derivatives of |e|^2 / 2 that J^T J lacks to h (columns^2, lower triangle). */
void skel__ik_curvature(const skel_ik *ik, int32_t m, double *h);

/* ---- ik_step.c: steps y within the limits at x, for errors e ---- */

/* y minimises |J y - e|^2 + damping |y|^2. It is shortened to the length `longest`. Returns the
   number of limits that hold it. */
int32_t skel__ik_step(skel_ik *ik, const double *x, const double *e, int32_t m, double damping,
                      double longest);
/* Solves again with the matrix of the last step. Returns 0 if that step touched a limit. */
int skel__ik_chord(skel_ik *ik, const double *e, int32_t m);
/* (H + damping) y = J^T e with step.hessian. Returns 0 if the matrix is not positive definite. */
int skel__ik_newton_step(skel_ik *ik, const double *x, const double *e, int32_t m, double damping);
/* g = J^T e. Returns its largest entry that no limit blocks. If a step from the same x with the
   same e follows, the caller may set step.has_active_set to reuse the active set. */
double skel__ik_gradient(skel_ik *ik, const double *x, const double *e, int32_t m, double *g);

/* ---- ik_descent.c: minimise |e|^2 of the first m rows from iterate.x; they return |e|^2 ---- */

void skel__ik_seeds(skel_ik *ik);
/* Damped descents from many seeds. */
double skel__ik_search(skel_ik *ik, int32_t m, int32_t restarts);
/* Levenberg-Marquardt with at most `most` iterations; |e|^2 never grows. */
double skel__ik_downhill(skel_ik *ik, int32_t m, int32_t most);
/* Improves the last digits. has_factor: the last step led to x. */
double skel__ik_polish(skel_ik *ik, int32_t m, double e2, int has_factor);
/* step.hessian = J^T J + curvature. */
void skel__ik_hessian(skel_ik *ik, int32_t m);
/* Mode TRACK: predicts the start of a solve from the history; updates the history after it. */
void skel__ik_track_begin(skel_ik *ik);
void skel__ik_track_end(skel_ik *ik);
/* Solves the levels that the last result met first, then bounds the steps of the rest tightly. */
void skel__ik_solve_met_levels(skel_ik *ik);
/* The next solve continues from x (coordinates) as if it were the last result. */
void skel__ik_resume(skel_ik *ik, const double *x);
/* The next solve continues from nothing. */
void skel__ik_forget(skel_ik *ik);
/* Motion of the targets during the last solve, the largest of all parts; infinite if the solve did
   not continue from another one. */
double skel__ik_target_motion(const skel_ik *ik);

/* ---- ik_levels.c: several priorities, or a posture ---- */

/* Number of rows of the levels before `level`. */
int32_t skel__ik_rows_before(const skel_ik *ik, int32_t level);
void skel__ik_levels(skel_ik *ik, int32_t restarts);

/* ---- ik_parts.c: goals that may move some joints only ---- */

typedef struct skel__ik_plan skel__ik_plan;
/* Creates a solver for every group of goals that has no joint in common with the others. */
skel_status skel__ik_make_parts(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d,
                                skel_error *err);
void skel__ik_free_parts(skel_ik *ik);
void skel__ik_solve_parts(skel_ik *ik);

/* ---- ik_create.c ---- */

/* Whether all numbers are finite and so small that their squares are finite too. */
int skel__ik_is_sane(const double *x, int count);
/* Sets target and weight of a task from its goal. */
void skel__ik_set_task_target(skel__ik_task *t, const skel_goal_desc *g);
/* Sets the scales of all tasks and columns from the weights. */
void skel__ik_set_scales(skel_ik *ik);
/* column_scale of mimic nodes: the factor times the scale of the source. */
void skel__ik_scale_mimics(skel_ik *ik);
/* Creates a solver. Nodes with a non-zero entry in `held` (NULL: none) do not move. has_room: a
   posture may be set later. */
skel_status skel__ik_make(const skel_ik_desc *d, const skel_allocator *a, const int32_t *held,
                          int has_room, skel_ik **out, skel_error *err);
/* skel_ik_create with memory for a posture. */
skel_status skel__ik_create(const skel_ik_desc *desc, int has_room, skel_ik **out, skel_error *err);

/* ---- ik.c ---- */

/* Options that may change between solves. They apply to the solver and to its parts. */
typedef struct skel__ik_settings {
    int32_t mode;          /* SKEL_IK_POSE, SKEL_IK_TRACK */
    int32_t max_restarts;  /* -1: default */
    int32_t has_posture;   /* needs memory for a posture */
    int32_t merges_levels; /* solve all levels at once */
    double max_node_step;  /* [rad], [length]; 0: no bound */
} skel__ik_settings;
skel__ik_settings skel__ik_settings_get(const skel_ik *ik);
void skel__ik_settings_set(skel_ik *ik, const skel__ik_settings *settings);
/* Sets the posture (coordinates) of the solver and of its parts. */
void skel__ik_set_posture(skel_ik *ik, const double *x);
/* x = pose in which the numbers u (one per column, 0..1) set every node that goals move within its
   limits. All other nodes are as in `from`. */
void skel__ik_seed_pose(skel_ik *ik, const double *u, const double *from, double *x);
/* Solves from iterate.x. */
void skel__ik_run(skel_ik *ik);
/* Writes residual, limits and singular value at iterate.x, which must have been evaluated last. */
void skel__ik_receipt(skel_ik *ik, skel_ik_receipt *r);
/* Joint coordinates of the model's initial pose. */
void skel__ik_model_q(const skel_ik *ik, double *q);
/* Moves the prescribed bodies to their poses at time t [s]. */
void skel__ik_set_time(skel_ik *ik, double t);

#endif
