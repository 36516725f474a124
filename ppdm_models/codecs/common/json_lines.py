"""On which line of a JSON file each entry of a list begins, for messages that point into the file."""

from __future__ import annotations

import re

import numpy as np

from treewarden.ppdm_models.codecs.common.json import STEPS

MOST_BYTES = 50_000_000
"""Lines are told of files up to this size."""

DROPPED = bytes(byte for byte in range(256) if byte not in b'[]{}"\n')
"""The bytes that neither nest, nor open or close a text, nor end a line."""

ESCAPED = re.compile(rb"\\.", re.DOTALL)


def lines_of_entries(data: bytes, key: str) -> tuple[int, ...]:
    """Return the line of each object or list that stands in the list of a key, the first of that name.

    Empty where there is no such list, where the file is one line, or where it is too large. The bytes are JSON.
    """
    if len(data) > MOST_BYTES or b"\n" not in data.strip():
        return ()
    data = ESCAPED.sub(b"", data)  # so that each quotation mark opens or closes a text
    found = re.search(rb'"%s"\s*:\s*\[' % re.escape(key.encode("ascii")), data)
    if found is None:
        return ()
    first = len(data[: found.end()].translate(None, DROPPED)) - 1
    marks = np.frombuffer(data.translate(None, DROPPED), np.uint8)
    is_text = np.logical_xor.accumulate(marks == ord('"'))
    steps = np.where(is_text, np.int8(0), STEPS[marks])
    depths = np.cumsum(steps, dtype=np.int32)
    ends = np.flatnonzero(depths[first:] < depths[first])
    inside = slice(first + 1, first + (int(ends[0]) if len(ends) else len(marks)))
    begins = (steps[inside] > 0) & (depths[inside] == depths[first] + 1)
    lines = np.cumsum(marks == ord("\n"), dtype=np.int32) + 1
    return tuple(lines[inside][begins].tolist())
