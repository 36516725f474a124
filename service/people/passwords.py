"""Passwords: how they are kept, and the one-time ones that others are given."""

from __future__ import annotations

import secrets
from functools import cache

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from service.errors import InvalidError

SHORTEST = 12
LONGEST = 200
_HASHER = PasswordHasher()


def new_password() -> str:
    """Return a one-time password: 120 random bits."""
    return secrets.token_urlsafe(15)


def hash_of(password: str) -> str:
    """Return what is kept of a password."""
    return _HASHER.hash(password.encode("utf-8", "surrogatepass"))


def matches(password: str, kept: str | None) -> bool:
    """Return whether a password is the one that is kept; takes as long where none is."""
    try:
        is_it = _HASHER.verify(kept or _nobodys(), password.encode("utf-8", "surrogatepass"))
    except (VerificationError, InvalidHashError):
        return False
    return is_it and kept is not None


def check_new(password: str, old: str) -> None:
    """Check that a password can be taken.

    Raises:
        InvalidError: it is too short, too long, or the old one.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        problem = f"has to have {SHORTEST} to {LONGEST} signs; choose another"
        raise InvalidError("new password", problem)
    if password == old:
        raise InvalidError("new password", "is the old one; choose another")


@cache
def _nobodys() -> str:
    return _HASHER.hash(secrets.token_bytes(16))
