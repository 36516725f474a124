"""Opens a file that somebody named by its path, below a folder that is allowed and nowhere else.

Each folder on the way is opened from the one before, never through a link: what is checked is what is read, whatever
is put in its place meanwhile.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import BinaryIO

from treewarden.service.errors import InvalidError, TooLargeError

MOST_SIGNS = 4096
_WHERE = "path"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_below(path: str, roots: Iterable[str], most: int) -> BinaryIO:
    """Return a plain file of at most ``most`` bytes, opened for reading.

    Raises:
        InvalidError: the path is none, leads to no allowed folder, passes a link, or names no plain file.
        TooLargeError: the file is larger.
    """
    root, parts = _split(path, roots)
    try:
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                deeper = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = deeper
            return _opened(folder, parts[-1], most)
        finally:
            os.close(folder)
    except OSError as error:
        problem = (
            "no file that can be read is there; links are not followed, so name the file itself"
        )
        raise InvalidError(_WHERE, problem) from error


def _split(path: str, roots: Iterable[str]) -> tuple[str, list[str]]:
    """Return the allowed folder that a path is below, the deepest one, and the names that lead on from there."""
    if len(path) > MOST_SIGNS or _CONTROL.search(path) or not _is_text(path):
        raise InvalidError(_WHERE, "is not a path; give the path of a file, in one line")
    if _URL.match(path):
        raise InvalidError(_WHERE, "is a URL; give the path of a file of the server")
    if not path.startswith("/"):
        raise InvalidError(_WHERE, "does not begin with “/”; give the whole path")
    parts = _parts(path)
    if ".." in path.split("/") or "." in path.split("/") or path.endswith("/"):
        problem = "holds “.” or “..”, or names a folder; give the path of a file as it is"
        raise InvalidError(_WHERE, problem)
    found: tuple[str, list[str]] | None = None
    depth = -1
    for root in roots:
        above = _parts(str(Path(root).absolute()))
        if len(above) > depth and len(parts) > len(above) and parts[: len(above)] == above:
            found, depth = ("/" + "/".join(above), parts[len(above) :]), len(above)
    if found is None:
        problem = "is not below an allowed folder; see the setting table_roots, or upload the table"
        raise InvalidError(_WHERE, problem)
    return found


def _parts(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:  # halves of signs
        return False
    return True


def _opened(folder: int, name: str, most: int) -> BinaryIO:
    """Return a file of a folder; what is no plain file is looked at only, as to open one may do something."""
    seen = os.open(name, _LOOK, dir_fd=folder)
    try:
        known = os.fstat(seen)
    finally:
        os.close(seen)
    if not stat.S_ISREG(known.st_mode):
        raise InvalidError(_WHERE, "is not a plain file; give the path of a file itself")
    file = os.fdopen(os.open(name, _READ, dir_fd=folder), "rb")
    now = os.fstat(file.fileno())
    if not stat.S_ISREG(now.st_mode) or (now.st_dev, now.st_ino) != (known.st_dev, known.st_ino):
        file.close()
        raise InvalidError(_WHERE, "was changed while it was opened; try again")
    if now.st_size > most:
        file.close()
        problem = f"holds more than {most:,} bytes; give a smaller table, or have the limit raised"
        raise TooLargeError(_WHERE, problem)
    return file
