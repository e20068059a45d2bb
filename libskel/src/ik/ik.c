/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics: targets, the solve of one pose, and its results. */
#include "ik/ik.h"
#include "base/desc.h"
#include "base/error.h"
#include "math/dense.h"
#include "model/joint_kind.h"

#include <string.h>

#define IK_RESTARTS_MAX 1000           /* default of one pose */
#define IK_NEWTON_ITERATIONS_MAX 100   /* default of method NEWTON */
#define IK_DOWNHILL_ITERATIONS_MAX 200 /* default of a descent that ends the solve */
#define IK_PSEUDOINVERSE_TOL 1e-10     /* singular values below this part of the largest are 0 */
#define IK_ACTIVE_LIMIT_TOL_RAD 1e-9   /* a ball this near its limit lies on it */

/* ---- targets ---- */

static int is_goal(const skel_ik *ik, int32_t goal) {
    return ik && goal >= 0 && goal < ik->size.goals;
}

skel_status skel_ik_set_target(skel_ik *ik, int32_t goal, const double position[3],
                               const double orientation[4]) {
    if (!is_goal(ik, goal)) return SKEL_E_ARGUMENT;
    if (position && !skel__ik_is_sane(position, 3)) return SKEL_E_ARGUMENT;
    if (orientation &&
        (!skel__ik_is_sane(orientation, 4) || !(q_dot(q_of(orientation), q_of(orientation)) > 0)))
        return SKEL_E_ARGUMENT;

    skel_goal_desc *g = &ik->problem.goal[goal];
    if (position) memcpy(g->position, position, sizeof g->position);
    if (orientation) memcpy(g->orientation, orientation, sizeof g->orientation);
    for (int32_t k = 0; k < ik->size.tasks; ++k)
        if (ik->problem.task[k].goal == goal) skel__ik_set_task_target(&ik->problem.task[k], g);

    if (ik->parts.count)
        skel_ik_set_target(ik->parts.solver[ik->parts.of_goal[goal]], ik->parts.goal_index[goal],
                           position, orientation);
    return SKEL_OK;
}

skel_status skel_ik_set_weight(skel_ik *ik, int32_t goal, double weight) {
    if (!is_goal(ik, goal)) return SKEL_E_ARGUMENT;
    if (!(weight >= 0 && isfinite(weight))) return SKEL_E_ARGUMENT;

    ik->problem.goal[goal].weight = weight;
    for (int32_t k = 0; k < ik->size.tasks; ++k)
        if (ik->problem.task[k].goal == goal) ik->problem.task[k].weight = weight;
    skel__ik_set_scales(ik);

    if (ik->parts.count)
        skel_ik_set_weight(ik->parts.solver[ik->parts.of_goal[goal]], ik->parts.goal_index[goal],
                           weight);
    return SKEL_OK;
}

/* Updates everything that is fixed to a base after problem.base has changed. */
static void rebase(skel_ik *ik) {
    skel__ik_rebase(ik);

    /* Moment of all masses on bases: sum of m p. */
    v3 moment = {0, 0, 0};
    for (int32_t i = -1; ik->problem.has_centre && i < ik->model->na; ++i) {
        const skel__ik_point_mass *mass = &ik->problem.base_mass[i];
        const pose *base = &ik->problem.base[i];
        moment = v3_mad(v3_add(moment, q_rotate(base->q, mass->moment)), mass->mass, base->p);
    }
    v3_to(moment, ik->iterate.mass_sums + 4 * (size_t)ik->size.nodes);

    for (int32_t k = 0; k < ik->size.tasks; ++k) {
        skel__ik_task *t = &ik->problem.task[k];
        skel__ik_rebase_anchor(ik, &t->at);
        skel__ik_rebase_anchor(ik, &t->to);
        skel__ik_rebase_anchor(ik, &t->from);
        skel__ik_rebase_anchor(ik, &t->end);
    }
}

void skel__ik_set_time(skel_ik *ik, double t) {
    const skel_model *m = ik->model;
    for (int32_t k = 0; k < m->np; ++k) {
        const int32_t i = m->prescribed[k];
        if (i >= m->nb) continue;
        ik->problem.base[i] = skel__prescribed_motion(&m->body[i], t, SKEL__AFTER).x;
    }
    rebase(ik);

    for (int32_t k = 0; k < ik->parts.count; ++k) skel__ik_set_time(ik->parts.solver[k], t);
}

void skel__ik_model_q(const skel_ik *ik, double *q) {
    const skel_model *m = ik->model;
    for (int32_t i = -1; i < m->na; ++i) {
        const pose at = i < 0 ? (pose){{0, 0, 0}, q_identity()} : m->body[i].x0;
        ik->iterate.kin[i] = (skel__kin){.p = at.p, .q = at.q};
    }
    skel__q_of(m, ik->iterate.kin, q);
}

static int are_poses(const double *poses, int32_t count) {
    if (!all_finite(poses, 7 * (size_t)count)) return 0;
    for (int32_t i = 0; i < count; ++i) {
        const quat q = q_of(poses + 7 * (size_t)i + 3);
        if (!(q_dot(q, q) > 0)) return 0;
    }
    return 1;
}

skel_status skel_ik_set_roots(skel_ik *ik, const double *poses) {
    if (!ik) return SKEL_E_ARGUMENT;
    const skel_model *m = ik->model;
    if (poses && !are_poses(poses, m->nb)) return SKEL_E_ARGUMENT;

    ik->problem.base[-1] = (pose){{0, 0, 0}, q_identity()};
    for (int32_t i = 0; i < m->na; ++i) {
        const double *p = poses && i < m->nb ? poses + 7 * (size_t)i : NULL;
        ik->problem.base[i] = p ? (pose){v3_of(p), q_unit(q_of(p + 3))} : m->body[i].x0;
    }
    rebase(ik);

    /* Free roots that may move have coordinates of their own. */
    for (int32_t k = 0; k < ik->size.roots; ++k) {
        const pose *at = &ik->problem.base[ik->problem.root[k]];
        double *x = ik->iterate.x + m->nq + 7 * k;
        v3_to(at->p, x);
        q_to(at->q, x + 3);
    }

    for (int32_t k = 0; k < ik->parts.count; ++k) skel_ik_set_roots(ik->parts.solver[k], poses);
    return SKEL_OK;
}

/* ---- settings ---- */

skel__ik_settings skel__ik_settings_get(const skel_ik *ik) {
    return (skel__ik_settings){.mode = ik->options.mode,
                               .max_restarts = ik->options.max_restarts,
                               .has_posture = ik->options.has_posture,
                               .merges_levels = ik->options.merges_levels,
                               .max_node_step = ik->options.max_node_step};
}

void skel__ik_settings_set(skel_ik *ik, const skel__ik_settings *settings) {
    ik->options.mode = settings->mode;
    ik->options.max_restarts = settings->max_restarts;
    ik->options.has_posture = settings->has_posture;
    ik->options.merges_levels = settings->merges_levels;
    ik->options.max_node_step = settings->max_node_step;

    for (int32_t k = 0; k < ik->parts.count; ++k)
        skel__ik_settings_set(ik->parts.solver[k], settings);
}

void skel__ik_set_posture(skel_ik *ik, const double *x) {
    memcpy(ik->options.posture, x, (size_t)ik->size.coordinates * sizeof *x);
    for (int32_t k = 0; k < ik->parts.count; ++k) skel__ik_set_posture(ik->parts.solver[k], x);
}

/* ---- solving ---- */

/* Largest motion of a node in this solve [rad], [m]; 0: no bound. */
static double step_bound(const skel_ik *ik, const skel__ik_node *n) {
    if (ik->options.mode != SKEL_IK_TRACK) return 0;

    double most = 0;
    if (ik->options.max_step && n->dof >= 0) most = ik->options.max_step[n->dof];
    if (!(ik->options.max_node_step > 0)) return most;

    const double all = ik->options.max_node_step * skel__ik_unit(ik, n);
    return most > 0 ? fmin(most, all) : all;
}

/* A hinge beyond its limits may lie within them after some whole turns. */
static void unwind_hinge(const skel__ik_node *n, double *q) {
    if (q[0] >= n->low && q[0] <= n->high) return;
    const double turns = nearbyint((q[0] - 0.5 * (n->low + n->high)) / SKEL__TURN);
    const double near = q[0] - SKEL__TURN * turns;
    if (isfinite(near) && near >= n->low && near <= n->high) q[0] = near;
}

/* Brings an axis of the seed within its limits and sets the bounds of its column. */
static void begin_axis(skel_ik *ik, const skel__ik_node *n, double *q) {
    const double most = step_bound(ik, n);
    if (n->source >= 0) return; /* mimic joints are recomputed from their sources */

    if (skel__ik_is_periodic(n) && !n->has_mimics) unwind_hinge(n, q);
    if (ik->options.method == SKEL_IK_DAMPED) q[0] = fmin(fmax(q[0], n->low), n->high);

    if (n->column < 0) return;
    ik->bounds.low[n->column] = most > 0 ? fmax(n->low, q[0] - most) : n->low;
    ik->bounds.high[n->column] = most > 0 ? fmin(n->high, q[0] + most) : n->high;
}

/* Normalises a ball of the seed. A ball that does not move is brought within its limits here. */
static void begin_ball(skel_ik *ik, const skel__ik_node *n, double *q) {
    if (n->kind == SKEL__NODE_BALL) q_to(q_unit(q_of(q)), q);
    if (n->has_cone && n->column < 0 && ik->options.method == SKEL_IK_DAMPED)
        skel__ik_place_ball(ik, n, q);
}

/* Sets the bounds of this solve and brings the seed within the limits. */
static void begin(skel_ik *ik) {
    double *x = ik->iterate.x;
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        ik->bounds.node_step[i] = 0;
        if (n->kind == SKEL__NODE_AXIS)
            begin_axis(ik, n, x + n->x_offset);
        else
            begin_ball(ik, n, x + n->x_offset);
    }

    /* A step of zero brings the moving balls within their cones. */
    memset(ik->step.y, 0, (size_t)ik->size.columns * sizeof *ik->step.y);
    if (ik->options.method == SKEL_IK_DAMPED) skel__ik_step_within(ik, x, ik->step.y, x);
    skel__mimic_apply(ik->model, x);
    memcpy(ik->iterate.start, x, (size_t)ik->size.coordinates * sizeof *x);

    /* Steps of balls and shifts are measured from the start, so their bounds are set last. */
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->kind != SKEL__NODE_AXIS) ik->bounds.node_step[i] = step_bound(ik, n);
    }
}

void skel__ik_seed_pose(skel_ik *ik, const double *u, const double *from, double *x) {
    /* Seeds are drawn between the limits, regardless of the bounds of the last solve. */
    for (int32_t c = 0; c < ik->size.columns; ++c) {
        const skel__ik_node *n = &ik->problem.node[ik->problem.column_node[c]];
        ik->bounds.low[c] = n->low;
        ik->bounds.high[c] = n->high;
    }
    for (int32_t i = 0; i < ik->size.nodes; ++i) ik->bounds.node_step[i] = 0;
    skel__ik_place_seed(ik, u, from, x);

    /* Nodes that no goal moves stay as they are. */
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->has_task || n->source >= 0) continue;
        memcpy(x + n->x_offset, from + n->x_offset, (size_t)skel__ik_coordinates(n) * sizeof *x);
    }
    skel__mimic_apply(ik->model, x);
}

/* Poses of the bodies at x, except for wobbling masses. */
static void place_bodies(const skel_ik *ik) {
    const skel_model *m = ik->model;
    skel__kin *kin = ik->iterate.kin;
    for (int32_t i = -1; i < m->na; ++i)
        kin[i] = (skel__kin){.p = ik->problem.base[i].p, .q = ik->problem.base[i].q};

    for (int32_t k = 0; k < ik->size.roots; ++k) {
        const double *x = ik->iterate.x + m->nq + 7 * k;
        kin[ik->problem.root[k]].p = v3_of(x);
        kin[ik->problem.root[k]].q = q_of(x + 3);
    }
    skel__fk(m, ik->iterate.x, kin);
}

/* Whether coordinate k of the joint is an angle that is the same after a whole turn. */
static int is_periodic(const skel__joint *j, int k) {
    static const v3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    return skel__joint_kinds[j->type].q_kind[k] == SKEL_COORDINATE_ANGLE &&
           skel__joint_column_of(j, axes, axes, k).shift == 0;
}

/* Measures the coordinates of loop joints from the bodies. Periodic angles keep the turn of the
   seed. */
static void measure_loops(skel_ik *ik) {
    const skel_model *m = ik->model;
    place_bodies(ik);

    for (int32_t k = 0; k < m->nl; ++k) {
        const skel__joint *j = &m->joint[m->loop[k]];
        const skel_joint_kind *kind = &skel__joint_kinds[j->type];
        double *x = ik->iterate.x + j->q_offset, q[4];
        skel__joint_measure(j, pose_mul(skel__pose_of(ik->iterate.kin, j->a), j->fa),
                            pose_mul(skel__pose_of(ik->iterate.kin, j->b), j->fb), q);

        for (int i = 0; i < kind->q_count; ++i)
            if (is_periodic(j, i)) q[i] += SKEL__TURN * nearbyint((x[i] - q[i]) / SKEL__TURN);
        memcpy(x, q, (size_t)kind->q_count * sizeof *q);
    }
}

/* Newton's method as printed, with the conditions of [ERRATA S1]: y = J+ e. */
static void newton(skel_ik *ik) {
    const int32_t most =
        ik->options.max_iterations > 0 ? ik->options.max_iterations : IK_NEWTON_ITERATIONS_MAX;
    const size_t n = (size_t)ik->size.columns, m = (size_t)ik->size.rows;
    double *jacobian = ik->step.dense_work;
    double *inverse = jacobian + n * m, *work = inverse + n * m;
    double *y = ik->step.y;

    skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
    for (int32_t it = 0; it < most && ik->result.residual > ik->options.tolerance; ++it) {
        ++ik->result.iterations;

        skel__ik_jacobian(ik, ik->size.rows);
        for (size_t r = 0; r < m; ++r)
            for (size_t c = 0; c < n; ++c) jacobian[r * n + c] = ik->iterate.jacobian_t[c * m + r];
        if (skel__pseudoinverse(jacobian, ik->size.rows, ik->size.columns, IK_PSEUDOINVERSE_TOL,
                                inverse, work) < 0)
            return;

        for (size_t c = 0; c < n; ++c) {
            y[c] = 0;
            for (size_t r = 0; r < m; ++r) y[c] += inverse[c * m + r] * ik->iterate.e[r];
        }

        /* This method knows no limits. */
        for (size_t c = 0; c < n; ++c) {
            ik->bounds.low[c] = -INFINITY;
            ik->bounds.high[c] = INFINITY;
        }
        skel__ik_step_within(ik, ik->iterate.x, y, ik->iterate.trial);

        /* It can also diverge. The pose before it leaves the range of numbers is the answer. */
        if (!skel__ik_is_sane(ik->iterate.trial, ik->size.coordinates)) return;
        memcpy(ik->iterate.x, ik->iterate.trial,
               (size_t)ik->size.coordinates * sizeof *ik->iterate.x);
        skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
    }
}

/* Levels one after the other if there are several; otherwise one minimisation of all rows. */
static void solve(skel_ik *ik) {
    const int tracks = ik->options.mode == SKEL_IK_TRACK;
    const int32_t most =
        ik->options.max_iterations > 0 ? ik->options.max_iterations : IK_DOWNHILL_ITERATIONS_MAX;
    int32_t restarts = ik->options.max_restarts >= 0 ? ik->options.max_restarts : IK_RESTARTS_MAX;
    if (tracks) restarts = 0;

    if (ik->options.method == SKEL_IK_NEWTON) {
        newton(ik);
        return;
    }

    if (tracks) skel__ik_track_begin(ik);
    if (!ik->options.merges_levels && ik->size.levels + ik->options.has_posture > 1) {
        skel__ik_levels(ik, restarts);
    } else if (tracks) {
        skel__ik_downhill(ik, ik->size.rows, most);
    } else {
        skel__ik_search(ik, ik->size.rows, restarts);
        if (ik->result.residual > ik->options.tolerance) skel__ik_downhill(ik, ik->size.rows, most);
    }
    if (tracks) skel__ik_track_end(ik);
}

void skel__ik_run(skel_ik *ik) {
    begin(ik);
    if (ik->parts.count)
        skel__ik_solve_parts(ik);
    else
        solve(ik);
}

skel_status skel_ik_solve(skel_ik *ik, double *q, skel_ik_receipt *receipt, skel_error *err) {
    if (!ik || !q) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "ik or q: is NULL");
    const size_t nq = (size_t)ik->model->nq;
    if (!all_finite(q, nq)) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "q: must be finite");

    const int64_t begun = skel__now_ns();
    const double max_ms = ik->options.max_ms;
    ik->options.deadline_ns = max_ms > 0 ? begun + (int64_t)(1e6 * max_ms) : 0;
    ik->result.iterations = 0;
    ik->result.restarts = 0;
    ik->history.is_following = 0;

    memcpy(ik->iterate.x, q, nq * sizeof *q);
    skel__ik_run(ik);
    if (ik->model->nl > 0) measure_loops(ik);
    memcpy(q, ik->iterate.x, nq * sizeof *q);

    if (!receipt) return SKEL_OK;
    skel_ik_receipt r = {.struct_size = sizeof r,
                         .iterations = ik->result.iterations,
                         .restarts = ik->result.restarts};
    skel__ik_receipt(ik, &r);
    r.us = 1e-3 * (double)(skel__now_ns() - begun);
    return skel__desc_export(receipt, &r, sizeof r, sizeof r);
}

/* ---- results ---- */

/* Whether x lies on a limit of the node's joint. */
static int is_at_limit(const skel_ik *ik, const skel__ik_node *n) {
    if (n->kind == SKEL__NODE_AXIS) {
        const double q = ik->iterate.x[n->x_offset];
        return q <= n->low || q >= n->high;
    }
    if (!n->has_cone) return 0;

    skel__ik_ball_limit bound[4];
    const int limits = skel__ik_ball_limits(ik, n, 0, ik->iterate.x, bound);
    int at = 0;
    for (int k = 0; k < limits; ++k) at |= bound[k].margin < IK_ACTIVE_LIMIT_TOL_RAD;
    return at;
}

/* Number of joint limits that x lies on. active (nv entries, may be NULL) receives them. */
static int32_t count_active(const skel_ik *ik, int32_t *active) {
    int32_t count = 0;
    for (int32_t i = 0; i < ik->size.nodes; ++i) {
        const skel__ik_node *n = &ik->problem.node[i];
        if (n->dof < 0 || n->source >= 0) continue;

        const int at = is_at_limit(ik, n);
        if (active && at) active[n->dof] = 1;
        count += at;
    }
    return count;
}

/* Smallest singular value of the Jacobian in metres and radians, without weights. */
static double smallest_singular_value(skel_ik *ik) {
    if (ik->size.columns == 0 || ik->size.rows == 0) return 0;

    for (int32_t k = 0; k < ik->size.tasks; ++k)
        ik->problem.task[k].scale = ik->problem.task[k].weight > 0 ? 1 : 0;
    for (int32_t c = 0; c < ik->size.columns; ++c) ik->problem.column_scale[c] = 1;
    skel__ik_scale_mimics(ik);
    skel__ik_jacobian(ik, ik->size.rows);
    skel__ik_set_scales(ik);

    return skel__smallest_singular(ik->iterate.jacobian_t, ik->size.rows, ik->size.columns,
                                   (size_t)ik->size.rows, ik->step.dense_work);
}

void skel__ik_receipt(skel_ik *ik, skel_ik_receipt *r) {
    r->residual = ik->result.residual;
    r->reached = ik->result.residual <= ik->options.tolerance;
    r->active_limits = count_active(ik, NULL);
    r->smallest_singular_value = smallest_singular_value(ik);
}

skel_status skel_ik_get_poses(const skel_ik *ik, double *poses) {
    if (!ik || !poses) return SKEL_E_ARGUMENT;
    const skel_model *m = ik->model;
    skel__kin *kin = ik->iterate.kin;
    place_bodies(ik);

    /* Wobbling masses keep their initial poses relative to their host bodies. */
    for (int32_t i = 0; i < m->nb; ++i) {
        const int32_t host = m->body[i].host;
        if (host < 0) continue;
        const pose relative = pose_mul(pose_inverse(m->body[host].x0), m->body[i].x0);
        const pose at = pose_mul((pose){kin[host].p, kin[host].q}, relative);
        kin[i].p = at.p;
        kin[i].q = q_unit(at.q);
    }

    for (int32_t i = 0; i < m->nb; ++i) {
        v3_to(kin[i].p, poses + 7 * (size_t)i);
        q_to(kin[i].q, poses + 7 * (size_t)i + 3);
    }
    return SKEL_OK;
}

skel_status skel_ik_get_residual(const skel_ik *ik, int32_t goal, double *distance, double *angle) {
    if (!is_goal(ik, goal)) return SKEL_E_ARGUMENT;

    double largest_distance = 0, largest_angle = 0;
    for (int32_t k = 0; k < ik->size.tasks; ++k) {
        const skel__ik_task *t = &ik->problem.task[k];
        if (t->goal != goal) continue;
        if (t->is_length)
            largest_distance = fmax(largest_distance, t->error);
        else
            largest_angle = fmax(largest_angle, t->error);
    }

    if (distance) *distance = largest_distance;
    if (angle) *angle = largest_angle;
    return SKEL_OK;
}

skel_status skel_ik_get_active(const skel_ik *ik, int32_t *active) {
    if (!ik || !active) return SKEL_E_ARGUMENT;
    if (ik->model->nv > 0) memset(active, 0, (size_t)ik->model->nv * sizeof *active);
    count_active(ik, active);
    return SKEL_OK;
}
