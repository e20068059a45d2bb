# SPDX-License-Identifier: GPL-3.0-or-later
"""Everything that is read from Blender, as plain data that nothing changes after it is read.

A shot is one armature over a range of frames: its bones at rest, its settings, the obstacles, and
the sampled animation. Lengths are in Blender units unless a comment says otherwise, angles in rad,
matrices 16 numbers, column after column. The defaults of all settings stand here; the panels take
theirs from these classes."""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass, field, replace
from typing import Dict, Mapping, Optional, Sequence, Tuple

from .algebra import Matrix, Vector, mean_scale
from .binding import rig as rigs

WORLD = "world"             # a name that the engine reserves for itself


def _no_samples() -> array[float]:
    return array("f")


@dataclass(frozen=True)
class BoneSettings:
    """The settings of a bone. 0, negative numbers and "AUTO" leave the choice to the add-on."""
    role: str = "AUTO"                      # DYNAMIC, DRIVEN, PINNED, SOFT, NONE
    joint: str = "AUTO"                     # a key of joints.CHOICES
    axis: str = "AUTO"                      # X, Y, Z of the bone: the axis of the joint
    pitch: float = 0.1                      # of a screw: displacement per turn
    limits: str = "AUTO"                    # AUTO: from the rig; CUSTOM, NONE
    limit_low: float = math.radians(-45)    # of a hinge
    limit_high: float = math.radians(45)
    cone: float = math.radians(45)
    twist: float = math.radians(25)
    mass: float = 0.0                       # [kg]; 0: from its size
    radius: float = 0.0                     # 0: fitted to the skin, or from its length
    friction: float = 1.0                   # multiplier of the joint's default friction
    follow: float = -1.0                    # [Hz]; negative: that of the armature
    collide: bool = True                    # with bones of its own armature
    shape: str = "AUTO"                     # CAPSULE, BOX; AUTO: fitted to the skin
    shape_size: Vector = (0.2, 0.2, 0.5)    # along its axes; a capsule is as thick as its x or y
    shape_offset: Vector = (0.0, 0.25, 0.0)     # of its centre from the bone's head, bone's axes
    shape_rotation: Vector = (math.radians(-90), 0.0, 0.0)     # Euler XYZ, in the bone's axes
    softness: float = 0.05                  # of a soft bone: sag under its weight, of its length


@dataclass(frozen=True)
class Settings:
    """The settings of an armature."""
    preset: str = "RAGDOLL"                 # TAIL, FOLLOW, SOFT
    only_selected: bool = False
    channels: int = rigs.LOCATION | rigs.ROTATION
    density: float = 1000.0                 # [kg/m^3]
    total_mass: float = 0.0                 # [kg]; 0: from the density
    mass_from: str = "AUTO"                 # MESH: volume of the skin; LENGTH: of the shapes
    character_scale: float = 1.0            # multiplier of the unit of length
    join_pieces: bool = False               # join parts of the skeleton that nothing connects
    ground: bool = True
    ground_height: float = 0.0
    ground_friction: float = 0.8
    bounce: float = 0.0                     # coefficient of restitution
    start_velocity: bool = True
    follow: float = -1.0                    # [Hz]; negative: that of the preset
    damping: float = -1.0                   # ratio; negative: that of the preset
    friction: float = 1.0                   # multiplier of the joints' default friction
    integrator: str = "conserving"
    step: float = 0.0                       # [s]; 0: automatic
    preroll: float = 0.0                    # [s]
    key_tolerance: float = 0.1              # [mm] that fewer keys may change a location by; 0: none
    key_angle_tolerance: float = 0.01       # [degree] likewise of a rotation
    write_to: str = "BONES"                 # or CONTROLS: the bones that animators use
    exact_controls: bool = False            # tweak bones get keys, needed or not


@dataclass(frozen=True)
class Mimic:
    """q of a joint = multiplier * q of another joint + offset; rad and m."""
    joint: str
    multiplier: float = 1.0
    offset: float = 0.0

    def scaled(self, kind: str, source_kind: Optional[str], size: float) -> Mimic:
        """The same of a robot that is scaled by size: lengths grow, angles do not. kind,
        source_kind: of the joint, and of the joint that it mimics."""
        own, source = (size if each == "slide" else 1.0 for each in (kind, source_kind))
        return Mimic(self.joint, self.multiplier * own / source, self.offset * own)

    def fields(self) -> Dict[str, object]:
        """As in a document."""
        return {"joint": self.joint, "multiplier": self.multiplier, "offset": self.offset}


@dataclass(frozen=True)
class RobotShot:
    """The joint and the link of a bone of an imported robot."""
    joint: str = ""
    kind: str = "fixed"                     # "hinge", "slide", "ball", "free"
    axis: str = "Z"
    sign: float = 1.0
    limits: Optional[Tuple[float, float]] = None    # rad, or Blender units
    mimic: Optional[Mimic] = None
    com: Optional[Vector] = None            # from the head, in the bone's axes
    inertia: Optional[Vector] = None        # xx yy zz xy xz yz about com, bone's axes [kg m^2]
    frame: bool = False                     # a named frame, not a link
    mass: float = 0.0                       # [kg]; 0: not known
    estimated: str = ""                     # "mass", "inertia": missing in the robot's document
    drive: Optional[Tuple[float, float]] = None     # (velocity, effort): rad and m, N m and N

    @property
    def turns(self) -> bool:
        return self.kind in ("hinge", "slide", "ball")


@dataclass(frozen=True)
class BoneShot:
    name: str                               # the name of its body, too
    parent: int = -1
    length: float = 1.0                     # at rest
    rest: Matrix = ()                       # in the armature
    rotation: int = rigs.QUATERNION
    flags: int = 0
    connected: bool = False
    deform: bool = True
    selected: bool = True
    scale: Vector = (1.0, 1.0, 1.0)         # of its own channels, at the first frame
    scales: bool = False                    # its scale is animated
    slides: bool = False                    # its location is animated
    constrained: bool = False               # it has active constraints
    near: Vector = (0.0, 0.0, 0.0, 0.0)     # rotation channels at the first frame
    limits: Mapping[str, Tuple[float, float]] = field(default_factory=dict)  # "X": from rest
    locked: str = ""                        # axes that do not turn, "XZ"
    order: str = "XYZ"                      # Euler order of the limits
    robot: Optional[RobotShot] = None
    settings: BoneSettings = BoneSettings()
    label: str = ""                         # Blender's name, if that of the body differs

    @property
    def blender_name(self) -> str:
        return self.label or self.name

    @property
    def ends(self) -> Tuple[float, ...]:
        """Head and tail at rest."""
        head, along = self.rest[12:15], self.rest[4:7]
        return (*head, *(h + self.length * a for h, a in zip(head, along)))


@dataclass(frozen=True)
class SkinShot:
    """The meshes that follow the bones, at rest, in the axes and units of the armature. The bones
    that a vertex follows are bones[offsets[v]:offsets[v + 1]], with the same part of weights."""
    vertices: array[float]                  # double precision, 3 each
    triangles: array[int]                   # 3 vertices each
    offsets: array[int]
    bones: array[int]
    weights: array[float]


@dataclass(frozen=True)
class Collider:
    """An obstacle."""
    name: str
    kind: str = "BOX"                       # PLANE, SPHERE, CAPSULE, CYLINDER
    size: Vector = (1.0, 1.0, 1.0)          # [m] full edges; z is the long axis or the normal
    moves: bool = False
    exact: bool = True                      # the shape is the mesh, not only its bounding box
    matrices: array[float] = field(default_factory=_no_samples)     # [frame][16], world


@dataclass(frozen=True)
class Shot:
    """Samples are flat: [frame][bone][16] single precision numbers."""
    name: str
    bones: Tuple[BoneShot, ...]
    fps: float = 24.0
    unit: float = 1.0                       # [m] per Blender unit
    world_scale: float = 1.0                # of the armature object as it is read
    gravity: Vector = (0.0, 0.0, -9.81)     # [m/s^2]
    frame_start: int = 1
    frame_end: int = 250
    frame_step: int = 1
    settings: Settings = Settings()
    colliders: Tuple[Collider, ...] = ()
    object_moves: bool = False              # the armature object itself
    animated: bool = False                  # its bones
    frames: Sequence[float] = ()            # frames that were sampled, evenly spaced
    before: Sequence[float] = ()            # frames for the velocity at the start
    poses: array[float] = field(default_factory=_no_samples)    # of frames, in the armature
    basis: array[float] = field(default_factory=_no_samples)    # the part that keys make of them
    objects: array[float] = field(default_factory=_no_samples)  # [frame][16], world
    before_poses: array[float] = field(default_factory=_no_samples)
    before_objects: array[float] = field(default_factory=_no_samples)
    # Follow [Hz] at every sampled frame if it is animated: by bone, "" for the armature's.
    follow_at: Mapping[str, Sequence[float]] = field(default_factory=dict)
    warnings: Tuple[str, ...] = ()          # about Blender's scene
    props: Tuple[Tuple[str, str], ...] = ()     # (object, bone): meshes that are bound to bones
    skin: Optional[SkinShot] = None

    @property
    def rate(self) -> float:
        """Keys per second."""
        return self.fps / self.frame_step

    @property
    def stride(self) -> int:
        """Samples from key to key, at least one."""
        apart = self.frames[1] - self.frames[0] if len(self.frames) > 1 else self.frame_step
        return max(1, int(self.frame_step // apart))

    @property
    def sample_rate(self) -> float:
        """Samples per second."""
        return self.rate * self.stride

    @property
    def object_scale(self) -> float:
        """The scale of the armature object at the first frame."""
        return mean_scale(self.objects[:16])

    @property
    def metres(self) -> float:
        """Metres per unit of the armature's own space."""
        return self.object_scale * self.unit


def frame_rate(fps: float, fps_base: float) -> float:
    """Frames per second: seconds = frame * fps_base / fps."""
    return fps / fps_base


def name_bodies(bones: Sequence[BoneShot]) -> Tuple[BoneShot, ...]:
    """The bones; one that has the name of the world has another name in the engine."""
    taken, out = {bone.name for bone in bones}, []
    for bone in bones:
        name = bone.name
        while bone.name == WORLD and name in taken:
            name += " (bone)"
        out.append(bone if name == bone.name else replace(bone, name=name, label=bone.name))
    return tuple(out)


def ancestors(bones: Sequence[BoneShot], i: int) -> list[int]:
    """The bones above a bone, its parent first."""
    out: list[int] = []
    while bones[i].parent >= 0:
        i = bones[i].parent
        out.append(i)
    return out


def all_ancestors(bones: Sequence[BoneShot], some: Sequence[int]) -> set[int]:
    """The bones above any of some bones."""
    out: set[int] = set()
    for i in some:
        up = bones[i].parent
        while up >= 0 and up not in out:
            out.add(up)
            up = bones[up].parent
    return out
