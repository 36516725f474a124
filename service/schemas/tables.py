"""Training tables, as far as anything is kept of them."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import model_validator

from treewarden.service.schemas.base import Body, Digest, FileName, Id, Name, shown_as


class NewTable(Body):
    """A table: the digest of an upload, or the path of a file below an allowed folder."""

    model_config = shown_as(
        {
            "digest": "4ca00c2d94611be246fe811d9ae502df1fdd071f2da7fa98dbe455eb8a0da20f",
            "file_name": "people.csv",
        }
    )

    digest: Digest | None = None
    path: str | None = None
    file_name: FileName | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> NewTable:
        if (self.digest is None) == (self.path is None):
            raise ValueError("give the digest of an upload, or a path")
        return self


class ColumnOf(Body):
    """A column of a table: its name, and whether it holds numbers or categories."""

    name: str
    kind: Literal["number", "category"]


class NewShare(Body):
    """Somebody of the organisation, by name, who may audit with a table from now on."""

    model_config = shown_as({"name": "bob"})

    name: Name


class Share(Body):
    """Somebody with whom a table is shared."""

    account_id: Id
    name: str


class TrainingTable(Body):
    """A table, for its owner and those whom it is shared with; ``is_owner`` and ``may_audit`` are about who asks.

    ``columns`` and ``records`` are null until it was read; it is erased when its last job is done. An administrator,
    who can erase every table, sees neither ``columns`` nor ``digest`` of others'. ``shared_with`` is for the owner and
    administrators.
    """

    id: Id
    kind: Literal["upload", "path"]
    file_name: str
    digest: str
    state: Literal["reading", "ready", "refused", "erased"]
    problem: str = ""
    records: int | None = None
    columns: tuple[ColumnOf, ...] | None = None
    uploaded_by: str
    is_owner: bool
    may_audit: bool
    shared_with: tuple[Share, ...] = ()
    created_at: datetime
    expires_at: datetime
    erased_at: datetime | None = None


class Uploaded(Body):
    """Bytes that are kept until something is made of them."""

    digest: Digest
    size: int
