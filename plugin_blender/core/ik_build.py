# SPDX-License-Identifier: GPL-3.0-or-later
"""Goals for bones: a Shot with goals (plain data) to a skel-scene/1 with `goals`, and to keys.

No bpy. The body of a bone has the bone's axes, its origin in the bone's middle. A joint without
limits is a ball. One with limits, locks or stiffness of its axes is a row of hinges about those
axes that are free, in the order of the bone's Euler angles, so every limit is the angle that the
user typed in. What the animation moves and goals may not (locked axes, locations) is a joint that
is held: it goes as animated. The animation of every joint is the base that goals change."""

import json
import math
from array import array
from dataclasses import dataclass, field
from typing import Any, Dict, List

from . import convert, pipeline
from .binding import rig as rigs
from .binding import scene as documents
from .binding import skelpy

STILL = 1e-7                # m and parts of a turn: what does not move
ANIMATED = 1e-5             # rad: an angle that moves; less is rounding of Blender's matrices
NARROW = math.radians(0.01)  # a range that is none
SLICE = 8.0                 # ms of solving between two yields
FRAMES = 200                # of one bone, between two yields
JUMPS_NAMED = 3             # of a motion, one by one
MOVED = 1e-3                # rad and m: a first frame that was moved by less is as it was
MASSLESS = 1e-9             # of the skeleton's mass: bodies between the hinges of one joint
IDENTITY = (1.0, 0.0, 0.0, 0.0)
TURN = {"X": convert.q_about((0, 1, 0), math.pi / 2),     # z to the axis
        "Y": convert.q_about((1, 0, 0), -math.pi / 2), "Z": IDENTITY}
FREE = {"SHIFTS": "shifts", "MOVES": "moves"}   # roots that move, in words of the document


@dataclass
class JointShot:
    """What a bone says of its joint beyond a BoneShot. Of a robot: kind, axis, sign, limits."""
    order: str = "XYZ"                          # the axis that turns first stands first
    stiffness: Any = (0.0, 0.0, 0.0)            # 0 to 1
    kind: str = ""                              # "hinge", "slide", "fixed", "ball"; "": by locks
    axis: str = "Z"
    sign: float = 1.0
    limits: Any = None                          # (low, high): rad, or Blender units
    mimic: Any = None                           # {"joint", "multiplier", "offset"}: rad and m
    name: str = ""                              # of the robot's joint


@dataclass
class GoalShot:
    name: str
    kind: str = "REACH"                         # LOOK, CENTRE
    bone: str = ""
    end: str = "TAIL"                           # HEAD
    position: bool = True
    orientation: bool = False
    offset: Any = (1.0, 0.0, 0.0, 0.0)          # the target's axes, seen from the bone's
    chain: int = 0                              # bones that move, from the tip up; 0: all
    weight: Any = field(default_factory=lambda: [1.0])  # one, or one per frame
    priority: int = 0
    axis: str = "Y"                             # of LOOK: "-Y" the other way
    level: bool = False                         # of CENTRE: at any height
    target: Any = None                          # [frame][16] floats, world, Blender units
    pole: Any = None                            # likewise, or None
    number: int = 0                             # in the list of goals
    at: Any = None                              # (object, bone) of the target, by name
    pole_at: Any = None                         # likewise
    rides: str = ""                             # the bone of this armature that the target is on
    pole_rides: str = ""                        # likewise


@dataclass
class IkShot:
    shot: convert.Shot                          # with one sample where it stands still
    joints: List[JointShot]
    goals: List[GoalShot]
    root: str = "AUTO"                          # HELD, TURNS, SHIFTS, MOVES
    smooth: bool = True                         # from frame to frame; else each by itself
    hold_start: bool = False                    # smooth: the first frame keeps its pose
    posture: bool = True                        # stay near the animation
    tolerance: float = 1e-5                     # m and rad
    motions: Dict[int, Any] = field(default_factory=dict)   # of bones, by read_motions


@dataclass
class Motion:
    """How a bone goes in its parent's axes, a frame each."""
    turns: List[Any] = field(default_factory=list)      # from rest
    heads: List[Any] = field(default_factory=list)      # x, y, z along its rest's axes, m; or none
    angles: List[Any] = field(default_factory=list)     # about the axes of its hinges; or none


@dataclass
class Build(convert.Build):
    limits: List[Any] = field(default_factory=list)     # (bone, axis, joint, low, high)
    base: Dict[str, Any] = field(default_factory=dict)  # animated joints: q, a frame each
    bone_of: Dict[str, str] = field(default_factory=dict)   # joint: the bone that it moves


@dataclass
class _Part:
    """A joint of the row that a bone turns and moves by."""
    name: str
    kind: str                                   # "hinge", "slide", "ball"
    values: List[Any]                           # q, a frame each
    axis: str = ""
    spin: Any = IDENTITY                        # z to the axis
    before: Any = IDENTITY                      # a turn that stays, between the last one and this
    limits: Any = None
    stiffness: float = 0.0                      # 1: held, goes as animated


@dataclass
class Aimed:
    """Where a goal looked for what does not go along with the bones."""
    goal: str
    at: Any                                     # (object, bone)
    places: Any                                 # [frame][16]
    least: float                                # Blender units: what counts as elsewhere


# ---- which bones move ----

def name_bodies(shot, goals):
    """A bone that has the name of the world has another in the engine, and in goals."""
    convert.name_bodies(shot.bones)
    names = {bone.own: bone.name for bone in shot.bones}
    for goal in goals:
        for what in ("bone", "rides", "pole_rides"):
            setattr(goal, what, names.get(getattr(goal, what), getattr(goal, what)))


def _index(shot, name):
    found = next((i for i, bone in enumerate(shot.bones) if bone.name == name), -1)
    if found < 0:
        raise convert.Refused(f"There is no bone '{name}'" if name else "A goal has no bone")
    return found


def chain_of(ik, goal):
    """Bones that a goal moves, tip first."""
    shot, tip = ik.shot, _index(ik.shot, goal.bone)
    if goal.kind == "REACH" and goal.end == "HEAD" and not goal.orientation and \
            (shot.bones[tip].parent >= 0 or ik.root not in FREE):
        tip = shot.bones[tip].parent            # a bone does not move its own head
        if tip < 0:
            raise convert.Refused(f"'{goal.bone}' has no parent that could move its head; let its "
                                  "tail reach the target, or let the root bone move")
    chain = [tip, *convert._ancestors(shot.bones, tip)]
    return chain[:goal.chain] if goal.chain > 0 else chain


def leaders(ik):
    """{bone: the bone whose joint its joint goes with}."""
    at = {info.name: i for i, info in enumerate(ik.joints) if info.name}
    return {i: at[info.mimic["joint"]] for i, info in enumerate(ik.joints)
            if info.mimic and info.mimic["joint"] in at}


def moving(ik):
    """(set of bones that IK turns, roots: {bone: HELD, TURNS, SHIFTS or MOVES})."""
    shot, chains = ik.shot, []
    for goal in ik.goals:
        if goal.kind != "CENTRE":
            chains.append(chain_of(ik, goal))
        elif goal.bone:
            chains.append(chain_of(ik, goal))
    if not chains:
        raise convert.Refused("No goal moves a bone. Add one for the bone that is to reach")
    turns = {i for chain in chains for i in chain}
    for i, leader in leaders(ik).items():       # what goes together moves together
        if i in turns or leader in turns:
            turns |= {i, leader}
    roots = {}
    for i in sorted(turns):
        if shot.bones[i].parent >= 0 or ik.joints[i].kind:
            continue
        branches = {chain[-2] for chain in chains if len(chain) > 1 and chain[-1] == i}
        alone = len(branches) <= 1 and sum(1 for bone in shot.bones if bone.parent == i) <= 1
        root = ik.root
        if root == "AUTO":
            root = "TURNS" if alone else "HELD"
        roots[i] = root
        if root == "HELD":
            turns.discard(i)
    if not turns:
        raise convert.Refused("The root bone is held, and no other bone may move. "
                              "Let the root turn or move, or take a longer chain")
    return turns, roots


def keyed(ik):
    """Names of the bones that may get keys."""
    return [ik.shot.bones[i].own for i in moving(ik)[0]]


def _descends(shot, among):
    """Bones that are in the set, or hang from one that is."""
    out = set()
    for i, bone in enumerate(shot.bones):
        if i in among or bone.parent in out:
            out.add(i)
    return out


# ---- joints ----

def angles_of(q, outer):
    """Two sets of angles about three axes, outermost first ("ZYX"), that turn as q does."""
    m = [convert.q_rotate(q, axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]  # columns
    a, b, c = ("XYZ".index(axis) for axis in outer)
    e = 1.0 if (a, b, c) in ((0, 1, 2), (1, 2, 0), (2, 0, 1)) else -1.0
    middle = math.asin(max(-1.0, min(1.0, e * m[c][a])))
    if abs(m[c][a]) < 1 - 1e-9:
        first = math.atan2(-e * m[c][b], m[c][c])
        last = math.atan2(-e * m[b][a], m[a][a])
    else:                                       # gimbal: all of it in the first
        first, last = math.atan2(e * m[b][c], m[b][b]), 0.0
    other = [math.remainder(v, 2 * math.pi) for v in (first + math.pi, math.pi - middle,
                                                      last + math.pi)]
    return [first, middle, last], other


def _beyond(angles, outer, bone):
    """How far angles are outside the limits."""
    off = 0.0
    for axis, angle in zip(outer, angles):
        low, high = bone.limits.get(axis, (-math.pi, math.pi))
        if axis in bone.locked:
            low = high = 0.0
        off += max(low - angle, 0.0, angle - high)
    return off


def _near(angle, last):
    """The same angle, turns further on, that is nearest to another."""
    return last + math.remainder(angle - last, 2 * math.pi)


def angles_after(turn, outer, bone, last):
    """Angles that turn as said: within the limits, or, where the last ones are known, near them."""
    if last is None:
        return min(angles_of(turn, outer), key=lambda a: _beyond(a, outer, bone))
    sets = [[_near(a, b) for a, b in zip(angles, last)] for angles in angles_of(turn, outer)]
    return min(sets, key=lambda a: sum(abs(x - y) for x, y in zip(a, last)))


def is_ball(ik, i):
    """Whether a bone turns all ways, and all alike."""
    bone, info = ik.shot.bones[i], ik.joints[i]
    return not (info.kind or bone.limits or bone.locked or len(set(info.stiffness)) > 1)


def read_motions(ik, library=None):
    """Generator: the animation of all bones that have joints, bone by bone."""
    shot, (turns, _roots) = ik.shot, moving(ik)
    grown = sum(convert.scales(shot.objects[:16])) / 3 * shot.unit
    rig = rigs.Rig([rigs.Bone(bone.rest, bone.parent, flags=bone.flags) for bone in shot.bones],
                   library=library)
    joints, width = rig.joints(shot.poses), 7 * len(shot.bones)
    yield 0.02, "reading"
    for i in _bodies(ik, turns, _descends(shot, turns)):
        bone, made = shot.bones[i], Motion()
        outer, slides = ik.joints[i].order[::-1], not bone.connected and bone.parent >= 0
        columns = [joints[7 * i + k::width] for k in range(7)]
        made.turns = list(zip(*columns[3:]))
        if slides:
            made.heads = [[grown * x for x in column] for column in columns[:3]]
        if not is_ball(ik, i) and not ik.joints[i].kind and free_axes(bone):
            last = None
            for n, turn in enumerate(made.turns):
                last = angles_after(turn, outer, bone, last)
                made.angles.append(last)
                if n % FRAMES == FRAMES - 1:
                    yield 0.03, "reading"
        ik.motions[i] = made
        yield 0.03, "reading"


def _varies(values, least):
    return max(values) - min(values) > least


def free_axes(bone):
    return [axis for axis in "XYZ" if axis not in bone.locked and
            not (axis in bone.limits and bone.limits[axis][1] - bone.limits[axis][0] < NARROW)]


class _Maker:
    """Bodies and joints of one scene."""

    def __init__(self, ik, built, poses):
        self.ik, self.shot, self.built, self.poses = ik, ik.shot, built, poses
        self.scene, self.stiffness, self.joints = built.scene, {}, {}
        self.taken = {bone.name for bone in ik.shot.bones}
        self.grown = sum(convert.scales(ik.shot.objects[:16])) / 3 * ik.shot.unit

    def pose(self, i):
        """Of a bone's body, at the first frame."""
        k = 7 * self.built.body_of[self.shot.bones[i].name]
        return list(self.poses[k:k + 7])

    def head(self, i):
        pose = self.pose(i)
        return [p + d for p, d in zip(pose[:3], convert.q_rotate(
            pose[3:], (0, -convert.half(self.shot, i), 0)))]

    def at(self, pose, place, turn):
        """A frame of the world, seen from a body."""
        back = convert.q_conj(pose[3:])
        return {"position": list(convert.q_rotate(back, [a - b for a, b in zip(place, pose[:3])])),
                "orientation": list(convert.q_mul(back, turn))}

    def joint(self, i, host, host_pose):
        """The joint of bone i, which goals may move, to a body that stands as said."""
        bone, info, motion = self.shot.bones[i], self.ik.joints[i], self.ik.motions[i]
        if info.kind in ("hinge", "slide"):
            self.robot_joint(i, host, host_pose, motion.turns)
            return
        if is_ball(self.ik, i):
            parts = [_Part(bone.name, "ball", motion.turns, stiffness=info.stiffness[0])]
            end = IDENTITY
        elif motion.angles:
            parts, end = self.hinges(i)
        else:
            parts, end = self.held(i)
        self.row(i, host, host_pose, [*self.slides(i), *parts], end)

    def along(self, i, host, host_pose):
        """Bone i goes along with a body, and as it is animated."""
        parts, end = self.held(i)
        self.row(i, host, host_pose, [*self.slides(i), *parts], end)

    def held(self, i):
        """(parts, turn after them) of a bone that no goal turns."""
        turns = self.ik.motions[i].turns
        if all(abs(sum(a * b for a, b in zip(turn, turns[0]))) > 1 - ANIMATED ** 2 / 8
               for turn in turns):
            return [], turns[0]
        return [_Part(self.shot.bones[i].name, "ball", turns, stiffness=1.0)], IDENTITY

    def hinges(self, i):
        """Hinges about the free axes, and held ones about those that are locked but animated;
        what is locked and still stays as it is."""
        bone, info, outer = self.shot.bones[i], self.ik.joints[i], self.ik.joints[i].order[::-1]
        rows, still, parts, free = self.ik.motions[i].angles, IDENTITY, [], free_axes(bone)
        for k, axis in enumerate(outer):
            values = [row[k] for row in rows]
            if axis not in free and not _varies(values, ANIMATED):
                still = convert.q_mul(still, convert.q_about(convert.AXES[axis], values[0]))
                continue
            part = _Part(self.unused(f"{bone.name}.{axis}"), "hinge", values, axis, TURN[axis],
                         still)
            part.stiffness = 1.0 if axis not in free else info.stiffness["XYZ".index(axis)]
            limits = bone.limits.get(axis) if axis in free else None
            part.limits = limits if limits and limits[1] - limits[0] < 2 * math.pi else None
            parts.append(part)
            still = IDENTITY
        return parts, still

    def slides(self, i):
        """Held slides for a bone whose head moves in its parent's axes."""
        bone, out = self.shot.bones[i], []
        least = 1e-5 * self.grown * bone.length
        for axis, column in zip("XYZ", self.ik.motions[i].heads):
            values = [x - column[0] for x in column]
            if _varies(values, least):
                out.append(_Part(self.unused(f"{bone.name}.move{axis}"), "slide", values, axis,
                                 TURN[axis], stiffness=1.0))
        return out

    def row(self, i, host, host_pose, parts, end):
        """Joints one after the other, with bodies without size between them; a fixed one where
        there is none. end: a turn that stays, after them."""
        bone, pose = self.shot.bones[i], self.pose(i)
        child = {"position": [0.0, -convert.half(self.shot, i), 0.0]}
        socket = convert.q_mul(pose[3:], convert.q_conj(self.ik.motions[i].turns[0]))
        frame = self.at(host_pose, self.head(i), socket)
        if not parts:
            frame["orientation"] = list(convert.q_mul(frame["orientation"], end))
            self.scene.joints.append(documents.Joint(bone.name, "fixed", [host, bone.name],
                                                     frames=[frame, child]))
        for part in parts:
            is_last = part is parts[-1]
            to = bone.name if is_last else self.between(part.name)
            up = convert.q_mul(frame["orientation"], part.before)
            inner = {"orientation": list(part.spin)}
            if is_last:
                inner = {**child, "orientation": list(convert.q_mul(convert.q_conj(end),
                                                                    part.spin))}
            first = part.values[0]
            self.add(part, bone.name, documents.Joint(
                part.name, part.kind, [host, to],
                q=list(first) if part.kind == "ball" else first,
                frames=[{**frame, "orientation": list(convert.q_mul(up, part.spin))}, inner]))
            host, frame = to, {"orientation": [1.0, 0.0, 0.0, 0.0]}

    def add(self, part, bone, joint):
        if part.limits:
            joint.limits = list(part.limits)
            self.built.limits.append((bone, part.axis, joint.name, *joint.limits))
        if part.stiffness > 0:
            self.stiffness[joint.name] = min(part.stiffness, 1.0)
        if part.stiffness < 1:
            self.joints.setdefault(bone, []).append(joint.name)
        self.built.base[joint.name] = part.values
        self.built.bone_of[joint.name] = bone
        self.scene.joints.append(joint)

    def unused(self, name):
        """A name that no bone and no body has."""
        while name in self.taken or name in self.built.body_of:
            name += "'"
        return name

    def between(self, name):
        """A body without size."""
        known, name = self.built.body_of, self.unused(f"{name} (between)")
        known[name] = len(known)
        self.scene.bodies.append(documents.Body(name))
        return name

    def robot_joint(self, i, host, host_pose, turns):
        bone, info = self.shot.bones[i], self.ik.joints[i]
        unit, spin = convert.AXES[info.axis], TURN[info.axis]
        if info.sign < 0:
            spin = convert.q_mul(spin, (0.0, 1.0, 0.0, 0.0))
        socket = convert.q_mul(self.pose(i)[3:], convert.q_conj(turns[0]))
        head, limits = self.head(i), info.limits
        if info.kind == "hinge":
            values = [info.sign * convert.twist_about(turn, unit) for turn in turns]
            if bone.rotation not in convert.PROPERTIES:                 # whole turns and all
                values[0] = _near(values[0], info.sign * bone.near["XYZ".index(info.axis)])
            if limits and not limits[0] <= values[0] <= limits[1]:      # a turn further on
                values[0] = _near(values[0], (limits[0] + limits[1]) / 2)
            for n in range(1, len(values)):
                values[n] = _near(values[n], values[n - 1])
        else:
            at, width = 16 * i + 12 + "XYZ".index(info.axis), 16 * len(self.shot.bones)
            values = [info.sign * self.grown * v for v in self.shot.basis[at::width]]
            head = [p - d for p, d in zip(head, convert.q_rotate(
                socket, [x * info.sign * values[0] for x in unit]))]
            limits = [v * self.grown for v in limits] if limits else None
        frames = [self.at(host_pose, head, convert.q_mul(socket, spin)),
                  {"position": [0.0, -convert.half(self.shot, i), 0.0],
                   "orientation": list(spin)}]
        part = _Part(bone.name, info.kind, values, info.axis, limits=limits,
                     stiffness=info.stiffness["XYZ".index(info.axis)])
        self.add(part, bone.name, documents.Joint(bone.name, info.kind, [host, bone.name],
                                                  q=values[0], frames=frames))

    def mimics(self, turns):
        """Robots' joints that go with others."""
        size = self.grown / self.shot.unit
        joints = {joint.name: joint for joint in self.scene.joints}
        for i, leader in leaders(self.ik).items():
            if i not in turns or leader not in turns:
                continue
            info, of = self.ik.joints[i], self.ik.joints[leader]
            joints[self.shot.bones[i].name].mimic = {
                **convert.grown_mimic(info.mimic, info.kind, of.kind, size),
                "joint": self.shot.bones[leader].name}


# ---- the whole ----

def _stands(rows):
    return all(max(row[k] for row in rows) - min(row[k] for row in rows) < STILL for k in range(7))


def _anchor(ik, maker, i, library):
    """A body for the armature itself: where the head of a root bone is (of a slide: where it would
    be without it), turned as at rest."""
    shot, count = ik.shot, len(ik.shot.bones)
    name, known = maker.unused(f"{shot.name} (armature)"), maker.built.body_of
    known[name] = len(known)
    matrices = array("f", shot.bones[i].rest) * (len(shot.poses) // (16 * count))
    for k in (12, 13, 14) if ik.joints[i].kind != "slide" else ():
        matrices[k::16] = shot.poses[16 * i + k::16 * count]
    one = rigs.Rig([rigs.Bone(rest=shot.bones[i].rest, body=0)], shot.unit, library)
    rows = convert.rows_of(one.poses(matrices, 1, shot.objects), 7, 0)
    body = documents.Body(name)
    convert.place(body, rows, shot.rate, _stands(rows))
    maker.scene.bodies.append(body)
    return name, rows[0]


def _make_rig(ik, turns, roots, bodies):
    """Bones for the library; bodies are those of bones first."""
    shot, free = ik.shot, _descends(ik.shot, turns)
    body_of = {shot.bones[i].name: k for k, i in enumerate(bodies)}
    out = []
    for i, bone in enumerate(shot.bones):
        info, channels = ik.joints[i], 0
        if i in turns:
            channels = rigs.ROTATION
            if info.kind == "slide":
                channels = rigs.LOCATION
            elif info.kind == "fixed" or not info.kind and not free_axes(bone):
                channels = 0
            if roots.get(i) in FREE:
                channels = rigs.LOCATION | rigs.ROTATION
        out.append(rigs.Bone(
            rest=bone.rest, parent=bone.parent, rotation=bone.rotation,
            flags=bone.flags if i in free else bone.flags | rigs.POSED,
            body=body_of.get(bone.name, -1),
            offset=(0.0, -convert.half(shot, i), 0.0, 1.0, 0.0, 0.0, 0.0),
            channels=channels, scale=sum(bone.scale) / 3, near=bone.near))
    return out, body_of


def _bodies(ik, turns, along):
    """Bones that have bodies: what turns, what that hangs from, and, for a goal of the centre of
    mass, all that goes along."""
    shot, out = ik.shot, set(turns)
    for i in turns:
        up = shot.bones[i].parent
        while up >= 0 and up not in out:
            out.add(up)
            up = shot.bones[up].parent if up in along else -1
    if any(goal.kind == "CENTRE" for goal in ik.goals):
        out |= {i for i in _descends(shot, out) if shot.bones[i].deform or i in out}
        for i in sorted(out):
            if i in along and shot.bones[i].parent >= 0:
                out.add(shot.bones[i].parent)
    return sorted(out)


def _check_sizes(ik, bones):
    """Refuses bones that are squeezed or grow, whatever does that to them: they have no bodies."""
    shot = ik.shot
    samples = len(shot.poses) // (16 * len(shot.bones))
    frames = range(samples)
    if not any(bone.scales for bone in shot.bones):
        frames = sorted({0, samples // 2, samples - 1})
    for i in bones:
        first = sum(convert.scale_at(shot, i)) / 3
        for n in frames:
            three = convert.scale_at(shot, i, n)
            is_even = convert.is_even(three)
            if is_even and abs(sum(three) / 3 - first) <= convert.EVEN * first:
                continue
            words = f"Something scales the bone '{shot.bones[i].name}' at frame " \
                f"{shot.frames[n]} by {convert.said(three)}"
            if not is_even:
                raise convert.Refused(f"{words}, not alike along all axes. Clear its scale (Alt+S) "
                                      "and that of the bones above it, or mute the constraint that "
                                      "stretches it")
            raise convert.Refused(f"{words}, and by {first:.4g} at frame {shot.frames[0]}. Bones "
                                  "that goals move do not grow: choose frames in which their size "
                                  "stays the same")


def build(ik, library=None):
    """The scene with its goals as it stands at the first frame, and the rig."""
    shot = ik.shot
    if not ik.goals:
        raise convert.Refused("There is no goal to reach. Add one: select the bone that is to "
                              "reach something, and press Add Goal")
    convert.check_scale(shot.name, shot.objects, shot.frames)
    if not ik.motions:
        pipeline.run(read_motions(ik, library))
    turns, roots = moving(ik)
    along = _descends(shot, turns)
    bodies = _bodies(ik, turns, along)
    _check_sizes(ik, bodies)
    bones, body_of = _make_rig(ik, turns, roots, bodies)
    rig = rigs.Rig(bones, shot.unit, library)
    poses = rig.poses(shot.poses, len(body_of), shot.objects)
    width, scene = 7 * len(body_of), documents.Scene(name=shot.name, gravity=list(shot.gravity))
    parts = [i for i, bone in enumerate(bones) if bone.channels]
    roles = ["DYNAMIC" if i in turns else "NONE" for i in range(len(bones))]
    built = Build(scene, rig, roles, body_of, parts)
    maker = _Maker(ik, built, poses)
    for i in bodies:
        scene.bodies.append(documents.Body(shot.bones[i].name))
    for k, i in enumerate(bodies):
        up = shot.bones[i].parent
        if i in turns and roots.get(i) in FREE:
            scene.bodies[k].position = list(poses[7 * k:7 * k + 3])
            scene.bodies[k].orientation = list(poses[7 * k + 3:7 * k + 7])
        elif i in turns and up >= 0:
            maker.joint(i, shot.bones[up].name, maker.pose(up))
        elif i in turns:
            maker.joint(i, *_anchor(ik, maker, i, library))
        elif i in along and up in bodies:
            maker.along(i, shot.bones[up].name, maker.pose(up))
        else:
            rows = convert.rows_of(poses, width, 7 * k)
            convert.place(scene.bodies[k], rows, shot.rate, _stands(rows))
    _masses(ik, scene, bodies)
    maker.mimics(turns)
    _finish(ik, maker, turns, roots, width, library)
    return built


def _masses(ik, scene, bodies):
    """Only where a goal asks for the centre of mass."""
    if not any(goal.kind == "CENTRE" for goal in ik.goals):
        return
    roles = ["DYNAMIC" if i in bodies else "NONE" for i in range(len(ik.shot.bones))]
    sizes = convert._sizes(ik.shot, roles)
    whole = sum(size[2] for size in sizes.values())
    mass = {ik.shot.bones[i].name: sizes[i] for i in bodies}
    for body in scene.bodies:
        if body.name in mass:
            length, radius, body.mass = mass[body.name]
            body.shape = {"type": "capsule", "length": length, "radius": radius}
        elif body.motion is None:
            body.mass, body.inertia = MASSLESS * whole, [MASSLESS * whole * 1e-4] * 3


def _only(ik, maker, goal, roots):
    """The joints that may move for a goal with a chain of its own; None: all above it."""
    if goal.chain <= 0 or not goal.bone:
        return None
    chain = chain_of(ik, goal)
    out = [name for i in chain for name in maker.joints.get(ik.shot.bones[i].name, ())]
    if any(roots.get(i) in FREE for i in chain):
        out.append("world")
    if not out:
        raise convert.Refused(f"The goal '{goal.name}' has no bone that may turn among the "
                              f"{goal.chain} of its chain. Take a longer chain")
    return out


def _seat(shot, turns, bone):
    """The moving bone that what is on a bone goes with; -1: it does not move with goals."""
    i = next((i for i, each in enumerate(shot.bones) if each.name == bone), -1)
    while i >= 0 and i not in turns:
        i = shot.bones[i].parent
    return i


class _Seen:
    """Where targets are: in the world, or, on a bone that goals move, as seen from its body."""

    def __init__(self, ik, maker, turns, width, library):
        self.ik, self.maker, self.turns, self.width = ik, maker, turns, width
        self.one = rigs.Rig([rigs.Bone(rest=rigs.STILL, body=0)], ik.shot.unit, library)

    def look(self, matrices, rides, goal, turned=False):
        """(places, turns, body or None) of 16 floats a frame. turned: the turns count, else the
        target may be mirrored, or have no size."""
        if turned:
            for k in range(0, len(matrices), 16):
                if not convert.spanned(matrices[k:k + 16]) > 0:
                    raise convert.Refused(f"The target of the goal '{goal.name}' is mirrored or "
                                          "has no size, so it tells no rotation. Apply its scale")
        else:
            matrices = array("f", matrices)
            for k, value in enumerate(rigs.STILL[:12]):
                matrices[k::16] = array("f", [value]) * (len(matrices) // 16)
        rows, name = convert.rows_of(self.one.poses(matrices, 1, rigs.STILL), 7, 0), None
        seat = _seat(self.ik.shot, self.turns, rides)
        if seat >= 0:
            name = self.ik.shot.bones[seat].name
            own = convert.rows_of(self.maker.poses, self.width, 7 * self.maker.built.body_of[name])
            own *= len(rows) // len(own)
            rows = [_seen_from(pose, row) for pose, row in zip(own, rows)]
        if len(rows) == 1:
            return rows[0][:3], rows[0][3:], name
        return [row[:3] for row in rows], [row[3:] for row in rows], name


def _seen_from(pose, other):
    back = convert.q_conj(pose[3:])
    return [*convert.q_rotate(back, [a - b for a, b in zip(other[:3], pose[:3])]),
            *convert.q_mul(back, other[3:])]


def _finish(ik, maker, turns, roots, width, library):
    shot, scene = ik.shot, maker.scene
    if not maker.joints and not any(root in FREE for root in roots.values()):
        names = ", ".join(f"'{shot.bones[i].name}'" for i in sorted(turns)[:3])
        raise convert.Refused(f"No bone that the goals could move may turn ({names or 'none'}): "
                              "unlock an axis of one, or take a longer chain")
    seen = _Seen(ik, maker, turns, width, library)
    for goal in ik.goals:
        _goal(ik, maker, goal, seen, _only(ik, maker, goal, roots), library)
    free = [i for i, root in roots.items() if root in FREE]
    root = FREE[roots[free[0]]] if free else None
    if free:
        maker.built.bone_of[convert.THE_WORLD] = shot.bones[free[0]].name
    samples = len(shot.frames)
    is_tracked = ik.smooth and samples > 1
    scene.ik = documents.IkSettings(
        mode="track" if is_tracked else "pose", tolerance=ik.tolerance, root=root,
        start="held" if is_tracked and ik.hold_start else None,
        posture="current" if ik.posture else None,
        stiffness=dict(maker.stiffness) or None)
    scene.bake = documents.BakeSettings(fps=shot.rate, frame_start=shot.frame_start,
                                        frame_end=shot.frame_start + samples - 1)


def _goal(ik, maker, goal, seen, joints, library):
    shot, scene = ik.shot, maker.scene
    if goal.target is None:
        raise convert.Refused(f"The goal '{goal.name}' has no target. Choose an object for it")
    places, turns, seat = seen.look(goal.target, goal.rides, goal, goal.orientation)
    if seat == goal.bone:
        raise convert.Refused(f"The target of the goal '{goal.name}' is on its own bone, which "
                              "never comes nearer to it. Choose another target")
    weight = goal.weight[0] if len(set(goal.weight)) == 1 else list(goal.weight)
    common = {"name": goal.name, "priority": goal.priority, "weight": weight,
              "relative_to": seat, "joints": joints}
    if goal.kind == "CENTRE":
        scene.goals.append(documents.Goal(centre_of_mass=places, axes="xy" if goal.level else None,
                                          **common))
        return
    i = _index(shot, goal.bone)
    half = convert.half(shot, i)
    if goal.kind == "LOOK":
        sign = -1.0 if goal.axis[0] == "-" else 1.0
        scene.goals.append(documents.Goal(
            body=goal.bone, look_at=places, point=[0.0, -half, 0.0],
            axis=[sign * v for v in convert.AXES[goal.axis[-1]]], **common))
        return
    made = documents.Goal(body=goal.bone, **common)
    if goal.bone not in maker.built.body_of:            # its head, as the tail of a moving parent
        up = shot.bones[i].parent
        made.body = shot.bones[up].name
        pose, k = maker.pose(up), 16 * i
        made.point = maker.at(pose, _head_of(shot, maker, k, library), (1, 0, 0, 0))["position"]
    else:
        made.point = [0.0, half if goal.end == "TAIL" else -half, 0.0]
    if goal.position:
        made.position = places
    if goal.orientation:
        made.orientation, made.frame = turns, list(goal.offset)
    if made.position is None and made.orientation is None:
        raise convert.Refused(f"The goal '{goal.name}' wants neither place nor direction")
    scene.goals.append(made)
    if goal.pole is not None:
        _pole(ik, maker, goal, made, common, seen)


def _head_of(shot, maker, k, library):
    one = rigs.Rig([rigs.Bone(rest=shot.bones[k // 16].rest, body=0)], shot.unit, library)
    return list(one.poses(shot.poses[k:k + 16], 1, shot.objects[:16])[:3])


def _pole(ik, maker, goal, made, common, seen):
    """The joint in the middle of the limb bends to the side of the pole."""
    shot = ik.shot
    limb = chain_of(ik, goal)
    if goal.orientation and goal.end == "HEAD":
        limb = limb[1:]
    limb = [i for i in limb if shot.bones[i].name in maker.built.body_of]
    elbow = next((k for k, i in enumerate(limb[:-1])
                  if convert.part_of(shot.bones, i) == "hinge"), -1)
    if elbow >= 0:
        limb = limb[:elbow + 2]
    elif goal.chain == 0:                       # two bones, and a hand or foot at their end
        hand = len(limb) > 2 and 2 * shot.bones[limb[0]].length < 1.3 * shot.bones[limb[1]].length
        limb = limb[:3] if hand else limb[:2]
    if len(limb) < 2:
        raise convert.Refused(f"The goal '{goal.name}' has a pole, which takes a limb of two bones "
                              "or more")
    middle, upper = limb[elbow if elbow >= 0 else (len(limb) - 1) // 2], limb[-1]
    places, _turns, seat = seen.look(goal.pole, goal.pole_rides, goal)
    common = {**common, "name": f"{goal.name} pole", "relative_to": seat,
              "priority": min(goal.priority + 1, 15)}
    maker.scene.goals.append(documents.Goal(
        body=shot.bones[middle].name, point=[0.0, -convert.half(shot, middle), 0.0], pole=places,
        from_=shot.bones[upper].name, from_point=[0.0, -convert.half(shot, upper), 0.0],
        to=made.body, to_point=list(made.point), **common))


# ---- the work ----

def base_of(ik, built, scene):
    """(q, poses) of the animation: [frame][q_count] and [frame][body][7], flat."""
    frames, width = len(ik.shot.frames), scene.q_count
    with skelpy.State(scene) as state:
        q, start = array("d", state.q) * frames, state.poses
    for name, values in built.base.items():
        at = scene.joint_q_offset(scene.find_joint(name))
        columns = zip(*values) if isinstance(values[0], (tuple, list)) else (values,)
        for k, column in enumerate(columns):
            q[at + k::width] = array("d", column) * (frames // len(column))
    poses = built.rig.poses(ik.shot.poses, scene.body_count, ik.shot.objects, start)
    return q, poses * (frames * 7 * scene.body_count // len(poses))


def motion_of(ik, built, scene):
    """All frames, on top of the animation; not yet solved."""
    base, poses = base_of(ik, built, scene)
    seed = None
    if ik.smooth and len(ik.shot.frames) > 1:       # the first frame may be far from the pose
        with skelpy.Ik(scene, mode="pose") as first:
            seed, _ = first.solve()
    return skelpy.IkMotion(scene, seed=seed, base=base, base_poses=poses,
                           **{"posture": "base"} if ik.posture else {})


def _aimed(ik, picks):
    out, (turns, _roots) = [], moving(ik)
    for goal in ik.goals:
        length = 2 * convert.half(ik.shot, _index(ik.shot, goal.bone)) / ik.shot.unit \
            if goal.bone else 1.0
        for at, matrices, rides in ((goal.at, goal.target, goal.rides),
                                    (goal.pole_at, goal.pole, goal.pole_rides)):
            if at and _seat(ik.shot, turns, rides) < 0:
                out.append(Aimed(goal.name, at, [matrices[16 * k:16 * k + 16] for k in picks],
                                 1e-3 * length))
    return out


def _put_turns(ik, built, scene, motion, channels):
    """Hinges of robots get the numbers that were found, whole turns and all: poses do not tell a
    limit beyond half a turn from what lies across the gap, nor how far what goes along has to."""
    at = {bone.own: i for i, bone in enumerate(ik.shot.bones)}
    for channel in channels:
        info, joint = ik.joints[at[channel.group]], ik.shot.bones[at[channel.group]].name
        if info.kind != "hinge" or not channel.path.endswith(".rotation_euler") or \
                channel.index != "XYZ".index(info.axis) or joint not in built.base:
            continue
        q = motion.q[scene.joint_q_offset(scene.find_joint(joint))::scene.q_count]
        channel.keys[1::2] = array("f", [info.sign * v for v in q])


def solve(ik, library=None):
    """Generator; a pipeline.Result whose report is the receipt."""
    if ik.goals:
        yield from read_motions(ik, library)
    built = build(ik, library)
    yield 0.05, "reading"
    text = json.dumps(built.scene.to_dict(), ensure_ascii=False)
    yield 0.07, "reading"
    scene = skelpy.Scene.from_json(text, library)
    yield 0.1, "solving"
    with motion_of(ik, built, scene) as motion:
        done = False
        while not done:
            done = motion.advance(SLICE)
            yield 0.1 + 0.75 * motion.progress, "solving"
        channels = yield from pipeline.keys_of(ik.shot, built, motion.poses, ik.shot.frames[0],
                                               ik.shot.frame_step)
        _put_turns(ik, built, scene, motion, channels)
        wanted = pipeline.wanted_of(ik.shot, built, motion.poses, ik.shot.frames[0],
                                    ik.shot.frame_step)
        wanted.targets = _aimed(ik, wanted.picks)
        yield 0.85, "solving"
        report = receipt(ik, built, scene, motion)
    yield 0.86, "writing keys"
    return pipeline.Result(text, channels, (ik.shot.frames[0], ik.shot.frames[-1]), report, wanted)


def _off(goals, n, each):
    """[(distance or angle, number of the goal)] of a frame, of goals that are not turned off."""
    weights = [goal.weight[n] if isinstance(goal.weight, list) else goal.weight for goal in goals]
    return [(max(off["distance"], off["angle"]), k) for k, off in enumerate(each["goals"])
            if weights[k] > 0]


def _step_of(ik, built, step):
    """A jump as the library tells it, in words of the armature: {frame, bone, size, unit}."""
    # The library counts samples from the first frame on; the user's frames may be farther apart.
    frame = ik.shot.frames[step["frame"] - ik.shot.frame_start]
    own = {bone.name: bone.own for bone in ik.shot.bones}
    name = built.bone_of.get(step["joint"], step["joint"])
    return {"frame": frame, "bone": own.get(name, name), "size": step["size"],
            "unit": step["unit"]}


def steps_of(ik, built, motion):
    """(jumps in the order of the frames, how the first frame was moved or None)."""
    moved = motion.start_moved
    if moved is not None:
        moved = _step_of(ik, built, moved) if moved["size"] > MOVED else None
    return [_step_of(ik, built, jump) for jump in motion.jumps], moved


def size_of(step):
    """How far a bone jumps or was moved, with the unit."""
    if step["unit"] == "rad":
        return f"{math.degrees(step['size']):.3g} degrees"
    return f"{step['size']:.3g} {step['unit']}"


def words_of(report):
    """The receipt as a sentence: goals that were missed, jumps, a first frame that was moved."""
    missed, jumps, moved = report["missed"], report["jumps"], report["moved"]
    words = "all goals reached"
    if missed:
        words = (f"{len(missed)} of {report['frames']} frames not reached, the first {missed[0]}; "
                 f"worst at {report['worst_frame']}: '{report['worst_goal']}' off by "
                 f"{report['distance']:.3g} m, {report['angle']:.3g} rad")

    for jump in jumps[:JUMPS_NAMED]:
        words += f"; '{jump['bone']}' jumps by {size_of(jump)} at frame {jump['frame']}"
    if len(jumps) > JUMPS_NAMED:
        words += f"; there are {len(jumps) - JUMPS_NAMED} more jumps"

    if moved:
        why = "" if jumps else " so that the motion has no jump"
        words += (f". Frame {moved['frame']} was moved by {size_of(moved)} ('{moved['bone']}'){why}"
                  "; turn on Hold Start to keep it")
    return words


def receipt(ik, built, scene, motion):
    """What the panel shows: frames that were not reached, the worst, limits met, jumps."""
    frames, receipts, goals = ik.shot.frames, motion.receipts, built.scene.goals
    off = [max(_off(goals, n, each), default=(0.0, 0)) for n, each in enumerate(receipts)]
    missed = [n for n, (far, _goal) in enumerate(off) if far > ik.tolerance]
    worst = max(range(len(off)), key=lambda n: off[n])
    goal = off[worst][1]
    limits: Dict[str, int] = {}
    jumps, moved = steps_of(ik, built, motion)
    q, width = motion.q, scene.q_count
    for bone, axis, joint, low, high in built.limits:
        values = q[scene.joint_q_offset(scene.find_joint(joint))::width]
        near = 1e-6 * (high - low)
        count = sum(1 for v in values if v <= low + near or v >= high - near)
        if count:
            limits[f"{bone} {axis}"] = count
    return {"frames": len(frames), "missed": [frames[n] for n in missed],
            "worst": off[worst][0], "worst_frame": frames[worst], "worst_goal": goals[goal].name,
            "limits": limits, "distance": receipts[worst]["goals"][goal]["distance"],
            "angle": receipts[worst]["goals"][goal]["angle"],
            "us": sum(each["us"] for each in receipts) / max(1, len(receipts)),
            "bones": len(built.parts), "jumps": jumps, "moved": moved}
