"""A gate over many models, as ratios within one run.

    python -m benchmarks.gate [--models 20] [--records 3000] [--rounds 3]

Small trees of classes over one table each. First none is known to the gate, then all are: the first against the same
audits one after the other in one process, divided by the processes, the second against a goal in seconds. Beside it
the same audits as commands of their own, each of which has to start; and how long that takes.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.commands import GOAL_START_SECONDS, took
from benchmarks.machine import machine
from treewarden.audit.workers.pool import default_jobs
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.tree.column import CategoricalColumn

GOAL_UNCHANGED_SECONDS = 2.0
GOAL_RATIO = 1.3
SENSITIVE = "y"


def write_models(folder: Path, number: int, records: int) -> list[tuple[Path, Path]]:
    """Write so many trees and their tables, and the configuration; return the pairs."""
    written = []
    for seed in range(number):
        random = np.random.default_rng(seed)
        attributes = {f"a{place}": random.integers(0, 4, records) for place in range(5)}
        codes = (sum(attributes.values()) + random.integers(0, 3, records)) % 3
        columns = {
            name: CategoricalColumn(codes=values, categories=tuple("uvwx"))
            for name, values in attributes.items()
        }
        labels = ["p", "q", "r"]
        response = of_classes(SENSITIVE, codes, labels)
        tree = BestFirst("entropy").growth(columns, response, 12).tree(12)
        model, table = folder / f"model{seed:02}.json", folder / f"table{seed:02}.csv"
        model.write_bytes(writers()["treewarden_json"].write(tree))
        rows = zip(*(column.codes for column in columns.values()), codes, strict=True)
        lines = [",".join([*("uvwx"[code] for code in row[:-1]), labels[row[-1]]]) for row in rows]
        table.write_text("\n".join([",".join([*columns, SENSITIVE]), *lines, ""]))
        written.append((model, table))
    sections = (
        f'[[model]]\npath = "{model.name}"\ntable = "{table.name}"\nsensitive = "{SENSITIVE}"\n'
        for model, table in written
    )
    (folder / "treewarden.toml").write_text("\n".join(sections))
    return written


def audits(folder: Path, pairs: list[tuple[Path, Path]]) -> float:
    """Return how long the audits take as commands, one after the other, each in one process."""
    words = ["--sensitive", SENSITIVE, "--jobs", "1", "--quiet"]
    return sum(
        took(["-m", "treewarden", "audit", model.name, "--data", table.name, *words], folder)[0]
        for model, table in pairs
    )


def gate(folder: Path, *words: str) -> float:
    """Return how long a gate takes."""
    return took(["-m", "treewarden", "gate", "--quiet", *words], folder)[0]


def lines(
    number: int, records: int, rounds: int, processes: int, seconds: dict[str, float]
) -> Iterator[str]:
    share = seconds["one process"] / processes
    ratio = seconds["changed"] / share
    yield f"{number} models of {records:,} records, {processes} processes, the shortest of {rounds}; {machine()}"
    yield f"load of the machine before and after: {seconds['load before']:.1f}, {seconds['load after']:.1f}"
    yield ""
    yield "| What | s | goal | met |"
    yield "|---|---:|---|---|"
    rows = [
        ("audits as commands, one after the other", seconds["commands"], "", ""),
        ("gate, nothing known, one process", seconds["one process"], "", ""),
        (
            "gate, nothing known",
            seconds["changed"],
            f"{GOAL_RATIO:g} x {share:.1f} s",
            ratio < GOAL_RATIO,
        ),
        (
            "gate, nothing changed",
            seconds["unchanged"],
            f"{GOAL_UNCHANGED_SECONDS:g} s",
            seconds["unchanged"] < GOAL_UNCHANGED_SECONDS,
        ),
        (
            "`treewarden --help`",
            seconds["help"],
            f"{GOAL_START_SECONDS:g} s",
            seconds["help"] < GOAL_START_SECONDS,
        ),
    ]
    for name, value, goal, is_met in rows:
        yield f"| {name} | {value:.2f} | {goal} | {is_met if is_met == '' else 'yes' if is_met else 'no'} |"
    yield ""
    yield f"gate ÷ (one process ÷ processes): {ratio:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--models", type=int, default=20)
    parser.add_argument("--records", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    os.environ.pop("TREEWARDEN_CACHE", None)
    seconds = {"load before": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = write_models(folder, given.models, given.records)
        for round_ in range(given.rounds):  # in turn, so that a slow minute meets all of them
            found = {
                "changed": gate(folder, "--no-cache"),
                "one process": gate(folder, "--no-cache", "--jobs", "1"),
                "commands": audits(folder, pairs),
                "filling": gate(folder) if round_ == 0 else 0.0,
                "unchanged": gate(folder),
                "help": took(["-m", "treewarden", "--help"], folder)[0],
            }
            for key, value in found.items():
                seconds[key] = min(value, seconds.get(key, float("inf")))
            print(found, file=sys.stderr)
    seconds["load after"] = os.getloadavg()[0]
    print("\n".join(lines(given.models, given.records, given.rounds, default_jobs(), seconds)))


if __name__ == "__main__":
    main()
