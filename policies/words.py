"""How a sentence begins."""

from __future__ import annotations

import re

FILE_NAME = re.compile(r"\S*(?:/\S|\w\.[A-Za-z]\w*(?=[\s:,;]|$))")
"""What a sentence begins with that is the name of a file, with its ending or its folder."""


def capital(text: str) -> str:
    """Return a text with a capital first letter, but for a file's name, which stays as it is."""
    return text if FILE_NAME.match(text) else f"{text[:1].upper()}{text[1:]}"
