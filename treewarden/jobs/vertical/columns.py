"""A party's table as columns that ID3 can split: categories, and numbers in bins."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.methods.vertical.party_view import Codes, Holding, PartyAttribute
from treewarden.ppdm_models.methods.vertical.roles import MOST_BRANCHES
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import CategoricalColumn, number_text

BINS = 5
MOST_WHOLE = 10
"""Up to so many different whole numbers stay categories of their own."""
MISSING = "missing"
UNKNOWN = ""
"""A category that no column has, as an empty cell is a missing one."""


class NumberHandling(StrEnum):
    """What is done with columns of numbers."""

    BINS = "bins"
    REFUSE = "refuse"


def classes_of(table: Table, target: str) -> tuple[str, ...]:
    """Return the classes of a table, in order of their text.

    Raises:
        TableError: there is no such column, or it does not hold two classes or more.
    """
    found = _category_codes(table.categories(target))[0]
    if len(found) < 2:
        problem = f"the class {target!r} has {len(found)} value; choose a class with two or more"
        raise TableError(table.source, problem)
    return found


def ids_of(table: Table, name: str) -> list[str]:
    """Return the ids of all records, as text; whether each is there once is for who uses them to say.

    Raises:
        TableError: there is no such column, or records have none.
    """
    column = table.categories(name)
    missing = int(column.missing.sum())
    if missing:
        problem = f"{missing:,} records have no id in {name!r}; give them one, or leave them out"
        raise TableError(table.source, problem)
    return [column.categories[code] for code in column.codes.tolist()]


def holding_of(
    table: Table,
    names: Sequence[str],
    target: str | None,
    classes: Sequence[str],
    numbers: NumberHandling,
    *,
    rows: Codes | None = None,
) -> Holding:
    """Return columns of some records of a table, by row number (None: of all), and the class where it is held.

    Texts are categories in the order of their text. Up to ten different whole numbers are categories too; other numbers
    come into five bins: their edges are the numbers at each fifth of the sorted values, equal ones once. Missing cells
    are a category of their own, the last one.

    Raises:
        TableError: a column is not there, holds more categories than a node may have branches, or numbers where these
            are refused; the class of a record is missing or none of those that are agreed on.
    """
    chosen = np.arange(table.rows) if rows is None else rows
    attributes = tuple(_attribute(table, name, chosen, numbers) for name in names)
    if target is None:
        return Holding(attributes)
    return Holding(attributes, _class_codes(table, target, classes)[chosen])


def coded_like(table: Table, holding: Holding, rows: Codes) -> Holding:
    """Return the same columns of records of another table, with the categories of a holding.

    A value that the holding does not have is a category behind these.

    Raises:
        TableError: a column is not there, or does not hold numbers where it has to.
    """
    return Holding(tuple(_like(table, attribute, rows) for attribute in holding.attributes))


def _attribute(table: Table, name: str, rows: Codes, numbers: NumberHandling) -> PartyAttribute:
    if table.guessed(name).numeric:
        values = table.numbers(name).numbers[rows]
        if numbers is NumberHandling.REFUSE:
            problem = (
                f"the column {name!r} holds numbers, and --numbers refuse does not accept them"
            )
            raise TableError(table.source, f"{problem}; give categories, or --numbers bins")
        there = np.unique(values[~np.isnan(values)])
        if len(there) > MOST_WHOLE or (there != np.floor(there)).any():
            return _binned(name, values, _edges(values))
        return _coded(
            name, tuple(map(number_text, there.tolist())), _codes_of_values(there, values)
        )
    categories, codes = _category_codes(table.categories(name).take(rows))
    if len(categories) >= MOST_BRANCHES:
        problem = f"the column {name!r} has {len(categories):,} different values"
        raise TableError(
            table.source,
            f"{problem}; a split can have fewer than {MOST_BRANCHES:,}; group the values, or leave the column out",
        )
    return _coded(name, categories, codes)


def _edges(values: FloatArray) -> tuple[float, ...]:
    """Return the edges of bins: the values at each fifth, so that each is a value that somebody has."""
    there = np.sort(values[~np.isnan(values)])
    places = [len(there) * number // BINS for number in range(1, BINS)]
    found = np.unique([there[max(place - 1, 0)] for place in places])
    return tuple(each for each in found.tolist() if each < there[-1])


def _binned(name: str, values: FloatArray, edges: tuple[float, ...]) -> PartyAttribute:
    texts = [number_text(edge) for edge in edges]
    between = [f"over {low} to {high}" for low, high in zip(texts, texts[1:], strict=False)]
    categories = (f"up to {texts[0]}", *between, f"over {texts[-1]}") if texts else ("any",)
    codes = np.searchsorted(np.array(edges), values, side="left").astype(np.int64)
    codes[np.isnan(values)] = -1
    return _coded(name, categories, codes, edges)


def _coded(
    name: str, categories: tuple[str, ...], codes: Codes, edges: tuple[float, ...] | None = None
) -> PartyAttribute:
    """Return an attribute; codes of -1, of missing cells, become a category of their own."""
    missing = codes < 0
    if not missing.any():
        return PartyAttribute(name, categories or (MISSING,), codes, edges)
    last = len(categories)
    taken = f"({MISSING})" if MISSING in categories else MISSING
    return PartyAttribute(name, (*categories, taken), np.where(missing, last, codes), edges, last)


def _like(table: Table, attribute: PartyAttribute, rows: Codes) -> PartyAttribute:
    own = attribute.categories[: attribute.missing]
    if attribute.edges is not None:
        party_attribute = _binned(
            attribute.name, table.numbers(attribute.name).numbers[rows], attribute.edges
        )
        return PartyAttribute(
            attribute.name,
            party_attribute.categories,
            party_attribute.codes,
            attribute.edges,
            party_attribute.missing,
        )
    column = table.categories(attribute.name, own).take(rows)
    at = {name: code for code, name in enumerate(own)}
    place = [at.get(category, len(own) + 1) for category in column.categories]
    codes = np.array([*place, len(own)], np.int64)[
        column.codes
    ]  # -1, of a missing cell, is the last
    none = attribute.categories[attribute.missing] if attribute.missing is not None else UNKNOWN
    return PartyAttribute(attribute.name, (*own, none, UNKNOWN), codes)


def _category_codes(column: CategoricalColumn) -> tuple[tuple[str, ...], Codes]:
    """Return the values that are there in the order of their text, and codes of them; -1 where one is missing."""
    used = np.unique(column.codes[~column.missing])
    ordered = sorted(used.tolist(), key=lambda code: column.categories[code])
    place = np.full(len(column.categories) + 1, -1, np.int64)
    place[ordered] = np.arange(len(ordered))
    return tuple(column.categories[code] for code in ordered), place[column.codes]


def _class_codes(table: Table, target: str, classes: Sequence[str]) -> Codes:
    column = table.categories(target, tuple(classes))
    missing = int(column.missing.sum())
    if missing:
        problem = f"{missing:,} records have no class in {target!r}; leave them out at all parties"
        raise TableError(table.source, problem)
    at = {name: code for code, name in enumerate(classes)}
    codes = np.array([at.get(category, -1) for category in column.categories], np.int64)[
        column.codes
    ]
    other = int((codes < 0).sum())
    if other:
        problem = f"{other:,} records have a class in {target!r} that is not one of the {len(classes)} agreed classes"
        raise TableError(table.source, f"{problem}; correct the session file or the column")
    return codes


def _codes_of_values(there: FloatArray, values: FloatArray) -> Codes:
    codes = np.searchsorted(there, values).astype(np.int64)
    codes[np.isnan(values)] = -1
    return codes
