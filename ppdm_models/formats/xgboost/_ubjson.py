"""The part of UBJSON (draft 12) that XGBoost writes, read without recursion and written back byte for byte.

No library is used for it: py-ubjson publishes no wheels for Python 3.11 and later.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import numpy as np

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import CONTAINERS, DEPTH

DTYPES = {"U": ">u1", "i": ">i1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
"""The types of numbers, most significant byte first."""

WIDTHS = {code: np.dtype(name).itemsize for code, name in DTYPES.items()}
CONSTANTS = {"Z": None, "T": True, "F": False}


class Typed(list[object]):
    """A list whose numbers stand in one type, which is kept for writing it again."""

    code = ""


@dataclass(slots=True)
class _OpenContainer:
    """A container that is still being read; ``left`` counts down where its size was announced."""

    value: dict[str, object] | list[object]
    left: int | None
    key: str = field(default="")


def opens_ubjson(data: bytes) -> bool:
    """Whether the bytes start like an object of UBJSON: a brace, and the type of a key's length."""
    return data[:1] == b"{" and data[1:2] in (b"L", b"l", b"I", b"i", b"U") and len(data) > 10


def read_ubjson(data: bytes, source: str) -> object:
    """Return the value in the bytes.

    Raises:
        TreeFormatError: the bytes end too early, hold another type, nest too deep, or give a key twice.
    """
    if len(data) > limits.BYTES:
        raise TreeFormatError(
            source, f"larger than the limit of {limits.BYTES:,} bytes; train a smaller model"
        )
    try:
        return _UbjsonReader(data).value()
    except (ValueError, UnicodeDecodeError) as error:
        raise TreeFormatError(source, f"not valid UBJSON ({error})") from error


def written_ubjson(document: object) -> bytes:
    """Return a document that ``read_ubjson`` gave, as XGBoost writes it."""
    out: list[bytes] = []
    pending: list[object] = [document]
    while pending:
        part = pending.pop()
        if isinstance(part, bytes):
            out.append(part)
        elif isinstance(part, Typed):
            head = f"[${part.code}#".encode() + _length(len(part))
            out.append(head + np.array(part, dtype=DTYPES[part.code]).tobytes())
        elif isinstance(part, list):
            out.append(b"[#" + _length(len(part)))
            pending.extend(reversed(part))
        elif isinstance(part, dict):
            out.append(b"{")
            pending.append(b"}")
            for key, value in reversed(part.items()):
                pending.extend((value, _length(len(key.encode())) + key.encode()))
        else:
            out.append(_scalar(part))
    return b"".join(out)


class _UbjsonReader:
    """Goes through the bytes once."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0
        self.containers = 0

    def value(self) -> object:
        """Return the one value of the bytes."""
        stack: list[_OpenContainer] = []
        while True:
            top = stack[-1] if stack else None
            value: object
            if top is not None and self._closes(top):
                stack.pop()
                done, value = True, top.value
            else:
                if top is not None and isinstance(top.value, dict):
                    top.key = self._text()
                    if top.key in top.value:
                        raise ValueError(f"the key {top.key[:80]!r} occurs twice in one object")
                done, value = self._begins(stack)
            if not done:
                continue
            if not stack:
                if self.at < len(self.data):
                    raise ValueError("there are bytes after the end")
                return value
            self._put(stack[-1], value)

    def _closes(self, top: _OpenContainer) -> bool:
        """Whether the container ends here; steps over its end."""
        if top.left is not None:
            return top.left == 0
        end = b"}" if isinstance(top.value, dict) else b"]"
        if self.data[self.at : self.at + 1] != end:
            return False
        self.at += 1
        return True

    def _put(self, top: _OpenContainer, value: object) -> None:
        if isinstance(top.value, dict):
            top.value[top.key] = value
        else:
            top.value.append(value)
        if top.left is not None:
            top.left -= 1

    def _begins(self, stack: list[_OpenContainer]) -> tuple[bool, object]:
        """Return a value that is complete, or open a container and return that it is not."""
        code = self._take(1).decode("latin-1")
        if code in CONSTANTS:
            return True, CONSTANTS[code]
        if code == "S":
            return True, self._text()
        if code == "C":
            return True, self._take(1).decode("ascii")
        if code in DTYPES:
            return True, self._numbers(code, 1)[0]
        if code not in "[{":
            raise ValueError(f"byte {self.at:,} has the unknown type {code!r}")
        self.containers += 1
        if len(stack) >= DEPTH or self.containers > CONTAINERS:
            raise ValueError(
                "it nests too deep, or contains too many objects and lists; train a smaller model"
            )
        kind, size = self._header()
        if kind:
            if code == "{" or size is None or kind not in DTYPES:
                raise ValueError(
                    f"byte {self.at:,} begins a container of the unsupported type {kind!r}"
                )
            typed = Typed(self._numbers(kind, size))
            typed.code = kind
            return True, typed
        stack.append(_OpenContainer({} if code == "{" else [], size))
        return False, None

    def _header(self) -> tuple[str, int | None]:
        """Return the type and the size that a container announces, where it does."""
        kind = ""
        if self.data[self.at : self.at + 1] == b"$":
            kind = self._take(2)[1:].decode("latin-1")
        if self.data[self.at : self.at + 1] != b"#":
            return kind, None
        self.at += 1
        return kind, self._size()

    def _text(self) -> str:
        return self._take(self._size()).decode()

    def _size(self) -> int:
        code = self._take(1).decode("latin-1")
        if code not in "UiIlL":
            raise ValueError(f"byte {self.at:,} has a length of the unsupported type {code!r}")
        size = int(self._numbers(code, 1)[0])
        if size < 0 or size > len(self.data):
            raise ValueError(f"byte {self.at:,} has the invalid length {size:,}")
        return size

    def _numbers(self, code: str, size: int) -> list[float]:
        raw = self._take(size * WIDTHS[code])
        found: list[float] = np.frombuffer(raw, dtype=DTYPES[code]).tolist()
        return found

    def _take(self, size: int) -> bytes:
        taken = self.data[self.at : self.at + size]
        if len(taken) < size:
            raise ValueError("the file ends too early")
        self.at += size
        return taken


def _length(size: int) -> bytes:
    return b"L" + struct.pack(">q", size)


def _scalar(value: object) -> bytes:
    if isinstance(value, str):
        return b"S" + _length(len(value.encode())) + value.encode()
    for code, constant in CONSTANTS.items():
        if value is constant:
            return code.encode()
    if isinstance(value, int):
        fitting = [
            code
            for code in "iIlL"
            if -(1 << 8 * WIDTHS[code] - 1) <= value < 1 << 8 * WIDTHS[code] - 1
        ]
        return fitting[0].encode() + np.array(value, DTYPES[fitting[0]]).tobytes()
    return b"d" + np.array(value, DTYPES["d"]).tobytes()
