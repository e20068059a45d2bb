# SPDX-License-Identifier: GPL-3.0-or-later
"""Which things are animated: curves, drivers, NLA tracks, constraints."""

import re
from typing import Dict, Iterator, List, Set

from ..core.keys import escape
from . import compat
from .rna import ID, AnimData, Armature, Object, Track

# Data paths of Skel's own settings, and those of them that may be animated.
SETTING_PATHS = r'(pose\.bones\[".*"\]\.)?(skel|skel_ik)\..*|pose\.bones\[".*"\]\.skel_\w+'
ANIMATABLE = ("follow", "weight")
SCENE_TIMES = ("frame_current", "frame_current_final", "frame_float", "frame_subframe")


def active_tracks(data: AnimData) -> List[Track]:
    """NLA tracks that play."""
    return [track for track in data.nla_tracks if not track.mute]


def is_animated(data: AnimData) -> bool:
    return bool(data and (data.action or active_tracks(data) or data.drivers))


def object_moves(ob: Object) -> bool:
    return bool(ob.parent or ob.constraints or is_animated(ob.animation_data))


def armature_object_moves(ob: Armature) -> bool:
    """Whether the armature object itself moves, not only its bones."""
    data = ob.animation_data
    if ob.parent or ob.constraints:
        return True
    if not data:
        return False
    if any(not d.data_path.startswith("pose.") for d in data.drivers) or active_tracks(data):
        return True
    return bool(data.action and any(not c.data_path.startswith("pose.")
                                    for c in compat.curves_of(data.action, ob)))


def animated_paths(ob: Armature) -> Set[str]:
    """Data paths that curves or drivers move, in the action or in strips."""
    data = ob.animation_data
    if not data:
        return set()
    actions = [data.action, *(s.action for t in active_tracks(data) for s in t.strips)]
    return {d.data_path for d in data.drivers}.union(*map(compat.paths_of, filter(None, actions)))


def animated_follow(ob: Armature) -> List[str]:
    """The bones whose Follow is animated; "" for that of the armature."""
    found = animated_paths(ob)
    paths: Dict[str, str] = {"": "skel.follow"}
    for bone in ob.pose.bones:
        paths[bone.name] = f'pose.bones["{escape(bone.name)}"].skel.follow'
    return [name for name, path in paths.items() if path in found]


def is_setting(path: str) -> bool:
    """Whether a data path is one of Skel's own settings."""
    return re.fullmatch(SETTING_PATHS, path) is not None


def warn_of_animated_settings(ob: Armature) -> Iterator[str]:
    """Keys and drivers of settings that cannot be animated: earlier versions allowed them."""
    for path in sorted(filter(is_setting, animated_paths(ob))):
        if path.rsplit(".", 1)[1] not in ANIMATABLE:
            yield (f"'{ob.name}' has keys or a driver of a setting that cannot be animated: "
                   f"{path}. Remove them; only Follow and the weight of a goal may be animated")


def _reads_scene(variable: ID) -> bool:
    """Whether a driver variable has another value in the temporary scene."""
    target = variable.targets[0]
    of_time = target.data_path in SCENE_TIMES
    if variable.type == "CONTEXT_PROP":         # the temporary scene has time, but no settings
        return not of_time
    return variable.type == "SINGLE_PROP" and target.id_type == "SCENE" and \
        target.id is not None and bool(of_time or target.id.animation_data)


def warn_of_scene_drivers(*owners: ID) -> Iterator[str]:
    """The first driver of each owner that is not read correctly."""
    for owner in dict.fromkeys(owners):
        for curve in owner.animation_data.drivers if owner.animation_data else ():
            if not curve.mute and any(map(_reads_scene, curve.driver.variables)):
                yield (f"'{owner.name}' has a driver that reads the scene, which does not change "
                       f"while frames are read: {curve.data_path}. Use the word frame in its "
                       "expression, or bake the driven property to keys first")
                break
