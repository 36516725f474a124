"""What a tree predicts: the class a node names, and which column of a table that is where the file does not say."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.matching import target_in
from treewarden.ppdm_models.tables.table import Table, near_text
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Node, Tree


def check_target(model: Model, table: Table, sensitive: str) -> None:
    """Check that a sensitive column can be what the model predicts; the table has the model's names.

    Raises:
        TableError: the file names another target, or none, and the table has no such column.
    """
    target = target_in(model, table)
    if target and sensitive != target:
        near = near_text(sensitive, [target])
        raise TableError(
            table.source,
            f"the sensitive column {sensitive!r}{near} is not the tree's target {target!r}; "
            "other sensitive columns are not supported yet",
        )
    if not target and sensitive not in table.columns:
        raise TableError(
            table.source,
            f"there is no column {sensitive!r}{table.meant(sensitive)}, and {model.source} does not name what it "
            "predicts; name the column with --sensitive",
        )


def rival(
    tree: Tree, table: Table, stops: IndexArray, weight: FloatArray, taken: Collection[str]
) -> str:
    """Return another column that the tree's labels are right about as often as about the sensitive one; "" if none.

    Where a file names no target and gives no counts, its labels are all that tells which column it was trained on.
    ``stops`` and ``weight`` (rows,) are where each row stops and how many people it is. The first of ``taken`` is the
    sensitive column; the others are something else.
    """
    sensitive, *_ = taken
    counts = (leaf.class_counts or () for leaf in tree.leaves)
    if tree.has_people and all(each and None not in each for each in counts):
        return ""  # another column's counts would contradict the file
    labels = np.array([_code(tree, node) for node in tree.nodes])[stops]

    def right(name: str) -> float:
        column = table.categories(name, tree.classes)
        places = [
            tree.classes.index(each) if each in tree.classes else -1 for each in column.categories
        ]
        if sum(place >= 0 for place in places) < 2:
            return -1.0
        said = np.array([*places, -1])[
            column.codes
        ]  # a missing value, whose code is -1, is never right
        return float(weight[(said == labels) & (said >= 0)].sum())

    own = right(sensitive)
    others = (name for name in table.columns if name not in taken)
    return next((name for name in others if right(name) >= max(own, 0.0)), "")


def _code(tree: Tree, node: Node) -> int:
    code = label_of(tree, node)
    return -1 if code is None else code


def label_of(tree: Tree, node: Node) -> int | None:
    """Return the code of the class a node predicts: its score, else the largest of its published class numbers."""
    if isinstance(node.score, str) and node.score in tree.classes:
        return tree.classes.index(node.score)
    numbers = node.class_counts if node.class_counts is not None else node.class_shares
    if numbers is None or any(number is None for number in numbers):
        return None
    return int(np.argmax(np.array(numbers, dtype=float)))
