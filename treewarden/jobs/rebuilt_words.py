"""What a file proves of the records it was trained on, by itself, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from treewarden.reports.document.words import count, counted

LARGEST_SAID = 10**6
"""Larger numbers of tables are said by their powers of ten."""
MOST_COLUMNS = 4


def rebuilt_lines(rebuilt: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is proved without any table, in words."""
    if "reason" in rebuilt:
        yield f"unknown: {rebuilt['reason']}"
        return
    of_all = "" if rebuilt["records"] is None else f" of {count(rebuilt['records'])}"
    proved = counted(rebuilt["records_proved"], "record", "records")
    yield f"{proved}{of_all} by its numbers alone, {count(rebuilt['whole_records'])} with every tested column"
    columns = {name: number for name, number in rebuilt["columns"].items() if number}
    if columns:
        most = sorted(columns, key=lambda name: -columns[name])[:MOST_COLUMNS]
        more = (
            f", and {len(columns) - MOST_COLUMNS} more columns"
            if len(columns) > MOST_COLUMNS
            else ""
        )
        yield f"values: {', '.join(f'{name} of {count(columns[name])}' for name in most)}{more}"
    yield _tables(rebuilt["tables"])
    if not rebuilt["decided"]:
        yield "more may be proved: not all was decided in time; a public domain (--domain) may decide it"


def _tables(tables: int | str | None) -> str:
    if tables is None:
        return "how many tables fit the file is unknown"
    if tables == 1:
        return "exactly one table fits the file: anyone with the file has the table"
    if isinstance(tables, str):
        return "values are known up to ranges; a public domain (--domain) may prove more"
    if tables > LARGEST_SAID:
        return f"about 10^{len(str(tables)) - 1} tables fit the file"
    return f"{count(tables)} tables fit the file"
