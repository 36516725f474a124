"""One tree of an XGBoost dump: nested nodes that name their children by id."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from ppdm_models import limits
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats._boosted_trees import Columns, Comparisons
from ppdm_models.formats._json import Steps, as_list, as_number, as_object, as_whole, refused
from ppdm_models.predicate import Always, CategoryTest, MissingTest, Predicate
from ppdm_models.tree import Quality, Tree


@dataclass(slots=True)
class Dump:
    """What is gathered over all trees of a file: its tests, and how each feature is compared."""

    source: str
    comparisons: Comparisons = field(default_factory=Comparisons)
    numeric: dict[str, bool] = field(default_factory=dict)
    indicators: int = 0


_Pending = tuple[dict[str, object], int | None, Predicate, bool, int]
"""A node whose turn has not come: what the file says, its parent's place, its test, whether missing values come
here, and its depth."""


def columns_of(raw: object, dump: Dump, steps: Steps) -> Columns:
    """Return the nodes of a tree.

    Raises:
        TreeFormatError: a node is neither a leaf nor a split, or names children that are not its own.
    """
    found = Columns()
    stack: list[_Pending] = [(as_object(raw, dump.source, steps), None, Always(), False, 0)]
    below: list[list[int]] = []
    seen: set[int] = set()
    while stack:
        node, parent, test, is_default, depth = stack.pop()
        here = len(below)
        name = node.get("nodeid")
        if type(name) is not int or name in seen:
            raise refused(dump.source, _at(steps, node), "its nodeid is no number of its own")
        if here >= limits.NODES or depth > limits.DEPTH:
            raise refused(dump.source, steps, f"nodes nest more than {limits.DEPTH} deep")
        seen.add(name)
        found.names.append(str(name))
        found.parents.append(parent)
        found.tests.append(test)
        found.defaults.append(None)
        below.append([])
        if parent is not None:
            below[parent].append(here)
            if is_default:
                found.defaults[parent] = here
        cover = node.get("cover")
        found.records.append(None if cover is None else _cover(cover, dump, steps, node))
        if "leaf" in node:
            _leaf(node, found, dump, steps)
            continue
        found.scores.append(None)
        found.outputs.append(None)
        first, second = _split(node, here, depth + 1, dump, steps)
        stack.append(second)
        stack.append(first)
    found.children = list(map(tuple, below))
    return found


def _at(steps: Steps, node: dict[str, object]) -> list[str | int]:
    return [*steps, f"node {str(node.get('nodeid'))[:40]}"]


def tree_of(raw: object, dump: Dump, index: int) -> tuple[Columns, Quality]:
    """Return the nodes of a tree, and what its covers are: never people, for the objective is not said."""
    columns = columns_of(raw, dump, [index])
    covered = any(cover is not None for cover in columns.records)
    return columns, Quality.HESSIAN if covered else Quality.ABSENT


def whole_covers(trees: list[Tree]) -> bool:
    """Whether there are covers and all are whole numbers, as where each record's second derivative is 1."""
    covers = [node.records for tree in trees for node in tree.nodes]
    known = [cover for cover in covers if cover is not None]
    return bool(known) and all(cover == round(cover) for cover in known)


def _cover(value: object, dump: Dump, steps: Steps, node: dict[str, object]) -> float | None:
    cover = value if type(value) is float else as_number(value, dump.source, _at(steps, node))
    if not 0 <= cover < math.inf:
        raise refused(dump.source, _at(steps, node), "its cover is no sum of weights")
    return cover or None


def _leaf(node: dict[str, object], found: Columns, dump: Dump, steps: Steps) -> None:
    if "children" in node:
        raise refused(dump.source, _at(steps, node), "is a leaf and has children")
    value = node["leaf"]
    if isinstance(value, list):
        found.scores.append(None)
        found.outputs.append(tuple(_single(item, dump, steps, node) for item in value))
        return
    found.scores.append(_single(value, dump, steps, node))
    found.outputs.append(None)


def _single(value: object, dump: Dump, steps: Steps, node: dict[str, object]) -> float:
    """Return a number as the learner has it, in 32 bits."""
    number = value if type(value) is float else as_number(value, dump.source, _at(steps, node))
    if not -3.4e38 < number < 3.4e38:
        raise refused(dump.source, _at(steps, node), "a number of it is out of range")
    return float(np.float32(number))


def _split(
    node: dict[str, object], here: int, depth: int, dump: Dump, steps: Steps
) -> tuple[_Pending, _Pending]:
    """Return the two children, in the file's order, with the tests that lead to them."""
    children = node.get("children")
    if not isinstance(children, list) or len(children) != 2:
        raise refused(dump.source, _at(steps, node), "has neither a leaf's number nor two children")
    first, second = children
    if not isinstance(first, dict) or not isinstance(second, dict):
        raise refused(dump.source, _at(steps, node), "has a child that is no object")
    yes, no = node.get("yes"), node.get("no")
    ids = [first.get("nodeid"), second.get("nodeid")]
    missing = node.get("missing", no)  # an indicator names none: what is missing is "no"
    if yes == no or ids not in ([yes, no], [no, yes]) or missing not in ids:
        raise refused(
            dump.source, _at(steps, node), "yes, no and missing do not name its two children"
        )
    to_yes, to_no = _tests(node, dump, steps)
    if ids[0] != yes:
        to_yes, to_no = to_no, to_yes
    return (
        (first, here, to_yes, ids[0] == missing, depth),
        (second, here, to_no, ids[1] == missing, depth),
    )


def _tests(node: dict[str, object], dump: Dump, steps: Steps) -> tuple[Predicate, Predicate]:
    """Return what leads to ``yes``, and to ``no``."""
    feature = node.get("split")
    if not isinstance(feature, str):
        feature = f"f{as_whole(feature, dump.source, _at(steps, node), high=limits.FEATURES)}"
    condition = node.get("split_condition")
    is_set = isinstance(condition, list)
    if dump.numeric.setdefault(feature, not is_set) == is_set:
        raise refused(
            dump.source, _at(steps, node), f"{feature!r} is compared and looked up in sets"
        )
    if len(dump.numeric) > limits.FEATURES:
        raise TreeFormatError(dump.source, f"more than {limits.FEATURES:,} features")
    if isinstance(condition, list):
        at = _at(steps, node)
        listed = tuple(str(as_whole(code, dump.source, at, high=2**24)) for code in condition)
        if not listed:
            raise refused(dump.source, at, "lists no categories")
        return CategoryTest(feature, listed), CategoryTest(feature, listed, negated=True)
    if condition is None and "missing" not in node:
        dump.indicators += 1
        return MissingTest(feature, negated=True), MissingTest(feature)
    return dump.comparisons.below(feature, _single(condition, dump, steps, node))


def pruned(raw: object, new: Tree) -> object:
    """Return the nested nodes with covers gone where withheld, and what was pruned replaced by a leaf.

    The nodes are changed in place.
    """
    after = {node.name: node for node in new.nodes}
    stack = [raw]
    while stack:
        node = stack.pop()
        assert isinstance(node, dict)
        then = after[str(node["nodeid"])]
        if then.records is None:
            node.pop("cover", None)
        if not then.is_leaf:
            children = as_list(node["children"], new.source, [])
            stack.extend(children)
            continue
        kept = {name: node[name] for name in ("nodeid", "leaf", "cover") if name in node}
        cover = {"cover": kept.pop("cover")} if "cover" in kept else {}
        if "leaf" not in kept or then.outputs is None:
            kept["leaf"] = _number_of(kept.get("leaf"), then.score)
        node.clear()
        node.update(kept, **cover)
    return raw


def _number_of(said: object, score: object) -> object:
    """Return the number as the file has it where it is still the same."""
    if isinstance(said, int | float) and float(np.float32(said)) == score:
        return said
    return score
