/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared by the readers of robots: the robot of a scene and its model; poses and inertias as arrays
   of numbers. */
#include "robot/robot.h"

#include <skel/skel_robot.h>

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Smallest determinant of an inertia relative to the cube of its mean moment. The mean moment is
   the same in all axes, and its cube is at least the product of the diagonal. So the model, which
   compares with that product and less strictly, accepts the inertia however it is rotated. */
#define ROBOT_DEFINITE_TOL 1e-13
#define ROBOT_GYRATION_TOL 1e-6 /* relative to the length: smaller radii are rounding errors */
#define ROBOT_TRIANGLE_TOL 1e-9 /* relative to the trace */

/* ---- poses and inertias ---------------------------------------------------------------------- */

void robot_quat_mul(const double a[4], const double b[4], double out[4]) {
    const double q[4] = {a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
                         a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
                         a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
                         a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0]};
    memcpy(out, q, sizeof q);
}

void robot_pose_mul(const double a[7], const double b[7], double out[7]) {
    double x[7];
    scene_rotate(a + 3, b, x);
    for (int k = 0; k < 3; ++k) x[k] += a[k];
    robot_quat_mul(a + 3, b + 3, x + 3);
    doc_normalise(x + 3, 4);
    memcpy(out, x, sizeof x);
}

void robot_pose_inverse(const double a[7], double out[7]) {
    const double back[3] = {-a[0], -a[1], -a[2]};
    double x[7] = {0, 0, 0, a[3], -a[4], -a[5], -a[6]};
    scene_unrotate(a + 3, back, x);
    memcpy(out, x, sizeof x);
}

/* Column k of R I R^T is R (I (R^T e_k)). */
void robot_inertia_rotate(const double q[4], const double i[6], double out[6]) {
    double m[3][3];
    for (int k = 0; k < 3; ++k) {
        double e[3] = {0}, b[3];
        e[k] = 1.0;

        scene_unrotate(q, e, b);
        const double h[3] = {i[0] * b[0] + i[3] * b[1] + i[4] * b[2],
                             i[3] * b[0] + i[1] * b[1] + i[5] * b[2],
                             i[4] * b[0] + i[5] * b[1] + i[2] * b[2]};
        scene_rotate(q, h, m[k]);
    }

    /* Symmetric up to rounding: the mean of both halves. */
    const double all[6] = {m[0][0],
                           m[1][1],
                           m[2][2],
                           0.5 * (m[0][1] + m[1][0]),
                           0.5 * (m[0][2] + m[2][0]),
                           0.5 * (m[1][2] + m[2][1])};
    memcpy(out, all, sizeof all);
}

/* Sylvester's criterion: all leading minors are positive, the determinant relative to the cube of
   the mean moment. */
static bool definite(const double m[6], double tolerance) {
    const double xx = m[0], yy = m[1], zz = m[2], xy = m[3], xz = m[4], yz = m[5];
    const double mean = (xx + yy + zz) / 3.0;
    const double det =
        xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz);
    return xx > 0.0 && xx * yy - xy * xy > 0.0 && det > tolerance * mean * mean * mean;
}

bool robot_inertia_definite(const double i[6]) {
    double unit[6], largest = 0.0;
    for (int k = 0; k < 6; ++k) largest = fmax(largest, fabs(i[k]));
    if (!(largest > 0.0)) return false;

    /* Scaled to 1, so that no product underflows. */
    for (int k = 0; k < 6; ++k) unit[k] = i[k] / largest;
    return definite(unit, ROBOT_DEFINITE_TOL);
}

bool robot_inertia_solid(double mass, const double i[6], double length) {
    const double least = mass * ROBOT_GYRATION_TOL * ROBOT_GYRATION_TOL * length * length;
    const double excess[6] = {i[0] - least, i[1] - least, i[2] - least, i[3], i[4], i[5]};
    return robot_inertia_definite(i) && robot_inertia_definite(excess);
}

/* The second moments of mass, tr(I) / 2 - I, must be positive definite. */
bool robot_inertia_real(const double i[6]) {
    const double trace = i[0] + i[1] + i[2], half = 0.5 * trace;
    double second[6] = {0, 0, 0, -i[3], -i[4], -i[5]};

    for (int k = 0; k < 3; ++k) second[k] = half - i[k] + ROBOT_TRIANGLE_TOL * trace;
    for (int k = 0; k < 6; ++k) second[k] /= trace;
    return definite(second, 0.0);
}

/* ---- the robot ------------------------------------------------------------------------------- */

robot_data *robot_new(skel_scene *scene) {
    robot_data *r = calloc(1, sizeof *r);
    if (!r) return NULL;
    r->tool = -1;
    robot_free(scene->robot);
    scene->robot = r;
    return r;
}

void robot_free(robot_data *robot) {
    if (!robot) return;
    arena_free(&robot->arena);
    free(robot);
}

void robot_note(document *doc, skel_status status, const char *form, ...) {
    skel_error err;
    va_list args;
    skel_error_init(&err);
    va_start(args, form);
    vsnprintf(err.text, sizeof err.text, form, args);
    va_end(args);

    /* Names from the document may contain control characters. */
    for (char *c = err.text; *c; ++c)
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    doc_pass_on(doc, status, &err);
}

void robot_part_name(const skel_joint_desc *joint, int32_t k, char *out, size_t size) {
    const skel_joint_kind kind = scene_joint_kind(joint->type);
    if (kind.dof > 1)
        snprintf(out, size, "%s.%c", joint->name, "xyz"[kind.dof_axis[k]]);
    else
        snprintf(out, size, "%s", joint->name);
}

bool robot_has_range(const skel_joint_desc *joint, int32_t k) {
    const skel_joint_kind kind = scene_joint_kind(joint->type);
    return joint->limits.is_set && kind.q_kind[0] != SKEL_COORDINATE_QUATERNION &&
           k < kind.limit_count;
}

/* Translates a message of the engine: "bodies[3].inertia: ..." to "link 'elbow': inertia: ...". */
static void pass_on(document *doc, skel_status status, const skel_error *err,
                    const skel_body_desc *bodies, const skel_joint_desc *joints) {
    const char *dot = strchr(err->text, '.');
    if (status == SKEL_E_MEMORY)
        doc->no_memory = true;
    else if (err->body >= 0 && dot)
        robot_note(doc, status, "link '%.60s': %s", bodies[err->body].name, dot + 1);
    else if (err->joint >= 0 && dot)
        robot_note(doc, status, "joint '%.60s': %s", joints[err->joint].name, dot + 1);
    else
        robot_note(doc, status, "document: %s", err->text);
}

void scene_build(document *doc, skel_scene *s, const skel_body_desc *bodies, int32_t nb,
                 const skel_joint_desc *joints, int32_t nj) {
    skel_model_desc desc;
    skel_error err;
    skel_model_desc_init(&desc);
    skel_error_init(&err);
    desc.bodies = bodies;
    desc.body_count = (uint32_t)nb;
    desc.body_stride = sizeof *bodies;
    desc.joints = joints;
    desc.joint_count = (uint32_t)nj;
    desc.joint_stride = sizeof *joints;

    const skel_status status = skel_model_create(&desc, &s->model, &err);
    s->bake.model = s->model;
    scene_ik_bind(s, 1);
    if (status != SKEL_OK) pass_on(doc, status, &err, bodies, joints);
}

/* ---- texts ----------------------------------------------------------------------------------- */

skel_status text_give(const text_buffer *t, char *text, size_t capacity, size_t *needed) {
    if (needed) *needed = t->length;
    if (t->failed) return SKEL_E_MEMORY;
    if (capacity <= t->length) return SKEL_E_BUFFER;
    memcpy(text, text_get(t), t->length + 1);
    return SKEL_OK;
}

/* Number of bytes after the first byte of a UTF-8 character; -1 if no character begins with it. */
static int32_t tail_length(unsigned char first) {
    if (first < 0x80) return 0;
    if (first >= 0xc2 && first < 0xe0) return 1;
    if (first >= 0xe0 && first < 0xf0) return 2;
    return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

bool robot_is_name(const char *text) {
    const unsigned char *c = (const unsigned char *)text;
    const size_t n = strlen(text);
    if (n < 1 || n > 255) return false;

    while (*c) {
        /* Control characters: C0, DEL, and C1 (U+0080 to U+009F). */
        if (*c < 0x20 || *c == 0x7f || (*c == 0xc2 && c[1] < 0xa0)) return false;

        int32_t tail = tail_length(*c++);
        if (tail < 0) return false;
        for (; tail > 0; --tail)
            if ((*c++ & 0xc0) != 0x80) return false;
    }
    return true;
}

/* ---- public ---------------------------------------------------------------------------------- */

int32_t skel_scene_frame_count(const skel_scene *scene) {
    return scene && scene->robot ? scene->robot->frame_count : 0;
}

const char *skel_scene_frame_name(const skel_scene *scene, int32_t frame) {
    if (frame < 0 || frame >= skel_scene_frame_count(scene)) return NULL;
    return scene->robot->frames[frame].name;
}

skel_status skel_scene_get_frame(const skel_scene *scene, int32_t frame, int32_t *body,
                                 double pose[7]) {
    if (frame < 0 || frame >= skel_scene_frame_count(scene)) return SKEL_E_ARGUMENT;
    const robot_frame *f = &scene->robot->frames[frame];
    if (body) *body = f->body;
    if (pose) memcpy(pose, f->pose, sizeof f->pose);
    return SKEL_OK;
}

int32_t skel_scene_tool(const skel_scene *scene) {
    return scene && scene->robot ? scene->robot->tool : -1;
}

int32_t skel_scene_pose_count(const skel_scene *scene) {
    return scene && scene->robot ? scene->robot->pose_count : 0;
}

const char *skel_scene_pose_name(const skel_scene *scene, int32_t pose) {
    if (pose < 0 || pose >= skel_scene_pose_count(scene)) return NULL;
    return scene->robot->poses[pose].name;
}

const double *skel_scene_pose_q(const skel_scene *scene, int32_t pose) {
    if (pose < 0 || pose >= skel_scene_pose_count(scene)) return NULL;
    return scene->robot->poses[pose].q;
}
