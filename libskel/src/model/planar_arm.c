/* SPDX-License-Identifier: BSD-3-Clause */
/* The planar arm of the lecture [SIE 8.1.1] as a model: links along x, hinges about z. */
#include "base/alloc.h"
#include "base/error.h"
#include "model/model.h"

#include <skel/skel_ik.h>
#include <stdio.h>

#define ARM_NAME_BYTES 16 /* "joint" and a number of 10 digits */
#define ARM_LINKS_MAX 100000

static void fill(const double root[2], const double *lengths, uint32_t count, skel_body_desc *body,
                 skel_joint_desc *joint, char *names) {
    for (uint32_t k = 0; k < count; ++k) {
        char *link = names + 2 * ARM_NAME_BYTES * (size_t)k;
        char *hinge = link + ARM_NAME_BYTES;
        snprintf(link, ARM_NAME_BYTES, "link%u", k + 1);
        snprintf(hinge, ARM_NAME_BYTES, "joint%u", k + 1);

        skel_body_desc_init(&body[k]);
        body[k].name = link;
        body[k].unplaced = 1;

        /* The hinges lie at both ends of a link, half its length from the centre. */
        skel_joint_desc_init(&joint[k]);
        joint[k].name = hinge;
        joint[k].type = SKEL_JOINT_HINGE;
        joint[k].parent = (int32_t)k - 1;
        joint[k].child = (int32_t)k;
        joint[k].child_position[0] = -0.5 * lengths[k];
        if (k > 0) {
            joint[k].parent_position[0] = 0.5 * lengths[k - 1];
        } else {
            joint[k].parent_position[0] = root[0];
            joint[k].parent_position[1] = root[1];
        }
    }
}

skel_status skel_model_create_planar(const double root[2], const double *lengths, uint32_t count,
                                     skel_model **out, skel_error *err) {
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;

    if (!root || !lengths || count == 0 || count > ARM_LINKS_MAX)
        return skel__fail(
            err, SKEL_E_ARGUMENT, -1, -1,
            "root and lengths must not be NULL, and count, which is %u, must be 1 to %d", count,
            ARM_LINKS_MAX);
    for (uint32_t k = 0; k < count; ++k)
        if (!(lengths[k] > 0 && isfinite(lengths[k])))
            return skel__fail(err, SKEL_E_ARGUMENT, (int32_t)k, -1,
                              "lengths[%u]: is %g m, must be finite and > 0", k, lengths[k]);

    const skel_allocator a = skel__allocator_default();
    skel_body_desc *body = skel__alloc(&a, count * sizeof *body);
    skel_joint_desc *joint = skel__alloc(&a, count * sizeof *joint);
    char *names = skel__alloc(&a, 2 * ARM_NAME_BYTES * (size_t)count);

    skel_status status = SKEL_E_MEMORY;
    if (body && joint && names) {
        skel_model_desc d;
        fill(root, lengths, count, body, joint, names);
        skel_model_desc_init(&d);
        d.bodies = body;
        d.body_count = count;
        d.joints = joint;
        d.joint_count = count;
        status = skel_model_create(&d, out, err);
    } else {
        skel__fail(err, status, -1, -1, "out of memory for an arm of %u links", count);
    }

    skel__free(&a, body);
    skel__free(&a, joint);
    skel__free(&a, names);
    return status;
}
