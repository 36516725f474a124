"""Trees from noisy records: five ways, three of them on reconstructed distributions.

Agrawal & Srikant (2000), section 4: Global reconstructs each attribute once, ByClass once for each class, Local for
each class again at each node. Original and Randomized grow on true and noisy values as they are.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.methods.randomised.generating import GeneratedAttribute
from treewarden.ppdm_models.methods.randomised.growing import (
    LEAF,
    Codes,
    Coding,
    NoisyTree,
    coding_of,
    grow,
    intervals_of,
)
from treewarden.ppdm_models.methods.randomised.noise import Hiding
from treewarden.ppdm_models.methods.randomised.reconstruction import Intervals, Kernel, check_reach
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import (
    NOISE,
    Feature,
    Learner,
    Node,
    Quality,
    Tree,
    rebuilt,
)

Numbers = NDArray[np.float64]
FEWEST_RECORDS = 1_000
FEWEST_OF_A_CLASS = 100
"""Below these a node's distributions are not reconstructed again: there is too little to see."""


class Method(StrEnum):
    """How a tree is grown from noisy records."""

    GLOBAL = "global"
    BYCLASS = "byclass"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class LearnedTree:
    """A tree over interval codes, and the intervals of each attribute.

    ``left_out`` are records that it was not grown on, as they lack a value.
    """

    grown: NoisyTree
    intervals: tuple[Intervals, ...]
    left_out: int = 0

    def codes(self, columns: Sequence[Numbers]) -> Codes:
        """Return the codes of records with true values: those that a tree is used for."""
        pairs = zip(self.intervals, columns, strict=True)
        return np.stack([intervals.numbers(values) for intervals, values in pairs], axis=1)

    def predicted(self, columns: Sequence[Numbers]) -> Codes:
        """Return the class of each record."""
        return self.grown.predicted(self.codes(columns))


@dataclass(frozen=True, slots=True)
class Noisy:
    """Noisy records: each attribute's values, the noise in them (None: none), and its domain; classes in clear."""

    attributes: tuple[GeneratedAttribute, ...]
    columns: Mapping[str, Numbers]
    noise: Mapping[str, Hiding | None]
    classes: Codes
    class_count: int


def learn(records: Noisy, method: Method, kind: Kernel = Kernel.MIDPOINT) -> LearnedTree:
    """Return a tree grown from noisy records; those that lack a value (NaN) are left out.

    The intervals of an attribute are the same at every node, for one tree has one set of possible thresholds: for
    Global as many as all records allow, else as many as the smallest class allows.

    Raises:
        ValueError: a value lies where its noise cannot have put it (its column is named, and its row, from 1), or no
            record is left.
    """
    table = np.stack([records.columns[attribute.name] for attribute in records.attributes])
    is_there = np.asarray(~np.isnan(table).any(axis=0))
    if not is_there.any():
        raise ValueError("no record has a value in every column; choose other columns")
    everyone = np.flatnonzero(is_there)
    classes = records.classes[everyone]
    sizes = np.bincount(classes)
    group = int(sizes.sum() if method is Method.GLOBAL else sizes[sizes > 0].min())
    hidings = [records.noise[attribute.name] for attribute in records.attributes]
    own = tuple(map(intervals_of, records.attributes, hidings, [group] * len(hidings)))
    for number, generated_attribute in enumerate(records.attributes):
        _check(generated_attribute.name, table[number], hidings[number], own[number])
    codings = [
        coding_of(values[everyone], hiding, intervals, kind)
        for values, hiding, intervals in zip(table, hidings, own, strict=True)
    ]
    tree = _grown(codings, own, classes, records.class_count, method)
    return LearnedTree(tree, own, len(is_there) - len(everyone))


def _grown(
    codings: Sequence[Coding],
    intervalses: Sequence[Intervals],
    classes: Codes,
    class_count: int,
    method: Method,
) -> NoisyTree:
    codes = np.zeros((len(classes), len(intervalses)), np.int64)
    everyone = np.arange(len(classes))
    for rows in [everyone] if method is Method.GLOBAL else _by_class(classes, everyone):
        for number, coding in enumerate(codings):
            codes[rows, number] = coding(rows)

    def again(rows: Codes, above: frozenset[int]) -> dict[int, Codes]:
        groups = _by_class(classes, rows) if len(rows) >= FEWEST_RECORDS else []
        if min(map(len, groups), default=0) < FEWEST_OF_A_CLASS:
            return {}
        others = sorted(set(range(len(intervalses))) - above)
        found = {number: np.zeros(len(rows), np.int64) for number in others}
        for group in groups:
            here = np.searchsorted(rows, group)
            for number, changed in found.items():
                changed[here] = codings[number](group)
        return found

    counts = np.array([intervals.count for intervals in intervalses])
    return grow(codes, counts, classes, class_count, again if method is Method.LOCAL else None)


def _by_class(classes: Codes, rows: Codes) -> list[Codes]:
    """Return the rows of each class that there is among some."""
    here = classes[rows]
    return [rows[here == each] for each in np.unique(here)]


def _check(name: str, values: Numbers, hiding: Hiding | None, intervals: Intervals) -> None:
    if hiding is None:
        return
    rows = np.flatnonzero(~np.isnan(values))
    try:
        check_reach(values[rows], hiding, intervals, rows)
    except ValueError as error:
        raise ValueError(f"column {name!r}, {error}") from error


# Trees from noisy records as trees of true ones: what intervals stand for becomes thresholds and sets of values.
#
# What was counted at the nodes are reconstructed codes and no people, so a published tree has labels alone.

NOTE = (
    "trained on distributions reconstructed from noisy records: nodes have labels but no "
    "counts, because the counts there are not of people"
)


def published(
    learned: LearnedTree,
    attributes: Sequence[GeneratedAttribute],
    values: Mapping[str, tuple[str, ...]],
    target: str,
    classes: tuple[str, ...],
) -> Tree:
    """Return what was learned as a tree that is asked about true values.

    ``attributes`` are those that it was learned on, in the same order; ``values`` are those of text columns, which were
    learned on as numbers from 0. A value outside a domain goes the way of the nearest in it, a text that is none of
    the values the way of the last. A record that lacks a value that is asked for gets no prediction.
    """
    grown = learned.grown
    nodes = [Node(0, "0", None)]
    labels = grown.counts.argmax(axis=1)
    for number, attribute in enumerate(grown.attribute.tolist()):
        children: tuple[int, ...] = ()
        if attribute != LEAF:
            children = (int(grown.left[number]), int(grown.right[number]))
            known = attributes[attribute]
            tests = _tests(
                known,
                learned.intervals[attribute],
                int(grown.code[number]),
                values.get(known.name, ()),
            )
            nodes += [
                Node(child, str(child), number, test=test)
                for child, test in zip(children, tests, strict=True)
            ]
        here = nodes[number]
        score = classes[int(labels[number])]
        nodes[number] = Node(number, here.name, here.parent, children, here.test, score)
    skeleton = Tree(
        (Node(0, "0", None, (), Always(), nodes[0].score),),
        tuple(
            _feature(generated_attribute, values.get(generated_attribute.name, ()))
            for generated_attribute in attributes
        ),
        target,
        classes,
        learner=Learner(unmodelled=(NOISE,)),
        quality=Quality.ABSENT,
        notes=(NOTE,),
    )
    return rebuilt(skeleton, nodes)


def threshold(attribute: GeneratedAttribute, intervals: Intervals, code: int) -> float:
    """Return where the values of the next interval begin; half way between two whole numbers."""
    edge = float(intervals.edges[code + 1])
    return math.ceil(edge) - 0.5 if attribute.is_whole else edge


def _tests(
    attribute: GeneratedAttribute, intervals: Intervals, code: int, values: tuple[str, ...]
) -> tuple[Predicate, Predicate]:
    if values:
        numbers = intervals.numbers(np.arange(len(values), dtype=np.float64)).tolist()
        first = tuple(
            value for value, number in zip(values, numbers, strict=True) if number <= code
        )
        return CategoryTest(attribute.name, first), CategoryTest(
            attribute.name, first, negated=True
        )
    cut = threshold(attribute, intervals, code)
    return NumericTest(attribute.name, high=cut), NumericTest(
        attribute.name, low=cut, low_closed=True
    )


def _feature(attribute: GeneratedAttribute, values: tuple[str, ...]) -> Feature:
    return Feature(attribute.name, numeric=not values, values=values)
