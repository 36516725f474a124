"""What a PMML file says about its fields: data dictionary, mining schema, renames, the target and its classes."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from lxml import etree

from ppdm_models import limits
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats._xml import children, first, name_of
from ppdm_models.tree import Feature

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
NUMERIC_TYPES = ("integer", "float", "double")
ORDERED = ("lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual")
TARGETS = ("predicted", "target")

Failure = Callable[[etree._Element, str], TreeFormatError]


@dataclass(frozen=True, slots=True)
class Fields:
    """The fields of one tree model. ``features`` are the active ones; ``renames`` lead from a derived field to its own.

    ``opaque`` are derived fields that compute something, with what they do. ``classes`` are the declared values of the
    target; ``labels`` lead from the values it predicts to the raw ones; ``values`` are the categories of each feature.
    """

    features: Mapping[str, Feature]
    target: str
    classes: tuple[str, ...]
    renames: Mapping[str, str]
    opaque: Mapping[str, str]
    labels: Mapping[str, str]
    values: Mapping[str, Vocabulary]


def number(text: str | None) -> float | None:
    """Return a finite number as XML writes it, padding trimmed; None where it is not one."""
    trimmed = (text or "").strip()
    value = float(trimmed) if len(trimmed) < 1000 and NUMBER.fullmatch(trimmed) else math.nan
    return value if math.isfinite(value) else None


class Vocabulary:
    """Known values, found again under other spellings."""

    def __init__(self, values: Iterable[str]) -> None:
        self.position = {value: position for position, value in enumerate(values)}
        self._by_number: dict[float, str | None] = {}
        for value in self.position:
            meant = number(value)
            if meant is not None:
                self._by_number[meant] = None if meant in self._by_number else value

    def find(self, text: str) -> str | None:
        """Return the value that a text means: itself, without padding, or the same number written otherwise."""
        for spelling in (text, text.strip()):
            if spelling in self.position:
                return spelling
        meant = number(text)
        return None if meant is None else self._by_number.get(meant)


def read_fields(root: etree._Element, models: list[etree._Element], fail: Failure) -> Fields:
    """Return the fields of a tree model; ``models`` lead from the outermost model to it.

    Raises:
        TreeFormatError: a field is declared twice, not declared, or changed before the tree sees it.
    """
    declared = _declared(root, fail)
    active, target = _schema(models, declared, fail)
    renames, opaque, casts = _derived(root, models, declared, fail)
    compared = _compared_by_order(models[-1], renames)
    features = {}
    for name in active:
        feature = _feature(declared[name], name in compared)
        if feature.numeric and name in casts:
            feature = Feature(name, numeric=True, single=True)
        features[name] = feature
    return Fields(
        features=features,
        target=target,
        classes=_classes(models, declared.get(target)),
        renames=renames,
        opaque=opaque,
        labels=_labels(models[-1]),
        values={name: Vocabulary(feature.values) for name, feature in features.items()},
    )


def _declared(root: etree._Element, fail: Failure) -> dict[str, etree._Element]:
    dictionary = first(root, "DataDictionary")
    found: dict[str, etree._Element] = {}
    for field in () if dictionary is None else children(dictionary, "DataField"):
        name = field.get("name", "")
        if name in found:
            raise fail(field, f"the field {name!r} is declared twice")
        found[name] = field
    if len(found) > limits.FEATURES:
        raise fail(root, f"more than {limits.FEATURES:,} fields")
    return found


def _schema(
    models: list[etree._Element], declared: Mapping[str, etree._Element], fail: Failure
) -> tuple[list[str], str]:
    """Return the active fields of the innermost model, and the target: its own, or that of a model around it."""
    active: list[str] = []
    target = ""
    for model in models:
        schema = first(model, "MiningSchema")
        for field in () if schema is None else children(schema, "MiningField"):
            name, usage = field.get("name", ""), field.get("usageType", "active")
            if usage in TARGETS:
                target = name
            if usage != "active":
                continue
            if field.get("missingValueReplacement") is not None:
                raise fail(
                    field,
                    f"missing values of {name!r} are replaced before the tree; not supported yet",
                )
            if field.get("outliers", "asIs") != "asIs":
                raise fail(
                    field, f"outliers of {name!r} are changed before the tree; not supported yet"
                )
            if model is models[-1]:
                if name not in declared:
                    raise fail(field, f"the field {name!r} is not in the DataDictionary")
                if name in active:
                    raise fail(field, f"the field {name!r} is active twice")
                active.append(name)
    if target in active:
        raise fail(models[-1], f"the field {target!r} is both active and predicted")
    return active, target


def _derived(
    root: etree._Element,
    models: list[etree._Element],
    declared: Mapping[str, etree._Element],
    fail: Failure,
) -> tuple[dict[str, str], dict[str, str], set[str]]:
    """Return derived fields that are plain renames, those that are not (with what they do), and casts to 32 bits."""
    renames: dict[str, str] = {}
    opaque: dict[str, str] = {}
    casts: set[str] = set()
    scopes = [
        first(root, "TransformationDictionary"),
        *(first(model, "LocalTransformations") for model in models),
    ]
    for scope in scopes:
        for field in () if scope is None else children(scope, "DerivedField"):
            name = field.get("name", "")
            if name in declared or name in renames or name in opaque:
                raise fail(field, f"the field {name!r} is declared twice")
            source = first(field, "FieldRef")
            origin = (
                ""
                if source is None
                else renames.get(source.get("field", ""), source.get("field", ""))
            )
            if (
                source is None
                or origin not in declared
                or not _keeps_values(field, source, declared[origin])
            ):
                opaque[name] = next(
                    (name_of(child) for child in field if name_of(child) not in ("", "Extension")),
                    "?",
                )
                continue
            renames[name] = origin
            if field.get("dataType") == "float":
                casts.add(origin)
    return renames, opaque, casts


def _keeps_values(field: etree._Element, source: etree._Element, origin: etree._Element) -> bool:
    """Whether a derived field is its source under another name, or as a (rounded) floating-point number."""
    if source.get("mapMissingTo") is not None:
        return False
    kind, before = field.get("dataType"), origin.get("dataType")
    return kind in (None, before) or (before in NUMERIC_TYPES and kind in ("float", "double"))


def _compared_by_order(model: etree._Element, renames: Mapping[str, str]) -> set[str]:
    found = set()
    for element in model.iter(etree.Element):
        if name_of(element) == "SimplePredicate" and element.get("operator") in ORDERED:
            name = element.get("field", "")
            found.add(renames.get(name, name))
    return found


def _feature(field: etree._Element, is_compared: bool) -> Feature:
    name, kind, operation = field.get("name", ""), field.get("dataType"), field.get("optype")
    by_type = kind in NUMERIC_TYPES or kind is None
    numeric = by_type and (
        is_compared or operation == "continuous" or (operation is None and kind is not None)
    )
    if numeric:
        return Feature(name, numeric=True, single=kind == "float")
    values = _values(field)
    return Feature(
        name,
        numeric=False,
        values=("false", "true") if kind == "boolean" and not values else values,
    )


def _values(field: etree._Element) -> tuple[str, ...]:
    valid = (item for item in children(field, "Value") if item.get("property", "valid") == "valid")
    return tuple(dict.fromkeys(item.get("value", "") for item in valid))


def _classes(models: list[etree._Element], target: etree._Element | None) -> tuple[str, ...]:
    if target is not None and _values(target):
        return _values(target)
    if _labels(models[-1]):
        return tuple(dict.fromkeys(_labels(models[-1]).values()))
    return tuple(
        dict.fromkeys(
            item.get("value", "")
            for item in _target_values(models[-1])
            if item.get("value") is not None
        )
    )


def _labels(model: etree._Element) -> dict[str, str]:
    """Return what the target's predicted values stand for in the data, where the file says it (SAS pads them)."""
    return {
        item.get("value", ""): item.get("rawDataValue", "").strip()
        for item in _target_values(model)
        if item.get("rawDataValue") is not None
    }


def _target_values(model: etree._Element) -> list[etree._Element]:
    targets = first(model, "Targets")
    found = () if targets is None else children(targets, "Target")
    return [item for target in found for item in children(target, "TargetValue")]
