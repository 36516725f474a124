"""Tries the reasoning over whole records on random small trees: every world is listed and judges what is said.

    python -m tests.judges.run_worlds --cases 5000 --seed 0

Prints the seed of every miss and one line that counts them; the exit code is 1 where there is a miss. "Not decided" is
no miss, but its share is printed. Intervals that are drawn hold with a known probability: one that is impossibly far
off is a miss, and so are more than chance allows over all cases.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binom

from tests.judges.spread import ask_where, imported, in_order
from tests.judges.worlds.brute_force import Every, every_world
from tests.judges.worlds.cases import Told, altered, at_levels, example_system, small_sample, told
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.result import Consistency, ConsistentTables, Tiers
from treewarden.audit.consistent_tables.witnesses.sample import ERROR
from treewarden.audit.reading import Undetermined

BUDGET_SECONDS = 30.0
ONLY_PROOFS = Tiers(enumerate=None, most_draws=400)
"""Without the tier that lists worlds, which would decide every small case alone."""
NO_SOLVER = Tiers(enumerate=None, solver=False, most_draws=400)
TIERS = {"all tiers": Tiers(), "no listing": ONLY_PROOFS, "no solver": NO_SOLVER}
CHANCE = 1e-10
"""The probability at which a drawn share that is so far off counts as impossible."""


@dataclass
class Trial:
    """One case's outcome: what missed in words, what was tried, and what was left open by tiers."""

    seed: int
    misses: list[str] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool | np.bool_, said: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(said)


def trial(seed: int) -> Trial:
    """Judge the case of a seed."""
    found = Trial(seed)
    try:
        _judge(found)
    except Exception as error:  # a traceback is a miss too, and the other cases must go on
        found.misses.append(f"{type(error).__name__}: {error}")
    return found


def _judge(found: Trial) -> None:
    sample, draw = small_sample(found.seed), np.random.default_rng([found.seed, 5])
    known = sample.knowledge
    found.tried.update(
        [f"leaf {known.leaf}", f"split {known.split}", f"{len(sample.tree.classes)} classes"]
    )
    found.tried.update(
        what
        for what, is_there in (("totals", known.marginal), ("facts", bool(sample.facts)))
        if is_there
    )
    _one(found, told(sample, sees_truth=True), "all tiers")
    names = ("no listing", "no solver") if found.seed % 5 else ("no solver", "no listing")
    _one(found, told(sample, sees_truth=bool(found.seed % 2)), names[0])
    if found.seed % 5 == 1:
        is_seen = bool(draw.random() < 0.5)
        _one(found, told(sample, sees_truth=is_seen, strict=True), ("all tiers", names[0])[is_seen])
    if found.seed % 3 == 2 and (changed := altered(sample, draw)):
        found.tried.update(["altered files"])
        _one(found, changed, str(draw.choice(["all tiers", "no listing"])))
    if found.seed % 4 == 3:
        _nested(found, [told(level, sees_truth=True) for level in at_levels(sample)])


def _one(found: Trial, case: Told, tiers: str) -> None:
    every = every_world(case)
    if every is None:
        found.tried.update(["too many tables"])
        return
    worlds = _reasoned(case, tiers)
    if isinstance(worlds, Undetermined):
        found.misses.append(f"{tiers}: undetermined, {worlds.reason}")
        return
    found.tried.update([f"runs, {tiers}"])
    what = f"{tiers}, {'true' if case.sees_truth else 'no'} table{', strict ties' * case.strict}"
    missed = len(found.misses)
    if every.is_empty:
        found.tried.update(["impossible files", f"said so: {worlds.consistency}"])
        found.claim(worlds.consistency is not Consistency.CONSISTENT, "a world where there is none")
    else:
        _bounds(found, worlds, every)
        _posterior(found, worlds, every, case)
        _share_open(found, worlds, every, tiers)
    found.misses[missed:] = [f"{what}: {said}" for said in found.misses[missed:]]


def _reasoned(case: Told, tiers: str) -> ConsistentTables | Undetermined:
    return reason(
        case.system, budget_seconds=BUDGET_SECONDS, strict_ties=case.strict, tiers=TIERS[tiers]
    )


def _bounds(found: Trial, worlds: ConsistentTables, every: Every) -> None:
    """Nothing that is possible is ruled out, nothing impossible was reached, every witness is a world."""
    least, most = every.tables.min(axis=0), every.tables.max(axis=0)
    found.claim((worlds.low <= least).all(), "a floor above what is possible")
    found.claim((worlds.high >= most).all(), "a cap below what is possible")
    found.claim(worlds.consistency is not Consistency.INCONSISTENT, "a world was overlooked")
    if worlds.consistency is Consistency.CONSISTENT:
        found.claim((worlds.reached_low >= least).all(), "an impossible low end was reached")
        found.claim((worlds.reached_high <= most).all(), "an impossible high end was reached")
    listed = {table.tobytes() for table in every.tables}
    for witness in worlds.witnesses:
        is_world = np.ascontiguousarray(witness.table, dtype=int).tobytes() in listed
        found.claim(is_world, f"the witness for profile {witness.profile} is no world")
    for profile in np.flatnonzero(worlds.certain).tolist():
        found.claim(bool(worlds.reasons.get(profile)), f"profile {profile} forced without a reason")


def _posterior(found: Trial, worlds: ConsistentTables, every: Every, case: Told) -> None:
    if worlds.enumeration.numbers is not None:
        counted = worlds.enumeration.numbers
        found.claim(counted.worlds == len(every.ways), f"{counted.worlds} worlds counted")
        found.claim(counted.data_sets == sum(every.ways), f"{counted.data_sets} data sets counted")
        wanted = (every.worlds_without_splits, every.sets_without_splits)
        if counted.worlds_without_splits is not None:
            own = (counted.worlds_without_splits, counted.data_sets_without_splits)
            found.claim(own == wanted, f"{own} without split rows, not {wanted}")
    told_shares, bits = worlds.enumeration.posterior, worlds.enumeration.split_bits
    if isinstance(told_shares, Undetermined):
        found.tried.update(["posterior undetermined"])
        return
    exact = every.posterior(worlds.counts)
    off = abs(told_shares.values - exact).max()
    is_inside = (told_shares.low <= exact + 1e-12).all() and (
        told_shares.high >= exact - 1e-12
    ).all()
    has_bits = isinstance(bits, Undetermined) or (bits.low - 1e-9 <= every.bits <= bits.high + 1e-9)
    if not told_shares.draws:
        found.tried.update(["posteriors counted"])
        found.claim(off <= 1e-9, f"the counted posterior is {off:.2g} off")
        found.claim(has_bits, f"the split rows reveal {every.bits:.4f} bits")
        return
    found.tried.update(["posteriors drawn"])
    # Hoeffding: means of independent draws from [0, 1].
    limit = math.sqrt(math.log(2 / CHANCE) / 2 / told_shares.draws)
    found.claim(off <= limit, f"a drawn share is {off:.2g} off after {told_shares.draws} draws")
    found.tried.update(["intervals missed"] if not is_inside else [])
    found.tried.update(["bits missed"] if not has_bits else [])


def _share_open(found: Trial, worlds: ConsistentTables, every: Every, tiers: str) -> None:
    """Count what was left open, and how much of what is truly certain was proved."""
    size = worlds.counts[:, None]
    forced = (every.tables.min(axis=0) == size).any(axis=1)
    found.tried[f"profiles, {tiers}"] += len(forced)
    found.tried[f"profiles open, {tiers}"] += int(worlds.open_profiles.sum())
    found.tried[f"forced, {tiers}"] += int(forced.sum())
    found.tried[f"forced and proved, {tiers}"] += int((forced & worlds.certain).sum())
    found.tried[f"values, {tiers}"] += worlds.high.size
    found.tried[f"values open, {tiers}"] += int(worlds.open_exclusions.sum())


def _nested(found: Trial, levels: list[Told]) -> None:
    """Whoever knows more has fewer worlds: counts within rates within labels."""
    found.tried.update(["nested"])
    answers = [_reasoned(case, "all tiers") for case in levels]
    listed = [every_world(case) for case in levels]
    for weaker, stronger, all_weak, all_strong in zip(
        answers[1:], answers, listed[1:], listed, strict=False
    ):
        found.claim(
            (stronger.reached_low >= weaker.low).all()
            and (stronger.reached_high <= weaker.high).all(),
            "nesting: a world of the stronger level lies outside the weaker one's",
        )
        if stronger.enumeration.numbers and weaker.enumeration.numbers:
            is_less = stronger.enumeration.numbers.data_sets <= weaker.enumeration.numbers.data_sets
            found.claim(is_less, "nesting: the stronger level has more data sets")
        if all_weak and all_strong:
            names = [{table.tobytes() for table in each.tables} for each in (all_strong, all_weak)]
            found.claim(names[0] <= names[1], "nesting: brute force contradicts itself")


def example(criterion: str) -> list[str]:
    """Return what misses on Example 1 of Zhu & Du 2010: everybody's class is found with 100 %."""
    found = Trial(-1)
    system = example_system(criterion)
    for name, tiers in TIERS.items():
        if name == "no solver":
            continue
        worlds = reason(system, budget_seconds=BUDGET_SECONDS, tiers=tiers)
        truth = system.case.population.truth
        found.claim((worlds.low == truth).all(), f"{name}: not every class is proved")
        sure = (
            worlds.enumeration.posterior.values == truth / truth.sum(axis=1, keepdims=True)
        ).all()
        found.claim(sure, f"{name}: the posterior is not 100 %")
    return [f"Example 1, {criterion}, {said}" for said in found.misses]


def trials(cases: int, seed: int, jobs: int, cluster: str | None = None) -> Iterator[Trial]:
    """Judge seeds ``seed``, ``seed + 1``, ... over processes, in order."""
    return in_order(trial, [(each,) for each in range(seed, seed + cases)], jobs, cluster)


def by_chance(tried: Counter[str]) -> list[str]:
    """Return what misses over all cases: more intervals that do not hold than their error allows."""
    drawn = tried["posteriors drawn"]
    most = int(binom.isf(1e-6, drawn, ERROR)) if drawn else 0
    return [
        f"{tried[what]} {what} of {drawn} drawn; their error allows {most}"
        for what in ("intervals missed", "bits missed")
        if tried[what] > most
    ]


def summary(tried: Counter[str], cases: int, missed: int) -> str:
    """Return the lines that say what was tried, left open and missed."""
    lines = []
    shares: dict[str, float] = {}
    for tiers in TIERS:
        profiles, forced = tried[f"profiles, {tiers}"], tried[f"forced, {tiers}"]
        shares[tiers] = tried[f"profiles open, {tiers}"] / max(profiles, 1)
        proved = tried[f"forced and proved, {tiers}"] / max(forced, 1)
        values = tried[f"values open, {tiers}"] / max(tried[f"values, {tiers}"], 1)
        lines.append(
            f"{tiers}: {profiles} profiles, {forced} forced and {proved:.2%} of them proved; "
            f"not decided: {shares[tiers]:.2%} of profiles, {values:.2%} of values"
        )
    rest = sorted((what, n) for what, n in tried.items() if not what.endswith(tuple(TIERS)))
    lines.insert(0, ", ".join(f"{count} {what}" for what, count in rest))
    share = f"{shares['all tiers']:.2%} ({shares['no listing']:.2%} without listing worlds)"
    return "\n".join([*lines, f"{cases} cases, {missed} misses, not decided {share}"])


def main() -> int:
    """Judge as many cases as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m tests.judges.run_worlds", description=__doc__)
    ask.add_argument("--cases", type=int, default=5_000)
    ask.add_argument("--seed", type=int, default=0)
    ask_where(ask)
    given = ask.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began, missed, tried = time.perf_counter(), 0, Counter[str]()
    for said in (*example("gini"), *example("entropy")):
        missed += 1
        print(said, flush=True)
    for number, one in enumerate(
        trials(given.cases, given.seed, given.jobs, given.cluster), start=1
    ):
        tried.update(one.tried)
        missed += bool(one.misses)
        if one.misses:
            print(f"seed {one.seed}: {'; '.join(one.misses)}", flush=True)
        if number % 500 == 0:
            print(f"... {number} cases, {missed} misses", file=sys.stderr, flush=True)
    for said in by_chance(tried):
        missed += 1
        print(said)
    seconds = time.perf_counter() - began
    said = summary(tried, given.cases, missed)
    print(f"{said} (seeds from {given.seed}; {seconds:.0f} s)")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
