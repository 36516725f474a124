"""The forms of a report that a test can read as text; others are bytes of their own kind."""

from __future__ import annotations

from reports.renderers import names, renderer

TEXTS = [
    name
    for name in names()
    if renderer(name).media_type.startswith("text/")
    or renderer(name).media_type == "application/json"
]
