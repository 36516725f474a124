"""The three verdicts, from best to worst; "could not tell" is never a pass.

With them stand severities, kinds of findings that no clause of a policy stands for, and how a sentence begins.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Literal

NONE = "none allowed"
"""The limit of what must not be there at all."""
NEW_MODEL = "grow"
"""The name of a repair that changes no model: it trains a new tree under the policy."""


class PolicyVerdict(IntEnum):
    """PASS < UNDETERMINED < FAIL."""

    PASS = 0
    UNDETERMINED = 1
    FAIL = 2

    @property
    def word(self) -> str:
        """The verdict as it is typed: ``pass``, ``undetermined``, ``fail``."""
        return self.name.lower()


def worst(verdicts: Iterable[PolicyVerdict]) -> PolicyVerdict:
    """Return the worst verdict; undetermined where nothing was judged."""
    return max(verdicts, default=PolicyVerdict.UNDETERMINED)


# How severe it is where a clause is not met.

Severity = Literal["error", "warning", "note"]
SEVERITIES: tuple[Severity, ...] = ("note", "warning", "error")
"""From the mildest to the one that counts whatever a gate is told to fail on."""


def counts(severity: Severity, fail_on: Severity) -> bool:
    """Return whether something of this severity makes up a verdict for which the mildest that does is ``fail_on``."""
    return SEVERITIES.index(severity) >= SEVERITIES.index(fail_on)


# Names of findings that no clause of a policy stands for.

OF_EXCEPTIONS = ("waiver-", "baseline-")
"""How the names of findings about waivers and baselines begin; no clause of a policy is called so."""


class FindingKind(StrEnum):
    """A finding that no clause asked for, by the name that it has in every report; no clause is called so.

    ``NO_AUDIT`` and ``NOT_JUDGED`` are of gates alone. The others that are not about waivers and baselines say whether
    anything can be believed at all: they are never accepted.
    """

    TABLE_AGREES = "table-agrees"
    FACTS_AGREE = "facts-agree"
    RELEASES_LINKED = "releases-linked"
    TARGET_NAMED = "target-named"
    FILE_AGREES = "file-agrees"
    LABELS_BELIEVED = "labels-believed"
    NOTHING_JUDGED = "nothing-judged"
    RECORD_ORDER = "record-order"
    NO_AUDIT = "no-audit"
    NOT_JUDGED = "not-judged"
    WAIVER_EXPIRED = "waiver-expired"
    WAIVER_UNKNOWN = "waiver-unknown"
    WAIVER_BROAD = "waiver-over-broad"
    WAIVER_CONTRADICTS = "waiver-contradicts-itself"
    WAIVER_UNUSED = "waiver-unused"
    WAIVER_OUT_OF_REACH = "waiver-out-of-reach"
    WAIVER_UNDETERMINED = "waiver-undetermined"
    WAIVER_OUTGROWN = "waiver-outgrown"
    BASELINE_OTHER_MODEL = "baseline-other-model"
    BASELINE_OTHER_AUDIT = "baseline-other-audit"

    @property
    def is_about_exceptions(self) -> bool:
        """Whether it is about a waiver or a baseline, and so about nobody in the table."""
        return self.value.startswith(OF_EXCEPTIONS)

    @property
    def is_about_evidence(self) -> bool:
        """Whether it says that what was given cannot be believed, or that nothing was judged."""
        return not self.is_about_exceptions and self not in (self.NO_AUDIT, self.NOT_JUDGED)


FILE_NAME = re.compile(r"\S*(?:/\S|\w\.[A-Za-z]\w*(?=[\s:,;]|$))")
"""What a sentence begins with that is the name of a file, with its ending or its folder."""


def requirement(limit_words: str) -> str:
    """Return what a policy requires, as a clause of a sentence."""
    return "the policy allows none" if limit_words == NONE else f"the policy requires {limit_words}"


def capital(text: str) -> str:
    """Return a text with a capital first letter, but for a file's name, which stays as it is."""
    return text if FILE_NAME.match(text) else f"{text[:1].upper()}{text[1:]}"
