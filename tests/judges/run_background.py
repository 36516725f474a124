"""Tries facts from elsewhere on small models of every kind, against a list of every table that fits.

    python -m tests.judges.run_background --cases 3000 --seed 0

A case crosses a kind of model (one tree, a forest, a forest of samples, several releases; of classes or of numbers)
with what is known of its people besides: nothing, somebody's value, shares of a class, how common the classes are. All
tables of up to seven people are listed, those kept that give every leaf its numbers and make every fact true, and what
an audit proves and shows is held against them. Prints the seed of every miss, and of each combination how much was
decided; the exit code is 1 where there is a miss. What is left open is no miss.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.knowledge.statement import KnownRecord, Statement
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.linked_population import KnownGroups, shared_people
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.audit.releases import ReleaseCase, run_releases
from treewarden.audit.run import run
from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Combination, Ensemble, Member, Model, TreeSampling
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Quality, Task, Tree

FEATURES = (Feature("place", numeric=False),)
KINDS = ("tree", "forest", "samples", "releases", "numbers", "number releases")
BACKGROUND = ("nothing", "a person", "a share", "class totals", "all of it")
OPTIONS = AuditOptions(worlds_budget=4.0)
MOST_PEOPLE, MOST_NUMBER = 7, 3
ROUNDING = 1e-6


@dataclass
class Trial:
    """One case's outcome: what missed in words, and how much of it was decided."""

    seed: int
    misses: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool | np.bool_, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)


@dataclass(frozen=True)
class PublishedTree:
    """A tree over some people: whom it holds, the leaf of each person (n,), and how often each was drawn (n,)."""

    people: IntArray
    leaf: IntArray
    draws: IntArray


@dataclass(frozen=True)
class BackgroundCase:
    """A drawn case: places and values of people (n,), its trees, and the facts, which are all true."""

    kind: str
    background: str
    places: tuple[str, ...]
    values: IntArray
    classes: int
    trees: tuple[PublishedTree, ...]
    facts: tuple[Statement | KnownRecord, ...]
    marginal: bool

    @property
    def is_of_numbers(self) -> bool:
        """Whether the model predicts a number."""
        return "number" in self.kind

    @property
    def is_of_releases(self) -> bool:
        """Whether each tree is a release of its own."""
        return "releases" in self.kind


def drawn_case(seed: int) -> BackgroundCase:
    """Return the case of a seed."""
    draw = np.random.default_rng(seed)
    kind, background = KINDS[seed % 6], BACKGROUND[seed // 6 % 5]
    is_number, releases = "number" in kind, "releases" in kind
    if is_number and background != "nothing":
        background = "a person"  # of numbers there are no other facts
    n = int(draw.integers(4, MOST_PEOPLE + 1)) if not is_number else int(draw.integers(4, 7))
    # Whoever has a place alone is somebody of whom a release can be asked.
    own = np.arange(n) if releases else np.sort(draw.integers(0, n, n))
    classes = 4 if is_number else int(draw.choice([2, 2, 3]))
    values = draw.integers(0, classes, n)
    values[:2] = 0, classes - 1
    trees = []
    for _ in range(1 if kind == "tree" else int(draw.integers(2, 4))):
        is_in = np.flatnonzero(draw.random(n) < 0.85) if releases else np.arange(n)
        # Everybody knows the range of a table's numbers, and a table of one class is no case.
        is_in = np.union1d(is_in, [0, 1])
        leaf_of_place = draw.integers(0, 2, n)
        draws = np.ones(n, dtype=np.int64)
        if kind == "samples":
            draws = np.bincount(draw.integers(0, n, n), minlength=n)
        trees.append(PublishedTree(is_in, leaf_of_place[own], draws))
    places = tuple(f"p{place}" for place in own.tolist())
    facts = tuple(_facts(draw, background, places, values, trees[-1].people, is_number))
    marginal = background in ("class totals", "all of it") and not is_number
    return BackgroundCase(kind, background, places, values, classes, tuple(trees), facts, marginal)


def _facts(
    draw: np.random.Generator,
    background: str,
    places: Sequence[str],
    values: IntArray,
    people: IntArray,
    is_number: bool,
) -> Iterator[Statement | KnownRecord]:
    if background in ("a person", "all of it"):
        for person in draw.choice(people, int(draw.integers(1, 3)), replace=False).tolist():
            said = {"record": {"place": places[person]}, "class": str(values[person])}
            yield KnownRecord.model_validate(said)
    if background in ("a share", "all of it") and not is_number:
        some = sorted({places[p] for p in draw.choice(people, 3).tolist()})
        inside = [p for p in people.tolist() if places[p] in some]
        klass = int(draw.integers(0, 2))
        share = float(np.mean(values[inside] == klass))
        sign = str(draw.choice(["=", "<=", ">="]))
        yield Statement(says=f"P({klass} | place in {{{', '.join(some)}}}) {sign} {share!r}")


# The case as an audit sees it.


def model_of(case: BackgroundCase, trees: Sequence[PublishedTree], name: str) -> Model:
    """Return trees as one model: a tree where it is one, else a forest."""
    grown = [_tree(case, tree, name) for tree in trees]
    if len(grown) == 1:
        return grown[0]
    how = Combination.AVERAGE if case.is_of_numbers else Combination.MAJORITY_VOTE
    return Ensemble(
        members=tuple(Member(tree) for tree in grown),
        combination=how,
        features=FEATURES,
        target="value",
        classes=grown[0].classes,
        task=grown[0].task,
        sampling=TreeSampling(case.kind == "samples"),
        source=name,
    )


def _tree(case: BackgroundCase, tree: PublishedTree, name: str) -> Tree:
    classes = () if case.is_of_numbers else tuple(str(k) for k in range(case.classes))
    task = Task.REGRESSION if case.is_of_numbers else Task.CLASSIFICATION
    leaves = []
    for leaf in np.unique(tree.leaf[tree.people]).tolist():
        people = tree.people[tree.leaf[tree.people] == leaf]
        there = tuple(dict.fromkeys(case.places[p] for p in people.tolist()))
        test, index = CategoryTest("place", there), len(leaves) + 1
        own, draws = case.values[people], tree.draws[people]
        if case.is_of_numbers:
            leaves.append(Node(index, str(index), 0, (), test, float(own.mean())))
            continue
        counts = np.bincount(own, draws, case.classes)
        score = classes[int(counts.argmax())]
        numbers = tuple(float(each) for each in counts)
        leaves.append(Node(index, str(index), 0, (), test, score, sum(numbers), numbers))
    children = tuple(leaf.index for leaf in leaves)
    if case.is_of_numbers:
        mean = float(case.values[tree.people].mean())
        root = Node(0, "0", None, children, score=mean)
        return Tree((root, *leaves), FEATURES, "value", classes, task=task, source=name)
    total = np.bincount(case.values[tree.people], tree.draws[tree.people], case.classes)
    whole = tuple(float(each) for each in total)
    root = Node(0, "0", None, children, score=classes[0], records=sum(whole), class_counts=whole)
    return Tree((root, *leaves), FEATURES, "value", classes, quality=Quality.EXACT, source=name)


def evidence_of(case: BackgroundCase) -> Evidence:
    """Return what an audit of the case has to measure, of the last release where there are several."""
    knowledge = Knowledge(facts=case.facts, marginal=case.marginal, split=SplitLevel.NONE)
    parts = [(tree,) for tree in case.trees] if case.is_of_releases else [case.trees]
    models, tables, populations = [], [], []
    for number, trees in enumerate(parts):
        people = trees[0].people.tolist()
        values: list[object] = [int(case.values[p]) for p in people]
        if not case.is_of_numbers:
            values = [str(value) for value in values]
        table = table_of(
            {
                "id": [str(p) for p in people],
                "place": [case.places[p] for p in people],
                "value": values,
            }
        )
        model = model_of(case, trees, f"m{number}")
        models.append(model)
        tables.append(table)
        populations.append(build_population(model, table, sensitive="value"))
    if not case.is_of_releases:
        return run(models[0], populations[0], knowledge, options=OPTIONS).full.evidence
    shared = shared_people(models, tables, populations, "id")
    assert isinstance(shared, KnownGroups)
    cases = [ReleaseCase(m, p, ()) for m, p in zip(models, populations, strict=True)]
    return run_releases(cases, shared, knowledge, options=OPTIONS).full.evidence


# Every table that fits.


def tables(case: BackgroundCase) -> IntArray:
    """Return the values of all people in every table that fits all leaves and facts, (T, n)."""
    everything = np.array(list(itertools.product(range(case.classes), repeat=len(case.places))))
    fits = np.ones(len(everything), dtype=bool)
    for tree in case.trees:
        fits &= _fits_tree(case, tree, everything)
    for fact in case.facts:
        fits &= _fits_fact(case, fact, everything)
    if case.marginal:
        for tree in case.trees if case.is_of_releases else case.trees[:1]:
            for k in range(case.classes):
                total = int((case.values[tree.people] == k).sum())
                fits &= (everything[:, tree.people] == k).sum(axis=1) == total
    # Whom no release holds nobody asks about.
    held = np.unique(np.concatenate([tree.people for tree in case.trees]))
    for person in np.setdiff1d(np.arange(len(case.places)), held).tolist():
        fits &= everything[:, person] == case.values[person]
    return np.asarray(everything[fits])


def _fits_tree(case: BackgroundCase, tree: PublishedTree, everything: IntArray) -> IntArray:
    fits = np.ones(len(everything), dtype=bool)
    for leaf in np.unique(tree.leaf[tree.people]).tolist():
        people = tree.people[tree.leaf[tree.people] == leaf]
        if case.is_of_numbers:
            fits &= everything[:, people].sum(axis=1) == case.values[people].sum()
            continue
        for k in range(case.classes):
            here = (everything[:, people] == k).sum(axis=1)
            if case.kind == "samples":
                # Who was drawn is not known here: a class that was has somebody, and that is all.
                is_drawn = bool(tree.draws[people][case.values[people] == k].sum())
                fits &= here >= 1 if is_drawn else here >= 0
            else:
                fits &= here == int((case.values[people] == k).sum())
    if case.is_of_numbers:  # the range of each table is known
        own = everything[:, tree.people]
        fits &= own.min(axis=1) == case.values[tree.people].min()
        fits &= own.max(axis=1) == case.values[tree.people].max()
    return fits


def _fits_fact(
    case: BackgroundCase, fact: Statement | KnownRecord, everything: IntArray
) -> IntArray:
    """Return which tables make a fact true of each table that it is true of: no more than an audit may take from it."""
    fits = np.ones(len(everything), dtype=bool)
    for people in {tuple(tree.people.tolist()) for tree in case.trees}:
        if isinstance(fact, KnownRecord):
            here = [p for p in people if case.places[p] == fact.record["place"]]
            k, low, high = int(fact.value), 1.0, float(len(here))
        else:
            k = int(fact.says[2])
            some = fact.says.split("{")[1].split("}")[0].split(", ")
            if not set(some) <= {case.places[p] for p in people}:
                continue
            here = [p for p in people if case.places[p] in some]
            sign, share = fact.says.rsplit(" ", 2)[1:]
            low = 0.0 if sign == "<=" else float(share) * len(here)
            high = float(len(here)) if sign == ">=" else float(share) * len(here)
        own = int((case.values[here] == k).sum())
        if here and low - ROUNDING <= own <= high + ROUNDING:
            total = (everything[:, here] == k).sum(axis=1)
            fits &= (low - ROUNDING <= total) & (total <= high + ROUNDING)
    return fits


# What is claimed, against them.


def trial(seed: int) -> Trial:
    """Judge the case of a seed."""
    found = Trial(seed)
    try:
        _judge(found)
    except Exception as error:  # a traceback is a miss too, and the other cases must go on
        found.misses.append(f"{type(error).__name__}: {error}")
    return found


def _judge(found: Trial) -> None:
    case = drawn_case(found.seed)
    evidence, every = evidence_of(case), tables(case)
    name = f"{case.kind} x {case.background}"
    found.tried[f"{name}: cases"] += 1
    last = case.trees[-1].people if case.is_of_releases else case.trees[0].people
    column = evidence.population.columns["place"]
    groups = [
        [p for p in last.tolist() if case.places[p] == column.text(row)]
        for row in range(len(evidence.population.counts))
    ]
    found.claim(sum(map(len, groups)) == len(last), "people are missing")
    if case.is_of_numbers:
        _judge_numbers(found, evidence, every, groups, name)
    else:
        _judge_classes(found, evidence, every, groups, name)


def _judge_classes(
    found: Trial, evidence: Evidence, every: IntArray, groups: Sequence[Sequence[int]], name: str
) -> None:
    worlds = evidence.worlds
    if isinstance(worlds, Undetermined):
        found.tried[f"{name}: undetermined"] += 1
        return
    for row, people in enumerate(groups):
        for k in range(worlds.low.shape[1]):
            total = (every[:, people] == k).sum(axis=1)
            least, most = total.min(), total.max()
            found.claim(worlds.low[row, k] <= least, f"group {row}, class {k}: proved too much")
            found.claim(worlds.high[row, k] >= most, f"group {row}, class {k}: ruled out too much")
            low, high = worlds.reached_low[row, k], worlds.reached_high[row, k]
            if low <= high:
                found.claim(least <= low and high <= most, f"group {row}, class {k}: no such table")
            found.tried[f"{name}: cells"] += 1
            is_known = bool(worlds.low[row, k] == least and worlds.high[row, k] == most)
            found.tried[f"{name}: exact"] += is_known
            _judge_estimate(found, evidence, row, k, (least / len(people), most / len(people)))


def _judge_estimate(
    found: Trial, evidence: Evidence, row: int, k: int, ends: tuple[float, float]
) -> None:
    """The estimate lies within what tables of whole people, or means of them, can be."""
    if isinstance(evidence.posterior, Undetermined):
        return
    value = float(evidence.posterior.values[row, k])
    is_inside = ends[0] - 2e-3 <= value <= ends[1] + 2e-3
    if ends[0] == ends[1]:
        return  # what whole people settle need not be settled in parts of people
    found.claim(is_inside, f"group {row}, class {k}: estimated {value}, which no table has")


def _judge_numbers(
    found: Trial, evidence: Evidence, every: IntArray, groups: Sequence[Sequence[int]], name: str
) -> None:
    numbers = evidence.numbers
    if isinstance(numbers, Undetermined):
        found.tried[f"{name}: undetermined"] += 1
        return
    for row, people in enumerate(groups):
        own: FloatArray = every[:, people].astype(np.float64)
        least, most = own.min(), own.max()
        found.claim(numbers.low[row] <= least + ROUNDING, f"group {row}: proved too much below")
        found.claim(numbers.high[row] >= most - ROUNDING, f"group {row}: proved too much above")
        found.claim(numbers.reached_low[row] >= least - ROUNDING, f"group {row}: no table below")
        found.claim(numbers.reached_high[row] <= most + ROUNDING, f"group {row}: no table above")
        found.tried[f"{name}: cells"] += 1
        is_known = numbers.low[row] >= least - ROUNDING and numbers.high[row] <= most + ROUNDING
        found.tried[f"{name}: exact"] += bool(is_known)


def trials(seeds: range, jobs: int, cluster: str | None = None) -> Iterator[Trial]:
    """Judge seeds over processes, in order."""
    return in_order(trial, [(seed,) for seed in seeds], jobs, cluster)


def main() -> int:
    """Run the cases; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    ask_where(parser)
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began, missed, tried = time.monotonic(), 0, Counter[str]()
    seeds = range(options.seed, options.seed + options.cases)
    for found in trials(seeds, options.jobs, options.cluster):
        tried += found.tried
        missed += bool(found.misses)
        for said in found.misses[:3]:
            print(f"seed {found.seed}: {said}", flush=True)
    for kind, background in itertools.product(KINDS, BACKGROUND):
        name = f"{kind} x {background}"
        cells, exact = tried[f"{name}: cells"], tried[f"{name}: exact"]
        cases, open_ = tried[f"{name}: cases"], tried[f"{name}: undetermined"]
        if not cases:
            continue
        print(f"{name}: {cases:,} cases, {open_:,} undetermined, {exact:,} of {cells:,} ends exact")
    print(f"{options.cases:,} cases, {missed} misses ({time.monotonic() - began:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
