"""The checks of an audit as lines of a terminal: one row each, with what was measured, required and where."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from treewarden.audit.measures import measures
from treewarden.policies.judging.figures import figure, places_text
from treewarden.policies.verdict import NEW_MODEL, capital
from treewarden.reports.document.document import Attempt, Document, Repair
from treewarden.reports.document.parts import Finding, Number, Place, Value
from treewarden.reports.document.words import WIDTH, count, counted, printable, wrapped
from treewarden.reports.figures.curve import curve_of, tells_accuracy
from treewarden.reports.figures.finding_rows import ToldFinding, lacks_target, table_statements
from treewarden.terminal.outputs import NextStep, step_lines

MOST_NOTE_LINES = 2
UNKNOWN = "not decided"
WITHHELD = "withheld"
"""What stands for a figure that a redacted report leaves out: it is known, so it is not "not decided"."""
SIGNS = {"at_least": ">=", "at_most": "<=", "above": ">", "below": "<"}
KINDS = {
    "leaf": ("leaf", "leaves"),
    "profile": ("group", "groups"),
    "file": ("place", "places"),
    "tree": ("tree", "trees"),
    "column": ("column", "columns"),
}
LABEL = 16
"""Columns that the name of a list takes in front of its items."""
VERBOSE = "--verbose"


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A check as a line of the table."""

    check: str
    words: str
    measured: str
    required: str
    where: str


def row_of(told_finding: ToldFinding, document: Document) -> CheckRow:
    """Return the row of a check that failed, warns or is not decided."""
    finding = told_finding.finding
    if not finding.measure:
        return CheckRow(finding.clause, finding.message.rstrip("."), "", "", "")
    where = _where(finding, document.model.trees)
    if told_finding.others:
        where = f"{where}; more with {VERBOSE}" if where else f"more with {VERBOSE}"
    measured = measured_text(finding.value, finding.unit, finding.limit)
    if finding.value.reason and document.redacted_below is not None:
        measured = WITHHELD
    return CheckRow(finding.clause, check_words(finding), measured, _required(finding), where)


def check_words(finding: Finding) -> str:
    """Return what a check measures, in the few words that a row has room for."""
    measure = measures().get(finding.measure)
    if measure is None:  # several metrics in one check
        return finding.limit_text
    words = measure.row_words(dict(finding.parameters))
    return f"{words}, if an adversary knew {finding.under}" if finding.under else words


def measured_text(value: Value, unit: str, limit: Number | None) -> str:
    """Return what was measured, without its unit, with as many digits as tell it from the limit."""
    if value.reason:
        return UNKNOWN
    beside = None if limit is None else float(limit)
    ends = [_figure(float(end), unit, beside) for end in (value.low, value.high) if end is not None]
    if not ends:
        return value.text
    return ends[0] if ends[0] == ends[-1] else f"{ends[0].removesuffix(' %')} to {ends[-1]}"


def _figure(value: float, unit: str, beside: float | None) -> str:
    """Return a figure without its unit, which the words beside it tell; a share in per cent."""
    return figure(value, unit, beside) if unit == "share" else figure(value, "", beside).strip()


def _required(finding: Finding) -> str:
    if finding.limit is None:
        return "0" if finding.parts else ""
    limit = _figure(float(finding.limit), finding.unit, None)
    if finding.rule == "at_most" and finding.limit == 0:
        return limit
    return f"{SIGNS.get(finding.rule, finding.rule)} {limit}"


def _where(finding: Finding, trees: int) -> str:
    """Return how many places break a check, and the worst of them."""
    if finding.of:
        return printable(finding.of)
    places = finding.where
    if not places:
        return ""
    said = places_text(places, *KINDS[places[0].kind])
    return f"{said}, e.g. {_example(places[0], trees)}"


def _example(place: Place, trees: int) -> str:
    if place.kind == "file":
        return printable(place.path)
    if place.kind in ("tree", "column"):
        return printable(place.node)
    if not place.node:
        return printable(place.profile)
    name = place.node.removeprefix(f"tree {place.tree + 1}: ") if trees > 1 else place.node
    tree = f"tree {place.tree + 1}, " if trees > 1 else ""
    return f"{tree}line {place.line}" if place.line else f"{tree}node {printable(name)}"


def table_lines(rows: dict[str, list[CheckRow]], most: int) -> Iterator[str]:
    """Yield the rows under their headings, at most so many; columns are as wide as what stands in them.

    Where no row is left for a heading, its checks are named behind it.
    """
    cells = [row for some in rows.values() for row in some if row.required or row.measured]
    widths = [
        max((len(getattr(row, name)) for row in cells), default=0)
        for name in ("check", "words", "measured", "required")
    ]
    widths[0], widths[1] = min(widths[0], 24), min(widths[1], 44)
    left = most
    head: tuple[str, ...] = ("measured", "required", "where in the model file")
    first = True
    for title, some in rows.items():
        if not some:
            continue
        if left <= 0:
            yield from named_lines(title, dict.fromkeys(row.check for row in some))
            continue
        if first:
            yield ""
            start = f"{title:{widths[0] + widths[1] + 4}}"
            named = [
                name.ljust(max(width, len(name)))
                for name, width in zip(head[:2], widths[2:], strict=True)
            ]
            yield "  ".join([start, *named, head[2]]).rstrip() if cells else title
            widths[2], widths[3] = max(widths[2], len(head[0])), max(widths[3], len(head[1]))
            first = False
        else:
            yield title
        for row in some[:left]:
            yield from _row_lines(row, widths)
        if len(some) > left:
            names = ", ".join(dict.fromkeys(printable(row.check) for row in some[left:]))
            yield cut_line(f"  and {count(len(some) - left)} more ({VERBOSE}): {names}")
        left -= len(some)


def _row_lines(row: CheckRow, widths: Sequence[int]) -> Iterator[str]:
    if not (row.required or row.measured):
        yield from few_lines(wrapped(f"{row.check}  {row.words}", "  ", "    "))
        return
    cells = (row.check, row.words, row.measured, row.required)
    line = "  ".join(
        printable(cell).ljust(width) for cell, width in zip(cells, widths, strict=True)
    )
    line = f"  {line}  {row.where}".rstrip()
    if len(line) > WIDTH and ", e.g. " in row.where:
        line = f"{line[: -len(row.where)]}{row.where.partition(', e.g. ')[0]}"
    yield line


def named_lines(label: str, items: Iterable[str]) -> Iterator[str]:
    """Yield names in one list behind a label, or nothing where there are none."""
    said = ", ".join(items)
    if said:
        yield from wrapped(f"{label:{LABEL}}{said}", "", " " * LABEL)


def few_lines(lines: list[str], most: int = MOST_NOTE_LINES) -> list[str]:
    """Return the first lines; the last of them says by a mark that there are more."""
    return lines if len(lines) <= most else [*lines[: most - 1], cut_line(f"{lines[most - 1]} …")]


def cut_line(line: str, room: int = 0) -> str:
    """Return a line that leaves so much room for what is put behind it."""
    if len(line) <= WIDTH - room:
        return line
    shown, _, _ = line[: WIDTH - 1 - room].rpartition(" ")  # a word is shown whole, or not
    return f"{(shown or line[: WIDTH - 2 - room]).rstrip(' …')} …"


# What a terminal shows of a repair: whether a change passes, what it changes, and what to type next.

MOST_ROWS = 7
MOST_REASONS = 3
MOST_POINTS = 6
MOST_MESSAGE_LINES = 8


def repair_lines(document: Document, model_file: str, steps: Sequence[NextStep]) -> list[str]:
    """Return the lines for the report of a repair of the model in the file of that name."""
    repair = document.repair
    assert repair is not None
    return list(_lines(document, repair, model_file, steps))


def _lines(
    document: Document, repair: Repair, model_file: str, steps: Sequence[NextStep]
) -> Iterator[str]:
    name = printable(model_file)
    policy = f"the policy “{printable(document.policy.name)}”"
    applied = next((attempt for attempt in repair.attempts if attempt.is_applied), None)
    is_written = applied is not None or document.provenance.written is not None
    is_without_target = not is_written and lacks_target(document)
    if repair.before.verdict == "PASS":
        yield f"PASS: {name} meets {policy} as it is. No repair is needed, and no model was written."
    elif applied is not None and NEW_MODEL not in applied.remedies:
        yield f"PASS: The repaired model meets {policy} (the original {name} does not)."
    elif document.provenance.written is not None:
        new = printable(document.provenance.written.name)
        yield f"PASS: The new tree in {new} meets {policy} (no change of {name} does)."
    elif is_without_target:
        yield f"{document.verdict}: Do not publish {name}: it cannot be repaired with this table."
        for words in table_statements(document):
            yield from wrapped(words, "  ")
    elif applied is not None:
        yield f"PASS: A new tree meets {policy} (no change of {name} does)."
    else:
        yield f"{document.verdict}: Do not publish {name}: no change was found that meets {policy}."
    if document.redacted_below is None:
        yield "  [Confidential: keep this output with the table.]"
    else:
        yield from wrapped(f"[{document.confidential}]", "  ")
    if repair.before.verdict != "PASS" and not is_without_target:
        if applied is not None:
            yield from wrapped(f"The change ({applied.name}): {applied.title}.", "  ")
            yield from _change(document, repair, applied)
        yield from _tried(repair)
    yield from step_lines(steps)


def _change(document: Document, repair: Repair, applied: Attempt) -> Iterator[str]:
    """Yield a table of the model before and after the change: its verdict, its use, and the checks that failed."""
    rows = [
        ("", "before", "after"),
        ("verdict", repair.before.verdict, document.verdict),
        ("leaves", f"{repair.before.leaves:,}", f"{applied.leaves:,}"),
    ]
    if tells_accuracy(repair):
        rows.append(
            ("training accuracy", applied.accuracy_before.text, applied.accuracy_after.text)
        )
    if applied.utility_before is not None and applied.utility_after is not None:
        name = f"{applied.utility_name}, cross-validated"
        rows.append((name, applied.utility_before.text, applied.utility_after.text))
    if applied.loss_before is not None and applied.loss_after is not None:
        rows.append(("loss on held-out records", applied.loss_before.text, applied.loss_after.text))
    rows.append(("predictions changed", "", applied.predictions_changed_text))
    compared = {each.plain: each for each in repair.compared}
    failed = [finding for finding in document.findings if finding.clause in repair.before.failing]
    for finding in failed[:MOST_ROWS]:
        if finding.plain in compared:
            pair = compared[finding.plain]
            before = measured_text(pair.before, finding.unit, finding.limit)
            after = measured_text(pair.after, finding.unit, finding.limit)
            rows.append((check_words(finding), before, after))
    rows = [(printable(name), printable(before), printable(after)) for name, before, after in rows]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    yield ""
    for name, before, after in rows:
        yield f"  {name:{widths[0]}}  {before:>{widths[1]}}  {after:>{widths[2]}}".rstrip()
    if repair.search_cut and any(" to " in before for _, before, _ in rows):
        yield from wrapped(repair.search_cut, "  ")


def _curve(repair: Repair) -> Iterator[str]:
    """Yield utility against privacy in one sentence: what no other change beats, and which of it is chosen."""
    curve = curve_of(repair)
    line = curve.line
    if not any(point.number for point in line):
        return
    if len(line) > MOST_POINTS:
        best = next((point for point in line if point.is_chosen), None)
        first = repair.attempts[0].name
        best = best or next((point for point in line if point.name == first), line[0])
        shown = [best]
    else:
        shown = line
    given = [point for point in curve.points if not point.number and point not in shown]
    shown = [*given, *shown]
    told = [
        (
            f"{printable(p.name)}: {p.text}, privacy score "
            f"{p.privacy_text}{' (chosen)' if p.is_chosen else ''}"
        )
        for p in shown
    ]
    more = f". Shown is one of {len(line)} points of the curve" if len(line) > MOST_POINTS else ""
    yield from wrapped(
        f"{capital(_noun(curve.label))} and privacy score of each change (a score of 100 % or more means that every "
        f"required check passes){more}:"
    )
    for words in told:
        yield from wrapped(words, "  ", "    ")
    for each in repair.attempts:
        if each.is_applied and each.utility_after is not None and each.utility_after.low is None:
            name = each.utility_name
            yield from wrapped(
                f"The chosen change has no {name}, because its leaves contain only a class."
            )


def _noun(label: str) -> str:
    """Return a label as it stands in a sentence: ``cross-validated accuracy`` for ``accuracy, cross-validated``."""
    name, _, how = label.partition(", ")
    return f"{how} {name}".strip()


def _tried(repair: Repair) -> Iterator[str]:
    """Yield how many changes were audited; without one that passes, the nearest and what it still fails."""
    yield ""
    audited = [attempt for attempt in repair.attempts if not attempt.not_audited]
    passing = sum(attempt.verdict == "PASS" for attempt in audited)
    are = "passes" if passing == 1 else "pass"
    changes = counted(len(audited), "change", "changes")
    yield f"Tried {changes}: {passing} {are} ({VERBOSE} shows each)."
    yield from _curve(repair)
    if passing:
        return
    yield from few_lines(wrapped(f"- {repair.message}", "  ", "    "), MOST_MESSAGE_LINES)
    for line in repair.refusals[: MOST_REASONS - 1]:
        yield from few_lines(wrapped(f"- {line}", "  ", "    "))
    if not audited:
        return
    for line in repair.advice[:2]:
        yield from wrapped(f"- {line}", "  ", "    ")
