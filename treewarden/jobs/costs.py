"""What an audit of some size costs in time and memory: a few constants, measured by ``python -m benchmarks.planning``.

Seconds are those of a processor as fast as the one that they were measured on; a short loop says how fast this one is.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treewarden.audit.options import AuditOptions
from treewarden.jobs.sizes import Sizes

LOOP_SECONDS = 0.055
"""What ``_loop`` took on the machine of the constants below."""
STARTING = 1.1
SOLVING_BASE = 0.2
SOLVING_PER_LEAF_AND_CLASS = 2.7e-4
SOLVING_PER_TOUCHED = 5e-7
ENTROPY_FACTOR = 1.5
"""How many times longer parts of the estimate take where splits were chosen by entropies."""
WORLDS_BASE = 2.0
WORLDS_PER_LEAF = 1e-3
WORLDS_PER_TOUCHED = 5e-7
ADVERSARY_BASE = 0.3
ADVERSARY_PER_LEAF = 3e-4
ENFORCING = 5.5e-5
ENFORCING_POWER = 1.7
"""Of the number of splits: what it takes, about, to put what their choice says into one estimate of the target."""
ENFORCING_OF_COLUMN = 3.5e-3
"""For each split: the same of a secret column."""
REPORT_BASE = 0.05
REPORT_PER_LEAF = 2.3e-4
LEVELS_SHARE = 0.8
"""Of solving: what each kind of information adds is solved for once more, in forms other than text."""
DRAWN_BASE = 0.3
MEMORY_BASE_MB = 60.0
MEMORY_PER_TOUCHED_MB = 1e-5
WORLDS_BASE_MB = 40.0
WORLDS_PER_TOUCHED_MB = 5e-5
ENFORCING_MB = 0.15


@dataclass(frozen=True, slots=True)
class Costs:
    """Expected seconds of processor time of each stage, and the most memory that this process has, in MB."""

    stages: Mapping[str, float]
    memory_mb: float

    @property
    def seconds(self) -> float:
        """All stages together."""
        return sum(self.stages.values())


def slowness() -> float:
    """Return how many times longer this machine takes than that of the constants, by a loop of about 0.1 s."""
    _loop()  # the first time is the memory's
    return min(_timed() for _ in range(3)) / LOOP_SECONDS


def costs(
    sizes: Sizes,
    options: AuditOptions,
    form: str,
    reading: float,
    now_mb: float,
    slow: float,
) -> Costs:
    """Return what an audit is expected to cost, given what reading its files took here and has of memory now."""
    solving = SOLVING_BASE + SOLVING_PER_TOUCHED * sizes.touched
    if sizes.candidates:
        factor = ENTROPY_FACTOR if sizes.is_by_entropy else 1.0
        solving += factor * SOLVING_PER_LEAF_AND_CLASS * sizes.leaves * sizes.classes
    worlds = (
        WORLDS_BASE + WORLDS_PER_LEAF * sizes.leaves + WORLDS_PER_TOUCHED * sizes.touched
    ) * slow
    worlds = min(worlds, options.worlds_budget) if options.worlds else 0.0
    enforcing = ENFORCING * sizes.splits**ENFORCING_POWER
    others = sizes.adversaries - 1
    if sizes.is_of_column:
        enforcing = ENFORCING_OF_COLUMN * sizes.splits
        others, solving, worlds = sizes.adversaries, 0.0, 0.0
    if options.time_limit is not None:
        solving = min(solving, options.time_limit / slow)
        enforcing = min(enforcing, options.time_limit / slow)
    adversaries = others * (ADVERSARY_BASE + ADVERSARY_PER_LEAF * sizes.leaves)
    adversaries += sizes.estimates * enforcing
    is_drawn = form != "text"
    report = REPORT_BASE + REPORT_PER_LEAF * sizes.leaves + DRAWN_BASE * is_drawn
    stages = {
        "starting": STARTING * slow,
        "reading": reading,
        "solving": solving * slow,
        "whole records": worlds,
        "adversaries": adversaries * slow,
        "levels": LEVELS_SHARE * solving * slow * (options.levels and is_drawn),
        "report": report * slow,
    }
    memory = MEMORY_BASE_MB + MEMORY_PER_TOUCHED_MB * sizes.touched
    if sizes.estimates:
        memory += ENFORCING_MB * sizes.splits
    if options.worlds and not sizes.is_of_column:
        memory += WORLDS_BASE_MB + WORLDS_PER_TOUCHED_MB * sizes.touched
    return Costs(stages, now_mb + memory)


def _timed() -> float:
    began = time.process_time()
    _loop()
    return time.process_time() - began


def _loop() -> None:
    """Sort, gather and sum numbers, as an audit does."""
    draw = np.random.default_rng(0)
    for _ in range(2):
        values = draw.random(200_000)
        order = np.argsort(values, kind="stable")
        np.bincount((values[order] * 1000).astype(np.intp), weights=values)
    total = 0
    for number in range(150_000):
        total += number & 7
