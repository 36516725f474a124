"""Whether swaps that somebody else found lead from a world to another one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.found.pool import Swap
from treewarden.audit.worlds.found.swaps import is_other, swaps_of
from treewarden.ppdm_models.arrays import FloatArray, IntArray


def swaps_hold(facts: Facts, table: IntArray, swaps: Sequence[Swap], clock: Clock) -> bool:
    """Return whether each swap leads from a world (P, m) to another one; exact.

    Raises:
        OutOfTimeError: the budget is used up.
    """
    of_place, before = facts.place_of(), dict[int, tuple[FloatArray, FloatArray]]()
    by_leaf: dict[int, list[tuple[int, int, int, int]]] = {}
    for swap in swaps:
        node = int(of_place[swap.first])
        if (swap.applied(table) < 0).any():
            return False
        if swap.second is None:
            if not is_other(facts, node, swap.applied(table), clock):
                return False
        elif of_place[swap.second] != node:
            return False
        else:
            by_leaf.setdefault(node, []).append((swap.first, swap.klass, swap.second, swap.other))
    return all(
        sum(1 for _ in swaps_of(facts, table, node, np.array(some).T, before, clock)) == len(some)
        for node, some in by_leaf.items()
    )
