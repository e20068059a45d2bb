# SPDX-License-Identifier: BSD-3-Clause
"""The runner of the tests in Blender: without a Blender it skips, but fails where CI=true."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import zipfile

RUNNER = pathlib.Path(__file__).resolve().parents[1] / "blender" / "run.py"


class Runner(unittest.TestCase):
    def run_without_blender(self, **more):
        with tempfile.TemporaryDirectory() as folder:
            empty = os.path.join(folder, "addon.zip")
            zipfile.ZipFile(empty, "w").close()
            environment = {**os.environ, "SKEL_ZIP": empty, **more}
            return subprocess.run([sys.executable, str(RUNNER), "0.0", "test_bake"], timeout=1800,
                                  env=environment, capture_output=True, text=True)

    def test_a_missing_blender_is_skipped(self):
        done = self.run_without_blender(CI="")
        self.assertEqual(done.returncode, 77, done.stderr)

    def test_a_missing_blender_fails_in_ci(self):
        done = self.run_without_blender(CI="true")
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("CI=true", done.stdout)


if __name__ == "__main__":
    unittest.main()
