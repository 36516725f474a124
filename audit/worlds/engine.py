"""The tiers in order: cheap proofs and cheap witnesses first, then the solver, each within its budget, failing safe."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from audit.reading import Reading, Undetermined, exactly
from audit.system import System
from audit.worlds import cpsat
from audit.worlds.cells import Bounds, ContradictionError, closed_form, spread
from audit.worlds.check import first_broken, without_what_breaks
from audit.worlds.clock import Clock, clock
from audit.worlds.enumerate import Limits, data_sets, enumerated, place_tables
from audit.worlds.facts import Facts, facts_of, with_class_counts
from audit.worlds.intervals import with_intervals
from audit.worlds.pool import Pool
from audit.worlds.posterior import Counted, ExactPosterior, counted_posterior, drawn_posterior
from audit.worlds.propagate import propagate
from audit.worlds.queries import decide
from audit.worlds.result import Consistency, Worlds
from audit.worlds.sample import GaveUpError, Sampler
from audit.worlds.swaps import swap_stuck, swap_worst
from audit.worlds.witness import MOST_WITNESSES, witnesses

log = logging.getLogger(__name__)
IntArray = NDArray[np.int64]
WITNESS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Tiers:
    """Which tiers run, and their shares of the budget: for tests that put one tier to the proof.

    ``most_draws`` is small enough for the budget to last: then the same input gives the same readings on every run.
    """

    enumerate: Limits | None = Limits()
    propagate: bool = True
    draws: int = 20
    most_draws: int = 100
    swaps: bool = True
    solver: bool = True
    sampling_share: float = 0.15
    posterior_share: float = 0.15
    query_seconds: float = 4.0
    seed: int = 0


@dataclass(eq=False)
class _Run:
    """One audit's worlds while they are worked out; what is proved or found stays whatever happens later."""

    facts: Facts
    bounds: Bounds
    pool: Pool
    clock: Clock
    posterior: ExactPosterior | Undetermined = Undetermined("the sampler was not run")
    split_bits: Reading = Undetermined("the sampler was not run")
    counted: Counted | None = None
    said: list[str] = field(default_factory=list)


def reason(
    system: System,
    *,
    budget_seconds: float = 20.0,
    strict_ties: bool = False,
    tiers: Tiers = Tiers(),
) -> Worlds | Undetermined:
    """Return what a tree's rows prove in whole records: every cell certain, possible otherwise, or not decided.

    ``strict_ties`` is for a learner known to let ties go the other way. Undetermined where records carry weights.
    """
    began = time.perf_counter()
    facts = facts_of(system, strict_ties)
    if isinstance(facts, Undetermined):
        return facts
    truth = _truth(facts)
    if truth is not None:
        facts = without_what_breaks(facts, truth)
    facts = with_intervals(facts)
    try:
        bounds = closed_form(facts)
    except ContradictionError as contradiction:
        return _inconsistent(facts, contradiction.says, began)
    run = _Run(facts, bounds, Pool(facts), clock(budget_seconds))
    if truth is not None:
        run.pool.add(truth[None])
    try:
        _worked_out(run, tiers, truth)
    except ContradictionError as contradiction:
        return _inconsistent(facts, contradiction.says, began)
    if not run.pool.is_empty and budget_seconds > 0:
        swap_worst(run.facts, run.pool, _worst(run), clock(WITNESS_SECONDS))
    return _result(run, truth, began)


def _truth(facts: Facts) -> IntArray | None:
    truth = facts.case.population.truth
    if isinstance(truth, Undetermined) or (truth != np.rint(truth)).any():
        return None
    return facts.arranged(truth)


def _worked_out(run: _Run, tiers: Tiers, truth: IntArray | None) -> None:
    """Run the tiers in order.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    budget = run.clock.left
    if budget <= 0:
        run.said.append("the budget is 0 seconds")
        return
    spread(run.facts, run.bounds)
    if tiers.enumerate is not None and _enumerate(run, tiers.enumerate):
        return
    if tiers.propagate:
        propagate(run.facts, run.bounds, run.clock)
    sampler = Sampler(run.facts, run.clock.part(tiers.sampling_share * run.clock.left), tiers.seed)
    _draw(run, sampler, tiers.draws)
    if truth is not None and not all(place.is_fixed for place in run.facts.places.values()):
        # A world with the true leaf counts is a world for whoever knows less of them.
        known = with_class_counts(run.facts, truth)
        part = run.clock.part(2 * tiers.sampling_share * run.clock.left)
        _draw(run, Sampler(known, part, tiers.seed + 1), tiers.draws, quiet=True)
    if tiers.swaps:
        swap_stuck(run.facts, run.pool, run.bounds, run.clock)
    log.info("%d cells to decide", int(run.pool.stuck(run.bounds.low, run.bounds.high).sum()))
    if tiers.solver:
        part = run.clock.part((1 - tiers.posterior_share) * run.clock.left)
        decide(run.facts, run.bounds, run.pool, part, tiers.query_seconds)
    sampler.clock = run.clock.part(tiers.posterior_share * budget)
    _estimate(run, sampler, tiers)
    if run.clock.is_over:
        run.said.append("the budget was used up")


def _worst(run: _Run) -> list[int]:
    """Return the positions that come nearest to being forced without being so, nearest first."""
    size = run.facts.counts
    share = run.pool.low / np.maximum(size, 1)[:, None]
    if isinstance(run.posterior, ExactPosterior):
        share = run.posterior.values
    near = share.max(axis=1)
    open_ = np.flatnonzero(~(run.bounds.low == size[:, None]).any(axis=1) & (size > 0))
    order = np.argsort(-near[open_], kind="stable")[:MOST_WITNESSES]
    return [int(position) for position in open_[order]]


def _enumerate(run: _Run, limits: Limits) -> bool:
    """List the worlds below each node where they are few; return whether they are all of them."""
    facts = run.facts
    found = enumerated(facts, run.clock.part(0.1 * run.clock.left), limits)
    for node, tables in found.items():
        start = facts.span(node).start
        name = facts.tree.nodes[node].name
        why = f"every table of the {len(tables)} that fit below node {name} says so"
        if not len(tables):
            raise ContradictionError(f"no table below node {name} obeys its split rows and leaves")
        least, most = tables.min(axis=0), tables.max(axis=0)
        for s, klass in np.argwhere(least > run.bounds.low[start : start + len(least)]).tolist():
            run.bounds.raise_low(start + s, klass, int(least[s, klass]), why)
        for s, klass in np.argwhere(most < run.bounds.high[start : start + len(most)]).tolist():
            run.bounds.cut_high(start + s, klass, int(most[s, klass]), why)
    if 0 not in found:
        return False
    run.pool.add(found[0])
    run.posterior, total = counted_posterior(facts, found[0])
    run.counted = _counted(run, len(found[0]), total, limits)
    without = run.counted.data_sets_without_splits
    run.split_bits = Undetermined("the data sets without split rows are too many to count")
    if without is not None:
        run.split_bits = exactly(max(_log2(without) - _log2(total), 0.0))
    return True


def _log2(number: int) -> float:
    """Return the logarithm of a whole number of any size."""
    shift = max(number.bit_length() - 60, 0)
    return float(np.log2(float(number >> shift))) + shift


def _counted(run: _Run, worlds: int, total: int, limits: Limits) -> Counted:
    """Count the worlds without split rows: leaf by leaf, or one by one where rows reach across leaves."""
    facts = run.facts
    if facts.lines:
        free = enumerated(facts, run.clock.part(0.25 * run.clock.left), limits, splits=False).get(0)
        if free is None:
            return Counted(worlds, total)
        return Counted(worlds, total, len(free), sum(data_sets(facts, 0, free)))
    number, sets = 1, 1
    for place in facts.places.values():
        tables = place_tables(facts, place, limits.kept)
        if tables is None:
            return Counted(worlds, total)
        number, sets = number * len(tables), sets * sum(data_sets(facts, place.start, tables))
    return Counted(worlds, total, number, sets)


def _draw(run: _Run, sampler: Sampler, number: int, *, quiet: bool = False) -> None:
    """Draw some worlds; where the sampler gives up, what it has drawn before stands."""
    if number <= 0:
        return
    try:
        # One first: where a single draw takes long, having it is better than losing five.
        for step in (1, *[5] * (number // 5)):
            run.pool.add(_checked(run.facts, sampler.tables(step)))
    except GaveUpError as reason:
        if not quiet:
            run.posterior = run.split_bits = Undetermined(f"the sampler gave up: {reason}")


def _checked(facts: Facts, tables: IntArray) -> IntArray:
    """Return draws whose first was checked against every fact from its definition."""
    broken = first_broken(facts, tables[0])
    if broken is not None:
        raise AssertionError(f"the sampler broke {broken}")
    return tables


def _estimate(run: _Run, sampler: Sampler, tiers: Tiers) -> None:
    """Draw as many data sets as time allows and read the posterior and the bits of the splits from them."""
    if isinstance(run.posterior, Undetermined) and "gave up" in run.posterior.reason:
        return
    drawn: list[IntArray] = []
    size = 0
    try:
        while size < tiers.most_draws:
            step = int(np.clip(size, 20, 200))
            drawn.append(sampler.tables(min(step, tiers.most_draws - size)))
            size += len(drawn[-1])
            run.pool.add(drawn[-1])
            if size * run.bounds.low.size > 4e7:
                break
    except GaveUpError as reason:
        if not drawn:
            run.posterior = run.split_bits = Undetermined(f"the sampler gave up: {reason}")
            return
    if drawn:
        tables = np.concatenate(drawn)
        run.posterior = drawn_posterior(run.facts, tables, run.bounds.low, run.bounds.high)
        run.split_bits = sampler.bits()


def _inconsistent(facts: Facts, says: tuple[str, ...], began: float) -> Worlds:
    shape = (len(facts.counts), facts.classes)
    nothing = np.zeros(shape, dtype=np.int64)
    everything = np.asarray(facts.profiles(np.broadcast_to(facts.counts[:, None], shape).copy()))
    why = Undetermined("no table with these quasi-identifiers grows this tree")
    return Worlds(
        np.asarray(facts.profiles(facts.counts)),
        nothing,
        everything,
        everything,
        nothing,
        Consistency.INCONSISTENT,
        says,
        {},
        (),
        why,
        why,
        Counted(0, 0),
        notes=facts.notes,
        seconds=time.perf_counter() - began,
    )


def _result(run: _Run, truth: IntArray | None, began: float) -> Worlds:
    facts, bounds, pool = run.facts, run.bounds, run.pool
    low, high = bounds.low, bounds.high
    # Proof and witness must never contradict each other.
    if not pool.is_empty and ((pool.low < low) | (pool.high > high)).any():
        raise AssertionError("a witness lies outside what was proved")
    forced = (low == facts.counts[:, None]).any(axis=1)
    reasons = {
        int(facts.order[s]): bounds.last.get(s, "the counts of its leaf")
        for s in np.flatnonzero(forced).tolist()
    }
    worst = [] if pool.is_empty else _worst(run)
    worlds = Worlds(
        np.asarray(facts.profiles(facts.counts)),
        np.asarray(facts.profiles(low)),
        np.asarray(facts.profiles(high)),
        np.asarray(facts.profiles(pool.low)),
        np.asarray(facts.profiles(pool.high)),
        Consistency.NOT_DECIDED if pool.is_empty else Consistency.CONSISTENT,
        (),
        dict(sorted(reasons.items())),
        witnesses(facts, pool, truth, worst),
        _by_profile(facts, run.posterior),
        run.split_bits,
        run.counted,
        (),
        facts.notes,
        time.perf_counter() - began,
    )
    return _with_what_is_open(worlds, run)


def _by_profile(
    facts: Facts, posterior: ExactPosterior | Undetermined
) -> ExactPosterior | Undetermined:
    if isinstance(posterior, Undetermined):
        return posterior
    values, low, high = (
        np.asarray(facts.profiles(end)) for end in (posterior.values, posterior.low, posterior.high)
    )
    return ExactPosterior(values, low, high, posterior.draws)


def _with_what_is_open(worlds: Worlds, run: _Run) -> Worlds:
    said = list(run.said)
    number, values = int(worlds.open_profiles.sum()), int(worlds.open_exclusions.sum())
    if number:
        said.append(f"{number} profiles may be forced; neither a proof nor a witness was found")
    if values:
        said.append(f"{values} values may be ruled out; neither a proof nor a witness was found")
    if (number or values) and run.facts.classes > 2 and not cpsat.IS_THERE:
        said.append(
            "OR-Tools is not installed, so its tier was skipped (pip install treewarden[exact])"
        )
    return replace(worlds, not_decided=tuple(said) if number or values or run.pool.is_empty else ())
