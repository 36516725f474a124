"""Which files a table is made of: one, those in a folder, or those that a pattern matches; what their folders say."""

from __future__ import annotations

import glob
import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from treewarden.ppdm_models.errors import TableError

WILD = frozenset("*?[")
NOTHING = "__HIVE_DEFAULT_PARTITION__"
"""What the folder of those is called whose value is missing."""
Stamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Part:
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
            raise TableError(self.name, f"{error.strerror}; the table must not change") from error
        return found.st_size, found.st_mtime_ns, found.st_ino


def is_pattern(path: Path) -> bool:
    """Return whether a path stands for those that it matches."""
    return bool(WILD & set(str(path))) and not os.path.lexists(path)


def parts_of(path: Path) -> tuple[Part, ...]:
    """Return the files of a table, in the order of their names; what starts with ``.``, ``_`` or ``~$`` is none of its.

    Raises:
        TableError: there are none, or their folders do not say the same columns.
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
            raise TableError(name, "no file matches; give a pattern that matches some, in quotes")
    elif path.is_dir():
        root, found = path, sorted(_inside(path))
        if not found:
            raise TableError(name, "the folder holds no file; give one that holds CSV or Parquet")
    else:
        return (Part(path, name),)
    parts = tuple(
        Part(each, each.relative_to(root).as_posix(), _said(each.relative_to(root)))
        for each in found
    )
    for each in parts:
        if list(each.said) != list(parts[0].said):
            problem = (
                f"the folders of {parts[0].name!r} and {each.name!r} do not say the same columns"
            )
            raise TableError(name, f"{problem}; give one of both")
        if not each.path.is_file():
            raise TableError(name, f"{each.name!r} is no file that can be read twice; leave it out")
    return parts


def digest_of(parts: Sequence[Part]) -> str:
    """Return the digest of a file's bytes; of several, that of their names and digests.

    Raises:
        OSError: a file cannot be read.
    """
    if len(parts) == 1 and not parts[0].said:
        return _digest(parts[0].path)
    known: dict[tuple[int, int], str] = {}
    whole = hashlib.sha256()
    for each in parts:
        found = each.path.stat()
        key = found.st_dev, found.st_ino  # one file may be listed several times
        if key not in known:
            known[key] = _digest(each.path)
        whole.update(f"{known[key]}  {each.name}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def check_unchanged(source: str, parts: Sequence[Part], before: Sequence[Stamp]) -> None:
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
        yield from (Path(root, each) for each in sorted(files) if not _is_hidden(each))


def _is_hidden(name: str) -> bool:
    # the last is what Excel leaves while somebody has a file open
    return name.startswith((".", "_", "~$"))


def _said(path: Path) -> dict[str, str | None]:
    pairs = (each.partition("=") for each in path.parts[:-1] if "=" in each)
    return {unquote(key): None if value == NOTHING else unquote(value) for key, _, value in pairs}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
