"""What a published model predicts for records: each tree routed on its own, their scores combined as the file says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.tables.routing import Router, prepared
from treewarden.ppdm_models.tree.column import Columns
from treewarden.ppdm_models.tree.ensemble import (
    Combination,
    Ensemble,
    Link,
    Model,
    NonTreeModel,
    Silence,
)
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.predicate import Always, answer, features_of
from treewarden.ppdm_models.tree.tree import Node, Task, Tree

# The middle or the largest of what the members of an ensemble say.


def ranked(combination: Combination, scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the middle or the largest of what the members say; nothing where one of them says nothing."""
    asked = weights != 0.0
    silent = (asked & np.isnan(scores).any(axis=2)).any(axis=0) | ~asked.any(axis=0)
    kept = np.where(asked[:, :, None] & ~silent[None, :, None], scores, np.nan)
    kept[0, silent] = 0.0
    if combination is Combination.MAX:
        total = np.nanmax(kept, axis=0)
    elif combination is Combination.MEDIAN:
        total = np.nanmedian(kept, axis=0)
    else:
        total = _weighted_median(kept, weights)
    total[silent] = np.nan
    return np.asarray(total)


def _weighted_median(scores: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the least number that half of the weight is not above (as scikit-learn's AdaBoostRegressor has it)."""
    order = scores.argsort(axis=0)
    upto = np.take_along_axis(weights[:, :, None], order, axis=0).cumsum(axis=0)
    middle = np.argmax(upto >= 0.5 * upto[-1], axis=0)
    chosen = np.take_along_axis(order, middle[None], axis=0)
    return np.asarray(np.take_along_axis(scores, chosen, axis=0)[0])


# What each node of a tree would say of a record that stops there, as a table of scores.


def leaf_scores(tree: Tree, *, as_votes: bool) -> FloatArray:
    """Return the scores of each node, (N + 1, outputs), NaN where it says nothing; the last row is that of no node.

    With ``as_votes`` a class is said and no shares. Where the tree has columns, no node is made.
    """
    rows = _of_columns(tree, as_votes=as_votes)
    if rows is None:
        rows = _of_nodes(tree, as_votes=as_votes)
    return np.vstack([rows, np.full((1, rows.shape[1]), np.nan)])


def _of_nodes(tree: Tree, *, as_votes: bool) -> FloatArray:
    rows = [_row(tree, node, as_votes) for node in tree.nodes]
    width = max((len(row) for row in rows), default=1)
    nothing = np.full(width, np.nan)
    return np.array([row if len(row) == width else nothing for row in rows])


def _row(tree: Tree, node: Node, as_votes: bool) -> FloatArray:
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


def _of_columns(tree: Tree, *, as_votes: bool) -> FloatArray | None:
    """Return the same from the columns of a tree; None where it has none, or others than most trees have."""
    nodes = tree.nodes
    if not isinstance(nodes, NodeTable) or nodes.outputs is not None:
        return None
    scores = nodes.scores
    if tree.task is Task.REGRESSION:
        return scores[:, None].copy() if isinstance(scores, np.ndarray) else None
    if isinstance(scores, np.ndarray) or nodes.class_shares is not None or not tree.classes:
        return None
    places: dict[str | float | None, int] = {None: -1}
    for code, name in enumerate(tree.classes):
        places.setdefault(name, code)
    try:
        labels = np.array([places[score] for score in scores], dtype=np.intp)
    except KeyError:
        return None
    rows = np.full((len(nodes), len(tree.classes)), np.nan)
    told = np.flatnonzero(labels >= 0)
    rows[told, :] = 0.0
    rows[told, labels[told]] = 1.0
    if nodes.class_counts is not None and not as_votes:
        _put_shares(rows, nodes.class_counts, labels)
    return rows


def _put_shares(rows: FloatArray, counts: FloatArray, labels: IndexArray) -> None:
    """Put the shares of classes where all are counted, unless the class that is said is not the commonest."""
    total = np.zeros(len(counts))
    for column in counts.T:
        total = total + column
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = counts / total[:, None]
        kept = total > 0
        best = shares.max(axis=1)
    said = np.where(labels >= 0, shares[np.arange(len(labels)), labels], best)
    kept &= said == best
    rows[kept] = shares[kept]


Scores = FloatArray

VOTES = (Combination.MAJORITY_VOTE, Combination.WEIGHTED_MAJORITY_VOTE)
CHOICES = (Combination.SELECT_FIRST, Combination.SELECT_ALL, Combination.MODEL_CHAIN)
RANKED = (Combination.MEDIAN, Combination.WEIGHTED_MEDIAN, Combination.MAX)

Stopped = Callable[[Tree], tuple[IndexArray, BoolArray]]
"""Asked of tree after tree, in the file's order: where each record stops, and which ones it refuses."""


def predict(model: Model, columns: Columns, stops: Iterable[IndexArray] | None = None) -> Scores:
    """Return the model's scores, records x outputs; a row of NaN where it predicts nothing.

    Outputs are the classes in order (the prediction is the largest; shares, votes or probabilities as the file has
    them), or the numbers of a regression. ``stops`` (T, n) says where the records stop in each tree, as ``route`` does,
    if that is known; it is not used of a model that calls some values invalid.

    Raises:
        KeyError: an attribute that the model tests is not among the columns.
        ValueError: the model holds parts that are no trees, or combines them in a way that is not evaluated.
    """
    scores, refused = _predicted(model, columns, _stopped(model, columns, stops), as_votes=False)
    return np.where(refused[:, None], np.nan, scores)


def _stopped(model: Model, columns: Columns, stops: Iterable[IndexArray] | None) -> Stopped:
    if stops is None or isinstance(model, Tree) or _refuses(model):
        return Router(columns).routed
    # Found by tree: members that are ensembles are evaluated before those that are trees.
    stops_of = {id(tree): row for tree, row in zip(model.trees, stops, strict=True)}
    nobody = np.zeros(_size(columns), dtype=bool)
    return lambda tree: (stops_of[id(tree)], nobody)


def _refuses(model: Ensemble) -> bool:
    """Return whether a model may call values invalid."""
    features = (model.features, *(tree.features for tree in model.trees))
    return any(feature.treatments for part in features for feature in part)


def _size(columns: Columns) -> int:
    return len(next(iter(columns.values()))) if columns else 0


def _predicted(
    model: Tree | Ensemble, columns: Columns, stopped: Stopped, *, as_votes: bool
) -> tuple[Scores, BoolArray]:
    """Return the scores, and the records that the model refuses for a value that it calls invalid."""
    if isinstance(model, Tree):
        return _of_tree(model, leaf_scores(model, as_votes=as_votes), stopped)
    scores, refused = _of_ensemble(model, columns, stopped)
    scores = _linked(model, scores)
    if as_votes:
        winners = scores == scores.max(axis=1, keepdims=True)
        scores = np.where(np.isnan(scores), np.nan, winners)
    return scores, refused


def labels(model: Model, scores: Scores) -> list[str | None]:
    """Return the predicted class of each record; None where there is no prediction."""
    return [None if np.isnan(row).any() else model.classes[int(row.argmax())] for row in scores]


def _of_tree(tree: Tree, scores: Scores, stopped: Stopped) -> tuple[Scores, BoolArray]:
    """Return the scores of the leaves (N + 1, outputs) by record; those of the last row where it stops in none."""
    rows, refused = _rows_of(tree, scores, stopped)
    return np.asarray(scores[rows]), refused


def _rows_of(tree: Tree, scores: Scores, stopped: Stopped) -> tuple[IndexArray, BoolArray]:
    """Return the row of a tree's scores that each record has, and the records that it refuses."""
    stops, refused = stopped(tree)
    return np.where(stops < 0, len(scores) - 1, stops), refused


@dataclass(frozen=True, slots=True, eq=False)
class _MemberScores:
    """What one member says of each record, whether it speaks of it, with what weight, and whom it refuses.

    With ``rows`` (n,) the others but the last are of the leaves of a tree, and these say in which one each record is.
    """

    scores: Scores
    speaks: BoolArray
    weights: Scores
    refused: BoolArray
    rows: IndexArray | None = None

    @property
    def by_record(self) -> _MemberScores:
        """The same without ``rows``."""
        if self.rows is None:
            return self
        return _MemberScores(
            self.scores[self.rows], self.speaks[self.rows], self.weights[self.rows], self.refused
        )


def _of_ensemble(
    ensemble: Ensemble, columns: Columns, stopped: Stopped
) -> tuple[Scores, BoolArray]:
    as_votes = ensemble.combination in VOTES
    known: list[Scores | tuple[Scores, BoolArray]] = []
    for member in ensemble.members:
        if isinstance(member.model, NonTreeModel):
            raise ValueError(
                f"{ensemble.source}: contains a {member.model.kind}, which is not a tree"
            )
        known.append(
            leaf_scores(member.model, as_votes=as_votes)
            if isinstance(member.model, Tree)
            else _predicted(member.model, columns, stopped, as_votes=as_votes)
        )
    said = _members(ensemble, columns, known, stopped)
    if ensemble.combination in CHOICES:
        return _chosen(ensemble, [member_scores.by_record for member_scores in said])
    is_sum = ensemble.combination not in RANKED
    if is_sum and ensemble.silence.treatment is Silence.CONTINUE:
        # No more than one member is held at a time.
        refused = np.zeros(_size(columns), dtype=bool)

        def scores_of_members() -> Iterator[_MemberScores]:
            for member_scores in said:
                refused[:] |= member_scores.refused
                yield member_scores

        widths = [one[0].shape[1] if isinstance(one, tuple) else one.shape[1] for one in known]
        return _summed(ensemble, scores_of_members(), widths, _size(columns)), refused
    all_said = [member_scores.by_record for member_scores in said]
    parts, weights = (
        [member_scores.scores for member_scores in all_said],
        np.array([member_scores.weights for member_scores in all_said]),
    )
    heard = _heard(ensemble, parts, weights)
    if is_sum:
        widths = [part.shape[1] for part in parts]
        heeded = [
            replace(member_scores, weights=few)
            for member_scores, few in zip(all_said, heard, strict=True)
        ]
        total = _summed(ensemble, heeded, widths, _size(columns))
    else:
        total = ranked(ensemble.combination, np.stack(parts), heard)
    if ensemble.silence.treatment is not Silence.CONTINUE:
        total[_is_silent(ensemble, parts, weights)] = np.nan
    return total, np.asarray(
        np.array([member_scores.refused for member_scores in all_said]).any(axis=0)
    )


def _members(
    ensemble: Ensemble,
    columns: Columns,
    score_arrays: Sequence[Scores | tuple[Scores, BoolArray]],
    stopped: Stopped,
) -> Iterator[_MemberScores]:
    """Yield what each member says; of trees the scores of their leaves are known."""
    size = _size(columns)
    seen, invalid = prepared(ensemble.features, columns)
    for member, found in zip(ensemble.members, score_arrays, strict=True):
        if isinstance(found, tuple):
            scores, refused = found
        else:
            assert isinstance(member.model, Tree)
            rows, refused = _rows_of(member.model, found, stopped)
            if isinstance(member.test, Always):
                yield _of_all(member.weight, found, refused, rows)
                continue
            scores = found[rows]
        if isinstance(member.test, Always):
            yield _of_all(member.weight, scores, refused)
            continue
        unasked = np.zeros(size, dtype=bool)  # whether it speaks cannot be asked
        for name in set(features_of(member.test)) & invalid.keys():
            unasked |= invalid[name]
        speaks = answer(member.test, seen, size).true | unasked
        yield _MemberScores(
            np.where(speaks[:, None], scores, np.nan),
            speaks,
            np.where(speaks, member.weight, 0.0),
            (refused & speaks) | unasked,
        )


def _of_all(
    weight: float, scores: Scores, refused: BoolArray, rows: IndexArray | None = None
) -> _MemberScores:
    """Return what a member says who speaks of every record."""
    size = len(scores)
    return _MemberScores(scores, np.ones(size, dtype=bool), np.full(size, weight), refused, rows)


def _chosen(
    ensemble: Ensemble, scores_of_members: Sequence[_MemberScores]
) -> tuple[Scores, BoolArray]:
    """Return what the first member says whose test holds."""
    if ensemble.combination is not Combination.SELECT_FIRST:
        raise ValueError(f"{ensemble.source}: {ensemble.combination} is not evaluated")
    parts = [member_scores.scores for member_scores in scores_of_members]
    asked, refused = (
        np.array([member_scores.speaks for member_scores in scores_of_members]),
        np.array([member_scores.refused for member_scores in scores_of_members]),
    )
    if ensemble.silence.treatment is Silence.SKIP_SEGMENT:
        asked &= ~np.isnan(np.stack(parts)).any(axis=2) | refused
    chosen = np.argmax(asked, axis=0)
    return _first(parts, asked), np.asarray(refused[chosen, np.arange(len(chosen))])


def _heard(ensemble: Ensemble, parts: list[Scores], weights: Scores) -> Scores:
    """Return the weights without those of members that are skipped, as they predict nothing."""
    if ensemble.silence.treatment is not Silence.SKIP_SEGMENT:
        return weights
    return np.where(np.isnan(np.stack(parts)).any(axis=2), 0.0, weights)


def _is_silent(ensemble: Ensemble, parts: list[Scores], weights: Scores) -> BoolArray:
    """Return for which records too many members predict nothing."""
    empty = np.isnan(np.stack(parts)).any(axis=2) & (weights != 0.0)
    if ensemble.silence.treatment is Silence.RETURN_MISSING:
        return np.asarray(empty.any(axis=0))
    total = weights.sum(axis=0)
    silent = np.where(empty, weights, 0.0).sum(axis=0)
    nobody = ~((weights != 0.0) & ~empty).any(axis=0)
    return np.asarray(nobody | (silent > ensemble.silence.most_share * total))


def _first(parts: list[Scores], spoken: BoolArray) -> Scores:
    """Return what the first member says whose test holds, also where that is nothing (PMML 4.4, selectFirst)."""
    found = np.stack(parts)[np.argmax(spoken, axis=0), np.arange(len(parts[0]))]
    return np.where(np.asarray(spoken.any(axis=0))[:, None], found, np.nan)


def _summed(
    ensemble: Ensemble,
    scores_of_members: Iterable[_MemberScores],
    widths: Sequence[int],
    size: int,
) -> Scores:
    """Return the sum or the mean of what members say, (n, outputs) with the weight of each record, (n,)."""
    outputs = [member.output for member in ensemble.members]
    of_all = [width for width, output in zip(widths, outputs, strict=True) if output is None]
    known = max((output + 1 for output in outputs if output is not None), default=0)
    width = max(known, max(of_all, default=0), len(ensemble.base))
    weighted = ensemble.combination not in (
        Combination.SUM,
        Combination.AVERAGE,
        Combination.MAJORITY_VOTE,
    )
    total = np.zeros((size, width))
    heard = np.zeros(size)
    nothing = np.zeros(size)
    for member_scores, output in zip(scores_of_members, outputs, strict=True):
        part = member_scores.scores
        speaks = member_scores.weights != 0.0
        factor = member_scores.weights if weighted else speaks.astype(float)
        empty = speaks & np.isnan(part).any(axis=1)
        silent = np.where(empty, factor, 0.0)
        added = np.where((speaks & ~empty)[:, None], part, 0.0) * factor[:, None]
        if (
            member_scores.rows is not None
        ):  # worked out by leaf, of which there are fewer than records
            added, silent, factor = (
                each.take(member_scores.rows, axis=0) for each in (added, silent, factor)
            )
        nothing += silent
        if output is None:
            total += added
        else:
            total[:, output] += added[:, 0]
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
        raise ValueError(f"{ensemble.source}: the file does not say how scores become a prediction")
    if ensemble.link is Link.EXP:
        return np.asarray(np.exp(scores))
    if ensemble.link is Link.SOFTMAX:
        raised = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(raised / raised.sum(axis=1, keepdims=True))
    shares = 1.0 / (1.0 + np.exp(-scores))
    return np.hstack([1.0 - shares, shares]) if scores.shape[1] == 1 else shares
