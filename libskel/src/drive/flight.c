/* SPDX-License-Identifier: BSD-3-Clause */
/* Free flight from pose to pose [RUD ch. 5]. Joint coordinates q(t) are given; in the axes of the
   root, with I the inertia of the whole about its centre of mass and h the angular momentum of the
   joints' own motion,
     L = R (I(q) w + h(q, q')) = const,   R' = R [w]   =>   w = I^-1 (R^T L - h).
   Three numbers L, three of the landing: log(R_to^T R(T; L)) = 0.
   Integration: within a step R = R_n exp(phi), phi' = J^-1(phi) w (math/rotation.h), by Gauss'
   collocation with four stages, order eight [Munthe-Kaas 1999; Hairer, Lubich, Wanner IV.8]. I^-1
   and h do not depend on L: they are tabled once.
   Shooting: damped Newton; where it fails, continuation from what can be solved at once: a ball
   that turns as far (inertia), or no momentum at all (angle). */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/desc.h"
#include "base/error.h"
#include "math/rotation.h"
#include "integrate/reduced.h"

#include <skel/skel_flight.h>

#include <string.h>

#define STAGES 4
#define STAGE_ITERATIONS 60
#define LEAST_STEPS 24.0
#define STEPS_PER_TURN 24.0
#define FINEST 32 /* times as many steps as at first */
#define MOST_STEPS 4194304.0
#define NEWTON_MOST 40
#define NEWTON_FEW 10    /* beside the solution that is followed */
#define NEWTON_SUM 400   /* for one way to a branch */
#define CLOSE 1e-13      /* [rad]: rounding of a long flight */
#define NO_TURN 1e-3     /* [rad]: a turn below it has no direction to go by */
#define SMALLEST_WAY 256 /* parts that a continuation may fall into */
#define JUMP 1.0         /* [rad]: a larger change of the unknowns is another branch */
#define MOST_SAMPLES 1e7

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
    skel_allocator      allocator;
    int32_t             n;
    skel_flight_summary sum;
    double             *poses, *velocities, *q;
};

/* The whole as it is shaped at one time, in the root's axes. */
typedef struct shape {
    m3 inverse; /* of the inertia about the centre of mass */
    v3 h;       /* angular momentum of the joints' motion */
} shape;

typedef struct shot {
    const skel_model *m;
    skel__reduced     r;
    skel_state       *s;
    double           *y;          /* reduced coordinates, see reduced.h */
    double           *q0, *q1;    /* (nq) joint coordinates of both ends */
    quat              from, to;   /* of the root */
    v3                c0, c1, v0; /* centre of mass, and its velocity at take-off */
    double            duration, rate;
    double            inertia;        /* [kg m^2] that makes a rotation vector of L T / inertia */
    int32_t           samples, parts; /* intervals between samples are cut in so many steps */
    int32_t           steps;
    shape            *table; /* (steps x STAGES) */
    double            ball;  /* 0: as it is .. 1: a ball of that inertia, for continuation */
    int32_t           iterations;
    double            c[STAGES], a[STAGES][STAGES], b[STAGES];
} shot;

/* ---- Gauss' method ---- */

/* Row of the method from its order conditions: sum_j x_j c_j^(k-1) = upper^k / k, k = 1..4. */
static void collocate(const double *c, double upper, double *x) {
    double m[STAGES][STAGES + 1];
    for (int k = 0; k < STAGES; ++k) {
        for (int j = 0; j < STAGES; ++j) m[k][j] = pow(c[j], k);
        m[k][STAGES] = pow(upper, k + 1) / (k + 1);
    }
    for (int p = 0; p < STAGES; ++p) /* the nodes are ordered: no pivot is small */
        for (int k = 0; k < STAGES; ++k) {
            if (k == p) continue;
            const double f = m[k][p] / m[p][p];
            for (int j = p; j <= STAGES; ++j) m[k][j] -= f * m[p][j];
        }
    for (int p = 0; p < STAGES; ++p) x[p] = m[p][STAGES] / m[p][p];
}

static void prepare_method(shot *f) {
    const double one          = sqrt(3.0 / 7 - 2.0 / 7 * sqrt(1.2)),
                 two          = sqrt(3.0 / 7 + 2.0 / 7 * sqrt(1.2));
    const double node[STAGES] = {-two, -one, one, two}; /* of Legendre's polynomial */
    for (int k = 0; k < STAGES; ++k) f->c[k] = 0.5 + 0.5 * node[k];
    for (int k = 0; k < STAGES; ++k) collocate(f->c, f->c[k], f->a[k]);
    collocate(f->c, 1.0, f->b);
}

/* ---- the joints' path ---- */

/* Minimum jerk: s = 10 u^3 - 15 u^4 + 6 u^5, at rest at both ends. */
static void path_at(const shot *f, double t, double *q, double *qd) {
    const double u = t / f->duration, s = u * u * u * (10 + u * (6 * u - 15));
    const double rate = 30 * u * u * (1 - u) * (1 - u) / f->duration;
    for (int32_t e = 0; e < f->m->nj; ++e) {
        const skel__joint *j  = &f->m->joint[e];
        const double      *q0 = f->q0 + j->q_offset, *q1 = f->q1 + j->q_offset;
        double            *at = q + j->q_offset, *speed = qd + j->v_offset;
        if (j->type == SKEL_JOINT_BALL) { /* about one axis, so the rate is the angular velocity */
            const v3 way = q_log(q_mul(q_conj(q_of(q0)), q_of(q1)));
            q_to(q_mul(q_of(q0), q_exp(v3_scale(way, s))), at);
            v3_to(v3_scale(way, rate), speed);
            continue;
        }
        for (int32_t c = 0; c < skel__joint_nv(j->type); ++c) {
            at[c]    = q0[c] + s * (q1[c] - q0[c]);
            speed[c] = rate * (q1[c] - q0[c]);
        }
    }
}

/* Angles go the short way round, unless limits say which turn they are of. */
static void match_turns(shot *f) {
    for (int32_t e = 0; e < f->m->nj; ++e) {
        const skel__joint *j = &f->m->joint[e];
        if (j->limits.is_set || (j->type != SKEL_JOINT_HINGE && j->type != SKEL_JOINT_UNIVERSAL))
            continue;
        for (int32_t c = 0; c < skel__joint_nv(j->type); ++c) {
            double *q = f->q1 + j->q_offset + c;
            *q -= SKEL__TURN * nearbyint((*q - f->q0[j->q_offset + c]) / SKEL__TURN);
        }
    }
}

/* s->x of joints at t and a root and centre of mass as given. */
static void place(shot *f, double t, v3 c, quat root, v3 speed, v3 spin) {
    double *at = f->y + f->r.at_pose, *rate = f->y + f->r.at_speed;
    path_at(f, t, f->y, f->y + f->r.at_qd);
    v3_to(c, at), q_to(root, at + 3);
    v3_to(speed, rate), v3_to(spin, rate + 3);
    skel__reduced_unpack(&f->r, f->y, t, SKEL__AFTER, f->s);
}

/* Angular momentum about the centre of mass, which lies at the origin and rests. */
static shape shape_at(shot *f, double t) {
    const skel_model *m    = f->m;
    const v3          none = {0, 0, 0};
    m3                sum  = m3_zero();
    shape             out  = {.h = none};
    place(f, t, none, q_identity(), none, none);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t    i = m->order[k];
        const skel__kin *x = &f->s->x[i];
        const m3         d = m3_skew(x->p), own = m3_conjugate(f->s->r[i], m->body[i].inertia);
        const double     mass = m->body[i].mass;
        sum                   = m3_add(sum, m3_add(own, m3_scale(m3_tmul(d, d), mass)));
        out.h                 = v3_mad(out.h, mass, v3_cross(x->p, x->v));
        out.h                 = v3_add(out.h, m3_mulv(own, f->s->ww[i]));
    }
    out.inverse = m3_symmetric(m3_inverse(sum));
    return out;
}

/* ---- integration ---- */

static double sample_time(const shot *f, int32_t k) {
    return k >= f->samples ? f->duration : (double)k / f->rate;
}

/* From sample to sample, the last interval to the landing; each in `parts` steps. */
static void fill_table(shot *f) {
    for (int32_t k = 0; k < f->steps; ++k) {
        const double from = sample_time(f, k / f->parts), to = sample_time(f, k / f->parts + 1);
        const double h = (to - from) / f->parts, t = from + (k % f->parts) * h;
        for (int e = 0; e < STAGES; ++e)
            f->table[(size_t)k * STAGES + (size_t)e] = shape_at(f, t + f->c[e] * h);
    }
}

static v3 spin_of(const shot *f, const shape *at, v3 momentum) {
    const v3 w = m3_mulv(at->inverse, v3_sub(momentum, at->h));
    if (f->ball == 0) return w;
    return v3_mad(v3_scale(momentum, f->ball / f->inertia), 1.0 - f->ball,
                  m3_mulv(at->inverse, v3_mad(momentum, f->ball - 1.0, at->h)));
}

/* phi at the end of a step from R, and the integral of omega in the axes of R; 0 where the stages
   do not converge: the step is too long. */
static int step(const shot *f, const shape *at, v3 back, double h, v3 *phi, v3 *turned) {
    v3     k[STAGES], w[STAGES]; /* phi', and omega in the axes of R */
    double change = INFINITY, before = INFINITY;
    for (int e = 0; e < STAGES; ++e) k[e] = spin_of(f, &at[e], back);
    for (int n = 0;; ++n) {
        double size = 0;
        before = change, change = 0;
        for (int e = 0; e < STAGES; ++e) {
            v3 p = {0, 0, 0};
            for (int j = 0; j < STAGES; ++j) p = v3_mad(p, h * f->a[e][j], k[j]);
            const quat turn = q_exp(p);
            const v3   own  = spin_of(f, &at[e], q_rotate(q_conj(turn), back));
            const v3   now  = q_jacobian_solve(p, own);
            w[e]            = q_rotate(turn, own);
            change          = fmax(change, v3_norm(v3_sub(now, k[e])));
            size            = fmax(size, v3_norm(now));
            k[e]            = now;
        }
        if (change <= 1e-15 * size || (change >= before && change < 1e-13 * size)) break;
        if (!isfinite(change) || n == STAGE_ITERATIONS || h * size > 3.0) return 0;
    }
    *phi = *turned = (v3){0, 0, 0};
    for (int e = 0; e < STAGES; ++e) {
        *phi    = v3_mad(*phi, h * f->b[e], k[e]);
        *turned = v3_mad(*turned, h * f->b[e], w[e]);
    }
    return 1;
}

typedef struct arrival {
    quat r;
    v3   turned; /* integral of omega, world */
    int  good;
} arrival;

/* `at_sample` (samples + 1, may be NULL): orientations at the samples and the landing. */
static arrival fly(const shot *f, v3 l, quat *at_sample) {
    arrival out = {f->from, {0, 0, 0}, 1};
    for (int32_t k = 0; k < f->steps; ++k) {
        const int32_t sample = k / f->parts;
        const double  h      = (sample_time(f, sample + 1) - sample_time(f, sample)) / f->parts;
        v3            phi, turn;
        if (at_sample && k % f->parts == 0) at_sample[sample] = out.r;
        const v3 back = q_rotate(q_conj(out.r), l);
        if (!step(f, &f->table[(size_t)k * STAGES], back, h, &phi, &turn)) {
            out.good = 0;
            return out;
        }
        out.turned = v3_add(out.turned, q_rotate(out.r, turn));
        out.r      = q_unit(q_mul(out.r, q_exp(phi)));
    }
    if (at_sample) at_sample[f->steps / f->parts] = out.r;
    return out;
}

/* ---- shooting ---- */

/* Unknown: u = L T / inertia, a rotation vector of about the size of the turn. */
static v3 momentum_of(const shot *f, v3 u) {
    return v3_scale(u, f->inertia / f->duration);
}

static int miss(shot *f, v3 u, quat target, v3 *out) {
    const arrival a = fly(f, momentum_of(f, u), NULL);
    if (a.good) *out = q_log(q_mul(q_conj(target), a.r));
    return a.good;
}

static int jacobian(shot *f, v3 u, quat target, m3 *out) {
    const double h = 1e-6 * (1.0 + v3_norm(u));
    m3           t; /* rows: columns of the answer */
    for (int c = 0; c < 3; ++c) {
        const v3 e = {c == 0 ? h : 0, c == 1 ? h : 0, c == 2 ? h : 0};
        v3       up, down;
        if (!miss(f, v3_add(u, e), target, &up) || !miss(f, v3_sub(u, e), target, &down)) return 0;
        t.r[c] = v3_scale(v3_sub(up, down), 0.5 / h);
    }
    *out = m3_transpose(t);
    return 1;
}

/* Levenberg and Marquardt: (J^T J + mu) d = -J^T r. Returns what is missed at *u in the end. */
static double newton(shot *f, quat target, double enough, int most, v3 *u) {
    v3     r;
    double mu = 0;
    if (!miss(f, *u, target, &r)) return INFINITY;
    for (int n = 0; n < most && v3_norm(r) > enough; ++n) {
        m3 j;
        if (!jacobian(f, *u, target, &j)) break;
        ++f->iterations;
        int better = 0;
        for (int trial = 0; trial < 12 && !better; ++trial) {
            const m3 a = m3_add(m3_symmetric(m3_tmul(j, j)), m3_diagonal(mu));
            v3       next, left;
            if (m3_det(a) > 1e-14) {
                next   = v3_sub(*u, m3_mulv(m3_inverse(a), m3_tmulv(j, r)));
                better = miss(f, next, target, &left) && v3_norm(left) < v3_norm(r);
            }
            if (better)
                *u = next, r = left;
            else
                mu = fmax(1e-4, 8 * mu);
        }
        if (!better) break;
        mu = mu < 1e-6 ? 0 : mu / 8;
    }
    return v3_norm(r);
}

/* A family of flights whose member 0 is solved by `u` and whose member 1 is the one we want. */
typedef struct family {
    int  by_inertia; /* a ball becomes the skeleton; else the target turns from `start` on by psi */
    quat start;
    v3   psi;
} family;

static quat enter(shot *f, const family *way, double x) {
    f->ball = way->by_inertia ? 1.0 - x : 0.0;
    return way->by_inertia ? f->to : q_mul(way->start, q_exp(v3_scale(way->psi, x)));
}

/* Follows the solution from member 0 to 1, each guess on the line through the two before. */
static double follow(shot *f, const family *way, v3 *u, double first) {
    double        x = 0, last = 0, part = first, left = INFINITY;
    const int32_t budget = f->iterations + NEWTON_SUM;
    v3            here = *u, before = *u;
    while (x < 1.0) {
        const double next  = fmin(1.0, x + part);
        const double slope = x > last ? (next - x) / (x - last) : 0;
        const v3     guess = v3_mad(here, slope, v3_sub(here, before));
        v3           found = guess;
        left = newton(f, enter(f, way, next), next < 1.0 ? 1e-7 : CLOSE, NEWTON_FEW, &found);
        if (left < 1e-6 && v3_norm(v3_sub(found, guess)) < JUMP) {
            last = x, before = here;
            x = next, here = found;
            part *= 1.5;
        } else if ((part *= 0.5) < 1.0 / SMALLEST_WAY || f->iterations > budget) {
            left = INFINITY;
            break;
        }
    }
    f->ball = 0;
    *u      = here;
    return left;
}

/* ---- branches ---- */

typedef struct branch {
    v3     u;
    double left;   /* [rad] missed */
    double turned; /* [rad] about the momentum */
} branch;

/* The short way from `from` to `to` in the root's axes at take-off, its direction, and its sense
   after `about` (body axes). */
static v3 short_way(const shot *f, quat from, v3 about, v3 *axis) {
    const v3     phi = q_log(q_mul(q_conj(from), f->to));
    const double t = v3_norm(phi), wish = v3_norm(about);
    if (t < NO_TURN) {
        *axis = wish > 0 ? v3_scale(about, 1 / wish) : *axis;
        return phi;
    }
    *axis = v3_scale(phi, 1 / t);
    if (v3_dot(*axis, about) >= 0) return phi;
    *axis = v3_neg(*axis);
    return v3_scale(*axis, SKEL__TURN - t);
}

/* Whether a flight turns as far as a ball would that turns by `want` (world): about its momentum,
   and whole turns in the same sense; limbs that swing may turn it without any momentum. */
static int turns_as(const shot *f, branch *b, v3 want) {
    const v3     l = momentum_of(f, b->u), turned = fly(f, l, NULL).turned;
    const double size = v3_norm(b->u);
    if (size < CLOSE) return 1;
    b->turned          = v3_dot(turned, b->u) / size;
    const double angle = v3_norm(want);
    if (angle > 0.5 * SKEL__TURN && v3_dot(b->u, want) < -0.5 * size * angle) return 0;
    return fabs(b->turned - angle) < 0.5 * SKEL__TURN;
}

/* Tries one number of whole turns by three ways; the first that turns far enough counts. */
static branch try_turns(shot *f, v3 about, v3 axis, int32_t turns) {
    const shape start = shape_at(f, 0);
    const v3    way   = short_way(f, f->from, about, &axis);
    const v3    want  = v3_mad(way, turns * SKEL__TURN, axis);
    branch      best  = {{0, 0, 0}, INFINITY, 0};
    for (int k = 0; k < 3; ++k) {
        family member = {k == 1, f->from, {0, 0, 0}};
        branch b      = {q_rotate(f->from, want), INFINITY, 0};
        if (k == 0) { /* as if it were rigid */
            const v3 l = m3_mulv(m3_inverse(start.inverse), want);
            b.u        = v3_scale(q_rotate(f->from, l), 1 / f->inertia);
            b.left     = newton(f, f->to, CLOSE, NEWTON_MOST, &b.u);
        } else if (k == 1) {
            b.left = follow(f, &member, &b.u, 0.25);
        } else { /* what the joints alone do, then more and more momentum */
            v3            main_axis = axis;
            const arrival still     = fly(f, (v3){0, 0, 0}, NULL);
            if (!still.good) continue;
            member.start = still.r;
            member.psi =
                v3_mad(short_way(f, still.r, about, &main_axis), turns * SKEL__TURN, main_axis);
            b.u    = (v3){0, 0, 0};
            b.left = follow(f, &member, &b.u, fmin(1.0, 0.5 / (1e-3 + v3_norm(member.psi))));
        }
        if (b.left < 1e-6 && turns_as(f, &b, q_rotate(f->from, want))) return b;
    }
    return best;
}

/* ---- setting up ---- */

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
                              "bodies[%d]: '%s' hangs from the world or from a fixed or driven "
                              "body; a flight needs one free skeleton alone",
                              i, m->body[i].name);
        if (root >= 0 && m->body[i].root != root)
            return skel__fail(err, SKEL_E_UNSUPPORTED, i, -1,
                              "bodies[%d]: '%s' does not hang together with '%s'; a flight needs "
                              "one free skeleton alone",
                              i, m->body[i].name, m->body[root].name);
        root = m->body[i].root;
    }
    if (root < 0) return skel__fail(err, SKEL_E_UNSUPPORTED, -1, -1, "bodies: none is free to fly");
    return skel_model_check_dynamics(m, err);
}

static int has_loads(const skel_model *m) {
    if (m->nf > 0 || m->has_frame) return 1;
    for (int32_t k = 0; k < m->nd; ++k) {
        const skel__body *b = &m->body[m->order[k]];
        if (b->force_curve.count || b->torque_curve.count) return 1;
        if (v3_norm(b->force) > 0 || v3_norm(b->torque) > 0) return 1;
    }
    return 0;
}

/* Joint coordinates of an end, its root, and the centre of mass with the joints closed. */
static skel_status read_end(shot *f, const double *poses, const char *name, double *q, quat *root,
                            v3 *c, skel_flight_summary *sum, skel_error *err) {
    const skel_model *m    = f->m;
    double            mass = 0;
    if (skel_state_set_poses(f->s, poses) != SKEL_OK)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "%s: is NULL, or a number is not finite, or a quaternion is zero", name);
    for (int32_t e = 0; e < m->nj; ++e) {
        const skel__joint *j = &m->joint[e];
        const skel__misfit gap =
            skel__joint_measure(j, pose_mul(skel__pose_of(f->s->x, j->a), j->fa),
                                pose_mul(skel__pose_of(f->s->x, j->b), j->fb), q + j->q_offset);
        sum->joint_gap    = fmax(sum->joint_gap, gap.gap);
        sum->misalignment = fmax(sum->misalignment, gap.angle);
    }
    skel__fk(m, q, f->s->x);
    *root = f->s->x[f->r.root[0]].q;
    *c    = (v3){0, 0, 0};
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        mass += m->body[i].mass;
        *c = v3_mad(*c, m->body[i].mass, f->s->x[i].p);
    }
    *c = v3_scale(*c, 1 / mass);
    return SKEL_OK;
}

/* Where whole turns have no direction of their own: the axis of the largest inertia, which is the
   one that a spin keeps to. By power iteration; a ball keeps its x axis. */
static v3 main_axis(const shape *start) {
    const m3 inertia = m3_inverse(start->inverse);
    v3       x       = {1, 1e-3, 1e-6};
    for (int k = 0; k < 200; ++k) {
        x = m3_mulv(inertia, x);
        x = v3_scale(x, 1 / v3_norm(x));
    }
    return x;
}

static skel_status take_table(shot *f, const skel_allocator *allocator, int32_t parts,
                              skel_error *err) {
    const double steps = (double)f->samples * parts;
    skel__free(allocator, f->table);
    f->table = NULL;
    if (steps < MOST_STEPS)
        f->table = skel__alloc(allocator, (size_t)steps * STAGES * sizeof *f->table);
    if (!f->table)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for a flight of %.0f steps",
                          steps);
    f->parts = parts;
    f->steps = (int32_t)steps;
    fill_table(f);
    return SKEL_OK;
}

/* ---- solving ---- */

static branch find(shot *f, const skel_flight_desc *d, int32_t *turns) {
    const shape start = shape_at(f, 0);
    const v3    about = q_rotate(q_conj(f->from), v3_of(d->about));
    const v3    axis  = main_axis(&start);
    if (d->has_turns) {
        *turns = d->turns;
        return try_turns(f, about, axis, d->turns);
    }
    const branch one = try_turns(f, about, axis, 0);
    if (v3_norm(about) > 0) return *turns = 0, one;
    const branch other = try_turns(f, about, axis, -1);
    const int back = other.left < 1e-6 && !(one.left < 1e-6 && v3_norm(one.u) <= v3_norm(other.u));
    *turns         = back ? -1 : 0;
    return back ? other : one;
}

/* Finer and finer until half the step changes nothing any more. */
static skel_status solve(shot *f, const skel_flight_desc *d, const skel_allocator *allocator,
                         skel_flight_summary *sum, branch *out, skel_error *err) {
    const double turns = d->has_turns ? fabs((double)d->turns) : 0.0;
    const double least = fmax(LEAST_STEPS, STEPS_PER_TURN * (turns + 1));
    int32_t      parts = (int32_t)ceil(least / f->samples);
    branch       b     = {{0, 0, 0}, INFINITY, 0};
    for (double change = INFINITY, before;; parts *= 2) {
        skel_status status = take_table(f, allocator, parts, err);
        if (status != SKEL_OK) return status;
        if (!(b.left < 1e-6)) b = find(f, d, &sum->turns);
        if (!(b.left < 1e-6)) {
            if (parts * (double)f->samples < 2 * least) continue; /* steps may have been too long */
            return skel__fail(err, SKEL_E_DIVERGED, -1, -1,
                              "found no take-off that leads from the one pose to the other in %g s "
                              "with %d whole turns",
                              f->duration, sum->turns);
        }
        b.left            = newton(f, f->to, CLOSE, NEWTON_MOST, &b.u);
        const quat coarse = fly(f, momentum_of(f, b.u), NULL).r;
        sum->steps        = f->steps;
        status            = take_table(f, allocator, 2 * parts, err);
        if (status != SKEL_OK) return status;
        const arrival fine = fly(f, momentum_of(f, b.u), NULL);
        before             = change;
        change             = fine.good ? v3_norm(q_log(q_mul(q_conj(coarse), fine.r))) : INFINITY;
        sum->integration_error = change;
        if (change < 0.1 * d->tolerance) break;
        if (change > 0.25 * before && change < d->tolerance) break; /* rounding is all there is */
        if (f->steps > FINEST * least)
            return skel__fail(err, SKEL_E_DIVERGED, -1, -1,
                              "steps of %.3g s still change the landing by %.3g rad",
                              f->duration / f->steps, change);
    }
    b.left     = newton(f, f->to, CLOSE, NEWTON_MOST, &b.u);
    *out       = b;
    sum->steps = f->steps;
    if (b.left <= d->tolerance) return SKEL_OK;
    return skel__fail(err, SKEL_E_DIVERGED, -1, -1,
                      "missed the landing by %.3g rad, more than %.3g", b.left, d->tolerance);
}

/* ---- answer ---- */

static void place_sample(shot *f, double t, quat r, v3 l) {
    const shape at = shape_at(f, t);
    const v3    g  = f->m->gravity;
    const v3    w  = m3_mulv(at.inverse, v3_sub(q_rotate(q_conj(r), l), at.h));
    place(f, t, v3_mad(v3_mad(f->c0, t, f->v0), 0.5 * t * t, g), r, v3_mad(f->v0, t, g), w);
}

static void write_samples(shot *f, v3 l, const quat *at, const double *to, skel_flight *out) {
    const skel_model *m  = f->m;
    const size_t      nb = (size_t)m->nb, nq = (size_t)m->nq;
    for (int32_t k = 0; k < out->n; ++k) {
        const double t = fmin((double)k / f->rate, f->duration);
        double      *x = out->poses + (size_t)k * nb * 7;
        place_sample(f, t, at[k], l);
        skel_state_get_poses(f->s, x);
        skel_state_get_velocities(f->s, out->velocities + (size_t)k * nb * 6);
        for (size_t i = 0; k > 0 && i < nb; ++i) { /* continuous signs */
            double *q = x + 7 * i + 3;
            if (q_dot(q_of(q), q_of(q - 7 * nb)) < 0) q_to(q_neg(q_of(q)), q);
        }
        memcpy(out->q + (size_t)k * nq, f->y, nq * sizeof *out->q);
    }
    place_sample(f, f->duration, at[f->samples], l);
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t    i      = m->order[k];
        const skel__kin *x      = &f->s->x[i];
        const double    *want   = to + 7 * (size_t)i;
        const v3         turn   = q_log(q_mul(q_conj(q_unit(q_of(want + 3))), x->q));
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
                          "the flight of bodies[%d] '%s' is beyond the range of numbers; bring the "
                          "two poses nearer to each other and to the origin, or make the flight "
                          "longer",
                          body, m->body[body].name);
    }

    const skel_flight_summary *sum = &v->sum;
    const double momentum = v3_norm(v3_of(sum->velocity)) + v3_norm(v3_of(sum->angular_momentum));
    if (all_finite(v->q, (size_t)v->n * (size_t)m->nq) &&
        isfinite(momentum + sum->residual_angle + sum->residual_distance))
        return SKEL_OK;
    return skel__fail(err, SKEL_E_DIVERGED, -1, -1,
                      "the flight's joint coordinates or momentum are beyond the range of numbers; "
                      "bring the two poses nearer to each other, or make the flight longer");
}

static skel_status import(const skel_flight_desc *desc, skel_flight_desc *d, skel_error *err) {
    if (!desc) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "desc: is NULL");
    *d = k_desc;
    if (skel__desc_import(d, sizeof *d, sizeof *d, desc) != SKEL_OK)
        return skel__fail(err, SKEL_E_STRUCT_SIZE, -1, -1, "struct_size: is %u, must be %u",
                          desc->struct_size, (unsigned)sizeof *d);
    if (!d->model) return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "model: is NULL");
    if (!(d->duration > 0 && d->sample_rate > 0 && d->duration * d->sample_rate < MOST_SAMPLES))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1,
                          "duration: is %g s at %g samples a second; both must be > 0 and make at "
                          "most %.0f samples",
                          d->duration, d->sample_rate, MOST_SAMPLES);
    if (!(d->tolerance > 0) || !isfinite(v3_norm(v3_of(d->about))))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "tolerance or about: out of range");
    if (d->turns < -1000 || d->turns > 1000)
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "turns: is %d, must be from -1000 to 1000",
                          d->turns);
    return check_model(d->model, err);
}

static size_t work_layout(shot *at, void *base, quat **sample) {
    const size_t nq = (size_t)at->m->nq;
    skel__carver c  = {base, 0};
    at->y           = skel__carve(&c, skel__reduced_room(at->m), sizeof *at->y);
    at->q0          = skel__carve(&c, nq, sizeof *at->q0);
    at->q1          = skel__carve(&c, nq, sizeof *at->q1);
    at->r.root      = skel__carve(&c, (size_t)at->m->nd, sizeof *at->r.root);
    *sample         = skel__carve(&c, (size_t)at->samples + 2, sizeof **sample);
    return c.used;
}

static size_t layout(const skel_flight *at, const skel_model *m, void *base, skel_flight **out) {
    const size_t n = (size_t)at->n, nb = (size_t)m->nb;
    skel__carver c = {base, 0};
    skel_flight *v = skel__carve(&c, 1, sizeof *v);
    skel_flight  w = *at;
    w.poses        = skel__carve(&c, n * nb * 7, sizeof *w.poses);
    w.velocities   = skel__carve(&c, n * nb * 6, sizeof *w.velocities);
    w.q            = skel__carve(&c, n * (size_t)m->nq, sizeof *w.q);
    if (v) *v = w;
    if (out) *out = v;
    return c.used;
}

static skel_status run(shot *f, const skel_flight_desc *d, quat *sample, skel_flight *out,
                       skel_error *err) {
    branch      b = {{0, 0, 0}, INFINITY, 0};
    skel_status status =
        read_end(f, d->take_off, "take_off", f->q0, &f->from, &f->c0, &out->sum, err);
    if (status == SKEL_OK)
        status = read_end(f, d->landing, "landing", f->q1, &f->to, &f->c1, &out->sum, err);
    if (status != SKEL_OK) return status;
    match_turns(f);
    const v3 mean = v3_scale(v3_sub(f->c1, f->c0), 1 / f->duration);
    f->v0         = v3_mad(mean, -0.5 * f->duration, f->m->gravity);
    const m3 i    = m3_inverse(shape_at(f, 0).inverse);
    f->inertia    = m3_trace(i) / 3;
    status        = solve(f, d, &out->allocator, &out->sum, &b, err);
    if (status != SKEL_OK) return status;
    const v3 l = momentum_of(f, b.u);
    fly(f, l, sample);
    out->sum.turned     = b.turned;
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
    *out               = NULL;
    skel_status status = import(desc, &d, err);
    if (status != SKEL_OK) return status;
    skel_flight at = {.allocator = d.model->allocator};
    if (d.allocator) status = skel__allocator_import(&at.allocator, d.allocator);
    if (status != SKEL_OK) return skel__fail(err, status, -1, -1, "allocator: is not valid");
    const double whole = d.duration * d.sample_rate;
    shot         f     = {.m = d.model, .duration = d.duration, .rate = d.sample_rate};
    f.samples          = (int32_t)ceil(whole * (1 - 1e-12)); /* a whole number up to rounding */
    if (f.samples < 1) f.samples = 1;
    at.n   = (int32_t)floor(whole * (1 + 1e-12)) + 1;
    at.sum = (skel_flight_summary){.struct_size = sizeof at.sum, .has_loads = has_loads(d.model)};
    quat        *sample = NULL;
    skel_flight *v      = NULL;
    void        *block  = skel__alloc(&at.allocator, layout(&at, d.model, NULL, NULL));
    void        *work   = skel__alloc(&at.allocator, work_layout(&f, NULL, &sample));
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
