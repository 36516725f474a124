"""JSON for other programs, as ``reports/document/audit.schema.json`` describes it; ASCII only."""

from __future__ import annotations

import json

from reports.document.document import Document
from reports.renderers import Renderer


class JsonRenderer(Renderer):
    """Every value of the document, in the order of its fields."""

    media_type = "application/json"
    suffix = "json"

    def render(self, document: Document) -> bytes:
        said = document.model_dump(mode="json", by_alias=True)
        return (json.dumps(said, indent=2, allow_nan=False) + "\n").encode("ascii")


RENDERER = JsonRenderer()
