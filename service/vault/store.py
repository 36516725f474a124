"""Where the vault keeps sealed bytes: a folder, or a bucket of an object store. Nothing unsealed gets here."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, ClassVar


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
