"""The noisy labels of leaves: whom each mechanism saw there, and how likely it draws each label from the class counts.

The probabilities have a closed form.

Permute-and-flip (McKenna & Sheldon 2020, "Permute-and-flip: a new mechanism for differentially private selection"):
with q_r = e^(-s gap_r), class r is drawn with probability q_r times the sum over sets S of other classes of (-1)^|S|
prod_S q / (|S| + 1), which is the integral of prod (1 - q t) over t from 0 to 1. Gauss and Legendre's rule with k / 2
nodes is exact for it, and adds positive numbers alone. The exponential mechanism (McSherry & Talwar 2007) draws r in
proportion to e^(s count_r). The scale s is epsilon, or half of it where the mechanism does not use that counts only
grow with a record.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import Weights
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import Column, NumericColumn
from treewarden.ppdm_models.tree.nodes import parents_of
from treewarden.ppdm_models.tree.plain_splits import codes_of, is_inner
from treewarden.ppdm_models.tree.privacy_claim import LabelMechanism, PrivacyClaim, TreeRecords

WEIGHED = Undetermined(
    "rows have weights, but the mechanism counts each record once; give the table that the "
    "tree was trained on"
)
NOBODY = Undetermined("the table has no people")
NO_LABELS = Undetermined("some leaves name no class, so their drawn labels are not known")
NOT_IN_LEAVES = Undetermined("some people are in no leaf, so the counts of leaves are not known")
OTHER_CLASSES = Undetermined("its trees name their classes in different orders")
PARTS = Undetermined(
    "the records of each tree are not known, and neither are the counts of its leaves"
)


@dataclass(frozen=True, slots=True, eq=False)
class LeafLabels:
    """The leaves of all trees, and the people in them.

    ``labels`` (L,) are the classes that leaves name, ``counts`` (L, k) their people of each class; ``leaf_of_profile``
    (T, P) is the leaf of each profile in each tree; ``trees`` and ``nodes`` (L,) say which leaf it is.
    """

    labels: IndexArray
    counts: FloatArray
    leaf_of_profile: IndexArray
    trees: IndexArray
    nodes: IndexArray


def read_leaf_labels(
    forest: Forest, population: Population, claim: PrivacyClaim
) -> LeafLabels | Undetermined:
    """Return the labels of all leaves and the people in them, as the learner saw them; or why these are not known.

    Values beyond the bounds of the claim count as the bounds, as the learner clips them. Empty leaves have no people.
    """
    truth = population.truth
    if isinstance(truth, Undetermined):
        return truth
    if population.weights is not Weights.NONE or population.weight is not None:
        return WEIGHED
    if not population.counts.sum():
        return NOBODY
    if len(forest.trees) > 1 and claim.trees is not TreeRecords.ALL:
        return PARTS
    if any(tree.classes != forest.model.classes for tree in forest.trees):
        return OTHER_CLASSES
    stops = _clipped_stops(forest, population, claim)
    if (stops[:, population.counts > 0] < 0).any():
        return NOT_IN_LEAVES
    parts = []
    for number, (tree, stop) in enumerate(zip(forest.trees, stops, strict=True)):
        leaves = np.flatnonzero(~is_inner(tree))
        place = np.full(len(tree.nodes), -1, dtype=np.intp)
        place[leaves] = np.arange(len(leaves))
        labels = codes_of(tree)[leaves]
        here = np.where(stop >= 0, place[stop], -1)
        if (labels < 0).any():
            return NO_LABELS
        if (here[population.counts > 0] < 0).any():
            return NOT_IN_LEAVES
        counts = np.zeros((len(leaves), truth.shape[1]))
        np.add.at(counts, here[here >= 0], truth[here >= 0])
        parts.append((labels, counts, here, np.full(len(leaves), number, dtype=np.intp), leaves))
    starts = np.cumsum([0, *(len(part[0]) for part in parts[:-1])])
    return LeafLabels(
        labels=np.concatenate([part[0] for part in parts]),
        counts=np.concatenate([part[1] for part in parts]),
        leaf_of_profile=np.stack(
            [
                np.where(part[2] < 0, -1, part[2] + start)
                for part, start in zip(parts, starts, strict=True)
            ]
        ),
        trees=np.concatenate([part[3] for part in parts]),
        nodes=np.concatenate([part[4] for part in parts]),
    )


def p_of_empty_labels(labels: LeafLabels, forest: Forest) -> float:
    """Return how likely labels of leaves without people are so often the commonest class above, if drawn evenly.

    That is the class of the nearest node above that has people, or that of the root. Every mechanism draws the label of
    such a leaf evenly, while a learner that fills it from the records above publishes them without noise.
    """
    nearest, root, drawn = [], [], []
    for number, tree in enumerate(forest.trees):
        own = labels.trees == number
        parents = parents_of(tree.nodes)
        counts = np.zeros((len(parents), labels.counts.shape[1]))
        counts[labels.nodes[own]] = labels.counts[own]
        for place in range(len(parents) - 1, 0, -1):
            counts[parents[place]] += counts[place]
        is_empty = counts.sum(axis=1) == 0
        for node, label in zip(labels.nodes[own], labels.labels[own], strict=True):
            if is_empty[node] and not is_empty[0]:
                while is_empty[node]:
                    node = parents[node]
                nearest.append(counts[node])
                root.append(counts[0])
                drawn.append(label)
    if not drawn:
        return 1.0
    tails = [_tail_of_commonest(np.array(above), np.array(drawn)) for above in (nearest, root)]
    return min(1.0, 2 * min(tails))


def _tail_of_commonest(counts: FloatArray, labels: IndexArray) -> float:
    """Return how likely so many labels (L,) or more are the one commonest class of counts (L, k), if drawn evenly."""
    is_single = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1) == 1
    size, share = int(is_single.sum()), 1 / counts.shape[1]
    hits = int((counts.argmax(axis=1) == labels)[is_single].sum())
    if share == 1 or not hits:
        return 1.0
    of_numbers = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, size + 1)))])
    many = np.arange(hits, size + 1)
    logs = of_numbers[size] - of_numbers[many] - of_numbers[size - many]
    logs += many * math.log(share) + (size - many) * math.log(1 - share)
    return min(1.0, float(np.exp(logs).sum()))


def _clipped_stops(forest: Forest, population: Population, claim: PrivacyClaim) -> IndexArray:
    """Return where each profile stops in each tree once its values are within the bounds, (T, P)."""
    clipped: dict[str, Column] = {}
    for name, low, high in claim.bounds:
        column = population.columns.get(name)
        if isinstance(column, NumericColumn):
            inside = np.clip(column.numbers, low, high)
            if not np.array_equal(inside, column.numbers, equal_nan=True):
                clipped[name] = replace(column, numbers=inside)
    if not clipped:
        return forest.stops
    columns = {**population.columns, **clipped}
    return np.stack([route(tree, columns) for tree in forest.trees])


def bounds_are_of_table(population: Population, claim: PrivacyClaim) -> bool:
    """Return whether bounds look taken from the table: all ends are extremes, or one that nobody would have chosen.

    That is one of more than two digits that is a record's value or within 1 of an extreme, one of more than three that
    is an extreme moved by a round number or rounded, or one of more digits than anybody writes. It is not, where the
    values beside it follow each other as whole numbers do, such as days of a year: somebody has each of them. All ends
    may be extremes by chance, where somebody knew them before. All are of the table too where they are its extremes
    moved alike. Ends of a column of two values tell nothing, such as 0 and 1.
    """
    has_all, moved = True, list[tuple[float, float, float, float]]()
    for name, low, high in claim.bounds:
        column = population.columns.get(name)
        if not isinstance(column, NumericColumn):
            continue
        numbers = np.unique(column.numbers[(population.counts > 0) & ~column.missing])
        if not len(numbers):
            continue
        finite = [end for end in (low, high) if math.isfinite(end)]
        if any(not _is_round(end) and _is_telling(end, numbers) for end in finite):
            return True
        is_constant = low == high and len(numbers) == 1
        if len(numbers) > 2 or is_constant:
            ends = _is_end(low, float(numbers[0])), _is_end(high, float(numbers[-1]))
            has_all = has_all and all(ends)
            moved.append((low, high, float(numbers[0]), float(numbers[-1])))
            if is_constant:
                return True
    return bool(moved) and (has_all or _are_moved_alike(np.array(moved)))


MOST_DIGITS = 6
"""Nobody writes a fraction with more digits, but for parts of pi."""
LEAST_FINE = 100
"""In columns of a smaller range, or of fewer values, a bound may well be near an extreme, or a record's value."""
LEAST_EXACT = 4
"""Bounds of fewer digits may be near an extreme, or a round number away from it, by chance."""
LEAST_ALIKE = 3
"""So many bounds that were moved alike are no chance."""
BESIDE = 3
"""So many values beside an end that follow each other say that it is the end of a scale."""


def _is_telling(end: float, numbers: FloatArray) -> bool:
    """Return whether a bound that is not round comes from the numbers of a column (K,), rising, each once."""
    for extreme, beside in ((numbers[0], numbers[:BESIDE]), (numbers[-1], numbers[-BESIDE:])):
        is_whole = end == round(end) and numbers[-1] - numbers[0] >= LEAST_FINE
        is_near = _is_end(end, float(extreme)) or (is_whole and abs(end - extreme) <= 1)
        is_near = is_near or _is_moved(end, float(extreme))
        is_scale = len(beside) == BESIDE and bool((np.diff(beside) == 1).all())
        if is_near:
            return not is_scale
    if _digits_of(end) > MOST_DIGITS and end != round(end):
        return _digits_of(end / math.pi) > 2
    nearest = float(numbers[np.abs(numbers - end).argmin()])
    return len(numbers) >= LEAST_FINE and _is_end(end, nearest)


def _is_moved(end: float, extreme: float) -> bool:
    """Return whether a bound of many digits is an extreme and a number of one digit, such as 10, or rounded from it."""
    shift = float(f"{abs(end - extreme):.9g}")
    if _digits_of(end) < LEAST_EXACT or not 0 < shift < abs(end):
        return False
    zeros = _zeros_of(end)
    return _digits_of(shift) == 1 or (zeros > 0 and shift < 10.0**zeros)


def _are_moved_alike(ends: FloatArray) -> bool:
    """Return whether all bounds are extremes moved out by the same number, or the same share of a range or of an end.

    ``ends`` (C, 4) are the bounds of each column, and its extremes: two columns or more of different ranges.
    """
    low, high, least, most = ends.T
    ranges = most - least
    if len(np.unique(ranges)) < 2 or not np.isfinite(ends).all():
        return False
    moves = np.concatenate([least - low, high - most])
    scales = [np.ones(len(moves)), np.tile(ranges, 2), np.abs(np.concatenate([least, most]))]
    for scale in scales:
        held = scale > 0
        shares = moves[held] / scale[held]
        is_alike = np.allclose(shares, shares[0], rtol=1e-6, atol=0)
        if is_alike and shares[0] > 0 and len(shares) >= LEAST_ALIKE and not moves[~held].any():
            return True
    return False


def _zeros_of(number: float) -> int:
    """Return how many zeros a whole number ends with; 0 for others."""
    text = f"{abs(number):.0f}" if number == round(number) else "1"
    return len(text) - len(text.rstrip("0"))


def _digits_of(number: float) -> int:
    """Return how many digits a number has, as numbers of 32 bits or of 64 are written shortest, but for zeros."""
    if not math.isfinite(number) or not number:
        return 1
    wide, narrow = (
        repr(number),
        str(np.float32(number)) if float(np.float32(number)) == number else "",
    )
    found = (text.lower().partition("e")[0] for text in (wide, narrow) if text)
    return min(len(text.replace(".", "").replace("-", "").strip("0")) for text in found)


def _is_end(bound: float, end: float) -> bool:
    """Return whether a bound is a number of the table, or that number as one of fewer bits has it."""
    with np.errstate(over="ignore"):
        return bound in (end, float(np.float32(end)), float(np.float16(end)))


def _is_round(number: float) -> bool:
    """Return whether a number has two digits at most, but for zeros: 0.5, 18, 120, 20000."""
    return math.isfinite(number) and float(f"{number:.1e}") == number


MOST_CLASSES = 200
"""The most classes of which probabilities are worked out."""
IS_MONOTONIC = frozenset(
    {LabelMechanism.PERMUTE_AND_FLIP_MONOTONIC, LabelMechanism.EXPONENTIAL_MONOTONIC}
)
IS_EXPONENTIAL = frozenset({LabelMechanism.EXPONENTIAL, LabelMechanism.EXPONENTIAL_MONOTONIC})


def log_probabilities(counts: FloatArray, epsilon: float, mechanism: LabelMechanism) -> FloatArray:
    """Return ln P(label = r) for each leaf and class, (L, k), from the counts of people, (L, k).

    A leaf without people has a label drawn evenly, as its counts are all the same.

    Raises:
        ValueError: the mechanism is not known.
    """
    if mechanism is LabelMechanism.UNKNOWN:
        raise ValueError("the mechanism is not known")
    scale = epsilon if mechanism in IS_MONOTONIC else epsilon / 2
    if not len(counts):
        return np.zeros_like(counts, dtype=np.float64)
    weakness = scale * (counts.max(axis=1, keepdims=True) - counts)
    if mechanism in IS_EXPONENTIAL:
        total = np.log(np.exp(-weakness).sum(axis=1, keepdims=True))
        return np.asarray(-weakness - total, dtype=np.float64)
    return _permute_and_flip(weakness)


ROUNDING = 2.0**-53
"""The most that rounding moves one number, as a share of it."""


def rounding_of(counts: FloatArray, epsilon: float, mechanism: LabelMechanism) -> FloatArray:
    """Return how far ``log_probabilities`` may be off by rounding alone, (L,).

    The numbers that are added are positive. So a sum of k products of k factors is off by some k roundings of itself,
    its logarithm by as much; 64 (k + 2) covers the weights of the rule too. The weakness is off by a few of its own.
    """
    scale = epsilon if mechanism in IS_MONOTONIC else epsilon / 2
    classes = counts.shape[1]
    weakness = scale * (counts.max(axis=1, initial=0) - counts.min(axis=1, initial=0))
    return np.asarray(ROUNDING * (64 * (classes + 2) + 4 * weakness), dtype=np.float64)


def _permute_and_flip(weakness: FloatArray) -> FloatArray:
    """Return ln P of each class, (L, k), from -ln of the probability of its coin, (L, k)."""
    coins = np.exp(-weakness)
    classes = coins.shape[1]
    nodes, weights = np.polynomial.legendre.leggauss(classes // 2 + 1)
    integral = np.zeros_like(coins)
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        factors = 1 - coins * node
        before = np.cumprod(np.hstack([np.ones((len(coins), 1)), factors[:, :-1]]), axis=1)
        after = np.cumprod(np.hstack([np.ones((len(coins), 1)), factors[:, :0:-1]]), axis=1)
        integral += weight * before * after[:, ::-1]
    return np.asarray(np.log(integral) - weakness, dtype=np.float64)


def class_counts(size: int, classes: int) -> FloatArray:
    """Return every way to part so many people into classes, (tables, classes)."""
    if classes <= 2:
        first = np.arange(size + 1.0) if classes == 2 else np.full(1, float(size))
        return np.stack([first, size - first], axis=1)[:, :classes]
    bars = np.array(list(combinations(range(size + classes - 1), classes - 1)), dtype=np.float64)
    ends = np.hstack(
        [np.full((len(bars), 1), -1.0), bars, np.full((len(bars), 1), size + classes - 1.0)]
    )
    return np.asarray(np.diff(ends, axis=1) - 1)
