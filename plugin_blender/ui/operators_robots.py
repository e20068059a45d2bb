# SPDX-License-Identifier: GPL-3.0-or-later
"""Operators of robots: import a DH table, a URDF or a bundled robot as an armature; move its
joints; write the DH table or the URDF of bones.

The meaning of a bone's axes is in core/robot_import.py. A bone has these custom properties:
  joint, joint_type (hinge, slide, ball, fixed, free), joint_axis (Y, Z), joint_sign (1, -1),
  joint_limits (rad, or Blender units), joint_mimic (JSON: rad and m; a driver moves the joint),
  joint_drive (its largest velocity and effort: rad, m, N m, N), dh (its row, as JSON), mass (kg),
  com (from the bone's head in its axes, Blender units), inertia (about com in the bone's axes,
  xx yy zz xy xz yz, kg m^2), mass_estimated (mass or inertia: the library has estimated it because
  the document does not contain it)
A hinge is one angle of rotation_euler, a slide one number of location: sign times q. All other
channels are locked, for IK too. Limits are IK limits if they lie within half a turn to either side;
a Limit Rotation constraint could not limit a wrist that turns farther than that."""

import os
from typing import Any, Dict, List, Tuple

import bpy
from bpy.props import BoolProperty, EnumProperty, FloatProperty, StringProperty

from ..blender import read, read_robots, write, write_robots
from ..blender.rna import Armature, Context, Event
from ..core.binding import skelpy
from ..core.errors import UserError, parse_json
from ..core.files import save
from ..core.robot_export import SNAP, table_of, tip_of, urdf_of
from ..core.robot_import import bundled_robots, decode_text, import_robot
from ..core.robot_properties import apply_mimics, parse_joints
from .jobs import (FAILURES, OnArmature, ShortOperator, Status, armature, find_armature,
                   is_not_editing, key_frame, message_of)

CONVENTIONS = (
    ("standard", "Standard", "A = Rz(theta) Tz(d) Tx(a) Rx(alpha): frame i is at the end of link "
     "i"),
    ("modified", "Modified", "A = Rx(alpha) Tx(a) Rz(theta) Tz(d), as by Craig: frame i is at the "
     "start of link i"),
)
WARNINGS_SHOWN = 8              # of a file, one by one
_items: List[Tuple[str, str, str]] = []     # of the list of robots; Blender needs them kept


def _presets(_self: Any, _context: Context) -> List[Tuple[str, str, str]]:
    if not _items:
        _items.append(("NONE", "From a File", "Choose a DH table or a URDF"))
        for name, path in bundled_robots().items():
            with open(path, encoding="utf-8") as file:
                label = parse_json(file.read(), path).get("name", name)
            _items.append((name, label, f"The {label} that comes with Skel"))
    return _items


def _slider(name: str, subtype: str, what: str, **more: Any) -> Any:
    return FloatProperty(name=name, subtype=subtype, get=read_robots.joint_value,
                         set=write_robots.set_joint, options=set(), **more,
                         description=f"{what} of the robot's joint, within its limits")


class SKEL_OT_import_robot(ShortOperator, bpy.types.Operator):
    """Import a robot as an armature: one that comes with Skel, a DH table (JSON or CSV) or a
    URDF"""
    bl_idname = "skel.import_robot"
    bl_label = "Import Robot"
    bl_options = {"REGISTER", "UNDO"}

    preset: EnumProperty(name="Robot", items=_presets,
                         description="A robot that comes with Skel, or your own file")
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"SKIP_SAVE"},
                             description="DH table (skel-dh/1 or CSV), URDF or skel-scene/1")
    filter_glob: StringProperty(default="*.json;*.csv;*.urdf;*.xml", options={"HIDDEN"})
    shapes: BoolProperty(name="Shapes", default=True, description="Add the meshes of a URDF, or "
                         "simple bars and drums if it has none")

    @classmethod
    def poll(cls, context: Context) -> bool:
        return context.mode == "OBJECT" or context.mode == "POSE"

    def invoke(self, context: Context, _event: Event) -> Status:
        if self.preset == "NONE" and not self.filepath:
            context.window_manager.fileselect_add(self)
            return {"RUNNING_MODAL"}
        return self.execute(context)

    def run(self, context: Context) -> str:
        path = bundled_robots().get(self.preset)
        if self.filepath:
            path = bpy.path.abspath(self.filepath)
        if not path:
            raise UserError("Choose a robot or a file")
        with open(path, "rb") as file:
            data = file.read()
        name = os.path.basename(path)
        try:
            text = decode_text(data)
            robot = import_robot(text, os.path.splitext(name)[0])
        except FAILURES as error:
            raise UserError(f"{name}: {message_of(error)}") from None

        summary, warnings = write_robots.make_robot(
            context, robot, text, os.path.dirname(path), self.shapes,
            context.scene.unit_settings.scale_length)
        for warning in warnings[:WARNINGS_SHOWN]:
            self.report({"WARNING"}, f"{name}: {warning}")
        if len(warnings) > WARNINGS_SHOWN:
            self.report({"WARNING"}, f"{name}: {len(warnings) - WARNINGS_SHOWN} more warnings; "
                        "'skel check' lists them all")
        return summary


class _OnRobot:
    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        ob = armature(context)
        if ob is None or not read_robots.has_joints(ob):
            cls.poll_message_set("Select a robot that Skel has imported")
            return False
        return is_not_editing(cls, context)


class SKEL_OT_set_joints(_OnRobot, ShortOperator, bpy.types.Operator):
    """Set all joints of the robot to a named pose of its table, or to numbers in the order of its
    joints. With auto-keying on, the joints are keyed"""
    bl_idname = "skel.set_joints"
    bl_label = "Set Joints"
    bl_options = {"REGISTER", "UNDO"}

    values: StringProperty(name="Joints", options={"SKIP_SAVE"}, description="A number per joint "
                           "in radians and metres, like 0, 0.5, -1.2. Mimic joints may be left "
                           "out. Empty: all zero")
    pose: StringProperty(name="Pose", options={"SKIP_SAVE"},
                         description="Name of a pose in the robot's document")
    degrees: BoolProperty(name="Degrees", default=False, description="Angles are in degrees")
    keep_limits: BoolProperty(name="Keep Limits", default=True,
                              description="Joints stop at their limits")

    def _coordinates(self, ob: Armature) -> Dict[str, float]:
        data, bones = read_robots.robot_data(ob), read_robots.joint_bones(ob)
        names = [bone["joint"] for bone in bones]
        if not self.pose:
            angles = {bone["joint"] for bone in bones if bone["joint_type"] == "hinge"}
            return parse_joints(self.values or "0 " * len(names), names,
                                angles if self.degrees else (), read_robots.mimics_of(ob))

        values = data.get("poses", {}).get(self.pose)
        if values is None:
            known = ", ".join(data.get("poses", {})) or "none"
            raise UserError(f"There is no pose '{self.pose}'; there are: {known}")
        order = data.get("joints") or names
        if len(values) != len(order):
            raise UserError(f"The pose '{self.pose}' has {len(values)} numbers, but the robot has "
                            f"{len(order)} joints")
        return dict(zip(order, values))

    def run(self, context: Context) -> str:
        ob = find_armature(context)
        q = apply_mimics(read_robots.mimics_of(ob), self._coordinates(ob))
        write_robots.set_joints(ob, q, context.scene.unit_settings.scale_length, self.keep_limits,
                                key_frame(context.scene))
        context.view_layer.update()
        return f"{len(read_robots.joint_bones(ob))} joints set"


class SKEL_OT_extract_dh(OnArmature, ShortOperator, bpy.types.Operator):
    """Write the Denavit-Hartenberg table of the chain that ends at the active bone, else at the
    tool or the only end, to a file or to a text in the text editor"""
    bl_idname = "skel.extract_dh"
    bl_label = "Extract DH Table"
    bl_options = {"REGISTER", "UNDO"}

    properties: Any
    convention: EnumProperty(name="Convention", items=CONVENTIONS, default="standard",
                             description="Convention of the table")
    tip: StringProperty(name="Tip", options={"SKIP_SAVE"},
                        description="Last bone of the chain. Empty: the active one, else the tool "
                        "or the only end")
    filepath: StringProperty(name="File", subtype="FILE_PATH", options={"SKIP_SAVE"},
                             description="File to write: .json or .csv. Empty: a text in the text "
                             "editor")
    snap: FloatProperty(name="Snap", default=SNAP, min=0.0, max=0.01, precision=7,
                        options={"SKIP_SAVE"},
                        description="Tolerance in radians and relative to the reach: axes within "
                        "it count as parallel or intersecting. If you set a value, it alone "
                        "decides which axes are parallel; else axes whose common normal is far "
                        "away count as parallel, too")

    def run(self, context: Context) -> str:
        ob = find_armature(context)
        read.check_object(ob)
        path = bpy.path.abspath(self.filepath) if self.filepath else ""
        bones = read_robots.read_chain(ob, context.scene.unit_settings.scale_length)
        active = context.active_pose_bone
        tip = tip_of(bones, self.tip or (
            active.name if active is not None and active.id_data == ob else ""))
        table = table_of(ob.name, bones, tip, self.convention, path.lower().endswith(".csv"),
                         self.snap if self.properties.is_property_set("snap") else None)
        for warning in table.warnings:
            self.report({"WARNING"}, warning)

        if path:
            save(path, table.text)
            return f"Wrote {path}, up to '{tip}': {table.cost}"
        name = write.add_text(f"{ob.name} DH {self.convention}.json", table.text)
        return f"'{name}' in the text editor, up to '{tip}': {table.cost}"


class SKEL_OT_export_urdf(OnArmature, ShortOperator, bpy.types.Operator):
    """Save the armature as URDF. A robot that was imported from a URDF is written as it was, with
    its masses and meshes; any other is made of its bones"""
    bl_idname = "skel.export_urdf"
    bl_label = "Export URDF"
    bl_options = {"REGISTER"}

    filepath: StringProperty(name="File", subtype="FILE_PATH", description="File to write")
    filter_glob: StringProperty(default="*.urdf", options={"HIDDEN"})
    from_bones: BoolProperty(name="From the Bones", default=False, description="Make it of the "
                             "bones as they are now, even if the robot's source is there")

    def invoke(self, context: Context, _event: Event) -> Status:
        if not self.filepath:
            self.filepath = bpy.path.clean_name(find_armature(context).name) + ".urdf"
        context.window_manager.fileselect_add(self)
        return {"RUNNING_MODAL"}

    def run(self, context: Context) -> str:
        if not self.filepath:
            raise UserError("Name a file to write")
        ob = find_armature(context)
        read.check_object(ob)
        source = bpy.data.texts.get(str(ob.get("skel_source", "")))
        if source is not None and not self.from_bones:
            with skelpy.Scene.from_json(source.as_string()) as scene:
                text = scene.to_urdf()
        else:
            text = urdf_of(ob.name, read_robots.read_chain(
                ob, context.scene.unit_settings.scale_length))
        path = bpy.path.ensure_ext(bpy.path.abspath(self.filepath), ".urdf")
        save(path, text)
        return f"Wrote {path}"


def draw_add(self: Any, _context: Context) -> None:
    self.layout.operator_menu_enum("skel.import_robot", "preset", text="Robot (Skel)",
                                   icon="ARMATURE_DATA")


def draw_import(self: Any, _context: Context) -> None:
    self.layout.operator("skel.import_robot", text="Robot (DH table, URDF)").preset = "NONE"


CLASSES = (SKEL_OT_import_robot, SKEL_OT_set_joints, SKEL_OT_extract_dh, SKEL_OT_export_urdf)
_register, _unregister = bpy.utils.register_classes_factory(CLASSES)


def register() -> None:
    _register()
    bpy.types.PoseBone.skel_angle = _slider("Angle", "ANGLE", "Angle")
    bpy.types.PoseBone.skel_distance = _slider("Distance", "DISTANCE", "Distance", precision=4)
    bpy.types.VIEW3D_MT_armature_add.append(draw_add)
    bpy.types.TOPBAR_MT_file_import.append(draw_import)


def unregister() -> None:
    bpy.types.TOPBAR_MT_file_import.remove(draw_import)
    bpy.types.VIEW3D_MT_armature_add.remove(draw_add)
    del bpy.types.PoseBone.skel_distance
    del bpy.types.PoseBone.skel_angle
    _items.clear()
    _unregister()
