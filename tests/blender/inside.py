# SPDX-License-Identifier: BSD-3-Clause
"""Runs tests of this folder inside Blender: inside.py -- NAME ...; exit code 0: all pass."""

import os
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
names = sys.argv[sys.argv.index("--") + 1:] if "--" in sys.argv else []

import bpy  # noqa: E402

print("Blender", bpy.app.version_string, "Python", sys.version.split()[0])
suite = unittest.defaultTestLoader.loadTestsFromNames(names)
result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
sys.exit(0 if result.wasSuccessful() and result.testsRun else 1)
