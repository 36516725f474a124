"""What is wrong in a knowledge file, said as it is written there: in which table, which key, and which there are."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from treewarden.audit.adversary.declared import Declared, SecretColumn
from treewarden.audit.adversary.toml_words import in_words
from treewarden.ppdm_models.tables.table import near_text

FIELDS = {"fact": "facts", "adversary": "adversaries"}
"""The tables of a file of which there can be several, and what holds them all."""
KEYS: Mapping[str, Sequence[str]] = {
    "facts": ("says", "record", "class"),
    "adversaries": tuple(Declared.model_fields),
    "secret": tuple(SecretColumn.model_fields),
}
"""What can stand in each table, by what holds it."""
STATEMENT = '"P(flu | sex = F, age < 30) = 0.2"'
RECORD = '{ age = 44, sex = "M" }'
KINDS_OF_FACTS = (
    f"a fact is one statement (says = {STATEMENT}), or somebody whose class is known (record = "
    f"{RECORD} and class)"
)
LENGTHS = ("too_long", "too_short")
UNKNOWN = "extra_forbidden"
Location = tuple[int | str, ...]


def slip(error: ValidationError, said: Mapping[str, Any], fields: Collection[str]) -> str:
    """Return the first thing that is wrong in what was ``said``, which may hold these fields.

    A key that is not known explains one that is missing, and comes first.
    """
    found = error.errors(include_url=False)
    first = found[0]
    table = first["loc"][0]
    unknown = (each for each in found if each["type"] == UNKNOWN and each["loc"][0] == table)
    first = next(unknown, first)
    location = tuple(each for each in first["loc"] if not _is_of_schema(each))
    is_inside = table in KEYS and len(location) > 1
    keys = list(KEYS[str(table)]) if is_inside else keys_of(fields)
    if first["type"] in LENGTHS:  # the key is right, so that others help nobody
        return f"{_place(location, said)}: {in_words(first)}"
    problem = in_words(first).lower()
    if first["type"] == UNKNOWN:
        key = str(location[-1])
        problem += near_text(key, keys)
        problem += "; say it above all tables" if is_inside and key in keys_of(fields) else ""
    return f"{_place(location, said)}: {problem}; have {', '.join(keys)}"


def fact_slip(table: Mapping[str, Any]) -> str:
    """Return what is wrong in a ``[[fact]]`` table, with the key that is wrong; "" where nothing is.

    There are two kinds of facts, and what makes one of a slip in the other is for people to say.
    """
    keys = KEYS["facts"]
    for key in table:
        if key not in keys:
            return f"{key}: unknown key{near_text(key, keys)}; {KINDS_OF_FACTS}"
    if "says" in table:
        others = [key for key in keys[1:] if key in table]
        if others:
            return f"{others[0]}: cannot stand beside 'says'; {KINDS_OF_FACTS}"
        if not isinstance(table["says"], str):
            return f"says: a statement in quotes is needed, such as {STATEMENT}"
        return ""
    for key in keys[1:]:
        if key not in table:
            return f"{key}: is not there; {KINDS_OF_FACTS}"
    return _slip_in_record(table["record"]) or _slip_in_class(table["class"])


def _slip_in_record(record: object) -> str:
    if not isinstance(record, Mapping):
        return f"record: the columns and values of somebody are needed, such as {RECORD}"
    if not record:
        return f"record: names no column; say whom it is about, such as {RECORD}"
    for name, value in record.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return f"record: {name}: text or a number is needed"
        if isinstance(value, float) and not math.isfinite(value):
            return f"record: {name}: a finite number is needed"
    return ""


def _slip_in_class(value: object) -> str:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return ""
    return "class: the name of a class is needed, in quotes"


def keys_of(fields: Collection[str]) -> list[str]:
    """Return fields as they are called in a file."""
    names = {field: key for key, field in FIELDS.items()}
    return [names.get(field, field) for field in fields]


def _is_of_schema(part: int | str) -> bool:
    """Return whether part of a place is no key, but which of several types was tried."""
    return isinstance(part, str) and (
        "[" in part or part in ("Statement", "KnownRecord", "constrained-str")
    )


def _place(location: Location, said: Mapping[str, Any]) -> str:
    """Return where in a file something stands: of several tables with one name, which of them, by its name too."""
    names = {field: key for key, field in FIELDS.items()}
    if len(location) > 1 and location[0] in names and isinstance(location[1], int):
        field, number = str(location[0]), location[1]
        table = f"[[{names[field]}]] number {number + 1}{_called(said[field][number])}"
        return ": ".join([table, *(".".join(map(str, rest)) for rest in [location[2:]] if rest)])
    return ".".join(names.get(str(part), str(part)) for part in location)


def _called(table: object) -> str:
    name = table.get("name") if isinstance(table, Mapping) else None
    return f" ({name!r})" if name and isinstance(name, str) else ""
