"""Decides one question by branch and bound where the linear relaxation does not: every branch is closed by a proof."""

from __future__ import annotations

import numpy as np

from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.proofs.relax import NOTHING, Answer, Scope
from treewarden.ppdm_models.arrays import IntArray

WHOLE = 1e-6


def branch_and_bound(
    scope: Scope, cell: tuple[int, int], sign: int, target: int, clock: Clock, branches: int
) -> Answer | None:
    """Prove that ``sign * cell`` is at least target below the scope's node, or find a table where it is not.

    Returns an answer with bound = target (proved), or with a whole-number point that breaks no row and proves nothing,
    as the branches that are left may hold less; None where the branches or the time ran out.
    """
    span = scope.facts.span(scope.node)
    stack = [(scope.bounds.low[span].copy(), scope.bounds.high[span].copy())]
    says: dict[str, None] = {}
    for _ in range(branches):
        if not stack:
            return Answer(target, None, tuple(says))
        if clock.is_over:
            return None
        low, high = stack.pop()
        answer = scope.least(cell, sign, target, clock, (low, high))
        if answer.bound is None or answer.bound >= target:
            says.update(dict.fromkeys(answer.says))
            continue
        if answer.point is None:
            return None
        off = np.abs(answer.point - np.rint(answer.point))
        if off.max() < WHOLE:
            return Answer(NOTHING, np.rint(answer.point))
        place = np.unravel_index(int(off.argmax()), off.shape)
        value = float(answer.point[place])
        stack += _parted(low, high, (int(place[0]), int(place[1])), value)
    return None


def _parted(
    low: IntArray, high: IntArray, place: tuple[int, int], value: float
) -> list[tuple[IntArray, IntArray]]:
    """Return the two boxes on either side of a value that is not whole; the nearer one is taken first."""
    below, above = high.copy(), low.copy()
    below[place], above[place] = int(np.floor(value)), int(np.ceil(value))
    sides = [(low, below), (above, high)]
    return sides if value - np.floor(value) > 0.5 else sides[::-1]
