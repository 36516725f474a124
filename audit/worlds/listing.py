"""What follows where all tables below a node, or of the whole tree, can be listed: sharp ends, exact probabilities."""

from __future__ import annotations

import numpy as np

from treewarden.audit.reading import Undetermined, exactly
from treewarden.audit.worlds.found.enumerate import Limits, data_sets, enumerated, place_tables
from treewarden.audit.worlds.found.exact_posterior import Counted
from treewarden.audit.worlds.found.posterior import counted_posterior
from treewarden.audit.worlds.found.why import Reasons
from treewarden.audit.worlds.proofs.bounds import ContradictionError
from treewarden.audit.worlds.state import Run
from treewarden.ppdm_models.arrays import IntArray


def list_worlds(run: Run, limits: Limits) -> bool:
    """List the worlds below each node where they are few; return whether they are all of them.

    Raises:
        ContradictionError: no table obeys what is said below some node.
        OutOfTimeError: the budget is used up; what was proved stands.
    """
    facts = run.facts
    found = enumerated(facts, run.clock, limits)
    for node, tables in found.items():
        reasons = Reasons(facts, node, found, limits, run.clock)
        if not len(tables):
            raise ContradictionError(*reasons.of_none())
        _note(run, node, tables, reasons)
    if 0 not in found:
        return False
    run.pool.add(found[0])
    run.posterior, total = counted_posterior(facts, found[0], run.clock)
    run.counted = _counted(run, len(found[0]), total, limits)
    without = run.counted.data_sets_without_splits
    run.split_bits = Undetermined("the data sets without split rows are too many to count")
    if without is not None:
        run.split_bits = exactly(max(_log2(without) - _log2(total), 0.0))
    return True


def _note(run: Run, node: int, tables: IntArray, reasons: Reasons) -> None:
    """Note the least and greatest count of each cell over all tables of a node, and which split proves it."""
    bounds, start = run.bounds, run.facts.span(node).start
    least, most = tables.min(axis=0), tables.max(axis=0)
    here = slice(start, start + len(least))
    for s, klass in np.argwhere(least > bounds.low[here]).tolist():
        value = int(least[s, klass])
        bounds.raise_low(start + s, klass, value, reasons.of(start + s, klass, value, 1))
    for s, klass in np.argwhere(most < bounds.high[here]).tolist():
        value = int(most[s, klass])
        bounds.cut_high(start + s, klass, value, reasons.of(start + s, klass, -value, -1))


def _log2(number: int) -> float:
    """Return the logarithm of a whole number of any size."""
    shift = max(number.bit_length() - 60, 0)
    return float(np.log2(float(number >> shift))) + shift


def _counted(run: Run, worlds: int, total: int, limits: Limits) -> Counted:
    """Count the worlds without split rows: leaf by leaf, or one by one where rows reach across leaves."""
    facts = run.facts
    if facts.lines:
        free = enumerated(facts, run.clock, limits, splits=False).get(0)
        if free is None:
            return Counted(worlds, total)
        return Counted(worlds, total, len(free), sum(data_sets(facts, 0, free, run.clock)))
    number, sets = 1, 1
    for place in facts.places.values():
        tables = place_tables(facts, place, limits.kept)
        if tables is None:
            return Counted(worlds, total)
        number, sets = (
            number * len(tables),
            sets * sum(data_sets(facts, place.start, tables, run.clock)),
        )
    return Counted(worlds, total, number, sets)
