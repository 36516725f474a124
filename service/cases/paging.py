"""A part of a list: newest first, as ids are in the order in which things were made."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Row, Select

from service.errors import InvalidError
from service.ids import is_id
from service.schemas.base import Wanted
from service.site import Unit


def paged(
    unit: Unit, statement: Select[Any], column: ColumnElement[str], wanted: Wanted
) -> tuple[list[Row[Any]], str | None]:
    """Return the rows of a part of a list, and the cursor of the next part, None at the end.

    ``column`` holds the ids by which the list is ordered; ``statement`` has no order or limit of its own.

    Raises:
        InvalidError: the cursor is none that a page before said.
    """
    if wanted.cursor:
        if not is_id(wanted.cursor):
            raise InvalidError("cursor", "is none of this list; take “next” of the page before")
        statement = statement.where(column < wanted.cursor)
    name = "paged_by"
    found = unit.connection.execute(
        statement.add_columns(column.label(name)).order_by(column.desc()).limit(wanted.limit + 1)
    ).all()
    rows = list(found[: wanted.limit])
    return rows, rows[-1]._mapping[name] if len(found) > wanted.limit else None
