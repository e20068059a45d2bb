/* SPDX-License-Identifier: BSD-3-Clause */
/* Force fields, and the apparent forces of a rotating and accelerating frame of reference
   [RUD 3.13]. Fields of acceleration act at the centre of mass and exert no torque. */
#include "dynamics/dynamics.h"

/* ---- air ---- */

/* S(u) = A |u| and dS/du, with A the projected area of the body along u; body axes. The drag is
   -rho/2 C S(u) u, and its derivative -rho/2 C (S + u dS/du^T). */
typedef struct projection {
    double s;
    v3 slope;
} projection;

static v3 direction(v3 a) {
    const double n = v3_norm(a);
    return n > 0 ? v3_scale(a, 1.0 / n) : a;
}

static double sign_of(double a) {
    return a < 0 ? -1.0 : 1.0;
}

/* Radius of a sphere. A body without a shape counts as the homogeneous sphere of the same mass and
   the same trace of the inertia, 3 (2/5) m r^2. */
static double radius_of(const skel__body *b) {
    const m3 *j = &b->inertia;
    if (b->shape == SKEL_SHAPE_SPHERE) return b->size[0];
    return sqrt(m3_trace(*j) / (1.2 * b->mass));
}

static projection box_projection(const double *size, v3 u) {
    const v3 a = {size[1] * size[2], size[0] * size[2], size[0] * size[1]};
    return (projection){a.x * fabs(u.x) + a.y * fabs(u.y) + a.z * fabs(u.z),
                        {a.x * sign_of(u.x), a.y * sign_of(u.y), a.z * sign_of(u.z)}};
}

/* Cylinder or capsule along z, with the angle phi between u and z: the side has the projected area
   2 r l sin(phi); the end has pi r^2 cos(phi) if it is flat, and pi r^2 if it is round. */
static projection long_projection(double l, double r, int is_round, v3 u) {
    const v3 across = {u.x, u.y, 0}, along = {0, 0, u.z};
    const v3 end = is_round ? u : along;
    const double side = 2.0 * r * l, cap = 0.5 * SKEL__TURN * r * r;
    return (projection){side * v3_norm(across) + cap * v3_norm(end),
                        v3_mad(v3_scale(direction(across), side), cap, direction(end))};
}

static projection projection_of(const skel__body *b, v3 u) {
    switch (b->shape) {
    case SKEL_SHAPE_BOX: return box_projection(b->size, u);
    case SKEL_SHAPE_CYLINDER:
    case SKEL_SHAPE_ROD: return long_projection(b->size[0], b->size[1], 0, u);
    case SKEL_SHAPE_CAPSULE: return long_projection(b->size[0], b->size[1], 1, u);
    default: return long_projection(0, radius_of(b), 1, u);
    }
}

/* Resistance K [m^5] to a rotation about each axis of the body: torque -rho/2 C K |w| w. The pressure
   rho/2 C (n.u)^2, u = w x r, acts on surfaces that move forward:
   - Box about z: on the faces perpendicular to x, a strip of width z at the lever s has the torque
     z s (w s)^2 ds; the sum is z y^4 / 32. On the faces perpendicular to y: the same with x.
   - Side of a cylinder about x: strips of width 2 r along its length, 2 r l^4 / 32. Its flat ends:
     the integral of |y|^3 over a disc, 8 r^5 / 15.
   - Round caps: the pressure acts through their own centres, hence the drag of a moving cap at its
     lever, pi r^2 (l/2)^2 (l/2).
   A surface of revolution has no resistance about its axis, and a sphere has none at all. Skin
   friction, about a hundredth of this, is neglected, and so is the influence of the rotation on the
   drag of a moving body. */
static v3 turn_resistance(const skel__body *b) {
    const double x = b->size[0], y = b->size[1], z = b->size[2];
    const double x4 = x * x * x * x, y4 = y * y * y * y, z4 = z * z * z * z;
    double k = 0;

    /* If the shape is not a box, x is its length and y its radius. */
    switch (b->shape) {
    case SKEL_SHAPE_BOX: return (v3){x * (y4 + z4) / 32, y * (x4 + z4) / 32, z * (x4 + y4) / 32};
    case SKEL_SHAPE_CYLINDER:
    case SKEL_SHAPE_ROD: k = y * x4 / 16 + 8 * y4 * y / 15; break;
    case SKEL_SHAPE_CAPSULE: k = y * x4 / 16 + 0.5 * SKEL__TURN * y * y * x * x * x / 8; break;
    default: break;
    }
    return (v3){k, k, 0};
}

/* Torque on a body with the angular velocity w, body axes. A box has a resistance for each axis;
   a cylinder or capsule resists the part of w perpendicular to its axis. Both dissipate energy for
   every w. */
static v3 turn_drag(const skel__body *b, double c, v3 w) {
    const v3 k = turn_resistance(b);
    if (b->shape == SKEL_SHAPE_BOX)
        return (v3){-c * k.x * fabs(w.x) * w.x, -c * k.y * fabs(w.y) * w.y,
                    -c * k.z * fabs(w.z) * w.z};

    const v3 across = {w.x, w.y, 0};
    return v3_scale(across, -c * k.x * v3_norm(across));
}

static m3 turn_drag_derivative(const skel__body *b, double c, v3 w) {
    const v3 k = v3_scale(turn_resistance(b), c);
    const v3 across = {w.x, w.y, 0};
    if (b->shape == SKEL_SHAPE_BOX)
        return (m3){{{-2 * k.x * fabs(w.x), 0, 0},
                     {0, -2 * k.y * fabs(w.y), 0},
                     {0, 0, -2 * k.z * fabs(w.z)}}};

    const double n = -k.x * v3_norm(across);
    const m3 d = {{{n, 0, 0}, {0, n, 0}, {0, 0, 0}}};
    return m3_sub_outer(d, k.x, across, direction(across));
}

static skel__wrench drag(const skel_field_desc *f, const skel__body *b, m3 r, const skel__kin *x) {
    const double c = 0.5 * f->density * f->coefficient;
    const v3 u = v3_sub(x->v, v3_of(f->vector));
    return (skel__wrench){v3_scale(u, -c * projection_of(b, m3_tmulv(r, u)).s),
                          m3_mulv(r, turn_drag(b, c, x->w))};
}

/* ---- fields of acceleration ---- */

/* Vortex: strength 2 x / (1 + x^2) around the axis, with x = distance / scale, as k axis x arm. */
typedef struct whirl {
    v3 axis, arm;
    double k, unit2; /* dk/d(arm^2) = -k unit2 */
} whirl;

static whirl whirl_at(const skel_field_desc *f, v3 p) {
    const v3 axis = v3_of(f->axis), from = v3_sub(p, v3_of(f->point));
    const v3 arm = v3_mad(from, -v3_dot(axis, from), axis);
    const double unit = f->scale > 0 ? 1.0 / f->scale : 0;
    const double over = 1.0 / (1.0 + v3_dot(arm, arm) * unit * unit);
    return (whirl){axis, arm, f->strength * 2.0 * unit * over, unit * unit * over};
}

static v3 vortex(const skel_field_desc *f, v3 p) {
    const whirl w = whirl_at(f, p);
    return v3_scale(v3_cross(w.axis, w.arm), w.k);
}

static m3 vortex_derivative(const skel_field_desc *f, v3 p) {
    const whirl w = whirl_at(f, p);
    return m3_sub_outer(m3_scale(m3_skew(w.axis), w.k), 2.0 * w.k * w.unit2,
                        v3_cross(w.axis, w.arm), w.arm);
}

#define FIELD_WAVES 32
#define FIELD_LENGTH_SQUARED_MIN 1e-30 /* keeps the length of a direction above 0 */

/* splitmix64 (Vigna). Integers give the same numbers on every machine. */
static uint64_t next_bits(uint64_t *state) {
    uint64_t z = *state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* Three numbers of 21 bits each, times unit. */
static v3 lanes(uint64_t bits, double unit) {
    const uint64_t mask = 0x1FFFFF;
    return (v3){(double)(int32_t)(bits & mask) * unit, (double)(int32_t)(bits >> 21 & mask) * unit,
                (double)(int32_t)(bits >> 42 & mask) * unit};
}

/* Three numbers 0 <= u < 1. */
static v3 next_three(uint64_t *state) {
    return lanes(next_bits(state), 1.0 / 2097152.0);
}

/* A direction, not of unit length. Sums of three uniformly distributed numbers are close enough to a
   normal distribution for the directions to be isotropic. 19 bits each, so that a sum does not
   overflow into the next number. */
static v3 next_direction(uint64_t *state) {
    const uint64_t mask = 0x7FFFFu * (1 + (UINT64_C(1) << 21) + (UINT64_C(1) << 42));
    uint64_t bits = 0;
    for (int k = 0; k < 3; ++k) bits += next_bits(state) & mask;
    return v3_sub(lanes(bits, 1.0 / 524288.0), (v3){1.5, 1.5, 1.5});
}

/* Turbulence is a sum of waves a cos(k.p + phase + rate t) with a perpendicular to k, hence without
   divergence. |k| is distributed over the octave around 2 pi / scale, the rates over 1/2 to 3/2 of
   2 pi / period. Every wave has the mean square |a|^2 / 2; their sum is strength^2. The waves are
   drawn again in every call, which takes a microsecond, so that the model needs no table. */
typedef struct waves {
    uint64_t state;
    double size, lower, turns; /* amplitude; smallest |k|; periods since time 0 */
} waves;

typedef struct wave {
    v3 to, across; /* directions of k and a, not of unit length */
    double k, a, phase;
} wave;

static waves waves_of(const skel_field_desc *f, double t) {
    uint64_t seed = f->seed;
    return (waves){next_bits(&seed), /* so that similar seeds give unrelated waves */
                   f->strength * sqrt(2.0 / FIELD_WAVES),
                   f->scale > 0 ? sqrt(0.5) * SKEL__TURN / f->scale : 0,
                   f->period > 0 ? t / f->period : 0};
}

static wave next_wave(waves *w, v3 p) {
    const v3 to = next_direction(&w->state), across = v3_cross(to, next_direction(&w->state));
    const v3 u = next_three(&w->state);
    const double k = w->lower * (1.0 + u.x) / sqrt(v3_dot(to, to) + FIELD_LENGTH_SQUARED_MIN);
    const double a = w->size / sqrt(v3_dot(across, across) + FIELD_LENGTH_SQUARED_MIN);
    const double phase = SKEL__TURN * (u.y + w->turns * (0.5 + u.z));
    return (wave){to, across, k, a, k * v3_dot(to, p) + phase};
}

static v3 turbulence(const skel_field_desc *f, v3 p, double t) {
    waves all = waves_of(f, t);
    v3 sum = {0, 0, 0};
    for (int n = 0; n < FIELD_WAVES; ++n) {
        const wave w = next_wave(&all, p);
        sum = v3_mad(sum, w.a * cos(w.phase), w.across);
    }
    return sum;
}

static m3 turbulence_derivative(const skel_field_desc *f, v3 p, double t) {
    waves all = waves_of(f, t);
    m3 sum = m3_zero();
    for (int n = 0; n < FIELD_WAVES; ++n) {
        const wave w = next_wave(&all, p);
        sum = m3_sub_outer(sum, w.a * w.k * sin(w.phase), w.across, w.to);
    }
    return sum;
}

/* ---- moving frame of reference ---- */

/* Angular velocity O of the frame, its rate O', and the acceleration a0 of its origin, frame axes. */
typedef struct frame {
    v3 spin, rate, drift;
} frame;

static frame frame_at(const skel_model *m, double t, skel__side side) {
    double rate[3] = {0, 0, 0};
    skel__curve_add_slope(&m->frame_spin_curve, t, side, rate);
    return (frame){skel__vector_at(m->frame_spin, &m->frame_spin_curve, 0, t), v3_of(rate),
                   skel__vector_at(m->frame_acceleration, &m->frame_acceleration_curve, 0, t)};
}

/* g = (tr J) O - 2 J O: a body with the angular velocity w has the apparent torque w x g. */
static v3 gyro(const m3 *j, v3 spin) {
    return v3_mad(v3_scale(spin, m3_trace(*j)), -2.0, m3_mulv(*j, spin));
}

/* In an inertial frame, the acceleration of the centre of mass is larger than in the moving frame by
   a0 + O' x r + O x (O x r) + 2 O x v. The rate of L = J (w + O) is larger by O x L, and in the
   moving frame it is
     J w' + J O' + w x (J (w + O)) - J (w x (w + O))        (J rotates with w)
   instead of J w' + w x (J w). The additional terms are the apparent torque, with a minus:
     N = -(J O' + O x J O + O x J w + w x J O - J (w x O)).
   The terms with w are -A w with A = [O] J - [J O] + J [O]. J is symmetric and [a]^T = -[a], hence
   A^T = -A and w.A w = 0: they do no work. (Coriolis force: v.(O x v) = 0.) As a vector product, by
   [O] J + J [O] = [(tr J) O - J O], A w = g x w. The code uses body axes. */
static skel__wrench apparent(const frame *f, const skel__body *b, m3 r, const skel__kin *x) {
    const v3 spin = m3_tmulv(r, f->spin), rate = m3_tmulv(r, f->rate);
    const v3 about = v3_add(m3_mulv(b->inertia, rate), v3_cross(spin, m3_mulv(b->inertia, spin)));
    const v3 n = v3_sub(v3_cross(x->w, gyro(&b->inertia, spin)), about);

    v3 a = v3_add(f->drift, v3_cross(f->rate, x->p));
    a = v3_add(a, v3_centripetal(f->spin, x->p));
    a = v3_mad(a, 2.0, v3_cross(f->spin, x->v));
    return (skel__wrench){v3_scale(a, -b->mass), m3_mulv(r, n)};
}

/* ---- sums of all fields ---- */

static int is_for(const skel_field_desc *f, int32_t body) {
    return f->body < 0 || f->body == body;
}

void skel__field_add(const skel_model *m, int32_t i, const skel__kin *x, double t, skel__side side,
                     skel__wrench *out) {
    const skel__body *b = &m->body[i];
    const m3 r = q_matrix(x->q);
    skel__wrench sum = {{0, 0, 0}, {0, 0, 0}}; /* of drag and moving frame */
    v3 a = {0, 0, 0};                          /* of fields of acceleration */

    if (m->has_frame) {
        const frame f = frame_at(m, t, side);
        sum = apparent(&f, b, r, x);
    }
    for (int32_t k = 0; k < m->nf; ++k) {
        const skel_field_desc *f = &m->field[k];
        if (!is_for(f, i)) continue;
        if (f->type == SKEL_FIELD_DRAG) {
            const skel__wrench d = drag(f, b, r, x);
            sum = (skel__wrench){v3_add(sum.f, d.f), v3_add(sum.n, d.n)};
        } else if (f->type == SKEL_FIELD_VORTEX)
            a = v3_add(a, vortex(f, x->p));
        else if (f->type == SKEL_FIELD_TURBULENCE)
            a = v3_add(a, turbulence(f, x->p, t));
        else
            a = v3_add(a, v3_of(f->vector));
    }

    out->f = v3_add(out->f, v3_mad(sum.f, b->mass, a));
    out->n = v3_add(out->n, sum.n);
}

/* Adds a 3 x 3 block to the 6 x 6 matrix d. */
static void add_block(double *d, int at_row, int at, m3 a) {
    for (int r = 0; r < 3; ++r) {
        double *row = d + 6 * (at_row + r) + at;
        row[0] += a.r[r].x;
        row[1] += a.r[r].y;
        row[2] += a.r[r].z;
    }
}

void skel__field_rate_derivative(const skel_model *m, int32_t i, const skel__kin *x, double t,
                                 skel__side side, double *d) {
    const skel__body *b = &m->body[i];
    const m3 r = q_matrix(x->q);

    /* Coriolis force -2 m O x v, and the torque w x g. */
    if (m->has_frame) {
        const frame f = frame_at(m, t, side);
        const v3 g = m3_mulv(r, gyro(&b->inertia, m3_tmulv(r, f.spin)));
        add_block(d, 0, 0, m3_skew(v3_scale(f.spin, -2.0 * b->mass)));
        add_block(d, 3, 3, m3_skew(v3_neg(g)));
    }

    /* Drag. */
    for (int32_t k = 0; k < m->nf; ++k) {
        const skel_field_desc *f = &m->field[k];
        if (!is_for(f, i) || f->type != SKEL_FIELD_DRAG) continue;

        const double c = 0.5 * f->density * f->coefficient;
        const v3 u = v3_sub(x->v, v3_of(f->vector));
        const projection s = projection_of(b, m3_tmulv(r, u));
        const m3 n = turn_drag_derivative(b, c, x->w);
        add_block(d, 0, 0, m3_sub_outer(m3_diagonal(-c * s.s), c, u, m3_mulv(r, s.slope)));
        add_block(d, 3, 3, m3_mult(m3_mul(r, n), r));
    }
}

/* Derivative of J a by a small rotation theta of the pose, J in world axes:
   d (J a) = theta x J a - J (theta x a) = ([-J a] + J [a]) theta. */
static m3 rotate_inertia(m3 j, v3 a) {
    return m3_sub(m3_mul(j, m3_skew(a)), m3_skew(m3_mulv(j, a)));
}

static void frame_pose_derivative(const frame *f, const skel__body *b, m3 r, v3 w, double *d) {
    const m3 o = m3_skew(f->spin), j = m3_conjugate(r, b->inertia), jo = rotate_inertia(j, f->spin);
    const m3 both = m3_add(o, m3_scale(m3_skew(w), 2.0)); /* w x g holds -2 w x J O */
    const m3 n = m3_add(rotate_inertia(j, f->rate), m3_mul(both, jo));
    add_block(d, 0, 0, m3_scale(m3_add(m3_skew(f->rate), m3_mul(o, o)), -b->mass));
    add_block(d, 3, 3, m3_scale(n, -1.0));
}

/* In body axes the velocity u rotates backward with the pose: d (R^T u) = R^T (u x theta). */
static void drag_pose_derivative(const skel_field_desc *f, const skel__body *b, m3 r,
                                 const skel__kin *x, double *d) {
    const double c = 0.5 * f->density * f->coefficient;
    const v3 u = v3_sub(x->v, v3_of(f->vector));
    const v3 s = m3_mulv(r, projection_of(b, m3_tmulv(r, u)).slope);
    const m3 dn = m3_mult(m3_mul(r, turn_drag_derivative(b, c, x->w)), r);
    const v3 n = m3_mulv(r, turn_drag(b, c, x->w));
    add_block(d, 0, 3, m3_sub_outer(m3_zero(), c, u, v3_cross(s, u)));
    add_block(d, 3, 3, m3_sub(m3_mul(dn, m3_skew(m3_mulv(r, x->w))), m3_skew(n)));
}

void skel__field_pose_derivative(const skel_model *m, int32_t i, const skel__kin *x, double t,
                                 skel__side side, double *d) {
    const skel__body *b = &m->body[i];
    const m3 r = q_matrix(x->q);
    m3 a = m3_zero();

    if (m->has_frame) {
        const frame f = frame_at(m, t, side);
        frame_pose_derivative(&f, b, r, m3_mulv(r, x->w), d);
    }
    for (int32_t k = 0; k < m->nf; ++k) {
        const skel_field_desc *f = &m->field[k];
        if (!is_for(f, i)) continue;
        switch (f->type) {
        case SKEL_FIELD_DRAG: drag_pose_derivative(f, b, r, x, d); break;
        case SKEL_FIELD_VORTEX: a = m3_add(a, vortex_derivative(f, x->p)); break;
        case SKEL_FIELD_TURBULENCE: a = m3_add(a, turbulence_derivative(f, x->p, t)); break;
        default: break;
        }
    }

    add_block(d, 0, 0, m3_scale(a, b->mass));
}
