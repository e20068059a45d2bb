/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics of the joint kinds whose coordinates do not all turn about one point: planar
   joints and screws. The judges are skel_fk, central differences, and the test's own
   arithmetic. */
#include "shared/humanoid.h"
#include "shared/ik.h"
#include "shared/near.h"
#include "shared/rng.h"
#include "shared/scenes.h"
#include "ik/ik.h"

#include <string.h>

#define CHAIN_BODIES 16
#define CHAIN_NUMBERS (8 * CHAIN_BODIES)
#define H 0.70710678118654752440

/* ---- chains ---- */

/* A chain of bodies in the making. Joint i attaches body i to the body before it. */
typedef struct chain_parts {
    skel_body_desc body[CHAIN_BODIES];
    skel_joint_desc joint[CHAIN_BODIES];
    int bodies, joints;
} chain_parts;

static void random_frame(rng *r, double size, double position[3], double orientation[4]) {
    double norm = 0;
    for (int k = 0; k < 3; ++k) position[k] = rng_range(r, -size, size);
    for (int k = 0; k < 4; ++k) orientation[k] = rng_range(r, -1, 1);
    for (int k = 0; k < 4; ++k) norm += orientation[k] * orientation[k];
    for (int k = 0; k < 4; ++k) orientation[k] /= sqrt(norm);
}

/* Adds a body and the joint that attaches it to the body before. If `reversed`, the joint leads
   from the new body to the one before, so that the tree passes it backwards. */
static skel_joint_desc *add_link(chain_parts *c, int32_t type, int reversed) {
    const int i = c->bodies++;
    const int32_t before = i > 0 ? i - 1 : SKEL_WORLD;
    skel_body_desc_init(&c->body[i]);
    c->body[i].unplaced = 1;
    c->body[i].mass = 1 + i;
    for (int k = 0; k < 3; ++k) c->body[i].inertia[k] = 1;

    skel_joint_desc *j = &c->joint[c->joints++];
    skel_joint_desc_init(j);
    j->type = type;
    j->parent = reversed ? i : before;
    j->child = reversed ? before : i;
    return j;
}

static skel_status try_model(const chain_parts *c, skel_model **out, skel_error *err) {
    skel_model_desc d;
    skel_model_desc_init(&d);
    d.bodies = c->body;
    d.body_count = (uint32_t)c->bodies;
    d.joints = c->joint;
    d.joint_count = (uint32_t)c->joints;
    skel_error_init(err);
    return skel_model_create(&d, out, err);
}

static skel_model *model_of(const chain_parts *c) {
    skel_model *m = NULL;
    skel_error err;
    scene_demand(try_model(c, &m, &err), &err);
    return m;
}

/* From 1 mm to 1 m per radian, right-handed or left-handed. */
static double random_pitch(rng *r) {
    return (rng_int(r, 2) ? 1 : -1) * pow(10, rng_range(r, -3, 0));
}

/* A chain of the given types with random frames and directions. */
static skel_model *random_chain(rng *r, const int32_t *types, int count) {
    chain_parts c = {0};
    for (int i = 0; i < count; ++i) {
        skel_joint_desc *j = add_link(&c, types[i], rng_int(r, 2));
        if (types[i] == SKEL_JOINT_SCREW) j->pitch = random_pitch(r);
        random_frame(r, 0.3, j->parent_position, j->parent_orientation);
        random_frame(r, 0.3, j->child_position, j->child_orientation);
    }
    return model_of(&c);
}

/* Random coordinates: displacements up to `far` [m], angles up to `turn` [rad]. */
static void random_q(rng *r, const skel_model *m, double far, double turn, double *q) {
    for (int32_t i = 0; i < m->nj; ++i) {
        const skel_joint_kind *kind = &skel__joint_kinds[m->joint[i].type];
        double *at = q + m->joint[i].q_offset;
        double position[3];
        if (kind->q_kind[0] == SKEL_COORDINATE_QUATERNION) {
            random_frame(r, 1, position, at);
            continue;
        }
        for (int k = 0; k < kind->q_count; ++k) {
            const double most = kind->q_kind[k] == SKEL_COORDINATE_LENGTH ? far : turn;
            at[k] = rng_range(r, -most, most);
        }
    }
}

/* Distance and angle of body `body` at q from the pose `want`, by forward kinematics. */
static void pose_error(const skel_model *m, const double *q, int32_t body, const double *want,
                       double *distance, double *angle) {
    double poses[7 * CHAIN_BODIES];
    ck_assert_int_eq(skel_fk(m, q, poses), SKEL_OK);
    const double *at = poses + 7 * body;
    *distance = v3_norm(v3_sub(v3_of(at), v3_of(want)));
    *angle = v3_norm(q_log(q_mul(q_of(want + 3), q_conj(q_of(at + 3)))));
}

static skel_goal_desc place_goal(int32_t body, const double *pose7) {
    skel_goal_desc g = goal_of(body);
    g.parts = SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION;
    memcpy(g.position, pose7, sizeof g.position);
    memcpy(g.orientation, pose7 + 3, sizeof g.orientation);
    return g;
}

/* ---- laws of the nodes ---- */

/* The types of the random chains: all kinds meet all others. */
static const int32_t k_mixed[8][6] = {
    {SKEL_JOINT_PLANAR, SKEL_JOINT_HINGE, SKEL_JOINT_HINGE, SKEL_JOINT_UNIVERSAL},
    {SKEL_JOINT_HINGE, SKEL_JOINT_PLANAR, SKEL_JOINT_SLIDE, SKEL_JOINT_HINGE, SKEL_JOINT_HINGE},
    {SKEL_JOINT_BALL, SKEL_JOINT_PLANAR, SKEL_JOINT_PLANAR},
    {SKEL_JOINT_SLIDE, SKEL_JOINT_UNIVERSAL, SKEL_JOINT_PLANAR, SKEL_JOINT_FIXED, SKEL_JOINT_HINGE},
    {SKEL_JOINT_SCREW, SKEL_JOINT_SCREW, SKEL_JOINT_SCREW},
    {SKEL_JOINT_SCREW, SKEL_JOINT_HINGE, SKEL_JOINT_BALL, SKEL_JOINT_SLIDE},
    {SKEL_JOINT_PLANAR, SKEL_JOINT_SCREW, SKEL_JOINT_UNIVERSAL, SKEL_JOINT_SCREW},
    {SKEL_JOINT_HINGE, SKEL_JOINT_BALL, SKEL_JOINT_SCREW},
};

/* Number of joints of a row; a fixed joint is never the last. */
static int count_types(const int32_t *types) {
    int count = 6;
    while (count > 0 && types[count - 1] == SKEL_JOINT_FIXED) --count;
    return count;
}

/* At the coordinates that gave the targets, no goal has an error. */
START_TEST(nodes_have_the_kinematics_of_the_model) {
    rng r = rng_seed((uint64_t)_i + 1);
    for (int k = 0; k < 40; ++k) {
        skel_model *m = random_chain(&r, k_mixed[_i], count_types(k_mixed[_i]));
        double q[CHAIN_NUMBERS] = {0}, poses[7 * CHAIN_BODIES];
        random_q(&r, m, 2, 12, q);
        ck_assert_int_eq(skel_fk(m, q, poses), SKEL_OK);

        skel_goal_desc g[CHAIN_BODIES];
        for (int32_t i = 0; i < m->nb; ++i) g[i] = place_goal(i, poses + 7 * i);
        const skel_ik_desc d = desc_of(m, g, (uint32_t)m->nb);
        skel_ik *ik = make(&d);
        memcpy(ik->iterate.x, q, (size_t)m->nq * sizeof *q);
        skel__ik_errors(ik, ik->iterate.x, ik->size.rows);
        near1(ik->result.residual, 0, 1e-12);

        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

static double cost_at(skel_ik *ik, const double *y) {
    double x[CHAIN_NUMBERS];
    skel__ik_step_beyond(ik, ik->iterate.x, y, x);
    return 0.5 * skel__ik_errors(ik, x, ik->size.rows);
}

/* d cost / dy against central differences, and the Hessian against those of second order. */
static void check_derivatives(skel_ik *ik, int has_hessian) {
    const double h1 = 1e-5, h2 = 1e-4;
    const int32_t n = ik->size.columns, rows = ik->size.rows;
    double y[CHAIN_NUMBERS] = {0};

    /* Steps of one metre or one radian, whatever the units of the columns are. */
    for (int32_t c = 0; c < n; ++c) ik->problem.column_scale[c] = 1;
    skel__ik_scale_mimics(ik);

    skel__ik_errors(ik, ik->iterate.x, rows);
    skel__ik_jacobian(ik, rows);
    skel__ik_hessian(ik, rows);
    double gradient[CHAIN_NUMBERS] = {0};
    for (int32_t c = 0; c < n; ++c)
        for (int32_t row = 0; row < rows; ++row)
            gradient[c] -= ik->iterate.jacobian_t[c * rows + row] * ik->iterate.e[row];

    for (int32_t i = 0; i < n; ++i) {
        y[i] = h1;
        const double up = cost_at(ik, y);
        y[i] = -h1;
        const double down = cost_at(ik, y);
        y[i] = 0;
        near1((up - down) / (2 * h1), gradient[i], 1e-7 * (1 + fabs(gradient[i])));

        for (int32_t j = 0; has_hessian && j <= i; ++j) {
            double v[4];
            for (int corner = 0; corner < 4; ++corner) {
                y[i] += corner & 1 ? h2 : -h2;
                y[j] += corner & 2 ? h2 : -h2;
                v[corner] = cost_at(ik, y);
                y[i] = 0;
                y[j] = 0;
            }
            const double want = ik->step.hessian[i * n + j];
            near1((v[3] - v[1] - v[2] + v[0]) / (4 * h2 * h2), want, 4e-6 * (1 + fabs(want)));
        }
    }
}

/* A goal of the kind k for the last body, at a random target. */
static skel_goal_desc random_goal(rng *r, const skel_model *m, int k) {
    double pose7[7];
    random_frame(r, 1, pose7, pose7 + 3);
    skel_goal_desc g = place_goal(m->nb - 1, pose7);
    for (int a = 0; a < 3; ++a) g.point[a] = rng_range(r, -0.3, 0.3);

    if (k == 1) g.parts = SKEL_GOAL_X | SKEL_GOAL_Z;
    if (k == 2) g.kind = SKEL_GOAL_AIM;
    if (k == 3) g.kind = SKEL_GOAL_CENTRE;
    if (k == 4) {
        g.kind = SKEL_GOAL_POLE;
        g.body = m->nb > 1 ? m->nb - 2 : 0;
        g.to = m->nb - 1;
        g.to_point[1] = 0.7;
    }
    if (k == 5) g.relative_to = 0;
    return g;
}

START_TEST(derivatives_are_those_of_the_errors) {
    rng r = rng_seed((uint64_t)_i + 11);
    for (int k = 0; k < 48; ++k) {
        skel_model *m = random_chain(&r, k_mixed[_i], count_types(k_mixed[_i]));
        const skel_goal_desc g = random_goal(&r, m, k % 6);
        const skel_ik_desc d = desc_of(m, &g, 1);
        skel_ik *ik = make(&d);
        random_q(&r, m, 1, 2, ik->iterate.x);
        check_derivatives(ik, k % 6 < 2);
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

/* ---- a mobile robot ---- */

/* A base that moves in the plane and an arm of 6 hinges on it. */
static void mobile_parts(int reversed, chain_parts *c) {
    static const double axis[3][4] = {{1, 0, 0, 0}, {H, H, 0, 0}, {H, 0, H, 0}};
    memset(c, 0, sizeof *c);
    add_link(c, SKEL_JOINT_PLANAR, reversed);
    for (int i = 0; i < 6; ++i) {
        skel_joint_desc *j = add_link(c, SKEL_JOINT_HINGE, 0);
        memcpy(j->parent_orientation, axis[i % 3], sizeof axis[0]);
        memcpy(j->child_orientation, axis[i % 3], sizeof axis[0]);
        j->parent_position[2] = 0.3;
        j->limits.is_set = 1;
        j->limits.low[0] = -2;
        j->limits.high[0] = 2;
    }
}

/* Sets the limits of x and y of the base. */
static void limit_base(chain_parts *c, double most) {
    skel_joint_limits *l = &c->joint[0].limits;
    l->is_set = 1;
    for (int k = 0; k < 2; ++k) {
        l->low[k] = -most;
        l->high[k] = (k + 1) * most;
    }
}

/* The tip reaches every pose that some coordinates give it, from the middle of the room. */
START_TEST(mobile_robots_reach_what_they_can) {
    rng r = rng_seed((uint64_t)_i + 3);
    const int reversed = _i & 1, has_limits = _i & 2;
    chain_parts c;
    mobile_parts(reversed, &c);
    if (has_limits) limit_base(&c, 1.5);
    skel_model *m = model_of(&c);
    const skel_goal_desc g = place_goal(6, (double[7]){0, 0, 0, 1});
    const skel_ik_desc d = desc_of(m, &g, 1);
    skel_ik *ik = make(&d);

    for (int k = 0; k < 100; ++k) {
        double want[CHAIN_NUMBERS], q[CHAIN_NUMBERS] = {0}, poses[7 * CHAIN_BODIES], distance,
                                    angle;
        random_q(&r, m, has_limits ? 1.5 : 8, 1.9, want);
        want[2] = rng_range(&r, -3, 3);
        ck_assert_int_eq(skel_fk(m, want, poses), SKEL_OK);
        skel_ik_set_target(ik, 0, poses + 42, poses + 45);

        const skel_ik_receipt receipt = solve(ik, q);
        ck_assert_msg(receipt.reached, "target %d: %g", k, receipt.residual);
        ck_assert(limits_broken(m, q) <= 0);
        pose_error(m, q, 6, poses + 42, &distance, &angle);
        ck_assert(distance <= 1e-5 && angle <= 1e-5);
    }
    skel_ik_destroy(ik);
    skel_model_destroy(m);
}
END_TEST

/* Beyond its limits the base stops at them; its angle has none. */
START_TEST(limits_hold_the_base) {
    const int reversed = _i;
    chain_parts c = {0};
    add_link(&c, SKEL_JOINT_PLANAR, reversed);
    limit_base(&c, 0.5);
    skel_model *m = model_of(&c);
    skel_goal_desc g = goal_of(0);
    const skel_ik_desc d = desc_of(m, &g, 1);
    skel_ik *ik = make(&d);

    const double target[3] = {5, 7, 0};
    double q[3] = {0};
    int32_t active[3];
    skel_ik_set_target(ik, 0, target, NULL);
    const skel_ik_receipt receipt = solve(ik, q);
    ck_assert_int_eq(skel_ik_get_active(ik, active), SKEL_OK);
    ck_assert(limits_broken(m, q) <= 0);
    ck_assert_int_eq(receipt.active_limits, active[0] + active[1]);
    ck_assert_int_eq(active[2], 0);

    /* The nearest point: of the rectangle, or of all that its rotations sweep if it is reversed. */
    const double near_x = reversed ? 0 : 0.5, near_y = reversed ? 0 : 1;
    double want = sqrt((5 - near_x) * (5 - near_x) + (7 - near_y) * (7 - near_y));
    if (reversed) want -= sqrt(0.5 * 0.5 + 1);
    near1(receipt.residual, want, 1e-6);
    skel_ik_destroy(ik);
    skel_model_destroy(m);
}
END_TEST

/* A stiffness of 1 holds one velocity and leaves the others; so does max_step. */
START_TEST(every_velocity_has_its_own_stiffness) {
    for (int held = 0; held < 3; ++held) {
        chain_parts c;
        mobile_parts(held & 1, &c);
        skel_model *m = model_of(&c);
        double stiffness[CHAIN_NUMBERS] = {0}, q[CHAIN_NUMBERS] = {0};
        stiffness[held] = 1;
        skel_goal_desc g = goal_of(6);
        g.position[0] = 3;
        g.position[1] = -2;
        g.position[2] = 1;
        skel_ik_desc d = desc_of(m, &g, 1);
        d.stiffness = stiffness;
        skel_ik *ik = make(&d);
        q[held] = 0.25;
        solve(ik, q);
        ck_assert(q[held] == 0.25);
        for (int k = 0; k < 3; ++k)
            if (k != held) ck_assert(q[k] != 0);
        skel_ik_destroy(ik);

        double step[CHAIN_NUMBERS] = {0.1, 0.1, 0.1};
        step[held] = 0.01;
        d.stiffness = NULL;
        d.max_step = step;
        d.mode = SKEL_IK_TRACK;
        ik = make(&d);
        for (int frame = 0; frame < 20; ++frame) {
            double before[CHAIN_NUMBERS];
            memcpy(before, q, sizeof before);
            solve(ik, q);
            for (int k = 0; k < 3; ++k) ck_assert(fabs(q[k] - before[k]) <= step[k] + 1e-15);
        }
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

/* A planar joint counts as one joint of a chain, and a list of joints moves all of it or none. */
START_TEST(a_planar_joint_is_one_joint) {
    const int reversed = _i;
    chain_parts c;
    mobile_parts(reversed, &c);
    skel_model *m = model_of(&c);
    for (int depth = 1; depth <= 8; ++depth) {
        double q[CHAIN_NUMBERS], start[CHAIN_NUMBERS];
        const int32_t only_base = 0;
        for (int32_t k = 0; k < m->nq; ++k) start[k] = 0.1 * (k + 1);
        memcpy(q, start, sizeof q);
        skel_goal_desc g = goal_of(6);
        g.position[0] = 1;
        g.position[1] = 0.7;
        g.point[0] = 0.1; /* off all axes */
        g.point[1] = 0.2;
        g.point[2] = 0.3;
        if (depth <= 7) g.chain_depth = depth;
        g.joints = depth == 8 ? &only_base : NULL;
        g.joint_count = depth == 8;
        const skel_ik_desc d = desc_of(m, &g, 1);
        skel_ik *ik = make(&d);
        solve(ik, q);

        for (int32_t k = 0; k < m->nq; ++k) {
            const int joint = k < 3 ? 0 : k - 2;
            const int may_move = depth == 8 ? joint == 0 : joint > 6 - depth;
            ck_assert_msg(may_move == (q[k] != start[k]), "coordinate %d, depth %d", k, depth);
        }
        skel_ik_destroy(ik);
    }
    skel_model_destroy(m);
}
END_TEST

START_TEST(planar_joints_do_not_mimic) {
    for (int k = 0; k < 2; ++k) {
        chain_parts c = {0};
        skel_model *m = NULL;
        skel_error err;
        add_link(&c, k ? SKEL_JOINT_PLANAR : SKEL_JOINT_HINGE, 0);
        add_link(&c, k ? SKEL_JOINT_HINGE : SKEL_JOINT_PLANAR, 0);
        c.joint[1].mimic.source = 0;
        ck_assert_int_eq(try_model(&c, &m, &err), SKEL_E_JOINT);
        ck_assert_ptr_null(m);
        ck_assert_msg(strstr(err.text, "is a planar joint") != NULL, "%s", err.text);
    }
}
END_TEST

/* ---- motions ---- */

#define TRACK_SAMPLES 240

/* The tip follows a path that leads far beyond the arm: no sample is lost, and nothing jumps. */
START_TEST(mobile_robots_track) {
    static double position[3 * TRACK_SAMPLES], orientation[4 * TRACK_SAMPLES];
    chain_parts c;
    mobile_parts(_i & 1, &c);
    if (_i & 2) limit_base(&c, 40);
    skel_model *m = model_of(&c);
    double seed[CHAIN_NUMBERS] = {0, 0, 0, 0.3, 0.5, -0.6, 0.2, 0.4, 0.3}, poses[7 * CHAIN_BODIES];
    ck_assert_int_eq(skel_fk(m, seed, poses), SKEL_OK);

    /* A circle with a radius of 2 m that starts at the tip, and a turn about z. */
    for (int k = 0; k < TRACK_SAMPLES; ++k) {
        const double phase = SKEL__TURN * k / TRACK_SAMPLES;
        position[3 * k] = poses[42] + 2 * sin(phase);
        position[3 * k + 1] = poses[43] + 2 * (1 - cos(phase));
        position[3 * k + 2] = poses[44] + 0.1 * sin(3 * phase);
        q_to(q_mul(q_exp((v3){0, 0, phase}), q_of(poses + 45)), orientation + 4 * k);
    }

    const skel_goal_desc g = place_goal(6, poses + 42);
    skel_ik_desc d = desc_of(m, &g, 1);
    d.mode = SKEL_IK_TRACK;
    const skel_goal_track track = {.positions = position,
                                   .orientations = orientation,
                                   .position_count = TRACK_SAMPLES,
                                   .orientation_count = TRACK_SAMPLES};
    skel_ik_motion_desc desc;
    skel_ik_motion_desc_init(&desc);
    desc.ik = &d;
    desc.tracks = &track;
    desc.sample_count = TRACK_SAMPLES;
    desc.seed = seed;
    skel_ik_motion *motion;
    ck_assert_int_eq(skel_ik_motion_start(&desc, &motion, NULL), SKEL_OK);
    ck_assert_int_eq(skel_ik_motion_advance(motion, -1), SKEL_OK);

    ck_assert_int_eq(skel_ik_motion_jump_count(motion), 0);
    for (int k = 0; k < TRACK_SAMPLES; ++k) {
        const double *q = skel_ik_motion_q(motion) + (size_t)k * (size_t)m->nq;
        double want[7], distance, angle;
        memcpy(want, position + 3 * k, 3 * sizeof *want);
        memcpy(want + 3, orientation + 4 * k, 4 * sizeof *want);
        pose_error(m, q, 6, want, &distance, &angle);
        ck_assert_msg(distance <= 1e-5 && angle <= 1e-5, "sample %d: %g m", k, distance);
        ck_assert(limits_broken(m, q) <= 0);
    }
    skel_ik_motion_destroy(motion);
    skel_model_destroy(m);
}
END_TEST

/* ---- loops ---- */

#define LOOP_HINGES 8

/* A chain of hinges with a joint of the type and pitch of `law` between its last body and the
   world. If `reversed`, the joint leads from the body to the world. At q0 (of the tree) its
   coordinates are `closed`. */
static skel_model *closed_chain(rng *r, const skel__joint *law, int reversed, const double *closed,
                                double *q0) {
    chain_parts c = {0};
    for (int i = 0; i < LOOP_HINGES; ++i) {
        skel_joint_desc *j = add_link(&c, SKEL_JOINT_HINGE, rng_int(r, 2));
        random_frame(r, 0.4, j->parent_position, j->parent_orientation);
        random_frame(r, 0.4, j->child_position, j->child_orientation);
        j->q[0] = rng_range(r, -1, 1);
        q0[i] = j->q[0];
    }
    skel_model *open = model_of(&c);
    double poses[7 * CHAIN_BODIES];
    ck_assert_int_eq(skel_fk(open, q0, poses), SKEL_OK);
    skel_model_destroy(open);

    /* outer motion = inner: the frame in the world follows from the one in the body. */
    const double *last = poses + 7 * (LOOP_HINGES - 1);
    const pose body = {v3_of(last), q_of(last + 3)};
    double position[3], orientation[4];
    random_frame(r, 0.4, position, orientation);
    const pose at_body = pose_mul(body, (pose){v3_of(position), q_of(orientation)});
    const pose moved = skel__joint_pose(law, closed);
    const pose at_world = pose_mul(at_body, reversed ? moved : pose_inverse(moved));

    skel_joint_desc *loop = &c.joint[c.joints++];
    skel_joint_desc_init(loop);
    loop->type = law->type;
    loop->pitch = law->pitch;
    memcpy(loop->q, closed, (size_t)skel__joint_kinds[law->type].q_count * sizeof *closed);
    loop->parent = reversed ? LOOP_HINGES - 1 : SKEL_WORLD;
    loop->child = reversed ? SKEL_WORLD : LOOP_HINGES - 1;
    double *in_body = reversed ? loop->parent_position : loop->child_position;
    double *turn_body = reversed ? loop->parent_orientation : loop->child_orientation;
    double *in_world = reversed ? loop->child_position : loop->parent_position;
    double *turn_world = reversed ? loop->child_orientation : loop->parent_orientation;
    memcpy(in_body, position, sizeof position);
    memcpy(turn_body, orientation, sizeof orientation);
    v3_to(at_world.p, in_world);
    q_to(q_unit(at_world.q), turn_world);
    return model_of(&c);
}

/* The frames of the loop joint of m differ by the motion at its coordinates, by nothing else. */
static void check_closed(const skel_model *m, const double *q, double bound) {
    double poses[7 * CHAIN_BODIES];
    ck_assert_int_eq(skel_fk(m, q, poses), SKEL_OK);
    const skel__joint *j = &m->joint[m->loop[0]];
    pose frame[2];
    for (int side = 0; side < 2; ++side) {
        const int32_t body = side ? j->b : j->a;
        const double *at = poses + 7 * (body < 0 ? 0 : body);
        const pose of = {v3_of(at), q_of(at + 3)}, own = side ? j->fb : j->fa;
        frame[side] = body < 0 ? own : pose_mul(of, own);
    }
    const pose by_law = pose_mul(frame[0], skel__joint_pose(j, q + j->q_offset));
    near1(v3_norm(v3_sub(by_law.p, frame[1].p)), 0, bound);
    near1(v3_norm(q_log(q_mul(by_law.q, q_conj(frame[1].q)))), 0, bound);
}

/* All results are closed. A target that is reached from q0 is reached from the open chain at zero,
   too. Targets out of reach do not count, because the nearest poses lie on the border of the
   workspace. */
static void reach_in_loop(rng *r, skel_model *m, const double *q0, int *targets, int *reached) {
    const skel_goal_desc g = goal_of(3);
    const skel_ik_desc d = desc_of(m, &g, 1);
    skel_ik *ik = make(&d);
    double q[CHAIN_NUMBERS] = {0}, zero[CHAIN_NUMBERS] = {0}, poses[7 * CHAIN_BODIES];
    memcpy(q, q0, LOOP_HINGES * sizeof *q);
    ck_assert_int_eq(skel_fk(m, q, poses), SKEL_OK);

    double target[3];
    for (int k = 0; k < 3; ++k) target[k] = poses[21 + k] + rng_range(r, -0.2, 0.2);
    skel_ik_set_target(ik, 0, target, NULL);
    const skel_ik_receipt from_closed = solve(ik, q);
    check_closed(m, q, 2e-5);
    const skel_ik_receipt from_zero = solve(ik, zero);
    check_closed(m, zero, 2e-5);

    *targets += from_closed.reached;
    *reached += from_closed.reached && from_zero.reached;
    skel_ik_destroy(ik);
}

START_TEST(planar_loops_close) {
    rng r = rng_seed((uint64_t)_i + 21);
    int targets = 0, reached = 0;
    for (int k = 0; k < 20; ++k) {
        double q0[CHAIN_NUMBERS];
        const double closed[3] = {rng_range(&r, -1, 1), rng_range(&r, -1, 1), rng_range(&r, -3, 3)};
        const skel__joint law = {.type = SKEL_JOINT_PLANAR};
        skel_model *m = closed_chain(&r, &law, _i, closed, q0);
        reach_in_loop(&r, m, q0, &targets, &reached);
        skel_model_destroy(m);
    }
    ck_assert_int_gt(targets, 10);
    ck_assert_int_eq(reached, targets);
}
END_TEST

/* ---- screws ---- */

/* A screw alone: position and orientation tell the coordinate, over any number of turns. */
START_TEST(a_screw_counts_its_turns) {
    rng r = rng_seed((uint64_t)_i + 31);
    for (int k = 0; k < 100; ++k) {
        chain_parts c = {0};
        skel_joint_desc *j = add_link(&c, SKEL_JOINT_SCREW, _i & 1);
        j->pitch = random_pitch(&r);
        skel_model *m = model_of(&c);
        const double want = rng_range(&r, -100, 100);
        double q = rng_range(&r, -100, 100), poses[7];
        ck_assert_int_eq(skel_fk(m, &want, poses), SKEL_OK);

        skel_goal_desc g = place_goal(0, poses);
        if (_i & 2) g.parts = SKEL_GOAL_POSITION;
        const skel_ik_desc d = desc_of(m, &g, 1);
        skel_ik *ik = make(&d);
        const skel_ik_receipt receipt = solve(ik, &q);
        ck_assert_msg(receipt.reached, "pitch %g, want %g, q %g", j->pitch, want, q);
        near1(q, want, 1e-5 / fabs(j->pitch));
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

/* An arm on a screw reaches what it can, within limits of many turns. */
START_TEST(arms_on_screws_reach_what_they_can) {
    static const double pitches[6] = {1e-9, 0.002, -0.02, 0.2, 1, 1e9};
    rng r = rng_seed((uint64_t)_i + 41);
    const int reversed = _i & 1, has_limits = _i & 2;
    int reached = 0;
    chain_parts c;
    mobile_parts(reversed, &c);
    c.joint[0].type = SKEL_JOINT_SCREW;
    c.joint[0].pitch = pitches[_i / 4];
    c.joint[0].limits.is_set = has_limits;
    c.joint[0].limits.low[0] = 20;
    c.joint[0].limits.high[0] = 80;
    skel_model *m = model_of(&c);
    const skel_goal_desc g = place_goal(6, (double[7]){0, 0, 0, 1});
    const skel_ik_desc d = desc_of(m, &g, 1);
    skel_ik *ik = make(&d);

    for (int k = 0; k < 100; ++k) {
        double want[CHAIN_NUMBERS], q[CHAIN_NUMBERS] = {0}, poses[7 * CHAIN_BODIES];
        double distance, angle;
        random_q(&r, m, 1, 1.9, want);
        want[0] = has_limits ? rng_range(&r, 20, 80) : rng_range(&r, -60, 60);
        ck_assert_int_eq(skel_fk(m, want, poses), SKEL_OK);
        skel_ik_set_target(ik, 0, poses + 42, poses + 45);

        const skel_ik_receipt receipt = solve(ik, q);
        reached += receipt.reached;
        ck_assert(limits_broken(m, q) <= 0);
        pose_error(m, q, 6, poses + 42, &distance, &angle);
        ck_assert_int_eq(receipt.reached, distance <= 1e-5 && angle <= 1e-5);
    }
    ck_assert_msg(reached == 100, "pitch %g: %d of 100", pitches[_i / 4], reached);
    skel_ik_destroy(ik);
    skel_model_destroy(m);
}
END_TEST

/* A motion along the axis, of the nut of a fine thread over many turns or of an arm on a coarse
   one: no sample is lost and nothing jumps. */
START_TEST(screws_track) {
    static double position[3 * TRACK_SAMPLES];
    const int is_fine = _i & 2;
    const int32_t body = is_fine ? 0 : 6;
    chain_parts c;
    mobile_parts(_i & 1, &c);
    c.joint[0].type = SKEL_JOINT_SCREW;
    c.joint[0].pitch = is_fine ? -0.01 : 0.3;
    skel_model *m = model_of(&c);
    double seed[CHAIN_NUMBERS] = {0.2, 0.3, 0.5, -0.6, 0.2, 0.4, 0.3}, poses[7 * CHAIN_BODIES];
    ck_assert_int_eq(skel_fk(m, seed, poses), SKEL_OK);
    for (int k = 0; k < TRACK_SAMPLES; ++k) {
        const double phase = SKEL__TURN * k / TRACK_SAMPLES, aside = is_fine ? 0 : 0.1;
        position[3 * k] = poses[7 * body] + aside * sin(2 * phase);
        position[3 * k + 1] = poses[7 * body + 1] + aside * sin(phase);
        position[3 * k + 2] = poses[7 * body + 2] + 1.5 * (1 - cos(phase));
    }

    const skel_goal_desc g = goal_of(body);
    skel_ik_desc d = desc_of(m, &g, 1);
    d.mode = SKEL_IK_TRACK;
    const skel_goal_track track = {.positions = position, .position_count = TRACK_SAMPLES};
    skel_ik_motion_desc desc;
    skel_ik_motion_desc_init(&desc);
    desc.ik = &d;
    desc.tracks = &track;
    desc.sample_count = TRACK_SAMPLES;
    desc.seed = seed;
    skel_ik_motion *motion;
    ck_assert_int_eq(skel_ik_motion_start(&desc, &motion, NULL), SKEL_OK);
    ck_assert_int_eq(skel_ik_motion_advance(motion, -1), SKEL_OK);

    ck_assert_int_eq(skel_ik_motion_jump_count(motion), 0);
    for (int k = 0; k < TRACK_SAMPLES; ++k) {
        const double *q = skel_ik_motion_q(motion) + (size_t)k * (size_t)m->nq;
        double want[7] = {0, 0, 0, 1}, distance, angle;
        memcpy(want, position + 3 * k, 3 * sizeof *want);
        pose_error(m, q, body, want, &distance, &angle);
        ck_assert_msg(distance <= 1e-5, "sample %d: %g m, q %g", k, distance, q[0]);
        ck_assert(limits_broken(m, q) <= 0);
    }
    skel_ik_motion_destroy(motion);
    skel_model_destroy(m);
}
END_TEST

/* Screws that follow other joints and lead them. */
static skel_model *mimic_chain(rng *r) {
    static const int32_t types[7] = {SKEL_JOINT_SCREW, SKEL_JOINT_HINGE, SKEL_JOINT_SCREW,
                                     SKEL_JOINT_SLIDE, SKEL_JOINT_HINGE, SKEL_JOINT_HINGE,
                                     SKEL_JOINT_SCREW};
    chain_parts c = {0};
    for (int i = 0; i < 7; ++i) {
        skel_joint_desc *j = add_link(&c, types[i], rng_int(r, 2));
        if (types[i] == SKEL_JOINT_SCREW) j->pitch = rng_range(r, 0.02, 0.2);
        random_frame(r, 0.3, j->parent_position, j->parent_orientation);
        random_frame(r, 0.3, j->child_position, j->child_orientation);
    }
    c.joint[2].mimic.source = 1; /* a screw follows a hinge */
    c.joint[3].mimic.source = 0; /* a slide follows a screw */
    c.joint[6].mimic.source = 0; /* a screw follows a screw */
    c.joint[2].mimic.multiplier = -2.5;
    c.joint[3].mimic.multiplier = 0.1;
    c.joint[6].mimic.multiplier = 0.5;
    c.joint[6].mimic.offset = 0.3;
    return model_of(&c);
}

START_TEST(screws_mimic_and_are_mimicked) {
    rng r = rng_seed((uint64_t)_i + 51);
    for (int k = 0; k < 25; ++k) {
        skel_model *m = mimic_chain(&r);
        double want[CHAIN_NUMBERS] = {0}, q[CHAIN_NUMBERS] = {0}, poses[7 * CHAIN_BODIES];
        double distance, angle;
        random_q(&r, m, 1, 3, want);
        ck_assert_int_eq(skel_model_apply_mimic(m, want), SKEL_OK);
        ck_assert_int_eq(skel_fk(m, want, poses), SKEL_OK);

        /* Of 7 joints 4 move by themselves, so only the position has a solution in general. */
        skel_goal_desc g = goal_of(6);
        memcpy(g.position, poses + 42, sizeof g.position);
        skel_ik_desc d = desc_of(m, &g, 1);
        skel_ik *ik = make(&d);
        ck_assert_int_eq(solve(ik, q).reached, 1);
        pose_error(m, q, 6, poses + 42, &distance, &angle);
        ck_assert(distance <= 1e-5);
        near1(q[2], -2.5 * q[1], 1e-12 * (1 + fabs(q[1])));
        near1(q[3], 0.1 * q[0], 1e-12 * (1 + fabs(q[0])));
        near1(q[6], 0.5 * q[0] + 0.3, 1e-12 * (1 + fabs(q[0])));
        skel_ik_destroy(ik);

        g = random_goal(&r, m, k % 6);
        ik = make(&d);
        random_q(&r, m, 1, 2, ik->iterate.x);
        skel__mimic_apply(m, ik->iterate.x);
        check_derivatives(ik, k % 6 < 2);
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

/* The limits of a follower over several turns hold its source. */
START_TEST(limits_of_screws_count_turns) {
    for (int side = 0; side < 2; ++side) {
        chain_parts c = {0};
        skel_joint_desc *j = add_link(&c, SKEL_JOINT_SCREW, side);
        j->pitch = 0.1;
        j->limits.is_set = 1;
        j->limits.low[0] = 4;
        j->limits.high[0] = 40;
        add_link(&c, SKEL_JOINT_SCREW, 0);
        c.joint[1].pitch = 1;
        c.joint[1].limits.is_set = 1;
        c.joint[1].limits.low[0] = -60;
        c.joint[1].limits.high[0] = 60;
        c.joint[1].mimic.source = 0;
        c.joint[1].mimic.multiplier = 2;
        skel_model *m = model_of(&c);

        /* The follower stops the source at 30 rad; the lower limit is the source's own. */
        for (int end = 0; end < 2; ++end) {
            const double most = end ? 30 : 4, sign = side ? -1 : 1;
            const double target[3] = {0, 0, sign * (end ? 50 : -50)};
            double q[2] = {end ? 5 : 29, 0};
            const skel_goal_desc g = goal_of(0);
            const skel_ik_desc d = desc_of(m, &g, 1);
            skel_ik *ik = make(&d);
            skel_ik_set_target(ik, 0, target, NULL);
            const skel_ik_receipt receipt = solve(ik, q);
            near1(q[0], most, 1e-9);
            near1(q[1], 2 * most, 1e-9);
            near1(receipt.residual, fabs(target[2] - sign * 0.1 * most), 1e-9);
            ck_assert_int_eq(receipt.active_limits, 1);
            skel_ik_destroy(ik);
        }
        skel_model_destroy(m);
    }
}
END_TEST

START_TEST(screw_loops_close) {
    rng r = rng_seed((uint64_t)_i + 61);
    int targets = 0, reached = 0;
    for (int k = 0; k < 20; ++k) {
        double q0[CHAIN_NUMBERS];
        const skel__joint law = {.type = SKEL_JOINT_SCREW, .pitch = random_pitch(&r)};
        const double closed = rng_range(&r, -20, 20);
        skel_model *m = closed_chain(&r, &law, _i & 1, &closed, q0);
        reach_in_loop(&r, m, q0, &targets, &reached);

        /* The row of the thread, away from the closed poses. */
        const skel_goal_desc g = goal_of(3);
        const skel_ik_desc d = desc_of(m, &g, 1);
        skel_ik *ik = make(&d);
        random_q(&r, m, 1, 2, ik->iterate.x);
        check_derivatives(ik, 0);
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
    ck_assert_int_gt(targets, 10);
    ck_assert_int_eq(reached, targets);
}
END_TEST

/* A vise: a spindle that turns in the world, a jaw that slides, and the thread between them. Jaw
   and spindle agree, and the coordinate of the thread counts all turns. */
START_TEST(a_spindle_moves_the_jaw) {
    rng r = rng_seed((uint64_t)_i + 71);
    const double pitch = _i & 1 ? 0.005 : -0.03;
    chain_parts c = {0};
    add_link(&c, SKEL_JOINT_HINGE, 0);
    skel_joint_desc *jaw = add_link(&c, SKEL_JOINT_SLIDE, 0);
    jaw->parent = SKEL_WORLD;
    skel_joint_desc *thread = &c.joint[c.joints++];
    skel_joint_desc_init(thread);
    thread->type = SKEL_JOINT_SCREW;
    thread->pitch = pitch;
    thread->parent = _i & 2 ? 0 : 1;
    thread->child = _i & 2 ? 1 : 0;
    skel_model *m = model_of(&c);
    const skel_goal_desc g = goal_of(1);
    const skel_ik_desc d = desc_of(m, &g, 1);
    skel_ik *ik = make(&d);

    for (int k = 0; k < 100; ++k) {
        const double target[3] = {0, 0, rng_range(&r, -1, 1)};
        double q[3] = {0};
        skel_ik_set_target(ik, 0, target, NULL);
        ck_assert_int_eq(solve(ik, q).reached, 1);
        near1(q[1], target[2], 1e-5);

        /* The jaw relative to the spindle, or the spindle relative to the jaw. */
        const double along = _i & 2 ? q[1] : -q[1], about = _i & 2 ? -q[0] : q[0];
        near1(pitch * q[2], along, 2e-5);
        near1(remainder(q[2] - about, SKEL__TURN), 0, 1e-5 / fabs(pitch));
        check_closed(m, q, 2e-5 / fabs(pitch));
    }
    skel_ik_destroy(ik);
    skel_model_destroy(m);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ik_kinds");
    TCase *c = tcase_create("laws");
    tcase_set_timeout(c, 120);
    tcase_add_loop_test(c, nodes_have_the_kinematics_of_the_model, 0, 8);
    tcase_add_loop_test(c, derivatives_are_those_of_the_errors, 0, 8);
    tcase_add_loop_test(c, mobile_robots_reach_what_they_can, 0, 4);
    tcase_add_loop_test(c, limits_hold_the_base, 0, 2);
    tcase_add_test(c, every_velocity_has_its_own_stiffness);
    tcase_add_loop_test(c, a_planar_joint_is_one_joint, 0, 2);
    tcase_add_test(c, planar_joints_do_not_mimic);
    tcase_add_loop_test(c, mobile_robots_track, 0, 4);
    tcase_add_loop_test(c, planar_loops_close, 0, 2);
    tcase_add_loop_test(c, a_screw_counts_its_turns, 0, 4);
    tcase_add_loop_test(c, arms_on_screws_reach_what_they_can, 0, 24);
    tcase_add_loop_test(c, screws_track, 0, 4);
    tcase_add_loop_test(c, screws_mimic_and_are_mimicked, 0, 4);
    tcase_add_test(c, limits_of_screws_count_turns);
    tcase_add_loop_test(c, screw_loops_close, 0, 2);
    tcase_add_loop_test(c, a_spindle_moves_the_jaw, 0, 4);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
