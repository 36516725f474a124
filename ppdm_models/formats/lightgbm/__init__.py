"""LightGBM."""

from __future__ import annotations


def may_hold(data: bytes) -> bool:
    """Return False only where no format of this room is in the bytes."""
    return b"num_class=" in data[:65536] or (b"{" in data[:64] and b'"tree_info"' in data)
