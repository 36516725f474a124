"""What the service refuses, and how: one class per kind of refusal, each with its status in HTTP.

It also makes the names of rows in the database: 32 letters 0-9 a-f, in the order in which they were made.
"""

from __future__ import annotations

import re
import secrets
import time
from typing import ClassVar

from treewarden.ppdm_models.errors import TreewardenError


class ServiceError(TreewardenError):
    """The service does not do what was asked; ``where: what; what to do``."""

    status: ClassVar[int] = 400
    title: ClassVar[str] = "Request not understood"


class NotSignedInError(ServiceError):
    """Nobody is signed in, or the token is unknown, has expired or was revoked."""

    status = 401
    title = "Not signed in"


class ForbiddenError(ServiceError):
    """Who asks may not do that."""

    status = 403
    title = "Not allowed"


class NotFoundError(ServiceError):
    """There is no such thing in the organisation of who asks."""

    status = 404
    title = "Not found"


class ConflictError(ServiceError):
    """The thing is not in a state in which that can be done."""

    status = 409
    title = "Conflict"


class GoneError(ServiceError):
    """The thing was there, and was erased."""

    status = 410
    title = "Gone"


class StaleError(ServiceError):
    """The thing was changed since it was read."""

    status = 412
    title = "Changed in the meantime"


class TooLargeError(ServiceError):
    """More bytes than are taken."""

    status = 413
    title = "Too large"


class WrongKindError(ServiceError):
    """A body of a kind that is not taken here."""

    status = 415
    title = "Unsupported content type"


class InvalidError(ServiceError):
    """What was sent cannot be: a field, a file, a digest."""

    status = 422
    title = "Invalid"


def as_invalid(error: TreewardenError) -> InvalidError:
    """Return what a file that was sent says wrongly, as a refusal of the request."""
    return InvalidError(error.where, error.problem)


class TooManyError(ServiceError):
    """Too many attempts in too short a time."""

    status = 429
    title = "Too many requests"

    def __init__(self, where: str, problem: str, retry_seconds: int = 60) -> None:
        super().__init__(where, problem)
        self.retry_seconds = retry_seconds


class UnavailableError(ServiceError):
    """The database or the vault cannot be reached just now."""

    status = 503
    title = "Not available"


class SetupError(ServiceError):
    """The service cannot start as it is set up: a setting, the level of the database, a folder."""

    status = 500
    title = "Not set up"


ID = re.compile(r"[0-9a-f]{32}")


def new_id() -> str:
    """Return a new id: milliseconds since 1970 first, then 80 random bits."""
    return f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(10)}"


def is_id(text: str) -> bool:
    """Return whether a text has the form of an id."""
    return ID.fullmatch(text) is not None
