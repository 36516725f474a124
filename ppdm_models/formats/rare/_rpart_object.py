"""An rpart object as jsonlite writes it: scalars as lists of one, matrices without names, nodes without numbers.

``toJSON(model, force = TRUE)`` drops what R keeps beside a value: the names of nodes and splits, the levels of factors.
Nodes stand in preorder, so their numbers follow; the variable of a split that was taken stands in the frame; those of
competing and surrogate splits are lost, and are called ``""`` here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.node_order import belongs, compared
from treewarden.ppdm_models.formats.common.printed_trees import as_float
from treewarden.ppdm_models.tree.nodes import FLOAT_SLACK, OtherSplit
from treewarden.ppdm_models.tree.predicate import Predicate, Surrogate
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

LEAF = "<leaf>"
SPLIT = ("count", "ncat", "improve", "index", "adj")
LARGEST = 2**60
NO_ORDER = (
    "its rows have no node numbers, and their order does not form a tree; write row.names too"
)
SINGLE = ("control", "parms")


def named(root: JsonPart) -> JsonPart:
    """Return the object with each thing under its name.

    Raises:
        TreeFormatError: a row is too short, or the frame is no tree in preorder.
    """
    value = dict(root.entries())
    document: dict[str, object] = {key: part.value for key, part in value.items()}
    if "method" in value:
        document["method"] = _single(value["method"])
    for key in SINGLE:
        if key in value and value[key].is_object:
            kept = ("prior", "loss")
            document[key] = {
                name: part.value if name in kept else _single(part)
                for name, part in value[key].entries()
            }
    frame = root["frame"]
    rows = [dict(part.entries()) for part in frame]
    plain: list[dict[str, object]] = [
        {name: part.value for name, part in row.items()} for row in rows
    ]
    if any("node" not in row for row in rows):
        leaves = [part["var"].text() == LEAF for part in frame]
        numbers = _preorder(leaves, frame)
        plain = [{**row, "node": number} for row, number in zip(plain, numbers, strict=True)]
    if all("yval2" in row for row in rows):
        document.setdefault("yval2", [row["yval2"] for row in plain])
    document["frame"] = plain
    splits = root.get("splits")
    if splits is not None and splits.is_list and any(part.is_list for part in splits):
        document["splits"] = list(_named_splits(splits, frame))
    return JsonPart(document, root.source)


def _single(part: JsonPart) -> object:
    return part.at(0).value if part.is_list and len(part) == 1 else part.value


def _preorder(leaves: Sequence[bool], frame: JsonPart) -> list[int]:
    """Return rpart's numbers of nodes in preorder: 1 is the root, 2k and 2k + 1 are below k."""
    waiting, numbers = [1], []
    for is_leaf in leaves:
        if not waiting or waiting[-1] > LARGEST:
            raise frame.refused(NO_ORDER)
        number = waiting.pop()
        numbers.append(number)
        if not is_leaf:
            waiting += [2 * number + 1, 2 * number]
    if waiting:
        raise frame.refused(NO_ORDER)
    return numbers


def _named_splits(splits: JsonPart, frame: JsonPart) -> Iterator[dict[str, object]]:
    """Yield the rows of a matrix as objects; the first of each node has the variable of its row in the frame."""
    variables: list[str] = []
    for part in frame:
        variable = part["var"].text()
        if variable != LEAF:
            others = part["ncompete"].whole(high=1000) + part["nsurrogate"].whole(high=1000)
            variables += [variable, *[""] * others]
    for place, row in enumerate(splits):
        if len(row) < len(SPLIT) - 1:
            raise row.refused(f"a split has {len(row)} numbers instead of {', '.join(SPLIT)}")
        numbers = dict(zip(SPLIT, (item.value for item in row), strict=False))
        yield {"var": variables[place] if place < len(variables) else "", **numbers}


# The splits of an rpart object: which rows belong to a node, and the tests they stand for.

OTHER_SPLITS = "how much other splits of its nodes would improve"
LEFT, ABSENT, RIGHT = 1, 2, 3


@dataclass(frozen=True, slots=True)
class ChildTests:
    """The tests of both children; ``records`` are those that had a value for the split."""

    left: Predicate
    right: Predicate
    records: float
    has_absent: bool = False


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One row of the frame, and the rows of the split table that belong to it."""

    part: JsonPart
    number: int
    is_leaf: bool
    primary: JsonPart | None
    competitors: tuple[JsonPart, ...]
    surrogates: tuple[JsonPart, ...]


def frame_rows(root: JsonPart) -> list[FrameRow]:
    """Return the nodes in the order of the frame.

    Raises:
        TreeFormatError: the split table is shorter or longer than the frame says.
    """
    splits = root.get("splits")
    listed = [] if splits is None else list(splits)
    found, start = [], 0
    for part in root["frame"]:
        number = part["node"].whole(low=1, high=2**60)
        is_leaf = part["var"].text() == "<leaf>"
        others = (part["ncompete"].whole(high=1000), part["nsurrogate"].whole(high=1000))
        json_parts = [] if is_leaf else listed[start : start + 1 + sum(others)]
        if not is_leaf and (
            len(json_parts) != 1 + sum(others) or json_parts[0]["var"].text() != part["var"].text()
        ):
            raise part.refused("its splits are not in the split table")
        start += len(json_parts)
        middle = 1 + others[0]
        primary = json_parts[0] if json_parts else None
        found.append(
            FrameRow(
                part,
                number,
                is_leaf,
                primary,
                tuple(json_parts[1:middle]),
                tuple(json_parts[middle:]),
            )
        )
    if start != len(listed):
        raise root.refused(f"there are {len(listed)} splits, but the frame uses {start}")
    return found


def other_splits(
    row: FrameRow, csplit: JsonPart | None, levels: Mapping[str, Sequence[str]], decimals: int
) -> tuple[OtherSplit, ...]:
    """Return the splits of a node that were not taken and that every record of it has a value for.

    Their improvements are by gini, and rounded to so many decimals.
    """
    found = []
    for part in (competitor for competitor in row.competitors if competitor["var"].value):
        ways, improve = _ways(part, csplit, levels), part["improve"].number()
        if ways.records == row.part["n"].amount() and not ways.has_absent:
            slack = 0.5 * 10.0**-decimals + FLOAT_SLACK * max(1.0, improve)
            found.append(OtherSplit(ways.left, ways.right, improve - slack, improve + slack))
    return tuple(found)


def ways_of(
    row: FrameRow,
    csplit: JsonPart | None,
    levels: Mapping[str, Sequence[str]],
    with_surrogates: bool,
) -> ChildTests:
    """Return the tests of a node's children: the split's, then its surrogates' where a value is missing."""
    assert row.primary is not None
    ways = [_ways(row.primary, csplit, levels)]
    if with_surrogates:
        ways += [_ways(part, csplit, levels) for part in row.surrogates if part["var"].value]
    if len(ways) == 1:
        return ways[0]
    left, right = (
        Surrogate(tuple(side)) for side in ([w.left for w in ways], [w.right for w in ways])
    )
    return ChildTests(left, right, ways[0].records, any(way.has_absent for way in ways))


def _ways(
    split: JsonPart, csplit: JsonPart | None, levels: Mapping[str, Sequence[str]]
) -> ChildTests:
    name = split["var"].text()
    sides = split["ncat"].whole(low=-1, high=10_000)
    records = split["count"].amount()
    if sides in (-1, 1):
        left, right = compared(name, "<" if sides == -1 else ">=", split["index"].number())
        return ChildTests(left, right, records)
    if name not in levels or len(levels[name]) != sides or csplit is None:
        raise split.refused(
            f'the {sides} levels of {name[:60]!r} are not in the file; write xlevels = attr(model, "xlevels") too'
        )
    row = csplit.at(split["index"].whole(low=1) - 1)
    codes = [item.whole(low=LEFT, high=RIGHT) for item in row][:sides]
    if len(codes) < sides:
        raise row.refused(f"there are fewer than the {sides} levels of {name[:60]!r}")
    pairs = list(zip(levels[name], codes, strict=True))
    left, right = (
        belongs(name, [level for level, code in pairs if code == side])[0] for side in (LEFT, RIGHT)
    )
    return ChildTests(left, right, records, ABSENT in codes)


# Side channels of an rpart object: further splits, exact means, the call, and lists of all records.

OF_RECORDS = {
    "y": (LeakKind.RAW_RECORDS, "the target of every training record"),
    "x": (LeakKind.RAW_RECORDS, "the features of every training record"),
    "model": (LeakKind.RAW_RECORDS, "the training records themselves"),
    "where": (LeakKind.PER_RECORD, "the leaf of every training record"),
    "weights": (LeakKind.PER_RECORD, "the weight of every training record"),
}


def leaks_of(root: JsonPart) -> Iterator[Leak]:
    """Yield what the object tells beside its tree."""
    rows = frame_rows(root)
    others = sum(len(row.competitors) + len(row.surrogates) for row in rows)
    if others:
        what = f"{others} unused splits show how the target differs by further attributes"
        yield Leak(LeakKind.TARGET_STATISTICS, "/splits", what)
    sizes = [row.part["n"].amount() for row in rows if row.is_leaf]
    has_spread = any("dev" in dict(row.part.entries()) for row in rows)
    if root["method"].text() != "class" and has_spread and min(sizes, default=3) <= 2:
        what = (
            "the mean and deviance of a node with 1 or 2 records disclose their exact target values"
        )
        yield Leak(LeakKind.EXACT_TARGETS, "/frame", what, records=int(min(sizes)))
    call = root.get("call")
    if call is not None and call.value:
        what = "the call with all settings: an adversary can repeat the training on guessed records"
        yield Leak(LeakKind.REPLAY, "/call", what)
    yield from _per_record(root)


def _per_record(root: JsonPart) -> Iterator[Leak]:
    """Yield the parts of R's object that hold something of every training record."""
    for key, (kind, what) in OF_RECORDS.items():
        part = root.get(key)
        if part is not None and isinstance(part.value, (list, dict)) and part.value:
            size = len(part.value) if isinstance(part.value, list) else None
            yield Leak(kind, part.pointer, what, records=size)


# The blocks of a summary of an rpart tree: one per node, with its numbers, its sons, and its splits.

NUMBER = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
HEAD = re.compile(
    rf"Node number (\d{{1,18}}): (\d{{1,15}}) observations?(?:, +complexity param={NUMBER})?"
)
LABEL = re.compile(
    rf"  predicted class=(.*?) +expected loss=({NUMBER}) +P\(node\) =({NUMBER})", re.DOTALL
)
COUNTS = re.compile(r" +class counts: +(.+)")
SHARES = re.compile(r" +probabilities: +(.+)")
MEAN = re.compile(rf"  mean=({NUMBER}), MSE={NUMBER}")
RATE = re.compile(rf"  events= *{NUMBER}, +estimated rate= *({NUMBER}) *, +mean deviance={NUMBER}")
SONS = re.compile(
    r"  left son=(\d{1,18}) \((\d{1,15}) obs\) right son=(\d{1,18}) \((\d{1,15}) obs\)"
    r"(?:, \d{1,15} observations? remain)?"
)
TABLES = {"  Primary splits:": "primary", "  Surrogate splits:": "surrogate"}
RESULT = rf"(?:improve= *{NUMBER}, +\(\d{{1,15}} missing\)|agree= *{NUMBER}, +adj= *{NUMBER}, +\(\d{{1,15}} split\))"
COMPARED = re.compile(
    rf" +(?P<name>\S.*?) +< +(?P<end>{NUMBER}) +to the (?P<side>left|right), +{RESULT}", re.DOTALL
)
LISTED = re.compile(
    rf" +(?P<name>\S.*?) +splits as +(?P<levels>[LR-]{{2,10000}}), +{RESULT}", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class SummaryBranches:
    """The feature of a split, and the tests of its left and right son; ``levels`` is how many it has (0: a number)."""

    feature: str
    left: Predicate
    right: Predicate
    levels: int = 0


@dataclass(slots=True)
class SummaryBlock:
    """What is said of one node; ``sons`` are the numbers of its sons, each with its records."""

    number: int
    records: float
    where: str
    line: int
    label: str | None = None
    value: float | None = None
    counts: tuple[float, ...] = ()
    shares: tuple[float, ...] = ()
    sons: tuple[tuple[int, float], ...] = ()
    primary: list[SummaryBranches] = field(default_factory=list)
    surrogate: list[SummaryBranches] = field(default_factory=list)


def blocks_of(lines: Sequence[str], source: str) -> dict[int, SummaryBlock]:
    """Return the nodes by number.

    Raises:
        TreeFormatError: a node stands twice, or a line is not understood.
    """
    summary_blocks: dict[int, SummaryBlock] = {}
    block: SummaryBlock | None = None
    table: list[SummaryBranches] | None = None
    for number, line in enumerate(lines, 1):
        where = f"{source}:{number}"
        line = line.rstrip()
        head = HEAD.fullmatch(line)
        if head is not None:
            block, table = SummaryBlock(int(head[1]), float(head[2]), where, number), None
            if block.number in summary_blocks:
                raise TreeFormatError(where, f"node {block.number} occurs twice")
            if len(summary_blocks) >= limits.NODES:
                raise TreeFormatError(
                    where,
                    f"more than {limits.NODES:,} nodes, which is the limit; train a smaller tree",
                )
            summary_blocks[block.number] = block
        elif block is None or not line:
            continue
        elif line in TABLES:
            table = getattr(block, TABLES[line])
        elif table is not None:
            table.append(_summary_branches(line, where))
        else:
            _fact(block, line, where)
    return summary_blocks


def _fact(block: SummaryBlock, line: str, where: str) -> None:
    """Take in a line about a node itself."""
    label, sons = LABEL.fullmatch(line), SONS.fullmatch(line)
    counts, shares = COUNTS.fullmatch(line), SHARES.fullmatch(line)
    value = MEAN.fullmatch(line) or RATE.fullmatch(line)
    if label is not None and block.label is None:
        block.label = label[1].strip()
    elif value is not None and block.value is None:
        block.value = _number(value[1], where)
    elif counts is not None and not block.counts:
        block.counts = _numbers(counts[1], where)
    elif shares is not None and not block.shares:
        block.shares = _numbers(shares[1], where)
    elif sons is not None and not block.sons:
        block.sons = ((int(sons[1]), float(sons[2])), (int(sons[3]), float(sons[4])))
    else:
        raise TreeFormatError(where, f"{line.strip()[:80]!r} is not a line of a summary of rpart")


def _summary_branches(line: str, where: str) -> SummaryBranches:
    found = COMPARED.fullmatch(line)
    if found is not None:
        below, above = compared(found["name"], "<", _number(found["end"], where))
        is_left = found["side"] == "left"
        return SummaryBranches(found["name"], *((below, above) if is_left else (above, below)))
    listed = LISTED.fullmatch(line)
    if listed is None:
        raise TreeFormatError(where, f"{line.strip()[:80]!r} is not a split of rpart")
    sides = (
        [str(place) for place, side in enumerate(listed["levels"], 1) if side == wanted]
        for wanted in "LR"
    )
    left, right = (belongs(listed["name"], side)[0] for side in sides)
    return SummaryBranches(listed["name"], left, right, len(listed["levels"]))


def _number(text: str, where: str) -> float:
    value = as_float(text)
    if value is None or not math.isfinite(value):
        raise TreeFormatError(where, f"{text[:40]!r} is not a finite number")
    return value


def _numbers(text: str, where: str) -> tuple[float, ...]:
    found = tuple(_number(part, where) for part in text.split())
    if min(found) < 0:
        raise TreeFormatError(where, "a class count is negative")
    if len(found) > limits.CLASSES:
        raise TreeFormatError(
            where, f"there are {len(found):,} class counts, and the limit is {limits.CLASSES:,}"
        )
    return found
