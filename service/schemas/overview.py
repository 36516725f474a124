"""What somebody sees first: what waits, what fails, what is about to end."""

from __future__ import annotations

from datetime import date, datetime
from typing import Literal

from treewarden.service.schemas.base import Body, Id


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
