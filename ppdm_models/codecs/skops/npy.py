"""Reads NumPy's array files: the header is held against the bytes before any memory is taken; nothing is unpickled."""

from __future__ import annotations

import math
import tokenize
import warnings
from io import BytesIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from treewarden.ppdm_models.errors import TreeFormatError

HEADER_CHARACTERS = 10_000
MOST_AXES = 8
NUMBERS, BYTES = "biuf", "SUV"
LARGEST_NUMBER_BYTES = 8
HEADERS = {
    (1, 0): npy.read_array_header_1_0,
    (2, 0): npy.read_array_header_2_0,
    (3, 0): npy.read_array_header_2_0,  # differs in the spelling of field names alone
}
DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    SyntaxError,
    RecursionError,
    MemoryError,
    tokenize.TokenError,
    Warning,
)
"""What NumPy raises at a header that is no header; its warnings are of ways to write that nobody needs any more."""

Array = NDArray[np.generic]


def read_npy(data: bytes, where: str) -> Array:
    """Return the array in the bytes of an .npy file (numpy.lib.format, versions 1 to 3).

    Raises:
        TreeFormatError: it is damaged, holds objects, or has another size than its header says.
    """
    try:
        with warnings.catch_warnings(action="error"):
            _check_header(data, where)
            array: Array = npy.read_array(
                BytesIO(data), allow_pickle=False, max_header_size=HEADER_CHARACTERS
            )
    except DAMAGE as error:
        said = " ".join(str(error).split())[:120]
        raise TreeFormatError(where, f"a NumPy array that is not read ({said})") from error
    return array


def _check_header(data: bytes, where: str) -> None:
    """Check that the header asks for no more than the bytes at hand, and for numbers and texts alone.

    Raises:
        TreeFormatError: it does; or one of ``DAMAGE``, where it is no header.
    """
    file = BytesIO(data)
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise TreeFormatError(where, f"a NumPy array file of an unknown version {version}")
    shape, _, dtype = HEADERS[version](file, max_header_size=HEADER_CHARACTERS)
    if not _is_plain(dtype):
        raise TreeFormatError(
            where, "a NumPy array that is not read (it holds objects, or what is no number or text)"
        )
    rest = len(data) - file.tell()
    if len(shape) > MOST_AXES or min(shape, default=0) < 0:
        raise TreeFormatError(where, "a NumPy array that is not read (its shape is no shape)")
    if math.prod(shape) * dtype.itemsize != rest:
        raise TreeFormatError(where, "a NumPy array of another size than its header says")


def _is_plain(dtype: np.dtype[np.generic]) -> bool:
    """Return whether a type is one of numbers or texts, or of named fields that are."""
    if dtype.fields is not None:
        parts = [field[0] for field in dtype.fields.values()]
        return all(part.names is None and _is_plain(part) for part in parts) and dtype.itemsize > 0
    if dtype.subdtype is not None or dtype.itemsize == 0:
        return False
    return dtype.kind in BYTES or (dtype.kind in NUMBERS and dtype.itemsize <= LARGEST_NUMBER_BYTES)
