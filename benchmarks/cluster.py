"""A Dask cluster of two workers on this machine: what it costs, and what dying workers cost.

    python -m benchmarks.cluster [--blocks 200] [--rounds 10] [--every 5] [--models 400] [--records 500]

First blocks of random cases, each solved so many times, while a worker is killed every few seconds: every answer must
have the bytes that this process finds. Then a gate over many models on the cluster, against half the time that it takes
in one process.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from functools import partial
from itertools import count, islice
from pathlib import Path

from benchmarks.gate import gate, write_models
from benchmarks.machine import machine
from tests.judges.estimate.cases import sample
from tests.kit.clusters import DaskHere, dask_here
from treewarden.audit.entropy.problem import blocks
from treewarden.audit.entropy.search import BEGINNING, EntropySearch
from treewarden.audit.options import AuditOptions
from treewarden.audit.solver.block_solver import solve_task
from treewarden.audit.solver.task import SolverAnswer, SolverTask
from treewarden.audit.system.system import build_system
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.audit.workers.pool import Pool
from treewarden.audit.workers.processes import each_done

WORKERS = 2
GOAL_RATIO = 1.15


class _Noting(EntropySearch):
    """Keeps the tasks that a search asks for."""

    seen: tuple[SolverTask, ...] = ()

    def ask(self, tasks):
        new = tuple(tasks)
        self.seen += new
        return [solve_task(task) for task in new]


def tasks() -> Iterator[SolverTask]:
    """Yield the blocks of random cases."""
    for seed in count():
        search = _Noting(build_system(sample(seed).case), AuditOptions(jobs=1))
        found = blocks(search.system, tuple(search.knowledge), ())
        if found:
            search.solve(found, BEGINNING)
            yield from search.seen


def killing(here: DaskHere, every: float, is_over: threading.Event, killed: list[int]) -> None:
    """Kill one of the workers every so many seconds."""
    draw = random.Random(0)
    while not is_over.wait(every):
        running = here.workers()
        if running:
            killed.append(draw.choice(running))
            os.kill(killed[-1], signal.SIGKILL)


def same_bytes(number: int, rounds: int, every: float) -> Iterator[str]:
    """Solve blocks over workers that die, and yield what came of it."""
    asked = list(islice(tasks(), number))
    wanted = [_bytes(solve_task(task)) for task in asked]
    jobs = [partial(solve_task, task) for _ in range(rounds) for task in asked]
    killed: list[int] = []
    is_over, pool = threading.Event(), Pool()
    with dask_here(WORKERS) as here, on_cluster(here.address, print, is_required=True, pool=pool):
        thread = threading.Thread(target=killing, args=(here, every, is_over, killed))
        thread.start()
        began = time.perf_counter()
        found = dict(each_done(jobs, WORKERS, lambda: math.inf, pool))
        seconds = time.perf_counter() - began
        is_over.set()
        thread.join()
    lost = sum(each is None for each in found.values())
    other = sum(
        isinstance(each, SolverAnswer) and _bytes(each) != wanted[place % number]
        for place, each in found.items()
    )
    yield (
        f"{len(found)} of {len(jobs)} answers ({number} blocks, {rounds} times) in {seconds:.0f} s, "
        f"{len(killed)} workers killed, one every {every:g} s: {lost} lost, {other} of other bytes"
    )


def _bytes(answer: SolverAnswer) -> tuple[bytes, str]:
    return answer.z.tobytes(), answer.outcome.value


def gates(models: int, records: int) -> Iterator[str]:
    """Run a gate in one process and on the cluster, and yield how they compare."""
    with tempfile.TemporaryDirectory() as name, dask_here(WORKERS) as here:
        folder = Path(name)
        write_models(folder, models, records)
        there = gate(folder, "--no-cache", "--cluster", here.address, "--cluster-required")
        alone = gate(folder, "--no-cache", "--jobs", "1")
        local = gate(folder, "--no-cache", "--jobs", str(WORKERS))
    yield f"gate over {models} models of {records} records: {alone:.1f} s in one process"
    for what, seconds in ((f"{WORKERS} processes here", local), ("the cluster", there)):
        ratio = seconds / (alone / WORKERS)
        yield f"  {what}: {seconds:.1f} s, {ratio:.2f} x its share (goal {GOAL_RATIO:g})"


def main() -> None:
    """Measure what the command line asks for."""
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--blocks", type=int, default=200)
    ask.add_argument("--rounds", type=int, default=10)
    ask.add_argument("--every", type=float, default=5.0, help="seconds between two kills")
    ask.add_argument("--models", type=int, default=400)
    ask.add_argument("--records", type=int, default=500)
    given = ask.parse_args()
    print(f"{machine()}; load {os.getloadavg()[0]:.1f}", flush=True)
    for line in same_bytes(given.blocks, given.rounds, given.every) if given.blocks else ():
        print(line, flush=True)
    for line in gates(given.models, given.records) if given.models else ():
        print(line, flush=True)
    print(f"load {os.getloadavg()[0]:.1f}", file=sys.stderr)


if __name__ == "__main__":
    main()
