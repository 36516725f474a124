"""Looks for a change that lets a model pass: each proposal is audited and judged like the original before it counts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from audit.evidence import Evidence
from audit.measures import measures
from audit.people.population import Population
from audit.result import Audit
from audit.stages import Step, silent
from policies.judging.decision import Decision
from policies.judging.groups import Clauses
from policies.judging.judge import judge
from policies.judging.reachable import out_of_reach
from policies.pack import Pack
from policies.remedies import NoProposal, Proposal, Remedy, remedies
from policies.remedies._table import TableProposal, UsesTable
from policies.repairing.bare import REDACT_FILE, file_fails, without_leaks
from policies.repairing.cost import Cost, cost_of
from policies.repairing.forests import forest_proposals
from policies.repairing.holdout import Holdout
from policies.repairing.tradeoff import privacy, unbeaten
from policies.verdict import Verdict
from ppdm_models.errors import TreewardenError
from ppdm_models.records.table import Table
from ppdm_models.records.taxonomy import Taxonomies, fitting
from ppdm_models.tree.ensemble import Model
from ppdm_models.tree.tree import Tree

Auditor = Callable[[Model], Audit]
AuditAll = Callable[[Sequence[Proposal]], Sequence[Audit | TreewardenError]]


@dataclass(frozen=True, slots=True)
class Given:
    """What a repair may use beyond the model and its people.

    ``taxonomies`` are hierarchies of values that remedies may merge by; ``table`` holds the records where they are to
    be published beside the tree; ``holdout`` is what the loss is measured on. ``bases`` are the widths of bands that
    numbers are given in, in records (empty: those that ``redact`` knows). ``trees_alone`` says that the changed model
    is written in another format than the original: nothing that stands beside the trees comes along.
    """

    taxonomies: Taxonomies = field(default_factory=dict)
    table: Table | None = None
    holdout: Holdout | None = None
    bases: tuple[int, ...] = ()
    trees_alone: bool = False


@dataclass(frozen=True, slots=True)
class Attempt:
    """One proposal by its ``name``, its audit and what came of it. ``problem`` says what could not be audited, if any.

    ``is_unbeaten`` says that it is on the Pareto front: no other attempt is as good in privacy and in every cost, and
    better in one.
    """

    name: str
    proposal: Proposal
    cost: Cost
    audit: Audit | None
    decision: Decision | None
    problem: str = ""
    is_unbeaten: bool = False

    @property
    def verdict(self) -> Verdict:
        """The verdict on the changed model; never a pass where something could not be audited."""
        if self.decision is None:
            return Verdict.UNDETERMINED
        least = Verdict.UNDETERMINED if self.problem else Verdict.PASS
        return max(self.decision.verdict, least)

    @property
    def privacy(self) -> float | None:
        """How far the worst clause is shown to be met (see ``privacy``); None where it is not told."""
        return None if self.decision is None else privacy(self.decision)


@dataclass(frozen=True, slots=True)
class Repair:
    """Everything that was tried. ``recommended`` is the cheapest attempt that passes; never one that is undetermined.

    It is None where the original passes already, or nothing passes; ``nearest`` is then the attempt that lacks least.
    ``applied`` is the recommended attempt, or the passing one that was chosen instead.
    """

    audit: Audit
    decision: Decision
    attempts: tuple[Attempt, ...]
    refusals: tuple[NoProposal, ...]
    recommended: Attempt | None
    nearest: Attempt | None
    message: str
    applied: Attempt | None

    def exchanging(self, old: Attempt, new: Attempt) -> Repair:
        """Return the same with another record of one attempt, wherever that stands."""

        def now(each: Attempt | None) -> Attempt | None:
            return new if each is old else each

        return replace(
            self,
            attempts=tuple(new if each is old else each for each in self.attempts),
            recommended=now(self.recommended),
            nearest=now(self.nearest),
            applied=now(self.applied),
        )

    @property
    def is_needed(self) -> bool:
        """Whether the original does not pass."""
        return self.decision.verdict is not Verdict.PASS


def repair(
    model: Model,
    population: Population,
    audit: Auditor,
    pack: Pack,
    given: Given | None = None,
    audit_all: AuditAll | None = None,
    step: Step = silent,
) -> Repair:
    """Try each remedy, and each after the one before it, until all that can be proposed was audited and judged.

    ``population`` is that of the original; ``audit`` audits any model over the same people, under the same knowledge,
    with the pack's measures taken; ``audit_all`` does so for several proposals at once, each as it would be published.
    ``step`` is told of each stage; what it raises ends the search.

    Raises:
        TaxonomyError: a hierarchy speaks of what the model does not know, or lacks a value.
        TreewardenError: the original cannot be audited.
    """
    given = given or Given()
    fitting(given.taxonomies, model.features)
    result = audit(model)
    decision = judge(result, pack)
    attempts: tuple[Attempt, ...] = ()
    refusals: tuple[NoProposal, ...] = ()
    if decision.verdict is not Verdict.PASS and not _doubts(decision):
        trial = _Trial(model, population, audit_all or _one_by_one(audit), pack, given, step)
        attempts, refusals = _search(result, decision, trial)
    best = min(attempts, key=order, default=None)
    recommended = best if best is not None and best.verdict is Verdict.PASS else None
    nearest = None if recommended else best
    whole = "tree" if isinstance(model, Tree) else "model"
    message = _message(whole, decision, recommended, nearest, refusals)
    if decision.verdict is not Verdict.PASS and recommended is None:
        message = " ".join(filter(None, (out_of_reach(result, decision), message)))
    return Repair(result, decision, attempts, refusals, recommended, nearest, message, recommended)


@dataclass(frozen=True, slots=True)
class _Trial:
    """What stays the same from one attempt to the next."""

    model: Model
    population: Population
    audit_all: AuditAll
    pack: Pack
    given: Given
    step: Step


@dataclass(frozen=True, slots=True)
class _Base:
    """A model that remedies start from: the original, whose name is empty, or what an attempt came to."""

    name: str
    proposal: Proposal
    decision: Decision
    evidence: Evidence


def _one_by_one(audit: Auditor) -> AuditAll:
    return lambda proposals: [_audited(audit, proposal.model) for proposal in proposals]


def _audited(audit: Auditor, model: Model) -> Audit | TreewardenError:
    try:
        return audit(model)
    except TreewardenError as error:
        return error


def _search(
    result: Audit, decision: Decision, trial: _Trial
) -> tuple[tuple[Attempt, ...], tuple[NoProposal, ...]]:
    """Try single remedies first, then, on what did not pass, two of them, and so on; each round is audited at once.

    Where the file fails for what stands beside its trees, that goes first: no change of the trees passes with it.
    What costs more than an attempt that passed is not combined with anything: that would only cost more.
    What changes the trees of an ensemble is not combined either, as there is nothing to follow.
    """
    own = trial.model
    node_map = tuple(range(len(own.nodes))) if isinstance(own, Tree) else ()
    start = Proposal((), "as it is", own, (), node_map)
    bases = [_Base("", start, decision, result.full.evidence)]
    attempts: list[Attempt] = []
    refusals: list[NoProposal] = []
    first = _first(start, decision, result.full.evidence, trial)
    while bases:
        found = first or [each for base in bases for each in _proposals(base, trial)]
        first = []
        refusals += [each for each in found if isinstance(each, NoProposal)]
        tried = _attempts([each for each in found if not isinstance(each, NoProposal)], trial)
        attempts += tried
        passing = [a.cost.rank for a in attempts if a.verdict is Verdict.PASS]
        bases = [
            _Base(a.name, a.proposal, a.decision, a.audit.full.evidence)
            for a in tried
            if a.audit and a.decision and a.verdict is not Verdict.PASS
            if isinstance(a.proposal.model, Tree) or a.name == REDACT_FILE
            if not isinstance(a.proposal, TableProposal)
            if all(a.cost.rank < rank for rank in passing)
        ]
    return _marked(attempts), tuple(refusals)


def _first(
    start: Proposal, decision: Decision, evidence: Evidence, trial: _Trial
) -> list[tuple[str, Proposal] | NoProposal]:
    """Return what is tried before all else; where nothing beside the trees can go, the other remedies are tried too."""
    if not file_fails(decision):
        return []
    found = without_leaks(start.model, evidence, trees_alone=trial.given.trees_alone)
    if isinstance(found, Proposal):
        return [(REDACT_FILE, found)]
    return [found, *_proposals(_Base("", start, decision, evidence), trial)]


def _proposals(base: _Base, trial: _Trial) -> Iterator[tuple[str, Proposal] | NoProposal]:
    """Yield what each remedy makes of a model, by name, numbered where there are several.

    Each remedy is used once, in one order: what decides on the leaves comes before withholding, which it cannot undo.
    Withholding is not tried while the leaves themselves break a clause, as it never mends that.
    """
    tree, forest = base.proposal.model, base.evidence.forest
    if not isinstance(tree, Tree):
        people, above = trial.population, trial.given.taxonomies
        for made in forest_proposals(forest, people, base.decision, above):
            yield made if isinstance(made, NoProposal) else _named(base, *made)
        return
    for name, remedy in _ready(base, trial.given):
        if not remedy.mends_leaves and _leaves_fail(base.decision):
            continue
        found = list(remedy.propose(tree, base.evidence.population, trial.pack))
        several = sum(isinstance(each, Proposal) for each in found) > 1
        for number, each in enumerate(found, start=1):
            if isinstance(each, NoProposal):
                yield NoProposal((*base.proposal.remedies, *each.remedies), each.reason)
                continue
            own = f"{name}-{number}" if several else name
            yield _named(base, own, each)


def _named(base: _Base, own: str, found: Proposal) -> tuple[str, Proposal]:
    return f"{base.name}+{own}" if base.name else own, _joined(base.proposal, found)


def _ready(base: _Base, given: Given) -> Iterator[tuple[str, Remedy]]:
    """Yield the remedies that may follow, with what they can use; the table goes with the tree as it was grown only."""
    ordered = sorted(remedies().items(), key=lambda item: (not item[1].mends_leaves, item[0]))
    names = [name for name, _ in ordered]
    used = [name for name in base.proposal.remedies if name != REDACT_FILE]
    done = names.index(used[-1]) + 1 if used else 0
    for name, remedy in ordered[done:]:
        if isinstance(remedy, UsesTable):
            if given.table is not None and not used:
                yield name, remedy.using_table(given.table)
        else:
            yield name, remedy.using(given.taxonomies, given.bases)


def _joined(base: Proposal, found: Proposal) -> Proposal:
    if not base.remedies:
        return found
    return replace(
        found,
        remedies=(*base.remedies, *found.remedies),
        title=f"{base.title}; then {found.title}",
        withheld=(*base.withheld, *found.withheld),
        node_map=tuple(found.node_map[index] for index in base.node_map),
        is_bare=base.is_bare,
    )


def _attempts(proposals: Sequence[tuple[str, Proposal]], trial: _Trial) -> list[Attempt]:
    if not proposals:
        return []
    changes = f"{len(proposals)} change{'s' if len(proposals) > 1 else ''}"
    with trial.step(f"auditing {changes} like the original"):
        results = trial.audit_all([proposal for _, proposal in proposals])
    return [
        _attempt(name, proposal, result, trial)
        for (name, proposal), result in zip(proposals, results, strict=True)
    ]


def _attempt(
    name: str, proposal: Proposal, result: Audit | TreewardenError, trial: _Trial
) -> Attempt:
    cost = cost_of(trial.model, trial.population, proposal, trial.given.holdout)
    if isinstance(result, TreewardenError):
        return Attempt(name, proposal, cost, None, None, str(result))
    return Attempt(
        name, proposal, cost, result, judge(result, trial.pack), _open(proposal, trial.pack)
    )


def _open(proposal: Proposal, pack: Pack) -> str:
    """Return what the audit of the tree does not tell: what a table published beside it gives away."""
    left = Clauses(pack).not_judged if isinstance(proposal, TableProposal) else ()
    return f"the table beside the tree is not held against {', '.join(left)}" if left else ""


def _marked(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts, those on the Pareto front marked: passing, privacy and every cost count."""
    front = unbeaten([_point(attempt) for attempt in attempts])
    return tuple(replace(a, is_unbeaten=on) for a, on in zip(attempts, front, strict=True))


def _point(attempt: Attempt) -> tuple[float, ...]:
    shown = -1.0 if attempt.privacy is None else attempt.privacy
    return (-float(attempt.verdict), shown, *(-each for each in attempt.cost.rank))


def _price(attempt: Attempt) -> tuple[float, ...]:
    """Return the order of recommendation: the cheapest, and of equally cheap ones the most private."""
    return (*attempt.cost.rank, -(attempt.privacy or 0.0))


def _doubts(decision: Decision) -> bool:
    """Return whether the evidence itself is in doubt, so that no change of the tree can lead to a pass."""
    return any(not finding.measure for finding in decision.findings)


def _leaves_fail(decision: Decision) -> bool:
    known = measures()
    return any(
        finding.measure and known[finding.measure].is_of_leaves for finding in decision.failing
    )


def order(attempt: Attempt) -> tuple[float, ...]:
    """Return the order of attempts, best first: those that pass by price, then by nearness to a pass.

    Nearest is what breaks fewest clauses, then what leaves fewest undecided, then what costs least.
    """
    if attempt.verdict is Verdict.PASS:
        return (0.0, 0.0, *_price(attempt))
    if attempt.decision is None:
        return (math.inf, math.inf, *_price(attempt))
    verdicts = [finding.verdict for finding in attempt.decision.failing]
    failed = verdicts.count(Verdict.FAIL)
    undecided = len(verdicts) - failed + bool(attempt.problem)
    return (failed, undecided, *_price(attempt))


def _message(
    whole: str,
    decision: Decision,
    recommended: Attempt | None,
    nearest: Attempt | None,
    refusals: tuple[NoProposal, ...],
) -> str:
    if decision.verdict is Verdict.PASS:
        return f"The {whole} passes as it is; nothing needs to change."
    if _doubts(decision):
        doubt = next(finding for finding in decision.findings if not finding.measure)
        return f"No change to the {whole} can help. {doubt.message}"
    if recommended is not None:
        return f"This passes: {recommended.proposal.title}."
    if nearest is None:
        said = [f"No remedy has anything to propose for this {whole}. It lacks this."]
        said += [finding.message for finding in decision.failing]
    else:
        said = ["Nothing that was tried passes."]
        lacks = (
            [finding.message for finding in nearest.decision.failing] if nearest.decision else []
        )
        said.append(f"Nearest: {nearest.proposal.title}. It still lacks this.")
        said += lacks or [f"It could not be audited in full: {nearest.problem}."]
    reasons = dict.fromkeys(each.reason for each in refusals)
    said += [f"{reason[:1].upper()}{reason[1:]}." for reason in reasons]
    return " ".join(said)
