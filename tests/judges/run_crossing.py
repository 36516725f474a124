"""Tries every kind of model for every kind of adversary, against a list of every table that fits.

    python -m tests.judges.run_crossing --cases 3000 --seed 0

A case crosses a kind of model (one tree, a forest, a forest of samples, boosted trees, trees of numbers, several
releases) with what an adversary knows (all columns, some, and a fact; a secret column, and the target; weights).
All tables of up to seven people are listed: whatever their hidden columns and values may be. Those are kept that give
every leaf its numbers, and what an audit proves, shows and estimates is held against them. Prints the seed of every
miss, and of each combination how much was decided; the exit code is 1 where there is a miss. What is left open is no
miss.
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

from tests.judges.crossing.cases import (
    COLUMNS,
    KINDS,
    KNOWS,
    SECRET,
    CrossingCase,
    DrawnTree,
    boosted_values,
    drawn_case,
    evidence_of,
)
from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, IntArray
from treewarden.ppdm_models.tree.column import number_text

ROUNDING = 1e-6


@dataclass
class CrossingTrial:
    """One case's outcome: what missed in words, and how much of it was decided."""

    seed: int
    misses: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool | np.bool_, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)


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
    fits = _fits_facts(case, codes, values)
    for number, tree in enumerate(case.trees):
        fits &= _fits_tree(case, number, tree, codes, values)
    if case.kind == "boosted":
        fits &= _fits_boosted(case, codes, values)
    return EveryTable(codes[fits], values[fits])


def _fits_facts(case: CrossingCase, codes: IntArray, values: IntArray) -> BoolArray:
    fits = np.ones(len(values), dtype=bool)
    if case.fact >= 0:
        # Somebody of those who look like the person has the value, as far as the known columns say who does.
        at = [COLUMNS.index(name) for name in case.known]
        alike = (case.codes[:, at] == case.codes[case.fact, at]).all(axis=1)
        for people in {tuple(tree.people.tolist()) for tree in case.trees}:
            here = [p for p in people if alike[p]]
            if (case.values[here] == case.values[case.fact]).any():
                fits &= (values[:, here] == case.values[case.fact]).any(axis=1)
    # Whom no release holds nobody asks about.
    held = np.unique(np.concatenate([tree.people for tree in case.trees]))
    for person in np.setdiff1d(np.arange(len(case.values)), held).tolist():
        fits &= values[:, person] == case.values[person]
        fits &= (codes[:, person] == case.codes[person]).all(axis=1)
    return fits


def _fits_tree(
    case: CrossingCase, number: int, tree: DrawnTree, codes: IntArray, values: IntArray
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
            if case.kind == "samples":
                # Who was drawn is not known: a class that was has somebody, and that is all.
                fits &= here.any(axis=1) if tree.draws[people][is_own].sum() else True
            else:
                fits &= (here * weights).sum(axis=1) == weights[is_own].sum()
    if case.is_of_numbers:  # the range and the step of each table are known
        step = int(np.gcd.reduce(own - own.min()))
        fits &= ((values[:, people] - own.min()) % max(step, 1) == 0).all(axis=1)
        fits &= values[:, people].min(axis=1) == own.min()
        fits &= values[:, people].max(axis=1) == own.max()
    return fits


def _fits_boosted(case: CrossingCase, codes: IntArray, values: IntArray) -> BoolArray:
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
    return found


def _judge(found: CrossingTrial) -> None:
    case = drawn_case(found.seed)
    name = f"{case.kind} x {case.knows}"
    found.tried[f"{name}: cases"] += 1
    evidence = evidence_of(case)
    every = tables(case)
    found.claim(len(every.values) > 0, "the true table is not among all tables")
    is_number = case.is_of_numbers and not case.is_of_secret
    if isinstance(evidence.numbers if is_number else evidence.worlds, Undetermined):
        found.tried[f"{name}: undetermined"] += 1
        return
    groups = groups_of(case, evidence)
    found.claim(sum(map(len, groups)) == len(case.last), "people are missing")
    if is_number:
        _judge_numbers(found, evidence, every, groups, name)
        return
    answers = every.codes[:, :, COLUMNS.index(SECRET)] if case.is_of_secret else every.values
    _judge_classes(found, evidence, answers, groups, name)


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
        return f"{name}{case.codes[person, COLUMNS.index(name)]}"
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
    name: str,
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
            _judge_estimate(found, evidence, row, k, (least / size, most / size))
        found.tried[f"{name}: groups"] += 1
        is_open = bool(worlds.open_profiles[row])
        found.claim(is_open or bool(worlds.certain[row]) == is_sure, f"group {row}: not as certain")
        found.tried[f"{name}: decided"] += not is_open
        found.tried[f"{name}: certain"] += is_sure
    found.tried[f"{name}: estimated"] += not isinstance(evidence.posterior, Undetermined)


def _judge_estimate(
    found: CrossingTrial, evidence: Evidence, row: int, k: int, ends: tuple[float, float]
) -> None:
    """The estimate lies within what tables of whole people, or means of them, can be."""
    if isinstance(evidence.posterior, Undetermined) or ends[0] == ends[1]:
        return  # what whole people settle need not be settled in parts of people
    value = float(evidence.posterior.values[row, k])
    is_inside = ends[0] - 2e-3 <= value <= ends[1] + 2e-3
    found.claim(is_inside, f"group {row}, class {k}: estimated {value}, which no table has")


def _judge_numbers(
    found: CrossingTrial,
    evidence: Evidence,
    every: EveryTable,
    groups: Sequence[Sequence[int]],
    name: str,
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
        found.tried[f"{name}: groups"] += 1
        is_known = numbers.low[row] >= least - ROUNDING and numbers.high[row] <= most + ROUNDING
        found.tried[f"{name}: decided"] += bool(is_known)
        found.tried[f"{name}: certain"] += bool(least == most)


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
    began, missed, tried = time.monotonic(), 0, Counter[str]()
    seeds = seeds_of(options.seed, options.cases, options.only)
    for found in trials(seeds, options.jobs, options.cluster):
        tried += found.tried
        missed += bool(found.misses)
        for said in found.misses[:3]:
            print(f"seed {found.seed}: {said}", flush=True)
    for kind, knows in itertools.product(KINDS, KNOWS):
        name = f"{kind} x {knows}"
        counts = [tried[f"{name}: {what}"] for what in ("groups", "decided", "certain")]
        cases, open_ = (tried[f"{name}: {what}"] for what in ("cases", "undetermined"))
        if cases:
            print(
                f"{name}: {cases:,} cases, {open_:,} undetermined, "
                f"{counts[1]:,} of {counts[0]:,} groups decided ({counts[2]:,} certain), "
                f"{tried[f'{name}: estimated']:,} estimated"
            )
    groups, decided = (
        sum(number for key, number in tried.items() if key.endswith(f": {what}"))
        for what in ("groups", "decided")
    )
    print(f"{decided:,} of {groups:,} groups decided ({decided / max(groups, 1):.1%})")
    print(f"{options.cases:,} cases, {missed} misses ({time.monotonic() - began:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
