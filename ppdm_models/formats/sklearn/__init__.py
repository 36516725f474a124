"""scikit-learn: fitted trees and their arrays."""

from __future__ import annotations


def may_hold(data: bytes) -> bool:
    """Return False only where no format of this room is in the bytes."""
    is_printed = data.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n").startswith(b"|-")
    may_be_json = b"{" in data[:64]
    return is_printed or (may_be_json and (b'"tree_"' in data or b'"nodes_dtype"' in data))
