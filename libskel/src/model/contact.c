/* SPDX-License-Identifier: BSD-3-Clause */
/* Where bodies may touch. */
#include "model/model.h"

skel_status skel__contacts_build(skel_model *m, skel_error *err) {
    (void)err;
    m->spot = NULL;
    m->ns = m->nm = 0;
    return SKEL_OK;
}
