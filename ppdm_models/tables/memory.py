"""How much memory a table may take: half of what the machine, or its container, has to spare."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

from treewarden.ppdm_models.errors import TableError

SETTING = "TREEWARDEN_TABLE_MEMORY"
LEAST, USUAL = 64 * 2**20, 2 * 2**30
"""In bytes: less is no use, and so much is taken where the machine does not say what it has."""
LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
MORE_ROOM = f"give more memory ({SETTING}, in MB)"


def room_bytes() -> int:
    """Return how much it is: what the environment says in MB, else half of what is free.

    Raises:
        TableError: the environment says no number.
    """
    said = os.environ.get(SETTING, "").strip()
    if said:
        if not re.fullmatch(r"\d{1,9}", said) or not int(said):
            raise TableError(
                SETTING, f"{said!r} is not a number of megabytes; give a number such as 2000"
            )
        return max(int(said) * 2**20, LEAST)
    return max(min(_available(), *_of_container()) // 2, LEAST)


def _available() -> int:
    with suppress(OSError):
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        if found:
            return int(found[1]) * 1024
    return USUAL


def _of_container() -> list[int]:
    found = [2**62]
    for each in LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(Path(each).read_text()))
    return found
