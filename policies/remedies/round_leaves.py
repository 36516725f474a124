"""Round the leaf values of a boosted model to few binary digits, and withhold what would reveal the rest.

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

from treewarden.audit.inverters import GrownCase, inverters
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.reading import Undetermined
from treewarden.policies.pack import Pack
from treewarden.policies.remedies import NoProposal, Proposal, Remedy
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.files.load import formats
from treewarden.ppdm_models.tree.ensemble import Ensemble, EnsembleGrowth, with_trees
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.tree import Quality, Tree

DIGITS = (8, 4, 3, 2, 1)
"""Binary digits that stay after the leading one, most first."""
NOT_WRITTEN: dict[str, str] = {
    "catboost_json": (
        "leaf values of CatBoost are not rounded: each is computed in several steps, and what rounding hides of them "
        "cannot be judged; train the model again with fewer rounds or larger leaves"
    ),
    "lightgbm_dump": (
        "a dump does not contain the training settings, so rounded leaf values could not be judged; "
        "save the model as text (save_model) and repair that file"
    ),
    "skops_file": (
        "treewarden does not write skops files, so leaf values are not rounded in them; train the model again with "
        "fewer rounds (max_iter, n_estimators) or larger leaves (min_samples_leaf)"
    ),
    "spark_ml": (
        "treewarden does not write Spark models, so leaf values are not rounded in them; train the model again with "
        "fewer rounds (maxIter) or larger leaves (minInstancesPerNode)"
    ),
}
"""Why leaf values are not rounded in files of a format, and what to do."""
OTHERWISE = (
    "leaf values are not rounded in files of the format {}; train the model again with fewer rounds or larger "
    "leaves"
)
SAMPLED = (
    "its trees were trained on samples of the records, or on other records than the table's, so rounded leaf values "
    "could not be judged"
)
OF_NUMBERS = (
    "leaf values were not rounded, because the model predicts a number, and what rounded values disclose about "
    "people's numbers cannot be judged; train the model again with fewer rounds or larger leaves"
)
SUMS, SEEDS, VALUES = "sums of second derivatives", "seeds", "digits of leaf values"


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
        beside = _beside(forest, growth, population)
        if isinstance(beside, str):
            yield NoProposal(("round_leaves",), beside)
            return
        if not _is_short(forest, growth, population):
            bare = _changed(model, beside, None)
            title = f"withhold the {SUMS}, gains and weights of inner nodes, and {SEEDS}"
            yield _proposal(title, bare, (SUMS, SEEDS))
        for digits in DIGITS:
            said = f"{digits} binary digit{'s' if digits > 1 else ''}"
            title = f"round leaf values to {said} after the leading one, and withhold the {SUMS} and {SEEDS}"
            yield _proposal(title, _changed(model, beside, digits), (SUMS, SEEDS, VALUES))


def _is_short(forest: Forest, growth: EnsembleGrowth, population: Population) -> bool:
    """Return whether leaf values that nobody rounded look as if somebody had: whole, they would be read as rounded."""
    classes = len(forest.model.classes)
    case = GrownCase(growth, forest.trees, forest.stops, population.counts, classes)
    return inverters()[growth.library].is_cut(case)


def _beside(forest: Forest, growth: EnsembleGrowth, population: Population) -> FloatArray | str:
    """Return what stands in the leaves of each tree beside the steps that are rounded, (T,); or why none are."""
    model, inverter = forest.model, inverters()[growth.library]
    if not formats()[model.format].rounds_leaves:
        return NOT_WRITTEN.get(model.format, OTHERWISE.format(model.format))
    if growth.refused:
        return f"rounded leaf values could not be judged: {growth.refused}"
    if not inverter.is_of(growth, population.records) or inverter.is_sampled(growth):
        return SAMPLED
    if not model.classes:
        return OF_NUMBERS
    classes = len(model.classes)
    case = GrownCase(growth, forest.trees, forest.stops, population.counts, classes)
    beside = inverter.beside_steps(case)
    if isinstance(beside, Undetermined):
        return f"rounded leaf values could not be judged: {beside.reason}"
    return beside


def _proposal(title: str, model: Ensemble, withheld: tuple[str, ...]) -> Proposal:
    return Proposal(("round_leaves",), title, model, withheld, (), is_bare=True)


def _changed(model: Ensemble, beside: FloatArray, digits: int | None) -> Ensemble:
    trees = zip(model.trees, beside.tolist(), strict=True)
    return with_trees(model, (_tree(tree, each, digits) for tree, each in trees))


def _tree(tree: Tree, beside: float, digits: int | None) -> Tree:
    """Return a tree without counts, and with its leaf values rounded; inner nodes predict nothing and lose theirs.

    What stands ``beside`` the step in every leaf stays whole.
    """
    nodes = tree.nodes
    assert isinstance(nodes, NodeTable)
    scores = np.array([np.nan if score is None else score for score in nodes.scores], dtype=float)
    is_leaf = np.array([node.is_leaf for node in nodes])
    scores = np.where(is_leaf, scores, np.nan)
    kept = scores if digits is None else beside + rounded(scores - beside, digits)
    return replace(
        tree, nodes=replace(nodes, scores=kept, records=None), quality=Quality.ABSENT, notes=()
    )


def rounded(values: FloatArray, digits: int) -> FloatArray:
    """Return numbers with so many binary digits after the leading one, each rounded to the nearest."""
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(np.ldexp(mantissas, digits + 1)), exponents - digits - 1))


REMEDY = RoundLeaves()
"""Rounds the leaves of every tree."""
