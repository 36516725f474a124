"""How well a tree from noisy records does on true ones."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.methods.randomised.generating import Attribute
from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class Tested:
    """What came of a test: ``right`` of ``records``, and ``most_frequent`` records of their most frequent class.

    Among the wrong ones are those whose class the tree does not know (``unknown``), and those that get no prediction,
    as they lack a value (``unanswered``). ``outside`` are numbers outside their domain and texts that are none of the
    known ones: they count as the nearest, and the last. ``unlabelled`` records have no class, and do not count.
    """

    records: int
    right: int
    most_frequent: int
    unknown: int
    unanswered: int
    outside: int
    unlabelled: int


def tested(tree: Tree, attributes: tuple[Attribute, ...], path: Path) -> Tested:
    """Return how well a tree does on a true table.

    ``attributes`` are those that it was grown on, with their domains.

    Raises:
        TableError: the table cannot be read, lacks a column or any class, or a value is not of its column's type.
    """
    table = read_table(path)
    columns = {feature.name: table.column(feature) for feature in tree.features}
    truth = table.categories(tree.target, tree.classes)
    found = np.array(labels(tree, predict(tree, columns)), dtype=object)
    there = ~truth.missing
    if not there.any():
        raise TableError(path.name, f"no record has a value of {tree.target!r}; give some that do")
    names = np.array(truth.categories, dtype=object)[truth.codes[there]]
    outside = sum(_outside(columns[each.name], tree, each)[there].sum() for each in attributes)
    return Tested(
        int(there.sum()),
        int((found[there] == names).sum()),
        int(np.bincount(truth.codes[there]).max()),
        int((~np.isin(names.astype(str), tree.classes)).sum()),
        sum(each is None for each in found[there].tolist()),
        int(outside),
        int((~there).sum()),
    )


def _outside(
    column: NumericColumn | CategoricalColumn, tree: Tree, attribute: Attribute
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    if isinstance(column, NumericColumn):
        return (column.numbers < attribute.low) | (column.numbers > attribute.high)
    known = set(tree.feature(attribute.name).values)
    is_strange = np.array([name not in known for name in column.categories] + [False])
    found: np.ndarray[tuple[int], np.dtype[np.bool_]] = is_strange[column.codes]
    return found
