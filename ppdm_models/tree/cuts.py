"""The tests that lead to the nodes of a binary tree, as columns: a test is made only when someone asks for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.tree.predicate import Always, NumericTest, Predicate, features_of

Flags = BoolArray
Numbers = FloatArray
Wholes = IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Cuts(Sequence[Predicate]):
    """One test per node: its feature's number is below an end or, where ``upper``, above it.

    ``features`` are places in ``names``, -1 at the root; ``closed`` says that the end itself is below. ``others`` are
    the tests that are none of this, by node.
    """

    names: tuple[str, ...]
    features: Wholes
    ends: Numbers
    upper: Flags
    closed: Flags
    others: Mapping[int, Predicate]

    def plainly_split(self, parents: Wholes) -> bool:
        """Whether each inner node has two children: for the numbers of a feature below an end, and for the others."""
        below = np.flatnonzero(parents >= 0)
        pairs = below[np.argsort(parents[below], kind="stable")]
        if len(pairs) % 2 or (self.features[pairs] < 0).any():
            return False
        one, two = pairs[::2], pairs[1::2]
        sizes = np.bincount(parents[below], minlength=1)
        return bool(
            np.isin(sizes, (0, 2)).all()
            and (self.features[one] == self.features[two]).all()
            and (self.ends[one] == self.ends[two]).all()
            and (self.closed[one] == self.closed[two]).all()
            and (self.upper[one] != self.upper[two]).all()
        )

    def asked(self) -> set[str]:
        """Return the names of the features that the tests ask for."""
        is_cut = self.features >= 0
        is_cut[list(self.others)] = False
        found = {self.names[place] for place in np.unique(self.features[is_cut]).tolist()}
        return found | {name for test in self.others.values() for name in features_of(test)}

    def __len__(self) -> int:
        return len(self.features)

    @overload
    def __getitem__(self, place: int) -> Predicate: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Predicate, ...]: ...
    def __getitem__(self, place: int | slice) -> Predicate | tuple[Predicate, ...]:
        return tuple(self)[place]

    def __iter__(self) -> Iterator[Predicate]:
        columns = (self.features, self.ends, self.upper, self.closed)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for node, (feature, end, upper, closed) in enumerate(rows):
            if node in self.others:
                yield self.others[node]
            elif feature < 0:
                yield Always()
            elif upper:
                yield NumericTest(self.names[feature], low=end, low_closed=not closed)
            else:
                yield NumericTest(self.names[feature], high=end, high_closed=closed)
