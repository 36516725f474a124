"""Times what is said of who knows some columns only: Adult with 14 columns, trees of more and more leaves.

    python -m benchmarks.partial --data FOLDER --out docs/engineering/benchmarks-partial.md

The trees are grown, and written with the table, by a process of its own. Each row is another process, which reads both
and asks about one adversary: the estimate and what is certain. Seconds are of that part alone; memory is the most that
the whole process has held, Python and its packages included, and how much of that the asking added.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.machine import machine
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.partial.target_inference import TargetInference, infer_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.files.load import read_tree
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.table import Table

TARGET = "income"
LEAVES = (20, 500, 2000)
DEMOGRAPHY = ("age", "sex", "race", "marital-status")
HIDDEN = ("capital-gain", "capital-loss")


def columns_of(table: Table) -> list[str]:
    """Return the columns that trees are grown on."""
    return [name for name in table.columns if name not in (TARGET, "fnlwgt")]


def measured(folder: Path, leaves: int, who: str, split: str) -> str:
    """Return a row of the table: what one adversary took."""
    tree, table = read_tree(folder / f"{leaves}.pmml"), read_table(folder / "table.csv")
    population, names = build_population(tree, table, sensitive=TARGET), columns_of(table)
    known = DEMOGRAPHY if who == "demography" else [each for each in names if each not in HIDDEN]
    before, began = _most_held(), time.monotonic()
    seen = infer_target(
        TreeContext(tree, population, Knowledge(split=SplitLevel(split))), known, clock(20.0)
    )
    seconds, most = time.monotonic() - began, _most_held()
    assert isinstance(seen, TargetInference)
    told = "not told"
    if not isinstance(seen.posterior, Undetermined):
        sure = seen.posterior.values.max(axis=1)
        told = f"{float(sure @ seen.population.counts / population.records):.3f}"
    assert not isinstance(seen.worlds, Undetermined)
    certain = seen.population.counts[seen.worlds.certain].sum() / population.records
    return (
        f"| {leaves:,} | {who} | {split} | {len(seen.population.counts):,} | {certain:.3f} | {told} | "
        f"{seconds:.1f} s | {most:.0f} MB | {most - before:.0f} MB |"
    )


def _most_held() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def page(data: Path) -> Iterator[str]:
    """Yield the page, line by line."""
    yield "# Time and memory of what adversaries are told who know some columns"
    yield ""
    yield f"Written by `make bench-partial DATA=FOLDER` (see `benchmarks/partial.py`). Machine: {machine()}."
    yield ""
    yield from ABOUT.splitlines()
    yield ""
    yield HEAD
    yield "|" + "---|" * (HEAD.count("|") - 1)
    with tempfile.TemporaryDirectory() as held:
        _ran("benchmarks.partial_trees", "--data", str(data), "--out", held)
        for split in ("none", "gini"):
            for leaves in LEAVES:
                for who in ("demography", "all but capital"):
                    row = [str(leaves), who, split]
                    yield _ran("benchmarks.partial", "--data", held, "--row", *row).strip()


def _ran(*words: str) -> str:
    command = [sys.executable, "-m", *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


ABOUT = """\
Adult without missing values: 30,162 records, 14 columns, income as the target; scikit-learn grows the trees.
*demography* knows age, sex, race and marital status, *all but capital* every column but the gain and the loss of
capital. *Splits* says whether the choice of splits counts. Each row is a process of its own that reads the model and
the table and then asks; *Time* is of asking alone, *Memory* the most that the whole process has held (Python and its
packages are about 150 MB of it), *Added* what asking added to that."""
HEAD = "| Leaves | Knows | Splits | Profiles | Certain | Mean of the surest guess | Time | Memory | Added |"


def main() -> None:
    """Write the page, or print it."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.partial", description=__doc__)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--out", type=Path)
    ask.add_argument("--row", nargs=3, metavar=("LEAVES", "WHO", "SPLIT"))
    asked = ask.parse_args()
    if asked.row:
        print(measured(asked.data, int(asked.row[0]), *asked.row[1:]))
        return
    lines = []
    for line in page(asked.data):
        print(line, flush=True)
        lines.append(line)
    if asked.out:
        asked.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
