"""Runs the learner again on a witness: does the very same tree grow on the other table?"""

from __future__ import annotations

import importlib
import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.facts.rows import Case
from treewarden.audit.progress import FOREVER, Clock, OutOfTimeError
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.predicate import NumericTest
from treewarden.ppdm_models.tree.tree import Criterion, Node, Tree

log = logging.getLogger(__name__)
SECONDS = 5.0
"""At most, however large the budget is: what is told is only an illustration."""
SAME = "same tree"
TIE = "a tie"
OTHER = "another tree"


@dataclass(frozen=True, slots=True)
class HiddenSetting:
    """What scikit-learn may have been told that no file tells."""

    seed: int
    best_first: bool


SETTINGS = tuple(HiddenSetting(seed, best) for best in (False, True) for seed in range(3))


def graded(worlds: ConsistentTables, case: Case, budget: Clock = FOREVER) -> ConsistentTables:
    """Return the worlds with each witness graded by the learner: "same tree", "a tie", "another tree", or "consistent".

    With every leaf's class counts as they were, a split that differs is as good as the published one; else the learner
    may stop elsewhere too, of which the file's facts say nothing.
    "consistent" stands where the learner is neither ours nor scikit-learn, or not at hand, or where it does not grow
    the published tree on the true table either (limits that the file does not name), or where time was over.
    """
    if not worlds.witnesses or not isinstance(case.population.truth, np.ndarray):
        return worlds
    truth = case.population.truth.astype(np.int64)
    if all(feature.single for feature in case.tree.features):
        _sklearn_tree()  # to import it takes seconds on a busy machine, and none of those that there are
    until, witnesses = budget.part(SECONDS), list(worlds.witnesses)
    try:
        before = GrownTable(case, truth, until)
        able = growers(case, truth, until=until, before=before)
        for number, witness in enumerate(witnesses if able else ()):
            grade = _grade(case, witness.table, before, able, until)
            witnesses[number] = replace(witness, grade=grade)
    except OutOfTimeError:
        log.debug("the time was used up before the training was repeated on every other table")
    return replace(worlds, witnesses=tuple(witnesses))


class GrownTable:
    """A table (P, m) on which ID3 may grow the tree: on one that differs in a few profiles, most of it is the same."""

    def __init__(self, case: Case, table: IntArray, until: Clock) -> None:
        self.case, self.table, self.until = case, table, until
        self._grown: dict[float, bool] = {}

    def is_grown(self, least: float) -> bool:
        """Return whether ID3 grows the tree on it if it splits nodes of so many records.

        Raises:
            OutOfTimeError: the budget is used up.
        """
        if least not in self._grown:
            self._grown[least] = _id3_grows(self.case, self.table, least, self.until)
        return self._grown[least]

    def changed(self, table: IntArray) -> BoolArray:
        """Return the profiles (P,) that another table differs in."""
        return np.asarray((table != self.table).any(axis=1))


def _grade(
    case: Case,
    table: IntArray,
    before: GrownTable,
    able: tuple[HiddenSetting, ...],
    until: Clock,
) -> str:
    """Return the grade of one table.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    if growers(case, table, able, until, before) == able:
        return SAME
    moved = np.zeros((len(case.tree.nodes), table.shape[1]), dtype=np.int64)
    np.add.at(moved, case.population.leaf, table - before.table)
    return OTHER if moved.any() else TIE


def growers(
    case: Case,
    table: IntArray,
    among: Sequence[HiddenSetting] = SETTINGS,
    until: Clock = FOREVER,
    before: GrownTable | None = None,
) -> tuple[HiddenSetting, ...]:
    """Return the settings with which the learner grows the same splits on a table (P, m); none where it cannot be run.

    scikit-learn breaks ties by its random state, which no file tells: one that grows the published tree on the true
    table may be the one that was used, so a table on which only some of them grow it again is a tie. Where the tree
    grows on the table ``before``, ID3 looks at the nodes that differ from it alone.

    Raises:
        OutOfTimeError: the budget is used up, or the learner is likely to take longer than is left.
    """
    tree = case.tree
    criterion = tree.learner.criterion
    if criterion is None or case.knowledge.split == "none":
        return ()
    if not {feature.name for feature in tree.features} <= case.population.columns.keys():
        return ()  # the learner compared columns that are no quasi-identifiers, and are not at hand
    if all(feature.single for feature in tree.features) and tree.features:
        return tuple(
            hidden_setting
            for hidden_setting in _in_time(among, until)
            if _sklearn_grows(case, table, criterion, hidden_setting)
        )
    return SETTINGS[:1] if _any_id3_grows(case, table, before, until) else ()


def _in_time(settings: Sequence[HiddenSetting], until: Clock) -> Iterator[HiddenSetting]:
    """Yield settings while there is time for one that takes as long as the one before.

    Raises:
        OutOfTimeError: there is not.
    """
    before = 0.0
    for setting in settings:
        until.part(until.left - before).check()
        began = until.now()
        yield setting
        before = until.now() - began


def _any_id3_grows(case: Case, table: IntArray, before: GrownTable | None, until: Clock) -> bool:
    """Return whether ID3 grows the tree on a table, with the least records that it splits or those that the tree did.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    before = GrownTable(case, table, until) if before is None else before
    changed = before.changed(table)
    is_same = not changed.any()
    sizes = [node.records or 0.0 for node in case.tree.nodes if not node.is_leaf]
    for least in dict.fromkeys((2.0, min(sizes, default=2.0))):
        is_known = before.is_grown(least)
        if is_same and is_known:
            return True
        if not is_same and _id3_grows(case, table, least, until, changed if is_known else None):
            return True
    return False


def _id3_grows(
    case: Case, table: IntArray, least: float, until: Clock, changed: BoolArray | None = None
) -> bool:
    """Return whether ID3 grows the tree on a table; ``changed`` (P,) is where it differs from one that does so.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    tree, people, criterion = case.tree, case.population, case.tree.learner.criterion
    if people.weight is not None or criterion is None:
        return False
    from treewarden.ppdm_models.learn.growers import grows_id3  # where there are other tables

    return grows_id3(
        tree,
        {name: people.columns[name] for name in people.qi},
        table.astype(np.float64),
        criterion=criterion,
        min_records=least,
        check=until.check,
        changed=changed,
    )


def _sklearn_grows(
    case: Case, table: IntArray, criterion: Criterion, setting: HiddenSetting
) -> bool:
    """Grow with scikit-learn to the tree's depth, or best first to its number of leaves."""
    sklearn_tree = _sklearn_tree()
    if sklearn_tree is None:
        return False
    tree = case.tree
    names = [feature.name for feature in tree.features]
    columns = [case.population.columns[name] for name in names]
    numbers = [column.numbers for column in columns if isinstance(column, NumericColumn)]
    if len(numbers) < len(columns) or criterion is Criterion.GAIN_RATIO:
        return False
    rows, classes = np.nonzero(table)
    weights = table[rows, classes]
    if weights.sum() > 1_000_000:
        return False
    rows, classes = np.repeat(rows, weights), np.repeat(classes, weights)
    values = np.stack([column[rows] for column in numbers], axis=1)
    least = case.knowledge.min_leaf or tree.learner.min_leaf_records
    people = case.population
    model = sklearn_tree.DecisionTreeClassifier(
        criterion=criterion.value,
        max_depth=None if setting.best_first else max(tree.depth, 1),
        max_leaf_nodes=max(len(tree.leaves), 2) if setting.best_first else None,
        min_samples_leaf=least,
        random_state=setting.seed,
    ).fit(values, classes, None if people.weight is None else people.weight[rows])
    return _same(model.tree_, 0, tree, tree.root, names)


def _sklearn_tree() -> Any:  # noqa: ANN401  # scikit-learn has no types
    """Return scikit-learn's trees; None where it is not installed."""
    try:
        return importlib.import_module("sklearn.tree")
    except ImportError:
        return None


def _same(grown: object, old: int, tree: Tree, node: Node, names: list[str]) -> bool:
    left = int(grown.children_left[old])  # type: ignore[attr-defined]  # scikit-learn has no types
    if node.is_leaf or left < 0:
        return node.is_leaf and left < 0
    right = int(grown.children_right[old])  # type: ignore[attr-defined]  # scikit-learn has no types
    name = names[int(grown.feature[old])]  # type: ignore[attr-defined]  # scikit-learn has no types
    cut = float(grown.threshold[old])  # type: ignore[attr-defined]  # scikit-learn has no types
    below = [tree.nodes[child] for child in node.children]
    ends = [test.high for test in (child.test for child in below) if isinstance(test, NumericTest)]
    tests = [child.test for child in below]
    if len(below) != 2 or not all(isinstance(t, NumericTest) and t.feature == name for t in tests):
        return False
    first = 0 if ends[0] < ends[1] else 1
    if abs(ends[first] - cut) > 1e-9 * max(1.0, abs(cut)):
        return False
    return _same(grown, left, tree, below[first], names) and _same(
        grown, right, tree, below[1 - first], names
    )
