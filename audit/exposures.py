"""Evidence with and without an estimate, and all that measures read from it, each reading taken once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from treewarden.audit.entropy.posterior import Posterior, SolverReport, certain
from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.file_table_consistency import disagreements
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import (
    EvidenceSource,
    MeasureCall,
    call,
    measured,
    measures,
    of_models,
)
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Share, counted_by
from treewarden.audit.reading import Measurement, Undetermined
from treewarden.audit.result import KNOWS_ALL, Exposure
from treewarden.ppdm_models.tree.side_channels import Leak

TOLD = (MeasureCall("guess_accuracy", (("over", "marginal"),)),)
"""What reports tell beside every measure with its defaults."""


def prior_of_all(
    population: Population, knowledge: Knowledge, classes: int
) -> Posterior | Undetermined:
    """Return the adversary's estimate before an ensemble: uniform, or how common each class is where that is known."""
    size, truth = len(population.counts), population.truth
    if not knowledge.marginal:
        return certain(np.full((size, classes), 1 / classes))
    if isinstance(truth, Undetermined):
        return truth
    return certain(np.tile(truth.sum(axis=0) / population.records, (size, 1)))


def unsolved(
    forest: Forest,
    population: Population,
    knowledge: Knowledge,
    unknown: Undetermined,
    leaks: tuple[Leak, ...] | Undetermined,
) -> Evidence:
    """Return evidence without an estimate: its leaves can be measured, and nothing else."""
    return Evidence(
        forest=forest,
        population=population,
        knowledge=knowledge,
        prior=unknown,
        posterior=unknown,
        worlds=unknown,
        leaks=leaks,
    )


def not_run(unknown: Undetermined) -> SolverReport:
    """Return the report of an estimate that was not looked for, and why."""
    return SolverReport("not run", reason=unknown.reason)


def exposure_of(
    evidence: Evidence,
    calls: Sequence[MeasureCall],
    report: SolverReport,
    dropped: tuple[DroppedRow, ...] = (),
    share: Share | None = None,
) -> Exposure:
    """Take every reading, once; ``share`` is told how many."""
    is_doubted = any(dropped_row.is_published for dropped_row in dropped)
    doubts = () if is_doubted else disagreements(evidence)
    return Exposure(
        adversary=KNOWS_ALL,
        evidence=evidence,
        solver=report,
        dropped=dropped,
        disagreements=doubts,
        asked=tuple(calls),
        readings=readings(evidence, calls, share),
    )


def exposure_without_estimate(
    evidence: Evidence,
    calls: Sequence[MeasureCall],
    report: SolverReport,
    dropped: tuple[DroppedRow, ...],
) -> Exposure:
    """Take the readings that need no estimate, where something fails by them already; nothing else is a reading."""
    known = measures()
    measure_calls = [
        measure_call
        for measure_call in calls
        if EvidenceSource.ESTIMATE not in known[measure_call.measure].reads
    ]
    return Exposure(
        adversary=KNOWS_ALL,
        evidence=evidence,
        solver=report,
        dropped=dropped,
        disagreements=(),
        asked=tuple(calls),
        readings={measure_call: measured(measure_call, evidence) for measure_call in measure_calls},
    )


def readings(
    evidence: Evidence, calls: Sequence[MeasureCall], share: Share | None = None
) -> dict[MeasureCall, Measurement]:
    """Return what each call reads, then every measure of models with its defaults, and what reports tell beside."""
    wanted = dict.fromkeys([*calls, *map(call, of_models()), *TOLD])
    taken = ((measure_call, measured(measure_call, evidence)) for measure_call in wanted)
    return dict(counted_by(share, taken, len(wanted), "metrics"))
