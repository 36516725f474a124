"""Tables by which PMML computes a field: straight lines, bins, and rows of values (PMML 4.4, Transformations)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.xml import Element
from treewarden.ppdm_models.codecs.pmml.comparisons import by_value
from treewarden.ppdm_models.codecs.pmml.datatypes import (
    Constant,
    InvalidValueError,
    Kind,
    NotFollowedError,
    convert,
)
from treewarden.ppdm_models.codecs.pmml.outcomes import (
    Invalid,
    Moving,
    NoValue,
    Outcome,
    SameCategory,
    Segment,
    Split,
    Step,
)
from treewarden.ppdm_models.codecs.pmml.values import number

INF = math.inf
Ends = tuple[float, bool, float, bool]
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
        raise NotFollowedError("its LinearNorm elements are not two or more points")
    steps = list(pairwise(known))
    if any(end[0] <= start[0] for start, end in steps):
        raise NotFollowedError("its LinearNorm elements do not rise")
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


def _line(start: tuple[float, float], end: tuple[float, float]) -> Step | Constant:
    (x0, y0), (x1, y1) = start, end
    if y0 == y1:
        return Constant(y0 + 0.0, Kind.DOUBLE, True)

    def function(value: float) -> float:
        return y0 + (value - x0) / (x1 - x0) * (y1 - y0)

    return Step(function, y1 > y0, Kind.DOUBLE)


def _outliers(
    treatment: str, lines: Sequence[Step | Constant], low: float, high: float
) -> tuple[Step | Outcome, Step | Outcome]:
    if treatment == "asIs":
        return lines[0], lines[-1]
    if treatment == "asMissingValues":
        return NoValue(), NoValue()
    if treatment == "asExtremeValues":
        return Constant(low + 0.0, Kind.DOUBLE, True), Constant(high + 0.0, Kind.DOUBLE, True)
    raise NotFollowedError(f"the outliers {treatment!r} are not followed")


def interval_ends(item: Element) -> Ends | None:
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


def discretize_segments(expression: Element, kind: Kind) -> tuple[Segment, ...]:
    """Return what Discretize makes of numbers: its bins, and between them its default value or none.

    Raises:
        NotFollowedError: a bin is no interval, or two overlap.
    """
    bins: list[tuple[float, float, Outcome]] = []
    for item in expression.all("DiscretizeBin"):
        interval, value = item.first("Interval"), item.get("binValue")
        ends = None if interval is None else interval_ends(interval)
        if ends is None or value is None or (ends[0], ends[2]) == (-INF, INF):
            raise NotFollowedError("a DiscretizeBin is no interval with a value")
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


def _value(text: str, kind: Kind) -> Constant | Invalid:
    try:
        return convert(Constant(text, Kind.STRING), kind, is_continuous=False)
    except InvalidValueError:
        return Invalid()


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a MapValues element: the field that is looked up, and the result of each of its texts."""

    field: str
    results: Mapping[str, str]


def table_rows(expression: Element) -> Rows:
    """Return the rows of a table with one column to look up.

    Raises:
        NotFollowedError: it has several, is elsewhere, or is no such table.
    """
    pairs = list(expression.all("FieldColumnPair"))
    table, wanted = expression.first("InlineTable"), _local(expression.get("outputColumn") or "")
    if len(pairs) != 1 or table is None:
        raise NotFollowedError("MapValues of several fields, or without a table, is not followed")
    column = _local(pairs[0].get("column") or "")
    results: dict[str, str] = {}
    for row in table.all("row"):
        cells = {cell.name.removeprefix(":"): cell.text for cell in row.children}
        if column not in cells or wanted not in cells:
            raise NotFollowedError("a row of the table has not both columns")
        if cells[column] in results:
            raise NotFollowedError(f"the table has two rows for {cells[column][:80]!r}")
        results[cells[column]] = cells[wanted]
        if len(results) > limits.FIELD_CASES:
            raise NotFollowedError(f"the table has more than {limits.FIELD_CASES:,} rows")
    return Rows(pairs[0].get("field") or "", results)


def _local(name: str) -> str:
    return name.rpartition(":")[2]


class Lookup:
    """What a table gives: texts are compared as they are written, or as numbers where the field holds some."""

    def __init__(self, results: Mapping[str, Outcome], rest: Outcome) -> None:
        """Take the result of each text, and that of all others."""
        self._results = {Constant(text, Kind.STRING): result for text, result in results.items()}
        self._rest = rest
        self._by_kind: dict[Kind, dict[Constant, Outcome]] = {}

    def __call__(self, outcome: Outcome) -> Outcome | Split:
        """Return the result of a value.

        Raises:
            NotFollowedError: two rows are about the same value.
        """
        if not isinstance(outcome, Constant | Moving | SameCategory):
            raise NotFollowedError("the table is not followed")
        try:
            results = self._of_kind(outcome.kind)
            if isinstance(outcome, Constant):
                return results.get(convert(outcome, outcome.kind, True), self._rest)
            return by_value(outcome, results, self._rest)
        except InvalidValueError:
            return Invalid()

    def _of_kind(self, kind: Kind) -> dict[Constant, Outcome]:
        if kind not in self._by_kind:
            found = {convert(key, kind, True): result for key, result in self._results.items()}
            if len(found) < len(self._results):
                raise NotFollowedError("the table has two rows for the same value")
            self._by_kind[kind] = found
        return self._by_kind[kind]
