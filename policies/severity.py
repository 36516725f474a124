"""How grave it is that a clause is not met, and what findings are called: all that is said of them needs no more.

Whoever shows what was decided earlier takes it from here, and loads nothing that decides.
"""

from __future__ import annotations

import hashlib
from typing import Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From the mildest to the one that counts whatever a gate is told to fail on."""
OF_WAIVERS = ("waiver-", "baseline-")
"""How findings about waivers and baselines begin."""


def finding_id(clause: str, leaf: str = "") -> str:
    """Return the name of what breaks a clause in a leaf, or in the model as a whole: the same in every output."""
    return hashlib.sha256(f"{clause}\n{leaf}".encode("utf-8", "backslashreplace")).hexdigest()[:16]
