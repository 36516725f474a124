"""Bytes that are kept sealed, by the SHA-256 of what they say; whoever destroys a blob's key has erased it.

Bytes are sealed as they stream by: AES-256-GCM over chunks in order, each blob with a key of its own. The construction
is STREAM (Hoang, Reyhanitabar, Rogaway, Vizár, CRYPTO 2015): the nonce counts the chunks and its last byte marks the
final one, so that chunks cannot be left out, moved or cut off unseen.
"""

from __future__ import annotations

import contextlib
import hashlib
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
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from treewarden.ppdm_models.errors import os_reason
from treewarden.service.errors import GoneError, SetupError, TooLargeError, UnavailableError, new_id
from treewarden.service.settings import Settings
from treewarden.service.vault.folder_store import (
    INCOMING,
    FolderStore,
    SealedWriter,
    Store,
    drop_part,
    full,
    new_part,
    place_of,
)

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
            problem = "the stored file cannot be decrypted; check whether the file or the key file was changed"
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
        problem = "does not fit the files stored here; give the key file that this data folder was created with"
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
            problem = f"contains more than {self._most:,} bytes; send less, or ask the administrator to raise the limit"
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
            raise UnavailableError("vault", f"{os_reason(error)}; check the data folder") from error

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
            str(folder), f"cannot be created ({os_reason(error)}); name another --data-dir"
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
        raise SetupError(
            str(path), f"cannot be created ({error}); name another key file"
        ) from error


def _master(path: Path) -> bytes:
    """Return the key in a file."""
    try:
        key = bytes.fromhex(path.read_text("ascii").strip())
    except FileNotFoundError as error:
        problem = "is missing; give all machines the same key: openssl rand -hex 32 > FILE, and TREEWARDEN_KEY_FILE"
        raise SetupError(str(path), problem) from error
    except (OSError, ValueError) as error:
        raise SetupError(
            str(path), f"cannot be read as a key ({error}); give 64 characters 0-9 a-f"
        ) from error
    if len(key) != KEY_BYTES:
        raise SetupError(str(path), "is not a key of 32 bytes; give 64 characters 0-9 a-f")
    return key


def _erased() -> GoneError:
    return GoneError("file", "was erased; upload it again")
