"""Kinds of published outputs: one file each, which recognises a sheet of cells and reads all of it or raises."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    CellSheet,
    Entry,
    PublishedOutput,
    TableColumns,
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
    sheet = read_sheet(data, source)
    for name, reader in output_readers().items():
        if reader.recognises(sheet, columns):
            entries = reader.entries(sheet, columns)
            if not entries:
                raise OutputsError(source, "says nothing of the people; leave it out")
            return PublishedOutput(source, name.replace("_", " "), entries)
    kinds = ", ".join(name.replace("_", " ") for name in output_readers())
    raise OutputsError(source, f"not a supported output ({kinds}); see docs/paper.md")


def output_readers() -> PluginIndex[OutputReader]:
    """Return every kind of output by name, in name order."""
    return discover(sys.modules[__name__], "READER", OutputReader)
