/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks and reports as JSON and CSV, written frame by frame. A track holds nothing that changes
   from run to run but the `us` of its receipts; the time a bake took is in the report only. */
#include "motion/track.h"
#include "document/text.h"

#include <math.h>
#include <string.h>

/* Sends what is collected; 0 where that failed. */
static int flush_text(text_buffer *t, FILE *stream) {
    const int good = !t->failed && fwrite(t->data, 1, t->length, stream) == t->length;
    text_clear(t);
    return good;
}

static int finish(text_buffer *t, FILE *stream, int good) {
    good = good && (t->length == 0 || flush_text(t, stream));
    text_free(t);
    return good;
}

/* ---- parts of the report -------------------------------------------------------------------- */

static void put_named(text_buffer *t, const char *name, double x) {
    text_addf(t, "\"%s\": ", name);
    text_number(t, x);
}

static void put_vector(text_buffer *t, const char *name, const double x[3]) {
    text_addf(t, "\"%s\": ", name);
    text_numbers(t, x, 3);
}

static void put_method(text_buffer *t, const skel_bake_summary *sum) {
    text_addf(t, "\"integrator\": \"%s\", \"solver\": \"%s\", ",
              skel_integrator_name(sum->integrator), skel_solver_name(sum->solver));
    put_named(t, "step", sum->step);
    text_add(t, ", ");
    put_named(t, "steps", sum->steps);
    text_add(t, ", ");
    put_named(t, "rejected_steps", sum->rejected_steps);
    text_add(t, ", ");
    put_named(t, "evaluations", sum->evaluations);
    text_addf(t, ", \"order\": %d", (int)sum->last_order);
}

static void put_drifts(text_buffer *t, const skel_bake_summary *sum, const char *failed) {
    const struct {
        const char *name;
        double value;
    } rows[] = {
        {"energy_drift", sum->energy_drift},
        {"momentum_drift", sum->momentum_drift},
        {"angular_momentum_drift", sum->angular_momentum_drift},
        {"joint_gap", sum->joint_gap},
        {"misalignment", sum->misalignment},
        {"limit_violation", sum->limit_violation},
        {"energy_gain", sum->energy_gain},
        {"peak_ground_force", sum->peak_ground_force},
        {"peak_ground_time", sum->peak_ground_time},
        {"contact_depth", sum->contact_depth},
        {"rest_time", sum->rest_time},
    };
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        if (k) text_add(t, ", ");
        put_named(t, rows[k].name, rows[k].value);
    }
    if (!failed) return;
    text_add(t, ", \"failed\": ");
    text_string(t, failed);
}

int mimic_warning(const skel_model *model, char text[256]) {
    const int32_t n = skel_model_mimic_count(model);
    for (int32_t i = 0; n > 0 && i < skel_model_joint_count(model); ++i) {
        const int32_t of = skel_model_mimic_source(model, i, NULL, NULL);
        const int more = n - 1;
        char others[48] = "";
        if (of < 0) continue;
        if (more > 0) snprintf(others, sizeof others, " (and %d more like it)", more);
        snprintf(text, 256,
                 "joint '%.60s' mimics '%.60s'%s: dynamics has no such constraint, it moves on its "
                 "own",
                 skel_model_joint_name(model, i), skel_model_joint_name(model, of), others);
        return 1;
    }
    return 0;
}

static void put_warnings(text_buffer *t, const track_source *s) {
    const char *warning;
    char mimic[256];
    int32_t count = 0;
    text_add(t, "\"warnings\": [");
    for (int32_t i = 0; (warning = skel_bake_warning(s->bake, i)) != NULL; ++i) {
        text_add(t, count++ ? ", " : "");
        text_string(t, warning);
    }
    for (int32_t i = 0; (warning = skel_scene_warning(s->document, i)) != NULL; ++i) {
        text_add(t, count++ ? ", " : "");
        text_string(t, warning);
    }
    if (mimic_warning(s->model, mimic)) {
        text_add(t, count ? ", " : "");
        text_string(t, mimic);
    }
    text_add(t, "]");
}

static skel_bake_summary summary_of(const skel_bake *bake) {
    skel_bake_summary sum = {0};
    sum.struct_size = sizeof sum;
    skel_bake_get_summary(bake, &sum);
    return sum;
}

static skel_report_row row_of(const skel_bake *bake, int32_t sample) {
    skel_report_row row = {0};
    row.struct_size = sizeof row;
    skel_bake_get_report(bake, sample, &row);
    return row;
}

/* ---- skel-track/1 --------------------------------------------------------------------------- */

/* One field of all frames, a frame to a line: `count` numbers from each row of `stride`. */
static int put_field(text_buffer *t, FILE *stream, const track_source *s, const char *name,
                     const double *rows, int32_t stride, int32_t count) {
    const int32_t nb = skel_model_body_count(s->model);
    text_addf(t, "  \"%s\": [\n", name);
    for (int32_t f = 0; f < s->frames; ++f) {
        text_add(t, f ? ",\n    [" : "    [");
        for (int32_t b = 0; b < nb; ++b, rows += stride) {
            if (b) text_add(t, ", ");
            text_numbers(t, rows, (size_t)count);
        }
        text_add(t, "]");
        if (!flush_text(t, stream)) return 0;
    }
    text_add(t, "\n  ],\n");
    return 1;
}

static int put_q(text_buffer *t, FILE *stream, const track_source *s) {
    const int32_t nq = skel_model_q_count(s->model);
    text_add(t, "  \"q\": [\n");
    for (int32_t f = 0; f < s->frames; ++f) {
        text_add(t, f ? ",\n    " : "    ");
        text_numbers(t, nq ? s->q + (size_t)f * (size_t)nq : NULL, (size_t)nq);
        if (!flush_text(t, stream)) return 0;
    }
    text_add(t, "\n  ],\n");
    return 1;
}

static void put_head(text_buffer *t, const track_source *s) {
    text_add(t, "{\n  \"format\": \"skel-track/1\",\n  ");
    put_named(t, "fps", s->fps);
    text_addf(t, ",\n  \"frame_start\": %d,\n  \"bodies\": [", (int)s->frame_start);
    for (int32_t b = 0; b < skel_model_body_count(s->model); ++b) {
        if (b) text_add(t, ", ");
        text_string(t, skel_model_body_name(s->model, b));
    }
    text_add(t, "],\n");
}

static void put_report(text_buffer *t, const track_source *s) {
    const skel_bake_summary sum = summary_of(s->bake);
    text_add(t, "  \"report\": {");
    put_method(t, &sum);
    text_add(t, ",\n    ");
    put_drifts(t, &sum, NULL);
    text_add(t, ",\n    ");
    put_warnings(t, s);
    text_add(t, "}\n}\n");
}

/* The time it took comes last: all before it is the same from run to run. */
static void put_receipt(text_buffer *t, const skel_ik_receipt *r, const double *goals,
                        int32_t count) {
    text_addf(t, "{\"reached\": %s, ", r->reached ? "true" : "false");
    put_named(t, "residual", r->residual);
    text_addf(t, ", \"iterations\": %d, \"restarts\": %d, \"active_limits\": %d, ",
              (int)r->iterations, (int)r->restarts, (int)r->active_limits);
    put_named(t, "smallest_singular_value", r->smallest_singular_value);
    text_add(t, ", \"goals\": [");
    for (int32_t k = 0; k < count; ++k, goals += 2) {
        text_add(t, k ? ", {" : "{");
        put_named(t, "distance", goals[0]);
        text_add(t, ", ");
        put_named(t, "angle", goals[1]);
        text_add(t, "}");
    }
    text_add(t, "], ");
    put_named(t, "us", r->us);
    text_add(t, "}");
}

static void put_jump(text_buffer *t, const track_source *s, const skel_ik_jump *jump) {
    text_addf(t, "{\"frame\": %d, \"joint\": ", (int)(s->frame_start + jump->sample));
    text_string(t, jump->joint < 0 ? "world" : skel_model_joint_name(s->model, jump->joint));
    text_add(t, ", ");
    put_named(t, "size", jump->size);
    text_addf(t, ", \"unit\": \"%s\"}", jump->is_length ? "m" : "rad");
}

/* What the whole motion is like: jumps, the first frame, and frames found another way. */
static void put_ik(text_buffer *t, const track_source *s) {
    skel_ik_jump jump = {.struct_size = sizeof jump};
    text_add(t, "  \"ik\": {\"jumps\": [");
    for (int32_t k = 0; k < skel_ik_motion_jump_count(s->ik); ++k) {
        skel_ik_motion_get_jump(s->ik, k, &jump);
        text_add(t, k ? ", " : "");
        put_jump(t, s, &jump);
    }
    text_add(t, "], \"start_moved\": ");
    skel_ik_motion_get_start(s->ik, &jump);
    if (jump.size > 0.0)
        put_jump(t, s, &jump);
    else
        text_add(t, "null");
    text_addf(t, ", \"repaired\": %d}\n", (int)skel_ik_motion_repaired_count(s->ik));
}

static int put_receipts(text_buffer *t, FILE *stream, const track_source *s) {
    const skel_ik_receipt *receipts = skel_ik_motion_receipts(s->ik);
    const double *goals = skel_ik_motion_residuals(s->ik);
    text_add(t, "  \"receipts\": [\n");
    for (int32_t f = 0; f < s->frames; ++f, goals += 2 * s->goals) {
        text_add(t, f ? ",\n    " : "    ");
        put_receipt(t, &receipts[f], goals, s->goals);
        if (!flush_text(t, stream)) return 0;
    }
    text_add(t, "\n  ],\n");
    put_ik(t, s);
    text_add(t, "}\n");
    return 1;
}

int track_write_json(FILE *stream, const track_source *s) {
    const double *pose = s->poses, *v = s->velocities;
    text_buffer t = {0};
    put_head(&t, s);
    int good = put_field(&t, stream, s, "position", pose, 7, 3) &&
               put_field(&t, stream, s, "orientation", pose + 3, 7, 4);
    if (v)
        good = good && put_field(&t, stream, s, "velocity", v, 6, 3) &&
               put_field(&t, stream, s, "angular_velocity", v + 3, 6, 3);
    good = good && put_q(&t, stream, s);
    if (good && s->ik) good = put_receipts(&t, stream, s);
    if (good && s->bake) put_report(&t, s);
    return finish(&t, stream, good);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void put_cell(text_buffer *t, double x) {
    text_bytes(t, ",", 1);
    if (isfinite(x))
        text_number(t, x);
    else
        text_add(t, "nan");
}

static void put_cells(text_buffer *t, const double *x, int count) {
    for (int k = 0; k < count; ++k) put_cell(t, x[k]);
}

int track_write_csv(FILE *stream, const track_source *s) {
    const int32_t nb = skel_model_body_count(s->model);
    const double *pose = s->poses, *v = s->velocities;
    text_buffer t = {0};
    int good = 1;
    text_addf(&t, "frame,time,body,x,y,z,qw,qx,qy,qz%s\n", v ? ",vx,vy,vz,wx,wy,wz" : "");
    for (int32_t f = 0; f < s->frames && good; ++f) {
        const double time = s->bake ? row_of(s->bake, f).time : f / s->fps;
        for (int32_t b = 0; b < nb; ++b, pose += 7) {
            text_addf(&t, "%d", (int)(s->frame_start + f));
            put_cell(&t, time);
            text_add(&t, ",");
            text_csv_name(&t, skel_model_body_name(s->model, b), "", 0);
            put_cells(&t, pose, 7);
            if (v) put_cells(&t, v + 6 * ((size_t)f * (size_t)nb + (size_t)b), 6);
            text_add(&t, "\n");
        }
        good = flush_text(&t, stream);
    }
    return finish(&t, stream, good);
}

/* ---- report --------------------------------------------------------------------------------- */

static void put_work(text_buffer *t, const skel_report_row *row) {
    text_add(t, "\"work\": {");
    put_named(t, "motor", row->work_motor);
    text_add(t, ", ");
    put_named(t, "friction", row->work_friction);
    text_add(t, ", ");
    put_named(t, "load", row->work_load);
    text_add(t, ", ");
    put_named(t, "drive", row->work_drive);
    text_add(t, ", ");
    put_named(t, "contact", row->work_contact);
    text_add(t, "}");
}

static void put_row(text_buffer *t, int32_t frame, const skel_report_row *row) {
    text_addf(t, "{\"frame\": %d, ", (int)frame);
    put_named(t, "time", row->time);
    text_add(t, ", ");
    put_named(t, "kinetic", row->kinetic);
    text_add(t, ", ");
    put_named(t, "potential", row->potential);
    text_add(t, ", ");
    put_named(t, "elastic", row->elastic);
    text_add(t, ", ");
    put_work(t, row);
    text_add(t, ", ");
    put_vector(t, "momentum", row->momentum);
    text_add(t, ", ");
    put_vector(t, "angular_momentum", row->angular_momentum);
    text_add(t, ", ");
    put_vector(t, "impulse", row->impulse);
    text_add(t, ", ");
    put_vector(t, "angular_impulse", row->angular_impulse);
    text_add(t, ", ");
    put_named(t, "joint_gap", row->joint_gap);
    text_add(t, ", ");
    put_named(t, "misalignment", row->misalignment);
    text_add(t, ", ");
    put_named(t, "limit_violation", row->limit_violation);
    text_add(t, ", ");
    put_vector(t, "ground_force", row->ground_force);
    text_add(t, ", ");
    put_named(t, "contact_depth", row->contact_depth);
    text_add(t, ", ");
    put_named(t, "contacts", row->contacts);
    text_add(t, "}");
}

static void put_report_head(text_buffer *t, const track_source *s) {
    const skel_bake_summary sum = summary_of(s->bake);
    text_add(t, "{\n  \"format\": \"skel-report/1\",\n  \"scene\": ");
    text_string(t, s->scene);
    text_add(t, ",\n  ");
    put_method(t, &sum);
    text_add(t, ",\n  ");
    put_named(t, "wall_seconds", sum.wall_seconds);
    text_add(t, ",\n  \"summary\": {");
    put_drifts(t, &sum, s->failed);
    text_add(t, "},\n  ");
    put_warnings(t, s);
    text_add(t, ",\n  \"frames\": [");
}

int report_write_json(FILE *stream, const track_source *s) {
    text_buffer t = {0};
    int good = 1;
    put_report_head(&t, s);
    for (int32_t f = 0; f < skel_bake_samples_done(s->bake) && good; ++f) {
        const skel_report_row row = row_of(s->bake, f);
        text_add(&t, f ? ",\n    " : "\n    ");
        put_row(&t, s->frame_start + f, &row);
        good = flush_text(&t, stream);
    }
    text_add(&t, "\n  ]\n}\n");
    return finish(&t, stream, good);
}

int report_write_csv(FILE *stream, const track_source *s) {
    text_buffer t = {0};
    int good = 1;
    text_add(&t, "frame,time,kinetic,potential,work_motor,work_friction,work_load,work_drive,"
                 "work_contact,momentum_x,momentum_y,momentum_z,angular_momentum_x,"
                 "angular_momentum_y,angular_momentum_z,impulse_x,impulse_y,impulse_z,"
                 "angular_impulse_x,angular_impulse_y,angular_impulse_z,joint_gap,"
                 "misalignment,limit_violation,elastic,ground_force_x,ground_force_y,"
                 "ground_force_z,contact_depth,contacts\n");
    for (int32_t f = 0; f < skel_bake_samples_done(s->bake) && good; ++f) {
        const skel_report_row r = row_of(s->bake, f);
        const double work[] = {r.work_motor, r.work_friction, r.work_load, r.work_drive,
                               r.work_contact};
        text_addf(&t, "%d", (int)(s->frame_start + f));
        put_cell(&t, r.time);
        put_cell(&t, r.kinetic);
        put_cell(&t, r.potential);
        put_cells(&t, work, 5);
        put_cells(&t, r.momentum, 3);
        put_cells(&t, r.angular_momentum, 3);
        put_cells(&t, r.impulse, 3);
        put_cells(&t, r.angular_impulse, 3);
        put_cell(&t, r.joint_gap);
        put_cell(&t, r.misalignment);
        put_cell(&t, r.limit_violation);
        put_cell(&t, r.elastic);
        put_cells(&t, r.ground_force, 3);
        put_cell(&t, r.contact_depth);
        put_cell(&t, r.contacts);
        text_add(&t, "\n");
        good = flush_text(&t, stream);
    }
    return finish(&t, stream, good);
}
