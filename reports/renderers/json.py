"""JSON for other programs, as ``audit.schema.json`` and ``gate.schema.json`` describe it; ASCII only."""

from __future__ import annotations

import json

from reports.document.document import Document
from reports.document.gate import Gate
from reports.document.parts import Part
from reports.renderers import GateRenderer


class JsonRenderer(GateRenderer):
    """Every value of the report, or of the gate, in the order of its fields."""

    media_type = "application/json"
    suffix = "json"
    has_reports = True

    def render(self, document: Document) -> bytes:
        return _json(document)

    def render_gate(self, gate: Gate) -> bytes:
        return _json(gate)


def _json(part: Part) -> bytes:
    said = part.model_dump(mode="json", by_alias=True)
    return (json.dumps(said, indent=2, allow_nan=False) + "\n").encode("ascii")


RENDERER = JsonRenderer()
