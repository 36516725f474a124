"""What goes wrong between sides, without a word of what anybody's data say."""

from __future__ import annotations


class ProtocolError(Exception):
    """A side said what it may not say now, or what makes no sense; ``who`` is its number."""

    def __init__(self, who: int, problem: str) -> None:
        super().__init__(who, problem)
        self.who = who
        self.problem = problem
