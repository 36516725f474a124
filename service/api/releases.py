"""Releases, and the gate that a pipeline asks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from treewarden.service.api._answers import Once
from treewarden.service.api._requests import Reading, Who, Writing, asks, reads
from treewarden.service.auth.principal import Permission
from treewarden.service.errors import InvalidError
from treewarden.service.schemas.base import Id, Page
from treewarden.service.schemas.releases import (
    GateAnswer,
    NewComment,
    NewRelease,
    NewReview,
    Release,
    Tick,
    WantedFile,
    WantedReleases,
)
from treewarden.service.use_cases import gate, releases

ROUTER = APIRouter(tags=["releases"], route_class=Once)
IfMatch = Annotated[str, Header(max_length=40)]


@ROUTER.post("/releases", status_code=201, **asks(Permission.SUBMIT))
def post_release(principal: Who, unit: Writing, new: NewRelease, response: Response) -> Release:
    """Ask that a version be released, on the strength of an audit of it."""
    release = releases.open_release(unit, principal, new)
    response.headers["Location"] = f"/api/v1/releases/{release.id}"
    return _tagged(release, response)


@ROUTER.get("/releases", **reads(Permission.READ))
def get_releases(
    principal: Who, unit: Reading, query: Annotated[WantedReleases, Query()]
) -> Page[Release]:
    """Return releases, of one state where it is named."""
    return releases.list_releases(unit, principal, query, query.state)


@ROUTER.get("/releases/{release_id}", **reads(Permission.READ))
def get_release(principal: Who, unit: Reading, release_id: Id, response: Response) -> Release:
    """Return a release; its ETag is the revision that If-Match takes."""
    return _tagged(releases.get_release(unit, principal, release_id), response)


@ROUTER.get("/releases/{release_id}/gate", **reads(Permission.GATE))
def get_gate(principal: Who, unit: Reading, release_id: Id) -> GateAnswer:
    """Return whether a version may be released: the exit code for a pipeline, null while it waits."""
    return gate.gate_answer(unit, principal, release_id)


@ROUTER.get("/gate", **reads(Permission.GATE))
def get_file_gate(
    principal: Who, unit: Reading, query: Annotated[WantedFile, Query()]
) -> GateAnswer:
    """Return whether a file may be released, by its SHA-256: its newest release decides."""
    return gate.file_answer(unit, principal, query.sha256)


@ROUTER.put("/releases/{release_id}/checklist/{check_id}", **asks(Permission.REVIEW))
def put_tick(
    principal: Who,
    unit: Writing,
    release_id: Id,
    check_id: str,
    body: Tick,
    response: Response,
    if_match: IfMatch = "",
) -> Release:
    """Tick a line of the checklist, or take the tick back."""
    revision = _revision(if_match)
    done = releases.tick(unit, principal, release_id, check_id, body.is_met, revision)
    return _tagged(done, response)


@ROUTER.post("/releases/{release_id}/comments", status_code=201, **asks(Permission.READ))
def post_comment(principal: Who, unit: Writing, release_id: Id, new: NewComment) -> Release:
    """Make a remark."""
    return releases.add_comment(unit, principal, release_id, new)


@ROUTER.post("/releases/{release_id}/reviews", status_code=201, **asks(Permission.REVIEW))
def post_review(
    principal: Who,
    unit: Writing,
    release_id: Id,
    new: NewReview,
    response: Response,
    if_match: IfMatch = "",
) -> Release:
    """Decide about what somebody else asks for: neither the uploader nor who opened it may."""
    return _tagged(releases.review(unit, principal, release_id, new, _revision(if_match)), response)


@ROUTER.post("/releases/{release_id}/withdraw", **asks(Permission.SUBMIT))
def post_withdraw(
    principal: Who, unit: Writing, release_id: Id, response: Response, if_match: IfMatch = ""
) -> Release:
    """Take the wish back."""
    return _tagged(releases.withdraw(unit, principal, release_id, _revision(if_match)), response)


@ROUTER.post("/releases/{release_id}/release", **asks(Permission.SUBMIT))
def post_release_it(
    principal: Who, unit: Writing, release_id: Id, response: Response, if_match: IfMatch = ""
) -> Release:
    """Write down that an approved version went out."""
    return _tagged(releases.release_it(unit, principal, release_id, _revision(if_match)), response)


def _tagged(release: Release, response: Response) -> Release:
    response.headers["ETag"] = f'"{release.revision}"'
    return release


def _revision(if_match: str) -> int | None:
    """Return the revision that a change is meant for, None where it does not say."""
    if not if_match or if_match == "*":
        return None
    number = if_match.removeprefix("W/").strip('"')
    if not (number.isascii() and number.isdigit() and len(number) < 10):
        raise InvalidError(
            "If-Match", "is not the ETag of a release; send the ETag that you received"
        )
    return int(number)
