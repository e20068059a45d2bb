# SPDX-License-Identifier: GPL-3.0-or-later
"""Robots as bones, and bones as robots. No bpy.

A DH table, a URDF or any scene that is a tree becomes bones, one per link, named after it, in the
pose where all joint coordinates are zero. A bone begins on its joint's axis and ends where the next
joint begins. Its axes tell how the joint moves:
  Z  the joint's axis, where the link leads away from it: the bone is at right angles to the axis
  Y  the joint's axis, where the link leads along it; sign -1 where it leads against it
A link without length is a stub along its axis. A slide moves along the same axis. Frames that are
no link (a tool, a flange) are short bones with the frame's own axes, X Y Z."""

import json
import math
import os
import re
import struct
from dataclasses import dataclass, field
from typing import Any, Dict, List
from xml.etree.ElementTree import TreeBuilder
from xml.parsers import expat

from . import convert
from .convert import dot, turned
from .binding import scene as documents
from .binding import skelpy

NEAR = 1e-4                 # of the reach: what lies this near an axis lies on it
STUB = 0.04                 # of the reach: length of a bone that has none
TOOLS = ("tool", "tool0")   # frames that are the end of a robot: tables have one, ROS the other
NAME = 63                   # bytes that Blender keeps of a bone's name
SNAP = 1e-5                 # of angles and of the reach: bones are float32
MESH_BYTES_MAX = 256 << 20  # of a mesh's file
MANIFESTS = ("package.xml", "manifest.xml", "model.config")     # of packages of ROS and Gazebo
URDF_FOLDERS = ("urdf", "urdfs", "xacro", "robots")     # where packages keep their URDFs
PACKAGE_LEVELS = 8          # how far above a URDF its package is looked for
ZERO = (0.0, 0.0, 0.0)
UNIT = (1.0, 0.0, 0.0, 0.0)


@dataclass
class RobotBone:
    name: str
    parent: str = ""
    head: Any = ZERO                        # m, where all joint coordinates are zero
    tail: Any = (0.0, 0.0, 1.0)
    z: Any = (0.0, 0.0, 1.0)                # direction of the bone's Z axis
    joint: str = ""
    kind: str = "fixed"                     # "hinge", "slide", "ball", "free"
    axis: str = "Z"
    sign: float = 1.0
    limits: Any = None
    mimic: Any = None                       # {"joint", "multiplier", "offset"}: rad and m
    drive: Any = None                       # (velocity, effort): rad, m, N m, N; 0: not known
    row: str = ""                           # of the DH table, as JSON
    stub: bool = False
    frame: bool = False                     # a frame, not a link
    mass: float = 0.0                       # kg; 0: not known
    com: Any = ZERO                         # from the head, in the bone's axes, m
    inertia: Any = None                     # xx yy zz xy xz yz about com in the bone's axes, kg m²
    estimated: str = ""                     # "mass", "inertia": the library's, not the document's


@dataclass
class Robot:
    name: str
    bones: List[RobotBone]
    reach: float = 1.0
    poses: Dict[str, List[float]] = field(default_factory=dict)
    joints: List[str] = field(default_factory=list)     # in the order of q
    notes: List[str] = field(default_factory=list)
    source: str = ""
    links: Dict[str, Any] = field(default_factory=dict)  # pose (x y z, w x y z) of frames, by name
    bone_of: Dict[str, str] = field(default_factory=dict)  # of frames: the bone they go with
    visuals: Any = None                     # [Visual] of a URDF
    warnings: List[str] = field(default_factory=list)


# ---- small algebra ----

def add(a, b):
    return [x + y for x, y in zip(a, b)]


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def times(a, s):
    return [x * s for x in a]


def compose(a, b):
    """Pose b, given in pose a."""
    return [*add(a[:3], convert.q_rotate(a[3:], b[:3])), *convert.q_mul(a[3:], b[3:])]


def seven(frame):
    return [*frame.get("position", ZERO), *frame.get("orientation", UNIT)]


def axes_of(bone):
    """How a bone is turned."""
    y = sub(bone.tail, bone.head)
    y = times(y, 1 / convert.norm(y))
    z = sub(bone.z, times(y, dot(bone.z, y)))
    z = times(z, 1 / convert.norm(z))
    return convert.q_of([*convert.cross(y, z), 0, *y, 0, *z, 0, 0, 0, 0, 1])


def across(z):
    """A direction at right angles to z."""
    k = min(range(3), key=lambda n: abs(z[n]))
    return convert.cross(z, [1.0 if n == k else 0.0 for n in range(3)])


# ---- a document to bones ----

class _Tree:
    def __init__(self, document, poses):
        self.bodies = [body["name"] for body in document["bodies"]]
        self.motion = {body["name"]: body.get("motion") for body in document["bodies"]}
        self.masses = {body["name"]: (body["mass"], body["inertia"], body.get("estimated", ""))
                       for body in document["bodies"] if "mass" in body and "inertia" in body}
        self.poses = {name: list(poses[7 * k:7 * k + 7]) for k, name in enumerate(self.bodies)}
        self.poses["world"] = [*ZERO, *UNIT]
        self.joint_of, self.children = {}, {name: [] for name in (*self.bodies, "world")}
        for joint in document.get("joints", []):
            parent, child = joint["bodies"]
            if child in self.joint_of or child == "world":
                raise convert.Refused(f"The joint '{joint['name']}' closes a loop; only trees "
                                      "become armatures")
            if joint["type"] == "universal":
                raise convert.Refused(f"The joint '{joint['name']}' is universal, which a bone "
                                      "cannot be")
            self.joint_of[child] = joint
            self.children[parent].append(child)
        robot = document.get("robot", {})
        self.frames = {f["name"]: (f["body"], compose(self.poses[f["body"]], seven(f)))
                       for f in robot.get("frames", [])}
        self.tool = robot.get("tool")
        self.depth = {}
        for name in reversed(self.order()):
            self.depth[name] = 1 + max((self.depth[c] for c in self.children[name]), default=0)
        points = [pose[:3] for pose in self.poses.values()]
        points += [pose[:3] for _body, pose in self.frames.values()]
        points += [self.axis_of(name)[0] for name in self.joint_of]
        self.reach = max((math.dist(p, self.poses["world"][:3]) for p in points), default=0) or 1.0

    def order(self):
        """Bodies, parents first."""
        out = [name for name in self.bodies if name not in self.joint_of]
        out += self.children["world"]
        for name in out:
            out += self.children[name]
        return out

    def axis_of(self, name):
        """(a point on the axis of a body's joint, its direction), q = 0."""
        joint = self.joint_of[name]
        pose = compose(self.poses[joint["bodies"][0]], seven(joint["frames"][0]))
        return pose[:3], convert.q_rotate(pose[3:], (0, 0, 1))

    def foot_of(self, name):
        """Where a link along its own axis begins: the point of the axis that is nearest to the
        axis before it, or to where that one begins, or to the base."""
        place, axis = self.axis_of(name)
        parent, known = self.joint_of[name]["bodies"][0], (0.0, 0.0, 0.0)
        if parent in self.joint_of and self.joint_of[parent]["type"] in ("hinge", "slide"):
            other, along = self.axis_of(parent)
            both = convert.cross(axis, along)
            if dot(both, both) > NEAR * NEAR:           # the feet of the common normal
                t = dot(convert.cross(sub(other, place), along), both) / dot(both, both)
                return add(place, times(axis, t))
            known = self.foot_of(parent)
            if convert.norm(convert.cross(sub(other, place), axis)) < NEAR * self.reach:
                return place                            # one line: the joint's own point
        elif parent != "world":
            known = self.start(parent)
        return add(place, times(axis, dot(axis, sub(known, place))))

    def end_of(self, name):
        """Where a link without successors leads to."""
        found = [(self.tool == frame, math.dist(pose[:3], self.start(name)), pose[:3])
                 for frame, (body, pose) in self.frames.items() if body == name and frame != name]
        if found:
            return max(found)[2]
        own = self.frames.get(name, ("", self.poses[name]))[1][:3]
        place = self.poses[name][:3]
        return max((own, place), key=lambda p: math.dist(p, self.start(name)))

    def start(self, name):
        if name in self.joint_of:
            return self.axis_of(name)[0]
        return self.frames.get(name, ("", self.poses[name]))[1][:3]


def _bone(tree, name, heads):
    """The bone of a body; heads of its children are known."""
    out = RobotBone(name)
    children = sorted(tree.children[name], key=lambda c: -tree.depth[c])
    to = heads[children[0]] if children else tree.end_of(name)
    joint, near = tree.joint_of.get(name), NEAR * tree.reach
    if joint is None or joint["type"] in ("fixed", "ball"):
        start = tree.start(name)
        out.kind = joint["type"] if joint else \
            ("fixed" if tree.motion[name] in ("fixed", "driven") else "free")
        along, axis = sub(to, start), [0.0, 0.0, 1.0]
        out.head, out.stub = start, convert.norm(along) < near
        out.tail = add(start, times(axis, STUB * tree.reach)) if out.stub else to
        out.z = across(sub(out.tail, out.head))
        out.axis = "Y"
    else:
        start, axis = tree.axis_of(name)
        out.kind = joint["type"]
        foot = add(start, times(axis, dot(axis, sub(to, start))))
        if math.dist(foot, to) > near:
            out.head, out.tail, out.z, out.axis = foot, to, axis, "Z"
        else:
            start = tree.foot_of(name)
            length = dot(axis, sub(to, start))
            out.stub = abs(length) < near
            out.head, out.axis, out.sign = start, "Y", -1.0 if length < -near else 1.0
            reach = STUB * tree.reach if out.stub else length
            out.tail, out.z = add(start, times(axis, reach)), across(axis)
    if joint is not None:
        parent = joint["bodies"][0]
        out.parent, out.joint = "" if parent == "world" else parent, joint["name"]
        out.limits = joint.get("limits") if joint["type"] in ("hinge", "slide") else None
    heads[name] = out.head
    if name in tree.masses:
        pose, turn = tree.poses[name], axes_of(out)
        out.mass, inertia, out.estimated = tree.masses[name]
        out.com = list(convert.q_rotate(convert.q_conj(turn), sub(pose[:3], out.head)))
        out.inertia = turned(inertia, convert.q_mul(convert.q_conj(turn), pose[3:]))
    return out


def _rest(document, library):
    """Poses of all bodies where every joint is at zero, those that go with others too: their
    drivers add what the others give."""
    joints = [{k: v for k, v in joint.items() if k != "mimic"}
              for joint in document.get("joints", [])]
    with skelpy.Scene.from_json(json.dumps({**document, "joints": joints}), library) as scene:
        q = [0.0] * scene.q_count
        for k, joint in enumerate(joints):
            if joint["type"] == "ball":
                q[scene.joint_q_offset(k)] = 1.0
        return skelpy.fk(scene, q) if q else skelpy.State(scene).poses


def text_of(data):
    """The text of a file: UTF-8, or as an XML document says of itself; that word is left out, for
    whoever reads the text from here on gets UTF-8."""
    said = re.match(rb"""(?:\xef\xbb\xbf)?\s*(<\?xml[^>]*?)\s+encoding\s*=\s*["']([^"']*)["']""",
                    data)
    if not said:
        return data.decode("utf-8-sig")
    rest = said.group(1) + data[said.end():]
    try:
        return rest.decode(said.group(2).decode("ascii", "replace"))
    except LookupError:                                 # as the library has it
        return rest.decode("utf-8")


def robot_of(text, name="", library=None):
    """A Robot of the text of a document: skel-dh/1, CSV, URDF or skel-scene/1."""
    with skelpy.Scene.from_json(text, library) as scene:
        document = convert.json_of(scene.to_json(), "The document")
        names = scene.joint_names
        mimics = {names[k]: {"joint": names[leader], "multiplier": factor, "offset": offset}
                  for k, (leader, factor, offset) in scene.mimics.items()}
    tree = _Tree(document, _rest(document, library))
    heads, bones = {}, {}
    for body in reversed(tree.order()):
        bones[body] = _bone(tree, body, heads)
    out = [bones[body] for body in tree.order()]
    rows, extra = _rows(text), document.get("robot", {})
    drives = {drive["joint"]: (drive.get("velocity", 0.0), drive.get("effort", 0.0))
              for drive in extra.get("drives", [])}
    for bone in out:
        bone.row, bone.mimic = rows.get(bone.joint, ""), mimics.get(bone.joint)
        bone.drive = drives.get(bone.joint)
    robot = Robot(document.get("name") or name or "robot", out, reach_of(tree),
                  joints=[j["name"] for j in document.get("joints", [])])
    robot.poses = extra.get("poses", {})
    robot.notes, robot.source = extra.get("notes", []), extra.get("source", "")
    taken = set(bones)
    for frame, (body, pose) in tree.frames.items():
        robot.links[frame], robot.bone_of[frame] = pose, body if body in bones else ""
        if frame in bones:
            continue
        label = frame
        while label in taken:
            label += "'"
        taken.add(label)
        y, z = (convert.q_rotate(pose[3:], v) for v in ((0, 1, 0), (0, 0, 1)))
        out.append(RobotBone(label, body if body in bones else "", pose[:3],
                             add(pose[:3], times(y, STUB * tree.reach)), z, frame=True))
    _cut_names(robot)
    if text.lstrip().startswith("<"):
        robot.visuals = visuals_of(text)
    robot.warnings = [line.split(": ", 1)[1] for line in skelpy.check(text, library)
                      if line.startswith("warning: ")]
    return robot


def _cut_names(robot):
    """Bones with names that Blender would cut get shorter ones; the document keeps the long."""
    taken, short = {bone.name for bone in robot.bones}, {}
    for bone in robot.bones:
        label, k = bone.name, 0
        while len(label.encode()) > NAME or (k and label in taken):
            tail = f".{k:03d}" if k else ""
            label = bone.name.encode()[:NAME - len(tail)].decode(errors="ignore") + tail
            k += 1
        taken.add(label)
        short[bone.name] = label
    for bone in robot.bones:
        bone.name, bone.parent = short[bone.name], short.get(bone.parent, "")
    robot.bone_of = {frame: short.get(name, "") for frame, name in robot.bone_of.items()}


def reach_of(tree):
    """The sum of the lengths from joint to joint: how far it may reach."""
    total = 0.0
    for name in tree.joint_of:
        parent = tree.joint_of[name]["bodies"][0]
        if parent in tree.joint_of:
            total += math.dist(tree.start(name), tree.start(parent))
        total += max(map(abs, tree.joint_of[name].get("limits") or [0])) \
            if tree.joint_of[name]["type"] == "slide" else 0.0
    return max(total, tree.reach)


def _rows(text):
    """{joint: row as JSON} of a skel-dh/1."""
    try:
        table = convert.json_of(text, "The table")
    except convert.Refused:
        return {}
    if table.get("format") != "skel-dh/1":
        return {}
    head = {k: table[k] for k in ("convention", "angle_unit", "length_unit") if k in table}
    return {row.get("name", f"joint{k + 1}"): json.dumps({**head, **row})
            for k, row in enumerate(table["joints"])}


def apply_mimics(mimics, q):
    """q (by joint name) with the joints that go with others. mimics: by the follower's name."""
    out = dict(q)
    for name, mimic in mimics.items():
        if name in out and mimic["joint"] in out:
            out[name] = mimic["multiplier"] * out[mimic["joint"]] + mimic["offset"]
    return out


def parse_joints(text, names, angles=(), followers=()):
    """{joint: value} of "0, 0.5 -1": a number for every joint, or for every one that goes with no
    other. angles: names of joints whose numbers are degrees."""
    try:
        values = [float(word) for word in re.split(r"[\s,;]+", text.strip()) if word]
    except ValueError:
        raise convert.Refused(f"'{text}' are not numbers. Write them like 0, 0.5, -1") from None
    if not all(map(math.isfinite, values)):
        raise convert.Refused(f"'{text}' must be finite numbers")
    given = [name for name in names if name not in followers] \
        if followers and len(values) == len(names) - len(followers) else names
    if len(values) != len(given):
        less = f" ({len(names) - len(followers)} without those that go with others)" \
            if followers else ""
        raise convert.Refused(f"The robot has {len(names)} joints{less}, but {len(values)} numbers "
                              "are given")
    q = dict.fromkeys(names, 0.0)
    q.update({name: math.radians(v) if name in angles else v for name, v in zip(given, values)})
    return q


# ---- what an armature says of itself, in properties that anyone may edit ----

KINDS = ("hinge", "slide", "ball", "fixed", "free")
ESTIMATES = ("", "mass", "inertia")


def _check(good, owner, name, must):
    if not good:
        raise convert.Refused(f"{owner}: the property '{name}' must be {must}. Correct it, or "
                              "import the robot again")


def _floats(value, count):
    """So many finite numbers, or None."""
    try:
        out = tuple(float(v) for v in value) if not isinstance(value, str) else ()
    except (TypeError, ValueError):
        return None
    return out if len(out) == count and all(map(math.isfinite, out)) else None


def _mimic_of(owner, text):
    """What a joint goes with, of its JSON."""
    try:
        mimic = convert.json_of(text, owner)
        found = {"joint": mimic["joint"], "multiplier": float(mimic["multiplier"]),
                 "offset": float(mimic["offset"])}
    except (TypeError, ValueError, KeyError, convert.Refused):
        found = {"joint": None}
    good = isinstance(found["joint"], str) and _floats(list(found.values())[1:], 2)
    _check(good, owner, "joint_mimic",
           'JSON like {"joint": "name", "multiplier": 1.0, "offset": 0.0}')
    return found


def robot_shot(name, properties):
    """What a bone of an imported robot says of itself; None of another's."""
    if "joint_type" not in properties:
        return None
    owner, get = f"The bone '{name}'", properties.get
    out = convert.RobotShot(joint=get("joint", ""), kind=get("joint_type"),
                            axis=get("joint_axis", "Z"), frame=bool(get("robot_frame", 0)))
    _check(out.kind in KINDS, owner, "joint_type", "one of " + ", ".join(KINDS))
    _check(isinstance(out.joint, str) and (out.joint or out.kind not in ("hinge", "slide")),
           owner, "joint", "the name of a joint")
    _check(out.axis in ("X", "Y", "Z"), owner, "joint_axis", "X, Y or Z")
    _check(get("joint_sign", 1) in (1, -1), owner, "joint_sign", "1 or -1")
    out.sign = float(get("joint_sign", 1))
    if "joint_limits" in properties:
        out.limits = _floats(get("joint_limits"), 2)
        _check(out.limits and out.limits[0] <= out.limits[1], owner, "joint_limits",
               "two numbers, the lower one first")
    if "joint_mimic" in properties:
        out.mimic = _mimic_of(owner, get("joint_mimic"))
    if "joint_drive" in properties:
        out.drive = _floats(get("joint_drive"), 2)
        _check(out.drive and min(out.drive) >= 0, owner, "joint_drive",
               "two numbers, velocity and effort (0: not known)")
    mass = _floats([get("mass", 0.0)], 1)
    _check(mass and mass[0] >= 0, owner, "mass", "a number, not negative")
    out.mass = mass[0]
    if out.mass > 0:
        out.com, out.inertia = _floats(get("com"), 3), _floats(get("inertia"), 6)
        _check(out.com, owner, "com", "three numbers")
        _check(out.inertia, owner, "inertia", "six numbers: xx yy zz xy xz yz")
        out.estimated = get("mass_estimated", "")
        _check(out.estimated in ESTIMATES, owner, "mass_estimated", "mass, inertia or empty")
    return out


def robot_words(name, text):
    """What an armature keeps of its robot, of its JSON."""
    try:
        data = convert.json_of(text, name)
        joints, poses = data.get("joints", []), data.get("poses", {})
        good = isinstance(joints, list) and all(isinstance(joint, str) for joint in joints) and \
            all(_floats(q, len(q)) is not None for q in poses.values())
    except (TypeError, ValueError, AttributeError, convert.Refused):
        good = False
    _check(good, f"The armature '{name}'", "skel_robot",
           'JSON like {"joints": ["name"], "poses": {"name": [0.0]}}')
    return data


# ---- bones to a document ----

@dataclass
class ChainBone:
    """A bone at rest. Lengths in m, already scaled."""
    name: str
    parent: str = ""
    head: Any = ZERO
    turn: Any = UNIT
    length: float = 1.0
    kind: str = "ball"                      # "hinge", "slide", "fixed"; "free"
    axis: str = "Z"
    sign: float = 1.0
    limits: Any = None
    joint: str = ""
    frame: bool = False
    mass: float = 0.0                       # kg; 0: not known
    com: Any = ZERO                         # from the head, in the bone's axes
    inertia: Any = None                     # as of a RobotBone
    estimated: str = ""                     # as of a RobotBone
    radius: float = 0.0                     # of its capsule, where it has a mass but no inertia
    mimic: Any = None                       # as of a RobotBone
    drive: Any = None                       # as of a RobotBone


def _body(bone):
    """The body of a bone: with its axes, at its head; where it has a mass, at its centre."""
    at = compose([*bone.head, *bone.turn], [*bone.com, *UNIT])
    body = documents.Body(bone.name)
    if bone.mass > 0:
        body.mass, body.inertia = bone.mass, list(bone.inertia) if bone.inertia else None
        body.estimated = bone.estimated or None
    if bone.mass > 0 and not bone.inertia:              # z along the bone
        at = compose([*bone.head, *bone.turn],
                     [0.0, bone.length / 2, 0.0,
                      *convert.q_about(convert.AXES["X"], -math.pi / 2)])
        length, radius = convert.capsule_of(bone.length, bone.radius)
        body.shape = {"type": "capsule", "length": length, "radius": radius}
    body.position, body.orientation = at[:3], at[3:]
    return body, at


def scene_of(name, bones, tip="", tip_tail=True):
    """A documents.Scene of bones at rest, parents first; the tool at the tip's end."""
    scene, poses = documents.Scene(name=name), {}
    frames, tool = [], None
    for bone in bones:
        pose = [*bone.head, *bone.turn]
        if bone.frame:
            host = bone.parent or "world"
            at = compose(_inverse(poses.get(host, [*ZERO, *UNIT])), pose)
            frames.append({"name": bone.name, "body": host, "position": at[:3],
                           "orientation": at[3:]})
            if bone.name == tip:
                tool = bone.name
            continue
        body, poses[bone.name] = _body(bone)
        scene.bodies.append(body)
        if bone.mass > 0:                               # the link is where the bone begins
            at = compose(_inverse(poses[bone.name]), pose)
            frames.append({"name": bone.name, "body": bone.name, "position": at[:3],
                           "orientation": at[3:]})
        if not bone.parent and bone.kind in ("fixed", "free"):
            body.motion = "fixed"
            continue
        axis = convert.q_rotate(bone.turn, times(convert.AXES[bone.axis], bone.sign))
        joint = documents.Joint(bone.joint or bone.name, bone.kind,
                                [bone.parent or "world", bone.name], anchor=list(bone.head))
        if bone.kind in ("hinge", "slide"):
            joint.axis = list(axis)
            joint.limits = list(bone.limits) if bone.limits else None
            joint.mimic = bone.mimic
        scene.joints.append(joint)
    known = {joint.name for joint in scene.joints}
    for joint in scene.joints:              # of a chain, the leader may be left out
        joint.mimic = joint.mimic if joint.mimic and joint.mimic["joint"] in known else None
    if tip and tool is None:
        bone = next(b for b in bones if b.name == tip)
        tool = f"{tip} end"
        end = compose([*bone.head, *bone.turn],
                      [0.0, bone.length if tip_tail else 0.0, 0.0, *UNIT])
        at = compose(_inverse(poses[tip]), end)
        frames.append({"name": tool, "body": tip, "orientation": at[3:], "position": at[:3]})
    drives = [{"joint": bone.joint, "velocity": bone.drive[0], "effort": bone.drive[1]}
              for bone in bones if bone.drive and bone.joint in known]
    scene.robot = {"frames": frames, **({"tool": tool} if tool else {}),
                   **({"drives": drives} if drives else {})}
    return scene


def _inverse(pose):
    back = convert.q_conj(pose[3:])
    return [*times(convert.q_rotate(back, pose[:3]), -1.0), *back]


def tip_of(bones, wanted=""):
    """The last bone of the chain that is meant: the one that is wanted, else the tool, else the
    only end. What no joint leads to (the base, and frames on it) is no end."""
    moved, hosts = {}, {bone.parent for bone in bones if not bone.frame}
    for bone in bones:                                  # parents first
        moved[bone.name] = bone.kind in ("hinge", "slide", "ball") or moved.get(bone.parent, False)
    if wanted:
        if not moved.get(wanted, False):
            raise convert.Refused(f"No joint leads to '{wanted}'. Name a bone behind a joint, or "
                                  "make it active" if wanted in moved else
                                  f"There is no bone '{wanted}'")
        return wanted
    frames = {bone.name: bone.parent for bone in bones if bone.frame and moved[bone.name]}
    ends = [bone.name for bone in bones
            if not bone.frame and moved[bone.name] and bone.name not in hosts]
    if not ends:
        raise convert.Refused("This armature has no joint that moves")
    for name in TOOLS:
        if name in frames:
            return name
    if len(ends) > 1:
        raise convert.Refused("Make the last bone of the chain active: this armature has several "
                              f"ends ({', '.join(ends[:4])}{', ...' if ends[4:] else ''})")
    there = [name for name, parent in frames.items() if parent == ends[0]]
    return there[0] if len(there) == 1 else ends[0]


@dataclass
class Table:
    """A DH table, and what the library says of it."""
    text: str
    warnings: List[str]
    cost: str                               # how far the tool of the table is off


def table_of(name, bones, tip, convention, csv=False, snap=None, library=None):
    """The DH table of the chain that ends at a bone. snap: what the user asks for, which alone
    decides which axes are parallel; None: the library reads axes as parallel where their common
    normal is far away and the tool moves by next to nothing."""
    chain, by_name = [], {bone.name: bone for bone in bones}
    at = by_name[tip]
    while at is not None:
        chain.insert(0, at)
        at = by_name.get(at.parent)
    text = scene_of(name, chain, tip).to_json()
    options = {"snap": SNAP} if snap is None else {"snap": snap, "parallel_tolerance": 0.0}
    with skelpy.Scene.from_json(text, library) as scene:
        table = scene.to_dh(convention, csv=csv, **options)
        said = [line.partition(": ") for line in scene.dh_report(convention, **options)]

    # The library names the option of the command; here it is a property of the operator.
    lines = [(kind, words.replace("--snap", "Snap")) for kind, _colon, words in said]
    return Table(table, [words for kind, words in lines if kind == "warning"],
                 "; ".join(words for kind, words in lines if kind == "receipt"))


def urdf_of(name, bones, library=None):
    with skelpy.Scene.from_json(scene_of(name, bones).to_json(), library) as scene:
        return scene.to_urdf()


# ---- what a URDF shows ----

@dataclass
class Visual:
    link: str
    pose: Any                               # in the link
    kind: str                               # "mesh", "box", "cylinder", "sphere"
    size: Any = (1.0, 1.0, 1.0)             # scale, edges, (radius, length), (radius,)
    filename: str = ""
    color: Any = None


def _numbers(text, default):
    try:
        values = [float(v) for v in (text or "").split()]
    except ValueError:
        return default
    return values if len(values) == len(default) else default


def rpy(angles):
    q = UNIT
    for axis, angle in zip("ZYX", reversed(angles)):
        q = convert.q_mul(q, convert.q_about(convert.AXES[axis], angle))
    return q


def _xml(text):
    """The root of a document, as leniently as the library reads it: comments with "--" in them,
    blanks before the declaration; a prefix that nothing declares (what xacro has left) is part of
    the name."""
    builder, parser = TreeBuilder(), expat.ParserCreate()
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    try:
        parser.Parse(re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).strip(), True)
    except expat.ExpatError as error:
        raise convert.Refused(f"What it shows cannot be read: {error}") from None
    return builder.close()


def visuals_of(text):
    """The visuals of a URDF, which the library has read before."""
    root = _xml(text)
    colors = {}
    for material in root.iter("material"):
        color = material.find("color")
        if color is not None and material.get("name"):
            colors[material.get("name")] = _numbers(color.get("rgba"), [0.7] * 3 + [1.0])
    out = []
    for link in root.findall("link"):
        for visual in link.findall("visual"):
            shape = visual.find("geometry")
            shape = shape[0] if shape is not None and len(shape) else None
            if shape is None or shape.tag not in ("mesh", "box", "cylinder", "sphere"):
                continue
            origin = visual.find("origin")
            place = _numbers(origin.get("xyz") if origin is not None else "", [0.0] * 3)
            turn = _numbers(origin.get("rpy") if origin is not None else "", [0.0] * 3)
            material = visual.find("material")
            color = colors.get(material.get("name")) if material is not None else None
            out.append(Visual(link.get("name"), [*place, *rpy(turn)], shape.tag, _size(shape),
                              shape.get("filename", ""), color))
    return out


def _size(shape):
    if shape.tag == "mesh":                             # the library warns of a fourth number
        return _numbers(" ".join((shape.get("scale") or "").split()[:3]), [1.0] * 3)
    if shape.tag == "box":
        return _numbers(shape.get("size"), [1.0] * 3)
    return [*_numbers(shape.get("radius"), [0.1]), *_numbers(shape.get("length"), [0.1])]


def _is_package(folder):
    return any(os.path.isfile(os.path.join(folder, name)) for name in MANIFESTS)


def package_of(folder):
    """The folder that a URDF in `folder` may take meshes from: the ROS package around it, else the
    one that holds its urdf/ (with meshes/ beside that), else its own."""
    own = at = os.path.realpath(folder)
    around = None
    for _ in range(PACKAGE_LEVELS):
        if _is_package(at):
            return at
        above, name = os.path.split(at)
        if around is None and name.lower() in URDF_FOLDERS:
            around = above
        if above == at:
            break
        at = above
    return around or own


def _mesh_places(filename, folder):
    """(folder that the file must be in, path) pairs, in the order in which they are looked at."""
    root = package_of(folder)
    match = re.match(r"(?:package|model)://([^/]+)/(.*)", filename, re.DOTALL)
    if not match:
        name = filename[len("file://"):] if filename.startswith("file://") else filename
        return [(root, os.path.join(folder, name))]
    package, rest = match.groups()
    if package in (".", ".."):
        return [(root, os.path.join(root, package, rest))]

    # its own package, by whatever name the folder has here; then packages beside it, above it
    found, at = [(root, os.path.join(root, rest.lstrip("/")))], root
    for _ in range(PACKAGE_LEVELS):
        at = os.path.dirname(at)
        other = os.path.join(at, package)
        if _is_package(other):
            found.append((os.path.realpath(other), os.path.join(other, rest.lstrip("/"))))
    return found


def _is_inside(root, path):
    try:
        return os.path.commonpath([root, path]) == root
    except ValueError:                                  # on two drives
        return False


def find_mesh(filename, folder):
    """The file that a URDF in `folder` names, or None. package://NAME/PATH is looked for in its own
    package and in ROS packages of that name beside or above it. What leads out of the package, or
    is too large, is refused."""
    outside = None
    for root, path in _mesh_places(filename, folder):
        real = os.path.realpath(path)
        if not _is_inside(root, real):
            outside = outside or root
        elif os.path.isfile(real):
            size = os.path.getsize(real)
            if size > MESH_BYTES_MAX:
                raise convert.Refused(f"mesh '{filename}' has {size / 2 ** 20:.0f} MiB; at most "
                                      f"{MESH_BYTES_MAX // 2 ** 20} MiB are read. Reduce it")
            return real
    if outside is not None:
        raise convert.Refused(f"mesh '{filename}' leads out of the robot's package, '{outside}'. "
                              "Copy it there")
    return None


def read_mesh(path):
    """(points, faces) of an STL or OBJ file; None where it is another kind, or damaged."""
    kind = os.path.splitext(path)[1].lower()
    if kind not in (".stl", ".obj"):
        return None
    try:
        with open(path, "rb") as file:
            data = file.read()
        points, faces = _read_stl(data) if kind == ".stl" else \
            _read_obj(data.decode("utf-8", "replace"))
    except (OSError, ValueError):
        return None
    if any(len(point) != 3 for point in points):
        return None
    faces = [face for face in faces if len(set(face)) == len(face) > 2 and
             all(0 <= n < len(points) for n in face)]
    return (points, faces) if faces else None


def _read_stl(data):
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        corners = [row[k:k + 3] for row in struct.iter_unpack("<12fH", data[84:])
                   for k in (3, 6, 9)]
    else:
        words = data.decode("ascii", "replace").split()
        corners = [tuple(map(float, words[k + 1:k + 4])) for k, word in enumerate(words)
                   if word == "vertex"]
    index, faces = {}, []
    for k in range(0, len(corners) - 2, 3):
        face = [index.setdefault(corner, len(index)) for corner in corners[k:k + 3]]
        faces.append(face)
    return list(index), faces


def _read_obj(text):
    points, faces = [], []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append(tuple(map(float, words[1:4])))
        elif words[:1] == ["f"]:
            numbers = [int(word.split("/")[0]) for word in words[1:]]
            faces.append([n - 1 if n > 0 else len(points) + n for n in numbers])
    return points, faces


# ---- simple shapes, points and faces ----

def cylinder(radius, length, around=20):
    """Along z, about the origin."""
    points = [(radius * math.cos(2 * math.pi * n / around),
               radius * math.sin(2 * math.pi * n / around), z)
              for z in (-length / 2, length / 2) for n in range(around)]
    sides = [(n, (n + 1) % around, around + (n + 1) % around, around + n) for n in range(around)]
    return points, [*sides, tuple(reversed(range(around))), tuple(range(around, 2 * around))]


def box(size):
    x, y, z = (v / 2 for v in size)
    points = [(a, b, c) for a in (-x, x) for b in (-y, y) for c in (-z, z)]
    return points, [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4),
                    (1, 5, 7, 3)]


def sphere(radius, around=20, rings=12):
    points = [(0.0, 0.0, -radius)]
    for k in range(1, rings):
        a = math.pi * k / rings - math.pi / 2
        points += [(radius * math.cos(a) * math.cos(2 * math.pi * n / around),
                    radius * math.cos(a) * math.sin(2 * math.pi * n / around),
                    radius * math.sin(a)) for n in range(around)]
    points.append((0.0, 0.0, radius))
    faces = []
    for n in range(around):
        m = (n + 1) % around
        faces.append((0, 1 + m, 1 + n))
        faces.append((len(points) - 1, len(points) - 1 - around + n, len(points) - 1 - around + m))
        for k in range(rings - 2):
            a, b = 1 + k * around, 1 + (k + 1) * around
            faces.append((a + n, a + m, b + m, b + n))
    return points, faces


def shape_of(visual):
    """Points and faces of a visual that needs no file."""
    if visual.kind == "box":
        return box(visual.size)
    return cylinder(*visual.size) if visual.kind == "cylinder" else sphere(visual.size[0])


# ---- the bundle, and joints of bones that are no robot's ----

def bundled():
    """{name: path} of the robots that come with the add-on, or lie in the sources beside it."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = os.path.join(here, "robots")
    if not os.path.isdir(folder):
        folder = os.path.join(os.path.dirname(here), "samples", "robots")
    if not os.path.isdir(folder):
        return {}
    return {name[:-5]: os.path.join(folder, name) for name in sorted(os.listdir(folder))
            if name.endswith(".json")}


def by_locks(each, ranges, locked):
    """The joint of a bone that is no robot's, by its limits and locks."""
    free = [axis for axis in "XYZ" if axis not in locked and
            not (axis in ranges and ranges[axis][1] - ranges[axis][0] < 1e-4)]
    if not free:
        each.kind = "fixed"
    elif len(free) == 1:
        each.kind, each.axis, each.limits = "hinge", free[0], ranges.get(free[0])
    elif len(free) == 2:
        raise convert.Refused(f"'{each.name}' turns about two axes. Lock one of them (Bone "
                              "properties > Inverse Kinematics), or none")
