# SPDX-License-Identifier: BSD-3-Clause
"""The manual page names the same commands and options as the program's own help."""

import re
import shutil
import subprocess
import unittest

import common

PAGE = common.ROOT / "plugin_bridge" / "skel.1"
OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*|-o)\b")


def ask(*words):
    return subprocess.run([common.BIN, *words], capture_output=True, text=True, check=True).stdout


def sections(text, head):
    """{command: its part of the text}; a part begins with a line that matches `head`."""
    found = {}
    name = None
    for line in text.splitlines():
        match = re.match(head, line)
        if match:
            name = match[1]
        if name:
            found[name] = found.get(name, "") + line + "\n"
    return found


def options_of_help():
    """{command: options} of `skel --help` and of `skel help COMMAND` together."""
    usage = ask("--help").split("\nSCENE is")[0]
    parts = sections(usage, r"  skel (dh \w+|\w+)\b")
    parts.pop("help")
    found = {name: set(OPTION.findall(text)) for name, text in parts.items()}
    for word in {name.split()[0] for name in found}:
        for name, text in sections(ask("help", word), r"skel (dh \w+|\w+)\b").items():
            found[name] |= set(OPTION.findall(text))
    return found


def options_of_page():
    parts = sections(PAGE.read_text(encoding="utf-8").split(".Sh ENVIRONMENT")[0],
                     r"\.Ss skel (dh \w+|\w+)\b")
    return {name: {"-" + word for word in re.findall(r"(?m)^\.It Fl (-[a-z-]+|o)\b", text)}
            for name, text in parts.items()}


class Manual(unittest.TestCase):
    def test_commands_and_options(self):
        self.maxDiff = None
        self.assertEqual(options_of_page(), options_of_help())

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_has_no_complaint(self):
        done = subprocess.run(["mandoc", "-T", "lint", str(PAGE)],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.stdout, "")


if __name__ == "__main__":
    unittest.main()
