"""What a model's leaves and its file tell without any estimate: in a moment, and the same as a full audit reads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.evidence import NOT_READ, Evidence, label_contradictions
from treewarden.audit.knowledge.knowledge import Knowledge, resolved
from treewarden.audit.measures import (
    EvidenceSource,
    LeafMeasure,
    MeasureCall,
    call,
    measured,
    measures,
    of_models,
)
from treewarden.audit.population.file_only_population import NO_TABLE, FileOnlyPopulation, said_of
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import Population
from treewarden.audit.population.unobserved_values import with_unheld
from treewarden.audit.reading import MOST_SPOTS, Interval, Measurement, Spot, Undetermined
from treewarden.audit.result import KNOWS_ALL, Audit, Exposure
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Tree

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
    evidence = Evidence(
        forest=forest,
        population=population,
        knowledge=knowledge,
        prior=unknown,
        posterior=unknown,
        worlds=unknown,
        leaks=with_unheld(leaks, model, population),
        numbers=unknown,
        claim=judge_claim(forest, population, leaks),
    )
    cheap = [
        measure_call
        for measure_call in calls
        if known[measure_call.measure].is_of_leaves
        or known[measure_call.measure].is_of_file
        or known[measure_call.measure].is_of_claim
    ]
    readings = {measure_call: measured(measure_call, evidence) for measure_call in cheap}
    report = SolverReport("not run", reason=unknown.reason)
    doubts = tuple(label_contradictions(evidence))
    return Audit(
        (
            Exposure(
                adversary=KNOWS_ALL,
                evidence=evidence,
                solver=report,
                dropped=(),
                disagreements=doubts,
                asked=tuple(cheap),
                readings=readings,
            ),
        )
    )


def glance_at_file(
    model: Model,
    knowledge: Knowledge,
    calls: Sequence[MeasureCall],
    leaks: tuple[Leak, ...] | Undetermined = NOT_READ,
    sensitive: str | None = None,
) -> Audit:
    """Take the readings that the file alone bears, with no table at all; all others could not be told.

    A reading of leaves spans from the worst that the truth may be to what the file says. So a clause may fail, and
    passes only where the counts of every leaf are known to be people, one each: the sizes of leaves are where the file
    has rows beside weights, the numbers of their classes only where they follow from that. Where they are not, the last
    spot is the root: what is not known may break a clause anywhere below it, so that to accept the leaves that are
    named is not to accept all.
    """
    file_only_population, unknown = said_of(model, sensitive), Undetermined(NO_TABLE)
    warnings: tuple[str, ...] = ()
    if isinstance(model, Tree):
        knowledge, warnings = resolved(knowledge, model)
    forest = file_only_population.forest
    if (
        file_only_population.doubt
    ):  # nobody may take its leaves for all there are, or their counts for people
        forest = replace(forest, leaves=Undetermined(file_only_population.doubt))
    evidence = Evidence(
        forest=forest,
        population=file_only_population.population,
        knowledge=knowledge,
        prior=unknown,
        posterior=unknown,
        worlds=unknown,
        leaks=with_unheld(leaks, model, file_only_population.population),
        without=unknown,
        numbers=unknown,
        claim=judge_claim(forest, file_only_population.population, leaks),
    )
    readings = {
        measure_call: _from_file(measure_call, file_only_population, evidence)
        for measure_call in dict.fromkeys([*calls, *map(call, of_models())])
    }
    report = SolverReport("not run", reason=unknown.reason)
    return Audit(
        (
            Exposure(
                adversary=KNOWS_ALL,
                evidence=evidence,
                solver=report,
                dropped=(),
                disagreements=(),
                asked=tuple(calls),
                readings=readings,
            ),
        ),
        warnings,
    )


def _from_file(
    measure_call: MeasureCall, file_only_population: FileOnlyPopulation, evidence: Evidence
) -> Measurement:
    measure = measures()[measure_call.measure]
    if measure.is_of_file or measure.is_of_claim:
        return measured(measure_call, evidence)
    if not isinstance(measure, LeafMeasure):
        return Measurement(Undetermined(NO_TABLE))
    of_classes = EvidenceSource.TRUTH in measure.reads
    leaves = file_only_population.leaves(of_classes=of_classes, of_shares=measure.of_shares)
    measurement = measured(
        measure_call, replace(evidence, forest=replace(file_only_population.forest, leaves=leaves))
    )
    doubt = file_only_population.doubt_about(of_numbers=of_classes and not measure.of_presence)
    if not doubt or isinstance(measurement.reading, Undetermined):
        return measurement
    worst = measure.limits[0] if measure.risk == "low" else measure.limits[1]
    reading = measurement.reading
    ends = (worst, reading.high) if measure.risk == "low" else (reading.low, worst)
    elsewhere = Spot("leaf", 0, *measure.limits, doubt)
    return Measurement(Interval(*ends), (*measurement.spots[: MOST_SPOTS - 1], elsewhere))
