"""What parties say to each other through the miner, who must not read it, and streams of random numbers from a seed."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from numpy.typing import NDArray

from treewarden.ppdm_models.vertical.errors import ProtocolError

KEY_BYTES = 32
OVERHEAD = 28
"""Bytes that a sealed message has more than what is in it: a nonce and a tag."""


def new_key() -> bytes:
    """Return a key, or a seed, that nobody can guess."""
    return os.urandom(KEY_BYTES)


class Sealer:
    """Seals for whoever holds the same key; each message is bound to who sent it, about which node and slot."""

    def __init__(self, key: bytes) -> None:
        self._cipher = ChaCha20Poly1305(key)

    def seal(self, body: bytes, sender: int, node: int, slot: int) -> bytes:
        """Return a body sealed; all bodies of one length become messages of one length."""
        nonce = os.urandom(12)
        return nonce + self._cipher.encrypt(nonce, body, _bound(sender, node, slot))

    def unseal(self, sealed: bytes, sender: int, node: int, slot: int) -> bytes:
        """Return what was sealed.

        Raises:
            ProtocolError: it was changed, cut, or is about something else.
        """
        try:
            return self._cipher.decrypt(sealed[:12], sealed[12:], _bound(sender, node, slot))
        except (InvalidTag, ValueError) as error:
            raise ProtocolError(sender, "what it sent through the miner does not open") from error


def stream(seed: bytes, use: int, shape: tuple[int, ...], ring: np.dtype[Any]) -> NDArray[Any]:
    """Return random numbers of a ring, the same for whoever has the seed; each ``use`` of it has its own."""
    count = int(np.prod(shape)) * ring.itemsize
    nonce = (0).to_bytes(4, "little") + use.to_bytes(12, "little")
    drawn = Cipher(ChaCha20(seed, nonce), mode=None).encryptor().update(bytes(count))
    return np.frombuffer(drawn, ring).reshape(shape)


def _bound(sender: int, node: int, slot: int) -> bytes:
    return b"".join(part.to_bytes(8, "little", signed=True) for part in (sender, node, slot))
