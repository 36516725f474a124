"""Turns a finished run into its answer: by profile, each cell certain, possible otherwise, or not decided."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from audit.reading import Undetermined
from audit.worlds.facts.facts import Facts
from audit.worlds.found.exact_posterior import Counted, ExactPosterior
from audit.worlds.result import Consistency, Worlds
from audit.worlds.state import Run
from audit.worlds.witness import MOST_WITNESSES, witnesses
from ppdm_models.arrays import IntArray


def outcome(run: Run, truth: IntArray | None, began: float) -> Worlds:
    """Return what a run proved and found."""
    facts, bounds, pool = run.facts, run.bounds, run.pool
    low, high = bounds.low, bounds.high
    # Proof and witness must never contradict each other.
    if not pool.is_empty and ((pool.low < low) | (pool.high > high)).any():
        raise AssertionError("a witness lies outside what was proved")
    certain = (low == facts.counts[:, None]).any(axis=1)
    reasons = {
        int(facts.order[s]): bounds.last.get(s, "the counts of its leaf")
        for s in np.flatnonzero(certain).tolist()
    }
    worst = [] if pool.is_empty else run.worst(MOST_WITNESSES)
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
    return with_what_is_open(worlds, run.said, is_empty=pool.is_empty)


def inconsistent(facts: Facts, says: tuple[str, ...], began: float) -> Worlds:
    """Return the answer where no world obeys the facts; ``says`` names those that conflict."""
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


def _by_profile(
    facts: Facts, posterior: ExactPosterior | Undetermined
) -> ExactPosterior | Undetermined:
    if isinstance(posterior, Undetermined):
        return posterior
    values, low, high = (
        np.asarray(facts.profiles(end)) for end in (posterior.values, posterior.low, posterior.high)
    )
    return ExactPosterior(values, low, high, posterior.draws)


def with_what_is_open(worlds: Worlds, because: Sequence[str], *, is_empty: bool = False) -> Worlds:
    """Return the worlds with what was not decided in words, and why; nothing where all was."""
    said = list(because)
    number, values = int(worlds.open_profiles.sum()), int(worlds.open_exclusions.sum())
    if number:
        said.append(f"{number} profiles may be certain; neither a proof nor a witness was found")
    if values:
        said.append(f"{values} values may be ruled out; neither a proof nor a witness was found")
    return replace(worlds, not_decided=tuple(said) if number or values or is_empty else ())
