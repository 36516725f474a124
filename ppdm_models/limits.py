"""How large a file may be before it is refused: generous for real trees, small enough to fail fast on hostile ones.

The largest published single trees known to the authors hold some 8,000 nodes, 30 levels and 30 classes; a tree that
is grown to the end on half a million records holds 200,000. Each limit can
be set in the environment, as TREEWARDEN_LIMIT_ and its name: ``TREEWARDEN_LIMIT_BYTES=1000000``. It is read once.

Folders and zip archives that hold a model are read in memory within these limits, and never extracted to disk. A
table that is read whole may take half of what the machine, or its container, has to spare.
"""

from __future__ import annotations

import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath

from treewarden.ppdm_models.errors import TableError, TreeFormatError, TreewardenError

PREFIX = "TREEWARDEN_LIMIT_"

_wrong: list[tuple[str, str]] = []


def _limit(name: str, default: int) -> int:
    said = os.environ.get(PREFIX + name)
    if said is None:
        return default
    if not (said.isascii() and said.isdigit() and len(said) <= 15 and int(said) > 0):
        _wrong.append((PREFIX + name, said))
        return default
    return int(said)


def check_settings() -> None:
    """Refuse to work under a limit that was set to something else than a number.

    Raises:
        TreewardenError: naming the variable of the environment.
    """
    for name, said in _wrong:
        raise TreewardenError(
            name, f"is {said!r}; set a whole number of at most 15 digits, more than 0, or unset it"
        )


BYTES = _limit("BYTES", 512 * 1024 * 1024)
"""The largest file that is read, in bytes."""

NODES = _limit("NODES", 1_000_000)
"""The most nodes of one tree; of PMML ``XML_ELEMENTS`` allows some 300,000."""

FILE_NODES = _limit("FILE_NODES", 5_000_000)
"""The most nodes of all trees of one file."""

DEPTH = _limit("DEPTH", 200)
"""The most tests on one path; ``XML_DEPTH`` leaves room for what is around the nodes and inside them."""

XML_DEPTH = _limit("XML_DEPTH", 250)
"""The deepest XML element."""

XML_ELEMENTS = _limit("XML_ELEMENTS", 5_000_000)
"""The most XML elements and attributes held at once: those of one tree, and all around the trees."""

XML_TOKEN = _limit("XML_TOKEN", 8 * 1024 * 1024)
"""The longest piece of XML without a ``>``, in bytes."""

TEST_DEPTH = _limit("TEST_DEPTH", 16)
"""The deepest nesting of "and" and "or" inside one test."""

FIELD_DEPTH = _limit("FIELD_DEPTH", 60)
"""The deepest nesting of what computes a field from others; a deeper one stays a field of its own."""

FIELD_CASES = _limit("FIELD_CASES", 100_000)
"""The most cases of a computed field: parts of the raw field's values that are told apart, rows of its table."""

FIELD_WORK = _limit("FIELD_WORK", 5_000_000)
"""The most times that functions are computed to find the cases of one tree's fields; more stay fields of their own."""

FIELD_TESTS = _limit("FIELD_TESTS", 50_000_000)
"""The most times that functions are computed, and cases are looked at, for the tests of one tree."""

CLASSES = _limit("CLASSES", 1_000)
"""The most classes of one tree."""

CLASS_NUMBERS = _limit("CLASS_NUMBERS", 5_000_000)
"""The most numbers about classes in one tree: nodes that publish some, times classes."""

FEATURES = _limit("FEATURES", 20_000)
"""The most features of one tree."""

TREES = _limit("TREES", 100_000)
"""The most trees of one file."""

ARCHIVE_ENTRIES = _limit("ARCHIVE_ENTRIES", 50_000)
"""The most files of one archive or folder: skops writes five for each tree of a forest."""

TAXONOMY_VALUES = _limit("TAXONOMY_VALUES", 100_000)
"""The most values of one attribute's hierarchy."""

TAXONOMY_LEVELS = _limit("TAXONOMY_LEVELS", 100)
"""The most levels of one hierarchy."""


FIRST_MOMENT = (1980, 1, 1, 0, 0, 0)


COPY_AGAIN = (
    "the file may be cut off: copy it again, or save the model again with the program that wrote it"
)
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
    total, held = 0, {}
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    if len(files) > ARCHIVE_ENTRIES:
        problem = f"holds more than {ARCHIVE_ENTRIES:,} files"
        raise TreeFormatError(folder.name, f"{problem}; give only the folder of the model")
    for path in files:
        total += path.stat().st_size
        if total > BYTES:
            raise TreeFormatError(folder.name, f"holds more than the {BYTES:,} bytes that are read")
        held[path.relative_to(folder).as_posix()] = path.read_bytes()
    return archive_of(held)


def archive_of(files: Mapping[str, bytes]) -> bytes:
    """Return files as an uncompressed zip archive, in the order of their folders and names and without dates."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files, key=PurePosixPath):
            archive.writestr(zipfile.ZipInfo(name, FIRST_MOMENT), files[name])
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
        raise TreeFormatError(source, f"a damaged zip archive ({error}); {COPY_AGAIN}") from error


def _check(members: list[zipfile.ZipInfo], source: str) -> None:
    if len(members) > ARCHIVE_ENTRIES:
        raise TreeFormatError(source, f"holds more than {ARCHIVE_ENTRIES:,} files")
    for info in members:
        name = PurePosixPath(info.filename)
        if name.is_absolute() or ".." in name.parts or "\\" in info.filename:
            problem = f"rejected for security: the archive contains the path {info.filename!r}, which leads out of it"
            raise TreeFormatError(source, f"{problem}; make the archive again")
    if sum(info.file_size for info in members) > BYTES:
        raise TreeFormatError(source, f"unpacks to more than {BYTES:,} bytes")
    if len({info.filename for info in members}) < len(members):
        raise TreeFormatError(source, "names the same file twice")


TABLE_MEMORY = "TREEWARDEN_TABLE_MEMORY"
LEAST_MEMORY, USUAL_MEMORY = 64 * 2**20, 2 * 2**30
"""In bytes: less is no use, and so much is taken where the machine does not say what it has."""
CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
MORE_ROOM = f"give more memory ({TABLE_MEMORY}, in MB)"


def room_bytes() -> int:
    """Return how many bytes a table may take: what the environment says in MB, else half of what is free.

    Raises:
        TableError: the environment says no number.
    """
    said = os.environ.get(TABLE_MEMORY, "").strip()
    if said:
        if not re.fullmatch(r"\d{1,9}", said) or not int(said):
            raise TableError(
                TABLE_MEMORY, f"{said!r} is not a number of megabytes; give a number such as 2000"
            )
        return max(int(said) * 2**20, LEAST_MEMORY)
    return max(min(_available(), *_of_container()) // 2, LEAST_MEMORY)


def _available() -> int:
    with suppress(OSError):
        found = re.search(r"MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text())
        if found:
            return int(found[1]) * 1024
    return USUAL_MEMORY


def _of_container() -> list[int]:
    found = [2**62]
    for file in CONTAINER_LIMITS:
        with suppress(OSError, ValueError):
            found.append(int(Path(file).read_text()))
    return found
