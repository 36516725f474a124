"""Whole commands in processes of their own: how long each takes and how much memory it needs at most."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ACCEPTED = (0, 1, 3)
"""A verdict was given, whatever it is."""


@dataclass(frozen=True)
class Taken:
    """What a process took: wall and processor seconds, and the most memory of it or of one that it waited for."""

    seconds: float
    cpu_seconds: float
    peak_mb: float


def taken(arguments: Sequence[str], accepted: Sequence[int] = ACCEPTED) -> Taken:
    """Run this Python with arguments and return what that took.

    Raises:
        RuntimeError: it ended with another exit code than one that is accepted; ends with what it said last.
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    # What is installed is compiled once, and not by each command anew.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile() as said:
        began = time.perf_counter()
        running = subprocess.Popen(
            [sys.executable, *arguments], stdout=said, stderr=said, env=environment
        )
        _, status, used = os.wait4(running.pid, 0)
        seconds = time.perf_counter() - began
        running.returncode = os.waitstatus_to_exitcode(status)
        if running.returncode not in accepted:
            said.seek(0)
            last = said.read().decode("utf-8", "replace")[-500:]
            raise RuntimeError(f"exit code {running.returncode}: {last}")
    return Taken(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def audit(tree: Path, data: str, folder: Path, *options: str) -> list[str]:
    """Return the command that audits a tree, as a person types it who wants everything in files."""
    reports = [f"--format={form}={folder / 'report'}.{form}" for form in ("json", "html")]
    asked = ["audit", str(tree), "--data", data, "--sensitive", "y", *reports]
    return ["-m", "treewarden", *asked, "--posterior", str(folder / "posterior.parquet"), *options]


def grouped(files: Sequence[str]) -> list[str]:
    """Return the command that has DuckDB count the records of files by all columns."""
    return ["-m", "benchmarks.scale.grouping", *files]
