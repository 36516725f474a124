"""Repeats the experiments of tree-pattern-preserving sanitisation: quality, k, the same tree, and time.

    python -m benchmarks.studies.tpp --data FOLDER [--out docs/engineering/studies] [--quick]

Writes tpp.md and its figures. All draws have fixed seeds; only the times differ from run to run.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.machine import machine
from benchmarks.studies.tpp_runs import (
    SEED,
    Data,
    Size,
    adult,
    german,
    same_canonical,
    same_scikit,
    seconds,
    size,
)
from benchmarks.studies.tpp_text import document
from benchmarks.studies.zhu_du_figures import COLOURS, write

LEAVES = (2, 3, 4, 5, 6, 8, 10, 20, 50)
QUICK_LEAVES = (2, 3, 5, 8)
QUICK_RECORDS = 2_000
TIMED_LEAVES = 20


@dataclass(frozen=True)
class Study:
    """All that was found: sizes by table, runs with the same tree, and seconds by records and by attributes."""

    sizes: dict[str, list[Size]]
    records: dict[str, int]
    same: dict[str, tuple[int, int]]
    by_records: dict[int, float]
    by_attributes: dict[int, float]


def study(folder: Path, quick: bool) -> Study:
    """Do every run."""
    tables = [*adult(folder), german(folder)]
    if quick:
        tables = [_some(data, QUICK_RECORDS) for data in tables]
    leaves = QUICK_LEAVES if quick else LEAVES
    sizes = {}
    for data in tables:
        sizes[data.name] = [size(data, count) for count in leaves]
        print(f"{data.name}: sizes done", file=sys.stderr)
    same: dict[str, tuple[int, int]] = {}
    for data in tables:
        same[f"{data.name}: canonical"] = same_canonical(data, leaves, 1 if quick else 2)
        for way, printed in (("one value per cell", False), ("printed step 3", True)):
            name = f"{data.name}: scikit-learn, {way}"
            same[name] = same_scikit(data, leaves[:6], 2 if quick else 5, printed)
        print(f"{data.name}: same tree done", file=sys.stderr)
    income = tables[0]
    whole = len(income.response.values)
    counts = [whole // 4, whole // 2, whole] if quick else [1_000, 3_000, 10_000, 20_000, whole]
    names = tuple(income.columns)
    by_records = {count: seconds(_some(income, count), TIMED_LEAVES) for count in counts}
    by_attributes = {
        count: seconds(income.of(np.arange(whole), names[-count:]), TIMED_LEAVES)
        for count in (3, 5, 7, 9, len(names))
    }
    records = {data.name: len(data.response.values) for data in tables}
    return Study(sizes, records, same, by_records, by_attributes)


def _some(data: Data, count: int) -> Data:
    everyone = len(data.response.values)
    rows = np.random.default_rng(SEED).permutation(everyone)[: min(count, everyone)]
    return data.of(np.sort(rows))


def draw(folder: Path, found: Study) -> None:
    """Write the figures."""
    for number, (name, sizes) in enumerate(found.sizes.items(), start=1):
        x = [one.leaves for one in sizes]
        quality = {
            way: [one.quality.get(way, np.nan) for one in sizes]
            for way in ("original", "TPP", "InfoGain")
        }
        measure = "accuracy" if name == "Adult, income" else "R square"
        _lines(folder / f"tpp-quality-{number}.svg", x, quality, "leaves", measure)
        ks = {
            "TPP": [one.k for one in sizes],
            "printed step 3": [one.printed_k for one in sizes],
            "InfoGain": [one.infogain_k for one in sizes],
        }
        _lines(folder / f"tpp-k-{number}.svg", x, ks, "leaves", "smallest group (K)", is_log=True)
    for label, taken in (("records", found.by_records), ("attributes", found.by_attributes)):
        series = {f"{TIMED_LEAVES} leaves": list(taken.values())}
        _lines(folder / f"tpp-time-{label}.svg", list(taken), series, label, "seconds")


def _lines(
    path: Path,
    x: list[int],
    series: dict[str, list[float]],
    across: str,
    up: str,
    is_log: bool = False,
) -> None:
    figure = Figure(figsize=(6, 2.6), layout="constrained")
    axes = figure.add_subplot()
    for number, (name, values) in enumerate(series.items()):
        axes.plot(
            x, values, label=name, color=COLOURS[number], ls=("-", "--", ":")[number], marker="."
        )
    if is_log:
        axes.set_yscale("log")
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.legend(fontsize=7, frameon=False)
    write(figure, path)


def main() -> None:
    """Run the study as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.studies.tpp", description=__doc__)
    ask.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/studies"))
    ask.add_argument("--quick", action="store_true", help="2,000 records and four sizes only")
    given = ask.parse_args()
    found = study(given.data, given.quick)
    given.out.mkdir(parents=True, exist_ok=True)
    draw(given.out, found)
    command = f"python -m benchmarks.studies.tpp --data FOLDER{' --quick' if given.quick else ''}"
    (given.out / "tpp.md").write_text(document(found, command, machine()), encoding="utf-8")
    print(given.out / "tpp.md")


if __name__ == "__main__":
    main()
