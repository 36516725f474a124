"""What a PMML file declares: data fields, derived fields of each scope, earlier results, the target's values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.xml_elements import Element, is_model
from treewarden.ppdm_models.formats.pmml._values import (
    Failure,
    number,
)
from treewarden.ppdm_models.tree.tree import Feature, Node

NUMERIC_TYPES = ("integer", "float", "double")
OWN_ID = "BigML-Field_ID"
"""The Extension of a DataField that holds BigML's own name for it, by which older exports refer to it."""


class Dictionary:
    """The fields that a file declares for all its models, and the derived fields of each scope, looked up once."""

    def __init__(self, root: Element, fail: Failure) -> None:
        dictionary = root.first("DataDictionary")
        self.fields = elements_by_name(
            () if dictionary is None else dictionary.all("DataField"), fail
        )
        if len(self.fields) > limits.FEATURES:
            raise fail(
                root,
                f"more than {limits.FEATURES:,} fields, which is the limit; train "
                "with fewer columns",
            )
        self.own_ids = own_ids_of(self.fields, fail)
        self._scopes: dict[Element, dict[str, Element]] = {}
        self._casts: dict[Element, frozenset[str]] = {}
        self._functions: dict[Element, dict[str, Element]] = {}

    def casts(self, element: Element | None) -> frozenset[str]:
        """Return the fields that a TransformationDictionary or LocalTransformations rounds to 32 bits."""
        if element is None:
            return frozenset()
        if element not in self._casts:
            rounded = (
                reference.get("field") or ""
                for field in element.all("DerivedField")
                if field.get("dataType") == "float"
                for reference in field.all("FieldRef")
            )
            self._casts[element] = frozenset(rounded)
        return self._casts[element]

    def functions(self, element: Element | None, fail: Failure) -> dict[str, Element]:
        """Return the functions that a TransformationDictionary defines by name."""
        if element is None or element.name != "TransformationDictionary":
            return {}
        if element not in self._functions:
            self._functions[element] = elements_by_name(element.all("DefineFunction"), fail)
        return self._functions[element]

    def scope(self, element: Element | None, fail: Failure) -> dict[str, Element]:
        """Return the derived fields of a TransformationDictionary or LocalTransformations by name."""
        if element is None:
            return {}
        if element not in self._scopes:
            elements = elements_by_name(element.all("DerivedField"), fail)
            for name in elements:
                if name in self.fields:
                    raise fail(elements[name], f"the field {name!r} is declared twice")
            self._scopes[element] = elements
        return self._scopes[element]


def own_ids_of(fields: Mapping[str, Element], fail: Failure) -> dict[str, str]:
    """Return the declared fields by the names that their producer gives them beside their own."""
    found: dict[str, str] = {}
    for name, field in fields.items():
        for item in field.all("Extension"):
            said = item.get("value") or ""
            if item.get("name") != OWN_ID or said in fields:
                continue
            if said in found:
                raise fail(item, f"two fields have the same {OWN_ID} {said[:80]!r}")
            found[said] = name
    return found


def guess_fields(models: Sequence[Element], tests: Element) -> dict[str, Element]:
    """Return the fields that a fragment without a dictionary names, untyped."""
    schemas = (model.first("MiningSchema") for model in models)
    listed = [field for schema in schemas if schema is not None for field in schema.children]
    named = listed or list(tests.within("SimplePredicate", "SimpleSetPredicate"))
    names = dict.fromkeys(item.get("name") or item.get("field") or "" for item in named)
    return {name: Element("DataField", {"name": name}, tests.line) for name in names}


def elements_by_name(elements: Iterator[Element] | tuple[()], fail: Failure) -> dict[str, Element]:
    """Return elements by their names.

    Raises:
        TreeFormatError: two have the same one.
    """
    found: dict[str, Element] = {}
    for element in elements:
        name = element.get("name") or ""
        if name in found:
            raise fail(element, f"the field {name!r} is declared twice")
        found[name] = element
    return found


def earlier_results(around: Sequence[Element]) -> Iterator[Element]:
    """Yield what models that stand before this one, inside the same models, say that they predict."""
    for outer in reversed(around):
        for segmentation in outer.all("Segmentation"):
            for segment in segmentation.all("Segment"):
                yield from _results_of(segment)
        yield from _results_of(outer)


def _results_of(holder: Element) -> Iterator[Element]:
    for model in holder.children:
        if is_model(model.name):
            for output in model.all("Output"):
                yield from output.all("OutputField")
            yield from model.all("ResultField")


def declared_feature(field: Element, is_compared: Callable[[], bool]) -> Feature:
    """Return a field as a feature; one whose type is not told is a number where some test compares it by order."""
    name, kind = field.get("name") or "", field.get("dataType")
    operation = field.get("optype") or field.get("opType")
    by_type = kind in NUMERIC_TYPES or kind is None
    if by_type and (
        operation == "continuous" or (operation is None and kind is not None) or is_compared()
    ):
        return Feature(name, numeric=True, single=kind == "float")
    values = declared_values(field)
    return Feature(
        name,
        numeric=False,
        values=("false", "true") if kind == "boolean" and not values else values,
    )


def declared_values(field: Element) -> tuple[str, ...]:
    """Return the values that a field declares as valid."""
    valid = (item for item in field.all("Value") if (item.get("property") or "valid") == "valid")
    return tuple(dict.fromkeys(item.get("value") or "" for item in valid))


def predicted_values(model: Element) -> tuple[str, ...]:
    """Return the classes that the Targets of a model name."""
    labels = raw_labels(model)
    if labels:
        return tuple(dict.fromkeys(labels.values()))
    values = (item.get("value") for item in _target_values(model))
    return tuple(dict.fromkeys(value for value in values if value is not None))


def raw_labels(model: Element) -> Mapping[str, str]:
    """Return what the target's predicted values stand for in the data, where the file says it (SAS pads them)."""
    return {
        item.get("value") or "": (item.get("rawDataValue") or "").strip()
        for item in _target_values(model)
        if item.get("rawDataValue") is not None
    }


def _target_values(model: Element) -> Iterator[Element]:
    targets = model.first("Targets")
    for target in () if targets is None else targets.all("Target"):
        yield from target.all("TargetValue")


# What happens to a predicted number before it is given out (PMML 4.4, Targets).

CASTS: dict[str, Callable[[float], float]] = {
    "round": lambda value: float(math.floor(value + 0.5)),
    "ceiling": lambda value: float(math.ceil(value)),
    "floor": lambda value: float(math.floor(value)),
}


@dataclass(frozen=True, slots=True)
class PmmlTarget:
    """Score times factor plus constant, kept between the ends, then made whole."""

    constant: float
    factor: float
    low: float
    high: float
    cast: str | None
    notes: tuple[str, ...]

    @property
    def is_linear(self) -> bool:
        """Whether nothing but factor and constant changes a score."""
        return self.cast is None and self.low == -math.inf and self.high == math.inf


def read_target(model: Element, fail: Failure) -> PmmlTarget | None:
    """Return what the model's Targets do to its score; None where that is nothing.

    Raises:
        TreeFormatError: a number is none, or a cast is unknown.
    """
    targets = model.first("Targets")
    target = None if targets is None else targets.first("Target")
    if target is None:
        return None
    cast = target.get("castInteger")
    if cast is not None and cast not in CASTS:
        raise fail(target, f"unknown castInteger {cast!r}; known values: {', '.join(CASTS)}")
    pmml_target = PmmlTarget(
        _number(target, "rescaleConstant", 0.0, fail),
        _number(target, "rescaleFactor", 1.0, fail),
        _number(target, "min", -math.inf, fail),
        _number(target, "max", math.inf, fail),
        cast,
        (),
    )
    if pmml_target.is_linear and pmml_target.constant == 0.0 and pmml_target.factor == 1.0:
        return None
    said = (
        f"{fail.source}:{target.line}: the scores shown are those after Targets "
        "(rescaled or rounded)"
    )
    return replace(pmml_target, notes=(said,))


def rescaled(node: Node, target: PmmlTarget) -> Node:
    """Return a node with its score as it is given out (PMML 4.4: ends, then factor and constant, then the cast)."""
    if not isinstance(node.score, float):
        return node
    score = min(max(node.score, target.low), target.high)
    score = score * target.factor + target.constant
    if target.cast is not None and math.isfinite(score):
        score = CASTS[target.cast](score)
    return replace(node, score=score)


def _number(target: Element, name: str, default: float, fail: Failure) -> float:
    text = target.get(name)
    value = default if text is None else number(text)
    if value is None:
        raise fail(target, f"{name} is {(text or '')[:80]!r}, which is not a finite number")
    return value


SCOPES = ("TransformationDictionary", "LocalTransformations")


@dataclass(frozen=True, slots=True)
class Transformations:
    """What a file computes around the tests: derived fields by name, outermost first, and the functions it defines.

    ``casts`` are the fields that each place with derived fields rounds to 32 bits.
    """

    scopes: list[dict[str, Element]]
    casts: list[frozenset[str]]
    functions: dict[str, Element]


def transformations_of(
    dictionary: Dictionary, around: Sequence[Element], fail: Failure
) -> Transformations:
    """Return what the elements around the tests compute.

    Raises:
        TreeFormatError: a field or a function is declared twice.
    """
    elements = [element.first(kind) for element in around for kind in SCOPES]
    functions = {
        name: function
        for element in elements
        for name, function in dictionary.functions(element, fail).items()
    }
    return Transformations(
        scopes=[dictionary.scope(element, fail) for element in elements],
        casts=[dictionary.casts(element) for element in elements if element is not None],
        functions=functions,
    )
