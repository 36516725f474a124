"""A small file of cells, as outputs are published: read with bounds, as anybody may have written it."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

from treewarden.ppdm_models.errors import OutputsError

MOST_BYTES = 4_000_000
MOST_CELLS = 200_000


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
    """Return the cells of a CSV file, parted by commas, semicolons or tabs.

    Raises:
        OutputsError: it is too large, not text, or has no cells.
    """
    if len(data) > MOST_BYTES:
        raise OutputsError(
            source, f"larger than {MOST_BYTES:,} bytes; give one output in each file"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OutputsError(source, "not UTF-8 text; save it as CSV in UTF-8") from error
    if "\0" in text:
        raise OutputsError(source, "not text; save it as CSV in UTF-8")
    rows: list[tuple[str, ...]] = []
    lines: list[int] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text))
    cells = 0
    try:
        for row in reader:
            cells += len(row)
            if cells > MOST_CELLS:
                raise OutputsError(
                    source, f"more than {MOST_CELLS:,} cells; give one output in each file"
                )
            if any(cell.strip() for cell in row):
                rows.append(tuple(cell.rstrip() for cell in row))
                lines.append(reader.line_num)
    except csv.Error as error:
        raise OutputsError(source, f"not CSV: {error}; save it as CSV again") from error
    if len(rows) < 2:
        raise OutputsError(source, "has no rows below its header; give the output as CSV")
    width = max(map(len, rows))
    padded = tuple(row + ("",) * (width - len(row)) for row in rows)
    return CellSheet(source, padded, tuple(lines))


def _delimiter(text: str) -> str:
    """Return what parts the cells of the first line that has any: the mark that stands there most often."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max((",", ";", "\t"), key=first.count)
