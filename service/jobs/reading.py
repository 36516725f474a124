"""Opens what an order names, in the process of the job: sealed files are read into memory, and stay there."""

from __future__ import annotations

import hashlib
from pathlib import Path

from treewarden.ppdm_models.tables.read_table import read_table_bytes
from treewarden.ppdm_models.tables.table import Table
from treewarden.reports.document.parts import File
from treewarden.service.errors import ConflictError
from treewarden.service.jobs.orders import PlainFile, SealedFile
from treewarden.service.vault.paths import open_below
from treewarden.service.vault.sealing import opened_stream


def content(file: SealedFile | PlainFile) -> bytes:
    """Return the bytes of a file.

    Raises:
        UnavailableError: it was erased, or cannot be unsealed.
        InvalidError: its path is not allowed any more.
    """
    if isinstance(file, PlainFile):
        with open_below(file.path, file.roots, file.most) as plain:
            return plain.read()
    with Path(file.place).open("rb") as sealed:
        return b"".join(opened_stream(sealed, bytes.fromhex(file.key)))


def table_of(file: SealedFile | PlainFile) -> tuple[Table, File]:
    """Return a table, and what a report tells of its file.

    Raises:
        ConflictError: it was changed since it was named: what was said of it is of another table.
        TableError: it is no table that can be read.
    """
    data = content(file)
    digest = hashlib.sha256(data).hexdigest()
    if file.digest and digest != file.digest:
        raise ConflictError(file.name, "was changed since it was named; name it again")
    return read_table_bytes(data, file.name), File(name=file.name, sha256=digest)
