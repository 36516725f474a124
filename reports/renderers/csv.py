"""All findings as CSV, one row each. Of a distribution, one row for each interval."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from treewarden.reports.document.gate import Gate
from treewarden.reports.document.methods import Column, RandomisedDocument
from treewarden.reports.document.words import printable
from treewarden.reports.figures.gate_rows import GateRow, gate_rows
from treewarden.reports.renderers import GateRenderer, RandomisedRenderer

COLUMNS = (
    "model",
    "file",
    "line",
    "tree",
    "node",
    "path",
    "clause",
    "severity",
    "verdict",
    "message",
    "accepted_by",
    "accepted_reason",
    "leaf",
    "id",
    "policy",
    "policy_version",
    "outcome",
)
SHARES = ("column", "low", "high", "reconstructed", "noisy", "true")
FORMULA = "=+-@＝＋－＠"
"""What a cell begins with that spreadsheets work out, and its full-width forms."""


class CsvRenderer(GateRenderer, RandomisedRenderer):
    """UTF-8 with a header, worst finding first; what a spreadsheet would take for a formula begins with ``'``."""

    media_type = "text/csv; charset=utf-8"
    suffix = "csv"

    def render_gate(self, gate: Gate) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(_cells(row) for row in gate_rows(gate))
        return text.getvalue().encode("utf-8")

    def render_randomised(self, document: RandomisedDocument) -> bytes:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(SHARES)
        for column in document.columns:
            writer.writerows((_safe(column.name), *row) for row in _shares(column))
        return text.getvalue().encode("utf-8")


def _shares(column: Column) -> Iterator[tuple[float | str, ...]]:
    """Yield a row for each interval of a column's domain, then for each one beyond it that noise reaches."""
    distribution = column.distribution
    if distribution is None:
        return
    rows: dict[tuple[float, float], list[float | str]] = {}
    for place, series in enumerate(
        (distribution.reconstructed, distribution.noisy, distribution.true)
    ):
        if series is not None:
            for low, high, share in zip(
                series.edges, series.edges[1:], series.shares, strict=False
            ):
                key = float(f"{low:.12g}"), float(f"{high:.12g}")
                rows.setdefault(key, ["", "", ""])[place] = share
    for low, high in sorted(rows):
        yield low, high, *rows[low, high]


def _cells(row: GateRow) -> tuple[str, ...]:
    result, accepted = row.result, row.result.accepted
    cells = (
        row.entry.name,
        row.entry.file,
        "" if result.line is None else str(result.line),
        str(result.tree),
        result.node,
        result.path,
        row.rule_id,
        result.severity,
        result.verdict,
        result.message,
        "" if accepted is None else accepted.by,
        "" if accepted is None else accepted.reason,
        result.leaf,
        result.id,
        row.rule.policy,
        row.rule.version,
        row.entry.outcome,
    )
    return tuple(map(_safe, cells))


def _safe(cell: str) -> str:
    cell = printable(cell)
    return f"'{cell}" if cell.lstrip()[:1] and cell.lstrip()[0] in FORMULA else cell


RENDERER = CsvRenderer()
