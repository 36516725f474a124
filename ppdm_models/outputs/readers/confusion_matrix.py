"""Confusion matrices: for how many people of each class the model predicts each class, of those it was trained on.

Wide, as pandas and scikit-learn write it: ``actual`` (or the target's name) in the first cell, predicted classes
across; with ``predicted`` there, true classes across. Long, as R's caret does: ``Prediction,Reference,Freq``. Total
rows and columns and withheld cells may stand in it. A matrix of other people, such as a test set, is not of the table.
"""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    Condition,
    DescriptiveEntry,
    Entry,
    PredictedCondition,
    Statistic,
    TableColumns,
    is_withheld,
    read_count,
)
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.sheets import CellSheet, bare, class_of, is_all

ACTUAL = frozenset({"actual", "true", "truth", "reference", "observed", "true label", "true class"})
PREDICTED = frozenset(
    {"predicted", "prediction", "pred", "predicted label", "predicted class", ".pred_class"}
)
COUNTS = frozenset({"freq", "n", "count", "frequency"})
OF_OTHERS = "; if the matrix is of other people, such as a test set, leave it out"


class ConfusionMatrixTable(OutputReader):
    """Reads both layouts; a cell that names no class and no total is an error."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        return _is_long(sheet) or _rows_are(sheet, columns) is not None

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        return tuple((_long if _is_long(sheet) else _wide)(sheet, columns))


def _is_long(sheet: CellSheet) -> bool:
    names = {bare(name).casefold() for name in sheet.header}
    return bool(names & ACTUAL and names & PREDICTED and names & COUNTS)


def _rows_are(sheet: CellSheet, columns: TableColumns) -> str | None:
    """Return whether the rows of a wide matrix are of true or of predicted classes; None: it is no matrix."""
    first = " ".join(bare(sheet.header[0]).replace("\\", "/").casefold().split())
    across = [_class_name(name, columns) for name in sheet.header[1:]]
    if len([name for name in across if name]) < 2:
        return None
    row_name = first.partition("/")[0].strip()
    if row_name in ACTUAL or row_name == columns.target.casefold():
        return "actual"
    return "predicted" if row_name in PREDICTED else None


def _class_name(text: str, columns: TableColumns) -> str | None:
    """Return the class that a heading names, with or without a word for what it is of."""
    words = bare(text)
    for word in sorted(ACTUAL | PREDICTED, key=len, reverse=True):
        if words.casefold().startswith(f"{word} "):
            words = words[len(word) :].strip()
            break
    return class_of(words.lstrip("=:").strip(), columns)


def _wide(sheet: CellSheet, columns: TableColumns) -> Iterator[Entry]:
    rows_are = _rows_are(sheet, columns)
    across = [_heading(sheet, name, columns) for name in sheet.header[1:]]
    for row, cells in enumerate(sheet.rows[1:], start=1):
        down = _heading(sheet, cells[0], columns)
        for number, heading in enumerate(across, start=1):
            actual, predicted = (down, heading) if rows_are == "actual" else (heading, down)
            yield from _cell(sheet, row, number, actual, predicted, columns)


def _long(sheet: CellSheet, columns: TableColumns) -> Iterator[Entry]:
    names = [bare(name).casefold() for name in sheet.header]
    place = {
        kind: next(number for number, name in enumerate(names) if name in known)
        for kind, known in (("actual", ACTUAL), ("predicted", PREDICTED), ("count", COUNTS))
    }
    if len(names) > len(place):
        others = [sheet.header[n] for n in range(len(names)) if n not in place.values()]
        problem = f"columns {', '.join(others)}: not of a confusion matrix; remove them"
        raise OutputsError(sheet.where(0), problem)
    for row, cells in enumerate(sheet.rows[1:], start=1):
        actual, predicted = (
            _heading(sheet, cells[place[kind]], columns) for kind in ("actual", "predicted")
        )
        yield from _cell(sheet, row, place["count"], actual, predicted, columns)


def _heading(sheet: CellSheet, text: str, columns: TableColumns) -> str | None:
    """Return the class of a row or column, None where it is of all.

    Raises:
        OutputsError: it names neither.
    """
    found = _class_name(text, columns)
    if found is None and not is_all(text):
        known = ", ".join(columns.classes)
        problem = f"{bare(text)!r} is not a class of the model ({known}); correct it"
        raise OutputsError(sheet.source, problem)
    return found


def _cell(
    sheet: CellSheet,
    row: int,
    number: int,
    actual: str | None,
    predicted: str | None,
    columns: TableColumns,
) -> Iterator[Entry]:
    text = sheet.rows[row][number].strip()
    if is_withheld(text):
        return
    printed = read_count(text)
    if printed is None:
        raise OutputsError(sheet.where(row, number), f"{text!r} is not a count; correct it")
    conditions: tuple[Condition, ...] = ()
    said = "all people" if actual is None else f"{columns.target} = {actual}"
    if predicted is not None:
        conditions = (PredictedCondition(predicted),)
        said += f", predicted {predicted}"
    words = f"count of {said}: {text}"
    yield DescriptiveEntry(
        sheet.where(row, number), words, actual, {Statistic.COUNT: printed}, conditions
    )


READER = ConfusionMatrixTable()
