/* SPDX-License-Identifier: BSD-3-Clause */
/* Vectors of three numbers for the innermost loops. If SKEL__WIDE is defined, a vector is one
   register, which needs a processor with AVX2; otherwise it is three numbers. Matrices are stored
   by columns, so that no sum runs across a register. Both variants give the same bits. In memory a
   vector takes SKEL__W3 doubles; the last one has no meaning. */
#ifndef SKEL_MATH_WIDE_H
#define SKEL_MATH_WIDE_H

#include "math/vec.h"

/* Name of a function that is compiled twice, once per variant. */
#ifdef SKEL__WIDE
#define SKEL__WAY(name) name##_wide
#else
#define SKEL__WAY(name) name##_plain
#endif
#define SKEL__W3 4     /* doubles of a vector in memory */
#define SKEL__W33 12   /* doubles of a 3 x 3 matrix */
#define SKEL__WIDE6 48 /* doubles of a 6 x 6 matrix: four 3 x 3 blocks */
#define SKEL__INLINE static inline __attribute__((always_inline))

#ifdef SKEL__WIDE

typedef double w3 __attribute__((vector_size(32), aligned(8)));

#define W3_AT(a, k) ((a)[k])
#define W3_PICK(a, b, i, j, k, l) __builtin_shufflevector(a, b, i, j, k, l)
#define W3_MIX(a, i, j, k) W3_PICK(a, a, i, j, k, 3)

SKEL__INLINE w3 w3_make(double x, double y, double z) {
    return (w3){x, y, z,
                z}; /* not 0: some analysis tools do not know the instruction that would set it */
}
SKEL__INLINE w3 w3_add(w3 a, w3 b) {
    return a + b;
}
SKEL__INLINE w3 w3_sub(w3 a, w3 b) {
    return a - b;
}
SKEL__INLINE w3 w3_scale(w3 a, double s) {
    return a * s;
}
SKEL__INLINE w3 w3_neg(w3 a) {
    return -a;
}
SKEL__INLINE w3 w3_times(w3 a, w3 b) {
    return a * b;
}

#else

typedef v3 w3;

#define W3_AT(a, k) ((k) == 0 ? (a).x : (k) == 1 ? (a).y : (a).z)
#define W3_MIX(a, i, j, k) w3_make(W3_AT(a, i), W3_AT(a, j), W3_AT(a, k))

SKEL__INLINE w3 w3_make(double x, double y, double z) {
    return (w3){x, y, z};
}
SKEL__INLINE w3 w3_add(w3 a, w3 b) {
    return v3_add(a, b);
}
SKEL__INLINE w3 w3_sub(w3 a, w3 b) {
    return v3_sub(a, b);
}
SKEL__INLINE w3 w3_scale(w3 a, double s) {
    return v3_scale(a, s);
}
SKEL__INLINE w3 w3_neg(w3 a) {
    return v3_neg(a);
}
SKEL__INLINE w3 w3_times(w3 a, w3 b) {
    return (w3){a.x * b.x, a.y * b.y, a.z * b.z};
}

#endif

typedef struct w33 {
    w3 c[3];
} w33;

SKEL__INLINE w3 w3_of(const double a[3]) {
    return w3_make(a[0], a[1], a[2]);
}
SKEL__INLINE w3 w3_from(const v3 *a) {
    return w3_make(a->x, a->y, a->z);
}
SKEL__INLINE v3 w3_v3(w3 a) {
    return (v3){W3_AT(a, 0), W3_AT(a, 1), W3_AT(a, 2)};
}
SKEL__INLINE void w3_to(w3 a, double out[3]) {
    out[0] = W3_AT(a, 0);
    out[1] = W3_AT(a, 1);
    out[2] = W3_AT(a, 2);
}
/* a + s b */
SKEL__INLINE w3 w3_mad(w3 a, double s, w3 b) {
    return w3_add(a, w3_scale(b, s));
}
SKEL__INLINE double w3_dot(w3 a, w3 b) {
    const w3 p = w3_times(a, b);
    return W3_AT(p, 0) + W3_AT(p, 1) + W3_AT(p, 2);
}
SKEL__INLINE w3 w3_cross(w3 a, w3 b) {
    const w3 c = w3_sub(w3_times(a, W3_MIX(b, 1, 2, 0)), w3_times(W3_MIX(a, 1, 2, 0), b));
    return W3_MIX(c, 1, 2, 0);
}
/* The largest absolute value. A NaN may be lost, because comparisons with it are false. */
SKEL__INLINE double w3_most(w3 a) {
    const double x = fabs(W3_AT(a, 0)), y = fabs(W3_AT(a, 1)), z = fabs(W3_AT(a, 2));
    const double most = x < y ? y : x;
    return most < z ? z : most;
}

SKEL__INLINE w33 w33_zero(void) {
    const w3 none = w3_make(0, 0, 0);
    return (w33){{none, none, none}};
}
SKEL__INLINE w33 w33_diagonal(double s) {
    return (w33){{w3_scale(w3_make(1, 0, 0), s), w3_scale(w3_make(0, 1, 0), s),
                  w3_scale(w3_make(0, 0, 1), s)}};
}
SKEL__INLINE w33 w33_skew(w3 a) {
    return (w33){{w3_times(W3_MIX(a, 0, 2, 1), w3_make(0, 1, -1)),
                  w3_times(W3_MIX(a, 2, 1, 0), w3_make(-1, 0, 1)),
                  w3_times(W3_MIX(a, 1, 0, 2), w3_make(1, -1, 0))}};
}
SKEL__INLINE w33 w33_transpose(w33 a) {
#ifdef SKEL__WIDE
    const w3 low = W3_PICK(a.c[0], a.c[1], 0, 4, 2, 6), high = W3_PICK(a.c[0], a.c[1], 1, 5, 3, 7);
    const w3 swap = W3_PICK(a.c[2], a.c[2], 1, 0, 3, 2);
    return (w33){{W3_PICK(low, a.c[2], 0, 1, 4, 5), W3_PICK(high, swap, 0, 1, 4, 5),
                  W3_PICK(low, a.c[2], 2, 3, 6, 7)}};
#else
    return (w33){{w3_make(a.c[0].x, a.c[1].x, a.c[2].x), w3_make(a.c[0].y, a.c[1].y, a.c[2].y),
                  w3_make(a.c[0].z, a.c[1].z, a.c[2].z)}};
#endif
}
/* a^T, and a */
SKEL__INLINE w33 w33_rows(const m3 *a) {
    return (w33){{w3_from(&a->r[0]), w3_from(&a->r[1]), w3_from(&a->r[2])}};
}
SKEL__INLINE w33 w33_from(const m3 *a) {
    return w33_transpose(w33_rows(a));
}
SKEL__INLINE w33 w33_add(w33 a, w33 b) {
    return (w33){{w3_add(a.c[0], b.c[0]), w3_add(a.c[1], b.c[1]), w3_add(a.c[2], b.c[2])}};
}
SKEL__INLINE w33 w33_sub(w33 a, w33 b) {
    return (w33){{w3_sub(a.c[0], b.c[0]), w3_sub(a.c[1], b.c[1]), w3_sub(a.c[2], b.c[2])}};
}
SKEL__INLINE w33 w33_scale(w33 a, double s) {
    return (w33){{w3_scale(a.c[0], s), w3_scale(a.c[1], s), w3_scale(a.c[2], s)}};
}
SKEL__INLINE w3 w33_mulv(w33 a, w3 b) {
    return w3_mad(w3_mad(w3_scale(a.c[0], W3_AT(b, 0)), W3_AT(b, 1), a.c[1]), W3_AT(b, 2), a.c[2]);
}
SKEL__INLINE w33 w33_mul(w33 a, w33 b) {
    return (w33){{w33_mulv(a, b.c[0]), w33_mulv(a, b.c[1]), w33_mulv(a, b.c[2])}};
}
/* a + s b c^T */
SKEL__INLINE w33 w33_add_outer(w33 a, double s, w3 b, w3 c) {
    const w3 t = w3_scale(b, s);
    return (w33){{w3_mad(a.c[0], W3_AT(c, 0), t), w3_mad(a.c[1], W3_AT(c, 1), t),
                  w3_mad(a.c[2], W3_AT(c, 2), t)}};
}
/* a s - b t */
SKEL__INLINE w3 w3_apart(w3 a, double s, w3 b, double t) {
    return w3_sub(w3_scale(a, s), w3_scale(b, t));
}
/* m [x] and [x] m */
SKEL__INLINE w33 w33_times_skew(w33 m, w3 x) {
    return (w33){{w3_apart(m.c[1], W3_AT(x, 2), m.c[2], W3_AT(x, 1)),
                  w3_apart(m.c[2], W3_AT(x, 0), m.c[0], W3_AT(x, 2)),
                  w3_apart(m.c[0], W3_AT(x, 1), m.c[1], W3_AT(x, 0))}};
}
SKEL__INLINE w33 w33_skew_times(w3 x, w33 m) {
    return (w33){{w3_cross(x, m.c[0]), w3_cross(x, m.c[1]), w3_cross(x, m.c[2])}};
}
/* The matrix of cofactors: the transposed inverse times the determinant. */
SKEL__INLINE w33 w33_cofactors(w33 a) {
    return (w33){{w3_cross(a.c[1], a.c[2]), w3_cross(a.c[2], a.c[0]), w3_cross(a.c[0], a.c[1])}};
}

/* ---- in memory ---- */
SKEL__INLINE w3 w3_load(const double *a) {
#ifdef SKEL__WIDE
    return *(const w3 *)a;
#else
    return w3_of(a);
#endif
}
SKEL__INLINE void w3_store(w3 a, double *to) {
#ifdef SKEL__WIDE
    *(w3 *)to = a;
#else
    w3_to(a, to);
#endif
}
SKEL__INLINE w33 w33_load(const double *a) {
    return (w33){{w3_load(a), w3_load(a + SKEL__W3), w3_load(a + 2 * SKEL__W3)}};
}
SKEL__INLINE void w33_store(w33 m, double *to) {
    for (int k = 0; k < 3; ++k) w3_store(m.c[k], to + k * SKEL__W3);
}

/* 6 x 6 matrices: index of an entry, and the 3 x 3 block that begins there. */
SKEL__INLINE int wide6_at(int row, int col) {
    return 24 * (row / 3) + row % 3 + SKEL__W3 * col;
}
SKEL__INLINE w33 corner_of(const double *a, int row, int col) {
    return w33_load(a + wide6_at(row, col));
}
SKEL__INLINE void corner_set(double *a, int row, int col, w33 m) {
    w33_store(m, a + wide6_at(row, col));
}
SKEL__INLINE void corner_add(double *a, int row, int col, w33 m) {
    corner_set(a, row, col, w33_add(corner_of(a, row, col), m));
}

#endif
