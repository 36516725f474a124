"""Everything the measures may look at: the tree, the people, what the adversary knew before and knows now."""

from __future__ import annotations

from dataclasses import dataclass, field

from audit.knowledge import Knowledge
from audit.population import Population
from audit.posterior import Posterior
from audit.reading import Undetermined
from audit.worlds.result import Worlds
from ppdm_models.tree import Tree

NOT_RUN = Undetermined("exact worlds were not run")


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one audit knows. ``prior`` is the adversary's estimate before the tree, ``posterior`` with it.

    ``worlds`` is what integer reasoning over whole records proves. ``knowledge`` is resolved: no level in it says "as
    published".
    """

    tree: Tree
    population: Population
    knowledge: Knowledge
    prior: Posterior | Undetermined
    posterior: Posterior | Undetermined
    worlds: Worlds | Undetermined = field(default=NOT_RUN, compare=False)
