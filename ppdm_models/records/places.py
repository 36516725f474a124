"""Where in a table a row stands, as messages name it, whether it is one record or stands for several."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models.arrays import IntArray

FILE_BITS = 40
"""A record's number is that of its file, moved by so many bits, and its place in that."""


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """The first record of each row, (rows,); ``files`` names the files of the table where it has several.

    ``first`` is None where records have no order, as in a database.
    """

    first: IntArray | None
    files: tuple[str, ...] = ()

    def of(self, row: int) -> str:
        """Return where a row stands: its first record."""
        if self.first is None:
            return "a record"
        file, record = divmod(int(self.first[row]), 1 << FILE_BITS)
        where = f" of {self.files[file]!r}" if self.files else ""
        return f"record {record + 1:d}{where}"


def place(places: Places | None, row: int) -> str:
    """Return where a row stands in a table that may be read record by record."""
    return f"record {row + 1}" if places is None else places.of(row)
