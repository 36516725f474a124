"""What a published model predicts for records: each tree routed on its own, their scores combined as the file says."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ppdm_models.ensemble import Combination, Ensemble, Link, Model, Other
from ppdm_models.predicate import Columns, answer
from ppdm_models.routing import route
from ppdm_models.tree import Node, Task, Tree

Scores = NDArray[np.float64]

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
    if isinstance(model, Tree):
        return _of_tree(model, columns, as_votes=False)
    return _linked(model, _of_ensemble(model, columns))


def labels(model: Model, scores: Scores) -> list[str | None]:
    """Return the predicted class of each record; None where there is no prediction."""
    return [None if np.isnan(row).any() else model.classes[int(row.argmax())] for row in scores]


def _of_tree(tree: Tree, columns: Columns, *, as_votes: bool) -> Scores:
    rows = [_row(tree, node, as_votes) for node in tree.nodes]
    width = max((len(row) for row in rows), default=1)
    nothing = np.full(width, np.nan)
    table = np.array([row if len(row) == width else nothing for row in rows] + [nothing])
    stops = route(tree, columns)
    return np.asarray(table[np.where(stops < 0, len(rows), stops)])


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


def _of_ensemble(ensemble: Ensemble, columns: Columns) -> Scores:
    size = len(next(iter(columns.values()))) if columns else 0
    as_votes = ensemble.combination in VOTES
    parts, weights, spoken = [], [], []
    for member in ensemble.members:
        if isinstance(member.model, Other):
            raise ValueError(f"{ensemble.source}: holds a {member.model.kind}, which is no tree")
        if isinstance(member.model, Tree):
            scores = _of_tree(member.model, columns, as_votes=as_votes)
        else:
            scores = predict(member.model, columns)
            if as_votes:
                scores = np.where(
                    np.isnan(scores), np.nan, scores == scores.max(axis=1, keepdims=True)
                )
        speaks = answer(member.test, columns, size).true
        spoken.append(speaks)
        parts.append(np.where(speaks[:, None], scores, np.nan))
        weights.append(np.where(speaks, member.weight, 0.0))
    if ensemble.combination is Combination.SELECT_FIRST:
        return _first(parts, np.array(spoken))
    if ensemble.combination in CHOICES:
        raise ValueError(f"{ensemble.source}: {ensemble.combination} is not evaluated")
    return _combined(ensemble, parts, np.array(weights))


def _first(parts: list[Scores], spoken: NDArray[np.bool_]) -> Scores:
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
        stacked = np.stack(parts)
        if ensemble.combination is Combination.MAX:
            return np.asarray(np.nanmax(stacked, axis=0))
        if ensemble.combination is Combination.WEIGHTED_MEDIAN:
            raise ValueError(f"{ensemble.source}: a weighted median is not evaluated")
        return np.asarray(np.nanmedian(stacked, axis=0))
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
