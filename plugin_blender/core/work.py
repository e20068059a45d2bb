# SPDX-License-Identifier: GPL-3.0-or-later
"""Long work in small steps.

Long work is a generator that yields (fraction done, what it does) often, so that its caller can
draw a progress bar, cancel it, or run it to its end. Its result is its return value
(`result = yield from work`)."""

from __future__ import annotations

from typing import Generator, Tuple, TypeVar

T = TypeVar("T")
Work = Generator[Tuple[float, str], None, T]


def run(work: Work[T]) -> T:
    """Runs the work to its end without a pause; returns its result."""
    try:
        while True:
            next(work)
    except StopIteration as stop:
        return stop.value
