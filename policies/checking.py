"""Holds what a clause asks for against the measures, rules and formats there are."""

from __future__ import annotations

import math

from treewarden.audit.measures import Measure, Parameter, measures
from treewarden.policies.clause import Clause, Part, atomic_parts
from treewarden.policies.rules import rules
from treewarden.ppdm_models.errors import PolicyError
from treewarden.ppdm_models.files.load import formats

TAKEN = (
    "table-agrees",
    "facts-agree",
    "releases-linked",
    "target-named",
    "file-agrees",
    "labels-believed",
    "nothing-judged",
    "no-audit",
    "not-judged",
)
TAKEN_BEGINNINGS = ("waiver-", "baseline-")
"""What findings are called that no clause of a pack stands for."""


def check(clause: Clause, place: str) -> None:
    """Refuse a clause that asks for what does not exist, or cannot be.

    Raises:
        PolicyError: there is no such measure, rule, parameter or format, the limit or the scope does not fit, or the id
            is taken.
    """
    if clause.id in TAKEN or clause.id.startswith(TAKEN_BEGINNINGS):
        problem = "id: findings that are about no clause are called so; give the clause another id"
        raise PolicyError(place, problem)
    for part in atomic_parts(clause):
        _check_atom(part, place)
        _check_scope(part, clause, place)
    known = formats()
    for name in () if clause.when is None else clause.when.format:
        if name not in known:
            raise PolicyError(place, f"when: no format {name!r}; have {', '.join(known)}")


def _check_atom(clause: Part, place: str) -> None:
    known_measures, known_rules = measures(), rules()
    if clause.measure not in known_measures:
        raise PolicyError(place, f"no measure {clause.measure!r}; have {', '.join(known_measures)}")
    measure = known_measures[clause.measure]
    if clause.rule not in known_rules:
        raise PolicyError(place, f"no rule {clause.rule!r}; have {', '.join(known_rules)}")
    fitting = [
        name
        for name, rule in known_rules.items()
        if rule.risk == measure.risk and (rule.is_strict or not measure.is_open)
    ]
    if clause.rule not in fitting:
        raise PolicyError(
            place,
            f"rule {clause.rule!r} does not guard {clause.measure!r}, {_danger(measure)}; use {' or '.join(fitting)}",
        )
    low, high = measure.limits
    assert clause.limit is not None
    if not low <= clause.limit <= high:
        upto = "or more" if high == math.inf else f"to {high:g}"
        raise PolicyError(
            place,
            f"the limit {clause.limit:g} is out of range; {clause.measure} has {low:g} {upto}",
        )
    for name, value in clause.parameters.items():
        _check_parameter(measure, name, value, place)


def _check_scope(part: Part, clause: Clause, place: str) -> None:
    scope = clause.scope
    if scope is None or scope == "model" or measures()[part.measure].places is not None:
        return
    have = ", ".join(name for name, each in measures().items() if each.places is not None)
    problem = f"scope {scope!r}: measure {part.measure!r} has no value per {scope}; have {have}"
    raise PolicyError(place, f"{problem}, or scope 'model'")


def _danger(measure: Measure) -> str:
    if measure.is_open:
        return "which does not hold at its reading, only beyond it"
    return f"whose danger is in {'small' if measure.risk == 'low' else 'large'} readings"


def _check_parameter(measure: Measure, name: str, value: float | str, place: str) -> None:
    if name not in measure.parameters:
        have = ", ".join(measure.parameters) or "none"
        raise PolicyError(place, f"no parameter {name!r}; have {have}")
    parameter = measure.parameters[name]
    if not _fits(parameter, value):
        raise PolicyError(
            place, f"parameter {name!r} is {value!r}; it must be {_wanted(parameter)}"
        )


def _fits(parameter: Parameter, value: float | str) -> bool:
    if isinstance(parameter.default, str) or isinstance(value, str):
        return isinstance(parameter.default, str) and value in parameter.choices
    return value >= parameter.low and (not parameter.whole or value == int(value))


def _wanted(parameter: Parameter) -> str:
    if parameter.choices:
        return " or ".join(repr(choice) for choice in parameter.choices)
    return f"a {'whole ' if parameter.whole else ''}number of {parameter.low:g} or more"
