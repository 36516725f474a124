"""A file of the vault that is being written: put in its place when it is whole, gone otherwise.

Who writes one holds a lock on it, which the operating system lets go with the process: so whatever is not locked was
left by somebody who died, and may be removed at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from service.errors import TooLargeError, UnavailableError
from service.ids import new_id
from service.vault.sealing import Sealer, new_key, wrapped

INCOMING = "incoming"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that were put into the vault: a new id, their digest and number, and their key as it may be kept."""

    id: str
    digest: str
    size: int
    sealed_key: bytes


class Receiving:
    """Bytes on their way into the vault, at most ``most`` of them; use it as a context."""

    def __init__(self, folder: Path, master: bytes, most: int) -> None:
        self._folder, self._master, self._most = folder, master, most
        self._key, self._digest, self._size = new_key(), hashlib.sha256(), 0
        self._sealer = Sealer(self._key)

    def __enter__(self) -> Receiving:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> Receiving:
        """Begin a file; whoever does not use a context closes it.

        Raises:
            UnavailableError: the folder takes no more.
        """
        try:
            self._part, self._file = _new_part(self._folder / INCOMING)
        except OSError as error:
            raise full(error) from error
        return self

    def take(self, chunk: bytes) -> None:
        """Seal a piece and write it.

        Raises:
            TooLargeError: it is too much by now.
            UnavailableError: the disk takes no more.
        """
        self._size += len(chunk)
        if self._size > self._most:
            problem = f"holds more than {self._most:,} bytes; send less, or have the limit raised"
            raise TooLargeError("body", problem)
        self._digest.update(chunk)
        self._write(self._sealer.update(chunk))

    def stored(self) -> Stored:
        """Put the file in its place, so that a loss of power cannot take it away.

        Raises:
            UnavailableError: the disk takes no more.
        """
        self._write(self._sealer.finish())
        made, digest = new_id(), self._digest.hexdigest()
        place = place_of(self._folder, made, digest)
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            place.parent.mkdir(mode=0o700, exist_ok=True)
            self._part.rename(place)
            for folder in (place.parent, self._folder):
                _sync(folder)
        except OSError as error:
            raise full(error) from error
        return Stored(made, digest, self._size, wrapped(self._key, self._master))

    def close(self) -> None:
        """Remove what was not put in its place."""
        with contextlib.suppress(
            OSError
        ):  # a folder that takes no change: the sweep removes it later
            self._part.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # a full disk says so once more
            self._file.close()

    def _write(self, sealed: bytes) -> None:
        try:
            self._file.write(sealed)
        except OSError as error:
            raise full(error) from error


def place_of(folder: Path, blob_id: str, digest: str) -> Path:
    """Return where the sealed bytes of a blob are."""
    return folder / digest[:2] / f"{digest}-{blob_id}"


def remove_left_parts(folder: Path) -> int:
    """Remove what was being written by processes that are gone, and return how many files that were."""
    found = 0
    for part in sorted((folder / INCOMING).iterdir()):
        with contextlib.suppress(OSError), part.open("rb") as file:  # held, or gone meanwhile
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
            found += 1
    return found


def full(error: OSError) -> UnavailableError:
    """Return how it is told that a disk takes no more."""
    problem = f"nothing more can be kept ({error.strerror}); the administrator has to look at the data folder"
    return UnavailableError("vault", problem)


def _new_part(folder: Path) -> tuple[Path, BinaryIO]:
    while True:
        part = folder / secrets.token_hex(16)
        file = os.fdopen(os.open(part, _NEW, 0o600), "wb")
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return part, file
        file.close()  # a sweep came between making and locking


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
