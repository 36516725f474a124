"""Protection of the cells of tables beside the model: how far off an attacker stays about who contributes to a cell.

For tables of totals that are published beside a model of numbers (--with), with withheld cells and hierarchies of
categories. Leaf totals and published cells leave the total X of a cell between two ends; U is the greatest that an
attacker cannot exclude, who knows who is in which leaf and cell. The p % rule protects a cell where
(U - x_1 - x_2) / x_1 is at least p %: U - X is at least the upper protection level p x_1 - (X - x_1 - x_2); with ``q``
it is the (p, q) rule. The dominance rule (n, k) protects it where its n largest contributors add at most k % of U, so
that 1 - (x_1 + ... + x_n) / U is at least 1 - k % (Hundepool et al., Handbook on Statistical Disclosure Control,
section 4.2, table of upper protection levels; sdcTable, ``attack``). Of a published cell U is X, and the rules are
those of primary protection: p above 0 asks for three contributors too, the minimum count.

The reading is that of the worst cell: of the tables, and of those that leaves and tables cut out together. The high end
is proved; at the low end is the greatest U that a consistent table was found with. Each contributor is an attacker who
knows their own part of every total too, and U is the least over all of them (but the only contributor to the cell).
Contributions are taken to be at least 0 and as large as the totals allow: the range of the values, their step and what
leaves say beside totals are the matter of value_disclosure.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from treewarden.audit.evidence import NO_NUMBER, Evidence
from treewarden.audit.measures import EvidenceSource, Measure, Parameter, Parameters
from treewarden.audit.measures._shared import contributors_in_words
from treewarden.audit.reading import Interval, Measurement, Undetermined, worst_spots
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.column import brief

if TYPE_CHECKING:  # of models that predict a number
    from treewarden.audit.regression.result import CellRanges


class CellProtection(Measure):
    """The least margin over cells that hold anybody."""

    unit = "share"
    plain = "how closely one contributor's amount can be estimated from tables and leaves together (worst cell)"
    short = "protection of the cells of tables"
    risk = "low"
    limits = (0.0, math.inf)
    reads = frozenset({EvidenceSource.NUMBERS, EvidenceSource.CONTRIBUTIONS, EvidenceSource.TRUTH})
    parameters = {
        "rule": Parameter(
            "p_percent",
            "the rule that says what is too close",
            choices=("p_percent", "dominance"),
        ),
        "q": Parameter(1.0, "the margin within which all other contributions are known beforehand"),
        "n": Parameter(2.0, "how many of the largest contributors", low=1.0, whole=True),
    }

    def words(self, parameters: Parameters) -> str:
        if parameters["rule"] == "p_percent":
            return self.plain
        return (
            f"share of a cell's total that its {int(parameters['n'])} largest contributors leave to "
            "others, by tables and leaves together, worst cell"
        )

    def read(self, evidence: Evidence, parameters: Parameters) -> Measurement:
        cells = evidence.records.cells
        if isinstance(cells, Undetermined):
            return Measurement(NO_NUMBER if evidence.numbers is NO_NUMBER else cells)
        if not len(cells.words):
            return Measurement(Undetermined("no cell of the given tables contains people"))
        low, high = (_margins(cells, end, parameters) for end in (cells.reached, cells.proved))

        def note(position: int) -> str:
            return _note(cells, position)

        everything = np.arange(len(cells.words), dtype=np.intp)
        spots = worst_spots("cell", everything, (low, high), self.risk, note)
        return Measurement(Interval(float(low.min()), float(high.min())), spots)


def _margins(cells: CellRanges, greatest: FloatArray, parameters: Parameters) -> FloatArray:
    """Return the margin of each cell, (T,), whose total is at most ``greatest`` for all that an attacker knows."""
    ranked = cells.ranked
    beyond = greatest - ranked.totals
    if parameters["rule"] == "dominance":
        top = ranked.largest(int(parameters["n"]))
        others = beyond + ranked.without_largest(int(parameters["n"]))
        with np.errstate(invalid="ignore"):
            share = np.where(
                np.isinf(greatest), 1.0, others / np.where(greatest > 0, greatest, 1.0)
            )
        return np.where(top > 0, share, (beyond > 0).astype(np.float64))
    largest = ranked.largest(1)
    others = float(parameters["q"]) * (beyond + ranked.without_largest(2))
    # Where all add 0, a total of 0 says so of each, and one that may be more says nothing.
    nothing = np.where(beyond > 0, np.inf, 0.0)
    return np.where(largest > 0, others / np.where(largest > 0, largest, 1.0), nothing)


def _note(cells: CellRanges, position: int) -> str:
    """Return what is known of a cell: who contributes, and between which ends its total lies."""
    contributors = contributors_in_words(float(cells.ranked.contributors[position]))
    total, most = float(cells.ranked.totals[position]), float(cells.proved[position])
    if most <= total:
        return f"{contributors}; its total follows exactly"
    if math.isinf(most):
        return f"{contributors}; how large its total can be was not worked out"
    return (
        f"{contributors}; its total is {brief(total)} and can be proved to be at most {brief(most)}"
    )


MEASURE = CellProtection()
