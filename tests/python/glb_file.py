# SPDX-License-Identifier: BSD-3-Clause
"""Binary glTF files: the document and the numbers of its accessors."""

import json
import pathlib
import struct

FORMATS = {5120: "b", 5121: "B", 5122: "h", 5123: "H", 5125: "I", 5126: "f"}
WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class GlbFile:
    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        length = struct.unpack_from("<I", data, 12)[0]
        self.doc = json.loads(data[20:20 + length])
        self.bytes = data[28 + length:]
        self.up = {c: n for n, node in enumerate(self.doc["nodes"])
                   for c in node.get("children", ())}      # the parent of each node

    def rows(self, index):
        """The rows of an accessor."""
        accessor = self.doc["accessors"][index]
        view = self.doc["bufferViews"][accessor["bufferView"]]
        width, kind = WIDTHS[accessor["type"]], FORMATS[accessor["componentType"]]
        step = view.get("byteStride", width * struct.calcsize(kind))
        start = view.get("byteOffset", 0) + accessor.get("byteOffset", 0)
        return [struct.unpack_from(f"<{width}{kind}", self.bytes, start + n * step)
                for n in range(accessor["count"])]
