/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation of a model in three steps: bodies and joints, the contact candidates between them, and
   the numbering of internal variables, which begins with the candidates. */
#include "base/alloc.h"
#include "base/error.h"
#include "contact/contact.h"

skel_status skel_model_create(const skel_model_desc *desc, skel_model **out, skel_error *err) {
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;

    skel_model *model = NULL;
    skel_status status = skel__model_build(desc, &model, err);
    if (status != SKEL_OK) return status;

    status = skel__contact_candidates_build(model, err);
    if (status != SKEL_OK) {
        skel_model_destroy(model);
        return status;
    }

    skel__model_count_joint_forces(model);
    *out = model;
    return SKEL_OK;
}

void skel_model_destroy(skel_model *model) {
    if (!model) return;

    const skel_allocator allocator = model->allocator;
    skel__free(&allocator, model->candidate);
    skel__free(&allocator, model);
}
