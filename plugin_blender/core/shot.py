# SPDX-License-Identifier: GPL-3.0-or-later
"""From bones to bodies: a Shot (plain data, in Blender's units) to a skel-scene/1 and a rig.

No bpy. Arithmetic here is once per bone; what is per frame is done by the library. A bone with a
body is a capsule along the bone: body z is bone y, the centre of mass is the bone's middle.
"""

import json
import math
import re
from array import array
from dataclasses import dataclass, field, replace
from typing import Any, Dict, List

from .binding import rig as rigs
from .binding import scene as documents

DENSITY = 1000.0            # kg/m3, of flesh
THICKNESS = 0.12            # radius of a bone that says nothing, of its length
DETAIL = 0.05               # of the armature's size: what is shorter may be left out
SHORTEST = 1e-4             # of the longest bone: what is shorter has no body
SAME = 1e-3                 # of its length: how near the ends of a bone's twin are
STIRS = 1e-6                # of a bone's basis: what counts as moved
EVEN = 1e-4                 # of a scale: what counts as the same along all axes
STRETCH = 1e-2              # of a scale that constraints make: what cannot be seen
STRAIGHT = math.radians(3)  # a joint bent less than this at rest tells no axis
THE_WORLD = "world"         # a name that the engine has for itself
WORLD = (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0)
QUARTER = (math.sqrt(0.5), math.sqrt(0.5), 0.0, 0.0)  # bone axes seen from its body

# What bodies of men and animals do, by words in the names of bones: (word, kind).
PARTS = (
    ("shin|calf|knee|lower.?leg|leg.?lower|forearm|fore.?arm|lower.?arm|arm.?lower|elbow", "hinge"),
    ("toe|finger|thumb|index|middle|ring|pinky|little|digit|(?<![a-z])(f_|ball_[lr])", "finger"),
    ("hand|wrist|palm", "hand"), ("foot|ankle|heel", "foot"), ("hips", "spine"),
    ("thigh|upper.?leg|hip|leg", "hip"),
    ("clavicle|collar|shoulder", "collar"), ("upper.?arm|arm", "shoulder"),
    ("neck|head|skull", "neck"), ("spine|chest|torso|abdomen|belly|waist|pelvis|rib", "spine"),
    ("tail|rope|chain|hair|ear|tentacle|cable|strap", "tail"),
)
UPPER_LEG = "thigh|up(per)?.?leg|leg.?up"
# Cone and twist to either side, degrees; friction, in parts of weight times length.
RANGES = {"finger": (40, 5), "hand": (50, 20), "foot": (35, 15), "hip": (60, 30),
          "collar": (20, 10), "shoulder": (85, 45), "neck": (40, 45), "spine": (25, 20),
          "tail": (70, 30), "other": (50, 25)}
HINGE_RANGE = math.radians(140)
WIDE = (math.radians(120), math.radians(100))
PRESETS = {  # follow [Hz], damping ratio, friction, ground, roots are driven
    "RAGDOLL": {"follow": 0.0, "damping": 1.0, "friction": 1.0, "roots": "DYNAMIC"},
    "TAIL": {"follow": 0.0, "damping": 1.0, "friction": 0.3, "roots": "DRIVEN"},
    "FOLLOW": {"follow": 4.0, "damping": 1.0, "friction": 0.3, "roots": "DRIVEN"},
    "SOFT": {"follow": 0.0, "damping": 0.3, "friction": 0.3, "roots": "DRIVEN"},
}


class Refused(Exception):
    """The scene cannot be done; the text says what to do about it."""


def json_of(text, what):
    """What a JSON text holds. `what` says in the message whose text it is."""
    try:
        return documents.read_json(text)
    except ValueError as error:
        raise Refused(f"{what} is not JSON: {error}") from None


@dataclass
class BoneSettings:
    """Of a bone's panels. 0 and "AUTO" leave it to the preset and to the rig."""
    role: str = "AUTO"       # DYNAMIC, DRIVEN, PINNED, SOFT, NONE
    joint: str = "AUTO"      # BALL, HINGE, UNIVERSAL, FIXED
    axis: str = "AUTO"       # X, Y, Z of the bone: of a hinge
    limits: str = "AUTO"     # from the rig; CUSTOM, NONE
    limit_low: float = -0.8  # rad, of a hinge
    limit_high: float = 0.8
    cone: float = 0.8
    twist: float = 0.4
    mass: float = 0.0        # kg
    radius: float = 0.0      # Blender units
    friction: float = 1.0    # times the default
    follow: float = -1.0     # Hz; negative: the preset's
    collide: bool = False    # with bones of its own armature
    softness: float = 0.05   # of a soft bone: how far its weight pulls it, of its length


@dataclass
class RobotShot:
    """What a bone of an imported robot says of itself."""
    joint: str = ""
    kind: str = "fixed"                     # "hinge", "slide", "ball", "free"
    axis: str = "Z"
    sign: float = 1.0
    limits: Any = None                      # rad, or Blender units
    mimic: Any = None                       # {"joint", "multiplier", "offset"}: rad and m
    com: Any = None                         # from the head, in the bone's axes, Blender units
    inertia: Any = None                     # xx yy zz xy xz yz about com, bone's axes, kg m²
    frame: bool = False                     # a frame, not a link
    mass: float = 0.0                       # kg; 0: not known
    estimated: str = ""                     # "mass", "inertia": not of the robot's document
    drive: Any = None                       # (velocity, effort): rad and m, N m and N

    @property
    def turns(self):
        return self.kind in ("hinge", "slide", "ball")


@dataclass
class BoneShot:
    name: str                               # of its body, too
    parent: int = -1
    length: float = 1.0                     # Blender units, at rest
    rest: Any = None                        # 16 numbers, column after column: in the armature
    rotation: int = rigs.QUATERNION
    flags: int = 0
    connected: bool = False
    deform: bool = True
    selected: bool = True
    scale: Any = (1.0, 1.0, 1.0)            # of the basis, at the first frame
    scales: bool = False                    # and it is animated
    stretched: bool = False                 # scale is what constraints make of it
    constrained: bool = False               # constraints act on it
    near: Any = (0.0, 0.0, 0.0, 0.0)        # rotation channels at the first frame
    limits: Dict[str, Any] = field(default_factory=dict)  # "X": (low, high), rad, from rest
    locked: str = ""                        # axes that do not turn, "XZ"
    order: str = "XYZ"                      # of the angles that limits are for
    thickness: float = 0.0                  # Blender units: radius of what is bound to it
    volume: float = 0.0                     # Blender units cubed: its share of the mesh
    robot: Any = None                       # a RobotShot
    settings: BoneSettings = field(default_factory=BoneSettings)
    label: str = ""                         # Blender's name, where the body needs another

    @property
    def own(self):
        """Blender's name."""
        return self.label or self.name


@dataclass
class Collider:
    name: str
    kind: str = "BOX"                       # PLANE, SPHERE, CAPSULE, CYLINDER
    size: Any = (1.0, 1.0, 1.0)             # metres, full edges; z is the long axis or the normal
    moves: bool = False
    exact: bool = True                      # the shape is that of the mesh, not only around it
    source: Any = None                      # Blender's: the object
    thin: Any = ()                          # axes along which it has no size: a plane has one
    scale: Any = None                       # of the object, when its size was taken
    place: Any = None                       # Blender's: its middle and axes, seen from the object
    matrices: Any = None                    # [frame][16] floats, world, Blender units


@dataclass
class Settings:
    preset: str = "RAGDOLL"
    only_selected: bool = False
    channels: int = rigs.LOCATION | rigs.ROTATION
    density: float = DENSITY
    total_mass: float = 0.0
    mass_from: str = "LENGTH"               # or MESH
    ground: bool = True
    ground_height: float = 0.0              # Blender units
    ground_friction: float = 0.8
    bounce: float = 0.0
    start_velocity: bool = True
    follow: float = -1.0                    # Hz; negative: the preset's
    damping: float = -1.0
    friction: float = 1.0                   # times the default
    integrator: str = "conserving"
    step: float = 0.0                       # s
    preroll: float = 0.0                    # s


@dataclass
class Shot:
    """All that is read from Blender. Samples are flat: [frame][bone][16] floats."""
    name: str
    bones: List[BoneShot]
    fps: float = 24.0
    unit: float = 1.0                       # m per Blender unit
    gravity: Any = (0.0, 0.0, -9.81)        # m/s2
    frame_start: int = 1
    frame_end: int = 250
    frame_step: int = 1
    settings: Settings = field(default_factory=Settings)
    colliders: List[Collider] = field(default_factory=list)
    object_moves: bool = False              # the armature object itself
    animated: bool = False                  # its bones
    frames: List[int] = field(default_factory=list)    # that were sampled, evenly
    before: List[int] = field(default_factory=list)    # for the velocity at the start
    poses: Any = None                       # of frames: in the armature
    basis: Any = None
    objects: Any = None                     # [frame][16]
    before_poses: Any = None
    before_objects: Any = None
    # Follow where it is animated, at every sampled frame: by bone, "" the armature's. Hz.
    follow_at: Dict[str, List[float]] = field(default_factory=dict)
    warnings: List[str] = field(default_factory=list)  # of what was read
    props: Any = ()                         # [(object, bone)]: meshes that hang on bones

    @property
    def rate(self):
        """Keys per second."""
        return self.fps / self.frame_step

    @property
    def stride(self):
        """Samples from key to key, one at least."""
        apart = self.frames[1] - self.frames[0] if len(self.frames) > 1 else self.frame_step
        return max(1, int(self.frame_step // apart))

    @property
    def sampled(self):
        """Samples per second."""
        return self.rate * self.stride


def frame_rate(fps, fps_base):
    """Frames per second: seconds = frame * fps_base / fps."""
    return fps / fps_base


# ---- small algebra: quaternions w x y z, once per bone ----

def q_mul(a, b):
    return (a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
            a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
            a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
            a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0])


def q_conj(a):
    return (a[0], -a[1], -a[2], -a[3])


def q_rotate(a, v):
    return q_mul(q_mul(a, (0.0, *v)), q_conj(a))[1:]


def q_about(axis, angle):
    s = math.sin(angle / 2) / (math.sqrt(sum(x * x for x in axis)) or 1.0)
    return (math.cos(angle / 2), *(s * x for x in axis))


def angle_about(q, axis):
    """How far a rotation turns about its own axis 0, 1 or 2: within half a turn."""
    return math.remainder(2 * math.atan2(q[1 + axis], q[0]), 2 * math.pi)


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


def norm(v):
    return math.hypot(*v)


def spanned(m):
    """By the axes of a matrix: 0 where they are flat, negative where they are mirrored."""
    return dot(cross(m[0:3], m[4:7]), m[8:11])


def turn_between(a, b):
    """The angle from one rotation to another, on the short way."""
    turn = q_mul(q_conj(a), b)
    return 2 * math.atan2(norm(turn[1:]), abs(turn[0]))


def said(three):
    """Scales, in words."""
    return f"({', '.join(f'{v:.4g}' for v in three)})"


def scales(m):
    """Lengths of the three columns of 16 numbers."""
    return tuple(norm(m[k:k + 3]) for k in (0, 4, 8))


def is_even(three, bound=EVEN):
    middle = sum(three) / 3
    return middle > 0 and all(abs(s - middle) <= bound * middle for s in three)


def q_of(m):
    """The rotation of 16 numbers, column after column, whatever their scale."""
    x, y, z = ([v / n for v in m[k:k + 3]] for k, n in zip((0, 4, 8), scales(m)))
    t = x[0] + y[1] + z[2]
    if t > 0:
        q = (1 + t, y[2] - z[1], z[0] - x[2], x[1] - y[0])
    elif x[0] >= y[1] and x[0] >= z[2]:
        q = (y[2] - z[1], 1 + x[0] - y[1] - z[2], y[0] + x[1], z[0] + x[2])
    elif y[1] >= z[2]:
        q = (z[0] - x[2], y[0] + x[1], 1 + y[1] - x[0] - z[2], z[1] + y[2])
    else:
        q = (x[1] - y[0], z[0] + x[2], z[1] + y[2], 1 + z[2] - x[0] - y[1])
    n = norm(q)
    return tuple(v / n for v in q)


def twist_about(q, axis):
    """The angle of q about an axis, -pi to pi."""
    along = sum(a * b for a, b in zip(q[1:], axis)) / (norm(axis) or 1.0)
    angle = 2 * math.atan2(along, q[0])
    return math.remainder(angle, 2 * math.pi)


def turned(inertia, q):
    """An inertia (3 or 6 numbers) seen from axes in which its own are turned by q."""
    xx, yy, zz, xy, xz, yz = [*inertia, 0.0, 0.0, 0.0][:6]
    rows = ((xx, xy, xz), (xy, yy, yz), (xz, yz, zz))
    axes = [q_rotate(q_conj(q), axis) for axis in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    return [dot(axes[a], [dot(row, axes[b]) for row in rows])
            for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]


# ---- which bones have bodies ----

def name_bodies(bones):
    """A bone that has the name of the world has another in the engine."""
    taken = {bone.name for bone in bones}
    for bone in bones:
        if bone.name == THE_WORLD:
            bone.label = bone.name
            while bone.name in taken:
                bone.name += " (bone)"


def _named(name):
    low = name.lower()
    return next((kind for words, kind in PARTS if re.search(words, low)), "other")


def _ancestors(bones, i):
    while bones[i].parent >= 0:
        i = bones[i].parent
        yield i


def _above(bones, some):
    """All that some bones hang from."""
    out = set()
    for i in some:
        up = bones[i].parent
        while up >= 0 and up not in out:
            out.add(up)
            up = bones[up].parent
    return out


def part_of(bones, i):
    """What a bone is, by its name: a "leg" below an upper leg is a shin."""
    kind = _named(bones[i].name)
    if kind == "hip" and not re.search(UPPER_LEG, bones[i].name.lower()):
        up = next((a for a in _ancestors(bones, i) if _named(bones[a].name) == "hip"), None)
        kind = "hinge" if up is not None and re.search(UPPER_LEG, bones[up].name.lower()) else kind
    return kind


def _ends(bone):
    """Head and tail at rest."""
    head, along = bone.rest[12:15], bone.rest[4:7]
    return (*head, *(h + bone.length * a for h, a in zip(head, along)))


class _Hosts:
    """Which bone's body a bone hangs on: the first above it that has one, or that has a twin with
    one, which lies where it lies at rest: rigs steer the bones that deform by such."""

    def __init__(self, bones, has_body):
        self.bones, self.has_body, self.twins, self.known = bones, has_body, {}, {}
        self.ends, self.cells = [_ends(bone) for bone in bones], {}
        self.size = SAME * max((bone.length for bone in bones), default=1.0) or 1.0
        for k, ends in enumerate(self.ends):
            self.cells.setdefault(self._cell(ends), []).append(k)

    def _cell(self, ends):
        return tuple(math.floor(v / self.size) for v in ends[:3])

    def _twin(self, a):
        if a not in self.twins:
            at, near = self.ends[a], SAME * self.bones[a].length
            x, y, z = self._cell(at)
            around = sorted(k for n in range(27) for k in self.cells.get(
                (x + n // 9 - 1, y + n // 3 % 3 - 1, z + n % 3 - 1), ()))
            self.twins[a] = [k for k in around if k != a and
                             all(abs(p - q) <= near for p, q in zip(at, self.ends[k]))]
        return next((k for k in self.twins[a] if self.has_body(k)), -1)

    def _hangs_on(self, k, i):
        while k >= 0 and k != i:
            k = self.of(k)[0]
        return k == i

    def of(self, i):
        """(the bone, whether it is a twin's); (-1, False): none."""
        if i not in self.known:
            self.known[i] = (-1, False)     # while it is looked for: rings end here
            tried = False
            for a in _ancestors(self.bones, i):
                own = self.has_body(a)
                k = a if own else -1 if self.bones[a].robot else self._twin(a)
                tried = tried or k >= 0 and not own
                if k >= 0 and not (tried and self._hangs_on(k, i)):
                    self.known[i] = (k, not own)
                    break
        return self.known[i]


def _hosts_of(shot, roles):
    """(the bone whose body a bone's body hangs on, whether it is a twin's), per bone."""
    hosts = _Hosts(shot.bones, lambda k: roles[k] not in ("NONE", "SOFT"))
    return [hosts.of(i) for i in range(len(roles))]


def _pieces(shot, roles, hosts):
    """What to warn of: simulated bones that nothing joins, though a bone without a body is above
    them all."""
    tops = {}
    for i, role in enumerate(roles):
        above = list(_ancestors(shot.bones, i)) if role == "DYNAMIC" and hosts[i][0] < 0 else ()
        if above:
            tops.setdefault(above[-1], []).append(f"'{shot.bones[i].name}'")
    return [f"{len(names)} pieces fall apart, for '{shot.bones[top].name}' above them has no body: "
            f"{', '.join(names[:4])}{' ...' if len(names) > 4 else ''}. Set the part of the bones "
            "between to Simulated, or of pieces that are to stay to Animated"
            for top, names in tops.items() if len(names) > 1]


def _is_detail(bones, i, up, extent):
    """Fingers, toes, faces: too small to matter, they go along unless one asks for them."""
    length, parent = bones[i].length, bones[up].length
    small = length < DETAIL * extent and 4 * length < parent
    return small or part_of(bones, i) == "finger" and 2 * length < parent


def _robot_role(shot, bone):
    """A robot's links all count, however small; its base stands, or goes with its object."""
    if bone.robot.frame:
        return "NONE"
    if bone.parent < 0 and bone.robot.kind == "fixed":
        return "DRIVEN" if shot.object_moves or shot.animated else "PINNED"
    if bone.parent < 0 and bone.robot.kind == "free":
        return PRESETS[shot.settings.preset]["roots"]
    return "DYNAMIC"


def roles_of(shot):
    """"DYNAMIC", "DRIVEN", "PINNED", "SOFT" or "NONE" per bone."""
    bones, s = shot.bones, shot.settings
    preset = PRESETS[s.preset]
    longest = max((bone.length for bone in bones), default=0.0)
    extent = max((math.dist(a.rest[12:15], bones[0].rest[12:15]) for a in bones), default=0.0)
    any_deform = any(bone.deform for bone in bones)
    chosen = [not s.only_selected or bone.selected for bone in bones]
    support = {bone.parent for i, bone in enumerate(bones)
               if chosen[i] and bone.parent >= 0 and not chosen[bone.parent]}
    roles = []
    hosts = _Hosts(bones, lambda k: roles[k] != "NONE" if k < len(roles) else
                   chosen[k] and bones[k].deform and bones[k].settings.role != "NONE")
    for i, bone in enumerate(bones):
        hosts.known.clear()
        up, role = hosts.of(i)[0], bone.settings.role
        soft = 0 <= up < i and roles[up] == "SOFT"
        if bone.length < SHORTEST * longest:
            role = "NONE"
        elif not chosen[i]:
            role = "DRIVEN" if i in support else "NONE"
        elif role == "AUTO" and bone.robot:
            role = _robot_role(shot, bone)
        elif role == "AUTO":
            if not s.only_selected and (any_deform and not bone.deform or
                                        up >= 0 and _is_detail(bones, i, up, extent)):
                role = "NONE"
            elif up < 0:
                role = preset["roots"]
            else:
                role = "DYNAMIC"
                if s.preset == "SOFT":
                    leaf = not any(b.parent == i and b.length >= SHORTEST * longest for b in bones)
                    role = "SOFT" if leaf or s.only_selected else "DRIVEN"
        if soft or role == "SOFT" and up < 0:   # nothing hangs from a soft mass: it goes along
            role = "NONE"
        roles.append(role)
    if "SOFT" in roles:                         # a twin that it would hang on may have no body
        hung = _hosts_of(shot, roles)
        roles = ["NONE" if role == "SOFT" and hung[i][0] < 0 else role
                 for i, role in enumerate(roles)]
    if not any(role in ("DYNAMIC", "SOFT") for role in roles):
        raise Refused("No bone is simulated. Select the bones to simulate, turn off Only Selected, "
                      "or set a bone's part to Simulated")
    return roles


def _animation_matters(shot, roles):
    """Whether bones without a body have a say in where others are: those above a body, and those
    that coincide with bones that have one. Fingers below a simulated hand have none: they keep
    their own keys, so nothing of them needs to be read."""
    if not (shot.animated or any(bone.constrained for bone in shot.bones)):
        return False
    above = _above(shot.bones, [i for i, role in enumerate(roles) if role != "NONE"])
    hosts = _hosts_of(shot, roles)
    return any(role == "NONE" and (i in above or hosts[i][1] or hosts[i][0] < 0)
               for i, role in enumerate(roles))


def frames_needed(shot):
    """(frames, before): to be sampled for the bake, and for the velocity at its start."""
    s, roles = shot.settings, roles_of(shot)
    last = shot.frame_end - (shot.frame_end - shot.frame_start) % shot.frame_step
    led = shot.follow_at or any(follows(shot, bone) for bone, role in zip(shot.bones, roles)
                                if role == "DYNAMIC")
    moving = (led or "DRIVEN" in roles or any(c.moves for c in shot.colliders) or
              shot.object_moves or _animation_matters(shot, roles))
    before = list(range(shot.frame_start - 4, shot.frame_start + 5)) if s.start_velocity else []
    return list(range(shot.frame_start, last + 1 if moving else shot.frame_start + 1)), before


def _follow(shot, bone):
    """How fast springs pull a bone towards its animation, Hz: at every sampled frame, or one number
    for all. The bone's own value counts, else the armature's, else the preset's."""
    s = shot.settings
    own = shot.follow_at.get(bone.own) or [bone.settings.follow]
    common = shot.follow_at.get("") or [s.follow]

    out = []
    for n in range(max(len(own), len(common))):
        given = (own[n % len(own)], common[n % len(common)], PRESETS[s.preset]["follow"])
        out.append(next(hertz for hertz in given if hertz >= 0))
    return out


def follows(shot, bone):
    """Whether springs pull a bone towards its animation in some frame."""
    return max(_follow(shot, bone)) > 0


def check_scale(name, objects, frames=()):
    """Refuses an object that is squeezed, mirrored or gone, or grows. objects: [frame][16]."""
    size, last = 0.0, None
    for n in range(0, len(objects), 16):
        m = objects[n:n + 16]
        if m == last:
            continue
        last, three = m, scales(m)
        words = f"The armature '{name}' is scaled by {said(three)}"
        words += f" at frame {frames[n // 16]}" if n else ""
        if max(three) <= 0:
            raise Refused(f"{words}. Give it a size")
        if not is_even(three):
            raise Refused(f"{words}, not alike along all axes. Apply its scale (Object > Apply > "
                          "Scale), then try again")
        if spanned(m) < 0:
            raise Refused(f"The armature '{name}' is mirrored (a negative scale). Apply its scale "
                          "(Object > Apply > Scale), then try again")
        size = size or sum(three) / 3
        if abs(sum(three) / 3 - size) > EVEN * size:
            raise Refused(f"{words}, and by {size:.4g} at frame {frames[0]}. Bones do not grow: "
                          "choose frames in which its scale stays the same")


def check(shot):
    """Refuses what would come out wrong, in words that help."""
    if shot.frame_end <= shot.frame_start:
        raise Refused(f"The range ends at frame {shot.frame_end}, "
                      f"but it starts at {shot.frame_start}")
    if shot.frame_end - shot.frame_start < shot.frame_step:
        raise Refused(f"The step of {shot.frame_step} frames is longer than the range, "
                      f"{shot.frame_start} to {shot.frame_end}")
    check_scale(shot.name, shot.objects, shot.frames)
    for i, bone in enumerate(shot.bones):
        _stretch(shot, i, bone)


def scale_at(shot, i, sample=0):
    """Along the three axes of a bone, as it stands."""
    k = 16 * (sample * len(shot.bones) + i)
    return scales(shot.poses[k:k + 16])


def _stretch(shot, i, bone):
    """Takes the scale that a bone has in its parent where it is not that of its own channels. What
    constraints stretch is as long as they make it, and scaled alike along all axes: its keys have
    no other scale, and they are muted."""
    inherits = bone.parent >= 0 and not bone.flags & rigs.KEEPS_SCALE
    up = scale_at(shot, bone.parent) if inherits else (1.0, 1.0, 1.0)
    if min(up) <= 0 or not is_even(up) and not shot.bones[bone.parent].constrained:
        return                              # gone, or nothing to compare with
    now = tuple(v / up[1] for v in scale_at(shot, i))
    if any(abs(v - abs(w)) > EVEN * v for v, w in zip(now, bone.scale)):
        bone.scale, bone.stretched = (now[1],) * 3 if bone.constrained else now, True


def _uneven(bone, three, frame):
    hint = "Clear the keys of its scale" if bone.scales else "Clear its scale (Alt+S)"
    if bone.stretched or bone.constrained:
        hint = "Mute the constraints that stretch it"
    return Refused(f"The bone '{bone.name}' is scaled by {said(three)} at frame {frame}, not alike "
                   f"along all axes, and others hang from it. {hint}, then bake again")


def _check_scales(shot, roles, hosts, bones):
    """Refuses bones that are stretched, or grow, where what hangs from them would come off."""
    hung = [i for i, bone in enumerate(bones) if bone.channels and roles[i] != "NONE"]
    near = {shot.bones[i].parent for i in hung} | {hosts[i][0] for i in hung}
    for i in sorted((near | _above(shot.bones, hung)) - {-1}):
        bone, first = shot.bones[i], scale_at(shot, i)
        if not bones[i].flags & rigs.POSED:
            if not is_even(bone.scale, STRETCH if bone.stretched else EVEN):
                raise _uneven(bone, bone.scale, shot.frames[0])
            continue
        for n, frame in enumerate(shot.frames if i in near else ()):    # these have the others'
            now = scale_at(shot, i, n)
            if not is_even(now, STRETCH if n or bone.constrained else EVEN):
                raise _uneven(bone, now, frame)
            if abs(sum(now) - sum(first)) > STRETCH * sum(first):
                raise Refused(f"The bone '{bone.name}' is scaled by {sum(now) / 3:.4g} at frame "
                              f"{frame}, and by {sum(first) / 3:.4g} at frame {shot.frames[0]}, "
                              "and simulated bones hang from it. Bones do not grow: clear the keys "
                              "of its scale, or choose frames in which it stays the same")


# ---- shapes and masses ----

def capsule_of(length, radius):
    """(length between the caps, radius) of a bone's capsule; radius 0: from its length."""
    radius = min(max(radius or THICKNESS * length, 0.02 * length), 0.6 * length)
    return max(length - 2 * radius, 0.1 * length), radius


def _given_mass(bone):
    """The mass that a bone is given, kg; 0: none. The panel's number is single precision: where it
    is that of the robot's document, the document's counts."""
    given, of_robot = bone.settings.mass, bone.robot.mass if bone.robot else 0.0
    return of_robot if abs(given - of_robot) <= 1e-6 * of_robot else given


def _sizes(shot, roles):
    """(length, radius, mass) per bone with a body, in SI units."""
    s, out, volumes = shot.settings, {}, {}
    object_scale = sum(scales(shot.objects[:16])) / 3
    for i, bone in enumerate(shot.bones):
        if roles[i] == "NONE":
            continue
        grown = object_scale * scale_at(shot, i)[1] * shot.unit
        length = bone.length * grown
        middle, radius = capsule_of(length, (bone.settings.radius or bone.thickness) * grown)
        volumes[i] = math.pi * radius ** 2 * (middle + 4 / 3 * radius)
        if s.mass_from == "MESH" and bone.volume > 0:
            volumes[i] = bone.volume * (object_scale * shot.unit) ** 3
        out[i] = [middle, radius, _given_mass(bone)]
    free = sum(volumes[i] for i in out if not out[i][2])
    given = sum(out[i][2] for i in out)
    density = s.density
    if s.total_mass > given and free > 0:
        density = (s.total_mass - given) / free
    for i, size in out.items():
        size[2] = size[2] or density * volumes[i]
    return out


def _body(shot, i, role, size, pose):
    bone, (length, radius, mass) = shot.bones[i], size
    body = documents.Body(
        name=bone.name, mass=mass, position=list(pose[:3]), orientation=list(pose[3:7]),
        shape={"type": "capsule", "length": length, "radius": radius})
    if role in ("DRIVEN", "PINNED"):
        body.motion = "driven" if role == "DRIVEN" else "fixed"
    body.collide = True if bone.settings.collide else None
    if bone.robot and bone.robot.inertia:   # as its document has it; it touches with its end
        grown = sum(scales(shot.objects[:16])) / 3
        body.inertia = [v * grown ** 2 for v in turned(bone.robot.inertia, QUARTER)]
        body.shape, body.contacts = None, [list(_place(shot, i, (0.0, 2 * half(shot, i), 0.0)))]
        body.estimated = bone.robot.estimated or None
        if body.estimated == "mass" and mass != bone.robot.mass:        # the user's own mass
            body.estimated = "inertia"
    return body


def _soft(shot, i, host, size, pose, gravity):
    """A soft mass that its weight pulls `softness` of its length off its place: c x^3 = m g. It
    turns like a ball, for its axes are those of the bone it hangs on."""
    bone, (length, radius, mass) = shot.bones[i], size
    sag = max(bone.settings.softness, 1e-3) * (length + 2 * radius)
    c, damping = mass * gravity / sag ** 3, PRESETS["SOFT"]["damping"]
    spring = 3 * mass * gravity / sag         # c x^3 about the sag: 3 c sag^2
    d = 2 * damping * math.sqrt(spring * mass)
    inertia = 0.4 * mass * (length / 2 + radius) ** 2
    turn = spring / mass * inertia            # as fast as it moves
    return documents.Wobble(
        name=bone.name, body=host, mass=mass, position=list(pose[:3]), inertia=[inertia] * 3,
        axis=list(q_rotate(pose[3:7], (0, 0, 1))),
        longitudinal={"c": c, "d": d}, transversal={"c": c, "d": d},
        angular={"a": turn, "b": 2 * damping * math.sqrt(turn * inertia)})


# ---- joints ----

def _basis_now(shot, i):
    """How far a bone is turned from rest, seen from its parent, at the first sample."""
    bone, p = shot.bones[i], shot.bones[i].parent
    now, rest = q_of(shot.poses[16 * i:16 * i + 16]), q_of(bone.rest)
    if p < 0 or bone.flags & rigs.KEEPS_ROTATION:
        return q_mul(q_conj(rest), now)
    up, up_rest = q_of(shot.poses[16 * p:16 * p + 16]), q_of(shot.bones[p].rest)
    return q_mul(q_conj(q_mul(up, q_mul(q_conj(up_rest), rest))), now)


AXES = {"X": (1.0, 0.0, 0.0), "Y": (0.0, 1.0, 0.0), "Z": (0.0, 0.0, 1.0)}


def _rest_bend(shot, i):
    """(axis in the bone, angle) by which a bone is bent from its parent's line at rest."""
    bone, p = shot.bones[i], shot.bones[i].parent
    if p < 0:
        return AXES["X"], 0.0
    rest = q_of(bone.rest)
    up = q_rotate(q_conj(rest), q_rotate(q_of(shot.bones[p].rest), (0, 1, 0)))
    axis = cross(up, (0, 1, 0))
    return axis, math.atan2(norm(axis), up[1])


def _free_axes(bone):
    """The axes that the rig lets turn, and their ranges (None: all round)."""
    free = {}
    for axis in "XYZ":
        low_high = bone.limits.get(axis)
        if axis in bone.locked or low_high and low_high[1] - low_high[0] < math.radians(1):
            continue
        free[axis] = low_high if low_high and low_high[1] - low_high[0] < 2 * math.pi else None
    return free


def _has_rig_limits(bone):
    return bool(bone.limits or bone.locked)


def _hinge(shot, i, joint, pose, axis, low_high):
    """A hinge about an axis of the bone as it stands; angles count from rest in the rig, from the
    start in the document."""
    now = twist_about(_basis_now(shot, i), axis)
    joint.type = "hinge"
    joint.axis = list(q_rotate(q_mul(pose[3:7], QUARTER), axis))
    if low_high:
        joint.limits = [low_high[0] - now, low_high[1] - now]


def _universal(shot, i, joint, pose, first, second, ranges):
    """Turns about the first axis of the rest pose, then about the second of the bone. A range of a
    whole turn is no limit."""
    basis, world = _basis_now(shot, i), q_mul(pose[3:7], QUARTER)
    now = [twist_about(basis, AXES[axis]) for axis in (first, second)]
    joint.type = "universal"
    joint.axis = list(q_rotate(q_mul(world, q_about(AXES[second], -now[1])), AXES[first]))
    joint.axis2 = list(q_rotate(world, AXES[second]))
    if any(ranges):
        joint.limits = [[span[0] - at, span[1] - at] if span else [-math.pi, math.pi]
                        for span, at in zip(ranges, now)]


def _ball(shot, i, joint, pose, parent_pose, head, limits):
    """limits: (centre x, centre z, cone, twist low, twist high) from rest; None: free."""
    if limits is None:
        joint.anchor = list(head)
        return
    x, z, cone, low, high = limits
    centre = q_mul(q_about(AXES["Z"], z), q_about(AXES["X"], x))
    rest = q_mul(q_mul(pose[3:7], QUARTER), q_conj(_basis_now(shot, i)))
    middle = q_mul(q_mul(rest, centre), q_conj(QUARTER))
    back = q_conj(parent_pose[3:7])
    joint.frames = [
        {"position": list(q_rotate(back, [a - b for a, b in zip(head, parent_pose[:3])])),
         "orientation": list(q_mul(back, middle))},
        {"position": list(q_rotate(q_conj(pose[3:7]), [a - b for a, b in zip(head, pose[:3])])),
         "orientation": [1.0, 0.0, 0.0, 0.0]}]
    joint.anchor = None
    joint.limits = {"cone": min(cone, math.pi), "twist": [low, high]}


def _ball_limits(free):
    """Cone and twist of the rig's limits, from rest. The cone is the larger of the two ranges;
    where one of the two axes is free, the range of the other."""
    spans = [free.get(axis) or (0.0, 0.0) for axis in "XZ"]
    low, high = free.get("Y") or ((-1e-3, 1e-3) if "Y" not in free else (-math.pi, math.pi))
    cone = max((high - low) / 2 for low, high in spans)
    if not any(free.get(axis) for axis in "XZ"):
        cone = math.pi if "X" in free or "Z" in free else 1e-3
    if cone >= math.pi and high - low >= 2 * math.pi:
        return None
    return sum(spans[0]) / 2, sum(spans[1]) / 2, cone, low, high


def _joint_limited(shot, i, joint, pose, parent_pose, head):
    """As the rig's own limits have it."""
    bone, free = shot.bones[i], _free_axes(shot.bones[i])
    kind = bone.settings.joint
    if kind == "AUTO":
        kind = ("FIXED", "HINGE", "UNIVERSAL", "BALL")[len(free)]
    if kind == "FIXED":
        joint.type = "fixed"
    elif kind == "HINGE":
        named = bone.settings.axis
        axis = named if named != "AUTO" else next(iter(free), "X")
        _hinge(shot, i, joint, pose, AXES[axis], bone.limits.get(axis))
    elif kind == "UNIVERSAL":
        second, first = sorted((list(free) + [a for a in "XZ" if a not in free])[:2],
                               key=bone.order.index)    # the last angle turns the others
        _universal(shot, i, joint, pose, first, second, [free.get(first), free.get(second)])
    else:
        _ball(shot, i, joint, pose, parent_pose, head, _ball_limits(free))


def _coordinate(shot, i):
    """Where a robot's joint stands at the start, rad or m: angles as they are keyed, turns and
    all, where the bone's mode has angles."""
    robot = shot.bones[i].robot
    axis = "XYZ".index(robot.axis)
    if robot.kind == "hinge" and shot.bones[i].rotation in (rigs.QUATERNION, rigs.AXIS_ANGLE):
        return robot.sign * angle_about(q_of(shot.basis[16 * i:16 * i + 16]), axis)
    if robot.kind == "hinge":
        return robot.sign * shot.bones[i].near[axis]
    grown = sum(scales(shot.objects[:16])) / 3 * shot.unit
    return robot.sign * grown * shot.basis[16 * i + 12 + axis]


def _joint_of_robot(shot, i, joint, pose, _parent_pose, _head):
    """As the robot's document has it; coordinates of the scene are zero at the start."""
    robot = shot.bones[i].robot
    joint.type, joint.name = robot.kind if robot.turns else "fixed", robot.joint or joint.name
    if robot.kind not in ("hinge", "slide"):
        return
    along = [robot.sign * v for v in AXES[robot.axis]]
    joint.axis = list(q_rotate(q_mul(pose[3:7], QUARTER), along))
    if robot.limits:
        grown = sum(scales(shot.objects[:16])) / 3 * shot.unit if robot.kind == "slide" else 1.0
        now = _coordinate(shot, i)
        joint.limits = [v * grown - now for v in robot.limits]


def grown_mimic(mimic, kind, leader, size):
    """What a joint goes with, of a robot that is scaled: lengths grow, angles do not. kind, leader:
    of the joint, and of the one that it goes with."""
    own, of = (size if each == "slide" else 1.0 for each in (kind, leader))
    return {"joint": mimic["joint"], "multiplier": mimic["multiplier"] * own / of,
            "offset": mimic["offset"] * own}


def _mimics(shot, scene):
    """Joints that go with others, in coordinates that are zero at the start."""
    known = {joint.name: joint for joint in scene.joints}
    at = {bone.robot.joint: i for i, bone in enumerate(shot.bones) if bone.robot}
    size = sum(scales(shot.objects[:16])) / 3
    for bone in shot.bones:
        mimic = bone.robot.mimic if bone.robot else None
        if not mimic or bone.robot.joint not in known or mimic["joint"] not in known:
            continue
        i, leader = at[bone.robot.joint], at[mimic["joint"]]
        grown = grown_mimic(mimic, bone.robot.kind, shot.bones[leader].robot.kind, size)
        grown["offset"] += grown["multiplier"] * _coordinate(shot, leader) - _coordinate(shot, i)
        known[bone.robot.joint].mimic = grown


def _custom_range(bone):
    """The angles of its panels."""
    low, high = bone.settings.limit_low, bone.settings.limit_high
    if low > high:
        raise Refused(f"The joint of '{bone.own}' turns from {math.degrees(low):.4g}° to "
                      f"{math.degrees(high):.4g}°. Set From below To, in its panel")
    return low, high


def _goes_on(shot, i):
    """Whether a bone is the rest of its parent, in line and of its name: Rigify cuts limbs."""
    own, up = shot.bones[i], shot.bones[shot.bones[i].parent]
    stem = re.match(r"(DEF-.*)\.\d+$", own.name)
    return bool(stem and own.connected and re.sub(r"\.\d+$", "", up.name) == stem[1] and
                part_of(shot.bones, i) in ("hip", "shoulder", "hinge") and
                _rest_bend(shot, i)[1] < STRAIGHT)


def _joint_guessed(shot, i, joint, pose, parent_pose, head):
    """As bodies usually move, by the name of the bone and the bend of the rig at rest."""
    bone, part = shot.bones[i], part_of(shot.bones, i)
    kind, given = bone.settings.joint, bone.settings
    if shot.settings.preset == "TAIL":
        part = "tail"
    led = follows(shot, bone)               # what it follows knows better than a guess
    if kind == "AUTO":
        kind = "HINGE" if part == "hinge" and not led else "BALL"
        if not led and part != "tail" and _goes_on(shot, i):
            kind = "FIXED"
    custom = given.limits == "CUSTOM"
    if kind == "FIXED":
        joint.type = "fixed"
    elif kind == "HINGE":
        axis, bend = _rest_bend(shot, i)
        low_high = (-math.radians(5), HINGE_RANGE)
        if given.axis != "AUTO" or bend < STRAIGHT:
            axis = AXES[given.axis if given.axis != "AUTO" else "X"]
        else:
            low_high = (-bend, HINGE_RANGE - bend)
        if custom:
            low_high = _custom_range(bone)
        _hinge(shot, i, joint, pose, axis, None if given.limits == "NONE" else low_high)
    elif kind == "UNIVERSAL":
        span = _custom_range(bone) if custom else (-0.8, 0.8)
        span = None if given.limits == "NONE" else span
        _universal(shot, i, joint, pose, "X", "Z", [span, span])
    else:
        cone, twist = (math.radians(a) for a in RANGES.get(part, RANGES["other"]))
        if custom:
            cone, twist = given.cone, given.twist
        elif led:                           # wide, but it does not turn over
            cone, twist = WIDE
        limits = None if given.limits == "NONE" else (0.0, 0.0, cone, -twist, twist)
        _ball(shot, i, joint, pose, parent_pose, head, limits)


def _joint(shot, i, up, pose, parent_pose, size, weight):
    """The joint of a bone's head; its friction: a share of what the bone's weight turns it with."""
    bone, s = shot.bones[i], shot.settings
    reach = size[0] / 2 + size[1]
    head = [p + d for p, d in zip(pose[:3], q_rotate(pose[3:7], _place(shot, i)))]
    joint = documents.Joint(type="ball", name=f"{bone.name}.joint", anchor=head,
                            bodies=[shot.bones[up].name if up >= 0 else THE_WORLD, bone.name])
    guess = not _has_rig_limits(bone) or bone.settings.limits in ("CUSTOM", "NONE")
    place = _joint_guessed if guess else _joint_limited
    if bone.robot and bone.settings.joint == "AUTO":
        place = _joint_of_robot
    place(shot, i, joint, pose, parent_pose, head)
    if joint.type == "fixed":
        joint.anchor = list(pose[:3])
    share = 0.06 * PRESETS[s.preset]["friction"] * s.friction * bone.settings.friction
    if joint.type != "fixed":
        joint.friction = share * size[2] * weight * reach
    return joint


def _place(shot, i, at=(0.0, 0.0, 0.0)):
    """A point of a bone, from its head in its axes, m: in its body, whose origin is its centre of
    mass (in the middle, where a robot does not say otherwise)."""
    bone, middle = shot.bones[i], (0.0, half(shot, i), 0.0)
    if bone.robot and bone.robot.com and bone.robot.inertia:
        grown = sum(scales(shot.objects[:16])) / 3 * shot.unit
        middle = [v * grown for v in bone.robot.com]
    return q_rotate(QUARTER, [a - b for a, b in zip(at, middle)])


def half(shot, i):
    """Half the length of a bone, metres, as it stands."""
    grown = sum(scales(shot.objects[:16])) / 3 * shot.unit
    return 0.5 * shot.bones[i].length * grown * scale_at(shot, i)[1]


# ---- the whole ----

@dataclass
class Build:
    """A scene, the rig that reads and shows it, and what belongs to what."""
    scene: documents.Scene
    rig: rigs.Rig
    roles: List[str]
    body_of: Dict[str, int]                 # by name, in the order of the track
    parts: List[int]                        # bones with bodies of their own that get keys
    warnings: List[str] = field(default_factory=list)
    writer: Any = None                      # the rig that shows bones, those that ride along too

    def __post_init__(self):
        self.writer = self.writer or self.rig

    @property
    def bones(self):
        return self.writer.bones

    @property
    def body_count(self):
        return len(self.body_of)


def _offset(shot, i):
    return (*_place(shot, i), *QUARTER)


def _moved(shot, roles):
    """Bones that physics moves, itself or from above, or keys hold where they are pinned."""
    out = set()
    for i, bone in enumerate(shot.bones):
        pinned = roles[i] == "PINNED" and bone.settings.role == "PINNED"
        if pinned or roles[i] in ("DYNAMIC", "SOFT") or bone.parent in out:
            out.add(i)
    return out


def _channels(shot, i):
    """Those that keys of a bone may have."""
    bone, channels = shot.bones[i], shot.settings.channels
    if bone.connected:
        channels &= ~rigs.LOCATION          # Blender takes no location of a connected bone
    if channels and bone.robot and bone.robot.turns:
        channels &= rigs.LOCATION if bone.robot.kind == "slide" else rigs.ROTATION
    return channels


def _stirs(shot, i):
    """Whether keys or drivers move a bone."""
    values = (shot.basis[k::16 * len(shot.bones)] for k in range(16 * i, 16 * i + 16))
    return any(max(each) - min(each) > STIRS for each in values)


def _riders(shot, roles, hosts, moved):
    """{bone: host}: bones without a body that keys hold to the host's body, as they stand at the
    first frame. Those between bodies that constraints move, or keys where what is connected to them
    could not make up for it; and those that deform with a body, but hang from the twin of it."""
    out, bones, moved = {}, shot.bones, set(moved)
    between = {a for a in _above(bones, [i for i, role in enumerate(roles) if role != "NONE"])
               if roles[a] == "NONE"}
    fixed = {bone.parent for i, bone in enumerate(bones)
             if (roles[i] != "NONE" or i in between) and not _channels(shot, i) & rigs.LOCATION}
    for i, bone in enumerate(bones):
        host, twin = hosts[i]
        if roles[i] == "NONE" and host in moved:
            along = bone.parent in moved
            if along and i in between:
                rides = bone.constrained or bone.scales or i in fixed and _stirs(shot, i)
            else:
                rides = twin and bone.deform and (bone.constrained or not along)
            if rides and min(scale_at(shot, i) + scale_at(shot, host)) > 0:
                out[i] = host
        if i in out or bone.parent in moved:
            moved.add(i)
    return out, moved


def _ride(shot, i, host):
    """Where a bone is in the body of another, at the first frame."""
    a, b = (shot.poses[16 * k:16 * k + 16] for k in (host, i))
    grown, back = sum(scales(shot.objects[:16])) / 3 * shot.unit, q_conj(q_of(a))
    head = q_rotate(back, [grown * (y - x) for x, y in zip(a[12:15], b[12:15])])
    return (*_place(shot, host, head), *q_mul(QUARTER, q_mul(back, q_of(b))))


def make_rig(shot, roles, hosts):
    """Bones for the library; bodies count as in the scene: links, colliders, soft masses."""
    hard = [i for i, role in enumerate(roles) if role not in ("NONE", "SOFT")]
    soft = [i for i, role in enumerate(roles) if role == "SOFT"]
    solid = [c.name for c in shot.colliders if c.kind != "PLANE" or c.moves]
    names = [shot.bones[i].name for i in hard] + [_collider_name(shot, n) for n in solid]
    names += [shot.bones[i].name for i in soft]
    body_of = {name: k for k, name in enumerate(names)}
    bones = []
    riders, moved = _riders(shot, roles, hosts, _moved(shot, roles))
    for i, bone in enumerate(shot.bones):
        on = riders.get(i, i if roles[i] != "NONE" else -1)     # the bone whose body it shows
        bones.append(rigs.Bone(
            rest=bone.rest, parent=bone.parent, rotation=bone.rotation,
            flags=bone.flags if i in moved else bone.flags | rigs.POSED,
            body=body_of[shot.bones[on].name] if on >= 0 else -1,
            offset=_ride(shot, i, on) if i in riders else _offset(shot, i),
            channels=_channels(shot, i) if i in moved and on >= 0 else 0,
            scale=sum(bone.scale) / 3 or 1.0, near=bone.near))  # 0: hidden so
    return bones, body_of, [i for i, bone in enumerate(bones) if bone.channels and i not in riders]


def _reader(bones, roles, unit, library):
    """The rig that tells poses of bodies: each by the bone that has it."""
    own = [bone if roles[i] != "NONE" else replace(bone, body=-1, channels=0)
           for i, bone in enumerate(bones)]
    return rigs.Rig(own, unit, library)


def keyed(shot):
    """Names of the bones that get keys."""
    roles = roles_of(shot)
    bones, _body_of, _parts = make_rig(shot, roles, _hosts_of(shot, roles))
    return [bone.own for bone, data in zip(shot.bones, bones) if data.channels]


def _soft_offsets(shot, roles, hosts, bones, body_of, poses):
    """A soft mass has the axes of the bone it hangs on; its bone is turned in them."""
    for i, role in enumerate(roles):
        if role != "SOFT":
            continue
        k, h = (7 * body_of[shot.bones[n].name] for n in (i, hosts[i][0]))
        own, back = poses[k + 3:k + 7], q_conj(poses[h + 3:h + 7])
        head = q_rotate(q_mul(back, own), (0, 0, -half(shot, i)))
        bones[i].offset = (*head, *q_mul(back, q_mul(own, QUARTER)))


def _collider_name(shot, name):
    taken = name == THE_WORLD or any(bone.name == name for bone in shot.bones)
    return f"{name} (object)" if taken else name


def _colliders(shot, scene, library):
    """Adds the obstacles to the scene. [(name, ground)] of those that are planes."""
    planes = []
    for collider in shot.colliders:
        one = rigs.Rig([rigs.Bone(rest=rigs.STILL, body=0)], shot.unit, library)
        poses = one.poses(collider.matrices, 1, rigs.STILL)
        first = list(poses[:7])
        size, name = list(collider.size), _collider_name(shot, collider.name)
        shape = {"type": "box", "size": size}
        if collider.kind == "PLANE":
            shape = None
            scene.ground.append(documents.Ground(
                point=first[:3], normal=list(q_rotate(first[3:7], (0, 0, 1))),
                friction=shot.settings.ground_friction, body=name if collider.moves else None))
            planes.append((collider.name, scene.ground[-1]))
            if not collider.moves:
                continue
        elif collider.kind == "SPHERE":
            shape = {"type": "sphere", "radius": max(size) / 2}
        elif collider.kind in ("CAPSULE", "CYLINDER"):
            radius = max(size[0], size[1]) / 2
            caps = 2 * radius if collider.kind == "CAPSULE" else 0.0
            shape = {"type": collider.kind.lower(), "radius": radius,
                     "length": max(size[2] - caps, 1e-3 * radius)}
        body = documents.Body(name=name, shape=shape)
        place(body, rows_of(poses, 7, 0), shot.sampled, not collider.moves)
        scene.bodies.append(body)
    return planes


def rows_of(poses, width, at):
    """Seven numbers a sample, from there on in each of that width."""
    return [list(poses[n + at:n + at + 7]) for n in range(0, len(poses), width)]


def place(body, rows, rate, stands):
    """A body that stands, or goes its own way."""
    if stands:
        body.motion, body.position, body.orientation = "fixed", rows[0][:3], rows[0][3:]
        return
    body.motion, body.position, body.orientation = "driven", None, None
    body.curve = {"time": [n / rate for n in range(len(rows))],
                  "position": [row[:3] for row in rows], "orientation": [row[3:] for row in rows]}


def _height(pose, size, point, normal):
    """How far the lower end of a capsule's axis is above a plane, metres."""
    along = q_rotate(pose[3:7], (0, 0, size[0] / 2))
    return dot([a - b for a, b in zip(pose[:3], point)], normal) - abs(dot(along, normal))


def _below(shot, roles, sizes, poses, body_of, plane):
    """[(height, bone)]: simulated bones that start below a plane."""
    found = []
    for i, size in sizes.items():
        k = 7 * body_of[shot.bones[i].name]
        height = _height(poses[k:k + 7], size, plane.point, plane.normal)
        if height < -0.1 * size[1] and roles[i] == "DYNAMIC":
            found.append((height, shot.bones[i].own))
    return found


def _below_words(shot, below, what, remedy):
    """The warning about bones that start below a plane; none where there are none."""
    if not below:
        return []
    low, name = min(below)
    more = f" (and {len(below) - 1} more)" if len(below) > 1 else ""
    return [f"The bone '{name}'{more} starts {-low / shot.unit:.3g} below {what}, which then "
            f"holds it at that depth. {remedy}"]


def _ground(shot, roles, scene, sizes, poses, body_of):
    """The floor, level whatever gravity is; bones that would start in it are as thin as it takes.
    What to warn of: bones that start below it."""
    s = shot.settings
    if not s.ground:
        return []
    floor = documents.Ground(
        point=[0.0, 0.0, s.ground_height * shot.unit], normal=[0.0, 0.0, 1.0],
        friction=s.ground_friction, restitution=s.bounce if s.bounce > 0 else None)
    scene.ground.insert(0, floor)

    below = _below(shot, roles, sizes, poses, body_of, floor)
    for i, size in sizes.items():
        k = 7 * body_of[shot.bones[i].name]
        height = _height(poses[k:k + 7], size, floor.point, floor.normal)
        if 0.1 * size[1] < height < size[1] and not (shot.bones[i].robot and
                                                     shot.bones[i].robot.inertia):
            size[1] = height
    return _below_words(shot, below, "the ground",
                        "Lower the ground's height, or lift the armature")


def _extent(shot):
    """The largest distance of a bone's head from the first one's, metres."""
    grown = sum(scales(shot.objects[:16])) / 3 * shot.unit
    first = shot.bones[0].rest[12:15]
    return grown * max(math.dist(bone.rest[12:15], first) for bone in shot.bones)


def _plane_words(shot, planes, below_of):
    """What to warn of planes: bones that start behind them, and edges that are not there."""
    words = []
    edges = {c.name: sorted(c.size)[1] for c in shot.colliders if c.kind == "PLANE"}
    for name, plane in planes:
        words += _below_words(shot, below_of(plane), f"the plane '{name}'",
                              "Move the plane or the armature, or turn the plane")
        if edges[name] < _extent(shot):
            words.append(f"The plane '{name}' is {edges[name]:.3g} m wide, but acts as one without "
                         "end. Give it some thickness, and it ends where its mesh does")
    return words


def _prop_words(shot, roles):
    """What to warn of: objects that hang on bones which physics moves."""
    moved = {shot.bones[i].own for i in _moved(shot, roles)}
    obstacles = {collider.name for collider in shot.colliders}
    hung = [(name, bone) for name, bone in shot.props if bone in moved]
    words = [f"The obstacle '{name}' hangs on the simulated bone '{bone}'. As an obstacle it moves "
             "as in the animation, not as simulated: take it out of the collection"
             for name, bone in hung if name in obstacles]
    loose = [pair for pair in hung if pair[0] not in obstacles]
    if loose:
        name, bone = loose[0]
        more = f" (and {len(loose) - 1} more objects)" if len(loose) > 1 else ""
        words.append(f"'{name}'{more} moves with the bone '{bone}', but has no weight and touches "
                     "nothing. Add its weight to the bone's mass if it matters")
    return words


def build(shot, library=None):
    """The scene as it stands at the first frame, without velocities and curves, and the rig."""
    check(shot)
    roles = roles_of(shot)
    hosts = _hosts_of(shot, roles)
    bones, body_of, parts = make_rig(shot, roles, hosts)
    _check_scales(shot, roles, hosts, bones)
    rig = _reader(bones, roles, shot.unit, library)
    poses = rig.poses(shot.poses[:16 * len(bones)], len(body_of), shot.objects[:16])
    if "SOFT" in roles:
        _soft_offsets(shot, roles, hosts, bones, body_of, poses)
        rig = _reader(bones, roles, shot.unit, library)
    sizes, s, weight = _sizes(shot, roles), shot.settings, norm(shot.gravity) or 9.81
    scene = documents.Scene(name=shot.name, gravity=list(shot.gravity))
    warnings = _pieces(shot, roles, hosts) + _ground(shot, roles, scene, sizes, poses, body_of)
    for i, role in enumerate(roles):
        if role == "NONE":
            continue
        k = 7 * body_of[shot.bones[i].name]
        pose = list(poses[k:k + 7])
        up = hosts[i][0]
        if role == "SOFT":
            host = shot.bones[up].name
            scene.wobble.append(_soft(shot, i, host, sizes[i], pose, weight))
            continue
        scene.bodies.append(_body(shot, i, role, sizes[i], pose))
        held = role == "DYNAMIC" and shot.bones[i].robot and shot.bones[i].robot.turns
        if up >= 0 and "DYNAMIC" in (role, roles[up]):
            k = 7 * body_of[shot.bones[up].name]
            scene.joints.append(_joint(shot, i, up, pose, list(poses[k:k + 7]), sizes[i], weight))
        elif up < 0 and held:               # a robot whose first joint is on the world
            scene.joints.append(_joint(shot, i, up, pose, list(WORLD), sizes[i], weight))
    _mimics(shot, scene)
    warnings += _plane_words(shot, _colliders(shot, scene, library),
                             lambda plane: _below(shot, roles, sizes, poses, body_of, plane))
    warnings += _prop_words(shot, roles)
    frames = range(shot.frame_start, shot.frame_end + 1, shot.frame_step)
    scene.bake = documents.BakeSettings(
        fps=shot.rate, frame_start=shot.frame_start, frame_end=shot.frame_start + len(frames) - 1,
        integrator=s.integrator, step=s.step or None, preroll=s.preroll or None)
    writer = rigs.Rig(bones, shot.unit, library)
    return Build(scene, rig, roles, body_of, parts, warnings, writer)


def matrices_for(shot, built):
    """What the library must know of bones that get no keys, or not all: [sample][bone][16]. Poses
    of those that physics does not move, the basis of the others; the rest does not matter."""
    bones, count = built.bones, len(built.bones)
    shown = [i for i, bone in enumerate(bones) if bone.channels]
    needed = {a for a in _above(shot.bones, shown) if not bones[a].channels}
    needed |= {i for i in shown if bones[i].channels != rigs.LOCATION | rigs.ROTATION and
               not shot.bones[i].connected}
    if not needed:
        return None
    out = array("f", rigs.STILL) * (len(shot.poses) // 16)
    for i in needed:
        posed = bones[i].flags & rigs.POSED
        source = shot.poses if posed else shot.basis
        for k in range(16 * i, 16 * i + (12 if shot.bones[i].connected and not posed else 16)):
            out[k::16 * count] = source[k::16 * count]
    return out


def animate(shot, built, poses, q, offsets):
    """Puts the animation into the scene: curves of driven bodies and of springs toward it.
    poses: [frame][body][7]; q: [frame][n], offsets: of each joint in q, and the end."""
    s, count = shot.settings, built.body_count
    by_name = {bone.name: bone for bone in shot.bones}
    for body in built.scene.bodies:
        if body.motion == "driven" and body.curve is None:
            rows = rows_of(poses, 7 * count, 7 * built.body_of[body.name])
            stands = body.release is None and all(row == rows[0] for row in rows)
            place(body, rows, shot.sampled, stands)
    if q is None:
        return
    width, samples = offsets[-1], len(poses) // (7 * count)
    times = [n / shot.sampled for n in range(samples)]
    damping = s.damping if s.damping >= 0 else PRESETS[s.preset]["damping"]
    for k, joint in enumerate(built.scene.joints):
        hertz = _follow(shot, by_name[joint.bodies[1]])
        stiffness = max(hertz)
        if stiffness <= 0 or joint.type == "fixed":
            continue
        first, last = offsets[k], offsets[k + 1]
        rows = [list(q[n * width + first:n * width + last]) for n in range(samples)]
        value = [row[0] for row in rows] if last - first == 1 else rows
        joint.follow = {"stiffness": stiffness, "damping": damping,
                        "curve": {"time": times, "value": value}}
        if min(hertz) < stiffness:
            # A spring of frequency f pulls in proportion to f^2.
            shares = [(each / stiffness) ** 2 for each in hertz]
            joint.follow["weight"] = {"time": times, "value": shares}


def set_velocities(built, velocities):
    """velocities: 6 per body, of all that are dynamic."""
    for body in built.scene.bodies:
        if body.motion is None:
            k = 6 * built.body_of[body.name]
            body.velocity = list(velocities[k:k + 3])
            body.angular_velocity = list(velocities[k + 3:k + 6])


def text_of(scene):
    """The document, piece by piece: a body or joint with long curves takes its time."""
    lists = {"bodies": scene.bodies, "joints": scene.joints, "wobble": scene.wobble,
             "ground": scene.ground}
    yield "{\n" + ",\n".join(f'  "{k}": {json.dumps(v, ensure_ascii=False)}'
                             for k, v in _head(scene).items())
    for name, items in lists.items():
        if not items and name != "bodies":
            continue
        yield f',\n  "{name}": ['
        for n, item in enumerate(items):
            fields = {k: v for k, v in vars(item).items() if v is not None}
            yield (",\n    " if n else "\n    ") + json.dumps(fields, ensure_ascii=False)
        yield "\n  ]"
    yield "\n}\n"


def _head(scene):
    bake = {k: v for k, v in vars(scene.bake).items() if v is not None}
    return {"format": documents.FORMAT, "name": scene.name, "gravity": scene.gravity, "bake": bake}


# ---- keys ----

@dataclass
class Channel:
    path: str
    index: int
    group: str
    keys: Any                               # floats: frame, value, frame, value, ...


PROPERTIES = {rigs.QUATERNION: "rotation_quaternion", rigs.AXIS_ANGLE: "rotation_axis_angle"}
KEYED = ("location", "scale", "rotation_euler", *PROPERTIES.values())


def escape(name):
    return name.replace("\\", "\\\\").replace('"', '\\"')


def name_channels(shot, built, keys):
    """The library's channels with the names that Blender's curves have. Bones keep the size of the
    first frame where constraints make it, or where it is animated and others hang from them."""
    out, at = [], 0
    parents = {bone.parent for bone in shot.bones}
    for i, (bone, data) in enumerate(zip(shot.bones, built.bones)):
        for name, width in zip(("location", PROPERTIES.get(data.rotation, "rotation_euler")),
                               data.widths):
            for index in range(width):
                path = f'pose.bones["{escape(bone.own)}"].{name}'
                out.append(Channel(path, index, bone.own, keys[at]))
                at += 1
        if data.channels and (bone.stretched or bone.scales and i in parents):
            first, last = keys[at - 1][0], keys[at - 1][-2]
            for index, size in enumerate(bone.scale):
                path = f'pose.bones["{escape(bone.own)}"].scale'
                held = array("f", (first, size, last, size) if last > first else (first, size))
                out.append(Channel(path, index, bone.own, held))
    return out


def pairs(frames, values):
    """Keys of numbers at frames; no arithmetic, only interleaving."""
    out = array("f", bytes(8 * len(frames)))
    out[0::2], out[1::2] = array("f", frames), array("f", values)
    return out


def columns(joint):
    """Names of the degrees of freedom of a joint, as the command `skel inverse` has them."""
    return {"hinge": ["torque"], "slide": ["force"], "universal": ["tz", "tx"],
            "ball": ["tx", "ty", "tz"], "fixed": []}[joint.type]
