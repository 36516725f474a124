"""Tables by which PMML computes a field: straight lines, bins, and rows of values (PMML 4.4, Transformations)."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._comparisons import (
    InvalidOutcome,
    MonotoneStep,
    Moving,
    NoValue,
    Outcome,
    SameCategory,
    Segment,
    Split,
    by_value,
)
from treewarden.ppdm_models.formats.pmml._values import (
    Constant,
    DataType,
    Failure,
    InvalidValueError,
    NotFollowedError,
    Vocabulary,
    convert,
    number,
    single,
)
from treewarden.ppdm_models.tree.column import Ends, Invalid, Outliers, Treatment, number_text
from treewarden.ppdm_models.tree.tree import Feature

INF = math.inf
BinEnds = tuple[float, bool, float, bool]
"""Where an interval starts, whether that number is in it, where it ends, whether that is in it."""


def normalization_segments(expression: Element) -> tuple[Segment, ...]:
    """Return what NormContinuous makes of numbers: straight lines, and what its outliers become.

    Raises:
        NotFollowedError: its points are no rising sequence of two or more.
    """
    points = [
        (number(item.get("orig")), number(item.get("norm")))
        for item in expression.all("LinearNorm")
    ]
    known = [(x, y) for x, y in points if x is not None and y is not None]
    if len(known) < len(points) or len(known) < 2:
        raise NotFollowedError("it needs two or more LinearNorm elements")
    steps = list(pairwise(known))
    if any(end[0] <= start[0] for start, end in steps):
        raise NotFollowedError("its LinearNorm elements are not in increasing order")
    lines = [_line(start, end) for start, end in steps]
    inside = [
        Segment(start[0] if place == 0 else math.nextafter(start[0], INF), end[0], line)
        for place, ((start, end), line) in enumerate(zip(steps, lines, strict=True))
    ]
    low, high = known[0], known[-1]
    below, above = _outliers(expression.get("outliers") or "asIs", lines, low[1], high[1])
    return (
        Segment(-INF, math.nextafter(low[0], -INF), below),
        *inside,
        Segment(math.nextafter(high[0], INF), INF, above),
    )


def _line(start: tuple[float, float], end: tuple[float, float]) -> MonotoneStep | Constant:
    (x0, y0), (x1, y1) = start, end
    if y0 == y1:
        return Constant(y0 + 0.0, DataType.DOUBLE, True)

    def function(value: float) -> float:
        return y0 + (value - x0) / (x1 - x0) * (y1 - y0)

    return MonotoneStep(function, y1 > y0, DataType.DOUBLE)


def _outliers(
    treatment: str, lines: Sequence[MonotoneStep | Constant], low: float, high: float
) -> tuple[MonotoneStep | Outcome, MonotoneStep | Outcome]:
    if treatment == "asIs":
        return lines[0], lines[-1]
    if treatment == "asMissingValues":
        return NoValue(), NoValue()
    if treatment == "asExtremeValues":
        return Constant(low + 0.0, DataType.DOUBLE, True), Constant(
            high + 0.0, DataType.DOUBLE, True
        )
    raise NotFollowedError(f"the outliers {treatment!r} are not supported")


def interval_ends(item: Element) -> BinEnds | None:
    """Return the ends of an Interval element and whether they belong to it; None where it states none."""
    closure = item.get("closure") or ""
    ends = []
    for side, infinite in (("leftMargin", -INF), ("rightMargin", INF)):
        text = item.get(side)
        end = infinite if text is None else number(text)
        if end is None:
            return None
        ends.append(end)
    closed = (closure.startswith("closed"), closure.endswith("Closed"))
    if closure not in ("openOpen", "openClosed", "closedOpen", "closedClosed") or ends[0] > ends[1]:
        return None
    return ends[0], closed[0] and ends[0] > -INF, ends[1], closed[1] and ends[1] < INF


def discretize_segments(expression: Element, kind: DataType) -> tuple[Segment, ...]:
    """Return what Discretize makes of numbers: its bins, and between them its default value or none.

    Raises:
        NotFollowedError: a bin is no interval, or two overlap.
    """
    bins: list[tuple[float, float, Outcome]] = []
    for item in expression.all("DiscretizeBin"):
        interval, value = item.first("Interval"), item.get("binValue")
        ends = None if interval is None else interval_ends(interval)
        if ends is None or value is None or (ends[0], ends[2]) == (-INF, INF):
            raise NotFollowedError("a DiscretizeBin must be an interval with a value")
        low = ends[0] if ends[1] or ends[0] == -INF else math.nextafter(ends[0], INF)
        high = ends[2] if ends[3] or ends[2] == INF else math.nextafter(ends[2], -INF)
        if low > high:
            raise NotFollowedError("a DiscretizeBin is empty")
        bins.append((low, high, _value(value, kind)))
    default = expression.get("defaultValue")
    rest = NoValue() if default is None else _value(default, kind)
    segments: list[Segment] = []
    low = -INF
    for first, last, outcome in sorted(bins, key=lambda item: item[:2]):
        if first < low or (segments and segments[-1].high == INF):
            raise NotFollowedError("bins overlap")
        if first > low:
            segments.append(Segment(low, math.nextafter(first, -INF), rest))
        segments.append(Segment(first, last, outcome))
        low = math.nextafter(last, INF)
    if not segments or segments[-1].high < INF:
        segments.append(Segment(low, INF, rest))
    return tuple(segments)


def _value(text: str, kind: DataType) -> Constant | InvalidOutcome:
    try:
        return convert(Constant(text, DataType.STRING), kind, is_continuous=False)
    except InvalidValueError:
        return InvalidOutcome()


@dataclass(frozen=True, slots=True)
class MapRows:
    """The rows of a MapValues element: the field that is looked up, and the result of each of its texts."""

    field: str
    results: Mapping[str, str]


def table_rows(expression: Element) -> MapRows:
    """Return the rows of a table with one column to look up.

    Raises:
        NotFollowedError: it has several, is elsewhere, or is no such table.
    """
    pairs = list(expression.all("FieldColumnPair"))
    table, wanted = expression.first("InlineTable"), _local(expression.get("outputColumn") or "")
    if len(pairs) != 1 or table is None:
        raise NotFollowedError("MapValues is supported only for one field, with a table")
    column = _local(pairs[0].get("column") or "")
    results: dict[str, str] = {}
    for row in table.all("row"):
        cells = {cell.name.removeprefix(":"): cell.text for cell in row.children}
        if column not in cells or wanted not in cells:
            raise NotFollowedError("a row of its MapValues table lacks a column")
        if cells[column] in results:
            raise NotFollowedError(f"its MapValues table has two rows for {cells[column][:80]!r}")
        results[cells[column]] = cells[wanted]
        if len(results) > limits.FIELD_CASES:
            raise NotFollowedError(
                f"its MapValues table has more than {limits.FIELD_CASES:,} rows, which is the limit"
            )
    return MapRows(pairs[0].get("field") or "", results)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


class Lookup:
    """What a table gives: texts are compared as they are written, or as numbers where the field holds some."""

    def __init__(self, results: Mapping[str, Outcome], default: Outcome) -> None:
        """Take the result of each text, and that of all others."""
        self._results = {
            Constant(text, DataType.STRING): result for text, result in results.items()
        }
        self._rest = default
        self._by_kind: dict[DataType, dict[Constant, Outcome]] = {}

    def __call__(self, outcome: Outcome) -> Outcome | Split:
        """Return the result of a value.

        Raises:
            NotFollowedError: two rows are about the same value.
        """
        if not isinstance(outcome, Constant | Moving | SameCategory):
            raise NotFollowedError("the table is not supported")
        try:
            results = self._of_kind(outcome.kind)
            if isinstance(outcome, Constant):
                return results.get(convert(outcome, outcome.kind, True), self._rest)
            return by_value(outcome, results, self._rest)
        except InvalidValueError:
            return InvalidOutcome()

    def _of_kind(self, kind: DataType) -> dict[Constant, Outcome]:
        if kind not in self._by_kind:
            found = {convert(key, kind, True): result for key, result in self._results.items()}
            if len(found) < len(self._results):
                raise NotFollowedError("the table has two rows for the same value")
            self._by_kind[kind] = found
        return self._by_kind[kind]


# What a PMML file says becomes of missing, invalid and extreme values (PMML 4.4, MiningField; DataField, Value).

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
    treatments: list[Treatment] = []
    for depth, field in enumerate(fields):
        if depth and field.get("invalidValueTreatment") is None:
            treatment = _treatment(declared, field, feature, "asIs", fail)
        else:
            treatment = _treatment(declared, field, feature, "returnInvalid", fail)
        if not treatment.does_nothing:
            treatments.append(treatment)
    return tuple(dict.fromkeys(treatments))


def _treatment(
    declared: Element, field: Element, feature: Feature, default: str, fail: Failure
) -> Treatment:
    by_property: dict[str, list[str | float]] = {"valid": [], "invalid": [], "missing": []}
    vocabulary = Vocabulary(feature.values)
    for item in declared.all("Value"):
        said, kind = item.get("value") or "", item.get("property") or "valid"
        value = _treatment_value(said, feature, vocabulary)
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
        replacement=None
        if replacement is None
        else _treatment_value(replacement, feature, vocabulary),
        outliers=outliers,
        low=_end(field, "lowValue", -math.inf, feature, fail),
        high=_end(field, "highValue", math.inf, feature, fail),
        needs_value=field.get("missingValueTreatment") == NEEDS_VALUE,
    )


def _treatment_value(text: str, feature: Feature, vocabulary: Vocabulary) -> str | float | None:
    if not feature.numeric:
        return vocabulary.find(text) or text
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
    field: Element, attribute: str, default: str, choices: dict[str, Choice], fail: Failure
) -> Choice:
    said = field.get(attribute) or default
    if said not in choices:
        raise fail(field, f"unknown {attribute} {said!r}; known values: {', '.join(choices)}")
    return choices[said]


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
            "PMML",
            f"{feature.name!r} is treated in several steps, which PMML cannot "
            "express in one tree; write JSON",
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


def _name(choices: dict[str, Choice], choice: Choice) -> str:
    return next(name for name, one in choices.items() if one is choice)
