"""The mining schemas of PMML models inside each other: which fields are active, and which one is predicted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._cases import (
    Cases,
    CategoryCases,
    Everywhere,
    NumberCases,
    Unreachable,
    all_numbers,
)
from treewarden.ppdm_models.formats.pmml._comparisons import (
    InvalidOutcome,
    Moving,
    NoValue,
    Outcome,
    SameCategory,
    category_text,
)
from treewarden.ppdm_models.formats.pmml._sources import (
    Computed,
    RawField,
    Source,
    is_refused_always,
    refusal,
)
from treewarden.ppdm_models.formats.pmml._values import (
    Constant,
    DataType,
    Failure,
    InvalidValueError,
    NotFollowedError,
    convert,
    kind_of,
)
from treewarden.ppdm_models.tree.column import Invalid as Treated
from treewarden.ppdm_models.tree.column import Treatment, number_text
from treewarden.ppdm_models.tree.tree import Feature

TARGETS = ("predicted", "target")


@dataclass(frozen=True, slots=True)
class Schemas:
    """What the schemas of some models say together.

    ``active`` are the MiningFields of each active field, the outermost model's first; ``own`` the active fields of the
    innermost model; ``target`` what is predicted, "" where no schema says it.
    """

    active: Mapping[str, Sequence[Element]]
    own: Sequence[str]
    target: str
    notes: Sequence[str]


def read_schemas(models: Sequence[Element], own_ids: Mapping[str, str], fail: Failure) -> Schemas:
    """Return what the schemas of models say, the outermost first; ``own_ids`` lead from other names to the fields.

    Raises:
        TreeFormatError: a field is active twice in one model, or one tree predicts several.
    """
    active: dict[str, list[Element]] = {}
    own: list[str] = []
    target, notes = "", list[str]()
    for model in models:
        own = []
        targets: dict[str, Element] = {}
        schema = model.first("MiningSchema")
        assert schema is not None
        for entry in schema.all("MiningField"):
            said, usage = entry.get("name") or "", entry.get("usageType") or "active"
            name = own_ids.get(said, said)
            if usage in TARGETS:
                targets[name] = entry
                target = name
            if usage != "active":
                continue
            if name in own:
                raise fail(entry, f"the field {name!r} is active twice")
            own.append(name)
            active.setdefault(name, []).append(entry)
        if len(targets) > 1:
            notes.append(_several(model, models[-1], targets, target, fail))
    return Schemas(active, own, target, notes)


def _several(
    model: Element, innermost: Element, targets: Mapping[str, Element], target: str, fail: Failure
) -> str:
    """Return in words that a model predicts several fields.

    Raises:
        TreeFormatError: it is one tree, which has one score.
    """
    names = " and ".join(repr(name[:80]) for name in list(targets)[:12])
    if model is innermost and model.first("Node") is not None:
        raise fail(
            list(targets.values())[1],
            f"contradictory: the tree predicts {names}; keep only the MiningField that "
            "its scores belong to",
        )
    return (
        f"{fail.source}:{model.line}: the model predicts {names}, but the file "
        f"describes another target, {target!r}"
    )


# How the tests of one tree use its fields: which must be read with all digits, and for which records are refused.


@dataclass(frozen=True, slots=True)
class CarefulReading:
    """What is read more carefully than at first.

    The raw fields in ``exact`` keep all their digits, as not all tests round them to 32 bits. Of those in ``mixed`` not
    all tests refuse the same values, so that each test says itself which it refuses.
    """

    exact: frozenset[str] = frozenset()
    mixed: frozenset[str] = frozenset()


NOTHING_KEPT = CarefulReading()
NEEDS_VALUE = Treatment(needs_value=True)


@dataclass(frozen=True, slots=True)
class FieldUse:
    """A field that tests name, and the raw field that it is made of.

    ``is_single`` says that it holds numbers of 32 bits; ``refusal`` for which raw values an evaluator refuses the
    record, as a computed field has no value then; ``note`` what a reader is told of that.
    """

    name: str
    feature: str
    is_single: bool
    refusal: Treatment | None
    note: str = field(default="", compare=False)


def use_of(name: str, source: Source, *, is_plain: bool) -> FieldUse:
    """Return the use of a field; ``is_plain`` says that it is a raw one in 32 bits."""
    refused = refusal(source.cases) if isinstance(source, Computed) else None
    note = ""
    if refused is not None:
        causes = [f"some values of {source.feature!r}"] if refused != NEEDS_VALUE else []
        causes += [
            "a missing one" if causes else f"a missing {source.feature!r}"
        ] * refused.needs_value
        note = (
            f"the field {name[:80]!r} cannot be computed from {' or '.join(causes)}, so "
            "such records are refused, as by JPMML-Evaluator"
        )
    return FieldUse(name, source.feature, is_plain, refused, note)


def keep_more(
    careful: CarefulReading, uses: Iterable[FieldUse], rounded: frozenset[str], *, is_lazy: bool
) -> CarefulReading:
    """Return what is to be read more carefully.

    ``rounded`` are the raw fields of which tests see 32 bits only; ``is_lazy`` says that some test asks for a field
    only where it must.
    """
    uses = tuple(uses)
    exact = {use.feature for use in uses if not use.is_single} & rounded
    refusals: dict[str, set[Treatment | None]] = {}
    for use in uses:
        refusals.setdefault(use.feature, set()).add(use.refusal)
    mixed = {
        feature
        for feature, treatments in refusals.items()
        if len(treatments) > 1 or (is_lazy and treatments != {None})
    }
    return CarefulReading(careful.exact | exact, careful.mixed | mixed)


def refusals_by_feature(careful: CarefulReading, uses: Iterable[FieldUse]) -> dict[str, Treatment]:
    """Return by raw field for which of its values records are refused whenever a test asks for it."""
    return {
        use.feature: use.refusal
        for use in uses
        if use.refusal is not None and use.feature not in careful.mixed
    }


# Between raw fields and the cases of what is computed from them.

LETS_NO_OTHERS = (Treated.RETURN_INVALID, Treated.AS_MISSING)


def raw_cases(
    source: RawField, feature: Feature, type_name: str | None, is_continuous: bool
) -> NumberCases | CategoryCases:
    """Return a raw field's values as they are, as ones of the declared type.

    Raises:
        NotFollowedError: the type, or a declared value, is not supported.
    """
    default = DataType.DOUBLE if feature.numeric else DataType.STRING
    kind = default if type_name is None else kind_of(type_name)
    if feature.numeric and feature.single:
        kind = DataType.FLOAT
    is_continuous = is_continuous and kind.is_numeric
    absent: Outcome = NoValue()
    if source.missing is not None:
        missing = source.missing
        absent = _declared(
            missing if isinstance(missing, str) else number_text(missing), kind, is_continuous
        )
    if feature.numeric:
        return all_numbers(source.feature, Moving(kind, is_continuous=is_continuous), absent)
    listed: dict[str, Outcome] = {
        value: _declared(value, kind, is_continuous) for value in feature.values
    }
    is_closed = kind is DataType.BOOLEAN or any(
        treatment.values and treatment.when_invalid in LETS_NO_OTHERS
        for treatment in feature.treatments
    )
    others = Unreachable() if listed and is_closed else SameCategory(kind)
    return CategoryCases(source.feature, listed, others, absent)


def _declared(text: str, kind: DataType, is_continuous: bool) -> Outcome:
    try:
        return convert(Constant(text, DataType.STRING), kind, is_continuous)
    except InvalidValueError:
        return InvalidOutcome()


def source_of(cases: Cases, type_name: str | None, base_of: Callable[[str], Cases]) -> Source:
    """Return what a derived field of a type is made of; ``base_of`` gives a raw field's values as they are.

    Raises:
        NotFollowedError: no raw field says it.
    """
    if isinstance(cases, Everywhere):
        raise NotFollowedError("it uses no field")
    if is_refused_always(cases):
        raise NotFollowedError("an evaluator would refuse every record")
    if isinstance(cases, NumberCases):
        (outcome, *others) = (span.outcome for span in cases.spans)
        if not others and isinstance(outcome, Moving) and not outcome.steps:
            missing = _replacement(cases.absent, is_number=True)
            if not isinstance(missing, InvalidOutcome):
                return RawField(cases.feature, missing)
        return Computed(cases.feature, cases, _kind(cases, type_name))
    base = base_of(cases.feature)
    assert isinstance(base, CategoryCases)
    is_same = {name: _value(one) for name, one in cases.listed.items()} == {
        name: _value(one) for name, one in base.listed.items()
    }
    missing = _replacement(cases.absent, is_number=False)
    if is_same and cases.others == base.others and not isinstance(missing, InvalidOutcome):
        return RawField(cases.feature, missing)
    return Computed(cases.feature, cases, _kind(cases, type_name))


def _replacement(absent: Outcome, is_number: bool) -> str | float | None | InvalidOutcome:
    """Return what stands in for a missing value (None: nothing); invalid where the record is refused."""
    if isinstance(absent, Constant):
        return absent.number if is_number else category_text(absent)
    return None if isinstance(absent, NoValue) else InvalidOutcome()


def _value(outcome: Outcome) -> object:
    return (outcome.value, outcome.kind) if isinstance(outcome, Constant) else outcome


def _kind(cases: NumberCases | CategoryCases, type_name: str | None) -> DataType:
    if type_name is None:
        raise NotFollowedError("it declares no dataType")
    return kind_of(type_name)
