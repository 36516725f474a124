"""Measures the remedies on large trees, as ratios to reading the same tree's file in the same run.

    python -m benchmarks.remedies [--out docs/engineering/benchmarks-remedies.md] [--nodes N] [--quick]

Trees are made up (seed 0): every third level has a numeric split in four, the others split in two, three classes.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.machine import machine
from benchmarks.tables import number, table
from treewarden.audit.population.population import Population
from treewarden.policies.pack import read_pack
from treewarden.policies.remedies import remedies
from treewarden.policies.remedies._pruning import prospect
from treewarden.ppdm_models.formats.own.treewarden_json import FORMAT
from treewarden.ppdm_models.pruning.prune import prune, prune_optimally
from treewarden.ppdm_models.tree.predicate import Always, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree

SIZES = (1_000, 10_000, 100_000)
MOST_REPEATS = 3
ENOUGH_SECONDS = 3.0
CLASSES = ("a", "b", "c")
PACK = """
name = "bench"
version = "1"
title = "bench"
[[clause]]
id = "k"
measure = "k_anonymity"
rule = "at_least"
limit = 12
[[clause]]
id = "diverse"
measure = "cl_diversity"
rule = "below"
limit = 10
[[clause]]
id = "sure"
measure = "confidence"
rule = "at_most"
limit = 0.8
"""


def made_up(nodes: int) -> Tree:
    """Return a tree of at most so many nodes that publishes every class count."""
    draw = np.random.default_rng(0)
    made = [Node(0, "n0", None, test=Always())]
    level = [0]
    while True:
        depth = len(level)
        width = 4 if sum(1 for _ in _up(made, level[0])) % 3 == 0 else 2
        if len(made) + depth * width > nodes:
            break
        level = [child for index in level for child in _split(made, index, width)]
    counts = np.zeros((len(made), len(CLASSES)))
    for node in reversed(made):
        if node.is_leaf:
            counts[node.index] = draw.integers(0, 9, len(CLASSES))
        if node.parent is not None:
            counts[node.parent] += counts[node.index]
    published = tuple(
        replace(
            node,
            score=CLASSES[int(row.argmax())],
            records=float(row.sum()),
            class_counts=tuple(row.tolist()),
        )
        for node, row in zip(made, counts, strict=True)
    )
    depth = Tree(published, (), "y", CLASSES).depth
    return Tree(published, tuple(Feature(f"f{i}", True) for i in range(depth)), "y", CLASSES)


def _up(made: list[Node], index: int) -> list[int]:
    path = []
    parent = made[index].parent
    while parent is not None:
        path.append(parent)
        parent = made[parent].parent
    return path


def _split(made: list[Node], index: int, width: int) -> list[int]:
    ends = [-np.inf, *map(float, range(1, width)), np.inf]
    name = f"f{len(_up(made, index))}"
    below = list(range(len(made), len(made) + width))
    for place, child in enumerate(below):
        low, high = ends[place], ends[place + 1]
        test = NumericTest(name, low, high, high_closed=bool(np.isfinite(high)))
        made.append(Node(child, f"n{child}", index, test=test))
    made[index] = replace(made[index], children=tuple(below))
    return below


def people_of(tree: Tree) -> Population:
    """Return one profile per leaf that holds records."""
    held = [leaf for leaf in tree.leaves if leaf.records]
    truth = np.array([leaf.class_counts for leaf in held])
    return Population((), {}, truth.sum(axis=1), np.array([x.index for x in held]), truth)


def seconds(work: Callable[[], object]) -> float:
    """Return the shortest time of a few."""
    times: list[float] = []
    while len(times) < MOST_REPEATS and sum(times) < ENOUGH_SECONDS:
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def measured(nodes: int) -> list[object]:
    """Return one row: the tree's size, the seconds to read it, and every remedy as a multiple of that."""
    tree = made_up(nodes)
    people, pack, data = people_of(tree), read_pack(PACK.encode(), "bench"), FORMAT.write(tree)
    found = prospect(tree, people, pack, {})
    assert not isinstance(found, str)
    assert found.right is not None
    right = found.right
    known = remedies()
    reading = seconds(lambda: FORMAT.open(data, "bench"))
    works: list[Callable[[], object]] = [
        lambda: prospect(tree, people, pack, {}),
        lambda: prune(found.prunable),
        lambda: prune_optimally(found.prunable, *right),
        lambda: list(known["prune_optimal"].propose(tree, people, pack)),
        lambda: list(known["redact"].propose(tree, people, pack)),
    ]
    ratios = [number(seconds(work) / reading, 2) for work in works]
    return [f"{len(tree.nodes):,}", number(reading, 3), *ratios]


def main() -> None:
    """Measure as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.remedies", description=__doc__)
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/benchmarks-remedies.md"))
    ask.add_argument("--quick", action="store_true", help="the smallest tree only")
    given = ask.parse_args()
    rows = [measured(nodes) for nodes in (SIZES[:1] if given.quick else SIZES)]
    head = ["nodes", "reading (s)", "what every merge would hold", "APT", "optimal"]
    said = table([*head, "prune_optimal, all of it", "redact, all of it"], rows)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(TEXT.format(table=said, machine=machine()), encoding="utf-8")
    print(given.out)


TEXT = """# How long remedies take

Made by `python -m benchmarks.remedies`; one process, shortest of a few. Machine: {machine}. All but the
second column are multiples of the time that reading the same tree's JSON takes in the same run. No audit is run: these
are the proposals.

{table}

"What every merge would hold" is shared by both prunings: records, classes, labels and the clauses of every leaf that
merging could make. *prune_optimal* runs it, APT and two optimal prunings; *redact* judges every leaf by its own
numbers.
"""


if __name__ == "__main__":
    main()
