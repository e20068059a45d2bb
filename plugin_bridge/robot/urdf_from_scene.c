/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes a URDF document of a scene whose bodies form a tree: one link per body, one joint per
   joint. The frame of a link lies on the axis of its joint, as URDF requires. A joint with several
   axes, for which URDF has no type, becomes hinges and slides in series, with links without mass
   between them. */
#include "robot/urdf.h"
#include "robot/joint_graph.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define URDF_ON_AXIS_M 1e-12 /* a named frame closer to the joint's axis can be the link's frame */
#define URDF_AT_ORIGIN_TOL 1e-14 /* [m], [1]: a root closer to the origin needs no joint */

typedef struct maker {
    const skel_scene *s;
    const skel_model *model;
    urdf_document *u;
    int32_t nb;
    robot_graph graph;
    bool *is_root;           /* (nb + 1) index 0 is the world */
    double (*frame)[7];      /* (nb + 1) the link's frame in the body's frame */
    const double **own_pose; /* (nb + 1) pose of the named frame with the body's name; NULL: none */
    bool *has_link;          /* (nb + 1) the link was added */
    bool has_world;          /* the document needs a link for the world */
} maker;

static skel_body_desc body_of(const maker *m, int32_t i) {
    skel_body_desc b;
    skel_body_desc_init(&b);
    skel_model_get_body(m->model, i, &b);
    return b;
}

static skel_joint_desc joint_of(const maker *m, int32_t k) {
    skel_joint_desc j;
    skel_joint_desc_init(&j);
    skel_model_get_joint(m->model, k, &j);
    return j;
}

static const char *link_name(const maker *m, int32_t body) {
    return body < 0 ? "world" : skel_model_body_name(m->model, body);
}

/* ---- poses ----------------------------------------------------------------------------------- */

/* Roll, pitch and yaw of R = Rz(yaw) Ry(pitch) Rx(roll). Pitch and roll are computed from Rz^T R,
   so that rounding near a pitch of 90 degrees changes yaw and roll together. */
static void rpy_of(const double q[4], double rpy[3]) {
    const double ex[3] = {1, 0, 0}, ey[3] = {0, 1, 0}, ez[3] = {0, 0, 1};
    double x[3], y[3], z[3];
    scene_rotate(q, ex, x);
    scene_rotate(q, ey, y);
    scene_rotate(q, ez, z);
    rpy[2] = atan2(x[1], x[0]);
    const double c = cos(rpy[2]), s = sin(rpy[2]);
    rpy[1] = atan2(-x[2], c * x[0] + s * x[1]);
    rpy[0] = atan2(-(c * z[1] - s * z[0]), c * y[1] - s * y[0]);
}

static void put_pose(const double x[7], double xyz[3], double rpy[3]) {
    memcpy(xyz, x, 3 * sizeof *x);
    rpy_of(x + 3, rpy);
}

/* ---- links ----------------------------------------------------------------------------------- */

static urdf_link *new_link(maker *m, const char *name) {
    urdf_document *u = m->u;
    if (!arena_grow(u->arena, &u->links, u->link_count, &u->link_room, sizeof *u->links))
        return NULL;
    u->links[u->link_count] = (urdf_link){.name = arena_string(u->arena, name)};
    return &u->links[u->link_count++];
}

/* The shape of a body as an element <collision>; NULL: it has none that URDF knows. */
static const char *shape_text(maker *m, const skel_body_desc *b, const double com[7]) {
    text_buffer t = {0};
    double xyz[3], rpy[3];
    const char *text = NULL;
    if (b->shape != SKEL_SHAPE_SPHERE && b->shape != SKEL_SHAPE_BOX &&
        b->shape != SKEL_SHAPE_CYLINDER)
        return NULL;

    put_pose(com, xyz, rpy);
    text_add(&t, "<collision><origin xyz=\"");
    for (int k = 0; k < 6; ++k) {
        if (k == 3) text_add(&t, "\" rpy=\"");
        if (k != 0 && k != 3) text_add(&t, " ");
        text_number(&t, k < 3 ? xyz[k] : rpy[k - 3]);
    }

    text_add(&t, "\"/><geometry>");
    if (b->shape == SKEL_SHAPE_SPHERE)
        text_addf(&t, "<sphere radius=\"%.17g\"/>", b->size[0]);
    else if (b->shape == SKEL_SHAPE_BOX)
        text_addf(&t, "<box size=\"%.17g %.17g %.17g\"/>", b->size[0], b->size[1], b->size[2]);
    else
        text_addf(&t, "<cylinder length=\"%.17g\" radius=\"%.17g\"/>", b->size[0], b->size[1]);
    text_add(&t, "</geometry></collision>");

    if (t.failed)
        m->u->arena->failed = true; /* urdf_make checks it */
    else
        text = arena_string(m->u->arena, t.data);
    text_free(&t);
    return text;
}

/* The link of a body. Its inertia is given in body axes at the centre of mass. */
static void add_link(maker *m, int32_t body) {
    urdf_link *l = new_link(m, link_name(m, body));
    double com[7];
    m->has_link[body + 1] = true;
    if (!l || body < 0) return;

    const skel_body_desc b = body_of(m, body);
    robot_pose_inverse(m->frame[body + 1], com);
    l->extra = shape_text(m, &b, com);
    if (!(b.mass > 0.0) || scene_is_estimated(m->s, body, SCENE_ESTIMATED_MASS)) return;

    l->has_inertial = true;
    l->mass = b.mass;
    put_pose(com, l->xyz, l->rpy);
    memcpy(l->inertia, b.inertia, sizeof b.inertia);
}

/* ---- joints ---------------------------------------------------------------------------------- */

static urdf_joint *new_joint(maker *m, const char *name, const char *parent, const char *child) {
    urdf_document *u = m->u;
    if (!arena_grow(u->arena, &u->joints, u->joint_count, &u->joint_room, sizeof *u->joints))
        return NULL;
    u->joints[u->joint_count] = (urdf_joint){.name = arena_string(u->arena, name),
                                             .parent_name = arena_string(u->arena, parent),
                                             .child_name = arena_string(u->arena, child),
                                             .type = URDF_FIXED,
                                             .factor = 1.0};
    return &u->joints[u->joint_count++];
}

/* A joint as the tree passes it: from parent to child, or the other way round. */
typedef struct step {
    skel_joint_desc j;
    skel_joint_kind kind;
    int32_t index;             /* of the joint */
    int32_t near, far;         /* bodies; the near one is closer to the root */
    double outer[7], inner[7]; /* joint frame in the near and in the far body */
    double sense;              /* 1, or -1 if the tree passes the joint backwards */
} step;

static step step_of(const maker *m, int32_t k, int32_t far) {
    step s = {.j = joint_of(m, k), .far = far, .index = k};
    s.kind = scene_joint_kind(s.j.type);

    const double parent[7] = {s.j.parent_position[0],    s.j.parent_position[1],
                              s.j.parent_position[2],    s.j.parent_orientation[0],
                              s.j.parent_orientation[1], s.j.parent_orientation[2],
                              s.j.parent_orientation[3]};
    const double child[7] = {s.j.child_position[0],    s.j.child_position[1],
                             s.j.child_position[2],    s.j.child_orientation[0],
                             s.j.child_orientation[1], s.j.child_orientation[2],
                             s.j.child_orientation[3]};

    const bool forward = s.j.child == far;
    s.near = forward ? s.j.parent : s.j.child;
    s.sense = forward ? 1.0 : -1.0;
    memcpy(s.outer, forward ? parent : child, sizeof s.outer);
    memcpy(s.inner, forward ? child : parent, sizeof s.inner);
    return s;
}

/* Chooses the link's frame in its body: the named frame with the name of the body, or the joint's
   inner frame. Returns whether it lies on the joint's axis, as URDF requires. */
static bool choose_frame(maker *m, const step *s) {
    double *out = m->frame[s->far + 1];
    const double *own = m->own_pose[s->far + 1];
    double x[7];
    memcpy(out, own ? own : s->inner, sizeof s->inner);
    if (!own) return true;
    robot_pose_inverse(s->inner, x);
    robot_pose_mul(x, own, x);

    /* A rotation needs the frame on the axis; several axes need it at their intersection. */
    bool rotates = false;
    for (int32_t k = 0; k < s->kind.dof; ++k)
        rotates = rotates || s->kind.dof_kind[k] == SKEL_COORDINATE_ANGLE;
    if (rotates && (fabs(x[0]) > URDF_ON_AXIS_M || fabs(x[1]) > URDF_ON_AXIS_M)) return false;
    return !rotates || s->kind.has_axis || fabs(x[2]) <= URDF_ON_AXIS_M;
}

/* The type of URDF with the motion of the joint; -1: there is none. */
static int32_t type_of(const step *s) {
    for (int32_t k = 0; k < URDF_TYPE_COUNT; ++k) {
        const urdf_type *t = &urdf_types[k];
        if (t->is_standard && t->joint == s->j.type && t->dof == s->kind.dof) return k;
    }
    return -1;
}

/* Whether one joint of URDF represents the joint. If the joint has several axes, URDF must have its
   type. URDF has no limits for such a type, and other coordinates if the tree passes the joint
   backwards. */
static bool is_one_joint(const step *s) {
    if (s->kind.dof <= 1) return true;
    return type_of(s) >= 0 && !s->j.limits.is_set && s->sense > 0.0;
}

/* Limits of the drive. URDF requires a number even if they are not known. */
static void set_drive(const robot_drive *d, urdf_joint *j) {
    j->velocity = d && d->velocity > 0.0 ? d->velocity : URDF_NO_LIMIT;
    j->effort = d && d->effort > 0.0 ? d->effort : URDF_NO_LIMIT;
}

/* Type, limits, damping and mimic of a joint that has one axis of the step, or all of them. */
static void set_motion(const maker *m, const step *s, int32_t part, urdf_joint *j) {
    const robot_data *r = m->s->robot;
    const robot_drive *d = r && r->drives ? &r->drives[s->index] : NULL;
    const bool has_bounds = robot_has_range(&s->j, part);
    const bool is_length = s->kind.dof_kind[part] == SKEL_COORDINATE_LENGTH;

    if (s->j.friction > 0.0) {
        j->has_dynamics = true;
        j->damping = s->j.friction;
    }
    if (s->kind.dof > 1 && is_one_joint(s)) {
        j->type = type_of(s);
        return;
    }

    if (is_length)
        j->type = URDF_PRISMATIC;
    else
        j->type = has_bounds ? URDF_REVOLUTE : URDF_CONTINUOUS;

    /* URDF requires <limit> for a prismatic joint. */
    set_drive(d, j);
    j->has_limit = has_bounds || is_length || (d && (d->velocity > 0.0 || d->effort > 0.0));
    j->has_lower = has_bounds;
    j->has_upper = has_bounds;
    j->lower = has_bounds ? s->j.limits.low[part] : 0.0;
    j->upper = has_bounds ? s->j.limits.high[part] : 0.0;
    if (s->j.mimic.source < 0) return;

    j->mimic_name = skel_model_joint_name(m->model, s->j.mimic.source);
    j->factor = s->j.mimic.multiplier;
    j->offset = s->j.mimic.offset;
}

/* One hinge or slide along `axis` of the joint's frame. `from` and `to` are the frames of the two
   links, relative to the joint's frame. */
static void add_axis(maker *m, const step *s, int32_t part, const double axis[3],
                     const double from[7], const double to[7], const char *name, const char *near,
                     const char *far) {
    urdf_joint *j = new_joint(m, name, near, far);
    double x[7], back[7], z[3];
    if (!j) return;

    robot_pose_inverse(from, back);
    robot_pose_mul(back, to, x);
    put_pose(x, j->xyz, j->rpy);
    if (s->kind.dof == 0) return;

    /* URDF gives the axis in the frame of the child link. */
    for (int k = 0; k < 3; ++k) z[k] = s->sense * axis[k];
    scene_unrotate(to + 3, z, j->axis);
    j->has_axis = true;
    set_motion(m, s, part, j);
}

/* Adds a joint. If URDF has no type for its several axes, it becomes hinges and slides in series,
   with links without mass between them whose frame is the joint's. The last of them leads to the
   link `last`, whose frame in the far body is `frame`. */
static void add_joint(maker *m, const step *s, const double frame[7], const char *last) {
    static const double axes[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    const double identity[7] = {0, 0, 0, 1};
    const bool is_one = is_one_joint(s);
    const int32_t n = is_one ? 1 : s->kind.dof;
    double from[7], to[7];
    char name[300], before[300], after[300];

    /* The frames of both links, relative to the joint's frame. */
    robot_pose_inverse(s->outer, from);
    robot_pose_mul(from, m->frame[s->near + 1], from);
    robot_pose_inverse(s->inner, to);
    robot_pose_mul(to, frame, to);

    snprintf(before, sizeof before, "%s", link_name(m, s->near));
    for (int32_t k = 0; k < n; ++k) {
        const int32_t part = s->sense > 0.0 ? k : n - 1 - k;
        const double *axis = axes[is_one ? 2 : s->kind.dof_axis[part]];
        if (is_one)
            snprintf(name, sizeof name, "%s", s->j.name);
        else
            robot_part_name(&s->j, part, name, sizeof name);

        snprintf(after, sizeof after, "%s", k + 1 < n ? name : last);
        if (k + 1 < n) new_link(m, after);
        add_axis(m, s, part, axis, k == 0 ? from : identity, k + 1 < n ? identity : to, name,
                 before, after);
        snprintf(before, sizeof before, "%s", after);
    }
}

/* A link whose frame is not on the axis is fixed to a link without mass whose frame is. */
static void add_with_helper(maker *m, const step *s) {
    char helper[300], joint[320];
    double x[7];
    snprintf(helper, sizeof helper, "%s_link", s->j.name);
    snprintf(joint, sizeof joint, "%s_fixed", helper);
    new_link(m, helper);
    add_joint(m, s, s->inner, helper);

    urdf_joint *j = new_joint(m, joint, helper, link_name(m, s->far));
    robot_pose_inverse(s->inner, x);
    robot_pose_mul(x, m->frame[s->far + 1], x);
    if (j) put_pose(x, j->xyz, j->rpy);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Finds the named frames that have the name of their body. */
static void find_own_poses(maker *m) {
    const robot_data *r = m->s->robot;
    for (int32_t k = 0; r && k < r->frame_count; ++k) {
        const robot_frame *f = &r->frames[k];
        const double **own = &m->own_pose[f->body + 1];
        if (!*own && strcmp(f->name, link_name(m, f->body)) == 0) *own = f->pose;
    }
}

/* The frame of a root's link in its body: the named frame with its name, or the body's frame. */
static void root_frame(maker *m, int32_t i) {
    static const double identity[7] = {0, 0, 0, 1};
    const double *own = m->own_pose[i + 1];
    memcpy(m->frame[i + 1], own ? own : identity, sizeof identity);
}

static void root_pose(const maker *m, int32_t i, double x[7]) {
    const skel_body_desc b = body_of(m, i);
    memcpy(x, b.position, sizeof b.position);
    memcpy(x + 3, b.orientation, sizeof b.orientation);
    robot_pose_mul(x, m->frame[i + 1], x);
}

/* A root that is free, or not at the origin, needs a joint to the world. */
static bool needs_world(const maker *m, int32_t i) {
    double x[7];
    if (body_of(m, i).motion != SKEL_MOTION_FIXED) return true;
    root_pose(m, i, x);
    for (int k = 0; k < 7; ++k)
        if (k != 3 && fabs(x[k]) > URDF_AT_ORIGIN_TOL) return true;
    return false;
}

/* The roots are the fixed bodies, and one body of each part that is not connected to them or to the
   world: preferably one that is no child. */
static bool mark_roots(maker *m) {
    bool *is_reached = arena_alloc(m->u->arena, (size_t)m->nb + 1, sizeof *is_reached);
    bool *is_child = arena_alloc(m->u->arena, (size_t)m->nb + 1, sizeof *is_child);
    if (!is_reached || !is_child) return false;

    for (int32_t k = 0; k < m->graph.joint_count; ++k) is_child[m->graph.ends[k][1]] = true;
    robot_graph_reach(&m->graph, 0, is_reached);
    for (int32_t i = 0; i < m->nb; ++i) {
        if (body_of(m, i).motion != SKEL_MOTION_FIXED) continue;
        m->is_root[i + 1] = true;
        robot_graph_reach(&m->graph, i + 1, is_reached);
    }

    for (int pass = 0; pass < 2; ++pass)
        for (int32_t i = 0; i < m->nb; ++i) {
            if (is_reached[i + 1] || (pass == 0 && is_child[i + 1])) continue;
            m->is_root[i + 1] = true;
            robot_graph_reach(&m->graph, i + 1, is_reached);
        }
    return true;
}

static skel_status find_roots(maker *m, skel_error *err) {
    int32_t roots = 0;
    for (int32_t i = 0; i < m->nb; ++i) {
        const skel_body_desc b = body_of(m, i);
        if (b.motion == SKEL_MOTION_DRIVEN || b.position_curve.count > 0)
            return doc_error_say(err, SKEL_E_UNSUPPORTED,
                                 "bodies[%d]: '%.60s' is driven, which URDF cannot represent",
                                 (int)i, b.name);
    }

    /* The world is a link if a joint or a named frame refers to it, or a root needs it. */
    if (m->graph.first[1] > 0) m->has_world = true;
    for (int32_t i = 0; m->s->robot && i < m->s->robot->frame_count; ++i)
        if (m->s->robot->frames[i].body < 0) m->has_world = true;

    if (!mark_roots(m)) return SKEL_E_MEMORY;
    for (int32_t i = 0; i < m->nb; ++i) {
        if (!m->is_root[i + 1]) continue;
        root_frame(m, i);
        m->has_world = m->has_world || needs_world(m, i) || roots++ > 0;
    }
    if (m->has_world) add_link(m, SKEL_WORLD);
    return SKEL_OK;
}

static void add_root(maker *m, int32_t i) {
    double x[7];
    add_link(m, i);
    if (!m->has_world) return;

    urdf_joint *j = new_joint(m, link_name(m, i), "world", link_name(m, i));
    root_pose(m, i, x);
    if (j) put_pose(x, j->xyz, j->rpy);
    if (j && body_of(m, i).motion != SKEL_MOTION_FIXED) j->type = URDF_FLOATING;
}

/* Grows the tree joint by joint. A joint between two bodies that are already in it closes a loop.
   */
static skel_status grow(maker *m, skel_error *err) {
    robot_walk walk;
    if (!robot_walk_start(&walk, &m->graph, m->u->arena)) return SKEL_E_MEMORY;
    for (int32_t i = 0; i <= m->nb; ++i)
        if (m->has_link[i]) robot_walk_enter(&walk, i);

    for (int32_t k = robot_walk_next(&walk); k >= 0; k = robot_walk_next(&walk)) {
        const int32_t *ends = m->graph.ends[k];
        if (m->has_link[ends[0]] && m->has_link[ends[1]])
            return doc_error_say(err, SKEL_E_UNSUPPORTED,
                                 "joints[%d]: '%.60s' closes a loop, which URDF cannot represent",
                                 (int)k, skel_model_joint_name(m->model, k));

        const step s = step_of(m, k, (m->has_link[ends[0]] ? ends[1] : ends[0]) - 1);
        if (s.kind.dof == 1 && type_of(&s) < 0)
            return doc_error_say(err, SKEL_E_UNSUPPORTED,
                                 "joints[%d]: '%.60s' is a %s joint, which URDF cannot represent",
                                 (int)k, skel_model_joint_name(m->model, k), s.kind.name);
        const bool is_near = choose_frame(m, &s);
        add_link(m, s.far);
        if (is_near)
            add_joint(m, &s, m->frame[s.far + 1], link_name(m, s.far));
        else
            add_with_helper(m, &s);
        robot_walk_enter(&walk, s.far + 1);
    }

    for (int32_t i = 0; i < m->nb; ++i)
        if (!m->has_link[i + 1])
            return doc_error_say(
                err, SKEL_E_UNSUPPORTED,
                "bodies[%d]: '%.60s' is not connected to the root, a URDF is one tree", (int)i,
                link_name(m, i));
    return m->u->arena->failed ? SKEL_E_MEMORY : SKEL_OK;
}

/* Named frames become links without mass, unless a body has the same name. */
static void add_frames(maker *m) {
    const robot_data *r = m->s->robot;
    for (int32_t i = 0; r && i < r->frame_count; ++i) {
        const robot_frame *f = &r->frames[i];
        double x[7];
        char name[300];
        if (skel_model_find_body(m->model, f->name) >= SKEL_WORLD) continue;

        robot_pose_inverse(m->frame[f->body + 1], x);
        robot_pose_mul(x, f->pose, x);

        snprintf(name, sizeof name, "%s_frame", f->name);
        new_link(m, f->name);
        urdf_joint *j = new_joint(m, name, link_name(m, f->body), f->name);
        if (j) put_pose(x, j->xyz, j->rpy);
    }
}

skel_status urdf_make(const skel_scene *s, urdf_document *u, skel_error *err) {
    maker m = {.s = s, .model = s->model, .u = u, .nb = skel_model_body_count(s->model)};
    const size_t n = (size_t)m.nb + 1;
    u->name = s->name[0] ? s->name : "robot";
    m.is_root = arena_alloc(u->arena, n, sizeof *m.is_root);
    m.has_link = arena_alloc(u->arena, n, sizeof *m.has_link);
    m.frame = arena_alloc(u->arena, n, sizeof *m.frame);
    m.own_pose = arena_alloc(u->arena, n, sizeof *m.own_pose);
    if (!robot_graph_make(&m.graph, s->model, u->arena)) return SKEL_E_MEMORY;

    m.frame[0][3] = 1.0;
    find_own_poses(&m);
    skel_status status = find_roots(&m, err);
    for (int32_t i = 0; status == SKEL_OK && i < m.nb; ++i)
        if (m.is_root[i + 1]) add_root(&m, i);
    if (status == SKEL_OK) status = grow(&m, err);
    if (status == SKEL_OK) add_frames(&m);
    return status == SKEL_OK && u->arena->failed ? SKEL_E_MEMORY : status;
}
