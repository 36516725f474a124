"""Makes a table of what is in memory: pandas, polars or Arrow data, NumPy arrays, or a pair (X, y).

No library is imported for it but Arrow: a data frame that is handed in has brought its own along.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.interchange

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.arrow_column import flat
from treewarden.ppdm_models.tables.dialect import Dialect
from treewarden.ppdm_models.tables.read_table import table_of_arrow
from treewarden.ppdm_models.tables.table import Table

ACCEPTED = "a pandas or polars DataFrame, an Arrow table, a pair (X, y), or the path of a CSV, Parquet or other table"
IN_MEMORY = Dialect(is_in_memory=True)
TARGET = "target"
"""What y is called where neither it nor anybody else says."""


def table_of_frame(frame: object, source: str = "data") -> Table:
    """Return the table that a data frame is; its index is no column, and a column's name is its text.

    Missing values of any kind are missing; categories that no record has are left out; sparse columns are filled up;
    truth values are 1 and 0 where the model compares numbers.

    Raises:
        TableError: it is no data frame, has no records, names a column twice or in several levels.
    """
    table, index = _arrow(frame, (), source)
    return table_of_arrow(table, source, index, IN_MEMORY)


def table_of_pair(
    data: Sequence[object], target: str | None, names: Sequence[str] = (), source: str = "data"
) -> tuple[Table, str]:
    """Return the table that a pair (X, y) is, and what y is called: ``target``, else its own name, else "target".

    ``names`` are those of the columns of X where X is an array, else they are x0, x1 and so on.

    Raises:
        TableError: X is no table, y no column, they differ in length, or X has a column of the target's name.
    """
    if len(data) != 2:
        raise TableError(source, f"{len(data)} things at once; give {ACCEPTED}")
    inputs, index = _arrow(data[0], names, source)
    values = _target(data[1], source)
    called = target or _name_of(data[1]) or TARGET
    if len(values) != inputs.num_rows:
        problem = f"X has {inputs.num_rows:,} records and y {len(values):,}"
        raise TableError(source, f"{problem}; give one value of y for each record of X")
    if called in inputs.column_names:
        problem = f"X has a column {called!r} too, as y is called"
        raise TableError(
            source, f"{problem}; remove it from X, or give y another name (sensitive=...)"
        )
    table = inputs.append_column(called, values)
    return table_of_arrow(table, source, index, IN_MEMORY), called


def column_names(frame: object) -> tuple[str, ...]:
    """Return the names of a data frame's columns as text; none of an array, which has no names."""
    if isinstance(frame, pa.Table | pa.RecordBatch):
        return tuple(frame.column_names)
    found = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "columns", None)
    return () if found is None or callable(found) else tuple(str(name) for name in found)


def _arrow(frame: Any, names: Sequence[str], source: str) -> tuple[pa.Table, tuple[str, ...]]:  # noqa: ANN401  # whatever is handed in
    """Return Arrow's table of anything that is one, and the names of its index."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(frame, pandas.DataFrame):
        return _of_pandas(frame, source)
    if isinstance(frame, Mapping):
        return _columns(
            ((str(k), _values(v, str(k), source)) for k, v in frame.items()), source
        ), ()
    if isinstance(frame, np.ndarray) or _is_sparse(frame) or _is_nested(frame):
        return _of_array(frame, names, source), ()
    try:
        if isinstance(frame, pa.Table | pa.RecordBatch) or hasattr(frame, "__arrow_c_stream__"):
            table = pa.table(frame)
        elif hasattr(frame, "__dataframe__"):
            table = pa.interchange.from_dataframe(frame)
        else:
            lazy = "; collect() it first" if hasattr(frame, "collect") else ""
            kind = type(frame).__name__
            raise TableError(source, f"{kind} is not a table{lazy}; give {ACCEPTED}")
    except (pa.ArrowException, ValueError, TypeError, NotImplementedError) as error:
        raise TableError(
            source, f"cannot be read ({_first_line(error)}); give {ACCEPTED}"
        ) from error
    return table, ()


def _of_pandas(frame: Any, source: str) -> tuple[pa.Table, tuple[str, ...]]:  # noqa: ANN401  # a pandas.DataFrame
    if frame.columns.nlevels > 1:
        problem = "its columns have names in several levels"
        raise TableError(
            source, f"{problem}; join them: frame.columns = frame.columns.map('_'.join)"
        )
    names = [str(name) for name in frame.columns]
    index = tuple(str(name) for name in frame.index.names if name is not None)
    found = ((name, _of_series(frame.iloc[:, i], name, source)) for i, name in enumerate(names))
    return _columns(found, source, len(frame)), index


def _of_series(series: Any, name: str, source: str) -> pa.Array:  # noqa: ANN401  # a pandas.Series
    if str(series.dtype).startswith("Sparse"):
        series = series.sparse.to_dense()
    return _values(series, name, source)


def _of_array(frame: Any, names: Sequence[str], source: str) -> pa.Table:  # noqa: ANN401  # NumPy, SciPy or lists
    if isinstance(frame, np.ndarray) and frame.dtype.names:
        fields = frame.dtype.names
        return _columns(((name, _values(frame[name], name, source)) for name in fields), source)
    try:
        array = frame.tocsc() if _is_sparse(frame) else np.asarray(frame)
    except ValueError as error:
        raise TableError(
            source, f"X is not a matrix ({_first_line(error)}); give {ACCEPTED}"
        ) from error
    if len(array.shape) != 2:
        problem = f"an array of {len(array.shape)} dimension(s) is not a table"
        raise TableError(source, f"{problem}; X has one row per record and one column per feature")
    width = array.shape[1]
    if names and len(names) != width:
        problem = f"X has {width} columns, and the model was fitted on {len(names)}"
        raise TableError(source, f"{problem}; give what it was fitted on")
    own = tuple(names) or tuple(f"x{number}" for number in range(width))
    found = ((name, _values(_dense(array, at), name, source)) for at, name in enumerate(own))
    return _columns(found, source, array.shape[0])


def _dense(array: Any, at: int) -> Any:  # noqa: ANN401  # NumPy or SciPy
    return array[:, [at]].toarray().ravel() if _is_sparse(array) else array[:, at]


def _target(y: Any, source: str) -> pa.Array:  # noqa: ANN401  # whatever is handed in
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(y, pandas.Series):
        return _of_series(y, "y", source)
    if pandas is not None and isinstance(y, pandas.DataFrame) or hasattr(y, "__arrow_c_stream__"):
        if not isinstance(y, pa.ChunkedArray) and len(column_names(y)) > 1:
            raise TableError(source, "y has several columns; give the one that the model predicts")
        if column_names(y):
            return flat(_arrow(y, (), source)[0].column(0))
    if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1:
        y = y.ravel()
    return _values(y, "y", source)


def _name_of(y: object) -> str:
    """Return what y calls itself, if it does."""
    name = getattr(y, "name", None)
    names = column_names(y)
    if name is None and len(names) == 1:
        return names[0]
    return str(name) if isinstance(name, str | int) else ""


def _values(values: Any, name: str, source: str) -> pa.Array:  # noqa: ANN401  # one column of any kind
    """Return one column as Arrow's; one of mixed kinds as texts."""
    if isinstance(values, pa.ChunkedArray | pa.Array):
        return flat(pa.chunked_array([values]) if isinstance(values, pa.Array) else values)
    if isinstance(values, str | bytes) or not hasattr(values, "__len__"):
        raise TableError(source, f"{name!r} is not a column but a value ({type(values).__name__})")
    if getattr(values, "ndim", 1) != 1:
        raise TableError(source, f"{name!r} has several columns; give one value for each record")
    try:
        has_stream = hasattr(values, "__arrow_c_stream__")
        array = pa.chunked_array(values) if has_stream else pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        array = _as_texts(values)
    if isinstance(array.type, pa.BaseExtensionType) or pa.types.is_nested(array.type):
        return _as_texts(values)
    return flat(array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array]))


def _as_texts(values: Any) -> pa.Array:  # noqa: ANN401  # as above
    return pa.array([None if _is_missing(value) else str(value) for value in values], pa.string())


def _is_missing(value: object) -> bool:
    """Return whether a value stands for none: None, not a number, pandas.NA, pandas.NaT."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value


def _columns(
    columns: Iterator[tuple[str, pa.Array]], source: str, rows: int | None = None
) -> pa.Table:
    """Return a table of columns, which may have the same name."""
    found = list(columns)
    if not found:
        raise TableError(source, "there are no columns; give a table with columns")
    lengths = {len(values) for _, values in found} | ({rows} if rows is not None else set())
    if len(lengths) > 1:
        raise TableError(
            source, "its columns have different lengths; give one value for each record"
        )
    return pa.Table.from_arrays([values for _, values in found], [name for name, _ in found])


def _is_sparse(value: object) -> bool:
    return hasattr(value, "tocsc") and hasattr(value, "shape")


def _is_nested(value: object) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], list | tuple)


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
