"""Another world in words: for a profile, what else its records could just as well say, and who traded with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.worlds.clock import FOREVER, Clock, OutOfTimeError
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.found.check import path_holds
from treewarden.audit.worlds.found.pool import Pool
from treewarden.audit.worlds.result import Witness
from treewarden.ppdm_models.arrays import IntArray

MOST_WITNESSES = 20


def witnesses(
    facts: Facts, pool: Pool, truth: IntArray | None, worst: Sequence[int], until: Clock = FOREVER
) -> tuple[Witness, ...]:
    """Return worlds one swap away from the truth (else from another world), for the worst profiles first.

    ``worst`` are positions; profiles that no single swap moves have none, nor those that there is no time to check.
    """
    found: list[Witness] = []
    for position in [*worst, *sorted(set(pool.swaps) - set(worst))]:
        if position not in pool.swaps:
            continue
        base, swap = pool.swaps[position]
        if len(found) == MOST_WITNESSES:
            break
        table = swap.applied(pool.tables[base])
        node = int(facts.place_of()[position])
        try:
            if not path_holds(facts, node, table, until):
                raise AssertionError("a swap left the worlds")
        except OutOfTimeError:
            break
        classes = facts.tree.classes
        if swap.second is None:
            says = f"one of these records has {classes[swap.other]}, not {classes[swap.klass]}"
        else:
            own, other = swap.klass, swap.other
            partner = swap.second
            if position == swap.second:
                own, other, partner = swap.other, swap.klass, swap.first
            says = (
                f"one of these records trades {classes[own]} for {classes[other]} with"
                f" one that differs in {_differs(facts, position, partner)}"
            )
        start = "the true table" if truth is not None and base == 0 else "another world"
        profile = int(facts.order[position])
        found.append(Witness(profile, f"in {start}, {says}", np.asarray(facts.profiles(table))))
    return tuple(found)


def _differs(facts: Facts, position: int, other: int) -> str:
    """Return what another profile has that the first has not, in words."""
    people = facts.case.population
    first, second = int(facts.order[position]), int(facts.order[other])
    said = []
    for name in people.qi:
        column = people.columns[name]
        if column.text(first) != column.text(second):
            value = column.text(second)
            said.append(f"{name} = {'(missing)' if value is None else value}")
    return ", ".join(said)
