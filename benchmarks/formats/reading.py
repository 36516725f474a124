"""Reads one file one way, and says what that took: ``python -m benchmarks.formats.reading WORK FILE``."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.formats.forest import bare, whole
from treewarden.ppdm_models.files.load import formats


def parse_json(path: Path) -> None:
    json.loads(path.read_bytes())


WORK: dict[str, Callable[[Path], None]] = {
    "bare lxml.iterparse": bare,
    "json.loads": parse_json,
    "treewarden": whole,
}


def processor_seconds() -> float:
    """Return the processor time of this process and those it waited for: what other programs do counts little."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def say(seconds: float) -> None:
    """Print the time, and the peak of memory of this process."""
    print(json.dumps({"seconds": seconds, "peak_mb": _peak_mb()}))


def _peak_mb() -> float:
    """Return the peak since the program started; ``ru_maxrss`` would count what the parent held before, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmHWM:"))


def main(work: str, path: Path) -> None:
    formats()  # so that importing them is not measured
    start = processor_seconds()
    WORK[work](path)
    say(processor_seconds() - start)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
