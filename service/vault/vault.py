"""Bytes that are kept sealed, by the SHA-256 of what they say; whoever destroys a blob's key has erased it."""

from __future__ import annotations

import contextlib
import importlib
import os
import secrets
from collections.abc import AsyncIterable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from anyio import CancelScope
from anyio.to_thread import run_sync

from treewarden.ppdm_models.errors import os_reason
from treewarden.service.errors import GoneError, SetupError, UnavailableError
from treewarden.service.settings import Settings
from treewarden.service.vault.folder_store import (
    INCOMING,
    FolderStore,
    Store,
    drop_part,
    full,
    new_part,
    place_of,
)
from treewarden.service.vault.sealing import (
    KEY_BYTES,
    Receiving,
    Stored,
    new_key,
    opened_stream,
    unwrapped,
    wrapped,
)

KEY_FILE = "master.key"
AT_ONCE = 256 * 1024
"""How many bytes of what arrives are handed on together."""


@dataclass(frozen=True, slots=True)
class Vault:
    """Sealed files, and the key that seals theirs; ``folder`` is where this machine writes what is on its way."""

    folder: Path
    master: bytes
    store: Store

    def receiving(self, most: int) -> Receiving:
        """Return what takes bytes as they come; a file is there whole or not at all."""
        return Receiving(self.store, self.master, most)

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
        receiving = self.receiving(most)
        try:
            await run_sync(receiving.open)
            held = bytearray()
            async for chunk in chunks:
                held += chunk
                if len(held) >= AT_ONCE:
                    await run_sync(receiving.take, bytes(held))
                    held.clear()
            await run_sync(receiving.take, bytes(held))
            return await run_sync(receiving.stored)
        finally:
            with CancelScope(shield=True):
                await run_sync(receiving.close)

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
            with self.store.open(blob_id, digest) as file:
                yield from opened_stream(file, unwrapped(sealed_key, self.master))
        except FileNotFoundError as error:
            raise _erased() from error
        except OSError as error:
            raise UnavailableError("vault", f"{os_reason(error)}; see the data folder") from error

    def read(self, blob_id: str, digest: str, sealed_key: bytes | None) -> bytes:
        """Return the bytes of a blob, whole."""
        return b"".join(self.chunks(blob_id, digest, sealed_key))

    def erase(self, blob_id: str, digest: str) -> None:
        """Remove a file; one that is gone already is no error. The key in the database goes with the row's update.

        Raises:
            UnavailableError: it cannot be removed just now.
        """
        self.store.remove(blob_id, digest)

    @contextmanager
    def sealed_file(
        self, blob_id: str, digest: str, progress: Callable[[], None]
    ) -> Iterator[Path]:
        """Give a file of this machine that holds the sealed bytes of a blob; a copy is removed afterwards.

        ``progress`` is called again and again while a copy is made; what it raises ends that.

        Raises:
            NotFoundError: they were erased.
            UnavailableError: they cannot be read, or no copy can be kept.
        """
        if not self.store.is_shared:
            yield self.path(blob_id, digest)
            return
        try:
            part, file = new_part(self.folder)
        except OSError as error:
            raise full(error) from error
        try:
            self._copy(blob_id, digest, file, progress)
            yield part
        finally:
            drop_part(part, file)

    def _copy(
        self, blob_id: str, digest: str, file: BinaryIO, progress: Callable[[], None]
    ) -> None:
        try:
            kept = self.store.open(blob_id, digest)
        except FileNotFoundError as error:
            raise _erased() from error
        with kept:
            while piece := kept.read(AT_ONCE):
                progress()
                try:
                    file.write(piece)
                    file.flush()
                except OSError as error:
                    raise full(error) from error

    def discard(self, stored: Stored) -> None:
        """Remove bytes that nobody was told of; what cannot be removed now is left to the sweep, without its key."""
        with contextlib.suppress(UnavailableError):
            self.erase(stored.id, stored.digest)

    def seal(self, secret: bytes) -> bytes:
        """Return a small secret as it may be kept in the database."""
        return wrapped(secret, self.master)

    def unseal(self, sealed: bytes) -> bytes:
        """Return a small secret that was sealed."""
        return unwrapped(sealed, self.master)

    def path(self, blob_id: str, digest: str) -> Path:
        """Return where the sealed bytes of a blob are, where the vault is a folder."""
        return place_of(self.folder, blob_id, digest)


def open_vault(settings: Settings) -> Vault:
    """Return the vault of a data folder; folder and key are made where they are missing.

    With an object store, the key is not made: all machines need the same, and none may begin with one of its own.

    Raises:
        SetupError: the folder cannot be written, the key file is no key, or the object store cannot be set up.
    """
    folder = settings.data_dir / "blobs"
    try:
        for each in (settings.data_dir, folder, folder / INCOMING):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SetupError(
            str(folder), f"cannot be made ({os_reason(error)}); name another --data-dir"
        ) from error
    if not settings.bucket:
        _make_key(settings.key_file or settings.data_dir / KEY_FILE)
    master = _master(settings.key_file or settings.data_dir / KEY_FILE)
    return Vault(folder, master, _bucket(settings) if settings.bucket else FolderStore(folder))


def _bucket(settings: Settings) -> Store:
    """Return the object store; what speaks to it is loaded only where there is one."""
    try:
        module = importlib.import_module("treewarden.service.vault.object_store")
    except ModuleNotFoundError as error:
        problem = "needs obstore, which is not installed; pip install 'treewarden[object-store]'"
        raise SetupError("TREEWARDEN_BUCKET", problem) from error
    store: Store = module.open_object_store(settings)
    return store


def _make_key(path: Path) -> None:
    """Make a key where there is none, so that no two processes make two."""
    try:
        with contextlib.suppress(FileExistsError):
            made = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
            made.touch(mode=0o600, exist_ok=False)
            try:
                made.write_text(new_key().hex() + "\n", "ascii")
                os.link(made, path)
            finally:
                made.unlink()
    except OSError as error:
        raise SetupError(str(path), f"cannot be made ({error}); name another key file") from error


def _master(path: Path) -> bytes:
    """Return the key in a file."""
    try:
        key = bytes.fromhex(path.read_text("ascii").strip())
    except FileNotFoundError as error:
        problem = "is missing; give all machines the same key: openssl rand -hex 32 > FILE, and TREEWARDEN_KEY_FILE"
        raise SetupError(str(path), problem) from error
    except (OSError, ValueError) as error:
        raise SetupError(
            str(path), f"cannot be read as a key ({error}); give 64 letters 0-9 a-f"
        ) from error
    if len(key) != KEY_BYTES:
        raise SetupError(str(path), "is no key of 32 bytes; give 64 letters 0-9 a-f")
    return key


def _erased() -> GoneError:
    return GoneError("file", "was erased, so it cannot be read any more; upload it again")
