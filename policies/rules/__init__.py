"""How a reading is held against a limit: one rule per file."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from treewarden.audit.reading import Reading, Undetermined
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.plugins import PluginIndex, discover


class Rule(ABC):
    """Compares a reading with a limit and decides on the bad end: it passes only if even the worst case does.

    ``risk`` is the end of a measure that the rule guards; ``is_strict`` says that a reading at the limit breaks it;
    ``words`` read before the limit.
    """

    risk: ClassVar[Literal["low", "high"]]
    is_strict: ClassVar[bool] = False
    words: ClassVar[str]

    @abstractmethod
    def judge(self, reading: Reading, limit: float) -> PolicyVerdict:
        """Return PASS or FAIL where the whole reading says so, else UNDETERMINED.

        It depends on nothing but which ends are below the limit, at it, or above.
        """

    def margin(self, reading: Reading, limit: float) -> float | None:
        """Return how far the limit is shown to be met: 1 at it, 0.5 half way there, 2 twice over; None if not told.

        A minimum of 5 of which 4 is shown is met to 0.8; a maximum of 0.6 of which 0.8 is not excluded, to 0.75. Never
        below 1 where the rule passes, nor above 1 where it fails.
        """
        if isinstance(reading, Undetermined):
            return None
        have, wanted = (reading.low, limit) if self.risk == "low" else (limit, reading.high)
        if wanted <= 0:
            return math.inf if have > wanted or (have == wanted and not self.is_strict) else 0.0
        return max(have / wanted, 0.0)


def rules() -> PluginIndex[Rule]:
    """Return every rule by name, in name order."""
    return discover(sys.modules[__name__], "RULE", Rule)
