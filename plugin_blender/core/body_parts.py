# SPDX-License-Identifier: GPL-3.0-or-later
"""Which part of a human or an animal each body is: by the words of its name, else by its place.

The place counts only if the figure has a mirror plane: the pair of limbs that reaches the ground
are legs, the next pair are arms or front legs, between them is the trunk."""

from __future__ import annotations

from typing import Dict, List, Optional, Sequence, Tuple

from .algebra import dot, sub
from .body_rest import mean_point, unit
from .body_skeleton import Skeleton

LEG = ("thigh", "shin", "foot", "toe")
ARM = ("upper_arm", "forearm", "hand", "finger")
LIMB_PARTS = frozenset((*LEG, *ARM, "collar"))
NO_LIMB = frozenset(("wing", "feather", "fin", "rope", "face", "flesh", "tail"))
TRUNK = ("pelvis", "spine", "chest")

GROUND = 0.15               # of the height: a leg reaches lower
LIMB_LENGTH = 0.15          # of the height: a limb is longer
COLLAR_LINK = 0.6           # of the next link: a collar bone is shorter
COLLAR_LINK_LONG = 0.8      # the same in an arm of four links


class Parts:
    """The part and the side of every body."""

    def __init__(self, skeleton: Skeleton, height: float) -> None:
        self.skeleton, self.height = skeleton, height
        self.parts: List[str] = []
        self.sides = skeleton.sides()
        for n in range(len(skeleton)):
            self.parts.append(self._by_words(n))
        self._hips_and_shoulders()
        if skeleton.plane:
            self._by_place()
        self._last_neck()
        self.creature = self._creature()

    # ---- words ----

    def _by_words(self, n: int) -> str:
        """The part that a name says. A leg below a leg is a shin, an arm below an arm a forearm."""
        s, up = self.skeleton, self.skeleton.parent[n]
        words = s.words[n]
        above = self.parts[up] if up >= 0 else ""
        for word, limb in (("leg", LEG), ("arm", ARM)):
            if word in words.words and words.part == limb[0] and above in limb[:3]:
                return limb[limb.index(above) + 1]
        return {"foot": "toe", "hand": "finger"}.get(words.part, words.part) \
            if words.part == above else words.part

    def _hips_and_shoulders(self) -> None:
        """A hip with a knee below it is a thigh, a shoulder with an elbow below an upper arm."""
        s = self.skeleton
        for n in range(len(s)):
            below = {self.parts[k] for k in s.children[n]}
            if self.parts[n] == "pelvis" and s.words[n].side and below & {"shin", "foot"}:
                self.parts[n] = "thigh"
            elif self.parts[n] == "collar" and below & {"forearm", "hand"}:
                self.parts[n] = "upper_arm"

            # The first of four arms in a row is the collar bone.
            if self.parts[n] == "upper_arm" and "arm" in s.words[n].words:
                chain = s.chain(n)
                named = [k for k in chain if "arm" in s.words[k].words and
                         s.words[k].part == "upper_arm"]
                if len(named) >= 4 and s.link(chain[0]) < COLLAR_LINK * s.link(chain[1]):
                    for k, part in zip(chain, ("collar", *ARM)):
                        self.parts[k] = part

    def _last_neck(self) -> None:
        """If nothing is named head, the last neck is it."""
        if "head" not in self.parts:
            for n in range(len(self.parts)):
                if self.parts[n] == "neck" and not any(
                        self.parts[k] == "neck" for k in self.skeleton.children[n]):
                    self.parts[n] = "head"

    # ---- place ----

    def _by_place(self) -> None:
        limbs = self._limbs()
        legs = [n for n in limbs if self._is_leg(n)]
        arms = [n for n in limbs if n not in legs]
        legs, arms = self._sort_front_and_hind(legs, arms)
        for n in legs:
            self._name_limb(n, LEG)
        for n in arms:
            self._name_limb(n, ARM)
        self._name_trunk(legs, arms)

    def _limbs(self) -> List[int]:
        """The first bodies of paired branches that hang on the middle of the figure and are long
        enough."""
        s, middle = self.skeleton, self.skeleton.middle_bodies()
        return [n for n in range(len(s)) if s.partner[n] not in (-1, n) and s.parent[n] in middle
                and s.depth[n] > LIMB_LENGTH * self.height and
                not any(self.parts[k] in NO_LIMB for k in s.below(n)[:3])]

    def _is_leg(self, n: int) -> bool:
        s = self.skeleton
        named = {self.parts[k] for k in s.below(n)}
        if named & {"thigh", "shin", "foot", "toe"}:
            return True
        if named & {"upper_arm", "forearm", "hand", "finger", "collar"}:
            return False
        lowest = min(s.height_of(s.end[k]) for k in s.below(n))
        floor = min(s.height_of(p) for p in (*s.end, *s.joint))
        return lowest < floor + GROUND * self.height

    def _sort_front_and_hind(self, legs: List[int], arms: List[int]
                             ) -> Tuple[List[int], List[int]]:
        """Of two pairs of legs, the pair that hangs nearer to the root is behind."""
        s = self.skeleton
        if arms:
            return legs, arms
        depth = {n: len(s.above(n)) for n in legs}
        nearest = min(depth.values(), default=0)
        hind = [n for n in legs if depth[n] == nearest]
        front = [n for n in legs if depth[n] > nearest]

        # The head, if a name tells it, is in front.
        heads = [n for n, part in enumerate(self.parts) if part in ("head", "neck")]
        if front and heads and hind and \
                len(self._path(s.parent[hind[0]], heads[0])) < \
                len(self._path(s.parent[front[0]], heads[0])):
            return front, hind
        return hind, front

    def _name_limb(self, first: int, names: Sequence[str]) -> None:
        s, chain = self.skeleton, self.skeleton.chain(first)
        if any(self.parts[n] in LIMB_PARTS for n in chain):
            known = {self.parts[n]: k for k, n in enumerate(chain)}
            self._fill_between(chain, names, known)
            return
        if len(chain) >= 3 and names is ARM or len(chain) >= 4:
            short = COLLAR_LINK_LONG if names is ARM and len(chain) >= 4 else COLLAR_LINK
            if s.link(chain[0]) < short * s.link(chain[1]):
                names = ("collar" if names is ARM else "pelvis", *names)
        for k, n in enumerate(chain):
            self.parts[n] = names[min(k, len(names) - 1)]

    def _fill_between(self, chain: Sequence[int], names: Sequence[str], known: Dict[str, int]
                      ) -> None:
        """Bodies of a limb without a word take the part of their place after one that has one."""
        for k, n in enumerate(chain):
            if self.parts[n] != "other" or not k:
                continue
            above = self.parts[chain[k - 1]]
            following = names[names.index(above) + 1] if above in names[:-1] else "other"
            if following not in known:
                self.parts[n] = following

    def _name_trunk(self, legs: Sequence[int], arms: Sequence[int]) -> None:
        """From the legs to the arms is the trunk, beyond the arms neck and head, beyond the legs
        the tail."""
        s, middle = self.skeleton, self.skeleton.middle_bodies()
        hips = self._carrier(legs)
        chest = self._carrier(arms)
        start = hips if hips is not None else chest
        if start is None:
            return
        path = self._path(hips, chest) if hips is not None and chest is not None else [start]
        for n in path:
            if self.parts[n] in ("other", "spine"):
                self.parts[n] = {hips: "pelvis", chest: "chest"}.get(n, "spine")

        for n in sorted(middle - set(path)):
            if self.parts[n] not in ("other", "spine") or any(k in s.below(n) for k in path):
                continue
            trunk = next((k for k in s.above(n) if k in path), None)
            if trunk is None or trunk == hips and hips != chest:
                self.parts[n] = "tail" if s.below(n) and not self._has_head(n) else self.parts[n]
            elif trunk == chest:
                self.parts[n] = self._neck_or_head(n)

    def _has_head(self, n: int) -> bool:
        return any(self.parts[k] in ("head", "neck") for k in self.skeleton.below(n))

    def _neck_or_head(self, n: int) -> str:
        s = self.skeleton
        if any(self.parts[k] == "head" for k in s.above(n)):
            return "other"
        goes_on = any(s.partner[k] in (-1, k) and self.parts[k] not in NO_LIMB
                      for k in s.children[n])
        return "neck" if goes_on else "head"

    def _carrier(self, limbs: Sequence[int]) -> Optional[int]:
        """The body of the middle that carries a pair of limbs; that of the first pair."""
        s = self.skeleton
        carriers = sorted({s.parent[n] for n in limbs}, key=lambda n: len(s.above(n)))
        return carriers[0] if carriers else None

    def _path(self, a: int, b: int) -> List[int]:
        """The bodies from one to another."""
        s = self.skeleton
        up_a, up_b = [a, *s.above(a)], [b, *s.above(b)]
        shared = next((n for n in up_a if n in up_b), None)
        if shared is None:
            return [a]
        return up_a[:up_a.index(shared) + 1] + up_b[:up_b.index(shared)][::-1]

    # ---- creatures ----

    def bodies(self, *parts: str) -> List[int]:
        return [n for n, part in enumerate(self.parts) if part in parts]

    def _creature(self) -> str:
        """A human has two legs and two arms, and its arms are above its hips as its feet are
        below. An animal has legs."""
        s = self.skeleton
        thighs, shins, arms = (self.bodies(part) for part in ("thigh", "shin", "upper_arm"))
        feet = self.bodies("foot") or shins
        if len(thighs) == 2 and len(shins) >= 2 and len(arms) == 2 and self.bodies("head"):
            hips = mean_point([s.joint[n] for n in thighs])
            shoulders = mean_point([s.joint[n] for n in arms])
            ankles = mean_point([s.joint[n] for n in feet])
            if dot(unit(sub(shoulders, hips)), unit(sub(ankles, hips))) < -0.7 and \
                    not self.bodies("wing", "feather", "fin"):
                return "human"
        return "animal" if len(thighs) >= 2 and (shins or feet) or self._many_legs() else ""

    def _many_legs(self) -> bool:
        return len(self.bodies("shin")) >= 2 and len(self.bodies("foot")) >= 2


def forward_of(skeleton: Skeleton, parts: Parts) -> Tuple[float, float, float]:
    """The level direction in which a figure looks: from left to right, turned to the front; else
    where its feet point; else -y."""
    s, up = skeleton, skeleton.up
    left = [s.joint[n] for n in range(len(s)) if parts.sides[n] == "L"]
    right = [s.joint[n] for n in range(len(s)) if parts.sides[n] == "R"]
    toes = [s.direction(n) for n in parts.bodies("foot")]
    if toes:
        total = mean_point(toes)
        level = [total[k] - dot(total, up) * up[k] for k in range(3)]
        if dot(level, level) > 0.05:
            return unit(level)
    if left and right:
        x, y, z = sub(mean_point(left), mean_point(right))
        across = (y * up[2] - z * up[1], z * up[0] - x * up[2], x * up[1] - y * up[0])
        if dot(across, across) > 0:
            return unit(across)
    return (0.0, -1.0, 0.0)
