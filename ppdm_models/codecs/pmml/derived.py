"""Turns what computes a PMML field (PMML 4.4, Transformations) into what it says of one raw field."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from ppdm_models import limits
from ppdm_models.codecs.common.xml import Element
from ppdm_models.codecs.pmml.functions import (
    Ends,
    arithmetic,
    folded,
    gaps,
    interval_ends,
    piecewise,
    single,
)
from ppdm_models.codecs.pmml.sources import (
    INTERVALS,
    Mapped,
    Raw,
    Scaled,
    Source,
    Value,
    as_number,
    compared,
    through,
)
from ppdm_models.tree.predicate import (
    AllOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
)
from ppdm_models.tree.tree import Feature

EXPRESSIONS = (
    "FieldRef",
    "Constant",
    "NormContinuous",
    "NormDiscrete",
    "Discretize",
    "MapValues",
    "Apply",
    "TextIndex",
    "Aggregate",
    "Lag",
)
Resolve = Callable[[str], Source | None]
Typed = Callable[[str], Feature]


class Derivation:
    """Follows the fields that a field is computed from; ``typed`` gives a raw field by name."""

    def __init__(self, resolve: Resolve, typed: Typed) -> None:
        self.resolve = resolve
        self.typed = typed

    def of_field(self, field: Element) -> Source | None:
        """Return what a DerivedField is made of; None where that cannot be said of one raw field."""
        expression = next((child for child in field.children if child.name in EXPRESSIONS), None)
        found = None if expression is None else self.of(expression, 0)
        if found is None or isinstance(found, str | float):
            return None
        return self._cast(found, field.get("dataType"))

    def _cast(self, source: Source, kind: str | None) -> Source | None:
        """Return the field as the declared type; a raw field turned to 32 bits is noted where its type is kept."""
        if kind == "float" and isinstance(source, Scaled):
            return through(source, single)
        if kind in ("integer", "boolean") and isinstance(source, Scaled):
            return None
        if isinstance(source, Raw) and self.typed(source.feature).numeric:
            return source if kind in (None, "float", "double", "integer") else None
        return source

    def of(self, expression: Element, depth: int) -> Source | Value | None:
        """Return what an expression is made of: a field, or a constant."""
        if depth > limits.TEST_DEPTH:
            return None
        name = expression.name
        if name == "FieldRef":
            found = self.resolve(expression.get("field") or "")
            return _replacing(found, expression.get("mapMissingTo"))
        if name == "Constant":
            return expression.text.strip() if expression.get("missing") != "true" else None
        if name == "Apply":
            return _replacing(self._applied(expression, depth), expression.get("mapMissingTo"))
        source = self.resolve(expression.get("field") or "")
        if name == "MapValues":
            return self._by_table(expression)
        if source is None or name not in ("NormContinuous", "NormDiscrete", "Discretize"):
            return None
        made = {
            "NormContinuous": piecewise,
            "NormDiscrete": self._indicator,
            "Discretize": self._binned,
        }
        return _replacing(made[name](expression, source), expression.get("mapMissingTo"))

    def test(self, source: Source, operator: str, value: Value) -> Predicate | None:
        """Return the test on the raw field that a comparison of a field makes; None where it cannot be said."""
        if not isinstance(source, Raw):
            return compared(source, operator, value)
        if self.typed(source.feature).numeric:
            end = as_number(value)
            return None if end is None else INTERVALS[operator](source.feature, end)
        if operator not in ("equal", "notEqual"):
            return None
        return CategoryTest(source.feature, (str(value),), operator == "notEqual")

    def _indicator(self, expression: Element, source: Source) -> Source | None:
        value = expression.get("value")
        if value is None:
            return None
        yes, no = (self.test(source, operator, value) for operator in ("equal", "notEqual"))
        if yes is None or no is None:
            return None
        return Mapped(source.feature, _cases((yes, 1.0), (no, 0.0)))

    def _binned(self, expression: Element, source: Source) -> Source | None:
        cases: list[tuple[Predicate, Value | None]] = []
        ends: list[Ends] = []
        for item in expression.all("DiscretizeBin"):
            interval, value = item.first("Interval"), item.get("binValue")
            if interval is None or value is None:
                return None
            found = interval_ends(interval)
            if found is None:
                return None
            ends.append(found)
            test = self._inside(source, found)
            if test is None:
                return None
            cases.append((test, value))
        for gap in gaps(ends):
            test = self._inside(source, gap)
            if test is None:
                return None
            cases.append((test, expression.get("defaultValue")))
        if any(right[0] < left[2] for left, right in pairwise(sorted(ends))):
            return None  # bins that overlap
        return Mapped(source.feature, _cases(*cases))

    def _inside(self, source: Source, ends: Ends) -> Predicate | None:
        low, low_closed, high, high_closed = ends
        parts = []
        if low > -math.inf:
            parts.append(self.test(source, "greaterOrEqual" if low_closed else "greaterThan", low))
        if high < math.inf:
            parts.append(self.test(source, "lessOrEqual" if high_closed else "lessThan", high))
        if not parts and source.missing is None:
            return MissingTest(source.feature, negated=True)
        if None in parts or not parts:
            return None
        known = [part for part in parts if part is not None]
        if len(known) == 2 and all(isinstance(part, NumericTest) for part in known):
            one, two = known
            assert isinstance(one, NumericTest)
            assert isinstance(two, NumericTest)
            low_part, high_part = (one, two) if one.high == math.inf else (two, one)
            if low_part.low > high_part.high or (
                low_part.low == high_part.high
                and not (low_part.low_closed and high_part.high_closed)
            ):
                return Never()
            return NumericTest(
                one.feature,
                low_part.low,
                high_part.high,
                low_part.low_closed,
                high_part.high_closed,
            )
        return known[0] if len(known) == 1 else AllOf(tuple(known))

    def _by_table(self, expression: Element) -> Source | None:
        pairs = list(expression.all("FieldColumnPair"))
        table, wanted = expression.first("InlineTable"), expression.get("outputColumn") or ""
        if len(pairs) != 1 or table is None:
            return None
        source = self.resolve(pairs[0].get("field") or "")
        if source is None:
            return None
        column, wanted = (_local(name) for name in (pairs[0].get("column") or "", wanted))
        given: dict[str, str] = {}
        for row in table.all("row"):
            cells = {cell.name.removeprefix(":"): cell.text.strip() for cell in row.children}
            if column not in cells or wanted not in cells:
                return None
            given.setdefault(cells[column], cells[wanted])
        found = self._mapped(source, given, expression.get("defaultValue"))
        filled = _replacing(found, expression.get("mapMissingTo"))
        return None if isinstance(filled, str | float) else filled

    def _mapped(self, source: Source, given: dict[str, str], default: str | None) -> Source | None:
        if isinstance(source, Mapped):
            cases = [
                (case, given.get(str(value), default) if value is not None else None)
                for case, value in source.cases
            ]
            missing = None if source.missing is None else given.get(str(source.missing), default)
            return Mapped(source.feature, _cases(*cases), missing)
        if not isinstance(source, Raw) or not given:
            return None
        listed = [(self.test(source, "equal", value), result) for value, result in given.items()]
        cases = [(test, result) for test, result in listed if test is not None]
        if len(cases) < len(listed):
            return None
        if self.typed(source.feature).numeric:
            others = [self.test(source, "notEqual", value) for value in given]
            rest: Predicate = AllOf(tuple(other for other in others if other is not None))
        else:
            rest = CategoryTest(source.feature, tuple(given), negated=True)
        missing = None if source.missing is None else given.get(str(source.missing), default)
        return Mapped(source.feature, _cases(*cases, (rest, default)), missing)

    def _applied(self, expression: Element, depth: int) -> Source | Value | None:
        parts = [child for child in expression.children if child.name in EXPRESSIONS]
        function = expression.get("function") or ""
        if function == "if":
            return self._chosen(parts, depth)
        given = [self.of(part, depth + 1) for part in parts]
        fields = [part for part in given if isinstance(part, Raw | Scaled | Mapped)]
        constants = [as_number(part) for part in given if isinstance(part, str | float)]
        if None in given or None in constants or len(fields) > 1:
            return None
        known = [constant for constant in constants if constant is not None]
        if not fields:
            return folded(function, known)
        if isinstance(fields[0], Raw) and not self.typed(fields[0].feature).numeric:
            return None
        is_first = isinstance(given[0], Raw | Scaled | Mapped)
        return arithmetic(function, fields[0], known, is_first)

    def _chosen(self, parts: Sequence[Element], depth: int) -> Source | None:
        """Return "if x is missing then a constant else x", and "if x compares so then one constant else another"."""
        if len(parts) not in (2, 3) or parts[0].name != "Apply":
            return None
        function = parts[0].get("function") or ""
        asked = [self.of(part, depth + 1) for part in parts[0].children if part.name in EXPRESSIONS]
        results = [self.of(part, depth + 1) for part in parts[1:]]
        if function in ("isMissing", "isNotMissing") and len(results) == 2 and len(asked) == 1:
            filled, kept = results if function == "isMissing" else reversed(results)
            if isinstance(filled, str | float) and kept == asked[0]:
                made = _replacing(kept, filled)
                return None if isinstance(made, str | float) else made
            return None
        if len(asked) != 2 or any(isinstance(part, Raw | Scaled | Mapped) for part in results):
            return None
        field, value = asked
        opposite = OPPOSITE.get(function)
        if opposite is None or not isinstance(field, Raw | Scaled | Mapped):
            return None
        if not isinstance(value, str | float):
            return None
        yes, no = (self.test(field, operator, value) for operator in (function, opposite))
        if (
            yes is None
            or no is None
            or any(isinstance(part, str) is False and part is not None for part in results)
        ):
            return None
        then, other = (results[0], results[1] if len(results) == 2 else None)
        assert then is None or isinstance(then, str)
        assert other is None or isinstance(other, str)
        return Mapped(field.feature, _cases((yes, then), (no, other)))


OPPOSITE = {
    "equal": "notEqual",
    "notEqual": "equal",
    "lessThan": "greaterOrEqual",
    "greaterOrEqual": "lessThan",
    "greaterThan": "lessOrEqual",
    "lessOrEqual": "greaterThan",
}


def _cases(
    *cases: tuple[Predicate, Value | None],
) -> tuple[tuple[Predicate, Value | None], ...]:
    return tuple((test, value) for test, value in cases if not isinstance(test, Never))


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _replacing(found: Source | Value | None, missing: Value | None) -> Source | Value | None:
    if missing is None or found is None or isinstance(found, str | float):
        return found
    if found.missing is not None:
        return found
    if isinstance(found, Raw):
        return Raw(found.feature, missing)
    if isinstance(found, Mapped):
        filled = tuple((case, missing if value is None else value) for case, value in found.cases)
        return Mapped(found.feature, filled, missing)
    if found.low > -math.inf or found.high < math.inf:
        return None
    return Scaled(found.feature, found.function, found.rising, missing=missing)
