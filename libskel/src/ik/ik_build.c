/* SPDX-License-Identifier: BSD-3-Clause */
/* From model and goals to nodes and tasks. First everything that could move becomes a node; then
   the tasks say which of them they need, and the rest is left out. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/error.h"
#include "math/dense.h"
#include "ik/ik_build.h"

#include <string.h>

/* ---- nodes ---- */

static const quat k_z_to_x = {0.70710678118654752440, 0, 0.70710678118654752440, 0};

static int32_t add_node(skel__ik_plan *p, int32_t kind, const skel__ik_anchor *on, pose frame) {
    skel__ik_node *n = &p->node[p->nn];
    *n               = (skel__ik_node){.kind       = kind,
                                       .parent     = on->node,
                                       .base       = on->base,
                                       .column     = -1,
                                       .joint      = -1,
                                       .dof        = -1,
                                       .sign       = 1,
                                       .leader     = -1,
                                       .frame      = frame,
                                       .low        = -INFINITY,
                                       .high       = INFINITY,
                                       .reluctance = 1};
    return p->nn++;
}

static int32_t add_joint_node(skel__ik_plan *p, int32_t kind, const skel__ik_anchor *on, pose frame,
                              int32_t joint, int32_t side) {
    const skel__joint *j = &p->m->joint[joint];
    const int32_t      k = add_node(p, kind, on, frame);
    skel__ik_node     *n = &p->node[k];
    n->joint             = joint;
    n->x                 = j->q_offset + side;
    n->dof               = j->v_offset + side;
    n->sign              = j->reversed ? -1 : 1;
    if (j->limits.is_set && kind != SKEL__NODE_BALL)
        n->low = j->limits.low[side], n->high = j->limits.high[side];
    if (j->limits.is_set && kind == SKEL__NODE_BALL) n->has_cone = 1;
    if (p->stiffness) n->reluctance = 1 - p->stiffness[n->dof];
    return k;
}

static skel__ik_anchor hang(int32_t node, pose given) {
    return (skel__ik_anchor){.node = node, .base = -1, .given = given};
}

/* Rz(q0) Rx(q1), or its inverse: two hinges, the second with z turned to x. */
static skel__ik_anchor add_universal(skel__ik_plan *p, const skel__ik_anchor *on, pose pre,
                                     int32_t joint, pose out) {
    const pose            tilt = {{0, 0, 0}, k_z_to_x}, back = {{0, 0, 0}, q_conj(k_z_to_x)};
    const int             reversed = p->m->joint[joint].reversed;
    const int32_t         first    = add_joint_node(p, SKEL__NODE_HINGE, on,
                                         reversed ? pose_mul(pre, tilt) : pre, joint, reversed);
    const skel__ik_anchor a        = hang(first, pre);
    const int32_t         second =
        add_joint_node(p, SKEL__NODE_HINGE, &a, reversed ? back : tilt, joint, !reversed);
    return hang(second, reversed ? out : pose_mul(back, out));
}

static void add_joint(skel__ik_plan *p, int32_t body) {
    const skel_model     *m      = p->m;
    const int32_t         k      = m->body[body].joint;
    const skel__joint    *j      = &m->joint[k];
    const skel__ik_anchor on     = p->anchor[m->body[body].parent];
    const pose            pre    = pose_mul(on.given, j->reversed ? j->fb : j->fa);
    const pose            out    = pose_inverse(j->reversed ? j->fa : j->fb);
    static const int32_t  kind[] = {[SKEL_JOINT_HINGE] = SKEL__NODE_HINGE,
                                    [SKEL_JOINT_SLIDE] = SKEL__NODE_SLIDE,
                                    [SKEL_JOINT_BALL]  = SKEL__NODE_BALL};
    switch (j->type) {
    case SKEL_JOINT_FIXED:
        p->anchor[body]       = on;
        p->anchor[body].given = pose_mul(pre, out);
        break;
    case SKEL_JOINT_UNIVERSAL: p->anchor[body] = add_universal(p, &on, pre, k, out); break;
    default: p->anchor[body] = hang(add_joint_node(p, kind[j->type], &on, pre, k, 0), out);
    }
}

static void add_root(skel__ik_plan *p, int32_t body) {
    const pose            none  = {{0, 0, 0}, q_identity()};
    const skel__ik_anchor world = hang(-1, none);
    p->anchor[body]             = (skel__ik_anchor){.node = -1, .base = body, .given = none};
    if (p->m->body[body].host >= 0 || p->root_moves == SKEL_IK_ROOT_HELD) return;
    const int32_t         x     = p->m->nq + 7 * p->nroot;
    const int32_t         shift = add_node(p, SKEL__NODE_SHIFT, &world, none);
    const skel__ik_anchor a     = hang(shift, none);
    const int32_t         ball  = add_node(p, SKEL__NODE_BALL, &a, none);
    p->node[shift].x = x, p->node[ball].x = x + 3;
    p->node[ball].reluctance = p->root_moves == SKEL_IK_ROOT_MOVES ? 1 : 0;
    p->anchor[body]          = hang(ball, none);
    p->root[p->nroot++]      = body;
}

/* Where the leader may be for a limit of what goes with it: the limit's place, or just inside it
   where rounding would put the other outside. A range without width has no inside. */
static double lead_bound(const skel__joint *j, double limit, double inward) {
    const double at   = (limit - j->mimic_shift) / j->mimic_factor;
    double       step = nextafter(at, inward) - at, x = at;
    for (int k = 0; k < 48; ++k, x += step, step *= 2) {
        const double q = j->mimic_factor * x + j->mimic_shift;
        if (q >= j->limits.low[0] && q <= j->limits.high[0]) return x;
    }
    return at;
}

/* A node that goes with another has its motion from it; the leader keeps within what both may do,
   and is as stiff as the stiffer of them. */
static void lead_nodes(skel__ik_plan *p) {
    const skel_model *m = p->m;
    for (int32_t i = 0; m->nmimic > 0 && i < p->nn; ++i) {
        skel__ik_node     *n = &p->node[i];
        const skel__joint *j = n->joint >= 0 ? &m->joint[n->joint] : NULL;
        if (!j || j->mimic_root < 0) continue;
        const skel__joint *of = &m->joint[j->mimic_root];
        n->leader             = p->anchor[of->reversed ? of->a : of->b].node;
        n->factor             = j->mimic_factor;
        skel__ik_node *leader = &p->node[n->leader];
        leader->leads         = 1;
        if (n->factor == 0) continue;
        leader->reluctance = fmin(leader->reluctance, n->reluctance);
        if (!j->limits.is_set) continue;
        const double up = n->factor > 0 ? INFINITY : -INFINITY;
        const double a  = lead_bound(j, j->limits.low[0], up),
                     b  = lead_bound(j, j->limits.high[0], -up);
        leader->low     = fmax(leader->low, fmin(a, b));
        leader->high    = fmin(leader->high, fmax(a, b));
    }
    for (int32_t i = 0; m->nmimic > 0 && i < p->nn; ++i) {
        skel__ik_node *n = &p->node[i];
        if (n->leader >= 0) n->reluctance = n->factor == 0 ? 0 : p->node[n->leader].reluctance;
    }
}

void skel__ik_plan_nodes(skel__ik_plan *p) {
    const skel_model *m    = p->m;
    const pose        none = {{0, 0, 0}, q_identity()};
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
        if (p->held[i]) p->node[i].reluctance = 0;
    lead_nodes(p);
}

/* ---- tasks ---- */

static skel__ik_anchor with(skel__ik_anchor a, pose more) {
    a.given = pose_mul(a.given, more);
    return a;
}
static pose shifted(const double p[3]) {
    return (pose){v3_of(p), q_identity()};
}

static skel__ik_task *add_task(skel__ik_plan *p, int32_t kind, int32_t goal, int32_t level,
                               int32_t mask) {
    skel__ik_task *t = &p->task[p->nt++];
    *t               = (skel__ik_task){.kind = kind, .goal = goal, .level = level, .mask = mask};
    t->rows          = kind == SKEL__TASK_AIM || kind == SKEL__TASK_ALIGN ? 2
                       : kind == SKEL__TASK_SQUARE || kind == SKEL__TASK_POLE
                           ? 1
                           : (mask & 1) + (mask >> 1 & 1) + (mask >> 2 & 1);
    t->weight        = 1;
    t->at = t->to = t->from = t->end = p->anchor[-1];
    t->turn                          = m3_identity();
    return t;
}

static void add_goal(skel__ik_plan *p, int32_t k, int32_t level) {
    const skel_goal_desc *g     = &p->goal[k];
    const int             first = p->nt;
    const int32_t         axes  = g->parts & SKEL_GOAL_POSITION ? g->parts & SKEL_GOAL_POSITION
                                  : g->parts                    ? 0
                                                                : SKEL_GOAL_POSITION;
    const skel__ik_anchor at    = with(p->anchor[g->body], shifted(g->point));
    switch (g->kind) {
    case SKEL_GOAL_PLACE:
        if (axes) add_task(p, SKEL__TASK_POINT, k, level, axes)->at = at;
        if (g->parts & SKEL_GOAL_ORIENTATION)
            add_task(p, SKEL__TASK_TURN, k, level, SKEL_GOAL_POSITION)->at =
                with(at, (pose){{0, 0, 0}, q_of(g->frame)});
        break;
    case SKEL_GOAL_AIM: {
        skel__ik_task *t = add_task(p, SKEL__TASK_AIM, k, level, 0);
        t->at            = at;
        t->axis          = v3_of(g->axis);
        break;
    }
    case SKEL_GOAL_POLE: {
        skel__ik_task *t = add_task(p, SKEL__TASK_POLE, k, level, 0);
        t->at            = at;
        t->from          = with(p->anchor[g->from], shifted(g->from_point));
        t->end           = with(p->anchor[g->to], shifted(g->to_point));
        break;
    }
    default: add_task(p, SKEL__TASK_CENTRE, k, level, axes ? axes : SKEL_GOAL_POSITION);
    }
    for (int32_t i = first; i < p->nt; ++i) p->task[i].to = p->anchor[g->relative_to];
}

/* A joint beyond the tree: its frames must fit as its type wants. */
static void add_loop(skel__ik_plan *p, const skel__joint *j) {
    const int first = p->nt;
    const v3  x = {1, 0, 0}, z = {0, 0, 1};
    add_task(p, SKEL__TASK_POINT, -1, 0,
             j->type == SKEL_JOINT_SLIDE ? SKEL_GOAL_X | SKEL_GOAL_Y : SKEL_GOAL_POSITION);
    if (j->type == SKEL_JOINT_FIXED || j->type == SKEL_JOINT_SLIDE)
        add_task(p, SKEL__TASK_TURN, -1, 0, SKEL_GOAL_POSITION);
    if (j->type == SKEL_JOINT_HINGE) {
        skel__ik_task *t = add_task(p, SKEL__TASK_ALIGN, -1, 0, 0);
        t->axis = t->to_axis = z;
    }
    if (j->type == SKEL_JOINT_UNIVERSAL) {
        skel__ik_task *t = add_task(p, SKEL__TASK_SQUARE, -1, 0, 0);
        t->axis = x, t->to_axis = z;
    }
    for (int32_t i = first; i < p->nt; ++i) {
        p->task[i].at = with(p->anchor[j->b], j->fb);
        p->task[i].to = with(p->anchor[j->a], j->fa);
    }
}

void skel__ik_plan_tasks(skel__ik_plan *p, uint32_t goals) {
    for (int32_t k = 0; k < p->m->nl; ++k) add_loop(p, &p->m->joint[p->m->loop[k]]);
    p->levels = p->m->nl > 0 ? 1 : 0;
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

/* ---- which nodes move which tasks ---- */

static void climb(const skel__ik_plan *p, int32_t node, int32_t *mark, int32_t bit) {
    for (int32_t i = node; i >= 0; i = p->node[i].parent) mark[i] |= bit;
}

/* The nodes of a joint: two of a universal, one after the other. */
static void allow_joint(const skel__ik_plan *p, int32_t joint) {
    const skel__joint *j = &p->m->joint[joint];
    int32_t            i = p->anchor[j->reversed ? j->a : j->b].node;
    for (; i >= 0 && p->node[i].joint == joint; i = p->node[i].parent) p->allowed[i] |= 1;
}

/* Which nodes a goal may move: those of its joints (bit 1) that are of its chain (bit 2). */
static void allow(const skel__ik_plan *p, int32_t goal) {
    const skel_goal_desc *g = goal >= 0 ? &p->goal[goal] : NULL;
    const int32_t         all =
        (!g || !g->joints ? 1 : 0) | (!g || (g->chain_root < 0 && g->chain_depth == 0) ? 2 : 0);
    for (int32_t i = 0; i < p->nn; ++i) p->allowed[i] = all;
    for (uint32_t k = 0; g && g->joints && k < g->joint_count; ++k) {
        if (g->joints[k] >= 0) allow_joint(p, g->joints[k]);
        for (int32_t i = 0; g->joints[k] < 0 && i < p->nn; ++i)
            if (p->node[i].joint < 0) p->allowed[i] |= 1;
    }
    if (all & 2) return;
    const int32_t end  = g->chain_root >= 0 ? p->anchor[g->chain_root].node : -1;
    int32_t       left = g->chain_depth > 0 ? g->chain_depth : p->nn + 1, last = -2;
    for (int32_t i = p->anchor[g->body].node; i >= 0 && i != end; i = p->node[i].parent) {
        if (p->node[i].joint != last && left-- == 0) break;
        last = p->node[i].joint;
        p->allowed[i] |= 2;
    }
}

/* Joints that go together are one: what lets one move lets all. */
static void allow_followers(const skel__ik_plan *p) {
    for (int32_t i = 0; i < p->nn; ++i)
        if (p->node[i].leader >= 0) p->allowed[p->node[i].leader] |= p->allowed[i];
    for (int32_t i = 0; i < p->nn; ++i)
        if (p->node[i].leader >= 0) p->allowed[i] |= p->allowed[p->node[i].leader];
}

/* Nodes that move both ends of a task alike do not move it at all. */
static void link_task(skel__ik_plan *p, skel__ik_task *t) {
    memset(p->mark, 0, (size_t)p->nn * sizeof *p->mark);
    if (t->kind == SKEL__TASK_CENTRE)
        for (int32_t i = 0; i < p->nn; ++i) p->mark[i] = 1;
    climb(p, t->at.node, p->mark, 1);
    climb(p, t->to.node, p->mark, t->kind == SKEL__TASK_POLE ? 8 : 2);
    if (t->kind == SKEL__TASK_POLE) {
        climb(p, t->from.node, p->mark, 2);
        climb(p, t->end.node, p->mark, 4);
    }
    t->path = p->links;
    allow(p, t->goal);
    if (p->m->nmimic > 0) allow_followers(p);
    for (int32_t i = 0; i < p->nn; ++i) {
        const int32_t bits = p->mark[i];
        if (bits == 0) continue;
        p->needed[i] = 1;
        for (int32_t k = p->node[i].leader; k >= 0; k = p->node[k].parent) p->needed[k] = 1;
        const int is_mixed = t->kind == SKEL__TASK_POLE || t->kind == SKEL__TASK_CENTRE;
        const int moves    = t->kind == SKEL__TASK_POLE ? bits != 15 : is_mixed || bits != 3;
        if (!moves || !(p->node[i].reluctance > 0) || p->allowed[i] != 3) continue;
        if (p->node[i].kind == SKEL__NODE_SHIFT && t->kind == SKEL__TASK_TURN) continue;
        if (p->path) p->path[p->links] = (skel__ik_link){i, is_mixed ? bits : bits == 1 ? 1 : -1};
        ++p->links;
        ++t->path_count;
        p->moves[i] = 1;
        if (p->node[i].leader >= 0) p->moves[p->node[i].leader] = 1;
    }
}

/* Counts, or, where path is there, fills in. */
void skel__ik_plan_links(skel__ik_plan *p) {
    p->links = 0;
    for (int32_t k = 0; k < p->nt; ++k) {
        p->task[k].path_count = 0;
        link_task(p, &p->task[k]);
    }
    if (p->has_posture)
        for (int32_t i = 0; i < p->nn; ++i)
            p->needed[i] = 1,
            p->moves[i]  = p->node[i].reluctance > 0 && p->node[i].joint >= 0 ? 1 : p->moves[i];
}
