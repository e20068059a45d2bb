/* SPDX-License-Identifier: BSD-3-Clause */
/* Denavit-Hartenberg tables: the object, its frames, the two conventions, and the way to paired
   joint frames. The order of the transforms is that of [ERL] (one last thing) read with ERRATA S10
   to S12 and E11. */
#include "model/dh.h"

#include "base/alloc.h"
#include "base/desc.h"
#include "base/error.h"

#include <string.h>

_Static_assert(sizeof(skel_dh_row) == offsetof(skel_dh_row, normal_distance) + 8, "tail padding");
_Static_assert(sizeof(skel_dh_receipt) == offsetof(skel_dh_receipt, turned_count) + 4,
               "tail padding");

#define DESC_ROW_V1 offsetof(skel_dh_row, turned)

static const skel_dh_row k_row = {.struct_size = sizeof k_row,
                                  .type = SKEL_JOINT_HINGE,
                                  .sign = 1.0,
                                  .joint = -1,
                                  .relation = SKEL_DH_SKEW};

static const skel_dh_desc k_desc = {.struct_size = sizeof k_desc,
                                    .row_stride = sizeof(skel_dh_row),
                                    .base = {0, 0, 0, 1},
                                    .tool = {0, 0, 0, 1}};

void skel_dh_desc_init_sized(skel_dh_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}
void skel_dh_row_init_sized(skel_dh_row *row, size_t size) {
    skel__desc_init(row, size, &k_row, sizeof k_row);
}

/* ---- checks ---------------------------------------------------------------------------------- */

skel_status skel__dh_check_pose(const char *field, const double x[7], skel_error *err) {
    for (int k = 0; k < 7; ++k)
        if (!isfinite(x[k]))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "%s: is %g, must be finite", field,
                              x[k]);
    const double n = sqrt(q_dot(q_of(x + 3), q_of(x + 3)));
    if (fabs(n - 1.0) <= 1e-3) return SKEL_OK;
    return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "%s: its quaternion has length %g, must be 1",
                      field, n);
}

static skel_status check_row(const skel_dh_row *r, int32_t i, skel_error *err) {
    const double number[] = {r->a, r->alpha, r->d, r->theta, r->offset};
    if (r->type != SKEL_JOINT_HINGE && r->type != SKEL_JOINT_SLIDE)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, i, "rows[%d].type: is %d, must be 1 or 2", i,
                          r->type);
    for (size_t k = 0; k < sizeof number / sizeof *number; ++k)
        if (!isfinite(number[k]))
            return skel__fail(err, SKEL_E_ARGUMENT, -1, i,
                              "rows[%d]: has the number %g, must be finite", i, number[k]);
    if (r->sign != 1.0 && r->sign != -1.0)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, i, "rows[%d].sign: is %g, must be 1 or -1", i,
                          r->sign);
    return SKEL_OK;
}

static skel_status import(skel_dh_desc *d, const skel_dh_desc *desc, skel_error *err) {
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    *d = k_desc;
    if (skel__desc_import(d, sizeof *d, sizeof *d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof *d);
    if (d->convention != SKEL_DH_STANDARD && d->convention != SKEL_DH_MODIFIED)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "convention: is %d, must be 0 or 1",
                          d->convention);
    if ((d->row_count > 0 && !d->rows) || d->row_count > SKEL__DH_ROWS)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "rows: is NULL, or more than %d",
                          SKEL__DH_ROWS);
    if (d->row_stride < DESC_ROW_V1)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "row_stride: is %u, must be at least %u",
                          d->row_stride, (unsigned)DESC_ROW_V1);
    const skel_status status = skel__dh_check_pose("base", d->base, err);
    return status != SKEL_OK ? status : skel__dh_check_pose("tool", d->tool, err);
}

/* ---- the object ------------------------------------------------------------------------------ */

static skel_dh *dh_new(const skel_allocator *a, int32_t n) {
    skel_dh *dh = skel__alloc(a, sizeof *dh + (size_t)n * sizeof *dh->row);
    if (!dh) return NULL;
    dh->allocator = *a;
    dh->n = n;
    dh->receipt = (skel_dh_receipt){.struct_size = sizeof dh->receipt};
    return dh;
}

/* The largest length of the rows; the ends are poses and do not cancel with them. */
static void find_longest(skel_dh *dh) {
    dh->receipt.longest = 0.0;
    dh->receipt.longest_row = 0;

    for (int32_t i = 0; i < dh->n; ++i) {
        const double length = fmax(fabs(dh->row[i].a), fabs(dh->row[i].d));
        if (!(length > dh->receipt.longest)) continue;
        dh->receipt.longest = length;
        dh->receipt.longest_row = i;
    }
}

skel_status skel_dh_create(const skel_dh_desc *desc, skel_dh **out, skel_error *err) {
    skel_dh_desc d;
    skel_allocator a;
    if (out) *out = NULL;
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    skel_status status = import(&d, desc, err);
    if (status != SKEL_OK) return status;
    status = skel__allocator_import(&a, d.allocator);
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "allocator: is not valid");
    skel_dh *dh = dh_new(&a, (int32_t)d.row_count);
    if (!dh) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory");
    dh->convention = d.convention;
    dh->base = pose_of(d.base);
    dh->tool = pose_of(d.tool);
    dh->base.q = q_unit(dh->base.q);
    dh->tool.q = q_unit(dh->tool.q);
    for (int32_t i = 0; i < dh->n && status == SKEL_OK; ++i) {
        dh->row[i] = k_row;
        status = skel__desc_import(&dh->row[i], sizeof k_row, DESC_ROW_V1,
                                   (const char *)d.rows + (size_t)i * d.row_stride);
        if (status != SKEL_OK)
            skel__fail(err, status, -1, i, "rows[%d].struct_size: must be %u", i,
                       (unsigned)sizeof k_row);
        else
            status = check_row(&dh->row[i], i, err);
    }
    if (status != SKEL_OK) {
        skel_dh_destroy(dh);
        return status;
    }
    find_longest(dh);
    *out = dh;
    return SKEL_OK;
}

void skel_dh_destroy(skel_dh *dh) {
    if (!dh) return;
    const skel_allocator a = dh->allocator;
    skel__free(&a, dh);
}

int32_t skel_dh_row_count(const skel_dh *dh) {
    return dh ? dh->n : 0;
}
int32_t skel_dh_convention(const skel_dh *dh) {
    return dh ? dh->convention : SKEL_DH_STANDARD;
}

skel_status skel_dh_get_row(const skel_dh *dh, int32_t row, skel_dh_row *out) {
    if (!dh || !out || row < 0 || row >= dh->n) return SKEL_E_ARGUMENT;
    return skel__desc_export(out, &dh->row[row], sizeof dh->row[row], DESC_ROW_V1);
}

skel_status skel_dh_get_receipt(const skel_dh *dh, skel_dh_receipt *out) {
    if (!dh || !out) return SKEL_E_ARGUMENT;
    return skel__desc_export(out, &dh->receipt, sizeof dh->receipt, sizeof dh->receipt);
}

skel_status skel_dh_get_ends(const skel_dh *dh, double base[7], double tool[7]) {
    if (!dh) return SKEL_E_ARGUMENT;
    if (base) pose_to(dh->base, base);
    if (tool) pose_to(dh->tool, tool);
    return SKEL_OK;
}

static int is_finite(const pose *x) {
    double number[7];
    pose_to(*x, number);
    return all_finite(number, 7);
}

/* ---- conventions ----------------------------------------------------------------------------- */

static skel_status check_end(const char *name, const pose *end, skel_error *err) {
    if (is_finite(end)) return SKEL_OK;
    return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                      "%s: in the other convention it is beyond the range of numbers; give a and d "
                      "of the rows and the positions of base and tool smaller lengths",
                      name);
}

/* Both write the same product with other brackets; what is left over at an end goes into base
   (Rx Tx of the first modified row) or tool (Tx Rx of the last standard row) [ERRATA S11]. */
skel_status skel_dh_convert(const skel_dh *dh, int32_t convention, skel_dh **out, skel_error *err) {
    skel_status status;
    if (out) *out = NULL;
    if (!dh || !out || (convention != SKEL_DH_STANDARD && convention != SKEL_DH_MODIFIED))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "dh or out: is NULL, or the convention");
    skel_dh *to = dh_new(&dh->allocator, dh->n);
    if (!to) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "out of memory");
    to->convention = convention;
    to->base = dh->base;
    to->tool = dh->tool;
    to->receipt = dh->receipt;
    const int32_t n = dh->n;
    memcpy(to->row, dh->row, (size_t)n * sizeof *dh->row);
    if (convention != dh->convention && n > 0) {
        const int32_t step = convention == SKEL_DH_STANDARD ? 1 : -1;
        const skel_dh_row *over = &dh->row[step > 0 ? 0 : n - 1]; /* falls out at that end */
        const pose end = pose_about_x(over->a, over->alpha);
        for (int32_t i = 0; i < n; ++i) {
            const int32_t from = i + step;
            const int has = from >= 0 && from < n;
            to->row[i].a = has ? dh->row[from].a : 0.0;
            to->row[i].alpha = has ? dh->row[from].alpha : 0.0;
        }
        if (step > 0)
            to->base = pose_mul(dh->base, end);
        else
            to->tool = pose_mul(end, dh->tool);
    }
    find_longest(to);

    /* A product with an end may overflow. */
    status = check_end("base", &to->base, err);
    if (status == SKEL_OK) status = check_end("tool", &to->tool, err);
    if (status == SKEL_OK)
        *out = to;
    else
        skel_dh_destroy(to);
    return status;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* A_i = before . motion(sign q) . after: the constant parts of a row. */
typedef struct link {
    pose before, after;
} link;

static link link_of(const skel_dh *dh, int32_t i) {
    const skel_dh_row *r = &dh->row[i];
    const double theta = r->theta + (r->type == SKEL_JOINT_HINGE ? r->offset : 0.0);
    const double d = r->d + (r->type == SKEL_JOINT_SLIDE ? r->offset : 0.0);
    const pose z = pose_about_z(d, theta), x = pose_about_x(r->a, r->alpha);
    const pose one = {{0, 0, 0}, q_identity()};
    if (dh->convention == SKEL_DH_STANDARD) return (link){z, x};
    return (link){pose_mul(x, z), one};
}

static pose motion_of(const skel_dh_row *r, double q) {
    const double s = r->sign * q;
    return r->type == SKEL_JOINT_HINGE ? pose_about_z(0.0, s) : pose_about_z(s, 0.0);
}

skel_status skel_dh_frames(const skel_dh *dh, const double *q, double *frames) {
    if (!dh || (!q && dh->n > 0) || !frames) return SKEL_E_ARGUMENT;
    pose x = dh->base;
    for (int32_t i = 0; i < dh->n; ++i) {
        if (!isfinite(q[i])) return SKEL_E_ARGUMENT;
        const link l = link_of(dh, i);
        x = pose_mul(x, pose_mul(pose_mul(l.before, motion_of(&dh->row[i], q[i])), l.after));
        x.q = q_unit(x.q);
        pose_to(x, frames + 7 * (size_t)i);
    }
    x = pose_mul(x, dh->tool);
    x.q = q_unit(x.q);
    pose_to(x, frames + 7 * (size_t)dh->n);
    return all_finite(frames, 7 * ((size_t)dh->n + 1)) ? SKEL_OK : SKEL_E_ARGUMENT;
}

skel_status skel_dh_coordinates(const skel_dh *dh, const double *frames, double *q) {
    if (!dh || !frames || !q) return SKEL_E_ARGUMENT;
    pose from = dh->base;
    for (int32_t i = 0; i < dh->n; ++i) {
        skel_error none = {0};
        if (skel__dh_check_pose("", frames + 7 * (size_t)i, &none) != SKEL_OK)
            return SKEL_E_ARGUMENT;
        const link l = link_of(dh, i);
        pose x = pose_of(frames + 7 * (size_t)i);
        x.q = q_unit(x.q);
        const pose m =
            pose_mul(pose_inverse(pose_mul(from, l.before)), pose_mul(x, pose_inverse(l.after)));
        const quat r = m.q.w < 0 ? q_neg(m.q) : m.q;
        q[i] =
            dh->row[i].sign * (dh->row[i].type == SKEL_JOINT_HINGE ? 2.0 * atan2(r.z, r.w) : m.p.z);
        from = x;
    }
    return all_finite(q, (size_t)dh->n) ? SKEL_OK : SKEL_E_ARGUMENT;
}

/* ---- paired joint frames --------------------------------------------------------------------- */

/* motion(-q) = Rx(pi) motion(q) Rx(pi): a negative sign turns the joint's z round. */
static const quat k_over = {0, 1, 0, 0};

skel_status skel_dh_get_descs(const skel_dh *dh, skel_body_desc *bodies, size_t body_stride,
                              skel_joint_desc *joints, size_t joint_stride) {
    const size_t body_least = offsetof(skel_body_desc, velocity);
    const size_t joint_least = offsetof(skel_joint_desc, q);
    if (!dh || !bodies || !joints) return SKEL_E_ARGUMENT;
    if (body_stride < body_least || joint_stride < joint_least) return SKEL_E_STRUCT_SIZE;
    pose x = dh->base;
    for (int32_t i = 0; i < dh->n; ++i) {
        const skel_dh_row *r = &dh->row[i];
        const link l = link_of(dh, i);
        const pose turn = {{0, 0, 0}, r->sign > 0 ? q_identity() : k_over};
        pose outer = pose_mul(i ? l.before : pose_mul(dh->base, l.before), turn);
        pose inner = pose_mul(pose_inverse(l.after), turn);
        skel_body_desc *b = (skel_body_desc *)(void *)((char *)bodies + (size_t)i * body_stride);
        skel_joint_desc *j = (skel_joint_desc *)(void *)((char *)joints + (size_t)i * joint_stride);
        outer.q = q_unit(outer.q), inner.q = q_unit(inner.q);
        if (!is_finite(&outer) || !is_finite(&inner)) return SKEL_E_ARGUMENT;
        j->type = r->type;
        j->parent = i ? i - 1 : SKEL_WORLD;
        j->child = i;
        v3_to(outer.p, j->parent_position);
        q_to(outer.q, j->parent_orientation);
        v3_to(inner.p, j->child_position);
        q_to(inner.q, j->child_orientation);
        x = pose_mul(x, pose_mul(l.before, l.after));
        x.q = q_unit(x.q);
        if (!is_finite(&x)) return SKEL_E_ARGUMENT;
        v3_to(x.p, b->position);
        q_to(x.q, b->orientation);
    }
    return SKEL_OK;
}
