"""Random small tables with the trees grown on them and a random adversary: one case per seed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from tests.judges.estimate.binary_learner import grow_binary
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import KnownRecord, Statement
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.population.target import members
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.column import NumericColumn, number_text
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Feature,
    Quality,
    Tree,
)

SPLITS = ("gini", "entropy", "gain-ratio")
LEARNERS = ("id3", "id3", "scikit-learn", "mixed")


@dataclass(frozen=True)
class Fact:
    """Among the records with these values, those of a class number between ``low`` and ``high``, shares of them.

    ``is_record`` says instead that one record with these values is known to have the class.
    """

    conditions: tuple[tuple[str, str | float], ...]
    klass: str
    low: float
    high: float
    is_record: bool = False

    def said(self) -> Statement | KnownRecord:
        """Return the fact as a knowledge file would hold it."""
        if self.is_record:
            return KnownRecord.model_validate(
                {"record": dict(self.conditions), "class": self.klass}
            )
        where = ", ".join(
            f"{name} = {value if isinstance(value, str) else number_text(value)}"
            for name, value in self.conditions
        )
        sign, share = (
            ("=", self.low)
            if self.low == self.high
            else (">=", self.low)
            if self.high == 1
            else ("<=", self.high)
        )
        return Statement(says=f"P({self.klass} | {where}) {sign} {float(share)!r}")


@dataclass(frozen=True)
class Sample:
    """One case: what is audited, the facts in the adversary's head, and how it came about, in words."""

    tree: Tree
    population: Population
    knowledge: Knowledge
    facts: tuple[Fact, ...]
    learner: str

    @property
    def case(self) -> Case:
        """The case as the product takes it."""
        knowledge = self.knowledge.model_copy(
            update={"facts": tuple(fact.said() for fact in self.facts)}
        )
        return Case(self.tree, self.population, members(self.tree, self.population.leaf), knowledge)


def sample(seed: int) -> Sample:
    """Return the case of a seed."""
    draw = np.random.default_rng(seed)
    learner = str(draw.choice(LEARNERS))
    table = _table(draw, learner)
    criterion = Criterion(str(draw.choice(["gini", "entropy"])))
    weights = "weight" if learner != "scikit-learn" and draw.random() < 0.2 else None
    tree = grown(draw, learner, table, criterion, weights)
    population = (
        _weighed(tree, table) if weights else build_population(tree, table, sensitive="class")
    )
    split = str(draw.choice([criterion.value, criterion.value, *SPLITS, "none"]))
    knowledge = Knowledge(
        leaf=str(draw.choice(["labels", "rates", "rates", "rates", "counts"])),
        split=split,
        marginal=draw.random() < 0.2,
        accuracy=draw.random() < 0.2,
        strict_labels=draw.random() < 0.3,
    )
    facts = true_facts(draw, tree, population) if draw.random() < 0.25 else ()
    return Sample(tree, population, knowledge, facts, learner)


def _weighed(tree: Tree, table: Table) -> Population:
    """Return the people with masses that are no whole numbers, as no table gives them: halves of whole ones."""
    weight = table.column(Feature("weight", numeric=True)).numbers
    assert weight is not None
    doubled = {**table.columns, **table_of({"weight": 2 * weight}).columns}
    uncompared = replace(tree, quality=Quality.ABSENT)
    twice = build_population(
        uncompared, replace(table, columns=doubled), sensitive="class", weights="weight"
    )
    assert isinstance(twice.truth, np.ndarray)
    return replace(twice, counts=twice.counts / 2, truth=twice.truth / 2, warnings=())


def _table(draw: np.random.Generator, learner: str) -> Table:
    attributes, classes = int(draw.integers(2, 5)), int(draw.integers(2, 6))
    records = int(draw.integers(8, 41))
    columns = {}
    for i in range(attributes):
        is_numeric = learner == "scikit-learn" or (learner == "mixed" and draw.random() < 0.5)
        columns[f"x{i}"] = draw.integers(6 if is_numeric else draw.integers(2, 5), size=records)
        if not is_numeric:
            columns[f"x{i}"] = np.array([f"v{value}" for value in columns[f"x{i}"]])
        else:
            columns[f"x{i}"] = columns[f"x{i}"].astype(float)
    drivers = sum(np.unique(columns[f"x{i}"], return_inverse=True)[1] for i in range(2))
    noise = draw.random(records) < draw.uniform(0.1, 0.7)
    label = np.where(noise, draw.integers(classes, size=records), drivers % classes)
    label[:2] = [0, 1]
    weight = draw.choice([1.0, 1.0, 2.0, 3.0, 1.5], size=records)
    return table_of(
        {
            **{name: column.tolist() for name, column in columns.items()},
            "class": [f"c{k}" for k in label],
            "weight": weight.tolist(),
        }
    )


def grown(
    draw: np.random.Generator,
    learner: str,
    table: Table,
    criterion: Criterion,
    weights: str | None,
) -> Tree:
    """Return the tree that a learner grows on a table with columns `class` and `weight`, its limits drawn."""
    names = [name for name in table.columns if name not in ("class", "weight")]
    target = table.column(Feature("class", numeric=False))
    weight = np.ones(table.rows)
    if weights:
        weight = table.column(Feature("weight", numeric=True)).numbers
    columns = {name: table.column(table.guessed(name)) for name in names}
    masses = np.eye(len(target.categories))[target.codes] * weight[:, None]
    smallest, leaf = float(draw.integers(2, 9)), int(draw.integers(1, 4))
    if learner == "id3":
        return grow_id3(
            columns, masses, target.categories, criterion=criterion, min_records=smallest
        )
    if learner == "mixed":
        return grow_binary(
            columns,
            masses,
            target.categories,
            criterion=criterion,
            min_leaf=leaf,
            min_records=smallest,
        )
    fitted = DecisionTreeClassifier(
        criterion=criterion.value,
        min_samples_leaf=leaf,
        max_leaf_nodes=int(draw.integers(2, 9)),
        random_state=0,
    )
    fitted.fit(
        np.stack([columns[name].numbers for name in names], axis=1),
        np.array(target.categories)[target.codes],
    )
    found = from_sklearn(fitted, feature_names=names)
    # Why it stopped is judged by running learners again (tests/judges/doors/stopping_settings.py), not by definitions.
    return replace(found, learner=replace(found.learner, stopping=None))


def true_facts(draw: np.random.Generator, tree: Tree, population: Population) -> tuple[Fact, ...]:
    """Return one or two facts that are true: about the records that share one or two values with someone."""
    found = []
    for _ in range(int(draw.integers(1, 3))):
        someone = int(draw.integers(len(population.counts)))
        klass = int(draw.choice(np.flatnonzero(population.truth[someone])))
        names = list(draw.permutation(list(population.qi)))
        is_record = bool(draw.random() < 0.3 and (population.truth[someone] >= 1).any())
        if is_record:
            klass = int(draw.choice(np.flatnonzero(population.truth[someone] >= 1)))
        else:
            names = names[: int(draw.integers(1, 3))]
        conditions = tuple((str(name), value(population, str(name), someone)) for name in names)
        inside = matching(population, conditions)
        share = float(population.truth[inside, klass].sum() / population.counts[inside].sum())
        kind = draw.random()
        low = share if kind < 0.5 else round(share - 0.05, 2) if kind < 0.75 else 0.0
        high = share if kind < 0.5 else 1.0 if kind < 0.75 else round(share + 0.05, 2)
        ends = (max(low, 0.0), min(high, 1.0))
        found.append(Fact(conditions, tree.classes[klass], *ends, is_record=is_record))
    return tuple(found)


def value(population: Population, name: str, profile: int) -> str | float:
    """Return a profile's value of an attribute."""
    column = population.columns[name]
    if isinstance(column, NumericColumn):
        return float(column.numbers[profile])
    return column.categories[int(column.codes[profile])]


def matching(population: Population, conditions: tuple[tuple[str, str | float], ...]) -> np.ndarray:
    """Return which profiles have all these values."""
    return np.array(
        [
            all(value(population, name, q) == wanted for name, wanted in conditions)
            for q in range(len(population.counts))
        ]
    )
