"""Commands that need every record of a table at once: the memory they take, and records written in sorted order.

Memory is known before the table is read. Records that are alike are written together, and their line is made once.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from treewarden.ppdm_models.arrays import IndexArray, IntArray
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.limits import MORE_ROOM, room_bytes
from treewarden.ppdm_models.methods.generalise.lattice import grouped
from treewarden.ppdm_models.tables.batches import open_batches

BYTES_PER_CELL = 64
"""About so many bytes are held of each cell at the most: its text, its number, and where it stands in the order."""
WORTH_SAYING = 2**30
GB = 1e9


@dataclass(frozen=True, slots=True)
class WholeTable:
    """A table that is about to be read whole."""

    source: str
    records: int
    columns: int

    @property
    def bytes(self) -> int:
        """About how much memory it takes."""
        return self.records * self.columns * BYTES_PER_CELL

    @property
    def words(self) -> str:
        """How large it is, and about how much memory that takes."""
        size = f"{self.records:,} records of {self.columns:,} columns"
        return f"{size} need about {self.bytes / GB:,.1f} GB"


def held_of(path: Path) -> WholeTable:
    """Return how much of a table there is, counted as it passes by.

    Raises:
        TableError: it cannot be read to its end.
    """
    table = open_batches(path)
    records = sum(batch.num_rows for batch in table.read(table.names[:1]))
    return WholeTable(table.source, records, len(table.names))


def check_held(table: WholeTable, advice: str) -> None:
    """Check that there is memory for a table; ``advice`` is what to do where there is not.

    Raises:
        TableError: there is not.
    """
    room = room_bytes()
    if table.bytes > room:
        problem = f"too large for memory: {table.words}, and {room / GB:,.1f} GB are free"
        raise TableError(table.source, f"{problem}; {advice}, or {MORE_ROOM}")


AT_ONCE = 2**14
"""How many lines are held at a time."""


@dataclass(frozen=True, slots=True)
class TextColumn:
    """A column of N rows: the texts that stand in it, and by number which of them each row has, shape (N,)."""

    codes: IntArray
    texts: Sequence[str]

    @property
    def ranks(self) -> IntArray:
        """The place of each row's text among all."""
        place = {text: rank for rank, text in enumerate(sorted(set(self.texts)))}
        return np.array([place[text] for text in self.texts], dtype=np.int64)[self.codes]


def sorted_lines(
    columns: Mapping[str, TextColumn], counts: IntArray, before: Sequence[IntArray] = ()
) -> Iterator[bytes]:
    """Yield a CSV file in pieces: the header, then the records in the order of their cells, the first column first.

    ``counts`` are how many records each row stands for, ``before`` numbers of the rows that come before the columns.
    """
    group, first = groups([*before, *(column.ranks for column in columns.values())])
    often = sums(group, counts)
    lines: list[str] = []
    writer = csv.writer(_LineSplitter(lines), lineterminator="\n")
    writer.writerow(columns)
    yield lines.pop().encode("utf-8")
    texts = [np.array(column.texts, dtype=object) for column in columns.values()]
    for start in range(0, len(first), AT_ONCE):
        rows = first[start : start + AT_ONCE]
        shown = [own[col.codes[rows]] for own, col in zip(texts, columns.values(), strict=True)]
        writer.writerows(zip(*shown, strict=True))
        for line, count in zip(lines, often[start : start + AT_ONCE].tolist(), strict=True):
            yield from _repeated(line.encode("utf-8"), count)
        lines.clear()


def groups(columns: Sequence[IntArray]) -> tuple[IntArray, IndexArray]:
    """Return the group of each row, groups in the order of their values, and the first row of each."""
    group = grouped(columns, len(columns[0]))
    return group, np.unique(group, return_index=True)[1]


def sums(group: IntArray, counts: IntArray) -> IntArray:
    """Return how many records each group holds."""
    return np.bincount(group, counts).astype(np.int64)


class _LineSplitter:
    """Takes lines apart from each other, as a cell may hold the end of a line."""

    def __init__(self, lines: list[str]) -> None:
        self.write = lines.append


def _repeated(line: bytes, count: int) -> Iterator[bytes]:
    whole, rest = divmod(count, AT_ONCE)
    for _ in range(whole):
        yield line * AT_ONCE
    yield line * rest
