/* SPDX-License-Identifier: BSD-3-Clause */
/* The vector operations of CVODE 6 and its solvers (SUNDIALS user guide, "NVECTOR"). A result may
   be one of the operands but never overlaps one partially, so the iterations of a loop are
   independent; a pragma tells the compiler. This file is compiled with loop vectorisation
   (libskel/CMakeLists.txt). */
#include "integrate/cvode_vector.h"

#include <math.h>
#include <string.h>

#if defined(__clang__)
#define CVODE_LOOP_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define CVODE_LOOP_INDEPENDENT _Pragma("GCC ivdep")
#endif

/* A serial vector, followed by the data of the pool. */
typedef struct skel__pool_vector {
    struct _N_VectorContent_Serial serial; /* first: N_Vector's content points here */
    struct _generic_N_Vector vector;
    skel__vector_pool *pool;
    double *memory; /* of its numbers */
    int is_used;
} skel__pool_vector;

static skel__pool_vector *pooled(N_Vector v) {
    return v->content;
}

static double *data_of(N_Vector v) {
    return pooled(v)->serial.data;
}

static sunindextype length_of(N_Vector v) {
    return pooled(v)->serial.length;
}

/* ---- creation ---- */

static skel__pool_vector *take(skel__vector_pool *pool, SUNContext context) {
    for (int32_t k = 0; k < pool->count; ++k) {
        skel__pool_vector *v = &pool->vectors[k];
        if (v->is_used) continue;

        v->is_used = 1;
        v->vector.sunctx = context;
        v->serial.data = v->memory;
        if (++pool->used > pool->most_used) pool->most_used = pool->used;
        return v;
    }
    return NULL;
}

static N_Vector clone(N_Vector like) {
    skel__pool_vector *v = take(pooled(like)->pool, like->sunctx);
    return v ? &v->vector : NULL;
}

/* A vector whose numbers are set later by set_data. */
static N_Vector clone_empty(N_Vector like) {
    skel__pool_vector *v = take(pooled(like)->pool, like->sunctx);
    if (!v) return NULL;

    v->serial.data = NULL;
    return &v->vector;
}

static void destroy(N_Vector v) {
    if (!v) return;
    pooled(v)->is_used = 0;
    --pooled(v)->pool->used;
}

static N_Vector_ID id_of(N_Vector v) {
    (void)v;
    return SUNDIALS_NVEC_SERIAL;
}

static void set_data(double *data, N_Vector v) {
    pooled(v)->serial.data = data;
}

/* ---- one result ---- */

static void linear_sum(double a, N_Vector vx, double b, N_Vector vy, N_Vector vz) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx), *y = data_of(vy);
    double *z = data_of(vz);

    /* Factors of 1 and -1 are frequent: the predictor adds columns of the Nordsieck array. */
    if (a == 1.0 && b == 1.0) {
        CVODE_LOOP_INDEPENDENT
        for (sunindextype i = 0; i < n; ++i) z[i] = x[i] + y[i];
    } else if (a == 1.0 && b == -1.0) {
        CVODE_LOOP_INDEPENDENT
        for (sunindextype i = 0; i < n; ++i) z[i] = x[i] - y[i];
    } else if (a == 1.0) {
        CVODE_LOOP_INDEPENDENT
        for (sunindextype i = 0; i < n; ++i) z[i] = x[i] + b * y[i];
    } else if (b == 1.0) {
        CVODE_LOOP_INDEPENDENT
        for (sunindextype i = 0; i < n; ++i) z[i] = a * x[i] + y[i];
    } else {
        CVODE_LOOP_INDEPENDENT
        for (sunindextype i = 0; i < n; ++i) z[i] = a * x[i] + b * y[i];
    }
}

static void set_all(double c, N_Vector vz) {
    const sunindextype n = length_of(vz);
    double *z = data_of(vz);
    for (sunindextype i = 0; i < n; ++i) z[i] = c;
}

static void multiply(N_Vector vx, N_Vector vy, N_Vector vz) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx), *y = data_of(vy);
    double *z = data_of(vz);
    CVODE_LOOP_INDEPENDENT
    for (sunindextype i = 0; i < n; ++i) z[i] = x[i] * y[i];
}

static void divide(N_Vector vx, N_Vector vy, N_Vector vz) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx), *y = data_of(vy);
    double *z = data_of(vz);
    CVODE_LOOP_INDEPENDENT
    for (sunindextype i = 0; i < n; ++i) z[i] = x[i] / y[i];
}

static void scale(double c, N_Vector vx, N_Vector vz) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx);
    double *z = data_of(vz);
    if (c == 1.0) {
        if (x != z) memcpy(z, x, (size_t)n * sizeof *z);
        return;
    }
    CVODE_LOOP_INDEPENDENT
    for (sunindextype i = 0; i < n; ++i) z[i] = c * x[i];
}

static void absolute(N_Vector vx, N_Vector vz) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx);
    double *z = data_of(vz);
    CVODE_LOOP_INDEPENDENT
    for (sunindextype i = 0; i < n; ++i) z[i] = fabs(x[i]);
}

static void invert(N_Vector vx, N_Vector vz) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx);
    double *z = data_of(vz);
    CVODE_LOOP_INDEPENDENT
    for (sunindextype i = 0; i < n; ++i) z[i] = 1.0 / x[i];
}

static void add_constant(N_Vector vx, double b, N_Vector vz) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx);
    double *z = data_of(vz);
    CVODE_LOOP_INDEPENDENT
    for (sunindextype i = 0; i < n; ++i) z[i] = x[i] + b;
}

/* ---- sums: in four partial sums, whose order is the same on every processor ---- */

#define CVODE_LANES 4

static double dot(N_Vector vx, N_Vector vy) {
    const sunindextype n = length_of(vx), whole = n - n % CVODE_LANES;
    const double *x = data_of(vx), *y = data_of(vy);
    double lane[CVODE_LANES] = {0};
    for (sunindextype i = 0; i < whole; i += CVODE_LANES)
        for (int k = 0; k < CVODE_LANES; ++k) lane[k] += x[i + k] * y[i + k];
    for (sunindextype i = whole; i < n; ++i) lane[i - whole] += x[i] * y[i];
    return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}

static double weighted_rms(N_Vector vx, N_Vector vw) {
    const sunindextype n = length_of(vx), whole = n - n % CVODE_LANES;
    const double *x = data_of(vx), *w = data_of(vw);
    double lane[CVODE_LANES] = {0};
    for (sunindextype i = 0; i < whole; i += CVODE_LANES)
        for (int k = 0; k < CVODE_LANES; ++k) {
            const double term = x[i + k] * w[i + k];
            lane[k] += term * term;
        }

    for (sunindextype i = whole; i < n; ++i) {
        const double term = x[i] * w[i];
        lane[i - whole] += term * term;
    }
    return sqrt(((lane[0] + lane[1]) + (lane[2] + lane[3])) / (double)n);
}

static double largest(N_Vector vx) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx);
    double most = 0;
    for (sunindextype i = 0; i < n; ++i)
        if (fabs(x[i]) > most) most = fabs(x[i]);
    return most;
}

static double smallest(N_Vector vx) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx);
    double least = x[0];
    for (sunindextype i = 1; i < n; ++i)
        if (x[i] < least) least = x[i];
    return least;
}

/* ---- many vectors at once ---- */

/* z = sum of c_k x_k, in the order of k; up to four terms in one pass over z. */
static int linear_combination(int count, double *c, N_Vector *vx, N_Vector vz) {
    const sunindextype n = length_of(vz);
    double *z = data_of(vz);
    int k = 0;
    if (count < 1) return -1;

    /* The first terms set z, the others are added in pairs. */
    if (count >= 4) {
        const double *x0 = data_of(vx[0]), *x1 = data_of(vx[1]);
        const double *x2 = data_of(vx[2]), *x3 = data_of(vx[3]);
        const double c0 = c[0], c1 = c[1], c2 = c[2], c3 = c[3];
        CVODE_LOOP_INDEPENDENT
        for (sunindextype i = 0; i < n; ++i)
            z[i] = ((c0 * x0[i] + c1 * x1[i]) + c2 * x2[i]) + c3 * x3[i];
        k = 4;
    } else {
        scale(c[0], vx[0], vz);
        k = 1;
    }

    for (; k + 2 <= count; k += 2) {
        const double *x0 = data_of(vx[k]), *x1 = data_of(vx[k + 1]);
        const double c0 = c[k], c1 = c[k + 1];
        CVODE_LOOP_INDEPENDENT
        for (sunindextype i = 0; i < n; ++i) z[i] = (z[i] + c0 * x0[i]) + c1 * x1[i];
    }
    if (k < count) linear_sum(1.0, vz, c[k], vx[k], vz);
    return 0;
}

/* z_k = a_k x + y_k; two results in one pass over x. */
static int scale_add_multi(int count, double *a, N_Vector vx, N_Vector *vy, N_Vector *vz) {
    const sunindextype n = length_of(vx);
    const double *x = data_of(vx);
    int k = 0;
    if (count < 1) return -1;

    for (; k + 2 <= count; k += 2) {
        const double *y0 = data_of(vy[k]), *y1 = data_of(vy[k + 1]);
        double *z0 = data_of(vz[k]), *z1 = data_of(vz[k + 1]);
        const double a0 = a[k], a1 = a[k + 1];
        CVODE_LOOP_INDEPENDENT
        for (sunindextype i = 0; i < n; ++i) {
            const double now = x[i];
            z0[i] = a0 * now + y0[i];
            z1[i] = a1 * now + y1[i];
        }
    }
    if (k < count) linear_sum(a[k], vx, 1.0, vy[k], vz[k]);
    return 0;
}

static int dot_multi(int count, N_Vector vx, N_Vector *vy, double *out) {
    if (count < 1) return -1;
    for (int k = 0; k < count; ++k) out[k] = dot(vx, vy[k]);
    return 0;
}

static int scale_array(int count, double *c, N_Vector *vx, N_Vector *vz) {
    if (count < 1) return -1;
    for (int k = 0; k < count; ++k) scale(c[k], vx[k], vz[k]);
    return 0;
}

/* ---- the pool ---- */

static const struct _generic_N_Vector_Ops k_operations = {
    .nvgetvectorid = id_of,
    .nvclone = clone,
    .nvcloneempty = clone_empty,
    .nvdestroy = destroy,
    .nvgetarraypointer = data_of,
    .nvsetarraypointer = set_data,
    .nvgetlength = length_of,
    .nvlinearsum = linear_sum,
    .nvconst = set_all,
    .nvprod = multiply,
    .nvdiv = divide,
    .nvscale = scale,
    .nvabs = absolute,
    .nvinv = invert,
    .nvaddconst = add_constant,
    .nvdotprod = dot,
    .nvmaxnorm = largest,
    .nvwrmsnorm = weighted_rms,
    .nvmin = smallest,
    .nvlinearcombination = linear_combination,
    .nvscaleaddmulti = scale_add_multi,
    .nvdotprodmulti = dot_multi,
    .nvscalevectorarray = scale_array,
};

skel__vector_pool *skel__vector_pool_carve(skel__carver *c, int32_t count, size_t n) {
    skel__vector_pool *pool = skel__carve(c, 1, sizeof *pool);
    skel__pool_vector *vectors = skel__carve(c, (size_t)count, sizeof *vectors);
    if (pool) *pool = (skel__vector_pool){.ops = k_operations, .vectors = vectors, .count = count};

    for (int32_t k = 0; k < count; ++k) {
        double *memory = skel__carve(c, n, sizeof *memory);
        if (!pool) continue;

        skel__pool_vector *v = &vectors[k];
        *v = (skel__pool_vector){.serial = {.length = (sunindextype)n}, .pool = pool};
        v->vector = (struct _generic_N_Vector){.content = v, .ops = &pool->ops};
        v->memory = memory;
    }
    return pool;
}

N_Vector skel__vector_take(skel__vector_pool *pool, SUNContext context) {
    skel__pool_vector *v = take(pool, context);
    if (!v) return NULL;

    set_all(0, &v->vector);
    return &v->vector;
}
