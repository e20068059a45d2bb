/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared/chains.h"
#include "math/quat.h"
#include "document/json.h"
#include "shared/scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void read_file(const char *path, json_tree *tree) {
    FILE *f = fopen(path, "rb");
    if (!f) fprintf(stderr, "%s: cannot be read\n", path), abort();
    fseek(f, 0, SEEK_END);
    const long size = ftell(f);
    rewind(f);
    char *text = malloc((size_t)size + 1);
    if (!text || fread(text, 1, (size_t)size, f) != (size_t)size) abort();
    fclose(f);
    char message[200];
    if (json_parse(tree, text, (size_t)size, message, sizeof message) != SKEL_OK) abort();
    free(text);
}

/* 3 x 4, row-major. */
static void pose_from(const json_value *list, double out[7]) {
    double a[12];
    for (int k = 0; k < 12; ++k) a[k] = json_element(list, k)->number;
    const m3 r = {{{a[0], a[1], a[2]}, {a[4], a[5], a[6]}, {a[8], a[9], a[10]}}};
    out[0] = a[3], out[1] = a[7], out[2] = a[11];
    q_to(q_from_matrix(r), out + 3);
}

static void read_joint(chain *c, int k, const json_value *j) {
    const json_value *axis = json_member(j, "axis");
    pose_from(json_member(j, "origin"), c->origin[k]);
    for (int i = 0; i < 3; ++i) c->axis[k][i] = json_element(axis, i)->number;
    c->low[k]        = json_member(j, "lower")->number;
    c->high[k]       = json_member(j, "upper")->number;
    c->continuous[k] = json_is_true(json_member(j, "continuous"));
    c->slides[k]     = strcmp(json_member(j, "type")->text, "prismatic") == 0;
}

/* The shortest turn from z to the axis: the joint's frame in the link's. */
static quat z_to(const double axis[3]) {
    const v3 z = {0, 0, 1}, a = v3_scale(v3_of(axis), 1 / v3_norm(v3_of(axis)));
    if (a.z < -1 + 1e-12) return (quat){0, 1, 0, 0};
    const v3 c = v3_cross(z, a);
    return q_unit((quat){1 + a.z, c.x, c.y, c.z});
}

static void build(chain *c) {
    skel_body_desc  body[CHAIN_MAX];
    skel_joint_desc joint[CHAIN_MAX];
    char            name[CHAIN_MAX][2][16];
    skel_model_desc d;
    skel_error      err;
    skel_error_init(&err);
    skel_model_desc_init(&d);
    for (int k = 0; k < c->n; ++k) {
        skel_body_desc_init(&body[k]);
        skel_joint_desc_init(&joint[k]);
        snprintf(name[k][0], sizeof name[k][0], "link%d", k + 1);
        snprintf(name[k][1], sizeof name[k][1], "joint%d", k + 1);
        body[k].name = name[k][0], body[k].unplaced = 1;
        joint[k].name   = name[k][1];
        joint[k].type   = c->slides[k] ? SKEL_JOINT_SLIDE : SKEL_JOINT_HINGE;
        joint[k].parent = k - 1, joint[k].child = k;
        const quat turn = z_to(c->axis[k]);
        memcpy(joint[k].parent_position, c->origin[k], 3 * sizeof(double));
        q_to(q_mul(q_of(c->origin[k] + 3), turn), joint[k].parent_orientation);
        q_to(turn, joint[k].child_orientation);
        joint[k].limits.is_set = !c->continuous[k];
        joint[k].limits.low[0] = c->low[k], joint[k].limits.high[0] = c->high[k];
        c->reach += v3_norm(v3_of(c->origin[k]));
    }
    c->reach += v3_norm(v3_of(c->tip));
    d.bodies = body, d.body_count = (uint32_t)c->n, d.joints = joint,
    d.joint_count = (uint32_t)c->n;
    scene_demand(skel_model_create(&d, &c->model, &err), &err);
}

void chain_on_base(const chain *of, int turns, int slides, double limit, chain *out) {
    const int extra = turns + slides;
    memset(out, 0, sizeof *out);
    snprintf(out->name, sizeof out->name, "%.40s on a base", of->name);
    out->n = of->n + extra;
    if (out->n > CHAIN_MAX) abort();

    for (int k = 0; k < extra; ++k) {
        const int along                          = turns ? k - 1 : k; /* 0: x, 1: y */
        out->origin[k][3]                        = 1;
        out->slides[k]                           = !(turns && k == 0);
        out->low[k]                              = -limit;
        out->high[k]                             = limit;
        out->axis[k][out->slides[k] ? along : 2] = 1;
    }
    for (int k = 0; k < of->n; ++k) {
        memcpy(out->origin[extra + k], of->origin[k], sizeof of->origin[k]);
        memcpy(out->axis[extra + k], of->axis[k], sizeof of->axis[k]);
        out->slides[extra + k]     = of->slides[k];
        out->continuous[extra + k] = of->continuous[k];
        out->low[extra + k]        = of->low[k];
        out->high[extra + k]       = of->high[k];
    }
    memcpy(out->tip, of->tip, sizeof out->tip);
    build(out);
}

int chains_load(chain **out) {
    json_tree tree;
    read_file(SKEL_TEST_DATA "/ik_chains.json", &tree);
    const json_value *root  = tree.root;
    const int         count = json_size(root);
    *out                    = calloc((size_t)count, sizeof **out);
    if (!*out) abort();
    for (int i = 0; i < count; ++i) {
        const json_value *node = json_element(root, i), *joints = json_member(node, "joints");
        chain            *c = &(*out)[i];
        snprintf(c->name, sizeof c->name, "%s", json_member(node, "name")->text);
        c->n = json_size(joints);
        if (c->n > CHAIN_MAX) abort();
        for (int k = 0; k < c->n; ++k) read_joint(c, k, json_element(joints, k));
        pose_from(json_member(node, "tip"), c->tip);
        build(c);
    }
    json_free(&tree);
    return count;
}

void chains_free(chain *c, int count) {
    for (int i = 0; i < count; ++i) skel_model_destroy(c[i].model);
    free(c);
}

skel_goal_desc chain_goal(const chain *c) {
    skel_goal_desc g;
    skel_goal_desc_init(&g);
    g.body  = c->n - 1;
    g.parts = SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION;
    memcpy(g.point, c->tip, sizeof g.point);
    memcpy(g.frame, c->tip + 3, sizeof g.frame);
    return g;
}

void chain_random(const chain *c, rng *r, double *q) {
    for (int k = 0; k < c->n; ++k)
        q[k] = c->continuous[k] ? rng_range(r, -3.14159265358979, 3.14159265358979)
                                : rng_range(r, c->low[k], c->high[k]);
}

void chain_middle(const chain *c, double *q) {
    for (int k = 0; k < c->n; ++k) q[k] = c->continuous[k] ? 0 : 0.5 * (c->low[k] + c->high[k]);
}

void chain_tip(const chain *c, const double *q, double *pose7) {
    double poses[7 * CHAIN_MAX];
    if (skel_fk(c->model, q, poses) != SKEL_OK) abort();
    const double *last = poses + 7 * (c->n - 1);
    const pose    at =
        pose_mul((pose){v3_of(last), q_of(last + 3)}, (pose){v3_of(c->tip), q_of(c->tip + 3)});
    v3_to(at.p, pose7);
    q_to(at.q, pose7 + 3);
}

void chain_path(const chain *c, rng *r, int frames, double *q) {
    const double fastest = 0.043;
    for (int k = 0; k < c->n; ++k) {
        const double low  = c->continuous[k] ? -3 : c->low[k],
                     high = c->continuous[k] ? 3 : c->high[k];
        const double half = 0.5 * (high - low), middle = 0.5 * (low + high);
        const double step = fastest * (c->slides[k] ? c->reach : 1);

        /* Two waves that fill the range together, each at its own speed. */
        const double share = rng_range(r, 0.3, 0.9), part[2] = {share, 1 - share};
        double       phase[2], speed[2];
        for (int w = 0; w < 2; ++w) {
            phase[w] = rng_range(r, 0, 6.283185307);
            speed[w] = fmin(rng_range(r, 0.5, 3) * 6.283185307 / frames, step / half);
        }
        for (int f = 0; f < frames; ++f) {
            double at = 0;
            for (int w = 0; w < 2; ++w) at += part[w] * sin(phase[w] + speed[w] * f);
            q[f * c->n + k] = middle + 0.999 * half * at;
        }
    }
}

void chain_keys(const chain *c, rng *r, int keys, int frames, double *position,
                double *orientation) {
    double from[7] = {0}, to[7], q[CHAIN_MAX];
    chain_random(c, r, q);
    chain_tip(c, q, to);
    for (int f = 0, key = 0; f < frames; ++f) {
        if (f == 0 || f * (keys - 1) >= key * (frames - 1)) {
            memcpy(from, to, sizeof from);
            chain_random(c, r, q);
            chain_tip(c, q, to);
            ++key;
        }
        const double part = (double)f * (keys - 1) / (frames - 1) - (key - 1);
        const double w    = part * part * (3 - 2 * part);
        const v3     way  = q_log(q_mul(q_conj(q_of(from + 3)), q_of(to + 3)));
        v3_to(v3_mad(v3_of(from), w, v3_sub(v3_of(to), v3_of(from))), position + 3 * f);
        q_to(q_unit(q_mul(q_of(from + 3), q_exp(v3_scale(way, w)))), orientation + 4 * f);
    }
}
