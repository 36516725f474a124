"""Changes to a tree that may let it pass: each is proposed here and believed only once it has been audited."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from treewarden.audit.population.forest import Forest
from treewarden.audit.population.population import Population
from treewarden.audit.progress import Step
from treewarden.audit.withholding_costs import WithholdingCosts
from treewarden.policies.pack import Pack
from treewarden.ppdm_models.outputs.published import PublishedOutput
from treewarden.ppdm_models.plugins import PluginIndex, discover
from treewarden.ppdm_models.tables.taxonomy import Taxonomies
from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.tree import Tree

if TYPE_CHECKING:  # only a sanitised table needs its method
    from treewarden.ppdm_models.methods.tpp.sanitise import SanitisedTable
    from treewarden.ppdm_models.tables.table import Table


@dataclass(frozen=True, slots=True)
class Proposal:
    """A changed model. ``remedies`` are the names of what was done, in order; ``title`` says it in words.

    ``withheld`` are the kinds of numbers no longer published; ``node_map`` gives for each node of the original tree the
    node of this one that its records are in now. It is empty for an ensemble. ``is_bare`` says that the file is to be
    written without what it gives away beside its trees; ``kept`` are how many rounds of a boosted model stay, where the
    last ones go (0: all do). ``caution`` is what somebody may infer who knows how the change was chosen.
    """

    remedies: tuple[str, ...]
    title: str
    model: Model
    withheld: tuple[str, ...]
    node_map: tuple[int, ...]
    is_bare: bool = False
    kept: int = 0
    caution: str = ""


@dataclass(frozen=True, slots=True)
class TableProposal(Proposal):
    """A changed tree with the table that may be published beside it: ``sanitised`` holds both and how they check."""

    sanitised: SanitisedTable = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class NoProposal:
    """Why a remedy cannot help here, in words."""

    remedies: tuple[str, ...]
    reason: str


class Remedy(ABC):
    """Proposes changes to a tree that failed.

    ``mends_leaves`` is true where the change decides which records share a leaf; a remedy that only withholds numbers
    never mends what is wrong with the leaves themselves. Where a proposal of the remedy that it is ``second_to``
    passes, those that cost as much or more are neither audited nor listed.
    """

    mends_leaves: ClassVar[bool]
    second_to: ClassVar[str] = ""

    def using(self, taxonomies: Taxonomies, bases: tuple[int, ...] = ()) -> Remedy:
        """Return this remedy with value hierarchies to merge by, or widths of bands in records, mildest first.

        Itself where it has no use for them, or where there are none.
        """
        return self

    @abstractmethod
    def propose(
        self, tree: Tree, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        """Yield proposals, mildest first; nothing where the remedy would change nothing."""

    def propose_all(
        self, forest: Forest, population: Population, pack: Pack
    ) -> Iterator[Proposal | NoProposal]:
        """Yield proposals for several trees at once; most remedies have none."""
        return iter(())


@runtime_checkable
class UsesTable(Protocol):
    """A remedy that proposes something only where it is given the records."""

    def using_table(self, table: Table) -> Remedy:
        """Return this remedy with the table that the tree was grown on."""


@runtime_checkable
class SearchesLong(Protocol):
    """A remedy whose proposals take a while to find."""

    def reporting_to(self, progress: Step, seconds_left: float) -> Remedy:
        """Return this remedy with who hears of the search, and how long it may take."""


@runtime_checkable
class WithholdsByCost(Protocol):
    """A remedy that withholds the numbers that are least missed."""

    def at_costs(
        self,
        costs: WithholdingCosts,
        *,
        same_everywhere: bool,
        beside: tuple[PublishedOutput, ...] = (),
    ) -> Remedy:
        """Return this remedy with what numbers cost, whether all of a tree go or none, and what stays beside it."""


def remedies() -> PluginIndex[Remedy]:
    """Return every remedy by name, in name order."""
    return discover(sys.modules[__name__], "REMEDY", Remedy)
