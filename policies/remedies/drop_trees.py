"""Leave out the last trees of a boosted model.

Each tree is an equation more for each of its leaves, and says less than the one before it of what is to be predicted:
of few trees little is certain. How few is enough only their audit tells.
"""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, Remedy
from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.tree.ensemble import Ensemble, first_members
from treewarden.ppdm_models.tree.tree import Tree

HALVINGS = 6
"""So often the rounds are halved."""
NOT_WRITTEN = "files of the format {} cannot be written with fewer trees"


class DropTrees(Remedy):
    """Proposes half of the rounds, a quarter of them, and so on."""

    mends_leaves = False

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        return iter(())

    def propose_all(
        self, forest: Forest, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        model = forest.model
        growth = model.growth if isinstance(model, Ensemble) else None
        if growth is None or not isinstance(model, Ensemble) or growth.refused:
            return
        if not formats()[model.format].drops_trees:
            yield NoProposal(("drop_trees",), NOT_WRITTEN.format(model.format))
            return
        rounds = len(growth.rounds)
        kept = dict.fromkeys(rounds >> times for times in range(1, HALVINGS + 1))
        for each in kept:
            if each:
                trees = sum(map(len, growth.rounds[:each]))
                title = f"leave out the last trees: the first {each:,} of {rounds:,} rounds stay"
                kept_model = first_members(model, trees)
                yield Proposal(("drop_trees",), title, kept_model, (), (), kept=each)


REMEDY = DropTrees()
"""Leaves out the last trees."""
