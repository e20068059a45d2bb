/* SPDX-License-Identifier: BSD-3-Clause */
/* The accuracy of a table, as fields and as sentences: its largest error over the test poses, and
   the pairs of axes that are nearly parallel. */
#include "robot/dh.h"

#include <math.h>

#define DH_TURNED_NOISE_RAD 1e-9  /* smaller angles are rounding errors of the given axes */
#define DH_NORMAL_FAR_REACHES 5.0 /* as in libskel: see skel_dh_axes_desc */

bool dh_is_turned(const dh_doc *d, int32_t row) {
    return d->joints[row].row.turned > DH_TURNED_NOISE_RAD;
}

bool dh_is_ill_conditioned(const dh_doc *d, int32_t row) {
    const skel_dh_row *r = &d->joints[row].row;
    return !(r->turned > 0.0) && r->normal_distance > DH_NORMAL_FAR_REACHES * d->receipt.reach;
}

static void put_turned(text_buffer *t, const dh_doc *d, int32_t row) {
    const skel_dh_row *r = &d->joints[row].row;
    text_addf(
        t,
        "the axes of '%s' and '%s' deviate from parallel by %.3g rad and were read as parallel: "
        "their common normal is %.6g m away, the reach is %.4g m",
        d->joints[row].name, d->joints[row + 1].name, r->turned, r->normal_distance,
        d->receipt.reach);
}

/* Deviation of the axes of a row and the next one from parallel or antiparallel [rad]. */
static double deviation_of(const dh_doc *d, int32_t row) {
    const int32_t at = d->convention == SKEL_DH_STANDARD ? row : row + 1;
    const double alpha = fabs(d->joints[at].row.alpha);
    return fmin(alpha, fabs(DOC_PI - alpha));
}

static void put_ill_conditioned(text_buffer *t, const dh_doc *d, int32_t row) {
    const double angle = deviation_of(d, row);
    text_addf(t,
              "the axes of '%s' and '%s' deviate from parallel by %.3g rad: their common normal is "
              "%.6g m away, the reach is %.4g m; lengths of that size cancel, so do not round the "
              "numbers of this table (--snap %.2g reads the axes as parallel)",
              d->joints[row].name, d->joints[row + 1].name, angle,
              d->joints[row].row.normal_distance, d->receipt.reach, 1.1 * angle);
}

void dh_put_pair(text_buffer *t, const dh_doc *d, int32_t row) {
    if (dh_is_ill_conditioned(d, row))
        put_ill_conditioned(t, d, row);
    else
        put_turned(t, d, row);
}

void dh_put_accuracy(text_buffer *t, const skel_dh_receipt *r) {
    text_addf(t,
              "the tool is within %.3g m and %.3g rad of its exact pose in %d test poses; the "
              "reach is %.4g m, the largest length of a row %.6g m",
              r->position_error, r->angle_error, (int)r->poses, r->reach, r->longest);
}

static void put_number(text_buffer *t, const char *before, double x) {
    text_add(t, before);
    text_number(t, x);
}

static void put_pair(text_buffer *t, const dh_doc *d, int32_t row, bool first) {
    text_add(t, first ? ",\n    \"parallel\": [\n      {\"joints\": [" : ",\n      {\"joints\": [");
    text_string(t, d->joints[row].name);
    text_add(t, ", ");
    text_string(t, d->joints[row + 1].name);
    put_number(t, "], \"turned\": ", d->joints[row].row.turned);
    put_number(t, ", \"normal_distance\": ", d->joints[row].row.normal_distance);
    text_add(t, "}");
}

void dh_put_receipt(text_buffer *t, const dh_doc *d) {
    const skel_dh_receipt *r = &d->receipt;
    bool has_pairs = false;
    if (r->poses == 0) return;

    text_addf(t, ",\n  \"receipt\": {\"poses\": %d", (int)r->poses);
    put_number(t, ", \"position_error\": ", r->position_error);
    put_number(t, ", \"angle_error\": ", r->angle_error);
    put_number(t, ", \"reach\": ", r->reach);
    put_number(t, ", \"longest\": ", r->longest);

    for (int32_t i = 0; i + 1 < d->count; ++i) {
        if (!dh_is_turned(d, i) && !dh_is_ill_conditioned(d, i)) continue;
        put_pair(t, d, i, !has_pairs);
        has_pairs = true;
    }
    text_add(t, has_pairs ? "]}" : "}");
}

void dh_put_receipt_csv(text_buffer *t, const dh_doc *d) {
    text_buffer line = {0};
    if (d->receipt.poses == 0) return;

    put_number(t, "# position_error: ", d->receipt.position_error);
    put_number(t, "\n# angle_error: ", d->receipt.angle_error);
    text_add(t, "\n");

    dh_put_accuracy(&line, &d->receipt);
    if (line.failed)
        t->failed = 1;
    else
        text_addf(t, "# - %s\n", line.data);
    text_free(&line);
}
