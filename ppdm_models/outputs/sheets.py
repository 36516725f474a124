"""The cells of a file that publishes an output, of CSV or Excel, and whom its columns and labels are about.

Output files are small, and anybody may have written them: they are read within limits.

What the text of a cell holds of a column's values is one of them, a range, a set, a mask, or a label of a hierarchy.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import PurePath

from treewarden.ppdm_models.errors import OutputsError, TableError, UnsupportedOutputError
from treewarden.ppdm_models.outputs.published import (
    ColumnCondition,
    PrintedNumber,
    RangeCondition,
    TableColumns,
    ValueCondition,
    ValuesCondition,
    read_count,
    read_measured,
)
from treewarden.ppdm_models.unsupported_files import PICTURES

MOST_BYTES = 4_000_000
MOST_CELLS = 200_000
WORKBOOK = b"PK\x03\x04"
"""How a workbook of Excel begins, which is an archive."""
GROUPED = "Grouped by "
"""How tableone's row begins that stands above the names of groups."""


@dataclass(frozen=True, slots=True)
class CellSheet:
    """Rows of cells, without empty rows; ``lines`` says where in the file each stands, ``header`` is the first."""

    source: str
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]

    @property
    def header(self) -> tuple[str, ...]:
        """The cells of the first row."""
        return self.rows[0]

    def where(self, row: int, column: int | None = None) -> str:
        """Return the place of a row or cell, as messages name it."""
        place = f"{self.source}:{self.lines[row]}"
        return place if column is None else f"{place}: column {self.header[column] or column + 1!r}"


def read_sheet(data: bytes, source: str) -> CellSheet:
    """Return the cells of a CSV file, parted by commas, semicolons or tabs, or of the only sheet of a workbook.

    Raises:
        OutputsError: it is too large, not text, or has no cells.
    """
    if len(data) > MOST_BYTES:
        raise UnsupportedOutputError(
            source, f"larger than {MOST_BYTES:,} bytes; give one output in each file"
        )
    read = _workbook_rows if data.startswith(WORKBOOK) else _csv_rows
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    cells = 0
    for line, row in read(data, source):
        cells += len(row)
        if cells > MOST_CELLS:
            problem = f"more than {MOST_CELLS:,} cells; give one output in each file"
            raise UnsupportedOutputError(source, problem)
        if any(cell.strip() for cell in row):
            rows.append(tuple(_plain(cell) for cell in row))
            lines.append(line)
    if rows and all(not cell or cell.strip().startswith(GROUPED) for cell in rows[0]):
        del rows[0], lines[0]
    if len(rows) < 2:
        raise UnsupportedOutputError(source, "has no rows below its header; give the output as CSV")
    width = max(number for row in rows for number, cell in enumerate(row, 1) if cell)
    padded = tuple(row[:width] + ("",) * (width - len(row)) for row in rows)
    return CellSheet(source, padded, tuple(lines))


_THOUSANDS = re.compile(r"(?<![\d.,])\d{1,3}(?:[\xa0\u2009\u202f'’]\d{3})+(?!\d)")
_HARD_SPACES = re.compile(r"[\xa0\u2009\u202f]")


def _plain(cell: str) -> str:
    """Return a cell with usual blanks, and without the blanks or apostrophes that part thousands."""
    cell = _THOUSANDS.sub(lambda match: re.sub(r"\D", "", match[0]), cell)
    return _HARD_SPACES.sub(" ", cell).rstrip()


_COMMA_FIRST = re.compile(
    r"\s*[<>≤≥]?=?\s*[-−+]?(?:\d{1,3}(?:\.\d{3})+|\d+),(?P<part>\d+)(?![\d,]).*"
)
_PAIR_OR_SET = re.compile(r"\s*(?:[\[(\]]\s*[-−]?\d+,[-−]?\d+\s*[\])\[]|\{.*\})\s*")
_POINT = re.compile(r"\d\.\d")
_GROUPED_BY_POINTS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{3})+(?![\d.])")


def _with_points(rows: list[list[str]]) -> list[list[str]]:
    """Return cells with points where all numbers have decimal commas, as Excel writes them beside semicolons.

    Some cell has to begin with a number that is none with thousands, and no cell has a decimal point. A cell such as
    ``[20,40)`` or ``{20,40}`` is a range or a set, and stays.
    """
    cells = [cell for row in rows for cell in row]
    first = (_COMMA_FIRST.fullmatch(cell) for cell in cells)
    if not any(found is not None and len(found["part"]) != 3 for found in first):
        return rows
    if any(_POINT.search(_GROUPED_BY_POINTS.sub("", cell)) for cell in cells):
        return rows

    def pointed(cell: str) -> str:
        if _PAIR_OR_SET.fullmatch(cell):
            return cell
        whole = _GROUPED_BY_POINTS.sub(lambda match: match[0].replace(".", ""), cell)
        return re.sub(r"(?<=\d),(?=\d)", ".", whole)

    return [[pointed(cell) for cell in row] for row in rows]


def _csv_rows(data: bytes, source: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the cells of each row with its line.

    Raises:
        OutputsError: it is no CSV.
    """
    is_utf16 = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if is_utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        if data.startswith(PICTURES):
            raise UnsupportedOutputError(source, "a picture; give a CSV or Excel file") from error
        raise UnsupportedOutputError(source, "not UTF-8 text; save it as CSV in UTF-8") from error
    if "\0" in text:
        raise UnsupportedOutputError(source, "not text; save it as CSV in UTF-8")
    delimiter = _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        numbered = [(reader.line_num, row) for row in reader]
    except csv.Error as error:
        raise UnsupportedOutputError(source, f"not CSV: {error}; save it as CSV again") from error
    rows = [row for _, row in numbered]
    if delimiter != ",":
        rows = _with_points(rows)
    yield from zip((line for line, _ in numbered), rows, strict=True)


def _workbook_rows(data: bytes, source: str) -> Iterator[tuple[int, Sequence[str]]]:
    """Yield the cells of each row of the only sheet with values, and its number.

    Raises:
        OutputsError: it cannot be read, has several sheets with values, or a formula without a result.
    """
    from treewarden.ppdm_models.tables.readers import excel  # heavy: of workbooks only
    from treewarden.ppdm_models.tables.readers.workbook import text_of  # as above

    try:
        rows = excel.cells_of_only_sheet(data, source)
        for number, row in enumerate(rows, 1):
            yield number, tuple(map(text_of, row))
    except TableError as error:
        raise OutputsError(error.where, error.problem) from error


def _delimiter(text: str) -> str:
    """Return what parts the cells of the first line that has any: the mark that stands there most often."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max((",", ";", "\t"), key=first.count)


ALL_PEOPLE = frozenset({"total", "all", "overall", "sum", "margin"})
_SIZE = re.compile(r"(?P<name>.*?)[\s,:(]*\(?\s*[nN]\s*=\s*(?P<size>[\d,]+)\s*\)?\s*")


@dataclass(frozen=True, slots=True)
class HeadedGroup:
    """Whom a column is about: a class, or all people where ``group`` is None; and how many they are, if told."""

    group: str | None
    size: PrintedNumber | None = None


def bare(text: str) -> str:
    """Return a cell without the marks of bold and slanted text."""
    return text.replace("**", "").replace("__", "").strip()


def is_all(text: str) -> bool:
    """Whether a cell says that a number is about everybody."""
    return not text.strip() or bare(text).casefold() in ALL_PEOPLE


def group_of(header: str, columns: TableColumns) -> HeadedGroup | None:
    """Return whom a column with this header is about; None where it names no class and not all people."""
    text = " ".join(bare(header).split())
    size = None
    sized = _SIZE.fullmatch(text)
    if sized:
        text, size = sized["name"].strip(" ,:("), read_count(sized["size"])
    prefix, mark, value = text.partition("=")
    if mark and prefix.strip().casefold() == columns.target.casefold():
        text = value.strip()
    group = class_of(text, columns)
    if group is not None:
        return HeadedGroup(group, size)
    return HeadedGroup(None, size) if text and is_all(text) else None


def class_of(text: str, columns: TableColumns) -> str | None:
    """Return the class that a text names, None where it names none."""
    text = bare(text)
    if text in columns.classes:
        return text
    alike = [name for name in columns.classes if name.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


def column_of(text: str, columns: TableColumns) -> str | None:
    """Return the column of the table that a text names, None where it names none."""
    text = bare(text)
    if text in columns.categories:
        return text
    alike = [name for name in columns.categories if name.casefold() == text.casefold()]
    return alike[0] if len(alike) == 1 else None


MOST_LEVELS = 30
LEVEL_MARK = "@"
"""How sdcTable and tau-ARGUS write how deep a code lies: once for the total, once more for each level below it."""


def hierarchy_column(sheet: CellSheet, columns: TableColumns) -> str | None:
    """Return the column of which a sheet is a value hierarchy, as ARX or sdcTable writes it; None: it is none.

    The file's name holds the column's. ARX's has no header: each row is a value and what it falls under. sdcTable's is
    a list of codes, each with its level: ``@``, ``@@`` and so on.
    """
    stem = PurePath(sheet.source).stem.casefold()
    for column, categories in columns.categories.items():
        name = column.casefold()
        is_named = any(stem == name or stem.endswith(f"{mark}{name}") for mark in "_-. ")
        if not is_named or not 2 <= len(sheet.header) <= MOST_LEVELS:
            continue
        paths = _code_paths(sheet)
        values = [path[0] for path in paths or sheet.rows]
        values = [value.strip() for value in values]
        is_all = all(map(_is_number, values)) if categories is None else {*values} >= {*categories}
        is_all = is_all and (categories is None or values[0] in categories)  # no header
        if is_all and len(set(values)) == len(values):
            return column
    return None


def _is_number(text: str) -> bool:
    try:
        Fraction(text)
    except ValueError:
        return False
    return True


def labels_of_hierarchy(sheet: CellSheet) -> dict[str, frozenset[str]]:
    """Return which values each label of a value hierarchy holds; a label on several levels holds all of them."""
    held: dict[str, set[str]] = {}
    for cells in _code_paths(sheet) or sheet.rows:
        for label in cells[1:]:
            held.setdefault(label.strip(), set()).add(cells[0].strip())
    return {label: frozenset(values) for label, values in held.items() if label}


def _code_paths(sheet: CellSheet) -> tuple[tuple[str, ...], ...]:
    """Return each lowest code of a list of codes with levels, and those it falls under; () of other sheets."""
    rows = [cells for cells in sheet.rows if cells[0].strip(LEVEL_MARK) == "" != cells[0]]
    if (
        len(rows) < len(sheet.rows) - 1 or len(sheet.header) != 2 or not rows
    ):  # one row may be its header
        return ()
    levels = [len(cells[0]) for cells in rows]
    above, paths = list[str](), list[tuple[str, ...]]()
    for number, (level, (_, code)) in enumerate(zip(levels, rows, strict=True)):
        del above[level - 1 :]
        above.append(code.strip())
        if number + 1 == len(levels) or levels[number + 1] <= level:
            paths.append(tuple(reversed(above)))
    return tuple(paths)


_N = r"[-−]?\d+(?:\.\d+)?"
_RANGE = re.compile(
    rf"(?P<open>[\[(\]]?)\s*(?P<low>{_N})\s*(?:,|;|-|–|to|:)\s*(?P<high>{_N})\s*(?P<close>[\])\[]?)"
)
_ONE_END = re.compile(rf"(?P<sign><=|>=|≤|≥|<|>)\s*(?P<end>{_N})")


def labels_of(
    sheet: CellSheet, row: int, column_at: Mapping[int, str], columns: TableColumns
) -> dict[str, str]:
    """Return what a row says of each column that its people share; without those of which it is about everybody.

    ``column_at`` are the columns by the place of their cells.

    Raises:
        OutputsError: a cell may mean everybody, or a value of its column that is called so.
    """
    labels = {}
    for number, column in column_at.items():
        text = bare(sheet.rows[row][number])
        if not is_all(text):
            labels[column] = text
            continue
        values = columns.categories[column] or ()
        value = next((v for v in values if text and v.casefold() == text.casefold()), None)
        if value is not None:
            problem = (
                f"{text!r} is a value of {column!r}, and could mean everybody; write {{{value}}} "
                "for the value, or leave the cell empty for everybody"
            )
            raise OutputsError(sheet.where(row), problem)
    return labels


def read_condition(column: str, text: str, columns: TableColumns) -> ColumnCondition | None:
    """Return which values of a column a text holds; None where that is not understood."""
    known = columns.categories[column]
    labelled = columns.hierarchies.get(column, {}).get(text)
    if labelled is not None:
        return ValuesCondition(column, labelled)
    return _number(column, text) if known is None else _category(column, text, known)


def conditions_of(
    sheet: CellSheet, row: int, labels: Mapping[str, str], columns: TableColumns
) -> tuple[ColumnCondition, ...]:
    """Return whom a row of a table is about, from what it says of columns.

    Raises:
        OutputsError: nobody has such a value.
    """
    found = []
    for column, text in labels.items():
        condition = read_condition(column, text, columns)
        if condition is None and columns.categories[column] is None:
            problem = (
                f"{column!r} contains numbers, but {text!r} is not a number or a range of numbers"
            )
            raise OutputsError(sheet.where(row), f"{problem}; correct it")
        if condition is None:
            problem = (
                f"{column!r} is never {text!r}; correct the value, as the table writes it, or add the "
                "hierarchy of its values as a further file that is called after the column"
            )
            raise OutputsError(sheet.where(row), problem)
        found.append(condition)
    return tuple(found)


def _category(column: str, text: str, categories: tuple[str, ...]) -> ColumnCondition | None:
    """Return what a text holds of a column's values; None where that is not understood."""
    if text in categories:
        return ValueCondition(column, text)
    if text.startswith("{") and text.endswith("}"):
        parts = [part.strip() for part in text[1:-1].split(",")]
        return ValuesCondition(column, frozenset(parts)) if set(parts) <= set(categories) else None
    start = text.rstrip("*")
    if start and start != text:
        alike = [
            value for value in categories if len(value) == len(text) and value.startswith(start)
        ]
        return ValuesCondition(column, frozenset(alike)) if alike else None
    return None


def _number(column: str, text: str) -> ColumnCondition | None:
    """Return which numbers a text holds; None where that is not understood."""
    plain = read_measured(text)
    if plain is not None and not text.endswith("%"):
        return ValueCondition(column, text)
    one = _ONE_END.fullmatch(text)
    if one:
        end, has_end = Fraction(one["end"].replace("−", "-")), one["sign"] not in "<>"
        if one["sign"].startswith(("<", "≤")):
            return RangeCondition(column, high=end, has_high=has_end)
        return RangeCondition(column, low=end, has_low=has_end)
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    low, high = (Fraction(found[name].replace("−", "-")) for name in ("low", "high"))
    # Without brackets both ends may belong to it: then it holds no less than what was meant.
    has_low, has_high = found["open"] in ("[", ""), found["close"] in ("]", "")
    return RangeCondition(column, low, high, has_low=has_low, has_high=has_high)
