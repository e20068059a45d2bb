# SPDX-License-Identifier: GPL-3.0-or-later
"""Files that are written whole or not at all, and cells of CSV."""

from __future__ import annotations

import errno
import os
import re
import stat
import tempfile

# Cells that a spreadsheet would read as a formula.
FORMULA = re.compile("'*[=+\\-@\t\r\uff1d\uff0b\uff0d\uff20]")


def save(path: str | os.PathLike[str], text: str) -> None:
    """Writes a file beside its place under a unique name, syncs it and renames it. A link stays a
    link."""
    target, beside = os.path.realpath(path), None
    try:
        if os.path.exists(target) and not os.path.isfile(target):
            raise OSError(errno.EINVAL, "is not a file that can be replaced")
        handle, beside = tempfile.mkstemp(prefix=".skel-", dir=os.path.dirname(target))
        with open(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(beside, _mode_of(target))
        os.replace(beside, target)
        beside = None
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        if beside is not None:
            os.remove(beside)


def _mode_of(path: str) -> int:
    """The mode of the file that is replaced, or that of an ordinary new file."""
    if os.path.exists(path):
        return stat.S_IMODE(os.stat(path).st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def quote_csv(name: str) -> str:
    """A name as a cell of CSV, as the library writes it: one that a spreadsheet would read as a
    formula gets an apostrophe, one that begins with apostrophes and a formula one more."""
    if FORMULA.match(name):
        name = "'" + name
    return '"' + name.replace('"', '""') + '"' if any(c in name for c in ',"\n\r') else name
