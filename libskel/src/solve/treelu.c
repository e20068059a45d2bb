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
#include "solve/treelu.h"

#include <string.h>

static m3 corner(const double *a, int row, int col) {
    const double *p = a + 6 * row + col;
    return (m3){{{p[0], p[1], p[2]}, {p[6], p[7], p[8]}, {p[12], p[13], p[14]}}};
}

static void add_corner(double *a, int row, int col, m3 m) {
    for (int r = 0; r < 3; ++r) {
        double *to = a + 6 * (row + r) + col;
        to[0] += m.r[r].x, to[1] += m.r[r].y, to[2] += m.r[r].z;
    }
}

/* Columns dual to the rows v, the first `count` of which are given; the rest are made up. */
static m3 dual_of(const v3 v[3], int count) {
    m3 b = {{v[0], v[1], v[2]}};
    if (count == 1) b.r[1] = v3_perpendicular(v[0]), b.r[2] = v3_cross(v[0], b.r[1]);
    if (count == 2) b.r[2] = v3_cross(v[0], v[1]);
    return m3_inverse(b);
}

/* H of a joint with 1 to 3 axis rows; Z and T are the last columns of the duals. */
static m3 free_of(const skel__lu *b, int rows) {
    if (rows == 3) return m3_zero();
    const v3 z = m3_column(b->shut, 2), t = m3_column(b->hold, 2);
    const v3 nz = m3_mulv(b->nt, z);
    if (rows == 2) return m3_sub_outer(m3_zero(), -1.0 / v3_dot(t, nz), z, t);
    const v3     y = m3_column(b->shut, 1), w = m3_column(b->hold, 1), ny = m3_mulv(b->nt, y);
    const double a = v3_dot(w, ny), c = v3_dot(w, nz), d = v3_dot(t, ny), e = v3_dot(t, nz);
    const double over = 1.0 / (a * e - c * d);
    m3           h    = m3_sub_outer(m3_zero(), -e * over, y, w);
    h                 = m3_sub_outer(h, c * over, y, t);
    h                 = m3_sub_outer(h, d * over, z, w);
    return m3_sub_outer(h, -a * over, z, t);
}

static int factor_point(skel__lu *b, double *parent) {
    const int c = b->child, rows = b->r - 3;
    const v3  arm = b->point.arm[c], arm1 = b->point.arm1[c];
    const m3  lin = corner(b->a, 3, 0);
    b->fu         = corner(b->a, 0, 0);
    b->ft         = m3_add(corner(b->a, 0, 3), m3_times_skew(b->fu, arm1));
    b->nu         = m3_sub(lin, m3_skew_times(arm, b->fu));
    b->nt = m3_sub(m3_add(corner(b->a, 3, 3), m3_times_skew(lin, arm1)), m3_skew_times(arm, b->ft));
    if (rows > 0) b->shut = dual_of(b->point.n1, rows), b->hold = dual_of(b->point.n, rows);
    b->free     = rows > 0 ? free_of(b, rows) : m3_inverse(b->nt);
    b->by_shift = m3_mul(b->free, b->nu);
    if (!isfinite(v3_dot(b->by_shift.r[0], v3_add(b->by_shift.r[1], b->by_shift.r[2])))) return 0;
    const int bare = rows == 0 && !b->is_coupled; /* the turn of the parent does not matter */
    b->by_turn     = m3_zero();
    if (rows > 0) b->by_turn = m3_sub(m3_identity(), m3_mul(b->free, b->nt));
    if (b->is_coupled) b->by_turn = m3_sub(b->by_turn, m3_mul(b->free, b->kcp));
    if (!parent) return 1;
    const v3 up = b->point.arm[!c], up1 = b->point.arm1[!c];
    const m3 force  = m3_sub(b->fu, m3_mul(b->ft, b->by_shift)); /* by u_p, then by theta_p */
    m3       turned = m3_scale(m3_times_skew(force, up1), -1.0);
    if (!bare) turned = m3_add(turned, m3_mul(b->ft, b->by_turn));
    m3 torque = m3_skew_times(up, force), twist = m3_skew_times(up, turned);
    if (!bare) {
        const m3 all = m3_add(b->nt, b->kpc); /* N_t and K_pc act on the child's turn alike */
        const m3 by  = m3_sub(b->nu, m3_mul(all, b->by_shift));
        torque       = m3_add(torque, by);
        twist        = m3_sub(twist, m3_times_skew(by, up1));
        twist        = m3_add(twist, m3_add(m3_mul(all, b->by_turn), b->kcp));
    }
    add_corner(parent, 0, 0, force), add_corner(parent, 0, 3, turned);
    add_corner(parent, 3, 0, torque), add_corner(parent, 3, 3, twist);
    return 1;
}

/* A wobbling mass hangs on its host by springs alone. */
static int32_t parent_of(const skel_model *m, int32_t i) {
    const skel__body *b = &m->body[i];
    if (b->is_inner) return b->parent;
    return b->host >= 0 && skel__is_dynamic(m, b->host) ? b->host : -1;
}

int skel__lu_factor(const skel_model *m, skel__lu *blocks) {
    for (int32_t k = m->nd - 1; k >= 0; --k) {
        const int32_t i = m->order[k], p = parent_of(m, i);
        skel__lu     *b    = &blocks[i];
        double       *up   = p >= 0 ? blocks[p].a : NULL;
        const int     good = b->full    ? skel__lu_full_factor(b->a, b->full, up)
                             : b->r > 0 ? factor_point(b, up)
                                        : skel__lu_invert(b->a);
        if (!good) return 0;
    }
    return 1;
}

static double sign_of(const skel__lu *b) {
    return b->child == 1 ? -1.0 : 1.0;
}

static void inward_point(skel__lu *b, const double *rho, const double *gamma, double *up) {
    const int    rows = b->r - 3, c = b->child;
    const double sign  = sign_of(b);
    const v3     force = v3_of(rho), nu = v3_sub(v3_of(rho + 3), v3_cross(b->point.arm[c], force));
    b->shift = v3_scale(v3_of(gamma), sign);
    v3 turn = {0, 0, 0}, left = v3_sub(nu, m3_mulv(b->nu, b->shift));
    for (int k = 0; k < rows; ++k) turn = v3_mad(turn, sign * gamma[3 + k], m3_column(b->shut, k));
    if (rows > 0) left = v3_sub(left, m3_mulv(b->nt, turn));
    b->theta = v3_add(turn, m3_mulv(b->free, left));
    if (!up) return;
    const v3 phi = v3_sub(v3_add(m3_mulv(b->fu, b->shift), m3_mulv(b->ft, b->theta)), force);
    v3       n   = v3_cross(b->point.arm[!c], phi);
    if (rows > 0)
        n = v3_add(n, v3_sub(v3_add(m3_mulv(b->nu, b->shift), m3_mulv(b->nt, b->theta)), nu));
    if (b->is_coupled) n = v3_add(n, m3_mulv(b->kpc, b->theta));
    v3_to(v3_sub(v3_of(up), phi), up);
    v3_to(v3_sub(v3_of(up + 3), n), up + 3);
}

static void outward_point(const skel__lu *b, const double *rho, const double *up, double *y,
                          double *lambda) {
    const int    rows = b->r - 3, c = b->child;
    const double sign  = sign_of(b);
    const v3     force = v3_of(rho), arm = b->point.arm[c];
    v3           u = b->shift, theta = b->theta, turn = {0, 0, 0};
    if (up) {
        turn         = v3_of(up + 3);
        const v3 put = v3_add(v3_of(up), v3_cross(turn, b->point.arm1[!c]));
        u            = v3_add(u, put);
        theta        = v3_sub(theta, m3_mulv(b->by_shift, put));
        if (rows > 0 || b->is_coupled) theta = v3_add(theta, m3_mulv(b->by_turn, turn));
    }
    v3_to(v3_add(u, v3_cross(b->point.arm1[c], theta)), y);
    v3_to(theta, y + 3);
    const v3 phi = v3_sub(v3_add(m3_mulv(b->fu, u), m3_mulv(b->ft, theta)), force);
    v3_to(v3_scale(phi, sign), lambda);
    if (rows == 0) return;
    v3 n = v3_sub(v3_of(rho + 3), v3_cross(arm, force));
    n    = v3_sub(v3_add(m3_mulv(b->nu, u), m3_mulv(b->nt, theta)), n);
    if (b->is_coupled) n = v3_add(n, m3_mulv(b->kcp, turn));
    for (int k = 0; k < rows; ++k) lambda[3 + k] = sign * v3_dot(m3_column(b->hold, k), n);
}

static void solve_free(const skel__lu *b, const double *rho, double *y) {
    for (int r = 0; r < 6; ++r) {
        y[r] = 0;
        for (int c = 0; c < 6; ++c) y[r] += b->a[6 * r + c] * rho[c];
    }
}

void skel__lu_solve(const skel_model *m, skel__lu *blocks, double *rho, const double *gamma,
                    double *y, double *lambda) {
    for (int32_t k = m->nd - 1; k >= 0; --k) {
        const size_t  i  = (size_t)m->order[k];
        const int32_t p  = parent_of(m, (int32_t)i);
        double       *up = p >= 0 ? rho + 6 * (size_t)p : NULL;
        skel__lu     *b  = &blocks[i];
        if (b->full)
            skel__lu_full_inward(b->full, rho + 6 * i, gamma + 6 * i, up);
        else if (b->r > 0)
            inward_point(b, rho + 6 * i, gamma + 6 * i, up);
    }
    for (int32_t k = 0; k < m->nd; ++k) {
        const size_t    i  = (size_t)m->order[k];
        const int32_t   p  = parent_of(m, (int32_t)i);
        const double   *up = p >= 0 ? y + 6 * (size_t)p : NULL;
        const skel__lu *b  = &blocks[i];
        if (b->full)
            skel__lu_full_outward(b->full, rho + 6 * i, up, y + 6 * i, lambda + 6 * i);
        else if (b->r > 0)
            outward_point(b, rho + 6 * i, up, y + 6 * i, lambda + 6 * i);
        else
            solve_free(b, rho + 6 * i, y + 6 * i);
    }
}
