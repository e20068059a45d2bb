/* SPDX-License-Identifier: BSD-3-Clause */
/* Inertia of solids of even density about their centre; long axis z. */
#include <skel/skel_model.h>

#include <math.h>

/* A capsule is a cylinder and two half balls whose centres of mass lie 3 r / 8 beyond its ends. */
static void capsule(double l, double r, double m, double *across, double *along) {
    const double cylinder = l, ball = 4.0 / 3.0 * r; /* volumes over pi r^2 */
    const double mc = m * cylinder / (cylinder + ball), mb = m - mc;
    *along = mc * r * r / 2 + mb * r * r * 0.4;
    *across = mc * (l * l / 12 + r * r / 4) + mb * (0.4 * r * r + l * l / 4 + 3.0 / 8 * l * r);
}

skel_status skel_shape_inertia(int32_t shape, const double size[3], double mass,
                               double inertia[6]) {
    if (!size || !inertia || !(mass > 0) || !isfinite(mass)) return SKEL_E_ARGUMENT;
    if (shape < SKEL_SHAPE_SPHERE || shape > SKEL_SHAPE_ROD) return SKEL_E_ARGUMENT;
    const int used = shape == SKEL_SHAPE_SPHERE ? 1 : shape == SKEL_SHAPE_BOX ? 3 : 2;
    for (int k = 0; k < used; ++k)
        if (!(size[k] > 0) || !isfinite(size[k])) return SKEL_E_ARGUMENT;
    const double a = size[0], b = used > 1 ? size[1] : 0, c = used > 2 ? size[2] : 0, m = mass;
    double xx = 0, yy = 0, zz = 0;
    switch (shape) {
    case SKEL_SHAPE_SPHERE: xx = yy = zz = 0.4 * m * a * a; break;
    case SKEL_SHAPE_BOX:
        xx = m * (b * b + c * c) / 12, yy = m * (a * a + c * c) / 12, zz = m * (a * a + b * b) / 12;
        break;
    case SKEL_SHAPE_CYLINDER: xx = yy = m * (a * a / 12 + b * b / 4), zz = m * b * b / 2; break;
    case SKEL_SHAPE_CAPSULE: capsule(a, b, m, &xx, &zz), yy = xx; break;
    default: xx = yy = m * a * a / 12, zz = m * b * b / 2; break; /* rod */
    }
    const double out[6] = {xx, yy, zz, 0, 0, 0};
    for (int k = 0; k < 6; ++k) inertia[k] = out[k];
    return SKEL_OK;
}
