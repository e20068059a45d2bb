# SPDX-License-Identifier: BSD-3-Clause
"""The first C block of README.md compiles without a warning against the built library, and runs."""
import os
import re
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ReadmeExample(unittest.TestCase):
    def test_compiles_and_runs(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            block = re.search(r"^```c\n(.*?)^```", file.read(), re.S | re.M)
        self.assertIsNotNone(block, "README.md has no C block")
        library = os.path.dirname(os.path.abspath(os.environ["SKEL_LIB"]))
        with tempfile.TemporaryDirectory() as folder:
            source, program = os.path.join(folder, "readme.c"), os.path.join(folder, "readme")
            with open(source, "w", encoding="utf-8") as file:
                file.write(block[1])
            self.run_or_fail(["cc", "-std=c11", "-Wall", "-Wextra", "-Werror", source,
                              "-I", os.path.join(ROOT, "libskel", "include"), "-o", program,
                              "-L", library, "-lskel", f"-Wl,-rpath,{library}", "-lm"])
            output = self.run_or_fail([program])
        self.assertTrue(output.strip(), "the example prints nothing")

    def run_or_fail(self, command):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
        self.assertEqual(done.returncode, 0, f"{command[0]}: {done.stdout}{done.stderr}")
        return done.stdout


if __name__ == "__main__":
    unittest.main()
