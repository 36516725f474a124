"""Repeats the study of Sharkey, Tian, Zhang & Xu (2008): models learnt from what sources share.

    python -m benchmarks.studies.sharkey_2008 --data FOLDER [--out docs/studies] [--quick | --paper]

Writes sharkey-2008.md and its figure. All draws have fixed seeds.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from matplotlib.figure import Figure

from benchmarks.studies.sharkey_data import SETS, missing, whole
from benchmarks.studies.sharkey_findings import Found
from benchmarks.studies.sharkey_runs import (
    DIVERSITY,
    PRIVACY_MODELS,
    Size,
    private_runs,
    pseudo_runs,
)
from benchmarks.studies.sharkey_text import document
from benchmarks.studies.zhu_du_figures import COLOURS, write

DEFAULT = Size(10, 3, 2, 1, (1, 2, 5, 10), (1, 5, 10), 4_000)
QUICK = Size(10, 1, 1, 1, (1, 5), (1, 5), 1_500)
PAPER = Size(10, 10, 10, 5, tuple(range(1, 11)), (1, 5, 10), None)
DIVERSE_SETS = ("Nursery", "Car", "CMC")
DRAWN = "Nursery"


def study(folder: Path, size: Size, sets: tuple[str, ...]) -> tuple[Found, dict[str, str]]:
    """Do every run on the data sets that are there."""
    absent = missing(folder)
    found = Found({}, {}, size.sources, size.privacy_sources)
    sizes = {}
    for name in SETS:
        if name in absent:
            continue
        records = whole(folder, name, size.adult if name == "Adult" else None)
        numbers = sum(column.numbers is not None for column in records.columns.values())
        sizes[name] = (
            f"{len(records.target):,} records, {len(records.columns)} attributes ({numbers} numeric), "
            f"{len(records.classes)} classes"
        )
        found.pseudo[name] = pseudo_runs(records, size)
        print(f"{name}: pseudo data done", file=sys.stderr)
        if name in sets:
            found.private[name] = private_runs(records, size)
            print(f"{name}: diversity done", file=sys.stderr)
    return found, sizes


def draw(path: Path, found: Found) -> None:
    """Write the figure: accuracy on Nursery over the demands, from weak to strong."""
    figure = Figure(figsize=(7.5, 3.2), layout="constrained")
    axes = figure.add_subplot()
    count = found.private_sources[-1]
    lines = (("LD", 0), ("PPGEN", 1), ("PPGEN", count), ("PPGEN, real counts", count))
    for number, (method, sources) in enumerate(lines):
        for model, style in zip(PRIVACY_MODELS, ("-", "--"), strict=True):
            right = [found.diverse(DRAWN, method, need, sources, model) for need in DIVERSITY]
            label = f"{method}{f' {sources}' if sources else ''}, {model}"
            values = [float("nan") if each is None else each for each in right]
            axes.plot(values, style, marker=".", color=COLOURS[number], label=label)
    axes.set_xticks(range(len(DIVERSITY)), [f"{l}, {c}" for l, c in DIVERSITY], fontsize=7)  # noqa: E741  # the notion's name
    axes.set_xlabel("l, c")
    axes.set_ylabel("% right")
    axes.set_ylim(0, 100)
    axes.legend(fontsize=6, frameon=False, ncols=2)
    write(figure, path)


def main() -> None:
    """Run the study as the command line says."""
    ask = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.sharkey_2008", description=__doc__
    )
    ask.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    ask.add_argument("--out", type=Path, default=Path("docs/studies"))
    extent = ask.add_mutually_exclusive_group()
    extent.add_argument("--quick", action="store_true", help="one fold, few sources; minutes")
    extent.add_argument("--paper", action="store_true", help="all the paper ran; many hours")
    given = ask.parse_args()
    size = QUICK if given.quick else PAPER if given.paper else DEFAULT
    begun = time.monotonic()
    found, sizes = study(given.data, size, DIVERSE_SETS[:1] if given.quick else DIVERSE_SETS)
    given.out.mkdir(parents=True, exist_ok=True)
    if DRAWN in found.private:
        draw(given.out / "sharkey-2008.svg", found)
    option = " --quick" if given.quick else " --paper" if given.paper else ""
    command = f"python -m benchmarks.studies.sharkey_2008 --data FOLDER{option}"
    minutes = (time.monotonic() - begun) / 60
    text = document(found, size, sizes, missing(given.data), command, minutes)
    (given.out / "sharkey-2008.md").write_text(text, encoding="utf-8")
    print(given.out / "sharkey-2008.md")


if __name__ == "__main__":
    main()
