"""Finds the real tools, which are optional, and hands them records as a table of numbers."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

from benchmarks.conformance.outcome import NoToolError
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.tree import Feature

UNKNOWN_CODE = 500


def library(name: str) -> ModuleType:
    """Return a library.

    Raises:
        NoToolError: it is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NoToolError(
            f"{name} is not installed: pip install treewarden[conformance]"
        ) from error


def numbers(features: Sequence[Feature], columns: Mapping[str, Column]) -> NDArray[np.float64]:
    """Return records x features; a category is its place among the declared ones, or its name."""
    return np.column_stack([_codes(feature, columns[feature.name]) for feature in features])


def _codes(feature: Feature, column: Column) -> NDArray[np.float64]:
    if isinstance(column, NumericColumn):
        return column.numbers
    assert isinstance(column, CategoricalColumn)
    places = [_code(feature, value) for value in column.categories]
    return np.array([*places, np.nan])[column.codes]


def _code(feature: Feature, value: str) -> float:
    if value in feature.values:
        return float(feature.values.index(value))
    return float(value) if value.isdigit() else float(UNKNOWN_CODE)


def by_name(features: Sequence[Feature], names: Sequence[str] | None) -> list[Feature]:
    """Return the features in a tool's own order; a name the model does not know is an attribute it never tests."""
    if not names:
        return list(features)
    known = {feature.name: feature for feature in features}
    return [known.get(name, Feature(name, numeric=True)) for name in names]


def completed(features: Sequence[Feature], columns: Mapping[str, Column]) -> dict[str, Column]:
    """Return the columns with zeros for the attributes that no tree tests."""
    size = len(next(iter(columns.values())))
    empty = NumericColumn(np.zeros(size))
    return {**columns, **{f.name: empty for f in features if f.name not in columns}}


def two_classes(scores: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    """Return the scores of a tool that names only the second of two classes for both."""
    table = np.asarray(scores, dtype=np.float64).reshape(len(scores), -1)
    return np.hstack([1 - table, table]) if table.shape[1] == 1 and width == 2 else table
