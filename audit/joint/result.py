"""What all trees of a model, or of several, prove of their people together, as measures and reports read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from treewarden.audit.consistent_tables.result import (
    Consistency,
    ConsistentTables,
    TableEnumeration,
)
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.ensemble import Fact

NOT_COUNTED = Undetermined("for several trees, consistent tables are not counted")
NO_SPLITS = Undetermined("for several trees, the choice of splits is not used")
BY_ALL = "all leaves combined allow no other value (checked in whole numbers)"


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


NOISE_ALONE = "labels were drawn at random, as the model claims, so they prove no person's value"


def noise_alone(trees: int, leaves: int, profiles: int) -> EnsembleInference:
    """Return what labels prove that are noise: nothing of anybody."""
    nobody = np.zeros(profiles, dtype=bool)
    return EnsembleInference(trees, leaves, 0, nobody, said=(NOISE_ALONE,))


def only_certain(people: FloatArray, certain: BoolArray, classes: int) -> ConsistentTables:
    """Return worlds in which some profiles (P,) are certain and all else is open, to ask whether that is enough.

    ``people`` (P,) are how many each has. Whose value is what is left out: all of them are given the first.
    """
    counts = np.rint(people).astype(np.int64)
    low = np.zeros((len(counts), classes), dtype=np.int64)
    high = np.repeat(counts[:, None], classes, axis=1)
    low[certain, 0], high[certain, 1:] = counts[certain], 0
    return ConsistentTables(
        counts=counts,
        low=low,
        high=high,
        reached_low=high + 1,
        reached_high=low - 1,
        consistency=Consistency.NOT_DECIDED,
        reasons=dict.fromkeys(np.flatnonzero(certain).tolist(), BY_ALL),
        enumeration=TableEnumeration(NOT_COUNTED, NO_SPLITS),
    )
