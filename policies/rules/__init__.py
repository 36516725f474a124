"""How a reading is held against a limit: one rule per file."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from typing import ClassVar, Literal

from audit.reading import Reading
from policies.verdict import Verdict
from ppdm_models.plugins import discover


class Rule(ABC):
    """Compares a reading with a limit and decides on the bad end: it passes only if even the worst case does.

    ``risk`` is the end of a measure that the rule guards; ``is_strict`` says that a reading at the limit breaks it;
    ``words`` read before the limit.
    """

    risk: ClassVar[Literal["low", "high"]]
    is_strict: ClassVar[bool] = False
    words: ClassVar[str]

    @abstractmethod
    def judge(self, reading: Reading, limit: float) -> Verdict:
        """Return PASS or FAIL where the whole reading says so, else UNDETERMINED."""


def rules() -> dict[str, Rule]:
    """Return every rule by name, in name order."""
    return discover(sys.modules[__name__], "RULE", Rule)
