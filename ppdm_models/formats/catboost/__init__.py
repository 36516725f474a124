"""CatBoost."""

from __future__ import annotations


def may_hold(data: bytes) -> bool:
    """Return False only where no format of this room is in the bytes."""
    return b"{" in data[:64] and b'"features_info"' in data
