"""The posterior as a file, written a piece at a time: however many profiles there are, few are in memory as rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.jobs.posterior_rows import audit_rows, grouped, schema_of
from treewarden.ppdm_models.errors import OutputError

WRITERS: Mapping[str, Callable[[Path, pa.Schema], Any]] = {
    ".csv": pyarrow.csv.CSVWriter,
    ".parquet": pyarrow.parquet.ParquetWriter,
}


def check_suffix(path: Path) -> None:
    """Check that a posterior file's name says its format.

    Raises:
        OutputError: it ends neither in .csv nor in .parquet.
    """
    if path.suffix.lower() not in WRITERS:
        raise OutputError(str(path), f"name a file that ends in {' or '.join(WRITERS)}")


def write_posterior(audit: Audit, path: Path, output: Path) -> Undetermined | None:
    """Write the posterior to ``output`` in the format of the suffix of ``path``; return why there is none, if so.

    Raises:
        OutputError: the file cannot be written.
    """
    rows = audit_rows(audit)
    if isinstance(rows, Undetermined):
        return rows
    schema = schema_of(rows)
    try:
        with WRITERS[path.suffix.lower()](output, schema) as writer:
            for table in grouped(rows, schema):
                writer.write_table(table)
    except OSError as error:
        raise OutputError(str(path), f"cannot be written ({error.strerror or error})") from error
    return None


def audit_table(audit: Audit) -> pa.Table | Undetermined:
    """Return what is believed of every profile as one table, or why nothing is; see ``audit_rows``."""
    rows = audit_rows(audit)
    if isinstance(rows, Undetermined):
        return rows
    return pa.concat_tables(grouped(rows, schema_of(rows)))
