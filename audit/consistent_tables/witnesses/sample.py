"""Independent draws from the uniform distribution over data sets that obey the facts, by rejection node by node.

Each leaf shuffles its classes over its records; each inner node draws its parts anew until its own rows hold. The parts
are independent given the leaves' facts, so what is accepted is an exact draw. Where acceptance is too low the sampler
gives up; it never returns its last try.

From the draws follows an estimate of what all consistent tables say of each record, each table being equally likely.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import betainccinv, betaincinv

from treewarden.audit.bounds import StoppingPlace
from treewarden.audit.consistent_tables.facts.facts import Facts
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.witnesses.enumerate import UniformPosterior
from treewarden.audit.progress import Clock
from treewarden.audit.reading import Interval, Reading, Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IntArray

BATCH_CELLS = 4_000_000
MOST_LEAF_RECORDS = 2_000_000
SHUFFLED_PER_PROFILE = 20
"""Records that are shuffled in the time in which one profile's are drawn from an urn."""
LARGEST_URN = 10**9 - 1
"""So many records may be in an urn that is drawn from without putting back."""
LEAST_ACCEPTANCE = 1e-4
ENOUGH_TRIES = 1_000
CELLS_PER_DRAW = 1_000_000
"""Cells (positions times classes) that are tested at one node for one accepted draw, beyond which it is hopeless."""
FIRST_WORK = 80_000_000
WORK_PER_DRAW = 10_000_000
"""Cells times split families that are tested for the first draw and for each other one that is asked for, at most; more
for large tables. A limit on work and not on time, so that runs agree."""
PASSES_PER_DRAW = 50
FEWEST_TOGETHER, MOST_TOGETHER = 16, 4096
"""Class counts of a leaf that are drawn at a time: more, the fewer fit."""


SAMPLING_OUT_OF_TIME = "time was over"


class GaveUpError(Exception):
    """Too few draws are accepted, or time is over."""


@dataclass(eq=False)
class Sampler:
    """Draws whole tables; ``tried`` and ``kept`` count, per node, the draws tested and those accepted.

    ``shown`` are the facts of tables that show what is possible, and ``shows`` which of the newest draws obey them.
    ``effort`` scales the work after which it gives up.
    """

    facts: Facts
    clock: Clock
    seed: int = 0
    effort: float = 1.0
    shown: Facts | None = None
    tried: dict[int, int] = field(default_factory=dict)
    kept: dict[int, int] = field(default_factory=dict)
    order: dict[int, list[tuple[AttributeSplits, AttributeSplits]]] = field(default_factory=dict)
    work: int = 0
    done: int = 0
    shows: BoolArray = field(init=False)
    draw: np.random.Generator = field(init=False)
    kind: type[np.signedinteger[Any]] = field(init=False)

    def __post_init__(self) -> None:
        self.draw = np.random.default_rng(self.seed)
        # Half the memory to pass over, where no sum can be larger.
        self.kind = np.int32 if self.facts.counts.sum() < 2**31 else np.int64

    def tables(self, number: int) -> IntArray:
        """Return independent draws, shape (number, P, m).

        Raises:
            GaveUpError: acceptance is too low at some node, or time is over.
        """
        self.done += number
        tables, self.shows = self._node(0, number)
        return tables.swapaxes(0, 1)

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
                math.log2(min(float(betainccinv(kept + 1, tried - kept, part)), 1.0))
                if kept < tried
                else 0.0
            )
            high -= math.log2(float(betaincinv(kept, tried - kept + 1, part)))
        return Interval(low, max(low, high))

    def _node(self, node: int, number: int) -> tuple[IntArray, BoolArray]:
        """Return draws below a node, (S, number, m), as sums over positions are quick so, and which of them show."""
        if self.clock.is_over:
            raise GaveUpError(SAMPLING_OUT_OF_TIME)
        if not self._is_tested(node):
            return self._parts(node, number)
        accepted: list[tuple[IntArray, BoolArray]] = []
        have = 0
        span = self.facts.span(node)
        most = max(1, BATCH_CELLS // ((span.stop - span.start) * self.facts.classes))
        while have < number:
            rate = (self.kept.get(node, 0) + 1) / (self.tried.get(node, 0) + 1)
            wanted = int(np.clip((number - have) / rate * 1.1 + 1, 1, most))
            tables, shows = self._parts(node, wanted)
            is_good, is_shown = self._good(node, tables.swapaxes(0, 1))
            good, shows = np.flatnonzero(is_good), shows & is_shown
            self.tried[node] = self.tried.get(node, 0) + wanted
            self.kept[node] = self.kept.get(node, 0) + len(good)
            good = good[: number - have]
            accepted.append((tables if len(good) == wanted else tables[:, good], shows[good]))
            have += len(good)
            self._check(node)
        if len(accepted) == 1:
            return accepted[0]
        parts, flags = zip(*accepted, strict=True)
        return np.concatenate(parts, axis=1), np.concatenate(flags)

    def _good(self, node: int, tables: IntArray) -> tuple[BoolArray, BoolArray]:
        """Return which tables obey the node's rows, and which show what is possible.

        Splits that most tables break are asked first from then on.
        """
        start = self.facts.span(node).start
        lines = self.facts.lines.get(node, ())
        good = np.ones(len(tables), dtype=bool)
        for line in lines:
            if self.clock.is_over:
                raise GaveUpError(SAMPLING_OUT_OF_TIME)
            good &= line.holds_each(tables, start)
        splits, shows = self.order.setdefault(node, self._pairs(node)), good.copy()
        most, first = 0, 0
        for number, (split, shown) in enumerate(splits):
            left = np.flatnonzero(good)
            if not len(left):
                break
            if self.clock.is_over:
                raise GaveUpError(SAMPLING_OUT_OF_TIME)
            held, is_shown = split.hold_and_show(
                shown, tables if len(left) == len(tables) else tables[left]
            )
            good[left] = held
            shows[left] &= is_shown
            killed = len(left) - int(good[left].sum())
            self.work += tables[0].size * len(left)
            most, first = max((most, first), (killed, number))
        if splits:
            splits.insert(0, splits.pop(first))
        return good, shows

    def _pairs(self, node: int) -> list[tuple[AttributeSplits, AttributeSplits]]:
        """Return the choices of a node's split, each for draws and for those that show what is possible."""
        splits = self.facts.splits.get(node, ())
        shown = splits if self.shown is None else self.shown.splits.get(node, ())
        return list(zip(splits, shown, strict=True))

    def _check(self, node: int) -> None:
        tried, kept = self.tried[node], self.kept[node]
        span = self.facts.span(node)
        cells = tried * (span.stop - span.start) * self.facts.classes
        hopeless = cells > CELLS_PER_DRAW * (kept + 1) or kept + 1 < LEAST_ACCEPTANCE * tried
        if tried > ENOUGH_TRIES and hopeless:
            name = self.facts.tree.nodes[node].name
            raise GaveUpError(
                f"at node {name}, {kept} of {tried} samples agree with the chosen splits"
            )
        size = PASSES_PER_DRAW * len(self.facts.counts) * self.facts.classes
        most = max(FIRST_WORK, size) + max(WORK_PER_DRAW, size) * (self.done - 1)
        if self.work > self.effort * most:
            raise GaveUpError("too few of the random tables that were tried fit the file")

    def _is_tested(self, node: int) -> bool:
        return bool(self.facts.splits.get(node) or self.facts.lines.get(node))

    def _parts(self, node: int, number: int) -> tuple[IntArray, BoolArray]:
        parts, shows = [], np.ones(number, dtype=bool)
        if node in self.facts.places:
            parts.append(self._place(self.facts.places[node], number))
        for child in self.facts.tree.nodes[node].children:
            span = self.facts.span(child)
            if span.start < span.stop:
                part, is_shown = self._node(child, number)
                parts.append(part)
                shows &= is_shown
        return (parts[0] if len(parts) == 1 else np.concatenate(parts)), shows

    def _place(self, place: StoppingPlace, number: int) -> IntArray:
        """Return draws of the tables of the profiles that stop at a place, shape (S, number, m)."""
        counts = self.facts.counts[place.start : place.end]
        classes = self.facts.classes
        if place.is_fixed and (len(counts) == 1 or max(place.low) == place.records):
            whole = counts[:, None] * (np.array(place.low) > 0)
            table = np.array([place.low]) if len(counts) == 1 else whole
            return np.broadcast_to(table[:, None], (len(table), number, classes)).astype(self.kind)
        if place.records > MOST_LEAF_RECORDS or place.records * number > 50 * BATCH_CELLS:
            if place.is_fixed and place.records <= LARGEST_URN:
                return self._by_profile(place, counts, number)
            raise GaveUpError(f"a leaf of {place.records} records is too large to shuffle")
        many = place.records * number > BATCH_CELLS
        if many and place.is_fixed and place.records > SHUFFLED_PER_PROFILE * len(counts):
            return self._by_profile(place, counts, number)
        drawn = self._classes(place, number)
        found = np.empty((len(counts), number, classes), dtype=self.kind)
        some = max(1, BATCH_CELLS // place.records)
        for start in range(0, number, some):
            values = self.draw.permuted(drawn[start : start + some], axis=1)
            here = len(values)
            owner = np.repeat(np.arange(len(counts)), counts) * (here * classes)
            cells = np.arange(here)[:, None] * classes + owner + values
            flat = np.bincount(cells.ravel(), minlength=len(counts) * here * classes)
            found[:, start : start + here] = flat.reshape(len(counts), here, classes)
        return found

    def _by_profile(self, place: StoppingPlace, counts: IntArray, number: int) -> IntArray:
        """Return what shuffling gives too, (S, number, m), at the cost of profiles and not of records.

        The records of one class are a draw from all that are left, without putting back.
        """
        found = np.empty((len(counts), number, self.facts.classes), dtype=self.kind)
        *sizes, _ = place.low  # the last class has the records that are left
        if len(sizes) == 1:
            drawn = self.draw.multivariate_hypergeometric(counts, sizes[0], number, "marginals")
            found[..., 0] = drawn.T
            found[..., 1] = counts[:, None] - found[..., 0]
            return found
        for each in range(number):
            left = counts.copy()
            for klass, size in enumerate(sizes):
                drawn = self.draw.multivariate_hypergeometric(left, size, method="marginals")
                found[:, each, klass] = drawn
                left -= drawn
            found[:, each, -1] = left
        return found

    def _classes(self, place: StoppingPlace, number: int) -> IntArray:
        """Return the classes of a place's records, (number, records), in no particular order.

        How many records have each class is drawn, and not the class of each: the records are shuffled afterwards.
        """
        low, high = np.array(place.low), np.array(place.high)
        fixed, classes = np.where(low == high, low, 0), np.arange(len(low))
        is_open = low < high
        if not is_open.any():
            return np.broadcast_to(np.repeat(classes, fixed), (number, place.records))
        rest = place.records - int(fixed.sum())
        accepted: list[IntArray] = []
        have = tried = 0
        while have < number:
            if self.clock.is_over:
                raise GaveUpError(SAMPLING_OUT_OF_TIME)
            wanted = max(number, FEWEST_TOGETHER, min(tried, MOST_TOGETHER))
            totals = fixed + self.draw.multinomial(rest, is_open / is_open.sum(), wanted)
            good = totals[place.holds(totals)][: number - have]
            accepted.append(np.repeat(np.tile(classes, len(good)), good.ravel()))
            have += len(good)
            tried += wanted
            # Uniform over the free records' classes, so the acceptance is the share of data sets that fit the leaf.
            if tried > 20 * ENOUGH_TRIES and have < LEAST_ACCEPTANCE * tried:
                raise GaveUpError("too few samples match the class counts of a leaf")
        return np.concatenate(accepted).reshape(number, place.records)


ERROR = 0.01
"""The chance that any of the intervals misses."""


def drawn_posterior(
    facts: Facts, tables: Sequence[IntArray], low: IntArray, high: IntArray
) -> UniformPosterior:
    """Return estimates from K independent draws (P, m) with Clopper-Pearson intervals, Bonferroni over open cells.

    One record of each profile is picked in each draw, so that the counts are binomial whatever the profile's size.
    ``low`` and ``high`` are the proved ends of each cell.
    """
    number = len(tables)
    size = np.maximum(facts.counts, 1)[:, None]
    sums, picked = (np.zeros((len(size), facts.classes), dtype=np.int64) for _ in range(2))
    draw, positions = np.random.default_rng(1), np.flatnonzero(facts.counts)
    for table in tables:
        sums += table
        record = draw.integers(size)
        klass = (np.cumsum(table, axis=1) <= record).sum(axis=1)
        picked[positions, klass[positions]] += 1
    open_cells = max(int((low < high).sum()), 1)
    part = ERROR / open_cells / 2
    with np.errstate(invalid="ignore"):
        least = np.where(picked > 0, betaincinv(picked, number - picked + 1, part), 0.0)
        most = np.where(picked < number, betainccinv(picked + 1, number - picked, part), 1.0)
    least, most = np.maximum(least, low / size), np.minimum(most, high / size)
    most = np.maximum(most, least)
    means = np.clip(sums / (number * size), least, most)
    return UniformPosterior(means, np.asarray(least), np.asarray(most), number)
