"""Finds the maximum-entropy estimate: closed form per leaf, then the split rows that it violates, round by round."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from treewarden.audit.estimate.blocks import Block, Candidate, blocks
from treewarden.audit.estimate.certify import certificate
from treewarden.audit.estimate.optima import span
from treewarden.audit.estimate.posterior import Posterior, entropy
from treewarden.audit.estimate.report import SolverReport
from treewarden.audit.estimate.search import BEGINNING, Search
from treewarden.audit.estimate.solved import Solved
from treewarden.audit.estimate.violated import (
    VIOLATION_SHARE,
    Violated,
    outside_intervals,
    unseen,
    violated,
)
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.stages import Share
from treewarden.audit.system.system import System, max_violation
from treewarden.ppdm_models import gc_control
from treewarden.ppdm_models.arrays import FloatArray

log = logging.getLogger(__name__)

ROUNDS = 40


def estimate(
    system: System, options: AuditOptions = DEFAULT, share: Share | None = None
) -> tuple[Posterior, SolverReport]:
    """Return the maximum-entropy posterior under a system of rows, and how it was found.

    ``share`` is told how much of each round is solved.

    Raises:
        SolverError: the wanted solver is not there.
    """
    # Looking through the rows again and again takes longer than a small audit.
    with gc_control.spared():
        began = time.perf_counter()
        return _in_rounds(Search(system, options, share), began)


def _in_rounds(search: Search, began: float) -> tuple[Posterior, SolverReport]:
    """Solve block by block, adding split rows until none is violated."""
    system = search.system
    relaxed, last, seen = search.closed, BEGINNING, unseen(search)
    active: tuple[Candidate, ...] = ()
    # The last estimate that violated nothing, before a better one was looked for.
    settled: FloatArray | None = None
    for number in range(ROUNDS):
        parts = blocks(system, tuple(search.knowledge), active)
        last = search.solve(parts, last)
        seen = violated(search, search.placed(last.solved), seen)
        relaxed = seen.values if number == 0 else relaxed
        new = seen.worst(active, last.solved)
        if not new:
            last, settled = search.searched(last, settled), seen.values
            seen = violated(search, search.placed(last.solved), seen)
            new = seen.worst(active, last.solved)
        if not new:
            last = search.improved(last)
            seen = violated(search, search.placed(last.solved), seen)
            new = seen.worst(active, last.solved)
        log.info(
            "round %d: %d parts, %d split rows, %d more violated",
            number,
            len(parts),
            len(active),
            len(new),
        )
        if not new or search.is_out_of_time:
            break
        active = tuple(sorted((*active, *new), key=lambda c: (c.family, c.position)))
    solved, values = last.solved, seen.values
    good = span(system, solved.values(), values)
    proved = certificate(search, solved, relaxed)
    figures = SolverReport(
        status="",
        entropy=entropy(values, system.case.population.counts),
        entropy_bound=proved.bound,
        entropy_relaxed=entropy(
            relaxed if search.whole is None else search.plain, system.case.population.counts
        ),
        bound_argument=proved.argument,
        seconds=time.perf_counter() - began,
        rows=system.size,
        rows_active=len(active),
        blocks_flat=good.flat,
        blocks_several=good.several,
        profiles_fixed=0 if search.whole is None else search.whole.profiles_fixed,
        split_rows="real" if search.whole is None else "integer",
        door=search.door if solved else "none",
    )
    return _concluded(search, (values, good.low, good.high), solved, figures, seen)


def _concluded(
    search: Search,
    found: tuple[FloatArray, FloatArray, FloatArray],
    solved: Mapping[Block, Solved],
    figures: SolverReport,
    seen: Violated,
) -> tuple[Posterior, SolverReport]:
    """Re-check every row outside the solver and say how good the estimate is.

    What was ``seen`` of split rows at the estimate is not worked out again, but where whole records say them.
    """
    system = search.system
    values, low, high = found
    counts = system.case.population.counts
    decided = np.ones(len(counts), dtype=bool)
    stalled = [one for one in solved.values() if not one.answer.is_accepted]
    for one in stalled:
        decided[one.reduced.profiles] = False
    known = seen.over if search.whole is None and seen.values is values else None
    worst = max_violation(system, values * counts[:, None], known)
    if search.whole is not None:
        worst = max(worst, outside_intervals(search.whole, system, values * counts[:, None]))
    reason = ""
    if stalled:
        why = ", ".join(sorted({one.answer.outcome.value for one in stalled}))
        reason = f"{len(stalled)} of {len(solved)} parts of the problem were not solved ({why})"
    elif worst > VIOLATION_SHARE:
        cause = "out of time: " if search.is_out_of_time else ""
        reason = f"{cause}the estimate misses a row by {worst:.2g} of its records"
        decided[:] = False
    is_convex = all(one.reduced.program.is_convex for one in solved.values())
    report = replace(
        figures,
        status="stalled" if reason else ("optimal" if solved else "closed form"),
        max_violation=worst,
        kkt_error=max((one.answer.kkt_error for one in solved.values()), default=0.0),
        iterations=sum(one.answer.iterations for one in solved.values()),
        blocks=len(solved),
        blocks_stalled=len(stalled),
        blocks_symmetric_broken=sum(not one.is_symmetric for one in solved.values()),
        blocks_saddle=sum(one.is_saddle for one in solved.values()),
        signatures=_signatures(search, solved),
        is_convex=is_convex,
        is_unique=is_convex and not reason,
        reason=reason,
    )
    return Posterior(values, decided, low, high), report


def _signatures(search: Search, solved: Mapping[Block, Solved]) -> int:
    """Return how many kinds of profiles there are: in blocks by their rows, elsewhere one for each leaf."""
    inside = {leaf for block in solved for leaf in block.leaves}
    lumps = sum(one.reduced.lumps for one in solved.values())
    return lumps + len(search.knowledge.keys() - inside)
