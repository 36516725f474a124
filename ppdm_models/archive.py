"""Folders and zip archives that hold a model: read in memory within limits, never extracted to disk."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError

FIRST_MOMENT = (1980, 1, 1, 0, 0, 0)


DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    NotImplementedError,
    RuntimeError,
    EOFError,
    OSError,
    ValueError,
)
"""What reading an archive fails with where its bytes are wrong, by its kinds of compression."""


def is_archive(data: bytes) -> bool:
    """Whether the bytes start like a zip archive."""
    return data[:4] == b"PK\x03\x04"


def archived(folder: Path) -> bytes:
    """Return a folder's files as an uncompressed zip archive, in name order and without dates.

    Raises:
        TreeFormatError: it holds too many files or bytes.
        OSError: a file cannot be read.
    """
    out = io.BytesIO()
    total = 0
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if len(files) > limits.ARCHIVE_ENTRIES:
        raise TreeFormatError(folder.name, f"holds more than {limits.ARCHIVE_ENTRIES:,} files")
    with zipfile.ZipFile(out, "w") as archive:
        for path in files:
            total += path.stat().st_size
            if total > limits.BYTES:
                raise TreeFormatError(
                    folder.name, f"holds more than the {limits.BYTES:,} bytes that are read"
                )
            name = path.relative_to(folder).as_posix()
            archive.writestr(zipfile.ZipInfo(name, FIRST_MOMENT), path.read_bytes())
    return out.getvalue()


def entries(data: bytes, source: str) -> dict[str, bytes]:
    """Return the files of a zip archive by name, in the archive's order.

    Raises:
        TreeFormatError: the archive is damaged, names a file outside itself, or is too large when unpacked.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = [info for info in archive.infolist() if not info.filename.endswith("/")]
            _check(members, source)
            return {info.filename: archive.read(info) for info in members}
    except DAMAGED as error:
        raise TreeFormatError(source, f"a damaged zip archive ({error})") from error


def _check(members: list[zipfile.ZipInfo], source: str) -> None:
    if len(members) > limits.ARCHIVE_ENTRIES:
        raise TreeFormatError(source, f"holds more than {limits.ARCHIVE_ENTRIES:,} files")
    for info in members:
        name = PurePosixPath(info.filename)
        if name.is_absolute() or ".." in name.parts or "\\" in info.filename:
            raise TreeFormatError(source, f"names a file outside itself: {info.filename!r}")
    if sum(info.file_size for info in members) > limits.BYTES:
        raise TreeFormatError(source, f"unpacks to more than {limits.BYTES:,} bytes")
    if len({info.filename for info in members}) < len(members):
        raise TreeFormatError(source, "names the same file twice")
