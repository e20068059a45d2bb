# SPDX-License-Identifier: GPL-3.0-or-later
"""Masses of bodies: by volume, and for humans within the shares that were measured on people.

The shares are those of P. de Leva, "Adjustments to Zatsiorsky-Seluyanov's segment inertia
parameters", J. Biomechanics 29 (1996), male, as in the sample of a human figure. How the trunk is
shared out to its bodies is ours. A human of height h has 12.9 kg/m^3 h^3 (70 kg at 1.75 m)."""

from __future__ import annotations

from typing import Dict, List, Sequence, Tuple

from .body_parts import Parts
from .body_shape import BodyShape
from .body_skeleton import Skeleton

STATURE_DENSITY = 12.9              # [kg/m^3] mass of a human / its height^3
BODY_DENSITY = 1000.0               # [kg/m^3] of a human

# Shares of the whole, by group; of both sides together for limbs.
LEVA: Dict[str, float] = {
    "trunk": 0.4346, "head": 0.0694, "upper_arm": 0.0542, "forearm": 0.0324, "hand": 0.0122,
    "thigh": 0.2832, "shin": 0.0866, "foot": 0.0274}
GROUP_OF = {"pelvis": "trunk", "spine": "trunk", "chest": "trunk", "collar": "trunk",
            "flesh": "trunk", "neck": "head", "head": "head", "face": "head",
            "upper_arm": "upper_arm", "forearm": "forearm", "hand": "hand", "finger": "hand",
            "thigh": "thigh", "shin": "shin", "foot": "foot", "toe": "foot"}

# The group that has the mass of one that has no body.
INSTEAD = {"hand": "forearm", "forearm": "upper_arm", "upper_arm": "trunk", "foot": "shin",
           "shin": "thigh", "thigh": "trunk", "head": "trunk"}
CLAMP = (0.5, 2.0)                  # of de Leva's shares

# Shares of the trunk, without skin; what remains is shared out by length.
PELVIS, CHEST, COLLAR = 0.26, 0.37, 0.03
NECK = 0.173                        # of head and neck


def human_groups(parts: Parts) -> Tuple[Dict[str, List[int]], Dict[str, float]]:
    """(bodies of each group, its share of the mass). Groups without a body give theirs away."""
    groups: Dict[str, List[int]] = {}
    for n, part in enumerate(parts.parts):
        if part in GROUP_OF:
            groups.setdefault(GROUP_OF[part], []).append(n)
    shares = dict(LEVA)
    for group in ("hand", "forearm", "upper_arm", "foot", "shin", "thigh", "head"):
        if group not in groups:
            shares[INSTEAD[group]] += shares.pop(group)
    return groups, shares


def human_shares(skeleton: Skeleton, parts: Parts) -> List[float]:
    """The share of the mass of each body of a human without skin; 0: it is no part of one."""
    out = [0.0] * len(skeleton)
    groups, shares = human_groups(parts)
    for group, bodies in groups.items():
        weights = [_weight_in_group(skeleton, parts, n) for n in bodies]
        total = sum(weights) or 1.0
        for n, weight in zip(bodies, weights):
            out[n] = shares[group] * weight / total
    return out


def _weight_in_group(s: Skeleton, parts: Parts, n: int) -> float:
    """The part of a body in the mass of its group."""
    part = parts.parts[n]

    def share(amount: float, *others: str) -> float:
        return amount / max(1, len(parts.bodies(*others)))

    if part == "pelvis":
        return share(PELVIS, "pelvis")
    if part == "chest":
        collars = len(parts.bodies("collar"))
        return share(CHEST + COLLAR * max(0, 2 - collars), "chest")
    if part in ("collar", "flesh"):
        return COLLAR
    if part == "spine":
        rest = 1.0 - COLLAR * 2 - PELVIS * bool(parts.bodies("pelvis")) - \
            CHEST * bool(parts.bodies("chest"))
        lengths = sum(s.link(k) for k in parts.bodies("spine"))
        return max(rest, 0.05) * s.link(n) / lengths if lengths else max(rest, 0.05)
    if part == "neck":
        return share(NECK, "neck")
    if part == "head":
        return share(1.0 - NECK, "head")
    if part in ("face", "finger"):
        return 0.02
    return 0.2 if part == "toe" else 1.0


def clamp_shares(values: Dict[str, float], shares: Dict[str, float]) -> Dict[str, float]:
    """Values in the same ratios, but within half and twice the given shares, with the same sum as
    the shares: one factor for all values that do not reach a bound."""
    goal = sum(shares[group] for group in values)

    def clamped(factor: float) -> Dict[str, float]:
        return {group: min(max(factor * value, CLAMP[0] * shares[group]), CLAMP[1] * shares[group])
                for group, value in values.items()}

    low, high = 0.0, 1e6
    for _ in range(100):
        middle = (low * high) ** 0.5 if low else high / 1e3
        if sum(clamped(middle).values()) < goal:
            low = middle
        else:
            high = middle
        if not low and high < 1e-9:
            break
    return clamped(high)


def mass_shares(skeleton: Skeleton, parts: Parts, volumes: Sequence[float], has_skin: bool
                ) -> List[float]:
    """The share of the mass of each body; the sum is 1."""
    total = sum(volumes) or 1.0
    out = [volume / total for volume in volumes]
    if parts.creature != "human":
        return out
    if not has_skin:
        human = human_shares(skeleton, parts)
        extra = sum(share for n, share in enumerate(out) if not human[n])
        return [(1 - extra) * human[n] or out[n] for n in range(len(out))]

    # The skin of a figure may have a large head: the groups stay near those of people.
    groups, shares = human_groups(parts)
    sums = {group: sum(out[n] for n in bodies) for group, bodies in groups.items()}
    whole = sum(sums.values()) or 1.0
    wanted = clamp_shares({group: max(value / whole, 1e-9) for group, value in sums.items()},
                          {group: shares[group] for group in groups})
    for group, bodies in groups.items():
        for n in bodies:
            out[n] *= wanted[group] * whole / max(sums[group], 1e-12)
    total = sum(out) or 1.0
    return [share / total for share in out]


def skin_volumes(shapes: Sequence[BodyShape], found: Sequence[Tuple[float, Sequence[float]]],
                 least: float) -> List[float]:
    """The volumes of the skin of each body, but at least a part of what its shape has."""
    whole = sum(volume for volume, _ in found)
    shaped = sum(shape.volume for shape in shapes) or 1.0
    return [max(volume, least * shape.volume / shaped * whole)
            for shape, (volume, _) in zip(shapes, found)]
