/* SPDX-License-Identifier: BSD-3-Clause */
/* Robots' documents: every one goes through all its forms and back, random chains of all joint
   types have a table that moves as they do, and broken documents break nothing. */
#include "math/quat.h"
#include "shared/document.h"
#include "shared/near.h"
#include "shared/rng.h"

#include <skel/skel.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROBOT_TEST_BODIES_MAX 8
#define ROBOT_CHAINS 2000
#define BREAKS 4000

static const char *const k_robots[] = {"abb_irb120",
                                       "abb_irb140",
                                       "adept_cobra600",
                                       "baxter_left",
                                       "baxter_right",
                                       "franka_fr3",
                                       "franka_panda",
                                       "kinova_jaco",
                                       "kinova_mico",
                                       "kuka_kr5",
                                       "kuka_lwr4",
                                       "kuka_lbr_iiwa14",
                                       "kuka_lbr_iiwa7",
                                       "lynxmotion_al5d",
                                       "mecademic_meca500",
                                       "planar2",
                                       "puma560",
                                       "sawyer",
                                       "stanford",
                                       "ur3",
                                       "ur5",
                                       "ur10",
                                       "ur3e",
                                       "ur5e",
                                       "ur10e",
                                       "ur20"};
#define ROBOTS ((int)(sizeof k_robots / sizeof *k_robots))

/* ---- documents ------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *length) {
    FILE *f = fopen(path, "rb");
    ck_assert_msg(f != NULL, "%s", path);
    fseek(f, 0, SEEK_END);
    *length = (size_t)ftell(f);
    char *text = malloc(*length + 1);
    rewind(f);
    ck_assert_uint_eq(fread(text, 1, *length, f), *length);
    text[*length] = 0;
    fclose(f);
    return text;
}

static skel_scene *parse(const char *text, size_t length) {
    skel_scene *scene;
    skel_error err;
    skel_error_init(&err);
    ck_assert_msg(skel_scene_parse(text, length, &scene, &err) == SKEL_OK, "%s", err.text);
    return scene;
}

static char *urdf_of(const skel_scene *scene) {
    size_t needed = 0;
    skel_error err;
    skel_error_init(&err);
    ck_assert_msg(skel_scene_write_urdf(scene, NULL, 0, &needed, &err) == SKEL_E_BUFFER, "%s",
                  err.text);
    char *text = malloc(needed + 1);
    ck_assert_int_eq(skel_scene_write_urdf(scene, text, needed + 1, NULL, &err), SKEL_OK);
    return text;
}

static char *table_of(const skel_scene *scene, int32_t convention, int32_t is_csv) {
    skel_scene_dh_desc d;
    size_t needed = 0;
    skel_error err;
    skel_error_init(&err);
    skel_scene_dh_desc_init(&d);
    d.convention = convention, d.is_csv = is_csv;
    ck_assert_msg(skel_scene_write_dh(scene, &d, NULL, 0, &needed, &err) == SKEL_E_BUFFER, "%s",
                  err.text);
    char *text = malloc(needed + 1);
    ck_assert_int_eq(skel_scene_write_dh(scene, &d, text, needed + 1, NULL, &err), SKEL_OK);
    return text;
}

/* Where the tool is. */
static pose tool_at(const skel_scene *s, const double *q) {
    double x[7 * ROBOT_TEST_BODIES_MAX * 2], f[7];
    int32_t body;
    ck_assert_int_eq(skel_fk(skel_scene_model(s), q, x), SKEL_OK);
    ck_assert_int_eq(skel_scene_get_frame(s, skel_scene_tool(s), &body, f), SKEL_OK);
    const double *b = x + 7 * body;
    return pose_mul((pose){v3_of(b), q_of(b + 3)}, (pose){v3_of(f), q_of(f + 3)});
}

static double distance(pose a, pose b) {
    return fmax(v3_norm(v3_sub(a.p, b.p)), v3_norm(q_log(q_mul(q_conj(a.q), b.q))));
}

START_TEST(every_robot_in_every_form) {
    char path[512];
    size_t length;
    rng r = rng_seed(60 + (uint64_t)_i);
    snprintf(path, sizeof path, "%s/robots/%s.json", SKEL_SAMPLES, k_robots[_i]);
    char *text = read_file(path, &length);
    skel_scene *one = parse(text, length);
    char *forms[6];
    forms[0] = written(one);
    for (int32_t k = 0; k < 4; ++k) forms[1 + k] = table_of(one, k & 1, k >> 1);
    forms[5] = urdf_of(one);
    double q[ROBOT_TEST_BODIES_MAX];
    for (int k = 0; k < ROBOT_TEST_BODIES_MAX; ++k) q[k] = rng_range(&r, -2, 2);
    for (int k = 0; k < 5; ++k) {
        skel_scene *two = parse(forms[k], strlen(forms[k]));
        ck_assert(distance(tool_at(one, q), tool_at(two, q)) < 1e-12);
        skel_scene_destroy(two);
    }
    skel_scene *again = parse(forms[0], strlen(forms[0]));
    char *same = written(again);
    ck_assert_str_eq(same, forms[0]);
    skel_scene *u = parse(forms[5], strlen(forms[5])); /* the same joints in the same order */
    char *back = urdf_of(u);
    ck_assert_int_eq(skel_model_q_count(skel_scene_model(u)),
                     skel_model_q_count(skel_scene_model(one)));
    ck_assert_str_eq(back, forms[5]);
    skel_scene_destroy(u), skel_scene_destroy(again), skel_scene_destroy(one);
    for (int k = 0; k < 6; ++k) free(forms[k]);
    free(same), free(back), free(text);
}
END_TEST

START_TEST(a_urdf_stays_as_it_is) {
    size_t length;
    char *text = read_file(SKEL_TEST_DATA "/urdf/features.urdf", &length);
    skel_scene *one = parse(text, length);
    char *a = urdf_of(one), *scene = written(one);
    skel_scene *two = parse(a, strlen(a)), *three = parse(scene, strlen(scene));
    char *b = urdf_of(two), *same = written(two), *again = written(three);
    ck_assert_str_eq(a, b);
    ck_assert_str_eq(scene, same);
    ck_assert_str_eq(scene, again);
    ck_assert_int_eq(skel_model_mimic_count(skel_scene_model(three)), 1);
    ck_assert_int_eq(skel_scene_frame_count(three), 11);
    skel_scene_destroy(one), skel_scene_destroy(two), skel_scene_destroy(three);
    free(text), free(a), free(b), free(scene), free(same), free(again);
}
END_TEST

/* ---- chains of all joint types --------------------------------------------------------------- */

static void random_frame(rng *r, double p[3], double q[4]) {
    const v3 turn = {rng_range(r, -2, 2), rng_range(r, -2, 2), rng_range(r, -2, 2)};
    for (int k = 0; k < 3; ++k) p[k] = rng_range(r, -1, 1);
    q_to(q_exp(turn), q);
}

static quat turn_about(int axis, double angle) {
    return q_exp((v3){axis == 0 ? angle : 0, axis == 1 ? angle : 0, axis == 2 ? angle : 0});
}

static skel_model *random_chain(rng *r, int n) {
    skel_body_desc b[ROBOT_TEST_BODIES_MAX];
    skel_joint_desc j[ROBOT_TEST_BODIES_MAX];
    skel_model_desc d;
    skel_model *model;
    skel_error err;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    for (int i = 0; i < n; ++i) {
        skel_body_desc_init(&b[i]);
        b[i].unplaced = i > 0;
        b[i].motion = i ? SKEL_MOTION_DYNAMIC : SKEL_MOTION_FIXED;
        if (i == 0) random_frame(r, b[i].position, b[i].orientation);
        if (i == 0) continue;
        skel_joint_desc *k = &j[i - 1];
        skel_joint_desc_init(k);
        const int forward = rng_int(r, 3) > 0;
        k->type = rng_int(r, 5);
        k->parent = forward ? i - 1 : i, k->child = forward ? i : i - 1;
        random_frame(r, k->parent_position, k->parent_orientation);
        random_frame(r, k->child_position, k->child_orientation);
    }
    d.bodies = b, d.body_count = (uint32_t)n, d.joints = j, d.joint_count = (uint32_t)n - 1;
    ck_assert_msg(skel_model_create(&d, &model, &err) == SKEL_OK, "%s", err.text);
    return model;
}

/* Random coordinates of the rows, and the model's q that mean the same. */
static void same_q(rng *r, const skel_model *m, const skel_dh *dh, double *row_q, double *q) {
    double angle[ROBOT_TEST_BODIES_MAX][3] = {{0}};
    for (int i = 0; i < skel_dh_row_count(dh); ++i) {
        skel_dh_row row;
        skel_dh_row_init(&row);
        skel_dh_get_row(dh, i, &row);
        row_q[i] = angle[row.joint][row.part] = rng_range(r, -3, 3);
    }
    for (int k = 0; k < skel_model_joint_count(m); ++k) {
        skel_joint_desc j;
        skel_joint_desc_init(&j);
        skel_model_get_joint(m, k, &j);
        double *at = q + skel_model_joint_q_offset(m, k);
        if (j.type == SKEL_JOINT_BALL)
            q_to(q_mul(q_mul(turn_about(0, angle[k][0]), turn_about(1, angle[k][1])),
                       turn_about(2, angle[k][2])),
                 at);
        else
            memcpy(at, angle[k],
                   sizeof(double) * (j.type == SKEL_JOINT_UNIVERSAL ? 2 : j.type > 0));
    }
}

START_TEST(tables_of_all_joint_types) {
    rng r = rng_seed(61 + (uint64_t)_i);
    for (int k = 0; k < ROBOT_CHAINS; ++k) {
        const int n = 2 + rng_int(&r, ROBOT_TEST_BODIES_MAX - 1);
        skel_model *m = random_chain(&r, n);
        skel_dh_chain_desc d;
        skel_dh *dh;
        double row_q[3 * ROBOT_TEST_BODIES_MAX], q[4 * ROBOT_TEST_BODIES_MAX],
            x[7 * ROBOT_TEST_BODIES_MAX];
        double frames[7 * (3 * ROBOT_TEST_BODIES_MAX + 1)];
        skel_dh_chain_desc_init(&d);
        d.convention = _i, d.tip = n - 1;
        random_frame(&r, d.tool, d.tool + 3);
        ck_assert_int_eq(skel_dh_extract(m, &d, &dh, NULL), SKEL_OK);
        same_q(&r, m, dh, row_q, q);
        ck_assert_int_eq(skel_fk(m, q, x), SKEL_OK);
        ck_assert_int_eq(skel_dh_frames(dh, row_q, frames), SKEL_OK);
        const double *tip = x + 7 * (n - 1), *tool = frames + 7 * skel_dh_row_count(dh);
        const pose must =
            pose_mul((pose){v3_of(tip), q_of(tip + 3)}, (pose){v3_of(d.tool), q_of(d.tool + 3)});
        const double off = distance(must, (pose){v3_of(tool), q_of(tool + 3)});
        ck_assert_msg(off < 1e-9, "chain %d: %.3g", k, off);
        skel_dh_destroy(dh);
        skel_model_destroy(m);
    }
}
END_TEST

/* ---- broken documents ------------------------------------------------------------------------ */

static void try_all(const char *text, size_t length) {
    skel_scene *scene = NULL;
    skel_scene_dh_desc d;
    skel_error err;
    size_t needed;
    skel_error_init(&err);
    skel_scene_dh_desc_init(&d);
    const skel_status status = skel_scene_parse(text, length, &scene, &err);
    ck_assert((status == SKEL_OK) == (scene != NULL));
    if (status != SKEL_OK) ck_assert(err.text[0] != 0);
    skel_dh_rewrite(text, length, SKEL_DH_MODIFIED, 0, NULL, 0, &needed, &err);
    if (!scene) return;
    char *same = written(scene);
    skel_scene_destroy(parse(same, strlen(same))); /* what was read can be read again */
    free(same);
    skel_scene_write_urdf(scene, NULL, 0, &needed, &err);
    skel_scene_write_dh(scene, &d, NULL, 0, &needed, &err);
    skel_scene_destroy(scene);
}

/* Bytes changed, cut out and doubled. */
static size_t break_text(rng *r, char *text, size_t length) {
    for (int k = 1 + rng_int(r, 3); k > 0 && length > 2; --k) {
        const size_t at = (size_t)rng_int(r, (int)length), n = (size_t)rng_int(r, 40);
        static const char odd[] = "\"<>&'{}[],:#-0e\n/ \xff";
        switch (rng_int(r, 4)) {
        case 0: text[at] = odd[rng_int(r, (int)sizeof odd - 1)]; break;
        case 1: text[at] = (char)rng_int(r, 256); break;
        case 2:
            if (at + n >= length) break;
            memmove(text + at, text + at + n, length - at - n);
            length -= n;
            break;
        default:
            if (at + n >= length) break;
            memmove(text + at, text + (size_t)rng_int(r, (int)(length - n)), n);
        }
    }
    return length;
}

START_TEST(broken_documents_break_nothing) {
    static const char *const files[] = {SKEL_SAMPLES "/robots/puma560.json",
                                        SKEL_SAMPLES "/robots/franka_panda.json",
                                        SKEL_TEST_DATA "/urdf/features.urdf", NULL};
    rng r = rng_seed(62 + (uint64_t)_i);
    size_t length;
    char *text = read_file(files[_i] ? files[_i] : files[0], &length);
    if (!files[_i]) { /* the same table as CSV */
        skel_scene *scene = parse(text, length);
        free(text);
        text = table_of(scene, SKEL_DH_STANDARD, 1);
        length = strlen(text);
        skel_scene_destroy(scene);
    }
    char *copy = malloc(length);
    for (int k = 0; k < BREAKS; ++k) {
        memcpy(copy, text, length);
        const size_t n = break_text(&r, copy, length);
        char *fits = malloc(n + !n); /* so that reading beyond the end is seen */
        memcpy(fits, copy, n);
        try_all(fits, n);
        free(fits);
    }
    free(copy), free(text);
}
END_TEST

/* ---- arguments ------------------------------------------------------------------------------- */

static void refused(const skel_dh_desc *d, const char *must) {
    skel_dh *dh = (skel_dh *)1;
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_lt(skel_dh_create(d, &dh, &err), 0);
    ck_assert_ptr_null(dh);
    ck_assert_msg(strstr(err.text, must) != NULL, "got '%s', expected '%s'", err.text, must);
}

START_TEST(arguments_are_checked) {
    skel_dh_desc d;
    skel_dh_row row;
    skel_dh *dh;
    double x[14], q[1] = {0.5}, back[1];
    skel_dh_desc_init(&d);
    skel_dh_row_init(&row);
    d.rows = &row, d.row_count = 1;
    row.a = NAN, refused(&d, "rows[0]: one of a, alpha, d, theta, offset is nan");
    row.a = 0, row.sign = 0.5, refused(&d, "rows[0].sign: is 0.5, must be 1 or -1");
    row.sign = 1, row.type = SKEL_JOINT_BALL, refused(&d, "rows[0].type: is 4");
    row.type = SKEL_JOINT_SLIDE, d.convention = 2, refused(&d, "convention: is 2");
    d.convention = 0, d.base[3] = 2, refused(&d, "base: its quaternion has length 2");
    d.base[3] = 1, d.rows = NULL, refused(&d, "rows: is NULL");
    refused(NULL, "desc: is NULL");
    d.rows = &row, row.d = 0.25, row.offset = 0.5, row.sign = -1;
    ck_assert_int_eq(skel_dh_create(&d, &dh, NULL), SKEL_OK);
    ck_assert_int_eq(skel_dh_frames(dh, q, x), SKEL_OK);
    near1(x[2], 0.25, 1e-15); /* d + offset + sign q */
    ck_assert_int_eq(skel_dh_coordinates(dh, x, back), SKEL_OK);
    near1(back[0], 0.5, 1e-15);
    q[0] = INFINITY;
    ck_assert_int_eq(skel_dh_frames(dh, q, x), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_dh_frames(NULL, q, x), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_dh_get_row(dh, 1, &row), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_scene_frame_count(NULL), 0);
    ck_assert_int_eq(skel_scene_tool(NULL), -1);
    ck_assert_ptr_null(skel_scene_pose_q(NULL, 0));
    skel_dh_destroy(dh), skel_dh_destroy(NULL);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("robot");
    TCase *t = tcase_create("robot");
    tcase_add_loop_test(t, every_robot_in_every_form, 0, ROBOTS);
    tcase_add_test(t, a_urdf_stays_as_it_is);
    tcase_add_loop_test(t, tables_of_all_joint_types, 0, 2);
    tcase_add_loop_test(t, broken_documents_break_nothing, 0, 4);
    tcase_add_test(t, arguments_are_checked);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return run_suite(suite());
}
