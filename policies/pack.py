"""Policy packs: TOML files that say what is allowed, clause by clause."""

from __future__ import annotations

import hashlib
import json
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
    ValidationError,
)

from audit.measures import Measure, MeasureCall, Parameter, call, measures
from policies.rules import rules
from policies.shipped import shipped_packs
from ppdm_models.errors import PolicyError

Text = Annotated[str, Field(strict=True, min_length=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Clause(_Section):
    """One demand: what is measured, how, and where the limit is. A broken warning does not change the verdict."""

    id: Text
    measure: Text
    parameters: dict[str, StrictInt | StrictFloat | StrictStr] = {}
    rule: Text
    limit: Annotated[float, Field(strict=True)]
    severity: Literal["error", "warning"] = "error"
    why: str = ""
    source: str = ""


class Pack(_Section):
    """A named, versioned set of clauses."""

    name: Text
    version: Text
    title: Text
    description: str = ""
    clauses: Annotated[tuple[Clause, ...], Field(alias="clause", min_length=1)]

    @property
    def digest(self) -> str:
        """SHA-256 of what the pack says, whatever its layout and comments."""
        said = self.model_dump(mode="json", by_alias=True)
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()


def asked(clause: Clause) -> MeasureCall:
    """Return the measure a clause asks for, all its parameters filled in."""
    return call(clause.measure, clause.parameters)


def calls(pack: Pack) -> tuple[MeasureCall, ...]:
    """Return the measures a pack needs, each once, in the pack's order."""
    return tuple(dict.fromkeys(asked(clause) for clause in pack.clauses))


def load_pack(name_or_path: str) -> Pack:
    """Read a pack that ships, by name, or any other by the path of its file; a shipped name goes first.

    Raises:
        PolicyError: there is no such pack, or it is not understood.
    """
    shipped = shipped_packs()
    if name_or_path in shipped:
        return read_pack(shipped[name_or_path].read_bytes(), f"{name_or_path}.toml")
    try:
        data = Path(name_or_path).read_bytes()
    except (OSError, ValueError) as error:
        choices = ", ".join(shipped)
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "not a path"
        problem = f"no such policy pack ({reason}); have {choices}, or give a TOML file"
        raise PolicyError(name_or_path, problem) from error
    return read_pack(data, Path(name_or_path).name)


def read_pack(data: bytes, where: str) -> Pack:
    """Read a pack and check each clause against the measures and rules there are.

    Raises:
        PolicyError: the bytes are not TOML, a key is missing or unknown, or a clause asks for what does not exist.
    """
    try:
        said = tomllib.loads(data.decode("utf-8"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise PolicyError(where, f"not a TOML file ({error})") from error
    return pack_of(said, where)


def pack_of(said: Mapping[str, object], where: str) -> Pack:
    """Return the pack that a file says, as TOML reads it, each clause checked as by ``read_pack``.

    Raises:
        PolicyError: a key is missing or unknown, or a clause asks for what does not exist.
    """
    try:
        pack = Pack.model_validate(said)
    except ValidationError as error:
        raise PolicyError(where, _first_problem(error)) from error
    seen: set[str] = set()
    for clause in pack.clauses:
        place = f"{where}: clause {clause.id!r}"
        if clause.id in seen:
            raise PolicyError(place, "two clauses have this id; give each its own")
        seen.add(clause.id)
        _check(clause, place)
    return pack


def _first_problem(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        section = Clause if first["loc"][0] == "clause" else Pack
        keys = ", ".join(field.alias or name for name, field in section.model_fields.items())
        return f"unknown key {place!r}; have {keys}"
    if first["type"] == "missing":
        return f"{place!r} is missing; add it"
    return f"{place!r} is {first['input']!r:.80}: {first['msg'][:1].lower()}{first['msg'][1:]}"


def _check(clause: Clause, place: str) -> None:
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
    if not low <= clause.limit <= high:
        upto = "or more" if high == math.inf else f"to {high:g}"
        raise PolicyError(
            place,
            f"the limit {clause.limit:g} is out of range; {clause.measure} has {low:g} {upto}",
        )
    for name, value in clause.parameters.items():
        _check_parameter(measure, name, value, place)


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
