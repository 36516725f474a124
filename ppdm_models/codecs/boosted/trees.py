"""What the files of boosted trees have in common: columns of numbers, notes on all trees, and how trees are changed."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from treewarden.ppdm_models.codecs.common.json import Steps, as_list, refused
from treewarden.ppdm_models.errors import OutputError
from treewarden.ppdm_models.tree.cuts import Numbers, Wholes
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.node_table import NodeTable
from treewarden.ppdm_models.tree.tree import Node, Tree


def numbers(value: object, source: str, steps: Steps) -> Numbers:
    """Return a list of numbers; NaN and infinite ones are let through.

    Raises:
        TreeFormatError: it is no list, or holds something else.
    """
    items: list[Any] = as_list(value, source, steps)
    if set(map(type, items)) <= {float, int}:
        try:
            return np.asarray(array("d", items), dtype=np.float64)
        except OverflowError:
            pass
    raise refused(source, steps, "holds something that is no number")


def plain_numbers(items: list[Any]) -> Numbers | None:
    """Return finite numbers as a column, NaN where one is None; None where something else is among them.

    The items are those of JSON, and none is NaN.
    """
    kinds = set(map(type, items))
    if not kinds <= {float, int, type(None)}:
        return None
    if type(None) in kinds:
        items = [math.nan if item is None else item for item in items]
    try:
        found = np.asarray(array("d", items), dtype=np.float64)
    except OverflowError:
        return None
    return None if np.isinf(found).any() else found


def taken(nodes: Sequence[Mapping[str, object]], **defaults: object) -> list[list[Any]]:
    """Return what stands under each key, or its default, as one column per key."""
    if not nodes:
        return [[] for _ in defaults]
    try:  # one pass in the common case, in which all keys are there
        return list(map(list, zip(*map(itemgetter(*defaults), nodes), strict=True)))
    except KeyError:
        return [[node.get(key, other) for node in nodes] for key, other in defaults.items()]


def wholes(value: object, source: str, steps: Steps) -> Wholes:
    """Return a list of whole numbers; true and false count as 1 and 0.

    Raises:
        TreeFormatError: it is no list, or holds something else.
    """
    items: list[Any] = as_list(value, source, steps)
    try:
        return np.asarray(array("q", items), dtype=np.int64)
    except (TypeError, OverflowError) as error:
        raise refused(source, steps, "holds something that is no whole number") from error


def differing_roots(trees: Iterable[Tree]) -> bool:
    """Whether trees that count people start from different numbers of them: each saw a sample."""
    return len({_records_of_root(tree) for tree in trees if tree.has_people}) > 1


def _records_of_root(tree: Tree) -> float | None:
    if not isinstance(tree.nodes, NodeTable):
        return tree.root.records
    column = tree.nodes.records  # looked up here, no node is made
    return None if column is None or np.isnan(column[0]) else float(column[0])


def gathered_notes(trees: Iterable[Tree]) -> tuple[str, ...]:
    """Return the first note of the trees, and how many more have one."""
    found = [note for tree in trees for note in tree.notes[:1]]
    more = f" (and {len(found) - 1} more trees)" if len(found) > 1 else ""
    return (found[0] + more,) if found else ()


def paired(before: Model, after: Model, *, drops: bool = False) -> list[tuple[Tree, Tree]]:
    """Return the trees of a file beside those they are changed to; the last ones may be gone where the file ``drops``.

    Raises:
        OutputError: there are more or fewer of them, or a tree has nodes that the file's has not.
    """
    if not isinstance(before, Ensemble) or not isinstance(after, Ensemble):
        raise OutputError(before.source, "its trees can only be changed as an ensemble")
    pairs = list(zip(before.trees, after.trees, strict=False))
    fewer = len(after.members) if drops else len(before.members)
    kept = [one.name for one in before.members[: len(after.members)]]
    is_other = drops and kept != [one.name for one in after.members]
    if is_other or len(pairs) < max(fewer, len(after.members)):
        raise OutputError(before.source, "a tree was added or taken away, which is not written")
    for old, new in pairs:
        names = {node.name for node in old.nodes}
        strange = [node.name for node in new.nodes if node.name not in names]
        if strange:
            raise OutputError(before.source, f"the node {strange[0]!r} is none of the file's")
    return pairs


def leaf_score(tree: Tree, node: Node) -> float:
    """Return the number of a leaf.

    Raises:
        OutputError: it has none.
    """
    if not isinstance(node.score, int | float):
        raise OutputError(tree.source, f"the leaf {node.name!r} has no number to predict")
    return float(node.score)
