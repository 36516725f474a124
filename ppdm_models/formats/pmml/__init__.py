"""PMML: fields, derived fields, nodes, models of models; reading, writing, and edits in place."""

from __future__ import annotations


def may_hold(data: bytes) -> bool:
    """Return False only where no format of this room is in the bytes."""
    return data[:64].lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n\0").startswith(b"<")
