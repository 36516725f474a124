"""What a terminal shows of a repair: whether a change passes, what it changes, and what to type next."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from treewarden.reports.document.document import Attempt, Document, Repair
from treewarden.reports.document.words import counted, listed, printable, wrapped
from treewarden.reports.figures.curve import curve_of, tells_accuracy
from treewarden.terminal.outputs import NextStep, step_lines
from treewarden.terminal.summary import VERBOSE, check_words, few_lines, measured_text

MOST_ROWS = 7
MOST_REASONS = 3
MOST_POINTS = 6


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
    if repair.before.verdict == "PASS":
        yield f"PASS: {name} meets {policy} as it is. No repair is needed, and no model was written."
    elif applied is not None:
        yield f"PASS: A repair of {name} meets {policy}."
    else:
        yield f"{document.verdict}: Do not publish {name}: no change was found that meets {policy}."
    if document.redacted_below is None:
        yield "  [Confidential: keep this output with the table.]"
    else:
        yield from wrapped(f"[{document.confidential}]", "  ")
    if repair.before.verdict != "PASS":
        if applied is not None:
            yield from wrapped(
                f"The change ({applied.name}): {applied.title.removeprefix('prune: ')}.", "  "
            )
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


def _curve(repair: Repair) -> Iterator[str]:
    """Yield utility against privacy in one sentence: what no other change beats, and which of it is chosen."""
    curve = curve_of(repair)
    line = curve.line
    if not any(point.number for point in line):
        return
    shown = [point for point in line if point.is_chosen] if len(line) > MOST_POINTS else line
    told = [
        f"{printable(p.name)} {p.text} / {p.privacy_text}{' (chosen)' if p.is_chosen else ''}"
        for p in shown
    ]
    more = f" ({len(line)} on the curve)" if len(shown) < len(line) else ""
    yield from wrapped(
        f"Utility ({curve.label}) / privacy margin of the tightest check{more}: {', '.join(told)}."
    )
    for each in repair.attempts:
        if each.is_applied and each.utility_after is not None and each.utility_after.low is None:
            name = each.utility_name
            yield from wrapped(
                f"The chosen change has no {name}, because its leaves contain only a class."
            )


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
    for line in (repair.message, *repair.refusals)[:MOST_REASONS]:
        yield from few_lines(wrapped(f"- {line}", "  ", "    "))
    if not audited:
        return
    nearest = audited[0]
    lacks = listed(list(nearest.failing)) or nearest.problem
    yield from wrapped(f"Nearest: {nearest.name} ({nearest.title}). Still failed: {lacks}.")
    for line in repair.advice[:2]:
        yield from wrapped(f"- {line}", "  ", "    ")
