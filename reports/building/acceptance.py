"""What a report says of waivers and baselines: findings about them, and how much was accepted."""

from __future__ import annotations

from treewarden.policies.judging.decision import Decision
from treewarden.reports.document.words import counted

ABOUT_WAIVERS = "whether what is accepted is accepted in order"


def accepted_words(decision: Decision) -> str:
    """Return how many findings were accepted, in words; "" where none was."""
    some = sum(each.accepted is not None for each in decision.findings)
    if not some:
        return ""
    they = "is" if some == 1 else "are"
    return f"{counted(some, 'finding', 'findings')} {they} accepted and {'does' if some == 1 else 'do'} not count"
