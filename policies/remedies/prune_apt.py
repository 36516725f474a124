"""Prune: merge siblings until every leaf meets the checks on leaves (Sharkey et al. 2008, algorithm APT).

Siblings are merged under the same value of their attribute's hierarchy, numeric neighbours with each other, and all of
them where neither is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from treewarden.audit.population.population import Population
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal
from treewarden.policies.remedies._pruning import Prospect, Pruning, proposal, prospect
from treewarden.ppdm_models.pruning.prune import Pruned, prune
from treewarden.ppdm_models.tree.tree import Tree

NAME = "prune_apt"


@dataclass(frozen=True, slots=True)
class PruneApt(Pruning):
    """Proposes one tree: the pruned one; or says that no tree is left."""

    no_tree: ClassVar[str] = (
        "pruning leaves no tree: only a single leaf would pass the checks on leaves"
    )

    def best(self, prospect: Prospect) -> Pruned | None:
        return prune(prospect.prunable)

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        found = prospect(tree, population, pack, self.taxonomies)
        if isinstance(found, str):
            yield NoProposal((NAME,), found)
        elif not found.prunable.stays.all():
            yield proposal(NAME, tree, self.best(found), self.no_tree)


REMEDY = PruneApt()
"""Pruning by algorithm APT; siblings merge by hierarchies where it is given some."""
