"""Another world in words: for a profile, what else its records could just as well say, and who traded with them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from audit.worlds.check import path_holds
from audit.worlds.facts import Facts
from audit.worlds.pool import Pool
from audit.worlds.result import Witness

IntArray = NDArray[np.int64]
MOST_WITNESSES = 20


def witnesses(
    facts: Facts, pool: Pool, truth: IntArray | None, worst: Sequence[int]
) -> tuple[Witness, ...]:
    """Return worlds one swap away from the truth (else from another world), for the worst profiles first.

    ``worst`` are positions; profiles that no single swap moves have none.
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
        if not path_holds(facts, node, table):
            raise AssertionError("a swap left the worlds")
        classes = facts.tree.classes
        if swap.second is None:
            says = f"one record of {_who(facts, swap.first)} has {classes[swap.other]}"
        else:
            says = (
                f"one record of {_who(facts, swap.first)} trades {classes[swap.klass]} for"
                f" {classes[swap.other]} with {_who(facts, swap.second)}"
            )
        start = "the true table" if truth is not None and base == 0 else "another world"
        profile = int(facts.order[position])
        found.append(Witness(profile, f"in {start}, {says}", np.asarray(facts.profiles(table))))
    return tuple(found)


def _who(facts: Facts, position: int) -> str:
    return f"({facts.case.population.describe(int(facts.order[position]))})"
