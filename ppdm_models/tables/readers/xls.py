"""Workbooks as Excel wrote them until 2003 (.xls), read by xlrd; and what else is in a container of their kind."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.readers import Whole, library
from treewarden.ppdm_models.tables.readers.workbook import (
    Book,
    CellRange,
    Marks,
    Row,
    Sheet,
    open_sheet,
)
from treewarden.ppdm_models.unsupported_files import Foreign

SEALED = "EncryptedPackage".encode("utf-16-le")
"""What is in the container that Excel puts a workbook in which a password protects."""
PROTECTED = "protected by a password; save it without one"


@dataclass(frozen=True, slots=True)
class Xls(Book):
    """A workbook that is open."""

    xlrd: ModuleType
    book: Any

    def sheets(self) -> tuple[str, ...]:
        return tuple(self.book.sheet_names())

    def rows(self, sheet: str) -> Iterator[Row]:
        found = self.book.sheet_by_name(sheet)
        for row in range(found.nrows):
            kinds, values = found.row_types(row), found.row_values(row)
            yield [self._value(kind, value) for kind, value in zip(kinds, values, strict=True)]

    def marks(self, sheet: str) -> Marks:
        found = self.book.sheet_by_name(sheet).merged_cells  # ends are not included, and from 0
        return Marks(
            tuple(CellRange(top + 1, low, left + 1, right) for top, low, left, right in found)
        )

    def _value(self, kind: int, value: Any) -> object:  # noqa: ANN401  # as xlrd types it
        if kind == self.xlrd.XL_CELL_BOOLEAN:
            return bool(value)
        if kind == self.xlrd.XL_CELL_ERROR:
            return self.xlrd.error_text_from_code.get(value, "#VALUE!")
        if kind == self.xlrd.XL_CELL_DATE:
            found = self.xlrd.xldate_as_datetime(value, self.book.datemode)
            return found.time() if 0 <= value < 1 else found
        return value


def open_table(whole: Whole, name: str, sheet: str) -> Sheet:
    """Return a sheet of a workbook.

    Raises:
        TableError: xlrd is not installed, or the workbook or its sheet cannot be read.
    """
    data = whole.read_bytes() if isinstance(whole, Path) else whole
    if SEALED in data:
        raise TableError(name, PROTECTED)
    library("xlrd", Foreign.EXCEL, "excel", name)
    return open_sheet(name, partial(_opened, data, name), sheet)


@contextmanager
def _opened(data: bytes, name: str) -> Iterator[Book]:
    xlrd = library("xlrd", Foreign.EXCEL, "excel", name)
    try:
        book = xlrd.open_workbook(
            file_contents=data,
            formatting_info=True,
            on_demand=True,
            ragged_rows=True,
            logfile=io.StringIO(),
        )
    except xlrd.XLRDError as error:
        if "encrypted" in str(error):
            raise TableError(name, PROTECTED) from error
        raise
    try:
        yield Xls(xlrd, book)
    finally:
        book.release_resources()
