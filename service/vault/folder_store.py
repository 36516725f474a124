"""Sealed files in a folder: a file being written is put in its place when it is whole, and is gone otherwise.

Who writes one holds a lock on it, which the operating system lets go with the process: so whatever is not locked was
left by somebody who died, and may be removed at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, ClassVar

from treewarden.ppdm_models.errors import os_reason
from treewarden.service.errors import SetupError, UnavailableError

# Where the vault keeps sealed bytes: a folder, or a bucket of an object store. Nothing unsealed gets here.


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A sealed file that is kept; ``written_at`` is in seconds since 1970, by the clock of whatever keeps it."""

    blob_id: str
    digest: str
    written_at: float


class SealedWriter(ABC):
    """A sealed file on its way; nobody finds it before it is finished."""

    @abstractmethod
    def write(self, sealed: bytes) -> None:
        """Take the next bytes.

        Raises:
            UnavailableError: nothing more can be kept.
        """

    @abstractmethod
    def finish(self, digest: str) -> None:
        """Keep the file for good; ``digest`` is the SHA-256 of what it says.

        Raises:
            UnavailableError: nothing more can be kept.
        """

    @abstractmethod
    def abandon(self) -> None:
        """Remove what was written of a file that was not finished; what cannot be removed is left to the sweep."""


class Store(ABC):
    """Sealed files by the id of their blob and the digest of what they say."""

    look_seconds: ClassVar[float]
    """How often the sweep looks through all files."""
    is_shared: ClassVar[bool]
    """Whether other machines reach it without a file system of all of them."""

    @abstractmethod
    def begin(self, blob_id: str) -> SealedWriter:
        """Return what takes the bytes of a new file.

        Raises:
            UnavailableError: nothing more can be kept.
        """

    @abstractmethod
    def open(self, blob_id: str, digest: str) -> BinaryIO:
        """Return a file, to be read once from its start.

        Raises:
            FileNotFoundError: there is none.
            UnavailableError: it cannot be read just now; reading may raise that too.
        """

    @abstractmethod
    def holds(self, blob_id: str, digest: str) -> bool:
        """Return whether a file is there.

        Raises:
            UnavailableError: that cannot be told just now.
        """

    @abstractmethod
    def remove(self, blob_id: str, digest: str) -> None:
        """Remove a file; one that is gone already is no error.

        Raises:
            UnavailableError: it cannot be removed just now.
        """

    @abstractmethod
    def files(self) -> Iterator[tuple[StoredFile, ...]]:
        """Yield all files, some at a time, those too that a writer left behind in an interrupted upload.

        Raises:
            UnavailableError: they cannot be listed just now.
        """

    @abstractmethod
    def problem(self) -> str:
        """Return why files cannot be kept just now, "" where they can; for everybody, so it names no place."""

    @abstractmethod
    def check(self) -> None:
        """Write, read and remove a small file.

        Raises:
            SetupError: that is not possible as the store is set up.
        """


INCOMING = "incoming"
FULL = "is full; free some space"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class FolderStore(Store):
    """A folder on a disk, or on a file system that all machines mount."""

    look_seconds: ClassVar[float] = 60.0
    is_shared: ClassVar[bool] = False

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, blob_id: str) -> SealedWriter:
        return _FileWriter(self.folder, blob_id)

    def open(self, blob_id: str, digest: str) -> BinaryIO:
        try:
            return place_of(self.folder, blob_id, digest).open("rb")
        except FileNotFoundError:
            raise
        except OSError as error:
            raise UnavailableError("vault", f"{os_reason(error)}; check the data folder") from error

    def holds(self, blob_id: str, digest: str) -> bool:
        return place_of(self.folder, blob_id, digest).exists()

    def remove(self, blob_id: str, digest: str) -> None:
        try:
            place_of(self.folder, blob_id, digest).unlink(missing_ok=True)
        except OSError as error:
            raise UnavailableError("vault", f"{os_reason(error)}; check the data folder") from error

    def files(self) -> Iterator[tuple[StoredFile, ...]]:
        try:
            for folder in sorted(self.folder.iterdir()):
                if folder.name != INCOMING and folder.is_dir():
                    yield tuple(filter(None, map(_stored, folder.iterdir())))
        except OSError as error:
            raise UnavailableError("vault", f"{os_reason(error)}; check the data folder") from error

    def problem(self) -> str:
        return folder_problem(self.folder)

    def check(self) -> None:
        found = self.problem()
        if found and found != FULL:  # the sweep of a worker makes room again
            raise SetupError(str(self.folder), f"{found}; name another --data-dir")


class _FileWriter(SealedWriter):
    def __init__(self, folder: Path, blob_id: str) -> None:
        self._folder, self._blob_id = folder, blob_id
        try:
            self._part, self._file = new_part(folder)
        except OSError as error:
            raise full(error) from error

    def write(self, sealed: bytes) -> None:
        try:
            self._file.write(sealed)
        except OSError as error:
            raise full(error) from error

    def finish(self, digest: str) -> None:
        """Put the file in its place, so that a loss of power cannot take it away."""
        place = place_of(self._folder, self._blob_id, digest)
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            place.parent.mkdir(mode=0o700, exist_ok=True)
            self._part.rename(place)
            for folder in (place.parent, self._folder):
                _sync(folder)
        except OSError as error:
            raise full(error) from error

    def abandon(self) -> None:
        drop_part(self._part, self._file)


def place_of(folder: Path, blob_id: str, digest: str) -> Path:
    """Return where the sealed bytes of a blob are."""
    return folder / digest[:2] / f"{digest}-{blob_id}"


def new_part(folder: Path) -> tuple[Path, BinaryIO]:
    """Return a new file among those that are being written, locked, to be written.

    Raises:
        OSError: the folder takes no more.
    """
    while True:
        part = folder / INCOMING / secrets.token_hex(16)
        file = os.fdopen(os.open(part, _NEW, 0o600), "wb")
        fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return part, file
        file.close()  # a sweep came between making and locking


def drop_part(part: Path, file: BinaryIO) -> None:
    """Remove a file that is being written, where it is still one."""
    with contextlib.suppress(OSError):  # a folder that takes no change: the sweep removes it later
        part.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # a full disk says so once more
        file.close()


def remove_left_parts(folder: Path) -> int:
    """Remove what was being written by processes that are gone, and return how many files that were."""
    found = 0
    for part in sorted((folder / INCOMING).iterdir()):
        with contextlib.suppress(OSError), part.open("rb") as file:  # held, or gone meanwhile
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()
            found += 1
    return found


def folder_problem(folder: Path) -> str:
    """Return why nothing can be written into a folder of the vault, "" where it can."""
    try:
        disk = os.statvfs(folder / INCOMING)
        is_writable = os.access(folder / INCOMING, os.R_OK | os.W_OK | os.X_OK)
    except OSError:
        return "cannot be reached"
    if not is_writable or disk.f_flag & os.ST_RDONLY:
        return "cannot be written"
    return "" if disk.f_bavail else FULL


def full(error: OSError) -> UnavailableError:
    """Return how it is told that a disk takes no more."""
    problem = (
        f"nothing more can be stored ({os_reason(error)}); ask the administrator to "
        "check the data folder"
    )
    return UnavailableError("vault", problem)


def _stored(path: Path) -> StoredFile | None:
    digest, _, blob_id = path.name.rpartition("-")
    try:
        return StoredFile(blob_id, digest, path.stat().st_mtime)
    except FileNotFoundError:  # gone meanwhile
        return None


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
