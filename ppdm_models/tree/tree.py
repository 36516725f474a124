"""The one tree that the rest of the code sees: immutable, n-ary, with whatever was published at each node.

It names the program that grew it, as far as it matters which one did, and the settings by which that program stopped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from treewarden.ppdm_models.tree.column import Treatment
from treewarden.ppdm_models.tree.nodes import NO_FIGURES as NO_FIGURES
from treewarden.ppdm_models.tree.nodes import Band as Band
from treewarden.ppdm_models.tree.nodes import Criterion as Criterion
from treewarden.ppdm_models.tree.nodes import Cuts, NodeTable, parents_of
from treewarden.ppdm_models.tree.nodes import LearnerFigures as LearnerFigures
from treewarden.ppdm_models.tree.nodes import Node as Node
from treewarden.ppdm_models.tree.predicate import Predicate, features_of
from treewarden.ppdm_models.tree.privacy_claim import PrivacyClaim
from treewarden.ppdm_models.tree.tool import Tool

# The settings by which a learner stopped: which nodes it tried to split, and which of its splits it did not make.

MOST = 10**15
"""No limit of records, tests or leaves is higher: then there is none."""


@dataclass(frozen=True, slots=True)
class Stopping:
    """When a learner did not split a node that is not pure, as far as its settings say.

    It splits no node below ``max_depth`` tests, none of fewer than ``min_split_records``, none whose best split lowers
    the impurity, times the share of all records there, by less than ``min_impurity_decrease``, and no more once there
    are ``max_leaves`` leaves, the greatest decrease first. Then it prunes by cost complexity with ``pruning_alpha``,
    rpart's ``cp``. None and 0 say that there is no such limit. Spark's least gain is of the records of a node alone.
    """

    max_depth: int | None = None
    min_split_records: int = 2
    max_leaves: int | None = None
    min_impurity_decrease: float = 0.0
    pruning_alpha: float = 0.0

    def __post_init__(self) -> None:
        wholes = (self.max_depth, self.min_split_records, self.max_leaves)
        numbers = (self.min_impurity_decrease, self.pruning_alpha)
        if any(whole is not None and not 0 <= whole <= MOST for whole in wholes):
            raise ValueError(
                f"max_depth, min_split_records and max_leaves must be from 0 to {MOST:,}"
            )
        if not all(0 <= number < float("inf") for number in numbers):
            raise ValueError("min_impurity_decrease and pruning_alpha must be numbers of 0 or more")


class Task(StrEnum):
    """What the leaves of the tree publish: a class, or a number."""

    CLASSIFICATION = "classification"
    REGRESSION = "regression"


class Missing(StrEnum):
    """What a node does with a record whose tested value is missing (PMML 4.4, missingValueStrategy)."""

    NONE = "none"
    LAST_PREDICTION = "last-prediction"
    NULL_PREDICTION = "null-prediction"
    DEFAULT_CHILD = "default-child"
    WEIGHTED_CONFIDENCE = "weighted-confidence"
    AGGREGATE_NODES = "aggregate-nodes"


class NoTrueChild(StrEnum):
    """What a node does with a record that none of its children takes (PMML 4.4, noTrueChildStrategy)."""

    NULL_PREDICTION = "null-prediction"
    LAST_PREDICTION = "last-prediction"


class Quality(StrEnum):
    """For how many people the published numbers speak, and whether they can be trusted.

    Only ``EXACT`` and ``DERIVED`` numbers may be read as people.
    """

    EXACT = "exact"
    DERIVED = "derived"
    WEIGHTED = "weighted"
    NORMALISED = "normalised"
    HESSIAN = "hessian"
    ABSENT = "absent"
    INCONSISTENT = "inconsistent"


WORST_LAST = (
    Quality.EXACT,
    Quality.DERIVED,
    Quality.WEIGHTED,
    Quality.NORMALISED,
    Quality.HESSIAN,
    Quality.ABSENT,
    Quality.INCONSISTENT,
)
"""What numbers of a file are worth, the best first."""


@dataclass(frozen=True, slots=True)
class Feature:
    """An attribute that the tree was learnt on, used in a split or not.

    ``values`` are the declared categories (none: any); ``single`` says that the learner compared 32-bit numbers.
    ``treatments`` are what the model does to a value before its tests see it; they are no part of the feature's value.
    ``naming`` says what to do where the categories are numbers of levels that the file does not name, "" elsewhere.
    ``computation`` says how the model computes it from others, where it does and no column of a table is expected to be
    it by itself.
    """

    name: str
    numeric: bool
    values: tuple[str, ...] = ()
    single: bool = False
    treatments: tuple[Treatment, ...] = field(default=(), compare=False)
    naming: str = field(default="", compare=False)
    computation: str = field(default="", compare=False)


CLASS_WEIGHT = "class_weight"
"""The setting by which scikit-learn weighs classes."""
MONOTONIC = "monotonic_cst"
"""The setting by which scikit-learn keeps the shares of classes in order along a column."""
NOISE = "noise"
"""What stands for it that a tree was grown on records whose values were hidden by noise."""

PRIVACY = "differential-privacy"
"""What stands for it that a tree claims differential privacy: its labels, and perhaps its splits, were drawn."""

SPLIT_SETTINGS = (
    CLASS_WEIGHT,
    NOISE,
    PRIVACY,
    *(MONOTONIC, "cost", "costs", "loss", "prior", "priors", "weights", "sample_weight"),
    *("min_impurity_decrease", "min_impurity_split", "max_leaf_nodes", "max_depth", "ccp_alpha"),
    *("min_samples_split", "min_weight_fraction_leaf", "max_features", "splitter", "pruning"),
    *("cp", "alpha", "mincriterion", "min_info_gain", "subsampling", "bootstrap", "threshold"),
    "random_state",
)
"""The words for settings that decided which splits were taken, as files name them: any other word may be a sentence."""


@dataclass(frozen=True, slots=True)
class Learner:
    """What the file tells about how the tree was grown: needed to know which splits were candidates.

    ``all_features`` is false where the learner looked at a random part of the features; ``multiway`` says whether a
    split on categories makes one branch per category, ``sets`` whether it parts them into any two sets, else one from
    the others (None: not said, so judged by the tree's shape); ``max_bins`` is into how many bins a tool that bins
    numbers sorts them at most (None: not said); ``unmodelled`` are settings that decided which splits were taken too,
    and of which no constraint speaks. ``stopping`` is when it stopped (None: not said): no part of a learner's value,
    as nothing that is written here gives it away. ``lists_columns`` says that the tree's features are all the columns
    that the learner saw; others may be those alone that some node tests. ``claim`` is what is promised where
    ``claims_privacy``, as far as it is known (None: no more than that): no part of its value. ``draws_tied_labels``
    says that of classes which are equally frequent in a leaf one is drawn for its label: no part of its value either.
    ``class_weights`` are what the sums of the classes have to be divided by, so that every node counts the records that
    the file says it has; empty where no weights, or several, do so: no part of its value either. ``draws_cuts`` says
    that thresholds were drawn at random, so that none lies half way between two values.
    """

    criterion: Criterion | None = None
    min_leaf_records: int = 1
    all_features: bool = True
    multiway: bool | None = None
    tool: Tool = Tool.UNKNOWN
    max_bins: int | None = None
    sets: bool | None = None
    unmodelled: tuple[str, ...] = ()
    stopping: Stopping | None = field(default=None, compare=False)
    lists_columns: bool = False
    draws_cuts: bool = False
    claim: PrivacyClaim | None = field(default=None, compare=False)
    draws_tied_labels: bool = field(default=False, compare=False)
    class_weights: tuple[float, ...] = field(default=(), compare=False)

    @property
    def usually_lists_columns(self) -> bool:
        """Whether what says so much of its learner lists all columns: fitted estimators do, and treewarden's learners.

        What treewarden writes says ``lists_columns`` only where it is otherwise.
        """
        listing = (Tool.POLICY_TREE, Tool.SCIKIT_LEARN, Tool.TREEWARDEN)
        return self.tool in listing and self.criterion is not None

    @property
    def weighs_classes(self) -> bool:
        """Whether the learner weighed its classes, so that a label need not be a node's most frequent class."""
        return CLASS_WEIGHT in self.unmodelled

    @property
    def bounds_shares(self) -> bool:
        """Whether the learner moved shares of classes to keep them in order, so that they need not count records."""
        return MONOTONIC in self.unmodelled

    @property
    def saw_noise(self) -> bool:
        """Whether noise had a part in the learning, so that splits and labels need not fit the true records."""
        return NOISE in self.unmodelled or self.claims_privacy

    @property
    def claims_privacy(self) -> bool:
        """Whether the tree claims differential privacy, whatever is known of the claim."""
        return PRIVACY in self.unmodelled or self.claim is not None

    @property
    def has_known_noise(self) -> bool:
        """Whether labels were drawn as a claim says that an audit found nothing against: none proves anything."""
        return self.claim is not None and self.claim.is_relied_on


@dataclass(frozen=True, slots=True)
class Tree:
    """A published tree. ``nodes`` stand in document order: each parent before its children, the root first.

    They are a tuple, or a ``NodeTable``, which makes them when they are asked for and equals the tuple of the same.

    ``classes`` is empty for a regression tree. ``source`` (the file's name), ``format`` and ``notes`` (what a reader
    found remarkable) are no part of the tree's value. Nor is ``unused``: the kinds of numbers, in words, that the file
    prints at its nodes, that tell of the target more than the nodes here do, and that no audit uses. Nor is
    ``label_reason``: why a label need not be the most frequent class of its node, where the file says so. Nor is
    ``rounding``: how far the thresholds that the file prints may be from those that it was grown with.
    """

    nodes: Sequence[Node]
    features: tuple[Feature, ...]
    target: str
    classes: tuple[str, ...] = ()
    task: Task = Task.CLASSIFICATION
    learner: Learner = Learner()
    quality: Quality = Quality.EXACT
    missing: Missing = Missing.NONE
    no_true_child: NoTrueChild = NoTrueChild.NULL_PREDICTION
    source: str = field(default="tree", compare=False)
    format: str = field(default="", compare=False)
    notes: tuple[str, ...] = field(default=(), compare=False)
    unused: tuple[str, ...] = field(default=(), compare=False)
    label_reason: str = field(default="", compare=False)
    rounding: float = field(default=0.0, compare=False)

    def __post_init__(self) -> None:
        if not self.nodes:
            raise ValueError("a tree needs a root")
        if isinstance(self.nodes, NodeTable):
            widths = self.nodes.class_widths()
        else:
            _check_order(self.nodes)
            widths = _class_widths(self.nodes)
        for name, width in widths:
            if width != len(self.classes):
                raise ValueError(f"node {name!r} has {width} class numbers")

    @property
    def root(self) -> Node:
        """The node that every record enters."""
        return self.nodes[0]

    @property
    def leaves(self) -> tuple[Node, ...]:
        """The nodes without children, in document order."""
        return tuple(node for node in self.nodes if node.is_leaf)

    @property
    def depth(self) -> int:
        """The number of tests on the longest path."""
        depths = [0]
        for parent in parents_of(self.nodes)[1:].tolist():
            depths.append(depths[parent] + 1)
        return max(depths)

    @property
    def leaf_count(self) -> int:
        """The number of leaves; where there are columns, no node is made."""
        if not isinstance(self.nodes, NodeTable):
            return len(self.leaves)
        return len(self.nodes) - len(set(self.nodes.parents[1:].tolist()))

    @property
    def has_people(self) -> bool:
        """Whether the published numbers count training records, one each."""
        return self.quality in (Quality.EXACT, Quality.DERIVED)

    @property
    def counts_every_leaf(self) -> bool:
        """Whether the file says of each leaf how many records, or how much weight, it holds."""
        is_sum = self.has_people or self.quality is Quality.WEIGHTED
        return is_sum and all(count_of(leaf) is not None for leaf in self.leaves)

    def feature(self, name: str) -> Feature:
        """Return a feature by name.

        Raises:
            KeyError: the tree has no such feature.
        """
        for feature in self.features:
            if feature.name == name:
                return feature
        raise KeyError(name)

    def path(self, index: int) -> tuple[Node, ...]:
        """Return the nodes from the root down to a node, both included."""
        upwards = [self.nodes[index]]
        while upwards[-1].parent is not None:
            upwards.append(self.nodes[upwards[-1].parent])
        return tuple(reversed(upwards))

    def below(self, index: int) -> Iterator[Node]:
        """Yield a node and all its descendants, in document order."""
        stack = [index]
        while stack:
            node = self.nodes[stack.pop()]
            yield node
            stack.extend(reversed(node.children))

    def used_features(self) -> tuple[Feature, ...]:
        """Return the features that some split tests."""
        nodes = self.nodes
        tests = nodes.tests if isinstance(nodes, NodeTable) else [node.test for node in nodes]
        from_tests = tests.tested_features() if isinstance(tests, Cuts) else _tested_features(tests)
        return tuple(feature for feature in self.features if feature.name in from_tests)

    def where(self, node: Node) -> str:
        """Return where a node stands, for messages: ``loan.pmml:48: node '7'``."""
        line = f":{node.line}" if node.line else ""
        return f"{self.source}{line}: node {node.name!r}"


def _tested_features(tests: Iterable[Predicate]) -> set[str]:
    return {name for test in tests for name in features_of(test)}


def _check_order(nodes: Sequence[Node]) -> None:
    for position, node in enumerate(nodes):
        if node.index != position or (node.parent is None) != (position == 0):
            raise ValueError(f"node {node.name!r} is out of order")
        for child in node.children:
            if child <= position or nodes[child].parent != position:
                raise ValueError(f"node {node.name!r} has a child that is not its own")


def _class_widths(nodes: Sequence[Node]) -> Iterator[tuple[str, int]]:
    """Yield how many class numbers each node has, by its name."""
    for node in nodes:
        for numbers in (node.class_counts, node.class_shares, node.bands):
            if numbers is not None:
                yield node.name, len(numbers)


def count_of(node: Node) -> float | None:
    """Return how many records the file says a node holds: the record count, or the sum of its class counts."""
    if node.records is not None:
        return node.records
    counts = node.class_counts
    if counts is None or any(count is None for count in counts):
        return None
    return math.fsum(count for count in counts if count is not None)


def completed(counts: Sequence[float | None], records: float | None) -> tuple[float | None, ...]:
    """Return class counts with the entries filled in that simple subtraction reveals.

    Where the known ones sum to the record count the others are 0; where one is missing it is the rest.
    """
    if records is None or None not in counts:
        return tuple(counts)
    rest = records - math.fsum(count for count in counts if count is not None)
    if rest == 0:
        return tuple(0.0 if count is None else count for count in counts)
    if counts.count(None) == 1 and rest > 0:
        return tuple(rest if count is None else count for count in counts)
    return tuple(counts)


def rebuilt(tree: Tree, nodes: Sequence[Node]) -> Tree:
    """Return the tree with other nodes: numbered anew in document order from their old indices, unreachable ones gone.

    ``nodes`` are addressed by their old ``index``; the first is the root. Where there are other nodes than the learner
    made, its settings do not say why it stopped, and its claim of privacy is not known to hold of them.
    """
    by_index = {node.index: node for node in nodes}
    order: list[int] = []
    stack = [nodes[0].index]
    while stack:
        index = stack.pop()
        order.append(index)
        stack.extend(reversed(by_index[index].children))
    number = {old: new for new, old in enumerate(order)}
    parent = {child: old for old in order for child in by_index[old].children}
    renumbered = tuple(
        replace(
            by_index[old],
            index=number[old],
            parent=number[parent[old]] if old in parent else None,
            children=tuple(number[child] for child in by_index[old].children),
            default_child=number.get(by_index[old].default_child),  # type: ignore[arg-type]  # None is no key
        )
        for old in order
    )
    learner = tree.learner
    if len(renumbered) != len(tree.nodes):
        learner = replace(learner, stopping=None)
        if learner.claim is not None:
            others = (word for word in learner.unmodelled if word != PRIVACY)
            learner = replace(learner, claim=None, unmodelled=(*others, PRIVACY))
    return replace(tree, nodes=renumbered, learner=learner)
