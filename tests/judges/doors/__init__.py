"""Doors: how files and tables become facts, one kind of case a file, each against an independent answer.

A file exports ``JUDGE``, a ``Judge``; its file name is the kind that the command line names. ``judge`` draws one case
from a seed, asks the product as a user would, and returns what the product claimed that the independent answer
contradicts. The same seed gives the same case.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Trial:
    """One judged case: the claims that did not hold, in words, and how often what was tried."""

    misses: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def claim(self, holds: bool, miss: str) -> None:
        """Note a miss unless the claim holds."""
        if not holds:
            self.misses.append(miss)


class Judge(ABC):
    """One kind of case, and the independent answer to it."""

    @abstractmethod
    def judge(self, seed: int) -> Trial:
        """Draw the case of a seed, ask the product, and compare."""
