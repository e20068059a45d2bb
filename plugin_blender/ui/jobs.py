# SPDX-License-Identifier: GPL-3.0-or-later
"""What operators share. Each polls, reads, calls the core, writes and reports.

From a script, or without a window, they run to the end. From a button, long operators run in slices
between the events of the window; Esc cancels them and leaves the file as it was."""

import time
import uuid
from dataclasses import replace
from typing import Any, Dict, Generator, List, Optional, Sequence, Set, Tuple

import bpy
from bpy.props import IntProperty

from ..blender import compat, read, stage, take_edit
from ..blender.preview import armature, redraw
from ..blender.rna import Armature, Context, Event, Scene
from ..core import playback
from ..core.bake import Result
from ..core.binding import skelpy
from ..core.errors import UserError
from ..core.work import Work, run

# A slice of work is twice as long as the window took since the last slice, so that two thirds of
# the time go into the work. Esc waits for one slice and one redraw: 50 ms of work if the window
# redraws within 25 ms; in a window that takes half a second to redraw, a second.
SLICE_PER_REDRAW, SLICE_MIN_S, SLICE_MAX_S = 2.0, 0.012, 1.0
STATUS_S = 0.25                 # of work between two redraws of the status line
STATUS_PER_REDRAW = 4.0         # likewise, as a multiple of the time that its redraw took
FAILURES = (UserError, skelpy.SkelError, MemoryError, OSError, ValueError, ReferenceError)
NAVIGATION = {"MOUSEMOVE", "MIDDLEMOUSE", "WHEELUPMOUSE", "WHEELDOWNMOUSE"}
RUNNING: List["Slices"] = []    # the work that is done in slices; at most one
Status = Set[str]


def find_armature(context: Context) -> Armature:
    """The same, for operators whose poll has found one."""
    ob = armature(context)
    if ob is None:
        raise UserError("Select an armature")
    return ob


def key_frame(scene: Scene) -> Optional[int]:
    """The frame to key poses at: the current one if auto-keying is on, else None."""
    return scene.frame_current if scene.tool_settings.use_keyframe_insert_auto else None


def message_of(error: BaseException) -> str:
    """The message of an error, with the names of files."""
    if isinstance(error, OSError) and error.filename:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, UnicodeDecodeError):
        return "The file is not text in UTF-8"
    if isinstance(error, ReferenceError):
        return "The armature was deleted during the bake. Nothing was changed"
    return str(error) or type(error).__name__


def find_again(name: str) -> Armature:
    """The armature that the work began with."""
    ob = bpy.data.objects.get(name)
    if ob is None:
        raise UserError(f"The armature '{name}' was deleted or renamed during the bake. Nothing "
                        "was changed")
    return ob


# ---- reports of the session ----

class Reports:
    """Reports of the last bakes of armatures, for as long as the session lasts. An armature knows
    its report by a key in its settings, which survives renaming and undo."""

    def __init__(self, group: str) -> None:
        self._group = group                     # property group of the object: skel or skel_ik
        self._reports: Dict[str, Any] = {}

    def put(self, ob: Armature, report: Any) -> None:
        key = uuid.uuid4().hex
        self._reports[key] = report
        getattr(ob, self._group).report = key

    def get(self, ob: Optional[Armature]) -> Any:
        """The report of an armature; None if it has none."""
        return self._reports.get(getattr(ob, self._group).report) if ob is not None else None

    def clear(self) -> None:
        self._reports.clear()


# ---- polls ----

def is_not_editing(cls: Any, context: Context) -> bool:
    if context.mode == "EDIT_ARMATURE":
        cls.poll_message_set("Leave Edit Mode first")
    return context.mode != "EDIT_ARMATURE"


def is_idle(cls: Any) -> bool:
    """Whether no bake is at work."""
    if RUNNING:
        cls.poll_message_set("Skel is baking. Press Esc to cancel")
    return not RUNNING


def is_local(cls: Any, context: Context) -> bool:
    """Whether the armature can be changed: it is not linked from another file."""
    linked = bool(find_armature(context).library)
    if linked:
        cls.poll_message_set("The armature is linked from another file. Make a library override "
                             "of it first")
    return not linked


class OnArmature:
    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        if armature(context) is None:
            cls.poll_message_set("Select an armature first")
            return False
        return is_not_editing(cls, context)


# ---- short and long operators ----

class ShortOperator:
    """Operators that are done at once: run(context) returns the message."""

    report: Any

    def run(self, context: Context) -> str:
        raise NotImplementedError

    def execute(self, context: Context) -> Status:
        try:
            message = self.run(context)
        except (*FAILURES, SyntaxError) as error:
            self.report({"ERROR"}, message_of(error))
            return {"CANCELLED"}
        self.report({"INFO"}, message)
        return {"FINISHED"}


class Slices:
    """Work that is done between the events of a window, in slices that grow with the time that the
    window takes to redraw. Progress is shown in the status line, which is redrawn without the 3D
    view."""

    def __init__(self, context: Context, job: Generator[Tuple[float, str], None, str]) -> None:
        self.job, self.workspace, self.manager = job, context.workspace, context.window_manager
        self.timer = self.manager.event_timer_add(0.01, window=context.window)
        self.manager.progress_begin(0, 100)
        self._ended = time.perf_counter()       # the last slice
        self._worked = self._pause = STATUS_S   # since the status line was drawn; until it is next
        RUNNING.append(self)

    def advance(self) -> None:
        """Does one slice. StopIteration with the message if the work is done."""
        start = time.perf_counter()
        redraw_s = start - self._ended
        if not self._worked:                    # the status line was part of this redraw
            self._pause = max(STATUS_S, STATUS_PER_REDRAW * redraw_s)
        until = start + min(max(SLICE_PER_REDRAW * redraw_s, SLICE_MIN_S), SLICE_MAX_S)

        fraction, words = next(self.job)
        while time.perf_counter() < until:
            fraction, words = next(self.job)
        self._ended = time.perf_counter()
        self._worked += self._ended - start
        if self._worked >= self._pause:
            self._worked = 0.0
            self._show(fraction, words)

    def _show(self, fraction: float, words: str) -> None:
        self.manager.progress_update(int(100 * fraction))
        if self.workspace:
            self.workspace.status_text_set(f"Skel: {words}, {100 * fraction:.0f} %  (Esc cancels)")

    def end(self) -> None:
        """Whatever has happened to the file or the window meanwhile."""
        if self not in RUNNING:
            return
        RUNNING.remove(self)
        self.job.close()
        try:
            self.manager.event_timer_remove(self.timer)
            self.manager.progress_end()
            if self.workspace:
                self.workspace.status_text_set(None)
            redraw()                            # buttons are enabled again, the report is there
        except ReferenceError:
            pass                                # another file has been opened


class LongOperator(OnArmature):
    """Operators with a generator work(context) that yields (fraction, words) and returns the final
    message. closing: it is past the point at which it can be cancelled."""

    report: Any
    closing = False
    _slices: Optional[Slices] = None

    def work(self, context: Context) -> Work[str]:
        raise NotImplementedError

    @classmethod
    def poll(cls: Any, context: Context) -> bool:
        return is_idle(cls) and super().poll(context)

    def _fail(self, error: BaseException) -> Status:
        self.report({"ERROR"}, message_of(error))
        return {"CANCELLED"}

    def execute(self, context: Context) -> Status:
        try:
            self.report({"INFO"}, run(self.work(context)))
        except FAILURES as error:
            return self._fail(error)
        return {"FINISHED"}

    def invoke(self, context: Context, _event: Event) -> Status:
        window = context.window
        if bpy.app.background or window is None or not compat.can_add_modal(window):
            return self.execute(context)
        self._slices = Slices(context, self.work(context))
        context.window_manager.modal_handler_add(self)
        return {"RUNNING_MODAL"}

    def modal(self, _context: Context, event: Event) -> Status:
        slices = self._slices
        assert slices is not None
        if event.type == "ESC" and not self.closing:
            slices.end()
            self.report({"WARNING"}, "Cancelled. Nothing was changed")
            return {"CANCELLED"}
        if event.type != "TIMER":               # the user may look around, but change nothing
            return {"PASS_THROUGH"} if event.type in NAVIGATION else {"RUNNING_MODAL"}

        try:
            slices.advance()
        except StopIteration as stop:
            slices.end()
            self.report({"INFO"}, stop.value)
            return {"FINISHED"}
        except FAILURES as error:
            slices.end()
            return self._fail(error)
        except Exception:
            slices.end()
            raise
        return {"RUNNING_MODAL"}

    def cancel(self, _context: Context) -> None:
        if self._slices is not None:
            self._slices.end()


class FrameRange:
    """Frames as properties of an operator; those that are not set come from the armature."""

    properties: Any
    frame_start: IntProperty(name="Start", default=1, options={"SKIP_SAVE"},
                             description="First frame")
    frame_end: IntProperty(name="End", default=250, options={"SKIP_SAVE"},
                           description="Last frame")
    frame_step: IntProperty(name="Step", default=1, min=1, options={"SKIP_SAVE"},
                            description="Frames between two keys")

    def given(self, name: str, otherwise: Any) -> Any:
        """The value of the call, else another one, which the redo panel then shows."""
        if not self.properties.is_property_set(name):
            setattr(self, name, otherwise)
        return getattr(self, name)

    def frames(self, context: Context, ob: Armature) -> Tuple[int, int, int]:
        """(first, last, step)."""
        first, last = read.frame_range(context.scene, ob)
        return (self.given("frame_start", first), self.given("frame_end", last),
                self.given("frame_step", ob.skel.frame_step))

    def made(self, scene: Scene, ob: Armature, kind: str) -> Dict[str, Any]:
        """How the take is made, for write_take; after frames() and the target are known."""
        call: Any = self
        return take_edit.made_of(scene, ob, kind, target=call.target,
                                 frame_start=call.frame_start, frame_end=call.frame_end,
                                 frame_step=call.frame_step)


# ---- checking the keys ----

def check_playback(ob: Armature, result: Result) -> Work[Tuple[float, List[str]]]:
    """Generator: compares what plays with what was computed. Returns (the largest error, warnings
    about it and about Blender's scene)."""
    expected = result.expected
    poses, objects, places = yield from stage.read_playback(
        ob, expected.frames, [target.at for target in expected.targets])
    errors = playback.playback_errors(expected, poses, objects)
    limits = playback.playback_limits(expected)
    moved = playback.warn_of_moved_targets(expected.targets, expected.frames, places)
    return max(errors)[0], [*expected.plan.shot.warnings, *moved,
                            *playback.warn_of_playback(errors, limits)]


def checked(report: Any, error: float, warnings: Sequence[str], **more: Any) -> Any:
    """A bake report with the results of a check of its keys. more: other fields of it."""
    return replace(report, playback_error=error, warnings=(*report.warnings, *warnings), **more)
