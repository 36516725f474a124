"""Reads one file, asks its real tool the same as the model that was read, and says how it went."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from benchmarks.conformance import (
    with_catboost,
    with_jpmml,
    with_lightgbm,
    with_onnxruntime,
    with_sklearn,
    with_treelite,
    with_xgboost,
)
from benchmarks.conformance.cases import records
from benchmarks.conformance.outcome import NoToolError, Outcome, Said, judged
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_model
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import Model, trees_of

TOOLS: tuple[ModuleType, ...] = (
    with_catboost,
    with_jpmml,
    with_lightgbm,
    with_onnxruntime,
    with_sklearn,
    with_treelite,
    with_xgboost,
)
BY_FORMAT: dict[str, Callable[[Path, Model, Mapping[str, Column]], Said]] = {
    name: tool.said for tool in TOOLS for name in tool.FORMATS
}
REPEATS = 3


@dataclass(frozen=True, slots=True)
class Line:
    """What became of one file; ``refusal`` is why it is not read, ``reason`` why it is not compared."""

    format: str = ""
    trees: int = 0
    nodes: int = 0
    leaves: int = 0
    quality: str = ""
    seconds: float = 0.0
    refusal: str = ""
    reason: str = ""
    outcome: Outcome | None = None


def compared(path: Path, seed: int, scale: float) -> Line:
    """Read a file, and compare what it predicts with what its tool says."""
    formats()
    data = path.read_bytes()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        try:
            model = load_model(data, path.name)
        except TreeFormatError as error:
            return Line(refusal=error.problem)
        seconds.append(time.perf_counter() - start)
    trees = list(trees_of(model))
    outcome, reason = None, "no tool here"
    if model.format in BY_FORMAT:
        try:
            said = BY_FORMAT[model.format](path, model, records(model, seed, scale))
            outcome, reason = judged(model, said), ""
        except NoToolError as error:
            reason = str(error)
    return Line(
        format=model.format,
        trees=len(trees),
        nodes=sum(len(tree.nodes) for tree in trees),
        leaves=sum(len(tree.leaves) for tree in trees),
        quality=", ".join(sorted({tree.quality.value for tree in trees})),
        seconds=min(seconds),
        reason=reason,
        outcome=outcome,
    )
