"""Columns of codes that have labels: read as labels where a model names its categories so, else as codes."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.records.arrow_column import ArrowColumn
from treewarden.ppdm_models.records.readers import Labels
from treewarden.ppdm_models.records.table import RawColumn, Table
from treewarden.ppdm_models.tree.column import CategoricalColumn


@dataclass(frozen=True, slots=True)
class LabelledColumn(RawColumn):
    """A column of codes, and what some of them or all are called; as numbers, it is its codes."""

    codes: ArrowColumn
    labels: Labels

    def cells(self) -> list[object]:
        return self.codes.cells()

    def numbers(self) -> FloatArray:
        return self.codes.numbers()

    def is_numeric(self) -> bool:
        return self.codes.is_numeric()

    def how_written(self) -> str:
        return self.codes.how_written()

    def decimal_mark(self) -> str | None:
        return self.codes.decimal_mark()

    def categories(self, known: tuple[str, ...]) -> CategoricalColumn:
        if self.taken(known) == "codes":
            return self.codes.categories(known)
        coded = self.codes.categories(tuple(self.labels))  # so that a code such as NA is one
        names = [self.labels.get(code, code) for code in coded.categories]
        texts = pa.array([None if code < 0 else names[code] for code in coded.codes], pa.string())
        return replace(self.codes, values=texts).categories(known)

    def taken(self, known: tuple[str, ...]) -> str:
        """Return "labels" where more of the categories that a model knows are labels than are codes, else "codes"."""
        labels = {label.strip() for label in self.labels.values()}
        codes = {_number(code) for code in self.labels}
        by_label = sum(each.strip() in labels for each in known)
        by_code = sum(_number(each) in codes for each in known)
        return "labels" if by_label > by_code else "codes"


def labelled(table: Table, labels: Mapping[str, Labels], notes: tuple[str, ...]) -> Table:
    """Return a table whose columns have labels where some are said, with notes for the reader of a report."""
    columns = {
        name: LabelledColumn(column, labels[name])
        if name in labels and isinstance(column, ArrowColumn)
        else column
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns, notes=notes)


def _number(text: str) -> float | str:
    """Return a text as the number that it is, else without padding."""
    with suppress(ValueError):
        return float(text)
    return text.strip()
