"""The program that grew a tree: what it did with missing values, and which limits its splits had to keep."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.audit.facts.rows import Case, LeftOut, Linear, Plurality, once_per_case
from treewarden.audit.knowledge.knowledge import published_criterion
from treewarden.audit.population.population import Population
from treewarden.audit.population.table_counts import has_sums, is_silent
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.errors import KnowledgeError, SettingError
from treewarden.ppdm_models.tree.predicate import features_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Missing, count_of

STOP_AT_PURE = (
    Tool.POLICY_TREE,
    Tool.RPART,
    Tool.SCIKIT_LEARN,
    Tool.SPARK,
    Tool.TREEWARDEN,
    Tool.WEKA,
)
"""Programs that never split a node whose records all have one class; pruning and raised subtrees only add records."""

COUNT_PEOPLE = (Tool.POLICY_TREE, Tool.TREEWARDEN)
"""Programs whose limits are of people, however many a row of the table stands for."""


@dataclass(frozen=True, slots=True)
class Grower:
    """The program that grew the tree: how many classes and records it saw, and its limits.

    A branch of a candidate holds ``smallest`` records at least, and a candidate whose branches hold ``surely`` was
    allowed: the smallest leaf that the file names, else that of the tree. ``sends_missing`` says that it tried missing
    values on either side of each cut, ``max_bins`` how many bins it made, ``sets`` whether it parts categories into any
    two sets.
    """

    tool: Tool
    smallest: int
    surely: float
    classes: int
    table_records: float
    sends_missing: bool
    max_bins: int | None
    sets: bool | None

    @property
    def orders_sets(self) -> bool:
        """Whether it may put the categories at a node in an order, and compare the cuts of that order alone."""
        orders = self.tool is Tool.RPART and self.classes == 2
        return orders or self.tool in (Tool.SPARK, Tool.UNKNOWN)


def grower(case: Case) -> Grower:
    """Return what is known of the program that grew the audited tree."""
    tree, knowledge = case.tree, case.knowledge
    tool = knowledge.learner or tree.learner.tool
    is_told = tree.learner.criterion is not None
    is_single = bool(tree.features) and all(feature.single for feature in tree.features)
    if tool is Tool.UNKNOWN and is_told and is_single:
        # Of the learners whose files tell how they compared splits, one alone compares 32-bit numbers.
        tool = Tool.SCIKIT_LEARN
    smallest = knowledge.min_leaf or tree.learner.min_leaf_records
    surely = float(smallest)
    people = case.population
    if knowledge.min_leaf is None and people.weight is not None:
        # The file may mean people or their weights: between the two a candidate may have been allowed.
        smallest = max(1, min(smallest, math.floor(smallest / people.weight.max())))
        surely = max(surely, math.ceil(surely / people.weight.min()))
    if tool not in COUNT_PEOPLE:
        surely = max(surely, math.ceil(surely * most_people_per_row(people)))
        smallest = max(1, math.floor(smallest / people.rows.heaviest))
    if knowledge.min_leaf is None and not is_told:
        here = np.bincount(case.population.leaf, case.population.counts)
        surely = max(surely, float(here[here > 0].min(initial=np.inf)))
    return Grower(
        tool=tool,
        smallest=smallest,
        surely=surely,
        classes=len(tree.classes),
        # A row of weight 0 may have values of its own, which no one else has.
        table_records=math.inf if people.rows.excluded else people.records,
        sends_missing=tool is Tool.SCIKIT_LEARN and tree.missing is Missing.DEFAULT_CHILD,
        max_bins=tree.learner.max_bins,
        sets=True if tool in (Tool.RPART, Tool.SPARK) else tree.learner.sets,
    )


def most_people_per_row(people: Population) -> float:
    """Return how many people there are at most for each row that a limit of the learner asks for.

    scikit-learn compares ``min_samples_leaf`` with rows, whatever they weigh, and takes a share of all rows, also of
    those of weight 0, that are nobody (``sklearn/tree/_classes.py``).
    """
    fewest_rows = people.records / people.rows.heaviest
    return people.rows.heaviest * (1.0 + people.rows.excluded / max(fewest_rows, 1.0))


def check_growth(case: Case) -> None:
    """Check that the tree bears out what the adversary is said to know of how it was grown.

    Whoever believed what it contradicts would take fewer splits for compared than were, and conclude less than the file
    tells.

    Raises:
        KnowledgeError: a leaf holds fewer records than the learner is said to have allowed, or the file names another
            learner.
    """
    tree, knowledge = case.tree, case.knowledge
    here = np.bincount(case.population.leaf, case.population.counts, len(tree.nodes))
    leaves = [leaf for leaf in tree.leaves if here[leaf.index] > 0]
    if knowledge.min_leaf is not None and leaves:
        least = min(leaves, key=lambda leaf: float(here[leaf.index]))
        records = float(here[least.index])
        if records < knowledge.min_leaf:
            held = "1 record" if records == 1 else f"{records:g} records"
            problem = f"min_leaf = {knowledge.min_leaf}, but {tree.where(least)} has {held}"
            raise KnowledgeError(
                tree.source, f"{problem}; lower --min-leaf to what the file allows, or leave it out"
            )
    tool = tree.learner.tool
    if knowledge.learner not in (None, tool) and tool is not Tool.UNKNOWN:
        name = f"{tool} (treewarden.learn)" if tool is Tool.POLICY_TREE else tool
        problem = f"learner = {knowledge.learner}, but {name} trained the model; remove --learner"
        raise SettingError(tree.source, problem)


def is_known_learner(case: Case) -> bool:
    """Whether the file says how its learner stopped, and it is one whose settings are known."""
    learner = case.tree.learner
    is_known = learner.tool in (Tool.RPART, Tool.SCIKIT_LEARN, Tool.SPARK)
    return learner.stopping is not None and is_known and not learner.saw_noise


def stops_at_pure(case: Case) -> bool:
    """Whether the learner is known to split no node whose records all have one class.

    So does every learner that takes the split with the lowest impurity: none is below the 0 of a pure node.
    """
    return case.knowledge.split.is_criterion or grower(case).tool in STOP_AT_PURE


def is_counted(case: Case) -> bool:
    """Whether the file counts the records of every leaf, so that none of them was left out when the tree was grown."""
    tree, is_weighed = case.tree, case.population.weight is not None
    counts = has_sums(tree) if is_weighed else tree.has_people
    return counts and all(count_of(leaf) is not None for leaf in tree.leaves)


@once_per_case
def incomplete_records(case: Case) -> FloatArray:
    """Return how many records of each profile, (P,), the learner may have left out, as they lack a value.

    It may be one of a column that no test asks about: some learners leave out every record that is not complete. It has
    not where the file counts the records of every leaf, or where it is known to take missing values.
    """
    counts = case.population.counts
    if grower(case).sends_missing or is_counted(case):
        return np.zeros_like(counts)
    if case.incomplete is not None:
        return case.incomplete
    lacks = np.zeros(len(counts), dtype=bool)
    for feature in case.tree.features:
        if feature.name in case.population.qi:
            lacks |= case.population.columns[feature.name].missing
    return lacks * counts


def classes_before(case: Case, label: int) -> tuple[int, ...]:
    """Return the classes that the learner would have named instead of a label if they had been as frequent.

    scikit-learn, policy trees and treewarden's own ID3 name the first of several, in the order of their classes;
    those of the first two are sorted.
    """
    classes, tool = case.tree.classes, grower(case).tool
    if tool in (Tool.SCIKIT_LEARN, Tool.POLICY_TREE):
        return tuple(range(label)) if is_sorted(classes) else ()
    is_id3 = tool is Tool.TREEWARDEN and case.tree.learner.multiway is True
    return tuple(range(label)) if is_id3 else ()


def is_sorted(classes: tuple[str, ...]) -> bool:
    """Whether class names stand in order, as numbers if all are; a print of labels lists them as they come."""
    try:
        keys: list[float] | list[str] = [float(name) for name in classes]
    except ValueError:
        keys = list(classes)
    return keys == sorted(keys)


def lacking(records: float, what: str) -> str:
    """Return in words how many records lack something."""
    return f"1 record lacks {what}" if records == 1 else f"{records:g} records lack {what}"


def said_of_missing(case: Case) -> tuple[str, ...]:
    """Return, in words, which columns lack values that the learner is known to have tried on either side of a cut."""
    if not case.knowledge.split.is_criterion or not grower(case).sends_missing:
        return ()
    found = []
    for name in (feature.name for feature in case.tree.features):
        lacks = case.population.columns[name].missing if name in case.population.qi else False
        if np.any(lacks):
            who = lacking(float(case.population.counts[lacks].sum()), repr(name))
            found.append(
                f"{who}: each cut of it is two candidates, with the missing values on either side, "
                "as scikit-learn compares them"
            )
    return tuple(found)


# Labels where a file does not say whether its learner weighed classes or records: that of a leaf is the class of the
# greatest sum of weights there, which need not be the most common one. That it is so is left out. What remains: with
# weights alone, some record of the leaf has the class.

WEIGHTS_ALONE = (Tool.SCIKIT_LEARN, Tool.SPARK)
"""Programs that weigh records and classes, and know no costs by which the label may be a class that nobody has."""
BOUNDS_SHARES = (Tool.SCIKIT_LEARN, Tool.UNKNOWN)
"""Programs that may move the shares of two classes, so that they are in order along a column."""
WHY = "that labels are the most common classes of their nodes, as classes or records may have been weighted"
ADVICE = ", which the file does not say: if they were not, and you know the criterion of splits, add --split"


def may_be_weighed(case: Case) -> bool:
    """Whether labels may be those of weighed classes or records, as far as the adversary knows.

    They may not be where the file says how its learner compared splits, and names no weights, or where it counts
    people. An adversary who is said to know the criterion knows that it was one of records that count once each.
    """
    if case.may_be_weighed is not None:
        return case.may_be_weighed
    tree, knowledge = case.tree, case.knowledge
    if knowledge.strict_labels:
        return False
    if tree.label_reason or tree.learner.bounds_shares or case.population.hides_weights(tree):
        return True
    if not is_silent(tree):
        return False
    return not knowledge.split.is_criterion or published_criterion(tree) is not None


def labels_left_out(case: Case, rows: Sequence[Plurality | Linear]) -> Iterator[LeftOut]:
    """Yield rows of labels, if there are any, as what may hold: if the true table breaks one, weights decided all."""
    if rows:
        why = WHY + (ADVICE if is_silent(case.tree) else "")
        yield LeftOut(0, "", why, lines=tuple(rows), supposed=tuple(rows))


@once_per_case
def sure_labels(case: Case) -> BoolArray:
    """Return the leaves, (N,), of which some record surely has the class of the label, however they were weighed.

    Costs may choose a class between two others. scikit-learn's ``monotonic_cst``, for two classes, moves the shares of
    a leaf whose parent tests another column than some node further up, and then all leaves on its side of that node
    have one label.
    """
    tree, tool = case.tree, grower(case).tool
    sure = np.array([node.is_leaf for node in tree.nodes])
    if len(tree.classes) > 2 and tool not in WEIGHTS_ALONE:
        return np.zeros_like(sure)
    if len(tree.classes) > 2 or tool not in BOUNDS_SHARES:
        return sure
    labels: list[set[object]] = [set() for _ in tree.nodes]
    for node in reversed(tree.nodes):
        labels[node.index] |= {node.score} if node.is_leaf else set()
        if node.parent is not None:
            labels[node.parent] |= labels[node.index]
    tested = [
        {name for child in node.children for name in features_of(tree.nodes[child].test)}
        for node in tree.nodes
    ]
    for leaf in tree.leaves:
        below = leaf.parent
        while below is not None and len(labels[below]) == 1:
            above = tree.nodes[below].parent
            if (
                above is not None
                and leaf.parent is not None
                and tested[above] != tested[leaf.parent]
            ):
                sure[leaf.index] = False
            below = above
    return sure
