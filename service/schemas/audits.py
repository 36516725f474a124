"""Audits and repairs: what is asked, how far they are, what was found."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from treewarden.service.schemas.base import Body, Id, Name, PageRequest, Prose, shown_as

Kind = Literal["audit", "repair"]
State = Literal["queued", "running", "done", "error", "cancelled"]
Verdict = Literal["PASS", "FAIL", "UNDETERMINED"]
Sort = Literal["newest", "oldest", "model"]


class NewAudit(Body):
    """What is to be audited. Without ``table_id`` only what the file itself says is judged.

    ``pack`` is a pack that ships, or one of the organisation: ``name``, or ``name@2`` for its second version.
    ``options`` are those of ``treewarden audit`` by name (``sensitive``, ``qi``, ``leaf``, ``worlds_budget``, ...).
    ``knowledge`` is a knowledge file. The organisation's approved waivers hold unless ``waivers`` is false.
    With ``keeps_table`` the table stays for its hours where the model does not pass, so that it can be repaired.
    """

    model_config = shown_as(
        {
            "model_version_id": "01a20616bb6bcef687815906239b3af8",
            "table_id": "01a20616bb6bcef687815906239b3af8",
            "pack": "standard",
            "options": {"sensitive": "outcome", "qi": ["age", "place"]},
            "purpose": "shown to branches",
        }
    )

    kind: Kind = "audit"
    model_version_id: Id
    table_id: Id | None = None
    pack: Name = "standard"
    options: dict[str, Any] = Field(default_factory=dict)
    knowledge: str = Field(default="", max_length=200_000, pattern=r"^[^\x00]*$")
    waivers: bool = True
    purpose: Prose = ""
    keeps_table: bool = False


class WantedAudits(PageRequest):
    """Which audits: those of one state, verdict or model where these are named."""

    state: State | Literal[""] = ""
    verdict: Verdict | Literal[""] = ""
    model_id: Id | Literal[""] = ""


class ReportOf(Body):
    """A report that is kept: ``kind`` internal or public, its form, and where it is."""

    kind: Literal["internal", "public"]
    form: str
    href: str


class Audit(Body):
    """An audit. ``verdict`` and ``exit_code`` (0 pass, 1 fail, 3 undetermined, 4 no audit) are null until it has ended.

    ``problem`` says why there was no audit. ``provenance`` holds the version of treewarden and all digests, that of the
    table for those alone who may see full reports. Of a repair, ``original_audit_id`` is the audit that it was asked
    for from, and ``repaired_version_id`` the proposal that was taken last.
    """

    id: Id
    kind: Kind
    state: State
    verdict: Verdict | None = None
    exit_code: int | None = None
    headline: str = ""
    problem: str = ""
    model_id: Id
    model_name: str
    model_version_id: Id
    version: int
    table_id: Id | None = None
    table_name: str = ""
    table_erased_at: datetime | None = None
    pack: str
    pack_digest: str
    options: dict[str, Any]
    purpose: str = ""
    findings: int = 0
    reports: tuple[ReportOf, ...] = ()
    provenance: dict[str, Any] | None = None
    repaired_version_id: Id | None = None
    original_audit_id: Id | None = None
    keeps_table: bool = False
    created_by: str
    created_at: datetime
    finished_at: datetime | None = None


class Finding(Body):
    """One thing that is not met, as a pipeline may see it; ``accepted`` where a waiver says so."""

    n: int
    id: str
    clause: str
    verdict: str
    severity: str
    message: str
    leaf: str = ""
    path: str = ""
    accepted: dict[str, Any] | None = None


class Progress(Body):
    """One thing that happened to a job; ``seq`` counts them."""

    seq: int
    attempt: int
    kind: Literal["queued", "started", "stage", "retried", "done", "error", "cancelled"]
    text: str
    at: datetime
