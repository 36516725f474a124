"""What a model's leaves and its file tell without any estimate: in a moment, and the same as a full audit reads."""

from __future__ import annotations

from collections.abc import Sequence

from audit.adversary.knowledge import Knowledge
from audit.estimate.report import SolverReport
from audit.evidence import NOT_READ, Evidence
from audit.measures import MeasureCall, measured, measures
from audit.people.forest import forest_of
from audit.people.population import Population
from audit.reading import Undetermined
from audit.result import KNOWS_ALL, Audit, Exposure
from ppdm_models.tree.ensemble import Model
from ppdm_models.tree.leaks import Leak

NOT_LOOKED_AT = Undetermined("only the leaves and the file were looked at")


def glance(
    model: Model,
    population: Population,
    knowledge: Knowledge,
    calls: Sequence[MeasureCall],
    leaks: tuple[Leak, ...] | Undetermined = NOT_READ,
) -> Audit:
    """Take those readings of an audit that need no estimate; all others were not measured, so none of them passes."""
    unknown, known = NOT_LOOKED_AT, measures()
    forest = forest_of(model, population)
    evidence = Evidence(forest, population, knowledge, unknown, unknown, unknown, leaks)
    cheap = [
        each for each in calls if known[each.measure].is_of_leaves or known[each.measure].is_of_file
    ]
    readings = {each: measured(each, evidence) for each in cheap}
    report = SolverReport("not run", reason=unknown.reason)
    return Audit((Exposure(KNOWS_ALL, evidence, report, (), (), tuple(cheap), readings),))
