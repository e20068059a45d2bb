/* SPDX-License-Identifier: BSD-3-Clause */
/* Documents with numbers like 1e300: a result that is beyond the range of numbers is refused with a
   status, and never given out with SKEL_OK. */
#include "shared/near.h"

#include <skel/skel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Quotes are ' in C, so that JSON stays legible. */
static char *json_of(const char *text) {
    char *json = malloc(strlen(text) + 1);
    ck_assert_ptr_nonnull(json);
    strcpy(json, text);
    for (char *c = json; *c; ++c)
        if (*c == '\'') *c = '"';
    return json;
}

static skel_scene *parsed(const char *text) {
    char *json = json_of(text);
    skel_scene *scene = NULL;
    skel_error err;
    skel_error_init(&err);
    const skel_status status = skel_scene_parse(json, strlen(json), &scene, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
    free(json);
    return scene;
}

/* Two bodies, "rod" a free root and "bob" hinged to it, with this angular velocity about x;
   the joint lies `lever` aside. */
static skel_scene *pendulum(double spin, double lever, const char *type) {
    char text[1024];
    snprintf(text, sizeof text,
             "{'format': 'skel-scene/1', 'bodies': ["
             "{'name': 'rod', 'mass': 1, 'position': [0, 0, 0], "
             "'shape': {'type': 'box', 'size': [1, 2, 3]}}, "
             "{'name': 'bob', 'mass': 2, 'position': [0, 0, -1], 'angular_velocity': [%g, 0, 0], "
             "'shape': {'type': 'sphere', 'radius': 0.5}}], 'joints': "
             "[{'name': 'elbow', 'bodies': ['rod', 'bob'], 'anchor': [0, %g, -0.5], 'type': '%s', "
             "'axis': [1, 0, 0]}]}",
             spin, lever, type);
    return parsed(text);
}

static skel_state *state_of(const skel_scene *scene) {
    skel_state *state = NULL;
    ck_assert_int_eq(skel_state_create(skel_scene_model(scene), &state, NULL), SKEL_OK);
    return state;
}

/* The message names the thing and says what to do. */
static void require_message(const skel_error *err, const char *name, const char *remedy) {
    ck_assert_msg(strstr(err->text, name) && strstr(err->text, remedy), "%s", err->text);
}

/* ---- dynamics -------------------------------------------------------------------------------- */

START_TEST(accelerations_that_overflow_are_refused) {
    skel_scene *scene = pendulum(1e300, 0, "hinge");
    skel_state *state = state_of(scene);
    skel_error err;
    skel_error_init(&err);
    double a[6], alpha[6];

    for (int32_t solver = SKEL_SOLVER_TREE; solver <= SKEL_SOLVER_KKT; ++solver) {
        const skel_status status = skel_accelerations(state, solver, a, alpha, &err);
        ck_assert_msg(status < 0, "solver %d", solver);
    }
    ck_assert_int_eq(skel_accelerations(state, SKEL_SOLVER_TREE, a, alpha, &err), SKEL_E_DIVERGED);
    ck_assert_int_eq(err.body, 0);
    require_message(&err, "'rod'", "smaller velocities");

    ck_assert_int_eq(skel_state_project(state, NULL, NULL, &err), SKEL_E_DIVERGED);
    ck_assert_int_eq(err.body, 1);
    require_message(&err, "'bob'", "must be below");

    double after[12];
    ck_assert_int_eq(skel_state_get_velocities(state, after), SKEL_OK);
    ck_assert(after[9] == 1e300 && after[3] == 0);

    skel_state_destroy(state);
    skel_scene_destroy(scene);
}
END_TEST

START_TEST(forces_that_overflow_are_refused) {
    skel_scene *scene = pendulum(0, 0, "hinge");
    skel_state *state = state_of(scene);
    const double a[6] = {0, 0, 0, 0, 1.5e308, 0}, alpha[6] = {0};
    double torque = 0;
    skel_error err;
    skel_error_init(&err);

    ck_assert_int_eq(skel_inverse_dynamics(state, a, alpha, &torque, NULL, NULL, &err),
                     SKEL_E_DIVERGED);
    ck_assert_int_eq(err.joint, 0);
    require_message(&err, "'elbow'", "make the motion slower");

    skel_state_destroy(state);
    skel_scene_destroy(scene);
}
END_TEST

/* Four samples of the pendulum that moves along z; 1e300 samples a second. */
START_TEST(motions_whose_forces_overflow_are_refused) {
    skel_scene *scene = pendulum(0, 0, "hinge");
    double poses[4][14];
    skel_inverse *inverse = NULL;
    skel_inverse_desc desc;
    skel_error err;
    skel_error_init(&err);
    for (int k = 0; k < 4; ++k) {
        const double x[14] = {0, 0, 0.1 * k * k, 1, 0, 0, 0, 0, 0, -1 + 0.1 * k * k, 1, 0, 0, 0};
        memcpy(poses[k], x, sizeof x);
    }
    skel_inverse_desc_init(&desc);
    desc.model = skel_scene_model(scene);
    desc.poses = poses[0];
    desc.sample_count = 4;
    desc.sample_rate = 100;
    ck_assert_int_eq(skel_inverse_create(&desc, &inverse, &err), SKEL_OK);
    skel_inverse_destroy(inverse);

    desc.sample_rate = 1e300;
    ck_assert_int_eq(skel_inverse_create(&desc, &inverse, &err), SKEL_E_DIVERGED);
    ck_assert_ptr_null(inverse);
    require_message(&err, "sample 0", "make the motion slower");

    skel_scene_destroy(scene);
}
END_TEST

START_TEST(a_flight_that_overflows_is_refused) {
    skel_scene *scene = pendulum(0, 0, "hinge");
    const double from[] = {0, 0, 0, 1, 0, 0, 0, 0, 0, -1, 1, 0, 0, 0};
    const double to[] = {0, 1e308, 0, 1, 0, 0, 0, 0, 1e308, -1, 1, 0, 0, 0};
    skel_flight *flight = NULL;
    skel_flight_desc desc;
    skel_flight_desc_init(&desc);
    desc.model = skel_scene_model(scene);
    desc.take_off = from;
    desc.landing = to;
    desc.duration = 1e-3;
    desc.sample_rate = 2000;

    ck_assert_int_lt(skel_flight_solve(&desc, &flight, NULL), 0);
    ck_assert_ptr_null(flight);
    skel_scene_destroy(scene);
}
END_TEST

/* The kinetic energy of 1e160 m/s is infinite: the sample is not counted. */
START_TEST(samples_of_a_bake_are_finite) {
    skel_scene *scene = parsed("{'format': 'skel-scene/1', 'bodies': [{'name': 'shot', 'mass': 1, "
                               "'position': [0, 0, 0], 'velocity': [1e160, 0, 0], "
                               "'shape': {'type': 'sphere', 'radius': 0.5}}]}");
    skel_bake *bake = NULL;
    skel_bake_desc desc = {.struct_size = sizeof desc};
    ck_assert_int_eq(skel_scene_get_bake_desc(scene, &desc), SKEL_OK);
    desc.integrator = SKEL_INTEGRATOR_EULER;
    desc.step = 1e-3;
    desc.sample_count = 3;

    ck_assert_int_eq(skel_bake_start(&desc, &bake, NULL), SKEL_OK);
    ck_assert_int_eq(skel_bake_advance(bake, -1), SKEL_E_DIVERGED);
    ck_assert_int_eq(skel_bake_samples_done(bake), 0);
    skel_bake_destroy(bake);
    skel_scene_destroy(scene);
}
END_TEST

/* ---- kinematics ------------------------------------------------------------------------------ */

/* A slide that is 1e308 m out, from a place that is 1e308 m out. */
START_TEST(coordinates_that_overflow_leave_the_state) {
    skel_scene *scene = pendulum(0, 0, "slide");
    const skel_model *model = skel_scene_model(scene);
    skel_state *state = state_of(scene);
    double poses[14], far[14], after[14], q = 1.5e308;
    ck_assert_int_eq(skel_state_get_poses(state, poses), SKEL_OK);
    memcpy(far, poses, sizeof far);
    far[0] = 1.5e308;
    far[7] = 1.5e308;
    ck_assert_int_eq(skel_state_set_poses(state, far), SKEL_OK);

    ck_assert_int_eq(skel_state_set_q(state, &q), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_state_get_poses(state, after), SKEL_OK);
    near(after, far, 14, 0);

    /* Two speeds of 1.5e308 m/s add up. */
    double v[12] = {1.5e308, 0, 0, 0, 0, 0, 1.5e308};
    double now[12] = {0};
    const double qd = 1.5e308;
    ck_assert_int_eq(skel_state_set_velocities(state, v), SKEL_OK);
    ck_assert_int_eq(skel_state_set_qd(state, &qd), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_state_get_velocities(state, now), SKEL_OK);
    near(now, v, 12, 0);

    /* What is small enough is still set. */
    q = 0.5;
    ck_assert_int_eq(skel_state_set_poses(state, poses), SKEL_OK);
    ck_assert_int_eq(skel_state_set_q(state, &q), SKEL_OK);
    ck_assert_int_eq(skel_fk(model, &q, after), SKEL_OK);
    skel_state_destroy(state);
    skel_scene_destroy(scene);
}
END_TEST

/* A mimic factor of 1e300 overflows in fk and in the Jacobian's chain rule. */
START_TEST(mimic_joints_that_overflow_are_refused) {
    skel_scene *scene = parsed(
        "{'format': 'skel-scene/1', 'bodies': [{'name': 'a', 'mass': 1, 'position': [0, 0, 0], "
        "'shape': {'type': 'sphere', 'radius': 0.5}}, {'name': 'b', 'mass': 1, 'position': "
        "[0, 0, -1], 'shape': {'type': 'sphere', 'radius': 0.5}}], 'joints': [{'name': 'first', "
        "'bodies': ['world', 'a'], 'anchor': [0, 0, 0], 'type': 'slide', 'axis': [1, 0, 0]}, "
        "{'name': 'second', 'bodies': ['a', 'b'], 'anchor': [0, 0, -1], 'type': 'hinge', 'axis': "
        "[1, 0, 0], 'mimic': {'joint': 'first', 'multiplier': 1e300}}]}");
    const skel_model *model = skel_scene_model(scene);
    double q[2] = {1e300, 0}, poses[14] = {0};
    ck_assert_int_eq(skel_model_q_count(model), 2);
    ck_assert_int_eq(skel_fk(model, q, poses), SKEL_E_ARGUMENT);

    q[0] = 0;
    double jacobian[12];
    const double near_point[3] = {0, 1, 0}, far_point[3] = {0, 1e300, 0};
    ck_assert_int_eq(skel_fk(model, q, poses), SKEL_OK);
    ck_assert_int_eq(skel_jacobian(model, poses, 1, near_point, jacobian), SKEL_OK);
    ck_assert_int_eq(skel_jacobian(model, poses, 1, far_point, jacobian), SKEL_E_ARGUMENT);
    skel_scene_destroy(scene);
}
END_TEST

/* Components are finite, but the square of the quaternion's length is not. */
START_TEST(quaternions_too_long_to_normalise_are_refused) {
    skel_scene *scene = pendulum(0, 0, "hinge");
    skel_state *state = state_of(scene);
    double poses[14];
    ck_assert_int_eq(skel_state_get_poses(state, poses), SKEL_OK);
    poses[3] = 1e200;
    ck_assert_int_eq(skel_state_set_poses(state, poses), SKEL_E_ARGUMENT);
    skel_state_destroy(state);
    skel_scene_destroy(scene);
}
END_TEST

/* Found by fuzzing: levers of 1e300 m are finite, the poses that IK sums from them are not. */
START_TEST(ik_refuses_models_too_large_for_sums_of_lengths) {
    const char *text = "{\"format\": \"skel-scene/1\", \"bodies\": ["
                       "{\"name\": \"a\", \"mass\": 1, \"shape\": {\"type\": \"sphere\","
                       " \"radius\": 1}, \"position\": [0, 0, 0]}], \"joints\": [{\"name\": \"j\", "
                       "\"type\": \"hinge\","
                       " \"bodies\": [\"world\", \"a\"], \"anchor\": [1e300, 0, 0],"
                       " \"axis\": [0, 1, 0]}]}";
    skel_scene *scene = NULL;
    ck_assert_int_eq(skel_scene_parse(text, strlen(text), &scene, NULL), SKEL_OK);

    skel_ik_desc desc;
    skel_ik *ik = NULL;
    skel_error err = {.struct_size = sizeof err};
    skel_ik_desc_init(&desc);
    desc.model = skel_scene_model(scene);
    ck_assert_int_eq(skel_ik_create(&desc, &ik, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_null(ik);
    ck_assert_ptr_nonnull(strstr(err.text, "longer than 1e+50 m"));

    skel_scene_destroy(scene);
}
END_TEST

/* Found by fuzzing: Newton's method without damping diverges. A slide along x that shall look along
   x at a point beside it is better the farther away it is, and each step doubles the distance. */
START_TEST(ik_without_damping_ends_before_it_leaves_the_numbers) {
    const char *text = "{\"format\": \"skel-scene/1\", \"bodies\": ["
                       "{\"name\": \"a\", \"mass\": 1, \"shape\": {\"type\": \"sphere\","
                       " \"radius\": 1}, \"position\": [0, 0, 0]}], \"joints\": [{\"name\": \"j\", "
                       "\"type\": \"slide\", \"bodies\": [\"world\", \"a\"],"
                       " \"anchor\": [0, 0, 0], \"axis\": [1, 0, 0]}]}";
    skel_scene *scene = NULL;
    ck_assert_int_eq(skel_scene_parse(text, strlen(text), &scene, NULL), SKEL_OK);

    skel_goal_desc goal;
    skel_ik_desc desc;
    skel_ik *ik = NULL;
    skel_goal_desc_init(&goal);
    goal.kind = SKEL_GOAL_AIM;
    goal.body = 0;
    goal.axis[0] = 1;
    goal.axis[1] = goal.axis[2] = 0;
    goal.position[1] = 1;
    skel_ik_desc_init(&desc);
    desc.model = skel_scene_model(scene);
    desc.goals = &goal;
    desc.goal_stride = sizeof goal;
    desc.goal_count = 1;
    desc.method = SKEL_IK_NEWTON;
    desc.max_iterations = 5000;
    desc.tolerance = 1e-300;
    ck_assert_int_eq(skel_ik_create(&desc, &ik, NULL), SKEL_OK);

    double q[4] = {-1}, pose[7];
    skel_ik_receipt receipt = {.struct_size = sizeof receipt};
    ck_assert_int_eq(skel_ik_solve(ik, q, &receipt, NULL), SKEL_OK);
    ck_assert(fabs(q[0]) > 1e6 && fabs(q[0]) <= 1e50);
    ck_assert(isfinite(receipt.residual));
    ck_assert_int_eq(skel_ik_get_poses(ik, pose), SKEL_OK);
    ck_assert(fabs(pose[0] - q[0]) <= 1e-9 * fabs(q[0]));

    skel_ik_destroy(ik);
    skel_scene_destroy(scene);
}
END_TEST

/* ---- tables and robots ----------------------------------------------------------------------- */

static skel_dh *table(double a, double tool, double base) {
    skel_dh_row row;
    skel_dh_desc desc;
    skel_dh *dh = NULL;
    skel_dh_row_init(&row);
    skel_dh_desc_init(&desc);
    row.a = a;
    desc.rows = &row;
    desc.row_count = 1;
    desc.tool[0] = tool;
    desc.base[0] = base;
    ck_assert_int_eq(skel_dh_create(&desc, &dh, NULL), SKEL_OK);
    return dh;
}

START_TEST(tables_that_overflow_are_refused) {
    skel_dh *dh = table(1.5e308, 1.5e308, 0), *to = NULL;
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_eq(skel_dh_convert(dh, SKEL_DH_MODIFIED, &to, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_null(to);
    require_message(&err, "tool", "must be shorter");

    const double q = 0;
    double frames[14];
    skel_dh_receipt r = {.struct_size = sizeof r};
    ck_assert_int_eq(skel_dh_frames(dh, &q, frames), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_dh_compare(dh, dh, &r), SKEL_E_ARGUMENT);
    skel_dh_destroy(dh);

    skel_body_desc body;
    skel_joint_desc joint;
    skel_body_desc_init(&body);
    skel_joint_desc_init(&joint);
    dh = table(1.5e308, 0, 1.5e308);
    ck_assert_int_eq(skel_dh_get_descs(dh, &body, sizeof body, &joint, sizeof joint),
                     SKEL_E_ARGUMENT);
    skel_dh_destroy(dh);
}
END_TEST

/* Either a table in this convention that parses, or SKEL_E_DOCUMENT with the reason. */
static skel_status rewritten(const char *text, int32_t convention, skel_error *err) {
    char *json = json_of(text);
    size_t needed = 0;
    skel_error_init(err);
    const skel_status status =
        skel_dh_rewrite(json, strlen(json), convention, 0, NULL, 0, &needed, err);
    free(json);
    return status;
}

#define TABLE(com)                                                                                 \
    "{'format': 'skel-dh/1', 'convention': 'standard', 'angle_unit': 'rad', 'length_unit': 'm', "  \
    "'joints': [{'name': 'pan', 'type': 'revolute', 'a': 0, 'alpha': 1, 'd': 0.1, 'theta': 0, "    \
    "'mass': 1, 'com': [" com ", 0, 0]}, {'name': 'lift', 'type': 'revolute', 'a': 0.3, "          \
    "'alpha': 0, 'd': 0, 'theta': 0, 'mass': 1, 'com': [0, 0, 0]}]}"

START_TEST(a_table_that_could_not_be_read_again_is_not_written) {
    skel_error err;
    ck_assert_int_eq(rewritten(TABLE("0.1"), SKEL_DH_MODIFIED, &err), SKEL_E_BUFFER);
    ck_assert_int_eq(rewritten(TABLE("1e300"), SKEL_DH_MODIFIED, &err), SKEL_E_DOCUMENT);
    require_message(&err, "the table", "change the numbers");
}
END_TEST

/* The link's frame is at the joint, 1e300 m from the centre of mass. */
START_TEST(a_urdf_that_could_not_be_read_again_is_not_written) {
    skel_scene *scene = pendulum(0, 0.5, "hinge"), *far = pendulum(0, 1e300, "hinge");
    size_t needed = 0;
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_eq(skel_scene_write_urdf(scene, NULL, 0, &needed, &err), SKEL_E_BUFFER);
    ck_assert_int_eq(skel_scene_write_urdf(far, NULL, 0, &needed, &err), SKEL_E_DOCUMENT);
    require_message(&err, "the URDF", "change the numbers");
    skel_scene_destroy(scene);
    skel_scene_destroy(far);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("finite");
    TCase *t = tcase_create("all");
    tcase_add_test(t, accelerations_that_overflow_are_refused);
    tcase_add_test(t, forces_that_overflow_are_refused);
    tcase_add_test(t, motions_whose_forces_overflow_are_refused);
    tcase_add_test(t, a_flight_that_overflows_is_refused);
    tcase_add_test(t, samples_of_a_bake_are_finite);
    tcase_add_test(t, coordinates_that_overflow_leave_the_state);
    tcase_add_test(t, mimic_joints_that_overflow_are_refused);
    tcase_add_test(t, quaternions_too_long_to_normalise_are_refused);
    tcase_add_test(t, ik_refuses_models_too_large_for_sums_of_lengths);
    tcase_add_test(t, ik_without_damping_ends_before_it_leaves_the_numbers);
    tcase_add_test(t, tables_that_overflow_are_refused);
    tcase_add_test(t, a_table_that_could_not_be_read_again_is_not_written);
    tcase_add_test(t, a_urdf_that_could_not_be_read_again_is_not_written);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
