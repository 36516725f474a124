"""The page about the API: every route with its parameters, bodies and answers, and a line to copy.

The API as its page tells it: the OpenAPI description, resolved into what a person reads and copies.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from treewarden.service.api._requests import Reading, Who, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.pages._rendering import page

SCHEMAS = "#/components/schemas/"
METHODS = ("get", "post", "put", "patch", "delete")
UNTOLD = ("HTTPValidationError", "ValidationError")
"""What FastAPI says of refusals; those of the service are told at the head of the page."""
PLACEHOLDER = re.compile(r"\{(\w+)\}")
TOKEN = '-H "Authorization: Bearer $TREEWARDEN_TOKEN"'
LIMITS = (
    ("minLength", "length at least {}"),
    ("maxLength", "length at most {}"),
    ("minimum", "at least {}"),
    ("maximum", "at most {}"),
    ("minItems", "at least {} of them"),
)
LONGEST_PATTERN = 40
"""A pattern that is longer tells nobody anything."""


@dataclass(frozen=True, slots=True)
class DescribedValue:
    """A parameter, or a field of a body: where it stands, what it may be, and the schema that says more of it."""

    name: str
    place: str
    kind: str
    is_required: bool
    limits: str
    schema: str


@dataclass(frozen=True, slots=True)
class Schema:
    """A body by name: what it is, its fields, or the words that it may be, and an example as JSON."""

    name: str
    title: str
    text: str
    fields: tuple[DescribedValue, ...]
    words: tuple[str, ...]
    example: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One thing that can be asked: ``anchor`` is its place on the page, ``curl`` the line that asks for it."""

    anchor: str
    method: str
    path: str
    text: str
    permission: str
    values: tuple[DescribedValue, ...]
    body: str
    answers: tuple[tuple[str, str], ...]
    curl: str


@dataclass(frozen=True, slots=True)
class Described:
    """All operations by subject, and all bodies."""

    operations: Mapping[str, tuple[Operation, ...]]
    schemas: Mapping[str, Schema]


def described(document: Mapping[str, Any]) -> Described:
    """Return what an OpenAPI document of this service says."""
    schemas = {
        name: _schema(name, found)
        for name, found in document["components"]["schemas"].items()
        if name not in UNTOLD
    }
    subjects: dict[str, list[Operation]] = {}
    for path, methods in document["paths"].items():
        for method in METHODS:
            if method in methods:
                subject = methods[method]["tags"][0]
                operation = _operation(method, path, methods[method], schemas)
                subjects.setdefault(subject, []).append(operation)
    return Described(
        {name: tuple(operations) for name, operations in sorted(subjects.items())}, schemas
    )


def _operation(
    method: str, path: str, operation: Mapping[str, Any], schemas: Mapping[str, Schema]
) -> Operation:
    values = tuple(
        _value(each["name"], each["in"], each["schema"], bool(each.get("required")))
        for each in operation.get("parameters", ())
    )
    contents: Mapping[str, Any] = operation.get("requestBody", {}).get("content", {})
    nothing: Mapping[str, Any] = {}
    media, content = next(iter(contents.items()), ("", nothing))
    body = _named(content.get("schema", {}))
    example = schemas[body].example if body else ""
    answers = tuple(
        (status, _answered(answer))
        for status, answer in operation["responses"].items()
        if status < "4"
    )
    return Operation(
        anchor=operation["operationId"],
        method=method.upper(),
        path=path,
        text=operation.get("description", "").strip(),
        permission=operation.get("x-permission", ""),
        values=values,
        body=body,
        answers=answers,
        curl=_curl(method.upper(), path, values, media, example),
    )


def _answered(answer: Mapping[str, Any]) -> str:
    """Return what an answer holds: the name of a body, else its kind."""
    for media, content in answer.get("content", {}).items():
        named = _named(content.get("schema", {}))
        return named or _kind(content.get("schema", {})) or str(media)
    return ""


def _curl(
    method: str, path: str, values: tuple[DescribedValue, ...], media: str, example: str
) -> str:
    """Return the line of a shell that asks; what only the reader knows is a variable in capitals."""
    asked = [
        f"{described_value.name}={_first(described_value)}"
        for described_value in values
        if _is_needed(described_value)
    ]
    query = f"?{'&'.join(asked)}" if asked else ""
    address = PLACEHOLDER.sub(lambda match: f"${{{match[1].upper()}:?}}", path) + query
    parts = ["curl --fail-with-body", TOKEN]
    if media and media != "application/json":
        parts.append('-T "$FILE"')
    elif example:
        parts.append(f"--json {shlex.quote(json.dumps(json.loads(example), ensure_ascii=False))}")
        parts += [f"-X {method}"] if method != "POST" else []
    elif method != "GET":
        parts.append(f"-X {method}")
    return " \\\n  ".join([*parts, f'"$TREEWARDEN_URL{address}"'])


def _is_needed(value: DescribedValue) -> bool:
    return value.place == "query" and value.is_required


def _first(value: DescribedValue) -> str:
    """Return a word that a value may be, else a variable of its name."""
    words = value.kind.split(" or ")
    return words[0] if len(words) > 1 else f"${{{value.name.upper()}:?}}"


def _schema(name: str, schema: Mapping[str, Any]) -> Schema:
    required = schema.get("required", ())
    fields = tuple(
        _value(field, "body", found, field in required)
        for field, found in schema.get("properties", {}).items()
    )
    examples = schema.get("examples", ())
    return Schema(
        name=name,
        title=schema.get("title", name),
        text=schema.get("description", "").strip(),
        fields=fields,
        words=tuple(map(str, schema.get("enum", ()))),
        example=json.dumps(examples[0], indent=2, ensure_ascii=False) if examples else "",
    )


def _value(name: str, place: str, schema: Mapping[str, Any], is_required: bool) -> DescribedValue:
    return DescribedValue(
        name=name,
        place=place,
        kind=_kind(schema),
        is_required=is_required,
        limits="; ".join(_limits(schema)),
        schema=_named(schema),
    )


def _named(schema: Mapping[str, Any]) -> str:
    """Return the name of the body that a schema is, or is a list of, or may be; "" for none."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(SCHEMAS)
    for each in (*schema.get("anyOf", ()), schema.get("items", {})):
        if each and (found := _named(each)):
            return found
    return ""


def _kind(schema: Mapping[str, Any]) -> str:
    """Return what a value is, in a few words; words that it may be joined by “or”."""
    if "$ref" in schema:
        return _named(schema)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(each) for each in schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(_word(each) for each in schema["enum"])
    if "const" in schema:
        return _word(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_kind(schema.get('items', {})) or 'anything'}"
    return str(schema.get("format") or schema.get("type") or "")


def _word(value: object) -> str:
    return "nothing" if value == "" else str(value)


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    for each in (schema, *schema.get("anyOf", ())):
        for key, words in LIMITS:
            if key in each:
                yield words.format(f"{each[key]:,}")
        pattern = each.get("pattern", "")
        if pattern and len(pattern) <= LONGEST_PATTERN:
            yield f"as {pattern}"
    if schema.get("default") not in (None, "", [], {}):
        yield f"{json.dumps(schema['default'])} by default"


ROUTER = APIRouter(tags=["pages"])


@ROUTER.get("/api", **reads(Permission.READ))
def get_api(request: Request, principal: Who, unit: Reading) -> Response:
    """Show what programs can ask, from the same description that they read."""
    server = unit.site.settings.base_url.rstrip("/") or str(request.base_url).rstrip("/")
    document = request.app.openapi()
    return page(
        request,
        "api.html.j2",
        principal,
        api=described(document),
        version=document["info"]["version"],
        server=shlex.quote(server),
    )
