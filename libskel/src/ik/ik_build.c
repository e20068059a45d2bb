/* SPDX-License-Identifier: BSD-3-Clause */
/* The plan of a solver: from the model and the goals to nodes and tasks.

   Every joint that could move becomes a node first. The tasks are then linked to the nodes that
   move them. Nodes without a link are left out later. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/error.h"
#include "math/dense.h"
#include "model/joint_kind.h"
#include "ik/ik_build.h"

#include <string.h>

#define Z_AXIS 2                /* of a node */
#define IK_MIMIC_LIMIT_TRIES 48 /* doublings of one unit in the last place */

/* Bits of skel__ik_plan.allowed: a goal may move a node if both are set. */
enum { ALLOWED_JOINT = 1, ALLOWED_CHAIN = 2, ALLOWED_BOTH = 3 };

/* Bits of skel__ik_plan.mark: what the node moves. */
enum { MARK_AT = 1, MARK_TO = 2, MARK_BOTH = 3 };
enum { MARK_ELBOW = 1, MARK_FROM = 2, MARK_END = 4, MARK_TARGET = 8, MARK_POLE_ALL = 15 };

/* ---- nodes ---- */

static const v3 k_axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* Rotations that turn the z axis to the x, y and z axis. */
static const quat k_z_to_axis[3] = {{0.70710678118654752440, 0, 0.70710678118654752440, 0},
                                    {0.70710678118654752440, -0.70710678118654752440, 0, 0},
                                    {1, 0, 0, 0}};

static int32_t add_node(skel__ik_plan *p, int32_t kind, const skel__ik_anchor *on, pose frame) {
    p->node[p->nn] = (skel__ik_node){.kind = kind,
                                     .parent = on->node,
                                     .base = on->base,
                                     .column = -1,
                                     .joint = -1,
                                     .dof = -1,
                                     .sign = 1,
                                     .turn = kind == SKEL__NODE_SHIFT ? 0 : 1,
                                     .shift = kind == SKEL__NODE_SHIFT ? 1 : 0,
                                     .source = -1,
                                     .frame = frame,
                                     .low = -INFINITY,
                                     .high = INFINITY,
                                     .mobility = 1};
    return p->nn++;
}

/* Adds the node of velocity `k` of a joint, or of all three of a ball. */
static int32_t add_joint_node(skel__ik_plan *p, int32_t kind, const skel__ik_anchor *on, pose frame,
                              int32_t joint, int32_t k) {
    const skel__joint *j = &p->m->joint[joint];
    const int32_t node = add_node(p, kind, on, frame);
    skel__ik_node *n = &p->node[node];
    n->joint = joint;
    n->x_offset = j->q_offset + k;
    n->dof = j->v_offset + k;
    n->sign = j->reversed ? -1 : 1;
    if (p->stiffness) n->mobility = 1 - p->stiffness[n->dof];

    if (j->limits.is_set && kind == SKEL__NODE_BALL) {
        n->has_cone = 1;
    } else if (j->limits.is_set && k < skel__joint_kinds[j->type].limit_count) {
        n->low = j->limits.low[k];
        n->high = j->limits.high[k];
    }
    return node;
}

static skel__ik_anchor anchor_on(int32_t node, pose given) {
    return (skel__ik_anchor){.node = node, .base = -1, .given = given};
}

/* Adds a node for every velocity of a joint, in the order of the coordinates, or backwards if the
   tree passes the joint from its inner to its outer frame. A node moves about or along its own z
   axis, which is turned to the axis of the velocity before it and back after it. The z axis needs
   no turn, and a product with the identity would change the signs of zeros. `outer` leads from `on`
   to the joint, `inner` from the joint to the body. Returns the frame of the body. */
static skel__ik_anchor add_axes(skel__ik_plan *p, const skel__ik_anchor *on, pose outer,
                                int32_t joint, pose inner) {
    const skel__joint *j = &p->m->joint[joint];
    const int count = skel__joint_kinds[j->type].dof;
    const skel__joint_motion *motion = &skel__joint_motions[j->type];
    const pose none = {{0, 0, 0}, q_identity()};
    skel__ik_anchor at = *on;
    pose before = outer; /* frame of the joint, relative to the node before */
    int axis = -1;

    for (int i = 0; i < count; ++i) {
        const int k = j->reversed ? count - 1 - i : i;
        axis = motion->freedom[k].axis;

        const pose tilt = {{0, 0, 0}, k_z_to_axis[axis]}, back = {{0, 0, 0}, q_conj(tilt.q)};
        const pose frame = axis == Z_AXIS ? before : pose_mul(before, tilt);
        at = anchor_on(add_joint_node(p, SKEL__NODE_AXIS, &at, frame, joint, k), none);
        before = axis == Z_AXIS ? none : back;

        const skel__joint_column column = skel__joint_column_of(j, k_axes, k_axes, k);
        p->node[at.node].turn = column.turn;
        p->node[at.node].shift = column.shift;
    }

    at.given = axis == Z_AXIS ? inner : pose_mul(before, inner);
    return at;
}

/* Adds the joint that attaches a body to its tree parent. A fixed joint has no node. */
static void add_joint(skel__ik_plan *p, int32_t body) {
    const skel_model *m = p->m;
    const int32_t k = m->body[body].joint;
    const skel__joint *j = &m->joint[k];

    /* From the parent to the joint, and from the joint to the body. */
    const skel__ik_anchor on = p->anchor[m->body[body].parent];
    const pose outer = pose_mul(on.given, j->reversed ? j->fb : j->fa);
    const pose inner = pose_inverse(j->reversed ? j->fa : j->fb);

    if (j->type == SKEL_JOINT_BALL)
        p->anchor[body] = anchor_on(add_joint_node(p, SKEL__NODE_BALL, &on, outer, k, 0), inner);
    else
        p->anchor[body] = add_axes(p, &on, outer, k, inner);
}

/* A free root that may move has two nodes: a shift and a ball. */
static void add_root(skel__ik_plan *p, int32_t body) {
    const pose none = {{0, 0, 0}, q_identity()};
    const skel__ik_anchor world = anchor_on(-1, none);
    p->anchor[body] = (skel__ik_anchor){.node = -1, .base = body, .given = none};
    if (p->m->body[body].host >= 0 || p->root_moves == SKEL_IK_ROOT_HELD) return;

    const int32_t shift = add_node(p, SKEL__NODE_SHIFT, &world, none);
    const skel__ik_anchor shifted = anchor_on(shift, none);
    const int32_t ball = add_node(p, SKEL__NODE_BALL, &shifted, none);
    p->node[shift].x_offset = p->m->nq + 7 * p->nroot;
    p->node[ball].x_offset = p->node[shift].x_offset + 3;
    p->node[ball].mobility = p->root_moves == SKEL_IK_ROOT_MOVES ? 1 : 0;

    p->anchor[body] = anchor_on(ball, none);
    p->root[p->nroot++] = body;
}

/* Coordinate of the source joint at which a mimic joint reaches a limit. If rounding puts the mimic
   beyond its limit there, the next number inwards that does not is returned. A range without width
   has no such number. */
static double source_limit(const skel__joint *j, double limit, double inward) {
    const double at = (limit - j->mimic_shift) / j->mimic_factor;
    double step = nextafter(at, inward) - at;
    double x = at;

    for (int k = 0; k < IK_MIMIC_LIMIT_TRIES; ++k) {
        const double q = j->mimic_factor * x + j->mimic_shift;
        if (q >= j->limits.low[0] && q <= j->limits.high[0]) return x;
        x += step;
        step *= 2;
    }
    return at;
}

/* Connects a mimic node to its source. The source keeps within the limits of both and takes the
   lower mobility of both. */
static void link_mimic(skel__ik_plan *p, skel__ik_node *n, const skel__joint *j) {
    const skel__joint *of = &p->m->joint[j->mimic_root];
    n->source = p->anchor[of->reversed ? of->a : of->b].node;
    n->mimic_factor = j->mimic_factor;
    skel__ik_node *source = &p->node[n->source];
    source->has_mimics = 1;
    if (n->mimic_factor == 0) return;

    source->mobility = fmin(source->mobility, n->mobility);
    if (!j->limits.is_set) return;

    const double up = n->mimic_factor > 0 ? INFINITY : -INFINITY;
    const double a = source_limit(j, j->limits.low[0], up);
    const double b = source_limit(j, j->limits.high[0], -up);
    source->low = fmax(source->low, fmin(a, b));
    source->high = fmin(source->high, fmax(a, b));
}

static void link_mimics(skel__ik_plan *p) {
    const skel_model *m = p->m;
    if (m->nmimic == 0) return;

    for (int32_t i = 0; i < p->nn; ++i) {
        skel__ik_node *n = &p->node[i];
        const skel__joint *j = n->joint >= 0 ? &m->joint[n->joint] : NULL;
        if (j && j->mimic_root >= 0) link_mimic(p, n, j);
    }

    /* The mobility of a source is final only after all of its mimics. */
    for (int32_t i = 0; i < p->nn; ++i) {
        skel__ik_node *n = &p->node[i];
        if (n->source < 0) continue;
        n->mobility = n->mimic_factor == 0 ? 0 : p->node[n->source].mobility;
    }
}

void skel__ik_plan_nodes(skel__ik_plan *p) {
    const skel_model *m = p->m;
    const pose none = {{0, 0, 0}, q_identity()};
    for (int32_t i = -1; i < m->na; ++i)
        p->anchor[i] = (skel__ik_anchor){.node = -1, .base = i, .given = none};

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        if (m->body[i].joint >= 0)
            add_joint(p, i);
        else
            add_root(p, i);
    }

    for (int32_t i = 0; p->held && i < p->nn; ++i)
        if (p->held[i]) p->node[i].mobility = 0;
    link_mimics(p);
}

/* ---- tasks ---- */

static skel__ik_anchor offset(skel__ik_anchor a, pose by) {
    a.given = pose_mul(a.given, by);
    return a;
}
static pose translation(const double p[3]) {
    return (pose){v3_of(p), q_identity()};
}

static int32_t rows_of(int32_t kind, int32_t mask) {
    switch (kind) {
    case SKEL__TASK_AIM:
    case SKEL__TASK_ALIGN: return 2;
    case SKEL__TASK_SQUARE:
    case SKEL__TASK_THREAD:
    case SKEL__TASK_POLE: return 1;
    default: return (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1);
    }
}

static int is_length(int32_t kind) {
    return kind == SKEL__TASK_POINT || kind == SKEL__TASK_THREAD || kind == SKEL__TASK_POLE ||
           kind == SKEL__TASK_CENTRE;
}

static skel__ik_task *add_task(skel__ik_plan *p, int32_t kind, int32_t goal, int32_t level,
                               int32_t mask) {
    skel__ik_task *t = &p->task[p->nt++];
    const skel__ik_anchor world = p->anchor[-1];
    *t = (skel__ik_task){.kind = kind,
                         .goal = goal,
                         .level = level,
                         .mask = mask,
                         .rows = rows_of(kind, mask),
                         .is_length = is_length(kind),
                         .weight = 1,
                         .at = world,
                         .to = world,
                         .from = world,
                         .end = world,
                         .orientation = m3_identity()};
    return t;
}

static void add_goal(skel__ik_plan *p, int32_t k, int32_t level) {
    const skel_goal_desc *g = &p->goal[k];
    const int first = p->nt;
    const skel__ik_anchor at = offset(p->anchor[g->body], translation(g->point));

    /* Without any parts the position counts. */
    int32_t axes = g->parts & SKEL_GOAL_POSITION;
    if (g->parts == 0) axes = SKEL_GOAL_POSITION;

    switch (g->kind) {
    case SKEL_GOAL_PLACE:
        if (axes) add_task(p, SKEL__TASK_POINT, k, level, axes)->at = at;
        if (g->parts & SKEL_GOAL_ORIENTATION)
            add_task(p, SKEL__TASK_TURN, k, level, SKEL_GOAL_POSITION)->at =
                offset(at, (pose){{0, 0, 0}, q_of(g->frame)});
        break;
    case SKEL_GOAL_AIM: {
        skel__ik_task *t = add_task(p, SKEL__TASK_AIM, k, level, 0);
        t->at = at;
        t->axis = v3_of(g->axis);
        break;
    }
    case SKEL_GOAL_POLE: {
        skel__ik_task *t = add_task(p, SKEL__TASK_POLE, k, level, 0);
        t->at = at;
        t->from = offset(p->anchor[g->from], translation(g->from_point));
        t->end = offset(p->anchor[g->to], translation(g->to_point));
        break;
    }
    default: add_task(p, SKEL__TASK_CENTRE, k, level, axes ? axes : SKEL_GOAL_POSITION);
    }

    for (int32_t i = first; i < p->nt; ++i) p->task[i].to = p->anchor[g->relative_to];
}

/* A loop joint: its two frames must coincide, except for the motion that its kind allows. The
   position counts along the locked axes. The number of pairs of axes that stay perpendicular tells
   the task of the orientation. */
static void add_loop(skel__ik_plan *p, const skel__joint *j) {
    const skel__joint_motion *motion = &skel__joint_motions[j->type];
    const int first = p->nt;

    int32_t mask = skel__joint_kinds[j->type].is_through_point ? SKEL_GOAL_POSITION : 0;
    for (int k = 0; k < motion->lock_count; ++k) mask |= 1 << motion->lock[k];
    add_task(p, SKEL__TASK_POINT, -1, 0, mask);

    switch (motion->pair_count) {
    case 0: break;
    case 1: {
        skel__ik_task *t = add_task(p, SKEL__TASK_SQUARE, -1, 0, 0);
        t->axis = k_axes[motion->pair[0].inner];
        t->to_axis = k_axes[motion->pair[0].outer];
        break;
    }
    case 2: {
        skel__ik_task *t = add_task(p, SKEL__TASK_ALIGN, -1, 0, 0);
        t->axis = k_axes[Z_AXIS];
        t->to_axis = k_axes[Z_AXIS];
        break;
    }
    default: add_task(p, SKEL__TASK_TURN, -1, 0, SKEL_GOAL_POSITION);
    }

    if (j->pitch != 0) add_task(p, SKEL__TASK_THREAD, -1, 0, 0)->pitch = j->pitch;

    for (int32_t i = first; i < p->nt; ++i) {
        p->task[i].at = offset(p->anchor[j->b], j->fb);
        p->task[i].to = offset(p->anchor[j->a], j->fa);
    }
}

void skel__ik_plan_tasks(skel__ik_plan *p, uint32_t goals) {
    /* Loops are the first level. */
    for (int32_t k = 0; k < p->m->nl; ++k) add_loop(p, &p->m->joint[p->m->loop[k]]);
    p->levels = p->m->nl > 0 ? 1 : 0;

    /* Every priority that has goals is a level. */
    for (int32_t priority = 0; priority <= SKEL_IK_MAX_PRIORITY; ++priority) {
        const int first = p->nt;
        for (uint32_t k = 0; k < goals; ++k)
            if (p->goal[k].priority == priority) add_goal(p, (int32_t)k, p->levels);
        if (p->nt > first) ++p->levels;
    }

    for (int32_t i = 0; i < p->nt; ++i) {
        p->task[i].row = p->rows;
        p->rows += p->task[i].rows;
    }
}

/* ---- links: the nodes that move a task ---- */

/* Marks a node and all nodes above it. */
static void mark_chain(const skel__ik_plan *p, int32_t node, int32_t bit) {
    for (int32_t i = node; i >= 0; i = p->node[i].parent) p->mark[i] |= bit;
}

/* Allows the nodes of a joint, which are adjacent. */
static void allow_joint(const skel__ik_plan *p, int32_t joint) {
    const skel__joint *j = &p->m->joint[joint];
    int32_t i = p->anchor[j->reversed ? j->a : j->b].node;
    for (; i >= 0 && p->node[i].joint == joint; i = p->node[i].parent)
        p->allowed[i] |= ALLOWED_JOINT;
}

static void allow_roots(const skel__ik_plan *p) {
    for (int32_t i = 0; i < p->nn; ++i)
        if (p->node[i].joint < 0) p->allowed[i] |= ALLOWED_JOINT;
}

/* Allows the nodes between the goal's body and its chain_root, at most chain_depth joints. */
static void allow_chain(const skel__ik_plan *p, const skel_goal_desc *g) {
    const int32_t end = g->chain_root >= 0 ? p->anchor[g->chain_root].node : -1;
    int32_t depth = g->chain_depth > 0 ? g->chain_depth : p->nn + 1;
    int32_t last = -2; /* no joint */

    for (int32_t i = p->anchor[g->body].node; i >= 0 && i != end; i = p->node[i].parent) {
        if (p->node[i].joint != last && depth-- == 0) break;
        last = p->node[i].joint;
        p->allowed[i] |= ALLOWED_CHAIN;
    }
}

/* Finds the nodes that a goal may move. A loop (goal -1) may move all. */
static void allow(const skel__ik_plan *p, int32_t goal) {
    const skel_goal_desc *g = goal >= 0 ? &p->goal[goal] : NULL;
    const int has_joints = g && g->joints;
    const int has_chain = g && (g->chain_root >= 0 || g->chain_depth != 0);

    const int32_t all = (has_joints ? 0 : ALLOWED_JOINT) | (has_chain ? 0 : ALLOWED_CHAIN);
    for (int32_t i = 0; i < p->nn; ++i) p->allowed[i] = all;

    for (uint32_t k = 0; has_joints && k < g->joint_count; ++k) {
        if (g->joints[k] >= 0)
            allow_joint(p, g->joints[k]);
        else
            allow_roots(p);
    }
    if (has_chain) allow_chain(p, g);
}

/* A source joint and its mimics move together: if a goal may move one, it may move all. */
static void allow_mimics(const skel__ik_plan *p) {
    for (int32_t i = 0; i < p->nn; ++i)
        if (p->node[i].source >= 0) p->allowed[p->node[i].source] |= p->allowed[i];
    for (int32_t i = 0; i < p->nn; ++i)
        if (p->node[i].source >= 0) p->allowed[i] |= p->allowed[p->node[i].source];
}

/* Marks which ends of a task every node moves. */
static void mark_nodes(const skel__ik_plan *p, const skel__ik_task *t) {
    memset(p->mark, 0, (size_t)p->nn * sizeof *p->mark);

    if (t->kind == SKEL__TASK_POLE) {
        mark_chain(p, t->at.node, MARK_ELBOW);
        mark_chain(p, t->from.node, MARK_FROM);
        mark_chain(p, t->end.node, MARK_END);
        mark_chain(p, t->to.node, MARK_TARGET);
        return;
    }
    for (int32_t i = 0; t->kind == SKEL__TASK_CENTRE && i < p->nn; ++i) p->mark[i] = MARK_AT;
    mark_chain(p, t->at.node, MARK_AT);
    mark_chain(p, t->to.node, MARK_TO);
}

/* Value of skel__ik_link.sign for a node, or 0 if the node does not move the task. A node that
   moves all ends of a task together does not change it. */
static int32_t link_sign(const skel__ik_plan *p, const skel__ik_task *t, int32_t node) {
    const int32_t bits = p->mark[node];
    const skel__ik_node *n = &p->node[node];
    if (!(n->mobility > 0) || p->allowed[node] != ALLOWED_BOTH) return 0;

    switch (t->kind) {
    case SKEL__TASK_POLE: return bits != MARK_POLE_ALL ? bits : 0;
    case SKEL__TASK_CENTRE: return bits;
    default: break;
    }
    if (bits == MARK_BOTH) return 0;
    if (n->kind == SKEL__NODE_SHIFT && t->kind == SKEL__TASK_TURN) return 0;
    return bits == MARK_AT ? 1 : -1;
}

static void link_task(skel__ik_plan *p, skel__ik_task *t) {
    mark_nodes(p, t);
    allow(p, t->goal);
    if (p->m->nmimic > 0) allow_mimics(p);

    t->first_link = p->links;
    t->link_count = 0;
    for (int32_t i = 0; i < p->nn; ++i) {
        if (p->mark[i] == 0) continue;

        /* The pose of a mimic needs its source and the nodes above it. */
        p->needed[i] = 1;
        for (int32_t k = p->node[i].source; k >= 0; k = p->node[k].parent) p->needed[k] = 1;

        const int32_t sign = link_sign(p, t, i);
        if (sign == 0) continue;
        if (p->link) p->link[p->links] = (skel__ik_link){i, sign};
        ++p->links;
        ++t->link_count;
        p->moves[i] = 1;
        if (p->node[i].source >= 0) p->moves[p->node[i].source] = 1;
    }
}

/* Counts the links, and fills them in if p->link is set. */
void skel__ik_plan_links(skel__ik_plan *p) {
    p->links = 0;
    for (int32_t k = 0; k < p->nt; ++k) link_task(p, &p->task[k]);

    /* A posture moves all joints, but not the free roots. */
    for (int32_t i = 0; p->has_posture && i < p->nn; ++i) {
        p->needed[i] = 1;
        if (p->node[i].mobility > 0 && p->node[i].joint >= 0) p->moves[i] = 1;
    }
}
