"""Withhold the class counts of the fewest leaves that leave nobody's value proved, with a proof that no fewer do.

Every set of published numbers that proves somebody's value, and of which none can be missed, has to lose one: a
cheapest set that hits all of them is the least (Reiter 1987; implicit hitting sets). Labels and record counts stay, and
so does what the labels prove; numbers at inner nodes go, as they tell what a leaf withheld. Reasons are found by the
counts alone: the audit that follows knows the choice of splits too, and may find more. Guessing is not made harder: who
believes the labels needs no numbers. Whoever knows this rule learns from what is withheld that it would have proved
something (the minimality attack, Wong et al. 2007); where that matters, withhold the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import measures
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import Population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, Remedy
from treewarden.policies.remedies._withholding import CLASS_COUNTS, bare_inner, label_only
from treewarden.ppdm_models.tree.tree import Tree

if TYPE_CHECKING:  # solvers
    from treewarden.audit.blame.result import LeastWithholding

SECONDS = 15.0


class WithholdLeast(Remedy):
    """Offered where a policy limits how many people's values are proved; other clauses it does not look at."""

    mends_leaves = False

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        if not _limits_proofs(pack) or not any(leaf.class_counts for leaf in tree.leaves):
            return
        found = fewest_leaves(tree, population, SECONDS)
        if isinstance(found, Undetermined):
            return
        least, chosen = found.least, found.leaves
        if least.problem or not least.is_safe:
            why = least.problem or (
                f"no set was found in {SECONDS:g} s; at least {least.lower_bound:,} "
                "leaves must be withheld"
            )
            yield NoProposal(("withhold_least",), why)
            return
        if not chosen:
            return
        inner = bare_inner(tree)
        nodes = tuple(
            inner(tree, node)
            if not node.is_leaf
            else label_only(tree, node)
            if node.index in chosen
            else node
            for node in tree.nodes
        )
        proof = (
            "no fewer suffice"
            if least.is_optimal
            else f"at least {least.lower_bound:,} must be withheld"
        )
        title = (
            f"withhold the class counts of {len(chosen):,} of {len(tree.leaves):,} leaves, after which counts prove "
            f"nobody's value ({proof}); labels and record counts stay"
        )
        yield Proposal(
            ("withhold_least",),
            title,
            replace(tree, nodes=nodes, unused=()),
            (CLASS_COUNTS,),
            tuple(range(len(tree.nodes))),
        )


@dataclass(frozen=True, slots=True)
class FewestLeaves:
    """What is to be withheld, and the nodes of the leaves that it is."""

    least: LeastWithholding
    leaves: frozenset[int]


def fewest_leaves(
    tree: Tree, population: Population, seconds: float
) -> FewestLeaves | Undetermined:
    """Return the fewest leaves to withhold, or why the tree's counts are no rows over whole people."""
    from treewarden.audit.blame.certainty import CertaintyOracle  # heavy: solvers
    from treewarden.audit.blame.of_model import numbers_of_model
    from treewarden.audit.blame.withholding import withhold_least

    published = numbers_of_model(forest_of(tree, population), population, Knowledge())
    if isinstance(published, Undetermined):
        return published
    least = withhold_least(CertaintyOracle(published.numbers, clock(seconds)))
    leaves = frozenset(published.leaves[number][1] for number in least.withheld)
    return FewestLeaves(least, leaves)


def _limits_proofs(pack: Pack) -> bool:
    known = measures()
    return any(
        known[atom.call.measure].is_of_worlds for clause in pack.counting for atom in clause.atoms
    )


REMEDY = WithholdLeast()
