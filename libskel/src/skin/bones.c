/* SPDX-License-Identifier: BSD-3-Clause */
/* Which skin follows which bones: shares, shared skin, reach, and the bodies of the samples. */
#include "base/error.h"
#include "skin/skin.h"

#include <string.h>

static int is_bone(const skel_fit *f, int32_t bone) {
    return bone >= 0 && bone < f->bone_count;
}

skel_status skel_fit_get_shares(const skel_fit *fit, double *shares) {
    if (!fit || !shares) return SKEL_E_ARGUMENT;
    memcpy(shares, fit->shares, (size_t)fit->bone_count * sizeof *shares);
    return SKEL_OK;
}

skel_status skel_fit_get_shared(const skel_fit *fit, int32_t *pairs, double *shares) {
    if (!fit || (fit->pair_count > 0 && (!pairs || !shares))) return SKEL_E_ARGUMENT;
    if (fit->pair_count <= 0) return SKEL_OK;
    memcpy(pairs, fit->pairs, 2 * (size_t)fit->pair_count * sizeof *pairs);
    memcpy(shares, fit->pair_shares, (size_t)fit->pair_count * sizeof *shares);
    return SKEL_OK;
}

static double weight_of(const skel_fit *f, int32_t sample, int32_t bone) {
    for (int32_t k = f->row[sample]; k < f->row[sample + 1]; ++k)
        if (f->row_bones[k] == bone) return f->row_weights[k];
    return 0;
}

skel_status skel_fit_get_shared_middle(const skel_fit *fit, int32_t a, int32_t b, double *share,
                                       double middle[3]) {
    if (!fit || !share || !middle || !is_bone(fit, a) || !is_bone(fit, b) || a == b)
        return SKEL_E_ARGUMENT;

    double sum = 0;
    v3 moment = {0, 0, 0};
    for (int32_t i = 0; i < fit->sample_count; ++i) {
        const double both = fmin(weight_of(fit, i, a), weight_of(fit, i, b));
        sum += both;
        moment = v3_mad(moment, both, fit->samples[i]);
    }

    *share = sum / fit->sample_count;
    if (sum > 0) v3_to(skel__skin_outside(fit, v3_scale(moment, 1 / sum)), middle);
    return SKEL_OK;
}

skel_status skel_fit_get_reach(skel_fit *fit, const int32_t *bones, uint32_t count,
                               const double point[3], double fraction, double *reach) {
    if (!fit || (count > 0 && !bones) || !point || !reach) return SKEL_E_ARGUMENT;
    if (!skel__skin_is_point(point) || !(fraction >= 0 && fraction <= 1)) return SKEL_E_ARGUMENT;
    for (uint32_t k = 0; k < count; ++k)
        if (!is_bone(fit, bones[k])) return SKEL_E_ARGUMENT;

    /* Marks of the bones of the set. */
    memset(fit->bone_sums, 0, (size_t)fit->bone_count * sizeof *fit->bone_sums);
    for (uint32_t k = 0; k < count; ++k) fit->bone_sums[bones[k]] = 1;

    int32_t found = 0;
    const v3 from = skel__skin_inside(fit, point);
    for (int32_t i = 0; i < fit->sample_count; ++i)
        if (fit->strongest[i] >= 0 && fit->bone_sums[fit->strongest[i]] > 0)
            fit->numbers[found++] = v3_norm(v3_sub(fit->samples[i], from));

    *reach = found > 0 ? fit->unit * skel__quantile(fit->numbers, found, fraction) : 0;
    return SKEL_OK;
}

/* ---- bodies ---- */

/* The first bone of every body becomes the lead of its bones. */
static void find_leads(skel_fit *f) {
    int32_t count = 0;
    for (int32_t i = 0; i < f->bone_count; ++i) {
        f->lead_of_bone[i] = -1;
        if (f->body_of_bone[i] >= 0)
            f->bone_keys[count++] = (skel__keyed){f->body_of_bone[i] * SKEL__SKIN_KEY_BASE + i, i};
    }
    skel__sort_keyed(f->bone_keys, f->bone_keys + f->bone_count, (size_t)count);

    int32_t lead = -1;
    for (int32_t k = 0; k < count; ++k) {
        const int32_t bone = (int32_t)f->bone_keys[k].value;
        if (lead < 0 || f->body_of_bone[lead] != f->body_of_bone[bone]) lead = bone;
        f->lead_of_bone[bone] = lead;
    }
}

/* The lead of the body with the largest sum of weights at a sample; -1: none. Sums are 0 before and
   after. */
static int32_t body_at(const skel_fit *f, int32_t sample, double *sums) {
    int32_t best = -1;
    for (int32_t k = f->row[sample]; k < f->row[sample + 1]; ++k) {
        const int32_t lead = f->lead_of_bone[f->row_bones[k]];
        if (lead >= 0) sums[lead] += f->row_weights[k];
    }
    for (int32_t k = f->row[sample]; k < f->row[sample + 1]; ++k) {
        const int32_t lead = f->lead_of_bone[f->row_bones[k]];
        if (lead < 0 || !(sums[lead] > 0)) continue;
        if (best < 0 || sums[lead] > sums[best] || (sums[lead] == sums[best] && lead < best))
            best = lead;
    }
    for (int32_t k = f->row[sample]; k < f->row[sample + 1]; ++k) {
        const int32_t lead = f->lead_of_bone[f->row_bones[k]];
        if (lead >= 0) sums[lead] = 0;
    }
    return best;
}

skel_status skel_fit_set_bodies(skel_fit *fit, const int32_t *body_of_bone, uint32_t body_count,
                                skel_error *err) {
    if (!fit || !body_of_bone)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "fit or body_of_bone: is NULL");
    if (body_count > SKEL_FIT_COUNT_MAX)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "body_count: is %u, must be 0 to %d",
                          body_count, SKEL_FIT_COUNT_MAX);
    for (int32_t i = 0; i < fit->bone_count; ++i)
        if (body_of_bone[i] < -1 || body_of_bone[i] >= (int32_t)body_count)
            return skel__fail(err, SKEL_E_ARGUMENT, body_of_bone[i], -1,
                              "body_of_bone[%d]: is %d, must be -1 (none) or less than %u", i,
                              body_of_bone[i], body_count);

    fit->body_count = (int32_t)body_count;
    memcpy(fit->body_of_bone, body_of_bone, (size_t)fit->bone_count * sizeof *body_of_bone);
    find_leads(fit);

    memset(fit->bone_sums, 0, (size_t)fit->bone_count * sizeof *fit->bone_sums);
    for (int32_t i = 0; i < fit->sample_count; ++i) fit->lead[i] = body_at(fit, i, fit->bone_sums);
    return SKEL_OK;
}
