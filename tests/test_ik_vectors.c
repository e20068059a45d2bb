/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics against numbers computed elsewhere in higher precision. */
#include "math/dense.h"
#include "math/quat.h"
#include "shared/near.h"
#include "shared/vectors.h"

#include <skel/skel.h>
#include <stdio.h>
#include <string.h>

#define IK_VECTORS_MAX 16

/* Rows of a list of lists, one after the other. */
static int matrix(const json_value *node, const char *name, double *out, int *columns) {
    const json_value *list = get(node, name);
    const int rows = json_size(list);
    *columns = json_size(json_element(list, 0));
    for (int r = 0; r < rows; ++r)
        for (int c = 0; c < *columns; ++c)
            out[r * *columns + c] = json_element(json_element(list, r), c)->number;
    return rows;
}

static int count_of(const json_value *node, const char *name) {
    return json_size(get(node, name));
}

static skel_ik *newton(const skel_model *m, skel_goal_desc *g, int32_t iterations) {
    skel_ik_desc d;
    skel_ik *ik;
    skel_error err;
    skel_error_init(&err);
    skel_ik_desc_init(&d);
    d.model = m, d.goals = g, d.goal_count = 1, d.method = SKEL_IK_NEWTON;
    d.max_iterations = iterations, d.tolerance = 1e-13;
    ck_assert_msg(skel_ik_create(&d, &ik, &err) == SKEL_OK, "%s", err.text);
    return ik;
}

/* One Newton step at a time from q. */
static void follow_iterates(const skel_model *m, skel_goal_desc *g, const double *start,
                            const double *iterates, int count, int n, double *q) {
    skel_ik *ik = newton(m, g, 1);
    memcpy(q, start, (size_t)n * sizeof *q);
    for (int k = 0; k < count; ++k) {
        ck_assert_int_eq(skel_ik_solve(ik, q, NULL, NULL), SKEL_OK);
        near(q, iterates + k * n, (size_t)n, 1e-11 * (1 + max_abs(iterates + k * n, (size_t)n)));
    }
    skel_ik_destroy(ik);
}

static skel_goal_desc planar_goal(int n, double last, const double target[2]) {
    skel_goal_desc g;
    skel_goal_desc_init(&g);
    g.body = n - 1, g.point[0] = 0.5 * last;
    g.parts = SKEL_GOAL_X | SKEL_GOAL_Y;
    g.position[0] = target[0], g.position[1] = target[1];
    return g;
}

static void check_pinv(const double *a, int m, int n, const double *want, int rank) {
    double copy[IK_VECTORS_MAX * IK_VECTORS_MAX], out[IK_VECTORS_MAX * IK_VECTORS_MAX], work[4096];
    ck_assert_uint_le(skel__pseudoinverse_work(m, n), 4096);
    memcpy(copy, a, (size_t)(m * n) * sizeof *a);
    const int32_t got = skel__pseudoinverse(copy, m, n, 1e-12, out, work);
    if (rank >= 0) ck_assert_int_eq(got, rank);
    near(out, want, (size_t)(m * n), 1e-11 * max_abs(want, (size_t)(m * n)));
}

/* Jacobian, its pseudoinverse, the first Newton steps and where they lead, of one planar chain. */
static void check_planar(const json_value *v, const char *iterates, int given,
                         const char *converged) {
    const int n = count_of(v, "l");
    double root[2], l[IK_VECTORS_MAX], start[IK_VECTORS_MAX], target[2],
        jacobian[2 * IK_VECTORS_MAX], inverse[2 * IK_VECTORS_MAX];
    double steps[8 * IK_VECTORS_MAX], q[IK_VECTORS_MAX], poses[7 * IK_VECTORS_MAX],
        full[6 * IK_VECTORS_MAX];
    int columns;
    skel_model *m;
    numbers(v, "P1", root, 2), numbers(v, "l", l, n), numbers(v, "phi0", start, n);
    numbers(v, "target", target, 2);
    matrix(v, "D_f", jacobian, &columns);
    matrix(v, "D_f_pinv", inverse, &columns);
    const int rows = matrix(v, iterates, steps, &columns);
    ck_assert_int_eq(skel_model_create_planar(root, l, (uint32_t)n, &m, NULL), SKEL_OK);
    ck_assert_int_eq(skel_fk(m, start, poses), SKEL_OK);
    const double tip[3] = {0.5 * l[n - 1], 0, 0};
    ck_assert_int_eq(skel_jacobian(m, poses, n - 1, tip, full), SKEL_OK);
    near(full, jacobian, (size_t)(2 * n), 1e-11 * max_abs(jacobian, (size_t)(2 * n)));
    check_pinv(full, 2, n, inverse, -1);
    skel_goal_desc g = planar_goal(n, l[n - 1], target);
    follow_iterates(m, &g, start, steps + given * n, rows - given, n, q);
    if (converged) {
        double limit[IK_VECTORS_MAX];
        skel_ik *ik = newton(m, &g, 50);
        numbers(v, converged, limit, n);
        ck_assert_int_eq(skel_ik_solve(ik, q, NULL, NULL), SKEL_OK);
        near(q, limit, (size_t)n, 1e-11 * (1 + max_abs(limit, (size_t)n)));
        skel_ik_destroy(ik);
    }
    skel_model_destroy(m);
}

START_TEST(the_worked_example_of_the_lecture) { /* [SIE 8.1.3], with ERRATA S4 */
    const json_value *v = get(g_vectors, "ik_siegen_example");
    double poses[21], q[3], old[2];
    skel_model *m;
    double root[2], l[3];
    numbers(v, "P1", root, 2), numbers(v, "l", l, 3), numbers(v, "phi0", q, 3);
    numbers(v, "X_old", old, 2);
    ck_assert_int_eq(skel_model_create_planar(root, l, 3, &m, NULL), SKEL_OK);
    ck_assert_int_eq(skel_fk(m, q, poses), SKEL_OK);
    const v3 tip = v3_add(v3_of(poses + 14), q_rotate(q_of(poses + 17), (v3){0.5 * l[2], 0, 0}));
    near1(tip.x, old[0], 1e-11 * 1000);
    near1(tip.y, old[1], 1e-11 * 1000);
    skel_model_destroy(m);
    check_planar(v, "iterates", 1, NULL);
}
END_TEST

START_TEST(planar_chains) {
    const json_value *v;
    int count = 0;
    JSON_EACH(v, get(g_vectors, "ik2d")) {
        check_planar(v, "iterates_1_2_3", 0, "phi_converged");
        ++count;
    }
    ck_assert_int_eq(count, 12);
}
END_TEST

START_TEST(two_bones) {
    const json_value *v;
    JSON_EACH(v, get(g_vectors, "ik_twobone")) {
        double root[2], target[2], plus[2], minus[2], p[2], m[2];
        numbers(v, "P1", root, 2), numbers(v, "X", target, 2);
        numbers(v, "elbow_plus", plus, 2), numbers(v, "elbow_minus", minus, 2);
        ck_assert_int_eq(skel_two_bone_plane(root, number(v, "l1"), number(v, "l2"), target, p, m),
                         1);
        near1(remainder(p[0] - plus[0], SKEL__TURN), 0, 1e-11);
        near1(p[1], plus[1], 1e-11);
        near1(remainder(m[0] - minus[0], SKEL__TURN), 0, 1e-11);
        near1(m[1], minus[1], 1e-11);
    }
}
END_TEST

/* The chain of modified DH rows (alpha, a, d, phi): Rx(alpha) Tx(a) Tz(d) Rz(phi), the joint moves
   along or about z. */
static skel_model *spatial(const json_value *v, int n) {
    static skel_body_desc body[IK_VECTORS_MAX];
    static skel_joint_desc joint[IK_VECTORS_MAX];
    static char name[IK_VECTORS_MAX][2][16];
    skel_model_desc d;
    skel_model *m;
    skel_error err;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    for (int k = 0; k < n; ++k) {
        const json_value *row = json_element(get(v, "rows"), k);
        const double tilt = json_element(row, 0)->number;
        const double a = json_element(row, 1)->number;
        const double r = json_element(row, 2)->number;
        const double phi = json_element(row, 3)->number;
        const pose x = {{a, 0, 0}, q_exp((v3){tilt, 0, 0})};
        const pose f = pose_mul(x, (pose){{0, 0, r}, q_exp((v3){0, 0, phi})});
        snprintf(name[k][0], 16, "link%d", k), snprintf(name[k][1], 16, "joint%d", k);
        skel_body_desc_init(&body[k]);
        skel_joint_desc_init(&joint[k]);
        body[k].name = name[k][0], body[k].unplaced = 1, joint[k].name = name[k][1];
        joint[k].parent = k - 1, joint[k].child = k;
        joint[k].type = json_is_true(json_element(get(v, "prismatic"), k)) ? SKEL_JOINT_SLIDE
                                                                           : SKEL_JOINT_HINGE;
        v3_to(f.p, joint[k].parent_position);
        q_to(f.q, joint[k].parent_orientation);
    }
    d.bodies = body, d.body_count = (uint32_t)n, d.joints = joint, d.joint_count = (uint32_t)n;
    ck_assert_msg(skel_model_create(&d, &m, &err) == SKEL_OK, "%s", err.text);
    return m;
}

START_TEST(spatial_chains) {
    const json_value *v;
    JSON_EACH(v, get(g_vectors, "ik3d")) {
        const int n = count_of(v, "rows");
        double start[IK_VECTORS_MAX], q[IK_VECTORS_MAX], poses[7 * IK_VECTORS_MAX],
            want[6 * IK_VECTORS_MAX], got[6 * IK_VECTORS_MAX];
        double inverse[3 * IK_VECTORS_MAX], steps[3 * IK_VECTORS_MAX], limit[IK_VECTORS_MAX];
        int columns;
        skel_model *m = spatial(v, n);
        numbers(v, "q0", start, n), numbers(v, "q_converged", limit, n);
        skel_goal_desc g;
        skel_goal_desc_init(&g);
        g.body = n - 1;
        numbers(v, "tool", g.point, 3), numbers(v, "target", g.position, 3);
        ck_assert_int_eq(skel_fk(m, start, poses), SKEL_OK);
        ck_assert_int_eq(skel_jacobian(m, poses, n - 1, g.point, got), SKEL_OK);
        matrix(v, "J6", want, &columns);
        near(got, want, (size_t)(6 * n), 1e-11);
        matrix(v, "J3_pinv", inverse, &columns);
        check_pinv(got, 3, n, inverse, -1);
        const int rows = matrix(v, "iterates_1_2_3", steps, &columns);
        follow_iterates(m, &g, start, steps, rows, n, q);
        skel_ik *ik = newton(m, &g, 50);
        ck_assert_int_eq(skel_ik_solve(ik, q, NULL, NULL), SKEL_OK);
        near(q, limit, (size_t)n, 1e-11 * (1 + max_abs(limit, (size_t)n)));
        skel_ik_destroy(ik);
        skel_model_destroy(m);
    }
}
END_TEST

START_TEST(pseudoinverses) {
    const json_value *v;
    JSON_EACH(v, get(g_vectors, "pinv_exact")) {
        double a[IK_VECTORS_MAX * IK_VECTORS_MAX], want[IK_VECTORS_MAX * IK_VECTORS_MAX];
        int n, columns;
        const int m = matrix(v, "A", a, &n);
        matrix(v, "pinv", want, &columns);
        check_pinv(a, m, n, want, (int)number(v, "rank"));
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ik_vectors");
    TCase *c = tcase_create("vectors");
    tcase_add_unchecked_fixture(c, load, unload);
    tcase_add_test(c, the_worked_example_of_the_lecture);
    tcase_add_test(c, planar_chains);
    tcase_add_test(c, two_bones);
    tcase_add_test(c, spatial_chains);
    tcase_add_test(c, pseudoinverses);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
