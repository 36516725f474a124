"""What the numbers at the leaves of an ONNX tree operator mean: classes or targets, and how they are combined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import unique
from treewarden.ppdm_models.codecs.onnx.file import Operator
from treewarden.ppdm_models.codecs.onnx.table import Table, floats, ints, texts
from treewarden.ppdm_models.tree.ensemble import Combination, Link

POST = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
LINKS = {"NONE": Link.IDENTITY, "SOFTMAX": Link.SOFTMAX, "LOGISTIC": Link.LOGISTIC}
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the numbers of the leaves add to: outputs, their start, and what becomes of them.

    ``lone`` says that a classifier of two classes publishes one number per leaf; ``positive`` that none of its leaf
    numbers is negative, so that it is the share of the second class.
    """

    classes: tuple[str, ...]
    width: int
    base: tuple[float, ...]
    link: Link
    combination: Combination
    lone: bool = False
    positive: bool = False


def read_meaning(operator: Operator, table: Table) -> Meaning:
    """Return what the leaves' numbers mean, as onnxruntime takes them.

    Raises:
        TreeFormatError: a setting is unknown, or does not fit the leaves.
    """
    post, aggregate = _choice(operator, "post_transform", POST, "NONE"), "SUM"
    if operator.kind == "TreeEnsembleClassifier":
        classes = _classes(operator)
        width = len(classes)
    else:
        classes = ()
        width = _whole(operator, "n_targets", 1)
        aggregate = _choice(operator, "aggregate_function", AGGREGATES, "SUM")
    used = {output for leaf in table.leaves.values() for output, _ in leaf}
    if any(not 0 <= output < width for output in used):
        raise operator.refused(f"a leaf for output {max(used)}; there are {width}")
    if width * len(table.leaves) > limits.CLASS_NUMBERS:
        raise operator.refused(f"{width:,} outputs at {len(table.leaves):,} leaves are too many")
    lone = len(classes) == 2 and len(used) == 1
    positive = lone and all(weight >= 0 for leaf in table.leaves.values() for _, weight in leaf)
    base = _base(operator, width, lone)
    combination = _combination(operator, aggregate, base)
    link = LINKS.get(post, Link.UNKNOWN)
    if positive and post != "PROBIT" or (lone and post == "SOFTMAX"):
        link = Link.IDENTITY  # onnxruntime takes such a number as it is
    if width == 1 and post != "NONE":
        link = Link.UNKNOWN
    return Meaning(classes, width, base, link, combination, lone, positive)


def _combination(operator: Operator, aggregate: str, base: tuple[float, ...]) -> Combination:
    if aggregate in ("SUM", "AVERAGE"):
        return Combination.WEIGHTED_SUM if aggregate == "AVERAGE" else Combination.SUM
    if aggregate == "MAX" and not any(base):
        return Combination.MAX
    raise operator.refused(f"combines its trees by {aggregate}, which is not supported")


def _choice(operator: Operator, name: str, choices: Sequence[str], default: str) -> str:
    """Return a setting that is a word, or in version 5 the number of the word."""
    said = operator.attributes.get(name, default)
    if isinstance(said, int) and 0 <= said < len(choices):
        return choices[said]
    if said not in choices:
        raise operator.refused(f"unknown {name} {said!r}; have {', '.join(choices)}")
    return str(said)


def _whole(operator: Operator, name: str, default: int) -> int:
    said = operator.attributes.get(name, default)
    if not isinstance(said, int) or not 0 < said <= limits.CLASSES:
        raise operator.refused(f"{name} is {said!r}, not a number from 1 to {limits.CLASSES:,}")
    return said


def _classes(operator: Operator) -> tuple[str, ...]:
    if operator.attributes.get("classlabels_strings"):
        labels = texts(operator, "classlabels_strings")
    else:
        labels = [str(number) for number in ints(operator, "classlabels_int64s")]
    if len(labels) < 2:
        raise operator.refused("a classifier with less than two classes")
    return unique(labels, "classes", operator.source, limits.CLASSES)


def _base(operator: Operator, width: int, lone: bool) -> tuple[float, ...]:
    base = tuple(floats(operator, "base_values", optional=True))
    if lone and base:
        start = base[-1]
        return (-start, start)
    if base and len(base) != width:
        raise operator.refused(f"{len(base)} base_values for {width} outputs")
    return base
