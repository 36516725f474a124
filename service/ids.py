"""Names of things in the database: 32 letters 0-9 a-f, in the order in which they were made."""

from __future__ import annotations

import re
import secrets
import time

ID = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """Return a new id: milliseconds since 1970 first, then 80 random bits."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id."""
    return ID.fullmatch(text) is not None
