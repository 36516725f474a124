"""The splits of an rpart object: which rows belong to a node, and the tests they stand for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treewarden.ppdm_models.codecs.common.grow import belongs, compared
from treewarden.ppdm_models.codecs.common.part import Part
from treewarden.ppdm_models.tree.impurity import FLOAT_SLACK
from treewarden.ppdm_models.tree.other_split import OtherSplit
from treewarden.ppdm_models.tree.predicate import Predicate, Surrogate

OTHER_SPLITS = "how much other splits of its nodes would improve"
LEFT, ABSENT, RIGHT = 1, 2, 3


@dataclass(frozen=True, slots=True)
class Ways:
    """The tests of both children; ``records`` are those that had a value for the split."""

    left: Predicate
    right: Predicate
    records: float
    has_absent: bool = False


@dataclass(frozen=True, slots=True)
class FrameRow:
    """One row of the frame, and the rows of the split table that belong to it."""

    part: Part
    number: int
    is_leaf: bool
    primary: Part | None
    competitors: tuple[Part, ...]
    surrogates: tuple[Part, ...]


def frame_rows(root: Part) -> list[FrameRow]:
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
        own = [] if is_leaf else listed[start : start + 1 + sum(others)]
        if not is_leaf and (
            len(own) != 1 + sum(others) or own[0]["var"].text() != part["var"].text()
        ):
            raise part.refused("its splits are not in the split table")
        start += len(own)
        middle = 1 + others[0]
        primary = own[0] if own else None
        found.append(
            FrameRow(part, number, is_leaf, primary, tuple(own[1:middle]), tuple(own[middle:]))
        )
    if start != len(listed):
        raise root.refused(f"{len(listed)} splits, but the frame uses {start}")
    return found


def other_splits(
    row: FrameRow, csplit: Part | None, levels: Mapping[str, Sequence[str]], decimals: int
) -> tuple[OtherSplit, ...]:
    """Return the splits of a node that were not taken and that every record of it has a value for.

    Their improvements are by gini, and rounded to so many decimals.
    """
    found = []
    for part in (each for each in row.competitors if each["var"].value):
        ways, improve = _ways(part, csplit, levels), part["improve"].number()
        if ways.records == row.part["n"].amount() and not ways.has_absent:
            slack = 0.5 * 10.0**-decimals + FLOAT_SLACK * max(1.0, improve)
            found.append(OtherSplit(ways.left, ways.right, improve - slack, improve + slack))
    return tuple(found)


def ways_of(
    row: FrameRow, csplit: Part | None, levels: Mapping[str, Sequence[str]], with_surrogates: bool
) -> Ways:
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
    return Ways(left, right, ways[0].records, any(way.has_absent for way in ways))


def _ways(split: Part, csplit: Part | None, levels: Mapping[str, Sequence[str]]) -> Ways:
    name = split["var"].text()
    sides = split["ncat"].whole(low=-1, high=10_000)
    records = split["count"].amount()
    if sides in (-1, 1):
        left, right = compared(name, "<" if sides == -1 else ">=", split["index"].number())
        return Ways(left, right, records)
    if name not in levels or len(levels[name]) != sides or csplit is None:
        raise split.refused(
            f'the {sides} levels of {name[:60]!r} are not in the file; write xlevels = attr(model, "xlevels") too'
        )
    row = csplit.at(split["index"].whole(low=1) - 1)
    codes = [item.whole(low=LEFT, high=RIGHT) for item in row][:sides]
    if len(codes) < sides:
        raise row.refused(f"fewer than the {sides} levels of {name[:60]!r}")
    pairs = list(zip(levels[name], codes, strict=True))
    left, right = (
        belongs(name, [level for level, code in pairs if code == side])[0] for side in (LEFT, RIGHT)
    )
    return Ways(left, right, records, ABSENT in codes)
