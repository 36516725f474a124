"""Values for Arrow, and arrays from it, without pandas: Arrow imports that where Python's own values come in or go out.

It does so to see whether what it is given is a data frame's. Nobody waits for that who has a file.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treewarden.ppdm_models.arrays import BoolArray


def text_array(values: Iterable[str], kind: pa.DataType) -> pa.Array:
    """Return texts as an array of a kind of text."""
    encoded = [each.encode() for each in values]
    ends = np.cumsum([0, *map(len, encoded)]).astype(np.int32)
    buffers = [None, pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(encoded))]
    return pc.cast(pa.Array.from_buffers(pa.string(), len(encoded), buffers), kind)


def array_of(values: NDArray[Any], missing: BoolArray | None = None) -> pa.Array:
    """Return numbers or truth values as Arrow has them, null where they are ``missing``; numbers are not copied."""
    data = _bits(values) if values.dtype == np.bool_ else np.ascontiguousarray(values)
    there = None if missing is None or not missing.any() else pa.py_buffer(_bits(~missing))
    buffers = [there, pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), buffers)


def _bits(values: BoolArray) -> NDArray[np.uint8]:
    return np.packbits(values, bitorder="little")


def nothing(kind: pa.DataType) -> pa.Scalar:
    """Return a missing value of a kind."""
    return pa.nulls(1, kind)[0]


def numpy_of(numbers: pa.Array, missing: float) -> NDArray[Any]:
    """Return numbers as numpy has them, in an array of its own; ``missing`` stands where there are none."""
    if numbers.null_count:
        stand_in = np.array([missing], numbers.type.to_pandas_dtype())
        buffers = [None, pa.py_buffer(stand_in.tobytes())]
        numbers = pc.fill_null(numbers, pa.Array.from_buffers(numbers.type, 1, buffers)[0])
    return np.array(np.from_dlpack(numbers))
