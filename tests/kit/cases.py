"""Small random tables and the trees grown on them, for tests that compare methods."""

from __future__ import annotations

from functools import cache
from importlib import import_module

import numpy as np
import pytest

from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.population.target import members
from treewarden.audit.solver.block_solver import solve_task
from treewarden.audit.solver.task import SolverTask
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Tree

NAMES = ("north", "south", "east", "west")


def random_table(
    seed: int,
    *,
    features: int = 3,
    classes: int = 3,
    records: int = 24,
    values: int = 3,
    leading: int | None = None,
) -> Table:
    """Return a table of categorical attributes x0, x1, ... and a column `class` that depends on the first two.

    With ``leading``, so many classes are frequent and the others noise.
    """
    draw = np.random.default_rng(seed)
    columns = {f"x{i}": draw.integers(values, size=records) for i in range(features)}
    noise = draw.random(records) < 0.4
    label = np.where(
        noise,
        draw.integers(classes, size=records),
        (columns["x0"] + columns["x1"]) % (leading or classes),
    )
    label[:2] = [0, 1]
    named = {name: [NAMES[v] for v in column] for name, column in columns.items()}
    return table_of({**named, "class": [f"c{k}" for k in label]})


def multiway_tree(table: Table, criterion: Criterion, min_records: float = 5) -> Tree:
    """Return the ID3 tree of a table made by `random_table`."""
    names = [name for name in table.columns if name != "class"]
    columns = {name: table.column(Feature(name, numeric=False)) for name in names}
    target = table.column(Feature("class", numeric=False))
    masses = np.eye(len(target.categories))[target.codes]
    return grow_id3(
        columns, masses, target.categories, criterion=criterion, min_records=min_records
    )


def multiway_case(seed: int, knowledge: Knowledge, *, classes: int = 3, records: int = 24) -> Case:
    """Return a random table with its tree and what is known of it."""
    table = random_table(seed, classes=classes, records=records)
    criterion = Criterion.ENTROPY if knowledge.split == "none" else Criterion(str(knowledge.split))
    tree = multiway_tree(table, criterion)
    return case_of(tree, build_population(tree, table, sensitive="class"), knowledge)


def case_of(tree: Tree, population: Population, knowledge: Knowledge) -> Case:
    """Return what is audited."""
    return Case(tree, population, members(tree, population.leaf), knowledge)


class _Recorder(EntropySearch):
    """Keeps the tasks that a search asks for."""

    seen: list[SolverTask] = []

    def ask(self, tasks):
        asked = list(tasks)
        self.seen.extend(asked)
        return [solve_task(task) for task in asked]


@cache
def curved_tasks(split, seeds=range(8), records=24):
    """The blocks of some small audits whose rows are not convex, as tasks: the same ones each time."""
    options = AuditOptions(jobs=1, rows="real")
    with pytest.MonkeyPatch.context() as patch:
        rounds = import_module("treewarden.audit.entropy.rounds")
        patch.setattr(rounds, "EntropySearch", _Recorder)
        patch.setattr(_Recorder, "seen", [])
        for seed in seeds:
            case = multiway_case(seed, Knowledge(leaf="rates", split=split), records=records)
            estimate(build_system(case), options)
        return [t for t in _Recorder.seen if t.chains is not None and not t.program.is_convex]
