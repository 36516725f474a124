"""Audits and repairs: what is asked, how far they are, what was found."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from treewarden.reports.document.words import Word
from treewarden.service.schemas.base import Body, Id, Name, PageRequest, Prose, shown_as
from treewarden.service.schemas.models import Difference, Version

Kind = Literal["audit", "repair"]
State = Literal["queued", "running", "done", "error", "cancelled"]
Verdict = Word
Sort = Literal["newest", "oldest", "model"]
MOST_OUTPUTS = 50
"""So many outputs are judged with a model at most, as on the command line."""


class NewAudit(Body):
    """What is to be audited. Without ``table_id`` only what the file itself says is judged.

    ``pack`` is a pack that ships, or one of the organisation: ``name``, or ``name@2`` for its second version.
    ``options`` are those of ``treewarden audit`` by name (``sensitive``, ``qi``, ``leaf``, ``worlds_budget``, ...).
    ``register_id`` is a table of everybody who may be in the training table, to judge whether the file proves who was.
    ``output_ids`` are tables added with ``"holds": "output"``: they are published with the model, and all are judged
    together. ``dictionary_id`` is one with ``"holds": "dictionary"``: labels of columns and values for the reports.
    ``knowledge`` is a knowledge file, ``domain`` a TOML file of the values that are public of each column, to judge
    which records the model file alone reveals; without it, those of the table are. The organisation's approved waivers
    hold unless ``waivers`` is false.
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
    register_id: Id | None = None
    output_ids: tuple[Id, ...] = Field(default=(), max_length=MOST_OUTPUTS)
    dictionary_id: Id | None = None
    pack: Name = "standard"
    options: dict[str, Any] = Field(default_factory=dict)
    knowledge: str = Field(default="", max_length=200_000, pattern=r"^[^\x00]*$")
    domain: str = Field(default="", max_length=200_000, pattern=r"^[^\x00]*$")
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
    register_id: Id | None = None
    output_ids: tuple[Id, ...] = ()
    output_names: tuple[str, ...] = ()
    dictionary_id: Id | None = None
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


# Repairs: how one is asked for from an audit, the changes that it proposes, and how one of them is taken.


class NewRepair(Body):
    """A search for a change that passes, with all that the audit was asked.

    ``table_id`` is the same table uploaded anew, where that of the audit is erased. With ``tries_all`` changes are
    audited too that cost more than one that passes.
    """

    model_config = shown_as({"tries_all": False})

    table_id: Id | None = None
    tries_all: bool = False


class Repairs(Body):
    """The repairs of an audit, newest first, and whether one can be asked for now.

    ``why_not`` says why none can, and what to do; "" where one can. ``needs_table``: whether the table has to come with
    it again.
    """

    can_start: bool
    needs_table: bool
    why_not: str = ""
    items: tuple[Audit, ...] = ()


class Proposal(Body):
    """A change that was tried, best first. ``cost`` says in words what is lost.

    ``title``, ``cost`` and ``problem`` need the permission ``internal``, as they may tell of few people; without it
    they are empty. ``href`` is the file where one is kept, which is where the change passes; ``model_version_id`` the
    version that it became.
    """

    n: int
    name: str
    title: str = ""
    remedies: tuple[str, ...]
    verdict: Verdict
    is_recommended: bool
    cost: dict[str, str]
    failing: tuple[str, ...]
    problem: str = ""
    href: str | None = None
    model_version_id: Id | None = None


class Proposals(Body):
    """What a repair tried. ``message``, ``refusals`` and ``advice`` need the permission ``internal``."""

    message: str = ""
    refusals: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    items: tuple[Proposal, ...] = ()


class Taking(Body):
    """How a proposal is taken: with ``audits``, the new version is audited at once where the table is still there."""

    model_config = shown_as({"audits": True})

    audits: bool = True


class Taken(Body):
    """The version that a proposal became, and its audit; ``why_no_audit`` says what to do where there is none."""

    version: Version
    audit: Audit | None = None
    why_no_audit: str = ""


# Two audits side by side, of one model or of two.


class ClauseChange(Body):
    """A clause in both audits: its verdicts, null where an audit does not have it, and what was read, in words."""

    clause: str
    plain: str
    limit: str
    from_verdict: Verdict | None = None
    to_verdict: Verdict | None = None
    from_value: str = ""
    to_value: str = ""
    is_changed: bool


class ReadingChange(Body):
    """A reading that is not the same in both, in words."""

    plain: str
    from_value: str
    to_value: str


class AuditComparison(Body):
    """What differs between two audits.

    ``is_same_table`` is null where one had none. ``clauses`` and ``readings`` come of the kept reports: ``is_internal``
    says of the full ones; without it readings are left out. ``problem`` says why there are neither.
    """

    from_audit: Audit
    to_audit: Audit
    is_same_policy: bool
    is_same_table: bool | None
    is_same_question: bool
    is_internal: bool
    problem: str = ""
    clauses: tuple[ClauseChange, ...] = ()
    readings: tuple[ReadingChange, ...] = ()
    new: tuple[Difference, ...] = ()
    gone: tuple[Difference, ...] = ()
    same: int = 0
