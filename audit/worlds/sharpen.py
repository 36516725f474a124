"""Draws the proved and the found ends of the most disclosed profiles together, until the worst of them is known."""

from __future__ import annotations

import numpy as np

from audit.worlds.queries import Asker, Effort, Question

MOST_QUESTIONS = 60
EFFORT = Effort(10_000, 30, 100, 1.0)


def sharpen(asker: Asker) -> None:
    """Ask how small the largest share can be, until the greatest proved floor is the greatest that is left.

    A floor of zero or of everybody is decided before; here are the shares between. The most disclosed cell is asked
    first whether it can fall to what is proved of it, then to the middle of what is left, and so on.
    """
    tried: set[tuple[int, int, int]] = set()
    for _ in range(MOST_QUESTIONS):
        question = (
            None
            if asker.clock.is_over or asker.pool.is_empty or asker.stop()
            else _next(asker, tried)
        )
        if question is None:
            return
        tried.add((*question.cell, question.target))
        asker.settle(question, EFFORT)


def _next(asker: Asker, tried: set[tuple[int, int, int]]) -> Question | None:
    """Return the next question of the cell with the greatest least share found, if its proved share is smaller."""
    size = np.maximum(asker.facts.counts, 1)[:, None]
    reached = np.where(asker.facts.counts[:, None] > 0, asker.pool.low / size, 0.0)
    worst = reached.max()
    if (asker.bounds.low / size).max() >= worst:
        return None
    for position, klass in np.argwhere(reached == worst).tolist():
        low = int(asker.bounds.low[position, klass])
        most = int(asker.pool.low[position, klass])
        for target in dict.fromkeys((low + 1, (low + most + 1) // 2, most)):
            if (position, klass, target) not in tried:
                return Question((position, klass), 1, target)
    return None
