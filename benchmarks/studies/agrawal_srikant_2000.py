"""Repeats Agrawal & Srikant, Privacy-Preserving Data Mining (SIGMOD 2000): trees from noisy records, and what is left.

    python -m benchmarks.studies.agrawal_srikant_2000 [--out docs/engineering/studies] [--runs 1] [--quick]

Writes agrawal-srikant-2000.md and its figures. All draws have fixed seeds, so that the same figures come again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from benchmarks.machine import machine
from benchmarks.studies.agrawal_srikant_findings import Study
from benchmarks.studies.agrawal_srikant_runs import (
    ALGORITHMS,
    FUNCTIONS,
    LEVELS,
    NOISES,
    SHAPES,
    Cell,
    accuracies,
    attacked,
    original,
    privacy,
    reconstruction,
)
from benchmarks.studies.agrawal_srikant_text import document
from benchmarks.studies.zhu_du_figures import COLOURS, write

TRAIN, TEST = 100_000, 5_000
QUICK_TRAIN = 20_000
QUICK_LEVELS = (1.00,)
KINDS = ("uniform", "gaussian", "discretize")
CORRELATIONS = (0.0, 0.5, 0.9, 0.99)


def study(runs: int, quick: bool) -> Study:
    """Do every run; ``runs`` of each cell, whose mean is taken."""
    train, levels = (QUICK_TRAIN, QUICK_LEVELS) if quick else (TRAIN, LEVELS)
    seeds = range(1, runs + 1)
    originals = {
        function: float(np.mean([original(function, train, TEST, seed) for seed in seeds]))
        for function in FUNCTIONS
    }
    cells: dict[Cell, dict[str, float]] = {}
    for function in FUNCTIONS:
        for noise in NOISES:
            for level in levels:
                cell = Cell(function, noise, level)
                found = [accuracies(cell, train, TEST, seed) for seed in seeds]
                cells[cell] = {
                    each: float(np.mean([one[each] for one in found])) for each in ALGORITHMS
                }
        print(f"function {function}: done", file=sys.stderr)
    recovered = tuple(
        reconstruction(shape, noise, level, 5_000 if quick else 50_000, 1)
        for shape in SHAPES
        for noise in NOISES
        for level in ((1.0,) if quick else (0.25, 0.5, 1.0))
    )
    lefts = {
        (kind, level): privacy(kind, level) for kind in KINDS for level in (0.25, 0.5, 1.0, 2.0)
    }
    attacks = {rho: attacked(rho, 1.0, 20_000, 1) for rho in CORRELATIONS}
    return Study(train, TEST, runs, originals, cells, recovered, lefts, attacks)


def draw(folder: Path, found: Study) -> None:
    """Write the figures: accuracy by function (the paper's Fig. 5) and by level (Fig. 6)."""
    for noise in NOISES:
        for level in (0.25, 1.00):
            if Cell(1, noise, level) in found.cells:
                _by_function(folder, found, noise, level)
        _by_level(folder, found, noise)


def _by_function(folder: Path, found: Study, noise: str, level: float) -> None:
    figure = Figure(figsize=(6, 2.8), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(FUNCTIONS, [found.originals[each] for each in FUNCTIONS], "k--", label="Original")
    for number, name in enumerate(ALGORITHMS):
        values = [found.cells[Cell(each, noise, level)][name] for each in FUNCTIONS]
        axes.plot(FUNCTIONS, values, marker="o", ms=4, label=name, color=COLOURS[number])
    axes.set_xticks(FUNCTIONS, [f"F{each}" for each in FUNCTIONS])
    axes.set_ylabel("accuracy, %")
    axes.legend(fontsize=7, frameon=False, ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1))
    write(figure, folder / f"agrawal-srikant-2000-{noise}-{round(100 * level)}.svg")


def _by_level(folder: Path, found: Study, noise: str) -> None:
    levels = sorted({cell.level for cell in found.cells})
    figure = Figure(figsize=(6, 2.8), layout="constrained")
    axes = figure.add_subplot()
    shades = (*COLOURS, "#64b5cd")
    for number, function in enumerate(FUNCTIONS):
        for name, dashes in (("ByClass", "-"), ("Randomized", ":")):
            values = [found.cells[Cell(function, noise, level)][name] for level in levels]
            label = f"F{function}" if name == "ByClass" else None
            x = [100 * level for level in levels]
            axes.plot(x, values, ls=dashes, marker=".", color=shades[number], label=label)
    axes.set_xlabel("level, % (solid: ByClass, dotted: Randomized)")
    axes.set_ylabel("accuracy, %")
    axes.legend(fontsize=7, frameon=False, ncols=5, loc="lower center", bbox_to_anchor=(0.5, 1))
    write(figure, folder / f"agrawal-srikant-2000-{noise}-levels.svg")


def main() -> None:
    """Run the study as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.studies.agrawal_srikant_2000")
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/studies"))
    ask.add_argument("--runs", type=int, default=1, help="runs of each cell, whose mean is taken")
    ask.add_argument("--quick", action="store_true", help="20,000 records and one level only")
    given = ask.parse_args()
    found = study(given.runs, given.quick)
    given.out.mkdir(parents=True, exist_ok=True)
    draw(given.out, found)
    command = "python -m benchmarks.studies.agrawal_srikant_2000"
    command += f" --runs {given.runs}" + (" --quick" if given.quick else "")
    text = document(found, command, machine())
    (given.out / "agrawal-srikant-2000.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
