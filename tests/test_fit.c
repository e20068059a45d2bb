/* SPDX-License-Identifier: BSD-3-Clause */
/* Skins: a body of a known shape gives this shape, whatever its place, size, order of triangles and
   seams; shares and volumes add up; input that makes no sense is refused. */
#include "shared/near.h"
#include "shared/skins.h"

#include <stdlib.h>
#include <string.h>

static const double k_scales[3] = {1, 1e-3, 1e3};
static const int32_t k_one_body[2] = {0, 0};
static const int32_t k_two_bodies[2] = {0, 1};

/* A rotation and a place that depend on the seed only. */
static quat random_turn(rng *r) {
    const v3 phi = {rng_range(r, -2, 2), rng_range(r, -2, 2), rng_range(r, -2, 2)};
    return q_exp(phi);
}

static skel_fit *fit_of(const skin *s, const int32_t bodies[2], uint32_t body_count) {
    skel_fit_desc d = skin_desc(s);
    skel_fit *fit = NULL;
    skel_error err;
    skel_error_init(&err);
    ck_assert_msg(skel_fit_create(&d, &fit, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_fit_set_bodies(fit, bodies, body_count, NULL), SKEL_OK);
    return fit;
}

static skel_fit_info info_of(const skel_fit *fit) {
    skel_fit_info info = {.struct_size = sizeof info};
    ck_assert_int_eq(skel_fit_get_info(fit, &info), SKEL_OK);
    return info;
}

/* The shape of body 0. target may be NULL. */
static skel_fit_shape shape_of(skel_fit *fit, v3 joint, const v3 *target, int is_end) {
    skel_fit_shape_desc d;
    skel_fit_shape shape = {.struct_size = sizeof shape};
    skel_error err;
    skel_error_init(&err);
    skel_fit_shape_desc_init(&d);
    v3_to(joint, d.joint);
    if (target) v3_to(*target, d.target);
    d.has_target = target != NULL;
    d.is_end = is_end;
    ck_assert_msg(skel_fit_solve_shape(fit, &d, &shape, &err) == SKEL_OK, "%s", err.text);
    return shape;
}

static v3 shape_axis(const skel_fit_shape *shape, int k) {
    return m3_column(q_matrix(q_of(shape->orientation)), k);
}

/* cos 1 degree: axes of fits agree within it */
#define COS_DEGREE 0.99985
static const double k_pi = 3.14159265358979323846;

/* ---- shapes ---- */

START_TEST(a_capsule_gives_itself) { /* rotated, shifted and scaled */
    rng r = rng_seed(11);
    for (int k = 0; k < 12; ++k) {
        const double length = rng_range(&r, 1.5, 6), radius = 0.5, scale = k_scales[k % 3];
        const quat q = random_turn(&r);
        const v3 shift = {rng_range(&r, -5, 5) * scale, rng_range(&r, -5, 5) * scale, 0};
        const v3 up = q_rotate(q, (v3){0, 0, scale});
        skin s = skin_empty();
        skin_capsule(&s, length, radius, 48);
        skin_place(&s, q, scale, shift);
        skel_fit *fit = fit_of(&s, k_one_body, 1);

        /* With the joint line, from one end only, and with no joint in sight. */
        const v3 joint = v3_mad(shift, -0.5 * length, up), target = v3_mad(shift, 0.5 * length, up);
        const skel_fit_shape found[3] = {shape_of(fit, joint, &target, 0),
                                         shape_of(fit, joint, NULL, 1),
                                         shape_of(fit, shift, NULL, 0)};
        for (int i = 0; i < 3; ++i) {
            const skel_fit_shape *f = &found[i];
            const double volume = k_pi * radius * radius * (length + 4 * radius / 3);
            double centre[3];
            v3_to(shift, centre);
            ck_assert_int_eq(f->shape, SKEL_SHAPE_CAPSULE);
            ck_assert_double_gt(fabs(v3_dot(shape_axis(f, 2), up)) / scale, COS_DEGREE);
            if (i < 2) ck_assert_double_gt(v3_dot(shape_axis(f, 2), up), 0); /* from the joint */
            near(f->position, centre, 3, 0.01 * radius * scale);
            near1(f->size[0] / scale, length, 0.02 * length);
            near1(f->size[1] / scale, radius, 0.01 * radius);
            near1(f->volume / (scale * scale * scale), volume, 0.03 * volume);
            near1(f->cover, 1, 0.03);
            ck_assert_double_lt(f->residual, 0.01);
            ck_assert_double_eq(f->inside, 1);
        }
        skel_fit_destroy(fit);
        skin_free(&s);
    }
}
END_TEST

START_TEST(a_ball_gives_a_ball) {
    skin s = skin_empty();
    skin_capsule(&s, 0, 0.7, 64);
    skin_place(&s, q_identity(), 1, (v3){1, 2, 3});
    skel_fit *fit = fit_of(&s, k_one_body, 1);
    const skel_fit_shape f = shape_of(fit, (v3){1, 2, 2.3}, NULL, 1);
    const double centre[3] = {1, 2, 3};
    ck_assert_int_eq(f.shape, SKEL_SHAPE_CAPSULE);
    ck_assert_double_lt(f.size[0], 0.02 * 0.7);
    near1(f.size[1], 0.7, 0.01);
    near(f.position, centre, 3, 0.01);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

START_TEST(a_cylinder_gives_its_axis) { /* closed, or an open tube like a limb */
    rng r = rng_seed(12);
    for (int k = 0; k < 6; ++k) {
        const quat q = random_turn(&r);
        const double scale = k_scales[k % 3];
        skin s = skin_empty();
        skin_cylinder(&s, 5, 0.6, 40, k % 2);
        skin_place(&s, q, scale, (v3){0, 0, 0});
        skel_fit *fit = fit_of(&s, k_one_body, 1);
        ck_assert_int_eq(info_of(fit).is_closed, k % 2 == 0);

        const v3 up = q_rotate(q, (v3){0, 0, scale});
        const skel_fit_shape f = shape_of(fit, v3_scale(up, -2.5), NULL, 0);
        const double zero[3] = {0, 0, 0};
        ck_assert_double_gt(v3_dot(shape_axis(&f, 2), up) / scale, COS_DEGREE);
        near1(f.size[1] / scale, 0.6, 0.02);
        near(f.position, zero, 3, 0.03 * scale);
        ck_assert_double_gt(f.size[0] / scale, 5 - 1.3);
        ck_assert_double_lt(f.size[0] / scale, 5);
        skel_fit_destroy(fit);
        skin_free(&s);
    }
}
END_TEST

START_TEST(a_flat_free_end_gives_a_box) {
    rng r = rng_seed(13);
    for (int k = 0; k < 9; ++k) {
        const quat q = random_turn(&r);
        const double scale = k_scales[k % 3], edges[3] = {2 * scale, 1 * scale, 4 * scale};
        const v3 shift = {scale, -scale, 2 * scale};
        double centre[3];
        v3_to(shift, centre);
        skin s = skin_empty();
        skin_box(&s, (v3){0, 0, 0}, (v3){2, 1, 4}, 7);
        skin_place(&s, q, scale, shift);
        skel_fit *fit = fit_of(&s, k_one_body, 1);

        const v3 joint = v3_mad(shift, -2 * scale, q_rotate(q, (v3){0, 0, 1}));
        const skel_fit_shape f = shape_of(fit, joint, NULL, 1);
        ck_assert_int_eq(f.shape, SKEL_SHAPE_BOX);
        near(f.size, edges, 3, 0.02 * scale);
        near(f.position, centre, 3, 0.01 * scale);
        near1(f.volume / (scale * scale * scale), 8, 0.1);
        near1(f.cover, 1, 0.01);
        ck_assert_double_gt(v3_dot(shape_axis(&f, 2), q_rotate(q, (v3){0, 0, 1})), COS_DEGREE);
        ck_assert_double_gt(fabs(v3_dot(shape_axis(&f, 0), q_rotate(q, (v3){1, 0, 0}))),
                            COS_DEGREE);
        ck_assert_double_eq(f.inside, 1);

        /* A link is never a box. */
        ck_assert_int_eq(shape_of(fit, joint, NULL, 0).shape, SKEL_SHAPE_CAPSULE);
        skel_fit_destroy(fit);
        skin_free(&s);
    }
}
END_TEST

START_TEST(outliers_do_not_matter) { /* 5 % of the area flies around the capsule */
    rng r = rng_seed(14);
    for (int k = 0; k < 10; ++k) {
        const double length = 3, radius = 0.5, area = 2 * k_pi * radius * (length + 2 * radius);
        const int count = 60;
        const double edge = sqrt(2 * 0.05 / 0.95 * area / count);
        skin s = skin_empty();
        skin_capsule(&s, length, radius, 40);
        for (int i = 0; i < count; ++i) {
            const v3 p = {rng_range(&r, -2, 2), rng_range(&r, -2, 2), rng_range(&r, -3, 3)};
            const int32_t a = skin_vertex(&s, p, 0);
            const int32_t b = skin_vertex(&s, v3_mad(p, edge, (v3){1, 0, 0}), 0);
            const int32_t c = skin_vertex(&s, v3_mad(p, edge, (v3){0, 0, 1}), 0);
            skin_triangle(&s, a, b, c);
        }
        skel_fit *fit = fit_of(&s, k_one_body, 1);
        const skel_fit_shape f = shape_of(fit, (v3){0, 0, -2}, NULL, 0);
        ck_assert_double_gt(v3_dot(shape_axis(&f, 2), (v3){0, 0, 1}), 0.9986); /* 3 degrees */
        near1(f.size[1], radius, 0.04 * radius);
        near1(f.size[0], length, 0.1 * length);
        ck_assert_double_gt(f.inside, 0.93);
        skel_fit_destroy(fit);
        skin_free(&s);
    }
}
END_TEST

START_TEST(a_long_joint_line_tells_the_direction) { /* a plate across it */
    skin s = skin_empty();
    skin_box(&s, (v3){0, 0, 0}, (v3){3, 2.5, 1}, 9);
    skel_fit *fit = fit_of(&s, k_one_body, 1);
    const v3 target = {0, 0, 8};
    const skel_fit_shape f = shape_of(fit, (v3){0, 0, -8}, &target, 0);
    ck_assert_double_gt(shape_axis(&f, 2).z, 0.8191);
    const skel_fit_shape loose = shape_of(fit, (v3){0, 0, 0}, NULL, 0);
    ck_assert_double_lt(fabs(shape_axis(&loose, 2).z), 0.1);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

START_TEST(a_scrap_of_skin_takes_the_radius_of_its_neighbours) {
    skin s = skin_empty(); /* bone 1 has a narrow ragged strip beside the joint line */
    skin_capsule(&s, 3, 0.5, 32);
    for (int i = 0; i < 4; ++i) {
        const double z = -2 + i, y = i % 2 ? 0.9 : 0.3;
        const int32_t a = skin_vertex(&s, (v3){3, y, z}, 1);
        const int32_t b = skin_vertex(&s, (v3){3, y + 0.2, z}, 1);
        const int32_t c = skin_vertex(&s, (v3){3, y, z + 1}, 1);
        skin_triangle(&s, a, b, c);
    }
    skel_fit *fit = fit_of(&s, k_two_bodies, 2);
    const double radii[2] = {0.2, 0.8};
    skel_fit_shape_desc d;
    skel_fit_shape f = {.struct_size = sizeof f};
    skel_fit_shape_desc_init(&d);
    d.body = 1;
    d.has_target = 1;
    v3_to((v3){3, 0, -2}, d.joint);
    v3_to((v3){3, 0, 2}, d.target);
    d.radii = radii;
    d.radius_count = 2;
    ck_assert_int_eq(skel_fit_solve_shape(fit, &d, &f, NULL), SKEL_OK);
    const double centre[3] = {3, 0, 0};
    near1(f.size[1], 0.4, 1e-12); /* the geometric mean */
    near(f.position, centre, 3, 1e-12);
    near1(f.size[0], 3.6, 1e-12);
    near1(shape_axis(&f, 2).z, 1, 1e-12);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

/* ---- bones ---- */

START_TEST(shares_add_up_to_one) {
    rng r = rng_seed(15);
    skin s = skin_empty();
    skin_box(&s, (v3){0, 0, 0}, (v3){1, 1, 4}, 8);
    for (uint32_t i = 0; i < s.vertex_count; ++i) { /* weights that are not normalised */
        s.weights[2 * i] = 7 * rng_unit(&r);
        s.weights[2 * i + 1] = 1e-3 + 3 * rng_unit(&r);
    }
    skel_fit *fit = fit_of(&s, k_two_bodies, 2);
    double shares[2];
    ck_assert_int_eq(skel_fit_get_shares(fit, shares), SKEL_OK);
    near1(shares[0] + shares[1], 1, 1e-12);
    near1(shares[0], 0.7, 0.1);
    skel_fit_destroy(fit);

    /* A linear weight along a box: half of each; min(w, 1 - w) has the mean 1/4. */
    for (uint32_t i = 0; i < s.vertex_count; ++i) {
        s.weights[2 * i + 1] = 0.5 + 0.25 * s.vertices[3 * i + 2];
        s.weights[2 * i] = 1 - s.weights[2 * i + 1];
    }
    fit = fit_of(&s, k_two_bodies, 2);
    ck_assert_int_eq(skel_fit_get_shares(fit, shares), SKEL_OK);
    near1(shares[0], 0.5, 1e-12);
    ck_assert_uint_eq(info_of(fit).pair_count, 1);

    int32_t pair[2];
    double share, again, middle[3];
    const double zero[3] = {0, 0, 0};
    ck_assert_int_eq(skel_fit_get_shared(fit, pair, &share), SKEL_OK);
    ck_assert_int_eq(pair[0], 0);
    ck_assert_int_eq(pair[1], 1);
    near1(share, 4.0 / 18, 1e-3); /* the ends, 2 of 18, share nothing */
    ck_assert_int_eq(skel_fit_get_shared_middle(fit, 1, 0, &again, middle), SKEL_OK);
    near1(again, share, 1e-12);
    near(middle, zero, 3, 0.02);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

START_TEST(vertices_without_weights_follow_nothing) {
    skin s = skin_empty();
    skin_box(&s, (v3){0, 0, 0}, (v3){1, 1, 1}, 4);
    for (uint32_t i = 0; i < s.vertex_count; ++i)
        if (s.vertices[3 * i + 2] == -0.5) s.weights[2 * i] = 0;
    skel_fit *fit = fit_of(&s, k_one_body, 1);
    double shares[2];
    ck_assert_int_eq(skel_fit_get_shares(fit, shares), SKEL_OK);
    near1(shares[0], (5 - 4 * 0.125) / 6, 1e-12); /* four sides fade over one of four squares */
    ck_assert_double_eq(shares[1], 0);
    ck_assert_uint_eq(info_of(fit).pair_count, 0);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

START_TEST(many_weights_keep_the_largest) {
    enum { BONES = 40 };
    const double vertices[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const int32_t triangle[3] = {0, 1, 2}, offsets[4] = {0, BONES, 2 * BONES, 3 * BONES};
    int32_t bones[3 * BONES];
    double weights[3 * BONES], shares[BONES], sum = 0;
    for (int k = 0; k < 3 * BONES; ++k) {
        bones[k] = k % BONES;
        weights[k] = 1e80 * (1 + k % BONES);
    }
    skel_fit_desc d;
    skel_fit *fit;
    skel_fit_desc_init(&d);
    d.vertex_count = 3, d.triangle_count = 1, d.bone_count = BONES, d.vertices = vertices;
    d.triangles = triangle, d.offsets = offsets, d.bones = bones, d.weights = weights;
    ck_assert_int_eq(skel_fit_create(&d, &fit, NULL), SKEL_OK);
    ck_assert_int_eq(skel_fit_get_shares(fit, shares), SKEL_OK);
    for (int k = 0; k < BONES; ++k) {
        ck_assert_int_eq(shares[k] > 0, k >= BONES - SKEL_FIT_WEIGHTS);
        sum += shares[k];
    }
    near1(sum, 1, 1e-12);
    ck_assert_uint_eq(info_of(fit).pair_count, SKEL_FIT_WEIGHTS * (SKEL_FIT_WEIGHTS - 1) / 2);
    skel_fit_destroy(fit);
}
END_TEST

START_TEST(the_reach_of_a_ball_is_its_radius) {
    skin s = skin_empty();
    skin_capsule(&s, 0, 2, 64);
    skin_place(&s, q_identity(), 1, (v3){5, 5, 5});
    skel_fit *fit = fit_of(&s, k_one_body, 1);
    const double centre[3] = {5, 5, 5}, pole[3] = {5, 5, 7};
    const int32_t first[1] = {0}, second[1] = {1};
    double reach;
    for (double fraction = 0; fraction <= 1; fraction += 0.25) {
        ck_assert_int_eq(skel_fit_get_reach(fit, first, 1, centre, fraction, &reach), SKEL_OK);
        near1(reach, 2, 0.01);

        /* From a pole, the share of the area within a distance d is d^2 / (4 r^2). */
        ck_assert_int_eq(skel_fit_get_reach(fit, first, 1, pole, fraction, &reach), SKEL_OK);
        if (fraction > 0) near1(reach, 4 * sqrt(fraction), 0.02);
    }
    ck_assert_int_eq(skel_fit_get_reach(fit, second, 1, centre, 0.95, &reach), SKEL_OK);
    ck_assert_double_eq(reach, 0);
    ck_assert_int_eq(skel_fit_get_reach(fit, NULL, 0, centre, 0.95, &reach), SKEL_OK);
    ck_assert_double_eq(reach, 0);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

/* ---- volumes ---- */

START_TEST(a_box_has_its_volume) { /* and the same if it is turned inside out */
    for (int k = 0; k < 6; ++k) {
        const double scale = k_scales[k / 2], cube = scale * scale * scale;
        const double centre[3] = {scale, 2 * scale, 3 * scale};
        skin s = skin_empty();
        skin_box(&s, (v3){1, 2, 3}, (v3){2, 3, 4}, 5);
        skin_place(&s, q_identity(), scale, (v3){0, 0, 0});
        for (uint32_t t = 0; k % 2 && t < s.triangle_count; ++t) {
            const int32_t first = s.triangles[3 * t];
            s.triangles[3 * t] = s.triangles[3 * t + 1];
            s.triangles[3 * t + 1] = first;
        }
        skel_fit *fit = fit_of(&s, k_one_body, 1);
        const skel_fit_info info = info_of(fit);
        double volume, found[3], open;
        ck_assert_int_eq(info.is_closed, 1);
        near1(info.volume / cube, k % 2 ? -24 : 24, 1e-9);
        near1(info.area / (scale * scale), 52, 1e-9);
        near1(info.size / scale, 4, 1e-12);
        ck_assert_int_eq(skel_fit_get_volumes(fit, &volume, found, &open), SKEL_OK);
        near1(volume / cube, 24, 1e-9);
        near(found, centre, 3, 1e-9 * scale);
        ck_assert_double_eq(open, 0);
        skel_fit_destroy(fit);
        skin_free(&s);
    }
}
END_TEST

START_TEST(a_turned_capsule_has_its_volume) {
    rng r = rng_seed(16);
    for (int k = 0; k < 6; ++k) {
        skin s = skin_empty();
        skin_capsule(&s, 2, 0.5, 32);
        skin_place(&s, random_turn(&r), 1, (v3){0, 0, 0});
        skel_fit *fit = fit_of(&s, k_one_body, 1);
        const skel_fit_info info = info_of(fit);
        const double zero[3] = {0, 0, 0};
        double volume, centre[3];
        ck_assert_int_eq(skel_fit_get_volumes(fit, &volume, centre, NULL), SKEL_OK);
        near1(volume, info.volume, 0.005 * info.volume);
        near(centre, zero, 3, 0.002);
        skel_fit_destroy(fit);
        skin_free(&s);
    }
}
END_TEST

START_TEST(overlapping_shells_count_once) {
    skin s = skin_empty();
    skin_box(&s, (v3){0, 0, 0}, (v3){2, 2, 2}, 3);
    skin_box(&s, (v3){1, 0.25, 0.5}, (v3){2, 1, 2}, 3);
    skel_fit *fit = fit_of(&s, k_one_body, 1);
    double volume, centre[3];
    near1(info_of(fit).volume, 8 + 4, 1e-9);
    ck_assert_int_eq(info_of(fit).is_closed, 1);
    ck_assert_int_eq(skel_fit_get_volumes(fit, &volume, centre, NULL), SKEL_OK);
    near1(volume, 8 + 4 - 1.5, 0.01 * 10.5);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

START_TEST(two_bodies_share_a_box_at_the_border_of_weights) {
    skin s = skin_empty();
    skin_box(&s, (v3){0, 0, 0}, (v3){1, 1, 4}, 40);
    skin_split(&s, 0.75); /* the middle of the squares between 0.7 and 0.8 */
    skel_fit *fit = fit_of(&s, k_two_bodies, 2);
    const double centres[6] = {0, 0, -0.625, 0, 0, 1.375};
    double volumes[2], found[6];
    ck_assert_int_eq(skel_fit_get_volumes(fit, volumes, found, NULL), SKEL_OK);
    near1(volumes[0] + volumes[1], 4, 1e-9);
    near1(volumes[0], 2.75, 0.03);
    near(found, centres, 6, 0.02);

    /* The shapes of both meet there, too. */
    const v3 joint = {0, 0, 0.75};
    skel_fit_shape_desc d;
    skel_fit_shape f = {.struct_size = sizeof f};
    skel_fit_shape_desc_init(&d);
    d.body = 1;
    d.is_end = 1;
    v3_to(joint, d.joint);
    ck_assert_int_eq(skel_fit_solve_shape(fit, &d, &f, NULL), SKEL_OK);
    near1(f.position[2], 1.375, 0.05);
    ck_assert_double_gt(shape_axis(&f, 2).z, 0.99);

    /* Bones without a body do not count: body 0 gets all of it. */
    const int32_t only_first[2] = {0, -1};
    ck_assert_int_eq(skel_fit_set_bodies(fit, only_first, 1, NULL), SKEL_OK);
    ck_assert_int_eq(skel_fit_get_volumes(fit, volumes, found, NULL), SKEL_OK);
    near1(volumes[0], 4, 1e-9);

    /* The numbers of bodies are only names. */
    const int32_t far[2] = {1000000, 7};
    double *many = calloc(4 * 1000001, sizeof *many);
    ck_assert_int_eq(skel_fit_set_bodies(fit, far, 1000001, NULL), SKEL_OK);
    ck_assert_int_eq(skel_fit_get_volumes(fit, many, many + 1000001, NULL), SKEL_OK);
    near1(many[1000000], 2.75, 0.03);
    near1(many[7], 1.25, 0.03);
    free(many);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

START_TEST(open_skins_say_so) {
    skin s = skin_empty();
    skin_box(&s, (v3){0, 0, 0}, (v3){1, 1, 1}, 10);
    s.triangle_count -= 1; /* a hole in a side: no column passes it */
    skel_fit *fit = fit_of(&s, k_one_body, 1);
    double volume, centre[3], open;
    ck_assert_int_eq(info_of(fit).is_closed, 0);
    ck_assert_int_eq(skel_fit_get_volumes(fit, &volume, centre, &open), SKEL_OK);
    ck_assert_double_eq(open, 0);
    near1(volume, 1, 1e-9);
    skel_fit_destroy(fit);
    skin_free(&s);

    s = skin_empty(); /* without a lid */
    skin_box(&s, (v3){0, 0, 0}, (v3){1, 1, 1}, 10);
    memmove(s.triangles, s.triangles + 3 * 200, (s.triangle_count - 200) * 3 * sizeof(int32_t));
    s.triangle_count -= 200;
    fit = fit_of(&s, k_one_body, 1);
    ck_assert_int_eq(skel_fit_get_volumes(fit, &volume, centre, &open), SKEL_OK);
    ck_assert_int_eq(info_of(fit).is_closed, 0);
    ck_assert_double_eq(open, 1);
    ck_assert_double_eq(volume, 0);
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

/* ---- the same surface gives the same ---- */

typedef struct summary {
    skel_fit_shape shapes[2];
    double shares[2], share, middle[3], volumes[2], centres[6];
    skel_fit_info info;
} summary;

/* Two boxes, one on the other, with weights that fade between them. */
static skin tower(void) {
    skin s = skin_empty();
    skin_box(&s, (v3){0, 0, 0}, (v3){1, 1.5, 2}, 12);
    skin_box(&s, (v3){0.21, 0, 1.8}, (v3){0.5, 0.62, 2}, 12); /* no face in the grid of columns */
    for (uint32_t i = 0; i < s.vertex_count; ++i) {
        const double w = fmin(1, fmax(0, 0.5 + 2 * (s.vertices[3 * i + 2] - 0.93)));
        s.weights[2 * i] = 1 - w;
        s.weights[2 * i + 1] = w;
    }
    return s;
}

static summary summary_of(const skin *s) {
    summary out;
    memset(&out, 0, sizeof out);
    skel_fit *fit = fit_of(s, k_two_bodies, 2);
    skel_fit_shape_desc d;
    skel_fit_shape_desc_init(&d);
    out.info = info_of(fit);
    for (int k = 0; k < 2; ++k) {
        out.shapes[k].struct_size = sizeof *out.shapes;
        d.body = k;
        d.is_end = k;
        d.joint[2] = (k - 1) * out.info.size / 4;
        ck_assert_int_eq(skel_fit_solve_shape(fit, &d, &out.shapes[k], NULL), SKEL_OK);
    }
    ck_assert_int_eq(skel_fit_get_shares(fit, out.shares), SKEL_OK);
    ck_assert_int_eq(skel_fit_get_shared_middle(fit, 0, 1, &out.share, out.middle), SKEL_OK);
    ck_assert_int_eq(skel_fit_get_volumes(fit, out.volumes, out.centres, NULL), SKEL_OK);
    skel_fit_destroy(fit);
    return out;
}

/* bound: of what depends on samples. exact: of shares and of the whole volume. */
static void summaries_near(const summary *a, const summary *b, double bound, double exact) {
    for (int k = 0; k < 2; ++k) {
        ck_assert_int_eq(a->shapes[k].shape, b->shapes[k].shape);
        near(a->shapes[k].size, b->shapes[k].size, 3, bound);
        near(a->shapes[k].position, b->shapes[k].position, 3, bound);
        near1(fabs(q_dot(q_of(a->shapes[k].orientation), q_of(b->shapes[k].orientation))), 1,
              bound * bound);
        near1(a->shapes[k].residual, b->shapes[k].residual, bound);
    }
    near(a->shares, b->shares, 2, exact);
    near(a->middle, b->middle, 3, bound);
    near(a->volumes, b->volumes, 2, bound);
    near1(a->volumes[0] + a->volumes[1], b->volumes[0] + b->volumes[1], exact);
    near(a->centres, b->centres, 6, bound);
    ck_assert_int_eq(a->info.is_closed, b->info.is_closed);
}

START_TEST(the_order_of_vertices_and_triangles_does_not_matter) {
    rng r = rng_seed(17);
    skin s = tower();
    const summary first = summary_of(&s);
    ck_assert_int_eq(first.info.is_closed, 1);
    for (int k = 0; k < 4; ++k) { /* the samples are others, so the fits agree as samples do */
        skin other = skin_shuffled(&s, &r);
        const summary second = summary_of(&other);
        summaries_near(&first, &second, 0.03, 1e-9);
        skin_free(&other);
    }
    skin_free(&s);
}
END_TEST

START_TEST(seams_do_not_matter) {
    rng r = rng_seed(18);
    skin s = tower();
    const summary first = summary_of(&s);
    skin split = skin_unwelded(&s, &r, 0); /* the same triangles in the same order: the same bits */
    summary second = summary_of(&split);
    ck_assert_mem_eq(&first, &second, sizeof first);
    skin_free(&split);

    split = skin_unwelded(&s, &r, 1e-6);
    second = summary_of(&split);
    ck_assert_int_eq(second.info.is_closed, 1);
    summaries_near(&first, &second, 1e-3, 3e-5); /* area 15 times the noise, and twice that */
    skin_free(&split);

    split = skin_unwelded(&s, &r, 1e-3); /* farther apart than welding goes */
    second = summary_of(&split);
    ck_assert_int_eq(second.info.is_closed, 0);
    skin_free(&split);
    skin_free(&s);
}
END_TEST

START_TEST(the_unit_does_not_matter) { /* powers of two scale all numbers without rounding */
    skin s = tower();
    const summary first = summary_of(&s);
    for (int k = 0; k < 2; ++k) {
        const double scale = k == 0 ? 0x1p-40 : 0x1p60;
        skin other = tower();
        skin_place(&other, q_identity(), scale, (v3){0, 0, 0});
        const summary second = summary_of(&other);
        for (int i = 0; i < 2; ++i) {
            const skel_fit_shape *a = &first.shapes[i], *b = &second.shapes[i];
            for (int j = 0; j < 3; ++j) ck_assert_double_eq(a->size[j] * scale, b->size[j]);
            for (int j = 0; j < 3; ++j) ck_assert_double_eq(a->position[j] * scale, b->position[j]);
            ck_assert_mem_eq(a->orientation, b->orientation, sizeof a->orientation);
            ck_assert_double_eq(a->residual, b->residual);
            ck_assert_double_eq(first.volumes[i] * scale * scale * scale, second.volumes[i]);
        }
        skin_free(&other);
    }
    skin_free(&s);
}
END_TEST

/* ---- bad and poor input ---- */

static void expect_refusal(const skel_fit_desc *d, const char *text) {
    skel_fit *fit = NULL;
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_eq(skel_fit_create(d, &fit, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_null(fit);
    ck_assert_msg(strstr(err.text, text) != NULL, "'%s' lacks '%s'", err.text, text);
}

START_TEST(malformed_skins_are_refused) {
    const double good_vertices[9] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    const int32_t good_triangle[3] = {0, 1, 2}, good_offsets[4] = {0, 1, 2, 3};
    const int32_t good_bones[3] = {0, 0, 1};
    const double good_weights[3] = {1, 1, 1};
    double vertices[9], weights[3];
    int32_t triangle[3], offsets[4], bones[3];
    skel_fit_desc good, d;
    skel_fit_desc_init(&good);
    good.vertex_count = 3, good.triangle_count = 1, good.bone_count = 2;
    good.vertices = vertices, good.triangles = triangle, good.offsets = offsets;
    good.bones = bones, good.weights = weights;

    for (int k = 0; k < 19; ++k) {
        memcpy(vertices, good_vertices, sizeof vertices);
        memcpy(triangle, good_triangle, sizeof triangle);
        memcpy(offsets, good_offsets, sizeof offsets);
        memcpy(bones, good_bones, sizeof bones);
        memcpy(weights, good_weights, sizeof weights);
        d = good;
        const char *text = NULL;
        switch (k) {
        case 0: vertices[4] = NAN, text = "vertices[4]: is"; break;
        case 1: vertices[8] = -INFINITY, text = "vertices[8]: is -inf"; break;
        case 2: vertices[0] = 1e200, text = "vertices[0]: is 1e+200"; break;
        case 3: triangle[1] = 3, text = "triangles[1]: is 3, must be the index"; break;
        case 4: triangle[2] = -1, text = "triangles[2]: is -1"; break;
        case 5: triangle[2] = 1, text = "without area"; break;
        case 6: vertices[7] = 0, text = "without area"; break; /* three points in a line */
        case 7: offsets[0] = 1, text = "offsets[0]: is 1"; break;
        case 8: offsets[2] = 0, text = "offsets[2]: is 0, must be at least 1"; break;
        case 9: bones[1] = 2, text = "bones[1]: is 2"; break;
        case 10: bones[2] = -1, text = "bones[2]: is -1"; break;
        case 11: weights[0] = -0.5, text = "weights[0]: is -0.5"; break;
        case 12: weights[2] = NAN, text = "weights[2]: is"; break;
        case 13: d.vertex_count = 0, text = "vertex_count: is 0"; break;
        case 14: d.triangle_count = 4000000000u, text = "triangle_count: is 4000000000"; break;
        case 15: d.bone_count = 0, text = "bone_count: is 0"; break;
        case 16: d.sample_count = 100001, text = "sample_count: is 100001"; break;
        case 17: d.vertices = NULL, text = "NULL"; break;
        default: d.weights = NULL, text = "NULL"; break;
        }
        expect_refusal(&d, text);
    }

    /* A point and a line are no skins either. */
    memset(vertices, 0, sizeof vertices);
    expect_refusal(&good, "without area");

    skel_fit *fit;
    ck_assert_int_eq(skel_fit_create(NULL, &fit, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_create(&good, NULL, NULL), SKEL_E_ARGUMENT);
    d = good;
    d.struct_size = 8;
    ck_assert_int_eq(skel_fit_create(&d, &fit, NULL), SKEL_E_STRUCT_SIZE);
    skel_fit_destroy(NULL);
}
END_TEST

START_TEST(malformed_questions_are_refused) {
    skin s = tower();
    skel_fit *fit = fit_of(&s, k_two_bodies, 2);
    const double point[3] = {0, 0, 0}, far[3] = {1e150, 0, 0}, nan3[3] = {NAN, 0, 0};
    const double bad_radius[1] = {-1};
    const int32_t bad[2] = {0, 2}, worse[2] = {-2, 0}, bone[1] = {5};
    double number, numbers[6];
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_eq(skel_fit_set_bodies(fit, bad, 2, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "body_of_bone[1]: is 2"));
    ck_assert_int_eq(skel_fit_set_bodies(fit, worse, 2, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_set_bodies(fit, bad, 4000000000u, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_get_reach(fit, bone, 1, point, 0.5, &number), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_get_reach(fit, bad, 1, nan3, 0.5, &number), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_get_reach(fit, bad, 1, far, 0.5, &number), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_get_reach(fit, bad, 1, point, 1.5, &number), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_get_shared_middle(fit, 0, 0, &number, numbers), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_get_shared_middle(fit, 0, 2, &number, numbers), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_get_volumes(fit, NULL, numbers, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_fit_get_shares(fit, NULL), SKEL_E_ARGUMENT);

    for (int k = 0; k < 6; ++k) {
        skel_fit_shape_desc d;
        skel_fit_shape f = {.struct_size = sizeof f};
        skel_fit_shape_desc_init(&d);
        if (k == 0) d.body = 2;
        if (k == 1) d.body = -1;
        if (k == 2) d.joint[0] = NAN;
        if (k == 3) d.has_target = 1, d.target[1] = 1e80;
        if (k == 4) d.radii = bad_radius, d.radius_count = 1;
        if (k == 5) d.radius_count = 1;
        err.text[0] = 0;
        ck_assert_int_eq(skel_fit_solve_shape(fit, &d, &f, &err), SKEL_E_ARGUMENT);
        ck_assert_int_gt((int)strlen(err.text), 10);
    }
    skel_fit_destroy(fit);
    skin_free(&s);
}
END_TEST

/* All numbers of a shape are finite and make sense. */
static void shape_is_sane(const skel_fit_shape *f) {
    ck_assert(all_finite(f->position, 3) && all_finite(f->orientation, 4) &&
              all_finite(f->size, 3));
    near1(q_dot(q_of(f->orientation), q_of(f->orientation)), 1, 1e-12);
    ck_assert(isfinite(f->residual) && isfinite(f->cover) && isfinite(f->volume));
    ck_assert_double_gt(f->volume, 0);
    ck_assert(f->inside >= 0 && f->inside <= 1);
}

START_TEST(few_samples_give_sane_shapes) {
    skin s = tower();
    for (uint32_t samples = 1; samples < 30; ++samples) {
        skel_fit_desc d = skin_desc(&s);
        skel_fit *fit;
        d.sample_count = samples;
        ck_assert_int_eq(skel_fit_create(&d, &fit, NULL), SKEL_OK);
        ck_assert_int_eq(skel_fit_set_bodies(fit, k_one_body, 1, NULL), SKEL_OK);
        const v3 target = {0, 0, 2};
        const skel_fit_shape found[3] = {shape_of(fit, (v3){0, 0, 0}, NULL, 1),
                                         shape_of(fit, (v3){0, 0, 0}, &target, 0),
                                         shape_of(fit, (v3){9, 9, 9}, NULL, 0)};
        for (int k = 0; k < 3; ++k) shape_is_sane(&found[k]);
        skel_fit_destroy(fit);
    }
    skin_free(&s);
}
END_TEST

START_TEST(needles_and_sheets_give_sane_shapes) {
    const double sizes[3] = {1e-90, 1, 1e99};
    for (int k = 0; k < 6; ++k) {
        const double size = sizes[k % 3], width = k < 3 ? 1e-4 * size : size;
        skin s = skin_empty();
        skin_vertex(&s, (v3){0, 0, 0}, 0);
        skin_vertex(&s, (v3){size, 0, 0}, 0);
        skin_vertex(&s, (v3){0, width, 0}, 0);
        skin_triangle(&s, 0, 1, 2);
        skel_fit *fit = fit_of(&s, k_two_bodies, 2);
        double volumes[2], centres[6], open;
        skel_fit_shape f = shape_of(fit, (v3){0, 0, 0}, NULL, k % 2);
        shape_is_sane(&f);
        ck_assert_int_eq(skel_fit_get_volumes(fit, volumes, centres, &open), SKEL_OK);
        ck_assert_double_eq(volumes[0], 0);

        /* No skin follows body 1. */
        skel_fit_shape_desc d;
        skel_fit_shape_desc_init(&d);
        d.body = 1;
        ck_assert_int_eq(skel_fit_solve_shape(fit, &d, &f, NULL), SKEL_OK);
        ck_assert_int_eq(f.shape, SKEL_SHAPE_NONE);
        ck_assert_uint_eq(f.sample_count, 0);
        ck_assert_double_eq(f.volume, 0);
        skel_fit_destroy(fit);
        skin_free(&s);
    }
}
END_TEST

START_TEST(random_bytes_do_no_harm) { /* triangles at random, also with huge and tiny numbers */
    for (int seed = 0; seed < 60; ++seed) {
        rng r = rng_seed(100 + (uint64_t)seed);
        skin s = skin_empty();
        const int vertices = 3 + rng_int(&r, 60), triangles = 1 + rng_int(&r, 200);
        for (int i = 0; i < vertices; ++i) {
            const double size = rng_int(&r, 4) ? 1 : pow(10, rng_range(&r, -90, 90));
            const v3 p = {rng_range(&r, -1, 1), rng_range(&r, -1, 1), rng_range(&r, -1, 1)};
            skin_vertex(&s, v3_scale(p, size), rng_unit(&r));
        }
        for (int i = 0; i < triangles; ++i)
            skin_triangle(&s, rng_int(&r, vertices), rng_int(&r, vertices), rng_int(&r, vertices));
        skel_fit_desc d = skin_desc(&s);
        skel_fit *fit;
        d.sample_count = 1 + (uint32_t)rng_int(&r, 500);
        if (skel_fit_create(&d, &fit, NULL) == SKEL_OK) {
            ck_assert_int_eq(skel_fit_set_bodies(fit, k_two_bodies, 2, NULL), SKEL_OK);
            double volumes[2], centres[6];
            ck_assert_int_eq(skel_fit_get_volumes(fit, volumes, centres, NULL), SKEL_OK);
            ck_assert(all_finite(volumes, 2) && all_finite(centres, 6));
            const skel_fit_shape f = shape_of(fit, v3_of(s.vertices), NULL, 1);
            if (f.shape != SKEL_SHAPE_NONE) shape_is_sane(&f);
            skel_fit_destroy(fit);
        }
        skin_free(&s);
    }
}
END_TEST

/* ---- memory ---- */

typedef struct counter {
    long calls, live, fail_at;
} counter;

static void *count_alloc(size_t size, void *user) {
    counter *c = user;
    if (++c->calls == c->fail_at) return NULL;
    ++c->live;
    return malloc(size);
}

static void count_free(void *memory, void *user) {
    --((counter *)user)->live;
    free(memory);
}

/* All functions once. */
static skel_status all_of_it(const skin *s, const skel_allocator *a) {
    skel_fit_desc d = skin_desc(s);
    skel_fit *fit = NULL;
    double volumes[2], centres[6];
    d.allocator = a;
    skel_status status = skel_fit_create(&d, &fit, NULL);
    if (status == SKEL_OK) {
        const counter *c = a->user;
        const long before = c->calls;
        ck_assert_int_eq(skel_fit_set_bodies(fit, k_two_bodies, 2, NULL), SKEL_OK);
        shape_of(fit, (v3){0, 0, 0}, NULL, 1);
        ck_assert_int_eq(c->calls, before); /* only volumes need more, for a while */
        ck_assert_int_eq(c->live, 1);
        status = skel_fit_get_volumes(fit, volumes, centres, NULL);
        ck_assert_int_eq(c->live, 1);
    }
    skel_fit_destroy(fit);
    return status;
}

START_TEST(running_out_of_memory) {
    counter c = {0};
    const skel_allocator a = {sizeof a, 0, count_alloc, count_free, &c};
    skin s = tower();
    ck_assert_int_eq(all_of_it(&s, &a), SKEL_OK);
    const long calls = c.calls;
    ck_assert_int_eq(calls, 5);
    for (long k = 1; k <= calls; ++k) {
        c = (counter){.fail_at = k};
        ck_assert_int_eq(all_of_it(&s, &a), SKEL_E_MEMORY);
        ck_assert_int_eq(c.live, 0);
    }
    skin_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("fit");
    TCase *c = tcase_create("skin");
    tcase_add_test(c, a_capsule_gives_itself);
    tcase_add_test(c, a_ball_gives_a_ball);
    tcase_add_test(c, a_cylinder_gives_its_axis);
    tcase_add_test(c, a_flat_free_end_gives_a_box);
    tcase_add_test(c, outliers_do_not_matter);
    tcase_add_test(c, a_long_joint_line_tells_the_direction);
    tcase_add_test(c, a_scrap_of_skin_takes_the_radius_of_its_neighbours);
    tcase_add_test(c, shares_add_up_to_one);
    tcase_add_test(c, vertices_without_weights_follow_nothing);
    tcase_add_test(c, many_weights_keep_the_largest);
    tcase_add_test(c, the_reach_of_a_ball_is_its_radius);
    tcase_add_test(c, a_box_has_its_volume);
    tcase_add_test(c, a_turned_capsule_has_its_volume);
    tcase_add_test(c, overlapping_shells_count_once);
    tcase_add_test(c, two_bodies_share_a_box_at_the_border_of_weights);
    tcase_add_test(c, open_skins_say_so);
    tcase_add_test(c, the_order_of_vertices_and_triangles_does_not_matter);
    tcase_add_test(c, seams_do_not_matter);
    tcase_add_test(c, the_unit_does_not_matter);
    tcase_add_test(c, malformed_skins_are_refused);
    tcase_add_test(c, malformed_questions_are_refused);
    tcase_add_test(c, few_samples_give_sane_shapes);
    tcase_add_test(c, needles_and_sheets_give_sane_shapes);
    tcase_add_test(c, random_bytes_do_no_harm);
    tcase_add_test(c, running_out_of_memory);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
