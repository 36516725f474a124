"""What a person types and waits for: whole commands, as ratios within one run.

    python -m benchmarks.commands --data ../shared/data [--out docs/engineering/benchmarks-commands.md] [--rounds 3]

Trees of the study of Zhu & Du 2010 on Adult with error rates: the same audit as text, JSON and HTML. A tree of income
on Adult, of which whole records say more. A large tree of numbers. And how long it takes to start.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.report_cases import Case, income, large, study

GOAL_RATIO, GOAL_SECONDS = 1.3, 1.0
GOAL_START_SECONDS = 0.3
STARTS = {
    "`treewarden list`": ["-m", "treewarden", "list"],
    "`treewarden --help`": ["-m", "treewarden", "--help"],
    "`import treewarden.policies.pack`": ["-c", "import treewarden.policies.pack"],
    "`import treewarden.audit.run`": ["-c", "import treewarden.audit.run"],
    "`python -c pass`, for comparison": ["-c", "pass"],
}


@dataclass(frozen=True)
class Times:
    """The shortest of some rounds, in seconds: each form of one audit, and its solve as the report has it."""

    name: str
    text: float
    json: float
    html: float
    solve: float

    @property
    def is_met(self) -> bool:
        """Whether JSON and HTML take at most so much longer than the text."""
        return max(self.json, self.html) <= GOAL_RATIO * self.text + GOAL_SECONDS


def took(arguments: list[str], folder: Path) -> tuple[float, bytes]:
    """Return how long a command of this Python takes, and what it prints."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    begun = time.perf_counter()
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    seconds = time.perf_counter() - begun
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(done.stderr.decode("utf-8", "replace")[-500:])
    return seconds, done.stdout


def timed(case: Case, rounds: int) -> Times:
    """Take the forms in turn, so that a slow minute of the machine meets all of them."""
    best = dict.fromkeys(("text", "json", "html"), float("inf"))
    solve = float("inf")
    for _ in range(rounds):
        for form in best:
            command = ["-m", "treewarden", *case.arguments, "--format", form, "--quiet"]
            seconds, said = took(command, case.folder)
            best[form] = min(best[form], seconds)
            if form == "json":
                solve = min(solve, json.loads(said)["solver"]["seconds"])
    return Times(case.name, *best.values(), solve)


def lines(found: list[Times], starts: dict[str, float], rounds: int) -> Iterator[str]:
    yield "# Whole commands"
    yield ""
    yield f"`python -m benchmarks.commands --rounds {rounds}`: wall seconds, the shortest of {rounds}, {machine()}."
    yield f"Met where JSON and HTML take at most {GOAL_RATIO:g} times the text and {GOAL_SECONDS:g} s more."
    yield ""
    yield "| Audit | solve | text | JSON | HTML | JSON ÷ text | HTML ÷ text | text ÷ solve | met |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---|"
    for each in found:
        ratios = each.json / each.text, each.html / each.text, each.text / max(each.solve, 1e-9)
        numbers = " | ".join(
            f"{n:.2f}" for n in (each.solve, each.text, each.json, each.html, *ratios)
        )
        yield f"| {each.name} | {numbers} | {'yes' if each.is_met else 'no'} |"
    yield ""
    yield f"Starting, wall seconds; the goal is under {GOAL_START_SECONDS:g} s each."
    yield ""
    yield "| Command | s |"
    yield "|---|---:|"
    for name, seconds in starts.items():
        yield f"| {name} | {seconds:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    starts = {
        name: min(took(command, Path.cwd())[0] for _ in range(2 * given.rounds))
        for name, command in STARTS.items()
    }
    with tempfile.TemporaryDirectory() as folder:
        found = []
        data = given.data.resolve()
        for case in (*study(data, Path(folder)), *income(data, Path(folder)), *large(Path(folder))):
            found.append(timed(case, given.rounds))
            print(found[-1], file=sys.stderr)
    text = "\n".join(lines(found, starts, given.rounds)) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
