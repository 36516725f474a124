"""The parts of a skops file: a JSON description of Python objects, looked at and never built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.codecs.common.archive import entries
from treewarden.ppdm_models.codecs.common.json import (
    Steps,
    as_list,
    as_object,
    as_text,
    pointer,
    read_json,
    refused,
)
from treewarden.ppdm_models.codecs.skops.npy import Array, read_npy
from treewarden.ppdm_models.codecs.skops.part import Part
from treewarden.ppdm_models.errors import TreeFormatError

SCHEMA = "schema.json"


@dataclass(frozen=True, slots=True)
class FilePart(Part):
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
        found: list[FilePart] = []
        while pending:
            part = pending.pop()
            if part.loader == "ListNode":
                pending.extend(reversed(part._listed()))
            else:
                found.append(part)
        return found

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
            raise self.refused(f"a {self.kind}, where an array should be")
        name = self.raw.get("file")
        if isinstance(name, str):
            if name not in self.archive.files:
                raise self.refused(f"names a file {name!r} that is not in the archive")
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
            raise TreeFormatError(self.source, f"no {SCHEMA}, so it is no skops file")
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
