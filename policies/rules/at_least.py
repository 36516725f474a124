"""The metric must be at least the limit."""

from __future__ import annotations

from treewarden.audit.reading import Reading, Undetermined
from treewarden.policies.rules import Rule
from treewarden.policies.verdict import PolicyVerdict


class AtLeast(Rule):
    """Passes where the low end is at the limit or above; for measures whose small readings are dangerous."""

    risk = "low"
    words = "at least"

    def judge(self, reading: Reading, limit: float) -> PolicyVerdict:
        if isinstance(reading, Undetermined):
            return PolicyVerdict.UNDETERMINED
        if reading.low >= limit:
            return PolicyVerdict.PASS
        return PolicyVerdict.UNDETERMINED if reading.high >= limit else PolicyVerdict.FAIL


RULE = AtLeast()
