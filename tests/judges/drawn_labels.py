"""Mechanisms of labels by hand: every order of the classes, every output, every table that lacks one person.

Nothing of the product's probabilities is used: permute-and-flip is walked through coin by coin.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np

from tests.kit.small_audits import people_of
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, with_claim
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.privacy_claim import read_claim
from treewarden.ppdm_models.tree.tree import Feature, Learner, Node, Quality, Tree

WORDS = "mechanism=permute-and-flip-monotonic, splits=independent, bounds=public"


def claim(epsilon, words=WORDS):
    """Return a claim of so much."""
    return read_claim(f"epsilon={epsilon!r}, {words}", "a test")


def flips(counts, epsilon, halved=False):
    """Return the probability of each label by permute-and-flip, over all orders of the classes."""
    scale = epsilon / 2 if halved else epsilon
    coins = [math.exp(-scale * (max(counts) - count)) for count in counts]
    orders = list(itertools.permutations(range(len(counts))))
    found = [0.0] * len(counts)
    for order in orders:
        left = 1.0
        for label in order:
            found[label] += left * coins[label] / len(orders)
            left *= 1 - coins[label]
    return found


def exponential(counts, epsilon, halved=False):
    """Return the probability of each label by the exponential mechanism."""
    scale = epsilon / 2 if halved else epsilon
    parts = [math.exp(scale * (count - max(counts))) for count in counts]
    return [part / sum(parts) for part in parts]


def outputs(leaves, epsilon, drawn=flips):
    """Yield every output of a tree with these leaves: the labels, and their probability."""
    chances = [drawn(counts, epsilon) for counts in leaves]
    for labels in itertools.product(*(range(len(counts)) for counts in leaves)):
        yield labels, math.prod(chances[leaf][label] for leaf, label in enumerate(labels))


def neighbours(leaves):
    """Yield every table that lacks one person: the leaf and the class, and the counts without."""
    for leaf, counts in enumerate(leaves):
        for label, count in enumerate(counts):
            if count:
                without = [list(other) for other in leaves]
                without[leaf][label] -= 1
                yield (leaf, label), without


def labelled_tree(leaves, labels, said=None):
    """Return a tree with a leaf for each list of counts, of which only these labels are published."""
    classes = tuple(f"c{code}" for code in range(len(leaves[0])))
    places = tuple(f"p{leaf}" for leaf in range(len(leaves)))
    root = Node(0, "0", None, tuple(range(1, len(leaves) + 1)))
    below = [
        Node(leaf + 1, str(leaf + 1), 0, (), CategoryTest("place", (places[leaf],)), classes[label])
        for leaf, label in enumerate(labels)
    ]
    learner = Learner(all_features=False, multiway=False)
    tree = Tree(
        (root, *below),
        (Feature("place", False, places),),
        "illness",
        classes,
        learner=learner,
        quality=Quality.ABSENT,
    )
    return tree if said is None else with_claim(tree, said)


def labelled_forest(places, groups, labels, said):
    """Return trees over the same places: ``groups`` (T, places) is the leaf of each, of which ``labels`` are told."""
    names = [f"p{place}" for place in range(len(places))]
    trees = []
    for of_place, drawn in zip(groups, labels, strict=True):
        counts = merged(places, of_place)
        tree = labelled_tree(counts, drawn, said)
        below = [
            replace(
                node,
                test=CategoryTest(
                    "place",
                    tuple(
                        name
                        for name, leaf in zip(names, of_place, strict=True)
                        if leaf == node.index - 1
                    ),
                ),
            )
            for node in tree.nodes[1:]
        ]
        features = (Feature("place", False, tuple(names)),)
        trees.append(replace(tree, nodes=(tree.nodes[0], *below), features=features))
    first = trees[0]
    return Ensemble(
        tuple(Member(tree) for tree in trees),
        Combination.AVERAGE,
        first.features,
        first.target,
        first.classes,
    )


def merged(places, of_place):
    """Return the counts of leaves that hold these places."""
    counts = [[0] * len(places[0]) for _ in range(max(of_place) + 1)]
    for here, leaf in zip(places, of_place, strict=True):
        counts[leaf] = [a + b for a, b in zip(counts[leaf], here, strict=True)]
    return counts


def forest_outputs(places, groups, epsilon, drawn=flips):
    """Yield every output of such trees, each drawn with this epsilon: the labels of each, and their probability."""
    of_trees = [outputs(merged(places, of_place), epsilon, drawn) for of_place in groups]
    for parts in itertools.product(*map(list, of_trees)):
        yield tuple(labels for labels, _ in parts), math.prod(chance for _, chance in parts)


def people_in(leaves):
    """Return the people of such leaves, with the truth."""
    tree = labelled_tree(leaves, [0] * len(leaves))
    counted = tuple(
        Node(
            node.index,
            node.name,
            node.parent,
            node.children,
            node.test,
            node.score,
            float(sum(leaves[node.index - 1])) if node.is_leaf else None,
            tuple(map(float, leaves[node.index - 1])) if node.is_leaf else None,
        )
        for node in tree.nodes
    )
    return people_of(Tree(counted, tree.features, tree.target, tree.classes))


def draw(leaves, epsilon, random, drawn=flips):
    """Return labels that the mechanism draws."""
    chances = [drawn(counts, epsilon) for counts in leaves]
    return [int(random.choice(len(each), p=np.array(each) / sum(each))) for each in chances]
