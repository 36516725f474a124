"""How webhooks are signed, and how whoever receives one checks that."""

from __future__ import annotations

import hashlib
import hmac

HEADER = "Treewarden-Signature"
TOLERANCE_SECONDS = 300


def signature(secret: str, body: bytes, at: int) -> str:
    """Return the header of a delivery: when it was sent, in seconds since 1970, and the HMAC-SHA256 of that and it."""
    return f"t={at},v1={_digest(secret, body, at)}"


def verify_signature(
    secret: str, header: str, body: bytes, now: float, tolerance: float = TOLERANCE_SECONDS
) -> bool:
    """Return whether a delivery is genuine and fresh; an older one may be a recording that somebody sends again."""
    said = dict(part.partition("=")[::2] for part in header.split(","))
    stamp, given = said.get("t", ""), said.get("v1", "")
    if not (stamp.isascii() and stamp.isdigit() and len(stamp) < 15 and given.isascii()):
        return False
    if abs(now - int(stamp)) > tolerance:
        return False
    return hmac.compare_digest(_digest(secret, body, int(stamp)), given)


def _digest(secret: str, body: bytes, at: int) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
