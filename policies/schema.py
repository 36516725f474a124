"""The JSON Schema of packs, made from their grammar and from the measures and rules there are."""

from __future__ import annotations

import json

from treewarden.audit.measures import measures
from treewarden.policies.clause import COMBINING, Pack
from treewarden.policies.rules import rules


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
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Policy pack of treewarden",
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "version"],
        "properties": {
            **file,
            "description": {"type": "string"},
            "clause": {"type": "array", "items": {"$ref": "#/$defs/Clause"}},
            "waivers": whole["waivers"],
        },
        "if": {"not": {"required": ["extends"]}},
        "then": {
            "required": ["title", "clause"],
            "properties": {
                "clause": {"minItems": 1, "items": {"oneOf": _FORMS, "not": {"required": ["drop"]}}}
            },
        },
        "$defs": {name: known[name] for name in sorted(known) if name not in ("Base", "Dropped")},
    }
    return (json.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode()


_FORMS = [{"required": ["measure", "rule", "limit"]}, *({"required": [key]} for key in COMBINING)]
