# SPDX-License-Identifier: GPL-3.0-or-later
"""Bones as robots: the scene, the DH table and the URDF of bones at rest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .algebra import (AXES, IDENTITY, ORIGIN, Quaternion, Vector, compose, invert, q_about,
                      q_rotate, times)
from .binding import scene as documents
from .binding import skelpy
from .bone_bodies import capsule_of
from .errors import UserError
from .shot import Mimic

TOOLS = ("tool", "tool0")   # frames at the end of a robot: DH tables have one, ROS the other
SNAP = 1e-5                 # of angles and of the reach: bones have single precision
LOCKED_RANGE = 1e-4         # [rad] an axis with a smaller range is locked


@dataclass(frozen=True)
class ChainBone:
    """A bone at rest. Lengths in m, with the scale of the armature."""
    name: str
    parent: str = ""
    head: Vector = ORIGIN
    turn: Quaternion = IDENTITY
    length: float = 1.0
    kind: str = "ball"                      # "hinge", "slide", "fixed"; "free"
    axis: str = "Z"
    sign: float = 1.0
    limits: Optional[Sequence[float]] = None
    joint: str = ""
    frame: bool = False                     # a named frame, not a link
    mass: float = 0.0                       # [kg]; 0: not known
    com: Vector = ORIGIN                    # from the head, in the bone's axes
    inertia: Optional[Vector] = None        # xx yy zz xy xz yz about com [kg m^2]
    estimated: str = ""                     # "mass", "inertia": the document does not have it
    radius: float = 0.0                     # of its capsule, if it has a mass but no inertia
    mimic: Optional[Mimic] = None
    drive: Optional[Tuple[float, float]] = None     # (velocity, effort): rad, m, N m, N

    @property
    def pose(self) -> List[float]:
        return [*self.head, *self.turn]


def _body(bone: ChainBone) -> Tuple[documents.Body, List[float]]:
    """(body, pose) of a bone: in its axes, at its head; with a mass, at its centre of mass."""
    at = compose(bone.pose, [*bone.com, *IDENTITY])
    body = documents.Body(bone.name)
    if bone.mass > 0:
        body.mass, body.inertia = bone.mass, list(bone.inertia) if bone.inertia else None
        body.estimated = bone.estimated or None
    if bone.mass > 0 and not bone.inertia:              # a capsule, z along the bone
        at = compose(bone.pose, [0.0, bone.length / 2, 0.0,
                                 *q_about(AXES["X"], -math.pi / 2)])
        length, radius = capsule_of(bone.length, bone.radius)
        body.shape = {"type": "capsule", "length": length, "radius": radius}
    body.position, body.orientation = at[:3], at[3:]
    return body, at


class _RobotScene:
    """Collects the bodies, joints and frames of bones."""

    def __init__(self, name: str) -> None:
        self.scene = documents.Scene(name=name)
        self.frames: List[Dict[str, Any]] = []
        self.poses: Dict[str, List[float]] = {"world": [*ORIGIN, *IDENTITY]}

    def add_frame(self, name: str, body: str, pose: Sequence[float]) -> None:
        """A named frame at a pose of the world."""
        at = compose(invert(self.poses.get(body, self.poses["world"])), pose)
        self.frames.append({"name": name, "body": body, "position": at[:3],
                            "orientation": at[3:]})

    def add_link(self, bone: ChainBone) -> None:
        body, self.poses[bone.name] = _body(bone)
        self.scene.bodies.append(body)
        if bone.mass > 0:                               # the link begins where the bone begins
            self.add_frame(bone.name, bone.name, bone.pose)
        if not bone.parent and bone.kind in ("fixed", "free"):
            body.motion = "fixed"
            return

        joint = documents.Joint(bone.joint or bone.name, bone.kind,
                                [bone.parent or "world", bone.name], anchor=list(bone.head))
        if bone.kind in ("hinge", "slide"):
            joint.axis = list(q_rotate(bone.turn, times(AXES[bone.axis], bone.sign)))
            joint.limits = list(bone.limits) if bone.limits else None
            joint.mimic = bone.mimic.fields() if bone.mimic else None
        self.scene.joints.append(joint)


def scene_of(name: str, bones: Sequence[ChainBone], tip: str = "",
             tip_tail: bool = True) -> documents.Scene:
    """The scene of bones at rest, parents first; the tool is at the end of the tip."""
    made, tool = _RobotScene(name), None
    scene = made.scene
    for bone in bones:
        if not bone.frame:
            made.add_link(bone)
            continue
        made.add_frame(bone.name, bone.parent or "world", bone.pose)
        if bone.name == tip:
            tool = bone.name

    # In a part of a robot, the source of a mimic joint may be missing.
    known = {joint.name for joint in scene.joints}
    for joint in scene.joints:
        joint.mimic = joint.mimic if joint.mimic and joint.mimic["joint"] in known else None

    if tip and tool is None:
        bone = next(b for b in bones if b.name == tip)
        tool = f"{tip} end"
        made.add_frame(tool, tip, compose(
            bone.pose, [0.0, bone.length if tip_tail else 0.0, 0.0, *IDENTITY]))
    drives = [{"joint": bone.joint, "velocity": bone.drive[0], "effort": bone.drive[1]}
              for bone in bones if bone.drive and bone.joint in known]
    scene.robot = {"frames": made.frames, **({"tool": tool} if tool else {}),
                   **({"drives": drives} if drives else {})}
    return scene


def tip_of(bones: Sequence[ChainBone], wanted: str = "") -> str:
    """The last bone of a chain: the wanted one, else the tool, else the only end. Bones that no
    joint moves (the base, and frames on it) are not ends."""
    moved: Dict[str, bool] = {}
    parents = {bone.parent for bone in bones if not bone.frame}
    for bone in bones:                                  # parents first
        moved[bone.name] = bone.kind in ("hinge", "slide", "ball") or moved.get(bone.parent, False)
    if wanted:
        if not moved.get(wanted, False):
            raise UserError(f"No joint moves '{wanted}'. Name a bone after a joint, or make "
                            "it active" if wanted in moved else
                            f"There is no bone '{wanted}'")
        return wanted
    frames = {bone.name: bone.parent for bone in bones if bone.frame and moved[bone.name]}
    ends = [bone.name for bone in bones
            if not bone.frame and moved[bone.name] and bone.name not in parents]
    if not ends:
        raise UserError("This armature has no joint that moves. Unlock an axis of a bone")
    for name in TOOLS:
        if name in frames:
            return name
    if len(ends) > 1:
        raise UserError("Make the last bone of the chain active: this armature has several "
                        f"ends ({', '.join(ends[:4])}{', ...' if ends[4:] else ''})")
    there = [name for name, parent in frames.items() if parent == ends[0]]
    return there[0] if len(there) == 1 else ends[0]


@dataclass(frozen=True)
class Table:
    """A DH table, and what the library reports about it."""
    text: str
    warnings: List[str]
    cost: str                               # how far the tool of the table is off


def table_of(name: str, bones: Sequence[ChainBone], tip: str, convention: str, csv: bool = False,
             snap: Optional[float] = None, library: Optional[str] = None) -> Table:
    """The DH table of the chain that ends at a bone. snap: the user's tolerance, which then alone
    decides which axes are parallel; None: the library also reads axes as parallel if their common
    normal is far away and the tool hardly moves."""
    by_name = {bone.name: bone for bone in bones}
    chain: List[ChainBone] = []
    at: Optional[ChainBone] = by_name[tip]
    while at is not None:
        chain.insert(0, at)
        at = by_name.get(at.parent)
    options: Dict[str, Any] = {"snap": SNAP}
    if snap is not None:
        options = {"snap": snap, "parallel_tolerance": 0.0}
    with skelpy.Scene.from_document(scene_of(name, chain, tip), library) as scene:
        table = scene.to_dh(convention, csv=csv, **options)
        said = [line.partition(": ") for line in scene.dh_report(convention, **options)]

    # The library names the option of the command; here it is a property of the operator.
    lines = [(kind, words.replace("--snap", "Snap")) for kind, _colon, words in said]
    return Table(table, [words for kind, words in lines if kind == "warning"],
                 "; ".join(words for kind, words in lines if kind == "receipt"))


def urdf_of(name: str, bones: Sequence[ChainBone], library: Optional[str] = None) -> str:
    with skelpy.Scene.from_document(scene_of(name, bones), library) as scene:
        return scene.to_urdf()


def joint_from_locks(name: str, ranges: Mapping[str, Tuple[float, float]],
                     locked: str) -> Tuple[str, str, Optional[Tuple[float, float]]]:
    """(kind, axis, limits) of the joint of a bone that is not a robot's."""
    free = [axis for axis in "XYZ" if axis not in locked and
            not (axis in ranges and ranges[axis][1] - ranges[axis][0] < LOCKED_RANGE)]
    if not free:
        return "fixed", "Z", None
    if len(free) == 1:
        return "hinge", free[0], ranges.get(free[0])
    if len(free) == 2:
        raise UserError(f"'{name}' turns about two axes. Lock one of them (Bone properties > "
                        "Inverse Kinematics), or none")
    return "ball", "Z", None
