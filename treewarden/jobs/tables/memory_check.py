"""What a command holds in memory that needs every record of a table at once, known before it is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.batches import open_batches
from treewarden.ppdm_models.tables.memory import MORE_ROOM, room_bytes

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


def check_held(held: WholeTable, advice: str) -> None:
    """Check that there is memory for a table; ``advice`` is what to do where there is not.

    Raises:
        TableError: there is not.
    """
    room = room_bytes()
    if held.bytes > room:
        problem = f"too large for memory: {held.words}, and {room / GB:,.1f} GB are free"
        raise TableError(held.source, f"{problem}; {advice}, or {MORE_ROOM}")
