"""What Weka prints at a leaf: ``label (records/errors)``, and for REPTree ``[records/errors]`` of the pruning set."""

from __future__ import annotations

import re
from dataclasses import dataclass

from treewarden.ppdm_models.codecs.common.text_tree import amount
from treewarden.ppdm_models.meaning.consistency import is_whole

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
