/* SPDX-License-Identifier: BSD-3-Clause */
/* The report of a bake: as skel-report/1 (JSON), as CSV, and as the member `report` of a track. */
#include "motion/track.h"

#include <math.h>

/* ---- text ------------------------------------------------------------------------------------ */

int motion_flush(text_buffer *t, FILE *stream) {
    const int good = !t->failed && fwrite(t->data, 1, t->length, stream) == t->length;
    text_clear(t);
    return good;
}

int motion_finish(text_buffer *t, FILE *stream, int good) {
    good = good && (t->length == 0 || motion_flush(t, stream));
    text_free(t);
    return good;
}

void motion_put_named(text_buffer *t, const char *name, double x) {
    text_addf(t, "\"%s\": ", name);
    text_number(t, x);
}

void motion_put_cell(text_buffer *t, double x) {
    text_bytes(t, ",", 1);
    if (isfinite(x))
        text_number(t, x);
    else
        text_add(t, "nan");
}

void motion_put_cells(text_buffer *t, const double *x, int count) {
    for (int k = 0; k < count; ++k) motion_put_cell(t, x[k]);
}

/* "a": 1, "b": 2 */
typedef struct named_number {
    const char *name;
    double value;
} named_number;

static void put_all(text_buffer *t, const named_number *all, size_t count) {
    for (size_t k = 0; k < count; ++k) {
        if (k) text_add(t, ", ");
        motion_put_named(t, all[k].name, all[k].value);
    }
}

static void put_vector(text_buffer *t, const char *name, const double x[3]) {
    text_addf(t, "\"%s\": ", name);
    text_numbers(t, x, 3);
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* Names the first mimic joint and counts the others. */
int motion_mimic_warning(const skel_model *model, char text[MOTION_WARNING_BYTES]) {
    const int32_t n = skel_model_mimic_count(model);
    for (int32_t i = 0; n > 0 && i < skel_model_joint_count(model); ++i) {
        const int32_t source = skel_model_mimic_source(model, i, NULL, NULL);
        char others[48] = "";
        if (source < 0) continue;

        if (n > 1) snprintf(others, sizeof others, " (and %d more like it)", (int)n - 1);
        snprintf(text, MOTION_WARNING_BYTES,
                 "joint '%.60s' mimics '%.60s'%s: dynamics has no such constraint, it moves on its "
                 "own",
                 skel_model_joint_name(model, i), skel_model_joint_name(model, source), others);
        return 1;
    }
    return 0;
}

static void put_warning(text_buffer *t, const char *warning, int32_t *count) {
    text_add(t, *count > 0 ? ", " : "");
    text_string(t, warning);
    ++*count;
}

/* The warnings of the bake, of the document and of mimic joints, in this order. */
static void put_warnings(text_buffer *t, const track_source *s) {
    const char *warning;
    char mimic[MOTION_WARNING_BYTES];
    int32_t count = 0;

    text_add(t, "\"warnings\": [");
    for (int32_t i = 0; (warning = skel_bake_warning(s->bake, i)) != NULL; ++i)
        put_warning(t, warning, &count);
    for (int32_t i = 0; (warning = skel_scene_warning(s->document, i)) != NULL; ++i)
        put_warning(t, warning, &count);
    if (motion_mimic_warning(s->model, mimic)) put_warning(t, mimic, &count);
    text_add(t, "]");
}

/* ---- summary --------------------------------------------------------------------------------- */

static skel_bake_summary summary_of(const skel_bake *bake) {
    skel_bake_summary sum = {0};
    sum.struct_size = sizeof sum;
    skel_bake_get_summary(bake, &sum);
    return sum;
}

skel_report_row motion_report_row(const skel_bake *bake, int32_t sample) {
    skel_report_row row = {0};
    row.struct_size = sizeof row;
    skel_bake_get_report(bake, sample, &row);
    return row;
}

static void put_method(text_buffer *t, const skel_bake_summary *sum) {
    const named_number counts[] = {
        {"step", sum->step},
        {"steps", sum->steps},
        {"rejected_steps", sum->rejected_steps},
        {"evaluations", sum->evaluations},
    };
    text_addf(t, "\"integrator\": \"%s\", \"solver\": \"%s\", ",
              skel_integrator_name(sum->integrator), skel_solver_name(sum->solver));
    put_all(t, counts, sizeof counts / sizeof *counts);
    text_addf(t, ", \"order\": %d", (int)sum->last_order);
}

static void put_errors(text_buffer *t, const skel_bake_summary *sum, const char *failed) {
    const named_number errors[] = {
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
    put_all(t, errors, sizeof errors / sizeof *errors);
    if (!failed) return;

    text_add(t, ", \"failed\": ");
    text_string(t, failed);
}

void motion_put_report(text_buffer *t, const track_source *s) {
    const skel_bake_summary sum = summary_of(s->bake);
    text_add(t, "  \"report\": {");
    put_method(t, &sum);
    text_add(t, ",\n    ");
    put_errors(t, &sum, NULL);
    text_add(t, ",\n    ");
    put_warnings(t, s);
    text_add(t, "}\n}\n");
}

/* ---- skel-report/1 --------------------------------------------------------------------------- */

static void put_frame(text_buffer *t, int32_t frame, const skel_report_row *row) {
    const named_number energies[] = {
        {"time", row->time},
        {"kinetic", row->kinetic},
        {"potential", row->potential},
        {"elastic", row->elastic},
    };
    const named_number works[] = {
        {"motor", row->work_motor}, {"friction", row->work_friction}, {"load", row->work_load},
        {"drive", row->work_drive}, {"contact", row->work_contact},
    };
    const named_number errors[] = {
        {"joint_gap", row->joint_gap},
        {"misalignment", row->misalignment},
        {"limit_violation", row->limit_violation},
    };

    const struct {
        const char *name;
        const double *value;
    } momenta[] = {
        {"momentum", row->momentum},
        {"angular_momentum", row->angular_momentum},
        {"impulse", row->impulse},
        {"angular_impulse", row->angular_impulse},
    };

    /* Energies and works [J]. */
    text_addf(t, "{\"frame\": %d, ", (int)frame);
    put_all(t, energies, sizeof energies / sizeof *energies);
    text_add(t, ", \"work\": {");
    put_all(t, works, sizeof works / sizeof *works);
    text_add(t, "}, ");

    /* Momenta and impulses [N s], [N m s]. */
    for (size_t k = 0; k < sizeof momenta / sizeof *momenta; ++k) {
        put_vector(t, momenta[k].name, momenta[k].value);
        text_add(t, ", ");
    }

    /* Joints and contacts. */
    put_all(t, errors, sizeof errors / sizeof *errors);
    text_add(t, ", ");
    put_vector(t, "ground_force", row->ground_force);
    text_add(t, ", ");
    motion_put_named(t, "contact_depth", row->contact_depth);
    text_add(t, ", ");
    motion_put_named(t, "contacts", row->contacts);
    text_add(t, "}");
}

static void put_head(text_buffer *t, const track_source *s) {
    const skel_bake_summary sum = summary_of(s->bake);
    text_add(t, "{\n  \"format\": \"skel-report/1\",\n  \"scene\": ");
    text_string(t, s->scene);
    text_add(t, ",\n  ");
    put_method(t, &sum);
    text_add(t, ",\n  ");
    motion_put_named(t, "wall_seconds", sum.wall_seconds);

    text_add(t, ",\n  \"summary\": {");
    put_errors(t, &sum, s->failed);
    text_add(t, "},\n  ");
    put_warnings(t, s);
    text_add(t, ",\n  \"frames\": [");
}

int report_write_json(FILE *stream, const track_source *s) {
    text_buffer t = {0};
    int good = 1;
    put_head(&t, s);

    for (int32_t f = 0; f < skel_bake_samples_done(s->bake) && good; ++f) {
        const skel_report_row row = motion_report_row(s->bake, f);
        text_add(&t, f ? ",\n    " : "\n    ");
        put_frame(&t, s->frame_start + f, &row);
        good = motion_flush(&t, stream);
    }

    text_add(&t, "\n  ]\n}\n");
    return motion_finish(&t, stream, good);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* The cells of a line, in the order of the heading below. */
static void put_line(text_buffer *t, int32_t frame, const skel_report_row *r) {
    const double energies[] = {r->time, r->kinetic, r->potential};
    const double works[] = {r->work_motor, r->work_friction, r->work_load, r->work_drive,
                            r->work_contact};
    const double errors[] = {r->joint_gap, r->misalignment, r->limit_violation, r->elastic};

    text_addf(t, "%d", (int)frame);
    motion_put_cells(t, energies, 3);
    motion_put_cells(t, works, 5);
    motion_put_cells(t, r->momentum, 3);
    motion_put_cells(t, r->angular_momentum, 3);
    motion_put_cells(t, r->impulse, 3);
    motion_put_cells(t, r->angular_impulse, 3);
    motion_put_cells(t, errors, 4);
    motion_put_cells(t, r->ground_force, 3);
    motion_put_cell(t, r->contact_depth);
    motion_put_cell(t, r->contacts);
    text_add(t, "\n");
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
        const skel_report_row row = motion_report_row(s->bake, f);
        put_line(&t, s->frame_start + f, &row);
        good = motion_flush(&t, stream);
    }
    return motion_finish(&t, stream, good);
}
