"""Independent draws from the uniform distribution over data sets that obey the facts, by rejection node by node.

Each leaf shuffles its classes over its records; each inner node draws its parts anew until its own rows hold. The parts
are independent given the leaves' facts, so what is accepted is an exact draw. Where acceptance is too low the sampler
gives up; it never returns its last try.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from audit.reading import Interval, Reading, Undetermined
from audit.worlds.check import node_holds
from audit.worlds.clock import Clock
from audit.worlds.facts import Facts
from audit.worlds.places import Place

IntArray = NDArray[np.int64]
BATCH_CELLS = 4_000_000
MOST_LEAF_RECORDS = 2_000_000
LEAST_ACCEPTANCE = 1e-4
MOST_TRIES = 200_000


class GaveUpError(Exception):
    """Too few draws are accepted, or time is over."""


@dataclass(eq=False)
class Sampler:
    """Draws whole tables; ``tried`` and ``kept`` count, per node, the draws tested and those accepted."""

    facts: Facts
    clock: Clock
    seed: int = 0
    tried: dict[int, int] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)
    draw: np.random.Generator = field(init=False)

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng(self.seed)

    def tables(self, number: int) -> IntArray:
        """Return independent draws, shape (number, P, m).

        Raises:
            GaveUpError: acceptance is too low at some node, or time is over.
        """
        return self._node(0, number)

    def bits(self) -> Reading:
        """Return how many bits the split rows reveal: minus the logarithm of the chance that a data set obeys them.

        Each node's acceptance is a binomial share, so the ends hold together with probability 0.99 (Clopper-Pearson).
        """
        tested = [node for node in self.tried if self.facts.splits.get(node)]
        if any(self.facts.lines.values()):
            return Undetermined("rows across leaves and split rows were tested together")
        part = 0.01 / max(len(tested), 1) / 2
        low = high = 0.0
        for node in tested:
            tried, kept = self.tried[node], self.kept[node]
            low -= (
                math.log2(min(float(beta.isf(part, kept + 1, tried - kept)), 1.0))
                if kept < tried
                else 0.0
            )
            high -= math.log2(float(beta.ppf(part, kept, tried - kept + 1)))
        return Interval(low, max(low, high))

    def _node(self, node: int, number: int) -> IntArray:
        if self.clock.is_over:
            raise GaveUpError("time was over")
        if not self._is_tested(node):
            return self._parts(node, number)
        got: list[IntArray] = []
        have = 0
        span = self.facts.span(node)
        most = max(1, BATCH_CELLS // ((span.stop - span.start) * self.facts.classes))
        while have < number:
            rate = (self.kept.get(node, 0) + 1) / (self.tried.get(node, 0) + 1)
            wanted = int(np.clip((number - have) / rate * 1.1 + 1, 1, most))
            tables = self._parts(node, wanted)
            good = node_holds(self.facts, node, tables)
            self.tried[node] = self.tried.get(node, 0) + len(tables)
            self.kept[node] = self.kept.get(node, 0) + int(good.sum())
            got.append(tables[good][: number - have])
            have += len(got[-1])
            self._check(node)
        return np.concatenate(got)

    def _check(self, node: int) -> None:
        tried, kept = self.tried[node], self.kept[node]
        if tried > MOST_TRIES * 0.1 and kept < LEAST_ACCEPTANCE * tried:
            name = self.facts.tree.nodes[node].name
            raise GaveUpError(f"at node {name} fewer than 1 draw in 10000 obeys the split rows")

    def _is_tested(self, node: int) -> bool:
        return bool(self.facts.splits.get(node) or self.facts.lines.get(node))

    def _parts(self, node: int, number: int) -> IntArray:
        parts = []
        if node in self.facts.places:
            parts.append(self._place(self.facts.places[node], number))
        for child in self.facts.tree.nodes[node].children:
            span = self.facts.span(child)
            if span.start < span.stop:
                parts.append(self._node(child, number))
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1)

    def _place(self, place: Place, number: int) -> IntArray:
        """Return draws of the tables of the profiles that stop at a place."""
        counts = self.facts.counts[place.start : place.end]
        classes = self.facts.classes
        if place.is_fixed and (len(counts) == 1 or max(place.low) == place.records):
            whole = counts[:, None] * (np.array(place.low) > 0)
            table = np.array([place.low]) if len(counts) == 1 else whole
            return np.broadcast_to(table, (number, *table.shape)).astype(np.int64)
        if place.records > MOST_LEAF_RECORDS or place.records * number > 50 * BATCH_CELLS:
            raise GaveUpError(f"a leaf of {place.records} records is too large to shuffle")
        values = self._classes(place, number)
        values = self.draw.permuted(values, axis=1)
        owner = np.repeat(np.arange(len(counts)), counts) * classes
        cells = np.arange(number)[:, None] * (len(counts) * classes) + owner + values
        flat = np.bincount(cells.ravel(), minlength=number * len(counts) * classes)
        return flat.reshape(number, len(counts), classes).astype(np.int64)

    def _classes(self, place: Place, number: int) -> IntArray:
        """Return the classes of a place's records, (number, records), in no particular order."""
        low, high = np.array(place.low), np.array(place.high)
        fixed = np.repeat(np.arange(len(low)), np.where(low == high, low, 0))
        open_ = np.flatnonzero(low < high)
        if not len(open_):
            return np.broadcast_to(fixed, (number, len(fixed))).copy()
        rest = place.records - len(fixed)
        got: list[IntArray] = []
        have = tried = 0
        while have < number:
            if self.clock.is_over:
                raise GaveUpError("time was over")
            free = self.draw.choice(open_, size=(max(number, 16), rest))
            values = np.concatenate([np.broadcast_to(fixed, (len(free), len(fixed))), free], axis=1)
            cells = np.arange(len(free))[:, None] * len(low) + values
            totals = np.bincount(cells.ravel(), minlength=len(free) * len(low))
            good = place.holds(totals.reshape(len(free), len(low)))
            got.append(values[good][: number - have])
            have += len(got[-1])
            tried += len(free)
            # Uniform over the free records' classes, so the acceptance is the share of data sets that fit the leaf.
            if tried > MOST_TRIES * 0.1 and have < LEAST_ACCEPTANCE * tried:
                raise GaveUpError("too few draws fit what a leaf says of its classes")
        return np.concatenate(got)
