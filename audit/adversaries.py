"""What each adversary can infer who knows only some columns: exposures beside that of who knows all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from treewarden.audit.consistent_tables.result import OUT_OF_TIME, ConsistentTables
from treewarden.audit.engine.time_budget import adversary_seconds
from treewarden.audit.entropy.posterior import Posterior, SolverReport, certain
from treewarden.audit.evidence import NO_NUMBER, NOT_READ, Evidence, Named
from treewarden.audit.exposures import exposure_of, not_run, unsolved
from treewarden.audit.facts.kinds import columns_of_facts, contradicted_facts
from treewarden.audit.facts.rows import Case
from treewarden.audit.joint.result import EnsembleInference
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import (
    USUAL_CRITERIA,
    Knowledge,
    resolved,
)
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.measures import EvidenceSource, MeasureCall, measured, measures
from treewarden.audit.options import DEFAULT, AuditOptions, RowStatement
from treewarden.audit.partial.attributes.attribute_inference import infer_attribute
from treewarden.audit.partial.attributes.forest_attribute_inference import infer_forest_attribute
from treewarden.audit.partial.ensembles.ensemble_secret import (
    infer_secret_by_exchanges,
    with_shown_tables,
)
from treewarden.audit.partial.ensembles.ensemble_target import infer_ensemble_target, with_facts
from treewarden.audit.partial.ensembles.release_inference import (
    ReleasesView,
    are_draws_repeatable,
    infer_numbers,
    model_view,
)
from treewarden.audit.partial.fitting.flows import FULL, AdversaryBudget
from treewarden.audit.partial.secret_values import AdversaryRequest, Secret
from treewarden.audit.partial.target_inference import (
    TargetInference,
    infer_target,
    knows_all_tested,
    with_suppositions,
    with_whole_records,
)
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.partial.unmodelled_knowledge import FACTS_NOT_USED, ONLY_CLASSES, WEIGHED
from treewarden.audit.population.forest import Forest, forest_of
from treewarden.audit.population.linked_population import KnownGroups
from treewarden.audit.population.population import Population
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.population.target import members
from treewarden.audit.population.unobserved_values import with_unheld
from treewarden.audit.progress import Clock, Step, clock, silent
from treewarden.audit.reading import ADVERSARY, Measurement, Undetermined
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.releases import LinkedReleases, infer_from_releases
from treewarden.audit.result import Audit, Exposure, Lacking
from treewarden.audit.system.system import supposed_systems
from treewarden.ppdm_models.tree.ensemble import Model, claims_privacy
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Task, Tree

NO_LEAVES = Undetermined(
    "an adversary with partial knowledge does not know at which node people stop"
)
NOT_THE_SECRET = "the secret is “{}”, not what the tree predicts"
NOT_JUDGED = "this audit protects “{}” only; what the model discloses about “{}” was not judged, so audit that too"
SCALED = SolverReport("optimal", bound_argument="convex", is_unique=True)
"""The spread over leaves is the only optimum, and no solver is asked for it."""
NOISY = Undetermined(
    "the file claims differential privacy, and randomly drawn labels are not evaluated for "
    "adversaries with partial knowledge"
)
LACKING = AdversaryBudget(enforcing=3e8, flows=0)
"""What may be spent on an adversary without a column: how many people can have each value is not told of him."""
MOST_LACKING = 200_000
"""Profiles times known columns up to which it is told what an adversary would lose by each column."""
OF_TARGET = frozenset({EvidenceSource.TRUTH, EvidenceSource.TOGETHER, EvidenceSource.NUMBERS})
"""What a measure reads that is about the values that the model predicts, whoever knows what."""
THREE = ("certain_disclosure", "confidence", "guess_accuracy")


def with_adversaries(
    audit: Audit,
    model: Model,
    population: Population,
    knowledge: Knowledge,
    request: AdversaryRequest,
    calls: Sequence[MeasureCall],
    options: AuditOptions = DEFAULT,
    step: Step = silent,
    *,
    releases: LinkedReleases | None = None,
) -> Audit:
    """Return an audit with what each of the adversaries can infer, and what was remarkable about them.

    ``population`` are the people as who knows all sees them, of the last of several ``releases``.

    Raises:
        KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
        TableError: no table with these leaves has these numbers.
    """
    if not request.partial or audit.stopped:
        return audit
    exposures, warnings = list(audit.exposures), list(audit.warnings)
    is_whole = audit.full.solver.split_rows == RowStatement.INTEGER
    asking = _AuditedModel(
        audit.full.evidence.forest,
        population,
        knowledge,
        request.secret,
        options,
        is_of_whole_records=is_whole,
        are_draws_known=_are_draws_known(audit.full.evidence, knowledge),
        full_numbers=audit.full.evidence.numbers,
        releases=releases,
    )
    is_linked = releases is not None and isinstance(releases.shared, KnownGroups)
    people = audit.full.evidence.population if is_linked else population
    for adversary in request.partial:
        with step(f"computing what “{adversary.name}” can infer"):
            seconds = adversary_seconds(options, len(request.partial))
            seen = asking.seen(adversary, seconds)
            exposure = _exposure(audit.full, people, adversary, request.secret, seen, calls)
        is_asked = releases is None and not isinstance(seen, Undetermined)
        if is_asked and _is_small(population, exposure):
            with step(
                f"computing what “{adversary.name}” could infer without one of the known columns"
            ):
                knowledge_lacking = _lacking(audit.full, asking, exposure)
            exposure = replace(exposure, lacking=knowledge_lacking)
        exposures.append(exposure)
        said = (*adversary.said, *(() if isinstance(seen, Undetermined) else seen.said))
        warnings += [f"{adversary.name}: {each}" for each in said]
    return replace(audit, exposures=tuple(exposures), warnings=tuple(dict.fromkeys(warnings)))


def of_model_alone(
    model: Model,
    population: Population,
    knowledge: Knowledge,
    secret: str,
    calls: Sequence[MeasureCall] = (),
    leaks: tuple[Leak, ...] | Undetermined = NOT_READ,
) -> Audit:
    """Return the audit of a model's leaves and file where another column than the target is the secret."""
    said: tuple[str, ...] = ()
    if isinstance(model, Tree):
        knowledge, said = resolved(knowledge, model)
    forest = forest_of(model, population)
    reason = Undetermined(NOT_THE_SECRET.format(secret))
    leaks = with_unheld(leaks, model, population)
    evidence = unsolved(forest, population, knowledge, reason, leaks)
    evidence = replace(evidence, secret=Named(secret, model.classes))
    if forest.is_ensemble:
        evidence = replace(evidence, together=reason)
    if model.task is Task.REGRESSION:
        evidence = replace(evidence, numbers=reason)
    warnings = (
        *population.warnings,
        *said,
        *forest.warnings,
        NOT_JUDGED.format(secret, evidence.target),
    )
    untrue = contradicted_facts(knowledge, model.classes, population)
    exposure = exposure_of(evidence, calls, not_run(reason), untrue)
    return Audit((exposure,), warnings, secret=secret)


def _are_draws_known(evidence: Evidence, knowledge: Knowledge) -> bool:
    """Return whether draws of records by the trees of a model can be repeated, as far as is known."""
    if isinstance(evidence.together, EnsembleInference):
        return evidence.together.is_replayed
    return are_draws_repeatable(evidence.model, knowledge)


def _is_small(population: Population, exposure: Exposure) -> bool:
    """Return whether an adversary has several columns, and it is little work to ask of him without each."""
    if exposure.evidence.model.task is Task.REGRESSION:
        return False
    known = 0 if exposure.who is None else len(exposure.who.knows or ())
    if exposure.evidence.forest.is_ensemble:
        return False
    return known > 1 and known * len(population.counts) <= MOST_LACKING


@dataclass(frozen=True)
class _AuditedModel:
    """A model with its people, of whom one adversary after the other is asked; ``secret`` is None for the target.

    ``is_of_whole_records`` says that the choice of splits is stated over whole records of who knows all,
    ``are_draws_known`` that draws of records can be repeated. ``full_numbers`` is what is told of people's numbers to
    who knows all, ``releases`` are all of several of which the model is the last.
    """

    forest: Forest
    population: Population
    knowledge: Knowledge
    secret: Secret | None
    options: AuditOptions
    is_of_whole_records: bool = False
    are_draws_known: bool = False
    full_numbers: ValueBounds | Undetermined = NO_NUMBER
    releases: LinkedReleases | None = None

    @cached_property
    def _context(self) -> TreeContext:
        assert isinstance(self.forest.model, Tree)
        return TreeContext(self.forest.model, self.population, self.knowledge)

    @cached_property
    def _supposing(self) -> tuple[_AuditedModel, ...]:
        """The same with no criterion of splits and with each that may be supposed; empty where one is known."""
        tree = self.forest.model
        if not isinstance(tree, Tree) or self.releases is not None:
            return ()
        case = Case(tree, self.population, members(tree, self.population.leaf), self.knowledge)
        supposed = [system.case.knowledge for system in supposed_systems(case)]
        # By gain ratio nothing is inferred of who knows some columns, whoever names it.
        usual = [SplitLevel(criterion.value) for criterion in USUAL_CRITERIA]
        supposed = [knowledge for knowledge in supposed if knowledge.split in usual]
        if not supposed:
            return ()
        bare = self.knowledge.model_copy(update={"split": SplitLevel.NONE})
        is_whole = self.options.rows == RowStatement.INTEGER
        return (
            replace(self, knowledge=bare),
            *(
                replace(self, knowledge=knowledge, is_of_whole_records=is_whole)
                for knowledge in supposed
            ),
        )

    def seen(
        self, adversary: Adversary, seconds: float, effort: AdversaryBudget = FULL
    ) -> TargetInference | Undetermined:
        """Return what an adversary makes of the model, whichever criterion is supposed where none is known.

        So many seconds are for whole records.

        Raises:
            KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
            TableError: no table with these leaves has these numbers.
        """
        if not self._supposing:
            return self._seen(adversary, seconds, effort)
        part = seconds / len(self._supposing)
        bare, *supposed = (each._seen(adversary, part, effort) for each in self._supposing)
        return with_suppositions(bare, *supposed)

    def _seen(
        self, adversary: Adversary, seconds: float, effort: AdversaryBudget
    ) -> TargetInference | Undetermined:
        """Return what an adversary makes of the model, so many seconds for whole records.

        Raises:
            KnowledgeError: the level asks for numbers that neither the file publishes nor the table can give.
            TableError: no table with these leaves has these numbers.
        """
        models = [self.forest.model]
        if self.releases is not None:
            models = [release_case.model for release_case in self.releases.cases]
        if any(map(claims_privacy, models)):
            return NOISY
        if self._facts_tell_nothing(adversary):
            knowledge = self.knowledge.model_copy(update={"facts": ()})
            return replace(self, knowledge=knowledge)._seen(adversary, seconds, effort)
        is_weighed = self.population.weight is not None
        if is_weighed and self.knowledge.leaf is not LeafLevel.AS_PUBLISHED:
            return WEIGHED
        if self.releases is not None:
            until = clock(seconds if self.options.worlds else 0.0)
            return infer_from_releases(
                self.releases, self.knowledge, adversary, self.secret, self.full_numbers, until
            )
        known, until = adversary.knows, clock(seconds if self.options.worlds else 0.0)
        how = (until, self.options, effort)
        if self.secret is None:
            assert known is not None
            if self.forest.model.task is Task.REGRESSION:
                return infer_numbers(self._view(known), self.full_numbers)
            if self.forest.is_ensemble or is_weighed:
                return self._seen_of_trees(known, until, effort)
            seen = infer_target(self._context, known, *how)
            is_published = self.knowledge.leaf is LeafLevel.AS_PUBLISHED
            if self.knowledge.facts and is_published and not isinstance(seen, Undetermined):
                return with_facts(seen, self._seen_of_trees(known, until, effort))
            is_whole = self.is_of_whole_records and knows_all_tested(self._context, known)
            if isinstance(seen, Undetermined) or not is_whole:
                return seen
            rest = effort.flows > 0
            return with_whole_records(seen, self._context, until, self.options, asks_rest=rest)
        if known is None:
            known = tuple(name for name in self.population.qi if name != self.secret.name)
        whole = (self.forest, self.population, self.knowledge, self.secret, known)
        is_number = self.forest.model.task is Task.REGRESSION
        if self.forest.is_ensemble or is_number or is_weighed:
            view = self._view(known)
            exchanges = infer_secret_by_exchanges(view, self.secret, knows_target=adversary.target)
            if is_number or is_weighed:
                return exchanges
            proved = infer_forest_attribute(*whole, *how, knows_target=adversary.target)
            if isinstance(proved, Undetermined):
                return exchanges
            return with_shown_tables(proved, exchanges)
        about = (self._context, self.secret, known)
        proved = infer_attribute(*about, *how, knows_target=adversary.target)
        if isinstance(proved, Undetermined) or proved.doubts != (FACTS_NOT_USED,):
            return proved
        exchanges = infer_secret_by_exchanges(self._view(known), self.secret, knows_target=False)
        return with_shown_tables(proved, exchanges)

    def _facts_tell_nothing(self, adversary: Adversary) -> bool:
        """Whether an adversary who knows what is predicted of everybody knows all that there are facts about."""
        known = adversary.knows
        if known is None:
            known = tuple(
                set(self.population.qi) - {"" if self.secret is None else self.secret.name}
            )
        is_known = columns_of_facts(self.knowledge) <= set(known)
        return bool(self.knowledge.facts) and adversary.target and is_known

    def _seen_of_trees(
        self, columns: Sequence[str], until: Clock, effort: AdversaryBudget
    ) -> TargetInference | Undetermined:
        """Return what an adversary makes of the target of several trees, or of one that sums sampling weights."""
        if not self.forest.model.classes:
            return ONLY_CLASSES
        return infer_ensemble_target(self._view(columns), until, self.options, effort)

    def _view(self, columns: Sequence[str]) -> ReleasesView:
        """Return what an adversary who knows these columns sees of the model by itself."""
        never = () if self.secret is None else (self.secret.name,)
        whole = (self.forest, self.population, self.knowledge)
        return model_view(*whole, columns, never, are_draws_known=self.are_draws_known)


def _lacking(base: Exposure, asking: _AuditedModel, exposure: Exposure) -> tuple[Lacking, ...]:
    """Return what an adversary would learn who did not know one of his columns."""
    assert exposure.who is not None
    knowledge_lacking: list[Lacking] = []
    known = exposure.who.knows or ()
    for column in known:
        less = replace(exposure.who, knows=tuple(name for name in known if name != column))
        seen = asking.seen(less, 1.0, LACKING)
        own = _exposure(base, asking.population, less, asking.secret, seen, ())
        readings = (own.measured(name).reading for name in THREE)
        knowledge_lacking.append(Lacking(column, *readings))
    return tuple(knowledge_lacking)


def _exposure(
    base: Exposure,
    population: Population,
    adversary: Adversary,
    secret: Secret | None,
    seen: TargetInference | Undetermined,
    calls: Sequence[MeasureCall],
) -> Exposure:
    """Return what an adversary can infer; of the leaves and the file itself it is what everybody can."""
    named = None if secret is None else Named(secret.name, secret.values)
    if isinstance(seen, Undetermined):
        knows = population.qi if adversary.knows is None else adversary.knows
        after = "" if secret is None else secret.name
        told = [name for name in population.qi if name in knows and name != after]
        people = replace(merged(population, told)[0], truth=seen)
        is_number = base.evidence.model.task is Task.REGRESSION
        numbers = seen if is_number else base.evidence.numbers
        evidence = _evidence(base, people, seen, seen, seen, named, numbers=numbers)
        report = SolverReport("not run", reason=seen.reason)
    else:
        prior = seen.prior
        if prior is None:
            prior = _of_everybody(base.evidence.prior, len(seen.population.counts))
        worlds = seen.worlds
        if secret is None and not seen.is_outcome_said:
            worlds = _shown_by_all(worlds, base.evidence.worlds, population, seen.population)
        numbers = base.evidence.numbers if seen.numbers is None else seen.numbers
        inferred = seen.population, prior, seen.posterior, worlds
        evidence = _evidence(base, *inferred, named, numbers=numbers)
        report = seen.report or SCALED
        if isinstance(seen.posterior, Undetermined):
            report = SolverReport("not run", reason=seen.posterior.reason)
    known = measures()
    readings: Mapping[MeasureCall, Measurement] = {
        reading: measured(reading, evidence)
        if known[reading.measure].is_of_knowledge
        else _of_base(base, reading, secret)
        for reading in base.readings
    }
    return Exposure(
        adversary=adversary.name,
        evidence=evidence,
        solver=report,
        dropped=(),
        disagreements=(),
        asked=tuple(calls),
        readings=readings,
        of=ADVERSARY.format(adversary.name),
        who=replace(adversary, knows=_columns(evidence, adversary), declared=adversary.knows or ()),
    )


def _columns(evidence: Evidence, adversary: Adversary) -> tuple[str, ...]:
    """Return the columns that an adversary tells people apart by, but for the target, which he knows as such."""
    qi = evidence.population.qi
    return tuple(name for name in qi if not adversary.target or name != evidence.target)


def _of_base(base: Exposure, measure_call: MeasureCall, secret: Secret | None) -> Measurement:
    """Return what a measure reads of everybody; nothing, where it is about the target and another column is secret."""
    if secret is not None and measures()[measure_call.measure].reads & OF_TARGET:
        return Measurement(Undetermined(NOT_THE_SECRET.format(secret.name)))
    return base.readings[measure_call]


def _shown_by_all(
    worlds: ConsistentTables | Undetermined,
    full: ConsistentTables | Undetermined,
    population: Population,
    people: Population,
) -> ConsistentTables | Undetermined:
    """Return proofs with the tables that were found for who knows all: each of them fits for who knows less too.

    In the table that shows the most of a class in one profile, the others have at least what is proved of them.
    """
    if isinstance(worlds, Undetermined) or isinstance(full, Undetermined):
        return worlds
    _, of = merged(population, people.qi)
    shape = worlds.low.shape
    lows, highs = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    np.add.at(lows, of, full.low)
    np.add.at(highs, of, full.high)
    most, least = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    np.maximum.at(most, of, full.reached_high - full.low)
    np.maximum.at(least, of, full.high - full.reached_low)
    left = (*worlds.left, *([OUT_OF_TIME] if full.is_out_of_time else ()))
    return replace(worlds.reaching(highs - least, lows + most), left=left)


def _evidence(
    base: Exposure,
    people: Population,
    prior: Posterior | Undetermined,
    posterior: Posterior | Undetermined,
    worlds: ConsistentTables | Undetermined,
    named: Named | None,
    *,
    numbers: ValueBounds | Undetermined,
) -> Evidence:
    forest = base.evidence.forest
    nowhere = np.full((len(forest.trees), len(people.counts)), -1, dtype=np.intp)
    hidden = Forest(forest.model, forest.trees, nowhere, NO_LEAVES, forest.shown, forest.accuracy)
    return replace(
        base.evidence,
        forest=hidden,
        population=people,
        prior=prior,
        posterior=posterior,
        worlds=worlds,
        numbers=numbers,
        secret=named,
    )


def _of_everybody(prior: Posterior | Undetermined, size: int) -> Posterior | Undetermined:
    """Return an estimate that is the same of all people as that of so many profiles."""
    if isinstance(prior, Undetermined):
        return prior
    if (np.ptp(prior.values, axis=0) > 0).any():
        return Undetermined(
            "prior knowledge about people is evaluated only for the adversary with full knowledge"
        )
    return certain(np.tile(prior.values[:1], (size, 1)))
