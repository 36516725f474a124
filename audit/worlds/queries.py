"""Decides the cells that no witness moved: from the lowest node above a leaf upwards, by proof or by another world."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from audit.worlds import cpsat
from audit.worlds.cells import Bounds, ContradictionError
from audit.worlds.check import first_broken, path_holds, scope_holds
from audit.worlds.clock import Clock
from audit.worlds.explain import below
from audit.worlds.facts import Facts
from audit.worlds.pool import Pool
from audit.worlds.relax import NOTHING, Answer, Scope
from audit.worlds.search import branch_and_bound
from audit.worlds.swaps import swap_stuck

IntArray = NDArray[np.int64]
LARGEST_SCOPE_CELLS = 60_000
SWAP_SECONDS = 4.0
EASY = ((0.25, 2), (1.0, 4))
"""Seconds per question and nodes upwards of the first passes, so that a hard question does not hold up easy ones."""


def decide(facts: Facts, bounds: Bounds, pool: Pool, clock: Clock, query_seconds: float) -> None:
    """Prove or move every cell that no world moves, profiles that may be forced first.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    scopes: dict[int, Scope] = {}
    if pool.is_empty and not clock.is_over:
        _first_world(facts, bounds, pool, scopes, clock)
    for seconds, levels in (*EASY, (query_seconds, len(facts.tree.nodes))):
        _one_pass(facts, bounds, pool, scopes, (clock, seconds, levels))


def _one_pass(
    facts: Facts,
    bounds: Bounds,
    pool: Pool,
    scopes: dict[int, Scope],
    effort: tuple[Clock, float, int],
) -> None:
    """Ask every open question once, for so many seconds each and so many nodes upwards."""
    clock, seconds, levels = effort
    of_place = facts.place_of()
    for position in _by_risk(facts, bounds, pool):
        for klass in range(facts.classes):
            for sign in (1, -1):
                if clock.is_over:
                    return
                query = _target(bounds, pool, position, klass, sign)
                if query is None:
                    continue
                known, part = len(pool.tables), clock.part(seconds)
                cell = (int(of_place[position]), (position, klass), sign, query)
                _settle(facts, bounds, pool, scopes, cell, (part, levels))
                if len(pool.tables) > known:
                    # A far world has neighbours that the worlds before it did not have.
                    swap_stuck(facts, pool, bounds, clock.part(SWAP_SECONDS), first=known)


def _by_risk(facts: Facts, bounds: Bounds, pool: Pool) -> list[int]:
    """Return the positions with stuck cells, those that may be forced first."""
    stuck = (bounds.low < bounds.high) & (pool.low >= pool.high)
    may_be_forced = (np.minimum(pool.low, bounds.high) == facts.counts[:, None]).any(axis=1)
    rows = np.flatnonzero(stuck.any(axis=1))
    return sorted(rows.tolist(), key=lambda row: (not may_be_forced[row], row))


def _target(bounds: Bounds, pool: Pool, position: int, klass: int, sign: int) -> int | None:
    """Return what is to be proved of ``sign * cell``: that it never falls below what all worlds so far have."""
    low, high = int(bounds.low[position, klass]), int(bounds.high[position, klass])
    reached = int(pool.low[position, klass]), int(pool.high[position, klass])
    if low == high or (reached[0] < reached[1]):
        return None
    if pool.is_empty:
        return None
    if sign > 0:
        return reached[0] if reached[0] > low else None
    return -reached[1] if reached[1] < high else None


def _settle(
    facts: Facts,
    bounds: Bounds,
    pool: Pool,
    scopes: dict[int, Scope],
    query: tuple[int, tuple[int, int], int, int],
    effort: tuple[Clock, int],
) -> None:
    """Prove the target at some node on the path, or find a world below it."""
    place, cell, sign, target = query
    clock, levels = effort
    for node in facts.path(place):
        span = facts.span(node)
        if (
            levels <= 0
            or (span.stop - span.start) * facts.classes > LARGEST_SCOPE_CELLS
            or clock.is_over
        ):
            return
        if not any(
            step.index in facts.splits or step.index in facts.lines
            for step in facts.tree.below(node)
        ):
            continue
        if node not in scopes:
            scopes[node] = Scope(facts, bounds, node)
        levels -= 1
        scope = scopes[node]
        if _settled_in(scope, pool, (cell, sign, target), clock):
            return


def _settled_in(
    scope: Scope, pool: Pool, query: tuple[tuple[int, int], int, int], clock: Clock
) -> bool:
    """Return whether the question was settled with the rows below one node."""
    facts, bounds, node = scope.facts, scope.bounds, scope.node
    cell, sign, target = query
    answer = scope.least(cell, sign, target, clock)
    if answer.bound is None:
        raise ContradictionError(*answer.says)
    if answer.bound > NOTHING:
        _note(facts, bounds, node, cell, sign, answer.bound, answer.says)
    if answer.bound >= target:
        return True
    if answer.point is not None and _is_witness(
        scope, pool, np.rint(answer.point).astype(np.int64), cell, sign, target
    ):
        return True
    if clock.is_over:
        return False
    if facts.classes > 2 and cpsat.IS_THERE:
        return _noted(scope, pool, query, cpsat.ask(scope, cell, sign, target, clock))
    point = scope.integer_point(cell, sign, target, clock.part(clock.left / 2))
    if point is not None:
        return _is_witness(scope, pool, point, cell, sign, target)
    return _noted(scope, pool, query, branch_and_bound(scope, cell, sign, target, clock))


def _noted(
    scope: Scope, pool: Pool, query: tuple[tuple[int, int], int, int], found: Answer | None
) -> bool:
    """Note what a search proved, or the world it found; return whether the question is settled."""
    cell, sign, target = query
    if found is None or found.bound is None:
        return False
    if found.bound >= target:
        _note(scope.facts, scope.bounds, scope.node, cell, sign, target, found.says)
        return True
    assert found.point is not None
    return _is_witness(scope, pool, found.point.astype(np.int64), cell, sign, target)


def _note(
    facts: Facts,
    bounds: Bounds,
    node: int,
    cell: tuple[int, int],
    sign: int,
    bound: int,
    says: tuple[str, ...],
) -> None:
    why = below(facts, node, list(says))
    if sign > 0:
        bounds.raise_low(*cell, bound, why)
        rest = int(facts.counts[cell[0]]) - bound
        for other in range(facts.classes):
            if other != cell[1]:
                bounds.cut_high(cell[0], other, rest, why)
        return
    bounds.cut_high(*cell, -bound, why)
    if facts.classes == 2:
        bounds.raise_low(cell[0], 1 - cell[1], int(facts.counts[cell[0]]) + bound, why)


def _is_witness(
    scope: Scope, pool: Pool, point: IntArray, cell: tuple[int, int], sign: int, target: int
) -> bool:
    """Put a scope's table into a world of the pool; add it if it is a world and answers the question."""
    facts, span = scope.facts, scope.facts.span(scope.node)
    if sign * int(point[cell[0] - span.start, cell[1]]) >= target or (point < 0).any():
        return False
    base = pool.tables[0].copy()
    base[span] = point
    if not scope_holds(facts, scope.node, base) or not path_holds(facts, scope.node, base):
        return False
    pool.add(base[None])
    return True


def _first_world(
    facts: Facts, bounds: Bounds, pool: Pool, scopes: dict[int, Scope], clock: Clock
) -> None:
    """Look for any world, where there is no truth and the sampler gave up."""
    scope = scopes.setdefault(0, Scope(facts, bounds, 0))
    free = np.argwhere(bounds.low < bounds.high)
    cell = (int(free[0][0]), int(free[0][1])) if len(free) else (0, 0)
    answer = scope.least(cell, 1, 2**60, clock.part(clock.left / 3))
    if answer.bound is None:
        raise ContradictionError(*answer.says)
    points = [] if answer.point is None else [np.rint(answer.point).astype(np.int64)]
    whole = scope.integer_point(cell, 1, int(bounds.high[cell]) + 1, clock.part(clock.left / 2))
    points += [] if whole is None else [whole]
    for point in points:
        if (point >= 0).all() and first_broken(facts, point) is None:
            pool.add(point[None])
            return
