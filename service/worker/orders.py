"""Orders and answers between a worker and a job's process: JSON and bytes, length by length, never a pickle.

No path in an order is one that the process chooses.
"""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Literal

from pydantic import Field

from treewarden.reports.document.words import Word
from treewarden.service.schemas.base import Body

READ = "model and table are read"
"""The stage from which on a job may take as long as an audit; before it, only as long as reading may."""


class SealedFile(Body):
    """A file of the vault and its key, as 64 letters 0-9 a-f; ``name`` is what it is called in messages.

    ``place`` is where this machine has its sealed bytes, "" before they are fetched.
    """

    blob_id: str
    place: str = ""
    key: str = Field(repr=False)
    name: str
    digest: str


class PlainFile(Body):
    """A file below an allowed folder; ``digest`` is what it was when it was first read, "" before that."""

    path: str
    roots: tuple[str, ...]
    most: int
    name: str
    digest: str = ""


class SearchLimits(Body):
    """How far a repair searches: it ends ``seconds`` after it began.

    ``tries_all``: whether changes too that cost more than one that passes are tried.
    """

    seconds: float | None = None
    tries_all: bool = False


class FurtherFiles(Body):
    """The files of an audit beside model and table.

    ``candidates`` is the register of everybody who may be in the table, ``outputs`` are published with the model,
    ``dictionary`` says what columns are called, and ``domain``, a TOML text, which values are public.
    """

    candidates: SealedFile | PlainFile | None = None
    outputs: tuple[SealedFile | PlainFile, ...] = ()
    dictionary: SealedFile | PlainFile | None = None
    domain: str = ""


class JobOrder(Body):
    """One job. ``other`` is the second model of a comparison; ``is_internal``: whether full reports are wanted too.

    ``further`` are the files beside model and table, ``limits`` how far a repair searches. An output or a dictionary is
    inspected in place of the table.
    """

    kind: Literal[
        "inspect_model",
        "inspect_table",
        "inspect_output",
        "inspect_dictionary",
        "audit",
        "repair",
        "compare",
    ]
    model: SealedFile | None = None
    other: SealedFile | None = None
    table: SealedFile | PlainFile | None = None
    further: FurtherFiles = FurtherFiles()
    model_name: str = ""
    pack: str = ""
    pack_name: str = ""
    knowledge: str = ""
    waivers: str = ""
    options: dict[str, Any] = Field(default_factory=dict)
    purpose: str = ""
    today: str = ""
    is_internal: bool = False
    limits: SearchLimits = SearchLimits()


class KeptFile(Body):
    """A file of an answer, in their order: a report, or the model that the proposal of the number ``form`` makes."""

    kind: Literal["internal", "public", "repaired"]
    form: str


class Proposed(Body):
    """A change that a repair tried. ``cost`` is in words, by what is lost; ``file_name`` is what its file is called."""

    name: str
    title: str
    remedies: tuple[str, ...]
    verdict: Word
    is_recommended: bool
    cost: dict[str, str]
    failing: tuple[str, ...]
    problem: str
    file_name: str = ""


class JobAnswer(Body):
    """What came of a job. ``problem`` says why nothing did; ``kept`` names the files that come along."""

    problem: str = ""
    summary: dict[str, Any] | None = None
    format: str = ""
    columns: tuple[dict[str, str], ...] | None = None
    records: int | None = None
    digest: str = ""
    trees: tuple[str, ...] | None = None
    verdict: Word | None = None
    headline: str = ""
    entry: dict[str, Any] | None = None
    provenance: dict[str, Any] | None = None
    kept: tuple[KeptFile, ...] = ()
    proposals: tuple[Proposed, ...] = ()
    repair_summary: dict[str, Any] | None = None


MEBIBYTE = 2**20
MOST_HEADER = 64 * MEBIBYTE
MOST_FILE = 512 * MEBIBYTE
"""Bytes of all files of a frame together: they are held in the worker's memory, which others need too."""
MOST_FILES = 64
_LENGTH = struct.Struct("!Q")


class FrameError(Exception):
    """The other side does not say what it should; its process is no good any more."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One thing that is said, with the bytes that go along."""

    said: Mapping[str, Any]
    files: tuple[bytes, ...] = ()


def send(connection: Connection, message: Mapping[str, Any], files: Sequence[bytes] = ()) -> None:
    """Say something."""
    head = json.dumps({"files": len(files), "said": dict(message)}).encode()
    for each in (head, *files):
        for part in (_LENGTH.pack(len(each)), each):
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(connection.fileno(), rest) :]


def receive(connection: Connection) -> Frame:
    """Return what the other side says next, however long that takes.

    Raises:
        EOFError: it is gone.
        FrameError: it is too much, or nothing that is understood.
    """
    incoming = Incoming(connection)
    while (frame := incoming.heard(None)) is None:
        pass
    return frame


class Incoming:
    """Reads what the other side says as it comes: whoever stops in the middle of it keeps nobody waiting."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._bytes = bytearray()
        self._said: Mapping[str, Any] | None = None
        self._files: list[bytes] = []
        self._number = 0

    def heard(self, seconds: float | None) -> Frame | None:
        """Return what was said, if all of it came within some seconds; None is for as long as it takes to hear more.

        Raises:
            EOFError: the other side is gone.
            FrameError: it is too much, or nothing that is understood.
        """
        frame = self._whole()
        if frame is None and self._connection.poll(seconds):
            more = os.read(self._connection.fileno(), MEBIBYTE)
            if not more:
                raise EOFError
            self._bytes += more
            frame = self._whole()
        return frame

    def _whole(self) -> Frame | None:
        """Return the next frame, if all of it is there."""
        if self._said is None:
            head = self._part(MOST_HEADER)
            if head is None:
                return None
            self._number, self._said = _head(head)
        while len(self._files) < self._number:
            file = self._part(MOST_FILE - sum(map(len, self._files)))
            if file is None:
                return None
            self._files.append(file)
        frame = Frame(self._said, tuple(self._files))
        self._said, self._files = None, []
        return frame

    def _part(self, most: int) -> bytes | None:
        """Return the next bytes that belong together, if they are there."""
        if len(self._bytes) < _LENGTH.size:
            return None
        (length,) = _LENGTH.unpack_from(self._bytes)
        if length > most:
            raise FrameError("too much")
        end = _LENGTH.size + length
        if len(self._bytes) < end:
            return None
        part = bytes(memoryview(self._bytes)[_LENGTH.size : end])
        del self._bytes[:end]
        return part


def _head(head: bytes) -> tuple[int, Mapping[str, Any]]:
    try:
        told = json.loads(head)
        number, said = told["files"], told["said"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FrameError(type(error).__name__) from error
    if not isinstance(number, int) or not 0 <= number <= MOST_FILES or not isinstance(said, dict):
        raise FrameError("a head of the wrong form")
    return number, said
