"""What a terminal shows of a gate: a short block for each model, and what to type next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from treewarden.reports.document.gate import Entry, Gate
from treewarden.reports.document.words import WIDTH, printable, wrapped
from treewarden.reports.figures.gate_rows import (
    GateRow,
    NoAuditGroup,
    basis_words,
    gate_rows,
    grouped_entries,
    in_words,
    open_and_accepted,
)
from treewarden.reports.figures.remaining import assumed_words
from treewarden.terminal.outputs import NextStep, step_lines

MOST_PLACES = 2
"""So many different findings of a model are shown where they are; the others are counted."""
MOST_NAMES = 20
"""So many models are named that have no audit for the same reason; the others are counted."""
INDENT = " " * 4


def gate_lines(gate: Gate, commands: Mapping[str, str], written: Sequence[str] = ()) -> list[str]:
    """Return the lines for all models of a run; ``commands`` are what to type next, by what for."""
    return list(_lines(gate, commands, written))


def _lines(gate: Gate, commands: Mapping[str, str], written: Sequence[str]) -> Iterator[str]:
    rows = gate_rows(gate)
    yield from wrapped(f"{gate.outcome}: {in_words(gate)}. Findings: {open_and_accepted(rows)}.")
    if gate.entries:
        yield ""
    for entry in grouped_entries(gate):
        if isinstance(entry, NoAuditGroup):
            yield from _group_block(entry)
        else:
            yield from _block(entry, [row for row in rows if row.entry is entry])
    steps = [] if gate.outcome == "PASS" else [NextStep(*step) for step in commands.items()]
    if written:
        steps.append(NextStep(f"Read the reports: {', '.join(written)}"))
    yield from step_lines(steps)


def _group_block(group: NoAuditGroup) -> Iterator[str]:
    """Yield how many models have no audit for one reason, their names, and the next step."""
    yield from wrapped(f"{'NO AUDIT':12}  {group.head}", "", INDENT)
    more = " (--verbose)" if len(group.entries) > MOST_NAMES else ""
    yield from wrapped(f"{group.names(MOST_NAMES)}{more}", f"{INDENT}  ")
    yield from wrapped(f"Next: {group.advice}" if group.advice else "", INDENT)


def _block(entry: Entry, rows: Sequence[GateRow]) -> Iterator[str]:
    """Yield what came of one model: outcome and reason, its first findings, and what nobody judged."""
    basis = f" ({basis_words(entry)})" if basis_words(entry) else ""
    head = f"{entry.outcome:12}  {printable(entry.name)}"
    why = printable(f"{entry.headline}{basis}")
    if len(head) + 2 + len(why) <= WIDTH:
        yield f"{head}  {why}"
    else:
        yield head
        yield from wrapped(why, INDENT)
    yield from wrapped(assumed_words(entry), INDENT)
    if entry.outcome == "NO AUDIT":
        return  # the line above says why
    failed = [row for row in rows if not row.accepted]
    failed.sort(key=lambda row: row.result.severity != "error")
    alike = Counter(_finding_text(row) for row in failed)
    for said, times in list(alike.items())[:MOST_PLACES]:
        yield from wrapped(
            said + (f" ({times:,} findings)" if times > 1 else ""), INDENT, f"{INDENT}  "
        )
    hidden = sum(list(alike.values())[MOST_PLACES:])
    if hidden:
        yield f"{INDENT}and {hidden:,} more (--verbose)"


def _finding_text(row: GateRow) -> str:
    """Return where a finding is and what it says; those of people of one leaf, or of one line, are alike."""
    return printable(
        f"{row.entry.file}:{row.line}: {row.rule_id} ({row.result.severity}): {row.result.message}"
    )
