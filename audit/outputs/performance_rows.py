"""Rows of how well a model predicts the people that it was trained on: ROC AUC, accuracy and Brier score.

What the model says of each person is known, so that each is a sum over those who have the class. Of y with midranks R
of their scores, ``AUC x n1 x n0 = sum of R y - n1 (n1 + 1) / 2`` (Hanley and McNeil 1982): a sum once it is known how
many people have the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from treewarden.audit.outputs.conditions import ModelPredictions
from treewarden.audit.outputs.described_people import EntryRows, hold
from treewarden.audit.outputs.whole_row import Ends, RowOwner, WholeRow
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IntArray
from treewarden.ppdm_models.outputs.published import Performance, PerformanceEntry, PrintedNumber

NO_TOTAL = "no output says how many people have each class, which it depends on"
NOT_ALL = "the model predicts nothing for some people"
ONE_CLASS = "all people have one class, so that there is none"


def performance_rows(
    entry: PerformanceEntry,
    population: Population,
    predictions: ModelPredictions,
    number: int,
    truth: IntArray,
    *,
    has_totals: bool,
) -> EntryRows:
    """Return what one metric says; ``truth`` (P, 2), and ``has_totals``: how many people have each class is known.

    Raises:
        ContradictedError: the table has another value.
    """
    klass = predictions.classes.index(entry.group)
    people = np.rint(population.counts).astype(np.int64)
    owner, true = RowOwner(number, klass, people), truth[:, klass]
    if entry.statistic is Performance.ACCURACY:
        if (predictions.label[people > 0] < 0).any():
            return EntryRows((), is_open=True, why=NOT_ALL)
        return _accuracy(entry.printed, owner, true, (predictions.label == klass).tolist())
    if isinstance(predictions.shares, Undetermined):
        return EntryRows((), is_open=True, why=predictions.shares.reason)
    if (predictions.leaf[people > 0] < 0).any():
        return EntryRows((), is_open=True, why=NOT_ALL)
    shares = predictions.shares
    scores = [
        shares[leaf][klass] if leaf in shares else Fraction(0) for leaf in predictions.leaf.tolist()
    ]
    if entry.statistic is Performance.BRIER:
        return _brier(entry.printed, owner, true, scores)
    return _area(entry.printed, owner, true, scores, has_totals=has_totals)


def _accuracy(
    printed: PrintedNumber, owner: RowOwner, true: IntArray, is_predicted: Sequence[bool]
) -> EntryRows:
    sizes = owner.people.tolist()
    weights = [1 if here else -1 for here in is_predicted]
    right_if_none = sum(size for size, here in zip(sizes, is_predicted, strict=True) if not here)
    return EntryRows(
        (_mean_row(Performance.ACCURACY, printed, owner, true, weights, right_if_none),)
    )


def _brier(
    printed: PrintedNumber, owner: RowOwner, true: IntArray, scores: Sequence[Fraction]
) -> EntryRows:
    """Return that the mean of ``(score - y)^2 = score^2 + (1 - 2 score) y`` is as it is printed."""
    sizes = owner.people.tolist()
    fixed = sum((score**2 * size for score, size in zip(scores, sizes, strict=True)), Fraction(0))
    weights = [1 - 2 * score for score in scores]
    return EntryRows((_mean_row(Performance.BRIER, printed, owner, true, weights, fixed),))


def _mean_row(
    name: Performance,
    printed: PrintedNumber,
    owner: RowOwner,
    true: IntArray,
    weights: Sequence[Fraction | int],
    fixed: Fraction | int,
) -> WholeRow:
    """Return that ``(fixed + sum of weights)`` over all people is as it is printed."""
    total = sum(weight * count for weight, count in zip(weights, true.tolist(), strict=True))
    size = int(owner.people.sum())
    hold(str(name), printed, Fraction(total + fixed) / size)
    whole = printed.times(Fraction(size))
    return owner.row(weights, _ends(whole, Fraction(fixed)))


def _ends(printed: PrintedNumber, less: Fraction) -> Ends:
    low, high = (None if end is None else end - less for end in (printed.low, printed.high))
    return Ends(low, high)


def _area(
    printed: PrintedNumber,
    owner: RowOwner,
    true: IntArray,
    scores: Sequence[Fraction],
    *,
    has_totals: bool,
) -> EntryRows:
    size, members = int(owner.people.sum()), int(true.sum())
    pairs = members * (size - members)
    if not pairs:
        return EntryRows((), is_open=True, why=ONE_CLASS)
    ranks = _midranks(scores, owner.people.tolist())
    total = sum(rank * count for rank, count in zip(ranks, true.tolist(), strict=True))
    lowest = Fraction(members * (members + 1), 2)
    hold(str(Performance.AUC), printed, (total - lowest) / pairs)
    if not has_totals:
        return EntryRows((), is_open=True, why=NO_TOTAL)
    sums = printed.times(Fraction(pairs))
    return EntryRows((owner.row(ranks, _ends(sums, -lowest)),))


def _midranks(scores: Sequence[Fraction], people: Sequence[int]) -> list[Fraction]:
    """Return the mean rank, from 1, of those who share each one's score."""
    held: dict[Fraction, int] = {}
    for score, size in zip(scores, people, strict=True):
        held[score] = held.get(score, 0) + size
    below, rank_of = 0, dict[Fraction, Fraction]()
    for score, size in sorted(held.items()):
        rank_of[score] = below + Fraction(size + 1, 2)
        below += size
    return [rank_of[score] for score in scores]
