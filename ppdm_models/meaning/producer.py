"""Which program wrote a model file, where the file says so."""

from __future__ import annotations

import re

HEAD_BYTES = 65_536
"""How far into a file its maker is looked for."""

_APPLICATION = re.compile(rb"<(?:\w+:)?Application\b([^<>]{0,500})>")
_ATTRIBUTE = re.compile(rb"""\b(name|version)\s*=\s*["']([^"'<>]{1,80})["']""")


def producer(data: bytes) -> str | None:
    """Return the name and version of the program, as PMML's Header gives them; None where nothing is said.

    The formats of one program name it themselves (``xgboost_json``).
    """
    found = _APPLICATION.search(data[:HEAD_BYTES])
    if found is None:
        return None
    said = {key: value.decode("utf-8", "replace") for key, value in _ATTRIBUTE.findall(found[1])}
    parts = (said[key].strip() for key in (b"name", b"version") if key in said)
    return " ".join(part for part in parts if part) or None
