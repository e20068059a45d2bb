/* SPDX-License-Identifier: BSD-3-Clause */
/* The motion of a bake or of inverse kinematics as documents: the track as skel-track/1 (JSON),
   .npy or .csv, and the report of a bake. */
#ifndef BRIDGE_MOTION_TRACK_H
#define BRIDGE_MOTION_TRACK_H

#include "document/text.h"

#include <skel/skel.h>

#include <stdio.h>

typedef struct track_source {
    const skel_model *model;
    const skel_bake *bake; /* NULL: the motion is that of `ik` */
    const skel_ik_motion *ik;
    int32_t goals;
    const skel_scene *document; /* its warnings are repeated in the report; may be NULL */
    const char *scene;          /* name of the scene */
    const char *failed;         /* reason why the bake stopped early; NULL: it did not */
    double fps;
    int32_t frame_start, frames;
    const double *poses, *q;
    const double *velocities; /* NULL: the track has none */
} track_source;

#define MOTION_WARNING_BYTES 256
/** Warns that dynamics ignores mimic constraints. Returns 0 if no joint is a mimic joint. */
int motion_mimic_warning(const skel_model *model, char text[MOTION_WARNING_BYTES]);

/** Each writer returns 1, or 0 if the stream failed or memory ran out. */
typedef int track_writer(FILE *stream, const track_source *source);
track_writer track_write_json, track_write_csv, track_write_npy;
track_writer report_write_json, report_write_csv;

/* ---- shared by the writers (report_write.c) -------------------------------------------------- */

/** Writes the collected text to the stream and empties it; 0 if that failed. */
int motion_flush(text_buffer *t, FILE *stream);
/** Writes the rest of the text and frees it. Returns `good`, or 0 if that failed. */
int motion_finish(text_buffer *t, FILE *stream, int good);
/** "name": x */
void motion_put_named(text_buffer *t, const char *name, double x);
/** ",x" for a CSV line; "nan" if x is not finite. */
void motion_put_cell(text_buffer *t, double x);
void motion_put_cells(text_buffer *t, const double *x, int count);
/** Energies, momenta, ... of one sample of a bake. */
skel_report_row motion_report_row(const skel_bake *bake, int32_t sample);
/** The member "report" of a skel-track/1 document. */
void motion_put_report(text_buffer *t, const track_source *s);

#endif
