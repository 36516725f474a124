"""How grave it is where a clause is not met."""

from __future__ import annotations

from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From the mildest to the one that counts whatever a gate is told to fail on."""


def counts(severity: Severity, fail_on: Severity) -> bool:
    """Return whether something of this severity makes up a verdict for which the mildest that does is ``fail_on``."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(fail_on)
