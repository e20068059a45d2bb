# SPDX-License-Identifier: BSD-3-Clause
"""Names in CSV: no spreadsheet takes them for a formula, and what we read back is the name."""

import csv
import io
import json
import pathlib
import subprocess
import tempfile
import unittest

import common
import skelpy

FORMULAS = ("=1+1", "+49 1", "-5", "@SUM(1)", "=cmd|' /C calc'!A0", "'=1", "''@x", "\uff1d1+1",
            '="a"&"b"', "=a,b;c")
PLAIN = ("arm", "'arm'", "a=b", "a,b", 'say "a"', "x;=1", "joint-1", "' =1")


def run(*arguments, **options):
    return subprocess.run([common.BIN, *map(str, arguments)], capture_output=True, check=False,
                          **options)


def chain(names):
    """A row of hinges, bodies and joints named alike."""
    bodies = [{"name": name, "position": [k + 1, 0, 0], "mass": 1, "inertia": [1, 1, 1]}
              for k, name in enumerate(names)]
    joints = [{"name": name, "type": "hinge", "bodies": [names[k - 1] if k else "world", name],
               "anchor": [k, 0, 0], "axis": [0, k % 2, 1 - k % 2]}
              for k, name in enumerate(names)]
    return {"format": "skel-scene/1", "name": "a,=1+1", "bodies": bodies, "joints": joints,
            "bake": {"fps": 24, "frame_start": 1, "frame_end": 4}}


def cells(text):
    """All cells of a CSV, as a spreadsheet cuts it, but those that are numbers."""
    def is_number(cell):
        try:
            return float(cell) is not None
        except ValueError:
            return False
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row
            if not is_number(cell)]


class Names(unittest.TestCase):
    NAMES = (*FORMULAS, *PLAIN)

    def assert_harmless(self, text):
        for cell in cells(text):
            self.assertFalse(cell.lstrip(" ").startswith(tuple("=+-@\t\r\uff1d")), cell)

    def written(self, *arguments):
        done = run(*arguments, input=json.dumps(chain(self.NAMES)).encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.decode()

    def guarded(self, name):
        return "'" + name if name in FORMULAS else name

    def test_tracks(self):
        text = self.written("bake", "-", "--to", "csv")
        self.assert_harmless(text)
        rows = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual([row["body"] for row in rows[:len(self.NAMES)]],
                         [self.guarded(name) for name in self.NAMES])

    def test_forces(self):
        with tempfile.TemporaryDirectory() as folder:
            scene, track = pathlib.Path(folder, "s.json"), pathlib.Path(folder, "t.json")
            scene.write_text(json.dumps(chain(self.NAMES)))
            self.assertEqual(run("bake", scene, "-o", track).returncode, 0)
            done = run("inverse", scene, track)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assert_harmless(done.stdout.decode())
        head = next(csv.reader(io.StringIO(done.stdout.decode())))
        for name in self.NAMES:
            self.assertIn(self.guarded(name) + ".torque", head)

    def test_tables_are_read_back_as_they_were(self):
        for convention in ("standard", "modified"):
            text = self.written("dh", "extract", "-", "--to", "csv", "--convention", convention)
            self.assert_harmless(text)
            with skelpy.Scene.from_json(text) as scene:
                self.assertEqual(scene.joint_names, list(self.NAMES))
                self.assertEqual(scene.body_names, list(self.NAMES))
                self.assertEqual(scene.name, "a,=1+1")
            again = run("dh", "convert", "-", "--to", "csv", "--convention", convention,
                        input=text.encode())
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assert_harmless(again.stdout.decode())
            self.assertEqual(again.stdout.decode().split("name,link", 1)[1],
                             text.split("name,link", 1)[1])

    def test_a_table_without_guards_is_read_too(self):
        text = ("# convention: standard\n# angle_unit: rad\n# length_unit: m\n"
                'name,type,a,alpha,d,theta\n=x,R,-1,0,-0.5,0\n"say ""a""",R,1,0,0,0\n')
        with skelpy.Scene.from_json(text) as scene:
            self.assertEqual(scene.joint_names, ["=x", 'say "a"'])


if __name__ == "__main__":
    unittest.main()
