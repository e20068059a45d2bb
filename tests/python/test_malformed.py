# SPDX-License-Identifier: BSD-3-Clause
"""URDF and DH documents that are wrong: each is refused with exit 2 and a message that names the
place, says what is there and what must be."""

import json
import re
import subprocess
import unittest

import common

LINK = '<link name="{}"/>'
AB = '<link name="a"/><link name="b"/>'
ENDS = '<parent link="a"/><child link="b"/>'
MASS = '<inertial><mass value="{}"/><inertia {}/></inertial>'


def urdf(*parts):
    return "<robot name='r'>\n" + "\n".join(parts) + "\n</robot>"


def joint(inside, kind="revolute", name="j"):
    return urdf(AB, f'<joint name="{name}" type="{kind}">{inside}</joint>')


def weighed(mass, moments, times=1):
    return urdf(f"<link name='a'>{MASS.format(mass, moments) * times}</link>")


def bomb():
    lines = ['<!ENTITY a0 "lol">']
    lines += ['<!ENTITY a%d "%s">' % (i, f"&a{i - 1};" * 10) for i in range(1, 10)]
    return f'<?xml version="1.0"?>\n<!DOCTYPE robot [{"".join(lines)}]>\n<robot name="&a9;"/>'


URDF = {  # name: (text, what the message must have)
    "empty robot": (urdf(), "document: has no links"),
    "not closed": ("<robot name='r'><link name='a'>", r"line 1, column \d+: is no XML"),
    "wrong end tag": ("<robot name='r'>\n<link name='a'>\n</robot>", "line 3, column"),
    "no robot": ("<model/>", "line 1: document: is <model>, must be <robot>"),
    "SDF": ("<?xml version='1.0'?>\n<sdf version='1.7'><model name='m'/></sdf>",
            "line 2: document: is an SDF model (Gazebo); skel reads URDF"),
    "MJCF": ("<mujoco model='m'><worldbody/></mujoco>",
             "line 1: document: is an MJCF model (MuJoCo); skel reads URDF"),
    "COLLADA": ("<COLLADA version='1.4.1'/>", "document: is a COLLADA mesh; skel reads URDF"),
    "a web page": ("<html><body/></html>", "document: is a web page instead of the file"),
    "USD text": ('#usda 1.0\n(\n    defaultPrim = "arm"\n)\n',
                 "document: is a USD scene (text, usda); skel reads URDF"),
    "USD binary": ("PXR-USDC\0\x08\0\0\0", "document: is a USD scene (binary, usdc); skel reads"),
    "USDZ": ("PK\x03\x04\x14\0\0\0", "document: is a zip archive (a USDZ scene is one)"),
    "Git LFS": ("version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
    "text after": (urdf(LINK.format("a")) + "\n<more/>", "line 4, column 1: is no XML"),
    "attribute twice": ("<robot name='a' name='b'/>", "line 1, column"),
    "unquoted": ("<robot name=r/>", "line 1, column"),
    "bad character": ("<robot name='r'>\x01</robot>", "line 1, column"),
    "undefined entity": ("<robot name='r'>&what;</robot>", "line 1, column"),
    "entity bomb": (bomb(), "line 2: declares an entity, must not"),
    "outside entity": ('<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n'
                       '<robot name="&x;"/>',
                       "line 1: declares an entity"),
    "parameter entity": ('<!DOCTYPE r [\n<!ENTITY % p "x">\n%p;]>\n<robot/>',
                         "line 2: declares an entity"),
    "10 MB of nesting": ("<robot>" + "<a>" * (10 * 1024 * 1024 // 3),
                         "line 1: is nested too deep, must be at most 64"),
    "10 MB of nesting in lines": ("<robot>" + "<a>\n" * (10 * 1024 * 1024 // 4),
                                  "line 64: is nested"),
    "an open comment": (urdf(LINK.format("a"), "<!-- -- "), r"line \d, column \d+: is no XML"),
    "a macro": (urdf('<xacro:include filename="x"/>'),
                "line 2: xacro:include: is a macro, the file is an unexpanded xacro: run xacro"),
    "a macro beside links": (urdf(AB, '<xacro:arm name="left"/>'),
                             "line 3: xacro:arm: is a macro, the file is an unexpanded xacro"),
    "a macro in a link": (urdf("<link name='a'><xacro:inertia m='1'/></link>"),
                          "line 2: link 'a': xacro:inertia: is a macro"),
    "a macro in what is kept": (urdf("<link name='a'><visual><xacro:box/></visual></link>"),
                                "line 2: link 'a': xacro:box: is a macro"),
    "a condition of xacro": (urdf(AB, '<material name="m" xacro:if="1"/>'),
                             "line 3: material: xacro:if: is '1', the file is an unexpanded"),
    "an expression": (urdf("<link name='${side}_arm'/>"),
                      "line 2: link: name: is '${side}_arm', the file is an unexpanded xacro"),
    "a substitution": (urdf("<link name='a'><visual><geometry>"
                            "<mesh filename='$(find pkg)/m.stl'/></geometry></visual></link>"),
                       "link 'a': mesh: filename: is '$(find pkg)/m.stl', the file is an"),
    "link without name": (urdf("<link/>"), "line 2: link: name: is missing, must be a name"),
    "link with empty name": (urdf("<link name=''/>"), "line 2: link: name: is '', must be"),
    "link with a long name": (urdf(f"<link name='{'x' * 300}'/>"), "line 2: link: name: is 'xxx"),
    "two links of one name": (urdf(AB, '<link name="a"/>'),
                              "line 3: link 'a': name: is the same as in line 2, must be unique"),
    "mass is text": (weighed('heavy', ''),
                     "line 2: link 'a': inertial: mass: value: is 'heavy', must be a number"),
    "mass is NaN": (weighed('NaN', ''), "value: is 'NaN', must"),
    "mass is infinite": (weighed('inf', ''), "value: is 'inf'"),
    "mass is huge": (weighed('1e999', ''), "value: is '1e999'"),
    "mass is hex": (weighed('0x10', ''), "value: is '0x10'"),
    "mass is negative": (weighed(-1, ''),
                         "value: is -1, must be >= 0"),
    "mass has two numbers": (weighed('1 2', ''), "is '1 2', must"),
    "mass without value": (urdf("<link name='a'><inertial><mass/></inertial></link>"),
                           "link 'a': inertial: mass: value: is missing"),
    "inertial without mass": (urdf("<link name='a'>\n<inertial>\n</inertial></link>"),
                              "link 'a': inertial: mass: is missing"),
    "inertia is text": (weighed(1, 'ixx="a"'),
                        "inertial: inertia: ixx: is 'a', must be a number"),
    "inertia is NaN": (weighed(1, 'ixx="1" iyy="nan"'),
                       "inertia: iyy: is 'nan'"),
    "inertial origin": (urdf("<link name='a'><inertial><origin xyz='0 0'/><mass value='1'/>"
                             "</inertial></link>"),
                        "inertial: origin: xyz: is '0 0', must be three numbers"),
    "visual origin": (urdf("<link name='a'><visual><origin xyz='0 0 nan'/></visual></link>"),
                      "line 2: link 'a': origin: xyz: is '0 0 nan', must be three numbers"),
    "box of words": (urdf("<link name='a'><collision><geometry><box size='a b c'/></geometry>"
                          "</collision></link>"), "link 'a': box: size: is 'a b c', must be"),
    "mesh without file": (urdf("<link name='a'><visual><geometry><mesh/></geometry></visual>"
                               "</link>"),
                          "link 'a': mesh: filename: is missing"),
    "joint without name": (urdf(AB, f"<joint type='fixed'>{ENDS}</joint>"),
                           "line 3: joint: name: is missing"),
    "joint without type": (urdf(AB, f"<joint name='j'>{ENDS}</joint>"),
                           "line 3: joint 'j': type: is missing, must be revolute"),
    "unknown type": (joint(ENDS, "ball"), "joint 'j': type: is 'ball', must be revolute"),
    "floating above a hinge": (urdf(AB, LINK.format("c"),
                                    f"<joint name='j' type='revolute'>{ENDS}</joint>",
                                    "<joint name='k' type='floating'><parent link='b'/>"
                                    "<child link='c'/></joint>"),
                               "line 5: joint 'k': type: is 'floating', must be another"),
    "no parent": (joint('<child link="b"/>'), "joint 'j': parent: is missing"),
    "no child": (joint('<parent link="a"/>'), "joint 'j': child: is missing"),
    "parent without link": (joint('<parent/><child link="b"/>'), "parent: link: is missing"),
    "parent is missing": (joint('<parent link="x"/><child link="b"/>'),
                          "joint 'j': parent: link: is 'x', must be one of the links"),
    "child is missing": (joint('<parent link="a"/><child link="x"/>'),
                         "joint 'j': child: link: is 'x', must be one of the links"),
    "child is its parent": (joint('<parent link="a"/><child link="a"/>'),
                            "child: link: is 'a', must be another link than the parent"),
    "two parents": (joint(ENDS + '<parent link="a"/>'), "joint 'j': parent: is given twice"),
    "two joints of one name": (urdf(AB, LINK.format("c"),
                                    f"<joint name='j' type='fixed'>{ENDS}</joint>",
                                    "<joint name='j' type='fixed'><parent link='b'/>"
                                    "<child link='c'/></joint>"),
                               "line 5: joint 'j': name: is the same as in line 4"),
    "two joints to one child": (urdf(AB, LINK.format("c"),
                                     f"<joint name='j' type='fixed'>{ENDS}</joint>",
                                     "<joint name='k' type='fixed'><parent link='c'/>"
                                     "<child link='b'/></joint>"),
                                "line 5: joint 'k': child: link: is 'b', must be the child of one"),
    "a cycle": (urdf(AB, f"<joint name='j' type='fixed'>{ENDS}</joint>",
                     "<joint name='k' type='fixed'><parent link='b'/><child link='a'/></joint>"),
                r"line \d: joint '[jk]': parent: link: is '[ab]', must be connected to the root"),
    "a cycle beside a root": (urdf(AB, LINK.format("c"),
                              f"<joint name='j' type='fixed'>{ENDS}</joint>",
                                   "<joint name='k' type='fixed'><parent link='b'/>"
                                   "<child link='a'/></joint>"), "these joints form a cycle"),
    "two roots": (urdf(AB), "link 'b': is the child of no joint, nor is 'a': the links must form "
                            "one tree"),
    "origin of two": (joint(ENDS + '<origin xyz="1 2"/>'), "origin: xyz: is '1 2', must be three"),
    "origin of four": (joint(ENDS + '<origin xyz="1 2 3 4"/>'), "origin: xyz: is '1 2 3 4', must"),
    "rpy of words": (joint(ENDS + '<origin rpy="0 0 pi"/>'), "origin: rpy: is '0 0 pi', must be"),
    "origin is NaN": (joint(ENDS + '<origin xyz="0 nan 0"/>'),
                      "origin: xyz: is '0 nan 0', must be"),
    "origin with commas": (joint(ENDS + '<origin xyz="1,2,3"/>'),
                           "origin: xyz: is '1,2,3', must be"),
    "axis is zero": (joint(ENDS + '<axis xyz="0 0 0"/>'), "axis: xyz: is 0 0 0, must not be zero"),
    "axis of two": (joint(ENDS + '<axis xyz="0 1"/>'),
                    "axis: xyz: is '0 1', must be three numbers"),
    "axis without xyz": (joint(ENDS + "<axis/>"), "axis: xyz: is missing"),
    "limit is text": (joint(ENDS + '<limit lower="low"/>'),
                      "limit: lower: is 'low', must be a number"),
    "limit is NaN": (joint(ENDS + '<limit lower="0" upper="nan"/>'),
                     "limit: upper: is 'nan', must"),
    "effort is text": (joint(ENDS + '<limit effort="much"/>'), "limit: effort: is 'much', must be"),
    "damping is negative": (joint(ENDS + '<dynamics damping="-1"/>'),
                            "damping: is -1, must be >= 0"),
    "mimic of itself": (joint(ENDS + '<mimic joint="j"/>'),
                        "mimic: joint: is 'j', must be another"),
    "mimic without joint": (joint(ENDS + "<mimic/>"), "mimic: joint: is missing, must be a name"),
    "mimic factor": (joint(ENDS + '<mimic joint="j" multiplier="two"/>'),
                     "multiplier: is 'two', must"),
    "mimics in a ring": (urdf(AB, LINK.format("c"),
                              f"<joint name='j' type='revolute'>{ENDS}<mimic joint='k'/></joint>",
                              "<joint name='k' type='revolute'><parent link='b'/><child link='c'/>"
                              "<mimic joint='j'/></joint>"), "does not mimic this joint in turn"),
    "world is no root": (urdf(LINK.format("a"), LINK.format("world"),
                         "<joint name='j' type='fixed'>"
                              "<parent link='a'/><child link='world'/></joint>"),
                         "link 'world': name"),
    "control character": (urdf("<link name='a&#9;b'/>"), "link: name: is 'a.b', must be 1 to 255"),
    "nothing but the world": (urdf(LINK.format("world")),
                              "document: has no link except the world"),
}

ROW = {"type": "revolute", "a": 0.1, "alpha": 0, "d": 0, "theta": 0}


def table(**fields):
    doc = {"format": "skel-dh/1", "convention": "standard", "joints": [ROW, dict(ROW)]}
    doc.update(fields)
    return json.dumps({k: v for k, v in doc.items() if v is not None})


def row(**fields):
    return table(joints=[ROW, {k: v for k, v in {**ROW, **fields}.items() if v is not None}])


DH = {
    "no convention": (table(convention=None), "convention: is missing, must be"),
    "unknown convention": (table(convention="craig"), 'convention: is "craig", must be one of'),
    "convention is a number": (table(convention=1), "convention: is 1, must be one of"),
    "unknown angle unit": (table(angle_unit="grad"), 'angle_unit: is "grad", must be one of'),
    "unknown length unit": (table(length_unit="inch"), 'length_unit: is "inch", must be one of'),
    "unknown field": (table(conventoin="x"), "conventoin: is not a field of a table, did you mean"),
    "no joints": (table(joints=None), "joints: is missing, must be"),
    "joints are empty": (table(joints=[]), "joints: is [], must be"),
    "joints are an object": (table(joints={}), "joints: is {}, must be"),
    "a joint is a number": (table(joints=[7]), "joints[0]: is 7, must be an object"),
    "no type": (row(type=None), "joints[1].type: is missing, must be"),
    "unknown type": (row(type="hinge"), 'joints[1].type: is "hinge", must be one of'),
    "no a": (row(a=None), "joints[1].a: is missing, must be a number"),
    "no alpha": (row(alpha=None), "joints[1].alpha: is missing"),
    "no d of a hinge": (row(d=None), "joints[1].d: is missing"),
    "no theta of a slide": (row(type="prismatic", theta=None), "joints[1].theta: is missing"),
    "a is text": (row(a="long"), 'joints[1].a: is "long", must be a number'),
    "a is null": (table(joints=[ROW, {**ROW, "a": None}]),
                  "joints[1].a: is null, must be a number"),
    "a is huge": (table(joints=[{**ROW, "a": 12345}]).replace("12345", "1e999"),
                  "joints[0].a: is too large for a double"),
    "a is NaN": (row(a=float("nan")), "line 1 column"),
    "sign is 2": (row(sign=2), "joints[1].sign: is 2, must be 1 or -1"),
    "limits are swapped": (row(limits=[1, -1]),
                           "joints[1].limits: is [1, -1], must be [low, high]"),
    "limits are a number": (row(limits=1), "joints[1].limits: is 1, must be [low, high]"),
    "mass is zero": (row(mass=0), "joints[1].mass: is 0, must be a number > 0"),
    "inertia is negative": (row(mass=1, inertia=[-1, 1, 1]),
                            "joints[1].inertia: is [-1, 1, 1], must"),
    "inertia of four": (row(inertia=[1, 1, 1, 1]), "joints[1].inertia: is [1, 1, 1, 1], must be"),
    "com of two": (row(com=[0, 1]), "joints[1].com: is [0, 1], must be [x, y, z]"),
    "two joints of one name": (table(joints=[{**ROW, "name": "j"}] * 2),
                               'joints[1].name: is "j", must be unique: joints[0] has the same'),
    "a link called world": (row(link="world"), 'joints[1].link: is "world", must be another'),
    "unknown field of a joint": (row(thteta=1), "joints[1].thteta: is not a field"),
    "tool is no rotation": (table(tool=[[2, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]),
                            "tool: is not a rigid transform, must be"),
    "base of three rows": (table(base=[[1, 0, 0, 0]] * 3), "base: is [["),
    "base is not unit": (table(base={"orientation": [1, 1, 0, 0]}),
                         "base.orientation: is [1, 1, 0, 0]"),
    "pose is too short": (table(poses={"home": [0]}), "poses.home: has 1 numbers, must have 2"),
    "pose is text": (table(poses={"home": [0, "x"]}), 'poses.home[1]: is "x", must be a number'),
    "poses are a list": (table(poses=[1]), "poses: is [1], must be"),
    "notes are text": (table(notes="x"), 'notes: is "x", must be [string, ...]'),
    "JSON is cut": (table()[:-3], "line 1 column"),
}

HEAD = "# convention: standard\n# angle_unit: rad\n# length_unit: m\ntype,a,alpha,d,theta\n"
CSV = {
    "no convention": ("# angle_unit: rad\n# length_unit: m\ntype,a,alpha,d,theta\n",
                      "convention: is mis"),
    "no angle unit": ("# convention: standard\n# length_unit: m\ntype,a,alpha,d,theta\n",
                      "angle_unit: is"),
    "no length unit": ("# convention: standard\n# angle_unit: deg\ntype,a,alpha,d,theta\n",
                       "length_unit:"),
    "wrong unit": ("# convention: standard\n# angle_unit: turns\ntype,a,alpha\n",
                   "line 2: angle_unit: is 'turns', must be rad or deg"),
    "convention twice": ("# convention: standard\n# convention: modified\ntype,a,alpha\n",
                         "line 2: convention: is given twice"),
    "no rows": (HEAD, "document: has no joints"),
    "no heading": ("# convention: standard\n", "document: has no heading"),
    "semicolons": (HEAD.replace(",", ";"), "line 4: has semicolons between its cells, must be"),
    "tabs alone": ("type\ta\talpha\td\ttheta\n", "line 1: has tabs between its cells, must be"),
    "quoted": ('"type";"a"\n', "line 1: has semicolons between its cells, must be"),
    "rows alone": ("0,0,0.3,0\n", "line 1: begins with a number, but is the heading: must be"),
    "a heading of other things": ("theta,d,colour\n", "line 1: column: is 'colour', must be"),
    "any text": ("hello world\n",
                 "line 1: begins neither JSON nor URDF nor a DH table. .*type,a,alpha"),
    "two bytes a letter": ("h\0e\0", "contains zero bytes, must be UTF-8 text"),
    "unknown column": (HEAD.replace("theta", "theta,colour"),
                       "line 4: column: is 'colour', must be"),
    "column twice": (HEAD.replace("theta", "theta,a"), "line 4: column a: is given twice"),
    "column is missing": (HEAD.replace(",theta", ""), "line 4: column theta: is missing"),
    "angle in mm": (HEAD.replace("alpha", "alpha_mm"),
                    "line 4: column: is 'alpha', must be a column without"),
    "too few cells": (HEAD + "revolute,1,2\n", "line 5: has 3 cells, must have 5"),
    "too many cells": (HEAD + "revolute,1,2,3,4,5\n", "line 5: has 6 cells, must have 5"),
    "unknown type": (HEAD + "ball,0,0,0,0\n", "line 5: type: is 'ball', must be revolute or"),
    "a is text": (HEAD + "revolute,0,0,0,0\nrevolute,long,0,0,0\n",
                  "line 6: a: is 'long', must be"),
    "a is NaN": (HEAD + "revolute,nan,0,0,0\n", "line 5: a: is 'nan', must be a number"),
    "a is empty": (HEAD + "revolute,,0,0,0\n", "line 5: a: is empty, must be a number"),
    "an open quote": (HEAD + '"revolute,0,0,0,0\n', "line 5: cannot be split"),
    "one limit": (HEAD.replace("theta", "theta,limit_low,limit_high") + "revolute,0,0,0,0,1,\n",
                  "line 5: limit_high: is missing"),
    "mass is zero": (HEAD.replace("theta", "theta,mass") + "revolute,0,0,0,0,0\n",
                     "line 5: mass: is"),
    "tool is short": ("# tool: 1 2 3\n" + HEAD, "line 1: tool: is 'too short', must be 7 numbers"),
    "zero bytes": (HEAD + "revolute,0,\0,0,0\n", "document: is too large or contains zero bytes"),
}


class Malformed(unittest.TestCase):
    def refuse(self, cases):
        for name, (text, must) in cases.items():
            with self.subTest(name):
                done = subprocess.run([common.BIN, "fk", "-"], input=text.encode(), check=False,
                                      capture_output=True, timeout=1800)
                message = done.stderr.decode()
                self.assertEqual(done.returncode, 2, message)
                self.assertTrue(message.startswith("skel: -: "), message)
                self.assertEqual(message.count("\n"), 1, message)
                self.assertTrue(must in message or re.search(must, message), (must, message))
                self.assertEqual(done.stdout, b"")
        return len(cases)

    def test_urdf(self):
        self.assertGreaterEqual(self.refuse(URDF), 60)

    def test_dh(self):
        self.refuse(DH)

    def test_csv(self):
        self.refuse(CSV)

    def test_check_lists_all_of_it(self):
        text = urdf(AB, '<joint name="j" type="x"><parent link="a"/><axis xyz="1"/></joint>')
        done = subprocess.run([common.BIN, "check", "-"], input=text.encode(), check=False,
                              capture_output=True)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stdout.count(b": error: "), 3, done.stdout)

    def test_what_other_readers_let_pass_is_let_pass(self):
        """Comments with -- in them, blanks before the declaration, utf8, elements twice."""
        good = joint(ENDS + '<origin xyz="1 0 0"/><origin xyz="2 0 0"/>')
        good = good.replace("><link", ">\n<link")
        odd = f'\n \n<?xml version="1.0" encoding="utf8"?>\n<!-- -- a -- b ---->\n{good}'
        found = [subprocess.run([common.BIN, "fk", "-"], input=text.encode(), check=True,
                                capture_output=True).stdout for text in (good, odd)]
        self.assertEqual(*found)
        wrong = odd.replace("1 0 0", "1 0")
        done = subprocess.run([common.BIN, "fk", "-"], input=wrong.encode(), check=False,
                              capture_output=True)
        self.assertIn(b"skel: -: line 8: joint 'j': origin", done.stderr)  # lines still count

    def test_a_cut_file_is_refused_wherever_it_is_cut(self):
        path = common.ROOT / "tests" / "data" / "urdf" / "features.urdf"
        text = path.read_bytes()
        for cut in range(0, len(text) - 12, 97):
            done = subprocess.run([common.BIN, "fk", "-"], input=text[:cut], check=False,
                                  capture_output=True)
            self.assertEqual(done.returncode, 2, cut)


if __name__ == "__main__":
    unittest.main()
