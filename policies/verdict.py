"""The three answers, from best to worst; "could not tell" is never a pass."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum


class Verdict(IntEnum):
    """PASS < UNDETERMINED < FAIL."""

    PASS = 0
    UNDETERMINED = 1
    FAIL = 2

    @property
    def word(self) -> str:
        """The verdict as it is typed: ``pass``, ``undetermined``, ``fail``."""
        return self.name.lower()


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst verdict; undetermined where nothing was judged."""
    return max(verdicts, default=Verdict.UNDETERMINED)
