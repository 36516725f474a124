"""Model files that were packed whole, ``model.json.gz``: unpacked in memory within limits; what the packing tells."""

from __future__ import annotations

import bz2
import lzma
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.origin import is_name, is_place
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

GZIP = b"\x1f\x8b\x08"
CHUNK = 1 << 20
MOST_BYTES = 1 << 28
"""What unpacking xz may need: more is asked for by no usual setting."""
NAME_FLAG, COMMENT_FLAG, EXTRA_FLAG = 8, 16, 4
LONGEST_NAME = 100
HEADER = "the header of the packed file"


class Unpacker(Protocol):
    """What unpacks one part."""

    @property
    def eof(self) -> bool:
        """Whether the part is at its end."""

    @property
    def unused_data(self) -> bytes:
        """What stands behind its end."""

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return what is unpacked, no more than ``max_length``."""


class Gzip:
    """What unpacks a part that gzip packed; ``decompress`` keeps for the next call what was not unpacked yet."""

    def __init__(self) -> None:
        """Start before the header."""
        self._inner = zlib.decompressobj(31)

    @property
    def eof(self) -> bool:
        """Whether the part is at its end."""
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        """What stands behind its end."""
        return self._inner.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:
        """Return what is unpacked, no more than ``max_length``."""
        return self._inner.decompress(self._inner.unconsumed_tail + data, max_length)


OPENERS: dict[bytes, Callable[[], Unpacker]] = {
    GZIP: Gzip,
    b"BZh": bz2.BZ2Decompressor,
    b"\xfd7zXZ\0": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MOST_BYTES),
}


def unpacked(data: bytes, source: str) -> bytes:
    """Return what is packed in bytes by gzip, bzip2 or xz; the bytes themselves where they are not.

    Raises:
        TreeFormatError: they are damaged or cut off, end in something else, or unpack to more than is read.
    """
    opener = next((each for start, each in OPENERS.items() if data.startswith(start)), None)
    if opener is None:
        return data
    try:
        return b"".join(_parts(data, opener, source))
    except (zlib.error, OSError, EOFError, lzma.LZMAError, ValueError) as error:
        raise TreeFormatError(source, "a damaged packed file; pack the model anew") from error


def packing_leaks(data: bytes, *, removable: bool) -> Iterator[Leak]:
    """Yield what the header of a file that gzip packed tells: names and texts that no model needs.

    There is one: what has several parts is not read.
    """
    if not data.startswith(GZIP) or len(data) < 10:
        return
    flags, moment = data[3], struct.unpack_from("<I", data, 4)[0]
    if moment:
        yield Leak(LeakKind.TIMESTAMP, HEADER, "when the file was packed", removable=removable)
    at = 10
    if flags & EXTRA_FLAG:
        at += 2 + int.from_bytes(data[at : at + 2], "little")
        what = "a field of its own that no program needs, read it"
        yield Leak(LeakKind.UNKNOWN, HEADER, what, removable=removable)
    if flags & NAME_FLAG:
        end = data.find(b"\0", at)
        is_long = not at <= end <= at + LONGEST_NAME
        name = "" if is_long else data[at:end].decode("latin-1")
        kind = LeakKind.PATH if is_place(name) or is_name(name) else LeakKind.UNKNOWN
        yield Leak(kind, HEADER, "what the file was called", removable=removable)
        at = end + 1
    if flags & COMMENT_FLAG:
        yield Leak(LeakKind.UNKNOWN, HEADER, "a comment, read it", removable=removable)


def _parts(data: bytes, opener: Callable[[], Unpacker], source: str) -> Iterator[bytes]:
    """Yield what is unpacked, a piece at a time."""
    at = total = 0
    unpacker = opener()
    while True:
        piece = data[at : at + CHUNK]
        at += len(piece)
        found = unpacker.decompress(piece, CHUNK)
        while found:
            total += len(found)
            if total > limits.BYTES:
                problem = f"unpacks to more than the {limits.BYTES:,} bytes that are read"
                raise TreeFormatError(source, f"{problem}; give the tree alone")
            yield found
            found = b"" if unpacker.eof else unpacker.decompress(b"", CHUNK)
        if unpacker.eof:
            break
        if not piece:
            raise TreeFormatError(source, "a packed file that is cut off; copy it anew")
    if data[at - len(unpacker.unused_data) :].strip(b"\0"):
        problem = "something stands behind what is packed, or it was packed in several parts"
        raise TreeFormatError(source, f"{problem}; unpack it, and give the tree alone")


# Files in a model's folder or archive that are no part of it: a table that lies there is published with the model.


def stray_files(names: Iterable[str], is_part: Callable[[str], bool]) -> Iterator[Leak]:
    """Yield one leak per file that the format has no use for; nobody looked into it."""
    for name in names:
        if not is_part(name):
            what = "a file that is no part of the model: nobody looked into it"
            yield Leak(LeakKind.UNKNOWN, name, what)
