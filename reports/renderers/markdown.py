"""Markdown for the summary of a job or a comment: a table of the models, then the findings of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treewarden.reports.document.gate import Entry, Gate
from treewarden.reports.document.words import counted
from treewarden.reports.figures.gate_rows import (
    GateRow,
    NoAuditGroup,
    basis_words,
    gate_rows,
    grouped_entries,
    in_words,
    marked,
    no_audit_groups,
    open_and_accepted,
    single_rows,
)
from treewarden.reports.figures.remaining import assumed_words
from treewarden.reports.renderers import GateRenderer

MOST = 25
"""So many findings are told of a model, and of the most models that fit what GitHub takes of a summary (1 MiB)."""
MOST_OF_ALL = 1_000


class MarkdownRenderer(GateRenderer):
    """Names from files are escaped, so that no mark, table, HTML, link or mention comes of them."""

    media_type = "text/markdown; charset=utf-8"
    suffix = "md"

    def render_gate(self, gate: Gate) -> bytes:
        rows = gate_rows(gate)
        lines = [
            f"## treewarden: {gate.outcome}",
            "",
            f"{in_words(gate)}; {open_and_accepted(rows)}.",
            *_models(gate, rows),
            *_findings(gate, rows),
        ]
        return ("\n".join(lines) + "\n").encode("utf-8")


def _models(gate: Gate, rows: Sequence[GateRow]) -> Iterator[str]:
    if not gate.entries:
        return
    yield from ("", "| Model | Outcome | Why | Findings |", "|---|---|---|---|")
    for entry in grouped_entries(gate):
        if isinstance(entry, NoAuditGroup):
            number = counted(len(entry.entries), "model", "models")
            found = counted(len(entry.entries), "error", "errors")
            yield f"| {number}, named below | **NO AUDIT** | {marked(entry.problem)} | {found} |"
            continue
        own = [row for row in rows if row.entry is entry]
        basis = basis_words(entry)
        outcome = f"**{entry.outcome}**{f' ({basis})' if basis else ''}"
        why = "; ".join(each for each in (entry.headline, assumed_words(entry)) if each)
        cells = (marked(entry.name), outcome, marked(why), open_and_accepted(own))
        yield f"| {' | '.join(cells)} |"


def _findings(gate: Gate, rows: Sequence[GateRow]) -> Iterator[str]:
    for group in no_audit_groups(gate):
        yield from (
            "",
            f"### {counted(len(group.entries), 'model', 'models')} without an audit",
            "",
        )
        yield f"{marked(group.problem)}."
        if group.advice:
            yield from ("", f"Next: {marked(group.advice)}.")
        yield ""
        yield from (f"- {marked(entry.name)}" for entry in group.entries)
    left, single = MOST_OF_ALL, single_rows(gate, rows)
    for entry in gate.entries:
        own = [row for row in single if row.entry is entry]
        shown = own[: min(MOST, left)]
        left -= len(shown)
        if own:
            yield from ("", f"### {marked(entry.name)}", "")
            yield from _table(entry, shown)
        if len(own) > len(shown):
            yield from ("", f"… and {counted(len(own) - len(shown), 'more', 'more')}.")


def _table(entry: Entry, rows: Sequence[GateRow]) -> Iterator[str]:
    if not rows:
        return
    yield from ("| | Check | Place | Finding | Id |", "|---|---|---|---|---|")
    for row in rows:
        kind = f"{row.result.severity} {row.result.verdict}"
        if row.accepted:
            kind = f"accepted {row.result.severity}"
        said = row.result.message + (f" ({row.accepted})" if row.accepted else "")
        place = f"line {row.line}: {row.where}" if row.result.line else row.where
        cells = (kind, marked(row.rule_id), marked(place), marked(said), marked(row.result.id))
        yield f"| {' | '.join(cells)} |"


RENDERER = MarkdownRenderer()
