/* SPDX-License-Identifier: BSD-3-Clause */
/* Curves over time: loads and motors, linear or smooth, and the pose of a driven body, a cubic with
   continuous velocity. */
#ifndef SKEL_MODEL_CURVE_H
#define SKEL_MODEL_CURVE_H

#include "math/quat.h"

#include <skel/skel_model.h>

/* A pose with its velocities and accelerations: v, a in the world, w, dw in body axes. */
typedef struct skel__motion {
    pose x;
    v3 v, w, a, dw;
} skel__motion;

/* Adds the value at t [s] to out (curve->width numbers): linear between the samples, constant
   outside. */
void skel__curve_add(const skel_curve *curve, double t, double *out);
/* The same, but smooth between the samples: the polynomial through the six nearest ones. */
void skel__curve_add_smooth(const skel_curve *curve, double t, double *out);

/* Makes quaternions unit and continuous in sign. */
void skel__curve_orient(double *value, uint32_t count);
/* Slopes at the samples (count x 3): velocities, or angular velocities in body axes. */
void skel__curve_position_slopes(const skel_curve *curve, double *slopes);
void skel__curve_orientation_slopes(const skel_curve *curve, double *slopes);

/* Derivatives jump at the samples. An integrator that ends a step at a sample must read the values
   before it, and those after it when the next step begins; otherwise it loses its order. */
typedef enum skel__side { SKEL__AFTER, SKEL__BEFORE } skel__side;
/* Adds the slope of a linear curve on that side of t to out. It is 0 outside the samples. */
void skel__curve_add_slope(const skel_curve *curve, double t, skel__side side, double *out);
/* Overwrite the linear or the angular half of *m. An empty curve leaves it unchanged. */
void skel__curve_position(const skel_curve *curve, const double *slopes, double t, skel__side side,
                          skel__motion *m);
void skel__curve_orientation(const skel_curve *curve, const double *slopes, double t,
                             skel__side side, skel__motion *m);

#endif
