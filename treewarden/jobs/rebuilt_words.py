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
    number, of_all = rebuilt["records_proved"], rebuilt["records"]
    records = (
        counted(number, "record", "records")
        if of_all is None
        else f"{count(number)} of {counted(of_all, 'record', 'records')}"
    )
    columns = sorted(rebuilt["columns"].items(), key=lambda item: -item[1])
    by_column = [f"{name}: {count(number)}" for name, number in columns if number]
    if len(by_column) > MOST_COLUMNS:
        by_column[MOST_COLUMNS:] = [f"{len(by_column) - MOST_COLUMNS} more columns"]
    values = f" ({', '.join(by_column)})" if by_column else ""
    whole = counted(rebuilt["whole_records"], "whole record", "whole records")
    yield f"without any table, values of {records}{values}; {whole}"
    yield _tables(rebuilt["tables"])
    if not rebuilt["decided"]:
        yield (
            "more may be proved: the time was used up; the public domain of the columns (--domain) "
            "may help"
        )


def _tables(tables: int | str | None) -> str:
    if tables is None:
        return "number of consistent tables: unknown"
    if tables == 1:
        return "only one table is consistent with the file: anyone with the file has the table"
    if isinstance(tables, str):
        return (
            "values are known as ranges; give the public domain of the columns (--domain) to prove "
            "more"
        )
    if tables > LARGEST_SAID:
        return f"about 10^{len(str(tables)) - 1} tables are consistent with the file"
    return f"{count(tables)} tables are consistent with the file"
