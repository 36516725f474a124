"""Looks through changes round by round, the cheapest first: what cannot pass, or is not worth it, is not audited."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace

from treewarden.audit.population.population import Population
from treewarden.audit.progress import Step, silent
from treewarden.audit.result import Audit
from treewarden.policies.judging.applicability import applying
from treewarden.policies.judging.clause_evaluation import Clauses
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, TableProposal, remedies
from treewarden.policies.repair.attempts import (
    INTERRUPTED,
    NOT_TRIED,
    Cost,
    RepairAttempt,
    SearchEnd,
    cost_of,
    marked,
)
from treewarden.policies.repair.proposals import REDACT_FILE, Named, Proposing, RepairBase
from treewarden.policies.repair.utility import NO_LIMIT, Deadline, RepairResources, cross_validation
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.tree.ensemble import Model, trees_of
from treewarden.ppdm_models.tree.tree import Tree

Found = Audit | TreewardenError
AuditAll = Callable[[Iterator[Proposal], int], Generator[tuple[int, Found], None, None]]
"""Audits proposals as they would be published, of which at most so many will come: takes the next whenever it is ready
for one, and yields each by its number in that order with its audit, in any order. It may end before all are done."""
Glance = Callable[[Proposal], Found]
"""Reads what the leaves of a proposal and its file tell: see ``treewarden.audit.leaf_only_audit``."""
Tell = Callable[[str], None]


def to_nobody(words: str) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What stays the same from one attempt to the next.

    ``glance`` prunes (None: nothing is pruned by it). ``every`` says that what costs more than a change that passes is
    audited as well, ``wanted`` that this one is. ``tell`` hears what is tried and what came of it.
    """

    model: Model
    population: Population
    audit_all: AuditAll
    pack: Pack
    given: RepairResources
    step: Step = silent
    glance: Glance | None = None
    deadline: Deadline = NO_LIMIT
    every: bool = True
    wanted: str = ""
    tell: Tell = to_nobody


@dataclass(frozen=True, slots=True)
class CostedProposal:
    """A proposal that is to be tried, and its cost."""

    name: str
    proposal: Proposal
    cost: Cost

    def is_as(self, candidate: CostedProposal) -> bool:
        """Return whether the same would be published."""
        one, two = self.proposal, candidate.proposal
        is_alone = not isinstance(one, TableProposal) and not isinstance(two, TableProposal)
        return is_alone and one.is_bare == two.is_bare and one.model == two.model


class RemedySearch:
    """Tries single remedies first, then, on what did not pass, two of them, and so on.

    Where the file fails for what stands beside its trees, that goes first: no change of the trees passes with it. What
    costs more than an attempt that passed is not combined with anything: that would only cost more. What changes the
    trees of an ensemble is not combined either, as there is nothing to follow. Numbers are withheld in the manner of
    ``redact`` only where the least withholding does not pass or costs more.
    """

    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        given, step, deadline = trial.given, trial.step, trial.deadline
        self.proposing = Proposing(trial.population, trial.pack, given, step, deadline)
        self.validation = cross_validation(trial.model, trial.population, trial.given.utility)
        self.attempts: list[RepairAttempt] = []
        self.refusals: list[NoProposal] = []
        self.ended = SearchEnd.DONE
        self._open: list[CostedProposal] = []
        self._found: dict[str, RepairAttempt] = {}
        self._asked: list[tuple[CostedProposal, list[CostedProposal]]] = []

    def run(self, audit: Audit, decision: Decision) -> None:
        """Try all that is worth it on a model that was audited and judged; an interrupt or the deadline ends it."""
        try:
            found = self.proposing.first(self.trial.model, decision, audit.full.evidence)
            while found:
                self.refusals += [each for each in found if isinstance(each, NoProposal)]
                bases = self._round([each for each in found if not isinstance(each, NoProposal)])
                if self.ended is not SearchEnd.DONE:
                    break
                found = [each for base in bases for each in self.proposing.on(base)]
        except KeyboardInterrupt:
            self.ended = SearchEnd.INTERRUPTED
            self._close()
        self.attempts = list(marked(self.attempts))

    def _round(self, named: Sequence[Named]) -> list[RepairBase]:
        """Try proposals; return what others may start from."""
        trial = self.trial
        self._open = [
            CostedProposal(
                name,
                proposal,
                cost_of(
                    trial.model,
                    trial.population,
                    proposal,
                    holdout=trial.given.holdout,
                    validation=self.validation,
                ),
            )
            for name, proposal in named
            if _has_split(proposal.model) or not _has_split(trial.model)
        ]
        if self._open:
            self._audit(
                sorted(self._open, key=lambda proposal: (proposal.cost.rank, _is_second(proposal)))
            )
        tried = self._close()
        return [
            RepairBase(a.name, a.proposal, a.decision, a.audit.full.evidence)
            for a in tried
            if a.audit and a.decision and a.verdict is not PolicyVerdict.PASS
            if isinstance(a.proposal.model, Tree) or a.name == REDACT_FILE
            if not isinstance(a.proposal, TableProposal)
            if not self._cheaper(a.cost, or_as_cheap=True)
        ]

    def _audit(self, ordered: Sequence[CostedProposal]) -> None:
        changes = f"{len(ordered)} change{'s' if len(ordered) > 1 else ''}"
        with (
            self.trial.step(f"auditing {changes} like the original"),
            closing(self.trial.audit_all(self._worth(ordered), len(ordered))) as answers,
        ):
            for number, answer in answers:
                candidate, twins = self._asked[number]
                for costed_proposal in (candidate, *twins):
                    self._enter(self._attempt(costed_proposal, answer))

    def _worth(self, ordered: Sequence[CostedProposal]) -> Iterator[Proposal]:
        """Yield the proposals that are still worth an audit when the next one is asked for."""
        self._asked = []
        for costed_proposal in ordered:
            if self.trial.deadline.is_over:
                return
            if (
                self._is_replaced(costed_proposal)
                or self._is_dominated(costed_proposal)
                or self._fails_at_a_glance(costed_proposal)
                or self._is_twin(costed_proposal)
            ):
                continue
            self._asked.append((costed_proposal, []))
            self.trial.tell(f"trying {costed_proposal.name}: {costed_proposal.proposal.title}")
            yield costed_proposal.proposal

    def _fails_at_a_glance(self, candidate: CostedProposal) -> bool:
        """Return whether its leaves or its file alone break a clause, which no estimate mends; then it is an attempt.

        Withholding leaves the leaves as they were, so they are not looked at again.
        """
        remedy = remedies().get(candidate.proposal.remedies[-1])
        if self.trial.glance is None or (remedy is not None and not remedy.mends_leaves):
            return False
        found = self.trial.glance(candidate.proposal)
        if isinstance(found, TreewardenError):
            return False
        decision = judge(found, self.trial.pack)
        if decision.verdict is not PolicyVerdict.FAIL:
            return False
        why = "its leaves, or its file, already fail a check"
        name, proposal, cost = candidate.name, candidate.proposal, candidate.cost
        self._enter(RepairAttempt(name, proposal, cost, found, decision, not_audited=why))
        return True

    def _is_twin(self, candidate: CostedProposal) -> bool:
        """Return whether the same is audited already under another name; then that audit counts for both."""
        for costed_proposal, twins in self._asked:
            if candidate.is_as(costed_proposal):
                done = self._found.get(costed_proposal.name)
                if done is None:
                    twins.append(candidate)
                else:
                    name, proposal, cost = candidate.name, candidate.proposal, candidate.cost
                    self._enter(replace(done, name=name, proposal=proposal, cost=cost))
                return True
        return False

    def _is_replaced(self, candidate: CostedProposal) -> bool:
        """Return whether what its remedy is second to passes after the same changes, and costs no more."""
        if not _is_second(candidate) or candidate.name == self.trial.wanted:
            return False
        *before, last = candidate.proposal.remedies
        first = (*before, remedies()[last].second_to)
        return any(
            attempt.proposal.remedies == first
            and attempt.verdict is PolicyVerdict.PASS
            and attempt.cost.rank <= candidate.cost.rank
            for attempt in (*self.attempts, *self._found.values())
        )

    def _is_dominated(self, candidate: CostedProposal) -> bool:
        """Return whether it costs more than what passes, and nobody wants to know about it."""
        is_wanted = self.trial.every or candidate.name == self.trial.wanted
        return not is_wanted and bool(self._cheaper(candidate.cost))

    def _cheaper(self, cost: Cost, *, or_as_cheap: bool = False) -> str:
        """Return the name of the cheapest attempt that passes, if it is cheaper; else ""."""
        passing = [
            a for a in (*self.attempts, *self._found.values()) if a.verdict is PolicyVerdict.PASS
        ]
        best = min(passing, key=lambda a: a.cost.rank, default=None)
        if best is None or best.cost.rank > cost.rank:
            return ""
        return best.name if or_as_cheap or best.cost.rank < cost.rank else ""

    def _attempt(self, candidate: CostedProposal, result: Found) -> RepairAttempt:
        name, proposal, cost = candidate.name, candidate.proposal, candidate.cost
        if isinstance(result, TreewardenError):
            return RepairAttempt(name, proposal, cost, None, None, str(result))
        pack = self.trial.pack
        decision, problem = judge(result, pack), _open(proposal, pack)
        why = result.stopped
        return RepairAttempt(name, proposal, cost, result, decision, problem, not_audited=why)

    def _enter(self, attempt: RepairAttempt) -> None:
        """Note what came of a candidate, and tell of it."""
        is_first = not any(
            a.verdict is PolicyVerdict.PASS for a in (*self.attempts, *self._found.values())
        )
        self._found[attempt.name] = attempt
        left = len(self._open) - len(self._found)
        self.trial.tell(
            f"{attempt.name}: {attempt.verdict.name}{_lacks(attempt)}; {left} more to try"
        )
        if attempt.verdict is PolicyVerdict.PASS and is_first:
            more = "; looking for a cheaper one" if left else ""
            self.trial.tell(f"passes: {attempt.name} ({attempt.proposal.title}){more}")

    def _close(self) -> list[RepairAttempt]:
        """End a round: return its attempts in the order of the proposals, with why the others were not audited.

        How many were asked for before one passed depends on the number of processes: what costs more is left out, so
        that results do not.
        """
        tried = []
        for costed_proposal in self._open:
            if self._is_replaced(costed_proposal):
                continue
            attempt = self._found.get(costed_proposal.name)
            cheaper = (
                self._cheaper(costed_proposal.cost) if self._is_dominated(costed_proposal) else ""
            )
            why = f"it costs more than {cheaper}, which passes" if cheaper else ""
            if attempt is None and not why:
                self.ended = SearchEnd.OUT_OF_TIME if self.ended is SearchEnd.DONE else self.ended
                why = INTERRUPTED if self.ended is SearchEnd.INTERRUPTED else NOT_TRIED
            if why:
                attempt = RepairAttempt(
                    costed_proposal.name,
                    costed_proposal.proposal,
                    costed_proposal.cost,
                    None,
                    None,
                    not_audited=why,
                )
            assert attempt is not None
            tried.append(attempt)
        self._open, self._found = [], {}
        self.attempts += tried
        return tried


def _is_second(candidate: CostedProposal) -> bool:
    """Return whether its last remedy is second to another."""
    remedy = remedies().get(candidate.proposal.remedies[-1])
    return remedy is not None and bool(remedy.second_to)


def _has_split(model: Model) -> bool:
    """Return whether some tree of a model asks anything: one that does not predicts the same of everybody."""
    return any(len(tree.nodes) > 1 for tree in trees_of(model))


def _lacks(attempt: RepairAttempt) -> str:
    clauses = ", ".join(finding.clause for finding in attempt.failing)
    return f" ({clauses})" if clauses else ""


def _open(proposal: Proposal, pack: Pack) -> str:
    """Return what the audit of the tree does not tell: what a table published beside it gives away."""
    asked = applying(pack, proposal.model)
    left = Clauses(asked).not_judged if isinstance(proposal, TableProposal) else ()
    return (
        f"not judged for the table that is published with the tree: {', '.join(left)}"
        if left
        else ""
    )
