"""What somebody wants to hear of by e-mail."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from treewarden.service.ledger.events import Event
from treewarden.service.schemas.base import Body, shown_as
from treewarden.service.settings import is_address


def _address(text: str) -> str:
    told = text.strip()
    if told and not is_address(told):
        raise ValueError("is no e-mail address; give one such as ann@example.org, or none")
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
