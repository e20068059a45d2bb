# SPDX-License-Identifier: GPL-3.0-or-later
"""Feet that stand: which bones are feet, in which frames they stand, and where they are locked.

A foot stands while the end of its bone is slow and low. Speeds and heights are measured by the
height of the figure. Lengths are in Blender units, in the world."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import List, Sequence, Tuple

from .algebra import Vector3, q_mul, q_of_matrix
from .ik_chains import branches, children_of, reaches, words_of
from .shot import Shot, ancestors

ANKLE_HEIGHT = 0.12         # of the figure's height: joints of feet are lower at rest
LEG_SHARE = 0.2             # of the figure's height: a leg is longer
NOT_FEET = frozenset(("tail", "hand", "root", "skirt", "hair"))
SPEED_WINDOW_S = 1 / 30     # to either side: speeds are means, captured motion is noisy
Span = Tuple[int, int]      # first and last sample


@dataclass(frozen=True)
class PlantSettings:
    speed: float = 0.15                     # [figure's heights per s]: a slower foot stands
    height: float = 0.03                    # [figure's heights] above the lowest place near it
    leave: float = 2.0                      # a foot that stands may be faster and higher by this
    nearby: float = 0.5                     # [s] to either side: where its lowest place is sought
    shortest: float = 0.1                   # [s]
    blend: float = 0.15                     # [s] to ease into the lock, and out of it


@dataclass(frozen=True)
class Path:
    """The end of a bone and its axes in the world, frame by frame."""
    places: Tuple[Vector3, ...]
    turns: Tuple[Tuple[float, ...], ...]    # quaternions w x y z, without jumps of sign


@dataclass(frozen=True)
class Plant:
    """A foot, the samples in which it stands, and the path that its goal is to follow."""
    bone: int
    spans: Tuple[Span, ...]
    path: Path


# ---- the figure ----

def _point(m: Sequence[float], v: Sequence[float]) -> Vector3:
    """A matrix, column after column, times a point."""
    x, y, z = (m[k] * v[0] + m[4 + k] * v[1] + m[8 + k] * v[2] + m[12 + k] for k in range(3))
    return x, y, z


def _rest_heights(shot: Shot) -> List[Tuple[float, float]]:
    """Heights of the head and the tail of every bone at rest, with the object at the first
    frame."""
    placed = shot.objects[:16]
    return [(_point(placed, bone.ends[:3])[2], _point(placed, bone.ends[3:])[2])
            for bone in shot.bones]


def figure_height(shot: Shot) -> float:
    """The height of the deform bones at rest; of all bones if none deforms."""
    heights = _rest_heights(shot)
    some = [both for both, bone in zip(heights, shot.bones) if bone.deform] or heights
    return max(map(max, some)) - min(map(min, some))


def find_feet(shot: Shot) -> List[int]:
    """The bones that are feet: the uppermost bones near the ground of limbs that come down from
    above. The names only tell what is none."""
    bones, heights = shot.bones, _rest_heights(shot)
    some = [i for i, bone in enumerate(bones) if bone.deform] or list(range(len(bones)))
    known = set(some)
    low, size = min(min(heights[i]) for i in some), figure_height(shot)
    children, reach = children_of(bones), reaches(bones)

    out: List[int] = []
    for i in some:
        path = [i, *ancestors(bones, i)]
        is_last = not any(k in known for k in children[i])
        if not is_last or any(words_of(bones[k].name) & NOT_FEET for k in path[:-1]):
            continue
        near = [k for k in path if heights[k][0] - low < ANKLE_HEIGHT * size]
        if not near or len(near) == len(path):
            continue
        foot, above = near[-1], path[path.index(near[-1]) + 1:]

        # The limb that it ends comes from a branch, and is a leg by its length.
        at, top = foot, heights[foot][0]
        for up in above:
            if branches(bones, children, reach, up, at):
                break
            at, top = up, max(top, heights[up][0])
        else:
            continue
        if top - heights[foot][0] >= LEG_SHARE * size and foot not in out:
            out.append(foot)
    return sorted(out)


def path_of(shot: Shot, i: int) -> Path:
    """The path of a bone's tail and axes."""
    count, length = len(shot.bones), shot.bones[i].length
    places: List[Vector3] = []
    turns: List[Tuple[float, ...]] = []
    for n in range(len(shot.frames)):
        world = shot.objects[16 * n:16 * n + 16]
        bone = shot.poses[16 * (n * count + i):16 * (n * count + i) + 16]
        places.append(_point(world, _point(bone, (0.0, length, 0.0))))

        q: Tuple[float, ...] = q_mul(q_of_matrix(world), q_of_matrix(bone))
        if turns and sum(a * b for a, b in zip(q, turns[-1])) < 0:
            q = tuple(-x for x in q)
        turns.append(q)
    return Path(tuple(places), tuple(turns))


# ---- standing ----

def speeds(places: Sequence[Vector3], rate: float) -> List[float]:
    """Units per second at every sample. rate: samples per second."""
    far, last = max(1, round(SPEED_WINDOW_S * rate)), len(places) - 1
    out = []
    for n in range(len(places)):
        a, b = max(0, n - far), min(last, n + far)
        out.append(math.dist(places[a], places[b]) * rate / max(1, b - a))
    return out


def find_spans(places: Sequence[Vector3], rate: float, size: float,
               settings: PlantSettings = PlantSettings()) -> Tuple[Span, ...]:
    """The samples in which a foot stands. It begins to stand, and ends, where it is slower and
    lower than `leave` times the bounds, if it is within the bounds themselves in between. rate:
    samples per second; size: height of the figure."""
    fast, near = speeds(places, rate), round(settings.nearby * rate)
    shortest = max(2, round(settings.shortest * rate))
    excess = []
    for n, place in enumerate(places):
        ground = min(each[2] for each in places[max(0, n - near):n + near + 1])
        excess.append(max(fast[n] / (settings.speed * size),
                          (place[2] - ground) / (settings.height * size)))

    out: List[Span] = []
    n = 0
    while n < len(excess):
        first = n
        while n < len(excess) and excess[n] <= settings.leave:
            n += 1
        strict = sum(1 for each in excess[first:n] if each <= 1)
        if strict >= 1 and n - first >= shortest:
            out.append((first, n - 1))
        n = max(n, first + 1)
    return tuple(out)


def _ease(x: float) -> float:
    return x * x * (3 - 2 * x)


def locked(places: Sequence[Vector3], spans: Sequence[Span], blend: int) -> Tuple[Vector3, ...]:
    """The path with one place per span, the mean of its places. Before and after it, within `blend`
    samples or half of the way to the next span, the path is shifted by a part of what the lock
    shifts the end of the span by, so that a foot that swings is not held back."""
    out = list(places)
    for k, (first, last) in enumerate(spans):
        before = first - spans[k - 1][1] - 1 if k > 0 else first
        after = spans[k + 1][0] - last - 1 if k + 1 < len(spans) else len(places) - 1 - last
        inner = places[first:last + 1]
        x, y, z = (math.fsum(place[axis] for place in inner) / len(inner) for axis in range(3))
        for n in range(first, last + 1):
            out[n] = (x, y, z)

        room = min(blend, before // 2 if k > 0 else before)
        for n in range(first - room, first):
            share = _ease((n - first + room + 1) / (room + 1))
            out[n] = _shifted(places[n], places[first], (x, y, z), share)
        room = min(blend, after // 2 if k + 1 < len(spans) else after)
        for n in range(last + 1, last + 1 + room):
            share = _ease((last + room + 1 - n) / (room + 1))
            out[n] = _shifted(places[n], places[last], (x, y, z), share)
    return tuple(out)


def _shifted(place: Vector3, a: Vector3, b: Vector3, share: float) -> Vector3:
    """A place, shifted by a part of the way from a to b."""
    x, y, z = (p + share * (v - u) for p, u, v in zip(place, a, b))
    return x, y, z


def plant(shot: Shot, feet: Sequence[int],
          settings: PlantSettings = PlantSettings()) -> List[Plant]:
    """The feet that stand in some of the sampled frames, with the paths for their goals."""
    size, out = figure_height(shot), []
    for i in feet:
        path = path_of(shot, i)
        spans = find_spans(path.places, shot.fps, size, settings)
        if spans:
            places = locked(path.places, spans, round(settings.blend * shot.fps))
            out.append(Plant(i, spans, Path(places, path.turns)))
    return out
