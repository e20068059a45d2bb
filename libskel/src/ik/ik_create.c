/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics: creation of a solver.

   The description is checked first. A plan (ik_build.c) then turns all joints into nodes and all
   goals into tasks. Only nodes that some task needs enter the solver. All its arrays lie in one
   block of memory, which is measured and carved by the same function. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "math/dense.h"
#include "ik/ik_build.h"

#include <string.h>

#define IK_GOALS_MAX 100000
#define IK_COORDINATE_MAX 1e50       /* of targets and points; its square is still finite */
#define IK_TRAVEL_MAX_LENGTHS 1e3    /* a joint that travels farther counts as unlimited */
#define IK_HINGE_RANGE_MAX_TURNS 8.0 /* a hinge with a wider range counts as unlimited */
#define IK_REACH_MARGIN 1.000001     /* of a chain's length, so that rounding excludes nothing */

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

static int is_body(const skel_model *m, int32_t body, int allows_world) {
    return (body >= 0 && body < m->nb) || (allows_world && body == SKEL_WORLD);
}

int skel__ik_is_sane(const double *x, int count) {
    for (int k = 0; k < count; ++k)
        if (!(fabs(x[k]) <= IK_COORDINATE_MAX)) return 0;
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
        return bad_goal(err, k, "joints: must be given together with a joint_count > 0");

    for (uint32_t i = 0; i < g->joint_count; ++i) {
        const int32_t j = g->joints[i];
        if (j < SKEL_WORLD || j >= m->nj || (j >= 0 && m->joint[j].is_loop))
            return skel__fail(
                err, SKEL_E_ARGUMENT, -1, -1,
                "goals[%d].joints[%u]: is %d, must be a joint that closes no loop, or "
                "SKEL_WORLD",
                k, i, j);
    }

    if (g->chain_depth < 0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "goals[%d].chain_depth: is %d, must be >= 0", k, g->chain_depth);
    if (g->kind == SKEL_GOAL_CENTRE && (g->chain_depth > 0 || g->chain_root != SKEL_WORLD))
        return bad_goal(
            err, k,
            "chain_depth, chain_root: a centre of mass has no chain, so they must not be "
            "set");
    if (g->chain_root != SKEL_WORLD && (!is_body(m, g->chain_root, 0) || g->chain_root == g->body ||
                                        !hangs_from(m, g->body, g->chain_root)))
        return bad_goal(err, k, "chain_root: must be a body that the goal's body hangs from");
    return SKEL_OK;
}

/* Checks the vectors of a goal. `frame` and `axis` become unit length; targets are normalised where
   they are used, because the caller may set them later. */
static skel_status check_vectors(skel_goal_desc *g, int32_t k, skel_error *err) {
    if (!skel__ik_is_sane(g->point, 3) || !skel__ik_is_sane(g->frame, 4) ||
        !skel__ik_is_sane(g->axis, 3) || !skel__ik_is_sane(g->from_point, 3) ||
        !skel__ik_is_sane(g->to_point, 3) || !skel__ik_is_sane(g->position, 3) ||
        !skel__ik_is_sane(g->orientation, 4))
        return bad_goal(err, k,
                        "point, frame, axis, position, orientation: must be finite, at most 1e50");

    const double frame = q_dot(q_of(g->frame), q_of(g->frame));
    const double axis = v3_norm(v3_of(g->axis));
    const double orientation = q_dot(q_of(g->orientation), q_of(g->orientation));
    if (!(frame > 0 && orientation > 0 && axis > 0))
        return bad_goal(err, k, "frame, axis, orientation: must not be zero");

    q_to(q_unit(q_of(g->frame)), g->frame);
    v3_to(v3_scale(v3_of(g->axis), 1 / axis), g->axis);
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
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "goals[%d].priority: is %d, must be from 0 to %d", k, g->priority,
                          SKEL_IK_MAX_PRIORITY);
    if (!(g->weight >= 0 && isfinite(g->weight)))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "goals[%d].weight: is %g, must be >= 0 and finite", k, g->weight);
    if (g->parts > (SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION))
        return bad_goal(err, k, "parts: must be a combination of SKEL_GOAL_X ... ORIENTATION");

    const skel_status status = check_vectors(g, k, err);
    return status == SKEL_OK ? check_joints(m, g, k, err) : status;
}

static skel_status check_arrays(const skel_ik_desc *d, skel_error *err) {
    for (int32_t k = 0; d->stiffness && k < d->model->nv; ++k)
        if (!(d->stiffness[k] >= 0 && d->stiffness[k] <= 1))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "stiffness[%d]: is %g, must be from 0 to 1", k, d->stiffness[k]);
    for (int32_t k = 0; d->max_step && k < d->model->nv; ++k)
        if (!(d->max_step[k] >= 0 && isfinite(d->max_step[k])))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                              "max_step[%d]: is %g, must be >= 0 and finite", k, d->max_step[k]);
    if (d->posture && !all_finite(d->posture, (size_t)d->model->nq))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "posture: must be finite");
    return SKEL_OK;
}

static skel_status check_options(const skel_ik_desc *d, skel_error *err) {
    if (!(d->tolerance > 0 && isfinite(d->tolerance)) || !(d->max_ms >= 0))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "tolerance: is %g, must be > 0; max_ms: is %g ms, must be >= 0",
                          d->tolerance, d->max_ms);
    if (d->mode < 0 || d->mode > SKEL_IK_TRACK || d->method < 0 || d->method > SKEL_IK_NEWTON ||
        d->root < 0 || d->root > SKEL_IK_ROOT_MOVES)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "mode, method, root: are %d, %d, %d, must be SKEL_IK_*", d->mode,
                          d->method, d->root);
    if (d->max_iterations < 0 || d->max_restarts < -1)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "max_iterations: is %d, must be >= 0; max_restarts: is %d, must be >= -1",
                          d->max_iterations, d->max_restarts);
    return SKEL_OK;
}

/* Poses are sums of levers. Beyond this size they can overflow although every number is finite. */
static skel_status check_extent(const skel_model *m, skel_error *err) {
    if (!(m->length_scale <= IK_COORDINATE_MAX))
        return skel__fail(
            err, SKEL_E_ARGUMENT, -1, -1,
            "model: a lever or distance is longer than %g m, the largest that IK takes",
            IK_COORDINATE_MAX);

    for (int32_t i = 0; i < m->nb; ++i)
        if (!(v3_norm(m->body[i].x0.p) <= IK_COORDINATE_MAX))
            return skel__fail(
                err, SKEL_E_ARGUMENT, i, -1,
                "bodies[%d] '%s': is farther than %g m from the origin, which IK refuses", i,
                m->body[i].name, IK_COORDINATE_MAX);

    for (int32_t k = 0; k < m->nmimic; ++k) {
        const skel__joint *j = &m->joint[m->mimic_joint[k]];
        if (!(fabs(j->mimic_factor) <= IK_COORDINATE_MAX &&
              fabs(j->mimic_shift) <= IK_COORDINATE_MAX))
            return skel__fail(
                err, SKEL_E_ARGUMENT, -1, m->mimic_joint[k],
                "joints[%d] '%s': mimics with the factor %g and the offset %g, must be "
                "within %g",
                m->mimic_joint[k], j->name, j->mimic_factor, j->mimic_shift, IK_COORDINATE_MAX);
    }
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
    if (d->goal_count > IK_GOALS_MAX)
        return skel__fail(err, SKEL_E_TOO_LARGE, -1, -1, "goal_count: is %u, must be at most %d",
                          d->goal_count, IK_GOALS_MAX);

    const skel_status status = check_options(d, err);
    return status == SKEL_OK ? check_arrays(d, err) : status;
}

static skel_status import_goals(const skel_ik_desc *d, skel_goal_desc *out, skel_error *err) {
    const int32_t none = -2;
    int32_t centre = none; /* body of the goals for a centre of mass */

    for (uint32_t k = 0; k < d->goal_count; ++k) {
        const char *in = (const char *)d->goals + (size_t)k * d->goal_stride;
        out[k] = k_goal;
        if (skel__desc_import(&out[k], sizeof *out, sizeof *out, in) != SKEL_OK)
            return bad_goal(err, (int32_t)k, "struct_size: is not a size that this library knows");

        const skel_status status = check_goal(d->model, &out[k], (int32_t)k, err);
        if (status != SKEL_OK) return status;
        if (d->method == SKEL_IK_NEWTON && out[k].priority != out[0].priority)
            return bad_goal(err, (int32_t)k,
                            "priority: must be the same for all goals with SKEL_IK_NEWTON");

        /* One set of mass sums serves all goals of a centre of mass. */
        if (out[k].kind != SKEL_GOAL_CENTRE) continue;
        if (centre != none && centre != out[k].body)
            return bad_goal(err, (int32_t)k,
                            "body: must be the same for all goals of a centre of mass");
        centre = out[k].body;
    }
    return SKEL_OK;
}

/* ---- memory ---- */

static size_t plan_layout(skel__ik_plan *p, const skel_ik_desc *d, void *base) {
    const size_t nodes = SKEL__IK_JOINT_NODES_MAX * (size_t)d->model->nd + 1;
    const size_t tasks =
        2 * (size_t)d->goal_count + SKEL__IK_LOOP_TASKS_MAX * (size_t)d->model->nl + 1;
    skel__carver c = {base, 0};

    p->goal = skel__carve(&c, d->goal_count, sizeof *p->goal);
    p->node = skel__carve(&c, nodes, sizeof *p->node);
    p->task = skel__carve(&c, tasks, sizeof *p->task);
    p->anchor = skel__carve_with_world(&c, (size_t)d->model->na, sizeof *p->anchor);
    p->root = skel__carve(&c, nodes, sizeof *p->root);
    p->mark = skel__carve(&c, nodes, sizeof *p->mark);
    p->needed = skel__carve(&c, nodes, sizeof *p->needed);
    p->moves = skel__carve(&c, nodes, sizeof *p->moves);
    p->renamed = skel__carve(&c, nodes, sizeof *p->renamed);
    p->allowed = skel__carve(&c, nodes, sizeof *p->allowed);
    return c.used;
}

static void layout_problem(skel__carver *c, skel_ik *ik, const skel__ik_plan *p) {
    const size_t columns = (size_t)ik->size.columns, na = (size_t)ik->model->na;
    skel__ik_problem *problem = &ik->problem;

    problem->node = skel__carve(c, (size_t)ik->size.nodes, sizeof *problem->node);
    problem->task = skel__carve(c, (size_t)ik->size.tasks, sizeof *problem->task);
    problem->link = skel__carve(c, (size_t)p->links, sizeof *problem->link);
    problem->goal = skel__carve(c, (size_t)ik->size.goals, sizeof *problem->goal);
    problem->root = skel__carve(c, (size_t)ik->size.roots, sizeof *problem->root);
    problem->column_node = skel__carve(c, columns, sizeof *problem->column_node);
    problem->column_x = skel__carve(c, columns, sizeof *problem->column_x);
    problem->column_scale = skel__carve(c, (size_t)ik->size.all_columns, sizeof(double));
    problem->base = skel__carve_with_world(c, na, sizeof *problem->base);
    problem->base_mass = skel__carve_with_world(c, na, sizeof *problem->base_mass);
}

static void layout_options(skel__carver *c, skel_ik *ik, const skel__ik_plan *p) {
    const int has_posture = ik->options.has_posture || ik->options.has_posture_room;
    const size_t coordinates = (size_t)ik->size.coordinates, nv = (size_t)ik->model->nv;

    ik->options.posture = skel__carve(c, has_posture ? coordinates : 0, sizeof(double));
    if (p->has_max_step) ik->options.max_step = skel__carve(c, nv, sizeof(double));

    ik->bounds.low = skel__carve(c, (size_t)ik->size.columns, sizeof(double));
    ik->bounds.high = skel__carve(c, (size_t)ik->size.columns, sizeof(double));
    ik->bounds.node_step = skel__carve(c, (size_t)ik->size.nodes, sizeof(double));
}

static void layout_iterate(skel__carver *c, skel_ik *ik) {
    const size_t coordinates = (size_t)ik->size.coordinates, rows = (size_t)ik->size.rows;
    const size_t nodes = (size_t)ik->size.nodes, columns = (size_t)ik->size.columns;
    skel__ik_iterate *iterate = &ik->iterate;
    skel__ik_history *history = &ik->history;

    iterate->x = skel__carve(c, coordinates, sizeof(double));
    iterate->trial = skel__carve(c, coordinates, sizeof(double));
    iterate->best = skel__carve(c, coordinates, sizeof(double));
    iterate->start = skel__carve(c, coordinates, sizeof(double));
    iterate->node_pose = skel__carve(c, nodes, sizeof *iterate->node_pose);
    iterate->e = skel__carve(c, rows, sizeof(double));
    iterate->e_at_x = skel__carve(c, rows, sizeof(double));
    iterate->jacobian_t = skel__carve(c, (size_t)ik->size.all_columns * rows, sizeof(double));
    iterate->mass_sums = skel__carve(c, 4 * nodes + 3, sizeof(double));
    iterate->kin = skel__carve_with_world(c, (size_t)ik->model->na, sizeof *iterate->kin);
    iterate->seed = skel__carve(c, columns, sizeof(double));
    iterate->seed_increment = skel__carve(c, columns, sizeof(double));

    history->last = skel__carve(c, coordinates, sizeof(double));
    history->before_last = skel__carve(c, coordinates, sizeof(double));
    history->first = skel__carve(c, coordinates, sizeof(double));
    history->good = skel__carve(c, coordinates, sizeof(double));
    history->e_last = skel__carve(c, rows, sizeof(double));
}

/* Numbers of workspace that the largest of the dense decompositions needs. */
static size_t dense_work_size(const skel_ik *ik) {
    const size_t columns = (size_t)ik->size.columns, rows = (size_t)ik->size.rows;
    const size_t pseudoinverse =
        skel__pseudoinverse_work(ik->size.rows, ik->size.columns) + 2 * columns * rows;
    const size_t singular = columns * rows + (rows + 1) * (rows + 1);
    size_t size = skel__eigen_work(ik->size.columns);

    if (pseudoinverse > size) size = pseudoinverse;
    if (singular > size) size = singular;
    return size;
}

static void layout_step(skel__carver *c, skel_ik *ik) {
    const size_t columns = (size_t)ik->size.columns, rows = (size_t)ik->size.rows;
    const size_t nodes = (size_t)ik->size.nodes;
    const int has_hessian = ik->size.columns <= SKEL__IK_HESSIAN_COLUMNS_MAX;
    const size_t square = has_hessian ? columns * columns : 0;
    skel__ik_step_work *step = &ik->step;

    step->y = skel__carve(c, columns, sizeof(double));
    step->y_held = skel__carve(c, columns, sizeof(double));
    step->e_rest = skel__carve(c, rows, sizeof(double));
    step->column = skel__carve(c, columns, sizeof *step->column);
    step->flat_columns = skel__carve(c, columns * rows, sizeof(double));
    step->free = skel__carve(c, columns, sizeof *step->free);
    step->normal = skel__carve(c, 3 * nodes, sizeof *step->normal);
    step->normal_count = skel__carve(c, nodes, sizeof *step->normal_count);
    step->gram = skel__carve(c, rows * rows, sizeof(double));
    step->solution = skel__carve(c, columns > rows ? columns : rows, sizeof(double));
    step->gradient = skel__carve(c, columns, sizeof(double));
    step->rhs = skel__carve(c, columns, sizeof(double));
    step->hessian = skel__carve(c, square, sizeof(double));
    step->hessian_work = skel__carve(c, square, sizeof(double));
    step->newton_factor = skel__carve(c, square, sizeof(double));
    step->dense_work = skel__carve(c, dense_work_size(ik), sizeof(double));
}

/* Only needed if a level or a posture comes after the first level. */
static void layout_level(skel__carver *c, skel_ik *ik) {
    const int has_posture = ik->options.has_posture || ik->options.has_posture_room;
    const size_t several = ik->size.levels + has_posture > 1;
    const size_t columns = several * (size_t)ik->size.columns;
    const size_t rows = several * (size_t)ik->size.rows;

    ik->level.basis = skel__carve(c, columns * columns, sizeof(double));
    ik->level.e_kept = skel__carve(c, rows, sizeof(double));
    ik->level.e_off = skel__carve(c, rows, sizeof(double));
    ik->level.y = skel__carve(c, columns, sizeof(double));
}

/* Measures the solver (base is NULL), or carves it out of the block `base`. */
static size_t layout(const skel_ik *from, const skel__ik_plan *p, void *base, skel_ik **out) {
    skel__carver c = {base, 0};
    skel_ik *ik = skel__carve(&c, 1, sizeof *ik);
    skel_ik at = *from;

    layout_problem(&c, &at, p);
    layout_options(&c, &at, p);
    layout_iterate(&c, &at);
    layout_step(&c, &at);
    layout_level(&c, &at);

    if (ik) *ik = at;
    if (out) *out = ik;
    return c.used;
}

/* ---- filling the problem ---- */

/* Numbers the nodes that some task needs, and gives columns to those that move a task. The columns
   of mimic nodes come last; they are later added to the columns of their sources. */
static void number_nodes(skel__ik_plan *p) {
    for (int32_t i = 0; i < p->nn; ++i) {
        p->renamed[i] = p->needed[i] ? p->kept++ : -1;
        if (!p->moves[i] || p->node[i].source >= 0) continue;
        p->node[i].column = p->columns;
        p->columns += skel__ik_columns(&p->node[i]);
    }

    for (int32_t i = 0; i < p->nn; ++i)
        if (p->moves[i] && p->node[i].source >= 0)
            p->node[i].column = p->columns + p->mimic_columns++;
}

static void rename_node(const skel__ik_plan *p, int32_t *node) {
    if (*node >= 0) *node = p->renamed[*node];
}

static void copy_nodes(skel_ik *ik, const skel__ik_plan *p) {
    for (int32_t i = 0; i < p->nn; ++i) {
        if (p->renamed[i] < 0) continue;
        skel__ik_node *n = &ik->problem.node[p->renamed[i]];
        *n = p->node[i];
        rename_node(p, &n->parent);
        rename_node(p, &n->source);
    }
    if (ik->size.roots) memcpy(ik->problem.root, p->root, (size_t)ik->size.roots * sizeof *p->root);
}

/* The joint lists of the goals belong to the caller, so the copies drop them. */
static void copy_goals(skel_ik *ik, const skel__ik_plan *p) {
    for (int32_t k = 0; k < ik->size.goals; ++k) {
        ik->problem.goal[k] = p->goal[k];
        ik->problem.goal[k].joints = NULL;
        ik->problem.goal[k].joint_count = 0;
    }
}

static void index_columns(skel_ik *ik) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        const int is_tracked = ik->options.mode == SKEL_IK_TRACK;
        if (n->kind == SKEL__NODE_BALL && (n->has_cone || is_tracked))
            ik->problem.has_limited_balls = 1;

        for (int k = 0; n->column >= 0 && n->source < 0 && k < skel__ik_columns(n); ++k) {
            ik->problem.column_node[n->column + k] = i;
            ik->problem.column_x[n->column + k] = n->kind == SKEL__NODE_AXIS ? n->x_offset : -1;
        }
    }
}

/* Whether the anchor is the world's own frame. A body welded to the world has a frame of its
   own. */
static int is_world(const skel__ik_anchor *a) {
    const quat q = a->given.q;
    return a->node < 0 && a->base < 0 && v3_dot(a->given.p, a->given.p) == 0 && q.x == 0 &&
           q.y == 0 && q.z == 0;
}

void skel__ik_set_task_target(skel__ik_task *t, const skel_goal_desc *g) {
    t->target = v3_of(g->position);
    t->orientation = q_matrix(q_unit(q_of(g->orientation)));
    t->weight = g->weight;
}

static void copy_tasks(skel_ik *ik, const skel__ik_plan *p) {
    for (int32_t k = 0; k < ik->size.tasks; ++k) {
        skel__ik_task *t = &ik->problem.task[k];
        *t = p->task[k];
        rename_node(p, &t->at.node);
        rename_node(p, &t->to.node);
        rename_node(p, &t->from.node);
        rename_node(p, &t->end.node);

        if (t->goal >= 0) skel__ik_set_task_target(t, &ik->problem.goal[t->goal]);
        if (t->kind == SKEL__TASK_CENTRE) ik->problem.has_centre = 1;
        t->is_plain = is_world(&t->to) && t->mask == SKEL_GOAL_POSITION;
    }
}

/* The links are already filled in by the plan, with the plan's node numbers. */
static void rename_links(skel_ik *ik, const skel__ik_plan *p) {
    for (int32_t l = 0; l < p->links; ++l) {
        rename_node(p, &ik->problem.link[l].node);
        skel__ik_node *n = &ik->problem.node[ik->problem.link[l].node];
        n->has_task = 1;
        if (n->source >= 0) ik->problem.node[n->source].has_task = 1;
    }
}

/* If every task depends on all columns, the Jacobian need not be cleared before it is filled. */
static void find_full_jacobian(skel_ik *ik) {
    ik->problem.is_jacobian_full = ik->size.all_columns == ik->size.columns;

    for (int32_t k = 0; k < ik->size.tasks; ++k) {
        const skel__ik_task *t = &ik->problem.task[k];
        int32_t columns = 0;
        for (int32_t l = 0; l < t->link_count; ++l) {
            const int32_t node = ik->problem.link[t->first_link + l].node;
            columns += skel__ik_columns(&ik->problem.node[node]);
        }
        if (columns < ik->size.columns) ik->problem.is_jacobian_full = 0;
    }
}

/* The bound of a source joint also covers its mimics: |factor| step <= max_step of the mimic. */
static void set_max_steps(skel_ik *ik, const double *max_step) {
    const skel_model *m = ik->model;
    memcpy(ik->options.max_step, max_step, (size_t)m->nv * sizeof(double));

    for (int32_t k = 0; k < m->nmimic; ++k) {
        const skel__joint *j = &m->joint[m->mimic_joint[k]];
        double *source = &ik->options.max_step[m->joint[j->mimic_root].v_offset];
        const double own = max_step[j->v_offset] / fabs(j->mimic_factor);
        if (own > 0 && isfinite(own)) *source = *source > 0 ? fmin(*source, own) : own;
    }
}

/* Sums the masses of the bodies on the nodes or bases that carry them. */
static void gather_masses(skel_ik *ik, const skel__ik_plan *p) {
    const skel_model *m = ik->model;
    int32_t body = SKEL_WORLD;
    for (int32_t k = 0; k < ik->size.goals; ++k)
        if (ik->problem.goal[k].kind == SKEL_GOAL_CENTRE) body = ik->problem.goal[k].body;

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], host = m->body[i].host;
        const skel__ik_anchor a = p->anchor[host >= 0 ? host : i];
        if (body >= 0 && m->body[i].skeleton != m->body[body].skeleton) continue;

        /* A wobbling mass keeps its initial pose relative to its host body. */
        pose at = a.given;
        if (host >= 0) at = pose_mul(at, pose_mul(pose_inverse(m->body[host].x0), m->body[i].x0));

        const double mass = m->body[i].mass;
        ik->problem.mass += mass;
        if (a.node < 0) {
            skel__ik_point_mass *fixed = &ik->problem.base_mass[a.base];
            fixed->mass += mass;
            fixed->moment = v3_mad(fixed->moment, mass, at.p);
            continue;
        }
        skel__ik_node *n = &ik->problem.node[p->renamed[a.node]];
        n->mass += mass;
        n->mass_moment = v3_mad(n->mass_moment, mass, at.p);
    }
}

/* ---- lengths and scales ---- */

/* Sum of the link lengths of a task's chain, without the travel of its joints. */
static double link_lengths(const skel_ik *ik, const skel__ik_task *t) {
    const skel__ik_node *node = ik->problem.node;
    double sum = t->at.node >= 0 ? v3_norm(t->at.given.p) : 0;

    for (int32_t i = t->at.node; i >= 0; i = node[i].parent)
        if (node[i].parent >= 0) sum += v3_norm(node[i].frame.p);
    return sum;
}

/* Largest displacement by a node [m]; infinite without limits. */
static double travel_of(const skel__ik_node *n) {
    if (n->shift == 0) return 0;
    return fabs(n->shift) * fmax(fabs(n->low), fabs(n->high));
}

/* The unit of length of a task is the length of its own chain. It does not depend on other tasks,
   so one goal never changes how the metres of another weigh against its radians.
   URDF writes a limit of 1e6 m for "no limit". If such a limit counted as a length, an error of one
   metre would be as small as a microradian and the damping would hide it. */
static double length_of(skel_ik *ik, skel__ik_task *t) {
    const double links = link_lengths(ik, t);
    const double size = ik->model->length_scale > 0 ? ik->model->length_scale : 1;
    const double widest = IK_TRAVEL_MAX_LENGTHS * (links > 0 ? links : size);
    double sum = links;

    for (int32_t i = t->at.node; i >= 0; i = ik->problem.node[i].parent) {
        skel__ik_node *n = &ik->problem.node[i];
        if (n->kind == SKEL__NODE_SHIFT) t->reach = INFINITY;
        if (n->kind != SKEL__NODE_AXIS) continue;

        if (travel_of(n) <= widest) {
            sum += travel_of(n);
        } else {
            n->is_wide = 1;
            ik->problem.has_wide_travel = 1;
            t->reach = INFINITY;
        }
    }

    t->reach = fmax(t->reach, IK_REACH_MARGIN * sum);
    return sum > 0 ? sum : size;
}

static void measure_lengths(skel_ik *ik) {
    const double widest = IK_HINGE_RANGE_MAX_TURNS * SKEL__TURN;
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        skel__ik_node *n = &ik->problem.node[i];
        n->is_wide = skel__ik_is_periodic(n) && n->high - n->low > widest;
    }

    ik->problem.length = ik->size.tasks > 0 ? 0 : 1;
    for (int32_t k = 0; k < ik->size.tasks; ++k) {
        skel__ik_task *t = &ik->problem.task[k];
        t->length = length_of(ik, t);
        ik->problem.length = fmax(ik->problem.length, t->length);
    }
}

void skel__ik_scale_mimics(skel_ik *ik) {
    double *scale = ik->problem.column_scale;
    for (int32_t i = 0; ik->size.all_columns > ik->size.columns && i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->source < 0 || n->column < 0) continue;
        scale[n->column] = n->mimic_factor * scale[ik->problem.node[n->source].column];
    }
}

void skel__ik_set_scales(skel_ik *ik) {
    const int has_units = ik->options.method == SKEL_IK_NEWTON; /* metres and radians as they are */

    for (int32_t k = 0; k < ik->size.tasks; ++k) {
        skel__ik_task *t = &ik->problem.task[k];
        t->scale = sqrt(t->weight) * (t->is_length && !has_units ? 1 / t->length : 1);
    }

    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        ik->problem.column_scale[c] = (has_units ? 1 : skel__ik_unit(ik, n)) * n->mobility;
    }
    skel__ik_scale_mimics(ik);
}

static void fill(skel_ik *ik, const skel__ik_plan *p, const skel_ik_desc *d) {
    copy_nodes(ik, p);
    copy_goals(ik, p);
    copy_tasks(ik, p);
    rename_links(ik, p);

    index_columns(ik);
    find_full_jacobian(ik);

    const size_t nq = (size_t)ik->model->nq;
    if (ik->options.has_posture) memcpy(ik->options.posture, d->posture, nq * sizeof(double));
    if (d->max_step) set_max_steps(ik, d->max_step);
    if (ik->problem.has_centre) gather_masses(ik, p);

    measure_lengths(ik);
    skel__ik_set_scales(ik);
    skel__ik_seeds(ik);
}

/* ---- creation ---- */

static skel_status check_filled(const skel_ik *ik, skel_error *err) {
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->has_mimics && n->low > n->high)
            return skel__fail(err, SKEL_E_JOINT, -1, n->joint,
                              "joints[%d].limits: the limits of '%s' and of the joints that mimic "
                              "it must overlap",
                              n->joint, ik->model->joint[n->joint].name);
    }

    for (int32_t k = 0; k < ik->size.tasks; ++k)
        if (ik->problem.task[k].kind == SKEL__TASK_CENTRE && !(ik->problem.mass > 0))
            return skel__fail(err, SKEL_E_MASS, -1, -1,
                              "goals[%d]: a centre of mass needs bodies with mass",
                              ik->problem.task[k].goal);
    return SKEL_OK;
}

/* The solver without its arrays: everything that the layout depends on. */
static skel_ik header_of(const skel_ik_desc *d, const skel_allocator *a, const skel__ik_plan *p) {
    return (skel_ik){
        .model = d->model,
        .allocator = *a,
        .size = {.nodes = p->kept,
                 .coordinates = d->model->nq + 7 * p->nroot,
                 .columns = p->columns,
                 .all_columns = p->columns + p->mimic_columns,
                 .tasks = p->nt,
                 .rows = p->rows,
                 .levels = p->levels,
                 .roots = p->nroot,
                 .goals = (int32_t)d->goal_count},
        .options = {.mode = d->mode,
                    .method = d->method,
                    .max_iterations = d->max_iterations,
                    .max_restarts = d->max_restarts,
                    .tolerance = d->tolerance,
                    .max_ms = d->max_ms,
                    .has_posture = p->has_posture,
                    .has_posture_room = p->has_posture_room},
    };
}

static skel_status make(const skel_ik_desc *d, const skel_allocator *a, skel__ik_plan *p,
                        skel_ik **out, skel_error *err) {
    /* The first pass over the links counts them; it also finds the nodes that are needed. */
    skel__ik_plan_nodes(p);
    skel__ik_plan_tasks(p, d->goal_count);
    skel__ik_plan_links(p);
    number_nodes(p);

    const skel_ik header = header_of(d, a, p);
    void *block = skel__alloc(a, layout(&header, p, NULL, NULL));
    if (!block) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the solver");
    skel_ik *ik = NULL;
    layout(&header, p, block, &ik);

    /* The second pass fills the links in. */
    p->link = ik->problem.link;
    skel__ik_plan_links(p);
    fill(ik, p, d);

    skel_status status = check_filled(ik, err);
    if (status == SKEL_OK && !p->held) status = skel__ik_make_parts(ik, p, d, err);
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
    skel__ik_plan p = {.m = d->model,
                       .stiffness = d->stiffness,
                       .root_moves = d->root,
                       .has_posture = d->posture != NULL,
                       .has_posture_room = has_room,
                       .has_max_step = d->max_step != NULL,
                       .held = held};
    void *block = skel__alloc(a, plan_layout(&p, d, NULL));
    if (!block) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the solver");
    plan_layout(&p, d, block);

    skel_status status = import_goals(d, p.goal, err);
    if (status == SKEL_OK) status = make(d, a, &p, out, err);
    skel__free(a, block);
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
    skel__ik_free_parts(ik);
    skel__free(&a, ik);
}
