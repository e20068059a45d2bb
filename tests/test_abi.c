/* SPDX-License-Identifier: BSD-3-Clause */
/* The promises to a program that was compiled against other headers: texts for every status, and
   structs that grow at the end. tests/abi.txt and tests/python/test_ffi.py pin constants, sizes and
   offsets. */
#include "base/desc.h"
#include "shared/near.h"

#include <skel/skel.h>

#include <check.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- status numbers, versions --------------------------------------------------------------- */

START_TEST(every_number_has_a_text) {
    const int32_t far[] = {INT32_MIN, INT32_MAX, -9999, 12345};
    for (int32_t i = -300; i <= 300; ++i) ck_assert_ptr_nonnull(skel_status_text(i));
    for (size_t i = 0; i < sizeof far / sizeof *far; ++i) {
        ck_assert_ptr_nonnull(skel_status_text(far[i]));
        ck_assert(skel_status_text(far[i])[0] != '\0');
    }
    ck_assert_str_eq(skel_status_text(SKEL_OK), "success");
    ck_assert_str_eq(skel_status_text(SKEL_E_MEMORY), "out of memory");
    ck_assert_str_ne(skel_status_text(-9999), skel_status_text(SKEL_OK));
}
END_TEST

START_TEST(versions_agree) {
    char text[32];
    snprintf(text, sizeof text, "%d.%d.%d", SKEL_VERSION_MAJOR, SKEL_VERSION_MINOR,
             SKEL_VERSION_PATCH);
    ck_assert_str_eq(skel_version(), text);
    ck_assert_str_eq(skel_version(), SKEL_PROJECT_VERSION);
    ck_assert_uint_eq(skel_abi_version(), SKEL_ABI_VERSION);
    ck_assert_uint_eq(skel_abi_version() >> 16, 1);
}
END_TEST

/* ---- structs that grow ----------------------------------------------------------------------- */

/* The same descs as a caller of a later version would fill them. */
typedef struct later_model {
    skel_model_desc desc;
    unsigned char tail[16];
} later_model;
typedef struct later_body {
    skel_body_desc desc;
    unsigned char tail[16];
} later_body;
typedef struct later_joint {
    skel_joint_desc desc;
    unsigned char tail[16];
} later_joint;
typedef struct later_ground {
    skel_ground_desc desc;
    unsigned char tail[16];
} later_ground;
typedef struct later_wobble {
    skel_wobble_desc desc;
    unsigned char tail[16];
} later_wobble;
typedef struct later_field {
    skel_field_desc desc;
    unsigned char tail[16];
} later_field;
typedef struct later_bake {
    skel_bake_desc desc;
    unsigned char tail[16];
} later_bake;
typedef struct later_step {
    skel_step_desc desc;
    unsigned char tail[16];
} later_step;

/* Two bodies, a hinge to the world and a hinge between them; a soft mass on the second, above a
   ground, in a field. */
typedef struct pendulum {
    later_model model;
    later_body body[3];
    later_joint joint[2];
    later_ground ground;
    later_wobble wobble;
    later_field field;
} pendulum;

static void surround(pendulum *p) {
    skel_ground_desc_init_sized(&p->ground.desc, sizeof p->ground);
    skel_wobble_desc_init_sized(&p->wobble.desc, sizeof p->wobble);
    skel_field_desc_init_sized(&p->field.desc, sizeof p->field);
    p->wobble.desc.body = 2;
    p->wobble.desc.host = 1;
    p->body[2].desc.name = "calf";
    p->body[2].desc.position[0] = 1.5;
    p->ground.desc.point[2] = -9;
    p->model.desc.grounds = &p->ground.desc;
    p->model.desc.ground_count = 1;
    p->model.desc.ground_stride = sizeof p->ground;
    p->model.desc.wobbles = &p->wobble.desc;
    p->model.desc.wobble_count = 1;
    p->model.desc.wobble_stride = sizeof p->wobble;
    p->model.desc.fields = &p->field.desc;
    p->model.desc.field_count = 1;
    p->model.desc.field_stride = sizeof p->field;
}

static void pendulum_init(pendulum *p) {
    memset(p, 0, sizeof *p);
    skel_model_desc_init_sized(&p->model.desc, sizeof p->model);
    p->model.desc.body_count = 3;
    p->model.desc.bodies = &p->body[0].desc;
    p->model.desc.body_stride = sizeof p->body[0];
    p->model.desc.joint_count = 2;
    p->model.desc.joints = &p->joint[0].desc;
    p->model.desc.joint_stride = sizeof p->joint[0];
    for (int i = 0; i < 3; ++i) {
        skel_body_desc_init_sized(&p->body[i].desc, sizeof p->body[i]);
        p->body[i].desc.mass = 1.0;
        p->body[i].desc.inertia[0] = 0.01;
        p->body[i].desc.inertia[1] = 0.1;
        p->body[i].desc.inertia[2] = 0.1;
    }
    surround(p);
    for (int i = 0; i < 2; ++i) {
        skel_joint_desc_init_sized(&p->joint[i].desc, sizeof p->joint[i]);
        p->body[i].desc.name = i == 0 ? "upper" : "lower";
        p->body[i].desc.position[0] = 0.5 + i;
        p->joint[i].desc.name = i == 0 ? "top" : "elbow";
        p->joint[i].desc.type = SKEL_JOINT_HINGE;
        p->joint[i].desc.parent = i - 1;
        p->joint[i].desc.child = i;
        p->joint[i].desc.parent_position[0] = i == 0 ? 0.0 : 0.5;
        p->joint[i].desc.child_position[0] = -0.5;
    }
}

static skel_status create_and_drop(const pendulum *p) {
    skel_model *model = NULL;
    const skel_status status = skel_model_create(&p->model.desc, &model, NULL);
    ck_assert((status == SKEL_OK) == (model != NULL));
    skel_model_destroy(model);
    return status;
}

START_TEST(a_later_caller_is_served) {
    pendulum p;
    pendulum_init(&p);
    ck_assert_uint_eq(p.model.desc.struct_size, sizeof p.model);
    ck_assert_int_eq(create_and_drop(&p), SKEL_OK);
}
END_TEST

START_TEST(a_later_caller_using_what_we_do_not_know_is_refused) {
    pendulum p;
    unsigned char *tails[] = {p.model.tail,    p.body[0].tail, p.body[1].tail, p.joint[0].tail,
                              p.joint[1].tail, p.ground.tail,  p.wobble.tail,  p.field.tail};
    for (size_t i = 0; i < sizeof tails / sizeof *tails; ++i)
        for (size_t k = 0; k < sizeof p.model.tail; k += sizeof p.model.tail - 1) {
            pendulum_init(&p);
            tails[i][k] = 1;
            ck_assert_int_eq(create_and_drop(&p), SKEL_E_STRUCT_SIZE);
        }
}
END_TEST

START_TEST(a_desc_below_version_1_is_refused) {
    pendulum p;
    uint32_t *sizes[] = {&p.model.desc.struct_size,    &p.body[0].desc.struct_size,
                         &p.body[1].desc.struct_size,  &p.joint[0].desc.struct_size,
                         &p.joint[1].desc.struct_size, &p.ground.desc.struct_size,
                         &p.wobble.desc.struct_size,   &p.field.desc.struct_size};
    const uint32_t v1[] = {sizeof(skel_model_desc),  sizeof(skel_body_desc),
                           sizeof(skel_body_desc),   sizeof(skel_joint_desc),
                           sizeof(skel_joint_desc),  sizeof(skel_ground_desc),
                           sizeof(skel_wobble_desc), sizeof(skel_field_desc)};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const uint32_t small[] = {0, 4, 8, v1[i] - 8, v1[i] - 1};
        for (size_t k = 0; k < sizeof small / sizeof *small; ++k) {
            pendulum_init(&p);
            *sizes[i] = small[k];
            ck_assert_int_eq(create_and_drop(&p), SKEL_E_STRUCT_SIZE);
        }
        pendulum_init(&p);
        *sizes[i] = v1[i];
        ck_assert_int_eq(create_and_drop(&p), SKEL_OK);
    }
}
END_TEST

START_TEST(steps_and_bakes_are_sized_too) {
    pendulum p;
    skel_model *model = NULL;
    skel_state *state = NULL;
    skel_bake *bake = NULL;
    later_step step = {0};
    later_bake desc = {0};
    pendulum_init(&p);
    ck_assert_int_eq(skel_model_create(&p.model.desc, &model, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_create(model, &state, NULL), SKEL_OK);

    skel_step_desc_init_sized(&step.desc, sizeof step);
    step.desc.h = 1e-3;
    ck_assert_int_eq(skel_step(state, &step.desc, NULL), SKEL_OK);
    step.tail[3] = 1;
    ck_assert_int_eq(skel_step(state, &step.desc, NULL), SKEL_E_STRUCT_SIZE);
    step.tail[3] = 0;
    step.desc.struct_size = 16;
    ck_assert_int_eq(skel_step(state, &step.desc, NULL), SKEL_E_STRUCT_SIZE);

    skel_bake_desc_init_sized(&desc.desc, sizeof desc);
    desc.desc.model = model;
    desc.desc.sample_count = 2;
    ck_assert_int_eq(skel_bake_start(&desc.desc, &bake, NULL), SKEL_OK);
    skel_bake_destroy(bake);
    desc.tail[15] = 1;
    ck_assert_int_eq(skel_bake_start(&desc.desc, &bake, NULL), SKEL_E_STRUCT_SIZE);
    ck_assert_ptr_null(bake);
    desc.tail[15] = 0;
    desc.desc.struct_size = sizeof desc.desc - 8;
    ck_assert_int_eq(skel_bake_start(&desc.desc, &bake, NULL), SKEL_E_STRUCT_SIZE);
    ck_assert_ptr_null(bake);

    skel_state_destroy(state);
    skel_model_destroy(model);
}
END_TEST

/* No public struct has grown yet; this one has. */
typedef struct grown {
    uint32_t struct_size;
    int32_t first; /* of the first release */
    double later;
} grown;
enum { GROWN_LEAST = offsetof(grown, later) };

START_TEST(a_struct_that_has_grown_serves_old_callers) {
    grown in = {.struct_size = GROWN_LEAST, .first = 3, .later = 4};
    grown out = {.struct_size = sizeof out, .first = 1, .later = 2};
    ck_assert_int_eq(skel__desc_import(&out, sizeof out, GROWN_LEAST, &in), SKEL_OK);
    ck_assert_int_eq(out.first, 3);
    ck_assert_double_eq(out.later, 2);
    in.struct_size = GROWN_LEAST - 1;
    ck_assert_int_eq(skel__desc_import(&out, sizeof out, GROWN_LEAST, &in), SKEL_E_STRUCT_SIZE);

    /* Results: the old caller gets the fields that it knows. */
    const grown full = {.struct_size = sizeof full, .first = 5, .later = 6};
    ck_assert_int_eq(skel__desc_export(&in, &full, sizeof full, GROWN_LEAST), SKEL_E_STRUCT_SIZE);
    in.struct_size = GROWN_LEAST;
    ck_assert_int_eq(skel__desc_export(&in, &full, sizeof full, GROWN_LEAST), SKEL_OK);
    ck_assert_uint_eq(in.struct_size, GROWN_LEAST);
    ck_assert_int_eq(in.first, 5);
    ck_assert_double_eq(in.later, 4);
}
END_TEST

START_TEST(init_writes_no_byte_too_many) {
    struct {
        skel_model_desc desc;
        unsigned char guard[8];
    } d;
    const size_t sizes[] = {4, 8, 24, sizeof d.desc - 8, sizeof d.desc};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        memset(&d, 0xAB, sizeof d);
        skel_model_desc_init_sized(&d.desc, sizes[i]);
        ck_assert_uint_eq(d.desc.struct_size, sizes[i]);
        const unsigned char *bytes = (const unsigned char *)&d;
        for (size_t k = sizes[i]; k < sizeof d; ++k) ck_assert_uint_eq(bytes[k], 0xAB);
    }
}
END_TEST

int main(void) {
    Suite *suite = suite_create("abi");
    TCase *tcase = tcase_create("abi");
    tcase_add_test(tcase, every_number_has_a_text);
    tcase_add_test(tcase, versions_agree);
    tcase_add_test(tcase, a_later_caller_is_served);
    tcase_add_test(tcase, a_later_caller_using_what_we_do_not_know_is_refused);
    tcase_add_test(tcase, a_desc_below_version_1_is_refused);
    tcase_add_test(tcase, steps_and_bakes_are_sized_too);
    tcase_add_test(tcase, a_struct_that_has_grown_serves_old_callers);
    tcase_add_test(tcase, init_writes_no_byte_too_many);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
