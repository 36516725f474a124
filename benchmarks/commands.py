"""What a person types and waits for: whole commands, as ratios within one run.

    python -m benchmarks.commands --data ../shared/data [--out docs/engineering/benchmarks-commands.md] [--rounds 3]
        [--trees gini:100 entropy:100]

Trees of the study of Zhu & Du 2010 on Adult with error rates: the same audit as text, JSON and HTML. A tree of income
on Adult, of which whole records say more. A large tree of numbers. And how long it takes to start. Seconds are those
of a processor, by the command and all that it starts, which other work on the machine changes less than time. With
``--trees``, these of the study alone.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.report_cases import Case, income, large, study
from tests.kit.places import DATA as TEST_DATA

GOAL_RATIO, GOAL_SECONDS = 1.3, 1.0
GOAL_START_SECONDS = 0.3
START_ROUNDS = 7
AUDIT = ["-m", "treewarden", "audit", "golf.pmml", "--data", "golf.csv", "--sensitive", "play"]
STARTS = {
    "`audit`, text": ([*AUDIT, "--quiet"], 0.7),
    "`audit`, JSON": ([*AUDIT, "--quiet", "--format", "json"], 0.7),
    "`audit`, HTML": ([*AUDIT, "--quiet", "--format", "html"], 1.2),
    "`inspect`": (["-m", "treewarden", "inspect", "golf.pmml"], 0.35),
    "`list`": (["-m", "treewarden", "list"], GOAL_START_SECONDS),
    "`--help`": (["-m", "treewarden", "--help"], GOAL_START_SECONDS),
    "`python -c pass`, for comparison": (["-c", "pass"], None),
}
"""Commands over a small tree, and their goals in seconds."""
GOLF = {"sunny,80,yes": 4, "sunny,80,no": 1, "rain,70,yes": 4, "rain,80,yes": 1, "rain,80,no": 4}


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


def spent(arguments: list[str], folder: Path) -> tuple[float, bytes]:
    """Return how many seconds of a processor a command of this Python takes, and what it prints."""
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # installed programs are compiled
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        cwd=folder,
        env=environment,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1, 3):
        raise RuntimeError(done.stderr.decode("utf-8", "replace")[-500:])
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return seconds, done.stdout


def took(arguments: list[str], folder: Path) -> tuple[float, bytes]:
    """Return how long a command of this Python takes by the clock on the wall, and what it prints."""
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
            seconds, said = spent(command, case.folder)
            best[form] = min(best[form], seconds)
            if form == "json":
                solve = min(solve, json.loads(said)["solver"]["seconds"])
    return Times(case.name, *best.values(), solve)


def lines(found: list[Times], starts: dict[str, list[float]], rounds: int) -> Iterator[str]:
    yield "# Whole commands"
    yield ""
    yield f"`python -m benchmarks.commands --rounds {rounds}`: seconds of a processor, the least of {rounds}."
    yield f"{machine()}."
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
    yield (
        f"Starting: a tree of few leaves with counts, seconds of a processor, {START_ROUNDS} runs in turn."
    )
    yield ""
    yield "| Command | median | least | goal | met |"
    yield "|---|---:|---:|---:|---|"
    for name, seconds in starts.items():
        middle, goal = statistics.median(seconds), STARTS[name][1]
        last = " | " if goal is None else f"{goal:g} | {'yes' if middle <= goal else 'no'}"
        yield f"| {name} | {middle:.2f} | {min(seconds):.2f} | {last} |"


def write_golf(folder: Path) -> None:
    """Write a tree of few leaves with counts and its table."""
    shutil.copy(TEST_DATA / "formats/pmml/good/golf.pmml", folder)
    rows = [row for row, times in GOLF.items() for _ in range(times)]
    (folder / "golf.csv").write_text("\n".join(["outlook,temperature,play", *rows, ""]))


def started(folder: Path) -> dict[str, list[float]]:
    """Return what small commands take, in turn; the first run, which may compile the product, does not count."""
    write_golf(folder)
    taken: dict[str, list[float]] = {name: [] for name in STARTS}
    for number in range(START_ROUNDS + 1):
        for name, (command, _) in STARTS.items():
            seconds, _ = spent(command, folder)
            if number:
                taken[name].append(seconds)
    return taken


def chosen(data: Path, folder: Path, trees: list[str] | None) -> Iterator[Case]:
    """Yield the audits: all, or those of some trees of the study."""
    if trees is None:
        yield from (*study(data, folder), *income(data, folder), *large(folder))
    elif trees:
        words = [tree.split(":") for tree in trees]
        yield from study(data, folder, [(criterion, float(least)) for criterion, least in words])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trees", nargs="*", metavar="CRITERION:RECORDS")
    given = parser.parse_args()
    data = given.data.resolve()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        starts = started(folder)
        found = []
        for case in chosen(data, folder, given.trees):
            found.append(timed(case, given.rounds))
            print(found[-1], file=sys.stderr)
    text = "\n".join(lines(found, starts, given.rounds)) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
