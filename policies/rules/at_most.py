"""The metric must be at most the limit."""

from __future__ import annotations

from treewarden.audit.reading import Reading, Undetermined
from treewarden.policies.rules import Rule
from treewarden.policies.verdict import PolicyVerdict


class AtMost(Rule):
    """Passes where the high end is at the limit or below; for measures whose large readings are dangerous."""

    risk = "high"
    words = "at most"

    def judge(self, reading: Reading, limit: float) -> PolicyVerdict:
        if isinstance(reading, Undetermined):
            return PolicyVerdict.UNDETERMINED
        if reading.high <= limit:
            return PolicyVerdict.PASS
        return PolicyVerdict.UNDETERMINED if reading.low <= limit else PolicyVerdict.FAIL


RULE = AtMost()
