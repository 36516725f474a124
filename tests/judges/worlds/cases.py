"""Random trees on tables so small that every other table can be listed: one case per seed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from tests.judges.estimate import definitions
from tests.judges.estimate.cases import LEARNERS, SPLITS, Sample, grown, true_facts
from tests.judges.estimate.definitions import LinearRow, Row
from tests.judges.worlds.zhu_du_example import RECORDS as EXAMPLE
from treewarden.audit.facts.rows import Case, LeafMass
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, build_system
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.tree import Criterion, Feature

LEVELS = ("counts", "rates", "labels")
MOST_RECORDS = {2: 13, 3: 9}
"""By number of classes; there are at most 3^9 tables, and 2^13."""


@dataclass(frozen=True)
class Told:
    """What the product is told of a case, and the same rows by their definitions.

    ``sees_truth`` says whether the product may look at the true table; ``strict`` that the learner
    takes the first of equally good splits, so that ``strict_rows`` (by name) speak of splits that are truly worse.
    """

    system: System
    rows: list[Row]
    truth: np.ndarray
    sees_truth: bool
    strict: bool
    strict_rows: frozenset[str] = frozenset()


def small_sample(seed: int) -> Sample:
    """Return the case of a seed."""
    draw = np.random.default_rng([seed, 4])
    learner = str(draw.choice(LEARNERS))
    table = _table(draw, learner)
    criterion = Criterion(str(draw.choice(["gini", "entropy"])))
    tree = grown(draw, learner, table, criterion, None)
    population = build_population(tree, table, sensitive="class")
    split = str(draw.choice([criterion.value, criterion.value, criterion.value, *SPLITS, "none"]))
    knowledge = Knowledge(
        leaf=str(draw.choice(LEVELS)),
        split=split,
        marginal=draw.random() < 0.2,
        accuracy=draw.random() < 0.1,
        strict_labels=draw.random() < 0.3,
    )
    facts = true_facts(draw, tree, population) if draw.random() < 0.2 else ()
    return Sample(tree, population, knowledge, facts, learner)


def _table(draw: np.random.Generator, learner: str) -> Table:
    attributes, classes = int(draw.integers(2, 4)), int(draw.integers(2, 4))
    records = int(draw.integers(4, MOST_RECORDS[classes] + 1))
    columns = {}
    for i in range(attributes):
        is_numeric = learner == "scikit-learn" or (learner == "mixed" and draw.random() < 0.5)
        codes = draw.integers(int(draw.integers(2, 5)), size=records)
        columns[f"x{i}"] = codes.astype(float).tolist() if is_numeric else [f"v{v}" for v in codes]
    drivers = sum(np.unique(columns[f"x{i}"], return_inverse=True)[1] for i in range(2))
    noise = draw.random(records) < draw.uniform(0.1, 0.7)
    label = np.where(noise, draw.integers(classes, size=records), drivers % classes)
    label[:2] = [0, 1]
    return table_of(
        {**columns, "class": [f"c{k}" for k in label], "weight": np.ones(records).tolist()}
    )


def told(sample: Sample, *, sees_truth: bool, strict: bool = False) -> Told:
    """Return what the product is told of a case."""
    system = build_system(sample.case)
    truth = sample.population.truth
    rows = [*definitions.rows(sample), *_first_named(sample)]
    before = _before(sample) if strict else frozenset()
    return Told(system if sees_truth else _hidden(system), rows, truth, sees_truth, strict, before)


def _first_named(sample: Sample) -> Iterator[LinearRow]:
    """Yield that a label leads the classes before it, as ID3 and scikit-learn name the first of the most frequent."""
    known = sample.knowledge
    if known.leaf == "counts" or known.strict_labels or sample.learner == "mixed":
        return
    truth, counts = sample.population.truth, sample.population.counts
    for node in sample.tree.leaves:
        here = sample.population.leaf == node.index
        label = sample.tree.classes.index(str(node.score))
        for klass in range(label):
            weights = np.zeros(truth.shape)
            weights[here, label], weights[here, klass] = 1.0, -1.0
            row = LinearRow(weights, 1.0, np.inf, counts[here].sum(), f"first {node.name} {klass}")
            if row.broken(truth) == 0:
                yield row


def _before(sample: Sample) -> frozenset[str]:
    """Return the names of the rows on attributes that ID3 looked at before the one it chose."""
    tree = sample.tree
    names = [feature.name for feature in tree.features]
    found = set()
    for node in tree.nodes if tree.learner.multiway else ():
        if not node.is_leaf:
            chosen = tree.nodes[node.children[0]].test.feature
            found |= {f"node {node.name}: {name}" for name in names[: names.index(chosen)]}
    return frozenset(found)


def altered(sample: Sample, draw: np.random.Generator) -> Told | None:
    """Return a case whose file was changed: one record of a leaf has another class, which may well be impossible."""
    if sample.knowledge.leaf == "labels":
        return None
    node = sample.tree.leaves[int(draw.integers(len(sample.tree.leaves)))]
    m = len(sample.tree.classes)
    label = sample.tree.classes.index(str(node.score))
    other = (label + int(draw.integers(1, m))) % m
    shift = {label: -1.0, other: 1.0} if draw.random() < 0.5 else {label: 1.0, other: -1.0}
    # Totals follow from what leaves say of themselves, so a changed leaf would leave their rows behind.
    alone = sample.knowledge.model_copy(update={"marginal": False, "accuracy": False})
    honest = told(replace(sample, knowledge=alone), sees_truth=False)
    system_rows = tuple(
        replace(row, low=row.low + shift[row.klass], high=row.high + shift[row.klass])
        if isinstance(row, LeafMass) and row.node == node.index and row.klass in shift
        else row
        for row in honest.system.rows
    )
    names = {f"leaf {node.name} {klass}": by for klass, by in shift.items()}
    rows = [
        replace(row, low=row.low + names[row.name], high=row.high + names[row.name])
        if isinstance(row, LinearRow) and row.name in names
        else row
        for row in honest.rows
    ]
    return replace(honest, system=replace(honest.system, rows=system_rows), rows=rows)


def example_system(criterion: str) -> System:
    """Return Example 1 of Zhu & Du 2010: error rates and the splits' criterion are known."""
    table = table_of(EXAMPLE)
    columns = {name: table.column(Feature(name, numeric=False)) for name in ("Age", "Education")}
    target = table.column(Feature("income", numeric=False))
    masses = np.eye(2)[target.codes]
    grown_by = Criterion(criterion)
    tree = grow_id3(
        columns, masses, target.categories, target="income", criterion=grown_by, min_records=3
    )
    people = build_population(tree, table, sensitive="income")
    knowledge = Knowledge(leaf="rates", split=criterion)
    return build_system(Case(tree, people, members(tree, people.leaf), knowledge))


def at_levels(sample: Sample) -> list[Sample]:
    """Return the case under counts, rates and labels: each knows no more than the one before."""
    return [
        replace(sample, knowledge=sample.knowledge.model_copy(update={"leaf": level}))
        for level in LEVELS
    ]


def _hidden(system: System) -> System:
    people = replace(system.case.population, truth=Undetermined("hidden"))
    return replace(system, case=replace(system.case, population=people))
