"""Whether splits look drawn: held against those that a learner without privacy chooses, and against the claimed noise.

A learner without privacy takes good splits of each node. How likely a split without the records is as good as its own
is known: a column taken as easily as any other, and a threshold drawn evenly. Given the splits above it, each is by
itself, so logarithms of these probabilities add up (Fisher's method), and too small a sum leaves the claim open.
Private splits may well be good: of them, too many best ones with thresholds half way between two records do so, and so
do more of the best ones than the exponential mechanism takes with all that is left of epsilon (McSherry & Talwar 2007).
Splits of their own kind (several columns in one test) are not compared.

Of treewarden's own private learner the draws are known: permute-and-flip over its public grid (McKenna & Sheldon 2020),
one node after the other. So the probability of a cut that is as good as the drawn one, or as bad, follows from the
people of the node. Too small ones together leave the claim open: cuts were chosen with less noise, or with other noise.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.claims.realised_loss import (
    BestSplit,
    best_splits,
    bets_on_best,
    joint_p,
    most_gain_weight,
    p_of_bets,
)
from treewarden.audit.facts.impurity_rows import branch_impurity
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.learn.private_growth import purity_scores, score_chances
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn, cut_grid
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, atoms
from treewarden.ppdm_models.tree.privacy_claim import PrivacyClaim, SplitOrigin
from treewarden.ppdm_models.tree.tree import Criterion, Tree

MOST_BY_CHANCE = 1e-3
"""Splits of a kind that draws hit less often than this leave a claim open."""
MOST_SPLITS = 64
"""So many splits of a tree are looked at, those near the root."""
MOST_PLACES = 10_000_000
"""So many places of profiles in splits are kept at once at most: some 80 MB."""
GREEDY = (
    "{best} of {splits} splits are the best ones of their column for this table, which is what a learner without "
    "privacy chooses; train again with a private learner, or publish it without the claim"
)
FITTING = (
    "the splits fit this table better than splits that are independent of its records would: such splits have a "
    "probability of {p:.2g}; train again with a private learner, or publish it without the claim"
)
FROM_RECORDS = (
    "the file contains thresholds that are values of records of this table, or lie half way between two records "
    "({count}), so they were computed from it without noise; train again with a private learner, or publish it "
    "without the claim"
)
NOT_COMPARED = (
    "{count} of {splits} splits test several columns at once, group values in more than two branches, or test none of "
    "the table's columns, so it is not known how they were chosen; publish the tree without the claim"
)
NOT_DRAWN = (
    "the splits are {how} for this table than draws with the claimed noise would be: such splits have a probability of "
    "{p:.2g}; train again with the private learner, or publish it without the claim"
)
CUTS_UNKNOWN = (
    "people lack values, which the private learner does not accept, so the chances of its splits are not known; give "
    "the table that the tree was trained on"
)
MOST_RANKS = 5
"""So many values apart may two records be: a sample of the table lacks some that lie between."""
LEAST_MISSED = 0.5
"""Columns tell nothing where half of all numbers that could be thresholds are those of records or between them."""
SINGLE_ROUNDING = 2.0**-22
"""How far a threshold of 32 bits may be from the number that it stands for, as a share of it."""
LESS_NOISE = (3, 10)  # times the epsilon that is claimed are bet on, and no noise at all
CRITERIA = (Criterion.GINI, Criterion.ENTROPY)
"""What learners without privacy make small."""


def doubts_of_splits(forest: Forest, population: Population, claim: PrivacyClaim) -> Iterator[str]:
    """Yield that the splits were not chosen as a claim says, where the table tells."""
    if claim.splits is SplitOrigin.UNKNOWN or isinstance(population.truth, Undetermined):
        return
    truth = population.truth
    nodes = [
        node
        for tree, stops in zip(forest.trees, forest.stops, strict=True)
        for node in _split_nodes(tree, stops, population, truth)
    ]
    if claim.splits is SplitOrigin.PRIVATE and _are_of_grid(forest, population):
        for tree, stops in zip(forest.trees, forest.stops, strict=True):
            yield from _doubts_of_draws(tree, _split_nodes(tree, stops, population, truth))
        return
    others = sum(node.parts > 1 and not node.is_compared for node in nodes)
    if 2 * others > len(nodes):
        yield NOT_COMPARED.format(count=others, splits=len(nodes))
    if claim.splits is SplitOrigin.PRIVATE:
        yield from _doubts_of_greed(nodes)
        levels = [int(_depths(tree).max()) for tree in forest.trees]
        yield from _doubts_of_noise(nodes, most_gain_weight(claim, levels))
    else:
        yield from _doubts_of_fit(nodes)
    chances = [chance for node in nodes if (chance := node.chance_of_records()) is not None]
    hits = [chance for chance, is_hit in chances if is_hit]
    if math.comb(len(chances), len(hits)) * math.prod(hits) < MOST_BY_CHANCE:
        yield FROM_RECORDS.format(count=len(hits))


def _doubts_of_fit(nodes: Sequence[_SplitNode]) -> Iterator[str]:
    """Yield that splits are better than chance, among all of a node or those of its column."""
    found = [node.shares_as_good() for node in nodes]
    for within_column in (False, True):
        for criterion in CRITERIA:
            kind = within_column, criterion
            p = joint_p([shares[kind] for shares in found if kind in shares])
            if p < MOST_BY_CHANCE:
                yield FITTING.format(p=p)
                return


def _doubts_of_noise(nodes: Sequence[_SplitNode], scale: float) -> Iterator[str]:
    """Yield that more splits are the best ones than any private choice with so much of epsilon takes."""
    found = [best for node in nodes if (best := node.best_splits(scale))]
    p = p_of_bets(bet for kind in zip(*found, strict=True) for bet in bets_on_best(kind))
    if p < MOST_BY_CHANCE:
        yield NOT_DRAWN.format(how="better", p=p)


def _doubts_of_greed(nodes: Sequence[_SplitNode]) -> Iterator[str]:
    """Yield that a third of the splits or more are the best ones of their column, as no grid's are.

    A private choice may well be the best one: but its threshold hardly lies half way between two records.
    """
    found = [node.shares_as_good(least_only=True) if node.is_half_way() else {} for node in nodes]
    for criterion in CRITERIA:
        best = [shares[True, criterion] for shares in found if (True, criterion) in shares]
        chance = math.comb(len(found), len(best)) * math.prod(best)
        if 3 * len(best) >= len(found) and chance < MOST_BY_CHANCE:
            yield GREEDY.format(best=len(best), splits=len(found))
            return


@dataclass(frozen=True, slots=True, eq=False)
class _SplitNode:
    """An inner node with its people: which profiles are ``here`` (P,), and at which of its children each is (P,).

    ``column`` is the one that its children test, None where they test several, or none of the table; ``end`` is its
    threshold where it has one.
    """

    population: Population
    truth: FloatArray
    children: tuple[int, ...]
    child: IndexArray
    column: str | None
    end: float | None

    @property
    def here(self) -> BoolArray:
        return np.asarray(self.child >= 0)

    @property
    def parts(self) -> int:  # where all people stop in one child, their records chose nothing
        return len(np.unique(self.child[self.here]))

    @property
    def is_multiway(self) -> bool:
        return self.parts > 2

    @property
    def is_compared(self) -> bool:
        """Whether other splits of the kind are known: in two, or with one child for each value of a category."""
        if self.column is None or not self.is_multiway:
            return self.column is not None
        column = self.population.columns[self.column]
        if not isinstance(column, CategoricalColumn):
            return False
        pairs = np.unique(np.stack([column.codes[self.here], self.child[self.here]]), axis=1)
        return bool(len(np.unique(pairs[0])) == pairs.shape[1] == len(np.unique(pairs[1])))

    def shares_as_good(self, *, least_only: bool = False) -> dict[tuple[bool, Criterion], float]:
        """Return how likely a choice without records is as good as the node's own split, or better.

        By whether all splits are those of its column, and by criterion. Of all columns one is taken to be chosen first,
        as easily as any other. With ``least_only`` what is not the best is left out.
        """
        here = self.here
        if self.column is None or not self.is_compared or not here.any():
            return {}
        own = self._counts_of_children()
        sides = self._splits_of_columns(
            [self.column] if least_only else list(self.population.columns)
        )
        tolerance = 1e-9 * float(self.truth[here].sum())
        found = {}
        for criterion in CRITERIA:
            worth = float(branch_impurity(criterion, own).sum())
            shares = {
                name: splits.share_of(worth, criterion, tolerance, least_only=least_only)
                for name, splits in sides.items()
            }
            if self.column in shares and not least_only:
                # A set of values, or an interval, may be better than all that are listed: it counts as their best.
                least = 1 / len(sides[self.column].counts)
                shares[self.column] = max(shares[self.column], least)
            own_share = shares.get(self.column)
            if own_share and not self.is_multiway:  # of which a column has one
                found[True, criterion] = own_share
            if own_share:
                found[False, criterion] = sum(shares.values()) / len(shares)
        return found

    def best_splits(self, scale: float) -> list[BestSplit]:
        """Return how likely a private choice takes one of the best splits at most, and whether the node has one.

        Of its own column and of all, by each criterion; none where its kind of split is not compared.
        """
        here = self.here
        if self.column is None or not self.is_compared or not here.any():
            return []
        splits = self._splits_of_columns(self.population.columns)
        if self.column not in splits:
            return []
        every = [
            np.concatenate(part)
            for part in zip(*map(_ColumnSplits.chances, splits.values()), strict=True)
        ]
        own, within, found = self._counts_of_children(), splits[self.column], list[BestSplit]()
        for criterion in CRITERIA:
            worth = float(branch_impurity(criterion, own).sum())
            worths = {name: each.worths(criterion) for name, each in splits.items()}
            together = np.concatenate(list(worths.values()))
            found += best_splits(worths[self.column], within.chances(), scale, worth)
            found += best_splits(together, [*every, np.ones_like(together)], scale, worth)
        return found

    def _splits_of_columns(self, names: Iterable[str]) -> dict[str, _ColumnSplits]:
        """Return the splits of the node's people by columns, by name, where a column has any."""
        every = {
            name: _splits_of(
                self.population.columns[name], self.here, self.truth, is_multiway=self.is_multiway
            )
            for name in names
        }
        return {name: splits for name, splits in every.items() if len(splits.counts)}

    def _counts_of_children(self) -> FloatArray:
        counts = np.zeros((len(self.children), self.truth.shape[1]))
        for place, child in enumerate(self.children):
            counts[place] = self.truth[self.child == child].sum(axis=0)
        return counts

    def is_half_way(self) -> bool:
        """Return whether the threshold lies half way between the two records beside it."""
        if self.end is None:
            return False
        values = self._values()
        place = int(np.searchsorted(values, self.end, side="right"))
        return 0 < place < len(values) and _is_middle(self.end, *values[place - 1 : place + 1])

    def chance_of_records(self) -> tuple[float, bool] | None:
        """Return which share of thresholds is a record's value or half way between two, and whether its own is.

        That is of all numbers as fine as those of the column; None where most of them are. Values of few digits are
        what people choose too, and count as no record's.
        """
        values = self._values()
        if self.end is None or len(values) < 2:
            return None
        lags = range(1, min(MOST_RANKS, len(values) - 1) + 1)
        middles = np.concatenate([(values[lag:] + values[:-lag]) / 2 for lag in lags])
        told = np.array([value for value in values.tolist() if not _is_short(value)])
        points = np.unique(np.concatenate([middles, told]))
        slack = SINGLE_ROUNDING * float(np.abs(values).max())
        unit = max(float(np.diff(values).min()) / 2, 2 * slack)
        chance = len(points) * unit / float(values[-1] - values[0])
        if chance >= LEAST_MISSED:
            return None
        return chance, bool(np.abs(points - self.end).min() <= slack)

    def _values(self) -> FloatArray:
        """Return the numbers of the node's people in its column, each once, rising; none where it is of categories."""
        column = None if self.column is None else self.population.columns[self.column]
        if not isinstance(column, NumericColumn):
            return np.zeros(0)
        numbers = column.numbers[self.here & (self.truth.sum(axis=1) > 0)]
        return np.unique(numbers[~np.isnan(numbers)])


def _is_middle(end: float, low: float, high: float) -> bool:
    middle = (low + high) / 2
    singles = np.float32(low) / 2 + np.float32(high) / 2
    return end in (middle, float(np.float32(middle)), float(singles))


def _is_short(number: float) -> bool:
    """Return whether a number has three digits at most, but for zeros: 0.5, 183, 20000."""
    return float(f"{number:.2e}") == number


def _split_nodes(
    tree: Tree, stops: IndexArray, population: Population, truth: FloatArray
) -> list[_SplitNode]:
    """Return the inner nodes near the root, those of least depth first, with the people who pass each."""
    parents, depth = parents_of(tree.nodes), _depths(tree)
    inner = np.unique(parents[parents >= 0])
    most = min(MOST_SPLITS, max(1, MOST_PLACES // max(1, len(stops))))
    chosen = inner[np.argsort(depth[inner], kind="stable")][:most]
    rank = np.full(len(parents), -1, dtype=np.intp)
    rank[chosen] = np.arange(len(chosen))
    branch = np.full((len(chosen), len(stops)), -1, dtype=np.int64)
    profiles, at = np.flatnonzero(stops >= 0), stops[stops >= 0]
    while len(profiles):
        above = parents[at]
        is_below = above >= 0
        profiles, at, above = profiles[is_below], at[is_below], above[is_below]
        is_chosen = rank[above] >= 0
        branch[rank[above[is_chosen]], profiles[is_chosen]] = at[is_chosen]
        at = above
    found = []
    for node, child in zip(chosen.tolist(), branch, strict=True):
        children = tuple(np.flatnonzero(parents == node).tolist())
        column, end = _test_of(tree, children, population)
        found.append(_SplitNode(population, truth, children, child, column, end))
    return found


def _test_of(
    tree: Tree, children: Sequence[int], population: Population
) -> tuple[str | None, float | None]:
    """Return the column that children test, and the threshold where two of them share one."""
    tests = [atom for child in children for atom in atoms(tree.nodes[child].test)]
    names = {
        test.feature if isinstance(test, NumericTest | CategoryTest) else None for test in tests
    }
    name = names.pop() if len(names) == 1 else None
    if name not in population.columns:
        return None, None
    ends = {
        end
        for test in tests
        if isinstance(test, NumericTest)
        for end in (test.low, test.high)
        if math.isfinite(end)
    }
    return name, ends.pop() if len(ends) == 1 and len(children) == 2 else None


@dataclass(frozen=True, slots=True, eq=False)
class _ColumnSplits:
    """Every split of a column: the class counts of its children (K, children, classes), and a ``length`` (K,).

    The length is how far apart the values beside a threshold are: who draws a threshold evenly hits it so often.
    """

    counts: FloatArray
    lengths: FloatArray

    def share_of(
        self, worth: float, criterion: Criterion, tolerance: float, *, least_only: bool
    ) -> float:
        """Return which share of the splits is as good as one with ``worth``, n times its impurity, or better.

        By number or by length, the larger one; 0 where a split is better and these are not asked for.
        """
        worths = self.worths(criterion)
        if least_only and (worths < worth - tolerance).any():
            return 0.0
        is_as_good = worths <= worth + tolerance
        return max(float(chances[is_as_good].sum()) for chances in self.chances())

    def worths(self, criterion: Criterion) -> FloatArray:
        """Return n times the impurity of each split, (K,)."""
        return np.asarray(branch_impurity(criterion, self.counts).sum(axis=1))

    def chances(self) -> tuple[FloatArray, FloatArray]:
        """Return how likely each split is where one is drawn evenly, (K,): by number and by length."""
        count = len(self.lengths)
        return np.full(count, 1 / count), self.lengths / self.lengths.sum()


def _splits_of(
    column: object, here: BoolArray, truth: FloatArray, *, is_multiway: bool
) -> _ColumnSplits:
    """Return the splits of a column, with two children, or with one for each value of a category."""
    is_told = here & (truth.sum(axis=1) > 0)
    if isinstance(column, NumericColumn) and not is_multiway:
        is_told = is_told & ~column.missing
        levels, place = np.unique(column.numbers[is_told], return_inverse=True)
        before = np.cumsum(_sums(place, len(levels), truth[is_told]), axis=0)
        return _two_ways(before[:-1], before[-1:].sum(axis=0), np.diff(levels))
    nothing = _ColumnSplits(np.zeros((0, 2, truth.shape[1])), np.zeros(0))
    if not isinstance(column, CategoricalColumn):
        return nothing
    is_told = is_told & ~column.missing
    levels, place = np.unique(column.codes[is_told], return_inverse=True)
    if len(levels) < 2:
        return nothing
    sums = _sums(place, len(levels), truth[is_told])
    if is_multiway:
        return _ColumnSplits(sums[None], np.ones(1))
    # Of two classes the best set of values is one that holds the first so many by the share of a class (Breiman 1984).
    either = [sums]
    for shares in (sums / sums.sum(axis=1, keepdims=True)).T:
        either.append(np.cumsum(sums[np.argsort(shares, kind="stable")], axis=0)[:-1])
    one_side = np.unique(np.concatenate(either), axis=0)
    return _two_ways(one_side, sums.sum(axis=0), np.ones(len(one_side)))


def _two_ways(side: FloatArray, total: FloatArray, lengths: FloatArray) -> _ColumnSplits:
    return _ColumnSplits(np.stack([side, total - side], axis=1), lengths)


def _sums(place: IndexArray, size: int, truth: FloatArray) -> FloatArray:
    sums = np.zeros((size, truth.shape[1]))
    np.add.at(sums, place.reshape(-1), truth)
    return sums


def _are_of_grid(forest: Forest, population: Population) -> bool:
    """Return whether every tree is in the file of its private learner, which says between which cuts it draws.

    All columns that it draws from have to be known of people: behind other steps only those that are tested may be.
    """
    claims = [tree.learner.claim for tree in forest.trees]
    return all(
        claim is not None
        and claim.producer.bins is not None
        and claim.bounds
        and all(name in population.columns for name, *_ in claim.bounds)
        for claim in claims
    )


def _doubts_of_draws(tree: Tree, nodes: Sequence[_SplitNode]) -> Iterator[str]:
    """Yield that the cuts of a tree are better, or worse, than its learner's draws would be."""
    claim = tree.learner.claim
    assert claim is not None
    assert claim.producer.bins is not None
    node_epsilon = (claim.epsilon - (claim.label_epsilon or 0.0)) / max(1, _depths(tree).max())
    grids = {name: cut_grid(low, high, claim.producer.bins) for name, low, high in claim.bounds}
    low, high, best = list[float](), list[float](), list[BestSplit]()
    bets = np.zeros(len(LESS_NOISE))
    for node in nodes:
        scores = _cut_scores(node, grids)
        if scores is None:
            yield CUTS_UNKNOWN
            return
        own, every = scores
        drawn, chances = score_chances(every, node_epsilon / 2)
        place = int(np.searchsorted(drawn, own))
        low.append(min(1.0, float(chances[place:].sum())))
        high.append(min(1.0, float(chances[: place + 1].sum())))
        best.append(BestSplit(min(1.0, float(chances[-1])), own == drawn[-1]))
        for number, times in enumerate(LESS_NOISE):
            other = score_chances(every, times * node_epsilon / 2)[1]
            won, usual = np.log(np.maximum((other[place], chances[place]), 1e-300))
            bets[number] += won - usual
    p_of_better = min(1.0, 2 * min(joint_p(low), p_of_bets([*bets_on_best(best), *bets.tolist()])))
    for p, how in ((2 * p_of_better, "better"), (2 * joint_p(high), "worse")):
        if p < MOST_BY_CHANCE:
            yield NOT_DRAWN.format(how=how, p=p)
            return


def _depths(tree: Tree) -> IndexArray:
    """Return how many tests lead to each node."""
    parents = parents_of(tree.nodes).tolist()
    depth = [0] * len(parents)
    for place, parent in enumerate(parents[1:], 1):
        depth[place] = depth[parent] + 1
    return np.array(depth, dtype=np.intp)


def _cut_scores(node: _SplitNode, grids: dict[str, FloatArray]) -> tuple[int, IntArray] | None:
    """Return the score of a node's cut and those of all cuts, as the learner reckons them; None where values lack."""
    counts = np.rint(node.truth[node.here]).astype(np.int64)
    own, every = None, []
    for name, grid in grids.items():
        column = node.population.columns.get(name)
        if not isinstance(column, NumericColumn) or np.isnan(column.numbers[node.here]).any():
            return None
        if not len(grid):
            continue
        numbers = column.numbers[node.here].astype(np.float32)
        cells = np.zeros((len(grid) + 1, counts.shape[1]), dtype=np.int64)
        np.add.at(cells, np.searchsorted(grid, numbers), counts)
        before = np.cumsum(cells, axis=0)[:-1]
        scores = purity_scores(before) + purity_scores(cells.sum(axis=0) - before)
        every.append(scores)
        if name == node.column and node.end is not None:
            place = int(np.abs(grid - node.end).argmin())  # behind a step, as numbers of 64 bits
            is_cut = abs(float(grid[place]) - node.end) <= SINGLE_ROUNDING * max(1.0, abs(node.end))
            own = int(scores[place]) if is_cut else None
    return None if own is None or not every else (own, np.concatenate(every))
