"""Bytes on disk, sealed, by the SHA-256 of what they say; whoever destroys a blob's key has erased it."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import AsyncIterable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from anyio.to_thread import run_sync

from service.errors import GoneError, SetupError, UnavailableError
from service.settings import Settings
from service.vault.receiving import INCOMING, Receiving, Stored, place_of
from service.vault.sealing import KEY_BYTES, new_key, opened_stream, unwrapped, wrapped

KEY_FILE = "master.key"
AT_ONCE = 256 * 1024
"""How many bytes of what arrives are handed on together."""


@dataclass(frozen=True, slots=True)
class Vault:
    """A folder of sealed files, and the key that seals theirs."""

    folder: Path
    master: bytes

    def receiving(self, most: int) -> Receiving:
        """Return what takes bytes as they come; a file is there whole or not at all."""
        return Receiving(self.folder, self.master, most)

    def put(self, chunks: Iterable[bytes], most: int) -> Stored:
        """Store bytes.

        Raises:
            TooLargeError: there are more than ``most``.
            UnavailableError: the folder takes no more files.
        """
        with self.receiving(most) as receiving:
            for chunk in chunks:
                receiving.take(chunk)
            return receiving.stored()

    async def receive(self, chunks: AsyncIterable[bytes], most: int) -> Stored:
        """Store bytes as they arrive, in threads, so that nobody else waits for the disk; as ``put``."""
        with self.receiving(most) as receiving:
            held = bytearray()
            async for chunk in chunks:
                held += chunk
                if len(held) >= AT_ONCE:
                    await run_sync(receiving.take, bytes(held))
                    held.clear()
            await run_sync(receiving.take, bytes(held))
            return await run_sync(receiving.stored)

    def chunks(self, blob_id: str, digest: str, sealed_key: bytes | None) -> Iterator[bytes]:
        """Return the bytes of a blob as a stream, once its first piece was unsealed: what cannot be read says so here.

        Raises:
            GoneError: they were erased.
            UnavailableError: they cannot be read or unsealed.
        """
        if sealed_key is None:
            raise _erased()
        stream = self._stream(blob_id, digest, sealed_key)
        return chain((next(stream),), stream)

    def _stream(self, blob_id: str, digest: str, sealed_key: bytes) -> Iterator[bytes]:
        try:
            with self.path(blob_id, digest).open("rb") as file:
                yield from opened_stream(file, unwrapped(sealed_key, self.master))
        except FileNotFoundError as error:
            raise _erased() from error
        except OSError as error:
            raise UnavailableError("vault", f"{error.strerror}; see the data folder") from error

    def read(self, blob_id: str, digest: str, sealed_key: bytes | None) -> bytes:
        """Return the bytes of a blob, whole."""
        return b"".join(self.chunks(blob_id, digest, sealed_key))

    def erase(self, blob_id: str, digest: str) -> None:
        """Remove a file; one that is gone already is no error. The key in the database goes with the row's update."""
        self.path(blob_id, digest).unlink(missing_ok=True)

    def discard(self, stored: Stored) -> None:
        """Remove bytes that nobody was told of; what cannot be removed now is left to the sweep, without its key."""
        with contextlib.suppress(OSError):
            self.erase(stored.id, stored.digest)

    def seal(self, secret: bytes) -> bytes:
        """Return a small secret as it may be kept in the database."""
        return wrapped(secret, self.master)

    def unseal(self, sealed: bytes) -> bytes:
        """Return a small secret that was sealed."""
        return unwrapped(sealed, self.master)

    def path(self, blob_id: str, digest: str) -> Path:
        """Return where the sealed bytes of a blob are."""
        return place_of(self.folder, blob_id, digest)


def open_vault(settings: Settings) -> Vault:
    """Return the vault of a data folder; folder and key are made where they are missing.

    Raises:
        SetupError: the folder cannot be written, or the key file is no key.
    """
    folder = settings.data_dir / "blobs"
    try:
        for each in (settings.data_dir, folder, folder / INCOMING):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            str(folder), f"cannot be made ({error.strerror}); name another --data-dir"
        ) from error
    return Vault(folder, _master(settings.key_file or settings.data_dir / KEY_FILE))


def _master(path: Path) -> bytes:
    """Return the key in a file; a new one where there is none, so that no two processes make two."""
    try:
        with contextlib.suppress(FileExistsError):
            made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            made.touch(mode=0o600, exist_ok=False)
            try:
                made.write_text(new_key().hex() + "\n", "ascii")
                os.link(made, path)
            finally:
                made.unlink()
        key = bytes.fromhex(path.read_text("ascii").strip())
    except (OSError, ValueError) as error:
        raise SetupError(
            str(path), f"cannot be read as a key ({error}); give 64 letters 0-9 a-f"
        ) from error
    if len(key) != KEY_BYTES:
        raise SetupError(str(path), "is no key of 32 bytes; give 64 letters 0-9 a-f")
    return key


def _erased() -> GoneError:
    return GoneError("file", "was erased, so it cannot be read any more; upload it again")
