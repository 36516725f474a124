"""A learner that compares the cuts of an order of categories alone, as rpart and Spark do with two classes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product

import numpy as np

from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.nodes import Node
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Tree

Record = tuple[str, ...]
Split = tuple[int, frozenset[str]]
"""A column, and the categories of one side: the first one in order of the two."""


def score_of(labels: Sequence[int]) -> Fraction:
    """Return the sum of the squared class counts of some records over their number: the Gini index is its rest."""
    ones = sum(labels)
    return Fraction(ones**2 + (len(labels) - ones) ** 2, len(labels))


class OrderLearner:
    """Takes the best cut of the categories in the order of their shares (rpart), or of their ones (Spark)."""

    def __init__(self, tool: Tool, smallest: int) -> None:
        self.tool, self.smallest = tool, smallest

    def scores(
        self, records: Sequence[Record], labels: Sequence[int]
    ) -> dict[Split, tuple[Fraction, bool]]:
        """Return the score of each split that may be compared, and whether it surely is: where no categories tie."""
        scores: dict[Split, tuple[Fraction, bool]] = {}
        for column in range(len(records[0])):
            names = [record[column] for record in records]
            for left, is_sure in self._cuts(names, labels):
                goes = [name in left for name in names]
                sides = (
                    [label for label, is_left in zip(labels, goes, strict=True) if is_left is side]
                    for side in (True, False)
                )
                right = frozenset(names) - left
                split = column, min(left, right, key=sorted)
                scores[split] = sum(map(score_of, sides), Fraction(0)), is_sure
        return scores

    def _cuts(
        self, names: Sequence[str], labels: Sequence[int]
    ) -> Iterator[tuple[frozenset[str], bool]]:
        size = Counter(names)
        ones = Counter(name for name, label in zip(names, labels, strict=True) if label)
        is_spark = self.tool is Tool.SPARK
        rank = {name: Fraction(ones[name], 1 if is_spark else size[name]) for name in size}
        for value in sorted(set(rank.values())):
            before = {name for name in rank if rank[name] < value}
            tied = sorted(name for name in rank if rank[name] == value)
            for number in range(1, len(tied) + 1):
                for some in combinations(tied, number):
                    left = frozenset(before.union(some))
                    records = sum(size[name] for name in left)
                    if self.smallest <= records <= len(names) - self.smallest:
                        yield left, number == len(tied)

    def surely_takes(self, records: Sequence[Record], labels: Sequence[int], split: Split) -> bool:
        """Return whether it takes a split and no other, however it orders categories that tie."""
        scores = self.scores(records, labels)
        score, is_compared = scores.pop(split, (Fraction(0), False))
        is_best = all(other < score for other, _ in scores.values())
        return is_compared and is_best and score > score_of(labels)


class OrderedTree:
    """The tree that a learner grows of some records with some labels, and all other labels that it grows it of.

    ``is_sure`` says that no tie decided a split.
    """

    def __init__(
        self, learner: OrderLearner, records: Sequence[Record], labels: Sequence[int], depth: int
    ) -> None:
        self.learner, self.records, self.labels = learner, records, labels
        self._splits: list[tuple[list[int], Split]] = []
        self._leaves: list[list[int]] = []
        self._nodes: list[Node] = []
        self._grow(list(range(len(records))), Node(0, "root", None), depth)
        self.is_sure = bool(self._splits) and self._fits(labels)

    def _grow(self, inside: list[int], node: Node, depth: int) -> int:
        records, labels = [self.records[i] for i in inside], [self.labels[i] for i in inside]
        index = len(self._nodes)
        counts = float(labels.count(0)), float(labels.count(1))
        node = replace(node, index=index, name=f"n{index}", records=sum(counts))
        self._nodes.append(replace(node, class_counts=counts))
        scores = self.learner.scores(records, labels) if depth else {}
        split = max(scores, key=lambda one: scores[one][0], default=None)
        if split is None or scores[split][0] <= score_of(labels):
            self._leaves.append(inside)
            return index
        self._splits.append((inside, split))
        column, left = split
        children = []
        for names in (left, frozenset(record[column] for record in records) - left):
            below = [i for i in inside if self.records[i][column] in names]
            child = Node(0, "", index, (), CategoryTest(f"x{column}", tuple(names)))
            children.append(self._grow(below, child, depth - 1))
        self._nodes[index] = replace(node, children=tuple(children))
        return index

    def _fits(self, labels: Sequence[int]) -> bool:
        return all(
            sum(labels[i] for i in leaf) == sum(self.labels[i] for i in leaf)
            for leaf in self._leaves
        ) and all(
            self.learner.surely_takes(
                [self.records[i] for i in inside], [labels[i] for i in inside], split
            )
            for inside, split in self._splits
        )

    def tables(self) -> np.ndarray:
        """Return all labels (T, n) of which the learner surely grows the same tree."""
        return np.array(
            [one for one in product((0, 1), repeat=len(self.records)) if self._fits(one)]
        )

    def case(self) -> Case:
        """Return what is audited: the tree with its counts, and who is in the table."""
        features = tuple(Feature(f"x{k}", numeric=False) for k in range(len(self.records[0])))
        tree = Tree(
            tuple(self._nodes),
            features,
            "y",
            ("a", "b"),
            learner=Learner(
                criterion=Criterion.GINI,
                min_leaf_records=self.learner.smallest,
                multiway=False,
                tool=self.learner.tool,
                sets=True,
            ),
            source="drawn",
        )
        columns = {
            f"x{k}": list(column) for k, column in enumerate(zip(*self.records, strict=True))
        }
        table = table_of({**columns, "y": ["ab"[label] for label in self.labels]})
        people = build_population(tree, table, sensitive="y")
        known = Knowledge(leaf="counts", split="gini")
        return Case(tree, people, members(tree, people.leaf), known)


def drawn_tree(seed: int, tool: Tool) -> OrderedTree:
    """Return a tree of up to a dozen records with one or two columns of up to five categories."""
    draw = np.random.default_rng(seed)
    number, columns, categories = (int(draw.integers(*ends)) for ends in ((8, 13), (1, 3), (3, 6)))
    shares = draw.dirichlet(np.full(categories, 1.5))
    records = [
        tuple(f"v{value}" for value in draw.choice(categories, columns, p=shares))
        for _ in range(number)
    ]
    labels = draw.integers(2, size=number).tolist()
    learner = OrderLearner(tool, smallest=int(draw.integers(2, 5)))
    return OrderedTree(learner, records, labels, depth=int(draw.integers(1, 3)))
