"""One record for every combination of answers that some tests can give: enough to decide what they say together.

The truth of a test changes only at the thresholds and categories that it names, so one value per cell between them, and
one beyond, stands for all others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.predicate import (
    Atom,
    CategoryTest,
    MissingTest,
    NumericTest,
    Predicate,
    atoms,
    features_of,
)
from treewarden.ppdm_models.tree.tree import Feature

MAX_CELLS = 20_000
"""The most records that are made."""


def cells(
    names: Sequence[str], features: Mapping[str, Feature], tests: Sequence[Predicate]
) -> tuple[int, dict[str, Column]] | None:
    """Return the number of records and their columns over some features; None where there are too many.

    A missing value is among them only where a test asks for it.
    """
    if any(len(features[name].values) > MAX_CELLS for name in names if name in features):
        return None
    by_name: dict[str, list[Atom]] = {name: [] for name in names}
    for test in tests:
        for atom in atoms(test):
            for name in features_of(atom):
                if name in by_name:
                    by_name[name].append(atom)
    lines = [_representatives(features.get(name), by_name[name]) for name in names]
    size = math.prod(len(line) for line in lines)
    return None if size > MAX_CELLS else (size, _grid(names, lines, size))


def witness(columns: dict[str, Column], cell: int) -> str:
    """Return one record as people write it."""
    values = {name: column.text(cell) for name, column in columns.items()}
    said = ", ".join(
        f"{name} {'missing' if value is None else f'= {value}'}" for name, value in values.items()
    )
    return said or "any values"


def _grid(names: Sequence[str], lines: Sequence[Column], size: int) -> dict[str, Column]:
    """Return every combination of the representatives, one per row."""
    columns, stride = {}, 1
    for name, line in zip(names, lines, strict=True):
        columns[name] = line.take(np.arange(size) // stride % len(line))
        stride *= len(line)
    return columns


def _representatives(feature: Feature | None, here: Sequence[Atom]) -> Column:
    """Return one value of a feature per cell that its tests can tell apart."""
    with_missing = any(isinstance(atom, MissingTest) for atom in here)
    ends = {end for atom in here if isinstance(atom, NumericTest) for end in (atom.low, atom.high)}
    named = {value for atom in here if isinstance(atom, CategoryTest) for value in atom.values}
    numeric = not named if feature is None else feature.numeric
    if numeric:
        numbers = _between(sorted(end for end in ends if math.isfinite(end)))
        return NumericColumn(np.array([*numbers, math.nan] if with_missing else numbers))
    declared = () if feature is None else feature.values
    values = [*declared, *sorted(named - set(declared))]
    if not declared:
        values.append(_another(named))
    codes = np.arange(len(values), dtype=np.int64)
    return CategoricalColumn(
        codes=np.append(codes, -1) if with_missing else codes, categories=tuple(values)
    )


def _between(ends: Sequence[float]) -> list[float]:
    """Return the ends, a number between each two, and one beyond on either side."""
    if not ends:
        return [0.0]
    below, above = _beyond(ends[0], -math.inf), _beyond(ends[-1], math.inf)
    middles = [left / 2 + right / 2 for left, right in zip(ends, ends[1:], strict=False)]
    return sorted({number for number in (below, *ends, *middles, above) if math.isfinite(number)})


def _beyond(end: float, towards: float) -> float:
    step = end + math.copysign(1.0, towards)
    return step if step != end else math.nextafter(end, towards)


def _another(named: set[str]) -> str:
    value = "another value"
    while value in named:
        value += "'"
    return value
