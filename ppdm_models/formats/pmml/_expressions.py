"""Turns what computes a PMML field (PMML 4.4, Transformations) into cases of one raw field."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.xml_elements import Element
from treewarden.ppdm_models.formats.pmml._cases import Cases, Compute, Everywhere, combine, work_of
from treewarden.ppdm_models.formats.pmml._comparisons import (
    ByCategory,
    ByNumber,
    InvalidOutcome,
    MonotoneStep,
    Moving,
    NoBranch,
    NotANumber,
    NoValue,
    Outcome,
    SameCategory,
    Segment,
    Split,
    Undefined,
    equal,
)
from treewarden.ppdm_models.formats.pmml._functions import (
    FUNCTIONS,
    apply_function,
    at_segments,
    truth_of,
)
from treewarden.ppdm_models.formats.pmml._tables import (
    Lookup,
    discretize_segments,
    normalization_segments,
    table_rows,
)
from treewarden.ppdm_models.formats.pmml._values import (
    Constant,
    DataType,
    InvalidValueError,
    NotFollowedError,
    convert,
    kind_of,
    literal,
    single,
)

# How much work a file may cause, so that a hostile one cannot make it endless.


class WorkBudget:
    """Work that a hostile file cannot make endless."""

    def __init__(self, most: int) -> None:
        """Take how much there is."""
        self._left = most

    def take(self, work: int) -> bool:
        """Use some of it up; return whether it was there."""
        self._left -= work
        return self._left >= 0


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
Resolve = Callable[[str], Cases]
"""From the name of a field to its cases; raises ``NotFollowedError`` where it has none."""


@dataclass(frozen=True, slots=True)
class IfBranches:
    """The parts of an ``if``."""

    condition: Element
    then: Element
    otherwise: Element | NoBranch


class Derivation:
    """Follows the fields that a field is computed from."""

    def __init__(self, resolve: Resolve, functions: Mapping[str, Element]) -> None:
        """Take what looks up the cases of a field, and the functions that the file defines."""
        self._fields = resolve
        self._functions = functions
        self._arguments: list[Mapping[str, Cases]] = []
        self._depth = 0
        self._budget = WorkBudget(limits.FIELD_WORK)

    def of_field(self, field: Element) -> Cases:
        """Return the cases of a DerivedField.

        Raises:
            NotFollowedError: what computes it cannot be said of one raw field.
        """
        expressions = [child for child in field.children if child.name in EXPRESSIONS]
        if len(expressions) != 1:
            raise NotFollowedError(f"it has {len(expressions)} expressions, but one is expected")
        outer, self._arguments = self._arguments, []
        try:
            return self._typed(self._evaluate(expressions[0]), field)
        finally:
            self._arguments = outer

    def _combine(self, parts: Sequence[Cases], compute: Compute) -> Cases:
        if not self._budget.take(sum(map(work_of, parts))):
            raise NotFollowedError(
                f"the fields before it need more than {limits.FIELD_WORK:,} computations, "
                "which is the limit"
            )
        return combine(parts, compute)

    def _resolve(self, name: str) -> Cases:
        """Return the cases of a field; inside a function that the file defines, of one of its parameters."""
        if not self._arguments:
            return self._fields(name)
        if name not in self._arguments[-1]:
            raise NotFollowedError(f"a function reads {name!r}, which is not one of its parameters")
        return self._arguments[-1][name]

    def _evaluate(self, expression: Element) -> Cases:
        self._depth += 1
        try:
            if self._depth > limits.FIELD_DEPTH:
                raise NotFollowedError(
                    f"it nests more than {limits.FIELD_DEPTH} deep, which is the limit"
                )
            return self._cases(expression)
        finally:
            self._depth -= 1

    def _cases(self, expression: Element) -> Cases:
        name = expression.name
        if name == "Constant":
            return Everywhere(_literal(expression))
        if name == "Apply":
            return self._apply(expression)
        if name == "FieldRef":
            return self._of_one(expression, lambda outcome: outcome, DataType.STRING)
        if name == "NormContinuous":
            segments = normalization_segments(expression)
            return self._of_one(expression, lambda one: _by_number(one, segments), DataType.DOUBLE)
        if name == "NormDiscrete":
            return self._indicator(expression)
        if name == "Discretize":
            kind = kind_of(expression.get("dataType") or "string")
            bins = discretize_segments(expression, kind)
            return self._of_one(expression, lambda one: _by_number(one, bins), kind)
        if name == "MapValues":
            return self._by_table(expression)
        raise NotFollowedError(f"{name} is not supported")

    def _of_one(
        self,
        expression: Element,
        compute: Callable[[Outcome], Outcome | Split],
        kind: DataType,
        field: str | None = None,
    ) -> Cases:
        """Return the cases of an expression of one field; ``kind`` is the type of what stands for a missing value."""
        text = expression.get("mapMissingTo")
        is_line = expression.name == "NormContinuous"
        missing = NoValue() if text is None else _of_kind(text, kind, is_continuous=is_line)

        def of_outcome(arguments: Sequence[Outcome]) -> Outcome | Split:
            (outcome,) = arguments
            if isinstance(outcome, NoValue):
                return missing
            return outcome if isinstance(outcome, InvalidOutcome) else compute(outcome)

        name = expression.get("field") if field is None else field
        return self._combine((self._resolve(name or ""),), of_outcome)

    def _indicator(self, expression: Element) -> Cases:
        text = expression.get("value")
        if text is None or (expression.get("method") or "indicator") != "indicator":
            raise NotFollowedError("NormDiscrete is supported only with the method indicator")
        value = Constant(text, DataType.STRING)
        results = {True: Constant(1.0, DataType.DOUBLE), False: Constant(0.0, DataType.DOUBLE)}

        def of_outcome(outcome: Outcome) -> Outcome | Split:
            try:
                is_equal = equal("equal", (outcome, value))
            except InvalidValueError:
                return InvalidOutcome()
            return _change_outcomes(is_equal, lambda truth: results[truth_of(truth)])

        return self._of_one(expression, of_outcome, DataType.DOUBLE)

    def _by_table(self, expression: Element) -> Cases:
        rows = table_rows(expression)
        kind = kind_of(expression.get("dataType") or "string")
        text = expression.get("defaultValue")
        rest = NoValue() if text is None else _of_kind(text, kind)
        results = {key: _of_kind(result, kind) for key, result in rows.results.items()}
        return self._of_one(expression, Lookup(results, rest), kind, field=rows.field)

    def _apply(self, expression: Element) -> Cases:
        parts = [child for child in expression.children if child.name in EXPRESSIONS]
        function = expression.get("function") or ""
        settings = _settings(expression)
        if function == "if":
            return self._conditional(parts, settings)

        if not parts:
            raise NotFollowedError(f"the function {function!r} has no argument")
        if function not in FUNCTIONS and function in self._functions:
            return self._defined(self._functions[function], parts, settings)

        def of_outcomes(arguments: Sequence[Outcome]) -> Outcome | Split:
            early = settings.early(arguments)
            if early is not None:
                return early
            return _change_outcomes(apply_function(function, arguments), settings.settle)

        return self._combine([self._evaluate(part) for part in parts], of_outcomes)

    def _defined(
        self, function: Element, parts: Sequence[Element], settings: ApplySettings
    ) -> Cases:
        """Return the cases of a function that the file defines (DefineFunction)."""
        parameters = list(function.all("ParameterField"))
        bodies = [child for child in function.children if child.name in EXPRESSIONS]
        if len(parameters) != len(parts) or len(bodies) != 1:
            name = f"the function {function.get('name')!r}"
            if len(bodies) != 1:
                raise NotFollowedError(f"{name} is not defined by one expression")
            takes = f"takes {len(parameters)} parameters by its definition"
            raise NotFollowedError(f"{name} {takes}, but is called with {len(parts)}")
        given = [
            self._typed(self._evaluate(part), parameter)
            for part, parameter in zip(parts, parameters, strict=True)
        ]
        names = [parameter.get("name") or "" for parameter in parameters]
        self._arguments.append(dict(zip(names, given, strict=True)))
        try:
            result = self._typed(self._evaluate(bodies[0]), function)
        finally:
            self._arguments.pop()

        def of_outcomes(arguments: Sequence[Outcome]) -> Outcome:
            early = settings.early(arguments[:-1])
            return settings.settle(arguments[-1]) if early is None else early

        return self._combine([*given, result], of_outcomes)

    def _typed(self, cases: Cases, field: Element) -> Cases:
        """Return cases as the type that an element declares."""
        kind = None if field.get("dataType") is None else kind_of(field.get("dataType"))
        optype = field.get("optype") or field.get("opType")
        return self._combine((cases,), lambda arguments: _cast(arguments[0], kind, optype))

    def _conditional(self, parts: Sequence[Element], settings: ApplySettings) -> Cases:
        if len(parts) not in (2, 3):
            raise NotFollowedError(f"an if cannot have {len(parts)} parts")
        branches = IfBranches(parts[0], parts[1], parts[2] if len(parts) == 3 else NoBranch())
        condition, then = self._evaluate(branches.condition), self._evaluate(branches.then)
        if isinstance(branches.otherwise, NoBranch):
            otherwise: Cases = Everywhere(NoValue())
            missing_otherwise: Outcome = NoValue()  # mapMissingTo is for parts that are there
        else:
            otherwise, missing_otherwise = self._evaluate(branches.otherwise), settings.missing

        def of_outcomes(arguments: Sequence[Outcome]) -> Outcome:
            flag, yes, no = arguments
            if isinstance(flag, InvalidOutcome):
                return flag
            if isinstance(flag, NoValue):
                return (
                    InvalidOutcome() if isinstance(settings.missing, NoValue) else settings.missing
                )
            try:
                is_true = truth_of(flag)
            except InvalidValueError:
                return InvalidOutcome()
            result, stand_in = (yes, settings.missing) if is_true else (no, missing_otherwise)
            if isinstance(result, NoValue) and not isinstance(stand_in, NoValue):
                return stand_in
            return settings.settle(result)

        return self._combine((condition, then, otherwise), of_outcomes)


@dataclass(frozen=True, slots=True)
class ApplySettings:
    """What an Apply element says of missing arguments, a missing result, and an undefined one."""

    missing: Constant | NoValue
    default: Constant | NoValue
    when_invalid: str

    def early(self, arguments: Sequence[Outcome]) -> Outcome | None:
        """Return what the arguments decide without the function being applied; None where they decide nothing."""
        for argument in arguments:
            if isinstance(argument, InvalidOutcome):
                return argument
            if isinstance(argument, NoValue) and not isinstance(self.missing, NoValue):
                return self.missing
        return None

    def settle(self, outcome: Outcome) -> Outcome:
        """Return what a function's result counts as."""
        if isinstance(outcome, NoValue):
            return self.default
        if isinstance(outcome, Undefined | NotANumber):
            if self.when_invalid == "asMissing":
                return self.default
            if self.when_invalid == "asIs" and isinstance(outcome, NotANumber):
                raise NotFollowedError("a result that is not a number is left unchanged")
            return InvalidOutcome()
        return outcome


def _settings(expression: Element) -> ApplySettings:
    when_invalid = expression.get("invalidValueTreatment") or "returnInvalid"
    if when_invalid not in ("returnInvalid", "asIs", "asMissing"):
        raise NotFollowedError(f"the invalidValueTreatment {when_invalid!r} is not supported")
    missing, default = (expression.get(name) for name in ("mapMissingTo", "defaultValue"))
    return ApplySettings(
        NoValue() if missing is None else Constant(missing, DataType.STRING),
        NoValue() if default is None else Constant(default, DataType.STRING),
        when_invalid,
    )


def _change_outcomes(
    result: Outcome | Split, change: Callable[[Outcome], Outcome]
) -> Outcome | Split:
    """Return a result with each outcome in it changed."""
    if isinstance(result, ByNumber):
        segments = tuple(
            segment
            if isinstance(segment.result, MonotoneStep)
            else Segment(segment.low, segment.high, change(segment.result))
            for segment in result.segments
        )
        return ByNumber(result.moving, segments)
    if isinstance(result, ByCategory):
        listed = {name: change(outcome) for name, outcome in result.listed.items()}
        return ByCategory(listed, change(result.rest))
    return change(result)


def _literal(expression: Element) -> Outcome:
    if expression.get("missing") == "true":
        return NoValue()
    name, text = expression.get("dataType"), expression.text
    kind = None if name is None else kind_of(name)
    if not text:
        return NoValue() if kind not in (None, DataType.STRING) else Constant("", DataType.STRING)
    try:
        return literal(text, kind)
    except InvalidValueError:
        return InvalidOutcome()


def _of_kind(text: str, kind: DataType, is_continuous: bool = False) -> Constant | InvalidOutcome:
    """Return a text of an attribute or a table as a value of a type."""
    try:
        return convert(Constant(text, DataType.STRING), kind, is_continuous)
    except InvalidValueError:
        return InvalidOutcome()


def _by_number(outcome: Outcome, segments: tuple[Segment, ...]) -> Outcome | Split:
    if isinstance(outcome, Moving):
        return ByNumber(outcome, segments)
    if not isinstance(outcome, Constant):
        raise NotFollowedError("its formula uses a category as a number")
    try:
        return at_segments(outcome.number, segments)
    except InvalidValueError:
        return InvalidOutcome()


def _cast(outcome: Outcome, kind: DataType | None, optype: str | None) -> Outcome | Split:
    """Return an outcome as the type that a DerivedField declares."""
    if isinstance(outcome, Constant):
        is_continuous = outcome.is_continuous if optype is None else optype != "categorical"
        try:
            return convert(outcome, kind or outcome.kind, is_continuous)
        except InvalidValueError:
            return InvalidOutcome()
    if isinstance(outcome, SameCategory):
        if kind not in (None, outcome.kind):
            raise NotFollowedError(f"a category is converted to the type {kind}")
        return outcome
    if not isinstance(outcome, Moving):
        return outcome
    is_continuous = outcome.is_continuous if optype is None else optype != "categorical"
    return _cast_moving(outcome, kind or outcome.kind, is_continuous)


def _cast_moving(moving: Moving, kind: DataType, is_continuous: bool) -> Outcome | Split:
    if not kind.is_numeric or (kind is DataType.INTEGER and moving.kind is not DataType.INTEGER):
        raise NotFollowedError(f"a number is converted to the type {kind}")
    if kind is DataType.FLOAT and moving.kind is not DataType.FLOAT:
        step = MonotoneStep(single, True, kind, is_continuous)
        return ByNumber(moving, (Segment(float("-inf"), float("inf"), step),))
    return Moving(kind, moving.is_rising, is_continuous, moving.steps)
