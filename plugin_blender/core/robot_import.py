# SPDX-License-Identifier: GPL-3.0-or-later
"""Robots as bones: a DH table, a URDF or any scene that is a tree becomes bones, one per link and
named after it, in the pose in which all joint coordinates are zero.

A bone begins on the axis of its joint and ends where the next joint begins. Its axes tell how the
joint moves:
  Z  is the joint's axis if the link leads away from it: the bone is perpendicular to the axis
  Y  is the joint's axis if the link leads along it; the sign is -1 if it leads in the other
     direction
A link without length is a short bone along its axis. A slide moves along the same axis. Frames that
are not links (a tool, a flange) are short bones with the frame's own axes."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from .algebra import (IDENTITY, ORIGIN, Quaternion, Vector, Vector3, across, add, compose, cross,
                      dot, norm, q_conj, q_mul, q_of_matrix, q_rotate, rotate_inertia, sub, times)
from .binding import scene as documents
from .binding import skelpy
from .errors import UserError, parse_json
from .robot_properties import JOINT_KINDS
from .robot_shapes import Visual, visuals_of
from .shot import Mimic

NEAR = 1e-4                 # of the reach: a point this near an axis lies on it
STUB = 0.04                 # of the reach: length of a bone whose link has none
NAME_BYTES_MAX = 63         # that Blender keeps of a bone's name


@dataclass(frozen=True)
class RobotBone:
    name: str
    parent: str = ""
    head: Vector = ORIGIN                   # [m], in the pose in which all coordinates are zero
    tail: Vector = (0.0, 0.0, 1.0)
    z: Vector = (0.0, 0.0, 1.0)             # direction of the bone's Z axis
    joint: str = ""
    kind: str = "fixed"                     # "hinge", "slide", "ball", "free"
    axis: str = "Z"
    sign: float = 1.0
    limits: Optional[Sequence[float]] = None
    mimic: Optional[Mimic] = None
    drive: Optional[Tuple[float, float]] = None     # (velocity, effort): rad, m, N m, N; 0: unknown
    row: str = ""                           # of the DH table, as JSON
    stub: bool = False                      # the link has no length
    frame: bool = False                     # a named frame, not a link
    mass: float = 0.0                       # [kg]; 0: not known
    com: Vector = ORIGIN                    # from the head, in the bone's axes [m]
    inertia: Optional[Vector] = None        # xx yy zz xy xz yz about com, bone's axes [kg m^2]
    estimated: str = ""                     # "mass", "inertia": estimated by the library

    @property
    def orientation(self) -> Quaternion:
        y = sub(self.tail, self.head)
        y = times(y, 1 / norm(y))
        z = sub(self.z, times(y, dot(self.z, y)))
        z = times(z, 1 / norm(z))
        return q_of_matrix([*cross(y, z), 0, *y, 0, *z, 0, 0, 0, 0, 1])


@dataclass(frozen=True)
class Robot:
    name: str
    bones: Tuple[RobotBone, ...]
    reach: float                            # [m]
    poses: Mapping[str, List[float]]        # named joint coordinates
    joints: List[str]                       # in the order of q
    notes: List[str]
    source: str
    links: Mapping[str, List[float]]        # pose of every frame, by name
    bone_of: Mapping[str, str]              # the bone that a frame moves with, "": none
    visuals: Optional[List[Visual]]         # of a URDF; None: the document has none
    warnings: Tuple[str, ...] = ()


# ---- the tree of a document ----

@dataclass
class RobotTree:
    """A document as a tree of bodies. poses: 7 numbers per body, all joint coordinates zero."""
    document: Dict[str, Any]
    poses: Dict[str, List[float]]
    joint_of: Dict[str, Dict[str, Any]] = field(default_factory=dict)   # child: its joint
    children: Dict[str, List[str]] = field(default_factory=dict)
    depth: Dict[str, int] = field(default_factory=dict)                 # longest chain below it

    @classmethod
    def of(cls, document: Dict[str, Any], poses: Sequence[float]) -> RobotTree:
        names = [body["name"] for body in document["bodies"]]
        by_name = {name: list(poses[7 * k:7 * k + 7]) for k, name in enumerate(names)}
        return cls(document, {**by_name, "world": [*ORIGIN, *IDENTITY]})

    def __post_init__(self) -> None:
        self.bodies = {body["name"]: body for body in self.document["bodies"]}
        self.children = {name: [] for name in (*self.bodies, "world")}
        for joint in self.document.get("joints", []):
            self._add_joint(joint)
        robot = self.document.get("robot", {})
        self.tool: Optional[str] = robot.get("tool")
        self.frames = {f["name"]: (f["body"], compose(self.poses[f["body"]], pose_of_frame(f)))
                       for f in robot.get("frames", [])}
        for name in reversed(self.order()):
            self.depth[name] = 1 + max((self.depth[c] for c in self.children[name]), default=0)

        # The size of the robot: the point that is farthest from its base.
        points = [pose[:3] for pose in self.poses.values()]
        points += [pose[:3] for _body, pose in self.frames.values()]
        points += [self.axis_of(name)[0] for name in self.joint_of]
        self.size = max((math.dist(p, self.poses["world"][:3]) for p in points), default=0) or 1.0

    def _add_joint(self, joint: Dict[str, Any]) -> None:
        parent, child = joint["bodies"]
        if child in self.joint_of or child == "world":
            raise UserError(f"The joint '{joint['name']}' closes a loop. Only trees can become "
                            "armatures")
        if joint["type"] not in JOINT_KINDS:
            raise UserError(f"The joint '{joint['name']}' has the type {joint['type']}, which a "
                            "robot's bone cannot have. Make hinges and slides of it")
        self.joint_of[child] = joint
        self.children[parent].append(child)

    def order(self) -> List[str]:
        """Bodies, parents first."""
        out = [name for name in self.bodies if name not in self.joint_of]
        out += self.children["world"]
        for name in out:
            out += self.children[name]
        return out

    def axis_of(self, name: str) -> Tuple[List[float], Vector3]:
        """(a point on the axis of a body's joint, its direction)."""
        joint = self.joint_of[name]
        pose = compose(self.poses[joint["bodies"][0]], pose_of_frame(joint["frames"][0]))
        return pose[:3], q_rotate(pose[3:], (0, 0, 1))

    def start(self, name: str) -> List[float]:
        """Where a link begins."""
        if name in self.joint_of:
            return self.axis_of(name)[0]
        return self.frames.get(name, ("", self.poses[name]))[1][:3]

    def start_along_axis(self, name: str) -> List[float]:
        """Where a link along its own axis begins: the point of the axis that is nearest to the axis
        before it, or to where that one begins, or to the base."""
        point, axis = self.axis_of(name)
        parent, known = self.joint_of[name]["bodies"][0], [0.0, 0.0, 0.0]
        if parent in self.joint_of and self.joint_of[parent]["type"] in ("hinge", "slide"):
            other, along = self.axis_of(parent)
            both = cross(axis, along)
            if dot(both, both) > NEAR * NEAR:           # an end of the common normal
                t = dot(cross(sub(other, point), along), both) / dot(both, both)
                return add(point, times(axis, t))
            known = self.start_along_axis(parent)
            if norm(cross(sub(other, point), axis)) < NEAR * self.size:
                return point                            # the same line: the joint's own point
        elif parent != "world":
            known = self.start(parent)
        return add(point, times(axis, dot(axis, sub(known, point))))

    def end(self, name: str) -> List[float]:
        """Where a link without children ends: at its tool, else at its farthest frame."""
        found = [(self.tool == frame, math.dist(pose[:3], self.start(name)), pose[:3])
                 for frame, (body, pose) in self.frames.items() if body == name and frame != name]
        if found:
            return max(found)[2]
        own = self.frames.get(name, ("", self.poses[name]))[1][:3]
        centre = self.poses[name][:3]
        return max((own, centre), key=lambda p: math.dist(p, self.start(name)))

    @property
    def reach(self) -> float:
        """The sum of the lengths from joint to joint [m]."""
        total = 0.0
        for name, joint in self.joint_of.items():
            parent = joint["bodies"][0]
            if parent in self.joint_of:
                total += math.dist(self.start(name), self.start(parent))
            if joint["type"] == "slide":
                total += max(map(abs, joint.get("limits") or [0]))
        return max(total, self.size)


def pose_of_frame(frame: Mapping[str, Any]) -> List[float]:
    return [*frame.get("position", ORIGIN), *frame.get("orientation", IDENTITY)]


# ---- bones ----

def _bone_without_axis(tree: RobotTree, name: str, kind: str, to: Sequence[float]) -> RobotBone:
    """The bone of a link that is fixed, free or on a ball joint."""
    start = tree.start(name)
    stub = norm(sub(to, start)) < NEAR * tree.size
    tail = add(start, times([0.0, 0.0, 1.0], STUB * tree.size)) if stub else list(to)
    return RobotBone(name, head=start, tail=tail, z=across(sub(tail, start)), kind=kind, axis="Y",
                     stub=stub)


def _bone_on_axis(tree: RobotTree, name: str, kind: str, to: Sequence[float]) -> RobotBone:
    """The bone of a link that turns about an axis or slides along it."""
    near = NEAR * tree.size
    start, axis = tree.axis_of(name)
    foot = add(start, times(axis, dot(axis, sub(to, start))))
    if math.dist(foot, to) > near:
        return RobotBone(name, head=foot, tail=to, z=axis, kind=kind, axis="Z")

    start = tree.start_along_axis(name)
    length = dot(axis, sub(to, start))
    stub = abs(length) < near
    tail = add(start, times(axis, STUB * tree.size if stub else length))
    return RobotBone(name, head=start, tail=tail, z=across(axis), kind=kind, axis="Y",
                     sign=-1.0 if length < -near else 1.0, stub=stub)


def _with_mass(bone: RobotBone, body: Mapping[str, Any], pose: Sequence[float]) -> RobotBone:
    if "mass" not in body or "inertia" not in body:
        return bone
    turn = bone.orientation
    com = list(q_rotate(q_conj(turn), sub(pose[:3], bone.head)))
    inertia = rotate_inertia(body["inertia"], q_mul(q_conj(turn), pose[3:]))
    return replace(bone, mass=body["mass"], com=com, inertia=inertia,
                   estimated=body.get("estimated", ""))


def _bone(tree: RobotTree, name: str, heads: Mapping[str, Vector]) -> RobotBone:
    """The bone of a body. heads: of its children."""
    children = sorted(tree.children[name], key=lambda c: -tree.depth[c])
    to = heads[children[0]] if children else tree.end(name)
    body, joint = tree.bodies[name], tree.joint_of.get(name)
    if joint is None:
        kind = "fixed" if body.get("motion") in ("fixed", "driven") else "free"
        return _with_mass(_bone_without_axis(tree, name, kind, to), body, tree.poses[name])

    is_axial = joint["type"] not in ("fixed", "ball")
    make = _bone_on_axis if is_axial else _bone_without_axis
    bone = make(tree, name, joint["type"], to)
    parent = joint["bodies"][0]
    bone = replace(bone, parent="" if parent == "world" else parent, joint=joint["name"],
                   limits=joint.get("limits") if is_axial else None)
    return _with_mass(bone, body, tree.poses[name])


def _frame_bones(tree: RobotTree, bones: Mapping[str, RobotBone]) -> List[RobotBone]:
    """Short bones for frames that are not links."""
    taken, out = set(bones), []
    for frame, (body, pose) in tree.frames.items():
        if frame in bones:
            continue
        label = frame
        while label in taken:
            label += "'"
        taken.add(label)
        y, z = (q_rotate(pose[3:], v) for v in ((0, 1, 0), (0, 0, 1)))
        out.append(RobotBone(label, body if body in bones else "", pose[:3],
                             add(pose[:3], times(y, STUB * tree.size)), z, frame=True))
    return out


def _short_names(bones: Sequence[RobotBone]) -> Dict[str, str]:
    """{name: name of the bone}: Blender would cut long names; the document keeps them."""
    taken, short = {bone.name for bone in bones}, {}
    for bone in bones:
        label, k = bone.name, 0
        while len(label.encode()) > NAME_BYTES_MAX or (k and label in taken):
            tail = f".{k:03d}" if k else ""
            label = bone.name.encode()[:NAME_BYTES_MAX - len(tail)].decode(errors="ignore") + tail
            k += 1
        taken.add(label)
        short[bone.name] = label
    return short


# ---- documents ----

def decode_text(data: bytes) -> str:
    """The text of a file: UTF-8, or the encoding that an XML document declares. The declaration is
    left out, because the text is UTF-8 from here on."""
    declared = re.match(
        rb"""(?:\xef\xbb\xbf)?\s*(<\?xml[^>]*?)\s+encoding\s*=\s*["']([^"']*)["']""", data)
    if not declared:
        return data.decode("utf-8-sig")
    rest = declared.group(1) + data[declared.end():]
    try:
        return rest.decode(declared.group(2).decode("ascii", "replace"))
    except LookupError:                                 # the library does the same
        return rest.decode("utf-8")


def _zero_poses(text: str, library: Optional[str]) -> Sequence[float]:
    """Poses of all bodies with every joint at zero, mimic joints too: their drivers add what their
    sources give."""
    document = documents.Scene.from_json(text)
    for joint in document.joints:
        joint.mimic = None
    with skelpy.Scene.from_document(document, library) as scene:
        q = [0.0] * scene.q_count
        for k, joint in enumerate(document.joints):
            if joint.type == "ball":
                q[scene.joint_q_offset(k)] = 1.0
        return skelpy.fk(scene, q) if q else skelpy.State(scene).poses


def _dh_rows(text: str) -> Dict[str, str]:
    """{joint: row as JSON} of a skel-dh/1; nothing of another document."""
    try:
        table = parse_json(text, "The table")
    except UserError:
        return {}
    if table.get("format") != "skel-dh/1":
        return {}
    head = {k: table[k] for k in ("convention", "angle_unit", "length_unit") if k in table}
    return {row.get("name", f"joint{k + 1}"): json.dumps({**head, **row})
            for k, row in enumerate(table["joints"])}


def import_robot(text: str, name: str = "", library: Optional[str] = None) -> Robot:
    """The robot of a document: skel-dh/1, CSV, URDF or skel-scene/1."""
    with skelpy.Scene.from_json(text, library) as scene:
        written, names = scene.to_json(), scene.joint_names
        mimics = {names[k]: Mimic(names[source], factor, offset)
                  for k, (source, factor, offset) in scene.mimics.items()}
    document = parse_json(written, "The document")
    tree = RobotTree.of(document, _zero_poses(written, library))
    rows, extra = _dh_rows(text), document.get("robot", {})
    drives = {drive["joint"]: (drive.get("velocity", 0.0), drive.get("effort", 0.0))
              for drive in extra.get("drives", [])}

    # The end of a bone is the head of its child: children first.
    bones: Dict[str, RobotBone] = {}
    heads: Dict[str, Vector] = {}
    for body in reversed(tree.order()):
        bone = _bone(tree, body, heads)
        heads[body] = bone.head
        bones[body] = replace(bone, row=rows.get(bone.joint, ""), mimic=mimics.get(bone.joint),
                              drive=drives.get(bone.joint))
    made = [*(bones[body] for body in tree.order()), *_frame_bones(tree, bones)]

    short = _short_names(made)
    warnings = tuple(line.split(": ", 1)[1] for line in skelpy.check(text, library)
                     if line.startswith("warning: "))
    return Robot(
        document.get("name") or name or "robot",
        tuple(replace(bone, name=short[bone.name], parent=short.get(bone.parent, ""))
              for bone in made),
        tree.reach, extra.get("poses", {}), [j["name"] for j in document.get("joints", [])],
        extra.get("notes", []), extra.get("source", ""),
        {frame: pose for frame, (_body, pose) in tree.frames.items()},
        {frame: short.get(body, "") for frame, (body, _pose) in tree.frames.items()},
        visuals_of(text) if text.lstrip().startswith("<") else None, warnings)


def bundled_robots() -> Dict[str, str]:
    """{name: path} of the robots that come with the add-on, or lie in the sources beside it."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = os.path.join(here, "robots")
    if not os.path.isdir(folder):
        folder = os.path.join(os.path.dirname(here), "samples", "robots")
    if not os.path.isdir(folder):
        return {}
    return {name[:-5]: os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".json")}
