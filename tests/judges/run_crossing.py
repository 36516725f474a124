"""Tries every kind of model for every kind of adversary, against a list of every table that fits.

    python -m tests.judges.run_crossing --cases 3000 --seed 0

A case crosses a kind of model (one tree, a forest, a forest of samples, boosted trees, trees of numbers, several
releases) with what an adversary knows (all columns or some; a secret column is sought, perhaps with everybody's value
known) and with what is known besides (facts, weights, class totals). Nodes count their classes, or have sizes and
labels or labels alone, splits of a tree are any or the best by a criterion, columns are texts or numbers.
All tables of up to eight people are listed: whatever their hidden columns and values may be. Those are kept that give
every leaf its numbers, and what an audit proves and shows is held against them. What it estimates is held against the
sums of leaves, which parts of people may meet too. Prints the seed of every miss, and of each combination its cases,
those that are wrong, and how much was decided; the exit code is 1 where there is a miss. What is left open is no miss.
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
from functools import partial

import numpy as np

from tests.judges.crossing.cases import (
    COLUMNS,
    KINDS,
    KNOWS,
    SECRET,
    CrossingCase,
    DrawnTree,
    Published,
    boosted_values,
    drawn_case,
    drawn_nodes,
    evidence_of,
    left_of,
    told_value,
)
from tests.judges.crossing.parts import PartsOfPeople
from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.evidence import Evidence
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.tree.column import number_text

ROUNDING = 1e-6


@dataclass
class CrossingTrial:
    """One case's outcome: what missed in words, and how much was decided, under each of the case's ``names``."""

    seed: int
    names: tuple[str, ...] = ()
    misses: list[str] = field(default_factory=list)
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)

    def claim(self, holds: bool | np.bool_, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)

    def count(self, what: str, number: int | bool | np.bool_ = 1) -> None:
        """Count something under each name."""
        for name in self.names:
            self.tried[name, what] += int(number)


@dataclass(frozen=True)
class EveryTable:
    """Every table that fits: codes (K, n, 3) and values (K, n)."""

    codes: IntArray
    values: IntArray


def tables(case: CrossingCase) -> EveryTable:
    """Return every table that gives each leaf its numbers and has what the adversary knows."""
    n, hidden = len(case.values), case.hidden
    sizes = [case.sizes[at] for at in hidden]
    sizes += [] if case.knows_target else [case.classes]
    ways = np.array(list(itertools.product(*map(range, sizes))), dtype=np.int64).reshape(
        -1, len(sizes)
    )
    index = np.array(list(itertools.product(range(len(ways)), repeat=n)), dtype=np.int32)
    codes = np.repeat(case.codes[None, :, :], len(index), axis=0)
    for place, at in enumerate(hidden):
        codes[:, :, at] = ways[index, place]
    values = np.repeat(case.values[None, :], len(index), axis=0)
    if not case.knows_target:
        values = ways[index, len(sizes) - 1]
    # What does not fit one thing is not held against the next.
    rules = [_fits_facts, *(partial(_fits_tree, tree=tree) for tree in case.trees)]
    for rule in [*rules, _fits_boosted]:
        fits = rule(case, codes, values)
        codes, values = codes[fits], values[fits]
    return EveryTable(codes, values)


def _fits_facts(case: CrossingCase, codes: IntArray, values: IntArray) -> BoolArray:
    fits = np.ones(len(values), dtype=bool)
    for people in {tuple(tree.people.tolist()) for tree in case.trees}:
        here, true = list(people), (case.codes[None, list(people)], case.values[None, list(people)])
        for fact in case.facts:
            # A fact holds of each table that it is true of.
            if fact.alike(true[0]).any() and fact.holds(*true)[0]:
                fits &= fact.holds(codes[:, here], values[:, here])
        if case.has_totals:
            for k in range(case.classes):
                fits &= (values[:, here] == k).sum(axis=1) == (true[1] == k).sum()
    # Whom no release holds nobody asks about.
    held = np.unique(np.concatenate([tree.people for tree in case.trees]))
    for person in np.setdiff1d(np.arange(len(case.values)), held).tolist():
        fits &= values[:, person] == case.values[person]
        fits &= (codes[:, person] == case.codes[person]).all(axis=1)
    return fits


def _fits_tree(
    case: CrossingCase, codes: IntArray, values: IntArray, *, tree: DrawnTree
) -> BoolArray:
    fits = np.ones(len(values), dtype=bool)
    if case.kind == "boosted":
        return fits
    people = tree.people
    stops = tree.leaf_of[tuple(np.moveaxis(codes[:, people], 2, 0))]
    true = tree.leaf_of[tuple(case.codes[people].T)]
    own, weights = case.values[people], tree.weights[people]
    for leaf in range(len(tree.paths)):
        there = stops == leaf
        if case.is_of_numbers:
            size, total = (
                (there * each).sum(axis=1) for each in (weights, weights * values[:, people])
            )
            was, sum_was = weights[true == leaf].sum(), (weights * own)[true == leaf].sum()
            fits &= (size > 0) & (total * was == sum_was * size)
            fits &= (size == was) if case.is_sized else True
            continue
        for k in range(case.classes):
            here = there & (values[:, people] == k)
            is_own = (true == leaf) & (own == k)
            if case.published is not Published.COUNTS:
                continue
            if case.kind == "samples":
                # Who was drawn is not known: a class that was has somebody, and that is all.
                fits &= here.any(axis=1) if tree.draws[people][is_own].sum() else True
            else:
                fits &= (here * weights).sum(axis=1) == weights[is_own].sum()
    if case.published is not Published.COUNTS or case.split is not SplitLevel.NONE:
        fits &= _fits_nodes(case, tree, codes[:, people], values[:, people])
    if case.is_of_numbers:  # the range and the step of each table are known
        step = int(np.gcd.reduce(own - own.min()))
        fits &= ((values[:, people] - own.min()) % max(step, 1) == 0).all(axis=1)
        fits &= values[:, people].min(axis=1) == own.min()
        fits &= values[:, people].max(axis=1) == own.max()
    return fits


def _fits_nodes(
    case: CrossingCase, tree: DrawnTree, codes: IntArray, values: IntArray
) -> BoolArray:
    """Return in which tables each node has its size and label, and no split is better than the chosen one."""
    fits = np.ones(len(values), dtype=bool)
    stops, classes = tree.leaf_of[tuple(np.moveaxis(codes, 2, 0))], range(case.classes)
    true = tree.leaf_of[tuple(case.codes[tree.people].T)]
    own = case.values[tree.people]
    for node in drawn_nodes(case, tree):
        there, is_true = np.isin(stops, node.leaves), np.isin(true, node.leaves)
        held = [(there & (values == k)).sum(axis=1) for k in classes]
        if case.published is Published.SIZES:
            fits &= there.sum(axis=1) == is_true.sum()
        if case.published is not Published.COUNTS:
            label = int(np.bincount(own[is_true], minlength=case.classes).argmax())
            fits &= (there.sum(axis=1) > 0) & (np.max(held, axis=0) == held[label])
        if case.split is SplitLevel.NONE or node.column < 0:
            continue
        fits &= (np.array(held) > 0).sum(axis=0) > 1  # who compares splits stops at pure nodes
        chosen = left_of(codes[:, :, node.column] == node.value, values, case.split, there)
        for at, size in enumerate(case.sizes):
            for code in range(size):
                other = left_of(codes[:, :, at] == code, values, case.split, there)
                fits &= chosen <= other + ROUNDING
    return fits


def _fits_boosted(case: CrossingCase, codes: IntArray, values: IntArray) -> BoolArray:
    if case.kind != "boosted":
        return np.ones(len(values), dtype=bool)
    stops = [tree.leaf_of[tuple(np.moveaxis(codes, 2, 0))] for tree in case.trees]
    true = [tree.leaf_of[tuple(case.codes.T)][None, :] for tree in case.trees]
    told = boosted_values(case, true, case.values[None, :])
    fits = np.ones(len(values), dtype=bool)
    for found, own in zip(boosted_values(case, stops, values), told, strict=True):
        fits &= (np.abs(found - own) < ROUNDING).all(axis=1)
    return fits


# What is claimed, against them.


def trial(seed: int) -> CrossingTrial:
    """Judge the case of a seed."""
    found = CrossingTrial(seed)
    try:
        _judge(found)
    except Exception as error:  # a traceback is a miss too, and the other cases must go on
        found.misses.append(f"{type(error).__name__}: {error}")
    found.count("wrong", bool(found.misses))
    return found


def _judge(found: CrossingTrial) -> None:
    case = drawn_case(found.seed)
    found.names = (f"{case.kind} x {case.knows}", _said_of_nodes(case))
    found.count("cases")
    evidence = evidence_of(case)
    every = tables(case)
    found.claim(len(every.values) > 0, "the true table is not among all tables")
    is_number = case.is_of_numbers and not case.is_of_secret
    if isinstance(evidence.numbers if is_number else evidence.worlds, Undetermined):
        found.count("undetermined")
        return
    groups = groups_of(case, evidence)
    found.claim(sum(map(len, groups)) == len(case.last), "people are missing")
    if is_number:
        _judge_numbers(found, evidence, every, groups)
        return
    answers = every.codes[:, :, COLUMNS.index(SECRET)] if case.is_of_secret else every.values
    _judge_classes(found, evidence, answers, groups)
    # Labels and the choice of splits say more of whole people than of parts of people, which the estimate is made of.
    if case.published is Published.COUNTS and case.split is SplitLevel.NONE:
        judge_estimate(found, case, evidence, answers, groups)


def _said_of_nodes(case: CrossingCase) -> str:
    """Return what nodes say, and besides the choice of splits, how leaf values were made, and class totals."""
    said = [str(case.published)] if not case.is_of_numbers else ["means"]
    said += [f"splits by {case.split}"] if case.split is not SplitLevel.NONE else []
    said += ["inverted"] if case.is_inverted else []
    said += ["class totals"] if case.has_totals else []
    return ", ".join(said)


def groups_of(case: CrossingCase, evidence: Evidence) -> list[list[int]]:
    """Return the people of each row of the evidence: those of whom its columns say what they have."""
    people = evidence.population
    rows: list[list[int]] = []
    for row in range(len(people.counts)):
        here = case.last
        for name in people.qi:
            text = people.columns[name].text(row)
            here = np.array([p for p in here.tolist() if _text(case, name, p) == text], dtype=int)
        if people.weight is not None:
            here = here[case.weighed(case.trees[-1].weights[here]) == people.weight[row]]
        rows.append(here.tolist())
    return rows


def _text(case: CrossingCase, name: str, person: int) -> str | None:
    if name in COLUMNS:
        at = COLUMNS.index(name)
        told = told_value(case, at, int(case.codes[person, at]))
        return told if isinstance(told, str) else number_text(told)
    if name == "value":
        return str(case.values[person])
    if name.startswith("sampling weight in m"):
        tree = case.trees[int(name[20:])]
        weight = float(case.weighed(tree.weights)[person])
        return number_text(weight) if person in tree.people else None
    if " in m" in name:  # a column as another release has it
        column, _, release = name.partition(" in m")
        is_there = person in case.trees[int(release)].people
        return _text(case, column, person) if is_there else None
    assert name.startswith("in m"), name
    return "yes" if person in case.trees[int(name[4:])].people else "no"


def _judge_classes(
    found: CrossingTrial,
    evidence: Evidence,
    every: IntArray,
    groups: Sequence[Sequence[int]],
) -> None:
    worlds = evidence.worlds
    assert not isinstance(worlds, Undetermined)
    for row, people in enumerate(groups):
        size, is_sure, one = len(people), False, every[:, people]
        for k in range(worlds.low.shape[1]):
            total = (one == k).sum(axis=1)
            least, most = int(total.min()), int(total.max())
            is_sure |= least == size
            found.claim(worlds.low[row, k] <= least, f"group {row}, class {k}: proved too much")
            found.claim(worlds.high[row, k] >= most, f"group {row}, class {k}: ruled out too much")
            low, high = worlds.reached_low[row, k], worlds.reached_high[row, k]
            if low <= high:
                found.claim(least <= low and high <= most, f"group {row}, class {k}: no such table")
        found.count("groups")
        is_open = bool(worlds.open_profiles[row])
        found.claim(is_open or bool(worlds.certain[row]) == is_sure, f"group {row}: not as certain")
        found.count("decided", not is_open)
        found.count("certain", is_sure)
    found.count("estimated", not isinstance(evidence.posterior, Undetermined))


def judge_estimate(
    found: CrossingTrial,
    case: CrossingCase,
    evidence: Evidence,
    every: IntArray,
    groups: Sequence[Sequence[int]],
) -> None:
    """Claim that the estimate lies within what parts of people can be (`PartsOfPeople`).

    It need not lie within what whole people can be, because it is no bound: it gives 0.46 of a value to a group where
    every table gives 0.5 or more, if only whole people force that, as with sums of weights. What whole people force is
    proved, and proofs are judged by the tables. The rows of boosted trees are not linear: there the estimate is held
    against the tables, wherever they leave something open.
    """
    if isinstance(evidence.posterior, Undetermined):
        return
    parts = None if case.kind == "boosted" else PartsOfPeople(case)
    for row, people in enumerate(groups):
        for k, value in enumerate(evidence.posterior.values[row].tolist()):
            shares = (every[:, people] == k).mean(axis=1)
            low, high = float(shares.min()), float(shares.max())
            if parts is not None:
                low, high = parts.ends(people, k)
            elif low == high:
                continue  # what whole people settle need not be settled in parts of people
            is_inside = low - 2e-3 <= value <= high + 2e-3
            said = f"group {row}, class {k}: estimated {value}, outside {low:g} to {high:g}"
            found.claim(is_inside, said)


def _judge_numbers(
    found: CrossingTrial,
    evidence: Evidence,
    every: EveryTable,
    groups: Sequence[Sequence[int]],
) -> None:
    numbers = evidence.numbers
    assert not isinstance(numbers, Undetermined)
    for row, people in enumerate(groups):
        own = every.values[:, people].astype(np.float64)
        least, most = own.min(), own.max()
        found.claim(numbers.low[row] <= least + ROUNDING, f"group {row}: proved too much below")
        found.claim(numbers.high[row] >= most - ROUNDING, f"group {row}: proved too much above")
        found.claim(numbers.reached_low[row] >= least - ROUNDING, f"group {row}: no table below")
        found.claim(numbers.reached_high[row] <= most + ROUNDING, f"group {row}: no table above")
        found.count("groups")
        is_known = numbers.low[row] >= least - ROUNDING and numbers.high[row] <= most + ROUNDING
        found.count("decided", is_known)
        found.count("certain", least == most)


def seeds_of(first: int, cases: int, only: str) -> list[int]:
    """Return seeds of so many cases, from one on; ``only`` some combinations, "forest x" or "x weights"."""
    found: list[int] = []
    seed = first
    while len(found) < cases:
        kind, knows = KINDS[seed % len(KINDS)], KNOWS[seed // len(KINDS) % len(KNOWS)]
        if only in f"^{kind} x {knows}$":
            found.append(seed)
        seed += 1
    return found


def trials(seeds: Sequence[int], jobs: int, cluster: str | None = None) -> Iterator[CrossingTrial]:
    """Judge seeds over processes, in order."""
    return in_order(trial, [(seed,) for seed in seeds], jobs, cluster)


def cell_line(name: str, tried: Counter[tuple[str, str]]) -> str:
    """Return what was counted under a name, as a line."""
    cases, wrong, open_, groups, decided, certain, estimated = (
        tried[name, what]
        for what in ("cases", "wrong", "undetermined", "groups", "decided", "certain", "estimated")
    )
    return (
        f"{name}: {cases:,} cases, {wrong:,} wrong, {open_:,} undetermined, "
        f"{decided:,} of {groups:,} groups decided ({decided / max(groups, 1):.0%}), "
        f"{certain:,} certain, {estimated:,} estimated"
    )


def main() -> int:
    """Run the cases; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--only", default="", help="part of the name of combinations, as in ^forest x"
    )
    ask_where(parser)
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began, missed, tried = time.monotonic(), 0, Counter[tuple[str, str]]()
    seeds = seeds_of(options.seed, options.cases, options.only)
    for found in trials(seeds, options.jobs, options.cluster):
        tried += found.tried
        missed += bool(found.misses)
        for said in found.misses[:3]:
            print(f"seed {found.seed}: {said}", flush=True)
    cells = [f"{kind} x {knows}" for kind, knows in itertools.product(KINDS, KNOWS)]
    for name in [*cells, *sorted({name for name, _ in tried}.difference(cells))]:
        if tried[name, "cases"]:
            print(cell_line(name, tried))
    groups, decided = (sum(tried[name, what] for name in cells) for what in ("groups", "decided"))
    print(f"{decided:,} of {groups:,} groups decided ({decided / max(groups, 1):.1%})")
    print(f"{options.cases:,} cases, {missed} misses ({time.monotonic() - began:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
