"""The tree that all sides know together, to be published: tests and labels, and no count, as nobody has any."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from treewarden.ppdm_models.tree.predicate import (
    Always,
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
)
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Node, Tool, Tree
from treewarden.ppdm_models.vertical.holding import Attribute
from treewarden.ppdm_models.vertical.messages import role
from treewarden.ppdm_models.vertical.skeleton import Known, Skeleton

MULTIWAY_ID3 = Learner(Criterion.ENTROPY, multiway=True, tool=Tool.TREEWARDEN, lists_columns=True)


def full_tree(
    known: Known, attributes: Sequence[Attribute], classes: Sequence[str], target: str
) -> Tree:
    """Return the tree with everybody's attributes; these stand in the order of their ranks."""
    features = tuple(map(feature_of, attributes))

    def branch(number: int, slot: int) -> Predicate:
        return test_of(attributes[known.attributes[number]], slot)

    nodes = _nodes(known.skeleton, classes, branch)
    return Tree(
        tuple(nodes), features, target, tuple(classes), learner=MULTIWAY_ID3, source="vertical"
    )


def skeleton_tree(
    skeleton: Skeleton, parties: tuple[str, ...], classes: Sequence[str], target: str
) -> Tree:
    """Return the tree as the miner knows it: what is tested has no name but its owner's and a number."""
    features: dict[str, Feature] = {}

    def branch(number: int, slot: int) -> CategoryTest:
        place = skeleton.places[number]
        name = f"{role(place.owner, parties)} {place.serial}"
        values = tuple(str(1 + each) for each in range(len(place.children)))
        features[name] = Feature(name, numeric=False, values=values)
        return CategoryTest(name, (values[slot],))

    nodes = _nodes(skeleton, classes, branch)
    return Tree(
        tuple(nodes),
        tuple(features.values()),
        target,
        tuple(classes),
        learner=MULTIWAY_ID3,
        source="skeleton",
    )


def feature_of(attribute: Attribute) -> Feature:
    """Return an attribute as trees have it."""
    if attribute.edges is not None:
        return Feature(attribute.name, numeric=True)
    return Feature(attribute.name, numeric=False, values=attribute.categories[: attribute.missing])


def test_of(attribute: Attribute, slot: int) -> Predicate:
    """Return what is asked of a record for a branch."""
    if slot == attribute.missing:
        return MissingTest(attribute.name)
    if attribute.edges is None:
        return CategoryTest(attribute.name, (attribute.categories[slot],))
    edges = (-math.inf, *attribute.edges, math.inf)
    low, high = edges[slot], edges[slot + 1]
    return NumericTest(attribute.name, low, high, high_closed=not math.isinf(high))


def _nodes(
    skeleton: Skeleton, classes: Sequence[str], branch: Callable[[int, int], Predicate]
) -> list[Node]:
    """Return the nodes with their labels; ``branch`` gives the test of a place's branch."""
    above: dict[int, tuple[int, int]] = {}
    nodes = []
    for number, place in enumerate(skeleton.places):
        parent, slot = above.get(number, (None, 0))
        test = Always() if parent is None else branch(parent, slot)
        label = classes[place.label] if place.is_leaf else None
        nodes.append(Node(number, str(number), parent, place.children, test, label))
        above |= {child: (number, slot) for slot, child in enumerate(place.children)}
    return nodes
