"""Names the machine that figures were taken on, without anything that points to a person or a place."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path


def machine() -> str:
    """Return the processor, its cores, memory, Python and the packages that matter, in one line."""
    packages = ("casadi", "pyomo", "numpy", "scipy")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in packages)
    return (
        f"{_processor()}, {os.cpu_count()} cores, {_memory_gb():.0f} GB; {platform.system()}, "
        f"Python {platform.python_version()}; {versions}"
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    said = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return said[0] if said else platform.machine()


def _memory_gb() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
