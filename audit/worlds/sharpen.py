"""Draws the proved and the found ends of the most disclosed profiles together, until the worst of them is known."""

from __future__ import annotations

import numpy as np

from treewarden.audit.worlds.asking import Asking
from treewarden.audit.worlds.found.open import may_be_certain
from treewarden.audit.worlds.portions import Single
from treewarden.audit.worlds.queries import Effort, Question

MOST_QUESTIONS = 60
EFFORT = Effort(10_000, 30, 100, 1.0)


def sharpen(asking: Asking) -> None:
    """Ask how small the largest share can be, until the greatest proved floor is the greatest that is left.

    A floor of zero or of everybody is decided before; here are the shares between. The most disclosed cell is asked
    first whether it can fall to what is proved of it, then to the middle of what is left, and so on: each question
    hangs on the answer to the one before, so they are put one after the other.
    """
    tried: set[tuple[int, int, int]] = set()
    for _ in range(MOST_QUESTIONS):
        question = None if asking.pool.is_empty or asking.is_over() else _next(asking, tried)
        if question is None:
            return
        tried.add((*question.cell, question.target))
        asking.put([Single(question, EFFORT)], may_be_certain)


def _next(asking: Asking, tried: set[tuple[int, int, int]]) -> Question | None:
    """Return the next question of the cell with the greatest least share found, if its proved share is smaller."""
    size = np.maximum(asking.facts.counts, 1)[:, None]
    reached = np.where(asking.facts.counts[:, None] > 0, asking.pool.low / size, 0.0)
    worst = reached.max()
    if (asking.bounds.low / size).max() >= worst:
        return None
    for position, klass in np.argwhere(reached == worst).tolist():
        low = int(asking.bounds.low[position, klass])
        most = int(asking.pool.low[position, klass])
        for target in dict.fromkeys((low + 1, (low + most + 1) // 2, most)):
            if (position, klass, target) not in tried:
                return Question((position, klass), 1, target)
    return None
