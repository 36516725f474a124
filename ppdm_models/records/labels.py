"""Columns of codes that have labels: read as labels where a model names its categories so, else as codes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from ppdm_models.arrays import FloatArray
from ppdm_models.records.arrow_column import ArrowColumn
from ppdm_models.records.readers import Labels
from ppdm_models.records.table import RawColumn, Table, listed
from ppdm_models.tree.column import CategoricalColumn


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

    def categories(self, known: tuple[str, ...]) -> CategoricalColumn:
        if not self.takes_labels(known):
            return self.codes.categories(known)
        coded = self.codes.categories(tuple(self.labels))  # so that a code such as NA is one
        names = [self.labels.get(code, code) for code in coded.categories]
        texts = pa.array([None if code < 0 else names[code] for code in coded.codes], pa.string())
        return replace(self.codes, values=texts).categories(known)

    def takes_labels(self, known: tuple[str, ...]) -> bool:
        """Return whether more of the categories that a model knows are labels than are codes."""
        labels = {label.strip() for label in self.labels.values()}
        codes = {_number(code) for code in self.labels}
        by_label = sum(each.strip() in labels for each in known)
        return by_label > sum(_number(each) in codes for each in known)


def labelled(table: Table, labels: Mapping[str, Labels], notes: tuple[str, ...]) -> Table:
    """Return a table whose columns have labels where some are said, with notes for the reader of a report."""
    columns = {
        name: LabelledColumn(column, labels[name])
        if name in labels and isinstance(column, ArrowColumn)
        else column
        for name, column in table.columns.items()
    }
    return replace(table, columns=columns, notes=notes)


def label_notes(table: Table, known: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    """Yield what was taken of the columns that have labels; ``known`` are the categories of a model's columns."""
    found = {
        name: column.takes_labels(known[name])
        for name, column in table.columns.items()
        if name in known and isinstance(column, LabelledColumn)
    }
    labels = [name for name, is_label in found.items() if is_label]
    codes = [name for name in found if name not in labels]
    if labels:
        yield f"{table.source}: value labels were taken, as the model has them, of {listed(labels)}"
    if codes:
        yield f"{table.source}: codes were taken, as the model has no labels, of {listed(codes)}"


def _number(text: str) -> float | str:
    """Return a text as the number that it is, else without padding."""
    with suppress(ValueError):
        return float(text)
    return text.strip()
