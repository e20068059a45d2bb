/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics, the doors: making a solver, solving, the receipt. */
#include "ik/ik.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "math/dense.h"
#include "ik/ik_build.h"

#include <string.h>

#define RESTARTS 1000  /* default for one pose */
#define FARTHEST 1e50  /* of targets and points */
#define WIDE_SLIDE 1e3 /* travel beyond so many lengths of the links counts as no limit */
#define WIDE_HINGE 8.0 /* turns: a range beyond them likewise, where seeds are drawn */
#define DESC_GOAL_V1 offsetof(skel_goal_desc, joints)

static const skel_goal_desc k_goal = {.struct_size = sizeof k_goal,
                                      .body = SKEL_WORLD,
                                      .relative_to = SKEL_WORLD,
                                      .weight = 1,
                                      .frame = {1, 0, 0, 0},
                                      .axis = {0, 0, 1},
                                      .from = SKEL_WORLD,
                                      .to = SKEL_WORLD,
                                      .orientation = {1, 0, 0, 0},
                                      .chain_root = SKEL_WORLD};
static const skel_ik_desc k_desc = {.struct_size = sizeof k_desc,
                                    .goal_stride = sizeof(skel_goal_desc),
                                    .tolerance = 1e-5,
                                    .max_restarts = -1};

void skel_goal_desc_init_sized(skel_goal_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_goal, sizeof k_goal);
}
void skel_ik_desc_init_sized(skel_ik_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

/* ---- checks ---- */

static int is_body(const skel_model *m, int32_t body, int world) {
    return (body >= 0 && body < m->nb) || (world && body == SKEL_WORLD);
}

/* Squares of what is larger would be no numbers. */
static int all_sane(const double *x, int count) {
    for (int k = 0; k < count; ++k)
        if (!(fabs(x[k]) <= FARTHEST)) return 0;
    return 1;
}

static skel_status bad_goal(skel_error *err, int32_t k, const char *what) {
    return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "goals[%d].%s", k, what);
}

static int hangs_from(const skel_model *m, int32_t body, int32_t root) {
    while (body >= 0 && body != root) body = m->body[body].parent;
    return body == root;
}

static skel_status check_joints(const skel_model *m, const skel_goal_desc *g, int32_t k,
                                skel_error *err) {
    if ((g->joints != NULL) != (g->joint_count > 0))
        return bad_goal(err, k, "joints: must be given with a joint_count > 0, or neither");
    for (uint32_t i = 0; i < g->joint_count; ++i) {
        const int32_t j = g->joints[i];
        if (j < SKEL_WORLD || j >= m->nj || (j >= 0 && m->joint[j].is_loop))
            return skel__fail(
                err, SKEL_E_ARGUMENT, -1, -1,
                "goals[%d].joints[%u]: is %d, must be a joint that closes no loop, or "
                "SKEL_WORLD",
                k, i, j);
    }
    if (g->chain_depth < 0) return bad_goal(err, k, "chain_depth: must be >= 0");
    if (g->kind == SKEL_GOAL_CENTRE && (g->chain_depth > 0 || g->chain_root != SKEL_WORLD))
        return bad_goal(err, k, "chain_depth, chain_root: a centre of mass has no chain");
    if (g->chain_root != SKEL_WORLD && (!is_body(m, g->chain_root, 0) || g->chain_root == g->body ||
                                        !hangs_from(m, g->body, g->chain_root)))
        return bad_goal(err, k, "chain_root: must be a body that the goal's body hangs from");
    return SKEL_OK;
}

static skel_status check_goal(const skel_model *m, skel_goal_desc *g, int32_t k, skel_error *err) {
    if (g->kind < SKEL_GOAL_PLACE || g->kind > SKEL_GOAL_CENTRE)
        return bad_goal(err, k, "kind: must be one of SKEL_GOAL_*");
    if (!is_body(m, g->body, g->kind == SKEL_GOAL_CENTRE))
        return bad_goal(err, k, "body: must be the index of a body");
    if (!is_body(m, g->relative_to, 1) || !is_body(m, g->from, 1) || !is_body(m, g->to, 1))
        return bad_goal(err, k, "relative_to, from, to: must be bodies or SKEL_WORLD");
    if (g->priority < 0 || g->priority > SKEL_IK_MAX_PRIORITY)
        return bad_goal(err, k, "priority: must be from 0 to 15");
    if (!(g->weight >= 0 && isfinite(g->weight))) return bad_goal(err, k, "weight: must be >= 0");
    if (g->parts > (SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION))
        return bad_goal(err, k, "parts: must be of SKEL_GOAL_X ... SKEL_GOAL_ORIENTATION");
    if (!all_sane(g->point, 3) || !all_sane(g->frame, 4) || !all_sane(g->axis, 3) ||
        !all_sane(g->from_point, 3) || !all_sane(g->to_point, 3) || !all_sane(g->position, 3) ||
        !all_sane(g->orientation, 4))
        return bad_goal(err, k,
                        "point, frame, axis, position, orientation: must be finite, at most 1e50");
    const double frame = q_dot(q_of(g->frame), q_of(g->frame)), axis = v3_norm(v3_of(g->axis));
    const double turn = q_dot(q_of(g->orientation), q_of(g->orientation));
    if (!(frame > 0 && turn > 0 && axis > 0))
        return bad_goal(err, k, "frame, axis, orientation: must not be zero");
    q_to(q_unit(q_of(g->frame)), g->frame);
    v3_to(v3_scale(v3_of(g->axis), 1 / axis), g->axis);
    return check_joints(m, g, k, err);
}

static skel_status check_arrays(const skel_ik_desc *d, skel_error *err) {
    for (int32_t k = 0; d->stiffness && k < d->model->nv; ++k)
        if (!(d->stiffness[k] >= 0 && d->stiffness[k] <= 1))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "stiffness[%d]: is %g, must be from 0 to 1", k, d->stiffness[k]);
    for (int32_t k = 0; d->max_step && k < d->model->nv; ++k)
        if (!(d->max_step[k] >= 0 && isfinite(d->max_step[k])))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "max_step[%d]: is %g, must be >= 0", k,
                              d->max_step[k]);
    if (d->posture && !all_finite(d->posture, (size_t)d->model->nq))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "posture: must be finite");
    return SKEL_OK;
}

/* Poses are sums of levers: beyond this size they may overflow although all numbers are finite. */
static skel_status check_extent(const skel_model *m, skel_error *err) {
    if (!(m->length_scale <= FARTHEST))
        return skel__fail(
            err, SKEL_E_ARGUMENT, -1, -1,
            "model: a lever or distance is longer than %g m, the largest that IK takes", FARTHEST);

    for (int32_t i = 0; i < m->nb; ++i)
        if (!(v3_norm(m->body[i].x0.p) <= FARTHEST))
            return skel__fail(
                err, SKEL_E_ARGUMENT, i, -1,
                "bodies[%d] '%s': is farther than %g m from the origin, which IK refuses", i,
                m->body[i].name, FARTHEST);
    return SKEL_OK;
}

static skel_status import(const skel_ik_desc *desc, skel_ik_desc *d, skel_error *err) {
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    *d = k_desc;
    if (skel__desc_import(d, sizeof *d, sizeof *d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof *d);
    if (!d->model) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model: is NULL");
    const skel_status extent = check_extent(d->model, err);
    if (extent != SKEL_OK) return extent;
    if (d->goal_count > 0 && !d->goals)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "goals: is NULL, goal_count is %u",
                          d->goal_count);
    if (d->goal_count > 100000)
        return skel__fail(err, SKEL_E_TOO_LARGE, -1, -1,
                          "goal_count: is %u, must be at most 100000", d->goal_count);
    if (!(d->tolerance > 0 && isfinite(d->tolerance)) || !(d->max_ms >= 0))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "tolerance: is %g, must be > 0; max_ms: is %g, must be >= 0",
                          d->tolerance, d->max_ms);
    if (d->mode < 0 || d->mode > SKEL_IK_TRACK || d->method < 0 || d->method > SKEL_IK_NEWTON ||
        d->root < 0 || d->root > SKEL_IK_ROOT_MOVES || d->max_iterations < 0 ||
        d->max_restarts < -1)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "mode, method, root, max_iterations or max_restarts: out of range");
    return check_arrays(d, err);
}

static skel_status import_goals(const skel_ik_desc *d, skel_goal_desc *out, skel_error *err) {
    int32_t centre = -2;
    for (uint32_t k = 0; k < d->goal_count; ++k) {
        const char *in = (const char *)d->goals + (size_t)k * d->goal_stride;
        out[k] = k_goal;
        if (skel__desc_import(&out[k], sizeof *out, DESC_GOAL_V1, in) != SKEL_OK)
            return bad_goal(err, (int32_t)k, "struct_size: is not one this library knows");
        const skel_status status = check_goal(d->model, &out[k], (int32_t)k, err);
        if (status != SKEL_OK) return status;
        if (d->method == SKEL_IK_NEWTON && out[k].priority != out[0].priority)
            return bad_goal(err, (int32_t)k, "priority: Newton's method knows only one");
        if (out[k].kind != SKEL_GOAL_CENTRE) continue;
        if (centre != -2 && centre != out[k].body)
            return bad_goal(err, (int32_t)k, "body: all goals for a centre of mass must have one");
        centre = out[k].body;
    }
    return SKEL_OK;
}

/* ---- making ---- */

static size_t plan_layout(skel__ik_plan *p, const skel_ik_desc *d, void *base) {
    const size_t nd = 2 * (size_t)d->model->nd + 1;
    skel__carver c = {base, 0};
    p->goal = skel__carve(&c, d->goal_count, sizeof *p->goal);
    p->node = skel__carve(&c, nd, sizeof *p->node);
    p->task =
        skel__carve(&c, 2 * (size_t)d->goal_count + 2 * (size_t)d->model->nl + 1, sizeof *p->task);
    p->anchor = skel__carve_with_world(&c, (size_t)d->model->na, sizeof *p->anchor);
    p->root = skel__carve(&c, nd, sizeof *p->root);
    p->mark = skel__carve(&c, nd, sizeof *p->mark);
    p->needed = skel__carve(&c, nd, sizeof *p->needed);
    p->moves = skel__carve(&c, nd, sizeof *p->moves);
    p->renamed = skel__carve(&c, nd, sizeof *p->renamed);
    p->allowed = skel__carve(&c, nd, sizeof *p->allowed);
    return c.used;
}

static void layout_step(skel__carver *c, skel_ik *at) {
    const size_t n = (size_t)at->n, m = (size_t)at->rows, nn = (size_t)at->nn;
    const size_t big = n > m ? n : m;
    const size_t dense = at->n <= SKEL__IK_DENSE ? n * n : 0;
    at->jp = skel__carve(c, n * m, sizeof(double));
    at->col = skel__carve(c, n, sizeof *at->col);
    at->y = skel__carve(c, n, sizeof(double));
    at->held = skel__carve(c, n, sizeof(double));
    at->rest = skel__carve(c, m, sizeof(double));
    at->k = skel__carve(c, m * m, sizeof(double));
    at->factor = skel__carve(c, dense, sizeof(double));
    at->u = skel__carve(c, big, sizeof(double));
    at->list = skel__carve(c, n, sizeof *at->list);
    at->normal = skel__carve(c, 3 * nn, sizeof *at->normal);
    at->normals = skel__carve(c, nn, sizeof *at->normals);
    at->h = skel__carve(c, dense, sizeof(double));
    at->hf = skel__carve(c, dense, sizeof(double));
    at->g = skel__carve(c, n, sizeof(double));
    at->rhs = skel__carve(c, n, sizeof(double));
    at->seed = skel__carve(c, n, sizeof(double));
    at->seed_step = skel__carve(c, n, sizeof(double));
    size_t work = skel__eigen_work(at->n);
    if (skel__pseudoinverse_work(at->rows, at->n) + 2 * n * m > work)
        work = skel__pseudoinverse_work(at->rows, at->n) + 2 * n * m;
    if (n * m + (m + 1) * (m + 1) > work) work = n * m + (m + 1) * (m + 1);
    at->work = skel__carve(c, work, sizeof(double));
    const size_t several = at->levels + (at->has_posture || at->has_room) > 1;
    at->level = (skel__ik_level){
        .basis = skel__carve(c, several * n * n, sizeof(double)),
        .shift = skel__carve(c, several * m, sizeof(double)),
        .off = skel__carve(c, several * m, sizeof(double)),
        .y = skel__carve(c, several * n, sizeof(double)),
    };
}

static size_t layout(const skel_ik *from, int32_t links, void *base, skel_ik **out) {
    const skel_model *m = from->m;
    const size_t n = (size_t)from->n, nx = (size_t)from->nx, nn = (size_t)from->nn;
    const size_t rows = (size_t)from->rows, na = (size_t)m->na;
    skel__carver c = {base, 0};
    skel_ik *v = skel__carve(&c, 1, sizeof *v);
    skel_ik at = *from;
    at.node = skel__carve(&c, nn, sizeof *at.node);
    at.task = skel__carve(&c, (size_t)at.nt, sizeof *at.task);
    at.path = skel__carve(&c, (size_t)links, sizeof *at.path);
    at.goal = skel__carve(&c, at.d.goal_count, sizeof *at.goal);
    at.root = skel__carve(&c, (size_t)at.nroot, sizeof *at.root);
    at.of_column = skel__carve(&c, n, sizeof *at.of_column);
    at.scalar = skel__carve(&c, n, sizeof *at.scalar);
    at.posture = skel__carve(&c, at.has_posture || at.has_room ? nx : 0, sizeof(double));
    if (at.max_step) at.max_step = skel__carve(&c, (size_t)m->nv, sizeof(double));
    at.scale = skel__carve(&c, (size_t)from->nc, sizeof(double));
    at.low = skel__carve(&c, n, sizeof(double));
    at.high = skel__carve(&c, n, sizeof(double));
    at.step_most = skel__carve(&c, nn, sizeof(double));
    at.x = skel__carve(&c, nx, sizeof(double));
    at.trial = skel__carve(&c, nx, sizeof(double));
    at.best = skel__carve(&c, nx, sizeof(double));
    at.start = skel__carve(&c, nx, sizeof(double));
    at.memory = skel__carve(&c, nx, sizeof(double));
    at.last = skel__carve(&c, nx, sizeof(double));
    at.before = skel__carve(&c, nx, sizeof(double));
    at.home = skel__carve(&c, nx, sizeof(double));
    at.place = skel__carve(&c, nn, sizeof *at.place);
    at.e = skel__carve(&c, rows, sizeof(double));
    at.e_now = skel__carve(&c, rows, sizeof(double));
    at.e_last = skel__carve(&c, rows, sizeof(double));
    at.jt = skel__carve(&c, (size_t)from->nc * rows, sizeof(double));
    at.sums = skel__carve(&c, 4 * nn + 3, sizeof(double));
    at.heavy = skel__carve_with_world(&c, na, sizeof *at.heavy);
    at.kin = skel__carve_with_world(&c, na, sizeof *at.kin);
    at.base = skel__carve_with_world(&c, na, sizeof *at.base);
    layout_step(&c, &at);
    if (v) *v = at;
    if (out) *out = v;
    return c.used;
}

/* Numbers for the nodes that something needs, columns for those that move something. */
static void number_nodes(skel__ik_plan *p) {
    for (int32_t i = 0; i < p->nn; ++i) {
        p->renamed[i] = p->needed[i] ? p->kept++ : -1;
        if (!p->moves[i] || p->node[i].leader >= 0) continue;
        p->node[i].column = p->columns;
        p->columns += skel__ik_columns(&p->node[i]);
    }
    for (int32_t i = 0; i < p->nn; ++i)
        if (p->moves[i] && p->node[i].leader >= 0) p->node[i].column = p->columns + p->followers++;
}

static void rename_node(const skel__ik_plan *p, int32_t *node) {
    if (*node >= 0) *node = p->renamed[*node];
}

/* Masses of bodies, summed on the nodes that carry them. */
static void gather_masses(skel_ik *ik, const skel__ik_plan *p) {
    const skel_model *m = ik->m;
    int32_t body = SKEL_WORLD;
    for (uint32_t k = 0; k < ik->d.goal_count; ++k)
        if (ik->goal[k].kind == SKEL_GOAL_CENTRE) body = ik->goal[k].body;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], host = m->body[i].host;
        const skel__ik_anchor a = p->anchor[host >= 0 ? host : i];
        if (body >= 0 && m->body[i].skeleton != m->body[body].skeleton) continue;
        pose at = a.given;
        if (host >= 0) at = pose_mul(at, pose_mul(pose_inverse(m->body[host].x0), m->body[i].x0));
        ik->mass += m->body[i].mass;
        if (a.node < 0) {
            ik->heavy[a.base].mass += m->body[i].mass;
            ik->heavy[a.base].moment = v3_mad(ik->heavy[a.base].moment, m->body[i].mass, at.p);
            continue;
        }
        skel__ik_node *n = &ik->node[p->renamed[a.node]];
        n->mass += m->body[i].mass;
        n->mass_centre = v3_mad(n->mass_centre, m->body[i].mass, at.p);
    }
}

/* Lengths of the links of a task's chain, without the travel of its slides. */
static double link_lengths(const skel_ik *ik, const skel__ik_task *t) {
    double sum = t->at.node >= 0 ? v3_norm(t->at.given.p) : 0;
    for (int32_t i = t->at.node; i >= 0; i = ik->node[i].parent)
        if (ik->node[i].parent >= 0) sum += v3_norm(ik->node[i].frame.p);
    return sum;
}

/* Farthest that a slide shifts; infinite without limits. */
static double travel_of(const skel__ik_node *n) {
    return fmax(fabs(n->low), fabs(n->high));
}

/* The length that distances of a task are measured by: its own way from the root, whatever else is
   asked for; so one goal never changes what another one's metres weigh against its radians.
   Limits of 1e6 m are how URDF writes "no limit". Counted as a length they would make an error of a
   metre as small as a microradian, which the damping then leaves alone. */
static double length_of(skel_ik *ik, skel__ik_task *t) {
    const double links = link_lengths(ik, t),
                 size = ik->m->length_scale > 0 ? ik->m->length_scale : 1;
    const double widest = WIDE_SLIDE * (links > 0 ? links : size);
    double sum = links;

    for (int32_t i = t->at.node; i >= 0; i = ik->node[i].parent) {
        skel__ik_node *n = &ik->node[i];
        if (n->kind == SKEL__NODE_SHIFT) t->most = INFINITY;
        if (n->kind != SKEL__NODE_SLIDE) continue;

        if (travel_of(n) <= widest) {
            sum += travel_of(n);
        } else {
            n->is_wide = 1;
            ik->has_wide = 1;
            t->most = INFINITY;
        }
    }

    t->most = fmax(t->most, 1.000001 * sum);
    return sum > 0 ? sum : size;
}

static void measure_lengths(skel_ik *ik) {
    ik->length = ik->nt > 0 ? 0 : 1;
    for (int32_t i = 0; i < ik->nn; ++i) {
        skel__ik_node *n = &ik->node[i];
        n->is_wide = n->kind == SKEL__NODE_HINGE && n->high - n->low > WIDE_HINGE * SKEL__TURN;
    }
    for (int32_t k = 0; k < ik->nt; ++k) {
        ik->task[k].length = length_of(ik, &ik->task[k]);
        ik->length = fmax(ik->length, ik->task[k].length);
    }
}

/* A node that goes with another moves by so much per unit of the other's step. */
static void scale_followers(skel_ik *ik) {
    for (int32_t i = 0; ik->nc > ik->n && i < ik->nn; ++i) {
        const skel__ik_node *n = &ik->node[i];
        if (n->leader < 0 || n->column < 0) continue;
        ik->scale[n->column] = n->factor * ik->scale[ik->node[n->leader].column];
    }
}

static void fill_scales(skel_ik *ik) {
    const int plain = ik->d.method == SKEL_IK_NEWTON;
    for (int32_t k = 0; k < ik->nt; ++k) {
        skel__ik_task *t = &ik->task[k];
        const int is_length = t->kind == SKEL__TASK_POINT || t->kind == SKEL__TASK_POLE ||
                              t->kind == SKEL__TASK_CENTRE;
        t->scale = sqrt(t->weight) * (is_length && !plain ? 1 / t->length : 1);
    }
    for (int32_t c = 0; c < ik->n; ++c) {
        const skel__ik_node *n = &ik->node[ik->of_column[c]];
        const int is_length = n->kind == SKEL__NODE_SLIDE || n->kind == SKEL__NODE_SHIFT;
        ik->scale[c] = (is_length && !plain ? ik->length : 1) * n->reluctance;
    }
    scale_followers(ik);
}

static void set_task_target(skel__ik_task *t, const skel_goal_desc *g) {
    t->target = v3_of(g->position);
    t->turn = q_matrix(q_unit(q_of(g->orientation)));
    t->weight = g->weight;
}

/* The bound of a step holds what goes with a joint as well. */
static void fill_steps(skel_ik *ik, const double *max_step) {
    const skel_model *m = ik->m;
    memcpy(ik->max_step, max_step, (size_t)m->nv * sizeof(double));
    for (int32_t k = 0; k < m->nmimic; ++k) {
        const skel__joint *j = &m->joint[m->mimic_joint[k]];
        double *lead = &ik->max_step[m->joint[j->mimic_root].v_offset];
        const double own = max_step[j->v_offset] / fabs(j->mimic_factor);
        if (own > 0 && isfinite(own)) *lead = *lead > 0 ? fmin(*lead, own) : own;
    }
}

/* What is welded to the world stands still, too, but has axes of its own. */
static int is_world(const skel__ik_anchor *a) {
    const quat q = a->given.q;
    return a->node < 0 && a->base < 0 && v3_dot(a->given.p, a->given.p) == 0 && q.x == 0 &&
           q.y == 0 && q.z == 0;
}

static void fill(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d) {
    const size_t goals = d->goal_count;
    for (int32_t i = 0; i < p->nn; ++i) {
        if (p->renamed[i] < 0) continue;
        ik->node[p->renamed[i]] = p->node[i];
        rename_node(p, &ik->node[p->renamed[i]].parent);
        rename_node(p, &ik->node[p->renamed[i]].leader);
    }
    if (ik->nt) memcpy(ik->task, p->task, (size_t)ik->nt * sizeof *ik->task);
    if (goals) memcpy(ik->goal, p->goal, goals * sizeof *ik->goal);
    for (size_t k = 0; k < goals; ++k) ik->goal[k].joints = NULL, ik->goal[k].joint_count = 0;
    if (ik->nroot) memcpy(ik->root, p->root, (size_t)ik->nroot * sizeof *ik->root);
    if (ik->has_posture) memcpy(ik->posture, d->posture, (size_t)ik->m->nq * sizeof(double));
    if (d->max_step) fill_steps(ik, d->max_step);
    for (int32_t i = 0; i < ik->nn; ++i) {
        const skel__ik_node *n = &ik->node[i];
        if (n->kind == SKEL__NODE_BALL && (n->has_cone || d->mode == SKEL_IK_TRACK))
            ik->has_balls = 1;
        for (int k = 0; n->column >= 0 && n->leader < 0 && k < skel__ik_columns(n); ++k) {
            ik->of_column[n->column + k] = i;
            ik->scalar[n->column + k] = n->kind <= SKEL__NODE_SLIDE ? n->x : -1;
        }
    }
    for (int32_t k = 0; k < ik->nt; ++k) {
        skel__ik_task *t = &ik->task[k];
        rename_node(p, &t->at.node), rename_node(p, &t->to.node);
        rename_node(p, &t->from.node), rename_node(p, &t->end.node);
        if (t->goal >= 0) set_task_target(t, &ik->goal[t->goal]);
        if (t->kind == SKEL__TASK_CENTRE) ik->has_centre = 1;
        t->is_plain = is_world(&t->to) && t->mask == SKEL_GOAL_POSITION;
    }
    for (int32_t l = 0; l < p->links; ++l) {
        rename_node(p, &ik->path[l].node);
        skel__ik_node *n = &ik->node[ik->path[l].node];
        n->is_linked = 1;
        if (n->leader >= 0) ik->node[n->leader].is_linked = 1;
    }
    ik->is_full = ik->nc == ik->n;
    for (int32_t k = 0; k < ik->nt; ++k) {
        int32_t columns = 0;
        for (int32_t l = 0; l < ik->task[k].path_count; ++l)
            columns += skel__ik_columns(&ik->node[ik->path[ik->task[k].path + l].node]);
        if (columns < ik->n) ik->is_full = 0;
    }
    if (ik->has_centre) gather_masses(ik, p);
    measure_lengths(ik);
    fill_scales(ik);
    skel__ik_seeds(ik);
    /* only scalars of the desc are kept */
    ik->d.goals = NULL, ik->d.stiffness = ik->d.max_step = ik->d.posture = NULL;
}

static skel_status check_plan(const skel_ik *ik, skel_error *err) {
    for (int32_t i = 0; i < ik->nn; ++i)
        if (ik->node[i].leads && ik->node[i].low > ik->node[i].high)
            return skel__fail(err, SKEL_E_JOINT, -1, ik->node[i].joint,
                              "joints[%d].limits: '%s' and the joints that mimic it have no place "
                              "in common",
                              ik->node[i].joint, ik->m->joint[ik->node[i].joint].name);
    for (int32_t k = 0; k < ik->nt; ++k)
        if (ik->task[k].kind == SKEL__TASK_CENTRE && !(ik->mass > 0))
            return skel__fail(err, SKEL_E_MASS, -1, -1,
                              "goals[%d]: a centre of mass needs bodies with mass",
                              ik->task[k].goal);
    return SKEL_OK;
}

skel__ik_manner skel__ik_manner_of(const skel_ik *ik) {
    return (skel__ik_manner){.mode = ik->d.mode,
                             .restarts = ik->d.max_restarts,
                             .has_posture = ik->has_posture,
                             .together = ik->together,
                             .most_step = ik->most_step};
}

void skel__ik_set_manner(skel_ik *ik, const skel__ik_manner *manner) {
    ik->d.mode = manner->mode;
    ik->d.max_restarts = manner->restarts;
    ik->has_posture = manner->has_posture;
    ik->together = manner->together;
    ik->most_step = manner->most_step;
    for (int32_t k = 0; k < ik->nparts; ++k) skel__ik_set_manner(ik->part[k], manner);
}

void skel__ik_set_posture(skel_ik *ik, const double *x) {
    memcpy(ik->posture, x, (size_t)ik->nx * sizeof *x);
    for (int32_t k = 0; k < ik->nparts; ++k) skel__ik_set_posture(ik->part[k], x);
}

static skel_status make(const skel_ik_desc *d, const skel_allocator *a, skel__ik_plan *p,
                        skel_ik **out, skel_error *err) {
    p->m = d->model, p->stiffness = d->stiffness, p->root_moves = d->root;
    p->has_posture = d->posture != NULL;
    skel__ik_plan_nodes(p);
    skel__ik_plan_tasks(p, d->goal_count);
    skel__ik_plan_links(p);
    number_nodes(p);
    skel_ik at = {.m = d->model, .allocator = *a, .d = *d, .nn = p->kept, .n = p->columns};
    at.nc = p->columns + p->followers;
    at.nt = p->nt, at.rows = p->rows, at.levels = p->levels, at.nroot = p->nroot;
    at.nx = d->model->nq + 7 * p->nroot;
    at.has_posture = p->has_posture;
    at.has_room = p->has_room;
    at.max_step = d->max_step ? (double *)p->mark : NULL; /* room for it is wanted */
    const int32_t links = p->links;
    skel_ik *ik = NULL;
    void *block = skel__alloc(a, layout(&at, links, NULL, NULL));
    if (!block) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the solver");
    layout(&at, links, block, &ik);
    p->path = ik->path;
    skel__ik_plan_links(p);
    fill(ik, p, d);
    skel_status status = check_plan(ik, err);
    if (status == SKEL_OK && !p->held) status = skel__ik_split(ik, p, d, err);
    if (status != SKEL_OK) {
        skel__free(a, block);
        return status;
    }
    skel_ik_set_roots(ik, NULL);
    *out = ik;
    return SKEL_OK;
}

skel_status skel__ik_make(const skel_ik_desc *d, const skel_allocator *a, const int32_t *held,
                          int has_room, skel_ik **out, skel_error *err) {
    skel__ik_plan p = {.held = held, .has_room = has_room};
    void *plan = skel__alloc(a, plan_layout(&p, d, NULL));
    if (!plan) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the solver");
    plan_layout(&p, d, plan);
    skel_status status = import_goals(d, p.goal, err);
    if (status == SKEL_OK) status = make(d, a, &p, out, err);
    skel__free(a, plan);
    return status;
}

skel_status skel__ik_create(const skel_ik_desc *desc, int has_room, skel_ik **out,
                            skel_error *err) {
    skel_ik_desc d;
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;
    skel_status status = import(desc, &d, err);
    if (status != SKEL_OK) return status;
    skel_allocator a = d.model->allocator;
    if (d.allocator) status = skel__allocator_import(&a, d.allocator);
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "allocator: is not valid");
    return skel__ik_make(&d, &a, NULL, has_room, out, err);
}

skel_status skel_ik_create(const skel_ik_desc *desc, skel_ik **out, skel_error *err) {
    return skel__ik_create(desc, 0, out, err);
}

void skel_ik_destroy(skel_ik *ik) {
    if (!ik) return;
    const skel_allocator a = ik->allocator;
    skel__ik_unsplit(ik);
    skel__free(&a, ik);
}

/* ---- targets ---- */

skel_status skel_ik_set_target(skel_ik *ik, int32_t goal, const double position[3],
                               const double orientation[4]) {
    if (!ik || goal < 0 || goal >= (int32_t)ik->d.goal_count) return SKEL_E_ARGUMENT;
    skel_goal_desc *g = &ik->goal[goal];
    if (position && !all_sane(position, 3)) return SKEL_E_ARGUMENT;
    if (orientation &&
        (!all_sane(orientation, 4) || !(q_dot(q_of(orientation), q_of(orientation)) > 0)))
        return SKEL_E_ARGUMENT;
    if (position) memcpy(g->position, position, sizeof g->position);
    if (orientation) memcpy(g->orientation, orientation, sizeof g->orientation);
    for (int32_t k = 0; k < ik->nt; ++k)
        if (ik->task[k].goal == goal) set_task_target(&ik->task[k], g);
    if (ik->nparts)
        skel_ik_set_target(ik->part[ik->part_of[goal]], ik->place_in[goal], position, orientation);
    return SKEL_OK;
}

skel_status skel_ik_set_weight(skel_ik *ik, int32_t goal, double weight) {
    if (!ik || goal < 0 || goal >= (int32_t)ik->d.goal_count) return SKEL_E_ARGUMENT;
    if (!(weight >= 0 && isfinite(weight))) return SKEL_E_ARGUMENT;
    ik->goal[goal].weight = weight;
    for (int32_t k = 0; k < ik->nt; ++k)
        if (ik->task[k].goal == goal) ik->task[k].weight = weight;
    fill_scales(ik);
    if (ik->nparts) skel_ik_set_weight(ik->part[ik->part_of[goal]], ik->place_in[goal], weight);
    return SKEL_OK;
}

/* What hangs on roots that do not move goes where they are now. */
static void rebase(skel_ik *ik) {
    v3 still = {0, 0, 0};
    skel__ik_rebase(ik);
    for (int32_t i = -1; ik->has_centre && i < ik->m->na; ++i) {
        const skel__ik_heavy *h = &ik->heavy[i];
        still = v3_mad(v3_add(still, q_rotate(ik->base[i].q, h->moment)), h->mass, ik->base[i].p);
    }
    v3_to(still, ik->sums + 4 * (size_t)ik->nn);
    for (int32_t k = 0; k < ik->nt; ++k) {
        skel__ik_task *t = &ik->task[k];
        skel__ik_rebase_anchor(ik, &t->at), skel__ik_rebase_anchor(ik, &t->to);
        skel__ik_rebase_anchor(ik, &t->from), skel__ik_rebase_anchor(ik, &t->end);
    }
}

void skel__ik_drive(skel_ik *ik, double t) {
    for (int32_t k = 0; k < ik->m->np; ++k) {
        const int32_t i = ik->m->prescribed[k];
        if (i < ik->m->nb) ik->base[i] = skel__prescribed_motion(&ik->m->body[i], t, SKEL__AFTER).x;
    }
    rebase(ik);
    for (int32_t k = 0; k < ik->nparts; ++k) skel__ik_drive(ik->part[k], t);
}

void skel__ik_current(const skel_ik *ik, double *q) {
    const skel_model *m = ik->m;
    for (int32_t i = -1; i < m->na; ++i) {
        const pose at = i < 0 ? (pose){{0, 0, 0}, q_identity()} : m->body[i].x0;
        ik->kin[i] = (skel__kin){.p = at.p, .q = at.q};
    }
    skel__q_of(m, ik->kin, q);
}

skel_status skel_ik_set_roots(skel_ik *ik, const double *poses) {
    if (!ik) return SKEL_E_ARGUMENT;
    if (poses && !all_finite(poses, 7 * (size_t)ik->m->nb)) return SKEL_E_ARGUMENT;
    for (int32_t i = 0; poses && i < ik->m->nb; ++i) {
        const quat q = q_of(poses + 7 * (size_t)i + 3);
        if (!(q_dot(q, q) > 0)) return SKEL_E_ARGUMENT;
    }
    ik->base[-1] = (pose){{0, 0, 0}, q_identity()};
    for (int32_t i = 0; i < ik->m->na; ++i) {
        const double *p = poses && i < ik->m->nb ? poses + 7 * (size_t)i : NULL;
        ik->base[i] = p ? (pose){v3_of(p), q_unit(q_of(p + 3))} : ik->m->body[i].x0;
    }
    rebase(ik);
    for (int32_t k = 0; k < ik->nroot; ++k) {
        const pose *at = &ik->base[ik->root[k]];
        double *x = ik->x + ik->m->nq + 7 * k;
        v3_to(at->p, x);
        q_to(at->q, x + 3);
    }
    for (int32_t k = 0; k < ik->nparts; ++k) skel_ik_set_roots(ik->part[k], poses);
    return SKEL_OK;
}

/* ---- solving ---- */

/* Most that a node may move in this solve; 0: no bound. */
static double step_bound(const skel_ik *ik, const skel__ik_node *n) {
    const int is_length = n->kind == SKEL__NODE_SLIDE || n->kind == SKEL__NODE_SHIFT;
    double most = 0;
    if (ik->d.mode != SKEL_IK_TRACK) return 0;
    if (ik->max_step && n->dof >= 0) most = ik->max_step[n->dof];
    if (!(ik->most_step > 0)) return most;

    const double all = ik->most_step * (is_length ? ik->length : 1);
    return most > 0 ? fmin(most, all) : all;
}

/* Bounds of this solve, and the seed brought within the limits. */
static void begin(skel_ik *ik) {
    for (int32_t i = 0; i < ik->nn; ++i) {
        const skel__ik_node *n = &ik->node[i];
        double *q = ik->x + n->x;
        const double most = step_bound(ik, n);
        ik->step_most[i] = 0;
        if (n->kind > SKEL__NODE_SLIDE) {
            if (n->kind == SKEL__NODE_BALL) q_to(q_unit(q_of(q)), q);
            if (n->has_cone && n->column < 0 && ik->d.method == SKEL_IK_DAMPED)
                skel__ik_place_ball(ik, n, q);
            continue;
        }
        if (n->leader >= 0) continue; /* its q follows */
        if (n->kind == SKEL__NODE_HINGE && !n->leads && (q[0] < n->low || q[0] > n->high)) {
            const double near =
                q[0] - SKEL__TURN * nearbyint((q[0] - 0.5 * (n->low + n->high)) / SKEL__TURN);
            if (isfinite(near) && near >= n->low && near <= n->high) q[0] = near;
        }
        if (ik->d.method == SKEL_IK_DAMPED) q[0] = fmin(fmax(q[0], n->low), n->high);
        if (n->column < 0) continue;
        ik->low[n->column] = most > 0 ? fmax(n->low, q[0] - most) : n->low;
        ik->high[n->column] = most > 0 ? fmin(n->high, q[0] + most) : n->high;
    }
    memset(ik->y, 0, (size_t)ik->n * sizeof *ik->y);
    if (ik->d.method == SKEL_IK_DAMPED) skel__ik_move(ik, ik->x, ik->y, ik->x); /* into cones */
    skel__mimic_apply(ik->m, ik->x);
    memcpy(ik->start, ik->x, (size_t)ik->nx * sizeof *ik->x);
    for (int32_t i = 0; i < ik->nn; ++i) {
        const skel__ik_node *n = &ik->node[i];
        if (n->kind > SKEL__NODE_SLIDE) ik->step_most[i] = step_bound(ik, n);
    }
}

void skel__ik_seed_pose(skel_ik *ik, const double *u, const double *from, double *x) {
    for (int32_t c = 0; c < ik->n; ++c) {
        const skel__ik_node *n = &ik->node[ik->of_column[c]];
        ik->low[c] = n->low;
        ik->high[c] = n->high;
    }
    for (int32_t i = 0; i < ik->nn; ++i) ik->step_most[i] = 0;
    skel__ik_spread(ik, u, from, x);

    /* What only a posture moves stays: no goal has a use for it elsewhere. */
    for (int32_t i = 0; i < ik->nn; ++i) {
        const skel__ik_node *n = &ik->node[i];
        if (!n->is_linked && n->leader < 0)
            memcpy(x + n->x, from + n->x, (size_t)skel__ik_numbers(n) * sizeof *x);
    }
    skel__mimic_apply(ik->m, x);
}

/* Bodies where x has them, without soft masses. */
static void place_bodies(const skel_ik *ik) {
    const skel_model *m = ik->m;
    skel__kin *kin = ik->kin;
    for (int32_t i = -1; i < m->na; ++i)
        kin[i] = (skel__kin){.p = ik->base[i].p, .q = ik->base[i].q};
    for (int32_t k = 0; k < ik->nroot; ++k) {
        const double *x = ik->x + m->nq + 7 * k;
        kin[ik->root[k]].p = v3_of(x);
        kin[ik->root[k]].q = q_of(x + 3);
    }
    skel__fk(m, ik->x, kin);
}

/* Joints beyond the tree have the coordinates that the bodies give them, angles near the seed's. */
static void measure_loops(skel_ik *ik) {
    const skel_model *m = ik->m;
    place_bodies(ik);
    for (int32_t k = 0; k < m->nl; ++k) {
        const skel__joint *j = &m->joint[m->loop[k]];
        double *x = ik->x + j->q_offset, q[4];
        const int two = j->type == SKEL_JOINT_UNIVERSAL;
        skel__joint_measure(j, pose_mul(skel__pose_of(ik->kin, j->a), j->fa),
                            pose_mul(skel__pose_of(ik->kin, j->b), j->fb), q);
        if (j->type == SKEL_JOINT_HINGE || two)
            for (int i = 0; i <= two; ++i)
                q[i] += SKEL__TURN * nearbyint((x[i] - q[i]) / SKEL__TURN);
        memcpy(x, q, (size_t)skel__joint_nq(j->type) * sizeof *q);
    }
}

/* Newton's method as printed, with the conditions of [ERRATA S1]. */
static void newton(skel_ik *ik) {
    const int32_t most = ik->d.max_iterations > 0 ? ik->d.max_iterations : 100;
    const size_t n = (size_t)ik->n, m = (size_t)ik->rows;
    double *a = ik->work, *inverse = a + n * m, *work = inverse + n * m;
    skel__ik_errors(ik, ik->x, ik->rows);
    for (int32_t it = 0; it < most && ik->residual > ik->d.tolerance; ++it) {
        ++ik->iterations;
        skel__ik_jacobian(ik, ik->rows);
        for (size_t r = 0; r < m; ++r)
            for (size_t c = 0; c < n; ++c) a[r * n + c] = ik->jt[c * m + r];
        if (skel__pseudoinverse(a, ik->rows, ik->n, 1e-10, inverse, work) < 0) return;
        for (size_t c = 0; c < n; ++c) {
            ik->y[c] = 0;
            for (size_t r = 0; r < m; ++r) ik->y[c] += inverse[c * m + r] * ik->e[r];
        }
        for (int32_t c = 0; c < ik->n; ++c) ik->low[c] = -INFINITY, ik->high[c] = INFINITY;
        skel__ik_move(ik, ik->x, ik->y, ik->x);
        skel__ik_errors(ik, ik->x, ik->rows);
    }
}

static int32_t count_active(skel_ik *ik, int32_t *active) {
    int32_t count = 0;
    for (int32_t i = 0; i < ik->nn; ++i) {
        const skel__ik_node *n = &ik->node[i];
        if (n->dof < 0 || n->leader >= 0) continue;
        int at = 0;
        if (n->kind <= SKEL__NODE_SLIDE) {
            at = ik->x[n->x] <= n->low || ik->x[n->x] >= n->high;
        } else if (n->has_cone) {
            skel__ik_bound bound[4];
            const double most = ik->step_most[i];
            ik->step_most[i] = 0;
            const int limits = skel__ik_ball_limits(ik, n, ik->x, bound);
            ik->step_most[i] = most;
            for (int k = 0; k < limits; ++k) at |= bound[k].left < 1e-9;
        }
        if (active && at) active[n->dof] = 1;
        count += at;
    }
    return count;
}

/* Of the Jacobian without weights. */
static double smallest(skel_ik *ik) {
    if (ik->n == 0 || ik->rows == 0) return 0;
    for (int32_t k = 0; k < ik->nt; ++k) ik->task[k].scale = ik->task[k].weight > 0 ? 1 : 0;
    for (int32_t c = 0; c < ik->n; ++c) ik->scale[c] = 1;
    scale_followers(ik);
    skel__ik_jacobian(ik, ik->rows);
    fill_scales(ik);
    return skel__smallest_singular(ik->jt, ik->rows, ik->n, (size_t)ik->rows, ik->work);
}

static void solve(skel_ik *ik) {
    const int tracks = ik->d.mode == SKEL_IK_TRACK;
    const int32_t restarts = tracks ? 0 : ik->d.max_restarts >= 0 ? ik->d.max_restarts : RESTARTS;
    const int32_t most = ik->d.max_iterations > 0 ? ik->d.max_iterations : 200;
    if (ik->d.method == SKEL_IK_NEWTON) {
        newton(ik);
        return;
    }
    if (tracks) skel__ik_follow_begin(ik);
    if (!ik->together && ik->levels + ik->has_posture > 1) {
        skel__ik_levels(ik, restarts);
    } else if (tracks) {
        skel__ik_downhill(ik, ik->rows, most);
    } else {
        skel__ik_search(ik, ik->rows, restarts);
        if (ik->residual > ik->d.tolerance) skel__ik_downhill(ik, ik->rows, most);
    }
    if (tracks) skel__ik_follow_end(ik);
}

void skel__ik_run(skel_ik *ik) {
    begin(ik);
    if (ik->nparts)
        skel__ik_solve_parts(ik);
    else
        solve(ik);
}

void skel__ik_receipt(skel_ik *ik, skel_ik_receipt *r) {
    r->residual = ik->residual;
    r->reached = ik->residual <= ik->d.tolerance;
    r->active_limits = count_active(ik, NULL);
    r->smallest_singular_value = smallest(ik);
}

skel_status skel_ik_solve(skel_ik *ik, double *q, skel_ik_receipt *receipt, skel_error *err) {
    if (!ik || !q) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "ik or q: is NULL");
    if (!all_finite(q, (size_t)ik->m->nq))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "q: must be finite");
    const int64_t begun = skel__now_ns();
    ik->deadline = ik->d.max_ms > 0 ? begun + (int64_t)(1e6 * ik->d.max_ms) : 0;
    ik->iterations = ik->restarts = ik->is_following = 0;
    memcpy(ik->x, q, (size_t)ik->m->nq * sizeof *q);
    skel__ik_run(ik);
    if (ik->m->nl > 0) measure_loops(ik);
    memcpy(q, ik->x, (size_t)ik->m->nq * sizeof *q);
    if (!receipt) return SKEL_OK;
    skel_ik_receipt r = {.struct_size = sizeof r, .iterations = ik->iterations};
    r.restarts = ik->restarts;
    skel__ik_receipt(ik, &r);
    r.us = 1e-3 * (double)(skel__now_ns() - begun);
    return skel__desc_export(receipt, &r, sizeof r, sizeof r);
}

/* ---- the answer ---- */

skel_status skel_ik_get_poses(const skel_ik *ik, double *poses) {
    if (!ik || !poses) return SKEL_E_ARGUMENT;
    const skel_model *m = ik->m;
    skel__kin *kin = ik->kin;
    place_bodies(ik);
    for (int32_t i = 0; i < m->nb; ++i) { /* soft masses stay where they were on their hosts */
        const int32_t host = m->body[i].host;
        if (host < 0) continue;
        const pose at = pose_mul((pose){kin[host].p, kin[host].q},
                                 pose_mul(pose_inverse(m->body[host].x0), m->body[i].x0));
        kin[i].p = at.p, kin[i].q = q_unit(at.q);
    }
    for (int32_t i = 0; i < m->nb; ++i) {
        v3_to(kin[i].p, poses + 7 * (size_t)i);
        q_to(kin[i].q, poses + 7 * (size_t)i + 3);
    }
    return SKEL_OK;
}

skel_status skel_ik_get_residual(const skel_ik *ik, int32_t goal, double *distance, double *angle) {
    if (!ik || goal < 0 || goal >= (int32_t)ik->d.goal_count) return SKEL_E_ARGUMENT;
    double far = 0, turn = 0;
    for (int32_t k = 0; k < ik->nt; ++k) {
        const skel__ik_task *t = &ik->task[k];
        if (t->goal != goal) continue;
        if (t->kind == SKEL__TASK_TURN || t->kind == SKEL__TASK_AIM)
            turn = fmax(turn, t->off);
        else
            far = fmax(far, t->off);
    }
    if (distance) *distance = far;
    if (angle) *angle = turn;
    return SKEL_OK;
}

skel_status skel_ik_get_active(const skel_ik *ik, int32_t *active) {
    if (!ik || !active) return SKEL_E_ARGUMENT;
    if (ik->m->nv > 0) memset(active, 0, (size_t)ik->m->nv * sizeof *active);
    count_active((skel_ik *)ik, active);
    return SKEL_OK;
}
