"""Which single files hold so much that they are counted, whatever their bytes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pa_parquet

from treewarden.ppdm_models.tables.dialect import dialect_of

LARGE_BYTES = 64 * 2**20
"""From so many bytes on a file is counted, where nothing needs its single records."""
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"ARROW1", b"PK\x03\x04", b"$FL")
PACKED_TIMES = 8
"""How files start that are packed, or may be, and how many times as large what is in them is taken to be."""
PARQUET, LARGE_RECORDS = b"PAR1", 250_000
"""A Parquet file says how many records it has, and may have millions in a few bytes."""


def is_large(path: Path) -> bool:
    """Return whether a file holds so much that it is counted where that will do."""
    path, _ = dialect_of(path)
    if not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            start = file.read(8)
    except OSError:
        return False
    if start.startswith(PARQUET):
        return _records_of_parquet(path) >= LARGE_RECORDS
    times = PACKED_TIMES if start.startswith(PACKED) else 1
    return path.stat().st_size * times >= LARGE_BYTES


def _records_of_parquet(path: Path) -> int:
    """Return how many records a Parquet file says that it has; none, where that cannot be read: reading tells why."""
    try:
        return int(pa_parquet.read_metadata(path).num_rows)
    except (OSError, pa.ArrowException):
        return 0
