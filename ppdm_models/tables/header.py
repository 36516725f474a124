"""What a table needs to be read: a kind of file, and names of columns that are not the cells of a record."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

LIKE_CELL = re.compile(r"[+-]?[.,]?\d[\d.,' \u00a0\u202f/:T-]*(?:[eE][+-]?\d+)?%?")
"""A number or a date: names of columns seldom are, and cells often."""
GIVE_A_TABLE = "give a table: CSV, Parquet, Arrow, Excel, SPSS, SAS or Stata"
NO_HEADER = (
    "the first line seems to be a record, not a header; add a header line with the column "
    "names, or check the name"
)


def seem_cells(names: Sequence[str]) -> bool:
    """Return whether some names look like the cells of a record: numbers or dates that do not count the columns."""
    found = [(place, name) for place, name in enumerate(names) if LIKE_CELL.fullmatch(name)]
    return any(name not in (str(place), str(place + 1)) for place, name in found)


def said_of_twins(names: Sequence[str]) -> str:
    """Return what is wrong with names of columns of which one stands twice, showing no cell; "" where none does."""
    if len(set(names)) == len(names):
        return ""
    twin = Counter(names).most_common(1)[0][0]
    return NO_HEADER if seem_cells(names) else f"two columns are called {twin!r}; rename one"
