/* SPDX-License-Identifier: BSD-3-Clause */
/* Inverse kinematics beside KDL's ChainIkSolverPos_LMA, the same targets, CPU time of one thread:
     skel_kdl [COUNT]    solves per chain, default 2000
   reach   random reachable poses from the middle of the limits; KDL starts again from random seeds
           (up to 200) where it fails, and is not asked to keep limits
   track   smooth paths of 200 frames, warm start; largest step of a joint
   beyond  the tip goes 2 cm farther out than it can, and back; largest step of a joint
   long    chains of ball joints (for KDL three hinges each), position only
   Prints a table per part; a ratio is ours over KDL's. */
#include "shared/chains.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <kdl/chain.hpp>
#include <kdl/chainfksolverpos_recursive.hpp>
#include <kdl/chainiksolverpos_lma.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {

const double k_pi = 3.14159265358979323846;

double cpu() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return double(t.tv_sec) + 1e-9 * double(t.tv_nsec);
}

KDL::Frame frame_of(const double p[7]) {
    return KDL::Frame(KDL::Rotation::Quaternion(p[4], p[5], p[6], p[3]),
                      KDL::Vector(p[0], p[1], p[2]));
}

KDL::Chain kdl_chain(const chain &c) {
    KDL::Chain k;
    k.addSegment(KDL::Segment(KDL::Joint(KDL::Joint::None), frame_of(c.origin[0])));
    for (int i = 0; i < c.n; ++i) {
        const KDL::Vector axis(c.axis[i][0], c.axis[i][1], c.axis[i][2]);
        const KDL::Joint joint("j", KDL::Vector::Zero(), axis,
                               c.slides[i] ? KDL::Joint::TransAxis : KDL::Joint::RotAxis);
        k.addSegment(KDL::Segment(joint, frame_of(i + 1 < c.n ? c.origin[i + 1] : c.tip)));
    }
    return k;
}

skel_ik *solver(const chain &c, int mode) {
    skel_goal_desc g = chain_goal(&c);
    skel_ik_desc d;
    skel_ik *ik = nullptr;
    skel_error err;
    skel_error_init(&err);
    skel_ik_desc_init(&d);
    d.model = c.model, d.goals = &g, d.goal_count = 1, d.mode = mode;
    if (skel_ik_create(&d, &ik, &err) != SKEL_OK) {
        std::fprintf(stderr, "%s\n", err.text);
        std::exit(1);
    }
    return ik;
}

/* LMA with the tolerance of the test: metres and radians weigh the same. */
std::unique_ptr<KDL::ChainIkSolverPos_LMA> lma(const KDL::Chain &k) {
    const Eigen::Matrix<double, 6, 1> weight = Eigen::Matrix<double, 6, 1>::Ones();
    return std::unique_ptr<KDL::ChainIkSolverPos_LMA>(
        new KDL::ChainIkSolverPos_LMA(k, weight, 1e-5, 500, 1e-15));
}

/* Whole turns taken off; does it keep the limits? */
bool within(const chain &c, const KDL::JntArray &q) {
    for (int j = 0; j < c.n; ++j) {
        if (c.continuous[j]) continue;
        double a = q(unsigned(j));
        if (!c.slides[j])
            a -= 2 * k_pi * std::round((a - 0.5 * (c.low[j] + c.high[j])) / (2 * k_pi));
        if (a < c.low[j] - 1e-9 || a > c.high[j] + 1e-9) return false;
    }
    return true;
}

struct tally {
    double time = 0;
    int failed = 0, restarts = 0;
};

typedef std::vector<std::array<double, 7>> targets;

tally solve_ours(const chain &c, const targets &goals) {
    skel_ik *ik = solver(c, SKEL_IK_POSE);
    tally t;
    double q[CHAIN_MAX];
    const double begun = cpu();
    for (const auto &goal : goals) {
        skel_ik_receipt receipt = {};
        receipt.struct_size = sizeof receipt;
        chain_middle(&c, q);
        skel_ik_set_target(ik, 0, goal.data(), goal.data() + 3);
        skel_ik_solve(ik, q, &receipt, nullptr);
        t.failed += !receipt.reached;
        t.restarts += receipt.restarts;
    }
    t.time = cpu() - begun;
    skel_ik_destroy(ik);
    return t;
}

/* From the middle, then from random seeds. */
tally solve_kdl(const chain &c, const targets &goals, bool limits) {
    const KDL::Chain k = kdl_chain(c);
    const auto peer = lma(k);
    rng dice = rng_seed(99);
    KDL::JntArray seed(unsigned(c.n)), out(unsigned(c.n));
    tally t;
    double q[CHAIN_MAX];
    const double begun = cpu();
    for (const auto &goal : goals) {
        const KDL::Frame frame = frame_of(goal.data());
        chain_middle(&c, q);
        for (int j = 0; j < c.n; ++j) seed(unsigned(j)) = q[j];
        bool ok = peer->CartToJnt(seed, frame, out) >= 0 && (!limits || within(c, out));
        for (int r = 0; !ok && r < 200; ++r, ++t.restarts) {
            chain_random(&c, &dice, q);
            for (int j = 0; j < c.n; ++j) seed(unsigned(j)) = q[j];
            ok = peer->CartToJnt(seed, frame, out) >= 0 && (!limits || within(c, out));
        }
        t.failed += !ok;
    }
    t.time = cpu() - begun;
    return t;
}

void reach(const chain *c, int count, int solves) {
    std::printf("reach: %d poses a chain; KDL with restarts, keeping limits and not\n"
                "%-16s %7s %6s | %8s %6s %8s %6s | %8s %6s %6s\n",
                solves, "chain", "us", "failed", "KDL us", "failed", "restarts", "ratio", "KDL us",
                "failed", "ratio");
    for (int i = 0; i < count; ++i) {
        rng r = rng_seed(uint64_t(i) + 1);
        targets goals{size_t(solves)};
        for (auto &goal : goals) {
            double q[CHAIN_MAX];
            chain_random(&c[i], &r, q);
            chain_tip(&c[i], q, goal.data());
        }
        const tally ours = solve_ours(c[i], goals), strict = solve_kdl(c[i], goals, true),
                    loose = solve_kdl(c[i], goals, false);
        const double us = 1e6 / solves;
        std::printf("%-16s %7.2f %6d | %8.1f %6d %8.2f %6.3f | %8.1f %6d %6.3f\n", c[i].name,
                    us * ours.time, ours.failed, us * strict.time, strict.failed,
                    double(strict.restarts) / solves, ours.time / strict.time, us * loose.time,
                    loose.failed, ours.time / loose.time);
        std::fflush(stdout);
    }
}

/* A smooth path in joint space, well inside the limits; the tip's path is reachable throughout. */
void path_point(const chain &c, const double *middle, const double *swing, double t, double *q) {
    for (int j = 0; j < c.n; ++j)
        q[j] = middle[j] + swing[j] * std::sin(2 * k_pi * t * (1 + j % 2) + 0.7 * j);
}

void random_path(const chain &c, rng *r, double *middle, double *swing) {
    for (int j = 0; j < c.n; ++j) {
        const double low = c.continuous[j] ? -k_pi : c.low[j];
        const double high = c.continuous[j] ? k_pi : c.high[j], half = 0.5 * (high - low);
        swing[j] = std::min(0.35 * half, 0.6) * rng_range(r, 0.3, 1);
        middle[j] = 0.5 * (low + high) + rng_range(r, -1, 1) * (0.95 * half - swing[j]);
    }
}

double largest_step(const double *a, const double *b, int n) {
    double most = 0;
    for (int j = 0; j < n; ++j) most = std::max(most, std::fabs(a[j] - b[j]));
    return most;
}

void track(const chain *c, int count, int paths) {
    std::printf("\ntrack: %d paths of 200 frames a chain; jumps: paths with a step > 0.3\n"
                "%-16s %7s %8s %7s %5s | %7s %8s %7s %5s %6s\n",
                paths, "chain", "us", "unsolved", "step", "jumps", "KDL us", "unsolved", "step",
                "jumps", "ratio");
    for (int i = 0; i < count; ++i) {
        const KDL::Chain k = kdl_chain(c[i]);
        const auto peer = lma(k);
        skel_ik *ik = solver(c[i], SKEL_IK_TRACK);
        rng r = rng_seed(uint64_t(i) + 17);
        const unsigned n = unsigned(c[i].n);
        int unsolved[2] = {0, 0};
        double time[2] = {0, 0}, step[2] = {0, 0};
        int jumps[2] = {0, 0};
        for (int p = 0; p < paths; ++p) {
            double most[2] = {0, 0};
            double middle[CHAIN_MAX], swing[CHAIN_MAX], q[CHAIN_MAX], was[CHAIN_MAX],
                want[CHAIN_MAX];
            KDL::JntArray at(n), next(n);
            random_path(c[i], &r, middle, swing);
            path_point(c[i], middle, swing, 0, q);
            for (unsigned j = 0; j < n; ++j) at(j) = q[j];
            for (int f = 1; f <= 200; ++f) {
                double target[7];
                path_point(c[i], middle, swing, f / 200.0, want);
                chain_tip(&c[i], want, target);
                skel_ik_receipt receipt = {};
                receipt.struct_size = sizeof receipt;
                std::memcpy(was, q, sizeof was);
                skel_ik_set_target(ik, 0, target, target + 3);
                double begun = cpu();
                skel_ik_solve(ik, q, &receipt, nullptr);
                time[0] += cpu() - begun;
                unsolved[0] += !receipt.reached;
                most[0] = std::max(most[0], largest_step(q, was, c[i].n));
                begun = cpu();
                const int ok = peer->CartToJnt(at, frame_of(target), next) >= 0;
                time[1] += cpu() - begun;
                unsolved[1] += !ok;
                most[1] = std::max(most[1], largest_step(next.data.data(), at.data.data(), c[i].n));
                at = next;
            }
            for (int k : {0, 1}) {
                step[k] = std::max(step[k], most[k]);
                jumps[k] += most[k] > 0.3;
            }
        }
        const double frames = 200.0 * paths;
        std::printf("%-16s %7.2f %8d %7.3f %5d | %7.1f %8d %7.3f %5d %6.3f\n", c[i].name,
                    1e6 * time[0] / frames, unsolved[0], step[0], jumps[0], 1e6 * time[1] / frames,
                    unsolved[1], step[1], jumps[1], time[0] / time[1]);
        std::fflush(stdout);
        skel_ik_destroy(ik);
    }
}

/* From a reachable pose straight out, away from the base, until 2 cm beyond what it can, and back. */
void beyond(const chain *c, int count) {
    std::printf("\nbeyond: 2 cm beyond the reach and back, 20 lines a chain\n%-16s %9s %9s\n",
                "chain", "step", "KDL step");
    for (int i = 0; i < count; ++i) {
        const KDL::Chain k = kdl_chain(c[i]);
        const auto peer = lma(k);
        skel_ik *ik = solver(c[i], SKEL_IK_TRACK), *probe = solver(c[i], SKEL_IK_TRACK);
        rng r = rng_seed(uint64_t(i) + 5);
        const unsigned n = unsigned(c[i].n);
        double step[2] = {0, 0};
        for (int line = 0; line < 20; ++line) {
            double start[CHAIN_MAX], q[CHAIN_MAX], was[CHAIN_MAX], from[7], target[7], out = 0;
            chain_random(&c[i], &r, start);
            chain_middle(&c[i], q);
            for (int j = 0; j < c[i].n; ++j) start[j] = 0.5 * (start[j] + q[j]);
            chain_tip(&c[i], start, from);
            const double *base = c[i].origin[1];
            double way[3], size = 0;
            for (int a = 0; a < 3; ++a) way[a] = from[a] - base[a], size += way[a] * way[a];
            for (int a = 0; a < 3; ++a) way[a] /= std::sqrt(size);
            std::memcpy(target, from, sizeof target);
            std::memcpy(q, start, sizeof q);
            for (int f = 0; f < 2000; ++f) { /* how far out it can go */
                for (int a = 0; a < 3; ++a) target[a] = from[a] + 0.001 * f * way[a];
                skel_ik_receipt receipt = {};
                receipt.struct_size = sizeof receipt;
                skel_ik_set_target(probe, 0, target, target + 3);
                skel_ik_solve(probe, q, &receipt, nullptr);
                if (!receipt.reached) break;
                out = 0.001 * f;
            }
            KDL::JntArray at(n), next(n);
            std::memcpy(q, start, sizeof q);
            for (unsigned j = 0; j < n; ++j) at(j) = q[j];
            const int frames = int((out + 0.02) / 0.002);
            for (int f = 1; f <= 2 * frames; ++f) {
                const double d = 0.002 * (f <= frames ? f : 2 * frames - f);
                for (int a = 0; a < 3; ++a) target[a] = from[a] + d * way[a];
                std::memcpy(was, q, sizeof was);
                skel_ik_set_target(ik, 0, target, target + 3);
                skel_ik_solve(ik, q, nullptr, nullptr);
                step[0] = std::max(step[0], largest_step(q, was, c[i].n));
                peer->CartToJnt(at, frame_of(target), next);
                step[1] = std::max(step[1], largest_step(next.data.data(), at.data.data(), c[i].n));
                at = next;
            }
        }
        std::printf("%-16s %9.3f %9.3f\n", c[i].name, step[0], step[1]);
        std::fflush(stdout);
        skel_ik_destroy(ik);
        skel_ik_destroy(probe);
    }
}

skel_model *rope(int n, double link) {
    std::vector<skel_body_desc> body{size_t(n)};
    std::vector<skel_joint_desc> joint{size_t(n)};
    std::vector<std::string> name{size_t(2 * n)};
    skel_model_desc d;
    skel_model *model = nullptr;
    skel_model_desc_init(&d);
    for (int i = 0; i < n; ++i) {
        skel_body_desc_init(&body[size_t(i)]);
        skel_joint_desc_init(&joint[size_t(i)]);
        name[size_t(2 * i)] = "b" + std::to_string(i);
        name[size_t(2 * i + 1)] = "j" + std::to_string(i);
        skel_body_desc &b = body[size_t(i)];
        skel_joint_desc &j = joint[size_t(i)];
        b.name = name[size_t(2 * i)].c_str(), b.unplaced = 1;
        j.name = name[size_t(2 * i + 1)].c_str(), j.type = SKEL_JOINT_BALL;
        j.parent = i - 1, j.child = i;
        j.parent_position[2] = i > 0 ? link / 2 : 0;
        j.child_position[2] = -link / 2;
    }
    d.bodies = body.data(), d.body_count = uint32_t(n);
    d.joints = joint.data(), d.joint_count = uint32_t(n);
    skel_error err;
    skel_error_init(&err);
    if (skel_model_create(&d, &model, &err) != SKEL_OK) std::exit(1);
    return model;
}

void long_chains(int solves) {
    std::printf("\nlong: %d targets a chain\n%-6s %9s %9s %8s %9s %9s %7s\n", solves, "N", "us",
                "failed", "its", "KDL us", "failed", "ratio");
    for (const int n : {3, 10, 30, 100, 300}) {
        const double link = 1.0 / n;
        skel_model *model = rope(n, link);
        KDL::Chain k;
        for (int i = 0; i < n; ++i) {
            k.addSegment(KDL::Segment(KDL::Joint(KDL::Joint::RotX)));
            k.addSegment(KDL::Segment(KDL::Joint(KDL::Joint::RotY)));
            k.addSegment(
                KDL::Segment(KDL::Joint(KDL::Joint::RotZ), KDL::Frame(KDL::Vector(0, 0, link))));
        }
        Eigen::Matrix<double, 6, 1> weight;
        weight << 1, 1, 1, 0, 0, 0;
        KDL::ChainIkSolverPos_LMA peer(k, weight, 1e-5, 500, 1e-15);
        skel_goal_desc g;
        skel_ik_desc d;
        skel_ik *ik = nullptr;
        skel_goal_desc_init(&g);
        g.body = n - 1, g.point[2] = link / 2;
        skel_ik_desc_init(&d);
        d.model = model, d.goals = &g, d.goal_count = 1;
        if (skel_ik_create(&d, &ik, nullptr) != SKEL_OK) std::exit(1);
        rng r = rng_seed(uint64_t(n));
        std::vector<double> q(size_t(4 * n));
        double time[2] = {0, 0}, its = 0;
        int failed[2] = {0, 0};
        const int kdl_solves = n > 100 ? std::min(solves, 5) : std::min(solves, 50);
        for (int s = 0; s < solves; ++s) {
            double target[3], size = 0;
            for (double &x : target) x = rng_range(&r, -1, 1), size += x * x;
            const double out = rng_range(&r, 0.1, 0.98) / std::sqrt(size);
            for (double &x : target) x *= out;
            for (int i = 0; i < n; ++i) { /* bent a little, so that KDL can move */
                q[size_t(4 * i)] = 1, q[size_t(4 * i + 1)] = 0.05, q[size_t(4 * i + 2)] = 0.02;
                q[size_t(4 * i + 3)] = 0;
            }
            skel_ik_receipt receipt = {};
            receipt.struct_size = sizeof receipt;
            skel_ik_set_target(ik, 0, target, nullptr);
            double begun = cpu();
            skel_ik_solve(ik, q.data(), &receipt, nullptr);
            time[0] += cpu() - begun;
            failed[0] += !receipt.reached;
            its += receipt.iterations;
            if (s >= kdl_solves) continue;
            KDL::JntArray seed(unsigned(3 * n)), found(unsigned(3 * n));
            for (unsigned i = 0; i < unsigned(n); ++i) seed(3 * i) = 0.1, seed(3 * i + 1) = 0.04;
            begun = cpu();
            failed[1] +=
                peer.CartToJnt(seed, KDL::Frame(KDL::Vector(target[0], target[1], target[2])),
                               found) < 0;
            time[1] += cpu() - begun;
        }
        std::printf("%-6d %9.1f %9d %8.1f %9.1f %9d %7.4f\n", n, 1e6 * time[0] / solves, failed[0],
                    its / solves, 1e6 * time[1] / kdl_solves, failed[1],
                    time[0] / solves / (time[1] / kdl_solves));
        std::fflush(stdout);
        skel_ik_destroy(ik);
        skel_model_destroy(model);
    }
}

} // namespace

int main(int argc, char **argv) {
    chain *c = nullptr;
    const int count = chains_load(&c);
    const int solves = argc > 1 ? std::atoi(argv[1]) : 2000;
    reach(c, count, solves);
    track(c, count, std::max(1, solves / 50));
    beyond(c, count);
    long_chains(std::max(1, solves / 10));
    chains_free(c, count);
    return 0;
}
