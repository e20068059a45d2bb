# SPDX-License-Identifier: GPL-3.0-or-later
"""Breaks messages into lines that fit a panel, whose labels would cut them."""

from __future__ import annotations

from typing import Callable, List

LINES_MAX = 12              # of one message; a longer one ends in "..."


def _split_word(word: str, width: float, measure: Callable[[str], float]) -> List[str]:
    """A word in pieces that fit. One letter always fits."""
    pieces, piece = [], ""
    for letter in word:
        if piece and measure(piece + letter) > width:
            pieces.append(piece)
            piece = ""
        piece += letter
    return [*pieces, piece]


def wrap(text: str, width: float, measure: Callable[[str], float]) -> List[str]:
    """The lines of a text. measure: the width of a text, in the unit of width."""
    lines: List[str] = []
    for paragraph in text.splitlines() or [""]:
        line = ""
        for word in paragraph.split():
            longer = f"{line} {word}" if line else word
            if measure(longer) <= width:
                line = longer
                continue
            if line:
                lines.append(line)
            *whole, line = _split_word(word, width, measure)
            lines += whole
        lines.append(line)
    if len(lines) > LINES_MAX:
        lines = [*lines[:LINES_MAX - 1], lines[LINES_MAX - 1] + " ..."]
    return lines
