"""The register of candidates: people any of whom may be in the training table, for checks of membership."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from treewarden.audit.membership.candidates import find_candidates, match_by_id, with_people
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population, read_register
from treewarden.audit.population.record_linkage import link_records
from treewarden.audit.reading import Undetermined
from treewarden.jobs.inputs import TableInput, read
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.matching import has_column
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Model

SAME_COLUMNS = "give a register with the columns and units of the table"
MOST_ADDED_SHARE = 0.5
"""Where a register lacks more of the table's people, it is taken for another one, or its columns for others."""


@dataclass(frozen=True, slots=True, eq=False)
class IdentifiedTable:
    """The training table, and the column of it and of the register that says who is who: ``key``, None where none."""

    table: Table
    key: str | None

    def names_people(self, people: Population, register: Population) -> bool:
        """Whether each record of both is one person, of whom the column says who it is."""
        contributions = people.contributions
        if self.key is None or people.weight is not None:
            return False
        if people.order is None or register.order is None:
            return False
        contributors = None if contributions is None else contributions.contributors
        return contributors is None or len(np.unique(contributors)) == len(contributors)


def register_of(
    source: TableInput,
    model: Model,
    people: Population,
    options: AuditOptions,
    identified: IdentifiedTable,
) -> Population:
    """Return the people of a register, with a warning where some of the table's people are not among them.

    Where a column says who is who, people are found by it, and whom the register lacks is added to it. Else they are
    found by equal values.

    Raises:
        TableError: it cannot be read, its columns are not the table's, it holds few of the table's people, or says
            something else of them.
        TreewardenError: the column of who is who is not there, or is none.
    """
    table = read(source)
    sensitive = (
        people.sensitive if people.sensitive and has_column(table, people.sensitive) else None
    )
    weights = options.weights if options.weights and has_column(table, options.weights) else None
    register = read_register(model, table, sensitive=sensitive, qi=people.qi, weights=weights)
    if register.records < people.records:
        problem = (
            f"the register has {register.records:,.0f} people, fewer than the training table "
            f"({people.records:,.0f}); give a register of everybody who may be in the table"
        )
        raise TableError(table.source, problem)
    if identified.names_people(people, register):
        return _matched_by_id(table, register, people, identified)
    candidates = find_candidates(people, register, model.classes)
    if isinstance(candidates, Undetermined) or not candidates.added:
        return register
    how = "are not in the register with the same values"
    _check_found(table, candidates.added, people, f"{how}; {SAME_COLUMNS}")
    return _added(table, register, candidates.added, people, how)


def _matched_by_id(
    table: Table, register: Population, people: Population, identified: IdentifiedTable
) -> Population:
    """Return the register with the people of the table whose ids it lacks.

    Raises:
        TableError: an id is missing or stands for several people, or the register says something else of somebody.
    """
    own, theirs = link_records([identified.table, table], identified.key)
    match = match_by_id(people, register, (own, theirs))
    if match.contradicting:
        columns = ", ".join(
            f"{name!r} ({number:,})" for name, number in match.contradicting.items()
        )
        problem = (
            f"contradicts the training table for people with the same {identified.key!r}, in the "
            f"column {columns}; correct one of them, or remove --id to match people by equal values"
        )
        raise TableError(table.source, problem)
    lacking = len(match.lacking)
    if not lacking:
        return register
    how = f"are not in the register by their {identified.key!r}"
    _check_found(table, lacking, people, f"{how}; write ids in the same way in both")
    full = with_people(register, people, match.lacking)
    return _added(table, full, lacking, people, how)


def _check_found(table: Table, lacking: int, people: Population, problem: str) -> None:
    """Check that a register holds most of the table's people.

    Raises:
        TableError: it does not.
    """
    if lacking > MOST_ADDED_SHARE * people.records:
        who = f"{lacking:,} of {people.records:,.0f} people of the training table"
        raise TableError(table.source, f"{who} {problem}")


def _added(
    table: Table, register: Population, lacking: int, people: Population, how: str
) -> Population:
    """Return a register with the warning that some people were added to it."""
    warning = (
        f"{table.source}: {lacking:,} of {people.records:,.0f} people in the training table "
        f"{how}. They were added to the register"
    )
    return replace(register, warnings=(*register.warnings, warning))
