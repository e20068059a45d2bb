# SPDX-License-Identifier: BSD-3-Clause
"""Hashes of results: every number by the bits of its double, structure and names as they are, and
nothing that may change without a change of behaviour (sentences, times, the order of keys)."""

import csv
import hashlib
import io
import json
import math
import re
import struct
import xml.etree.ElementTree as ElementTree
from array import array

TIMES = {"wall_seconds", "us", "version"}                   # left out
SENTENCES = {"warnings", "notes", "failed", "source"}       # only how many there are


def _put_number(feed, value):
    # A NaN has many bit patterns, and its sign depends on the compiler.
    feed(b"NaN" if math.isnan(value) else b"d" + struct.pack("<d", value))


def _put(feed, value):
    if isinstance(value, dict):
        kept = sorted(key for key in value if key not in TIMES)
        feed(b"{%d" % len(kept))
        for key in kept:
            _put(feed, key)
            _put(feed, _count(value[key]) if key in SENTENCES else value[key])
    elif isinstance(value, (list, tuple, array)):
        feed(b"[%d" % len(value))
        for each in value:
            _put(feed, each)
    elif isinstance(value, str):
        text = value.encode()
        feed(b"s%d:" % len(text) + text)
    elif isinstance(value, bytes):
        feed(b"b%d:" % len(value) + value)
    elif value is None or isinstance(value, bool):
        feed({None: b"null", True: b"true", False: b"false"}[value])
    else:
        _put_number(feed, float(value))


def _count(value):
    return len(value) if isinstance(value, list) else 1


def digest(value):
    """The first 16 hexadecimal digits of the SHA-256 of a tree of plain values."""
    found = hashlib.sha256()
    _put(found.update, value)
    return found.hexdigest()[:16]


# ---- documents as trees of plain values ----

def of_json(text):
    return json.loads(text, parse_int=float)    # int would lose the sign of -0


def _numbers(text):
    """Of an attribute or a cell: the numbers that it consists of, else the text itself."""
    try:
        return [float(word) for word in text.split()] or text
    except ValueError:
        return text


def of_csv(text):
    """Rows of cells. Of the comments, those of the form `key: numbers or one word`."""
    lines = text.splitlines()
    heads = [re.match(r"# (\w+): (.*)", line) for line in lines if line.startswith("#")]
    kept = [[head[1], _numbers(head[2])] for head in heads if head]
    rows = csv.reader(io.StringIO("\n".join(x for x in lines if not x.startswith("#"))))
    return [kept, [[_numbers(cell) for cell in row] for row in rows]]


def of_xml(text):
    def tree(node):
        attributes = {name: _numbers(value) for name, value in node.attrib.items()}
        return [node.tag, attributes, (node.text or "").strip(), [tree(child) for child in node]]
    return tree(ElementTree.fromstring(text))


def of_file(path):
    """By the ending of the name. None where there is no such file: the command wrote nothing."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    if path.suffix == ".npy":
        return data
    return {".json": of_json, ".csv": of_csv, ".urdf": of_xml}[path.suffix](data.decode())
