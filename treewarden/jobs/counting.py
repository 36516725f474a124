"""Which tables of an audit are counted instead of read, and over which of their columns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import RowOrder
from treewarden.audit.options import AuditOptions
from treewarden.jobs.inputs import TableInput
from treewarden.ppdm_models.errors import ColumnNotCountedError, TableError
from treewarden.ppdm_models.tables.counting.addresses import TableAddress, has_no_records
from treewarden.ppdm_models.tables.counting.large import is_large
from treewarden.ppdm_models.tables.matching import PLACEHOLDERS, alike
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model

if TYPE_CHECKING:  # DuckDB
    from treewarden.ppdm_models.tables.counting.source import TableSource

Built = TypeVar("Built")


def source_of(
    data: TableInput, model: Model, knowledge: Knowledge, *, is_one: bool
) -> TableSource | None:
    """Return a table to be counted; None where it is read, as it is small or its single records are needed.

    Of several releases (``is_one`` says there are none) the records are matched: a table without order is refused where
    it is read. Whoever knows the order of an ensemble's table may repeat what its trees drew, which is not seen where
    it is counted.

    Raises:
        TableError: it cannot be opened, or its order is known to the adversary and lost in counting.
    """
    if not is_one or isinstance(data, Table):
        return None
    has_order = isinstance(model, Ensemble) and knowledge.row_order is RowOrder.KNOWN
    if isinstance(data, TableAddress) or has_no_records(data):
        if has_order:
            problem = (
                "a folder, a pattern or a database has no known order of records, and this "
                "ensemble's sample depends on it"
            )
            what = "give one file, or add --row-order unknown if no adversary knows the order"
            raise TableError(data.name, f"{problem}; {what}")
        return _source(data)
    return None if has_order or not is_large(data) else _source(data)


def _source(data: Path | TableAddress) -> TableSource:
    from treewarden.ppdm_models.tables.counting.opening import open_source  # heavy: DuckDB

    return open_source(data)


def columns_needed(
    names: Sequence[str], model: Model, options: AuditOptions, knowledge: Knowledge
) -> Collection[str]:
    """Return those columns that an audit may need, by what the model and what was asked call them.

    All are where the file does not name what it predicts, as each may be that.
    """
    if not isinstance(model, Ensemble) and (not model.target or model.target in PLACEHOLDERS):
        return names
    asked = (model.target, options.sensitive, options.weights, options.sampling_weights)
    features = (feature.name for feature in model.features)
    wanted = [*features, *(options.qi or ()), *(name for name in asked if name)]
    wanted += [
        name
        for adversary in knowledge.adversaries
        if not isinstance(adversary.knows, str)
        for name in adversary.knows
    ]
    wanted += [] if knowledge.secret is None else [knowledge.secret.column]
    return alike(names, wanted)


def counted(
    source: TableSource, columns: Collection[str], build: Callable[[Table], Built]
) -> tuple[Table, Built]:
    """Return a table and what is built from it; a column that turns out to be needed too has it counted once more.

    Raises:
        TreewardenError: the table cannot be counted, or nothing can be built from it.
    """
    from treewarden.ppdm_models.tables.counting.source import count_table  # for what is counted

    known = set(columns)
    while True:
        table = count_table(source, known)
        try:
            return table, build(table)
        except ColumnNotCountedError as error:
            if error.problem in known:
                raise
            known.add(error.problem)
