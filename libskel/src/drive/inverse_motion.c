/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse dynamics of a motion: poses at an even rate -> continuous coordinates of joints and roots
   -> low-pass filter -> two derivatives -> Newton-Euler at every sample [RUD 4.4.1].  Filter of
   rotations. The increments phi_k = log(q_k^-1 q_k+1) are vectors. Their sum xi_k is the integral
   of omega in body axes, whatever the number of turns is. xi is filtered like any vector and
   integrated again: r_k+1 = r_k exp(xi_k+1 - xi_k). A rotation about a fixed axis is preserved.
   Rotations do not commute, so r drifts slowly from q, at second order in the noise. The difference
   e_k = log(r_k^-1 q_k), filtered at an eighth of the cut-off f, corrects the drift. To first order
   the transfer function is H(f) + H(8 f) (1 - H(f)) with H that of the filter. The second term is
   below 1e-4, because H(f) is still 1 - (f / f_0)^4 there.  Impacts. If a skeleton touches down,
   lifts off or reaches a stop between two samples, its velocities or accelerations jump. A stencil
   does not reach across such an event if there are enough samples on its side; otherwise the sample
   is flagged. After the filter all motion is smooth.  Contacts. The samples are processed in order:
   the contact forces at a sample (inverse_contact.c) determine tangential displacements, which the
   motion until the next sample changes. */
#include "dynamics/inverse.h"
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "math/rotation.h"
#include "math/series.h"
#include "integrate/impact.h"
#include "model/joint_kind.h"

#include <skel/skel_inverse.h>

#include <string.h>

#define INVERSE_DRIFT_CUTOFF 0.125   /* relative to the cut-off */
#define INVERSE_STENCIL_TURN_MAX 5.5 /* [rad] of rotation from the middle of a stencil */
#define INVERSE_NOISE_MAX 0.01       /* of a torque's energy: more noise suggests a cut-off */
#define INVERSE_NOISE_FORCE_MIN 1e-2 /* relative to the wrench of the joint: less does not matter */
#define INVERSE_BYTES_MAX 1e13
#define INVERSE_JUMP_ERROR 110.0 /* error at a jump, relative to the change by a narrower stencil */
/* Distances of events, relative to the contact length, or in radians at stops. A force law acts
   beyond its edge. A resting contact or stop may be slightly before the edge (impact.c). */
#define INVERSE_LAW_EDGE_TOL 1e-9
#define INVERSE_RIGID_TOUCH 2e-7
#define INVERSE_RIGID_RELEASE 1e-5

_Static_assert(sizeof(skel_inverse_desc) == offsetof(skel_inverse_desc, allocator) + sizeof(void *),
               "tail padding");
_Static_assert(sizeof(skel_inverse_summary) == offsetof(skel_inverse_summary, law_samples) + 4,
               "tail padding");
_Static_assert(sizeof(skel_inverse_contact) == offsetof(skel_inverse_contact, law) + 8,
               "tail padding");
static const skel_inverse_desc k_desc = {.struct_size = sizeof k_desc, .sample_rate = 24};

void skel_inverse_desc_init_sized(skel_inverse_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

struct skel_inverse {
    skel_allocator allocator;
    const skel_model *m;
    int32_t n, nr;      /* numbers of samples, and of roots: free and prescribed bodies */
    double rate, start; /* [Hz], [s] */
    skel_inverse_summary sum;
    int32_t *root; /* (nr) */

    /* motion */
    double *q, *qd, *qdd;            /* (n x nq), (n x nv), (n x nv) */
    double *root_pose;               /* (n x nr x 7) */
    double *root_velocity;           /* (n x nr x 6) */
    double *root_acceleration;       /* (n x nr x 6) */
    double *qdd_error;               /* (n x nv) estimated errors of qdd */
    double *root_acceleration_error; /* (n x nr x 6) */

    /* forces */
    double *torque, *wrench, *residual, *power; /* (n x nv, 6 nj, 6 nb, nj) */
    double *uncertainty;                        /* (n) [N] */

    /* workspace */
    double *filter;   /* of skel__lowpass */
    double *buffer;   /* (n x 3) */
    double *rotation; /* (n x 4) */

    /* events */
    int32_t ne, nk;     /* numbers of events and of skeletons */
    int32_t *flags;     /* (n) SKEL_INVERSE_* */
    int32_t *has_event; /* (n x nk) an event lies between the sample before and this one */
    double *values;     /* (4 x ne) of events, at the last four samples */
    int32_t *side;      /* (ne) 1 before the surface, -1 beyond it, 0 unknown */

    int32_t *first;                /* (n + 1) index of the first contact of each sample */
    skel_inverse_contact *contact; /* allocated separately; NULL: there are no contacts */
};

/* Samples first .. first + count - 1. */
typedef struct samples {
    int32_t first, count;
} samples;

/* Counts (base NULL) or carves all memory except the contacts. */
static size_t layout(skel_inverse *at, void *base, skel_inverse **out) {
    const skel_model *m = at->m;
    const size_t n = (size_t)at->n, nr = (size_t)at->nr, size = sizeof(double);
    const size_t nv = (size_t)m->nv, nj = (size_t)m->nj, nb = (size_t)m->nb;
    skel__carver c = {base, 0};
    skel_inverse *v = skel__carve(&c, 1, sizeof *v);

    /* Motion, forces and workspace. */
    at->root = skel__carve(&c, nr, sizeof *at->root);
    at->q = skel__carve(&c, n * (size_t)m->nq, size);
    at->qd = skel__carve(&c, n * nv, size);
    at->qdd = skel__carve(&c, n * nv, size);
    at->root_pose = skel__carve(&c, n * nr * 7, size);
    at->root_velocity = skel__carve(&c, n * nr * 6, size);
    at->root_acceleration = skel__carve(&c, n * nr * 6, size);
    at->qdd_error = skel__carve(&c, n * nv, size);
    at->root_acceleration_error = skel__carve(&c, n * nr * 6, size);
    at->uncertainty = skel__carve(&c, n, size);
    at->torque = skel__carve(&c, n * nv, size);
    at->wrench = skel__carve(&c, n * nj * 6, size);
    at->residual = skel__carve(&c, n * nb * 6, size);
    at->power = skel__carve(&c, n * nj, size);
    at->filter = skel__carve(&c, skel__lowpass_room(n), size);
    at->buffer = skel__carve(&c, 3 * n, size);
    at->rotation = skel__carve(&c, 4 * n, size);

    /* Events and contacts. */
    const size_t ne = (size_t)at->ne, nk = (size_t)at->nk;
    at->flags = skel__carve(&c, n, sizeof *at->flags);
    at->has_event = skel__carve(&c, ne ? n * nk : 0, sizeof *at->has_event);
    at->values = skel__carve(&c, 4 * ne, size);
    at->side = skel__carve(&c, ne, sizeof *at->side);
    at->first = skel__carve(&c, n + 1, sizeof *at->first);

    if (v) *v = *at;
    if (out) *out = v;
    return c.used;
}

/* ---- coordinates ---- */

static skel_status read_pose(const skel_model *m, const double *given, int32_t sample, int32_t i,
                             skel__kin *x, skel_error *err) {
    double sum = 0;
    for (int k = 0; k < 7; ++k) sum += fabs(given[k]);
    const quat q = q_of(given + 3);

    if (!isfinite(sum) || !q_has_direction(q))
        return skel__fail(
            err, SKEL_E_ARGUMENT, i, -1,
            "poses: sample %d of '%s' is not a pose; its numbers must be finite and its "
            "quaternion not zero",
            sample, m->body[i].name);

    x->p = v3_of(given);
    x->q = q_unit(q);
    return SKEL_OK;
}

/* Joint coordinates of the poses x, and the largest gaps. */
static void measure_joints(skel_inverse *v, const skel__kin *x, double *q) {
    for (int32_t k = 0; k < v->m->nj; ++k) {
        const skel__joint *j = &v->m->joint[k];
        const skel__misfit e =
            skel__joint_measure(j, pose_mul(skel__pose_of(x, j->a), j->fa),
                                pose_mul(skel__pose_of(x, j->b), j->fb), q + j->q_offset);
        v->sum.joint_gap = fmax(v->sum.joint_gap, e.gap);
        v->sum.misalignment = fmax(v->sum.misalignment, e.angle);
    }
}

static skel_status read_samples(skel_inverse *v, const double *poses, skel_state *s,
                                skel_error *err) {
    const skel_model *m = v->m;
    for (int32_t k = 0; k < v->n; ++k) {
        for (int32_t i = 0; i < m->nb; ++i, poses += 7) {
            const skel_status status = read_pose(m, poses, k, i, &s->x[i], err);
            if (status != SKEL_OK) return status;
        }

        measure_joints(v, s->x, v->q + (size_t)k * (size_t)m->nq);
        for (int32_t r = 0; r < v->nr; ++r) {
            double *root_pose = v->root_pose + 7 * ((size_t)k * (size_t)v->nr + (size_t)r);
            v3_to(s->x[v->root[r]].p, root_pose);
            q_to(s->x[v->root[r]].q, root_pose + 3);
        }
    }
    return SKEL_OK;
}

/* Makes an angle continuous. */
static void unwrap(double *x, size_t stride, int32_t n) {
    for (int32_t k = 1; k < n; ++k) {
        const double before = x[(size_t)(k - 1) * stride];
        double *here = &x[(size_t)k * stride];
        *here -= SKEL__TURN * nearbyint((*here - before) / SKEL__TURN);
    }
}

/* Makes the sign of a quaternion continuous. */
static void keep_sign(double *q, size_t stride, int32_t n) {
    for (int32_t k = 1; k < n; ++k) {
        double *here = q + (size_t)k * stride;
        if (q_dot(q_of(here), q_of(here - stride)) < 0) q_to(q_neg(q_of(here)), here);
    }
}

/* ---- filter ---- */

/* Filters one number; *change is the largest change so far. */
static void smooth_number(skel_inverse *v, double *x, size_t stride, double *change) {
    const size_t n = (size_t)v->n;
    for (size_t k = 0; k < n; ++k) v->buffer[k] = x[k * stride];
    skel__lowpass(x, stride, n, v->sum.cutoff, v->rate, v->filter);
    for (size_t k = 0; k < n; ++k) *change = fmax(*change, fabs(x[k * stride] - v->buffer[k]));
}

/* Filters a rotation, see the head comment. */
static void smooth_rotation(skel_inverse *v, double *q, size_t stride) {
    const size_t n = (size_t)v->n;
    double *xi = v->buffer, *r = v->rotation;

    /* xi, the sum of the increments, filtered. */
    v3_to((v3){0, 0, 0}, xi);
    for (size_t k = 1; k < n; ++k) {
        const double *here = q + k * stride;
        v3_to(v3_add(v3_of(xi + 3 * k - 3), q_log(q_mul(q_conj(q_of(here - stride)), q_of(here)))),
              xi + 3 * k);
    }
    for (int c = 0; c < 3; ++c) skel__lowpass(xi + c, 3, n, v->sum.cutoff, v->rate, v->filter);

    /* r, the rotation that xi describes. */
    memcpy(r, q, 4 * sizeof *r);
    for (size_t k = 1; k < n; ++k) {
        const v3 step = v3_sub(v3_of(xi + 3 * k), v3_of(xi + 3 * k - 3));
        q_to(q_unit(q_mul(q_of(r + 4 * k - 4), q_exp(step))), r + 4 * k);
    }

    /* Its drift from q, filtered at a lower cut-off, and corrected. */
    for (size_t k = 0; k < n; ++k)
        v3_to(q_log(q_mul(q_conj(q_of(r + 4 * k)), q_of(q + k * stride))), xi + 3 * k);
    for (int c = 0; c < 3; ++c)
        skel__lowpass(xi + c, 3, n, INVERSE_DRIFT_CUTOFF * v->sum.cutoff, v->rate, v->filter);
    for (size_t k = 0; k < n; ++k) {
        const quat now = q_unit(q_mul(q_of(r + 4 * k), q_exp(v3_of(xi + 3 * k))));
        const v3 change = q_log(q_mul(q_conj(q_of(q + k * stride)), now));
        v->sum.filter_shift = fmax(v->sum.filter_shift, v3_norm(change));
        q_to(now, q + k * stride);
    }
    keep_sign(q, stride, v->n);
}

/* Makes all coordinates continuous, and filters them if there is a cut-off. */
static void smooth(skel_inverse *v) {
    const skel_model *m = v->m;
    const size_t nq = (size_t)m->nq, nr7 = 7 * (size_t)v->nr;
    const int has_filter = v->sum.cutoff > 0;

    /* Joints. */
    for (int32_t e = 0; e < m->nj; ++e) {
        const skel_joint_kind *kind = &skel__joint_kinds[m->joint[e].type];
        double *q = v->q + m->joint[e].q_offset;
        if (kind->q_kind[0] == SKEL_COORDINATE_QUATERNION) {
            keep_sign(q, nq, v->n);
            if (has_filter) smooth_rotation(v, q, nq);
            continue;
        }

        for (int32_t c = 0; c < kind->q_count; ++c) {
            const int is_length = kind->q_kind[c] == SKEL_COORDINATE_LENGTH;
            double *change = is_length ? &v->sum.filter_move : &v->sum.filter_shift;
            if (skel__is_periodic(&m->joint[e], c)) unwrap(q + c, nq, v->n);
            if (has_filter) smooth_number(v, q + c, nq, change);
        }
    }

    /* Roots. */
    for (int32_t r = 0; r < v->nr; ++r) {
        double *root_pose = v->root_pose + 7 * (size_t)r;
        keep_sign(root_pose + 3, nr7, v->n);
        if (!has_filter) continue;
        for (int c = 0; c < 3; ++c) smooth_number(v, root_pose + c, nr7, &v->sum.filter_move);
        smooth_rotation(v, root_pose + 3, nr7);
    }
}

/* ---- events ---- */

/* Sets the poses of a sample, without velocities. */
static void set_poses(const skel_inverse *v, int32_t sample, skel_state *s) {
    const size_t k = (size_t)sample, nr = (size_t)v->nr;
    for (size_t r = 0; r < nr; ++r) {
        const double *x = v->root_pose + 7 * (k * nr + r);
        s->x[v->root[r]] = (skel__kin){.p = v3_of(x), .q = q_of(x + 3)};
    }
    skel__fk(v->m, v->q + k * (size_t)v->m->nq, s->x);
}

/* Whether velocities jump at the event: it belongs to a rigid ground or a hard stop. */
static int is_rigid_event(const skel_model *m, int32_t event) {
    if (event < m->ncand) return m->ground[m->candidate[event].ground].is_rigid;
    return skel__has_stop(&m->joint[(event - m->ncand) / 4]);
}

static void mark_skeleton(skel_inverse *v, int32_t sample, int32_t body) {
    if (body >= 0)
        v->has_event[(size_t)sample * (size_t)v->nk + (size_t)v->m->body[body].skeleton] = 1;
}

/* Notes that the event lies between the sample before and this one, for its skeletons. */
static void mark_event(skel_inverse *v, int32_t sample, int32_t event) {
    const skel_model *m = v->m;
    if (event < m->ncand) {
        mark_skeleton(v, sample, m->candidate[event].i);
        mark_skeleton(v, sample, skel__candidate_other(m, &m->candidate[event]));
        return;
    }
    const skel__joint *j = &m->joint[(event - m->ncand) / 4];
    mark_skeleton(v, sample, j->a);
    mark_skeleton(v, sample, j->b);
}

/* Marks the events that passed through zero since the sample before. Marks also the rigid events
   that bounced between the two samples before that: extrapolated from either side, the value is
   negative in between, although all four samples are positive. */
static void find_events(skel_inverse *v, int32_t sample) {
    const size_t ne = (size_t)v->ne;
    for (int32_t e = 0; e < v->ne; ++e) {
        const double *value = v->values + e;
        const double now = value[(size_t)(sample % 4) * ne];
        const int rigid = is_rigid_event(v->m, e);
        const double unit = e < v->m->ncand ? v->m->contact_length : 1.0;
        const double edge = INVERSE_LAW_EDGE_TOL * unit;

        /* The side changes with a hysteresis. */
        int32_t side = v->side[e];
        if (now > (rigid ? INVERSE_RIGID_RELEASE * unit : edge)) side = 1;
        if (now < (rigid ? INVERSE_RIGID_TOUCH * unit : -edge)) side = -1;
        if (sample > 0 && side != v->side[e]) mark_event(v, sample, e);
        v->side[e] = side;

        if (sample < 3 || !rigid) continue;
        const double before = value[(size_t)((sample + 1) % 4) * ne];
        const double down = value[(size_t)((sample + 2) % 4) * ne];
        const double up = value[(size_t)((sample + 3) % 4) * ne];
        if (down > edge && up > edge && 2 * down < before && 2 * up < now)
            mark_event(v, sample - 1, e);
    }
}

/* Slacks of the contact surfaces as in a bake from the first sample. Stops and muscles are part of
   the unknown torques, so they do not act here. */
static void start_events(skel_inverse *v, skel_state *s) {
    const skel_model *m = v->m;
    set_poses(v, 0, s);
    if (v->ne > 0) skel__event_states_start(s);
    for (int32_t k = 0; k < v->ne; ++k) s->event_state[k] = SKEL__EVENT_OPEN;
    for (int32_t k = 0; k < m->nj; ++k)
        if (m->joint[k].muscle_index >= 0) s->internal[m->joint[k].muscle_index] = 0;
}

/* Finds the events and the number of contacts of all samples, and allocates the contacts. */
static skel_status find_contacts(skel_inverse *v, skel_state *s) {
    int32_t most = 0;
    size_t all = 0;
    start_events(v, s);
    for (int32_t k = 0; v->ne > 0 && k < v->n; ++k) {
        set_poses(v, k, s);
        skel__event_values(s, v->values + (size_t)(k % 4) * (size_t)v->ne);
        find_events(v, k);

        const int32_t count = skel__contacts_touching(s);
        most = count > most ? count : most;
        all += (size_t)count;
        if (all > INT32_MAX) return SKEL_E_MEMORY;
        v->first[k + 1] = (int32_t)all;
    }

    if (v->m->ncand == 0) return SKEL_OK;
    if (all > 0) v->contact = skel__alloc(&v->allocator, all * sizeof *v->contact);
    if (all > 0 && !v->contact) return SKEL_E_MEMORY;
    return skel__contacts_reserve(s, most);
}

/* ---- derivatives ---- */

/* First and second derivative of one number. */
static void differentiate(const skel__stencil *s, const double *x, size_t stride, double rate,
                          double *d, double *dd) {
    *d = 0;
    *dd = 0;
    for (int32_t k = 0; k < s->count; ++k) {
        const double value = x[(size_t)(s->first + k) * stride];
        *d += s->d1[k] * value;
        *dd += s->d2[k] * value;
    }
    *d *= rate;
    *dd *= rate * rate;
}

/* Rotation vectors of the nodes relative to the middle one. Each is chosen close to the
   extrapolation of its neighbours, so that they continue beyond half a turn. Returns the longest
   [rad]. */
static double rotation_vectors(const skel__stencil *s, const double *q, size_t stride, v3 *phi) {
    const int32_t mid = s->count / 2;
    const quat back = q_conj(q_of(q + (size_t)(s->first + mid) * stride));
    double longest = 0;
    phi[mid] = (v3){0, 0, 0};

    for (int32_t direction = -1; direction <= 1; direction += 2) {
        v3 step = {0, 0, 0};
        for (int32_t k = mid + direction; k >= 0 && k < s->count; k += direction) {
            const quat rel = q_mul(back, q_of(q + (size_t)(s->first + k) * stride));
            phi[k] = q_log_near(rel, v3_add(phi[k - direction], step));
            step = v3_sub(phi[k], phi[k - direction]);
            longest = fmax(longest, v3_norm(phi[k]));
        }
    }
    return longest;
}

/* omega and its derivative, in the axes of q, at the sample of the stencil, from phi, phi' and
   phi'' there and J (math/rotation.h). In the interior phi = 0 and omega' = phi''; at the ends phi
   is not zero. The map is smooth only below a whole turn, so the stencil is shortened if it spans
   more. */
static void differentiate_rotation(const skel__stencil *wide, samples in, const double *q,
                                   size_t stride, double rate, double *w, double *dw) {
    skel__stencil s = *wide;
    v3 phi[SKEL__STENCIL_NODES], d = {0, 0, 0}, dd = d;
    const int32_t sample = wide->first + wide->at - in.first;
    while (rotation_vectors(&s, q, stride, phi) > INVERSE_STENCIL_TURN_MAX && s.count > 3) {
        s = skel__stencil_narrow(in.count, sample, s.count > 5 ? s.count - 2 : 3);
        s.first += in.first;
    }

    for (int32_t k = 0; k < s.count; ++k) {
        d = v3_mad(d, s.d1[k] * rate, phi[k]);
        dd = v3_mad(dd, s.d2[k] * rate * rate, phi[k]);
    }
    v3_to(q_jacobian_mul(phi[s.at], d), w);
    v3_to(q_exp_acceleration(phi[s.at], d, dd), dw);
}

static int32_t skeleton_of(const skel_model *m, const skel__joint *j) {
    return m->body[j->b >= 0 ? j->b : j->a].skeleton;
}

/* The samples from which the derivatives at one sample may be taken: up to the next events of its
   skeleton, if these are far enough apart for a stencil; otherwise all. A filter removes jumps. */
static samples stencil_range(const skel_inverse *v, int32_t sample, int32_t skeleton) {
    const samples all = {0, v->n};
    if (v->ne == 0 || v->sum.cutoff > 0) return all;
    const int32_t *jump = v->has_event + skeleton;
    int32_t first = sample, end = sample + 1;
    while (first > 0 && sample - first < SKEL__STENCIL_NODES &&
           !jump[(size_t)first * (size_t)v->nk])
        --first;
    while (end < v->n && end - sample < SKEL__STENCIL_NODES && !jump[(size_t)end * (size_t)v->nk])
        ++end;
    return end - first >= SKEL__STENCIL_NODES ? (samples){first, end - first} : all;
}

/* The stencil of a sample within `in`. The sample is flagged if the stencil contains an event. */
static skel__stencil stencil_in(skel_inverse *v, samples in, int32_t sample, int32_t skeleton) {
    skel__stencil s = skel__stencil_at(in.count, sample - in.first);
    s.first += in.first;
    for (int32_t k = s.first + 1; v->ne > 0 && k < s.first + s.count; ++k)
        if (v->has_event[(size_t)k * (size_t)v->nk + (size_t)skeleton])
            v->flags[sample] |= SKEL_INVERSE_ACROSS_EVENT;
    return s;
}

/* The stencil with two nodes fewer. The difference of the derivatives estimates their error. */
static skel__stencil narrower_stencil(const skel__stencil *s, samples in) {
    const int32_t fewer = s->count > 4 ? s->count - 2 : s->count;
    skel__stencil narrow = skel__stencil_narrow(in.count, s->first + s->at - in.first, fewer);
    narrow.first += in.first;
    return narrow;
}

/* Velocities and accelerations of a joint at a sample. The error estimate is the difference from
   the accelerations by the narrower stencil. */
static void differentiate_joint(skel_inverse *v, int32_t sample, const skel__joint *j) {
    const size_t nq = (size_t)v->m->nq, at = (size_t)sample * (size_t)v->m->nv;
    const int32_t skeleton = skeleton_of(v->m, j), nv = skel__joint_nv(j->type);
    const int is_rotation = skel__joint_kinds[j->type].q_kind[0] == SKEL_COORDINATE_QUATERNION;
    const samples in = stencil_range(v, sample, skeleton);
    const skel__stencil s = stencil_in(v, in, sample, skeleton);
    const skel__stencil narrow = narrower_stencil(&s, in);
    const double *q = v->q + j->q_offset;
    double *qd = v->qd + at + j->v_offset, *qdd = v->qdd + at + j->v_offset;
    double *qdd_error = v->qdd_error + at + j->v_offset, unused[3];

    if (is_rotation) {
        differentiate_rotation(&s, in, q, nq, v->rate, qd, qdd);
        differentiate_rotation(&narrow, in, q, nq, v->rate, unused, qdd_error);
    }
    for (int32_t c = 0; c < nv && !is_rotation; ++c) {
        differentiate(&s, q + c, nq, v->rate, qd + c, qdd + c);
        differentiate(&narrow, q + c, nq, v->rate, unused, qdd_error + c);
    }
    for (int32_t c = 0; c < nv; ++c) qdd_error[c] -= qdd[c];
}

static void differentiate_root(skel_inverse *v, int32_t sample, int32_t root) {
    const size_t nr = (size_t)v->nr, r = (size_t)root, at = 6 * ((size_t)sample * nr + r);
    const int32_t skeleton = v->m->body[v->root[root]].skeleton;
    const samples in = stencil_range(v, sample, skeleton);
    const skel__stencil s = stencil_in(v, in, sample, skeleton);
    const skel__stencil narrow = narrower_stencil(&s, in);
    const double *x = v->root_pose + 7 * r;
    double *d = v->root_velocity + at, *a = v->root_acceleration + at;
    double *error = v->root_acceleration_error + at, unused[3];

    for (int c = 0; c < 3; ++c) {
        differentiate(&s, x + c, 7 * nr, v->rate, d + c, a + c);
        differentiate(&narrow, x + c, 7 * nr, v->rate, unused, error + c);
    }
    differentiate_rotation(&s, in, x + 3, 7 * nr, v->rate, d + 3, a + 3);
    differentiate_rotation(&narrow, in, x + 3, 7 * nr, v->rate, unused, error + 3);
    for (int c = 0; c < 6; ++c) error[c] -= a[c];
}

static void differentiate_all(skel_inverse *v) {
    for (int32_t k = 0; k < v->n; ++k) {
        for (int32_t e = 0; e < v->m->nj; ++e)
            if (skel__joint_nv(v->m->joint[e].type) > 0) differentiate_joint(v, k, &v->m->joint[e]);
        for (int32_t r = 0; r < v->nr; ++r) differentiate_root(v, k, r);
    }
}

/* ---- forces ---- */

/* Sets s->x, s->t and s->acc to a sample; s is prepared for it. */
static void set_state(const skel_inverse *v, int32_t sample, skel_state *s) {
    const skel_model *m = v->m;
    const size_t k = (size_t)sample, nr = (size_t)v->nr;
    s->t = v->start + (double)sample / v->rate;
    s->is_factored = 0;

    for (size_t r = 0; r < nr; ++r) {
        const double *x = v->root_pose + 7 * (k * nr + r), *d = v->root_velocity + 6 * (k * nr + r);
        const double *a = v->root_acceleration + 6 * (k * nr + r);
        const quat q = q_of(x + 3);
        s->x[v->root[r]] = (skel__kin){v3_of(x), q, v3_of(d), v3_of(d + 3)};
        s->acc[v->root[r]] = (skel__twist){v3_of(a), q_rotate(q, v3_of(a + 3))};
    }

    skel__fk(m, v->q + k * (size_t)m->nq, s->x);
    skel__fk_velocity(s, v->qd + k * (size_t)m->nv);
    skel__fk_acceleration(s, v->qdd + k * (size_t)m->nv);
}

/* The estimated errors of the accelerations as forces [N]: the largest change of the force on a
   body from its joint, or from outside if it is a free root. The accelerations of bodies are affine
   in qdd and in those of the roots. Uses s->acc, s->f and s->reaction. */
static double find_uncertainty(skel_inverse *v, int32_t sample, skel_state *s) {
    const skel_model *m = v->m;
    const size_t k = (size_t)sample, nr = (size_t)v->nr;
    double *qdd = v->qdd + k * (size_t)m->nv, *qdd_error = v->qdd_error + k * (size_t)m->nv;
    double most = 0;

    /* Accelerations with the errors added, minus those without. */
    for (int32_t i = 0; i < m->nb; ++i) s->bias[i] = s->acc[i];
    for (size_t r = 0; r < nr; ++r) {
        const double *a = v->root_acceleration_error + 6 * (k * nr + r);
        skel__twist *root = &s->acc[v->root[r]];
        root->v = v3_add(root->v, v3_of(a));
        root->w = v3_add(root->w, q_rotate(s->x[v->root[r]].q, v3_of(a + 3)));
    }
    for (int32_t c = 0; c < m->nv; ++c) qdd_error[c] += qdd[c];
    skel__fk_acceleration(s, qdd_error);
    for (int32_t i = 0; i < m->nb; ++i) {
        s->acc[i].v = v3_sub(s->acc[i].v, s->bias[i].v);
        s->acc[i].w = v3_sub(s->acc[i].w, s->bias[i].w);
        s->f[i] = (skel__wrench){0};
    }

    skel__reactions(s, s->x);
    for (int32_t e = 0; e < m->nd; ++e) most = fmax(most, v3_norm(s->reaction[m->order[e]].f));
    for (int32_t i = 0; i < m->nb; ++i) s->acc[i] = s->bias[i];
    return most;
}

static skel_inverse_contact contact_of(const skel_model *m, const skel__contact *c) {
    skel_inverse_contact out = {.struct_size = sizeof out, .body = c->i, .other = c->other};
    const skel__candidate *p = &m->candidate[c->candidate];
    const int32_t ground = p->ground % (m->ng + 1); /* the same ground at every stiffness level */
    out.ground = p->kind == SKEL__CANDIDATE_PLANE ? ground : -1;
    v3_to(c->point, out.point);
    v3_to(c->axis[0], out.normal);
    v3_to(skel__contact_force_on(c), out.force);
    out.depth = c->depth;
    out.law = c->law[0];
    return out;
}

/* Stores the contacts of a sample, and their tangential displacements for the next sample. */
static void keep_contacts(skel_inverse *v, int32_t sample, skel_state *s) {
    const skel__contacts *c = s->contacts;
    if (!c) return;
    const int32_t capacity = v->first[sample + 1] - v->first[sample];
    for (int32_t k = 0; k < c->count && k < capacity; ++k)
        v->contact[v->first[sample] + k] = contact_of(v->m, &c->at[k]);

    if (c->is_left_out) v->flags[sample] |= SKEL_INVERSE_LAW;
    if (!c->is_solved) v->flags[sample] |= SKEL_INVERSE_UNSOLVED;
    v->sum.contact_samples += c->count > 0;
    v->sum.law_samples += c->is_left_out || !c->is_solved;
    skel__contacts_remember(s);
}

/* Updates the largest residual, from the samples whose stencils do not reach across events. */
static void measure_residual(skel_inverse *v, int32_t sample) {
    const int is_blurred = (v->flags[sample] & SKEL_INVERSE_ACROSS_EVENT) != 0;
    v->sum.event_samples += is_blurred;
    if (is_blurred) return;

    for (int32_t i = 0; i < v->m->nb; ++i) {
        const double *r = v->residual + 6 * ((size_t)sample * (size_t)v->m->nb + (size_t)i);
        const double force = v3_norm(v3_of(r)), torque = v3_norm(v3_of(r + 3));
        v->sum.residual_torque = fmax(v->sum.residual_torque, torque);
        if (!(force > v->sum.residual_force)) continue;
        v->sum.residual_force = force;
        v->sum.residual_sample = sample;
    }
}

/* A jump of a derivative causes an error of up to INVERSE_JUMP_ERROR times the difference between
   the stencils, not always at the sample with the largest difference. Each sample gets the largest
   of all samples whose stencils overlap with its own. */
static void spread_uncertainty(skel_inverse *v) {
    const int32_t reach = SKEL__STENCIL_ORDER / 2;
    for (int32_t k = 0; k < v->n; ++k) {
        double most = 0;
        for (int32_t e = k - reach; e <= k + reach; ++e)
            if (e >= 0 && e < v->n) most = fmax(most, v->buffer[e]);
        v->uncertainty[k] = INVERSE_JUMP_ERROR * most;
    }
}

/* Newton-Euler at all samples. */
static skel_status find_forces(skel_inverse *v, skel_state *s, skel_error *err) {
    const skel_model *m = v->m;
    const size_t nv = (size_t)m->nv, nj = (size_t)m->nj, nb = (size_t)m->nb;
    for (int32_t k = 0; k < v->n; ++k) {
        const size_t at = (size_t)k;
        double *torque = v->torque + at * nv;

        set_state(v, k, s);
        v->buffer[k] = find_uncertainty(v, k, s);

        if (s->contacts) s->contacts->lapse = k > 0 ? 1.0 / v->rate : 0;
        const skel_status status =
            skel__inverse(s, torque, v->wrench + at * nj * 6, v->residual + at * nb * 6);
        if (status != SKEL_OK)
            return skel__fail(err, status, -1, -1, "sample %d: %s", k, skel_status_text(status));

        keep_contacts(v, k, s);
        measure_residual(v, k);

        /* Power of every joint: torque . qd. */
        for (int32_t e = 0; e < m->nj; ++e) {
            const skel__joint *j = &m->joint[e];
            const double *rate = v->qd + at * nv + j->v_offset;
            for (int32_t c = 0; c < skel__joint_nv(j->type); ++c)
                v->power[at * nj + (size_t)e] += torque[j->v_offset + c] * rate[c];
        }
    }
    spread_uncertainty(v);
    return SKEL_OK;
}

/* ---- overflow ---- */

static skel_status fail_overflow(int32_t sample, const char *problem, skel_error *err) {
    return skel__fail(
        err, SKEL_E_DIVERGED, -1, -1,
        "sample %d: %s; make the motion slower or smoother, and use masses, inertias and lengths "
        "of similar size",
        sample, problem);
}

/* Whether coordinates, derivatives and the power of one joint at one sample are finite. */
static int is_joint_finite(const skel_inverse *v, size_t k, int32_t e) {
    const skel__joint *j = &v->m->joint[e];
    const size_t n = (size_t)skel__joint_nv(j->type);
    const size_t at = k * (size_t)v->m->nv + (size_t)j->v_offset;
    const double *q = v->q + k * (size_t)v->m->nq + j->q_offset;
    return all_finite(q, (size_t)skel__joint_nq(j->type)) && all_finite(v->qd + at, n) &&
           all_finite(v->qdd + at, n) && isfinite(v->power[k * (size_t)v->m->nj + (size_t)e]);
}

/* Fails if a result is not finite, which happens with sample rates or lengths such as 1e300. */
static skel_status check_samples(const skel_inverse *v, skel_error *err) {
    const skel_model *m = v->m;
    const size_t nv = (size_t)m->nv, nj = (size_t)m->nj, nb = (size_t)m->nb;

    /* Forces, joints and the uncertainty. */
    for (int32_t k = 0; k < v->n; ++k) {
        const size_t at = (size_t)k;
        const skel_status status = skel__inverse_check_forces(
            m, k, 0, v->torque + at * nv, v->wrench + at * nj * 6, v->residual + at * nb * 6, err);
        if (status != SKEL_OK) return status;

        for (int32_t e = 0; e < m->nj; ++e)
            if (!is_joint_finite(v, at, e))
                return skel__fail(err, SKEL_E_DIVERGED, -1, e,
                                  "sample %d: the velocity, acceleration or power of joints[%d] "
                                  "'%s' overflows; make the motion slower or smoother (the sample "
                                  "rate is %.3g Hz)",
                                  k, e, m->joint[e].name, v->rate);
        if (!isfinite(v->uncertainty[k])) return fail_overflow(k, "the uncertainty overflows", err);
    }

    /* Contacts. */
    for (int32_t k = 0; k < v->n; ++k)
        for (int32_t c = v->first[k]; c < v->first[k + 1]; ++c) {
            const skel_inverse_contact *at = &v->contact[c];
            if (!all_finite(at->force, 3) || !isfinite(at->depth) || !isfinite(at->law))
                return fail_overflow(k, "a contact force overflows", err);
        }
    return SKEL_OK;
}

/* The squares of large forces overflow before the forces themselves. */
static skel_status check_summary(const skel_inverse *v, skel_error *err) {
    const skel_inverse_summary *sum = &v->sum;
    const double fit[] = {sum->joint_gap, sum->misalignment, sum->filter_shift, sum->filter_move};
    const double force[] = {sum->noise, sum->suggested_cutoff, sum->residual_force,
                            sum->residual_torque};
    if (all_finite(fit, 4) && all_finite(force, 4)) return SKEL_OK;
    return fail_overflow(0, "the squares of forces or lengths overflow", err);
}

/* ---- noise ---- */

/* Root mean square of the wrench of a joint, as a torque [N m], or as a force [N] if its first
   coordinate is a length. */
static double transmitted_load(const skel_inverse *v, int32_t e) {
    const int is_length = skel__is_length(v->m->joint[e].type, 0);
    double sum = 0;
    for (int32_t k = 0; k < v->n; ++k) {
        const double *w = v->wrench + 6 * ((size_t)k * (size_t)v->m->nj + (size_t)e);
        const double f = v3_norm(v3_of(w)), n = v3_norm(v3_of(w + 3));
        const double load = is_length ? f + n / v->m->length_scale : f * v->m->length_scale + n;
        sum += load * load / v->n;
    }
    return sqrt(sum);
}

/* Writes a torque minus its mean to the buffer, with a Hann window: one-sided stencils amplify
   noise at both ends, and the filter would spread it inward. */
static void window_torque(skel_inverse *v, int32_t dof) {
    const size_t n = (size_t)v->n, nv = (size_t)v->m->nv;
    const double *x = v->torque + dof;
    double mean = 0;
    for (size_t k = 0; k < n; ++k) mean += x[k * nv] / (double)n;
    for (size_t k = 0; k < n; ++k) {
        const double s = sin(0.5 * SKEL__TURN * (double)k / (double)(n - 1));
        v->buffer[k] = s * s * (x[k * nv] - mean);
    }
}

/* Sum of the squares of the joint's torques below a frequency [Hz]. */
static double energy_below(skel_inverse *v, const skel__joint *j, double frequency) {
    const size_t n = (size_t)v->n;
    double sum = 0;
    for (int32_t c = 0; c < skel__joint_nv(j->type); ++c) {
        window_torque(v, j->v_offset + c);
        skel__lowpass(v->buffer, 1, n, frequency, v->rate, v->filter);
        for (size_t k = 0; k < n; ++k) sum += v->buffer[k] * v->buffer[k];
    }
    return sum;
}

/* The suggested cut-off [Hz]. The spectrum of a motion decreases with frequency, that of
   differentiated noise increases (with f^2 through friction, f^4 through inertia); the cut-off is
   at the minimum between them. The search descends by half octaves, until a band has more energy
   than the one above it. */
static double suggest_cutoff(skel_inverse *v, int32_t e) {
    const skel__joint *j = &v->m->joint[e];
    const double lowest = 4.0 * v->rate / v->n, step = sqrt(0.5);
    double top = 0.5 * step * v->rate, above = energy_below(v, j, top), band = INFINITY;
    while (top * step > lowest) {
        const double below = energy_below(v, j, top * step);
        if (above - below >= band) break;
        band = above - below;
        above = below;
        top *= step;
    }
    return top;
}

/* The joint with the largest share of noise, among those where it matters. */
static void find_noise(skel_inverse *v) {
    const skel_model *m = v->m;
    v->sum.noise_joint = -1;
    for (int32_t e = 0; e < m->nj; ++e) {
        const skel__joint *j = &m->joint[e];
        skel__band band = {0};
        for (int32_t c = 0; c < skel__joint_nv(j->type); ++c) {
            window_torque(v, j->v_offset + c);
            const skel__band one = skel__band_of(v->buffer, 1, (size_t)v->n);
            band.all += one.all;
            band.high += one.high;
        }

        if (!(sqrt(band.high / v->n) > INVERSE_NOISE_FORCE_MIN * transmitted_load(v, e))) continue;
        const double share = fmin(1.0, band.high / fmax(band.all, 1e-300));
        if (!(share > v->sum.noise)) continue;
        v->sum.noise = share;
        v->sum.noise_joint = e;
    }
    if (v->sum.noise > INVERSE_NOISE_MAX)
        v->sum.suggested_cutoff = suggest_cutoff(v, v->sum.noise_joint);
}

/* ---- public functions ---- */

static skel_status import(const skel_inverse_desc *desc, skel_inverse_desc *d, skel_error *err) {
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    *d = k_desc;
    if (skel__desc_import(d, sizeof *d, sizeof *d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof *d);

    if (!d->model || !d->poses)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model or poses: is NULL");
    if (!(d->sample_rate > 0) || !isfinite(d->sample_rate))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "sample_rate: is %g Hz, must be finite and > 0", d->sample_rate);
    if (d->sample_count < 3 || d->sample_count > INT32_MAX)
        return skel__fail(
            err, SKEL_E_ARGUMENT, -1, -1,
            "sample_count: is %u, must be from 3 to 2147483647 (an acceleration needs three poses)",
            d->sample_count);
    if (!isfinite(d->start))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "start: is %g s, must be finite", d->start);
    if (!(d->cutoff >= 0 && d->cutoff < 0.5 * d->sample_rate))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "cutoff: is %g Hz, must be >= 0 and below half the sample rate, %g Hz",
                          d->cutoff, 0.5 * d->sample_rate);

    return skel__inverse_check(d->model, err);
}

static skel_status run(skel_inverse *v, const double *poses, skel_error *err) {
    skel_state *s = NULL;
    const skel_model *m = v->m;
    skel_status status = skel_state_create(m, &s, err);
    if (status != SKEL_OK) return status;

    v->nr = 0;
    for (int32_t i = 0; i < m->nb; ++i)
        if (m->body[i].joint < 0) v->root[v->nr++] = i;

    /* The passes of the head comment. */
    status = read_samples(v, poses, s, err);
    if (status == SKEL_OK) {
        smooth(v);
        status = find_contacts(v, s);
        if (status != SKEL_OK)
            skel__fail(err, status, -1, -1, "no memory for the contacts of %d samples", v->n);
    }
    if (status == SKEL_OK) {
        differentiate_all(v);
        status = find_forces(v, s, err);
    }
    if (status == SKEL_OK) status = check_samples(v, err);
    if (status == SKEL_OK) {
        find_noise(v);
        status = check_summary(v, err);
    }
    skel_state_destroy(s);
    return status;
}

skel_status skel_inverse_create(const skel_inverse_desc *desc, skel_inverse **out,
                                skel_error *err) {
    skel_inverse_desc d;
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;
    skel_status status = import(desc, &d, err);
    if (status != SKEL_OK) return status;

    /* Sizes and settings. */
    skel_inverse at = {.m = d.model, .n = (int32_t)d.sample_count, .rate = d.sample_rate};
    at.start = d.start;
    at.sum = (skel_inverse_summary){.struct_size = sizeof at.sum, .cutoff = d.cutoff};
    at.sum.residual_sample = -1;
    at.ne = skel__event_count(d.model);
    for (int32_t i = 0; i < d.model->nb; ++i)
        if (d.model->body[i].skeleton >= at.nk) at.nk = d.model->body[i].skeleton + 1;
    for (int32_t i = 0; i < d.model->nb; ++i) at.nr += d.model->body[i].joint < 0;
    at.sum.order = at.n >= SKEL__STENCIL_NODES ? SKEL__STENCIL_ORDER : at.n - 2;
    at.allocator = d.model->allocator;
    if (d.allocator) status = skel__allocator_import(&at.allocator, d.allocator);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "allocator: lacks a function, must have all of them");

    /* One block for all samples. */
    const double bytes_per_sample = 8.0 * (40.0 * d.model->nb + 23.0 * d.model->nj + 12.0);
    void *block = bytes_per_sample * at.n < INVERSE_BYTES_MAX
                      ? skel__alloc(&at.allocator, layout(&at, NULL, NULL))
                      : NULL;
    if (!block)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for %d samples of %d bodies", at.n,
                          d.model->nb);
    skel_inverse *v = NULL;
    layout(&at, block, &v);

    status = run(v, d.poses, err);
    if (status == SKEL_OK)
        *out = v;
    else
        skel_inverse_destroy(v);
    return status;
}

void skel_inverse_destroy(skel_inverse *inverse) {
    if (!inverse) return;
    const skel_allocator allocator = inverse->allocator;
    skel__free(&allocator, inverse->contact);
    skel__free(&allocator, inverse);
}

int32_t skel_inverse_sample_count(const skel_inverse *inverse) {
    return inverse ? inverse->n : 0;
}
int32_t skel_inverse_free_root(const skel_inverse *inverse, int32_t k) {
    for (int32_t r = 0; inverse && r < inverse->nr; ++r)
        if (skel__is_dynamic(inverse->m, inverse->root[r]) && k-- == 0) return inverse->root[r];
    return -1;
}
const double *skel_inverse_q(const skel_inverse *inverse) {
    return inverse ? inverse->q : NULL;
}
const double *skel_inverse_qd(const skel_inverse *inverse) {
    return inverse ? inverse->qd : NULL;
}
const double *skel_inverse_qdd(const skel_inverse *inverse) {
    return inverse ? inverse->qdd : NULL;
}
const double *skel_inverse_torque(const skel_inverse *inverse) {
    return inverse ? inverse->torque : NULL;
}
const double *skel_inverse_wrench(const skel_inverse *inverse) {
    return inverse ? inverse->wrench : NULL;
}
const double *skel_inverse_residual(const skel_inverse *inverse) {
    return inverse ? inverse->residual : NULL;
}
const double *skel_inverse_power(const skel_inverse *inverse) {
    return inverse ? inverse->power : NULL;
}

const double *skel_inverse_uncertainty(const skel_inverse *inverse) {
    return inverse ? inverse->uncertainty : NULL;
}

const int32_t *skel_inverse_flags(const skel_inverse *inverse) {
    return inverse ? inverse->flags : NULL;
}

int32_t skel_inverse_contact_count(const skel_inverse *inverse, int32_t sample) {
    if (!inverse || sample < 0 || sample >= inverse->n) return 0;
    return inverse->first[sample + 1] - inverse->first[sample];
}

skel_status skel_inverse_get_contact(const skel_inverse *inverse, int32_t sample, int32_t k,
                                     skel_inverse_contact *contact) {
    if (!contact || k < 0 || k >= skel_inverse_contact_count(inverse, sample))
        return SKEL_E_ARGUMENT;
    const skel_inverse_contact *at = &inverse->contact[inverse->first[sample] + k];
    return skel__desc_export(contact, at, sizeof *at, sizeof *at);
}

skel_status skel_inverse_get_state(const skel_inverse *inverse, int32_t sample, skel_state *state,
                                   double *linear, double *angular) {
    if (!inverse || !state || state->m != inverse->m || sample < 0 || sample >= inverse->n)
        return SKEL_E_ARGUMENT;

    state->sum = (skel__power){0};
    set_state(inverse, sample, state);
    for (int32_t i = 0; i < inverse->m->nb; ++i) {
        if (linear) v3_to(state->acc[i].v, linear + 3 * (size_t)i);
        if (angular) v3_to(skel__body_axes(state, i, state->acc[i].w), angular + 3 * (size_t)i);
    }
    return SKEL_OK;
}

skel_status skel_inverse_get_summary(const skel_inverse *inverse, skel_inverse_summary *summary) {
    if (!inverse || !summary) return SKEL_E_ARGUMENT;
    return skel__desc_export(summary, &inverse->sum, sizeof inverse->sum, sizeof inverse->sum);
}
