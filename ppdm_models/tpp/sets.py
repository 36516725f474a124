"""One value per cell of an attribute whose categories are parted by sets: what always goes the same way becomes one.

The first value of a cell is at every node where any of it is. So the values of a node stand in the order that their
cells do, and of equally good ways to part them the same one stays the first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models.tpp.splits import Choice
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import Node, Tree

BETWEEN = "|"


def merged(values: Sequence[str], choices: Sequence[Choice]) -> dict[str, str]:
    """Return what each of the ascending values is called: its cell's values, named one after the other.

    No values are merged where the new names would not be told apart, or not stand in the order of the cells.
    """
    cells: list[list[str]] = []
    for value in values:
        own = next((cell for cell in cells if _goes_with(value, cell[0], choices)), None)
        if own is None:
            cells.append([value])
        else:
            own.append(value)
    names = [BETWEEN.join(cell) for cell in cells]
    if names != sorted(set(names)):
        return {value: value for value in values}
    return {value: name for name, cell in zip(names, cells, strict=True) for value in cell}


def _goes_with(value: str, first: str, choices: Sequence[Choice]) -> bool:
    """Return whether a value is nowhere but where the first of a cell is, on the same side."""
    sides = [side for choice in choices for side in choice.sides or ()]
    return all(first in side for side in sides if value in side)


def renamed(tree: Tree, names: Mapping[str, Mapping[str, str]]) -> Tree:
    """Return a tree that asks for the new names of the values."""
    return replace(tree, nodes=tuple(_renamed(node, names) for node in tree.nodes))


def _renamed(node: Node, names: Mapping[str, Mapping[str, str]]) -> Node:
    test = node.test
    if not isinstance(test, CategoryTest) or test.feature not in names:
        return node
    values = tuple(names[test.feature][value] for value in test.values)
    return replace(node, test=CategoryTest(test.feature, values, test.negated))
