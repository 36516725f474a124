"""Time and memory of membership proofs: boosted models over large registers, and large single trees.

    python -m benchmarks.membership --out docs/engineering/benchmarks-membership.md

Registers are drawn: eight columns of whole numbers, and classes that depend on them. Half of each is the training
table. Each row is a process of its own.
"""

from __future__ import annotations

import argparse
import importlib
import json
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.machine import machine
from treewarden.audit.membership.candidates import Candidates, MembershipInference
from treewarden.audit.membership.inference import infer_members
from treewarden.audit.membership.of_model import infer_boosted_members
from treewarden.audit.progress import Clock
from treewarden.audit.run_inputs import BOOSTED_BUDGETS
from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Ensemble, trees_of

BUDGET = 20.0
"""Seconds of processor time for proofs, which a busy machine gives too; an audit has as many of wall time.

Boosted models have ``BOOSTED_BUDGETS`` times as many, as in an audit.
"""
KINDS = ((17, 90), (0, 16), (0, 100), (0, 5000), (0, 7), (0, 15), (0, 2), (0, 42))


@dataclass(frozen=True)
class BenchCase:
    """A model: ``boosted`` with so many rounds, or a ``tree`` with so many leaves, and the people of its table."""

    kind: str
    people: int
    depth: int = 0
    rounds: int = 0
    leaf: int = 1


CASES = (
    BenchCase("tree", 15_000, leaf=10),
    BenchCase("tree", 150_000, leaf=22),
    BenchCase("boosted", 1_000, depth=6, rounds=100),
    BenchCase("boosted", 3_000, depth=6, rounds=100),
    BenchCase("boosted", 6_000, depth=6, rounds=100),
    BenchCase("boosted", 30_000, depth=6, rounds=100),
)


def drawn(people: int) -> tuple[FloatArray, IntArray, IntArray]:
    """Return values, classes and who is in the table, of a register of twice as many people."""
    draw, size = np.random.default_rng(0), 2 * people
    columns = [draw.integers(low, high, size).astype(float) for low, high in KINDS]
    columns[3] *= draw.random(size) < 0.1
    score = columns[0] / 70 + columns[1] / 16 + columns[2] / 200 + draw.normal(0, 0.6, size)
    inside = (draw.permutation(size) < people).astype(np.int64)
    return np.stack(columns, axis=1), (score > 1.4).astype(np.int64), inside


def measure(case: BenchCase, seconds: float) -> dict[str, float | str]:
    """Return what proofs of one case came to and cost: processor seconds, and the most memory of the process in MB."""
    values, classes, inside = drawn(case.people)
    columns = {f"f{n}": NumericColumn(column) for n, column in enumerate(values.T)}
    members = np.zeros((len(inside), 2), dtype=np.int64)
    members[np.arange(len(inside)), classes] = inside
    sizes = np.ones(len(inside), dtype=np.int64)
    candidates = Candidates(columns, sizes, classes.astype(np.intp), members, ("0", "1"))
    rows = np.flatnonzero(inside)
    if case.kind == "tree":
        learner = DecisionTreeClassifier(min_samples_leaf=case.leaf, random_state=0)
        tree = from_sklearn(learner.fit(values[rows], classes[rows]), feature_names=[*columns])
        leaves = int(learner.get_n_leaves())
        begun = time.process_time(), time.monotonic()
        stops = route(tree, columns)[None]
        found = infer_members(
            (tree,), stops, candidates, Clock(time.process_time() + seconds, time.process_time)
        )
    else:
        library = importlib.import_module("xgboost")
        data = library.DMatrix(values[rows], classes[rows])
        settings = {"objective": "binary:logistic", "eta": 0.3, "max_depth": case.depth}
        booster = library.train({**settings, "nthread": 1}, data, case.rounds)
        model = open_model(bytes(booster.save_raw("json")), "model.json").model
        assert isinstance(model, Ensemble)
        assert model.growth is not None
        trees = tuple(trees_of(model))
        leaves = sum(len(tree.leaves) for tree in trees)
        begun = time.process_time(), time.monotonic()
        stops = np.stack([route(tree, columns) for tree in trees])
        found = infer_boosted_members(
            model.growth,
            trees,
            stops,
            candidates,
            Clock(time.process_time() + BOOSTED_BUDGETS * seconds, time.process_time),
        )
    cost = time.process_time() - begun[0], time.monotonic() - begun[1]
    assert isinstance(found, MembershipInference), found
    assert (found.low <= inside).all()
    assert (inside <= found.high).all()
    return {
        "leaves": leaves,
        "in": float(found.proved_in.sum()),
        "out": float(found.proved_out.sum()),
        "cpu": cost[0],
        "wall": cost[1],
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def line_of(number: int, case: BenchCase, seconds: float) -> str:
    """Return the line of one case, measured in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.membership", "--case", str(number)]
    command += ["--seconds", str(seconds)]
    found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    model = (
        "one tree" if case.kind == "tree" else f"XGBoost, depth {case.depth}, {case.rounds} rounds"
    )
    return (
        f"| {model} | {found['leaves']:,} | {case.people:,} of {2 * case.people:,} | {found['in']:,.0f} | "
        f"{found['out']:,.0f} | {found['cpu']:.1f} s | {found['wall']:.1f} s | {found['memory']:,.0f} MB |"
    )


HEAD = """# Time and memory of membership proofs

Written by `make bench-membership` (see `benchmarks/membership.py`). Machine: {}.

Registers are drawn: eight columns of whole numbers, of which half are in the table. The budget is {:g} s of
processor time, and 3 times that for boosted models. *Processor* and *Wall* are of routing and proofs, *Memory* is the
most that the process held, with its learner (XGBoost or scikit-learn).

| Model | Leaves | In the table | Proved in | Proved out | Processor | Wall | Memory |
|---|---|---|---|---|---|---|---|
"""
TAIL = """
Boosted models are decided from small leaves up. A leaf over at most 36 open people, who can be chosen in 2^36 ways, is
filled in all ways that have its sums: those of one half of them are sorted, and looked up for each sum of the other
half. People who are decided so make other leaves small. Linear combinations of leaf sums come last, and for at most
4,000 people who are open at once, as they need a dense matrix of that size. People whom neither decides are not
decided.
"""


def main() -> None:
    """Measure all cases and write the page, or one case and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", type=int)
    parser.add_argument(
        "--out", type=Path, default=Path("docs/engineering/benchmarks-membership.md")
    )
    parser.add_argument("--seconds", type=float, default=BUDGET)
    given = parser.parse_args()
    if given.case is not None:
        print(json.dumps(measure(CASES[given.case], given.seconds)))
        return
    lines = []
    for number, case in enumerate(CASES):
        lines.append(line_of(number, case, given.seconds))
        print(lines[-1], flush=True)
    page = (
        HEAD.format(machine().replace("; ", ", "), given.seconds) + "\n".join(lines) + "\n" + TAIL
    )
    given.out.write_text(page, "utf-8")


if __name__ == "__main__":
    main()
