"""Trees from noisy records: five ways, three of them on reconstructed distributions.

Agrawal & Srikant (2000), section 4: Global reconstructs each attribute once, ByClass once for each class, Local for
each class again at each node. Original and Randomized grow on true and noisy values as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.randomised.coding import Coding, coding_of, intervals_of
from treewarden.ppdm_models.randomised.generating import Attribute
from treewarden.ppdm_models.randomised.growing import Grown, grow
from treewarden.ppdm_models.randomised.intervals import Intervals
from treewarden.ppdm_models.randomised.noise import Hiding
from treewarden.ppdm_models.randomised.reconstructing import Kernel, check_reach
from treewarden.ppdm_models.randomised.splits import Codes

Numbers = NDArray[np.float64]
FEWEST_RECORDS = 1_000
FEWEST_OF_A_CLASS = 100
"""Below these a node's distributions are not reconstructed again: there is too little to see."""


class Method(StrEnum):
    """How a tree is grown from noisy records."""

    GLOBAL = "global"
    BYCLASS = "byclass"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Learned:
    """A tree over interval codes, and the intervals of each attribute.

    ``left_out`` are records that it was not grown on, as they lack a value.
    """

    grown: Grown
    intervals: tuple[Intervals, ...]
    left_out: int = 0

    def codes(self, columns: Sequence[Numbers]) -> Codes:
        """Return the codes of records with true values: those that a tree is used for."""
        pairs = zip(self.intervals, columns, strict=True)
        return np.stack([own.numbers(values) for own, values in pairs], axis=1)

    def predicted(self, columns: Sequence[Numbers]) -> Codes:
        """Return the class of each record."""
        return self.grown.predicted(self.codes(columns))


@dataclass(frozen=True, slots=True)
class Noisy:
    """Noisy records: each attribute's values, the noise in them (None: none), and its domain; classes in clear."""

    attributes: tuple[Attribute, ...]
    columns: Mapping[str, Numbers]
    noise: Mapping[str, Hiding | None]
    classes: Codes
    class_count: int


def learn(records: Noisy, method: Method, kind: Kernel = Kernel.MIDPOINT) -> Learned:
    """Return a tree grown from noisy records; those that lack a value (NaN) are left out.

    The intervals of an attribute are the same at every node, for one tree has one set of possible thresholds: for
    Global as many as all records allow, else as many as the smallest class allows.

    Raises:
        ValueError: a value lies where its noise cannot have put it (its column is named, and its row, from 1), or no
            record is left.
    """
    table = np.stack([records.columns[each.name] for each in records.attributes])
    is_there = np.asarray(~np.isnan(table).any(axis=0))
    if not is_there.any():
        raise ValueError("no record has a value in every column; choose other columns")
    everyone = np.flatnonzero(is_there)
    classes = records.classes[everyone]
    sizes = np.bincount(classes)
    group = int(sizes.sum() if method is Method.GLOBAL else sizes[sizes > 0].min())
    hidings = [records.noise[each.name] for each in records.attributes]
    own = tuple(map(intervals_of, records.attributes, hidings, [group] * len(hidings)))
    for number, each in enumerate(records.attributes):
        _check(each.name, table[number], hidings[number], own[number])
    codings = [
        coding_of(values[everyone], hiding, intervals, kind)
        for values, hiding, intervals in zip(table, hidings, own, strict=True)
    ]
    tree = _grown(codings, own, classes, records.class_count, method)
    return Learned(tree, own, len(is_there) - len(everyone))


def _grown(
    codings: Sequence[Coding],
    own: Sequence[Intervals],
    classes: Codes,
    class_count: int,
    method: Method,
) -> Grown:
    codes = np.zeros((len(classes), len(own)), np.int64)
    everyone = np.arange(len(classes))
    for rows in [everyone] if method is Method.GLOBAL else _by_class(classes, everyone):
        for number, coding in enumerate(codings):
            codes[rows, number] = coding(rows)

    def again(rows: Codes, above: frozenset[int]) -> dict[int, Codes]:
        groups = _by_class(classes, rows) if len(rows) >= FEWEST_RECORDS else []
        if min(map(len, groups), default=0) < FEWEST_OF_A_CLASS:
            return {}
        others = sorted(set(range(len(own))) - above)
        found = {number: np.zeros(len(rows), np.int64) for number in others}
        for group in groups:
            here = np.searchsorted(rows, group)
            for number, changed in found.items():
                changed[here] = codings[number](group)
        return found

    counts = np.array([each.count for each in own])
    return grow(codes, counts, classes, class_count, again if method is Method.LOCAL else None)


def _by_class(classes: Codes, rows: Codes) -> list[Codes]:
    """Return the rows of each class that there is among some."""
    here = classes[rows]
    return [rows[here == each] for each in np.unique(here)]


def _check(name: str, values: Numbers, hiding: Hiding | None, own: Intervals) -> None:
    if hiding is None:
        return
    rows = np.flatnonzero(~np.isnan(values))
    try:
        check_reach(values[rows], hiding, own, rows)
    except ValueError as error:
        raise ValueError(f"column {name!r}, {error}") from error
