"""The nodes of H2O's trees: a missing value has a side, and the categories that go down a branch stand at its child."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.json_layout import UnwritableError
from treewarden.ppdm_models.formats.common.node_order import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.tree.predicate import (
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
)
from treewarden.ppdm_models.tree.tree import Node, Tree

SIDES = ("LEFT", "RIGHT")
ARRAYS = ("left_children", "right_children", "features", "thresholds", "nas", "predictions")
ORDER = (*ARRAYS[:4], "levels", *ARRAYS[4:])
"""The arrays of a tree, and the order in which they are written with the levels."""


@dataclass(frozen=True, slots=True)
class H2oColumn:
    """A column of the training frame; ``labels`` are its categories, none for numbers."""

    name: str
    labels: tuple[str, ...] = ()


def nodes_of_mojo(root: JsonPart, columns: dict[int, H2oColumn]) -> tuple[Node, ...]:
    """Return the nodes of a tree as PrintMojo nests them; columns without categories are added to ``columns``.

    ``weight`` counts the records of the whole training frame. ``matchValues`` of a node are numbers of the categories,
    in the column that its parent asks, that lead to it.

    Raises:
        TreeFormatError: a node is malformed.
    """

    def draft_of(node: JsonPart) -> Draft:
        name = str(node["nodeNumber"].whole())
        weight = node.get("weight")
        records = None if weight is None else weight.amount()
        value = node.get("predValue")
        if node.get("leftChild") is None and node.get("rightChild") is None and value is not None:
            return Draft(name=name, score=value.single(), records=records)
        left, right = node["leftChild"], node["rightChild"]
        place = node["colId"].whole()
        column = columns.setdefault(place, H2oColumn(node["colName"].text()))
        if column.name != node["colName"].text():
            raise node.refused(f"names column {place} differently from {column.name!r}")
        listed = node["isCategorical"].flag()
        sides = (_labels(left, column), _labels(right, column)) if listed else None
        split = node.get("splitValue")
        to_left = node["leftward"].flag()
        ways = _ways(node, column.name, split, sides, to_left, (left, right))
        return Draft(name=name, branches=ways, records=records)

    return grown(root, draft_of, root.where)


def nodes_of_arrays(document: JsonPart) -> tuple[Node, ...]:
    """Return the nodes of one tree as H2OTree lists them, each with its prediction.

    Raises:
        TreeFormatError: the arrays do not fit each other, or the nodes form no tree.
    """
    names = ("left_children", "right_children", "features", "thresholds", "levels", "nas")
    arrays = {name: list(document[name]) for name in (*names, "predictions")}
    size = len(arrays["features"])
    for name, items in arrays.items():
        if len(items) != size:
            raise document[name].refused(f"contains {len(items)} items, but {size} are expected")

    def draft_of(index: int) -> Draft:
        if index >= size:
            raise document.refused(f"node {index} is missing")
        score = arrays["predictions"][index].single()
        feature = arrays["features"][index]
        if feature.value is None:
            return Draft(name=str(index), score=score)
        left, right = (arrays[name][index].whole() for name in names[:2])
        if max(left, right) >= size:
            raise document.refused(f"node {max(left, right)} is missing")
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


def plain_arrays(tree: Tree, document: JsonPart) -> dict[str, object]:
    """Return the arrays of one tree with what it holds and nothing else: its nodes are numbered anew.

    Categories stand at one child of a split only, as a value that is none of them goes to the other.

    Raises:
        UnwritableError: the file says for which class the tree is, in words that could be any.
    """
    if (label := document.get("tree_class")) is not None and label.value is not None:
        raise UnwritableError("the name of a class")
    arrays: dict[str, list[object]] = {name: [] for name in ARRAYS}
    levels: list[object] = [None] * len(tree.nodes)
    for node in tree.nodes:
        split = _plain_split(tree, node, levels) if node.children else (None, None)
        is_left = node.children and node.default_child == node.children[0]
        sides = node.children or (-1, -1)
        side = None if node.is_leaf else SIDES[0 if is_left else 1]
        row = (*sides, *split, side, node.score)
        for name, value in zip(ARRAYS, row, strict=True):
            arrays[name].append(value)
    number = document["tree_number"].whole(high=limits.TREES)
    held = {**arrays, "levels": levels}
    return {
        "tree_number": number,
        "tree_class": None,
        "root_node_id": 0,
        **{name: held[name] for name in ORDER},
    }


def _plain_split(tree: Tree, node: Node, levels: list[object]) -> tuple[str, float | None]:
    """Return the column and the threshold of a split; its categories are put where they belong."""
    left, right = (tree.nodes[child] for child in node.children)
    for child in (left, right):
        test = child.test
        if isinstance(test, CategoryTest) and not test.negated:
            levels[child.index] = list(test.values)
            return test.feature, None
    test = left.test
    if isinstance(test, NumericTest):
        return test.feature, test.high
    if isinstance(test, MissingTest) and test.negated:
        return test.feature, None
    raise UnwritableError("a split has neither a threshold nor categories")


def _labels(child: JsonPart, column: H2oColumn) -> tuple[str, ...]:
    """Return the categories that lead to a child."""
    listed = child.get("matchValues")
    numbers = [] if listed is None else [item.whole() for item in listed]
    if any(number >= len(column.labels) for number in numbers):
        raise child.refused(f"a category number does not exist in {column.name!r}")
    return tuple(column.labels[number] for number in numbers)


def _ways(
    node: JsonPart,
    feature: str,
    split: JsonPart | None,
    sides: tuple[tuple[str, ...], ...] | None,
    to_left: bool,
    children: tuple[object, object],
) -> tuple[Branch, Branch]:
    """Return the ways down; a category that was never seen goes where a missing value goes."""
    if sides is not None:
        if set(sides[0]) & set(sides[1]):
            raise node.refused("a category is on both sides of the split")
        if not (sides[0] or sides[1]):
            raise node.refused("the split has no category on either side")
        listed, predicate = belongs(feature, sides[1] if to_left else sides[0])
        left, right = (predicate, listed) if to_left else (listed, predicate)
    elif split is not None:
        left, right = compared(feature, "<", split.single())
    else:  # every value goes left, only missing ones go right
        left, right = MissingTest(feature, negated=True), MissingTest(feature)
    return Branch(children[0], left, to_left), Branch(children[1], right, not to_left)


# One tree of an H2O MOJO: nodes packed one after the other, a left side before its right one.
#
# A node is a byte of flags, two of its column (65535: the tree is one leaf), one for where a missing value goes, what
# it compares with (a 32-bit number, or a set of categories as bits), how many bytes the left side has if that is no
# leaf, then both sides; a leaf is a 32-bit number. Each side must fill its bytes exactly. Beside a tree lies what is
# known of its inner nodes, 40 bytes each: numbers of the children, and the records that reached them. (H2O,
# hex.genmodel.algos.tree.SharedTreeMojoModel, MOJO 1.2 and newer.)

NO_COLUMN = 65535
MISSING_VS_REST = 1
LEFTWARD = (2, 4)
"""What sends a missing value left: NALeft and Left."""

DIRECTIONS = range(6)
LEAF = 48
SMALL_SET, LARGE_SET = 8, 12
LEFT_FLAGS, SET_FLAGS, RIGHT_FLAGS = 0x33, 0x0C, 0xC0
SMALL_BITS = 32
AUXILIARY_BYTES = 40

Place = tuple[int, int, int, bool]
"""Where a node begins and ends, its number (-1: not said), and whether it is a leaf."""


@dataclass(frozen=True, slots=True)
class InnerNode:
    """What is known of one inner node: the numbers of its children, and how many records reached each."""

    left: int
    right: int
    left_records: float
    right_records: float


class Bytes:
    """The bytes of one tree, read at a place that moves on."""

    def __init__(self, data: bytes, order: str, where: str) -> None:
        self.data = data
        self.order = order
        self.where = where
        self.at = 0

    def refused(self, problem: str) -> TreeFormatError:
        """Return the error at the present place."""
        return TreeFormatError(self.where, f"byte {self.at}: {problem}")

    def take(self, kind: str) -> int:
        """Return an unsigned whole number: B, H, or I."""
        (value,) = struct.unpack(self.order + kind, self.raw(struct.calcsize(self.order + kind)))
        return int(value)

    def number(self) -> float:
        """Return a 32-bit number."""
        (value,) = struct.unpack(self.order + "f", self.raw(4))
        if not math.isfinite(value):
            raise self.refused("a number is not finite")
        return float(value)

    def raw(self, size: int) -> bytes:
        """Return some bytes and move on."""
        found = self.data[self.at : self.at + size]
        if size < 0 or len(found) < size:
            raise self.refused("the tree is incomplete")
        self.at += size
        return found


def nodes_of(
    data: bytes, beside: bytes | None, columns: Sequence[H2oColumn], order: str, where: str
) -> tuple[Node, ...]:
    """Return the nodes of a tree; without what lies ``beside`` it they have no records.

    Raises:
        TreeFormatError: a byte is wrong, missing, or left over.
    """
    inner_nodes = None if beside is None else _beside(beside, order, where)
    records = {} if inner_nodes is None else _records(inner_nodes)
    reader = Bytes(data, order, where)
    asked: set[int] = set()

    def draft_of(place: Place) -> Draft:
        start, end, number, is_leaf = place
        reader.at = start
        name = str(start) if number < 0 else str(number)
        held = records.get(number)
        if is_leaf or _is_bare_leaf(reader):
            score = reader.number()
            _finished(reader, end)
            return Draft(name=name, score=score, records=held)
        if inner_nodes is not None and number not in inner_nodes:
            raise reader.refused(f"the data outside the tree do not contain node {number}")
        asked.add(number)
        return Draft(
            name=name,
            branches=_packed_branches(reader, end, number, inner_nodes, columns),
            records=held,
        )

    root = (0, len(data), -1 if inner_nodes is None else 0, False)
    nodes = grown(root, draft_of, where)
    if inner_nodes is not None and asked != inner_nodes.keys() and len(nodes) > 1:
        raise TreeFormatError(where, "the data outside the tree belong to other nodes")
    return nodes


def _is_bare_leaf(reader: Bytes) -> bool:
    """Whether the tree is one leaf: a node without a column."""
    start = reader.at
    reader.take("B")
    if reader.take("H") == NO_COLUMN:
        return True
    reader.at = start
    return False


def _finished(reader: Bytes, end: int) -> None:
    if reader.at != end:
        raise reader.refused(f"a leaf ends here instead of at byte {end}")


def _packed_branches(
    reader: Bytes,
    end: int,
    number: int,
    inner_nodes: dict[int, InnerNode] | None,
    columns: Sequence[H2oColumn],
) -> tuple[Branch, Branch]:
    flags, place, direction = reader.take("B"), reader.take("H"), reader.take("B")
    if place >= len(columns):
        raise reader.refused(f"column {place} does not exist")
    if direction not in DIRECTIONS:
        raise reader.refused(f"{direction} is not a valid direction for missing values")
    column, to_left = columns[place], direction in LEFTWARD
    tests: tuple[Predicate, Predicate]
    if direction == MISSING_VS_REST:
        tests = MissingTest(column.name, negated=True), MissingTest(column.name)
    elif flags & SET_FLAGS == 0:
        end_of = reader.number()
        if column.labels:
            below = [label for code, label in enumerate(column.labels) if code < end_of]
            above = [label for label in column.labels if label not in set(below)]
            tests = _sides(column.name, below, above, to_left)
        else:
            tests = compared(column.name, "<", end_of)
    else:
        low, bits = _set(reader, flags & SET_FLAGS)
        if not column.labels:
            raise reader.refused(
                f"looks up {column.name!r} in a set, but the column contains numbers"
            )
        inside = dict(enumerate(column.labels[low : low + len(bits)]))
        sides = [[inside[code] for code in inside if bits[code] == side] for side in (False, True)]
        tests = _sides(column.name, sides[0], sides[1], to_left)
    left, right = _children(
        reader, end, flags, None if inner_nodes is None else inner_nodes[number]
    )
    return Branch(left, tests[0], to_left), Branch(right, tests[1], not to_left)


def _sides(
    feature: str, left: list[str], right: list[str], to_left: bool
) -> tuple[Predicate, Predicate]:
    """Return both tests; a category that is on no side goes where a missing value goes."""
    listed, predicate = belongs(feature, right if to_left else left)
    return (predicate, listed) if to_left else (listed, predicate)


def _set(reader: Bytes, kind: int) -> tuple[int, list[bool]]:
    """Return the first category that a set is about, and of it and those after whether they go right."""
    if kind == SMALL_SET:
        low, size = 0, SMALL_BITS
    elif kind == LARGE_SET:
        low, size = reader.take("H"), reader.take("I")
    else:
        raise reader.refused("the kind of test is unknown")
    if not 0 < size <= 8 * len(reader.data):
        raise reader.refused(f"a set has {size:,} categories, which is not valid")
    packed = reader.raw((size + 7) // 8)
    return low, [bool(packed[code >> 3] >> (code & 7) & 1) for code in range(size)]


def _children(reader: Bytes, end: int, flags: int, beside: InnerNode | None) -> tuple[Place, Place]:
    left, right = flags & LEFT_FLAGS, (flags & RIGHT_FLAGS) >> 2
    if right not in (0, LEAF) or (left > 3 and left != LEAF):
        raise reader.refused(f"the flags {flags:#04x} are unknown")
    endian: Literal["little", "big"] = "little" if reader.order == "<" else "big"
    size = 4 if left == LEAF else int.from_bytes(reader.raw(left + 1), endian)
    start, middle = reader.at, reader.at + size
    if not start < middle < end:
        raise reader.refused(f"a left side of {size:,} bytes does not fit")
    numbers = (-1, -1) if beside is None else (beside.left, beside.right)
    return (start, middle, numbers[0], left == LEAF), (middle, end, numbers[1], right == LEAF)


def _beside(data: bytes, order: str, where: str) -> dict[int, InnerNode]:
    if len(data) % AUXILIARY_BYTES:
        raise TreeFormatError(
            where,
            f"the node data after the tree have {len(data)} bytes, which is not a multiple of {AUXILIARY_BYTES}",
        )
    inner_nodes: dict[int, InnerNode] = {}
    for at in range(0, len(data), AUXILIARY_BYTES):
        number, _, left_records, right_records, *_, left, right = struct.unpack_from(
            f"{order}iiffffffii", data, at
        )
        amounts = (left_records, right_records)
        if not all(math.isfinite(amount) and amount >= 0 for amount in amounts):
            raise TreeFormatError(
                where,
                f"the numbers of records on the two sides of node {number} are {left_records:g} and "
                f"{right_records:g}, but they must be 0 or more",
            )
        if number in inner_nodes:
            raise TreeFormatError(where, f"the node data after the tree list node {number} twice")
        if min(number, left, right) < 0:
            raise TreeFormatError(
                where, f"the node data after the tree give node {number} a negative node number"
            )
        inner_nodes[number] = InnerNode(left, right, left_records, right_records)
    return inner_nodes


def _records(inner_nodes: dict[int, InnerNode]) -> dict[int, float]:
    """Return the records of each node by number: of the root, those of its children."""
    records = {}
    for inner_node in inner_nodes.values():
        records[inner_node.left] = inner_node.left_records
        records[inner_node.right] = inner_node.right_records
    if 0 in inner_nodes:
        records[0] = inner_nodes[0].left_records + inner_nodes[0].right_records
    return records
