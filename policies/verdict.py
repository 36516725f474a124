"""The three answers, from best to worst; "could not tell" is never a pass."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import Literal


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


# How grave it is where a clause is not met.

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From the mildest to the one that counts whatever a gate is told to fail on."""


def counts(severity: Severity, fail_on: Severity) -> bool:
    """Return whether something of this severity makes up a verdict for which the mildest that does is ``fail_on``."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(fail_on)
