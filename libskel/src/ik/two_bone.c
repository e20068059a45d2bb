/* SPDX-License-Identifier: BSD-3-Clause */
/* Two bones, solved in closed form [SIE 8.1.2, ERRATA S8].

   With the lengths l1 and l2 and the distance d from the root to the target, the law of cosines
   gives the angle between the bones. Written with atan2, it needs no case for the quadrant, and
   near full extension it loses no digits:
     bend = 2 atan2(sqrt((l1 + l2)^2 - d^2), sqrt(d^2 - (l1 - l2)^2))
   The angle of the first bone from the direction of the target is
     lift = atan2(l2 sin(bend), l1 + l2 cos(bend)) */
#include "base/desc.h"
#include "math/vec.h"

#include <skel/skel_ik.h>

#define TWO_BONE_PLANE_TOL 1e-14   /* of the full length: distances beyond it are out of reach */
#define TWO_BONE_REACHED_TOL 1e-12 /* of the full length: distance of tip and target */
#define TWO_BONE_POLE_TOL 1e-12    /* of the pole's distance: a pole this near the line is on it */
#define TWO_BONE_SOFTNESS_MAX 0.5

/* Square root of a number that rounding may have made negative. */
static double root_of(double x) {
    return x > 0 ? sqrt(x) : 0.0;
}

/* Angle between the bones; 0 if they are straight. d is between |l1 - l2| and l1 + l2. */
static double bend_of(double l1, double l2, double d) {
    const double far = root_of((l1 + l2 - d) * (l1 + l2 + d));
    const double near = root_of((d - fabs(l1 - l2)) * (d + fabs(l1 - l2)));
    return 2 * atan2(far, near);
}

/* Angle of the first bone from the direction of the target. */
static double lift_of(double l1, double l2, double bend) {
    return atan2(l2 * sin(bend), l1 + l2 * cos(bend));
}

static double clamp(double x, double low, double high) {
    if (x < low) return low;
    return x > high ? high : x;
}

int32_t skel_two_bone_plane(const double root[2], double length1, double length2,
                            const double target[2], double plus[2], double minus[2]) {
    if (!root || !target || !plus || !minus) return 0;

    const double x = target[0] - root[0], y = target[1] - root[1];
    const double d = sqrt(x * x + y * y), direction = atan2(y, x);
    const double least = fabs(length1 - length2), most = length1 + length2;

    const double bend = bend_of(length1, length2, clamp(d, least, most));
    const double lift = lift_of(length1, length2, bend);
    plus[0] = direction - lift;
    plus[1] = bend;
    minus[0] = direction + lift;
    minus[1] = -bend;

    const double slack = TWO_BONE_PLANE_TOL * most;
    return d >= least - slack && d <= most + slack;
}

static const skel_two_bone_desc k_desc = {
    .struct_size = sizeof k_desc, .pole = {0, 0, 1}, .length1 = 1, .length2 = 1};

void skel_two_bone_desc_init_sized(skel_two_bone_desc *desc, size_t size) {
    skel__desc_init(desc, size, &k_desc, sizeof k_desc);
}

/* Distance of the tip for a target at distance d. In the soft zone of width w below full length it
   approaches full length exponentially: begin + w (1 - exp(-(d - begin) / w)), with slope 1 at the
   begin of the zone. */
static double softened(double d, double most, double softness) {
    const double width = softness * most, begin = most - width;
    if (!(width > 0) || d <= begin) return d;
    return begin + width * (1 - exp(-(d - begin) / width));
}

/* Unit vector across `direction`, towards the pole; any such vector if the pole is on the line. */
static v3 side_of(v3 direction, v3 pole) {
    const v3 across = v3_mad(pole, -v3_dot(pole, direction), direction);
    const double size = v3_norm(across);
    if (size > TWO_BONE_POLE_TOL * (1 + v3_norm(pole))) return v3_scale(across, 1 / size);
    return v3_perpendicular(direction);
}

static int is_valid(const skel_two_bone_desc *d, double far, double pole) {
    return d->length1 > 0 && d->length2 > 0 && isfinite(d->length1 + d->length2) &&
           isfinite(far + pole) && d->softness >= 0 && d->softness <= TWO_BONE_SOFTNESS_MAX;
}

skel_status skel_two_bone_solve(const skel_two_bone_desc *desc, skel_two_bone *out) {
    skel_two_bone_desc d = k_desc;
    if (!desc || !out) return SKEL_E_ARGUMENT;
    const skel_status status = skel__desc_import(&d, sizeof d, sizeof d, desc);
    if (status != SKEL_OK) return status;

    const v3 root = v3_of(d.root);
    const v3 to = v3_sub(v3_of(d.target), root), pole = v3_sub(v3_of(d.pole), root);
    const double far = v3_norm(to);
    if (!is_valid(&d, far, v3_norm(pole))) return SKEL_E_ARGUMENT;

    /* The distance that the bones can have, and the plane in which they bend. */
    const double least = fabs(d.length1 - d.length2), most = d.length1 + d.length2;
    const double used = clamp(softened(far, most, d.softness), least, most);
    const v3 direction =
        far > 0 ? v3_scale(to, 1 / far) : v3_perpendicular(side_of((v3){0, 0, 1}, pole));
    const v3 side = side_of(direction, pole);

    const double bend = bend_of(d.length1, d.length2, used);
    const double lift = lift_of(d.length1, d.length2, bend);
    const v3 along = v3_scale(direction, d.length1 * cos(lift));
    const v3 elbow = v3_mad(along, d.length1 * sin(lift), side);

    skel_two_bone r = {.struct_size = sizeof r, .bend = bend};
    v3_to(v3_add(root, elbow), r.elbow);
    v3_to(v3_mad(root, used, direction), r.tip);
    r.reached = fabs(used - far) <= TWO_BONE_REACHED_TOL * most;
    return skel__desc_export(out, &r, sizeof r, sizeof r);
}
