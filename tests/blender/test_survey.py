# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is left out without a word: what a bake does not simulate is named, and obstacles whose
rotation was applied to their mesh are what they look like."""

import bpy
import bmesh
from mathutils import Matrix

import common
from test_bake import Baked

BOX_FACES = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
TILT = Matrix.Rotation(0.5, 4, (1.0, 0.3, 0.2))


def box_mesh(x, y, z, turn=Matrix.Identity(4)):
    mesh = bpy.data.meshes.new("box")
    mesh.from_pydata([(a * x / 2, b * y / 2, c * z / 2) for a in (-1, 1) for b in (-1, 1)
                      for c in (-1, 1)], [], BOX_FACES)
    mesh.transform(turn)
    mesh.update()
    return mesh


def plane_mesh(edge, turn=Matrix.Identity(4)):
    mesh, h = bpy.data.meshes.new("plane"), edge / 2
    mesh.from_pydata([(-h, -h, 0), (h, -h, 0), (h, h, 0), (-h, h, 0)], [], [(0, 1, 2, 3)])
    mesh.transform(turn)
    mesh.update()
    return mesh


def stairs_mesh():
    """Three steps in one mesh: an outline in x and z, drawn out along y."""
    outline = [(0, 0), (3, 0), (3, 1), (2, 1), (2, 2), (1, 2), (1, 3), (0, 3)]
    mesh, n = bpy.data.meshes.new("stairs"), len(outline)
    mesh.from_pydata([(x, y, z) for y in (0, 2) for x, z in outline], [],
                     [tuple(range(n)), tuple(range(2 * n - 1, n - 1, -1))] +
                     [(k, k + n, (k + 1) % n + n, (k + 1) % n) for k in range(n)])
    return mesh


def torus_mesh():
    bpy.ops.mesh.primitive_torus_add(major_radius=1.0, minor_radius=0.3)
    return bpy.context.object.data


class Survey(Baked):
    def setUp(self):
        super().setUp()
        self.ob = self.figure()
        self.scene.frame_end, self.ob.skel.ground = 8, False
        bpy.context.view_layer.objects.active = self.ob

    def obstacle(self, mesh, location=(0, 0, -4), name="thing"):
        collection = bpy.data.collections.new("things")
        self.scene.collection.children.link(collection)
        thing = bpy.data.objects.new(name, mesh)
        thing.location = location
        collection.objects.link(thing)
        self.ob.skel.obstacles = collection
        bpy.context.view_layer.update()
        return thing

    def collider(self):
        return common.read_shot(self.ob, 1, 8).colliders[0]

    def warnings(self):
        bpy.context.view_layer.objects.active = self.ob
        self.bake(self.ob)
        return list(common.report_of(self.ob).warnings)

    def told(self, *words):
        found = [each for each in self.warnings() if all(word in each for word in words)]
        self.assertEqual(len(found), 1, common.report_of(self.ob).warnings)

    def test_nothing_to_tell(self):
        self.obstacle(box_mesh(8, 8, 1))
        self.assertEqual(self.warnings(), [])

    def test_second_armature(self):
        other = common.chain(3, name="other")
        other.select_set(True)
        self.told("Only the active armature", "'other'")

    def test_force_field(self):
        wind = bpy.data.objects.new("breeze", None)
        self.scene.collection.objects.link(wind)
        bpy.context.view_layer.objects.active = wind
        bpy.ops.object.forcefield_toggle()
        wind.field.type = "WIND"
        wind.field.strength = 3.0
        self.told("Force fields", "'breeze'")

    def prop(self, bone):
        prop = bpy.data.objects.new("sword", box_mesh(0.1, 0.1, 1))
        self.scene.collection.objects.link(prop)
        prop.parent, prop.parent_type, prop.parent_bone = self.ob, "BONE", bone
        return prop

    def test_prop(self):
        self.prop("hand.L")
        self.told("'sword'", "'hand.L'", "no mass")

    def test_prop_of_a_bone_that_is_not_simulated(self):
        self.prop("hand.L")
        for bone in self.ob.pose.bones:
            bone.skel.role = "DYNAMIC" if bone.name.startswith("foot") else "DRIVEN"
        self.assertEqual(self.warnings(), [])

    def test_prop_as_obstacle(self):
        prop = self.prop("hand.L")
        collection = bpy.data.collections.new("things")
        self.scene.collection.children.link(collection)
        collection.objects.link(prop)
        self.ob.skel.obstacles = collection
        self.told("The obstacle 'sword'", "'hand.L'")

    def test_stairs(self):
        self.obstacle(stairs_mesh(), location=(0, 0, -6))
        self.told("'thing' acts as its bounding box")

    def test_torus(self):
        self.obstacle(torus_mesh())
        self.told("'thing' acts as its bounding box")

    def test_wedge(self):
        """All its vertices are corners of its box."""
        mesh = bpy.data.meshes.new("wedge")
        mesh.from_pydata([(0, 0, 0), (2, 0, 0), (0, 0, 1), (0, 3, 0), (2, 3, 0), (0, 3, 1)], [],
                         [(0, 1, 2), (5, 4, 3), (0, 3, 4, 1), (1, 4, 5, 2), (2, 5, 3, 0)])
        self.obstacle(mesh)
        self.told("'thing' acts as its bounding box")

    def test_rigid_body_of_shape_mesh(self):
        thing = self.obstacle(stairs_mesh(), location=(0, 0, -6))
        bpy.context.view_layer.objects.active = thing
        bpy.ops.rigidbody.object_add()
        thing.rigid_body.collision_shape = "MESH"
        self.told("'thing' acts as its bounding box")
        thing.rigid_body.collision_shape = "BOX"        # so the user wants it
        self.assertEqual(self.warnings(), [])

    def test_boxes_are_boxes(self):
        """Also one that is cut into faces, and one made by a modifier."""
        mesh = box_mesh(8, 8, 1)
        work = bmesh.new()
        work.from_mesh(mesh)
        bmesh.ops.subdivide_edges(work, edges=work.edges[:], cuts=3, use_grid_fill=True)
        work.to_mesh(mesh)
        work.free()
        self.obstacle(mesh)
        self.assertEqual(self.warnings(), [])
        thing = self.obstacle(plane_mesh(8))
        thing.modifiers.new("thick", "SOLIDIFY").thickness = 0.5
        bpy.context.view_layer.update()
        self.assertEqual(self.collider().kind, "BOX")
        self.assertEqual(self.warnings(), [])

    def test_applied_rotation(self):
        """A plane and a box whose rotation is in their mesh are what they are without."""
        for make, kind in ((lambda turn: plane_mesh(9, turn), "PLANE"),
                           (lambda turn: box_mesh(8, 5, 1, turn), "BOX")):
            thing = self.obstacle(make(Matrix.Identity(4)))
            thing.rotation_euler = TILT.to_euler()
            bpy.context.view_layer.update()
            shown = self.warnings()
            want = common.bone_matrices(self.ob, [8])[0]
            self.setUp()
            self.obstacle(make(TILT))
            found = self.collider()
            self.assertEqual(found.kind, kind)
            self.assertTrue(found.exact)
            self.assertEqual(self.warnings(), shown)
            got = common.bone_matrices(self.ob, [8])[0]
            for name, matrix in want.items():
                self.assertLess((matrix.translation - got[name].translation).length, 1e-5, name)
            self.setUp()

    def test_narrow_plane(self):
        self.obstacle(plane_mesh(0.5))
        self.told("The plane 'thing' is 0.5 m wide", "infinite plane")

    def test_bone_that_starts_inside(self):
        self.obstacle(box_mesh(4, 4, 1), location=(0, 0, 0))
        self.told("'thing'", "overlap at the start")

    def test_bone_that_starts_behind_a_plane(self):
        """The armature is on both sides of it; most of it is above."""
        self.obstacle(plane_mesh(20), location=(0, 0, 0.4))
        self.told("below the plane 'thing'")
