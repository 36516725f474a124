"""Trees from noisy records as trees of true ones: what intervals stand for becomes thresholds and sets of values.

What was counted at the nodes are reconstructed codes and no people, so a published tree has labels alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from treewarden.ppdm_models.randomised.generating import Attribute
from treewarden.ppdm_models.randomised.growing import LEAF
from treewarden.ppdm_models.randomised.intervals import Intervals
from treewarden.ppdm_models.randomised.learning import Learned
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import NOISE, Feature, Learner, Node, Quality, Tree, rebuilt

NOTE = (
    "grown on distributions that were reconstructed from noisy records: nodes have labels and no counts, as what was "
    "counted there are no people"
)


def published(
    learned: Learned,
    attributes: Sequence[Attribute],
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
        tuple(_feature(each, values.get(each.name, ())) for each in attributes),
        target,
        classes,
        learner=Learner(unmodelled=(NOISE,)),
        quality=Quality.ABSENT,
        notes=(NOTE,),
    )
    return rebuilt(skeleton, nodes)


def threshold(attribute: Attribute, own: Intervals, code: int) -> float:
    """Return where the values of the next interval begin; half way between two whole numbers."""
    edge = float(own.edges[code + 1])
    return math.ceil(edge) - 0.5 if attribute.is_whole else edge


def _tests(
    attribute: Attribute, own: Intervals, code: int, values: tuple[str, ...]
) -> tuple[Predicate, Predicate]:
    if values:
        numbers = own.numbers(np.arange(len(values), dtype=np.float64)).tolist()
        first = tuple(
            value for value, number in zip(values, numbers, strict=True) if number <= code
        )
        return CategoryTest(attribute.name, first), CategoryTest(
            attribute.name, first, negated=True
        )
    cut = threshold(attribute, own, code)
    return NumericTest(attribute.name, high=cut), NumericTest(
        attribute.name, low=cut, low_closed=True
    )


def _feature(attribute: Attribute, values: tuple[str, ...]) -> Feature:
    return Feature(attribute.name, numeric=not values, values=values)
