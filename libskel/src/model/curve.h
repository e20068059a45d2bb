/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves over time: loads and motors (linear or smooth) and the pose of a driven body (C1 cubic,
   with the velocity and acceleration that belong to it). */
#ifndef SKEL_MODEL_CURVE_H
#define SKEL_MODEL_CURVE_H

#include "math/quat.h"

#include <skel/skel_model.h>

/* A pose with its velocity and acceleration; v, a in the world, w, dw in body axes. */
typedef struct skel__motion {
    pose x;
    v3 v, w, a, dw;
} skel__motion;

/* Linear between the samples, held outside; out has curve->width numbers, added to. */
void skel__curve_add(const skel_curve *curve, double t, double *out);
/* The same, smooth between the samples: the polynomial through the six nearest. */
void skel__curve_add_smooth(const skel_curve *curve, double t, double *out);
/* Slopes at the samples (count x 3): of positions, and angular velocities of orientations. The
   quaternions are made unit and continuous in sign first. */
void skel__curve_position_slopes(const skel_curve *curve, double *slopes);
void skel__curve_orient(double *value, uint32_t count);
void skel__curve_orientation_slopes(const skel_curve *curve, double *slopes);
/* Accelerations jump at the samples: at the end of a step its own side of t counts, or a high
   order is lost. */
typedef enum skel__side { SKEL__AFTER, SKEL__BEFORE } skel__side;
/* Slope of a linear curve on that side of t, added to out; nothing outside the samples. */
void skel__curve_add_slope(const skel_curve *curve, double t, skel__side side, double *out);
/* Overwrites the linear or the angular half of *m; nothing where the curve is empty. */
void skel__curve_position(const skel_curve *curve, const double *slopes, double t, skel__side side,
                          skel__motion *m);
void skel__curve_orientation(const skel_curve *curve, const double *slopes, double t,
                             skel__side side, skel__motion *m);

#endif
