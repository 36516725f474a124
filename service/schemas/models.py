"""What is submitted: models with their versions, what differs between two, and what is kept of training tables."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field, model_validator

from treewarden.service.schemas.base import (
    Body,
    Digest,
    FileName,
    Id,
    Name,
    PageRequest,
    Prose,
    shown_as,
)

Holds = Literal["records", "output", "dictionary"]
"""What a file of an audit holds: people's records, numbers that are published with a model, or labels of columns."""


class NewTable(Body):
    """A table: the digest of an upload, or the path of a file below an allowed folder.

    A file that ``holds`` no records is kept like a table: an output that is published with a model (a table of
    characteristics, a cross table, a regression and more, as CSV or Excel), or a data dictionary (CSV).
    """

    model_config = shown_as(
        {
            "digest": "4ca00c2d94611be246fe811d9ae502df1fdd071f2da7fa98dbe455eb8a0da20f",
            "file_name": "people.csv",
        }
    )

    digest: Digest | None = None
    path: str | None = None
    file_name: FileName | None = None
    holds: Holds = "records"

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
    holds: Holds = "records"
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


Reading = Literal["reading", "ready", "refused"]


class NewModel(Body):
    """A model by name; its files are versions."""

    model_config = shown_as({"name": "loans", "description": "who pays back"})

    name: Name
    description: Prose = ""


class NewVersion(Body):
    """A version of a model: the digest of a file that was uploaded, and what the file is called."""

    model_config = shown_as(
        {
            "digest": "4ca00c2d94611be246fe811d9ae502df1fdd071f2da7fa98dbe455eb8a0da20f",
            "file_name": "loans.pmml",
        }
    )

    digest: Digest
    file_name: FileName


class WantedModels(PageRequest):
    """Which models: those whose name holds a text where one is given."""

    name: str = Field(default="", max_length=200)


class Version(Body):
    """A file of a model. ``summary`` is what ``treewarden inspect`` says of it, null until it was read."""

    id: Id
    model_id: Id
    model_name: str
    n: int
    digest: str
    size: int
    file_name: str
    state: Reading
    problem: str = ""
    format: str = ""
    summary: dict[str, Any] | None = None
    uploaded_by_id: Id
    uploaded_by: str
    created_at: datetime


class Model(Body):
    """A model, and the newest of its versions."""

    id: Id
    name: str
    description: str
    created_by: str
    created_at: datetime
    versions: int
    latest: Version | None = None


class Difference(Body):
    """A finding of one of two audits."""

    clause: str
    leaf: str
    verdict: str
    message: str
    path: str = ""


class Comparison(Body):
    """Two versions side by side. ``trees`` says how the trees differ, in words, null while that is being found.

    ``new`` and ``gone`` are findings of the latest finished audits; empty where either has none.
    """

    from_version: Version
    to_version: Version
    state: Reading
    problem: str = ""
    trees: tuple[str, ...] | None = None
    from_verdict: str | None = None
    to_verdict: str | None = None
    from_audit_id: Id | None = None
    to_audit_id: Id | None = None
    is_same_policy: bool | None = None
    new: tuple[Difference, ...] = ()
    gone: tuple[Difference, ...] = ()
    same: int = Field(default=0, ge=0)
