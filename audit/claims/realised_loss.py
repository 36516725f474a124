"""The ex-post privacy loss of each person by the file as it is, and a test of the claimed epsilon from it.

The loss of a person is |ln P(file | D) - ln P(file | D without the person)| (Ligett et al. 2017, "Accuracy first", for
what was drawn; Wang 2017, per-instance differential privacy, for one table). Under a mechanism that keeps its promise
it is at most epsilon for every output. So one person above epsilon refutes the claim, by proof and not by statistics.
A person's records change the counts of one leaf of each tree that saw them; the logarithms of all trees add up.

The test asks whether labels miss the commonest class as often as a claimed epsilon requires, by one file and its table.

Given the table, each leaf's label is drawn by itself with known probabilities. The statistic is the sum, over leaves
with people, of how many people the drawn class has fewer than the commonest one: for the exponential mechanism it tells
all that labels tell of epsilon. It is the larger the smaller epsilon was, so its exact distribution, a convolution,
tests every epsilon, and the epsilons that are not refuted are a confidence interval of the one that was used (Clopper &
Pearson 1934). No training is repeated and no canary is planted.

What a claim says that epsilon is spent on is held against itself first: labels, splits, and all records of one person.
The noise of a label is for one record. Whoever has several loses as much for each of them (group privacy, Dwork et al.
2006), so a promise to persons needs the largest number of records that somebody has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.claims.leaf_labels import LeafLabels, log_probabilities, rounding_of
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, IntArray
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.privacy_claim import (
    MOST_LABEL_SHARE,
    SPENDING_TOLERANCE,
    ClaimUnit,
    LabelMechanism,
    PrivacyClaim,
    SplitOrigin,
    spends_all_on_labels,
)

NO_SHARE = (
    "the epsilon spent on the labels of each tree is not known; name it, such as --claims "
    "label_epsilon=0.1"
)
OVERSPENT = (
    "the labels of all trees spend more epsilon than the file claims, and no composition "
    "rule is named that would allow it"
)
UNDERSPENT = (
    "the labels spend {labels:g} of the epsilon of {epsilon:g}, and splits that are independent of the records spend "
    "nothing; correct the claim, so that labels spend all of it"
)
NOTHING_LEFT = (
    "the labels spend all of epsilon, so nothing is left for the splits, which were chosen from records; correct "
    "label_epsilon, or name splits=independent if no record had a part in them"
)
NO_PERSONS = (
    "the claim is about persons, and nothing says which records are one person; add --id COLUMN, and audit models for "
    "adversaries who know some columns by themselves"
)
LOOKALIKE_IDS = (
    "the claim is about persons, and the ids {one!r} and {other!r} differ only in how they are written (spaces, "
    "capitals, leading zeros or decimals), so they may be one person; write the id of each person in one way"
)
OF_PERSON = (
    "the claim is about persons, and one person has {records:,} records. The noise protects one record, so that person "
    "may lose {spent:g}; claim that, or name a label_epsilon that was small enough"
)
SPLITS_OF_PERSON = (
    "the claim is about persons, one person has {records:,} records, and what private splits cost such a person is not "
    "known; claim unit=record"
)


@dataclass(frozen=True, slots=True, eq=False)
class PersonRecords:
    """The records of a table, (n,) each: whose each is, its profile, and its class. ``most`` is how many one has."""

    persons: IndexArray
    profiles: IndexArray
    classes: IndexArray
    most: int


def records_of_persons(population: Population) -> PersonRecords | None:
    """Return which records are one person; None where an id says nothing of it."""
    contributions, order = population.contributions, population.order
    if contributions is None or contributions.contributors is None:
        return None
    if order is None or order.classes is None:
        return None
    if len(order.profiles) != len(contributions.contributors):
        return None
    persons = contributions.contributors
    most = int(np.bincount(persons).max(initial=0))
    return PersonRecords(persons, order.profiles, order.classes, most)


def spent_on_labels(model: Model, claim: PrivacyClaim) -> float | None:
    """Return the epsilon that was spent on the labels of each tree; None where that is not said.

    Where no record had a part in the tests of a single tree, there is nothing else to spend it on.
    """
    if claim.label_epsilon is None and not isinstance(model, Ensemble):
        return claim.epsilon if claim.splits is SplitOrigin.INDEPENDENT else None
    return claim.label_epsilon


def doubts_of_spending(model: Model, claim: PrivacyClaim, population: Population) -> Iterator[str]:
    """Yield why what is spent does not fit what is claimed."""
    records = 1
    if claim.unit is ClaimUnit.PERSON and not population.is_absent:
        held = records_of_persons(population)
        if held is None:
            yield NO_PERSONS
        else:
            records = held.most
            contributions = population.contributions
            if contributions is not None and contributions.lookalikes is not None:
                one, other = contributions.lookalikes
                yield LOOKALIKE_IDS.format(one=one, other=other)
    labels = spent_on_labels(model, claim)
    if labels is None:
        yield NO_SHARE
        return
    trees = sum(1 for _ in trees_of(model))
    spent, whole, tolerance = labels * trees * records, claim.epsilon, SPENDING_TOLERANCE
    is_private = claim.splits is SplitOrigin.PRIVATE
    if spent > whole * (1 + tolerance):
        yield OVERSPENT if records == 1 else OF_PERSON.format(records=records, spent=spent)
    elif is_private and spent > whole * MOST_LABEL_SHARE * (1 + tolerance):
        yield NOTHING_LEFT
    elif spends_all_on_labels(claim, trees) and spent < whole * (1 - tolerance):
        yield UNDERSPENT.format(labels=spent, epsilon=whole)
    if is_private and records > 1:
        yield SPLITS_OF_PERSON.format(records=records)


MOST_EPSILON = 1e4
"""With more, every draw is the best split, as with this."""
UNEVEN = 2
"""So much more than an even part of epsilon may the splits of one level spend."""


def most_gain_weight(claim: PrivacyClaim, levels: Sequence[int]) -> float:
    """Return the largest weight of one unit of gain in a private choice of splits, which a record changes by one.

    ``levels`` are those of each tree, which all spend a part. The exponential mechanism halves the epsilon of a node,
    and permute-and-flip is as good as it with the double.
    """
    left = max(0.0, claim.epsilon - len(levels) * (claim.label_epsilon or 0.0))
    return min(left, MOST_EPSILON) * min(1.0, UNEVEN / max(1, sum(levels)))


# The ex-post privacy loss of each person by the file as it is, and a test of the claimed epsilon from it.

SPLITS_UNKNOWN = Undetermined(
    "the mechanism that chose the splits is not known, so its share of a person's privacy "
    "loss cannot be computed"
)


@dataclass(frozen=True, slots=True, eq=False)
class RealisedLoss:
    """What the file cost each person, in nats.

    ``of_cell`` (P, k) is ln P(labels | D) - ln P(labels | D - i) for a person i of each profile and class, NaN where
    there is none. ``largest`` is the most that the labels cost anybody (with all of a person's records, where the claim
    is about persons); tests that were chosen privately may add or take away ``open_part``, and ``rounding`` is by how
    much the largest may be off. ``of_persons`` is the same with one or all records of a person, whatever the
    claim is about, and ``most_records`` how many one person has; None and 1 where each record is a person's.
    """

    of_cell: FloatArray
    largest: float
    mean: float
    open_part: float = 0.0
    rounding: float = 0.0
    of_persons: float | None = None
    most_records: int = 1

    @property
    def low(self) -> float:
        """The least that the loss of the person who lost most can be."""
        return max(0.0, self.largest - self.open_part)

    @property
    def high(self) -> float:
        """The most that anybody can have lost."""
        return self.largest + self.open_part

    @property
    def ends_of_persons(self) -> tuple[float, float]:
        """The least and the most that the person who lost most can have lost, with all records."""
        if self.of_persons is None:
            return self.low, self.high
        open_part = self.open_part * self.most_records
        return max(0.0, self.of_persons - open_part), self.of_persons + open_part


def measure_losses(
    labels: LeafLabels, population: Population, claim: PrivacyClaim, label_epsilon: float
) -> RealisedLoss | Undetermined:
    """Return what the labels cost each person, drawn with this epsilon in each tree; or why that is not known."""
    truth = population.truth
    if isinstance(truth, Undetermined):
        return truth
    if claim.splits is SplitOrigin.UNKNOWN:
        return SPLITS_UNKNOWN
    signed = losses_in_leaves(labels, label_epsilon, claim)
    of_cell = np.zeros(truth.shape)
    for leaves in labels.leaf_of_profile:
        of_cell += np.where((leaves >= 0)[:, None], signed[leaves], 0.0)
    of_cell = np.where(truth > 0, of_cell, np.nan)
    losses = np.abs(of_cell)
    people = float(truth.sum())
    largest = float(np.nanmax(losses))
    records, of_persons = records_of_persons(population), None
    if records is not None and records.most > 1:
        by_person = np.abs(_losses_of_persons(labels, records, claim, label_epsilon))
        of_persons = max(largest, float(by_person.max(initial=0.0)))
        if claim.unit is ClaimUnit.PERSON:
            largest = of_persons
    # Two logarithms for each leaf that a record is in; a person's records are in as many leaves at most.
    in_leaf = 2 * float(rounding_of(labels.counts, label_epsilon, claim.mechanism).max(initial=0.0))
    together = len(labels.leaf_of_profile) * (1 if records is None else records.most)
    private = claim.splits is SplitOrigin.PRIVATE
    return RealisedLoss(
        of_cell=of_cell,
        largest=largest,
        mean=float(np.nansum(losses * truth) / people),
        open_part=max(0.0, claim.epsilon - label_epsilon) if private else 0.0,
        rounding=in_leaf * together,
        of_persons=of_persons,
        most_records=1 if records is None else records.most,
    )


def losses_in_leaves(labels: LeafLabels, epsilon: float, claim: PrivacyClaim) -> FloatArray:
    """Return ln P(label | counts) - ln P(label | counts without one of class c) for each leaf and c, (L, k)."""
    every = np.arange(len(labels.labels))
    with_all = log_probabilities(labels.counts, epsilon, claim.mechanism)[every, labels.labels]
    signed = np.full(labels.counts.shape, np.nan)
    for place in range(labels.counts.shape[1]):
        without = labels.counts.copy()
        without[:, place] -= 1
        is_there = without[:, place] >= 0
        chances = log_probabilities(without[is_there], epsilon, claim.mechanism)
        drawn = chances[np.arange(len(chances)), labels.labels[is_there]]
        signed[is_there, place] = with_all[is_there] - drawn
    return signed


def _losses_of_persons(
    labels: LeafLabels, records: PersonRecords, claim: PrivacyClaim, epsilon: float
) -> FloatArray:
    """Return ln P(labels | D) - ln P(labels | D - all records of a person) for each person, by number."""
    leaves_in_all = len(labels.labels)
    every = np.arange(leaves_in_all)
    whole = log_probabilities(labels.counts, epsilon, claim.mechanism)[every, labels.labels]
    lost = np.zeros(int(records.persons.max(initial=-1)) + 1)
    for leaves in labels.leaf_of_profile:
        leaf = leaves[records.profiles]
        held = leaf >= 0
        parts, part = np.unique(
            records.persons[held] * leaves_in_all + leaf[held], return_inverse=True
        )
        persons, own = np.divmod(parts, leaves_in_all)
        counts = labels.counts[own]
        np.add.at(counts, (part.reshape(-1), records.classes[held]), -1.0)
        after = log_probabilities(counts, epsilon, claim.mechanism)
        drawn = after[np.arange(len(own)), labels.labels[own]]
        np.add.at(lost, persons, whole[own] - drawn)
    return lost


LEAST, MOST = 1e-7, 1e4
"""Between these an epsilon is looked for: beyond, labels are all noise or none."""
STEPS = 36
MOST_STEPS = 20_000_000
"""So many additions at most give the distribution once; beyond, people are counted in larger units."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelTest:
    """What labels show of the epsilon that they were drawn with.

    ``counts`` (L, k) are the people of the leaves that have any. ``lost`` is the statistic: people whom the labels have
    fewer than the commonest classes, in whole units of ``unit`` people in each leaf, which hangs on the counts alone.
    ``drawn`` (L,) are the labels.
    """

    counts: FloatArray
    mechanism: LabelMechanism
    lost: int
    unit: int = 1
    drawn: IndexArray | None = None

    @property
    def leaves(self) -> int:
        """The number of leaves with people."""
        return len(self.counts)

    @property
    def is_of_use(self) -> bool:
        """Whether any leaf could have had another label that loses people."""
        return bool(_lost(self.counts, self.unit).any())

    def p_value(self, epsilon: float) -> float:
        """Return how likely labels lose so few people or fewer, where they are drawn with this epsilon or a smaller."""
        return self._at_most(self.lost, epsilon)

    def p_value_of_noise(self, epsilon: float) -> float:
        """Return how likely labels lose so many people or more, where they are drawn with this epsilon or a larger."""
        return 1.0 if not self.lost else max(0.0, 1.0 - self._at_most(self.lost - 1, epsilon))

    def p_value_of_contradiction(self, epsilon: float) -> float:
        """Return how likely labels are as bad as these where they are drawn with this epsilon, all in all or in a leaf.

        Twice the smaller of two probabilities (Bonferroni): that they lose so many people or more together, and that
        some leaf does, so that one label that cannot be is not hidden among many that may.
        """
        together = self.p_value_of_noise(epsilon)
        if self.drawn is None or not len(self.counts):
            return min(1.0, 2 * together)
        gaps = _lost(self.counts, 1)
        own = gaps[np.arange(len(gaps)), self.drawn]
        chances = np.exp(log_probabilities(self.counts, epsilon, self.mechanism))
        tails = np.where(gaps >= own[:, None], chances, 0.0).sum(axis=1)
        return min(1.0, 2 * min(together, len(gaps) * float(tails.min())))

    def interval(self, level: float) -> tuple[float, float]:
        """Return the epsilons that are refuted at neither end, each end at half of 1 - ``level``."""
        tail = (1 - level) / 2
        low = 0.0 if self.p_value(LEAST) > tail else self._crossing(self.p_value, tail)[0]
        if self.p_value_of_noise(MOST) > tail:
            return low, np.inf
        return low, self._crossing(lambda epsilon: -self.p_value_of_noise(epsilon), -tail)[1]

    def _crossing(self, rising: Callable[[float], float], level: float) -> tuple[float, float]:
        """Return two numbers close to each other between which a rising function of epsilon passes a level."""
        low, high = np.log(LEAST), np.log(MOST)
        for _ in range(STEPS):
            middle = (low + high) / 2
            low, high = (low, middle) if rising(float(np.exp(middle))) > level else (middle, high)
        return float(np.exp(low)), float(np.exp(high))

    def _at_most(self, most: int, epsilon: float) -> float:
        """Return the probability that labels lose at most so many people."""
        if most < 0:
            return 0.0
        counts, gaps = self.counts, _lost(self.counts, self.unit)
        chances = np.exp(log_probabilities(counts, epsilon, self.mechanism))
        sums = np.zeros(most + 1)
        sums[0] = 1.0
        reached = 0
        for gap, chance in zip(gaps, chances, strict=True):
            if not gap.any():
                continue
            after = np.zeros_like(sums)
            end = min(most, reached + int(gap.max())) + 1
            for step, part in zip(gap.tolist(), chance.tolist(), strict=True):
                if step < end:
                    after[step:end] += part * sums[: end - step]
            sums, reached = after, end - 1
        return min(1.0, float(sums.sum()))


def label_test(labels: LeafLabels, mechanism: LabelMechanism) -> LabelTest:
    """Return the test of some labels."""
    held = labels.counts.sum(axis=1) > 0
    counts, drawn = labels.counts[held], labels.labels[held]
    room = MOST_STEPS / max(1, counts.size)
    unit = max(1, math.ceil(_lost(counts, 1).max(axis=1, initial=0).sum() / room))
    lost = _lost(counts, unit)[np.arange(len(counts)), drawn]
    return LabelTest(counts, mechanism, int(lost.sum()), unit, drawn)


def _lost(counts: FloatArray, unit: int) -> IntArray:
    """Return how many units of people each class of a leaf has fewer than the commonest one, (L, k)."""
    gaps = np.rint(counts.max(axis=1, initial=0, keepdims=True) - counts).astype(np.int64)
    return np.asarray(gaps // unit)


# How likely draws are together: of splits one after the other, and of the best ones among them.

AIMS = (0.3, 0.6, 1.0)
"""Such shares of splits are taken as the best ones, without a draw, where a learner leaves the noise out."""
SAME_WORTH = 1e-9
"""Rounding may part impurities that are the same by so much."""
BEST_SHARES = (0.0, 0.1)
"""What is drawn so rarely counts as best, with 0 the best splits alone: thresholds may have been rounded."""


@dataclass(frozen=True, slots=True)
class BestSplit:
    """The best splits of a node: how likely one of them is drawn, and whether the node has one."""

    chance: float
    is_taken: bool


def best_splits(
    worths: FloatArray, chances: Sequence[FloatArray], scale: float, worth: float
) -> list[BestSplit]:
    """Return how likely the exponential mechanism takes one of the best splits of a node, at most.

    These are the very best, and then those that it takes so rarely, with all that are better (``BEST_SHARES``).
    ``worths`` are impurities, ``worth`` is that of the node's own split, and ``chances`` are those of splits that are
    chosen without records, of several kinds: the most likely one counts.
    """
    tilt = np.exp(-scale * (worths - worths.min()))
    drawn = [kind * tilt / float((kind * tilt).sum()) for kind in chances]
    order = np.argsort(worths, kind="stable")
    reached = np.max([np.cumsum(kind[order]) for kind in drawn], axis=0)
    found = []
    for share in BEST_SHARES:
        last = max(0, int((reached <= share).sum()) - 1)
        end = float(worths[order[last]]) + SAME_WORTH * max(1.0, float(worths.max()))
        chance = max(float(kind[worths <= end].sum()) for kind in drawn)
        found.append(BestSplit(min(1.0, chance), worth <= end))
    return found


def bets_on_best(choices: Sequence[BestSplit]) -> list[float]:
    """Return the logarithms of stakes that are bet on best splits, one after the other, for each of ``AIMS``."""
    bets = []
    for aim in AIMS:
        bet = 0.0
        for best in (best for best in choices if best.chance < 1):
            aimed = best.chance + (1 - best.chance) * aim
            share = (aimed, best.chance) if best.is_taken else (1 - aimed, 1 - best.chance)
            bet += math.log(share[0] / share[1]) if share[0] else -math.inf
        bets.append(bet)
    return bets


def p_of_bets(bets: Iterable[float]) -> float:
    """Return how likely draws as claimed win as much, at most, as bets on other draws did: logarithms of the stakes.

    Given the splits above it, each node multiplies a stake by the ratio of two chances, however few choices it has.
    That is fair. So a mean of stakes is 1 / p with a probability of p at most (Shafer 2021, "Testing by betting").
    """
    found = list(bets)
    highest = max(found, default=0.0)
    if highest <= 0:
        return 1.0
    mean = math.fsum(math.exp(bet - highest) for bet in found) / len(found)
    return min(1.0, math.exp(-highest) / mean)


def joint_p(tails: Sequence[float]) -> float:
    """Return how likely probabilities as small as these are together, or one of them is (Fisher; Bonferroni)."""
    if not tails:
        return 1.0
    total = -sum(math.log(max(tail, 1e-300)) for tail in tails)
    term, terms = 1.0, 1.0
    for number in range(1, len(tails)):
        term *= total / number
        terms += term
    together = math.exp(-total) * terms if total < 700 else 0.0
    return min(1.0, 2 * min(together, len(tails) * min(tails)))
