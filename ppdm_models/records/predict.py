"""What a published model predicts for records: each tree routed on its own, their scores combined as the file says."""

from __future__ import annotations

import numpy as np

from ppdm_models.arrays import BoolArray, FloatArray
from ppdm_models.records.routing import prepared, routed
from ppdm_models.tree.column import Columns
from ppdm_models.tree.ensemble import Combination, Ensemble, Link, Model, Other, Silence
from ppdm_models.tree.predicate import answer, features_of
from ppdm_models.tree.tree import Node, Task, Tree

Scores = FloatArray

VOTES = (Combination.MAJORITY_VOTE, Combination.WEIGHTED_MAJORITY_VOTE)
CHOICES = (Combination.SELECT_FIRST, Combination.SELECT_ALL, Combination.MODEL_CHAIN)


def predict(model: Model, columns: Columns) -> Scores:
    """Return the model's scores, records x outputs; a row of NaN where it predicts nothing.

    Outputs are the classes in order (the prediction is the largest; shares, votes or probabilities as the file has
    them), or the numbers of a regression.

    Raises:
        KeyError: an attribute that the model tests is not among the columns.
        ValueError: the model holds parts that are no trees, or combines them in a way that is not evaluated.
    """
    scores, refused = _predicted(model, columns, as_votes=False)
    return np.where(refused[:, None], np.nan, scores)


def _predicted(
    model: Tree | Ensemble, columns: Columns, *, as_votes: bool
) -> tuple[Scores, BoolArray]:
    """Return the scores, and the records that the model refuses for a value that it calls invalid."""
    if isinstance(model, Tree):
        return _of_tree(model, columns, as_votes=as_votes)
    scores, refused = _of_ensemble(model, columns)
    scores = _linked(model, scores)
    if as_votes:
        winners = scores == scores.max(axis=1, keepdims=True)
        scores = np.where(np.isnan(scores), np.nan, winners)
    return scores, refused


def labels(model: Model, scores: Scores) -> list[str | None]:
    """Return the predicted class of each record; None where there is no prediction."""
    return [None if np.isnan(row).any() else model.classes[int(row.argmax())] for row in scores]


def _of_tree(tree: Tree, columns: Columns, *, as_votes: bool) -> tuple[Scores, BoolArray]:
    rows = [_row(tree, node, as_votes) for node in tree.nodes]
    width = max((len(row) for row in rows), default=1)
    nothing = np.full(width, np.nan)
    table = np.array([row if len(row) == width else nothing for row in rows] + [nothing])
    stops, refused = routed(tree, columns)
    return np.asarray(table[np.where(stops < 0, len(rows), stops)]), refused


def _row(tree: Tree, node: Node, as_votes: bool) -> Scores:
    if node.outputs is not None and not as_votes:
        return np.array(node.outputs)
    if tree.task is Task.REGRESSION:
        return np.array([np.nan if node.score is None else float(node.score)])
    label = tree.classes.index(str(node.score)) if node.score is not None else None
    shares = node.class_shares
    if shares is None and node.class_counts and None not in node.class_counts:
        shares = tuple(count or 0.0 for count in node.class_counts)
    if shares is not None and sum(shares) > 0 and not as_votes:
        row = np.array(shares) / sum(shares)
        if label is None or row[label] == row.max():
            return row
    if label is None:
        return np.full(len(tree.classes), np.nan)
    return np.asarray(np.eye(len(tree.classes))[label])


def _of_ensemble(ensemble: Ensemble, columns: Columns) -> tuple[Scores, BoolArray]:
    size = len(next(iter(columns.values()))) if columns else 0
    as_votes = ensemble.combination in VOTES
    seen, invalid = prepared(ensemble.features, columns)
    parts, weights, spoken, refusals = [], [], [], []
    for member in ensemble.members:
        if isinstance(member.model, Other):
            raise ValueError(f"{ensemble.source}: holds a {member.model.kind}, which is no tree")
        scores, refused = _predicted(member.model, columns, as_votes=as_votes)
        unasked = np.zeros(size, dtype=bool)  # whether it speaks cannot be asked
        for name in set(features_of(member.test)) & invalid.keys():
            unasked |= invalid[name]
        speaks = answer(member.test, seen, size).true | unasked
        spoken.append(speaks)
        refusals.append((refused & speaks) | unasked)
        parts.append(np.where(speaks[:, None], scores, np.nan))
        weights.append(np.where(speaks, member.weight, 0.0))
    asked = np.array(spoken)
    refused = np.array(refusals)
    if ensemble.combination is Combination.SELECT_FIRST:
        if ensemble.silence is Silence.SKIP_SEGMENT:
            asked &= ~np.isnan(np.stack(parts)).any(axis=2) | refused
        chosen = np.argmax(asked, axis=0)
        return _first(parts, asked), np.asarray(refused[chosen, np.arange(size)])
    if ensemble.combination in CHOICES:
        raise ValueError(f"{ensemble.source}: {ensemble.combination} is not evaluated")
    total = _combined(ensemble, parts, _heard(ensemble, parts, np.array(weights)))
    if ensemble.silence is not Silence.CONTINUE:
        total[_is_silent(ensemble, parts, np.array(weights))] = np.nan
    return total, np.asarray(refused.any(axis=0))


def _heard(ensemble: Ensemble, parts: list[Scores], weights: Scores) -> Scores:
    """Return the weights without those of members that are skipped, as they predict nothing."""
    if ensemble.silence is not Silence.SKIP_SEGMENT:
        return weights
    return np.where(np.isnan(np.stack(parts)).any(axis=2), 0.0, weights)


def _is_silent(ensemble: Ensemble, parts: list[Scores], weights: Scores) -> BoolArray:
    """Return for which records too many members predict nothing."""
    empty = np.isnan(np.stack(parts)).any(axis=2) & (weights != 0.0)
    if ensemble.silence is Silence.RETURN_MISSING:
        return np.asarray(empty.any(axis=0))
    total = weights.sum(axis=0)
    silent = np.where(empty, weights, 0.0).sum(axis=0)
    nobody = ~((weights != 0.0) & ~empty).any(axis=0)
    return np.asarray(nobody | (silent > ensemble.most_silent * total))


def _first(parts: list[Scores], spoken: BoolArray) -> Scores:
    """Return what the first member says whose test holds, also where that is nothing (PMML 4.4, selectFirst)."""
    found = np.stack(parts)[np.argmax(spoken, axis=0), np.arange(len(parts[0]))]
    return np.where(np.asarray(spoken.any(axis=0))[:, None], found, np.nan)


def _combined(ensemble: Ensemble, parts: list[Scores], weights: Scores) -> Scores:
    outputs = [member.output for member in ensemble.members]
    width = max(
        max((output + 1 for output in outputs if output is not None), default=0),
        max(part.shape[1] for part, output in zip(parts, outputs, strict=True) if output is None)
        if None in outputs
        else 0,
        len(ensemble.base),
    )
    if ensemble.combination in (Combination.MEDIAN, Combination.WEIGHTED_MEDIAN, Combination.MAX):
        return _ranked(ensemble.combination, np.stack(parts), weights)
    weighted = ensemble.combination not in (
        Combination.SUM,
        Combination.AVERAGE,
        Combination.MAJORITY_VOTE,
    )
    total = np.zeros((len(parts[0]), width))
    heard = np.zeros(len(parts[0]))
    nothing = np.zeros(len(parts[0]))
    for part, weight, output in zip(parts, weights, outputs, strict=True):
        speaks = weight != 0.0
        factor = weight if weighted else speaks.astype(float)
        empty = speaks & np.isnan(part).any(axis=1)
        nothing += np.where(empty, factor, 0.0)
        said = np.where((speaks & ~empty)[:, None], part, 0.0) * factor[:, None]
        if output is None:
            total += said
        else:
            total[:, output] += said[:, 0]
        heard += factor
    # "Nothing" is a vote as any other, and spoils everything but a vote (PMML 4.4, missingPredictionTreatment).
    outvoted = nothing > (total.max(axis=1) if ensemble.combination in VOTES else 0.0)
    if ensemble.combination in (Combination.AVERAGE, Combination.WEIGHTED_AVERAGE, *VOTES):
        with np.errstate(invalid="ignore", divide="ignore"):
            total /= heard[:, None]
    total += np.array(ensemble.base) if ensemble.base else 0.0
    total[outvoted] = np.nan
    return total


def _ranked(combination: Combination, said: Scores, weights: Scores) -> Scores:
    """Return the middle or the largest of what the members say; nothing where one of them says nothing."""
    asked = weights != 0.0
    silent = (asked & np.isnan(said).any(axis=2)).any(axis=0) | ~asked.any(axis=0)
    kept = np.where(asked[:, :, None] & ~silent[None, :, None], said, np.nan)
    kept[0, silent] = 0.0
    if combination is Combination.MAX:
        total = np.nanmax(kept, axis=0)
    elif combination is Combination.MEDIAN:
        total = np.nanmedian(kept, axis=0)
    else:
        total = _weighted_median(kept, weights)
    total[silent] = np.nan
    return np.asarray(total)


def _weighted_median(said: Scores, weights: Scores) -> Scores:
    """Return the least number that half of the weight is not above (as scikit-learn's AdaBoostRegressor has it)."""
    order = said.argsort(axis=0)
    upto = np.take_along_axis(weights[:, :, None], order, axis=0).cumsum(axis=0)
    middle = np.argmax(upto >= 0.5 * upto[-1], axis=0)
    chosen = np.take_along_axis(order, middle[None], axis=0)
    return np.asarray(np.take_along_axis(said, chosen, axis=0)[0])


def _linked(ensemble: Ensemble, scores: Scores) -> Scores:
    if ensemble.link is Link.IDENTITY:
        return scores
    if ensemble.link is Link.UNKNOWN:
        raise ValueError(f"{ensemble.source}: the file does not say what becomes of the scores")
    if ensemble.link is Link.EXP:
        return np.asarray(np.exp(scores))
    if ensemble.link is Link.SOFTMAX:
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))
    shares = 1.0 / (1.0 + np.exp(-scores))
    return np.hstack([1.0 - shares, shares]) if scores.shape[1] == 1 else shares
