"""The parts of a skops file: a JSON description of Python objects, looked at and never built."""

from __future__ import annotations

import math
import tokenize
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import (
    Steps,
    as_list,
    as_object,
    as_text,
    pointer,
    read_json,
    refused,
)
from treewarden.ppdm_models.limits import entries

# Reads NumPy's array files: the header is held against the bytes before any memory is taken; nothing is unpickled.

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
        raise TreeFormatError(
            where, f"this kind of NumPy array is not supported ({said})"
        ) from error
    return array


def _check_header(data: bytes, where: str) -> None:
    """Check that the header asks for no more than the bytes at hand, and for numbers and texts alone.

    Raises:
        TreeFormatError: it does; or one of ``DAMAGE``, where it is no header.
    """
    file = BytesIO(data)
    version = npy.read_magic(file)
    if version not in HEADERS:
        raise TreeFormatError(where, f"the NumPy array has the unknown version {version}")
    shape, _, dtype = HEADERS[version](file, max_header_size=HEADER_CHARACTERS)
    if not _is_plain(dtype):
        raise TreeFormatError(
            where,
            "this kind of NumPy array is not supported (it contains objects, or "
            "something that is neither number nor text)",
        )
    rest = len(data) - file.tell()
    if len(shape) > MOST_AXES or min(shape, default=0) < 0:
        raise TreeFormatError(where, "the shape of the NumPy array is not valid")
    if math.prod(shape) * dtype.itemsize != rest:
        raise TreeFormatError(where, "the size of the NumPy array differs from its header")


def _is_plain(dtype: np.dtype[np.generic]) -> bool:
    """Return whether a type is one of numbers or texts, or of named fields that are."""
    if dtype.fields is not None:
        parts = [field[0] for field in dtype.fields.values()]
        return all(part.names is None and _is_plain(part) for part in parts) and dtype.itemsize > 0
    if dtype.subdtype is not None or dtype.itemsize == 0:
        return False
    return dtype.kind in BYTES or (dtype.kind in NUMBERS and dtype.itemsize <= LARGEST_NUMBER_BYTES)


# A described Python object of scikit-learn: what a reader may ask of it, in a file or in memory.


class SkopsPart(ABC):
    """One described object; ``source`` names the file or the estimator, and ``steps`` lead to the object in it."""

    __slots__ = ()

    @property
    @abstractmethod
    def source(self) -> str:
        """What holds the object, for messages."""

    @property
    @abstractmethod
    def place(self) -> tuple[str | int, ...]:
        """The steps that lead to the object."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of its class."""

    @property
    @abstractmethod
    def module(self) -> str:
        """The name of the module of its class."""

    @property
    @abstractmethod
    def loader(self) -> str:
        """What skops would build it with: an ObjectNode, JsonNode, NdArrayNode, ListNode, DictNode or another."""

    @abstractmethod
    def refused(self, problem: str) -> TreeFormatError:
        """Return the error for this place."""

    @abstractmethod
    def attributes(self) -> Mapping[str, SkopsPart]:
        """Return the attributes of an object, or the entries of a dictionary."""

    @abstractmethod
    def items(self) -> Sequence[SkopsPart]:
        """Return the items of a list or tuple, or those of an array of objects (flattened)."""

    @abstractmethod
    def plain(self) -> object:
        """Return a number, text, None or array; None too where it is an object of another kind."""

    @abstractmethod
    def array(self) -> Array:
        """Return the array.

        Raises:
            TreeFormatError: it is no array, or it is damaged.
        """

    @abstractmethod
    def place_of(self, attribute: str) -> str:
        """Return where an attribute of the object stands, as a JSON pointer."""


SCHEMA = "schema.json"


@dataclass(frozen=True, slots=True)
class FilePart(SkopsPart):
    """One described object of a file, and where in schema.json it stands."""

    archive: Archive
    raw: Mapping[str, object]
    steps: tuple[str | int, ...]

    @property
    def source(self) -> str:
        return self.archive.source

    @property
    def place(self) -> tuple[str | int, ...]:
        return self.steps

    @property
    def kind(self) -> str:
        return str(self.raw.get("__class__"))

    @property
    def module(self) -> str:
        return str(self.raw.get("__module__"))

    @property
    def loader(self) -> str:
        return str(self.raw.get("__loader__"))

    def place_of(self, attribute: str) -> str:
        return pointer((*self.steps, "content", "content", attribute))

    def refused(self, problem: str) -> TreeFormatError:
        return refused(f"{self.archive.source}/{SCHEMA}", self.steps, problem)

    def attributes(self) -> dict[str, FilePart]:
        part = self
        if self.loader != "DictNode" and isinstance(self.raw.get("content"), dict):
            part = self.child(self.raw["content"], "content")
        found = as_object(part.raw.get("content"), self.archive.source, (*part.steps, "content"))
        return {
            name: part.child(value, "content", name)
            for name, value in found.items()
            if isinstance(value, dict)
        }

    def items(self) -> list[FilePart]:
        if self.loader != "NdArrayNode":
            return self._listed()
        pending = self._listed()[::-1]
        file_parts: list[FilePart] = []
        while pending:
            part = pending.pop()
            if part.loader == "ListNode":
                pending.extend(reversed(part._listed()))
            else:
                file_parts.append(part)
        return file_parts

    def _listed(self) -> list[FilePart]:
        listed = as_list(self.raw.get("content"), self.archive.source, (*self.steps, "content"))
        return [self.child(item, "content", place) for place, item in enumerate(listed)]

    def child(self, raw: object, *steps: str | int) -> FilePart:
        """Return a described object inside this one."""
        place: Steps = (*self.steps, *steps)
        return FilePart(self.archive, as_object(raw, self.archive.source, place), tuple(place))

    def plain(self) -> object:
        if self.loader == "JsonNode":
            text = as_text(self.raw.get("content"), self.archive.source, self.steps)
            return read_json(
                text.encode("utf-8", "surrogatepass"), self.archive.source, allow_nan=True
            )
        if self.loader == "NdArrayNode":
            array = self.array()
            return array.item() if array.shape == () else array
        return None

    def array(self) -> Array:
        if self.loader != "NdArrayNode":
            raise self.refused(f"a {self.kind}, but an array is expected")
        name = self.raw.get("file")
        if isinstance(name, str):
            if name not in self.archive.files:
                raise self.refused(f"names the file {name!r}, which is not in the archive")
            return read_npy(self.archive.files[name], f"{self.archive.source}/{name}")
        return np.array([_in_words(item.plain()) for item in self.items()], dtype=object)


@dataclass(frozen=True, slots=True)
class Archive:
    """The files of a skops file."""

    source: str
    files: Mapping[str, bytes]

    def root(self) -> FilePart:
        """Return the object that was saved."""
        if SCHEMA not in self.files:
            raise TreeFormatError(self.source, f"{SCHEMA} is missing, so it is not a skops file")
        raw = read_json(self.files[SCHEMA], f"{self.source}/{SCHEMA}")
        return FilePart(self, as_object(raw, f"{self.source}/{SCHEMA}", ()), ())


def open_archive(data: bytes, source: str) -> Archive:
    """Return the files in the bytes.

    Raises:
        TreeFormatError: the archive is damaged or too large.
    """
    return Archive(source, entries(data, source))


def _in_words(value: object) -> object:
    """Return a label as it is, nothing too; what cannot be one, as text."""
    is_plain = value is None or isinstance(value, str | int | float | bool)
    return value if is_plain else str(value)[:60]


# An estimator in memory, looked at in the way a skops file describes it: attributes are read, nothing is called.

PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class LivePart(SkopsPart):
    """One object in memory; the attributes of an object written in C are those that it would be saved with."""

    name: str
    value: object
    steps: tuple[str | int, ...] = ()

    @property
    def source(self) -> str:
        return self.name

    @property
    def place(self) -> tuple[str | int, ...]:
        return self.steps

    @property
    def kind(self) -> str:
        return (
            self.value.__name__ if isinstance(self.value, np.ufunc) else type(self.value).__name__
        )

    @property
    def module(self) -> str:
        return type(self.value).__module__

    @property
    def loader(self) -> str:
        if isinstance(self.value, np.ndarray | np.generic):
            return "NdArrayNode"
        if isinstance(self.value, PLAIN):
            return "JsonNode"
        if isinstance(self.value, Mapping):
            return "DictNode"
        if isinstance(self.value, np.ufunc):
            return "FunctionNode"
        return "ListNode" if isinstance(self.value, list | tuple) else "ObjectNode"

    def place_of(self, attribute: str) -> str:
        return pointer((*self.steps, attribute))

    def refused(self, problem: str) -> TreeFormatError:
        where = "/".join(map(str, (self.name, *self.steps)))
        return TreeFormatError(where, problem)

    def attributes(self) -> dict[str, LivePart]:
        found: Mapping[object, object] = (
            self.value if isinstance(self.value, Mapping) else _state(self.value)
        )
        return {str(name): self._child(value, str(name)) for name, value in found.items()}

    def items(self) -> list[LivePart]:
        if isinstance(self.value, np.ndarray):
            return [self._child(item, place) for place, item in enumerate(self.value.flat)]
        if not isinstance(self.value, list | tuple):
            raise self.refused(f"a {self.kind}, but a list is expected")
        return [self._child(item, place) for place, item in enumerate(self.value)]

    def plain(self) -> object:
        if isinstance(self.value, np.ndarray | np.generic):
            return self.value.item() if self.value.shape == () else self.value
        return self.value if isinstance(self.value, PLAIN) else None

    def array(self) -> Array:
        if not isinstance(self.value, np.ndarray | np.generic):
            raise self.refused(f"a {self.kind}, but an array is expected")
        return np.asarray(self.value)

    def _child(self, value: object, step: str | int) -> LivePart:
        return LivePart(self.name, value, (*self.steps, step))


def _state(value: object) -> Mapping[object, object]:
    """Return the attributes of an object; of one without any, as scikit-learn's trees are, what it is saved with."""
    own = getattr(value, "__dict__", None)
    state = own or (value.__getstate__() if hasattr(value, "__getstate__") else None)
    return state if isinstance(state, Mapping) else {}
