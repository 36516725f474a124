"""Sheets of workbooks that are named as tables, ``people.xlsx#2024``; nothing heavy is loaded to find them."""

from __future__ import annotations

from pathlib import Path

from treewarden.ppdm_models.foreign import PEEKED, Foreign, table_kind


def sheet_of(path: Path) -> tuple[Path, str]:
    """Return a workbook and the sheet of it that is named; "" where none is."""
    if "#" not in str(path) or path.exists():
        return path, ""
    parts = str(path).split("#")  # both may have such signs in their names
    for at in range(1, len(parts)):
        file, sheet = Path("#".join(parts[:at])), "#".join(parts[at:])
        if sheet and _is_workbook(file):
            return file, sheet
    return path, ""


def _is_workbook(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return table_kind(file.read(PEEKED)) is Foreign.EXCEL
    except OSError:
        return False
