"""Addresses of tables in databases: ``postgresql://user@host/database#schema.table``, and what of them may be shown."""

from __future__ import annotations

import glob
import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from treewarden.ppdm_models.errors import TableError, os_reason
from treewarden.ppdm_models.tables.dialect import dialect_of, sheet_of

SCHEME = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://?")
SECRET = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
"""What settings of drivers are called that are nobody else's business."""
POSTGRESQL = frozenset({"postgresql", "postgres"})
HOW = "give it as postgresql://USER@HOST/DATABASE#SCHEMA.TABLE"


@dataclass(frozen=True, slots=True, repr=False)
class TableAddress:
    """A table of a database. ``url`` opens it and may hold a password: it is for the driver alone, and never shown."""

    url: str
    table: str

    @property
    def scheme(self) -> str:
        """What kind of database it is."""
        return self._parts.scheme.lower()

    @property
    def name(self) -> str:
        """What it is called in messages and reports: no user, no password, no settings, no folder."""
        host = _host(self._parts)
        at = f" at {host}" if host else ""
        where = self._parts.path.rpartition("/")[2]
        return f"{self.table} in {where or 'a database'} ({self.scheme}{at})".replace(
            "\\", "_"
        ).replace("/", "_")

    @property
    def has_password(self) -> bool:
        """Whether it has a password, or a setting that is called like one."""
        settings = parse_qs(self._parts.query, keep_blank_values=True)
        return bool(self._parts.password) or any(map(SECRET.search, settings))

    def __str__(self) -> str:
        """As it may be typed again: its user, but no password and no settings, as these may hold one."""
        user = self._parts.netloc.rpartition("@")[0].partition(":")[0]
        at = f"{user}@" if user else ""
        return f"{self.scheme}://{at}{_host(self._parts)}{self._parts.path}#{self.table}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    @property
    def _parts(self) -> SplitResult:
        return urlsplit(self.url)


def is_address(text: str) -> bool:
    """Return whether a text is an address of a database, not a path."""
    return "://" in text and SCHEME.match(text) is not None


def address_of(text: str) -> TableAddress:
    """Return the address that a text is.

    Raises:
        TableError: it names no table, or is no address.
    """
    url, sign, table = text.rpartition("#")
    if not sign or not table:
        scheme = text.partition("://")[0]
        raise TableError(f"{scheme}://", f"the address names no table; {HOW}")
    try:
        table_address = TableAddress(url, table)
        table_address.name.encode("utf-8")
    except (ValueError, UnicodeEncodeError) as error:
        raise TableError("data", f"not an address of a table; {HOW}") from error
    return table_address


def _host(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


# Which files a table is made of: one, those in a folder, or those that a pattern matches; what their folders say.

WILD = frozenset("*?[")
NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What the folder of those is called whose value is missing."""
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file of a table; ``name`` is what messages call it, ``said`` what its folders say: ``year=2024/``."""

    path: Path
    name: str
    said: Mapping[str, str | None] = field(default_factory=dict)

    def stamp(self) -> Stamp:
        """Return what changes when the file does.

        Raises:
            TableError: it is gone.
        """
        try:
            found = self.path.stat()
        except OSError as error:
            raise TableError(self.name, f"{os_reason(error)}; the table must not change") from error
        return found.st_size, found.st_mtime_ns, found.st_ino


def is_pattern(path: Path) -> bool:
    """Return whether a path stands for those that it matches."""
    return bool(WILD & set(str(path))) and not os.path.lexists(path)


def parts_of(path: Path) -> tuple[TableFile, ...]:
    """Return the files of a table, in the order of their names; what starts with ``.``, ``_`` or ``~$`` is none of its.

    Raises:
        TableError: there are none, or their folders name different columns.
    """
    name = path.name or str(path)
    if is_pattern(path):
        root = _fixed(path)
        matched = sorted(map(Path, glob.glob(str(path), recursive=True)))
        found = [
            file
            for each in matched
            for file in (_inside(each) if each.is_dir() else [each])
            if each.is_dir() or not _is_hidden(each.name)
        ]
        found = sorted(dict.fromkeys(found))
        if not found:
            raise TableError(
                name,
                "no file matches this pattern; check the folder and the ending, and put the pattern in quotes",
            )
    elif path.is_dir():
        root, found = path, sorted(_inside(path))
        if not found:
            raise TableError(
                name, "the folder has no files; give a folder with CSV or Parquet files"
            )
    else:
        return (TableFile(path, name),)
    parts = tuple(
        TableFile(each, each.relative_to(root).as_posix(), _folder_values(each.relative_to(root)))
        for each in found
    )
    for table_file in parts:
        if list(table_file.said) != list(parts[0].said):
            problem = (
                f"the folders of {parts[0].name!r} and {table_file.name!r} name different columns"
            )
            raise TableError(name, f"{problem}; give one of both")
        if not table_file.path.is_file():
            raise TableError(name, f"{table_file.name!r} is not a regular file; leave it out")
    return parts


def digest_of(parts: Sequence[TableFile]) -> str:
    """Return the digest of a file's bytes; of several, that of their names and digests.

    Raises:
        OSError: a file cannot be read.
    """
    if len(parts) == 1 and not parts[0].said:
        return _digest(parts[0].path)
    known: dict[tuple[int, int], str] = {}
    whole = hashlib.sha256()
    for table_file in parts:
        found = table_file.path.stat()
        key = found.st_dev, found.st_ino  # one file may be listed several times
        if key not in known:
            known[key] = _digest(table_file.path)
        whole.update(f"{known[key]}  {table_file.name}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def check_unchanged(source: str, parts: Sequence[TableFile], before: Sequence[Stamp]) -> None:
    """Check that no file changed while it was read.

    Raises:
        TableError: one did.
    """
    for part, stamp in zip(parts, before, strict=True):
        if part.stamp() != stamp:
            problem = (
                f"{part.name!r} changed while it was read; audit a table that nobody writes to"
            )
            raise TableError(source, problem)


def _fixed(path: Path) -> Path:
    """Return the folder that all files lie in which a pattern can match."""
    fixed: list[str] = []
    for each in path.parts[:-1]:
        if WILD & set(each):
            break
        fixed.append(each)
    return Path(*fixed) if fixed else Path()


def _inside(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(each for each in folders if not _is_hidden(each))
        yield from (Path(root, file) for file in sorted(files) if not _is_hidden(file))


def _is_hidden(name: str) -> bool:
    # the last is what Excel leaves while somebody has a file open
    return name.startswith((".", "_", "~$"))


def _folder_values(path: Path) -> dict[str, str | None]:
    pairs = (each.partition("=") for each in path.parts[:-1] if "=" in each)
    return {unquote(key): None if value == NOTHING else unquote(value) for key, _, value in pairs}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# Which tables are counted and which are read, as far as a path says; nothing heavy is loaded for that.

MAGIC, MAGIC_AT = b"DUCK", 8


def has_no_records(path: Path) -> bool:
    """Return whether a table can only be counted: a folder, a pattern, a database."""
    file, _ = parted(path)
    return file.is_dir() or is_pattern(file) or is_duckdb(file)


def is_duckdb(path: Path) -> bool:
    """Return whether a file starts as a DuckDB database."""
    try:
        with path.open("rb") as file:
            return file.read(MAGIC_AT + len(MAGIC))[MAGIC_AT:] == MAGIC
    except OSError:
        return False


def digest_at(path: Path) -> str:
    """Return the digest of a file's bytes; of a table of many files, that of their names and digests.

    Raises:
        OSError: a file cannot be read.
        TableError: there are none.
    """
    return digest_of(parts_of(parted(path)[0]))


def parted(path: Path) -> tuple[Path, str]:
    """Return a database and the table in it that is named, ``people.duckdb#visits``, or a workbook and its sheet.

    The second is "" where none is named. What the path says of how the table is written is left out.
    """
    path, _ = dialect_of(path)
    file, sign, table = str(path).rpartition("#")
    if sign and not path.exists() and is_duckdb(Path(file)):
        return Path(file), table
    return sheet_of(path)
