"""Policies as TOML files that say what is allowed, clause by clause, over the policy they extend; their schema."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from treewarden.audit.measures import MeasureCall, call, measures
from treewarden.policies.clause import (
    ATOMIC,
    COMBINING,
    DEEPEST,
    Base,
    Clause,
    Guidance,
    Pack,
    Part,
    Section,
    Text,
    Under,
    Waivers,
    When,
)
from treewarden.policies.rules import rules
from treewarden.policies.shipped import packs_of_tables, shipped_packs
from treewarden.policies.validation import (
    check,
    dropped,
    merged,
)
from treewarden.ppdm_models.errors import (
    PolicyError,
    near_text,
    reading_problem,
    toml_reason,
    toml_words,
    with_advice,
)

# The JSON Schema of packs, made from their grammar and from the measures and rules there are.


def json_schema() -> bytes:
    """Return the JSON Schema of packs, for editors: what keys there are, and what they may be."""
    found = Pack.model_json_schema(by_alias=True)
    known, whole = found["$defs"], found["properties"]
    part, clause = known["Part"], known["Clause"]
    for each in (part, clause):
        each["properties"]["measure"] = {"type": "string", "enum": list(measures())}
        each["properties"]["rule"] = {"type": "string", "enum": list(rules())}
    part["oneOf"] = _FORMS
    for name in ("Under", "When"):
        known[name]["minProperties"] = 1
    clause["properties"]["drop"] = {"const": True}
    file = {
        key: {"type": "string", "minLength": 1} for key in ("name", "version", "title", "extends")
    }
    either = [{"required": [table]} for table in TABLES]
    full = {"minItems": 1, "items": {"oneOf": _FORMS, "not": {"required": ["drop"]}}}
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy of treewarden",
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "version"],
        "properties": {
            **file,
            "description": {"type": "string"},
            **{table: {"type": "array", "items": {"$ref": "#/$defs/Clause"}} for table in TABLES},
            "waivers": whole["waivers"],
        },
        "not": {"required": list(TABLES)},
        "if": {"not": {"required": ["extends"]}},
        "then": {
            "required": ["title"],
            "oneOf": either,
            "properties": dict.fromkeys(TABLES, full),
        },
        "$defs": {name: known[name] for name in sorted(known) if name not in ("Base", "Dropped")},
    }
    return (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode()


_FORMS = [{"required": ["measure", "rule", "limit"]}, *({"required": [key]} for key in COMBINING)]


__all__ = [
    "Clause",
    "Pack",
    "measure_call",
    "calls",
    "json_schema",
    "load_pack",
    "pack_of",
    "read_pack",
]

Made = TypeVar("Made", bound=BaseModel)

LONGEST = 10
"""How many packs may extend each other in a chain."""
TABLES = ("check", "clause")
"""What a file may call the tables of its checks: the word of the documentation, and the older one."""


class _File(Section):
    """The tables of a pack's file; its checks may leave out what those of the extended pack say."""

    name: Text
    version: Text
    title: Text | None = None
    description: str | None = None
    checks: Annotated[tuple[dict[str, Any], ...] | None, Field(alias="check")] = None
    clauses: Annotated[tuple[dict[str, Any], ...] | None, Field(alias="clause")] = None
    extends: Text | None = None
    waivers: dict[str, Any] | None = None

    @model_validator(mode="after")
    def _has_one_name_for_checks(self) -> _File:
        if self.checks is not None and self.clauses is not None:
            problem = "uses both [[check]] and [[clause]]; write every check as [[check]]"
            raise PydanticCustomError("said", problem)
        return self

    @property
    def table(self) -> str:
        """What this file calls the tables of its checks."""
        return "check" if self.clauses is None else "clause"

    @property
    def entries(self) -> tuple[dict[str, Any], ...] | None:
        """The checks as they are written, by either name; None if the file has no such table."""
        return self.checks if self.clauses is None else self.clauses


def measure_call(clause: Part) -> MeasureCall:
    """Return the measure that an atomic clause asks for, all its parameters filled in."""
    return call(clause.measure, clause.parameters)


def calls(pack: Pack) -> tuple[MeasureCall, ...]:
    """Return the measures that a pack needs, those of every atom, each once, in the pack's order."""
    return tuple(dict.fromkeys(atom.call for clause in pack.clauses for atom in clause.atoms))


def load_pack(name_or_path: str) -> Pack:
    """Read a pack that ships, by name, or any other by the path of its file; a shipped name goes first.

    Raises:
        PolicyError: there is no such pack, or it is not understood.
    """
    return _loaded(name_or_path, Path(), ())


def read_pack(data: bytes, where: str, folder: Path | None = None) -> Pack:
    """Read a pack and check each clause against the measures and rules there are.

    Paths of packs that it extends are relative to the folder, else to where the program runs.

    Raises:
        PolicyError: the bytes are not TOML, a key is missing or unknown, or a clause asks for what does not exist.
    """
    return _read(data, where, folder or Path(), ())


def read_over(data: bytes, where: str, base: Pack) -> Pack:
    """Read a pack that extends one which is given, whatever ``extends`` calls it.

    Raises:
        PolicyError: as by ``read_pack``.
    """
    return _put_together(_valid(_File, _parsed(data, where), where), base, where)


def pack_of(document: Mapping[str, object], where: str, folder: Path | None = None) -> Pack:
    """Return the pack that a file says, as TOML reads it, each clause checked as by ``read_pack``.

    Raises:
        PolicyError: a key is missing or unknown, or a clause asks for what does not exist.
    """
    return _resolved(document, where, folder or Path(), ())


def _loaded(name_or_path: str, folder: Path, trail: tuple[str, ...]) -> Pack:
    shipped: Mapping[str, Traversable] = shipped_packs() | packs_of_tables()
    if name_or_path in shipped:
        _refuse_long(name_or_path, name_or_path, trail)
        data, where = shipped[name_or_path].read_bytes(), f"{name_or_path}.toml"
        return _read(data, where, Path(), (*trail, name_or_path))
    try:
        path = folder / name_or_path
        own = os.path.realpath(path)  # which, unlike resolve, takes links in a circle
        _refuse_long(own, name_or_path, trail)
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        choices = ", ".join(shipped)
        is_there = isinstance(error, OSError) and error.strerror is not None
        if is_there and not isinstance(error, FileNotFoundError | IsADirectoryError):
            raise PolicyError(
                name_or_path, reading_problem(error, "give the path of a TOML file")
            ) from error
        near = near_text(name_or_path, shipped)
        problem = f"unknown policy{near}; built-in: {choices}; for your own policy, give the path of its TOML file"
        if isinstance(error, FileNotFoundError) and name_or_path.endswith(".toml"):
            problem = f"there is no such file; check the path, or name a built-in policy: {choices}"
        raise PolicyError(name_or_path, problem) from error
    return _read(data, path.name, path.parent, (*trail, own))


def _refuse_slip(entry: Mapping[str, object], base: Pack, place: str) -> None:
    """Refuse a check that measures nothing and whose id is nearly that of a check of the policy below it."""
    near = near_text(str(entry.get("id")), [each.id for each in base.clauses])
    if near and not entry.keys() & {"measure", *COMBINING}:
        raise PolicyError(
            place, f"{base.name!r} has no such check{near}; correct the id, or add 'measure'"
        )


def _refuse_long(policy_id: str, name: str, trail: tuple[str, ...]) -> None:
    if policy_id in trail:
        problem = "extends itself through the policies that it extends; remove one of the extends"
        raise PolicyError(name, problem)
    if len(trail) > LONGEST:
        raise PolicyError(
            name, f"a chain of more than {LONGEST} policies that extend each other; extend fewer"
        )


def _read(data: bytes, where: str, folder: Path, trail: tuple[str, ...]) -> Pack:
    return _resolved(_parsed(data, where), where, folder, trail)


def _parsed(data: bytes, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise PolicyError(
            where,
            f"not valid TOML ({toml_reason(error)}); correct the file, or copy a built-in policy: "
            "treewarden policy show standard",
        ) from error


def _resolved(
    document: Mapping[str, object], where: str, folder: Path, trail: tuple[str, ...]
) -> Pack:
    file = _valid(_File, document, where)
    if file.extends is None:
        for key, value in (("title", file.title), (file.table, file.entries)):
            if value is None:
                what = f"add a [[{key}]] table" if key == file.table else "add it"
                raise PolicyError(where, f"{key!r} is missing; {what}")
        if not file.entries:
            problem = f"{file.table!r} is []: a policy needs at least one check; add one"
            raise PolicyError(where, problem)
        return _put_together(file, None, where)
    try:
        base = _loaded(file.extends, folder, trail)
    except PolicyError as error:
        raise PolicyError(f"{where}: extends", str(error)) from error
    return _put_together(file, base, where)


def _put_together(file: _File, base: Pack | None, where: str) -> Pack:
    clauses = {} if base is None else {each.id: each for each in base.clauses}
    gone = [] if base is None else list(base.dropped)
    seen: set[str] = set()
    for number, said in enumerate(file.entries or ()):
        name = said.get("id")
        place = f"{where}: check {name!r}"
        if name in seen if isinstance(name, str) else False:
            raise PolicyError(place, "two checks have this id; give each its own")
        seen.add(str(name))
        _refuse_deep(said, place)
        if base is None:
            for key in ("drop", "loosen"):
                if key in said:
                    problem = (
                        "the policy extends no other, so there is nothing to loosen; leave it out"
                    )
                    raise PolicyError(place, f"{key}: {problem}")
        elif "drop" in said and isinstance(name, str):
            gone.append(dropped(base, said, place))
            del clauses[name]
            continue
        old = clauses.get(name) if isinstance(name, str) else None
        if base is not None and old is None:
            _refuse_slip(said, base, place)
        whole = said if old is None else merged(old, said)
        clause = _valid(Clause, whole, where, (file.table, number), None if base is None else place)
        check(clause, place)
        if base is not None:
            from treewarden.policies.comparing import refuse_looser  # where a pack extends one

            refuse_looser(base, clause, said, place)
        clauses[clause.id] = clause
        gone = [each for each in gone if each.id != clause.id]
    if not clauses:
        raise PolicyError(where, "every check is dropped; keep one, or add another")
    return Pack.model_validate(
        {
            "name": file.name,
            "version": file.version,
            "title": file.title or (base.title if base else ""),
            "description": file.description or (base.description if base else ""),
            "clause": tuple(clauses.values()),
            "waivers": _waivers(file, base, where),
            "bases": () if base is None else (_base(base), *base.bases),
            "dropped": tuple(gone),
        }
    )


def _base(pack: Pack) -> Base:
    return Base(name=pack.name, version=pack.version, digest=pack.digest)


def _waivers(file: _File, base: Pack | None, where: str) -> Waivers:
    said = file.waivers or {}
    before = {} if base is None else base.waivers.model_dump(exclude_defaults=True)
    waivers = _valid(Waivers, {**before, **said}, where, ("waivers",))
    if base is None and "loosen" in said:
        problem = "loosen: the policy extends no other, so there is nothing to loosen; leave it out"
        raise PolicyError(f"{where}: [waivers]", problem)
    if base is not None:
        from treewarden.policies.comparing import refuse_looser_waivers  # as above

        refuse_looser_waivers(base, waivers, said, where)
    return waivers


def _refuse_deep(document: object, place: str) -> None:
    """Refuse combinations that stand too deep in each other, before anything looks through them."""
    level, parts = 0, [document]
    while parts:
        inner: list[object] = []
        for part in parts:
            if isinstance(part, Mapping):
                for key in ("all", "any"):
                    each = part.get(key)
                    inner += (
                        each if isinstance(each, Sequence) and not isinstance(each, str) else []
                    )
                inner += [part["not"]] if "not" in part else []
        level, parts = level + 1, inner
        if level > DEEPEST + 1:
            problem = f"combinations are nested more than {DEEPEST} deep; use fewer levels"
            raise PolicyError(place, problem)


def _valid(
    kind: type[Made],
    document: Mapping[str, Any],
    where: str,
    above: tuple[str | int, ...] = (),
    place: str | None = None,
) -> Made:
    try:
        return kind.model_validate(document)
    except ValidationError as error:
        prefix = above if place is None else ()
        raise PolicyError(place or where, _first_problem(error, kind, prefix)) from error


def _first_problem(
    error: ValidationError, kind: type[BaseModel], above: tuple[str | int, ...]
) -> str:
    first, *others = error.errors(include_url=False)
    loc = (*above, *first["loc"])
    head = ""
    if len(loc) > 1 and isinstance(loc[1], int):
        head, loc = f"{loc[0]} number {loc[1] + 1}: ", loc[2:]
    if first["type"] == "missing":
        beside = [
            each["loc"][-1]
            for each in others
            if each["type"] == "missing" and each["loc"][:-1] == first["loc"][:-1]
        ]
        if beside:
            names = [".".join(map(str, (*loc[:-1], each))) for each in (loc[-1], *beside)]
            return f"{head}{', '.join(map(repr, names))} are missing; add them"
    return head + _said_of(first, loc, _keys(kind, first["loc"]))


def _said_of(first: ErrorDetails, loc: tuple[str | int, ...], keys: Sequence[str]) -> str:
    """Return what is wrong at a place of a table; ``keys`` are those that it may have."""
    if loc[:1] == ("parameters",) and len(loc) > 2:  # behind the name stands a type of its value
        what = f"parameter {str(loc[1])!r} is {first['input']!r:.80}"
        return f"{what}; it must be a finite number or a text"
    place = ".".join(str(part) for part in loc)
    if first["type"] == "extra_forbidden":
        near = OTHER_WORDS.get(str(loc[-1]), "") or near_text(str(loc[-1]), keys)
        return f"unknown key {place!r}{near}; use {', '.join(keys)}"
    if first["type"] == "lacks":
        return f"{'.'.join((*map(str, loc), first['msg']))!r} is missing; add it"
    if first["type"] == "missing":
        return f"{place!r} is missing; add it"
    if first["type"] == "said":
        return f"{place!r} {first['msg']}" if place else first["msg"]
    return f"{place!r} is {first['input']!r:.80}: {with_advice(toml_words(first))}"


OTHER_WORDS = {"metric": " (here it is called 'measure')"}
"""Words of the documentation that are called otherwise in a file."""
_TABLES: dict[str, type[BaseModel]] = {
    "under": Under,
    "when": When,
    "guidance": Guidance,
    "all": Part,
    "any": Part,
    "not": Part,
}
_FIRST = ("id", *ATOMIC, "severity", "why", "source")


def _keys(kind: type[BaseModel], loc: Sequence[str | int]) -> list[str]:
    """Return the keys that stand where one is not known; of a clause those first that most have."""
    for key in loc[:-1]:
        kind = _TABLES.get(str(key), kind)
    names = [field.alias or name for name, field in kind.model_fields.items()]
    if kind is Clause:
        return [*_FIRST, *(name for name in names if name not in _FIRST), "drop"]
    return names
