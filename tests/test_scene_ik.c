/* SPDX-License-Identifier: BSD-3-Clause */
/* `goals` and `ik` of the scene document: what is read, what is refused and how, that writing
   changes no bit, and that a bake does not notice them. */
#include "shared/document.h"
#include "shared/near.h"

#include <skel/skel.h>

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IK_DEGREE (3.14159265358979323846 / 180.0)

/* An arm of every joint type on a fixed base; %s takes goals and ik. */
static const char k_arm[] =
    "{'format':'skel-scene/1','angle_unit':'deg','bodies':["
    "{'name':'base','motion':'fixed','position':[0,0,0]},"
    "{'name':'upper','mass':2,'inertia':[1,1,1],'position':[0.5,0,0]},"
    "{'name':'lower','mass':1,'inertia':[1,1,1],'position':[1.5,0,0]},"
    "{'name':'hand','mass':1,'inertia':[1,1,1],'position':[2.1,0,0]},"
    "{'name':'nail','mass':1,'inertia':[1,1,1],'position':[2.2,0,0]},"
    "{'name':'car','mass':1,'inertia':[1,1,1],'position':[0,3,0]}],"
    "'joints':["
    "{'name':'shoulder','type':'ball','bodies':['base','upper'],'anchor':[0,0,0]},"
    "{'name':'elbow','type':'hinge','bodies':['upper','lower'],'anchor':[1,0,0],'axis':[0,0,1],"
    " 'limits':[-10,150]},"
    "{'name':'wrist','type':'universal','bodies':['lower','hand'],'anchor':[2,0,0],"
    " 'axis':[0,1,0],'axis2':[0,0,1],'limits':[[-40,20],[-30,30]]},"
    "{'name':'glue','type':'fixed','bodies':['hand','nail']},"
    "{'name':'rail','type':'slide','bodies':['world','car'],'axis':[1,0,0],'limits':[-1,3]}],"
    "%s'bake':{'fps':25,'frame_start':10,'frame_end':19}}";

/* One of everything. */
static const char k_goals[] =
    "'goals':["
    "{'name':'reach','body':'hand','point':[0.1,0,-0.0],"
    " 'position':[[1,1,0],[1,1.1,0.1],[0.9,1,0]],'orientation':[0.8,0,0.6,0],"
    " 'frame':[0.6,0,0.8,0],'weight':[1,0,0.5],'priority':2},"
    "{'body':'hand','orientation':[[1,0,0,0],[0.6,0,0,0.8],[-1,0,0,0]],'relative_to':'base'},"
    "{'body':'hand','position':[1,1,0.25],'axes':'zx','weight':3},"
    "{'name':'look','body':'nail','point':[0,0,0.1],'look_at':[5,6,7],'axis':[0,3,4]},"
    "{'body':'lower','pole':[[0,1,0],[0,1,1],[0,0,1]],'from':'upper','to':'world',"
    " 'from_point':[-0.5,0,0],'to_point':[2,0,0],'point':[-0.5,0,0],'priority':15},"
    "{'name':'balance','centre_of_mass':[0.5,0.25,0],'axes':'xy','priority':1}],"
    "'ik':{'mode':'track','seed':[0.6,0,0,0.8,30,5,-6,0.5],'tolerance':1e-7,'max_ms':2.5,"
    " 'root':'moves','max_speed':{'elbow':2.5,'shoulder':3},'stiffness':{'wrist':0.25},"
    " 'posture':'mid','blend':[3,4],'max_restarts':0,'max_iterations':77},";

static skel_status parse(const char *form, const char *more, skel_scene **scene, skel_error *err) {
    const size_t size = strlen(form) + strlen(more) + 1;
    char *text = malloc(size);
    snprintf(text, size, form, more);
    char *json = quoted(text);
    skel_error_init(err);
    const skel_status status = skel_scene_parse(json, strlen(json), scene, err);
    ck_assert((status == SKEL_OK) == (*scene != NULL));
    free(json);
    free(text);
    return status;
}

static skel_scene *parsed(const char *more) {
    skel_scene *scene = NULL;
    skel_error err;
    const skel_status status = parse(k_arm, more, &scene, &err);
    ck_assert_msg(status == SKEL_OK, "%s", err.text);
    return scene;
}

static skel_ik_motion_desc desc_of(const skel_scene *s) {
    skel_ik_motion_desc d;
    skel_ik_motion_desc_init(&d);
    ck_assert_int_eq(skel_scene_get_ik_desc(s, &d), SKEL_OK);
    return d;
}

static void same(const double *a, const double *b, size_t count) {
    for (size_t k = 0; k < count; ++k)
        ck_assert_msg(a[k] == b[k], "number %zu is %.17g, must be %.17g", k, a[k], b[k]);
}
#define SAME(x, ...)                                                                               \
    same(x, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

/* ---- reading -------------------------------------------------------------------------------- */

START_TEST(goals_are_read) {
    skel_scene *s = parsed(k_goals);
    const skel_ik_motion_desc d = desc_of(s);
    const skel_goal_desc *g = d.ik->goals;
    const skel_goal_track *t = d.tracks;
    ck_assert_uint_eq(d.ik->goal_count, 6);
    ck_assert_uint_eq(d.ik->goal_stride, sizeof *g);
    ck_assert_int_eq(g[0].kind, SKEL_GOAL_PLACE);
    ck_assert_int_eq(g[0].body, 3);
    ck_assert_uint_eq(g[0].parts, SKEL_GOAL_POSITION | SKEL_GOAL_ORIENTATION);
    ck_assert_int_eq(g[0].priority, 2);
    ck_assert_int_eq(g[0].relative_to, SKEL_WORLD);
    SAME(g[0].point, 0.1, 0, 0);
    SAME(g[0].orientation, 0.8, 0, 0.6, 0);
    SAME(g[0].frame, 0.6, 0, 0.8, 0);
    ck_assert_uint_eq(t[0].position_count, 3);
    SAME(t[0].positions, 1, 1, 0, 1, 1.1, 0.1, 0.9, 1, 0);
    ck_assert_uint_eq(t[0].orientation_count, 0);
    ck_assert_uint_eq(t[0].weight_count, 3);
    SAME(t[0].weights, 1, 0, 0.5);
    ck_assert_uint_eq(g[1].parts, SKEL_GOAL_ORIENTATION);
    ck_assert_int_eq(g[1].relative_to, 0);
    SAME(t[1].orientations, 1, 0, 0, 0, 0.6, 0, 0, 0.8, -1, 0, 0, 0);
    ck_assert_uint_eq(g[2].parts, SKEL_GOAL_X | SKEL_GOAL_Z);
    ck_assert_double_eq(g[2].weight, 3);
    ck_assert_uint_eq(t[2].position_count, 0);
    SAME(g[2].position, 1, 1, 0.25);
    ck_assert_int_eq(g[3].kind, SKEL_GOAL_AIM);
    SAME(g[3].position, 5, 6, 7);
    SAME(g[3].axis, 0, 0.6, 0.8);
    ck_assert_int_eq(g[4].kind, SKEL_GOAL_POLE);
    ck_assert_int_eq(g[4].from, 1);
    ck_assert_int_eq(g[4].to, SKEL_WORLD);
    SAME(g[4].from_point, -0.5, 0, 0);
    SAME(g[4].to_point, 2, 0, 0);
    ck_assert_int_eq(g[5].kind, SKEL_GOAL_CENTRE);
    ck_assert_int_eq(g[5].body, SKEL_WORLD);
    ck_assert_uint_eq(g[5].parts, SKEL_GOAL_X | SKEL_GOAL_Y);
    ck_assert_str_eq(skel_scene_goal_name(s, 0), "reach");
    ck_assert_str_eq(skel_scene_goal_name(s, 1), "");
    ck_assert_ptr_null(skel_scene_goal_name(s, 6));
    ck_assert_ptr_null(skel_scene_goal_name(s, -1));
    skel_scene_destroy(s);
}
END_TEST

START_TEST(settings_are_read) {
    skel_scene *s = parsed(k_goals);
    const skel_ik_motion_desc d = desc_of(s);
    ck_assert_uint_eq(d.sample_count, 3);
    ck_assert_double_eq(d.sample_rate, 25);
    ck_assert_uint_eq(d.blend_in, 3);
    ck_assert_uint_eq(d.blend_out, 4);
    ck_assert_ptr_null(d.base);
    ck_assert_ptr_eq(d.ik->model, skel_scene_model(s));
    ck_assert_int_eq(d.ik->mode, SKEL_IK_TRACK);
    ck_assert_int_eq(d.ik->root, SKEL_IK_ROOT_MOVES);
    ck_assert_int_eq(d.ik->method, SKEL_IK_DAMPED);
    ck_assert_int_eq(d.ik->max_iterations, 77);
    ck_assert_int_eq(d.ik->max_restarts, 0);
    SAME(&d.ik->tolerance, 1e-7);
    SAME(&d.ik->max_ms, 2.5);
    SAME(d.seed, 0.6, 0, 0, 0.8, 30 * IK_DEGREE, 5 * IK_DEGREE, -6 * IK_DEGREE, 0.5);
    SAME(d.ik->max_step, 3 * (1.0 / 25), 3 * (1.0 / 25), 3 * (1.0 / 25), 2.5 * (1.0 / 25), 0, 0, 0);
    SAME(d.ik->stiffness, 0, 0, 0, 0, 0.25, 0.25, 0);
    near(d.ik->posture, ((const double[]){1, 0, 0, 0, 70 * IK_DEGREE, -10 * IK_DEGREE, 0, 1}), 8,
         1e-15);
    double middle[8];
    ck_assert_int_eq(skel_scene_get_middle_q(s, middle), SKEL_OK);
    same(d.ik->posture, middle, 8);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(defaults_are_those_of_the_engine) {
    static const char words_of_ik[] =
        "'goals':[{'body':'hand','position':[1,0,0]}],"
        "'ik':{'seed':'mid','posture':'current','max_speed':2,'stiffness':0.5},";
    skel_scene *s = parsed("'goals':[{'body':'hand','position':[1,0,0]}],");
    const skel_ik_motion_desc d = desc_of(s);
    skel_ik_desc usual;
    skel_ik_desc_init(&usual);
    ck_assert_uint_eq(d.sample_count, 1);
    ck_assert_ptr_null(d.seed);
    ck_assert_ptr_null(d.ik->posture);
    ck_assert_ptr_null(d.ik->max_step);
    ck_assert_ptr_null(d.ik->stiffness);
    ck_assert_int_eq(d.ik->mode, usual.mode);
    ck_assert_int_eq(d.ik->root, usual.root);
    ck_assert_int_eq(d.ik->max_restarts, usual.max_restarts);
    ck_assert_double_eq(d.ik->tolerance, usual.tolerance);
    ck_assert_double_eq(d.ik->goals[0].weight, 1);
    skel_scene_destroy(s);
    s = parsed("");
    const skel_ik_motion_desc nobody = desc_of(s);
    ck_assert_uint_eq(nobody.ik->goal_count, 0);
    skel_scene_destroy(s);
    s = parsed(words_of_ik);
    const skel_ik_motion_desc words = desc_of(s);
    double middle[8];
    skel_scene_get_middle_q(s, middle);
    same(words.seed, middle, 8);
    SAME(words.ik->posture, 1, 0, 0, 0, 0, 0, 0, 0);
    SAME(words.ik->max_step, 0.08, 0.08, 0.08, 0.08, 0.08, 0.08, 0.08);
    SAME(words.ik->stiffness, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(frames_are_those_of_the_lists_or_of_what_is_driven) {
    static const char driven[] =
        "{'format':'skel-scene/1','bodies':[{'name':'a','motion':'driven','curve':{'time':[0,1],"
        "'position':[[0,0,0],[1,0,0]]}},{'name':'b','position':[0,0,1]}],'joints':["
        "{'type':'ball','bodies':['a','b'],'anchor':[0,0,0]}],"
        "'goals':[{'body':'b','position':%s}],'bake':{'frame_start':5,'frame_end':11}}";
    const struct {
        const char *targets;
        uint32_t count;
    } cases[] = {{"[0,0,1]", 7}, {"[[0,0,1],[0,1,0]]", 2}, {"[[0,0,1]]", 1}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        skel_scene *s = NULL;
        skel_error err;
        ck_assert_int_eq(parse(driven, cases[k].targets, &s, &err), SKEL_OK);
        ck_assert_uint_eq(desc_of(s).sample_count, cases[k].count);
        skel_scene_destroy(s);
    }
}
END_TEST

/* ---- refusing ------------------------------------------------------------------------------- */

#define KINDS "position, orientation or both, look_at, pole, or centre_of_mass"
#define Q_MUST "\"current\", \"mid\" or [q, ...]"

/* A goal (in braces) or an ik, and all of what is said of it. */
static const char *const k_wrong[][2] = {
    {"'goals':{}", "goals: is {}, must be [goal, ...]"},
    {"'goals':[3]", "goals[0]: is 3, must be an object"},
    {"{'body':'hand'}", "goals[0]: has no target, must have one of: " KINDS},
    {"{'body':'hand','look_at':[0,0,0],'pole':[0,0,0]}",
     "goals[0]: has targets of 2 kinds, must have one of: " KINDS},
    {"{'body':'hand','position':[0,0,0],'centre_of_mass':[0,0,0]}",
     "goals[0]: has targets of 2 kinds, must have one of: " KINDS},
    {"{'body':'hand','positon':[0,0,0]}",
     "goals[0].positon: is not a field of a goal, did you mean 'position'?"},
    {"{'position':[0,0,0]}", "goals[0].body: is missing, must be the name of one of the bodies"},
    {"{'body':'hnad','position':[0,0,0]}",
     "goals[0].body: is \"hnad\", must be the name of one of the bodies, did you mean 'hand'?"},
    {"{'body':'world','position':[0,0,0]}",
     "goals[0].body: is \"world\", must be the name of one of the bodies"},
    {"{'body':'hand','position':[0,0]}",
     "goals[0].position: is [0, 0], must be [x, y, z] or one per frame"},
    {"{'body':'hand','position':[]}",
     "goals[0].position: is [], must be [x, y, z] or one per frame"},
    {"{'body':'hand','position':[[0,0,0],[1,0]]}",
     "goals[0].position[1]: is [1, 0], must be [x, y, z]"},
    {"{'body':'hand','position':[[0,0,0],[1,0,null]]}",
     "goals[0].position[1][2]: is null, must be a number"},
    {"{'body':'hand','orientation':[1,0,0]}",
     "goals[0].orientation: is [1, 0, 0], must be [w, x, y, z] or one per frame"},
    {"{'body':'hand','orientation':[[1,0,0,0],[1,1,0,0]]}",
     "goals[0].orientation[1]: is [1, 1, 0, 0], must be a unit quaternion [w, x, y, z]"},
    {"{'body':'hand','position':[[0,0,0],[0,0,1]],'weight':[1,1,1]}",
     "goals[0].position: has 2 frames, must have 3 as goals[0].weight has"},
    {"{'body':'hand','position':[[0,0,0],[0,0,1]]},"
     "{'body':'lower','look_at':[[0,0,0],[0,0,1],[0,0,2]]}",
     "goals[1].look_at: has 3 frames, must have 2 as goals[0].position has"},
    {"{'body':'hand','position':[0,0,0],'weight':-1}",
     "goals[0].weight: is -1, must be a number >= 0"},
    {"{'body':'hand','position':[0,0,0],'weight':'much'}",
     "goals[0].weight: is \"much\", must be a number >= 0 or one per frame"},
    {"{'body':'hand','position':[0,0,0],'weight':[1,-2]}",
     "goals[0].weight[1]: is -2, must be a number >= 0"},
    {"{'body':'hand','position':[0,0,0],'priority':16}",
     "goals[0].priority: is 16, must be a whole number from 0 to 15"},
    {"{'body':'hand','position':[0,0,0],'priority':0.5}",
     "goals[0].priority: is 0.5, must be a whole number from -1000000000 to 1000000000"},
    {"{'body':'hand','position':[0,0,0],'axes':'xxy'}",
     "goals[0].axes: is \"xxy\", must be some letters of \"xyz\", each once"},
    {"{'body':'hand','position':[0,0,0],'axes':''}",
     "goals[0].axes: is \"\", must be some letters of \"xyz\", each once"},
    {"{'body':'hand','orientation':[1,0,0,0],'axes':'x'}",
     "goals[0].axes: must come with position"},
    {"{'body':'hand','position':[0,0,0],'frame':[1,0,0,0]}",
     "goals[0].frame: must come with orientation"},
    {"{'body':'hand','position':[0,0,0],'axis':[1,0,0]}",
     "goals[0].axis: is not a field of a goal with a position or orientation, did you mean "
     "'axes'?"},
    {"{'body':'hand','look_at':[0,0,0],'axis':[0,0,0]}",
     "goals[0].axis: is [0, 0, 0], must not be zero"},
    {"{'body':'hand','position':[0,0,0],'relative_to':'hand'}",
     "goals[0].relative_to: is the body itself, must be another"},
    {"{'body':'hand','position':[0,0,0],'relative_to':'floor'}",
     "goals[0].relative_to: is \"floor\", must be the name of a body or \"world\""},
    {"{'body':'lower','pole':[0,0,0],'from':'upper'}",
     "goals[0].to: is missing, must be the name of a body or \"world\""},
    {"{'body':'lower','pole':[0,0,0],'to':'hand'}",
     "goals[0].from: is missing, must be the name of a body or \"world\""},
    {"{'centre_of_mass':[0,0,0]},{'centre_of_mass':[0,0,0],'body':'car'}",
     "goals[1].body: must be that of goals[0]: all goals with centre_of_mass have one body"},
    {"{'centre_of_mass':[0,0,0],'point':[0,0,0]}",
     "goals[0].point: is not a field of a goal with centre_of_mass"},
    {"'ik':[]", "ik: is [], must be an object"},
    {"'ik':{'mode':'poses'}", "ik.mode: is \"poses\", must be one of \"pose\", \"track\""},
    {"'ik':{'seed':'middle'}", "ik.seed: is \"middle\", must be " Q_MUST},
    {"'ik':{'seed':3}", "ik.seed: is 3, must be " Q_MUST},
    {"'ik':{'seed':[1,0,0]}", "ik.seed: has 3 numbers, must have the 8 of all joints"},
    {"'ik':{'seed':[1,0,0,0,0,0,'x',0]}", "ik.seed[6]: is \"x\", must be a number"},
    {"'ik':{'posture':[1,1,0,0,0,0,0,0]}",
     "ik.posture[0]: starts the quaternion of the ball joint 'shoulder', which has the length "
     "1.41421, must have the length 1"},
    {"'ik':{'tolerance':0}", "ik.tolerance: is 0, must be a number > 0"},
    {"'ik':{'max_ms':-1}", "ik.max_ms: is -1, must be a number >= 0"},
    {"'ik':{'root':'free'}",
     "ik.root: is \"free\", must be one of \"held\", \"shifts\", \"moves\""},
    {"'ik':{'max_speed':0}", "ik.max_speed: is 0, must be a number > 0"},
    {"'ik':{'max_speed':[1]}",
     "ik.max_speed: is [1], must be a number > 0 or {\"joint\": number, ...}"},
    {"'ik':{'max_speed':{'elbw':1}}",
     "ik.max_speed.elbw: is not the name of a joint, did you mean 'elbow'?"},
    {"'ik':{'max_speed':{'glue':1}}",
     "ik.max_speed.glue: is a fixed joint, must be one that moves"},
    {"'ik':{'max_speed':{'elbow':-1}}", "ik.max_speed.elbow: is -1, must be a number > 0"},
    {"'ik':{'max_speed':{'elbow':1,'elbow':2}}",
     "ik.max_speed.elbow: is given twice, must be given once"},
    {"'ik':{'stiffness':1.5}", "ik.stiffness: is 1.5, must be a number from 0 to 1"},
    {"'ik':{'stiffness':{'elbow':0,'elbow':0}}",
     "ik.stiffness.elbow: is given twice, must be given once"},
    {"'ik':{'stiffness':'soft'}",
     "ik.stiffness: is \"soft\", must be a number from 0 to 1 or {\"joint\": number, ...}"},
    {"'ik':{'blend':[1]}", "ik.blend: is [1], must be [frames in, frames out], whole numbers >= 0"},
    {"'ik':{'blend':[1,-1]}",
     "ik.blend: is [1, -1], must be [frames in, frames out], whole numbers >= 0"},
    {"'ik':{'max_restarts':-1}",
     "ik.max_restarts: is -1, must be a whole number from 0 to 1000000"},
    {"'ik':{'max_restarts':1000001}",
     "ik.max_restarts: is 1000001, must be a whole number from 0 to 1000000"},
    {"'ik':{'max_iterations':0}",
     "ik.max_iterations: is 0, must be a whole number from 1 to 1000000"},
    {"'ik':{'method':'ccd'}", "ik.method: is \"ccd\", must be one of \"damped\", \"newton\""},
    {"'goals':[{'body':'hand','position':[0,0,0]},{'body':'nail','position':[0,0,0],'priority':1}],"
     "'ik':{'method':'newton'}",
     "ik.method: is \"newton\", must be \"damped\" unless all goals have one priority"},
};
enum { WRONG = sizeof k_wrong / sizeof *k_wrong };

START_TEST(what_is_wrong_is_said) {
    char more[1024];
    const char *text = k_wrong[_i][0];
    skel_scene *scene = NULL;
    skel_error err;
    snprintf(more, sizeof more, text[0] == '{' ? "'goals':[%s]," : "%s,", text);
    ck_assert_int_lt(parse(k_arm, more, &scene, &err), 0);
    ck_assert_str_eq(err.text, k_wrong[_i][1]);
}
END_TEST

START_TEST(ik_beside_broken_joints) { /* says what is wrong with the joints, and nothing else */
    static const char form[] =
        "{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]}],"
        "'joints':%s,'goals':[{'body':'a','position':[0,0,0]}],"
        "'ik':{'max_speed':{'j':1},'seed':'mid'}}";
    skel_scene *scene = NULL;
    skel_error err;
    ck_assert_int_lt(parse(form, "3", &scene, &err), 0);
    ck_assert_str_eq(err.text, "joints: is 3, must be [joint, ...]");
    ck_assert_int_lt(parse(form, "[]", &scene, &err), 0);
    ck_assert_str_eq(err.text, "ik.max_speed.j: is not the name of a joint");
}
END_TEST

START_TEST(warnings) {
    char *json = quoted("{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]}],"
                        "'ik':{'mode':'pose'}}");
    char lines[512];
    size_t needed;
    ck_assert_int_eq(skel_scene_check(json, strlen(json), lines, sizeof lines, &needed), SKEL_OK);
    ck_assert_str_eq(lines,
                     "warning: bodies[0].mass: is missing: kinematics does not need "
                     "it, but a bake does\nwarning: ik: has no effect: there are no goals\n");
    free(json);
    /* a scene with goals is one for kinematics */
    json = quoted("{'format':'skel-scene/1','bodies':[{'name':'a','position':[0,0,0]}],"
                  "'goals':[{'body':'a','position':[0,0,0]}]}");
    ck_assert_int_eq(skel_scene_check(json, strlen(json), lines, sizeof lines, &needed), SKEL_OK);
    ck_assert_str_eq(lines, "");
    free(json);
}
END_TEST

/* ---- writing, baking, solving --------------------------------------------------------------- */

static void same_goals(const skel_ik_motion_desc *a, const skel_ik_motion_desc *b) {
    ck_assert_uint_eq(a->ik->goal_count, b->ik->goal_count);
    ck_assert_uint_eq(a->sample_count, b->sample_count);
    for (uint32_t k = 0; k < a->ik->goal_count; ++k) {
        const skel_goal_track *x = &a->tracks[k], *y = &b->tracks[k];
        ck_assert_mem_eq(&a->ik->goals[k], &b->ik->goals[k], sizeof a->ik->goals[k]);
        ck_assert_uint_eq(x->position_count, y->position_count);
        ck_assert_uint_eq(x->orientation_count, y->orientation_count);
        ck_assert_uint_eq(x->weight_count, y->weight_count);
        if (x->position_count)
            ck_assert_mem_eq(x->positions, y->positions, 24 * (size_t)x->position_count);
        if (x->orientation_count)
            ck_assert_mem_eq(x->orientations, y->orientations, 32 * (size_t)x->orientation_count);
        if (x->weight_count) ck_assert_mem_eq(x->weights, y->weights, 8 * (size_t)x->weight_count);
    }
}

START_TEST(writing_changes_no_bit) {
    skel_scene *first = parsed(k_goals), *second = NULL;
    char *one = written(first);
    ck_assert_int_eq(skel_scene_parse(one, strlen(one), &second, NULL), SKEL_OK);
    char *two = written(second);
    ck_assert_str_eq(one, two);
    const skel_ik_motion_desc a = desc_of(first), b = desc_of(second);
    same_goals(&a, &b);
    ck_assert_mem_eq(a.seed, b.seed, 8 * sizeof(double));
    ck_assert_mem_eq(a.ik->max_step, b.ik->max_step, 7 * sizeof(double));
    ck_assert_mem_eq(a.ik->stiffness, b.ik->stiffness, 7 * sizeof(double));
    ck_assert_mem_eq(a.ik->posture, b.ik->posture, 8 * sizeof(double));
    ck_assert_mem_eq(&a.ik->method, &b.ik->method,
                     offsetof(skel_ik_desc, stiffness) - offsetof(skel_ik_desc, method));
    ck_assert_int_eq(a.ik->mode, b.ik->mode);
    ck_assert_uint_eq(a.blend_in + 1000 * a.blend_out, b.blend_in + 1000 * b.blend_out);
    ck_assert_str_eq(skel_scene_goal_name(second, 5), "balance");
    free(one);
    free(two);
    skel_scene_destroy(first);
    skel_scene_destroy(second);
}
END_TEST

START_TEST(a_bake_does_not_notice) {
    skel_scene *plain = parsed(""), *goals = parsed(k_goals);
    skel_bake *a = NULL, *b = NULL;
    ck_assert_int_eq(skel_scene_bake_start(plain, &a, NULL), SKEL_OK);
    ck_assert_int_eq(skel_scene_bake_start(goals, &b, NULL), SKEL_OK);
    ck_assert_int_eq(skel_bake_advance(a, -1), SKEL_OK);
    ck_assert_int_eq(skel_bake_advance(b, -1), SKEL_OK);
    ck_assert_int_eq(skel_bake_samples_done(b), 10);
    ck_assert_mem_eq(skel_bake_poses(a), skel_bake_poses(b), 10 * 6 * 7 * sizeof(double));
    skel_bake_destroy(a);
    skel_bake_destroy(b);
    skel_scene_destroy(plain);
    skel_scene_destroy(goals);
}
END_TEST

START_TEST(a_scene_can_be_solved) {
    static const char goals[] = "'goals':[{'body':'hand','point':[0.1,0,0],'position':"
                                "[[1,1,0],[1,1.1,0.1],[9,0,0]]}],'ik':{'seed':'mid'},";
    skel_scene *s = parsed(goals);
    const skel_ik_motion_desc d = desc_of(s);
    skel_ik_motion *motion = NULL;
    skel_error err;
    skel_error_init(&err);
    ck_assert_msg(skel_ik_motion_start(&d, &motion, &err) == SKEL_OK, "%s", err.text);
    ck_assert_int_eq(skel_ik_motion_advance(motion, 0), SKEL_MORE);
    ck_assert_int_eq(skel_ik_motion_advance(motion, -1), SKEL_OK);
    ck_assert_int_eq(skel_ik_motion_sample_count(motion), 3);
    const skel_ik_receipt *r = skel_ik_motion_receipts(motion);
    ck_assert_int_eq(r[0].reached + 10 * r[1].reached + 100 * r[2].reached, 11);
    near1(r[2].residual, 9 - 2.2, 1e-4);
    skel_ik_motion_destroy(motion);
    skel_scene_destroy(s);
}
END_TEST

START_TEST(wrong_calls_are_refused) {
    skel_scene *s = parsed(k_goals);
    skel_ik_motion_desc d;
    double q[8];
    skel_ik_motion_desc_init(&d);
    ck_assert_int_eq(skel_scene_get_ik_desc(NULL, &d), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_scene_get_ik_desc(s, NULL), SKEL_E_ARGUMENT);
    d.struct_size = 0;
    ck_assert_int_eq(skel_scene_get_ik_desc(s, &d), SKEL_E_STRUCT_SIZE);
    d.struct_size = sizeof d - 8;
    ck_assert_int_eq(skel_scene_get_ik_desc(s, &d), SKEL_E_STRUCT_SIZE);
    ck_assert_int_eq(skel_scene_get_middle_q(NULL, q), SKEL_E_ARGUMENT);
    ck_assert_int_eq(skel_scene_get_middle_q(s, NULL), SKEL_E_ARGUMENT);
    ck_assert_ptr_null(skel_scene_goal_name(NULL, 0));
    skel_scene_destroy(s);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("scene_ik");
    TCase *tcase = tcase_create("scene_ik");
    suite_add_tcase(suite, tcase);
    tcase_add_test(tcase, goals_are_read);
    tcase_add_test(tcase, settings_are_read);
    tcase_add_test(tcase, defaults_are_those_of_the_engine);
    tcase_add_test(tcase, frames_are_those_of_the_lists_or_of_what_is_driven);
    tcase_add_loop_test(tcase, what_is_wrong_is_said, 0, WRONG);
    tcase_add_test(tcase, ik_beside_broken_joints);
    tcase_add_test(tcase, warnings);
    tcase_add_test(tcase, writing_changes_no_bit);
    tcase_add_test(tcase, a_bake_does_not_notice);
    tcase_add_test(tcase, a_scene_can_be_solved);
    tcase_add_test(tcase, wrong_calls_are_refused);
    return run_suite(suite);
}
