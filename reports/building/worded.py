"""A verdict and a reading as values of a document; what could not be told never becomes a number."""

from __future__ import annotations

from collections.abc import Mapping

from treewarden.audit.reading import Reading, Undetermined
from treewarden.policies.judging.figures import span
from treewarden.policies.verdict import PolicyVerdict
from treewarden.reports.document.parts import Value, number
from treewarden.reports.document.words import Word

UNKNOWN = "not decided"


WORDS: Mapping[PolicyVerdict, Word] = {
    PolicyVerdict.PASS: "PASS",
    PolicyVerdict.UNDETERMINED: "UNDETERMINED",
    PolicyVerdict.FAIL: "FAIL",
}


def word(verdict: PolicyVerdict) -> Word:
    """Return a verdict as documents spell it."""
    return WORDS[verdict]


def value(reading: Reading, unit: str, beside: float | None = None) -> Value:
    """Return a reading as a value, worded so that it differs from the limit ``beside`` it if it does."""
    if isinstance(reading, Undetermined):
        return Value(low=None, high=None, text=UNKNOWN, reason=reading.reason or "no reason given")
    return Value(
        low=number(reading.low), high=number(reading.high), text=span(reading, unit, beside)
    )
