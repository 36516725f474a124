"""Withhold the class counts of the fewest leaves that leave nobody's value proved, with a proof that no fewer do.

Every set of published numbers that proves somebody's value, and of which none can be missed, has to lose one: a
cheapest set that hits all of them is the least (Reiter 1987; implicit hitting sets). Labels and record counts stay, and
so does what the labels prove; numbers at inner nodes go, as they tell what a leaf withheld. Reasons are found by the
counts alone: the audit that follows knows the choice of splits too, and may find more. Guessing is not made harder: who
believes the labels needs no numbers. Whoever knows this rule learns from what is withheld that it would have proved
something (the minimality attack, Wong et al. 2007); where that matters, withhold the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import measures
from treewarden.audit.population.forest import Forest, forest_of
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Share, Step, clock, silent
from treewarden.audit.reading import Undetermined
from treewarden.audit.withholding_costs import BAND_WIDTH, EQUAL_COSTS, WithholdingCosts
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, Remedy
from treewarden.policies.remedies._withholding import (
    CLASS_COUNTS,
    FINER,
    banded,
    bare_inner,
    label_only,
    withhold_counts,
)
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import PublishedOutput
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model, trees_of
from treewarden.ppdm_models.tree.tree import Tree

if TYPE_CHECKING:  # solvers
    from treewarden.audit.blame.result import LeastWithholding

SECONDS = 15.0
OF_SEVERAL = 45.0
"""Seconds of the search, for one tree and for several."""


@dataclass(frozen=True, slots=True)
class WithholdLeast(Remedy):
    """Offered where a policy limits how many people's values are proved; other clauses it does not look at.

    ``progress`` hears the lower bound while the search runs, which ends when ``seconds_left`` are over. Of ``costs``
    those of leaves and of bands matter; with ``same_everywhere`` all leaves of a tree give the same. What is published
    ``beside`` the model stays so.
    """

    mends_leaves = False
    progress: Step = silent
    seconds_left: float = math.inf
    costs: WithholdingCosts = EQUAL_COSTS
    same_everywhere: bool = False
    beside: tuple[PublishedOutput, ...] = ()

    def reporting_to(self, progress: Step, seconds_left: float) -> Remedy:
        """Return this remedy with who hears of the search, and how long it may take."""
        return replace(self, progress=progress, seconds_left=seconds_left)

    def at_costs(
        self,
        costs: WithholdingCosts,
        *,
        same_everywhere: bool,
        beside: tuple[PublishedOutput, ...] = (),
    ) -> Remedy:
        """Return this remedy with what a leaf's counts cost, whether all of a tree go, and what stays beside it."""
        return replace(self, costs=costs, same_everywhere=same_everywhere, beside=beside)

    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        if not _limits_proofs(pack) or not any(leaf.class_counts for leaf in tree.leaves):
            return
        found = self._fewest(forest_of(tree, population), population, SECONDS)
        if isinstance(found, Undetermined):
            return
        if isinstance(found, NoProposal):
            yield found
            return
        if not found.leaves | found.in_bands:
            return
        inner = bare_inner(tree)
        nodes = tuple(
            inner(tree, node)
            if not node.is_leaf
            else label_only(tree, node)
            if (0, node.index) in found.leaves
            else banded(BAND_WIDTH)(tree, node)
            if (0, node.index) in found.in_bands
            else node
            for node in tree.nodes
        )
        changed = replace(tree, nodes=nodes, unused=())
        made = _proposal(found, len(tree.leaves), changed, tuple(range(len(tree.nodes))))
        yield self._cautioned(made, changed)

    def propose_all(
        self, forest: Forest, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        counted = any(leaf.class_counts for tree in forest.trees for leaf in tree.leaves)
        is_boosted = isinstance(forest.model, Ensemble) and forest.model.growth is not None
        if not _limits_proofs(pack) or not (counted or is_boosted) or not forest.model.classes:
            return
        unchanged = withhold_counts(forest, population.columns, frozenset())
        if isinstance(unchanged, str):
            yield NoProposal(("withhold_least",), unchanged)
            return
        found = self._fewest(forest, population, OF_SEVERAL)
        if isinstance(found, Undetermined):
            yield NoProposal(("withhold_least",), f"{NOT_SEARCHED}: {found.reason}")
            return
        if isinstance(found, NoProposal):
            yield found
            return
        changed = withhold_counts(forest, population.columns, found.leaves, found.in_bands)
        if isinstance(changed, Ensemble) and found.leaves | found.in_bands:
            leaves = sum(tree.leaf_count for tree in forest.trees)
            yield self._cautioned(_proposal(found, leaves, changed, ()), changed)

    def _cautioned(self, proposal: Proposal, changed: Model) -> Proposal:
        """Return the proposal with what the choice of leaves tells, where others keep their counts."""
        keeps = any(leaf.class_counts for tree in trees_of(changed) for leaf in tree.leaves)
        is_told = keeps and not self.same_everywhere
        return replace(proposal, caution=CHOICE_TELLS) if is_told else proposal

    def _fewest(
        self, forest: Forest, population: Population, seconds: float
    ) -> FewestLeaves | NoProposal | Undetermined:
        seconds = min(seconds, self.seconds_left)
        with self.progress(f"looking for the least to withhold, at most {seconds:.3g} s") as share:
            found = fewest_leaves(
                forest,
                population,
                seconds,
                share,
                costs=self.costs,
                same_everywhere=self.same_everywhere,
                beside=self.beside,
            )
        if isinstance(found, Undetermined):
            return found
        least = found.least
        if not least.problem and least.is_safe:
            return found
        why = least.problem or (
            f"no set was found in {seconds:.3g} s; at least {_bound_of(found)} must be withheld"
        )
        if forest.is_ensemble and least.problem:
            why = f"{why}, by {OF_LABELS}"
        return NoProposal(("withhold_least",), why)


CHOICE_TELLS = (
    "Only the leaves whose counts would prove something lose them. Whoever knows this rule can "
    "guess what those leaves hold. To publish the same of every leaf, repair with "
    "--same-everywhere."
)
OF_LABELS = "labels and record counts, if it is known how ties are broken; train larger leaves"
NOT_SEARCHED = "the least to withhold was not searched for"


def _proposal(
    fewest: FewestLeaves, leaves: int, changed: Model, node_map: tuple[int, ...]
) -> Proposal:
    best = "nothing that costs less suffices" if fewest.has_costs else "no fewer suffice"
    proof = best if fewest.least.is_optimal else f"at least {_bound_of(fewest)} must be withheld"
    whole, banded_ = len(fewest.leaves), len(fewest.in_bands)
    parts = [f"withhold the class counts of {whole:,} of {leaves:,} leaves"] if whole else []
    if banded_:
        parts.append(f"publish those of {banded_:,} of {leaves:,} leaves as ranges of {BAND_WIDTH}")
    title = (
        f"{' and '.join(parts)}, after which counts prove "
        f"nobody's value ({proof}); labels and record counts stay"
    )
    kinds = (CLASS_COUNTS,) if whole else (f"{CLASS_COUNTS} {FINER} {BAND_WIDTH}",)
    return Proposal(("withhold_least",), title, changed, kinds, node_map)


def _bound_of(fewest: FewestLeaves) -> str:
    bound, unit = fewest.least.lower_bound, fewest.least.unit
    return f"a cost of {bound / unit:,g}" if fewest.has_costs else f"{bound:,} leaves"


@dataclass(frozen=True, slots=True)
class FewestLeaves:
    """What is to be withheld, and the tree and the node of each leaf that it is; those ``in_bands`` keep ranges."""

    least: LeastWithholding
    leaves: frozenset[tuple[int, int]]
    in_bands: frozenset[tuple[int, int]] = frozenset()
    has_costs: bool = False


def fewest_leaves(
    forest: Forest,
    population: Population,
    seconds: float,
    share: Share | None = None,
    *,
    costs: WithholdingCosts = EQUAL_COSTS,
    same_everywhere: bool = False,
    beside: tuple[PublishedOutput, ...] = (),
) -> FewestLeaves | Undetermined:
    """Return the leaves that it costs least to withhold, or why the counts are no rows over whole people.

    ``share`` hears how many have to be withheld at least, of how many, as far as that is known.
    """
    from treewarden.audit.blame.certainty import CertaintyOracle  # heavy: solvers
    from treewarden.audit.blame.of_model import known_outputs, numbers_of_model, ties_of
    from treewarden.audit.blame.withholding import withhold_least
    from treewarden.audit.joint.draws import LabelTies
    from treewarden.audit.run_inputs import model_beside_rows

    ties = LabelTies.ANY_RULE if forest.is_ensemble else LabelTies.EITHER  # as each is audited
    try:
        rows = model_beside_rows(beside, population, forest.model, Knowledge())
    except OutputsError as error:  # of a changed model a metric may be another
        return Undetermined(str(error))
    published = numbers_of_model(forest, population, Knowledge(), rows, costs, ties)
    if isinstance(published, Undetermined):
        return published
    oracle = CertaintyOracle(known_outputs(published), clock(seconds).told_to(share))
    tied = ties_of(published, rows) if same_everywhere else ()
    least = withhold_least(oracle, tied, published.unit, share)
    single = len({leaf for leaf in published.leaves if leaf[0] >= 0})
    exact = len(published.leaves) - single  # the bands of leaves come last, after all other numbers
    chosen = frozenset(published.leaves[number] for number in least.withheld)
    leaves = chosen
    if costs.has_bands:
        leaves = frozenset(published.leaves[each] for each in least.withheld if each >= exact)
    return FewestLeaves(least, leaves, chosen - leaves, bool(costs.of_kind))


def _limits_proofs(pack: Pack) -> bool:
    known = measures()
    return any(
        known[atom.call.measure].is_of_worlds for clause in pack.counting for atom in clause.atoms
    )


REMEDY = WithholdLeast()
