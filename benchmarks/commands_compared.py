"""Whole commands of an older checkout beside those of this one, in turn, as ratios.

    python -m benchmarks.commands_compared --before OLDER/.venv/bin/python --data FOLDER [--rounds 2] [--only WORD]
        [--now PYTHON] [--out FILE]

Both read the same files. Seconds are those of a processor, by the command and all that it starts: of the rounds the
median. A goal is a ratio to the older checkout, but where it says otherwise.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.adult import adult
from benchmarks.commands import write_golf
from benchmarks.machine import machine
from benchmarks.report_cases import study
from benchmarks.studies.ensembles_data import LABEL, data_of
from benchmarks.tables import number, table
from benchmarks.wide import asked, counted
from treewarden.ppdm_models.formats.pmml._write import written
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.learn.splits import of_classes
from treewarden.ppdm_models.tables.table import Table

HEAD = ("what", "before", "now", "ratio", "goal", "met")
STUDIED = {
    ("gini", 100): 6 / 11.0,
    ("gini", 30): 8 / 15.4,
    ("gini", 2): 16 / 32.7,
    ("entropy", 100): 7 / 12.6,
    ("entropy", 30): 14 / 28.1,
    ("entropy", 2): 24 / 47.1,
}
"""Trees of the study with rates and splits, and the goals."""
STARTS = {"text": 0.7 / 1.4, "json": 0.7 / 1.4, "html": 1.2 / 2.1}
READING = """
import importlib, sys, time
try:
    load = importlib.import_module("treewarden.ppdm_models.files.load")
except ImportError:
    load = importlib.import_module("ppdm_models.files.load")
data = open(sys.argv[1], "rb").read()
load.formats()
begun = time.process_time()
load.open_model(data, sys.argv[1])
print(time.process_time() - begun)
"""
INCOME = "income"


@dataclass(frozen=True)
class Checkouts:
    """The Python of the older checkout, that of this one, and how often each command is run."""

    pythons: tuple[str, str]
    rounds: int

    def spent(self, words: Sequence[str], folder: Path) -> tuple[list[float], list[bytes]]:
        """Return the median seconds of a command in either checkout, and what it printed last."""
        seconds: list[list[float]] = [[], []]
        printed = [b"", b""]
        for _ in range(self.rounds):
            for place, python in enumerate(self.pythons):
                spent, printed[place] = spent_by([python, *words], folder)
                seconds[place].append(spent)
        return [statistics.median(those) for those in seconds], printed


def spent_by(words: Sequence[str], folder: Path) -> tuple[float, bytes]:
    """Return the seconds of a processor of a command and all that it starts, and what it prints.

    Raises:
        RuntimeError: it failed.
    """
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with tempfile.TemporaryFile() as printed, tempfile.TemporaryFile() as failed:
        child = subprocess.Popen(words, stdout=printed, stderr=failed, cwd=folder, env=environment)
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        printed.seek(0), failed.seek(0)
        complaint = failed.read()
        if child.returncode not in (0, 1, 3) or b"Traceback" in complaint:
            raise RuntimeError(complaint[-500:].decode("utf-8", "replace"))
        return used.ru_utime + used.ru_stime, printed.read()


def row(what: str, values: Sequence[float], goal: float) -> list[str]:
    """Return a row of the table: a goal is a ratio."""
    ratio = values[1] / values[0]
    met = "yes" if ratio <= goal else "no"
    cells = [what, number(values[0], 2), number(values[1], 2), number(ratio, 2)]
    return _printed([*cells, number(goal, 2), met])


def bounded(what: str, values: Sequence[float], most: float, unit: str) -> list[str]:
    """Return a row of the table: a goal is a value."""
    met = "yes" if values[1] <= most else "no"
    cells = [what, number(values[0], 2), number(values[1], 2), number(values[1] / values[0], 2)]
    return _printed([*cells, f"{most:g}{unit}", met])


def _printed(cells: list[str]) -> list[str]:
    print(" | ".join(cells), flush=True)
    return cells


AUDIT = ("-m", "treewarden", "audit")


def start(_: Path, folder: Path, both: Checkouts) -> Iterator[list[str]]:
    write_golf(folder)
    quick = Checkouts(both.pythons, 7)
    words = (*AUDIT, "golf.pmml", "--data", "golf.csv", "--sensitive", "play", "--quiet")
    for form, goal in STARTS.items():
        seconds = quick.spent([*words, "--format", form], folder)[0]
        yield row(f"audit of a small tree as {form}", seconds, goal)
    seconds = quick.spent(["-m", "treewarden", "inspect", "golf.pmml"], folder)[0]
    yield row("inspect of a small tree", seconds, 0.35 / 0.54)


def trees(data: Path, folder: Path, both: Checkouts) -> Iterator[list[str]]:
    for (criterion, least), goal in STUDIED.items():
        (case,) = study(data, folder, [(criterion, least)])
        words = [word for word in case.arguments if word != "--no-worlds"]
        more = ["--split", criterion, "--format", "json", "--jobs", "1", "--quiet"]
        seconds = both.spent(["-m", "treewarden", *words, *more], folder)[0]
        yield row(f"{case.name}, rates and splits", seconds, goal)


def wide(data: Path, folder: Path, both: Checkouts) -> Iterator[list[str]]:
    (case,) = study(data, folder, [("gini", 2)])
    _, read = Checkouts(both.pythons, 3).spent(["-c", READING, case.arguments[1]], folder)
    yield row("read 4,285 leaves of multiway PMML", [*map(float, read)], 0.3 / 1.66)
    words = ["-m", "treewarden", *case.arguments, "--format", "json", "--quiet"]
    _, reports = Checkouts(both.pythons, 1).spent(words, folder)
    sizes = [len(report) / 4285 / 1e3 for report in reports]
    yield bounded("JSON of 1,000 leaves, MB", sizes, 0.35, " MB")


def levels(_: Path, folder: Path, both: Checkouts) -> Iterator[list[str]]:
    words = [*AUDIT, *asked(*counted(folder, 100_000, 10_000)), "--no-worlds", "--quiet"]
    (whole, _), (less, _) = both.spent(words, folder), both.spent([*words, "--no-levels"], folder)
    shares = [1 - least / most for least, most in zip(less, whole, strict=True)]
    yield row("audit of 10,000 leaves", whole, 1.0)
    yield bounded("of it levels", shares, 0.15, "")


def profiles(_: Path, folder: Path, both: Checkouts) -> Iterator[list[str]]:
    model, counts = counted(folder, 1_000_000, 100)
    words = ["-m", "benchmarks.scale.grouping", str(counts)]
    beside = statistics.median(
        spent_by([sys.executable, *words], Path.cwd())[0] for _ in range(both.rounds)
    )
    words = [*AUDIT, *asked(model, counts), "--no-worlds", "--quiet"]
    seconds = both.spent(words, folder)[0]
    times = [second / beside for second in seconds]
    yield row("audit of 1,495,840 counted rows", seconds, 1.0)
    yield bounded("the same in times DuckDB counts them", times, 8, "")


def boosted(data: Path, folder: Path, both: Checkouts) -> Iterator[list[str]]:
    adult, path = data_of("adult", data), folder / "boosted.json"
    library = importlib.import_module("xgboost")
    grown = library.XGBClassifier(n_estimators=100, max_depth=6, learning_rate=0.3, n_jobs=1)
    grown.fit(adult.columns, adult.labels).save_model(path)
    adult.table.to_csv(folder / "people.csv", index=False)
    words = ["boosted.json", "--data", "people.csv", "--sensitive", LABEL, "--jobs", "1"]
    seconds = both.spent([*AUDIT, *words, "--quiet"], folder)[0]
    yield row("XGBoost's 100 trees", seconds, 10 / 25)


def gate(data: Path, folder: Path, both: Checkouts) -> Iterator[list[str]]:
    """Yield what a gate of trees of 10 to 48 leaves over Adult takes, of which none is known."""
    people = adult(data)
    (folder / "people.csv").write_text("\n".join(csv_lines(people)))
    columns = {name: people.categories(name) for name in people.columns if name != INCOME}
    target = people.categories(INCOME)
    growth = BestFirst("gini").growth(
        columns, of_classes(INCOME, target.codes, target.categories), 48
    )
    sections = []
    for leaves in range(10, 50, 2):
        (folder / f"{leaves}.pmml").write_bytes(written(growth.tree(leaves)))
        words = f'path = "{leaves}.pmml"\ntable = "people.csv"\nsensitive = "{INCOME}"'
        sections.append(f"[[model]]\n{words}\n")
    (folder / "treewarden.toml").write_text("\n".join(sections))
    seconds = both.spent(["-m", "treewarden", "gate", "--quiet", "--no-cache"], folder)[0]
    yield row(f"gate of {len(sections)} models over one table", seconds, 20 / 51.8)


def csv_lines(people: Table) -> Iterator[str]:
    """Yield the lines of a table whose texts need no quotes."""
    yield ",".join(people.columns)
    for cells in zip(*(column.cells() for column in people.columns.values()), strict=True):
        yield ",".join(map(str, cells))


PARTS: tuple[Callable[[Path, Path, Checkouts], Iterator[list[str]]], ...] = (
    start,
    wide,
    trees,
    boosted,
    gate,
    levels,
    profiles,
)


def main() -> None:
    """Run what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--before", required=True, help="the Python of the older checkout")
    parser.add_argument("--now", default=sys.executable, help="the Python of this one: this Python")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--only", default="", help="part of the name of what is to be run")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    both = Checkouts((given.before, given.now), given.rounds)
    rows: list[list[str]] = []
    for part in PARTS:
        if given.only in part.__name__:
            with tempfile.TemporaryDirectory() as made:
                rows += part(given.data.resolve(), Path(made), both)
    text = f"{machine()}\n\n{table(HEAD, rows)}\n"
    if given.out:
        given.out.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
