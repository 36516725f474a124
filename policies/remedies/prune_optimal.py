"""Prune at the lowest cost: keep as many predictions right, or unchanged, as possible.

Every leaf meets the policy's clauses about leaves, as with algorithm APT, which chooses among the same merges greedily:
a tree is proposed only where it is better than that one's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from treewarden.audit.population.population import Population
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal
from treewarden.policies.remedies._pruning import Prospect, Pruning, proposal, prospect
from treewarden.ppdm_models.pruning.prune import Pruned, prune, prune_optimally
from treewarden.ppdm_models.tree.tree import Tree

NAME = "prune_optimal"


@dataclass(frozen=True, slots=True)
class PruneOptimal(Pruning):
    """Proposes the tree of the highest training accuracy, then the one that changes fewest predictions, if another."""

    no_tree: ClassVar[str] = "no pruning passes the checks on leaves, except a single leaf"

    def best(self, prospect: Prospect) -> Pruned | None:
        return prune_optimally(prospect.prunable, *(prospect.right or prospect.unchanged))

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        found = prospect(tree, population, pack, self.taxonomies)
        if isinstance(found, str):
            yield NoProposal((NAME,), found)
            return
        if found.prunable.stays.all():
            return
        greedy = prune(found.prunable)
        trees = [] if greedy is None else [greedy.tree]
        for kept in (found.right, found.unchanged):
            pruned = None if kept is None else prune_optimally(found.prunable, *kept)
            if kept is None or (pruned is not None and pruned.tree in trees):
                continue
            yield proposal(NAME, tree, pruned, self.no_tree)
            if pruned is None:
                return
            trees.append(pruned.tree)


REMEDY = PruneOptimal()
"""Pruning by dynamic programming; siblings merge by hierarchies where it is given some."""
