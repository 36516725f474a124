"""An audit of several releases: what an adversary who holds all of them can infer of the people in any of them.

The adversary knows every tested column, or some of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from treewarden.audit.claims.result import NO_CLAIM, ComposedClaim
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.engine.time_budget import budget_of, release_options
from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.evidence import SEE_NUMBERS, Enough, Evidence
from treewarden.audit.exposures import exposure_of, not_run, unsolved
from treewarden.audit.facts.kinds import contradicted_facts, stated_facts
from treewarden.audit.inverters import settings_of
from treewarden.audit.joint.known_facts import known_rows
from treewarden.audit.joint.profiles import report_of
from treewarden.audit.joint.releases import AllReleases, ReleaseView, join_releases
from treewarden.audit.knowledge.adversaries import Adversary
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.measures import MeasureCall
from treewarden.audit.options import DEFAULT, AuditOptions
from treewarden.audit.partial.ensembles.ensemble_secret import infer_secret_by_exchanges
from treewarden.audit.partial.ensembles.ensemble_target import infer_ensemble_target
from treewarden.audit.partial.ensembles.release_inference import (
    infer_numbers,
    releases_view,
)
from treewarden.audit.partial.secret_values import Secret
from treewarden.audit.partial.target_inference import TargetInference
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.linked_population import KnownGroups, SameTable, UnlinkedReleases
from treewarden.audit.population.population import Population
from treewarden.audit.population.unobserved_values import with_unheld
from treewarden.audit.progress import Clock, Step, silent
from treewarden.audit.reading import ALONE, WITH_OTHERS, WITH_TABLE, Undetermined
from treewarden.audit.regression.releases import join_numbers
from treewarden.audit.regression.result import ValueBounds
from treewarden.audit.regression.totals import known_numbers
from treewarden.audit.release_claims import (
    NoisyReleases,
    judge_releases,
    noise_of_releases,
    repeated_releases,
)
from treewarden.audit.result import Audit, Exposure
from treewarden.audit.run import run
from treewarden.audit.run_ensemble import joined_evidence, noisy_evidence
from treewarden.audit.run_inputs import NOT_ESTIMATED, NOT_JOINED
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Task, Tree


@dataclass(frozen=True, slots=True, eq=False)
class ReleaseCase:
    """One release of several: its model, the people of its own table, and what its file gives away beside."""

    model: Model
    population: Population
    leaks: tuple[Leak, ...] | Undetermined


@dataclass(frozen=True, slots=True, eq=False)
class LinkedReleases:
    """Several releases, in the order of their publication, and who is in which of them."""

    cases: Sequence[ReleaseCase]
    shared: KnownGroups | UnlinkedReleases


@dataclass(frozen=True, slots=True)
class _ReleasesRequest:
    """How releases are audited: by whom, what is read, with which options, who hears of it, and when it may stop.

    ``claim`` is what was found of the claims of differential privacy of all of them.
    """

    knowledge: Knowledge
    calls: Sequence[MeasureCall]
    options: AuditOptions
    step: Step
    enough: Enough | None
    claim: ComposedClaim | Undetermined = NO_CLAIM

    def share_of(self, releases: int) -> AuditOptions:
        """Return the options with the part of the time for tables that one of so many releases, and all, have."""
        return release_options(self.options, releases)

    def run(self, case: ReleaseCase, options: AuditOptions) -> Audit:
        """Return the audit of one release by itself."""
        return run(
            case.model,
            case.population,
            self.knowledge_of(case),
            calls=self.calls,
            options=options,
            leaks=case.leaks,
            step=self.step,
            enough=self.enough,
        )

    def without_training(self) -> _ReleasesRequest:
        """Return the same by an adversary who knows no settings of the training beside the files."""
        return replace(self, knowledge=self.knowledge.model_copy(update={"training": {}}))

    def knowledge_of(self, case: ReleaseCase) -> Knowledge:
        """Return what is known of one release: of the facts those that are about its people."""
        if not case.model.classes and case.model.task is not Task.REGRESSION:
            return self.knowledge
        return stated_facts(self.knowledge, case.model.classes, case.population)

    def bare_knowledge(self, case: ReleaseCase) -> Knowledge:
        """Return what is known of one release beside its trees, of which splits prove nothing here."""
        is_number = case.model.task is Task.REGRESSION
        knowledge = self.knowledge if is_number else self.knowledge_of(case)
        return knowledge.model_copy(update={"split": SplitLevel.NONE})

    def training_of(self, *cases: ReleaseCase) -> dict[str, float]:
        """Return the known settings of the training that leaf values of some releases depend on."""
        training = self.knowledge.training
        settings = frozenset[str]().union(*(settings_of(case.model) for case in cases))
        return {name: training[name] for name in settings & set(training)}


def run_releases(
    cases: Sequence[ReleaseCase],
    shared: KnownGroups | UnlinkedReleases,
    knowledge: Knowledge,
    calls: Sequence[MeasureCall] = (),
    options: AuditOptions = DEFAULT,
    step: Step = silent,
    enough: Enough | None = None,
) -> Audit:
    """Audit several releases, in the order of their publication, by an adversary who holds all of them.

    The adversary knows who is in which release.
    The first exposure is of the last release's people, with all that all releases prove of them; then come those of the
    earlier releases, and what single trees prove by themselves, with the choice of their splits. Nobody may infer too
    much from any of these. What is proved of single trees' people joins what all releases prove. Where nothing links
    the tables, what all prove is undetermined, and the releases of each table are audited by themselves.

    Raises:
        KnowledgeError, SolverError, TableError: as ``treewarden.audit.run.run``.
    """
    cases = [
        replace(case, leaks=with_unheld(case.leaks, case.model, case.population)) for case in cases
    ]
    _check_training(cases, knowledge, shared.names[-1])
    request = _ReleasesRequest(knowledge, calls, options, step, enough)
    if isinstance(shared, UnlinkedReleases):
        return _audit_unlinked(cases, shared, request)
    if cases[-1].model.task is Task.REGRESSION:
        return _audit_regression(cases, shared, request)
    return _audit_classifiers(cases, shared, request)


def _check_training(cases: Sequence[ReleaseCase], knowledge: Knowledge, where: str) -> None:
    """Check that leaf values of some release depend on each setting that is known.

    Raises:
        KnowledgeError: they do not on one.
    """
    known = frozenset[str]().union(*(settings_of(case.model) for case in cases))
    for name in sorted(set(knowledge.training) - known):
        problem = f"training: leaf values of these models do not depend on {name!r}; remove it"
        raise KnowledgeError(where, problem)


def _audit_classifiers(
    cases: Sequence[ReleaseCase], shared: KnownGroups, request: _ReleasesRequest
) -> Audit:
    """Return the audit of releases that predict a class: with all of them, and of single ones by themselves."""
    single, options = request.without_training(), request.share_of(len(cases))
    alone = [single.run(case, options) for case in cases if isinstance(case.model, Tree)]
    proved = iter(alone)
    release_views = [
        ReleaseView(
            forest_of(case.model, case.population, jobs=options.jobs),
            case.population,
            request.training_of(case),
            _worlds(next(proved)) if isinstance(case.model, Tree) else None,
            known_rows(request.knowledge_of(case), case.model.classes, case.population),
        )
        for case in cases
    ]
    joined = join_releases(release_views, shared, budget_of(options), request.step)
    if isinstance(joined, Undetermined):
        joined = Undetermined(f"{NOT_JOINED}: {joined.reason}")
    if isinstance(joined, Undetermined) or not joined.joined.inference.is_complete:
        # What one of them proves alone, draws repeated from a seed and all, is more than nothing or bounds.
        alone += [single.run(case, options) for case in cases if not isinstance(case.model, Tree)]
    judged = judge_releases(cases, shared.names, options.jobs)
    single = replace(single, claim=judged.composed(shared))
    until = budget_of(options).until
    noisy = noise_of_releases(judged, shared, request.knowledge, until)
    exposures = [
        _exposure(case, shared, number, joined, single)
        if noisy is None
        else _noisy_exposure(case, shared, number, noisy, single)
        for number, case in enumerate(cases)
    ]
    repeated = repeated_releases(cases, shared.names)
    warnings = _warnings(cases, (*shared.warnings, *repeated), alone)
    return Audit((*exposures[::-1], *_by_themselves(alone)), warnings)


def _noisy_exposure(
    case: ReleaseCase,
    shared: KnownGroups,
    number: int,
    noisy: NoisyReleases,
    request: _ReleasesRequest,
) -> Exposure:
    """Return what the noisy labels of all releases tell of the people of one."""
    seen, sizes = noisy.seen_by(number, shared), (noisy.trees, noisy.leaves)
    bare = _bare_evidence(case, shared, number, request)
    evidence = noisy_evidence(bare, seen.posterior, seen.worlds, sizes, request.options)
    exposure = exposure_of(evidence, request.calls, SolverReport("closed form"))
    return replace(exposure, of=_said_of(shared.names, number))


def _bare_evidence(
    case: ReleaseCase,
    shared: KnownGroups,
    number: int,
    request: _ReleasesRequest,
    unknown: Undetermined = NOT_ESTIMATED,
) -> Evidence:
    """Return the evidence of the people of one release, of whom nothing is told yet, for this reason."""
    people = shared.seen_by(number, case.population)
    forest = forest_of(case.model, people, jobs=request.options.jobs)
    bare = unsolved(forest, people, request.bare_knowledge(case), unknown, case.leaks)
    return replace(bare, others=shared.others(number), claim=request.claim)


def _audit_unlinked(
    cases: Sequence[ReleaseCase], unlinked: UnlinkedReleases, request: _ReleasesRequest
) -> Audit:
    """Return the audit of releases whose tables nothing links: of all of them undetermined, and of each table's own."""
    audits, exposures = [], list[Exposure]()
    for part in unlinked.parts:
        release_cases = [cases[number] for number in part.releases]
        share = (1 + len(release_cases) if len(release_cases) > 1 else 1) / (1 + len(cases))
        budget = replace(request.options, worlds_budget=request.options.worlds_budget * share)
        audit = _audit_table(release_cases, part, replace(request, options=budget))
        audits.append(audit)
        exposures += _of_part(audit, release_cases, part)
    reason = Undetermined(unlinked.reason)
    bare = request.without_training().knowledge.model_copy(update={"split": SplitLevel.NONE})
    claim = judge_releases(cases, unlinked.names, request.options.jobs).composed(None)
    found = []
    for number, case in enumerate(cases):
        forest = forest_of(case.model, case.population, jobs=request.options.jobs)
        is_number = case.model.task is Task.REGRESSION
        unknown = SEE_NUMBERS if is_number else reason
        evidence = unsolved(forest, case.population, bare, unknown, case.leaks)
        others = unlinked.others(number)
        evidence = replace(
            evidence,
            numbers=reason if is_number else evidence.numbers,
            together=unknown,
            others=others,
            linkage_gap=unlinked.gap,
            claim=claim,
        )
        of = _said_of(unlinked.names, number)
        found.append(replace(exposure_of(evidence, request.calls, not_run(unknown)), of=of))
    return Audit((*found[::-1], *exposures), _warnings(cases, unlinked.warnings, audits))


def _audit_table(cases: Sequence[ReleaseCase], part: SameTable, request: _ReleasesRequest) -> Audit:
    """Return the audit of the releases of one table, of which who is who is known."""
    training = request.training_of(*cases)
    knowledge = request.knowledge.model_copy(update={"training": training})
    if part.shared is None:
        (case,) = cases
        return replace(request, knowledge=knowledge).run(case, request.options)
    return run_releases(
        cases,
        part.shared,
        knowledge,
        calls=request.calls,
        options=request.options,
        step=request.step,
        enough=request.enough,
    )


def _of_part(audit: Audit, cases: Sequence[ReleaseCase], part: SameTable) -> list[Exposure]:
    """Return the exposures of one table's releases, as those of somebody who does not hold the others."""
    if part.shared is None:
        return list(_by_themselves([audit]))
    together = audit.exposures[: len(cases)]
    named = zip(together, reversed(part.shared.names), strict=True)
    exposures = [
        replace(exposure, of=WITH_TABLE.format(name), is_alone=True) for exposure, name in named
    ]
    return [*exposures, *audit.exposures[len(cases) :]]


def _audit_regression(
    cases: Sequence[ReleaseCase], shared: KnownGroups, request: _ReleasesRequest
) -> Audit:
    """Return the audit of releases that predict a number: with all of them, and of each by itself."""
    options = request.share_of(len(cases))
    alone = [
        replace(
            request,
            knowledge=request.knowledge.model_copy(update={"training": request.training_of(case)}),
        ).run(case, options)
        for case in cases
    ]
    background = [known_numbers(request.knowledge_of(case), case.population) for case in cases]
    held = [
        ReleaseView(
            forest_of(case.model, case.population, jobs=options.jobs),
            case.population,
            request.training_of(case),
            numbers=numbers,
        )
        for case, numbers in zip(cases, background, strict=True)
    ]
    joined = join_numbers(held, shared, budget_of(options), request.step)
    claim = judge_releases(cases, shared.names, options.jobs).composed(shared)
    bare = replace(request.without_training(), claim=claim)
    exposures = []
    for number, case in enumerate(cases):
        evidence = _bare_evidence(case, shared, number, bare, SEE_NUMBERS)
        numbers: ValueBounds | Undetermined
        if isinstance(joined, Undetermined):
            numbers = Undetermined(f"{NOT_JOINED}: {joined.reason}")
        else:
            numbers = joined.seen_by(number)
        evidence = replace(evidence, numbers=numbers, together=SEE_NUMBERS)
        own = background[number]
        untrue = () if own is None else own.dropped
        exposure = exposure_of(evidence, request.calls, not_run(SEE_NUMBERS), untrue)
        exposures.append(replace(exposure, of=_said_of(shared.names, number)))
    warnings = _warnings(cases, shared.warnings, alone)
    return Audit((*exposures[::-1], *_by_themselves(alone)), warnings)


def _by_themselves(alone: Sequence[Audit]) -> tuple[Exposure, ...]:
    return tuple(
        replace(audit.full, of=ALONE.format(audit.full.evidence.source), is_alone=True)
        for audit in alone
    )


def _warnings(
    cases: Sequence[ReleaseCase], of_linkage: Sequence[str], alone: Sequence[Audit]
) -> tuple[str, ...]:
    """Return what the reader is told of all releases, once each; ``of_linkage`` comes first."""
    said = [(case.model.source, warning) for case in cases for warning in case.population.warnings]
    said += [(audit.full.evidence.source, warning) for audit in alone for warning in audit.warnings]
    return tuple(dict.fromkeys((*of_linkage, *_said_once(said))))


def _said_of(names: Sequence[str], number: int) -> str:
    """Return whom an exposure is of, "" where it is the last release."""
    return "" if number == len(names) - 1 else WITH_OTHERS.format(names[number])


def _said_once(warnings: Sequence[tuple[str, str]]) -> list[str]:
    """Return warnings, each about the release of that name; what is said of several alike, of all of them at once."""
    found: dict[tuple[str, str], list[str]] = {}
    for source, said in dict.fromkeys(warnings):
        sign = next((sign for sign in (": ", " ") if said.startswith(f"{source}{sign}")), "")
        names = found.setdefault((sign, said.removeprefix(source) if sign else said), [])
        names += [source] if sign else []
    return [f"{_names(names, sign)}{said}" for (sign, said), names in found.items()]


def _names(names: Sequence[str], sign: str) -> str:
    if len(names) < 2:
        return "".join(names)
    *others, last = names
    return f"{'each of ' if sign == ' ' else ''}{', '.join(others)} and {last}"


def _worlds(audit: Audit) -> ConsistentTables | None:
    found = audit.full.evidence.worlds
    return found if isinstance(found, ConsistentTables) else None


def _exposure(
    case: ReleaseCase,
    shared: KnownGroups,
    number: int,
    joined: AllReleases | Undetermined,
    request: _ReleasesRequest,
) -> Exposure:
    """Return what an adversary who holds all releases can infer of the people of one."""
    of = _said_of(shared.names, number)
    if isinstance(joined, Undetermined):
        bare = _bare_evidence(case, shared, number, request, joined)
        bare = replace(bare, together=joined, numbers=joined)
        return replace(exposure_of(bare, request.calls, not_run(joined)), of=of)
    bare = _bare_evidence(case, shared, number, request)
    people, knowledge, classes = bare.population, bare.knowledge, case.model.classes
    facts, trees = known_rows(knowledge, classes, people), joined.seen_by(number)
    evidence = joined_evidence(bare, trees, joined.where, facts, request.options)
    report = report_of(trees, people.records)
    untrue = contradicted_facts(knowledge, classes, people)
    return replace(exposure_of(evidence, request.calls, report, untrue), of=of)


def infer_from_releases(
    releases: LinkedReleases,
    knowledge: Knowledge,
    adversary: Adversary,
    secret: Secret | None,
    full_numbers: ValueBounds | Undetermined,
    until: Clock,
) -> TargetInference | Undetermined:
    """Return what an adversary makes of all releases: of what they predict, or of a secret column of the last one.

    ``full_numbers`` is what is told of people's numbers to who knows all columns. Where nothing links the tables of the
    releases, nothing is told.
    """
    shared, cases = releases.shared, releases.cases
    if not isinstance(shared, KnownGroups):
        return Undetermined(shared.reason)
    never = () if secret is None else (secret.name,)
    known = adversary.knows
    if known is None:
        names = dict.fromkeys(name for case in cases for name in case.population.qi)
        known = tuple(name for name in names if name not in never)
    forests = [forest_of(case.model, case.population) for case in cases]
    people = [case.population for case in cases]
    seen = shared.seen_by(len(cases) - 1, people[-1])
    view = releases_view(forests, people, shared, seen, knowledge, columns=known, never=never)
    if secret is not None:
        return infer_secret_by_exchanges(view, secret, knows_target=adversary.target)
    if cases[-1].model.task is Task.REGRESSION:
        return infer_numbers(view, full_numbers)
    return infer_ensemble_target(view, until)
