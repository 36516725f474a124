"""Workbooks of Excel: those since 2007 (.xlsx, .xlsm) are read by openpyxl, those until 2003 (.xls) by xlrd.

No macro or formula is run. What else is in a container of the older kind, such as a protected workbook, is refused.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import IO, Any

from lxml import etree

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.limits import MORE_ROOM, room_bytes
from treewarden.ppdm_models.tables.readers import ARCHIVE, Whole, library, stream
from treewarden.ppdm_models.tables.readers.workbook import (
    Book,
    CellRange,
    Marks,
    Row,
    Sheet,
    check_size,
    header_of,
    open_sheet,
    quietly,
    read_safely,
)
from treewarden.ppdm_models.unsupported_files import Foreign

BINARY = "xl/workbook.bin"
SHEETS = "xl/worksheets/"
CELLS = re.compile(r"[A-Z]{1,7}[0-9]{1,15}(:[A-Z]{1,7}[0-9]{1,15})?", re.ASCII)
PLAIN_PART = re.compile(
    r"\[Content_Types\]\.xml|(xl/|xl/worksheets/)?_rels/[^/]*\.rels|docProps/(app|core)\.xml|docMetadata/LabelInfo\.xml"
    r"|xl/(workbook|styles|sharedStrings|calcChain|metadata)\.xml|xl/worksheets/[^/]+\.xml|xl/theme/[^/]+\.xml"
    r"|xl/tables/[^/]+\.xml|xl/printerSettings/[^/]+\.bin|[^.]*/",
    re.IGNORECASE,
)
"""Parts of a workbook that hold cells, and how they look: no others say anything of their own."""
IS_SEALED = 1
"""The flag of a file in an archive that a password protects."""


@dataclass(frozen=True, slots=True)
class Xlsx(Book):
    """A workbook that is open, and the archive that it is."""

    name: str
    book: Any
    archive: zipfile.ZipFile

    def sheets(self) -> tuple[str, ...]:
        return tuple(worksheet.title for worksheet in self.book.worksheets)

    def rows(self, sheet: str) -> Iterator[Row]:
        found = self.book[sheet]
        found.reset_dimensions()  # what a file says of its size is often wrong
        yield from found.iter_rows(values_only=True)

    def marks(self, sheet: str) -> Marks:
        part = self.book[sheet]._worksheet_path  # no other name is offered for it
        with self.archive.open(part) as file:
            return marks_of(file, self.name)


def open_table(whole: Whole, name: str, sheet: str) -> Sheet:
    """Return a sheet of a workbook of either kind, as its first bytes say.

    Raises:
        TableError: the library for it is not installed, or the workbook or its sheet cannot be read.
    """
    with stream(whole) as file:
        is_packed = file.read(len(ARCHIVE)) == ARCHIVE
    return (open_packed if is_packed else open_binary)(whole, name, sheet)


def open_packed(whole: Whole, name: str, sheet: str) -> Sheet:
    """Return a sheet of a workbook.

    Raises:
        TableError: openpyxl is not installed, or the workbook or its sheet cannot be read.
    """
    library("openpyxl", Foreign.EXCEL, "excel", name)
    with read_safely(name), stream(whole) as file, zipfile.ZipFile(file) as archive:
        _check(archive, name)
        _check_sizes(archive, name)
    return open_sheet(name, partial(_open_packed, whole, name), sheet)


def cells_of_only_sheet(data: bytes, name: str) -> Iterator[Row]:
    """Yield the values of each row of the only sheet that has some, from its first row, whatever stands in them.

    Raises:
        TableError: openpyxl is not installed, or the workbook cannot be read, has several sheets with values, merged
            cells, a formula without a result, or more than cells, such as comments or the records of a pivot table.
    """
    library("openpyxl", Foreign.EXCEL, "excel", name)
    with read_safely(name), stream(data) as file, zipfile.ZipFile(file) as archive:
        _check(archive, name)
        more = next((part for part in archive.namelist() if not PLAIN_PART.fullmatch(part)), "")
        if more:
            problem = f"it holds more than cells ({more[:60]}), which is not judged"
            problem = f"{problem}; publish the sheet as CSV, and give that"
            raise TableError(name, problem)
        _check_sizes(archive, name)
    with read_safely(name), quietly(), _open_packed(data, name) as book:
        filled = [sheet for sheet in book.sheets() if header_of(book.rows(sheet))[1]]
        if len(filled) != 1:
            problem = f"{len(filled)} sheets have values; save the one that is published as CSV"
            raise TableError(name, problem)
        marks = book.marks(filled[0])
        if marks.merged:
            problem = f"the cells {marks.merged[0]} are merged; unmerge them and give each its text"
            raise TableError(name, problem)
        if marks.unsaved:
            problem = f"the formula in cell {marks.unsaved} has no result saved with it"
            raise TableError(name, f"{problem}; open the workbook in Excel and save it")
        for number, row in enumerate(book.rows(filled[0]), 1):
            check_size(name, number, len(row))
            yield row


def marks_of(part: IO[bytes], name: str) -> Marks:
    """Return what the XML of a sheet says beside the values of its cells.

    Raises:
        TableError: it has more rows or columns than a sheet of Excel, whatever it says of its size.
        etree.XMLSyntaxError: it is no XML, or larger in some way than a sheet is.
    """
    merged: list[CellRange] = []
    formulas: list[Any] = []
    unsaved, number = "", 0
    tags = ("{*}f", "{*}row", "{*}mergeCell")
    for _, element in etree.iterparse(part, tag=tags, resolve_entities=False, no_network=True):
        kind = etree.QName(element).localname
        if kind == "f":  # whose cell is not read to its end yet
            formulas.append(element.getparent())
            continue
        if kind == "mergeCell":
            merged.append(_range(element.get("ref", "")))
        else:
            number = max(number + 1, row_number(element))
            check_size(name, number, len(element))
        unsaved = unsaved or next(filter(None, map(_unsaved, formulas)), "")
        formulas.clear()
        _forget(element)
    return Marks(tuple(merged), unsaved)


def row_number(row: Any) -> int:  # noqa: ANN401  # an element of lxml
    """Return the number that a row says it has, 0 where it says none: openpyxl fills all rows up to it."""
    said = row.get("r", "")
    return int(said) if said.isdecimal() and said.isascii() else 0


def _unsaved(cell: Any) -> str:  # noqa: ANN401  # an element of lxml
    """Return where a cell with a formula is that has no result; a result may be a text without letters."""
    has_result = bool(cell.findtext("{*}v")) or cell.get("t") == "str"
    return "" if has_result else str(cell.get("r") or "?")


def _range(ref: str) -> CellRange:
    from_ref, _, to_ref = ref.partition(":")
    (left, top), (right, bottom) = _cell(from_ref), _cell(to_ref or from_ref)
    return CellRange(top, bottom, left, right)


def _cell(ref: str) -> tuple[int, int]:
    name = ref.rstrip("0123456789")
    place = 0
    for letter in name.upper():
        place = place * 26 + ord(letter) - ord("A") + 1
    return place, int(ref[len(name) :])


@contextmanager
def _open_packed(whole: Whole, name: str) -> Iterator[Book]:
    openpyxl = library("openpyxl", Foreign.EXCEL, "excel", name)
    with stream(whole) as file, zipfile.ZipFile(file) as archive:
        book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
        try:
            yield Xlsx(name, book, archive)
        finally:
            book.close()


def _check_sizes(archive: zipfile.ZipFile, name: str) -> None:
    """Check what sheets say of their size, where they stand first; of one that says nothing, its rows are counted.

    openpyxl reads such a sheet to its end when it opens the workbook, and keeps it.
    """
    for part in archive.namelist():
        if part.startswith(SHEETS) and part.endswith(".xml"):
            with archive.open(part) as file:
                _check_size(file, name)


def _check_size(part: IO[bytes], name: str) -> None:
    number = 0
    tags = ("{*}dimension", "{*}row")
    for _, element in etree.iterparse(part, tag=tags, resolve_entities=False, no_network=True):
        if etree.QName(element).localname == "dimension":
            if CELLS.fullmatch(element.get("ref", "")):
                cell_range = _range(element.get("ref"))
                check_size(name, cell_range.bottom, cell_range.right)
                return
            continue
        number = max(number + 1, row_number(element))
        check_size(name, number, len(element))
        _forget(element)


def _forget(element: Any) -> None:  # noqa: ANN401  # an element of lxml
    """Drop an element that was read, and those before it."""
    element.clear()
    while element.getprevious() is not None:
        del element.getparent()[0]


def _check(archive: zipfile.ZipFile, name: str) -> None:
    """Check that a workbook is one that is read, and unpacks to no more than there is room for.

    An archive says how large its files are, and no more of them than that is ever unpacked.
    """
    if BINARY in archive.namelist():
        raise TableError(name, "a binary workbook (.xlsb); save it as .xlsx, or the table as CSV")
    files = archive.infolist()
    if any(file.flag_bits & IS_SEALED for file in files):
        raise TableError(name, "protected by a password; save it without one")
    size, room = sum(file.file_size for file in files), room_bytes()
    if size > room:
        problem = f"the workbook unpacks to {size:,} bytes, and there is room for {room:,}"
        raise TableError(name, f"{problem}; save the table as CSV or Parquet, or {MORE_ROOM}")


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


def open_binary(whole: Whole, name: str, sheet: str) -> Sheet:
    """Return a sheet of a workbook.

    Raises:
        TableError: xlrd is not installed, or the workbook or its sheet cannot be read.
    """
    data = whole.read_bytes() if isinstance(whole, Path) else whole
    if SEALED in data:
        raise TableError(name, PROTECTED)
    library("xlrd", Foreign.EXCEL, "excel", name)
    return open_sheet(name, partial(_open_binary, data, name), sheet)


@contextmanager
def _open_binary(data: bytes, name: str) -> Iterator[Book]:
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
