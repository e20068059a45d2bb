# SPDX-License-Identifier: BSD-3-Clause
"""skelpy/_ffi.py: it is what the headers give, and the generator refuses what it does not know."""

import ctypes as C
import pathlib
import subprocess
import sys
import tempfile
import unittest

import common
import generate_ffi
from skelpy import _ffi, _structs, library

GENERATOR = common.ROOT / "plugin_bridge" / "generate_ffi.py"

ODD_HEADER = '''\
/* SPDX */ /** A comment
    over *two* lines, with "quotes", a don't and // another comment. */
#ifndef SKEL_H
#define SKEL_H
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
#if(defined(__GNUC__) && !defined(SKEL_H))
#error "not read"
#elif defined(SKEL_H)
#define SKEL_API
#else
#define SKEL_API this is not read
#endif
# define  SKEL_COUNT (1 << 2) /* a constant */
#define SKEL_NAME "a /* text */"
#define SKEL_RATE 0.5f
#define skel_point_init(p) skel_point_init_sized((p), \\
                                                 sizeof *(p))
#define SKEL_LIST(X) X(SKEL_A, 7) \\
    X(SKEL_B, -2)
#define SKEL_EACH(name, value) name = value, /**< is removed below */
enum skel_letters { SKEL_LIST(SKEL_EACH) SKEL_FREE, SKEL_D = SKEL_A | 0x10u, };
#undef SKEL_EACH
typedef int32_t skel_status; // a comment of C++
typedef void (*skel_call)(void *user, const char *, double values[3]);
typedef struct skel_hidden skel_hidden;
struct skel_later;
typedef struct skel_point_tag {
    double   x, y;      /**< [m] the
                             position */
    float    matrix[SKEL_COUNT][3]; /**< rows { } ; of */
    char     name[2 * SKEL_COUNT];
    uint32_t count;
} skel_point;
_Static_assert(sizeof(skel_point) > 4, "a size; with (signs)");
typedef struct skel_node {
    const struct skel_node  *next, *other[2];
    const struct skel_later *later;
    skel_point               here, path[3];
    struct { int32_t low; struct skel_limit_part { double high; } high[2]; } limits;
    skel_call                call;
    void *(*alloc)(size_t size, void *user);
    const char *const       *names;
    skel_hidden             *hidden;
    char                    *text;
} skel_node;
typedef struct skel_later { skel_node *nodes; int32_t from; } skel_later;
typedef struct { uint32_t struct_size; } skel_plain;
SKEL_API const char *skel_name(void);
SKEL_API void skel_point_init_sized(skel_point *point, size_t size);
SKEL_API skel_status skel_walk(const skel_node *nodes, skel_hidden **out, const double from[],
                               double to[static 7], double rows[2][3], skel_call call,
                               const void *data,
                               int32_t /* no name */);
SKEL_API const skel_later *skel_find(struct skel_hidden *hidden, char *text);
#ifdef __cplusplus
}
#endif
#endif /* SKEL_H */
'''

REFUSED = (  # (declaration in the third line, message)
    ("typedef enum { SKEL_A } skel_a;", "unknown type 'enum'"),
    ("typedef struct skel_a { long x; } skel_a;", "unknown type 'long'"),
    ("typedef struct skel_a { union { int32_t x; } u; } skel_a;", "unknown type 'union'"),
    ("typedef struct skel_a { uint32_t x : 3; } skel_a;", "expected ';'"),
    ("typedef struct skel_a { struct { double x; }; } skel_a;", "without a name"),
    ("typedef struct skel_a { double x; double x; } skel_a;", "two members x"),
    ("typedef struct skel_a { double x[SKEL_N]; } skel_a;", "constant integer expression"),
    ("typedef struct skel_a { struct skel_b b; } skel_a;", "skel_b is opaque"),
    ("SKEL_API void skel_f(const char *format, ...);", "unknown type '...'"),
    ("SKEL_API void skel_f(bool is);", "unknown type 'bool'"),
    ("typedef struct skel_a { double x; } skel_a; SKEL_API void skel_f(skel_a a);", "by value"),
    ("SKEL_API void skel_f(void); SKEL_API void skel_f(void);", "declared a second time"),
    ("#endif", "#endif without #if"),
    ("void skel_f(void);", "exported functions begin with SKEL_API"),
    ("static inline int32_t skel_f(void) { return 1; }", "unknown declaration"),
    ("SKEL_API void skel_f(void) { }", "expected ';'"),
    ("SKEL_API void skel_f(void)", "not finished"),
    ("#pragma once", "unknown directive #pragma"),
    ("#if SKEL_N > 3\n#endif", "unknown condition"),
    ("#ifdef SKEL_N", "no #endif"),
    ("#define SKEL_N some words", "SKEL_N is no constant"),
    ("enum { SKEL_A = 'x' };", "unknown character"),
    ("enum { SKEL_A = 1 }; enum { SKEL_A = 1 };", "A is in _ffi.py already"),
    ("/* no end", "no end"),
    ("@", "unknown character '@'"),
)


def generated(text):
    """The module of one header."""
    with tempfile.TemporaryDirectory() as folder:
        pathlib.Path(folder, "skel.h").write_text(text)
        interface = generate_ffi.read_headers(pathlib.Path(folder))
        source = generate_ffi.PythonWriter(interface).text()
    names = {"__name__": "generated"}
    exec(compile(source, "generated", "exec"), names)
    return interface, names


def numbers_of(lines):
    """{(kind, name): numbers} of the lines that skel_offsets prints."""
    rows = (line.split() for line in lines)
    return {(kind, name): tuple(map(float, numbers)) for kind, name, *numbers in rows}


def layout_of(structs, struct, name, start=0, prefix=""):
    """What ctypes has for a struct, as numbers_of; with the fields of structs without a name."""
    found = {} if prefix else {("struct", name): (C.sizeof(struct),)}
    for member, kind, *_ in struct._fields_:
        place = getattr(struct, member)
        found["field", f"{name}.{prefix}{member}"] = (start + place.offset, place.size)
        if issubclass(kind, C.Structure) and kind not in structs:
            found.update(layout_of(structs, kind, name, start + place.offset,
                                   f"{prefix}{member}."))
    return found


def layouts(table):
    """layout_of all structs of a table STRUCTS."""
    found = {}
    for name, struct in table.items():
        found.update(layout_of(table.values(), struct, name))
    return found


class Generator(unittest.TestCase):
    def test_the_file_is_what_the_headers_give(self):
        done = subprocess.run([sys.executable, str(GENERATOR), "--check"], capture_output=True,
                              text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_changed_file_is_noticed(self):
        with tempfile.TemporaryDirectory() as folder:
            changed = pathlib.Path(folder, "_ffi.py")
            changed.write_text(generate_ffi.OUTPUT.read_text() + "\n")
            done = subprocess.run([sys.executable, str(GENERATOR), "--check", "--output",
                                   str(changed)], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 1)
        self.assertIn("run plugin_bridge/generate_ffi.py", done.stderr)

    def test_constants(self):
        _, names = generated(ODD_HEADER)
        for name, value in {"COUNT": 4, "NAME": "a /* text */", "RATE": 0.5, "A": 7, "B": -2,
                            "FREE": -1, "D": 23}.items():
            self.assertEqual(names[name], value, name)

    def test_structs(self):
        _, names = generated(ODD_HEADER)
        node, point, later = (names[name] for name in ("Node", "Point", "Later"))
        self.assertEqual([name for name, _ in node._fields_],
                         ["next", "other", "later", "here", "path", "limits", "call", "alloc",
                          "names", "hidden", "text"])
        fields = dict(node._fields_)
        self.assertIs(fields["next"], C.POINTER(node))
        self.assertIs(fields["other"], C.POINTER(node) * 2)
        self.assertIs(fields["later"], C.POINTER(later))
        self.assertIs(fields["path"], point * 3)
        self.assertIs(fields["limits"], names["NodeLimits"])
        self.assertIs(dict(fields["limits"]._fields_)["high"], names["LimitPart"] * 2)
        self.assertIs(fields["names"], C.POINTER(C.c_char_p))
        self.assertIs(fields["hidden"], C.c_void_p)
        self.assertIs(fields["text"], C.POINTER(C.c_char))
        self.assertEqual(fields["call"]._argtypes_, (C.c_void_p, C.c_char_p, C.POINTER(C.c_double)))
        self.assertEqual(fields["alloc"]._restype_, C.c_void_p)
        self.assertIs(dict(point._fields_)["matrix"], C.c_float * 3 * 4)
        self.assertEqual(names["STRUCTS"]["skel_plain"], names["Plain"])
        self.assertNotIn("skel_hidden", names["STRUCTS"])

    def test_functions(self):
        _, names = generated(ODD_HEADER)
        doubles = C.POINTER(C.c_double)
        self.assertEqual(names["FUNCTIONS"]["skel_name"], (C.c_char_p,))
        walk = names["FUNCTIONS"]["skel_walk"]
        self.assertEqual(walk[:6], (C.c_int32, C.POINTER(names["Node"]), C.POINTER(C.c_void_p),
                                    doubles, doubles, C.POINTER(C.c_double * 3)))
        self.assertEqual(walk[7:], (C.c_void_p, C.c_int32))
        self.assertEqual(names["FUNCTIONS"]["skel_find"],
                         (C.POINTER(names["Later"]), C.c_void_p, C.POINTER(C.c_char)))

    def test_the_compiler_agrees(self):
        interface, names = generated(ODD_HEADER)
        with tempfile.TemporaryDirectory() as folder:
            header, source = pathlib.Path(folder, "skel", "skel.h"), pathlib.Path(folder, "one.c")
            header.parent.mkdir()
            header.write_text(ODD_HEADER)
            source.write_text(generate_ffi.offsets_program(interface))
            program = pathlib.Path(folder, "one")
            subprocess.run(["cc", "-std=c11", "-I", folder, str(source), "-o", str(program)],
                           check=True, timeout=600)
            done = subprocess.run([str(program)], capture_output=True, text=True, check=True,
                                  timeout=600)
        compiled = numbers_of(done.stdout.splitlines())
        self.assertEqual(compiled["constant", "SKEL_D"], (23,))
        self.assertIn(("field", "skel_node.limits.high"), compiled)
        compiled = {key: numbers for key, numbers in compiled.items() if key[0] != "constant"}
        self.assertEqual(layouts(names["STRUCTS"]), compiled)

    def test_what_it_does_not_know_is_an_error_with_its_place(self):
        for text, message in REFUSED:
            with self.subTest(text), self.assertRaises(generate_ffi.HeaderError) as caught:
                generated(f"#define SKEL_API\n\n{text}\n")
            self.assertRegex(str(caught.exception), r"skel\.h:\d+: ")
            self.assertIn(message, str(caught.exception))


class Layout(unittest.TestCase):
    """The interface as the compiler sees it, as ctypes has it, and as it was (tests/abi.txt)."""

    @classmethod
    def setUpClass(cls):
        done = subprocess.run([common.OFFSETS], capture_output=True, text=True, check=True,
                              timeout=600)
        cls.compiled = numbers_of(done.stdout.splitlines())
        cls.pinned = numbers_of((common.ROOT / "tests" / "abi.txt").read_text().splitlines())

    def test_ctypes_has_the_compilers_layout(self):
        compiled = {key: numbers for key, numbers in self.compiled.items() if key[0] != "constant"}
        self.assertEqual(layouts(_ffi.STRUCTS), compiled)

    def test_ctypes_has_the_compilers_constants(self):
        constants = {name: value for (kind, name), (value, *_) in self.compiled.items()
                     if kind == "constant"}
        self.assertGreater(len(constants), 70)
        for name, value in constants.items():
            self.assertEqual(getattr(_ffi, name.removeprefix("SKEL_")), value, name)

    def test_structs_have_no_tail_padding(self):
        """A field that is added at the end must not lie in bytes that an old caller left unset."""
        for name, struct in _ffi.STRUCTS.items():
            last = getattr(struct, struct._fields_[-1][0])
            self.assertEqual(last.offset + last.size, C.sizeof(struct), name)

    def test_the_interface_only_grows(self):
        """Constants and fields stay, structs do not shrink. Versions are free to change."""
        if C.sizeof(C.c_void_p) != 8:
            self.skipTest("tests/abi.txt holds the offsets of 64-bit pointers")
        for (kind, name), numbers in self.pinned.items():
            if "_VERSION" in name:
                continue
            self.assertIn((kind, name), self.compiled)
            now = self.compiled[kind, name]
            if kind == "struct":
                self.assertGreaterEqual(now, numbers, name)
            else:
                self.assertEqual(now, numbers, name)

    def test_the_whole_interface_is_pinned(self):
        missing = [f"{kind} {name}" for kind, name in self.compiled
                   if (kind, name) not in self.pinned]
        self.assertEqual(missing, [], "run build/tests/skel_offsets > tests/abi.txt")


class Mirror(unittest.TestCase):
    """_ffi.py beside the library."""

    def test_every_exported_name_has_a_signature(self):
        names = (common.ROOT / "tests" / "exports.txt").read_text().split()
        self.assertEqual(sorted(_ffi.FUNCTIONS), sorted(names))

    def test_inits_accept_our_sizes_and_stay_inside(self):
        lib = library.load()
        for name, struct in _ffi.STRUCTS.items():
            init = getattr(lib, f"{name}_init_sized", None)
            if init is None:
                continue
            memory = (C.c_ubyte * (C.sizeof(struct) + 64))(*[0xAA] * (C.sizeof(struct) + 64))
            init(C.cast(memory, C.POINTER(struct)), C.sizeof(struct))
            self.assertEqual(struct.from_buffer(memory).struct_size, C.sizeof(struct), name)
            self.assertEqual(bytes(memory[C.sizeof(struct):]), b"\xaa" * 64, name)

    def test_structs_begin_with_the_defaults_of_the_library(self):
        lib = library.load()
        for name, kind in _ffi.STRUCTS.items():
            if f"{name}_init_sized" in _ffi.FUNCTIONS:
                wanted = kind()
                getattr(lib, f"{name}_init_sized")(C.byref(wanted), C.sizeof(wanted))
                self.assertEqual(bytes(_structs.make(lib, kind)), bytes(wanted), name)
        desc = _structs.make(lib, _ffi.FlightDesc, sample_rate=30.0, tolerance=None)
        self.assertEqual((desc.sample_rate, desc.tolerance), (30.0, 1e-10))

    def test_a_library_that_is_not_there(self):
        with self.assertRaises(OSError):
            library.load("/nowhere/libskel.so")


if __name__ == "__main__":
    unittest.main()
