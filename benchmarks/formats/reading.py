"""Reads one file one way, and says what that took: ``python -m benchmarks.formats.reading WORK FILE``."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks.formats.forest import bare, whole
from ppdm_models.load import formats


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
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


def main(work: str, path: Path) -> None:
    formats()  # so that importing them is not measured
    start = processor_seconds()
    WORK[work](path)
    say(processor_seconds() - start)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
