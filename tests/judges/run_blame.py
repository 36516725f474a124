"""Tries reasons and the least withholding on small problems, against all tables and all subsets of the numbers.

    python -m tests.judges.run_blame --cases 2000 --seed 0

A case draws up to eight groups of one to two people, up to nine published numbers of them (some exact, some ranges,
some with weights), and costs. Who is certain by any of the numbers must be who is so in all tables; a reason must prove
its groups, and none of its numbers may be missed; no fewer numbers may prove what a smallest one proves; and nothing
cheaper than the least withholding may be safe. Prints the seed of every miss; the exit code is 1 where there is one.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from treewarden.audit.blame.certainty import ALWAYS_KNOWN, CertaintyOracle, PublishedNumbers
from treewarden.audit.blame.result import ProofReason
from treewarden.audit.blame.withholding import find_smallest, reasons_of_all, withhold_least
from treewarden.audit.engine.problem import Problem
from treewarden.audit.progress import clock

SECONDS = 20.0


@dataclass
class BlameTally:
    """What was tried and what missed, in words."""

    cases: int = 0
    reasons: int = 0
    smallest: int = 0
    optimal: int = 0
    misses: list[str] = field(default_factory=list)

    def add(self, other: BlameTally) -> None:
        """Take what another tally counted."""
        self.cases += other.cases
        self.reasons += other.reasons
        self.smallest += other.smallest
        self.optimal += other.optimal
        self.misses += other.misses


def drawn_numbers(seed: int) -> PublishedNumbers:
    """Return published numbers of a drawn table; one seed, one problem."""
    random = np.random.default_rng(seed)
    classes = 3 if random.random() < 0.25 else 2
    groups = int(random.integers(2, 6 if classes == 3 else 9))
    sizes = random.integers(1, 3, groups)
    truth = np.array([random.multinomial(size, [1 / classes] * classes) for size in sizes])
    for group in range(groups):  # most are pure, as whoever is certain is
        if random.random() < 0.7:
            truth[group] = 0
            truth[group, int(random.integers(classes))] = sizes[group]
    rows, low, high, output, number_of_row = [], list[int](), list[int](), list[int](), list[int]()
    numbers = int(random.integers(1, 10))
    for number in range(numbers + 1):
        for _ in range(1 if random.random() < 0.8 else 2):
            row = (random.random(groups) < 0.5) * (
                random.integers(1, 5, groups) if random.random() < 0.2 else 1
            )
            klass = int(random.integers(classes)) if classes > 2 else int(random.random() < 0.8)
            total = int(row @ truth[:, klass])
            below, above = random.integers(0, 3, 2) if random.random() < 0.3 else (0, 0)
            rows.append(row)
            low.append(max(total - int(below), 0))
            high.append(total + int(above))
            output.append(klass)
            number_of_row.append(number - 1 if number else ALWAYS_KNOWN)
    problem = Problem(
        matrix=sparse.csr_array(np.array(rows, dtype=np.int64)),
        low=np.array(low),
        high=np.array(high),
        output=np.array(output),
        trees=np.arange(len(rows)),
        nodes=np.zeros(len(rows), dtype=np.intp),
        sizes=sizes,
        classes=classes,
    )
    costs = (
        random.integers(1, 4, numbers)
        if random.random() < 0.5
        else np.ones(numbers, dtype=np.int64)
    )
    names = tuple(map(str, range(numbers)))
    return PublishedNumbers(problem, np.array(number_of_row), names, costs, truth)


def all_tables(numbers: PublishedNumbers) -> list[np.ndarray]:
    """Return all tables of people by group and class, whatever the rows say."""
    classes = numbers.problem.classes
    ways = []
    for size in numbers.problem.sizes.tolist():
        splits = itertools.product(range(size + 1), repeat=classes)
        ways.append([split for split in splits if sum(split) == size])
    return [np.array(table) for table in itertools.product(*ways)]


def judge(seed: int) -> BlameTally:
    """Return what one case came to."""
    numbers, tally = drawn_numbers(seed), BlameTally(cases=1)
    tables = all_tables(numbers)
    broken = [_broken(numbers, table) for table in tables]
    true, sizes = numbers.true_class, numbers.problem.sizes

    def certain(kept: frozenset[int]) -> frozenset[int]:
        fitting = [
            t for t, b in zip(tables, broken, strict=True) if not b & (kept | {ALWAYS_KNOWN})
        ]
        return frozenset(
            group
            for group in range(len(sizes))
            if true[group] >= 0 and all(t[group, true[group]] == sizes[group] for t in fitting)
        )

    oracle = CertaintyOracle(numbers, clock(SECONDS))
    found = oracle.certain_groups(numbers.everything)
    if frozenset(np.flatnonzero(found.is_certain).tolist()) != certain(numbers.everything):
        tally.misses.append(f"{seed}: others are certain")
    reasons, left = reasons_of_all(oracle, numbers.everything, found.is_certain)
    tally.reasons += len(reasons)
    if left.any():
        tally.misses.append(f"{seed}: somebody who is certain has no reason")
    for reason in reasons:
        if not set(reason.groups) <= certain(reason.numbers):
            tally.misses.append(f"{seed}: a reason does not prove its groups")
        for number in reason.numbers:
            if reason.is_minimal and set(reason.groups) & certain(reason.numbers - {number}):
                tally.misses.append(f"{seed}: a number of a minimal reason can be missed")
        _judge_smallest(seed, oracle, reason, certain, tally)
    _judge_withholding(seed, numbers, oracle, certain, tally)
    return tally


def _broken(numbers: PublishedNumbers, table: np.ndarray) -> frozenset[int]:
    of, found = numbers.problem, set[int]()
    for row, number in enumerate(numbers.number_of_row.tolist()):
        total = int(of.matrix[[row]].toarray()[0] @ table[:, of.output[row]])
        if not of.low[row] <= total <= of.high[row]:
            found.add(number)
    return frozenset(found)


def _judge_smallest(
    seed: int,
    oracle: CertaintyOracle,
    reason: ProofReason,
    certain: Callable[[frozenset[int]], frozenset[int]],
    tally: BlameTally,
) -> None:
    """Hold a smallest reason of a group against all sets of fewer numbers."""
    found = find_smallest(oracle, replace(reason, groups=reason.groups[:1]))
    group = reason.groups[0]
    if group not in certain(found.numbers):
        tally.misses.append(f"{seed}: a smallest reason does not prove its group")
    tally.smallest += found.is_smallest
    fewer = itertools.combinations(
        sorted(oracle.numbers.everything), max(len(found.numbers) - 1, 0)
    )
    if (
        found.is_smallest
        and found.numbers
        and any(group in certain(frozenset(chosen)) for chosen in fewer)
    ):
        tally.misses.append(f"{seed}: called the smallest reason, and is not")


def _judge_withholding(seed, numbers, oracle, certain, tally) -> None:  # type: ignore[no-untyped-def]
    random = np.random.default_rng(seed)
    size, costs = len(numbers.names), numbers.costs
    tie = (
        frozenset(random.permutation(size)[:2].tolist())
        if size > 2 and random.random() < 0.3
        else frozenset()
    )
    ties = (tie,) if tie else ()
    least = withhold_least(oracle, ties)
    safe = [
        int(costs[list(chosen)].sum())
        for count in range(size + 1)
        for chosen in itertools.combinations(range(size), count)
        if not certain(numbers.everything - set(chosen)) and len(tie & set(chosen)) in (0, len(tie))
    ]
    if not safe:
        if least.is_safe:
            tally.misses.append(f"{seed}: said to be safe, and nothing is")
        return
    tally.optimal += least.is_optimal
    if least.is_safe and certain(numbers.everything - least.withheld):
        tally.misses.append(f"{seed}: somebody is certain after it")
    if least.lower_bound > min(safe):
        tally.misses.append(f"{seed}: a bound above the optimum")
    if least.is_optimal and least.cost != min(safe):
        tally.misses.append(f"{seed}: called the least, and is not")
    if least.is_safe and len(tie & least.withheld) not in (0, len(tie)):
        tally.misses.append(f"{seed}: parts what is tied")


def main() -> None:
    """Judge cases until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    total = BlameTally()
    for seed in range(given.seed, given.seed + given.cases):
        total.add(judge(seed))
    for miss in total.misses:
        print("MISS", miss)
    print(
        f"{total.cases:,} cases, {len(total.misses)} misses; {total.reasons:,} reasons, "
        f"{total.smallest:,} smallest ones; {total.optimal:,} withholdings "
        "proved to be the least"
    )
    sys.exit(bool(total.misses))


if __name__ == "__main__":
    main()
