"""One tree of a LightGBM dump: nested nodes, each with its split or its leaf."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ppdm_models import limits
from ppdm_models.formats._boosted_trees import Columns, leaf_score
from ppdm_models.formats._json import Steps, as_number, as_object, as_whole, refused
from ppdm_models.formats._lightgbm_model import Split, Tests
from ppdm_models.predicate import Always
from ppdm_models.tree import Tree

COMPARED = ("<=", "no_greater")
LISTED = ("==", "is")
MISSING = ("None", "Zero", "NaN")
COUNTS = ("leaf_count", "leaf_weight", "internal_count", "internal_weight")

Flat = list[tuple[dict[str, object], int | None, bool, Split | None]]
"""The nodes parents first: what the file says, the parent's place, whether it is the left child, and its split."""


def flat_of(root: object, source: str, steps: Steps) -> Flat:
    """Return the nodes of a tree, each parent before its children, left before right.

    Raises:
        TreeFormatError: a node is neither a leaf nor a split, or they nest too deep.
    """
    found: Flat = []
    pending: list[tuple[dict[str, object], int | None, bool, int]] = [
        (as_object(root, source, steps), None, False, 0)
    ]
    while pending:
        node, parent, is_left, depth = pending.pop()
        here = len(found)
        if depth > limits.DEPTH or here >= limits.NODES:
            raise refused(source, steps, f"nodes nest more than {limits.DEPTH} deep")
        if "leaf_value" in node:
            found.append((node, parent, is_left, None))
            continue
        found.append((node, parent, is_left, _split(node, source, steps)))
        for side in ("right_child", "left_child"):
            child = node.get(side)
            if not isinstance(child, dict):
                child = as_object(child, source, [*steps, _name(node), side])
            pending.append((child, here, side == "left_child", depth + 1))
    return found


def columns_of(flat: Flat, tests: Tests, source: str, steps: Steps) -> tuple[Columns, bool]:
    """Return the nodes with their tests, and whether leaves hold linear models.

    Raises:
        TreeFormatError: a number is none, or two nodes have the same name.
    """
    found = Columns()
    children: list[list[int]] = [[] for _ in flat]
    branches = [None if split is None else tests.branches(split) for *_, split in flat]
    is_linear = False
    for here, (node, parent, is_left, split) in enumerate(flat):
        found.names.append(_name(node))
        found.parents.append(parent)
        found.outputs.append(None)
        found.defaults.append(None)
        if parent is None:
            found.tests.append(Always())
        else:
            said = branches[parent]
            assert said is not None
            found.tests.append(said[0] if is_left else said[1])
            children[parent].append(here)
            if said[2] == is_left:
                found.defaults[parent] = here
        if split is None:
            linear = bool(node.get("leaf_coeff"))
            is_linear |= linear
            value, count = node["leaf_value"], node.get("leaf_count")
        else:
            linear = False
            value, count = node.get("internal_value"), node.get("internal_count")
        found.scores.append(None if linear or value is None else _finite(value, source, steps))
        if count is not None and not (type(count) is int and 0 <= count < 2**53):
            as_whole(count, source, [*steps, found.names[-1]])
        found.records.append(float(count) or None if isinstance(count, int) else None)
    if len(set(found.names)) < len(found.names):
        raise refused(source, steps, "two nodes have the same index")
    found.children = list(map(tuple, children))
    return found, is_linear


def changed_in(flat: Flat, new: Tree) -> None:
    """Make the nested nodes those of the changed tree, in place.

    A withheld node loses its count, and its weight, which is the count where second derivatives are 1; a pruned one
    becomes a leaf with the first leaf's index.
    """
    after = {node.name: node for node in new.nodes}
    first_leaf = _first_leaves(flat)
    for here, (node, _, _, split) in enumerate(flat):
        then = after.get(_name(node))
        if then is None:
            continue
        if then.records is None:
            for name in COUNTS:
                node.pop(name, None)
        if split is None:
            if then.score is not None and then.score != node["leaf_value"]:
                node["leaf_value"] = leaf_score(new, then)
        elif then.is_leaf:
            kept: dict[str, object] = {
                "leaf_index": first_leaf[here],
                "leaf_value": leaf_score(new, then),
            }
            for ours, theirs in (("weight", "leaf_weight"), ("count", "leaf_count")):
                if f"internal_{ours}" in node:
                    kept[theirs] = node[f"internal_{ours}"]
            node.clear()
            node.update(kept)


def _first_leaves(flat: Flat) -> list[int]:
    """Return the smallest index of a leaf below each node."""
    found = [_index(node, "leaf_index") if split is None else 2**31 for node, _, _, split in flat]
    for here in range(len(flat) - 1, 0, -1):
        parent = flat[here][1]
        assert parent is not None
        found[parent] = min(found[parent], found[here])
    return found


def _index(node: dict[str, object], key: str) -> int:
    index = node.get(key, 0)
    return index if isinstance(index, int) else 0


def _name(node: dict[str, object]) -> str:
    if "leaf_value" in node:
        return f"leaf {node.get('leaf_index', 0)}"
    return f"split {node.get('split_index', 0)}"


def _split(node: dict[str, object], source: str, steps: Steps) -> Split:
    kind, missing = node.get("decision_type"), node.get("missing_type", "None")
    default_left = node.get("default_left", False)
    if missing not in MISSING or not isinstance(default_left, bool):
        raise refused(
            source, [*steps, _name(node)], f"its missing values go by {missing!r}; have {MISSING}"
        )
    feature = node.get("split_feature")
    if not (type(feature) is int and 0 <= feature < limits.FEATURES):
        raise refused(source, [*steps, _name(node)], "its split_feature is no number of a feature")
    threshold = node.get("threshold")
    if kind in LISTED:
        codes = _codes(str(threshold).split("||"))
        if not codes:
            raise refused(
                source,
                [*steps, _name(node)],
                f"its threshold {str(threshold)[:40]!r} lists no codes",
            )
        return Split(feature, 0.0, codes, False, str(missing))
    if kind not in COMPARED:
        raise refused(
            source, [*steps, _name(node)], f"the unknown decision type {str(kind)[:40]!r}"
        )
    number = _finite(threshold, source, steps)
    return Split(feature, number, None, default_left, str(missing))


def _codes(parts: Sequence[str]) -> tuple[int, ...]:
    if not all(part.isascii() and part.isdecimal() and len(part) < 11 for part in parts):
        return ()
    return tuple(map(int, parts))


def _finite(value: object, source: str, steps: Steps) -> float:
    if type(value) is float and math.isfinite(value):
        return value
    return as_number(value, source, steps)
