"""Seals bytes as they stream by: AES-256-GCM over chunks in order, each blob with a key of its own.

The construction is STREAM (Hoang, Reyhanitabar, Rogaway, Vizár, CRYPTO 2015): the nonce counts the chunks and its last
byte marks the final one, so that chunks cannot be left out, moved or cut off unseen.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import BinaryIO

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from treewarden.service.errors import UnavailableError

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
