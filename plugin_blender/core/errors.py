# SPDX-License-Identifier: GPL-3.0-or-later
"""The error that is shown to the user as it is."""

from __future__ import annotations

from typing import Any

from .binding import scene as documents


class UserError(Exception):
    """The work cannot be done as asked. The text says why, and what the user can do about it."""


def parse_json(text: str | bytes, what: str) -> Any:
    """The value of a JSON text. what: names the text in the message of the UserError."""
    try:
        return documents.read_json(text)
    except ValueError as error:
        raise UserError(f"{what} is not JSON: {error}") from None
