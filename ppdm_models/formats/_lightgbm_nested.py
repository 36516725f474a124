"""One tree of a LightGBM dump: nested nodes, each with its split or its leaf."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from itertools import pairwise

import numpy as np

from ppdm_models import limits
from ppdm_models.formats._boosted_forest import LEAF, Forest, Shape, Splits
from ppdm_models.formats._boosted_trees import leaf_score, plain_numbers
from ppdm_models.formats._json import Steps, as_number, as_object, as_whole, refused
from ppdm_models.formats._lightgbm_splits import MISSING, Asked
from ppdm_models.node_table import Numbers
from ppdm_models.tree import Tree

COMPARED = ("<=", "no_greater")
LISTED = ("==", "is")
COUNTS = ("leaf_count", "leaf_weight", "internal_count", "internal_weight")

Raw = dict[str, object]
Flat = list[tuple[Raw, int, bool]]
"""The nodes parents first: what the file says, the parent's place (-1: none), and whether it is the right child."""


def flat_of(root: object, source: str, steps: Steps) -> Flat:
    """Return the nodes of a tree, each parent before its children, left before right.

    Raises:
        TreeFormatError: a node is neither a leaf nor a split, or they nest too deep.
    """
    found: Flat = []
    pending = [(as_object(root, source, steps), LEAF, False, 0)]
    while pending:
        node, parent, is_right, depth = pending.pop()
        here = len(found)
        if depth > limits.DEPTH or here >= limits.NODES:
            raise refused(source, steps, f"nodes nest more than {limits.DEPTH} deep")
        found.append((node, parent, is_right))
        if "leaf_value" in node:
            continue
        for side in ("right_child", "left_child"):
            child = node.get(side)
            if not isinstance(child, dict):
                child = as_object(child, source, [*steps, _name(node), side])
            pending.append((child, here, side == "right_child", depth + 1))
    return found


def shape_of(flats: Sequence[Flat]) -> Shape:
    """Return the order of the nodes of all trees: the one they stand in."""
    sizes = [len(flat) for flat in flats]
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    parents = np.array([parent for flat in flats for _, parent, _ in flat], dtype=np.int64)
    own_start = np.repeat(starts[:-1], sizes)
    rows = np.arange(starts[-1])
    return Shape(
        starts,
        rows,
        rows - own_start,
        np.where(parents < 0, LEAF, parents + own_start),
        np.array([is_right for flat in flats for *_, is_right in flat], dtype=np.bool_),
    )


class Reading:
    """Reads the nodes of all trees, column after column; ``steps`` are the place of the trees.

    Each column is looked at as a whole; where it is not plain, node by node, to read or to refuse it.
    """

    def __init__(self, flats: Sequence[Flat], source: str, steps: Steps) -> None:
        self.shape = shape_of(flats)
        self.nodes = [node for flat in flats for node, *_ in flat]
        self.is_leaf = ["leaf_value" in node for node in self.nodes]
        self.source = source
        self.steps = steps

    def asked(self) -> Asked:
        """Return what the splits ask.

        Raises:
            TreeFormatError: one is not understood.
        """
        rows = [row for row, is_leaf in enumerate(self.is_leaf) if not is_leaf]
        splits = [self.nodes[row] for row in rows]
        kinds, features, lefts, missing = (
            [node.get(key, default) for node in splits]
            for key, default in (
                ("decision_type", None),
                ("split_feature", None),
                ("default_left", False),
                ("missing_type", "None"),
            )
        )
        if not (
            _all(kinds, str, (*COMPARED, *LISTED))
            and _all(missing, str, MISSING)
            and _all(lefts, bool, (True, False))
            and _all(features, int, range(limits.FEATURES))
        ):
            for row, node in zip(rows, splits, strict=True):
                _check(node, self.source, self._at(row))
        codes = {
            place: self._codes(rows[place]) for place, kind in enumerate(kinds) if kind in LISTED
        }
        thresholds = [
            0.0 if kind in LISTED else node.get("threshold")
            for kind, node in zip(kinds, splits, strict=True)
        ]
        return Asked(
            np.array(rows, dtype=np.int64),
            np.array(features, dtype=np.int64),
            self._numbers(thresholds, rows, may_lack=False),
            np.array(lefts, dtype=np.bool_),
            np.array([MISSING.index(str(one)) for one in missing], dtype=np.int64),
            codes,
        )

    def forest(self, splits: Splits) -> Forest:
        """Return the nodes of all trees.

        Raises:
            TreeFormatError: a number is none, or two nodes of a tree have the same name.
        """
        names = list(map(_name, self.nodes))
        for tree, (start, end) in enumerate(pairwise(self.shape.starts.tolist())):
            if len(set(names[start:end])) < end - start:
                raise refused(self.source, [*self.steps, tree], "two nodes have the same index")
        scores = [
            (None if node.get("leaf_coeff") else node["leaf_value"])
            if is_leaf
            else node.get("internal_value")
            for node, is_leaf in zip(self.nodes, self.is_leaf, strict=True)
        ]
        return Forest(
            self.shape,
            names,
            splits,
            scores=self._numbers(scores, range(len(scores)), may_lack=True),
            records=self._counts(names),
        )

    def linear(self) -> list[bool]:
        """Return for each tree whether leaves of it hold linear models."""
        linear = [
            is_leaf and bool(node.get("leaf_coeff"))
            for node, is_leaf in zip(self.nodes, self.is_leaf, strict=True)
        ]
        return [any(linear[start:end]) for start, end in pairwise(self.shape.starts.tolist())]

    def _counts(self, names: Sequence[str]) -> Numbers:
        counts = [
            node.get("leaf_count" if is_leaf else "internal_count")
            for node, is_leaf in zip(self.nodes, self.is_leaf, strict=True)
        ]
        if (
            not set(map(type, counts)) <= {int, type(None)}
            or (max((count for count in counts if isinstance(count, int)), default=0) >= 2**53)
            or min((count for count in counts if isinstance(count, int)), default=0) < 0
        ):
            for row, count in enumerate(counts):
                if count is not None:
                    as_whole(count, self.source, [*self._at(row), names[row]])
        found = np.array(counts, dtype=np.float64)
        return np.where(found == 0, np.nan, found)

    def _numbers(self, values: list[object], rows: Sequence[int], *, may_lack: bool) -> Numbers:
        found = plain_numbers(values)
        if found is not None and (may_lack or not np.isnan(found).any()):
            return found
        read = [
            math.nan if may_lack and value is None else as_number(value, self.source, self._at(row))
            for value, row in zip(values, rows, strict=True)
        ]
        return np.array(read, dtype=np.float64)

    def _codes(self, row: int) -> tuple[int, ...]:
        node = self.nodes[row]
        threshold = str(node.get("threshold"))
        parts = threshold.split("||")
        if not all(part.isascii() and part.isdecimal() and len(part) < 11 for part in parts):
            raise refused(
                self.source,
                [*self._at(row), _name(node)],
                f"its threshold {threshold[:40]!r} lists no codes",
            )
        return tuple(map(int, parts))

    def _at(self, row: int) -> Steps:
        return [*self.steps, self.shape.tree(row)]


def changed_in(flat: Flat, new: Tree) -> None:
    """Make the nested nodes those of the changed tree, in place.

    A withheld node loses its count, and its weight, which is the count where second derivatives are 1; a pruned one
    becomes a leaf with the first leaf's index.
    """
    after = {node.name: node for node in new.nodes}
    first_leaf = _first_leaves(flat)
    for here, (node, *_) in enumerate(flat):
        then = after.get(_name(node))
        if then is None:
            continue
        if then.records is None:
            for name in COUNTS:
                node.pop(name, None)
        if "leaf_value" in node:
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
    found = [_index(node, "leaf_index") if "leaf_value" in node else 2**31 for node, *_ in flat]
    for here in range(len(flat) - 1, 0, -1):
        parent = flat[here][1]
        found[parent] = min(found[parent], found[here])
    return found


def _index(node: dict[str, object], key: str) -> int:
    index = node.get(key, 0)
    return index if isinstance(index, int) else 0


def _name(node: dict[str, object]) -> str:
    if "leaf_value" in node:
        return f"leaf {node.get('leaf_index', 0)}"
    return f"split {node.get('split_index', 0)}"


def _all(values: Sequence[object], kind: type, choices: Container[object]) -> bool:
    """Whether all values are of one type, and among the choices."""
    return set(map(type, values)) <= {kind} and all(value in choices for value in set(values))


def _check(node: Raw, source: str, steps: Steps) -> None:
    """Refuse a split that is not understood."""
    kind, missing = node.get("decision_type"), node.get("missing_type", "None")
    at = [*steps, _name(node)]
    if missing not in MISSING or not isinstance(node.get("default_left", False), bool):
        raise refused(source, at, f"its missing values go by {missing!r}; have {MISSING}")
    feature = node.get("split_feature")
    if not (type(feature) is int and 0 <= feature < limits.FEATURES):
        raise refused(source, at, "its split_feature is no number of a feature")
    if kind not in (*COMPARED, *LISTED):
        raise refused(source, at, f"the unknown decision type {str(kind)[:40]!r}")
