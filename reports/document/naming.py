"""What findings are called: the same in every report, and told from each other by what they are about."""

from __future__ import annotations

import hashlib

from treewarden.reports.document.parts import Finding

RELEASES_LINKED = "releases-linked"
"""The finding that nothing says who is who in the tables of several releases; it names neither files nor people."""
OF_WAIVERS = ("waiver-", "baseline-")
"""How findings about waivers and baselines begin."""


def finding_id(clause: str, leaf: str = "") -> str:
    """Return the name of what breaks a clause in a leaf, or in the model as a whole: the same in every output."""
    return hashlib.sha256(f"{clause}\n{leaf}".encode("utf-8", "backslashreplace")).hexdigest()[:16]


def is_about_waivers(clause: str, measure: str) -> bool:
    """Return whether a finding is about a waiver or a baseline, and so about nobody in the table."""
    return not measure and clause.startswith(OF_WAIVERS)


def its_own_words(found: Finding) -> str | None:
    """Return the message of a finding that is about nobody in the table, as it may be read by anybody; else None."""
    is_of_nobody = is_about_waivers(found.clause, found.measure) or (
        not found.measure and found.clause == RELEASES_LINKED
    )
    return found.message if is_of_nobody else None
