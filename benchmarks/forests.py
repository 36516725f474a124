"""Times whole audits of forests of up to 5,000 trees, from the file to the report, stage by stage.

    python -m benchmarks.forests --data FOLDER [--trees 60 300 ...] [--jobs N] [--keep FOLDER] [--out FILE]

scikit-learn and LightGBM grow the forests on UCI Adult (30,162 people, 14 columns), as files that are audited by
``treewarden audit`` in a process of its own. What it says on stderr tells how long each stage took. Growing may take
longer than the audits: forests that were kept are taken again.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.studies.ensembles_data import LABEL, Data, data_of
from benchmarks.tables import table
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tree.ensemble import trees_of

SIZES = (60, 300, 1000, 5000)
DONE = re.compile(r"^(?P<stage>.+): done in (?P<seconds>[\d.]+) s$")
VERDICTS = {0: "PASS", 1: "FAIL", 3: "UNDETERMINED"}
HEAD = ("forest", "trees", "nodes", "file", "whole command", "processor", "GB", "verdict")
STAGES = ("forest", "trees", "stages of a second and more")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of forest: what it is called, and what grows so many trees of it into a file of this suffix."""

    name: str
    suffix: str
    grow: Callable[[Data, int, Path], object]


def random_forest(data: Data, trees: int, path: Path) -> None:
    """Grow a random forest of depth 8 with at least 5 records in a leaf, as a skops file."""
    ensemble = importlib.import_module("sklearn.ensemble")
    dump = importlib.import_module("skops.io").dump
    settings = {"max_depth": 8, "min_samples_leaf": 5, "random_state": 0, "n_jobs": -1}
    grown = ensemble.RandomForestClassifier(trees, **settings).fit(data.columns, data.labels)
    dump(grown, path)


def boosted(data: Data, trees: int, path: Path) -> None:
    """Grow a boosted model of depth 6 by LightGBM, as its text file."""
    library = importlib.import_module("lightgbm")
    settings = {"objective": "binary", "num_leaves": 63, "max_depth": 6, "learning_rate": 0.02}
    settings |= {"verbose": -1, "deterministic": True, "seed": 0}
    grown = library.train(settings, library.Dataset(data.columns, data.labels), trees)
    grown.save_model(str(path))


KINDS = (
    Kind("random forest, depth 8 (scikit-learn)", ".skops", random_forest),
    Kind("boosted, depth 6 (LightGBM)", ".txt", boosted),
)


def main() -> None:
    """Run what the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.forests", description=__doc__)
    ask.add_argument("--data", type=Path, required=True)
    ask.add_argument("--trees", type=int, nargs="+", default=SIZES)
    ask.add_argument("--only", default="", help="part of the name of the kind of forest")
    ask.add_argument("--jobs", type=int, help="processes of an audit; else one on each processor")
    ask.add_argument("--keep", type=Path, help="where forests are kept, and taken from")
    ask.add_argument("--out", type=Path)
    given = ask.parse_args()
    rows: list[list[str]] = []
    stages: list[list[str]] = []
    with tempfile.TemporaryDirectory() as made:
        folder = given.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        data = data_of("adult", given.data)
        data.table.to_csv(folder / "people.csv", index=False)
        for kind in KINDS:
            for trees in given.trees if given.only in kind.name else ():
                model = folder / f"forest-{trees}{kind.suffix}"
                if not model.exists():
                    kind.grow(data, trees, model)
                found = audited(model, folder / "people.csv", given.jobs)
                rows.append(list(row(kind, trees, model, found)))
                stages.append([kind.name, f"{trees:,}", found.stages])
                print(" | ".join([*rows[-1], found.stages]), flush=True)
    said = TEXT.format(table=table(HEAD, rows), stages=table(STAGES, stages), machine=machine())
    if given.out:
        given.out.write_text(said, "utf-8")
    else:
        print(said)


@dataclass(frozen=True, slots=True)
class Audited:
    """One run of the command: its time, that of the processor, its memory (GB), how it ended, and its long stages."""

    seconds: float
    processor_seconds: float
    memory: float
    code: int
    stages: str


def row(kind: Kind, trees: int, model: Path, found: Audited) -> Iterator[str]:
    """Yield the cells of one forest's row."""
    nodes = sum(len(tree.nodes) for tree in trees_of(read_model(model)))
    yield kind.name
    yield f"{trees:,}"
    yield f"{nodes:,}"
    yield f"{model.stat().st_size / 1e6:,.1f} MB"
    yield f"{found.seconds:.0f} s"
    yield f"{found.processor_seconds:.0f} s"
    yield f"{found.memory:.2f}"
    yield VERDICTS.get(found.code, f"exit code {found.code}")


def audited(model: Path, people: Path, jobs: int | None) -> Audited:
    """Audit a file in a process of its own, with an HTML report."""
    words = ["-m", "treewarden", "audit", str(model), "--data", str(people), "--sensitive", LABEL]
    words += ["--format", f"html={model.with_suffix('.html')}"]
    words += [] if jobs is None else ["--jobs", str(jobs)]
    with tempfile.TemporaryFile("w+") as said:
        began = time.perf_counter()
        child = subprocess.Popen(
            [sys.executable, *words], stdout=subprocess.DEVNULL, stderr=said, text=True
        )
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - began
        child.returncode = os.waitstatus_to_exitcode(status)
        said.seek(0)
        done = [found for line in said if (found := DONE.match(line.rstrip()))]
    return Audited(
        seconds,
        used.ru_utime + used.ru_stime,
        used.ru_maxrss / 1e6,
        child.returncode,
        ", ".join(f"{each['stage']} {float(each['seconds']):.0f} s" for each in done),
    )


TEXT = """# How long large forests take

Made by `python -m benchmarks.forests --data FOLDER --out docs/engineering/benchmarks-forests.md` (`make bench-forests
DATA=FOLDER`). Machine: {machine}.

scikit-learn grows random forests of depth 8 with at least 5 records in a leaf, LightGBM boosted models of depth 6, on
UCI Adult: 30,162 people, 14 columns, nearly every profile of its own. Measured is all of `treewarden audit` with the
pack `standard` and an HTML report, in a process of its own: by the clock, by the processors, and the most memory that
it took. Other work shared the processors, so the clock says more than an idle machine would need.

{table}

Where these times go:

{stages}

The time that reasoning takes does not grow with the forest: the leaves of the first trees are joined, as far as memory
goes (here those of 398), what the others could add is UNDETERMINED, and the estimate, the search and the
picture of the first trees have limits of their own. What is read of single leaves is read of every leaf of all trees.
"""


if __name__ == "__main__":
    main()
