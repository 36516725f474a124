"""Wishes to release a version: checklist, comments, reviews, and what a pipeline is told."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field

from treewarden.service.schemas.base import Body, Digest, Id, Name, PageRequest, Prose, shown_as

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
    outcome: Literal["PASS", "FAIL", "UNDETERMINED", "NO AUDIT", "PENDING"]
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
