"""Decides the cells that no witness moved: which questions are put to the solvers, and in which order."""

from __future__ import annotations

import numpy as np

from audit.worlds.found.check import first_broken
from audit.worlds.found.open import may_be_certain, not_moved
from audit.worlds.proofs import cpsat
from audit.worlds.proofs.bounds import ContradictionError
from audit.worlds.queries import Asker, Effort, Question
from ppdm_models.arrays import BoolArray

MOST_FIRST_BRANCHES = 10_000
FIRST_UNITS = 5.0
MOST_TOGETHER = 100
EFFORTS = (Effort(2, 10, 30, 0.1), Effort(4, 30, 100, 0.5), Effort(10_000, 60, 400, 3.0))
"""The first passes are short, so that a hard question does not hold up easy ones."""


def decide_certain(asker: Asker) -> None:
    """Ask of every profile that may be certain whether it is: prove it, or find a world where it is not.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    if asker.pool.is_empty:
        return
    asker.wanted = may_be_certain
    for effort in EFFORTS:
        _one_by_one(asker, _cells(asker.open()), effort, None)


def decide_rest(asker: Asker, most: int | None) -> bool:
    """Ask whether each value that no world has is ruled out, then how far the other cells that none moves can go.

    At most so many questions are put, with little effort (None: all of them); return whether some were not.

    Raises:
        ContradictionError: no world obeys the facts.
    """
    if asker.pool.is_empty:
        return False
    asker.wanted = not_moved
    end = None if most is None else asker.asked + most
    for number, effort in enumerate(EFFORTS if most is None else EFFORTS[:1]):
        absent = asker.pool.high == 0
        if not number and asker.facts.classes > 2:
            _together(asker, _cells(asker.open()), effort, end)
        for cells in (asker.open() & absent, asker.open() & ~absent):
            _one_by_one(asker, _cells(cells), effort, end)
    return most is not None and asker.asked >= (end or 0) and bool(asker.open().any())


def _cells(wanted: BoolArray) -> list[tuple[int, int]]:
    return [(position, klass) for position, klass in np.argwhere(wanted).tolist()]


def _is_over(asker: Asker, end: int | None) -> bool:
    return asker.clock.is_over or (end is not None and asker.asked >= end) or asker.stop()


def _one_by_one(
    asker: Asker, cells: list[tuple[int, int]], effort: Effort, end: int | None
) -> None:
    for cell in cells:
        for sign in (1, -1):
            if _is_over(asker, end):
                return
            question = _open_question(asker, cell, sign)
            if question is not None:
                asker.settle(question, effort)


def _together(asker: Asker, cells: list[tuple[int, int]], effort: Effort, end: int | None) -> None:
    """Ask of all these cells below each lowest node with rows at once."""
    of_place = asker.facts.place_of()
    below: dict[int, list[Question]] = {}
    for cell in cells:
        asker.clock.check()
        node = next(filter(asker.has_rows, asker.facts.path(int(of_place[cell[0]]))), None)
        asked = (_open_question(asker, cell, sign) for sign in (1, -1))
        if node is not None and not asker.is_large(node):
            below.setdefault(node, []).extend(each for each in asked if each is not None)
    for node, questions in below.items():
        for begin in range(0, len(questions), MOST_TOGETHER):
            if _is_over(asker, end):
                return
            some = questions[begin : begin + MOST_TOGETHER]
            asker.settle_together(node, [each for each in some if asker.is_open(each)], effort)


def _open_question(asker: Asker, cell: tuple[int, int], sign: int) -> Question | None:
    """Return what is to be proved of ``sign * cell``: that it never falls below what all worlds so far have."""
    low, high = (int(end[cell]) for end in (asker.bounds.low, asker.bounds.high))
    least, most = (int(end[cell]) for end in (asker.pool.low, asker.pool.high))
    if low == high or least < most:
        return None
    if sign > 0:
        return Question(cell, 1, least) if least > low else None
    return Question(cell, -1, -most) if most < high else None


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
