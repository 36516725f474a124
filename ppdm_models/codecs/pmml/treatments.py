"""What a PMML file says becomes of missing, invalid and extreme values (PMML 4.4, MiningField; DataField, Value)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TypeVar

from treewarden.ppdm_models.codecs.common.xml import Element
from treewarden.ppdm_models.codecs.pmml.datatypes import single
from treewarden.ppdm_models.codecs.pmml.tables import interval_ends
from treewarden.ppdm_models.codecs.pmml.values import Failure, Vocabulary, number
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.treatment import Ends, Invalid, Outliers, Treatment
from treewarden.ppdm_models.tree.tree import Feature

INVALID = {
    "returnInvalid": Invalid.RETURN_INVALID,
    "asIs": Invalid.AS_IS,
    "asMissing": Invalid.AS_MISSING,
    "asValue": Invalid.AS_VALUE,
}
OUTLIERS = {
    "asIs": Outliers.AS_IS,
    "asMissingValues": Outliers.AS_MISSING,
    "asExtremeValues": Outliers.AS_EXTREME,
}
NEEDS_VALUE = "returnInvalid"
Choice = TypeVar("Choice", Invalid, Outliers)


def read_treatments(
    declared: Element, fields: Sequence[Element], feature: Feature, fail: Failure
) -> tuple[Treatment, ...]:
    """Return what the MiningFields of a field do to its values, the outermost model's first.

    An inner model takes over what the outer one decided about invalid values, where it does not speak of them itself.

    Raises:
        TreeFormatError: a treatment is unknown, or needs a number that is none.
    """
    found: list[Treatment] = []
    for depth, field in enumerate(fields):
        if depth and field.get("invalidValueTreatment") is None:
            treatment = _treatment(declared, field, feature, "asIs", fail)
        else:
            treatment = _treatment(declared, field, feature, "returnInvalid", fail)
        if not treatment.does_nothing:
            found.append(treatment)
    return tuple(dict.fromkeys(found))


def _treatment(
    declared: Element, field: Element, feature: Feature, default: str, fail: Failure
) -> Treatment:
    by_property: dict[str, list[str | float]] = {"valid": [], "invalid": [], "missing": []}
    known = Vocabulary(feature.values)
    for item in declared.all("Value"):
        said, kind = item.get("value") or "", item.get("property") or "valid"
        value = _value(said, feature, known)
        if value is not None and kind in by_property:
            by_property[kind].append(value)
    replacement = field.get("invalidValueReplacement")
    outliers = _choice(field, "outliers", "asIs", OUTLIERS, fail)
    return Treatment(
        intervals=tuple(_intervals(declared, feature)) if feature.numeric else (),
        values=tuple(by_property["valid"]) or feature.values,  # truth values need not be listed
        invalid=tuple(by_property["invalid"]),
        missing=tuple(by_property["missing"]),
        when_invalid=_choice(field, "invalidValueTreatment", default, INVALID, fail),
        replacement=None if replacement is None else _value(replacement, feature, known),
        outliers=outliers,
        low=_end(field, "lowValue", -math.inf, feature, fail),
        high=_end(field, "highValue", math.inf, feature, fail),
        needs_value=field.get("missingValueTreatment") == NEEDS_VALUE,
    )


def _value(text: str, feature: Feature, known: Vocabulary) -> str | float | None:
    if not feature.numeric:
        return known.find(text) or text
    value = number(text)
    return value if value is None or not feature.single else single(value)


def _intervals(declared: Element, feature: Feature) -> list[Ends]:
    found = []
    for item in declared.all("Interval"):
        ends = interval_ends(item)
        if ends is not None:
            low, low_closed, high, high_closed = ends
            if feature.single:
                low, high = single(low), single(high)
            found.append((low, low_closed, high, high_closed))
    return found


def _end(field: Element, attribute: str, default: float, feature: Feature, fail: Failure) -> float:
    text = field.get(attribute)
    value = default if text is None else number(text)
    if value is None:
        raise fail(field, f"{attribute} is {(text or '')[:80]!r}, which is not a finite number")
    return single(value) if feature.single else value


def _choice(
    field: Element, attribute: str, default: str, known: dict[str, Choice], fail: Failure
) -> Choice:
    said = field.get(attribute) or default
    if said not in known:
        raise fail(field, f"unknown {attribute} {said!r}; have {', '.join(known)}")
    return known[said]


def domain(feature: Feature) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the elements, with their attributes, that declare a field's values beside its categories."""
    for treatment in feature.treatments:
        for low, low_closed, high, high_closed in treatment.intervals:
            closure = ("closed" if low_closed else "open") + ("Closed" if high_closed else "Open")
            yield "Interval", {"closure": closure, **_finite(leftMargin=low, rightMargin=high)}
        valid = treatment.values if feature.numeric else ()
        for kind, values in (
            ("valid", valid),
            ("invalid", treatment.invalid),
            ("missing", treatment.missing),
        ):
            for value in values:
                yield "Value", {"value": _worded(value), "property": kind}


def treatment_attributes(feature: Feature) -> dict[str, str]:
    """Return the attributes of a MiningField that say what becomes of its values.

    Raises:
        OutputError: they are treated more than once, as by models within models.
    """
    if not feature.treatments:
        return {"invalidValueTreatment": "asIs"} if feature.values else {}
    if len(feature.treatments) > 1:
        raise OutputError(
            "PMML", f"treats {feature.name!r} in several steps, which one tree cannot; write JSON"
        )
    treatment = feature.treatments[0]
    said = {"invalidValueTreatment": _name(INVALID, treatment.when_invalid)}
    if treatment.replacement is not None:
        said["invalidValueReplacement"] = _worded(treatment.replacement)
    if treatment.outliers is not Outliers.AS_IS:
        said["outliers"] = _name(OUTLIERS, treatment.outliers)
        said |= _finite(lowValue=treatment.low, highValue=treatment.high)
    if treatment.needs_value:
        said["missingValueTreatment"] = NEEDS_VALUE
    return said


def _finite(**ends: float) -> dict[str, str]:
    return {name: number_text(end) for name, end in ends.items() if math.isfinite(end)}


def _worded(value: str | float) -> str:
    return value if isinstance(value, str) else number_text(value)


def _name(known: dict[str, Choice], choice: Choice) -> str:
    return next(name for name, one in known.items() if one is choice)
