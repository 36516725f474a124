"""skops: scikit-learn models without pickle."""

from __future__ import annotations


def may_hold(data: bytes) -> bool:
    """Return False only where no format of this room is in the bytes."""
    return data[:2] == b"PK" and b"schema.json" in data
