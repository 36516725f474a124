"""What remedies may ask for beyond the contract: the records, where they are to be published beside the tree."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from treewarden.policies.remedies import Proposal, Remedy
from treewarden.ppdm_models.methods.tpp.sanitise import SanitisedTable
from treewarden.ppdm_models.tables.table import Table


@runtime_checkable
class UsesTable(Protocol):
    """A remedy that proposes something only where it is given the records."""

    def using_table(self, table: Table) -> Remedy:
        """Return this remedy with the table that the tree was grown on."""


@dataclass(frozen=True, slots=True)
class TableProposal(Proposal):
    """A changed tree with the table that may be published beside it: ``sanitised`` holds both and how they check."""

    sanitised: SanitisedTable = field(kw_only=True)
