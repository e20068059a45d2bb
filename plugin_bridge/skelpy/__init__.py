# SPDX-License-Identifier: BSD-3-Clause
"""skelpy: libskel for Python. It needs the standard library only; all arithmetic is done in C.

    import skelpy
    scene = skelpy.Scene.from_file("samples/double_pendulum.json")
    bake = skelpy.Bake(scene).run()
    print(bake.pose(-1, "lower"), bake.summary["energy_drift"])

A pose has 7 numbers (x y z of the centre of mass, quaternion w x y z, body to world), a velocity 6
(v in the world, omega in body axes). SI units, radians.

skelpy.scene holds documents as dataclasses, skelpy.rig the keys of animated bones, skelpy.fit turns
a weighted skin into bodies. Modules that begin with an underscore are private; their public names
are here.
"""

from . import library
from ._bake import Bake, bake
from ._flight import Flight, flight
from ._handles import SkelError
from ._inverse import Inverse, inverse
from ._joint_kinds import JointKind, joint_kinds
from ._parsed_scene import Scene, check
from ._state import State, accelerations, fk
from ._values import DocumentValues
from .ik import Ik, IkMotion, jacobian
from .library import ignore_environment, use_library, version

__all__ = ["Bake", "DocumentValues", "Flight", "Ik", "IkMotion", "Inverse", "JointKind", "Scene",
           "SkelError", "State", "accelerations", "bake", "check", "fk", "flight",
           "ignore_environment", "inverse", "jacobian", "joint_kinds", "library", "use_library",
           "version"]
