"""Whether changes of a table lead to worlds: many are held against a row of the tree together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from treewarden.audit.consistent_tables.facts.facts import Facts, Row
from treewarden.audit.consistent_tables.facts.splits import AttributeSplits
from treewarden.audit.consistent_tables.witnesses.witness_pool import TableChanges
from treewarden.audit.engine.problem import IntegerRow
from treewarden.audit.facts.rows import Grouping
from treewarden.audit.progress import Clock
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.tree import Criterion

MOST_EXACT = 500
"""Changes of one row that floats cannot tell and that are counted exactly; of the others nothing is said."""
CHUNK_CELLS = 500_000
KEPT_CELLS = 4_000_000
"""Counts of branches that are kept of one table, in all."""


class ChangeChecker:
    """Which changes of a table lead to worlds; what the table has is counted once.

    Of one row so many changes that floats cannot tell are counted exactly (``most_exact``): the others may be missing.
    """

    def __init__(self, facts: Facts, table: IntArray, most_exact: int = MOST_EXACT) -> None:
        self.facts, self.table, self.most_exact = facts, table, most_exact
        self._counted: dict[int, _SplitCounts] = {}
        self._lefts: dict[int, IntArray] = {}
        self._spans: dict[int, tuple[int, int]] = {}
        self._cells = 0

    def allowed(self, changes: TableChanges, clock: Clock, leaf: int | None = None) -> IntArray:
        """Return the numbers of the changes that lead to a world; all of them may be in one ``leaf``.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        good = self._places_hold(changes)
        order = np.argsort(changes.first, kind="stable")
        at = changes.first[order]
        # All candidates of a node are held against one split, so that it is looked at once.
        raised, of = np.zeros(len(changes)), (0, "")
        for split in self._above(self.facts.splits, leaf):
            here = order[slice(*np.searchsorted(at, (split.start, split.end)))]
            here = here[good[here]]
            if split.low is None and len(here) and of != (id(split.chosen), _kind_of(split)):
                raised[here] = self._chosen_raised(split, changes.select(here))
                of = id(split.chosen), _kind_of(split)
            step = max(1, CHUNK_CELLS // max(1, split.size))
            for begin in range(0, len(here), step):
                clock.check()
                some = here[begin : begin + step]
                good[some] = self._split_holds(split, changes.select(some), clock, raised[some])
        self._lines_hold(changes, good, clock, leaf)
        for sets in self.facts.sets if good.any() else ():
            clock.check()
            left = np.flatnonzero(good)
            good[left] = sets.allows_moves(self.table, changes.select(left).moves())
        return np.flatnonzero(good)

    def _above(self, rows: Mapping[int, Sequence[Row]], leaf: int | None) -> Iterator[Row]:
        """Yield all rows, or those above a leaf alone."""
        for node in rows if leaf is None else self.facts.path(leaf):
            yield from rows.get(node, ())

    @cached_property
    def _totals(self) -> IntArray:
        """The count of each class of each leaf, (L, m)."""
        return np.asarray(np.add.reduceat(self.table, self.facts.starts, axis=0))

    def _places_hold(self, changes: TableChanges) -> BoolArray:
        """Return whether the leaf's own numbers allow each change: there ``other`` becomes ``to``."""
        is_swap: BoolArray = np.asarray(changes.to == changes.other)
        if is_swap.all():
            return is_swap
        classes, exact = self.table.shape[1], self.facts.exact
        leaf = self.facts.leaf_numbers[changes.first]
        kinds = (leaf * classes + changes.other) * classes + changes.to
        kinds, of = np.unique(kinds, return_inverse=True)
        leaf, pair = np.divmod(kinds, classes * classes)
        rows = np.arange(len(leaf))
        after = self._totals[leaf]
        after[rows, pair // classes] -= 1
        after[rows, pair % classes] += 1
        low, high = (end[leaf] for end in self.facts.ends)
        good: BoolArray = np.asarray(((after >= low) & (after <= high)).all(axis=1))
        label = exact.label[leaf]
        led = np.flatnonzero((label >= 0) & (low != high).any(axis=1))
        label, after = label[led], after[led]
        lead = after[np.arange(len(led)), label][:, None] - after - exact.leads[leaf[led]]
        lead[np.arange(len(led)), label] = 0
        good[led] &= (lead >= 0).all(axis=1)
        return np.asarray(good[of.reshape(-1)])

    def _chosen_raised(self, split: AttributeSplits, changes: TableChanges) -> FloatArray:
        """Return by how much each change raises the sum of f(count) over branches of the chosen split, (K,)."""
        at = (part - split.start for part in (changes.first, changes.second))
        ours, theirs = (split.chosen.of[part].astype(np.intp)[None] for part in at)
        steps = _steps(split, changes)
        masses = self._counts(split).chosen
        return np.asarray(_moved(split, masses, (ours, theirs), changes, steps)[0])

    def _split_holds(
        self,
        split: AttributeSplits,
        changes: TableChanges,
        clock: Clock,
        chosen: FloatArray | None = None,
    ) -> BoolArray:
        """Return whether a split's rows allow each change; exact where floats cannot tell.

        ``chosen`` (K,) is what ``_chosen_raised`` says of them, where somebody asked.
        """
        if split.low is not None:
            # The leaves' counts are known, so that each change is a swap inside one of them.
            return _in_intervals(split, self._left(split), changes)
        steps, fits = _steps(split, changes), np.ones(len(changes), dtype=bool)
        if split.weights is not None:
            # Records of other weights would change the size of a branch.
            fits = steps == split.weights[changes.second - split.start]
        counts = self._counts(split)
        chosen = self._chosen_raised(split, changes) if chosen is None else chosen
        raised = _raised(split, counts, changes, steps, chosen)
        over = counts.excess[:, None] + raised - split.limit
        near = np.abs(over) <= 2 * split.doubt[:, None]
        good = np.asarray(fits & ~((over > 0) & ~near).any(axis=0))
        if split.ties.loses is not None:
            floor = split.tie_floor - split.limit
            if over.max(initial=-np.inf) >= np.min(floor):
                may_tie = (over >= np.reshape(floor, (-1, 1))) & good
                good &= ~_unsure_ties(split, counts, changes, steps, may_tie)
        doubtful = np.flatnonzero(near.any(axis=0) & good)
        good[doubtful[self.most_exact :]] = False
        for number in doubtful[: self.most_exact].tolist():
            clock.check()
            after = changes.applied(number, self.table)[split.start : split.end]
            good[number] = not any(
                split.is_beaten(after, int(a)) for a in np.flatnonzero(near[:, number])
            )
        return good

    def _left(self, split: AttributeSplits) -> IntArray:
        """Return the first class's count on the left of each candidate, (A,)."""
        if id(split) not in self._lefts:
            here = self.table[None, split.start : split.end, 0]
            self._lefts[id(split)] = split.lefts(split.bins.sums(here))[0]
        return self._lefts[id(split)]

    def _counts(self, split: AttributeSplits) -> _SplitCounts:
        """Return what the table has at a split; kept for its next changes, as long as all is small."""
        counts = self._counted.get(id(split))
        if counts is None:
            counts = _counts_at(split, self.table[None, split.start : split.end])
            self._cells += counts.branches.size
            if self._cells <= KEPT_CELLS:
                self._counted[id(split)] = counts
        return counts

    def _lines_hold(
        self, changes: TableChanges, good: BoolArray, clock: Clock, leaf: int | None = None
    ) -> None:
        """Take out the changes that break a linear row; only those of its people can.

        Raises:
            OutOfTimeError: the budget is used up, so that some changes that are left may break one.
        """
        by_first = np.argsort(changes.first, kind="stable")
        by_second = np.argsort(changes.second, kind="stable")
        first, second = changes.first[by_first], changes.second[by_second]
        lines = list(self._above(self.facts.lines, leaf))
        if not lines:
            return
        spans = np.array([self._span_of(line) for line in lines])
        at_first, at_second = np.searchsorted(first, spans), np.searchsorted(second, spans)
        is_met = (at_first[:, 0] < at_first[:, 1]) | (at_second[:, 0] < at_second[:, 1])
        for number in np.flatnonzero(is_met).tolist():
            clock.check()
            here = np.union1d(
                by_first[slice(*at_first[number])], by_second[slice(*at_second[number])]
            )
            line = lines[number]
            good[here] &= self._line_holds(line, self._span_of(line), changes.select(here))

    def _span_of(self, line: IntegerRow) -> tuple[int, int]:
        """Return between which positions the people of a linear row stand: the first, and the one after the last."""
        if id(line) not in self._spans:
            self._spans[id(line)] = int(line.positions.min()), int(line.positions.max()) + 1
        return self._spans[id(line)]

    def _line_holds(
        self, line: IntegerRow, span: tuple[int, int], changes: TableChanges
    ) -> BoolArray:
        """Return whether each change keeps a linear row whose people stand between two positions."""
        short = max(map(abs, line.weights), default=0) < 2**40
        # What stands outside has no weight: the last row says so.
        shape = (span[1] - span[0] + 1, self.table.shape[1])
        weights = np.zeros(shape, dtype=np.int64 if short else object)
        np.add.at(weights, (line.positions - span[0], line.classes), np.array(line.weights))
        first, second = (
            np.where((at >= span[0]) & (at < span[1]), at - span[0], shape[0] - 1)
            for at in (changes.first, changes.second)
        )
        gain = (
            weights[first, changes.to]
            - weights[first, changes.own]
            + weights[second, changes.own]
            - weights[second, changes.other]
        )
        after = line.value(self.table) + gain
        return np.asarray(((after >= line.low) & (after <= line.high)).astype(bool))


def _in_intervals(split: AttributeSplits, count: IntArray, swaps: TableChanges) -> BoolArray:
    """Return which swaps leave a count (A,) within the intervals of all candidates."""
    assert split.low is not None
    assert split.high is not None
    gain = np.where(swaps.own == 0, -1, 1)
    bin_of, start = split.bins.of.astype(np.intp), split.start
    bins = bin_of[swaps.first - start], bin_of[swaps.second - start]
    if split.family.grouping is not Grouping.THRESHOLD:
        first, second = (split.on_left(each).astype(np.int8) for each in bins)
        after = count[:, None] + gain * (first - second)
        inside = (after >= split.low[:, None]) & (after <= split.high[:, None])
        return np.asarray(inside.all(axis=0))
    # Only the cuts between the two records' bins see the swap, by one record.
    low, high = np.minimum(*bins), np.maximum(*bins)
    ends = np.searchsorted(split.family.admissible, np.stack([low, high]))
    step = np.where(bins[0] < bins[1], gain, -gain)
    bad = {
        moved: np.concatenate(
            [[0], np.cumsum((count + moved < split.low) | (count + moved > split.high))]
        )
        for moved in (-1, 0, 1)
    }
    between = {moved: sums[ends[1]] - sums[ends[0]] for moved, sums in bad.items()}
    moved_well = np.where(step > 0, between[1], between[-1]) == 0
    return np.asarray(moved_well & (bad[0][-1] == between[0]))


@dataclass(frozen=True, slots=True, eq=False)
class _SplitCounts:
    """A table at a split of A candidates: the excess of each, (A,), and how many records each branch has of a class.

    ``branches`` (A, branches, m) are of the candidates, ``chosen`` (1, branches, m) of the split that was chosen, and
    ``whole`` (1, 1, m) of all.
    """

    excess: FloatArray
    branches: FloatArray
    chosen: FloatArray
    whole: FloatArray


def _counts_at(split: AttributeSplits, table: IntArray) -> _SplitCounts:
    """Return what a table (1, S, m) has at a split."""
    weighed, compared = split.weighed(table), split.compared(table)
    chosen = np.asarray(compared.chosen, dtype=np.float64)
    if split.chosen_table is not None:  # what leaves say, which need not be so in this table
        chosen = split.chosen.sums(weighed).astype(np.float64)
    return _SplitCounts(
        excess=np.asarray(compared.excess[0]),
        branches=compared.branches[0],
        chosen=chosen,
        whole=weighed.sum(axis=1).astype(np.float64)[None],
    )


def _unsure_ties(
    split: AttributeSplits,
    counts: _SplitCounts,
    changes: TableChanges,
    steps: IntArray,
    may_tie: BoolArray,
) -> BoolArray:
    """Return which changes (K,) lead to ties, of those that may be ones (A, K), that may be resolved otherwise."""
    unsure = np.zeros(len(changes), dtype=bool)
    candidates, numbers = np.nonzero(may_tie)
    if not len(numbers):
        return unsure
    some, steps = changes.select(numbers), steps[numbers]
    position, partner = some.first - split.start, some.second - split.start
    first, second = (
        split.sides(candidates, split.bins.of[each].astype(np.intp)) for each in (position, partner)
    )
    branches = counts.branches[candidates]
    _move(branches, (first, second), some, steps)
    chosen = np.repeat(counts.chosen, len(numbers), axis=0)
    at = split.chosen.of[position].astype(np.intp), split.chosen.of[partner].astype(np.intp)
    _move(chosen, at, some, steps)
    unsure[numbers[~split.lose_ties(candidates, branches, chosen)]] = True
    return unsure


def _move(
    masses: FloatArray, at: tuple[IndexArray, IndexArray], changes: TableChanges, steps: IntArray
) -> None:
    """Make each of K changes in masses (K, branches, m) of its own; ``at`` are its records' branches (K,) each."""
    rows, is_pair = np.arange(len(masses)), changes.second != changes.first
    np.add.at(masses, (rows, at[0], changes.own), -steps)
    np.add.at(masses, (rows, at[0], changes.to), steps)
    np.add.at(masses, (rows, at[1], changes.other), -steps * is_pair)
    np.add.at(masses, (rows, at[1], changes.own), steps * is_pair)


def _kind_of(split: AttributeSplits) -> str:
    """Return by which sums a split is compared; sums of weights are no other family's."""
    return split.criterion.value if split.weights is None else f"weights {id(split)}"


def _steps(split: AttributeSplits, changes: TableChanges) -> IntArray:
    """Return what each change's first record counts in the sums of a split, (K,)."""
    if split.weights is None:
        return np.ones(len(changes), dtype=np.int64)
    return np.asarray(split.weights[changes.first - split.start])


def _raised(
    split: AttributeSplits,
    counts: _SplitCounts,
    changes: TableChanges,
    steps: IntArray,
    chosen: FloatArray,
) -> FloatArray:
    """Return by how much each change raises the excess of each candidate, (A, K), and the ``chosen`` split's, (K,)."""
    bin_of = split.bins.of
    position, partner = changes.first - split.start, changes.second - split.start
    bins_of = bin_of[position].astype(np.intp), bin_of[partner].astype(np.intp)
    found = moved_excess(split, counts.branches, bins_of, changes, steps)
    found = found - split.ratio[:, None] * chosen
    if split.criterion is Criterion.GAIN_RATIO:
        root = np.zeros((1, len(changes)), dtype=np.intp)
        raised = _moved(split, counts.whole, (root, root), changes, steps)
        found = found - (1 - split.ratio[:, None]) * raised
    return np.asarray(found)


def moved_excess(
    split: AttributeSplits,
    mass: FloatArray,
    bins: tuple[IntArray, IntArray],
    changes: TableChanges,
    steps: IntArray,
) -> FloatArray:
    """Return by how much changes of records in two bins (K,) raise the excess of candidates, (A, K).

    ``mass`` (A, branches, m) are the counts of each candidate's branches, ``steps`` (K,) what each record counts.
    """
    if split.is_binary:
        first, second = (np.asarray(~split.on_left(each), dtype=np.intp) for each in bins)
    else:
        first, second = (each.astype(np.intp)[None] for each in bins)
    return _moved(split, mass, (first, second), changes, steps)


def _moved(
    split: AttributeSplits,
    mass: FloatArray,
    branch: tuple[IntArray, IntArray],
    changes: TableChanges,
    steps: IntArray,
) -> FloatArray:
    """Return by how much changes raise the sum of f(count) over branches of masses (A, branches, m), shape (A, K)."""
    first, second = (np.broadcast_to(each, (len(mass), len(changes))) for each in branch)
    own, other, to = changes.own, changes.other, changes.to
    if split.weights is None and 2 * len(changes) >= mass[0].size:
        gain = _tabled_gain(split, mass)
    else:
        gain = _gain(split, mass, steps)
    loses, gets = gain(second, other, -1), gain(first, to, 1)
    together = (loses + gets) * (other != to)
    if (first == second).all():
        return np.asarray(together)
    apart = gain(first, own, -1) + gets + loses + gain(second, own, 1)
    return np.asarray(np.where(first == second, together, apart))


Gain = Callable[[IntArray, IntArray, int], FloatArray]
"""By how much f rises where branches (A, K) get or lose, 1 or -1, a record of some classes (K,), shape (A, K)."""


def _gain(split: AttributeSplits, mass: FloatArray, steps: IntArray) -> Gain:
    number, sizes = np.arange(len(mass))[:, None], mass.sum(axis=-1)

    def gain(at: IntArray, klass: IntArray, sign: int) -> FloatArray:
        count, size = mass[number, at, klass[None]], sizes[number, at]
        return _rise(split.criterion, count, size, sign * steps)

    return gain


def _tabled_gain(split: AttributeSplits, mass: FloatArray) -> Gain:
    """Return the same of records that count 1 each, worked out once for each branch and class."""
    sizes = np.maximum(mass.sum(axis=-1, keepdims=True), 1.0)  # nobody leaves or joins an empty one
    step = np.ones(1, dtype=np.int64)
    rises = {sign: _rise(split.criterion, mass, sizes, sign * step).ravel() for sign in (-1, 1)}
    _, branches, classes = mass.shape
    row = np.arange(len(mass))[:, None] * branches

    def gain(at: IntArray, klass: IntArray, sign: int) -> FloatArray:
        return np.asarray(rises[sign].take((row + at) * classes + klass))

    return gain


def _rise(criterion: Criterion, count: FloatArray, size: FloatArray, step: IntArray) -> FloatArray:
    """Return by how much f of counts rises with so many records more, in branches of some sizes."""
    if criterion is Criterion.GINI:
        return np.asarray(((count + step) ** 2 - count**2) / size)
    after = np.maximum(count + step, 0)
    return np.asarray(after * np.log(np.maximum(after, 1)) - count * np.log(np.maximum(count, 1)))
