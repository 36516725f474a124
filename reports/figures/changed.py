"""The repair in a compliance report: what was changed so that the model passes, and what that costs."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.reports.document.document import Attempt, Repair
from treewarden.reports.document.parts import Value
from treewarden.reports.document.words import listed
from treewarden.reports.figures.filing import Block, Cell, Section, Table, Words

NOTHING = "–"


def repair_section(repair: Repair) -> Section:
    """Return what was changed, or that nothing was."""
    return Section("repair", "Repair made", tuple(_blocks(repair)))


def _blocks(repair: Repair) -> Iterator[Block]:
    yield Words(repair.message)
    made = next((each for each in repair.attempts if each.is_applied), None)
    if made is None or repair.after is None:
        yield Words("No change was made.")
        return
    if made.title not in repair.message:
        yield Words(f"The change: {made.title}.")
    yield Table(
        "Before and after", ("Item", "Before", "After"), tuple(_rows(repair, made)), (34, 33, 33)
    )
    if made.withheld:
        yield Words(f"Withheld in the file: {listed(list(made.withheld))}.")


def _rows(repair: Repair, made: Attempt) -> Iterator[tuple[Cell, ...]]:
    before, after = repair.before, repair.after
    assert after is not None
    yield (
        Cell("Result"),
        Cell(before.verdict, kind="verdict"),
        Cell(after.verdict, kind="verdict"),
    )
    yield Cell("Clauses not met"), _names(before.failing), _names(after.failing)
    yield Cell("Leaves"), Cell(f"{before.leaves:,}"), Cell(f"{after.leaves:,}")
    yield (
        Cell("Right on the table itself"),
        _value(made.accuracy_before),
        _value(made.accuracy_after),
    )
    if made.loss_before is not None and made.loss_after is not None:
        yield (
            Cell("Expected loss on records held out"),
            _value(made.loss_before),
            _value(made.loss_after),
        )
    yield Cell("Predictions that change"), Cell(NOTHING), Cell(_told(made.predictions_changed_text))
    yield Cell("Numbers withheld"), Cell(NOTHING), Cell(made.numbers_withheld_text)


def _names(clauses: tuple[str, ...]) -> Cell:
    return Cell(listed(list(clauses)) or "none")


def _value(said: Value) -> Cell:
    return Cell(_told(said.text), note=said.reason)


def _told(text: str) -> str:
    return "not told" if text == NOTHING else text
