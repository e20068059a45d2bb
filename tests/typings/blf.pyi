# SPDX-License-Identifier: BSD-3-Clause
# Blender's Python modules exist only inside Blender: to pyright everything in them is Any.
from typing import Any

def __getattr__(name: str) -> Any: ...
