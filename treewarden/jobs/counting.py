"""Which tables of an audit are counted instead of read, and over which of their columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TypeVar

from audit.adversary.knowledge import Knowledge
from audit.options import AuditOptions
from ppdm_models.errors import ColumnNotCountedError
from ppdm_models.records.counting.address import Address
from ppdm_models.records.counting.kinds import LARGE_BYTES, has_no_records, is_large
from ppdm_models.records.counting.opening import open_source
from ppdm_models.records.counting.source import Source, count_table
from ppdm_models.records.matching import PLACEHOLDERS, alike
from ppdm_models.records.table import Table
from ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.jobs.inputs import TableInput

LARGE_BYTES_OF_DRAWS = 16 * LARGE_BYTES
"""Of an ensemble's table, whose order its draws may be repeated in, larger files are read record by record."""

Built = TypeVar("Built")


def source_of(data: TableInput, model: Model, *, is_one: bool) -> Source | None:
    """Return a table to be counted; None where it is read, as it is small or its single records are needed.

    Of several releases (``is_one`` says there are none) the records are matched: a table without order is refused where
    it is read.

    Raises:
        TableError: it cannot be opened.
    """
    if not is_one or isinstance(data, Table):
        return None
    if isinstance(data, Address) or has_no_records(data):
        return open_source(data)
    least = LARGE_BYTES_OF_DRAWS if isinstance(model, Ensemble) else LARGE_BYTES
    return open_source(data) if is_large(data, least) else None


def columns_needed(
    names: Sequence[str], model: Model, options: AuditOptions, knowledge: Knowledge
) -> Collection[str]:
    """Return those columns that an audit may need, by what the model and what was asked call them.

    All are where somebody who knows some is asked about, as each may give another away; and where the file does not
    name what it predicts, as each may be that.
    """
    if knowledge.adversaries or knowledge.secret is not None:
        return names
    if not isinstance(model, Ensemble) and (not model.target or model.target in PLACEHOLDERS):
        return names
    asked = (model.target, options.sensitive, options.weights, options.sampling_weights)
    features = (feature.name for feature in model.features)
    wanted = [*features, *(options.qi or ()), *(name for name in asked if name)]
    return alike(names, wanted)


def counted(
    source: Source, columns: Collection[str], build: Callable[[Table], Built]
) -> tuple[Table, Built]:
    """Return a table and what is built from it; a column that turns out to be needed too has it counted once more.

    Raises:
        TreewardenError: the table cannot be counted, or nothing can be built from it.
    """
    known = set(columns)
    while True:
        table = count_table(source, known)
        try:
            return table, build(table)
        except ColumnNotCountedError as error:
            if error.problem in known:
                raise
            known.add(error.problem)


def is_there(data: Path | Address) -> bool:
    """Return whether a table is there, as far as that shows without opening it."""
    return isinstance(data, Address) or data.is_file() or has_no_records(data)
