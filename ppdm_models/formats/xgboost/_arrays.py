"""One tree of an XGBoost model file: parallel arrays, one entry per node."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from treewarden.ppdm_models.formats.common.boosted import (
    LEAF,
    BoostedColumns,
    BoostedSplits,
    TreeShape,
    numbers,
    plain_numbers,
    shape_of,
    wholes,
)
from treewarden.ppdm_models.formats.common.json import Steps, as_object, pointer, refused
from treewarden.ppdm_models.tree.nodes import Flags, Numbers, Wholes
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Feature

CATEGORICAL = 1
"""The split type of a test on a set of categories."""


@dataclass(frozen=True, slots=True)
class XgboostNodes:
    """The columns of one tree, checked to be of one length; ``weights`` are what nodes say by themselves."""

    left: Wholes
    right: Wholes
    features: Wholes
    conditions: Numbers
    default_left: Wholes
    categories: Mapping[int, tuple[int, ...]]
    hessians: Numbers | None
    vectors: Numbers | None
    weights: Numbers | None = None
    gains: Numbers | None = None


@dataclass(frozen=True, slots=True)
class JoinedColumns:
    """The columns of all trees, one after another; ``categories`` by the rows of the file."""

    shape: TreeShape
    features: Wholes
    thresholds: Numbers
    default_left: Flags
    categories: Mapping[int, tuple[int, ...]]
    each: Sequence[XgboostNodes]

    @property
    def listed(self) -> Flags:
        """Whether each node looks its feature up in a set of categories."""
        found = np.zeros(len(self.features), dtype=np.bool_)
        found[list(self.categories)] = True
        return found[self.shape.rows]

    @property
    def is_vector(self) -> Flags:
        """Whether each node is in a tree whose leaves hold many numbers."""
        wide = [xgboost_nodes.vectors is not None for xgboost_nodes in self.each]
        return np.repeat(wide, np.diff(self.shape.starts))


def arrays_of(raw: object, source: str, steps: Steps) -> XgboostNodes:
    """Return the columns of a tree.

    Raises:
        TreeFormatError: a column is missing or of another length, or the nodes are no tree.
    """
    tree = as_object(raw, source, steps)
    left = wholes(tree.get("left_children"), source, [*steps, "left_children"])
    size = len(left)
    columns = {
        name: wholes(tree.get(name), source, [*steps, name])
        for name in ("right_children", "split_indices", "default_left")
    }
    split_type = wholes(tree.get("split_type", [0] * size), source, [*steps, "split_type"])
    conditions = numbers(tree.get("split_conditions"), source, [*steps, "split_conditions"])
    hessians = None
    if "sum_hessian" in tree:
        hessians = numbers(tree["sum_hessian"], source, [*steps, "sum_hessian"])
    for name, column in {
        **columns,
        "split_type": split_type,
        "split_conditions": conditions,
        **({} if hessians is None else {"sum_hessian": hessians}),
    }.items():
        if len(column) != size:
            raise refused(
                source,
                [*steps, name],
                f"must have one value for each of the {size} nodes, not {len(column)}",
            )
    if hessians is not None and not (
        0 <= hessians.min(initial=0) <= hessians.max(initial=0) < math.inf
    ):
        raise refused(
            source, [*steps, "sum_hessian"], "contains a number that is not a sum of weights"
        )
    return XgboostNodes(
        left=left,
        right=columns["right_children"],
        features=columns["split_indices"],
        conditions=conditions,
        default_left=columns["default_left"],
        categories=_categories(tree, split_type, left, source, steps),
        hessians=hessians,
        vectors=_vectors(tree, left, columns["right_children"], source, steps),
        weights=_beside(tree, "base_weights", size),
        gains=_beside(tree, "loss_changes", size),
    )


def _beside(tree: dict[str, object], name: str, size: int) -> Numbers | None:
    """Return numbers that no prediction needs; None where they are not there, or none."""
    said = tree.get(name)
    found = plain_numbers(said) if isinstance(said, list) else None
    return found if found is not None and len(found) == size else None


def joined(tree_nodes: Sequence[XgboostNodes], source: str, steps: Steps) -> JoinedColumns:
    """Return the trees as one.

    Raises:
        TreeFormatError: the nodes of one are no tree, or a number of it is not finite.
    """
    starts = np.concatenate(
        ([0], np.cumsum([len(xgboost_nodes.left) for xgboost_nodes in tree_nodes]))
    )
    shape = shape_of(
        np.concatenate([xgboost_nodes.left for xgboost_nodes in tree_nodes]),
        np.concatenate([xgboost_nodes.right for xgboost_nodes in tree_nodes]),
        starts,
        lambda tree: f"{source}: {pointer([*steps, tree])}",
    )
    categories = {
        start + node: codes
        for start, xgboost_nodes in zip(starts.tolist(), tree_nodes, strict=False)
        for node, codes in xgboost_nodes.categories.items()
    }
    joined_columns = JoinedColumns(
        shape,
        np.concatenate([xgboost_nodes.features for xgboost_nodes in tree_nodes]),
        _in_32_bits(np.concatenate([xgboost_nodes.conditions for xgboost_nodes in tree_nodes])),
        np.concatenate([xgboost_nodes.default_left for xgboost_nodes in tree_nodes]) != 0,
        categories,
        tree_nodes,
    )
    is_read = ~joined_columns.listed  # the number beside a set of categories is junk
    is_read &= shape.inner | ~joined_columns.is_vector  # and so is that of a leaf with many
    odd = np.flatnonzero(is_read & ~np.isfinite(joined_columns.thresholds[shape.rows]))
    if len(odd):
        at = [*steps, shape.tree(odd[0]), "split_conditions"]
        raise refused(source, at, "contains a number that is not finite")
    return joined_columns


def _in_32_bits(numbers: Numbers) -> Numbers:
    with np.errstate(over="ignore"):
        return numbers.astype(np.float32).astype(np.float64)


def forest_of(
    columns: JoinedColumns,
    features: tuple[Feature, ...],
    counts: Sequence[Numbers | None],
    source: str,
    steps: Steps,
) -> BoostedColumns:
    """Return the nodes of all trees; listed categories go right, numbers below the threshold go left.

    Raises:
        TreeFormatError: a test names a feature that is not there.
    """
    shape, each = columns.shape, columns.each
    asked = columns.features[shape.rows]
    odd = np.flatnonzero(shape.inner & ((asked < 0) | (asked >= len(features))))
    if len(odd):
        first = int(odd[0])
        said = f"node {shape.numbers[first]} tests feature {asked[first]}, which does not exist"
        raise refused(source, [*steps, shape.tree(first)], said)
    splits = BoostedSplits(
        columns.features,
        columns.thresholds,
        closed=np.zeros(len(columns.thresholds), dtype=np.bool_),
        first_if_missing=columns.default_left,
        others={
            row: _sets(features[columns.features[row]], columns.categories[row])
            for row in shape.rows[columns.listed & shape.inner].tolist()
        },
    )
    records = np.concatenate(
        [
            np.full(len(xgboost_nodes.left), np.nan) if sums is None else sums
            for xgboost_nodes, sums in zip(each, counts, strict=True)
        ]
    )
    is_leaf_score = ~shape.inner & ~columns.is_vector
    return BoostedColumns(
        shape,
        list(map(str, shape.numbers.tolist())),
        splits,
        scores=np.where(is_leaf_score, columns.thresholds[shape.rows], np.nan),
        records=np.where(records == 0, np.nan, records)[shape.rows],
        outputs=[
            None
            if xgboost_nodes.vectors is None
            else xgboost_nodes.vectors[shape.numbers[start:end]]
            for xgboost_nodes, (start, end) in zip(
                each, pairwise(shape.starts.tolist()), strict=True
            )
        ],
    )


def _sets(feature: Feature, listed: tuple[int, ...]) -> tuple[CategoryTest, CategoryTest]:
    """Return what goes left, any category but the listed ones, and what goes right."""
    values = tuple(
        feature.values[code] if code < len(feature.values) else str(code) for code in listed
    )
    return CategoryTest(feature.name, values, negated=True), CategoryTest(feature.name, values)


def _categories(
    tree: dict[str, object], split_type: Wholes, left: Wholes, source: str, steps: Steps
) -> dict[int, tuple[int, ...]]:
    """Return the codes that each test on categories lists."""
    wanted = set(np.flatnonzero((split_type == CATEGORICAL) & (left != LEAF)).tolist())
    if not wanted:
        return {}
    nodes, starts, sizes, codes = (
        wholes(tree.get(name), source, [*steps, name]).tolist()
        for name in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    )
    if not len(nodes) == len(starts) == len(sizes):
        raise refused(
            source, [*steps, "categories_nodes"], "does not have the length of its segments"
        )
    found = {
        node: tuple(codes[start : start + size])
        for node, start, size in zip(nodes, starts, sizes, strict=True)
        if start >= 0 and size > 0 and start + size <= len(codes)
    }
    bare = sorted(wanted - found.keys())
    if bare or min((min(listed) for listed in found.values()), default=0) < 0:
        at = f"node {bare[0]}" if bare else "a node"
        raise refused(source, [*steps, "categories"], f"{at} lists no categories")
    return {node: listed for node, listed in found.items() if node in wanted}


def _vectors(
    tree: dict[str, object], left: Wholes, right: Wholes, source: str, steps: Steps
) -> Numbers | None:
    """Return the vector that each leaf publishes, by node, NaN elsewhere; None where leaves hold one number."""
    parameters = as_object(tree.get("tree_param", {}), source, [*steps, "tree_param"])
    said = str(parameters.get("size_leaf_vector", "1"))
    width = int(said) if said.isdecimal() and len(said) < 6 else 0
    if width <= 1:
        return None
    name = "leaf_weights" if "leaf_weights" in tree else "base_weights"
    flat = numbers(tree.get(name), source, [*steps, name])
    rows = right if name == "leaf_weights" else np.arange(len(left))
    leaves = left == LEAF
    if len(flat) % width or not np.isfinite(flat).all():
        raise refused(source, [*steps, name], f"is not a table of {width} finite numbers per leaf")
    table = flat.reshape(-1, width)
    if leaves.any() and not (rows[leaves].min() >= 0 and rows[leaves].max() < len(table)):
        raise refused(source, [*steps, name], "has no numbers for one of the leaves")
    vectors = np.full((len(left), width), np.nan)
    vectors[leaves] = table[rows[leaves]].astype(np.float32)
    return vectors
