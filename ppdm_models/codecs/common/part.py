"""A value inside parsed JSON that knows its place: asked for a type, it gives that type or says where it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.codecs.common.json import (
    as_list,
    as_number,
    as_object,
    as_text,
    as_whole,
    pointer,
    read_json,
    refused,
)
from treewarden.ppdm_models.errors import TreeFormatError


@dataclass(frozen=True, slots=True)
class Part:
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

    def get(self, key: str) -> Part | None:
        """Return an entry of an object; None where it is absent or null."""
        value = as_object(self.value, self.source, self.steps).get(key)
        return None if value is None else Part(value, self.source, (*self.steps, key))

    def __getitem__(self, key: str) -> Part:
        found = self.get(key)
        if found is None:
            raise self.refused(f"no {key!r}; it must be there")
        return found

    def __iter__(self) -> Iterator[Part]:
        for index, value in enumerate(as_list(self.value, self.source, self.steps)):
            yield Part(value, self.source, (*self.steps, index))

    def __bool__(self) -> bool:
        return True  # it is there, whatever it holds

    def __len__(self) -> int:
        return len(as_list(self.value, self.source, self.steps))

    def at(self, index: int) -> Part:
        """Return an item of a list."""
        items = as_list(self.value, self.source, self.steps)
        if not 0 <= index < len(items):
            raise self.refused(f"no item {index}; it has {len(items)}")
        return Part(items[index], self.source, (*self.steps, index))

    def entries(self) -> Iterator[tuple[str, Part]]:
        """Yield the keys and values of an object."""
        for key, value in as_object(self.value, self.source, self.steps).items():
            yield key, Part(value, self.source, (*self.steps, key))

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
            raise self.refused("more than 32 bits can hold")
        return number

    def amount(self) -> float:
        """Return the value as a finite number that is not negative."""
        number = self.number()
        if number < 0:
            raise self.refused("negative, where records are counted")
        return number

    def whole(self, *, low: int = 0, high: int = 2**53) -> int:
        """Return the value as a whole number in ``[low, high]``."""
        return as_whole(self.value, self.source, self.steps, low=low, high=high)

    def flag(self) -> bool:
        """Return the value as a truth value, also where it is written 0 or 1."""
        if isinstance(self.value, bool) or self.value in (0, 1):
            return bool(self.value)
        raise self.refused("neither true nor false")

    def numbers(self) -> tuple[float, ...]:
        """Return a list of finite numbers, or one number as such a list."""
        return tuple(item.number() for item in self) if self.is_list else (self.number(),)


def read_part(data: bytes, source: str) -> Part:
    """Return the JSON value in the bytes.

    Raises:
        TreeFormatError: as for ``read_json``.
    """
    return Part(read_json(data, source), source)
