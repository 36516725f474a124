"""One tree of an H2O MOJO: nodes packed one after the other, a left side before its right one.

A node is a byte of flags, two of its column (65535: the tree is one leaf), one for where a missing value goes, what it
compares with (a 32-bit number, or a set of categories as bits), how many bytes the left side has if that is no leaf,
then both sides; a leaf is a 32-bit number. Each side must fill its bytes exactly. Beside a tree lies what is known of
its inner nodes, 40 bytes each: numbers of the children, and the records that reached them.
(H2O, hex.genmodel.algos.tree.SharedTreeMojoModel, MOJO 1.2 and newer.)
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from treewarden.ppdm_models.codecs.common.grow import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.codecs.h2o.nodes import Column
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.predicate import MissingTest, Predicate
from treewarden.ppdm_models.tree.tree import Node

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
class Beside:
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
            raise self.refused("a number that is not finite")
        return float(value)

    def raw(self, size: int) -> bytes:
        """Return some bytes and move on."""
        found = self.data[self.at : self.at + size]
        if size < 0 or len(found) < size:
            raise self.refused("the tree breaks off")
        self.at += size
        return found


def nodes_of(
    data: bytes, beside: bytes | None, columns: Sequence[Column], order: str, where: str
) -> tuple[Node, ...]:
    """Return the nodes of a tree; without what lies ``beside`` it they have no records.

    Raises:
        TreeFormatError: a byte is wrong, missing, or left over.
    """
    known = None if beside is None else _beside(beside, order, where)
    records = {} if known is None else _records(known)
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
        if known is not None and number not in known:
            raise reader.refused(f"nothing is said of node {number} beside the tree")
        asked.add(number)
        return Draft(name=name, branches=_ways(reader, end, number, known, columns), records=held)

    root = (0, len(data), -1 if known is None else 0, False)
    nodes = grown(root, draft_of, where)
    if known is not None and asked != known.keys() and len(nodes) > 1:
        raise TreeFormatError(where, "what lies beside the tree is of other nodes")
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
        raise reader.refused(f"a leaf ends here, where byte {end} should be its end")


def _ways(
    reader: Bytes,
    end: int,
    number: int,
    known: dict[int, Beside] | None,
    columns: Sequence[Column],
) -> tuple[Branch, Branch]:
    flags, place, direction = reader.take("B"), reader.take("H"), reader.take("B")
    if place >= len(columns):
        raise reader.refused(f"no column {place}")
    if direction not in DIRECTIONS:
        raise reader.refused(f"{direction} is no way for a missing value")
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
            raise reader.refused(f"looks up {column.name!r}, which holds numbers, in a set")
        inside = dict(enumerate(column.labels[low : low + len(bits)]))
        sides = [[inside[code] for code in inside if bits[code] == side] for side in (False, True)]
        tests = _sides(column.name, sides[0], sides[1], to_left)
    left, right = _children(reader, end, flags, None if known is None else known[number])
    return Branch(left, tests[0], to_left), Branch(right, tests[1], not to_left)


def _sides(
    feature: str, left: list[str], right: list[str], to_left: bool
) -> tuple[Predicate, Predicate]:
    """Return both tests; a category that is on no side goes where a missing value goes."""
    listed, rest = belongs(feature, right if to_left else left)
    return (rest, listed) if to_left else (listed, rest)


def _set(reader: Bytes, kind: int) -> tuple[int, list[bool]]:
    """Return the first category that a set is about, and of it and those after whether they go right."""
    if kind == SMALL_SET:
        low, size = 0, SMALL_BITS
    elif kind == LARGE_SET:
        low, size = reader.take("H"), reader.take("I")
    else:
        raise reader.refused("an unknown kind of test")
    if not 0 < size <= 8 * len(reader.data):
        raise reader.refused(f"a set of {size:,} categories")
    packed = reader.raw((size + 7) // 8)
    return low, [bool(packed[code >> 3] >> (code & 7) & 1) for code in range(size)]


def _children(reader: Bytes, end: int, flags: int, beside: Beside | None) -> tuple[Place, Place]:
    left, right = flags & LEFT_FLAGS, (flags & RIGHT_FLAGS) >> 2
    if right not in (0, LEAF) or (left > 3 and left != LEAF):
        raise reader.refused(f"unknown flags {flags:#04x}")
    endian: Literal["little", "big"] = "little" if reader.order == "<" else "big"
    size = 4 if left == LEAF else int.from_bytes(reader.raw(left + 1), endian)
    start, middle = reader.at, reader.at + size
    if not start < middle < end:
        raise reader.refused(f"a left side of {size:,} bytes does not fit")
    numbers = (-1, -1) if beside is None else (beside.left, beside.right)
    return (start, middle, numbers[0], left == LEAF), (middle, end, numbers[1], right == LEAF)


def _beside(data: bytes, order: str, where: str) -> dict[int, Beside]:
    if len(data) % AUXILIARY_BYTES:
        raise TreeFormatError(where, f"{len(data)} bytes beside it are not {AUXILIARY_BYTES} each")
    found: dict[int, Beside] = {}
    for at in range(0, len(data), AUXILIARY_BYTES):
        number, _, left_records, right_records, *_, left, right = struct.unpack_from(
            f"{order}iiffffffii", data, at
        )
        amounts = (left_records, right_records)
        if not all(math.isfinite(amount) and amount >= 0 for amount in amounts):
            raise TreeFormatError(where, f"records of node {number} are {amounts}")
        if number in found or min(number, left, right) < 0:
            raise TreeFormatError(where, f"node {number} stands twice beside it, or is none")
        found[number] = Beside(left, right, left_records, right_records)
    return found


def _records(known: dict[int, Beside]) -> dict[int, float]:
    """Return the records of each node by number: of the root, those of its children."""
    records = {}
    for one in known.values():
        records[one.left] = one.left_records
        records[one.right] = one.right_records
    if 0 in known:
        records[0] = known[0].left_records + known[0].right_records
    return records
