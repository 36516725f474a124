"""Times what all trees of large models prove together: each part, the whole command, and the memory that they take.

    python -m benchmarks.ensembles --data FOLDER [--only TEXT] [--out FILE]

The libraries grow the models on the public tables. Each part is a process of its own: reading the model and the table,
which is told apart, sums, rows and the cheap proofs; these with the estimate and its certificates; and the whole of
``treewarden audit``, with its exact search (20 s), measures and report.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import machine
from benchmarks.studies.ensembles_data import LABEL, data_of
from benchmarks.studies.ensembles_models import LEARNERS
from benchmarks.tables import table
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.joint.cells import cells_of
from treewarden.audit.joint.ensemble_inference import join_trees, sums_of
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats import Rewritable
from treewarden.ppdm_models.tables.read_table import read_table


@dataclass(frozen=True)
class Task:
    """A model to grow; ``seconds`` and ``memory`` (GB) are what is asked for of sums, proofs and estimate."""

    name: str
    data: str
    learner: str
    rounds: int
    seconds: float
    memory: float
    settings: dict[str, Any] = field(default_factory=dict)


TASKS = (
    Task("heart, XGBoost, 20 trees of depth 3", "heart", "XGBoost", 20, 30, 1, {"max_depth": 3}),
    Task("german, LightGBM, 100 trees", "german", "LightGBM", 100, 3, 1),
    Task("adult, LightGBM, 100 trees", "adult", "LightGBM", 100, 30, 1),
    Task("adult, XGBoost, 100 trees of depth 6", "adult", "XGBoost", 100, 30, 1),
    Task("adult, XGBoost, 300 trees of depth 6", "adult", "XGBoost", 300, 90, 1.5),
    Task("adult, LightGBM, 1,000 trees", "adult", "LightGBM", 1000, 300, 2),
)
PARTS = ("sums", "proofs")
HEAD = (
    "model",
    "reading",
    "+ sums, rows",
    "+ proofs, estimate",
    "asked",
    "GB",
    "asked",
    "whole command",
    "GB",
    "certain",
    "estimate's gap",
)


def main() -> None:
    """Run what the command line says; ``--part`` is for the processes that this one starts."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.ensembles", description=__doc__)
    ask.add_argument("--data", type=Path)
    ask.add_argument("--only", default="", help="part of the name of what is to be run")
    ask.add_argument("--out", type=Path)
    ask.add_argument("--part", choices=PARTS)
    ask.add_argument("--files", type=Path, nargs=2)
    given = ask.parse_args()
    if given.part:
        print(json.dumps(part(given.part, *given.files)))
        return
    rows = []
    for task in TASKS:
        if given.only in task.name:
            rows.append(list(row(task, given.data)))
            print(" | ".join(rows[-1]), flush=True)
    said = TEXT.format(table=table(HEAD, rows), machine=machine())
    if given.out:
        given.out.write_text(said, "utf-8")
    else:
        print(said)


def row(task: Task, folder: Path) -> Iterator[str]:
    """Yield the cells of a task's row."""
    data = data_of(task.data, folder)
    file = LEARNERS[task.learner](data, task.rounds, **task.settings)
    with tempfile.TemporaryDirectory() as made:
        model, people = Path(made) / file.model.source, Path(made) / "people.csv"
        assert isinstance(file.opened, Rewritable)
        model.write_bytes(file.opened.rewrite(file.model))
        data.table.to_csv(people, index=False)
        sums, proofs = (_part(name, model, people) for name in PARTS)
        seconds, memory = _whole(model, people)
    yield task.name
    yield f"{sums['reading']:.1f} s"
    yield f"{sums['working']:.1f} s"
    yield f"{proofs['working']:.1f} s"
    yield f"{task.seconds:g} s"
    yield f"{proofs['memory']:.2f}"
    yield f"{task.memory:g}"
    yield f"{seconds:.1f} s"
    yield f"{memory:.2f}"
    yield proofs["certain"]
    yield proofs["gap"]


def part(name: str, model: Path, people: Path) -> dict[str, object]:
    """Return how long reading and one part took, and what came of it."""
    began = time.perf_counter()
    file, read = open_model(model.read_bytes(), model.name), read_table(people)
    population = build_population(file.model, read, sensitive=LABEL)
    read_by = time.perf_counter()
    forest = forest_of(file.model, population)
    certain = gap = "–"
    if name == "sums":
        found = sums_of(forest, population)
        cells_of(forest.stops, population.counts)
        assert not isinstance(found, Undetermined), found.reason
    else:
        joined = join_trees(forest, population, TimeBudget(clock(240.0), 0.0))
        assert not isinstance(joined, Undetermined), joined.reason
        sure = (joined.bounds.low == joined.cells.sizes[:, None]).any(axis=1)
        certain = f"{100 * joined.cells.sizes[sure].sum() / population.records:.1f} %"
        guess = joined.bounds.estimate
        gap = "undetermined" if isinstance(guess, Undetermined) else f"{guess.gap:.1g} nats"
        certain += " (of a part of the trees)" if joined.problem.incomplete else ""
    return {
        "reading": read_by - began,
        "working": time.perf_counter() - read_by,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "certain": certain,
        "gap": gap,
    }


def _part(name: str, model: Path, people: Path) -> dict[str, Any]:
    words = ["-m", "benchmarks.ensembles", "--part", name, "--files", str(model), str(people)]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _whole(model: Path, people: Path) -> tuple[float, float]:
    """Return seconds and GB of the whole command."""
    words = ["-m", "treewarden", "audit", str(model), "--data", str(people), "--sensitive", LABEL]
    words += ["--format", f"html={model.with_suffix('.html')}", "--quiet"]
    began = time.perf_counter()
    child = subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL)
    used = _waited(child)
    return time.perf_counter() - began, used / 1e6


def _waited(child: subprocess.Popen[bytes]) -> int:
    """Wait for a process, and return the most memory that it took, in kB."""
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return used.ru_maxrss


TEXT = """# How long large ensembles take

Made by `python -m benchmarks.ensembles --data FOLDER --out docs/engineering/benchmarks-ensembles.md`
(`make bench-ensembles DATA=FOLDER`). Machine: {machine}.

Models that XGBoost and LightGBM grow with their own settings on the public tables (Adult: 30,162 people, 14
columns. LightGBM: 31 leaves). Each part is a process of its own. *Reading* is the model and the table. *Sums, rows*
turns all leaves back into sums of labels. *Proofs, estimate* is all of it but the exact search: rows over cells,
propagation, Newton's method, certificates. *Asked* is what was asked for before it was built. *Whole command* is
`treewarden audit` with the pack `standard`, its exact search of 20 s, what the first trees tell, and an HTML
report.

{table}

*Certain* are people whose label is proved without the search. The *gap* is how far the estimate's entropy may be
below the most that is possible, summed over all people. Where trees times profiles are more than fit into memory,
the first trees are joined, and what they leave open is UNDETERMINED.
"""


if __name__ == "__main__":
    main()
