"""What a PMML file says about the fields of one model: data dictionary, mining schema, derived fields, the target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from ppdm_models import limits
from ppdm_models.codecs.common.xml import Element, is_model
from ppdm_models.codecs.pmml.derived import EXPRESSIONS, Derivation
from ppdm_models.codecs.pmml.functions import single
from ppdm_models.codecs.pmml.shares import StatedShares
from ppdm_models.codecs.pmml.sources import Raw, Source
from ppdm_models.codecs.pmml.treatments import read_treatments
from ppdm_models.codecs.pmml.values import Failure, Vocabulary, number
from ppdm_models.tree.tree import Feature

NUMERIC_TYPES = ("integer", "float", "double")
ORDERED = ("lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual")
TARGETS = ("predicted", "target")
SCOPES = ("TransformationDictionary", "LocalTransformations")
OWN_ID = "BigML-Field_ID"
"""The Extension of a DataField that holds BigML's own name for it, by which older exports refer to it."""


class Dictionary:
    """The fields that a file declares for all its models, and the derived fields of each scope, looked up once."""

    def __init__(self, root: Element, fail: Failure) -> None:
        dictionary = root.first("DataDictionary")
        self.fields = _named(() if dictionary is None else dictionary.all("DataField"), fail)
        if len(self.fields) > limits.FEATURES:
            raise fail(root, f"more than {limits.FEATURES:,} fields")
        self.own_ids = _own_ids(self.fields, fail)
        self._scopes: dict[Element, dict[str, Element]] = {}
        self._casts: dict[Element, frozenset[str]] = {}

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

    def scope(self, element: Element | None, fail: Failure) -> dict[str, Element]:
        """Return the derived fields of a TransformationDictionary or LocalTransformations by name."""
        if element is None:
            return {}
        if element not in self._scopes:
            found = _named(element.all("DerivedField"), fail)
            for name in found:
                if name in self.fields:
                    raise fail(found[name], f"the field {name!r} is declared twice")
            self._scopes[element] = found
        return self._scopes[element]


class Fields:
    """The fields that one model can name. ``features`` grow by those that its tests turn out to need.

    ``shares`` are the probabilities that nodes state beside counts.
    ``classes`` are the declared values of the target; ``labels`` lead from the values it predicts to the raw ones.
    """

    def __init__(
        self,
        dictionary: Dictionary,
        around: Sequence[Element],
        tests: Element,
        fail: Failure,
    ) -> None:
        self.fail = fail
        self.notes: list[str] = []
        self.unused: list[str] = []
        self.shares = (StatedShares("probability"), StatedShares("confidence"))
        self.models = [element for element in around if element.first("MiningSchema") is not None]
        self._declared = dictionary.fields
        self._own_ids = dictionary.own_ids
        if not dictionary.fields:
            self._declared = _guessed(self.models, tests)
            self.notes.append(
                f"{fail.source}: no field is declared, so one is a number where some test compares it by order"
            )
        scopes = [element.first(kind) for element in around for kind in SCOPES]
        self._scopes = [dictionary.scope(scope, fail) for scope in scopes]
        self._casts = [dictionary.casts(scope) for scope in scopes if scope is not None]
        self._around = around
        self._schema: dict[str, list[Element]] = {}
        self.target = ""
        own = self._read_schemas()
        self._tests = tests
        self._ordered: set[str] | None = None
        self._following: list[str] = []
        self._floats = {
            known
            for known in {*self._declared, *(name for scope in self._scopes for name in scope)}
            if self._kind(known) == "float"
        }
        self._sources: dict[str, Source | None] = {}
        self._derivation = Derivation(self._resolved, self.typed)
        self.features: dict[str, Feature] = {}
        self.values: dict[str, Vocabulary] = {}
        for name in own:
            inner = next((scope[name] for scope in reversed(self._scopes) if name in scope), None)
            for raw in (name,) if inner is None else self._leaves(inner):
                if raw in self._declared:
                    self.typed(raw)
        target = self._declared.get(self.target)
        self.target_type = None if target is None else target.get("optype") or target.get("opType")
        self.labels = _labels(around[-1])
        self.classes = (() if target is None else _values(target)) or _predicted(around[-1])

    def source(self, name: str, element: Element, fail: Failure) -> Source:
        """Return what a field that a test names is made of.

        Raises:
            TreeFormatError: there is no such field.
        """
        found = self._resolved(name)
        if found is not None:
            return found
        known = ", ".join(repr(known) for known in list(self._schema)[:12])
        raise fail(
            element,
            f"contradictory: tests the field {name!r}, but its active fields are {known or 'none'}",
        )

    def compared_with(self, name: str, text: str) -> str | float:
        """Return what a field is compared with: 32 bits of the number where the field has no more."""
        value = number(text) if self._own_ids.get(name, name) in self._floats else None
        rounded = math.inf if value is None else single(value)
        return text if math.isinf(rounded) else rounded

    def is_single(self, name: str) -> bool:
        """Whether a field holds numbers of 32 bits."""
        return name in self._floats

    def is_boolean(self, name: str) -> bool:
        """Whether a raw field holds true and false."""
        return name in self._declared and self._declared[name].get("dataType") == "boolean"

    def typed(self, name: str) -> Feature:
        """Return a raw field as a feature."""
        if name not in self.features:
            feature = _feature(self._declared[name], lambda: name in self._compared_by_order())
            if feature.numeric and any(name in casts for casts in self._casts):
                feature = replace(feature, single=True)
            treatments = read_treatments(
                self._declared[name], self._schema.get(name, ()), feature, self.fail
            )
            self._add(replace(feature, treatments=treatments))
            if any(treatment.changes_values for treatment in treatments):
                self.notes.append(
                    f"{self.fail.source}:{self._declared[name].line}: invalid or extreme values of {name!r} are "
                    "changed before the tests; the regions are of values as they are then"
                )
        return self.features[name]

    def _add(self, feature: Feature) -> None:
        self.features[feature.name] = feature
        self.values[feature.name] = Vocabulary(feature.values)

    def _read_schemas(self) -> list[str]:
        """Note the target and the active fields, those of inner models before the others; return the innermost."""
        own: list[str] = []
        for model in self.models:
            own = []
            schema = model.first("MiningSchema")
            assert schema is not None
            for field in schema.all("MiningField"):
                said, usage = field.get("name") or "", field.get("usageType") or "active"
                name = self._own_ids.get(said, said)
                if usage in TARGETS:
                    self.target = name
                if usage != "active":
                    continue
                if name in own:
                    raise self.fail(field, f"the field {name!r} is active twice")
                own.append(name)
                self._schema.setdefault(name, []).append(field)
        if self.target in own:
            raise self.fail(
                self.models[-1], f"the field {self.target!r} is both active and predicted"
            )
        for name in own:
            if name not in self._declared and self._element(name) is None:
                raise self.fail(
                    self._schema[name][-1],
                    f"contradictory: the field {name!r} is used, but not in the DataDictionary",
                )
        return own

    def _element(self, name: str) -> Element | None:
        """Return the derived field or earlier result of a name, the innermost first."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return next((item for item in _results(self._around) if item.get("name") == name), None)

    def _kind(self, name: str) -> str | None:
        """Return the declared type of a field, of the innermost scope that has one of the name."""
        scope = next((scope for scope in reversed(self._scopes) if name in scope), self._declared)
        return scope[name].get("dataType")

    def _resolved(self, name: str) -> Source | None:
        name = self._own_ids.get(name, name)
        if name in self._sources:
            return self._sources[name]
        if name in self._following or len(self._following) > limits.XML_DEPTH:
            return None  # a field made of itself
        self._following.append(name)
        found = self._found(name)
        self._following.pop()
        self._sources[name] = found
        return found

    def _found(self, name: str) -> Source | None:
        derived = next((scope[name] for scope in reversed(self._scopes) if name in scope), None)
        if derived is not None:
            return self._of_derived(name, derived)
        if name in self._declared:
            return self._of_raw(name) if name in self._schema or not self.models else None
        result = next((item for item in _results(self._around) if item.get("name") == name), None)
        if result is None:
            return None
        self._add(_feature(result, lambda: name in self._compared_by_order()))
        self.notes.append(
            f"{self.fail.source}:{result.line}: the field {name!r} is what an earlier part of the model predicts"
        )
        return Raw(name)

    def _of_raw(self, name: str) -> Source:
        self.typed(name)
        fields = self._schema.get(name, [])
        replaced = (field.get("missingValueReplacement") for field in fields)
        missing = next((value for value in replaced if value is not None), None)
        if missing is None:
            return Raw(name)
        if self.features[name].numeric and number(missing) is None:
            raise self.fail(
                fields[0], f"missing values of {name!r} become {missing[:80]!r}, which is no number"
            )
        return Raw(name, missing)

    def _of_derived(self, name: str, derived: Element) -> Source | None:
        found = self._derivation.of_field(derived)
        if found is not None:
            return found
        kind = next((part.name for part in derived.children if part.name in EXPRESSIONS), "?")
        made_of = list(dict.fromkeys(self._leaves(derived)))
        own = name if name not in self.features else f"{name} (computed)"
        feature = _feature(derived, lambda: name in self._compared_by_order())
        self._add(Feature(own, feature.numeric, feature.values))
        raws = ", ".join(repr(raw) for raw in made_of[:12]) or "no raw field"
        self.notes.append(
            f"{self.fail.source}:{derived.line}: the field {name!r} is computed ({kind} of {raws}) and stays a field "
            "of its own"
        )
        return Raw(own)

    def _leaves(self, derived: Element) -> Iterator[str]:
        """Yield the raw fields that a derived field is computed from."""
        pending, seen = [derived], set[Element]()
        while pending:
            for part in pending.pop().within():
                name = part.get("field")
                if name is None or part in seen or len(seen) > limits.FEATURES:
                    continue
                seen.add(part)
                inner = next((s[name] for s in reversed(self._scopes) if name in s), None)
                if inner is None:
                    yield name
                elif inner not in seen:
                    seen.add(inner)
                    pending.append(inner)

    def _compared_by_order(self) -> set[str]:
        """Return the raw fields that some test compares by order, directly or under another name."""
        if self._ordered is None:
            names = {
                test.get("field") or ""
                for test in self._tests.within("SimplePredicate")
                if test.get("operator") in ORDERED
            }
            self._ordered = set()
            for name in names:
                for _ in range(limits.XML_DEPTH):
                    self._ordered.add(name)
                    inner = next((s[name] for s in reversed(self._scopes) if name in s), None)
                    renamed = None if inner is None else inner.first("FieldRef")
                    if renamed is None:
                        break
                    name = renamed.get("field") or ""
        return self._ordered


def _own_ids(fields: Mapping[str, Element], fail: Failure) -> dict[str, str]:
    """Return the declared fields by the names that their producer gives them beside their own."""
    found: dict[str, str] = {}
    for name, field in fields.items():
        for item in field.all("Extension"):
            said = item.get("value") or ""
            if item.get("name") != OWN_ID or said in fields:
                continue
            if said in found:
                raise fail(item, f"contradictory: two fields have the {OWN_ID} {said[:80]!r}")
            found[said] = name
    return found


def _guessed(models: Sequence[Element], tests: Element) -> dict[str, Element]:
    """Return the fields that a fragment without a dictionary names, untyped."""
    schemas = (model.first("MiningSchema") for model in models)
    listed = [field for schema in schemas if schema is not None for field in schema.children]
    named = listed or list(tests.within("SimplePredicate", "SimpleSetPredicate"))
    names = dict.fromkeys(item.get("name") or item.get("field") or "" for item in named)
    return {name: Element("DataField", {"name": name}, tests.line) for name in names}


def _named(elements: Iterator[Element] | tuple[()], fail: Failure) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in elements:
        name = element.get("name") or ""
        if name in found:
            raise fail(element, f"the field {name!r} is declared twice")
        found[name] = element
    return found


def _results(around: Sequence[Element]) -> Iterator[Element]:
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


def _feature(field: Element, is_compared: Callable[[], bool]) -> Feature:
    name, kind = field.get("name") or "", field.get("dataType")
    operation = field.get("optype") or field.get("opType")
    by_type = kind in NUMERIC_TYPES or kind is None
    if by_type and (
        operation == "continuous" or (operation is None and kind is not None) or is_compared()
    ):
        return Feature(name, numeric=True, single=kind == "float")
    values = _values(field)
    return Feature(
        name,
        numeric=False,
        values=("false", "true") if kind == "boolean" and not values else values,
    )


def _values(field: Element) -> tuple[str, ...]:
    valid = (item for item in field.all("Value") if (item.get("property") or "valid") == "valid")
    return tuple(dict.fromkeys(item.get("value") or "" for item in valid))


def _predicted(model: Element) -> tuple[str, ...]:
    labels = _labels(model)
    if labels:
        return tuple(dict.fromkeys(labels.values()))
    values = (item.get("value") for item in _target_values(model))
    return tuple(dict.fromkeys(value for value in values if value is not None))


def _labels(model: Element) -> Mapping[str, str]:
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
