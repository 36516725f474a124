"""One tree of an XGBoost model file: parallel arrays, one entry per node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ppdm_models.formats._boosted_trees import (
    LEAF,
    Columns,
    Comparisons,
    Numbers,
    numbers,
    preorder,
    wholes,
)
from ppdm_models.formats._json import Steps, as_object, pointer, refused
from ppdm_models.predicate import Always, CategoryTest, Predicate
from ppdm_models.tree import Feature

CATEGORICAL = 1
"""The split type of a test on a set of categories."""


@dataclass(frozen=True, slots=True)
class Arrays:
    """The columns of one tree, checked to be of one length; ``order`` are the nodes that the root reaches."""

    order: list[int]
    left: list[int]
    right: list[int]
    features: list[int]
    thresholds: list[float]
    default_left: list[int]
    categories: Mapping[int, tuple[int, ...]]
    hessians: Numbers | None
    vectors: Numbers | None


def arrays_of(raw: object, source: str, steps: Steps) -> Arrays:
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
            raise refused(source, [*steps, name], f"{len(column)} entries for {size} nodes")
    if hessians is not None and not (np.isfinite(hessians) & (hessians >= 0)).all():
        raise refused(source, [*steps, "sum_hessian"], "holds a number that is no sum of weights")
    vectors = _vectors(tree, left, columns["right_children"], source, steps)
    lefts, rights = left.tolist(), columns["right_children"].tolist()
    with np.errstate(over="ignore"):
        thresholds = conditions.astype(np.float32).astype(np.float64)
    found = Arrays(
        order=preorder(lefts, rights, f"{source}: {pointer(steps)}"),
        left=lefts,
        right=rights,
        features=columns["split_indices"].tolist(),
        thresholds=thresholds.tolist(),
        default_left=columns["default_left"].tolist(),
        categories=_categories(tree, split_type.tolist(), lefts, source, steps),
        hessians=hessians,
        vectors=vectors,
    )
    plain = [
        node for node in found.order if node not in found.categories
    ]  # the number beside a set of categories is junk
    if vectors is not None:
        plain = [node for node in plain if lefts[node] != LEAF]
    if not np.isfinite(thresholds[plain]).all():
        raise refused(source, [*steps, "split_conditions"], "holds a number that is not finite")
    return found


def columns_of(
    arrays: Arrays,
    features: tuple[Feature, ...],
    counts: Numbers | None,
    comparisons: Comparisons,
    source: str,
    steps: Steps,
) -> Columns:
    """Return the nodes of a tree; listed categories go right, numbers below the threshold go left.

    Raises:
        TreeFormatError: a test names a feature that is not there.
    """
    order, lefts, rights = arrays.order, arrays.left, arrays.right
    size = len(order)
    position = dict(zip(order, range(size), strict=True))
    vectors = arrays.vectors
    leaves = [node if lefts[node] == LEAF else None for node in order]
    parents: list[int | None] = [None] * size
    tests: list[Predicate] = [Always()] * size
    children: list[tuple[int, ...]] = [()] * size
    defaults: list[int | None] = [None] * size
    for here, node in enumerate(order):
        low = lefts[node]
        if low == LEAF:
            continue
        index = arrays.features[node]
        if not 0 <= index < len(features):
            raise refused(source, steps, f"node {node} tests feature {index}, which is not there")
        left, right = position[low], position[rights[node]]
        parents[left] = parents[right] = here
        children[here] = (left, right)
        defaults[here] = left if arrays.default_left[node] else right
        listed = arrays.categories.get(node)
        if listed is None:
            threshold = arrays.thresholds[node]
            tests[left], tests[right] = comparisons.below(features[index].name, threshold)
        else:
            tests[left], tests[right] = _sets(features[index], listed)
    return Columns(
        names=list(map(str, order)),
        parents=parents,
        children=children,
        tests=tests,
        scores=[
            None if leaf is None or vectors is not None else arrays.thresholds[leaf]
            for leaf in leaves
        ],
        records=[None] * size
        if counts is None
        else [count or None for count in counts[order].tolist()],
        outputs=[
            None if leaf is None or vectors is None else tuple(vectors[leaf].tolist())
            for leaf in leaves
        ],
        defaults=defaults,
    )


def _sets(feature: Feature, listed: tuple[int, ...]) -> tuple[CategoryTest, CategoryTest]:
    """Return what goes left, any category but the listed ones, and what goes right."""
    values = tuple(
        feature.values[code] if code < len(feature.values) else str(code) for code in listed
    )
    return CategoryTest(feature.name, values, negated=True), CategoryTest(feature.name, values)


def _categories(
    tree: dict[str, object], split_type: list[int], left: list[int], source: str, steps: Steps
) -> dict[int, tuple[int, ...]]:
    """Return the codes that each test on categories lists."""
    wanted = {
        node for node, kind in enumerate(split_type) if kind == CATEGORICAL and left[node] != LEAF
    }
    if not wanted:
        return {}
    nodes, starts, sizes, codes = (
        wholes(tree.get(name), source, [*steps, name]).tolist()
        for name in ("categories_nodes", "categories_segments", "categories_sizes", "categories")
    )
    if not len(nodes) == len(starts) == len(sizes):
        raise refused(source, [*steps, "categories_nodes"], "differs in length from its segments")
    found = {
        node: tuple(codes[start : start + size])
        for node, start, size in zip(nodes, starts, sizes, strict=True)
        if start >= 0 and size > 0 and start + size <= len(codes)
    }
    bare = sorted(wanted - found.keys())
    if bare or min((min(listed) for listed in found.values()), default=0) < 0:
        at = f"node {bare[0]}" if bare else "a node"
        raise refused(source, [*steps, "categories"], f"{at} lists no categories of its own")
    return {node: listed for node, listed in found.items() if node in wanted}


def _vectors(
    tree: dict[str, object], left: Numbers | object, right: object, source: str, steps: Steps
) -> Numbers | None:
    """Return the vector that each leaf publishes, by node; None where leaves hold one number."""
    parameters = as_object(tree.get("tree_param", {}), source, [*steps, "tree_param"])
    said = str(parameters.get("size_leaf_vector", "1"))
    width = int(said) if said.isdecimal() and len(said) < 6 else 0
    if width <= 1:
        return None
    lefts, rights = np.asarray(left), np.asarray(right)
    name = "leaf_weights" if "leaf_weights" in tree else "base_weights"
    flat = numbers(tree.get(name), source, [*steps, name])
    rows = rights if name == "leaf_weights" else np.arange(len(lefts))
    leaves = lefts == LEAF
    if len(flat) % width or not np.isfinite(flat).all():
        raise refused(source, [*steps, name], f"is no table of {width} finite numbers per leaf")
    table = flat.reshape(-1, width)
    if leaves.any() and not (rows[leaves].min() >= 0 and rows[leaves].max() < len(table)):
        raise refused(source, [*steps, name], "has no numbers for one of the leaves")
    vectors = np.zeros((len(lefts), width))
    vectors[leaves] = table[rows[leaves]].astype(np.float32)
    return vectors
