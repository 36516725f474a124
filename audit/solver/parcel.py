"""A job as it travels to another process: its own bytes, and what many jobs share, which goes there once."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from treewarden.ppdm_models.errors import TreewardenError

Data = TypeVar("Data")
Result = TypeVar("Result")

HELD: dict[str, Any] = {}
"""What this process was given that jobs share, by key: all that the last job needs."""


class Common(Generic[Data]):
    """Data that many jobs carry: it goes to each process once, however many jobs of the call are done there."""

    def __init__(self, value: Data) -> None:
        self.value = value
        self.key = os.urandom(16).hex()

    @cached_property
    def data(self) -> bytes:
        """The bytes that travel."""
        return pickle.dumps(self.value, pickle.HIGHEST_PROTOCOL)


@dataclass(frozen=True, slots=True)
class Parcel:
    """A job's bytes, and those of what it shares with others, by key."""

    job: bytes
    common: Mapping[str, bytes]

    def without(self, keys: frozenset[str]) -> Parcel:
        """Return the same for a process that holds some of it already."""
        left = {key: data for key, data in self.common.items() if key not in keys}
        return Parcel(self.job, left)


def done(job: Callable[[], Result]) -> Result | TreewardenError:
    """Return what a job returns, or the error it raises."""
    try:
        return job()
    except TreewardenError as error:
        return error


def packed(job: Callable[[], object]) -> Parcel:
    """Return a job as it travels."""
    file = io.BytesIO()
    pickler = _Pickler(file, pickle.HIGHEST_PROTOCOL)
    pickler.dump(job)
    return Parcel(file.getvalue(), {each.key: each.data for each in pickler.common})


def unpacked(job: bytes, new: Mapping[str, bytes], keys: frozenset[str]) -> Callable[[], Any]:
    """Return the job that arrives with what is ``new`` of all the data it shares; no other data is held any longer."""
    for key in HELD.keys() - keys:
        del HELD[key]
    HELD.update({key: pickle.loads(data) for key, data in new.items()})
    found: Callable[[], Any] = pickle.loads(job)
    return found


class _Pickler(pickle.Pickler):
    """Writes a key in place of what jobs share, and notes it."""

    def __init__(self, file: io.BytesIO, protocol: int) -> None:
        super().__init__(file, protocol)
        self.common: list[Common[Any]] = []

    def reducer_override(self, value: object) -> Any:  # noqa: ANN401  # as pickle says it
        if not isinstance(value, Common):
            return NotImplemented
        self.common.append(value)
        return _held, (value.key,)


def _held(key: str) -> Common[Any]:
    found: Common[Any] = Common(HELD[key])
    found.key = key
    return found
