"""What a model of any kind is audited with, and what several kinds refuse alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treewarden.audit.claims.result import CLAIM_NOT_JUDGED, ClaimFindings
from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.engine.time_budget import ShouldStop, never
from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.evidence import Enough, Evidence, RecordEvidence
from treewarden.audit.exposures import unsolved
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.measures import (
    MeasureCall,
)
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.forest import Forest, forest_of
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Step, clock, silent
from treewarden.audit.reading import Undetermined
from treewarden.audit.reconstruction.cells import DomainCoverage, coverage_of
from treewarden.audit.reconstruction.domain import find_domain
from treewarden.audit.reconstruction.people_rows import RebuiltPeople
from treewarden.audit.result import NOT_BLAMED
from treewarden.audit.system.system import System
from treewarden.audit.withholding_costs import costs_of
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, growth_of
from treewarden.ppdm_models.tree.side_channels import Leak
from treewarden.ppdm_models.tree.tree import Task

if TYPE_CHECKING:  # of outputs that are published beside the model
    from treewarden.audit.blame.result import Blame
    from treewarden.audit.outputs.beside_rows import BesideRows
    from treewarden.audit.reconstruction.domain import DeclaredDomain
    from treewarden.audit.regression.totals import TableTotals
    from treewarden.ppdm_models.outputs.published import PublishedOutput

NOT_JOINED = "its trees could not be combined"
NOT_ESTIMATED = Undetermined("proofs already fail the policy")


@dataclass(frozen=True, slots=True)
class RunInputs:
    """What a model of any kind is audited with: see ``run``; ``register`` are people who may be in the table.

    ``beside`` are outputs that are published beside the model, as rows over the people, and ``totals`` are tables
    beside one that predicts a number; ``claim`` is what was found of a claim of differential privacy.
    ``domain`` is what is public of the columns, where that is declared.
    """

    forest: Forest
    population: Population
    knowledge: Knowledge
    calls: Sequence[MeasureCall]
    options: AuditOptions
    leaks: tuple[Leak, ...] | Undetermined
    step: Step
    enough: Enough | None
    fails: Enough | None
    grades: bool
    register: Population | None = None
    beside: BesideRows | None = None
    totals: TableTotals | None = None
    claim: ClaimFindings | Undetermined = CLAIM_NOT_JUDGED
    domain: DeclaredDomain | None = None

    def unsolved(self, unknown: Undetermined) -> Evidence:
        """Return the evidence without an estimate, for this reason."""
        return unsolved(self.forest, self.population, self.knowledge, unknown, self.leaks)

    def should_stop(self, evidence: Evidence) -> ShouldStop[ConsistentTables]:
        """Return what is asked, of what is proved of whole records, whether nobody needs more; evidence is the rest."""
        enough = self.enough
        if enough is None or self.options.worlds_all:
            return never

        def is_enough(worlds: ConsistentTables) -> bool:
            return enough(replace(evidence, worlds=worlds))

        return is_enough


@dataclass(frozen=True, slots=True)
class ProvedModel:
    """What the engine proved of a model's people, for measures to read, and how the estimate was found.

    ``dropped`` are rows that the true table breaks; ``stopped`` is why no more was asked, "" where all was. ``system``
    are the rows of one tree, of which less may be assumed to be known.
    """

    evidence: Evidence
    report: SolverReport
    dropped: tuple[DroppedRow, ...] = ()
    warnings: tuple[str, ...] = ()
    system: System | None = None
    stopped: str = ""


def forest_with_steps(model: Model, population: Population, step: Step, jobs: int | None) -> Forest:
    """Send the people through the trees; of several ``step`` is told."""
    if not isinstance(model, Ensemble):
        return forest_of(model, population)
    with step("sending the people through all trees") as share:
        return forest_of(model, population, share=share, jobs=jobs)


def model_beside_rows(
    outputs: Sequence[PublishedOutput], population: Population, model: Model, knowledge: Knowledge
) -> BesideRows | None:
    """Return what outputs that are published beside a model say of its people; None where there are none."""
    if not outputs or model.task is Task.REGRESSION:
        return None
    from treewarden.audit.outputs.beside_rows import beside_rows  # for outputs only
    from treewarden.audit.outputs.conditions import predictions_of  # as above

    predictions = predictions_of(
        model, population, has_shares=knowledge.leaf is not LeafLevel.LABELS
    )
    # With outputs beside it, the class totals of several trees' people are taken as known anyway.
    has_totals = knowledge.marginal or isinstance(model, Ensemble)
    return beside_rows(outputs, population, model.classes, predictions, has_totals=has_totals)


def model_totals(
    outputs: Sequence[PublishedOutput], population: Population, model: Model
) -> TableTotals | None:
    """Return what tables say that are published beside a model of numbers; None where there are none."""
    if not outputs or model.task is not Task.REGRESSION:
        return None
    from treewarden.audit.regression.totals import table_totals  # for outputs only

    return table_totals(outputs, population)


BOOSTED_BUDGETS = 3.0
"""Of boosted models, who was in the table may take so many times the time for whole records."""


def with_membership(proved: ProvedModel, inputs: RunInputs) -> ProvedModel:
    """Return what was proved with who of the register is in the table, where there is a register."""
    register = inputs.register
    if register is None:
        return proved
    from treewarden.audit.membership.of_model import infer_membership  # for a register only

    model, known = inputs.forest.model, inputs.knowledge.training
    is_boosted = growth_of(model) is not None
    seconds = inputs.options.worlds_budget * (BOOSTED_BUDGETS if is_boosted else 1.0)
    with inputs.step(f"proving who was in the table, at most {seconds:.3g} s") as share:
        until = clock(seconds).told_to(share)
        found = infer_membership(inputs.forest, inputs.population, register, until, known)
    if not isinstance(found, Undetermined) and found.may_be_in.sum() > found.proved_in.sum():
        told = tuple(f"membership: {reason}" for reason in found.left)
        proved = replace(proved, warnings=(*proved.warnings, *told))
    return _with_records(proved, replace(proved.evidence.records, membership=found))


BESIDE = Undetermined(
    "proofs of records from other outputs together with the model are not computed"
)
REBUILD_SECONDS = 10.0
"""What proofs of whole records by the file alone may take, where the time for whole records is not less."""


def with_rebuilt(proved: ProvedModel, inputs: RunInputs) -> ProvedModel:
    """Return what was proved with whose rows the file proves by itself, where people's values are of its target."""
    if proved.evidence.secret is not None:
        return proved
    if inputs.beside is not None or inputs.totals is not None:
        return _with_records(proved, replace(proved.evidence.records, rebuilt=BESIDE))
    from treewarden.audit.reconstruction.of_table import rebuild_people  # for proofs only

    seconds = min(inputs.options.worlds_budget, REBUILD_SECONDS)
    step = inputs.step if inputs.forest.is_ensemble else silent
    with step(f"proving whole records from the file alone, at most {seconds:.3g} s") as share:
        found = rebuild_people(
            inputs.forest,
            inputs.population,
            clock(seconds).told_to(share),
            inputs.domain,
            inputs.knowledge.training,
        )
    coverage = _coverage(inputs, found)
    return _with_records(proved, replace(proved.evidence.records, rebuilt=found, coverage=coverage))


def _coverage(inputs: RunInputs, rebuilt: RebuiltPeople | Undetermined) -> DomainCoverage | None:
    """Return what of the tested columns was declared; None where nothing was, or no domain can be told."""
    if inputs.domain is None:
        return None
    domain = find_domain(inputs.forest.trees, inputs.domain)
    if isinstance(domain, Undetermined):
        return None
    method = None if isinstance(rebuilt, Undetermined) else rebuilt.method
    return coverage_of(domain, inputs.domain, method)


def _with_records(proved: ProvedModel, records: RecordEvidence) -> ProvedModel:
    return replace(proved, evidence=replace(proved.evidence, records=records))


def blame_of(proved: ProvedModel, inputs: RunInputs) -> Blame | Undetermined:
    """Return which numbers prove people's values, where that was asked or outputs join the model."""
    if inputs.beside is None and not inputs.options.blame:
        return NOT_BLAMED
    from treewarden.audit.blame.of_model import (  # for whom it is asked only
        BlameSettings,
        blame_numbers,
    )

    options, evidence = inputs.options, proved.evidence
    until = clock(options.worlds_budget)
    settings = BlameSettings(
        same_everywhere=options.same_everywhere,
        is_smallest=options.smallest_reasons,
        costs=costs_of(options.withholding_costs),
    )
    with inputs.step(f"finding which numbers prove values, at most {until.left:.3g} s") as share:
        return blame_numbers(
            evidence.forest,
            evidence.population,
            evidence.knowledge,
            inputs.beside,
            until.told_to(share),
            settings,
            share=share,
        )


def not_a_setting(model: Model, error: KeyError) -> KnowledgeError:
    """Return the error that names a setting of the training which leaf values of the model do not depend on."""
    problem = f"training: leaf values of this model do not depend on {error.args[0]!r}; remove it"
    return KnowledgeError(model.source, problem)
