/* SPDX-License-Identifier: BSD-3-Clause */
/* What a bake or the goals of a scene give, as documents: skel-track/1 (JSON), .npy, .csv, and the
   report. */
#ifndef BRIDGE_MOTION_TRACK_H
#define BRIDGE_MOTION_TRACK_H

#include <skel/skel.h>

#include <stdio.h>

typedef struct track_source {
    const skel_model     *model;
    const skel_bake      *bake; /* NULL: the motion is of `ik` */
    const skel_ik_motion *ik;
    int32_t               goals;
    const skel_scene     *document; /* whose warnings are repeated; may be NULL */
    const char           *scene;    /* its name */
    const char           *failed;   /* why the bake stopped early; NULL where it did not */
    double                fps;
    int32_t               frame_start, frames;
    const double         *poses, *q;
    const double         *velocities; /* NULL: the track has none */
} track_source;

/* What dynamics does with joints that mimic others; 0 where there are none. */
int mimic_warning(const skel_model *model, char text[256]);

/* Each returns 1, or 0 where the stream failed or memory ran out. */
typedef int  track_writer(FILE *stream, const track_source *source);
track_writer track_write_json, track_write_csv, track_write_npy;
track_writer report_write_json, report_write_csv;

#endif
