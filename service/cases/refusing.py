"""What a database cannot keep: signs that are none, and a second row of one name."""

from __future__ import annotations

from sqlalchemy import Insert
from sqlalchemy.exc import IntegrityError

from treewarden.service.site import Unit


def is_text(text: str) -> bool:
    """Return whether a database can keep a text: no NUL, no half of a character."""
    return "\0" not in text and not any("\ud800" <= sign <= "\udfff" for sign in text)


def was_added(unit: Unit, row: Insert) -> bool:
    """Add a row, and return whether that was possible: not where somebody else added one of the same name."""
    try:
        with unit.connection.begin_nested():
            unit.connection.execute(row)
    except IntegrityError as error:
        if "unique" not in f"{type(error.orig).__name__} {error.orig}".lower():
            raise
        return False
    return True
