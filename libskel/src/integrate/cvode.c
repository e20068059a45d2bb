/* SPDX-License-Identifier: BSD-3-Clause */
/* Integrators adams and bdf: SUNDIALS CVODE, with variable order and step, in reduced coordinates
   (reduced.h) [RUD 5]. Joints cannot open. The error of a step is measured in lengths and angles,
   so that the meaning of the tolerance depends neither on the unit of length nor on the numbers of
   turns and bodies:
     angles    tol                     quaternions  tol / 2 (half angles)
     lengths   tol * length scale      velocities   the same per second, or per natural time (from
                                                    gravity, velocities and loads) if that is longer
   All these are absolute, and the norm is the root of the sum of the squares. Works and impulses,
   which the report needs, are relative to the energy and momentum of the whole mass at natural
   speed. The derivatives of curves jump at their breakpoints: a step ends there and the method
   restarts. */
#include "base/alloc.h"
#include "base/carve.h"
#include "base/error.h"
#include "integrate/cvode_memory.h"
#include "integrate/cvode_vector.h"
#include "integrate/impact.h"
#include "integrate/integrate.h"
#include "integrate/reduced.h"
#include "model/joint_kind.h"

#include <cvode/cvode.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunlinsol/sunlinsol_spgmr.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

#include <string.h>

/* Tolerances. One step gets a share of the caller's tolerance, so that the error of many steps is
   about the tolerance (tests/test_cvode.c). */
#define CVODE_STEP_SHARE_ADAMS 0.1
#define CVODE_STEP_SHARE_BDF 0.05
#define CVODE_STEP_TOL_MIN 1e-14 /* double precision cannot satisfy less */
#define CVODE_STEP_TOL_MAX 1e-2
#define CVODE_CORRECTOR_SHARE 0.01 /* of the tolerance: adams is unstable with a loose corrector */
#define CVODE_CORRECTIONS_MAX 10
#define CVODE_ROUNDING 1e-15 /* relative to a length or angle: no tolerance is finer */
#define CVODE_RATE_UNIT 1.0  /* [1/s]: velocities that are wrong by tol are wrong by tol in 1 s */

/* Memory and linear solvers. */
#define CVODE_DENSE_MAX 600 /* bdf: longest y with a dense Jacobian; longer ones use Krylov */
#define CVODE_KRYLOV_DIMENSION 30
#define CVODE_OBJECT_BYTES 16384 /* more than twice the size of SUNDIALS' objects */

/* Joint friction that makes the equations stiff, as decay rate times natural time. */
#define CVODE_DECAYS_ADAMS_MAX 50         /* beyond, bdf with a dense Jacobian is faster */
#define CVODE_DECAYS_ADAMS_KRYLOV_MAX 1e3 /* beyond, conserving is faster, if y is long */
#define CVODE_DECAYS_BDF_MAX 1e8          /* beyond, differences hide the slow motion in rounding */
#define CVODE_DECAYS_BLAMED 1e5           /* beyond, a failure is attributed to friction */
#define RK4_DECAYS_MAX 2                  /* decay rate times step; RK4 is unstable beyond 2.7 */

/* Events. */
#define CVODE_EVENT_STEP_MAX 0.1   /* of the natural time: steps of a model with events */
#define CVODE_EVENT_AIM 0.5        /* [widths] beyond the end of a state: target of the search */
#define CVODE_EVENT_TIME_TOL 2e-14 /* relative to the time and the step */
#define CVODE_PEAK_LOOKS 15        /* per step, for the largest ground force */
#define CVODE_DELAY_STEPS 16       /* per reaction time of a muscle */

/* Steps and progress. */
#define CVODE_FIRST_STEP 0.5            /* of the natural time times sqrt(tol) */
#define CVODE_STEP_MIN 1e-14            /* of the natural time: shorter steps are no progress */
#define CVODE_EVALUATIONS_MAX 1e6       /* per natural time or second; samples need up to 1.3e5 */
#define CVODE_EVALUATIONS_STIFF_MAX 2e5 /* the same if friction makes the equations stiff */
#define CVODE_TIME_TOL 1e-12            /* relative: breakpoints this close are one */
#define CVODE_TIME_FAR 1e300            /* [s] a stop time that is never reached */

/* Numbers of y with a common error weight: a vector, a quaternion, an angle. */
typedef struct component {
    size_t at, count;
    int32_t body;
    double absolute, relative;
} component;

struct skel__cvode {
    skel_allocator allocator;
    const skel_model *m;
    skel__reduced r;
    skel_state *work;
    int32_t integrator, solver;
    double tolerance_asked; /* by the caller */
    double tolerance;       /* of one step */
    double length, rate;    /* natural units [m], [1/s] */
    component *components;
    size_t component_count;

    /* where the integration is */
    double from, to;         /* [s] the breakpoints of curves around t; infinite: there is none */
    double t;                /* [s] the end of the last step */
    int is_fresh;            /* restarted at t, no step since */
    int is_at_breakpoint;    /* t equals `to`: restart before the next step */
    skel_status failure;     /* of the last evaluation that failed */
    int32_t diverged_body;   /* and its body, or -1 */
    skel__cvode_counts past; /* counted before the last restart */
    double evaluations;
    double window_t, window_evaluations; /* at the start of the present natural time */

    /* contacts, limits and forces */
    int watches_contacts;    /* steps end at events of contacts and limits */
    int has_state_change;    /* event states must change before the next step */
    int32_t stiffest_body;   /* the body with the stiffest joint, or -1 */
    double decay;            /* [1/s] rate at which friction stops that joint, at the start */
    double end_ground_force; /* [N] at the end of the last step */
    double ground_force, ground_force_peak_time; /* [N], [s] the largest so far */

    /* events of the caller */
    skel__event_fn event;
    void *event_data;
    int *event_sign; /* one per event; NULL: there are no events */
    int has_event;   /* at the end of the last step */

    SUNContext context;
    N_Vector y, scratch;
    void *mem;
    SUNNonlinearSolver corrector;
    SUNMatrix jacobian;
    SUNLinearSolver linear;

    /* Memory of SUNDIALS: for events (after `event_sign`), for vectors, and for the rest. */
    skel__sundials_memory event_memory;
    skel__vector_pool *pool;
    skel__sundials_memory memory;
};

/* ---- breakpoints of curves ---- */

/* The first sample of the curve after t, or `best` if that is earlier. By bisection. */
static double next_sample(const skel_curve *c, double t, double best) {
    uint32_t low = 0, high = c->count;
    if (c->count < 2) return best; /* a constant */

    while (low < high) {
        const uint32_t mid = (low + high) / 2;
        if (c->time[mid] > t)
            high = mid;
        else
            low = mid + 1;
    }

    return low < c->count && c->time[low] < best ? c->time[low] : best;
}

static double time_tolerance(const skel__cvode *c, double t) {
    return CVODE_TIME_TOL * fmax(fabs(t), 1.0 / c->rate);
}

/* The first breakpoint after t [s]; infinite: there is none. */
static double next_breakpoint(const skel__cvode *c, double t) {
    const skel_model *m = c->m;
    const double after = t + time_tolerance(c, t);
    double best = INFINITY;

    best = next_sample(&m->frame_spin_curve, after, best);
    best = next_sample(&m->frame_acceleration_curve, after, best);
    for (int32_t i = 0; i < m->nb; ++i) {
        if (!m->body[i].is_smooth) {
            best = next_sample(&m->body[i].force_curve, after, best);
            best = next_sample(&m->body[i].torque_curve, after, best);
        }
        if (m->body[i].motion != SKEL_MOTION_DRIVEN) continue;
        best = next_sample(&m->body[i].position_curve, after, best);
        best = next_sample(&m->body[i].orientation_curve, after, best);
    }

    for (int32_t j = 0; j < m->nj; ++j) {
        if (!m->joint[j].is_smooth) best = next_sample(&m->joint[j].motor_curve, after, best);
        best = next_sample(&m->joint[j].follow.target, after, best);
        best = next_sample(&m->joint[j].follow.weight, after, best);
    }
    return best;
}

/* t, kept away from the breakpoints at both ends, and the side on which curves are evaluated. */
static double clamp_to_interval(const skel__cvode *c, double t, skel__side *side) {
    const double gap = time_tolerance(c, t);
    *side = SKEL__AFTER;
    if (t < c->from + gap) return c->from + gap;
    if (t <= c->to - gap) return t;
    *side = SKEL__BEFORE;
    return c->to - gap;
}

/* ---- functions that CVODE calls ---- */

/* dy/dt. After a failure CVODE tries a shorter step. */
static int rate_of(sunrealtype t, N_Vector y, N_Vector rate, void *data) {
    skel__cvode *c = data;
    skel__side side;
    const double at = clamp_to_interval(c, t, &side);
    const skel_status status = skel__reduced_rate(&c->r, N_VGetArrayPointer(y), at, side, c->solver,
                                                  c->work, N_VGetArrayPointer(rate));
    ++c->evaluations;
    if (status == SKEL_OK) return 0;

    c->failure = status;
    c->diverged_body = skel__first_not_finite(c->work);
    return 1;
}

/* Weights of the error norm: 1 / (absolute + relative |component|). */
static int error_weights(N_Vector y, N_Vector weight, void *data) {
    const skel__cvode *c = data;
    const double *v = N_VGetArrayPointer(y);
    double *w = N_VGetArrayPointer(weight);
    for (size_t k = 0; k < c->component_count; ++k) {
        const component *p = &c->components[k];
        double square = 0;
        for (size_t i = 0; i < p->count; ++i) square += v[p->at + i] * v[p->at + i];

        const double value = 1.0 / (p->absolute + p->relative * sqrt(square));
        if (!(value > 0)) return -1;
        for (size_t i = 0; i < p->count; ++i) w[p->at + i] = value;
    }
    return 0;
}

/* Numbers of the caller's events at t. */
static int find_events(sunrealtype t, N_Vector y, sunrealtype *out, void *data) {
    skel__cvode *c = data;
    skel__side side;
    const double at = clamp_to_interval(c, t, &side);
    skel__reduced_unpack(&c->r, N_VGetArrayPointer(y), at, side, c->work);
    c->event(c->work, out, c->event_data);
    return 0;
}

static void ignore_message(int code, const char *module, const char *function, char *text,
                           void *data) {
    (void)code;
    (void)module;
    (void)function;
    (void)text;
    (void)data;
}

/* ---- natural units and weights ---- */

/* The length scale [m]; without joints, the largest radius of gyration. */
static double natural_length(const skel_model *m) {
    double square = 0;
    if (m->nj > 0) return m->length_scale;

    for (int32_t k = 0; k < m->nd; ++k) {
        const skel__body *b = &m->body[m->order[k]];
        square = fmax(square, m3_trace(b->inertia) / b->mass);
    }
    return square > 0 ? sqrt(square) : 1.0;
}

/* Rate at which the bodies turn [1/s], from gravity, from angular velocities and, if loads = 1,
   from the accelerations in s. The natural time is its reciprocal. */
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
    return square > 0 ? sqrt(square) : CVODE_RATE_UNIT;
}

/* Decay rate of the joint of body i by its friction [1/s], with the parent fixed: mu over the
   articulated inertia along its axes. */
static double decay_rate(const skel_state *s, int32_t i) {
    const skel__aba *t = &s->aba[i];
    const skel__joint *j = &s->m->joint[s->m->body[i].joint];
    switch (j->type) {
    case SKEL_JOINT_HINGE:
    case SKEL_JOINT_SLIDE: return j->friction * t->dinv[0];
    case SKEL_JOINT_UNIVERSAL: return j->friction * fmax(t->dinv[0], t->dinv[2]);
    case SKEL_JOINT_FIXED: return 0;
    default: break;
    }

    const double d[3] = {t->di.r[0].x, t->di.r[1].y, t->di.r[2].z};
    double largest = 0;
    for (int k = 0; k < 3 && k < skel__joint_nv(j->type); ++k) largest = fmax(largest, d[k]);
    return j->friction * largest;
}

/* The body whose joint friction has the largest decay rate, or -1; *decay is that rate [1/s]. */
static int32_t find_stiffest(skel_state *s, double *decay) {
    int32_t body = -1;
    *decay = 0;
    if (skel__accelerate(s, s->x, s->t, SKEL__AFTER, SKEL_SOLVER_TREE) != SKEL_OK) return -1;

    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const double rate = s->m->body[i].joint >= 0 ? decay_rate(s, i) : 0;
        if (!(rate > *decay)) continue;
        *decay = rate;
        body = i;
    }
    return body;
}

int32_t skel__integrator_for_friction(skel_state *s, int32_t integrator, double h) {
    double decay;
    if (integrator != SKEL_INTEGRATOR_ADAMS && integrator != SKEL_INTEGRATOR_RK4) return integrator;
    if (find_stiffest(s, &decay) < 0) return integrator;
    if (integrator == SKEL_INTEGRATOR_RK4)
        return decay * h > RK4_DECAYS_MAX ? SKEL_INTEGRATOR_CONSERVING : integrator;

    /* bdf is faster than adams only if its Jacobian is dense. */
    const double decays = decay / fmax(natural_rate(s, natural_length(s->m), 0), CVODE_RATE_UNIT);
    if (skel__reduced_length(s->m) > CVODE_DENSE_MAX)
        return decays > CVODE_DECAYS_ADAMS_KRYLOV_MAX ? SKEL_INTEGRATOR_CONSERVING : integrator;
    if (decays > CVODE_DECAYS_BDF_MAX) return SKEL_INTEGRATOR_CONSERVING;
    return decays > CVODE_DECAYS_ADAMS_MAX ? SKEL_INTEGRATOR_BDF : integrator;
}

/* Adds the numbers [at, at + count) of y, which belong to the body, with their tolerances. */
static void add_component(skel__cvode *c, size_t at, size_t count, int32_t body, double absolute,
                          double relative) {
    if (count > 0)
        c->components[c->component_count++] = (component){at, count, body, absolute, relative};
}

/* Components of works and impulses. They are relative to the energy and the momentum of the whole
   mass at natural speed, and to its moment about the origin. */
static void weight_sums(skel__cvode *c, double tol) {
    const skel_model *m = c->m;
    double mass = 0, far = 0;
    for (int32_t k = 0; k < m->nd; ++k) {
        mass += m->body[m->order[k]].mass;
        far = fmax(far, v3_norm(c->work->x[m->order[k]].p));
    }

    /* Without mass all of them stay zero, and any unit will do. */
    const double momentum = mass > 0 ? mass * c->length * c->rate : 1.0;
    const double energy = momentum * c->length * c->rate;
    const double moment = momentum * (c->length + far);
    const size_t at = c->r.at_sum;
    for (size_t k = 0; k < 4; ++k) add_component(c, at + k, 1, -1, tol * energy, tol);
    add_component(c, at + 4, 3, -1, tol * momentum, tol);
    add_component(c, at + 7, 3, -1, tol * moment, tol);
    add_component(c, at + 10, 1, -1, tol * energy, tol);
}

static void weight_joint(skel__cvode *c, const skel__joint *j, double tol, double rate) {
    const int32_t body = j->reversed ? j->a : j->b;
    const size_t q = (size_t)j->q_offset, v = c->r.at_qd + (size_t)j->v_offset;
    const double angle = tol, length = tol * c->length;
    const double fine = CVODE_ROUNDING / sqrt((double)c->r.n);

    /* A quaternion holds half angles; its three velocities are one vector. */
    if (skel__joint_kinds[j->type].q_kind[0] == SKEL_COORDINATE_QUATERNION) {
        add_component(c, q, 4, body, 0.5 * angle, 0);
        add_component(c, v, 3, body, angle * rate, fine);
        return;
    }
    for (size_t e = 0; e < (size_t)skel__joint_nv(j->type); ++e) {
        const double absolute = skel__is_length(j->type, (int)e) ? length : angle;
        add_component(c, q + e, 1, body, absolute, fine);
        add_component(c, v + e, 1, body, absolute * rate, fine);
    }
}

/* Components of y and their tolerances. CVODE divides the sum of squares by the length n of y,
   which the norm of the head comment does not: all tolerances are divided by sqrt(n). */
static void weight_components(skel__cvode *c) {
    const skel_model *m = c->m;
    const double n = sqrt((double)c->r.n);
    const double tol = c->tolerance / n, angle = tol, length = tol * c->length;
    const double rate = fmin(c->rate, CVODE_RATE_UNIT), fine = CVODE_ROUNDING / n;

    c->component_count = 0;
    for (int32_t k = 0; k < m->nj; ++k) weight_joint(c, &m->joint[k], tol, rate);

    for (int32_t k = 0; k < c->r.nr; ++k) {
        const int32_t body = c->r.root[k];
        const size_t q = c->r.at_pose + 7 * (size_t)k, v = c->r.at_velocity + 6 * (size_t)k;
        add_component(c, q, 3, body, length, fine);
        add_component(c, q + 3, 4, body, 0.5 * angle, 0);
        add_component(c, v, 3, body, length * rate, fine);
        add_component(c, v + 3, 3, body, angle * rate, fine);
    }

    /* Tangential displacements of contacts, and muscle torques. */
    for (int32_t k = 0; k < m->ncand; ++k)
        add_component(c, c->r.at_internal + 3 * (size_t)k, 3, m->candidate[k].i, length, fine);
    for (int32_t k = 0; k < m->nj; ++k) {
        const skel__joint *j = &m->joint[k];
        if (j->muscle_index >= 0)
            add_component(c, c->r.at_internal + (size_t)j->muscle_index, 1, j->b,
                          tol * j->muscle.max, fine);
    }
    weight_sums(c, tol);
}

/* ---- creation ---- */

/* Numbers of vectors that exist at a time: two of this file; seven of CVODE; its Nordsieck array,
   with one column more than the highest order (12 or 5); one of its own Newton solver, which adams
   replaces by a fixed-point solver with three. */
#define CVODE_ADAMS_VECTORS (2 + 7 + 13 + 1 + 3)
#define CVODE_BDF_VECTORS (2 + 7 + 6 + 1)
#define CVODE_LINEAR_VECTORS 2 /* CVODE's interface to linear solvers */
#define CVODE_DENSE_VECTORS 1  /* a column of the Jacobian */
#define CVODE_KRYLOV_VECTORS (2 + CVODE_KRYLOV_DIMENSION + 1)

static int32_t vectors_of(int32_t integrator, size_t n) {
    if (integrator == SKEL_INTEGRATOR_ADAMS) return CVODE_ADAMS_VECTORS;
    return CVODE_BDF_VECTORS + CVODE_LINEAR_VECTORS +
           (n <= CVODE_DENSE_MAX ? CVODE_DENSE_VECTORS : CVODE_KRYLOV_VECTORS);
}

/* Bytes of SUNDIALS: its objects; a dense Jacobian with one copy and pivots, or the Hessenberg
   matrix of the Krylov solver and its small vectors. Every block is rounded up to SKEL__ALIGN. */
static size_t sundials_bytes(int32_t integrator, size_t n) {
    const size_t number = sizeof(double), krylov = CVODE_KRYLOV_DIMENSION + 1;
    if (integrator == SKEL_INTEGRATOR_ADAMS) return CVODE_OBJECT_BYTES;
    if (n <= CVODE_DENSE_MAX) return CVODE_OBJECT_BYTES + (2 * n * n + 3 * n) * number;
    return CVODE_OBJECT_BYTES + krylov * (krylov * number + SKEL__ALIGN) + 6 * krylov * number;
}

/* Counts (base NULL) or carves all memory of the integrator except its state and its events. */
static size_t layout(const skel_model *m, int32_t integrator, void *base, skel__cvode **out) {
    const size_t n = skel__reduced_length(m);
    const size_t count = 5 * (size_t)m->nj + 4 * (size_t)m->nd + (size_t)m->ncand + 7;
    skel__carver c = {base, 0};
    skel__cvode *at = skel__carve(&c, 1, sizeof *at);
    int32_t *root = skel__carve(&c, (size_t)m->nd, sizeof *root);
    component *weighted = skel__carve(&c, count, sizeof *weighted);

    const size_t bytes = (sundials_bytes(integrator, n) / SKEL__ALIGN + 1) * SKEL__ALIGN;
    void *rest = skel__carve(&c, bytes, 1);
    skel__vector_pool *pool = skel__vector_pool_carve(&c, vectors_of(integrator, n), n);

    if (at) {
        at->m = m;
        at->components = weighted;
        at->r = skel__reduced_of(m, root);
        at->memory = (skel__sundials_memory){rest, bytes, 0};
        at->pool = pool;
        *out = at;
    }
    return c.used;
}

static int make_corrector(skel__cvode *c) {
    /* adams: fixed-point iteration without acceleration. */
    if (c->integrator == SKEL_INTEGRATOR_ADAMS) {
        c->corrector = SUNNonlinSol_FixedPoint(c->y, 0, c->context);
        return c->corrector && CVodeSetNonlinearSolver(c->mem, c->corrector) == CV_SUCCESS &&
               CVodeSetNonlinConvCoef(c->mem, CVODE_CORRECTOR_SHARE) == CV_SUCCESS &&
               CVodeSetMaxNonlinIters(c->mem, CVODE_CORRECTIONS_MAX) == CV_SUCCESS;
    }

    /* bdf: CVODE's own Newton iteration, with a dense Jacobian or with Krylov vectors. */
    const sunindextype n = (sunindextype)c->r.n;
    if (n <= CVODE_DENSE_MAX) {
        c->jacobian = SUNDenseMatrix(n, n, c->context);
        c->linear = c->jacobian ? SUNLinSol_Dense(c->y, c->jacobian, c->context) : NULL;
    } else
        c->linear = SUNLinSol_SPGMR(c->y, SUN_PREC_NONE, CVODE_KRYLOV_DIMENSION, c->context);

    /* Half the digits of a Jacobian by differences are noise; a strict Newton tolerance keeps that
       noise out of y. */
    return c->linear && CVodeSetLinearSolver(c->mem, c->linear, c->jacobian) == CV_SUCCESS &&
           CVodeSetNonlinConvCoef(c->mem, CVODE_CORRECTOR_SHARE) == CV_SUCCESS;
}

/* Creates SUNDIALS' objects. Fails only if the sizes above are too small. */
static int make_integrator(skel__cvode *c) {
    const int method = c->integrator == SKEL_INTEGRATOR_ADAMS ? CV_ADAMS : CV_BDF;
    if (SUNContext_Create(NULL, &c->context) != 0) return 0;

    c->y = skel__vector_take(c->pool, c->context);
    c->scratch = skel__vector_take(c->pool, c->context);
    c->mem = CVodeCreate(method, c->context);
    if (!c->mem) return 0;

    return CVodeSetErrHandlerFn(c->mem, ignore_message, NULL) == CV_SUCCESS &&
           CVodeInit(c->mem, rate_of, 0, c->y) == CV_SUCCESS &&
           CVodeWFtolerances(c->mem, error_weights) == CV_SUCCESS &&
           CVodeSetUserData(c->mem, c) == CV_SUCCESS &&
           CVodeSetMaxHnilWarns(c->mem, -1) == CV_SUCCESS && make_corrector(c);
}

static const skel__run k_event_driven = {.deadline = INFINITY, .is_event_driven = 1};

/* Steps end at the times when contacts and limits begin or cease to act. */
static skel_status watch_contacts(skel__cvode *c) {
    const skel_status status = skel__impact_reserve(c->work);
    if (status != SKEL_OK) return status;
    c->work->run = &k_event_driven;
    c->watches_contacts = 1;
    return SKEL_OK;
}

/* Creates the workspace state, and SUNDIALS' objects in the memory that is already allocated. */
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

    /* The restrictions of reduced coordinates. */
    if (m->nl > 0)
        return skel__fail(err, SKEL_E_UNSUPPORTED, -1, m->loop[0],
                          "adams and bdf do not support loops, and joint '%s' closes one; use "
                          "conserving",
                          m->joint[m->loop[0]].name);
    if (m->npin > 0)
        return skel__fail(err, SKEL_E_UNSUPPORTED, m->pin[0], -1,
                          "adams and bdf do not support pins, and body '%s' has pin times; use "
                          "conserving",
                          m->body[m->pin[0]].name);
    if (!(tolerance > 0) || !isfinite(tolerance))
        return skel__fail(err, SKEL_E_ARGUMENT, -1, -1, "tolerance: is %g, must be finite and > 0",
                          tolerance);

    /* One block, then the settings, then the objects in that block. */
    void *block = skel__alloc(&m->allocator, layout(m, integrator, NULL, NULL));
    if (!block) return skel__fail(err, SKEL_E_MEMORY, -1, -1, "no memory for the integrator");
    layout(m, integrator, block, &c);
    c->allocator = m->allocator;
    c->integrator = integrator;
    c->solver = solver;
    c->tolerance_asked = tolerance;
    c->tolerance =
        integrator == SKEL_INTEGRATOR_ADAMS ? CVODE_STEP_SHARE_ADAMS : CVODE_STEP_SHARE_BDF;
    c->tolerance = fmin(fmax(c->tolerance * tolerance, CVODE_STEP_TOL_MIN), CVODE_STEP_TOL_MAX);
    c->length = natural_length(m);
    c->rate = 1.0;
    c->diverged_body = -1;

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
    if (c->scratch) N_VDestroy(c->scratch);
    if (c->y) N_VDestroy(c->y);
    if (c->context) SUNContext_Free(&c->context);

    skel_state_destroy(c->work);
    skel__free(&allocator, c->event_sign);
    skel__free(&allocator, c);
}

/* ---- failure ---- */

/* The body with the largest part of the error; -1: none, or the error of works and impulses.
   Overwrites y, which is no longer needed after a failure. */
static int32_t worst_body(skel__cvode *c) {
    double *v = N_VGetArrayPointer(c->scratch), *w = N_VGetArrayPointer(c->y);
    double worst = 0;
    int32_t body = -1;

    if (c->diverged_body >= 0) return c->diverged_body;
    if (CVodeGetEstLocalErrors(c->mem, c->scratch) != CV_SUCCESS) return -1;
    if (CVodeGetErrWeights(c->mem, c->y) != CV_SUCCESS) return -1;

    for (size_t k = 0; k < c->component_count; ++k)
        for (size_t i = c->components[k].at; i < c->components[k].at + c->components[k].count;
             ++i) {
            const double share = fabs(v[i] * w[i]);
            if (share <= worst) continue;
            worst = share;
            body = c->components[k].body;
        }
    return body;
}

static const char *reason_of(const skel__cvode *c, int flag) {
    switch (flag) {
    case CV_TOO_MUCH_ACC: return "double precision cannot satisfy the tolerance";
    case CV_ERR_FAILURE: return "the error exceeds the tolerance at every step length";
    case CV_CONV_FAILURE: return "the corrector does not converge";
    case CV_RHSFUNC_FAIL:
    case CV_FIRST_RHSFUNC_ERR:
    case CV_REPTD_RHSFUNC_ERR:
    case CV_UNREC_RHSFUNC_ERR:
        return c->failure == SKEL_OK ? "the accelerations overflow" : skel_status_text(c->failure);
    case CV_LSETUP_FAIL:
    case CV_LSOLVE_FAIL: return "the linear system of a step is singular";
    case CV_SUCCESS: return "the steps became too short to make progress";
    default: return "CVODE failed";
    }
}

/* Whether a failure is attributed to joint friction. */
static int is_too_stiff(const skel__cvode *c) {
    return c->stiffest_body >= 0 && c->decay > CVODE_DECAYS_BLAMED * fmax(c->rate, CVODE_RATE_UNIT);
}

static skel_status fail_at_friction(const skel__cvode *c, double h, skel_error *err) {
    const int32_t joint = c->m->body[c->stiffest_body].joint;
    const skel__joint *j = &c->m->joint[joint];
    return skel__fail(
        err, SKEL_E_DIVERGED, c->stiffest_body, joint,
        "t = %.6g s: the friction of joint '%s', %g %s, stops it within %.2g s, which is too fast "
        "for %s (step %.3g s, tolerance %g); use the integrator conserving, or less friction",
        c->t, j->name, j->friction, skel__is_length(j->type, 0) ? "N s/m" : "N m s", 1.0 / c->decay,
        c->integrator == SKEL_INTEGRATOR_ADAMS ? "adams" : "bdf", h, c->tolerance_asked);
}

static skel_status fail(skel__cvode *c, int flag, skel_error *err) {
    const int32_t body = worst_body(c);
    double h = 0;
    CVodeGetCurrentStep(c->mem, &h);

    if (flag == CV_MEM_FAIL)
        return skel__fail(err, SKEL_E_MEMORY, -1, -1, "t = %.6g s: no memory for a step", c->t);
    if (is_too_stiff(c)) return fail_at_friction(c, h, err);
    return skel__fail(err, SKEL_E_DIVERGED, body, -1,
                      "t = %.6g s: %s '%s': %s (step %.3g s, tolerance %g); use a larger "
                      "tolerance or the integrator conserving",
                      c->t, body < 0 ? "report" : "body",
                      body < 0 ? "works and impulses" : c->m->body[body].name, reason_of(c, flag),
                      h, c->tolerance_asked);
}

/* The body with the largest angular velocity and accelerations, or the first that is not finite. */
static int32_t fastest_body(const skel_state *s, double length) {
    const int32_t diverged = skel__first_not_finite(s);
    double most = 0;
    int32_t body = -1;
    if (diverged >= 0) return diverged;

    for (int32_t k = 0; k < s->m->nd; ++k) {
        const int32_t i = s->m->order[k];
        const double rate =
            v3_norm(s->ww[i]) + sqrt(v3_norm(s->acc[i].w)) + sqrt(v3_norm(s->acc[i].v) / length);
        if (rate <= most) continue;
        most = rate;
        body = i;
    }
    return body;
}

/* The start failed because the squares of velocities or accelerations overflow. */
static skel_status fail_start(const skel__cvode *c, skel_status status, skel_error *err) {
    const skel_state *s = c->work;
    const int32_t body = fastest_body(s, c->length);

    if (status != SKEL_OK || body < 0)
        return skel__fail(err, status == SKEL_OK ? SKEL_E_DIVERGED : status, body, -1,
                          "t = %.6g s: %s; reduce velocities, gravity, loads or friction", c->t,
                          skel_status_text(status == SKEL_OK ? SKEL_E_DIVERGED : status));
    return skel__fail(err, SKEL_E_DIVERGED, body, -1,
                      "t = %.6g s: body '%s' turns at %.3g rad/s and accelerates by %.3g m/s^2 "
                      "and %.3g rad/s^2, which overflows; reduce velocities, gravity, loads or "
                      "friction",
                      c->t, c->m->body[body].name, v3_norm(s->ww[body]), v3_norm(s->acc[body].v),
                      v3_norm(s->acc[body].w));
}

/* ---- start and restart ---- */

/* Adds the steps, and those rejected by the error test or the corrector, since the last restart. */
static void add_counts(const skel__cvode *c, skel__cvode_counts *sum) {
    long steps = 0, inaccurate = 0, unsolved = 0;
    CVodeGetNumSteps(c->mem, &steps);
    CVodeGetNumErrTestFails(c->mem, &inaccurate);
    CVodeGetNumStepSolveFails(c->mem, &unsolved);
    sum->steps += (double)steps;
    sum->rejected += (double)(inaccurate + unsolved);
}

/* Longest step [s]; 0: no bound. Steps must not pass over events, nor over the history that muscles
   with a reaction time read. */
static double longest_step(const skel__cvode *c) {
    double longest = c->event || c->watches_contacts ? CVODE_EVENT_STEP_MAX / c->rate : INFINITY;
    for (int32_t k = 0; c->m->nmuscle > 0 && k < c->m->nj; ++k) {
        const skel__joint *j = &c->m->joint[k];
        if (j->muscle_index >= 0 && j->muscle.feedback != 0 && j->muscle.delay > 0)
            longest = fmin(longest, j->muscle.delay / CVODE_DELAY_STEPS);
    }
    return isfinite(longest) ? longest : 0;
}

/* Restarts the method at c->t from y, up to the next breakpoint. */
static skel_status restart(skel__cvode *c, skel_error *err) {
    add_counts(c, &c->past);
    c->from = c->t;
    c->to = next_breakpoint(c, c->t);
    c->is_fresh = 1;
    c->is_at_breakpoint = 0;

    CVodeSetInitStep(c->mem, fmin(CVODE_FIRST_STEP * sqrt(c->tolerance) / c->rate, c->to - c->t));
    CVodeSetMaxStep(c->mem, longest_step(c));
    const int flag = CVodeReInit(c->mem, c->t, c->y);
    return flag == CV_SUCCESS ? SKEL_OK : fail(c, flag, err);
}

skel_status skel__cvode_start(skel__cvode *c, const skel_state *s, skel_error *err) {
    skel_state_copy(c->work, s);
    c->t = s->t;
    c->failure = SKEL_OK;
    c->diverged_body = -1;
    c->window_t = s->t;
    c->has_event = 0;
    c->has_state_change = 0;

    /* Event states, and impacts at the start. */
    skel_status status = skel__follow_prepare(c->work);
    if (c->watches_contacts) {
        skel__event_states_start(c->work);
        skel__event_states_of_force_laws(c->work);
        skel__impacts(c->work);
    }
    skel__muscle_remember(c->work);

    /* Natural units, from the accelerations at the start. */
    c->stiffest_body = find_stiffest(c->work, &c->decay);
    if (status == SKEL_OK)
        status = skel__accelerate(c->work, c->work->x, s->t, SKEL__AFTER, c->solver);
    c->rate = natural_rate(c->work, c->length, 1);
    if (status != SKEL_OK || !isfinite(c->rate)) return fail_start(c, status, err);

    weight_components(c);
    skel__reduced_pack(&c->r, c->work, N_VGetArrayPointer(c->y));
    c->window_evaluations = c->evaluations;

    /* Takes the counts of the last run; restart() then adds zero. */
    add_counts(c, &c->past);
    CVodeReInit(c->mem, c->t, c->y);
    return restart(c, err);
}

/* Applies a velocity jump of a driven body, whose curve begins or ends in motion, to y: velocities
   and sums change, poses do not. */
static skel_status pass_velocity_jump(skel__cvode *c) {
    skel_state *s = c->work;
    double *y = N_VGetArrayPointer(c->y), *scratch = N_VGetArrayPointer(c->scratch);
    const size_t from = c->r.at_qd;
    skel__side side;
    if (!skel__is_velocity_jump(c->m, c->t, time_tolerance(c, c->t))) return SKEL_OK;

    skel__reduced_unpack(&c->r, y, clamp_to_interval(c, c->t, &side), SKEL__BEFORE, s);
    s->t = c->t + time_tolerance(c, c->t); /* certainly after the breakpoint */
    const skel_status status = skel__apply_velocity_jump(s);
    if (status != SKEL_OK) return status;

    skel__reduced_pack(&c->r, s, scratch);
    memcpy(y + from, scratch + from, (c->r.n - from) * sizeof *y);
    return SKEL_OK;
}

static skel_status pass_breakpoint(skel__cvode *c, skel_error *err) {
    const skel_status status = pass_velocity_jump(c);
    if (status != SKEL_OK)
        return skel__fail(err, status, -1, -1, "t = %.6g s: %s", c->t, skel_status_text(status));
    return restart(c, err);
}

/* ---- events of contacts and limits ---- Between events each contact and limit keeps an event
   state, which says whether it acts. After every step the event states are compared with y, and the
   step is cut at the time when the first of them became wrong. CVODE's root finder cannot do this:
   it looks for changes of sign between the ends of a step, and misses an event that starts at zero
   or, by rounding, on the other side of it. */

/* Number of event states that are wrong in y at t; excess: see skel__event_states_wrong. */
static int wrong_states_at(skel__cvode *c, double t, N_Vector y, double *excess) {
    skel__side side;
    const double at = clamp_to_interval(c, t, &side);
    skel__reduced_unpack(&c->r, N_VGetArrayPointer(y), at, side, c->work);
    return skel__event_states_wrong(c->work, excess);
}

/* The share of the interval from low to high at which the first event exceeds its state by half a
   width, by linear interpolation. *largest is the largest excess at high of the events that had
   none at low. */
static double predict_event(const skel__cvode *c, const double *low, const double *high,
                            double *largest) {
    double first = 1;
    *largest = 0;
    for (int32_t k = 0; k < skel__event_count(c->m); ++k) {
        if (low[k] > 0 || !(high[k] > 0)) continue;
        *largest = fmax(*largest, high[k]);
        first = fmin(first, (CVODE_EVENT_AIM - low[k]) / (high[k] - low[k]));
    }
    return first;
}

/* The first time in (low, high] at which an event state is wrong. One is wrong at `high`. The
   excesses at both ends are in the workspace, after the values of the events. */
static double first_state_change(skel__cvode *c, double low, double high) {
    const size_t ne = (size_t)skel__event_count(c->m);
    double *at_low = c->work->event_value + ne;
    double *at_high = c->work->event_value + 2 * ne;
    double *now = c->work->event_value + 3 * ne;
    const double finest = CVODE_EVENT_TIME_TOL * (fabs(high) + (high - low));

    for (int n = 0; high - low > finest; ++n) {
        double largest;
        const double share = predict_event(c, at_low, at_high, &largest);
        if (largest > 0 && largest <= 1) break; /* within one width */

        /* The interpolated time; the middle in every fourth round, and if it lies outside. */
        double at = low + share * (high - low);
        if (n % 4 == 3 || !(at > low) || !(at < high)) at = 0.5 * (low + high);
        if (CVodeGetDky(c->mem, at, 0, c->scratch) != CV_SUCCESS) break;

        const int is_wrong = wrong_states_at(c, at, c->scratch, now) > 0;
        *(is_wrong ? &high : &low) = at;
        memcpy(is_wrong ? at_high : at_low, now, ne * sizeof *now);
    }
    return high;
}

/* Cuts the step that CVODE took from `before` to *t at the time when an event state became wrong.
   */
static void cut_at_event(skel__cvode *c, double before, double *t) {
    const size_t ne = (size_t)skel__event_count(c->m);
    double *at_low = c->work->event_value + ne;
    double *at_high = c->work->event_value + 2 * ne;

    if (!c->watches_contacts) return;
    if (wrong_states_at(c, *t, c->y, at_high) == 0) return;
    c->has_state_change = 1;

    if (CVodeGetDky(c->mem, before, 0, c->scratch) != CV_SUCCESS) return;
    wrong_states_at(c, before, c->scratch, at_low);
    const double first = first_state_change(c, before, *t);
    if (!(first < *t) || CVodeGetDky(c->mem, first, 0, c->scratch) != CV_SUCCESS) return;

    N_VScale(1.0, c->scratch, c->y);
    *t = first;
    c->has_event = 0; /* the caller's event lies after the cut */
}

/* Changes event states and applies impacts, and restarts the method. */
static skel_status pass_events(skel__cvode *c, skel_error *err) {
    double *y = N_VGetArrayPointer(c->y);
    skel__side side;
    const double at = clamp_to_interval(c, c->t, &side);
    skel__reduced_unpack(&c->r, y, at, side, c->work);
    skel__event_states_update(c->work);
    skel__reduced_pack(&c->r, c->work, y);
    c->has_state_change = 0;
    return restart(c, err);
}

/* Sum of the normal forces of all grounds [N] in y at t. */
static double ground_force_at(skel__cvode *c, double t, N_Vector y) {
    skel_state *s = c->work;
    skel__side side;
    const double at = clamp_to_interval(c, t, &side);
    skel__reduced_unpack(&c->r, N_VGetArrayPointer(y), at, side, s);
    skel__prepare(s, s->x);
    skel__loads(s, s->x, at, side);
    return s->ground_force;
}

/* Observes a step of length h: the history of muscles, and the largest ground force. The force is
   sampled between the ends of the step if it is near the largest so far at one of them. */
static void observe_step(skel__cvode *c, double h) {
    if (c->m->ncand == 0 && c->m->nmuscle == 0) return;
    const double before = c->end_ground_force;
    c->end_ground_force = ground_force_at(c, c->t, c->y);
    skel__muscle_remember(c->work);

    for (int k = 0; k <= CVODE_PEAK_LOOKS; ++k) {
        const double t = c->t - h * k / (CVODE_PEAK_LOOKS + 1);
        if (k > 0 && fmax(before, c->end_ground_force) < 0.9 * c->ground_force) break;
        if (k > 0 && CVodeGetDky(c->mem, t, 0, c->scratch) != CV_SUCCESS) break;

        const double force = k == 0 ? c->end_ground_force : ground_force_at(c, t, c->scratch);
        if (!(force > c->ground_force)) continue;
        c->ground_force = force;
        c->ground_force_peak_time = t;
    }
}

double skel__cvode_ground_force(const skel__cvode *c, double *time) {
    *time = c->ground_force_peak_time;
    return c->ground_force;
}

/* ---- steps ---- */

/* Whether the integration makes no progress: the step is too short, or there were too many
   evaluations within the natural time. */
static int is_stuck(skel__cvode *c, double h) {
    if (c->t - c->window_t > 1.0 / fmax(c->rate, CVODE_RATE_UNIT)) {
        c->window_t = c->t;
        c->window_evaluations = c->evaluations;
    }
    const double most = is_too_stiff(c) ? CVODE_EVALUATIONS_STIFF_MAX : CVODE_EVALUATIONS_MAX;
    return !(h >= CVODE_STEP_MIN / c->rate) || c->evaluations - c->window_evaluations > most;
}

/* One step of CVODE, not beyond `stop`. Returns CVODE's flag. */
static int step_to(skel__cvode *c, double stop, double *t) {
    CVodeSetStopTime(c->mem, stop); /* refused if it is in the past, after an event; no harm */

    /* In its first step bdf allocates memory for its linear solver, from the reserved block. */
    skel__sundials_memory *before = skel__sundials_memory_use(&c->memory);
    const int flag = CVode(c->mem, fmin(c->t + 1.0 / c->rate, stop), c->y, t, CV_ONE_STEP);
    skel__sundials_memory_use(before);
    return flag;
}

/* The same from an event of the caller. CVODE refuses to continue if the number of the event stays
   at zero; after a restart it ignores that event. */
static int step_from_event(skel__cvode *c, double stop, double *t, skel_error *err) {
    const int flag = step_to(c, stop, t);
    if (flag != CV_ILL_INPUT || CVodeGetDky(c->mem, c->t, 0, c->y) != CV_SUCCESS) return flag;
    return restart(c, err) == SKEL_OK ? step_to(c, stop, t) : flag;
}

skel_status skel__cvode_step(skel__cvode *c, double t_stop, skel_error *err) {
    const int had_event = c->has_event;
    double t = c->t, h = 0;
    if (!(t_stop > c->t)) return SKEL_OK;

    /* Changes at the start of the step. */
    if (c->is_at_breakpoint) {
        const skel_status status = pass_breakpoint(c, err);
        if (status != SKEL_OK) return status;
    }
    if (c->has_state_change) {
        const skel_status status = pass_events(c, err);
        if (status != SKEL_OK) return status;
    }

    const double stop = fmin(fmin(t_stop, c->to), CVODE_TIME_FAR), before = c->t;
    c->has_event = 0;
    const int flag = had_event ? step_from_event(c, stop, &t, err) : step_to(c, stop, &t);
    if (flag < 0) return fail(c, flag, err);

    c->has_event = flag == CV_ROOT_RETURN && CVodeGetRootInfo(c->mem, c->event_sign) == CV_SUCCESS;
    cut_at_event(c, before, &t);
    c->t = t;
    c->is_fresh = 0;
    c->is_at_breakpoint = t >= c->to;

    CVodeGetLastStep(c->mem, &h);
    observe_step(c, t - before);
    if (flag != CV_TSTOP_RETURN && is_stuck(c, h)) return fail(c, CV_SUCCESS, err);
    return SKEL_OK;
}

double skel__cvode_time(const skel__cvode *c) {
    return c->t;
}

/* Copies event states, slacks and the inertias of stops, from which the energy of the springs of
   resting contacts and stops is computed. */
static void copy_event_states(const skel__cvode *c, skel_state *out) {
    const skel_state *s = c->work;
    const size_t ne = (size_t)skel__event_count(c->m), nj = (size_t)c->m->nj;
    memcpy(out->event_state, s->event_state, ne * sizeof *out->event_state);
    memcpy(out->slack, s->slack, ne * sizeof *out->slack);
    out->has_event_states = 1;

    if (!s->has_follow_inertia) return;
    memcpy(out->follow_inertia, s->follow_inertia, nj * sizeof *out->follow_inertia);
    memcpy(out->follow_mass, s->follow_mass, nj * sizeof *out->follow_mass);
    memcpy(out->stop_load, s->stop_load, nj * sizeof *out->stop_load);
    out->has_follow_inertia = 1;
}

skel_status skel__cvode_at(skel__cvode *c, double t, skel_state *out) {
    N_Vector y = c->is_fresh ? c->y : c->scratch;
    skel__side side;
    if (!c->is_fresh && CVodeGetDky(c->mem, t, 0, y) != CV_SUCCESS) return SKEL_E_ARGUMENT;
    clamp_to_interval(c, t, &side);
    skel__reduced_unpack(&c->r, N_VGetArrayPointer(y), t, side, out);

    if (c->watches_contacts) copy_event_states(c, out);
    return SKEL_OK;
}

/* Counts (base NULL) or carves `event_sign`, followed by the memory of CVODE, which needs three
   doubles and three integers per event. */
static size_t event_layout(size_t events, void *base, int **event_sign,
                           skel__sundials_memory *memory) {
    skel__carver c = {base, 0};
    *event_sign = skel__carve(&c, events, sizeof **event_sign);

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
    int *event_sign = NULL;
    if (count > 0) {
        const size_t events = (size_t)count;
        void *block = skel__alloc(&c->allocator, event_layout(events, NULL, &event_sign, &memory));
        if (!block) return SKEL_E_MEMORY;
        event_layout(events, block, &event_sign, &memory);
    }

    /* CVODE forgets the events before, then gets the memory of the new ones. */
    CVodeRootInit(c->mem, 0, NULL);
    skel__free(&c->allocator, c->event_sign);
    c->event_sign = event_sign;
    c->event_memory = memory;
    c->event = count > 0 ? fn : NULL;
    c->event_data = data;
    c->has_event = 0;
    if (count == 0) return SKEL_OK;

    skel__sundials_memory *before = skel__sundials_memory_use(&c->event_memory);
    const int flag = CVodeRootInit(c->mem, count, find_events);
    skel__sundials_memory_use(before);
    if (flag != CV_SUCCESS) return SKEL_E_MEMORY;
    CVodeSetNoInactiveRootWarn(c->mem);
    return SKEL_OK;
}

const int *skel__cvode_fired(const skel__cvode *c) {
    return c->has_event ? c->event_sign : NULL;
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
