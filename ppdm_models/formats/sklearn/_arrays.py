"""The arrays inside a fitted scikit-learn tree, however they came here, turned into a published tree."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import NO_COUNTS
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.nodes import Cuts, NodeTable
from treewarden.ppdm_models.tree.predicate import MissingTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    CLASS_WEIGHT,
    MONOTONIC,
    PRIVACY,
    Criterion,
    Feature,
    Learner,
    Missing,
    Quality,
    Stopping,
    Task,
    Tree,
)

CRITERIA = {
    "gini": Criterion.GINI,
    "entropy": Criterion.ENTROPY,
    "log_loss": Criterion.ENTROPY,
}

SQUARED = ("squared_error", "friedman_mse", "mse")
"""The criteria under which a node's impurity is the mean squared distance from its mean."""
UNMODELLED = (CLASS_WEIGHT, MONOTONIC, "min_impurity_split")
"""Settings that decide which split is taken, beside the criterion and the smallest leaf."""
STOPPING = (
    "max_depth",
    "min_samples_split",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
)
"""Settings that say when a tree stopped growing, or was pruned."""

Floats = FloatArray
Wholes = IntArray


@dataclass(frozen=True, slots=True)
class TreeArrays:
    """One number per node: ``children_*`` are -1 at a leaf; ``value`` is nodes x classes (or x 1 for a regression).

    ``value`` holds fractions since scikit-learn 1.3 and (weighted) counts before. ``samples`` counts training records,
    ``weighted`` adds up their weights. ``missing_left`` is None where the tree knows no missing values, ``impurity``
    where it says none.
    """

    children_left: Wholes
    children_right: Wholes
    feature: Wholes
    threshold: Floats
    samples: Wholes
    weighted: Floats
    value: Floats
    missing_left: BoolArray | None = None
    impurity: Floats | None = None

    @property
    def is_unweighted(self) -> bool:
        """Whether every record weighed 1."""
        return bool((self.weighted == self.samples).all())

    @property
    def tells_counts(self) -> bool:
        """Whether nodes say how many records they hold: a learner that hides it writes 0 everywhere."""
        return bool(self.samples.any() or self.weighted.any())

    def check(self, where: str, features: int) -> None:
        """Refuse arrays that are no tree.

        Raises:
            TreeFormatError: lengths differ, a child is out of order or has two parents, or a number cannot be.
        """
        size = len(self.children_left)
        arrays = (self.children_right, self.feature, self.threshold, self.samples, self.weighted)
        if not 0 < size <= limits.NODES:
            raise TreeFormatError(
                where, f"a tree has {size:,} nodes; give trees with 1 to {limits.NODES:,}"
            )
        if any(len(array) != size for array in (*arrays, self.value)):
            raise TreeFormatError(where, "its arrays have different lengths")
        if not (np.isfinite(self.value).all() and np.isfinite(self.weighted).all()):
            raise TreeFormatError(where, "a value or weight is not a finite number")
        if self.value.size > limits.CLASS_NUMBERS or self.value.shape[1] > limits.CLASSES:
            raise TreeFormatError(
                where,
                f"more than {limits.CLASSES:,} classes, which is the limit; merge "
                "classes before training",
            )
        if (self.weighted < 0).any() or (self.samples < 0).any():
            raise TreeFormatError(where, "a node has a negative number of records")
        self._check_shape(where, features)

    def _check_shape(self, where: str, features: int) -> None:
        size = len(self.children_left)
        depths = [0] + [-1] * (size - 1)
        columns = (self.children_left, self.children_right, self.feature, self.threshold)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for index, (left, right, feature, threshold) in enumerate(rows):
            if left == right == -1:
                continue
            if depths[index] < 0 or left == right:
                raise TreeFormatError(where, f"node {index} is not part of the tree")
            for child in (left, right):
                if not index < child < size or depths[child] >= 0:
                    raise TreeFormatError(where, f"node {index} has the impossible child {child}")
                depths[child] = depths[index] + 1
            if not 0 <= feature < features:
                raise TreeFormatError(
                    where, f"node {index} tests feature {feature}, which does not exist"
                )
            if math.isnan(threshold) or threshold == -math.inf:
                raise TreeFormatError(where, f"node {index} has the invalid threshold {threshold}")
        if min(depths) < 0:
            raise TreeFormatError(where, f"node {depths.index(-1)} is not a child of any node")
        if max(depths) > limits.DEPTH:
            raise TreeFormatError(
                where,
                f"more than {limits.DEPTH} tests on one path, which is the limit; "
                "train shallower trees",
            )


def tree_from_arrays(
    arrays: TreeArrays,
    names: Sequence[str],
    classes: tuple[str, ...],
    *,
    settings: Mapping[str, object],
    target: str = "",
    source: str = "tree",
    tells_counts: bool | None = None,
) -> Tree:
    """Return the tree of checked arrays; ``settings`` are the estimator's, ``classes`` empty for a regression.

    ``tells_counts`` says whether its numbers of records are believed; None: where some are not 0. Features compare
    32-bit numbers. Counts are people only where no weights were at work; a node is named by its number.
    """
    if not (arrays.tells_counts if tells_counts is None else tells_counts):
        return _without_counts(arrays, tuple(names), classes, target=target, source=source)
    counts = _counts(arrays.value, arrays.weighted) if classes else None
    whole = counts is None or all(map(is_whole, counts[counts != np.round(counts)].tolist()))
    everybody = float(arrays.samples[0]), float(arrays.weighted[0])
    learner = learner_of(settings, everybody, len(names))
    is_unweighted = arrays.is_unweighted
    if counts is not None and (learner.weighs_classes or not is_unweighted):
        weights = class_weights_of(counts, arrays.samples)
        learner = replace(learner, class_weights=weights)
        # Balanced classes weigh as much as their records at the root, and by chance below.
        is_one = len(weights) > 0 and np.allclose(weights, 1.0, rtol=WHOLE_SHARE, atol=0)
        is_unweighted &= is_one or not learner.weighs_classes
    return Tree(
        nodes=_nodes(arrays, tuple(names), classes, counts, _spreads(arrays, settings)),
        features=tuple(Feature(name, numeric=True, single=True) for name in names),
        target=target,
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        learner=learner,
        quality=Quality.EXACT if is_unweighted and whole else Quality.WEIGHTED,
        missing=Missing.NONE if arrays.missing_left is None else Missing.DEFAULT_CHILD,
        source=source,
        format="sklearn",
        unused=_unused(arrays, settings) if not classes else (),
    )


MOST_WEIGHTED = 50
"""Weights of more classes are not looked for."""
WORST_CONDITION = 1e6
"""Nodes whose sums are nearer to dependent than this leave several weights."""


def class_weights_of(sums: Floats, samples: Wholes) -> tuple[float, ...]:
    """Return by which weights of the classes the sums of all nodes, (N, m), are whole numbers of their records, (N,).

    Each node says that its sums, divided by the weights, add up to its records. Empty where that leaves several weights
    or none: the records then have other weights as well.
    """
    if sums.shape[1] > min(MOST_WEIGHTED, len(sums)) or not (sums[0] > 0).all():
        return ()
    scaled = sums / sums[0]
    if np.linalg.cond(scaled) > WORST_CONDITION:
        return ()
    records = np.rint(np.linalg.lstsq(scaled, samples.astype(np.float64), rcond=None)[0])
    whole = np.rint(scaled * records)
    is_whole_number = np.abs(scaled * records - whole) <= WHOLE_SHARE * np.maximum(whole, 1.0)
    if (records < 1).any() or not is_whole_number.all() or (whole.sum(axis=1) != samples).any():
        return ()
    return tuple((sums[0] / records).tolist())


WHOLE_SHARE = 1e-9
"""How far sums divided by their weights may be from whole numbers, as a share of these."""


def _unused(arrays: TreeArrays, settings: Mapping[str, object]) -> tuple[str, ...]:
    """Return that impurities of numbers are published which are not their variances."""
    is_told = arrays.impurity is not None and bool(arrays.impurity.any())
    return ("impurities",) if is_told and _spreads(arrays, settings) is None else ()


def _without_counts(
    arrays: TreeArrays,
    names: tuple[str, ...],
    classes: tuple[str, ...],
    *,
    target: str,
    source: str,
) -> Tree:
    """Return the tree of a learner that tells no counts, as one that claims differential privacy: leaves and values.

    Its values are labels that it drew, so that they need not be those of most records; inner nodes say nothing.
    """
    nodes = _nodes(arrays, names, classes, None, None)
    is_inner = np.bincount(nodes.parents[1:], minlength=len(nodes)) > 0
    scores = [None if inner else score for inner, score in zip(is_inner, nodes.scores, strict=True)]
    return Tree(
        nodes=replace(nodes, scores=scores, records=None),
        features=tuple(Feature(name, numeric=True, single=True) for name in names),
        target=target,
        classes=classes,
        task=Task.CLASSIFICATION if classes else Task.REGRESSION,
        learner=Learner(all_features=False, multiway=False, unmodelled=(PRIVACY,)),
        quality=Quality.ABSENT,
        missing=Missing.NONE if arrays.missing_left is None else Missing.DEFAULT_CHILD,
        source=source,
        format="sklearn",
        notes=(f"{source}: {NO_COUNTS}",),
    )


def other_columns(names: int, features: int) -> str:
    """Return why the columns of a table cannot be those that an estimator was trained on, and what to do."""
    return (
        f"the estimator was trained on {features} columns, but the table has {names} besides the sensitive one; "
        "name the predicted column with --sensitive, and leave out columns that were not used"
    )


def class_label(value: object) -> str:
    """Return a class as people write it: ``1``, ``true``, ``setosa``."""
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    return number_text(float(value)) if isinstance(value, float | np.floating) else str(value)


def learner_of(
    settings: Mapping[str, object], everybody: tuple[float, float], features: int
) -> Learner:
    """Return how a tree was grown, from an estimator's settings (and its ``max_features_``).

    ``everybody`` are how many records it saw, and the sum of their weights. A share of these says of no leaf how many
    records it holds if classes had weights.
    """
    records, weight = everybody
    smallest, share = settings.get("min_samples_leaf", 1), settings.get("min_weight_fraction_leaf")
    by_count = 1.0
    if isinstance(smallest, int | float | np.number) and 0 < smallest < math.inf:
        is_count = isinstance(smallest, int | np.integer)
        by_count = float(smallest) if is_count else float(smallest) * records
    by_share = 0.0
    if isinstance(share, float) and 0 <= share <= 1 and not _is_set(settings.get(CLASS_WEIGHT)):
        by_share = share * weight
    least = min(max(by_count, by_share), max(*everybody, 1.0))  # no leaf holds more than all
    draws_cuts = settings.get("splitter", "best") != "best"
    return Learner(
        criterion=CRITERIA.get(str(settings.get("criterion", ""))),
        min_leaf_records=max(1, math.ceil(least)),
        all_features=not draws_cuts and settings.get("max_features_") in (None, features),
        multiway=False,
        tool=Tool.SCIKIT_LEARN,
        unmodelled=tuple(name for name in UNMODELLED if _is_set(settings.get(name))),
        stopping=stopping_of(settings, records),
        lists_columns=True,
        draws_cuts=draws_cuts,
    )


def stopping_of(settings: Mapping[str, object], records: float) -> Stopping | None:
    """Return when a tree of so many records stopped, from an estimator's settings; None where they do not say it.

    Older versions lack ``ccp_alpha`` and ``min_impurity_decrease``, which then did nothing.
    """
    if not {"max_depth", "min_samples_split", "max_leaf_nodes"} <= settings.keys():
        return None
    depth, leaves = settings["max_depth"], settings["max_leaf_nodes"]
    split = settings["min_samples_split"]
    decrease, alpha = (settings.get(name, 0.0) for name in ("min_impurity_decrease", "ccp_alpha"))
    if isinstance(split, float | np.floating) and 0 < split <= 1:
        split = math.ceil(split * records)
    if not (_is_limit(depth) and _is_limit(leaves) and _is_limit(split) and split is not None):
        return None
    if not all(isinstance(number, int | float | np.number) for number in (decrease, alpha)):
        return None
    try:
        return Stopping(
            None if depth is None else int(depth),  # type: ignore[call-overload]  # it is a whole number
            max(2, int(split)),  # type: ignore[call-overload]  # the same
            None if leaves is None else int(leaves),  # type: ignore[call-overload]  # the same
            float(decrease),  # type: ignore[arg-type]  # it is a number
            float(alpha),  # type: ignore[arg-type]  # the same
        )
    except ValueError:
        return None


def _is_limit(setting: object) -> bool:
    is_whole_number = isinstance(setting, int | np.integer) and not isinstance(setting, bool)
    return setting is None or is_whole_number


def _is_set(setting: object) -> bool:
    """Return whether a setting is given and says something: constraints of 0 on every feature say nothing."""
    if setting is None or isinstance(setting, str | Mapping):
        return setting is not None
    return bool(np.any(np.asarray(setting, dtype=object) != 0))


def _counts(value: Floats, weighted: Floats) -> Floats:
    """Return class counts per node: ``value`` holds fractions since scikit-learn 1.3, counts before."""
    products = value * weighted[:, None] if np.allclose(value.sum(axis=1), 1.0) else value
    rounded = np.round(products)
    return np.where(
        np.abs(products - rounded) <= 1e-6 * np.maximum(1.0, rounded), rounded, products
    )


def _nodes(
    arrays: TreeArrays,
    names: tuple[str, ...],
    classes: tuple[str, ...],
    counts: Floats | None,
    spreads: Floats | None,
) -> NodeTable:
    """Return the nodes in document order, named by scikit-learn's numbers."""
    order = _document_order(arrays)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    inner = np.flatnonzero(arrays.children_left >= 0)
    left, right = arrays.children_left[inner], arrays.children_right[inner]
    parents = np.full(len(order), -1, dtype=np.int64)
    for children in (left, right):
        parents[place[children]] = place[inner]
    value = arrays.value[order]
    labels = [classes[best] for best in value.argmax(axis=1).tolist()] if classes else None
    return NodeTable(
        parents=parents,
        names=list(map(str, order.tolist())),
        tests=_cuts(arrays, names, order, parents, place[right]),
        scores=value[:, 0] if labels is None else labels,
        records=arrays.weighted[order],
        class_counts=None if counts is None else counts[order],
        default_children=_defaults(arrays, inner, place),
        spreads=None if classes or spreads is None else [(s, s) for s in spreads[order].tolist()],
    )


def _document_order(arrays: TreeArrays) -> Wholes:
    """Return scikit-learn's numbers of the nodes, each left child and all below it before the right one."""
    left, right = arrays.children_left.tolist(), arrays.children_right.tolist()
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if left[node] >= 0:
            stack += (right[node], left[node])
    return np.array(order, dtype=np.int64)


def _cuts(
    arrays: TreeArrays, names: tuple[str, ...], order: Wholes, parents: Wholes, right: Wholes
) -> Cuts:
    """Return the tests that lead to nodes; ``right`` are the places of the right children."""
    asked = order[parents]  # the root's is no matter
    is_below = parents >= 0
    ends = np.where(is_below, arrays.threshold[asked], 0.0)
    upper = np.zeros(len(order), dtype=np.bool_)
    upper[right] = True
    others = {
        node: threshold_tests(names[int(arrays.feature[asked[node]])], math.inf)[int(upper[node])]
        for node in np.flatnonzero(is_below & (ends == math.inf)).tolist()
    }
    features = np.where(is_below & (ends < math.inf), arrays.feature[asked], -1)
    return Cuts(names, features, ends, upper, is_below, others)


def _defaults(arrays: TreeArrays, inner: Wholes, place: Wholes) -> Wholes | None:
    """Return the child of each node that takes missing values, -1 for none; None where the tree knows none."""
    if arrays.missing_left is None:
        return None
    found = np.full(len(place), -1, dtype=np.int64)
    to_left = arrays.missing_left[inner]
    chosen = np.where(to_left, arrays.children_left[inner], arrays.children_right[inner])
    found[place[inner]] = place[chosen]
    return found


def _spreads(arrays: TreeArrays, settings: Mapping[str, object]) -> Floats | None:
    """Return each node's mean squared distance from its mean, where its impurity is that.

    Where all are 0 though there are splits they were cleared: no learner splits a node without impurity.
    """
    is_square = str(settings.get("criterion", "")) in SQUARED
    if arrays.impurity is not None and len(arrays.impurity) > 1 and not arrays.impurity.any():
        return None
    if arrays.impurity is None or not is_square or not np.isfinite(arrays.impurity).all():
        return None
    return arrays.impurity


def threshold_tests(name: str, threshold: float) -> tuple[Predicate, Predicate]:
    """Return the tests of both children of a split: at most the threshold, and above it."""
    if threshold == math.inf:  # the split sends every number left and only missing values right
        return MissingTest(name, negated=True), MissingTest(name)
    return (
        NumericTest(name, high=threshold, high_closed=True),
        NumericTest(name, low=threshold),
    )
