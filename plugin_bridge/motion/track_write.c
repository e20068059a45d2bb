/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks as skel-track/1 (JSON) and CSV, written frame by frame. Apart from `us` of the receipts of
   inverse kinematics, a track is the same in every run: the duration of a bake is in the report
   only (report_write.c). */
#include "motion/track.h"

#include <string.h>

/* ---- skel-track/1 --------------------------------------------------------------------------- */

/* One field of all frames, one line per frame: of each row of `stride` numbers the first `count`.
   */
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
        if (!motion_flush(t, stream)) return 0;
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
        if (!motion_flush(t, stream)) return 0;
    }
    text_add(t, "\n  ],\n");
    return 1;
}

static void put_head(text_buffer *t, const track_source *s) {
    text_add(t, "{\n  \"format\": \"skel-track/1\",\n  ");
    motion_put_named(t, "fps", s->fps);
    text_addf(t, ",\n  \"frame_start\": %d,\n  \"bodies\": [", (int)s->frame_start);
    for (int32_t b = 0; b < skel_model_body_count(s->model); ++b) {
        if (b) text_add(t, ", ");
        text_string(t, skel_model_body_name(s->model, b));
    }
    text_add(t, "],\n");
}

/* The duration comes last: everything before it is the same in every run. */
static void put_receipt(text_buffer *t, const skel_ik_receipt *r, const double *goals,
                        int32_t count) {
    text_addf(t, "{\"reached\": %s, ", r->reached ? "true" : "false");
    motion_put_named(t, "residual", r->residual);
    text_addf(t, ", \"iterations\": %d, \"restarts\": %d, \"active_limits\": %d, ",
              (int)r->iterations, (int)r->restarts, (int)r->active_limits);
    motion_put_named(t, "smallest_singular_value", r->smallest_singular_value);

    text_add(t, ", \"goals\": [");
    for (int32_t k = 0; k < count; ++k, goals += 2) {
        text_add(t, k ? ", {" : "{");
        motion_put_named(t, "distance", goals[0]);
        text_add(t, ", ");
        motion_put_named(t, "angle", goals[1]);
        text_add(t, "}");
    }

    text_add(t, "], ");
    motion_put_named(t, "us", r->us);
    text_add(t, "}");
}

static void put_jump(text_buffer *t, const track_source *s, const skel_ik_jump *jump) {
    text_addf(t, "{\"frame\": %d, \"joint\": ", (int)(s->frame_start + jump->sample));
    text_string(t, jump->joint < 0 ? "world" : skel_model_joint_name(s->model, jump->joint));
    text_add(t, ", ");
    motion_put_named(t, "size", jump->size);
    text_addf(t, ", \"unit\": \"%s\"}", jump->is_length ? "m" : "rad");
}

/* Figures of the whole motion: jumps of joints, the change of the first frame, and the number of
   frames that were solved again. */
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
        if (!motion_flush(t, stream)) return 0;
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
    if (good && s->bake) motion_put_report(&t, s);
    return motion_finish(&t, stream, good);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

int track_write_csv(FILE *stream, const track_source *s) {
    const int32_t nb = skel_model_body_count(s->model);
    const double *pose = s->poses, *v = s->velocities;
    text_buffer t = {0};
    int good = 1;
    text_addf(&t, "frame,time,body,x,y,z,qw,qx,qy,qz%s\n", v ? ",vx,vy,vz,wx,wy,wz" : "");

    for (int32_t f = 0; f < s->frames && good; ++f) {
        const double time = s->bake ? motion_report_row(s->bake, f).time : f / s->fps;
        for (int32_t b = 0; b < nb; ++b, pose += 7) {
            text_addf(&t, "%d", (int)(s->frame_start + f));
            motion_put_cell(&t, time);
            text_add(&t, ",");
            text_csv_name(&t, skel_model_body_name(s->model, b), "", 0);
            motion_put_cells(&t, pose, 7);
            if (v) motion_put_cells(&t, v + 6 * ((size_t)f * (size_t)nb + (size_t)b), 6);
            text_add(&t, "\n");
        }
        good = motion_flush(&t, stream);
    }
    return motion_finish(&t, stream, good);
}
