# SPDX-License-Identifier: GPL-3.0-or-later
"""The ground and the obstacles of a scene, and warnings about bones that start inside them."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Dict, List, Optional, Sequence, Tuple

from .algebra import Pose, Vector, add, dot, pose_rows, q_conj, q_rotate, sub, times
from .binding import edit, rig as rigs
from .binding import scene as documents
from .bodies import Size
from .bone_bodies import Shape
from .paths import path_of
from .plan import Plan
from .rig import collider_name, moved_bones
from .shot import Collider, Shot

BELOW_TOL = 0.1             # of a bone's radius: how far below a plane it may start


def _shape_of(collider: Collider) -> Optional[Dict[str, object]]:
    """The shape of an obstacle in a document; a plane has none."""
    size = list(collider.size)
    if collider.kind == "PLANE":
        return None
    if collider.kind == "SPHERE":
        return {"type": "sphere", "radius": max(size) / 2}
    if collider.kind in ("CAPSULE", "CYLINDER"):
        radius = max(size[0], size[1]) / 2
        caps = 2 * radius if collider.kind == "CAPSULE" else 0.0
        return {"type": collider.kind.lower(), "radius": radius,
                "length": max(size[2] - caps, 1e-3 * radius)}
    return {"type": "box", "size": size}


def add_obstacles(shot: Shot, scene: documents.Scene, paths: Dict[str, edit.Path],
                  library: Optional[str]) -> List[Tuple[str, documents.Ground]]:
    """Adds the obstacles to the scene, and the paths of those that move. Returns (name, plane) of
    those that are planes."""
    planes = []
    for collider in shot.colliders:
        rig = rigs.Rig([rigs.Bone(rest=rigs.STILL, body=0)], shot.unit, library)
        rows = pose_rows(rig.poses(collider.matrices, 1, rigs.STILL), 7, 0)
        first, name = rows[0], collider_name(shot, collider)
        if collider.kind == "PLANE":
            scene.ground.append(documents.Ground(
                point=first[:3], normal=list(q_rotate(first[3:7], (0, 0, 1))),
                friction=shot.settings.ground_friction, body=name if collider.moves else None))
            planes.append((collider.name, scene.ground[-1]))
            if not collider.moves:
                continue

        body = documents.Body(name=name, shape=_shape_of(collider), motion="fixed",
                              position=first[:3], orientation=first[3:])
        if collider.moves:
            body.motion, paths[name] = "driven", path_of(rows, shot.sample_rate)
        scene.bodies.append(body)
    return planes


# ---- bones below a plane ----

def _height(pose: Pose, shape: Shape, point: Vector, normal: Vector) -> float:
    """The height [m] of the lower end of a capsule's axis, or of the lowest corner of a box, above
    a plane."""
    return dot(sub(pose[:3], point), normal) - \
        shape.extent(q_rotate(q_conj(pose[3:7]), normal))


def _thickness(shape: Shape) -> float:
    """Half the thickness of a shape [m]."""
    return shape.radius if shape.kind == "capsule" else min(shape.edges) / 2


def _above(pose: Pose, shape: Shape, plane: documents.Ground) -> Shape:
    """A shape that would start in a plane, made thinner so that it lies on it: a capsule by its
    radius, a box by all of its edges. One whose middle is below the plane stays as it is."""
    point, normal = plane.point or (), plane.normal or ()
    height = _height(pose, shape, point, normal)
    if shape.kind == "capsule":
        thinner = BELOW_TOL * shape.radius < height < shape.radius
        return replace(shape, radius=height) if thinner else shape
    middle = dot(sub(pose[:3], point), normal)
    if height >= 0 or middle < BELOW_TOL * (middle - height):
        return shape
    return shape.scaled(middle / (middle - height))


def _below(plan: Plan, sizes: Dict[int, Size],
           plane: documents.Ground) -> List[Tuple[float, str]]:
    """(height, bone): simulated bones that start below a plane."""
    found = []
    for i, size in sizes.items():
        height = _height(plan.start_pose(i), size.shape, plane.point or (), plane.normal or ())
        if height < -BELOW_TOL * _thickness(size.shape) and plan.roles[i] == "DYNAMIC":
            found.append((height, plan.shot.bones[i].blender_name))
    return found


def _warn_below(shot: Shot, below: List[Tuple[float, str]], what: str, remedy: str) -> List[str]:
    if not below:
        return []
    low, name = min(below)
    more = f" (and {len(below) - 1} more)" if len(below) > 1 else ""
    return [f"The bone '{name}'{more} is {-low:.3g} m below {what} at frame {shot.frame_start} and "
            f"will stay sunk. {remedy}"]


def add_ground(plan: Plan, scene: documents.Scene, sizes: Dict[int, Size]) -> List[str]:
    """Adds the floor, which is level whatever the gravity is, and reduces the radius of bones that
    would start in it. Returns warnings about bones that start below it."""
    shot, settings = plan.shot, plan.shot.settings
    if not settings.ground:
        return []
    floor = documents.Ground(
        point=[0.0, 0.0, settings.ground_height * shot.unit], normal=[0.0, 0.0, 1.0],
        friction=settings.ground_friction,
        restitution=settings.bounce if settings.bounce > 0 else None)
    scene.ground.insert(0, floor)

    for i, size in sizes.items():
        robot = shot.bones[i].robot
        if not (robot and robot.inertia):
            sizes[i] = replace(size, shape=_above(plan.start_pose(i), size.shape, floor))
    below = _below(plan, sizes, floor)
    return _warn_below(shot, below, "the ground", "Lower Ground Height or raise the armature")


def points_above(points: Sequence[Vector], pose: Pose, grounds: Sequence[documents.Ground],
                 near: float) -> Optional[List[List[float]]]:
    """The points of a body that start above all grounds; None if there are none. A point that is a
    little below one, as the sole of a foot may be, starts on it."""
    out = []
    for point in points:
        at = add(pose[:3], q_rotate(pose[3:7], point))
        for ground in grounds:
            normal = ground.normal or ()
            height = dot(sub(at, ground.point or ()), normal)
            if -near <= height < 0:
                at = sub(at, times(normal, height))
        if all(dot(sub(at, ground.point or ()), ground.normal or ()) >= -1e-9 * near
               for ground in grounds):
            out.append(list(q_rotate(q_conj(pose[3:7]), sub(at, pose[:3]))))
    return out or None


def warn_of_planes(plan: Plan, sizes: Dict[int, Size],
                   planes: List[Tuple[str, documents.Ground]]) -> List[str]:
    """Bones that start behind a plane, and planes that have an edge in Blender only."""
    shot, out = plan.shot, []
    first = shot.bones[0].rest[12:15]
    extent = shot.metres * max(math.dist(bone.rest[12:15], first) for bone in shot.bones)
    widths = {c.name: sorted(c.size)[1] for c in shot.colliders if c.kind == "PLANE"}
    for name, plane in planes:
        out += _warn_below(shot, _below(plan, sizes, plane), f"the plane '{name}'",
                           "Move the plane or the armature, or turn the plane over")
        if widths[name] < extent:
            out.append(f"The plane '{name}' is {widths[name]:.3g} m wide, but acts as an infinite "
                       "plane. Give it some thickness if it must end at its edge")
    return out


def warn_of_props(plan: Plan) -> List[str]:
    """Objects that are bound to bones which physics moves."""
    shot = plan.shot
    moved = {shot.bones[i].blender_name for i in moved_bones(shot, plan.roles)}
    obstacles = {collider.name for collider in shot.colliders}
    bound = [(name, bone) for name, bone in shot.props if bone in moved]
    out = [f"The obstacle '{name}' is bound to the simulated bone '{bone}'. As an obstacle it "
           "moves as it is animated, not as simulated: remove it from the collection"
           for name, bone in bound if name in obstacles]

    loose = [pair for pair in bound if pair[0] not in obstacles]
    if loose:
        name, bone = loose[0]
        more = f" (and {len(loose) - 1} more objects)" if len(loose) > 1 else ""
        out.append(f"'{name}'{more} moves with the bone '{bone}', but has no mass and does not "
                   "collide. Add its mass to the bone's mass if it matters")
    return out
