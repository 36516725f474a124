"""Holds plans against the audits that they are of: processor seconds and memory, expected and measured.

    python -m benchmarks.planning --data ../shared/data [--out docs/engineering/benchmarks-planning.md]

Each command runs twice in processes of its own, with --plan and without. Processor seconds are those of the command and
its workers; memory is the most that one of its processes had.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.planning_cases import planned_cases
from benchmarks.report_cases import Case

FACTOR = 3.0
LIMIT_SECONDS = 300


@dataclass(frozen=True)
class Compared:
    """One audit: seconds and MB as planned and as measured, and what the plan itself took."""

    name: str
    planned: float
    measured: float
    planned_mb: float
    measured_mb: float
    plan_seconds: float

    @property
    def ratio(self) -> float:
        """How many times as long as planned it took."""
        return self.measured / self.planned

    @property
    def is_met(self) -> bool:
        """Whether time and memory are within the factor."""
        memory = self.measured_mb / self.planned_mb
        return all(1 / FACTOR <= ratio <= FACTOR for ratio in (self.ratio, memory))


def spent(words: Sequence[str], folder: Path) -> tuple[float, float, bytes]:
    """Return processor seconds and MB of a command of this Python, and what it prints."""
    child = (
        "import json, resource, subprocess, sys\n"
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "json.dump([used.ru_utime + used.ru_stime, used.ru_maxrss, done.returncode], sys.stderr)\n"
        "sys.stdout.buffer.write(done.stdout)\n"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", child, sys.executable, "-m", "treewarden", *words]
    done = subprocess.run(
        command,
        capture_output=True,
        cwd=folder,
        env=environment,
        check=True,
        timeout=LIMIT_SECONDS,
    )
    seconds, kilobytes, code = json.loads(done.stderr)
    if code not in (0, 1, 3, 4):
        raise RuntimeError(f"{words}: exit code {code}")
    return seconds, kilobytes / 1024, done.stdout


def compared(case: Case) -> Compared:
    """Return how the plan of a case compares with its audit."""
    words = [str(word) for word in case.arguments]
    asked = [f"{word}=report.json" if word == "json" else word for word in words]
    took, _, said = spent([*asked, "--plan"], case.folder)
    seconds, megabytes, _ = spent(words, case.folder)
    planned, memory = (
        float(re.search(f"^  {name} +([0-9.,]+) ", said.decode(), re.M)[1].replace(",", ""))
        for name in ("in all", "memory")
    )
    return Compared(case.name, planned, seconds, memory, megabytes, took)


def lines(found: Sequence[Compared]) -> Iterator[str]:
    """Yield the page of the figures."""
    yield "# Plans against audits"
    yield ""
    yield f"`python -m benchmarks.planning`: processor seconds of a whole command and its workers, {machine()}."
    yield f"Met where time and memory are within a factor of {FACTOR:g} of what `--plan` says."
    yield ""
    yield "| Audit | planned s | took s | took ÷ planned | planned MB | had MB | plan itself s | met |"
    yield "|---|---:|---:|---:|---:|---:|---:|---|"
    for each in found:
        seconds = f"{each.planned:.1f} | {each.measured:.1f} | {each.ratio:.2f}"
        memory = f"{each.planned_mb:,.0f} | {each.measured_mb:,.0f} | {each.plan_seconds:.1f}"
        yield f"| {each.name} | {seconds} | {memory} | {'yes' if each.is_met else 'no'} |"
    yield ""
    yield f"Met by {sum(each.is_met for each in found)} of {len(found)}."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for case in planned_cases(given.data.resolve(), Path(folder)):
            found.append(compared(case))
            print(found[-1], file=sys.stderr)
    text = "\n".join(lines(found)) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
