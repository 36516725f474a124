"""How much work a file may cause, so that a hostile one cannot make it endless."""

from __future__ import annotations


class WorkBudget:
    """Work that a hostile file cannot make endless."""

    def __init__(self, most: int) -> None:
        """Take how much there is."""
        self._left = most

    def take(self, work: int) -> bool:
        """Use some of it up; return whether it was there."""
        self._left -= work
        return self._left >= 0
