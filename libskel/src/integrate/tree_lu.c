/* SPDX-License-Identifier: BSD-3-Clause */
/* Elimination of joints through a point, by what they leave free. The child's pose change is given
   by the displacement u of the joint's point and theta; its equations by force F and torque N about
   the (mean) point, with arms r and, at the end, r1:
     dp = u + r1 x theta,   N = torque - r x force.
   The point and the turns across the free axes go with the parent,
     u = u_p + c,   theta = theta_p + s + Z phi,         c, s from gamma,
   and the free axes carry no torque, T^T (N_u u + N_t theta + K_cp theta_p - nu) = 0, Z and T being
   what the rows of the end and the mean torques leave out. With H = Z (T^T N_t Z)^-1 T^T:
     theta = theta_0 + (1 - H (N_t + K_cp)) theta_p - H N_u u_p,
     theta_0 = s + H (nu - N_u c - N_t s),
   and the parent gets the force Phi = F_u u + F_t theta - rho_f at its arm and the torque
   N_u u + N_t theta + K_cp theta_p - nu + K_pc theta. Of a ball, H = N_t^-1. */
#include "integrate/tree_lu.h"

/* Columns dual to the rows v, the first `count` of which are given; the rest are made up. */
SKEL__INLINE w33 dual_of(const v3 v[3], int count) {
    w33 b = {{w3_from(&v[0]), w3_from(&v[1]), w3_from(&v[2])}};
    if (count == 1) {
        const v3 across = v3_perpendicular(v[0]);
        b.c[1]          = w3_from(&across);
        b.c[2]          = w3_cross(b.c[0], b.c[1]);
    }
    if (count == 2) b.c[2] = w3_cross(b.c[0], b.c[1]);
    const w33 c = w33_cofactors(b);
    return w33_scale(c, 1.0 / w3_dot(b.c[0], c.c[0]));
}

/* H of a joint with 1 to 3 axis rows; Z and T are the last columns of the duals. */
SKEL__INLINE w33 free_of(w33 nt, w33 shut, w33 hold, int rows) {
    if (rows == 3) return w33_zero();
    const w3 z = shut.c[2], t = hold.c[2];
    const w3 nz = w33_mulv(nt, z);
    if (rows == 2) return w33_add_outer(w33_zero(), 1.0 / w3_dot(t, nz), z, t);
    const w3     y = shut.c[1], w = hold.c[1], ny = w33_mulv(nt, y);
    const double a = w3_dot(w, ny), c = w3_dot(w, nz), d = w3_dot(t, ny), e = w3_dot(t, nz);
    const double over = 1.0 / (a * e - c * d);
    w33          h    = w33_add_outer(w33_zero(), e * over, y, w);
    h                 = w33_add_outer(h, -c * over, y, t);
    h                 = w33_add_outer(h, -d * over, z, w);
    return w33_add_outer(h, a * over, z, t);
}

SKEL__INLINE int factor_point(skel__lu *b, double *parent) {
    const int c = b->child, rows = b->r - 3;
    const w3  arm = w3_from(&b->point.arm[c]), arm1 = w3_from(&b->point.arm1[c]);
    const w33 lin = corner_of(b->a, 3, 0), fu = corner_of(b->a, 0, 0);
    const w33 ft = w33_add(corner_of(b->a, 0, 3), w33_times_skew(fu, arm1));
    const w33 nu = w33_sub(lin, w33_skew_times(arm, fu));
    const w33 nt =
        w33_sub(w33_add(corner_of(b->a, 3, 3), w33_times_skew(lin, arm1)), w33_skew_times(arm, ft));
    w33 free, shift;
    w33_store(fu, b->fu), w33_store(ft, b->ft), w33_store(nu, b->nu), w33_store(nt, b->nt);
    if (rows > 0) {
        const w33 shut = dual_of(b->point.n1, rows), hold = dual_of(b->point.n, rows);
        w33_store(shut, b->shut), w33_store(hold, b->hold);
        free  = free_of(nt, shut, hold, rows);
        shift = w33_mul(free, nu);
    } else { /* the division runs beside the product */
        const w33    rows_of = w33_cofactors(nt), over = w33_transpose(rows_of);
        const double d = 1.0 / w3_dot(nt.c[0], rows_of.c[0]);
        free           = w33_scale(over, d);
        shift          = w33_scale(w33_mul(over, nu), d);
    }
    w33_store(free, b->free), w33_store(shift, b->by_shift);
    if (!isfinite(w3_dot(shift.c[0], w3_add(shift.c[1], shift.c[2])))) return 0;
    const int bare = rows == 0 && !b->is_coupled; /* the turn of the parent does not matter */
    w33       turn = w33_zero();
    if (rows > 0) turn = w33_sub(w33_diagonal(1.0), w33_mul(free, nt));
    if (b->is_coupled) turn = w33_sub(turn, w33_mul(free, w33_from(&b->kcp)));
    w33_store(turn, b->by_turn);
    if (!parent) return 1;
    const w3  up = w3_from(&b->point.arm[!c]), up1 = w3_from(&b->point.arm1[!c]);
    const w33 force  = w33_sub(fu, w33_mul(ft, shift)); /* by u_p, then by theta_p */
    w33       turned = w33_sub(w33_zero(), w33_times_skew(force, up1));
    if (!bare) turned = w33_add(turned, w33_mul(ft, turn));
    w33 torque = w33_skew_times(up, force), twist = w33_skew_times(up, turned);
    if (!bare) {
        /* N_t and K_pc act on the child's turn alike */
        const w33 all = w33_add(nt, w33_from(&b->kpc)), by = w33_sub(nu, w33_mul(all, shift));
        torque = w33_add(torque, by);
        twist  = w33_sub(twist, w33_times_skew(by, up1));
        twist  = w33_add(twist, w33_add(w33_mul(all, turn), w33_from(&b->kcp)));
    }
    corner_add(parent, 0, 0, force), corner_add(parent, 0, 3, turned);
    corner_add(parent, 3, 0, torque), corner_add(parent, 3, 3, twist);
    return 1;
}

/* A wobbling mass hangs on its host by springs alone. */
static int32_t parent_of(const skel_model *m, int32_t i) {
    const skel__body *b = &m->body[i];
    if (b->is_inner) return b->parent;
    return b->host >= 0 && skel__is_dynamic(m, b->host) ? b->host : -1;
}

SKEL__INLINE int factor_at(const skel_model *m, skel__lu *blocks, int32_t i) {
    const int32_t p  = parent_of(m, i);
    skel__lu     *b  = &blocks[i];
    double       *up = p >= 0 ? blocks[p].a : NULL;
    if (b->full) return skel__lu_full_factor(b->a, b->full, up);
    return b->r > 0 ? factor_point(b, up) : skel__lu_invert(b->a);
}

static double sign_of(const skel__lu *b) {
    return b->child == 1 ? -1.0 : 1.0;
}

/* M v of a matrix in memory. */
SKEL__INLINE w3 times(const double *m, w3 v) {
    return w33_mulv(w33_load(m), v);
}
/* M v + N w - r, of matrices in memory. */
SKEL__INLINE w3 balance(const double *m, w3 v, const double *n, w3 w, w3 r) {
    return w3_sub(w3_add(times(m, v), times(n, w)), r);
}
SKEL__INLINE void take_off(double *from, w3 a) {
    w3_store(w3_sub(w3_load(from), a), from);
}

SKEL__INLINE void inward_point(skel__lu *b, const double *gamma, skel__lu *up) {
    const int    rows = b->r - 3, c = b->child;
    const double sign  = sign_of(b);
    const w3     force = w3_load(b->force), shift = w3_scale(w3_of(gamma), sign);
    const w3     nu   = w3_sub(w3_load(b->torque), w3_cross(w3_from(&b->point.arm[c]), force));
    w3           turn = w3_make(0, 0, 0), left = w3_sub(nu, times(b->nu, shift));
    for (int k = 0; k < rows; ++k)
        turn = w3_mad(turn, sign * gamma[3 + k], w3_load(b->shut + k * SKEL__W3));
    if (rows > 0) left = w3_sub(left, times(b->nt, turn));
    const w3 theta = w3_add(turn, times(b->free, left));
    w3_store(nu, b->torque), w3_store(shift, b->shift), w3_store(theta, b->theta);
    if (!up) return;
    const w3 phi = balance(b->fu, shift, b->ft, theta, force);
    w3       n   = w3_cross(w3_from(&b->point.arm[!c]), phi);
    if (rows > 0) n = w3_add(n, balance(b->nu, shift, b->nt, theta, nu));
    if (b->is_coupled) n = w3_add(n, w33_mulv(w33_from(&b->kpc), theta));
    take_off(up->force, phi), take_off(up->torque, n);
}

/* `shift` and `theta` are the body's own motion from now on. */
SKEL__INLINE void outward_point(skel__lu *b, const skel__lu *up, double *lambda) {
    const int    rows = b->r - 3, c = b->child;
    const double sign = sign_of(b);
    w3           u = w3_load(b->shift), theta = w3_load(b->theta), turn = w3_make(0, 0, 0);
    if (up) {
        turn         = w3_load(up->theta);
        const w3 put = w3_add(w3_load(up->shift), w3_cross(turn, w3_from(&b->point.arm1[!c])));
        u            = w3_add(u, put);
        theta        = w3_sub(theta, times(b->by_shift, put));
        if (rows > 0 || b->is_coupled) theta = w3_add(theta, times(b->by_turn, turn));
    }
    w3_store(w3_add(u, w3_cross(w3_from(&b->point.arm1[c]), theta)), b->shift);
    w3_store(theta, b->theta);
    w3_to(w3_scale(balance(b->fu, u, b->ft, theta, w3_load(b->force)), sign), lambda);
    if (rows == 0) return;
    w3 n = balance(b->nu, u, b->nt, theta, w3_load(b->torque));
    if (b->is_coupled) n = w3_add(n, w33_mulv(w33_from(&b->kcp), turn));
    for (int k = 0; k < rows; ++k)
        lambda[3 + k] = sign * w3_dot(w3_load(b->hold + k * SKEL__W3), n);
}

SKEL__INLINE void solve_free(skel__lu *b) {
    const w3 force = w3_load(b->force), torque = w3_load(b->torque);
    for (int row = 0; row < 6; row += 3) {
        const w3 y =
            w3_add(times(b->a + wide6_at(row, 0), force), times(b->a + wide6_at(row, 3), torque));
        w3_store(y, row == 0 ? b->shift : b->theta);
    }
}

/* By columns and rows. */
static void inward_full(skel__lu *b, const double *gamma, skel__lu *up) {
    double rho[6], sum[6] = {0};
    w3_to(w3_load(b->force), rho), w3_to(w3_load(b->torque), rho + 3);
    skel__lu_full_inward(b->full, rho, gamma, up ? sum : NULL);
    if (!up) return;
    take_off(up->force, w3_neg(w3_of(sum))), take_off(up->torque, w3_neg(w3_of(sum + 3)));
}
static void outward_full(skel__lu *b, const skel__lu *up, double *lambda) {
    double rho[6], y[6], above[6];
    w3_to(w3_load(b->force), rho), w3_to(w3_load(b->torque), rho + 3);
    if (up) w3_to(w3_load(up->shift), above), w3_to(w3_load(up->theta), above + 3);
    skel__lu_full_outward(b->full, rho, up ? above : NULL, y, lambda);
    w3_store(w3_of(y), b->shift), w3_store(w3_of(y + 3), b->theta);
}

SKEL__INLINE void begin(const skel_model *m, skel__lu *blocks, const double *rho) {
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t i = (size_t)m->order[k];
        w3_store(w3_of(rho + 6 * i), blocks[i].force);
        w3_store(w3_of(rho + 6 * i + 3), blocks[i].torque);
    }
}

SKEL__INLINE void inward_at(const skel_model *m, skel__lu *blocks, int32_t i, const double *gamma) {
    const int32_t p = parent_of(m, i);
    skel__lu     *b = &blocks[i], *up = p >= 0 ? &blocks[p] : NULL;
    if (b->full)
        inward_full(b, gamma + 6 * (size_t)i, up);
    else if (b->r > 0)
        inward_point(b, gamma + 6 * (size_t)i, up);
}

SKEL__INLINE void outward(const skel_model *m, skel__lu *blocks, double *y, double *lambda) {
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t    i  = (size_t)m->order[k];
        const int32_t   p  = parent_of(m, (int32_t)i);
        const skel__lu *up = p >= 0 ? &blocks[p] : NULL;
        skel__lu       *b  = &blocks[i];
        if (b->full)
            outward_full(b, up, lambda + 6 * i);
        else if (b->r > 0)
            outward_point(b, up, lambda + 6 * i);
        else
            solve_free(b);
        w3_to(w3_load(b->shift), y + 6 * i), w3_to(w3_load(b->theta), y + 6 * i + 3);
    }
}

int SKEL__WAY(skel__lu_factor)(const skel_model *m, skel__lu *blocks) {
    for (int32_t k = m->nd - 1; k >= 0; --k)
        if (!factor_at(m, blocks, m->order[k])) return 0;
    return 1;
}

void SKEL__WAY(skel__lu_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                               const double *gamma, double *y, double *lambda) {
    begin(m, blocks, rho);
    for (int32_t k = m->nd - 1; k >= 0; --k) inward_at(m, blocks, m->order[k], gamma);
    outward(m, blocks, y, lambda);
}

int SKEL__WAY(skel__lu_factor_solve)(const skel_model *m, skel__lu *blocks, const double *rho,
                                     const double *gamma, double *y, double *lambda) {
    begin(m, blocks, rho);
    for (int32_t k = m->nd - 1; k >= 0; --k) {
        if (!factor_at(m, blocks, m->order[k])) return 0;
        inward_at(m, blocks, m->order[k], gamma);
    }
    outward(m, blocks, y, lambda);
    return 1;
}
