"""Trees printed as indented lines: lines and their depth, and which line stands below which."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError

LINES = 4 * limits.NODES
LINE_LENGTH = 100_000
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a printed tree: its number in the file, its depth, and what it says."""

    line: int
    depth: int
    text: str


def lines_of(data: bytes, source: str) -> list[str]:
    """Return the lines of UTF-8 text, without what ends them.

    Raises:
        TreeFormatError: the bytes are no UTF-8, or there are too many lines.
    """
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise TreeFormatError(source, f"not UTF-8 text ({error}); save it as UTF-8") from error
    if len(lines) > LINES or max(map(len, lines)) > LINE_LENGTH:
        raise TreeFormatError(
            source,
            f"more than the {LINES:,} lines or {LINE_LENGTH:,} characters a line that are read",
        )
    return [line.removesuffix("\r") for line in lines]


def nested(rows: Sequence[Row], source: str) -> list[list[int]]:
    """Return the children of each row, by position; the last list is of those at the top.

    Raises:
        TreeFormatError: a row is indented by more than one step, or there are too many rows or steps.
    """
    if len(rows) > limits.NODES:
        raise TreeFormatError(source, f"more than {limits.NODES:,} nodes")
    children: list[list[int]] = [[] for _ in range(len(rows) + 1)]
    path = [len(rows)]
    for position, row in enumerate(rows):
        if row.depth > limits.DEPTH:
            raise TreeFormatError(f"{source}:{row.line}", f"more than {limits.DEPTH} tests deep")
        if row.depth >= len(path):
            raise TreeFormatError(f"{source}:{row.line}", "indented by more than one step")
        del path[row.depth + 1 :]
        children[path[-1]].append(position)
        path.append(position)
    return children


def check_class_numbers(leaves: int, classes: int, source: str) -> None:
    """Refuse more counts than are held: one per leaf and class.

    Raises:
        TreeFormatError: there are too many.
    """
    if leaves * classes > limits.CLASS_NUMBERS:
        raise TreeFormatError(
            source, f"{leaves:,} leaves with {classes:,} classes are too many counts"
        )


def as_float(text: str) -> float | None:
    """Return a finite number, None where the text is none."""
    text = text.strip()
    value = float(text) if len(text) <= 40 and NUMBER.fullmatch(text) else math.inf
    return value if math.isfinite(value) else None


def amount(text: str, where: str) -> float:
    """Return a number that counts something.

    Raises:
        TreeFormatError: it is none, or negative.
    """
    value = as_float(text)
    if value is None or value < 0:
        raise TreeFormatError(where, f"{text[:60]!r} is no number of records")
    return value


def decimals_of(text: str) -> int:
    """Return how many decimals a printed number has; fewer than 0 where it is rounded to tens."""
    mantissa, _, exponent = text.lower().partition("e")
    shift = int(exponent) if exponent.lstrip("+-").isdigit() and len(exponent) < 5 else 0
    return len(mantissa.partition(".")[2]) - shift
