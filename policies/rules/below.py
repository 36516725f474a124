"""The metric must be below the limit. At the limit the check fails."""

from __future__ import annotations

from treewarden.audit.reading import Reading, Undetermined
from treewarden.policies.rules import Rule
from treewarden.policies.verdict import PolicyVerdict


class Below(Rule):
    """Passes where the high end of the reading is below the limit; for measures whose large readings are dangerous."""

    risk = "high"
    is_strict = True
    words = "less than"

    def judge(self, reading: Reading, limit: float) -> PolicyVerdict:
        if isinstance(reading, Undetermined):
            return PolicyVerdict.UNDETERMINED
        if reading.high < limit:
            return PolicyVerdict.PASS
        return PolicyVerdict.UNDETERMINED if reading.low < limit else PolicyVerdict.FAIL


RULE = Below()
