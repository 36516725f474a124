"""Share of people whose number is enclosed in a narrow interval by the published model.

A model that predicts a number publishes means, or values that sums of the target can be computed from. With all of them
each person's number lies in an interval, in every table with these quasi-identifiers that gives these leaves. Whoever
has an interval no wider than ``within`` counts: of the range of the target, or in its own unit. This is the notion of
the p % rule for tables of magnitudes (Hundepool et al. 2012, Statistical Disclosure Control, section 4.2: nobody may be
able to estimate a contribution too closely), with the range in place of the contribution, as a target may be 0 or
negative.

The low end are people of whom a proof says so; at the high end are also those of whom no table was found that fits and
gives them another number, so much further away. The adversary knows who is in which leaf, and the range and the step of
the table's values (the worst case); he does not use which splits were chosen. An interval says what is possible, not
what is likely: where the target has fewer than ten possible values, a mean says nearly as much as a class would, and
the high end is 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters, PerPlace
from treewarden.audit.measures._shared import interval_note, known_numbers
from treewarden.audit.reading import Interval, Measurement, Undetermined, worst_spots
from treewarden.ppdm_models.arrays import BoolArray

if TYPE_CHECKING:  # of models that predict a number
    from treewarden.audit.regression.result import ValueBounds

FEWEST_VALUES = 10
"""A target with fewer possible values is a class in all but name."""
ROOM = 1e-9
"""Widths that differ by less than this share of the range are equal but for rounding."""


class ValueDisclosure(Measure):
    """People whose interval is narrow / all people."""

    unit = "share"
    plain = "share of people whose number is known"
    short = "people whose number is known closely"
    risk = "high"
    limits = (0.0, 1.0)
    reads = frozenset({EvidenceSource.NUMBERS, EvidenceSource.TRUTH})
    places = "profile"
    parameters = {
        "within": Parameter(0.05, "the widest interval that counts as disclosure of a number"),
        "of": Parameter(
            "range",
            ("the unit of that width: a share of the target's range, or the target's own unit"),
            choices=("range", "unit"),
        ),
    }

    def words(self, parameters: Parameters) -> str:
        within = float(parameters["within"])
        if parameters["of"] == "range":
            return f"{self.plain} to within {100 * within:g} % of the range"
        return f"{self.plain} to within {within:g} in its own unit"

    def per_place(self, evidence: Evidence, parameters: Parameters) -> PerPlace | Undetermined:
        numbers = known_numbers(evidence)
        if isinstance(numbers, Undetermined):
            return numbers
        sure, may_be = _pinned(numbers, parameters)
        everyone = np.arange(len(sure), dtype=np.intp)
        return PerPlace(everyone, sure.astype(np.float64), may_be.astype(np.float64))

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        numbers = known_numbers(evidence)
        if isinstance(numbers, Undetermined):
            return Measurement(numbers)
        sure, may_be = _pinned(numbers, parameters)
        order = np.flatnonzero(may_be & (numbers.counts > 0))
        order = order[np.lexsort((numbers.width[order], ~sure[order]))]

        def note(position: int) -> str:
            return interval_note(numbers, int(order[position]))

        ends = sure[order].astype(np.float64), may_be[order].astype(np.float64)
        spots = worst_spots("profile", order, ends, self.risk, note)
        people = numbers.counts.sum()
        low, high = (float(numbers.counts[each].sum() / people) for each in (sure, may_be))
        return Measurement(Interval(low, high), spots)


def _pinned(numbers: ValueBounds, parameters: Parameters) -> tuple[BoolArray, BoolArray]:
    """Return who is proved to be pinned, and who may be, (P,) each."""
    within = float(parameters["within"])
    widest = (
        within * numbers.span if parameters["of"] == "range" else within
    ) + ROOM * numbers.span
    sure = numbers.width <= widest
    if numbers.steps < FEWEST_VALUES:
        return sure, np.ones(len(sure), dtype=np.bool_)
    return sure, sure | (numbers.reached <= widest)


MEASURE = ValueDisclosure()
