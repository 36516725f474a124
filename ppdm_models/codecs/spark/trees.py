"""The rows of Spark's node tables, tree by tree, and the trees that they make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.codecs.spark.nodes import are_weighed
from treewarden.ppdm_models.meaning.support import with_support
from treewarden.ppdm_models.tree.tree import Feature, Learner, Missing, Node, Task, Tree


def groups_of(rows: Sequence[Part], is_single: bool, metadata: Part) -> list[list[Part]]:
    """Return the rows of each tree, in the order of the trees' numbers.

    Raises:
        TreeFormatError: there are no rows, or too many trees.
    """
    groups: dict[int, list[Part]] = {}
    for row in rows:
        number, node = (0, row) if is_single else (row["treeID"].whole(), row["nodeData"])
        groups.setdefault(number, []).append(node)
    if not 0 < len(groups) <= limits.TREES:
        raise metadata.refused(f"{len(groups):,} trees; give 1 to {limits.TREES:,}")
    return [group for _, group in sorted(groups.items())]


def used_features(groups: Sequence[Sequence[Part]]) -> int:
    """Return how many features there are at least: up to the last one that a split asks."""
    return 1 + max(
        row["split"]["featureIndex"].whole(low=-1, high=limits.FEATURES - 1)
        for rows in groups
        for row in rows
    )


def tree_of(
    nodes: tuple[Node, ...],
    rows: Sequence[Part],
    features: tuple[Feature, ...],
    predicted: tuple[str, tuple[str, ...]],
    learner: Learner,
    source: str,
) -> Tree:
    """Return a tree of its nodes and their rows; ``predicted`` are the name of the target and its classes."""
    target, classes = predicted
    weighed = are_weighed(rows, classes)
    if weighed:
        nodes = tuple(_as_outputs(node) for node in nodes)
    tree = with_support(
        Tree(
            nodes=nodes,
            features=features,
            target=target,
            classes=classes,
            task=Task.CLASSIFICATION if classes else Task.REGRESSION,
            learner=learner,
            missing=Missing.DEFAULT_CHILD,
            source=source,
        )
    )
    if not weighed:
        return tree
    note = f"{source}: records had weights, so the shares of the classes are of weights, the counts of records"
    unused = ("the weighted class numbers and impurities of its nodes",) if classes else ()
    return replace(tree, notes=(*tree.notes, note), unused=unused)


def _as_outputs(node: Node) -> Node:
    """Return a node whose class numbers are weights: kept for predictions, not as counts."""
    weights = [weight or 0.0 for weight in node.class_counts or ()]
    total = sum(weights)
    if not total:
        return replace(node, class_counts=None)
    return replace(node, class_counts=None, outputs=tuple(weight / total for weight in weights))
