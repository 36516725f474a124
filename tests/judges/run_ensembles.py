"""Tries what leaves of several trees prove on random small cases: every table that fits is listed, and judges.

    python -m tests.judges.run_ensembles --cases 5000 --seed 0

Cases have up to twelve cells, four trees and three classes, sums that are exact or intervals, and the true table known
to the proofs, or not, or another one taken for it. Some have rows that need not be of any table, some no time at all.
Certificates by random weights are checked again in fractions. Prints the seed of every miss and one line that counts
them; the exit code is 1 where there is a miss. What is left open is no miss, but is counted.
"""

from __future__ import annotations

import argparse
import itertools
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse
from scipy.special import entr

from tests.judges.certificates_again import proved_again
from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.bounds import NO_ROW, ContradictionError, RowBounds
from treewarden.audit.engine.counts import counts_of, settled
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.newton_steps import tightened
from treewarden.audit.engine.problem import ALL_PEOPLE, How, Problem, ProblemBounds
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import IntArray

MOST_CELLS, MOST_TREES, MOST_TABLES = 12, 4, 20_000
BUDGET_SECONDS = 5.0
ROUNDING = 1e-6
"""How far the estimate may miss a row, in people: it is sought to a thousandth, and such small cases to far less."""
MISSED = 2e-3
ALTERED, WRONG_TRUTH, NO_TIME = 7, 8, 10
"""Of so many cases one has rows that are altered, another table taken for the true one, no time."""


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


def shared_out(people: int, classes: int) -> Iterator[tuple[int, ...]]:
    """Yield each way to share people out among classes."""
    if classes == 1:
        yield (people,)
        return
    for first in range(people + 1):
        yield from ((first, *rest) for rest in shared_out(people - first, classes - 1))


def case(seed: int) -> tuple[Problem, IntArray]:
    """Return the rows of a seed, and the table (C, m) that they were made of."""
    draw = np.random.default_rng(seed)
    classes = int(draw.choice([2, 2, 3]))
    sizes, ways = [], 1
    for size in draw.choice([1, 1, 1, 2, 3], int(draw.integers(2, MOST_CELLS + 1))).tolist():
        ways *= math.comb(size + classes - 1, classes - 1)
        if ways > MOST_TABLES:
            break
        sizes.append(size)
    each = [list(shared_out(size, classes)) for size in sizes]
    truth = np.array([ways_[int(draw.integers(len(ways_)))] for ways_ in each])
    slack = int(draw.choice([0, 0, 0, 1, 2]))
    said: list[tuple[IntArray, int, int, int, int, int]] = []
    for tree in range(int(draw.integers(1, MOST_TREES + 1))):
        leaf = draw.integers(0, int(draw.integers(1, 5)), len(sizes))
        for node, k in itertools.product(np.unique(leaf).tolist(), range(classes)):
            if classes == 2 and k == 0:
                continue
            inside = (leaf == node).astype(np.int64)
            total, most = int(inside @ truth[:, k]), int(inside @ np.array(sizes))
            low, high = total - int(draw.integers(slack + 1)), total + int(draw.integers(slack + 1))
            said.append((inside, max(low, 0), min(high, most), k, tree, node))
    if draw.random() < 0.3:
        everybody, total = np.ones(len(sizes), dtype=np.int64), int(truth[:, -1].sum())
        said.append((everybody, total, total, classes - 1, ALL_PEOPLE, 0))
    low, high, output, trees, nodes = np.array([each[1:] for each in said]).T
    matrix = sparse.csr_array(np.array([each[0] for each in said]))
    rows = Problem(matrix, low, high, output, trees, nodes, np.array(sizes), classes)
    return rows, truth


def tables(rows: Problem) -> IntArray:
    """Return every table that fits, (T, C, m): all ways to fill the cells, held against each row."""
    ways = [np.array(list(shared_out(n, rows.classes))) for n in rows.sizes.tolist()]
    places = np.indices([len(each) for each in ways]).reshape(len(ways), -1)
    x = np.stack([each[place] for each, place in zip(ways, places, strict=True)], axis=1)
    fits = np.ones(len(x), dtype=bool)
    for row, k, low, high in zip(
        rows.matrix.toarray(), rows.output, rows.low, rows.high, strict=True
    ):
        total = x[:, :, k] @ row
        fits &= (low <= total) & (total <= high)
    return np.asarray(x[fits])


def trial(seed: int) -> Trial:
    """Judge the case of a seed."""
    found = Trial(seed)
    try:
        _judge(found)
    except Exception as error:  # a traceback is a miss too, and the other cases must go on
        found.misses.append(f"{type(error).__name__}: {error}")
    return found


def _judge(found: Trial) -> None:
    seed, draw = found.seed, np.random.default_rng(found.seed + 1)
    rows, truth = case(seed)
    if seed % ALTERED == 1:
        rows = altered(rows, draw)
    every = tables(rows)
    known = truth if seed % 2 else None
    if seed % WRONG_TRUTH == 3:
        known = truth[draw.permutation(len(truth))] if len(set(rows.sizes.tolist())) == 1 else truth
    joint = reason(
        rows, truth=known, budget=TimeBudget(clock(0.0 if seed % NO_TIME == 5 else BUDGET_SECONDS))
    )
    if not len(every):
        found.tried["without a table"] += 1
        found.tried["without a table, said so"] += bool(joint.problem)
        nothing_reached = (joint.reached_low > joint.reached_high).all()
        found.claim(nothing_reached, "a table was found where there is none")
        return
    least, most = every.min(axis=0), every.max(axis=0)
    found.claim(not joint.problem, f"contradiction: {joint.problem}")
    found.claim((joint.low <= least).all(), "a table has less than is proved")
    found.claim((joint.high >= most).all(), "a table has more than is proved")
    seen = joint.reached_low <= joint.reached_high
    found.claim((joint.reached_low[seen] >= least[seen]).all(), "no table reaches so low")
    found.claim((joint.reached_high[seen] <= most[seen]).all(), "no table reaches so high")
    _judge_reasons(found, rows, joint)
    _judge_guess(found, rows, joint, every)
    _judge_certificate(found, rows, every, draw)
    certain = (least == most).all(axis=1)
    proved = (joint.low == joint.high).all(axis=1)
    if seed % NO_TIME != 5:
        found.tried["cells"] += len(certain)
        found.tried["certain"] += int(certain.sum())
        found.tried["certain and proved"] += int((certain & proved).sum())
        moved = ((joint.reached_low < joint.reached_high).any(axis=1)) | proved
        found.tried["cells left open"] += int((~moved).sum())
    found.tried["tables"] += len(every)


def altered(rows: Problem, draw: np.random.Generator) -> Problem:
    """Return rows of which some ask for one person more or less: there need be no table that fits."""
    by = draw.choice([-1, 0, 0, 0, 0, 1], len(rows.low))
    low = np.clip(rows.low + by, 0, rows.people)
    return replace(rows, low=low, high=np.clip(rows.high + by, low, rows.people))


def _judge_reasons(found: Trial, rows: Problem, joint: ProblemBounds) -> None:
    """Whoever is certain has a proof, nobody else has, and the row that is named is about the cell."""
    counts = counts_of(rows)
    low, high = (end[:, -counts.width :] for end in (joint.low, joint.high))
    is_settled = settled(counts, RowBounds(low, high, joint.row)) >= 0
    has_proof = np.array([bool(how) for how in joint.how])
    found.claim((has_proof == is_settled).all(), "proofs without a class")
    for cell, (how, row) in enumerate(zip(joint.how, joint.row.tolist(), strict=True)):
        found.tried[f"by {how}"] += bool(how)
        if row == NO_ROW:
            continue
        found.claim(rows.matrix[[row], [cell]].item() == 1, f"row {row} is not about cell {cell}")
        if how == How.LEAF:
            is_pure = rows.low[row] == rows.people[row] or rows.high[row] == 0
            found.claim(is_pure, f"row {row} is of no leaf of one class")


def _judge_guess(found: Trial, rows: Problem, joint: ProblemBounds, every: IntArray) -> None:
    guess = joint.estimate
    if isinstance(guess, Undetermined):
        found.tried["no estimate"] += 1
        return
    sizes = rows.sizes[:, None].astype(float)
    most = max(float((sizes * entr(table / sizes)).sum()) for table in every)
    found.claim(guess.bound >= most - 1e-9, f"a table has more entropy than {guess.bound}")
    x = guess.values * sizes
    total = np.array(
        [row @ x[:, k] for row, k in zip(rows.matrix.toarray(), rows.output.tolist(), strict=True)]
    )
    off = np.maximum(rows.low - total, total - rows.high).max(initial=0.0)
    found.claim(off <= MISSED, f"the inference violates a constraint by {off}")
    found.claim(bool(np.abs(guess.values.sum(axis=1) - 1).max() < ROUNDING), "shares do not add up")
    own = float((sizes * entr(np.clip(guess.values, 0, 1))).sum())
    found.claim(abs(guess.bound - own) <= guess.gap + 1e-9, "the gap of the entropy is larger")


def _judge_certificate(
    found: Trial, rows: Problem, every: IntArray, draw: np.random.Generator
) -> None:
    """Hold what random weights prove against all tables, and do the proof again in fractions."""
    counts = counts_of(rows)
    x = every[:, :, 1:] if counts.width == 1 else every
    least, most = x.min(axis=0), x.max(axis=0)
    whole_low, whole_high = counts.start()
    # Boxes that are narrowed already, as those that propagation leaves, hold every table too.
    low = least - np.minimum(draw.integers(0, 3, least.shape), least - whole_low)
    high = most + np.minimum(draw.integers(0, 3, most.shape), whole_high - most)
    for reach, begin in ((1, (whole_low, whole_high)), (3, (low, high)), (10**6, (low, high))):
        d = draw.integers(-reach, reach + 1, len(counts.low))
        try:
            new_low, new_high = tightened(counts, begin[0], begin[1], d)
        except ContradictionError:
            found.claim(False, f"weights {d.tolist()} refute all tables")
            continue
        found.claim((new_low <= least).all(), f"weights {d.tolist()} prove too much below")
        found.claim((new_high >= most).all(), f"weights {d.tolist()} prove too much above")
        is_proved = proved_again(counts, begin, (new_low, new_high), d)
        found.claim(is_proved, f"weights {d.tolist()} do not prove it in fractions")
        found.tried["certificates"] += 1


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
