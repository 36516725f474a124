"""Decides the cells that no witness moved: which questions are put to the solvers, and in which order."""

from __future__ import annotations

import numpy as np

from audit.worlds.found.check import first_broken
from audit.worlds.proofs import cpsat
from audit.worlds.proofs.bounds import ContradictionError
from audit.worlds.queries import Asker, Effort, Question

MOST_FIRST_BRANCHES = 10_000
FIRST_UNITS = 5.0
MOST_TOGETHER = 100
EFFORTS = (Effort(2, 10, 30, 0.1), Effort(4, 30, 100, 0.5), Effort(10_000, 60, 400, 3.0))
"""The first passes are short, so that a hard question does not hold up easy ones."""


def decide(asker: Asker) -> None:
    """Prove or move every cell that no world moves, profiles that may be forced first.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    if asker.pool.is_empty and not asker.clock.is_over:
        _first_world(asker)
    if asker.pool.is_empty:
        return
    for number, effort in enumerate(EFFORTS):
        risky, others = _by_risk(asker)
        _one_by_one(asker, risky, effort)
        if not number and asker.facts.classes > 2 and cpsat.is_there():
            _together(asker, others, effort)
        _one_by_one(asker, others, effort)


def _one_by_one(asker: Asker, positions: list[int], effort: Effort) -> None:
    for position in positions:
        for klass in range(asker.facts.classes):
            for sign in (1, -1):
                if asker.clock.is_over:
                    return
                question = _open_question(asker, position, klass, sign)
                if question is not None:
                    asker.settle(question, effort)


def _together(asker: Asker, positions: list[int], effort: Effort) -> None:
    """Ask of all these positions below each lowest node with rows at once."""
    of_place, classes = asker.facts.place_of(), range(asker.facts.classes)
    below: dict[int, list[Question]] = {}
    for position in positions:
        node = next(filter(asker.has_rows, asker.facts.path(int(of_place[position]))), None)
        asked = (_open_question(asker, position, c, sign) for c in classes for sign in (1, -1))
        if node is not None and not asker.is_large(node):
            below.setdefault(node, []).extend(each for each in asked if each is not None)
    for node, questions in below.items():
        for begin in range(0, len(questions), MOST_TOGETHER):
            some = questions[begin : begin + MOST_TOGETHER]
            asker.settle_together(node, [each for each in some if asker.is_open(each)], effort)


def _by_risk(asker: Asker) -> tuple[list[int], list[int]]:
    """Return the positions with stuck cells: those that may be forced, and the others."""
    bounds, pool = asker.bounds, asker.pool
    stuck = ((bounds.low < bounds.high) & (pool.low >= pool.high)).any(axis=1)
    may = np.minimum(pool.low, bounds.high) == asker.facts.counts[:, None]
    first = may.any(axis=1)
    return np.flatnonzero(stuck & first).tolist(), np.flatnonzero(stuck & ~first).tolist()


def _open_question(asker: Asker, position: int, klass: int, sign: int) -> Question | None:
    """Return what is to be proved of ``sign * cell``: that it never falls below what all worlds so far have."""
    low, high = (int(end[position, klass]) for end in (asker.bounds.low, asker.bounds.high))
    least, most = (int(end[position, klass]) for end in (asker.pool.low, asker.pool.high))
    if low == high or least < most:
        return None
    if sign > 0:
        return Question((position, klass), 1, least) if least > low else None
    return Question((position, klass), -1, -most) if most < high else None


def _first_world(asker: Asker) -> None:
    """Look for any world, where there is no truth and the sampler gave up."""
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
    if whole is None and cpsat.is_there():
        exact = cpsat.ask(scope, [(cell, 1, anything)], clock.part(clock.left / 2), FIRST_UNITS)
        if exact is not None and exact.point is None:
            raise ContradictionError(*exact.says)
        if exact is not None and exact.point is not None:
            points.append(np.rint(exact.point).astype(np.int64))
    for point in points:
        if (point >= 0).all() and first_broken(facts, point) is None:
            asker.pool.add(point[None])
            return
