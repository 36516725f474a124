"""What independent random worlds tell: how far each cell moves, how probable each class is, how much the splits say."""

from __future__ import annotations

from treewarden.audit.reading import Undetermined
from treewarden.audit.worlds.clock import Clock, OutOfTimeError
from treewarden.audit.worlds.facts.facts import Facts, with_class_counts
from treewarden.audit.worlds.found.check import first_broken
from treewarden.audit.worlds.found.posterior import drawn_posterior
from treewarden.audit.worlds.found.sample import OUT_OF_TIME, GaveUpError, Sampler
from treewarden.audit.worlds.state import Run, Tiers
from treewarden.ppdm_models.arrays import IntArray

STEPS = (1, 19, 80)
"""One first: where a single draw takes long, having it is better than losing more. Many together are quicker."""
FEWEST_DRAWS = 20
"""With fewer the intervals would be as wide as no answer."""
MOST_CELLS = 4e7
"""Cells of the tables that are kept for the posterior."""


def draw_worlds(run: Run, tiers: Tiers, truth: IntArray | None, effort: float = 1.0) -> None:
    """Draw worlds into the pool, also from those with the true leaf counts; keep the draws from all worlds.

    ``effort`` is how much of the usual work is spent before the sampler gives up.
    """
    sampler = Sampler(run.facts, run.clock, tiers.seed, effort)
    drawn, gave_up = _drawn(run, sampler, tiers.most_draws)
    if gave_up and sum(map(len, drawn)) < FEWEST_DRAWS:
        drawn = []
    run.drawn = drawn
    if drawn:
        run.split_bits = sampler.bits()
    elif gave_up:
        run.posterior = run.split_bits = Undetermined(f"the sampler gave up: {gave_up}")
    if truth is not None and not all(place.is_fixed for place in run.facts.places.values()):
        # A world with the true leaf counts is a world for whoever knows less of them.
        known = with_class_counts(run.facts, truth)
        _drawn(run, Sampler(known, run.clock, tiers.seed + 1, effort), tiers.draws)


def estimate(run: Run) -> None:
    """Read the posterior off independent draws, within what is proved by now."""
    if run.drawn:
        tables = [table for some in run.drawn for table in some]  # views: together they are large
        run.posterior = drawn_posterior(run.facts, tables, run.bounds.low, run.bounds.high)


def _drawn(run: Run, sampler: Sampler, number: int) -> tuple[list[IntArray], str]:
    """Draw some worlds into the pool; where the sampler gives up, what it has drawn before stands."""
    drawn: list[IntArray] = []
    size = 0
    number = min(number, max(1, int(MOST_CELLS / max(run.bounds.low.size, 1)))) if number else 0
    while size < number:
        step = min(STEPS[min(len(drawn), len(STEPS) - 1)], number - size)
        try:
            tables = sampler.tables(step)
            _check(run.facts, tables, run.clock)
        except GaveUpError as reason:
            return drawn, str(reason)
        except OutOfTimeError:
            return drawn, OUT_OF_TIME
        run.pool.add(tables)
        drawn.append(tables)
        size += step
    return drawn, ""


def _check(facts: Facts, tables: IntArray, clock: Clock) -> None:
    """Check the first of some draws against every fact from its definition.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    broken = first_broken(facts, tables[0], clock)
    if broken is not None:
        raise AssertionError(f"the sampler broke {broken}")
