"""How well the model predicts those it was trained on: ROC AUC, accuracy, sensitivity, specificity and the like.

A row for each: ``metric,value`` with names such as ``AUC``, ``accuracy``, ``sensitivity``, ``specificity``, ``PPV``,
``NPV`` and ``Brier score``, of the second class; the scores are the class shares of the tree's leaves. Other metrics,
and limits of confidence, are named and left open.
"""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    DescriptiveEntry,
    Entry,
    OpenEntry,
    Performance,
    PerformanceEntry,
    PredictedCondition,
    PrintedNumber,
    Statistic,
    TableColumns,
    is_withheld,
    read_measured,
)
from treewarden.ppdm_models.outputs.readers import OutputReader
from treewarden.ppdm_models.outputs.sheets import CellSheet, bare

METRICS = frozenset({"metric", "measure", "performance", ".metric", "score"})
VALUES = frozenset({"value", "estimate", ".estimate", "training", "train"})
WHOLE = {
    "auc": Performance.AUC,
    "auroc": Performance.AUC,
    "rocauc": Performance.AUC,
    "cstatistic": Performance.AUC,
    "areaundertheroccurve": Performance.AUC,
    "accuracy": Performance.ACCURACY,
    "brier": Performance.BRIER,
    "brierscore": Performance.BRIER,
    "brierclass": Performance.BRIER,
}
OF_CLASS = {
    "sensitivity": 1,
    "recall": 1,
    "sens": 1,
    "tpr": 1,
    "specificity": 0,
    "spec": 0,
    "tnr": 0,
}
OF_LABEL = {
    "ppv": 1,
    "precision": 1,
    "positivepredictivevalue": 1,
    "npv": 0,
    "negativepredictivevalue": 0,
}
NO_ROW = "this metric is not a linear constraint on people"
NO_LIMITS = "confidence limits of a metric are not linear constraints over people"
TWO_CLASSES = 2


class PerformanceTable(OutputReader):
    """Reads one value for each metric."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        names = [bare(name).casefold() for name in sheet.header]
        return names[0] in METRICS and bool(set(names[1:]) & VALUES)

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        if len(columns.classes) != TWO_CLASSES:
            problem = "metrics are read of models with two classes only; remove the output"
            raise OutputsError(sheet.source, problem)
        return tuple(_entries(sheet, columns))


def _entries(sheet: CellSheet, columns: TableColumns) -> Iterator[Entry]:
    names = [bare(name).casefold() for name in sheet.header]
    value = next(number for number, name in enumerate(names) if number and name in VALUES)
    for row, cells in enumerate(sheet.rows[1:], start=1):
        text = cells[value].strip()
        if is_withheld(text):
            continue
        printed = read_measured(text)
        if printed is None:
            raise OutputsError(sheet.where(row, value), f"{text!r} is not a number; correct it")
        yield _entry(sheet.where(row), bare(cells[0]), printed, columns)
    for number, name in enumerate(names):
        more = sum(not is_withheld(cells[number]) for cells in sheet.rows[1:])
        if number not in (0, value) and name != ".estimator" and more:
            words = f"column {sheet.header[number]!r} with {more} numbers"
            yield OpenEntry(sheet.where(0), words, NO_LIMITS)


def _entry(where: str, name: str, printed: PrintedNumber, columns: TableColumns) -> Entry:
    key, words = "".join(filter(str.isalnum, name.casefold())), f"{name}: {printed.text}"
    positive = columns.classes[1]
    if key in WHOLE:
        return PerformanceEntry(where, words, WHOLE[key], printed, positive)
    if key in OF_CLASS:
        group = columns.classes[OF_CLASS[key]]
        numbers = {Statistic.SHARE: printed}
        return DescriptiveEntry(where, words, group, numbers, (PredictedCondition(group),))
    if key in OF_LABEL:
        group = columns.classes[OF_LABEL[key]]
        numbers = {Statistic.CLASS_SHARE: printed}
        return DescriptiveEntry(where, words, group, numbers, (PredictedCondition(group),))
    return OpenEntry(where, words, NO_ROW)


READER = PerformanceTable()
