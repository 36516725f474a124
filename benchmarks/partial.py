"""Times what is said of who knows some columns only: Adult with 14 columns, trees of more and more leaves.

    python -m benchmarks.partial --data FOLDER

Each row is a process of its own: the estimate and what is certain of one adversary, the tree and the people read
before. Seconds are of that part alone, memory is the most that the whole process has held, growing the tree with it.
What the choice of splits costs is told in rows of their own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from audit.adversary.knowledge import Knowledge, SplitLevel
from audit.partial.seen import Seen, seen_by
from audit.people.population import build_population
from audit.reading import Undetermined
from audit.worlds.clock import clock
from benchmarks.machine import machine
from ppdm_models.codecs.sklearn.fitted import from_sklearn
from ppdm_models.records.read_table import read_table, table_of
from ppdm_models.records.table import Table

TARGET = "income"
LEAVES = (20, 500, 2000)
DEMOGRAPHY = ("age", "sex", "race", "marital-status")
HIDDEN = ("capital-gain", "capital-loss")


def adult_in_numbers(folder: Path) -> Table:
    """Return Adult's records without missing values, categories as numbers in the order of their names."""
    raw = read_table(folder / "adult_train.csv")
    cells = {name: raw.columns[name].cells() for name in raw.columns}
    whole = [row for row in range(raw.rows) if all(column[row] != "?" for column in cells.values())]
    columns: dict[str, list[object]] = {}
    for name, column in cells.items():
        kept = [column[row] for row in whole]
        if name == TARGET or raw.columns[name].is_numeric():
            columns[name] = kept
            continue
        codes = {value: place for place, value in enumerate(sorted(set(map(str, kept))))}
        columns[name] = [codes[str(value)] for value in kept]
    return table_of(columns)


def measured(folder: Path, leaves: int, who: str, split: str) -> str:
    """Return a row of the table: what one adversary took."""
    table = adult_in_numbers(folder)
    names = [name for name in table.columns if name not in (TARGET, "fnlwgt")]
    x = np.stack([table.numbers(name).numbers for name in names], axis=1)
    y = np.array(table.columns[TARGET].cells(), dtype=str)
    fitted = DecisionTreeClassifier(max_leaf_nodes=leaves, random_state=0).fit(x, y)
    tree = from_sklearn(fitted, names, fitted.classes_, target=TARGET)
    population = build_population(tree, table, sensitive=TARGET)
    known = DEMOGRAPHY if who == "demography" else [each for each in names if each not in HIDDEN]
    began = time.monotonic()
    seen = seen_by(tree, population, Knowledge(split=SplitLevel(split)), known, clock(20.0))
    seconds = time.monotonic() - began
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    assert isinstance(seen, Seen)
    told = "not told"
    if not isinstance(seen.posterior, Undetermined):
        sure = seen.posterior.values.max(axis=1)
        told = f"{float(sure @ seen.population.counts / population.records):.3f}"
    assert not isinstance(seen.worlds, Undetermined)
    certain = seen.population.counts[seen.worlds.certain].sum() / population.records
    return (
        f"| {leaves:,} | {who} | {split} | {len(seen.population.counts):,} | {certain:.3f} | {told} | "
        f"{seconds:.1f} s | {most:.0f} MB |"
    )


def main() -> None:
    """Print the table."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.partial", description=__doc__)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--row", nargs=3, metavar=("LEAVES", "WHO", "SPLIT"))
    asked = ask.parse_args()
    if asked.row:
        print(measured(asked.data, int(asked.row[0]), *asked.row[1:]))
        return
    print(machine())
    print()
    print(
        "| Leaves | Knows | Splits | Profiles | Certain | Mean of the surest guess | Time | Memory |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for split in ("none", "gini"):
        for leaves in LEAVES:
            for who in ("demography", "all but capital"):
                words = [sys.executable, "-m", "benchmarks.partial", "--data", str(asked.data)]
                words += ["--row", str(leaves), who, split]
                done = subprocess.run(words, check=True, capture_output=True, text=True)
                print(done.stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
