"""Splits of R's forests on factors: level numbers, bit masks of levels, or a cut between levels, as level names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.node_order import belongs, unique
from treewarden.ppdm_models.tree.predicate import Predicate

LARGEST_MASK = 2**53
"""randomForest writes a mask as a number; beyond this it loses bits."""

Levels = Mapping[str, tuple[str, ...]]
"""The levels of each factor in R's order, by variable."""


def levels_of(root: JsonPart) -> Levels:
    """Return the levels that stand beside the trees; what has none, or R's 0 for none, is a number.

    Raises:
        TreeFormatError: a level stands twice, or is no text.
    """
    json_part = root.get("levels")
    listed = {} if json_part is None else dict(json_part.entries())
    return {
        name: unique(
            (level.text() for level in part), f"levels of {name[:60]!r}", root.source, 10_000
        )
        for name, part in listed.items()
        if part.is_list and len(part) and part.at(0).value != 0
    }


def listed_right(
    name: str, numbers: Sequence[str], levels: Levels, value: JsonPart
) -> tuple[Predicate, Predicate]:
    """Return the tests of a split whose listed levels go right; without names levels are called by their numbers."""
    known = levels.get(name)
    if known is None:
        right, left = belongs(name, numbers)
        return left, right
    if any(not 0 < int(number) <= len(known) for number in numbers):
        raise value.refused(f"a level does not belong to the {len(known)} levels of {name[:60]!r}")
    listed = {int(number) for number in numbers}
    return _parted(name, known, [place not in listed for place in range(1, len(known) + 1)])


def cut_between(name: str, levels: Sequence[str], end: float) -> tuple[Predicate, Predicate]:
    """Return the tests of a split whose levels up to a number go left."""
    return _parted(name, levels, [place <= end for place in range(1, len(levels) + 1)])


def masked_left(name: str, levels: Sequence[str], value: JsonPart) -> tuple[Predicate, Predicate]:
    """Return the tests of a split whose bits say which levels go left."""
    mask = value.whole(low=1, high=LARGEST_MASK)
    return _parted(name, levels, [bool(mask >> place & 1) for place in range(len(levels))])


def _parted(
    name: str, levels: Sequence[str], goes_left: Sequence[bool]
) -> tuple[Predicate, Predicate]:
    left, right = (
        belongs(
            name, [level for level, goes in zip(levels, goes_left, strict=True) if goes == side]
        )[0]
        for side in (True, False)
    )
    return left, right
