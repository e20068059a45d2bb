# SPDX-License-Identifier: BSD-3-Clause
"""Generated scenes (skel-scene/1) with 2 to 12 bodies: every type of joint, every kind of load,
contact, limit and motion, every integrator and solver."""

from draw import Draw

COUNT = 300
INTEGRATORS = ("auto", "conserving", "rk4", "euler", "adams", "bdf")
SOLVERS = ("tree", "kkt", "pinv")
JOINTS = ("hinge", "slide", "universal", "ball", "fixed")
LOOPS = ("ball", "ball", "ball", "universal", "hinge")
KINDS = ("planar", "screw")     # joint types with scenes of their own; a new one is added here
KIND_COUNT = 36                 # scenes of each
RAD = 57.29577951308232         # degrees
END = 13                        # frames: 0.5 s at 24 Hz


def middle(a, b):
    return [(x + y) / 2 for x, y in zip(a, b)]


class Maker:
    def __init__(self, number, joints=JOINTS, loops=LOOPS, seed=1000):
        self.draw, self.joints, self.loop_joints = Draw(seed + number), joints, loops
        self.integrator = INTEGRATORS[number % 6]
        self.solver = SOLVERS[number // 6 % 3]
        self.degrees = self.draw.chance(0.15)
        self.scene = {"format": "skel-scene/1", "name": f"golden {number}", "bodies": [],
                      "joints": []}
        if self.degrees:
            self.scene["angle_unit"] = "deg"
        # Only conserving takes pins and releases; adams, bdf and kkt refuse loops. A few scenes
        # have them all the same: the hash is then that of the refusal.
        strict = self.draw.chance(0.04)
        self.by_tolerance = self.integrator in ("adams", "bdf")
        self.pins = strict or self.integrator in ("auto", "conserving")
        self.loops = strict or not (self.by_tolerance or self.solver == "kkt")
        self.open = []              # names of bodies that may get children, loops, soft masses
        self.place = {}             # their positions

    def angle(self, value):
        return value * RAD if self.degrees else value

    def angle_or_length(self, kind, value):
        return 0.3 * value if kind == "slide" else self.angle(value)

    # ---- bodies ----

    def shape(self):
        draw = self.draw
        size = draw.between(0.04, 0.12)
        return draw.pick(({"type": "sphere", "radius": size},
                          {"type": "box", "size": [size, 1.5 * size, 2 * size]},
                          {"type": "cylinder", "length": 2 * size, "radius": 0.5 * size},
                          {"type": "capsule", "length": 2 * size, "radius": 0.5 * size},
                          {"type": "rod", "length": 3 * size}))

    def curve(self, width, size, smooth=0.3):
        """Of a load: numbers, or vectors."""
        draw = self.draw
        value = [draw.between(-size, size) if width == 1 else draw.vector(size) for _ in range(4)]
        out = {"time": [0.0, 0.15, 0.25, 0.6], "value": value}
        if draw.chance(smooth):
            out["interpolation"] = "cubic"
        return out

    def path(self, position, orientation):
        """Of a driven body: from its pose on, and not far."""
        draw, times = self.draw, [0.1 * k for k in range(8)]
        places = [[p + t * t * v for p, v in zip(position, draw.vector(0.6))] for t in times]
        out = {"time": times, "position": places}
        if draw.chance(0.5):
            turns = [orientation]
            for _ in times[1:]:
                moved = [a + 0.05 * b for a, b in zip(turns[-1], draw.direction(4))]
                length = sum(x * x for x in moved) ** 0.5
                turns.append([x / length for x in moved])
            out["orientation"] = turns
        return out

    def body(self, position):
        draw, bodies = self.draw, self.scene["bodies"]
        body = {"name": f"body{len(bodies)}", "mass": draw.between(0.5, 3), "position": position,
                "orientation": draw.direction(4)}
        if draw.chance(0.8):
            body["shape"] = self.shape()
        if "shape" not in body or draw.chance(0.2):
            body["inertia"] = [draw.between(0.010, 0.015) for _ in range(3)]
            if draw.chance(0.5):
                body["inertia"] += draw.vector(0.002)
        if draw.chance(0.3):
            body["velocity"] = draw.vector(0.5)
        if draw.chance(0.3):
            body["angular_velocity"] = draw.vector(1)
        if draw.chance(0.1):
            body["force"] = draw.pick((draw.vector(3), self.curve(3, 3)))
        if draw.chance(0.1):
            body["torque"] = draw.vector(0.2)
        if draw.chance(0.15):
            body["contacts"] = [draw.vector(0.1), draw.vector(0.1)]
        if draw.chance(0.2):
            body["collide"] = draw.pick((True, False, 1, 2))
        bodies.append(body)
        self.open.append(body["name"])
        self.place[body["name"]] = position
        return body

    def root(self, position):
        """Free, hung from the world, fixed, driven, pinned or released."""
        draw = self.draw
        body = self.body(position)
        kind = draw.pick(("free", "free", "free", "hung", "hung", "fixed", "driven", "pinned",
                          "released"))
        if kind in ("pinned", "released") and not self.pins:
            kind = "hung"
        if kind == "free":
            body["velocity"] = draw.vector(1.5)
        elif kind == "hung":
            self.joint("world", body, [x + d for x, d in zip(position, draw.vector(0.1))])
        elif kind == "fixed":
            body["motion"] = "fixed"
        elif kind in ("driven", "released"):
            body["motion"] = "driven"
            body["curve"] = self.path(position, body["orientation"])
            if kind == "released":
                body["release"] = draw.pick((0, 0.2, 0.3))
        else:
            body["pinned"] = draw.pick((True, [[0, 0.2]], [[0.1, 0.3], [0.4, 1]]))
            if body["pinned"] is True and draw.chance(0.5):
                body["curve"] = self.path(position, body["orientation"])

    # ---- joints ----

    def joint(self, parent, child, anchor):
        draw, kind = self.draw, self.draw.pick(self.joints)
        joint = {"name": f"joint{len(self.scene['joints'])}", "type": kind,
                 "bodies": [parent, child["name"]]}
        if parent in self.place and draw.chance(0.15):      # placed by the joint
            del child["position"], child["orientation"]
            self.open.remove(child["name"])
            joint["frames"] = [{"position": draw.vector(0.15), "orientation": draw.direction(4)},
                               {"position": draw.vector(0.15)}]
            q = {"hinge": self.angle(0.3), "slide": 0.05, "ball": draw.small_turn(0.3),
                 "universal": [self.angle(0.2), self.angle(-0.4)],
                 "planar": [0.05, -0.03, self.angle(0.3)], "screw": self.angle(7.0)}
            if kind in q:
                joint["q"] = q[kind]
        else:
            joint["anchor"] = anchor
            if kind not in ("ball", "fixed"):
                joint["axis"] = draw.direction()
            if kind == "universal" or kind == "planar" and draw.chance(0.5):
                joint["axis2"] = draw.across(joint["axis"])
        if kind == "screw":         # in m per angle
            joint["pitch"] = draw.pick((-0.05, 0.02, 0.1)) / self.angle(1.0)
        self.acts(joint, kind)
        self.scene["joints"].append(joint)

    def acts(self, joint, kind):
        """Friction, motors, limits, springs, muscles, targets, mimics."""
        draw = self.draw
        if draw.chance(0.4):
            joint["friction"] = draw.between(0.01, 0.3)
        if kind != "fixed":
            if draw.chance(0.35):
                self.limits(joint, kind)
            if draw.chance(0.2):
                self.follow(joint, kind)
        if kind not in ("hinge", "slide", "screw"):
            return
        if draw.chance(0.2):
            joint["motor"] = draw.pick((draw.between(-1, 1), self.curve(1, 1)))
        if draw.chance(0.2):
            joint["spring"] = {"stiffness": draw.between(1, 20), "damping": draw.between(0, 0.5),
                               "rest": self.angle_or_length(kind, draw.between(-0.3, 0.3))}
        if draw.chance(0.15):
            joint["muscle"] = {"growth": draw.between(5, 30), "max": 8.0,
                               "start": draw.between(0, 5), "side": draw.pick((1, -1))}
            if draw.chance(0.5):
                joint["muscle"].update(feedback=0.3, delay=0.05,
                                       impact_speed=draw.pick((0, -1.5)))
        leaders = [other["name"] for other in self.scene["joints"] if other["type"] == kind]
        if leaders and draw.chance(0.2):
            joint["mimic"] = {"joint": draw.pick(leaders), "multiplier": draw.between(-2, 2)}

    def limits(self, joint, kind):
        draw = self.draw
        if kind == "ball":
            joint["limits"] = {"cone": self.angle(draw.between(0.4, 1))}
            if draw.chance(0.6):
                joint["limits"]["twist"] = [self.angle(-0.5), self.angle(0.6)]
            if draw.chance(0.5):
                joint["limits"]["axis"] = draw.direction()
        elif kind == "universal":
            joint["limits"] = [[self.angle(-0.5), self.angle(0.5)],
                               [self.angle(-0.7), self.angle(0.4)]]
        elif kind == "planar":
            joint["limits"] = [[-draw.between(0.02, 0.2), 0.1], [-0.1, draw.between(0.02, 0.2)]]
        else:
            joint["limits"] = [self.angle_or_length(kind, -draw.between(0.1, 0.6)),
                               self.angle_or_length(kind, draw.between(0.4, 0.8))]
        if draw.chance(0.4):
            joint["limit_torque"] = {"a": 100, "b": 2, "c": 0.1, "d": draw.pick((0, 0.1)),
                                     "on": 0.06 if kind in ("slide", "planar") else self.angle(0.2)}
        elif draw.chance(0.4):
            joint["limit_restitution"] = draw.between(0.2, 1)

    def follow(self, joint, kind):
        draw = self.draw
        joint["follow"] = follow = {"stiffness": draw.between(1, 5)}
        if draw.chance(0.5):
            follow["damping"] = draw.between(0.2, 1.2)
        if draw.chance(0.3):
            follow["max_torque"] = draw.between(1, 5)
        if draw.chance(0.3):
            follow["weight"] = draw.pick((0.5, {"time": [0, 0.3], "value": [1, 0.2]}))
        if draw.chance(0.7):
            value = {"ball": lambda: draw.small_turn(0.3),
                     "universal": lambda: [self.angle(draw.between(-0.3, 0.3)) for _ in range(2)],
                     "planar": lambda: [*draw.vector(0.1)[:2], self.angle(draw.between(-1, 1))],
                     }.get(kind, lambda: self.angle_or_length(kind, draw.between(-0.3, 0.3)))
            follow["curve"] = {"time": [0, 0.2, 0.5], "value": [value() for _ in range(3)]}

    def loop(self):
        """A joint between two bodies of one tree that stand as given."""
        draw, names = self.draw, [name for name in self.open if name in self.place]
        if len(names) < 3:
            return
        a = draw.below(len(names) - 2)
        pair = [names[a], names[a + 2 + draw.below(len(names) - a - 2)]]
        joint = {"name": "loop", "type": draw.pick(self.loop_joints),
                 "bodies": pair, "anchor": middle(*(self.place[name] for name in pair))}
        if joint["type"] != "ball":
            joint["axis"] = draw.direction()
        if joint["type"] == "screw":
            joint["pitch"] = 0.05 / self.angle(1.0)
        if joint["type"] == "universal":
            joint["axis2"] = draw.across(joint["axis"])
        self.scene["joints"].append(joint)

    # ---- the world ----

    def wobble(self):
        draw = self.draw
        bones = [body for body in self.scene["bodies"] if "position" in body
                 and body.get("motion") is None]
        if not bones:
            return
        soft = {"name": "soft", "body": draw.pick(bones)["name"], "mass": draw.between(0.3, 1),
                "inertia": [0.002, 0.003, 0.0025], "displacement": draw.vector(0.02),
                "longitudinal": {"c": 4e4, "d": 5}, "transversal": {"c": 6e4, "d": 4},
                "angular": {"a": 2.0, "b": 0.02}}
        if draw.chance(0.25):
            soft["locked"] = True
        self.scene["wobble"] = [soft]

    def ground(self):
        """A plane just below everything, some of them tilted; rigid, soft or by default."""
        draw, low = self.draw, min(place[2] for place in self.place.values())
        ground = {"point": [0, 0, low - draw.between(0.05, 0.2)]}
        if draw.chance(0.4):
            ground["normal"] = [draw.between(-0.2, 0.2), draw.between(-0.2, 0.2), 1]
        if draw.chance(0.4):
            ground["friction"] = draw.between(0, 1)
        kind = draw.below(3)
        if kind == 0:
            ground["restitution"] = draw.between(0, 1)
            if draw.chance(0.5):
                ground["tangential_restitution"] = draw.between(0, 0.5)
        elif kind == 1:
            ground["law"] = {"a": 2e4, "b": draw.pick((1, 1.5, 2)), "d": 20}
            ground["stick"] = {"stiffness": 5e3, "damping": 10}
        if draw.chance(0.1):
            ground["body"] = self.scene["bodies"][0]["name"]
        self.scene["ground"] = [ground]

    def fields(self):
        draw = self.draw
        made = [{"type": "uniform", "acceleration": draw.vector(3)},
                {"type": "drag", "wind": draw.vector(4), "coefficient": draw.between(0.5, 2)},
                {"type": "vortex", "strength": 5, "axis": draw.direction(), "radius": 0.5},
                {"type": "turbulence", "strength": 6, "scale": 0.5, "seed": draw.below(9),
                 "period": draw.pick((0, 0.4))}]
        chosen = [field for field in made if draw.chance(0.5)] or made[:1]
        if draw.chance(0.3):
            chosen[0]["body"] = self.scene["bodies"][-1]["name"]
        self.scene["forces"] = chosen

    def bake(self):
        draw, bake = self.draw, {"fps": 24, "frame_start": 1, "frame_end": END,
                                 "integrator": self.integrator, "solver": self.solver}
        if self.integrator in ("rk4", "euler"):         # contacts need short steps there
            bake["step"] = 1 / 4800 if "ground" in self.scene else 1 / 960
        elif self.integrator == "conserving" and draw.chance(0.3):
            bake["step"] = 1 / 120
        elif self.integrator in ("adams", "bdf"):
            bake["tolerance"] = draw.pick((1e-4, 1e-5, 1e-6))
        if draw.chance(0.1):
            bake["preroll"] = 0.1
        self.scene["bake"] = bake

    def document(self):
        draw, scene = self.draw, self.scene
        # The steps of adams and bdf are short where things hit: smaller scenes.
        count = 2 + draw.below(5 if self.by_tolerance else 11)
        trees = 1 if count < 4 or draw.chance(0.5) else 2
        for k in range(count):
            if k == 0 or (trees == 2 and k == count // 2):
                at = [0.02 * k, 0.0, 1.0 + 0.3 * (k > 0)]
                self.open = []
                self.root(at)
                continue
            parent = draw.pick(self.open)
            place = [p + 0.22 * d for p, d in zip(self.place[parent], draw.direction())]
            self.joint(parent, self.body(place), middle(self.place[parent], place))
        if self.loops and draw.chance(0.5):
            self.loop()
        if draw.chance(0.25):
            self.wobble()
        if draw.chance(0.5):
            self.ground()
        if draw.chance(0.25):
            self.fields()
        if draw.chance(0.15):
            scene["frame"] = {"angular_velocity": draw.pick((draw.vector(1), self.curve(3, 1, 0))),
                              "acceleration": draw.vector(1)}
        if draw.chance(0.2):
            scene["gravity"] = draw.vector(9)
        self.bake()
        return scene


def scene(number):
    return Maker(number).document()


def kind_scene(kind, number):
    """A scene in which every other joint is of one type, and some loops close by it."""
    return Maker(number, (kind, kind, kind, "hinge", "ball", "fixed"), (kind, "ball"),
                 7000 + 1000 * KINDS.index(kind)).document()


def features(document):
    """Words for all that a scene has."""
    found = {document["bake"]["integrator"], document["bake"]["solver"]}
    found.update(key for key in ("wobble", "ground", "forces", "frame") if document.get(key))
    for body in document["bodies"]:
        found.update(key for key in ("contacts", "collide", "pinned", "release", "force") if
                     key in body)
        found.update({body.get("motion", "dynamic"), body.get("shape", {}).get("type", "point")})
    for joint in document["joints"]:
        found.update(key for key in ("friction", "motor", "follow", "spring", "muscle", "mimic",
                                     "limit_torque", "limit_restitution", "frames") if key in joint)
        found.add(joint["type"])
        found.add("loop" if joint["name"] == "loop" else "tree joint")
        if "limits" in joint and "limit_torque" not in joint:
            found.add("stop")
    for ground in document.get("ground", []):
        soft = "soft ground" if "law" in ground else "default ground"
        found.add("rigid ground" if "restitution" in ground else soft)
    found.update(field["type"] for field in document.get("forces", []))
    return found
