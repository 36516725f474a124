"""How a table of another program is opened, whatever it is: by its first bytes, and no module before it is needed."""

from __future__ import annotations

import importlib
from pathlib import Path

import pyarrow as pa

from treewarden.ppdm_models.tables.readers import TableReader
from treewarden.ppdm_models.unsupported_files import Foreign, table_kind

ARCHIVE = b"PK\x03\x04"
"""How workbooks start since 2007."""


def reader_of(
    start: bytes, whole: Path | pa.Buffer, name: str, sheet: str = ""
) -> TableReader | None:
    """Return a table of another program that starts like this, ``sheet`` of a workbook; None where it is none.

    Raises:
        TableError: what reads it is not installed, or it cannot be read.
    """
    kind = table_kind(start)
    if kind is None:
        return None
    module = "statistics"
    if kind is Foreign.EXCEL:
        module = "xlsx" if start.startswith(ARCHIVE) else "xls"
    family = importlib.import_module(f"treewarden.ppdm_models.tables.readers.{module}")
    data = whole if isinstance(whole, Path) else whole.to_pybytes()
    table_reader: TableReader = family.open_table(data, name, sheet)
    return table_reader
