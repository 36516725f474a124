"""Secrets that prove who somebody is: shown once, of which only digests are kept."""

from __future__ import annotations

import hashlib
import secrets

PREFIX = "tw_"
SHOWN = 10
"""How many signs of a token may be shown, so that its owner can tell it from others."""


def new_secret() -> str:
    """Return a new secret: 256 random bits, with a prefix that scanners of code can look for."""
    return PREFIX + secrets.token_urlsafe(32)


def digest_of(secret: str) -> str:
    """Return what is kept of a secret; without salt, as nobody can try 256 random bits."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
