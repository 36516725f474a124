"""Checkpoints of solving: what solvers said of tasks is kept in a folder, so that a run can be taken up again.

What is kept of a task is what a solver said of it (``treewarden.audit.solver.task``), under a digest of all that it
depends on: the task's numbers, the way it is solved, and the versions of what solves it. No name and no value of a
table is among that; the numbers are as confidential as the report. Nothing in the folder is trusted: files are no
pickles, each holds the key that it is asked for by and a digest of itself, and what it says is re-checked like the word
of a solver.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cache, partial
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from scipy import sparse

from treewarden.audit.ipopt.backend import Solution, Status
from treewarden.audit.ipopt.backends import backend_of, doors
from treewarden.audit.progress import Share
from treewarden.audit.solver.block_solver import joined, solve_task
from treewarden.audit.solver.task import (
    SolutionReplay,
    SolverAnswer,
    SolverTask,
    TaskOutcome,
    no_answer,
)
from treewarden.audit.workers.pool import WORKERS, Pool
from treewarden.audit.workers.processes import Call
from treewarden.ppdm_models.errors import TreewardenError, os_reason
from treewarden.ppdm_models.files.private import own_bytes, own_folder, write_own

Result = TypeVar("Result")

SCHEMA = "treewarden-kept/1"
SUFFIX = ".kept"
MOST_BYTES = 2**30
WORTH_SECONDS = 0.02
"""A task that a solver was asked less long about is as soon solved as read."""
PACKAGES = ("treewarden", "numpy", "scipy", "pyomo", "qdldl")
BESIDE = ("tape", "deadline", "share")
"""What of a task does not change what a solver says of it."""
LOST = (TaskOutcome.OUT_OF_TIME, TaskOutcome.OUT_OF_MEMORY, TaskOutcome.LOST)
"""Answers that may be others next time."""


class Checkpoint:
    """A folder of what solvers said; ``notes`` are what was remarkable about its files.

    ``taken`` counts the tasks that were read, ``put`` those that were written.

    Raises:
        OutputError: the folder cannot be made, or others can write into it.
    """

    def __init__(self, folder: Path, worth_seconds: float = WORTH_SECONDS) -> None:
        self.folder, self.worth_seconds = folder, worth_seconds
        self.notes: dict[str, None] = {}
        self.taken = self.put = 0
        own_folder(folder)

    def with_replay(self, task: SolverTask) -> SolverTask:
        """Return a task with what a solver said of it before, and a place for what it says now."""
        path = self.folder / f"{key_of(task)}{SUFFIX}"
        data = own_bytes(path, MOST_BYTES)
        solutions = None if data is None else _read(data, path.stem)
        if solutions is None and os.path.lexists(path):
            self.notes[f"{path}: damaged, or not written by treewarden. It is not used"] = None
        return replace(task, tape=SolutionReplay(solutions or ()))

    def answered(self, task: SolverTask, answer: object) -> None:
        """Keep what a solver said of a task, unless it is known already or may be otherwise next time."""
        tape = answer.tape if isinstance(answer, SolverAnswer) else None
        if tape is None or not isinstance(answer, SolverAnswer):
            return
        if tape.is_refused:
            self.notes[f"{self.folder}: a stored result is not optimal, and was computed again"] = (
                None
            )
        if not tape.is_new:
            self.taken += bool(tape.said)
            return
        if answer.outcome in LOST or not tape.is_sure or tape.seconds < self.worth_seconds:
            return
        key = key_of(task)
        try:
            write_own(self.folder / f"{key}{SUFFIX}", _written(tape.heard, key), is_durable=True)
            self.put += 1
        except OSError as error:
            self.notes[
                f"{self.folder}: intermediate results cannot be stored ({os_reason(error)})"
            ] = None


KEPT: ContextVar[Checkpoint | None] = ContextVar("kept", default=None)
"""Where this run keeps what solvers say; nothing that is worked out depends on it."""


@contextlib.contextmanager
def keeping(
    folder: Path | None, worth_seconds: float = WORTH_SECONDS
) -> Iterator[Checkpoint | None]:
    """Keep what solvers say in a folder meanwhile, and take it from there; with None, nowhere.

    Raises:
        OutputError: the folder cannot be made, or others can write into it.
    """
    checkpoint = None if folder is None else Checkpoint(folder, worth_seconds)
    before = KEPT.set(checkpoint)
    try:
        yield checkpoint
    finally:
        KEPT.reset(before)


@dataclass(frozen=True, slots=True)
class Within(Generic[Result]):
    """A job that another process can do, which keeps what solvers say in a folder there too."""

    folder: Path
    job: Callable[[], Result]

    def __call__(self) -> Result:
        """Do it."""
        with keeping(self.folder):
            return self.job()


def key_of(task: SolverTask) -> str:
    """Return a digest of all that what a solver says of a task depends on."""
    digest = hashlib.sha256(f"{SCHEMA} {_versions(backend_of(task.door))}".encode())
    for each in fields(task):
        if each.name not in BESIDE:
            _add(digest, each.name, getattr(task, each.name))
    return digest.hexdigest()


@cache
def _versions(door: str) -> str:
    own = [f"{name} {importlib.metadata.version(name)}" for name in PACKAGES]
    return ", ".join([*own, doors()[door].version(), platform.machine(), platform.system()])


def _add(digest: hashlib._Hash, name: str, value: object) -> None:
    """Add a value with its name, kind and shape, so that no two tasks read the same."""
    digest.update(f"\n{name} {type(value).__name__} ".encode())
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str} {value.shape} ".encode())
        digest.update(np.ascontiguousarray(value).tobytes())
    elif sparse.issparse(value):
        for part in ("shape", "indptr", "indices", "data"):
            _add(digest, part, np.asarray(getattr(value, part)))
    elif is_dataclass(value):
        for each in fields(value):
            _add(digest, each.name, getattr(value, each.name))
    elif isinstance(value, tuple):
        digest.update(f"{len(value)} ".encode())
        for each in value:
            _add(digest, "", each)
    else:
        assert value is None or isinstance(value, str | int | float | Enum)
        digest.update(repr(value.value if isinstance(value, Enum) else value).encode())


def _written(heard: list[Solution], key: str) -> bytes:
    """Return what was heard as bytes: a line of JSON that says what comes, then the numbers."""
    parts = [
        part
        for solution in heard
        for part in (solution.z, solution.linear, solution.split, solution.bounds)
    ]
    numbers = b"".join(np.asarray(part, dtype="<f8").tobytes() for part in parts)
    head = {
        "schema": SCHEMA,
        "key": key,
        "solutions": [[solution.status.value, solution.iterations] for solution in heard],
        "lengths": [len(part) for part in parts],
    }
    line = json.dumps(head, sort_keys=True).encode("ascii") + b"\n"
    return hashlib.sha256(line + numbers).hexdigest().encode("ascii") + b"\n" + line + numbers


def _read(data: bytes, key: str) -> tuple[Solution, ...] | None:
    """Return what a file says that was heard; None where it is damaged, or of something else."""
    digest, _, rest = data.partition(b"\n")
    line, _, numbers = rest.partition(b"\n")
    if hashlib.sha256(rest).hexdigest().encode("ascii") != digest:
        return None
    try:
        head = json.loads(line)
        if (head["schema"], head["key"]) != (SCHEMA, key):
            return None
        values = np.frombuffer(numbers, dtype="<f8").astype(np.float64)
        ends = np.cumsum([int(length) for length in head["lengths"]])
        parts = np.split(values, ends)
        said = [(Status(status), int(iterations)) for status, iterations in head["solutions"]]
    except (ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return None
    if len(parts) != 4 * len(said) + 1 or len(parts[-1]):
        return None
    solutions = []
    for place, (status, iterations) in enumerate(said):
        z, linear, split, bounds = parts[4 * place : 4 * place + 4]
        solutions.append(Solution(z, linear, split, bounds, status, iterations))
    return tuple(solutions)


# Solves many tasks over processes: the same answers for any number of them.
#
# The calling process works too and never waits for a worker to start.

WORTH_A_WORKER = 1500
"""Variables in all tasks together below which one process is faster than two, of which one must start."""
WORTH_A_TASK = 300
"""The same where a worker is ready."""


def solve_all(
    tasks: Iterable[SolverTask], jobs: int, pool: Pool = WORKERS, share: Share | None = None
) -> list[SolverAnswer]:
    """Return the answer to each task, in their order; workers start on the first while the others are being made.

    ``share`` is told how many parts are done, once it is known how many there are.

    Raises:
        TreewardenError: what a task raises.
    """
    size, worth, checkpoint = 0, WORTH_A_TASK if pool.is_ready else WORTH_A_WORKER, KEPT.get()
    solver_tasks: list[SolverTask] = []
    done: list[int] = []

    def heard(number: int, answer: object) -> None:
        done.append(number)
        if share is not None and call.line.is_closed:
            share(len(done), len(solver_tasks), "parts")
        if checkpoint is not None:
            checkpoint.answered(solver_tasks[number], answer)

    whole: list[tuple[SolverTask, tuple[SolverTask, ...]]] = []
    with Call[SolverAnswer](pool, heard) as call:
        for task in tasks:
            whole.append((task, task.parts(jobs)))
            for part in whole[-1][1]:
                solver_tasks.append(part if checkpoint is None else checkpoint.with_replay(part))
                call.add(partial(solve_task, solver_tasks[-1]), part.work)
            size += task.work
            while size >= worth and len(call.threads) < min(pool.helpers(jobs), len(call.jobs) - 1):
                call.hire()
        if share is not None:
            share(0, len(solver_tasks), "parts")
        call.work()
        found = iter(call.finish())
    return [joined(task, [_answer(part, next(found)) for part in parts]) for task, parts in whole]


def _answer(task: SolverTask, answer: SolverAnswer | TreewardenError | None) -> SolverAnswer:
    if isinstance(answer, TreewardenError):
        raise answer
    return no_answer(task, TaskOutcome.LOST) if answer is None else replace(answer, tape=None)
