"""What an adversary can learn from a model, in a few facts with their figures: the summary of every report."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import Number
from treewarden.reports.document.words import count, counted

SURE = 0.9
"""The confidence from which on an inference is told as one."""
NOT_JUDGED = "not judged"
"""The figure of what needs an input that was not given."""


class LearnedFact(NamedTuple):
    """A figure, and what it counts or measures."""

    figure: str
    words: str


def learned_facts(document: Document) -> tuple[LearnedFact, ...]:
    """Return the facts of an audit's report; none where it is redacted, as each is about the table."""
    return () if document.redacted_below is not None else tuple(_facts(document))


def _facts(document: Document) -> Iterator[LearnedFact]:
    is_file = document.basis == "file"
    if document.model.task == "regression":
        yield from _learned_numbers(document)
    elif not is_file:
        yield _proved(document)
        yield _inferred(document)
        yield from _rebuilt(document)
    smallest = document.readings.get("k_anonymity")
    if smallest is not None and not smallest.reason:
        low, high = _number(smallest.low), _number(smallest.high)
        people = counted(high, "person", "people")
        if low != high:
            people = f"{count(low)} to {people}"
        yield LearnedFact(
            people, f"{'is alone' if people == '1 person' else 'are'} in the smallest leaf"
        )
    if not is_file:
        yield _members(document)


def _proved(document: Document) -> LearnedFact:
    found = document.readings.get("certain_disclosure")
    words = "the file proves their value"
    if found is None or found.reason:
        reason = "" if found is None else f": {found.reason.rstrip('.')}"
        return LearnedFact(
            "not decided", f"for how many people the file proves their value{reason}"
        )
    low, high = _number(found.low), _number(found.high)
    if high <= low:
        return LearnedFact(_of_all(document, low), words)
    counts = (
        "is undecided, and the check counts it"
        if high - low == 1
        else "are undecided, and the check counts them"
    )
    more = f" ({count(high - low)} {counts} as proved)"
    return LearnedFact(f"{count(low)} to {_of_all(document, high)}", f"{words}{more}")


def _members(document: Document) -> LearnedFact:
    """Return what was proved of who was in the table, or that this was not judged."""
    if document.provenance.candidates is None:
        return LearnedFact(
            NOT_JUDGED,
            "membership (whether a person is in the table): to judge it, add --population FILE",
        )
    found = document.readings.get("membership_proved")
    if found is None or found.reason:
        reason = "" if found is None else f": {found.reason.rstrip('.')}"
        return LearnedFact("not decided", f"who was in the table{reason}")
    low, high = _number(found.low), _number(found.high)
    more = f" ({count(high - low)} more could not be decided)" if high > low else ""
    return LearnedFact(_of_all(document, low), f"are proved to have been in the table{more}")


def _inferred(document: Document) -> LearnedFact:
    certainty = document.plots.certainty
    if certainty is None:
        reason = document.plots.certainty_reason.rstrip(".")
        return LearnedFact("not decided", f"whose value can be inferred: {reason}")
    at = min(range(len(certainty.probability)), key=lambda i: abs(certainty.probability[i] - SURE))
    people = round(certainty.guess[at] * _number(document.population.records), 6)
    return LearnedFact(
        _of_all(document, people), "their value can be inferred with at least 90 % confidence"
    )


def _rebuilt(document: Document) -> Iterator[LearnedFact]:
    """Yield whose whole records follow from the file alone, where there are some."""
    rebuilt = document.readings.get("records_rebuilt")
    if rebuilt is not None and not rebuilt.reason and _number(rebuilt.low):
        words = "their whole record follows from the file, without any table"
        yield LearnedFact(_of_all(document, _number(rebuilt.low)), words)


def _learned_numbers(document: Document) -> Iterator[LearnedFact]:
    values = document.values
    if values is None or values.exact is None:
        if values is not None:
            yield LearnedFact(
                "not decided", f"whose number follows from the file: {values.summary.rstrip('.')}"
            )
        return
    exact = _number(values.exact)
    yield LearnedFact(_of_all(document, exact), "their number follows exactly from the file")
    if values.median_width is not None and values.range is not None:
        span = _number(values.range[1]) - _number(values.range[0])
        width = _number(values.median_width)
        yield LearnedFact(
            "half of them",
            f"have a number that is proved to within {width:.4g} (all numbers span {span:.4g})",
        )


def _of_all(document: Document, people: float) -> str:
    return f"{count(people)} of {counted(_number(document.population.records), 'person', 'people')}"


def _number(value: Number | None) -> float:
    return float(value) if value is not None else 0.0
