"""What it costs to withhold a published number, by its kind, as an author sets it.

A band in place of the exact counts of a leaf is a softer choice: the leaf is then two numbers, its exact counts and its
bands, of which each costs a part of the leaf.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

LEAF, BAND = "leaf", "band"
KINDS: Mapping[str, str] = {
    LEAF: "all class counts of a leaf",
    BAND: "exact class counts of a leaf, in place of which bands are published",
    "count": "a cell of an output that has counts only",
    "share": "a cell with a share",
    "statistic": "a cell with a mean, a standard deviation or a quantile",
    "regression": "a regression",
    "metric": "a metric of the model's performance",
    "survival": "a Kaplan-Meier table",
    "records": "an anonymised table",
}
"""What can have a cost, and what it is."""
MOST = 1_000
"""A cost is at most this, and has at most two decimals: the solver counts in hundredths."""
BAND_WIDTH = 5
"""Class counts of a leaf are banded as 0 to 4, 5 to 9, and so on."""


@dataclass(frozen=True, slots=True)
class WithholdingCosts:
    """The costs of kinds that were set; of others it is 1. Without ``band`` no bands are offered."""

    of_kind: Mapping[str, Fraction] = field(default_factory=dict)

    @property
    def unit(self) -> int:
        """How many of the solver's whole units make a cost of 1."""
        return math.lcm(*(cost.denominator for cost in self.of_kind.values()))

    @property
    def has_bands(self) -> bool:
        """Whether a leaf may be published in bands."""
        return BAND in self.of_kind

    def whole(self, kind: str) -> int:
        """Return a kind's cost in whole units."""
        return int(self.of_kind.get(kind, Fraction(1)) * self.unit)


EQUAL_COSTS = WithholdingCosts()
"""Every number counts 1."""


def costs_of(text: str | None) -> WithholdingCosts:
    """Return the costs that an option sets; where it is not given, every number counts 1.

    Raises:
        ValueError: as of ``read_costs``.
    """
    return EQUAL_COSTS if text is None else read_costs(text)


def read_costs(text: str) -> WithholdingCosts:
    """Return costs as an option writes them: ``leaf=2,regression=5,band=0.5``.

    Raises:
        ValueError: a kind is unknown or named twice, a cost is no number above 0, or a band costs as much as its leaf.
    """
    found: dict[str, Fraction] = {}
    for part in text.split(","):
        kind, _, amount = (each.strip() for each in part.partition("="))
        if kind not in KINDS:
            raise ValueError(f"{kind!r} is not a kind of number; use {', '.join(KINDS)}")
        if kind in found:
            raise ValueError(f"{kind} is named twice; name it once")
        found[kind] = _cost(kind, amount)
    if BAND in found and found[BAND] >= found.get(LEAF, Fraction(1)):
        raise ValueError("band must cost less than leaf")
    return WithholdingCosts(found)


def _cost(kind: str, amount: str) -> Fraction:
    try:
        cost = Fraction(amount) if len(amount) <= 8 else Fraction(0)
    except (ValueError, ZeroDivisionError):
        cost = Fraction(0)
    if not 0 < cost <= MOST or 100 % cost.denominator:
        raise ValueError(
            f"{kind}={amount}: a number above 0, at most {MOST:,}, with at most two decimals is needed"
        )
    return cost
