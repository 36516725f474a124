"""Audits of trees that were grown with survey weights of two decimals beside the same without weights, and their plans.

    python -m benchmarks.weights [--rows 20000,200000] [--out docs/engineering/benchmarks-weights.md]

Each table is a register that is drawn: six columns, a class, and weights from a gamma distribution. Every command runs
in a process of its own; seconds are those of the processor, so that other work beside it counts for little.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier

from benchmarks.machine import machine
from benchmarks.planning import spent
from treewarden.ppdm_models.formats.pmml._write import written
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn

WIDTHS = {"age": 100, "sex": 2, "edu": 17, "region": 96, "household": 8, "sector": 22}


@dataclass(frozen=True)
class Measured:
    """One audit: its seconds and MB as planned and as they were."""

    planned: float
    seconds: float
    planned_mb: float
    megabytes: float


@dataclass(frozen=True)
class Pair:
    """A table's two audits."""

    rows: int
    plain: Measured
    weighed: Measured

    @property
    def ratio(self) -> float:
        """How many times as long the weights took."""
        return self.weighed.seconds / self.plain.seconds


def drawn_register(rows: int) -> pd.DataFrame:
    """Return a table of so many people, each with a weight of two decimals and a class."""
    draw = np.random.default_rng(1)
    table = pd.DataFrame({name: draw.integers(0, width, rows) for name, width in WIDTHS.items()})
    score = -2 + 0.03 * table.age - 0.0002 * table.age**2 + 0.1 * table.edu - 0.2 * table.household
    score += 0.3 * (table.sector % 5 == 0) + 0.2 * table.sex + 0.2 * np.sin(table.region)
    is_poor = draw.random(rows) < 1 / (1 + np.exp(-score))
    weights = np.round(draw.gamma(4, 2.5, rows), 2)
    return table.assign(w=weights, poor=np.where(is_poor, "yes", "no"))


def measured_pair(rows: int, folder: Path) -> Pair:
    """Return what both audits of a table of so many rows take."""
    table = drawn_register(rows)
    names = list(WIDTHS)
    settings = {"max_leaf_nodes": 300, "min_samples_leaf": max(20, rows // 4000), "random_state": 0}
    measured = []
    for name, weight in (("plain", None), ("weighed", table.w)):
        fitted = DecisionTreeClassifier(**settings).fit(table[names], table.poor, weight)
        tree = from_sklearn(fitted, names, fitted.classes_, target="poor")
        (folder / f"{name}.pmml").write_bytes(written(tree))
        own = table if weight is not None else table.drop(columns="w")
        own.to_parquet(folder / f"{name}.parquet")
        words = ["audit", f"{name}.pmml", "--data", f"{name}.parquet", "--sensitive", "poor"]
        words += ["--worlds-budget", "5", "--no-levels", "--jobs", "1"]
        words += [] if weight is None else ["--sampling-weights", "w"]
        measured.append(_measured(words, folder))
    return Pair(rows, *measured)


def _measured(words: Sequence[str], folder: Path) -> Measured:
    _, _, plan = spent([*words, "--plan"], folder)
    planned, memory = (
        float(re.search(f"^  {name} +([0-9.,]+) ", plan.decode(), re.M)[1].replace(",", ""))
        for name in ("in all", "memory")
    )
    seconds, megabytes, _ = spent(words, folder)
    return Measured(planned, seconds, memory, megabytes)


def lines(pairs: Sequence[Pair]) -> Iterator[str]:
    """Yield the page of the figures."""
    yield "# Survey weights of two decimals"
    yield ""
    yield f"`python -m benchmarks.weights`: processor seconds of a whole command, {machine()}."
    yield ""
    yield "| Rows | plain s | weighted s | ratio | plain planned s | weighted planned s | planned MB | had MB |"
    yield "|---:|---:|---:|---:|---:|---:|---:|---:|"
    for pair in pairs:
        plain, weighed = pair.plain, pair.weighed
        took = f"{plain.seconds:.1f} | {weighed.seconds:.1f} | {pair.ratio:.2f}"
        planned = f"{plain.planned:.1f} | {weighed.planned:.1f}"
        memory = f"{weighed.planned_mb:,.0f} | {weighed.megabytes:,.0f}"
        yield f"| {pair.rows:,} | {took} | {planned} | {memory} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rows", default="20000,200000")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        for rows in map(int, given.rows.split(",")):
            pairs.append(measured_pair(rows, Path(folder)))
            print(pairs[-1], file=sys.stderr)
    text = "\n".join(lines(pairs)) + "\n"
    if given.out:
        given.out.write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
