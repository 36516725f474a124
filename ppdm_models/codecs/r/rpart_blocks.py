"""The blocks of a summary of an rpart tree: one per node, with its numbers, its sons, and its splits."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import belongs, compared
from treewarden.ppdm_models.codecs.common.text_tree import as_float
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.tree.predicate import Predicate

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
class Ways:
    """The feature of a split, and the tests of its left and right son; ``levels`` is how many it has (0: a number)."""

    feature: str
    left: Predicate
    right: Predicate
    levels: int = 0


@dataclass(slots=True)
class Block:
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
    primary: list[Ways] = field(default_factory=list)
    surrogate: list[Ways] = field(default_factory=list)


def blocks_of(lines: Sequence[str], source: str) -> dict[int, Block]:
    """Return the nodes by number.

    Raises:
        TreeFormatError: a node stands twice, or a line is not understood.
    """
    found: dict[int, Block] = {}
    block: Block | None = None
    table: list[Ways] | None = None
    for number, line in enumerate(lines, 1):
        where = f"{source}:{number}"
        line = line.rstrip()
        head = HEAD.fullmatch(line)
        if head is not None:
            block, table = Block(int(head[1]), float(head[2]), where, number), None
            if block.number in found or len(found) >= limits.NODES:
                raise TreeFormatError(where, f"node {block.number} stands twice, or too many do")
            found[block.number] = block
        elif block is None or not line:
            continue
        elif line in TABLES:
            table = getattr(block, TABLES[line])
        elif table is not None:
            table.append(_ways(line, where))
        else:
            _fact(block, line, where)
    return found


def _fact(block: Block, line: str, where: str) -> None:
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
        raise TreeFormatError(where, f"{line.strip()[:80]!r} is no line of a summary of rpart")


def _ways(line: str, where: str) -> Ways:
    found = COMPARED.fullmatch(line)
    if found is not None:
        below, above = compared(found["name"], "<", _number(found["end"], where))
        is_left = found["side"] == "left"
        return Ways(found["name"], *((below, above) if is_left else (above, below)))
    listed = LISTED.fullmatch(line)
    if listed is None:
        raise TreeFormatError(where, f"{line.strip()[:80]!r} is no split of rpart")
    sides = (
        [str(place) for place, side in enumerate(listed["levels"], 1) if side == wanted]
        for wanted in "LR"
    )
    left, right = (belongs(listed["name"], side)[0] for side in sides)
    return Ways(listed["name"], left, right, len(listed["levels"]))


def _number(text: str, where: str) -> float:
    value = as_float(text)
    if value is None or not math.isfinite(value):
        raise TreeFormatError(where, f"{text[:40]!r} is no finite number")
    return value


def _numbers(text: str, where: str) -> tuple[float, ...]:
    found = tuple(_number(part, where) for part in text.split())
    if min(found) < 0 or len(found) > limits.CLASSES:
        raise TreeFormatError(where, "numbers of classes that are negative, or too many")
    return found
