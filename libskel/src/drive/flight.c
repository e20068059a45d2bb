/* SPDX-License-Identifier: BSD-3-Clause */
/* Free flight from pose to pose [RUD ch. 5]. The joint coordinates q(t) are given. In the axes of
   the root, with I the inertia of the skeleton about its centre of mass and h the angular momentum
   of the joint motion,
     L = R (I(q) w + h(q, q')) = const,   R' = R [w]   =>   w = I^-1 (R^T L - h).
   The three components of L are found from the three equations of the landing,
     log(R_to^T R(T; L)) = 0.
   Integration: within a step R = R_n exp(phi) and phi' = J^-1(phi) w (math/rotation.h), by Gauss
   collocation with four stages, which is of order eight [Munthe-Kaas 1999; Hairer, Lubich, Wanner
   IV.8]. I^-1 and h do not depend on L and are tabulated once. Shooting: damped Newton iteration.
   If it fails, continuation from a flight whose solution is known: of a sphere that turns as far
   (by inertia), or without angular momentum (by angle). */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "math/rotation.h"
#include "integrate/reduced.h"
#include "model/joint_kind.h"

#include <skel/skel_flight.h>

#include <string.h>

#define FLIGHT_STAGES 4
#define FLIGHT_STAGE_ITERATIONS_MAX 60
#define FLIGHT_STAGE_TOL 1e-15         /* relative to the angular velocity */
#define FLIGHT_STAGE_TOL_STALLED 1e-13 /* the same if the iteration no longer improves */
#define FLIGHT_STAGE_TURN_MAX 3.0      /* [rad] per step: phi must stay below half a turn */
#define FLIGHT_STEPS_MIN 24.0
#define FLIGHT_STEPS_PER_TURN 24.0
#define FLIGHT_REFINEMENT_MAX 32 /* times the first number of steps */
#define FLIGHT_STEPS_MAX 4194304.0
#define FLIGHT_SAMPLES_MAX 1e7
#define FLIGHT_TURNS_MAX 1000
#define FLIGHT_NEWTON_MAX 40
#define FLIGHT_NEWTON_NEAR_MAX 10   /* from the prediction of a continuation */
#define FLIGHT_NEWTON_TOTAL_MAX 400 /* in one continuation */
#define FLIGHT_DAMPING_TRIALS 12
#define FLIGHT_DAMPING_MIN 1e-4 /* first damping; grows and shrinks by FLIGHT_DAMPING_FACTOR */
#define FLIGHT_DAMPING_FACTOR 8
#define FLIGHT_DAMPING_OFF 1e-6 /* a smaller damping becomes zero */
#define FLIGHT_DETERMINANT_MIN 1e-14
#define FLIGHT_ANGLE_TOL 1e-13              /* [rad] rounding of a long flight */
#define FLIGHT_ANGLE_SOLVED 1e-6            /* [rad] a flight that misses by less is a solution */
#define FLIGHT_ANGLE_CONTINUED 1e-7         /* [rad] the same for the members of a continuation */
#define FLIGHT_TURN_MIN 1e-3                /* [rad] a smaller turn does not define a direction */
#define FLIGHT_CONTINUATION_MIN (1.0 / 256) /* shortest part of a continuation */
#define FLIGHT_JUMP_MAX 1.0 /* [rad] a larger change of the unknowns is another branch */
#define FLIGHT_AXIS_ITERATIONS 200

_Static_assert(sizeof(skel_flight_desc) == offsetof(skel_flight_desc, allocator) + sizeof(void *),
               "tail padding");
_Static_assert(sizeof(skel_flight_summary) == offsetof(skel_flight_summary, reserved) + 4,
               "tail padding");
static const skel_flight_desc k_desc = {
    .struct_size = sizeof k_desc, .sample_rate = 24, .tolerance = 1e-10};

void skel_flight_desc_init_sized(skel_flight_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

struct skel_flight {
    skel_allocator allocator;
    int32_t n;
    skel_flight_summary sum;
    double *poses, *velocities, *q;
};

/* Inertia and joint motion of the skeleton at one time, in the axes of the root. */
typedef struct shape {
    m3 inverse; /* of the inertia about the centre of mass [1/(kg m^2)] */
    v3 h;       /* angular momentum of the joint motion [N m s] */
} shape;

/* The boundary value problem and its workspace. */
typedef struct shooting {
    const skel_model *m;
    skel__reduced r;
    skel_state *s;
    double *y;              /* reduced coordinates, see reduced.h */
    double *q0, *q1;        /* (nq) joint coordinates at take-off and landing */
    quat from, to;          /* orientations of the root */
    v3 c0, c1, v0;          /* centre of mass [m], and its velocity at take-off [m/s] */
    double duration, rate;  /* [s], [Hz] */
    double inertia;         /* [kg m^2] scale: L T / inertia is a rotation vector */
    int32_t samples, parts; /* intervals between samples; steps per interval */
    int32_t steps;
    shape *table;        /* (steps x FLIGHT_STAGES) */
    double sphere_share; /* continuation: 0 the skeleton .. 1 a sphere of that inertia */
    int32_t iterations;
    double c[FLIGHT_STAGES], a[FLIGHT_STAGES][FLIGHT_STAGES], b[FLIGHT_STAGES];
} shooting;

/* ---- Gauss collocation ---- */

/* A row of the coefficients from the order conditions sum_j x_j c_j^(k-1) = upper^k / k, k = 1..4,
   by Gauss-Jordan elimination. The nodes increase, so that no pivot is small. */
static void collocate(const double *c, double upper, double *x) {
    double m[FLIGHT_STAGES][FLIGHT_STAGES + 1];
    for (int k = 0; k < FLIGHT_STAGES; ++k) {
        for (int j = 0; j < FLIGHT_STAGES; ++j) m[k][j] = pow(c[j], k);
        m[k][FLIGHT_STAGES] = pow(upper, k + 1) / (k + 1);
    }

    for (int p = 0; p < FLIGHT_STAGES; ++p)
        for (int k = 0; k < FLIGHT_STAGES; ++k) {
            if (k == p) continue;
            const double f = m[k][p] / m[p][p];
            for (int j = p; j <= FLIGHT_STAGES; ++j) m[k][j] -= f * m[p][j];
        }
    for (int p = 0; p < FLIGHT_STAGES; ++p) x[p] = m[p][FLIGHT_STAGES] / m[p][p];
}

static void prepare_method(shooting *f) {
    const double one = sqrt(3.0 / 7 - 2.0 / 7 * sqrt(1.2)),
                 two = sqrt(3.0 / 7 + 2.0 / 7 * sqrt(1.2));
    const double node[FLIGHT_STAGES] = {-two, -one, one, two}; /* zeros of Legendre's polynomial */
    for (int k = 0; k < FLIGHT_STAGES; ++k) f->c[k] = 0.5 + 0.5 * node[k];
    for (int k = 0; k < FLIGHT_STAGES; ++k) collocate(f->c, f->c[k], f->a[k]);
    collocate(f->c, 1.0, f->b);
}

/* ---- motion of the joints ---- */

/* Joint coordinates and velocities at t, with minimum jerk and at rest at both ends:
     s = 10 u^3 - 15 u^4 + 6 u^5,   u = t / T. */
static void path_at(const shooting *f, double t, double *q, double *qd) {
    const double u = t / f->duration, s = u * u * u * (10 + u * (6 * u - 15));
    const double rate = 30 * u * u * (1 - u) * (1 - u) / f->duration;

    for (int32_t e = 0; e < f->m->nj; ++e) {
        const skel__joint *j = &f->m->joint[e];
        const double *q0 = f->q0 + j->q_offset, *q1 = f->q1 + j->q_offset;
        double *at = q + j->q_offset, *speed = qd + j->v_offset;

        /* A ball turns about a fixed axis, so the rate of the rotation vector is omega. */
        if (skel__joint_kinds[j->type].q_kind[0] == SKEL_COORDINATE_QUATERNION) {
            const v3 turn = q_log(q_mul(q_conj(q_of(q0)), q_of(q1)));
            q_to(q_mul(q_of(q0), q_exp(v3_scale(turn, s))), at);
            v3_to(v3_scale(turn, rate), speed);
            continue;
        }
        for (int32_t c = 0; c < skel__joint_nv(j->type); ++c) {
            at[c] = q0[c] + s * (q1[c] - q0[c]);
            speed[c] = rate * (q1[c] - q0[c]);
        }
    }
}

/* Makes angles take the shortest path, unless limits define their range. */
static void match_turns(shooting *f) {
    for (int32_t e = 0; e < f->m->nj; ++e) {
        const skel__joint *j = &f->m->joint[e];
        const skel_joint_kind *kind = &skel__joint_kinds[j->type];
        if (j->limits.is_set) continue;

        for (int32_t c = 0; c < kind->q_count; ++c) {
            if (!skel__is_periodic(j, c)) continue;
            double *q = f->q1 + j->q_offset + c;
            *q -= SKEL__TURN * nearbyint((*q - f->q0[j->q_offset + c]) / SKEL__TURN);
        }
    }
}

/* Sets the state to the joint coordinates at t, with the given centre of mass c, orientation of the
   root, velocity of the centre and angular velocity of the root (body axes). */
static void set_state(shooting *f, double t, v3 c, quat root, v3 speed, v3 spin) {
    double *at = f->y + f->r.at_pose, *rate = f->y + f->r.at_velocity;
    path_at(f, t, f->y, f->y + f->r.at_qd);
    v3_to(c, at);
    q_to(root, at + 3);
    v3_to(speed, rate);
    v3_to(spin, rate + 3);
    skel__reduced_unpack(&f->r, f->y, t, SKEL__AFTER, f->s);
}

/* Inertia and angular momentum about the centre of mass, which rests at the origin:
     I = sum (R J R^T + m [p]^T [p]),   h = sum (m p x v + R J R^T w). */
static shape shape_at(shooting *f, double t) {
    const skel_model *m = f->m;
    const v3 none = {0, 0, 0};
    m3 sum = m3_zero();
    shape out = {.h = none};
    set_state(f, t, none, q_identity(), none, none);

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__kin *x = &f->s->x[i];
        const m3 d = m3_skew(x->p), own = m3_conjugate(f->s->r[i], m->body[i].inertia);
        const double mass = m->body[i].mass;
        sum = m3_add(sum, m3_add(own, m3_scale(m3_tmul(d, d), mass)));
        out.h = v3_mad(out.h, mass, v3_cross(x->p, x->v));
        out.h = v3_add(out.h, m3_mulv(own, f->s->ww[i]));
    }
    out.inverse = m3_symmetric(m3_inverse(sum));
    return out;
}

/* ---- integration ---- */

static double sample_time(const shooting *f, int32_t k) {
    return k >= f->samples ? f->duration : (double)k / f->rate;
}

/* Fills the table at all stages. The intervals lie between samples, the last one ends at the
   landing, and each is divided into `parts` steps. */
static void fill_table(shooting *f) {
    for (int32_t k = 0; k < f->steps; ++k) {
        const double from = sample_time(f, k / f->parts), to = sample_time(f, k / f->parts + 1);
        const double h = (to - from) / f->parts, t = from + (k % f->parts) * h;
        for (int e = 0; e < FLIGHT_STAGES; ++e)
            f->table[(size_t)k * FLIGHT_STAGES + (size_t)e] = shape_at(f, t + f->c[e] * h);
    }
}

/* w = I^-1 (momentum - h), momentum in the axes of the root. In a continuation, x of the sphere:
     w = x momentum / inertia + (1 - x) I^-1 (momentum - (1 - x) h). */
static v3 angular_velocity(const shooting *f, const shape *at, v3 momentum) {
    const v3 w = m3_mulv(at->inverse, v3_sub(momentum, at->h));
    if (f->sphere_share == 0) return w;
    return v3_mad(v3_scale(momentum, f->sphere_share / f->inertia), 1.0 - f->sphere_share,
                  m3_mulv(at->inverse, v3_mad(momentum, f->sphere_share - 1.0, at->h)));
}

/* One step from R: phi at its end, and the integral of omega in the axes of R. `back` is R^T L. The
   stages are found by fixed-point iteration. Returns 0 if it does not converge, because the step is
   too long. */
static int step(const shooting *f, const shape *at, v3 back, double h, v3 *phi, v3 *turned) {
    v3 k[FLIGHT_STAGES], w[FLIGHT_STAGES]; /* phi', and omega in the axes of R */
    double change = INFINITY, before = INFINITY;
    for (int e = 0; e < FLIGHT_STAGES; ++e) k[e] = angular_velocity(f, &at[e], back);

    for (int n = 0;; ++n) {
        double size = 0;
        before = change;
        change = 0;
        for (int e = 0; e < FLIGHT_STAGES; ++e) {
            v3 p = {0, 0, 0};
            for (int j = 0; j < FLIGHT_STAGES; ++j) p = v3_mad(p, h * f->a[e][j], k[j]);
            const quat turn = q_exp(p);
            const v3 own = angular_velocity(f, &at[e], q_rotate(q_conj(turn), back));
            const v3 now = q_jacobian_solve(p, own);
            w[e] = q_rotate(turn, own);
            change = fmax(change, v3_norm(v3_sub(now, k[e])));
            size = fmax(size, v3_norm(now));
            k[e] = now;
        }

        const int has_stalled = change >= before;
        if (change <= FLIGHT_STAGE_TOL * size) break;
        if (has_stalled && change < FLIGHT_STAGE_TOL_STALLED * size) break;
        if (!isfinite(change) || n == FLIGHT_STAGE_ITERATIONS_MAX ||
            h * size > FLIGHT_STAGE_TURN_MAX)
            return 0;
    }

    *phi = (v3){0, 0, 0};
    *turned = (v3){0, 0, 0};
    for (int e = 0; e < FLIGHT_STAGES; ++e) {
        *phi = v3_mad(*phi, h * f->b[e], k[e]);
        *turned = v3_mad(*turned, h * f->b[e], w[e]);
    }
    return 1;
}

/* Result of the integration over the whole flight. */
typedef struct arrival {
    quat r;            /* orientation of the root */
    v3 turned;         /* integral of omega [rad], world */
    int has_converged; /* all steps were short enough */
} arrival;

/* Integrates the flight with angular momentum l. at_sample (samples + 1, may be NULL) gets the
   orientations at the samples and at the landing. */
static arrival integrate(const shooting *f, v3 l, quat *at_sample) {
    arrival out = {f->from, {0, 0, 0}, 1};
    for (int32_t k = 0; k < f->steps; ++k) {
        const int32_t sample = k / f->parts;
        const double h = (sample_time(f, sample + 1) - sample_time(f, sample)) / f->parts;
        v3 phi, turn;
        if (at_sample && k % f->parts == 0) at_sample[sample] = out.r;

        const v3 back = q_rotate(q_conj(out.r), l);
        if (!step(f, &f->table[(size_t)k * FLIGHT_STAGES], back, h, &phi, &turn)) {
            out.has_converged = 0;
            return out;
        }

        out.turned = v3_add(out.turned, q_rotate(out.r, turn));
        out.r = q_unit(q_mul(out.r, q_exp(phi)));
    }
    if (at_sample) at_sample[f->steps / f->parts] = out.r;
    return out;
}

/* ---- shooting ---- */

/* L of the unknown u = L T / inertia, a rotation vector of about the size of the turn. */
static v3 momentum_of(const shooting *f, v3 u) {
    return v3_scale(u, f->inertia / f->duration);
}

/* Rotation vector from the target to the orientation at the end [rad]; 0: the flight has none. */
static int landing_error(shooting *f, v3 u, quat target, v3 *out) {
    const arrival a = integrate(f, momentum_of(f, u), NULL);
    if (a.has_converged) *out = q_log(q_mul(q_conj(target), a.r));
    return a.has_converged;
}

/* Derivative of the landing error by u, by central differences. */
static int jacobian(shooting *f, v3 u, quat target, m3 *out) {
    const double h = 1e-6 * (1.0 + v3_norm(u));
    m3 t; /* the transposed Jacobian */
    for (int c = 0; c < 3; ++c) {
        const v3 e = {c == 0 ? h : 0, c == 1 ? h : 0, c == 2 ? h : 0};
        v3 up, down;

        if (!landing_error(f, v3_add(u, e), target, &up) ||
            !landing_error(f, v3_sub(u, e), target, &down))
            return 0;
        t.r[c] = v3_scale(v3_sub(up, down), 0.5 / h);
    }
    *out = m3_transpose(t);
    return 1;
}

/* One iteration of Levenberg and Marquardt, (J^T J + mu) d = -J^T r, with increasing mu until the
   error r decreases. Returns 0 if it does not. */
static int improve(shooting *f, quat target, const m3 *j, double *mu, v3 *u, v3 *r) {
    for (int trial = 0; trial < FLIGHT_DAMPING_TRIALS; ++trial) {
        const m3 a = m3_add(m3_symmetric(m3_tmul(*j, *j)), m3_diagonal(*mu));

        if (m3_det(a) > FLIGHT_DETERMINANT_MIN) {
            const v3 next = v3_sub(*u, m3_mulv(m3_inverse(a), m3_tmulv(*j, *r)));
            v3 error;
            if (landing_error(f, next, target, &error) && v3_norm(error) < v3_norm(*r)) {
                *u = next;
                *r = error;
                return 1;
            }
        }

        *mu = fmax(FLIGHT_DAMPING_MIN, FLIGHT_DAMPING_FACTOR * *mu);
    }
    return 0;
}

/* Damped Newton iteration from *u. Returns the landing error at the end [rad]. */
static double newton(shooting *f, quat target, double tolerance, int most, v3 *u) {
    v3 r;
    double mu = 0;
    if (!landing_error(f, *u, target, &r)) return INFINITY;

    for (int n = 0; n < most && v3_norm(r) > tolerance; ++n) {
        m3 j;
        if (!jacobian(f, *u, target, &j)) break;
        ++f->iterations;
        if (!improve(f, target, &j, &mu, u, &r)) break;
        mu = mu < FLIGHT_DAMPING_OFF ? 0 : mu / FLIGHT_DAMPING_FACTOR;
    }
    return v3_norm(r);
}

/* A family of flights for continuation. The solution of member 0 is known; member 1 is the wanted
   flight. */
typedef struct family {
    int by_inertia; /* 1: a sphere becomes the skeleton; 0: the target turns from `start` by psi */
    quat start;
    v3 psi;
} family;

/* Selects member x and returns its target. */
static quat select_member(shooting *f, const family *members, double x) {
    f->sphere_share = members->by_inertia ? 1.0 - x : 0.0;
    return members->by_inertia ? f->to : q_mul(members->start, q_exp(v3_scale(members->psi, x)));
}

/* Continues the solution *u from member 0 to member 1. Every prediction lies on the line through
   the two solutions before. `first` is the first part of the family. Returns the landing error
   [rad]; infinite: the continuation failed. */
static double continue_family(shooting *f, const family *members, v3 *u, double first) {
    double x = 0, last = 0, part = first, error = INFINITY;
    const int32_t budget = f->iterations + FLIGHT_NEWTON_TOTAL_MAX;
    v3 here = *u, before = *u;

    while (x < 1.0) {
        const double next = fmin(1.0, x + part);
        const double slope = x > last ? (next - x) / (x - last) : 0;
        const v3 guess = v3_mad(here, slope, v3_sub(here, before));
        const double tolerance = next < 1.0 ? FLIGHT_ANGLE_CONTINUED : FLIGHT_ANGLE_TOL;
        v3 found = guess;
        error =
            newton(f, select_member(f, members, next), tolerance, FLIGHT_NEWTON_NEAR_MAX, &found);

        /* Accepted: the next part is longer. */
        if (error < FLIGHT_ANGLE_SOLVED && v3_norm(v3_sub(found, guess)) < FLIGHT_JUMP_MAX) {
            last = x;
            before = here;
            x = next;
            here = found;
            part *= 1.5;
            continue;
        }

        part *= 0.5;
        if (part < FLIGHT_CONTINUATION_MIN || f->iterations > budget) {
            error = INFINITY;
            break;
        }
    }
    f->sphere_share = 0;
    *u = here;
    return error;
}

/* ---- branches ---- */

/* A solution of the shooting problem; there is one for every number of whole turns. */
typedef struct branch {
    v3 u;
    double error;  /* [rad] at the landing */
    double turned; /* [rad] about the angular momentum */
} branch;

/* The shortest rotation from `from` to the landing, in the axes of the root at take-off, and its
   axis. `about` (body axes) decides its sense. If the rotation is tiny, *axis is the direction of
   `about`, or stays as it is. */
static v3 shortest_turn(const shooting *f, quat from, v3 about, v3 *axis) {
    const v3 phi = q_log(q_mul(q_conj(from), f->to));
    const double t = v3_norm(phi), length = v3_norm(about);
    if (t < FLIGHT_TURN_MIN) {
        if (length > 0) *axis = v3_scale(about, 1 / length);
        return phi;
    }

    *axis = v3_scale(phi, 1 / t);
    if (v3_dot(*axis, about) >= 0) return phi;
    *axis = v3_neg(*axis);
    return v3_scale(*axis, SKEL__TURN - t);
}

/* Whether a flight turns as far as a sphere that turns by `want` (world): about its angular
   momentum, within half a turn, and whole turns in the same sense. Swinging limbs may turn the
   skeleton without any angular momentum. */
static int has_wanted_turns(const shooting *f, branch *b, v3 want) {
    const v3 l = momentum_of(f, b->u), turned = integrate(f, l, NULL).turned;
    const double size = v3_norm(b->u);
    if (size < FLIGHT_ANGLE_TOL) return 1;

    b->turned = v3_dot(turned, b->u) / size;
    const double angle = v3_norm(want);
    if (angle > 0.5 * SKEL__TURN && v3_dot(b->u, want) < -0.5 * size * angle) return 0;
    return fabs(b->turned - angle) < 0.5 * SKEL__TURN;
}

/* First attempt: Newton iteration from the momentum of a rigid skeleton. */
static branch try_rigid(shooting *f, const shape *start, v3 want) {
    branch b = {{0, 0, 0}, INFINITY, 0};
    const v3 l = m3_mulv(m3_inverse(start->inverse), want);
    b.u = v3_scale(q_rotate(f->from, l), 1 / f->inertia);
    b.error = newton(f, f->to, FLIGHT_ANGLE_TOL, FLIGHT_NEWTON_MAX, &b.u);
    return b;
}

/* Second attempt: continuation from a sphere that turns as far. */
static branch try_by_inertia(shooting *f, v3 want) {
    const family members = {1, f->from, {0, 0, 0}};
    branch b = {q_rotate(f->from, want), INFINITY, 0};
    b.error = continue_family(f, &members, &b.u, 0.25);
    return b;
}

/* Third attempt: continuation from the flight without angular momentum, by the angle. */
static branch try_by_angle(shooting *f, v3 about, v3 axis, int32_t turns) {
    branch b = {{0, 0, 0}, INFINITY, 0};
    const arrival still = integrate(f, (v3){0, 0, 0}, NULL);
    if (!still.has_converged) return b;

    const v3 turn = shortest_turn(f, still.r, about, &axis);
    const family members = {0, still.r, v3_mad(turn, turns * SKEL__TURN, axis)};
    const double first = fmin(1.0, 0.5 / (1e-3 + v3_norm(members.psi)));
    b.error = continue_family(f, &members, &b.u, first);
    return b;
}

/* The solution with that number of whole turns; its error is infinite if none of the attempts found
   a flight that turns as far as wanted. */
static branch try_turns(shooting *f, v3 about, v3 axis, int32_t turns) {
    const shape start = shape_at(f, 0);
    const v3 turn = shortest_turn(f, f->from, about, &axis);
    const v3 want = v3_mad(turn, turns * SKEL__TURN, axis);
    const branch none = {{0, 0, 0}, INFINITY, 0};

    for (int k = 0; k < 3; ++k) {
        branch b = none;
        if (k == 0)
            b = try_rigid(f, &start, want);
        else if (k == 1)
            b = try_by_inertia(f, want);
        else
            b = try_by_angle(f, about, axis, turns);
        if (b.error < FLIGHT_ANGLE_SOLVED && has_wanted_turns(f, &b, q_rotate(f->from, want)))
            return b;
    }
    return none;
}

/* ---- preparation ---- */

/* A flight needs exactly one free skeleton without loops. */
static skel_status check_model(const skel_model *m, skel_error *err) {
    int32_t root = -1;
    if (m->nl > 0)
        return skel__fail(err, SKEL_E_UNSUPPORTED, -1, m->loop[0],
                          "joints[%d]: '%s' closes a loop; a flight needs a tree", m->loop[0],
                          m->joint[m->loop[0]].name);

    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];

        if (m->body[i].root < 0)
            return skel__fail(err, SKEL_E_UNSUPPORTED, i, -1,
                              "bodies[%d]: '%s' is attached to the world or to a fixed or driven "
                              "body; a flight needs one free skeleton",
                              i, m->body[i].name);
        if (root >= 0 && m->body[i].root != root)
            return skel__fail(err, SKEL_E_UNSUPPORTED, i, -1,
                              "bodies[%d]: '%s' is not connected with '%s' by joints; a flight "
                              "needs one free skeleton",
                              i, m->body[i].name, m->body[root].name);
        root = m->body[i].root;
    }

    if (root < 0)
        return skel__fail(err, SKEL_E_UNSUPPORTED, -1, -1,
                          "bodies: none is free, a flight needs one free skeleton");
    return skel_model_check_dynamics(m, err);
}

/* Whether forces act that a flight ignores. */
static int has_loads(const skel_model *m) {
    if (m->nf > 0 || m->has_frame) return 1;
    for (int32_t k = 0; k < m->nd; ++k) {
        const skel__body *b = &m->body[m->order[k]];
        if (b->force_curve.count || b->torque_curve.count) return 1;
        if (v3_norm(b->force) > 0 || v3_norm(b->torque) > 0) return 1;
    }
    return 0;
}

/* Reads the take-off or landing: joint coordinates, orientation of the root, and the centre of mass
   after the joints are closed. */
static skel_status read_end(shooting *f, const double *poses, const char *name, double *q,
                            quat *root, v3 *c, skel_flight_summary *sum, skel_error *err) {
    const skel_model *m = f->m;
    double mass = 0;
    if (skel_state_set_poses(f->s, poses) != SKEL_OK)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "%s: is NULL or not a pose; numbers must be finite, quaternions not zero",
                          name);

    /* The joint coordinates, and the gaps of the given poses. */
    for (int32_t e = 0; e < m->nj; ++e) {
        const skel__joint *j = &m->joint[e];
        const skel__misfit gap =
            skel__joint_measure(j, pose_mul(skel__pose_of(f->s->x, j->a), j->fa),
                                pose_mul(skel__pose_of(f->s->x, j->b), j->fb), q + j->q_offset);
        sum->joint_gap = fmax(sum->joint_gap, gap.gap);
        sum->misalignment = fmax(sum->misalignment, gap.angle);
    }

    /* The centre of mass after forward kinematics. */
    skel__fk(m, q, f->s->x);
    *root = f->s->x[f->r.root[0]].q;
    *c = (v3){0, 0, 0};
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        mass += m->body[i].mass;
        *c = v3_mad(*c, m->body[i].mass, f->s->x[i].p);
    }
    *c = v3_scale(*c, 1 / mass);
    return SKEL_OK;
}

/* Axis of the largest moment of inertia, by power iteration. Whole turns without another direction
   are about it, because rotation about it is stable. For a sphere the result is about the x axis.
   */
static v3 largest_axis(const shape *start) {
    const m3 inertia = m3_inverse(start->inverse);
    v3 x = {1, 1e-3, 1e-6};
    for (int k = 0; k < FLIGHT_AXIS_ITERATIONS; ++k) {
        x = m3_mulv(inertia, x);
        x = v3_scale(x, 1 / v3_norm(x));
    }
    return x;
}

/* Allocates and fills the table for `parts` steps per interval. */
static skel_status resize_table(shooting *f, const skel_allocator *allocator, int32_t parts,
                                skel_error *err) {
    const double steps = (double)f->samples * parts;
    skel__free(allocator, f->table);
    f->table = NULL;

    if (steps < FLIGHT_STEPS_MAX)
        f->table = skel__alloc(allocator, (size_t)steps * FLIGHT_STAGES * sizeof *f->table);
    if (!f->table)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for a flight of %.0f steps",
                          steps);

    f->parts = parts;
    f->steps = (int32_t)steps;
    fill_table(f);
    return SKEL_OK;
}

/* ---- solving ---- */

/* The solution with the wanted number of turns. If the caller gave none, the one with the smallest
   angular momentum of 0 and -1 turns. */
static branch find_branch(shooting *f, const skel_flight_desc *d, int32_t *turns) {
    const shape start = shape_at(f, 0);
    const v3 about = q_rotate(q_conj(f->from), v3_of(d->about));
    const v3 axis = largest_axis(&start);
    if (d->has_turns) {
        *turns = d->turns;
        return try_turns(f, about, axis, d->turns);
    }

    *turns = 0;
    const branch forward = try_turns(f, about, axis, 0);
    if (v3_norm(about) > 0) return forward;

    const branch backward = try_turns(f, about, axis, -1);
    const int is_forward_best =
        forward.error < FLIGHT_ANGLE_SOLVED && v3_norm(forward.u) <= v3_norm(backward.u);
    if (!(backward.error < FLIGHT_ANGLE_SOLVED) || is_forward_best) return forward;
    *turns = -1;
    return backward;
}

/* Solves with ever shorter steps, until halving the step no longer changes the landing. */
static skel_status solve(shooting *f, const skel_flight_desc *d, const skel_allocator *allocator,
                         skel_flight_summary *sum, branch *out, skel_error *err) {
    const double turns = d->has_turns ? fabs((double)d->turns) : 0.0;
    const double least = fmax(FLIGHT_STEPS_MIN, FLIGHT_STEPS_PER_TURN * (turns + 1));
    int32_t parts = (int32_t)ceil(least / f->samples);
    branch b = {{0, 0, 0}, INFINITY, 0};

    for (double change = INFINITY, before;; parts *= 2) {
        skel_status status = resize_table(f, allocator, parts, err);
        if (status != SKEL_OK) return status;

        /* If there is no solution, the steps may have been too long. */
        if (!(b.error < FLIGHT_ANGLE_SOLVED)) b = find_branch(f, d, &sum->turns);
        if (!(b.error < FLIGHT_ANGLE_SOLVED)) {
            if (parts * (double)f->samples < 2 * least) continue;
            return skel__fail(
                err, SKEL_E_DIVERGED, -1, -1,
                "found no flight from take-off to landing in %g s with %d whole turns; try "
                "another duration or number of turns",
                f->duration, sum->turns);
        }
        b.error = newton(f, f->to, FLIGHT_ANGLE_TOL, FLIGHT_NEWTON_MAX, &b.u);
        const quat coarse = integrate(f, momentum_of(f, b.u), NULL).r;
        sum->steps = f->steps;

        /* The same flight with half the step. */
        status = resize_table(f, allocator, 2 * parts, err);
        if (status != SKEL_OK) return status;
        const arrival fine = integrate(f, momentum_of(f, b.u), NULL);
        before = change;
        change = fine.has_converged ? v3_norm(q_log(q_mul(q_conj(coarse), fine.r))) : INFINITY;
        sum->integration_error = change;
        const int is_rounding = change > 0.25 * before;
        if (change < 0.1 * d->tolerance) break;
        if (is_rounding && change < d->tolerance) break;
        if (f->steps > FLIGHT_REFINEMENT_MAX * least)
            return skel__fail(err, SKEL_E_DIVERGED, -1, -1,
                              "the landing still changes by %.3g rad with steps of %.3g s; use a "
                              "larger tolerance",
                              change, f->duration / f->steps);
    }

    b.error = newton(f, f->to, FLIGHT_ANGLE_TOL, FLIGHT_NEWTON_MAX, &b.u);
    *out = b;
    sum->steps = f->steps;
    if (b.error <= d->tolerance) return SKEL_OK;
    return skel__fail(
        err, SKEL_E_DIVERGED, -1, -1,
        "the flight misses the landing by %.3g rad, more than the tolerance of %.3g rad", b.error,
        d->tolerance);
}

/* ---- result ---- */

/* Sets the state at t, with orientation r and angular momentum l:
     c = c0 + v0 t + g t^2 / 2,   v = v0 + g t,   w = I^-1 (R^T l - h). */
static void set_sample_state(shooting *f, double t, quat r, v3 l) {
    const shape at = shape_at(f, t);
    const v3 g = f->m->gravity;
    const v3 w = m3_mulv(at.inverse, v3_sub(q_rotate(q_conj(r), l), at.h));
    set_state(f, t, v3_mad(v3_mad(f->c0, t, f->v0), 0.5 * t * t, g), r, v3_mad(f->v0, t, g), w);
}

/* Writes the samples, and the largest distance of a body from its pose in `to` at the landing. */
static void write_samples(shooting *f, v3 l, const quat *at, const double *to, skel_flight *out) {
    const skel_model *m = f->m;
    const size_t nb = (size_t)m->nb, nq = (size_t)m->nq;
    for (int32_t k = 0; k < out->n; ++k) {
        const double t = fmin((double)k / f->rate, f->duration);
        double *x = out->poses + (size_t)k * nb * 7;
        set_sample_state(f, t, at[k], l);
        skel_state_get_poses(f->s, x);
        skel_state_get_velocities(f->s, out->velocities + (size_t)k * nb * 6);

        /* The signs of quaternions are continuous. */
        for (size_t i = 0; k > 0 && i < nb; ++i) {
            double *q = x + 7 * i + 3;
            if (q_dot(q_of(q), q_of(q - 7 * nb)) < 0) q_to(q_neg(q_of(q)), q);
        }
        memcpy(out->q + (size_t)k * nq, f->y, nq * sizeof *out->q);
    }

    set_sample_state(f, f->duration, at[f->samples], l);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        const skel__kin *x = &f->s->x[i];
        const double *want = to + 7 * (size_t)i;
        const v3 turn = q_log(q_mul(q_conj(q_unit(q_of(want + 3))), x->q));
        out->sum.residual_angle = fmax(out->sum.residual_angle, v3_norm(turn));
        out->sum.residual_distance =
            fmax(out->sum.residual_distance, v3_norm(v3_sub(x->p, v3_of(want))));
    }
}

static skel_status check_samples(const skel_model *m, const skel_flight *v, skel_error *err) {
    for (size_t k = 0; k < (size_t)v->n * (size_t)m->nb; ++k) {
        const int32_t body = (int32_t)(k % (size_t)m->nb);
        if (all_finite(v->poses + 7 * k, 7) && all_finite(v->velocities + 6 * k, 6)) continue;
        return skel__fail(err, SKEL_E_DIVERGED, body, -1,
                          "the flight of bodies[%d] '%s' overflows; move the two poses closer to "
                          "each other and to the origin, or use a longer duration",
                          body, m->body[body].name);
    }

    const skel_flight_summary *sum = &v->sum;
    const double momentum = v3_norm(v3_of(sum->velocity)) + v3_norm(v3_of(sum->angular_momentum));
    if (all_finite(v->q, (size_t)v->n * (size_t)m->nq) &&
        isfinite(momentum + sum->residual_angle + sum->residual_distance))
        return SKEL_OK;
    return skel__fail(err, SKEL_E_DIVERGED, -1, -1,
                      "the joint coordinates or the momentum of the flight overflow; move the two "
                      "poses closer to each other, or use a longer duration");
}

static skel_status import(const skel_flight_desc *desc, skel_flight_desc *d, skel_error *err) {
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    *d = k_desc;
    if (skel__desc_import(d, sizeof *d, sizeof *d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof *d);

    if (!d->model) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model: is NULL");
    if (!(d->duration > 0 && d->sample_rate > 0 &&
          d->duration * d->sample_rate < FLIGHT_SAMPLES_MAX))
        return skel__fail(
            err, SKEL_E_ARGUMENT, -1, -1,
            "duration: is %g s at a sample_rate of %g Hz; both must be > 0 and result in at most "
            "%.0f samples",
            d->duration, d->sample_rate, FLIGHT_SAMPLES_MAX);
    if (!(d->tolerance > 0) || !isfinite(v3_norm(v3_of(d->about))))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "tolerance: is %g rad, must be > 0; about: must be finite", d->tolerance);
    if (d->turns < -FLIGHT_TURNS_MAX || d->turns > FLIGHT_TURNS_MAX)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "turns: is %d, must be from %d to %d",
                          d->turns, -FLIGHT_TURNS_MAX, FLIGHT_TURNS_MAX);
    return check_model(d->model, err);
}

/* Counts (base NULL) or carves the workspace, and the memory of the result. */
static size_t work_layout(shooting *at, void *base, quat **sample) {
    const size_t nq = (size_t)at->m->nq;
    skel__carver c = {base, 0};
    at->y = skel__carve(&c, skel__reduced_length(at->m), sizeof *at->y);
    at->q0 = skel__carve(&c, nq, sizeof *at->q0);
    at->q1 = skel__carve(&c, nq, sizeof *at->q1);
    at->r.root = skel__carve(&c, (size_t)at->m->nd, sizeof *at->r.root);
    *sample = skel__carve(&c, (size_t)at->samples + 2, sizeof **sample);
    return c.used;
}

static size_t layout(const skel_flight *at, const skel_model *m, void *base, skel_flight **out) {
    const size_t n = (size_t)at->n, nb = (size_t)m->nb;
    skel__carver c = {base, 0};
    skel_flight *v = skel__carve(&c, 1, sizeof *v);
    skel_flight w = *at;
    w.poses = skel__carve(&c, n * nb * 7, sizeof *w.poses);
    w.velocities = skel__carve(&c, n * nb * 6, sizeof *w.velocities);
    w.q = skel__carve(&c, n * (size_t)m->nq, sizeof *w.q);
    if (v) *v = w;
    if (out) *out = v;
    return c.used;
}

static skel_status run(shooting *f, const skel_flight_desc *d, quat *sample, skel_flight *out,
                       skel_error *err) {
    branch b = {{0, 0, 0}, INFINITY, 0};
    skel_status status =
        read_end(f, d->take_off, "take_off", f->q0, &f->from, &f->c0, &out->sum, err);
    if (status == SKEL_OK)
        status = read_end(f, d->landing, "landing", f->q1, &f->to, &f->c1, &out->sum, err);
    if (status != SKEL_OK) return status;
    match_turns(f);

    /* The centre of mass falls freely: v0 = (c1 - c0) / T - g T / 2. */
    const v3 mean = v3_scale(v3_sub(f->c1, f->c0), 1 / f->duration);
    f->v0 = v3_mad(mean, -0.5 * f->duration, f->m->gravity);

    const m3 i = m3_inverse(shape_at(f, 0).inverse);
    f->inertia = m3_trace(i) / 3;
    status = solve(f, d, &out->allocator, &out->sum, &b, err);
    if (status != SKEL_OK) return status;

    const v3 l = momentum_of(f, b.u);
    integrate(f, l, sample);
    out->sum.turned = b.turned;
    out->sum.iterations = f->iterations;
    v3_to(l, out->sum.angular_momentum);
    v3_to(f->v0, out->sum.velocity);
    write_samples(f, l, sample, d->landing, out);
    return check_samples(f->m, out, err);
}

static skel_status no_memory(skel_error *err) {
    return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the flight");
}

skel_status skel_flight_solve(const skel_flight_desc *desc, skel_flight **out, skel_error *err) {
    skel_flight_desc d;
    if (!out) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "out: is NULL");
    *out = NULL;
    skel_status status = import(desc, &d, err);
    if (status != SKEL_OK) return status;

    skel_flight at = {.allocator = d.model->allocator};
    if (d.allocator) status = skel__allocator_import(&at.allocator, d.allocator);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1,
                          "allocator: lacks a function, must have all of them");

    /* The number of samples; a duration may be a whole number of intervals up to rounding. */
    const double whole = d.duration * d.sample_rate;
    shooting f = {.m = d.model, .duration = d.duration, .rate = d.sample_rate};
    f.samples = (int32_t)ceil(whole * (1 - 1e-12));
    if (f.samples < 1) f.samples = 1;
    at.n = (int32_t)floor(whole * (1 + 1e-12)) + 1;
    at.sum = (skel_flight_summary){.struct_size = sizeof at.sum, .has_loads = has_loads(d.model)};

    /* The memory of the result, and a workspace. */
    quat *sample = NULL;
    skel_flight *v = NULL;
    void *block = skel__alloc(&at.allocator, layout(&at, d.model, NULL, NULL));
    void *work = skel__alloc(&at.allocator, work_layout(&f, NULL, &sample));
    if (block) layout(&at, d.model, block, &v);
    if (work) work_layout(&f, work, &sample);

    status = v && work ? skel_state_create(d.model, &f.s, err) : no_memory(err);
    if (status == SKEL_OK) {
        f.r = skel__reduced_of(d.model, f.r.root);
        prepare_method(&f);
        status = run(&f, &d, sample, v, err);
    }

    skel_state_destroy(f.s);
    skel__free(&at.allocator, f.table);
    skel__free(&at.allocator, work);
    if (status == SKEL_OK)
        *out = v;
    else
        skel__free(&at.allocator, v);
    return status;
}

void skel_flight_destroy(skel_flight *flight) {
    if (!flight) return;
    const skel_allocator allocator = flight->allocator;
    skel__free(&allocator, flight);
}

int32_t skel_flight_sample_count(const skel_flight *flight) {
    return flight ? flight->n : 0;
}
const double *skel_flight_poses(const skel_flight *flight) {
    return flight ? flight->poses : NULL;
}
const double *skel_flight_velocities(const skel_flight *flight) {
    return flight ? flight->velocities : NULL;
}
const double *skel_flight_q(const skel_flight *flight) {
    return flight ? flight->q : NULL;
}

skel_status skel_flight_get_summary(const skel_flight *flight, skel_flight_summary *summary) {
    if (!flight || !summary) return SKEL_E_ARGUMENT;
    return skel__desc_export(summary, &flight->sum, sizeof flight->sum, sizeof flight->sum);
}
