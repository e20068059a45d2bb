/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics over time: what tracking alone loses is found another way, jumps are told, and
   what it does not lose stays as it is, to the bit. Judged by forward kinematics. */
#include "math/quat.h"
#include "model/model.h"
#include "shared/chains.h"
#include "shared/humanoid.h"
#include "shared/ik.h"
#include "shared/near.h"
#include "shared/scenes.h"

#include <string.h>

#define FRAMES 200
#define MOST 256
#define STEP_MAX 0.15

/* ---- motions of a chain ---- */

typedef struct targets {
    int frames;
    double position[3 * FRAMES], orientation[4 * FRAMES], seed[CHAIN_MAX];
} targets;

static void joint_path(const chain *c, uint64_t seed, targets *t) {
    static double q[FRAMES * CHAIN_MAX];
    rng r = rng_seed(seed);
    t->frames = FRAMES;
    chain_path(c, &r, FRAMES, q);
    memcpy(t->seed, q, sizeof t->seed);
    for (int f = 0; f < FRAMES; ++f) {
        double tip[7];
        chain_tip(c, q + f * c->n, tip);
        memcpy(t->position + 3 * f, tip, 3 * sizeof(double));
        memcpy(t->orientation + 4 * f, tip + 3, 4 * sizeof(double));
    }
}

typedef struct options {
    uint32_t start, causal;
    double max_step;
} options;

static skel_ik_motion *start(const chain *c, const targets *t, options o) {
    static skel_goal_track track;
    skel_goal_desc g = chain_goal(c);
    double bound[CHAIN_MAX];
    skel_ik_desc d = desc_of(c->model, &g, 1);
    skel_ik_motion_desc m;
    skel_ik_motion *v;
    track = (skel_goal_track){.positions = t->position,
                              .orientations = t->orientation,
                              .position_count = (uint32_t)t->frames,
                              .orientation_count = (uint32_t)t->frames};
    d.mode = SKEL_IK_TRACK;
    for (int k = 0; k < c->n; ++k) bound[k] = o.max_step;
    if (o.max_step > 0) d.max_step = bound;
    skel_ik_motion_desc_init(&m);
    m.ik = &d;
    m.tracks = &track;
    m.sample_count = (uint32_t)t->frames;
    m.seed = t->seed;
    m.start = o.start;
    m.causal = o.causal;
    ck_assert_int_eq(skel_ik_motion_start(&m, &v, NULL), SKEL_OK);
    return v;
}

static skel_ik_motion *solved(const chain *c, const targets *t, options o) {
    skel_ik_motion *v = start(c, t, o);
    ck_assert_int_eq(skel_ik_motion_advance(v, -1), SKEL_OK);
    ck_assert(skel_ik_motion_progress(v) == 1);
    ck_assert_int_eq(skel_ik_motion_samples_done(v), t->frames);
    return v;
}

static int lost_frames(const chain *c, const targets *t, const skel_ik_motion *v) {
    int lost = 0;
    for (int f = 0; f < t->frames; ++f) {
        const double *q = skel_ik_motion_q(v) + f * c->n;
        double tip[7];
        chain_tip(c, q, tip);
        const double far = v3_norm(v3_sub(v3_of(tip), v3_of(t->position + 3 * f)));
        const double turn =
            v3_norm(q_log(q_mul(q_of(t->orientation + 4 * f), q_conj(q_of(tip + 3)))));
        ck_assert(limits_broken(c->model, q) <= 0);
        ck_assert_int_eq(far <= 1e-5 && turn <= 1e-5, skel_ik_motion_receipts(v)[f].reached);
        lost += !skel_ik_motion_receipts(v)[f].reached;
    }
    return lost;
}

/* Largest step from frame f - 1 to f; joint: whose. */
static double step_at(const chain *c, const skel_ik_motion *v, int f, int *joint) {
    const double *q = skel_ik_motion_q(v) + f * c->n;
    double most = 0;
    for (int k = 0; k < c->n; ++k) {
        const double step = fabs(q[k] - q[k - c->n]);
        if (!(step > most)) continue;
        most = step;
        *joint = k;
    }
    return most;
}

static double longest_step(const chain *c, const targets *t, const skel_ik_motion *v) {
    double most = 0;
    int joint;
    for (int f = 1; f < t->frames; ++f) most = fmax(most, step_at(c, v, f, &joint));
    return most;
}

static const chain *named(const chain *c, int count, const char *name) {
    for (int i = 0; i < count; ++i)
        if (strcmp(c[i].name, name) == 0) return &c[i];
    ck_abort_msg("%s: no such chain", name);
    return NULL;
}

static void same_motion(const skel_ik_motion *a, const skel_ik_motion *b, const skel_model *m) {
    const size_t n = (size_t)skel_ik_motion_sample_count(a);
    ck_assert_int_eq(memcmp(skel_ik_motion_q(a), skel_ik_motion_q(b),
                            n * (size_t)skel_model_q_count(m) * sizeof(double)),
                     0);
    ck_assert_int_eq(memcmp(skel_ik_motion_poses(a), skel_ik_motion_poses(b),
                            7 * n * (size_t)skel_model_body_count(m) * sizeof(double)),
                     0);
}

/* ---- tests ---- */

/* Paths that some joint path follows within the limits: all of it is reached, from the given start,
   without a jump. The same paths as tests/bench/track.c has, a few of them. */
START_TEST(reachable_paths_are_not_lost) {
    static const char *const name[] = {"franka_panda", "robonaut2_leg", "atlas_v5_rarm",
                                       "robonaut2_rarm"};
    static targets t;
    chain *all;
    const int count = chains_load(&all);
    const chain *c = named(all, count, name[_i]);
    int lost = 0;
    for (uint64_t k = 0; k < 6; ++k) {
        joint_path(c, 40 + k, &t);
        skel_ik_motion *causal = solved(c, &t, (options){.causal = 1});
        skel_ik_motion *v = solved(c, &t, (options){.start = SKEL_IK_START_HELD});
        skel_ik_jump moved = {.struct_size = sizeof moved};
        lost += lost_frames(c, &t, causal);
        ck_assert_int_eq(lost_frames(c, &t, v), 0);
        ck_assert_msg(longest_step(c, &t, v) <= STEP_MAX, "path %d: %g rad", (int)k,
                      longest_step(c, &t, v));
        ck_assert_int_eq(skel_ik_motion_jump_count(v), 0);
        skel_ik_motion_get_start(v, &moved);
        ck_assert(moved.size <= 0.1);
        skel_ik_motion_destroy(causal);
        skel_ik_motion_destroy(v);
    }
    ck_assert_int_gt(lost, 0); /* else this would show nothing */
    chains_free(all, count);
}
END_TEST

/* Where tracking loses nothing and takes no long step, it is all there is. */
START_TEST(good_motions_stay_as_they_are) {
    static targets t;
    chain *all;
    const int count = chains_load(&all);
    const chain *c = named(all, count, "ur5");
    for (uint64_t k = 0; k < 5; ++k) {
        joint_path(c, k + 1, &t);
        skel_ik_motion *a = solved(c, &t, (options){.causal = 1});
        skel_ik_motion *b = solved(c, &t, (options){0});
        ck_assert_int_eq(lost_frames(c, &t, a), 0);
        same_motion(a, b, c->model);
        ck_assert_int_eq(skel_ik_motion_repaired_count(b), 0);
        skel_ik_motion_destroy(a);
        skel_ik_motion_destroy(b);
    }
    chains_free(all, count);
}
END_TEST

/* One solve at a time gives the same bits; progress never falls and ends at 1. */
START_TEST(work_comes_in_slices) {
    static targets t;
    chain *all;
    const int count = chains_load(&all);
    const chain *c = named(all, count, "robonaut2_leg");
    joint_path(c, 42, &t);
    skel_ik_motion *whole = solved(c, &t, (options){0}), *sliced = start(c, &t, (options){0});
    double progress = 0;
    int32_t done = 0;
    while (skel_ik_motion_advance(sliced, 0) == SKEL_MORE) {
        ck_assert(skel_ik_motion_progress(sliced) >= progress);
        ck_assert(skel_ik_motion_progress(sliced) <= 1);
        ck_assert_int_ge(skel_ik_motion_samples_done(sliced), done);
        progress = skel_ik_motion_progress(sliced);
        done = skel_ik_motion_samples_done(sliced);
    }
    ck_assert(skel_ik_motion_progress(sliced) == 1);
    ck_assert_int_gt(skel_ik_motion_repaired_count(whole), 0);
    same_motion(whole, sliced, c->model);
    skel_ik_motion_destroy(whole);
    skel_ik_motion_destroy(sliced);
    chains_free(all, count);
}
END_TEST

/* An arm without freedom to spare, from pose to pose: it must jump somewhere. Nothing is lost that
   a single solve reaches, and every long step is told with frame, joint and size. */
START_TEST(jumps_are_told) {
    static targets t;
    chain *all;
    const int count = chains_load(&all);
    const chain *c = named(all, count, "kuka_kr6r900");
    skel_goal_desc g = chain_goal(c);
    skel_ik_desc d = desc_of(c->model, &g, 1);
    skel_ik *ik = make(&d);
    rng r = rng_seed(5);
    int paths = 0, jumps = 0;
    while (paths < 4) {
        double q[CHAIN_MAX];
        int reached = 1;
        t.frames = 120;
        chain_keys(c, &r, 4, t.frames, t.position, t.orientation);
        chain_middle(c, q);
        for (int f = 0; f < t.frames && reached; ++f) {
            skel_ik_set_target(ik, 0, t.position + 3 * f, t.orientation + 4 * f);
            reached = solve(ik, q).reached;
            if (f == 0) memcpy(t.seed, q, sizeof t.seed);
        }
        if (!reached) continue;
        ++paths;

        skel_ik_motion *v = solved(c, &t, (options){.start = SKEL_IK_START_HELD});
        ck_assert_int_eq(lost_frames(c, &t, v), 0);
        int32_t told = 0;
        for (int f = 1; f < t.frames; ++f) {
            skel_ik_jump jump = {.struct_size = sizeof jump, .sample = -1};
            int joint = 0;
            const double step = step_at(c, v, f, &joint);
            if (told < skel_ik_motion_jump_count(v)) skel_ik_motion_get_jump(v, told, &jump);
            if (jump.sample != f) {
                ck_assert(step <= 1); /* no longer than the targets' own way, below */
                continue;
            }
            ck_assert_int_eq(jump.joint, joint);
            ck_assert_int_eq(jump.is_length, 0);
            near1(jump.size, step, 1e-12);
            ck_assert(step > STEP_MAX);
            ++told;
        }
        ck_assert_int_eq(told, skel_ik_motion_jump_count(v));
        jumps += told;
        skel_ik_motion_destroy(v);
    }
    ck_assert_int_gt(jumps, 0);
    skel_ik_destroy(ik);
    chains_free(all, count);
}
END_TEST

/* Frames that nothing reaches stay as tracking left them, and so do those around them. */
START_TEST(out_of_reach_is_left_alone) {
    static targets t;
    chain *all;
    const int count = chains_load(&all);
    const chain *c = named(all, count, "ur5");
    joint_path(c, 3, &t);
    for (int f = 60; f < 120; ++f) { /* away and back */
        const double away = 3 * c->reach * sin(3.14159265 * (f - 60) / 60);
        t.position[3 * f] += t.position[3 * f] < 0 ? -away : away;
    }
    skel_ik_motion *a = solved(c, &t, (options){.causal = 1});
    skel_ik_motion *b = solved(c, &t, (options){0});
    ck_assert_int_ge(lost_frames(c, &t, a), 30);
    ck_assert_int_le(lost_frames(c, &t, b), lost_frames(c, &t, a));
    ck_assert_int_ge(lost_frames(c, &t, b), 30);
    ck_assert_int_eq(
        memcmp(skel_ik_motion_q(a), skel_ik_motion_q(b), 60 * (size_t)c->n * sizeof(double)), 0);
    skel_ik_motion_destroy(a);
    skel_ik_motion_destroy(b);
    chains_free(all, count);
}
END_TEST

/* The caller's bound of a step holds whatever is lost. */
START_TEST(bounds_of_steps_hold) {
    static targets t;
    chain *all;
    const int count = chains_load(&all);
    const chain *c = named(all, count, "franka_panda");
    for (uint64_t k = 0; k < 3; ++k) {
        joint_path(c, 40 + k, &t);
        const options o = {.max_step = 0.06}, causal = {.max_step = 0.06, .causal = 1};
        skel_ik_motion *a = solved(c, &t, causal), *b = solved(c, &t, o);
        ck_assert(longest_step(c, &t, b) <= 0.06 + 1e-12);
        ck_assert_int_le(lost_frames(c, &t, b), lost_frames(c, &t, a));
        skel_ik_motion_destroy(a);
        skel_ik_motion_destroy(b);
    }
    chains_free(all, count);
}
END_TEST

/* ---- a character ---- */

/* Hands and feet of a humanoid on paths that a swinging pose gives, on top of an animation: balls,
   a free root, priorities, blends. Never fewer frames are reached than by tracking alone. */
START_TEST(characters_are_no_worse) {
    enum { N = 40 };
    static double positions[3][3 * N], base[N * MOST], roots[N * 7 * MOST];
    scene s = scene_humanoid((humanoid_options){.edit = humanoid_limits});
    const char *name[] = {"hand.L", "hand.R", "foot.R"};
    skel_goal_desc g[3];
    skel_goal_track track[3];
    double q[MOST], poses[7 * MOST], rest[MOST];
    const size_t nq = (size_t)s.model->nq, nb = (size_t)s.model->nb;
    memset(track, 0, sizeof track);
    skel_state_get_q(s.state, rest);
    for (int f = 0; f < N; ++f) {
        for (size_t k = 0; k < nq; ++k) q[k] = rest[k] + 0.5 * sin(0.1 * f * (1 + _i) + (double)k);
        skel_fk(s.model, q, poses);
        for (int i = 0; i < 3; ++i) {
            g[i] = goal_of(skel_model_find_body(s.model, name[i]));
            g[i].priority = i == 2;
            memcpy(positions[i] + 3 * f, poses + 7 * g[i].body, 3 * sizeof(double));
        }
        memcpy(base + (size_t)f * nq, rest, nq * sizeof(double));
        memcpy(roots + 7 * (size_t)f * nb, poses, 7 * nb * sizeof(double));
    }
    for (int i = 0; i < 3; ++i) {
        track[i].positions = positions[i];
        track[i].position_count = N;
    }
    skel_ik_desc d = desc_of(s.model, g, 3);
    skel_ik_motion_desc m;
    skel_ik_motion *v[2];
    int reached[2] = {0, 0};
    d.mode = SKEL_IK_TRACK;
    d.root = _i % 2 ? SKEL_IK_ROOT_MOVES : SKEL_IK_ROOT_HELD;
    skel_ik_motion_desc_init(&m);
    m.ik = &d;
    m.tracks = track;
    m.sample_count = N;
    m.base = base;
    m.base_poses = roots;
    m.base_posture = _i >= 2;
    m.blend_in = 4;
    for (uint32_t k = 0; k < 2; ++k) {
        m.causal = k;
        ck_assert_int_eq(skel_ik_motion_start(&m, &v[k], NULL), SKEL_OK);
        ck_assert_int_eq(skel_ik_motion_advance(v[k], -1), SKEL_OK);
        for (int f = 0; f < N; ++f) {
            ck_assert(limits_broken(s.model, skel_ik_motion_q(v[k]) + (size_t)f * nq) <= 0);
            if (f >= 4) reached[k] += skel_ik_motion_receipts(v[k])[f].reached;
        }
    }
    ck_assert_int_ge(reached[0], reached[1]);
    for (size_t k = 0; k < nq; ++k) /* the blend begins with the animation */
        near1(skel_ik_motion_q(v[0])[k], base[k], 1e-12);
    skel_ik_motion_destroy(v[0]);
    skel_ik_motion_destroy(v[1]);
    scene_free(&s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("ik_motion");
    TCase *c = tcase_create("laws");
    tcase_add_loop_test(c, reachable_paths_are_not_lost, 0, 4);
    tcase_add_test(c, good_motions_stay_as_they_are);
    tcase_add_test(c, work_comes_in_slices);
    tcase_add_test(c, jumps_are_told);
    tcase_add_test(c, out_of_reach_is_left_alone);
    tcase_add_test(c, bounds_of_steps_hold);
    tcase_add_loop_test(c, characters_are_no_worse, 0, 4);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
