# SPDX-License-Identifier: BSD-3-Clause
"""What the add-on does with files: saving, JSON that nests without end, meshes outside the package,
and which library it takes."""

import csv
import io
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import common
from test_addon import ADDON, UserError, core
from test_csv import FORMULAS, PLAIN

save, quote_csv = core.files.save, core.files.quote_csv
properties, shapes = core.robot_properties, core.robot_shapes
DEEP = "[" * 100000


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name).resolve()

    def put(self, name, data=b""):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def left(self):
        return sorted(path.name for path in self.folder.iterdir())


class Saving(Folder):
    def test_a_file_and_its_mode(self):
        path = self.folder / "out.json"
        save(str(path), "äöü\n")
        self.assertEqual(path.read_bytes(), "äöü\n".encode())
        ordinary = self.put("ordinary")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode),
                         stat.S_IMODE(ordinary.stat().st_mode))
        path.chmod(0o640)
        save(path, "new")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o640)
        self.assertEqual(self.left(), ["ordinary", "out.json"])

    def test_files_of_others_stay(self):
        """A file OUT.part of the user, and a link that somebody has put there."""
        mine, victim = self.put("a.json.part", b"mine"), self.put("victim", b"precious")
        (self.folder / "b.json.part").symlink_to(victim)
        for name in ("a.json", "b.json"):
            save(self.folder / name, "text")
        self.assertEqual((mine.read_bytes(), victim.read_bytes()), (b"mine", b"precious"))

    def test_a_link_stays_one(self):
        target = self.folder / "target.json"
        (self.folder / "link.json").symlink_to("target.json")
        for text in ("one", "two"):                     # it is not there before the first
            save(self.folder / "link.json", text)
            self.assertTrue((self.folder / "link.json").is_symlink())
            self.assertEqual(target.read_text(), text)

    def test_it_is_synced_before_it_is_renamed(self):
        calls = []
        with mock.patch.object(os, "fsync", lambda _handle: calls.append("fsync")), \
                mock.patch.object(os, "replace", lambda *_paths: calls.append("replace")):
            save(self.folder / "out", "text")
        self.assertEqual(calls, ["fsync", "replace"])

    def test_a_failure_leaves_the_old_file_and_names_it(self):
        path = self.put("out.json", b"old")
        for name in ("fsync", "replace"):
            with mock.patch.object(os, name, side_effect=OSError(28, "No space left on device")), \
                    self.assertRaises(OSError) as caught:
                save(str(path), "new")
            self.assertEqual((caught.exception.errno, caught.exception.filename), (28, str(path)))
        with self.assertRaises(UnicodeEncodeError):
            save(str(path), "\ud800")
        self.assertEqual((self.left(), path.read_bytes()), (["out.json"], b"old"))
        with self.assertRaisesRegex(FileNotFoundError, "no/out.json"):
            save(str(self.folder / "no" / "out.json"), "x")
        with self.assertRaisesRegex(OSError, "is not a file that can be replaced"):
            save(str(self.folder), "x")

    def test_names_as_long_as_names_can_be(self):
        save(self.folder / ("n" * 255), "x")
        self.assertEqual(self.left(), ["n" * 255])


class Nested(unittest.TestCase):
    """Brackets without end are a message, not a traceback."""

    def test_tracks(self):
        for text in (DEEP, '{"position": ' + DEEP, "{", "nonsense"):
            with self.assertRaisesRegex(UserError, "^The file is not JSON: "):
                core.track.track_frames(text, 24)

    def test_properties_and_documents(self):
        with self.assertRaisesRegex(UserError, "'skel_robot' must be JSON like"):
            properties.read_robot_data("arm", DEEP)
        with self.assertRaisesRegex(UserError, "joint_mimic"):
            properties._mimic_of("bone", DEEP)
        self.assertEqual(core.robot_import._dh_rows(DEEP), {})
        with self.assertRaises(core.binding.skelpy.SkelError):
            core.robot_import.import_robot(DEEP)

    def test_scenes_of_skelpy(self):
        with self.assertRaisesRegex(ValueError, "nested too deeply"):
            core.binding.scene.Scene.from_json(DEEP)


class Meshes(Folder):
    def setUp(self):
        super().setUp()
        self.urdf = self.folder / "src" / "arm_description" / "urdf"
        self.mesh = self.put("src/arm_description/meshes/a.stl", b"solid")
        self.secret = self.put("secret.stl", b"solid")
        self.urdf.mkdir()

    def find(self, filename):
        return shapes.find_mesh(filename, str(self.urdf))

    def test_the_package_around_the_urdf(self):
        """With package.xml, and without it by the name of the folder."""
        deeper = self.urdf / "variants"
        deeper.mkdir()
        for _ in range(2):
            for filename in ("../meshes/a.stl", "package://arm_description/meshes/a.stl",
                             "package://renamed/meshes/a.stl", str(self.mesh),
                             f"file://{self.mesh}", "package://x/urdf/../meshes/a.stl"):
                self.assertEqual(self.find(filename), str(self.mesh), filename)
            self.assertEqual(shapes.find_mesh("../../meshes/a.stl", str(deeper)), str(self.mesh))
            self.assertIsNone(self.find("../meshes/none.stl"))
            self.assertIsNone(self.find("package://other/meshes/none.stl"))
            self.put("src/arm_description/package.xml")

    def test_nothing_outside(self):
        link = self.urdf / "link.stl"
        link.symlink_to(self.secret)
        for filename in ("../../../secret.stl", str(self.secret), f"file://{self.secret}",
                         "package://arm_description/../../secret.stl", "package://../../secret.stl",
                         "package://arm_description//../../secret.stl",
                         "model://arm_description/meshes/../../../secret.stl", "link.stl",
                         "file:///etc/passwd", "../../../../../../../../../etc/passwd"):
            with self.assertRaisesRegex(UserError, "lies outside the robot's package"):
                self.find(filename)
        for folder in ("src", self.folder.name):        # a folder above is no package by its name
            self.assertIsNone(self.find(f"package://{folder}/secret.stl"))

    def test_a_urdf_alone_has_its_own_folder(self):
        inside = self.put("alone/meshes/b.stl")
        folder = str(self.folder / "alone")
        self.assertEqual(shapes.find_mesh("meshes/b.stl", folder), str(inside))
        with self.assertRaises(UserError):
            shapes.find_mesh("../secret.stl", folder)

    def test_other_packages(self):
        """Only what is a package, and only by its name."""
        other = self.put("src/gripper/meshes/g.stl")
        self.assertIsNone(self.find("package://gripper/meshes/g.stl"))
        self.put("src/gripper/package.xml")
        self.assertEqual(self.find("package://gripper/meshes/g.stl"), str(other))
        for filename in ("package://gripper/../../secret.stl", "../../gripper/meshes/g.stl"):
            with self.assertRaises(UserError):
                self.find(filename)

    def test_a_size(self):
        with open(self.mesh, "r+b") as file:
            file.truncate(shapes.MESH_BYTES_MAX)         # a hole: it takes no room
            self.assertEqual(self.find("../meshes/a.stl"), str(self.mesh))
            file.truncate(shapes.MESH_BYTES_MAX + 1)
        with self.assertRaisesRegex(UserError, "'../meshes/a.stl' has 256 MiB; at most 256"):
            self.find("../meshes/a.stl")


class Cells(unittest.TestCase):
    def test_names_are_no_formulas(self):
        for name in (*FORMULAS, "\t=1", "\rx", *PLAIN):
            text = quote_csv(name)
            (cell,), = csv.reader(io.StringIO(text, newline=""))
            guarded = name in FORMULAS or name[0] in "\t\r"
            self.assertEqual(cell, "'" + name if guarded else name)
        self.assertEqual(quote_csv("frame"), "frame")


class Library(Folder):
    """The add-on takes the library that came with it, whatever the environment says."""

    def run_with(self, program, *folders):
        return subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False,
            env={"PYTHONPATH": os.pathsep.join(map(str, folders)),
                 "SKEL_LIB": str(self.folder / "evil.so")})

    def test_skel_lib_is_not_read(self):
        package = self.folder / "skel"
        shutil.copytree(common.ROOT / "plugin_bridge" / "skelpy", package / "skelpy",
                        ignore=shutil.ignore_patterns("__pycache__"))
        (package / "core").mkdir()
        shutil.copy(ADDON / "core" / "binding.py", package / "core")
        for folder in (package, package / "core"):
            (folder / "__init__.py").write_text("")
        program = "from skel.core import binding; print(binding.skelpy.version())"
        done = self.run_with(program, self.folder)
        self.assertNotEqual(done.returncode, 0)         # no library at all: not that of SKEL_LIB
        self.assertIn("libskel.so is neither in", done.stderr)
        self.assertNotIn("evil.so", done.stderr)
        shutil.copy(common.LIB, package / "skelpy" / "libskel.so")
        done = self.run_with(program, self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.strip(), core.binding.skelpy.version())

    def test_skelpy_alone_reads_it(self):
        done = self.run_with("import skelpy; skelpy.version()", common.ROOT / "plugin_bridge")
        self.assertIn("evil.so", done.stderr)


if __name__ == "__main__":
    unittest.main()
