"""What a column of weights says: how many people each row stands for, or how much a survey counts each person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.table import Table


class Weights(StrEnum):
    """How the rows of the table carry weights."""

    NONE = "none"
    FREQUENCIES = "frequencies"
    SAMPLING = "sampling"


@dataclass(frozen=True, slots=True)
class Weighing:
    """What each row of the table counts for, shape (rows,).

    ``people`` is how many people a row is; ``sampling`` is the survey's weight of each of them, None where every
    person counts once.
    """

    kind: Weights
    people: FloatArray
    sampling: FloatArray | None = None
    warnings: tuple[str, ...] = ()


def weighing(table: Table, weights: str | None, sampling: str | None) -> Weighing:
    """Return what the rows count for; ``weights`` are frequencies, ``sampling`` the weights of a survey.

    A record of weight 0 is nobody. In a table that was counted, a row stands for several records.

    Raises:
        TableError: both are given, a weight is missing, negative or (a frequency) no whole number, or all are 0.
    """
    if weights is not None and sampling is not None:
        raise TableError(
            table.source,
            f"--weights {weights} and --sampling-weights {sampling}: a row stands for so many people, or for one "
            "whom a survey weighs; choose one",
        )
    records = np.ones(table.rows) if table.counts is None else table.counts
    if sampling is not None:
        weight = _column(table, sampling)
        return Weighing(Weights.SAMPLING, (weight > 0) * records, weight)
    if weights is None:
        return Weighing(Weights.NONE, records)
    weight = _column(table, weights)
    fractions = np.flatnonzero(weight != np.rint(weight))
    if len(fractions):
        row = fractions[0]
        raise TableError(
            table.source,
            f"column {weights!r}, {table.place(int(row))}: no whole number of people; "
            f"for the weights of a survey say --sampling-weights {weights}",
        )
    rows, people = int(((weight > 0) * records).sum()), weight * records
    said = (
        f"{rows:,} {'row stands' if rows == 1 else 'rows stand'} for {people.sum():,.0f} people (--weights {weights}): "
        "limits on people hold only if so many different people are in the table; "
        f"for the weights of a survey say --sampling-weights {weights}"
    )
    return Weighing(Weights.FREQUENCIES, people, None, (said,) if rows != people.sum() else ())


def _column(table: Table, name: str) -> FloatArray:
    weight = table.numbers(name).numbers
    missing = np.flatnonzero(np.isnan(weight))
    if len(missing):
        raise TableError(
            table.source,
            f"column {name!r}, {table.place(int(missing[0]))}: the weight is missing; "
            "give one, or 0 to leave the record out",
        )
    bad = np.flatnonzero(weight < 0)
    if len(bad):
        raise TableError(
            table.source, f"column {name!r}, {table.place(int(bad[0]))}: a weight must be 0 or more"
        )
    if not weight.sum():
        raise TableError(
            table.source, f"column {name!r}: all weights are 0, so there are no records"
        )
    return weight
