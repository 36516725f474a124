"""Where everything in the picture of a tree goes: root on the left, one line per leaf, its numbers in columns.

Each branch is a horizontal line under the words of its test. Where a tree is too deep for that, the deep style leaves
these words out and gives each leaf its last test only; so does the compact style, which fits beside another picture.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Literal

from treewarden.reports.document.parts import Risk, TreeNode
from treewarden.reports.document.words import counted, printable

# Which nodes of a tree are drawn: all, or in a large tree only what leads to the nodes at risk.

MOST_LEAVES = 150


@dataclass(frozen=True, slots=True)
class Selection:
    """The drawn nodes in document order, each with its drawn children and its depth.

    ``stubs`` are the drawn nodes that stand for all below them, in words; ``note`` says what was left out.
    """

    children: Mapping[int, tuple[int, ...]]
    depth: Mapping[int, int]
    stubs: Mapping[int, str]
    note: str

    @property
    def order(self) -> tuple[int, ...]:
        """The drawn nodes, each parent before its children."""
        return tuple(self.children)

    @property
    def ends(self) -> tuple[int, ...]:
        """The drawn nodes without drawn children, top to bottom."""
        return tuple(index for index, below in self.children.items() if not below)


def select(nodes: Sequence[TreeNode]) -> Selection:
    """Return the nodes to draw: all in a tree of up to ``MOST_LEAVES`` leaves, else the paths to the riskiest."""
    below: dict[int, list[int]] = {node.index: [] for node in nodes}
    for node in nodes:
        if node.parent is not None:
            below[node.parent].append(node.index)
    leaves = _leaves_below(below, nodes)
    root = nodes[0].index
    opened, note = set(below), ""
    if leaves[root] > MOST_LEAVES:
        opened, note = _paths_to_risk(nodes, leaves[root])
    children: dict[int, tuple[int, ...]] = {}
    depth: dict[int, int] = {root: 0}
    stack = [root]
    while stack:
        index = stack.pop()
        children[index] = tuple(below[index]) if index in opened else ()
        depth |= dict.fromkeys(children[index], depth[index] + 1)
        stack.extend(reversed(children[index]))
    stubs = {
        index: f"({leaves[index]:,} leaves)"
        for index, drawn in children.items()
        if below[index] and not drawn
    }
    return Selection(children, depth, stubs, note)


def _leaves_below(below: Mapping[int, Sequence[int]], nodes: Sequence[TreeNode]) -> dict[int, int]:
    leaves: dict[int, int] = {}
    for node in reversed(nodes):
        leaves[node.index] = sum(leaves[child] for child in below[node.index]) or 1
    return leaves


def _paths_to_risk(nodes: Sequence[TreeNode], leaves: int) -> tuple[set[int], str]:
    parent = {node.index: node.parent for node in nodes}
    ranks = {node.index: node.rank for node in nodes if node.rank is not None}
    ranked = sorted(ranks, key=lambda index: ranks[index])
    opened = {nodes[0].index}
    for index in ranked[:MOST_LEAVES]:
        above = parent[index]
        while above is not None and above not in opened:
            opened.add(above)
            above = parent[above]
    said = f"The tree has {leaves:,} leaves, too many to draw."
    if not ranked:
        return opened, f"{said} None of them is marked, so only the top is shown."
    most = f"the {MOST_LEAVES} riskiest of the " if len(ranked) > MOST_LEAVES else "the "
    marked = counted(len(ranked), "marked leaf", "marked leaves")
    return opened, f"{said} Shown are the paths to {most}{marked}; the rest is folded up."


# The tree as a list that folds: what is drawn in the picture, readable on a narrow screen and by touch.

OPEN_LEVELS = 3
"""So many levels are unfolded at first."""


@dataclass(frozen=True, slots=True)
class DrawnStep:
    """A node that opens a level, an end of the drawing, or the end of a level.

    ``said`` is the node's test, ``more`` what it holds, or what a folded part stands for.
    """

    kind: Literal["open", "end", "close"]
    said: str = ""
    more: str = ""
    node: TreeNode | None = None
    is_unfolded: bool = False


def outline(nodes: Sequence[TreeNode]) -> Iterator[DrawnStep]:
    """Yield a tree from its root as far as it is drawn, without recursion: a tree may be as deep as it has leaves."""
    selection = select(nodes)
    node = {tree_node.index: tree_node for tree_node in nodes}
    waiting: list[int | None] = [nodes[0].index]
    while waiting:
        index = waiting.pop()
        if index is None:
            yield DrawnStep("close")
            continue
        here, below = node[index], selection.children[index]
        said = "everyone" if here.parent is None else here.test
        records = f"{here.records_text} {'person' if here.records_text == '1' else 'people'}"
        if below:
            yield DrawnStep("open", said, records, here, selection.depth[index] < OPEN_LEVELS)
            waiting += [None, *reversed(below)]
        else:
            held = f"{records}; value {here.label}"
            if here.label_share_text:
                held = f"{records}; “{here.label}”, correct for {here.label_share_text}"
            yield DrawnStep("end", said, selection.stubs.get(index, held), here)


# Cuts words to the room that a picture has.

SIGN = 6.2
"""Width in px of a character of the picture's font at its size; a little too much rather than too little."""
FEWEST_SIGNS = 4
_SIGN = re.compile(r" (?:[<>=≤≥≠]|in|not in) ")


def short(text: str, most: int) -> str:
    """Return the text cut to a number of character cells, its control characters escaped."""
    clean = printable(text)
    if _cells_in(clean) <= most:
        return clean
    while _cells_in(clean) >= most:
        clean = clean[: max(len(clean) // 2, most)] if len(clean) > 2 * most else clean[:-1]
    return f"{clean}…"


def mid_cut(text: str, most: int) -> str:
    """Return a test cut in its name, so that it keeps its threshold: ``years_m… ≤ 4.25``."""
    clean = printable(text)
    sign = _SIGN.search(clean)
    tail = clean[sign.start() :] if sign else ""
    if _cells_in(clean) <= most or not 0 < _cells_in(tail) <= most - FEWEST_SIGNS:
        return short(clean, most)
    return short(clean[: -len(tail)], most - _cells_in(tail)) + tail


def width(text: str) -> float:
    """Return the room a text takes, in px."""
    return SIGN * _cells_in(text)


def _cells_in(text: str) -> int:
    """Return the room a text takes; East Asian signs take two cells."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(sign) in "WF" else 1 for sign in text)


Style = Literal["full", "deep", "compact"]

ROW = 26.0
TOP = 34.0
MARGIN = 12.0
MARK = 26.0
GAP = 16.0
LEVEL = 18.0
TEST_SIGNS = (26, 23, 20, 17, 14)
"""How far tests are cut: the first that lets the picture fit into ``ROOM``, else the last."""
ROOM = 1072.0
CELL_SIGNS = 30
AT_RISK = ("fail", "undetermined")
HEADINGS: Mapping[Style, tuple[str, ...]] = {
    "full": ("Leaf", "Label", "Records", "Label true of", "Breaks"),
    "deep": ("Leaf", "Last test", "Label", "Records", "Label true of", "Breaks"),
    "compact": ("Leaf", "Last test", "Label", "Records"),
}
TRUE_OF = "Label true of"
"""A column that is not there where leaves hold numbers: the one for labels is that of values then."""
TOO_DEEP = "The tree is too deep to write every test: each leaf has its last one."


@dataclass(frozen=True, slots=True)
class DrawnLine:
    """A branch, an upright that joins branches, or the dots from a branch's end to the columns."""

    x1: float
    y1: float
    x2: float
    y2: float
    kind: Literal["plain", "risky", "leader"]


@dataclass(frozen=True, slots=True)
class FittedWords:
    """Words at a place, cut to the room there; ``full`` is all of them."""

    x: float
    y: float
    text: str
    full: str
    kind: Literal["test", "cell", "heading"]


@dataclass(frozen=True, slots=True)
class Mark:
    """The sign of a node: its shape says the risk, whatever the colour."""

    x: float
    y: float
    risk: Risk
    full: str


@dataclass(frozen=True, slots=True)
class Drawing:
    """All coordinates in px; ``bands`` are the upper edges of the rows at risk, ``row`` their height.

    ``keys`` are the letters that stand for clauses in the column “Breaks”, each with its clause.
    """

    width: float
    height: float
    lines: tuple[DrawnLine, ...]
    words: tuple[FittedWords, ...]
    marks: tuple[Mark, ...]
    bands: tuple[float, ...]
    note: str
    row: float = ROW
    keys: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Skeleton:
    """The skeleton: height of each node, place of each level and column, words of each row."""

    node: Mapping[int, TreeNode]
    kept: Selection
    style: Style
    signs: int
    y: Mapping[int, float]
    x: Sequence[float]
    cells: Mapping[int, tuple[str, ...]]
    columns: Sequence[float]
    width: float
    letters: Mapping[str, str]
    headings: Sequence[str]


def draw(nodes: Sequence[TreeNode], style: Style = "full") -> Drawing:
    """Return the picture of a tree with at least one node; ``compact`` fits beside another, ``full`` may turn deep."""
    selection = select(nodes)
    for signs in TEST_SIGNS:
        frame = _frame(nodes, selection, style, signs)
        if frame.width <= ROOM:
            break
    if style == "full" and frame.width > ROOM:
        frame = _frame(nodes, selection, "deep", signs)
    notes = [selection.note, TOO_DEEP if frame.style == "deep" else ""]
    return Drawing(
        width=frame.width,
        height=TOP + ROW * len(selection.ends) + MARGIN,
        lines=tuple(sorted(_lines(frame), key=lambda line: line.kind == "risky")),
        words=tuple(_words(frame)),
        marks=tuple(_marks(frame)),
        bands=tuple(frame.y[i] - ROW / 2 for i in selection.ends if frame.node[i].risk in AT_RISK),
        note=" ".join(note for note in notes if note),
        keys=tuple((letter, clause) for clause, letter in frame.letters.items()),
    )


def _frame(nodes: Sequence[TreeNode], selection: Selection, style: Style, signs: int) -> _Skeleton:
    node = {tree_node.index: tree_node for tree_node in nodes}
    y = {index: TOP + ROW * (line + 0.5) for line, index in enumerate(selection.ends)}
    for index in reversed(selection.order):
        if below := selection.children[index]:
            y[index] = (y[below[0]] + y[below[-1]]) / 2
    x = [MARGIN]
    for level in range(1, max(selection.depth.values()) + 1):
        tests = [node[index].test for index, depth in selection.depth.items() if depth == level]
        room = max(width(mid_cut(test, signs)) for test in tests) + GAP
        x.append(x[-1] + (room if style == "full" else LEVEL))
    letters = (
        _letters([node[index] for index in selection.ends]) if "Breaks" in HEADINGS[style] else {}
    )
    has_labels = any(tree_node.label_share_text for tree_node in nodes)
    shown = [n for n, each in enumerate(HEADINGS[style]) if has_labels or each != TRUE_OF]
    headings = [HEADINGS[style][position] for position in shown]
    if not has_labels:
        headings[headings.index("Label")] = "Value"
    cells = {}
    for index in selection.ends:
        row = _cells(node[index], selection.stubs.get(index), style, letters)
        cells[index] = tuple(row[position] for position in shown)
    columns = [x[-1] + MARK]
    for position in range(len(headings)):
        column = [headings[position], *(row[position] for row in cells.values())]
        columns.append(columns[-1] + _widest(column) + GAP)
    right = columns.pop() - GAP + MARGIN
    return _Skeleton(
        node=node,
        kept=selection,
        style=style,
        signs=signs,
        y=y,
        x=x,
        cells=cells,
        columns=columns,
        width=right,
        letters=letters,
        headings=headings,
    )


def _letters(ends: Sequence[TreeNode]) -> dict[str, str]:
    """Return a letter for each clause that breaks in a drawn leaf: no room, and no pointer, is needed to read it."""
    clauses = dict.fromkeys(clause for node in ends for clause in node.clauses)
    signs = [*ascii_uppercase, *(f"{each}2" for each in ascii_uppercase)]
    return dict(zip(sorted(clauses), signs, strict=False))


def _lines(frame: _Skeleton) -> Iterator[DrawnLine]:
    selection, risky = frame.kept, _on_the_way_to_risk(frame)
    for index in selection.order:
        x, y = frame.x[selection.depth[index]], frame.y[index]
        kind: Literal["plain", "risky"] = "risky" if index in risky else "plain"
        parent = frame.node[index].parent
        if parent is not None:
            left = frame.x[selection.depth[index] - 1]
            yield DrawnLine(left, y, x, y, kind)
            yield DrawnLine(left, frame.y[parent], left, y, kind)
        if not selection.children[index] and x < frame.x[-1]:
            yield DrawnLine(x, y, frame.x[-1], y, "leader")


def _words(frame: _Skeleton) -> Iterator[FittedWords]:
    for left, text in zip(frame.columns, frame.headings, strict=True):
        yield FittedWords(left, 18.0, text, text, "heading")
    for index in frame.kept.order:
        depth, y = frame.kept.depth[index], frame.y[index]
        if depth and frame.style == "full":
            text = frame.node[index].test
            cut = mid_cut(text, frame.signs)
            yield FittedWords(frame.x[depth - 1] + 7, y - 5, cut, text, "test")
        for left, text in zip(frame.columns, frame.cells.get(index, ()), strict=False):
            if text:
                yield FittedWords(left, y + 4, short(text, CELL_SIGNS), text, "cell")


def _marks(frame: _Skeleton) -> Iterator[Mark]:
    for index in frame.kept.order:
        node, is_end = frame.node[index], not frame.kept.children[index]
        if index in frame.kept.stubs or (not is_end and node.risk == "none"):
            continue
        x = frame.x[-1] + MARK / 2 - 3 if is_end else frame.x[frame.kept.depth[index]]
        breaks = f"; breaks {', '.join(node.clauses)}" if node.clauses else ""
        line = f", line {node.line}" if node.line else ""
        kind = "label" if node.label_share_text else "value"
        held = f"{node.records_text} {'person' if node.records_text == '1' else 'people'}"
        full = f"node {node.name}{line}: {held}, {kind} {node.label}{breaks}"
        yield Mark(x, frame.y[index], node.risk, full)


def _on_the_way_to_risk(frame: _Skeleton) -> set[int]:
    risky: set[int] = set()
    for index in reversed(frame.kept.order):
        if frame.node[index].risk in AT_RISK or risky.intersection(frame.kept.children[index]):
            risky.add(index)
    return risky


def _cells(
    node: TreeNode, stub: str | None, style: Style, letters: Mapping[str, str]
) -> tuple[str, ...]:
    last_test = () if style == "full" else (node.test,)
    if stub is not None:
        said = (stub, *last_test, "", node.records_text, "", "")
    else:
        breaks = sorted(letters.get(clause, "…") for clause in node.clauses)
        more = (node.label_share_text, " ".join(breaks))
        said = (node.name, *last_test, node.label, node.records_text, *more)
    return said[: len(HEADINGS[style])]


def _widest(texts: Sequence[str]) -> float:
    return max(width(short(text, CELL_SIGNS)) for text in texts)
