"""ID3: one branch per category, each attribute once per path, the purest split first (Quinlan 1986)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from treewarden.ppdm_models.arrays import FloatArray, IndexArray
from treewarden.ppdm_models.tree.column import CategoricalColumn, Columns, NumericColumn
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion, Feature, Learner, Node, Tree

SMALLEST_GAIN = 1e-9
"""A split that lowers the mean impurity by no more than this is not made."""


def grow_id3(
    columns: Columns,
    masses: FloatArray,
    classes: Sequence[str],
    *,
    target: str = "",
    criterion: Criterion = Criterion.ENTROPY,
    min_records: float = 2.0,
) -> Tree:
    """Grow a multiway tree from profiles; ``masses`` (P, m) are the records of each profile and class.

    A node with fewer than ``min_records`` records is not split. Ties go to the first attribute. Every node publishes
    its record count, class counts and most frequent class (the first of several).

    Raises:
        ValueError: an attribute is numeric, as ID3 has no thresholds, or lacks values, for which it has no branch.
    """
    sorts: dict[str, CategoricalColumn] = {}
    for name, column in columns.items():
        if isinstance(column, NumericColumn):
            raise ValueError(f"attribute {name!r} is numeric; ID3 splits on categories only")
        if column.missing.any():
            raise ValueError(f"attribute {name!r} lacks values; ID3 has no branch for them")
        sorts[name] = column
    features = tuple(
        Feature(name, numeric=False, values=column.categories) for name, column in sorts.items()
    )
    nodes: list[Node] = []
    everyone = np.arange(len(masses), dtype=np.intp)
    stack: list[tuple[IndexArray, int | None, CategoryTest | Always, tuple[str, ...]]]
    stack = [(everyone, None, Always(), tuple(sorts))]
    while stack:
        inside, parent, test, unused = stack.pop()
        counts = masses[inside].sum(axis=0)
        number = len(nodes)
        nodes.append(_node(number, parent, test, counts, classes))
        if parent is not None:
            nodes[parent] = replace(nodes[parent], children=(*nodes[parent].children, number))
        best = (
            _best(sorts, masses, inside, unused, criterion) if counts.sum() >= min_records else None
        )
        if best is None:
            continue
        codes, names = sorts[best].codes, sorts[best].categories
        left = tuple(name for name in unused if name != best)
        for code in np.unique(codes[inside])[::-1]:
            value = CategoryTest(best, (names[int(code)],))
            stack.append((inside[codes[inside] == code], number, value, left))
    learner = Learner(criterion, multiway=True, tool=Tool.TREEWARDEN, lists_columns=True)
    return Tree(tuple(nodes), features, target, tuple(classes), learner=learner, source="id3")


def grows_id3(
    tree: Tree,
    columns: Columns,
    masses: FloatArray,
    *,
    criterion: Criterion = Criterion.ENTROPY,
    min_records: float = 2.0,
    check: Callable[[], None] = lambda: None,
) -> bool:
    """Return whether ``grow_id3`` makes the very splits of a tree, whatever the order of the branches.

    The tree is followed down to the first split that differs. ``check`` is called at each node; what it raises ends
    the work. Columns of numbers, and those that lack values, grow no tree.
    """
    sorts = {name: each for name, each in columns.items() if isinstance(each, CategoricalColumn)}
    if len(sorts) < len(columns) or any(column.missing.any() for column in sorts.values()):
        return False
    stack = [(tree.root, np.arange(len(masses), dtype=np.intp), tuple(sorts))]
    while stack:
        check()
        node, inside, unused = stack.pop()
        is_large = masses[inside].sum() >= min_records
        best = _best(sorts, masses, inside, unused, criterion) if is_large else None
        if best is None:
            if node.children:
                return False
            continue
        codes, names = sorts[best].codes[inside], sorts[best].categories
        wanted = {CategoryTest(best, (names[code],)): code for code in np.unique(codes).tolist()}
        below = {tree.nodes[child].test: tree.nodes[child] for child in node.children}
        if len(node.children) != len(wanted) or below.keys() != wanted.keys():
            return False
        left = tuple(name for name in unused if name != best)
        stack.extend((below[test], inside[codes == code], left) for test, code in wanted.items())
    return True


def _node(
    number: int,
    parent: int | None,
    test: CategoryTest | Always,
    counts: FloatArray,
    classes: Sequence[str],
) -> Node:
    return Node(
        index=number,
        name=str(number),
        parent=parent,
        test=test,
        score=classes[int(np.argmax(counts))],
        records=float(counts.sum()),
        class_counts=tuple(float(count) for count in counts),
    )


def _best(
    columns: Mapping[str, CategoricalColumn],
    masses: FloatArray,
    inside: IndexArray,
    unused: Sequence[str],
    criterion: Criterion,
) -> str | None:
    """Return the attribute with the lowest impurity after the split, or None where none lowers it."""
    here = masses[inside]
    total = here.sum(axis=0)
    if (total > 0).sum() < 2:
        return None
    own = _impurity(criterion, total[None, :])
    best, least = None, own - SMALLEST_GAIN * total.sum()
    for name in unused:
        codes = columns[name].codes
        if codes[inside].min() < 0 or codes[inside].min() == codes[inside].max():
            continue
        width = here.shape[1]
        cells = (codes[inside][:, None] * width + np.arange(width)).ravel()
        split = np.bincount(cells, weights=here.ravel()).astype(np.float64).reshape(-1, width)
        after = _impurity(criterion, split)
        # Splits that are equally good but for rounding are a tie, and the first of them stands.
        if after < (least if best is None else least - SMALLEST_GAIN * total.sum()):
            best, least = name, after
    return best


def _impurity(criterion: Criterion, branches: FloatArray) -> float:
    """Return the sum of n_b * I(b) over branches, shape (branches, m)."""
    sizes = branches.sum(axis=1)
    branches, sizes = branches[sizes > 0], sizes[sizes > 0]
    if criterion is Criterion.GINI:
        return float((sizes - (branches**2).sum(axis=1) / sizes).sum())
    share = np.where(branches > 0, branches / sizes[:, None], 1.0)
    return float(-(branches * np.log(share)).sum())
