"""The rows of a Spark table as nodes: counts at each one, categories as numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.codecs.common.grow import Branch, Draft, belongs, compared, grown
from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.tree.predicate import Predicate
from treewarden.ppdm_models.tree.tree import Node

UNUSED = -1
SQUARES_ROUNDING = 2.0**-40
"""How far sums of squares may be off, relatively: each record's square rounds once."""


def nodes_of(
    rows: Sequence[Part], names: Sequence[str], classes: tuple[str, ...], source: str
) -> tuple[Node, ...]:
    """Return the nodes of one tree; node 0 is the root.

    ``impurityStats`` are the records of each class (or weights, see ``are_weighed``); for a regression their number,
    the sum of their targets and the sum of the squares.

    Raises:
        TreeFormatError: a row is malformed, or the rows form no tree.
    """
    by_id: dict[int, Part] = {}
    for row in rows:
        number = row["id"].whole()
        if number in by_id:
            raise row.refused(f"a second node {number}")
        by_id[number] = row

    def draft_of(number: int) -> Draft:
        row = by_id.get(number)
        if row is None:
            raise rows[0].refused(f"no node {number}")
        return _draft(row, names, classes)

    return grown(0, draft_of, source)


def are_weighed(rows: Sequence[Part], classes: tuple[str, ...]) -> bool:
    """Whether the statistics of some node do not sum to its number of records: the records had weights."""
    for row in rows:
        counted = _raw_count(row)
        stats = row["impurityStats"].numbers()
        total = math.fsum(stats) if classes else stats[0]
        if counted is not None and counted != total:
            return True
    return False


def _draft(row: Part, names: Sequence[str], classes: tuple[str, ...]) -> Draft:
    stats = row["impurityStats"]
    numbers = tuple(item.amount() for item in stats) if classes else stats.numbers()
    if len(numbers) != (len(classes) or 3):
        raise stats.refused(f"{len(numbers)} numbers, where {len(classes) or 3} are expected")
    counted = _raw_count(row)
    if counted is None and not classes:
        counted = stats.at(0).amount()
    prediction = row["prediction"]
    score: str | float = prediction.number()
    if classes:
        if score not in range(len(classes)):
            raise prediction.refused("not the number of a class")
        score = classes[int(score)]
    return Draft(
        name=str(row["id"].whole()),
        branches=_branches(row, names),
        score=score,
        records=counted,
        class_counts=numbers if classes else None,
        spread=None if classes else _spread(stats.numbers()),
    )


def _spread(stats: Sequence[float]) -> tuple[float, float] | None:
    """Return between which ends the mean squared distance from the mean lies.

    ``stats`` are how many records there are, the sum of their numbers and that of the squares.
    """
    count, total, squares = stats
    if count <= 0:
        return None
    found = squares / count - (total / count) ** 2
    room = SQUARES_ROUNDING * (abs(squares) / count + (total / count) ** 2)
    return max(found - room, 0.0), max(found + room, 0.0)


def _raw_count(row: Part) -> float | None:
    """Return how many records there were, where the version of Spark says so."""
    counted = row.get("rawCount")
    return None if counted is None or counted.value == UNUSED else counted.amount()


def _branches(row: Part, names: Sequence[str]) -> tuple[Branch, ...]:
    left, right = row["leftChild"].whole(low=UNUSED), row["rightChild"].whole(low=UNUSED)
    if (left == UNUSED) != (right == UNUSED):
        raise row.refused("one child only")
    if left == UNUSED:
        return ()
    split = row["split"]
    place, listed = split["featureIndex"], split["leftCategoriesOrThreshold"]
    if place.whole() >= len(names):
        raise place.refused("no feature has this number")
    name = names[place.whole()]
    categories = split["numCategories"].whole(low=UNUSED, high=limits.FEATURES)
    if categories == UNUSED:
        if len(listed) != 1:
            raise listed.refused(f"{len(listed)} thresholds, where one is expected")
        no_more, more = compared(name, "<=", listed.at(0).number())
        return Branch(left, no_more), Branch(right, more, takes_missing=True)
    to_left, is_left, is_right = _categories(listed, categories, name)
    return Branch(left, is_left, to_left), Branch(right, is_right, not to_left)


def _categories(listed: Part, size: int, name: str) -> tuple[bool, Predicate, Predicate]:
    """Return where unseen and missing values go (left?), and the tests of both sides.

    Spark keeps the smaller side (the left one up to half the categories); whatever is not in it goes the other way.
    """
    numbers = [item.number() for item in listed]
    if any(number not in range(size) for number in numbers):
        raise listed.refused(f"a category that is no number below {size}")
    left = [str(int(number)) for number in numbers]
    if len(numbers) <= size / 2:
        inside, outside = belongs(name, left)
        return False, inside, outside
    inside, outside = belongs(name, sorted({str(code) for code in range(size)} - set(left)))
    return True, outside, inside
