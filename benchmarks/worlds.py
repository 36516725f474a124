"""Measures the reasoning over whole records: what is proved and what is left open, in which time and memory.

    python -m benchmarks.worlds --data FOLDER [--out docs/engineering/benchmarks-worlds.md] [--budget SECONDS]
        [--only TEXT]

Every case runs in a process of its own, one after the other.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.adult import adult, multiway
from benchmarks.machine import machine
from benchmarks.tables import number, table
from benchmarks.worlds_tables import grown
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.proofs import cpsat
from treewarden.audit.consistent_tables.result import Tiers
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.reading import Undetermined
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.formats.own.treewarden_json import FORMAT

LIMIT_SECONDS = 300.0
Figures = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One case: a tree with its class counts known, by its data, criterion and size; ``whole`` runs the whole command.

    ``size`` is min_records for the trees of "multiway", scikit-learn's settings for those of heart, german and adult.
    """

    name: str
    source: str
    criterion: str
    size: dict[str, int]
    whole: bool = False
    data: str = ""
    budget: float = 20.0


def _binary(source: str, criterion: str, said: str, size: dict[str, int]) -> Task:
    return Task(f"{source} {said} {criterion}", source, criterion, size)


CRITERIA = ("gini", "entropy")
PROVED = tuple(
    _binary(source, criterion, said, size)
    for source, said, size in (
        ("heart", "depth 5", {"max_depth": 5}),
        ("german", "depth 4", {"max_depth": 4}),
        ("german", "leaves of 10", {"min_samples_leaf": 10}),
    )
    for criterion in CRITERIA
)
MULTIWAY = tuple(
    Task(f"Adult {criterion} {size}", "multiway", criterion, {"min_records": size})
    for criterion in CRITERIA
    for size in (30, 100, 1000)
)
WHOLE = tuple(
    Task(
        f"{source} {criterion}, {leaves} leaves",
        source,
        criterion,
        {"max_leaf_nodes": leaves},
        True,
    )
    for source, leaves in (("heart", 30), ("german", 60), ("adult", 60))
    for criterion in CRITERIA
)
STUDY_PROVED = {
    "heart depth 5 gini": (173, "49", "about 6"),
    "heart depth 5 entropy": (98, "33", "about 6"),
    "german depth 4 gini": (976, "9", "seconds"),
    "german depth 4 entropy": (971, "6", "seconds"),
    "german leaves of 10 gini": (659, "80 to 88", "–"),
    "german leaves of 10 entropy": (658, "74", "–"),
}
"""An earlier prototype: profiles that leaf counts alone leave free, those of them forced, seconds."""
STUDY_OPEN = {
    "Adult gini 30": (0, "5.4"),
    "Adult gini 100": (9, "47"),
    "Adult gini 1000": (5, "47"),
    "Adult entropy 30": (0, "2.8"),
    "Adult entropy 100": (0, "5.2"),
    "Adult entropy 1000": (0, "31"),
}
"""An earlier prototype, helped by the true table: cells left open, seconds of draws, swaps and solver."""


def measure(task: Task) -> Figures:
    """Run a task in a process of its own, stopped at the time limit; return what it found."""
    command = [sys.executable, "-m", "benchmarks.worlds", "--task", json.dumps(asdict(task))]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    running = subprocess.Popen(command, env=environment, start_new_session=True, **pipes)
    try:
        said, complaint = running.communicate(timeout=LIMIT_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        found: Figures = {"status": "out of time"}
    else:
        last = complaint.strip().splitlines()[-1:] or [f"exit {running.returncode}"]
        ended = running.returncode == 0
        found = json.loads(said.splitlines()[-1]) if ended else {"status": f"failed: {last[0]}"}
    print(f"{task.name}: {found}", file=sys.stderr, flush=True)
    return found


def reasoned(task: Task) -> Figures:
    """Reason over a tree here and now; return the figures."""
    folder = Path(task.data)
    if task.source == "multiway":
        tree, people = multiway(adult(folder), task.criterion, task.size["min_records"])
    else:
        tree, rows = grown(task.source, folder, criterion=task.criterion, **task.size)
        people = build_population(tree, rows, sensitive="class")
    knowledge = Knowledge(leaf="counts", split=task.criterion)
    began = time.process_time()
    system = build_system(Case(tree, people, members(tree, people.leaf), knowledge))
    ready = time.process_time()
    cpsat.solver_module()  # loads OR-Tools, which the study's times leave out too
    loaded = time.process_time()
    worlds = reason(system, budget_seconds=task.budget)
    done = time.process_time()
    few = reason(system, budget_seconds=task.budget, tiers=Tiers(posterior=False))
    decided = time.process_time() - done
    by_leaves = reason(system, budget_seconds=0).certain
    posterior = worlds.enumeration.posterior
    is_stuck, is_stuck_then = (
        (told.low < told.high) & (told.reached_low == told.reached_high) for told in (worlds, few)
    )
    return {
        "status": "ok",
        "nodes": len(tree.nodes),
        "leaves": len(tree.leaves),
        "profiles": len(people.counts),
        "candidates": sum(len(family.admissible) for family in system.families),
        "free": int((~by_leaves).sum()),
        "forced": int((worlds.certain & ~by_leaves).sum()),
        "open_profiles": int(worlds.open_profiles.sum()),
        "open_values": int(worlds.open_exclusions.sum()),
        "open_cells": int(is_stuck.sum()),
        "draws": None if isinstance(posterior, Undetermined) else posterior.draws,
        "row_seconds": ready - began,
        "decided_seconds": None if is_stuck_then.any() else decided,
        "seconds": done - loaded,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def audited(task: Task) -> Figures:
    """Run the whole command on a tree and its table; return the figures."""
    tree, rows = grown(task.source, Path(task.data), criterion=task.criterion, **task.size)
    profiles = len(build_population(tree, rows, sensitive="class").counts)
    with tempfile.TemporaryDirectory() as place:
        model, data = Path(place, "tree.json"), Path(place, "table.csv")
        model.write_bytes(FORMAT.write(tree))
        with data.open("w", newline="") as file:
            out = csv.writer(file)
            out.writerow(rows.columns)
            out.writerows(zip(*(part.cells() for part in rows.columns.values()), strict=True))
        command = [sys.executable, "-m", "treewarden", "audit", str(model), "--data", str(data)]
        command += ["--sensitive", "class", "--leaf", "counts", "--quiet", "--format", "json"]
        command += ["--worlds-budget", str(task.budget)]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = used.ru_utime + used.ru_stime
    if ran.returncode not in (0, 1, 3):
        return {"status": f"failed: {ran.stderr.strip()[-200:]}"}
    return {
        "status": {0: "pass", 1: "fail", 3: "undetermined"}[ran.returncode],
        "leaves": len(tree.leaves),
        "profiles": profiles,
        "seconds": seconds,
        "peak_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024,
    }


class Bench:
    """Runs tasks whose names contain a text."""

    def __init__(self, data: Path, budget: float, only: str) -> None:
        self.given = {"data": str(data), "budget": budget}
        self.only = only

    def run(self, tasks: tuple[Task, ...]) -> list[tuple[Task, Figures]]:
        """Return each task with what it found."""
        return [
            (task, measure(Task(**{**asdict(task), **self.given})))
            for task in tasks
            if self.only in task.name
        ]


def proved(bench: Bench) -> str:
    """Return the table of binary trees: profiles forced by leaf counts and split choices together."""
    rows = []
    for task, one in bench.run(PROVED):
        free, forced, seconds = STUDY_PROVED[task.name]
        rows.append(
            (
                task.name,
                *_cells(one, "nodes", "candidates", "free", "forced", "open_profiles"),
                *_resources(one),
                free,
                forced,
                seconds,
            )
        )
    head = ("Tree", "nodes", "candidates", "free", "forced", "open profiles")
    head += ("rows s", "decided s", "s", "MB")
    return table((*head, "study's free", "study's forced", "study's s"), rows)


def opened(bench: Bench) -> str:
    """Return the table of multiway trees on all of Adult: cells neither proved nor moved by a witness."""
    rows = []
    for task, one in bench.run(MULTIWAY):
        left, seconds = STUDY_OPEN[task.name]
        rows.append(
            (
                task.name,
                *_cells(one, "leaves", "candidates", "free", "forced", "open_profiles"),
                *_cells(one, "open_values", "open_cells"),
                *_resources(one),
                left,
                seconds,
            )
        )
    head = ("Tree", "leaves", "candidates", "free", "forced", "open profiles", "open values")
    times = ("open cells", "rows s", "decided s", "s", "MB", "study's open", "study's s")
    return table((*head, *times), rows)


def commands(bench: Bench) -> str:
    """Return the table of ordinary trees: the whole command."""
    rows = [
        (
            task.name,
            *_cells(one, "leaves", "profiles", "status"),
            number(one.get("seconds"), 1),
            number(one.get("peak_mb"), 0),
        )
        for task, one in bench.run(WHOLE)
    ]
    return table(("Tree", "leaves", "profiles", "verdict", "s", "MB"), rows)


def _cells(one: Figures, *names: str) -> list[Any]:
    if "seconds" not in one:
        return [one["status"], *["–"] * (len(names) - 1)]
    return [one[name] for name in names]


def _resources(one: Figures) -> tuple[str, ...]:
    names = ("row_seconds", "decided_seconds", "seconds")
    seconds = (number(one.get(name), 1) for name in names)
    return (*seconds, number(one.get("peak_mb"), 0))


def document(bench: Bench) -> str:
    """Measure everything and return the report as Markdown."""
    return f"""# Time, memory and proofs of exact worlds

Written by `make bench-worlds DATA=FOLDER` (see `benchmarks/worlds.py`). Machine: {machine()}.

Each case runs in a process of its own, one after the other. The adversary knows the leaves' class counts and the
criterion of the splits. "free" are the profiles whose class leaf counts alone leave open, "forced" those of them whose
class is proved, "open" what is neither proved nor refuted by a witness within {bench.given["budget"]:g} s of wall time.
"rows s" is the time to find and check the candidate splits. "decided s" is that until every cell is proved or seen to
change, as the study counts it: draws (100, as witnesses; fewer would leave more to the solver), swaps and solver, and
no posterior (– where some cell is open). "s" is that of all the reasoning of an audit, posterior included. All are
seconds of processor time, which other work on the machine disturbs less than wall time; Python's packages are loaded
before. "MB" is the peak resident memory, packages included. "study" is the prototype that the engine started from, on
another machine of two cores.

## Binary trees: who is forced

scikit-learn trees of two classes, one profile per record or nearly so.

{proved(bench)}

## Multiway trees on all of Adult: what stays open

30,162 records, 4,480 profiles of 8 quasi-identifiers, 16 classes; nodes below so many records are not split. An open
profile may be forced; an open value may be excluded; an open cell was never seen to change, and is not proved fixed.

{opened(bench)}

## The whole command on ordinary trees

`treewarden audit` as a user runs it, from start to exit, with maximum entropy and worlds; two classes. "MB" is the
largest process of it.

{commands(bench)}
"""


def main() -> None:
    """Measure as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.worlds", description=__doc__)
    ask.add_argument("--data", type=Path, default=Path("../shared/data"))
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/benchmarks-worlds.md"))
    ask.add_argument("--budget", type=float, default=20, help="seconds of reasoning per case")
    ask.add_argument("--only", default="", help="only the cases whose names contain this")
    ask.add_argument("--task", help=argparse.SUPPRESS)
    given = ask.parse_args()
    if given.task:
        task = Task(**json.loads(given.task))
        print(json.dumps(audited(task) if task.whole else reasoned(task)))
        return
    said = document(Bench(given.data, given.budget, given.only))
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(said, encoding="utf-8")
    print(given.out)


if __name__ == "__main__":
    main()
