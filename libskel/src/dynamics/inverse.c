/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse dynamics by Newton-Euler [RUD 4.4.1; Luh, Walker, Paul 1980], world axes.
   Inward, children before parents, with F the applied wrench of loads.c:
     W_i = (m a - F.f;  I alpha - F.n)_i + sum of W_k over the children k, moved to the centre of i
   is the wrench that the joint must exert on body i beyond F, about its centre of mass. At a free
   root no joint can exert it: there it is the residual. S^T W is the part that a motor can exert;
   the bearing carries the rest. F.n includes the gyroscopic torque and the joints' own friction,
   motors and springs. */
#include "dynamics/inverse.h"
#include "base/error.h"
#include "model/joint_kind.h"

#include <skel/skel_inverse.h>

#include <stdio.h>

/* ---- outward: accelerations ---- */

/* Acceleration of b relative to a rigid extension of a: the joint's axes times qdd, plus the terms
   of the rotating axes. An axis e rotates with its body:
     d/dt (e qd) = e qdd + (w x e) qd.
   A point that moves along e has the same term once more (Coriolis). */
static skel__twist relative(const skel_state *s, const skel__joint *j, const skel__joint_world *g,
                            const double *qdd) {
    const v3 wa = s->ww[j->a], wb = s->ww[j->b], spin = v3_sub(wb, wa);
    skel__twist t = {{0, 0, 0}, {0, 0, 0}};

    /* The axes of a ball are fixed in b together: their terms add up to w_b x spin. */
    if (j->type == SKEL_JOINT_BALL) {
        t.w = v3_cross(wb, spin);
        for (int c = 0; c < 3; ++c) t.w = v3_mad(t.w, qdd[c], g->eb[c]);
        return t;
    }

    for (int c = 0; c < skel__joint_nv(j->type); ++c) {
        const skel__joint_column k = skel__joint_column_of(j, g->ea, g->eb, c);
        const v3 e = k.axis, swept = v3_cross(k.is_inner ? wb : wa, e);
        if (k.shift != 0) {
            const double speed = v3_dot(skel__joint_slip(s, s->x, j, g), e);
            const v3 part = v3_mad(v3_scale(e, k.shift * qdd[c]), 2.0 * speed, swept);
            t.v = c == 0 ? part : v3_add(t.v, part);
        }
        if (k.turn != 0) {
            const v3 part = v3_mad(v3_scale(e, qdd[c]), v3_dot(spin, e), swept);
            t.w = c == 0 ? part : v3_add(t.w, part);
        }
    }
    return t;
}

/* Acceleration of the point at r on body i, relative to its centre of mass. */
static v3 at_point(const skel_state *s, int32_t i, v3 r) {
    return v3_add(v3_cross(s->acc[i].w, r), v3_centripetal(s->ww[i], r));
}

void skel__fk_acceleration(skel_state *s, const double *qdd) {
    const skel_model *m = s->m;
    s->acc[-1] = (skel__twist){{0, 0, 0}, {0, 0, 0}};
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], p = m->body[i].parent;
        if (m->body[i].joint < 0) continue;

        const skel__joint *j = &m->joint[m->body[i].joint];
        const skel__joint_world g = skel__joint_at(s, s->x, j);
        const double sign = j->reversed ? -1.0 : 1.0;
        const skel__twist t = relative(s, j, &g, qdd + j->v_offset);

        /* Levers from the tree parent and from the child to the common point, b's joint point. */
        const v3 to_b = v3_sub(g.ra, g.gap);
        const v3 rp = j->reversed ? g.rb : to_b, rc = j->reversed ? to_b : g.rb;

        s->acc[i].w = v3_mad(s->acc[p].w, sign, t.w);
        const v3 u = v3_mad(v3_add(s->acc[p].v, at_point(s, p, rp)), sign, t.v);
        s->acc[i].v = v3_sub(u, at_point(s, i, rc));
    }
}

/* ---- inward: forces ---- */

/* S^T W of the wrench on b about the joint point, in the joint's own coordinates. */
static void generalised(const skel__joint *j, const skel__joint_world *g, skel__wrench w,
                        double *out) {
    for (int c = 0; c < skel__joint_nv(j->type); ++c) {
        const skel__joint_column k = skel__joint_column_of(j, g->ea, g->eb, c);
        const double force = k.shift != 0 ? k.shift * v3_dot(k.axis, w.f) : 0;
        out[c] = k.turn != 0 ? v3_dot(k.axis, w.n) : force;
        if (k.turn != 0 && k.shift != 0) out[c] += force;
    }
}

/* Wrench of the joint of body i on the joint's body b, about b's joint point. */
static skel__wrench on_child(const skel_state *s, int32_t i, const skel__joint *j,
                             const skel__joint_world *g) {
    const double sign = j->reversed ? -1.0 : 1.0;
    const v3 arm = j->reversed ? v3_sub(g->ra, g->gap) : g->rb;
    const v3 n = v3_sub(s->reaction[i].n, v3_cross(arm, s->reaction[i].f));
    return (skel__wrench){v3_scale(s->reaction[i].f, sign), v3_scale(n, sign)};
}

skel_status skel__inverse_check(const skel_model *m, skel_error *err) {
    if (m->nl > 0)
        return skel__fail(err, SKEL_E_UNSUPPORTED, -1, m->loop[0],
                          "joints[%d]: '%s' closes a loop, whose forces are indeterminate; inverse "
                          "dynamics needs a tree",
                          m->loop[0], m->joint[m->loop[0]].name);
    return skel_model_check_dynamics(m, err);
}

skel_status skel__inverse(skel_state *s, double *torque, double *wrench, double *residual) {
    const skel_model *m = s->m;
    const skel_status status = skel__follow_prepare(s);
    if (status != SKEL_OK) return status;

    /* Reactions without contacts. */
    skel__prepare(s, s->x);
    skel__loads_without_contacts(s, s->x, s->t, SKEL__AFTER);
    skel__reactions(s, s->x);

    /* The reactions of the free roots determine the contact forces, which are then applied. */
    if (m->ncand > 0) {
        if (skel__contacts_reserve(s, m->ncand) != SKEL_OK) return SKEL_E_MEMORY;
        skel__contacts_solve(s);
        skel__reactions(s, s->x);
    }

    /* Residuals of free roots; torques and wrenches of joints. */
    for (size_t k = 0; residual && k < 6 * (size_t)m->nb; ++k) residual[k] = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k], e = m->body[i].joint;
        if (e < 0) {
            if (!residual) continue;
            v3_to(s->reaction[i].f, residual + 6 * (size_t)i);
            v3_to(s->reaction[i].n, residual + 6 * (size_t)i + 3);
            continue;
        }

        const skel__joint *j = &m->joint[e];
        const skel__joint_world g = skel__joint_at(s, s->x, j);
        const skel__wrench w = on_child(s, i, j, &g);
        generalised(j, &g, w, torque + j->v_offset);
        if (!wrench) continue;

        v3_to(v3_add(w.f, s->pair[e].f), wrench + 6 * (size_t)e);
        v3_to(v3_add(w.n, s->pair[e].n), wrench + 6 * (size_t)e + 3);
    }
    return SKEL_OK;
}

static skel_status fail_overflow(int32_t body, int32_t joint, int32_t sample, double t,
                                 const char *what, const char *name, skel_error *err) {
    char when[40];
    if (sample >= 0)
        snprintf(when, sizeof when, "sample %d", sample);
    else
        snprintf(when, sizeof when, "t = %.6g s", t);
    return skel__fail(err, SKEL_E_DIVERGED, body, joint,
                      "%s: the %s[%d] '%s' is beyond the range of numbers; make the motion slower "
                      "or smoother, and give masses, inertias and lengths similar sizes",
                      when, what, joint >= 0 ? joint : body, name);
}

skel_status skel__inverse_check_forces(const skel_model *m, int32_t sample, double t,
                                       const double *torque, const double *wrench,
                                       const double *residual, skel_error *err) {
    for (int32_t e = 0; e < m->nj; ++e) {
        const skel__joint *j = &m->joint[e];
        const size_t nv = (size_t)skel__joint_nv(j->type);
        if (all_finite(torque + j->v_offset, nv) &&
            (!wrench || all_finite(wrench + 6 * (size_t)e, 6)))
            continue;
        return fail_overflow(-1, e, sample, t, "force through joints", j->name, err);
    }
    for (int32_t i = 0; residual && i < m->nb; ++i)
        if (!all_finite(residual + 6 * (size_t)i, 6))
            return fail_overflow(i, -1, sample, t, "residual force of bodies", m->body[i].name,
                                 err);
    return SKEL_OK;
}

skel_status skel_inverse_dynamics(skel_state *state, const double *linear, const double *angular,
                                  double *torque, double *wrench, double *residual,
                                  skel_error *err) {
    if (!state || !linear || !angular || !torque)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "an argument is NULL");
    const skel_model *m = state->m;
    if (!all_finite(linear, 3 * (size_t)m->nb) || !all_finite(angular, 3 * (size_t)m->nb))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "an acceleration is not finite");
    skel_status status = skel__inverse_check(m, err);
    if (status != SKEL_OK) return status;

    for (int32_t i = 0; i < m->nb; ++i)
        state->acc[i] = (skel__twist){v3_of(linear + 3 * (size_t)i),
                                      q_rotate(state->x[i].q, v3_of(angular + 3 * (size_t)i))};

    status = skel__inverse(state, torque, wrench, residual);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1, "t = %g s: %s", state->t, skel_status_text(status));
    return skel__inverse_check_forces(m, -1, state->t, torque, wrench, residual, err);
}
