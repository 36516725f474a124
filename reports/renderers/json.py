"""JSON for other programs, as the schemas in ``reports/document`` describe it; ASCII only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from treewarden.reports.document.packing import document_bytes
from treewarden.reports.document.parts import as_json
from treewarden.reports.renderers import GateRenderer, RandomisedRenderer

if TYPE_CHECKING:  # a report needs no document of another kind
    from treewarden.reports.document.document import Document
    from treewarden.reports.document.gate import Gate
    from treewarden.reports.document.methods import RandomisedDocument


class JsonRenderer(GateRenderer, RandomisedRenderer):
    """Every value of the report, or of the gate, in the order of its fields."""

    media_type = "application/json"
    suffix = "json"
    has_reports = True

    def render(self, document: Document) -> bytes:
        return document_bytes(document)

    def render_gate(self, gate: Gate) -> bytes:
        return as_json(gate)

    def render_randomised(self, document: RandomisedDocument) -> bytes:
        return as_json(document)


RENDERER = JsonRenderer()
