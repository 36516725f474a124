"""Tries the estimate on random small cases: every answer is judged by code and by methods that are not the product's.

    python -m tests.judges.run_estimate --cases 10000 --seed 0

Prints the seed of every miss and one line that counts them; the exit code is 1 where there is a miss. A case that the
product says it could not solve is no miss, but is counted and named too.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from tests.judges.estimate import definitions, direct
from tests.judges.estimate.cases import Sample, sample
from tests.judges.estimate.definitions import LinearRow, Row, SplitRow, is_convex
from tests.judges.estimate.disguise import Disguise, cut, renamed
from tests.judges.estimate.judge import best_of_starts, dual_bound, entropy
from tests.judges.estimate.product import answer as product_answer
from tests.judges.estimate.product import whole
from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.entropy.posterior import Posterior, SolverReport
from treewarden.audit.facts.rows import (
    Grouping,
    LeafMass,
    Linear,
    Plurality,
    ProfileTotals,
    SplitFamily,
)
from treewarden.audit.facts.rows import Row as SystemRow
from treewarden.audit.system.system import System, build_system

VIOLATION_SHARE = 1e-6
ENTROPY_CONVEX = 1e-5
ENTROPY_LOCAL = 1e-4
SHARES = 1e-4
SCIPY_EVERY, DIRECT_EVERY, DUAL_EVERY = 10, 10, 2
SCIPY_CELLS, SCIPY_SPLITS, DIRECT_CELLS = 45, 30, 120
"""SciPy and the direct formulation are slow: they judge every so many cases, of at most so many profiles x classes."""


@dataclass
class Trial:
    """One case's outcome: what missed and what the product could not decide, in words, and what was tried."""

    seed: int
    misses: list[str] = field(default_factory=list)
    stalled: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)


@dataclass(frozen=True)
class Answer:
    """The product's answer to a case, and the rows that it is judged by."""

    sample: Sample
    system: System
    posterior: Posterior
    report: SolverReport
    rows: list[Row]

    @property
    def mass(self) -> np.ndarray:
        return self.posterior.values * self.sample.population.counts[:, None]


def answered(case: Sample) -> Answer:
    """Return the product's answer to a case."""
    system = build_system(case.case)
    return Answer(case, system, *product_answer(system), definitions.rows(case))


def trial(seed: int) -> Trial:
    """Judge the case of a seed."""
    found = Trial(seed)
    try:
        case = sample(seed)
        answer = answered(case)
        found.tried.update([case.learner, answer.report.status])
        _judge(found, answer)
    except (
        Exception
    ) as error:  # a traceback is a miss like any other, and the other cases must go on
        found.misses.append(f"{type(error).__name__}: {error}")
    return found


def _judge(found: Trial, answer: Answer) -> None:
    status = answer.report.status
    is_solved = status in ("optimal", "closed form")
    found.claim(
        not is_solved or bool(answer.posterior.decided.all()),
        f"{status}, but a profile is undecided",
    )
    found.claim(is_solved or bool(answer.report.reason), f"{status} without a reason")
    for row in answer.system.rows:
        found.claim(_true(row, answer.sample) <= 1e-9, f"the truth breaks {row.origin}")
    if not is_solved:
        found.stalled.append(answer.report.reason)
        return
    _holds(found, answer)
    _closed_form(found, answer)
    cells = answer.sample.population.truth.size
    draw = np.random.default_rng(found.seed)
    other = (renamed, cut)[found.seed % 2](answer.sample, draw)
    same(found, answer, other, ("renamed", "cut")[found.seed % 2])
    _whole(found, answer, other, ("renamed", "cut")[found.seed % 2])
    if found.seed % DIRECT_EVERY == 5 and cells <= DIRECT_CELLS:
        _direct(found, answer)
    if found.seed % DUAL_EVERY == 0:
        _dual(found, answer)
    splits = sum(isinstance(row, SplitRow) for row in answer.rows)
    if found.seed % SCIPY_EVERY == 0 and cells <= SCIPY_CELLS and splits <= SCIPY_SPLITS:
        _scipy(found, answer)


def _holds(found: Trial, answer: Answer) -> None:
    """Every row, re-evaluated from its definition; shares sum to 1; the entropy is what is said and below its bound."""
    values, counts, report = answer.posterior.values, answer.sample.population.counts, answer.report
    found.claim(values.min() >= 0, f"a share is {values.min()}")
    found.claim(abs(values.sum(axis=1) - 1).max() <= 1e-9, "shares do not sum to 1")
    for row in answer.rows:
        broken = row.broken(answer.mass)
        found.claim(broken <= VIOLATION_SHARE, f"{row.name} is broken by {broken:.2g}")
    own = entropy(answer.mass, counts)
    found.claim(abs(own - report.entropy) <= 1e-9, f"H is {own}, not {report.entropy}")
    found.claim(report.entropy <= report.entropy_bound + 1e-9, "H is above its bound")
    true = entropy(answer.sample.population.truth, counts)
    found.claim(true <= report.entropy_bound + 1e-6, "the truth has more entropy than the bound")


def _closed_form(found: Trial, answer: Answer) -> None:
    """Where neither splits nor rows across leaves are known each leaf has its closed form, to the last digits."""
    known, population = answer.sample.knowledge, answer.sample.population
    if known.marginal or known.accuracy or answer.sample.facts:
        return
    if known.split != "none" and (known.leaf != "labels" or known.strict_labels):
        return
    found.tried.update(["closed form checked"])
    m = population.truth.shape[1]
    for leaf in answer.sample.tree.leaves:
        here = population.leaf == leaf.index
        counts = population.truth[here].sum(axis=0)
        n, label = counts.sum(), answer.sample.tree.classes.index(str(leaf.score))
        hits = counts[label]
        if known.leaf == "counts":
            wanted = counts / n
        elif known.leaf == "rates":
            wanted = np.full(m, (n - hits) / n / (m - 1))
            wanted[label] = hits / n
        else:
            lead = known.strict_labels and hits - np.delete(counts, label).max() >= 1
            wanted = np.full(m, (n - lead) / m / n)
            wanted[label] += lead / n
        gap = abs(answer.posterior.values[here] - wanted).max()
        found.claim(gap <= 1e-9, f"leaf {leaf.name} is {gap:.2g} off its closed form")


def same(found: Trial, answer: Answer, disguise: Disguise, how: str) -> None:
    """The answer does not depend on names, on order, or on how finely profiles are told apart.

    Where there are several estimates as good, each answer's ends contain the other.
    """
    found.tried.update([how])
    other = answered(disguise.sample)
    solved = other.report.status in ("optimal", "closed form")
    if not solved:
        found.stalled.append(f"{how}: {other.report.reason}")
        return
    for row in other.rows:
        broken = row.broken(other.mass)
        found.claim(broken <= VIOLATION_SHARE, f"{how}: {row.name} is broken by {broken:.2g}")
    gap = abs(other.report.entropy - answer.report.entropy)
    limit = ENTROPY_CONVEX if is_convex(answer.sample) else ENTROPY_LOCAL
    found.claim(gap <= limit, f"{how}: H differs by {gap:.2g}")
    most = max(other.report.entropy, answer.report.entropy)
    bound = min(other.report.entropy_bound, answer.report.entropy_bound)
    found.claim(most <= bound + 1e-6, f"{how}: H is {most - bound:.2g} above a bound")
    mine, theirs = answer.posterior, other.posterior
    gap = abs(theirs.values - disguise.undone(mine.values)).max()
    if gap > SHARES and not is_convex(answer.sample):
        found.tried.update([f"{how}: several estimates"])
        gap = max(
            _outside(theirs.values, disguise.undone(mine.low), disguise.undone(mine.high)),
            _outside(disguise.undone(mine.values), theirs.low, theirs.high),
        )
    found.claim(gap <= SHARES, f"{how}: a share differs by {gap:.2g}")


def _outside(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """Return by how much values lie outside of their ends, at most."""
    return float(max((values - high).max(), (low - values).max()))


def _whole(found: Trial, answer: Answer, disguise: Disguise, how: str) -> None:
    """With whole records the estimate has no more entropy, breaks no row, and does not depend on names either."""
    posterior, report = whole(answer.system)
    if report.split_rows != "integer":
        return
    found.tried.update(["whole records"])
    if report.status not in ("optimal", "closed form"):
        found.stalled.append(f"whole records: {report.reason}")
        return
    mass = posterior.values * answer.sample.population.counts[:, None]
    for row in answer.rows:
        broken = row.broken(mass)
        found.claim(
            broken <= VIOLATION_SHARE, f"whole records: {row.name} is broken by {broken:.2g}"
        )
    found.claim(report.entropy <= answer.report.entropy + 1e-6, "whole records: more entropy")
    _, other = whole(build_system(disguise.sample.case))
    if other.split_rows == "integer" and other.status in ("optimal", "closed form"):
        gap = abs(other.entropy - report.entropy)
        found.claim(gap <= ENTROPY_LOCAL, f"whole records, {how}: H differs by {gap:.2g}")


def _direct(found: Trial, answer: Answer) -> None:
    """Lumped, pooled and lazy is as good as all rows over all profiles and classes."""
    _, report = direct.solve(answer.system)
    if report.status != "optimal":
        found.tried.update(["direct not solved"])
        return
    found.tried.update(["direct"])
    gap = answer.report.entropy - report.entropy
    found.claim(gap >= -ENTROPY_LOCAL, f"direct: H is {-gap:.2g} below")
    found.claim(report.entropy <= answer.report.entropy_bound + 1e-6, "direct: above the bound")
    if is_convex(answer.sample):
        # As it is written down the problem is not convex, whatever its rows leave of it: the direct way can stop short.
        # A feasible estimate that reaches what is proved to be the most is the optimum all the same.
        is_proved = answer.report.entropy_bound - answer.report.entropy <= ENTROPY_CONVEX
        is_short = gap > ENTROPY_LOCAL and is_proved and not answer.report.rows_active
        found.tried.update(["direct stopped short" if is_short else "direct agrees"])
        found.claim(is_short or abs(gap) <= ENTROPY_LOCAL, f"direct: H differs by {gap:.2g}")


def _dual(found: Trial, answer: Answer) -> None:
    """Multipliers of the linear rows prove a bound; where no split row is in force the optimum reaches it."""
    bound = dual_bound(answer.rows, answer.sample.population.truth)
    gap = bound - answer.report.entropy
    found.claim(gap >= -1e-6, f"dual: H is {-gap:.2g} above what is possible")
    if not answer.report.rows_active:
        found.tried.update(["dual"])
        found.claim(gap <= ENTROPY_CONVEX, f"dual: H is {gap:.2g} below")


def _scipy(found: Trial, answer: Answer) -> None:
    """No feasible point that SciPy finds has more entropy; where the problem is convex both agree."""
    best = best_of_starts(answer.rows, answer.sample.population.truth)
    if best is None:
        found.tried.update(["SciPy found no point"])
        return
    found.tried.update(["SciPy"])
    gap = answer.report.entropy - best.entropy
    limit = ENTROPY_CONVEX if is_convex(answer.sample) else ENTROPY_LOCAL
    found.claim(gap >= -limit, f"SciPy: H is {-gap:.2g} below")
    found.claim(best.entropy <= answer.report.entropy_bound + 1e-5, "SciPy: above the bound")
    if is_convex(answer.sample) and best.converged:
        found.tried.update(["SciPy agrees" if abs(gap) <= limit else "SciPy stopped short"])


def _true(row: SystemRow, case: Sample) -> float:
    """Return by how much the truth breaks a row that the product keeps, by its definition."""
    truth, counts = case.population.truth, case.population.counts
    if isinstance(row, ProfileTotals):
        return float(abs(truth.sum(axis=1) - row.counts).max())
    if isinstance(row, SplitFamily):
        return max((split.broken(truth) for split in split_rows(row)), default=0.0)
    weights = np.zeros(truth.shape)
    if isinstance(row, Linear):
        np.add.at(weights, (row.profiles, row.classes), row.weights)
        return LinearRow(weights, row.low, row.high, counts.sum(), "").broken(truth)
    here = case.population.leaf == row.node
    if isinstance(row, LeafMass):
        weights[here, row.klass] = 1.0
        return LinearRow(weights, row.low, row.high, counts[here].sum(), "").broken(truth)
    assert isinstance(row, Plurality)
    totals = truth[here].sum(axis=0)
    return float(np.delete(totals, row.label).max() + row.margin - totals[row.label])


def split_rows(family: SplitFamily) -> Iterator[SplitRow]:
    """Yield every candidate of a family as a row of its own."""
    for code in family.admissible.tolist():
        sides = {
            Grouping.MULTIWAY: family.bins,
            Grouping.THRESHOLD: family.bins > code,
            Grouping.ONE_AGAINST_REST: family.bins == code,
            Grouping.SUBSET: (code >> family.bins) & 1,
        }[family.grouping]
        criterion = family.criterion.value
        yield SplitRow(family.profiles, family.chosen, np.asarray(sides), criterion, "")


def trials(cases: int, seed: int, jobs: int, cluster: str | None = None) -> Iterator[Trial]:
    """Judge seeds ``seed``, ``seed + 1``, ... over processes, in order."""
    return in_order(trial, [(each,) for each in range(seed, seed + cases)], jobs, cluster)


def main() -> int:
    """Judge as many cases as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m tests.judges.run_estimate", description=__doc__)
    ask.add_argument("--cases", type=int, default=10_000)
    ask.add_argument("--seed", type=int, default=0)
    ask_where(ask)
    given = ask.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began, missed, stalled, tried = time.perf_counter(), 0, 0, Counter[str]()
    for number, one in enumerate(
        trials(given.cases, given.seed, given.jobs, given.cluster), start=1
    ):
        tried.update(one.tried)
        missed += bool(one.misses)
        stalled += bool(one.stalled)
        if one.misses:
            print(f"seed {one.seed}: {'; '.join(one.misses)}", flush=True)
        elif one.stalled:
            print(f"seed {one.seed} undecided: {'; '.join(one.stalled)}", flush=True)
        if number % 500 == 0:
            print(f"... {number} cases, {missed} misses", file=sys.stderr, flush=True)
    print(", ".join(f"{count} {what}" for what, count in sorted(tried.items())))
    seconds = time.perf_counter() - began
    print(
        f"{given.cases} cases, {missed} misses, {stalled} undecided "
        f"(seeds from {given.seed}; {seconds:.0f} s)"
    )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
