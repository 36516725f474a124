"""JSON from strangers: bounded in bytes, depth and size, no key twice, and every complaint with its place."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError

DEPTH = 2 * limits.DEPTH + 32
"""The deepest nesting: a nested node takes two levels, an object and the list it stands in."""

CONTAINERS = 2_000_000
"""The most objects and lists of one file."""

STEPS = np.array([(byte in b"[{") - (byte in b"]}") for byte in range(256)], dtype=np.int8)
"""What each byte adds to the depth."""

PLAIN = bytes(byte for byte in range(256) if byte not in b'[]{}":')
"""The bytes that neither nest, nor open or close a text, nor end a key."""

OPENING = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*"')

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
        TreeFormatError: not JSON, too large, nested more than ``depth`` deep, a key occurs twice in one object, or a
            whole number has thousands of digits.
    """
    if len(data) > limits.BYTES:
        raise TreeFormatError(
            source, f"larger than the limit of {limits.BYTES:,} bytes; train a smaller model"
        )
    keys = _check_nesting(data, source, depth)
    constant = float if allow_nan else _no_constant
    counter = _Counter()
    try:
        text = data.decode("utf-8-sig")
        found: object = json.loads(text, object_hook=counter, parse_constant=constant)
        if (
            counter.keys < keys and not allow_twins
        ):  # some key stands twice: read again, to say which
            json.loads(text, object_pairs_hook=_without_twins, parse_constant=constant)
        return found
    except ValueError as error:
        raise TreeFormatError(
            source, f"the file is incomplete or damaged (not valid JSON: {error})"
        ) from error
    except RecursionError as error:  # the caller itself stands near the end of the stack
        raise TreeFormatError(
            source, "the JSON nests too deep for the memory that is left"
        ) from error


def opens_json(data: bytes) -> bytes:
    """Return the first byte of what may be JSON, past a byte order mark and blanks: ``b"{"``, ``b"["`` or others."""
    return data[:64].removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")[:1]


def is_json(data: bytes) -> bool:
    """Whether bytes open like a JSON object, or a list of them, and so hold nothing that was printed as text."""
    return OPENING.match(data) is not None


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
        raise refused(
            source, steps, f"the value is {_brief_value(value)}, but must be an object ({{…}})"
        )
    return value


def as_list(value: object, source: str, steps: Steps) -> list[object]:
    """Return the value as a list."""
    if not isinstance(value, list):
        raise refused(
            source, steps, f"the value is {_brief_value(value)}, but must be a list ([…])"
        )
    return value


def as_text(value: object, source: str, steps: Steps) -> str:
    """Return the value as text."""
    if not isinstance(value, str):
        raise refused(source, steps, f"the value is {_brief_value(value)}, but must be text")
    return value


def as_number(value: object, source: str, steps: Steps) -> float:
    """Return the value as a finite number."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value) if abs(value) < 1e300 or isinstance(value, float) else math.inf
        if math.isfinite(number):
            return number
    raise refused(source, steps, f"the value is {_brief_value(value)}, but must be a finite number")


def as_whole(value: object, source: str, steps: Steps, *, low: int = 0, high: int = 2**53) -> int:
    """Return the value as a whole number in ``[low, high]``."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return value
    raise refused(
        source,
        steps,
        f"the value is {_brief_value(value)}, but must be a whole number from {low} to {high}",
    )


def nesting(data: bytes) -> tuple[int, int, int]:
    """Return how deep the objects and lists of JSON nest, how many there are, and how many keys all have together."""
    if b"\\" in data:
        data = _without_escapes(data)
    marks = np.frombuffer(data.translate(None, PLAIN), np.uint8)
    in_text = np.logical_xor.accumulate(marks == ord('"'))
    marks = marks[~in_text]
    steps = STEPS[marks]
    deepest = int(np.cumsum(steps, dtype=np.int32).max(initial=0))
    return deepest, int(np.count_nonzero(steps)) // 2, int(np.count_nonzero(marks == ord(":")))


def _check_nesting(data: bytes, source: str, depth: int) -> int:
    """Refuse what nests too deep, or holds too many objects and lists, before anything recurses into it.

    Return how many keys all objects have together.
    """
    deepest, containers, keys = nesting(data)
    if containers > CONTAINERS:
        raise TreeFormatError(
            source,
            f"contains more than {CONTAINERS:,} objects and lists, which is "
            "the limit; train a smaller model",
        )
    if deepest > depth:
        raise TreeFormatError(
            source,
            f"rejected for security: the JSON nests too deep ({deepest:,} levels, at most {depth} are read)",
        )
    return keys


def _without_escapes(data: bytes) -> bytes:
    """Return the bytes without escaped pairs, so that each quotation mark left opens or closes a text."""
    return data.replace(b"\\\\", b"").replace(b'\\"', b"")


class _Counter:
    """Counts the keys of all objects that are read, each once."""

    __slots__ = ("keys",)

    def __init__(self) -> None:
        self.keys = 0

    def __call__(self, entries: dict[str, object]) -> dict[str, object]:
        self.keys += len(entries)
        return entries


def _without_twins(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {twice[:80]!r} occurs twice in one object")
    return found


def _no_constant(token: str) -> float:
    raise ValueError(f"{token} is not a number in JSON")


def _brief_value(value: object) -> str:
    """Return the value in a few words; never a number of thousands of digits in full."""
    if isinstance(value, dict | list):
        return "an object ({…})" if isinstance(value, dict) else "a list ([…])"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > 10**30:
        return "a number of many digits"
    return repr(value)[:60]


# A value inside parsed JSON that knows its place: asked for a type, it gives that type or says where it does not.


@dataclass(frozen=True, slots=True)
class JsonPart:
    """One value and the keys that lead to it; each method raises TreeFormatError where the value is another type."""

    value: object
    source: str
    steps: tuple[str | int, ...] = ()

    @property
    def where(self) -> str:
        """The place, for messages: ``model.json: /trees/0``."""
        place = self.pointer
        return f"{self.source}: {place}" if place else self.source

    @property
    def pointer(self) -> str:
        """The place in the file as a JSON pointer."""
        return pointer(self.steps)

    def refused(self, problem: str) -> TreeFormatError:
        """Return the error that this value is wrong."""
        return refused(self.source, self.steps, problem)

    def get(self, key: str) -> JsonPart | None:
        """Return an entry of an object; None where it is absent or null."""
        value = as_object(self.value, self.source, self.steps).get(key)
        return None if value is None else JsonPart(value, self.source, (*self.steps, key))

    def __getitem__(self, key: str) -> JsonPart:
        json_part = self.get(key)
        if json_part is None:
            raise self.refused(f"{key!r} is missing")
        return json_part

    def __iter__(self) -> Iterator[JsonPart]:
        for index, value in enumerate(as_list(self.value, self.source, self.steps)):
            yield JsonPart(value, self.source, (*self.steps, index))

    def __bool__(self) -> bool:
        return True  # it is there, whatever it holds

    def __len__(self) -> int:
        return len(as_list(self.value, self.source, self.steps))

    def at(self, index: int) -> JsonPart:
        """Return an item of a list."""
        items = as_list(self.value, self.source, self.steps)
        if not 0 <= index < len(items):
            raise self.refused(f"no item {index}: the list has {len(items)} items")
        return JsonPart(items[index], self.source, (*self.steps, index))

    def entries(self) -> Iterator[tuple[str, JsonPart]]:
        """Yield the keys and values of an object."""
        for key, value in as_object(self.value, self.source, self.steps).items():
            yield key, JsonPart(value, self.source, (*self.steps, key))

    @property
    def is_list(self) -> bool:
        """Whether the value is a list."""
        return isinstance(self.value, list)

    @property
    def is_object(self) -> bool:
        """Whether the value is an object."""
        return isinstance(self.value, dict)

    def text(self) -> str:
        """Return the value as text."""
        return as_text(self.value, self.source, self.steps)

    def label(self) -> str:
        """Return text, a number or a truth value as the text that names a class or a category."""
        if isinstance(self.value, bool):
            return "true" if self.value else "false"
        if isinstance(self.value, int | float):
            number = self.number()
            return str(int(number)) if number == int(number) else repr(number)
        return self.text()

    def number(self) -> float:
        """Return the value as a finite number."""
        return as_number(self.value, self.source, self.steps)

    def single(self) -> float:
        """Return the value as the 32-bit number it was before it was written."""
        with np.errstate(over="ignore"):
            number = float(np.float32(self.number()))
        if np.isinf(number):
            raise self.refused("this number does not fit in 32 bits")
        return number

    def amount(self) -> float:
        """Return the value as a finite number that is not negative."""
        number = self.number()
        if number < 0:
            raise self.refused("this count of records is negative")
        return number

    def whole(self, *, low: int = 0, high: int = 2**53) -> int:
        """Return the value as a whole number in ``[low, high]``."""
        return as_whole(self.value, self.source, self.steps, low=low, high=high)

    def flag(self) -> bool:
        """Return the value as a truth value, also where it is written 0 or 1."""
        if isinstance(self.value, bool) or self.value in (0, 1):
            return bool(self.value)
        raise self.refused("the value must be true or false")

    def numbers(self) -> tuple[float, ...]:
        """Return a list of finite numbers, or one number as such a list."""
        return tuple(item.number() for item in self) if self.is_list else (self.number(),)


def read_part(data: bytes, source: str) -> JsonPart:
    """Return the JSON value in the bytes.

    Raises:
        TreeFormatError: as for ``read_json``.
    """
    return JsonPart(read_json(data, source), source)


# On which line of a JSON file each entry of a list begins, for messages that point into the file.

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
