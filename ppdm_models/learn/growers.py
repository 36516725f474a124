"""Two growers whose trees depend on counts alone: ID3, and trees grown best split first.

ID3 has one branch per category and tests each attribute once per path, the purest split first (Quinlan 1986). Best
first, for classes and numbers: every choice depends on counts, the order of the attributes and the order of their
values alone, so the same records give the same tree in any order of the rows, and trees of one table are nested: the
tree with one more split is the tree before, expanded once.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray
from treewarden.ppdm_models.errors import LearnerError
from treewarden.ppdm_models.learn.splits import (
    ANY,
    CRITERIA,
    MOST_SET_VALUES,
    LearnedAttribute,
    LearnedSplit,
    Response,
    SplitRule,
    attributes_of,
    best_split,
    worth_of,
)
from treewarden.ppdm_models.tree.column import CategoricalColumn, Columns, NumericColumn
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, Predicate
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Node, Task, Tree, rebuilt

SMALLEST_GAIN = 1e-9
"""A split that lowers the mean impurity by no more than this is not made."""


def grow_id3(
    columns: Columns,
    masses: FloatArray,
    classes: Sequence[str],
    *,
    target: str = "",
    criterion: Criterion = Criterion.ENTROPY,
    min_records: float = 2.0,
) -> Tree:
    """Grow a multiway tree from profiles; ``masses`` (P, m) are the records of each profile and class.

    A node with fewer than ``min_records`` records is not split. Ties go to the first attribute. Every node publishes
    its record count, class counts and most frequent class (the first of several).

    Raises:
        ValueError: an attribute is numeric, as ID3 has no thresholds, or lacks values, for which it has no branch.
    """
    sorts: dict[str, CategoricalColumn] = {}
    for name, column in columns.items():
        if isinstance(column, NumericColumn):
            raise ValueError(f"attribute {name!r} is numeric; ID3 splits on categories only")
        if column.missing.any():
            raise ValueError(f"attribute {name!r} lacks values; ID3 has no branch for them")
        sorts[name] = column
    features = tuple(
        Feature(name, numeric=False, values=column.categories) for name, column in sorts.items()
    )
    nodes: list[Node] = []
    everyone = np.arange(len(masses), dtype=np.intp)
    stack: list[tuple[IndexArray, int | None, CategoryTest | Always, tuple[str, ...]]]
    stack = [(everyone, None, Always(), tuple(sorts))]
    while stack:
        inside, parent, test, unused = stack.pop()
        counts = masses[inside].sum(axis=0)
        number = len(nodes)
        nodes.append(_node(number, parent, test, counts, classes))
        if parent is not None:
            nodes[parent] = replace(nodes[parent], children=(*nodes[parent].children, number))
        best = (
            _best(sorts, masses, inside, unused, criterion) if counts.sum() >= min_records else None
        )
        if best is None:
            continue
        codes, names = sorts[best].codes, sorts[best].categories
        left = tuple(name for name in unused if name != best)
        for code in np.unique(codes[inside])[::-1]:
            value = CategoryTest(best, (names[int(code)],))
            stack.append((inside[codes[inside] == code], number, value, left))
    learner = Learner(criterion, multiway=True, tool=Tool.TREEWARDEN, lists_columns=True)
    return Tree(tuple(nodes), features, target, tuple(classes), learner=learner, source="id3")


def grows_id3(
    tree: Tree,
    columns: Columns,
    masses: FloatArray,
    *,
    criterion: Criterion = Criterion.ENTROPY,
    min_records: float = 2.0,
    check: Callable[[], None] = lambda: None,
    changed: BoolArray | None = None,
) -> bool:
    """Return whether ``grow_id3`` makes the very splits of a tree, whatever the order of the branches.

    The tree is followed down to the first split that differs. ``check`` is called at each node; what it raises ends
    the work. Columns of numbers, and those that lack values, grow no tree. If these settings grow the tree on a table
    that differs in some profiles, ``changed`` (P,), nodes without any of those are not looked at again.
    """
    sorts = {name: each for name, each in columns.items() if isinstance(each, CategoricalColumn)}
    if len(sorts) < len(columns) or any(column.missing.any() for column in sorts.values()):
        return False
    stack = [(tree.root, np.arange(len(masses), dtype=np.intp), tuple(sorts))]
    while stack:
        check()
        node, inside, unused = stack.pop()
        if changed is not None and not changed[inside].any():
            continue
        is_large = masses[inside].sum() >= min_records
        best = _best(sorts, masses, inside, unused, criterion) if is_large else None
        if best is None:
            if node.children:
                return False
            continue
        codes, names = sorts[best].codes[inside], sorts[best].categories
        wanted = {CategoryTest(best, (names[code],)): code for code in np.unique(codes).tolist()}
        below = {tree.nodes[child].test: tree.nodes[child] for child in node.children}
        if len(node.children) != len(wanted) or below.keys() != wanted.keys():
            return False
        left = tuple(name for name in unused if name != best)
        stack.extend((below[test], inside[codes == code], left) for test, code in wanted.items())
    return True


def _node(
    number: int,
    parent: int | None,
    test: CategoryTest | Always,
    counts: FloatArray,
    classes: Sequence[str],
) -> Node:
    return Node(
        index=number,
        name=str(number),
        parent=parent,
        test=test,
        score=classes[int(np.argmax(counts))],
        records=float(counts.sum()),
        class_counts=tuple(float(count) for count in counts),
    )


def _best(
    columns: Mapping[str, CategoricalColumn],
    masses: FloatArray,
    inside: IndexArray,
    unused: Sequence[str],
    criterion: Criterion,
) -> str | None:
    """Return the attribute with the lowest impurity after the split, or None where none lowers it."""
    here = masses[inside]
    total = here.sum(axis=0)
    if (total > 0).sum() < 2:
        return None
    own = _impurity(criterion, total[None, :])
    best, least = None, own - SMALLEST_GAIN * total.sum()
    for name in unused:
        codes = columns[name].codes[inside]
        first = codes.min()
        if first < 0 or first == codes.max():
            continue
        width = here.shape[1]
        cells = (codes[:, None] * width + np.arange(width)).ravel()
        split = np.bincount(cells, weights=here.ravel()).astype(np.float64).reshape(-1, width)
        after = _impurity(criterion, split)
        # Splits that are equally good but for rounding are a tie, and the first of them stands.
        if after < (least if best is None else least - SMALLEST_GAIN * total.sum()):
            best, least = name, after
    return best


def _impurity(criterion: Criterion, branches: FloatArray) -> float:
    """Return the sum of n_b * I(b) over branches, shape (branches, m)."""
    sizes = branches.sum(axis=1)
    branches, sizes = branches[sizes > 0], sizes[sizes > 0]
    if criterion is Criterion.GINI:
        return float((sizes - (branches**2).sum(axis=1) / sizes).sum())
    share = np.where(branches > 0, branches / sizes[:, None], 1.0)
    return float(-(branches * np.log(share)).sum())


MOST_SET_COUNTS = 2_000_000
"""The same for what is counted of a node: ways to part an attribute times classes."""


@dataclass(frozen=True, slots=True)
class BestFirst:
    """The canonical learner.

    A node is split where it has ``min_records`` records, a candidate lowers the impurity, every branch keeps
    ``min_leaf`` records and the tree stays within ``max_depth`` tests per path. The split that lowers the impurity of
    the whole tree most comes first (gain ratio: the largest ratio times records); of equal ones that of the older node.

    With ``sets`` categories are parted into any two sets, where an attribute has ``MOST_SET_VALUES`` or fewer, none is
    ``*`` and there are not too many classes; which attributes these are is settled by the first table
    (``set_attributes``), as a sanitised one has fewer values.
    """

    criterion: str = "gini"
    multiway: bool = False
    min_leaf: int = 1
    min_records: int = 2
    max_depth: int = 200
    sets: bool = False
    set_attributes: tuple[str, ...] | None = None

    single: ClassVar[bool] = False
    slack: ClassVar[float] = 0.0

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise ValueError(f"no criterion {self.criterion!r}; have {', '.join(CRITERIA)}")
        if self.sets and self.multiway:
            raise ValueError("one branch per category leaves no sets to part them into")

    def growth(self, columns: Columns, response: Response, max_splits: int) -> GrowthOrder:
        """Grow a tree of up to so many splits on all columns.

        Raises:
            LearnerError: a value is missing, or the criterion does not fit the response.
        """
        if (self.criterion == "variance") is not (response.task is Task.REGRESSION):
            problem = (
                "variance compares numbers; for classes choose gini, entropy or gain-ratio"
                if response.classes
                else f"{self.criterion} needs classes; choose variance for a number"
            )
            raise LearnerError(f"column {response.name!r}", problem)
        attributes = attributes_of(columns)
        learner = self._settled(attributes, len(response.classes))
        return _Growing(learner, attributes, response).grown(max_splits)

    def _settled(self, attributes: tuple[LearnedAttribute, ...], classes: int) -> BestFirst:
        if not self.sets or self.set_attributes is not None:
            return self
        few = (
            attribute
            for attribute in attributes
            if 0 < len(attribute.categories) <= MOST_SET_VALUES
        )
        found = (
            learned_attribute.name
            for learned_attribute in few
            if ANY not in learned_attribute.categories
            and 2 ** (len(learned_attribute.categories) - 1) * max(classes, 2) <= MOST_SET_COUNTS
        )
        return replace(self, set_attributes=tuple(found))


@dataclass(frozen=True, slots=True)
class GrowthOrder:
    """A grown tree that remembers the order of its splits. ``ties`` are the splits that had an equally good rival."""

    learner: BestFirst
    nodes: tuple[Node, ...]
    order: tuple[int, ...]
    ties: tuple[int, ...]
    skeleton: Tree

    @property
    def splits(self) -> int:
        """How many splits were made."""
        return len(self.order)

    def tree(self, splits: int) -> Tree:
        """Return the tree after so many splits (all of them, where there are fewer)."""
        kept = set(self.order[:splits])
        nodes = [node if node.index in kept else replace(node, children=()) for node in self.nodes]
        return rebuilt(self.skeleton, nodes)

    def tied(self, splits: int) -> int:
        """Return how many of the first splits had an equally good rival."""
        return len(set(self.order[:splits]) & set(self.ties))


class _Growing:
    """A tree under way: nodes in the order they were made, and the splits that wait, best first."""

    def __init__(
        self, learner: BestFirst, attributes: tuple[LearnedAttribute, ...], response: Response
    ) -> None:
        self.learner, self.attributes, self.response = learner, attributes, response
        worth = worth_of(learner.criterion, response)
        sets = learner.set_attributes or ()
        self.rule = SplitRule(worth, learner.multiway, learner.min_leaf, sets)
        self.nodes: list[Node] = []
        self.rows: list[IndexArray] = []
        self.depths: list[int] = []
        self.waiting: list[tuple[float, int]] = []
        self.found: dict[int, LearnedSplit] = {}

    def grown(self, max_splits: int) -> GrowthOrder:
        everyone = np.arange(len(self.response.values), dtype=np.intp)
        self._add(None, Always(), everyone)
        order: list[int] = []
        ties: list[int] = []
        while self.waiting and len(order) < max_splits:
            _, number = heapq.heappop(self.waiting)
            split = self.found.pop(number)
            order.append(number)
            if split.rivals:
                ties.append(number)
            for branch, test in enumerate(split.tests):
                self._add(number, test, self.rows[number][split.branch == branch])
        return GrowthOrder(
            self.learner, tuple(self.nodes), tuple(order), tuple(ties), self._skeleton()
        )

    def _add(self, parent: int | None, test: Predicate, rows: IndexArray) -> None:
        number = len(self.nodes)
        total = self.response.sums(rows, np.zeros(len(rows), dtype=np.intp), 1)[0]
        counts = tuple(float(count) for count in total) if self.response.classes else None
        score = self.response.score(total)
        self.nodes.append(
            Node(
                index=number,
                name=str(number),
                parent=parent,
                children=(),
                test=test,
                score=score,
                records=float(len(rows)),
                class_counts=counts,
            )
        )
        self.rows.append(rows)
        self.depths.append(0 if parent is None else self.depths[parent] + 1)
        if parent is not None:
            above = self.nodes[parent]
            self.nodes[parent] = replace(above, children=(*above.children, number))
        if len(rows) < self.learner.min_records or self.depths[number] >= self.learner.max_depth:
            return
        split = best_split(self.attributes, self.response, rows, self.rule)
        if split is not None:
            self.found[number] = split
            # By the rank itself, which can only fall where candidates go: a leaf whose best split a sanitised table
            # lacks must not come forward. By gain ratio, records weigh it, as they do in a gain.
            weight = len(rows) if self.learner.criterion == "gain-ratio" else 1
            heapq.heappush(self.waiting, (-split.rank * weight, number))

    def _skeleton(self) -> Tree:
        """Return the tree of the root alone: what does not change as it grows."""
        criterion = self.learner.criterion
        learner = Learner(
            None if criterion == "variance" else Criterion(criterion),
            self.learner.min_leaf,
            multiway=self.learner.multiway,
            tool=Tool.TREEWARDEN,
            sets=bool(self.rule.sets),
            lists_columns=True,
        )
        return Tree(
            (replace(self.nodes[0], children=()),),
            tuple(attribute.feature for attribute in self.attributes),
            self.response.name,
            self.response.classes,
            self.response.task,
            learner,
            source="tree",
        )
