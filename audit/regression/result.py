"""What a model's leaves prove of the numbers that people have, as measures and reports read it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from treewarden.audit.bounds import Bounds
from treewarden.audit.population.target import RankedContributions
from treewarden.audit.reading import Interval
from treewarden.ppdm_models.arrays import BoolArray, FloatArray
from treewarden.ppdm_models.tree.ensemble import Fact

if TYPE_CHECKING:  # of several releases only
    from treewarden.audit.joint.result import Released

EXACT_SHARE = 1e-6
"""A value is determined exactly where its interval is at most this share of the range: it is rounding that is left."""


@dataclass(frozen=True, slots=True, eq=False)
class CellRanges:
    """The T cells that were attacked: who contributes what, and the greatest total that nothing excludes, (T,).

    It is at most ``proved``, and at least ``reached``. ``words`` say where each cell is published, and of whom it is.
    """

    words: tuple[tuple[str, str], ...]
    ranked: RankedContributions
    reached: FloatArray
    proved: FloatArray


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ValueBounds(Bounds[FloatArray]):
    """Between which ends one person's value lies, by profile, shape (P,) each, in the target's unit.

    Tables that fit are those that give these leaves. ``by_leaf`` is the width that one leaf alone leaves.
    ``counts`` are people, ``range`` is that of the table's values and ``step`` what they are whole multiples of above
    its lower end (0: nothing), both of which the adversary is taken to know. ``leaves`` is how many leaves people stop
    in, ``facts`` are the settings of the growth, ``said`` is what the reader should know of how it was done and
    ``left`` what was not tried. Of several releases, ``recovered`` is of how many of their leaves the sum follows
    exactly, ``releases`` what each adds, where those are certain whose number is determined, and ``differences`` what
    two totals prove, in sentences.
    """

    counts: FloatArray
    by_leaf: FloatArray
    range: Interval
    step: float
    leaves: int
    facts: Mapping[str, Fact] = field(default_factory=dict)
    said: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    recovered: int = 0
    releases: tuple[Released, ...] = ()
    differences: tuple[str, ...] = ()

    @property
    def span(self) -> float:
        """How wide the range of the target is."""
        return self.range.high - self.range.low

    @property
    def steps(self) -> float:
        """How many different values the range has room for, infinite where they are any real numbers."""
        return self.span / self.step + 1 if self.step else float("inf")

    @property
    def width(self) -> FloatArray:
        """How wide each interval is that is proved, (P,): no adversary is less sure than that."""
        return self.high - self.low

    @property
    def reached(self) -> FloatArray:
        """How wide each interval is at least, (P,): no adversary is surer than that."""
        return self.reached_high - self.reached_low

    @property
    def is_exact(self) -> BoolArray:
        """Whose value is determined but for rounding, (P,)."""
        return self.width <= EXACT_SHARE * self.span

    @property
    def exact(self) -> float:
        """How many people's values are determined but for rounding."""
        return float(self.counts[self.is_exact].sum())
