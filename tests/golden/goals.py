# SPDX-License-Identifier: BSD-3-Clause
"""Generated chains with goals (skel-scene/1 for `skel ik`): all kinds of goals and settings. Their
chains serve the DH tables as well."""

from draw import Draw

COUNT = 72
KIND_COUNT = 14         # chains of each joint type that has scenes of its own
SHORT, LONG = 8, 60     # frames; gliding from one motion to another takes tens of them
KINDS = ("position", "orientation", "both", "look_at", "pole", "centre_of_mass", "two")
TREES = ("hinges", "balls", "mixed", "free", "branches")


class Maker:
    def __init__(self, number, kinds=None, seed=5100):
        self.draw, self.number, self.kinds = Draw(seed + number), number, kinds
        self.kind, self.tree = KINDS[number % 7], TREES[number % 5]
        self.links = 3 + self.draw.below(5)
        self.frames = LONG if number % 9 == 4 else SHORT
        self.free = self.tree == "free"
        self.scene = {"format": "skel-scene/1", "name": f"goals {number}", "bodies": [],
                      "joints": []}

    def link(self, name, parent, at, kind):
        """A level link of 0.2 m that begins at `at`."""
        draw = self.draw
        self.scene["bodies"].append({
            "name": name, "mass": 1.0, "position": [at[0] + 0.1, *at[1:]],
            "shape": {"type": "box", "size": [0.2, 0.04, 0.04]}})
        if parent is None:
            return
        joint = {"name": f"to {name}", "type": kind, "bodies": [parent, name], "anchor": at}
        if kind != "ball":
            joint["axis"] = draw.pick(([0, 0, 1], [0, 1, 0], draw.direction()))
        if kind == "screw":
            joint["pitch"] = 0.03
        if kind == "universal":
            joint["axis"], joint["axis2"] = [0, 0, 1], [0, 1, 0]
        if draw.chance(0.5):
            joint["limits"] = {"hinge": [-1.2, draw.between(0.5, 2)], "slide": [-0.1, 0.2],
                               "universal": [[-1, 1], [-1.5, 0.7]],
                               "planar": [[-0.1, 0.2], [-0.3, 0.1]], "screw": [-9, 12],
                               "ball": {"cone": 1.2, "twist": [-0.8, 0.8], "axis": [1, 0, 0]},
                               }[kind]
        same = [other["name"] for other in self.scene["joints"]
                if other["type"] == kind == "hinge"]
        if same and draw.chance(0.15):
            joint["mimic"] = {"joint": same[-1], "multiplier": draw.between(0.5, 1.5)}
        self.scene["joints"].append(joint)

    def chain(self):
        draw = self.draw
        kinds = self.kinds or {"hinges": ("hinge",), "balls": ("ball",)}.get(
            self.tree, ("hinge", "slide", "universal", "ball"))
        for k in range(self.links):
            root = None if self.free else "world"
            parent = f"link{k - 1}" if k else root
            self.link(f"link{k}", parent, [0.2 * k, 0, 1], draw.pick(kinds))
        if self.tree == "branches":
            for k in range(2):
                self.link(f"side{k}", f"side{k - 1}" if k else "link1", [0.4, 0.05, 1 + 0.02 * k],
                          "ball")

    def reached(self, scale=0.5):
        """A target within reach of the tip."""
        return [x + scale * 0.2 * self.links * d
                for x, d in zip([0.0, 0.0, 1.0], self.draw.direction())]

    def target(self):
        """One place, or one of every frame on a parabola."""
        draw, start = self.draw, self.reached()
        if self.number % 3 == 0:
            return start
        v, a = draw.vector(0.15), draw.vector(0.15)
        if self.frames == LONG:
            v = [3 * x for x in v]
        return [[s + t * x + t * t * y for s, x, y in zip(start, v, a)]
                for t in (k / self.frames for k in range(self.frames))]

    def goals(self):
        draw, tip = self.draw, f"link{self.links - 1}"
        end = {"body": tip, "position": self.target(), "point": [0.1, 0, 0]}
        goals = {
            "position": [end],
            "orientation": [{"body": tip, "orientation": draw.direction(4)}],
            "both": [{**end, "orientation": draw.small_turn(0.5)}],
            "look_at": [{"body": tip, "look_at": self.target(), "axis": [1, 0, 0]}],
            "pole": [end, {"body": "link1", "pole": draw.vector(2), "from": "link0", "to": tip,
                           "priority": 1}],
            "centre_of_mass": [{"centre_of_mass": self.reached(0.3), "axes": draw.pick(
                ("xy", "xyz", "z"))}],
            "two": [end, {"body": "link1", "position": self.reached(0.3), "priority": 1,
                          "weight": draw.pick((0.5, 2))}],
        }[self.kind]
        if self.tree == "branches":
            goals.append({"body": "side1", "position": [0.5, 0.1, 1.15], "chain": 2})
        if self.kind == "position" and draw.chance(0.5):
            end["axes"] = draw.pick(("xy", "z"))
        elif self.kind == "two" and draw.chance(0.5):
            goals[1]["relative_to"] = "link0"
        elif draw.chance(0.2):
            goals[0]["weight"] = [draw.unit() for _ in range(self.frames)] \
                if self.number % 3 else 0.5
        return goals

    def settings(self):
        draw, ik = self.draw, {"mode": ("pose", "track")[self.number // 2 % 2]}
        if self.number % 12:        # else as many as the engine takes, which is many
            ik["max_restarts"] = 1 + draw.below(3)
        if self.free:
            ik["root"] = draw.pick(("held", "shifts", "moves"))
        if ik["mode"] == "track" and draw.chance(0.3):
            ik["start"] = "held"
        if ik["mode"] == "track" and draw.chance(0.3):
            ik["max_speed"] = draw.between(2, 8)
        for key, chance, value in (
                ("seed", 0.3, "mid"), ("tolerance", 0.3, 1e-7), ("stiffness", 0.3, 0.3),
                ("posture", 0.3, draw.pick(("current", "mid"))), ("blend", 0.15, [2, 1]),
                ("max_iterations", 0.4, 40)):
            if draw.chance(chance):
                ik[key] = value
        if self.tree == "hinges" and self.kind == "position" and draw.chance(0.5):
            ik["method"] = "newton"
        return ik

    def document(self):
        self.chain()
        self.scene["goals"], self.scene["ik"] = self.goals(), self.settings()
        self.scene["bake"] = {"fps": 24, "frame_end": self.frames}
        return self.scene


def kind_scene(kind, number, seed):
    """A chain in which every other joint is of one type."""
    return Maker(number, (kind, "hinge"), seed).document()


def scene(number):
    return Maker(number).document()
