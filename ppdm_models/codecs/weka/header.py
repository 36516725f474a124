"""What Weka prints around a tree: which learner, the classes of the confusion matrix, and what else they tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.tree.leaks import Leak, LeakKind

TREES = {
    "J48 pruned tree": ": ",
    "J48 unpruned tree": ": ",
    "REPTree": " : ",
    "RandomTree": " : ",
    "Id3": ": ",
}
"""The line above a tree, and what stands between the test and the label of a leaf."""

OTHERS = {
    "Alternating decision tree:": "not a tree of constant leaves: an alternating decision tree adds up scores",
    "Logistic model tree": "not a tree of constant leaves: a logistic model tree, whose leaves hold regressions",
    "PART decision list": "no tree in it: a list of rules (PART)",
    "M5 pruned model tree:": "not a tree of constant leaves: a model tree, whose leaves hold regressions",
    "M5 pruned regression tree:": "an M5 regression tree",
    "Random forest of": "no tree in it: a random forest, whose trees Weka does not print",
}
MATRIX_ROW = re.compile(r"\s*((?:\d+(?:\.\d+)?\s+){1,1000})\|\s+\w+ = (.*)")
ON_TRAINING = ("=== Error on training data ===", "=== Evaluation on training set ===")


@dataclass(frozen=True, slots=True)
class Matrix:
    """The confusion matrix: the classes, and how many records each has; the line it starts in."""

    line: int
    classes: tuple[str, ...]
    totals: tuple[float, ...]
    of_training: bool


def matrix_of(lines: Sequence[str]) -> Matrix | None:
    """Return the first confusion matrix that is printed."""
    of_training = False
    for place, line in enumerate(lines):
        if line.strip() in ON_TRAINING:
            of_training = True
        elif line.startswith("===") and "Stratified" in line:
            of_training = False
        if line.strip() != "=== Confusion Matrix ===":
            continue
        rows = [MATRIX_ROW.fullmatch(row) for row in lines[place + 1 : place + 1005]]
        found = [row for row in rows if row]
        classes = tuple(row[2].strip() for row in found)
        if not classes or len(set(classes)) < len(classes):
            return None
        totals = tuple(sum(map(float, row[1].split())) for row in found)
        return Matrix(place + 1, classes, totals, of_training)
    return None


def is_regression(lines: Sequence[str]) -> bool:
    """Whether the evaluation is one of numbers."""
    return any(line.startswith("Correlation coefficient") for line in lines)


def header_leaks(lines: Sequence[str]) -> Iterator[Leak]:
    """Yield what stands around the tree, in the order of the lines."""
    for place, line in enumerate(lines, start=1):
        name, _, value = line.partition(":")
        value = value.strip()
        if name == "Relation" and value:
            what = "the name of the data set, with every filter that was applied to it"
            yield Leak(LeakKind.IDENTIFIER, f"line {place}", what)
        elif name == "Instances" and value.isdigit() and len(value) < 16:
            what = "how many records there are: with the other leaves, the size of the last one follows"
            yield Leak(LeakKind.DIFFERENCING, f"line {place}", what, records=int(value))
        elif name in ("Options", "Scheme") and value:
            what = "all options of the learner: training can be repeated on guessed records"
            yield Leak(LeakKind.REPLAY, f"line {place}", what)
    matrix = matrix_of(lines)
    if matrix is not None and matrix.of_training:
        yield Leak(
            LeakKind.TARGET_STATISTICS,
            f"line {matrix.line}",
            "the confusion matrix on the training data gives the total of each class",
            records=int(min((total for total in matrix.totals if total), default=0)),
        )
