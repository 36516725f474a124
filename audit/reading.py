"""What a measure can answer: a quantity known to lie in an interval, or "could not tell" with the reason.

It also picks the places that a measure was taken from, riskiest first, and puts in words what a reading is about.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray


@dataclass(frozen=True, slots=True)
class Interval:
    """A quantity known to lie in [low, high]; exact when the two are equal. Infinite ends are allowed."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if math.isnan(self.low) or math.isnan(self.high) or self.low > self.high:
            raise ValueError(f"not an interval: [{self.low}, {self.high}]")

    @property
    def is_exact(self) -> bool:
        """Whether both ends agree."""
        return self.low == self.high


@dataclass(frozen=True, slots=True)
class Undetermined:
    """Could not tell, and why."""

    reason: str


MORE_IS_TOLD = Undetermined(
    "each leaf has an extra number (a sum of squares or of weights) that treewarden cannot yet use to compute "
    "probabilities, and uses only for proofs"
)


Reading = Interval | Undetermined


def exactly(value: float) -> Interval:
    """Return the reading of a quantity that is known."""
    return Interval(float(value), float(value))


@dataclass(frozen=True, slots=True)
class Spot:
    """One place where a measure was taken: a leaf (a node index), a profile (a row of the population), file or column.

    Of the file, ``index`` counts its leaks; of a table of noisy records its columns, and ``note`` is the name. A cell
    is one of the ``CellRanges`` of tables beside the model. ``tree`` counts the trees of an ensemble, from 0.
    """

    kind: Literal["leaf", "profile", "file", "column", "cell"]
    index: int
    low: float
    high: float
    note: str = ""
    tree: int = 0


@dataclass(frozen=True, slots=True)
class Measurement:
    """The reading of a whole tree, and the places it comes from, riskiest first."""

    reading: Reading
    spots: tuple[Spot, ...] = ()


MOST_SPOTS = 1000


def worst_spots(
    kind: Literal["leaf", "profile", "cell"],
    indices: IndexArray,
    ends: tuple[FloatArray, FloatArray],
    risk: Literal["low", "high"],
    note: Callable[[int], str],
    trees: IndexArray | None = None,
) -> tuple[Spot, ...]:
    """Return at most ``MOST_SPOTS`` places, riskiest first, ties in the order given.

    ``ends`` are the low and the high end per place; ``note`` gets a position in ``indices``; ``trees`` says which tree
    of an ensemble each place is in.
    """
    low, high = ends
    order = _first(low if risk == "low" else -high, MOST_SPOTS)
    return tuple(
        Spot(
            kind,
            int(indices[i]),
            float(low[i]),
            float(high[i]),
            note(int(i)),
            0 if trees is None else int(trees[i]),
        )
        for i in order
    )


def _first(keys: FloatArray, most: int) -> IndexArray:
    """Return the places of at most so many smallest keys, smallest first, ties in their order; none is NaN."""
    if len(keys) <= most:
        return np.argsort(keys, kind="stable")
    # Most of many need not be sorted.
    near = np.flatnonzero(keys <= np.partition(keys, most - 1)[most - 1])
    return np.asarray(near[np.argsort(keys[near], kind="stable")[:most]])


def people(records: float) -> str:
    """Return a number of records in words, as a number of people."""
    number = f"{records:.0f}" if float(records).is_integer() else f"{records:g}"
    return f"{number} {'person' if records == 1 else 'people'}"


# What a statement is about, in words; kept apart from measures, as reports are written where nothing is computed.


ALONE = "{} by itself"


WITH_OTHERS = "{} with all releases"


WITH_TABLE = "{} with the releases of the same table"


NOT_LINKED = "the tables of the releases are not linked"
"""How the reason begins where nobody said which records of several tables are one person."""


ADVERSARY = "the adversary “{}”"


def is_adversary(statement: str) -> bool:
    """Return whether a statement is of an adversary, and of no release."""
    start, end = ADVERSARY.split("{}")
    return statement.startswith(start) and statement.endswith(end)


def of_release(name: str, statement: str) -> str:
    """Return what is said of a release with its name before it, where that does not stand there by itself."""
    return statement if statement.startswith(f"{name}: ") else f"{name}: {statement}"
