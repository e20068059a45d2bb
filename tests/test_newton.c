/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside Newton's method of the energy-momentum step: derivatives against central differences, and
   the quick elimination along the tree against the general one. */
#include "math/dense.h"
#include "shared/humanoid.h"
#include "shared/near.h"
#include "shared/ragdoll.h"
#include "shared/rng.h"
#include "integrate/conserving.h"

#include "dynamics/dynamics.h"

#include <string.h>

static v3 random_vector(rng *r) {
    return (v3){rng_range(r, -1, 1), rng_range(r, -1, 1), rng_range(r, -1, 1)};
}

static void near_vector(v3 a, v3 b, double bound) {
    const double one[3] = {a.x, a.y, a.z}, two[3] = {b.x, b.y, b.z};
    near(one, two, 3, bound);
}

/* ---- springs toward an animation ---- */

typedef struct frames {
    pose outer, inner;
} frames;

/* Outer and inner frame turned by small turns in world axes. */
static frames turned(frames f, v3 outer, v3 inner) {
    f.outer.q = q_mul(q_exp(outer), f.outer.q);
    f.inner.q = q_mul(q_exp(inner), f.inner.q);
    return f;
}

static void check_slopes(const skel__joint *j, frames f, frames start, const double *want, v3 outer,
                         v3 inner) {
    const double eps = 1e-6;
    m3 error[2], change[2];
    v3 e[2], c[2];
    const pose o[2] = {start.outer, f.outer}, i[2] = {start.inner, f.inner};
    skel__follow_error_slopes(j, f.outer, f.inner, want + 4, error);
    skel__follow_change_slopes(j, f.outer, f.inner, skel__follow_change(j, o, i, want).w, change);
    for (int k = 0; k < 2; ++k) {
        const double s = k == 0 ? eps : -eps;
        const frames g = turned(f, v3_scale(outer, s), v3_scale(inner, s));
        const pose p[2] = {start.outer, g.outer}, q[2] = {start.inner, g.inner};
        e[k] = skel__follow_error(j, g.outer, g.inner, want + 4).w;
        c[k] = skel__follow_change(j, p, q, want).w;
    }
    const v3 de = v3_scale(v3_sub(e[0], e[1]), 0.5 / eps);
    const v3 dc = v3_scale(v3_sub(c[0], c[1]), 0.5 / eps);
    near_vector(v3_add(m3_mulv(error[0], outer), m3_mulv(error[1], inner)), de, 1e-8);
    near_vector(v3_add(m3_mulv(change[0], outer), m3_mulv(change[1], inner)), dc, 1e-8);
}

START_TEST(follow_slopes) {
    static const int32_t types[] = {SKEL_JOINT_HINGE, SKEL_JOINT_UNIVERSAL, SKEL_JOINT_BALL};
    const v3 z = {0, 0, 1}, x = {1, 0, 0}, none = {0, 0, 0};
    rng r = rng_seed(5);
    for (int n = 0; n < 90; ++n) {
        const skel__joint j = {.type = types[n % 3]};
        const quat about_z = q_exp(v3_scale(z, rng_range(&r, -3, 3)));
        const quat about_x = q_exp(v3_scale(x, rng_range(&r, -1.5, 1.5)));
        const quat relative[3] = {about_z, q_mul(about_z, about_x),
                                  q_exp(v3_scale(random_vector(&r), 1.6))};
        frames f = {{none, q_exp(random_vector(&r))}, {none, q_identity()}};
        double want[8] = {0.1, 0.05, 0, 0, 0.15, 0.1, 0, 0};
        f.inner.q = q_mul(f.outer.q, relative[n % 3]);
        if (n % 3 == 2)
            q_to(q_exp((v3){0.3, 0.1, 0}), want), q_to(q_exp((v3){0.3, 0.2, 0}), want + 4);
        const v3 both = random_vector(&r);
        const v3 axis = n % 3 == 1 ? q_rotate(f.inner.q, x) : q_rotate(f.outer.q, z);
        const frames start = turned(f, v3_scale(both, 0.1), v3_scale(both, 0.1));
        check_slopes(&j, f, start, want, both, both);
        check_slopes(&j, f, start, want, none, n % 3 == 2 ? random_vector(&r) : axis);
        if (n % 3 == 2) check_slopes(&j, f, start, want, random_vector(&r), none);
        if (n % 3 == 1) check_slopes(&j, f, start, want, q_rotate(f.outer.q, z), none);
    }
}
END_TEST

/* ---- limits ---- */

static v3 gradient_at(const skel__joint *j, frames f, int k) {
    skel__coordinate c[2];
    skel__coordinates_of(j, f.outer, f.inner, c);
    return c[k].gradient;
}

/* How the gradients of coordinates turn with the bodies, against central differences. */
START_TEST(gradients_turn) {
    static const int32_t types[] = {SKEL_JOINT_HINGE, SKEL_JOINT_UNIVERSAL, SKEL_JOINT_BALL};
    const v3 z = {0, 0, 1};
    const double eps = 1e-6;
    rng r = rng_seed(6);
    for (int n = 0; n < 150; ++n) {
        const skel__joint j = {.type = types[n % 3],
                               .limit_axis = q_rotate(q_exp(random_vector(&r)), z)};
        frames f = {{{0, 0, 0}, q_exp(random_vector(&r))}, {{0, 0, 0}, q_identity()}};
        const int32_t count = types[n % 3] == SKEL_JOINT_HINGE ? 1 : 2;
        f.inner.q = q_mul(f.outer.q, q_exp(v3_scale(random_vector(&r), 1.2)));
        for (int k = 0; k < count; ++k) {
            const v3 outer = random_vector(&r), inner = random_vector(&r);
            skel__coordinate c[2];
            m3 by[2];
            skel__coordinates_of(&j, f.outer, f.inner, c);
            skel__coordinate_gradient_turns(&j, f.outer, f.inner, &c[k], k, by);
            const frames up = turned(f, v3_scale(outer, eps), v3_scale(inner, eps));
            const frames down = turned(f, v3_scale(outer, -eps), v3_scale(inner, -eps));
            const v3 d = v3_sub(gradient_at(&j, up, k), gradient_at(&j, down, k));
            near_vector(v3_add(m3_mulv(by[0], outer), m3_mulv(by[1], inner)),
                        v3_scale(d, 0.5 / eps), 1e-7);
        }
    }
}
END_TEST

/* ---- elimination ---- */

static void random_block(rng *r, skel__lu *b) {
    for (int k = 0; k < 36; ++k)
        b->a[wide6_at(k / 6, k % 6)] = rng_range(r, -0.3, 0.3) + (k % 7 == 0 ? 3 : 0);
    for (int e = 0; e < 2; ++e) {
        b->point.arm[e] = random_vector(r);
        b->point.arm1[e] = v3_mad(b->point.arm[e], 0.1, random_vector(r));
    }
    for (int k = 0; k < 3; ++k) {
        const v3 unit = {k == 0, k == 1, k == 2};
        b->point.n[k] = v3_mad(unit, 0.2, random_vector(r));
        b->point.n1[k] = v3_mad(b->point.n[k], 0.05, random_vector(r));
        b->kpc.r[k] = v3_scale(random_vector(r), 0.5 * b->is_coupled);
        b->kcp.r[k] = v3_scale(random_vector(r), 0.5 * b->is_coupled);
    }
}

/* The same joint by its columns (6 x rows) and rows; `forces` of them have a force, at the arm,
   along the axes u and, at the end, u1. */
static void spell_out(const skel__lu *b, int forces, const v3 *u, const v3 *u1, skel__lu_full *to) {
    memset(to, 0, sizeof *to);
    to->rows = b->rows;
    to->is_coupled = b->is_coupled;
    for (int k = 0; k < b->rows; ++k)
        for (int side = 0; side < 2; ++side) { /* the child's, the parent's */
            const int at = side == 0 ? b->child : !b->child;
            const double sign = (at == 0 ? 1.0 : -1.0);
            v3 force = {0, 0, 0}, force1 = {0, 0, 0}, turn, turn1;
            if (k < forces) {
                force = u[k];
                force1 = u1[k];
                turn = v3_cross(b->point.arm[at], force);
                turn1 = v3_cross(b->point.arm1[at], force1);
            } else {
                turn = b->point.n[k - forces];
                turn1 = b->point.n1[k - forces];
            }
            double *w = side == 0 ? to->wb : to->wa, *g = side == 0 ? to->gb : to->ga;
            const double col[6] = {force.x, force.y, force.z, turn.x, turn.y, turn.z};
            for (int e = 0; e < 6; ++e) w[e * b->rows + k] = sign * col[e];
            v3_to(v3_scale(force1, sign), g + 6 * k);
            v3_to(v3_scale(turn1, sign), g + 6 * k + 3);
        }
    corner_set(to->kab, 3, 3, w33_from(&b->kpc));
    corner_set(to->kba, 3, 3, w33_from(&b->kcp));
}

/* A slide in its place, with all couplings where it has some. */
static void spell_slide(rng *r, skel__lu *b, skel__lu_full *to) {
    v3 u[2], u1[2];
    for (int k = 0; k < 2; ++k) {
        const v3 unit = {k == 0, k == 1, 0};
        u[k] = v3_mad(unit, 0.2, random_vector(r));
        u1[k] = v3_mad(u[k], 0.05, random_vector(r));
    }
    b->rows = 5;
    b->full = to;
    spell_out(b, 2, u, u1, to);
    to->length_rows = 2;
    for (int k = 0; k < 36 && b->is_coupled; ++k) {
        to->kab[wide6_at(k / 6, k % 6)] = rng_range(r, -0.3, 0.3);
        to->kba[wide6_at(k / 6, k % 6)] = rng_range(r, -0.3, 0.3);
    }
}

#define BODIES 64
#define UNKNOWNS (12 * BODIES)

typedef struct answer {
    skel__lu lu[BODIES];
    double y[6 * BODIES], l[6 * BODIES];
} answer;

static double *entry(double *a, int n, int row, int col) {
    return a + (size_t)row * (size_t)n + col;
}

/* The whole system of tree_lu.h as one dense one, y of all bodies before the multipliers. */
static void solve_densely(const skel_model *m, const skel__lu *lu, const skel__lu_full *joint,
                          const double *rho, const double *gamma, double *y, double *l) {
    static double a[UNKNOWNS * UNKNOWNS], x[UNKNOWNS];
    int first[BODIES], n = 6 * m->na;
    for (int32_t k = 0; k < m->nd; ++k) {
        first[m->order[k]] = n;
        n += lu[m->order[k]].rows;
    }
    memset(a, 0, sizeof a);
    memcpy(x, rho, 6 * (size_t)m->na * sizeof *x);

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], p = m->body[i].is_inner ? m->body[i].parent : -1;
        const skel__lu_full *f = &joint[i];
        for (int e = 0; e < 36; ++e) {
            const int row = e / 6, col = e % 6, at = wide6_at(row, col);
            *entry(a, n, 6 * i + row, 6 * i + col) = lu[i].a[at];
            if (p < 0) continue;
            *entry(a, n, 6 * i + row, 6 * p + col) = f->kba[at];
            *entry(a, n, 6 * p + row, 6 * i + col) = f->kab[at];
        }
        for (int e = 0; e < 6 * lu[i].rows; ++e) {
            const int row = e / 6, col = e % 6, at = first[i] + row;
            *entry(a, n, at, 6 * i + col) = f->gb[e];
            *entry(a, n, 6 * i + col, at) = -f->wb[col * lu[i].rows + row];
            x[at] = gamma[6 * i + row];
            if (p < 0) continue;
            *entry(a, n, at, 6 * p + col) = f->ga[e];
            *entry(a, n, 6 * p + col, at) = -f->wa[col * lu[i].rows + row];
        }
    }
    skel__solve(a, x, n);
    memcpy(y, x, 6 * (size_t)m->na * sizeof *y);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        memcpy(l + 6 * i, x + first[i], (size_t)lu[i].rows * sizeof *l);
    }
}

/* Random joints through a point and slides against the dense system; wide vectors against plain
   ones, bit by bit; both at once against one after the other. */
START_TEST(elimination) {
    scene s = scene_humanoid((humanoid_options){.gravity = 9.81});
    const skel_model *m = s.model;
    const skel__sweeps *best = skel__sweeps_best();
    static answer quick, judge, wide, both;
    static skel__lu_full full[BODIES];
    rng r = rng_seed((uint64_t)(7 + _i));
    const v3 unit[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double rho[6 * BODIES], gamma[6 * BODIES];
    ck_assert_int_le(m->na, BODIES);
    ck_assert_int_eq(m->na, m->nd);
    memset(&quick, 0, sizeof quick);
    memset(full, 0, sizeof full);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const int joint = m->body[i].joint;
        skel__lu *b = &quick.lu[i];
        b->rows = joint < 0 ? 0 : 3 + rng_int(&r, 4);
        b->child = rng_int(&r, 2);
        b->is_coupled = joint >= 0 && m->body[i].is_inner && rng_int(&r, 2);
        random_block(&r, b);
        if (joint < 0) continue;
        if (rng_int(&r, 4) == 0)
            spell_slide(&r, b, &full[i]);
        else
            spell_out(b, 3, unit, unit, &full[i]);
    }
    judge = wide = both = quick;
    for (int k = 0; k < 6 * m->na; ++k) {
        rho[k] = rng_range(&r, -1, 1);
        gamma[k] = rng_range(&r, -1, 1);
    }
    solve_densely(m, judge.lu, full, rho, gamma, judge.y, judge.l);
    ck_assert_int_eq(skel__lu_factor_plain(m, quick.lu), 1);
    skel__lu_solve_plain(m, quick.lu, rho, gamma, quick.y, quick.l);
    ck_assert_int_eq(best->factor(m, wide.lu), 1);
    best->solve(m, wide.lu, rho, gamma, wide.y, wide.l);
    ck_assert_int_eq(best->factor_solve(m, both.lu, rho, gamma, both.y, both.l), 1);
    for (int32_t k = 0; k < m->nd; ++k)
        for (int e = 0; e < 6; ++e) {
            const int at = 6 * m->order[k] + e;
            near1(quick.y[at], judge.y[at], 1e-9 * (1 + fabs(judge.y[at])));
            ck_assert_double_eq(quick.y[at], wide.y[at]);
            ck_assert_double_eq(quick.y[at], both.y[at]);
            if (e >= quick.lu[m->order[k]].rows) continue;
            near1(quick.l[at], judge.l[at], 1e-9 * (1 + fabs(judge.l[at])));
            ck_assert_double_eq(quick.l[at], wide.l[at]);
            ck_assert_double_eq(quick.l[at], both.l[at]);
        }
    scene_free(&s);
}
END_TEST

/* A slide that stands 1e5 lengths out, under it a body of 1e-4 of the mass of its own child: the
   rows of its joint hold to rounding, whatever the masses. */
START_TEST(far_slides_stay_closed) {
    scene s = scene_chain(3, SKEL_JOINT_HINGE, SKEL_JOINT_HINGE, 1, NULL);
    const skel_model *m = s.model;
    static skel__lu lu[3];
    static skel__lu_full full[3];
    rng r = rng_seed((uint64_t)(70 + _i));
    double rho[18], gamma[18], y[18], l[18];
    memset(lu, 0, sizeof lu);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        lu[i].rows = 5;
        lu[i].child = rng_int(&r, 2);
        random_block(&r, &lu[i]);
        for (int e = 0; k == 1 && e < SKEL__WIDE6; ++e) lu[i].a[e] *= 1e-4;
        for (int e = 0; k == 2 && e < 2; ++e) {
            const v3 out = {0, 0, 1e5};
            lu[i].point.arm[e] = v3_add(lu[i].point.arm[e], out);
            lu[i].point.arm1[e] = v3_add(lu[i].point.arm1[e], out);
        }
        spell_slide(&r, &lu[i], &full[i]);
    }
    for (int k = 0; k < 18; ++k) {
        rho[k] = rng_range(&r, -1, 1);
        gamma[k] = rng_range(&r, -1, 1);
    }
    ck_assert_int_eq(skel__lu_factor_plain(m, lu), 1);
    skel__lu_solve_plain(m, lu, rho, gamma, y, l);

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], p = m->body[i].is_inner ? m->body[i].parent : -1;
        for (int row = 0; row < 5; ++row) {
            double left = gamma[6 * i + row], size = 1;
            for (int c = 0; c < 6; ++c) {
                const double own = full[i].gb[6 * row + c] * y[6 * i + c];
                const double up = p < 0 ? 0 : full[i].ga[6 * row + c] * y[6 * p + c];
                left -= own + up;
                size += fabs(own) + fabs(up);
            }
            ck_assert_msg(fabs(left) <= 1e-13 * size, "body %d, row %d: %.2g of %.2g", i, row, left,
                          size);
        }
    }
    scene_free(&s);
}
END_TEST

/* Bodies after a second of the energy-momentum step, by the sweeps given. */
static void run_by(scene *s, const skel__sweeps *by, skel__kin *out) {
    skel_step_desc d;
    skel_step_desc_init(&d);
    d.integrator = SKEL_INTEGRATOR_CONSERVING;
    ck_assert_int_eq(skel__conserving_reserve(s->state), SKEL_OK);
    s->state->integrator->conserving->sweeps = by;
    for (int k = 0; k < 240; ++k) ck_assert_int_eq(skel_step(s->state, &d, NULL), SKEL_OK);
    memcpy(out, s->state->x, (size_t)s->model->na * sizeof *out);
}

/* Ropes, and a ragdoll that falls on stairs: whatever the processor, the same motion. */
START_TEST(wide_and_plain_are_alike) {
    static skel__kin x[2][BODIES];
    for (int k = 0; k < 2; ++k) {
        rng r = rng_seed(3);
        scene s = _i == 0 ? scene_chain(20, SKEL_JOINT_BALL, SKEL_JOINT_BALL, .2, NULL)
                          : scene_ragdoll(&r, (ragdoll_options){.stairs = 4});
        ck_assert_int_le(s.model->na, BODIES);
        run_by(&s, k == 0 ? &skel__sweeps_plain : skel__sweeps_best(), x[k]);
        scene_free(&s);
    }
    ck_assert_mem_eq(x[0], x[1], sizeof x[0]);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("newton");
    TCase *t = tcase_create("all");
    tcase_add_test(t, follow_slopes);
    tcase_add_test(t, gradients_turn);
    tcase_add_loop_test(t, elimination, 0, 40);
    tcase_add_loop_test(t, far_slides_stay_closed, 0, 20);
    tcase_add_loop_test(t, wide_and_plain_are_alike, 0, 2);
    suite_add_tcase(suite, t);
    return run_suite(suite);
}
