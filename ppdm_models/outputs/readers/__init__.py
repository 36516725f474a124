"""Kinds of published outputs: one file each, which recognises a sheet of cells and reads all of it or raises."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from treewarden.ppdm_models.errors import UnsupportedOutputError
from treewarden.ppdm_models.outputs.published import (
    Entry,
    PublishedOutput,
    TableColumns,
)
from treewarden.ppdm_models.outputs.sheets import (
    CellSheet,
    hierarchy_column,
    labels_of_hierarchy,
    read_sheet,
)
from treewarden.ppdm_models.plugins import PluginIndex, discover


class OutputReader(ABC):
    """Reads one kind of output; ``is_of_numbers``: those that go with a model whose target is a number."""

    is_of_numbers: ClassVar[bool] = False

    @abstractmethod
    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        """Return whether a sheet is of this kind, by its header and first cells."""

    @abstractmethod
    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        """Return everything that the sheet says.

        Raises:
            OutputsError: part of it is not understood.
        """


def read_output(data: bytes, source: str, columns: TableColumns) -> PublishedOutput:
    """Return what a file publishes, read by the first kind that recognises it.

    Raises:
        OutputsError: no kind does, or part of it is not understood.
    """
    return _read(read_sheet(data, source), columns)


def read_together(
    files: Sequence[tuple[bytes, str]], columns: TableColumns
) -> tuple[PublishedOutput, ...]:
    """Return what several files, each with its name, publish; value hierarchies among them explain the others.

    Raises:
        OutputsError: no kind recognises one, part of it is not understood, or all are value hierarchies.
    """
    sheets = [read_sheet(data, source) for data, source in files]
    hierarchies: dict[str, Mapping[str, frozenset[str]]] = {}
    outputs = []
    for sheet in sheets:
        # What any kind recognises is an output, whatever its file is called: it is never taken for an explanation.
        is_output = any(
            reader.recognises(sheet, columns) for reader in _readers_for(columns).values()
        )
        column = None if is_output else hierarchy_column(sheet, columns)
        if column is None:
            outputs.append(sheet)
        elif column in hierarchies:
            raise UnsupportedOutputError(
                sheet.source, f"there is a second value hierarchy of {column!r}; remove one of them"
            )
        else:
            hierarchies[column] = labels_of_hierarchy(sheet)
    if files and not outputs:
        problem = "a value hierarchy publishes nothing by itself; add the output that it explains"
        raise UnsupportedOutputError(sheets[0].source, problem)
    explained = replace(columns, hierarchies=hierarchies)
    return tuple(_read(sheet, explained) for sheet in outputs)


def _read(sheet: CellSheet, columns: TableColumns) -> PublishedOutput:
    readers = _readers_for(columns)
    for name, reader in readers.items():
        if reader.recognises(sheet, columns):
            entries = reader.entries(sheet, columns)
            if not entries:
                raise UnsupportedOutputError(
                    sheet.source, "contains nothing about the people in the table; leave it out"
                )
            return PublishedOutput(sheet.source, name.replace("_", " "), entries)
    kinds = ", ".join(name.replace("_", " ") for name in readers)
    raise UnsupportedOutputError(
        sheet.source,
        "not a result table that treewarden recognises; give one of these kinds, laid out as in "
        f"docs/paper.md: {kinds}; columns that it names must be quasi-identifiers (add them with --qi)",
    )


def _readers_for(columns: TableColumns) -> dict[str, OutputReader]:
    """Return the kinds that may go with a model: whether its target is a class or a number decides."""
    is_number = not columns.classes
    return {
        name: reader
        for name, reader in output_readers().items()
        if reader.is_of_numbers == is_number
    }


def output_readers() -> PluginIndex[OutputReader]:
    """Return every kind of output by name, in name order."""
    return discover(sys.modules[__name__], "READER", OutputReader)
