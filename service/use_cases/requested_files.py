"""The tables and further files that an audit is asked with: whose they are, and what each holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from sqlalchemy import Row, insert

from treewarden.audit.option_spec import Content
from treewarden.audit.options import OPTION_SPECS
from treewarden.ppdm_models.tables.matching import are_alike
from treewarden.service.auth.principal import Principal
from treewarden.service.database.run_tables import audit_file
from treewarden.service.errors import InvalidError
from treewarden.service.schemas.audits import NewAudit
from treewarden.service.schemas.models import Holds
from treewarden.service.site import Unit
from treewarden.service.use_cases.tables import claim_table

COLUMNS = tuple(name for name, spec in OPTION_SPECS.items() if spec.content is Content.COLUMNS)
"""Options that name columns of the table."""
NEAREST = 3
HELD: Mapping[str, str] = {
    "records": "a table (records)",
    "output": "an output",
    "dictionary": "a dictionary",
}


def further_files(new: NewAudit) -> tuple[str, ...]:
    """Return the ids of the files of an audit beside its tables, in their order."""
    dictionary = () if new.dictionary_id is None else (new.dictionary_id,)
    return (*new.output_ids, *dictionary)


def add_files(unit: Unit, principal: Principal, audit_id: str, table_ids: Sequence[str]) -> None:
    """Write down the further files of an audit or repair, whose rows are locked."""
    for n, table_id in enumerate(table_ids):
        unit.connection.execute(
            insert(audit_file).values(
                audit_id=audit_id,
                n=n,
                organisation_id=principal.organisation_id,
                data_table_id=table_id,
            )
        )


def claim_files(unit: Unit, principal: Principal, new: NewAudit) -> None:
    """Check that all files of an audit are there for who asks, and stay until its transaction ends.

    Raises:
        NotFoundError: one of them is not there, or is for others.
        ConflictError: one could not be read, or was erased.
        InvalidError: what is given cannot be judged together, one is given twice or holds something else, or an option
            names no column of the table.
    """
    if new.register_id is not None and new.table_id in (None, new.register_id):
        problem = (
            "can be judged only with the training table; give the table too"
            if new.table_id is None
            else (
                "is the training table itself; give a register of everyone who might be "
                "in that table"
            )
        )
        raise InvalidError("register_id", problem)
    if new.output_ids:
        _check_outputs(new)
    holds: dict[str, tuple[str, Holds]] = dict.fromkeys(new.output_ids, ("output_ids", "output"))
    if new.dictionary_id is not None:
        holds[new.dictionary_id] = ("dictionary_id", "dictionary")
    named = {each for each in (new.table_id, new.register_id) if each is not None} | set(holds)
    # Rows of one kind are locked in the order of their ids: else two could wait for each other.
    claimed = {table_id: claim_table(unit, principal, table_id) for table_id in sorted(named)}
    for table_id, row in claimed.items():
        field, wanted = holds.get(table_id, ("table_id", "records"))
        if row.holds != wanted:
            problem = f"{row.file_name} was added as {HELD[row.holds]}; add it as {HELD[wanted]}"
            raise InvalidError(field, problem)
    if new.table_id is not None:
        check_columns(claimed[new.table_id], new.options)


def _check_outputs(new: NewAudit) -> None:
    """Refuse outputs beside what they cannot be judged with, before the audit waits for a worker."""
    if new.table_id is None:
        problem = "can be judged only with the training table; give the table too"
    elif len(set(new.output_ids)) < len(new.output_ids):
        problem = "the same file twice; name each output once"
    elif new.options.get("knows") or new.options.get("secret"):
        problem = (
            "outputs are judged only for an adversary who knows all quasi-identifiers; remove "
            "'knows' and 'secret', or the outputs"
        )
    else:
        return
    raise InvalidError("output_ids", problem)


def check_columns(table: Row[Any], options: Mapping[str, Any]) -> None:
    """Check that the columns which options name are those of a table, as far as it was read.

    Raises:
        InvalidError: one is not; the message says which names come nearest.
    """
    if table.columns is None:
        return
    names = [column["name"] for column in table.columns]
    for option in COLUMNS:
        value = options.get(option)
        for name in value if isinstance(value, list) else () if value is None else (value,):
            if name not in names and not any(are_alike(name, each) for each in names):
                near = get_close_matches(name, names, NEAREST, cutoff=0.5) or names[:NEAREST]
                problem = f"the table has no column {name[:80]!r}; the most similar names are {', '.join(near)}"
                raise InvalidError(f"options: {option}", problem)
