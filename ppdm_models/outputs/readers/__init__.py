"""Kinds of published outputs: one file each, which recognises a sheet of cells and reads all of it or raises."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

from treewarden.ppdm_models.errors import OutputsError
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
    """Reads one kind of output."""

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
        is_output = any(reader.recognises(sheet, columns) for reader in output_readers().values())
        column = None if is_output else hierarchy_column(sheet, columns)
        if column is None:
            outputs.append(sheet)
        elif column in hierarchies:
            raise OutputsError(sheet.source, f"a second value hierarchy of {column!r}; give one")
        else:
            hierarchies[column] = labels_of_hierarchy(sheet)
    if files and not outputs:
        problem = "a value hierarchy publishes nothing by itself; add the anonymised table"
        raise OutputsError(sheets[0].source, problem)
    explained = replace(columns, hierarchies=hierarchies)
    return tuple(_read(sheet, explained) for sheet in outputs)


def _read(sheet: CellSheet, columns: TableColumns) -> PublishedOutput:
    for name, reader in output_readers().items():
        if reader.recognises(sheet, columns):
            entries = reader.entries(sheet, columns)
            if not entries:
                raise OutputsError(sheet.source, "says nothing of the people; leave it out")
            return PublishedOutput(sheet.source, name.replace("_", " "), entries)
    kinds = ", ".join(name.replace("_", " ") for name in output_readers())
    raise OutputsError(sheet.source, f"not a supported output ({kinds}); see docs/paper.md")


def output_readers() -> PluginIndex[OutputReader]:
    """Return every kind of output by name, in name order."""
    return discover(sys.modules[__name__], "READER", OutputReader)
