"""A table of records as it was read, its columns typed by what the tree says they are."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from ppdm_models.arrays import FloatArray
from ppdm_models.errors import TableError
from ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from ppdm_models.tree.tree import Feature


class RawColumn(ABC):
    """A column as it was read: what type it is, is for whoever wants it to say."""

    @abstractmethod
    def cells(self) -> list[object]:
        """Return the values as they stand: texts, or what the file types them as."""

    @abstractmethod
    def numbers(self) -> FloatArray:
        """Return the values as finite numbers, NaN where one is missing.

        Raises:
            TableError: a value is no number.
        """

    def is_numeric(self) -> bool:
        """Return whether the column looks like numbers: every value is one, and they are no truth values."""
        try:
            self.numbers()
        except TableError:
            return False
        return True

    @abstractmethod
    def categories(self, known: tuple[str, ...]) -> CategoricalColumn:
        """Return the values as categories, a text that means one of the ``known`` as that."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table as it was read: columns of equal length; ``source`` is the file's name.

    ``index`` are the names of what labels the records of a data frame, which is no column.
    """

    source: str
    columns: Mapping[str, RawColumn]
    rows: int
    index: tuple[str, ...] = ()

    def column(self, feature: Feature) -> Column:
        """Return one column typed as the feature says, missing values kept as missing.

        Raises:
            TableError: the column is not there, or a value is not of the feature's type.
        """
        if feature.numeric:
            return self.numbers(feature.name)
        return self.categories(feature.name, feature.values)

    def numbers(self, name: str) -> NumericColumn:
        """Return one column as numbers.

        Raises:
            TableError: the column is not there, or a value is no number.
        """
        return NumericColumn(self._raw(name).numbers())

    def categories(self, name: str, known: tuple[str, ...] = ()) -> CategoricalColumn:
        """Return one column as categories, those ``known`` before it first.

        Raises:
            TableError: the column is not there.
        """
        return self._raw(name).categories(known)

    def guessed(self, name: str) -> Feature:
        """Return what a column looks like that the tree says nothing about: numeric where every value is a number.

        Raises:
            TableError: the column is not there.
        """
        return Feature(name, numeric=self._raw(name).is_numeric())

    def lacks(self, name: str) -> str:
        """Return in words that a column is not there."""
        known = ", ".join(repr(column) for column in list(self.columns)[:12])
        more = f" and {len(self.columns) - 12} more" if len(self.columns) > 12 else ""
        return f"no column {name!r}{self.meant(name)}; the table has {known}{more}"

    def meant(self, name: str) -> str:
        """Return in brackets what may be meant by the name of a column that is not there; "" where nothing is near."""
        if name in self.index:
            return " (it is the index; reset_index() makes it a column)"
        folded = {column.casefold(): column for column in reversed(list(self.columns))}
        near = get_close_matches(name.casefold(), folded, n=3)
        return f" (nearest: {', '.join(repr(folded[each]) for each in near)})" if near else ""

    def _raw(self, name: str) -> RawColumn:
        if name not in self.columns:
            raise TableError(self.source, self.lacks(name))
        return self.columns[name]
