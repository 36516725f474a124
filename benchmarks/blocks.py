"""Blocks of the study's trees that are not convex: IPOPT beside the barrier method, from the same starts.

    python -m benchmarks.blocks --data FOLDER [--trees gini:100 entropy:100] [--out FILE]

Each tree is audited with IPOPT alone. What IPOPT was asked of programs with more variables than `BARRIER_PROGRAM` is
asked of the barrier method afterwards. Seconds are those of a processor, with the loading of models.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.machine import machine
from benchmarks.report_cases import study
from benchmarks.tables import number, table
from treewarden.audit.ipopt.backend import Solution
from treewarden.audit.ipopt.backends import CASADI
from treewarden.audit.ipopt.program import BlockProgram
from treewarden.audit.solver.barrier_method import BarrierFirst
from treewarden.audit.solver.task import BARRIER_PROGRAM, RecordedProgram, is_optimal
from treewarden.cli import cli
from treewarden.ppdm_models.arrays import FloatArray

TREES = ("gini:100", "gini:2", "entropy:100", "entropy:2")
HEAD = ("tree", "calls", "IPOPT", "barrier method", "optima", "nats times records")


@dataclass(frozen=True)
class Call:
    """What IPOPT was asked once, what it said, and in how many seconds."""

    program: BlockProgram
    start: FloatArray
    eps: float
    held_count: int
    options: Mapping[str, float | str]
    solution: Solution
    seconds: float


class Recorder(RecordedProgram):
    """A program whose calls are kept."""

    calls: list[Call] = []

    def _solve_anew(
        self, z: FloatArray, eps: float, held_count: int, options: dict[str, float | str]
    ) -> Solution:
        begun = time.process_time()
        solution = super()._solve_anew(z, eps, held_count, options)
        seconds = time.process_time() - begun
        self.calls.append(Call(self.program, z, eps, held_count, options, solution, seconds))
        return solution


def calls_of(words: Sequence[str]) -> list[Call]:
    """Return what an audit asks IPOPT of large programs with split rows."""
    from treewarden.audit.solver import block_solver

    Recorder.calls.clear()
    plain, block_solver.RecordedProgram = block_solver.RecordedProgram, Recorder  # type: ignore[misc]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            cli(args=[*words, "--solver", CASADI, "--jobs", "1"], standalone_mode=False)
    except SystemExit:
        pass
    finally:
        block_solver.RecordedProgram = plain  # type: ignore[misc]
    return [
        call
        for call in Recorder.calls
        if call.program.size > BARRIER_PROGRAM and len(call.program.splits)
    ]


def unasked() -> RecordedProgram:
    raise RuntimeError("the barrier method ends at no optimum")


def compared(calls: Sequence[Call]) -> tuple[float, int, float]:
    """Return the seconds of the barrier method, how often it ends at an optimum, and how much entropy it gains.

    Only calls that IPOPT solved too are compared in their entropy.
    """
    begun, solved, gained = time.process_time(), 0, 0.0
    for call in calls:
        solver = BarrierFirst(call.program, unasked)
        try:
            held = call.held_count
            solution = solver.solve(call.start, call.eps, held_count=held, **call.options)
        except RuntimeError:
            continue
        solved += 1
        if is_optimal(call.program, call.solution, call.eps, held):
            objective = call.program.objective
            gained += objective(call.solution.z) - objective(solution.z)
    return time.process_time() - begun, solved, gained


def rows(data: Path, folder: Path, trees: Sequence[str]) -> Iterator[list[str]]:
    for name in trees:
        criterion, least = name.split(":")
        (case,) = study(data, folder, [(criterion, float(least))])
        words = [
            str(folder / word) if (folder / word).is_file() else word for word in case.arguments
        ]
        calls = calls_of([*words, "--split", criterion, "--quiet"])
        seconds, solved, gained = compared(calls)
        ipopt = float(np.sum([call.seconds for call in calls]))
        cells = [case.name, str(len(calls)), number(ipopt, 2), number(seconds, 2)]
        yield [*cells, str(solved), f"{gained:+.2f}"]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--trees", nargs="+", default=TREES)
    parser.add_argument("--out", type=Path)
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = list(rows(wanted.data, Path(folder), wanted.trees))
    text = f"{machine()}\n\n{table(HEAD, lines)}\n"
    print(text)
    if wanted.out:
        wanted.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
