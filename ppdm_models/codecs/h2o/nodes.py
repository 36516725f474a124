"""The nodes of H2O's trees: a missing value has a side, and the categories that go down a branch stand at its child."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models.codecs.common.grow import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.tree.predicate import MissingTest
from treewarden.ppdm_models.tree.tree import Node

SIDES = ("LEFT", "RIGHT")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the training frame; ``labels`` are its categories, none for numbers."""

    name: str
    labels: tuple[str, ...] = ()


def nodes_of_mojo(root: Part, columns: dict[int, Column]) -> tuple[Node, ...]:
    """Return the nodes of a tree as PrintMojo nests them; columns without categories are added to ``columns``.

    ``weight`` counts the records of the whole training frame. ``matchValues`` of a node are numbers of the categories,
    in the column that its parent asks, that lead to it.

    Raises:
        TreeFormatError: a node is malformed.
    """

    def draft_of(node: Part) -> Draft:
        name = str(node["nodeNumber"].whole())
        weight = node.get("weight")
        records = None if weight is None else weight.amount()
        value = node.get("predValue")
        if node.get("leftChild") is None and node.get("rightChild") is None and value is not None:
            return Draft(name=name, score=value.single(), records=records)
        left, right = node["leftChild"], node["rightChild"]
        place = node["colId"].whole()
        column = columns.setdefault(place, Column(node["colName"].text()))
        if column.name != node["colName"].text():
            raise node.refused(f"calls column {place} otherwise than {column.name!r}")
        listed = node["isCategorical"].flag()
        sides = (_labels(left, column), _labels(right, column)) if listed else None
        split = node.get("splitValue")
        to_left = node["leftward"].flag()
        ways = _ways(node, column.name, split, sides, to_left, (left, right))
        return Draft(name=name, branches=ways, records=records)

    return grown(root, draft_of, root.where)


def nodes_of_arrays(document: Part) -> tuple[Node, ...]:
    """Return the nodes of one tree as H2OTree lists them, each with its prediction.

    Raises:
        TreeFormatError: the arrays do not fit each other, or the nodes form no tree.
    """
    names = ("left_children", "right_children", "features", "thresholds", "levels", "nas")
    arrays = {name: list(document[name]) for name in (*names, "predictions")}
    size = len(arrays["features"])
    for name, items in arrays.items():
        if len(items) != size:
            raise document[name].refused(f"{len(items)} items, where {size} are expected")

    def draft_of(index: int) -> Draft:
        if index >= size:
            raise document.refused(f"no node {index}")
        score = arrays["predictions"][index].single()
        feature = arrays["features"][index]
        if feature.value is None:
            return Draft(name=str(index), score=score)
        left, right = (arrays[name][index].whole() for name in names[:2])
        if max(left, right) >= size:
            raise document.refused(f"no node {max(left, right)}")
        split, side = arrays["thresholds"][index], arrays["nas"][index]
        if side.value not in (*SIDES, None):  # null: missing values went another way further up
            raise side.refused(f"neither {' nor '.join(SIDES)}")
        levels = tuple(arrays["levels"][child] for child in (left, right))
        sides = None
        if any(part.value is not None for part in levels):
            sides = tuple(
                () if part.value is None else tuple(item.label() for item in part)
                for part in levels
            )
        threshold = None if split.value is None else split
        ways = _ways(feature, feature.text(), threshold, sides, side.value == "LEFT", (left, right))
        return Draft(name=str(index), branches=ways, score=score)

    return grown(0, draft_of, document.source)


def _labels(child: Part, column: Column) -> tuple[str, ...]:
    """Return the categories that lead to a child."""
    listed = child.get("matchValues")
    numbers = [] if listed is None else [item.whole() for item in listed]
    if any(number >= len(column.labels) for number in numbers):
        raise child.refused(f"a category number that {column.name!r} does not have")
    return tuple(column.labels[number] for number in numbers)


def _ways(
    node: Part,
    feature: str,
    split: Part | None,
    sides: tuple[tuple[str, ...], ...] | None,
    to_left: bool,
    children: tuple[object, object],
) -> tuple[Branch, Branch]:
    """Return the ways down; a category that was never seen goes where a missing value goes."""
    if sides is not None:
        if set(sides[0]) & set(sides[1]) or not (sides[0] or sides[1]):
            raise node.refused("its sides share a category, or have none")
        listed, rest = belongs(feature, sides[1] if to_left else sides[0])
        left, right = (rest, listed) if to_left else (listed, rest)
    elif split is not None:
        left, right = compared(feature, "<", split.single())
    else:  # every value goes left, only missing ones go right
        left, right = MissingTest(feature, negated=True), MissingTest(feature)
    return Branch(children[0], left, to_left), Branch(children[1], right, not to_left)
