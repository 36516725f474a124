"""Seals of what a gate goes by: digests with a key that the database does not hold.

Whoever can write into the database, but has no key file, can change a verdict and cannot seal the change. A seal says
nothing about order: an older row with its older seal is genuine. The log says which one was the last.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from treewarden.service.site import Site

PURPOSE = b"treewarden seal 1"
SEALED: Mapping[str, tuple[str, ...]] = {
    "audit": (
        *("id", "organisation_id", "kind", "model_version_id", "model_digest", "state", "verdict"),
        *("exit_code", "headline", "entry", "provenance", "result_attempt", "pack_version_id"),
        *("pack_name", "pack_digest", "options", "knowledge", "waivers", "created_by"),
    ),
    "report": ("id", "organisation_id", "audit_id", "kind", "form", "blob_id", "blob_digest"),
    "waiver": (
        *("id", "organisation_id", "clause", "leaf", "digest", "model_name", "worst", "reason"),
        *("owner", "ticket", "expires", "granted", "state", "requested_by", "decided_by"),
    ),
    "release": (
        *("id", "organisation_id", "model_version_id", "uploader_id", "audit_id", "title"),
        *("purpose", "state", "checklist", "opened_by", "revision"),
    ),
    "review": (
        *("id", "organisation_id", "release_id", "uploader_id", "opened_by", "reviewer_id"),
        *("decision", "comment", "at"),
    ),
    "log_head": ("organisation_id", "seq", "hash"),
}
"""What each seal is of: columns of the table, the digest of an audit's model file, that of a report's bytes."""


def seal_of(site: Site, table: str, row: Mapping[Any, Any]) -> str:
    """Return the seal of a row."""
    told = {name: row[name] for name in SEALED[table]}
    key = hmac.digest(site.vault.master, PURPOSE, "sha256")
    return hmac.new(key, canonical({"table": table, "row": told}), hashlib.sha256).hexdigest()


def is_sealed(site: Site, table: str, row: Mapping[Any, Any]) -> bool:
    """Return whether the seal that a row holds is that of the row."""
    seal = row["seal"]
    return seal is not None and hmac.compare_digest(seal, seal_of(site, table, row))


def canonical(told: object) -> bytes:
    """Return JSON that is the same for the same content; a moment is told in UTC."""
    text = json.dumps(
        told, sort_keys=True, separators=(",", ":"), ensure_ascii=True, default=_moment
    )
    return text.encode("ascii")


def _moment(value: object) -> str:
    if not isinstance(value, datetime):
        raise TypeError(f"{type(value).__name__} has no canonical form")
    return value.astimezone(UTC).isoformat(timespec="microseconds")


# How webhooks are signed, and how whoever receives one checks that.

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
