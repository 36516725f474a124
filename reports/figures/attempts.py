"""The table of everything a repair tried, as lines of text: the best first, what each costs, what it still lacks."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.reports.document.document import Attempt, Repair
from treewarden.reports.document.words import printable, wrapped

HEADINGS = ("name", "verdict", "tightest check", "accuracy", "changed", "leaves", "withheld")
LOSS = "loss"
CROSS_VALIDATED = "cross-validated"


def advice_lines(repair: Repair, indent: str = "") -> Iterator[str]:
    """Yield how to grow the model again, as lines of text."""
    if not repair.advice:
        return
    yield ""
    yield f"{indent}To train the model again"
    for each in repair.advice:
        yield from wrapped(f"- {each}", f"{indent}  ")


def attempt_lines(repair: Repair) -> Iterator[str]:
    """Yield the lines: figures in columns, and under each row what the change is; the recommended one has a star."""
    if not repair.attempts:
        return
    first = repair.attempts[0]
    given = ("as given", repair.before.verdict, repair.privacy.text, first.accuracy_before.text)
    has_accuracy = tells_accuracy(repair)
    said = [
        (
            *HEADINGS,
            *([LOSS] if first.loss_before else []),
            *([CROSS_VALIDATED] if first.utility_before else []),
        ),
        (*given, "-", str(repair.before.leaves), "-")
        + ((first.loss_before.text,) if first.loss_before else ())
        + ((first.utility_before.text,) if first.utility_before else ()),
        *(_row(attempt) for attempt in repair.attempts),
    ]
    rows = [
        tuple(
            printable(cell)
            for place, cell in enumerate(row)
            if has_accuracy or place != HEADINGS.index("accuracy")
        )
        for row in said
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    yield ""
    yield "  Tried, best first (* recommended, + chosen)"
    for number, row in enumerate(rows):
        each = repair.attempts[number - 2] if number > 1 else None
        yield f"  {_mark(each)} {_aligned(row, widths)}".rstrip()
        if each is not None:
            yield from wrapped(each.title, "      ")
            lacks = "; ".join([part for part in (", ".join(each.failing), each.problem) if part])
            yield from wrapped(f"failed: {lacks}", "      ") if lacks else ()
            why = each.not_audited
            yield from (
                wrapped(f"not audited{' further' * bool(lacks)}: {why}", "      ") if why else ()
            )


def tells_accuracy(repair: Repair) -> bool:
    """Return whether any attempt says how often it is right: a model of numbers never is, nor is it ever not."""
    return any(
        said.low is not None
        for attempt in repair.attempts
        for said in (attempt.accuracy_before, attempt.accuracy_after)
    )


def _row(each: Attempt) -> tuple[str, ...]:
    figures = (
        each.name,
        each.verdict,
        each.privacy.text,
        each.accuracy_after.text,
        each.predictions_changed_text,
        str(each.leaves),
        each.numbers_withheld_text,
    )
    loss = (each.loss_after.text,) if each.loss_after else ()
    return (*figures, *loss, *((each.utility_after.text,) if each.utility_after else ()))


def _mark(each: Attempt | None) -> str:
    if each is None or not (each.is_recommended or each.is_applied):
        return " "
    return "*" if each.is_recommended else "+"


def _aligned(row: tuple[str, ...], widths: list[int]) -> str:
    words = [said.ljust(width) for said, width in zip(row[:2], widths[:2], strict=True)]
    figures = [said.rjust(width) for said, width in zip(row[2:], widths[2:], strict=True)]
    return "  ".join([*words, *figures])
