"""The metric must be above the limit. At the limit the check fails."""

from __future__ import annotations

from treewarden.audit.reading import Reading, Undetermined
from treewarden.policies.rules import Rule
from treewarden.policies.verdict import PolicyVerdict


class Above(Rule):
    """Passes where the low end of the reading is above the limit; for measures whose small readings are dangerous."""

    risk = "low"
    is_strict = True
    words = "more than"

    def judge(self, reading: Reading, limit: float) -> PolicyVerdict:
        if isinstance(reading, Undetermined):
            return PolicyVerdict.UNDETERMINED
        if reading.low > limit:
            return PolicyVerdict.PASS
        return PolicyVerdict.UNDETERMINED if reading.high > limit else PolicyVerdict.FAIL


RULE = Above()
