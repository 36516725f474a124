"""Files of this user alone: nobody else can read or write them, and each is there whole or not at all."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path

from treewarden.ppdm_models.errors import OutputError, os_reason

OTHERS_WRITE = 0o022


def own_bytes(path: Path, most: int) -> bytes | None:
    """Return the bytes of a plain file that nobody else could write; None where there is none, or a larger one."""
    try:
        with path.open("rb") as file:
            said = os.fstat(file.fileno())
            if not stat.S_ISREG(said.st_mode) or not _is_own(said) or said.st_size > most:
                return None
            return file.read()
    except OSError:
        return None


def is_own_folder(folder: Path) -> bool:
    """Return whether there is such a folder, and nobody else can write into it."""
    try:
        said = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(said.st_mode) and _is_own(said)


def own_folder(folder: Path) -> None:
    """Make a folder that nobody else can read, where there is none yet.

    Raises:
        OutputError: it cannot be made, or others can write into it.
    """
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(
            str(folder), f"cannot be created ({os_reason(error)}); name a folder"
        ) from error
    if not is_own_folder(folder):
        problem = "is not a folder that only you can write into; name a new one"
        raise OutputError(str(folder), problem)


def write_own(path: Path, data: bytes, *, is_durable: bool = False) -> None:
    """Write a file that nobody else can read, whole or not at all; a ``durable`` one outlives a power loss."""
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if is_durable:
                file.flush()
                os.fsync(descriptor)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _is_own(status: os.stat_result) -> bool:
    if not hasattr(os, "geteuid"):
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & OTHERS_WRITE
