# SPDX-License-Identifier: BSD-3-Clause
"""Masses and inertias of robots: point masses, links that fixed joints hold together, what is
estimated because a document does not give it, and that every command of dynamics says so."""

import json
import math
import pathlib
import subprocess
import tempfile
import unittest

import common
import skelpy

ROBOTS = common.SAMPLES / "robots"
G = 9.81
POINT_GYRATION = 0.01       # of the link's length: radius of gyration of a point mass
ZERO_MASS_SHARE = 1e-6      # of the mass that moves: mass of a link that has none


def run(*arguments, **options):
    return subprocess.run([common.BIN, *map(str, arguments)], capture_output=True, check=False,
                          **options)


def inertial(mass, place, moments):
    names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
    values = " ".join(f'{n}="{v!r}"' for n, v in zip(names, [*moments, 0.0, 0.0, 0.0][:6]))
    return (f'<inertial><origin xyz="{place[0]} {place[1]} {place[2]}"/><mass value="{mass!r}"/>'
            f"<inertia {values}/></inertial>")


def link(name, *inertials):
    return f'<link name="{name}">{"".join(inertials)}</link>'


def joint(name, kind, parent, child, place="0 0 0", more='<axis xyz="0 1 0"/>'):
    return (f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{place}"/>{more}</joint>')


def urdf(*parts):
    return '<robot name="r">' + "".join(parts) + "</robot>"


def swing(text):
    """(angular acceleration about y of the first body, what accel says on standard error)."""
    done = run("accel", "-", input=text.encode())
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["angular"][0][1], done.stderr.decode()


def held(masses, moment=0.0):
    """The angular acceleration about y of points (mass, x, z) let go at rest: torque by inertia."""
    return sum(m * G * x for m, x, _z in masses) / (
        moment + sum(m * (x * x + z * z) for m, x, z in masses))


def torques(text, rate=240.0, frames=40):
    """Joint torques of a fixed motion, [frame][joint]."""
    with skelpy.Scene.from_json(text) as scene:
        poses = []
        for k in range(frames):
            t = k / rate
            poses += skelpy.fk(scene, [0.4 * math.sin(3.0 * t + 0.7 * i) for i in
                                       range(scene.q_count)])
        with skelpy.Inverse(scene, poses, rate) as inverse:
            flat, n = list(inverse.torque), scene.dof
        return [flat[k * n:k * n + n] for k in range(frames)]


ARM = (0.5, (0.2, 0.0, 0.0), (1e-3, 2e-3, 3e-3))        # mass, centre, moments


class Welded(unittest.TestCase):
    """Masses of links that fixed joints hold together: only the sum needs an inertia."""

    def test_a_point_mass_on_an_arm(self):
        """By the parallel axis theorem, and nothing to say."""
        text = urdf(link("base"), link("arm", inertial(*ARM)),
                    link("tip", inertial(0.3, (0.1, 0.0, 0.05), (0.0, 0.0, 0.0))),
                    joint("j", "continuous", "base", "arm"),
                    joint("f", "fixed", "arm", "tip", "0.4 0 0"))
        found, said = swing(text)
        self.assertAlmostEqual(found, held([(0.5, 0.2, 0.0), (0.3, 0.5, 0.05)], 2e-3), 11)
        self.assertEqual(said, "")
        with skelpy.Scene.from_json(text) as scene:
            self.assertEqual(scene.body_names, ["arm"])
            self.assertAlmostEqual(scene.body(0)["mass"], 0.8, 15)
            self.assertEqual(sorted(scene.named_frames), ["arm", "base", "tip"])
            x = skelpy.fk(scene, [0.0])[:3]
            body, pose = scene.named_frames["tip"]
            self.assertEqual(body, 0)
            self.assertAlmostEqual(x[0] + pose[0], 0.4, 15)     # frames stay where they are

    def test_points_that_have_an_inertia_together(self):
        """Three points that are on no line: their sum is a body, exactly, and nothing to say."""
        zero = (0.0, 0.0, 0.0)
        text = urdf(link("base"), link("a", inertial(1.0, (0.3, 0.0, 0.0), zero)),
                    link("b", inertial(2.0, (0.0, 0.1, 0.2), zero)),
                    link("c", inertial(0.5, (0.1, -0.3, 0.1), zero)),
                    joint("j", "continuous", "base", "a"), joint("f", "fixed", "a", "b", "0.1 0 0"),
                    joint("g", "fixed", "b", "c", "0.2 0 0"))
        found, said = swing(text)
        points = [(1.0, 0.3, 0.0), (2.0, 0.1, 0.2), (0.5, 0.4, 0.1)]
        self.assertAlmostEqual(found, held(points), 10)
        self.assertEqual(said, "")

    def test_turned_frames(self):
        """The inertia of a welded link is turned with its frames; the file with 1e-12 in place of
        the zeros gives the same torques, in every joint of a chain."""
        turn = '<axis xyz="0.2 1 0.3"/>'

        def chain(nothing):
            none = (nothing,) * 3
            return urdf(
                link("base"), link("a", inertial(*ARM)), link("b", inertial(*ARM)),
                link("c", inertial(0.4, (0.05, 0.02, 0.1), none)),
                link("d", inertial(0.2, (0.0, 0.3, 0.0), none)),
                link("e", inertial(1.5, (0.1, 0.0, 0.1), (4e-3, 5e-3, 6e-3, 1e-3, 0.0, 5e-4))),
                joint("j", "continuous", "base", "a", more=turn),
                joint("k", "continuous", "a", "b", "0.4 0 0", '<axis xyz="0 0 1"/>'),
                joint("f", "fixed", "b", "c", '0.1 0.2 0" rpy="0.3 -0.5 1.1', ""),
                joint("g", "fixed", "a", "d", '0 0.1 0" rpy="1 2 3', ""),
                joint("l", "continuous", "c", "e", '0.1 0 0.1" rpy="0.5 0 0.2', turn))
        zero, tiny = torques(chain(0.0)), torques(chain(1e-12))
        largest = max(abs(v) for row in tiny for v in row)
        self.assertGreater(largest, 5.0)
        for a, b in zip(zero, tiny):
            for x, y in zip(a, b):
                self.assertLess(abs(x - y), 1e-9 * largest)


class Points(unittest.TestCase):
    """A moving link of mass and no inertia."""

    text = urdf(link("base"), link("bob", inertial(0.7, (0.4, 0.0, 0.3), (0.0, 0.0, 0.0))),
                joint("j", "continuous", "base", "bob"))
    words = ("link 'bob': inertia: is not positive definite: the mass counts as a point with a "
             "radius of gyration of 1 % of the link's length")

    def test_it_swings_as_a_point(self):
        length = 0.5
        found, said = swing(self.text)
        self.assertAlmostEqual(
            found, held([(0.7, 0.4, 0.3)], 0.7 * (POINT_GYRATION * length) ** 2), 10)
        self.assertLess(abs(found / held([(0.7, 0.4, 0.3)]) - 1), 1.01e-4)
        self.assertIn("skel: -: warning: " + self.words, said)

    def test_its_weight_is_exact(self):
        with skelpy.Scene.from_json(self.text) as scene, skelpy.State(scene) as state:
            state.q = [0.0]
            zero = [0.0] * 3
            tau = state.inverse_dynamics(zero, zero)[0][0]
            self.assertAlmostEqual(tau, -0.7 * G * 0.4, 12)

    def test_every_command_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            path, track, report = (pathlib.Path(folder, n) for n in ("r.urdf", "t.json", "r.json"))
            path.write_text(self.text)
            self.assertIn(self.words, run("check", path).stdout.decode())
            done = run("bake", path, "--end", "5", "-o", track, "--report", report)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(self.words, done.stderr.decode())
            for file in (track, report):
                found = json.loads(file.read_text())
                found = found.get("report", found)["warnings"]
                self.assertEqual(len([w for w in found if w.startswith(self.words)]), 1, file)
            self.assertIn(self.words, run("inverse", path, track).stderr.decode())
            self.assertIn(self.words, run("accel", path).stderr.decode())
            self.assertEqual(run("fk", path).stderr, b"")       # no dynamics, nothing to say
            with skelpy.Scene.from_file(path) as scene:
                self.assertEqual(len(scene.warnings), 1)
                with skelpy.Bake(scene) as bake:
                    self.assertEqual([w[:len(self.words)] for w in bake.warnings], [self.words])

    def test_a_mass_on_its_own_axis(self):
        """Nothing turns it, so it does not turn; it weighs on what carries it."""
        text = urdf(link("base"), link("arm", inertial(*ARM)),
                    link("knob", inertial(0.3, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0))),
                    joint("j", "continuous", "base", "arm"),
                    joint("k", "continuous", "arm", "knob", "0.4 0 0", '<axis xyz="1 0 0"/>'))
        found, _said = swing(text)
        must = held([(0.5, 0.2, 0.0), (0.3, 0.4, 0.0)], 2e-3)
        self.assertLess(abs(found / must - 1), 3e-4)
        self.assertEqual(run("bake", "-", "--end", "24", input=text.encode()).returncode, 0)

    def test_an_inertia_that_rotation_would_lose(self):
        """Moments of very different size are lost to rounding in other axes. The scene that is
        written must be one that is read; moments that a rotation keeps are kept."""
        turned = 'xyz="0.4 0.0 0.3" rpy="0.3 -0.5 1.1"'
        for moments, kept in (("1e300 2 0.0009", False), ("1 1e-8 1e-8", False),
                              ("1 1 1e-9", True), ("1e-3 2e-3 3e-3", True)):
            xx, yy, zz = moments.split()
            text = self.text.replace('xyz="0.4 0.0 0.3"', turned).replace(
                'ixx="0.0" iyy="0.0" izz="0.0"', f'ixx="{xx}" iyy="{yy}" izz="{zz}"')
            with tempfile.TemporaryDirectory() as folder:
                scene = pathlib.Path(folder, "scene.json")
                done = run("convert", "-", scene, input=text.encode())
                self.assertEqual(done.returncode, 0, done.stderr)
                done = run("check", scene)
                self.assertEqual(done.returncode, 0, (moments, done.stdout))
            said = run("check", "-", input=text.encode()).stdout.decode()
            self.assertEqual("inertia: is not" in said, not kept, (moments, said))

    def test_an_inertia_of_rounding_errors(self):
        """Moments of 1e-20 kg m^2, as published files have them, are those of a point: a bake
        would end at them."""
        for parts in ((), (link("tip", inertial(0.1, (0.1, 0.0, 0.0), (1e-20, 2e-20, 1e-20))),
                           joint("f", "fixed", "bob", "tip", "0.4 0 0"))):
            text = self.text.replace('ixx="0.0" iyy="0.0" izz="0.0"',
                                     'ixx="2e-20" iyy="5e-20" izz="1e-20"')
            text = text.replace("</robot>", "".join(parts) + "</robot>")
            done = run("bake", "-", "--end", "24", input=text.encode())
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn(self.words, done.stderr.decode())
            with skelpy.Scene.from_json(text) as scene:
                self.assertEqual(scene.body_names, ["bob"])

    def test_an_inertia_that_no_sum_mends(self):
        """Negative moments are no inertia: the link's length and mass give one."""
        text = self.text.replace('ixx="0.0"', 'ixx="-5.0"')
        done = run("bake", "-", "--end", "5", input=text.encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"link 'bob': inertia: is not given, or impossible for a solid, and was "
                      b"estimated",
                      done.stderr)


class Massless(unittest.TestCase):
    """A moving link without mass in a robot that has masses."""

    def test_a_cardan_joint(self):
        """Two hinges with a massless link between them move as one with both axes."""
        text = urdf(link("base"), link("cross"), link("arm", inertial(*ARM)),
                    joint("j", "continuous", "base", "cross", more='<axis xyz="0 0 1"/>'),
                    joint("k", "continuous", "cross", "arm"))
        done = run("accel", "-", input=text.encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)["angular"][1][1]
        self.assertLess(abs(found / held([(0.5, 0.2, 0.0)], 2e-3) - 1), 1e-5)
        self.assertIn(b"link 'cross': mass: is 0, must be > 0 for dynamics: set to 5e-07 kg",
                      done.stderr)
        with skelpy.Scene.from_json(text) as scene:
            self.assertAlmostEqual(scene.body(0)["mass"], ZERO_MASS_SHARE * 0.5, 18)

    def test_fingers_without_mass(self):
        """What they add to a torque is not seen."""
        def hand(*fingers):
            parts = [link("base"), link("arm", inertial(*ARM)), joint("j", "continuous", "base",
                                                                      "arm")]
            for k, kind in enumerate(fingers):
                parts += [link(f"f{k}", kind), joint(f"k{k}", "continuous", "arm", f"f{k}",
                                                     f"0.4 {0.1 * k} 0")]
            return urdf(*parts)
        zero = '<inertial><mass value="0"/><inertia ixx="0" iyy="0" izz="0"/></inertial>'
        bare, with_fingers = torques(hand()), torques(hand(zero, "", zero))
        for a, b in zip(bare, with_fingers):
            self.assertLess(abs(a[0] - b[0]), 1e-5 * abs(0.5 * G * 0.2))

    def test_long_names_and_many(self):
        """Names are cut between characters, so that a report is good JSON; at most six are told."""
        name = "é" * 40
        parts = [link("base"), link("arm", inertial(*ARM)), joint("j", "continuous", "base", "arm")]
        for k in range(9):
            parts += [link(f"{name}{k}"), joint(f"{k}", "continuous", "arm", f"{name}{k}", "1 0 0")]
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "r.json")
            done = run("bake", "-", "--end", "3", "-o", pathlib.Path(folder, "t.json"), "--report",
                       report, input=urdf(*parts).encode())
            self.assertEqual(done.returncode, 0, done.stderr)
            said = json.loads(report.read_text("utf-8"))["warnings"]
        self.assertEqual(len(said), 1)
        self.assertTrue(said[0].startswith("links " + ", ".join(["'" + "é" * 12 + "'"] * 6) +
                                           " and 3 more: mass: is 0"), said)

    def test_what_stands_needs_none(self):
        text = urdf(link("base", inertial(3.0, (0, 0, 0), (0.0, 0.0, 0.0))),
                    link("arm", inertial(*ARM)), joint("j", "continuous", "base", "arm"))
        self.assertEqual(swing(text)[1], "")


class Friction(unittest.TestCase):
    def test_coulomb_friction_is_said_to_be_left_out(self):
        more = '<axis xyz="0 1 0"/><dynamics damping="0.1" friction="0.4"/>'
        text = urdf(link("base"), link("arm", inertial(*ARM)), link("end", inertial(*ARM)),
                    joint("j", "continuous", "base", "arm", more=more),
                    joint("k", "continuous", "arm", "end", "0.4 0 0",
                          more.replace("0.4", "2.5")))
        words = b"joints 'j', 'k': dynamics: friction: is Coulomb friction of up to 2.5"
        self.assertIn(words, run("check", "-", input=text.encode()).stdout)
        done = run("bake", "-", "--end", "5", input=text.encode())
        self.assertEqual(done.stderr.count(words), 1, done.stderr)
        self.assertIn(words, run("accel", "-", input=text.encode()).stderr)
        quiet = text.replace('friction="0.4"', "").replace('friction="2.5"', "")
        self.assertEqual(run("accel", "-", input=quiet.encode()).stderr, b"")


# ---- tables ----

def table_of(name):
    return json.loads((ROBOTS / f"{name}.json").read_text(encoding="utf-8"))


def product(a, b):
    return [[sum(a[i][k] * b[k][j] for k in range(4)) for j in range(4)] for i in range(4)]


def frames_of(table, q):
    """4x4 of frames 0 to n of a standard table."""
    at = [[[float(i == j) for j in range(4)] for i in range(4)]]
    for row, angle in zip(table["joints"], q):
        c, s = math.cos(row["theta"] + angle), math.sin(row["theta"] + angle)
        ca, sa = math.cos(row["alpha"]), math.sin(row["alpha"])
        at.append(product(at[-1], [[c, -s * ca, s * sa, row["a"] * c],
                                   [s, c * ca, -c * sa, row["a"] * s],
                                   [0.0, sa, ca, row["d"]], [0.0, 0.0, 0.0, 1.0]]))
    return at


def weight_torques(table, q):
    """What holds a standard table of hinges still: tau_i = -sum (z_i x (c_k - p_i)) . m_k g."""
    at, out = frames_of(table, q), []
    for i in range(len(q)):
        z, p, tau = [r[2] for r in at[i]], [r[3] for r in at[i]], 0.0
        for k in range(i, len(q)):
            row = table["joints"][k]
            c = [sum(at[k + 1][n][j] * (*row["com"], 1.0)[j] for j in range(4)) for n in range(3)]
            r = [c[n] - p[n] for n in range(3)]
            tau += row["mass"] * G * (z[0] * r[1] - z[1] * r[0])
        out.append(tau)
    return out


class Tables(unittest.TestCase):
    def test_every_robot_bakes(self):
        """With a warning, in the command and in the report, exactly where something is missing."""
        with tempfile.TemporaryDirectory() as folder:
            report = pathlib.Path(folder, "r.json")
            names = sorted(path.stem for path in ROBOTS.glob("*.json"))
            self.assertEqual(len(names), 26)
            for name in names:
                done = run("bake", name, "--end", "4", "-o", pathlib.Path(folder, "t.json"),
                           "--report", report)
                self.assertEqual(done.returncode, 0, (name, done.stderr))
                said = json.loads(report.read_text())["warnings"]
                joints = table_of(name)["joints"]
                for what, missing in (
                        ("mass: is not given and was estimated",
                         any("mass" not in j for j in joints)),
                        ("inertia: is not given, or impossible for a solid, and was estimated",
                         any("mass" in j and "inertia" not in j for j in joints))):
                    self.assertEqual(what in done.stderr.decode(), missing, (name, done.stderr))
                    self.assertEqual(any(what in w for w in said), missing, (name, said))

    def test_masses_are_those_of_the_table(self):
        for name in ("franka_panda", "ur3e", "ur5", "ur5e", "ur10", "ur20"):
            with skelpy.Scene.from_file(ROBOTS / f"{name}.json") as scene:
                for k, row in enumerate(table_of(name)["joints"]):
                    self.assertEqual(scene.body(k)["mass"], row["mass"])
                    _body, pose = scene.named_frames[row["link"]]
                    for a, b in zip(pose, row["com"]):
                        self.assertAlmostEqual(a, -b, 15)

    def test_the_weight_of_a_ur5(self):
        table, zero = table_of("ur5"), [0.0] * 18
        with skelpy.Scene.from_file(ROBOTS / "ur5.json") as scene, skelpy.State(scene) as state:
            for q in ([0.0] * 6, [0.3, -0.8, 1.1, -0.4, 0.9, 0.2]):
                state.q = q
                found = state.inverse_dynamics(zero, zero)[0]
                for a, b in zip(found, weight_torques(table, q)):
                    self.assertAlmostEqual(a, b, 11)

    def test_inertia_of_a_capsule(self):
        """The upper arm of a UR5: across, m times that of a capsule as long as the link."""
        table = table_of("ur5")
        with skelpy.Scene.from_file(ROBOTS / "ur5.json") as scene:
            found = scene.body(1)["inertia"]
            doc = json.loads(scene.to_json())
        self.assertEqual([b["estimated"] for b in doc["bodies"]], ["inertia"] * 6)
        d = [row["d"] for row in table["joints"]]
        forearm = math.hypot(table["joints"][2]["a"], d[3])
        length, m = abs(table["joints"][1]["a"]), table["joints"][1]["mass"]
        last = abs(table["joints"][5]["com"][2])        # no frame of it is farther
        r = (length + forearm + d[4] + d[5] + last) / 16
        cylinder, ball = math.pi * r * r * length, 4 / 3 * math.pi * r ** 3
        a, b = (m * v / (cylinder + ball) for v in (cylinder, ball))
        across = a * (length ** 2 / 12 + r * r / 4) + \
            b * (0.4 * r * r + length ** 2 / 4 + 3 / 8 * length * r)
        along = 0.5 * a * r * r + 0.4 * b * r * r
        for x, y in zip(found, (along, across, across, 0.0, 0.0, 0.0)):
            self.assertAlmostEqual(x, y, 13)

    def test_masses_of_a_table_without_any(self):
        """Two links of 1 m: capsules of 1/8 of 2 m diameter, their centres in the middle."""
        with skelpy.Scene.from_file(ROBOTS / "planar2.json") as scene:
            r = 2.0 / 16
            mass = 1000 * math.pi * r * r * (1.0 + 4 / 3 * r)
            for k in range(2):
                self.assertAlmostEqual(scene.body(k)["mass"], mass, 9)
                self.assertAlmostEqual(skelpy.fk(scene, [0.0, 0.0])[7 * k], 0.5 + k, 14)
            body, pose = scene.named_frames["tool"]
            self.assertAlmostEqual(skelpy.fk(scene, [0.0, 0.0])[7 * body] + pose[0], 2.0, 14)

    def test_a_urdf_without_any_mass_bakes_as_a_table_does(self):
        text = urdf(link("base"), link("a"), link("b"), link("tip"),
                    joint("j", "continuous", "base", "a"),
                    joint("k", "continuous", "a", "b", "1 0 0"),
                    joint("f", "fixed", "b", "tip", "1 0 0"))
        done = run("bake", "-", "--end", "5", input=text.encode())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"links 'a', 'b': mass: is not given and was estimated", done.stderr)
        with skelpy.Scene.from_json(text) as scene, \
                skelpy.Scene.from_file(ROBOTS / "planar2.json") as table:
            self.assertAlmostEqual(scene.body(1)["mass"], table.body(1)["mass"], 9)
            body, pose = scene.named_frames["tip"]
            self.assertAlmostEqual(skelpy.fk(scene, [0.0, 0.0])[7 * body] + pose[0], 2.0, 14)

    def test_estimates_are_marked_in_a_scene(self):
        """They are written, read and written again as what they are, and said in every bake."""
        for name, words in (("ur3", "mass and inertia are estimates"),
                            ("ur5", "inertia is an estimate")):
            with skelpy.Scene.from_file(ROBOTS / f"{name}.json") as scene:
                text = scene.to_json()
            with skelpy.Scene.from_json(text) as again:
                self.assertEqual(again.to_json(), text)
                self.assertIn(words, again.warnings[0])
            done = run("bake", "-", "--end", "4", input=text.encode())
            self.assertIn(words, done.stderr.decode())
        done = run("check", "-", input=text.replace('"inertia",', '"guess",', 1).encode())
        self.assertEqual(done.returncode, 2, done.stdout)

    def test_estimates_are_no_numbers_of_other_documents(self):
        for name, mass, inertia in (("ur3", 0, 0), ("ur5", 6, 0), ("puma560", 6, 6)):
            with skelpy.Scene.from_file(ROBOTS / f"{name}.json") as scene:
                rows = json.loads(scene.to_dh("standard"))["joints"]
                self.assertEqual(scene.to_urdf().count("<mass"), mass, name)
            self.assertEqual(sum("mass" in row for row in rows), mass, name)
            self.assertEqual(sum("inertia" in row for row in rows), inertia, name)


if __name__ == "__main__":
    unittest.main()
