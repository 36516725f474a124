"""Round the leaf values of a boosted model to few binary digits, and withhold what tells the rest of them.

A leaf value of a boosted model is an invertible function of the labels in its leaf. Cut to a few binary digits after
the leading one it says of these only within bounds, and hardly moves what the model predicts: a boosted model adds up
many values. The other numbers of the file (sums of second derivatives, gains, the unscaled weights of inner nodes)
would give the digits back, so they go too. Each number of digits is a proposal; which one is enough only its audit
tells.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from audit.inverters import inverters
from audit.people.forest import Forest
from audit.people.population import Population
from policies.pack import Pack
from policies.remedies import NoProposal, Proposal, Remedy
from ppdm_models.arrays import FloatArray
from ppdm_models.tree.ensemble import Ensemble, with_trees
from ppdm_models.tree.node_table import NodeTable
from ppdm_models.tree.tree import Quality, Task, Tree

DIGITS = (8, 4, 3, 2, 1)
"""Binary digits that stay after the leading one, most first."""
NOT_WRITTEN = "leaf values are rounded in XGBoost's model files only, so far"
NOT_OF_NUMBERS = (
    "leaf values are rounded of models that predict a class only: what a file says of people's numbers once they are "
    "rounded is not worked out"
)
SAMPLED = (
    "its trees saw samples of the records, or others than the table's: of rounded leaf values nobody could say any "
    "more what they tell of whom"
)
SUMS, VALUES = "sums of second derivatives", "digits of leaf values"


class RoundLeaves(Remedy):
    """Proposes for several trees at once; of one tree the leaves say what they say in counts, which ``redact`` has."""

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
        if growth is None or not isinstance(model, Ensemble):
            return
        if not inverters()[growth.library].reads_cut:
            yield NoProposal(("round_leaves",), NOT_WRITTEN)
            return
        if model.task is Task.REGRESSION:
            yield NoProposal(("round_leaves",), NOT_OF_NUMBERS)
            return
        if growth.refused:
            yield NoProposal(("round_leaves",), f"leaf values would not be told: {growth.refused}")
            return
        if not inverters()[growth.library].is_of(growth, population.records):
            yield NoProposal(("round_leaves",), SAMPLED)
            return
        bare = _changed(model, None)
        yield _proposal(f"withhold the {SUMS}, gains and weights of inner nodes", bare, (SUMS,))
        for digits in DIGITS:
            said = f"{digits} binary digit{'s' if digits > 1 else ''}"
            title = f"round leaf values to {said} after the leading one, and withhold the {SUMS}"
            yield _proposal(title, _changed(model, digits), (SUMS, VALUES))


def _proposal(title: str, model: Ensemble, withheld: tuple[str, ...]) -> Proposal:
    return Proposal(("round_leaves",), title, model, withheld, ())


def _changed(model: Ensemble, digits: int | None) -> Ensemble:
    return with_trees(model, (_tree(tree, digits) for tree in model.trees))


def _tree(tree: Tree, digits: int | None) -> Tree:
    """Return a tree without counts, and with its leaf values rounded; inner nodes predict nothing and lose theirs."""
    nodes = tree.nodes
    assert isinstance(nodes, NodeTable)
    scores = np.array([np.nan if score is None else score for score in nodes.scores], dtype=float)
    kept = scores if digits is None else rounded(scores, digits)
    return replace(
        tree, nodes=replace(nodes, scores=kept, records=None), quality=Quality.ABSENT, notes=()
    )


def rounded(values: FloatArray, digits: int) -> FloatArray:
    """Return numbers with so many binary digits after the leading one, each rounded to the nearest."""
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissas, digits + 1)), exponents - digits - 1))


REMEDY = RoundLeaves()
"""Rounds the leaves of every tree."""
