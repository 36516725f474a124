"""treewarden's own JSON."""

from __future__ import annotations


def may_hold(data: bytes) -> bool:
    """Return False only where no format of this room is in the bytes."""
    return b'"treewarden-tree"' in data
