"""The forms of a report that a test can read as text; others are bytes of their own kind."""

from __future__ import annotations

from treewarden.reports.renderers import GateRenderer, names, renderer

TEXTS = [
    name
    for name in names()
    if renderer(name).media_type.startswith("text/")
    or renderer(name).media_type == "application/json"
]

FULL = [
    name
    for name in TEXTS
    if not isinstance(renderer(name), GateRenderer) or renderer(name).has_reports
]
"""The forms that tell all of a report; others show what anybody may read, and nothing confidential."""
