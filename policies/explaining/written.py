"""A policy as the TOML file that says all of it, with what it takes from other policies put in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from treewarden.policies.clause import Clause, Waivers, said_of
from treewarden.policies.pack import Pack

BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
WIDTH = 100


def toml(pack: Pack) -> str:
    """Return a file that reads back as the same policy, but for where its clauses came from."""
    return "\n".join(_lines(pack)) + "\n"


def _lines(pack: Pack) -> Iterator[str]:
    if pack.bases:
        yield f"# With all that it takes from {', '.join(f'{b.name} {b.version}' for b in pack.bases)}."
    for name in ("name", "version", "title", "description"):
        yield f"{name} = {_value(getattr(pack, name))}"
    if pack.waivers != Waivers():
        yield ""
        yield "[waivers]"
        said = pack.waivers.model_dump(mode="json", exclude_defaults=True, exclude={"loosen"})
        yield from _pairs(said)
    for each in pack.dropped:
        yield f"# Left out: {json.dumps(each.id)} ({json.dumps(each.reason, ensure_ascii=False)})"
    for clause in pack.clauses:
        yield ""
        yield "[[clause]]"
        yield from _clause(clause)


def _clause(clause: Clause) -> Iterator[str]:
    said = said_of(clause)
    loosened = said.pop("loosen", None)
    if loosened is not None:
        yield f"# Asks for less than the policy it extends: {json.dumps(loosened, ensure_ascii=False)}"
    first = ("id", "measure", "parameters", "rule", "limit", "all", "any", "not", "scope")
    ordered = sorted(said, key=lambda key: first.index(key) if key in first else len(first))
    yield from _pairs({key: said[key] for key in ordered})


def _pairs(said: Mapping[str, object]) -> Iterator[str]:
    for key, value in said.items():
        line = f"{key} = {_value(value)}"
        if len(line) > WIDTH and isinstance(value, list):
            yield f"{key} = ["
            yield from (f"    {_value(each)}," for each in value)
            yield "]"
        else:
            yield line


def _value(value: object) -> str:
    """Return a value as TOML writes it; its strings are those of JSON."""
    if isinstance(value, Mapping):
        return (
            "{ "
            + ", ".join(f"{_key(key)} = {_value(inner)}" for key, inner in value.items())
            + " }"
        )
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _key(key: str) -> str:
    return key if BARE_KEY.fullmatch(key) else json.dumps(key, ensure_ascii=False)
