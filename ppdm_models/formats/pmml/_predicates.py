"""Turns PMML predicates into tests (PMML 4.4, TreeModel, Predicates)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._fields import Fields
from treewarden.ppdm_models.formats.pmml._sources import (
    COMPARISONS,
    INTERVALS,
    Computed,
    RawField,
    Source,
    comparison_test,
    holds,
    presence_test,
    set_test,
    with_missing,
)
from treewarden.ppdm_models.formats.pmml._values import Failure, NotFollowedError, items, number
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    Always,
    AnyOf,
    CategoryTest,
    Never,
    NumericTest,
    OneOf,
    Predicate,
    Surrogate,
)
from treewarden.ppdm_models.tree.tree import Feature

COMPOUND = ("CompoundPredicate", "CompositePredicate")
"""PMML's name for it, and what some early files call it."""

PREDICATES = ("SimplePredicate", "SimpleSetPredicate", *COMPOUND, "True", "False")

INFINITE = {
    "INF": "less",
    "+INF": "less",
    "Infinity": "less",
    "-INF": "greater",
    "-Infinity": "greater",
}
"""How infinity is written, and how every number compares with it."""


def read_predicate(element: Element, fields: Fields, fail: Failure) -> Predicate:
    """Return the test that an element with one of the ``PREDICATES`` names says.

    "and" and "or" of comparisons with one field are joined: into an interval, or a set of categories.

    Raises:
        TreeFormatError: an unknown field or operator, or a value that does not fit its field.
    """
    if element.name not in COMPOUND:
        return _simple(element, fields, fail)
    predicates: dict[Element, Predicate] = {}
    height: dict[Element, int] = {}
    parts = list(element.within(*PREDICATES))
    if any(part.get("booleanOperator") in ("xor", "surrogate") for part in parts):
        fields = fields.keeping_unknown()
    for part in reversed(parts):
        if part.name in COMPOUND:
            inner = [child for child in part.children if child.name in PREDICATES]
            height[part] = 1 + max((height[child] for child in inner), default=0)
            if height[part] > limits.TEST_DEPTH:
                raise fail(
                    part, f"predicates nest more than {limits.TEST_DEPTH} deep, which is the limit"
                )
            predicates[part] = _compound(part, [predicates[child] for child in inner], fail)
        else:
            height[part] = 0
            predicates[part] = _simple(part, fields, fail)
    return predicates[element]


def _compound(element: Element, parts: Sequence[Predicate], fail: Failure) -> Predicate:
    operator = element.get("booleanOperator") or ""
    if operator not in ("and", "or", "xor", "surrogate"):
        raise fail(
            element, f"unknown booleanOperator {operator!r}; known values: and, or, xor, surrogate"
        )
    if not parts:
        raise fail(element, "the CompoundPredicate is empty")
    if operator in ("and", "or"):
        return joined(parts, every=operator == "and")
    if len(parts) == 1:
        return parts[0]
    return OneOf(tuple(parts)) if operator == "xor" else Surrogate(tuple(parts))


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


def _simple(element: Element, fields: Fields, fail: Failure) -> Predicate:
    if element.name in ("True", "False"):
        return Always() if element.name == "True" else Never()
    source = fields.source(element.get("field") or "", element, fail)
    if element.name == "SimpleSetPredicate":
        return _set(element, source, fields, fail)
    operator = element.get("operator") or ""
    if operator in ("isMissing", "isNotMissing"):
        return fields.test_once(
            source, (operator,), lambda: presence_test(source, operator == "isMissing")
        )
    if operator not in INTERVALS:
        raise fail(
            element,
            f"unknown operator {operator!r}; export the model again, with one of {', '.join(INTERVALS)}, isMissing, "
            "isNotMissing",
        )
    text = element.get("value")
    if text is None:
        raise fail(element, f"the comparison with {source.feature!r} has no value")
    return _comparison(element, source, operator, text, fields, fail)


def _comparison(
    element: Element, source: Source, operator: str, text: str, fields: Fields, fail: Failure
) -> Predicate:
    name = element.get("field") or ""
    if isinstance(source, Computed):
        return _of_computed(element, source, operator, (text,), fields, fail)
    other = fields.compared_with(name, text)
    feature = fields.features[source.feature]
    if feature.numeric:
        end = number(other) if isinstance(other, str) else other
        if end is None and text.strip() in INFINITE:
            is_all = operator == "notEqual" or operator.startswith(INFINITE[text.strip()])
            return presence_test(source, is_missing=False) if is_all else Never()
        if end is None:
            raise _no_number(element, feature.name, text, fail)
        test = INTERVALS[operator](feature.name, end)
    elif fields.is_boolean(feature.name) and _truth(text) is not None:
        test = _ordered_truths(feature, source, operator, text)
    elif operator in ("equal", "notEqual"):
        test = _category(feature, (text,), operator == "notEqual", fields)
    else:
        raise fail(
            element, f"{operator} is used on {feature.name!r}, which does not contain numbers"
        )
    if source.missing is None:
        return test
    return with_missing(source, test, lambda value: holds(value, operator, text))


def _of_computed(
    element: Element,
    source: Computed,
    operator: str,
    texts: tuple[str, ...],
    fields: Fields,
    fail: Failure,
) -> Predicate:
    """Return what a comparison of a computed field, or of one with a set, says of the raw field."""
    keeps = fields.keeps_unknown

    def read() -> Predicate:
        if operator in INTERVALS:
            found = comparison_test(source, operator, texts[0], keeps)
        else:
            found = set_test(source, texts, operator == "isIn", keeps)
        if found is None:
            name = element.get("field") or ""
            raise fail(
                element,
                f"contradictory: {name!r} is of the type {source.kind}, and {operator} compares it with "
                f"{', '.join(repr(text[:80]) for text in texts[:12])}",
            )
        return found

    try:
        return fields.test_once(source, (operator, *texts), read)
    except NotFollowedError as error:
        name = element.get("field") or ""
        raise fail(element, f"the test of {name!r} is not supported: {error}") from error


def _truth(text: str) -> float | None:
    """Return a truth value as JPMML-Evaluator orders it: false is 0, true is 1, and numbers are numbers."""
    return {"false": 0.0, "true": 1.0}.get(text.strip().lower(), number(text))


def _ordered_truths(feature: Feature, source: RawField, operator: str, text: str) -> Predicate:
    end = _truth(text)
    assert end is not None
    names = {_truth(value): value for value in feature.values}
    kept = [
        names.get(code, word)
        for code, word in ((0.0, "false"), (1.0, "true"))
        if COMPARISONS[operator](code, end)
    ]
    if len(kept) == 2:
        return presence_test(source, is_missing=False)
    return CategoryTest(feature.name, tuple(kept)) if kept else Never()


def _category(
    feature: Feature, texts: Sequence[str], negated: bool, fields: Fields
) -> CategoryTest:
    vocabulary = fields.values[feature.name]
    return CategoryTest(
        feature.name, tuple(vocabulary.find(text) or text for text in texts), negated
    )


def _no_number(element: Element, name: str, text: str, fail: Failure) -> Exception:
    return fail(
        element,
        f"contradictory: {name!r} contains numbers, but is compared with {text[:80]!r}, "
        "which is not a number",
    )


def _set(element: Element, source: Source, fields: Fields, fail: Failure) -> Predicate:
    operator = element.get("booleanOperator") or ""
    if operator not in ("isIn", "isNotIn"):
        raise fail(element, f"unknown booleanOperator {operator!r}; known values: isIn, isNotIn")
    array = element.first("Array")
    values = [] if array is None else items(array, fail)
    if not values:
        raise fail(element, f"the set of {source.feature!r} is empty")
    negated = operator == "isNotIn"
    if isinstance(source, Computed):
        texts = tuple(dict.fromkeys(values))
        return _of_computed(element, source, operator, texts, fields, fail)
    if not fields.features[source.feature].numeric:
        test: Predicate = _category(fields.features[source.feature], values, negated, fields)
        return with_missing(
            source, test, lambda value: any(holds(value, "equal", one) for one in values) != negated
        )
    single = "notEqual" if negated else "equal"
    parts = [
        _comparison(element, source, single, value, fields, fail) for value in dict.fromkeys(values)
    ]
    return joined(parts, every=negated)
