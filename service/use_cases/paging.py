"""A part of a list: newest first, or in another order, and narrowed to what holds some words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Row, Select, and_, or_

from treewarden.service.errors import InvalidError, is_id
from treewarden.service.schemas.base import PageRequest
from treewarden.service.site import Unit

MOST_WORDS = 10
NAME = "paged_by"


@dataclass(frozen=True, slots=True)
class ListOrder:
    """By what a list is ordered: by a column and then by ids, or by ids alone: in the order of their making."""

    column: ColumnElement[Any] | None = None
    is_descending: bool = False


NEWEST = ListOrder(is_descending=True)
OLDEST = ListOrder()


def narrowed(
    statement: Select[Any], text: str, columns: Sequence[ColumnElement[Any]]
) -> Select[Any]:
    """Return what selects only rows that hold each word of a text in one of some columns, in whatever case."""
    for word in text.split()[:MOST_WORDS]:
        statement = statement.where(
            or_(*(column.icontains(word, autoescape=True) for column in columns))
        )
    return statement


def paged(
    unit: Unit,
    statement: Select[Any],
    column: ColumnElement[str],
    page_request: PageRequest,
    order: ListOrder = NEWEST,
) -> tuple[list[Row[Any]], str | None]:
    """Return the rows of a part of a list, and the cursor of the next part, None at the end.

    ``column`` holds the ids; ``statement`` has no order or limit of its own.

    Raises:
        InvalidError: the cursor is none that a page before said.
    """
    keys = [column] if order.column is None else [order.column, column]
    if page_request.cursor:
        statement = statement.where(_after(unit, statement, keys, page_request.cursor, order))
    rising = [key.desc() if order.is_descending else key.asc() for key in keys]
    found = unit.connection.execute(
        statement.add_columns(column.label(NAME)).order_by(*rising).limit(page_request.limit + 1)
    ).all()
    rows = list(found[: page_request.limit])
    return rows, rows[-1]._mapping[NAME] if len(found) > page_request.limit else None


def _after(
    unit: Unit,
    statement: Select[Any],
    keys: Sequence[ColumnElement[Any]],
    cursor: str,
    order: ListOrder,
) -> ColumnElement[bool]:
    """Return what holds of the rows after the one whose id is the cursor."""
    refused = InvalidError(
        "cursor", "does not belong to this list; use “next” of the previous page"
    )
    if not is_id(cursor):
        raise refused
    *first, ids = keys
    if not first:
        return _beyond(ids, cursor, order)
    at = unit.connection.execute(
        statement.where(ids == cursor).add_columns(first[0].label(NAME))
    ).first()
    if at is None:
        raise refused
    value = at._mapping[NAME]
    return or_(
        _beyond(first[0], value, order), and_(first[0] == value, _beyond(ids, cursor, order))
    )


def _beyond(column: ColumnElement[Any], value: object, order: ListOrder) -> ColumnElement[bool]:
    return column < value if order.is_descending else column > value
