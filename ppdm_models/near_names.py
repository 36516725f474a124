"""Which name may have been meant by one that does not exist, for messages."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice

MOST_NEAR_OF, MOST_COMPARED = 1000, 100


def near_text(name: str, names: Iterable[str]) -> str:
    """Return which names may have been meant, to follow a name in a message; "" where none is near."""
    known = {other[:MOST_COMPARED].casefold(): other for other in islice(names, MOST_NEAR_OF)}
    near = get_close_matches(name[:MOST_COMPARED].casefold(), known, n=3)
    return f" (did you mean {' or '.join(repr(known[each]) for each in near)}?)" if near else ""
