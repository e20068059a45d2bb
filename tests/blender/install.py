# SPDX-License-Identifier: BSD-3-Clause
"""install.py -- legacy ZIP: installs the add-on as the button of the preferences does, and saves.
install.py -- check MODULE [wheel]: finds it switched on, bakes, looks at its preferences page;
skelpy is beside it, or from a wheel."""

import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import bpy  # noqa: E402

what, argument, *source = sys.argv[sys.argv.index("--") + 1:]
assert os.environ["BLENDER_USER_RESOURCES"] in bpy.utils.user_resource("SCRIPTS"), "not our profile"
if what == "legacy":
    bpy.ops.preferences.addon_install(filepath=argument)
    bpy.ops.preferences.addon_enable(module="skel")
    bpy.ops.wm.save_userpref()
    sys.exit(0)

os.environ["SKEL_MODULE"] = argument
import common  # noqa: E402

assert argument in bpy.context.preferences.addons, f"{argument} is not switched on"
skel = sys.modules[argument]
where = os.path.realpath(skel.__file__)
assert where.startswith(os.path.realpath(os.environ["BLENDER_USER_RESOURCES"])), where
binding = common.addon().binding
assert binding.skelpy.version().count(".") == 2
library = os.path.realpath(binding.skelpy.library.find())
if source == ["wheel"]:
    home = os.path.realpath(os.environ["BLENDER_USER_RESOURCES"])
    assert library.startswith(home) and "site-packages" in library, library
    assert common.addon().binding.skelpy.__name__ == "skelpy", common.addon().binding.skelpy
else:
    assert library.startswith(os.path.dirname(where)), library
common.chain(4)
bpy.context.scene.frame_end = 10
assert bpy.ops.skel.bake_physics() == {"FINISHED"}
preferences = bpy.context.preferences.addons[argument].preferences
assert type(preferences).__name__ == "SkelPreferences"
print(f"{argument}: installed, switched on, bakes with {library}")
