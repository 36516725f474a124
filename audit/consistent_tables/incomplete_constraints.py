"""Results of the proofs where something may hold that is not known to: proofs do without it, witnesses obey it.

A cell is certain only by what is known. That it can be otherwise is shown only by a table that obeys whatever may hold
too (``treewarden.audit.facts.rows.LeftOut``), so that it would be possible either way. What is neither is not decided.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from treewarden.audit.clock import Clock, clock
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.outcome import with_what_is_open
from treewarden.audit.consistent_tables.result import (
    Consistency,
    ConsistentTables,
    ShouldStop,
    TableEnumeration,
    never,
)
from treewarden.audit.consistent_tables.state import ALL_TIERS, Tiers
from treewarden.audit.engine.time_budget import PROOFS_SHARE
from treewarden.audit.facts.rows import Linear, Origin
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import System, doubled
from treewarden.ppdm_models.arrays import FloatArray, IndexArray, distinct

TABLES_ONLY = Tiers(propagate=False, solver=False, posterior=False)
IN_DOUBT = "candidates were left out, so a table that fits the others may not fit them"
NOT_COUNTED = Undetermined(f"{IN_DOUBT}: tables cannot be counted")


def reason_in_doubt(
    system: System,
    *,
    budget_seconds: float = 20.0,
    until: Clock | None = None,
    strict_ties: bool = False,
    asks_rest: bool = True,
    should_stop: ShouldStop = never,
    jobs: int | None = 1,
) -> ConsistentTables | Undetermined:
    """Return what a tree's rows prove, and what is possible whatever holds of that which was left out.

    The settings are those of ``reason``.
    """
    system = replace(system, rows=(*system.rows, *system.whole))
    ask = partial(reason, strict_ties=strict_ties, asks_rest=asks_rest, jobs=jobs)
    until = clock(budget_seconds) if until is None else until
    if not system.left_out:
        return ask(system, until=until, should_stop=should_stop)

    def with_proofs_only(proved: ConsistentTables) -> bool:
        return should_stop(_joined(system, proved, None))

    proved = ask(system, until=until.share(PROOFS_SHARE), should_stop=with_proofs_only)
    if isinstance(proved, Undetermined) or proved.consistency is Consistency.INCONSISTENT:
        return proved
    found = None
    narrow = _narrowed(system)
    if narrow is not None:

        def with_tables(found: ConsistentTables) -> bool:
            return should_stop(_joined(system, proved, found))

        # No row says what sums of weights allow; whole tables can still be held against them.
        is_weighed = any(family.weights is not None for family in narrow.families)
        tiers = TABLES_ONLY if is_weighed else ALL_TIERS
        found = ask(narrow, until=until, tiers=tiers, should_stop=with_tables)
    return _joined(system, proved, found if isinstance(found, ConsistentTables) else None)


def _narrowed(system: System) -> System | None:
    """Return the system as if all that was left out held, with people below open nodes as they are; None: all are."""
    narrow, open_nodes = doubled(system)
    if not open_nodes:
        return narrow
    truth = system.case.population.truth
    inside = distinct(np.concatenate([system.case.members.of(node) for node in open_nodes]))
    if isinstance(truth, Undetermined) or len(inside) == len(truth):
        return None
    return replace(narrow, rows=(*narrow.rows, *_pinned(truth, inside.astype(np.intp))))


def _pinned(truth: FloatArray, inside: IndexArray) -> list[Linear]:
    """Return rows that leave some profiles as they truly are."""
    origin = Origin("left_out", "the true table")
    counts = truth[inside].sum(axis=1)
    alike = inside[truth[inside].max(axis=1) == counts]
    total = float(truth[alike].sum())
    rows = [
        Linear(alike, truth[alike].argmax(axis=1), np.ones(len(alike)), total, total, origin),
    ]
    for profile in np.setdiff1d(inside, alike):
        for klass, value in enumerate(truth[profile].tolist()):
            one = np.array([profile]), np.array([klass]), np.ones(1)
            rows.append(Linear(*one, value, value, origin))
    return [row for row in rows if len(row.profiles)]


def _joined(
    system: System, proved: ConsistentTables, found: ConsistentTables | None
) -> ConsistentTables:
    """Return what was proved, with the tables that are possible in any case."""
    truth = system.case.population.truth
    if found is not None and found.consistency is Consistency.CONSISTENT:
        reached = found.reached_low, found.reached_high
    elif not isinstance(truth, Undetermined):
        reached = np.rint(truth).astype(np.int64), np.rint(truth).astype(np.int64)
    else:
        most = np.broadcast_to(proved.counts[:, None], proved.low.shape).astype(np.int64)
        reached = most, np.zeros_like(most)
    joined = replace(
        proved,
        reached_low=reached[0],
        reached_high=reached[1],
        witnesses=() if found is None else found.witnesses,
        enumeration=TableEnumeration(NOT_COUNTED, NOT_COUNTED),
        left=(IN_DOUBT, *dict.fromkeys([*proved.left, *(() if found is None else found.left)])),
        seconds=proved.seconds + (0.0 if found is None else found.seconds),
    )
    return with_what_is_open(joined)
