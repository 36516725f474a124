r"""Signs that nobody sees, such as those that turn the direction of a line: shown as ``\u202e``, sent back as they are.

A page is looked through as a whole once it is drawn, so that no template can forget a name. What a form sends back is
written as a reference of HTML, which that leaves alone; only control characters have none, and come back written out.
"""

from __future__ import annotations

import json
import re
import unicodedata

from markupsafe import Markup, escape

KINDS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories: controls, formats (directions, joiners), halves of characters, separators of lines."""
CANDIDATE = re.compile(r"[^\t\n\r -~]")
"""What may be one; the ends of lines and tabs are what a browser makes spaces of."""


def shown(page: str) -> str:
    r"""Return a page whose unseen signs are written out: ``\u202e``, ``\x9b``."""
    return CANDIDATE.sub(lambda sign: _written(sign[0]), page)


def sent(value: object) -> Markup:
    """Return a value as an attribute holds it that a browser sends back unchanged."""
    return Markup(CANDIDATE.sub(lambda sign: _referred(sign[0]), str(escape(value))))


def shown_in_json(text: str) -> str:
    """Return JSON whose unseen signs are escaped, which means the same and acts on no terminal."""
    return CANDIDATE.sub(lambda sign: _in_json(sign[0]), text)


def _is_unseen(sign: str) -> bool:
    return unicodedata.category(sign) in KINDS


def _written(sign: str) -> str:
    return sign.encode("unicode_escape").decode() if _is_unseen(sign) else sign


def _in_json(sign: str) -> str:
    if not _is_unseen(sign):
        return sign
    escaped = json.dumps(sign)[1:-1]
    return escaped if escaped != sign else f"\\u{ord(sign):04x}"  # JSON may leave DEL as it is


def _referred(sign: str) -> str:
    has_reference = _is_unseen(sign) and unicodedata.category(sign) != "Cc"
    return f"&#x{ord(sign):x};" if has_reference else sign
