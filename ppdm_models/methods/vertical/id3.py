"""Plain ID3 on the joined table: what the parties' tree has to equal, node by node."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.ppdm_models.methods.vertical.party_view import (
    LEAF,
    Codes,
    PartyAttribute,
    Skeleton,
    SkeletonNode,
    WholeTree,
    crossed,
)
from treewarden.ppdm_models.methods.vertical.session import Stops, majority, score


def plain_id3(
    attributes: Sequence[PartyAttribute], classes: Codes, class_count: int, stops: Stops
) -> WholeTree:
    """Return the tree; places have no owners' numbers here, all belong to owner 0.

    One branch per category, also where it has no record: that is a leaf with the parent's label. Every attribute is
    tested at most once on a path, the first of equally good ones.
    """
    places: list[SkeletonNode] = []
    tested: list[int] = []

    def grow(rows: Codes, used: frozenset[int], label: int) -> int:
        number = len(places)
        places.append(SkeletonNode())
        tested.append(LEAF)
        totals = np.bincount(classes[rows], minlength=class_count)
        own = majority(totals) if len(rows) else label
        left = [each for each in range(len(attributes)) if each not in used]
        is_full = not left or (stops.depth is not None and len(used) >= stops.depth)
        if is_full or is_settled(totals, stops):
            places[number] = SkeletonNode(label=own)
            return number
        best = min(left, key=lambda each: (_score(attributes[each], rows), each))
        codes = attributes[best].codes[rows]
        tested[number] = best
        below = tuple(
            grow(rows[codes == code], used | {best}, own)
            for code in range(len(attributes[best].categories))
        )
        places[number] = SkeletonNode(0, 0, below)
        return number

    def _score(attribute: PartyAttribute, rows: Codes) -> int:
        return score(
            crossed(attribute.codes[rows], len(attribute.categories), classes[rows], class_count)
        )

    grow(np.arange(len(classes)), frozenset(), 0)
    return WholeTree(tuple(tested), Skeleton(tuple(places)))


def is_settled(totals: Codes, stops: Stops) -> bool:
    """Return whether the records of a node are not to be split: too few, or all of one class."""
    return bool(totals.sum() < stops.min_records or np.count_nonzero(totals) < 2)
