"""The fewest leaves of a tree whose class counts have to go so that counts prove nobody's value."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.audit.blame.certainty import CertaintyOracle
from treewarden.audit.blame.of_model import numbers_of_model
from treewarden.audit.blame.result import LeastWithholding
from treewarden.audit.blame.withholding import withhold_least
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import Population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.tree.tree import Tree


@dataclass(frozen=True, slots=True)
class FewestLeaves:
    """What is to be withheld, and the nodes of the leaves that it is."""

    least: LeastWithholding
    leaves: frozenset[int]


def fewest_leaves(
    tree: Tree, population: Population, seconds: float
) -> FewestLeaves | Undetermined:
    """Return the fewest leaves to withhold, or why the tree's counts are no rows over whole people."""
    published = numbers_of_model(forest_of(tree, population), population, Knowledge())
    if isinstance(published, Undetermined):
        return published
    least = withhold_least(CertaintyOracle(published.numbers, clock(seconds)))
    leaves = frozenset(published.leaves[number][1] for number in least.withheld)
    return FewestLeaves(least, leaves)
