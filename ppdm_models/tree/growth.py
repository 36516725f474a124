"""What a boosted model's file tells of how it was grown, as far as its leaf values can be inverted into sums.

The numbers stand here as the file has them: what they mean is the business of whoever inverts them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray


class FactSource(StrEnum):
    """Where a fact comes from: the file says it, it follows from the file's numbers, or the file withholds it.

    What is withheld may be told by somebody else, or taken to be what the library does by itself.
    """

    KNOWN = "known"
    DERIVED = "derived"
    WITHHELD = "withheld"
    TOLD = "told"
    TAKEN = "taken"


@dataclass(frozen=True, slots=True)
class Fact:
    """One setting of the training: its value, and where it comes from; ``why`` it is not known, where it is not."""

    value: float | None
    source: FactSource
    why: str = ""


def stated_fact(value: float) -> Fact:
    """Return a fact that the file says."""
    return Fact(float(value), FactSource.KNOWN)


def derived(value: float) -> Fact:
    """Return a fact that follows from other numbers of the file."""
    return Fact(float(value), FactSource.DERIVED)


def withheld(why: str = "the file does not say it") -> Fact:
    """Return that a fact is not known."""
    return Fact(None, FactSource.WITHHELD, why)


@dataclass(frozen=True, slots=True, eq=False)
class GrownTree:
    """The numbers of one tree, by node in document order, shape (N,); NaN where a node has none.

    ``values`` are those of the leaves, as the file adds them: (N, K) where each holds the numbers of all K outputs.
    ``hessians`` are sums of second derivatives, ``counts`` training records, ``weights`` what nodes say by themselves,
    ``gains`` what their splits gain (all as published), ``second`` a second number of each node (an impurity, a sum of
    squares). ``output`` is the class or target that the tree adds to, ``rate`` what its values were shrunk by, where
    files say it tree by tree. None stands for what is not published.
    """

    values: FloatArray
    output: int = 0
    hessians: FloatArray | None = None
    counts: FloatArray | None = None
    weights: FloatArray | None = None
    gains: FloatArray | None = None
    second: FloatArray | None = None
    rate: float | None = None

    @property
    def is_leaf(self) -> BoolArray:
        """Which nodes have values, (N,)."""
        there = ~np.isnan(self.values)
        return there if there.ndim == 1 else np.asarray(there.all(axis=1))


@dataclass(frozen=True, slots=True, eq=False)
class EnsembleGrowth:
    """How an ensemble was grown.

    ``library`` names who can turn its leaf values back (a plug-in of ``treewarden.audit.inverters``), ``objective``
    is that
    library's name for it. ``rounds`` are the trees, by index, that saw the same scores: those of one round. ``start``
    are the scores before the first round, one per output (None: not known). ``single`` says that scores are kept in 32
    bits. ``facts`` are the settings by the names that the library gives them. ``refused`` is why nothing can be turned
    back, "" where nothing speaks against it. ``trees`` has an entry per tree. ``scored`` says that the
    file may tell how well the model did on its training records: a number that depends on more of them than sums;
    ``importances`` that it adds up the gains of splits beside its trees.
    """

    library: str
    objective: str
    outputs: int
    rounds: tuple[tuple[int, ...], ...]
    trees: tuple[GrownTree, ...]
    start: tuple[float, ...] | None
    single: bool = False
    facts: Mapping[str, Fact] = field(default_factory=dict)
    refused: str = ""
    scored: bool = False
    importances: bool = False

    def fact(self, name: str) -> Fact:
        """Return a setting by its name; one that is withheld where nothing is said of it."""
        return self.facts.get(name, withheld())
