"""Sealed files in a bucket of an object store that speaks S3, so that machines need no file system of all of them.

A file is a row of objects ``ID/000000``, ``ID/000001``, ... of ``PART`` bytes each, but for the last one, which is
shorter and may be empty: so each arrives whole or not at all, no more than one is held in memory, and what an
interrupted upload left is listed like all else. A store's own uploads in parts leave what only its own tools can list.
"""

from __future__ import annotations

import contextlib
import io
import secrets
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, TypeVar, cast

import structlog
from obstore.exceptions import BaseError
from obstore.store import S3Store

from treewarden.service.errors import SetupError, UnavailableError
from treewarden.service.settings import Settings
from treewarden.service.vault.folder_store import SealedWriter, Store, StoredFile

if TYPE_CHECKING:
    from obstore.store import S3Config

LOG = structlog.get_logger(__name__)
PART = 4 * 2**20
"""Bytes of each object but the last; never changed, as files are read by it."""
SLOWEST_SECONDS = 1800.0
"""How long after one part the next has to be there: the sweep takes what is an hour old for left behind."""
PROBE = "probe-"
PAGE = 1000
REQUEST = "60s"
CONNECT = "5s"
TRIES, TRY_SECONDS = 3, 20
Done = TypeVar("Done")


class ObjectStore(Store):
    """A bucket, or what is below a prefix of one."""

    look_seconds: ClassVar[float] = 3600.0
    is_shared: ClassVar[bool] = True

    def __init__(self, bucket: S3Store, clock: Callable[[], float] = time.monotonic) -> None:
        self._bucket, self._clock = bucket, clock

    def begin(self, blob_id: str) -> SealedWriter:
        return _ObjectWriter(self, self._bucket, blob_id, self._clock)

    def open(self, blob_id: str, digest: str) -> BinaryIO:
        try:
            return cast(BinaryIO, io.BufferedReader(_ObjectParts(self._bucket, blob_id)))
        except FileNotFoundError:
            next(
                _listed(self._bucket, blob_id), None
            )  # says so where it is the bucket that is missing
            raise

    def holds(self, blob_id: str, digest: str) -> bool:
        try:
            _ask_store(lambda: self._bucket.head(_name(blob_id, 0)))
        except FileNotFoundError:
            return False
        return True

    def remove(self, blob_id: str, digest: str) -> None:
        names = [each["path"] for page in _listed(self._bucket, blob_id) for each in page]
        if names:
            with contextlib.suppress(FileNotFoundError):  # gone meanwhile
                _ask_store(lambda: self._bucket.delete(names))

    def files(self) -> Iterator[tuple[StoredFile, ...]]:
        for page in _listed(self._bucket, None):
            found: dict[str, float] = {}
            for each in page:
                blob_id = each["path"].partition("/")[0]
                written = each["last_modified"].timestamp()
                found[blob_id] = max(found.get(blob_id, 0.0), written)
            # a file may go on in the next page, so its newest part is looked for
            yield tuple(
                StoredFile(blob_id, "", max(written, self._newest(blob_id, written)))
                for blob_id, written in found.items()
            )

    def problem(self) -> str:
        try:
            next(_listed(self._bucket, PROBE), None)
        except UnavailableError as error:
            LOG.warning("the object store cannot be reached", why=str(error))
            return "cannot be reached"
        return ""

    def check(self) -> None:
        blob_id = PROBE + secrets.token_hex(8)
        try:
            writer = self.begin(blob_id)
            writer.write(b"treewarden")
            writer.finish("")
            with self.open(blob_id, "") as file:
                is_same = file.read() == b"treewarden"
            self.remove(blob_id, "")
        except (UnavailableError, FileNotFoundError) as error:
            problem = f"cannot be used ({error}); see bucket, endpoint, region and credentials"
            raise SetupError("object store", problem) from error
        if not is_same or self.holds(blob_id, ""):
            raise SetupError(
                "object store", "does not store or remove objects reliably; use another"
            )

    def _newest(self, blob_id: str, written: float) -> float:
        """Return when the newest part of a file was written that seems old; a new one is none the sweep removes."""
        if time.time() - written < SLOWEST_SECONDS:
            return written
        pages = _listed(self._bucket, blob_id)
        return max(
            (each["last_modified"].timestamp() for page in pages for each in page), default=0.0
        )


class _ObjectWriter(SealedWriter):
    def __init__(
        self, store: Store, bucket: S3Store, blob_id: str, clock: Callable[[], float]
    ) -> None:
        self._store, self._bucket, self._blob_id, self._clock = store, bucket, blob_id, clock
        self._held, self._number, self._is_finished = bytearray(), 0, False
        self._at = clock()

    def write(self, sealed: bytes) -> None:
        self._held += sealed
        while len(self._held) >= PART:
            self._put(bytes(memoryview(self._held)[:PART]))
            del self._held[:PART]

    def finish(self, digest: str) -> None:
        self._put(bytes(self._held))
        self._is_finished = True

    def abandon(self) -> None:
        if self._number and not self._is_finished:
            with contextlib.suppress(UnavailableError):  # the sweep removes it later
                self._store.remove(self._blob_id, "")

    def _put(self, part: bytes) -> None:
        if self._clock() - self._at > SLOWEST_SECONDS:
            raise UnavailableError("vault", "the bytes arrived too slowly; send them again")
        name = _name(self._blob_id, self._number)
        self._number += 1
        try:
            _ask_store(lambda: self._bucket.put(name, part, use_multipart=False))
        except FileNotFoundError as error:
            raise UnavailableError("vault", "the bucket is missing; see the settings") from error
        self._at = self._clock()


class _ObjectParts(io.RawIOBase):
    """The bytes of a file, one object after the other."""

    def __init__(self, bucket: S3Store, blob_id: str) -> None:
        self._bucket, self._blob_id, self._number = bucket, blob_id, 0
        self._part = self._next()
        self._left = memoryview(self._part)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  # a buffer of any kind
        if not self._left and len(self._part) == PART:
            self._part = self._next()
            self._left = memoryview(self._part)
        size = min(len(buffer), len(self._left))
        buffer[:size] = self._left[:size]
        self._left = self._left[size:]
        return size

    def _next(self) -> bytes:
        name = _name(self._blob_id, self._number)
        self._number += 1
        found: bytes = _ask_store(lambda: bytes(self._bucket.get(name).bytes()))
        return found


def open_object_store(settings: Settings) -> ObjectStore:
    """Return the bucket that the settings name; credentials are those of the environment, as AWS's tools read them.

    Raises:
        SetupError: a setting cannot be.
    """
    endpoint = settings.bucket_endpoint
    if endpoint.startswith("http:") and not settings.bucket_http:
        problem = "is not https: stored content is encrypted, but names and credentials are not"
        raise SetupError(
            "TREEWARDEN_BUCKET_ENDPOINT",
            f"{problem}: give https, or set TREEWARDEN_BUCKET_HTTP=true",
        )
    config: S3Config = {}
    if endpoint:
        config["endpoint"] = endpoint
    if settings.bucket_region:
        config["region"] = settings.bucket_region
    try:
        bucket = S3Store(
            settings.bucket,
            config=config,
            prefix=settings.bucket_prefix or None,
            client_options={
                "allow_http": settings.bucket_http,
                "timeout": REQUEST,
                "connect_timeout": CONNECT,
            },
            retry_config={"max_retries": TRIES, "retry_timeout": timedelta(seconds=TRY_SECONDS)},
        )
    except (BaseError, ValueError) as error:
        raise SetupError("object store", f"cannot be set up ({_brief(error)})") from error
    return ObjectStore(bucket)


def _name(blob_id: str, number: int) -> str:
    return f"{blob_id}/{number:06d}"


def _listed(bucket: S3Store, prefix: str | None) -> Iterator[list[dict[str, Any]]]:
    """Yield what is in a bucket, or in a folder of it, in the order of names."""
    pages: Any = bucket.list(prefix, chunk_size=PAGE)
    while (page := _ask_store(lambda: next(pages, None))) is not None:
        yield page


def _ask_store(ask: Callable[[], Done]) -> Done:
    """Ask the store for something; whatever it is that fails, the service goes on without it for now.

    Raises:
        FileNotFoundError: there is no such object.
        UnavailableError: anything else.
    """
    try:
        return ask()
    except FileNotFoundError:
        raise
    except (BaseError, OSError) as error:
        problem = f"the object store failed ({_brief(error)}); try again"
        raise UnavailableError("vault", problem) from error


def _brief(error: Exception) -> str:
    """Return the first line of what the library says, which names no credentials."""
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
