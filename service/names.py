"""Which names of accounts two people of one organisation must not share: equal ones, and ones that look equal.

Names are compared as Unicode Technical Standard 39 does: in compatibility form (NFKC), by their skeleton, in which each
sign stands for all that look like it; once as typed (“l” and “I”), and once without regard to case.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from functools import lru_cache

from confusable_homoglyphs.categories import alias
from confusable_homoglyphs.confusables import confusables_data
from markupsafe import Markup, escape

MARKS = str.maketrans("", "", "\u200e\u200f")
"""Marks of direction that the library's data puts around signs written from right to left."""
WORDS = re.compile(r"[\W\d_]+")
NO_SCRIPT = frozenset({"COMMON", "INHERITED"})
WRITTEN_TOGETHER = (
    frozenset({"HAN", "HIRAGANA", "KATAKANA"}),
    frozenset({"HAN", "HANGUL"}),
    frozenset({"HAN", "BOPOMOFO"}),
)
"""Scripts that words of one language mix: Japanese, Korean, and Chinese with its phonetic signs."""


def normalize_name(name: str) -> str:
    """Return a name in compatibility form: signs of full width, ligatures and the like become plain ones."""
    return unicodedata.normalize("NFKC", name)


def has_mixed_word(name: str) -> bool:
    """Return whether a word of a name mixes scripts, as no language does: Latin with a Cyrillic “а”."""
    for word in WORDS.split(name):
        scripts = {alias(sign) for sign in word} - NO_SCRIPT
        if len(scripts) > 1 and not any(scripts <= allowed for allowed in WRITTEN_TOGETHER):
            return True
    return False


def name_key(name: str) -> str:
    """Return what is equal for names that differ by case or look alike; a digest, as skeletons may be long."""
    return _digest(_skeleton(normalize_name(normalize_name(name).casefold())))


def look_key(name: str) -> str:
    """Return what is equal for names that look alike as they are typed: “Ilse” and “llse”."""
    return _digest(_skeleton(normalize_name(name)))


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _skeleton(name: str) -> str:
    signs = unicodedata.normalize("NFD", name)
    return unicodedata.normalize("NFD", "".join(map(_prototype, signs)))


@lru_cache(maxsize=4096)
def _prototype(sign: str) -> str:
    """Return the one sign, or the few, that stand for all that look like this one.

    In the library's data a sign leads to its prototype alone, and a prototype to all signs that it stands for.
    """
    alike = _alike(sign)
    if len(alike) != 1:
        return sign
    (other,) = alike
    is_prototype = len(other) > 1 or len(_alike(other)) > 1
    return other if is_prototype else min(sign, other)


def _alike(sign: str) -> frozenset[str]:
    return frozenset(each["c"].translate(MARKS) for each in confusables_data.get(sign, ()))


# Signs that nobody sees, such as those that turn the direction of a line: shown as ``\u202e``, sent back as they are.
#
# A page is looked through as a whole once it is drawn, so that no template can forget a name. What a form sends back is
# written as a reference of HTML, which that leaves alone; only control characters have none, and come back written out.

KINDS = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode's categories: controls, formats (directions, joiners), halves of characters, separators of lines."""
CANDIDATE = re.compile(r"[^\t\n\r -~]")
"""What may be one; the ends of lines and tabs are what a browser makes spaces of."""


def escape_page(page: str) -> str:
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
