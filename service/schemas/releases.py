"""What is decided about: policies with their versions, waivers, and wishes to release a version with their reviews."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from treewarden.service.schemas.base import Body, Digest, Id, Name, PageRequest, Prose, shown_as

WaiverState = Literal["requested", "approved", "refused", "revoked"]


class NewPack(Body):
    """A version of a pack of the organisation; the name is the pack's own, and a first version makes the pack."""

    model_config = shown_as(
        {
            "toml": 'name = "clinic"\nversion = "1.0.0"\ntitle = "Clinic: as health"\nextends = "health"\n',
            "note": "first version",
        }
    )

    toml: str = Field(min_length=1, max_length=200_000)
    note: Prose = ""


class Pack(Body):
    """A version of a pack. ``id`` is null for packs that ship with treewarden; ``plain`` is the policy in sentences."""

    id: Id | None
    name: str
    n: int
    digest: str
    is_shipped: bool
    summary: str
    note: str = ""
    clauses: int
    created_by: str = ""
    created_at: datetime | None = None
    plain: tuple[str, ...] = ()
    toml: str = ""


class PackDifference(Body):
    """What differs between two versions of packs, in words, and whether the second asks for at least as much."""

    from_pack: str
    to_pack: str
    is_at_least_as_strict: bool
    lines: tuple[str, ...]


WaiverSort = Literal["newest", "oldest", "ends", "clause"]
"""In what order waivers are listed; those that end soonest come first by ``ends``."""


class NewWaiver(Body):
    """A wish that a finding be accepted until a day; the fields are those of a waivers file."""

    model_config = shown_as(
        {
            "clause": "smallest-leaf",
            "leaf": "0123456789abcdef01234567",
            "reason": "the leaf is known from the yearbook",
            "owner": "ann",
            "ticket": "T-17",
            "expires": "2027-01-31",
        }
    )

    clause: Name
    leaf: Annotated[str, Field(pattern=r"^([0-9a-f]{24}(#([2-9]|[1-9][0-9]{1,8}))?)?$")] = ""
    digest: Annotated[str, Field(pattern=r"^(sha256:[0-9a-f]{64})?$")] = ""
    model: Name | None = None
    worst: float | None = Field(default=None, allow_inf_nan=False)
    reason: Annotated[Prose, Field(pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
    owner: Name
    ticket: Name
    expires: date


class WantedWaivers(PageRequest):
    """Which waivers: those of one state where it is named."""

    state: WaiverState | Literal[""] = ""


class Waiver(Body):
    """A waiver. ``is_in_force``: approved, and not expired."""

    id: Id
    clause: str
    leaf: str
    digest: str
    model: str | None
    worst: float | None
    reason: str
    owner: str
    ticket: str
    expires: date
    granted: date | None
    state: WaiverState
    is_in_force: bool
    requested_by_id: Id
    requested_by: str
    requested_at: datetime
    decided_by: str = ""
    decided_at: datetime | None = None
    comment: str = ""


class Deciding(Body):
    """A decision about a waiver."""

    model_config = shown_as({"comment": "seen with the data protection officer"})

    comment: Prose = ""


class WaiversFile(Body):
    """A waivers file, as ``treewarden audit --waivers`` reads it."""

    model_config = shown_as(
        {
            "toml": '[[waiver]]\nclause = "smallest-leaf"\nleaf = "0123456789abcdef01234567"\n'
            'reason = "known"\nowner = "ann"\nticket = "T-17"\nexpires = 2027-01-31\n'
        }
    )

    toml: str = Field(max_length=500_000)


class Imported(Body):
    """What came of a waivers file: the new wishes, and how many were there already."""

    requested: tuple[Waiver, ...]
    known: int


State = Literal["open", "changes", "approved", "rejected", "withdrawn", "released"]
Sort = Literal["newest", "oldest", "title"]


class NewRelease(Body):
    """A wish to release a version, on the strength of an audit of it."""

    model_config = shown_as(
        {
            "audit_id": "01a20616bb6bcef687815906239b3af8",
            "title": "loans, version 2",
            "purpose": "shown to branches",
        }
    )

    audit_id: Id
    title: Name
    purpose: Prose = ""


class WantedReleases(PageRequest):
    """Which releases: those of one state where it is named."""

    state: State | Literal[""] = ""


class WantedFile(Body):
    """Which file a gate is asked about: the SHA-256 of its bytes."""

    sha256: Digest


class Check(Body):
    """A line of the checklist. One that is ``automatic`` is kept by the service and cannot be ticked."""

    id: str
    text: str
    automatic: bool
    is_met: bool
    why: str = ""
    by: str = ""
    at: datetime | None = None


class Tick(Body):
    """A line of the checklist, ticked or not."""

    model_config = shown_as({"is_met": True})

    is_met: bool


class NewReview(Body):
    """A decision; ``changes`` asks for some, and lets the release be reviewed again."""

    model_config = shown_as({"decision": "approve", "comment": "as agreed"})

    decision: Literal["approve", "reject", "changes"]
    comment: Prose = ""


class Review(Body):
    """A decision that was taken."""

    id: Id
    reviewer: str
    decision: Literal["approve", "reject", "changes"]
    comment: str
    at: datetime


class NewComment(Body):
    """A remark."""

    model_config = shown_as({"text": "who gets it besides the branches?"})

    text: Annotated[Prose, Field(min_length=1)]


class Comment(Body):
    """A remark that was made."""

    id: Id
    author: str
    text: str
    at: datetime


class Party(Body):
    """Somebody whose own a release is, so that somebody else decides; a person may have several parts.

    Who ``uploaded`` the version, ``opened`` the release, ``asked`` for the audit, ``brought`` the bytes of the file,
    ``wrote`` the version of the policy, or asked for a waiver that the audit rests on (``waived``).
    """

    name: str
    part: Literal["uploaded", "opened", "asked", "brought", "wrote", "waived"]


class Release(Body):
    """A release. ``may_review`` and ``why_not`` are about who asks: nobody of ``parties`` may.

    ``deciders`` names those who may, as far as it is not decided; null in lists. ``policy_author`` is "" for a policy
    that ships. ``policy_standing`` says what the policy asks for beside the ``least_policy`` of the organisation: at
    least as much, less (``laxer``), neither is proved (``different``), or that there is none (``not set``);
    ``policy_differences`` says it clause by clause.
    """

    id: Id
    title: str
    purpose: str
    state: State
    revision: int
    model_id: Id
    model_name: str
    model_version_id: Id
    version: int
    digest: str
    audit_id: Id
    verdict: str | None
    asked_by: str
    policy: str
    policy_author: str = ""
    least_policy: str = ""
    policy_standing: Literal["not set", "at least", "laxer", "different"] = "not set"
    policy_differences: tuple[str, ...] = ()
    parties: tuple[Party, ...] = ()
    deciders: tuple[str, ...] | None = None
    uploader: str
    opened_by: str
    opened_at: datetime
    decided_at: datetime | None = None
    checklist: tuple[Check, ...] = ()
    reviews: tuple[Review, ...] = ()
    comments: tuple[Comment, ...] = ()
    may_review: bool = False
    why_not: str = ""


class GateAnswer(Body):
    """Whether a version may be released, for a pipeline. ``exit_code`` is null while it is ``pending``.

    0: audited, passed, approved by somebody else, and all waivers it rests on still hold; 1: the audit failed, or the
    release was rejected or withdrawn; 3: undetermined; 4: there was no audit. ``digest`` is the SHA-256 of the file.
    Where a file has no release, ``release_id`` and ``state`` are null.
    """

    release_id: Id | None = None
    outcome: Literal["PASS", "UNDETERMINED", "FAIL", "NO AUDIT", "PENDING"]
    exit_code: Literal[0, 1, 3, 4] | None
    pending: bool
    why: str
    state: State | None = None
    model: str = ""
    version: int = 0
    digest: str
    audit_id: Id | None = None
    policy: str = ""
    entry: dict[str, Any] | None = None
