"""Of what or whom a statement is, in words; apart, as reports are written where nothing is computed."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class KeySetting:
    """What messages call the setting that names the column of who is who, and how a column is named with it."""

    name: str
    naming: str
    quoted: Callable[[str], str]

    def advice(self, column: str) -> str:
        """Return in words how to name a column."""
        return self.naming.format(self.quoted(column))


KEY_OPTION = KeySetting("--id", "audit with --id {}", shlex.quote)
