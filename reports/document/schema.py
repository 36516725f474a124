"""Writes the JSON Schemas of all documents anew: ``python -m treewarden.reports.document.schema``."""

from __future__ import annotations

from pathlib import Path

from treewarden.reports.document.gate import gate_schema, plan_schema
from treewarden.reports.document.methods import leakage_schema, randomised_schema
from treewarden.reports.document.packing import json_schema

SCHEMA_FILE = Path(__file__).with_name("audit.schema.json")
GATE_SCHEMA_FILE = Path(__file__).with_name("gate.schema.json")
RANDOMISED_SCHEMA_FILE = Path(__file__).with_name("randomised.schema.json")
LEAKAGE_SCHEMA_FILE = Path(__file__).with_name("leakage.schema.json")
PLAN_SCHEMA_FILE = Path(__file__).with_name("plan.schema.json")
SCHEMAS = {
    SCHEMA_FILE: json_schema,
    GATE_SCHEMA_FILE: gate_schema,
    RANDOMISED_SCHEMA_FILE: randomised_schema,
    LEAKAGE_SCHEMA_FILE: leakage_schema,
    PLAN_SCHEMA_FILE: plan_schema,
}


def outdated() -> list[str]:
    """Return which of the files are not what the code says now."""
    return [
        str(file)
        for file, said in SCHEMAS.items()
        if not file.exists() or file.read_bytes() != said()
    ]


if __name__ == "__main__":
    for file, said in SCHEMAS.items():
        file.write_bytes(said())
