"""How much memory an audit may take, roughly: enough to decide what may run beside what.

An audit is taken to need 400 MB, 60 times its table as CSV (200 times as Parquet or Arrow, which are packed, and 600
times as a packed CSV) and 60 times its model's file; workbooks and SPSS's files are packed too. What is free is what
the machine says, or the limit of its container where that is less.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from treewarden.jobs.gate.models import GateModel
from treewarden.ppdm_models.tables.counting.addresses import parted

BASE_BYTES = 400 * 2**20
PER_TABLE_BYTE = {
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather", ".xlsx", ".xlsm", ".sav"), 200),
    **dict.fromkeys((".gz", ".zst", ".zsav"), 600),
}
PER_OTHER_TABLE_BYTE = 60
PER_MODEL_BYTE = 60
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def needed(model: GateModel) -> int:
    """Return the bytes that an audit is taken to need."""
    table = parted(model.table)[0] if isinstance(model.table, Path) else None
    rate = PER_OTHER_TABLE_BYTE
    if table is not None:
        rate = PER_TABLE_BYTE.get(table.suffix.lower(), PER_OTHER_TABLE_BYTE)
    return BASE_BYTES + rate * _size(table) + PER_MODEL_BYTE * _size(model.path)


def free(meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> int | None:
    """Return the bytes that are free, None where this machine does not say."""
    found = [each for each in (_available(meminfo), _allowed(cgroup)) if each is not None]
    return min(found, default=None)


def _size(path: Path | None) -> int:
    if path is None:
        return 0
    with contextlib.suppress(OSError):
        if path.is_dir():
            return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        return path.stat().st_size
    return 0


def _available(meminfo: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in meminfo.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _allowed(cgroup: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        most = int((cgroup / "memory.max").read_text("ascii"))
        return max(most - int((cgroup / "memory.current").read_text("ascii")), 0)
    return None
