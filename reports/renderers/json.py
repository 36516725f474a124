"""JSON for other programs, as the schemas in ``reports/document`` describe it; ASCII only."""

from __future__ import annotations

import json

from reports.document.document import Document
from reports.document.gate import Gate
from reports.document.parts import Part
from reports.document.randomised import RandomisedDocument
from reports.document.vertical import LeakageDocument
from reports.renderers import GateRenderer, LeakageRenderer, RandomisedRenderer


class JsonRenderer(GateRenderer, RandomisedRenderer, LeakageRenderer):
    """Every value of the report, or of the gate, in the order of its fields."""

    media_type = "application/json"
    suffix = "json"
    has_reports = True

    def render(self, document: Document) -> bytes:
        return _json(document)

    def render_gate(self, gate: Gate) -> bytes:
        return _json(gate)

    def render_randomised(self, document: RandomisedDocument) -> bytes:
        return _json(document)

    def render_leakage(self, document: LeakageDocument) -> bytes:
        return _json(document)


def _json(part: Part) -> bytes:
    said = part.model_dump(mode="json", by_alias=True)
    return (json.dumps(said, indent=2, allow_nan=False) + "\n").encode("ascii")


RENDERER = JsonRenderer()
