"""Between raw fields and the cases of what is computed from them."""

from __future__ import annotations

from collections.abc import Callable

from treewarden.ppdm_models.codecs.pmml.cases import (
    Cases,
    CategoryCases,
    Everywhere,
    NumberCases,
    Unreachable,
    all_numbers,
)
from treewarden.ppdm_models.codecs.pmml.comparisons import category_text
from treewarden.ppdm_models.codecs.pmml.datatypes import (
    Constant,
    InvalidValueError,
    Kind,
    NotFollowedError,
    convert,
    kind_of,
)
from treewarden.ppdm_models.codecs.pmml.outcomes import (
    Invalid,
    Moving,
    NoValue,
    Outcome,
    SameCategory,
)
from treewarden.ppdm_models.codecs.pmml.sources import Computed, Raw, Source, is_refused_always
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.treatment import Invalid as Treated
from treewarden.ppdm_models.tree.tree import Feature

LETS_NO_OTHERS = (Treated.RETURN_INVALID, Treated.AS_MISSING)


def raw_cases(
    source: Raw, feature: Feature, type_name: str | None, is_continuous: bool
) -> NumberCases | CategoryCases:
    """Return a raw field's values as they are, as ones of the declared type.

    Raises:
        NotFollowedError: the type, or a declared value, is not followed.
    """
    default = Kind.DOUBLE if feature.numeric else Kind.STRING
    kind = default if type_name is None else kind_of(type_name)
    if feature.numeric and feature.single:
        kind = Kind.FLOAT
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
    is_closed = kind is Kind.BOOLEAN or any(
        treatment.values and treatment.when_invalid in LETS_NO_OTHERS
        for treatment in feature.treatments
    )
    others = Unreachable() if listed and is_closed else SameCategory(kind)
    return CategoryCases(source.feature, listed, others, absent)


def _declared(text: str, kind: Kind, is_continuous: bool) -> Outcome:
    try:
        return convert(Constant(text, Kind.STRING), kind, is_continuous)
    except InvalidValueError:
        return Invalid()


def source_of(cases: Cases, type_name: str | None, base_of: Callable[[str], Cases]) -> Source:
    """Return what a derived field of a type is made of; ``base_of`` gives a raw field's values as they are.

    Raises:
        NotFollowedError: no raw field says it.
    """
    if isinstance(cases, Everywhere):
        raise NotFollowedError("it reads no field")
    if is_refused_always(cases):
        raise NotFollowedError("an evaluator refuses every record for it")
    if isinstance(cases, NumberCases):
        (outcome, *others) = (span.outcome for span in cases.spans)
        if not others and isinstance(outcome, Moving) and not outcome.steps:
            missing = _replacement(cases.absent, is_number=True)
            if not isinstance(missing, Invalid):
                return Raw(cases.feature, missing)
        return Computed(cases.feature, cases, _kind(cases, type_name))
    base = base_of(cases.feature)
    assert isinstance(base, CategoryCases)
    is_same = {name: _value(one) for name, one in cases.listed.items()} == {
        name: _value(one) for name, one in base.listed.items()
    }
    missing = _replacement(cases.absent, is_number=False)
    if is_same and cases.others == base.others and not isinstance(missing, Invalid):
        return Raw(cases.feature, missing)
    return Computed(cases.feature, cases, _kind(cases, type_name))


def _replacement(absent: Outcome, is_number: bool) -> str | float | None | Invalid:
    """Return what stands in for a missing value (None: nothing); invalid where the record is refused."""
    if isinstance(absent, Constant):
        return absent.number if is_number else category_text(absent)
    return None if isinstance(absent, NoValue) else Invalid()


def _value(outcome: Outcome) -> object:
    return (outcome.value, outcome.kind) if isinstance(outcome, Constant) else outcome


def _kind(cases: NumberCases | CategoryCases, type_name: str | None) -> Kind:
    if type_name is None:
        raise NotFollowedError("it declares no dataType")
    return kind_of(type_name)
