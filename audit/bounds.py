"""Ends of what many numbers may be, over every table that fits what is published: proved, reached, and being narrowed.

Every proof and every search over tables ends in these records, whatever the kind of model or of adversary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, Self, TypeVar

import numpy as np

from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IndexArray, IntArray

Ends = TypeVar("Ends", IntArray, FloatArray)


class ContradictionError(Exception):
    """No table fits what is published; ``says`` names the facts or rows that conflict."""

    def __init__(self, *says: str) -> None:
        super().__init__("; ".join(says))
        self.says = says


@dataclass(frozen=True, slots=True, eq=False)
class ProvedEnds(Generic[Ends]):
    """Ends of many numbers: of people by group and value, (C, m), or of a number that each group has, (C,).

    In every table that fits what is published, each number is at least ``low`` and at most ``high``.
    """

    low: Ends
    high: Ends

    @property
    def is_fixed(self) -> BoolArray:
        """Whether each number is known, of the shape of the ends."""
        return np.asarray(self.low == self.high)


@dataclass(frozen=True, slots=True, eq=False)
class Bounds(ProvedEnds[Ends]):
    """Proved ends, and how far tables go that were found.

    Tables that fit were found, and checked, that take each number as far as ``reached_low`` and ``reached_high``. Where
    none was found, ``reached_low`` is above ``reached_high``.
    """

    reached_low: Ends
    reached_high: Ends

    def of_groups(self, groups: IndexArray) -> Self:
        """Return the same of some groups."""
        return replace(self, **{name: getattr(self, name)[groups] for name in ENDS})

    def in_order(self, values: IndexArray) -> Self:
        """Return the same with the values, (C, m), in another order."""
        return replace(self, **{name: getattr(self, name)[:, values] for name in ENDS})

    def reaching(self, low: Ends, high: Ends) -> Self:
        """Return the same with more tables, which go as far as ``low`` and ``high``, within what is proved."""
        return replace(
            self,
            reached_low=np.minimum(self.reached_low, np.maximum(low, self.low)),
            reached_high=np.maximum(self.reached_high, np.minimum(high, self.high)),
        )


ENDS = ("low", "high", "reached_low", "reached_high")


def stack_bounds(parts: Sequence[Bounds[Ends]]) -> Bounds[Ends]:
    """Return the bounds of several parts, one below the other."""
    return Bounds(*(np.concatenate([getattr(part, name) for part in parts]) for name in ENDS))


NO_ROW = -1


@dataclass(frozen=True, slots=True, eq=False)
class RowBounds(ProvedEnds[IntArray]):
    """What rows prove of a problem's numbers, (C, w), and per group the row that alone left it one class: (C,).

    The row is ``NO_ROW`` where none did. Rows that had no part in narrowing the ends are not ``used`` (R,): without
    those the ends are the same. None where that is not known.
    """

    row: IndexArray
    used: BoolArray | None = None


class PositionSpan(Protocol):
    """What is about the positions from ``start`` to before ``end``: the splits of a node."""

    @property
    def start(self) -> int:
        """The first position."""

    @property
    def end(self) -> int:
        """The one after the last position."""

    def __hash__(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class CellBounds(ProvedEnds[IntArray]):
    """Ends of every cell of one tree, (P, m), while proofs narrow them; ``why`` is what proved one, by cell and side.

    The only ends that change while the engine works: one moves inwards only, each time with its proof, and ``moves``
    counts how often one did; ``moved`` (P,) is which of these moves was a profile's last. ``looked`` says of a split
    how many moves there had been when it was last looked at for what follows from it.
    """

    why: dict[tuple[int, int, str], str] = field(default_factory=dict)
    last: dict[int, str] = field(default_factory=dict)
    looked: dict[PositionSpan, int] = field(default_factory=dict)
    moved: IntArray = field(init=False)
    _moves: list[int] = field(default_factory=lambda: [0])

    def __post_init__(self) -> None:
        object.__setattr__(self, "moved", np.zeros(len(self.low), dtype=np.int64))

    @property
    def moves(self) -> int:
        """How often an end moved."""
        return self._moves[0]

    def is_new(self, split: PositionSpan) -> bool:
        """Return whether a cell below a split moved since it was looked at, if it ever was."""
        before = self.looked.get(split, -1)
        return bool(self.moved[split.start : split.end].max(initial=0) > before)

    def raise_low(self, position: int, klass: int, value: int, why: str) -> bool:
        """Note that a cell holds at least so many."""
        if value <= self.low[position, klass]:
            return False
        self.low[position, klass] = value
        self.why[position, klass, "low"] = self.last[position] = why
        return self._checked(position, klass, why)

    def cut_high(self, position: int, klass: int, value: int, why: str) -> bool:
        """Note that a cell holds at most so many."""
        if value >= self.high[position, klass]:
            return False
        self.high[position, klass] = value
        self.why[position, klass, "high"] = self.last[position] = why
        return self._checked(position, klass, why)

    def _checked(self, position: int, klass: int, why: str) -> bool:
        self._moves[0] += 1
        self.moved[position] = self._moves[0]
        if self.low[position, klass] > self.high[position, klass]:
            sides = (self.why.get((position, klass, side)) for side in ("low", "high"))
            raise ContradictionError(*dict.fromkeys([*(s for s in sides if s), why]))
        return True


# Where records stop, and between which ends the classes there are.


@dataclass(frozen=True, slots=True)
class StoppingPlace:
    """A node where records stop, its positions [start, end), its records, and what is known of its class counts.

    ``label`` leads every other class by ``leads`` (m,) records; -1 where no class is known to lead.
    """

    node: int
    start: int
    end: int
    records: int
    low: Sequence[int]
    high: Sequence[int]
    label: int = -1
    leads: Sequence[int] = ()

    @property
    def is_fixed(self) -> bool:
        """Whether every class count is known."""
        return tuple(self.low) == tuple(self.high)

    @property
    def is_possible(self) -> bool:
        """Whether any class counts are left."""
        return all(a <= b for a, b in zip(self.low, self.high, strict=True)) and sum(
            self.low
        ) <= self.records <= sum(self.high)

    def holds(self, totals: IntArray) -> BoolArray:
        """Return whether class totals, shape (..., m), are among those that the place allows."""
        inside = (totals >= np.array(self.low)) & (totals <= np.array(self.high))
        if self.label >= 0 and not self.is_fixed:
            lead = totals[..., [self.label]] - totals - np.array(self.leads)
            lead[..., self.label] = 0
            inside &= lead >= 0
        return np.asarray(inside.all(axis=-1))


def tightened(place: StoppingPlace) -> StoppingPlace:
    """Return the place with each class's ends drawn in by the others' and by the label's lead."""
    low, high = list(place.low), list(place.high)
    size = len(low)
    while True:
        before = (*low, *high)
        if place.label >= 0:
            label = place.label
            leads = sum(place.leads) - place.leads[label]
            low[label] = max(low[label], -(-(place.records + leads) // size))
            for klass in range(size):
                if klass != label:
                    margin = place.leads[klass]
                    half = (place.records - margin) // 2
                    high[klass] = min(high[klass], high[label] - margin, half)
                    low[label] = max(low[label], low[klass] + margin)
        lows, highs = sum(low), sum(high)
        for klass in range(size):
            low[klass] = max(low[klass], place.records - (highs - high[klass]))
            high[klass] = min(high[klass], place.records - (lows - low[klass]))
            lows, highs = sum(low), sum(high)
        if (*low, *high) == before or any(a > b for a, b in zip(low, high, strict=True)):
            return replace(place, low=tuple(low), high=tuple(high))
