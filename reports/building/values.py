"""Readings of an audit as values of a document, and what each is called."""

from __future__ import annotations

from collections.abc import Iterable

from treewarden.audit.measures import MeasureCall, call, measures, of_models
from treewarden.audit.reading import Interval
from treewarden.audit.reading import Reading as Found
from treewarden.audit.result import Audit
from treewarden.policies.judging.decision import Finding, Location
from treewarden.reports.building.worded import value
from treewarden.reports.document.parts import Number, Value, number
from treewarden.reports.document.parts import Reading as ShownReading

# A verdict and a reading as values of a document; what could not be told never becomes a number.


def place_value(found: Finding, place: Location) -> Value:
    """Return what was read at a place; of a combined clause, what each of its measures reads there."""
    ends = Interval(place.low, place.high)
    if not found.is_combined:
        return value(ends, found.requirement.unit, found.requirement.limit)
    return Value(low=number(ends.low), high=number(ends.high), text=place.note)


def parameters(pairs: Iterable[tuple[str, float | str]]) -> dict[str, Number | str]:
    """Return the parameters of a measure as a document holds them."""
    return {name: said if isinstance(said, str) else number(said) for name, said in pairs}


def readings(audit: Audit) -> dict[str, ShownReading]:
    """Return what was asked for, then every measure of models with its default parameters by its bare name.

    Readings with other parameters are keyed with those that differ: ``cl_diversity[l=3]``. Of several adversaries each
    is that of the one of whom it is worst.
    """
    asked = dict.fromkeys([*audit.full.asked, *map(call, of_models())])
    if not audit.adversaries:
        return {
            key(measure_call): reading(measure_call, audit.full.readings[measure_call].reading)
            for measure_call in asked
        }
    return {
        key(measure_call): reading(measure_call, audit.worst(measure_call))
        for measure_call in asked
    }


def reading(asked: MeasureCall, found: Found) -> ShownReading:
    """Return one reading as a document holds it."""
    measure = measures()[asked.measure]
    said = value(found, measure.unit)
    return ShownReading(
        low=said.low,
        high=said.high,
        text=said.text,
        reason=said.reason,
        measure=asked.measure,
        parameters=parameters(asked.parameters),
        plain=plain(asked),
        unit=measure.unit,
        danger="small" if measure.risk == "low" else "large",
    )


def key(asked: MeasureCall) -> str:
    """Return the name of a reading: the bare measure only where every parameter is the default."""
    changed = ",".join(f"{name}={said}" for name, said in _changed(asked))
    return f"{asked.measure}[{changed}]" if changed else asked.measure


def plain(asked: MeasureCall) -> str:
    """Return what a reading is, in the measure's own words, with the changed parameters that these do not tell."""
    changed = ", ".join(f"{name} = {said}" for name, said in _changed(asked))
    measure = measures()[asked.measure]
    words = measure.words(dict(asked.parameters))
    return f"{words} ({changed})" if changed and words == measure.plain else words


def _changed(asked: MeasureCall) -> list[tuple[str, str]]:
    declared = measures()[asked.measure].parameters
    return [
        (name, said if isinstance(said, str) else f"{said:g}")
        for name, said in asked.parameters
        if said != declared[name].default
    ]
