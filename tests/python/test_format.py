# SPDX-License-Identifier: BSD-3-Clause
"""The reference of the formats and the program know the same fields.

A comment `<!-- fields: FILE TABLE ... -->` above a table of plugin_bridge/FORMAT.md names the
tables of C sources that read these fields. `TABLE:KIND` takes the rows whose column `of` is
"all" or contains KIND. A comment `<!-- written: PATH -->` names an object of a document
that `skel` writes.
"""

import json
import pathlib
import re
import subprocess
import tempfile
import unittest

import common
from common import skelpy

BRIDGE = common.ROOT / "plugin_bridge"
FORMAT = common.ROOT / "plugin_bridge/FORMAT.md"

# Fields that only some documents have, which the documents below need not be.
OPTIONAL = {"report.summary": {"failed"}, "inverse.contacts": {"ground"}}


# ---- the reference -------------------------------------------------------------------------------

def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def tables(keyword):
    """(argument of the comment, rows as dicts by column name) of every table below a comment."""
    blocks = re.findall(rf"<!-- {keyword}: (.*?) -->\n((?:\|.*\n)+)", FORMAT.read_text("utf-8"))
    for argument, text in blocks:
        head, _, *rows = map(cells, text.splitlines())
        yield argument, [dict(zip(head, row)) for row in rows]


def names(rows, kind=None):
    """The fields of a table, or only those of one kind of object."""
    found = []
    for row in rows:
        kinds = re.split(", ?", row.get("of", "all"))
        if kind is None or kind in kinds or "all" in kinds:
            found += re.findall("`(.*?)`", row["field"])
    return found


# ---- the sources ---------------------------------------------------------------------------------

def macros(text):
    """Lists of fields that tables of one source share."""
    lines = text.replace("\\\n", " ")
    return dict(re.findall(r'^#define (\w+)\s+(\{\s*"\w+".*)$', lines, re.M))


TABLE = re.compile(r"const (doc_field|scene_constant) (\w+)\[\] = \{(.*?)\};", re.S)


def reader_tables(path):
    """Name of a table -> its fields. Tables of constants are called FUNCTION.ARRAY."""
    text = path.read_text("utf-8")
    shared = macros(text)
    found = {}
    for match in TABLE.finditer(text):
        kind, name, body = match.groups()
        if kind == "scene_constant":
            functions = re.findall(r"^\w[^\n;]*?(\w+)\([^;{]*\) \{$", text[:match.start()], re.M)
            name = f"{functions[-1]}.{name}"
        for macro, fields in shared.items():
            body = re.sub(rf"\b{macro}\b", lambda _, fields=fields: fields, body)
        if name in found:
            raise AssertionError(f"{path}: two tables are called {name}")
        found[name] = re.findall(r'\{\s*"(\w+)"', body)
    return found


class Readers(unittest.TestCase):
    """Every field that a reader knows stands in the reference, and the other way round."""

    def setUp(self):
        self.documented = {}
        for argument, rows in tables("fields"):
            file, *readers = argument.split()
            for reader in readers:
                table, _, kind = reader.partition(":")
                fields = names(rows, kind or None)
                self.documented.setdefault((file, table), []).extend(fields)

    def test_fields_are_those_of_the_readers(self):
        known = {}
        for path in sorted(BRIDGE.glob("*/*.c")):
            for table, fields in reader_tables(path).items():
                known[path.relative_to(BRIDGE).as_posix(), table] = fields
        self.assertGreater(len(known), 40)
        self.assertEqual(sorted(self.documented), sorted(known))
        for key, fields in known.items():
            self.assertEqual(sorted(self.documented[key]), sorted(fields), key)

    def test_joint_types_are_those_of_the_library(self):
        rows = next(rows for argument, rows in tables("fields") if argument.endswith(" k_joint"))
        row = next(row for row in rows if row["field"] == "`type`")
        kinds = skelpy.joint_kinds()
        self.assertEqual(re.findall('"(.*?)"', row["type"]), list(kinds))
        self.assertEqual([int(n) for n in re.findall(r"\d", row["meaning"])],
                         [kind.dof for kind in kinds.values()])

    def test_each_field_has_a_type_and_a_default(self):
        for argument, rows in tables("fields"):
            for row in rows:
                self.assertTrue(row["type"] and row["default"], (argument, row))


# ---- documents that skel writes ------------------------------------------------------------------

def skel(*arguments):
    done = subprocess.run([common.BIN, *map(str, arguments)], capture_output=True, check=True)
    return done.stdout.decode()


FALLING = {"format": "skel-scene/1", "ground": [{}], "bake": {"frame_end": 24}, "bodies": [
    {"name": "upper", "mass": 1, "shape": {"type": "box", "size": [.1, .1, .2]},
     "position": [0, 0, 0.35]},
    {"name": "lower", "mass": 1, "shape": {"type": "box", "size": [.1, .1, .2]},
     "position": [0, 0, 0.1]}],
    "joints": [{"name": "knee", "type": "hinge", "bodies": ["upper", "lower"],
                "anchor": [0, 0, 0.225], "axis": [0, 1, 0]}]}

# The second hinge is 1e-5 rad off parallel: the receipt says so.
NEARLY_PARALLEL = {"format": "skel-scene/1", "bodies": [
    {"name": name, "position": [x, 0, 0]} for name, x in (("a", 0.5), ("b", 1.5))],
    "joints": [
        {"name": "one", "type": "hinge", "bodies": ["world", "a"], "anchor": [0, 0, 0],
         "axis": [0, 0, 1]},
        {"name": "two", "type": "hinge", "bodies": ["a", "b"], "anchor": [1, 0, 0],
         "axis": [1e-5, 0, 1]}]}

# The target leaves the reach on one side of the base and comes back on the other.
JUMPING = {"format": "skel-scene/1", "ik": {"mode": "track", "start": "held"},
           "bodies": [{"name": "arm", "position": [0.5, 0, 0]}],
           "joints": [{"name": "turn", "type": "hinge", "bodies": ["world", "arm"],
                       "anchor": [0, 0, 0], "axis": [0, 0, 1]}],
           "goals": [{"body": "arm", "position": [[0.5, 0, 0], [0.5, 0, 0], [-0.4, -0.3, 0],
                                                  [-0.4, -0.3, 0]]}]}


class Written(unittest.TestCase):
    """Every field that skel writes stands in the reference, and the other way round."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.documented = {path: names(rows) for path, rows in tables("written")}

    def file(self, name, document=None):
        path = pathlib.Path(self.folder.name, name)
        if document:
            path.write_text(json.dumps(document), encoding="utf-8")
        return path

    def same(self, path, written):
        documented = set(self.documented[path])
        self.assertLessEqual(set(written), documented, path)
        self.assertLessEqual(documented - set(written), OPTIONAL.get(path, set()), path)

    def test_report_and_inverse(self):
        scene, track = self.file("fall.json", FALLING), self.file("track.json")
        report = self.file("report.json")
        skel("bake", scene, "-o", track, "--report", report)
        bake = json.loads(report.read_text())
        self.same("report", bake)
        self.same("report.summary", bake["summary"])
        self.same("report.frames", bake["frames"][0])
        self.same("report.frames.work", bake["frames"][0]["work"])

        # The report inside the track is the summary and the method.
        method = {"integrator", "solver", "step", "steps", "rejected_steps", "evaluations", "order",
                  "warnings"}
        self.assertEqual(set(json.loads(track.read_text())["report"]),
                         method | set(bake["summary"]))

        inverse = json.loads(skel("inverse", scene, track, "--to", "json"))
        self.same("inverse", inverse)
        self.same("inverse.joints", inverse["joints"][0])
        self.same("inverse.contacts", next(filter(None, inverse["contacts"]))[0])

    def test_flight(self):
        document = json.loads(common.sample("free_tree"))
        for name in ("ground", "forces"):
            document.pop(name, None)
        scene = self.file("air.json", document)
        track = json.loads(skel("flight", scene, "--from", "scene", "--to", "scene", "--time", 0.5))
        self.same("flight.report", track["report"])

    def test_ik(self):
        track = json.loads(skel("ik", self.file("jump.json", JUMPING)))
        self.same("ik.receipts", track["receipts"][0])
        self.same("ik.ik", track["ik"])
        self.same("ik.ik.jumps", track["ik"]["jumps"][0])
        self.assertEqual(set(track["receipts"][0]["goals"][0]), {"distance", "angle"})

    def test_receipt_of_a_table(self):
        scene = self.file("parallel.json", NEARLY_PARALLEL)
        table = json.loads(skel("dh", "extract", scene))
        self.same("dh.receipt.parallel", table["receipt"]["parallel"][0])

    def test_every_written_object_has_a_test(self):
        text = pathlib.Path(__file__).read_text(encoding="utf-8")
        for path in self.documented:
            self.assertIn(f'self.same("{path}"', text)


class Examples(unittest.TestCase):
    def test_examples_are_documents(self):
        blocks = re.findall("```json\n(.*?)```", FORMAT.read_text("utf-8"), re.S)
        self.assertEqual(len(blocks), 2)
        for block in blocks:
            common.skelpy.Scene.from_json(block)

    def test_links_lead_to_headings(self):
        text = FORMAT.read_text("utf-8")
        heads = {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-")
                 for head in re.findall("^#+ (.*)$", text, re.M)}
        self.assertLessEqual(set(re.findall(r"\]\(#(.*?)\)", text)), heads)


if __name__ == "__main__":
    unittest.main()
