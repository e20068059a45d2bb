#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes skelpy/_ffi.py from the public C headers. Run it after every change of a header.

generate_ffi.py                   write plugin_bridge/skelpy/_ffi.py
generate_ffi.py --check           fail if that file is not the one that the headers give
generate_ffi.py --offsets FILE    write a C program that prints every size, offset and constant,
                                  and FILE.d, the headers that it depends on

Options: --headers FOLDER (default libskel/include/skel), --output FILE (instead of _ffi.py).

The parser knows the part of C that the headers use. Anything else is an error that names the file
and the line; no declaration is ever skipped.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import pathlib
import re
import sys
from dataclasses import dataclass, field
from typing import Iterable, Iterator, Optional, Union

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = ROOT / "libskel" / "include" / "skel"
OUTPUT = ROOT / "plugin_bridge" / "skelpy" / "_ffi.py"
TOP_HEADER = "skel.h"
EXPORT = "SKEL_API"             # marks an exported function; it is never expanded as a macro
LINE_LENGTH = 100

SCALARS = {"char": "C.c_char", "float": "C.c_float", "double": "C.c_double",
           "size_t": "C.c_size_t",
           "int8_t": "C.c_int8", "int16_t": "C.c_int16", "int32_t": "C.c_int32",
           "int64_t": "C.c_int64", "uint8_t": "C.c_uint8", "uint16_t": "C.c_uint16",
           "uint32_t": "C.c_uint32", "uint64_t": "C.c_uint64"}
QUALIFIERS = ("const", "volatile", "restrict")

COMMENT_OR_STRING = re.compile(r'/\*.*?\*/|/\*|//[^\n]*|"(?:\\.|[^"\\\n])*"', re.S)
TOKEN = re.compile(r'''\s*(?:
    (?P<name>[A-Za-z_]\w*)
  | (?P<number>(?:0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)[uUlLfF]*)
  | (?P<string>"(?:\\.|[^"\\])*")
  | (?P<mark>\.\.\.|<<|>>|\#\#|&&|\|\||[-{}()\[\];,.*=+/|&~!\#<>:?])
)''', re.X)


class HeaderError(Exception):
    """A header holds something that this program does not know."""


@dataclass(frozen=True)
class Token:
    """One token of C and the place where it was read."""

    text: str
    path: pathlib.Path
    line: int

    def error(self, problem: str) -> HeaderError:
        return HeaderError(f"{self.path}:{self.line}: {problem}")

    @property
    def is_name(self) -> bool:
        return self.text.isidentifier()


# ---- types ---------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Base:
    """A scalar, `void`, or a struct by its C name."""

    name: str
    is_const: bool = False


@dataclass(frozen=True)
class Pointer:
    to: "Type"


@dataclass(frozen=True)
class Array:
    of: "Type"
    count: int


@dataclass(frozen=True)
class Callback:
    """A pointer to a function."""

    result: "Type"
    arguments: tuple["Type", ...]


Type = Union[Base, Pointer, Array, Callback]


@dataclass(frozen=True)
class Member:
    name: str
    type: Type


@dataclass
class Struct:
    """members is None while the struct is opaque. c_name is the name of its type in C; a struct
    that is defined inside another one has none."""

    name: str
    header: str
    place: Token
    c_name: Optional[str] = None
    members: Optional[list[Member]] = None


@dataclass
class Function:
    name: str
    header: str
    place: Token
    result: Type
    arguments: list[Type]


@dataclass
class Constant:
    name: str
    header: str
    place: Token
    value: Union[int, float, str]


@dataclass
class Interface:
    """All that the headers declare, in the order of declaration. The key of a struct is its tag, or
    a number if it has no tag."""

    headers: list[str] = field(default_factory=list)
    constants: list[Constant] = field(default_factory=list)
    structs: dict[str, Struct] = field(default_factory=dict)
    functions: list[Function] = field(default_factory=list)

    @property
    def complete(self) -> list[Struct]:
        """The structs that are not opaque."""
        return [struct for struct in self.structs.values() if struct.members is not None]


# ---- preprocessor --------------------------------------------------------------------------------

@dataclass
class Macro:
    """parameters is None for a macro without parentheses."""

    place: Token
    parameters: Optional[list[str]]
    body: list[Token]


def tokens_of(text: str, path: pathlib.Path, line: int) -> list[Token]:
    """The tokens of a line without comments."""
    found, at, text = [], 0, text.rstrip()
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            rest = text[at:].strip()
            raise Token("", path, line).error(f"unknown character {rest[0]!r}")
        found.append(Token(match[0].strip(), path, line))
        at = match.end()
    return found


def logical_lines(path: pathlib.Path) -> Iterator[tuple[int, str]]:
    """(line number, text) without comments; lines that end in a backslash are joined."""

    def blank(match: re.Match[str]) -> str:
        if match[0] == "/*":
            line = match.string.count("\n", 0, match.start()) + 1
            raise Token("", path, line).error("this comment has no end")
        is_string = match[0].startswith('"')
        return match[0] if is_string else " " + "\n" * match[0].count("\n")

    text = COMMENT_OR_STRING.sub(blank, path.read_text(encoding="utf-8"))
    joined, first = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        first = first or number
        joined += line[:-1] + " " if line.endswith("\\") else line
        if not line.endswith("\\"):
            yield first, joined
            joined, first = "", 0


class Preprocessor:
    """Reads headers, follows their includes and expands their macros into one list of tokens."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.macros: dict[str, Macro] = {}
        self.output: list[Token] = []
        self.read: list[pathlib.Path] = []          # in the order of their declarations
        self._begun: set[pathlib.Path] = set()
        self._pending: list[Token] = []
        self._branches: list[tuple[bool, bool]] = []  # (this branch is read, one was read before)

    def file(self, path: pathlib.Path) -> None:
        """Reads one header, once."""
        if path in self._begun:
            return
        self._begun.add(path)
        depth = len(self._branches)

        for number, line in logical_lines(path):
            if line.lstrip().startswith("#"):
                self._flush()
                self._directive(line.lstrip()[1:].strip(), Token("#", path, number))
            elif self._is_read():
                self._pending += tokens_of(line, path, number)
        self._flush()

        if len(self._branches) != depth:
            raise Token("", path, 1).error("an #if has no #endif")
        self.read.append(path)

    def _is_read(self) -> bool:
        return all(is_read for is_read, _ in self._branches)

    def _flush(self) -> None:
        """Expands what was read with the macros as they are now."""
        self.output += self.expand(self._pending)
        self._pending = []

    def _directive(self, line: str, place: Token) -> None:
        name = re.split(r"\W", line, maxsplit=1)[0]
        text = line[len(name):].strip()
        if name in ("if", "ifdef", "ifndef", "elif", "else", "endif"):
            self._conditional(name, tokens_of(text, place.path, place.line), place)
        elif not self._is_read() or not name:
            return
        elif name == "include":
            self._include(text, place)
        elif name == "define":
            self._define(text, place)
        elif name == "undef":
            self.macros.pop(text.strip(), None)
        else:
            raise place.error(f"unknown directive #{name}")

    def _conditional(self, name: str, rest: list[Token], place: Token) -> None:
        if name in ("if", "ifdef", "ifndef"):
            holds = self._is_read() and self._holds(name, rest, place)
            self._branches.append((holds, holds))
            return

        # The other directives end a branch; #elif and #else begin the next one.
        if not self._branches:
            raise place.error(f"#{name} without #if")
        _, was_read = self._branches.pop()
        if name == "elif":
            holds = self._is_read() and not was_read and self._holds("if", rest, place)
            self._branches.append((holds, was_read or holds))
        elif name == "else":
            self._branches.append((not was_read, True))

    def _holds(self, name: str, rest: list[Token], place: Token) -> bool:
        """Whether a condition holds. Macros of the compiler (__cplusplus) are not defined here."""
        if name != "if":
            return (rest[0].text in self.macros) == (name == "ifdef")

        # Only `defined`, !, && and || are known.
        text = " ".join(token.text for token in rest)
        text = re.sub(r"\bdefined (?:\( (\w+) \)|(\w+))",
                      lambda m: str(int((m[1] or m[2]) in self.macros)), text)
        if re.search(r"[^01()!&| ]", text):
            raise place.error(f"unknown condition #if {text}")
        text = text.replace("&&", " and ").replace("||", " or ").replace("!", " not ")
        return bool(eval(text.strip(), {"__builtins__": {}}))

    def _include(self, text: str, place: Token) -> None:
        match = re.fullmatch(r'[<"]([^>"]+)[>"]', text.strip())
        if match is None:
            raise place.error(f"unknown form of #include: {text}")
        if match[1].startswith("skel/"):
            self.file(self.folder / match[1].split("/")[-1])

    def _define(self, text: str, place: Token) -> None:
        # "f(x) .." has parameters, "c (x)" has none: the blank decides.
        match = re.match(r"\s*(\w+)(?:\(([\w\s,]*)\))?(.*)", text)
        if match is None:
            raise place.error(f"unknown form of #define: {text}")
        name, listed, body = match.groups()
        parameters = None if listed is None else [word.strip() for word in listed.split(",")]
        self.macros[name] = Macro(place, parameters, tokens_of(body, place.path, place.line))

    def expand(self, tokens: list[Token], hidden: frozenset[str] = frozenset()) -> list[Token]:
        """The tokens with all macros replaced, but for those in `hidden`."""
        out: list[Token] = []
        at = 0
        while at < len(tokens):
            token = tokens[at]
            macro = self.macros.get(token.text)
            at += 1
            if macro is None or token.text in hidden or token.text == EXPORT:
                out.append(token)
                continue

            # A macro with parameters is a plain name if no parenthesis follows.
            values: list[list[Token]] = []
            if macro.parameters is not None:
                if at == len(tokens) or tokens[at].text != "(":
                    out.append(token)
                    continue
                values, at = macro_arguments(tokens, at)
                if len(values) != len(macro.parameters):
                    raise token.error(f"{token.text} has {len(macro.parameters)} parameters, "
                                      f"but {len(values)} are given")

            # The body takes the place of the call in messages, too.
            bound = dict(zip(macro.parameters or [], values))
            body: list[Token] = []
            for part in macro.body:
                if part.text in ("#", "##"):
                    raise part.error(f"the operator {part.text} of macros is not supported")
                given = bound.get(part.text, [part])
                body += [dataclasses.replace(t, path=token.path, line=token.line) for t in given]
            out += self.expand(body, hidden | {token.text})
        return out


def macro_arguments(tokens: list[Token], at: int) -> tuple[list[list[Token]], int]:
    """The arguments between the parentheses that open at `at`, and the place after them."""
    opening, depth = tokens[at], 0
    values: list[list[Token]] = [[]]
    for index in range(at, len(tokens)):
        text = tokens[index].text
        depth += (text == "(") - (text == ")")
        if depth == 0:
            return values, index + 1
        if text == "," and depth == 1:
            values.append([])
        elif index > at:
            values[-1].append(tokens[index])
    raise opening.error("this parenthesis is not closed")


# ---- parser --------------------------------------------------------------------------------------

def number_of(text: str) -> Union[int, float]:
    """The value of a number of C, which may have a suffix."""
    if text[:2] in ("0x", "0X"):
        return int(text.rstrip("uUlL"), 16)
    if re.fullmatch(r"\d+[uUlL]*", text):
        digits = text.rstrip("uUlL")
        return int(digits, 8 if digits.startswith("0") and digits != "0" else 10)
    return float(text.rstrip("fFlL"))


class Parser:
    """Recursive descent over the tokens of all headers."""

    def __init__(self, tokens: list[Token]) -> None:
        self.tokens = tokens
        self.at = 0
        self.interface = Interface()
        self.aliases: dict[str, Type] = {}
        self.enumerators: dict[str, int] = {}

    # Tokens.

    @property
    def token(self) -> Token:
        if self.at == len(self.tokens):
            raise self.tokens[-1].error("a declaration is not finished at the end of the file")
        return self.tokens[self.at]

    def next(self) -> Token:
        token = self.token
        self.at += 1
        return token

    def accept(self, text: str) -> bool:
        if self.token.text != text:
            return False
        self.at += 1
        return True

    def expect(self, text: str) -> None:
        if not self.accept(text):
            raise self.token.error(f"found {self.token.text!r}, expected {text!r}")

    def name(self) -> Token:
        if not self.token.is_name:
            raise self.token.error(f"found {self.token.text!r}, expected a name")
        return self.next()

    # Declarations.

    def parse(self) -> Interface:
        while self.at < len(self.tokens):
            token = self.token
            if self.accept("typedef"):
                self.typedef()
            elif self.accept("enum"):
                self.enum()
                self.expect(";")
            elif token.text == "struct":
                self.specifier()
                self.expect(";")
            elif self.accept(EXPORT):
                self.function()
            elif self.accept("_Static_assert"):
                _, self.at = macro_arguments(self.tokens, self.at)
                self.expect(";")
            else:
                raise token.error(f"unknown declaration that begins with {token.text!r}"
                                  f" (exported functions begin with {EXPORT})")
        return self.interface

    def enum(self) -> None:
        if self.token.text != "{":
            self.name()
        self.expect("{")
        value = -1
        while not self.accept("}"):
            token = self.name()
            value = self.integer(",", "}") if self.accept("=") else value + 1
            self.enumerators[token.text] = value
            self.interface.constants.append(Constant(token.text, token.path.name, token, value))
            if self.token.text != "}":
                self.expect(",")

    def integer(self, *ends: str) -> int:
        """A constant integer expression up to one of the tokens `ends`, which is left."""
        first, part, depth = self.token, [], 0
        while depth > 0 or self.token.text not in ends:
            token = self.next()
            depth += (token.text == "(") - (token.text == ")")
            part.append(token)
        value = constant_value(part, self.enumerators)
        if not isinstance(value, int):
            raise first.error("expected a constant integer expression")
        return value

    def typedef(self) -> None:
        first = self.token
        base = self.specifier()
        name, type_ = self.declarator(base, first)
        self.expect(";")
        if self.aliases.get(name, type_) != type_:
            raise first.error(f"{name} is defined a second time")
        self.aliases[name] = type_

        # `typedef struct x {..} x;` gives the struct its name.
        struct = self.interface.structs.get(getattr(type_, "name", ""))
        if struct is not None and (struct.c_name or "struct").startswith("struct"):
            struct.name = struct.c_name = name

    def specifier(self) -> Type:
        """The part of a declaration before its declarators."""
        is_const = self.qualifiers()
        token = self.next()
        if token.text == "struct":
            found: Type = self.struct()
        elif token.text in SCALARS or token.text == "void":
            found = Base(token.text)
        elif token.text in self.aliases:
            found = self.aliases[token.text]
        else:
            raise token.error(f"unknown type {token.text!r}; types of the interface have a fixed"
                              " width or are structs of these headers")
        is_const = self.qualifiers() or is_const
        if is_const and isinstance(found, Base):
            return dataclasses.replace(found, is_const=True)
        return found

    def qualifiers(self) -> bool:
        """Reads qualifiers; whether const is among them."""
        is_const = False
        while self.token.text in QUALIFIERS:
            is_const = self.next().text == "const" or is_const
        return is_const

    def struct(self) -> Base:
        """Behind the word `struct`: a tag, a body, or both."""
        structs, place = self.interface.structs, self.token
        key = self.next().text if place.is_name else str(len(structs))
        if key not in structs:
            c_name = f"struct {key}" if place.is_name else None
            structs[key] = Struct(key, place.path.name, place, c_name)
        if self.token.text == "{":
            if structs[key].members is not None:
                raise place.error(f"struct {key} is defined a second time")
            members = self.members(key)

            # The order of the dictionary is that of the definitions: a value comes after its type.
            struct = structs.pop(key)
            struct.members, struct.place, struct.header = members, place, place.path.name
            structs[key] = struct
        return Base(key)

    def members(self, owner: str) -> list[Member]:
        self.expect("{")
        found: list[Member] = []
        while not self.accept("}"):
            first = self.token
            base = self.specifier()
            if self.token.text == ";":
                raise first.error("a member without a name is not supported")
            while True:
                name, type_ = self.declarator(base, first)
                if name in (member.name for member in found):
                    raise first.error(f"{owner} has two members {name}")
                self.name_part(base, owner, name, first)
                found.append(Member(name, type_))
                if not self.accept(","):
                    break
            self.expect(";")
        if not found:
            raise self.token.error(f"struct {owner} has no members")
        return found

    def name_part(self, base: Type, owner: str, member: str, place: Token) -> None:
        """A struct without a name is called after the struct and the member that it belongs to."""
        struct = self.interface.structs.get(getattr(base, "name", ""))
        if struct is not None and struct.name.isdigit():
            if owner.isdigit():
                raise place.error("give the struct around this one a tag")
            struct.name = f"{self.interface.structs[owner].name}_{member}"

    def declarator(self, base: Type, place: Token, is_parameter: bool = False) -> tuple[str, Type]:
        """(name, type): pointers, a name, dimensions; or a pointer to a function. The name of a
        parameter may be missing, and its array is a pointer."""
        type_ = base
        while self.accept("*"):
            type_ = Pointer(type_)
            self.qualifiers()
        if self.accept("("):
            self.expect("*")
            name = self.name().text
            self.expect(")")
            return name, Callback(type_, tuple(self.parameters()))

        has_name = self.token.is_name or not is_parameter
        name = self.name().text if has_name else ""
        counts = self.dimensions(is_parameter)
        if is_parameter and counts:
            del counts[0]
            for count in reversed(counts):
                type_ = Array(type_, count)
            return name, Pointer(type_)
        for count in reversed(counts):
            type_ = Array(type_, count)
        if type_ == Base("void") and not is_parameter:
            raise place.error(f"{name} is void")
        return name, type_

    def dimensions(self, is_parameter: bool) -> list[int]:
        """The numbers of [3][4]; of a parameter the first may be missing, and is not needed."""
        counts: list[int] = []
        while self.accept("["):
            place = self.token
            is_open = is_parameter and not counts
            if is_open:
                self.accept("static")
            counts.append(1 if is_open and self.token.text == "]" else self.integer("]"))
            if counts[-1] < 1:
                raise place.error(f"an array of {counts[-1]} elements")
            self.expect("]")
        return counts

    def parameters(self) -> list[Type]:
        self.expect("(")
        if self.token.text == "void" and self.tokens[self.at + 1].text == ")":
            self.at += 2
            return []
        found = []
        while True:
            first = self.token
            _, type_ = self.declarator(self.specifier(), first, is_parameter=True)
            self.refuse_value(type_, first)
            found.append(type_)
            if not self.accept(","):
                break
        self.expect(")")
        return found

    def function(self) -> None:
        place = self.token
        result = self.specifier()
        while self.accept("*"):
            result = Pointer(result)
            self.qualifiers()
        if result != Base("void"):
            self.refuse_value(result, place)
        name = self.name()
        arguments = self.parameters()
        self.expect(";")
        if any(other.name == name.text for other in self.interface.functions):
            raise name.error(f"{name.text} is declared a second time")
        self.interface.functions.append(
            Function(name.text, name.path.name, name, result, arguments))

    def refuse_value(self, type_: Type, place: Token) -> None:
        """Structs cross the interface by pointers only."""
        if isinstance(type_, Base) and type_.name not in SCALARS:
            raise place.error(f"{type_.name} is passed by value; pass a pointer")


def constant_value(tokens: list[Token], names: dict[str, int]) -> Union[int, float, str, None]:
    """The value of a constant expression; None if it is none."""
    if len(tokens) == 1 and tokens[0].text.startswith('"'):
        return ast.literal_eval(tokens[0].text)
    parts = []
    for token in tokens:
        if token.text in names:
            parts.append(repr(names[token.text]))
        elif re.match(r"\.?\d", token.text):
            parts.append(repr(number_of(token.text)))
        elif token.text in ("(", ")", "+", "-", "*", "|", "&", "~", "<<", ">>"):
            parts.append(token.text)
        else:
            return None
    try:
        return eval(" ".join(parts), {"__builtins__": {}})
    except (SyntaxError, TypeError):
        return None


def macro_constants(source: Preprocessor, parser: Parser) -> Iterator[Constant]:
    """The macros without parameters that have a value."""
    for name, macro in source.macros.items():
        if macro.parameters is not None or not macro.body or name == EXPORT:
            continue
        value = constant_value(source.expand(macro.body, frozenset({name})), parser.enumerators)
        if value is None:
            raise macro.place.error(f"{name} is no constant")
        yield Constant(name, macro.place.path.name, macro.place, value)


def read_headers(folder: pathlib.Path) -> Interface:
    """All headers of a folder: first those that skel.h includes, in its order, then the others."""
    source = Preprocessor(folder)
    if (folder / TOP_HEADER).exists():
        source.file(folder / TOP_HEADER)
    for path in sorted(folder.glob("*.h")):
        source.file(path)
    if not source.read:
        raise HeaderError(f"{folder}: has no headers")

    parser = Parser(source.output)
    interface = parser.parse()
    interface.headers = [path.name for path in source.read]
    interface.constants = [*macro_constants(source, parser), *interface.constants]
    order = {name: number for number, name in enumerate(interface.headers)}
    interface.constants.sort(key=lambda constant: order[constant.header])
    return interface


# ---- Python --------------------------------------------------------------------------------------

HEAD = '''\
# SPDX-License-Identifier: BSD-3-Clause
"""The public C interface of libskel for ctypes: constants, structs and functions.

plugin_bridge/generate_ffi.py writes this file from libskel/include/skel. Do not edit it.
"""

from __future__ import annotations

import ctypes as C
from typing import Any
'''


def class_name(c_name: str) -> str:
    """skel_bake_desc: BakeDesc."""
    return "".join(word.capitalize() for word in c_name.removeprefix("skel_").split("_"))


class PythonWriter:
    """Writes an interface as a module of ctypes."""

    def __init__(self, interface: Interface) -> None:
        self.interface = interface
        self.lines: list[str] = []
        self.names: dict[str, Token] = {}
        self.written: set[str] = set()              # structs whose class exists already

    def text(self) -> str:
        for header in self.interface.headers:
            self.constants(header)
            self.structs(header)
        self.tables()
        return HEAD + "\n".join(self.lines) + "\n"

    def claim(self, name: str, place: Token) -> str:
        """The name, which must be valid and new in the module."""
        if not name.isidentifier() or name in ("C", "Any", "STRUCTS", "FUNCTIONS"):
            raise place.error(f"{name!r} cannot be a name in _ffi.py")
        if name in self.names:
            first = self.names[name]
            raise place.error(f"{name} is in _ffi.py already, from {first.path}:{first.line}")
        self.names[name] = place
        return name

    def constants(self, header: str) -> None:
        found = [c for c in self.interface.constants if c.header == header]
        if found:
            self.lines += ["", "", f"# {header}"]
        for constant in found:
            name = self.claim(constant.name.removeprefix("SKEL_"), constant.place)
            self.lines.append(f"{name} = {constant.value!r}")

    def structs(self, header: str) -> None:
        for key, struct in self.interface.structs.items():
            if struct.header == header and struct.members is not None:
                self.struct(key, struct.members)

    def struct(self, key: str, members: list[Member]) -> None:
        struct = self.interface.structs[key]

        # A class must exist before a pointer to it. A class that is needed early gets its fields
        # later.
        for target in (name for member in members for name in pointed_structs(member.type)):
            if self.interface.structs[target].members is not None and target not in self.written:
                self.open_class(target)
        if key in self.written:
            self.lines += ["", "", f"{class_name(struct.name)}._fields_ = ["]
            indent = "    "
        else:
            self.open_class(key)
            self.lines += ["", "    _fields_ = ["]
            indent = "        "

        for member in members:
            value = self.python(member.type, struct.place)
            self.lines += wrapped(indent, f'("{member.name}", ', [value], "),")
        self.lines.append(f"{indent[4:]}]")

    def open_class(self, key: str) -> None:
        """The head of a class, which is also a complete class without fields."""
        struct = self.interface.structs[key]
        name = self.claim(class_name(struct.name), struct.place)
        self.written.add(key)
        what = struct.c_name or "A struct without a name"
        self.lines += ["", "", f"class {name}(C.Structure):",
                       f'    """{what} of {struct.header}."""']

    def tables(self) -> None:
        """STRUCTS and FUNCTIONS."""
        self.lines += ["", "", "STRUCTS: dict[str, type[C.Structure]] = {  # name in C: class"]
        for struct in self.interface.complete:
            if struct.c_name is not None:
                self.lines.append(f'    "{struct.name}": {class_name(struct.name)},')
        self.lines += ["}", "",
                       "FUNCTIONS: dict[str, tuple[Any, ...]] = {  # name: (result, *arguments)"]
        for header in self.interface.headers:
            found = [f for f in self.interface.functions if f.header == header]
            self.lines += [f"    # {header}"] if found else []
            for function in found:
                is_void = function.result == Base("void")
                parts = ["None" if is_void else self.python(function.result, function.place)]
                parts += [self.python(type_, function.place) for type_ in function.arguments]
                parts += [""] if len(parts) == 1 else []
                self.lines += wrapped("    ", f'"{function.name}": (', parts, "),")
        self.lines.append("}")

    def python(self, type_: Type, place: Token) -> str:
        """The type as an expression of ctypes."""
        if isinstance(type_, Array):
            return f"{self.python(type_.of, place)} * {type_.count}"
        if isinstance(type_, Callback):
            result = "None" if type_.result == Base("void") else self.python(type_.result, place)
            return f"C.CFUNCTYPE({', '.join([result, *self.all(type_.arguments, place)])})"
        if isinstance(type_, Base):
            if type_.name in SCALARS:
                return SCALARS[type_.name]
            struct = self.interface.structs[type_.name]
            if struct.members is None:
                raise place.error(f"the struct {struct.name} is opaque and cannot be a value")
            return class_name(struct.name)

        # Texts, untyped memory and opaque objects have types of their own in ctypes.
        to = type_.to
        if to == Base("char", True):
            return "C.c_char_p"
        if isinstance(to, Base) and self.is_opaque(to):
            return "C.c_void_p"
        return f"C.POINTER({self.python(to, place)})"

    def all(self, types: Iterable[Type], place: Token) -> list[str]:
        return [self.python(type_, place) for type_ in types]

    def is_opaque(self, base: Base) -> bool:
        struct = self.interface.structs.get(base.name)
        return base.name == "void" or (struct is not None and struct.members is None)


def pointed_structs(type_: Type, is_behind_pointer: bool = False) -> Iterator[str]:
    """The structs that a type points to."""
    if isinstance(type_, Pointer):
        yield from pointed_structs(type_.to, True)
    elif isinstance(type_, Array):
        yield from pointed_structs(type_.of, is_behind_pointer)
    elif isinstance(type_, Callback):
        for part in (type_.result, *type_.arguments):
            yield from pointed_structs(part, is_behind_pointer)
    elif is_behind_pointer and type_.name not in (*SCALARS, "void"):
        yield type_.name


def wrapped(indent: str, head: str, parts: list[str], tail: str) -> list[str]:
    """head, the parts with commas between them, and tail, in lines of at most LINE_LENGTH."""
    lines = [indent + head]
    for number, part in enumerate(parts):
        is_last = number == len(parts) - 1
        piece = part + (tail if is_last else ",")
        start = lines[-1] if number == 0 else f"{lines[-1]} "
        if len(start) + len(piece) > LINE_LENGTH and number > 0:
            lines.append(" " * len(indent + head) + piece)
        else:
            lines[-1] = (start + piece).rstrip()
    return lines


# ---- C -------------------------------------------------------------------------------------------

C_PROGRAM = '''\
/* SPDX-License-Identifier: BSD-3-Clause */
/* Written by plugin_bridge/generate_ffi.py. Prints the interface as the compiler sees it:
     constant NAME VALUE
     struct NAME SIZE
     field NAME.FIELD OFFSET SIZE */
{includes}
#include <stddef.h>
#include <stdio.h>

static const struct {{
    const char *name;
    double value;
}} k_constants[] = {{
{constants}
    {{NULL, 0}},
}};

static const struct {{
    const char *name;
    size_t offset, size;
    int is_field;
}} k_places[] = {{
{places}
    {{NULL, 0, 0, 0}},
}};

int main(void) {{
    for (size_t i = 0; k_constants[i].name; ++i)
        printf("constant %s %.17g\\n", k_constants[i].name, k_constants[i].value);
    for (size_t i = 0; k_places[i].name; ++i) {{
        if (k_places[i].is_field)
            printf("field %s %zu %zu\\n", k_places[i].name, k_places[i].offset, k_places[i].size);
        else
            printf("struct %s %zu\\n", k_places[i].name, k_places[i].size);
    }}
    return 0;
}}
'''


def field_paths(interface: Interface, struct: Struct, prefix: str = "") -> Iterator[str]:
    """The names of all fields, with those of structs that have no name of their own."""
    for member in struct.members or []:
        yield prefix + member.name
        inner = interface.structs.get(getattr(member.type, "name", ""))
        if inner is not None and inner.c_name is None:
            yield from field_paths(interface, inner, f"{prefix}{member.name}.")


def offsets_program(interface: Interface) -> str:
    """The C program that prints the interface."""
    constants = [f'    {{"{c.name}", {c.name}}},' for c in interface.constants
                 if not isinstance(c.value, str)]
    places = []
    for struct in interface.complete:
        name, type_ = struct.name, struct.c_name
        if type_ is None:
            continue
        places.append(f'    {{"{name}", 0, sizeof({type_}), 0}},')
        places += [f'    {{"{name}.{path}", offsetof({type_}, {path}),'
                   f' sizeof((({type_} *)0)->{path}), 1}},'
                   for path in field_paths(interface, struct)]
    includes = "\n".join(f"#include <skel/{name}>" for name in interface.headers)
    return C_PROGRAM.format(includes=includes, constants="\n".join(constants),
                            places="\n".join(places))


# ---- the command ---------------------------------------------------------------------------------

def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--headers", type=pathlib.Path, default=HEADERS)
    parser.add_argument("--output", type=pathlib.Path, default=OUTPUT)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--offsets", type=pathlib.Path)
    given = parser.parse_args()
    try:
        interface = read_headers(given.headers)
        text = PythonWriter(interface).text()
    except HeaderError as error:
        print(f"generate_ffi.py: {error}", file=sys.stderr)
        return 1

    if given.offsets:
        given.offsets.write_text(offsets_program(interface), encoding="utf-8")
        headers = " ".join(str(given.headers / name) for name in interface.headers)
        pathlib.Path(f"{given.offsets}.d").write_text(f"{given.offsets}: {headers}\n")
    elif not given.check:
        given.output.write_text(text, encoding="utf-8")
    elif not given.output.exists() or given.output.read_text(encoding="utf-8") != text:
        print(f"{given.output}: is not what the headers give; run plugin_bridge/generate_ffi.py",
              file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
