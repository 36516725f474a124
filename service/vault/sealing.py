"""Seals bytes as they stream by: AES-256-GCM over chunks in order, each blob with a key of its own.

The construction is STREAM (Hoang, Reyhanitabar, Rogaway, Vizár, CRYPTO 2015): the nonce counts the chunks and its last
byte marks the final one, so that chunks cannot be left out, moved or cut off unseen.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from treewarden.service.errors import TooLargeError, UnavailableError, new_id
from treewarden.service.vault.folder_store import SealedWriter, Store

CHUNK = 64 * 1024
TAG = 16
KEY_BYTES = 32
_PREFIX = 7


def new_key() -> bytes:
    """Return a new key."""
    return secrets.token_bytes(KEY_BYTES)


class ChunkSealer:
    """Seals bytes that come in pieces of any size; at most one chunk and one piece are held at a time."""

    def __init__(self, key: bytes) -> None:
        self._cipher, self._number, self._held = AESGCM(key), 0, bytearray()

    def update(self, piece: bytes) -> bytes:
        """Return the chunks that are full by now, sealed; the last one is always kept back."""
        self._held += piece
        done = bytearray()
        while len(self._held) > CHUNK:
            done += self._sealed(self._held[:CHUNK], is_last=False)
            del self._held[:CHUNK]
        return bytes(done)

    def finish(self) -> bytes:
        """Return the last chunk, sealed."""
        return self._sealed(self._held, is_last=True)

    def _sealed(self, chunk: bytearray, *, is_last: bool) -> bytes:
        found = self._cipher.encrypt(_nonce(self._number, is_last), bytes(chunk), None)
        self._number += 1
        return found


def opened_stream(file: BinaryIO, key: bytes) -> Iterator[bytes]:
    """Yield what was sealed.

    Raises:
        UnavailableError: the key is another one, or the file was changed or cut off.
    """
    cipher, number = AESGCM(key), 0
    piece = file.read(CHUNK + TAG)
    while True:
        following = file.read(CHUNK + TAG)
        try:
            yield cipher.decrypt(_nonce(number, not following), piece, None)
        except InvalidTag as error:
            problem = "what is kept cannot be unsealed; was the file or the key file changed?"
            raise UnavailableError("vault", problem) from error
        if not following:
            return
        piece, number = following, number + 1


def wrapped(key: bytes, by: bytes) -> bytes:
    """Return a key, sealed by another one."""
    nonce = secrets.token_bytes(12)
    return nonce + AESGCM(by).encrypt(nonce, key, b"treewarden key")


def unwrapped(sealed: bytes, by: bytes) -> bytes:
    """Return a key that was sealed by another one.

    Raises:
        UnavailableError: it was sealed by another key.
    """
    try:
        return AESGCM(by).decrypt(sealed[:12], sealed[12:], b"treewarden key")
    except (InvalidTag, ValueError) as error:
        problem = (
            "does not open what is kept here; give the key file that this data folder began with"
        )
        raise UnavailableError("key file", problem) from error


def _nonce(number: int, is_last: bool) -> bytes:
    return bytes(_PREFIX) + number.to_bytes(4, "big") + bytes([is_last])


# Bytes on their way into the vault: sealed as they come, there whole or not at all.


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
