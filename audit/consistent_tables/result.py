"""What consistent tables prove: per profile and class what is certain, possible, or not decided."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from treewarden.audit.consistent_tables.witnesses.enumerate import (
    ExactPosterior,
    TableNumbers,
)
from treewarden.audit.reading import Reading, Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IndexArray, IntArray

OUT_OF_TIME = "the time was used up"
SAMPLING_STOPPED = "sampling was stopped"
"""How the reason begins where the sampler gave up."""
"""How it is said that time was what was lacking: a larger budget may decide more."""


class Consistency(StrEnum):
    """Whether some table with these quasi-identifiers grows this tree."""

    CONSISTENT = "consistent"
    INCONSISTENT = "inconsistent"
    NOT_DECIDED = "not decided"


@dataclass(frozen=True, slots=True)
class Witness:
    """Another world: how it differs from the true table (or from another world) at one profile.

    ``says`` is the difference in words; ``grade`` says whether the learner, run again, grows the same tree on it.
    """

    profile: int
    says: str
    table: IntArray = field(repr=False, compare=False)
    grade: str = "consistent"


@dataclass(frozen=True, slots=True)
class TableEnumeration:
    """What all consistent tables together say, where they were counted, or drawn from.

    ``posterior`` is the share of each class over all of them, ``split_bits`` by how many bits the choice of splits
    narrows them, ``numbers`` how many there are, None where that was not counted.
    """

    posterior: ExactPosterior | Undetermined
    split_bits: Reading
    numbers: TableNumbers | None = None


@dataclass(frozen=True, slots=True)
class ConsistentTables:
    """Integer reasoning over a published tree. Arrays are by profile, (P, m) or (P,).

    ``counts`` are the profiles' records. In every world a cell n[q, c] lies in [low, high], which is proved; worlds
    were found that take it as far as [reached_low, reached_high] (reached_low > reached_high where none was found).
    ``certain`` profiles have one class for all their records in every world, ``certain_class``, for the reason in
    ``reasons``; ``open_profiles`` may be certain, which was not decided, and ``not_decided`` says why:
    ``left`` is why questions were not put or not answered, ``left_of_values`` why some were that only tell which values
    are ruled out.
    """

    counts: IntArray
    low: IntArray
    high: IntArray
    reached_low: IntArray
    reached_high: IntArray
    consistency: Consistency
    conflict: tuple[str, ...]
    reasons: Mapping[int, str]
    witnesses: tuple[Witness, ...]
    enumeration: TableEnumeration
    not_decided: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    left_of_values: tuple[str, ...] = ()
    seconds: float = field(default=0.0, compare=False)

    @property
    def certain(self) -> BoolArray:
        """Whether all records of a profile provably have one class, shape (P,)."""
        return np.asarray((self.low == self.counts[:, None]).any(axis=1))

    @property
    def certain_class(self) -> IndexArray:
        """The class of each certain profile, -1 elsewhere, shape (P,)."""
        return np.where(self.certain, self.low.argmax(axis=1), -1)

    @property
    def open_profiles(self) -> BoolArray:
        """Whether it was not decided that a profile is certain, shape (P,)."""
        size = self.counts[:, None]
        may = (np.minimum(self.reached_low, self.high) == size).any(axis=1)
        return np.asarray(may & ~self.certain)

    @property
    def is_out_of_time(self) -> bool:
        """Whether something was left since the budget was used up, and not for any other reason alone."""
        return any(OUT_OF_TIME in each for each in self.left)

    @property
    def excluded(self) -> BoolArray:
        """Whether a class is proved to be no record's of a profile, shape (P, m)."""
        return np.asarray(self.high == 0)

    @property
    def open_exclusions(self) -> BoolArray:
        """Whether it was not decided that a class is excluded, shape (P, m)."""
        return np.asarray((self.reached_high <= 0) & (self.high > 0))


ShouldStop = Callable[[ConsistentTables], bool]
"""Whether nothing that is still open is needed; once it is so it must stay so, however much more is known."""


def never(worlds: ConsistentTables) -> bool:
    """Go on, whatever is known."""
    return False
