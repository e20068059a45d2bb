/* SPDX-License-Identifier: BSD-3-Clause */
/* The equations of the energy-momentum step at an iterate: end poses, sums of all impulses, minus
   the residuals of bodies (rho) and joints (gamma), and the blocks of Newton's matrix. */
#include "integrate/conserving.h"

/* ---- loads ---- */

void skel__conserving_loads_begin(skel_state *s, double h) {
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        s->integrator->conserving->load[i] = skel__load_at(&s->m->body[i], s->t + 0.5 * h);
    }
}

/* Sets the impulses to those of gravity, external loads and fields. */
static void apply_loads(const skel_state *s, double h) {
    skel__conserving *em = s->integrator->conserving;
    const int has_fields = skel__conserving_has_fields(s->m);

    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const skel__wrench w = em->load[i];
        em->j_lin[i] = v3_scale(v3_mad(w.f, s->m->body[i].mass, s->m->gravity), h);
        em->j_ang[i] = v3_scale(w.n, h);
        if (has_fields) skel__conserving_field(s, em, i, h, &em->j_lin[i], &em->j_ang[i]);
    }
}

/* ---- joints ---- */

static void apply_wrench(skel__conserving *em, const skel_state *s, int32_t i, double sign,
                         const skel__conserving_joint *e) {
    const v3 centre = skel__mean_centre(s, em, i);
    const v3 n = v3_add(e->torque, v3_cross(v3_sub(e->point, centre), e->force));
    em->j_lin[i] = v3_mad(em->j_lin[i], sign, e->force);
    em->j_ang[i] = v3_mad(em->j_ang[i], sign, n);
}

/* Diagonal blocks of the joint's bodies, as far as these are dynamic. */
static skel__conserving_blocks own_blocks(const skel_model *m, skel__conserving *em,
                                          const skel__joint *j) {
    skel__conserving_blocks b = {0};
    if (skel__is_dynamic(m, j->a)) b.aa = em->lu[j->a].a;
    if (skel__is_dynamic(m, j->b)) b.bb = em->lu[j->b].a;
    return b;
}

/* The coupling of a and b through a loop is left out of Newton's matrix. */
static skel__conserving_blocks loop_blocks(const skel_model *m, skel__conserving *em,
                                           const skel__joint *j, int32_t loop) {
    skel__conserving_blocks b = own_blocks(m, em, j);
    skel__conserving_loop *l = &em->loop[loop];
    b.wa = l->wa;
    b.wb = l->wb;
    b.ga = l->ga;
    b.gb = l->gb;
    return b;
}

/* Blocks of a tree joint lie in the record of its child. If the joint is reversed, its a is the
   child. */
static skel__conserving_blocks tree_blocks(const skel_model *m, skel__conserving *em,
                                           const skel__joint *j, int32_t child) {
    skel__conserving_blocks b = own_blocks(m, em, j);
    const int are_both_dynamic = skel__is_dynamic(m, j->a) && skel__is_dynamic(m, j->b);

    if (!em->lu[child].full) {
        skel__lu *t = &em->lu[child];
        b.point = &t->point;
        if (are_both_dynamic) {
            b.rotation_ab = j->reversed ? &t->kcp : &t->kpc;
            b.rotation_ba = j->reversed ? &t->kpc : &t->kcp;
        }
        return b;
    }

    skel__lu_full *t = em->lu[child].full;
    b.wa = j->reversed ? t->wb : t->wa;
    b.wb = j->reversed ? t->wa : t->wb;
    b.ga = j->reversed ? t->gb : t->ga;
    b.gb = j->reversed ? t->ga : t->gb;
    if (are_both_dynamic) {
        b.ab = j->reversed ? t->kba : t->kab;
        b.ba = j->reversed ? t->kab : t->kba;
    }
    return b;
}

/* Adds the impulses of a joint to its bodies and writes minus its constraints to `gamma`. blocks:
   for derivatives, or NULL. Returns the constraint violation. */
static double add_joint(skel_state *s, int32_t joint, double h, skel__conserving_blocks *blocks,
                        double *gamma) {
    const skel__joint *j = &s->m->joint[joint];
    skel__conserving *em = s->integrator->conserving;
    skel__conserving_joint *e = &em->joint[joint];

    skel__conserving_joint_terms(s, em, joint, h, s->t + 0.5 * h, e, blocks);
    apply_wrench(em, s, j->a, 1.0, e);
    apply_wrench(em, s, j->b, -1.0, e);
    for (int k = 0; k < e->rows; ++k) gamma[k] = -e->g[k];
    return e->violation;
}

static double add_tree_joint(skel_state *s, int32_t joint, int32_t child, double h,
                             int with_derivatives) {
    const skel__joint *j = &s->m->joint[joint];
    skel__conserving *em = s->integrator->conserving;
    double *gamma = em->gamma + 6 * (size_t)child;
    if (!with_derivatives) return add_joint(s, joint, h, NULL, gamma);

    skel__conserving_blocks b = tree_blocks(s->m, em, j, child);
    const double violation = add_joint(s, joint, h, &b, gamma);

    skel__lu *t = &em->lu[child];
    t->rows = em->joint[joint].rows;
    t->child = !j->reversed;
    t->is_coupled = b.is_coupled && b.rotation_ab != NULL;
    if (t->full) {
        t->full->rows = t->rows;
        t->full->length_rows = skel__joint_length_rows(j->type);
        t->full->is_coupled = b.is_coupled && b.ab != NULL;
    }
    return violation;
}

static double add_loop_joint(skel_state *s, int32_t loop, double h, int with_derivatives) {
    skel__conserving *em = s->integrator->conserving;
    const int32_t joint = s->loop_joint[loop];
    double *gamma = em->loop[loop].gamma;
    if (!with_derivatives) return add_joint(s, joint, h, NULL, gamma);

    skel__conserving_blocks b = loop_blocks(s->m, em, &s->m->joint[joint], loop);
    return add_joint(s, joint, h, &b, gamma);
}

/* Returns the largest violation. A violation that is not a number counts as the largest. */
static double add_joints(skel_state *s, double h, int with_derivatives) {
    const skel_model *m = s->m;
    skel__conserving *em = s->integrator->conserving;
    double worst = em->sweeps->add_plain_balls(s, with_derivatives);

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], joint = m->body[i].joint;
        if (joint < 0 || em->start[joint].is_plain_ball) continue;
        const double violation = add_tree_joint(s, joint, i, h, with_derivatives);
        if (!(violation <= worst)) {
            worst = violation;
            em->worst_joint = joint;
        }
    }

    for (int32_t k = 0; k < s->nloop; ++k) {
        const double violation = add_loop_joint(s, k, h, with_derivatives);
        if (!(violation <= worst)) {
            worst = violation;
            em->worst_joint = s->loop_joint[k];
        }
    }
    return worst;
}

double skel__conserving_equations(skel_state *s, double h, int with_derivatives) {
    const skel__sweeps *sweeps = s->integrator->conserving->sweeps;

    sweeps->end_poses(s, h);
    apply_loads(s, h);
    if (with_derivatives) sweeps->begin_blocks(s, h);

    skel__conserving_wobbles_add(s, h, with_derivatives);
    skel__conserving_contacts_add(s, h, with_derivatives);
    const double violation = add_joints(s, h, with_derivatives);

    sweeps->set_residuals(s);
    return violation;
}
