"""What Weka prints around a tree: which learner, the classes of the confusion matrix, and what else they tell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.formats.common.printed_trees import amount
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

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
    "PART decision list": "it contains no tree: a list of rules (PART)",
    "M5 pruned model tree:": "not a tree of constant leaves: a model tree, whose leaves hold regressions",
    "M5 pruned regression tree:": "an M5 regression tree",
    "Random forest of": "it contains no tree: a random forest, whose trees Weka does not print",
}
MATRIX_ROW = re.compile(r"\s*((?:\d+(?:\.\d+)?\s+){1,1000})\|\s+\w+ = (.*)")
ON_TRAINING = ("=== Error on training data ===", "=== Evaluation on training set ===")


@dataclass(frozen=True, slots=True)
class ConfusionMatrix:
    """The confusion matrix: the classes, and how many records each has; the line it starts in."""

    line: int
    classes: tuple[str, ...]
    totals: tuple[float, ...]
    of_training: bool


def matrix_of(lines: Sequence[str]) -> ConfusionMatrix | None:
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
        return ConfusionMatrix(place + 1, classes, totals, of_training)
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
            what = "how many records there are: the sizes of the other leaves then give the size of the last one"
            yield Leak(LeakKind.DIFFERENCING, f"line {place}", what, records=int(value))
        elif name in ("Options", "Scheme") and value:
            what = "all options of the learner: an adversary can repeat the training on guessed records"
            yield Leak(LeakKind.REPLAY, f"line {place}", what)
    matrix = matrix_of(lines)
    if matrix is not None and matrix.of_training:
        yield Leak(
            LeakKind.TARGET_STATISTICS,
            f"line {matrix.line}",
            "the confusion matrix on the training data gives the total of each class",
            records=int(min((total for total in matrix.totals if total), default=0)),
        )


# What Weka prints at a leaf: ``label (records/errors)``, and for REPTree ``[records/errors]`` of the pruning set.

NUMBERS = re.compile(
    r"(?s)(.*?) ?\(([\d.eE+-]+)(?:/([\d.eE+-]+))?\)(?: \[([\d.eE+-]+)/([\d.eE+-]+)\])?"
)


@dataclass(frozen=True, slots=True)
class WekaLeaf:
    """A label, and how many training records of how many other classes; None where it is not printed."""

    label: str
    records: float | None = None
    errors: float | None = None


def read_leaf(text: str, where: str) -> WekaLeaf:
    """Return what stands at a leaf.

    Raises:
        TreeFormatError: a number is none, or there are more errors than records.
    """
    found = NUMBERS.fullmatch(text.strip())
    if not found:
        return WekaLeaf(text.strip())
    label, *printed = found.groups()
    numbers = [amount(number, where) if number else 0.0 for number in printed]
    return WekaLeaf(label.strip(), numbers[0] + numbers[2], numbers[1] + numbers[3])


def class_counts(
    leaf: WekaLeaf, classes: tuple[str, ...], label: str | None, *, are_all: bool
) -> tuple[float | None, ...] | None:
    """Return the counts that follow: the label's is records - errors, the rest is known where it can be only one.

    ``are_all`` says that there is no other class: a text without a confusion matrix lists only those it predicts.
    """
    if leaf.records is None or leaf.errors is None or label is None:
        return None
    right = leaf.records - leaf.errors
    right = float(round(right)) if is_whole(right) else right
    others = None if leaf.errors > 0 else 0.0
    if len(classes) == 2 and are_all:
        others = leaf.errors
    return tuple(max(right, 0.0) if name == label else others for name in classes)
