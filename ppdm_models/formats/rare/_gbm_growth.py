"""How a gbm file says its leaves were made: values, counts, what they were shrunk by, and whether trees saw samples."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.tree.ensemble import EnsembleGrowth, GrownTree, stated_fact
from treewarden.ppdm_models.tree.tree import Tree

SETTINGS = ("shrinkage", "bag.fraction")
EMPTY = (
    "a leaf for missing values, which nobody had, holds another value than the average beside it"
)
ROUNDED = 1e-9
"""How far the average of two leaves may be from the one that the file writes, relative to the largest of them."""


def single(part: JsonPart) -> JsonPart:
    """Return what jsonlite writes as a list of one unless it is told otherwise."""
    return part.at(0) if part.is_list else part


def growth_of(root: JsonPart, loss: str, trees: Sequence[Tree]) -> EnsembleGrowth:
    """Return what tells how the leaves of a model with one output were made."""
    said = {name: part for name in SETTINGS if (part := root.get(name)) is not None}
    refused = "" if all(map(_has_plain_empty_leaves, trees)) else EMPTY
    return EnsembleGrowth(
        "gbm",
        loss,
        1,
        tuple((index,) for index in range(len(trees))),
        tuple(map(_grown, trees)),
        (single(root["initF"]).number(),),
        facts={name: stated_fact(single(part).number()) for name, part in said.items()},
        refused=refused,
    )


def _grown(tree: Tree) -> GrownTree:
    """Return the numbers of a tree; a leaf without records has none, as its value follows from the others."""
    has_value = [node.is_leaf and bool(node.records) for node in tree.nodes]
    values = [
        node.score if here and isinstance(node.score, float) else math.nan
        for node, here in zip(tree.nodes, has_value, strict=True)
    ]
    counts = [math.nan if node.records is None else node.records for node in tree.nodes]
    return GrownTree(np.array(values), counts=np.array(counts))


def _has_plain_empty_leaves(tree: Tree) -> bool:
    """Return whether each leaf for missing values that nobody had holds the average of what its split says."""
    means: dict[int, tuple[float, float]] = {}
    for node in reversed(tree.nodes):
        if node.is_leaf:
            value = node.score if isinstance(node.score, float) else math.nan
            means[node.index] = (node.records or 0.0, value)
            continue
        parts = [means[child] for child in node.children]
        total = sum(records for records, _ in parts)
        mean = sum(records * value for records, value in parts) / total if total else 0.0
        means[node.index] = (total, mean)
        room = ROUNDED * max(abs(value) for _, value in parts)
        if any(not records and abs(value - mean) > room for records, value in parts):
            return False
    return True
