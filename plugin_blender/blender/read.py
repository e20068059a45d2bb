# SPDX-License-Identifier: GPL-3.0-or-later
"""The only reader of Blender's scene: an armature to plain data. Writes nothing that stays.

Frames are evaluated in a scene of their own that holds the armature alone, so skinned meshes cost
nothing, and the user's scene stays on its frame."""

import json
import math
import re
from array import array

import bpy
from mathutils import Matrix, Vector

from ..core import convert, convert_ik, convert_robot
from ..core.binding import rig as rigs
from . import compat, survey

ROTATIONS = {"QUATERNION": rigs.QUATERNION, "AXIS_ANGLE": rigs.AXIS_ANGLE, "XYZ": rigs.XYZ,
             "XZY": rigs.XZY, "YXZ": rigs.YXZ, "YZX": rigs.YZX, "ZXY": rigs.ZXY, "ZYX": rigs.ZYX}
VERTICES = 4000         # of a mesh that are looked at to tell how thick a bone is
ROUND = 0.05            # of its size: what is round to this is a ball
THIN = 1e-4             # of its size: what is thinner is flat
FULL = 0.98             # of its bounding box: a mesh that fills so much of it is a box
FACES = 50000           # of a mesh that are looked at to tell what shape it is
UPRIGHT = 1e-4          # cosine of the angle between two faces that are at right angles
TIMES = ("frame_current", "frame_current_final", "frame_float", "frame_subframe")   # of a scene
SCRATCH = "skel (temporary)"
SETTINGS = r'(pose\.bones\[".*"\]\.)?(skel|skel_ik)\..*|pose\.bones\[".*"\]\.skel_\w+'    # paths
OVER_TIME = ("follow", "weight")    # those of them that may be animated


def flat(matrix):
    """16 numbers, column after column."""
    return [value for column in matrix.col for value in column]


def read_settings(ob, **wins):
    """The armature's settings; what is given by name wins."""
    p = ob.skel
    s = convert.Settings()
    for name in ("preset", "only_selected", "density", "total_mass", "mass_from", "ground",
                 "ground_height", "ground_friction", "bounce", "start_velocity", "follow",
                 "damping", "friction", "integrator", "step", "preroll"):
        setattr(s, name, getattr(p, name))
    channels = wins.pop("channels", p.channels)
    s.channels = ((rigs.LOCATION if "LOCATION" in channels else 0) |
                  (rigs.ROTATION if "ROTATION" in channels else 0))
    for name, value in wins.items():
        setattr(s, name, value)
    return s


def read_bone_settings(pose_bone):
    names = convert.BoneSettings.__dataclass_fields__
    return convert.BoneSettings(**{name: getattr(pose_bone.skel, name) for name in names})


def muted_by_bake(ob):
    """What the last bake muted, for its keys to play as computed: ["constraint", bone, name] and
    ["driver", data path, index]."""
    return json.loads(ob.skel.muted or "[]")


def is_obeyed(pose_bone, constraint):
    """Whether a constraint is a limit of the joint: one that the user muted is not, one that a bake
    muted is."""
    return constraint.type == "LIMIT_ROTATION" and constraint.owner_space == "LOCAL" and \
        constraint.influence > 0 and (
            not constraint.mute or
            ["constraint", pose_bone.name, constraint.name] in muted_by_bake(pose_bone.id_data))


def _order(pose_bone):
    """In which limits count angles: the bone's, or that of the constraint that has them."""
    order = pose_bone.rotation_mode if len(pose_bone.rotation_mode) == 3 else "XYZ"
    for constraint in pose_bone.constraints:
        if is_obeyed(pose_bone, constraint) and \
                len(getattr(constraint, "euler_order", "AUTO")) == 3:
            order = constraint.euler_order
    return order


def limits_of(pose_bone):
    """(ranges by axis, locked axes) of the first Limit Rotation constraint, else of IK."""
    for constraint in pose_bone.constraints:
        if is_obeyed(pose_bone, constraint):
            ranges = {axis: (getattr(constraint, f"min_{axis.lower()}"),
                             getattr(constraint, f"max_{axis.lower()}"))
                      for axis in "XYZ" if getattr(constraint, f"use_limit_{axis.lower()}")}
            if ranges:
                return ranges, ""
    ranges, locked = {}, ""
    for axis in "xyz":
        if getattr(pose_bone, f"lock_ik_{axis}"):
            locked += axis.upper()
        elif getattr(pose_bone, f"use_ik_limit_{axis}"):
            ranges[axis.upper()] = (getattr(pose_bone, f"ik_min_{axis}"),
                                    getattr(pose_bone, f"ik_max_{axis}"))
    return ranges, locked


def _robot(pose_bone):
    """What a bone of an imported robot says of itself; None of another's."""
    return convert_robot.robot_shot(pose_bone.name, pose_bone)


def _flags(bone):
    return ((0 if bone.use_inherit_rotation else rigs.KEEPS_ROTATION) |
            (rigs.KEEPS_SCALE if bone.inherit_scale in ("NONE", "NONE_LEGACY") else 0) |
            (0 if bone.use_local_location else rigs.PARENT_AXES))


def ordered(ob):
    """Pose bones, parents first, as their collection has them."""
    return list(ob.pose.bones)


def _tracks(data):
    """NLA tracks that play."""
    return [track for track in data.nla_tracks if not track.mute]


def _moved(ob):
    """Data paths that curves or drivers move, in the action or in strips."""
    data = ob.animation_data
    if not data:
        return set()
    actions = [data.action, *(s.action for t in _tracks(data) for s in t.strips)]
    return {d.data_path for d in data.drivers}.union(*map(compat.paths_of, filter(None, actions)))


def _follow_at(ob):
    """Bones whose Follow is animated, "" for the armature's, without samples yet."""
    paths = _moved(ob)
    places = {"": "skel.follow"}
    for bone in ob.pose.bones:
        places[bone.name] = f'pose.bones["{convert.escape(bone.name)}"].skel.follow'
    return {name: [] for name, path in places.items() if path in paths}


def is_setting(path):
    """Whether a data path is one of Skel's own settings."""
    return re.fullmatch(SETTINGS, path) is not None


def _still_settings(ob):
    """Warnings of keys and drivers, in files of earlier versions, of what takes none."""
    for path in sorted(filter(is_setting, _moved(ob))):
        if path.rsplit(".", 1)[1] not in OVER_TIME:
            yield (f"'{ob.name}' has keys or a driver of a setting that is the same in all frames: "
                   f"{path}. Remove them; Follow and the weight of a goal may be animated")


def _scaled(ob):
    """Paths of scales that curves or drivers move, in the action or in strips."""
    return {path for path in _moved(ob) if path.endswith("].scale")}


def _bones(ob):
    poses, scaled = ordered(ob), _scaled(ob)
    index = {pose_bone.name: i for i, pose_bone in enumerate(poses)}
    out = []
    for pose_bone in poses:
        bone, (ranges, locked) = pose_bone.bone, limits_of(pose_bone)
        out.append(convert.BoneShot(
            name=pose_bone.name, parent=index[bone.parent.name] if bone.parent else -1,
            length=bone.length, rest=flat(bone.matrix_local),
            rotation=ROTATIONS[pose_bone.rotation_mode], flags=_flags(bone),
            connected=bone.use_connect, deform=bone.use_deform,
            selected=compat.is_selected(pose_bone), limits=ranges, locked=locked,
            order=_order(pose_bone), robot=_robot(pose_bone),
            settings=read_bone_settings(pose_bone),
            constrained=any(not c.mute and c.influence > 0 for c in pose_bone.constraints),
            scales=f'pose.bones["{convert.escape(pose_bone.name)}"].scale' in scaled))
    return out


# ---- meshes that are bound to the bones ----

def _is_bound(ob, other):
    return any(m.type == "ARMATURE" and m.object == ob for m in other.modifiers) or \
        other.parent == ob and other.parent_type == "ARMATURE"


def _bound(ob, scene):
    for other in scene.objects:
        if other.type == "MESH" and _is_bound(ob, other):
            yield other


def _volume(mesh, to_rig):
    mesh.calc_loop_triangles()
    total = 0.0
    points = [to_rig @ v.co for v in mesh.vertices]
    for triangle in mesh.loop_triangles:
        a, b, c = (points[k] for k in triangle.vertices)
        total += a.dot(b.cross(c))
    return abs(total) / 6


def read_thickness(ob, scene, bones, with_volume):
    """Fills in how thick the bones are, from the vertices that follow them most."""
    lines = {}
    for i, bone in enumerate(bones):
        m = bone.rest
        lines[bone.name] = (i, Vector(m[12:15]), Vector(m[4:7]).normalized())
    distances, volume = {}, 0.0
    for other in _bound(ob, scene):
        to_rig = ob.matrix_world.inverted_safe() @ other.matrix_world
        groups, mesh = other.vertex_groups, other.data
        if with_volume:
            volume += _volume(mesh, to_rig)
        for k in range(0, len(mesh.vertices), max(1, len(mesh.vertices) // VERTICES)):
            vertex = mesh.vertices[k]
            best = max(vertex.groups, key=lambda g: g.weight, default=None)
            line = lines.get(groups[best.group].name) if best is not None else None
            if line:
                off = to_rig @ vertex.co - line[1]
                distances.setdefault(line[0], []).append((off - off.dot(line[2]) * line[2]).length)
    for i, found in distances.items():
        bones[i].thickness = sorted(found)[len(found) // 2]
    shares = {i: bones[i].length * bones[i].thickness ** 2 for i in distances}
    whole = sum(shares.values())
    for i, share in shares.items():
        bones[i].volume = volume * share / whole if whole else 0.0


# ---- obstacles ----

def _is_animated(data):
    return bool(data and (data.action or _tracks(data) or data.drivers))


def _moves(ob):
    return bool(ob.parent or ob.constraints or _is_animated(ob.animation_data))


def _mesh(ob):
    """Its mesh as modifiers make it."""
    if not ob.modifiers:
        return ob.data
    return ob.evaluated_get(bpy.context.evaluated_depsgraph_get()).data


def _bounds(ob):
    """(lowest, highest) corner of a mesh, in its own axes."""
    return [Vector(end(corner[k] for corner in ob.bound_box) for k in range(3))
            for end in (min, max)]


def _bounds_along(mesh, axes):
    """(lowest, highest) corner of a mesh, seen along other axes: the columns of a matrix."""
    rows = axes.transposed()
    points = [rows @ vertex.co for vertex in mesh.vertices]
    return [Vector(end(point[k] for point in points) for k in range(3)) for end in (min, max)]


def _face_axes(mesh):
    """Axes along the largest face and the largest one at right angles to it; None without faces.
    They are those of a box or a plane whose rotation was applied to its mesh."""
    if not 0 < len(mesh.polygons) <= FACES:
        return None
    face = max(mesh.polygons, key=lambda each: each.area)
    z = Vector(face.normal)
    beside = [each for each in mesh.polygons if abs(each.normal.dot(z)) < UPRIGHT]
    if beside:
        x = Vector(max(beside, key=lambda each: each.area).normal)
    else:
        a, b = (mesh.vertices[k].co for k in list(face.vertices)[:2])
        x = b - a
    x = (x - x.dot(z) * z).normalized()
    return Matrix((x, z.cross(x), z)).transposed()


def _content(low, high):
    return math.prod(b - a for a, b in zip(low, high))


def _fitted(ob, scale):
    """(axes, lowest corner, highest corner) of the box about a mesh: along the object's own axes,
    unless the mesh has others in which its box is smaller."""
    low, high = _bounds(ob)
    axes = _face_axes(_mesh(ob)) if convert.is_even(tuple(map(abs, scale))) else None
    if axes is not None:
        along = _bounds_along(_mesh(ob), axes)
        if _content(*along) < FULL * _content(low, high):
            return axes, *along
    return Matrix.Identity(3), low, high


def _kind(mesh, axes, low, high, size):
    """A ball where all vertices are as far from the middle as a ball's would be; else a box."""
    if max(size) - min(size) >= ROUND * max(size) or not mesh.vertices:
        return "BOX"
    middle, radius, rows = (low + high) / 2, (high - low) / 2, axes.transposed()
    return "SPHERE" if all(
        abs(sum(((p - m) / r) ** 2 for p, m, r in zip(rows @ v.co, middle, radius)) - 1) < ROUND
        for v in mesh.vertices) else "BOX"


def _is_box(mesh, axes, low, high):
    """Whether a mesh fills its bounding box."""
    if len(mesh.polygons) > FACES:
        return False
    middle = axes @ ((low + high) / 2)
    return _volume(mesh, Matrix.Translation(-middle)) >= FULL * _content(low, high)


def _shape(collider, world, unit):
    """Kind, size, thin axes and place of an obstacle whose object stands like this."""
    ob, scale, mesh = collider.source, world.to_scale(), _mesh(collider.source)
    axes, low, high = _fitted(ob, scale)
    size = [abs((b - a) * s) * unit for a, b, s in zip(low, high, scale)]

    # What the user chose as the shape of its rigid body wins, as far as the engine has it.
    chosen = ob.rigid_body.collision_shape if ob.rigid_body else ""
    kind = chosen if chosen in ("BOX", "SPHERE", "CAPSULE", "CYLINDER") else _kind(
        mesh, axes, low, high, size)

    turn, thin = Matrix.Identity(4), [k for k in range(3) if size[k] <= THIN * max(size)]
    if thin:
        kind = "PLANE"
        if thin[0] != 2:                    # its normal becomes z
            turn = Vector((0, 0, 1)).rotation_difference(
                Vector((1, 0, 0)) if thin[0] == 0 else Vector((0, 1, 0))).to_matrix().to_4x4()

    collider.exact = kind != "BOX" or chosen == "BOX" or _is_box(mesh, axes, low, high)
    collider.kind, collider.size, collider.thin = kind, size, thin
    collider.scale = scale
    collider.place = axes.to_4x4() @ Matrix.Translation((low + high) / 2) @ turn


def _obstacles(ob, unit):
    """Meshes to fall on; not the armature's own skin, nor what is a line or a point. Full names: a
    linked object may have the name of another."""
    found = []
    for other in ob.skel.obstacles.all_objects if ob.skel.obstacles else ():
        if other.type == "MESH" and not _is_bound(ob, other) and \
                sum(a < b for a, b in zip(*_bounds(other))) > 1:
            found.append(convert.Collider(other.name_full, source=other, moves=_moves(other)))
            _shape(found[-1], other.matrix_world, unit)
    return found


def _upright(matrix):
    """16 numbers of a place that is not mirrored, nor flat along z."""
    m = flat(matrix)
    if convert.norm(m[8:11]) <= THIN * convert.norm(m[0:3]):
        z = Vector(m[0:3]).cross(Vector(m[4:7])).normalized()
        m[8:11] = z * convert.norm(m[0:3])
    if convert.spanned(m) < 0:                  # shapes look the same from both sides
        m[:12] = [-v for v in m[:12]]
    return m


def _turn_to(collider, world, point):
    """A plane has no back: it faces what it is there for."""
    m = _upright(world @ collider.place)
    if convert.dot(m[8:11], [a - b for a, b in zip(point, m[12:15])]) < 0:
        collider.place = collider.place @ Matrix.Rotation(math.pi, 4, "X")


def _keep_obstacle(collider, shot, world, frame):
    """Where an obstacle is in a frame; in the first one, what it is."""
    is_first, scale = not collider.matrices, world.to_scale()
    if is_first and scale != collider.scale:    # else it is what it was when it was read
        _shape(collider, world, shot.unit)
    most = max(map(abs, scale))
    if len(collider.thin) > 1 or any(abs(s) <= THIN * most for k, s in enumerate(scale)
                                     if k not in collider.thin):
        raise convert.Refused(f"The obstacle '{collider.name}' has no size at frame {frame:g}. "
                              "Give it one, or take it out of the collection")
    if is_first and collider.kind == "PLANE":
        heads = [shot.poses[k + 12:k + 15] for k in range(0, len(shot.poses), 16)]
        middle = Vector(sum(values) / len(heads) for values in zip(*heads))
        place = Matrix([shot.objects[k::4] for k in range(4)])
        _turn_to(collider, world, place @ middle)
    if any(abs(a - b) > convert.EVEN * most for a, b in zip(scale, collider.scale or ())):
        collider.scale = None               # it is said once
        shot.warnings.append(f"The obstacle '{collider.name}' changes its size at frame {frame:g}. "
                             f"It keeps that of frame {shot.frames[0]:g}: bodies do not grow")
    collider.matrices.extend(_upright(world @ collider.place))


# ---- the shot ----

def _object_curves(ob):
    data = ob.animation_data
    if not data:
        return False
    if any(not d.data_path.startswith("pose.") for d in data.drivers):
        return True
    if _tracks(data):
        return True
    return bool(data.action and any(not c.data_path.startswith("pose.")
                                    for c in compat.curves_of(data.action, ob)))


def _reads_scene(variable):
    """Whether what a driver reads is another in the scene in which frames are looked at."""
    target = variable.targets[0]
    of_time = target.data_path in TIMES
    if variable.type == "CONTEXT_PROP":         # that scene goes with time, but has no settings
        return not of_time
    return variable.type == "SINGLE_PROP" and target.id_type == "SCENE" and \
        target.id is not None and bool(of_time or target.id.animation_data)


def _scene_drivers(*owners):
    """A warning for the first driver of each that is not read right."""
    for owner in dict.fromkeys(owners):
        for curve in owner.animation_data.drivers if owner.animation_data else ():
            if not curve.mute and any(map(_reads_scene, curve.driver.variables)):
                yield (f"'{owner.name}' has a driver that reads the scene, which stands still "
                       f"while frames are looked at: of {curve.data_path}. Let it use the word "
                       "frame, or bake what it drives to keys before")
                break


def check_object(ob):
    if ob is None or ob.type != "ARMATURE":
        raise convert.Refused("Select an armature")
    if ob.library:
        raise convert.Refused(f"'{ob.name}' is linked from another file. Make a library override "
                              "of it (Object > Library Override > Make), then bake again")
    if not ob.pose.bones:
        raise convert.Refused(f"'{ob.name}' has no bones")
    if ob.mode == "EDIT":
        raise convert.Refused("Leave Edit Mode first")


def fps(scene):
    return convert.frame_rate(scene.render.fps, scene.render.fps_base)


def read_shot(scene, ob, frame_start, frame_end, frame_step=1, **wins):
    """Everything but the samples."""
    check_object(ob)
    settings = read_settings(ob, **wins)
    if not settings.channels:
        raise convert.Refused("Nothing to write: choose Location, Rotation or both")
    data, unit = ob.animation_data, scene.unit_settings.scale_length
    bones, colliders = _bones(ob), _obstacles(ob, unit)
    read_thickness(ob, scene, bones, settings.mass_from == "MESH")
    convert.name_bodies(bones)
    warnings = [*_scene_drivers(ob, ob.data, *(c.source for c in colliders)),
                *_still_settings(ob), *survey.omissions(scene, ob, colliders)]
    return convert.Shot(
        name=ob.name, bones=bones, settings=settings, unit=unit, colliders=colliders,
        fps=fps(scene), follow_at=_follow_at(ob), warnings=warnings,
        props=survey.props(scene, ob),
        gravity=tuple(scene.gravity) if scene.use_gravity else (0.0, 0.0, 0.0),
        frame_start=frame_start, frame_end=frame_end, frame_step=frame_step,
        object_moves=bool(ob.parent or ob.constraints or _object_curves(ob)),
        animated=_is_animated(data))


class _Stage:
    """A scene that holds the armature and the obstacles, to look at frames."""

    def __init__(self, ob, others):
        self.ob, self.others = ob, others
        self.scene = bpy.data.scenes.new(SCRATCH)
        self.followers = []
        for each in dict.fromkeys((ob, *others)):
            self.scene.collection.objects.link(each)
            if each.hide_viewport:
                self.follow(each)
        self.layer = self.scene.view_layers[0]

    def follow(self, hidden):
        """What is turned off in viewports is looked at only where something else needs it."""
        follower = bpy.data.objects.new(SCRATCH, None)
        self.followers.append(follower)
        self.scene.collection.objects.link(follower)
        bones = hidden.pose.bones if hidden.type == "ARMATURE" else ()
        for end in [bone.name for bone in bones if not bone.children] or [""]:
            constraint = follower.constraints.new("COPY_TRANSFORMS")
            constraint.target = hidden
            if end:                             # and all bones above it
                constraint.subtarget = end

    def close(self):
        try:
            if self.scene is not None:
                bpy.data.scenes.remove(self.scene)
            while self.followers:
                bpy.data.objects.remove(self.followers.pop())
        except ReferenceError:
            pass                                # gone already: undone, or another file
        self.scene = None

    @property
    def graph(self):
        return self.layer.depsgraph

    def look(self, frame):
        self.scene.frame_set(math.floor(frame), subframe=frame % 1)
        return self.ob.evaluated_get(self.graph)

    def drop(self):
        """From now on only the others are looked at."""
        self.scene.collection.objects.unlink(self.ob)

    def weight(self, k):
        return self.ob.evaluated_get(self.graph).skel_ik.goals[k].weight

    def place(self, name, bone):
        return place_of(self.graph, name, bone)


def _channels_now(ob_eval, shot):
    """Rotation channels and scale of every bone, as they are."""
    for pose_bone, bone in zip(ob_eval.pose.bones, shot.bones):
        if bone.rotation == rigs.QUATERNION:
            bone.near = tuple(pose_bone.rotation_quaternion)
        elif bone.rotation == rigs.AXIS_ANGLE:
            bone.near = tuple(pose_bone.rotation_axis_angle)
        else:
            bone.near = (*pose_bone.rotation_euler, 0.0)
        bone.scale = tuple(pose_bone.scale)


def _keep_follow(now, shot):
    """Follow where it is animated, as the evaluated armature has it."""
    for name, values in shot.follow_at.items():
        owner = now.pose.bones[name] if name else now
        values.append(owner.skel.follow)


def keep_frame(now, shot, room):
    """Poses, their keyed part and the object's place, as the evaluated armature has them."""
    now.pose.bones.foreach_get("matrix", room)
    shot.poses.extend(room)
    now.pose.bones.foreach_get("matrix_basis", room)
    shot.basis.extend(room)
    shot.objects.extend(flat(now.matrix_world))


def sample(shot, ob, frames, before=()):
    """Generator: fills in the samples of the shot, a frame at a time."""
    stage = _Stage(ob, [collider.source for collider in shot.colliders])
    shot.frames, shot.before = list(frames), list(before)
    room = array("f", bytes(64 * len(shot.bones)))
    shot.poses, shot.basis, shot.objects = array("f"), array("f"), array("f")
    shot.before_poses, shot.before_objects = array("f"), array("f")
    for collider in shot.colliders:
        collider.matrices = array("f")
    shot.follow_at = {name: [] for name in shot.follow_at}
    try:
        for frame in shot.before:
            now = stage.look(frame)
            now.pose.bones.foreach_get("matrix", room)
            shot.before_poses.extend(room)
            shot.before_objects.extend(flat(now.matrix_world))
            yield 0.0, "reading"
        for n, frame in enumerate(shot.frames):
            now = stage.look(frame)
            keep_frame(now, shot, room)
            _keep_follow(now, shot)
            if n == 0:
                _channels_now(now, shot)
            for collider in shot.colliders:
                if n == 0 or collider.moves:
                    there = collider.source.evaluated_get(stage.graph)
                    _keep_obstacle(collider, shot, there.matrix_world, frame)
            yield n / len(shot.frames), "reading the animation"
    finally:
        stage.close()
    return shot


def look_again(ob, frames, others=()):
    """Generator: what plays, (poses of the bones, places of the object, [frame][other] places),
    frame by frame. others: (name of an object, its bone)."""
    stage = _Stage(ob, [bpy.data.objects[name] for name in sorted({at[0] for at in others})])
    poses, objects, places = array("f"), array("f"), []
    room = array("f", bytes(64 * len(ob.pose.bones)))
    try:
        for frame in frames:
            now = stage.look(frame)
            now.pose.bones.foreach_get("matrix", room)
            poses.extend(room)
            objects.extend(flat(now.matrix_world))
            places.append([stage.place(*at) for at in others])
            yield 0.97, "looking at what plays"
    finally:
        stage.close()
    return poses, objects, places


def places_now(ob, graph, others):
    """Likewise of others, in the frame as it is."""
    stage = _Now(ob, graph, [at[0] for at in others])
    try:
        return [[stage.place(*at) for at in others]]
    finally:
        stage.close()


def frame_range(scene, ob):
    """(first, last) of the armature's settings."""
    if ob.skel.use_range:
        return ob.skel.frame_start, ob.skel.frame_end
    if scene.use_preview_range:
        return scene.frame_preview_start, scene.frame_preview_end
    return scene.frame_start, scene.frame_end

# ---- goals ----

def _joint(pose_bone):
    joint = convert_ik.JointShot(order=_order(pose_bone), stiffness=(
        pose_bone.ik_stiffness_x, pose_bone.ik_stiffness_y, pose_bone.ik_stiffness_z))
    robot = _robot(pose_bone)
    if robot and robot.kind not in ("ball", "free"):    # which turn as any bone does
        joint.kind, joint.axis, joint.sign = robot.kind, robot.axis, robot.sign
        joint.limits, joint.mimic, joint.name = robot.limits, robot.mimic, robot.joint
    return joint


def _held_by(ob, target, place_only):
    """The bone that a target is held to by its last constraint; "" where there is none. Others are
    found out by looking again."""
    acting = [c for c in target.constraints if not c.mute and c.influence > 0]
    c = acting[-1] if acting and acting[-1].influence == 1 else None
    if c is None or getattr(c, "target", None) != ob:
        return ""
    holds = {"CHILD_OF": lambda: all(getattr(c, f"use_{what}_{axis}") for what in
                                     ("location", "rotation") for axis in "xyz"),
             "COPY_TRANSFORMS": lambda: getattr(c, "mix_mode", "REPLACE") == "REPLACE",
             "COPY_LOCATION": lambda: place_only and not c.use_offset and
             all(getattr(c, f"use_{axis}") and not getattr(c, f"invert_{axis}") for axis in "xyz")}
    return c.subtarget if c.type in holds and holds[c.type]() else ""


def _rides(ob, target, bone, place_only=True):
    """The bone of an armature that a target is on: one of its own, or what it is held by or
    parented to."""
    if target == ob:
        return bone
    while target is not None:
        held = _held_by(ob, target, place_only)
        if held or target.parent == ob:
            return held or (target.parent_bone if target.parent_type == "BONE" else "")
        target = target.parent
    return ""


def _goal(ob, goal, number):
    """What a goal wants, and the names of what it looks at."""
    pole = goal.pole if goal.kind == "REACH" else None
    return convert_ik.GoalShot(
        name=goal.name or goal.bone or "goal", kind=goal.kind, bone=goal.bone, end=goal.end,
        position=goal.use_position, orientation=goal.use_orientation, offset=tuple(goal.offset),
        chain=goal.chain, weight=[], priority=goal.priority, axis=goal.axis,
        level=goal.level, number=number,
        at=(goal.target.name, goal.target_bone) if goal.target else None,
        pole_at=(pole.name, goal.pole_bone) if pole else None,
        rides=_rides(ob, goal.target, goal.target_bone, not goal.use_orientation),
        pole_rides=_rides(ob, pole, goal.pole_bone))


def _targets(s):
    """Objects that goals look at."""
    return [each for goal in s.goals for each in (goal.target, goal.pole) if each]


def read_ik(scene, ob, frame_start, frame_end, frame_step=1):
    """Everything but the samples."""
    check_object(ob)
    s, data = ob.skel_ik, ob.animation_data
    goals = [_goal(ob, goal, k) for k, goal in enumerate(s.goals) if goal.use]
    shot = convert.Shot(
        name=ob.name, bones=_bones(ob), unit=scene.unit_settings.scale_length, fps=fps(scene),
        gravity=tuple(scene.gravity), frame_start=frame_start, frame_end=frame_end,
        frame_step=frame_step, settings=read_settings(ob),
        warnings=[*_scene_drivers(ob, ob.data, *_targets(s)), *_still_settings(ob),
                  *survey.other_armatures(scene, ob)],
        animated=_is_animated(data))
    if any(goal.kind == "CENTRE" for goal in goals):
        read_thickness(ob, scene, shot.bones, shot.settings.mass_from == "MESH")
    convert_ik.name_bodies(shot, goals)
    return convert_ik.IkShot(shot, [_joint(pose_bone) for pose_bone in ordered(ob)], goals,
                             root=s.root, smooth=s.smooth, hold_start=s.hold_start,
                             posture=s.posture, tolerance=s.tolerance)


class _Now:
    """Looks at the frame as it is, unkeyed changes and all; at what is hidden, which Blender leaves
    where it was, in a scene of its own."""

    def __init__(self, ob, graph, seen):
        self.ob, self.graph, self.aside = ob, graph, None
        hidden = [bpy.data.objects[name] for name in sorted(set(seen)) if name != ob.name]
        self.hidden = [other for other in hidden if not other.visible_get()]
        if self.hidden:
            self.aside = _Stage(self.hidden[0], self.hidden)
            self.aside.look(graph.scene.frame_current)

    def look(self, _frame):
        return self.ob.evaluated_get(self.graph)

    def weight(self, k):
        return self.ob.skel_ik.goals[k].weight

    def place(self, name, bone):
        aside = any(other.name == name for other in self.hidden)
        return place_of(self.aside.graph if aside else self.graph, name, bone)

    def close(self):
        if self.aside:
            self.aside.close()


def place_of(graph, name, bone):
    """16 numbers, column after column: an object or one of its bones in the world."""
    ob = bpy.data.objects[name]
    there = ob.evaluated_get(graph)
    if bone and ob.type == "ARMATURE":
        found = there.pose.bones.get(bone)
        if found is None:
            raise convert.Refused(f"'{name}' has no bone '{bone}'")
        return flat(there.matrix_world @ found.matrix)
    return flat(there.matrix_world)


def _looked_at(ik):
    return sorted({at[0] for goal in ik.goals for at in (goal.at, goal.pole_at) if at})


def refuse_simulated(scene, ik):
    """Objects of a rigid body world move in its own scene only."""
    world = getattr(scene, "rigidbody_world", None)
    for name in _looked_at(ik) if world and world.enabled else ():
        ob = bpy.data.objects[name]
        while ob is not None:
            if ob.rigid_body and ob.rigid_body.type == "ACTIVE" and not ob.rigid_body.kinematic:
                raise convert.Refused(f"The target '{name}' is moved by rigid bodies ('{ob.name}') "
                                      "and cannot be read ahead. Give it keys first (Object > "
                                      "Rigid Body > Bake To Keyframes)")
            ob = ob.parent


def _is_still(ob):
    """Whether an armature stands alike in all frames."""
    return not (_is_animated(ob.animation_data) or _is_animated(ob.data.animation_data) or
                ob.parent or ob.constraints or any(bone.constraints for bone in ob.pose.bones))


def sample_ik(ik, ob, frames, graph=None):
    """Generator: fills in the samples, a frame at a time; of an armature that stands still only
    one. graph: the one to look at, which stands at the only frame; else frames are looked at in a
    scene of their own."""
    seen = _looked_at(ik)
    stage = _Now(ob, graph, seen) if graph is not None else _Stage(
        ob, [bpy.data.objects[name] for name in seen])
    shot, still = ik.shot, graph is None and ob.name not in seen and _is_still(ob)
    shot.frames, room = list(frames), array("f", bytes(64 * len(shot.bones)))
    shot.poses, shot.basis, shot.objects = array("f"), array("f"), array("f")
    for goal in ik.goals:
        goal.target = array("f") if goal.at else None
        goal.pole = array("f") if goal.pole_at else None
    try:
        for n, frame in enumerate(shot.frames):
            now = stage.look(frame)
            if n == 0:
                _channels_now(now, shot)
            if n == 0 or not still:
                keep_frame(now, shot, room)
            for goal in ik.goals:
                if goal.at:
                    goal.target.extend(stage.place(*goal.at))
                if goal.pole_at:
                    goal.pole.extend(stage.place(*goal.pole_at))
                goal.weight.append(goal.weight[0] if n and still else stage.weight(goal.number))
            if n == 0 and still:
                stage.drop()
            yield n / len(shot.frames), "reading the targets"
    finally:
        stage.close()


def angle_between(ob, graph, goal):
    """The axes of a goal's target, seen from its bone; None where it lacks one of them."""
    if goal is None or goal.target is None or goal.bone not in ob.pose.bones:
        return None
    bone = (ob.matrix_world @ ob.pose.bones[goal.bone].matrix).to_quaternion()
    stage = _Now(ob, graph, [goal.target.name])
    try:
        there = stage.place(goal.target.name, goal.target_bone)
    finally:
        stage.close()
    return bone.inverted() @ Matrix([there[k::4] for k in range(4)]).to_quaternion()


def ik_constraints(ob):
    """Goals, as settings by name, of the constraints that act on the bones."""
    for bone in ob.pose.bones:
        for c in bone.constraints:
            if c.type == "IK" and c.target is not None and not c.mute and c.influence > 0:
                yield {"name": bone.name, "bone": bone.name, "target": c.target,
                       "target_bone": c.subtarget, "chain": c.chain_count,
                       "use_position": c.use_location, "use_orientation": c.use_rotation,
                       "end": "TAIL" if c.use_tail else "HEAD",
                       "pole": c.pole_target, "pole_bone": c.pole_subtarget}


# ---- robots ----

def has_joints(ob):
    """Whether it is a robot that can be moved. What its bones say may be wrong."""
    return any(bone.get("joint_type") in ("hinge", "slide") for bone in ob.pose.bones)


def joint_channel(bone):
    """(property, index, sign) that is the joint's coordinate; None where it has none."""
    robot = _robot(bone)
    if robot is None or robot.kind not in ("hinge", "slide"):
        return None
    return ("rotation_euler" if robot.kind == "hinge" else "location", "XYZ".index(robot.axis),
            robot.sign)


def joint_limits(bone):
    """(low, high) of a robot's joint; None where it has none."""
    return _robot(bone).limits


def joint_value(bone):
    """Where a robot's joint stands, rad or Blender units; of a hinge in a mode that has no angles
    (the import has XYZ), within half a turn."""
    found = joint_channel(bone)
    if not found:
        return 0.0
    name, index, sign = found
    if name == "rotation_euler" and len(bone.rotation_mode) != 3:
        return sign * convert.angle_about(bone.matrix_basis.to_quaternion(), index)
    return sign * getattr(bone, name)[index]


def joint_bones(ob):
    """Bones that are hinges or slides, in the order of q."""
    found = {bone["joint"]: bone for bone in ob.pose.bones if joint_channel(bone)}
    order = robot_data(ob).get("joints") or list(found)
    return [found[name] for name in order if name in found]


def robot_data(ob):
    """What the armature of a robot keeps of it: joints in the order of q, poses, reach."""
    return convert_robot.robot_words(ob.name, ob.get("skel_robot", "{}"))


def _link(each, robot, scale, grown):
    """A ChainBone of a robot's bone. scale: to m; grown: by how much the object is scaled."""
    each.kind, each.axis, each.sign, each.joint = robot.kind, robot.axis, robot.sign, robot.joint
    each.frame, each.mass, each.mimic = robot.frame, robot.mass, robot.mimic
    if robot.mass > 0:
        each.com = [v * scale for v in robot.com]
        each.inertia = [v * grown ** 2 for v in robot.inertia]
        each.estimated = robot.estimated
    if robot.drive:
        velocity, effort = robot.drive
        each.drive = velocity * (grown if robot.kind == "slide" else 1.0), effort
    if robot.limits:
        each.limits = [v * (scale if robot.kind == "slide" else 1.0) for v in robot.limits]


def mimics(ob):
    """{follower: what it goes with} of a robot's joints."""
    found = {bone["joint"]: _robot(bone).mimic for bone in ob.pose.bones if joint_channel(bone)}
    return {name: mimic for name, mimic in found.items() if mimic}


def read_chain(ob, unit):
    """Bones at rest as ChainBones, in the armature's axes, scaled as the object is."""
    convert.check_scale(ob.name, flat(ob.matrix_world))
    scale = ob.matrix_world.median_scale * unit
    out = []
    for pose_bone in ordered(ob):
        bone = pose_bone.bone
        rest = flat(bone.matrix_local)
        each = convert_robot.ChainBone(
            pose_bone.name, bone.parent.name if bone.parent else "",
            [v * scale for v in rest[12:15]], convert.q_of(rest), bone.length * scale)
        robot = _robot(pose_bone)
        if robot:
            _link(each, robot, scale, scale / unit)
        else:
            convert_robot.by_locks(each, *limits_of(pose_bone))
            each.mass, each.radius = pose_bone.skel.mass, pose_bone.skel.radius * scale
        out.append(each)
    kinds = {each.joint: each.kind for each in out}
    for each in out:
        if each.mimic:
            each.mimic = convert.grown_mimic(each.mimic, each.kind,
                                             kinds.get(each.mimic["joint"]), scale / unit)
    return out
