"""The lines of a printed rpart tree: node number, test, records, loss or deviance, value and class shares."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.printed_trees import as_float, decimals_of
from treewarden.ppdm_models.unsupported_models import OF_TREE

CLASS_HEADER = "node), split, n, loss, yval, (yprob)"
NUMBER_HEADER = "node), split, n, deviance, yval"
OF_TREE_HEADER = "node), split, n, deviance, yval, (yprob)"
"""R's package tree prints this of its trees for classes."""
NODE = re.compile(r" *(\d{1,18})\) (.*)")
LINE_LENGTH = 20_000
MOST_WAYS = 50
FIELDS = re.compile(r"(?<! )(?= +(\d{1,15}) +([\d.eE+-]{1,40}) +(\S.*)$)")


@dataclass(frozen=True, slots=True)
class FieldSplit:
    """One way to take the fields of a line apart."""

    test: str
    records: int
    loss: float
    value: str


@dataclass(frozen=True, slots=True)
class RpartRow:
    """One node as printed; ``decimals`` are those of its class shares."""

    number: int
    line: int
    ways: tuple[FieldSplit, ...]
    is_leaf: bool
    shares: tuple[float, ...] = ()
    decimals: int = 0


def rows_of(lines: Sequence[str], source: str) -> tuple[bool, dict[int, RpartRow]]:
    """Return whether the leaves hold classes, and the nodes by number.

    Raises:
        TreeFormatError: there is no tree, there are several, or a line is not understood.
    """
    starts = [place for place, line in enumerate(lines) if line.startswith(NUMBER_HEADER[:16])]
    if len(starts) != 1:
        raise TreeFormatError(source, f"{len(starts)} printed rpart trees; give one tree per file")
    header = lines[starts[0]].strip()
    if header == OF_TREE_HEADER:
        raise TreeFormatError(f"{source}:{starts[0] + 1}", OF_TREE)
    if header not in (CLASS_HEADER, NUMBER_HEADER):
        raise TreeFormatError(
            f"{source}:{starts[0] + 1}",
            f"columns {header[:80]!r}; have {CLASS_HEADER!r}, {NUMBER_HEADER!r}",
        )
    rows: dict[int, RpartRow] = {}
    for place in range(starts[0] + 1, len(lines)):
        line = lines[place]
        found = NODE.fullmatch(line)
        if found is None:
            if rows and not line.strip():
                break
            if line.strip() not in ("", "* denotes terminal node"):
                raise TreeFormatError(f"{source}:{place + 1}", "no line of an rpart tree")
            continue
        row = _row(int(found[1]), found[2], place + 1, header == CLASS_HEADER, source)
        if row.number in rows or len(rows) >= limits.NODES:
            raise TreeFormatError(f"{source}:{place + 1}", f"node {row.number} stands twice")
        rows[row.number] = row
    return header == CLASS_HEADER, rows


def _row(number: int, text: str, line: int, is_class: bool, source: str) -> RpartRow:
    where = f"{source}:{line}"
    if len(text) > LINE_LENGTH:
        raise TreeFormatError(where, f"a line of more than {LINE_LENGTH:,} characters")
    text = text.rstrip()
    is_leaf = text.endswith(" *")
    text = text.removesuffix("*").rstrip()
    shares: list[float | None] = []
    decimals = 0
    if is_class:
        start = text.rfind("(")
        if start < 0 or not text.endswith(")"):
            raise TreeFormatError(where, "no class shares (yprob) at its end")
        printed = text[start + 1 : -1].split()
        shares = [as_float(share) for share in printed]
        decimals = max((decimals_of(share) for share in printed), default=0)
        text = text[:start].rstrip()
    known = tuple(share for share in shares if share is not None)
    if len(known) < len(shares) or any(not 0 <= share <= 1 for share in known):
        raise TreeFormatError(where, "class shares that are no shares")
    ways = tuple(_ways(text, is_class))
    if not 0 < len(ways) <= MOST_WAYS or (is_class and not known):
        raise TreeFormatError(where, "its records, loss and value are not found")
    return RpartRow(number, line, ways, is_leaf, known, decimals)


def _ways(text: str, is_class: bool) -> list[FieldSplit]:
    field_splits = []
    for match in islice(FIELDS.finditer(text), MOST_WAYS + 1):
        loss = as_float(match[2])
        is_value = is_class or as_float(match[3]) is not None
        if loss is not None and is_value:
            field_splits.append(
                FieldSplit(text[: match.start()].strip(), int(match[1]), loss, match[3].strip())
            )
    return field_splits


# Sets of categories as R prints them: separated by commas, though a category may hold commas itself.

INTERVAL = re.compile(r"[\[(][^,\[\]()]*,[^,\[\]()]*[\])]")


def printed_set(text: str, separator: str) -> tuple[str, ...]:
    """Return the values of a set; an interval, ``(20,30]`` as R's cut names them, is one value."""
    found: list[str] = []
    start = 0
    place = 0
    while place < len(text):
        interval = INTERVAL.match(text, place) if text[place] in "[(" else None
        if interval and (place == start) and _ends(text, interval.end(), separator):
            place = interval.end()
        elif text.startswith(separator, place) and _separates(text, place, separator):
            found.append(text[start:place])
            place = start = place + len(separator)
        else:
            place += 1
    return tuple(value for value in (*found, text[start:]) if value)


def _separates(text: str, place: int, separator: str) -> bool:
    """Whether a separator stands here: a comma before a blank is one only where all separators have the blank."""
    return separator != "," or not text.startswith(", ", place)


def _ends(text: str, place: int, separator: str) -> bool:
    return place == len(text) or text.startswith(separator, place)
