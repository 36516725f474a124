"""Trees printed as indented lines: lines and their depth, and which line stands below which."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json_layout import UnwritableError
from treewarden.ppdm_models.formats.common.node_order import belongs, compared
from treewarden.ppdm_models.tree.column import number_text
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate

LINES = 4 * limits.NODES
LINE_LENGTH = 100_000
NUMBERS_SPREAD = ("how far the numbers of its nodes spread",)
"""What is printed of a tree of numbers beside means, and not read."""
NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?")


@dataclass(frozen=True, slots=True)
class PrintedRow:
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
            f"more than {LINES:,} lines, or more than {LINE_LENGTH:,} characters in a "
            "line, which are the limits; train a smaller tree",
        )
    return [line.removesuffix("\r") for line in lines]


def nested(rows: Sequence[PrintedRow], source: str) -> list[list[int]]:
    """Return the children of each row, by position; the last list is of those at the top.

    Raises:
        TreeFormatError: a row is indented by more than one step, or there are too many rows or steps.
    """
    if len(rows) > limits.NODES:
        raise TreeFormatError(
            source, f"more than {limits.NODES:,} nodes, which is the limit; train a smaller tree"
        )
    children: list[list[int]] = [[] for _ in range(len(rows) + 1)]
    path = [len(rows)]
    for position, row in enumerate(rows):
        if row.depth > limits.DEPTH:
            raise TreeFormatError(
                f"{source}:{row.line}",
                f"more than {limits.DEPTH} tests deep, which is the limit; train shallower trees",
            )
        if row.depth >= len(path):
            raise TreeFormatError(
                f"{source}:{row.line}", "this line is indented by more than one step"
            )
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
            source,
            f"{leaves:,} leaves × {classes:,} classes are more than the limit of {limits.CLASS_NUMBERS:,} counts; "
            "train a smaller tree",
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
        raise TreeFormatError(where, f"{text[:60]!r} is not a number of records")
    return value


def decimals_of(text: str) -> int:
    """Return how many decimals a printed number has; fewer than 0 where it is rounded to tens."""
    mantissa, _, exponent = text.lower().partition("e")
    shift = int(exponent) if exponent.lstrip("+-").isdigit() and len(exponent) < 5 else 0
    return len(mantissa.partition(".")[2]) - shift


def rounding_of(thresholds: Iterable[str]) -> float:
    """Return how far thresholds that are printed with as many decimals may be from what they were; 0 where none is.

    Zeros at the end may be left out, so that the one with the most decimals counts.
    """
    decimals = [decimals_of(text) for text in thresholds if as_float(text) is not None]
    return 0.5 * 10.0 ** -max(decimals) if decimals else 0.0


# Printed tests, ``age <= 30`` or ``sex = F``: read by what all branches of one split agree on, never guessed.

NUMERIC = {"<=": ">", ">": "<=", "<": ">=", ">=": "<"}
SETS = ("=", "==", "in")
PLACES = 50
"""The most operators, or separators, of one line; each may be the one that counts."""


@dataclass(frozen=True, slots=True)
class PrintedBranch:
    """One way to read a printed branch: the test, and what follows it at a leaf (None: nothing does)."""

    feature: str
    operator: str
    value: str
    rest: str | None = None


def readings(text: str, operators: Sequence[str]) -> Iterator[PrintedBranch]:
    """Yield each way to read a test, none where there are too many; ``operators`` are written with their blanks."""
    if sum(text.count(operator) for operator in operators) > PLACES:
        return
    for operator in operators:
        start = text.find(operator, 1)
        while start > 0:
            feature, value = text[:start].strip(), text[start + len(operator) :].strip()
            if feature and value:
                yield PrintedBranch(feature, operator.strip(), value)
            start = text.find(operator, start + 1)


def with_rest(
    text: str, operators: Sequence[str], separator: str, is_rest: Callable[[str], bool]
) -> Iterator[PrintedBranch]:
    """Yield each way to read a test, the separator, and a rest that can be one."""
    start = text.find(separator) if text.count(separator) <= PLACES else -1
    while start >= 0:
        rest = text[start + len(separator) :]
        if is_rest(rest):
            for printed_branch in readings(text[:start], operators):
                yield replace(printed_branch, rest=rest)
        start = text.find(separator, start + 1)


def agreed(branches: Sequence[Sequence[PrintedBranch]], where: str) -> list[PrintedBranch]:
    """Return the one way to read the branches of a split together.

    Raises:
        TreeFormatError: there is none, or more than one.
    """
    names = {printed_branch.feature for printed_branch in branches[0]}
    for branch in branches[1:]:
        names &= {printed_branch.feature for printed_branch in branch}
    ways = []
    for name in sorted(names):
        for kind in (_numeric, _binary, _listed):
            way = kind(
                [
                    [printed_branch for printed_branch in branch if printed_branch.feature == name]
                    for branch in branches
                ]
            )
            if way is None:
                continue
            if any(len(branch) > 1 for branch in way):
                raise TreeFormatError(
                    where,
                    "the split can be read in several ways; rename values with commas or signs, or give another format",
                )
            ways.append([branch[0] for branch in way])
    if len(ways) != 1:
        raise TreeFormatError(
            where,
            "the split can be read in several ways; rename values with commas or signs, or give another format"
            if ways
            else "the branches of this split do not fit together",
        )
    return ways[0]


def tests(
    split: Sequence[PrintedBranch], where: str, values: Callable[[str], tuple[str, ...]]
) -> list[Predicate]:
    """Return the tests of a split; ``values`` takes a printed set apart.

    Raises:
        TreeFormatError: a value occurs in two branches.
    """
    first = split[0]
    if first.operator in NUMERIC:
        threshold = as_float(first.value)
        assert threshold is not None  # or it would not have been read as a number
        return list(compared(first.feature, first.operator, threshold))
    if any(printed_branch.operator == "!=" for printed_branch in split):
        inside, outside = belongs(first.feature, (first.value,))
        return [outside if printed_branch.operator == "!=" else inside for printed_branch in split]
    sets = [values(printed_branch.value) for printed_branch in split]
    listed = [value for each in sets for value in each]
    if len(set(listed)) < len(listed) or not all(sets):
        raise TreeFormatError(where, f"a value of {first.feature[:60]!r} occurs in two branches")
    return [belongs(first.feature, each)[0] for each in sets]


def _numeric(branches: Sequence[Sequence[PrintedBranch]]) -> list[list[PrintedBranch]] | None:
    """Two branches, ``<= 3`` and ``> 3``."""
    if len(branches) != 2:
        return None
    left, right = (
        [printed_branch for printed_branch in branch if printed_branch.operator in NUMERIC]
        for branch in branches
    )
    left = [printed_branch for printed_branch in left if as_float(printed_branch.value) is not None]
    pairs = [
        (one, other)
        for one in left[:50]
        for other in right[:50]
        if other.operator == NUMERIC[one.operator] and as_float(other.value) == as_float(one.value)
    ]
    return _sides(pairs)


def _binary(branches: Sequence[Sequence[PrintedBranch]]) -> list[list[PrintedBranch]] | None:
    """Two branches, ``= a`` and ``!= a``."""
    if len(branches) != 2:
        return None
    pairs = [
        (one, other)
        for one in branches[0][:50]
        for other in branches[1][:50]
        if {one.operator, other.operator} == {"=", "!="} and one.value == other.value
    ]
    return _sides(pairs)


def _sides(
    pairs: Sequence[tuple[PrintedBranch, PrintedBranch]],
) -> list[list[PrintedBranch]] | None:
    if not pairs:
        return None
    return [list(dict.fromkeys(pair[side] for pair in pairs)) for side in (0, 1)]


def _listed(branches: Sequence[Sequence[PrintedBranch]]) -> list[list[PrintedBranch]] | None:
    """Any branches, each with a value or a set of its own."""
    found = [
        [printed_branch for printed_branch in branch if printed_branch.operator in SETS]
        for branch in branches
    ]
    return found if all(found) else None


def printed_test(test: Predicate) -> tuple[str, str, tuple[str, ...]]:
    """Return the column, the operator and the values of a test as trees print it: the inverse of ``tests``.

    A set of values has the operator ``in``, one that excludes its values ``!=``.

    Raises:
        UnwritableError: no printed tree has such a test.
    """
    if isinstance(test, NumericTest):
        if math.isinf(test.low) and not math.isinf(test.high):
            return test.feature, "<=" if test.high_closed else "<", (number_text(test.high),)
        if math.isinf(test.high) and not math.isinf(test.low):
            return test.feature, ">=" if test.low_closed else ">", (number_text(test.low),)
    if isinstance(test, CategoryTest):
        return test.feature, "!=" if test.negated else "in", test.values
    raise UnwritableError("a test is neither a threshold nor a set of values")


# Which column of a class table is which label, by the label that stands where that column is largest.

Numbers = Sequence[float]


def named_classes(width: int, seen: Iterable[tuple[Numbers, str]]) -> tuple[str, ...] | None:
    """Return the labels in the order of the columns; None where two nodes contradict each other.

    A class that no node predicts has no label in the file, and is called ``(class 3)`` after its column.
    """
    found: dict[int, str] = {}
    for numbers, label in seen:
        top = max(numbers)
        best = [place for place, number in enumerate(numbers) if number == top]
        if len(best) == 1 and found.setdefault(best[0], label) != label:
            return None
    if len(set(found.values())) < len(found):
        return None
    names = tuple(found.get(place, f"(class {place + 1})") for place in range(width))
    return names if len(set(names)) == width else None
