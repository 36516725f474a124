"""Turns PMML predicates into tests (PMML 4.4, TreeModel, Predicates)."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence

from lxml import etree

from ppdm_models import limits
from ppdm_models.formats._pmml_fields import Failure, Fields, number
from ppdm_models.formats._xml import first, name_of, text_of
from ppdm_models.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    MissingTest,
    Never,
    NumericTest,
    Predicate,
)
from ppdm_models.tree import Feature

PREDICATES = ("SimplePredicate", "SimpleSetPredicate", "CompoundPredicate", "True", "False")
ITEM = re.compile(r'"((?:\\"|[^"])*)"|([^\s"]+)')

INTERVALS: dict[str, Callable[[str, float], Predicate]] = {
    "lessThan": lambda name, end: NumericTest(name, high=end),
    "lessOrEqual": lambda name, end: NumericTest(name, high=end, high_closed=True),
    "greaterThan": lambda name, end: NumericTest(name, low=end),
    "greaterOrEqual": lambda name, end: NumericTest(name, low=end, low_closed=True),
    "equal": lambda name, end: NumericTest(name, end, end, low_closed=True, high_closed=True),
    "notEqual": lambda name, end: AnyOf((NumericTest(name, high=end), NumericTest(name, low=end))),
}


def read_predicate(element: etree._Element, fields: Fields, fail: Failure) -> Predicate:
    """Return the test that an element with one of the ``PREDICATES`` names says.

    "and" and "or" of comparisons with one field are joined: into an interval, or a set of categories.

    Raises:
        TreeFormatError: an unknown field or operator, a value that does not fit its field, or a predicate that is not
            supported ("xor", "surrogate").
    """
    said: dict[etree._Element, Predicate] = {}
    height: dict[etree._Element, int] = {}
    for part in reversed(
        [found for found in element.iter(etree.Element) if name_of(found) in PREDICATES]
    ):
        if name_of(part) == "CompoundPredicate":
            inner = [child for child in part if name_of(child) in PREDICATES]
            height[part] = 1 + max((height[child] for child in inner), default=0)
            if height[part] > limits.TEST_DEPTH:
                raise fail(part, f"predicates nest more than {limits.TEST_DEPTH} deep")
            said[part] = _compound(part, [said[child] for child in inner], fail)
        else:
            height[part] = 0
            said[part] = _simple(part, fields, fail)
    return said[element]


def _compound(element: etree._Element, parts: Sequence[Predicate], fail: Failure) -> Predicate:
    operator = element.get("booleanOperator", "")
    if operator in ("xor", "surrogate"):
        raise fail(element, f'a CompoundPredicate with "{operator}" is not supported yet')
    if operator not in ("and", "or"):
        raise fail(element, f"unknown booleanOperator {operator!r}; have and, or")
    if not parts:
        raise fail(element, "the CompoundPredicate is empty")
    return joined(parts, every=operator == "and")


def joined(parts: Sequence[Predicate], every: bool) -> Predicate:
    """Return parts joined by "and" (or "or"), in the plainest form that means the same."""
    if len(parts) == 1:
        return parts[0]
    names = {getattr(part, "feature", None) for part in parts}
    if len(names) == 1:
        together = _one_set(parts, every) or (_one_interval(parts) if every else None)
        if together is not None:
            return together
    return AllOf(tuple(parts)) if every else AnyOf(tuple(parts))


def _one_set(parts: Sequence[Predicate], every: bool) -> CategoryTest | None:
    sets = [part for part in parts if isinstance(part, CategoryTest) and part.negated == every]
    if len(sets) < len(parts):
        return None
    return CategoryTest(
        sets[0].feature, tuple(value for part in sets for value in part.values), every
    )


def _one_interval(parts: Sequence[Predicate]) -> NumericTest | None:
    """Join exactly one lower and one upper end that leave something between them."""
    lower = [part for part in parts if isinstance(part, NumericTest) and part.high == math.inf]
    upper = [part for part in parts if isinstance(part, NumericTest) and part.low == -math.inf]
    if (len(parts), len(lower), len(upper)) != (2, 1, 1) or not lower[0].low < upper[0].high:
        return None
    return NumericTest(
        lower[0].feature, lower[0].low, upper[0].high, lower[0].low_closed, upper[0].high_closed
    )


def _simple(element: etree._Element, fields: Fields, fail: Failure) -> Predicate:
    if name_of(element) in ("True", "False"):
        return Always() if name_of(element) == "True" else Never()
    feature = _feature(element, fields, fail)
    if name_of(element) == "SimpleSetPredicate":
        return _set(element, feature, fields, fail)
    operator = element.get("operator", "")
    if operator in ("isMissing", "isNotMissing"):
        return MissingTest(feature.name, negated=operator == "isNotMissing")
    if operator not in INTERVALS:
        raise fail(
            element,
            f"unknown operator {operator!r}; have {', '.join(INTERVALS)}, isMissing, isNotMissing",
        )
    text = element.get("value")
    if text is None:
        raise fail(element, f"the comparison with {feature.name!r} has no value")
    if feature.numeric:
        return INTERVALS[operator](feature.name, _number(element, feature, text, fail))
    if operator not in ("equal", "notEqual"):
        raise fail(element, f"{operator} on {feature.name!r}, which does not hold numbers")
    return CategoryTest(
        feature.name, (fields.values[feature.name].find(text) or text,), operator == "notEqual"
    )


def _feature(element: etree._Element, fields: Fields, fail: Failure) -> Feature:
    name = element.get("field", "")
    if name in fields.opaque:
        raise fail(
            element,
            f"the field {name!r} is computed ({fields.opaque[name]}); only plain renames (FieldRef) are supported yet",
        )
    found = fields.features.get(fields.renames.get(name, name))
    if found is None:
        known = ", ".join(repr(known) for known in list(fields.features)[:12])
        raise fail(element, f"unknown field {name!r}; the active fields are {known or 'none'}")
    return found


def _number(element: etree._Element, feature: Feature, text: str, fail: Failure) -> float:
    value = number(text)
    if value is None:
        raise fail(
            element,
            f"{feature.name!r} is compared with {text[:80]!r}, which is not a finite number",
        )
    return value


def _set(element: etree._Element, feature: Feature, fields: Fields, fail: Failure) -> Predicate:
    operator = element.get("booleanOperator", "")
    if operator not in ("isIn", "isNotIn"):
        raise fail(element, f"unknown booleanOperator {operator!r}; have isIn, isNotIn")
    array = first(element, "Array")
    items = [] if array is None else _items(array, fail)
    if not items:
        raise fail(element, f"the set of {feature.name!r} is empty")
    if not feature.numeric:
        known = fields.values[feature.name]
        values = tuple(known.find(item) or item for item in items)
        return CategoryTest(feature.name, values, operator == "isNotIn")
    ends = [_number(element, feature, item, fail) for item in dict.fromkeys(items)]
    each = INTERVALS["equal" if operator == "isIn" else "notEqual"]
    return joined([each(feature.name, end) for end in ends], every=operator == "isNotIn")


def _items(array: etree._Element, fail: Failure) -> list[str]:
    r"""Split an Array: items between blanks, those with blanks in double quotes, quotes inside as \"."""
    text = text_of(array)
    rest = ITEM.sub(" ", text).strip()
    if rest:
        raise fail(array, "the Array has a quote without its partner")
    return [
        bare if bare else quoted.replace('\\"', '"')
        for quoted, bare in (match.groups(default="") for match in ITEM.finditer(text))
    ]
