"""Forms of browsers with files in them, taken apart as they arrive: a file goes straight into the vault.

Nothing is held whole and nothing is written in clear, unlike with ``request.form()``.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass

from anyio.to_thread import run_sync
from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from treewarden.service.auth.principal import Principal
from treewarden.service.errors import InvalidError, TooLargeError, WrongKindError
from treewarden.service.site import Site
from treewarden.service.use_cases.blobs import Kind, keep, most_of, room
from treewarden.service.vault.sealing import Receiving, Stored

MOST_FIELDS = 200
MOST_BOUNDARY = 70
_MOST_NAME = 200


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file of a form, as it is kept, and what it is called there."""

    digest: str
    size: int
    is_known: bool
    file_name: str


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form: its texts, and its files that are not empty."""

    fields: dict[str, str]
    files: dict[str, UploadedFile]


def plain_body(request: Request, most: int) -> AsyncIterator[bytes]:
    """Return the body of a request as it arrives.

    Raises:
        WrongKindError: it is compressed.
        TooLargeError: it says that it is larger than ``most``.
        InvalidError: it ended early, found out when it is read.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise WrongKindError("Content-Encoding", "is not taken; send the bytes as they are")
    said = request.headers.get("content-length", "0")
    if not (said.isascii() and said.isdigit()):
        raise InvalidError("Content-Length", "is no number; leave it to your HTTP client")
    if int(said[:20]) > most:
        problem = f"holds more than {most:,} bytes; send less, or have the limit raised"
        raise TooLargeError("body", problem)
    return _pieces(request)


async def receive_form(
    request: Request, site: Site, who: Principal, kinds: Mapping[str, Kind]
) -> UploadForm:
    """Return a form whose file fields are those of ``kinds``; it is kept whole or not at all.

    Raises:
        WrongKindError: it is no multipart form, or compressed.
        TooLargeError: a file or the texts are larger than is taken.
        InvalidError: it ended early, cannot be taken apart, or has fields that it should not.
        UnavailableError: nothing more can be kept.
    """
    boundary = _boundary(request)
    most = site.settings.max_body + sum(most_of(site.settings, kind) for kind in kinds.values())
    pieces = plain_body(request, most)
    parts = _FormParts(site, kinds, await run_sync(room, site, who))
    try:
        await _feed(parts.parser(boundary), pieces, most)
        return await run_sync(parts.form, who)
    except FormParserError as error:
        raise _broken() from error
    finally:
        await run_sync(parts.close)


async def _feed(parser: MultipartParser, pieces: AsyncIterable[bytes], most: int) -> None:
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > most:
            raise TooLargeError("form", f"holds more than {most:,} bytes; send less")
        await run_sync(parser.write, piece)
    parser.finalize()


class _FormParts:
    """What was found in a form so far; the parser calls it in the order of the bytes."""

    def __init__(self, site: Site, kinds: Mapping[str, Kind], most: int) -> None:
        self._site, self._kinds, self._most = site, kinds, most
        self._fields: dict[str, bytearray] = {}
        self._files: dict[str, tuple[Stored, Kind, str]] = {}
        self._header, self._value = bytearray(), bytearray()
        self._disposition = b""
        self._name, self._file_name, self._size = "", "", 0
        self._left = site.settings.max_body
        self._receiving: Receiving | None = None
        self._is_whole = self._is_kept = False

    def parser(self, boundary: bytes) -> MultipartParser:
        """Return what takes the form apart."""
        return MultipartParser(
            boundary,
            {
                "on_part_begin": self._part_begin,
                "on_header_field": self._header_field,
                "on_header_value": self._header_value,
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_part_data": self._part_data,
                "on_part_end": self._part_end,
                "on_end": self._end,
            },
        )

    def form(self, who: Principal) -> UploadForm:
        """Write down what arrived."""
        if not self._is_whole:
            raise _broken()
        fields = {name: _text(bytes(value)) for name, value in self._fields.items()}
        arrived = [(stored, kind) for stored, kind, _ in self._files.values()]
        self._is_kept = True
        uploads = keep(self._site, who, arrived) if arrived else []
        files = {
            field: UploadedFile(upload.digest, upload.size, upload.is_known, file_name)
            for (field, (_, _, file_name)), upload in zip(self._files.items(), uploads, strict=True)
        }
        return UploadForm(fields, files)

    def close(self) -> None:
        """Leave nothing behind of a form that did not arrive whole."""
        if self._receiving is not None:
            self._receiving.close()
        if not self._is_kept:
            for stored, _, _ in self._files.values():
                self._site.vault.discard(stored)

    def _part_begin(self) -> None:
        self._disposition = b""
        self._header.clear()
        self._value.clear()

    def _header_field(self, data: bytes, start: int, end: int) -> None:
        self._header += data[start:end]

    def _header_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        if bytes(self._header).lower() == b"content-disposition":
            self._disposition = bytes(self._value)
        self._header.clear()
        self._value.clear()

    def _headers_finished(self) -> None:
        _, options = parse_options_header(self._disposition)
        self._name, self._size = _text(options.get(b"name", b"")), 0
        if not self._name or len(self._name) > _MOST_NAME:
            raise InvalidError("form", "has a field without a name, or with too long a one")
        if self._name in self._fields or self._name in self._files:
            raise InvalidError("form", f"the field {self._name!r} is given twice; give it once")
        if len(self._fields) + len(self._files) >= MOST_FIELDS:
            raise TooLargeError("form", f"holds more than {MOST_FIELDS} fields; send fewer")
        if self._name in self._kinds:
            self._file_name = _line(_text(options.get(b"filename", b"")))
            most = min(most_of(self._site.settings, self._kinds[self._name]), self._most)
            self._receiving = self._site.vault.receiving(most).open()
        elif b"filename" in options:
            raise InvalidError("form", f"the field {self._name!r} takes no file; leave it out")
        else:
            self._fields[self._name] = bytearray()

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._receiving is not None:
            self._size += end - start
            self._receiving.take(data[start:end])
            return
        self._left -= end - start
        if self._left < 0:
            raise TooLargeError("form", "holds too much text; shorten it")
        self._fields[self._name] += data[start:end]

    def _part_end(self) -> None:
        receiving, self._receiving = self._receiving, None
        if receiving is None:
            return
        try:
            if self._size:  # a browser sends an empty file where none was chosen
                kind = self._kinds[self._name]
                self._files[self._name] = (receiving.stored(), kind, self._file_name)
        finally:
            receiving.close()

    def _end(self) -> None:
        self._is_whole = True


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    try:
        async for piece in request.stream():
            yield piece
    except ClientDisconnect as error:
        raise InvalidError("body", "ended before it was whole; send it again") from error


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 0 < len(boundary) <= MOST_BOUNDARY:
        problem = "is not multipart/form-data with a boundary; send the form as it is"
        raise WrongKindError("Content-Type", problem)
    return boundary


def _broken() -> InvalidError:
    return InvalidError("form", "is not whole, or no multipart form; send it again")


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidError("form", "holds text that is not UTF-8; send it as UTF-8") from error


def _line(name: str) -> str:
    """Return the name of a file as it may be shown: in one line, without the folders that some browsers send."""
    last = name.replace("\\", "/").rpartition("/")[2]
    seen = "".join(sign for sign in last if sign.isprintable())[:_MOST_NAME].strip()
    return seen if seen not in ("", ".") else "unnamed"
