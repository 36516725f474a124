"""What the rows prove of each cell, what other tables were found, and the guess that they leave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.growth import Fact


class How(StrEnum):
    """By what a cell was proved to have one class: the first of them that proves it."""

    LEAF = "leaf"
    PROPAGATION = "propagation"
    CERTIFICATE = "certificate"
    SOLVER = "solver"


@dataclass(frozen=True, slots=True)
class CellPosterior:
    """The maximum-entropy estimate: shares of each class by cell, (C, m), rows sum to 1.

    ``bound`` is proved: no table that fits has more entropy (nats, summed over people); ``gap`` is how far the
    estimate's own entropy may be below it, and ``residual`` how many people a row is missed by at most.
    """

    shares: FloatArray
    bound: float
    gap: float
    residual: float


@dataclass(frozen=True, slots=True)
class Joint:
    """Integer reasoning over all rows. Arrays are by cell, (C, m) or (C,).

    In every table that fits, x[c, k] lies in [low, high], which is proved; tables were found that take it as far as
    [reached_low, reached_high] (where none was found, reached_low > reached_high). ``row`` is the row that a cell was
    settled by, -1 where none alone did; ``how`` says by what each certain cell was proved ("" elsewhere).
    ``problem`` is why no table can fit, "" where one may. ``left`` is why something was not decided.
    """

    low: IntArray
    high: IntArray
    reached_low: IntArray
    reached_high: IntArray
    how: tuple[How | str, ...]
    row: IndexArray
    guess: CellPosterior | Undetermined
    problem: str = ""
    left: tuple[str, ...] = ()
    seconds: float = 0.0


# What all trees of a model prove of its people together, as measures and reports read it.


@dataclass(frozen=True, slots=True)
class Prefix:
    """People of whom the first ``trees`` tell: certain by one leaf, certain by all, guessed right, predicted right.

    None where it is not known.
    """

    trees: int
    by_leaf: float
    certain: float
    guessed: float | None
    predicted: float | None


@dataclass(frozen=True, slots=True)
class Released:
    """What one of several releases adds: its people, who ``joined`` and who ``left`` since the one before it.

    ``alone`` people are certain by it alone, and ``so_far`` of all people by it and those before it, at least; None
    where that is not known.
    """

    name: str
    trees: int
    people: float
    joined: float
    left: float
    alone: float | None
    so_far: float | None


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleInference:
    """What the leaves of all trees prove together.

    Of ``leaves`` that hold people, ``recovered`` have exact sums for every class. ``by_leaf`` (P,) says who is certain
    by one leaf alone. ``facts`` are the settings of the growth, ``said`` is what the reader should know of how it was
    done, ``left`` what was not decided. ``over_trees`` is what the first trees alone tell, and then all of them.
    ``releases`` is what each of several releases adds, and ``differences`` what their totals prove of those who are in
    one of them alone, in sentences.
    Without ``is_complete`` a sample hid some of what the file says, and somebody who knows more may follow it.
    ``is_replayed`` says that the drawing of samples was repeated from a seed.
    """

    trees: int
    leaves: int
    recovered: int
    by_leaf: BoolArray
    facts: Mapping[str, Fact] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    over_trees: tuple[Prefix, ...] = ()
    releases: tuple[Released, ...] = ()
    differences: tuple[str, ...] = ()
    is_complete: bool = True
    is_replayed: bool = False

    @property
    def recovered_share(self) -> float:
        """The share of the leaves whose people of each class are known exactly."""
        return self.recovered / self.leaves
