/* SPDX-License-Identifier: BSD-3-Clause */
/* Constraint rows of a joint on its two bodies, full rank by construction [ERRATA H5-H7].
   The constraint is g = 0. Rows on the accelerations (a; alpha) of a and of b, world axes:
   - joint point:  g = p_a + r_a - p_b - r_b;            [1, -[r_a]], [-1, [r_b]]
   - along u, fixed in a, of joints that are not through a point:  g = u.(o_a - o_b);  the lever
     on a ends at b's joint point
   - axes:  g = e.z, e fixed in a and z in b;            n = e x z: [0, n], [0, -n]
     gamma = -( (w_a x (w_a x e)).z + 2 (w_a x e).(w_b x z) + e.(w_b x (w_b x z)) )   [ERRATA H7]
   The violation of these axis rows grows linearly in time, that of the rows printed in [HAK (3)]
   like cosh. */
#include "dynamics/dynamics.h"

#include <string.h>

static void set_row(skel__rows *rows, v3 la, v3 wa, v3 lb, v3 wb, double gamma, double g) {
    const int k = rows->count++;
    v3_to(la, rows->ga + 6 * k);
    v3_to(wa, rows->ga + 6 * k + 3);
    v3_to(lb, rows->gb + 6 * k);
    v3_to(wb, rows->gb + 6 * k + 3);
    rows->gamma[k] = gamma;
    rows->g[k] = g;
}

/* Row of the joint point along u; arm_a: from a's centre of mass to the point of action on a. */
static void point_row(skel__rows *rows, v3 u, v3 arm_a, v3 rb, double gamma, double g) {
    set_row(rows, u, v3_cross(arm_a, u), v3_neg(u), v3_neg(v3_cross(rb, u)), gamma, g);
}

static void point_rows(const skel_state *s, const skel__joint *j, const skel__joint_world *g,
                       skel__rows *rows) {
    const v3 gamma = v3_sub(v3_centripetal(s->ww[j->b], g->rb), v3_centripetal(s->ww[j->a], g->ra));
    point_row(rows, (v3){1, 0, 0}, g->ra, g->rb, gamma.x, g->gap.x);
    point_row(rows, (v3){0, 1, 0}, g->ra, g->rb, gamma.y, g->gap.y);
    point_row(rows, (v3){0, 0, 1}, g->ra, g->rb, gamma.z, g->gap.z);
}

/* gamma of the row g = u.gap, u fixed in a. */
static double gap_gamma(const skel_state *s, const skel__kin *x, const skel__joint *j,
                        const skel__joint_world *g, v3 u) {
    const v3 wa = s->ww[j->a], wb = s->ww[j->b];
    const v3 rate =
        v3_sub(v3_add(x[j->a].v, v3_cross(wa, g->ra)), v3_add(x[j->b].v, v3_cross(wb, g->rb)));
    const v3 turn = v3_sub(v3_centripetal(wa, g->ra), v3_centripetal(wb, g->rb));
    return -(v3_dot(v3_centripetal(wa, u), g->gap) + 2.0 * v3_dot(v3_cross(wa, u), rate) +
             v3_dot(u, turn));
}

/* The row of a screw's thread, with the axis z fixed in a and the angle q about it:
     g = z.gap + pitch q,   q' = z.(w_b - w_a). */
static void thread_row(const skel_state *s, const skel__kin *x, const skel__joint *j,
                       const skel__joint_world *g, skel__rows *rows) {
    const v3 z = g->ea[2], turn = v3_scale(z, j->pitch), arm = v3_sub(g->ra, g->gap);
    const v3 wa = s->ww[j->a], spin = v3_sub(s->ww[j->b], wa);
    double q[1];
    skel__joint_q(x, j, q);
    const double gamma = gap_gamma(s, x, j, g, z) - j->pitch * v3_dot(v3_cross(wa, z), spin);
    set_row(rows, z, v3_sub(v3_cross(arm, z), turn), v3_neg(z), v3_sub(turn, v3_cross(g->rb, z)),
            gamma, v3_dot(z, g->gap) + j->pitch * q[0]);
}

/* Rows of the axes u of the outer frame along which the joint points stay together. */
static void lock_rows(const skel_state *s, const skel__kin *x, const skel__joint *j,
                      const skel__joint_world *g, skel__rows *rows) {
    const v3 arm = v3_sub(g->ra, g->gap);
    const skel__joint_motion *motion = &skel__joint_motions[j->type];
    for (int k = 0; k < motion->lock_count; ++k) {
        const v3 u = g->ea[motion->lock[k]];
        point_row(rows, u, arm, g->rb, gap_gamma(s, x, j, g, u), v3_dot(u, g->gap));
    }
}

static void axis_row(const skel_state *s, const skel__joint *j, v3 e, v3 z, skel__rows *rows) {
    const v3 wa = s->ww[j->a], wb = s->ww[j->b], none = {0, 0, 0};
    const v3 n = v3_cross(e, z);
    const double gamma =
        -(v3_dot(v3_centripetal(wa, e), z) + 2.0 * v3_dot(v3_cross(wa, e), v3_cross(wb, z)) +
          v3_dot(e, v3_centripetal(wb, z)));
    set_row(rows, none, n, none, v3_neg(n), gamma, v3_dot(e, z));
}

void skel__rows_of(const skel_state *s, const skel__kin *x, int32_t joint, skel__rows *rows) {
    const skel__joint *j = &s->m->joint[joint];
    const skel__joint_world g = skel__joint_at(s, x, j);
    rows->count = 0;

    if (skel__joint_kinds[j->type].is_through_point)
        point_rows(s, j, &g, rows);
    else
        lock_rows(s, x, j, &g, rows);
    if (j->pitch != 0) thread_row(s, x, j, &g, rows);

    const skel__joint_motion *motion = &skel__joint_motions[j->type];
    for (int k = 0; k < motion->pair_count; ++k)
        axis_row(s, j, g.ea[motion->pair[k].outer], g.eb[motion->pair[k].inner], rows);
}
