"""Tables that office and statistics programs keep: one module for each family of files, each on a known library.

Each has ``open_table(whole, name, sheet)``. A table's first bytes decide which one opens it, and no module is loaded
before it is needed.
"""

from __future__ import annotations

import importlib
import io
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import BinaryIO

import pyarrow as pa

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.unsupported_files import Foreign, saving, table_kind

Labels = Mapping[str, str]
"""What the codes of a column are called, codes as texts: ``{"1": "male"}``."""
Whole = Path | bytes
"""A file, or the bytes of one that may not lie on a disk."""


class TableReader(ABC):
    """A table that was opened: what its columns are is known, and its records are read from the start each time."""

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """Its columns, and the types that their values come in."""

    @property
    def labels(self) -> Mapping[str, Labels]:
        """The value labels of those columns that have some."""
        return {}

    @property
    def titles(self) -> Mapping[str, str]:
        """What those columns are called for people that have a label."""
        return {}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the reader of a report has to know of how it was read."""
        return ()

    @abstractmethod
    def read(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the records' values in some columns, one at least, in the given order.

        Raises:
            TableError: it cannot be read to its end, or a value is none.
        """


def stream(whole: Whole) -> BinaryIO:
    """Return a file to be read from its start."""
    return whole.open("rb") if isinstance(whole, Path) else io.BytesIO(whole)


def library(module: str, kind: Foreign, extra: str, name: str) -> ModuleType:
    """Return the library that reads a kind of file, which an extra brings.

    Raises:
        TableError: it is not installed.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        needed = f"{kind}: the package {module} is not installed"
        problem = f"{needed}; run: pip install 'treewarden[{extra}]', or {saving(kind, name)}"
        raise TableError(name, problem) from error


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
    module = "excel" if kind is Foreign.EXCEL else "statistics"
    family = importlib.import_module(f"treewarden.ppdm_models.tables.readers.{module}")
    data = whole if isinstance(whole, Path) else whole.to_pybytes()
    table_reader: TableReader = family.open_table(data, name, sheet)
    return table_reader
