"""Annotations of GitHub Actions: workflow commands that mark the lines of the model's file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treewarden.policies.verdict import FindingKind
from treewarden.reports.document.gate import Gate
from treewarden.reports.document.words import counted, printable
from treewarden.reports.figures.gate_rows import (
    FIRST_LINE,
    GateRow,
    NoAuditGroup,
    gate_rows,
    in_words,
    no_audit_groups,
    open_and_accepted,
    single_rows,
)
from treewarden.reports.renderers import GateRenderer

SHOWN = 10
"""GitHub shows so many annotations of a kind per step."""
KINDS = ("error", "warning", "notice")
TITLE = "treewarden"
NO_AUDIT = FindingKind.NO_AUDIT.value
MOST_NAMES = 50
"""So many models are named in an annotation; the log names all."""


class GithubRenderer(GateRenderer):
    """At most ten of a kind; where there are more, one line for each model comes first, and the tenth counts the rest.

    All findings stand in the log, folded. What was accepted, or is only a note, is a notice.
    """

    media_type = "text/plain; charset=utf-8"
    suffix = "github.txt"

    def render_gate(self, gate: Gate) -> bytes:
        rows = gate_rows(gate)
        lines = [f"{TITLE}: {gate.outcome}: {in_words(gate)}; {open_and_accepted(rows)}"]
        groups, single = no_audit_groups(gate), single_rows(gate, rows)
        for kind in KINDS:
            own = groups if kind == "error" else []
            lines += _annotations(kind, [row for row in single if _kind(row) == kind], own)
        lines += _assumed(gate)
        if rows:
            told = [*map(_plain_group, groups), *map(_plain, single)]
            lines += ["::group::All findings", *told, "::endgroup::"]
        return ("\n".join(lines) + "\n").encode("utf-8")


def _kind(row: GateRow) -> str:
    if row.accepted or row.result.severity == "note":
        return "notice"
    return row.result.severity


def _annotations(
    kind: str, rows: Sequence[GateRow], groups: Sequence[NoAuditGroup]
) -> Iterator[str]:
    """Yield all where they fit; else for each model its only row or one line over all its rows, then details.

    Models that have no audit for one reason have one annotation, which comes first.
    """
    models: dict[tuple[str, str], list[GateRow]] = {}
    for row in rows:
        models.setdefault((row.entry.name, row.entry.file), []).append(row)
    heads = [_group_annotation(kind, group) for group in groups]
    if len(models) == 1 or len(rows) + len(heads) <= SHOWN:
        details = [_annotation(kind, row) for row in rows]
    else:
        heads += [_head(kind, own) for own in models.values()]
        several = [own for own in models.values() if len(own) > 1]
        details = [_annotation(kind, row) for row in _in_turn(several)]
    lines = heads + details
    shown = lines if len(lines) <= SHOWN else lines[: SHOWN - 1]
    yield from shown
    hidden = len(lines) - len(shown)
    if hidden:
        words = f"{counted(hidden, f'more {kind}', f'more {kind}s')}: see the log"
        if len(shown) < len(heads):
            models_left = counted(len(heads) - len(shown), "more model", "more models")
            words = f"{models_left} with {kind}s: see the log"
        yield f"::{kind} title={_property(TITLE)}::{_data(words)}"


def _in_turn(models: Sequence[Sequence[GateRow]]) -> Iterator[GateRow]:
    """Yield the first row of each model, then the second of each, and so on."""
    for place in range(max(map(len, models), default=0)):
        yield from (rows[place] for rows in models if place < len(rows))


def _head(kind: str, rows: Sequence[GateRow]) -> str:
    """Return the annotation of one model: its only row, or what its rows come to."""
    first = rows[0]
    if len(rows) == 1:
        return _annotation(kind, first)
    place = f"file={_property(first.entry.file)},line={FIRST_LINE}"
    title = f"{TITLE}: {first.entry.outcome}"
    words = f"{first.entry.headline} ({counted(len(rows), kind, f'{kind}s')})"
    return f"::{kind} {place},title={_property(title)}::{_data(words)}"


def _annotation(kind: str, row: GateRow) -> str:
    title = f"{TITLE}: {row.rule_id}"
    place = f"file={_property(row.entry.file)},line={row.line}"
    return f"::{kind} {place},title={_property(title)}::{_data(_row_message(row))}"


def _group_annotation(kind: str, group: NoAuditGroup) -> str:
    """Return the annotation of models that have no audit for one reason, at the first of them."""
    place = f"file={_property(group.entries[0].file)},line={FIRST_LINE}"
    said = _group_message(group, group.names(MOST_NAMES))
    return f"::{kind} {place},title={_property(f'{TITLE}: {NO_AUDIT}')}::{_data(said)}"


def _group_message(group: NoAuditGroup, names: str) -> str:
    advice = f". Next: {group.advice}" if group.advice else ""
    return f"There was no audit of {group.head}{advice}. Models: {names}"


def _assumed(gate: Gate) -> Iterator[str]:
    """Yield for the log which columns of each model were assumed known; no name in it can make a command."""
    for entry in gate.entries:
        for words in filter(None, (entry.assumed_known, entry.unlimited)):
            yield printable(f"- {entry.name}: {words}").replace("##[", "## [")


def _row_message(row: GateRow) -> str:
    return f"{row.sentence} [{row.result.id}]"


def _plain(row: GateRow) -> str:
    """Return a line of the log that no name in it can turn into a command."""
    kind = f"accepted {row.result.severity}" if row.accepted else row.result.severity
    said = f"- {kind} {row.entry.file}:{row.line} {row.rule_id}: {_row_message(row)}"
    return printable(said).replace("##[", "## [")


def _plain_group(group: NoAuditGroup) -> str:
    said = f"- error {NO_AUDIT}: {_group_message(group, group.names())}"
    return printable(said).replace("##[", "## [")


def _data(text: str) -> str:
    """Return the message of a command, escaped as the runner reads it."""
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


RENDERER = GithubRenderer()
