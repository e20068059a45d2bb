/* SPDX-License-Identifier: BSD-3-Clause */
/* Beside MuJoCo: the free humanoid (20 bodies, 53 degrees of freedom) without gravity, friction,
   limits and contact, its centre of mass at rest, 2 s. Both engines get the same bodies, joints and
   start; the cost of each method stands beside its error against a converged reference.

     skel_mujoco [--csv FILE LABEL]     prints tables; appends rows, LABEL first, to FILE

   Exit 1 where the two engines do not compute the same motion. */
#include <skel/skel.h>

#include <math.h>
#include <mujoco/mujoco.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MUJOCO_SECONDS 2
#define RATE 20           /* samples a second; every step below divides 1/20 s */
#define EARLY (RATE / 10) /* the sample at 0.1 s */
#define LAST (MUJOCO_SECONDS * RATE)
#define FINE (1.0 / 20000) /* the step of the reference [s] */
#define REPEATS 7          /* the best of these counts */
#define SAME_PHYSICS 1e-7  /* [m], between the engines after 0.1 s with the fine step */
#define LIVELY 3.0         /* [rad/s], largest joint speed added in the second scene */

static void die(const char *what, const char *why) {
    fprintf(stderr, "skel_mujoco: %s: %s\n", what, why);
    exit(2);
}

static void *must_alloc(size_t count, size_t size) {
    void *memory = calloc(count, size);
    if (!memory) die("memory", "there is not enough");
    return memory;
}

static double cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* ---- the scene --------------------------------------------------------------------------------*/

typedef struct scene {
    const char *name;
    skel_model *model;
    skel_state *state; /* the start */
    int32_t nb;
    double energy; /* kinetic, at the start [J] */
} scene;

static skel_scene *parse(const char *path) {
    static char json[1 << 20];
    skel_scene *document = NULL;
    skel_error err = {.struct_size = sizeof err};
    FILE *file = fopen(path, "rb");
    if (!file) die(path, "cannot be opened");
    const size_t length = fread(json, 1, sizeof json, file);
    fclose(file);
    if (skel_scene_parse(json, length, &document, &err) < 0) die(path, err.text);
    return document;
}

/* The bodies and joints of `from`, with nothing that acts on them. */
static skel_model *strip(const skel_model *from) {
    const size_t nb = (size_t)skel_model_body_count(from);
    const size_t nj = (size_t)skel_model_joint_count(from);
    skel_body_desc *bodies = must_alloc(nb, sizeof *bodies);
    skel_joint_desc *joints = must_alloc(nj, sizeof *joints);
    skel_model *model = NULL;
    skel_error err = {.struct_size = sizeof err};
    skel_model_desc desc;
    for (size_t i = 0; i < nb; ++i) {
        bodies[i].struct_size = sizeof *bodies;
        skel_model_get_body(from, (int32_t)i, &bodies[i]);
    }
    for (size_t k = 0; k < nj; ++k) {
        joints[k].struct_size = sizeof *joints;
        skel_model_get_joint(from, (int32_t)k, &joints[k]);
        joints[k].friction = 0;
        joints[k].limits.is_set = 0;
    }
    skel_model_desc_init(&desc);
    desc.body_count = (uint32_t)nb, desc.bodies = bodies, desc.body_stride = sizeof *bodies;
    desc.joint_count = (uint32_t)nj, desc.joints = joints, desc.joint_stride = sizeof *joints;
    memset(desc.gravity, 0, sizeof desc.gravity);
    if (skel_model_create(&desc, &model, &err) < 0) die("model", err.text);
    free(bodies), free(joints);
    return model;
}

/* Joint speeds of any size up to `most`, the same on every run. */
static void stir(const scene *s, double most) {
    const int32_t dof = skel_model_dof(s->model);
    double *qd = must_alloc((size_t)dof, sizeof *qd);
    uint32_t x = 12345;
    skel_state_get_qd(s->state, qd);
    for (int32_t i = 0; i < dof; ++i) {
        x = x * 1664525u + 1013904223u;
        qd[i] += most * ((double)(x >> 8) / 8388608.0 - 1.0);
    }
    skel_state_set_qd(s->state, qd);
    free(qd);
}

/* Motion of the whole would only hide errors in a large energy. */
static void stop_centre_of_mass(const scene *s) {
    double *v = must_alloc(6 * (size_t)s->nb, sizeof *v), mass = 0, mean[3] = {0};
    skel_state_get_velocities(s->state, v);
    for (int32_t i = 0; i < s->nb; ++i) {
        skel_body_desc b = {.struct_size = sizeof b};
        skel_model_get_body(s->model, i, &b);
        mass += b.mass;
        for (int c = 0; c < 3; ++c) mean[c] += b.mass * v[6 * i + c];
    }
    for (int32_t i = 0; i < s->nb; ++i)
        for (int c = 0; c < 3; ++c) v[6 * i + c] -= mean[c] / mass;
    skel_state_set_velocities(s->state, v);
    free(v);
}

static double kinetic(const skel_state *state) {
    skel_report_row row = {.struct_size = sizeof row};
    skel_report(state, &row);
    return row.kinetic;
}

static scene make_scene(const skel_model *humanoid, const char *name, double stirred) {
    scene s = {.name = name, .model = strip(humanoid)};
    skel_error err = {.struct_size = sizeof err};
    s.nb = skel_model_body_count(s.model);
    if (skel_state_create(s.model, &s.state, &err) < 0) die("state", err.text);
    if (skel_state_project(s.state, NULL, NULL, &err) < 0) die("state", err.text);
    if (stirred > 0) stir(&s, stirred);
    stop_centre_of_mass(&s);
    s.energy = kinetic(s.state);
    return s;
}

/* ---- the same scene for MuJoCo ----------------------------------------------------------------*/

/* The joint that moves `body`; -1: a free root. */
static int32_t joint_of(const skel_model *model, int32_t body, skel_joint_desc *j) {
    for (int32_t k = 0; k < skel_model_joint_count(model); ++k) {
        *j = (skel_joint_desc){.struct_size = sizeof *j};
        skel_model_get_joint(model, k, j);
        if (j->child == body) return k;
    }
    return -1;
}

static void write_numbers(FILE *out, const char *name, const double *x, int count) {
    fprintf(out, " %s=\"", name);
    for (int i = 0; i < count; ++i) fprintf(out, "%s%.17g", i ? " " : "", x[i]);
    fputc('"', out);
}

/* An axis of the inner frame, in the child's axes. */
static void write_hinge(FILE *out, int32_t k, char part, const char *type, const double unit[3],
                        const skel_joint_desc *j) {
    double axis[3];
    mju_rotVecQuat(axis, unit, j->child_orientation);
    fprintf(out, "<joint name=\"j%d%c\" type=\"%s\"", k, part, type);
    write_numbers(out, "pos", j->child_position, 3);
    write_numbers(out, "axis", axis, 3);
    fputs("/>\n", out);
}

static void write_joint(FILE *out, int32_t k, const skel_joint_desc *j) {
    static const double x[3] = {1, 0, 0}, z[3] = {0, 0, 1};
    switch (j->type) {
    case SKEL_JOINT_FIXED: break;
    case SKEL_JOINT_SLIDE: write_hinge(out, k, 'a', "slide", z, j); break;
    case SKEL_JOINT_HINGE: write_hinge(out, k, 'a', "hinge", z, j); break;
    case SKEL_JOINT_UNIVERSAL: /* two hinges turn one after the other, as ours do */
        write_hinge(out, k, 'a', "hinge", z, j);
        write_hinge(out, k, 'b', "hinge", x, j);
        break;
    case SKEL_JOINT_BALL:
        fprintf(out, "<joint name=\"j%da\" type=\"ball\"", k);
        write_numbers(out, "pos", j->child_position, 3);
        fputs("/>\n", out);
        break;
    default: die("joint", "is of a type that MuJoCo does not get from here");
    }
}

/* MuJoCo's body frame is our centre of mass frame; its zero is where our two frames coincide. */
static void write_body(FILE *out, const skel_model *model, int32_t body) {
    skel_body_desc b = {.struct_size = sizeof b};
    skel_joint_desc j;
    const int32_t k = joint_of(model, body, &j);
    skel_model_get_body(model, body, &b);
    if (k >= 0) {
        double back[4], arm[3];
        mju_negQuat(back, j.child_orientation);
        mju_mulQuat(b.orientation, j.parent_orientation, back);
        mju_rotVecQuat(arm, j.child_position, b.orientation);
        mju_sub3(b.position, j.parent_position, arm);
    }
    fprintf(out, "<body name=\"b%d\"", body);
    write_numbers(out, "pos", b.position, 3);
    write_numbers(out, "quat", b.orientation, 4);
    fprintf(out, ">\n<inertial pos=\"0 0 0\" mass=\"%.17g\"", b.mass);
    write_numbers(out, "fullinertia", b.inertia, 6);
    fputs("/>\n", out);
    if (k >= 0)
        write_joint(out, k, &j);
    else
        fprintf(out, "<freejoint name=\"r%d\"/>\n", body);
    for (int32_t i = 0; i < skel_model_body_count(model); ++i)
        if (joint_of(model, i, &j) >= 0 && j.parent == body) write_body(out, model, i);
    fputs("</body>\n", out);
}

/* The flags take away all that MuJoCo would do here for nothing. */
static char *write_mjcf(const skel_model *model) {
    char *text = NULL;
    size_t length = 0;
    skel_joint_desc j;
    FILE *out = open_memstream(&text, &length);
    if (!out) die("memory", "there is not enough");
    fputs("<mujoco>\n<compiler angle=\"radian\" inertiafromgeom=\"false\"/>\n"
          "<option timestep=\"0.001\" integrator=\"RK4\" gravity=\"0 0 0\">\n"
          "<flag constraint=\"disable\" contact=\"disable\" passive=\"disable\" "
          "actuation=\"disable\" sensor=\"disable\"/>\n</option>\n<worldbody>\n",
          out);
    for (int32_t i = 0; i < skel_model_body_count(model); ++i)
        if (joint_of(model, i, &j) < 0 || j.parent == SKEL_WORLD) write_body(out, model, i);
    fputs("</worldbody>\n</mujoco>\n", out);
    fclose(out);
    return text;
}

static mjModel *load_mjcf(const char *text) {
    const int length = (int)strlen(text);
    mjVFS *files = must_alloc(1, sizeof *files);
    char error[500] = "";
    mj_defaultVFS(files);
    if (mj_makeEmptyFileVFS(files, "skel.xml", length) != 0) die("MuJoCo", "takes no file");
    memcpy(files->filedata[mj_findFileVFS(files, "skel.xml")], text, (size_t)length);
    mjModel *model = mj_loadXML("skel.xml", files, error, sizeof error);
    if (!model) die("MuJoCo", error);
    mj_deleteVFS(files);
    free(files);
    return model;
}

static int id_of(const mjModel *m, int kind, char letter, int32_t index, const char *part) {
    char name[32];
    snprintf(name, sizeof name, "%c%d%s", letter, index, part);
    const int id = mj_name2id(m, kind, name);
    if (id < 0) die(name, "is unknown to MuJoCo");
    return id;
}

/* A ball's quaternion and rate go from inner axes to the child's. */
static void set_joint(const mjModel *m, mjData *d, int32_t k, const skel_joint_desc *j,
                      const double *q, const double *qd) {
    if (j->type == SKEL_JOINT_FIXED) return;
    const int a = id_of(m, mjOBJ_JOINT, 'j', k, "a");
    double *qa = d->qpos + m->jnt_qposadr[a], *va = d->qvel + m->jnt_dofadr[a];
    if (j->type == SKEL_JOINT_BALL) {
        double turned[4], back[4];
        mju_negQuat(back, j->child_orientation);
        mju_mulQuat(turned, j->child_orientation, q);
        mju_mulQuat(qa, turned, back);
        mju_rotVecQuat(va, qd, j->child_orientation);
        return;
    }
    *qa = q[0], *va = qd[0];
    if (j->type != SKEL_JOINT_UNIVERSAL) return;
    const int b = id_of(m, mjOBJ_JOINT, 'j', k, "b");
    d->qpos[m->jnt_qposadr[b]] = q[1], d->qvel[m->jnt_dofadr[b]] = qd[1];
}

static void set_start(const scene *s, const mjModel *m, mjData *d) {
    const size_t nb = (size_t)s->nb;
    double *q = must_alloc((size_t)skel_model_q_count(s->model), sizeof *q);
    double *qd = must_alloc((size_t)skel_model_dof(s->model), sizeof *qd);
    double *p = must_alloc(7 * nb, sizeof *p), *v = must_alloc(6 * nb, sizeof *v);
    skel_state_get_q(s->state, q), skel_state_get_qd(s->state, qd);
    skel_state_get_poses(s->state, p), skel_state_get_velocities(s->state, v);
    mj_resetData(m, d);
    for (int32_t i = 0; i < s->nb; ++i) {
        skel_joint_desc j;
        const int32_t k = joint_of(s->model, i, &j);
        if (k >= 0) {
            set_joint(m, d, k, &j, q + skel_model_joint_q_offset(s->model, k),
                      qd + skel_model_joint_dof_offset(s->model, k));
            continue;
        }
        const int root = id_of(m, mjOBJ_JOINT, 'r', i, "");
        memcpy(d->qpos + m->jnt_qposadr[root], p + 7 * i, 7 * sizeof *p);
        memcpy(d->qvel + m->jnt_dofadr[root], v + 6 * i, 6 * sizeof *v);
    }
    free(q), free(qd), free(p), free(v);
}

/* Poses and velocities as skel has them. */
static void get_bodies(const scene *s, const mjModel *m, mjData *d, double *p, double *v) {
    mj_forward(m, d);
    for (int32_t i = 0; i < s->nb; ++i) {
        const int id = id_of(m, mjOBJ_BODY, 'b', i, "");
        double world[6], local[6]; /* angular first */
        mj_objectVelocity(m, d, mjOBJ_XBODY, id, world, 0);
        mj_objectVelocity(m, d, mjOBJ_XBODY, id, local, 1);
        mju_copy3(p + 7 * i, d->xpos + 3 * id);
        mju_copy4(p + 7 * i + 3, d->xquat + 4 * id);
        mju_copy3(v + 6 * i, world + 3);
        mju_copy3(v + 6 * i + 3, local);
    }
}

/* ---- methods ----------------------------------------------------------------------------------*/

enum { MUJOCO, SKEL };

typedef struct method {
    int engine, integrator;
    double step, tolerance; /* the one of them that counts is not 0 */
    const char *name, *setting;
} method;

static const method k_methods[] = {
    {MUJOCO, mjINT_RK4, 1e-3, 0, "MuJoCo RK4", "1/1000 s"}, /* the measure of all others */
    {MUJOCO, mjINT_EULER, 1e-3, 0, "MuJoCo Euler", "1/1000 s"},
    {MUJOCO, mjINT_IMPLICIT, 1e-3, 0, "MuJoCo implicit", "1/1000 s"},
    {SKEL, SKEL_INTEGRATOR_RK4, 1e-3, 0, "skel rk4", "1/1000 s"},
    {SKEL, SKEL_INTEGRATOR_RK4, 1. / 240, 0, "skel rk4", "1/240 s"},
    {SKEL, SKEL_INTEGRATOR_CONSERVING, 1. / 240, 0, "skel conserving", "1/240 s"},
    {SKEL, SKEL_INTEGRATOR_ADAMS, 0, 1e-6, "skel adams", "1e-6"},
    {SKEL, SKEL_INTEGRATOR_ADAMS, 0, 1e-9, "skel adams", "1e-9"},
};
#define METHODS (sizeof k_methods / sizeof *k_methods)

/* The reference, and MuJoCo's way to it. */
static const method k_fine_skel = {SKEL, SKEL_INTEGRATOR_RK4, FINE, 0, "skel rk4", "1/20000 s"};
static const method k_fine[] = {{MUJOCO, mjINT_RK4, 2 * FINE, 0, "MuJoCo RK4", "1/10000 s"},
                                {MUJOCO, mjINT_RK4, FINE, 0, "MuJoCo RK4", "1/20000 s"}};

typedef struct result {
    char missing[200];     /* why there is no result; else empty */
    double ms;             /* CPU time per simulated second */
    double drift;          /* of energy, relative, at the end */
    double *early, *final; /* poses */
} result;

static result make_result(const scene *s) {
    const size_t n = 7 * (size_t)s->nb;
    return (result){.ms = INFINITY,
                    .early = must_alloc(n, sizeof(double)),
                    .final = must_alloc(n, sizeof(double))};
}

static void free_result(result *r) {
    free(r->early), free(r->final);
}

/* skel measures both engines. */
static double drift_of(const scene *s, const double *poses, const double *velocities) {
    skel_state *state = NULL;
    if (skel_state_create(s->model, &state, NULL) < 0) die("state", "cannot be made");
    skel_state_set_poses(state, poses);
    skel_state_set_velocities(state, velocities);
    const double drift = fabs(kinetic(state) / s->energy - 1.0);
    skel_state_destroy(state);
    return drift;
}

static void run_mujoco(const scene *s, const method *how, mjModel *m, mjData *d, result *r) {
    const int early = (int)lround(1.0 / (how->step * 10)),
              all = (int)lround(MUJOCO_SECONDS / how->step);
    double *v = must_alloc(6 * (size_t)s->nb, sizeof *v);
    m->opt.timestep = how->step;
    m->opt.integrator = how->integrator;
    set_start(s, m, d);
    const double start = cpu_ms();
    for (int n = 0; n < early; ++n) mj_step(m, d);
    const double middle = cpu_ms();
    get_bodies(s, m, d, r->early, v);
    const double again = cpu_ms();
    for (int n = early; n < all; ++n) mj_step(m, d);
    const double ms = (cpu_ms() - again + middle - start) / MUJOCO_SECONDS;
    get_bodies(s, m, d, r->final, v);
    r->drift = drift_of(s, r->final, v);
    if (ms < r->ms) r->ms = ms;
    free(v);
}

/* All of the bake: memory, samples and their report too. */
static void run_skel(const scene *s, const method *how, result *r) {
    const size_t nb = (size_t)s->nb, bytes = 7 * nb * sizeof(double);
    skel_error err = {.struct_size = sizeof err};
    skel_bake *b = NULL;
    skel_bake_desc desc;
    skel_bake_desc_init(&desc);
    desc.model = s->model, desc.state = s->state;
    desc.integrator = how->integrator, desc.step = how->step;
    if (how->tolerance > 0) desc.tolerance = how->tolerance;
    desc.sample_rate = RATE, desc.sample_count = LAST + 1;
    const double start = cpu_ms();
    skel_status status = skel_bake_start(&desc, &b, &err);
    if (status >= 0 && (status = skel_bake_advance(b, -1)) < 0) skel_bake_get_error(b, &err);
    const double ms = (cpu_ms() - start) / MUJOCO_SECONDS;
    if (status == SKEL_OK) {
        memcpy(r->early, skel_bake_poses(b) + EARLY * nb * 7, bytes);
        memcpy(r->final, skel_bake_poses(b) + LAST * nb * 7, bytes);
        r->drift = drift_of(s, r->final, skel_bake_velocities(b) + LAST * nb * 6);
        if (ms < r->ms) r->ms = ms;
    } else {
        const char *what =
            status == SKEL_E_UNSUPPORTED || status == SKEL_E_ARGUMENT ? "not available" : "failed";
        snprintf(r->missing, sizeof r->missing, "%s: %.160s", what, err.text);
    }
    skel_bake_destroy(b);
}

static void run(const scene *s, const method *how, mjModel *m, mjData *d, result *r) {
    if (how->engine == MUJOCO)
        run_mujoco(s, how, m, d, r);
    else if (!r->missing[0])
        run_skel(s, how, r);
}

/* Largest distance of a body from where the other has it [m]. */
static double apart(const scene *s, const double *a, const double *b) {
    double most = 0;
    for (int32_t i = 0; i < s->nb; ++i)
        most = fmax(most, hypot(hypot(a[7 * i] - b[7 * i], a[7 * i + 1] - b[7 * i + 1]),
                                a[7 * i + 2] - b[7 * i + 2]));
    return most;
}

/* ---- tables -----------------------------------------------------------------------------------*/

static void print_table(const scene *s, const result *r, const result *reference) {
    printf("\n%-16s %-9s %9s %7s %13s %14s\n", s->name, "", "CPU ms/s", "ratio", "energy drift",
           "error at 2 s");
    for (size_t k = 0; k < METHODS; ++k) {
        printf("%-16s %-9s ", k_methods[k].name, k_methods[k].setting);
        if (r[k].missing[0])
            printf("%s\n", r[k].missing);
        else
            printf("%9.3f %7.3f %13.1e %12.1e m\n", r[k].ms, r[k].ms / r[0].ms, r[k].drift,
                   apart(s, r[k].final, reference->final));
    }
}

static void append_csv(const char *path, const char *label, const scene *s, const result *r,
                       const result *reference) {
    FILE *file = fopen(path, "a");
    if (!file) die(path, "cannot be opened");
    fseek(file, 0, SEEK_END);
    if (ftell(file) == 0)
        fputs("version,scene,method,setting,cpu_ms_per_second,ratio,energy_drift,error_m\n", file);
    for (size_t k = 0; k < METHODS; ++k)
        if (!r[k].missing[0])
            fprintf(file, "%s,%s,%s,%s,%.4f,%.4f,%.2e,%.2e\n", label, s->name, k_methods[k].name,
                    k_methods[k].setting, r[k].ms, r[k].ms / r[0].ms, r[k].drift,
                    apart(s, r[k].final, reference->final));
    if (fclose(file) != 0) die(path, "cannot be written");
}

/* How far MuJoCo's RK4 is from the reference. Half the step makes it four times as good (it adds up
   rotations as if they were vectors), so the limit of a vanishing step follows from two runs. */
static int judge(const scene *s, mjModel *m, mjData *d, const result *skel) {
    result r[2] = {make_result(s), make_result(s)};
    for (int k = 0; k < 2; ++k) run(s, &k_fine[k], m, d, &r[k]);
    const double early = apart(s, r[1].early, skel->early),
                 late = apart(s, r[1].final, skel->final);
    for (int32_t i = 0; i < 7 * s->nb; ++i) r[1].final[i] += (r[1].final[i] - r[0].final[i]) / 3;
    printf("MuJoCo RK4 at 1/20000 s and the reference are apart by %.1e m after 0.1 s and "
           "%.1e m after 2 s;\nMuJoCo extrapolated to a vanishing step, by %.1e m after 2 s\n",
           early, late, apart(s, r[1].final, skel->final));
    for (int k = 0; k < 2; ++k) free_result(&r[k]);
    return early <= SAME_PHYSICS;
}

/* Methods take turns, so that a busy moment of the machine does not fall on one of them. */
static int compare(const scene *s, const char *csv, const char *label) {
    char *mjcf = write_mjcf(s->model);
    mjModel *m = load_mjcf(mjcf);
    mjData *d = mj_makeData(m);
    result r[METHODS], reference = make_result(s);
    if (!d) die("memory", "there is not enough");
    for (size_t k = 0; k < METHODS; ++k) r[k] = make_result(s);
    run(s, &k_fine_skel, m, d, &reference);
    if (reference.missing[0]) die("reference", reference.missing);
    for (int n = 0; n < REPEATS; ++n)
        for (size_t k = 0; k < METHODS; ++k) run(s, &k_methods[k], m, d, &r[k]);
    print_table(s, r, &reference);
    const int same = judge(s, m, d, &reference);
    if (csv) append_csv(csv, label, s, r, &reference);
    for (size_t k = 0; k < METHODS; ++k) free_result(&r[k]);
    free_result(&reference);
    mj_deleteData(d), mj_deleteModel(m);
    free(mjcf);
    return same;
}

int main(int argc, char **argv) {
    if (argc != 1 && (argc != 4 || strcmp(argv[1], "--csv") != 0))
        die("arguments", "must be none, or --csv FILE LABEL");
    skel_scene *document = parse(SKEL_SAMPLES "/humanoid.json");
    const skel_model *humanoid = skel_scene_model(document);
    scene scenes[] = {make_scene(humanoid, "tumbling", 0),
                      make_scene(humanoid, "flailing", LIVELY)};
    int same = 1;
    printf("CPU time per simulated second, best of %d; MuJoCo %s, skel %s\n", REPEATS,
           mj_versionString(), skel_version());
    for (size_t k = 0; k < sizeof scenes / sizeof *scenes; ++k) {
        same &= compare(&scenes[k], argc > 1 ? argv[2] : NULL, argc > 1 ? argv[3] : NULL);
        skel_state_destroy(scenes[k].state);
        skel_model_destroy(scenes[k].model);
    }
    skel_scene_destroy(document);
    if (!same) puts("the engines do not agree: this compares nothing");
    return !same;
}
