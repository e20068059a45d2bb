# SPDX-License-Identifier: GPL-3.0-or-later
"""Control bones: which bones an animator uses to pose given bones, found without names.

A bone is followed to what moves it: the target of its copy constraints, else its parent. Bones on
the way that can be posed are its controls. Each control is guided by one of the given bones: the
control is to be where it is at rest, seen from that bone. Switches (properties that drive the
influence of a constraint) take the value at which no IK acts on the way.

    found = trace(bones, wanted, switches)      all controls and switches
    arrange(bones, found, chosen)               the chosen controls in levels: after a level is set,
                                                Blender must evaluate the armature once"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Collection, Dict, Iterator, List, Optional, Sequence, Set, Tuple

from .algebra import IDENTITY, ORIGIN, Matrix, Pose, compose, dot, invert, q_of_matrix, sub, times

FULL = 0.999                # influence from which a constraint decides alone
COPIES = ("COPY_TRANSFORMS", "COPY_ROTATION", "COPY_LOCATION")
PARENTS = ("CHILD_OF", "ARMATURE")      # they replace the parent; keys of the bone act on top
TRACKS = ("DAMPED_TRACK", "STRETCH_TO", "LOCKED_TRACK", "TRACK_TO")
IK = ("IK", "SPLINE_IK")
HARMLESS = ("COPY_SCALE", "MAINTAIN_VOLUME", "LIMIT_SCALE")     # they neither move nor turn
NEAR = 0.1                  # of a bone's length: a point at its end
BASE_NEAR = 0.5             # of a bone's length: a control that carries all bones
TURNED = 1e-3               # of two bones that fit a control, one in its direction comes first
NOTHING = (*ORIGIN, *IDENTITY)
Three = Tuple[bool, bool, bool]
ALL: Three = (True, True, True)
NONE: Three = (False, False, False)


# ---- what is read ----

@dataclass(frozen=True)
class Link:
    """A constraint of a bone whose targets are bones of the same armature, or IK."""
    kind: str                               # Blender's name of its type
    targets: Tuple[Tuple[int, float], ...] = ()     # (bone, weight)
    influence: float = 1.0                  # as it is now
    local: bool = False                     # it copies what the target does in its own axes
    replaces: bool = True                   # it replaces the pose of the bone, and does not add
    switch: str = ""                        # data path of the property that drives its influence
    table: Tuple[Tuple[float, float], ...] = ()     # (value of the property, influence)
    chain: Tuple[int, ...] = ()             # of IK: the bones that it moves


@dataclass(frozen=True)
class RigBone:
    name: str
    parent: int = -1
    rest: Matrix = ()                       # in the armature
    length: float = 1.0
    deform: bool = False
    connected: bool = False
    free_location: Three = ALL              # axes that are neither locked nor driven
    free_rotation: Three = ALL
    inherits_rotation: bool = True
    links: Tuple[Link, ...] = ()            # that are not muted

    @property
    def pose(self) -> Pose:
        return [*self.rest[12:15], *q_of_matrix(self.rest)]

    @property
    def tail(self) -> List[float]:
        return [h + self.length * a for h, a in zip(self.rest[12:15], self.rest[4:7])]


@dataclass(frozen=True)
class Switch:
    """A property that drives influences."""
    path: str
    value: float                            # as it is now
    animated: bool = False


# ---- what is found ----

@dataclass(frozen=True)
class Control:
    bone: int
    guide: int                              # the bone that it is placed by
    offset: Pose                            # from the guide to the control
    location: Three                         # axes that get keys
    rotation: Three
    tweak: bool                             # it shifts or twists what another control poses
    own: bool = False                       # constraints act on top of its keys
    soft: bool = False                      # the guide does not follow it rigidly
    level: int = 0
    base: int = -1                          # the control that its parent moves with rigidly


@dataclass(frozen=True)
class Found:
    controls: Tuple[Control, ...] = ()
    switches: Tuple[Tuple[str, float], ...] = ()    # (data path, value that is needed)
    lost: Tuple[int, ...] = ()              # bones that no control moves
    chains: Tuple[Tuple[int, ...], ...] = ()        # per wanted bone: its controls, nearest first


@dataclass(frozen=True)
class _Step:
    """From a bone to the one that moves it."""
    to: int
    offset: Pose                            # pose of the bone, seen from the other
    location: bool = True                   # what is passed on
    rotation: bool = True
    soft: bool = False
    count: int = 0                          # bones on the way


class _Rig:
    """The bones with a value for every switch."""

    def __init__(self, bones: Sequence[RigBone], values: Dict[str, float],
                 poses: Sequence[Pose] = ()) -> None:
        self.bones, self.values = bones, values
        self.poses = poses or [bone.pose for bone in bones]
        self.solved = {i for bone in bones for link in bone.links
                       if link.kind in IK and self.influence(link) > 0 for i in link.chain}

    def influence(self, link: Link) -> float:
        if link.switch in self.values and link.table:
            value = self.values[link.switch]
            return min(link.table, key=lambda row: abs(row[0] - value))[1]
        return link.influence

    def acting(self, i: int, least: float = FULL) -> Iterator[Link]:
        """The constraints of a bone with at least this influence."""
        return (link for link in self.bones[i].links if self.influence(link) >= least)

    # ---- controls ----

    def is_control(self, i: int) -> bool:
        """Whether a bone can be posed: it has a free axis, and no constraint decides for it."""
        bone = self.bones[i]
        if i in self.solved or not any((*self.location(i), *bone.free_rotation)):
            return False
        least = 1e-6 if bone.deform else FULL
        if any(link.kind in COPIES and link.replaces for link in self.acting(i, least)):
            return False
        return not any(link.kind in TRACKS or link.kind in PARENTS and self._is_held(i, link)
                       for link in self.acting(i))

    def _is_held(self, i: int, link: Link) -> bool:
        """Whether a deform bone is held by a bone that does not deform, its control."""
        return self.bones[i].deform and any(weight > 0 and not self.bones[to].deform
                                            for to, weight in link.targets)

    def location(self, i: int) -> Three:
        return NONE if self.bones[i].connected else self.bones[i].free_location

    def is_whole(self, i: int) -> bool:
        """Whether a control can point its bone elsewhere; others, which only shift it or twist it
        about its length, are tweaks."""
        x, _y, z = self.bones[i].free_rotation
        return x or z

    def has_own(self, i: int) -> bool:
        """Whether constraints act on top of the keys of a control."""
        return any(link.kind not in HARMLESS for link in self.acting(i, 1e-6))

    # ---- the way from a bone to its controls ----

    def _rest_offset(self, i: int, to: int) -> Pose:
        return compose(invert(self.poses[to]), self.poses[i])

    def _link(self, i: int) -> Optional[Link]:
        """The constraint that decides where a bone is; None: its parent."""
        links = [link for link in self.acting(i) if link.targets]
        if self.bones[i].deform and not links:
            links = sorted((link for link in self.acting(i, 1e-6) if link.targets),
                           key=self.influence)
        for kinds in (("COPY_TRANSFORMS", *PARENTS), ("COPY_ROTATION",), ("COPY_LOCATION",)):
            fitting = [link for link in links if link.kind in kinds]
            if fitting:
                return fitting[-1]
        return None

    def step(self, i: int) -> Optional[_Step]:
        link = None if self.is_control(i) and not self._is_carried(i) else self._link(i)
        if link is None:
            parent = self.bones[i].parent
            return _Step(parent, self._rest_offset(i, parent)) if parent >= 0 else None

        to = max(link.targets, key=lambda target: target[1])[0]
        rest = self._rest_offset(i, to)
        same = tuple(NOTHING) if not link.local else rest
        if link.kind == "COPY_TRANSFORMS":
            return _Step(to, same, soft=link.local or self.influence(link) < FULL)
        if link.kind in PARENTS:
            return _Step(to, rest, soft=len([t for t in link.targets if t[1] > 0]) > 1)

        # One that copies the location or the rotation alone; another may copy the rest.
        kinds = {each.kind for each in self.acting(i)
                 if each.kind in COPIES and each.targets and each.targets[0][0] == to}
        tracked = any(each.kind in TRACKS for each in self.acting(i))
        both = tracked or len(kinds) > 1
        offset = rest if both or link.kind == "COPY_LOCATION" else [*rest[:3], *same[3:]]
        return _Step(to, offset, location=both or link.kind == "COPY_LOCATION",
                     rotation=both or link.kind == "COPY_ROTATION",
                     soft=link.kind == "COPY_ROTATION")

    def _is_carried(self, i: int) -> bool:
        """Whether a constraint of a control stands for its parent."""
        return any(link.kind in PARENTS and link.targets for link in self.acting(i))

    def way(self, i: int) -> List[Tuple[int, _Step]]:
        """[(control, step)]: the controls of a bone, nearest first. The step leads from the bone to
        the control: what is passed on, and the offset."""
        out, at, seen = [], i, {i}
        total = _Step(i, NOTHING)
        while True:
            if self.is_control(at):
                out.append((at, total))
            step = self.step(at)
            if step is None or step.to in seen:
                return out
            seen.add(step.to)
            at = step.to
            total = _Step(at, compose(step.offset, total.offset), total.location and step.location,
                          total.rotation and step.rotation, total.soft or step.soft,
                          total.count + 1)

    # ---- dependencies ----

    def above(self, i: int) -> List[int]:
        """The controls that carry a bone, itself included: all bones that move it alone."""
        out: List[int] = []
        seen, ahead = {i}, [i]
        while ahead:
            at = ahead.pop(0)
            if self.is_control(at):
                out.append(at)
            sources = self._sources(at)
            ahead += [to for to in sources if to >= 0 and to not in seen]
            seen.update(sources)
        return out

    def _sources(self, i: int) -> List[int]:
        """The bones that a bone copies or hangs on."""
        links = [link for link in self.acting(i)
                 if link.kind in (*COPIES, *PARENTS) and link.targets]
        last = max((k for k, link in enumerate(links)
                    if link.kind == "COPY_TRANSFORMS" and link.replaces), default=-1)
        out = [max(link.targets, key=lambda target: target[1])[0] for link in links[max(last, 0):]]
        if last < 0 and not any(link.kind in PARENTS for link in links):
            out.append(self.bones[i].parent)
        return out

    def with_value(self, path: str, value: float) -> _Rig:
        """The same rig with another value of a switch."""
        return _Rig(self.bones, {**self.values, path: value}, self.poses)

    def targets(self, i: int) -> Set[int]:
        """The bones that the constraints of a bone read, IK of bones below it included."""
        out = {to for link in self.acting(i, 1e-6) if link.kind not in HARMLESS
               for to, weight in link.targets if weight > 0}
        if i in self.solved:
            for owner in range(len(self.bones)):
                for link in self.acting(owner, 1e-6):
                    if link.kind in IK and i in link.chain:
                        out |= {to for to, _weight in link.targets} - set(link.chain)
        return out - {i}

    def is_plain(self, i: int) -> bool:
        """Whether a bone is rigid with its parent."""
        return i not in self.solved and not self.has_own(i) and self.bones[i].inherits_rotation


# ---- switches ----

def _ik_count(rig: _Rig, bones: Collection[int]) -> int:
    """On how many ways from bones to their first whole control IK acts."""
    count = 0
    for i in bones:
        seen: Set[int] = set()
        at = i
        while at not in seen and not (rig.is_control(at) and rig.is_whole(at)):
            seen.add(at)
            count += at in rig.solved
            step = rig.step(at)
            if step is None:
                break
            at = step.to
    return count


def _options(bones: Sequence[RigBone], path: str) -> List[float]:
    """The values of a switch that were tried."""
    return sorted({row[0] for bone in bones for link in bone.links if link.switch == path
                   for row in link.table})


def _set_switches(rig: _Rig, wanted: Sequence[int], switches: Sequence[Switch]) -> _Rig:
    """The rig with a value for every switch: the one it has, unless IK acts at that value and not,
    or less, at another."""
    count = _ik_count(rig, wanted)
    for switch in switches:
        if count == 0:
            return rig
        for value in _options(rig.bones, switch.path):
            other = rig.with_value(switch.path, value)
            less = _ik_count(other, wanted)
            if less < count:
                rig, count = other, less
    return rig


def _needed(rig: _Rig, switches: Sequence[Switch],
            wanted: Sequence[int]) -> Tuple[Tuple[str, float], ...]:
    """(data path, value) of the switches that must be keyed: they have another value now, or are
    animated and decide whether IK acts."""
    out = []
    here = _ik_count(rig, wanted)
    for switch in switches:
        value = rig.values[switch.path]
        matters = value != switch.value or switch.animated and any(
            _ik_count(rig.with_value(switch.path, other), wanted) > here
            for other in _options(rig.bones, switch.path))
        if matters:
            out.append((switch.path, value))
    return tuple(out)


# ---- guides ----

def _apart(a: RigBone, b: RigBone) -> float:
    """How far the ends of two bones are apart, in whichever direction they point: 0 if they lie
    upon each other, 1 if they are neighbours of the same length."""
    heads = a.rest[12:15], b.rest[12:15]
    same = math.dist(*heads) + math.dist(a.tail, b.tail)
    turned = math.dist(heads[0], b.tail) + math.dist(a.tail, heads[1])
    return min(same, turned + TURNED * b.length) / (a.length + b.length or 1.0)


def _pivots(control: RigBone, bone: RigBone) -> bool:
    """Whether a control turns a bone about one of its ends."""
    head = control.rest[12:15]
    return min(math.dist(head, end) for end in (bone.rest[12:15], bone.tail)) <= NEAR * bone.length


def _from_segment(point: Sequence[float], bone: RigBone) -> float:
    """The distance of a point from a bone."""
    head, along = bone.rest[12:15], sub(bone.tail, bone.rest[12:15])
    share = dot(sub(point, head), along) / (dot(along, along) or 1.0)
    share = min(1.0, max(0.0, share))
    return math.dist(point, [h + s for h, s in zip(head, times(along, share))])


Ways = Dict[int, List[Tuple[int, _Step]]]


def _match_whole(rig: _Rig, ways: Ways) -> Dict[int, int]:
    """{control: guide} of whole controls. As many as possible get a bone of their own that they
    turn about one of its ends, those that lie upon it first; then the first control of every bone
    that is still without."""
    fitting: Dict[int, List[int]] = {}
    for d, way in ways.items():
        near = [(_apart(rig.bones[c], rig.bones[d]), order, c)
                for order, (c, _step) in enumerate(way)
                if rig.is_whole(c) and _pivots(rig.bones[c], rig.bones[d])]
        fitting[d] = [c for _by, _order, c in sorted(near)]

    out: Dict[int, int] = {}

    def match(d: int, tried: Set[int]) -> bool:
        """Gives a control to a bone; others may have to change theirs."""
        for c in fitting[d]:
            if c not in tried:
                tried.add(c)
                if c not in out or match(out[c], tried):
                    out[c] = d
                    return True
        return False

    for d in sorted(ways, key=lambda d: (len(fitting[d]) == 0, min(
            (_apart(rig.bones[c], rig.bones[d]) for c in fitting[d]), default=0.0))):
        match(d, set())
    for d, way in ways.items():
        first = next((c for c, _step in way if rig.is_whole(c)), None)
        if first is not None and first not in out and not any(c in out for c, _step in way):
            out[first] = d
    return out


def _match_tweaks(rig: _Rig, ways: Ways) -> Dict[int, int]:
    """{control: guide} of controls that bones reach before any other, and that are tweaks.
    The bone that follows it most directly is the guide."""
    pairs = []
    for d, way in ways.items():
        c, step = way[0]
        if not rig.is_whole(c):
            pairs.append((step.count, _apart(rig.bones[c], rig.bones[d]), c, d))
    out: Dict[int, int] = {}
    for _count, _by, c, d in sorted(pairs):
        out.setdefault(c, d)
    return out


def _base(rig: _Rig, ways: Ways, chosen: Collection[int]) -> Optional[Tuple[int, int]]:
    """(control, guide) of the nearest control that carries all bones, if no other deform bone would
    be carried along against its animation; None if it is chosen already, or there is none."""
    carriers = {d: [c for c in rig.above(d) if rig.is_whole(c)] for d in ways}
    common = [c for c in next(iter(carriers.values()), []) if
              all(c in others for others in carriers.values())]
    if not common:
        return None
    base = max(common, key=lambda c: len(set(rig.above(c)) & set(common)))
    if base in chosen:
        return None

    for i, bone in enumerate(rig.bones):
        if bone.deform and i not in ways:
            above = rig.above(i)
            if base in above and not any(c in chosen for c in above):
                return None
    # A root far away from the bones is used only if the controls below it cannot move.
    point = rig.bones[base].rest[12:15]
    guide = min(ways, key=lambda d: _from_segment(point, rig.bones[d]))
    near = _from_segment(point, rig.bones[guide]) <= BASE_NEAR * rig.bones[guide].length
    tops = [c for c in chosen if not any(a in chosen for a in rig.above(c) if a != c)]
    return (base, guide) if near or any(rig.location(c) != ALL for c in tops) else None


def _control(rig: _Rig, ways: Ways, c: int, guide: int, tweak: bool) -> Control:
    step = next((step for control, step in ways[guide] if control == c),
                _Step(c, compose(invert(rig.poses[c]), rig.poses[guide])))
    location = rig.location(c) if step.location else NONE
    rotation = rig.bones[c].free_rotation if step.rotation else NONE
    return Control(c, guide, invert(step.offset), location, rotation, tweak,
                   own=rig.has_own(c), soft=step.soft)


def trace(bones: Sequence[RigBone], wanted: Sequence[int],
          switches: Sequence[Switch] = ()) -> Found:
    """The controls and switches that pose the wanted bones."""
    values = {switch.path: switch.value for switch in switches}
    rig = _set_switches(_Rig(bones, values), wanted, switches)
    ways: Ways = {d: rig.way(d) for d in wanted}
    lost = tuple(d for d, way in ways.items() if not way)
    ways = {d: way for d, way in ways.items() if way}

    whole = _match_whole(rig, ways)
    base = _base(rig, ways, whole)
    if base is not None:
        whole[base[0]] = base[1]
    tweaks = _match_tweaks(rig, ways)
    controls = [_control(rig, ways, c, d, False) for c, d in whole.items()]
    controls += [_control(rig, ways, c, d, True) for c, d in tweaks.items() if c not in whole]
    chains = tuple(tuple(c for c, _step in ways.get(d, ())) for d in wanted)
    return Found(tuple(sorted(controls, key=lambda c: c.bone)), _needed(rig, switches, wanted),
                 lost, chains)


# ---- levels ----

def _base_of(rig: _Rig, chosen: Dict[int, Control], c: int) -> Optional[int]:
    """The control that the parent of a control moves with rigidly; -1: no control moves it; None:
    neither."""
    at = rig.bones[c].parent
    while at >= 0 and at not in chosen:
        if not rig.is_plain(at):
            return None
        at = rig.bones[at].parent
    return None if at >= 0 and chosen[at].own else at


def arrange(bones: Sequence[RigBone], found: Found, values: Dict[str, float],
            chosen: Sequence[Control]) -> Tuple[Control, ...]:
    """The chosen controls in the order in which they are set, with their levels. values: of all
    switches, by data path."""
    rig, by_bone = _Rig(bones, {**values, **dict(found.switches)}), {c.bone: c for c in chosen}
    done: Dict[int, int] = {}               # updates after which the matrix of a bone is final
    levels: Dict[int, int] = {}
    bases: Dict[int, int] = {}

    def visit(i: int, above: Tuple[int, ...]) -> int:
        if i in done or i in above:
            return done.get(i, 0)
        needs = rig.targets(i)
        if bones[i].parent >= 0:
            needs.add(bones[i].parent)
        ready = max((visit(n, (*above, i)) for n in sorted(needs)), default=0)
        if i not in by_bone:
            done[i] = ready
            return ready

        base = None if rig.has_own(i) else _base_of(rig, by_bone, i)
        bases[i] = -1 if base is None else base
        levels[i] = ready if base is None or base < 0 else levels.get(base, ready)
        done[i] = levels[i] + (2 if rig.has_own(i) else 1)
        return done[i]

    for i in sorted(by_bone):
        visit(i, ())
    depth = {i: len(_ancestors(bones, i)) for i in by_bone}
    order = sorted(by_bone, key=lambda i: (levels[i], depth[i], i))
    return tuple(replace(by_bone[i], level=levels[i], base=bases[i]) for i in order)


def _ancestors(bones: Sequence[RigBone], i: int) -> List[int]:
    out = []
    while bones[i].parent >= 0:
        i = bones[i].parent
        out.append(i)
    return out
