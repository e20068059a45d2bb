/* SPDX-License-Identifier: BSD-3-Clause */
/* Two bones, solved in closed form [SIE 8.1.2, ERRATA S8]. By the law of cosines, with d the
   distance of the target; atan2 throughout, so that no quadrant and, near full extension, no digit
   is lost:
     bend = 2 atan2(sqrt((l1 + l2)^2 - d^2), sqrt(d^2 - (l1 - l2)^2)) */
#include "base/desc.h"
#include "math/vec.h"

#include <skel/skel_ik.h>

static double root_of(double x) {
    return x > 0 ? sqrt(x) : 0.0;
}

/* Angle between the bones, 0 where straight, of a distance between |l1 - l2| and l1 + l2. */
static double bend_of(double l1, double l2, double d) {
    const double far  = root_of((l1 + l2 - d) * (l1 + l2 + d));
    const double near = root_of((d - fabs(l1 - l2)) * (d + fabs(l1 - l2)));
    return 2 * atan2(far, near);
}

/* Of the first bone from the way to the target. */
static double lift_of(double l1, double l2, double bend) {
    return atan2(l2 * sin(bend), l1 + l2 * cos(bend));
}

static double clamp(double x, double low, double high) {
    return x < low ? low : x > high ? high : x;
}

int32_t skel_two_bone_plane(const double root[2], double length1, double length2,
                            const double target[2], double plus[2], double minus[2]) {
    if (!root || !target || !plus || !minus) return 0;
    const double x = target[0] - root[0], y = target[1] - root[1], d = sqrt(x * x + y * y);
    const double least = fabs(length1 - length2), most = length1 + length2;
    const double bend = bend_of(length1, length2, clamp(d, least, most));
    const double lift = lift_of(length1, length2, bend), way = atan2(y, x);
    const double slack = 1e-14 * most;
    plus[0] = way - lift, plus[1] = bend;
    minus[0] = way + lift, minus[1] = -bend;
    return d >= least - slack && d <= most + slack;
}

static const skel_two_bone_desc k_desc = {
    .struct_size = sizeof k_desc, .pole = {0, 0, 1}, .length1 = 1, .length2 = 1};

void skel_two_bone_desc_init_sized(skel_two_bone_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

/* The distance that is used for a distance d: from where the softness begins it comes nearer and
   nearer to full length, with a slope that begins at 1. */
static double softened(double d, double most, double softness) {
    const double width = softness * most, begin = most - width;
    if (!(width > 0) || d <= begin) return d;
    return begin + width * (1 - exp(-(d - begin) / width));
}

/* A unit vector across `way`, towards the pole. */
static v3 side_of(v3 way, v3 pole) {
    const v3     across = v3_mad(pole, -v3_dot(pole, way), way);
    const double size   = v3_norm(across);
    return size > 1e-12 * (1 + v3_norm(pole)) ? v3_scale(across, 1 / size) : v3_perpendicular(way);
}

skel_status skel_two_bone_solve(const skel_two_bone_desc *desc, skel_two_bone *out) {
    skel_two_bone_desc d = k_desc;
    if (!desc || !out) return SKEL_E_ARGUMENT;
    const skel_status status = skel__desc_import(&d, sizeof d, sizeof d, desc);
    if (status != SKEL_OK) return status;
    const v3     root = v3_of(d.root), to = v3_sub(v3_of(d.target), root);
    const v3     pole = v3_sub(v3_of(d.pole), root);
    const double far = v3_norm(to), most = d.length1 + d.length2;
    if (!(d.length1 > 0 && d.length2 > 0 && isfinite(most)) || !isfinite(far + v3_norm(pole)) ||
        !(d.softness >= 0 && d.softness <= 0.5))
        return SKEL_E_ARGUMENT;
    const double least = fabs(d.length1 - d.length2);
    const double used  = clamp(softened(far, most, d.softness), least, most);
    const v3 way = far > 0 ? v3_scale(to, 1 / far) : v3_perpendicular(side_of((v3){0, 0, 1}, pole));
    const v3 side       = side_of(way, pole);
    const double bend   = bend_of(d.length1, d.length2, used),
                 lift   = lift_of(d.length1, d.length2, bend);
    skel_two_bone r     = {.struct_size = sizeof r, .bend = bend};
    const v3      elbow = v3_mad(v3_scale(way, d.length1 * cos(lift)), d.length1 * sin(lift), side);
    v3_to(v3_add(root, elbow), r.elbow);
    v3_to(v3_mad(root, used, way), r.tip);
    r.reached = fabs(used - far) <= 1e-12 * most;
    return skel__desc_export(out, &r, sizeof r, sizeof r);
}
