"""Repeats the experiments of Zhu & Du 2010, "Understanding Privacy Risk of Publishing Decision Trees", on Adult.

    python -m benchmarks.studies.zhu_du_2010 --data FOLDER [--out docs/engineering/studies] [--quick]

Writes zhu-du-2010.md and its figures. Each solve runs in a process of its own, one after the other.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adult import CRITERIA, MIN_RECORDS, adult, multiway
from benchmarks.machine import machine
from benchmarks.measured import Task, measure
from benchmarks.studies.zhu_du_figures import bars, curves
from benchmarks.studies.zhu_du_text import document

PAPER_LEAVES = {"gini": 518, "entropy": 2983}
LEVELS = {
    "all": ("rates", "own"),
    "no splits": ("rates", "none"),
    "no rates": ("labels", "own"),
    "neither": ("labels", "none"),
}
"""The paper's four cases, in its order: all included, no implicit, no error rate, and neither."""
KS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 4480)


@dataclass(frozen=True)
class Run:
    """One tree under the four levels: figures by level, and each profile's divergence by level, shape (P,)."""

    criterion: str
    min_records: int
    is_paper_size: bool
    figures: dict[str, dict[str, Any]]
    divergence: dict[str, np.ndarray]

    @property
    def leaves(self) -> int:
        """How many leaves the tree has."""
        return int(self.figures["neither"]["leaves_found"])

    @property
    def name(self) -> str:
        """The tree in a few words."""
        return f"{self.criterion} {self.min_records}"

    @property
    def gains(self) -> np.ndarray:
        """What the split rows take off each profile's divergence, largest first."""
        return np.sort(self.divergence["no splits"] - self.divergence["all"])[::-1]


def run(data: Path, criterion: str, min_records: int, is_paper_size: bool) -> Run:
    """Solve one tree under the four levels."""
    figures, divergence = {}, {}
    with tempfile.TemporaryDirectory(prefix="treewarden-") as folder:
        for level, (leaf, split) in LEVELS.items():
            place = Path(folder) / f"{level}.npy"
            figures[level] = measure(
                Task(str(data), criterion, min_records, leaf, split, save=str(place))
            )
            if not place.exists():
                sys.exit(f"{criterion} {min_records}, {level}: {figures[level]['status']}")
            divergence[level] = np.load(place)
            print(
                f"{criterion} {min_records}, {level}: {figures[level]['status']}, "
                f"D {figures[level]['divergence']:.4f}, {figures[level]['seconds']:.1f} s",
                file=sys.stderr,
            )
    return Run(criterion, min_records, is_paper_size, figures, divergence)


def size_of(data: Path, criterion: str, leaves: int) -> int:
    """Return the smallest node size that is split whose tree has the number of leaves nearest to this."""
    low, high = 2, 1000
    counts: dict[int, int] = {}
    while low < high:
        middle = (low + high) // 2
        counts[middle] = len(multiway(adult(data), criterion, middle)[0].leaves)
        low, high = (middle + 1, high) if counts[middle] > leaves else (low, middle)
    return min(counts, key=lambda size: (abs(counts[size] - leaves), size))


def draw(folder: Path, runs: list[Run]) -> None:
    """Write the figures."""
    for criterion in CRITERIA:
        own = [one for one in runs if one.criterion == criterion]
        bars(
            folder / f"zhu-du-2010-divergence-{criterion}.svg",
            [f"{one.min_records}\n({one.leaves} leaves)" for one in own],
            {
                "labels": [one.figures["neither"]["divergence"] for one in own],
                "rates": [one.figures["no splits"]["divergence"] for one in own],
                "rates and split rows": [one.figures["all"]["divergence"] for one in own],
            },
            "D_overall (nats)",
        )
    profiles = len(runs[0].gains)
    ks = np.array([k for k in KS if k <= profiles])
    curves(
        folder / "zhu-du-2010-top-k.svg",
        {
            one.name: (ks, np.array([one.gains[:k].mean() for k in ks]))
            for one in runs
            if one.is_paper_size or not any(r.is_paper_size for r in runs)
        },
        "mean of the K largest\ndifferences (nats)",
    )


def main() -> None:
    """Run the study as the command line says."""
    ask = argparse.ArgumentParser(
        prog="python -m benchmarks.studies.zhu_du_2010", description=__doc__
    )
    ask.add_argument("--data", type=Path, required=True, help="folder with adult_train.csv")
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/studies"))
    ask.add_argument("--quick", action="store_true", help="two small trees per measure only")
    given = ask.parse_args()
    runs = []
    for criterion in CRITERIA:
        sizes = dict.fromkeys(MIN_RECORDS[:2] if given.quick else MIN_RECORDS, False)
        if not given.quick:
            sizes[size_of(given.data, criterion, PAPER_LEAVES[criterion])] = True
        for size in sorted(sizes, reverse=True):
            runs.append(run(given.data, criterion, size, sizes[size]))
    given.out.mkdir(parents=True, exist_ok=True)
    draw(given.out, runs)
    said = document(runs, "make studies DATA=FOLDER", machine(), KS)
    (given.out / "zhu-du-2010.md").write_text(said, encoding="utf-8")
    print(given.out / "zhu-du-2010.md")


if __name__ == "__main__":
    main()
