"""What a report says of waivers and baselines: findings about them, and how much was accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from policies.severity import OF_WAIVERS
from reports.document.parts import Finding
from reports.document.words import counted

if TYPE_CHECKING:  # what a gate says of an earlier audit needs no decision
    from policies.judging.decision import Decision

ABOUT_WAIVERS = "whether what is accepted is accepted in order"


def is_about_waivers(clause: str, measure: str) -> bool:
    """Return whether a finding is about a waiver or a baseline, and so about nobody in the table."""
    return not measure and clause.startswith(OF_WAIVERS)


def its_own_words(found: Finding) -> str | None:
    """Return the message of a finding that is about nobody in the table, as it may be read by anybody; else None."""
    return found.message if is_about_waivers(found.clause, found.measure) else None


def accepted_words(decision: Decision) -> str:
    """Return how many findings were accepted, in words; "" where none was."""
    some = sum(each.accepted is not None for each in decision.findings)
    if not some:
        return ""
    they = "is" if some == 1 else "are"
    return f"{counted(some, 'finding', 'findings')} {they} accepted and {'does' if some == 1 else 'do'} not count"
