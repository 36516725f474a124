"""What a model's leaves prove of the numbers that people have, for the report: in figures and in words."""

from __future__ import annotations

import numpy as np

from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Undetermined
from treewarden.audit.values.found import ValueBounds
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.column import brief
from treewarden.reports.building.together import fact_rows
from treewarden.reports.document.parts import KnownNumber, Values, number
from treewarden.reports.document.words import count, counted, percent, sentence

MOST_KNOWN = 20


def values_part(evidence: Evidence) -> Values:
    """Return between which ends people's numbers lie, or why that could not be told."""
    numbers = evidence.numbers
    if isinstance(numbers, Undetermined):
        said = sentence(numbers.reason)
        return Values(
            exact=None,
            narrowest=None,
            median_width=None,
            range=None,
            step=None,
            summary=said,
            reasons=(said,),
        )
    width = np.where(numbers.is_exact, 0.0, numbers.width)
    return Values(
        exact=number(numbers.exact),
        narrowest=number(float(width.min())),
        median_width=number(_median(width, numbers)),
        range=(number(numbers.range.low), number(numbers.range.high)),
        step=number(numbers.step) if numbers.step else None,
        summary=_summary(numbers, width),
        reasons=tuple(map(sentence, (*numbers.said, *numbers.left))),
        facts=fact_rows(numbers.facts),
        known=tuple(_known(evidence, numbers, width)),
    )


def _median(width: FloatArray, numbers: ValueBounds) -> float:
    """Return the width that half of the people have at most."""
    order = np.argsort(width, kind="stable")
    below = np.cumsum(numbers.counts[order])
    return float(width[order][np.searchsorted(below, below[-1] / 2)])


def _known(evidence: Evidence, numbers: ValueBounds, width: FloatArray) -> list[KnownNumber]:
    """Return the people of whom most is known, the narrowest interval first; nobody of whom nothing is."""
    order = np.argsort(width, kind="stable")[:MOST_KNOWN].tolist()
    return [
        KnownNumber(
            profile=evidence.population.describe(profile),
            records=number(float(numbers.counts[profile])),
            low=number(float(numbers.low[profile])),
            high=number(float(numbers.high[profile])),
            exact=bool(numbers.is_exact[profile]),
        )
        for profile in order
        if width[profile] < numbers.span
    ]


def _summary(numbers: ValueBounds, width: FloatArray) -> str:
    exact, people = numbers.exact, float(numbers.counts.sum())
    low, high = numbers.range.low, numbers.range.high
    said, whose = "The leaves determine nobody’s number exactly.", ""
    if exact:
        who = f"{count(exact)} of {counted(people, 'person', 'people')}"
        said = f"The leaves determine the number of {who} exactly ({percent(exact / people)})."
        whose = "of the others "
    if exact == people:
        return said
    rest = float(width[~numbers.is_exact].min())
    return (
        f"{said} {sentence(f'{whose}the narrowest interval')[:-1]} is {brief(rest)} wide, where the table's values go "
        f"from {brief(low)} to {brief(high)}; half of the people have one of at most {brief(_median(width, numbers))}."
    )
