"""How grave it is that a clause is not met; and how findings are called that are about no clause but waivers."""

from __future__ import annotations

from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From the mildest to the one that counts whatever a gate is told to fail on."""
OF_WAIVERS = ("waiver-", "baseline-")
"""How findings about waivers and baselines begin; they are never accepted themselves."""
