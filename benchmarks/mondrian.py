"""InfoGain Mondrian (LeFevre et al. 2006, Workload-Aware Anonymization): groups of k by splits on the response."""

from __future__ import annotations

import numpy as np

from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import Response
from treewarden.ppdm_models.methods.tpp.cells import rows_of
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, Columns, NumericColumn


def mondrian(columns: Columns, response: Response, k: int, groups: int) -> dict[str, Column]:
    """Return the columns generalised group by group, after up to so many groups of k records or more.

    A number becomes the middle of its group's range, a category the set of those in its group. There are no value
    hierarchies: categories are split one against the rest.
    """
    size = len(response.values)
    criterion = "entropy" if response.classes else "variance"
    tree = BestFirst(criterion, min_leaf=k).growth(columns, response, groups - 1).tree(groups - 1)
    rows = rows_of(tree, columns, size)
    parts = [rows[leaf.index] for leaf in tree.leaves]
    return {name: _generalised(column, parts, size) for name, column in columns.items()}


def _generalised(column: Column, parts: list[np.ndarray], size: int) -> Column:
    if isinstance(column, NumericColumn):
        values = np.empty(size)
        for part in parts:
            here = column.numbers[part]
            values[part] = (here.min() + here.max()) / 2
        return NumericColumn(values)
    texts = np.empty(size, dtype=object)
    for part in parts:
        found = np.unique(column.codes[part])
        texts[part] = "|".join(column.categories[code] for code in found)
    categories, codes = np.unique(texts.astype(str), return_inverse=True)
    return CategoricalColumn(codes=codes.astype(np.int64), categories=tuple(map(str, categories)))
