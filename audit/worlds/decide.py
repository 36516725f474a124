"""Decides the cells that no witness moved: which questions are put to the solvers, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from treewarden.audit.worlds.above import Above
from treewarden.audit.worlds.asking import Asking
from treewarden.audit.worlds.facts.facts import Facts
from treewarden.audit.worlds.found.check import first_broken
from treewarden.audit.worlds.found.open import may_be_certain, not_moved
from treewarden.audit.worlds.portions import Cell, OneByOne, Together
from treewarden.audit.worlds.proofs import cpsat
from treewarden.audit.worlds.proofs.bounds import ContradictionError
from treewarden.audit.worlds.queries import Asker, Effort
from treewarden.ppdm_models.arrays import BoolArray

MOST_FIRST_BRANCHES = 10_000
FIRST_UNITS = 5.0
PORTION_UNITS = 0.8
"""Deterministic seconds that a solver may search for the answers of a portion."""
LINEAR_SIZE, CURVED_SIZE = 5e6, 1e5
"""Cells times candidates below the nodes of a portion's questions, all together: about half a second's work. With two
classes rows are nearly linear."""
MOST_WORK = 4.0
"""Portions that a question counts as at most: how long a hard one takes is not known beforehand."""
TOGETHER_CELLS = 50
"""Cells that are asked about at once, both ways."""
EFFORTS = (Effort(2, 10, 30, 0.1, 4), Effort(4, 30, 100, 0.5, 4), Effort(10_000, 60, 400, 3.0))
"""The first passes are short, so that a hard question does not hold up easy ones. In the last one all are about the
whole tree, and what the first finds out helps the others."""


def decide_certain(asking: Asking) -> None:
    """Ask of every profile that may be certain whether it is: prove it, or find a world where it is not.

    Raises:
        ContradictionError: no world obeys the facts.
        OutOfTimeError: the budget is used up.
    """
    if asking.pool.is_empty:
        return
    for effort in EFFORTS:
        cells = _cells(asking.open(may_be_certain))
        asks = _one_by_one(asking.facts, cells, effort)
        asking.put(asks, may_be_certain, fewest=effort.fewest)


def decide_rest(asking: Asking, most: int | None) -> bool:
    """Ask whether each value that no world has is ruled out, then how far the other cells that none moves can go.

    At most so many questions are put, with little effort (None: all of them); return whether some were not.

    Raises:
        ContradictionError: no world obeys the facts.
        OutOfTimeError: the budget is used up.
    """
    if asking.pool.is_empty:
        return False
    facts, end = asking.facts, None if most is None else asking.asked + most
    for number, effort in enumerate(EFFORTS if most is None else EFFORTS[:1]):
        absent = asking.pool.high == 0
        if not number and facts.classes > 2:
            cells = _cells(asking.open(not_moved))
            asking.put(_together(facts, cells, effort), not_moved, end, effort.fewest)
        is_open = asking.open(not_moved)
        for some in (is_open & absent, is_open & ~absent):
            asks = _one_by_one(facts, _cells(some), effort)
            asking.put(asks, not_moved, end, effort.fewest)
    return most is not None and asking.asked >= (end or 0) and bool(asking.open(not_moved).any())


def _cells(wanted: BoolArray) -> list[Cell]:
    return [(position, klass) for position, klass in np.argwhere(wanted).tolist()]


def _one_by_one(facts: Facts, cells: list[Cell], effort: Effort) -> Iterator[OneByOne]:
    """Yield portions of neighbouring cells: one at first, as the first answer may be enough, then more.

    What is easy is mostly settled below the lowest node, for other cells there too: so one portion follows another
    there. Hard questions are put by themselves, and side by side wherever they are.
    """
    above = Above(facts)
    some: list[Cell] = []
    work, full = 0.0, 0.0
    for cell in cells:
        some.append(cell)
        work += _work(above, cell, effort)
        if work >= full or cell == cells[-1]:
            is_hard = work >= len(some)
            nodes = frozenset[int]() if is_hard else above.lowest(some)
            yield OneByOne(tuple(some), effort, work, nodes)
            some, work, full = [], 0.0, min(1.0, 2 * full or 0.25)


def _together(facts: Facts, cells: list[Cell], effort: Effort) -> Iterator[Together]:
    """Yield portions of all these cells below each lowest node with rows."""
    above = Above(facts)
    below: dict[int, list[Cell]] = {}
    for cell in cells:
        for node in above.nodes(cell)[:1]:
            below.setdefault(node, []).append(cell)
    for node, mine in below.items():
        for begin in range(0, len(mine), TOGETHER_CELLS):
            some = tuple(mine[begin : begin + TOGETHER_CELLS])
            yield Together(node, some, effort, _work(above, some[0], replace(effort, levels=1)))


def _work(above: Above, cell: Cell, effort: Effort) -> float:
    """Return about how much work a question is, as part of a portion."""
    full = LINEAR_SIZE if above.facts.classes == 2 else CURVED_SIZE
    work = max(effort.units / PORTION_UNITS, above.size(cell, effort.levels) / full)
    return min(work, MOST_WORK)


def first_world(asker: Asker) -> None:
    """Look for any world, where there is no truth and the sampler gave up.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    facts, bounds, clock = asker.facts, asker.bounds, asker.clock
    scope = asker.scope(0)
    free = np.argwhere(bounds.low < bounds.high)
    cell = (int(free[0][0]), int(free[0][1])) if len(free) else (0, 0)
    answer = scope.least(cell, 1, 2**60, clock.part(clock.left / 3))
    if answer.bound is None:
        raise ContradictionError(*answer.says)
    points = [] if answer.point is None else [np.rint(answer.point).astype(np.int64)]
    anything = int(bounds.high[cell]) + 1
    whole = scope.integer_point(cell, 1, anything, clock.part(clock.left / 2), MOST_FIRST_BRANCHES)
    points += [] if whole is None else [whole]
    if whole is None:
        exact = cpsat.ask(scope, [(cell, 1, anything)], clock.part(clock.left / 2), FIRST_UNITS)
        if exact is not None and exact.point is None:
            raise ContradictionError(*exact.says)
        if exact is not None and exact.point is not None:
            points.append(np.rint(exact.point).astype(np.int64))
    for point in points:
        if (point >= 0).all() and first_broken(facts, point) is None:
            asker.pool.add(point[None])
            return
