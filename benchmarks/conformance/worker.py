"""Compares one file after the other in a process of its own, which is ended where a file takes too long or ends it."""

from __future__ import annotations

import multiprocessing
import warnings
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType

from benchmarks.conformance.compared import Line, compared


class Worker:
    """A process that is started when it is needed: Java alone takes seconds to start."""

    def __init__(self, seed: int, scale: float, limit_seconds: float) -> None:
        self._task = (seed, scale)
        self._limit_seconds = limit_seconds
        self._process: multiprocessing.process.BaseProcess | None = None
        self._here: Connection | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._end()

    def line(self, path: Path) -> Line:
        """Compare one file, or say why that did not come to an end."""
        if self._here is None:
            self._start()
        assert self._here is not None
        self._here.send(path)
        try:
            if self._here.poll(self._limit_seconds):
                return self._here.recv()
            reason = f"no answer in {self._limit_seconds:.0f} s"
        except EOFError:
            reason = "the tool ended the process"
        self._end()
        return Line(reason=reason)

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._here, there = context.Pipe()
        self._process = context.Process(target=_work, args=(there, *self._task), daemon=True)
        self._process.start()
        there.close()

    def _end(self) -> None:
        if self._process is not None and self._here is not None:
            self._process.kill()
            self._process.join()
            self._here.close()
        self._process = self._here = None


def _work(pipe: Connection, seed: int, scale: float) -> None:
    warnings.simplefilter("ignore")  # the tools' own
    while True:
        pipe.send(compared(pipe.recv(), seed, scale))
