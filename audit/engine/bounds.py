"""What rows prove of each group, how far other tables were found to go, and the estimate that they leave."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray


class How(StrEnum):
    """By what a cell was proved to have one class: the first of them that proves it."""

    LEAF = "leaf"
    PROPAGATION = "propagation"
    CERTIFICATE = "certificate"
    SOLVER = "solver"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The maximum-entropy estimate: shares of each class by group, ``values`` (C, m), rows sum to 1.

    ``bound`` is proved: no table that fits has more entropy (nats, summed over people); ``gap`` is how far the
    estimate's own entropy may be below it, and ``residual`` how many people a row is missed by at most. Where a problem
    has a prior, the entropy is that relative to it: sums of ``-x log(x / prior)``.
    """

    values: FloatArray
    bound: float
    gap: float
    residual: float


@dataclass(frozen=True, slots=True)
class Bounds:
    """Integer reasoning over all rows of a problem. Arrays are by group, (C, m) or (C,); of amounts m is 1.

    In every table that fits, x[c, k] lies in [low, high], which is proved; tables were found that take it as far as
    [reached_low, reached_high] (where none was found, reached_low > reached_high). ``row`` is the row that a group was
    settled by, -1 where none alone did; ``how`` says by what each certain group was proved ("" elsewhere).
    ``problem`` is why no table can fit, "" where one may. ``left`` is why something was not decided. Of amounts,
    ``apart_low`` and ``apart_high`` (C,) are how far tables were found to go in which other groups' people have the
    ends of each range.
    """

    low: IntArray
    high: IntArray
    reached_low: IntArray
    reached_high: IntArray
    how: tuple[How | str, ...]
    row: IndexArray
    estimate: Estimate | Undetermined
    problem: str = ""
    left: tuple[str, ...] = ()
    seconds: float = 0.0
    apart_low: IntArray | None = None
    apart_high: IntArray | None = None
