"""Writes the JSON Schema of documents anew: ``python -m reports.document.schema``."""

from __future__ import annotations

from pathlib import Path

from reports.document.document import json_schema

SCHEMA_FILE = Path(__file__).with_name("audit.schema.json")

if __name__ == "__main__":
    SCHEMA_FILE.write_bytes(json_schema())
