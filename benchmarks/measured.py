"""Measures one solve in a process of its own: wall time, peak memory, how good the answer is, and whom it exposes.

    python -m benchmarks.measured '{"data": "folder", "criterion": "gini", "min_records": 1000}'

The line printed is JSON; see `Task` for what can be asked.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adult import NUMBERS, QUASI_IDENTIFIERS, adult, binary, multiway
from benchmarks.maxent import opti
from benchmarks.maxent.stages import Stages
from tests.judges.estimate import direct
from tests.judges.estimate.product import answer
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.target import members
from treewarden.audit.system.system import build_system
from treewarden.audit.workers.pool import default_jobs, start_ahead

REPORTED = {
    "status": "status",
    "reason": "reason",
    "entropy": "entropy",
    "entropy_bound": "entropy_bound",
    "entropy_relaxed": "entropy_relaxed",
    "bound_argument": "bound_argument",
    "max_violation": "run.max_violation",
    "kkt_error": "run.kkt_error",
    "iterations": "run.iterations",
    "rows_active": "rows_active",
    "blocks": "blocks.total",
    "blocks_stalled": "blocks.stalled",
}
"""The figures of an estimate, and where its report has them."""


@dataclass(frozen=True)
class Task:
    """One solve: a tree on Adult (multiway, or a scikit-learn tree with ``leaves``), the adversary, and the method.

    ``split`` "own" is the tree's criterion. ``method`` is product, direct (the unreduced Pyomo model) or opti (the
    unreduced problem in CasADi's Opti). ``save`` names a file for each profile's divergence.
    """

    data: str
    criterion: str = "gini"
    min_records: float = 1000
    leaf: str = "rates"
    split: str = "own"
    method: str = "product"
    records: int = 0
    classes: int = 16
    leaves: int = 0
    names: tuple[str, ...] = QUASI_IDENTIFIERS
    save: str = ""
    stages: bool = False
    limit_seconds: float = 600


def measure(task: Task) -> dict[str, Any]:
    """Run a task in a process of its own, stopped at its time limit; return what it found."""
    command = [sys.executable, "-m", "benchmarks.measured", json.dumps(asdict(task))]
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    running = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        said, complaint = running.communicate(timeout=task.limit_seconds)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.communicate()
        return {**asdict(task), "status": "out of time", "seconds": task.limit_seconds}
    if running.returncode:
        last = complaint.strip().splitlines()[-1:] or [f"exit {running.returncode}"]
        return {**asdict(task), "status": f"failed: {last[0][:200]}", "seconds": float("nan")}
    return {**asdict(task), **json.loads(said.splitlines()[-1])}


def solved(task: Task) -> dict[str, Any]:
    """Do a task here and now; return its figures."""
    if task.method == "product" and not task.stages:
        start_ahead(default_jobs())  # as an audit does; they get ready while the table is read
    table = adult(Path(task.data), records=task.records, classes=task.classes)
    if task.leaves:
        tree, people = binary(table, task.criterion, task.leaves, task.names)
    else:
        tree, people = multiway(table, task.criterion, task.min_records, task.names)
    split = task.criterion if task.split == "own" else task.split
    knowledge = Knowledge(leaf=task.leaf, split=split)
    system = build_system(Case(tree, people, members(tree, people.leaf), knowledge))
    before, began = _peak_mb(), time.perf_counter()
    stages = Stages()
    if task.method == "opti":
        posterior, figures = opti.solve(system)
    else:
        with stages if task.stages else nullcontext():
            if task.method == "direct":
                posterior, report = direct.solve(system)
            else:
                posterior, report = answer(system, jobs=1 if task.stages else None)
        figures = {name: attrgetter(path)(report) for name, path in REPORTED.items()}
    seconds = time.perf_counter() - began
    own = divergences(posterior.values, people.truth)
    if task.save:
        np.save(task.save, own)
    return {
        **figures,
        "seconds": seconds,
        "stages": stages.seconds,
        "base_mb": before,
        "peak_mb": _peak_mb(),
        "workers_mb": _workers_mb(),
        "profiles": len(people.counts),
        "leaves_found": len(tree.leaves),
        "candidates": sum(len(family.admissible) for family in system.families),
        "divergence": float(own @ people.counts / people.counts.sum()),
    }


def divergences(values: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return sum_c P(c|q) ln(P(c|q) / P*(c|q)) of each profile, in nats (Zhu & Du 2010, section 5)."""
    share = truth / truth.sum(axis=1, keepdims=True)
    ratio = np.divide(share, values, out=np.ones_like(share), where=share > 0)
    return np.asarray((share * np.log(ratio)).sum(axis=1))


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _workers_mb() -> float:
    """Return what this process's children had at their peaks beside the pages they share with others (Linux)."""
    total = 0.0
    for listed in Path("/proc/self/task").glob("*/children"):
        for pid in listed.read_text().split():
            now = _kilobytes(Path(f"/proc/{pid}/smaps_rollup"))
            shared = now["Shared_Clean"] + now["Shared_Dirty"]
            total += (_kilobytes(Path(f"/proc/{pid}/status"))["VmHWM"] - shared) / 1024
    return total


def _kilobytes(path: Path) -> dict[str, float]:
    """Return the entries of a file of the process table that are given in kB."""
    lines = (line.split() for line in path.read_text().splitlines())
    return {words[0].rstrip(":"): float(words[1]) for words in lines if words[2:] == ["kB"]}


def everything() -> tuple[str, ...]:
    """Return all quasi-identifiers, numeric ones included: then nearly every record is a profile of its own."""
    return (*QUASI_IDENTIFIERS, *NUMBERS)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    asked["names"] = tuple(asked.get("names", QUASI_IDENTIFIERS))
    print(json.dumps(solved(Task(**asked))))
