/* SPDX-License-Identifier: BSD-3-Clause */
/* Mimic joints. A mimic joint has q = multiplier q_source + offset. Its source joint may be a mimic
   itself, so mimics form chains. Every chain is reduced to its last joint, the root:
     q_source = f q_root + s   =>   q = (multiplier f) q_root + (multiplier s + offset).
   Both joints need one coordinate, and both must be tree joints, because the coordinate of a loop
   joint follows from the others. */
#include "model/mimic.h"

#include "base/error.h"

#define MIMIC_NONE (-1)    /* mimic_root of a joint that is not a mimic, or is not resolved yet */
#define MIMIC_VISITED (-2) /* mimic_root of a joint on the chain that is being resolved */

/* Whether joint j may be the mimic or the source; `mimic` is the joint to name in the error. */
static skel_status check_joint(const skel_model *m, int32_t j, int32_t mimic, skel_error *err) {
    const skel__joint *joint = &m->joint[j];

    if (!skel__joint_kinds[joint->type].has_axis)
        return skel__fail(err, SKEL_E_JOINT, -1, mimic,
                          "joints[%d].mimic: '%s' is a %s joint, both joints must have one "
                          "coordinate",
                          mimic, joint->name, skel__joint_kinds[joint->type].name);
    if (joint->is_loop)
        return skel__fail(err, SKEL_E_JOINT, -1, mimic,
                          "joints[%d].mimic: '%s' closes a loop, both joints must be in the tree",
                          mimic, joint->name);
    return SKEL_OK;
}

/* Reduces the chain that begins at joint j. */
static skel_status resolve_chain(skel_model *m, int32_t j, int32_t *stack, skel_error *err) {
    skel__joint *joint = m->joint;

    /* Go along the chain to its end, or to a joint that is resolved. */
    int32_t depth = 0;
    int32_t at = j;
    while (joint[at].mimic.source >= 0 && joint[at].mimic_root == MIMIC_NONE) {
        joint[at].mimic_root = MIMIC_VISITED;
        stack[depth++] = at;
        at = joint[at].mimic.source;
    }
    if (joint[at].mimic_root == MIMIC_VISITED)
        return skel__fail(err, SKEL_E_JOINT, -1, j,
                          "joints[%d].mimic: the chain of mimic joints is cyclic at '%s', must end "
                          "at a joint without mimic",
                          j, joint[at].name);

    /* Go back and apply the equation of the head comment. The chain's root has f = 1, s = 0. */
    while (depth > 0) {
        skel__joint *k = &joint[stack[--depth]];
        const skel__joint *source = &joint[k->mimic.source];
        const int is_root = source->mimic_root < 0;

        k->mimic_root = is_root ? k->mimic.source : source->mimic_root;
        k->mimic_factor = k->mimic.multiplier * (is_root ? 1 : source->mimic_factor);
        k->mimic_shift =
            k->mimic.multiplier * (is_root ? 0 : source->mimic_shift) + k->mimic.offset;
        if (!isfinite(k->mimic_factor) || !isfinite(k->mimic_shift))
            return skel__fail(err, SKEL_E_JOINT, -1, j,
                              "joints[%d].mimic: the product of the multipliers or the sum of the "
                              "offsets along its chain must be finite",
                              j);
    }
    return SKEL_OK;
}

skel_status skel__mimic_resolve(skel_model *m, int32_t *stack, skel_error *err) {
    /* All mimics are checked before any chain is followed: an index may be out of range. */
    for (int32_t j = 0; j < m->nj; ++j) {
        const int32_t source = m->joint[j].mimic.source;
        if (source == -1) continue;

        if (source < 0 || source >= m->nj || source == j)
            return skel__fail(err, SKEL_E_JOINT, -1, j,
                              "joints[%d].mimic: is %d, must be the index of another joint", j,
                              source);
        SKEL__CHECK(check_joint(m, j, j, err));
        SKEL__CHECK(check_joint(m, source, j, err));
        m->mimic_joint[m->nmimic++] = j;
    }

    for (int32_t k = 0; k < m->nmimic; ++k)
        SKEL__CHECK(resolve_chain(m, m->mimic_joint[k], stack, err));
    return SKEL_OK;
}
