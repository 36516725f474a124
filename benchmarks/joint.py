"""Measures what rows over people prove, on made-up ensembles whose true table is known: time, memory, cells settled.

    python -m benchmarks.joint [--budget SECONDS] [--only TEXT]

People are points, and a tree splits its largest leaf again and again at some value of some column; labels follow two
columns, with noise. That is no learner: leaves are as many and as large as a learner's, and much less pure.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import Counter
from dataclasses import asdict, dataclass

import numpy as np
from scipy import sparse

from benchmarks.machine import machine
from benchmarks.tables import number, table
from treewarden.audit.engine.counts import by_leaves, counts_of, propagate
from treewarden.audit.engine.driver import reason
from treewarden.audit.engine.newton_steps import estimate
from treewarden.audit.engine.problem import Estimate, Problem
from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.progress import clock


@dataclass(frozen=True)
class Task:
    """So many people and trees of so many leaves; ``slack`` is how far a row's ends may be from the truth."""

    name: str
    people: int
    trees: int
    leaves: int = 31
    classes: int = 2
    slack: int = 0


TASKS = (
    Task("300 people", 300, 10, 8),
    Task("1,000 people", 1000, 100),
    Task("1,000 people, intervals", 1000, 100, slack=3),
    Task("1,000 people, 3 classes", 1000, 30, classes=3),
    Task("30,162 people", 30_162, 100),
)


def made_up(task: Task, seed: int = 0) -> tuple[Problem, np.ndarray]:
    """Return the rows of a made-up ensemble and its true table, (C, m)."""
    draw = np.random.default_rng(seed)
    points = draw.normal(size=(task.people, 8))
    score = 2.0 * points[:, 0] + points[:, 1] * points[:, 2] + draw.normal(size=task.people)
    ends = np.quantile(score, np.linspace(0, 1, task.classes + 1)[1:-1])
    labels = np.searchsorted(ends, score)
    leaves = np.stack([_leaves(points, task.leaves, draw) for _ in range(task.trees)], axis=1)
    leaves = np.hstack([np.zeros((task.people, 1), dtype=np.int64), leaves])
    cells, of = np.unique(leaves, axis=0, return_inverse=True)
    truth = np.zeros((len(cells), task.classes), dtype=np.int64)
    np.add.at(truth, (of.reshape(-1), labels), 1)
    return _rows(cells, truth, task, draw), truth


def _leaves(points: np.ndarray, count: int, draw: np.random.Generator) -> np.ndarray:
    """Return the leaf of each point: the largest is split in two, at some value not too near its ends."""
    leaf = np.zeros(len(points), dtype=np.int64)
    for new in range(1, count):
        inside = np.flatnonzero(leaf == np.bincount(leaf).argmax())
        values = points[inside, draw.integers(points.shape[1])]
        leaf[inside[values > np.quantile(values, draw.uniform(0.1, 0.9))]] = new
    return leaf


def _rows(cells: np.ndarray, truth: np.ndarray, task: Task, draw: np.random.Generator) -> Problem:
    said = [1] if task.classes == 2 else list(range(task.classes))
    before = np.concatenate([[0], np.cumsum(cells.max(axis=0) + 1)])
    count = int(before[-1])
    at = (cells + before[:-1]).reshape(-1)
    owner = np.repeat(np.arange(len(cells)), cells.shape[1])
    once = sparse.csr_array((np.ones(len(at), dtype=np.int64), (at, owner)), (count, len(cells)))
    matrix = sparse.csr_array(sparse.vstack([once] * len(said)))
    total = (once @ truth[:, said]).T.reshape(-1)
    sizes = truth.sum(axis=1)
    below, above = draw.integers(0, task.slack + 1, (2, len(total)))
    trees = np.repeat(np.arange(cells.shape[1]) - 1, np.diff(before))
    nodes = np.concatenate([np.arange(n) for n in np.diff(before)])
    return Problem(
        matrix,
        np.maximum(total - below, 0),
        np.minimum(total + above, matrix @ sizes),
        np.repeat(said, count),
        np.tile(trees, len(said)),
        np.tile(nodes, len(said)),
        sizes,
        task.classes,
    )


def run(task: Task, budget: float) -> dict[str, object]:
    """Return the figures of one task."""
    rows, truth = made_up(task)
    began = time.perf_counter()
    counts = counts_of(rows)
    boxes = propagate(counts, by_leaves(counts))
    propagated = time.perf_counter()
    estimated = estimate(counts, boxes, clock(budget))
    done = time.perf_counter()
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    found = reason(rows, truth=truth, budget=TimeBudget(clock(budget)))
    assert ((found.low <= truth) & (truth <= found.high)).all()
    is_open = (found.low < found.high) & (found.reached_low == found.reached_high)
    guess = estimated.estimate
    return {
        "rows": len(rows.low),
        "cells": len(rows.sizes),
        "entries": rows.matrix.nnz,
        "propagation": propagated - began,
        "estimate": done - propagated,
        "memory": megabytes,
        "residual": guess.residual if isinstance(guess, Estimate) else None,
        "gap": guess.gap if isinstance(guess, Estimate) else None,
        "how": Counter(str(how) for how in found.how),
        "pure": int((truth == rows.sizes[:, None]).any(axis=1).sum()),
        "undecided": int(is_open.any(axis=1).sum()),
        "whole": found.seconds,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--budget", type=float, default=60.0)
    parser.add_argument("--only", default="")
    parser.add_argument("--task", default="")
    options = parser.parse_args()
    if options.task:
        print(json.dumps(run(Task(**json.loads(options.task)), options.budget)))
        return
    lines = []
    for task in TASKS:
        if options.only in task.name:
            command = [sys.executable, "-m", "benchmarks.joint", "--budget", str(options.budget)]
            command += ["--task", json.dumps(asdict(task))]
            said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            lines.append(_line(task, json.loads(said)))
    head = "ensemble|rows|cells|propagation s|estimate, certificate s|MB|residual|gap nats"
    head += "|one class|leaf|propagation|certificate|solver|not decided|all s"
    print(machine(), "", table(head.split("|"), lines), sep="\n")


def _line(task: Task, found: dict) -> list[str]:
    how = [
        str(found["how"].get(name, 0)) for name in ("leaf", "propagation", "certificate", "solver")
    ]
    return [
        task.name,
        f"{found['rows']:,}",
        f"{found['cells']:,}",
        number(found["propagation"], 2),
        number(found["estimate"], 2),
        number(found["memory"], 0),
        "–" if found["residual"] is None else f"{found['residual']:.0e}",
        "–" if found["gap"] is None else f"{found['gap']:.0e}",
        f"{found['pure']:,}",
        *how,
        f"{found['undecided']:,}",
        number(found["whole"], 1),
    ]


if __name__ == "__main__":
    main()
