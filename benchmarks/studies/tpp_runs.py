"""The runs of the study of tree-pattern-preserving sanitisation: tables, quality by folds, the same tree, time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.mondrian import mondrian
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import Response, of_classes, of_numbers
from treewarden.ppdm_models.methods.tpp.cells import splits_of_trees
from treewarden.ppdm_models.methods.tpp.checks import Scikit, differences
from treewarden.ppdm_models.methods.tpp.sanitise import (
    Job,
    Sanitised,
    generalise,
    grouped,
    sanitise,
)
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, Columns, NumericColumn
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Tree

ATTRIBUTES = (
    "age", "capital-gain", "capital-loss", "hours-per-week", "workclass", "education",
    "marital-status", "relationship", "race", "sex", "native-country",
)  # fmt: skip
SENSITIVE = "occupation"
FOLDS = 10
SEED = 0
Make = Callable[[Columns, Response], Columns]


@dataclass(frozen=True)
class Data:
    """One table: the attributes, what is predicted, and the sensitive column."""

    name: str
    columns: Columns
    response: Response
    sensitive: Column

    @property
    def criterion(self) -> str:
        """The criterion of the study's trees."""
        return "gini" if self.response.classes else "variance"

    def of(self, rows: np.ndarray, names: tuple[str, ...] | None = None) -> Data:
        """Return some of the records, with some of the attributes."""
        kept = {n: self.columns[n].take(rows) for n in names or self.columns}
        response = replace(self.response, values=self.response.values[rows])
        return Data(self.name, kept, response, self.sensitive.take(rows))


@dataclass(frozen=True)
class Size:
    """One number of leaves: quality on the original, by TPP and by InfoGain with TPP's k; k of all three ways."""

    leaves: int
    k: int
    diversity: float
    groups: int
    anchored: int
    is_same: bool
    printed_k: int
    printed_same: bool
    infogain_k: int
    quality: Mapping[str, float]
    infogain_same: bool | None


def adult(folder: Path) -> tuple[Data, Data]:
    """Return Adult without missing values: by income, and by hours per week."""
    table = read_table(folder / "adult_train.csv")
    names = (*ATTRIBUTES, "income", SENSITIVE)
    columns = {name: table.column(table.guessed(name)) for name in names}
    whole = np.flatnonzero(~np.any([column.missing for column in columns.values()], axis=0))
    columns = {name: column.take(whole) for name, column in columns.items()}
    income = of_classes("income", columns["income"].codes, columns["income"].categories)
    hours = of_numbers("hours-per-week", columns["hours-per-week"].numbers)
    own = {name: columns[name] for name in ATTRIBUTES}
    others = {name: column for name, column in own.items() if name != "hours-per-week"}
    return (
        Data("Adult, income", own, income, columns[SENSITIVE]),
        Data("Adult, hours per week", others, hours, columns[SENSITIVE]),
    )


def german(folder: Path) -> Data:
    """Return German credit: the amount in hundreds by the other attributes but the class; purpose is sensitive."""
    table = read_table(folder / "german_credit.csv")
    names = [name for name in table.columns if name not in ("credit_amount", "purpose", "class")]
    amount = table.column(table.guessed("credit_amount")).numbers
    response = of_numbers("credit_amount", np.round(amount / 100))
    columns = {name: table.column(table.guessed(name)) for name in names}
    return Data("German credit, amount", columns, response, table.column(table.guessed("purpose")))


def at(data: Data, learner: BestFirst, leaves: int, as_published: bool = False) -> Sanitised:
    """Sanitise for this number of leaves (multiway: splits less one); nothing is demanded of the groups."""
    return sanitise(
        data.columns,
        [Job(learner, data.response)],
        data.sensitive,
        [],
        start=leaves - 1,
        max_splits=leaves - 1,
        as_published=as_published,
    )


def size(data: Data, leaves: int) -> Size:
    """Return what one number of leaves comes to."""
    learner = BestFirst(data.criterion)
    printed = at(data, learner, leaves, as_published=True).steps[-1]
    found = at(data, learner, leaves)
    step, made = found.steps[-1], found.best.columns
    by_groups = mondrian(data.columns, data.response, 1, leaves)
    own, response = data.columns, data.response

    def by_tpp(columns: Columns, part: Response) -> Columns:
        tree = learner.growth(columns, part, leaves - 1).tree(leaves - 1)
        return generalise(columns, splits_of_trees([tree], columns, len(part.values))).columns

    def by_infogain(columns: Columns, part: Response) -> Columns:
        return mondrian(columns, part, max(2, step.k * (FOLDS - 1) // FOLDS), len(part.values))

    quality = {
        "original": quality_of(own, response, leaves),
        "TPP": quality_of(own, response, leaves, by_tpp),
        "TPP, own folds": quality_of(made, response, leaves),
    }
    infogain_same = None
    if step.k > 1:
        by_k = mondrian(data.columns, data.response, step.k, len(data.response.values))
        quality["InfoGain"] = quality_of(own, response, leaves, by_infogain)
        quality["InfoGain, own folds"] = quality_of(by_k, response, leaves)
        tree = learner.growth(data.columns, data.response, leaves - 1).tree(leaves - 1)
        again = learner.growth(by_k, data.response, leaves - 1).tree(leaves - 1)
        infogain_same = not list(differences(tree, again))
    return Size(
        leaves,
        step.k,
        1 / step.largest_share,
        step.groups,
        len(step.anchored),
        not step.problems,
        printed.k,
        not printed.problems,
        grouped(by_groups, data.sensitive).k,
        quality,
        infogain_same,
    )


def quality_of(
    columns: Columns,
    response: Response,
    leaves: int,
    make: Make = lambda columns, response: columns,
) -> float:
    """Return the accuracy, or R square, of trees with so many leaves in tenfold cross-validation.

    ``make`` sanitises the records learnt from, and is given nothing else; the others stay as they are in ``columns``.
    """
    size = len(response.values)
    fold = np.random.default_rng(SEED).permutation(size) % FOLDS
    said = np.empty(size, dtype=object)
    for number in range(FOLDS):
        train, test = np.flatnonzero(fold != number), np.flatnonzero(fold == number)
        part = replace(response, values=response.values[train])
        own = make({name: column.take(train) for name, column in columns.items()}, part)
        learner = BestFirst("gini" if response.classes else "variance")
        tree = _on_originals(learner.growth(own, part, leaves - 1).tree(leaves - 1))
        stops = route(tree, {name: column.take(test) for name, column in columns.items()})
        said[test] = [tree.nodes[stop].score for stop in stops]
    if response.classes:
        truth = np.array(response.classes, dtype=object)[response.values]
        return float((said == truth).mean())
    truth = response.values / response.per_unit
    error = truth - said.astype(float)
    return 1 - float((error**2).sum() / ((truth - truth.mean()) ** 2).sum())


def _on_originals(tree: Tree) -> Tree:
    """Return a tree that asks for a set of categories as one that asks for any of them."""
    nodes = [
        replace(node, test=CategoryTest(node.test.feature, _parts(node.test), node.test.negated))
        if isinstance(node.test, CategoryTest)
        else node
        for node in tree.nodes
    ]
    return replace(tree, nodes=tuple(nodes))


def _parts(test: CategoryTest) -> tuple[str, ...]:
    return tuple(part for value in test.values for part in value.split("|"))


def same_canonical(data: Data, leaves: tuple[int, ...], shuffles: int) -> tuple[int, int]:
    """Return in how many of all runs the canonical learner grows the same tree from shuffled sanitised records."""
    same = runs = 0
    criteria = ("gini", "entropy", "gain-ratio") if data.response.classes else ("variance",)
    random = np.random.default_rng(SEED)
    for criterion in criteria:
        for multiway in (False, True):
            learner = BestFirst(criterion, multiway)
            for count in leaves:
                found = at(data, learner, count)
                for _ in range(shuffles):
                    rows = random.permutation(len(data.response.values))
                    runs += 1
                    same += _again(learner, found, data, rows)
    return same, runs


def _again(learner: BestFirst, found: Sanitised, data: Data, rows: np.ndarray) -> bool:
    best = found.best
    if best is None:
        return False
    columns = {name: column.take(rows) for name, column in best.columns.items()}
    response = replace(data.response, values=data.response.values[rows])
    tree = learner.growth(columns, response, best.step.splits).tree(best.step.splits)
    original = learner.growth(data.columns, data.response, best.step.splits).tree(best.step.splits)
    return not list(differences(original, tree))


def same_scikit(
    data: Data, leaves: tuple[int, ...], seeds: int, as_published: bool
) -> tuple[int, int]:
    """Return in how many runs scikit-learn, under other seeds, grows the tree of seed 0 on the original table."""
    same = runs = 0
    for count in leaves:
        learner = Scikit(data.criterion, seeds=(0,))
        job = Job(learner, data.response)
        grown = learner.growth(data.columns, data.response, count - 1)
        tree = grown.tree(count - 1)
        found = _made(data, job, tree, as_published)
        for seed in range(1, seeds + 1):
            again = replace(grown.learner, seeds=(seed,)).growth(found, data.response, count - 1)
            runs += 1
            same += not list(differences(tree, again.tree(count - 1), learner.slack))
    return same, runs


def _made(data: Data, job: Job, tree: Tree, as_published: bool) -> Columns:
    """Return the table sanitised for one tree, without a search, as numbers of 32 bits."""
    said = splits_of_trees([tree], data.columns, len(data.response.values))
    made = generalise(data.columns, said, as_published=as_published, single=True).columns
    return {
        name: column
        if isinstance(column, CategoricalColumn)
        else NumericColumn(column.numbers.astype(np.float32).astype(np.float64))
        for name, column in made.items()
    }


def seconds(data: Data, leaves: int) -> float:
    """Return how long it takes to sanitise for every number of leaves up to this one: the best of three."""
    job = Job(BestFirst(data.criterion), data.response)
    taken = []
    for _ in range(3):
        begun = time.perf_counter()
        sanitise(data.columns, [job], data.sensitive, [], max_splits=leaves - 1)
        taken.append(time.perf_counter() - begun)
    return min(taken)
