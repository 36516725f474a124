"""Tries what leaf values of boosted models say of the labels: models grown here, whose leaves are known, judge it.

    python -m tests.judges.run_inverters --cases 300 --seed 0

So many models of each library that is installed are grown on random small tables, two in three with nothing that veils
the sums, the others with sampling, weights, penalties and the like. What is said of a leaf must hold of its people; so
it must of people of wrong tables, with one record missing or one value changed, where anything is said at all. Prints
the seed of every miss, how many leaves were told exactly, and a line that counts; the exit code is 1 where there is a
miss. A model of which nothing is said is no miss, but is counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product

import numpy as np
import pandas as pd

from tests.judges.inverter_learners import LEARNERS, Lesson, NotGrownError, is_there, lesson
from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.inverters import GrownCase, LeafSums, leaf_sums
from treewarden.audit.joint.ensemble_inference import join_trees
from treewarden.audit.population.forest import Forest, forest_of
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.errors import TableError, TreeFormatError
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model

SECONDS = 2.0


@dataclass
class Trial:
    """One model's outcome: what missed in words, and what was tried."""

    learner: str
    seed: int
    misses: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool | np.bool_, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)


def trial(learner: str, seed: int) -> Trial:
    """Judge the model of a learner and a seed."""
    found = Trial(learner, seed)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the libraries' own
            _judge(found)
    except Exception as error:  # a traceback is a miss too, and the other models must go on
        found.misses.append(f"{type(error).__name__}: {error}")
    return found


def _judge(found: Trial) -> None:
    draw = np.random.default_rng([found.seed, 11])
    given = lesson(draw)
    try:
        published = LEARNERS[found.learner][1](given, draw)
    except (NotGrownError, TreeFormatError) as error:
        found.tried[f"models without: {type(error).__name__}"] += 1
        return
    kind = "plain" if published.is_plain else "veiled"
    found.tried[f"{kind} models"] += 1
    try:
        sums, people, forest = _said(published.model, given)
    except TableError:
        # Some were grown on a part of the table, and say how many people are in their leaves.
        found.claim(not published.is_plain, f"not of its own table; settings {published.settings}")
        found.tried["veiled models, not of this table"] += 1
        return
    if isinstance(sums, Undetermined):
        found.tried[f"{kind} models, nothing said"] += 1
        return
    found.tried[f"{kind} leaves"] += len(sums.low)
    found.tried[f"{kind} leaves, exact"] += int((sums.low == sums.high).sum())
    said = f"settings {published.settings}"
    found.claim(_hold(sums, people, forest), f"sums of leaves are wrong; {said}")
    _judge_joined(found, people, forest, said)
    if (sums.low == sums.high).all():
        found.tried["tables with another label"] += 1
        _, others, forest = _said(published.model, _relabelled(given, draw))
        joined = join_trees(forest, others, TimeBudget(clock(0.0), 0.0))
        found.claim(isinstance(joined, Undetermined), f"another label is not noticed; {said}")
    for what, other in _wrong(given, draw):
        found.tried["wrong tables"] += 1
        try:
            sums, people, forest = _said(published.model, other)
        except TableError:
            sums = Undetermined("no table of this model")
        if isinstance(sums, LeafSums):
            found.tried["wrong tables that fit"] += 1
            found.claim(_hold(sums, people, forest), f"wrong sums with {what}; {said}")


def _said(model: Model, given: Lesson) -> tuple[LeafSums | Undetermined, Population, Forest]:
    """Return what a model's leaves say of the people of a table, with these people where they stop."""
    columns = {name: column.tolist() for name, column in given.table.items()}
    table = table_of({**columns, "y": [str(label) for label in given.labels]})
    named = replace(model, classes=tuple(map(str, range(given.classes))))
    people = build_population(named, table, sensitive="y")
    forest = forest_of(named, people)
    growth = model.growth if isinstance(model, Ensemble) else None
    if growth is None:
        return Undetermined("the file does not say how it was grown"), people, forest
    case = GrownCase(growth, forest.trees, forest.stops, people.counts, given.classes)
    return leaf_sums(case), people, forest


def _hold(sums: LeafSums, people: Population, forest: Forest) -> bool:
    """Whether each leaf has as many people of each class as is said of it."""
    truth = people.truth
    assert not isinstance(truth, Undetermined)
    rows = zip(sums.trees, sums.nodes, sums.output, strict=True)
    true = np.array(
        [truth[forest.stops[tree] == node, output].sum() for tree, node, output in rows]
    )
    return bool(((sums.low <= true) & (true <= sums.high)).all())


def _judge_joined(found: Trial, people: Population, forest: Forest, said: str) -> None:
    """Hold what all trees prove together against the true labels."""
    joined = join_trees(forest, people, TimeBudget(clock(SECONDS), SECONDS))
    found.claim(not isinstance(joined, Undetermined), f"no table fits the true sums; {said}")
    if isinstance(joined, Undetermined):
        return
    truth, joint = joined.cells.summed(people.truth), joined.bounds
    is_inside = ((joint.low <= truth) & (truth <= joint.high)).all()
    found.claim(is_inside, f"somebody's label is proved to be another; {said}")
    found.tried["people"] += int(people.counts.sum())
    sure = (joint.low == joined.cells.sizes[:, None]).any(axis=1)
    found.tried["people, certain"] += int(joined.cells.sizes[sure].sum())


def _wrong(given: Lesson, draw: np.random.Generator) -> Iterator[tuple[str, Lesson]]:
    """Yield tables that are not the one of the training: one record missing, one value another."""
    size = len(given.labels)
    missing = int(draw.integers(size))
    kept = np.delete(np.arange(size), missing)
    yield (
        f"record {missing} missing",
        Lesson(given.table.iloc[kept].reset_index(drop=True), given.labels[kept], given.classes),
    )
    row, column = int(draw.integers(size)), int(draw.integers(given.table.shape[1]))
    values = given.table.to_numpy().copy()
    values[row, column] = values[:, column].max() - values[row, column] + 1.0
    changed = pd.DataFrame(values, columns=given.table.columns)
    yield f"value {row}, {column} changed", Lesson(changed, given.labels, given.classes)


def _relabelled(given: Lesson, draw: np.random.Generator) -> Lesson:
    labels = given.labels.copy()
    who = int(draw.choice(np.flatnonzero(np.bincount(labels)[labels] > 1)))
    labels[who] = (labels[who] + 1) % given.classes
    return replace(given, labels=labels)


def trials(
    learners: list[str], seeds: range, jobs: int, cluster: str | None = None
) -> Iterator[Trial]:
    """Judge models over processes, in order."""
    return in_order(trial, list(product(learners, seeds)), jobs, cluster)


def main() -> int:
    """Judge as many models as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m tests.judges.run_inverters", description=__doc__)
    ask.add_argument("--cases", type=int, default=300, help="models of each library")
    ask.add_argument("--seed", type=int, default=0)
    ask.add_argument("--only", default="", help="only the learners whose names contain this")
    ask_where(ask)
    given = ask.parse_args()
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    began, missed = time.perf_counter(), 0
    wanted = [name for name in LEARNERS if given.only in name]
    for name in wanted:
        if not is_there(name):
            print(f"{name}: left out, {LEARNERS[name][0]} is not installed")
    tried: dict[str, Counter[str]] = {name: Counter() for name in wanted if is_there(name)}
    seeds = range(given.seed, given.seed + given.cases)
    for found in trials(list(tried), seeds, given.jobs, given.cluster):
        tried[found.learner].update(found.tried)
        missed += bool(found.misses)
        for said in found.misses:
            print(f"{found.learner}, seed {found.seed}: {said}", flush=True)
    for name, counted in tried.items():
        print(f"{name}: {', '.join(f'{count:,} {what}' for what, count in counted.items())}")
    seconds = time.perf_counter() - began
    models = given.cases * len(tried)
    print(f"{models:,} models, {missed} misses (seeds from {given.seed}; {seconds:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
