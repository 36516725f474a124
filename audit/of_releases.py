"""Of what or whom a statement is, in words; apart, as reports are written where nothing is computed."""

from __future__ import annotations

ALONE = "{} by itself"


WITH_OTHERS = "{} with all releases"


WITH_TABLE = "{} with the releases of the same table"


NOT_LINKED = "the tables of the releases are not linked"
"""How the reason begins where nobody said which records of several tables are one person."""


ADVERSARY = "the adversary “{}”"


def is_adversary(of: str) -> bool:
    """Return whether a statement is of an adversary, and of no release."""
    start, end = ADVERSARY.split("{}")
    return of.startswith(start) and of.endswith(end)


def of_release(name: str, said: str) -> str:
    """Return what is said of a release with its name before it, where that does not stand there by itself."""
    return said if said.startswith(f"{name}: ") else f"{name}: {said}"
