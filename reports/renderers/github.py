"""Annotations of GitHub Actions: workflow commands that mark the lines of the model's file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treewarden.reports.document.gate import Gate
from treewarden.reports.document.words import counted, printable
from treewarden.reports.figures.gate_rows import GateRow, gate_rows, in_words, open_and_accepted
from treewarden.reports.renderers import GateRenderer

SHOWN = 10
"""GitHub shows so many annotations of a kind per step."""
KINDS = ("error", "warning", "notice")
TITLE = "treewarden"


class GithubRenderer(GateRenderer):
    """The worst of each kind first, at most ten; where there are more, the tenth says how many.

    All findings stand in the log, folded. What was accepted, or is only a note, is a notice.
    """

    media_type = "text/plain; charset=utf-8"
    suffix = "github.txt"

    def render_gate(self, gate: Gate) -> bytes:
        rows = gate_rows(gate)
        lines = [f"{TITLE}: {gate.outcome}: {in_words(gate)}; {open_and_accepted(rows)}"]
        for kind in KINDS:
            lines += _annotations(kind, [row for row in rows if _kind(row) == kind])
        lines += _assumed(gate)
        if rows:
            lines += ["::group::All findings", *map(_plain, rows), "::endgroup::"]
        return ("\n".join(lines) + "\n").encode("utf-8")


def _kind(row: GateRow) -> str:
    if row.accepted or row.result.severity == "note":
        return "notice"
    return row.result.severity


def _annotations(kind: str, rows: Sequence[GateRow]) -> Iterator[str]:
    shown = rows if len(rows) <= SHOWN else rows[: SHOWN - 1]
    for row in shown:
        title = f"{TITLE}: {row.rule_id}"
        place = f"file={_property(row.entry.file)},line={row.line}"
        yield f"::{kind} {place},title={_property(title)}::{_data(_row_message(row))}"
    left = len(rows) - len(shown)
    if left:
        said = f"{counted(left, f'more {kind}', f'more {kind}s')}; the log has all"
        yield f"::{kind} title={_property(TITLE)}::{_data(said)}"


def _assumed(gate: Gate) -> Iterator[str]:
    """Yield for the log which columns of each model were assumed known; no name in it can make a command."""
    for entry in gate.entries:
        if entry.assumed_known:
            said = f"- {entry.name}: {entry.assumed_known}"
            yield printable(said).replace("##[", "## [")


def _row_message(row: GateRow) -> str:
    return f"{row.said} [{row.result.id}]"


def _plain(row: GateRow) -> str:
    """Return a line of the log that no name in it can turn into a command."""
    kind = f"accepted {row.result.severity}" if row.accepted else row.result.severity
    said = f"- {kind} {row.entry.file}:{row.line} {row.rule_id}: {_row_message(row)}"
    return printable(said).replace("##[", "## [")


def _data(said: str) -> str:
    """Return the message of a command, escaped as the runner reads it."""
    return printable(said).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(said: str) -> str:
    return _data(said).replace(":", "%3A").replace(",", "%2C")


RENDERER = GithubRenderer()
