"""Validators of the JSON Schemas that are published, made once: checking a schema itself takes longer than its use."""

from __future__ import annotations

import json
from functools import cache

import jsonschema


@cache
def validator_of(schema: bytes | str) -> jsonschema.Draft202012Validator:
    """Return the validator of a schema, which is one."""
    read = json.loads(schema)
    jsonschema.Draft202012Validator.check_schema(read)
    return jsonschema.Draft202012Validator(read)
