"""The fields that one PMML model can name: its mining schema, what it computes, and what its tests need of both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import TypeVar

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._cases import Cases, outcomes, work_of
from treewarden.ppdm_models.formats.pmml._declared import (
    Dictionary,
    declared_feature,
    declared_values,
    earlier_results,
    guess_fields,
    predicted_values,
    raw_labels,
    transformations_of,
)
from treewarden.ppdm_models.formats.pmml._expressions import EXPRESSIONS, Derivation, WorkBudget
from treewarden.ppdm_models.formats.pmml._schemas import (
    NOTHING_KEPT,
    CarefulReading,
    FieldUse,
    keep_more,
    raw_cases,
    read_schemas,
    refusals_by_feature,
    source_of,
    use_of,
)
from treewarden.ppdm_models.formats.pmml._sources import (
    Computed,
    RawField,
    Source,
    is_invalid,
    refusal_test,
)
from treewarden.ppdm_models.formats.pmml._statistics import StatedShares
from treewarden.ppdm_models.formats.pmml._tables import read_treatments
from treewarden.ppdm_models.formats.pmml._values import (
    Failure,
    NotFollowedError,
    Vocabulary,
    number,
    single,
)
from treewarden.ppdm_models.tree.predicate import (
    AllOf,
    AnyOf,
    MissingTest,
    Predicate,
    Refusal,
    features_of,
)
from treewarden.ppdm_models.tree.tree import Feature

ORDERED = ("lessThan", "lessOrEqual", "greaterThan", "greaterOrEqual")


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
        careful: CarefulReading = NOTHING_KEPT,
    ) -> None:
        """Take what the file declares, the elements around the tests, outermost first, and what is read with care."""
        self.fail = fail
        self._kept = careful
        self.notes: list[str] = []
        self.unused: list[str] = []
        self.shares = (StatedShares("probability"), StatedShares("confidence"))
        self.models = [element for element in around if element.first("MiningSchema") is not None]
        self._declared = dictionary.fields
        self._own_ids = dictionary.own_ids
        if not dictionary.fields:
            self._declared = guess_fields(self.models, tests)
            self.notes.append(
                f"{fail.source}: no field is declared, so a field counts as a number if a "
                "test compares it by order"
            )
        transformations = transformations_of(dictionary, around, fail)
        self._scopes, self._casts = transformations.scopes, transformations.casts
        self._around = around
        self._schemas = read_schemas(self.models, self._own_ids, fail)
        self._schema, self.target = self._schemas.active, self._schemas.target
        self.notes += self._schemas.notes
        self._check_active()
        self._tests = tests
        self._ordered: set[str] | None = None
        self._following: dict[str, None] = {}
        self._floats = {
            known
            for known in {*self._declared, *(name for scope in self._scopes for name in scope)}
            if self._kind(known) == "float"
        }
        self.keeps_unknown = _tells_unknown(around[-1])
        self._sources: dict[str, Source | None] = {}
        self._uses: dict[str, FieldUse] = {}
        self._compounds: set[str] = set()
        self._refusals: dict[int, Predicate | None] = {}
        self._tested: dict[tuple[object, ...], Predicate] = {}
        self._budget = WorkBudget(limits.FIELD_TESTS)
        self._derivation = Derivation(self._cases, transformations.functions)
        self.features: dict[str, Feature] = {}
        self.values: dict[str, Vocabulary] = {}
        self._type_active()
        target = self._declared.get(self.target)
        self.target_type = None if target is None else target.get("optype") or target.get("opType")
        self.labels = raw_labels(around[-1])
        self.classes = (() if target is None else declared_values(target)) or predicted_values(
            around[-1]
        )

    def source(self, name: str, element: Element, fail: Failure) -> Source:
        """Return what a field that a test names is made of.

        Raises:
            TreeFormatError: there is no such field.
        """
        name = self._own_ids.get(name, name)
        found = self._resolved(name)
        if found is not None:
            if name not in self._uses:
                self._uses[name] = self._use(name, found)
            return found
        known = ", ".join(repr(known) for known in list(self._schema)[:12])
        raise fail(
            element,
            f"contradictory: a node tests the field {name!r}, but the active fields are "
            f"{known or 'none'}",
        )

    def compared_with(self, name: str, text: str) -> str | float:
        """Return what a field is compared with: 32 bits of the number where the field has no more."""
        value = number(text) if self._own_ids.get(name, name) in self._floats else None
        rounded = math.inf if value is None else single(value)
        return text if math.isinf(rounded) else rounded

    def keeping_unknown(self) -> Fields:
        """Return the same fields for tests of which "unknown" is not as good as "false"."""
        self._compounds.add("xor or surrogate")
        fields = copy(self)
        fields.keeps_unknown = True
        return fields

    def test_once(
        self, source: Source, key: tuple[str, ...], read: Callable[[], Predicate]
    ) -> Predicate:
        """Return a test of a field, read only once.

        Raises:
            TreeFormatError: the tests look at too many cases together.
        """
        place = (id(source), self.keeps_unknown, *key)
        if place not in self._tested:
            if isinstance(source, Computed) and not self._budget.take(work_of(source.cases)):
                raise self.fail(
                    self._tests,
                    "the conditions on computed fields are too complex (more than "
                    f"{limits.FIELD_TESTS:,} cases); add the computed values to the table as "
                    "a column, and train on it",
                )
            self._tested[place] = self._asking(source, read())
        return self._tested[place]

    def _asking(self, source: Source, test: Predicate) -> Predicate:
        """Return a test that asks for its raw field, and refuses what is to be refused for it, whatever it says."""
        feature = source.feature
        if id(source) not in self._refusals:
            self._refusals[id(source)] = (
                refusal_test(source.cases) if isinstance(source, Computed) else None
            )
        refusal = self._refusals[id(source)]
        if refusal is not None and feature in self._kept.mixed:
            return AnyOf((test, Refusal(refusal)))
        is_looked_at = refusal is not None or bool(self.features[feature].treatments)
        if is_looked_at and feature not in features_of(test):
            return AllOf((AnyOf((MissingTest(feature), MissingTest(feature, negated=True))), test))
        return test

    def settle(self) -> CarefulReading:
        """Give the raw fields what refuses records for the fields computed of them, once all tests are read.

        Return what is to be read more carefully; the tests are to be read again where that is more than before.
        """
        careful_reading = keep_more(
            self._kept, self._uses.values(), self._rounded(), is_lazy=bool(self._compounds)
        )
        if careful_reading != self._kept:
            return careful_reading
        for feature, treatment in refusals_by_feature(careful_reading, self._uses.values()).items():
            known = self.features[feature]
            self.features[feature] = replace(known, treatments=(*known.treatments, treatment))
        self.notes += [
            f"{self.fail.source}:{self._where(use.name)}: {use.note}"
            for use in self._uses.values()
            if use.note
        ]
        return careful_reading

    def is_single(self, name: str) -> bool:
        """Whether a field holds numbers of 32 bits."""
        return name in self._floats

    def is_boolean(self, name: str) -> bool:
        """Whether a raw field holds true and false."""
        return name in self._declared and self._declared[name].get("dataType") == "boolean"

    def typed(self, name: str) -> Feature:
        """Return a raw field as a feature."""
        if name not in self.features:
            feature = declared_feature(
                self._declared[name], lambda: name in self._compared_by_order()
            )
            is_rounded = name not in self._kept.exact and any(name in cast for cast in self._casts)
            if feature.numeric and is_rounded:
                feature = replace(feature, single=True)
            treatments = read_treatments(
                self._declared[name], self._schema.get(name, ()), feature, self.fail
            )
            self._add(replace(feature, treatments=treatments))
            if any(treatment.changes_values for treatment in treatments):
                self.notes.append(
                    f"{self.fail.source}:{self._declared[name].line}: invalid or extreme "
                    f"values of {name!r} are changed before the tests, so the tests shown "
                    "refer to the changed values"
                )
        return self.features[name]

    def _add(self, feature: Feature) -> None:
        self.features[feature.name] = feature
        self.values[feature.name] = Vocabulary(feature.values)

    def _check_active(self) -> None:
        """Refuse a schema whose innermost model asks for what it predicts, or for what nothing declares."""
        if self.target in self._schemas.own:
            raise self.fail(
                self.models[-1], f"the field {self.target!r} is both active and predicted"
            )
        for name in self._schemas.own:
            if name not in self._declared and self._element(name) is None:
                raise self.fail(
                    self._schema[name][-1],
                    f"contradictory: the field {name!r} is used, but not in the DataDictionary",
                )

    def _type_active(self) -> None:
        """Make features of the raw fields that the innermost model uses, itself or for what it computes."""
        for name in self._schemas.own:
            inner = next((scope[name] for scope in reversed(self._scopes) if name in scope), None)
            for raw in (name,) if inner is None else self._leaves(inner):
                if raw in self._declared:
                    self.typed(raw)

    def _element(self, name: str) -> Element | None:
        """Return the derived field or earlier result of a name, the innermost first."""
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return next(
            (item for item in earlier_results(self._around) if item.get("name") == name), None
        )

    def _kind(self, name: str) -> str | None:
        """Return the declared type of a field, of the innermost scope that has one of the name."""
        scope = next((scope for scope in reversed(self._scopes) if name in scope), self._declared)
        return scope[name].get("dataType")

    def _resolved(self, name: str) -> Source | None:
        """Return what a field is made of; None where there is no such field."""
        name = self._own_ids.get(name, name)
        if name in self._sources:
            return self._sources[name]
        if name in self._following:
            path = [*list(self._following)[list(self._following).index(name) :], name]
            raise self.fail(
                self._element(name) or self._tests,
                f"contradictory: the field {name[:80]!r} is computed from itself "
                f"({' from '.join(step[:80] for step in path[:12])})",
            )
        self._following[name] = None
        try:
            found = self._source_named(name)
        finally:
            del self._following[name]
        self._sources[name] = found
        return found

    def _cases(self, name: str) -> Cases:
        """Return a field as cases of a raw one.

        Raises:
            NotFollowedError: there is no such field, or its values are of a type that is not supported.
        """
        if len(self._following) > limits.FIELD_DEPTH:
            raise NotFollowedError(
                f"more than {limits.FIELD_DEPTH} fields follow one another, which is the limit"
            )
        name = self._own_ids.get(name, name)
        source = self._resolved(name)
        if source is None:
            raise NotFollowedError(f"it reads {name!r}, which is not among the active fields")
        if isinstance(source, Computed):
            return source.cases
        return raw_cases(source, self.features[source.feature], *self._type(name))

    def _type(self, name: str) -> tuple[str | None, bool]:
        """Return the declared type of a field, and whether it may be compared by order."""
        element = self._element(name) or self._declared.get(name)
        if element is None:
            return None, True
        optype = element.get("optype") or element.get("opType")
        return element.get("dataType"), optype != "categorical"

    def _source_named(self, name: str) -> Source | None:
        derived = next((scope[name] for scope in reversed(self._scopes) if name in scope), None)
        if derived is not None:
            return self._of_derived(name, derived)
        if name in self._declared:
            return self._of_raw(name) if name in self._schema or not self.models else None
        result = next(
            (element for element in earlier_results(self._around) if element.get("name") == name),
            None,
        )
        if result is None:
            return None
        self._add(declared_feature(result, lambda: name in self._compared_by_order()))
        self.notes.append(
            f"{self.fail.source}:{result.line}: the field {name!r} is the prediction of "
            "an earlier part of the model"
        )
        return RawField(name)

    def _of_raw(self, name: str) -> Source:
        self.typed(name)
        fields = self._schema.get(name, [])
        replaced = (field.get("missingValueReplacement") for field in fields)
        missing = next((value for value in replaced if value is not None), None)
        if missing is None:
            return RawField(name)
        if self.features[name].numeric and number(missing) is None:
            raise self.fail(
                fields[0],
                f"missing values of {name!r} become {missing[:80]!r}, which is not a number",
            )
        return RawField(name, missing)

    def _of_derived(self, name: str, derived: Element) -> Source:
        try:
            cases = self._derivation.of_field(derived)
            if self._tests.first("Node") is None and any(map(is_invalid, outcomes(cases))):
                raise NotFollowedError(
                    "if a segment requires it, an evaluator refuses some records"
                )
            return source_of(cases, derived.get("dataType"), self._base_of)
        except NotFollowedError as error:
            return self._own_field(name, derived, str(error))

    def _base_of(self, feature: str) -> Cases:
        """Return a raw field's values as they are."""
        return raw_cases(RawField(feature), self.features[feature], *self._type(feature))

    def _own_field(self, name: str, derived: Element, reason: str) -> Source:
        """Return a field that no raw one says, as a feature of its own that tables must have."""
        kind = next((part.name for part in derived.children if part.name in EXPRESSIONS), "?")
        made_of = list(dict.fromkeys(self._leaves(derived)))
        own = name if name not in self.features else f"{name} (computed)"
        feature = declared_feature(derived, lambda: name in self._compared_by_order())
        raws = ", ".join(repr(raw) for raw in made_of[:12]) or "no raw field"
        where = f"{self.fail.source}:{derived.line}"
        computation = f"{where}: {kind} of {raws}"
        self._add(Feature(own, feature.numeric, feature.values, computation=computation))
        self.notes.append(
            f"{where}: treewarden cannot compute the field {name!r} ({kind} of {raws}) from the table, "
            f"because {reason}; add a column {own!r} with the computed values to the table"
        )
        return RawField(own)

    def _use(self, name: str, source: Source) -> FieldUse:
        is_plain = isinstance(source, RawField) and name in self._floats
        return use_of(name, source, is_plain=is_plain)

    def _rounded(self) -> frozenset[str]:
        """Return the raw fields of more than 32 bits whose values are rounded to so many for all tests."""
        return frozenset(
            feature.name
            for feature in self.features.values()
            if feature.single
            and feature.name in self._declared
            and self._declared[feature.name].get("dataType") != "float"
        )

    def _where(self, name: str) -> int:
        return (self._element(name) or self._declared.get(name) or self._tests).line

    def _leaves(self, derived: Element) -> Iterator[str]:
        """Yield the raw fields that a derived field is computed from."""
        pending, elements = [derived], set[Element]()
        while pending:
            for part in pending.pop().within():
                name = part.get("field")
                if name is None or part in elements or len(elements) > limits.FEATURES:
                    continue
                elements.add(part)
                inner = next((s[name] for s in reversed(self._scopes) if name in s), None)
                if inner is None:
                    yield name
                elif inner not in elements:
                    elements.add(inner)
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


def _tells_unknown(model: Element) -> bool:
    """Return whether a model does something else with an unknown test than with a false one."""
    extensions = (
        item.get("value")
        for item in model.all("Extension")
        if item.get("name") == "missingValueStrategy"
    )
    strategy = model.get("missingValueStrategy") or next(extensions, None)
    return strategy not in (None, "none")


Read = TypeVar("Read")


def read_tests(
    dictionary: Dictionary,
    around: Sequence[Element],
    tests: Element,
    fail: Failure,
    read: Callable[[Fields], Read],
) -> tuple[Fields, Read]:
    """Return the fields of a model with what is read of its tests; these are read again where they ask for more care.

    Raises:
        TreeFormatError: they are not understood.
    """
    careful_reading = NOTHING_KEPT
    while True:
        fields = Fields(dictionary, around, tests, fail, careful_reading)
        result = read(fields)
        careful_reading, before = fields.settle(), careful_reading
        if careful_reading == before:
            return fields, result
