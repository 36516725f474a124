"""Reads NumPy's array files: the header checked before anything is allocated, objects never unpickled."""

from __future__ import annotations

import ast
import math
import re

import numpy as np
from numpy.typing import NDArray

from ppdm_models.errors import TreeFormatError

MAGIC = b"\x93NUMPY"
HEADER_BYTES = 10_000
SIMPLE = re.compile(r"[<>|=]?(?:[biuf?][1248]?|[SU]\d{1,4}|V\d{1,4})")

Array = NDArray[np.generic]


def read_npy(data: bytes, where: str) -> Array:
    """Return the array in the bytes of an .npy file (numpy.lib.format, versions 1 to 3).

    Raises:
        TreeFormatError: it is damaged, holds objects, or has another size than its header says.
    """
    start = {1: 10, 2: 12, 3: 12}.get(data[6] if len(data) > 12 else 0)
    if not data.startswith(MAGIC) or start is None:
        raise TreeFormatError(where, "no NumPy array file")
    end = start + int.from_bytes(data[8:start], "little")
    if end - start > HEADER_BYTES or end > len(data):
        raise TreeFormatError(where, "a NumPy array file with a damaged header")
    try:
        header = ast.literal_eval(data[start:end].decode("utf-8").strip())
        dtype, shape = _dtype(header["descr"]), tuple(header["shape"])
        order = "F" if header["fortran_order"] is True else "C"
        if not all(type(length) is int and 0 <= length < 2**40 for length in shape):
            raise ValueError("its shape is no shape")
    except (ValueError, TypeError, KeyError, SyntaxError, RecursionError, MemoryError) as error:
        raise TreeFormatError(where, f"a NumPy array that is not read ({error})") from error
    if len(shape) > 8 or math.prod(shape) * dtype.itemsize != len(data) - end:
        raise TreeFormatError(where, "a NumPy array of another size than its header says")
    array: Array = np.frombuffer(data, dtype, offset=end)
    return array.reshape(shape[::-1]).T if order == "F" else array.reshape(shape)


def _dtype(said: object) -> np.dtype[np.generic]:
    """Return a plain type, or one of named fields; what has no name is padding."""
    if isinstance(said, str):
        return _simple(said)
    if not isinstance(said, list):
        raise ValueError(f"the type {str(said)[:60]!r}")
    names, formats, offsets, size = [], [], [], 0
    for name, part in said:
        field = _simple(part)
        if name:
            names.append(str(name))
            formats.append(field)
            offsets.append(size)
        size += field.itemsize
    return np.dtype(
        {"names": names, "formats": formats, "offsets": offsets, "itemsize": max(size, 1)}
    )


def _simple(said: object) -> np.dtype[np.generic]:
    if not isinstance(said, str) or not SIMPLE.fullmatch(said):
        raise ValueError(f"the type {str(said)[:60]!r}")
    return np.dtype(said)
