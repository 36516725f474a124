"""Writes a table in the order of its values: records that are alike stand together, and their line is made once."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.arrays import IndexArray, IntArray
from treewarden.ppdm_models.methods.generalise.lattice import grouped

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
