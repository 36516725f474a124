"""JSON from strangers: bounded in bytes, depth and size, no key twice, and every complaint with its place."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np

from ppdm_models import limits
from ppdm_models.errors import TreeFormatError

DEPTH = 2 * limits.DEPTH + 32
"""The deepest nesting: a nested node takes two levels, an object and the list it stands in."""

CONTAINERS = 2_000_000
"""The most objects and lists of one file."""

STEPS = bytes(1 if byte in b"[{" else 255 if byte in b"]}" else 0 for byte in range(256))
"""What each byte adds to the depth, as a signed byte."""

Steps = Sequence[str | int]


def read_json(
    data: bytes,
    source: str,
    *,
    allow_nan: bool = False,
    allow_twins: bool = False,
    depth: int = DEPTH,
) -> object:
    """Return the JSON value in UTF-8 bytes; numbers may still be infinite (1e999), see ``as_number``.

    ``allow_nan`` takes the tokens NaN, Infinity and -Infinity, which are no JSON; ``allow_twins`` a key that stands
    twice in one object, where the last one counts.

    Raises:
        TreeFormatError: not JSON, too large, nested more than ``depth`` deep, a key stands twice in one object, or a
            whole number has thousands of digits.
    """
    if len(data) > limits.BYTES:
        raise TreeFormatError(source, f"more than the {limits.BYTES:,} bytes that are read")
    _check_nesting(data, source, depth)
    constant = float if allow_nan else _no_constant
    try:
        text = data.decode("utf-8-sig")
        pairs_to = dict if allow_twins else _without_twins
        return json.loads(text, object_pairs_hook=pairs_to, parse_constant=constant)
    except ValueError as error:
        raise TreeFormatError(source, f"not JSON that can be read ({error})") from error
    except RecursionError as error:  # the caller itself stands near the end of the stack
        raise TreeFormatError(source, "the JSON nests too deep for what is left here") from error


def opens_json(data: bytes) -> bytes:
    """Return the first byte of what may be JSON, past a byte order mark and blanks: ``b"{"``, ``b"["`` or others."""
    return data[:64].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1]


def written_json(document: object, like: bytes) -> bytes:
    """Return a document as JSON in the manner of its file: indented where that has several lines, ASCII where it is."""
    lines = b"\n" in like.strip()
    text = json.dumps(
        document,
        ensure_ascii=like.isascii()
        or b"\\ud" in like.lower(),  # half a character cannot be said in UTF-8
        indent=2 if lines else None,
        separators=(",", ": " if lines else ":"),
    )
    return text.encode() + (b"\n" if lines else b"")


def pointer(steps: Steps) -> str:
    """Return the place as a JSON pointer (RFC 6901): ``/learner/attributes``."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in steps)


def refused(source: str, steps: Steps, problem: str) -> TreeFormatError:
    """Return the error for a place in the file: ``model.json: /trees/3/leaf: not a number``."""
    place = pointer(steps)
    return TreeFormatError(f"{source}: {place}" if place else source, problem)


def as_object(value: object, source: str, steps: Steps) -> dict[str, object]:
    """Return the value as an object; ``as_list``, ``as_text``, ``as_number`` and ``as_whole`` do so for others.

    Raises:
        TreeFormatError: it is something else.
    """
    if not isinstance(value, dict):
        raise refused(source, steps, f"{_shown(value)}, where an object should be")
    return value


def as_list(value: object, source: str, steps: Steps) -> list[object]:
    """Return the value as a list."""
    if not isinstance(value, list):
        raise refused(source, steps, f"{_shown(value)}, where a list should be")
    return value


def as_text(value: object, source: str, steps: Steps) -> str:
    """Return the value as text."""
    if not isinstance(value, str):
        raise refused(source, steps, f"{_shown(value)}, where text should be")
    return value


def as_number(value: object, source: str, steps: Steps) -> float:
    """Return the value as a finite number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) < 1e300 or isinstance(value, float) else math.inf
        if math.isfinite(number):
            return number
    raise refused(source, steps, f"{_shown(value)}, where a finite number should be")


def as_whole(value: object, source: str, steps: Steps, *, low: int = 0, high: int = 2**53) -> int:
    """Return the value as a whole number in ``[low, high]``."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise refused(
        source, steps, f"{_shown(value)}, where a whole number from {low} to {high} should be"
    )


def nesting(data: bytes) -> tuple[int, int]:
    """Return how deep the objects and lists of JSON nest, and how many there are."""
    if b"\\" in data:
        data = _without_escapes(data)
    in_text = np.cumsum(np.frombuffer(data, np.uint8) == ord('"'), dtype=np.uint8) & 1
    steps = np.frombuffer(data.translate(STEPS), np.int8)
    steps = steps[(steps != 0) & (in_text == 0)]
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0)), len(steps) // 2


def _check_nesting(data: bytes, source: str, depth: int) -> None:
    """Refuse what nests too deep, or holds too many objects and lists, before anything recurses into it."""
    deepest, containers = nesting(data)
    if containers > CONTAINERS:
        raise TreeFormatError(source, f"holds more than {CONTAINERS:,} objects and lists")
    if deepest > depth:
        raise TreeFormatError(
            source,
            f"hostile: the JSON nests too deep ({deepest:,} levels, at most {depth} are read)",
        )


def _without_escapes(data: bytes) -> bytes:
    """Return the bytes without escaped pairs, so that each quotation mark left opens or closes a text."""
    return data.replace(b"\\\\", b"").replace(b'\\"', b"")


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:80]!r} stands twice in one object")
    return found


def _no_constant(token: str) -> float:
    raise ValueError(f"{token} is no number in JSON")


def _shown(value: object) -> str:
    """Return the value in a few words; never a number of thousands of digits in full."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a number of many digits"
    return repr(value)[:60]
