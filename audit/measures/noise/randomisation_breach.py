"""Share of people for whom an unlikely value becomes likely once their noisy value is known.

A rho1-to-rho2 breach (Evfimievski, Gehrke & Srikant 2003): some property of a value had a chance of no more than
``before`` and has one of ``after`` or more given the noisy value. For each noisy value the most telling one counts.
The reading is the share of people with such a noisy value; of the column where it is largest.
"""

from __future__ import annotations

from treewarden.audit.measures import Parameter, Parameters
from treewarden.audit.measures.noise import ColumnMeasure
from treewarden.audit.randomised.result import HiddenColumn
from treewarden.audit.reading import Undetermined


class RandomisationBreach(ColumnMeasure):
    """The largest share of people with a breach."""

    plain = "share of people about whom something unlikely becomes likely, at worst"
    risk = "high"
    limits = (0.0, 1.0)
    parameters = {
        "before": Parameter(0.05, "the largest probability before"),
        "after": Parameter(0.5, "the least that makes it likely afterwards"),
    }

    def words(self, parameters: Parameters) -> str:
        before, after = (100 * float(parameters[each]) for each in ("before", "after"))
        return (
            f"share of people about whom a probability rises from at most {before:g} % to at least "
            f"{after:g} %, at worst"
        )

    def of_column(self, column: HiddenColumn, parameters: Parameters) -> float | Undetermined:
        before, after = float(parameters["before"]), float(parameters["after"])
        if not 0 < before < after <= 1:
            return Undetermined(
                "the probability before must be smaller than the one after, which is at most 1"
            )
        return column.seen.breached(before, after)


MEASURE = RandomisationBreach()
