"""The register of candidates: people any of whom may be in the training table, for checks of membership."""

from __future__ import annotations

from dataclasses import replace

from treewarden.audit.membership.candidates import find_candidates
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import Population, read_register
from treewarden.audit.reading import Undetermined
from treewarden.jobs.inputs import TableInput, read
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.matching import has_column
from treewarden.ppdm_models.tree.ensemble import Model

MOST_ADDED_SHARE = 0.5
"""Where a register lacks more of the table's people, it is taken for another one, or its columns for others."""


def register_of(
    source: TableInput, model: Model, people: Population, options: AuditOptions
) -> Population:
    """Return the people of a register, with a warning where some of the table's people are not among them.

    Raises:
        TableError: it cannot be read, its columns are not the table's, or it holds few of the table's people.
    """
    table = read(source)
    sensitive = (
        people.sensitive if people.sensitive and has_column(table, people.sensitive) else None
    )
    weights = options.weights if options.weights and has_column(table, options.weights) else None
    register = read_register(model, table, sensitive=sensitive, qi=people.qi, weights=weights)
    if register.records < people.records:
        problem = (
            f"{register.records:,.0f} people, and the training table has {people.records:,.0f}; a register holds all "
            "people who may be in the table"
        )
        raise TableError(table.source, problem)
    candidates = find_candidates(people, register, model.classes)
    if isinstance(candidates, Undetermined) or not candidates.added:
        return register
    lacking = f"{candidates.added:,} of {people.records:,.0f} people of the training table"
    if candidates.added > MOST_ADDED_SHARE * people.records:
        problem = (
            f"{lacking} are not in the register with the same values; give a register with the columns and units of "
            "the table"
        )
        raise TableError(table.source, problem)
    warning = (
        f"{table.source}: {lacking} are not in the register with the same values, and were added to it; a register "
        "without them says less of the others"
    )
    return replace(register, warnings=(*register.warnings, warning))
