"""Tries what sums of people's amounts prove on random small cases: every table that fits is listed, and judges.

    python -m tests.judges.run_numbers --cases 5000 --seed 0

Cases have up to six people in cells, four trees, sums that are exact or intervals, ranges of one or two releases whose
ends somebody has, and the true table known to the proofs, or not, or another one taken for it. Some have rows that need
not be of any table, some no time, and some are told of real amounts, of which whole ones are a part. Prints the seed of
every miss and one line that counts them; the exit code is 1 where there is a miss. What is left open is no miss, but is
counted.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.engine.amounts import ends_by_row, ends_of_one
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.problem import AmountRange, Amounts, Problem, ProblemBounds
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.progress import FOREVER
from treewarden.ppdm_models.arrays import IntArray

MOST_PEOPLE, MOST_SPAN, MOST_TREES = 6, 4, 4
BUDGET_SECONDS = 5.0
ALTERED, WRONG_TRUTH, NO_TIME, REAL = 7, 8, 10, 6
"""Of so many cases one has rows that are altered, another table taken for the true one, no time, real amounts."""


@dataclass
class Trial:
    """One case's outcome: what missed in words, and what was tried."""

    seed: int
    misses: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool | np.bool_, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)


@dataclass(frozen=True)
class Case:
    """Rows, the cell of each person (N,), and the amounts (N,) that the rows were made of."""

    problem: Problem
    cell: IntArray
    truth: IntArray


def case(seed: int) -> Case:
    """Return the case of a seed."""
    draw = np.random.default_rng(seed)
    people, span = int(draw.integers(2, MOST_PEOPLE + 1)), int(draw.integers(1, MOST_SPAN + 1))
    cell = np.sort(draw.integers(0, int(draw.integers(1, people + 1)), people))
    cell = np.unique(cell, return_inverse=True)[1].reshape(-1)
    cells = int(cell.max()) + 1
    truth = draw.integers(0, span + 1, people)
    truth[draw.permutation(people)[:2]] = 0, span
    least, most = np.zeros(cells, dtype=np.int64), np.full(cells, span)
    ranges = []
    for _ in range(int(draw.choice([0, 1, 1, 2]))):
        has = draw.random(cells) < (0.7 if ranges else 2.0)
        if has.any():
            low, high = (int(end(truth[has[cell]])) for end in (np.min, np.max))
            ranges.append(AmountRange(has, low, high))
            least = np.where(has, np.maximum(least, low), least)
            most = np.where(has, np.minimum(most, high), most)
    slack = int(draw.choice([0, 0, 0, 1]))
    said: list[tuple[IntArray, int, int, int, int]] = []
    for tree in range(int(draw.integers(1, MOST_TREES + 1))):
        leaf = draw.integers(0, int(draw.integers(1, 4)), cells)
        is_in = draw.random(cells) < (1.0 if tree else 0.8)
        for node in np.unique(leaf[is_in]).tolist():
            inside = ((leaf == node) & is_in).astype(np.int64)
            total = int(truth[inside[cell] > 0].sum())
            room = draw.integers(slack + 1, size=2).tolist()
            said.append((inside, total - room[0], total + room[1], tree, node))
    if not said:
        return case(seed + 1_000_000)
    low, high, trees, nodes = np.array([each[1:] for each in said]).T
    problem = Problem(
        matrix=sparse.csr_array(np.array([each[0] for each in said])),
        low=low,
        high=high,
        output=np.zeros(len(low), dtype=np.intp),
        trees=trees,
        nodes=nodes,
        sizes=np.bincount(cell),
        classes=1,
        amounts=Amounts(least, most, span, seed % REAL != 4, tuple(ranges)),
    )
    return Case(problem, cell, truth)


def tables(one: Case) -> IntArray:
    """Return every table that fits, (T, N), by person: within their ends, each range's ends taken, all rows kept."""
    problem, amounts = one.problem, one.problem.amounts
    assert amounts is not None
    ends = [(int(amounts.least[cell]), int(amounts.most[cell])) for cell in one.cell.tolist()]
    values = np.indices([high - low + 1 for low, high in ends]).reshape(len(ends), -1).T
    values = values + np.array([low for low, _ in ends])
    inside = problem.matrix.toarray()[:, one.cell]
    total = values @ inside.T
    fits = ((problem.low <= total) & (total <= problem.high)).all(axis=1)
    for each in amounts.ranges:
        of = values[:, each.has[one.cell]]
        fits &= (of == each.low).any(axis=1) & (of == each.high).any(axis=1)
    return np.asarray(values[fits])


def trial(seed: int) -> Trial:
    """Judge the case of a seed."""
    found = Trial(seed)
    try:
        _judge(found)
    except Exception as error:  # a traceback is a miss too, and the other cases must go on
        found.misses.append(f"{type(error).__name__}: {error}")
    return found


def _judge(found: Trial) -> None:
    seed, draw, one = found.seed, np.random.default_rng(found.seed + 1), case(found.seed)
    if seed % ALTERED == 1:
        by = draw.choice([-1, 0, 0, 0, 1], len(one.problem.low))
        altered = replace(one.problem, low=one.problem.low + by, high=one.problem.high + by)
        one = replace(one, problem=altered)
    problem, every = one.problem, tables(one)
    known = None if seed % 3 == 0 else np.bincount(one.cell, one.truth).astype(np.int64)[:, None]
    if seed % WRONG_TRUTH == 3 and known is not None:
        known = known[draw.permutation(len(known))]
    seconds = 0.0 if seed % NO_TIME == 5 else BUDGET_SECONDS
    bounds = reason(problem, truth=known, budget=TimeBudget(FOREVER, seconds))
    if not len(every):
        found.tried["without a table"] += 1
        found.tried["without a table, said so"] += bool(bounds.problem)
        return
    found.claim(not bounds.problem, f"contradiction: {bounds.problem}")
    _judge_sums(found, one, bounds, every)
    _judge_people(found, one, bounds, every)
    found.tried["tables"] += len(every)


def _judge_sums(found: Trial, one: Case, bounds: ProblemBounds, every: IntArray) -> None:
    """Hold what is proved of cells, and what was found, against all tables."""
    problem, amounts = one.problem, one.problem.amounts
    assert amounts is not None
    sums = np.array([np.bincount(one.cell, table) for table in every]).astype(np.int64)
    low, high = bounds.low[:, 0], bounds.high[:, 0]
    found.claim((low <= sums.min(axis=0)).all(), "a table has less than is proved")
    found.claim((high >= sums.max(axis=0)).all(), "a table has more than is proved")
    ends = bounds.reached_low[:, 0], bounds.reached_high[:, 0]
    for cell, (first, last) in enumerate(zip(*(end.tolist() for end in ends), strict=True)):
        if first > last:
            continue
        found.claim(low[cell] <= first and last <= high[cell], "what was found was ruled out")
        if amounts.is_whole:
            is_there = {first, last} <= set(sums[:, cell].tolist())
            found.claim(is_there, f"no table has {first} and {last} in cell {cell}")
        found.tried["ends"] += 2
        found.tried["ends settled"] += int(first == low[cell]) + int(last == high[cell])
    for how, settled in zip(bounds.how, (low == high).tolist(), strict=True):
        found.claim(bool(how) == settled, "proofs without one sum")
        found.tried[f"by {how}"] += bool(how)
    for cell, row in enumerate(bounds.row.tolist()):
        about = row < 0 or problem.matrix[[row], [cell]].item() == 1
        found.claim(about, f"row {row} is not about cell {cell}")


def _judge_people(found: Trial, one: Case, bounds: ProblemBounds, every: IntArray) -> None:
    """Hold what follows for one person of a cell against all tables, and who may have what among the others."""
    problem, amounts, sizes = one.problem, one.problem.amounts, one.problem.sizes
    assert amounts is not None
    proofs = {
        "all rows": ends_of_one(sizes, amounts, bounds.low[:, 0], bounds.high[:, 0]),
        "one row": ends_by_row(problem, np.arange(len(problem.low))),
    }
    for said, (low, high) in proofs.items():
        of_person = low[one.cell], high[one.cell]
        found.claim((of_person[0] <= every.min(axis=0)).all(), f"somebody has less than {said} say")
        found.claim((of_person[1] >= every.max(axis=0)).all(), f"somebody has more than {said} say")
    if bounds.apart_low is None or bounds.apart_high is None or not amounts.is_whole:
        return
    others = sizes - 1
    least = np.clip(bounds.apart_low - others * amounts.most, amounts.least, amounts.most)
    most = np.clip(bounds.apart_high - others * amounts.least, amounts.least, amounts.most)
    for person, cell in enumerate(one.cell.tolist()):
        if bounds.apart_low[cell] <= bounds.apart_high[cell]:
            values = set(every[:, person].tolist())
            found.claim({int(least[cell]), int(most[cell])} <= values, f"person {person} never has")
            found.tried["people's ends"] += 2


def trials(seeds: range, jobs: int, cluster: str | None = None) -> Iterator[Trial]:
    """Judge seeds over processes, in order."""
    return in_order(trial, [(seed,) for seed in seeds], jobs, cluster)


def main() -> int:
    """Run the cases; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    ask_where(parser)
    asked = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began, missed, tried = time.monotonic(), 0, Counter[str]()
    seeds = range(asked.seed, asked.seed + asked.cases)
    for found in trials(seeds, asked.jobs, asked.cluster):
        tried += found.tried
        missed += bool(found.misses)
        for said in found.misses:
            print(f"seed {found.seed}: {said}", flush=True)
    told = ", ".join(f"{count:,} {name}" for name, count in tried.items())
    seconds = time.monotonic() - began
    print(f"{asked.cases:,} cases, {missed} misses: {told} ({seconds:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
