/* SPDX-License-Identifier: BSD-3-Clause */
/* adams and bdf: SUNDIALS CVODE, variable order and step, on joint coordinates (reduced.h) [RUD 5].
   Joints cannot open. The error of a step is measured in lengths and angles, so that neither the
   unit of length nor the number of turns nor the number of bodies changes what the tolerance means:
     angles    tol                     quaternions  tol / 2 (half angles)
     lengths   tol * size              rates        the same per second, or per natural time (from
                                                    gravity, speeds and loads) where that is longer
   all absolute, and the norm is the root of the sum of the squares. Works and impulses, which are
   the receipt, count in it by the energy and momentum of the whole mass at natural speed. Curves
   have corners at their samples: a step ends there and the method begins anew. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/error.h"
#include "integrate/cvode_memory.h"
#include "integrate/cvode_vector.h"
#include "integrate/impact.h"
#include "integrate/reduced.h"
#include "integrate/integrate.h"

#include <cvode/cvode.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include <string.h>

#define SAFETY_ADAMS 0.1 /* of the tolerance, for one step: many steps then come out near the */
#define SAFETY_BDF 0.05  /* caller's (tests/test_cvode.c) */
#define FINEST 1e-14     /* tolerance of a step that double still holds */
#define COARSEST 1e-2
#define UNIT_RATE 1.0  /* [1/s]: a rate wrong by so many tol makes a second wrong by tol */
#define ROUNDING 1e-15 /* of a length or angle: no tolerance is finer */
#define DENSE_MAX 600  /* bdf: longest y with a dense Jacobian; beyond, Krylov */
#define KRYLOV_DIMENSION 30
#define SUNDIALS_OBJECTS 16384 /* bytes: more than twice of what they take (tests/test_cvode.c) */
#define CORRECTOR 0.01 /* of the tolerance: adams with a sloppy corrector is unstable early */
#define CORRECTOR_MAX 10
#define STIFF 50 /* decays of friction in the natural time that make bdf the cheaper one */
#define ADAMS_DECAYS_MAX 1e3  /* and adams, where bdf is not, slower than conserving */
#define BDF_DECAYS_MAX 1e8    /* the differenced Jacobian loses the slow motion in the noise */
#define BLAMED_DECAYS 1e5     /* a failure is friction's */
#define RK4_DECAYS_MAX 2      /* in a step: beyond 2.7 it is unstable */
#define EVENT_STEP 0.1        /* of the natural time: no longer steps while looking for events */
#define EVENT_AIM 0.5         /* widths beyond, where the search for an event aims */
#define EVENT_TIME 2e-14      /* of the time and the step: no event is located more finely */
#define LOOKS 15              /* in a step, for the largest force */
#define DELAY_STEPS 16        /* in a muscle's reaction time */
#define FIRST_STEP 0.5        /* of the natural time and the root of the tolerance */
#define SHORTEST 1e-14        /* of the natural time: a step below is no progress */
#define EVALUATIONS_MAX 1e6   /* in the natural time, or a second: the samples need up to 1.3e5 */
#define EVALUATIONS_STIFF 2e5 /* the same beside friction that is to blame */
#define SAME_TIME 1e-12       /* of the time: samples of two curves this near are one */
#define FAR 1e300             /* a stop that is never reached */

/* Numbers of y that are weighed together: a vector, a quaternion, an angle. */
typedef struct part {
    size_t at, count;
    int32_t body;
    double absolute, relative;
} part;

struct skel__cvode {
    skel_allocator allocator;
    const skel_model *m;
    skel__reduced r;
    skel_state *work;
    int32_t integrator, solver;
    double asked, tolerance; /* the caller's, and that of one step */
    double length, rate;     /* natural units [m], [1/s] */
    part *parts;
    size_t part_count;
    double from, to;         /* the samples of curves around t; infinite where none */
    double t;                /* the end of the last step */
    int is_fresh;            /* begun at t, no step yet */
    int at_knot;             /* t is `to`: begin anew before the next step */
    skel_status failure;     /* of the last evaluation that failed */
    int32_t lost;            /* and its body */
    skel__cvode_counts past; /* counted before the last beginning */
    double evaluations;
    double window_t, window_evaluations; /* where the present natural time began */
    int has_fired;
    int has_own_events; /* of contacts and limits */
    int has_passed;     /* modes are wrong from the end of the last step on */
    int32_t stiff;      /* the body with the stiffest joint, or -1 */
    double decay;       /* of its friction, at the start [1/s] */
    double end_push;    /* of grounds, at the end of the last step */
    double ground_force, ground_force_peak_time; /* the largest so far, and when */
    skel__event_fn event;
    void *event_data;
    int *fired; /* one per event; NULL: no events */
    SUNContext context;
    N_Vector y, aside;
    void *mem;
    SUNNonlinearSolver corrector;
    SUNMatrix jacobian;
    SUNLinearSolver linear;

    /* of SUNDIALS: what it takes for events (behind `fired`), its vectors, and all else */
    skel__sundials_memory event_memory;
    skel__vector_pool *pool;
    skel__sundials_memory memory;
};

/* ---- curves: where a step must end ---- */

static double first_after(const skel_curve *c, double t, double best) {
    uint32_t low = 0, high = c->count;
    if (c->count < 2) return best; /* constant */
    while (low < high) {
        const uint32_t mid = (low + high) / 2;
        if (c->time[mid] > t)
            high = mid;
        else
            low = mid + 1;
    }
    return low < c->count && c->time[low] < best ? c->time[low] : best;
}

static double same_time(const skel__cvode *c, double t) {
    return SAME_TIME * fmax(fabs(t), 1.0 / c->rate);
}

static double next_knot(const skel__cvode *c, double t) {
    const skel_model *m = c->m;
    const double after = t + same_time(c, t);
    double best = INFINITY;
    best = first_after(&m->frame_spin_curve, after, best);
    best = first_after(&m->frame_acceleration_curve, after, best);
    for (int32_t i = 0; i < m->nb; ++i) {
        if (!m->body[i].is_smooth) {
            best = first_after(&m->body[i].force_curve, after, best);
            best = first_after(&m->body[i].torque_curve, after, best);
        }
        if (m->body[i].motion != SKEL_MOTION_DRIVEN) continue;
        best = first_after(&m->body[i].position_curve, after, best);
        best = first_after(&m->body[i].orientation_curve, after, best);
    }
    for (int32_t j = 0; j < m->nj; ++j) {
        if (!m->joint[j].is_smooth) best = first_after(&m->joint[j].motor_curve, after, best);
        best = first_after(&m->joint[j].follow.target, after, best);
        best = first_after(&m->joint[j].follow.weight, after, best);
    }
    return best;
}

/* t, kept off the samples at both ends, and the side on which curves are read there. */
static double within(const skel__cvode *c, double t, skel__side *side) {
    const double gap = same_time(c, t);
    *side = SKEL__AFTER;
    if (t < c->from + gap) return c->from + gap;
    if (t <= c->to - gap) return t;
    *side = SKEL__BEFORE;
    return c->to - gap;
}

/* ---- what CVODE asks for ---- */

/* A failure is for CVODE a reason to try a shorter step. */
static int derive(sunrealtype t, N_Vector y, N_Vector rate, void *data) {
    skel__cvode *c = data;
    skel__side side;
    const double at = within(c, t, &side);
    const skel_status status = skel__reduced_rate(&c->r, N_VGetArrayPointer(y), at, side, c->solver,
                                                  c->work, N_VGetArrayPointer(rate));
    ++c->evaluations;
    if (status == SKEL_OK) return 0;
    c->failure = status;
    c->lost = skel__first_not_finite(c->work);
    return 1;
}

static int weigh(N_Vector y, N_Vector weight, void *data) {
    const skel__cvode *c = data;
    const double *v = N_VGetArrayPointer(y);
    double *w = N_VGetArrayPointer(weight);
    for (size_t k = 0; k < c->part_count; ++k) {
        const part *p = &c->parts[k];
        double n = 0;
        for (size_t i = 0; i < p->count; ++i) n += v[p->at + i] * v[p->at + i];
        const double one = 1.0 / (p->absolute + p->relative * sqrt(n));
        if (!(one > 0)) return -1;
        for (size_t i = 0; i < p->count; ++i) w[p->at + i] = one;
    }
    return 0;
}

static int find_events(sunrealtype t, N_Vector y, sunrealtype *out, void *data) {
    skel__cvode *c = data;
    skel__side side;
    const double at = within(c, t, &side);
    skel__reduced_unpack(&c->r, N_VGetArrayPointer(y), at, side, c->work);
    c->event(c->work, out, c->event_data);
    return 0;
}

static void keep_quiet(int code, const char *module, const char *function, char *text, void *data) {
    (void)code, (void)module, (void)function, (void)text, (void)data;
}

/* ---- natural units and weights ---- */

/* The model's size; a body without joints is as large as its inertia says. */
static double natural_length(const skel_model *m) {
    double square = 0;
    if (m->nj > 0) return m->length_scale;
    for (int32_t k = 0; k < m->nd; ++k) {
        const skel__body *b = &m->body[m->order[k]];
        square = fmax(square, m3_trace(b->inertia) / b->mass);
    }
    return square > 0 ? sqrt(square) : 1.0;
}

/* How fast things turn: from gravity and speeds, and (loads = 1) from the accelerations in s. */
static double natural_rate(const skel_state *s, double length, double loads) {
    const skel_model *m = s->m;
    double square = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        const int32_t i = m->order[k];
        square += v3_dot(s->ww[i], s->ww[i]);
        square += loads * (v3_norm(s->acc[i].w) + v3_norm(s->acc[i].v) / length);
    }
    if (m->nd > 0) square /= m->nd;
    square += v3_norm(m->gravity) / length;
    return square > 0 ? sqrt(square) : UNIT_RATE;
}

/* How fast friction stops the joint [1/s], the parent held: mu by the inertia that it feels. */
static double decay_of(const skel_state *s, int32_t i) {
    const skel__aba *t = &s->aba[i];
    const skel__joint *j = &s->m->joint[s->m->body[i].joint];
    switch (j->type) {
    case SKEL_JOINT_HINGE:
    case SKEL_JOINT_SLIDE: return j->friction * t->dinv[0];
    case SKEL_JOINT_UNIVERSAL: return j->friction * fmax(t->dinv[0], t->dinv[2]);
    case SKEL_JOINT_BALL: return j->friction * fmax(t->di.r[0].x, fmax(t->di.r[1].y, t->di.r[2].z));
    default: return 0;
    }
}

/* The body whose joint friction stops fastest, or -1, and how fast [1/s]. */
static int32_t stiffest(skel_state *s, double *decay) {
    int32_t body = -1;
    *decay = 0;
    if (skel__accelerate(s, s->x, s->t, SKEL__AFTER, SKEL_SOLVER_TREE) != SKEL_OK) return -1;
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const double one = s->m->body[i].joint >= 0 ? decay_of(s, i) : 0;
        if (!(one > *decay)) continue;
        *decay = one;
        body = i;
    }
    return body;
}

int32_t skel__integrator_for_friction(skel_state *s, int32_t integrator, double h) {
    double decay;
    if (integrator != SKEL_INTEGRATOR_ADAMS && integrator != SKEL_INTEGRATOR_RK4) return integrator;
    if (stiffest(s, &decay) < 0) return integrator;
    if (integrator == SKEL_INTEGRATOR_RK4)
        return decay * h > RK4_DECAYS_MAX ? SKEL_INTEGRATOR_CONSERVING : integrator;

    /* Without a dense Jacobian bdf is not the cheaper one. */
    const double decays = decay / fmax(natural_rate(s, natural_length(s->m), 0), UNIT_RATE);
    if (skel__reduced_room(s->m) > DENSE_MAX)
        return decays > ADAMS_DECAYS_MAX ? SKEL_INTEGRATOR_CONSERVING : integrator;
    if (decays > BDF_DECAYS_MAX) return SKEL_INTEGRATOR_CONSERVING;
    return decays > STIFF ? SKEL_INTEGRATOR_BDF : integrator;
}

static void add_part(skel__cvode *c, size_t at, size_t count, int32_t body, double absolute,
                     double relative) {
    if (count > 0) c->parts[c->part_count++] = (part){at, count, body, absolute, relative};
}

/* Works and impulses, in the units in which the receipt is relative: the energy and the momentum of
   the whole mass at natural speed, and its moment about the origin. */
static void weigh_sums(skel__cvode *c, double tol) {
    const skel_model *m = c->m;
    double mass = 0, far = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        mass += m->body[m->order[k]].mass;
        far = fmax(far, v3_norm(c->work->x[m->order[k]].p));
    }

    /* where nothing has mass, all of them stay zero, and any unit serves */
    const double momentum = mass > 0 ? mass * c->length * c->rate : 1.0;
    const double energy = momentum * c->length * c->rate;
    const double moment = momentum * (c->length + far);
    const size_t at = c->r.at_sum;
    for (size_t k = 0; k < 4; ++k) add_part(c, at + k, 1, -1, tol * energy, tol);
    add_part(c, at + 4, 3, -1, tol * momentum, tol);
    add_part(c, at + 7, 3, -1, tol * moment, tol);
    add_part(c, at + 10, 1, -1, tol * energy, tol);
}

/* CVODE divides the sum of squares by the length of y; we do not want that. */
static void weigh_parts(skel__cvode *c) {
    const skel_model *m = c->m;
    const double n = sqrt((double)c->r.n);
    const double tol = c->tolerance / n, turn = tol, far = tol * c->length;
    const double slow = fmin(c->rate, UNIT_RATE), spin = tol * slow, speed = far * slow;
    const double fine = ROUNDING / n;
    c->part_count = 0;
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        const int32_t body = j->reversed ? j->a : j->b;
        const size_t q = (size_t)j->q_offset, v = c->r.at_qd + (size_t)j->v_offset;
        const int slides = j->type == SKEL_JOINT_SLIDE;
        if (j->type == SKEL_JOINT_BALL) {
            add_part(c, q, 4, body, 0.5 * turn, 0);
            add_part(c, v, 3, body, spin, fine);
        } else
            for (size_t e = 0; e < (size_t)skel__joint_nv(j->type); ++e) {
                add_part(c, q + e, 1, body, slides ? far : turn, fine);
                add_part(c, v + e, 1, body, slides ? speed : spin, fine);
            }
    }
    for (int32_t k = 0; k < c->r.nr; ++k) {
        const int32_t body = c->r.root[k];
        const size_t q = c->r.at_pose + 7 * (size_t)k, v = c->r.at_speed + 6 * (size_t)k;
        add_part(c, q, 3, body, far, fine);
        add_part(c, q + 3, 4, body, 0.5 * turn, 0);
        add_part(c, v, 3, body, speed, fine);
        add_part(c, v + 3, 3, body, spin, fine);
    }
    for (int32_t k = 0; k < m->ncand; ++k) /* how far a bristle is bent */
        add_part(c, c->r.at_internal + 3 * (size_t)k, 3, m->candidate[k].i, far, fine);
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        if (j->muscle_index >= 0)
            add_part(c, c->r.at_internal + (size_t)j->muscle_index, 1, j->b, tol * j->muscle.max,
                     fine);
    }
    weigh_sums(c, tol);
}

/* ---- life ---- */

/* How many vectors live at a time. Besides our two, CVODE has seven and the Nordsieck array of its
   highest order (12 or 5), with one column more than the order, and a Newton solver of its own,
   which has one; adams replaces that by a fixed-point solver, which has three. */
#define ADAMS_VECTORS (2 + 7 + 13 + 1 + 3)
#define BDF_VECTORS (2 + 7 + 6 + 1)
#define LINEAR_VECTORS 2 /* CVODE's interface to linear solvers */
#define DENSE_VECTORS 1  /* a column of the Jacobian */
#define KRYLOV_VECTORS (2 + KRYLOV_DIMENSION + 1)

static int32_t vectors_of(int32_t integrator, size_t n) {
    if (integrator == SKEL_INTEGRATOR_ADAMS) return ADAMS_VECTORS;
    return BDF_VECTORS + LINEAR_VECTORS + (n <= DENSE_MAX ? DENSE_VECTORS : KRYLOV_VECTORS);
}

/* Bytes of SUNDIALS: its objects; a dense Jacobian, saved once, and pivots; or the Hessenberg
   matrix of the Krylov solver and its small vectors. Every block is rounded up (SKEL__ALIGN). */
static size_t sundials_bytes(int32_t integrator, size_t n) {
    const size_t number = sizeof(double), krylov = KRYLOV_DIMENSION + 1;
    if (integrator == SKEL_INTEGRATOR_ADAMS) return SUNDIALS_OBJECTS;
    if (n <= DENSE_MAX) return SUNDIALS_OBJECTS + (2 * n * n + 3 * n) * number;
    return SUNDIALS_OBJECTS + krylov * (krylov * number + SKEL__ALIGN) + 6 * krylov * number;
}

/* All memory of c but that of its state and its events: counted (base NULL) or carved. */
static size_t layout(const skel_model *m, int32_t integrator, void *base, skel__cvode **out) {
    const size_t n = skel__reduced_room(m);
    const size_t parts = 5 * (size_t)m->nj + 4 * (size_t)m->nd + (size_t)m->ncand + 7;
    skel__carver c = {base, 0};
    skel__cvode *at = skel__carve(&c, 1, sizeof *at);
    int32_t *root = skel__carve(&c, (size_t)m->nd, sizeof *root);
    part *weighed = skel__carve(&c, parts, sizeof *weighed);

    const size_t bytes = (sundials_bytes(integrator, n) / SKEL__ALIGN + 1) * SKEL__ALIGN;
    void *rest = skel__carve(&c, bytes, 1);
    skel__vector_pool *pool = skel__vector_pool_carve(&c, vectors_of(integrator, n), n);

    if (at) {
        at->m = m;
        at->parts = weighed;
        at->r = skel__reduced_of(m, root);
        at->memory = (skel__sundials_memory){rest, bytes, 0};
        at->pool = pool;
        *out = at;
    }
    return c.used;
}

static int make_corrector(skel__cvode *c) {
    /* adams: fixed-point iteration, without acceleration */
    if (c->integrator == SKEL_INTEGRATOR_ADAMS) {
        c->corrector = SUNNonlinSol_FixedPoint(c->y, 0, c->context);
        return c->corrector && CVodeSetNonlinearSolver(c->mem, c->corrector) == CV_SUCCESS &&
               CVodeSetNonlinConvCoef(c->mem, CORRECTOR) == CV_SUCCESS &&
               CVodeSetMaxNonlinIters(c->mem, CORRECTOR_MAX) == CV_SUCCESS;
    }

    /* bdf: CVODE's own Newton iteration, on a dense Jacobian or without one */
    const sunindextype n = (sunindextype)c->r.n;
    if (n <= DENSE_MAX) {
        c->jacobian = SUNDenseMatrix(n, n, c->context);
        c->linear = c->jacobian ? SUNLinSol_Dense(c->y, c->jacobian, c->context) : NULL;
    } else
        c->linear = SUNLinSol_SPGMR(c->y, SUN_PREC_NONE, KRYLOV_DIMENSION, c->context);

    /* the differenced Jacobian is noise in its last half: a sharper Newton keeps that out of y */
    return c->linear && CVodeSetLinearSolver(c->mem, c->linear, c->jacobian) == CV_SUCCESS &&
           CVodeSetNonlinConvCoef(c->mem, CORRECTOR) == CV_SUCCESS;
}

/* False only if the sizes above are wrong: SUNDIALS then ran out of the memory that it has. */
static int make_integrator(skel__cvode *c) {
    const int method = c->integrator == SKEL_INTEGRATOR_ADAMS ? CV_ADAMS : CV_BDF;
    if (SUNContext_Create(NULL, &c->context) != 0) return 0;

    c->y = skel__vector_take(c->pool, c->context);
    c->aside = skel__vector_take(c->pool, c->context);
    c->mem = CVodeCreate(method, c->context);
    if (!c->mem) return 0;

    return CVodeSetErrHandlerFn(c->mem, keep_quiet, NULL) == CV_SUCCESS &&
           CVodeInit(c->mem, derive, 0, c->y) == CV_SUCCESS &&
           CVodeWFtolerances(c->mem, weigh) == CV_SUCCESS &&
           CVodeSetUserData(c->mem, c) == CV_SUCCESS &&
           CVodeSetMaxHnilWarns(c->mem, -1) == CV_SUCCESS && make_corrector(c);
}

static const skel__run k_event_driven = {.deadline = INFINITY, .is_event_driven = 1};

/* Contacts and limits: the steps end where they begin and end. */
static skel_status watch_contacts(skel__cvode *c) {
    const skel_status status = skel__impact_reserve(c->work);
    if (status != SKEL_OK) return status;
    c->work->run = &k_event_driven;
    c->has_own_events = 1;
    return SKEL_OK;
}

/* The state to work on, and SUNDIALS' objects in the memory that is there already. */
static skel_status reserve(skel__cvode *c) {
    skel_status status = skel_state_create(c->m, &c->work, NULL);
    if (status == SKEL_OK) status = skel__reference_reserve(c->work, c->solver);
    if (status != SKEL_OK) return status;

    skel__sundials_memory *before = skel__sundials_memory_use(&c->memory);
    const int is_made = make_integrator(c);
    skel__sundials_memory_use(before);
    return is_made ? SKEL_OK : SKEL_E_MEMORY;
}

skel_status skel__cvode_create(const skel_model *m, int32_t integrator, int32_t solver,
                               double tolerance, skel__cvode **out, skel_error *err) {
    skel__cvode *c = NULL;
    *out = NULL;
    if (m->nl > 0)
        return skel__fail(err, SKEL_E_UNSUPPORTED, -1, m->loop[0],
                          "adams and bdf work on joint coordinates and cannot close the loop of "
                          "joint '%s'; use conserving",
                          m->joint[m->loop[0]].name);
    if (m->npin > 0)
        return skel__fail(err, SKEL_E_UNSUPPORTED, m->pin[0], -1,
                          "adams and bdf cannot pin body '%s' at times; use conserving",
                          m->body[m->pin[0]].name);
    if (!(tolerance > 0) || !isfinite(tolerance))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "tolerance: is %g, must be > 0", tolerance);
    void *block = skel__alloc(&m->allocator, layout(m, integrator, NULL, NULL));
    if (!block) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the integrator");
    layout(m, integrator, block, &c);
    c->allocator = m->allocator;
    c->integrator = integrator, c->solver = solver;
    c->asked = tolerance;
    c->tolerance = integrator == SKEL_INTEGRATOR_ADAMS ? SAFETY_ADAMS : SAFETY_BDF;
    c->tolerance = fmin(fmax(c->tolerance * tolerance, FINEST), COARSEST);
    c->length = natural_length(m);
    c->rate = 1.0;
    c->lost = -1;
    skel_status status = reserve(c);
    if (status == SKEL_OK && skel__event_count(m) > 0) status = watch_contacts(c);
    if (status != SKEL_OK) {
        skel__cvode_destroy(c);
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the integrator");
    }
    *out = c;
    return SKEL_OK;
}

void skel__cvode_destroy(skel__cvode *c) {
    if (!c) return;
    const skel_allocator allocator = c->allocator;
    if (c->mem) CVodeFree(&c->mem);
    if (c->corrector) SUNNonlinSolFree(c->corrector);
    if (c->linear) SUNLinSolFree(c->linear);
    if (c->jacobian) SUNMatDestroy(c->jacobian);
    if (c->aside) N_VDestroy(c->aside);
    if (c->y) N_VDestroy(c->y);
    if (c->context) SUNContext_Free(&c->context);
    skel_state_destroy(c->work);
    skel__free(&allocator, c->fired);
    skel__free(&allocator, c);
}

/* ---- failure ---- */

/* The body whose share of the error is the largest; -1: none, or works and impulses. Writes over y:
   there is no way on anyhow. */
static int32_t worst_body(skel__cvode *c) {
    double *v = N_VGetArrayPointer(c->aside), *w = N_VGetArrayPointer(c->y);
    double worst = 0;
    int32_t body = -1;
    if (c->lost >= 0) return c->lost;
    if (CVodeGetEstLocalErrors(c->mem, c->aside) != CV_SUCCESS) return -1;
    if (CVodeGetErrWeights(c->mem, c->y) != CV_SUCCESS) return -1;
    for (size_t k = 0; k < c->part_count; ++k)
        for (size_t i = c->parts[k].at; i < c->parts[k].at + c->parts[k].count; ++i) {
            const double share = fabs(v[i] * w[i]);
            if (share <= worst) continue;
            worst = share;
            body = c->parts[k].body;
        }
    return body;
}

static const char *reason_of(const skel__cvode *c, int flag) {
    switch (flag) {
    case CV_TOO_MUCH_ACC: return "numbers of this size cannot hold the tolerance";
    case CV_ERR_FAILURE: return "no step is short enough for the tolerance";
    case CV_CONV_FAILURE: return "the corrector does not converge";
    case CV_RHSFUNC_FAIL:
    case CV_FIRST_RHSFUNC_ERR:
    case CV_REPTD_RHSFUNC_ERR:
    case CV_UNREC_RHSFUNC_ERR:
        return c->failure == SKEL_OK ? "the accelerations are too large to compute with"
                                     : skel_status_text(c->failure);
    case CV_LSETUP_FAIL:
    case CV_LSOLVE_FAIL: return "the linear system of a step is singular";
    case CV_SUCCESS: return "the steps became too short to get on";
    default: return "CVODE refused the step";
    }
}

/* Whether a failure is friction's. */
static int is_too_stiff(const skel__cvode *c) {
    return c->stiff >= 0 && c->decay > BLAMED_DECAYS * fmax(c->rate, UNIT_RATE);
}

static skel_status fail_by_friction(const skel__cvode *c, double h, skel_error *err) {
    const int32_t joint = c->m->body[c->stiff].joint;
    const skel__joint *j = &c->m->joint[joint];
    return skel__fail(
        err, SKEL_E_DIVERGED, c->stiff, joint,
        "t = %.6g s: joint '%s': its friction of %g %s stops it within %.2g s, too fast for %s "
        "(step %.3g s, tolerance %g); use the integrator conserving, or less friction",
        c->t, j->name, j->friction, j->type == SKEL_JOINT_SLIDE ? "N s/m" : "N m s", 1.0 / c->decay,
        c->integrator == SKEL_INTEGRATOR_ADAMS ? "adams" : "bdf", h, c->asked);
}

static skel_status fail(skel__cvode *c, int flag, skel_error *err) {
    const int32_t body = worst_body(c);
    double h = 0;
    CVodeGetCurrentStep(c->mem, &h);
    if (flag == CV_MEM_FAIL)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "t = %.6g s: no memory for a step", c->t);
    if (is_too_stiff(c)) return fail_by_friction(c, h, err);
    return skel__fail(err, SKEL_E_DIVERGED, body, -1,
                      "t = %.6g s: %s '%s': %s (step %.3g s, tolerance %g); use a larger "
                      "tolerance or the integrator conserving",
                      c->t, body < 0 ? "report" : "body",
                      body < 0 ? "works and impulses" : c->m->body[body].name, reason_of(c, flag),
                      h, c->asked);
}

/* The body that turns or accelerates most. */
static int32_t fastest_body(const skel_state *s, double length) {
    const int32_t lost = skel__first_not_finite(s);
    double most = 0;
    int32_t body = -1;
    if (lost >= 0) return lost;
    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const double one =
            v3_norm(s->ww[i]) + sqrt(v3_norm(s->acc[i].w)) + sqrt(v3_norm(s->acc[i].v) / length);
        if (one <= most) continue;
        most = one;
        body = i;
    }
    return body;
}

/* Speeds or accelerations whose squares are no numbers any more. */
static skel_status fail_start(const skel__cvode *c, skel_status status, skel_error *err) {
    const skel_state *s = c->work;
    const int32_t body = fastest_body(s, c->length);
    if (status != SKEL_OK || body < 0)
        return skel__fail(err, status == SKEL_OK ? SKEL_E_DIVERGED : status, body, -1,
                          "t = %.6g s: %s; reduce velocities, gravity, loads or friction", c->t,
                          skel_status_text(status == SKEL_OK ? SKEL_E_DIVERGED : status));
    return skel__fail(
        err, SKEL_E_DIVERGED, body, -1,
        "t = %.6g s: body '%s' turns at %.3g rad/s and accelerates by %.3g m/s^2 and "
        "%.3g rad/s^2, too much to compute with; reduce velocities, gravity, loads or "
        "friction",
        c->t, c->m->body[body].name, v3_norm(s->ww[body]), v3_norm(s->acc[body].v),
        v3_norm(s->acc[body].w));
}

/* ---- running ---- */

static void add_counts(const skel__cvode *c, skel__cvode_counts *sum) {
    long steps = 0, wrong = 0, open = 0;
    CVodeGetNumSteps(c->mem, &steps);
    CVodeGetNumErrTestFails(c->mem, &wrong);
    CVodeGetNumStepSolveFails(c->mem, &open);
    sum->steps += (double)steps;
    sum->rejected += (double)(wrong + open);
}

/* Events must not be stepped over, nor what late muscles will want to know. */
static double longest_step(const skel__cvode *c) {
    double longest = c->event || c->has_own_events ? EVENT_STEP / c->rate : INFINITY;
    for (int32_t k = 0; c->m->nmuscle > 0 && k < c->m->nj; ++k) {
        const skel__joint *j = &c->m->joint[k];
        if (j->muscle_index >= 0 && j->muscle.feedback != 0 && j->muscle.delay > 0)
            longest = fmin(longest, j->muscle.delay / DELAY_STEPS);
    }
    return isfinite(longest) ? longest : 0;
}

static skel_status begin(skel__cvode *c, skel_error *err) {
    add_counts(c, &c->past);
    c->from = c->t;
    c->to = next_knot(c, c->t);
    c->is_fresh = 1;
    c->at_knot = 0;
    CVodeSetInitStep(c->mem, fmin(FIRST_STEP * sqrt(c->tolerance) / c->rate, c->to - c->t));
    CVodeSetMaxStep(c->mem, longest_step(c)); /* 0: no bound */
    const int flag = CVodeReInit(c->mem, c->t, c->y);
    return flag == CV_SUCCESS ? SKEL_OK : fail(c, flag, err);
}

skel_status skel__cvode_start(skel__cvode *c, const skel_state *s, skel_error *err) {
    skel_state_copy(c->work, s);
    c->t = s->t;
    c->failure = SKEL_OK;
    c->lost = -1;
    c->window_t = s->t;
    c->has_fired = 0;
    c->has_passed = 0;
    skel_status status = skel__follow_prepare(c->work);
    if (c->has_own_events) {
        skel__event_states_start(c->work);
        skel__modes_of_laws(c->work);
        skel__impacts(c->work);
    }
    skel__muscle_remember(c->work);
    c->stiff = stiffest(c->work, &c->decay);
    if (status == SKEL_OK)
        status = skel__accelerate(c->work, c->work->x, s->t, SKEL__AFTER, c->solver);
    c->rate = natural_rate(c->work, c->length, 1);
    if (status != SKEL_OK || !isfinite(c->rate)) return fail_start(c, status, err);
    weigh_parts(c);
    skel__reduced_pack(&c->r, c->work, N_VGetArrayPointer(c->y));
    add_counts(c, &c->past);
    c->window_evaluations = c->evaluations;
    CVodeReInit(c->mem, c->t, c->y); /* counted: begin() must not count it again */
    return begin(c, err);
}

/* A driven body whose curve begins or ends in motion passes a jolt through its joints: the speeds
   of y change, not its poses. */
static skel_status pass_jolt(skel__cvode *c) {
    skel_state *s = c->work;
    double *y = N_VGetArrayPointer(c->y), *aside = N_VGetArrayPointer(c->aside);
    const size_t from = c->r.at_qd;
    skel__side side;
    if (!skel__is_velocity_jump(c->m, c->t, same_time(c, c->t))) return SKEL_OK;
    skel__reduced_unpack(&c->r, y, within(c, c->t, &side), SKEL__BEFORE, s);
    s->t = c->t + same_time(c, c->t); /* clear of rounding: it is behind us */
    const skel_status status = skel__apply_velocity_jump(s);
    if (status != SKEL_OK) return status;
    skel__reduced_pack(&c->r, s, aside);
    memcpy(y + from, aside + from, (c->r.n - from) * sizeof *y);
    return SKEL_OK;
}

static skel_status pass_knot(skel__cvode *c, skel_error *err) {
    const skel_status status = pass_jolt(c);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1, "t = %.6g s: %s", c->t, skel_status_text(status));
    return begin(c, err);
}

/* ---- contacts and limits: where they begin and end ----
   Between events each one has a mode, which says whether it acts. After every step the modes are
   held against the state, and the step is cut where the first became wrong. CVODE's own search is
   of no use for this: it looks for changes of sign from the beginning of a step to its end, and so
   never sees an event that begins at zero or, by rounding, on the other side of it. */

/* How many modes are wrong in y at t, and how far each event is beyond the end of its mode. */
static int modes_wrong_at(skel__cvode *c, double t, N_Vector y, double *excess) {
    skel__side side;
    const double at = within(c, t, &side);
    skel__reduced_unpack(&c->r, N_VGetArrayPointer(y), at, side, c->work);
    return skel__modes_wrong(c->work, excess);
}

/* The share of the way from low to high at which the first event is half a width beyond, by the
   straight line; and the largest excess at high of those that were within at low. */
static double guess_event(const skel__cvode *c, const double *low, const double *high,
                          double *largest) {
    double first = 1;
    *largest = 0;
    for (int32_t k = 0; k < skel__event_count(c->m); ++k) {
        if (low[k] > 0 || !(high[k] > 0)) continue;
        *largest = fmax(*largest, high[k]);
        first = fmin(first, (EVENT_AIM - low[k]) / (high[k] - low[k]));
    }
    return first;
}

/* The first time in (low, high] at which a mode is wrong. At `high` one is, and the excess there
   and at `low` is known (in the workspace, behind the values of the events). */
static double first_wrong(skel__cvode *c, double low, double high) {
    const size_t ne = (size_t)skel__event_count(c->m);
    double *at_low = c->work->event_value + ne;
    double *at_high = c->work->event_value + 2 * ne;
    double *now = c->work->event_value + 3 * ne;
    const double finest = EVENT_TIME * (fabs(high) + (high - low));

    for (int n = 0; high - low > finest; ++n) {
        double largest;
        const double share = guess_event(c, at_low, at_high, &largest);
        if (largest > 0 && largest <= 1) break; /* within a width: near enough */

        /* the straight line, or the middle where that is none or comes no nearer */
        double at = low + share * (high - low);
        if (n % 4 == 3 || !(at > low) || !(at < high)) at = 0.5 * (low + high);
        if (CVodeGetDky(c->mem, at, 0, c->aside) != CV_SUCCESS) break;
        const int is_wrong = modes_wrong_at(c, at, c->aside, now) > 0;
        *(is_wrong ? &high : &low) = at;
        memcpy(is_wrong ? at_high : at_low, now, ne * sizeof *now);
    }
    return high;
}

/* Cuts the step that CVODE took from `before` to *t where a mode became wrong. */
static void cut_at_event(skel__cvode *c, double before, double *t) {
    const size_t ne = (size_t)skel__event_count(c->m);
    double *at_low = c->work->event_value + ne;
    double *at_high = c->work->event_value + 2 * ne;
    if (!c->has_own_events) return;
    if (modes_wrong_at(c, *t, c->y, at_high) == 0) return;
    c->has_passed = 1;

    if (CVodeGetDky(c->mem, before, 0, c->aside) != CV_SUCCESS) return;
    modes_wrong_at(c, before, c->aside, at_low);
    const double first = first_wrong(c, before, *t);
    if (!(first < *t) || CVodeGetDky(c->mem, first, 0, c->aside) != CV_SUCCESS) return;
    N_VScale(1.0, c->aside, c->y);
    *t = first;
    c->has_fired = 0; /* what CVODE found is not reached */
}

/* Contacts and limits that began or ended: modes and impacts, and the method begins anew. */
static skel_status pass_events(skel__cvode *c, skel_error *err) {
    double *y = N_VGetArrayPointer(c->y);
    skel__side side;
    const double at = within(c, c->t, &side);
    skel__reduced_unpack(&c->r, y, at, side, c->work);
    skel__modes_pass(c->work);
    skel__reduced_pack(&c->r, c->work, y);
    c->has_passed = 0;
    return begin(c, err);
}

static double ground_push_at(skel__cvode *c, double t, N_Vector y) {
    skel_state *s = c->work;
    skel__side side;
    const double at = within(c, t, &side);
    skel__reduced_unpack(&c->r, N_VGetArrayPointer(y), at, side, s);
    skel__prepare(s, s->x);
    skel__loads(s, s->x, at, side);
    return s->ground_force;
}

/* What is to be known of every step, where something can touch or react: the largest force of the
   grounds, looked for between its ends where they are near the largest so far. */
static void look_around(skel__cvode *c, double h) {
    if (c->m->ncand == 0 && c->m->nmuscle == 0) return;
    const double before = c->end_push;
    c->end_push = ground_push_at(c, c->t, c->y);
    skel__muscle_remember(c->work);
    for (int k = 0; k <= LOOKS; ++k) {
        const double t = c->t - h * k / (LOOKS + 1);
        if (k > 0 && fmax(before, c->end_push) < 0.9 * c->ground_force) break;
        if (k > 0 && CVodeGetDky(c->mem, t, 0, c->aside) != CV_SUCCESS) break;
        const double push = k == 0 ? c->end_push : ground_push_at(c, t, c->aside);
        if (push > c->ground_force) c->ground_force = push, c->ground_force_peak_time = t;
    }
}

double skel__cvode_ground_force(const skel__cvode *c, double *time) {
    *time = c->ground_force_peak_time;
    return c->ground_force;
}

/* Too short, or too much work in the natural time: no progress. */
static int is_stuck(skel__cvode *c, double h) {
    if (c->t - c->window_t > 1.0 / fmax(c->rate, UNIT_RATE)) {
        c->window_t = c->t;
        c->window_evaluations = c->evaluations;
    }
    const double most = is_too_stiff(c) ? EVALUATIONS_STIFF : EVALUATIONS_MAX;
    return !(h >= SHORTEST / c->rate) || c->evaluations - c->window_evaluations > most;
}

/* One step of CVODE, not beyond `stop`. */
static int step_to(skel__cvode *c, double stop, double *t) {
    CVodeSetStopTime(c->mem, stop); /* behind us after an event: refused, and not needed */

    /* In its first step bdf takes memory for its linear solver, of what was reserved for it. */
    skel__sundials_memory *before = skel__sundials_memory_use(&c->memory);
    const int flag = CVode(c->mem, fmin(c->t + 1.0 / c->rate, stop), c->y, t, CV_ONE_STEP);
    skel__sundials_memory_use(before);
    return flag;
}

/* The same. CVODE refuses to go on from an event whose number stays at zero, and takes it for gone
   if the method begins anew there. */
static int step_from_event(skel__cvode *c, double stop, double *t, skel_error *err) {
    const int flag = step_to(c, stop, t);
    if (flag != CV_ILL_INPUT || CVodeGetDky(c->mem, c->t, 0, c->y) != CV_SUCCESS) return flag;
    return begin(c, err) == SKEL_OK ? step_to(c, stop, t) : flag;
}

skel_status skel__cvode_step(skel__cvode *c, double t_stop, skel_error *err) {
    const int had_fired = c->has_fired;
    double t = c->t, h = 0;
    if (!(t_stop > c->t)) return SKEL_OK;

    /* what changes at the beginning of the step */
    if (c->at_knot) {
        const skel_status status = pass_knot(c, err);
        if (status != SKEL_OK) return status;
    }
    if (c->has_passed) {
        const skel_status status = pass_events(c, err);
        if (status != SKEL_OK) return status;
    }

    const double stop = fmin(fmin(t_stop, c->to), FAR), before = c->t;
    c->has_fired = 0;
    const int flag = had_fired ? step_from_event(c, stop, &t, err) : step_to(c, stop, &t);
    if (flag < 0) return fail(c, flag, err);

    c->has_fired = flag == CV_ROOT_RETURN && CVodeGetRootInfo(c->mem, c->fired) == CV_SUCCESS;
    cut_at_event(c, before, &t);
    c->t = t;
    c->is_fresh = 0;
    c->at_knot = t >= c->to;
    CVodeGetLastStep(c->mem, &h);
    look_around(c, t - before);
    if (flag != CV_TSTOP_RETURN && is_stuck(c, h)) return fail(c, CV_SUCCESS, err);
    return SKEL_OK;
}

double skel__cvode_time(const skel__cvode *c) {
    return c->t;
}

/* What rests on something rigid is held by a spring, whose energy counts: where it rests, and the
   inertia that the springs of stops go by. */
static void tell_springs(const skel__cvode *c, skel_state *out) {
    const skel_state *s = c->work;
    const size_t ne = (size_t)skel__event_count(c->m), nj = (size_t)c->m->nj;
    memcpy(out->event_state, s->event_state, ne * sizeof *out->event_state);
    memcpy(out->slack, s->slack, ne * sizeof *out->slack);
    out->has_event_states = 1;

    if (!s->has_follow_inertia) return;
    memcpy(out->follow_inertia, s->follow_inertia, nj * sizeof *out->follow_inertia);
    memcpy(out->stop_load, s->stop_load, nj * sizeof *out->stop_load);
    out->has_follow_inertia = 1;
}

skel_status skel__cvode_at(skel__cvode *c, double t, skel_state *out) {
    N_Vector y = c->is_fresh ? c->y : c->aside;
    skel__side side;
    if (!c->is_fresh && CVodeGetDky(c->mem, t, 0, y) != CV_SUCCESS) return SKEL_E_ARGUMENT;
    within(c, t, &side);
    skel__reduced_unpack(&c->r, N_VGetArrayPointer(y), t, side, out);

    if (c->has_own_events) tell_springs(c, out);
    return SKEL_OK;
}

/* `fired`, and behind it the memory of CVODE, which has three numbers and three integers for each
   event: counted (base NULL) or carved. */
static size_t event_layout(size_t events, void *base, int **fired, skel__sundials_memory *memory) {
    skel__carver c = {base, 0};
    *fired = skel__carve(&c, events, sizeof **fired);

    const size_t from = c.used;
    void *first = skel__carve(&c, events, sizeof(double));
    for (int array = 1; array < 3; ++array) skel__carve(&c, events, sizeof(double));
    for (int array = 0; array < 3; ++array) skel__carve(&c, events, sizeof(int));

    *memory = (skel__sundials_memory){first, c.used - from, 0};
    return c.used;
}

skel_status skel__cvode_set_events(skel__cvode *c, int32_t count, skel__event_fn fn, void *data) {
    if (count < 0 || (count > 0 && !fn)) return SKEL_E_ARGUMENT;

    skel__sundials_memory memory = {0};
    int *fired = NULL;
    if (count > 0) {
        const size_t events = (size_t)count;
        void *block = skel__alloc(&c->allocator, event_layout(events, NULL, &fired, &memory));
        if (!block) return SKEL_E_MEMORY;
        event_layout(events, block, &fired, &memory);
    }

    /* CVODE lets go of the events before, then takes the new ones' memory. */
    CVodeRootInit(c->mem, 0, NULL);
    skel__free(&c->allocator, c->fired);
    c->fired = fired;
    c->event_memory = memory;
    c->event = count > 0 ? fn : NULL;
    c->event_data = data;
    c->has_fired = 0;
    if (count == 0) return SKEL_OK;

    skel__sundials_memory *before = skel__sundials_memory_use(&c->event_memory);
    const int flag = CVodeRootInit(c->mem, count, find_events);
    skel__sundials_memory_use(before);
    if (flag != CV_SUCCESS) return SKEL_E_MEMORY;
    CVodeSetNoInactiveRootWarn(c->mem);
    return SKEL_OK;
}

const int *skel__cvode_fired(const skel__cvode *c) {
    return c->has_fired ? c->fired : NULL;
}

skel__cvode_counts skel__cvode_counted(const skel__cvode *c) {
    skel__cvode_counts sum = c->past;
    add_counts(c, &sum);
    sum.evaluations = c->evaluations;
    CVodeGetLastStep(c->mem, &sum.last_step);
    CVodeGetLastOrder(c->mem, &sum.last_order);
    return sum;
}

skel__cvode_memory skel__cvode_memory_used(const skel__cvode *c) {
    return (skel__cvode_memory){.vectors = c->pool->count,
                                .vectors_used = c->pool->most_used,
                                .bytes = c->memory.size,
                                .bytes_used = c->memory.used};
}
