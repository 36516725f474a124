"""Readings as values of a document: numbers, and the words for them; what could not be told never becomes a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from audit.measures import measures
from audit.reading import Measurement, Undetermined
from audit.reading import Reading as Taken
from audit.result import Audit, MeasureCall
from policies.judging.figures import span
from policies.verdict import Verdict
from reports.document.parts import Number, Reading, Value, number
from reports.document.words import Word

UNKNOWN = "could not tell"
WORDS: Mapping[Verdict, Word] = {
    Verdict.PASS: "PASS",
    Verdict.UNDETERMINED: "UNDETERMINED",
    Verdict.FAIL: "FAIL",
}


def word(verdict: Verdict) -> Word:
    """Return a verdict as documents spell it."""
    return WORDS[verdict]


def value(reading: Taken, unit: str, beside: float | None = None) -> Value:
    """Return a reading as a value, worded so that it differs from the limit ``beside`` it if it does."""
    if isinstance(reading, Undetermined):
        return Value(low=None, high=None, text=UNKNOWN, reason=reading.reason or "no reason given")
    return Value(
        low=number(reading.low), high=number(reading.high), text=span(reading, unit, beside)
    )


def parameters(pairs: Iterable[tuple[str, float | str]]) -> dict[str, Number | str]:
    """Return the parameters of a measure as a document holds them."""
    return {name: said if isinstance(said, str) else number(said) for name, said in pairs}


def readings(audit: Audit) -> dict[str, Reading]:
    """Return every measure with its default parameters by its bare name, and what else the audit read.

    What the audit was asked for comes first. Readings with other parameters are keyed with those that differ:
    ``cl_diversity[l=3]``.
    """
    known, found = measures(), {}
    defaults = [default_call(name) for name in known]
    for call in dict.fromkeys([*audit.measurements, *defaults]):
        measure, reading = known[call.measure], taken(audit, call).reading
        said = value(reading, measure.unit)
        found[key(call)] = Reading(
            low=said.low,
            high=said.high,
            text=said.text,
            reason=said.reason,
            measure=call.measure,
            parameters=parameters(call.parameters),
            plain=plain(call),
            unit=measure.unit,
            danger="small" if measure.risk == "low" else "large",
        )
    return found


def default_call(name: str) -> MeasureCall:
    """Return a measure with its default parameters."""
    declared = measures()[name].parameters
    return MeasureCall(name, tuple((each, declared[each].default) for each in sorted(declared)))


def taken(audit: Audit, call: MeasureCall) -> Measurement:
    """Return what the audit read, or read it now."""
    if call in audit.measurements:
        return audit.measurements[call]
    return measures()[call.measure].read(audit.evidence, dict(call.parameters))


def key(call: MeasureCall) -> str:
    """Return the name of a reading: the bare measure only where every parameter is the default."""
    changed = ",".join(f"{name}={said}" for name, said in _changed(call))
    return f"{call.measure}[{changed}]" if changed else call.measure


def plain(call: MeasureCall) -> str:
    """Return what a reading is, in the measure's own words, with the changed parameters that these do not tell."""
    changed = ", ".join(f"{name} = {said}" for name, said in _changed(call))
    measure = measures()[call.measure]
    words = measure.words(dict(call.parameters))
    return f"{words} ({changed})" if changed and words == measure.plain else words


def _changed(call: MeasureCall) -> list[tuple[str, str]]:
    declared = measures()[call.measure].parameters
    return [
        (name, said if isinstance(said, str) else f"{said:g}")
        for name, said in call.parameters
        if said != declared[name].default
    ]
