"""The predictions of JPMML-Evaluator, the reference evaluator of PMML; it runs in Java."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.conformance.library import library
from benchmarks.conformance.outcome import NoToolError, Said
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column, NumericColumn
from treewarden.ppdm_models.tree.ensemble import Model, trees_of

PACKAGE = "jpmml_evaluator"
FORMATS = ("pmml",)
ERRORS = "what is wrong with the record"
INVALID = "ValueCheckException"
"""What a value that the model calls invalid is refused with."""


def said(path: Path, model: Model, columns: Mapping[str, Column]) -> Said:
    jpmml, pandas = library(PACKAGE), library("pandas")
    try:
        evaluator = jpmml.make_evaluator(path, backend="jpype")
    except library("jpype").JException as error:
        raise NoToolError(f"JPMML does not load it: {_short(error)}") from error
    except jpmml.JavaError as error:
        raise NoToolError(f"JPMML does not take it: {_short(error)}") from error
    kinds = {field.getName(): field.getDataType() for field in evaluator.getInputFields()}
    used = {feature.name for tree in trees_of(model) for feature in tree.used_features()}
    if not used <= kinds.keys():
        raise NoToolError(
            f"computes in a way that is not followed here: {', '.join(sorted(used - kinds.keys()))}"
        )
    columns = {name: _of_kind(column, kinds.get(name)) for name, column in columns.items()}
    size = len(next(iter(columns.values())))
    table = {name: _values(columns[name]) if name in columns else [None] * size for name in kinds}
    try:
        results = evaluator.evaluateAll(
            pandas.DataFrame(table, dtype=object), error_col=ERRORS, parallelism=1
        )
    except jpmml.JavaError as error:
        raise NoToolError(f"JPMML does not evaluate it: {_short(error)}") from error
    silent = _refused(results, size)
    if silent.all():
        raise NoToolError(f"JPMML evaluates no record: {results[ERRORS].iloc[0][:90]}")
    return _read(model, evaluator, results, columns, silent)


def _of_kind(column: Column, kind: str | None) -> Column:
    """Return whole numbers for a field of whole numbers: JPMML takes no others."""
    if isinstance(column, CategoricalColumn) or kind not in ("integer", "boolean"):
        return column
    return replace(column, numbers=np.round(column.numbers))


def _values(column: Column) -> list[Any]:
    if isinstance(column, NumericColumn):
        return [None if np.isnan(value) else float(value) for value in column.numbers]
    assert isinstance(column, CategoricalColumn)
    names = [*column.categories, None]
    return [names[code] for code in column.codes]


def _refused(results: Any, size: int) -> NDArray[np.bool_]:
    if ERRORS not in results:
        return np.zeros(size, dtype=bool)
    errors = results[ERRORS]
    invalid = errors.astype(str).str.contains(INVALID, regex=False)  # these predict nothing
    return np.asarray(errors.notna() & (errors != "None") & ~invalid)


def _read(
    model: Model,
    evaluator: Any,
    results: Any,
    columns: Mapping[str, Column],
    silent: NDArray[np.bool_],
) -> Said:
    targets = [field.getName() for field in evaluator.getTargetFields()]
    names = [name for name in results.columns if name != ERRORS]
    target = next((name for name in (model.target, *targets, *names[:1]) if name in names), None)
    if target is None:
        raise NoToolError("JPMML names no target")
    values = results[target].tolist()
    if not model.classes:
        scores = np.array([[_number(value)] for value in values])
        return Said(columns, silent, scores=scores, tolerance=1e-6)
    shares = [f"probability({label})" for label in model.classes]
    table = None
    if all(name in names for name in shares):
        table = np.column_stack([[_number(v) for v in results[name]] for name in shares])
    named = [None if _is_nothing(value) else _label(value) for value in values]
    return Said(columns, silent, scores=table, labels=named, tolerance=1e-6)


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, float) and np.isnan(value))


def _label(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _number(value: Any) -> float:
    return float("nan") if _is_nothing(value) else float(value)


def _short(error: Exception) -> str:
    return str(error).replace("\n", " ")[:120]
