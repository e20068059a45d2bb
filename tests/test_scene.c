/* SPDX-License-Identifier: BSD-3-Clause */
/* The scene document: what is read, what is refused and how, and that writing changes no bit. */
#include "shared/document.h"
#include "shared/near.h"

#include "document/json_scan.h"
#include "scene/scene.h"
#include "document/text.h"

#include <check.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One of everything: all joint types, shapes, motions, loads, limits, both ways to give a joint. */
static const char k_full[] =
    "{'format':'skel-scene/1','name':'all \\u00e4 \\\"of\\\" it','gravity':[0,0.1,-9.8],"
    "'angle_unit':'deg','bodies':["
    "{'name':'base','motion':'driven','curve':{'time':[-0.5,0.25,1,2],"
    " 'position':[[0,0,1],[0.3,0.1,1.2],[1,0,1],[1,1,1]],"
    " 'orientation':[[1,0,0,0],[0.96,0.28,0,0],[0.6,0.8,0,0],[0.6,0.8,0,0]]}},"
    "{'name':'arm','mass':1.5,'shape':{'type':'capsule','length':0.7,'radius':0.05},"
    " 'position':[1,2,3],'orientation':[0.5,0.5,-0.5,0.5],'velocity':[0.1,0,0],"
    " 'angular_velocity':[0,0.2,-0.0],'force':[1,0,0],'torque':{'time':[0,1],"
    " 'value':[[0,0,0],[0,0.1,0]]}},"
    "{'name':'hand','mass':0.3,'inertia':[0.01,0.02,0.025,0.001,0,-0.002],"
    " 'shape':{'type':'box','size':[0.1,0.2,0.3]},'position':[1.1,2.2,3.3]},"
    "{'name':'finger','mass':0.1,'shape':{'type':'rod','length':0.3}},"
    "{'name':'tip','mass':0.05,'shape':{'type':'sphere','radius':0.01}},"
    "{'name':'car','mass':3,'shape':{'type':'cylinder','length':0.2,'radius':0.1},"
    " 'position':[5,0,0],'orientation':[0.8,0,0.6,0]},"
    "{'name':'rock','motion':'fixed','position':[0,0,-1],'inertia':[1,1,1]},"
    "{'name':'pebble','mass':0.2,'shape':{'type':'sphere','radius':0.1},'position':[0,0,-0.8]}],"
    "'joints':["
    "{'name':'shoulder','type':'ball','bodies':['base','arm'],'anchor':[1,2,3.35],"
    " 'limits':{'cone':60,'twist':[-45,30],'axis':[1,1,0]},'friction':0.01},"
    "{'name':'wrist','type':'universal','bodies':['arm','hand'],'anchor':[1.05,2.1,3.2],"
    " 'axis':[0,1,1],'axis2':[3,0,0],'limits':[[-10,10],[-20,90]]},"
    "{'type':'hinge','bodies':['hand','finger'],'frames':[{'position':[0,0,0.15]},"
    " {'position':[0,0,-0.15],'orientation':[0.96,0,0,0.28]}],'q':30,'motor':2e-7,"
    " 'limits':[-90,90]},"
    "{'type':'ball','bodies':['finger','tip'],'frames':[{'position':[0,0,0.15]},{}],"
    " 'q':[0.6,0,0.8,0]},"
    "{'name':'rail','type':'slide','bodies':['world','car'],'axis':[2,0,1],"
    " 'limits':[-1,1],'motor':{'time':[0,0.5],'value':[1,-1]}},"
    "{'name':'glue','type':'fixed','bodies':['rock','pebble']}],"
    "'bake':{'fps':30,'frame_start':10,'frame_end':19,'integrator':'rk4','tolerance':1e-6,"
    " 'step':0.001,'solver':'kkt'}}";

/* What is not of a plain tree: a loop, pins, a release, springs of every type. */
static const char k_loose[] =
    "{'format':'skel-scene/1','name':'loose','angle_unit':'deg','bodies':["
    "{'name':'lead','mass':2,'shape':{'type':'sphere','radius':0.1},'motion':'driven',"
    " 'release':0.75,'force':[0,0,0.5],'curve':{'time':[-1,0,1],"
    " 'position':[[-0.1,0,0],[0,0,0],[0.3,0,0]],"
    " 'orientation':[[1,0,0,0],[1,0,0,0],[0.96,0.28,0,0]]}},"
    "{'name':'arm','mass':1,'shape':{'type':'rod','length':1},'position':[0,0,-0.5]},"
    "{'name':'hand','mass':0.5,'inertia':[0.01,0.02,0.03],'position':[0,0,-1.2]},"
    "{'name':'nail','mass':0.5,'inertia':[0.01,0.02,0.03],'position':[3,0,0],'pinned':true},"
    "{'name':'flag','mass':0.5,'inertia':[0.01,0.02,0.03],'position':[3,0,-1],"
    " 'pinned':[[0.1,0.2],[0.25,0.5]]},"
    "{'name':'toss','mass':0.5,'inertia':[0.01,0.02,0.03],'motion':'driven','release':0,"
    " 'curve':{'time':[-1,0,1],'position':[[4,0,0],[5,0,1],[6,0,1.5]]}},"
    "{'name':'lift','mass':0.5,'inertia':[0.01,0.02,0.03],'position':[0,3,-1],"
    " 'curve':{'time':[0,1],'position':[[0,3,-1],[0,3,-1.25]]},'pinned':[[-1e300,-1],[9,10]]}],"
    "'joints':["
    "{'name':'ball','type':'ball','bodies':['lead','arm'],'anchor':[0,0,0],"
    " 'follow':{'stiffness':2,'curve':{'time':[0,1],'value':[[1,0,0,0],[-0.8,0,-0.6,0]]},"
    " 'weight':0.5}},"
    "{'name':'universal','type':'universal','bodies':['arm','hand'],'anchor':[0,0,-1],"
    " 'axis':[1,0,0],'axis2':[0,1,0],'follow':{'stiffness':3,'damping':0,'max_torque':0.125,"
    " 'curve':{'time':[0],'value':[[10,-20]]},'weight':{'time':[0,1],'value':[1,0]}}},"
    "{'name':'hinge','type':'hinge','bodies':['nail','flag'],'anchor':[3,0,0],'axis':[0,1,0],"
    " 'follow':{'stiffness':0.1,'curve':{'time':[0,0.5],'value':[0,45]},"
    " 'weight':{'time':[3],'value':[0.1]}}},"
    "{'name':'slide','type':'slide','bodies':['world','lift'],'axis':[0,0,1],"
    " 'follow':{'stiffness':1,'damping':0.3,'curve':{'time':[0],'value':[0.1]}}},"
    "{'name':'loop','type':'ball','bodies':['world','nail'],'anchor':[3,1,0]},"
    "{'name':'twice','type':'ball','bodies':['world','flag'],'anchor':[3,1,0]}],"
    "'bake':{'frame_end':13,'preroll':0.125}}";

/* Biomechanics: grounds, soft masses, muscles, soft limits, fields, a turning frame. */
static const char k_landing[] =
    "{'format':'skel-scene/1','angle_unit':'deg','bodies':["
    "{'name':'trunk','mass':40,'inertia':[2,2,1],'position':[0.1,0.2,1.2],"
    " 'orientation':[0.36,0.48,0.64,0.48],'velocity':[0,0,-1],'angular_velocity':[1,2,3],"
    " 'force':{'time':[0,1],'value':[[0,0,0],[0,1,0]],'interpolation':'cubic'},'torque':[0,0,1]},"
    "{'name':'foot','mass':5,'inertia':[0.1,0.1,0.1],'position':[0,0,0.5],"
    " 'contacts':[[0.1,0,-0.4],[-0.1,0,-0.4]],'collide':2},"
    "{'name':'plank','motion':'driven','shape':{'type':'box','size':[1,1,0.1]},'collide':false,"
    " 'curve':{'time':[0,1],'position':[[3,0,0],[3,1,0]],"
    " 'orientation':[[0.6,0.8,0,0],[0.8,0.6,0,0]]}},"
    "{'name':'ball','mass':1,'shape':{'type':'sphere','radius':0.1},'position':[5,0,1],"
    " 'collide':true}],"
    "'joints':["
    "{'name':'knee','type':'hinge','bodies':['trunk','foot'],'anchor':[0,0,0.8],'axis':[1,2,3],"
    " 'limits':[-90,90],'motor':{'time':[0,1],'value':[0,1],'interpolation':'cubic'},"
    " 'limit_torque':{'a':2,'b':1.5,'c':0.01,'on':10},"
    " 'spring':{'stiffness':3,'damping':0.5,'rest':45},"
    " 'muscle':{'growth':100,'max':300,'start':20,'feedback':0.5,'impact_speed':-2,"
    "  'delay':0.05,'side':-1}},"
    "{'name':'lift','type':'slide','bodies':['world','ball'],'axis':[0,0,1],'limits':[-1,1],"
    " 'limit_restitution':0.5,'spring':{'stiffness':3,'rest':0.25},"
    " 'muscle':{'growth':1,'max':2}}],"
    "'wobble':["
    "{'name':'calf','body':'foot','mass':3,'inertia':[0.05,0.05,0.02],'position':[0,0,0.6],"
    " 'axis':[0,1,2],'longitudinal':{'c':1e6,'d':100},'transversal':{'c':2e6,'d':200},"
    " 'angular':{'a':50,'b':2},'displacement':[0.01,0,0],'velocity':[0,0,-2],"
    " 'angular_velocity':[0,0.1,0]},"
    "{'name':'belly','body':'trunk','mass':8,'shape':{'type':'sphere','radius':0.1},"
    " 'position':[0.2,0.2,1.3],'locked':true},"
    "{'name':'back','body':'trunk','mass':7,'shape':{'type':'sphere','radius':0.1},"
    " 'position':[0.1,0.3,1.3],'longitudinal':{'c':1e6,'d':100},"
    " 'transversal':{'c':2e6,'d':200},'angular':{'a':50,'b':2}},"
    "{'name':'load','body':'plank','mass':2,'shape':{'type':'sphere','radius':0.1},"
    " 'position':[3.5,0,0],'longitudinal':{'c':1e6,'d':100},'transversal':{'c':2e6,'d':200},"
    " 'angular':{'a':50,'b':2},'displacement':[0.1,0,0]}],"
    "'ground':["
    "{'normal':[0,0.1,3],'law':{'a':1e5,'b':1.5,'d':500},'stick':{'stiffness':1e5,'damping':100}},"
    "{'point':[3,0.3,0.1],'normal':[1,2,3],'friction':0.5,'body':'plank','restitution':0.5,"
    " 'tangential_restitution':0.25},{'point':[0,0,-1],'restitution':0}],"
    "'forces':[{'type':'uniform','acceleration':[0,0.1,0],'body':'foot'},{'type':'drag'},"
    "{'type':'drag','density':1.1,'coefficient':0.9,'wind':[1,0,0]},"
    "{'type':'vortex','point':[0,1,0],'axis':[1,1,2],'strength':0.1,'radius':2},"
    "{'type':'turbulence','strength':0.1,'scale':0.5,'period':0.3,'seed':1000000000}],"
    "'frame':{'angular_velocity':{'time':[0,1],'value':[[0,0,0],[0,0,0.1]]},"
    " 'acceleration':[0.1,0,0]},'bake':{'frame_end':3}}";
static const char *const k_documents[] = {k_full, k_loose, k_landing};

/* The smallest scene with a joint; %s takes the place of one field each. */
static const char k_small[] =
    "{'format':'skel-scene/1','bodies':[{'name':'a','mass':1,'shape':{'type':'sphere','radius':1},"
    "'position':[0,0,0]}%s],'joints':[{'name':'j','type':'hinge','bodies':['world','a'],"
    "'anchor':[0,0,0],'axis':[0,0,1]%s}]%s}";

static skel_status parse(const char *text, skel_scene **scene, skel_error *err) {
    char *json = quoted(text);
    skel_error_init(err);
    const skel_status status = skel_scene_parse(json, strlen(json), scene, err);
    ck_assert((status == SKEL_OK) == (*scene != NULL));
    ck_assert_int_eq(err->status, status == SKEL_OK ? err->status : status);
    free(json);
    return status;
}

static skel_scene *parsed(const char *text) {
    skel_scene *scene = NULL;
    skel_error err;
    const skel_status status = parse(text, &scene, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
    return scene;
}

static void refused(const char *text, const char *message) {
    skel_scene *scene = NULL;
    skel_error err;
    const skel_status status = parse(text, &scene, &err);
    ck_assert_msg(status < 0, "accepted, but expected: %s", message);
    ck_assert_msg(strstr(err.text, message) != NULL, "got '%s', expected '%s'", err.text, message);
}

static void small(const char *body, const char *joint, const char *end, const char *message) {
    char text[4096];
    snprintf(text, sizeof text, k_small, body, joint, end);
    if (message)
        refused(text, message);
    else
        skel_scene_destroy(parsed(text));
}

static char *checked(const char *text, skel_status *status) {
    char *json = quoted(text);
    size_t needed = 0;
    *status = skel_scene_check(json, strlen(json), NULL, 0, &needed);
    char *lines = malloc(needed + 1);
    ck_assert_int_eq(skel_scene_check(json, strlen(json), lines, needed + 1, NULL), *status);
    ck_assert_uint_eq(strlen(lines), needed);
    free(json);
    return lines;
}

/* ---- reading -------------------------------------------------------------------------------- */

START_TEST(everything_is_read) {
    skel_scene *s = parsed(k_full);
    const skel_model *m = skel_scene_model(s);
    skel_bake_desc bake;
    double gravity[3];
    ck_assert_str_eq(skel_scene_name(s), "all \xc3\xa4 \"of\" it");
    ck_assert_int_eq(skel_model_body_count(m), 8);
    ck_assert_int_eq(skel_model_joint_count(m), 6);
    ck_assert_int_eq(skel_model_dof(m), 3 + 2 + 1 + 3 + 1);
    ck_assert_str_eq(skel_model_joint_name(m, 2), "hand-finger");
    skel_model_get_gravity(m, gravity);
    ck_assert_double_eq(gravity[1], 0.1);
    skel_bake_desc_init(&bake);
    ck_assert_int_eq(skel_scene_get_bake_desc(s, &bake), SKEL_OK);
    ck_assert_ptr_eq(bake.model, m);
    ck_assert_int_eq(bake.integrator, SKEL_INTEGRATOR_RK4);
    ck_assert_int_eq(bake.solver, SKEL_SOLVER_KKT);
    ck_assert_uint_eq(bake.sample_count, 10);
    ck_assert_double_eq(bake.step, 0.001);
    ck_assert_double_eq(bake.tolerance, 1e-6);
    ck_assert_double_eq(skel_scene_fps(s), 30);
    ck_assert_int_eq(skel_scene_frame_start(s), 10);
    ck_assert_int_eq(skel_scene_frame_end(s), 19);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(bodies_are_read) {
    skel_scene *s = parsed(k_full);
    skel_body_desc b;
    double inertia[6];
    skel_body_desc_init(&b);
    skel_model_get_body(skel_scene_model(s), 1, &b);
    skel_shape_inertia(SKEL_SHAPE_CAPSULE, (const double[3]){0.7, 0.05, 0}, 1.5, inertia);
    ck_assert_mem_eq(b.inertia, inertia, sizeof inertia);
    ck_assert_double_eq(b.force[0], 1.0);
    ck_assert_uint_eq(b.torque_curve.count, 2);
    ck_assert_double_eq(b.angular_velocity[1], 0.2);
    skel_model_get_body(skel_scene_model(s), 2, &b);
    ck_assert_double_eq(b.inertia[5], -0.002);
    ck_assert_int_eq(b.shape, SKEL_SHAPE_BOX);
    skel_model_get_body(skel_scene_model(s), 3, &b);
    ck_assert_double_eq_tol(b.size[1], 0.003, 1e-18); /* a rod is as thick as a hundredth */
    skel_model_get_body(skel_scene_model(s), 0, &b);
    ck_assert_int_eq(b.motion, SKEL_MOTION_DRIVEN);
    ck_assert_double_eq(b.mass, 0.0);
    ck_assert(b.position[0] > 0.0 && b.position[0] < 0.3); /* time 0 lies between two samples */
    skel_scene_destroy(s);
}
END_TEST

START_TEST(joints_are_read) {
    skel_scene *s = parsed(k_full);
    skel_joint_desc j;
    const double degree = 3.14159265358979323846 / 180.0;
    skel_joint_desc_init(&j);
    skel_model_get_joint(skel_scene_model(s), 0, &j);
    ck_assert_double_eq_tol(j.limits.high[0], 60 * degree, 1e-15);
    ck_assert_double_eq_tol(j.limits.low[1], -45 * degree, 1e-15);
    ck_assert_double_eq_tol(j.limits.axis[0], sqrt(0.5), 1e-15);
    skel_model_get_joint(skel_scene_model(s), 1, &j);
    ck_assert_double_eq_tol(j.limits.high[1], 90 * degree, 1e-15);
    skel_model_get_joint(skel_scene_model(s), 4, &j);
    ck_assert_double_eq(j.limits.high[0], 1.0); /* metres know no degrees */
    ck_assert_uint_eq(j.motor_curve.count, 2);
    skel_scene_destroy(s);
}
END_TEST

/* An anchored joint is closed and at zero at the given pose; a joint with q stands at q. */
START_TEST(joints_stand_where_they_should) {
    skel_scene *s = parsed(k_full);
    skel_state *state;
    double q[13], gap = 1, speed;
    ck_assert_int_eq(skel_model_q_count(skel_scene_model(s)), 4 + 2 + 1 + 4 + 1);
    ck_assert_int_eq(skel_state_create(skel_scene_model(s), &state, NULL), SKEL_OK);
    ck_assert_int_eq(skel_state_get_q(state, q), SKEL_OK);
    const double expected[] = {1, 0, 0, 0, 0, 0, 0.52359877559829887, 0.6, 0, 0.8, 0, 0};
    for (int k = 0; k < 12; ++k) ck_assert_double_eq_tol(q[k], expected[k], 1e-12);
    ck_assert_int_eq(skel_state_project(state, &gap, &speed, NULL), SKEL_OK);
    ck_assert_double_lt(gap, 1e-12);
    skel_state_destroy(state);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(pins_and_releases_are_read) {
    skel_scene *s = parsed(k_loose);
    const skel_model *m = skel_scene_model(s);
    skel_body_desc b;
    skel_body_desc_init(&b);
    skel_model_get_body(m, 0, &b); /* driven until 0.75 */
    ck_assert_int_eq(b.motion, SKEL_MOTION_DYNAMIC);
    ck_assert_uint_eq(b.position_curve.count, 3);
    ck_assert_uint_eq(b.pinned_count, 1);
    ck_assert_double_eq(b.pinned[0], -SCENE_ALWAYS);
    ck_assert_double_eq(b.pinned[1], 0.75);
    ck_assert_double_eq_tol(b.velocity[0], 0.2, 1e-15);
    ck_assert_double_eq(b.force[2], 0.5);
    skel_model_get_body(m, 4, &b);
    ck_assert_uint_eq(b.pinned_count, 2);
    ck_assert_mem_eq(b.pinned, ((const double[]){0.1, 0.2, 0.25, 0.5}), 4 * sizeof(double));
    skel_model_get_body(m, 2, &b);
    ck_assert_uint_eq(b.pinned_count, 0);
    skel_model_get_body(m, 3, &b); /* always */
    ck_assert_uint_eq(b.pinned_count, 1);
    ck_assert_double_eq(b.pinned[0], -SCENE_ALWAYS);
    ck_assert_double_eq(b.pinned[1], SCENE_ALWAYS);
    skel_model_get_body(m, 5, &b); /* released at the start: no pin, but the curve's speed */
    ck_assert_uint_eq(b.pinned_count, 0);
    ck_assert_double_eq_tol(b.velocity[0], 1.0, 1e-15);
    ck_assert_double_eq_tol(b.velocity[2], 0.75, 1e-15);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(springs_are_read) {
    skel_scene *s = parsed(k_loose);
    const skel_model *m = skel_scene_model(s);
    skel_joint_desc j;
    const double degree = 3.14159265358979323846 / 180.0;
    skel_joint_desc_init(&j);
    skel_model_get_joint(m, 0, &j);
    ck_assert_double_eq(j.follow.frequency, 2);
    ck_assert_double_eq(j.follow.damping, 1);
    ck_assert_double_eq(j.follow.max, 0);
    ck_assert_double_eq(j.follow.target.value[4], 0.8); /* q and -q: the nearer one */
    ck_assert_uint_eq(j.follow.weight.count, 1);
    ck_assert_double_eq(j.follow.weight.value[0], 0.5);
    skel_model_get_joint(m, 1, &j);
    ck_assert_double_eq(j.follow.damping, 0);
    ck_assert_double_eq(j.follow.max, 0.125);
    ck_assert_double_eq_tol(j.follow.target.value[1], -20 * degree, 1e-15);
    ck_assert_uint_eq(j.follow.weight.count, 2);
    skel_model_get_joint(m, 2, &j);
    ck_assert_double_eq_tol(j.follow.target.value[1], 45 * degree, 1e-15);
    skel_model_get_joint(m, 3, &j);
    ck_assert_double_eq(j.follow.target.value[0], 0.1); /* metres know no degrees */
    ck_assert_uint_eq(j.follow.weight.count, 0);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(soft_masses_are_read) {
    skel_scene *s = parsed(k_landing);
    const skel_model *m = skel_scene_model(s);
    skel_wobble_desc w = {.struct_size = sizeof w};
    skel_body_desc b;
    skel_joint_desc j;
    skel_body_desc_init(&b);
    skel_joint_desc_init(&j);
    ck_assert_int_eq(skel_model_body_count(m), 8);
    ck_assert_int_eq(skel_model_wobble_count(m), 3);
    ck_assert_int_eq(skel_model_find_body(m, "belly"), 4); /* locked: in front of the others */
    ck_assert_int_eq(skel_model_find_joint(m, "belly.lock"), 2);
    skel_model_get_joint(m, 2, &j);
    ck_assert_int_eq(j.type, SKEL_JOINT_FIXED);
    ck_assert_int_eq(j.parent, 0);
    ck_assert_int_eq(j.child, 4);
    ck_assert_int_eq(skel_model_get_wobble(m, 0, &w), SKEL_OK);
    ck_assert_int_eq(w.body, 5);
    ck_assert_int_eq(w.host, 1);
    near(w.rest, ((double[3]){0, 0, 0.1}), 3, 1e-15);
    near1(w.axis[1], sqrt(0.2), 1e-15);
    ck_assert_double_eq(w.along_c, 1e6);
    ck_assert_double_eq(w.across_d, 200);
    ck_assert_double_eq(w.turn_b, 2);
    skel_model_get_body(m, 5, &b);
    near(b.position, ((double[3]){0.01, 0, 0.6}), 3, 1e-15);
    near1(b.velocity[2], -2, 0);
    skel_model_get_body(m, 6, &b); /* with its host: v + R w x arm, arm (0, .1, .1) */
    const double q[4] = {0.36, 0.48, 0.64, 0.48}, spin[3] = {1, 2, 3};
    double ww[3], along[3];
    scene_rotate(q, spin, ww);
    scene_cross(ww, (const double[3]){0, 0.1, 0.1}, along);
    for (int k = 0; k < 3; ++k) near1(b.velocity[k], along[k] - (k == 2), 1e-15);
    near(b.angular_velocity, spin, 3, 1e-15);
    near(b.orientation, q, 4, 1e-15);
    skel_model_get_wobble(m, 1, &w);
    near(w.axis, ((double[3]){0, 0, 1}), 3, 0);
    skel_model_get_body(m, 7, &b); /* on a driven body that turns at once */
    near1(b.velocity[1], 1, 1e-12);
    ck_assert(fabs(b.angular_velocity[0]) > 0.1);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(the_world_is_read) {
    skel_scene *s = parsed(k_landing);
    const skel_model *m = skel_scene_model(s);
    skel_ground_desc g = {.struct_size = sizeof g};
    skel_field_desc f = {.struct_size = sizeof f};
    skel_body_desc b;
    skel_joint_desc j;
    const double degree = 3.14159265358979323846 / 180.0;
    skel_body_desc_init(&b);
    skel_joint_desc_init(&j);
    skel_model_get_ground(m, 0, &g);
    ck_assert_double_eq(g.friction, 0.8);
    ck_assert_int_eq(g.is_rigid, 0);
    near1(g.normal[2], 3 / sqrt(9.01), 1e-15);
    ck_assert_double_eq(g.stick_damping, 100);
    skel_model_get_ground(m, 1, &g);
    ck_assert_int_eq(g.body, 2);
    ck_assert_int_eq(g.is_rigid, 1);
    ck_assert_double_eq(g.tangential_restitution, 0.25);
    skel_model_get_ground(m, 2, &g); /* a restitution of 0 is one too */
    ck_assert_int_eq(g.is_rigid, 1);
    ck_assert_double_eq(g.a, 0);
    skel_model_get_field(m, 0, &f);
    ck_assert_int_eq(f.body, 1);
    skel_model_get_field(m, 1, &f);
    ck_assert_double_eq(f.density, 1.2);
    skel_model_get_field(m, 3, &f);
    ck_assert_double_eq(f.scale, 2);
    skel_model_get_field(m, 4, &f);
    ck_assert_uint_eq(f.seed, 1000000000);
    skel_model_get_body(m, 0, &b);
    ck_assert_uint_eq(b.flags, SKEL_FLAG_SMOOTH);
    skel_model_get_body(m, 1, &b);
    ck_assert_int_eq(b.collide, 2);
    ck_assert_uint_eq(b.contact_count, 2);
    skel_model_get_body(m, 2, &b);
    ck_assert_int_eq(b.collide, SKEL_COLLIDE_NONE);
    skel_model_get_body(m, 3, &b);
    ck_assert_int_eq(b.collide, SKEL_COLLIDE_ALL);
    skel_model_get_joint(m, 0, &j);
    ck_assert_int_eq(j.flags, SKEL_FLAG_SMOOTH);
    near1(j.limits.law_range, 10 * degree, 1e-15);
    near1(j.spring.rest, 45 * degree, 1e-15);
    ck_assert_int_eq(j.muscle.side, -1);
    ck_assert_double_eq(j.muscle.impact_speed, -2);
    skel_model_get_joint(m, 1, &j);
    ck_assert_double_eq(j.spring.rest, 0.25);
    ck_assert_double_eq(j.muscle.delay, 0.1);
    ck_assert_int_eq(j.muscle.side, 1);
    ck_assert_double_eq(j.limits.restitution, 0.5);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(a_scene_is_a_bake_desc) {
    skel_scene *s = parsed(_i ? k_loose : k_full);
    skel_bake *bake;
    skel_error err;
    skel_error_init(&err);
    ck_assert_msg(skel_scene_bake_start(s, &bake, &err) == SKEL_OK, "%s", err.text);
    const skel_status status = skel_bake_advance(bake, -1);
    skel_bake_get_error(bake, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_bake_samples_done(bake), _i ? 13 : 10);
    skel_bake_destroy(bake);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(defaults_are_as_documented) {
    skel_scene *s = parsed("{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]}]}");
    skel_bake_desc bake;
    double gravity[3];
    skel_bake_desc_init(&bake);
    skel_scene_get_bake_desc(s, &bake);
    skel_model_get_gravity(skel_scene_model(s), gravity);
    ck_assert_double_eq(gravity[2], -9.81);
    ck_assert_str_eq(skel_scene_name(s), "");
    ck_assert_uint_eq(bake.sample_count, 250);
    ck_assert_double_eq(bake.sample_rate, 24);
    ck_assert_double_eq(bake.tolerance, 1e-8);
    ck_assert_double_eq(bake.step, 0);
    ck_assert_int_eq(bake.integrator, SKEL_INTEGRATOR_AUTO);
    ck_assert_int_eq(bake.solver, SKEL_SOLVER_TREE);
    ck_assert_int_eq(skel_scene_frame_start(s), 1);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(names_are_made_unique) {
    skel_scene *s = parsed("{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]},"
                           "{'name':'b','position':[0,0,0]},{'name':'c','position':[0,0,0]}],"
                           "'joints':[{'type':'fixed','bodies':['a','b']},"
                           "{'name':'a-b','type':'fixed','bodies':['b','c']}]}");
    ck_assert_str_eq(skel_model_joint_name(skel_scene_model(s), 0), "a-b 0");
    ck_assert_str_eq(skel_model_joint_name(skel_scene_model(s), 1), "a-b");
    skel_scene_destroy(s);
}
END_TEST

/* ---- writing -------------------------------------------------------------------------------- */

static void same_curve(const skel_curve *a, const skel_curve *b) {
    ck_assert_uint_eq(a->count, b->count);
    if (a->count == 0) return;
    ck_assert_uint_eq(a->width, b->width);
    ck_assert_mem_eq(a->time, b->time, a->count * sizeof(double));
    ck_assert_mem_eq(a->value, b->value, a->count * a->width * sizeof(double));
}

static void same_bits(const skel_model *a, const skel_model *b) {
    for (int32_t i = 0; i < skel_model_body_count(a); ++i) {
        skel_body_desc x, y;
        skel_body_desc_init(&x);
        skel_body_desc_init(&y);
        skel_model_get_body(a, i, &x);
        skel_model_get_body(b, i, &y);
        ck_assert_str_eq(x.name, y.name);
        ck_assert_mem_eq(&x.mass, &y.mass,
                         offsetof(skel_body_desc, force_curve) - offsetof(skel_body_desc, mass));
        ck_assert_mem_eq(x.size, y.size, sizeof x.size);
        ck_assert_int_eq(x.motion, y.motion);
        same_curve(&x.force_curve, &y.force_curve);
        same_curve(&x.torque_curve, &y.torque_curve);
        same_curve(&x.position_curve, &y.position_curve);
        same_curve(&x.orientation_curve, &y.orientation_curve);
        ck_assert_uint_eq(x.pinned_count, y.pinned_count);
        if (x.pinned_count)
            ck_assert_mem_eq(x.pinned, y.pinned, 2 * x.pinned_count * sizeof(double));
        ck_assert_uint_eq(x.flags, y.flags);
        ck_assert_int_eq(x.collide, y.collide);
        ck_assert_uint_eq(x.contact_count, y.contact_count);
        if (x.contact_count)
            ck_assert_mem_eq(x.contacts, y.contacts, 3 * x.contact_count * sizeof(double));
    }
    for (int32_t i = 0; i < skel_model_joint_count(a); ++i) {
        skel_joint_desc x, y;
        skel_joint_desc_init(&x);
        skel_joint_desc_init(&y);
        skel_model_get_joint(a, i, &x);
        skel_model_get_joint(b, i, &y);
        const size_t from = offsetof(skel_joint_desc, parent_position);
        ck_assert_mem_eq(x.parent_position, y.parent_position,
                         offsetof(skel_joint_desc, motor_curve) - from);
        ck_assert_mem_eq(&x.follow, &y.follow, offsetof(skel_joint_follow, target));
        same_curve(&x.motor_curve, &y.motor_curve);
        same_curve(&x.follow.target, &y.follow.target);
        same_curve(&x.follow.weight, &y.follow.weight);
        ck_assert_int_eq(x.flags, y.flags);
        ck_assert_mem_eq(&x.limits, &y.limits, sizeof x.limits);
        ck_assert_mem_eq(&x.spring, &y.spring, sizeof x.spring);
        ck_assert_mem_eq(&x.muscle, &y.muscle, sizeof x.muscle);
        ck_assert_mem_eq(&x.mimic, &y.mimic, sizeof x.mimic);
    }
}

static void same_world(const skel_model *a, const skel_model *b) {
    double spin[2][3], push[2][3];
    skel_curve spins[2], pushes[2];
    ck_assert_int_eq(skel_model_ground_count(a), skel_model_ground_count(b));
    ck_assert_int_eq(skel_model_wobble_count(a), skel_model_wobble_count(b));
    ck_assert_int_eq(skel_model_field_count(a), skel_model_field_count(b));
    for (int32_t i = 0; i < skel_model_ground_count(a); ++i) {
        skel_ground_desc x = {.struct_size = sizeof x}, y = x;
        ck_assert_int_eq(skel_model_get_ground(a, i, &x), SKEL_OK);
        ck_assert_int_eq(skel_model_get_ground(b, i, &y), SKEL_OK);
        ck_assert_mem_eq(&x, &y, sizeof x);
    }
    for (int32_t i = 0; i < skel_model_wobble_count(a); ++i) {
        skel_wobble_desc x = {.struct_size = sizeof x}, y = x;
        ck_assert_int_eq(skel_model_get_wobble(a, i, &x), SKEL_OK);
        ck_assert_int_eq(skel_model_get_wobble(b, i, &y), SKEL_OK);
        ck_assert_mem_eq(&x, &y, offsetof(skel_wobble_desc, axis));
        near(x.axis, y.axis, 3, 1e-15); /* a default axis goes through the world and back */
        ck_assert_mem_eq(&x.along_c, &y.along_c, sizeof x - offsetof(skel_wobble_desc, along_c));
    }
    for (int32_t i = 0; i < skel_model_field_count(a); ++i) {
        skel_field_desc x = {.struct_size = sizeof x}, y = x;
        ck_assert_int_eq(skel_model_get_field(a, i, &x), SKEL_OK);
        ck_assert_int_eq(skel_model_get_field(b, i, &y), SKEL_OK);
        ck_assert_mem_eq(&x, &y, sizeof x);
    }
    skel_model_get_frame(a, spin[0], push[0], &spins[0], &pushes[0]);
    skel_model_get_frame(b, spin[1], push[1], &spins[1], &pushes[1]);
    ck_assert_mem_eq(spin[0], spin[1], sizeof spin[0]);
    ck_assert_mem_eq(push[0], push[1], sizeof push[0]);
    same_curve(&spins[0], &spins[1]);
    same_curve(&pushes[0], &pushes[1]);
}

START_TEST(writing_changes_no_bit) {
    skel_scene *first = parsed(k_documents[_i]);
    char *text = written(first);
    skel_scene *second = parsed(text);
    char *again = written(second);
    ck_assert_str_eq(text, again);
    same_bits(skel_scene_model(first), skel_scene_model(second));
    same_world(skel_scene_model(first), skel_scene_model(second));
    free(text);
    free(again);
    skel_scene_destroy(first);
    skel_scene_destroy(second);
}
END_TEST

static void written_as(const char *body, const char *part) {
    char text[2048];
    snprintf(text, sizeof text, k_small, body, "", "");
    skel_scene *s = parsed(text);
    char *again = written(s), *want = quoted(part);
    ck_assert_msg(strstr(again, want) != NULL, "'%s' is not in\n%s", want, again);
    free(want);
    free(again);
    skel_scene_destroy(s);
}

START_TEST(pins_have_one_form) {
    const char *form = ",{'name':'b','mass':1,'inertia':[1,1,1],%s,"
                       "'curve':{'time':[0,1],'position':[[0,0,0],[1,0,0]]}}";
    const char *cases[][2] = {
        {"'motion':'driven'", "'b', 'motion': 'driven', 'mass'"},
        {"'motion':'driven','release':2", "'release': 2}"},
        {"'motion':'driven','release':-3", "'release': 0}"},
        {"'pinned':true", "'b', 'motion': 'driven', 'mass'"},
        {"'pinned':true", "'release': 1e+300}"},
        {"'pinned':[[-1e300,2]]", "'release': 2}"},
        {"'pinned':[[-1e300,-2]]", "'pinned': [[-1e+300, -2]]}"},
        {"'pinned':[[-1,2]]", "'b', 'mass'"},
        {"'pinned':[[-1,2],[3,4]]", "'pinned': [[-1, 2], [3, 4]]}"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char body[512];
        snprintf(body, sizeof body, form, cases[k][0]);
        written_as(body, cases[k][1]);
    }
    written_as(",{'name':'b','position':[0,0,0],'pinned':true}", "'pinned': true}");
    written_as(",{'name':'b','position':[0,0,0],'pinned':[[-1e300,1e300]]}", "'pinned': true}");
}
END_TEST

/* The same with numbers nobody would type: random directions, lengths and places. */
static double any(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(*seed >> 11) / 4503599627370496.0 - 1.0;
}

START_TEST(writing_changes_no_bit_of_random_scenes) {
    uint64_t seed = (uint64_t)_i * 77 + 5;
    char text[4096];
    double x[16], q[4], n = 0;
    for (int k = 0; k < 16; ++k) x[k] = any(&seed);
    for (int k = 0; k < 4; ++k) n += x[k] * x[k];
    for (int k = 0; k < 4; ++k) q[k] = x[k] / sqrt(n);
    snprintf(text, sizeof text,
             "{'format':'skel-scene/1','bodies':[{'name':'a','mass':%.17g,'shape':{'type':'box',"
             "'size':[%.17g,%.17g,1]},'position':[%.17g,%.17g,%.17g],"
             "'orientation':[%.9g,%.9g,%.9g,%.9g]},{'name':'b','position':[%.17g,1,2]}],"
             "'joints':[{'type':'hinge','bodies':['a','b'],'anchor':[%.17g,%.17g,0.1],"
             "'axis':[%.17g,%.17g,%.17g]}]}",
             fabs(x[4]) + 0.1, fabs(x[5]) + 0.1, fabs(x[6]) + 0.1, x[7], x[8], x[9], q[0], q[1],
             q[2], q[3], x[10], x[11], x[12], x[13], x[14], x[15]);
    skel_scene *first = parsed(text), *second;
    char *one = written(first), *two;
    second = parsed(one);
    two = written(second);
    ck_assert_str_eq(one, two);
    same_bits(skel_scene_model(first), skel_scene_model(second));
    free(one);
    free(two);
    skel_scene_destroy(first);
    skel_scene_destroy(second);
}
END_TEST

START_TEST(numbers_read_back_to_the_same_double) {
    const double fixed[] = {0.1,      1.0 / 3.0, 1e300, 5e-324, 2.2250738585072014e-308,
                            123456.0, 1e22,      -0.0,  1e-8,   1.7976931348623157e308};
    char text[DOC_NUMBER_SIZE];
    uint64_t seed = 1;
    for (int k = 0; k < 20010; ++k) {
        const double x = k < 10 ? fixed[k] : any(&seed) * pow(10.0, 40.0 * any(&seed));
        ck_assert_uint_eq(doc_number_format(text, x), strlen(text));
        const double back = strtod(text, NULL);
        ck_assert_mem_eq(&back, &x, sizeof x);
    }
    doc_number_format(text, 0.1);
    ck_assert_str_eq(text, "0.1");
    doc_number_format(text, (double)INFINITY);
    ck_assert_str_eq(text, "null");
}
END_TEST

START_TEST(a_comma_locale_does_no_harm) {
    if (!setlocale(LC_NUMERIC, "de_DE.UTF-8") && !setlocale(LC_NUMERIC, "fr_FR.UTF-8")) return;
    char probe[16];
    skel_scene *s = parsed(k_full);
    char *text = written(s);
    ck_assert_ptr_nonnull(strstr(text, "\"gravity\": [0, 0.1, -9.8]"));
    snprintf(probe, sizeof probe, "%.1f", 0.5); /* the host's locale is still there */
    ck_assert_str_eq(probe, "0,5");
    setlocale(LC_NUMERIC, "C");
    free(text);
    skel_scene_destroy(s);
}
END_TEST

/* ---- refusing ------------------------------------------------------------------------------- */

START_TEST(fields_are_checked) {
    small("", ",'axsi':[0,0,1]", "",
          "joints[0].axsi: is not a field of a joint, did you mean 'axis'?");
    small("", ",'friction':1,'friction':2", "",
          "joints[0].friction: is given twice, must be given once");
    small("", "", ",'gravty':[0,0,0]",
          "gravty: is not a field of a scene, did you mean 'gravity'?");
    small("", "", ",'nonsense':1", "nonsense: is not a field of a scene");
    small("", "", ",'a\\nb':1", "a?b: is not a field of a scene");
    small("", "", ",'gravity':[0,0]", "gravity: is [0, 0], must be [x, y, z]");
    small("", "", ",'gravity':[0,'a',0]", "gravity[1]: is \"a\", must be a number");
    small("", "", ",'gravity':[0,1e999,0]", "gravity[1]: is too large for a double, must be a");
    small("", "", ",'angle_unit':'grad'",
          "angle_unit: is \"grad\", must be one of \"rad\", \"deg\"");
}
END_TEST

START_TEST(bodies_are_checked) {
    small(",{'name':'world'}", "", "", "bodies[1].name: is \"world\", must be another name");
    small(",{'name':'a'}", "", "", "bodies[1].name: is \"a\", must be unique: bodies[0]");
    small(",{'name':''}", "", "", "bodies[1].name: is \"\", must be a string that is not empty");
    small(",{'name':'x\\ty'}", "", "", "bodies[1].name: is \"x\\ty\", must be without control");
    small(",{'mass':1}", "", "", "bodies[1].name: is missing");
    small(",3", "", "", "bodies[1]: is 3, must be an object");
    small(",{'name':'b','mass':'heavy'}", "", "",
          "bodies[1].mass: is \"heavy\", must be a number > 0");
    small(",{'name':'b','mass':0}", "", "", "bodies[1].mass: is 0, must be a number > 0");
    small(",{'name':'b','mass':1,'position':[0,0,0]}", "", "",
          "bodies[1].inertia: is missing, must be given (or a shape)");
    small(",{'name':'b','inertia':[1,1],'position':[0,0,0]}", "", "",
          "bodies[1].inertia: is [1, 1]");
    small(",{'name':'b','inertia':[1,1,1,2,0,0],'position':[0,0,0]}", "", "",
          "bodies[1].inertia: is [1, 1, 1, 2, 0, 0], must be positive definite");
    small(",{'name':'b','position':[0,0,0],'orientation':[1,1,0,0]}", "", "",
          "bodies[1].orientation: is [1, 1, 0, 0], must be a unit quaternion");
    small(",{'name':'b'}", "", "", "bodies[1].position: is missing, must be [x, y, z]");
    small(",{'name':'b','position':[0,0,0],'motion':'free'}", "", "",
          "bodies[1].motion: is \"free\", must be one of");
    small(",{'name':'b','position':[0,0,0],'curve':{}}", "", "",
          "bodies[1].curve: is only for motion \"driven\", or with pinned");
    small(",{'name':'b','motion':'driven'}", "", "", "bodies[1].curve: is missing");
    small(",{'name':'b','position':[0,0,0],'force':{'time':[0,0],'value':[[0,0,0],[0,0,0]]}}", "",
          "", "bodies[1].force.time[1]: is 0, must be greater than the time before it");
    small(",{'name':'b','position':[0,0,0],'force':{'time':[0],'value':[]}}", "", "",
          "bodies[1].force.value: has 0 values, must have 1");
}
END_TEST

START_TEST(driven_bodies_follow_their_curve) {
    const char *curve = "'motion':'driven','curve':{'time':[0,1],'position':[[1,0,0],[2,0,0]]}";
    char body[512];
    snprintf(body, sizeof body, ",{'name':'b',%s}", curve);
    small(body, "", "", NULL);
    snprintf(body, sizeof body, ",{'name':'b','position':[1,0,1e-7],%s}", curve);
    small(body, "", "", NULL);
    snprintf(body, sizeof body, ",{'name':'b','position':[1,0,0.1],%s}", curve);
    small(body, "", "", "bodies[1].position: is [1, 0, 0.1], must be that of the curve at time 0");
    small(",{'name':'b','motion':'driven','curve':{'time':[0]}}", "", "",
          "bodies[1].curve.position: is missing, must be given (or orientation)");
    small(",{'name':'b','motion':'driven','curve':{'time':[0],'orientation':[[1,0,0,0]]}}", "", "",
          "bodies[1].position: is missing");
}
END_TEST

START_TEST(pins_are_checked) {
    const char *form = ",{'name':'b','position':[0,0,0],%s}";
    const char *curve = "'curve':{'time':[0],'position':[[0,0,0]]}";
    const char *cases[][2] = {
        {"'pinned':true", NULL},
        {"'pinned':[[0,1],[2,3]]", NULL},
        {"'pinned':false", "bodies[1].pinned: is false, must be true or [[from, to], ...]"},
        {"'pinned':[]", "bodies[1].pinned: is [], must be true or [[from, to], ...]"},
        {"'pinned':[0,1]", "bodies[1].pinned[0]: is 0, must be [from, to]"},
        {"'pinned':[[0,1,2]]", "bodies[1].pinned[0]: is [0, 1, 2], must be [from, to]"},
        {"'pinned':[[0,null]]", "bodies[1].pinned[0][1]: is null, must be a number"},
        {"'pinned':[[0,1],[3,2]]",
         "bodies[1].pinned[1]: is [3, 2], must be [from, to] with from < to"},
        {"'pinned':[[1,1]]", "bodies[1].pinned[0]: is [1, 1], must be [from, to] with from < to"},
        {"'pinned':[[0,1],[1,2]]",
         "bodies[1].pinned[1]: is [1, 2], must be later than the interval before it"},
        {"'pinned':true,'motion':'fixed'", "bodies[1].pinned: is only for motion \"dynamic\""},
        {"'pinned':true,'motion':'driven',CURVE",
         "bodies[1].pinned: is only for motion \"dynamic\""},
        {"'pinned':true,'motion':'driven','release':1,CURVE",
         "bodies[1].pinned: is only for motion \"dynamic\""},
        {"'release':1", "bodies[1].release: is only for motion \"driven\""},
        {"'release':1,'motion':'fixed'", "bodies[1].release: is only for motion \"driven\""},
        {"'release':1,'pinned':true,CURVE", "bodies[1].release: is only for motion \"driven\""},
        {"'release':1,'motion':'driven'", "bodies[1].curve: is missing, must be given"},
        {"'release':true,'motion':'driven',CURVE", "bodies[1].release: is true, must be a number"},
        {"'release':1,'motion':'driven','mass':1,CURVE", "bodies[1].inertia: is missing"},
        {"'motion':'fixed',CURVE", "bodies[1].curve: is only for motion \"driven\""},
        {"'pinned':[[0,1]],CURVE", NULL},
        {"'pinned':[[0,1]],'curve':{'time':[0],'position':[[0,0,1]]}",
         "bodies[1].position: is [0, 0, 0], must be that of the curve at time 0"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char fields[256], body[512];
        const char *at = strstr(cases[k][0], "CURVE");
        snprintf(fields, sizeof fields, "%.*s%s", at ? (int)(at - cases[k][0]) : 200, cases[k][0],
                 at ? curve : "");
        snprintf(body, sizeof body, form, fields);
        small(body, "", "", cases[k][1]);
    }
}
END_TEST

START_TEST(shapes_are_checked) {
    const char *form = ",{'name':'b','mass':1,'position':[0,0,0],'shape':%s}";
    const char *shape[][2] = {
        {"{'type':'sphere'}", "bodies[1].shape.radius: is missing, must be a number > 0"},
        {"{'type':'sphere','radius':-1}", "bodies[1].shape.radius: is -1, must be a number > 0"},
        {"{'type':'sphere','radius':1,'length':1}", "shape.length: is not a field of a sphere"},
        {"{'type':'box','size':[1,0,1]}", "bodies[1].shape.size: is [1, 0, 1], must be [x, y, z]"},
        {"{'type':'capsule','length':1}", "bodies[1].shape.radius: is missing"},
        {"{'type':'cone'}", "bodies[1].shape.type: is \"cone\", must be one of \"sphere\""},
        {"{}", "bodies[1].shape.type: is missing"},
        {"[]", "bodies[1].shape: is [], must be an object"},
    };
    for (size_t k = 0; k < sizeof shape / sizeof *shape; ++k) {
        char body[256];
        snprintf(body, sizeof body, form, shape[k][0]);
        small(body, "", "", shape[k][1]);
    }
}
END_TEST

static void joint(const char *fields, const char *message) {
    char text[1024];
    snprintf(text, sizeof text,
             "{'format':'skel-scene/1','bodies':[{'name':'upper','position':[0,0,0]},"
             "{'name':'lower','position':[1,0,0]}],'joints':[{%s}]}",
             fields);
    if (message)
        refused(text, message);
    else
        skel_scene_destroy(parsed(text));
}

START_TEST(joints_are_checked) {
    const char *cases[][2] = {
        {"'bodies':['upper','lower']", "joints[0].type: is missing"},
        {"'type':'rope','bodies':['upper','lower']", "joints[0].type: is \"rope\""},
        {"'type':'fixed'", "joints[0].bodies: is missing, must be [parent, child]"},
        {"'type':'fixed','bodies':['upper']", "joints[0].bodies: is [\"upper\"]"},
        {"'type':'fixed','bodies':['upper','lowr']",
         "joints[0].bodies[1]: is \"lowr\", must be the name of a body or \"world\", did you mean "
         "'lower'?"},
        {"'type':'fixed','bodies':['upper','upper']", "must be two different bodies"},
        {"'type':'fixed','bodies':['world','world']", "must be two different bodies"},
        {"'type':'hinge','bodies':['upper','lower'],'axis':[0,0,1]",
         "joints[0].anchor: is missing"},
        {"'type':'hinge','bodies':['upper','lower'],'anchor':[0,0,0]",
         "joints[0].axis: is missing"},
        {"'type':'hinge','bodies':['upper','lower'],'anchor':[0,0,0],'axis':[0,0,0]",
         "joints[0].axis: is [0, 0, 0], must not be zero"},
        {"'type':'ball','bodies':['upper','lower'],'anchor':[0,0,0],'axis':[0,0,1]",
         "joints[0].axis: is not a field of a ball joint"},
        {"'type':'fixed','bodies':['upper','lower'],'axis':[0,0,1]",
         "joints[0].axis: is not a field of a fixed joint"},
        {"'type':'hinge','bodies':['upper','lower'],'anchor':[0,0,0],'axis':[0,0,1],'axis2':[1,0,"
         "0]",
         "joints[0].axis2: is not a field of a hinge joint"},
        {"'type':'universal','bodies':['upper','lower'],'anchor':[0,0,0],'axis':[0,0,1],"
         "'axis2':[1,0,0.1]",
         "joints[0].axis2: is [1, 0, 0.1], must be perpendicular to axis"},
        {"'type':'hinge','bodies':['upper','lower'],'anchor':[0,0,0],'axis':[0,0,1],'q':1",
         "joints[0].q: must come with frames"},
        {"'type':'fixed','bodies':['upper','lower'],'frames':[{},{}],'anchor':[0,0,0]",
         "joints[0].anchor: must not be given together with frames"},
        {"'type':'fixed','bodies':['upper','lower'],'frames':[{}]", "joints[0].frames: is [{}]"},
        {"'type':'fixed','bodies':['upper','lower'],'frames':[{},{}]", "joints[0].frames: "},
        {"'type':'fixed','bodies':['upper','lower'],'frames':[{'positon':[0,0,0]},{}]",
         "joints[0].frames[0].positon: is not a field of a frame, did you mean 'position'?"},
        {"'type':'slide','bodies':['upper','lower'],'q':2,"
         "'frames':[{'orientation':[0.5,0.5,0.5,0.5]},{'orientation':[0.5,0.5,0.5,0.5]}]",
         "joints[0].q: is 2, must be that of the positions of the bodies"},
        {"'type':'fixed','bodies':['upper','lower'],'limits':[0,1]",
         "joints[0].limits: is not a field of a fixed joint"},
        {"'type':'ball','bodies':['upper','lower'],'anchor':[0,0,0],'motor':1",
         "joints[0].motor: is 1, must be left out"},
        {"'type':'fixed','bodies':['upper','lower'],'friction':-1",
         "joints[0].friction: is -1, must be a number >= 0"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) joint(cases[k][0], cases[k][1]);
    joint("'type':'ball','bodies':['upper','lower'],'anchor':[0,0,0],'motor':0", NULL);
    joint("'type':'slide','bodies':['upper','lower'],'q':1,'frames':["
          "{'orientation':[0.5,0.5,0.5,0.5]},{'orientation':[0.5,0.5,0.5,0.5]}]",
          NULL);
}
END_TEST

START_TEST(follows_are_checked) {
    const char *form = "'type':'%s','bodies':['upper','lower'],'frames':[{'position':[0.5,0,"
                       "0]},{'position':[-0.5,0,0]}],'follow':%s";
    const char *cases[][3] = {
        {"hinge", "{'stiffness':1}", NULL},
        {"hinge", "1", "joints[0].follow: is 1, must be an object"},
        {"hinge", "{}", "joints[0].follow.stiffness: is missing, must be a frequency > 0 in Hz"},
        {"hinge", "{'stiffness':0}", "joints[0].follow.stiffness: is 0, must be a number > 0"},
        {"hinge", "{'stifness':1}",
         "joints[0].follow.stifness: is not a field of follow, did you mean 'stiffness'?"},
        {"hinge", "{'stiffness':1,'damping':-0.1}",
         "joints[0].follow.damping: is -0.1, must be a number >= 0"},
        {"hinge", "{'stiffness':1,'max_torque':0}",
         "joints[0].follow.max_torque: is 0, must be a number > 0"},
        {"hinge", "{'stiffness':1,'weight':1.5}",
         "joints[0].follow.weight: is 1.5, must be a number from 0 to 1"},
        {"hinge", "{'stiffness':1,'weight':[1]}",
         "joints[0].follow.weight: is [1], must be a number from 0 to 1 or {\"time\", \"value\"}"},
        {"hinge", "{'stiffness':1,'weight':{'time':[0,1],'value':[1,-1]}}",
         "joints[0].follow.weight.value[1]: is -1, must be a number from 0 to 1"},
        {"hinge", "{'stiffness':1,'weight':{'time':[0]}}",
         "joints[0].follow.weight.value: is missing"},
        {"hinge", "{'stiffness':1,'curve':0.5}", "joints[0].follow.curve: is 0.5, must be an obj"},
        {"hinge", "{'stiffness':1,'curve':{'time':[0,1],'value':[1]}}",
         "joints[0].follow.curve.value: has 1 values, must have 2"},
        {"hinge", "{'stiffness':1,'curve':{'time':[0],'value':[[1]]}}",
         "joints[0].follow.curve.value[0]: is [1], must be a number"},
        {"universal", "{'stiffness':1,'curve':{'time':[0],'value':[1]}}",
         "joints[0].follow.curve.value[0]: is 1, must be [angle, angle]"},
        {"ball", "{'stiffness':1,'curve':{'time':[0],'value':[[1,0,0]]}}",
         "joints[0].follow.curve.value[0]: is [1, 0, 0], must be [w, x, y, z]"},
        {"ball", "{'stiffness':1,'curve':{'time':[0],'value':[[1,1,0,0]]}}",
         "joints[0].follow.curve.value[0]: is [1, 1, 0, 0], must be a unit quaternion"},
        {"fixed", "{'stiffness':1}", "joints[0].follow: is not a field of a fixed joint"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char fields[512];
        snprintf(fields, sizeof fields, form, cases[k][0], cases[k][1]);
        joint(fields, cases[k][2]);
    }
}
END_TEST

START_TEST(loops_are_accepted) {
    small(",{'name':'b','position':[1,0,0]}",
          "},{'type':'ball','bodies':['a','b'],'anchor':[0,0,0]},"
          "{'type':'ball','bodies':['b','world'],'anchor':[1,0,0]",
          "", NULL);
    small(",{'name':'b','motion':'fixed','position':[1,0,0]}",
          "},{'type':'ball','bodies':['b','world'],'anchor':[0,0,0]", "",
          "joints[1].bodies: neither 'b' nor 'world' is dynamic, one of them must be");
}
END_TEST

START_TEST(limits_are_checked) {
    small("", ",'limits':[1,-1]", "", "joints[0].limits: is [1, -1], must be [low, high]");
    small("", ",'limits':[1]", "", "joints[0].limits: is [1], must be [low, high]");
    const char *ball = "'type':'ball','bodies':['upper','lower'],'anchor':[0,0,0],'limits':%s";
    const char *cases[][2] = {
        {"[0,1]", "joints[0].limits: is [0, 1], must be an object"},
        {"{}", "joints[0].limits.cone: is missing"},
        {"{'cone':4}", "joints[0].limits.cone: is 4, must be an angle > 0 and <= pi"},
        {"{'cone':0}", "joints[0].limits.cone: is 0"},
        {"{'cone':1,'twist':[1,0]}", "joints[0].limits.twist: is [1, 0]"},
        {"{'cone':1,'axis':[0,0,0]}", "joints[0].limits.axis: is [0, 0, 0], must not be zero"},
        {"{'cone':3.141592653589793}", NULL},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char fields[256];
        snprintf(fields, sizeof fields, ball, cases[k][0]);
        joint(fields, cases[k][1]);
    }
}
END_TEST

START_TEST(actuators_are_checked) {
    small("", ",'limit_torque':{'a':1,'b':1,'c':1,'on':1}", "",
          "joints[0].limit_torque: must come with limits");
    small("", ",'limit_restitution':0.5", "", "joints[0].limit_restitution: must come with limits");
    small("", ",'limits':[0,1],'limit_restitution':2", "",
          "joints[0].limit_restitution: is 2, must be a number from 0 to 1");
    small("", ",'limits':[0,1],'limit_torque':{'a':1,'b':1,'c':0,'on':1}", "",
          "joints[0].limit_torque.c: is 0, must be a number > 0");
    small("", ",'muscle':{'growth':1,'max':1,'side':0}", "",
          "joints[0].muscle.side: is 0, must be 1 or -1");
    small("", ",'muscle':{'growth':1,'max':1,'start':2}", "",
          "joints[0].muscle.start: is 2, must be at most max");
    small("", ",'motor':{'time':[0],'value':[0],'interpolation':'cosine'}", "",
          "joints[0].motor.interpolation: is \"cosine\", must be one of \"linear\", \"cubic\"");
    const char *other = ",{'name':'b','mass':1,'inertia':[1,1,1],'position':[0,0,0]}],'joints':[{"
                        "'type':'%s','bodies':['a','b'],'anchor':[0,0,0],%s}]}";
    const char *cases[][3] = {
        {"ball", "'spring':{'stiffness':1}",
         "joints[0].spring: must be left out: only a joint with"},
        {"ball", "'muscle':{'growth':1,'max':1}", "joints[0].muscle: must be left out"},
        {"fixed", "'limit_restitution':0",
         "joints[0].limit_restitution: is not a field of a fixed joint"},
        {"fixed", "'limit_torque':{}", "joints[0].limit_torque: is not a field of a fixed joint"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char text[1024];
        snprintf(text, sizeof text,
                 "{'format':'skel-scene/1','bodies':[{'name':'a','mass':1,'inertia':[1,1,1],"
                 "'position':[0,0,0]}");
        snprintf(text + strlen(text), sizeof text - strlen(text), other, cases[k][0], cases[k][1]);
        refused(text, cases[k][2]);
    }
}
END_TEST

START_TEST(the_world_is_checked) {
    const char *cases[][2] = {
        {"'ground':{}", "ground: is {}, must be [ground, ...]"},
        {"'ground':[{'body':'b'}]", "ground[0].body: is \"b\", must be the name of a body"},
        {"'ground':[{'normal':[0,0,0]}]", "ground[0].normal: is [0, 0, 0], must not be zero"},
        {"'ground':[{'law':{'a':1,'b':0.5}}]", "ground[0].law.b: is 0.5, must be a number >= 1"},
        {"'ground':[{'law':{'a':1,'b':0}}]", "ground[0].law.b: is 0, must be a number >= 1"},
        {"'ground':[{'restitution':1.5}]", "ground[0].restitution: is 1.5, must be a number from"},
        {"'ground':[{'tangential_restitution':1}]",
         "ground[0].tangential_restitution: must come with restitution"},
        {"'forces':[{'type':'wind'}]",
         "forces[0].type: is \"wind\", must be one of \"uniform\", \"drag\""},
        {"'forces':[{}]", "forces[0].type: is missing, must be a string like \"uniform\""},
        {"'forces':[{'type':'drag','acceleration':[0,0,0]}]",
         "forces[0].acceleration: is not a field of a drag"},
        {"'forces':[{'type':'turbulence','strength':1,'seed':-1}]",
         "forces[0].seed: is -1, must be a whole number from 0"},
        {"'forces':[{'type':'turbulence','strength':1,'seed':1.5}]",
         "forces[0].seed: is 1.5, must be a whole number from 0"},
        {"'forces':[{'type':'vortex','strength':1,'axis':[0,0,0]}]",
         "forces[0].axis: is [0, 0, 0], must not be zero"},
        {"'frame':{'spin':[0,0,0]}", "frame.spin: is not a field of a frame"},
        {"'frame':{'acceleration':{'time':[0],'value':[[0,0,0]],'interpolation':'cubic'}}",
         "frame.acceleration.interpolation: is not a field of a curve"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char end[512];
        snprintf(end, sizeof end, ",%s", cases[k][0]);
        small("", "", end, cases[k][1]);
    }
    small("", "", ",'ground':[],'wobble':[],'forces':[],'frame':{}", NULL);
    const char *body = ",{'name':'b','mass':1,'inertia':[1,1,1],'position':[0,0,0],%s}";
    const char *more[][2] = {
        {"'collide':0", "bodies[1].collide: is 0, must be true, false or the number of a group"},
        {"'collide':1.5", "bodies[1].collide: is 1.5"},
        {"'contacts':[[0,0]]", "bodies[1].contacts[0]: is [0, 0], must be [x, y, z]"},
        {"'force':{'time':[0],'value':[[0,0,0]],'interpolation':'cubic'},"
         "'torque':{'time':[0],'value':[[0,0,0]]}",
         "bodies[1].torque.interpolation: is \"linear\", must be that of force"},
    };
    for (size_t k = 0; k < sizeof more / sizeof *more; ++k) {
        char text[512];
        snprintf(text, sizeof text, body, more[k][0]);
        small(text, "", "", more[k][1]);
    }
}
END_TEST

START_TEST(soft_masses_are_checked) {
#define SPRINGS "'longitudinal':{'c':1,'d':1},'transversal':{'c':1,'d':1},'angular':{'a':1,'b':1}"
    const char *cases[][2] = {
        {"{'name':'a','body':'a','mass':1,'inertia':[1,1,1]," SPRINGS "}",
         "wobble[0].name: is \"a\", must be unique: bodies[0] has this name"},
        {"{'name':'world','body':'a','mass':1,'inertia':[1,1,1]," SPRINGS "}",
         "wobble[0].name: is \"world\", must be another name"},
        {"{'name':'w','body':'a','mass':1,'inertia':[1,1,1]," SPRINGS "},"
         "{'name':'w','body':'a','mass':1,'inertia':[1,1,1]," SPRINGS "}",
         "wobble[1].name: is \"w\", must be unique: an earlier wobble has this name"},
        {"{'name':'w','body':'a','mass':1,'inertia':[1,1,1]," SPRINGS "},"
         "{'name':'v','body':'w','mass':1,'inertia':[1,1,1]," SPRINGS "}",
         "wobble[1].body: is \"w\", must be the name of one of the bodies"},
        {"{'name':'w','body':'world','mass':1,'inertia':[1,1,1]," SPRINGS "}",
         "wobble[0].body: is \"world\", must be the name of one of the bodies"},
        {"{'name':'w','body':'b','mass':1,'inertia':[1,1,1]," SPRINGS "}",
         "wobble[0].body: is \"b\", must be the name of one of the bodies"},
        {"{'name':'w','body':'a','inertia':[1,1,1]," SPRINGS "}", "wobble[0].mass: is missing"},
        {"{'name':'w','body':'a','mass':1," SPRINGS "}", "wobble[0].inertia: is missing"},
        {"{'name':'w','body':'a','mass':1,'inertia':[1,1,1]}", "wobble[0].longitudinal: is missin"},
        {"{'name':'w','body':'a','mass':1,'inertia':[1,1,1],'locked':1," SPRINGS "}",
         "wobble[0].locked: is 1, must be true or false"},
        {"{'name':'j','body':'a','mass':1,'inertia':[1,1,1],'locked':true}", NULL},
        {"3", "wobble[0]: is 3, must be an object"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char end[1024];
        snprintf(end, sizeof end, ",'wobble':[%s]", cases[k][0]);
        small("", "", end, cases[k][1]);
    }
    refused("{'format':'skel-scene/1','bodies':[{'name':'a','mass':1,'inertia':[1,1,1],"
            "'position':[0,0,0]},{'name':'b','mass':1,'inertia':[1,1,1]}],'joints':[{'type':'ball',"
            "'name':'w.lock','bodies':['a','b'],'frames':[{},{}]}],'wobble':[{'name':'w',"
            "'body':'a','mass':1,'inertia':[1,1,1],'locked':true}]}",
            "wobble[0].name: must be another name: a joint 'w.lock' exists");
    refused("{'format':'skel-scene/1','bodies':[{'name':'a','mass':1,'inertia':[1,1,1],"
            "'position':[0,0,0]},{'name':'b','mass':1,'inertia':[1,1,1]}],'joints':[{'type':'ball',"
            "'bodies':['a','b'],'frames':[{},{}]}],'wobble':[{'name':'w','body':'b','mass':1,"
            "'inertia':[1,1,1]," SPRINGS "}]}",
            "wobble[0].body: needs the position of bodies[1], which is missing");
    skel_status status;
    const char *locked =
        "{'format':'skel-scene/1','bodies':[{'name':'a','mass':1,'inertia':[1,1,1],"
        "'position':[0,0,0]}],'wobble':[{'name':'w','body':'a','mass':1,'inertia':[1,1,1],"
        "'displacement':[1,0,0],'locked':true}]}";
    char *lines = checked(locked, &status);
    ck_assert_int_eq(status, SKEL_OK);
    ck_assert_ptr_nonnull(strstr(lines, "warning: wobble[0].displacement: has no effect"));
    free(lines);
}
END_TEST

START_TEST(bakes_are_checked) {
    small("", "", ",'bake':{'fps':0}", "bake.fps: is 0, must be a number > 0");
    small("", "", ",'bake':{'frame_start':1.5}",
          "bake.frame_start: is 1.5, must be a whole number");
    small("", "", ",'bake':{'frame_end':0}", "bake.frame_end: is 0, must be at least frame_start");
    small("", "", ",'bake':{'frame_end':10000001}", "bake.frame_end: makes 10000001 frames");
    small("", "", ",'bake':{'tolerance':0}", "bake.tolerance: is 0, must be a number > 0");
    small("", "", ",'bake':{'step':-1}", "bake.step: is -1, must be a number > 0");
    small("", "", ",'bake':{'preroll':-1}", "bake.preroll: is -1, must be a number >= 0");
    small("", "", ",'bake':{'solver':'fast'}", "bake.solver: is \"fast\", must be one of \"tree\"");
    small("", "", ",'bake':{'integrator':'magic'}",
          "bake.integrator: is \"magic\", must be one of");
    small("", "", ",'bake':{'frame_start':-5,'frame_end':-5}", NULL);
}
END_TEST

START_TEST(placing_is_checked) {
    const char *two = "{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]},"
                      "{'name':'b'%s}],'joints':[{'type':'hinge','bodies':['a','b'],%s}]}";
    const char *cases[][3] = {
        {"", "'frames':[{},{}]", NULL},
        {"", "'anchor':[0,0,0],'axis':[0,0,1]", "bodies[1].position: is missing"},
        {"", "'frames':[{'position':[1e308,0,0]},{'position':[-1e308,0,0]}]", "bodies[1].position"},
        {",'orientation':[1,0,0,0]", "'frames':[{},{}]", "bodies[1].position: is missing"},
        {"", "'frames':[{},{}]},{'type':'ball','bodies':['a','b'],'anchor':[0,0,0]",
         "joints[1].anchor: needs the position of bodies[1]"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        char text[512];
        snprintf(text, sizeof text, two, cases[k][0], cases[k][1]);
        if (cases[k][2])
            refused(text, cases[k][2]);
        else
            skel_scene_destroy(parsed(text));
    }
}
END_TEST

START_TEST(formats_are_checked) {
    refused("{'bodies':[]}", "format: is missing, must be \"skel-scene/1\"");
    refused("{'format':1}", "format: is 1, must be \"skel-scene/1\"");
    refused("{'format':'skel-scene/2'}", "format: is \"skel-scene/2\"");
    refused("{'format':'skel-pose/1'}", "format: is a skel-pose/1, which this version");
    refused("{'format':'skel-dh/1','joints':[]}", "convention: is missing, must be");
    refused("{'format':'skel-scene/1'}", "bodies: is missing");
    refused("{'format':'skel-scene/1','bodies':[]}", "bodies: is [], must be [body, ...]");
    refused("[]", "document: is [], must be an object");
    refused("7", "document: is 7, must be an object");
}
END_TEST

/* ---- syntax --------------------------------------------------------------------------------- */

static void syntax(const char *text, size_t length, skel_status status, const char *message) {
    skel_scene *scene = NULL;
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_eq(skel_scene_parse(text, length, &scene, &err), status);
    ck_assert_msg(strstr(err.text, message) != NULL, "got '%s', expected '%s'", err.text, message);
}

START_TEST(syntax_errors_say_where) {
    const char *cases[][2] = {
        {"", "line 1 column 1: the text ends too early"},
        {"{\n \"a\": 1,\n \"b\" 2}", "line 3 column 6: ':' is expected"},
        {"{\"a\":[1,2}", "line 1 column 10: ',' or ']' is expected"},
        {"{\"a\":1} x", "line 1 column 9: nothing may follow the document"},
        {"{\"a\":01}", "line 1 column 7: a number must not begin with 0"},
        {"{\"a\":1.}", "line 1 column 8: a number must have a digit here"},
        {"{\"a\":+1}", "line 1 column 6: a value is expected"},
        {"{\"a\":NaN}", "line 1 column 6: a value is expected"},
        {"{\"a\":\"x\ny\"}", "line 1 column 8: a string must not hold a raw control character"},
        {"{\"a\":\"\\u0000\"}", "line 1 column 7: a string must not hold \\u0000"},
        {"{\"a\":\"\\ud800\"}", "line 1 column 7: half of a surrogate pair"},
        {"{\"a\":\"\\x\"}", "line 1 column 7: an unknown escape"},
        {"{\"\xc3\xa4\":\"\xff\"}", "line 1 column 7: a string is not valid UTF-8"},
        {"{\"a\":1,}", "line 1 column 8: a name in quotes is expected"},
        {"[1,]", "line 1 column 4: a value is expected"},
        {"{'a':1}", "line 1 column 2: a name in quotes is expected"},
        {"{\"a\": /* no */ 1}", "line 1 column 7: a value is expected"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k)
        syntax(cases[k][0], strlen(cases[k][0]), SKEL_E_SYNTAX, cases[k][1]);
    syntax("{\"a\":\0 1}", 9, SKEL_E_SYNTAX, "line 1 column 6: a value is expected");
    syntax("{}\0", 3, SKEL_E_SYNTAX, "line 1 column 3: nothing may follow");
}
END_TEST

START_TEST(depth_and_size_have_limits) {
    char deep[200];
    memset(deep, '[', sizeof deep);
    syntax(deep, sizeof deep, SKEL_E_TOO_LARGE, "line 1 column 65: nested deeper than 64 levels");
    syntax("{\"[[[[\":1}", 10, SKEL_E_DOCUMENT, "format: is missing");
    static char page[1]; /* never looked at: the length alone is enough */
    syntax(page, JSON_MAX_BYTES + 1, SKEL_E_TOO_LARGE, "document: is 67108865 bytes");
    const size_t many = (size_t)JSON_MAX_VALUES * 2 + 16;
    char *text = malloc(many);
    for (size_t k = 0; k < many; k += 2) memcpy(text + k, k ? "1," : "[ ", 2);
    syntax(text, many, SKEL_E_TOO_LARGE, "there are more than 10000000 values");
    free(text);
    syntax("[1234567890123456789012345678901234567890123456789012345678901]", 63, SKEL_E_TOO_LARGE,
           "line 1 column 2: a number is longer than 60 characters");
}
END_TEST

START_TEST(a_text_need_not_end_in_zero) {
    char *json = quoted("{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]}]}");
    size_t n = strlen(json);
    char *bare = malloc(n); /* one byte more would be caught by the sanitizer */
    memcpy(bare, json, n);
    skel_scene *scene = NULL;
    ck_assert_int_eq(skel_scene_parse(bare, n, &scene, NULL), SKEL_OK);
    skel_scene_destroy(scene);
    free(bare);
    free(json);
}
END_TEST

START_TEST(every_cut_of_a_document_is_refused) {
    char *json = quoted(_i ? k_loose : k_full);
    for (size_t n = 0; n < strlen(json); ++n) {
        skel_scene *scene = NULL;
        char *cut = malloc(n + 1);
        memcpy(cut, json, n);
        ck_assert_int_lt(skel_scene_parse(cut, n, &scene, NULL), 0);
        ck_assert_ptr_null(scene);
        free(cut);
    }
    free(json);
}
END_TEST

/* ---- check, arguments ----------------------------------------------------------------------- */

START_TEST(all_errors_are_listed_in_order) {
    static const char wrong[] = "{'format':'skel-scene/1','gravity':1,'bodies':[{'name':'a',"
                                "'position':2,'mass':3},{'name':'b','mass':-1}],"
                                "'bake':{'fps':0}}";
    const char *order[] = {"error: gravity: is 1",
                           "error: bodies[0].position: is 2",
                           "error: bodies[0].inertia: is missing",
                           "error: bodies[1].mass: is -1",
                           "error: bodies[1].position: is missing",
                           "error: bake.fps: is 0"};
    skel_status status;
    char *lines = checked(wrong, &status);
    const char *at = lines;
    ck_assert_int_eq(status, SKEL_E_DOCUMENT);
    for (size_t k = 0; k < sizeof order / sizeof *order; ++k) {
        at = strstr(at, order[k]);
        ck_assert_msg(at != NULL, "'%s' is not in its place in\n%s", order[k], lines);
    }
    free(lines);
}
END_TEST

START_TEST(warnings_are_no_errors) {
    skel_status status;
    char *lines = checked(k_full, &status);
    ck_assert_int_eq(status, SKEL_OK);
    ck_assert_str_eq(lines, "");
    free(lines);
    lines = checked("{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0],"
                    "'inertia':[1,1,3]},{'name':'b','motion':'fixed','position':[0,0,0],"
                    "'velocity':[1,0,0]}]}",
                    &status);
    ck_assert_int_eq(status, SKEL_OK);
    ck_assert_ptr_nonnull(strstr(lines, "warning: bodies[0].inertia: one principal moment"));
    ck_assert_ptr_nonnull(strstr(lines, "warning: bodies[0].mass: is missing"));
    ck_assert_ptr_nonnull(strstr(lines, "warning: bodies[1].velocity: has no effect on a fixed"));
    free(lines);
    lines = checked("{'format':'skel-scene/1','bodies':[{'name':'a','motion':'driven','release':1,"
                    "'curve':{'time':[0],'position':[[0,0,0]]},'velocity':[1,0,0],"
                    "'angular_velocity':[1,0,0],'force':[1,0,0]}]}",
                    &status);
    ck_assert_int_eq(status, SKEL_OK);
    ck_assert_ptr_nonnull(strstr(lines, "warning: bodies[0].mass: is missing"));
    ck_assert_ptr_nonnull(
        strstr(lines, "warning: bodies[0].velocity: has no effect: the body starts with its"));
    ck_assert_ptr_nonnull(strstr(lines, "warning: bodies[0].angular_velocity: has no effect"));
    ck_assert_ptr_null(strstr(lines, "force"));
    free(lines);
}
END_TEST

START_TEST(what_cannot_act_is_said) {
    skel_status status;
    char *lines;
    lines = checked("{'format':'skel-scene/1','bodies':[{'name':'a','mass':1,'inertia':[1,1,1],"
                    "'position':[0,0,0]}],'joints':[{'type':'hinge','bodies':['world','a'],"
                    "'anchor':[0,0,0],'axis':[0,0,1],'limits':[-20,20]}],'ground':[{}]}",
                    &status);
    ck_assert_int_eq(status, SKEL_OK);
    ck_assert_ptr_nonnull(
        strstr(lines, "warning: joints[0].limits: has no effect: the range is wider"));
    ck_assert_ptr_nonnull(
        strstr(lines, "warning: ground: has no effect: no body has a shape or contacts"));
    free(lines);
    lines = checked("{'format':'skel-scene/1','angle_unit':'deg','bodies':[{'name':'a','mass':1,"
                    "'inertia':[1,1,1],'position':[0,0,0],'contacts':[[0,0,0]]}],'joints':[{"
                    "'type':'hinge','bodies':['world','a'],'anchor':[0,0,0],'axis':[0,0,1],"
                    "'limits':[-180,180]}],'ground':[{}]}",
                    &status);
    ck_assert_int_eq(status, SKEL_OK);
    ck_assert_str_eq(lines, "");
    free(lines);
}
END_TEST

START_TEST(many_errors_are_cut) {
    text_buffer t = {0};
    skel_status status;
    text_add(&t, "{'format':'skel-scene/1','bodies':[");
    for (int k = 0; k < 300; ++k) text_add(&t, k ? ",0" : "0");
    text_add(&t, "]}");
    char *lines = checked(text_get(&t), &status);
    int count = 0;
    for (const char *c = lines; (c = strstr(c, "error: ")) != NULL; ++c) ++count;
    ck_assert_int_eq(count, DOC_MAX_ERRORS + 1);
    ck_assert_ptr_nonnull(strstr(lines, "only the first 100 errors are shown"));
    free(lines);
    text_free(&t);
}
END_TEST

START_TEST(errors_name_body_and_joint) {
    skel_scene *scene;
    skel_error err;
    parse("{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]},{'name':1}]}", &scene,
          &err);
    ck_assert_int_eq(err.body, 1);
    ck_assert_int_eq(err.joint, -1);
    parse("{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]}],'joints':[0]}",
          &scene, &err);
    ck_assert_int_eq(err.body, -1);
    ck_assert_int_eq(err.joint, 0);
}
END_TEST

START_TEST(wrong_calls_are_refused) {
    skel_scene *scene = (skel_scene *)1;
    skel_error tiny = {0}; /* a caller that knows no field yet must not be written to */
    char text[4];
    ck_assert_int_eq(skel_scene_parse(NULL, 0, &scene, NULL), SKEL_E_ARGUMENT);
    ck_assert_ptr_null(scene);
    ck_assert_int_eq(skel_scene_parse("{}", 2, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_lt(skel_scene_parse("{}", 2, &scene, &tiny), 0);
    ck_assert_int_eq(tiny.status, 0);
    ck_assert_int_eq(skel_scene_check("{}", 2, text, sizeof text, NULL), SKEL_E_DOCUMENT);
    ck_assert_str_eq(text, "err");
    ck_assert_int_eq(skel_scene_check(NULL, 2, text, sizeof text, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_scene_write(NULL, text, sizeof text, NULL), SKEL_E_ARGUMENT);
    ck_assert_ptr_null(skel_scene_model(NULL));
    ck_assert_str_eq(skel_scene_name(NULL), "");
    skel_scene_destroy(NULL);
}
END_TEST

/* ---- values instead of a text ---- */

enum { VALUES_MAX = 2000 };

/* Appends the values of the tree to the list; returns its new length. */
static uint32_t list_values(const json_value *node, skel_value *list, uint32_t count) {
    ck_assert_uint_lt(count, VALUES_MAX);
    list[count++] = (skel_value){.kind = (int32_t)node->kind,
                                 .count = (uint32_t)node->count,
                                 .name = node->name,
                                 .text = node->text,
                                 .number = node->number};
    for (const json_value *c = node->child; c; c = c->next) count = list_values(c, list, count);
    return count;
}

START_TEST(values_are_read_as_the_text_is) {
    static skel_value list[VALUES_MAX];
    char *text = quoted(k_documents[_i]);
    char message[100];
    json_tree tree = {0};
    ck_assert_int_eq(json_parse(&tree, text, strlen(text), message, sizeof message), SKEL_OK);
    const uint32_t count = list_values(tree.root, list, 0);

    skel_scene *first = parsed(k_documents[_i]), *second = NULL;
    ck_assert_int_eq(skel_scene_create(list, count, sizeof *list, &second, NULL), SKEL_OK);
    char *one = written(first), *two = written(second);
    ck_assert_str_eq(one, two);
    same_bits(skel_scene_model(first), skel_scene_model(second));
    same_world(skel_scene_model(first), skel_scene_model(second));

    /* A list that is cut, or goes on, is refused. */
    skel_scene *none = first;
    for (uint32_t n = 0; n < count; ++n) {
        ck_assert_int_eq(skel_scene_create(list, n, sizeof *list, &none, NULL), SKEL_E_ARGUMENT);
        ck_assert_ptr_null(none);
    }
    ck_assert_int_eq(skel_scene_create(list, count + 1, sizeof *list, &none, NULL),
                     SKEL_E_ARGUMENT);

    json_free(&tree);
    free(text);
    free(one);
    free(two);
    skel_scene_destroy(first);
    skel_scene_destroy(second);
}
END_TEST

static void refused_values(const skel_value *list, uint32_t count, skel_status status,
                           const char *part) {
    skel_scene *scene = NULL;
    skel_error err;
    skel_error_init(&err);
    ck_assert_int_eq(skel_scene_create(list, count, sizeof *list, &scene, &err), status);
    ck_assert_ptr_null(scene);
    ck_assert_msg(strstr(err.text, part) != NULL, "'%s' is not in '%s'", part, err.text);
}

START_TEST(wrong_values_are_refused) {
    const skel_value object = {.kind = SKEL_VALUE_OBJECT, .count = 1};
    const struct {
        skel_value value;
        const char *part;
    } cases[] = {
        {{.kind = 8, .name = "a"}, "values[1]: kind must be"},
        {{.kind = -1, .name = "a"}, "values[1]: kind must be"},
        {{.kind = SKEL_VALUE_NULL}, "values[1]: name must be"},
        {{.kind = SKEL_VALUE_NULL, .name = "\xff"}, "values[1]: name must be"},
        {{.kind = SKEL_VALUE_STRING, .name = "a"}, "values[1]: text is NULL"},
        {{.kind = SKEL_VALUE_STRING, .name = "a", .text = "\xc3"}, "values[1]: text is NULL"},
        {{.kind = SKEL_VALUE_NUMBERS, .name = "a", .count = 1}, "values[1]: numbers is NULL"},
        {{.kind = SKEL_VALUE_ARRAY, .name = "a", .count = 1}, "values[2]: the list ends"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        const skel_value list[] = {object, cases[k].value};
        refused_values(list, 2, SKEL_E_ARGUMENT, cases[k].part);
    }

    /* NaN is no number of a document. */
    const skel_value gravity[] = {
        {.kind = SKEL_VALUE_OBJECT, .count = 2},
        {.kind = SKEL_VALUE_STRING, .name = "format", .text = "skel-scene/1"},
        {.kind = SKEL_VALUE_NUMBERS,
         .name = "gravity",
         .count = 3,
         .numbers = (double[]){0, 0, NAN}}};
    refused_values(gravity, 3, SKEL_E_DOCUMENT, "gravity[2]: is too large for a double");

    /* As deep as a text may be, and one level more. */
    skel_value deep[JSON_MAX_DEPTH + 1];
    for (int k = 0; k <= JSON_MAX_DEPTH; ++k)
        deep[k] = (skel_value){.kind = SKEL_VALUE_ARRAY, .count = k < JSON_MAX_DEPTH};
    refused_values(deep, JSON_MAX_DEPTH + 1, SKEL_E_TOO_LARGE, "deeper than 64 levels");
    deep[JSON_MAX_DEPTH - 1].count = 0;
    refused_values(deep, JSON_MAX_DEPTH, SKEL_E_DOCUMENT, "document: is [[");

    skel_scene *scene = NULL;
    ck_assert_int_eq(skel_scene_create(NULL, 0, sizeof object, &scene, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_scene_create(&object, 1, sizeof object, NULL, NULL), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_scene_create(&object, 1, 8, &scene, NULL), SKEL_E_ARGUMENT);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("scene");
    TCase *tcase = tcase_create("scene");
    tcase_add_test(tcase, everything_is_read);
    tcase_add_test(tcase, bodies_are_read);
    tcase_add_test(tcase, joints_are_read);
    tcase_add_test(tcase, joints_stand_where_they_should);
    tcase_add_test(tcase, pins_and_releases_are_read);
    tcase_add_test(tcase, springs_are_read);
    tcase_add_test(tcase, soft_masses_are_read);
    tcase_add_test(tcase, the_world_is_read);
    tcase_add_test(tcase, actuators_are_checked);
    tcase_add_test(tcase, the_world_is_checked);
    tcase_add_test(tcase, soft_masses_are_checked);
    tcase_add_loop_test(tcase, a_scene_is_a_bake_desc, 0, 2);
    tcase_add_test(tcase, defaults_are_as_documented);
    tcase_add_test(tcase, names_are_made_unique);
    tcase_add_loop_test(tcase, writing_changes_no_bit, 0, 3);
    tcase_add_test(tcase, pins_have_one_form);
    tcase_add_loop_test(tcase, writing_changes_no_bit_of_random_scenes, 0, 50);
    tcase_add_test(tcase, numbers_read_back_to_the_same_double);
    tcase_add_test(tcase, a_comma_locale_does_no_harm);
    tcase_add_test(tcase, fields_are_checked);
    tcase_add_test(tcase, bodies_are_checked);
    tcase_add_test(tcase, driven_bodies_follow_their_curve);
    tcase_add_test(tcase, pins_are_checked);
    tcase_add_test(tcase, shapes_are_checked);
    tcase_add_test(tcase, joints_are_checked);
    tcase_add_test(tcase, follows_are_checked);
    tcase_add_test(tcase, loops_are_accepted);
    tcase_add_test(tcase, limits_are_checked);
    tcase_add_test(tcase, bakes_are_checked);
    tcase_add_test(tcase, placing_is_checked);
    tcase_add_test(tcase, formats_are_checked);
    tcase_add_test(tcase, syntax_errors_say_where);
    tcase_add_test(tcase, depth_and_size_have_limits);
    tcase_add_test(tcase, a_text_need_not_end_in_zero);
    tcase_add_loop_test(tcase, every_cut_of_a_document_is_refused, 0, 2);
    tcase_add_test(tcase, all_errors_are_listed_in_order);
    tcase_add_test(tcase, warnings_are_no_errors);
    tcase_add_test(tcase, what_cannot_act_is_said);
    tcase_add_test(tcase, many_errors_are_cut);
    tcase_add_test(tcase, errors_name_body_and_joint);
    tcase_add_test(tcase, wrong_calls_are_refused);
    tcase_add_loop_test(tcase, values_are_read_as_the_text_is, 0, 3);
    tcase_add_test(tcase, wrong_values_are_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
