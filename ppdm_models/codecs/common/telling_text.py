"""Text in model files that tells of people, places on a disk, or moments."""

from __future__ import annotations

import re

from treewarden.ppdm_models.tree.leaks import LeakKind

PATH = re.compile(
    r"(?:^|[\s\"'=:,(\[])"
    r"(?:~?/[\w.@+-]+/[\w.@+/-]+|[A-Za-z]:[\\/][\w.]|\\\\\w+\\|(?:s3|gs|hdfs|file|https?)://\w)"
)
PERSON = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")
TIMESTAMP = re.compile(r"(?:19|20)\d\d-[01]\d-[0-3]\d(?:[T ][0-2]\d:[0-5]\d|$)")
AUTHOR_NAMES = ("user", "username", "author", "owner", "created_by", "creator", "email")


def telling(text: str, name: str = "") -> LeakKind | None:
    """Return what kind of thing a text gives away, if any; ``name`` is what it is called in the file.

    Somebody who is named, and not as the file's maker, may be in the table.
    """
    if name.lower() in AUTHOR_NAMES and text:
        return LeakKind.AUTHOR
    for kind, pattern in (
        (LeakKind.PERSON, PERSON),
        (LeakKind.PATH, PATH),
        (LeakKind.TIMESTAMP, TIMESTAMP),
    ):
        if pattern.search(text):
            return kind
    return None
