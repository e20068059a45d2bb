/* SPDX-License-Identifier: BSD-3-Clause */
/* Denavit-Hartenberg tables: against vectors made elsewhere, and as laws: a table, its model, the
   table of that model and the model of that table move alike. */
#include "math/quat.h"
#include "shared/near.h"
#include "shared/rng.h"
#include "shared/vectors.h"

#include <skel/skel.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 8
#if defined(__SANITIZE_ADDRESS__)
#define DH_CHAINS 2000 /* what sanitizers look for shows in few */
#else
#define DH_CHAINS 10000
#endif
#define POSES 20

/* ---- vectors --------------------------------------------------------------------------------- */

static void matrix_of_pose(const double x[7], double out[16]) {
    const m3 r = q_matrix(q_of(x + 3));
    const double rows[] = {r.r[0].x, r.r[0].y, r.r[0].z, x[0], r.r[1].x, r.r[1].y, r.r[1].z, x[1],
                           r.r[2].x, r.r[2].y, r.r[2].z, x[2], 0,        0,        0,        1};
    memcpy(out, rows, sizeof rows);
}

static void matrix_numbers(const json_value *node, double out[16]) {
    int k = 0;
    for (const json_value *row = node->child; row; row = row->next)
        for (const json_value *c = row->child; c; c = c->next) out[k++] = c->number;
    ck_assert_int_eq(k, 16);
}

/* Frames of the table at q against 4x4 matrices. */
static void near_frames(const skel_dh *dh, const double *q, const json_value *frames,
                        double bound) {
    double x[7 * (MAX_ROWS + 1)], is[16], must[16];
    ck_assert_int_eq(skel_dh_frames(dh, q, x), SKEL_OK);
    int i = 0;
    for (const json_value *f = frames->child; f; f = f->next, ++i) {
        matrix_of_pose(x + 7 * i, is);
        matrix_numbers(f, must);
        near(is, must, 16, bound);
    }
    ck_assert_int_eq(i, skel_dh_row_count(dh));
}

static skel_dh *dh_of(int32_t convention, const skel_dh_row *rows, int n, const double *base,
                      const double *tool) {
    skel_dh_desc d;
    skel_error err;
    skel_dh *dh;
    skel_error_init(&err);
    skel_dh_desc_init(&d);
    d.convention = convention, d.rows = rows, d.row_count = (uint32_t)n;
    if (base) memcpy(d.base, base, sizeof d.base);
    if (tool) memcpy(d.tool, tool, sizeof d.tool);
    ck_assert_msg(skel_dh_create(&d, &dh, &err) == SKEL_OK, "%s", err.text);
    return dh;
}

static skel_dh_row row_of(const skel_dh *dh, int i) {
    skel_dh_row r;
    skel_dh_row_init(&r);
    ck_assert_int_eq(skel_dh_get_row(dh, i, &r), SKEL_OK);
    return r;
}

START_TEST(axes_of_the_vectors) {
    const json_value *c = json_element(get(g_vectors, "dh_from_axes"), _i);
    const int n = (int)number(c, "n");
    double p[3 * MAX_ROWS], u[3 * MAX_ROWS], q[MAX_ROWS], zero[MAX_ROWS] = {0};
    double a[MAX_ROWS], alpha[MAX_ROWS], d[MAX_ROWS], phi[MAX_ROWS];
    int32_t types[MAX_ROWS];
    for (int i = 0; i < n; ++i) {
        for (int k = 0; k < 3; ++k) {
            p[3 * i + k] = json_element(json_element(get(c, "p"), i), k)->number;
            u[3 * i + k] = json_element(json_element(get(c, "u"), i), k)->number;
        }
        types[i] = json_is_true(json_element(get(c, "prismatic"), i)) ? SKEL_JOINT_SLIDE
                                                                      : SKEL_JOINT_HINGE;
    }
    numbers(c, "q", q, n), numbers(c, "a", a, n), numbers(c, "alpha", alpha, n);
    numbers(c, "d", d, n), numbers(c, "phi", phi, n);
    skel_dh_axes_desc desc;
    skel_dh *modified, *standard;
    skel_dh_axes_desc_init(&desc);
    desc.convention = SKEL_DH_MODIFIED, desc.count = (uint32_t)n;
    desc.points = p, desc.directions = u, desc.types = types;
    ck_assert_int_eq(skel_dh_from_axes(&desc, &modified, NULL), SKEL_OK);
    near_frames(modified, zero, get(c, "frames"), 1e-12);
    near_frames(modified, q, get(c, "moved_frames"), 1e-12);
    ck_assert_int_eq(skel_dh_convert(modified, SKEL_DH_STANDARD, &standard, NULL), SKEL_OK);
    for (int i = 0; i < n; ++i) { /* a_i and alpha_i of the slides are those of standard row i */
        const skel_dh_row r = row_of(standard, i);
        near1(r.a, a[i], 1e-12);
        near1(r.d, d[i], 1e-12);
        near1(r.alpha, alpha[i], 1e-12);
        near1(r.theta, phi[i], 1e-12);
    }
    skel_dh_destroy(modified), skel_dh_destroy(standard);
}
END_TEST

START_TEST(tables_of_the_vectors) {
    const json_value *c = json_element(get(g_vectors, "dh_tables"), _i);
    const int n = json_size(get(c, "rows"));
    skel_dh_row m[MAX_ROWS], s[MAX_ROWS];
    double zero[MAX_ROWS] = {0}, is[16], must[16], base[7], tool[7];
    for (int i = 0; i < n; ++i) {
        const json_value *row = json_element(get(c, "rows"), i);
        double x[4];
        for (int k = 0; k < 4; ++k) x[k] = json_element(row, k)->number;
        skel_dh_row_init(&m[i]), skel_dh_row_init(&s[i]);
        m[i].alpha = x[0], m[i].a = x[1], m[i].d = x[2], m[i].theta = x[3];
        s[i].theta = x[0], s[i].d = x[1], s[i].a = x[2], s[i].alpha = x[3];
    }
    skel_dh *modified = dh_of(SKEL_DH_MODIFIED, m, n, NULL, NULL), *other;
    skel_dh *standard = dh_of(SKEL_DH_STANDARD, s, n, NULL, NULL);
    near_frames(modified, zero, get(c, "modified_frames"), 1e-12);
    near_frames(standard, zero, get(c, "standard_frames"), 1e-12);
    ck_assert_int_eq(skel_dh_convert(modified, SKEL_DH_STANDARD, &other, NULL), SKEL_OK);
    const json_value *to = get(c, "to_standard");
    skel_dh_get_ends(other, base, NULL);
    matrix_of_pose(base, is), matrix_numbers(get(to, "base"), must);
    near(is, must, 16, 1e-12);
    for (int i = 0; i < n; ++i) { /* theta, d, a, alpha */
        const skel_dh_row r = row_of(other, i);
        const double x[4] = {r.theta, r.d, r.a, r.alpha};
        for (int k = 0; k < 4; ++k)
            near1(x[k], json_element(json_element(get(to, "rows"), i), k)->number, 1e-12);
    }
    skel_dh_destroy(other);
    ck_assert_int_eq(skel_dh_convert(standard, SKEL_DH_MODIFIED, &other, NULL), SKEL_OK);
    to = get(c, "to_modified");
    skel_dh_get_ends(other, NULL, tool);
    matrix_of_pose(tool, is), matrix_numbers(get(to, "tool"), must);
    near(is, must, 16, 1e-12);
    for (int i = 0; i < n; ++i) { /* alpha, a, d, theta */
        const skel_dh_row r = row_of(other, i);
        const double x[4] = {r.alpha, r.a, r.d, r.theta};
        for (int k = 0; k < 4; ++k)
            near1(x[k], json_element(json_element(get(to, "rows"), i), k)->number, 1e-12);
    }
    skel_dh_destroy(other), skel_dh_destroy(modified), skel_dh_destroy(standard);
}
END_TEST

/* ---- random chains --------------------------------------------------------------------------- */

static void random_pose(rng *r, double x[7]) {
    const v3 turn = {rng_range(r, -2, 2), rng_range(r, -2, 2), rng_range(r, -2, 2)};
    for (int k = 0; k < 3; ++k) x[k] = rng_range(r, -1, 1);
    q_to(q_exp(turn), x + 3);
}

/* Every kind of neighbour is forced in turn: skew, intersecting, parallel, antiparallel, on one
   line with same and opposite sense, at a right angle. */
static void random_row(rng *r, skel_dh_row *row) {
    const double pi = 0.5 * SKEL__TURN;
    skel_dh_row_init(row);
    row->type = rng_int(r, 4) ? SKEL_JOINT_HINGE : SKEL_JOINT_SLIDE;
    row->a = rng_range(r, -1, 1);
    row->alpha = rng_range(r, -pi, pi);
    row->d = rng_int(r, 3) ? rng_range(r, -1, 1) : 0;
    row->theta = rng_int(r, 3) ? rng_range(r, -pi, pi) : 0;
    row->offset = rng_int(r, 2) ? rng_range(r, -1, 1) : 0;
    row->sign = rng_int(r, 3) ? 1 : -1;
    switch (rng_int(r, 8)) {
    case 0: row->a = 0; break;
    case 1: row->alpha = 0; break;
    case 2: row->alpha = pi; break;
    case 3: row->a = 0, row->alpha = 0; break;
    case 4: row->a = 0, row->alpha = -pi; break;
    case 5: row->alpha = 0.5 * pi; break;
    case 6: row->a = 0, row->alpha = -0.5 * pi; break;
    default: break;
    }
}

static pose pose_from(const double x[7]) {
    return (pose){v3_of(x), q_of(x + 3)};
}

static pose rounded_pose(pose x) {
    const pose y = {{(float)x.p.x, (float)x.p.y, (float)x.p.z},
                    {(float)x.q.w, (float)x.q.x, (float)x.q.y, (float)x.q.z}};
    return (pose){y.p, q_unit(y.q)};
}

static void put_frame(pose body, pose frame, double position[3], double orientation[4]) {
    const pose x = pose_mul(pose_inverse(body), frame);
    v3_to(x.p, position);
    q_to(q_unit(x.q), orientation);
}

/* Bodies and joints as float32 in the world, as Blender has them. */
static void round_model(int n, skel_body_desc *b, skel_joint_desc *j) {
    pose before = {{0, 0, 0}, q_identity()}, before_rounded = before;
    for (int i = 0; i < n; ++i) {
        const pose outer = {v3_of(j[i].parent_position), q_of(j[i].parent_orientation)};
        const pose joint = rounded_pose(pose_mul(before, outer));
        const pose body = {v3_of(b[i].position), q_of(b[i].orientation)};
        const pose x = rounded_pose(body);
        put_frame(before_rounded, joint, j[i].parent_position, j[i].parent_orientation);
        put_frame(x, joint, j[i].child_position, j[i].child_orientation);
        v3_to(x.p, b[i].position);
        q_to(x.q, b[i].orientation);
        before = body, before_rounded = x;
    }
}

static skel_model *model_of(const skel_dh *dh, int rounded) {
    const int n = skel_dh_row_count(dh);
    skel_body_desc b[MAX_ROWS];
    skel_joint_desc j[MAX_ROWS];
    skel_model_desc d;
    skel_model *model;
    skel_error err;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    for (int i = 0; i < n; ++i) skel_body_desc_init(&b[i]), skel_joint_desc_init(&j[i]);
    ck_assert_int_eq(skel_dh_get_descs(dh, b, sizeof *b, j, sizeof *j), SKEL_OK);
    if (rounded) round_model(n, b, j);
    d.bodies = b, d.body_count = (uint32_t)n, d.joints = j, d.joint_count = (uint32_t)n;
    ck_assert_msg(skel_model_create(&d, &model, &err) == SKEL_OK, "%s", err.text);
    return model;
}

static skel_dh *extracted(const skel_model *model, int32_t convention, const double *tool) {
    skel_dh_chain_desc c;
    skel_dh *dh;
    skel_error err;
    skel_error_init(&err);
    skel_dh_chain_desc_init(&c);
    c.convention = convention, c.tip = skel_model_body_count(model) - 1;
    memcpy(c.tool, tool, sizeof c.tool);
    ck_assert_msg(skel_dh_extract(model, &c, &dh, &err) == SKEL_OK, "%s", err.text);
    return dh;
}

/* Where the tool is at q, by the model's own kinematics. */
static pose tool_at(const skel_model *model, const double *tool, const double *q) {
    double x[7 * MAX_ROWS];
    const int n = skel_model_body_count(model);
    ck_assert_int_eq(skel_fk(model, q, x), SKEL_OK);
    return pose_mul(pose_from(x + 7 * (n - 1)), pose_from(tool));
}

static double distance(pose a, pose b, double reach) {
    const v3 turn = q_log(q_mul(q_conj(a.q), b.q));
    return fmax(v3_norm(v3_sub(a.p, b.p)) / reach, v3_norm(turn));
}

typedef struct chain {
    int n;
    skel_dh_row row[MAX_ROWS];
    double base[7], tool[7], reach;
} chain;

static chain random_chain(rng *r) {
    chain c = {.n = 1 + rng_int(r, MAX_ROWS)};
    random_pose(r, c.base), random_pose(r, c.tool);
    c.reach = v3_norm(v3_of(c.tool));
    for (int i = 0; i < c.n; ++i) {
        random_row(r, &c.row[i]);
        c.reach += fabs(c.row[i].a) + fabs(c.row[i].d) + fabs(c.row[i].offset);
    }
    return c;
}

/* Table -> model -> table -> model; the largest difference over random q. */
static double there_and_back(rng *r, const chain *c, int32_t from, int32_t to, int rounded) {
    skel_dh *dh = dh_of(from, c->row, c->n, c->base, c->tool);
    skel_model *model = model_of(dh, rounded);
    skel_dh *again = extracted(model, to, c->tool);
    skel_model *back = model_of(again, 0);
    double tool[7], worst = 0, frames[7 * (MAX_ROWS + 1)], q2[MAX_ROWS];
    ck_assert_int_eq(skel_dh_row_count(again), c->n);
    ck_assert_int_eq(skel_dh_convention(again), to);
    skel_dh_get_ends(again, NULL, tool);
    for (int k = 0; k < POSES; ++k) {
        double q[MAX_ROWS];
        for (int i = 0; i < c->n; ++i) q[i] = rng_range(r, -3, 3);
        const pose one = tool_at(model, c->tool, q), two = tool_at(back, tool, q);
        worst = fmax(worst, distance(one, two, c->reach));
        ck_assert_int_eq(skel_dh_frames(again, q, frames), SKEL_OK); /* and by the table itself */
        worst = fmax(worst, distance(one, pose_from(frames + 7 * c->n), c->reach));
        ck_assert_int_eq(skel_dh_coordinates(again, frames, q2), SKEL_OK);
        near(q2, q, (size_t)c->n, 1e-12 * (1 + 1e3 * rounded) * (1 + max_abs(frames, 7)));
    }
    skel_dh_destroy(dh), skel_dh_destroy(again);
    skel_model_destroy(model), skel_model_destroy(back);
    return worst;
}

/* Every chain is read in one convention and written in both. */
static void many_chains(uint64_t seed, int32_t from, int rounded, double bound) {
    rng r = rng_seed(seed);
    for (int k = 0; k < DH_CHAINS / 4; ++k) {
        const chain c = random_chain(&r);
        for (int32_t to = SKEL_DH_STANDARD; to <= SKEL_DH_MODIFIED; ++to) {
            const double off = there_and_back(&r, &c, from, to, rounded);
            ck_assert_msg(off <= bound, "chain %d of seed %d, convention %d: %.3g", k, (int)seed,
                          (int)to, off);
        }
    }
}

START_TEST(random_chains_there_and_back) {
    many_chains(600 + (uint64_t)_i, _i & 1, 0, 1e-9);
}
END_TEST

START_TEST(float32_models_there_and_back) {
    many_chains(700 + (uint64_t)_i, _i & 1, 1, 1e-6);
}
END_TEST

/* ---- nearly parallel axes and receipts ------------------------------------------------------- */

#define OFF_AXES 3
static const double k_reach = 0.5 + 0.3 + 0.4; /* of the points below, from one to the next */

/* Three axes; the second is off parallel to the first by `off` radians. Their common normal is
   0.3 m long and 0.4 m / tan(off) away. */
static void off_axes(double off, double points[9], double directions[9], double tip[7]) {
    const double p[9] = {0, 0, 0, 0.3, 0.4, 0, 0.3, 0.4, 0.3}, x[7] = {0.7, 0.4, 0.3, 1};
    const double u[9] = {0, 0, 1, 0, sin(off), cos(off), 0, 1, 0};
    memcpy(points, p, sizeof p);
    memcpy(directions, u, sizeof u);
    memcpy(tip, x, sizeof x);
}

static skel_dh *off_table(double off, double snap, double tolerance, int32_t convention) {
    double p[9], u[9];
    skel_dh_axes_desc d;
    skel_dh *dh;
    skel_dh_axes_desc_init(&d);
    off_axes(off, p, u, d.tip);
    d.count = OFF_AXES, d.points = p, d.directions = u, d.convention = convention;
    if (snap > 0) d.snap = snap;
    if (tolerance >= 0) d.parallel_tolerance = tolerance;
    ck_assert_int_eq(skel_dh_from_axes(&d, &dh, NULL), SKEL_OK);
    return dh;
}

static skel_dh_receipt receipt_of(const skel_dh *dh) {
    skel_dh_receipt r = {.struct_size = sizeof r};
    ck_assert_int_eq(skel_dh_get_receipt(dh, &r), SKEL_OK);
    return r;
}

/* The generator that skel_dh.h describes, written again. */
static double test_number(long long *s) {
    *s = *s * 48271 % 2147483647;
    return 2.0 * (double)*s / 2147483647 - 1.0;
}

/* Largest errors of a table against the three axes: x -> p + R (x - p), R by Rodrigues' formula.
   errors: [m], [rad]. */
static void off_errors(const skel_dh *dh, double off, double errors[2]) {
    double p[9], u[9], tip[7], q[OFF_AXES], frames[7 * (OFF_AXES + 1)];
    long long s = 1;
    off_axes(off, p, u, tip);
    errors[0] = errors[1] = 0;
    for (int k = 0; k < SKEL_DH_TEST_POSES; ++k) {
        for (int i = 0; i < OFF_AXES; ++i) q[i] = 0.5 * SKEL__TURN * test_number(&s);
        double
            x[12]; /* the origin and the three axes of the tool, which all stand as the world's */
        for (int c = 0; c < 12; ++c) x[c] = tip[c % 3] + (c / 3 == c % 3 + 1);
        for (int i = OFF_AXES - 1; i >= 0; --i)
            for (int c = 0; c < 4; ++c) {
                const v3 at = v3_of(p + 3 * i), n = v3_of(u + 3 * i);
                const v3 r = v3_sub(v3_of(x + 3 * c), at);
                v3 y = v3_scale(r, cos(q[i]));
                y = v3_mad(y, sin(q[i]), v3_cross(n, r));
                y = v3_mad(y, (1 - cos(q[i])) * v3_dot(n, r), n);
                v3_to(v3_add(at, y), x + 3 * c);
            }
        ck_assert_int_eq(skel_dh_frames(dh, q, frames), SKEL_OK);
        const pose tool = pose_from(frames + 7 * OFF_AXES);
        errors[0] = fmax(errors[0], v3_norm(v3_sub(tool.p, v3_of(x))));
        const m3 is = m3_transpose(q_matrix(tool.q)); /* |A - B| of rotations: 2 sqrt2 sin(a/2) */
        double sum = 0;
        for (int c = 0; c < 3; ++c) {
            const v3 must = v3_sub(v3_of(x + 3 * c + 3), v3_of(x)), e = v3_sub(is.r[c], must);
            sum += v3_dot(e, e);
        }
        errors[1] = fmax(errors[1], 2 * asin(sqrt(sum / 8)));
    }
}

/* 1e-9 to 1e-3 rad by half decades: the table keeps to the size of the chain as long as that costs
   little, says what it cost, and what was turned. Its receipt is what a test finds itself. */
START_TEST(axes_off_parallel) {
    const double off = pow(10, -9 + 0.5 * _i), lever = 0.3 + 0.4;
    for (int32_t convention = 0; convention < 2; ++convention) {
        skel_dh *dh = off_table(off, 0, -1, convention);
        const skel_dh_receipt r = receipt_of(dh);
        const skel_dh_row a = row_of(dh, 0);
        double must[2];
        off_errors(dh, off, must);
        near1(r.reach, k_reach, 1e-15);
        near1(r.position_error, must[0], 1e-12 * (1 + r.longest));
        near1(r.angle_error, must[1], 1e-14);
        near1(a.normal_distance, 0.4 / tan(off), 1e-6 * a.normal_distance + k_reach);

        const int cheap = off < 1e-6 || 2 * off * lever <= 2e-4 * k_reach;
        ck_assert_int_eq(a.relation, cheap ? SKEL_DH_PARALLEL : SKEL_DH_SKEW);
        ck_assert_int_eq(r.turned_count, cheap);
        near1(a.turned, cheap ? off : 0.0, 1e-15);
        if (cheap) {
            ck_assert_double_le(r.longest, k_reach);
            ck_assert_double_le(r.position_error, 2 * off * lever + 1e-14);
            ck_assert_double_le(r.angle_error, 2 * off + 1e-14);
        } else {
            near1(r.longest, 0.4 / off, 1);
            ck_assert_double_le(r.position_error, 1e-15 * r.longest * 4);
        }
        skel_dh_destroy(dh);
    }
}
END_TEST

/* What the caller says of both tolerances holds. */
START_TEST(tolerances_are_honoured) {
    const struct {
        double off, snap, tolerance;
        int32_t relation;
    } cases[] = {{7.3e-6, 1e-6, 0, SKEL_DH_SKEW},        {7.3e-6, 1e-5, 0, SKEL_DH_PARALLEL},
                 {7.3e-6, 1e-6, 1e-5, SKEL_DH_PARALLEL}, {7.3e-6, 1e-6, 7e-6, SKEL_DH_SKEW},
                 {1e-3, 2e-3, 0, SKEL_DH_PARALLEL},      {0.09, 1e-6, 0.0999, SKEL_DH_SKEW}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        skel_dh *dh = off_table(cases[k].off, cases[k].snap, cases[k].tolerance, SKEL_DH_STANDARD);
        ck_assert_msg(row_of(dh, 0).relation == cases[k].relation, "case %zu", k);
        skel_dh_destroy(dh);
    }
    skel_dh_axes_desc d;
    skel_dh *dh;
    skel_error err;
    double p[9], u[9];
    skel_error_init(&err);
    skel_dh_axes_desc_init(&d);
    off_axes(1e-5, p, u, d.tip);
    d.count = OFF_AXES, d.points = p, d.directions = u, d.parallel_tolerance = -1;
    ck_assert_int_eq(skel_dh_from_axes(&d, &dh, &err), SKEL_E_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(err.text, "parallel_tolerance: is -1 rad, must be >= 0"));
}
END_TEST

/* A run of parallel axes keeps one direction: angles are taken against the first, not summed. */
START_TEST(a_run_keeps_one_direction) {
    const double off = 7.3e-6;
    const double p[9] = {0, 0, 0, 0.3, 0.4, 0, 0.6, 0.4, 0};
    const double u[9] = {0, 0, 1, 0, sin(off), cos(off), sin(off), 0, cos(off)};
    skel_dh_axes_desc d;
    skel_dh *dh;
    skel_dh_axes_desc_init(&d);
    d.count = 3, d.points = p, d.directions = u, d.tip[0] = 0.9;
    ck_assert_int_eq(skel_dh_from_axes(&d, &dh, NULL), SKEL_OK);
    for (int i = 0; i < 2; ++i) {
        ck_assert_int_eq(row_of(dh, i).relation, SKEL_DH_PARALLEL);
        ck_assert(row_of(dh, i).alpha == 0 && row_of(dh, i).d == 0);
        near1(row_of(dh, i).turned, off, 1e-15);
    }
    skel_dh_destroy(dh);
}
END_TEST

/* Three axes in one point to rounding, as URDFs have it: no length is long, whatever the reach. */
START_TEST(a_wrist_of_no_reach) {
    const double p[9] = {1e-17, 0, 0, 0, 2e-17, 0, 0, 0, 0};
    const double u[9] = {0, 0, 1, 0, 1, 0, 0, 1e-4, 1};
    skel_dh_axes_desc d;
    skel_dh *dh;
    skel_dh_axes_desc_init(&d);
    d.count = 3, d.points = p, d.directions = u;
    ck_assert_int_eq(skel_dh_from_axes(&d, &dh, NULL), SKEL_OK);
    for (int i = 0; i < 3; ++i) ck_assert_double_eq(row_of(dh, i).normal_distance, 0.0);
    ck_assert_int_eq(receipt_of(dh).turned_count, 0);
    skel_dh_destroy(dh);
}
END_TEST

/* Of ordinary chains: receipts are those of the model's own kinematics; the tolerance changes no
   bit; the other convention is the same table to rounding. */
START_TEST(receipts_of_ordinary_chains) {
    rng r = rng_seed(800 + (uint64_t)_i);
    for (int k = 0; k < 200; ++k) {
        const chain c = random_chain(&r);
        skel_dh *dh = dh_of(_i & 1, c.row, c.n, c.base, c.tool), *other;
        skel_model *model = model_of(dh, 0);
        skel_dh *made = extracted(model, _i & 1, c.tool), *plain;
        skel_dh_receipt got = receipt_of(made), turn = {.struct_size = sizeof turn};
        skel_dh_chain_desc d;
        double q[MAX_ROWS], f[7 * (MAX_ROWS + 1)], place = 0, angle = 0;
        long long s = 1;
        for (int n = 0; n < SKEL_DH_TEST_POSES; ++n) {
            for (int i = 0; i < c.n; ++i)
                q[i] = test_number(&s) *
                       (c.row[i].type == SKEL_JOINT_HINGE ? 0.5 * SKEL__TURN : got.reach);
            const pose must = tool_at(model, c.tool, q);
            ck_assert_int_eq(skel_dh_frames(made, q, f), SKEL_OK);
            const pose is = pose_from(f + 7 * c.n);
            place = fmax(place, v3_norm(v3_sub(is.p, must.p)));
            angle = fmax(angle, v3_norm(q_log(q_mul(q_conj(must.q), is.q))));
        }
        near1(got.position_error, place, 1e-13 * (1 + got.reach + got.longest));
        near1(got.angle_error, angle, 1e-13);

        skel_dh_chain_desc_init(&d);
        d.convention = _i & 1, d.tip = c.n - 1, d.parallel_tolerance = 0;
        memcpy(d.tool, c.tool, sizeof d.tool);
        ck_assert_int_eq(skel_dh_extract(model, &d, &plain, NULL), SKEL_OK);
        for (int i = 0; i < c.n; ++i) {
            const skel_dh_row one = row_of(made, i), two = row_of(plain, i);
            ck_assert_int_eq(memcmp(&one, &two, sizeof one), 0);
        }
        ck_assert_int_eq(skel_dh_convert(made, !(_i & 1), &other, NULL), SKEL_OK);
        ck_assert_int_eq(skel_dh_compare(other, made, &turn), SKEL_OK);
        ck_assert_int_eq(turn.poses, SKEL_DH_TEST_POSES);
        ck_assert_double_le(turn.position_error, 1e-13 * (1 + turn.reach));
        ck_assert_double_le(turn.angle_error, 1e-13);
        skel_dh_destroy(dh), skel_dh_destroy(made), skel_dh_destroy(plain), skel_dh_destroy(other);
        skel_model_destroy(model);
    }
}
END_TEST

/* The first release has all fields: smaller structs are refused. */
START_TEST(small_structs_are_refused) {
    double p[9], u[9];
    skel_dh_axes_desc d;
    skel_dh *dh;
    skel_dh_row row;
    skel_dh_axes_desc_init_sized(&d, sizeof d - 8);
    off_axes(7.3e-6, p, u, d.tip);
    d.count = OFF_AXES, d.points = p, d.directions = u;
    ck_assert_int_eq(skel_dh_from_axes(&d, &dh, NULL), SKEL_E_STRUCT_SIZE);

    skel_dh_axes_desc_init(&d);
    off_axes(7.3e-6, p, u, d.tip);
    d.count = OFF_AXES, d.points = p, d.directions = u;
    ck_assert_int_eq(skel_dh_from_axes(&d, &dh, NULL), SKEL_OK);
    memset(&row, 0x5a, sizeof row);
    row.struct_size = sizeof row - 8;
    ck_assert_int_eq(skel_dh_get_row(dh, 0, &row), SKEL_E_STRUCT_SIZE);
    ck_assert_int_eq(((unsigned char *)&row)[4], 0x5a);
    row.struct_size = sizeof row;
    ck_assert_int_eq(skel_dh_get_row(dh, 0, &row), SKEL_OK);
    ck_assert_int_eq(row.relation, SKEL_DH_PARALLEL);
    skel_dh_destroy(dh);

    skel_dh_desc t;
    skel_dh_desc_init(&t);
    t.rows = &row, t.row_count = 1, t.row_stride = sizeof row - 8;
    ck_assert_int_eq(skel_dh_create(&t, &dh, NULL), SKEL_E_STRUCT_SIZE);
    t.row_stride = sizeof row;
    ck_assert_int_eq(skel_dh_create(&t, &dh, NULL), SKEL_OK);
    ck_assert_int_eq(receipt_of(dh).poses, 0);
    skel_dh_destroy(dh);
}
END_TEST

START_TEST(rows_that_overlap_are_refused) {
    skel_dh_row row[2];
    skel_dh_desc d;
    skel_dh *dh;
    skel_error err;
    skel_error_init(&err);
    skel_dh_desc_init(&d);
    for (int i = 0; i < 2; ++i) skel_dh_row_init(&row[i]);
    d.rows = row;
    d.row_count = 2;

    d.row_stride = offsetof(skel_dh_row, turned) - 1; /* less than a row ever had */
    ck_assert_int_eq(skel_dh_create(&d, &dh, &err), SKEL_E_STRUCT_SIZE);
    ck_assert_msg(strstr(err.text, "row_stride") != NULL, "%s", err.text);
    d.row_stride = sizeof *row;
    ck_assert_int_eq(skel_dh_create(&d, &dh, &err), SKEL_OK);
    skel_dh_destroy(dh);
}
END_TEST

/* A free root hangs from nothing: there is no chain that leads to it. */
START_TEST(a_free_root_is_no_tip) {
    skel_body_desc b[2];
    skel_joint_desc j;
    skel_model_desc d;
    skel_model *model;
    skel_dh_chain_desc c;
    skel_dh *dh = NULL;
    skel_error err;
    skel_error_init(&err);
    for (int i = 0; i < 2; ++i) {
        skel_body_desc_init(&b[i]);
        b[i].mass = 1;
        for (int k = 0; k < 3; ++k) b[i].inertia[k] = 1;
    }
    skel_joint_desc_init(&j);
    j.type = SKEL_JOINT_HINGE;
    j.parent = 0;
    j.child = 1;
    skel_model_desc_init(&d);
    d.bodies = b;
    d.body_count = 2;
    d.joints = &j;
    d.joint_count = 1;
    ck_assert_msg(skel_model_create(&d, &model, &err) == SKEL_OK, "%s", err.text);

    skel_dh_chain_desc_init(&c);
    c.tip = 1;
    ck_assert_msg(skel_dh_extract(model, &c, &dh, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_dh_row_count(dh), 1);
    skel_dh_destroy(dh);

    c.tip = 0;
    ck_assert_int_lt(skel_dh_extract(model, &c, &dh, &err), 0);
    ck_assert_ptr_null(dh);
    skel_model_destroy(model);
}
END_TEST

static Suite *suite(void) {
    Suite *s = suite_create("dh");
    TCase *t = tcase_create("dh");
    tcase_add_checked_fixture(t, load, unload);
    tcase_add_loop_test(t, axes_of_the_vectors, 0, 15);
    tcase_add_loop_test(t, tables_of_the_vectors, 0, 10);
    suite_add_tcase(s, t);
    t = tcase_create("chains");
    tcase_add_loop_test(t, random_chains_there_and_back, 0, 4);
    tcase_add_loop_test(t, float32_models_there_and_back, 0, 4);
    suite_add_tcase(s, t);
    t = tcase_create("nearly parallel");
    tcase_add_loop_test(t, axes_off_parallel, 0, 13);
    tcase_add_test(t, tolerances_are_honoured);
    tcase_add_test(t, a_run_keeps_one_direction);
    tcase_add_test(t, a_wrist_of_no_reach);
    tcase_add_loop_test(t, receipts_of_ordinary_chains, 0, 4);
    tcase_add_test(t, small_structs_are_refused);
    suite_add_tcase(s, t);
    t = tcase_create("refusals");
    tcase_add_test(t, rows_that_overlap_are_refused);
    tcase_add_test(t, a_free_root_is_no_tip);
    suite_add_tcase(s, t);
    return s;
}

int main(void) {
    return run_suite(suite());
}
