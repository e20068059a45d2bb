/* SPDX-License-Identifier: BSD-3-Clause */
/* Elimination of joints through a point. The motion of the child is described by the displacement u
   of the joint's point and the rotation theta, its equations by the force F and the torque N about
   the (mean) point. With the arms r and, at the end of the step, r1:
     dp = u + r1 x theta,   N = torque - r x force.
   The joint point, and rotations about all but the free axes, follow the parent:
     u = u_p + c,   theta = theta_p + s + Z phi,         c, s from gamma.
   The free axes carry no torque: T^T (N_u u + N_t theta + K_cp theta_p - nu) = 0. Z spans the
   rotations that the rows at the end leave free, T those that the mean torques leave free. With
   H = Z (T^T N_t Z)^-1 T^T:
     theta = theta_0 + (1 - H (N_t + K_cp)) theta_p - H N_u u_p,
     theta_0 = s + H (nu - N_u c - N_t s).
   The parent gets the force Phi = F_u u + F_t theta - rho_f at its arm, and the torque
   N_u u + N_t theta + K_cp theta_p - nu + K_pc theta. For a ball, H = N_t^-1. */
#include "integrate/tree_lu.h"

/* ---- factorisation ---- */

/* Columns that are dual to the rows v. The first `count` rows are given; the others are chosen
   perpendicular to them. */
SKEL__INLINE w33 dual_of(const v3 v[3], int count) {
    w33 b = {{w3_from(&v[0]), w3_from(&v[1]), w3_from(&v[2])}};
    if (count == 1) {
        const v3 across = v3_perpendicular(v[0]);
        b.c[1] = w3_from(&across);
        b.c[2] = w3_cross(b.c[0], b.c[1]);
    }
    if (count == 2) b.c[2] = w3_cross(b.c[0], b.c[1]);

    const w33 c = w33_cofactors(b);
    return w33_scale(c, 1.0 / w3_dot(b.c[0], c.c[0]));
}

/* H of a joint with 1 to 3 axis rows. Z and T are the last columns of the duals: one column for two
   rows, two columns for one row. */
SKEL__INLINE w33 free_compliance(w33 nt, w33 row_duals, w33 torque_duals, int rows) {
    if (rows == 3) return w33_zero();

    const w3 z = row_duals.c[2], t = torque_duals.c[2];
    const w3 nz = w33_mulv(nt, z);
    if (rows == 2) return w33_add_outer(w33_zero(), 1.0 / w3_dot(t, nz), z, t);

    /* Inverse of the 2 x 2 matrix T^T N_t Z with Z = (y z), T = (w t). */
    const w3 y = row_duals.c[1], w = torque_duals.c[1], ny = w33_mulv(nt, y);
    const double a = w3_dot(w, ny), c = w3_dot(w, nz), d = w3_dot(t, ny), e = w3_dot(t, nz);
    const double over = 1.0 / (a * e - c * d);
    w33 h = w33_add_outer(w33_zero(), e * over, y, w);
    h = w33_add_outer(h, -c * over, y, t);
    h = w33_add_outer(h, -d * over, z, w);
    return w33_add_outer(h, a * over, z, t);
}

/* Factors of a joint while they are computed; letters as above. */
typedef struct point_factors {
    w33 fu, ft, nu, nt;
    w33 h, h_nu;
    w33 by_theta;       /* 1 - H (N_t + K_cp) */
    int is_independent; /* by_theta is zero: the rotation of the parent has no effect */
} point_factors;

/* F and N by u and theta, from A. */
SKEL__INLINE void set_force_factors(const skel__lu *b, point_factors *f) {
    const w3 arm = w3_from(&b->point.arm[b->child]), arm1 = w3_from(&b->point.arm1[b->child]);
    const w33 torque_by_dp = corner_of(b->a, 3, 0);
    f->fu = corner_of(b->a, 0, 0);
    f->ft = w33_add(corner_of(b->a, 0, 3), w33_times_skew(f->fu, arm1));
    f->nu = w33_sub(torque_by_dp, w33_skew_times(arm, f->fu));
    f->nt = w33_sub(w33_add(corner_of(b->a, 3, 3), w33_times_skew(torque_by_dp, arm1)),
                    w33_skew_times(arm, f->ft));
}

/* H, H N_u and by_theta. */
SKEL__INLINE void set_motion_factors(skel__lu *b, int rows, point_factors *f) {
    if (rows > 0) {
        const w33 row_duals = dual_of(b->point.n1, rows), torque_duals = dual_of(b->point.n, rows);
        w33_store(row_duals, b->theta_by_gamma);
        w33_store(torque_duals, b->lambda_by_torque);
        f->h = free_compliance(f->nt, row_duals, torque_duals, rows);
        f->h_nu = w33_mul(f->h, f->nu);
    } else { /* the division is independent of the product, so both run at the same time */
        const w33 cofactors = w33_cofactors(f->nt), adjugate = w33_transpose(cofactors);
        const double d = 1.0 / w3_dot(f->nt.c[0], cofactors.c[0]);
        f->h = w33_scale(adjugate, d);
        f->h_nu = w33_scale(w33_mul(adjugate, f->nu), d);
    }

    /* For a ball H N_t = 1, so without coupling by_theta is zero. */
    f->is_independent = rows == 0 && !b->is_coupled;
    f->by_theta = w33_zero();
    if (rows > 0) f->by_theta = w33_sub(w33_diagonal(1.0), w33_mul(f->h, f->nt));
    if (b->is_coupled) f->by_theta = w33_sub(f->by_theta, w33_mul(f->h, w33_from(&b->kcp)));
}

/* Adds force and torque of the joint, by the motion of the parent, to the block of the parent. */
SKEL__INLINE void add_to_parent(const skel__lu *b, const point_factors *f, double *parent) {
    const w3 up = w3_from(&b->point.arm[!b->child]), up1 = w3_from(&b->point.arm1[!b->child]);

    /* Force by u_p; by theta_p, with u_p = dp_p - up1 x theta_p. */
    const w33 force_u = w33_sub(f->fu, w33_mul(f->ft, f->h_nu));
    w33 force_t = w33_sub(w33_zero(), w33_times_skew(force_u, up1));
    if (!f->is_independent) force_t = w33_add(force_t, w33_mul(f->ft, f->by_theta));

    /* Torque likewise: moment of the force, and the torque that the joint transmits. N_t and K_pc
       both multiply the rotation of the child. */
    w33 torque_u = w33_skew_times(up, force_u), torque_t = w33_skew_times(up, force_t);
    if (!f->is_independent) {
        const w33 by_child = w33_add(f->nt, w33_from(&b->kpc));
        const w33 by_u = w33_sub(f->nu, w33_mul(by_child, f->h_nu));
        torque_u = w33_add(torque_u, by_u);
        torque_t = w33_sub(torque_t, w33_times_skew(by_u, up1));
        torque_t = w33_add(torque_t, w33_add(w33_mul(by_child, f->by_theta), w33_from(&b->kcp)));
    }
    corner_add(parent, 0, 0, force_u);
    corner_add(parent, 0, 3, force_t);
    corner_add(parent, 3, 0, torque_u);
    corner_add(parent, 3, 3, torque_t);
}

/* Returns 0 if the block is singular. */
SKEL__INLINE int factor_point(skel__lu *b, double *parent) {
    point_factors f;
    set_force_factors(b, &f);
    w33_store(f.fu, b->fu);
    w33_store(f.ft, b->ft);
    w33_store(f.nu, b->nu);
    w33_store(f.nt, b->nt);

    set_motion_factors(b, b->rows - 3, &f);
    w33_store(f.h, b->h);
    w33_store(f.h_nu, b->h_nu);
    w33_store(f.by_theta, b->by_parent_theta);
    if (!isfinite(w3_dot(f.h_nu.c[0], w3_add(f.h_nu.c[1], f.h_nu.c[2])))) return 0;

    if (parent) add_to_parent(b, &f, parent);
    return 1;
}

/* The dynamic body whose block gets that of body i, or -1: the tree parent, or the host of a
   wobbling mass. */
static int32_t parent_of(const skel_model *m, int32_t i) {
    const skel__body *b = &m->body[i];
    if (b->is_inner) return b->parent;
    return b->host >= 0 && skel__is_dynamic(m, b->host) ? b->host : -1;
}

SKEL__INLINE int factor_at(const skel_model *m, skel__lu *blocks, int32_t i) {
    const int32_t p = parent_of(m, i);
    skel__lu *b = &blocks[i];
    double *parent = p >= 0 ? blocks[p].a : NULL;
    if (b->full) return skel__lu_full_factor(b->a, b->full, parent);
    return b->rows > 0 ? factor_point(b, parent) : skel__lu_invert(b->a);
}

/* ---- right-hand sides ---- */

/* Rows are those of body a of the joint; on b they have the opposite sign. */
static double sign_of(const skel__lu *b) {
    return b->child == 1 ? -1.0 : 1.0;
}

/* M v, of a matrix in memory. */
SKEL__INLINE w3 times(const double *m, w3 v) {
    return w33_mulv(w33_load(m), v);
}
/* M v + N w - r, of matrices in memory. */
SKEL__INLINE w3 residual_of(const double *m, w3 v, const double *n, w3 w, w3 r) {
    return w3_sub(w3_add(times(m, v), times(n, w)), r);
}
SKEL__INLINE void subtract(double *from, w3 a) {
    w3_store(w3_sub(w3_load(from), a), from);
}

/* Motion of the joint without that of the parent, and its effect on the parent. */
SKEL__INLINE void inward_point(skel__lu *b, const double *gamma, skel__lu *parent) {
    const int rows = b->rows - 3, c = b->child;
    const double sign = sign_of(b);

    /* c and s from gamma; theta_0 = s + H (nu - N_u c - N_t s) */
    const w3 force = w3_load(b->force), shift = w3_scale(w3_of(gamma), sign);
    const w3 nu = w3_sub(w3_load(b->torque), w3_cross(w3_from(&b->point.arm[c]), force));
    w3 s = w3_make(0, 0, 0), rest = w3_sub(nu, times(b->nu, shift));
    for (int k = 0; k < rows; ++k)
        s = w3_mad(s, sign * gamma[3 + k], w3_load(b->theta_by_gamma + k * SKEL__W3));
    if (rows > 0) rest = w3_sub(rest, times(b->nt, s));
    const w3 theta = w3_add(s, times(b->h, rest));
    w3_store(nu, b->torque);
    w3_store(shift, b->shift);
    w3_store(theta, b->theta);
    if (!parent) return;

    /* Phi at the arm of the parent, and the torque that the joint transmits. */
    const w3 phi = residual_of(b->fu, shift, b->ft, theta, force);
    w3 n = w3_cross(w3_from(&b->point.arm[!c]), phi);
    if (rows > 0) n = w3_add(n, residual_of(b->nu, shift, b->nt, theta, nu));
    if (b->is_coupled) n = w3_add(n, w33_mulv(w33_from(&b->kpc), theta));
    subtract(parent->force, phi);
    subtract(parent->torque, n);
}

/* Adds the motion of the parent. From here on `shift` and `theta` are the motion of the body. */
SKEL__INLINE void outward_point(skel__lu *b, const skel__lu *parent, double *lambda) {
    const int rows = b->rows - 3, c = b->child;
    const double sign = sign_of(b);
    w3 u = w3_load(b->shift), theta = w3_load(b->theta), parent_theta = w3_make(0, 0, 0);

    /* u = u_p + c,  theta = theta_0 + (1 - H (N_t + K_cp)) theta_p - H N_u u_p */
    if (parent) {
        parent_theta = w3_load(parent->theta);
        const w3 lever = w3_cross(parent_theta, w3_from(&b->point.arm1[!c]));
        const w3 parent_u = w3_add(w3_load(parent->shift), lever);
        u = w3_add(u, parent_u);
        theta = w3_sub(theta, times(b->h_nu, parent_u));
        if (rows > 0 || b->is_coupled)
            theta = w3_add(theta, times(b->by_parent_theta, parent_theta));
    }
    w3_store(w3_add(u, w3_cross(w3_from(&b->point.arm1[c]), theta)), b->shift);
    w3_store(theta, b->theta);

    /* Multipliers: the force and torque that the equations of the child leave over. */
    w3_to(w3_scale(residual_of(b->fu, u, b->ft, theta, w3_load(b->force)), sign), lambda);
    if (rows == 0) return;
    w3 n = residual_of(b->nu, u, b->nt, theta, w3_load(b->torque));
    if (b->is_coupled) n = w3_add(n, w33_mulv(w33_from(&b->kcp), parent_theta));
    for (int k = 0; k < rows; ++k)
        lambda[3 + k] = sign * w3_dot(w3_load(b->lambda_by_torque + k * SKEL__W3), n);
}

/* y = A^-1 rho of a free root. */
SKEL__INLINE void solve_free(skel__lu *b) {
    const w3 force = w3_load(b->force), torque = w3_load(b->torque);
    for (int row = 0; row < 6; row += 3) {
        const w3 y =
            w3_add(times(b->a + wide6_at(row, 0), force), times(b->a + wide6_at(row, 3), torque));
        w3_store(y, row == 0 ? b->shift : b->theta);
    }
}

/* Bodies with full 6 x 6 elimination; their vectors have 6 entries. */
static void inward_full(skel__lu *b, const double *gamma, skel__lu *parent) {
    double rho[6], sum[6] = {0};
    w3_to(w3_load(b->force), rho);
    w3_to(w3_load(b->torque), rho + 3);
    skel__lu_full_inward(b->full, rho, gamma, parent ? sum : NULL);
    if (!parent) return;

    subtract(parent->force, w3_neg(w3_of(sum)));
    subtract(parent->torque, w3_neg(w3_of(sum + 3)));
}

static void outward_full(skel__lu *b, const skel__lu *parent, double *lambda) {
    double rho[6], y[6], y_parent[6];
    w3_to(w3_load(b->force), rho);
    w3_to(w3_load(b->torque), rho + 3);
    if (parent) {
        w3_to(w3_load(parent->shift), y_parent);
        w3_to(w3_load(parent->theta), y_parent + 3);
    }
    skel__lu_full_outward(b->full, rho, parent ? y_parent : NULL, y, lambda);
    w3_store(w3_of(y), b->shift);
    w3_store(w3_of(y + 3), b->theta);
}

SKEL__INLINE void set_right_side(const skel_model *m, skel__lu *blocks, const double *rho) {
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i = (size_t)m->order[k];
        w3_store(w3_of(rho + 6 * i), blocks[i].force);
        w3_store(w3_of(rho + 6 * i + 3), blocks[i].torque);
    }
}

SKEL__INLINE void inward_at(const skel_model *m, skel__lu *blocks, int32_t i, const double *gamma) {
    const int32_t p = parent_of(m, i);
    skel__lu *b = &blocks[i], *parent = p >= 0 ? &blocks[p] : NULL;
    if (b->full)
        inward_full(b, gamma + 6 * (size_t)i, parent);
    else if (b->rows > 0)
        inward_point(b, gamma + 6 * (size_t)i, parent);
}

SKEL__INLINE void outward(const skel_model *m, skel__lu *blocks, double *y, double *lambda) {
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i = (size_t)m->order[k];
        const int32_t p = parent_of(m, (int32_t)i);
        const skel__lu *parent = p >= 0 ? &blocks[p] : NULL;
        skel__lu *b = &blocks[i];

        if (b->full)
            outward_full(b, parent, lambda + 6 * i);
        else if (b->rows > 0)
            outward_point(b, parent, lambda + 6 * i);
        else
            solve_free(b);
        w3_to(w3_load(b->shift), y + 6 * i);
        w3_to(w3_load(b->theta), y + 6 * i + 3);
    }
}

/* ---- functions of tree_lu.h ---- */

int SKEL__WAY(skel__lu_factor)(const skel_model *m, skel__lu *blocks) {
    for (int32_t k = m->nd - 1; k >= 0; --k)
        if (!factor_at(m, blocks, m->order[k])) return 0;
    return 1;
}

void SKEL__WAY(skel__lu_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                               const double *gamma, double *y, double *lambda) {
    set_right_side(m, blocks, rho);
    for (int32_t k = m->nd - 1; k >= 0; --k) inward_at(m, blocks, m->order[k], gamma);
    outward(m, blocks, y, lambda);
}

int SKEL__WAY(skel__lu_factor_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                                     const double *gamma, double *y, double *lambda) {
    set_right_side(m, blocks, rho);
    for (int32_t k = m->nd - 1; k >= 0; --k) {
        if (!factor_at(m, blocks, m->order[k])) return 0;
        inward_at(m, blocks, m->order[k], gamma);
    }
    outward(m, blocks, y, lambda);
    return 1;
}
