"""Bytes on their way into the vault: sealed as they come, there whole or not at all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from treewarden.service.errors import TooLargeError
from treewarden.service.ids import new_id
from treewarden.service.vault.sealing import ChunkSealer, new_key, wrapped
from treewarden.service.vault.store import SealedWriter, Store


@dataclass(frozen=True, slots=True)
class Stored:
    """Bytes that were put into the vault: a new id, their digest and number, and their key as it may be kept."""

    id: str
    digest: str
    size: int
    sealed_key: bytes


class Receiving:
    """Bytes on their way into the vault, at most ``most`` of them; use it as a context."""

    def __init__(self, store: Store, master: bytes, most: int) -> None:
        self._store, self._master, self._most = store, master, most
        self._key, self._digest, self._size = new_key(), hashlib.sha256(), 0
        self._sealer, self._id = ChunkSealer(self._key), new_id()
        self._writer: SealedWriter | None = None

    def __enter__(self) -> Receiving:
        return self.open()

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self) -> Receiving:
        """Begin a file; whoever does not use a context closes it.

        Raises:
            UnavailableError: nothing more can be kept.
        """
        self._writer = self._store.begin(self._id)
        return self

    def take(self, chunk: bytes) -> None:
        """Seal a piece and write it.

        Raises:
            TooLargeError: it is too much by now.
            UnavailableError: nothing more can be kept.
        """
        self._size += len(chunk)
        if self._size > self._most:
            problem = f"holds more than {self._most:,} bytes; send less, or have the limit raised"
            raise TooLargeError("body", problem)
        self._digest.update(chunk)
        self._begun().write(self._sealer.update(chunk))

    def stored(self) -> Stored:
        """Keep the file.

        Raises:
            UnavailableError: nothing more can be kept.
        """
        digest = self._digest.hexdigest()
        self._begun().write(self._sealer.finish())
        self._begun().finish(digest)
        return Stored(self._id, digest, self._size, wrapped(self._key, self._master))

    def close(self) -> None:
        """Remove what was not kept."""
        if self._writer is not None:
            self._writer.abandon()

    def _begun(self) -> SealedWriter:
        assert self._writer is not None, "open it first"
        return self._writer
