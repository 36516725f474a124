"""Cases and studies over processes, of this machine or of a cluster: the same, in the same order, for any number."""

from __future__ import annotations

import argparse
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeVar

from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.audit.workers.pool import WORKERS
from treewarden.audit.workers.processes import each_done

Result = TypeVar("Result")

CHUNK = 10
"""Cases that travel together."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some cases as one job."""

    function: Callable[..., Any]
    cases: Sequence[tuple[Any, ...]]

    def __call__(self) -> list[Any]:
        return [self.function(*case) for case in self.cases]


def ask_where(ask: argparse.ArgumentParser, jobs: int | None = None) -> None:
    """Add the options that say by whom cases are done."""
    ask.add_argument("--jobs", type=int, default=jobs or os.cpu_count() or 1)
    ask.add_argument("--cluster", help="do them on the Dask or Ray cluster at this address")


def in_order(
    function: Callable[..., Result],
    cases: Sequence[tuple[Any, ...]],
    jobs: int,
    cluster: str | None = None,
    chunk: int = CHUNK,
) -> Iterator[Result]:
    """Yield what a function returns for each case, in their order; one process, no cluster: here.

    Raises:
        RuntimeError: three processes died over some cases.
    """
    if jobs == 1 and cluster is None:
        yield from (function(*case) for case in cases)
        return
    parts = [cases[first : first + chunk] for first in range(0, len(cases), chunk)]
    found: dict[int, Any] = {}
    wanted = 0
    with on_cluster(cluster, lambda text: print(text, file=sys.stderr), is_required=bool(cluster)):
        processes = jobs if cluster is None else WORKERS.size()
        work = (Chunk(function, part) for part in parts)
        for number, answers in each_done(work, processes, lambda: math.inf):
            if not isinstance(answers, list):
                raise RuntimeError(f"{parts[number]}: {answers or 'three processes died'}")
            found[number] = answers
            while wanted in found:
                yield from found.pop(wanted)
                wanted += 1


def imported(spec: ModuleSpec | None) -> ModuleType:
    """Return the module that runs as a script under its own name, by which other processes find its functions."""
    assert spec is not None
    return import_module(spec.name)
