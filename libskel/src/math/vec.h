/* SPDX-License-Identifier: BSD-3-Clause */
/* Conventions, stated once: right-handed, SI, radians, double; column vectors, active rotations;
   quaternions w x y z, Hamilton, unit; 6-vectors linear part first; skew(a) b = a x b.
   All types are passed and returned by value. */
#ifndef SKEL_MATH_VEC_H
#define SKEL_MATH_VEC_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#define SKEL__TURN 6.283185307179586476925 /* 2 pi */

typedef struct v3 {
    double x, y, z;
} v3;

typedef struct m3 {
    v3 r[3]; /* rows */
} m3;

static inline v3 v3_of(const double a[3]) {
    return (v3){a[0], a[1], a[2]};
}
static inline void v3_to(v3 a, double out[3]) {
    out[0] = a.x;
    out[1] = a.y;
    out[2] = a.z;
}
static inline v3 v3_add(v3 a, v3 b) {
    return (v3){a.x + b.x, a.y + b.y, a.z + b.z};
}
static inline v3 v3_sub(v3 a, v3 b) {
    return (v3){a.x - b.x, a.y - b.y, a.z - b.z};
}
static inline v3 v3_scale(v3 a, double s) {
    return (v3){a.x * s, a.y * s, a.z * s};
}
static inline v3 v3_neg(v3 a) {
    return (v3){-a.x, -a.y, -a.z};
}
/* a + s b */
static inline v3 v3_mad(v3 a, double s, v3 b) {
    return (v3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}
static inline double v3_dot(v3 a, v3 b) {
    return a.x * b.x + a.y * b.y + a.z * b.z;
}
static inline v3 v3_cross(v3 a, v3 b) {
    return (v3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}
static inline double v3_norm(v3 a) {
    return sqrt(v3_dot(a, a));
}
/* w x (w x r): the centripetal term */
static inline v3 v3_centripetal(v3 w, v3 r) {
    return v3_cross(w, v3_cross(w, r));
}
/* A unit vector perpendicular to the unit vector a. It depends on a only. */
static inline v3 v3_perpendicular(v3 a) {
    const double x = fabs(a.x), y = fabs(a.y), z = fabs(a.z);
    v3 e = {0, 0, 1};
    if (x <= y && x <= z)
        e = (v3){1, 0, 0};
    else if (y <= z)
        e = (v3){0, 1, 0};

    const v3 c = v3_cross(a, e);
    return v3_scale(c, 1.0 / v3_norm(c));
}

static inline m3 m3_identity(void) {
    return (m3){{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
}
static inline m3 m3_zero(void) {
    return (m3){{{0, 0, 0}, {0, 0, 0}, {0, 0, 0}}};
}
static inline m3 m3_diagonal(double s) {
    return (m3){{{s, 0, 0}, {0, s, 0}, {0, 0, s}}};
}
static inline m3 m3_skew(v3 a) {
    return (m3){{{0, -a.z, a.y}, {a.z, 0, -a.x}, {-a.y, a.x, 0}}};
}
static inline m3 m3_transpose(m3 a) {
    return (m3){{{a.r[0].x, a.r[1].x, a.r[2].x},
                 {a.r[0].y, a.r[1].y, a.r[2].y},
                 {a.r[0].z, a.r[1].z, a.r[2].z}}};
}
static inline v3 m3_column(m3 a, int k) {
    if (k == 0) return (v3){a.r[0].x, a.r[1].x, a.r[2].x};
    if (k == 1) return (v3){a.r[0].y, a.r[1].y, a.r[2].y};
    return (v3){a.r[0].z, a.r[1].z, a.r[2].z};
}
static inline v3 m3_mulv(m3 a, v3 b) {
    return (v3){v3_dot(a.r[0], b), v3_dot(a.r[1], b), v3_dot(a.r[2], b)};
}
/* a^T b */
static inline v3 m3_tmulv(m3 a, v3 b) {
    return v3_mad(v3_mad(v3_scale(a.r[0], b.x), b.y, a.r[1]), b.z, a.r[2]);
}
static inline v3 m3_rowmul_(v3 row, m3 b) {
    return v3_mad(v3_mad(v3_scale(b.r[0], row.x), row.y, b.r[1]), row.z, b.r[2]);
}
static inline m3 m3_mul(m3 a, m3 b) {
    return (m3){{m3_rowmul_(a.r[0], b), m3_rowmul_(a.r[1], b), m3_rowmul_(a.r[2], b)}};
}
/* a b^T */
static inline m3 m3_mult(m3 a, m3 b) {
    return (m3){{m3_mulv(b, a.r[0]), m3_mulv(b, a.r[1]), m3_mulv(b, a.r[2])}};
}
/* a^T b */
static inline m3 m3_tmul(m3 a, m3 b) {
    return m3_mul(m3_transpose(a), b);
}
static inline m3 m3_add(m3 a, m3 b) {
    return (m3){{v3_add(a.r[0], b.r[0]), v3_add(a.r[1], b.r[1]), v3_add(a.r[2], b.r[2])}};
}
static inline m3 m3_sub(m3 a, m3 b) {
    return (m3){{v3_sub(a.r[0], b.r[0]), v3_sub(a.r[1], b.r[1]), v3_sub(a.r[2], b.r[2])}};
}
static inline m3 m3_scale(m3 a, double s) {
    return (m3){{v3_scale(a.r[0], s), v3_scale(a.r[1], s), v3_scale(a.r[2], s)}};
}
/* a - s b c^T */
static inline m3 m3_sub_outer(m3 a, double s, v3 b, v3 c) {
    return (m3){
        {v3_mad(a.r[0], -s * b.x, c), v3_mad(a.r[1], -s * b.y, c), v3_mad(a.r[2], -s * b.z, c)}};
}
/* [a] [b]: a x (b x v) = b (a.v) - v (a.b) */
static inline m3 m3_skew_skew(v3 a, v3 b) {
    return m3_sub_outer(m3_diagonal(-v3_dot(a, b)), -1.0, b, a);
}
/* m [x] and [x] m */
static inline m3 m3_times_skew(m3 m, v3 x) {
    return (m3){{v3_cross(m.r[0], x), v3_cross(m.r[1], x), v3_cross(m.r[2], x)}};
}
static inline m3 m3_skew_times(v3 x, m3 m) {
    const v3 a = m.r[0], b = m.r[1], c = m.r[2];
    return (m3){{v3_sub(v3_scale(c, x.y), v3_scale(b, x.z)),
                 v3_sub(v3_scale(a, x.z), v3_scale(c, x.x)),
                 v3_sub(v3_scale(b, x.x), v3_scale(a, x.y))}};
}
/* (a + a^T) / 2. It removes the asymmetry that rounding leaves in an inertia. */
static inline m3 m3_symmetric(m3 a) {
    const double xy = 0.5 * (a.r[0].y + a.r[1].x);
    const double xz = 0.5 * (a.r[0].z + a.r[2].x);
    const double yz = 0.5 * (a.r[1].z + a.r[2].y);
    return (m3){{{a.r[0].x, xy, xz}, {xy, a.r[1].y, yz}, {xz, yz, a.r[2].z}}};
}
/* r a r^T for symmetric a */
static inline m3 m3_conjugate(m3 r, m3 a) {
    return m3_symmetric(m3_mult(m3_mul(r, a), r));
}
static inline double m3_trace(m3 a) {
    return a.r[0].x + a.r[1].y + a.r[2].z;
}
static inline double m3_det(m3 a) {
    return v3_dot(a.r[0], v3_cross(a.r[1], a.r[2]));
}
/* Inverse by cofactors. The caller must know that a is regular, like an inertia or a rotation. */
static inline m3 m3_inverse(m3 a) {
    const v3 c0 = v3_cross(a.r[1], a.r[2]);
    const v3 c1 = v3_cross(a.r[2], a.r[0]);
    const v3 c2 = v3_cross(a.r[0], a.r[1]);
    const double d = 1.0 / v3_dot(a.r[0], c0);
    return m3_transpose((m3){{v3_scale(c0, d), v3_scale(c1, d), v3_scale(c2, d)}});
}

/* Whether none of the numbers is infinite or NaN. */
static inline int all_finite(const double *x, size_t count) {
    for (size_t k = 0; k < count; ++k)
        if (!isfinite(x[k])) return 0;
    return 1;
}
static inline double dot_of(const double *a, const double *b, int32_t n) {
    double s = 0;
    for (int32_t k = 0; k < n; ++k) s += a[k] * b[k];
    return s;
}

#endif
