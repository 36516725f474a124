"""Whether the numbers of a tree add up: classes to records, children to their parent."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence

import numpy as np

from treewarden.ppdm_models.semantics.partition import problems
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.plain_splits import class_numbers_of, codes_of, where_of
from treewarden.ppdm_models.tree.tree import (
    Missing,
    Node,
    NoTrueChild,
    Tree,
    count_of,
)

RELATIVE_TOLERANCE = 1e-6


def is_whole(number: float) -> bool:
    """Whether a published number can count people."""
    return number == number // 1 or abs(number - round(number)) <= RELATIVE_TOLERANCE * max(
        1.0, abs(number)
    )


def known_sum(node: Node) -> float | None:
    """Return the sum of the class counts that a node lists; None where it lists none."""
    counts = node.class_counts or ()
    listed = counts if None not in counts else [count for count in counts if count is not None]
    return math.fsum(listed) if listed else None  # type: ignore[arg-type]  # mypy does not see that None is out


def contradictions(tree: Tree) -> Iterator[str]:
    """Yield, in document order, what keeps the numbers of a tree from adding up."""
    stays = records_may_stay(tree)
    for node in tree.nodes:
        total, known = node.records, known_sum(node)
        if total is not None and known is not None:
            is_partial = None in (node.class_counts or ())
            if known - total > _slack(total) or (not is_partial and total - known > _slack(total)):
                yield f"{tree.where(node)}: " + _clash("", total, "classes sum to", known)
        if total is not None and node.bands is not None:
            yield from _bands_against(tree, node, total)
        if node.children:
            yield from _against_children(tree, node, node.index in stays)


def _bands_against(tree: Tree, node: Node, total: float) -> Iterator[str]:
    bands = [(0.0, total) if band is None else band for band in node.bands or ()]
    low, high = (math.fsum(band[end] for band in bands) for end in (0, 1))
    if low - total > _slack(total) or total - high > _slack(total):
        said = f"its bands allow {number_text(low)} to {number_text(high)}"
        yield f"{tree.where(node)}: holds {number_text(total)} records, but {said}"


def _against_children(tree: Tree, node: Node, may_stay: bool) -> Iterator[str]:
    children = [tree.nodes[child] for child in node.children]
    if _plainly_adds_up(node, children):
        return
    said = _gap(count_of(node), [count_of(child) for child in children], may_stay)
    if said:
        yield f"{tree.where(node)}: " + _clash("", said[0], "children hold", said[1])
    for position, own in enumerate(node.class_counts or ()):
        theirs = [
            None if child.class_counts is None else child.class_counts[position]
            for child in children
        ]
        said = _gap(own, theirs, may_stay)
        if said:
            yield f"{tree.where(node)}: " + _clash(
                f" of {tree.classes[position]!r}", said[0], "children hold", said[1]
            )


def _plainly_adds_up(node: Node, children: Sequence[Node]) -> bool:
    """Recognise the common case fast: everything is listed, whole, and sums to the very number."""
    columns = [child.class_counts for child in children]
    sizes = [child.records for child in children]
    if None in sizes or any(column is None or None in column for column in columns):
        return False
    sums = tuple(map(sum, zip(*columns, strict=True)))
    return sums == node.class_counts and sum(sizes) == node.records  # type: ignore[arg-type]  # None is out


def _clash(what: str, first: float, whose: str, second: float) -> str:
    return f"holds {number_text(first)} records{what}, but its {whose} {number_text(second)}"


def _gap(
    first: float | None, theirs: Sequence[float | None], may_stay: bool
) -> tuple[float, float] | None:
    known = math.fsum(count for count in theirs if count is not None)
    if first is None:
        return None
    complete = None not in theirs
    if known - first > _slack(first) or (
        complete and not may_stay and first - known > _slack(first)
    ):
        return first, known
    return None


def records_may_stay(tree: Tree) -> frozenset[int]:
    """Return the inner nodes that may hold more records than their children: where a path can end there."""
    if tree.missing is Missing.LAST_PREDICTION:
        return frozenset(node.index for node in tree.nodes)
    if tree.no_true_child is NoTrueChild.LAST_PREDICTION:
        return frozenset(problem.node for problem in problems(tree) if problem.kind != "overlap")
    return frozenset()


def _slack(number: float) -> float:
    return RELATIVE_TOLERANCE * max(1.0, abs(number))


# Whether the label of each node is the most frequent of the classes that the file itself counts there.

MOST_CLASSES = 6
"""So many numbers are shown of a node."""


def label_misfit(tree: Tree) -> str | None:
    """Return the first label that the node's own class numbers contradict; None where all fit, or need not.

    A label need not be the most frequent class where the file says why: classes that were weighed, noise, priors.
    """
    learner = tree.learner
    if not tree.classes or tree.label_reason or learner.weighs_classes or learner.saw_noise:
        return None
    labels, numbers = codes_of(tree), class_numbers_of(tree)
    told = np.flatnonzero((labels >= 0) & ~np.isnan(numbers).any(axis=1))
    if not len(told):
        return None
    own = numbers[told, labels[told]]
    most = numbers[told].max(axis=1)
    wrong = told[most > own + RELATIVE_TOLERANCE * np.maximum(1.0, most)]
    if not len(wrong):
        return None
    first = int(wrong[0])
    shown = ", ".join(map(number_text, numbers[first, :MOST_CLASSES].tolist()))
    label = tree.classes[int(labels[first])]
    return f"{where_of(tree, first)}: its label {label!r} is not the most frequent of its classes ({shown})"


# Which program wrote a model file, where the file says so.

HEAD_BYTES = 65_536
"""How far into a file its maker is looked for."""

_APPLICATION = re.compile(rb"<(?:\w+:)?Application\b([^<>]{0,500})>")
_ATTRIBUTE = re.compile(rb"""\b(name|version)\s*=\s*["']([^"'<>]{1,80})["']""")


def producer(data: bytes) -> str | None:
    """Return the name and version of the program, as PMML's Header gives them; None where nothing is said.

    The formats of one program name it themselves (``xgboost_model``).
    """
    found = _APPLICATION.search(data[:HEAD_BYTES])
    if found is None:
        return None
    said = {key: value.decode("utf-8", "replace") for key, value in _ATTRIBUTE.findall(found[1])}
    parts = (said[key].strip() for key in (b"name", b"version") if key in said)
    return " ".join(part for part in parts if part) or None
