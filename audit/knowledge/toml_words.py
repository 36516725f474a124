"""What pydantic finds wrong in a file, in words of TOML; a gate that has nothing to do loads this and nothing heavy."""

from __future__ import annotations

from pydantic_core import ErrorDetails

KINDS = {
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "bool_type": "true or false",
    "float_type": "a number",
    "int_type": "a whole number",
}
"""What TOML calls that which should stand somewhere, by the type of the error that it does not."""


def in_words(error: ErrorDetails) -> str:
    """Return what is wrong with a value, in words of TOML and not of the types that hold it here."""
    kind, told = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return "unknown key"
    if kind in KINDS:
        return f"input should be {KINDS[kind]}"
    if kind == "too_long":
        most, there = told["max_length"], told["actual_length"]
        return f"{there} items, at most {most} allowed; remove some"
    if kind == "too_short":
        least, there = told["min_length"], told["actual_length"]
        return f"{there} items, at least {least} required; add some"
    return error["msg"][:1].lower() + error["msg"][1:]
