# SPDX-License-Identifier: BSD-3-Clause
"""Bake to control bones: deform bones are where they are wanted inside the range; outside of it the
rig is as it was, and every control moves what it moved before."""

import json
import math
import unittest

import bpy
from mathutils import Euler, Quaternion, Vector

import common
from test_restore import dump

FIRST, LAST = 30, 38
OUTSIDE = (1, 12, FIRST - 2, FIRST - 1, LAST + 1, LAST + 2, 60, 90)
TOL = 1e-4                      # of a bone's length


def generate(kind):
    """A rig that Rigify makes from its metarig of that name."""
    import addon_utils
    # Without an entry in the preferences Rigify does not register the settings of its bones.
    addon_utils.enable("rigify", default_set=True)
    getattr(bpy.ops.object, f"armature_{kind}_metarig_add")()
    meta = bpy.context.object
    bpy.ops.pose.rigify_generate()
    ob = next(o for o in bpy.data.objects if o.type == "ARMATURE" and o != meta)
    bpy.data.objects.remove(meta)
    ob.name = "rig"
    bpy.context.view_layer.objects.active = ob
    return ob


def key(bone, frame, angles, location=None):
    if location is not None:
        bone.location = location
        bone.keyframe_insert("location", frame=frame)
    if bone.rotation_mode == "QUATERNION":
        bone.rotation_quaternion = Euler(angles).to_quaternion()
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    else:
        bone.rotation_euler = angles
        bone.keyframe_insert("rotation_euler", frame=frame)


def animate(ob):
    """Torso, spine, head, shoulders, and the IK controls of the limbs."""
    bones = ob.pose.bones
    for k, frame in enumerate((1, 25, 40, 55, 90)):
        s, c = math.sin(1.3 * k), math.cos(2.1 * k)
        key(bones["torso"], frame, (0.2 * s, 0.15 * c, 0.4 * s), (0.2 * s, 0.1 * c, -0.1 * abs(s)))
        key(bones["chest"], frame, (0.2 * c, 0.1 * s, 0.1 * c))
        key(bones["hips"], frame, (0.1 * s, 0.1 * c, 0.1))
        key(bones["head"], frame, (0.3 * c, 0.2 * s, 0.3 * c))
        for side, sign in (("L", 1), ("R", -1)):
            for name in ("hand_ik", "foot_ik"):
                key(bones[f"{name}.{side}"], frame, (0.2 * s, 0.3 * sign * c, 0.1),
                    (0.05 * s * sign, 0.1 * c, 0.15 * abs(c)))
            key(bones[f"shoulder.{side}"], frame, (0.1 * s, 0.1, 0.1 * c))


def generic():
    """Deform bones that follow controls by all supported kinds of constraints, and hang on each
    other as the bones of a limb do."""
    rows = [("root", None, (0, 0, 0), (0, 0.4, 0), 0.0, False)]
    rows += [(f"c{k}", f"c{k - 1}" if k else "root", (0, 0, 1 + 0.4 * k), (0, 0, 1.4 + 0.4 * k),
              0.0, False) for k in range(3)]
    rows += [("side", "root", (1, 0, 1), (1, 0.3, 1.2), 0.7, False),
             ("held", "root", (0, 1, 1), (0, 1.3, 1), 0.2, False),
             ("hand", "root", (2, 0, 1), (2, 0.1, 1.3), -0.4, False)]
    rows += [(f"d{k}", f"d{k - 1}" if k else None, (0, 0, 1 + 0.4 * k), (0, 0, 1.4 + 0.4 * k),
              0.9 * k, k > 0) for k in range(3)]
    rows += [("dside", None, (1, 0, 1), (1, 0.3, 1.2), 0.7, False),
             ("dheld", "d0", (0, 1, 1), (0, 1.3, 1), 0.2, False),
             ("dhand", None, (2, 0, 1), (2, 0.2, 1.2), 1.1, False)]
    ob = common.add_armature(rows, "generic")
    for bone in ob.data.bones:
        bone.use_deform = bone.name.startswith("d")

    def add(bone, kind, target, **fields):
        c = ob.pose.bones[bone].constraints.new(kind)
        if kind == "ARMATURE":
            c.targets.new()
            c.targets[0].target, c.targets[0].subtarget = ob, target
        else:
            c.target, c.subtarget = ob, target
        for name, value in fields.items():
            setattr(c, name, value)
        return c

    add("d0", "COPY_TRANSFORMS", "c0")
    for k in (1, 2):                            # with other axes
        add(f"d{k}", "COPY_ROTATION", f"c{k}", target_space="LOCAL_OWNER_ORIENT",
            owner_space="LOCAL")
    add("dside", "ARMATURE", "side")
    carried = add("held", "CHILD_OF", "c0")     # a control with a constraint of its own
    carried.inverse_matrix = ob.data.bones["c0"].matrix_local.inverted()
    add("dheld", "COPY_TRANSFORMS", "held")
    child = add("dhand", "CHILD_OF", "hand")
    child.inverse_matrix = ob.data.bones["hand"].matrix_local.inverted()
    return ob


class Controls(unittest.TestCase):
    def setUp(self):
        self.scene = common.clear()
        self.skel = common.addon()

    # ---- looks ----

    def poses(self, ob, frames, moved=None):
        """[frame][bone] -> matrix in the armature. moved: a control that is moved in each."""
        out = []
        for frame in frames:
            self.scene.frame_set(frame)
            if moved:
                ob.pose.bones[moved].location += Vector((0.03, 0.05, 0.02))
                bpy.context.view_layer.update()
            out.append({bone.name: bone.matrix.copy() for bone in ob.pose.bones})
        self.scene.frame_set(1)
        return out

    def far(self, ob, a, b, names):
        """The largest distance of heads, in lengths of the bones."""
        return max((x[n].translation - y[n].translation).length / ob.data.bones[n].length
                   for x, y in zip(a, b) for n in names)

    def mutes(self, ob):
        return [(b.name, c.name, c.mute) for b in ob.pose.bones for c in b.constraints]

    def statics(self, ob):
        """Values of bones and of their properties as they are without animation."""
        return [(b.name, tuple(b.location), tuple(b.rotation_quaternion), tuple(b.rotation_euler),
                 tuple(b.scale), [b[n] for n in ("IK_FK",) if n in b.keys()])
                for b in ob.pose.bones]

    def new_frames(self, ob):
        """Frames of keys of the take that its source does not have."""
        take = ob.animation_data.action
        entry = take.skel_takes[0]
        old = common.curves(ob, entry.source) if entry.source else {}
        out = set()
        for at, curve in common.curves(ob).items():
            frames = {p.co[0] for p in curve.keyframe_points}
            out |= frames - {p.co[0] for p in old[at].keyframe_points} if at in old else frames
        return out

    def reproduce(self, ob, names, exact):
        """Takes the poses of bones as wanted and lets their controls make them; returns
        (rigging, receipt, channels)."""
        run, controls = self.skel.work.run, self.skel.pose_controls
        frames = list(range(FIRST, LAST + 1))
        wanted = [[self.pose(row[name]) for name in names] for row in self.poses(ob, frames)]
        rigging = controls.find_rigging(ob, names, FIRST, exact)
        before = common.dump_file()
        channels = run(controls.solve(ob, rigging, frames, wanted))
        self.assertTrue(common.dump_file() == before)
        run(self.skel.takes.write_take(ob, channels, "NEW", "take"))
        return rigging, run(controls.measure(ob, rigging, channels, frames, wanted)), channels

    def pose(self, matrix):
        location, rotation, _scale = matrix.decompose()
        return (*location, *rotation)


class Rigify(Controls):
    """The basic human, whose poses are made by IK, is posed by FK and tweaks."""

    def setUp(self):
        super().setUp()
        self.ob = generate("basic_human")
        if "fk_pose" not in self.id():
            animate(self.ob)
        self.deform = [b.name for b in self.ob.pose.bones if b.bone.use_deform]
        self.scene.frame_set(1)

    def test_inside_and_outside(self):
        ob, every = self.ob, [bone.name for bone in self.ob.pose.bones]
        before, moved = self.poses(ob, OUTSIDE), self.poses(ob, OUTSIDE, "hand_ik.L")
        self.assertGreater(self.far(ob, before, moved, ["DEF-hand.L"]), 0.1)
        mutes, statics = self.mutes(ob), self.statics(ob)
        rigging, receipt, channels = self.reproduce(ob, self.deform, True)

        self.assertEqual(rigging.lost, [])
        self.assertEqual({value for _path, value in rigging.found.switches}, {1.0})
        self.assertEqual(len(rigging.found.switches), 4)
        self.assertLess(receipt.position[0], TOL, receipt)
        self.assertLess(math.degrees(max(receipt.angle[0], receipt.twist[0])), 0.01, receipt)
        self.assertEqual(receipt.warnings, ())

        # FK controls are used, and bones that the rig moves itself are not.
        names = {channel.group for channel in channels}
        self.assertLessEqual({"torso", "upper_arm_fk.L", "forearm_fk.R", "spine_fk", "head"}, names)
        self.assertFalse([n for n in names if n.startswith(("DEF-", "ORG-", "MCH-"))])
        self.assertFalse([n for n in names if "_ik" in n or n in ("root", "hips", "chest")])

        self.assertEqual(self.mutes(ob), mutes)
        self.assertLess(self.far(ob, before, self.poses(ob, OUTSIDE), every), TOL)
        self.assertLess(self.far(ob, moved, self.poses(ob, OUTSIDE, "hand_ik.L"), every), TOL)
        frames = self.new_frames(ob)
        self.assertEqual((min(frames), max(frames)), (FIRST - 1, LAST + 1))

        # Inside, FK controls move the bones.
        self.scene.frame_set(FIRST + 2)
        hand = ob.pose.bones["DEF-hand.L"].matrix.translation.copy()
        ob.pose.bones["upper_arm_fk.L"].rotation_quaternion @= Quaternion((1, 0, 0), 0.5)
        bpy.context.view_layer.update()
        self.assertGreater((ob.pose.bones["DEF-hand.L"].matrix.translation - hand).length, 0.05)

        # What a take overwrites can be brought back.
        with self.skel.takes.source(ob):
            self.scene.frame_set(1)
            self.assertTrue(self.statics(ob) == statics)

    def test_locked_and_connected_channels_get_no_keys(self):
        ob = self.ob
        ob.pose.bones["forearm_fk.L"].lock_rotation = True, False, False
        ob.pose.bones["forearm_fk.L"].rotation_mode = "XYZ"
        _rigging, _receipt, channels = self.reproduce(ob, self.deform, False)
        self.assertTrue(channels)
        seen = set()
        for channel in channels:
            if channel.path.endswith("]"):      # a switch
                continue
            bone, name = ob.pose.bones[channel.group], channel.path.rsplit(".", 1)[1]
            if name == "location":
                self.assertFalse(bone.lock_location[channel.index], channel)
                self.assertFalse(bone.bone.use_connect, channel)
            elif name == "rotation_euler":
                self.assertFalse(bone.lock_rotation[channel.index], channel)
            seen.add((channel.group, name, channel.index))
        self.assertTrue(("forearm_fk.L", "rotation_euler", 2) in seen)
        self.assertFalse(("forearm_fk.L", "rotation_euler", 0) in seen)

    def test_fk_pose_needs_no_tweaks(self):
        """If FK acts already, and FK controls make the poses, they alone get keys."""
        ob = self.ob
        for bone in ob.pose.bones:
            if "IK_FK" in bone.keys():
                bone["IK_FK"] = 1.0
        for k, frame in enumerate((1, 60)):
            for name in ("upper_arm_fk.L", "forearm_fk.L", "thigh_fk.R", "shin_fk.R", "torso"):
                key(ob.pose.bones[name], frame, (0.4 * k, 0.5 * k, -0.2 * k))
        self.scene.frame_set(1)
        rigging, receipt, channels = self.reproduce(ob, self.deform, False)
        keyed = {channel.group for channel in channels}
        tweaks = [rigging.bones[c.bone].name for c in rigging.found.controls if c.tweak]
        self.assertEqual(keyed.intersection(tweaks), set())
        self.assertFalse([c for c in channels if c.path.endswith("]")])
        self.assertLess(receipt.position[0], TOL, receipt)

    def test_bake_twice(self):
        """The operator: the same keys again, and nothing of the work is left in the file."""
        ob = self.ob
        ob.skel.preset, ob.skel.ground, ob.skel.write_to = "FOLLOW", False, "CONTROLS"
        ob.skel.exact_controls = True
        for side in "LR":                       # the rig has no control for them alone
            ob.pose.bones[f"DEF-pelvis.{side}"].skel.role = "NONE"
        before, mutes = self.poses(ob, OUTSIDE), self.mutes(ob)
        keys = []
        for _ in range(2):
            self.assertEqual(bpy.ops.skel.bake_physics(frame_start=FIRST, frame_end=FIRST + 4),
                             {"FINISHED"})
            keys.append(common.dump_action(ob.animation_data.action))
        self.assertTrue(keys[0] == keys[1])
        self.assertEqual([s.name for s in bpy.data.scenes], ["Scene"])
        self.assertEqual([o.name for o in bpy.data.objects if o.type == "ARMATURE"], ["rig"])
        self.assertEqual(self.mutes(ob), mutes)
        receipt = common.report_of(ob).receipt
        self.assertLess(receipt.position[0], TOL, receipt)
        self.assertGreater(receipt.controls, 20)
        self.assertEqual(receipt.switches, 4)
        every = [bone.name for bone in ob.pose.bones]
        frames = [n for n, frame in enumerate(OUTSIDE) if not FIRST <= frame <= LAST]
        after = self.poses(ob, OUTSIDE)
        self.assertLess(self.far(ob, [before[n] for n in frames], [after[n] for n in frames],
                                 every), TOL)

    def test_cancelled(self):
        """Wherever the work stops, the file is as before."""
        ob, controls = self.ob, self.skel.pose_controls
        frames = list(range(FIRST, FIRST + 3))
        wanted = [[self.pose(row[n]) for n in self.deform] for row in self.poses(ob, frames)]
        rigging = controls.find_rigging(ob, self.deform, FIRST, False)
        before = common.dump_file()
        for steps in (1, 4, 6):
            work = controls.solve(ob, rigging, frames, wanted)
            for _ in range(steps):
                next(work)
            work.close()
            self.assertTrue(common.dump_file() == before, steps)

    def test_refused(self):
        ob = self.ob
        ob.skel.write_to = "CONTROLS"
        with self.assertRaisesRegex(RuntimeError, "NLA strip"):
            bpy.ops.skel.bake_physics(frame_start=FIRST, frame_end=LAST, target="NLA")

    def test_current_action(self):
        """Into the action itself: a second bake finds the source as it was."""
        ob = self.ob
        source = common.dump_action(ob.animation_data.action)
        ob.skel.preset, ob.skel.ground, ob.skel.write_to = "FOLLOW", False, "CONTROLS"
        keys = []
        for _ in range(2):
            bpy.ops.skel.bake_physics(frame_start=FIRST, frame_end=FIRST + 3, target="CURRENT")
            entry = ob.animation_data.action.skel_takes[0]
            self.assertTrue(common.dump_action(entry.source) == source)
            keys.append(common.dump_action(ob.animation_data.action))
        self.assertTrue(keys[0] == keys[1])

    def test_restore(self):
        """Every bit of the animation, the switches and the pose comes back, and the take remembers
        where its keys went."""
        ob = self.ob
        ob.skel.preset, ob.skel.ground = "FOLLOW", False
        for target in ("NEW", "CURRENT"):
            self.scene.frame_set(1)
            before = dump(ob)
            ob.skel.write_to, ob.skel.exact_controls = "CONTROLS", True
            bpy.ops.skel.bake_physics(frame_start=FIRST, frame_end=FIRST + 2, target=target)
            self.scene.frame_set(FIRST + 1)
            self.assertEqual(ob.pose.bones["upper_arm_parent.L"]["IK_FK"], 1.0)
            name = ob.animation_data.action.name
            ob.skel.write_to, ob.skel.exact_controls = "BONES", False
            bpy.ops.skel.take_settings(take=name)
            self.assertEqual((ob.skel.write_to, ob.skel.exact_controls), ("CONTROLS", True))
            bpy.ops.skel.take_restore()
            self.scene.frame_set(1)
            self.assertTrue(dump(ob) == before, target)

    def test_played_again(self):
        """A take of controls and one of deform bones, in turn: each plays as it was written."""
        ob = self.ob
        ob.skel.preset, ob.skel.ground, ob.skel.new_take = "FOLLOW", False, True
        seen = {}
        for where in ("CONTROLS", "BONES"):
            ob.skel.write_to = where
            bpy.ops.skel.bake_physics(frame_start=FIRST, frame_end=FIRST + 2)
            seen[ob.animation_data.action.name] = (self.poses(ob, (1, FIRST + 1, 60)),
                                                   self.mutes(ob))
        self.assertEqual(len(seen), 2)
        for name, (poses, mutes) in seen.items():
            bpy.ops.skel.take_use(take=name)
            self.assertEqual(self.mutes(ob), mutes, name)
            now = self.poses(ob, (1, FIRST + 1, 60))
            self.assertLess(self.far(ob, now, poses, self.deform), TOL, name)

    def test_keys_at_every_frame(self):
        """Errors of fewer keys would add up along the rig. What stays has keys at both ends."""
        ob = self.ob
        ob.skel.preset, ob.skel.ground, ob.skel.write_to = "FOLLOW", False, "CONTROLS"
        self.assertGreater(ob.skel.key_tolerance, 0)
        bpy.ops.skel.bake_physics(frame_start=FIRST, frame_end=LAST)
        every, ends, counts = set(range(FIRST, LAST + 1)), {FIRST, LAST}, [0, 0]
        curves = common.curves(ob)
        for path, index in json.loads(ob.animation_data.action.skel_takes[0].curves):
            curve = curves[path, index]
            inside = {p.co[0]: p for p in curve.keyframe_points if FIRST <= p.co[0] <= LAST}
            self.assertIn(set(inside), (every, ends), path)
            counts[set(inside) == every] += 1
            if set(inside) == ends:
                self.assertEqual(inside[FIRST].co[1], inside[LAST].co[1], path)
            at = {p.co[0]: p.interpolation for p in curve.keyframe_points}
            self.assertEqual((at[FIRST - 1], at[LAST], at[FIRST]),
                             ("CONSTANT", "CONSTANT", "LINEAR"), path)
        self.assertGreater(min(counts), 3)
        report = common.report_of(ob)
        self.assertEqual(report.key_tolerance, "every frame")
        self.assertEqual(report.key_count, counts[0] * 4 + counts[1] * (len(every) + 2))

    def structure(self):
        """(bones, switches, numbers by name) of the rig as plain data, through text."""
        puppet = self.skel.puppet.Puppet(self.ob)
        try:
            puppet.go_to(FIRST)
            bones, switches = self.skel.read_controls.read_rig(puppet, (False, False))
        finally:
            puppet.close()
        self.assertEqual([bone.name for bone in bones], [b.name for b in self.ob.pose.bones])
        self.assertTrue(all(json.loads(json.dumps(link.__dict__)) for bone in bones
                            for link in bone.links))
        return bones, switches, {bone.name: i for i, bone in enumerate(bones)}

    def traced(self, deform):
        """({control: guide} without tweaks, {switch: value}) of some deform bones."""
        bones, switches, index = self.structure()
        found = self.skel.controls.trace(bones, [index[name] for name in deform], switches)
        return ({bones[c.bone].name: bones[c.guide].name for c in found.controls if not c.tweak},
                {path.split('"')[1]: value for path, value in found.switches})

    def test_traced_structure(self):
        _bones, switches, _index = self.structure()
        self.assertIn('pose.bones["upper_arm_parent.L"]["IK_FK"]', [s.path for s in switches])
        found, values = self.traced(self.deform)
        self.assertEqual(values, {f"{limb}_parent.{side}": 1.0 for limb in ("upper_arm", "thigh")
                                  for side in "LR"})
        for control, guide in (("torso", "DEF-spine"), ("spine_fk", "DEF-spine"),
                               ("spine_fk.001", "DEF-spine.001"), ("neck", "DEF-spine.004"),
                               ("head", "DEF-spine.006"), ("forearm_fk.L", "DEF-forearm.L"),
                               ("foot_fk.R", "DEF-foot.R"), ("toe_fk.L", "DEF-toe.L")):
            self.assertEqual(found[control], guide)
        self.assertEqual(len(found), 25)

    def test_traced_part(self):
        """Of one arm: its controls and its switch only. The torso, which carries bones that are not
        wanted, stays."""
        arm = [name for name in self.deform if name.endswith((".L", ".L.001")) and
               any(part in name for part in ("upper_arm", "forearm", "hand"))]
        found, values = self.traced(arm)
        self.assertEqual(set(found), {"upper_arm_fk.L", "forearm_fk.L", "hand_fk.L"})
        self.assertEqual(values, {"upper_arm_parent.L": 1.0})

    def test_traced_with_other_properties(self):
        """Properties of the rig that do not concern IK stay as they are."""
        before, values = self.traced(self.deform)
        for bone in self.ob.pose.bones:
            for name in ("head_follow", "neck_follow", "FK_limb_follow"):
                if name in bone.keys():
                    bone[name] = 1.0
        self.assertEqual(self.traced(self.deform), (before, values))


class Generic(Controls):
    def test_constraints(self):
        """Copy Transforms, Copy Rotation with other axes, Child Of, Armature with one target."""
        ob = generic()
        names = [b.name for b in ob.pose.bones if b.bone.use_deform]
        for k, frame in enumerate((1, 34, 60)):
            for n, name in enumerate(("c0", "c1", "c2", "side", "held", "hand")):
                angles = [0.5 * math.sin(1 + 2 * k + n + m) for m in range(3)]
                moves = name not in ("c1", "c2")
                key(ob.pose.bones[name], frame, angles,
                    (0.2 * k, 0.1 * math.sin(n + k), 0.1 * k) if moves else None)
        frames = list(range(FIRST, LAST + 1))
        wanted = [[self.pose(row[n]) for n in names] for row in self.poses(ob, frames)]

        # The controls get other animation; what they did must be found again.
        for curve in common.curves(ob).values():
            for point in curve.keyframe_points:
                point.co[1] *= 0.3
            curve.update()
        before, mutes = self.poses(ob, OUTSIDE), self.mutes(ob)
        run, controls = self.skel.work.run, self.skel.pose_controls
        rigging = controls.find_rigging(ob, names, FIRST, False)
        self.assertEqual(rigging.lost, [])
        channels = run(controls.solve(ob, rigging, frames, wanted))
        self.assertEqual({c.group for c in channels}, {"c0", "c1", "c2", "side", "held", "hand"})
        run(self.skel.takes.write_take(ob, channels, "NEW", "take"))
        receipt = run(controls.measure(ob, rigging, channels, frames, wanted))
        self.assertLess(receipt.position[0], TOL, receipt)
        self.assertLess(math.degrees(max(receipt.angle[0], receipt.twist[0])), 0.01, receipt)
        self.assertEqual(self.mutes(ob), mutes)
        every = [bone.name for bone in ob.pose.bones]
        self.assertLess(self.far(ob, before, self.poses(ob, OUTSIDE), every), TOL)

    def test_rig_without_constraints(self):
        """Every bone is its own control: the keys play as those of the bones themselves."""
        ob = common.add_armature(common.HUMANOID)
        common.all_modes(ob)
        ob.skel.ground, ob.skel.write_to = False, "CONTROLS"
        self.assertEqual(bpy.ops.skel.bake_physics(frame_start=1, frame_end=10), {"FINISHED"})
        receipt = common.report_of(ob).receipt
        self.assertLess(receipt.position[0], TOL, receipt)
        self.assertEqual(receipt.warnings, ())

    def test_rotation_only(self):
        ob = common.add_armature(common.HUMANOID)
        ob.skel.ground, ob.skel.write_to, ob.skel.channels = False, "CONTROLS", {"ROTATION"}
        self.assertEqual(bpy.ops.skel.bake_physics(frame_start=1, frame_end=10), {"FINISHED"})
        self.assertFalse([path for path, _index in common.curves(ob) if path.endswith("location")])
        self.assertEqual(common.report_of(ob).receipt.warnings, ())

    def with_ik(self):
        """(a figure whose left arm IK moves, the constraint)."""
        ob = common.add_armature([*common.HUMANOID, ("goal", None, (0.4, -0.2, 1.0),
                                                     (0.4, -0.2, 1.2), 0.0, False)])
        ob.data.bones["goal"].use_deform = False
        solver = ob.pose.bones["forearm.L"].constraints.new("IK")
        solver.target, solver.subtarget, solver.chain_count = ob, "goal", 2
        ob.skel.ground, ob.skel.write_to = False, "CONTROLS"
        return ob, solver

    def switched(self, ob, solver):
        """Bakes the frames 5 to 12: IK acts outside of them only."""
        self.scene.frame_set(1)
        before = self.poses(ob, (1, 3, 13, 20))
        self.assertEqual(bpy.ops.skel.bake_physics(frame_start=5, frame_end=12), {"FINISHED"})
        self.assertLess(common.report_of(ob).receipt.position[0], TOL)
        self.assertEqual(common.report_of(ob).receipt.switches, 1)
        self.assertFalse(solver.mute)
        after = self.poses(ob, (1, 3, 13, 20))
        self.assertLess(self.far(ob, before, after, list(before[0])), TOL)
        for frame, influence in ((4, 1), (5, 0), (12, 0), (13, 1)):
            self.scene.frame_set(frame)
            self.assertEqual(solver.influence, influence, frame)

    def test_ik_of_deform_bones(self):
        """IK that acts on the bones themselves gets no influence within the range only."""
        self.switched(*self.with_ik())

    def test_property_of_the_object_that_drives_ik(self):
        """The property gets the keys, not the influence that it drives."""
        ob, solver = self.with_ik()
        ob["fk"] = 0.0
        driver = solver.driver_add("influence").driver
        variable = driver.variables.new()
        variable.targets[0].id, variable.targets[0].data_path = ob, '["fk"]'
        driver.expression = f"1 - {variable.name}"
        self.switched(ob, solver)
        found = [path for path, _index in common.curves(ob) if not path.startswith("pose.")]
        self.assertEqual(found, ['["fk"]'])
