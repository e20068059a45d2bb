/* SPDX-License-Identifier: BSD-3-Clause */
/* Laws of touching: bounces, impacts of a rod [RUD 3.28-3.31, ERRATA R4, R5], sticking and slipping
   on an incline, falls that never gain energy, momentum of bodies that collide, a sprung plank, and
   the force law of soft ground [RUD 4.7, ERRATA R12]. */
#include "shared/build.h"
#include "shared/ragdoll.h"
#include "shared/vectors.h"
#include "integrate/impact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define G 9.81

/* ---- bounces ---- */

enum { ADAMS = SKEL_INTEGRATOR_ADAMS, BDF = SKEL_INTEGRATOR_BDF };
enum { CONSERVING = SKEL_INTEGRATOR_CONSERVING };

/* A sphere of radius 0.1, its lowest point 1 m above. */
static scene sphere_over(const skel_ground_desc *ground) {
    skel_body_desc b = body_of(SKEL_SHAPE_SPHERE, 0.1, 0, 0, 2);
    skel_model_desc d;
    b.position[2] = 1.1;
    skel_model_desc_init(&d);
    d.bodies = &b, d.body_count = 1, d.grounds = ground, d.ground_count = 1;
    return build(&d);
}

/* How high the sphere will rise from there. */
static double apex(const skel_bake *b, int sample) {
    const double v = skel_bake_velocities(b)[6 * sample + 2];
    return skel_bake_poses(b)[7 * sample + 2] - 0.1 + v * v / (2 * G);
}

START_TEST(bounce) {
    static const double e[4] = {0, 0.3, 0.7, 1};
    static const int32_t by[3] = {CONSERVING, ADAMS, BDF};
    skel_ground_desc ground;
    skel_ground_desc_init(&ground);
    ground.is_rigid = 1, ground.restitution = e[_i % 4];
    scene s = sphere_over(&ground);
    skel_bake *b = bake_all(&s, by[_i / 4], 1e-9, 1.0 / 240, 240, 241);
    const double want = ground.restitution * ground.restitution, got = apex(b, 120);
    printf("bounce %s e %g: apex off by %.3g\n", skel_integrator_name(by[_i / 4]),
           ground.restitution, got - want);
    near1(got, want, want > 0 ? 1e-3 * want : 1e-6);
    double low = 0, high = 0; /* after the first impact at 0.4515 s */
    for (int k = 110; k < 241; ++k) {
        const double z = skel_bake_poses(b)[7 * k + 2] - 0.1;
        low = fmin(low, z), high = fmax(high, z);
    }
    ck_assert_msg(low > -1e-6, "%.3g below the ground", low);
    if (want == 0) ck_assert_msg(high < 1e-6, "%.3g above the ground", high);
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

/* ---- the rod ---- */

typedef struct rod {
    double mass, length, phi, before[3];
} rod;

/* Velocities (xc', zc', phi') after the impact of its lower end; returns the change of energy. */
static double rod_after(const rod *r, const skel_ground_desc *ground, double *after) {
    const double l = r->length, end[3] = {-0.5 * l, 0, 0};
    double v[6];
    skel_body_desc b;
    skel_model_desc d;
    skel_body_desc_init(&b);
    b.mass = r->mass;
    b.inertia[0] = b.inertia[1] = b.inertia[2] = r->mass * l * l / 12;
    b.position[0] = 0.5 * l * cos(r->phi), b.position[2] = 0.5 * l * sin(r->phi);
    q_to(q_exp((v3){0, -r->phi, 0}), b.orientation);
    b.velocity[0] = r->before[0], b.velocity[2] = r->before[1];
    b.angular_velocity[1] = -r->before[2];
    b.contacts = end, b.contact_count = 1;
    skel_model_desc_init(&d);
    d.bodies = &b, d.body_count = 1, d.grounds = ground, d.ground_count = 1;
    d.gravity[2] = 0;
    scene s = build(&d);
    const double energy = report(s.state).kinetic;
    ck_assert_int_eq(skel__impact_reserve(s.state), SKEL_OK);
    ck_assert_int_eq(skel__impacts(s.state), 1);
    ck_assert_int_eq(skel_state_get_velocities(s.state, v), SKEL_OK);
    after[0] = v[0], after[1] = v[2], after[2] = -v[4];
    near1(fabs(v[1]) + fabs(v[3]) + fabs(v[5]), 0, 1e-12);
    const double change = report(s.state).kinetic - energy;
    near1(report(s.state).work_contact, change, 1e-12 * energy);
    scene_free(&s);
    return change;
}

/* Speed of the lower end, upwards. */
static double end_speed(const rod *r, const double *v) {
    return v[1] - 0.5 * r->length * cos(r->phi) * v[2];
}

START_TEST(rod_impact) {
    static const char *const name[3] = {"elastic_frictionless", "inelastic",
                                        "elastic_full_reversal"};
    static const double e[3] = {1, 0, 1}, et[3] = {0, 0, 1}, mu[3] = {0, 1e9, 1e9};
    double worst = 0;
    int count = 0;
    const json_value *row;
    load();
    JSON_EACH(row, get(g_vectors, "rod_impact")) {
        rod r = {number(row, "M"), number(row, "l"), number(row, "phi"), {0}};
        numbers(row, "before", r.before, 3);
        for (int k = 0; k < 3; ++k) {
            skel_ground_desc ground;
            double got[3], want[3];
            skel_ground_desc_init(&ground);
            ground.is_rigid = 1, ground.friction = mu[k];
            ground.restitution = e[k], ground.tangential_restitution = et[k];
            numbers(row, name[k], want, 3);
            if (want[1] < r.before[1]) continue; /* its impulse would pull: not a ground's */
            rod_after(&r, &ground, got);
            near(got, want, 3, 1e-10);
            worst = fmax(worst, max_difference(got, want, 3));
            ++count;
        }
    }
    printf("rod: %d impacts, off by %.3g\n", count, worst);
    ck_assert_int_ge(count, 28);
    unload();
}
END_TEST

/* Any rod, within friction of 1.3 (beyond 4/3 it may jam): the end leaves, energy does not rise. */
START_TEST(rods_leave) {
    rng r = rng_seed(5);
    double into = 0, rise = -1;
    int count = 0;
    for (int k = 0; k < 600; ++k) {
        rod bar = {2, rng_range(&r, 0.4, 2), rng_range(&r, 0.1, 1.5), {0}};
        skel_ground_desc ground;
        double after[3];
        for (int e = 0; e < 3; ++e) bar.before[e] = rng_range(&r, -3, e == 1 ? -0.5 : 3);
        const double before = end_speed(&bar, bar.before);
        if (before > -0.2) continue;
        skel_ground_desc_init(&ground);
        ground.is_rigid = 1, ground.restitution = 0.5 * (k % 3);
        ground.friction = rng_range(&r, 0, 1.3), ground.tangential_restitution = k % 2;
        rise = fmax(rise, rod_after(&bar, &ground, after));
        into = fmin(into, end_speed(&bar, after));
        ++count;
    }
    printf("rods: %d impacts, into the ground with %.3g m/s, energy rose by %.3g J\n", count, into,
           rise);
    ck_assert(count > 300);
    ck_assert_msg(into >= -1e-10 && rise <= 1e-10, "speed %.3g, energy %.3g", into, rise);
}
END_TEST

/* ---- the incline ---- */

static scene block_on_incline(double angle, int kind) {
    skel_body_desc b = body_of(SKEL_SHAPE_BOX, 0.3, 0.2, 0.1, 5);
    skel_ground_desc ground;
    skel_model_desc d;
    const quat tilt = q_exp((v3){0, angle, 0});
    skel_ground_desc_init(&ground);
    v3_to(q_rotate(tilt, (v3){0, 0, 1}), ground.normal);
    v3_to(q_rotate(tilt, (v3){0, 0, 0.05}), b.position);
    q_to(tilt, b.orientation);
    ground.friction = 0.5;
    if (kind == 1) ground.a = 1e6, ground.b = 1, ground.d = 2000;
    ground.is_rigid = kind == 2;
    skel_model_desc_init(&d);
    d.bodies = &b, d.body_count = 1, d.grounds = &ground, d.ground_count = 1;
    return build(&d);
}

START_TEST(incline) {
    static const double degrees[4] = {20, 26, 27, 40};
    static const char *const kind[3] = {"default", "law", "rigid"};
    const double angle = degrees[_i % 4] * SKEL__TURN / 360;
    scene s = block_on_incline(angle, _i / 4);
    double x[7], v[6], x1[7], v1[6];
    run(s.state, CONSERVING, 1.0 / 240, 240);
    skel_state_get_poses(s.state, x1), skel_state_get_velocities(s.state, v1);
    run(s.state, CONSERVING, 1.0 / 240, 9 * 240);
    skel_state_get_poses(s.state, x), skel_state_get_velocities(s.state, v);
    const v3 way = v3_sub(v3_of(x), v3_of(x1)), gain = v3_sub(v3_of(v), v3_of(v1));
    const v3 down = {cos(angle), 0, -sin(angle)};
    const double want = G * (sin(angle) - 0.5 * cos(angle)), a = v3_dot(gain, down) / 9;
    if (want < 0) {
        printf("incline %s %g: creep %.3g m\n", kind[_i / 4], degrees[_i % 4], v3_norm(way));
        ck_assert_msg(v3_norm(way) < 1e-6, "creep %.3g m", v3_norm(way));
    } else {
        printf("incline %s %g: acceleration off by %.3g\n", kind[_i / 4], degrees[_i % 4],
               a / want - 1);
        near1(a, want, 1e-3 * want);
    }
    scene_free(&s);
}
END_TEST

/* ---- falls ---- */

typedef struct fall {
    double rise, balance, gap, limit; /* relative to the first kinetic and the largest energy */
    int contacts;
} fall;

static void watch_fall(skel_state *s, double seconds, fall *worst) {
    const skel_report_row start = report(s);
    skel_report_row last = start;
    double size = start.kinetic;
    for (int k = 0; k < (int)(240 * seconds); ++k) {
        run(s, CONSERVING, 1.0 / 240, 1);
        const skel_report_row row = report(s);
        size = fmax(size, row.kinetic);
        worst->rise = fmax(worst->rise, (total(&row) - total(&last)) / start.kinetic);
        worst->balance = fmax(worst->balance, fabs(balance(&row, &start)) / size);
        worst->gap = fmax(worst->gap, row.joint_gap);
        worst->limit = fmax(worst->limit, row.limit_violation);
        worst->contacts += row.contacts > 0;
        last = row;
    }
}

static void check_fall(const char *name, const fall *f) {
    printf("%s: rise %.3g, balance %.3g, gap %.3g m, limits %.3g degrees, %d steps of contact\n",
           name, f->rise, f->balance, f->gap, f->limit * 360 / SKEL__TURN, f->contacts);
    ck_assert_msg(f->rise <= 1e-9, "energy rose by %.3g", f->rise);
    ck_assert_msg(f->balance <= 1e-9, "balance off by %.3g", f->balance);
    ck_assert_msg(f->gap <= 1e-9, "gap of %.3g m", f->gap);
}

START_TEST(falls_on_a_plane) {
    fall worst = {.rise = -1};
    for (int k = 0; k < 10; ++k) {
        rng r = rng_seed((uint64_t)(1 + 10 * _i + k));
        scene s = scene_ragdoll(&r, (ragdoll_options){.friction = 1});
        watch_fall(s.state, 2, &worst);
        scene_free(&s);
    }
    check_fall("plane", &worst);
    ck_assert_int_gt(worst.contacts, 1000);
}
END_TEST

START_TEST(falls_on_stairs) {
    fall worst = {.rise = -1};
    for (int k = 0; k < 4; ++k) {
        rng r = rng_seed((uint64_t)(101 + 4 * _i + k));
        scene s = scene_ragdoll(&r, (ragdoll_options){.stairs = 8, .friction = 1});
        watch_fall(s.state, 3, &worst);
        scene_free(&s);
    }
    check_fall("stairs", &worst);
    ck_assert_msg(worst.limit < 0.5 * SKEL__TURN / 360, "limits are off by %.3g rad", worst.limit);
    ck_assert_int_gt(worst.contacts, 1000);
}
END_TEST

/* ---- a chain ---- */

#define CONTACT_LINKS 40

/* A straight chain of light links, above a ground. */
static scene chain_over(void) {
    static skel_body_desc b[CONTACT_LINKS];
    static skel_joint_desc j[CONTACT_LINKS];
    skel_ground_desc ground;
    skel_model_desc d;
    for (int k = 0; k < CONTACT_LINKS; ++k) {
        b[k] = body_of(SKEL_SHAPE_CAPSULE, 0.076, 0.012, 0, 0.04);
        b[k].position[0] = 0.1 * k, b[k].position[2] = 3;
        b[k].orientation[0] = b[k].orientation[2] = sqrt(0.5);
        skel_joint_desc_init(&j[k]);
        j[k].type = SKEL_JOINT_BALL, j[k].parent = k, j[k].child = k + 1;
        j[k].parent_position[2] = 0.05, j[k].child_position[2] = -0.05, j[k].friction = 1e-3;
    }
    skel_ground_desc_init(&ground), skel_model_desc_init(&d);
    d.bodies = b, d.body_count = CONTACT_LINKS, d.joints = j, d.joint_count = CONTACT_LINKS - 1;
    d.grounds = &ground, d.ground_count = 1;
    return build(&d);
}

/* It falls flat: all of its places meet the ground in one step, to the bit, and those above it have
   no force at all. */
START_TEST(a_chain_falls_flat) {
    double rise = -1;
    scene s = chain_over();
    const skel_report_row start = report(s.state);
    skel_report_row last = start;
    for (int k = 0; k < 480; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        const skel_report_row row = report(s.state);
        rise = fmax(rise, total(&row) - total(&last));
        last = row;
    }
    ck_assert_double_lt(rise / fabs(total(&start)), 1e-9);
    ck_assert_double_lt(last.kinetic, 1e-6 * total(&start));
    ck_assert_double_gt(last.contacts, CONTACT_LINKS);
    scene_free(&s);
}
END_TEST

/* ---- rest ---- */

/* What fell lies still, to the bit, and the receipt holds. */
START_TEST(lies_at_rest) {
    scene s = chain_over();
    skel_bake *b = bake_all(&s, CONSERVING, 0, 1.0 / 240, 24, 121);
    const size_t row = 7 * (size_t)CONTACT_LINKS;
    const double *last = skel_bake_poses(b) + 120 * row;
    skel_bake_summary sum = {.struct_size = sizeof sum};
    ck_assert_int_eq(skel_bake_get_summary(b, &sum), SKEL_OK);
    printf("at rest from %.3g s, energy off by %.3g, momentum by %.3g\n", sum.rest_time,
           sum.energy_drift, sum.momentum_drift);
    ck_assert(sum.rest_time > 1 && sum.rest_time < 4);
    ck_assert(sum.energy_drift < 1e-9 && sum.momentum_drift < 1e-9);
    for (int k = (int)ceil(24 * sum.rest_time); k < 121; ++k) {
        ck_assert_mem_eq(skel_bake_poses(b) + (size_t)k * row, last, row * sizeof *last);
        ck_assert(bake_report(b, k).kinetic == 0);
        ck_assert(bake_report(b, k).contacts > CONTACT_LINKS);
    }
    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

/* What pushes it wakes it. */
static double height_after(skel_state *s, int steps) {
    run(s, CONSERVING, 1.0 / 240, steps);
    return s->x[0].p.z;
}

START_TEST(wakes_up) {
    skel_ground_desc ground;
    skel_ground_desc_init(&ground);
    scene s = sphere_over(&ground);
    const double lying = height_after(s.state, 240 * 8), up[6] = {0, 0, 2, 0, 0, 0};
    ck_assert(report(s.state).kinetic == 0);
    ck_assert(height_after(s.state, 1) == lying);
    ck_assert_int_eq(skel_state_set_velocities(s.state, up), SKEL_OK);
    near1(height_after(s.state, 24) - lying, 2 * 0.1 - 0.5 * G * 0.01, 0.01);
    scene_free(&s);
}
END_TEST

/* A rod that stands on its end a little askew: for seconds it hardly moves, and yet it falls. */
START_TEST(what_tips_over_does_not_rest) {
    skel_body_desc b = body_of(SKEL_SHAPE_CAPSULE, 1, 0.02, 0, 1);
    skel_ground_desc ground;
    skel_model_desc d;
    b.position[2] = 0.52;
    b.orientation[0] = cos(1e-6), b.orientation[1] = sin(1e-6);
    skel_ground_desc_init(&ground), skel_model_desc_init(&d);
    ground.friction = 1;
    d.bodies = &b, d.body_count = 1, d.grounds = &ground, d.ground_count = 1;
    scene s = build(&d);
    near1(height_after(s.state, 240), 0.52, 0.01);
    ck_assert(report(s.state).kinetic > 0);
    ck_assert(height_after(s.state, 240 * 7) < 0.1);
    scene_free(&s);
}
END_TEST

/* A push of 1e-8 of a weight on the ice of a moon: slow, not at rest. */
START_TEST(what_is_slow_does_not_rest) {
    skel_body_desc b = body_of(SKEL_SHAPE_SPHERE, 0.1, 0, 0, 2);
    skel_ground_desc ground;
    skel_model_desc d;
    skel_ground_desc_init(&ground), skel_model_desc_init(&d);
    ground.friction = 0;
    b.position[2] = 0.1;
    d.bodies = &b, d.body_count = 1, d.grounds = &ground, d.ground_count = 1;
    d.gravity[0] = 1e-7, d.gravity[2] = -1e-7;
    scene s = build(&d);
    run(s.state, CONSERVING, 1.0 / 24, 2400);
    near1(s.state->x[0].p.x, 0.5 * 1e-7 * 1e4, 1e-6);
    scene_free(&s);
}
END_TEST

/* ---- bodies that collide ---- */

enum { FREE_PAIR, NONE_PAIR, GROUP_PAIR };

/* Two capsules across each other, the first on its way to the second. */
static scene two_capsules(int kind) {
    skel_body_desc b[2];
    skel_model_desc d;
    for (int k = 0; k < 2; ++k) {
        b[k] = body_of(SKEL_SHAPE_CAPSULE, 0.5 - 0.1 * k, 0.05 + 0.02 * k, 0, 1 + k);
        if (kind == GROUP_PAIR) b[k].collide = 3;
    }
    if (kind == NONE_PAIR) b[1].collide = SKEL_COLLIDE_NONE;
    b[0].position[0] = -0.5, b[0].position[1] = 0.11, b[0].velocity[0] = 3;
    b[0].angular_velocity[1] = 2, b[0].velocity[2] = 0.3;
    q_to(q_exp((v3){1.1, 0.2, 0}), b[1].orientation);
    b[1].velocity[1] = -0.2, b[1].angular_velocity[0] = 1;
    skel_model_desc_init(&d);
    d.bodies = b, d.body_count = 2, d.gravity[2] = 0;
    return build(&d);
}

START_TEST(collision) {
    scene s = two_capsules(FREE_PAIR);
    const skel_report_row start = report(s.state);
    skel_report_row last = start;
    double rise = -1, linear = 0, angular = 0, v[12], contacts = 0;
    const double size = v3_norm(v3_of(start.momentum));
    const double turn = v3_norm(v3_of(start.angular_momentum));
    for (int k = 0; k < 240; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        const skel_report_row row = report(s.state);
        rise = fmax(rise, (total(&row) - total(&last)) / start.kinetic);
        linear = fmax(linear, max_difference(row.momentum, start.momentum, 3) / size);
        angular =
            fmax(angular, max_difference(row.angular_momentum, start.angular_momentum, 3) / turn);
        contacts += row.contacts;
        last = row;
    }
    skel_state_get_velocities(s.state, v);
    printf("collision: momentum %.3g, angular %.3g, rise %.3g, lost %.3g, %g steps of contact\n",
           linear, angular, rise, 1 - total(&last) / total(&start), contacts);
    ck_assert_msg(contacts > 0 && v[6] > 0.5, "they did not meet: %g m/s", v[6]);
    ck_assert_msg(linear <= 1e-13, "momentum off by %.3g", linear);
    ck_assert_msg(angular <= 1e-12, "angular momentum off by %.3g", angular);
    ck_assert_msg(rise <= 1e-13, "energy rose by %.3g", rise);
    scene_free(&s);
}
END_TEST

START_TEST(pass_through) {
    for (int kind = NONE_PAIR; kind <= GROUP_PAIR; ++kind) {
        scene s = two_capsules(kind);
        double v[12];
        for (int k = 0; k < 240; ++k) {
            run(s.state, CONSERVING, 1.0 / 240, 1);
            ck_assert(report(s.state).contacts == 0);
        }
        skel_state_get_velocities(s.state, v);
        near1(v[0], 3, 1e-13);
        near1(v[6], 0, 1e-13);
        scene_free(&s);
    }
}
END_TEST

/* A corner inside a box is let out by the nearest face. A face on whose side the body is counts as
   twice as near, so a corner just inside another face still leaves by that one. */
START_TEST(corner_leaves_by_the_nearest_face) {
    skel_body_desc b[2];
    skel_model_desc d;
    b[0] = body_of(SKEL_SHAPE_BOX, 0.8, 0.8, 0.8, 1);
    b[1] = body_of(SKEL_SHAPE_BOX, 1, 3, 1, 1);
    b[0].position[2] = 3;
    b[1].motion = SKEL_MOTION_FIXED;
    skel_model_desc_init(&d);
    d.bodies = b;
    d.body_count = 2;
    scene s = build(&d);

    /* The upper box stands 0.2 m deep in the lower one and ends 0.05 m inside its side. */
    const skel_model *m = s.model;
    const pose upper = {{0.05, 0, 0.7}, q_identity()};
    const pose lower = {{0, 0, 0}, q_identity()};
    int by_side = 0, by_top = 0;
    for (int32_t k = 0; k < m->ncand; ++k) {
        if (m->candidate[k].i != 0 || m->candidate[k].at.z > 0) continue; /* the corners below */

        const skel__contact_point t = skel__contact_point_of(m, &m->candidate[k], upper, lower);
        if (m->candidate[k].at.x > 0) {
            near1(t.gap, -0.05, 1e-12);
            near1(t.normal.x, 1, 1e-12);
            ++by_side;
        } else {
            near1(t.gap, -0.2, 1e-12);
            near1(t.normal.z, 1, 1e-12);
            ++by_top;
        }
    }
    ck_assert_int_eq(by_side, 2);
    ck_assert_int_eq(by_top, 2);
    scene_free(&s);
}
END_TEST

/* A ball that starts `depth` inside a fixed box below it, and how the bake warns of it. */
static int is_overlap_told(double depth, int32_t collide) {
    skel_body_desc b[2];
    skel_model_desc d;
    b[0] = body_of(SKEL_SHAPE_SPHERE, 0.1, 0, 0, 1);
    b[1] = body_of(SKEL_SHAPE_BOX, 1, 1, 1, 1);
    b[0].name = "ball";
    b[0].position[2] = 0.6 - depth;
    b[0].collide = collide;
    b[1].name = "step";
    b[1].motion = SKEL_MOTION_FIXED;
    skel_model_desc_init(&d);
    d.bodies = b;
    d.body_count = 2;

    scene s = build(&d);
    skel_bake *bake = bake_all(&s, CONSERVING, 1e-8, 1.0 / 240, 24, 2);
    const char *text = skel_bake_warning(bake, 0);
    const int told = text && strstr(text, "'ball' and 'step' overlap at the start");
    skel_bake_destroy(bake);
    scene_free(&s);
    return told;
}

START_TEST(overlap_at_the_start_is_told) {
    ck_assert(is_overlap_told(0.05, SKEL_COLLIDE_OTHERS));
    ck_assert(!is_overlap_told(-0.05, SKEL_COLLIDE_OTHERS));
    ck_assert(!is_overlap_told(0.05, SKEL_COLLIDE_NONE)); /* nobody expects a contact there */
}
END_TEST

/* Three capsules in a U that closes: the outer two meet, or not. */
static int steps_of_contact(int32_t collide) {
    skel_body_desc b[3];
    skel_joint_desc j[2];
    skel_model_desc d;
    int count = 0;
    for (int k = 0; k < 3; ++k) {
        b[k] = body_of(SKEL_SHAPE_CAPSULE, 0.4, 0.05, 0, 1);
        b[k].collide = collide;
    }
    q_to(q_exp((v3){0, SKEL__TURN / 4, 0}), b[0].orientation); /* the middle one, along x */
    for (int k = 0; k < 2; ++k) {
        const double side = k == 0 ? -1 : 1;
        b[k + 1].position[0] = 0.25 * side;
        b[k + 1].position[2] = 0.25;
        b[k + 1].unplaced = 0;
        skel_joint_desc_init(&j[k]);
        j[k].type = SKEL_JOINT_HINGE, j[k].parent = 0, j[k].child = k + 1;
        const quat axis = q_exp((v3){-SKEL__TURN / 4, 0, 0}); /* z onto y */
        const quat back = q_exp((v3){0, -SKEL__TURN / 4, 0});
        j[k].parent_position[2] = 0.25 * side, j[k].child_position[2] = -0.25;
        q_to(q_mul(back, axis), j[k].parent_orientation), q_to(axis, j[k].child_orientation);
    }
    skel_model_desc_init(&d);
    d.bodies = b, d.body_count = 3, d.joints = j, d.joint_count = 2, d.gravity[2] = 0;
    scene s = build(&d);
    const double qd[2] = {2, -2};
    ck_assert_int_eq(skel_state_set_qd(s.state, qd), SKEL_OK);
    for (int k = 0; k < 120; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        count += report(s.state).contacts > 0;
    }
    scene_free(&s);
    return count;
}

START_TEST(self_contact) {
    const int others = steps_of_contact(SKEL_COLLIDE_OTHERS);
    const int all = steps_of_contact(SKEL_COLLIDE_ALL);
    printf("self contact: %d steps by default, %d with all\n", others, all);
    ck_assert_int_eq(others, 0);
    ck_assert_int_gt(all, 0);
}
END_TEST

/* ---- all at once ---- */

/* ---- the plank ---- */

#define PLANK_K 4000.0

/* A plank of 3 kg on a slide with a spring, at rest under its own weight; a ball falls on it. */
static scene ball_over_plank(void) {
    skel_body_desc b[2];
    skel_joint_desc j;
    skel_ground_desc ground;
    skel_model_desc d;
    b[0] = body_of(SKEL_SHAPE_BOX, 1, 0.5, 0.05, 3);
    b[1] = body_of(SKEL_SHAPE_SPHERE, 0.1, 0, 0, 2);
    b[1].position[2] = 0.025 + 0.1 + 0.3;
    b[1].collide = SKEL_COLLIDE_NONE; /* it meets the plank's plane alone */
    skel_joint_desc_init(&j);
    j.type = SKEL_JOINT_SLIDE, j.parent = SKEL_WORLD, j.child = 0;
    j.spring.stiffness = PLANK_K, j.spring.damping = 40, j.spring.rest = 3 * G / PLANK_K;
    skel_ground_desc_init(&ground);
    ground.body = 0, ground.point[2] = 0.025;
    skel_model_desc_init(&d);
    d.bodies = b, d.body_count = 2, d.joints = &j, d.joint_count = 1;
    d.grounds = &ground, d.ground_count = 1;
    return build(&d);
}

START_TEST(plank) {
    scene s = ball_over_plank();
    const skel_report_row start = report(s.state);
    double linear = 0, energy = 0, deepest = 0, size = 0, big = 0, q;
    for (int k = 0; k < 10 * 240; ++k) {
        run(s.state, CONSERVING, 1.0 / 240, 1);
        const skel_report_row row = report(s.state);
        v3 off = v3_sub(v3_of(row.momentum), v3_add(v3_of(start.momentum), v3_of(row.impulse)));
        linear = fmax(linear, v3_norm(off)), size = fmax(size, v3_norm(v3_of(row.impulse)));
        energy = fmax(energy, fabs(balance(&row, &start))), big = fmax(big, row.kinetic);
        skel_state_get_q(s.state, &q);
        deepest = fmin(deepest, q);
    }
    const double want = -2 * G / PLANK_K;
    printf("plank: momentum %.3g, energy %.3g, deflection off by %.3g of %.3g, deepest %.3g\n",
           linear / size, energy / big, q / want - 1, want, deepest);
    ck_assert_msg(linear <= 1e-12 * size, "momentum off by %.3g", linear / size);
    ck_assert_msg(energy <= 1e-9 * big, "energy off by %.3g", energy / big);
    near1(q, want, 1e-6 * fabs(want));
    ck_assert_msg(deepest < 2 * want, "the ball did not fall on it");
    scene_free(&s);
}
END_TEST

/* ---- the force law ---- */

/* The height after the bounce; forces at all samples against the law. d > 0: on the way out the
   law alone would pull. */
static double bounce_by_law(double a, double b, double damping, int *pulls) {
    skel_ground_desc ground;
    skel_ground_desc_init(&ground);
    ground.a = a, ground.b = b, ground.d = damping;
    scene s = sphere_over(&ground);
    skel_bake *bake = bake_all(&s, ADAMS, 1e-10, 0, 2000, 1201);
    double most = 0, off = 0;
    *pulls = 0;
    for (int k = 0; k < 1201; ++k) {
        const double depth = 0.1 - skel_bake_poses(bake)[7 * k + 2];
        const double rate = -skel_bake_velocities(bake)[6 * k + 2];
        const double law = depth > 0 ? a * pow(depth, b) + damping * rate : 0;
        const double force = bake_report(bake, k).ground_force[2];
        ck_assert_msg(force >= 0, "it pulls with %.3g N", force);
        *pulls += law < 0;
        most = fmax(most, force), off = fmax(off, fabs(force - fmax(0, law)));
    }
    const double high = apex(bake, 1200);
    printf("law %g %g %g: height after %.12g, force off by %.3g of %.4g, %d samples would pull\n",
           a, b, damping, high, off, most, *pulls);
    ck_assert_msg(most > 100 && off <= 1e-9 * most, "force off by %.3g of %.3g N", off, most);
    ck_assert_msg(skel_bake_velocities(bake)[6 * 1200 + 2] > 0, "it did not bounce");
    skel_bake_destroy(bake);
    scene_free(&s);
    return high;
}

START_TEST(force_law) {
    int pulls;
    near1(bounce_by_law(2e4, 1, 0, &pulls), 1, 1e-7);
    ck_assert_int_eq(pulls, 0);
    near1(bounce_by_law(1e6, 2, 0, &pulls), 1, 1e-7);
    near1(bounce_by_law(1e5, 1.5, 0, &pulls), 1, 1e-7);
    ck_assert(bounce_by_law(2e4, 1, 100, &pulls) < 0.7);
    ck_assert_int_gt(pulls, 0);
    ck_assert(bounce_by_law(1e6, 2, 50, &pulls) < 0.9);
    ck_assert_int_gt(pulls, 0);
}
END_TEST

/* ---- what may touch what ---- */

#define MANY_CONTACTS 500

/* A sphere with many contact points beside a box of another skeleton; the last one is inside the
   box where `overlaps`. Returns how many candidates for contacts the model has. */
static int32_t candidates_beside_a_box(int overlaps) {
    static double points[3 * MANY_CONTACTS];
    skel_body_desc b[2] = {body_of(SKEL_SHAPE_SPHERE, 0.1, 0, 0, 1),
                           body_of(SKEL_SHAPE_BOX, 0.2, 0.2, 0.2, 1)};
    skel_model_desc d;

    for (int k = 0; k < MANY_CONTACTS; ++k) points[3 * k + 2] = 1e-4 * k;
    points[3 * (MANY_CONTACTS - 1)] = overlaps ? 1 : 0;
    b[0].contacts = points;
    b[0].contact_count = MANY_CONTACTS;
    b[1].position[0] = 1;
    skel_model_desc_init(&d);
    d.bodies = b;
    d.body_count = 2;

    scene s = build(&d);
    const int32_t count = s.model->ncand;
    scene_free(&s);
    return count;
}

START_TEST(many_contact_points_beside_a_box) {
    ck_assert_int_eq(candidates_beside_a_box(0), MANY_CONTACTS + 1); /* and the sphere itself */
    ck_assert_int_eq(candidates_beside_a_box(1), 0); /* a pair that overlaps as given is left out */
}
END_TEST

/* ---- events of adams and bdf ---- */

/* A box whose corners are at gap zero and at rest: CVODE's own search never sees such an event. */
START_TEST(what_begins_flush_is_held) {
    static const int32_t by[2] = {ADAMS, BDF};
    static const double tol[3] = {1e-6, 1e-8, 1e-10};
    skel_ground_desc ground;
    skel_model_desc d;
    skel_body_desc box = body_of(SKEL_SHAPE_BOX, 0.2, 0.2, 0.2, 2);
    skel_ground_desc_init(&ground);
    skel_model_desc_init(&d);
    ground.is_rigid = _i / 6;
    box.position[2] = 0.1;
    d.bodies = &box, d.body_count = 1, d.grounds = &ground, d.ground_count = 1;

    scene s = build(&d);
    skel_bake *b = bake_all(&s, by[_i % 2], tol[_i / 2 % 3], 0, 100, 101);
    skel_bake_summary sum = {.struct_size = sizeof sum};
    ck_assert_int_eq(skel_bake_get_summary(b, &sum), SKEL_OK);
    printf("flush %s, rigid %d, tolerance %g: depth %.3g m, drift %.3g, gain %.3g\n",
           skel_integrator_name(by[_i % 2]), ground.is_rigid, tol[_i / 2 % 3], sum.contact_depth,
           sum.energy_drift, sum.energy_gain);
    ck_assert_double_lt(sum.contact_depth, 0.01);
    ck_assert_double_lt(sum.energy_drift, 5e3 * tol[_i / 2 % 3]); /* of what is next to nothing */
    ck_assert_double_lt(sum.energy_gain, 1e-5);

    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

/* A sphere that slides as it bounces bends bristles, which spring back in the air: that is heat. */
START_TEST(bristles_that_spring_back_are_booked) {
    static const int32_t by[2] = {ADAMS, BDF};
    skel_ground_desc ground;
    skel_ground_desc_init(&ground);
    scene s = sphere_over(&ground);
    const double v[6] = {3, 0, 0, 0, 0, 0};
    ck_assert_int_eq(skel_state_set_velocities(s.state, v), SKEL_OK);

    skel_bake *b = bake_all(&s, by[_i], 1e-8, 0, 240, 241);
    skel_bake_summary sum = {.struct_size = sizeof sum};
    ck_assert_int_eq(skel_bake_get_summary(b, &sum), SKEL_OK);
    printf("bristles %s: drift %.3g\n", skel_integrator_name(by[_i]), sum.energy_drift);
    ck_assert_double_lt(sum.energy_drift, 1e-7);

    skel_bake_destroy(b);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("contact");
    TCase *one = tcase_create("all");
    tcase_set_timeout(one, 120);
    tcase_add_loop_test(one, bounce, 0, 12);
    tcase_add_test(one, rod_impact);
    tcase_add_test(one, rods_leave);
    tcase_add_loop_test(one, incline, 0, 12);
    tcase_add_loop_test(one, falls_on_a_plane, 0, 5);
    tcase_add_loop_test(one, falls_on_stairs, 0, 3);
    tcase_add_test(one, lies_at_rest);
    tcase_add_test(one, wakes_up);
    tcase_add_test(one, what_tips_over_does_not_rest);
    tcase_add_test(one, what_is_slow_does_not_rest);
    tcase_add_test(one, collision);
    tcase_add_test(one, pass_through);
    tcase_add_test(one, corner_leaves_by_the_nearest_face);
    tcase_add_test(one, overlap_at_the_start_is_told);
    tcase_add_test(one, self_contact);
    tcase_add_test(one, a_chain_falls_flat);
    tcase_add_test(one, plank);
    tcase_add_test(one, force_law);
    tcase_add_test(one, many_contact_points_beside_a_box);
    tcase_add_loop_test(one, what_begins_flush_is_held, 0, 12);
    tcase_add_loop_test(one, bristles_that_spring_back_are_booked, 0, 2);
    suite_add_tcase(suite, one);
    return run_suite(suite);
}
