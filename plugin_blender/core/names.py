# SPDX-License-Identifier: GPL-3.0-or-later
"""Names: of the bone on the other side of the body, and of the next take."""

from __future__ import annotations

import re
from typing import Container

SEPARATORS = ". -_"
NAME_BYTES_MAX = 63             # of a name in Blender until 4.x, which cuts longer ones silently
SIDE_NAME_MIN = 3               # letters: shorter names have no side
SIDES = {"l": "r", "r": "l", "L": "R", "R": "L"}
WORDS = {"left": "right", "right": "left"}


def _like(word: str, model: str) -> str:
    """A word in the case of another one: left, Left or LEFT."""
    if model[0].islower():
        return word
    return word.upper() if model[1].isupper() else word.capitalize()


def flip_name(name: str) -> str:
    """The name of the bone on the other side, by the rules of Blender's own mirroring: `.L` and
    `.R` at the end, or `L_` and `R_` at the beginning, with any of the separators . - _ and space;
    else Left and Right at the beginning or the end. A number after the last dot (.001) stays. A
    name without a side is returned as it is."""
    if len(name) < SIDE_NAME_MIN:
        return name
    number = re.search(r"\.\d[^.]*$", name) if name[-1].isdigit() else None
    stem, number_text = (name[:number.start()], number[0]) if number else (name, "")

    if len(stem) > 1 and stem[-2] in SEPARATORS and stem[-1] in SIDES:
        return stem[:-1] + SIDES[stem[-1]] + number_text
    if len(stem) > 1 and stem[1] in SEPARATORS and stem[0] in SIDES:
        return SIDES[stem[0]] + stem[1:] + number_text

    # The first place of the word counts, and it must be at an end of the name.
    for word in ("right", "left"):
        at = stem.lower().find(word)
        if len(stem) > 5 and at >= 0 and at in (0, len(stem) - len(word)):
            end = at + len(word)
            return stem[:at] + _like(WORDS[word], stem[at:end]) + stem[end:] + number_text
    return name


def numbered(stem: str, suffix: str, taken: Container[str]) -> str:
    """The first name of `stem` + `suffix`, then with .2, .3, ..., that is not taken. A stem that is
    too long for Blender is cut, so that the rest is not."""
    n = 1
    while True:
        end = suffix + (f".{n}" if n > 1 else "")
        head = stem.encode()[:NAME_BYTES_MAX - len(end.encode())].decode(errors="ignore")
        if head + end not in taken:
            return head + end
        n += 1
