"""Looks for a change that lets a tree pass: every proposal is audited and judged like the original before it counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from audit.measures import measures
from audit.population import Population
from audit.run import Audit
from policies.cost import Cost, cost_of
from policies.decision import Decision
from policies.judge import judge
from policies.pack import Pack
from policies.remedies import NoProposal, Proposal, remedies
from policies.verdict import Verdict
from ppdm_models.errors import TreewardenError
from ppdm_models.tree import Tree

Auditor = Callable[[Tree], Audit]


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal, its audit and what came of it. ``problem`` says why there is no audit, where there is none."""

    proposal: Proposal
    cost: Cost
    audit: Audit | None
    decision: Decision | None
    problem: str = ""

    @property
    def verdict(self) -> Verdict:
        """The verdict on the changed tree; undetermined where it could not be audited."""
        return Verdict.UNDETERMINED if self.decision is None else self.decision.verdict


@dataclass(frozen=True, slots=True)
class Repair:
    """Everything that was tried. ``recommended`` is the cheapest attempt that passes; never one that is undetermined.

    It is None where the original passes already, or nothing passes; ``nearest`` is then the attempt that lacks least.
    """

    audit: Audit
    decision: Decision
    attempts: tuple[Attempt, ...]
    refusals: tuple[NoProposal, ...]
    recommended: Attempt | None
    nearest: Attempt | None
    message: str

    @property
    def is_needed(self) -> bool:
        """Whether the original does not pass."""
        return self.decision.verdict is not Verdict.PASS


def repair(tree: Tree, population: Population, audit: Auditor, pack: Pack) -> Repair:
    """Try each remedy, and each after the one before it, until all that can be proposed was audited and judged.

    ``population`` is that of the original tree; ``audit`` audits any tree over the same people, under the same
    knowledge, with the pack's measures taken.

    Raises:
        TreewardenError: the original tree cannot be audited.
    """
    result = audit(tree)
    decision = judge(result, pack)
    start = Proposal((), "as it is", tree, (), tuple(range(len(tree.nodes))))
    tried: list[Attempt | NoProposal] = []
    if decision.verdict is not Verdict.PASS and not _doubts(decision):
        tried += _tries(start, decision, _Trial(tree, population, audit, pack), population)
    attempts = tuple(each for each in tried if isinstance(each, Attempt))
    refusals = tuple(each for each in tried if isinstance(each, NoProposal))
    passing = [attempt for attempt in attempts if attempt.verdict is Verdict.PASS]
    recommended = min(passing, key=lambda attempt: attempt.cost.rank, default=None)
    nearest = None if recommended else min(attempts, key=_lack, default=None)
    message = _message(decision, recommended, nearest, refusals)
    return Repair(result, decision, attempts, refusals, recommended, nearest, message)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What stays the same from one attempt to the next."""

    tree: Tree
    population: Population
    audit: Auditor
    pack: Pack


def _tries(
    base: Proposal, decision: Decision, trial: _Trial, population: Population
) -> Iterator[Attempt | NoProposal]:
    """Yield what each remedy makes of a tree, and, where that is not enough, what the later ones make of that.

    Each remedy is used once, in name order: pruning comes before withholding, which it cannot undo. Withholding is not
    tried while the leaves themselves break a clause, as it never mends that.
    """
    for name, remedy in remedies().items():
        if name in base.remedies or (base.remedies and name < base.remedies[-1]):
            continue
        if not remedy.mends_leaves and _leaves_fail(decision):
            continue
        for found in remedy.propose(base.tree, population, trial.pack):
            if isinstance(found, NoProposal):
                yield NoProposal((*base.remedies, *found.remedies), found.reason)
                continue
            attempt = _attempt(_joined(base, found), trial)
            yield attempt
            if attempt.audit and attempt.decision and attempt.verdict is not Verdict.PASS:
                here = attempt.audit.evidence.population
                yield from _tries(attempt.proposal, attempt.decision, trial, here)


def _joined(base: Proposal, found: Proposal) -> Proposal:
    if not base.remedies:
        return found
    return Proposal(
        (*base.remedies, *found.remedies),
        f"{base.title}; then {found.title}",
        found.tree,
        (*base.withheld, *found.withheld),
        tuple(found.node_map[index] for index in base.node_map),
    )


def _attempt(proposal: Proposal, trial: _Trial) -> Attempt:
    cost = cost_of(trial.tree, trial.population, proposal)
    try:
        result = trial.audit(proposal.tree)
    except TreewardenError as error:
        return Attempt(proposal, cost, None, None, str(error))
    return Attempt(proposal, cost, result, judge(result, trial.pack))


def _doubts(decision: Decision) -> bool:
    """Return whether the evidence itself is in doubt, so that no change of the tree can lead to a pass."""
    return any(not finding.measure for finding in decision.findings)


def _leaves_fail(decision: Decision) -> bool:
    known = measures()
    return any(
        finding.measure and known[finding.measure].about_leaves for finding in decision.failing
    )


def _lack(attempt: Attempt) -> tuple[float, float, tuple[int, float, int]]:
    """Return the order of nearness to a pass: fewest failing clauses, then fewest undecided ones, then cost."""
    if attempt.decision is None:
        return (math.inf, math.inf, attempt.cost.rank)
    verdicts = [finding.verdict for finding in attempt.decision.failing]
    failed = verdicts.count(Verdict.FAIL)
    return (failed, len(verdicts) - failed, attempt.cost.rank)


def _message(
    decision: Decision,
    recommended: Attempt | None,
    nearest: Attempt | None,
    refusals: tuple[NoProposal, ...],
) -> str:
    if decision.verdict is Verdict.PASS:
        return "The tree passes as it is; nothing needs to change."
    if _doubts(decision):
        doubt = next(finding for finding in decision.findings if not finding.measure)
        return f"No change to the tree can help. {doubt.message}"
    if recommended is not None:
        return f"This passes: {recommended.proposal.title}."
    said = ["Nothing that was tried passes."]
    if nearest is not None:
        lacks = (
            [finding.message for finding in nearest.decision.failing] if nearest.decision else []
        )
        said.append(f"Nearest: {nearest.proposal.title}. It still lacks this.")
        said += lacks or [f"It could not be audited: {nearest.problem}."]
    said += [f"{each.reason[:1].upper()}{each.reason[1:]}." for each in refusals]
    return " ".join(said) if len(said) > 1 else "No remedy has anything to propose for this tree."
