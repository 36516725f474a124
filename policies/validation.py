"""Validates a policy: its clauses over those it extends, never looser without a reason, on known measures and rules."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from treewarden.audit.measures import Measure, Parameter, measures
from treewarden.policies.clause import (
    ATOMIC,
    COMBINING,
    Clause,
    Dropped,
    Pack,
    Part,
    atomic_parts,
    said_of,
)
from treewarden.policies.rules import rules
from treewarden.policies.verdict import OF_EXCEPTIONS, FindingKind
from treewarden.ppdm_models.errors import PolicyError, near_text
from treewarden.ppdm_models.files.load import formats

SOURCES = ("source", "guidance")
REASON = 'say why: loosen = "reason"'


def merged(base: Clause, override: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an override says, with what it leaves out as it was; a combination replaces an atom, and back.

    The reason for a former loosening is not one for this, nor is where a former limit comes from, or the guidance that
    it serves.
    """
    kept = said_of(base)
    if any(key in override for key in COMBINING):
        gone: tuple[str, ...] = (*ATOMIC, *COMBINING)
    elif any(key in override for key in ATOMIC):
        gone = COMBINING
        if "measure" in override and override["measure"] != base.measure:
            gone = (*COMBINING, "parameters")
    else:
        gone = ()
    if gone:
        gone = (*gone, *SOURCES)
    kept = {key: value for key, value in kept.items() if key not in gone}
    return {**kept, **override}


def dropped(base: Pack, override: Mapping[str, Any], place: str) -> Dropped:
    """Return which clause is left out, and why.

    Raises:
        PolicyError: there is none of that name, no reason is given, or something else is said of it.
    """
    ids = [clause.id for clause in base.clauses]
    if override["id"] not in ids:
        near = near_text(str(override["id"]), ids)
        problem = (
            f"drop: {base.name!r} has no check {override['id']!r}{near}; it has {', '.join(ids)}"
        )
        raise PolicyError(place, problem)
    if override["drop"] is not True:
        raise PolicyError(
            place, f"drop: {override['drop']!r} is not true; write drop = true, or leave it out"
        )
    others = [key for key in override if key not in ("id", "drop", "loosen")]
    if others:
        raise PolicyError(place, f"{others[0]}: the check is dropped; leave out this key, or drop")
    reason = override.get("loosen")
    if not isinstance(reason, str) or not reason:
        raise PolicyError(place, f"drop: a check is dropped only with a reason; {REASON}")
    clause = next(clause for clause in base.clauses if clause.id == override["id"])
    return Dropped(id=clause.id, reason=reason, clause=clause)


# Checks a clause against the measures, rules and formats that exist.


def check(clause: Clause, place: str) -> None:
    """Refuse a clause that asks for what does not exist, or cannot be.

    Raises:
        PolicyError: there is no such measure, rule, parameter or format, the limit or the scope does not fit, or the id
            is taken.
    """
    if clause.id in set(FindingKind) or clause.id.startswith(OF_EXCEPTIONS):
        problem = "id: reserved for findings of treewarden itself; give the check another id"
        raise PolicyError(place, problem)
    for part in atomic_parts(clause):
        _check_atom(part, place)
        _check_scope(part, clause, place)
    known = list(formats())
    for name in () if clause.when is None else clause.when.format:
        if name not in known:
            raise PolicyError(
                place,
                f"when: no format {name!r}{near_text(name, known)}; list them: treewarden list formats",
            )


def _check_atom(clause: Part, place: str) -> None:
    known_measures, known_rules = measures(), rules()
    if clause.measure not in known_measures:
        near = near_text(clause.measure, known_measures)
        problem = f"no metric {clause.measure!r}{near}; list them: treewarden list metrics"
        raise PolicyError(place, problem)
    measure = known_measures[clause.measure]
    if clause.rule not in known_rules:
        raise PolicyError(
            place,
            f"no rule {clause.rule!r}{near_text(clause.rule, known_rules)}; use {', '.join(known_rules)}",
        )
    fitting = [
        name
        for name, rule in known_rules.items()
        if rule.risk == measure.risk and (rule.is_strict or not measure.is_open)
    ]
    if clause.rule not in fitting:
        raise PolicyError(
            place,
            f"rule {clause.rule!r} does not fit {clause.measure!r}{_danger(measure)}; use {' or '.join(fitting)}",
        )
    low, high = measure.limits
    assert clause.limit is not None
    if not low <= clause.limit <= high:
        upto = "or more" if high == math.inf else f"to {high:g}"
        raise PolicyError(
            place,
            f"the limit {clause.limit:g} is out of range; {clause.measure} takes {low:g} {upto}",
        )
    for name, value in clause.parameters.items():
        _check_parameter(clause.measure, name, value, place)


def _check_scope(part: Part, clause: Clause, place: str) -> None:
    scope = clause.scope
    if scope is None or scope == "model" or measures()[part.measure].places is not None:
        return
    have = ", ".join(name for name, measure in measures().items() if measure.places is not None)
    problem = f"scope {scope!r}: the metric {part.measure!r} has no value per {scope}"
    raise PolicyError(place, f"{problem}; use scope 'model', or one of these metrics: {have}")


def _danger(measure: Measure) -> str:
    if measure.is_open:
        beyond = "higher" if measure.risk == "high" else "lower"
        return f": it is met only if the limit is {beyond} than the measured value, never if they are equal"
    return f", where {'lower' if measure.risk == 'low' else 'higher'} is worse"


def _check_parameter(metric: str, name: str, value: float | str, place: str) -> None:
    measure = measures()[metric]
    if name not in measure.parameters:
        if not measure.parameters:
            raise PolicyError(place, f"{metric!r} takes no parameters; delete {name!r}")
        near, have = near_text(name, measure.parameters), ", ".join(measure.parameters)
        raise PolicyError(place, f"unknown parameter {name!r}{near}; use {have}")
    parameter = measure.parameters[name]
    if not _fits(parameter, value):
        raise PolicyError(
            place, f"parameter {name!r} is {value!r}; it must be {_parameter_words(parameter)}"
        )


def _fits(parameter: Parameter, value: float | str) -> bool:
    if parameter.problem_of is not None:
        return isinstance(value, str) and not parameter.problem_of(value)
    if isinstance(parameter.default, str) or isinstance(value, str):
        return isinstance(parameter.default, str) and value in parameter.choices
    is_inside = parameter.low <= value <= parameter.high
    return is_inside and (not parameter.whole or value == int(value))


def _parameter_words(parameter: Parameter) -> str:
    if parameter.problem_of is not None:
        return parameter.meaning
    if parameter.choices:
        return " or ".join(repr(choice) for choice in parameter.choices)
    numbers = f"a {'whole ' if parameter.whole else ''}number"
    if math.isfinite(parameter.high):
        return f"{numbers} from {parameter.low:g} to {parameter.high:g}"
    return f"{numbers} of {parameter.low:g} or more"
