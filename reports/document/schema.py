"""Writes the JSON Schemas of documents and of gates anew: ``python -m reports.document.schema``."""

from __future__ import annotations

from pathlib import Path

from reports.document.document import json_schema
from reports.document.gate import gate_schema

SCHEMA_FILE = Path(__file__).with_name("audit.schema.json")
GATE_SCHEMA_FILE = Path(__file__).with_name("gate.schema.json")


def outdated() -> list[str]:
    """Return which of the files are not what the code says now."""
    current = {SCHEMA_FILE: json_schema(), GATE_SCHEMA_FILE: gate_schema()}
    return [str(file) for file, said in current.items() if file.read_bytes() != said]


if __name__ == "__main__":
    SCHEMA_FILE.write_bytes(json_schema())
    GATE_SCHEMA_FILE.write_bytes(gate_schema())
