"""Prune: merge siblings until every leaf meets the policy's clauses about leaves (Sharkey et al. 2008, algorithm APT).

Siblings are merged under the same value of their attribute's hierarchy, numeric neighbours with each other, and all of
them where neither is enough.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from audit.population import Population
from policies.pack import Pack
from policies.remedies import NoProposal, Proposal, Remedy
from policies.remedies._pruning import proposal, prospect
from ppdm_models.apt import prune
from ppdm_models.taxonomy import Taxonomies
from ppdm_models.tree import Tree

NAME = "prune_apt"
NO_TREE = "pruning leaves no tree: to meet the clauses about leaves everything would have to be merged into one leaf"


@dataclass(frozen=True, slots=True)
class PruneApt(Remedy):
    """Proposes one tree: the pruned one; or says that no tree is left."""

    mends_leaves = True
    taxonomies: Taxonomies = field(default_factory=dict)

    def using(self, taxonomies: Taxonomies, bases: tuple[int, ...] = ()) -> Remedy:
        return PruneApt(taxonomies)

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        found = prospect(tree, population, pack, self.taxonomies)
        if isinstance(found, str):
            yield NoProposal((NAME,), found)
        elif not found.prunable.stays.all():
            yield proposal(NAME, tree, prune(found.prunable), NO_TREE)


REMEDY = PruneApt()
"""Pruning by algorithm APT; siblings merge by hierarchies where it is given some."""
