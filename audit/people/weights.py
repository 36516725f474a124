"""What a column of weights says: how many people each row stands for, or how much a survey counts each person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ppdm_models.arrays import FloatArray
from ppdm_models.errors import TableError
from ppdm_models.records.table import Table


class Weights(StrEnum):
    """How the rows of the table carry weights."""

    NONE = "none"
    FREQUENCIES = "frequencies"
    SAMPLING = "sampling"


@dataclass(frozen=True, slots=True)
class Weighing:
    """What each row of the table counts for, shape (rows,).

    ``people`` is how many people a row is; ``sampling`` is the survey's weight of its one person, None where every
    person counts once.
    """

    kind: Weights
    people: FloatArray
    sampling: FloatArray | None = None
    warnings: tuple[str, ...] = ()


def weighing(table: Table, weights: str | None, sampling: str | None) -> Weighing:
    """Return what the rows count for; ``weights`` are frequencies, ``sampling`` the weights of a survey.

    A row of weight 0 is nobody.

    Raises:
        TableError: both are given, a weight is missing, negative or (a frequency) no whole number, or all are 0.
    """
    if weights is not None and sampling is not None:
        raise TableError(
            table.source,
            f"--weights {weights} and --sampling-weights {sampling}: a row stands for so many people, or for one "
            "whom a survey weighs; choose one",
        )
    if sampling is not None:
        weight = _column(table, sampling)
        return Weighing(Weights.SAMPLING, (weight > 0).astype(np.float64), weight)
    if weights is None:
        return Weighing(Weights.NONE, np.ones(table.rows))
    weight = _column(table, weights)
    fractions = np.flatnonzero(weight != np.rint(weight))
    if len(fractions):
        row = fractions[0]
        raise TableError(
            table.source,
            f"column {weights!r}, record {row + 1}: {weight[row]:g} is no whole number of people; "
            f"for the weights of a survey say --sampling-weights {weights}",
        )
    rows = int((weight > 0).sum())
    said = (
        f"{rows:,} {'row stands' if rows == 1 else 'rows stand'} for {weight.sum():,.0f} people (--weights {weights}): "
        "limits on people hold only if so many different people are in the table; "
        f"for the weights of a survey say --sampling-weights {weights}"
    )
    return Weighing(Weights.FREQUENCIES, weight, None, (said,) if rows != weight.sum() else ())


def _column(table: Table, name: str) -> FloatArray:
    weight = table.numbers(name).numbers
    missing = np.flatnonzero(np.isnan(weight))
    if len(missing):
        raise TableError(
            table.source,
            f"column {name!r}, record {missing[0] + 1}: the weight is missing; give one, or 0 to leave the record out",
        )
    bad = np.flatnonzero(weight < 0)
    if len(bad):
        raise TableError(
            table.source, f"column {name!r}, record {bad[0] + 1}: a weight must be 0 or more"
        )
    if not weight.sum():
        raise TableError(
            table.source, f"column {name!r}: all weights are 0, so there are no records"
        )
    return weight
