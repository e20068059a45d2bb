/* SPDX-License-Identifier: BSD-3-Clause */
/* Inertia of homogeneous solids about their centre of mass. The long axis is z. */
#include <skel/skel_model.h>

#include <math.h>

/* A capsule is a cylinder of length l with two half balls. The centre of mass of a half ball lies
   3 r / 8 beyond the end of the cylinder. The mass is shared in proportion to the volumes. */
static void capsule(double l, double r, double m, double *across, double *along) {
    const double cylinder = l, ball = 4.0 / 3.0 * r; /* volumes divided by pi r^2 */
    const double mc = m * cylinder / (cylinder + ball);
    const double mb = m - mc;

    *along = mc * r * r / 2 + mb * r * r * 0.4;
    *across = mc * (l * l / 12 + r * r / 4) + mb * (0.4 * r * r + l * l / 4 + 3.0 / 8 * l * r);
}

/* How many numbers of `size` describe the shape. */
static int size_count(int32_t shape) {
    if (shape == SKEL_SHAPE_SPHERE) return 1;
    return shape == SKEL_SHAPE_BOX ? 3 : 2;
}

skel_status skel_shape_inertia(int32_t shape, const double size[3], double mass,
                               double inertia[6]) {
    if (!size || !inertia || !(mass > 0) || !isfinite(mass)) return SKEL_E_ARGUMENT;
    if (shape < SKEL_SHAPE_SPHERE || shape > SKEL_SHAPE_ROD) return SKEL_E_ARGUMENT;

    const int count = size_count(shape);
    for (int k = 0; k < count; ++k)
        if (!(size[k] > 0) || !isfinite(size[k])) return SKEL_E_ARGUMENT;

    /* Numbers that do not describe the shape may hold anything. */
    const double a = size[0], b = count > 1 ? size[1] : 0, c = count > 2 ? size[2] : 0, m = mass;
    double xx = 0, yy = 0, zz = 0;
    switch (shape) {
    case SKEL_SHAPE_SPHERE:
        xx = 0.4 * m * a * a;
        yy = xx;
        zz = xx;
        break;
    case SKEL_SHAPE_BOX:
        xx = m * (b * b + c * c) / 12;
        yy = m * (a * a + c * c) / 12;
        zz = m * (a * a + b * b) / 12;
        break;
    case SKEL_SHAPE_CYLINDER:
        xx = m * (a * a / 12 + b * b / 4);
        yy = xx;
        zz = m * b * b / 2;
        break;
    case SKEL_SHAPE_CAPSULE:
        capsule(a, b, m, &xx, &zz);
        yy = xx;
        break;
    default: /* a rod is thin, but has an inertia about its own axis */
        xx = m * a * a / 12;
        yy = xx;
        zz = m * b * b / 2;
        break;
    }

    const double out[6] = {xx, yy, zz, 0, 0, 0};
    for (int k = 0; k < 6; ++k) inertia[k] = out[k];
    return SKEL_OK;
}
