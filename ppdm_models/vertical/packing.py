"""Numbers and arrays as bytes, and back; what arrives is measured before it is believed."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treewarden.ppdm_models.vertical.errors import ProtocolError


def packed(form: str, *numbers: int) -> bytes:
    """Return numbers as bytes, in a form of ``struct`` without its byte order."""
    return struct.pack(f"<{form}", *numbers)


def unpacked(form: str, body: bytes, who: int) -> tuple[int, ...]:
    """Return the numbers in a body.

    Raises:
        ProtocolError: it has another length.
    """
    try:
        return struct.unpack(f"<{form}", body)
    except struct.error as error:
        raise ProtocolError(who, f"sent {len(body):,} bytes that cannot be read") from error


def array(body: bytes, kind: np.dtype[Any], shape: tuple[int, ...], who: int) -> NDArray[Any]:
    """Return the array in a body.

    Raises:
        ProtocolError: it has another length.
    """
    if len(body) != int(np.prod(shape)) * kind.itemsize:
        raise ProtocolError(who, f"sent {len(body):,} bytes where an array of {shape} was due")
    return np.frombuffer(body, kind).reshape(shape)


def cut(body: bytes, pieces: int, size: int, who: int) -> list[bytes]:
    """Return a body in pieces of one size.

    Raises:
        ProtocolError: it is not made of so many.
    """
    if len(body) != pieces * size:
        raise ProtocolError(who, f"sent {len(body):,} bytes where {pieces:,} x {size:,} were due")
    return [body[at : at + size] for at in range(0, len(body), size)]
