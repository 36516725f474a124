"""What speaks against a claim of differential privacy beside its labels: side channels, and splits that no draw chose.

A file keeps its promise only if all of it does. What else was computed from the records (a mean, a count, an error) was
published without noise, and voids the claim. What may have been, or may as well be public (a range, a list of values),
leaves it open. What says nothing of the records (who wrote the file, when and where) is harmless.

A learner without privacy takes the best split of each node, with a threshold half way between two of its records. Where
most splits are of that kind, and a choice that does not look at the records hardly hits them, the claim stays open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum

import numpy as np

from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.plain_splits import Plain, plain_of
from treewarden.ppdm_models.tree.privacy_claim import PrivacyClaim, SplitOrigin
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind


class ClaimEffect(StrEnum):
    """Whether a side channel voids a claim, leaves it open, or does neither."""

    VOIDS = "voids"
    DOUBTS = "doubts"
    HARMLESS = "harmless"


EFFECTS = {
    LeakKind.RAW_RECORDS: ClaimEffect.VOIDS,
    LeakKind.EXACT_TARGETS: ClaimEffect.VOIDS,
    LeakKind.RARE_VALUES: ClaimEffect.VOIDS,
    LeakKind.OLD_MODEL: ClaimEffect.DOUBTS,  # it spent an epsilon of its own, if it had any
    LeakKind.PERSON: ClaimEffect.DOUBTS,  # perhaps of the table
    LeakKind.UNKNOWN: ClaimEffect.DOUBTS,
    LeakKind.EXTREMES: ClaimEffect.DOUBTS,  # a range of values may be public
    LeakKind.MEDIANS: ClaimEffect.VOIDS,
    LeakKind.AVERAGES: ClaimEffect.VOIDS,
    LeakKind.HISTOGRAM: ClaimEffect.VOIDS,
    LeakKind.CATEGORIES: ClaimEffect.DOUBTS,  # a list of values may be public
    LeakKind.TARGET_STATISTICS: ClaimEffect.VOIDS,
    LeakKind.SMALL_COUNTS: ClaimEffect.VOIDS,
    LeakKind.PER_RECORD: ClaimEffect.VOIDS,
    LeakKind.REPLAY: ClaimEffect.VOIDS,  # the draws can be repeated
    LeakKind.DIFFERENCING: ClaimEffect.VOIDS,
    LeakKind.AUTHOR: ClaimEffect.HARMLESS,
    LeakKind.PATH: ClaimEffect.HARMLESS,
    LeakKind.TIMESTAMP: ClaimEffect.HARMLESS,
    LeakKind.IDENTIFIER: ClaimEffect.HARMLESS,
}
"""Of every kind, in the order in which they are listed; of what is only possible see ``effect_of``."""
NOT_PROTECTED = (
    "the file contains {what}, which was computed from the records without noise; {advice}"
)
NOT_JUDGED = (
    "the file contains {what}, and nothing says that this was known without the records; {advice}"
)
REDACT = "remove it (treewarden redact), or train without it"
TREES_ALONE = "write only the trees (treewarden convert MODEL NEW.pmml), or train without it"


def effect_of(leak: Leak) -> ClaimEffect:
    """Return what a side channel means for a claim; what may be there or not is a doubt where it would void."""
    effect = EFFECTS[leak.kind]
    return ClaimEffect.DOUBTS if leak.is_possible and effect is ClaimEffect.VOIDS else effect


def voids_beside_trees(leaks: Iterable[Leak]) -> Iterator[str]:
    """Yield why side channels void a claim; a seed is told of elsewhere."""
    for leak in leaks:
        if leak.kind is not LeakKind.REPLAY and effect_of(leak) is ClaimEffect.VOIDS:
            yield _reason(NOT_PROTECTED, leak)


def doubts_beside_trees(leaks: Iterable[Leak]) -> Iterator[str]:
    """Yield why side channels leave a claim open."""
    for leak in leaks:
        if effect_of(leak) is ClaimEffect.DOUBTS:
            yield _reason(NOT_JUDGED, leak)


def _reason(sentence: str, leak: Leak) -> str:
    place = f" ({leak.where})" if leak.where else ""
    advice = REDACT if leak.removable else TREES_ALONE
    return sentence.format(what=f"{leak.what}{place}", advice=advice)


MOST_BY_CHANCE = 1e-3
"""Best splits that a choice without the records hits less often than this leave a claim open."""
MOST_SPLITS = 64
"""So many splits of a tree are looked at, those near the root."""
GREEDY = (
    "{best} of {splits} splits are the best ones for this table, which is what a learner without privacy chooses; "
    "train again with a private learner, or publish it without the claim"
)
HALF_WAY = (
    "the file contains thresholds that lie half way between two records of this table ({count}), so they were computed "
    "from it without noise; train again with a private learner, or publish it without the claim"
)
MOST_RANKS = 5
"""So many values apart may two records be: a sample of the table lacks some that lie between."""
LEAST_MISSED = 0.5
"""Columns tell nothing where half of all numbers that could be thresholds lie half way between two records."""
SINGLE_ROUNDING = 2.0**-22
"""How far a threshold of 32 bits may be from the number that it stands for, as a share of it."""
Impurity = Callable[[FloatArray], FloatArray]
"""Returns n times the impurity of each row of class counts, (K, m) to (K,)."""


def _gini(counts: FloatArray) -> FloatArray:
    sizes = np.maximum(counts.sum(axis=1), 1)
    return np.asarray(sizes - (counts**2).sum(axis=1) / sizes)


def _entropy(counts: FloatArray) -> FloatArray:
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    logs = np.log(np.where(counts > 0, shares, 1.0))
    return np.asarray(-(counts * logs).sum(axis=1))


def doubts_of_splits(forest: Forest, population: Population, claim: PrivacyClaim) -> Iterator[str]:
    """Yield that the splits are those of a learner without privacy, where the table tells.

    Splits that are said to be private are held against other thresholds of their own column: a private choice among
    columns may well be the best one. Their thresholds are also half way between two records, as no grid's are.
    """
    if claim.splits is SplitOrigin.UNKNOWN:
        return
    truth = population.truth
    if isinstance(truth, Undetermined):
        return
    is_private = claim.splits is SplitOrigin.PRIVATE
    if is_private and claim.where == "the file" and claim.bounds:
        return  # its estimator is in the file, and the thresholds were held against the grid of its bounds
    plains = [plain_of(tree) for tree in forest.trees]
    tables = [
        _SplitTable(population, truth, plain, stops)
        for plain, stops in zip(plains, forest.stops, strict=True)
        if plain is not None
    ]
    for impurity in (_gini, _entropy):
        shares = [
            table.share_of_best(node, impurity, within_column=is_private)
            for table in tables
            for node in table.inner[:MOST_SPLITS]
        ]
        best = [share for share in shares if share is not None]
        chance = math.comb(len(shares), len(best)) * math.prod(best)
        if 2 * len(best) >= len(shares) and chance < MOST_BY_CHANCE:
            yield GREEDY.format(best=len(best), splits=len(shares))
            return
    half_way = _half_way_between_records(tables)
    if half_way:
        yield HALF_WAY.format(count=half_way)


def _half_way_between_records(tables: Sequence[_SplitTable]) -> int:
    """Return how many thresholds lie half way between two records, where they hardly do so by chance; else 0."""
    chances, splits = list[float](), 0
    for table in tables:
        for node in table.inner[:MOST_SPLITS]:
            found = table.chance_of_half_way(node)
            if found is not None:
                splits += 1
                chances += [found[0]] if found[1] else []
    is_by_chance = math.comb(splits, len(chances)) * math.prod(chances) >= MOST_BY_CHANCE
    return 0 if is_by_chance else len(chances)


class _SplitTable:
    """The numbers and classes of the people in each node of one tree of plain splits."""

    def __init__(
        self, population: Population, truth: FloatArray, plain: Plain, stops: IndexArray
    ) -> None:
        self.plain, self.truth, self.stops = plain, truth, stops
        self.inner = np.flatnonzero(plain.inner).tolist()
        self.numbers = {
            name: column.numbers
            for name, column in population.columns.items()
            if isinstance(column, NumericColumn)
        }

    def chance_of_half_way(self, node: int) -> tuple[float, bool] | None:
        """Return which share of thresholds of a node lie half way between two of its people, and whether its own does.

        That is of all numbers as fine as those of the column; None where most of them do.
        """
        own, end = self._test_of(node)
        here = self._people_in(node)
        if own not in self.numbers:
            return None
        numbers = self.numbers[own][here & (self.truth.sum(axis=1) > 0)]
        values = np.unique(numbers[~np.isnan(numbers)])
        if len(values) < 2:
            return None
        lags = range(1, min(MOST_RANKS, len(values) - 1) + 1)
        middles = np.concatenate([(values[lag:] + values[:-lag]) / 2 for lag in lags])
        slack = SINGLE_ROUNDING * float(np.abs(values).max())
        unit = max(float(np.diff(values).min()) / 2, 2 * slack)
        chance = len(np.unique(middles)) * unit / float(values[-1] - values[0])
        if chance >= LEAST_MISSED:
            return None
        return chance, bool(np.abs(middles - end).min() <= slack)

    def _test_of(self, node: int) -> tuple[str, float]:
        child = int(np.flatnonzero(self.plain.parents == node)[0])
        cuts = self.plain.cuts
        return cuts.names[cuts.features[child]], float(cuts.ends[child])

    def share_of_best(self, node: int, impurity: Impurity, *, within_column: bool) -> float | None:
        """Return which share of all splits of a node is as good as its own; None where a better one exists."""
        own, end = self._test_of(node)
        here = self._people_in(node)
        if own not in self.numbers or not here.any():
            return None
        worth = {name: self._worths(name, here, impurity) for name in self.numbers}
        cuts, values = worth[own]
        place = int(np.searchsorted(cuts[:, 0], end, side="right")) - 1
        if not 0 <= place < len(cuts) or not cuts[place, 0] <= end <= cuts[place, 1]:
            return None
        if within_column:
            if not _is_half_way(end, *cuts[place]):
                return None
            compared = values
        else:
            compared = np.concatenate([found for _, found in worth.values()])
        tolerance = 1e-9 * float(self.truth[here].sum())
        if (compared < values[place] - tolerance).any():
            return None
        return float((compared <= values[place] + tolerance).mean())

    def _people_in(self, node: int) -> BoolArray:
        """Return whether each profile passes a node, (P,)."""
        is_below = np.zeros(len(self.plain.parents), dtype=np.bool_)
        is_below[node] = True
        for each in range(node + 1, len(is_below)):
            is_below[each] = is_below[self.plain.parents[each]]
        return np.asarray((self.stops >= 0) & is_below[self.stops], dtype=np.bool_)

    def _worths(
        self, name: str, here: BoolArray, impurity: Impurity
    ) -> tuple[FloatArray, FloatArray]:
        """Return the values beside each threshold of a column, (K, 2), and n times the impurity below it, (K,)."""
        numbers, counts = self.numbers[name][here], self.truth[here]
        told = ~np.isnan(numbers) & (counts.sum(axis=1) > 0)
        levels, place = np.unique(numbers[told], return_inverse=True)
        sums = np.zeros((len(levels), counts.shape[1]))
        np.add.at(sums, place, counts[told])
        below = np.cumsum(sums, axis=0)[:-1]
        total = sums.sum(axis=0)
        return np.stack([levels[:-1], levels[1:]], axis=1), impurity(below) + impurity(
            total - below
        )


def _is_half_way(end: float, low: float, high: float) -> bool:
    middle = (low + high) / 2
    singles = np.float32(low) / 2 + np.float32(high) / 2
    return end in (middle, float(np.float32(middle)), float(singles))
