"""Text as the fonts of a PDF can show it: a sign that they lack, or that could reorder a line, is written by its code.

PDF/UA wants a glyph and a meaning for every sign, and the fonts that come with the PDF writer hold Latin, Greek and
Cyrillic letters and some symbols. Only those pass. Accents that stand apart are joined to their letters first.
"""

from __future__ import annotations

import unicodedata

KNOWN = (
    (0x20, 0x7E),
    (0xA1, 0xAC),
    (0xAE, 0x24F),
    (0x391, 0x3A1),
    (0x3A3, 0x3CE),
    (0x400, 0x45F),
    (0x490, 0x491),
    (0x1E00, 0x1EFF),
    (0x2010, 0x2027),
    (0x2030, 0x2037),
    (0x2039, 0x203F),
    (0x20A0, 0x20B5),
    (0x2122, 0x2122),
    (0x2190, 0x21FF),
    (0x2200, 0x222E),
    (0x2260, 0x226B),
    (0x2610, 0x2612),
)
"""First and last code of each range; a test shows them all."""
LONGEST = 24
PIECE = 12
BREAK = "\u200b"
"""A place where a line may end; it has no width and no glyph."""


def drawable(text: str) -> str:
    r"""Return the text with every sign outside the known ranges as its code (``\u4e2d``)."""
    joined = unicodedata.normalize("NFC", text)
    return "".join(sign if _is_known(sign) else _code(sign) for sign in joined)


def breakable(text: str) -> str:
    """Return the text with places to break its long words, so that none leaves its column."""
    return " ".join(_broken(word) for word in text.split(" "))


def _is_known(sign: str) -> bool:
    return any(first <= ord(sign) <= last for first, last in KNOWN)


def _code(sign: str) -> str:
    return sign.encode("unicode_escape", "surrogatepass").decode("ascii")


def _broken(word: str) -> str:
    if len(word) <= LONGEST:
        return word
    return BREAK.join(word[start : start + PIECE] for start in range(0, len(word), PIECE))
