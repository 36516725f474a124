"""What can be tried next: the proposals of each remedy for a model, by name, joined to what led to that model."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from treewarden.audit.evidence import Evidence
from treewarden.audit.people.population import Population
from treewarden.policies.judging.applying import applying
from treewarden.policies.judging.decision import Decision
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, Remedy, remedies
from treewarden.policies.remedies._table import UsesTable
from treewarden.policies.repairing.bare import REDACT_FILE, file_fails, without_leaks
from treewarden.policies.repairing.forests import forest_proposals
from treewarden.policies.repairing.given import Given
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Tree

Named = tuple[str, Proposal]
"""A proposal behind the name that it is chosen by."""


@dataclass(frozen=True, slots=True)
class Base:
    """A model that remedies start from: the original, whose name is empty, or what an attempt came to."""

    name: str
    proposal: Proposal
    decision: Decision
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Proposing:
    """What stays the same from one proposal to the next: the original's people, the policy, what may be used."""

    population: Population
    pack: Pack
    given: Given

    def first(
        self, model: Model, decision: Decision, evidence: Evidence
    ) -> list[Named | NoProposal]:
        """Return what is tried on the original.

        Where the file fails for what stands beside its trees, that goes first: no change of the trees passes with it.
        Where nothing beside the trees can go, the other remedies are tried all the same.
        """
        node_map = tuple(range(len(model.nodes))) if isinstance(model, Tree) else ()
        start = Base("", Proposal((), "as it is", model, (), node_map), decision, evidence)
        if not file_fails(decision):
            return list(self.on(start))
        found = without_leaks(model, evidence, trees_alone=self.given.trees_alone)
        if isinstance(found, Proposal):
            return [(REDACT_FILE, found)]
        return [found, *self.on(start)]

    def on(self, base: Base) -> Iterator[Named | NoProposal]:
        """Yield what each remedy makes of a model, by name, numbered where there are several.

        Each remedy is used once, in one order: what decides on the leaves comes before withholding, which it cannot
        undo. Withholding is not tried while the leaves themselves break a clause, as it never mends that.
        """
        tree, forest = base.proposal.model, base.evidence.forest
        if not isinstance(tree, Tree):
            people, above = self.population, self.given.taxonomies
            for made in forest_proposals(forest, people, base.decision, above):
                yield made if isinstance(made, NoProposal) else _named(base, *made)
            return
        for name, remedy in _ready(base, self.given):
            if not remedy.mends_leaves and _leaves_fail(base.decision):
                continue
            asked = applying(self.pack, tree)
            found = list(remedy.propose(tree, base.evidence.population, asked))
            several = sum(isinstance(each, Proposal) for each in found) > 1
            for number, each in enumerate(found, start=1):
                if isinstance(each, NoProposal):
                    yield NoProposal((*base.proposal.remedies, *each.remedies), each.reason)
                    continue
                own = f"{name}-{number}" if several else name
                yield _named(base, own, each)


def _named(base: Base, own: str, found: Proposal) -> Named:
    return f"{base.name}+{own}" if base.name else own, _joined(base.proposal, found)


def _ready(base: Base, given: Given) -> Iterator[tuple[str, Remedy]]:
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


def _leaves_fail(decision: Decision) -> bool:
    return any(finding.is_of_leaves for finding in decision.failing)
