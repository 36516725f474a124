"""Looks for a change that lets a model pass: each proposal is audited and judged like the original before it counts."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator

from treewarden.audit.people.population import Population
from treewarden.audit.result import Audit
from treewarden.audit.stages import Step, silent
from treewarden.policies.judging.judge import judge
from treewarden.policies.judging.reachable import out_of_reach
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import Proposal
from treewarden.policies.repairing.advice import advice
from treewarden.policies.repairing.attempts import Attempt, Ended, Repair, order
from treewarden.policies.repairing.deadline import NO_LIMIT, Deadline
from treewarden.policies.repairing.given import Given
from treewarden.policies.repairing.message import doubts, message
from treewarden.policies.repairing.search import (
    AuditAll,
    Found,
    Glance,
    Search,
    Tell,
    Trial,
    to_nobody,
)
from treewarden.policies.verdict import Verdict
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.tables.taxonomy import fitting
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Tree

__all__ = ["Attempt", "AuditAll", "Ended", "Given", "Repair", "order", "repair"]

Auditor = Callable[[Model], Audit]


def repair(
    model: Model,
    population: Population,
    audit: Auditor,
    pack: Pack,
    given: Given | None = None,
    audit_all: AuditAll | None = None,
    step: Step = silent,
    *,
    glance: Glance | None = None,
    deadline: Deadline = NO_LIMIT,
    every: bool = True,
    wanted: str = "",
    tell: Tell = to_nobody,
) -> Repair:
    """Try each remedy, and each after the one before it, until all that is worth it was audited and judged.

    ``population`` is that of the original; ``audit`` audits any model over the same people, under the same knowledge,
    with the pack's measures taken; ``audit_all`` does so for several proposals, each as it would be published. What
    fails at a ``glance`` is not audited. Without ``every``, what costs more than a change that passes is not audited
    either, but for the one that is ``wanted`` by its name.

    ``step`` is told of each stage, and ``tell`` in words of each change. At the ``deadline``, and at a keyboard
    interrupt, the search ends, and what it found so far is returned; what else they raise ends the run.

    Raises:
        TaxonomyError: a hierarchy speaks of what the model does not know, or lacks a value.
        TreewardenError: the original cannot be audited.
    """
    given = given or Given()
    fitting(given.taxonomies, model.features)
    result = audit(model)
    decision = judge(result, pack)
    trial = Trial(
        model,
        population,
        audit_all or _one_by_one(audit),
        pack,
        given,
        step,
        glance,
        deadline,
        every,
        wanted,
        tell,
    )
    search = Search(trial)
    if decision.verdict is not Verdict.PASS and not doubts(decision):
        search.run(result, decision)
    attempts, refusals = tuple(search.attempts), tuple(search.refusals)
    best = min((each for each in attempts if each.is_tried), key=order, default=None)
    recommended = best if best is not None and best.verdict is Verdict.PASS else None
    nearest = None if recommended else best
    whole = "tree" if isinstance(model, Tree) else "model"
    said = message(whole, decision, attempts, recommended, nearest, refusals, search.ended)
    if decision.verdict is not Verdict.PASS and recommended is None:
        said = " ".join(filter(None, (out_of_reach(result, decision), said)))
    return Repair(
        result,
        decision,
        attempts,
        refusals,
        recommended,
        nearest,
        said,
        recommended,
        search.ended,
        advice(model, result, decision, attempts),
    )


def _one_by_one(audit: Auditor) -> AuditAll:
    def audit_all(
        proposals: Iterator[Proposal], most: int
    ) -> Generator[tuple[int, Found], None, None]:
        for number, proposal in enumerate(proposals):
            yield number, _audited(audit, proposal.model)

    return audit_all


def _audited(audit: Auditor, model: Model) -> Found:
    try:
        return audit(model)
    except TreewardenError as error:
        return error
