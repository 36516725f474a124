"""What Weka prints for a DecisionStump: one test, its opposite, and a side of its own for missing values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    compared,
    features_named,
    grown,
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import as_float, lines_of
from treewarden.ppdm_models.formats.rare._weka import header_leaks
from treewarden.ppdm_models.semantics.support import with_support
from treewarden.ppdm_models.tree.predicate import CategoryTest, MissingTest, Predicate
from treewarden.ppdm_models.tree.tree import Missing, Task, Tree

TITLE, LABELS, SHARES = "Decision Stump", "Classifications", "Class distributions"
MISSING = " is missing : "
SIDES = (("=", "!="), ("<=", ">"))
ROUNDED = 1e-6
"""How far shares may be from 1 in all."""


class WekaStump(Format):
    """Reads the classes of each side and, of a class, their shares; what is printed around may stay."""

    how_to_export = "print it again in Weka"

    def sniff(self, data: bytes) -> bool:
        lines = [line.strip() for line in data[:65536].split(b"\n")]
        return TITLE.encode() in lines and LABELS.encode() in lines

    def open(self, data: bytes, source: str) -> Opened:
        lines = lines_of(data, source)
        return Opened(_read(lines, source), header_leaks(lines))


def _read(lines: Sequence[str], source: str) -> Tree:
    start = _after(lines, LABELS, 0, source)
    labels = [_line(lines, start + offset, source) for offset in range(3)]
    name, _, at_missing = labels[2].partition(MISSING)
    if not name or not at_missing:
        raise TreeFormatError(
            f"{source}:{start + 3}",
            'the branch for missing values ("x is missing : …") is not in the file',
        )
    is_class = any(line.strip() == SHARES for line in lines)
    shares = _shares(lines, source) if is_class else None
    classes = () if shares is None else shares[0]
    sides, ends = _sides(labels[:2], name, classes, f"{source}:{start + 1}")
    scores = [*ends, at_missing]
    rows = None if shares is None else shares[1]
    tests = (*sides, MissingTest(name))

    def draft_of(place: int) -> Draft:
        if place:
            score = _score(scores[place - 1], classes, f"{source}:{start + place}")
            row = None if rows is None else rows[place - 1]
            return Draft(f"side {place}", score=score, class_shares=row)
        branches = tuple(Branch(index, test) for index, test in enumerate(tests, 1))
        return Draft("root", branches)

    nodes = grown(0, draft_of, source)
    return with_support(
        Tree(
            nodes=nodes,
            features=features_named([name], nodes, source),
            target="",
            classes=classes,
            task=Task.CLASSIFICATION if classes else Task.REGRESSION,
            missing=Missing.NONE,
            source=source,
        )
    )


def _after(lines: Sequence[str], title: str, start: int, source: str) -> int:
    """Return the place of the first line with words below a title."""
    found = [place for place in range(start, len(lines)) if lines[place].strip() == title]
    if len(found) != 1:
        raise TreeFormatError(
            source, f"{title!r} occurs {len(found)} times; give one stump per file"
        )
    place = found[0] + 1
    while place < len(lines) and not lines[place].strip():
        place += 1
    return place


def _line(lines: Sequence[str], place: int, source: str) -> str:
    if place >= len(lines) or not lines[place].strip():
        raise TreeFormatError(f"{source}:{place + 1}", "the stump is incomplete")
    return lines[place].rstrip()


def _sides(
    labels: Sequence[str], name: str, classes: tuple[str, ...], where: str
) -> tuple[tuple[Predicate, Predicate], tuple[str, str]]:
    """Return the tests of the two sides, and what each predicts; the value may hold what looks like a label."""
    for signs in SIDES:
        starts = [f"{name} {sign} " for sign in signs]
        if not all(line.startswith(start) for line, start in zip(labels, starts, strict=True)):
            continue
        rests = [line[len(start) :] for line, start in zip(labels, starts, strict=True)]
        for value in _values(rests[0]):
            ends = [rest[len(value) + 3 :] for rest in rests]
            fits = all(rest.startswith(f"{value} : ") for rest in rests)
            if fits and all(_is_label(end, classes) for end in ends):
                return _tests(name, signs[0], value, where), (ends[0], ends[1])
    raise TreeFormatError(
        where,
        'the second branch must be the opposite of the first, for example "x <= 5" and "x > 5"',
    )


def _values(text: str) -> list[str]:
    """Return what may be the value: all before some " : ", the longest first."""
    parts = text.split(" : ")
    return [" : ".join(parts[:count]) for count in range(len(parts) - 1, 0, -1)]


def _is_label(text: str, classes: tuple[str, ...]) -> bool:
    return text in classes if classes else as_float(text) is not None


def _tests(name: str, sign: str, value: str, where: str) -> tuple[Predicate, Predicate]:
    if sign == "=":
        return CategoryTest(name, (value,)), CategoryTest(name, (value,), negated=True)
    end = as_float(value)
    if end is None or not math.isfinite(end):
        raise TreeFormatError(where, f"{value[:60]!r} is not a number to compare with")
    return compared(name, "<=", end)


def _score(text: str, classes: tuple[str, ...], where: str) -> str | float:
    number = as_float(text)
    if classes and text in classes:
        return text
    if classes or number is None or not math.isfinite(number):
        raise TreeFormatError(where, f"{text[:60]!r} is not a prediction")
    return number


def _shares(lines: Sequence[str], source: str) -> tuple[tuple[str, ...], list[tuple[float, ...]]]:
    """Return the classes, and their shares on each side."""
    start = _after(lines, SHARES, 0, source)
    classes: tuple[str, ...] = ()
    rows: list[tuple[float, ...]] = []
    for side in range(3):
        place = start + 3 * side
        where = f"{source}:{place + 2}"
        named = tuple(_line(lines, place + 1, source).split("\t"))
        names = unique(named, "classes", where, limits.CLASSES)
        if classes and names != classes:
            raise TreeFormatError(where, "the classes differ from those above")
        classes = names
        numbers = [as_float(text) for text in _line(lines, place + 2, source).split("\t")]
        row = tuple(number for number in numbers if number is not None and 0 <= number <= 1)
        if len(row) != len(classes) or abs(math.fsum(row) - 1.0) > ROUNDED:
            raise TreeFormatError(f"{source}:{place + 3}", "the shares do not sum to 1")
        rows.append(row)
    return classes, rows


FORMAT = WekaStump()
