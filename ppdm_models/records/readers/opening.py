"""How a table of another program is opened, whatever it is; known by its first bytes."""

from __future__ import annotations

from pathlib import Path

from ppdm_models.foreign import PEEKED, Foreign, table_kind
from ppdm_models.records.readers import Reader, Whole
from ppdm_models.records.readers.statistics import form_of, open_statistics
from ppdm_models.records.readers.xls import open_xls
from ppdm_models.records.readers.xlsx import SIGN, open_xlsx


def reader_of(start: bytes, whole: Whole, name: str, sheet: str = "") -> Reader | None:
    """Return a table of another program that starts like this, ``sheet`` of a workbook; None where it is none.

    Raises:
        TableError: what reads it is not installed, or it cannot be read.
    """
    kind = table_kind(start)
    if kind is None:
        return None
    if kind is Foreign.EXCEL:
        return (open_xlsx if start.startswith(SIGN) else open_xls)(whole, name, sheet)
    return open_statistics(whole, name, form_of(start))


def sheet_of(path: Path) -> tuple[Path, str]:
    """Return a workbook and the sheet of it that is named, ``people.xlsx#2024``; "" where none is."""
    if "#" not in str(path) or path.exists():
        return path, ""
    parts = str(path).split("#")  # both may have such signs in their names
    for at in range(1, len(parts)):
        file, sheet = Path("#".join(parts[:at])), "#".join(parts[at:])
        if sheet and is_workbook(file):
            return file, sheet
    return path, ""


def is_workbook(path: Path) -> bool:
    """Return whether a file starts as a workbook."""
    try:
        with path.open("rb") as file:
            return table_kind(file.read(PEEKED)) is Foreign.EXCEL
    except OSError:
        return False
