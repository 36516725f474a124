"""The three answers as texts, as reports and exit codes have them."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """PASS, FAIL, or UNDETERMINED: nothing fails but something could not be decided, which is never a pass."""

    PASS = "PASS"
    FAIL = "FAIL"
    UNDETERMINED = "UNDETERMINED"
