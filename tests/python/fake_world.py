# SPDX-License-Identifier: BSD-3-Clause
"""The rest of a Blender, as much as the operators ask for: classes with properties, armatures that
are evaluated at a frame by the curves of their slot, scenes. Stricter than Blender where it can be:
what is not here must not be asked for."""

import inspect
import math
import types
from array import array

import fake_bpy
from fake_mathutils import Matrix, Quaternion, Vector

CHANNELS = {"location": 3, "rotation_quaternion": 4, "rotation_axis_angle": 4,
            "rotation_euler": 3, "scale": 3}


# ---- properties and classes ----

class Property:
    """What FloatProperty(...) gives; on a class, a value of each instance."""

    def __init__(self, kind, type=None, default=None, items=None, size=3, get=None, set=None,
                 **named):
        self.kind, self.type, self.items, self.get, self.set = kind, type, items, get, set
        self.named, self.size = named, size
        self.default = default
        for function, count in ((get, 1), (set, 2)):
            if function and len(inspect.signature(function).parameters) != count:
                raise TypeError(f"expected a function taking {count} arguments")
        if default is None:
            self.default = {"Float": 0.0, "Int": 0, "Bool": False, "String": "",
                            "FloatVector": (0.0,) * size}.get(kind)

    def __set_name__(self, _owner, name):
        self.name = name

    def _name(self, ob):
        if not hasattr(self, "name"):       # put there after the class was made
            self.name = next(n for cls in type(ob).__mro__ for n, v in vars(cls).items()
                             if v is self)
        return "_" + self.name

    def __get__(self, ob, _cls=None):
        if ob is None:
            return self
        if self.get:
            return self.get(ob)
        name = self._name(ob)
        if name not in vars(ob):
            made = self.default
            if self.kind == "Pointer" and issubclass(self.type, PropertyGroup):
                made = self.type()
            if self.kind == "Collection":
                made = Group(self.type)
            if self.kind == "Enum" and made is None and not callable(self.items):
                made = self.items[0][0]
            vars(ob)[name] = made
        return vars(ob)[name]

    def __set__(self, ob, value):
        if self.kind == "Enum" and not callable(self.items):
            known = {item[0] for item in self.items}
            given = value if isinstance(value, (set, frozenset)) else {value}
            if not given <= known:
                raise TypeError(f"enum {value!r} not found in {sorted(known)}")
        if self.set:
            self.set(ob, value)
            return
        vars(ob)[self._name(ob)] = value
        if isinstance(ob, Operator):
            ob.properties.given.add(self.name)


class Rna:
    """What Blender tells about the properties of a group: cls.bl_rna.properties."""

    TYPES = {"Bool": "BOOLEAN", "FloatVector": "FLOAT"}

    def __init__(self, cls):
        self.bl_rna, self.identifier = self, cls.__name__
        found = {name: v for name, v in vars(cls).items() if isinstance(v, Property)}
        if issubclass(cls, PropertyGroup):
            found["name"] = Property("String")
        self.properties = Named()
        self.properties.extend(self.tell(*each) for each in found.items())

    def tell(self, name, given):
        kind, named, options = given.kind, given.named, given.named.get("options", ())
        kind_told = self.TYPES.get(kind, kind.upper())
        array_told = list(given.default) if kind == "FloatVector" else []
        flags = "ENUM_FLAG" in options
        items = [] if kind != "Enum" or callable(given.items) else given.items
        fixed = given.type
        if fixed is not None:
            is_group = issubclass(fixed, PropertyGroup)
            fixed = Rna(fixed) if is_group else types.SimpleNamespace(identifier=fixed.__name__)
        return types.SimpleNamespace(
            name=name, identifier=name, type=kind_told, is_hidden="HIDDEN" in options,
            is_skip_save="SKIP_SAVE" in options,
            default=given.default, default_flag=given.default if flags else set(),
            default_array=array_told, array_length=len(array_told), is_enum_flag=flags,
            enum_items=[types.SimpleNamespace(identifier=item[0]) for item in items],
            hard_min=named.get("min", -math.inf), hard_max=named.get("max", math.inf),
            fixed_type=fixed)


class RnaOfClass:
    def __get__(self, _ob, cls):
        return Rna(cls)


class Group(list):
    """A collection property."""

    def __init__(self, cls):
        super().__init__()
        self.cls = cls

    def add(self):
        self.append(self.cls())
        return self[-1]

    def remove(self, index):
        del self[index]


class PropertyGroup:
    name = ""
    bl_rna = RnaOfClass()


class Operator:
    """Made with its properties; words: what it has reported."""

    def __init__(self, **given):
        self.properties = types.SimpleNamespace(given=set())
        self.properties.is_property_set = lambda name: name in self.properties.given
        self.words = []
        for name, value in given.items():
            setattr(self, name, value)

    def report(self, kind, words):
        self.words.append((*kind, words))

    poll_message_set = classmethod(lambda cls, _words: None)


class Menu:
    def __init__(self):
        self.drawn = []
        self.append, self.remove = self.drawn.append, self.drawn.remove


def register_class(cls):
    assert not getattr(cls, "is_registered", False), f"{cls.__name__} is registered already"
    for base in reversed(cls.__mro__):
        for name, value in vars(base).get("__annotations__", {}).items():
            if isinstance(value, Property):
                value.__set_name__(cls, name)
                setattr(cls, name, value)
    cls.is_registered = True


def unregister_class(cls):
    assert cls.is_registered
    cls.is_registered = False


def classes_factory(classes):
    def register():
        for cls in classes:
            register_class(cls)

    def unregister():
        for cls in reversed(classes):
            unregister_class(cls)
    return register, unregister


# ---- armatures ----

class Custom:
    """Things with properties of their own: thing["name"]."""

    def __init__(self):
        self.own = {}

    def get(self, name, otherwise=None):
        return self.own.get(name, otherwise)

    def __getitem__(self, name):
        return self.own[name]

    def __setitem__(self, name, value):
        self.own[name] = value

    def __contains__(self, name):
        return name in self.own


class Bone:
    use_connect = False
    use_deform = use_inherit_rotation = use_local_location = True
    inherit_scale = "FULL"

    def __init__(self, name, head, tail, z, parent):
        self.name, self.parent, self.children = name, parent, []
        self.head, self.length = Vector(head), (Vector(tail) - Vector(head)).length
        y = (Vector(tail) - Vector(head)).normalized()
        z = (Vector(z) - y * y.dot(Vector(z))).normalized()
        self.matrix_local = Matrix([*zip(y.cross(z), y, z, head), (0, 0, 0, 1)])
        if parent is not None:
            parent.children.append(self)


class PoseBone(Custom):
    bl_rna = RnaOfClass()
    rotation_mode = "QUATERNION"
    ik_stiffness_x = ik_stiffness_y = ik_stiffness_z = 0.0

    def __init__(self, bone, owner, version):
        super().__init__()
        self.bone, self.name, self.id_data, self.constraints = bone, bone.name, owner, []
        self.length = bone.length
        self.location, self.rotation_euler = Vector(), Vector()
        self.rotation_quaternion, self.rotation_axis_angle = Quaternion(), [0.0, 0.0, 1.0, 0.0]
        self.scale = Vector((1, 1, 1))
        self.lock_location, self.lock_rotation, self.lock_scale = ([False] * 3 for _ in range(3))
        for axis in "xyz":
            setattr(self, f"lock_ik_{axis}", False)
            setattr(self, f"use_ik_limit_{axis}", False)
            setattr(self, f"ik_min_{axis}", -math.pi)
            setattr(self, f"ik_max_{axis}", math.pi)
        (self if version >= (5, 0) else bone).select = False

    def __setattr__(self, name, value):
        """Locks may be set by number, too."""
        super().__setattr__(name, list(value) if name.startswith("lock_") and
                            isinstance(value, tuple) else value)

    @property
    def children(self):
        return self.bone.children

    @property
    def matrix_basis(self):
        if self.rotation_mode == "QUATERNION":
            turn = self.rotation_quaternion.to_matrix()
        else:
            assert self.rotation_mode == "XYZ", self.rotation_mode
            x, y, z = (Matrix.Rotation(angle, 4, axis)
                       for angle, axis in zip(self.rotation_euler, "XYZ"))
            turn = z @ y @ x
        return Matrix.Translation(self.location) @ turn

    @property
    def matrix(self):
        rest = self.bone.matrix_local
        if self.bone.parent is None:
            return rest @ self.matrix_basis
        up = self.id_data.pose.bones[self.bone.parent.name]
        return up.matrix @ self.bone.parent.matrix_local.inverted() @ rest @ self.matrix_basis

    def keyframe_insert(self, path, index=-1, frame=0, group=""):
        self.id_data.keyframe_insert(f'pose.bones["{self.name}"].{path}', index, frame, group)


class Named(list):
    """bpy.data.objects and its like, pose.bones: by name or number."""

    def __init__(self, make=None):
        super().__init__()
        self.make = make

    def new(self, name, *values, **named):
        while name in self:
            name += ".001"
        self.append(self.make(name, *values, **named))
        return self[-1]

    def unlink(self, each):
        self.remove(each)

    def get(self, name, otherwise=None):
        return next((each for each in self if each.name == name), otherwise)

    def __getitem__(self, key):
        if not isinstance(key, str):
            return super().__getitem__(key)
        found = self.get(key)
        if found is None:
            raise KeyError(key)
        return found

    def __contains__(self, key):
        return self.get(key) is not None if isinstance(key, str) else super().__contains__(key)

    def foreach_get(self, what, room):
        assert isinstance(room, array) and len(room) == 16 * len(self)
        room[:] = array("f", [v for each in self for column in getattr(each, what).col
                              for v in column])


class EditBone:
    def __init__(self, name):
        self.name, self.parent, self.use_deform, self.use_connect = name, None, True, False
        self.z = (0, 0, 1)

    def align_roll(self, z):
        self.z = z


class Object(fake_bpy.Thing, Custom):
    library = parent = bone_type = actions = None
    mode, scale, color = "OBJECT", (1, 1, 1), (1, 1, 1, 1)
    hide_viewport, parent_type = False, "OBJECT"
    field = None

    def __init__(self, name, data=None, version=(5, 0)):
        fake_bpy.Thing.__init__(self, name)
        Custom.__init__(self)
        self.data, self.version = data, version
        self.type = "EMPTY" if data is None else data.kind
        self.matrix_world = self.matrix_basis = Matrix()
        self.constraints, self.modifiers, self.vertex_groups = [], [], []
        self.pose = types.SimpleNamespace(bones=Named())
        if self.type == "ARMATURE":
            self.fill_pose()

    def fill_pose(self):
        self.pose.bones[:] = [self.bone_type(bone, self, self.version) for bone in self.data.bones]

    def visible_get(self):
        return True

    def select_get(self):
        return False

    def select_set(self, _state):
        pass

    def path_resolve(self, path):
        """Of a bone: pose.bones["name"]."""
        name = path.removeprefix('pose.bones["').removesuffix('"]')
        if len(name) != len(path) - 14 or name not in self.pose.bones:
            raise ValueError(f"{path} could not be resolved")
        return self.pose.bones[name]

    def update_tag(self, refresh=None):
        super().update_tag()

    def keyframe_insert(self, path, index=-1, frame=0, group=""):
        """In the slot of the object, both made where there is none."""
        data = self.animation_data or self.animation_data_create()
        if data.action is None:
            data.use_tweak_mode = False
            data.action = self.actions.new(f"{self.name}Action")
        if data.action_slot is None:
            data.action_slot = data.action.slots.new(id_type="OBJECT", name=self.name)
        layers = data.action.layers
        strips = (layers[0] if layers else layers.new("Layer")).strips
        strip = strips[0] if strips else strips.new(type="KEYFRAME")
        bag = strip.channelbag(data.action_slot, ensure=True)
        bone, name = self.find(path)
        values = getattr(bone, name)
        for k in range(len(values)) if index < 0 else (index,):
            known = {(c.data_path, c.array_index): c for c in bag.fcurves}
            curve = known.get((path, k)) or bag.fcurves.new(path, index=k)
            points = curve.keyframe_points
            pairs = dict(zip(*(points.fields.get("co", ())[n::2] for n in (0, 1))))
            pairs[frame] = values[k]
            points.clear()
            points.add(len(pairs))
            points.foreach_set("co", array("f", [v for pair in sorted(pairs.items())
                                                 for v in pair]))

    def find(self, path):
        """(bone, name of the channel) of a data path."""
        bone, rest = path.split('"', 2)[1:]
        return self.pose.bones[bone], rest.rsplit(".", 1)[1]

    def evaluated_get(self, graph):
        """A copy as it stands at the frame of the graph's scene."""
        out = type(self)(self.name, self.data, self.version)
        out.animation_data, out.own = self.animation_data, self.own
        out.matrix_world = self.matrix_world.copy()
        for name, value in vars(self).items():
            if name.startswith("_"):
                setattr(out, name, value)
        for mine, twin in zip(self.pose.bones, out.pose.bones):
            twin.rotation_mode = mine.rotation_mode
            for name in CHANNELS:
                getattr(twin, name)[:] = getattr(mine, name)
        out.play(graph.scene.frame_current)
        return out

    def play(self, frame):
        """Sets the channels that the curves of the object's slot have."""
        data = self.animation_data
        if data is None or data.action is None or data.action_slot is None:
            return
        for layer in data.action.layers:
            for strip in layer.strips:
                bag = strip.channelbag(data.action_slot)
                for curve in bag.fcurves if bag is not None else ():
                    if curve.data_path.endswith('"]'):      # a custom property
                        continue
                    bone, name = self.find(curve.data_path)
                    getattr(bone, name)[curve.array_index] = curve.evaluate(frame)


class Armature:
    kind, pose_position, animation_data = "ARMATURE", "POSE", None

    def __init__(self, name):
        self.name, self.bones, self.edit_bones = name, Named(), Named(EditBone)
        self.bones.active = None

    def add(self, name, head, tail, z=(0, 0, 1), parent=None):
        self.bones.append(Bone(name, head, tail, z, self.bones.get(parent) if parent else None))
        return self.bones[-1]


class Mesh:
    kind = "MESH"

    def __init__(self, name):
        self.name = name

    def from_pydata(self, points, _edges, faces):
        self.points, self.faces = points, faces

    def update(self):
        pass


class Text:
    def __init__(self, name):
        self.name, self.text = name, ""

    def from_string(self, text):
        self.text = text

    def as_string(self):
        return self.text


class Scene:
    use_preview_range, use_gravity = False, True

    def __init__(self, name):
        self.name, self.frame_current, self.frame_start, self.frame_end = name, 1, 1, 10
        self.objects = Named()
        self.collection = types.SimpleNamespace(objects=self.objects)
        self.objects.link = self.objects.append
        self.unit_settings = types.SimpleNamespace(scale_length=1.0)
        self.render = types.SimpleNamespace(fps=24, fps_base=1.0)
        self.gravity = (0.0, 0.0, -9.81)
        self.tool_settings = types.SimpleNamespace(use_keyframe_insert_auto=False)
        graph = types.SimpleNamespace(scene=self)
        self.view_layers = [types.SimpleNamespace(
            depsgraph=graph, update=lambda: None, objects=types.SimpleNamespace(active=None))]

    def frame_set(self, frame, subframe=0.0):
        self.frame_current = frame + subframe


def drawing_modules():
    """Blender's modules that draw, which have nothing to draw on here."""
    names = ("blf", "gpu", "gpu_extras", "gpu_extras.batch")
    found = {name: types.ModuleType(name) for name in names}
    found["gpu_extras.batch"].batch_for_shader = None
    return found


class SpaceView3D:
    """Draw handlers, as (function, region)."""

    def __init__(self):
        self.handlers = []

    def draw_handler_add(self, function, _arguments, region, _when):
        self.handlers.append((function, region))
        return function

    def draw_handler_remove(self, function, region):
        self.handlers.remove((function, region))


class World:
    """A Blender of one version with one scene, and the add-on's context."""

    def __init__(self, version):
        self.version, self.bpy = version, fake_bpy.make(version)
        bpy, self.scene = self.bpy, Scene("Scene")
        for name in ("Panel", "UIList", "AddonPreferences", "Collection"):
            setattr(bpy.types, name, type(name, (), {}))
        bpy.types.WindowManager = type("WindowManager", (), {})
        bpy.types.SpaceView3D = SpaceView3D()
        bpy.types.Operator, bpy.types.PropertyGroup = Operator, PropertyGroup
        bpy.types.PoseBone = type("PoseBone", (PoseBone,), {})      # the add-on adds to them
        bpy.types.Object = type("Object", (Object,), {"bone_type": bpy.types.PoseBone,
                                                      "actions": bpy.data.actions})
        bpy.types.Action.users = property(self.users)
        for name in ("VIEW3D_MT_pose_context_menu", "VIEW3D_MT_armature_add",
                     "TOPBAR_MT_file_import"):
            setattr(bpy.types, name, Menu())
        bpy.props = types.ModuleType("bpy.props")
        for kind in ("Bool", "Collection", "Enum", "Float", "FloatVector", "Int", "Pointer",
                     "String"):
            setattr(bpy.props, f"{kind}Property",
                    lambda kind=kind, **named: Property(kind, **named))
        bpy.utils = types.SimpleNamespace(
            register_class=register_class, unregister_class=unregister_class,
            register_classes_factory=classes_factory)
        bpy.path = types.SimpleNamespace(
            abspath=lambda path: path, clean_name=lambda name: name,
            ensure_ext=lambda path, ext: path if path.endswith(ext) else path + ext)
        bpy.data.objects = Named(lambda name, data: bpy.types.Object(name, data, version))
        bpy.data.armatures, bpy.data.meshes = Named(Armature), Named(Mesh)
        bpy.data.texts, bpy.data.scenes = Named(Text), Named(Scene)
        bpy.data.scenes.append(self.scene)
        bpy.ops = types.SimpleNamespace(object=types.SimpleNamespace(mode_set=self.mode_set))
        self.context = types.SimpleNamespace(
            scene=self.scene, mode="OBJECT", object=None, collection=self.scene.collection,
            view_layer=self.scene.view_layers[0], selected_objects=[], active_pose_bone=None,
            selected_pose_bones=[],
            evaluated_depsgraph_get=lambda: self.scene.view_layers[0].depsgraph)

    def users(self, action):
        """How many things use an action: a fake user, objects, their strips, and takes."""
        count = int(action.use_fake_user)
        for ob in self.bpy.data.objects:
            data = ob.animation_data
            if data is not None:
                strips = [strip for track in data.nla_tracks for strip in track.strips]
                count += (data.action is action) + sum(s.action is action for s in strips)
        return count + sum(entry.source is action for other in self.bpy.data.actions
                           for entry in vars(other).get("_skel_takes", ()))

    def mode_set(self, mode):
        """Leaving edit mode makes bones of the edit bones."""
        ob = self.context.view_layer.objects.active
        if mode == "OBJECT" and ob.data.edit_bones:
            for edit in ob.data.edit_bones:
                bone = ob.data.add(edit.name, edit.head, edit.tail, edit.z,
                                   edit.parent.name if edit.parent else None)
                bone.use_deform = edit.use_deform
            ob.data.edit_bones.clear()
            ob.fill_pose()

    def chain(self, count, length=0.3):
        """An armature of links along x, active."""
        data = self.bpy.data.armatures.new("chain")
        for k in range(count):
            bone = data.add(f"link{k}", (k * length, 0, 2), ((k + 1) * length, 0, 2),
                            parent=f"link{k - 1}" if k else None)
            bone.use_connect = k > 0
        ob = self.bpy.data.objects.new("chain", data)
        self.scene.objects.link(ob)
        self.context.object = ob
        return ob

    def look(self, ob, frame):
        """The armature as the user sees it at a frame."""
        self.scene.frame_set(frame)
        return ob.evaluated_get(self.context.evaluated_depsgraph_get())
