"""Forms of browsers with files in them, taken apart as they arrive: a file goes straight into the vault.

Nothing is held whole and nothing is written in clear, unlike with ``request.form()``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterable, AsyncIterator, Mapping
from dataclasses import dataclass

from anyio.to_thread import run_sync
from fastapi import Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from treewarden.service.auth.principal import Principal
from treewarden.service.errors import InvalidError, TooLargeError, WrongKindError
from treewarden.service.schemas.models import Holds
from treewarden.service.settings import Settings
from treewarden.service.site import Site
from treewarden.service.use_cases.blobs import Kind, keep, most_of, most_of_table, room
from treewarden.service.vault.vault import Receiving, Stored

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
class FileField:
    """A field of a form that takes files: what they become, and how many it takes at most."""

    kind: Kind
    holds: Holds = "records"
    most_files: int = 1

    def most_bytes(self, settings: Settings) -> int:
        """Return how many bytes a file of it may have at most."""
        most = most_of(settings, self.kind)
        return most if self.kind == "model" else min(most, most_of_table(settings, self.holds))


@dataclass(frozen=True, slots=True)
class UploadForm:
    """A form: its texts, and its files that are not empty, by their fields."""

    fields: dict[str, str]
    files: dict[str, tuple[UploadedFile, ...]]

    def file(self, field: str) -> UploadedFile | None:
        """Return the file of a field that takes one; None where none was chosen."""
        return next(iter(self.files.get(field, ())), None)


def plain_body(request: Request, most: int) -> AsyncIterator[bytes]:
    """Return the body of a request as it arrives.

    Raises:
        WrongKindError: it is compressed.
        TooLargeError: it says that it is larger than ``most``.
        InvalidError: it ended early, found out when it is read.
    """
    if request.headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise WrongKindError("Content-Encoding", "is not accepted; send the bytes unchanged")
    said = request.headers.get("content-length", "0")
    if not (said.isascii() and said.isdigit()):
        raise InvalidError("Content-Length", "is not a number; let your HTTP client set it")
    if int(said[:20]) > most:
        problem = (
            f"contains more than {most:,} bytes; send a smaller file, or ask the "
            "administrator to raise the limit"
        )
        raise TooLargeError("body", problem)
    return _pieces(request)


async def receive_form(
    request: Request, site: Site, principal: Principal, fields: Mapping[str, FileField]
) -> UploadForm:
    """Return a form whose file fields are ``fields``; it is kept whole or not at all.

    Raises:
        WrongKindError: it is no multipart form, or compressed.
        TooLargeError: a file or the texts are larger than is taken.
        InvalidError: it ended early, cannot be taken apart, or has fields that it should not.
        UnavailableError: nothing more can be kept.
    """
    boundary = _boundary(request)
    most = site.settings.max_body + sum(
        field.most_files * field.most_bytes(site.settings) for field in fields.values()
    )
    pieces = plain_body(request, most)
    parts = _FormParts(site, fields, await run_sync(room, site, principal))
    try:
        await _feed(parts.parser(boundary), pieces, most)
        return await run_sync(parts.form, principal)
    except FormParserError as error:
        raise _broken() from error
    finally:
        await run_sync(parts.close)


async def _feed(parser: MultipartParser, pieces: AsyncIterable[bytes], most: int) -> None:
    size = 0
    async for piece in pieces:
        size += len(piece)
        if size > most:
            raise TooLargeError("form", f"contains more than {most:,} bytes; send less")
        await run_sync(parser.write, piece)
    parser.finalize()


@dataclass(frozen=True, slots=True)
class _ArrivedFile:
    """A file as it is stored, with its field and what it is called."""

    field: str
    stored: Stored
    file_name: str


class _FormParts:
    """What was found in a form so far; the parser calls it in the order of the bytes."""

    def __init__(self, site: Site, file_fields: Mapping[str, FileField], most: int) -> None:
        self._site, self._file_fields, self._most = site, file_fields, most
        self._fields: dict[str, bytearray] = {}
        self._files: list[_ArrivedFile] = []
        self._parts: Counter[str] = Counter()
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

    def form(self, principal: Principal) -> UploadForm:
        """Write down what arrived."""
        if not self._is_whole:
            raise _broken()
        fields = {name: _text(bytes(value)) for name, value in self._fields.items()}
        arrived = [(file.stored, self._file_fields[file.field].kind) for file in self._files]
        self._is_kept = True
        uploads = keep(self._site, principal, arrived) if arrived else []
        files: dict[str, tuple[UploadedFile, ...]] = {}
        for file, upload in zip(self._files, uploads, strict=True):
            uploaded = UploadedFile(upload.digest, upload.size, upload.is_known, file.file_name)
            files[file.field] = (*files.get(file.field, ()), uploaded)
        return UploadForm(fields, files)

    def close(self) -> None:
        """Leave nothing behind of a form that did not arrive whole."""
        if self._receiving is not None:
            self._receiving.close()
        if not self._is_kept:
            for file in self._files:
                self._site.vault.discard(file.stored)

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
            raise InvalidError(
                "form", "has a field whose name is missing or too long; correct the form"
            )
        field = self._file_fields.get(self._name)
        self._parts[self._name] += 1
        if self._parts[self._name] > (1 if field is None else field.most_files):
            self._refuse_again(field)
        if self._parts.total() > MOST_FIELDS:
            raise TooLargeError("form", f"contains more than {MOST_FIELDS} fields; send fewer")
        if field is not None:
            self._file_name = _line(_text(options.get(b"filename", b"")))
            most = min(field.most_bytes(self._site.settings), self._most)
            self._receiving = self._site.vault.receiving(most).open()
        elif b"filename" in options:
            raise InvalidError(
                "form", f"the field {self._name!r} does not accept a file; remove the file"
            )
        else:
            self._fields[self._name] = bytearray()

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._receiving is not None:
            self._size += end - start
            self._receiving.take(data[start:end])
            return
        self._left -= end - start
        if self._left < 0:
            raise TooLargeError("form", "contains too much text; shorten it")
        self._fields[self._name] += data[start:end]

    def _part_end(self) -> None:
        receiving, self._receiving = self._receiving, None
        if receiving is None:
            return
        try:
            if self._size:  # a browser sends an empty file where none was chosen
                file = _ArrivedFile(self._name, receiving.stored(), self._file_name)
                self._files.append(file)
        finally:
            receiving.close()

    def _refuse_again(self, field: FileField | None) -> None:
        if field is not None and field.most_files > 1:
            problem = f"the field {self._name!r} takes {field.most_files} files at most; send fewer"
            raise TooLargeError("form", problem)
        raise InvalidError("form", f"the field {self._name!r} is given twice; give it once")

    def _end(self) -> None:
        self._is_whole = True


async def _pieces(request: Request) -> AsyncIterator[bytes]:
    try:
        async for piece in request.stream():
            yield piece
    except ClientDisconnect as error:
        raise InvalidError("body", "was cut off; send it again") from error


def _boundary(request: Request) -> bytes:
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    boundary = options.get(b"boundary", b"")
    if kind != b"multipart/form-data" or not 0 < len(boundary) <= MOST_BOUNDARY:
        problem = "is not multipart/form-data with a boundary; send the form unchanged"
        raise WrongKindError("Content-Type", problem)
    return boundary


def _broken() -> InvalidError:
    return InvalidError("form", "is incomplete or not a multipart form; send it again")


def _text(data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidError("form", "contains text that is not UTF-8; send it as UTF-8") from error


def _line(name: str) -> str:
    """Return the name of a file as it may be shown: in one line, without the folders that some browsers send."""
    last = name.replace("\\", "/").rpartition("/")[2]
    seen = "".join(sign for sign in last if sign.isprintable())[:_MOST_NAME].strip()
    return seen if seen not in ("", ".") else "unnamed"
