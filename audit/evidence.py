"""Everything the measures may look at: the trees, the people, what the adversary knew before and knows now."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from audit.adversary.knowledge import Knowledge
from audit.estimate.posterior import Posterior
from audit.people.forest import Forest
from audit.people.leaves import Leaves, leaves_of
from audit.people.population import Population
from audit.reading import Spot, Undetermined
from audit.worlds.result import Worlds
from ppdm_models.arrays import IndexArray
from ppdm_models.tree.leaks import Leak
from ppdm_models.tree.tree import Task, Tree

NOT_RUN = Undetermined("exact worlds were not run")
NOT_READ = Undetermined(
    "what else the file holds was not looked at; give the file as it is to be published"
)


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one audit knows. ``prior`` is the adversary's estimate before the tree, ``posterior`` with it.

    ``worlds`` is what integer reasoning over whole records proves. ``knowledge`` is resolved: no level in it says "as
    published". Of an ensemble, ``forest`` holds all trees, and ``tree`` is the one that is drawn, with ``population``
    where the people stop in it. ``leaks`` is what the file gives away beside its trees.
    """

    tree: Tree
    population: Population
    knowledge: Knowledge
    prior: Posterior | Undetermined
    posterior: Posterior | Undetermined
    worlds: Worlds | Undetermined = field(default=NOT_RUN, compare=False)
    forest: Forest | None = None
    leaks: tuple[Leak, ...] | Undetermined = NOT_READ

    @property
    def leaves(self) -> Leaves | Undetermined:
        """The places where records stop, those of every tree of an ensemble."""
        if self.forest is not None:
            return self.forest.leaves
        return leaves_of(self.tree, self.population)

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The tree, or all trees of an ensemble."""
        return (self.tree,) if self.forest is None else self.forest.trees

    @property
    def stops(self) -> IndexArray:
        """The node where each profile stops in each tree (negative: in none), shape (T, P)."""
        if self.forest is not None:
            return self.forest.stops
        return np.asarray(self.population.leaf)[None, :]

    @property
    def shown(self) -> int:
        """Which of the trees is the one that is drawn."""
        return 0 if self.forest is None else self.forest.shown

    @property
    def classes(self) -> tuple[str, ...]:
        """The classes that the model tells apart; those of the whole ensemble where it is one."""
        return self.tree.classes if self.forest is None else self.forest.ensemble.classes

    @property
    def source(self) -> str:
        """The name of the model's file."""
        return self.tree.source if self.forest is None else self.forest.ensemble.source

    @property
    def task(self) -> Task:
        """What the model predicts: a class or a number; that of the whole ensemble where it is one."""
        return self.tree.task if self.forest is None else self.forest.ensemble.task

    @property
    def target(self) -> str:
        """What the model predicts; where its file does not say, the sensitive column that was named for it, or ""."""
        model = self.tree if self.forest is None else self.forest.ensemble
        return model.target or self.population.sensitive

    def tree_of(self, spot: Spot) -> Tree:
        """Return the tree that a place is in."""
        return self.trees[spot.tree]

    def records_at(self, spot: Spot) -> float:
        """Return how many records stop at the leaf of a place."""
        here = self.stops[spot.tree] == spot.index
        return float(self.population.counts[here].sum())
