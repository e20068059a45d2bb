#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the sources that a script can check.

check_sources.py                         licence line, length of lines and functions, stray words,
                                         citations of documents that the repository lacks,
                                         comma statements, nested conditional expressions
check_sources.py --format CLANG_FORMAT   formatting of all C files
"""
import ast
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ["libskel", "plugin_bridge", "plugin_blender", "tests", "samples"]
TOP = {*FOLDERS, "CMakeLists.txt", "CMakePresets.json", "README.md", "CONTRIBUTING.md", "LICENSE",
       "CHANGELOG.md"}
IGNORED = re.compile(r"build(-.*)?$|out$|\..*")
MAX_FUNCTION = 70  # lines of code: blank lines and comments are free
MAX_LINE = 100
OPEN_WORK = re.compile(r"\b(TO" r"DO|FIX" r"ME)\b")
MACHINE = re.compile(r"(?<![\w.])/(work|root|home)/")
SOURCE = (".c", ".h", ".py", ".sh", ".map", "CMakeLists.txt", f"{os.sep}run")
TEXT = (*SOURCE, ".md", ".json", ".txt", ".1")


def paths():
    yield os.path.join(ROOT, "CMakeLists.txt")
    yield os.path.join(ROOT, "README.md")
    yield os.path.join(ROOT, "CHANGELOG.md")
    yield os.path.join(ROOT, "CONTRIBUTING.md")
    yield os.path.join(ROOT, ".ci", "run")
    for folder in FOLDERS:
        for directory, names, members in os.walk(os.path.join(ROOT, folder)):
            names[:] = sorted(name for name in names if name != "__pycache__")
            for member in sorted(members):
                yield os.path.join(directory, member)


def check_format(program):
    """One line per file that clang-format would change."""
    bad = []
    for path in paths():
        if path.endswith((".c", ".h")):
            done = subprocess.run([program, "--dry-run", "-Werror", "--style=file", path],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                lines = sorted({int(n) for n in re.findall(r":(\d+):\d+: error", done.stderr)})
                bad.append((os.path.relpath(path, ROOT), lines))
    for path, lines in bad:
        print(f"{path}:{lines[0] if lines else 1}: {len(lines)} lines: run {program} -i {path}")
    return 1 if bad else 0


def check_top():
    for name in sorted(os.listdir(ROOT)):
        if name not in TOP and not IGNORED.match(name):
            yield name, 1, "does not belong on the top level"


def licence_of(path):
    inside = os.path.relpath(path, ROOT).startswith("plugin_blender" + os.sep)
    return "GPL-3.0-or-later" if inside else "BSD-3-Clause"


def c_functions(lines):
    """(first, last) line of each function. Relies on the format: a head begins in column 0 and ends
    in `{`, a body ends in a line `}`."""
    candidate = head = None
    for number, line in enumerate(lines, 1):
        if line == "}" and head:
            yield head, number
        if line.startswith("}"):
            candidate = head = None
        elif re.match(r"[A-Za-z_]", line) and not line.startswith('extern "C"'):
            candidate, head = number, None
        if line.endswith("{") and candidate and not head:
            head = candidate
        elif line.endswith((";", "}")) and not head:
            candidate = None


def python_functions(text):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.lineno, node.end_lineno


def code_lines(lines, is_c):
    """How many of the lines hold code: neither blank nor nothing but comment."""
    text = "\n".join(lines)
    if is_c:
        text = re.sub(r"/\*.*?\*/", lambda m: "\n" * m[0].count("\n"), text, flags=re.S)
        text = re.sub(r"(?m)^\s*//.*$", "", text)
    else:
        text = re.sub(r"(?m)^\s*#.*$", "", text)
    return sum(bool(line.strip()) for line in text.splitlines())


def check_source(path, text):
    lines = text.splitlines()
    wanted = f"SPDX-License-Identifier: {licence_of(path)}"
    if not any(wanted in line for line in lines[:3]):
        yield path, 1, f"lacks the line {wanted}"
    for number, line in enumerate(lines, 1):
        if len(line) > MAX_LINE:
            yield path, number, f"{len(line)} columns, limit {MAX_LINE}"
        if line != line.rstrip() or "\t" in line and path.endswith((".c", ".h", ".py")):
            yield path, number, "blanks at the end, or a tab"
        if OPEN_WORK.search(line):
            yield path, number, f"{OPEN_WORK.search(line)[0]}: do it or file an issue"
    functions = []
    if path.endswith((".c", ".h")):
        functions = c_functions(lines)
    elif path.endswith(".py"):
        functions = python_functions(text)
    for first, last in functions:
        length = code_lines(lines[first - 1:last], path.endswith((".c", ".h")))
        if length > MAX_FUNCTION:
            yield path, first, f"function of {length} lines of code, limit {MAX_FUNCTION}"


def check_files():
    for path in paths():
        if not path.endswith(TEXT) or not os.path.exists(path):
            continue
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if path.endswith(SOURCE):
            yield from check_source(path, text)
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE.search(line):
                yield path, number, "names a place on one machine"


# ---- citations: every document that a comment or a page names is in the repository --------------

ERRATA = os.path.join(ROOT, "libskel", "ERRATA.md")
SOURCES = os.path.join(ROOT, "libskel", "README.md")
LABEL = r"[EFHRS]\d+"
CITED = re.compile(rf"ERRATA\s+({LABEL}(?:(?:,|-|\s|to|and|{LABEL})*{LABEL})?)")
BARE = re.compile(rf"(?:^|[\s(])\[{LABEL}(?:, {LABEL})*\]")   # an entry without the word ERRATA
KEY = re.compile(r"\[([A-Z]{3})(?: [^]\n]*)?\]")              # [RUD 4.2]
PAGE = re.compile(r"[\w/.-]*\b\w+\.md\b")
ABSENT = re.compile(r"\b(DESIGN|STYLE)\s+\d")                # pages of the planning, not ours


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def labels(cited):
    """The entries of one citation: "R4, R5" names two, "H5-H7" and "E2 to E13" name a range."""
    cited = re.sub(r"\s+", " ", cited)
    for first, last in re.findall(rf"({LABEL})(?: ?(?:-|to) ?({LABEL}))?", cited):
        numbers = range(int(first[1:]), int((last or first)[1:]) + 1)
        yield from (f"{first[0]}{number}" for number in numbers)


def page_exists(path, name):
    """Relative to the page that cites it, or to the top."""
    folders = (os.path.dirname(path), ROOT)
    return any(os.path.exists(os.path.join(folder, name)) for folder in folders)


def comments(path, text):
    """C code outside of comments is blanked: `a[ERL]` would look like a citation."""
    if not path.endswith((".c", ".h")):
        return text
    kept = [" " if char != "\n" else char for char in text]
    for match in re.finditer(r"/\*.*?\*/|//[^\n]*", text, flags=re.S):
        kept[match.start():match.end()] = text[match.start():match.end()]
    return "".join(kept)


def check_citations():
    entries = set(re.findall(rf"(?m)^### ({LABEL})\.", read(ERRATA)))
    keys = set(re.findall(r"(?m)^- \[([A-Z]{3})\] ", read(SOURCES)))
    for path in paths():
        if not path.endswith((".c", ".h", ".py", ".md", "CMakeLists.txt")):
            continue
        if path == os.path.abspath(__file__) or not os.path.exists(path):
            continue
        text = comments(path, read(path))

        def problem(match, what, text=text, path=path):
            return path, text.count("\n", 0, match.start()) + 1, what

        for match in CITED.finditer(text):
            for label in labels(match[1]):
                if label not in entries:
                    yield problem(match, f"cites ERRATA {label}, which libskel/ERRATA.md lacks")
        if path.endswith((".c", ".h")):
            for match in BARE.finditer(text):
                yield problem(match, f"cites {match[0].strip()} without the word ERRATA")
            for match in KEY.finditer(text):
                if match[1] not in keys:
                    yield problem(match, f"cites [{match[1]}], which libskel/README.md lacks")
        for match in ABSENT.finditer(text):
            yield problem(match, f"cites {match[1]}, which the repository lacks")
        for match in PAGE.finditer(text):
            if not page_exists(path, match[0]):
                yield problem(match, f"cites {match[0]}, which the repository lacks")


# ---- macros: a name has one value; constness is never cast away ---------------------------------

DEFINE = re.compile(r"^#define[ \t]+(\w+)(\([^)]*\))?[ \t]*((?:\\\n|[^\n])*)", re.M)
NO_CONST = re.compile(r"\(\w[\w ]*\*\)\s*\(uintptr_t\)")


def check_macros():
    """Macros of the engine, the bridge and the tests. A file that undefines a name may define it as
    it likes: the name does not outlive its use."""
    values = {}
    for path in paths():
        folder = os.path.relpath(path, ROOT).split(os.sep)[0]
        inside = folder in ("libskel", "plugin_bridge", "tests")
        if not inside or not path.endswith((".c", ".h")):
            continue
        text = read(path)
        for match in NO_CONST.finditer(text):
            yield path, text.count("\n", 0, match.start()) + 1, "casts const away"
        for match in DEFINE.finditer(text):
            name, value = match[1], re.sub(r"\s+|\\\n|/\*.*?\*/", "", match[3])
            if re.search(rf"^#undef[ \t]+{name}\b", text, re.M):
                continue
            known = values.setdefault(name, (path, value))
            if known[1] != value and known[0] != path:      # a file may choose by #if
                yield path, text.count("\n", 0, match.start()) + 1, \
                    f"{name} has another value in {os.path.relpath(known[0], ROOT)}"


# ---- statements: one on a line, and no conditional expression in another one --------------------

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'
                   r"|'(?:\\.|[^'\\\n])*'|^[ \t]*#(?:\\\n|[^\n])*", re.S | re.M)
CONTROL = re.compile(r"\s*(?:if|for|while|switch|else|do)\b")
PREFIX = re.compile(r"(?:(?:if|while|for|switch)\s*\(\)|else\b|do\b|case [^:]*:|\w+:)\s*")
DECLARATION = re.compile(r"(?!return\b|goto\b)(?:\w+[\s*]+)+\w+\s*(?:$|[\[=,(:])")


def without_text(text):
    """C without comments, literals and directives; the lines stay."""
    return TOKEN.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


def statements(text):
    """(line, statement) of C; what stands in brackets is left out."""
    line, start, found, depth, in_function = 1, 1, "", 0, 0
    for char in text:
        line += char == "\n"
        if depth > 0:
            depth += (char in "([{") - (char in ")]}")
            found += char if depth == 0 else ""
            continue
        head = found.strip()
        is_value = head.endswith(("=", ",", "&", "return")) or \
            head.endswith(")") and in_function > 0 and not CONTROL.match(head)
        if char in "([" or char == "{" and is_value:
            depth, found = 1, found + char
        elif char in "{};":
            in_function += (char == "{") - (char == "}")
            if char == ";":
                yield start, head
            found = ""
        else:
            start = start if head else line
            found += char


def nested_conditionals(text):
    """Lines of C with a conditional expression in an operand of another one."""
    line, level = 1, [0]        # per bracket: conditional expressions that it stands in
    outer = [0]                 # the same at its opening
    for char in text:
        line += char == "\n"
        if char in "([":
            outer.append(level[-1])
            level.append(level[-1])
        elif char == "{":
            outer.append(0)
            level.append(0)
        elif char in ")]}" and len(level) > 1:
            level.pop()
            outer.pop()
        elif char in ",;":
            level[-1] = outer[-1]
        elif char == "?":
            if level[-1] > 0:
                yield line
            level[-1] += 1


def check_statements():
    """C of the library and the bridge; all Python."""
    for path in paths():
        folder = os.path.relpath(path, ROOT).split(os.sep)[0]
        if path.endswith(".py"):
            for node in ast.walk(ast.parse(read(path))):
                inner = list(ast.walk(node))[1:] if isinstance(node, ast.IfExp) else []
                if any(isinstance(each, ast.IfExp) for each in inner):
                    yield path, node.lineno, "a conditional expression in another one"
        if folder not in ("libskel", "plugin_bridge") or not path.endswith((".c", ".h")):
            continue
        text = without_text(read(path))
        for number in nested_conditionals(text):
            yield path, number, "a conditional expression in another one"
        for number, statement in statements(text):
            while PREFIX.match(statement):
                statement = PREFIX.sub("", statement, count=1)
            if "," in statement and not DECLARATION.match(statement):
                yield path, number, "a comma between statements"


def main():
    if sys.argv[1:2] == ["--format"]:
        return check_format(sys.argv[2])
    problems = [*check_top(), *check_files(), *check_citations(), *check_macros(),
                *check_statements()]
    for path, number, problem in problems:
        print(f"{os.path.relpath(path, ROOT) if os.path.isabs(path) else path}:{number}: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
