"""Organisations, accounts and tokens; webhooks, the log and workers."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from treewarden.service.auth.principal import Permission, Role
from treewarden.service.ledger.log import Event
from treewarden.service.names import has_mixed_word, normalize_name
from treewarden.service.schemas.base import Body, Id, Name, shown_as
from treewarden.service.settings import is_address

LONGEST_NAME = 200


def _as_seen(name: str) -> str:
    plain = normalize_name(name)
    if not plain.isprintable() or plain != plain.strip():
        raise ValueError(
            "contains invisible characters, or starts or ends with a space; correct it"
        )
    if len(plain) > LONGEST_NAME:
        raise ValueError(f"has more than {LONGEST_NAME} characters; shorten it")
    if has_mixed_word(plain):
        raise ValueError("mixes letters of several scripts in one word; use one script")
    return plain


Person = Annotated[Name, AfterValidator(_as_seen)]
"""The name of somebody in plain signs, each word in one script; the database refuses one that looks like another."""


class NewAccount(Body):
    """Somebody who may sign in; a one-time password is made, and shown once."""

    model_config = shown_as({"name": "bob", "role": "reviewer"})

    name: Person
    role: Role


class Account(Body):
    """Somebody of the organisation."""

    id: Id
    name: str
    role: Role
    has_password: bool
    has_oidc: bool
    is_disabled: bool
    created_at: datetime


class Made(Body):
    """A new account, or one with a new password, and its one-time password: shown this once."""

    account: Account
    password: str


class Changed(Body):
    """What is to be changed about an account; what is left out stays."""

    model_config = shown_as({"role": "reviewer"})

    role: Role | None = None
    is_disabled: bool | None = None


class Session(Body):
    """Somebody signed in with a browser; ``is_this`` is the session that asks. ``address``: where it was begun."""

    id: Id
    owner: str
    address: str
    created_at: datetime
    seen_at: datetime | None
    expires_at: datetime
    is_this: bool


class EndedAccess(Body):
    """How many sessions were ended and tokens revoked."""

    sessions: int
    tokens: int


class NewToken(Body):
    """A token of one's own. It can do no more than its owner's role; ``days`` until it expires."""

    model_config = shown_as({"name": "release pipeline", "permissions": ["gate"], "days": 90})

    name: Name
    permissions: Annotated[tuple[Permission, ...], Field(min_length=1)]
    days: int | None = Field(default=90, ge=1, le=3660)


class Token(Body):
    """A token, without what proves it."""

    id: Id
    name: str
    owner: str
    prefix: str
    permissions: tuple[Permission, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


class MadeToken(Body):
    """A new token and what proves it: shown this once."""

    token: Token
    secret: str


class Organisation(Body):
    """What holds for an organisation."""

    id: Id
    name: str
    keeps_profiles: bool
    report_days: int = Field(ge=1, le=36500)
    checklist: tuple[str, ...]
    least_pack: str | None


class Retention(Body):
    """What is kept, how long, and what reviewers tick off."""

    model_config = shown_as(
        {"keeps_profiles": False, "report_days": 3650, "checklist": ["The purpose is stated"]}
    )

    keeps_profiles: bool
    report_days: int = Field(ge=1, le=36500)
    checklist: tuple[Name, ...]


class LeastPack(Body):
    """The policy that every release should be judged by at least: ``name``, or ``name@2``; null for none."""

    model_config = shown_as({"pack": "standard"})

    pack: Annotated[str, Field(min_length=1, max_length=220)] | None


class Me(Body):
    """Who asks, and what may be done."""

    id: Id
    name: str
    role: Role
    organisation: str
    permissions: tuple[Permission, ...]


# The events that a person wants to hear of by e-mail.


def _address(text: str) -> str:
    told = text.strip()
    if told and not is_address(told):
        raise ValueError(
            "is not an e-mail address; enter one such as ann@example.org, or leave it empty"
        )
    return told


Told = Literal[
    Event.AUDIT_FINISHED,
    Event.WAIVER_REQUESTED,
    Event.WAIVER_DECIDED,
    Event.RELEASE_OPENED,
    Event.RELEASE_DECIDED,
    Event.RELEASE_RELEASED,
]


class NewNotices(Body):
    """Where notices go ("": nowhere), and which events they tell of.

    ``waiver.requested`` and ``release.opened`` reach those who may decide about it, all others who asked.
    """

    model_config = shown_as({"address": "ann@example.org", "events": ["audit.finished"]})

    address: Annotated[str, Field(max_length=300), AfterValidator(_address)] = ""
    events: tuple[Told, ...] = ()


class SentMail(Body):
    """What became of an e-mail."""

    event: str
    state: Literal["pending", "done", "failed"]
    problem: str
    created_at: datetime
    delivered_at: datetime | None = None


class Notices(Body):
    """What somebody hears of. ``is_set_up``: whether this service sends e-mail; ``last`` is the newest one."""

    is_set_up: bool
    address: str = ""
    events: tuple[str, ...] = ()
    last: SentMail | None = None


# The overview of a signed-in person: what waits, what fails, what is about to end.


class Waiting(Body):
    """Something that waits for a decision; ``is_mine`` where who asks may not decide, as it is their own."""

    kind: Literal["release", "waiver"]
    id: Id
    title: str
    by: str
    since: datetime
    state: str
    is_mine: bool


class Failing(Body):
    """A model whose newest finished audit is no pass."""

    model_id: Id
    model_name: str
    audit_id: Id
    verdict: str
    headline: str


class Expiring(Body):
    """A waiver that holds a few days more."""

    id: Id
    clause: str
    model: str | None
    expires: date
    owner: str


class Overview(Body):
    """What an organisation has to do, as far as it concerns who asks."""

    models: int
    running: int
    queued: int
    passing: int
    failing: tuple[Failing, ...]
    waiting: tuple[Waiting, ...]
    expiring: tuple[Expiring, ...]


# Webhooks with their deliveries, the log, and workers.


Sort = Literal["newest", "oldest"]


class NewWebhook(Body):
    """Where events go: an https address, and which events."""

    model_config = shown_as(
        {"url": "https://hooks.example.org/treewarden", "events": ["release.decided"]}
    )

    url: str = Field(min_length=1, max_length=2000)
    events: Annotated[tuple[Event, ...], Field(min_length=1)]


class Webhook(Body):
    """A webhook, without its secret."""

    id: Id
    url: str
    events: tuple[Event, ...]
    is_disabled: bool
    created_at: datetime


class MadeWebhook(Body):
    """A new webhook and the secret that signs what it is sent: shown this once."""

    webhook: Webhook
    secret: str


class Delivery(Body):
    """One event on its way to one webhook."""

    id: Id
    webhook_id: Id
    event: str
    state: Literal["pending", "done", "failed"]
    attempts: int
    next_at: datetime | None
    status_code: int | None
    problem: str
    created_at: datetime
    delivered_at: datetime | None
    payload: dict[str, Any]


class LogEntry(Body):
    """One row of the log."""

    seq: int
    at: datetime
    actor: str
    action: str
    object_kind: str
    object_id: str
    detail: dict[str, Any]
    previous_hash: str
    hash: str


class LogCheck(Body):
    """Whether the chain of digests holds, and the first row that breaks it."""

    holds: bool
    rows: int
    problem: str = ""
    head: str = ""


class Worker(Body):
    """A process that does jobs."""

    id: Id
    name: str
    slots: int
    version: str
    started_at: datetime
    seen_at: datetime
    is_alive: bool
    job: str = ""
