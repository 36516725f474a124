"""One tree of a LightGBM dump: nested nodes, each with its split or its leaf."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from itertools import compress, pairwise
from typing import Any

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats.common.boosted import (
    LEAF,
    BoostedColumns,
    BoostedSplits,
    TreeShape,
    leaf_score,
    plain_numbers,
    taken,
)
from treewarden.ppdm_models.formats.common.json import (
    Steps,
    as_number,
    as_object,
    as_whole,
    refused,
)
from treewarden.ppdm_models.formats.lightgbm._model import MISSING, LightgbmSplits
from treewarden.ppdm_models.tree.nodes import Numbers
from treewarden.ppdm_models.tree.tree import Tree

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
    flat: Flat = []
    pending = [(as_object(root, source, steps), LEAF, False, 0)]
    while pending:
        node, parent, is_right, depth = pending.pop()
        here = len(flat)
        if depth > limits.DEPTH or here >= limits.NODES:
            raise refused(
                source,
                steps,
                f"nodes nest more than {limits.DEPTH} deep, which is the limit; "
                "train shallower trees",
            )
        flat.append((node, parent, is_right))
        if "leaf_value" not in node:
            left, right = node.get("left_child"), node.get("right_child")
            if not isinstance(left, dict) or not isinstance(right, dict):
                side, odd = (
                    ("left_child", left) if isinstance(right, dict) else ("right_child", right)
                )
                left = right = as_object(odd, source, [*steps, _name(node), side])
            pending.append((right, here, True, depth + 1))
            pending.append((left, here, False, depth + 1))
    return flat


def shape_of(flats: Sequence[Flat]) -> TreeShape:
    """Return the order of the nodes of all trees: the one they stand in."""
    sizes = [len(flat) for flat in flats]
    starts = np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
    parents = np.array([parent for flat in flats for _, parent, _ in flat], dtype=np.int64)
    own_start = np.repeat(starts[:-1], sizes)
    rows = np.arange(starts[-1])
    return TreeShape(
        starts,
        rows,
        rows - own_start,
        np.where(parents < 0, LEAF, parents + own_start),
        np.array([is_right for flat in flats for *_, is_right in flat], dtype=np.bool_),
    )


class NestedReader:
    """Reads the nodes of all trees, column after column; ``steps`` are the place of the trees.

    Each column is looked at as a whole; where it is not plain, node by node, to read or to refuse it.
    """

    def __init__(self, flats: Sequence[Flat], source: str, steps: Steps) -> None:
        self.source = source
        self.steps = steps
        self.shape = shape_of(flats)
        self.nodes = [node for flat in flats for node, *_ in flat]
        is_inner = self.shape.inner
        self.split_rows = np.flatnonzero(is_inner).tolist()
        self.leaf_rows = np.flatnonzero(~is_inner).tolist()
        self.splits = [self.nodes[row] for row in self.split_rows]
        self.leaves = [self.nodes[row] for row in self.leaf_rows]
        self.is_linear = ["leaf_coeff" in node and bool(node["leaf_coeff"]) for node in self.leaves]

    def read_splits(self) -> LightgbmSplits:
        """Return what the splits ask.

        Raises:
            TreeFormatError: one is not understood.
        """
        rows = self.split_rows
        kinds, features, lefts, missing, thresholds = taken(
            self.splits,
            decision_type=None,
            split_feature=None,
            default_left=False,
            missing_type="None",
            threshold=None,
        )
        if not (
            _all(kinds, str, (*COMPARED, *LISTED))
            and _all(missing, str, MISSING)
            and _all(lefts, bool, (True, False))
            and _all(features, int, range(limits.FEATURES))
        ):
            for row, node in zip(rows, self.splits, strict=True):
                _check(node, self.source, self._at(row))
        places = {one: place for place, one in enumerate(MISSING)}
        codes = {}
        for place, kind in enumerate(kinds):
            if kind in LISTED:
                codes[place], thresholds[place] = self._codes(rows[place]), 0.0
        return LightgbmSplits(
            np.array(rows, dtype=np.int64),
            np.array(features, dtype=np.int64),
            self._numbers(thresholds, rows, may_lack=False),
            np.array(lefts, dtype=np.bool_),
            np.array([places[one] for one in missing], dtype=np.int64),
            codes,
        )

    def forest(self, splits: BoostedSplits) -> BoostedColumns:
        """Return the nodes of all trees.

        Raises:
            TreeFormatError: a number is none, or two nodes of a tree have the same name.
        """
        leaf_ids, values, leaf_counts = taken(
            self.leaves, leaf_index=0, leaf_value=None, leaf_count=None
        )
        split_ids, inner_values, inner_counts = taken(
            self.splits, split_index=0, internal_value=None, internal_count=None
        )
        names = self._merged(
            [f"split {name}" for name in split_ids], [f"leaf {name}" for name in leaf_ids]
        )
        for tree, (start, end) in enumerate(pairwise(self.shape.starts.tolist())):
            if len(set(names[start:end])) < end - start:
                raise refused(self.source, [*self.steps, tree], "two nodes have the same index")
        for place in compress(range(len(values)), self.is_linear):
            values[place] = None
        scores = self._merged(inner_values, values)
        return BoostedColumns(
            self.shape,
            names,
            splits,
            scores=self._numbers(scores, range(len(scores)), may_lack=True),
            records=self._counts(self._merged(inner_counts, leaf_counts), names),
        )

    def weights(self) -> Numbers:
        """Return the sums of second derivatives of the leaves, by node; NaN where there are none."""
        said = [node.get("leaf_weight") for node in self.leaves]
        merged = self._merged([None] * len(self.splits), said)
        return self._numbers(merged, range(len(merged)), may_lack=True)

    def gains(self) -> Numbers:
        """Return what splits gain, by node; NaN where they do not say it."""
        said = [node.get("split_gain") for node in self.splits]
        merged = self._merged(said, [None] * len(self.leaves))
        return self._numbers(merged, range(len(merged)), may_lack=True)

    def linear(self) -> list[bool]:
        """Return for each tree whether leaves of it hold linear models."""
        trees = {self.shape.tree(row) for row in compress(self.leaf_rows, self.is_linear)}
        return [tree in trees for tree in range(len(self.shape.starts) - 1)]

    def _merged(self, of_splits: list[Any], of_leaves: list[Any]) -> list[Any]:
        """Return what is said of the splits and of the leaves in the order of the nodes."""
        found = [None] * len(self.nodes)
        for rows, values in ((self.split_rows, of_splits), (self.leaf_rows, of_leaves)):
            for row, value in zip(rows, values, strict=True):
                found[row] = value
        return found

    def _counts(self, counts: list[object], names: Sequence[str]) -> Numbers:
        found = plain_numbers(counts) if set(map(type, counts)) <= {int, type(None)} else None
        if found is None or (found < 0).any() or (found >= 2**53).any():
            for row, count in enumerate(counts):
                if count is not None:
                    as_whole(count, self.source, [*self._at(row), names[row]])
        assert found is not None
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
        raise refused(
            source, at, f"the treatment of missing values is {missing!r}; known values: {MISSING}"
        )
    feature = node.get("split_feature")
    if not (type(feature) is int and 0 <= feature < limits.FEATURES):
        raise refused(source, at, "its split_feature is not the number of a feature")
    if kind not in (*COMPARED, *LISTED):
        raise refused(source, at, f"the decision type {str(kind)[:40]!r} is unknown")
