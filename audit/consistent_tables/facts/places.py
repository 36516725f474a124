"""Where records stop: how many, and how many of each class there can be at least and at most."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class StoppingPlace:
    """A node where records stop, its positions [start, end), its records, and what is known of its class counts.

    ``label`` leads every other class by ``margin`` records, where it is known, and those of ``before`` by one more.
    """

    node: int
    start: int
    end: int
    records: int
    low: Sequence[int]
    high: Sequence[int]
    label: int | None = None
    margin: int = 0
    before: frozenset[int] = frozenset()

    def lead(self, klass: int) -> int:
        """Return by how many records the label leads another class at least."""
        return self.margin + (klass in self.before)

    @property
    def is_fixed(self) -> bool:
        """Whether every class count is known."""
        return tuple(self.low) == tuple(self.high)

    @property
    def is_possible(self) -> bool:
        """Whether any class counts are left."""
        return all(a <= b for a, b in zip(self.low, self.high, strict=True)) and sum(
            self.low
        ) <= self.records <= sum(self.high)

    def holds(self, totals: IntArray) -> BoolArray:
        """Return whether class totals, shape (..., m), are among those that the place allows."""
        inside = (totals >= np.array(self.low)) & (totals <= np.array(self.high))
        if self.label is not None and not self.is_fixed:
            leads = np.array([self.lead(klass) for klass in range(len(self.low))])
            lead = totals[..., [self.label]] - totals - leads
            lead[..., self.label] = 0
            inside &= lead >= 0
        return np.asarray(inside.all(axis=-1))


def tightened(place: StoppingPlace) -> StoppingPlace:
    """Return the place with each class's ends drawn in by the others' and by the label's lead."""
    low, high = list(place.low), list(place.high)
    size = len(low)
    while True:
        before = (*low, *high)
        if place.label is not None:
            label = place.label
            leads = sum(place.lead(klass) for klass in range(size) if klass != label)
            low[label] = max(low[label], -(-(place.records + leads) // size))
            for klass in range(size):
                if klass != label:
                    margin = place.lead(klass)
                    half = (place.records - margin) // 2
                    high[klass] = min(high[klass], high[label] - margin, half)
                    low[label] = max(low[label], low[klass] + margin)
        lows, highs = sum(low), sum(high)
        for klass in range(size):
            low[klass] = max(low[klass], place.records - (highs - high[klass]))
            high[klass] = min(high[klass], place.records - (lows - low[klass]))
            lows, highs = sum(low), sum(high)
        if (*low, *high) == before or any(a > b for a, b in zip(low, high, strict=True)):
            return replace(place, low=tuple(low), high=tuple(high))
