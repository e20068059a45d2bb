# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages in panels, wrapped at the width of the sidebar."""

from typing import Any, Callable, Iterable, Tuple

import blf

from ..blender import compat
from ..blender.rna import Context, Layout
from ..core.report import BakeReport, Problem
from ..core.wrap import wrap

BUTTON = 20                 # [pixels] height of a button at a scale of 1; the unit of the next two
MARGIN = 3.4                # borders of a panel and of a box, tabs and scroll bar
ICON = 1.2
PANEL_MIN = 80              # [pixels] for text, however narrow the sidebar is
PROBLEMS_SHOWN = 8


def _measure(context: Context) -> Callable[[str], float]:
    """Gives the width of a text [pixels] in the font of labels."""
    style = context.preferences.ui_styles[0].widget
    compat.set_font_size(blf, style.points * context.preferences.system.ui_scale)
    return lambda text: blf.dimensions(0, text)[0]


def _width(context: Context, icons: int = 0) -> float:
    """The room for a label [pixels], beside so many icons."""
    scale = BUTTON * context.preferences.system.ui_scale
    return max(context.region.width - (MARGIN + ICON * icons) * scale, PANEL_MIN)


def draw_text(layout: Layout, context: Context, text: str, icon: str = "NONE") -> None:
    """A message on as many lines as it needs. Its icon is on the first."""
    has_icon = icon != "NONE"
    column = layout.column(align=True)
    column.scale_y = 0.8
    for line in wrap(text, _width(context, has_icon), _measure(context)):
        column.label(text=line, icon=icon)
        icon = "BLANK1" if has_icon else "NONE"


def draw_rows(layout: Layout, context: Context, rows: Iterable[Tuple[str, str, str]]) -> None:
    """Rows of (label, value, icon): side by side if both fit, else one below the other."""
    column, measure = layout.column(align=True), _measure(context)
    for label, value, icon in rows:
        half = _width(context) / 2
        beside = ICON * BUTTON * context.preferences.system.ui_scale if icon != "NONE" else 0.0
        if measure(label) + beside <= half and measure(value) <= half:
            split = column.split(factor=0.5)
            split.label(text=label, icon=icon)
            split.label(text=value)
            continue
        if label:
            draw_text(column, context, label, icon)
        for line in wrap(value, _width(context, 1), measure):
            row = column.row()
            row.alignment = "RIGHT"
            row.label(text=line)


def _draw_buttons(layout: Layout, problem: Problem) -> None:
    """Buttons that show what a message is about."""
    column = layout.column(align=True)
    if problem.bone:
        button: Any = column.operator("skel.show_problem", text="Select Bone", icon="BONE_DATA")
        button.bone, button.use_frame = problem.bone, False
    if problem.frame is not None:
        button = column.operator("skel.show_problem", text=f"Go to Frame {problem.frame}",
                                 icon="TIME")
        button.bone, button.use_frame, button.frame = "", True, problem.frame


def draw_result(layout: Layout, context: Context, report: BakeReport) -> None:
    """OK, or what to look at; each message with its buttons."""
    problems = report.problems
    layout.label(text=report.headline, icon="ERROR" if problems else "CHECKMARK")
    for problem in problems[:PROBLEMS_SHOWN]:
        box = layout.box()
        draw_text(box, context, problem.text)
        if problem.bone or problem.frame is not None:
            _draw_buttons(box, problem)
    if len(problems) > PROBLEMS_SHOWN:
        draw_text(layout, context, f"and {len(problems) - PROBLEMS_SHOWN} more, in Save Report")
