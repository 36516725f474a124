"""What a tool says of records, and where the model that was read here says something else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.tables.predict import labels, predict
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import Column
from treewarden.ppdm_models.tree.ensemble import Model, trees_of

TIE = 1e-9


class NoToolError(Exception):
    """Why a file is not compared."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool says: the name of the node where each record stops in each tree, scores, or labels.

    ``columns`` are the records as the tool took them; ``silent`` marks those it refuses, which are not compared.
    """

    columns: Mapping[str, Column]
    silent: NDArray[np.bool_]
    scores: NDArray[np.float64] | None = None
    labels: list[str | None] | None = None
    stops: NDArray[np.str_] | None = None
    tolerance: float = 1e-9


@dataclass(frozen=True, slots=True)
class Outcome:
    """How many records were compared, and of how many the two said something else."""

    compared: int
    mismatches: int
    what: str
    first: str = ""


def judged(model: Model, said: Said) -> Outcome:
    """Compare what the tool says with what the model says here.

    Raises:
        NoToolError: the model is not predicted here, and the tool does not say where a record stops.
    """
    parts: list[tuple[str, NDArray[np.bool_], Sequence[object], Sequence[object]]] = []
    if said.stops is not None:
        stops = _stops(model, said.columns)
        wrong = (said.stops != stops).any(axis=1)
        parts.append(("leaves", wrong, said.stops.tolist(), stops.tolist()))
    try:
        scores = predict(model, said.columns)
    except ValueError as error:
        if said.stops is None:
            raise NoToolError(f"not predicted here: {_after_the_source(error)}") from error
    else:
        if said.scores is not None:
            parts.append(("scores", _apart(scores, said), said.scores.tolist(), scores.tolist()))
        if said.labels is not None:
            own = labels(model, scores)
            wrong = _other_label(own, said.labels) & ~_tied(scores)
            parts.append(("labels", wrong, said.labels, own))
    every = np.any([wrong for _, wrong, _, _ in parts], axis=0) & ~said.silent
    shown = (_shown(said, part) for part in parts if (part[1] & ~said.silent).any())
    return Outcome(
        int((~said.silent).sum()),
        int(every.sum()),
        " and ".join(part[0] for part in parts),
        next(shown, ""),
    )


def _after_the_source(error: ValueError) -> str:
    return str(error).partition(": ")[2] or str(error)


def _stops(model: Model, columns: Mapping[str, Column]) -> NDArray[np.str_]:
    found = []
    for tree in trees_of(model):
        names = np.array([node.name for node in tree.nodes] + [""])
        found.append(names[route(tree, columns)])
    return np.column_stack(found)


def _apart(scores: NDArray[np.float64], said: Said) -> NDArray[np.bool_]:
    assert said.scores is not None
    if said.scores.shape != scores.shape:
        raise NoToolError(f"{said.scores.shape[1]} outputs, but {scores.shape[1]} here")
    near = np.isclose(scores, said.scores, rtol=said.tolerance, atol=said.tolerance, equal_nan=True)
    return np.asarray(~near.all(axis=1))


def _other_label(ours: list[str | None], theirs: list[str | None]) -> NDArray[np.bool_]:
    return np.array([not _same(own, other) for own, other in zip(ours, theirs, strict=True)])


def _same(ours: str | None, theirs: str | None) -> bool:
    if ours == theirs or ours is None or theirs is None:
        return ours == theirs
    try:
        return float(ours) == float(theirs)
    except ValueError:
        return False


def _tied(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return where two classes are equally likely: which of them is named is up to the tool."""
    if scores.shape[1] < 2:
        return np.zeros(len(scores), dtype=bool)
    best = np.sort(scores, axis=1)
    return np.asarray(best[:, -1] - best[:, -2] < TIE)


def _shown(
    said: Said, part: tuple[str, NDArray[np.bool_], Sequence[object], Sequence[object]]
) -> str:
    row = int(np.argmax(part[1] & ~said.silent))
    record = ", ".join(f"{name}={column.text(row)}" for name, column in said.columns.items())
    return f"{part[0]}: the tool says {part[2][row]}, here {part[3][row]}, of {record}"
