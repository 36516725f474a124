"""Small wording helpers: counts with thousands marks, plurals, and names that cannot act on a terminal or a page."""

from __future__ import annotations

import textwrap
from typing import Literal

from treewarden.policies.verdict import capital

WIDTH = 100
Word = Literal["PASS", "UNDETERMINED", "FAIL"]

COMMAND = "treewarden "
"""What a step begins with that is a command and nothing else, to be pasted as it stands: no line may be broken."""
LOG_LOSS = "log loss"
"""The one utility of which less is better."""


def is_command(step: str) -> bool:
    """Return whether a step is a command to paste, not a sentence."""
    return step.startswith(COMMAND)


def count(value: float) -> str:
    """Return a number of records as people write it: ``6,366``; with a fraction only where weights gave it one."""
    return f"{int(value):,}" if value == int(value) else f"{value:,.1f}"


def counted(value: float, one: str, several: str) -> str:
    """Return a count with its noun: ``1 leaf``, ``3 leaves``."""
    return f"{count(value)} {one if value == 1 else several}"


def amount_text(amount: float) -> str:
    """Return a number with the digits that matter, and no exponent where it can do without."""
    return f"{amount:,.0f}" if abs(amount) >= 1_000 else f"{amount:.4g}"


def percent(share: float) -> str:
    """Return a share in per cent with one digit; only the whole is 100, and only nothing is 0."""
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    return f"{min(max(100 * share, 0.1), 99.9):.1f} %"


def listed(parts: list[str]) -> str:
    """Return parts joined as in a sentence: ``a, b and c``."""
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)


def sentence(text: str) -> str:
    """Return a text with a capital first letter, but for the name of a file, and one closing stop."""
    return f"{capital(text).rstrip('. ')}."


def printable(text: str) -> str:
    r"""Return the text with control and direction-changing characters escaped (``\x1b``), so that no name can act."""
    if text.isprintable():
        return text
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def wrapped(text: str, first: str = "", continuation: str | None = None) -> list[str]:
    """Return the text in lines; a name's own line breaks are escaped before, so it never starts one."""
    return textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if continuation is None else continuation,
        break_long_words=False,
        break_on_hyphens=False,
    )
