# SPDX-License-Identifier: BSD-3-Clause
"""In a window: Esc in the middle leaves the file as it was, a tick is at most twice as long as the
window took before it, one undo step undoes.

A list of steps, each called from a timer until it returns true; then Blender goes, with the answer
as its exit code."""

import os
import sys
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402

import common  # noqa: E402

FRAMES = 600                    # of a bake: enough to stop it in the middle on any machine
TICK = 0.05                     # s of work that is not divided: by so much a slice may be longer
SHORT = 0.012                   # s, a slice of bakes that are to be stopped in many places
HANG = 1800                     # s without any progress: a step done, or a tick of the bake
state = {"ticks": [], "events": 0, "since": time.monotonic(), "seen": 0}


def view():
    window = bpy.context.window_manager.windows[0]
    area = next(a for a in window.screen.areas if a.type == "VIEW_3D")
    region = next(r for r in area.regions if r.type == "WINDOW")
    return {"window": window, "area": area, "region": region}


def emptied():
    """The scene, with the add-on and nothing else."""
    bpy.context.preferences.view.show_splash = False
    common.enable()
    scene = bpy.context.scene
    for ob in list(scene.objects):
        bpy.data.objects.remove(ob)
    return scene


def setup():
    scene = emptied()
    ob = common.add_armature(common.HUMANOID)
    for n, frame in enumerate((-20, 1, 60, 2000)):
        common.pose(ob, n, 0.1)
        common.key_all(ob, frame)
    scene.frame_start, scene.frame_end = 1, FRAMES
    scene.frame_set(1)
    ob.skel.preset = "TAIL"
    watch(common.addon().operators.SKEL_OT_bake_physics)
    with bpy.context.temp_override(**view()):
        bpy.ops.ed.undo_push(message="ready")
    state["before"] = common.dump_file()
    return True


def watch(cls):
    """Notes of each tick (CPU time, the time that the window took before it)."""
    modal = cls.modal

    def timed(self, context, event):
        start, waited = time.thread_time(), time.perf_counter() - self._slices._ended
        answer = modal(self, context, event)
        if event.type == "TIMER":
            state["ticks"].append((time.thread_time() - start, waited))
        state["answer"] = answer
        return answer

    cls.modal = timed


def set_slices():
    """The longest slice of the next bake: short, unless a step has said otherwise."""
    state["longest"] = state.pop("slice", SHORT)
    common.addon().jobs.SLICE_MAX_S = state["longest"]


def start():
    set_slices()
    state.update(ticks=[], answer=None, events=0, started=time.monotonic())
    with bpy.context.temp_override(**view()):
        answer = bpy.ops.skel.bake_physics("INVOKE_DEFAULT", target=state.get("target", "NEW"))
    assert answer == {"RUNNING_MODAL"}, answer
    return True


def wait_for_ticks():
    assert state["answer"] in (None, {"RUNNING_MODAL"}), "too fast to be stopped"
    return len(state["ticks"]) >= state["enough"]


def press_escape():
    window = view()["window"]
    window.event_simulate(type="ESC", value="PRESS", x=300, y=300)
    window.event_simulate(type="ESC", value="RELEASE", x=300, y=300)
    return True


def is_cancelled():
    return state["answer"] == {"CANCELLED"}


def check_untouched():
    assert common.dump_file() == state["before"], "the file is not as it was"
    print(f"stopped after {len(state['ticks'])} ticks: the file is as it was")
    return True


def is_finished():
    state["events"] += 1                    # of this timer: the window is alive meanwhile
    assert state["answer"] != {"CANCELLED"}, "it failed"
    return state["answer"] == {"FINISHED"}


def check_result():
    print(f"{len(state['ticks'])} ticks, the longest {1000 * max(state['ticks'])[0]:.0f} ms of "
          f"CPU; the window had {state['events']} others")
    jobs = common.addon().jobs
    for work, waited in state["ticks"]:
        share = min(max(jobs.SLICE_PER_REDRAW * waited, jobs.SLICE_MIN_S), state["longest"])
        assert work < share + TICK, (work, waited)
    assert state["events"] > len(state["ticks"]) / 4
    ob = bpy.data.objects["figure"]
    curve = next(iter(common.curves(ob).values()))
    assert any(len(c.keyframe_points) >= FRAMES for c in common.curves(ob).values()), curve
    assert common.dump_file() != state["before"]
    return True


def undo():
    with bpy.context.temp_override(**view()):
        bpy.ops.ed.undo()
    return True


def check_undone():
    assert common.dump_file() == state["before"], "undo does not restore"
    print("one undo step restores")
    return True


def check_second():
    """While one bake runs, another does not begin."""
    try:
        with bpy.context.temp_override(**view()):
            bpy.ops.skel.bake_physics("INVOKE_DEFAULT")
    except RuntimeError as error:
        assert "Skel is baking" in str(error), error
        return True
    raise AssertionError("a second bake has begun")


def disable():
    """In the middle of the work. It leaves the file as it was, and a bake can begin before the next
    event of the window: Blender 4.2 to 4.4 would crash if that bake added a modal handler."""
    import addon_utils
    addon_utils.disable("skel")
    common.enable()
    check_untouched()
    state.update(ticks=[], answer=None)
    with bpy.context.temp_override(**view()):
        answer = bpy.ops.skel.bake_physics("INVOKE_DEFAULT", True, frame_start=1, frame_end=2)
    blocks = (4, 2) <= bpy.app.version < (4, 5)
    assert answer == ({"FINISHED"} if blocks else {"RUNNING_MODAL"}), answer
    if blocks:
        state["answer"] = answer
    view()["window"].event_simulate(type="MOUSEMOVE", value="NOTHING", x=300, y=300)
    return True


def rename(old, new):
    def step():
        bpy.data.objects[old].name = new
        return True
    return step


def check_shown():
    """The redo panel has the numbers that were used."""
    used = bpy.context.window_manager.operators[-1]
    assert (used.frame_start, used.frame_end) == (1, FRAMES), (used.frame_start, used.frame_end)
    return True


def later(**values):
    def step():
        state.update(values)
        return True
    return step


STEPS = [setup]
for _target, _enough in (("NEW", 1), ("NEW", 6), ("CURRENT", 12)):
    STEPS += [later(enough=_enough, target=_target), start, wait_for_ticks, press_escape,
              is_cancelled, check_untouched]
STEPS += [later(enough=3, target="NEW"), start, wait_for_ticks, check_second, disable,
          is_finished, undo, check_undone]
STEPS += [start, wait_for_ticks, rename("figure", "other"), is_cancelled,
          rename("other", "figure"), check_untouched]
for _target, _longest in (("CURRENT", SHORT), ("NEW", 1.0)):
    STEPS += [later(target=_target, slice=_longest), start, is_finished, check_result,
              check_shown, undo, check_undone]


def end(code):
    sys.stdout.flush()
    os._exit(code)


def hangs(done):
    """Whether nothing gets on any more. A step may take as long as a busy machine makes it: what
    counts is that the bake still does its work, tick by tick."""
    if done or len(state["ticks"]) != state["seen"]:
        state.update(seen=len(state["ticks"]), since=time.monotonic())
    return time.monotonic() - state["since"] > HANG


def tick():
    try:
        name, done = STEPS[0].__name__, STEPS[0]()
        if done:
            STEPS.pop(0)
        if hangs(done):
            print(f"no end of {name}: nothing was done for {HANG} s")
            end(1)
    except BaseException:                   # whatever it is, it must end Blender
        traceback.print_exc()
        end(1)
    if not STEPS:
        end(0)
    return 0.02


if not bpy.app.background:
    bpy.app.timers.register(tick, first_interval=0.5)
